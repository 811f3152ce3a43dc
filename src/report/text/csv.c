/* The fields of "vbslab-compare-1" as CSV: one line per budget and planner, the comparison's own
 * fields repeated in each. A member that is null there is empty here. */
#include "backend/provenance.h"
#include "base/fail.h"
#include "report/common/common.h"

#include <math.h>

#define EXECUTED_COLUMNS                                                                           \
    ",executed_us_per_sample,executed_low_us_per_sample,executed_high_us_per_sample,"              \
    "executed_predicted_us_per_sample,executed_gain_over_fbs_percent,"                             \
    "executed_gain_over_fbs_low_percent,executed_gain_over_fbs_high_percent,"                      \
    "executed_gain_over_fbs_best_percent,executed_gain_over_fbs_best_low_percent,"                 \
    "executed_gain_over_fbs_best_high_percent,n_turns,n_unusual_turns,n_left_out_turns,"           \
    "executed_predicted_low_us_per_sample,executed_predicted_high_us_per_sample"

/* Appends a number; it is left empty for an infeasible row. */
static void add_gain(struct vbs_text *text, const struct vbs_compare_row *row, double percent)
{
    vbs_text_add_field(text, row->feasible ? percent : NAN);
}

static void add_int(struct vbs_text *text, const struct vbs_compare_row *row, int64_t value)
{
    vbs_text_add(text, ",");
    if (row->feasible)
        vbs_text_addf(text, "%lld", (long long)value);
}

/* Appends the columns of later versions, which come last. */
static void add_noise(struct vbs_text *text, const struct vbs_compare *compare,
                      const struct vbs_compare_row *row)
{
    static const char *const VERDICTS[] = {
        [VBS_NOISE_UNKNOWN] = "", [VBS_NOISE_CLEAR] = "false", [VBS_NOISE_WITHIN] = "true"};

    add_gain(text, row, row->gain_over_fbs.low_percent);
    add_gain(text, row, row->gain_over_fbs.high_percent);
    add_gain(text, row, row->gain_over_fbs_best.low_percent);
    add_gain(text, row, row->gain_over_fbs_best.high_percent);
    vbs_text_addf(text, ",%s,%s", VERDICTS[row->noise], vbs_form_intervals(compare->intervals));
    add_gain(text, row, row->latency_us);
    vbs_text_add_field(text, row->least_latency_us > 0 ? row->least_latency_us : NAN);
    vbs_text_add_field(text, compare->latency_bound_us);
}

/* Appends the columns that are empty where weights are excluded. */
static void add_weights(struct vbs_text *text, const struct vbs_compare *compare,
                        const struct vbs_compare_row *row)
{
    vbs_text_addf(text, ",%s", vbs_weights_word(compare->weights));
    if (compare->weights == VBS_WEIGHTS_EXCLUDED) {
        vbs_text_add(text, ",,,,,,,,,");
        return;
    }
    add_gain(text, row, row->gain_over_mmcnn.percent);
    add_gain(text, row, row->gain_over_vdnn.percent);
    add_gain(text, row, row->gain_over_mmcnn.low_percent);
    add_gain(text, row, row->gain_over_mmcnn.high_percent);
    add_gain(text, row, row->gain_over_vdnn.low_percent);
    add_gain(text, row, row->gain_over_vdnn.high_percent);
    add_int(text, row, row->copied_bytes);
    add_gain(text, row, row->copy_us);
    add_int(text, row, row->resident_bytes);
}

/* Appends the columns of what was executed, which are empty where nothing was. */
static void add_executed(struct vbs_text *text, const struct vbs_executed_row *row)
{
    const struct vbs_executed_row none = {0};
    const struct vbs_executed_row *r = row ? row : &none;
    const double values[] = {
        r->per_sample_us,
        r->low_us,
        r->high_us,
        r->predicted_us,
        r->gain_over_fbs.percent,
        r->gain_over_fbs.low_percent,
        r->gain_over_fbs.high_percent,
        r->gain_over_fbs_best.percent,
        r->gain_over_fbs_best.low_percent,
        r->gain_over_fbs_best.high_percent,
    };

    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
        vbs_text_add_field(text, r->n_turns > 0 ? values[i] : NAN);
    vbs_text_addf(text, ",%d,%d,%d", r->n_turns, r->n_unusual, r->n_left_out);
    vbs_text_add_field(text, r->n_turns > 0 ? r->predicted_low_us : NAN);
    vbs_text_add_field(text, r->n_turns > 0 ? r->predicted_high_us : NAN);
}

