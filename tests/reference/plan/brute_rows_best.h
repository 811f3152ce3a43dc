/* The least time of all schedules with rows of a tiny problem, by trying every step in every
 * state. */
#ifndef TESTS_BRUTE_ROWS_BEST_H
#define TESTS_BRUTE_ROWS_BEST_H

#include "reference/plan/brute_rows.h"

/* Gives the least time within memory_bytes: HUGE_VAL where nothing fits, -1 where more than
 * max_states states would be looked at. */
double brute_rows_best_us(const struct vbs_profile *profile, int request, enum vbs_io io,
                          int64_t memory_bytes, int max_states);

#endif
