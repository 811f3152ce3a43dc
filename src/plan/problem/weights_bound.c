/*
 * The lower bound with weights included.
 *
 * 1. Computing: the steps of each layer take the least time that bound.c describes.
 * 2. Copies: the link makes one copy after the other. Some bytes of the weights are never copied:
 *    they are in memory all the time, and leave less memory for the steps of all layers but their
 *    own. All others are copied at least once.
 * 3. Late copies: when the last step of layer k ends, all samples have passed k and the layers
 *    before, and at least one still has to pass all layers behind. Of their weights only what lies
 *    beside the inputs, outputs and workspace of this step is in memory. So the layers up to k
 *    compute first, and then everything else is copied.
 *
 * A row with less time may need more workspace, or heavier weights (the transformed filters of
 * Winograd). So each layer has choices: the heaviest weights that its rows use, and the row of its
 * last step. From the last layer to the first, states hold what the choices so far cost: the bytes
 * that are copied, and the time from the start of the layer on by 1 and 3. Only states of the
 * Pareto set are kept. The bound is the least, over the final states, of the larger of their time
 * and their copies.
 *
 * The more bytes are never copied, the more time the steps take, and the less the copies. The
 * numbers of such bytes are divided into parts: a part's bound counts steps with the least number
 * of the part, and copies with the largest. The part whose bound is least is divided again and
 * again.
 *
 * Late copies count where a layer depends on all layers before it, and all layers behind depend on
 * it. Where samples run by rows, layers have one choice, with the lightest weights and a step that
 * needs no memory.
 *
 * Copies and steps count with the times that they take alone. Factors of a link, which are 1 or
 * more, only make some of them longer, and each step begins when certain others have ended: no step
 * of a schedule ends earlier than without factors, and the bound holds with them too.
 */
#include "plan/problem/weights_bound.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define MOST_CAPS   4  /* of the weights of one layer's rows */
#define MOST_STATES 64 /* that are kept */
#define MOST_PARTS  64 /* of the numbers of bytes that are never copied */
#define NEAR        0.0005

/* What a layer's rows can cost. */
struct row_choice {
    int64_t copied_bytes; /* of the heaviest weights that they read */
    int64_t late_bytes;   /* of the weights that the last sample reads */
    int64_t left_bytes;   /* beside the last step */
    double us;
};

/* What the choices of a layer and of all behind it cost. */
struct state {
    int64_t copied_bytes, late_bytes;
    double us;
};

/* Numbers of bytes that are never copied, and what they cost at least. */
struct stay_part {
    int64_t least, most;
    double us;
};

struct caps {
    int n;
    int64_t copied_bytes[MOST_CAPS], most_bytes[MOST_CAPS];
};

struct weights_bound {
    const struct vbs_task *task;
    int64_t memory_bytes;
    struct caps *caps;                     /* [0..n] */
    struct vbs_row_pareto rows[MOST_CAPS]; /* of rows whose weights are within a cap */
    int64_t *formats_bytes;                /* [0..n] of all packed formats */
    bool *divides;                         /* [0..n] all other layers are before it or behind */
    int64_t *come;                         /* [request + 1] */
    struct row_choice *choices;            /* [capacity] of a layer */
    struct state *states, *next;           /* [MOST_STATES], [MOST_STATES * capacity] */
    struct vbs_arena arena;
};

static int by_number(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* Sorts the weights of a layer's rows into caps. weights: [as many as rows] */
static void find_caps(const struct vbs_task *task, int layer, int64_t *weights, struct caps *caps)
{
    int n = 0, n_distinct = 0;

    if (task->has_rows) { /* stripes have times without regard to their weights */
        *caps = (struct caps){1, {vbs_task_layer_lightest_bytes(task, layer)}, {INT64_MAX}};
        return;
    }
    for (int i = 0; i < task->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++)
            weights[n++] = rows[a].weight_bytes;
    }
    qsort(weights, (size_t)n, sizeof *weights, by_number);
    for (int i = 0; i < n; i++)
        if (n_distinct == 0 || weights[i] > weights[n_distinct - 1])
            weights[n_distinct++] = weights[i];
    caps->n = n_distinct < MOST_CAPS ? n_distinct : MOST_CAPS;
    for (int c = 0; c < caps->n; c++) {
        caps->copied_bytes[c] = weights[c * n_distinct / caps->n];
        caps->most_bytes[c] = weights[(c + 1) * n_distinct / caps->n - 1];
    }
}