/* Appends row number r of a comparison; executed: with the columns of what was executed. */
static void add_row(struct vbs_text *text, const struct vbs_compare *compare, int r, bool executed)
{
    const struct vbs_compare_row *row = &compare->rows[r];
    int b = r / compare->n_planners;

    vbs_text_addf(text, "%lld,%lld,%s,", (long long)compare->profile_id,
                  (long long)compare->judge_id, compare->self_judged ? "true" : "false");
    vbs_text_add_csv(text, compare->model);
    vbs_text_addf(text, ",%lld,%s,%lld,", (long long)compare->request, vbs_io_word(compare->io),
                  (long long)row->memory_bytes);
    vbs_text_add_csv(text, vbs_planner_name(row->planner));
    vbs_text_add(text, row->feasible ? ",true" : ",false");
    add_gain(text, row, row->per_sample_us);
    add_gain(text, row, row->samples_per_s);
    add_int(text, row, row->peak_bytes);
    add_gain(text, row, row->gain_over_fbs.percent);
    add_gain(text, row, row->gain_over_fbs_best.percent);
    add_gain(text, row, row->gap_percent);
    add_int(text, row, row->max_batch);
    add_int(text, row, row->min_batch);
    add_gain(text, row, row->plan_us);
    vbs_text_add(text, ",");
    if (row->least_bytes > 0 && row->least_bytes < INT64_MAX)
        vbs_text_addf(text, "%lld", (long long)row->least_bytes);
    add_noise(text, compare, row);
    add_weights(text, compare, row);
    vbs_text_add_field(text, compare->bound_us[b]);
    vbs_provenance_add_columns(text, compare->hash, &compare->provenance);
    vbs_text_addf(text, ",%s,%s", compare->judge_hash, compare->interrupted ? "true" : "false");
    add_int(text, row, row->n_coded);
    vbs_text_addf(text, ",%s", row->estimated ? "true" : "false");
    if (executed)
        add_executed(text, compare->executed ? &compare->executed->rows[r] : NULL);
    vbs_text_add(text, "\n");
}

static bool has_executed(const struct vbs_compare *const *compares, int n_compares)
{
    for (int i = 0; i < n_compares; i++)
        if (compares[i]->executed)
            return true;
    return false;
}

enum vbs_status vbs_compare_csv(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                int n_compares, char **text)
{
    bool executed = has_executed(compares, n_compares);
    struct vbs_text out = {0};

    vbs_text_add(&out, "profile,judge,self_judged,model,request,io,memory_bytes,planner,feasible,"
                       "per_sample_us,samples_per_s,peak_bytes,gain_over_fbs_percent,"
                       "gain_over_fbs_best_percent,gap_percent,max_batch,min_batch,plan_us,"
                       "least_bytes,gain_over_fbs_low_percent,gain_over_fbs_high_percent,"
                       "gain_over_fbs_best_low_percent,gain_over_fbs_best_high_percent,"
                       "within_noise,intervals,latency_us,least_latency_us,latency_bound_us,"
                       "weights,gain_over_mmcnn_percent,gain_over_vdnn_percent,"
                       "gain_over_mmcnn_low_percent,gain_over_mmcnn_high_percent,"
                       "gain_over_vdnn_low_percent,gain_over_vdnn_high_percent,copied_bytes,"
                       "copy_us,resident_bytes,bound_us" VBS_PROVENANCE_COLUMNS
                       ",judge_hash,interrupted,coded_layers,estimated");
    if (executed)
        vbs_text_add(&out, EXECUTED_COLUMNS);
    vbs_text_add(&out, "\n");
    for (int i = 0; i < n_compares; i++)
        for (int r = 0; r < compares[i]->n_budgets * compares[i]->n_planners; r++)
            if (!compares[i]->rows[r].missing)
                add_row(&out, compares[i], r, executed);
    if (out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
