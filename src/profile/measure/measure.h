/* The functions of measuring that its files share, and that tests drive by a clock of their own. No
 * other room includes this header; the public one is vbslab/measure.h. */
#ifndef VBS_PROFILE_MEASURE_MEASURE_H
#define VBS_PROFILE_MEASURE_MEASURE_H

#include "vbslab/measure.h"

#include "base/arena.h"

#include <gsl/gsl_rng.h>

/* ---- measure.c: the loop ---- */

/* A clock, and the system's count of preemptions. */
struct vbs_measure_clock {
    /* Gives the seconds from some fixed moment; never falls. */
    double (*now_s)(void *self);
    /* Gives how often a thread of this process had to leave its processor to another so far; never
     * falls. */
    int64_t (*n_preemptions)(void *self);
    void *self;
};

/* Does as vbs_measure, but by the given clock, so that tests need not wait. */
enum vbs_status vbs_measure_by_clock(struct vbs_ctx *ctx, struct vbs_session *session,
                                     const struct vbs_measure_options *options,
                                     const struct vbs_sample_sink *sink,
                                     const struct vbs_measure_clock *clock,
                                     struct vbs_measure_report *report) VBS_MUST_CHECK;

/* ---- buffers.c: where the tensors of a pass lie ---- */

/*
 * The memory of the tensors of a pass. A tensor is in a slot; the output of a layer in place is in
 * the slot of its first input. Tensors with disjoint lifetimes share slots, as in the arena of a
 * run: with a slot for each tensor, every output would go to memory that no cache holds, and
 * kernels that wait for memory would take up to a fifth longer than in runs.
 */
struct vbs_pass_buffers {
    int n_slots;
    const int64_t *slot_bytes;
    const int *slot_of;     /* [n_layers + 1], by tensor */
    bool input_overwritten; /* some layer writes to the slot of the network's input */
    void **slots;           /* memory of each slot */
    void *scratch;          /* null when no kernel needs any */
    struct vbs_arena arena; /* memory of the arrays */
};

/* Makes buffers for batches up to max_batch. VBS_NO_MEMORY names the bytes that were needed;
 * nothing is allocated then. */
enum vbs_status vbs_pass_buffers_init(struct vbs_ctx *ctx, struct vbs_session *session,
                                      int max_batch,
                                      struct vbs_pass_buffers *buffers) VBS_MUST_CHECK;
void vbs_pass_buffers_release(struct vbs_session *session, struct vbs_pass_buffers *buffers);

/* ---- table.c: the kernels and their runs ---- */

struct vbs_runs {
    double *times_us; /* summary.n_runs of them, sorted */
    int capacity;
    int n_rejected;
    struct vbs_profile_row summary;
};

/* What a pass runs of every layer: whole samples at a batch, or a stripe of a number of rows, where
 * the layer has such kernels. */
struct vbs_pass {
    int batch;
    int rows; /* 0: whole samples */
};

/* The kernels of one layer in one kind of pass: algorithms to choose from. */
struct vbs_group {
    int first, count; /* count is 0 where the layer has no stripes of the pass's rows */
};

/* The runs that a kernel and the equal ones of layers of the same geometry have together. */
struct vbs_pool {
    int n_runs;
    int n_planned;   /* of the pass that is being chosen */
    double least_us; /* of the runs */
};

struct vbs_table {
    const struct vbs_session *session;
    struct vbs_measure_options options; /* with defaults in the place of zeros */
    bool leaves_out;                    /* with save_runs: the sink lets kernels have no runs */
    bool own_runs;   /* with save_runs: every kernel that is not left out needs least_runs itself */
    bool is_covered; /* with save_runs: every kernel that is not left out had a time once */
    int least_runs;  /* of every kernel, unless the time is up; min_runs, or fewer of them */
    int n_passes;    /* kinds of them */
    int largest_batch;        /* of all passes */
    struct vbs_pass *passes;  /* those of whole samples first; ascending by batch, then by rows */
    struct vbs_group *groups; /* [n_layers][n_passes] */
    struct vbs_runs *runs;    /* [n_kernels] */
    /* [n_kernels] The number of the first of all equal kernels of layers of one geometry, at which
     * pools has their runs. Without save_runs each kernel is alone. */
    int *pool_of;
    struct vbs_pool *pools;
    /* [n_kernels] With save_runs, of kernels on whole samples: the kernel of the same layer and
     * algorithm at the next coarse batch that is no larger, and no smaller; -1: there is none. */
    int *below, *above;
    double *shares; /* [n_layers + 1] of the time of all layers at the largest batch */
    int *last;      /* [n_layers + 1] With save_runs: the kernel that ran last; -1: none */
    struct vbs_arena arena;
};

