/*
 * The functions that the files of the room share. In the order of work: learn.c goes through the
 * budgets, task.c is the problem of all of them with its planners, race.c executes the schedules of
 * one budget by turns and learns, plans.c plans anew, standing.c finds the fastest schedule so far,
 * contender.c is a schedule with its executor and its times, steps.c the times of steps by the
 * profile, beside.c tells what steps would have taken without loads beside them, observe.c makes
 * executed rows of these times, and posterior times of them, and unproven.c corrects those of other
 * rows.
 */
#ifndef VBS_LEARN_LEARN_H
#define VBS_LEARN_LEARN_H

#include "vbslab/learn.h"

#include "base/arena.h"
#include "exec/cache_watch.h"
#include "exec/replan.h"
#include "schedule/same_steps.h"

#include <gsl/gsl_rng.h>

/* ---- contender.c ---- */

#define LEARN_STEPS_KEPT 15 /* runs of which the times of steps are kept: the newest */

/* A predicted time, and the part of it of rows that had not been executed, both without the factor
 * of such rows. */
struct learn_prediction {
    double all_us, unproven_us;
};

/* A schedule that is executed. */
struct contender {
    struct vbs_schedule *schedule;
    struct vbs_exec *exec; /* null: closed */
    /* Its offsets, with which it is opened again: another search might not find any in time. */
    struct vbs_exec_placed *placed;
    /* The planner of baselines of which it is a plan; null: of none. */
    const struct vbs_planner *baseline;
    /* Of a plan on posterior times when it was new, and of contender number 0 then; 0: of others.
     */
    struct learn_prediction predicted, predicted_base;
    int n_runs;
    int64_t capacity, turn_capacity, wait_capacity;
    double *times_us; /* [n_runs] of the request */
    int *turns;       /* [n_runs] in which it ran, ascending */
    double *steps_us; /* [LEARN_STEPS_KEPT][schedule->n_steps] of the newest runs */
    /* Both are null where weights are outside the budget. */
    double *waits_us; /* [n_runs] of times_us, in which computing waited for loads */
    double *alone_us; /* as steps_us, without what loads beside the steps cost; NAN: not known */
    /* On a device: the times of the steps by the profile, [schedule->n_steps], by which the time of
     * a request is divided among them, and their sum. Null: steps tell their own times. */
    double *profile_us;
    double profile_sum_us;
};

void learn_contender_close(struct contender *contender);
void learn_contender_clear(struct contender *contender);

/* Runs the contender once, as part of a turn; a run that does not count warms up. */
enum vbs_status learn_contender_run(struct vbs_ctx *ctx, struct contender *contender, int turn,
                                    bool counts) VBS_MUST_CHECK;

/* Fills time_us, low_us and high_us of the request, and n_runs. VBS_NO_MEMORY. */
enum vbs_status learn_contender_time(struct vbs_ctx *ctx, const struct contender *contender,
                                     struct vbs_profile_row *time) VBS_MUST_CHECK;

/* Fills the median, and its 95% interval, of the ratios of two contenders' times in the turns in
 * which both ran, as vbs_turns_compare does: time_us, low_us, high_us. n_runs is the number of
 * these turns, and may be 0: then the others are NAN. */
enum vbs_status learn_contender_ratio(struct vbs_ctx *ctx, const struct contender *contender,
                                      const struct contender *over,
                                      struct vbs_profile_row *ratio) VBS_MUST_CHECK;

/* ---- steps.c ---- */

/* Returns the time of a compute step by a profile; 0: it has no such row. O(log rows). */
double learn_step_us(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                     const struct vbs_step *step);

/* Fills profile_us and profile_sum_us of a contender. VBS_NO_MEMORY. */
enum vbs_status learn_profile_steps(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    struct contender *contender) VBS_MUST_CHECK;

/* ---- beside.c ---- */

/* Fills alone_us [schedule->n_steps] with the times that compute steps would have taken without the
 * loads that ran beside them; NAN where the schedule's link has no factors. times: of all steps, as
 * they were executed. VBS_NO_MEMORY. */
