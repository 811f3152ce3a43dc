/*
 * Inside the plan room: what planners are given and what they give back.
 *
 * Adding a planner is one file that defines a struct vbs_planner and one line in planner.c.
 */
#ifndef VBS_PLAN_PROBLEM_PLANNER_H
#define VBS_PLAN_PROBLEM_PLANNER_H

#include "base/arena.h"
#include "plan/problem/row_pareto.h"
#include "vbslab/plan.h"

#include <stdbool.h>

/* The least that one sample keeps alive, whatever the order of the layers: before a layer, during
 * its step (its output left out) and after it. */
struct vbs_floor {
    int64_t before_bytes, base_bytes, after_bytes;
    int64_t place_bytes; /* the most that an in-place output may take the place of */
};

/*
 * A problem with what every planner needs of it. Times are whole ticks, so that sums do not depend
 * on their order: 1 microsecond is 2^tick_shift ticks, chosen so that the dearest schedule fits in
 * 62 bits.
 */
struct vbs_task {
    struct vbs_problem problem;
    const struct vbs_profile *profile;
    int n_layers;
    int request;
    int n_batches; /* of the profile, up to the request */
    int tick_shift;
    struct vbs_solver_options options; /* of the solver */
    const struct vbs_planner
        *resident;         /* weights included: who plans in what they leave, or null */
    int64_t latency_ticks; /* INT64_MAX: not bounded */
    int *last_reader;      /* [0..n] last layer that reads tensor t, 0: none, a final output */
    int *n_readers;        /* [0..n] */
    int *const *readers;   /* [0..n] distinct readers, ascending */
    int *n_inputs;         /* [0..n] */
    int *const *inputs;    /* [0..n] distinct inputs of a layer, the first of the profile's first */
    int *batch_index;      /* [0..request] index into profile->batches, or -1 */
    struct vbs_stairs stairs;
    struct vbs_floor *floors; /* [0..n], [1..n] used */
    struct vbs_arena arena;
};

enum vbs_status vbs_task_init(struct vbs_ctx *ctx, struct vbs_task *task,
                              const struct vbs_problem *problem) VBS_MUST_CHECK;
void vbs_task_clear(struct vbs_task *task);

int64_t vbs_task_ticks(const struct vbs_task *task, double time_us);
double vbs_task_us(const struct vbs_task *task, int64_t ticks);

/* By how much the ticks of a whole schedule can differ from its time: half a tick a step. Far below
 * the last bit unless some row takes ages. */
static inline int64_t vbs_task_slack_ticks(const struct vbs_task *task)
{
    return (int64_t)task->n_layers * task->request;
}

/* Bytes of one sample of tensor t. */
static inline int64_t vbs_task_bytes(const struct vbs_task *task, int tensor)
{
    return task->profile->layers[tensor].out_bytes;
}

/* True when samples of tensor t stay inside the budget between steps. */
static inline int vbs_task_kept(const struct vbs_task *task, int tensor)
{
    return task->problem.io == VBS_IO_RESIDENT || (tensor != 0 && task->last_reader[tensor] != 0);
}

/* What a step adds for its output, per sample or in all: the output, less what an in-place layer
 * takes the place of. */
static inline int64_t vbs_task_added(int64_t out_bytes, int64_t place_bytes)
{
    return out_bytes > place_bytes ? out_bytes - place_bytes : 0;
}

/* True when layer reads the network's input. */
int vbs_task_reads_input(const struct vbs_task *task, int layer);

/* The row of a step; it must exist. */
const struct vbs_profile_row *vbs_task_step_row(const struct vbs_task *task,
                                                const struct vbs_step *step);

/* The fastest row of layer at batch whose step fits: base_bytes + ws <= memory_bytes. Null when
 * none does or the profile has no such batch. */
const struct vbs_profile_row *vbs_task_row(const struct vbs_task *task, int layer, int batch,
                                           int64_t base_bytes, int64_t memory_bytes);

/* Fill task->stairs and task->floors; parts of vbs_task_init. */
enum vbs_status vbs_task_stairs(struct vbs_ctx *ctx, struct vbs_task *task) VBS_MUST_CHECK;
enum vbs_status vbs_task_floors(struct vbs_ctx *ctx, struct vbs_task *task) VBS_MUST_CHECK;

