/*
 * A task: a problem with data that all planners need, computed once.
 */
#ifndef VBS_PLAN_PROBLEM_TASK_H
#define VBS_PLAN_PROBLEM_TASK_H

#include "base/arena.h"
#include "plan/problem/row_pareto.h"
#include "vbslab/plan.h"

#include <stdbool.h>

/* Times whose relative difference is smaller count as equal: they may be sums of the same numbers
 * in another order. */
#define VBS_TIME_NOISE 1e-12

/* The least bytes that one sample keeps alive before a layer, during its step (without its output)
 * and after it, whatever the order of the layers. */
struct vbs_floor {
    int64_t before_bytes, base_bytes, after_bytes;
    int64_t place_bytes; /* the most bytes that an in-place output may overwrite */
};

struct vbs_task;
struct vbs_budget_list;

/* The steps with rows of a task whose own rows are changed: they are those of another task with the
 * same layers and samples. Where weights count, they are in memory during the steps that read them,
 * and a load of x bytes costs load_us + byte_us * x microseconds. */
struct vbs_rows_source {
    const struct vbs_task *task; /* algorithms of steps with rows are those of its profile */
    double load_us, byte_us;
};

/* The limit of the searches of a solver, in seconds or in expanded states. */
struct vbs_search_clock {
    bool counts_nodes;
    int64_t n_nodes;
    double from, until;              /* of the current plan, in seconds or nodes */
    int64_t best_ticks, bound_ticks; /* of the current search */
    double reported_s;               /* time of the last report of progress */
    bool interrupted;                /* the caller ended a search */
    /* While a frontier is made: when it began (0: none is made), the share of its budgets that is
     * done, and when this share was reached. */
    double frontier_from_s, frontier_share, frontier_reached_s;
};

/*
 * A problem with the data that every planner needs. Times are whole ticks, so that sums do not
 * depend on their order. A microsecond has 2^tick_shift ticks, as many as let the slowest schedule
 * fit into 62 bits.
 */
struct vbs_task {
    struct vbs_problem problem;
    const struct vbs_profile *profile;
    int n_layers;
    int request;
    int n_batches;                             /* those of the profile, up to the request */
    bool has_rows;                             /* schedules may have steps with rows */
    int most_rows;                             /* of a layer that may run by rows; 1: none may */
    const struct vbs_rows_source *rows_source; /* null: steps with rows are the task's own, and
                                                  weights do not count */
    int tick_shift;
    struct vbs_solver_options options; /* of the solver */
    /* With weights included, for a planner that does not transfer them: the planner that plans in
     * the memory that resident weights leave; else null. */
    const struct vbs_planner *resident;
    const struct vbs_planner *outside; /* the planner from outside that opens the task; else null */
    struct vbs_search_clock *clock;    /* null: searches are limited by seconds */
    double cut_until_s;  /* vbs_clock_s() at which cuttings and trials end; 0: never */
    double rows_until_s; /* vbs_clock_s() at which no further segments by rows are looked for, so
                            that cuttings end soon after with those that were found; 0: never */
    const struct vbs_budget_list *cut_budgets; /* cuttings are made for these budgets, for the least
                                                  and for the largest one only; null: for all */
    int exact_samples; /* cuttings try all numbers of samples up to this one, then fewer; 0: all */
    int most_items;    /* cuttings are those of chains in groups of so many items; 0: all */
    int64_t latency_ticks; /* INT64_MAX: not bounded */
    int *last_reader;      /* [0..n] last layer that reads tensor t, 0: none, a final output */
    int *n_readers;        /* [0..n] */
    int *const *readers;   /* [0..n] distinct readers, ascending */
    int *n_inputs;         /* [0..n] */
    int *const *inputs;    /* [0..n] distinct inputs of a layer, in the profile's order */
    int *batch_index;      /* [0..request] index into profile->batches, or -1 */
    struct vbs_row_pareto row_pareto;
    struct vbs_floor *floors; /* [0..n], [1..n] used */
    struct vbs_arena arena;
};

/* Computes all of *task; the profile is borrowed. vbs_task_clear frees it.
 * VBS_USAGE, VBS_NO_MEMORY. */
enum vbs_status vbs_task_init(struct vbs_ctx *ctx, struct vbs_task *task,
                              const struct vbs_problem *problem) VBS_MUST_CHECK;
/* Does the same where steps with rows come from another task; source is borrowed, and may be null.
 */
enum vbs_status vbs_task_init_rows(struct vbs_ctx *ctx, struct vbs_task *task,
                                   const struct vbs_problem *problem,
                                   const struct vbs_rows_source *source) VBS_MUST_CHECK;
void vbs_task_clear(struct vbs_task *task);

/* Gives whether the clock has reached task->cut_until_s. */
bool vbs_task_is_late(const struct vbs_task *task);

int64_t vbs_task_ticks(const struct vbs_task *task, double time_us);
double vbs_task_us(const struct vbs_task *task, int64_t ticks);