/* Groups the session's kernels; table->session and options are set by the caller. A failure names
 * the layer and batch that no kernel can run whole. Call vbs_table_release after a failure too. */
enum vbs_status vbs_table_init(struct vbs_ctx *ctx, struct vbs_table *table) VBS_MUST_CHECK;
void vbs_table_release(struct vbs_table *table);

const struct vbs_group *vbs_table_group(const struct vbs_table *table, int layer, int pass);

/* Adds a run of kernel. */
enum vbs_status vbs_table_append(struct vbs_ctx *ctx, struct vbs_table *table, int kernel,
                                 double time_us) VBS_MUST_CHECK;

/* ---- sharing.c: which kernels need no runs of their own ---- */

/* Finds the kernels of layers of equal geometry, and those at coarse batches; for save_runs, before
 * the first run is added. */
enum vbs_status vbs_table_share(struct vbs_ctx *ctx, struct vbs_table *table) VBS_MUST_CHECK;

/* Returns whether a kernel is one of those at coarse batches, which are timed first. */
bool vbs_table_is_coarse(const struct vbs_table *table, int kernel);

/* Returns whether a kernel at a coarse batch has only one run, by which it may be too slow to be
 * chosen, but not clearly so. */
bool vbs_table_is_uncertain(const struct vbs_table *table, const struct vbs_group *group,
                            int kernel);

/* Returns whether a kernel of a group need not be timed: at both coarse batches around its own it
 * took much longer than one kernel in whose place no planner would choose it. Runs that are added
 * later may change that. */
bool vbs_table_is_left_out(const struct vbs_table *table, const struct vbs_group *group,
                           int kernel);

/* Finds out again how much the time of each layer matters. */
void vbs_table_weigh(struct vbs_table *table);

/* Returns whether a kernel need not be timed before all others are, because it was somewhat slower
 * at both, or its layer takes hardly any time. */
bool vbs_table_can_wait(const struct vbs_table *table, const struct vbs_group *group, int kernel);

/* Returns what a further run of a kernel is worth, as a share of its time: the least gain of
 * choosing better between it and the others of its group. */
double vbs_table_value(const struct vbs_table *table, const struct vbs_group *group, int kernel);

/* ---- runs.c: what kernels still need ---- */

/* Gives half of the 95% interval over the median; HUGE_VAL for a median of 0 with an interval above
 * 0. */
double vbs_relative_interval(const struct vbs_profile_row *summary);

bool vbs_table_is_tight(const struct vbs_table *table, int kernel);

/* Gives whether a kernel is dominated: no planner can choose it, because after min_runs it is
 * DOMINATED times slower than another one of its group that needs no more workspace. */
bool vbs_table_is_dominated(const struct vbs_table *table, const struct vbs_group *group,
                            int kernel);

/* The needs of a kernel, the most pressing first. Those that are not to decide something and not
 * runs at coarse batches are the only ones without save_runs. */
enum vbs_need {
    VBS_NEEDS_COARSE,   /* runs, at a coarse batch */
    VBS_NEEDS_RUNS,     /* least_runs */
    VBS_NEEDS_DECISION, /* a run that may change which kernel is the best of its group */
    VBS_NEEDS_TIGHTER,
    VBS_NEEDS_NOTHING
};

/* Gives the most pressing need of a kind of pass. Only needs up to most count. */
enum vbs_need vbs_table_need(const struct vbs_table *table, int pass, enum vbs_need most);