#define VBS_NEVER_TICKS (INT64_MAX / 4) /* the goal cannot be reached */

/* togo[x], x = 0..goal: ticks that layer takes at least within memory_bytes from x samples done to
 * goal, which is at most the request. O(goal x batches). */
void vbs_task_to_go(const struct vbs_task *task, int layer, int64_t memory_bytes, int goal,
                    int64_t *togo);

/* Bytes of all weights, each layer's in its lightest form. */
int64_t vbs_task_lightest_bytes(const struct vbs_task *task);

/* vbs_bound_us of the task's problem. */
enum vbs_status vbs_task_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  int64_t memory_bytes, double *time_us) VBS_MUST_CHECK;

/* Steps in the making; algorithm is an index into the profile's algorithms. */
struct vbs_step_list {
    struct vbs_step *steps;
    int64_t n_steps, capacity;
};

/* VBS_NO_MEMORY, or VBS_USAGE beyond VBS_MAX_STEPS. */
enum vbs_status vbs_step_list_add(struct vbs_ctx *ctx, struct vbs_step_list *list, int layer,
                                  int batch, int algorithm) VBS_MUST_CHECK;
/* Appends a step of any kind; errors as above. */
enum vbs_status vbs_step_list_append(struct vbs_ctx *ctx, struct vbs_step_list *list,
                                     const struct vbs_step *step) VBS_MUST_CHECK;
/* Appends n steps; errors as above. */
enum vbs_status vbs_step_list_copy(struct vbs_ctx *ctx, const struct vbs_step *steps, int64_t n,
                                   struct vbs_step_list *to) VBS_MUST_CHECK;
void vbs_step_list_clear(struct vbs_step_list *list);

/* Sum of the steps' times in their order, as schedules and replay report it with weights excluded.
 */
double vbs_step_list_us(const struct vbs_task *task, const struct vbs_step_list *list);

/* What a planner gives back for a budget. */
struct vbs_draft {
    struct vbs_step_list steps;
    int64_t reserved_bytes; /* what they need by the planner's own accounting */
    double bound_us;        /* a lower bound that the planner proved on its way, 0: none */
};

struct vbs_planner {
    const char *name;
    const char *summary;
    bool transfers; /* loads and drops weights itself: for weights included only */
    /* *self is freed by close. */
    enum vbs_status (*open)(struct vbs_ctx *ctx, const struct vbs_task *task, void **self);
    /* Fills *draft, which is {0}, for a budget; reserved_bytes <= memory_bytes. VBS_INFEASIBLE
     * (without a detail). The caller clears draft->steps, after a failure too. */
    enum vbs_status (*plan)(struct vbs_ctx *ctx, void *self, int64_t memory_bytes,
                            struct vbs_draft *draft);
    /* The least feasible budget, INT64_MAX: none. */
    int64_t (*least_bytes)(const void *self);
    /* Bytes held at most. */
    size_t (*peak_bytes)(const void *self);
    /* Budgets at which the plan may change, in any order, repeats allowed; malloc'd. */
    enum vbs_status (*thresholds)(struct vbs_ctx *ctx, const void *self, int64_t **bytes, int *n);
    void (*close)(void *self);
};

/* Times closer than this, relatively, are equal: sums of the same numbers in another order. */
#define VBS_TIME_NOISE 1e-12

extern const struct vbs_planner vbs_planner_fbs;
extern const struct vbs_planner vbs_planner_fbs_best;
extern const struct vbs_planner vbs_planner_greedy_vbs;
extern const struct vbs_planner vbs_planner_dp_monotone;
extern const struct vbs_planner vbs_planner_dp_vbs;
extern const struct vbs_planner vbs_planner_dp_vbs_table; /* dp-vbs with options.table_bytes */
extern const struct vbs_planner vbs_planner_dp_vbs_plus;
extern const struct vbs_planner vbs_planner_optimal;
extern const struct vbs_planner vbs_planner_resident; /* task->resident with all weights resident */
extern const struct vbs_planner vbs_planner_mmcnn;
extern const struct vbs_planner vbs_planner_vdnn;
extern const struct vbs_planner vbs_planner_joint;

#endif
