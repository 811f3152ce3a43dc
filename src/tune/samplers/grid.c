/* The grid: its points have numbers, and the seed decides in which order they are taken. */
#include "tune/samplers/samplers.h"
#include "tune/space/space.h"

#include "base/arith.h"
#include "base/fail.h"

#include <math.h>

#define ROUNDS 4 /* of the permutation */

/* Gives the value of a parameter at one of n levels. */
static double level_value(const struct vbs_search_parameter *parameter, int64_t level, int64_t n)
{
    if (n == vbs_tune_n_values(parameter))
        return vbs_tune_value_at(parameter, level);
    return vbs_tune_value_near(parameter, (double)level / (double)(n - 1));
}

/* Gives the number of levels of a parameter: all of its values where they are few or choices. */
static int64_t n_levels(const struct tune_problem *problem, int i)
{
    const struct vbs_search_parameter *parameter = &problem->space->parameters[i];
    int64_t n = vbs_tune_n_values(parameter);

    if (parameter->kind == VBS_SEARCH_CATEGORICAL || n <= problem->options.grid_levels)
        return n;
    return problem->options.grid_levels;
}

/*
 * Gives member `index` of a permutation of 0..n - 1 by the seed: a Feistel cipher of the numbers
 * below the next power of 4, which is repeated until the result is below n (Black, Rogaway: Ciphers
 * with Arbitrary Finite Domains, 2002).
 */
static int64_t permuted(uint64_t seed, int64_t n, int64_t index)
{
    int bits = 1;
    uint64_t value = (uint64_t)index, mask;

    while (bits < 31 && (INT64_C(1) << 2 * bits) < n)
        bits++;
    mask = (UINT64_C(1) << bits) - 1;
    do {
        uint64_t left = value >> bits, right = value & mask;

        for (uint64_t round = 0; round < ROUNDS; round++) {
            struct tune_random random = vbs_tune_random(seed, TUNE_GRID, right << 3 | round);
            uint64_t next = left ^ (vbs_tune_bits(&random) & mask);

            left = right;
            right = next;
        }
        value = left << bits | right;
    } while (value >= (uint64_t)n);
    return (int64_t)value;
}

static void grid_point(const struct tune_problem *problem, int64_t index, double *point)
{
    for (int i = 0; i < problem->space->n_parameters; i++) {
        int64_t n = n_levels(problem, i);

        point[i] = level_value(&problem->space->parameters[i], index % n, n);
        index /= n;
    }
}

enum vbs_status vbs_tune_suggest_grid(struct vbs_ctx *ctx, struct tune_problem *problem,
                                      double *point, struct vbs_suggestion *suggestion)
{
    int64_t n = 1;

    (void)suggestion;
    for (int i = 0; i < problem->space->n_parameters; i++) {
        if (!vbs_mul(n, n_levels(problem, i), &n) || n > INT64_C(1) << 62)
            return vbs_fail(ctx, VBS_USAGE, "the grid has more than 2^62 points");
    }
    for (int64_t i = 0; i < n; i++) {
        if (i % 4096 == 0)
            VBS_TRY(vbs_check_cancel(ctx));
        grid_point(problem, permuted(problem->options.seed, n, i), point);
        if (vbs_tune_is_open(problem, point))
            return VBS_OK;
    }
    return vbs_fail(ctx, VBS_NOT_FOUND, "all points of the grid were tried");
}
