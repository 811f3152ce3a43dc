/*
 * Which kernels need no runs of their own, and what runs are worth (save_runs).
 *
 * Layers of equal geometry have equal kernels, whose times differ by some percent with what the
 * caches hold at their places. They share their runs, until a choice depends on more.
 *
 * Batches are measured from coarse to fine: the smallest, the largest, and some between them, each
 * at most COARSE times the one before. A kernel at a batch between two of them is left out where,
 * at both, it took much longer than another one that needs no more memory at its own batch. A
 * machine that is disturbed makes times longer, by up to the double and more: least times are
 * compared, and single ones must differ by more. They get a second run as soon as every kernel that
 * is not left out has one, so that a disturbed time leaves nothing out for good.
 */
#include "profile/measure/measure.h"

#include "base/fail.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#define COARSE       4
#define SLOWER       1.15  /* least times of kernels that are left out, over those of better ones */
#define LATER        1.04  /* likewise, of kernels that are timed after the others */
#define SLOWER_ONCE  1.5   /* likewise, by a single time */
#define LITTLE       0.003 /* of the time of all layers: a layer that hardly matters */
#define LITTLE_BYTES 4096  /* of workspace */
#define NOISE        0.05  /* standard deviation of a time, as a share of it */
#define DISTURBED    0.02 /* the probability that a single time is up to MULTIPLE of the true one */
#define MULTIPLE     4
#define FIRST_RUN    0.01  /* the value of the first run of a kernel */
#define SECOND_RUN   0.002 /* the least value of the second run of a kernel at a coarse batch */

/* ---- Geometries ---- */

static bool are_equal(const struct vbs_kernel *a, const struct vbs_kernel *b)
{
    return a->ws_bytes == b->ws_bytes && a->weight_bytes == b->weight_bytes &&
           a->row_slices == b->row_slices && strcmp(a->algorithm, b->algorithm) == 0;
}

/* Returns whether two layers have equal kernels. */
static bool have_equal_kernels(const struct vbs_table *table, int layer, int other)
{
    const struct vbs_kernel *kernels = table->session->kernels;

    for (int p = 0; p < table->n_passes; p++) {
        const struct vbs_group *a = vbs_table_group(table, layer, p);
        const struct vbs_group *b = vbs_table_group(table, other, p);

        if (a->count != b->count)
            return false;
        for (int i = 0; i < a->count; i++)
            if (!are_equal(&kernels[a->first + i], &kernels[b->first + i]))
                return false;
    }
    return true;
}

/* Puts the kernels of a layer into the pools of another one. */
static void join(struct vbs_table *table, int layer, int other)
{
    for (int p = 0; p < table->n_passes; p++) {
        const struct vbs_group *a = vbs_table_group(table, layer, p);
        const struct vbs_group *b = vbs_table_group(table, other, p);

        for (int i = 0; i < a->count; i++)
            table->pool_of[a->first + i] = b->first + i;
    }
}

static enum vbs_status share_geometries(struct vbs_ctx *ctx, struct vbs_table *table)
{
    const struct vbs_session *session = table->session;
    uint64_t *geometry =
        vbs_arena_alloc(&table->arena, (size_t)session->n_layers + 1, sizeof *geometry);

    if (!geometry)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= session->n_layers && session->ops->geometry; k++) {
        geometry[k] = session->ops->geometry(session, k);
        for (int j = 1; j < k; j++)
            if (geometry[j] == geometry[k] && have_equal_kernels(table, k, j)) {
                join(table, k, j);
                break;
            }
    }
    return VBS_OK;
}

/* ---- Coarse batches ---- */

/* Returns the next coarse pass of whole samples after pass p, which is coarse. */
static int next_coarse(const struct vbs_table *table, int p)
{
    int next = p + 1;

    while (next + 1 < table->n_passes && table->passes[next + 1].rows == 0 &&
           table->passes[next + 1].batch <= COARSE * table->passes[p].batch)
        next++;
    return next;
}

static int find_algorithm(const struct vbs_table *table, const struct vbs_group *group,
                          const char *algorithm)
{
    for (int i = group->first; i < group->first + group->count; i++)
        if (strcmp(table->session->kernels[i].algorithm, algorithm) == 0)
            return i;
    return -1;
}

