/* Frontiers of planners as a picture: a comparison whose budgets are all their breakpoints, because
 * between two of them no curve changes. */
#include "base/fail.h"
#include "report/plot/throughput.h"
#include "vbslab/units.h"

#include <math.h>
#include <stdlib.h>

/* The arrays of the comparison that is drawn. */
struct frontier_arrays {
    int64_t *budgets;
    double *bound_us;
    struct vbs_compare_row *rows;
};

static int compare_bytes(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;

    return (left > right) - (left < right);
}

/* Fills the breakpoints of all frontiers, ascending, each once; gives their number. */
static int fill_budgets(const struct vbs_frontier *const *frontiers, int n_frontiers,
                        int64_t *budgets)
{
    int n = 0, n_different = 0;

    for (int f = 0; f < n_frontiers; f++)
        for (int i = 0; i < frontiers[f]->n_points; i++)
            budgets[n++] = frontiers[f]->points[i].memory_bytes;
    qsort(budgets, (size_t)n, sizeof *budgets, compare_bytes);
    for (int i = 0; i < n; i++)
        if (i == 0 || budgets[i] != budgets[n_different - 1])
            budgets[n_different++] = budgets[i];
    return n_different;
}

static struct vbs_compare_row row_of(const struct vbs_frontier_point *point, int64_t memory_bytes,
                                     int64_t request, const struct vbs_planner *planner)
{
    struct vbs_compare_row row = {.memory_bytes = memory_bytes, .planner = planner};

    row.feasible = point && point->time_us < HUGE_VAL;
    if (row.feasible) {
        row.per_sample_us = point->time_us / (double)request;
        row.samples_per_s = 1e6 / row.per_sample_us;
    }
    return row;
}

/* Fills the rows of one planner: at each budget the last breakpoint that is not above it. */
static void fill_rows(const struct vbs_frontier *frontier, const struct vbs_compare *compare, int p,
                      struct vbs_compare_row *rows)
{
    int at = 0;

    for (int b = 0; b < compare->n_budgets; b++) {
        while (at < frontier->n_points && frontier->points[at].memory_bytes <= compare->budgets[b])
            at++;
        rows[(size_t)b * (size_t)compare->n_planners + (size_t)p] =
            row_of(at > 0 ? &frontier->points[at - 1] : NULL, compare->budgets[b], compare->request,
                   compare->planners[p]);
    }
}

/* Fills the bounds of all budgets of a step: that of the largest, behind the last step of any. */
static enum vbs_status fill_bounds(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                   const struct vbs_compare *compare, double *bound_us)
{
    for (int b = 0; b < compare->n_budgets; b++) {
        bool is_last = b + 1 == compare->n_budgets;
        int64_t most = is_last ? VBS_MAX_BYTES : compare->budgets[b + 1] - 1;

        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "%s", vbs_status_text(VBS_INTERRUPTED));
        VBS_TRY(vbs_bound_us(ctx, problem, most, &bound_us[b]));
    }
    return VBS_OK;
}

static enum vbs_status draw(struct vbs_gnuplot *picture, const struct vbs_problem *problem,
                            const struct vbs_planner *const *planners,
                            const struct vbs_frontier *const *frontiers, int n_frontiers,
                            struct frontier_arrays *arrays)
{
    struct vbs_compare compare = {.model = problem->profile->provenance.model,
                                  .request = problem->request,
                                  .io = problem->io,
                                  .latency_bound_us = problem->latency_us,
                                  .weights = problem->weights,
                                  .copy = problem->copy,
                                  .weight_bytes = vbs_profile_weight_bytes(problem->profile),
                                  .provenance = problem->profile->provenance,
                                  .judge = problem->profile->provenance,
                                  .self_judged = true,
                                  .n_planners = n_frontiers,
                                  .planners = planners};
    const struct vbs_compare *only = &compare;

    compare.n_budgets = fill_budgets(frontiers, n_frontiers, arrays->budgets);
    compare.budgets = arrays->budgets;
    VBS_TRY(fill_bounds(picture->ctx, problem, &compare, arrays->bound_us));
    for (int f = 0; f < n_frontiers; f++)
        fill_rows(frontiers[f], &compare, f, arrays->rows);
    compare.bound_us = arrays->bound_us;
    compare.rows = arrays->rows;
    return vbs_throughput_draw(picture, &only, 1, true,
                               "Throughput against memory, at every breakpoint");
}

enum vbs_status vbs_frontier_plot(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                  const struct vbs_planner *const *planners,
                                  const struct vbs_frontier *const *frontiers, int n_frontiers,
                                  const struct vbs_plot_options *options, const char *path)
{
    struct vbs_gnuplot picture;
    struct frontier_arrays arrays;
    size_t n = 0;
    enum vbs_status status = vbs_gnuplot_begin(ctx, options, path, &picture);

    if (status != VBS_OK)
        return status;
    for (int f = 0; f < n_frontiers; f++)
        n += (size_t)frontiers[f]->n_points;
    if (n == 0)
        return vbs_fail(ctx, VBS_INFEASIBLE, "nothing to plot: no planner has a plan");
    arrays = (struct frontier_arrays){.budgets = calloc(n, sizeof *arrays.budgets),
                                      .bound_us = calloc(n, sizeof *arrays.bound_us),
                                      .rows = calloc(n * (size_t)n_frontiers, sizeof *arrays.rows)};
    status = arrays.budgets && arrays.bound_us && arrays.rows
                 ? draw(&picture, problem, planners, frontiers, n_frontiers, &arrays)
                 : vbs_no_memory(ctx);
    free(arrays.budgets);
    free(arrays.bound_us);
    free(arrays.rows);
    vbs_gnuplot_clear(&picture);
    return status;
}
