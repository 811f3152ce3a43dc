/*
 * The codebook: k-means in one dimension; entropy.c goes on from its clusters to shorter codes.
 *
 * In one dimension the clusters of an optimum are intervals of the sorted weights, so that dynamic
 * programming finds it: the best k clusters of the first i groups are the best k - 1 clusters of
 * the first j, and one cluster of the groups behind them. The best j never falls as i grows, and
 * is found by divide and conquer (Wang and Song, "Ckmeans.1d.dp", 2011; Gronlund and others, "Fast
 * exact k-means in 1D", 2017). The groups are equal numbers of neighbours; Lloyd's iteration on
 * all weights then moves the borders to where they belong.
 */
#include "coded/clusters.h"
#include "coded/sort.h"
#include "vbslab/coded.h"

#include "base/arith.h"
#include "base/fail.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS     8192
#define MAX_EXACT      1023 /* clusters; more begin as equal numbers of neighbours */
#define MAX_ITERATIONS 100

/* Sums over the first groups, of which cluster costs are differences. */
struct weight_groups {
    int n;
    double *count; /* [n + 1] weights of the first groups */
    double *sum;   /* [n + 1] */
    double *square;
};

struct clustering {
    struct vbs_ctx *ctx;
    struct vbs_sorted_weights weights;
    struct weight_groups groups;
    double *cost, *next; /* [groups + 1] of the first groups in k, and in k + 1 clusters */
    int *begin;          /* [clusters][groups + 1] where the last cluster begins */
};

/* The sum of squared errors of groups from..to-1 as one cluster. */
static double cluster_cost(const struct weight_groups *groups, int from, int to)
{
    double count = groups->count[to] - groups->count[from];
    double sum = groups->sum[to] - groups->sum[from];

    return fmax(groups->square[to] - groups->square[from] - sum * sum / count, 0);
}

/* Finds next[low..high], whose last clusters begin at first..last. */
static void conquer(struct clustering *work, int *begin, int low, int high, int first, int last)
{
    int middle = low + (high - low) / 2, best = first;
    double best_cost = HUGE_VAL;

    if (low > high)
        return;
    for (int j = first; j <= last && j < middle; j++) {
        double cost = work->cost[j] + cluster_cost(&work->groups, j, middle);

        if (cost < best_cost) {
            best_cost = cost;
            best = j;
        }
    }
    work->next[middle] = best_cost;
    begin[middle] = best;
    conquer(work, begin, low, middle - 1, first, best);
    conquer(work, begin, middle + 1, high, best, last);
}

/* The weight at which group g begins, as an index into sorted. */
static int64_t group_begin(const struct clustering *work, int g)
{
    return work->weights.n / work->groups.n * g +
           work->weights.n % work->groups.n * g / work->groups.n;
}

static void fill_groups(struct clustering *work)
{
    struct weight_groups *groups = &work->groups;

    for (int g = 0; g < groups->n; g++) {
        double sum = 0, square = 0;

        for (int64_t i = group_begin(work, g); i < group_begin(work, g + 1); i++) {
            double x = work->weights.sorted[i] - work->weights.middle;

            sum += x;
            square += x * x;
        }
        groups->count[g + 1] = (double)group_begin(work, g + 1);
        groups->sum[g + 1] = groups->sum[g] + sum;
        groups->square[g + 1] = groups->square[g] + square;
    }
}

/* Finds the borders of the best k clusters of all groups: ends[0..k-1], as indices into sorted. */
static enum vbs_status find_clusters(struct clustering *work, int k, int64_t *ends)
{
    int n = work->groups.n;

    if (k > MAX_EXACT) {
        for (int c = 0; c < k; c++)
            ends[c] = work->weights.n / k * (c + 1) + work->weights.n % k * (c + 1) / k;
        return VBS_OK;
    }
    fill_groups(work);
    for (int g = 1; g <= n; g++)
        work->cost[g] = cluster_cost(&work->groups, 0, g);
    for (int c = 1; c < k; c++) {
        double *cost = work->cost;
        int *begin = &work->begin[(size_t)c * ((size_t)n + 1)];

        VBS_TRY(vbs_check_cancel(work->ctx));
        conquer(work, begin, c + 1, n, c, n - 1);
        work->cost = work->next;
        work->next = cost;
    }
    for (int c = k - 1, g = n; c >= 0; c--) {
        ends[c] = group_begin(work, g);
        g = c > 0 ? work->begin[(size_t)c * ((size_t)n + 1) + (size_t)g] : 0;
    }
    return VBS_OK;
}

