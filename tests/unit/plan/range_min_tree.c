/*
 * The range-min tree that planners of streamed weights keep the free bytes of every step in: it
 * answers and changes at random as a plain array does. Argument: seed.
 */
#include "cases/random_profile.h"
#include "support/tap.h"

#include "plan/weights/range_min_tree.h"

#include <stdlib.h>
#include <string.h>

#define SEED 4712

static int64_t least_of(const int64_t *bytes, int first, int last)
{
    int64_t least = INT64_MAX;

    for (int i = first; i <= last; i++)
        least = bytes[i] < least ? bytes[i] : least;
    return least;
}

static bool tree_agrees(gsl_rng *rng)
{
    int64_t bytes[40], read[40];
    int n = random_int(rng, 1, 40);
    struct vbs_range_min_tree tree;
    bool agrees = true;

    for (int i = 0; i < n; i++)
        bytes[i] = random_int(rng, -5, 100);
    if (vbs_range_min_tree_init(NULL, &tree, bytes, n) != VBS_OK)
        return false;
    for (int t = 0; agrees && t < 60; t++) {
        int first = random_int(rng, 0, n - 1), last = random_int(rng, first - 1, n - 1);
        int64_t taken = random_int(rng, 0, 20);

        agrees = vbs_range_min_tree_least(&tree, first, last) == least_of(bytes, first, last);
        vbs_range_min_tree_subtract(&tree, first, last, taken);
        for (int i = first; i <= last; i++)
            bytes[i] -= taken;
    }
    vbs_range_min_tree_values(&tree, read);
    agrees = agrees && memcmp(read, bytes, (size_t)n * sizeof *bytes) == 0;
    vbs_range_min_tree_clear(&tree);
    return agrees;
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    int n_wrong = 0;

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    for (int i = 0; i < 300; i++)
        n_wrong += !tree_agrees(rng);
    is_int(n_wrong, 0,
           "the least free bytes of any range of steps, empty ones too, are an array's");
    gsl_rng_free(rng);
    return done_testing();
}
