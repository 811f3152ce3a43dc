/*
 * Codebooks whose indices have short codes: entropy-constrained scalar quantisation (Chou,
 * Lookabaugh and Gray, "Entropy-constrained vector quantization", 1989).
 *
 * What is minimised is the squared error plus lambda times the bits of the indices, as many as the
 * entropy says. For given values and lengths of codes, the weights that take a value are those for
 * which its line is the lowest of all (below), so that clusters are intervals here too, and the
 * total is a sum over clusters. Dynamic programming finds the best ones of groups of neighbours; it
 * tries all begins of the last cluster, because the bits break the order on which the search for
 * the least error alone relies. The iteration on all weights then moves the borders, and removes
 * clusters that do not pay.
 */
#include "coded/clusters.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FEW_CLUSTERS   31
#define MANY_CLUSTERS  255  /* more are only found by the iteration */
#define MAX_GROUPS     1024 /* for few clusters */
#define MIN_GROUPS     512  /* for many */
#define MAX_ITERATIONS 300
#define MAX_RAISES     40 /* of lambda, by RAISE */
#define RAISE          4.0
#define N_HALVINGS     10

struct entropy_search {
    struct vbs_ctx *ctx;
    const struct vbs_sorted_weights *weights;
    int most; /* clusters */
    int n_groups;
    int64_t *bounds;     /* [groups + 1] where groups begin */
    double *error;       /* [groups][groups + 1] of groups i..j-1 as one cluster */
    double *bits;        /* the same */
    double *total;       /* error + lambda x bits */
    double *cost, *next; /* [groups + 1] of the first groups in k, and in k + 1 clusters */
    int *begin;          /* [most][groups + 1] where the last cluster begins */
    double *slope;       /* [most] of lines on the envelope */
    double *offset;
    struct vbs_clusters trial, best; /* of the values of lambda that are tried */
};

double vbs_clusters_error(const struct vbs_sorted_weights *weights,
                          const struct vbs_clusters *clusters)
{
    double error = 0;
    int64_t i = 0;

    for (int c = 0; c < clusters->n; c++) {
        double mean = weights->middle + vbs_weights_mean(weights, i, clusters->ends[c]), sum = 0;

        for (; i < clusters->ends[c]; i++) {
            double difference = weights->sorted[i] - mean;

            sum += difference * difference;
        }
        error += sum;
    }
    return error;
}

static double bits_of(double count, double n)
{
    return count * log2(n / count);
}

double vbs_clusters_bits(const struct vbs_sorted_weights *weights,
                         const struct vbs_clusters *clusters)
{
    double bits = 0;

    for (int c = 0; c < clusters->n; c++)
        bits += bits_of((double)(clusters->ends[c] - (c > 0 ? clusters->ends[c - 1] : 0)),
                        (double)weights->n);
    return bits;
}

static void copy(const struct vbs_clusters *from, struct vbs_clusters *to)
{
    to->n = from->n;
    memcpy(to->ends, from->ends, (size_t)from->n * sizeof *from->ends);
}

/* ---- groups ---- */

/* Groups are narrow where weights are many, and where they are far apart: half of their borders
 * are equal numbers of weights apart, and half equal distances. */
static void choose_groups(struct entropy_search *search, int most_groups)
{
    const struct vbs_sorted_weights *weights = search->weights;
    double low = weights->sorted[0], range = weights->sorted[weights->n - 1] - low;
    double begun = 0;

    search->n_groups = 1;
    for (int64_t i = 1; i < weights->n; i++) {
        double share = (double)i / (double)weights->n;
        double way = range > 0 ? (weights->sorted[i] - low) / range : share;
        double level = (share + way) / 2 * most_groups;

        if (weights->n > most_groups && level < begun + 1)
            continue;
        begun = floor(level);
        search->bounds[search->n_groups++] = i;
    }
    search->bounds[search->n_groups] = weights->n;
}

