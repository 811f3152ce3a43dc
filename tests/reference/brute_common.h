/* What the files of the slow references share among themselves. */
#ifndef TESTS_BRUTE_COMMON_H
#define TESTS_BRUTE_COMMON_H

#include "reference/brute_force.h"

#include <stddef.h>

/* Zero-filled memory, and more of it; ends the program when there is none. */
void *brute_alloc(size_t count, size_t size);
void *brute_grow(void *memory, size_t count, size_t size);

bool brute_reads(const struct vbs_problem *problem, int layer, int tensor);
/* True when nobody reads the tensor. */
bool brute_is_final(const struct vbs_problem *problem, int tensor);
int64_t brute_sample_bytes(const struct vbs_problem *problem, int tensor);

/* The rows of layer at batch; none for a batch that the profile lacks. */
const struct vbs_profile_row *brute_rows(const struct vbs_problem *problem, int layer, int batch,
                                         int *n_rows);

/* The fastest algorithm whose scratch fits into what is left: its row or null, its time or
 * HUGE_VAL. */
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
/* Is no wait so far above the problem's bound? */
bool brute_in_time(const struct brute_clock *clock);

#endif
