/* Measuring, as its own files share it, and tests that drive it by a clock of their own. No other
 * room includes this header: vbslab/measure.h is what it offers. */
#ifndef VBS_PROFILE_MEASURE_MEASURE_H
#define VBS_PROFILE_MEASURE_MEASURE_H

#include "vbslab/measure.h"

#include "base/arena.h"

#include <gsl/gsl_rng.h>

/* ---- measure.c: the loop ---- */

/* What the system knows of time. */
struct vbs_measure_clock {
    /* Seconds from some fixed moment; never falls. */
    double (*now_s)(void *self);
    /* How often a thread of this process had to leave its processor to another so far; never
     * falls. */
    int64_t (*n_preemptions)(void *self);
    void *self;
};

/* vbs_measure by the given clock, so that tests need no waiting. */
enum vbs_status vbs_measure_by_clock(struct vbs_ctx *ctx, struct vbs_session *session,
                                     const struct vbs_measure_options *options,
                                     const struct vbs_sample_sink *sink,
                                     const struct vbs_measure_clock *clock,
                                     struct vbs_measure_report *report) VBS_MUST_CHECK;

/* ---- buffers.c: where the tensors of a pass lie ---- */

/*
 * A tensor lives in a slot; an in-place layer's output lives in that of its first input. Slots
 * belong to one tensor each, as in a plain library, unless together they would take more than
 * share_above_bytes: then tensors whose lives do not overlap share.
 */
struct vbs_pass_buffers {
    int n_slots;
    const int64_t *slot_bytes;
    const int *slot_of;     /* [n_layers + 1], by tensor */
    bool input_overwritten; /* some layer writes where the network's input lay */
    void **slots;           /* memory of each slot */
    void *scratch;          /* null when no kernel needs any */
    struct vbs_arena arena; /* the arrays */
};

#define VBS_SHARE_ABOVE_BYTES ((int64_t)2 << 30)

/* For batches up to max_batch. On failure nothing is held; VBS_NO_MEMORY says how much was asked
 * for. */
enum vbs_status vbs_pass_buffers_init(struct vbs_ctx *ctx, struct vbs_session *session,
                                      int max_batch, int64_t share_above_bytes,
                                      struct vbs_pass_buffers *buffers) VBS_MUST_CHECK;
void vbs_pass_buffers_release(struct vbs_session *session, struct vbs_pass_buffers *buffers);

/* ---- runs.c: what is known of the kernels, and what they still need ---- */

/* Fewer values have no 95% interval of their median. */
#define VBS_LEAST_RUNS 6

struct vbs_runs {
    double *times_us; /* summary.n_runs of them, sorted */
    int capacity;
    int n_rejected;
    struct vbs_profile_row summary;
};

/* The kernels of one layer at one batch: algorithms to choose from. */
struct vbs_group {
    int first, count;
};

struct vbs_table {
    const struct vbs_session *session;
    struct vbs_measure_options options; /* without zeros that stand for defaults */
    int n_batches;
    int *batches;             /* ascending */
    struct vbs_group *groups; /* [n_layers][n_batches] */
    struct vbs_runs *runs;    /* [n_kernels] */
    struct vbs_arena arena;
};

/* Groups the session's kernels; table->session and options are set by the caller. Failing it says
 * which layer and batch nothing can run. vbs_table_release also after failure. */
enum vbs_status vbs_table_init(struct vbs_ctx *ctx, struct vbs_table *table) VBS_MUST_CHECK;
void vbs_table_release(struct vbs_table *table);

const struct vbs_group *vbs_table_group(const struct vbs_table *table, int layer, int batch_index);

/* Adds a run of kernel. */
enum vbs_status vbs_table_append(struct vbs_ctx *ctx, struct vbs_table *table, int kernel,
                                 double time_us) VBS_MUST_CHECK;

/* Half of the 95% interval over the median; HUGE_VAL for a median of 0 that is not certain. */
double vbs_relative_interval(const struct vbs_profile_row *summary);

bool vbs_table_is_tight(const struct vbs_table *table, int kernel);

/* Dominated: no planner can choose it, for after min_runs it is DOMINATED times slower than another
 * of its group that asks for no more scratch. */
bool vbs_table_is_dominated(const struct vbs_table *table, const struct vbs_group *group,
                            int kernel);

/* From the most to the least pressing. */
enum vbs_need { VBS_NEEDS_RUNS, VBS_NEEDS_TIGHTER, VBS_NEEDS_NOTHING };

/* hurry: only min_runs count. */
enum vbs_need vbs_table_need(const struct vbs_table *table, int batch_index, bool hurry);

/* The kernel of group whose turn it is. */
int vbs_table_choose(const struct vbs_table *table, const struct vbs_group *group, bool hurry,
                     const gsl_rng *rng);

/* About how many more passes a batch takes, to the end or only to min_runs. */
double vbs_table_passes_left(const struct vbs_table *table, int batch_index, bool least_only);

/* ---- noise.c: the times held back until it is clear whether to keep them ---- */

struct vbs_held_time {
    int kernel;
    double time_us;
    double expected_us; /* 0: too few runs to tell */
    bool preempted;     /* a thread had to wait for its processor meanwhile */
};

/* Consecutive layers of a pass. */
struct vbs_stretch {
    struct vbs_held_time *times; /* space for every layer */
    int n_times;
    double total_us;
    unsigned slow_before; /* one bit per judged layer before the stretch, newest lowest */
    int n_before;         /* bits that mean something */
};

/* Holds a time of kernel; true when the stretch has become long and must be closed. */
bool vbs_stretch_hold(struct vbs_stretch *stretch, const struct vbs_runs *runs, int kernel,
                      double time_us, bool preempted);

/* Whether one time is slow for a reason that lies outside. */
bool vbs_held_is_disturbed(const struct vbs_held_time *held);

/* Whether the machine was disturbed during the stretch. */
bool vbs_stretch_is_disturbed(const struct vbs_stretch *stretch);

/* Empties the stretch; what was slow in it is remembered for the next. */
void vbs_stretch_close(struct vbs_stretch *stretch);

#endif