/* Notes for the kernels of pass p where their algorithms are at the coarse passes around it. */
static void place_pass(struct vbs_table *table, int p, int low, int high)
{
    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, p);

        for (int i = group->first; i < group->first + group->count; i++) {
            const char *algorithm = table->session->kernels[i].algorithm;

            table->below[i] = find_algorithm(table, vbs_table_group(table, layer, low), algorithm);
            table->above[i] = find_algorithm(table, vbs_table_group(table, layer, high), algorithm);
        }
    }
}

enum vbs_status vbs_table_share(struct vbs_ctx *ctx, struct vbs_table *table)
{
    int low = 0;

    if (table->session->n_kernels == 0)
        return VBS_OK;
    VBS_TRY(share_geometries(ctx, table));
    place_pass(table, 0, 0, 0);
    while (low + 1 < table->n_passes && table->passes[low + 1].rows == 0) {
        int high = next_coarse(table, low);

        for (int p = low + 1; p < high; p++)
            place_pass(table, p, low, high);
        place_pass(table, high, high, high);
        low = high;
    }
    return VBS_OK;
}

bool vbs_table_is_coarse(const struct vbs_table *table, int kernel)
{
    return table->below[kernel] == kernel;
}

/* ---- Kernels that are left out ---- */

static const struct vbs_pool *pool(const struct vbs_table *table, int kernel)
{
    return &table->pools[table->pool_of[kernel]];
}

/* Returns whether the least time of a kernel exceeds that of another one by a factor. Where the
 * other one's is too long by disturbance, it does not. */
static bool is_slower(const struct vbs_table *table, int kernel, int other, double factor)
{
    return kernel >= 0 && other >= 0 && pool(table, kernel)->n_runs > 0 &&
           pool(table, other)->n_runs > 0 &&
           pool(table, kernel)->least_us > factor * pool(table, other)->least_us;
}

/* Returns by what factor a kernel must be slower than another one to be left out. */
static double clearly(const struct vbs_table *table, int kernel)
{
    return kernel >= 0 && pool(table, kernel)->n_runs > 1 ? SLOWER : SLOWER_ONCE;
}

/* Returns whether another kernel of the group needs no more memory, but for some bytes of
 * workspace, and can be divided where this one can. */
static bool takes_its_place(const struct vbs_kernel *other, const struct vbs_kernel *kernel,
                            int64_t more_bytes)
{
    return other->ws_bytes <= kernel->ws_bytes + more_bytes &&
           other->weight_bytes <= kernel->weight_bytes &&
           (other->row_slices == kernel->row_slices || other->row_slices == 0 ||
            kernel->row_slices == 1);
}

bool vbs_table_is_uncertain(const struct vbs_table *table, const struct vbs_group *group,
                            int kernel)
{
    const struct vbs_kernel *kernels = table->session->kernels;
    const struct vbs_pool *own = pool(table, kernel);
    bool is_uncertain = false;

    if (!vbs_table_is_coarse(table, kernel) || own->n_runs + own->n_planned > 1)
        return false;
    for (int i = group->first; i < group->first + group->count; i++) {
        if (i == kernel || !takes_its_place(&kernels[i], &kernels[kernel], 0))
            continue;
        if (is_slower(table, kernel, i, SLOWER_ONCE))
            return false;
        is_uncertain = is_uncertain || is_slower(table, kernel, i, SLOWER);
    }
    return is_uncertain;
}

/* Returns whether there is another kernel in whose place no planner would choose this one, were
 * they as at both coarse batches around theirs: there it is slower by these factors. */
static bool is_beaten(const struct vbs_table *table, const struct vbs_group *group, int kernel,
                      double factor_below, double factor_above)
{
    const struct vbs_kernel *kernels = table->session->kernels;
    const int *below = table->below, *above = table->above;

    if (vbs_table_is_coarse(table, kernel) || !table->leaves_out)
        return false;
    for (int i = group->first; i < group->first + group->count; i++)
        if (i != kernel && takes_its_place(&kernels[i], &kernels[kernel], 0) &&
            is_slower(table, below[kernel], below[i], factor_below) &&
            is_slower(table, above[kernel], above[i], factor_above))
            return true;
    return false;
}

