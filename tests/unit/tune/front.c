/* Pareto fronts against their definition, hypervolumes against inclusion and exclusion. */
#include "support/tap.h"
#include "tune/space/random.h"
#include "vbslab/tune.h"

#include <stdlib.h>

#define MAX_N 10

static bool is_dominated(int m, const double *values, int n, int i)
{
    for (int k = 0; k < n; k++) {
        bool never_worse = true, better = false;

        for (int o = 0; o < m; o++) {
            never_worse = never_worse && values[k * m + o] >= values[i * m + o];
            better = better || values[k * m + o] > values[i * m + o];
        }
        if (never_worse && better)
            return true;
    }
    return false;
}

/* The volume of a union of boxes: the sum over all sets of boxes of the volume of what these have
 * in common, odd sets counted as positive. */
static double union_volume(int m, const double *values, int n, const double *reference)
{
    double sum = 0;

    for (int set = 1; set < 1 << n; set++) {
        double volume = 1;

        for (int o = 0; o < m; o++) {
            double least = INFINITY;

            for (int i = 0; i < n; i++) {
                if (set >> i & 1)
                    least = fmin(least, values[i * m + o]);
            }
            volume *= fmax(0, least - reference[o]);
        }
        sum += __builtin_popcount((unsigned)set) % 2 ? volume : -volume;
    }
    return sum;
}

/* Lattices of few values have many ties. */
static void test_random(int m, int64_t levels)
{
    struct tune_random random = {(uint64_t)m};
    int n_wrong = 0;
    double worst = 0;

    for (int round = 0; round < 500; round++) {
        int n = (int)vbs_tune_below(&random, MAX_N + 1);
        double values[3 * MAX_N], reference[3], volume = -1;
        bool on_front[MAX_N];

        for (int i = 0; i < n * m; i++)
            values[i] = (double)vbs_tune_below(&random, levels) / (double)levels;
        for (int o = 0; o < m; o++)
            reference[o] = vbs_tune_uniform(&random) - 0.5;
        if (vbs_pareto_front(NULL, m, values, n, on_front) != VBS_OK ||
            vbs_hypervolume(NULL, m, values, n, reference, &volume) != VBS_OK)
            n_wrong++;
        for (int i = 0; i < n; i++)
            n_wrong += on_front[i] == is_dominated(m, values, n, i);
        worst = fmax(worst, fabs(volume - union_volume(m, values, n, reference)));
    }
    ok(n_wrong == 0, "%d objectives, %d levels: fronts as defined", m, (int)levels);
    ok(worst < 1e-12, "%d objectives, %d levels: volumes as defined (%.1e)", m, (int)levels, worst);
}

/* A front on a sphere, whose volume is known: many points come near an eighth of the ball. */
static void test_large(void)
{
    enum { SIDE = 120 };
    double *values = malloc(sizeof *values * 3 * SIDE * SIDE), reference[3] = {0}, volume = 0;
    bool *on_front = malloc(sizeof *on_front * SIDE * SIDE);
    int n = 0, n_front = 0;

    for (int i = 0; i < SIDE; i++) {
        for (int k = 0; k < SIDE; k++) {
            double z = (i + 0.5) / SIDE, angle = M_PI_2 * (k + 0.5) / SIDE;

            values[3 * n] = sqrt(1 - z * z) * cos(angle);
            values[3 * n + 1] = sqrt(1 - z * z) * sin(angle);
            values[3 * n++ + 2] = z;
        }
    }
    if (vbs_hypervolume(NULL, 3, values, n, reference, &volume) != VBS_OK)
        bail_out("no volume");
    ok(fabs(volume - M_PI / 6) < 0.02, "14,400 points of a sphere (%.4f of %.4f)", volume,
       M_PI / 6);
    if (vbs_pareto_front(NULL, 3, values, n, on_front) != VBS_OK)
        bail_out("no front");
    for (int i = 0; i < n; i++)
        n_front += on_front[i];
    is_int(n_front, n, "all of them are on the front");
    free(values);
    free(on_front);
}

static void test_refusals(void)
{
    struct vbs_ctx ctx = {0};
    double values[2] = {1, NAN}, reference[4] = {0, INFINITY, 0, 0}, volume = 7;
    bool on_front[2] = {true, true};

    is_int(vbs_pareto_front(&ctx, 2, values, 1, on_front), VBS_USAGE, "NaN is refused");
    is_str(ctx.detail, "objective 2 of point 1 is not a finite number", "with its place");
    is_int(vbs_hypervolume(&ctx, 2, values, 0, reference, &volume), VBS_USAGE,
           "an infinite reference is refused");
    is_int(vbs_hypervolume(&ctx, 4, values, 0, reference, &volume), VBS_USAGE,
           "four objectives are refused");
    is_int(vbs_pareto_front(&ctx, 0, values, 0, on_front), VBS_USAGE, "and so are none");
    ok(volume == 7 && on_front[0], "outputs stay as they were");
    reference[1] = 0;
    ok(vbs_hypervolume(&ctx, 2, values, 0, reference, &volume) == VBS_OK && volume == 0,
       "no points have no volume");
}

int main(void)
{
    for (int m = 1; m <= 3; m++) {
        test_random(m, 3);
        test_random(m, 1000000);
    }
    test_large();
    test_refusals();
    return done_testing();
}
