/*
 * What the files of a race share: the schedules of one budget, which race.c executes by turns and
 * plans.c plans, opens and closes. standing.c says which is the fastest so far.
 */
#ifndef VBS_LEARN_RACE_H
#define VBS_LEARN_RACE_H

#include "learn/learn.h"

#define RACE_SCHEDULES 24 /* at most; settling what was found at last may add two more */

struct race {
    struct learning *l;
    int64_t memory_bytes;
    struct contender *contenders; /* number 0 stays open as long as others are */
    int n;
    int64_t capacity, apart_capacity;
    int turn;
    bool *apart; /* [turn + 1] */
    double begin_s, end_s;
    struct observations seen; /* that the posterior was made of, beside the settled ones */
    double planning_s;        /* the longest planning and preparing of a schedule */
    double first_predicted_us;
    int first; /* the contender of the planner's first plan; -1: it was not executed */
    bool stands;
};

/* ---- standing.c ---- */

/* Returns the seconds since learning began. */
double race_now_s(const struct race *race);

/* Tells what is done now, and which share of the time has passed. */
void race_report(const struct race *race, const char *what);

/* Computes a contender's time as a multiple of that of number 0, from the turns of both; where
 * there are none, from the medians. */
enum vbs_status race_score(const struct race *race, int which, double *multiple) VBS_MUST_CHECK;

/* Finds the fastest contender, or the fastest baseline; -1: there is none. */
enum vbs_status race_find_best(const struct race *race, bool baselines_only,
                               int *best) VBS_MUST_CHECK;

/* ---- plans.c ---- */

/* Opens the executor of a contender that was closed, and may close others. */
enum vbs_status race_open_again(struct race *race, int which) VBS_MUST_CHECK;

/* Plans on a profile, and executes the plan once where it is new. *outcome: the number of the
 * plan's contender, or -1 where there is no plan that can be placed; *is_new: it was added. */
enum vbs_status race_plan(struct race *race, const struct vbs_profile *profile, int *outcome,
                          bool *is_new) VBS_MUST_CHECK;

/* Does the same with the fastest plan of the baselines, on the posterior profile. */
enum vbs_status race_plan_baseline(struct race *race, bool *is_new) VBS_MUST_CHECK;

#endif
