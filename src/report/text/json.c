/*
 * Comparisons as JSON, "vbslab-compare-1" (docs/formats.md): always an object with all of them in
 * "profiles". Where there is one only, its keys also stand beside that array, which is all that
 * version 1 had. A gain over an infeasible baseline, and every number of an infeasible row, is
 * null.
 */
#include "base/fail.h"
#include "base/json.h"
#include "report/common/common.h"
#include "report/text/text.h"

#include <math.h>

/* Sets a member. jansson's setters accept null for a value that could not be made, and fail, so
 * that only the end of a sequence of them needs a check. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *string(const char *value)
{
    struct vbs_text text = {0};
    json_t *made = NULL;

    vbs_text_add(&text, "");
    vbs_form_add_utf8(&text, value);
    if (!text.failed)
        made = json_string(text.data);
    vbs_text_clear(&text);
    return made;
}

/* Sets a number; null for an infeasible row. */
static bool set_if(json_t *object, const char *key, bool feasible, double value)
{
    return set(object, key, feasible ? number(value) : json_null());
}

static bool set_int_if(json_t *object, const char *key, bool feasible, int64_t value)
{
    return set(object, key, feasible ? json_integer(value) : json_null());
}

static bool set_gain(json_t *object, const char *key, double percent, bool feasible)
{
    return set_if(object, key, feasible, percent);
}

static json_t *verdict(enum vbs_noise_verdict noise)
{
    return noise == VBS_NOISE_UNKNOWN ? json_null() : json_boolean(noise == VBS_NOISE_WITHIN);
}

/* Sets the members that only a comparison with weights included has. */
static bool set_weights(json_t *object, const struct vbs_compare_row *row)
{
    const struct vbs_gain *mmcnn = &row->gain_over_mmcnn, *vdnn = &row->gain_over_vdnn;

    return set_gain(object, "gain_over_mmcnn_percent", mmcnn->percent, row->feasible) &&
           set_gain(object, "gain_over_vdnn_percent", vdnn->percent, row->feasible) &&
           set_gain(object, "gain_over_mmcnn_low_percent", mmcnn->low_percent, row->feasible) &&
           set_gain(object, "gain_over_mmcnn_high_percent", mmcnn->high_percent, row->feasible) &&
           set_gain(object, "gain_over_vdnn_low_percent", vdnn->low_percent, row->feasible) &&
           set_gain(object, "gain_over_vdnn_high_percent", vdnn->high_percent, row->feasible) &&
           set_int_if(object, "copied_bytes", row->feasible, row->copied_bytes) &&
           set_if(object, "copy_us", row->feasible, row->copy_us) &&
           set_int_if(object, "resident_bytes", row->feasible, row->resident_bytes);
}

/* Sets the members that only a comparison has whose schedules were executed. */
static bool set_executed(json_t *object, const struct vbs_executed_row *row)
{
    const struct vbs_gain *fbs = &row->gain_over_fbs, *best = &row->gain_over_fbs_best;
    bool done = row->n_turns > 0;

    return set_if(object, "executed_us_per_sample", done, row->per_sample_us) &&
           set_if(object, "executed_low_us_per_sample", done, row->low_us) &&
           set_if(object, "executed_high_us_per_sample", done, row->high_us) &&
           set_if(object, "executed_predicted_us_per_sample", done, row->predicted_us) &&
           set_gain(object, "executed_gain_over_fbs_percent", fbs->percent, done) &&
           set_gain(object, "executed_gain_over_fbs_low_percent", fbs->low_percent, done) &&
           set_gain(object, "executed_gain_over_fbs_high_percent", fbs->high_percent, done) &&
           set_gain(object, "executed_gain_over_fbs_best_percent", best->percent, done) &&
           set_gain(object, "executed_gain_over_fbs_best_low_percent", best->low_percent, done) &&
           set_gain(object, "executed_gain_over_fbs_best_high_percent", best->high_percent, done) &&
           set(object, "n_turns", json_integer(row->n_turns)) &&
           set(object, "n_unusual_turns", json_integer(row->n_unusual)) &&
           set(object, "n_left_out_turns", json_integer(row->n_left_out)) &&
           set_if(object, "executed_predicted_low_us_per_sample", done, row->predicted_low_us) &&
           set_if(object, "executed_predicted_high_us_per_sample", done, row->predicted_high_us);
}