enum vbs_status learn_alone(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                            const struct vbs_exec_step *times, double *alone_us) VBS_MUST_CHECK;

/* ---- observe.c ---- */

/* Executed rows of all schedules so far; they are appended. */
struct observations {
    struct vbs_observed_row *rows;
    int n_rows;
    int64_t capacity;
};

/* Compares the rows of struct vbs_observed_row by what they are of, for qsort. */
int learn_compare_rows(const void *a, const void *b);

/* Contenders that took turns. */
struct turns {
    struct contender *contenders;
    int n;      /* contenders */
    int last;   /* turn; the first one is 1 */
    int number; /* the group of executed rows */
    /* [last + 1] In these turns the machine was in another state than the profile is for. Null: in
     * none. */
    const bool *apart;
};

/* Appends what the kept runs of all contenders say of the rows of profile. */
enum vbs_status learn_observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                              const struct turns *turns,
                              struct observations *observations) VBS_MUST_CHECK;

/* ---- unproven.c ---- */

/* Sorts executed rows for learn_predict. */
void learn_sort_executed(struct observations *executed);

/* Predicts a schedule. profile: whose rows without executions take factor times as long; executed:
 * sorted. O(steps log n_rows). */
struct learn_prediction learn_predict(const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule,
                                      const struct observations *executed, double factor);

/* What came of predictions: sums for least squares. */
struct learn_outcomes {
    double products, squares;
};

/* Adds what came of the contenders with predictions. VBS_NO_MEMORY. */
enum vbs_status learn_add_outcomes(struct vbs_ctx *ctx, const struct contender *contenders, int n,
                                   struct learn_outcomes *outcomes) VBS_MUST_CHECK;

/* Returns how many times as long as predicted rows take that were not executed: 1 to 1.2. */
double learn_unproven_factor(const struct learn_outcomes *outcomes);

struct learning;

/* Makes posterior times of the profile, from the settled observations and more ones (null: none).
 * draws: with times that are drawn. */
enum vbs_status learn_posterior(struct learning *learning, const struct observations *more,
                                bool draws, struct vbs_profile **made) VBS_MUST_CHECK;

/* ---- task.c ---- */

#define LEARN_BASELINES 3 /* at most */

/* Checks the options of weights, and sets the planners and the link. VBS_USAGE, VBS_NOT_FOUND. */
enum vbs_status learn_set_task(struct learning *learning) VBS_MUST_CHECK;

/* Returns the problem of the options on a profile, which it borrows. */
struct vbs_problem learn_problem(const struct learning *learning,
                                 const struct vbs_profile *profile);

/* ---- race.c ---- */

/* What all budgets share. */
struct learning {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_backend *backend;
    const struct vbs_profile *profile; /* as it was given */
    const struct vbs_planner *planner;
    const struct vbs_planner *baselines[LEARN_BASELINES];
    int n_baselines;
    struct vbs_link copy;             /* borrowed from profile; {0} where weights are outside */
    struct vbs_learn_options options; /* with defaults in the place of zeros */
    struct observations settled;      /* of budgets that are done */
    struct vbs_cache_watch cache;     /* beside the speed of the profile */
    struct learn_outcomes outcomes;   /* of races that are done */
    double unproven;                  /* factor of rows of posterior that were not executed */
    struct vbs_profile *posterior;    /* of profile and all observations; it changes */
    struct vbs_posterior_report report;
    struct vbs_learned *result;
    int n_races;                    /* that are done */
    double planning_s;              /* seconds that the planner takes, by its first plan */
    double least_bytes, most_bytes; /* of the budgets that are chosen */
    double start_s;
    gsl_rng rng;
    struct vbs_arena arena;
};

/* Executes and plans for one budget until end_s, and fills *learned. */
enum vbs_status learn_race(struct learning *learning, double end_s,
                           struct vbs_learned_budget *learned) VBS_MUST_CHECK;

#endif
