/* Which trials models are made of, where there are more than they can hold. Internal to the
 * sub-room. */
#ifndef VBS_TUNE_MODELS_CHOSEN_H
#define VBS_TUNE_MODELS_CHOSEN_H

#include "tune/problem/problem.h"

/* Trials by their indices, in memory of an arena. */
struct tune_chosen {
    int n_complete, n_ended, n_running;
    const int *complete; /* with values, the best first */
    const int *ended;    /* with and without values; empty where all have some */
    const int *running;
};

/* Chooses trials. VBS_NO_MEMORY. */
enum vbs_status vbs_tune_choose(struct vbs_ctx *ctx, const struct tune_problem *problem,
                                struct vbs_arena *arena, struct tune_chosen *chosen) VBS_MUST_CHECK;

/* Gives complete trial i, or running trial i - n_complete. */
static inline int vbs_tune_chosen_trial(const struct tune_chosen *chosen, int i)
{
    return i < chosen->n_complete ? chosen->complete[i] : chosen->running[i - chosen->n_complete];
}

/* Gives the value of a known objective at the point of a trial, moved to the bounds of what a
 * process can use: 0 where the point is not allowed. */
double vbs_tune_known_value(const struct tune_problem *problem, int objective, int trial);

#endif