bool vbs_table_is_left_out(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    return is_beaten(table, group, kernel, clearly(table, table->below[kernel]),
                     clearly(table, table->above[kernel]));
}

/* Returns whether the time of the kernel's layer hardly matters, and another kernel, which needs
 * hardly more memory, has a time. */
static bool matters_little(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    const struct vbs_kernel *kernels = table->session->kernels;

    if (table->shares[kernels[kernel].layer] > LITTLE)
        return false;
    for (int i = group->first; i < group->first + group->count; i++)
        if (i != kernel && takes_its_place(&kernels[i], &kernels[kernel], LITTLE_BYTES) &&
            pool(table, i)->n_runs + pool(table, i)->n_planned > 0)
            return true;
    return false;
}

bool vbs_table_can_wait(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    return table->leaves_out &&
           (is_beaten(table, group, kernel, LATER, LATER) || matters_little(table, group, kernel));
}

void vbs_table_weigh(struct vbs_table *table)
{
    int last = table->n_passes - 1;
    double total_us = 0;

    while (last > 0 && table->passes[last].rows > 0)
        last--;
    for (int layer = 1; layer <= table->session->n_layers; layer++) {
        const struct vbs_group *group = vbs_table_group(table, layer, last);
        double least_us = HUGE_VAL;

        for (int i = group->first; i < group->first + group->count; i++)
            least_us = fmin(least_us, pool(table, i)->least_us);
        table->shares[layer] = least_us;
        total_us += least_us;
    }
    for (int layer = 1; layer <= table->session->n_layers; layer++)
        table->shares[layer] =
            isfinite(total_us) && total_us > 0 ? table->shares[layer] / total_us : 1;
}

/* ---- The value of runs ---- */

/* Returns the logarithm of the time of a kernel: of its least time, less what the least of more
 * times is below that of one. */
static double estimate(const struct vbs_pool *pool)
{
    return log(fmax(pool->least_us, 1e-9)) + NOISE / 2 * log2(pool->n_runs);
}

/* Returns the expected gain of a further run of a kernel for the choice between it and another one,
 * whose logarithms of times differ by distance (Frazier, Powell, Dayanik: The knowledge-gradient
 * policy, 2009). */
static double gain_of_run(int n_runs, double distance)
{
    double deviation = NOISE / sqrt((double)n_runs * (n_runs + 1));
    double z = fabs(distance) / deviation;

    return deviation * (gsl_ran_ugaussian_pdf(z) - z * gsl_cdf_ugaussian_Q(z));
}

/* Returns the kernel that is the fastest of those that are at least as good in memory as this one;
 * -1: there is none with a time. */
static int rival_of(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    const struct vbs_kernel *kernels = table->session->kernels;
    int rival = -1;

    for (int i = group->first; i < group->first + group->count; i++)
        if (i != kernel && kernels[i].ws_bytes <= kernels[kernel].ws_bytes &&
            pool(table, i)->n_runs > 0 &&
            (rival < 0 || pool(table, i)->least_us < pool(table, rival)->least_us))
            rival = i;
    return rival;
}

double vbs_table_value(const struct vbs_table *table, const struct vbs_group *group, int kernel)
{
    const struct vbs_pool *own = pool(table, kernel);
    int rival = rival_of(table, group, kernel);
    double value = 0;

    if (own->n_runs == 0)
        return FIRST_RUN;
    if (rival >= 0) {
        double distance = estimate(own) - estimate(pool(table, rival));

        value = gain_of_run(own->n_runs, distance);
        if (own->n_runs == 1)
            value = fmax(value, DISTURBED * (log(MULTIPLE) - distance));
    }
    for (int i = group->first; i < group->first + group->count; i++)
        if (i != kernel && pool(table, i)->n_runs > 0 && rival_of(table, group, i) == kernel)
            value = fmax(value, gain_of_run(own->n_runs, estimate(own) - estimate(pool(table, i))));
    if (group->count > 1 && own->n_runs == 1 && vbs_table_is_coarse(table, kernel))
        value = fmax(value, SECOND_RUN);
    return value;
}