static void fill_costs(struct entropy_search *search)
{
    const struct vbs_sorted_weights *weights = search->weights;
    int n = search->n_groups;

    for (int i = 0; i < n; i++) {
        double square = 0;

        for (int j = i + 1; j <= n; j++) {
            double count = (double)(search->bounds[j] - search->bounds[i]);
            double sum = weights->sums[search->bounds[j]] - weights->sums[search->bounds[i]];

            square += search->next[j];
            search->error[(size_t)i * ((size_t)n + 1) + (size_t)j] =
                fmax(square - sum * sum / count, 0);
            search->bits[(size_t)i * ((size_t)n + 1) + (size_t)j] =
                bits_of(count, (double)weights->n);
        }
    }
}

/* Sums of squares of the groups, group j in next[j + 1]. */
static void fill_squares(struct entropy_search *search)
{
    for (int g = 0; g < search->n_groups; g++) {
        double square = 0;

        for (int64_t i = search->bounds[g]; i < search->bounds[g + 1]; i++) {
            double x = search->weights->sorted[i] - search->weights->middle;

            square += x * x;
        }
        search->next[g + 1] = square;
    }
}

/* Finds the costs of the first groups in one more cluster. */
static void add_cluster(struct entropy_search *search, int *begin)
{
    int n = search->n_groups;
    double *cost = search->cost;

    for (int j = 0; j <= n; j++)
        search->next[j] = HUGE_VAL;
    for (int i = 0; i < n; i++) {
        const double *total = &search->total[(size_t)i * ((size_t)n + 1)];
        double before = cost[i];

        for (int j = i + 1; j <= n && before < HUGE_VAL; j++)
            if (before + total[j] < search->next[j]) {
                search->next[j] = before + total[j];
                begin[j] = i;
            }
    }
    search->cost = search->next;
    search->next = cost;
}

/* Finds the best clusters of whole groups. */
static enum vbs_status find_clusters(struct entropy_search *search, double lambda,
                                     struct vbs_clusters *clusters)
{
    size_t width = (size_t)search->n_groups + 1, n = (size_t)search->n_groups * width;
    double best = HUGE_VAL;

    for (size_t i = 0; i < n; i++)
        search->total[i] = search->error[i] + lambda * search->bits[i];
    for (size_t j = 0; j < width; j++)
        search->cost[j] = j == 0 ? 0 : HUGE_VAL;
    for (int c = 0; c < search->most && c < search->n_groups; c++) {
        VBS_TRY(vbs_check_cancel(search->ctx));
        add_cluster(search, &search->begin[(size_t)c * width]);
        if (search->cost[search->n_groups] < best) {
            best = search->cost[search->n_groups];
            clusters->n = c + 1;
        }
    }
    for (int c = clusters->n - 1, g = search->n_groups; c >= 0; c--) {
        clusters->ends[c] = search->bounds[g];
        g = search->begin[(size_t)c * width + (size_t)g];
    }
    return VBS_OK;
}

/* ---- the iteration ---- */

/* Gives the first weight from which on line b is below line a. A weight x costs a cluster of mean
 * m and code length l (x - m)^2 + lambda l, which is x^2 and a line of slope -2 m. */
static double crossing(const struct entropy_search *search, int a, int b)
{
    return (search->offset[b] - search->offset[a]) / (search->slope[a] - search->slope[b]);
}

/* Finds the lines of clusters that are the lowest somewhere, and gives their number. Their slopes
 * fall. */
static int find_envelope(struct entropy_search *search, const struct vbs_clusters *clusters,
                         double lambda)
{
    const struct vbs_sorted_weights *weights = search->weights;
    int64_t from = 0;
    int n = 0;

    for (int c = 0; c < clusters->n; from = clusters->ends[c++]) {
        double mean = vbs_weights_mean(weights, from, clusters->ends[c]);
        double length = log2((double)weights->n / (double)(clusters->ends[c] - from));

        search->slope[n] = -2 * mean;
        search->offset[n] = mean * mean + lambda * length;
        if (n > 0 && search->slope[n] >= search->slope[n - 1]) {
            if (search->offset[n] >= search->offset[n - 1])
                continue; /* parallel to the line before, and not below it */
            search->slope[n - 1] = search->slope[n];
            search->offset[n - 1] = search->offset[n];
            n--;
        }
        while (n >= 2 && crossing(search, n - 1, n) <= crossing(search, n - 2, n - 1)) {
            search->slope[n - 1] = search->slope[n];
            search->offset[n - 1] = search->offset[n];
            n--;
        }
        n++;
    }
    return n;
}

