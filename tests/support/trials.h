/*
 * The trials of a program that checks random subjects: how many subjects, and the seed of their
 * random numbers. Both can be given as arguments, in this order, to try more or other subjects.
 */
#ifndef TESTS_TRIALS_H
#define TESTS_TRIALS_H

#include <stdio.h>
#include <stdlib.h>

struct trials {
    int n;
    unsigned long seed;
};

/* Gives the arguments of the program, or what stands for those that are left out, and prints them;
 * what: the name of the subjects. */
static inline struct trials trials_of(int argc, char **argv, int n, unsigned long seed,
                                      const char *what)
{
    struct trials trials = {argc > 1 ? atoi(argv[1]) : n,
                            argc > 2 ? strtoul(argv[2], NULL, 10) : seed};

    printf("# seed %lu, %d %s\n", trials.seed, trials.n, what);
    return trials;
}

#endif
