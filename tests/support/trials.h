/*
 * The trials of a program that checks random subjects: how many subjects, and the seed of their
 * random numbers. Both can be given as arguments, in this order, to try more or other subjects.
 * TRIALS_PERCENT in the environment shortens all programs where each step takes long, as in an
 * emulator.
 */
#ifndef TESTS_TRIALS_H
#define TESTS_TRIALS_H

#include <stdio.h>
#include <stdlib.h>

struct trials {
    int n;
    unsigned long seed;
};

/* Gives TRIALS_PERCENT of n subjects, at least one. */
static inline int trials_some(int n)
{
    const char *percent = getenv("TRIALS_PERCENT");
    int some = percent ? n * atoi(percent) / 100 : n;

    return some < 1 ? 1 : some;
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