/* Sums the bytes of all packed formats of a layer's weights. */
static int64_t all_formats_bytes(const struct vbs_task *task, int layer)
{
    int64_t total = 0;
    uint64_t seen = 0;
    int n_stripes;
    const struct vbs_profile_stripe *stripes =
        vbs_profile_stripes(task->profile, layer, &n_stripes);

    for (int i = 0; i < task->n_batches; i++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(task->profile, layer, i, &n_rows);

        for (int a = 0; a < n_rows; a++) {
            if (!(seen >> rows[a].format & 1))
                total += rows[a].weight_bytes;
            seen |= (uint64_t)1 << rows[a].format;
        }
    }
    for (int i = 0; task->has_rows && i < n_stripes; i++) {
        if (!(seen >> stripes[i].row.format & 1))
            total += stripes[i].row.weight_bytes;
        seen |= (uint64_t)1 << stripes[i].row.format;
    }
    return total;
}

/* Gives whether all layers before `layer` are needed by it, and all behind it need it. seen: [0..n]
 */
static bool is_divider(const struct vbs_task *task, int layer, bool *seen)
{
    int n_seen = 1;

    for (int k = 0; k <= task->n_layers; k++)
        seen[k] = k == layer;
    for (int k = layer; k >= 1; k--)
        for (int i = 0; seen[k] && i < task->n_inputs[k]; i++)
            if (!seen[task->inputs[k][i]]) {
                seen[task->inputs[k][i]] = true;
                n_seen += task->inputs[k][i] > 0;
            }
    for (int k = layer + 1; k <= task->n_layers; k++)
        for (int i = 0; i < task->n_inputs[k] && !seen[k]; i++)
            if (task->inputs[k][i] >= layer && seen[task->inputs[k][i]]) {
                seen[k] = true;
                n_seen++;
            }
    return n_seen == task->n_layers;
}

static double copy_us(const struct vbs_task *task, int64_t bytes)
{
    return bytes > 0 ? vbs_task_copy_us(task, bytes) * (1 - VBS_TIME_NOISE) : 0;
}

static bool is_beaten(const struct row_choice *choices, int n, const struct row_choice *by)
{
    for (int i = 0; i < n; i++)
        if (choices[i].copied_bytes <= by->copied_bytes && choices[i].us <= by->us &&
            choices[i].left_bytes >= by->left_bytes)
            return true;
    return false;
}

/* Adds the choices of a layer whose rows are within a cap, one for each row that can be the last,
 * in memory where `stays` bytes are taken. bound->come is that of these rows. */
static int add_last_rows(struct weights_bound *bound, int layer, int cap, int64_t stays, int n)
{
    const struct vbs_task *task = bound->task;
    const struct vbs_row_pareto *rows = &bound->rows[cap];
    const struct vbs_floor *floor = &task->floors[layer];
    int64_t added = vbs_task_added(task->profile->layers[layer].out_bytes, floor->place_bytes);

    for (int i = 0; i < task->n_batches; i++) {
        int b = task->profile->batches[i];
        const int *first = &rows->first[(layer - 1) * rows->n_batches + i];
        int64_t others = (task->request - b) * floor->after_bytes;
        int64_t step_bytes = b * (floor->base_bytes + added);
        int64_t before = bound->come[task->request - b];

        for (int p = first[0]; p < first[1] && before < VBS_NEVER_TICKS; p++) {
            const struct vbs_row_point *point = &rows->points[p];
            struct row_choice *choice = &bound->choices[n];

            *choice = (struct row_choice){
                .copied_bytes = bound->caps[layer].copied_bytes[cap],
                .late_bytes = bound->caps[layer].copied_bytes[task->request == 1 ? cap : 0],
                .left_bytes = bound->memory_bytes - others - step_bytes - point->ws_bytes,
                .us = vbs_task_us(task, before + point->ticks)};
            if (choice->left_bytes >= stays && !is_beaten(bound->choices, n, choice))
                n++;
        }
    }
    return n;
}

