/*
 * vbslab/replay.h - the simulator that judges schedules. It knows no planner.
 *
 * It replays a schedule on the lattice of progress (docs/accounting.md), and computes the live
 * samples of each tensor, the memory of every step to the byte, the clocks, and the wait of the
 * samples. It shares no code with anything that plans.
 *
 * Threads: the calls keep nothing between them; a replay is immutable and may be shared.
 */
#ifndef VBSLAB_REPLAY_H
#define VBSLAB_REPLAY_H

#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One step of a replay. Bytes: memory during the step = live + added + ws + weights. */
struct vbs_replay_step {
    int64_t
        done_before; /* compute: samples of this layer (of this slice) finished before the step */
    /* For a load, its times on the clock of copies; for a resident load and an evict, both are the
     * moment at which it takes effect. */
    double start_us, end_us;
    int64_t chunk;       /* 1, 2, ...: the chunk of the step */
    double wait_us;      /* from the start of that chunk to the end of the step */
    int64_t live_bytes;  /* of all samples live before the step, the step's inputs among them */
    int64_t added_bytes; /* bytes that the output adds: all of it, or what is not in place */
    int64_t ws_bytes;
    int64_t weight_bytes; /* bytes of weights in memory during the step; of a load, with its own */
    int64_t memory_bytes; /* live + added + ws + weights; of loads and evicts live + weights */
    int64_t after_bytes;  /* bytes of live samples after the step has freed finished ones */
};

/* The verdict on a schedule: memory, time and latency as the rules of docs/accounting.md count
 * them. Immutable, may be shared between threads; freed by vbs_replay_free. */
struct vbs_replay {
    int64_t memory_bytes; /* the budget that was judged */
    double time_us;       /* of the request: the end of the last step on either clock */
    double compute_us;    /* sum of the times of the compute steps, end less start */
    double copy_us;       /* sum of those of the loads, without resident ones */
    int64_t copied_bytes; /* by the loads, without resident ones */
    int64_t n_copies;     /* loads, without resident ones */
    int64_t resident_bytes;
    int64_t peak_bytes;
    int64_t peak_step;      /* index of the first step that reaches the peak */
    bool fits;              /* peak <= budget */
    int64_t violation_step; /* first step above the budget, or -1 */
    /* Latency: the longest wait of a sample, which is the time of the longest chunk. With external
     * io a chunk ends with each step after which all layers have done the same samples; with
     * resident io the whole request is one. */
    double latency_us;
    int64_t latency_step;    /* last step of the first chunk that takes longest */
    double latency_bound_us; /* the bound that was judged: the schedule's; 0: none */
    bool in_time;            /* latency <= bound, or a billionth above it (rounding), or no bound */
    int64_t late_step;       /* first step that ends beyond the bound, or -1 */
    int64_t n_steps;
    struct vbs_replay_step *steps; /* the trace; null unless it was requested */
    int64_t profile_id; /* number of the profile in the store, which the caller sets for the CSV;
                           vbs_replay_run leaves it 0 */
};

/*
 * Replays a schedule. memory_bytes: the budget to judge by, or -1 for the schedule's own. The
 * latency is judged by the schedule's latency_us; to judge by another one, set it in a copy of the
 * struct. A schedule that breaks its budget or its latency is a result (fits or in_time is false),
 * not a failure. Copies take the time of the profile's link for the schedule's source, or, where
 * the profile has no source of this name, of the schedule's own link; its factors count too, unless
 * the schedule's n_layers is another number of layers than the profile's.
 *
 * VBS_INVALID: a step runs before its inputs exist, overruns the request, or has no row in the
 * profile, or the end is not reached; weights are not in memory when they are read, are loaded
 * twice, are evicted without being in memory, are not as large as the profile says, or resident
 * weights are not in memory at the end; a layer that cannot be divided runs in slices; rows
 * overlap, are left out, exceed the layer's, or need more than their window has; the detail names
 * step and layer. *replay is freed by vbs_replay_free. O(steps x inputs x readers of those).
 */
enum vbs_status vbs_replay_run(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, int64_t memory_bytes,
                               bool with_trace, struct vbs_replay **replay) VBS_MUST_CHECK;
/* Frees a replay with its trace; null is allowed. */
void vbs_replay_free(struct vbs_replay *replay);

/*
 * A step with details beyond struct vbs_replay_step: the row that it runs, the samples and weights
 * that it reads or writes, and the load for which it waits. Valid only during the call of the
 * observer, in the thread that replays.
 */
struct vbs_replay_event {
    int64_t index;                        /* of the step, from 0 */
    const struct vbs_step *step;          /* the schedule's */
    const struct vbs_replay_step *record; /* as in a trace: memory and both clocks */
    int64_t load; /* non-resident loads in their order count from 0. A non-resident load: its own
                     number. A compute step or an evict: the last one that brought some of the
                     weights which it reads or evicts. -1: none. Loads end in their order, so a
                     step that waits for one has waited for all before it. A step may name a
                     later load than its own bytes need, if an earlier step on the same weights
                     waited for it already */
    int64_t weights_from, weights_to; /* bytes of the packed weights that are loaded, evicted or,
                                         with weights included, read: [from, to); 0, 0: none */
    /* Of compute steps; else null and 0. The step reads and writes samples record->done_before ..
     * record->done_before + step->batch - 1. */
    const struct vbs_profile_row *row; /* the row of the profile that it runs */
    double share;                      /* its share of the row's time: 1, or that of its slice */
    int64_t n_fresh;    /* number of these samples that no slice of the layer had written before */
    int64_t n_released; /* number of samples of the layer's first input that no later step reads */
};

/* Is called for each step that keeps the rules, in the order of the list, when the loads up to it
 * have ended; a failure ends the replay and is its result. */
typedef enum vbs_status vbs_replay_observer(struct vbs_ctx *ctx, void *self,
                                            const struct vbs_replay_event *event);

/* Does as vbs_replay_run, without a trace, and calls observer with self for each step in order.
 * Steps behind a load that has not ended are kept until it ends, 200 bytes each. replay may be null
 * where only the observer matters. */
enum vbs_status vbs_replay_observe(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule, int64_t memory_bytes,
                                   vbs_replay_observer *observer, void *self,
                                   struct vbs_replay **replay) VBS_MUST_CHECK;

/* Writes the trace as CSV: step,layer,name,batch,algorithm,done_before,start_us,end_us,live_bytes,
 * added_bytes,ws_bytes,memory_bytes,after_bytes,over_budget,chunk,wait_us,op,part,parts,weight_bytes,
 * and of the profile hash,backend,library,device,threads,modelled,profile (the number in the
 * store), row,rows,window (0 of steps of whole samples). The path "-" is standard output. Loads and
 * evictions have no batch, algorithm and done_before. Steps count from 1 here and in messages, from
 * 0 in struct vbs_replay. VBS_USAGE: there is no trace. */
enum vbs_status vbs_replay_write_csv(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                     const struct vbs_schedule *schedule,
                                     const struct vbs_replay *replay,
                                     const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
