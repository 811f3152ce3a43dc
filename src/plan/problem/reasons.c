#include "plan/problem/reasons.h"

#include "base/fail.h"
#include "base/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *vbs_choice_word(enum vbs_choice choice)
{
    switch (choice) {
    case VBS_CHOICE_CHUNK:
        return "chunk";
    case VBS_CHOICE_SPLIT:
        return "split";
    case VBS_CHOICE_BARRIER:
        return "barrier";
    case VBS_CHOICE_PIVOT:
        return "pivot";
    case VBS_CHOICE_BLOCK:
        return "block";
    case VBS_CHOICE_STEP:
        return "step";
    case VBS_CHOICE_DIVISOR:
        return "divisor";
    case VBS_CHOICE_BATCH:
        return "batch";
    case VBS_CHOICE_ROWS:
        return "rows";
    }
    return "";
}

enum vbs_status vbs_reasons_count(struct vbs_reasons *reasons, int64_t n)
{
    reasons->n_entries += n;
    if (reasons->n_entries > VBS_MAX_REASONS)
        return vbs_fail(reasons->ctx, VBS_USAGE,
                        "the explanation would have more than %d entries; a part of the layers "
                        "and samples can be explained alone",
                        VBS_MAX_REASONS);
    return VBS_OK;
}

enum vbs_status vbs_reasons_begin(struct vbs_reasons *reasons, int parent,
                                  const struct vbs_decision *decision, int *index)
{
    struct vbs_decision *made;

    VBS_TRY(vbs_check_cancel(reasons->ctx));
    VBS_TRY(vbs_reasons_count(reasons, 1));
    VBS_TRY(vbs_grow(reasons->ctx, &reasons->decisions, &reasons->capacity,
                     (int64_t)reasons->made.n_decisions + 1, sizeof *reasons->decisions));
    made = &reasons->decisions[reasons->made.n_decisions];
    *made = *decision;
    made->parent = parent;
    made->depth = parent < 0 ? 0 : reasons->decisions[parent].depth + 1;
    made->chosen = -1;
    made->time_us = HUGE_VAL;
    made->needed_bytes = INT64_MAX;
    reasons->n_open = 0;
    *index = reasons->made.n_decisions++;
    return VBS_OK;
}

enum vbs_status vbs_reasons_curve(struct vbs_reasons *reasons, int index,
                                  const struct vbs_frontier_point *points, int n)
{
    VBS_TRY(vbs_reasons_count(reasons, n));
    reasons->decisions[index].points = points;
    reasons->decisions[index].n_points = n;
    return VBS_OK;
}

enum vbs_status vbs_reasons_add(struct vbs_reasons *reasons, const struct vbs_candidate *candidate,
                                const struct vbs_part *parts, int n_parts)
{
    struct vbs_part *copy = NULL;

    VBS_TRY(vbs_reasons_count(reasons, 1));
    VBS_TRY(vbs_grow(reasons->ctx, &reasons->open, &reasons->open_capacity,
                     (int64_t)reasons->n_open + 1, sizeof *reasons->open));
    if (n_parts > 0) {
        copy = vbs_arena_alloc(&reasons->arena, (size_t)n_parts, sizeof *copy);
        if (!copy)
            return vbs_no_memory(reasons->ctx);
        memcpy(copy, parts, (size_t)n_parts * sizeof *copy);
    }
    reasons->open[reasons->n_open] = *candidate;
    reasons->open[reasons->n_open].n_parts = n_parts;
    reasons->open[reasons->n_open++].parts = copy;
    return VBS_OK;
}

enum vbs_status vbs_reasons_end(struct vbs_reasons *reasons, int index, enum vbs_choice choice,
                                int at)
{
    struct vbs_decision *decision = &reasons->decisions[index];
    struct vbs_candidate *copy =
        vbs_arena_alloc(&reasons->arena, (size_t)reasons->n_open + 1, sizeof *copy);

    if (!copy)
        return vbs_no_memory(reasons->ctx);
    for (int c = 0; c < reasons->n_open; c++) {
        copy[c] = reasons->open[c];
        if (copy[c].choice != choice || copy[c].at != at || !copy[c].fits)
            continue;
        decision->chosen = c;
        decision->time_us = copy[c].time_us;
        decision->needed_bytes = copy[c].needed_bytes;
    }
    decision->n_candidates = reasons->n_open;
    decision->candidates = copy;
    return VBS_OK;
}

enum vbs_status vbs_reasons_add_rows(struct vbs_reasons *reasons, int layer, int batch,
                                     int64_t base_bytes, int64_t memory_bytes)
{
    const struct vbs_task *task = reasons->task;
    const struct vbs_profile_row *rows;
    int n_rows;

    if (task->batch_index[batch] < 0)
        return VBS_OK;
    rows = vbs_profile_rows(task->profile, layer, task->batch_index[batch], &n_rows);
    for (int a = 0; a < n_rows; a++) {
        int64_t bytes = base_bytes + rows[a].ws_bytes;
        struct vbs_candidate candidate = {.choice = VBS_CHOICE_STEP,
                                          .at = rows[a].algorithm,
                                          .fits = bytes <= memory_bytes,
                                          .time_us = rows[a].time_us,
                                          .least_bytes = bytes,
                                          .needed_bytes = bytes};

        VBS_TRY(vbs_reasons_add(reasons, &candidate, NULL, 0));
    }
    return VBS_OK;
}

enum vbs_status vbs_reasons_step(struct vbs_reasons *reasons, int parent, int layer, int batch,
                                 int64_t base_bytes, int64_t memory_bytes)
{
    struct vbs_decision decision = {.first_layer = layer,
                                    .last_layer = layer,
                                    .n_layers = 1,
                                    .samples = batch,
                                    .is_exact = true,
                                    .memory_bytes = memory_bytes};
    const struct vbs_profile_row *row =
        vbs_task_row(reasons->task, layer, batch, base_bytes, memory_bytes);
    int index;

    VBS_TRY(vbs_reasons_begin(reasons, parent, &decision, &index));
    VBS_TRY(vbs_reasons_add_rows(reasons, layer, batch, base_bytes, memory_bytes));
    return vbs_reasons_end(reasons, index, VBS_CHOICE_STEP, row ? row->algorithm : -1);
}

void vbs_reasons_sum(struct vbs_reasons *reasons, int index)
{
    struct vbs_decision *whole = &reasons->decisions[index];

    whole->time_us = 0;
    whole->needed_bytes = 0;
    for (int d = index + 1; d < reasons->made.n_decisions; d++) {
        const struct vbs_decision *decision = &reasons->decisions[d];

        if (decision->parent != index)
            continue;
        whole->time_us += decision->time_us;
        if (decision->needed_bytes > whole->needed_bytes)
            whole->needed_bytes = decision->needed_bytes;
    }
}

void vbs_reasons_rename(struct vbs_reasons *reasons, const int *algorithms)
{
    for (int d = 0; d < reasons->made.n_decisions; d++) {
        struct vbs_decision *decision = &reasons->decisions[d];
        struct vbs_candidate *candidates = (struct vbs_candidate *)(uintptr_t)decision->candidates;

        for (int c = 0; c < decision->n_candidates; c++)
            if (candidates[c].choice == VBS_CHOICE_STEP)
                candidates[c].at = algorithms[candidates[c].at];
    }
}

void vbs_explanation_free(struct vbs_explanation *explanation)
{
    struct vbs_reasons *reasons = (struct vbs_reasons *)explanation;

    if (!reasons)
        return;
    free(reasons->decisions);
    free(reasons->open);
    vbs_arena_clear(&reasons->arena);
    free(reasons);
}
