/*
 * A schedule walked through once: what each step is, and whether the whole keeps the rules of
 * schedule.h. Internal to the room.
 *
 * This is where the executor counts what is live by itself; the replay has its own code, and tests
 * hold the two against each other.
 */
#ifndef VBS_EXEC_CHECK_WALK_H
#define VBS_EXEC_CHECK_WALK_H

#include "base/arena.h"
#include "vbslab/backend.h"
#include "vbslab/schedule.h"

/* Of what is executed; more is refused. */
#define VBS_EXEC_MAX_STEPS   (1 << 22)
#define VBS_EXEC_MAX_SAMPLES (1 << 24) /* layers and the input, times the request */
#define VBS_EXEC_MAX_VISITS                                                                        \
    ((int64_t)1 << 30) /* samples that steps read and write, all together                          \
                        */

/* The packed weights of a layer in one form. */
struct vbs_exec_image {
    int layer, form;
    int channels;  /* as in struct vbs_profile_layer */
    int64_t bytes; /* as the profile says: what budgets count */
    int64_t
        packed_bytes; /* as the session packs them: what there is to copy; as bytes until then */
};

/* A kernel that some step runs. */
struct vbs_exec_kernel {
    struct vbs_requested_kernel requested; /* part and parts 0: the whole */
    int image;        /* its weights; -1: none, or they are not inside the budget */
    int64_t ws_bytes; /* as the profile says, until a session knows better */
    double time_us;   /* by the profile, its part of it */
};

struct vbs_exec_walked {
    int kernel;   /* compute: which; else -1 */
    int image;    /* weights read, loaded or dropped; -1: none */
    int first;    /* compute: the first sample */
    bool divided; /* compute: one part of a layer, or others are ahead or behind */
    bool again;   /* compute: some of these samples have been written by other parts */
};

struct vbs_exec_walk {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    struct vbs_exec_walked *steps; /* [schedule->n_steps] */
    int n_kernels, n_images;
    struct vbs_exec_kernel *kernels;
    struct vbs_exec_image *images;
    bool *is_read;      /* [n_layers + 1] some layer reads the tensor */
    bool *shares;       /* [n_layers + 1] in place, and every step is the last reader of all of the
                           first input that it reads: output and input can be one */
    int n_residents;    /* resident loads, with which the schedule begins */
    int64_t live_bytes; /* the peak as docs/accounting.md defines it */
    struct vbs_arena arena;
};

/* Start with {0}; borrows profile and schedule; clear it whatever comes out. VBS_INVALID,
 * VBS_USAGE (too large). Linear in what steps read and write, in samples. */
enum vbs_status vbs_exec_walk_init(struct vbs_ctx *ctx, struct vbs_exec_walk *walk,
                                   const struct vbs_profile *profile,
                                   const struct vbs_schedule *schedule) VBS_MUST_CHECK;
void vbs_exec_walk_clear(struct vbs_exec_walk *walk);

/* What a step takes of an image: bytes by the profile's count, and of the session's. */
struct vbs_exec_range {
    int64_t from, to;
    int64_t packed_from, packed_to;
};

/* part of parts (0: the whole). */
struct vbs_exec_range vbs_exec_range(const struct vbs_exec_image *image, int part, int parts);

/* VBS_INVALID for step number i, after the detail said what is wrong with it. */
enum vbs_status vbs_exec_refuse(struct vbs_ctx *ctx, const struct vbs_exec_walk *walk,
                                int64_t i) VBS_MUST_CHECK;

/* ---- exec_kernels.c ---- */

/* Finds kernels and images by what steps say. */
struct vbs_exec_rows {
    struct vbs_exec_walk *walk;
    int *batch_index; /* of batches 0..largest_batch, -1: no row has it */
    int largest_batch;
    int *algorithms; /* from the schedule's to the profile's, -1: not there */
    int n_forms;
    int *image_of; /* [n_layers + 1][n_forms], -1: none so far */
    int *buckets;  /* hash of kernels, -1: free */
    int n_buckets, max_kernels, max_images;
};

enum vbs_status vbs_exec_rows_init(struct vbs_ctx *ctx, struct vbs_exec_rows *rows,
                                   struct vbs_exec_walk *walk) VBS_MUST_CHECK;
void vbs_exec_rows_clear(struct vbs_exec_rows *rows);

/* The row that compute step i runs. VBS_INVALID: there is none. */
enum vbs_status vbs_exec_find_row(struct vbs_ctx *ctx, const struct vbs_exec_rows *rows, int64_t i,
                                  const struct vbs_profile_row **row) VBS_MUST_CHECK;

/* The kernel of compute step i, which runs row; its image too. */
enum vbs_status vbs_exec_find_kernel(struct vbs_ctx *ctx, struct vbs_exec_rows *rows, int64_t i,
                                     const struct vbs_profile_row *row, int *kernel) VBS_MUST_CHECK;

/* The image of a form of a layer; VBS_INVALID for step i: the layer has no weights of that form. */
enum vbs_status vbs_exec_find_image(struct vbs_ctx *ctx, struct vbs_exec_rows *rows, int64_t i,
                                    int layer, int form, int *image) VBS_MUST_CHECK;

#endif
