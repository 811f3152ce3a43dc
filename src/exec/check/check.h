/*
 * A schedule that has been checked: what each step runs and touches, and which kernels and packed
 * weights it needs. Internal to the room; the header of this folder for all others.
 *
 * The replay judges the schedule and tells the progress, the bytes and both clocks of every step
 * (vbslab/replay.h); the check writes them down for the executor.
 */
#ifndef VBS_EXEC_CHECK_CHECK_H
#define VBS_EXEC_CHECK_CHECK_H

#include "base/arena.h"
#include "vbslab/backend.h"
#include "vbslab/schedule.h"

/* Limits of what is executed; a larger schedule is refused. */
#define VBS_EXEC_MAX_STEPS   (1 << 22)
#define VBS_EXEC_MAX_SAMPLES (1 << 24) /* layers and the input, times the request */
/* Samples that all steps together read and write. */
#define VBS_EXEC_MAX_VISITS ((int64_t)1 << 30)

/* The weights of a layer in one packed format. */
struct vbs_exec_packed {
    int layer, format;
    int channels;         /* as in struct vbs_profile_layer */
    int64_t bytes;        /* by the profile: budgets count these */
    int64_t packed_bytes; /* as the session packs them, which loads copy. Equal to bytes until a
                             session is open */
};

/* A kernel that is run by some step. */
struct vbs_exec_kernel {
    struct vbs_requested_kernel requested; /* slice and n_slices 0: the whole layer */
    int packed;       /* its packed weights; -1: none, or they are not inside the budget */
    int64_t ws_bytes; /* as the profile says, until a session is open */
};

struct vbs_exec_checked_step {
    int kernel;              /* compute: its number; else -1 */
    int packed;              /* of the weights that are read, loaded or evicted; -1: none */
    int first;               /* compute: the first sample */
    int waits;               /* the number of loads, resident ones not counted, that must have
                                ended before the step because of what it reads or evicts; for
                                such a load itself: it and the loads before it */
    bool again;              /* compute: other slices have written some of these samples before */
    double start_us, end_us; /* as struct vbs_replay_step */
};

struct vbs_exec_checked {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_checked_step *steps; /* [schedule->n_steps] */
    int n_kernels, max_kernels;
    struct vbs_exec_kernel *kernels;
    int n_packed;
    int64_t max_packed;
    struct vbs_exec_packed *packed; /* [max_packed] */
    bool *is_read;                  /* [n_layers + 1] some layer reads the tensor */
    bool *shares;    /* [n_layers + 1] the layer is in place, and every step is the last reader of
                        all samples of the first input that it reads: output and input can be one */
    int n_residents; /* resident loads, with which the schedule begins */
    int64_t live_bytes; /* the peak by the replay */
    double compute_us;  /* sum of all compute steps */
    struct vbs_arena arena;
};

/* Checks a schedule by replaying it, and writes down what each step runs and touches. *checked must
 * be {0} before, and is to be cleared after success and failure; it borrows profile and schedule.
 * Fails as the replay does, and with VBS_USAGE (the schedule is too large) and VBS_UNSUPPORTED (a
 * layer in place is of another size than its input). */
enum vbs_status vbs_exec_check(struct vbs_ctx *ctx, struct vbs_exec_checked *checked,
                               const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule) VBS_MUST_CHECK;
void vbs_exec_checked_clear(struct vbs_exec_checked *checked);

/* A range [from, to) of bytes of packed weights that a slice takes, as the profile counts them, and
 * the same range as the session packs them. */
struct vbs_exec_range {
    int64_t from, to;
    int64_t packed_from, packed_to;
};

/* Gives the range of slice number slice of n_slices; where n_slices is 0 or 1, the whole. */
struct vbs_exec_range vbs_exec_slice_range(const struct vbs_exec_packed *packed, int slice,
                                           int n_slices);

#endif
