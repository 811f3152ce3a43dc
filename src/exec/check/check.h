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
    struct vbs_requested_kernel requested; /* slice and n_slices 0: the whole layer; rows 0: whole
                                              samples. Kernels on rows take one sample, and
                                              steps by rows run them for each of theirs */
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
    bool again;              /* compute: other slices, or steps for other rows, have written some
                                of these samples before */
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
    bool *has_rings;  /* [n_layers + 1] some samples of the tensor are windows of fewer rows */
    bool needs_rings; /* those of some tensor are */
    bool has_stripes; /* some step computes some rows only */
    bool *shares;     /* [n_layers + 1] the layer is in place, and every step is the last reader of
                         all samples of the first input that it reads: output and input can be one */
    int n_residents;  /* resident loads, with which the schedule begins */
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

/* Gives whether a step computes some rows only. A step by rows that computes all rows of its layer
 * runs the kernel of whole samples. */
bool vbs_exec_is_stripe(const struct vbs_profile *profile, const struct vbs_step *step);

/* Gives whether the session must be opened with stripes: the layouts of such a session differ. */
bool vbs_exec_uses_stripes(const struct vbs_exec_checked *checked);

/* Rows [first, end) of an input, which a step reads; end <= first: none. */
struct vbs_exec_rows {
    int64_t first, end;
    /* Two steps of one layer with equal numbers of rows do the same where these are the same: the
     * rows that the input does not have above its first row and below its last one, and where the
     * reach lies between rows of the input, or whether a layer that accumulates begins or ends. */
    int64_t above, below, phase;
};

/* Finds the rows of input number input that layer reads for the rows [row, row + rows) of its
 * output. Where it reads whole samples, these are all rows, also 0 of an input without rows. */
struct vbs_exec_rows vbs_exec_rows_read(const struct vbs_profile *profile, int layer, int input,
                                        int row, int rows);

/* Finds the rows of the network's input that a step reads which computes some rows. Of several
 * inputs that are the network's, the rows of all; the other members are 0. */
struct vbs_exec_rows vbs_exec_input_rows(const struct vbs_profile *profile,
                                         const struct vbs_step *step);

/* Gives the bytes from one row of a sample of tensor to the next; 0 where it has no rows, and where
 * its layer accumulates: then all steps write the whole sample. */
int64_t vbs_exec_row_bytes(const struct vbs_profile *profile, int tensor);

/* Gives the bytes of these rows of a sample of tensor, which may be all rows of one without rows.
 */
int64_t vbs_exec_rows_bytes(const struct vbs_profile *profile, int tensor,
                            const struct vbs_exec_rows *rows);

/* Gives the bytes of the ring that is the window of a step for each sample; 0: the output is whole
 * samples, or leaves the arena with the step. */
int64_t vbs_exec_ring_bytes(const struct vbs_profile *profile, const struct vbs_step *step);

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