/* Lists the choices of a layer where `stays` bytes of weights stay in memory all the time; returns
 * their number. */
static int find_choices(struct weights_bound *bound, int layer, int64_t stays)
{
    const struct vbs_task *task = bound->task;
    int64_t others = stays - bound->formats_bytes[layer], *come = bound->come;
    int64_t memory_bytes = bound->memory_bytes - (others > 0 ? others : 0);
    const struct caps *caps = &bound->caps[layer];
    int n = 0;

    if (task->has_rows) {
        vbs_task_to_go_by_rows(task, layer, memory_bytes, task->request, come);
        bound->choices[0] = (struct row_choice){.copied_bytes = caps->copied_bytes[0],
                                                .late_bytes = caps->copied_bytes[0],
                                                .left_bytes = bound->memory_bytes,
                                                .us = vbs_task_us(task, come[0])};
        return come[0] < VBS_NEVER_TICKS;
    }
    for (int c = 0; c < caps->n; c++) {
        vbs_task_come(task, &bound->rows[c], layer, memory_bytes, come);
        n = add_last_rows(bound, layer, c, others > 0 ? others : 0, n);
    }
    return n;
}

static int by_bytes(const void *a, const void *b)
{
    const struct state *x = a, *y = b;

    if (x->copied_bytes != y->copied_bytes)
        return x->copied_bytes < y->copied_bytes ? -1 : 1;
    return (x->us > y->us) - (x->us < y->us);
}

/* Keeps the Pareto set of bound->next in bound->states, and at most MOST_STATES: of two neighbours
 * one that is as good as both. Returns their number. */
static int keep_states(struct weights_bound *bound, int n_next)
{
    struct state *next = bound->next;
    int n = 0;

    qsort(next, (size_t)n_next, sizeof *next, by_bytes);
    for (int i = 0; i < n_next; i++)
        if (n == 0 || next[i].us < next[n - 1].us)
            next[n++] = next[i];
    while (n > MOST_STATES) {
        int n_merged = 0;

        for (int i = 0; i < n; i += 2) {
            next[n_merged] = next[i];
            if (i + 1 < n)
                next[n_merged].us = next[i + 1].us;
            n_merged++;
        }
        n = n_merged;
    }
    for (int i = 0; i < n; i++)
        bound->states[i] = next[i];
    return n;
}

/* Adds a choice of layer to what all behind it cost. */
static struct state add_layer(const struct weights_bound *bound, int layer,
                              const struct row_choice *choice, const struct state *behind)
{
    const struct vbs_task *task = bound->task;
    struct state state = {.copied_bytes = behind->copied_bytes + choice->copied_bytes,
                          .late_bytes = behind->late_bytes + choice->late_bytes,
                          .us = choice->us + behind->us};

    if (bound->divides[layer]) {
        double end_us = choice->us + copy_us(task, behind->late_bytes - choice->left_bytes);
        double start_us = copy_us(task, state.late_bytes - bound->memory_bytes);

        state.us = fmax(state.us, fmax(end_us, start_us));
    }
    return state;
}

/* Bounds the time where at least `least` and at most `most` bytes of weights are never copied. */
static double part_us(struct weights_bound *bound, int64_t least, int64_t most)
{
    const struct vbs_task *task = bound->task;
    double us = HUGE_VAL;
    int n_states = 1;

    bound->states[0] = (struct state){0};
    for (int k = task->n_layers; k >= 1; k--) {
        int n_choices = find_choices(bound, k, least), n_next = 0;

        for (int s = 0; s < n_states; s++)
            for (int c = 0; c < n_choices; c++)
                bound->next[n_next++] = add_layer(bound, k, &bound->choices[c], &bound->states[s]);
        n_states = keep_states(bound, n_next);
    }
    for (int s = 0; s < n_states; s++) {
        const struct state *state = &bound->states[s];

        us = fmin(us, fmax(state->us, copy_us(task, state->copied_bytes - most)));
    }
    return us;
}

