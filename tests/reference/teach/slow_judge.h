/*
 * A slow judge of answers to exercises, from the words of docs/accounting.md: sample by sample, set
 * of weights by set of weights. It shares no code with the library beyond reading profiles.
 */
#ifndef TESTS_SLOW_JUDGE_H
#define TESTS_SLOW_JUDGE_H

#include "vbslab/teach.h"

/* What the slow judge says; as in struct vbs_exercise_verdict. */
struct slow_verdict {
    bool is_schedule, fits;
    int64_t step; /* 1, 2, ...: the first wrong one; 0: none, or the end is not reached */
    double time_us;
    int64_t peak_bytes;
};

/* Judges a schedule whose algorithms are the profile's. */
struct slow_verdict slow_judge(const struct vbs_exercise *exercise,
                               const struct vbs_schedule *answer);

/* Computes the least time of all schedules of an exercise; NAN: the search is too large. */
double slow_optimum_us(const struct vbs_exercise *exercise);

#endif
