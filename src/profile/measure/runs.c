/*
 * The table of kernels: their runs so far, and the choice of the next one.
 *
 * A kernel needs no more runs when its median is tight, when it has max_runs, or when it is
 * dominated. Whether a median is tight is judged by the same values of which the interval is made,
 * which costs the interval some of its 95% (optional stopping); a larger min_runs helps where this
 * matters.
 */
#include "profile/measure/measure.h"

#include "base/fail.h"

#include <math.h>
#include <string.h>

#define DOMINATED 1.5

const struct vbs_group *vbs_table_group(const struct vbs_table *table, int layer, int batch_index)
{
    return &table->groups[(size_t)(layer - 1) * (size_t)table->n_batches + (size_t)batch_index];
}

/* Finds the batches: they are those of layer 1, whose kernels come first. */
static enum vbs_status find_batches(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;

    table->batches =
        vbs_arena_alloc(&table->arena, (size_t)session->n_kernels, sizeof *table->batches);
    if (!table->batches)
        return vbs_no_memory(ctx);
    for (int i = 0; i < session->n_kernels && session->kernels[i].layer == 1; i++) {
        int batch = session->kernels[i].batch;

        if (table->n_batches == 0 || batch > table->batches[table->n_batches - 1])
            table->batches[table->n_batches++] = batch;
    }
    if (table->n_batches == 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "the backend offers no method to run layer 1");
    return VBS_OK;
}

/* Finds the groups. Kernels are sorted by layer and batch; each must belong to a group, and each
 * group must have a kernel. */
static enum vbs_status find_groups(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;
    size_t n_batches = (size_t)table->n_batches;
    size_t n = (size_t)session->n_layers * n_batches;
    int next = 0;

    table->groups = vbs_arena_alloc(&table->arena, n, sizeof *table->groups);
    if (!table->groups)
        return vbs_no_memory(ctx);
    for (size_t g = 0; g < n; g++) {
        int layer = 1 + (int)(g / n_batches);
        int batch = table->batches[g % n_batches];

        table->groups[g].first = next;
        while (next < session->n_kernels && session->kernels[next].layer == layer &&
               session->kernels[next].batch == batch)
            next++;
        table->groups[g].count = next - table->groups[g].first;
        if (table->groups[g].count == 0)
            return vbs_fail(ctx, VBS_UNSUPPORTED,
                            "the backend offers no method to run layer '%s' at batch %d",
                            session->layers[layer].name, batch);
    }
    if (next < session->n_kernels)
        return vbs_fail(ctx, VBS_LIBRARY, "the backend's kernel %d is out of order", next);
    return VBS_OK;
}

enum vbs_status vbs_table_init(struct vbs_ctx *ctx, struct vbs_table *table)
{
    table->runs =
        vbs_arena_alloc(&table->arena, (size_t)table->session->n_kernels, sizeof *table->runs);
    if (!table->runs)
        return vbs_no_memory(ctx);
    VBS_TRY(find_batches(ctx, table));
    return find_groups(ctx, table);
}

void vbs_table_release(struct vbs_table *table)
{
    vbs_arena_clear(&table->arena);
}

enum vbs_status vbs_table_append(struct vbs_ctx *ctx, struct vbs_table *table, int kernel,
                                 double time_us)
{
    struct vbs_runs *runs = &table->runs[kernel];
    int n = runs->summary.n_runs;

    if (n == runs->capacity) {
        int capacity = n > 0 ? 2 * n : 8;
        double *times_us = vbs_arena_alloc(&table->arena, (size_t)capacity, sizeof *times_us);

        if (!times_us)
            return vbs_no_memory(ctx);
        if (n > 0)
            memcpy(times_us, runs->times_us, (size_t)n * sizeof *times_us);
        runs->times_us = times_us;
        runs->capacity = capacity;
    }
    runs->times_us[n] = time_us;
    vbs_measure_summary(runs->times_us, n + 1, &runs->summary);
    return VBS_OK;
}

double vbs_relative_interval(const struct vbs_profile_row *summary)
{
    double half = (summary->high_us - summary->low_us) / 2;

    if (half == 0)
        return 0;
    return summary->time_us > 0 ? half / summary->time_us : HUGE_VAL;
}

bool vbs_table_is_tight(const struct vbs_table *table, int kernel)
{
    const struct vbs_profile_row *summary = &table->runs[kernel].summary;

    return summary->n_runs >= VBS_LEAST_RUNS &&
           vbs_relative_interval(summary) <= table->options.relative_interval;
}

