/*
 * The trials of a program that checks random subjects: how many subjects, and the seed of their
 * random numbers. Both can be given as arguments, in this order, to try more or other subjects.
 * TRIALS_PERCENT in the environment is the share of subjects and faults that all programs try. It
 * is 100 where the variable is not set, as in make proofs; make test tries fewer, and an emulator,
 * where each step takes long, fewer still.
 */
#ifndef TESTS_TRIALS_H
#define TESTS_TRIALS_H

#include <stdio.h>
#include <stdlib.h>

struct trials {
    int n;
    unsigned long seed;
};

static inline long trials_percent(void)
{
    const char *text = getenv("TRIALS_PERCENT");
    long percent = text ? strtol(text, NULL, 10) : 100;

    return percent < 1 ? 1 : percent > 1000000 ? 1000000 : percent;
}

/* Gives TRIALS_PERCENT of n subjects, at least one. */
static inline int trials_some(int n)
{
    long some = n * trials_percent() / 100;

    return some < 1 ? 1 : (int)some;
}

/* Gives the distance between faults that are tried, of which every nth is at 100 percent: every one
 * at n times 100 percent. */
static inline int trials_stride(int n)
{
    long stride = n * 100L / trials_percent();

    return stride < 1 ? 1 : (int)stride;
}

/* Gives the arguments of the program, or what stands for those that are left out, and prints them;
 * what: the name of the subjects. */
static inline struct trials trials_of(int argc, char **argv, int n, unsigned long seed,
                                      const char *what)
{
    struct trials trials = {argc > 1 ? atoi(argv[1]) : trials_some(n),
                            argc > 2 ? strtoul(argv[2], NULL, 10) : seed};

    printf("# seed %lu, %d %s\n", trials.seed, trials.n, what);
    return trials;
}

#endif
