/* What saved runs leave behind: kernels with the times of equal ones, and kernels without any. */
#include "profile/measure/measure.h"

#include "base/fail.h"

#include <string.h>

#define ENOUGH VBS_JUDGED_RUNS /* own runs of a kernel, which then borrows none */

/* The runs that kernels had before any were lent. */
struct lender {
    struct vbs_ctx *ctx;
    struct vbs_table *table;
    const struct vbs_sample_sink *sink;
    int round;
    int *first, *next;       /* [n_kernels] lists of the kernels of each pool; -1: the end */
    const double **times_us; /* [n_kernels] */
    int *n_times;            /* [n_kernels] */
    int *left_out;           /* [n_passes] the batches that are left out */
    struct vbs_arena arena;
};

static enum vbs_status allocate(struct lender *l)
{
    size_t n = (size_t)l->table->session->n_kernels;

    l->first = vbs_arena_alloc(&l->arena, n, sizeof *l->first);
    l->next = vbs_arena_alloc(&l->arena, n, sizeof *l->next);
    l->n_times = vbs_arena_alloc(&l->arena, n, sizeof *l->n_times);
    l->times_us = vbs_arena_alloc(&l->arena, n, sizeof *l->times_us);
    l->left_out = vbs_arena_alloc(&l->arena, (size_t)l->table->n_passes, sizeof *l->left_out);
    return l->left_out && l->first && l->next && l->n_times && l->times_us ? VBS_OK
                                                                           : vbs_no_memory(l->ctx);
}

/* Copies the runs of all kernels, and lists the kernels of each pool. */
static enum vbs_status copy_runs(struct lender *l)
{
    int n = l->table->session->n_kernels;

    for (int i = 0; i < n; i++)
        l->first[i] = -1;
    for (int i = n - 1; i >= 0; i--) {
        const struct vbs_runs *runs = &l->table->runs[i];
        double *copy = vbs_arena_alloc(&l->arena, (size_t)runs->summary.n_runs + 1, sizeof *copy);
        int pool = l->table->pool_of[i];

        if (!copy)
            return vbs_no_memory(l->ctx);
        l->n_times[i] = runs->summary.n_runs;
        if (l->n_times[i] > 0)
            memcpy(copy, runs->times_us, (size_t)l->n_times[i] * sizeof *copy);
        l->times_us[i] = copy;
        l->next[i] = l->first[pool];
        l->first[pool] = i;
    }
    return VBS_OK;
}

/* Gives a kernel the runs of another one, up to max_runs. Each is in a round of its own. */
static enum vbs_status lend(struct lender *l, int kernel, int other)
{
    for (int i = 0; i < l->n_times[other]; i++) {
        double time_us = l->times_us[other][i];

        if (l->table->runs[kernel].summary.n_runs >= l->table->options.max_runs)
            return VBS_OK;
        VBS_TRY(l->sink->add(l->ctx, l->sink->self, kernel, l->round++, time_us));
        VBS_TRY(vbs_table_append(l->ctx, l->table, kernel, time_us));
    }
    return VBS_OK;
}

static enum vbs_status borrow(struct lender *l, int kernel)
{
    if (l->n_times[kernel] >= ENOUGH || l->table->own_runs)
        return VBS_OK;
    for (int i = l->first[l->table->pool_of[kernel]]; i >= 0; i = l->next[i])
        if (i != kernel)
            VBS_TRY(lend(l, kernel, i));
    return VBS_OK;
}

/* Lists the batches at which some layer has no time; gives their number. */
static int list_left_out(struct lender *l)
{
    const struct vbs_table *table = l->table;
    int n = 0;

    for (int p = 0; p < table->n_passes; p++)
        if (table->passes[p].rows == 0 && !vbs_table_has_times(table, p))
            l->left_out[n++] = table->passes[p].batch;
    return n;
}

/* Returns whether a kernel is of a batch that is left out. */
static bool is_of_left_out(const struct lender *l, int kernel, int n_batches)
{
    const struct vbs_kernel *k = &l->table->session->kernels[kernel];
    bool is = false;

    for (int i = 0; i < n_batches && k->rows == 0; i++)
        is = is || l->left_out[i] == k->batch;
    return is;
}

static enum vbs_status settle(struct lender *l, struct vbs_measure_report *report)
{
    int n_batches;

    VBS_TRY(copy_runs(l));
    n_batches = report->n_batches_left_out = list_left_out(l);
    for (int i = 0; i < l->table->session->n_kernels; i++) {
        bool left_out = is_of_left_out(l, i, n_batches);

        if (!left_out)
            VBS_TRY(borrow(l, i));
        if (!left_out && l->table->runs[i].summary.n_runs > 0)
            continue;
        report->n_left_out++;
        VBS_TRY(l->sink->leave_out(l->ctx, l->sink->self, i));
    }
    return VBS_OK;
}

enum vbs_status vbs_table_lend(struct vbs_ctx *ctx, struct vbs_table *table,
                               const struct vbs_sample_sink *sink, int round,
                               struct vbs_measure_report *report)
{
    struct lender l = {.ctx = ctx, .table = table, .sink = sink, .round = round};
    enum vbs_status status = allocate(&l);

    if (status == VBS_OK)
        status = settle(&l, report);
    vbs_arena_clear(&l.arena);
    return status;
}
