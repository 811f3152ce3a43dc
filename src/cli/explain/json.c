/* Explanations as JSON, format vbslab-explanation-1 (docs/formats.md). */
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "cli/explain/explain.h"
#include "cli/print/print.h"

#include <math.h>

static json_t *bytes_json(int64_t bytes)
{
    return bytes == INT64_MAX ? json_null() : json_integer(bytes);
}

static json_t *time_json(double time_us)
{
    return time_us < HUGE_VAL ? json_real(time_us) : json_null();
}

static json_t *part_json(const struct vbs_part *part, bool *failed)
{
    json_t *json = json_pack("{s:i, s:i, s:i, s:i, s:I}", "first_layer", part->first_layer,
                             "last_layer", part->last_layer, "samples", part->samples, "times",
                             part->times, "beside_bytes", (json_int_t)part->beside_bytes);

    cli_json_put(json, "time_us", time_json(part->time_us), failed);
    return json;
}

static json_t *candidate_json(const struct cli_explanation *about,
                              const struct vbs_candidate *candidate, bool *failed)
{
    json_t *json = json_pack("{s:s, s:b}", "choice", vbs_choice_word(candidate->choice), "fits",
                             candidate->fits);
    json_t *parts = json_array();

    if (candidate->choice == VBS_CHOICE_STEP)
        cli_json_put(json, "algorithm",
                     json_string(about->problem->profile->algorithms[candidate->at]), failed);
    else
        cli_json_put(json, "at", json_integer(candidate->at), failed);
    cli_json_put(json, "time_us", time_json(candidate->time_us), failed);
    cli_json_put(json, "least_bytes", bytes_json(candidate->least_bytes), failed);
    cli_json_put(json, "needed_bytes", bytes_json(candidate->needed_bytes), failed);
    if (candidate->binds)
        cli_json_put(json, "binds", json_integer(candidate->binds), failed);
    for (int p = 0; p < candidate->n_parts; p++)
        cli_json_append(parts, part_json(&candidate->parts[p], failed), failed);
    cli_json_put(json, "parts", parts, failed);
    return json;
}

static json_t *decision_json(const struct cli_explanation *about,
                             const struct vbs_decision *decision, bool *failed)
{
    json_t *json = json_pack("{s:i, s:i, s:i, s:i, s:b, s:I}", "first_layer", decision->first_layer,
                             "last_layer", decision->last_layer, "layers", decision->n_layers,
                             "samples", decision->samples, "exact", decision->is_exact,
                             "memory_bytes", (json_int_t)decision->memory_bytes);
    json_t *candidates = json_array();

    cli_json_put(json, "parent",
                 decision->parent < 0 ? json_null() : json_integer(decision->parent), failed);
    cli_json_put(json, "needed_bytes", bytes_json(decision->needed_bytes), failed);
    cli_json_put(json, "time_us", time_json(decision->time_us), failed);
    cli_json_put(json, "chosen",
                 decision->chosen < 0 ? json_null() : json_integer(decision->chosen), failed);
    for (int c = 0; c < decision->n_candidates; c++)
        cli_json_append(candidates, candidate_json(about, &decision->candidates[c], failed),
                        failed);
    cli_json_put(json, "candidates", candidates, failed);
    return json;
}

static json_t *bound_json(const struct vbs_bound_report *bound, bool *failed)
{
    json_t *json = json_pack("{s:f, s:f, s:f, s:I, s:i, s:i}", "free_us", bound->free_us,
                             "waiting_us", bound->waiting_us, "proven_us", bound->proven_us,
                             "states", (json_int_t)bound->n_states, "groups", bound->n_groups,
                             "largest_group", bound->largest_group);

    cli_json_put(json, "cutting_us", time_json(bound->cutting_us), failed);
    return json;
}

static json_t *cells_json(const struct vbs_explanation *made, bool *failed)
{
    json_t *cells = json_array();

    for (int64_t c = 0; c < made->n_cells; c++) {
        const struct vbs_cell *cell = &made->cells[c];
        json_t *json = json_pack("{s:i, s:i, s:i, s:I}", "first_layer", cell->first_layer,
                                 "last_layer", cell->last_layer, "samples", cell->samples,
                                 "memory_bytes", (json_int_t)cell->memory_bytes);

        cli_json_put(json, "opt_us", time_json(cell->opt_us), failed);
        cli_json_put(json, "first_samples", json_integer(cell->first_samples), failed);
        cli_json_put(json, "exact_us", time_json(cell->exact_us), failed);
        cli_json_put(json, "pivot", json_integer(cell->pivot), failed);
        cli_json_append(cells, json, failed);
    }
    return cells;
}

static void put_lists(const struct cli_explanation *about, json_t *json, bool *failed)
{
    const struct vbs_explanation *made = about->made;
    json_t *decisions = json_array(), *points = json_array(), *order = json_array();

    for (int k = 0; k < made->n_layers; k++)
        cli_json_append(order, json_integer(made->order ? made->order[k] : k + 1), failed);
    cli_json_put(json, "order", order, failed);
    for (int d = 0; d < made->n_decisions; d++)
        cli_json_append(decisions, decision_json(about, &made->decisions[d], failed), failed);
    for (int p = 0; p < made->n_points; p++)
        cli_json_append(points,
                        json_pack("{s:I, s:f}", "memory_bytes",
                                  (json_int_t)made->points[p].memory_bytes, "time_us",
                                  made->points[p].time_us),
                        failed);
    cli_json_put(json, "decisions", decisions, failed);
    cli_json_put(json, "points", points, failed);
    if (made->cells)
        cli_json_put(json, "cells", cells_json(made, failed), failed);
    if (made->has_bound)
        cli_json_put(json, "bound", bound_json(&made->bound, failed), failed);
}

enum vbs_status cli_explanation_json(const struct cli_explanation *about, json_t **json)
{
    const struct vbs_problem *problem = about->problem;
    bool failed = false;
    json_t *made =
        json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:I}", "format", "vbslab-explanation-1",
                  "model", problem->profile->provenance.model, "planner", about->planner, "request",
                  (json_int_t)problem->request, "memory_bytes", (json_int_t)about->memory_bytes,
                  "io", vbs_io_word(problem->io), "weights", vbs_weights_word(problem->weights),
                  "weight_bytes", (json_int_t)(about->made ? about->made->weight_bytes : 0));
    enum vbs_status status = VBS_OK;

    cli_json_put(made, "time_us",
                 about->schedule ? json_real(about->schedule->predicted.time_us) : json_null(),
                 &failed);
    if (about->made)
        put_lists(about, made, &failed);
    else
        status = cli_put_weights(about, made, &failed);
    if (status == VBS_OK && failed)
        status = vbs_no_memory(&about->cli->ctx);
    if (status == VBS_OK)
        *json = made;
    else
        json_decref(made);
    return status;
}

enum vbs_status cli_write_explanation(const struct cli_explanation *about, const char *path)
{
    struct vbs_text text = {0};
    json_t *json;
    enum vbs_status status;

    VBS_TRY(cli_explanation_json(about, &json));
    vbs_text_add_json(&text, json, JSON_INDENT(1));
    vbs_text_add(&text, "\n");
    json_decref(json);
    status = text.failed ? vbs_no_memory(&about->cli->ctx)
                         : vbs_write_file(&about->cli->ctx, path, text.data, text.length);
    vbs_text_clear(&text);
    return status;
}