/* The index of the first weight that is at least x above the mean of all, from `from` on. */
static int64_t first_above(const struct vbs_sorted_weights *weights, double x, int64_t from)
{
    int64_t to = weights->n;

    while (from < to) {
        int64_t middle = from + (to - from) / 2;

        if (weights->sorted[middle] - weights->middle < x)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Gives each weight to its lowest line, and gives whether a border moved. */
static bool assign(struct entropy_search *search, int n_lines, struct vbs_clusters *clusters)
{
    int64_t from = 0, n = search->weights->n;
    int n_clusters = 0;
    bool moved = false;

    for (int l = 0; l < n_lines; l++) {
        int64_t end =
            l + 1 < n_lines ? first_above(search->weights, crossing(search, l, l + 1), from) : n;

        if (end == from)
            continue;
        moved = moved || end != clusters->ends[n_clusters];
        clusters->ends[n_clusters++] = from = end;
    }
    moved = moved || n_clusters != clusters->n;
    clusters->n = n_clusters;
    return moved;
}

static enum vbs_status iterate(struct entropy_search *search, double lambda,
                               struct vbs_clusters *clusters)
{
    bool moved = true;

    for (int i = 0; i < MAX_ITERATIONS && moved; i++) {
        VBS_TRY(vbs_check_cancel(search->ctx));
        moved = assign(search, find_envelope(search, clusters, lambda), clusters);
    }
    return VBS_OK;
}

/* ---- both ---- */

static void search_clear(struct entropy_search *search)
{
    free(search->bounds);
    free(search->error);
    free(search->bits);
    free(search->total);
    free(search->cost);
    free(search->next);
    free(search->begin);
    free(search->slope);
    free(search->offset);
    free(search->trial.ends);
    free(search->best.ends);
}

static enum vbs_status allocate(struct entropy_search *search, int most_groups)
{
    size_t n = (size_t)most_groups + 1, most = (size_t)search->most;

    search->slope = calloc(most, sizeof *search->slope);
    search->offset = calloc(most, sizeof *search->offset);
    search->trial.ends = calloc(most, sizeof *search->trial.ends);
    search->best.ends = calloc(most, sizeof *search->best.ends);
    if (!search->slope || !search->offset || !search->trial.ends || !search->best.ends)
        return vbs_no_memory(search->ctx);
    if (most_groups == 0)
        return VBS_OK;
    search->bounds = calloc(n + 1, sizeof *search->bounds);
    search->error = calloc(n * n, sizeof *search->error);
    search->bits = calloc(n * n, sizeof *search->bits);
    search->total = calloc(n * n, sizeof *search->total);
    search->cost = calloc(n, sizeof *search->cost);
    search->next = calloc(n, sizeof *search->next);
    search->begin = calloc(most * n, sizeof *search->begin);
    return search->bounds && search->error && search->bits && search->total && search->cost &&
                   search->next && search->begin
               ? VBS_OK
               : vbs_no_memory(search->ctx);
}

static enum vbs_status search_init(struct vbs_ctx *ctx, const struct vbs_sorted_weights *weights,
                                   int most, struct entropy_search *search)
{
    int most_groups = most <= FEW_CLUSTERS ? MAX_GROUPS : most <= MANY_CLUSTERS ? MIN_GROUPS : 0;
    enum vbs_status status;

    if (weights->n < most_groups)
        most_groups = (int)weights->n;
    *search = (struct entropy_search){.ctx = ctx, .weights = weights, .most = most};
    status = allocate(search, most_groups);
    if (status != VBS_OK) {
        search_clear(search);
        return status;
    }
    if (most_groups > 0) {
        choose_groups(search, most_groups);
        fill_squares(search);
        fill_costs(search);
    }
    return VBS_OK;
}

static double total_of(const struct entropy_search *search, double lambda,
                       const struct vbs_clusters *clusters)
{
    return vbs_clusters_error(search->weights, clusters) +
           lambda * vbs_clusters_bits(search->weights, clusters);
}

/* As vbs_clusters_weigh. */
static enum vbs_status weigh(struct entropy_search *search, double lambda,
                             struct vbs_clusters *clusters)
{
    double before = total_of(search, lambda, clusters), after;

    copy(clusters, &search->trial);
    VBS_TRY(iterate(search, lambda, &search->trial));
    after = total_of(search, lambda, &search->trial);
    if (after < before) {
        before = after;
        copy(&search->trial, clusters);
    }
    if (search->n_groups == 0)
        return VBS_OK;
    VBS_TRY(find_clusters(search, lambda, &search->trial));
    VBS_TRY(iterate(search, lambda, &search->trial));
    if (total_of(search, lambda, &search->trial) < before)
        copy(&search->trial, clusters);
    return VBS_OK;
}

enum vbs_status vbs_clusters_weigh(struct vbs_ctx *ctx, const struct vbs_sorted_weights *weights,
                                   int most, double lambda, struct vbs_clusters *clusters)
{
    struct entropy_search search;
    enum vbs_status status;

    VBS_TRY(search_init(ctx, weights, most, &search));
    status = weigh(&search, lambda, clusters);
    search_clear(&search);
    return status;
}

/* Keeps clusters that have the fewest bits so far, and gives whether their error is small enough.
 */
static bool keep(struct entropy_search *search, const struct vbs_clusters *clusters, double limit)
{
    bool fits = vbs_clusters_error(search->weights, clusters) <= limit;

    if (fits && vbs_clusters_bits(search->weights, clusters) <
                    vbs_clusters_bits(search->weights, &search->best))
        copy(clusters, &search->best);
    return fits;
}

/* Tries a lambda, from the best clusters so far on, and gives whether some have an error of at most
 * `limit`. The optimum may jump over the limit; what the iteration finds alone moves less. */
static enum vbs_status try_lambda(struct entropy_search *search, double lambda, double limit,
                                  struct vbs_clusters *made, bool *fits)
{
    copy(&search->best, made);
    VBS_TRY(weigh(search, lambda, made));
    *fits = keep(search, made, limit);
    if (*fits)
        return VBS_OK;
    copy(&search->best, made);
    VBS_TRY(iterate(search, lambda, made));
    *fits = keep(search, made, limit);
    return VBS_OK;
}

/* Raises lambda until the error is too large, then looks for the largest that is not. */
static enum vbs_status relax(struct entropy_search *search, double excess,
                             const struct vbs_clusters *least, struct vbs_clusters *made)
{
    double error = vbs_clusters_error(search->weights, least), limit = (1 + excess) * error;
    double low = 0, high = error / (double)search->weights->n * fmin(excess, 1) / RAISE;
    bool fits = true;

    copy(least, &search->best);
    for (int i = 0; i < MAX_RAISES && fits; i++) {
        low = high;
        high *= RAISE;
        VBS_TRY(try_lambda(search, high, limit, made, &fits));
    }
    for (int i = 0; i < N_HALVINGS && !fits; i++) {
        double middle = sqrt(low * high);
        bool middle_fits;

        VBS_TRY(try_lambda(search, middle, limit, made, &middle_fits));
        if (middle_fits)
            low = middle;
        else
            high = middle;
    }
    return VBS_OK;
}

enum vbs_status vbs_clusters_relax(struct vbs_ctx *ctx, const struct vbs_sorted_weights *weights,
                                   int most, double excess, struct vbs_clusters *clusters)
{
    struct vbs_clusters made = {.ends = calloc((size_t)most, sizeof *made.ends)};
    struct entropy_search search;
    enum vbs_status status;

    if (!made.ends)
        return vbs_no_memory(ctx);
    status = search_init(ctx, weights, most, &search);
    if (status == VBS_OK) {
        status = relax(&search, excess, clusters, &made);
        if (status == VBS_OK)
            copy(&search.best, clusters);
        search_clear(&search);
    }
    free(made.ends);
    return status;
}
