/* The best of all schedules with steps by rows of a tiny problem, by searching all states. */
#ifndef TESTS_BRUTE_ROWS_BEST_H
#define TESTS_BRUTE_ROWS_BEST_H

#include "reference/plan/brute_rows.h"

#define BRUTE_ROWS_WEIGHTED 4 /* layers of a profile with weights included */

struct brute_rows_problem {
    const struct vbs_profile *profile;
    int request;
    enum vbs_io io;
    int64_t memory_bytes;
    /* Weights included: steps and loads are of whole layers, in formats 0 and 1. A rate of 0:
     * nothing can be copied. */
    bool weights;
    struct vbs_link link;
    int max_states; /* of the search, counting those that differ in their clocks only */
};

/* Gives the least time of all schedules; HUGE_VAL: there is none; -1: the search has more states.
 */
double brute_rows_best_us(const struct brute_rows_problem *problem);

#endif
