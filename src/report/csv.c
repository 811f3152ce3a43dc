/* The fields of "vbslab-compare-1" as CSV: one line per budget and planner, the comparison's own
 * fields repeated in each. What is null there is empty here. */
#include "base/fail.h"
#include "report/form.h"

#include <math.h>

static void add_number(struct vbs_text *text, double value)
{
    vbs_text_add(text, ",");
    if (isfinite(value))
        vbs_text_add_double(text, value);
}

static void add_row(struct vbs_text *text, const struct vbs_compare *compare,
                    const struct vbs_compare_row *row)
{
    vbs_text_addf(text, "%lld,%lld,%s,", (long long)compare->profile_id,
                  (long long)compare->judge_id, compare->self_judged ? "true" : "false");
    vbs_text_add_csv(text, compare->model);
    vbs_text_addf(text, ",%lld,%s,%lld,%s,%s", (long long)compare->request,
                  vbs_io_word(compare->io), (long long)row->memory_bytes,
                  vbs_planner_name(row->planner), row->feasible ? "true" : "false");
    add_number(text, row->per_sample_us);
    add_number(text, row->samples_per_s);
    vbs_text_addf(text, ",%lld", (long long)row->peak_bytes);
    add_number(text, row->feasible ? row->gain_over_fbs_percent : NAN);
    add_number(text, row->feasible ? row->gain_over_fbs_best_percent : NAN);
    add_number(text, row->gap_percent);
    vbs_text_addf(text, ",%d,%d", row->max_batch, row->min_batch);
    add_number(text, row->plan_us);
    vbs_text_addf(text, ",%lld\n", (long long)row->least_bytes);
}

enum vbs_status vbs_compare_csv(struct vbs_ctx *ctx, const struct vbs_compare *const *compares,
                                int n_compares, char **text)
{
    struct vbs_text out = {0};

    vbs_text_add(&out, "profile,judge,self_judged,model,request,io,memory_bytes,planner,feasible,"
                       "per_sample_us,samples_per_s,peak_bytes,gain_over_fbs_percent,"
                       "gain_over_fbs_best_percent,gap_percent,max_batch,min_batch,plan_us,"
                       "least_bytes\n");
    for (int i = 0; i < n_compares; i++)
        for (int r = 0; r < compares[i]->n_budgets * compares[i]->n_planners; r++)
            add_row(&out, compares[i], &compares[i]->rows[r]);
    if (out.failed) {
        vbs_text_clear(&out);
        return vbs_no_memory(ctx);
    }
    *text = out.data;
    return VBS_OK;
}
