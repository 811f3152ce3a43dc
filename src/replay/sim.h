/*
 * The state of a replay, which the files of the room share. Internal to the room.
 *
 * The simulator walks a schedule over the lattice of progress and counts what
 * docs/accounting.md defines. All that changes in a compute step is the progress of one layer, so a
 * step touches the tensor that it writes and the tensors that it reads, and one running total holds
 * all live bytes.
 */
#ifndef VBS_REPLAY_SIM_H
#define VBS_REPLAY_SIM_H

#include "base/arena.h"
#include "base/grow.h"
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

/* The samples of which a layer computes rows. */
struct stripes {
    int batch;  /* samples, the next that the layer has not finished; 0: none */
    int done;   /* rows of each of them that are done */
    int window; /* rows of their windows */
};

/* What a sample of a tensor takes in memory, from sample number from on. */
struct size {
    int64_t from, bytes;
    int window; /* rows of its window, fewer than the tensor has; 0: it is a whole sample */
};

/* The sizes of a tensor's samples where they are not all whole samples: ascending. */
struct sizes {
    struct size *list; /* freed by vbs_sim_clear */
    int64_t n, capacity;
    int64_t at; /* those before it began at samples that are free */
};

/* A layer and the tensor that it writes; [0] is the network's input, which no layer writes. */
struct tensor {
    int64_t sample_bytes;
    int64_t done;  /* samples written, which is the layer's progress; for the input all of the
                      request */
    int64_t freed; /* samples that all readers have finished: their least progress */
    bool counted;  /* its live samples take part in the total between steps */
    bool in_place;
    bool reads_outside; /* reads the network's input while it is outside the budget */
    bool divided;       /* some slice is ahead of another */
    int n_inputs, n_readers;
    const int *inputs;
    int *readers;
    struct division *division; /* null: the layer has not run in slices so far */
    struct stripes stripes;
    struct sizes sizes;
};

/* The loads that the list has reached and that have not ended. */
struct copies {
    int64_t n;
    int64_t head;            /* index of the first of them in the list: the one that is copied */
    double start_us, end_us; /* of the head; the end if no compute step ran any more */
    double took_us;          /* the time of the head until then */
    double clock_us;         /* end of the last load that has ended */
};

/* The events of the steps that the replay has passed from the first load on that has not ended.
 * Observers are told of steps in their order, and of a load when its end is known. */
struct held_events {
    struct held_event {
        struct vbs_replay_event event;
        struct vbs_replay_step record;
    } * list;
    int64_t from, n, capacity; /* [from .. from + n - 1] of list */
    int64_t first_index;       /* of the event at from */
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
    double compute_us;   /* sum of the compute steps so far */
    int64_t front;       /* most samples that any layer has finished */
    int n_at_front;      /* layers that have finished so many samples */
    int n_divided;       /* layers with a slice ahead of another */
    int n_in_rows;       /* layers that have begun samples by rows and have not finished them */
    int64_t chunk;       /* 1, 2, ...: the current chunk */
    double chunk_us;     /* since the chunk began, on the clock of compute steps */
    bool ends_by_state;  /* io external: chunks end where all layers have done the same samples */
    bool counts_weights; /* weights included, for which the following members are */
    int64_t n_residents; /* resident loads, with which the schedule begins */
    struct loaded loaded;
    struct vbs_link link;
    struct copies copies;
    struct held_events held;
    vbs_replay_observer *observer; /* null: there is no observer, and the event is not filled */
    void *observing;               /* the observer's self */
    struct vbs_replay_event event; /* of the current step */
    int64_t n_fresh, n_released;   /* of the current compute step, for the event */
};

/* Starts a replay, from {0}; clear it after success and failure. */
enum vbs_status vbs_sim_init(struct vbs_ctx *ctx, struct sim *sim,
                             const struct vbs_profile *profile,
                             const struct vbs_schedule *schedule) VBS_MUST_CHECK;
void vbs_sim_clear(struct sim *sim);

/* Returns VBS_INVALID for a step of a layer that exists. The detail names step and layer, and then,
 * as formatted, the fault of the step. */
enum vbs_status vbs_sim_refuse(struct vbs_ctx *ctx, const struct sim *sim,
                               const struct vbs_step *step, const char *format, ...)
    VBS_PRINTF(4, 5);

