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

const struct vbs_group *vbs_table_group(const struct vbs_table *table, int layer, int pass)
{
    return &table->groups[(size_t)(layer - 1) * (size_t)table->n_passes + (size_t)pass];
}

/* Compares the passes that two kernels belong to, in the order of the table. */
static int compare_passes(const struct vbs_pass *a, const struct vbs_pass *b)
{
    if ((a->rows > 0) != (b->rows > 0))
        return a->rows > 0 ? 1 : -1;
    if (a->batch != b->batch)
        return a->batch < b->batch ? -1 : 1;
    return (a->rows > b->rows) - (a->rows < b->rows);
}

static struct vbs_pass pass_of(const struct vbs_kernel *kernel)
{
    return (struct vbs_pass){.batch = kernel->batch, .rows = kernel->rows};
}

/* Gives the index of a pass in the table, or where it would be. O(log passes). */
static int find_pass(const struct vbs_table *table, const struct vbs_pass *pass)
{
    int low = 0, high = table->n_passes;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if (compare_passes(&table->passes[middle], pass) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has_pass(const struct vbs_table *table, int at, const struct vbs_pass *pass)
{
    return at < table->n_passes && compare_passes(&table->passes[at], pass) == 0;
}

/* Finds the kinds of passes: those of whole samples are the batches of layer 1, the others all
 * stripes that some kernel computes. */
static enum vbs_status find_passes(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;

    table->passes =
        vbs_arena_alloc(&table->arena, (size_t)session->n_kernels, sizeof *table->passes);
    if (!table->passes)
        return vbs_no_memory(ctx);
    for (int i = 0; i < session->n_kernels; i++) {
        struct vbs_pass pass = pass_of(&session->kernels[i]);
        int at = find_pass(table, &pass);

        if ((pass.rows == 0 && session->kernels[i].layer > 1) || has_pass(table, at, &pass))
            continue;
        memmove(&table->passes[at + 1], &table->passes[at],
                (size_t)(table->n_passes - at) * sizeof pass);
        table->passes[at] = pass;
        table->n_passes++;
        if (pass.batch > table->largest_batch)
            table->largest_batch = pass.batch;
    }
    if (table->n_passes == 0 || table->passes[0].rows > 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "the backend offers no method to run layer 1");
    return VBS_OK;
}

/* Puts the kernels from number first on that belong to one group into it; gives the number behind
 * them, or first where the group has kernels already, or layer 1 lacks its batch. */
static int fill_group(struct vbs_table *table, int first)
{
    const struct vbs_session *session = table->session;
    const struct vbs_kernel *kernel = &session->kernels[first];
    struct vbs_pass pass = pass_of(kernel);
    int at = find_pass(table, &pass), end = first + 1;
    struct vbs_group *group;

    if (kernel->layer < 1 || kernel->layer > session->n_layers || !has_pass(table, at, &pass))
        return first;
    group = &table->groups[(size_t)(kernel->layer - 1) * (size_t)table->n_passes + (size_t)at];
    if (group->count > 0)
        return first;
    while (end < session->n_kernels && session->kernels[end].layer == kernel->layer &&
           session->kernels[end].batch == kernel->batch &&
           session->kernels[end].rows == kernel->rows)
        end++;
    *group = (struct vbs_group){.first = first, .count = end - first};
    return end;
}

/* Finds the groups. The kernels of a group are neighbours in the session; each group of whole
 * samples must have a kernel, and each kernel must belong to a group. */
static enum vbs_status find_groups(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;
    size_t n = (size_t)session->n_layers * (size_t)table->n_passes;
    int stray = -1;

    table->groups = vbs_arena_alloc(&table->arena, n, sizeof *table->groups);
    if (!table->groups)
        return vbs_no_memory(ctx);
    for (int next = 0; next < session->n_kernels;) {
        int end = fill_group(table, next);

        if (end == next && stray < 0)
            stray = next;
        next = end == next ? next + 1 : end;
    }
    for (int layer = 1; layer <= session->n_layers; layer++)
        for (int p = 0; p < table->n_passes && table->passes[p].rows == 0; p++)
            if (vbs_table_group(table, layer, p)->count == 0)
                return vbs_fail(ctx, VBS_UNSUPPORTED,
                                "the backend offers no method to run layer '%s' at batch %d",
                                session->layers[layer].name, table->passes[p].batch);
    if (stray >= 0)
        return vbs_fail(ctx, VBS_LIBRARY, "the backend's kernel %d is out of order", stray);
    return VBS_OK;
}

enum vbs_status vbs_table_init(struct vbs_ctx *ctx, struct vbs_table *table)
{
    table->runs =
        vbs_arena_alloc(&table->arena, (size_t)table->session->n_kernels, sizeof *table->runs);
    if (!table->runs)
        return vbs_no_memory(ctx);
    VBS_TRY(find_passes(ctx, table));
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

enum vbs_need vbs_table_need(const struct vbs_table *table, int pass, bool hurry)
{
    enum vbs_need most = VBS_NEEDS_NOTHING;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, pass);

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

/* The algorithms of a layer take turns, so that a kind of pass is needed as often as the layer
 * whose algorithms need the most runs has it. */
double vbs_table_passes_left(const struct vbs_table *table, int pass, bool least_only)
{
    double most = 0;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, pass);
        double sum = 0;

        for (int i = group->first; i < group->first + group->count; i++)
            sum += runs_left(table, group, i, least_only);
        most = fmax(most, sum);
    }
    return most;
}

/* Gives the passes of a kind until every kernel in it has n_runs. */
static double passes_to(const struct vbs_table *table, int pass, int n_runs)
{
    int most = 0;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, pass);
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

        for (int p = 0; p < table->n_passes; p++)
            needed_s += pass_s[p] * passes_to(table, p, n_runs + 1);
        if (needed_s > left_s)
            break;
        n_runs++;
    }
    return n_runs;
}