/* Bounds the time over all numbers of bytes that are never copied. */
static double least_us(struct weights_bound *bound)
{
    struct stay_part parts[MOST_PARTS];
    int64_t all_bytes = 0;
    int n_parts = 1;

    for (int k = 1; k <= bound->task->n_layers; k++)
        all_bytes += bound->formats_bytes[k];
    parts[0] = (struct stay_part){.most = all_bytes < bound->memory_bytes ? all_bytes
                                                                          : bound->memory_bytes};
    parts[0].us = part_us(bound, 0, parts[0].most);
    for (;;) {
        struct stay_part *part = &parts[0];
        int64_t middle;

        for (int i = 1; i < n_parts; i++)
            if (parts[i].us < part->us)
                part = &parts[i];
        if (n_parts == MOST_PARTS || part->most == part->least ||
            copy_us(bound->task, part->most - part->least) < NEAR * part->us)
            return part->us;
        middle = part->least + (part->most - part->least) / 2;
        parts[n_parts] = (struct stay_part){.least = middle + 1, .most = part->most};
        parts[n_parts].us = part_us(bound, middle + 1, part->most);
        n_parts++;
        part->most = middle;
        part->us = part_us(bound, part->least, middle);
    }
}

/* Gives the most rows that a layer has at all batches. */
static size_t most_rows(const struct vbs_task *task)
{
    size_t most = 1;

    for (int k = 1; k <= task->n_layers; k++) {
        size_t n = 0;

        for (int i = 0; i < task->n_batches; i++) {
            int n_rows;

            vbs_profile_rows(task->profile, k, i, &n_rows);
            n += (size_t)n_rows;
        }
        most = n > most ? n : most;
    }
    return most;
}

static enum vbs_status set_up(struct vbs_ctx *ctx, struct weights_bound *bound)
{
    const struct vbs_task *task = bound->task;
    size_t n = (size_t)task->n_layers + 1, n_rows = most_rows(task);
    size_t n_choices = n_rows * MOST_CAPS + 1; /* and one that is beaten */
    int64_t *weights = vbs_arena_alloc(&bound->arena, n_rows, sizeof *weights);
    int64_t *most_bytes = vbs_arena_alloc(&bound->arena, n, sizeof *most_bytes);
    bool *seen = vbs_arena_alloc(&bound->arena, n, sizeof *seen);

    bound->caps = vbs_arena_alloc(&bound->arena, n, sizeof *bound->caps);
    bound->formats_bytes = vbs_arena_alloc(&bound->arena, n, sizeof *bound->formats_bytes);
    bound->divides = vbs_arena_alloc(&bound->arena, n, sizeof *bound->divides);
    bound->come = vbs_arena_alloc(&bound->arena, (size_t)task->request + 1, sizeof *bound->come);
    bound->choices = vbs_arena_alloc(&bound->arena, n_choices, sizeof *bound->choices);
    bound->states = vbs_arena_alloc(&bound->arena, MOST_STATES, sizeof *bound->states);
    bound->next = vbs_arena_alloc(&bound->arena, n_choices * MOST_STATES, sizeof *bound->next);
    if (!weights || !most_bytes || !seen || !bound->caps || !bound->formats_bytes ||
        !bound->divides || !bound->come || !bound->choices || !bound->states || !bound->next)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= task->n_layers; k++) {
        find_caps(task, k, weights, &bound->caps[k]);
        bound->formats_bytes[k] = all_formats_bytes(task, k);
        bound->divides[k] = is_divider(task, k, seen);
    }
    for (int c = 0; c < MOST_CAPS && !task->has_rows; c++) {
        for (int k = 1; k <= task->n_layers; k++)
            most_bytes[k] = c < bound->caps[k].n ? bound->caps[k].most_bytes[c] : -1;
        VBS_TRY(vbs_task_row_pareto(ctx, task, most_bytes, &bound->arena, &bound->rows[c]));
    }
    return VBS_OK;
}

enum vbs_status vbs_weights_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                     int64_t memory_bytes, double *time_us)
{
    struct weights_bound bound = {.task = task, .memory_bytes = memory_bytes};
    enum vbs_status status = set_up(ctx, &bound);

    if (status == VBS_OK)
        *time_us = fmax(least_us(&bound) - vbs_task_us(task, vbs_task_slack_ticks(task)), 0) *
                   (1 - VBS_TIME_NOISE);
    vbs_arena_clear(&bound.arena);
    return status;
}