/* Makes row number r of a comparison. */
static json_t *make_row(const struct vbs_compare *compare, int r)
{
    const struct vbs_compare_row *row = &compare->rows[r];
    enum vbs_weights weights = compare->weights;
    double bound_us = compare->bound_us[r / compare->n_planners];
    const struct vbs_gain *fbs = &row->gain_over_fbs, *best = &row->gain_over_fbs_best;
    json_t *made = json_object();

    if (set(made, "memory_bytes", json_integer(row->memory_bytes)) &&
        set(made, "planner", string(vbs_planner_name(row->planner))) &&
        set(made, "feasible", json_boolean(row->feasible)) &&
        set_if(made, "per_sample_us", row->feasible, row->per_sample_us) &&
        set_if(made, "samples_per_s", row->feasible, row->samples_per_s) &&
        set_int_if(made, "peak_bytes", row->feasible, row->peak_bytes) &&
        set_gain(made, "gain_over_fbs_percent", fbs->percent, row->feasible) &&
        set_gain(made, "gain_over_fbs_best_percent", best->percent, row->feasible) &&
        set_if(made, "gap_percent", row->feasible, row->gap_percent) &&
        set_int_if(made, "max_batch", row->feasible, row->max_batch) &&
        set_int_if(made, "min_batch", row->feasible, row->min_batch) &&
        set_int_if(made, "coded_layers", row->feasible, row->n_coded) &&
        set_if(made, "plan_us", row->feasible, row->plan_us) &&
        set(made, "least_bytes",
            row->least_bytes > 0 && row->least_bytes < INT64_MAX ? json_integer(row->least_bytes)
                                                                 : json_null()) &&
        set_gain(made, "gain_over_fbs_low_percent", fbs->low_percent, row->feasible) &&
        set_gain(made, "gain_over_fbs_high_percent", fbs->high_percent, row->feasible) &&
        set_gain(made, "gain_over_fbs_best_low_percent", best->low_percent, row->feasible) &&
        set_gain(made, "gain_over_fbs_best_high_percent", best->high_percent, row->feasible) &&
        set(made, "within_noise", verdict(row->noise)) &&
        set_if(made, "latency_us", row->feasible, row->latency_us) &&
        set(made, "least_latency_us",
            row->least_latency_us > 0 ? number(row->least_latency_us) : json_null()) &&
        set(made, "bound_us", number(bound_us)) &&
        set(made, "estimated", json_boolean(row->estimated)) &&
        (weights == VBS_WEIGHTS_EXCLUDED || set_weights(made, row)) &&
        (!compare->executed || set_executed(made, &compare->executed->rows[r])))
        return made;
    json_decref(made);
    return NULL;
}

static json_t *make_rows(const struct vbs_compare *compare)
{
    json_t *made = json_array();

    for (int i = 0; made && i < compare->n_budgets * compare->n_planners; i++) {
        if (compare->rows[i].missing)
            continue;
        if (json_array_append_new(made, make_row(compare, i)) != 0) {
            json_decref(made);
            made = NULL;
        }
    }
    return made;
}

/* Sets the link where weights are inside the budget. */
static bool set_copy(json_t *object, const struct vbs_compare *compare)
{
    json_t *copy = json_object();

    if (set(copy, "source", string(compare->copy.source)) &&
        set(copy, "latency_us", number(compare->copy.latency_us)) &&
        set(copy, "bytes_per_us", number(compare->copy.bytes_per_us)))
        return set(object, "copy", copy);
    json_decref(copy);
    return false;
}

/* Sets the provenance of the times of a profile. */
static bool set_provenance(json_t *object, const char *key, const char *hash,
                           const struct vbs_provenance *from)
{
    json_t *made = json_object();

    if (set(made, "hash", json_string(hash)) && set(made, "backend", string(from->backend)) &&
        set(made, "library", string(from->library)) && set(made, "device", string(from->device)) &&
        set(made, "threads", from->threads ? json_integer(from->threads) : json_null()) &&
        set(made, "date", string(from->date)) &&
        set(made, "modelled", json_boolean(vbs_provenance_modelled(from))))
        return set(object, key, made);
    json_decref(made);
    return false;
}

static bool set_compare(json_t *made, const struct vbs_compare *compare)
{
    return set(made, "profile", json_integer(compare->profile_id)) &&
           set(made, "judge", json_integer(compare->judge_id)) &&
           set(made, "self_judged", json_boolean(compare->self_judged)) &&
           set(made, "model", string(compare->model)) &&
           set_provenance(made, "provenance", compare->hash, &compare->provenance) &&
           set_provenance(made, "judge_provenance", compare->judge_hash, &compare->judge) &&
           set(made, "request", json_integer(compare->request)) &&
           set(made, "io", json_string(vbs_io_word(compare->io))) &&
           set(made, "weights", json_string(vbs_weights_word(compare->weights))) &&
           (compare->weights == VBS_WEIGHTS_EXCLUDED || set_copy(made, compare)) &&
           set(made, "weight_bytes", json_integer(compare->weight_bytes)) &&
           set(made, "latency_bound_us", number(compare->latency_bound_us)) &&
           set(made, "intervals", json_string(vbs_form_intervals(compare->intervals))) &&
           set(made, "interrupted", json_boolean(compare->interrupted)) &&
           set(made, "rows", make_rows(compare));
}

json_t *vbs_text_compare(const struct vbs_compare *compare)
{
    json_t *made = json_object();

    if (set_compare(made, compare))
        return made;
    json_decref(made);
    return NULL;
}

static json_t *make_array(const struct vbs_compare *const *compares, int n_compares)
{
    json_t *made = json_array();

    for (int i = 0; made && i < n_compares; i++) {
        if (json_array_append_new(made, vbs_text_compare(compares[i])) != 0) {
            json_decref(made);
            made = NULL;
        }
    }
    return made;
}

static json_t *make_all(const struct vbs_compare *const *compares, int n_compares)
{
    json_t *made = json_object();

    if (set(made, "format", json_string("vbslab-compare-1")) &&
        set(made, "version", json_integer(2)) &&
        (n_compares != 1 || set_compare(made, compares[0])) &&
        set(made, "profiles", make_array(compares, n_compares)))
        return made;
    json_decref(made);
    return NULL;
}

enum vbs_status vbs_compare_json(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                 int n_compares, char **text)
{
    json_t *made = make_all(compares, n_compares);
    struct vbs_text out = {0};

    vbs_text_add_json(&out, made, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    vbs_text_add(&out, "\n");
    json_decref(made);
    if (out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