/* Chooses the kernel of a group, which is not empty, that runs next; needs as above. */
int vbs_table_choose(const struct vbs_table *table, const struct vbs_group *group,
                     enum vbs_need most, const gsl_rng *rng);

/* Returns whether every layer has a kernel with a time in a kind of pass on whole samples. */
bool vbs_table_has_times(const struct vbs_table *table, int pass);

/* Returns whether a kernel finds its weights as in a run again and again: the layer ran last with
 * the same packed weights, or they are few beside the samples. */
bool vbs_table_is_warm(const struct vbs_table *table, int kernel);

/* Estimates how many more passes of a kind are needed, to the end or only to least_runs. */
double vbs_table_passes_left(const struct vbs_table *table, int pass, bool least_only);

/* Gives how many runs every kernel can have within left_s more seconds, at least 1 and at most
 * min_runs. pass_s: [n_passes] the seconds of a pass of each kind. O(min_runs x kernels). */
int vbs_table_affordable_runs(const struct vbs_table *table, const double *pass_s, double left_s);

/* Returns what a kernel of a group needs; only needs up to most count. */
enum vbs_need vbs_table_kernel_need(const struct vbs_table *table, const struct vbs_group *group,
                                    int kernel, enum vbs_need most);

/* ---- lend.c: at the end of a measurement with save_runs ---- */

/* Gives kernels with few runs of their own those of their pool, as samples of rounds from `round`
 * on, and tells the sink which kernels have none even so, and those of batches at which some layer
 * has no time. Where leaves_out is not set, every kernel or another one of its pool must have a
 * run. Sets n_left_out and n_batches_left_out of the report. Passes on the sink's failures. */
enum vbs_status vbs_table_lend(struct vbs_ctx *ctx, struct vbs_table *table,
                               const struct vbs_sample_sink *sink, int round,
                               struct vbs_measure_report *report) VBS_MUST_CHECK;

/* ---- weather.c: the speed of the last-level cache, which others may use ---- */

#define VBS_WEATHER_KEPT 256

struct vbs_weather {
    double speeds[VBS_WEATHER_KEPT]; /* bytes per microsecond, the newest VBS_WEATHER_KEPT */
    int n, next;
    double asked_s; /* when the newest was measured */
    bool is_slow;   /* the newest is much below most */
};

/* Gives whether the speed should be measured again. */
bool vbs_weather_is_due(const struct vbs_weather *weather, double now_s);
void vbs_weather_add(struct vbs_weather *weather, double now_s, double speed);
/* Gives the median of the speeds that are not slow; 0: none is known. */
double vbs_weather_speed(const struct vbs_weather *weather);

/* ---- noise.c: the times held back until it is clear whether to keep them ---- */

/* Runs of a kernel from which on a time can be told to be disturbed. */
#define VBS_JUDGED_RUNS 3

struct vbs_held_time {
    int kernel;
    double time_us;
    double expected_us; /* 0: there are too few runs to tell */
    bool preempted;     /* a thread had to leave its processor during the time */
};

/* Consecutive layers of a pass. */
struct vbs_stretch {
    struct vbs_held_time *times; /* space for every layer */
    int n_times;
    double total_us;
    unsigned slow_before; /* one bit for each judged layer before the stretch, the newest lowest */
    int n_before;         /* number of valid bits */
};

/* Holds a time of kernel. True when the stretch is long enough to be closed. */
bool vbs_stretch_hold(struct vbs_stretch *stretch, const struct vbs_runs *runs, int kernel,
                      double time_us, bool preempted);

/* Gives whether a single time is slow for a reason outside of the program. */
bool vbs_held_is_disturbed(const struct vbs_held_time *held);

/* Gives whether the machine was disturbed during the stretch. */
bool vbs_stretch_is_disturbed(const struct vbs_stretch *stretch);

/* Empties the stretch; the next one keeps which of its layers were slow. */
void vbs_stretch_close(struct vbs_stretch *stretch);

#endif
