/*
 * A replay under way: what its files share. Internal to the room.
 *
 * The simulator walks a schedule over the lattice of progress and counts what
 * docs/accounting.md defines. All that changes in a compute step is the progress of one layer, so a
 * step touches the tensor that it writes and the tensors that it reads, and one running total holds
 * all live bytes.
 */
#ifndef VBS_REPLAY_SIM_H
#define VBS_REPLAY_SIM_H

#include "base/arena.h"
#include "replay/loaded.h"
#include "vbslab/replay.h"

/* A layer that runs in slices. Its arrays are in the arena. */
struct division {
    int n_slices;
    int capacity;
    int64_t *done;    /* [n_slices] samples that each slice has finished */
    int64_t furthest; /* the most of them: so many samples have their output in memory */
    int n_last;       /* slices that have finished the fewest */
};

/* A layer and the tensor that it writes; [0] is the network's input, which no layer writes. */
struct tensor {
    int64_t sample_bytes;
    int64_t done;  /* samples written: the layer's progress; all of the request for the input */
    int64_t freed; /* samples that all readers have finished: their least progress */
    bool counted;  /* its live samples take part in the total between steps */
    bool in_place;
    bool reads_outside; /* reads the network's input while that waits outside the budget */
    bool divided;       /* some slice is ahead of another */
    int n_inputs, n_readers;
    const int *inputs;
    int *readers;
    struct division *division; /* null: never run in slices so far */
};

struct sim {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_arena arena;
    struct tensor *tensors;
    int *batch_index; /* of batches 0..largest_batch, -1: no row has it */
    int largest_batch;
    int *algorithms; /* from the schedule's to the profile's, -1: not there */
    int64_t live_bytes;
    double clock_us;     /* end of the last compute step */
    double compute_us;   /* that compute steps took */
    int64_t front;       /* most samples that any layer has finished */
    int n_at_front;      /* layers that have finished as many */
    int n_divided;       /* layers with a slice ahead of another */
    int64_t chunk;       /* 1, 2, ...: the one that runs */
    double chunk_us;     /* since it began, on the clock of compute steps */
    bool ends_by_state;  /* chunks end where all layers have done the same: io external */
    bool counts_weights; /* weights included; what follows is for them */
    int64_t n_residents; /* resident loads, with which the schedule begins */
    struct loaded loaded;
    struct vbs_link link;
    double copy_clock_us;          /* end of the last load */
    vbs_replay_observer *observer; /* null: nobody observes, and the event is not filled in */
    void *observing;               /* the observer's self */
    struct vbs_replay_event event; /* of the step that runs */
    int64_t n_fresh, n_released;   /* the event's, of the compute step that runs */
};

/* Start with {0}; clear it whatever came out. */
enum vbs_status vbs_sim_init(struct vbs_ctx *ctx, struct sim *sim,
                             const struct vbs_profile *profile,
                             const struct vbs_schedule *schedule) VBS_MUST_CHECK;
void vbs_sim_clear(struct sim *sim);

/* Returns VBS_INVALID for a step of a layer that exists. The detail names step and layer, and then
 * says, as formatted, what is wrong with the step. */
enum vbs_status vbs_sim_refuse(struct vbs_ctx *ctx, const struct sim *sim,
                               const struct vbs_step *step, const char *format, ...)
    VBS_PRINTF(4, 5);

/* The same for a step during which the bytes in memory exceed VBS_MAX_BYTES. */
enum vbs_status vbs_sim_refuse_overflow(struct vbs_ctx *ctx, const struct sim *sim,
                                        const struct vbs_step *step) VBS_MUST_CHECK;

/* The slice of its layer that a step computes or moves. */
struct slice {
    struct byte_range weights; /* its bytes of the layer's packed weights */
    double share;              /* of the layer's time */
};

/* slices.c. Finds the step's slice of a layer whose packed weights take weight_bytes. VBS_INVALID:
 * the layer has no slice of that number, or cannot be divided into so many slices. */
enum vbs_status vbs_sim_slice(struct vbs_ctx *ctx, const struct sim *sim,
                              const struct vbs_step *step, int64_t weight_bytes,
                              struct slice *slice) VBS_MUST_CHECK;

/* Makes the layer ready for a compute step in slices, or while slices are ahead of others: *done is
 * what the step's slice has finished. */
enum vbs_status vbs_sim_divide(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                               int64_t *done) VBS_MUST_CHECK;

/* Adds the step's batch to the samples that its slice has finished, and to those of the layer where
 * no other slice is behind. Returns for how many of these samples no slice has written output. */
int64_t vbs_sim_move_slice(struct sim *sim, const struct vbs_step *step);

/* transfer.c. Runs a load or an evict. */
enum vbs_status vbs_sim_transfer(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                 struct vbs_replay *replay,
                                 struct vbs_replay_step *record) VBS_MUST_CHECK;

/* Finds when the bytes of packed weights that a compute step reads are in memory, and which load
 * brought the last of them. VBS_INVALID: some of them are not loaded. */
enum vbs_status vbs_sim_read_weights(struct vbs_ctx *ctx, struct sim *sim,
                                     const struct vbs_step *step, int format,
                                     const struct byte_range *weights,
                                     struct arrival *arrival) VBS_MUST_CHECK;

/* VBS_INVALID: after the last step some of the resident weights are not in memory. */
enum vbs_status vbs_sim_check_residents(struct vbs_ctx *ctx, struct sim *sim) VBS_MUST_CHECK;

#endif
