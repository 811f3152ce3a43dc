/* The importance of parameters: functions whose variances are known, and trees integrated point by
 * point. */
#include "support/tap.h"
#include "tune/results/forest.h"
#include "tune/space/random.h"

#include <stdlib.h>

#define N 400
#define D 3

static const struct vbs_search_parameter PARAMETERS[] = {
    {"x", VBS_SEARCH_REAL, 1e-3, 1e3, 0, true, 0},
    {"n", VBS_SEARCH_INTEGER, 0, 400, 4, false, 0},
    {"c", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 4},
    {"fixed", VBS_SEARCH_INTEGER, 3, 3, 0, false, 0}};

static double points[N * 4], values[N], shares[4];

static void draw(int n, int d)
{
    struct tune_random random = {4};

    for (int i = 0; i < n; i++) {
        double *p = points + (size_t)i * (size_t)d;

        p[0] = pow(10, 6 * vbs_tune_uniform(&random) - 3);
        p[1] = 4 * (double)vbs_tune_below(&random, 101);
        if (d > 2)
            p[2] = (double)vbs_tune_below(&random, 4);
        if (d > 3)
            p[3] = 3;
    }
}

static void analyse(int n, int d, uint64_t seed)
{
    const struct vbs_search_space space = {d, PARAMETERS};
    struct vbs_ctx ctx = {0};

    if (vbs_search_importance(&ctx, &space, points, values, n, seed, shares) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
}

static void test_functions(void)
{
    double first[4], sum;

    draw(N, 4);
    /* Variances over the space: 9/12, 1/12 and 3/16 * 2/3 = 1/8. */
    for (int i = 0; i < N; i++)
        values[i] = 3 * (log10(points[4 * i]) + 3) / 6 + points[4 * i + 1] / 400 +
                    (points[4 * i + 2] == 2) * sqrt(2.0 / 3);
    analyse(N, 4, 1);
    sum = 9.0 / 12 + 1.0 / 12 + 1.0 / 8;
    ok(fabs(shares[0] - 9 / 12.0 / sum) < 0.05 && fabs(shares[1] - 1 / 12.0 / sum) < 0.05 &&
           fabs(shares[2] - 1 / 8.0 / sum) < 0.05,
       "a sum of functions has the shares of their variances");
    ok(shares[3] < 1e-12, "a parameter with one value has none");
    memcpy(first, shares, sizeof first);
    analyse(N, 4, 1);
    ok(memcmp(first, shares, sizeof first) == 0, "equal seeds have equal bits");
    analyse(N, 4, 2);
    ok(memcmp(first, shares, sizeof first) != 0 && fabs(first[0] - shares[0]) < 0.05,
       "another seed has similar shares");
    for (int i = 0; i < N; i++)
        values[i] = (points[4 * i] < 1) == (points[4 * i + 1] < 200) ? 1 : -1;
    analyse(N, 4, 1);
    ok(shares[0] + shares[1] + shares[2] < 0.15,
       "what two parameters explain together is the share of none (%.3f)",
       shares[0] + shares[1] + shares[2]);
    for (int i = 0; i < N; i++)
        values[i] = 5;
    analyse(N, 4, 1);
    ok(shares[0] == 0 && shares[1] == 0 && shares[2] == 0, "equal values have no variance");
    for (int i = 0; i < N; i++)
        values[i] = i % 2 ? 1.7e308 : -1.7e308;
    analyse(N, 4, 1);
    ok(isfinite(shares[0]), "enormous values do no harm");
}

static double predict(const struct tune_leaves *leaves, double x, double y)
{
    for (int i = 0; i < leaves->n; i++) {
        const struct tune_leaf *leaf = &leaves->leaves[i];

        if (x >= leaf->low[0] && x < leaf->high[0] && y >= leaf->low[1] && y < leaf->high[1])
            return leaf->value;
    }
    return NAN;
}

/* Adds the shares of a tree of two coordinates, from a grid of its values. */
static void add_by_grid(const struct tune_leaves *leaves, double *sums)
{
    enum { GRID = 101 }; /* the number of values of the second parameter */
    double rows[GRID] = {0}, columns[GRID] = {0}, mean = 0, square = 0, by_row = 0, by_column = 0;

    for (int i = 0; i < GRID; i++) {
        for (int k = 0; k < GRID; k++) {
            double value = predict(leaves, (i + 0.5) / GRID, (k + 0.5) / GRID);

            rows[i] += value / GRID;
            columns[k] += value / GRID;
            mean += value / GRID / GRID;
            square += value * value / GRID / GRID;
        }
    }
    for (int i = 0; i < GRID; i++) {
        by_row += (rows[i] - mean) * (rows[i] - mean) / GRID;
        by_column += (columns[i] - mean) * (columns[i] - mean) / GRID;
    }
    sums[0] += by_row / (square - mean * mean);
    sums[1] += by_column / (square - mean * mean);
}

static void test_trees(void)
{
    enum { FEW = 40, TREES = 64 };
    double from[2 * FEW], to[2 * FEW], scaled[FEW], sums[2] = {0}, most = 0;
    const struct tune_samples samples = {FEW, 2, from, to, scaled};

    draw(FEW, 2);
    for (int i = 0; i < FEW; i++) {
        values[i] = sin(log(points[2 * i])) * points[2 * i + 1] + points[2 * i + 1];
        from[2 * i] = to[2 * i] = (log10(points[2 * i]) + 3) / 6;
        from[2 * i + 1] = points[2 * i + 1] / 4 / 101;
        to[2 * i + 1] = (points[2 * i + 1] / 4 + 1) / 101;
        most = fmax(most, fabs(values[i]));
    }
    for (int i = 0; i < FEW; i++)
        scaled[i] = values[i] / most;
    analyse(FEW, 2, 8);
    for (int t = 0; t < TREES; t++) {
        struct vbs_arena arena = {0};
        struct tune_leaves leaves;

        if (vbs_tune_tree(NULL, &samples, vbs_tune_random(8, TUNE_FOREST, (uint64_t)t), &arena,
                          &leaves) != VBS_OK)
            bail_out("no memory");
        add_by_grid(&leaves, sums);
        vbs_arena_clear(&arena);
    }
    ok(fabs(sums[0] / TREES - shares[0]) < 0.01 && fabs(sums[1] / TREES - shares[1]) < 0.01,
       "shares are those of the trees on a grid (%.3f and %.3f, %.3f and %.3f)", sums[0] / TREES,
       shares[0], sums[1] / TREES, shares[1]);
}

static void test_refusals(void)
{
    const struct vbs_search_space space = {2, PARAMETERS};
    struct vbs_ctx ctx = {0};

    draw(N, 2);
    values[0] = 1;
    is_int(vbs_search_importance(&ctx, &space, points, values, 1, 0, shares), VBS_USAGE,
           "one point is refused");
    values[1] = INFINITY;
    is_int(vbs_search_importance(&ctx, &space, points, values, 2, 0, shares), VBS_USAGE,
           "an infinite value is refused");
    values[1] = 1;
    points[3] = 5;
    is_int(vbs_search_importance(&ctx, &space, points, values, 2, 0, shares), VBS_USAGE,
           "a point outside the space is refused");
    is_str(ctx.detail, "parameter 'n' is 5, not 0 and whole steps of 4", "with the reason");
}

int main(void)
{
    test_functions();
    test_trees();
    test_refusals();
    return done_testing();
}
