/*
 * What kernels need, and the choice of the next one.
 *
 * A kernel needs no more runs when its median is tight, when it has max_runs, or when it is
 * dominated. Whether a median is tight is judged by the same values of which the interval is made,
 * which costs the interval some of its 95% (optional stopping); a larger min_runs helps where this
 * matters.
 */
#include "profile/measure/measure.h"

#include <math.h>

#define DOMINATED 1.5
#define FEW_WEIGHTS                                                                                \
    0.125           /* bytes of weights that caches need not hold, for each of the samples         \
                     */
#define WORTH 0.001 /* of a decision: the least gain, as a share of the time */

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

    return summary->n_runs >= VBS_MEASURE_RUNS &&
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

bool vbs_table_is_warm(const struct vbs_table *table, int kernel)
{
    const struct vbs_kernel *kernels = table->session->kernels, *own = &kernels[kernel];
    const struct vbs_profile_layer *layer = &table->session->layers[own->layer];
    int last = table->last[own->layer];
    double samples_bytes = own->batch * ((double)layer->in_bytes + (double)layer->out_bytes);

    return (double)own->weight_bytes <= FEW_WEIGHTS * samples_bytes ||
           (last >= 0 && kernels[last].format == own->format);
}

/* Returns whether a kernel lacks runs that it needs whatever the limit of time. */
static bool lacks_runs(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    const struct vbs_pool *pool = &table->pools[table->pool_of[kernel]];

    if (table->options.save_runs && !table->own_runs)
        return pool->n_runs + pool->n_planned == 0 || vbs_table_is_uncertain(table, group, kernel);
    return table->runs[kernel].summary.n_runs < table->least_runs;
}

bool vbs_table_has_times(const struct vbs_table *table, int pass)
{
    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, pass);
        bool any = false;

        for (int i = group->first; i < group->first + group->count && !any; i++)
            any = table->runs[i].summary.n_runs > 0 ||
                  (!table->own_runs && table->pools[table->pool_of[i]].n_runs > 0);
        if (!any)
            return false;
    }
    return true;
}

static enum vbs_need any_need(const struct vbs_table *table, const struct vbs_group *group,
                              int kernel)
{
    bool saves = table->options.save_runs;

    if (saves && vbs_table_is_left_out(table, group, kernel))
        return VBS_NEEDS_NOTHING;
    if (lacks_runs(table, group, kernel))
        return vbs_table_can_wait(table, group, kernel) ? VBS_NEEDS_DECISION
               : vbs_table_is_coarse(table, kernel)     ? VBS_NEEDS_COARSE
                                                        : VBS_NEEDS_RUNS;
    if (table->runs[kernel].summary.n_runs >= table->options.max_runs ||
        vbs_table_is_tight(table, kernel))
        return VBS_NEEDS_NOTHING;
    if (saves && vbs_table_value(table, group, kernel) > WORTH)
        return VBS_NEEDS_DECISION;
    return vbs_table_is_dominated(table, group, kernel) ? VBS_NEEDS_NOTHING : VBS_NEEDS_TIGHTER;
}

enum vbs_need vbs_table_kernel_need(const struct vbs_table *table, const struct vbs_group *group,
                                    int kernel, enum vbs_need most)
{
    enum vbs_need need;

    if (most <= VBS_NEEDS_RUNS && !lacks_runs(table, group, kernel))
        return VBS_NEEDS_NOTHING;
    need = any_need(table, group, kernel);
    return need <= most ? need : VBS_NEEDS_NOTHING;
}

enum vbs_need vbs_table_need(const struct vbs_table *table, int pass, enum vbs_need most)
{
    enum vbs_need pressing = VBS_NEEDS_NOTHING;

    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, pass);

        for (int i = group->first; i < group->first + group->count; i++) {
            enum vbs_need need = vbs_table_kernel_need(table, group, i, most);

            if (need < pressing)
                pressing = need;
        }
    }
    return pressing;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

/* Compares two kernels of a group with the same need: below 0, kernel a goes before b; 0: chance
 * decides. Where neither needs runs the faster one goes first, because it takes the least time and
 * most plans will run it beside the kernels that are measured. */
static int precedence(const struct vbs_table *table, enum vbs_need need, int a, int b)
{
    const struct vbs_profile_row *row_a = &table->runs[a].summary;
    const struct vbs_profile_row *row_b = &table->runs[b].summary;

    if (need == VBS_NEEDS_NOTHING)
        return row_a->time_us < row_b->time_us ? -1 : 1;
    return compare(row_a->n_runs, row_b->n_runs);
}

/* Does the same with save_runs: kernels whose weights are warm go first, and those whose runs are
 * worth the most. */
static int saving_precedence(const struct vbs_table *table, const struct vbs_group *group,
                             enum vbs_need need, int a, int b)
{
    if (need == VBS_NEEDS_NOTHING)
        return compare(table->pools[table->pool_of[a]].least_us,
                       table->pools[table->pool_of[b]].least_us);
    if (need == VBS_NEEDS_DECISION)
        return compare(vbs_table_value(table, group, b), vbs_table_value(table, group, a));
    if (table->runs[a].summary.n_runs != table->runs[b].summary.n_runs)
        return compare(table->runs[a].summary.n_runs, table->runs[b].summary.n_runs);
    return vbs_table_is_warm(table, b) - vbs_table_is_warm(table, a);
}

int vbs_table_choose(const struct vbs_table *table, const struct vbs_group *group,
                     enum vbs_need most, const gsl_rng *rng)
{
    int best = group->first;
    unsigned long n_ties = 1;
    enum vbs_need best_need = vbs_table_kernel_need(table, group, best, most);

    for (int i = group->first + 1; i < group->first + group->count; i++) {
        enum vbs_need need = vbs_table_kernel_need(table, group, i, most);
        int order = need != best_need          ? compare(need, best_need)
                    : table->options.save_runs ? saving_precedence(table, group, need, i, best)
                                               : precedence(table, need, i, best);

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
    enum vbs_need need = vbs_table_kernel_need(table, group, kernel,
                                               least_only ? VBS_NEEDS_RUNS : VBS_NEEDS_TIGHTER);
    double aim, ratio;

    if (need == VBS_NEEDS_NOTHING)
        return 0;
    if (need <= VBS_NEEDS_RUNS)
        return table->least_runs - summary->n_runs;
    ratio = vbs_relative_interval(summary) / table->options.relative_interval;
    aim = fmin(fmax(VBS_MEASURE_RUNS, summary->n_runs * ratio * ratio), table->options.max_runs);
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