/* Gives the most ticks by which the sum of a whole schedule can differ from its time: half a tick
 * for each step. This is far below the last bit of the time unless some row is extremely slow. */
static inline int64_t vbs_task_slack_ticks(const struct vbs_task *task)
{
    return (int64_t)task->n_layers * task->request * (int64_t)task->most_rows;
}

/* Gives the bytes of one sample of tensor t. */
static inline int64_t vbs_task_bytes(const struct vbs_task *task, int tensor)
{
    return task->profile->layers[tensor].out_bytes;
}

/* Gives whether samples of tensor t stay inside the budget between steps. */
static inline int vbs_task_kept(const struct vbs_task *task, int tensor)
{
    return task->problem.io == VBS_IO_RESIDENT || (tensor != 0 && task->last_reader[tensor] != 0);
}

/* Gives the bytes that a step adds for its output, per sample or in all: those of the output, less
 * those that an in-place layer overwrites. */
static inline int64_t vbs_task_added(int64_t out_bytes, int64_t place_bytes)
{
    return out_bytes > place_bytes ? out_bytes - place_bytes : 0;
}

/* Gives whether layer reads the network's input. O(inputs of the layer). */
static inline bool vbs_task_reads_input(const struct vbs_task *task, int layer)
{
    for (int i = 0; i < task->n_inputs[layer]; i++)
        if (task->inputs[layer][i] == 0)
            return true;
    return false;
}

/* Gives the row of a step, which must exist. */
const struct vbs_profile_row *vbs_task_step_row(const struct vbs_task *task,
                                                const struct vbs_step *step);

/* Gives the fastest row of layer at batch whose step fits: base_bytes + ws <= memory_bytes. Null
 * when no row fits or the profile has no such batch. */
const struct vbs_profile_row *vbs_task_row(const struct vbs_task *task, int layer, int batch,
                                           int64_t base_bytes, int64_t memory_bytes);

/* Finds the Pareto sets of the rows whose weights have at most most_bytes[layer] bytes; null: of
 * all rows. What it allocates is the arena's. VBS_NO_MEMORY. */
enum vbs_status vbs_task_row_pareto(struct vbs_ctx *ctx, const struct vbs_task *task,
                                    const int64_t *most_bytes, struct vbs_arena *arena,
                                    struct vbs_row_pareto *row_pareto) VBS_MUST_CHECK;
/* Fills task->floors; vbs_task_init calls it. */
enum vbs_status vbs_task_floors(struct vbs_ctx *ctx, struct vbs_task *task) VBS_MUST_CHECK;

#define VBS_NEVER_TICKS (INT64_MAX / 4) /* the goal cannot be reached */

/* Sets togo[x], x = 0..goal, to the least ticks that layer takes within memory_bytes from x done
 * samples to goal, which is at most the request. O(goal x batches). */
void vbs_task_to_go(const struct vbs_task *task, int layer, int64_t memory_bytes, int goal,
                    int64_t *togo);

/* Sets come[x], x = 0..request, to the least ticks that layer takes for the first x samples, with
 * these rows alone. O(request x batches). */
void vbs_task_come(const struct vbs_task *task, const struct vbs_row_pareto *rows, int layer,
                   int64_t memory_bytes, int64_t *come);

/* Does as vbs_task_to_go where samples may run by rows. Nothing is known then of the bytes of other
 * samples, which may be in windows, so that a step counts with its own inputs and outputs only.
 * O(goal x batches + stripes of the layer). */
void vbs_task_to_go_by_rows(const struct vbs_task *task, int layer, int64_t memory_bytes, int goal,
                            int64_t *togo);

/* Gives the least bytes that a step of layer without rows has for each of its samples, where other
 * steps may have rows: what it reads may then be in windows. O(inputs). */
int64_t vbs_task_whole_step_bytes(const struct vbs_task *task, int layer);

/* Gives the bytes of the weights of one layer in the format that takes least, stripes included
 * where schedules may have rows. O(rows of the layer). */
int64_t vbs_task_layer_lightest_bytes(const struct vbs_task *task, int layer);

/* Gives the bytes of the weights of all layers, each in the format that takes least. O(rows). */
int64_t vbs_task_lightest_bytes(const struct vbs_task *task);

/* Gives the microseconds that a copy of bytes takes; HUGE_VAL when nothing can be copied. */
double vbs_task_copy_us(const struct vbs_task *task, int64_t bytes);

/* Gives the delay, in microseconds, for each microsecond that a copy takes alone, where it is
 * copied beside steps of layer and nothing waits for it: 0 to 1. From 1 on, it would be as good to
 * copy before them. */
double vbs_task_hidden_price(const struct vbs_task *task, int layer);

/* Computes vbs_bound_us of the task's problem. */
enum vbs_status vbs_task_bound_us(struct vbs_ctx *ctx, const struct vbs_task *task,
                                  int64_t memory_bytes, double *time_us) VBS_MUST_CHECK;

#endif