/* The first index from which on sorted is nearer to the second of two means. */
static int64_t border_between(const struct clustering *work, double left, double right,
                              int64_t from, int64_t to)
{
    double border = work->weights.middle + (left + right) / 2;

    while (from < to) {
        int64_t middle = from + (to - from) / 2;

        if (work->weights.sorted[middle] < border)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Moves the borders between clusters until they stand still. A cluster never becomes empty: its
 * mean lies between its weights. */
static enum vbs_status iterate(struct clustering *work, int k, int64_t *ends)
{
    int64_t moved = 1;

    for (int i = 0; i < MAX_ITERATIONS && moved > 0; i++) {
        double left = vbs_weights_mean(&work->weights, 0, ends[0]);

        VBS_TRY(vbs_check_cancel(work->ctx));
        moved = 0;
        for (int c = 0; c + 1 < k; c++) {
            double right = vbs_weights_mean(&work->weights, ends[c], ends[c + 1]);
            int64_t from = c > 0 ? ends[c - 1] + 1 : 1;
            int64_t border = border_between(work, left, right, from, ends[c + 1] - 1);

            moved += border != ends[c];
            ends[c] = border;
            left = right;
        }
    }
    return VBS_OK;
}

static void clustering_clear(struct clustering *work)
{
    free(work->groups.count);
    free(work->groups.sum);
    free(work->groups.square);
    free(work->cost);
    free(work->next);
    free(work->begin);
    free(work->weights.sums);
}

static enum vbs_status clustering_init(struct vbs_ctx *ctx, const float *sorted, int64_t n, int k,
                                       struct clustering *work)
{
    size_t n_groups = (size_t)(n < MAX_GROUPS ? n : MAX_GROUPS) + 1;

    *work = (struct clustering){.ctx = ctx, .weights = {.sorted = sorted, .n = n}};
    work->groups.n = (int)n_groups - 1;
    work->groups.count = calloc(n_groups, sizeof(double));
    work->groups.sum = calloc(n_groups, sizeof(double));
    work->groups.square = calloc(n_groups, sizeof(double));
    work->cost = calloc(n_groups, sizeof *work->cost);
    work->next = calloc(n_groups, sizeof *work->next);
    work->begin = calloc(k > MAX_EXACT ? 1 : n_groups * (size_t)k, sizeof *work->begin);
    work->weights.sums = calloc((size_t)n + 1, sizeof *work->weights.sums);
    if (!work->groups.count || !work->groups.sum || !work->groups.square || !work->cost ||
        !work->next || !work->begin || !work->weights.sums) {
        clustering_clear(work);
        return vbs_no_memory(ctx);
    }
    for (int64_t i = 0; i < n; i++)
        work->weights.middle += sorted[i] / (double)n;
    for (int64_t i = 0; i < n; i++)
        work->weights.sums[i + 1] = work->weights.sums[i] + (sorted[i] - work->weights.middle);
    return VBS_OK;
}

/* The number of different values of sorted[0..n-1], counted up to limit. */
static int count_values(const float *sorted, int64_t n, int limit)
{
    int n_values = n > 0;

    for (int64_t i = 1; i < n && n_values < limit; i++)
        n_values += sorted[i] != sorted[i - 1];
    return n_values;
}

/* A codebook that is looked for. */
struct wanted {
    int n_clusters; /* at most */
    double excess;  /* of the error over the least */
    float *values;  /* the codebook, from its second value on */
    float *begins;  /* the least weight of each value */
    int n;          /* values so far */
};

/* Takes the different values of sorted. */
static void take_values(const float *sorted, int64_t n, struct wanted *wanted)
{
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || sorted[i] != sorted[i - 1])
            wanted->values[wanted->n++] = sorted[i];
    memcpy(wanted->begins, wanted->values, (size_t)wanted->n * sizeof *wanted->begins);
}

/* Takes the means of clusters. A mean that is no other float than that of the cluster before is
 * left out. */
static void take_means(const struct vbs_sorted_weights *weights,
                       const struct vbs_clusters *clusters, struct wanted *wanted)
{
    int64_t from = 0;

    for (int c = 0; c < clusters->n; from = clusters->ends[c++]) {
        float mean = (float)(weights->middle + vbs_weights_mean(weights, from, clusters->ends[c]));

        if (mean == 0)
            mean = FLT_MIN; /* 0 is the value of pruned weights */
        if (wanted->n > 0 && mean <= wanted->values[wanted->n - 1])
            continue;
        wanted->begins[wanted->n] = weights->sorted[from];
        wanted->values[wanted->n++] = mean;
    }
}

/* Finds clusters of sorted, and takes their means. */
static enum vbs_status find_means(struct vbs_ctx *ctx, const float *sorted, int64_t n,
                                  struct wanted *wanted)
{
    int k = wanted->n_clusters;
    struct vbs_clusters clusters = {.n = k, .ends = calloc((size_t)k, sizeof *clusters.ends)};
    struct clustering work;
    enum vbs_status status;

    if (!clusters.ends)
        return vbs_no_memory(ctx);
    status = clustering_init(ctx, sorted, n, k, &work);
    if (status != VBS_OK)
        goto done;
    status = find_clusters(&work, k, clusters.ends);
    if (status == VBS_OK)
        status = iterate(&work, k, clusters.ends);
    if (status == VBS_OK && wanted->excess > 0)
        status = vbs_clusters_relax(ctx, &work.weights, k, wanted->excess, &clusters);
    if (status == VBS_OK)
        take_means(&work.weights, &clusters, wanted);
    clustering_clear(&work);
done:
    free(clusters.ends);
    return status;
}

/* The index of the value nearest to a weight that is not 0. */
static uint16_t nearest(const float *codebook, int n_values, float weight)
{
    int low = 1, high = n_values - 1;

    while (low < high) {
        int middle = low + (high - low) / 2;

        if ((double)weight - codebook[middle] < (double)codebook[middle + 1] - weight)
            high = middle;
        else
            low = middle + 1;
    }
    return (uint16_t)low;
}

/* The index of the last value whose least weight is at most a weight that is not 0. */
static uint16_t within(const float *begins, int n, float weight)
{
    int low = 0, high = n - 1;

    while (low < high) {
        int middle = low + (high - low + 1) / 2;

        if (begins[middle] <= weight)
            low = middle;
        else
            high = middle - 1;
    }
    return (uint16_t)(low + 1);
}

static enum vbs_status find_codebook(struct vbs_ctx *ctx, float *sorted, int64_t n,
                                     struct wanted *wanted)
{
    float *room;

    if (n == 0)
        return VBS_OK;
    room = malloc((size_t)n * sizeof *room);
    if (!room)
        return vbs_no_memory(ctx);
    vbs_sort_floats(sorted, n, room);
    free(room);
    if (count_values(sorted, n, wanted->n_clusters + 1) <= wanted->n_clusters) {
        take_values(sorted, n, wanted);
        return VBS_OK;
    }
    return find_means(ctx, sorted, n, wanted);
}

static enum vbs_status quantise(struct vbs_ctx *ctx, const float *weights, int64_t n, double excess,
                                struct vbs_quantised *quantised)
{
    size_t n_values = (size_t)1 << quantised->bits;
    struct wanted wanted = {.n_clusters = (int)n_values - 1, .excess = excess};
    float *sorted = malloc(((size_t)n + 1) * sizeof *sorted);
    int64_t n_nonzero = 0;
    enum vbs_status status;

    wanted.begins = calloc(n_values, sizeof *wanted.begins);
    quantised->codebook = calloc(n_values, sizeof *quantised->codebook);
    quantised->indices = malloc((size_t)n * sizeof *quantised->indices);
    if (!sorted || !wanted.begins || !quantised->codebook || !quantised->indices) {
        status = vbs_no_memory(ctx);
        goto done;
    }
    wanted.values = quantised->codebook + 1;
    for (int64_t i = 0; i < n; i++)
        if (weights[i] != 0)
            sorted[n_nonzero++] = weights[i];
    status = find_codebook(ctx, sorted, n_nonzero, &wanted);
    quantised->n_values = 1 + wanted.n;
    for (int64_t i = 0; status == VBS_OK && i < n; i++)
        quantised->indices[i] = weights[i] == 0 ? 0
                                : excess > 0
                                    ? within(wanted.begins, wanted.n, weights[i])
                                    : nearest(quantised->codebook, quantised->n_values, weights[i]);
done:
    free(sorted);
    free(wanted.begins);
    return status;
}

enum vbs_status vbs_quantise_within(struct vbs_ctx *ctx, const float *weights, int64_t n_rows,
                                    int64_t n_columns, int bits, double excess,
                                    struct vbs_quantised *quantised)
{
    struct vbs_quantised made = {.n_rows = n_rows, .n_columns = n_columns, .bits = bits};
    int64_t n;
    enum vbs_status status;

    if (bits < 1 || bits > VBS_MAX_CODEBOOK_BITS)
        return vbs_fail(ctx, VBS_USAGE,
                        "a codebook of %d bits is out of range; it goes from 1 to %d", bits,
                        VBS_MAX_CODEBOOK_BITS);
    if (!(excess >= 0 && excess <= VBS_MAX_EXCESS))
        return vbs_fail(ctx, VBS_USAGE,
                        "an error of %g above the least is out of range; it goes from 0 to %g",
                        excess, VBS_MAX_EXCESS);
    if (n_rows < 1 || n_columns < 1 || !vbs_mul(n_rows, n_columns, &n) || n > INT64_MAX / 8)
        return vbs_fail(ctx, VBS_USAGE, "a matrix of %lld x %lld weights is out of range",
                        (long long)n_rows, (long long)n_columns);
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(weights[i]))
            return vbs_fail(ctx, VBS_USAGE, "weight %lld is not a finite number", (long long)i);
    status = quantise(ctx, weights, n, excess, &made);
    if (status != VBS_OK) {
        vbs_quantised_clear(&made);
        return status;
    }
    *quantised = made;
    return VBS_OK;
}

enum vbs_status vbs_quantise(struct vbs_ctx *ctx, const float *weights, int64_t n_rows,
                             int64_t n_columns, int bits, struct vbs_quantised *quantised)
{
    return vbs_quantise_within(ctx, weights, n_rows, n_columns, bits, 0, quantised);
}

void vbs_quantised_clear(struct vbs_quantised *quantised)
{
    if (!quantised)
        return;
    free(quantised->codebook);
    free(quantised->indices);
    *quantised = (struct vbs_quantised){0};
}