bool vbs_table_is_dominated(const struct vbs_table *table, const struct vbs_group *group,
                            int kernel)
{
    const struct vbs_kernel *kernels = table->session->kernels;
    const struct vbs_profile_row *summary = &table->runs[kernel].summary;

    if (summary->n_runs < table->options.min_runs)
        return false;
    for (int i = group->first; i < group->first + group->count; i++) {
        const struct vbs_profile_row *other = &table->runs[i].summary;

        if (other->n_runs >= table->options.min_runs &&
            kernels[i].ws_bytes <= kernels[kernel].ws_bytes &&
            summary->low_us > DOMINATED * other->time_us)
            return true;
    }
    return false;
}

static enum vbs_need kernel_need(const struct vbs_table *table, const struct vbs_group *group,
                                 int kernel, bool hurry)
{
    int n = table->runs[kernel].summary.n_runs;

    if (n < table->least_runs)
        return VBS_NEEDS_RUNS;
    if (hurry || n >= table->options.max_runs || vbs_table_is_tight(table, kernel) ||
        vbs_table_is_dominated(table, group, kernel))
        return VBS_NEEDS_NOTHING;
    return VBS_NEEDS_TIGHTER;
}

enum vbs_need vbs_table_need(const struct vbs_table *table, int batch_index, bool hurry)
{
    enum vbs_need most = VBS_NEEDS_NOTHING;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, batch_index);

        for (int i = group->first; i < group->first + group->count; i++) {
            enum vbs_need need = kernel_need(table, group, i, hurry);

            if (need < most)
                most = need;
        }
    }
    return most;
}

/* Compares two kernels: below 0, kernel a goes before b; 0: chance decides. Where neither needs
 * runs the faster one goes first, because it takes the least time and most plans will run it beside
 * the kernels that are measured. */
static int precedence(enum vbs_need need_a, const struct vbs_profile_row *a, enum vbs_need need_b,
                      const struct vbs_profile_row *b)
{
    if (need_a != need_b)
        return need_a < need_b ? -1 : 1;
    if (need_a == VBS_NEEDS_NOTHING)
        return a->time_us < b->time_us ? -1 : 1;
    return (a->n_runs > b->n_runs) - (a->n_runs < b->n_runs);
}

int vbs_table_choose(const struct vbs_table *table, const struct vbs_group *group, bool hurry,
                     const gsl_rng *rng)
{
    int best = group->first;
    unsigned long n_ties = 1;
    enum vbs_need best_need = kernel_need(table, group, best, hurry);

    for (int i = group->first + 1; i < group->first + group->count; i++) {
        enum vbs_need need = kernel_need(table, group, i, hurry);
        int order =
            precedence(need, &table->runs[i].summary, best_need, &table->runs[best].summary);

        if (order > 0)
            continue;
        n_ties = order < 0 ? 1 : n_ties + 1;
        if (order < 0 || gsl_rng_uniform_int(rng, n_ties) == 0) {
            best = i;
            best_need = need;
        }
    }
    return best;
}

/* Estimates the runs that a kernel still needs: its interval narrows with the root of their
 * number. */
static double runs_left(const struct vbs_table *table, const struct vbs_group *group, int kernel,
                        bool least_only)
{
    const struct vbs_profile_row *summary = &table->runs[kernel].summary;
    double aim, ratio;

    if (summary->n_runs < table->least_runs)
        return table->least_runs - summary->n_runs;
    if (kernel_need(table, group, kernel, least_only) == VBS_NEEDS_NOTHING)
        return 0;
    ratio = vbs_relative_interval(summary) / table->options.relative_interval;
    aim = fmin(fmax(VBS_LEAST_RUNS, summary->n_runs * ratio * ratio), table->options.max_runs);
    return fmax(1, aim - summary->n_runs);
}

/* The algorithms of a layer take turns, so that a batch needs as many passes as the layer whose
 * algorithms need the most runs. */
double vbs_table_passes_left(const struct vbs_table *table, int batch_index, bool least_only)
{
    double most = 0;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, batch_index);
        double sum = 0;

        for (int i = group->first; i < group->first + group->count; i++)
            sum += runs_left(table, group, i, least_only);
        most = fmax(most, sum);
    }
    return most;
}

/* Gives the passes that a batch needs until every kernel has n_runs. */
static double passes_to(const struct vbs_table *table, int batch_index, int n_runs)
{
    int most = 0;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, batch_index);
        int sum = 0;

        for (int i = group->first; i < group->first + group->count; i++)
            if (table->runs[i].summary.n_runs < n_runs)
                sum += n_runs - table->runs[i].summary.n_runs;
        most = sum > most ? sum : most;
    }
    return most;
}

int vbs_table_affordable_runs(const struct vbs_table *table, const double *pass_s, double left_s)
{
    int n_runs = 1;

    while (n_runs < table->options.min_runs) {
        double needed_s = 0;

        for (int b = 0; b < table->n_batches; b++)
            needed_s += pass_s[b] * passes_to(table, b, n_runs + 1);
        if (needed_s > left_s)
            break;
        n_runs++;
    }
    return n_runs;
}