/* Does the same for a step during which the bytes in memory exceed VBS_MAX_BYTES. */
enum vbs_status vbs_sim_refuse_overflow(struct vbs_ctx *ctx, const struct sim *sim,
                                        const struct vbs_step *step) VBS_MUST_CHECK;

/* The slice of its layer that a step computes, loads or evicts. */
struct slice {
    struct byte_range weights; /* its bytes of the layer's packed weights */
    double share;              /* share of the layer's time */
};

/* slices.c. Finds the step's slice of a layer whose packed weights take weight_bytes. VBS_INVALID:
 * the layer has no slice of that number, or cannot be divided into so many slices. */
enum vbs_status vbs_sim_slice(struct vbs_ctx *ctx, const struct sim *sim,
                              const struct vbs_step *step, int64_t weight_bytes,
                              struct slice *slice) VBS_MUST_CHECK;

/* Makes the layer ready for a compute step in slices, or while slices are ahead of others: *done is
 * the number of samples that the step's slice has finished. */
enum vbs_status vbs_sim_divide(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                               int64_t *done) VBS_MUST_CHECK;

/* Adds the step's batch to the samples that its slice has finished, and to those of the layer where
 * no other slice is behind. Returns for how many of these samples no slice has written output. */
int64_t vbs_sim_move_slice(struct sim *sim, const struct vbs_step *step);

/* rows.c. Checks a step with rows against the rules, before it changes anything. */
enum vbs_status vbs_sim_check_rows(struct vbs_ctx *ctx, const struct sim *sim,
                                   const struct vbs_step *step) VBS_MUST_CHECK;

/* Checks, for a step that computes all rows of its layer, that the samples from number from on that
 * it reads are whole: windows of fewer rows do not hold what the kernel of whole samples reads. */
enum vbs_status vbs_sim_check_whole(struct vbs_ctx *ctx, const struct sim *sim,
                                    const struct vbs_step *step, int64_t from) VBS_MUST_CHECK;

/* Computes what a step with rows adds to memory, and the bytes of the network's input that it needs
 * inside. False: an overflow. */
bool vbs_sim_count_rows(const struct sim *sim, const struct vbs_step *step, int64_t *added,
                        int64_t *outside);

/* Notes how many bytes each of the samples takes that a step begins. */
enum vbs_status vbs_sim_begin_samples(struct vbs_ctx *ctx, struct sim *sim,
                                      const struct vbs_step *step) VBS_MUST_CHECK;

/* Adds the rows of a step to those that are done, and the samples where the last row is done. */
void vbs_sim_move_rows(struct sim *sim, const struct vbs_step *step);

/* Gives the bytes of the samples [from, to) of a tensor, which become free. */
int64_t vbs_sim_released_bytes(struct tensor *tensor, int64_t from, int64_t to);

/* Runs a load or an evict (transfer.c). */
enum vbs_status vbs_sim_transfer(struct vbs_ctx *ctx, struct sim *sim, const struct vbs_step *step,
                                 struct vbs_replay *replay,
                                 struct vbs_replay_step *record) VBS_MUST_CHECK;

/* Finds which load brought the last of the bytes of packed weights that a compute step reads.
 * VBS_INVALID: some of them are not loaded. */
enum vbs_status vbs_sim_read_weights(struct vbs_ctx *ctx, struct sim *sim,
                                     const struct vbs_step *step, int format,
                                     const struct byte_range *weights,
                                     int64_t *load) VBS_MUST_CHECK;

/* Fails with VBS_INVALID where some of the resident weights are not in memory after the last
 * step. */
enum vbs_status vbs_sim_check_residents(struct vbs_ctx *ctx, struct sim *sim) VBS_MUST_CHECK;

/* ---- copies.c ---- */

/* Gives the time that the copy of a load takes alone. */
double vbs_sim_copy_us(const struct sim *sim, const struct vbs_step *load);

/* Puts a load, which is not resident, into the queue of copies. */
void vbs_sim_issue(struct sim *sim, const struct vbs_step *step);

/* Ends all loads up to this number while computing waits; INT64_MAX: all. */
void vbs_sim_await(struct sim *sim, struct vbs_replay *replay, int64_t load);

/* Runs a compute step of layer that takes time_us alone from start_us on, beside the copies, and
 * gives its end. */
double vbs_sim_run_beside(struct sim *sim, struct vbs_replay *replay, int layer, double start_us,
                          double time_us);

#endif
