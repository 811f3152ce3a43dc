/* Functions that the files of the slow references share. */
#ifndef TESTS_BRUTE_COMMON_H
#define TESTS_BRUTE_COMMON_H

#include "reference/plan/brute_force.h"

#include <stddef.h>

/* Allocate zeroed memory, or enlarge it; end the program when memory is out. */
void *brute_alloc(size_t count, size_t size);
void *brute_grow(void *memory, size_t count, size_t size);

bool brute_reads(const struct vbs_problem *problem, int layer, int tensor);
/* True when no layer reads the tensor. */
bool brute_is_final(const struct vbs_problem *problem, int tensor);
int64_t brute_sample_bytes(const struct vbs_problem *problem, int tensor);

/* Gives the rows of layer at batch; none for a batch that the profile lacks. */
const struct vbs_profile_row *brute_rows(const struct vbs_problem *problem, int layer, int batch,
                                         int *n_rows);

/* Gives the fastest algorithm whose workspace fits into the bytes left: its row or null, and its
 * time or HUGE_VAL. */
const struct vbs_profile_row *brute_fastest_row(const struct vbs_problem *problem, int layer,
                                                int batch, int64_t left_bytes);
double brute_fastest_us(const struct vbs_problem *problem, int layer, int batch,
                        int64_t left_bytes);

/* The wait of the samples, step by step as plan.h defines it. Start with the problem and the rest
 * {0}; free(clock.done). */
struct brute_clock {
    const struct vbs_problem *problem;
    int *done; /* [1..n] samples each layer has finished */
    double chunk_us, longest_us;
};

void brute_clock_step(struct brute_clock *clock, int layer, int batch, double time_us);
/* Gives whether no wait so far is above the problem's bound. */
bool brute_in_time(const struct brute_clock *clock);

#endif
