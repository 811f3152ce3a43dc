/*
 * The parts of joint (joint.c): its priced rows, and its schedules from cuttings of them.
 */
#ifndef VBS_PLAN_WEIGHTS_JOINT_H
#define VBS_PLAN_WEIGHTS_JOINT_H

#include "plan/dp/dp.h"
#include "plan/problem/problem.h"
#include "plan/weights/stream.h"

/* The meaning of an algorithm of the priced profile: an algorithm of the task, how often its slices
 * are halved, and how often its samples are halved into steps of their own. */
struct row_kind {
    int algorithm, doublings, halvings;
};

/* How a schedule is made of a cutting. */
struct trial {
    int cutting; /* among the cuttings of the current price */
    struct vbs_stream_order order;
    int64_t reserved_bytes, memory_bytes;
};

struct trial_list {
    int n;
    int64_t capacity;
    struct trial *list;
};

/* Where schedules are tried: the task and its plans, or a task with few chunks in its place and the
 * estimates for the whole request. */
struct trial_place {
    const struct vbs_task *task;
    struct vbs_pareto_set *found;
    int n_repeats; /* chunks of the whole request beyond the chunks of task; 0: it is the whole */
};

struct joint {
    struct vbs_ctx *ctx;
    const struct vbs_task *task;
    struct vbs_pareto_set *pareto;
    struct trial_place place;
    /* The trials of the current price, where their plans are estimates: the tag of a plan of
     * place.found is the index of its trial, or -1 where the plan needs no schedule. */
    struct trial_list trials;
    int64_t slice_bytes;      /* where memory is not tight */
    int64_t last_slice_bytes; /* the least where memory is tight */
    int most_doublings; /* of the number of slices, as many as the priced profile has names for */
    bool counts_units;  /* the channels of the profile are blocks: rows tell how they divide */
    double price;
    int delayed_from;                   /* as of struct vbs_stream_order */
    bool by_rows;                       /* cuttings may have segments by rows */
    struct vbs_rows_source rows;        /* of the current price */
    struct vbs_budget_list cut_budgets; /* for which cuttings with segments are made, for these have
                                           many steps */
    struct vbs_profile *profile;        /* with the price */
    const struct vbs_pareto_set *cuttings; /* of a chunk, by dp-vbs+ on the priced profile */
    const struct vbs_pareto_set *rest;     /* for the last chunk where that is smaller, or null */
    int chunk;                             /* samples */
    int grain;                             /* samples of a unit, the recursion's own sample */
    struct vbs_arena arena;
    int *batches; /* of the priced profile */
    int n_batches;
    struct row_kind *kinds; /* [algorithm of the priced profile] */
    double from_s, until_s; /* until_s: no further schedules are tried; 0: all are */
    double solve_until_s;   /* of the current solve of cuttings; 0: never */
    double reported_s;
    bool is_coarse;    /* the current pass tries only the largest budget that matters */
    bool is_long;      /* solves of all cuttings take so long that those in groups come first */
    bool hurries;      /* time is short: the largest budget that matters comes first */
    bool is_hasty;     /* it hurries, or the network is long */
    bool is_proven;    /* the plans for all budgets that matter are as fast as can be */
    double *bounds_us; /* [options.n_budgets] where is_hasty and there are few of them */
    int most_items;    /* of the groups of the current pass (vbs_task); 0: as many as time allows */
    struct vbs_orders orders;
    int n_done, n_solves; /* prices of all passes, and the search near their plans */
};

/* ---- joint_rows.c ---- */

/* Chooses the bytes of slices for the task. O(rows). */
void vbs_joint_choose_slices(struct joint *joint);
/* Chooses the units of samples, the chunks of at most max_units of them, and the batches of the
 * priced profile. VBS_NO_MEMORY. */
enum vbs_status vbs_joint_choose_units(struct joint *joint, bool whole,
                                       int max_units) VBS_MUST_CHECK;
/* Finds the layers at the end of the network that take longer to copy than to compute for part of
 * the request, by the most: the first of them, or 0. O(rows). */
int vbs_joint_delayed_from(const struct joint *joint);
/* Makes joint->profile, freed by the caller, at a price. VBS_NO_MEMORY. O(rows x slices). */
enum vbs_status vbs_joint_price(struct joint *joint, double price) VBS_MUST_CHECK;
/* The number of slices of a row's weights: the number where memory is not tight, doubled. */
int vbs_joint_slices(const struct joint *joint, int layer, const struct vbs_profile_row *row,
                     int doublings);
/* Gives the largest batch of a step, where batch samples are halved so often. */
int vbs_joint_most_samples(int batch, int halvings);
/* Sets *sum to time and workspace of one algorithm on batch samples, in steps of batches that the
 * profile has, the largest up to most samples first. False where one of these batches has no row
 * with the algorithm, unless no algorithm has rows of all of them: steps without it are then those
 * of vbs_joint_piece. */
bool vbs_joint_compose(const struct vbs_task *task, int layer, int batch, int most, int algorithm,
                       struct vbs_profile_row *sum);

/* Gives the row of a batch of the profile with the algorithm; where it has none, the fastest row
 * whose weights have the format; null: there is no such row. */
const struct vbs_profile_row *vbs_joint_piece(const struct vbs_task *task, int layer, int batch,
                                              int algorithm, int format);

/* ---- joint_schedules.c ---- */

/* Makes the task itself the place where schedules are tried. */
void vbs_joint_try_whole(struct joint *joint);
/* Lists the budgets of cuttings that are tried in some budget: its shares. VBS_NO_MEMORY. */
enum vbs_status vbs_joint_choose_cut_budgets(struct joint *joint) VBS_MUST_CHECK;
/* Makes schedules of joint->cuttings in the budgets of a grid; joint->place gets the best.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_joint_try_cuttings(struct joint *joint) VBS_MUST_CHECK;
/* Makes the schedules of the best trials of the current price for the task, the fastest first.
 * Before, they were only estimated on few chunks. Errors as of vbs_joint_try_cuttings. */
enum vbs_status vbs_joint_make_schedules(struct joint *joint) VBS_MUST_CHECK;
/* Reports the share of a solve and of its trials that is done. */
void vbs_joint_report(struct joint *joint, double share);
/* Whether no further schedules are tried: the plans are proven, or the time limit has passed and
 * there is a plan, or none that is found soon. */
bool vbs_joint_is_late(const struct joint *joint);
/* Whether bytes are more than the largest budget that matters. */
bool vbs_joint_is_above(const struct joint *joint, int64_t bytes);

/* ---- joint_polish.c ---- */

/* Offers faster schedules near the plans of joint->pareto in whole samples, in a grid of budgets.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. O(budgets x rounds x layers) schedules with transfers. */
enum vbs_status vbs_joint_polish(struct joint *joint) VBS_MUST_CHECK;

#endif
