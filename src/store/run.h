/* A measurement on its way into the store. Internal to the room. */
#ifndef VBS_STORE_RUN_H
#define VBS_STORE_RUN_H

#include "base/clock.h"
#include "base/owner.h"
#include "store/sql.h"

#define VBS_RUN_PENDING   256
#define VBS_RUN_COMMIT_US 20000.0 /* times measured between two commits */
#define VBS_RUN_SLICE     4096    /* rows written in one transaction: some 20 ms */

struct vbs_run_pending {
    bool copied; /* the sample is of a copy; else of a kernel */
    int index;   /* of the copy or kernel */
    int round;   /* of the sample of a kernel */
    double time_us;
};

/* Copies of one size from one source. */
struct vbs_run_copy {
    const char *source; /* in the run's arena */
    int64_t bytes;
    int64_t id;
    int n_samples;          /* committed so far */
    int n_stored;           /* samples that earlier processes committed */
    const double *times_us; /* [n_stored]; in the run's arena */
};

struct vbs_store_run {
    struct vbs_store *store;
    const struct vbs_session *session;
    struct vbs_sample_sink sink;
    int64_t id;
    char owner[VBS_OWNER_SIZE];
    bool resumed;
    bool over;           /* finished, or lost to another process: nothing more is written */
    int64_t *kernel_ids; /* [n_kernels]; 0: not in the store */
    bool *left_out;      /* [n_kernels] without samples they are no rows of the profile */
    int *n_samples;      /* [n_kernels] committed so far */
    size_t *first;       /* [n_kernels + 1]: of kernel k's times of earlier processes */
    double *times_us;    /* of earlier processes, by kernel; null: there are none */
    int64_t max_times;
    int first_round;                   /* added to the rounds of this process */
    const struct vbs_profile *revised; /* its times are those of the profile; null: medians are */
    struct vbs_run_copy *copies;
    int n_copies;
    int64_t max_copies;
    struct vbs_arena arena;
    int n_pending;
    double pending_us;
    struct vbs_run_pending pending[VBS_RUN_PENDING];
};

/* Allocates a run of session. Nothing is written to the store yet. */
enum vbs_status vbs_run_new(struct vbs_ctx *ctx, struct vbs_store *store,
                            const struct vbs_session *session,
                            struct vbs_store_run **run) VBS_MUST_CHECK;

/* Frees the memory of a run without touching the store. */
void vbs_run_discard(struct vbs_store_run *run);

/* ---- pending.c ---- */

/* In a write transaction: renews the ownership. Gives whether the profile is still this run's. */
enum vbs_status vbs_run_renew(struct vbs_ctx *ctx, struct vbs_store_run *run) VBS_MUST_CHECK;

/* Holds a sample in memory, and commits all samples that are held when there are enough. */
enum vbs_status vbs_run_add(struct vbs_ctx *ctx, struct vbs_store_run *run,
                            struct vbs_run_pending sample) VBS_MUST_CHECK;

/* Commits the samples that are held. On failure they are still held. */
enum vbs_status vbs_run_commit(struct vbs_ctx *ctx, struct vbs_store_run *run) VBS_MUST_CHECK;

/* Work on items first..end - 1. The caller gives the items a meaning. */
typedef enum vbs_status vbs_run_work(struct vbs_ctx *ctx, struct vbs_store_run *run, void *self,
                                     int first, int end);

/* Does work on n items, in write transactions of VBS_RUN_SLICE items each. The items that were
 * committed stay in the store when a later transaction fails. */
enum vbs_status vbs_run_slices(struct vbs_ctx *ctx, struct vbs_store_run *run, int n,
                               vbs_run_work *work, void *self) VBS_MUST_CHECK;

/* ---- run_copies.c ---- */

/* The calls of the measurement's sink for copies. */
enum vbs_status vbs_run_stored_copies(struct vbs_ctx *ctx, void *self, const char *source,
                                      int64_t bytes, const double **times_us,
                                      int *n_times) VBS_MUST_CHECK;
enum vbs_status vbs_run_add_copy(struct vbs_ctx *ctx, void *self, const char *source, int64_t bytes,
                                 double time_us) VBS_MUST_CHECK;

/* In a transaction: reads the copies that earlier processes measured. */
enum vbs_status vbs_run_read_copies(struct vbs_ctx *ctx, struct vbs_store_run *run) VBS_MUST_CHECK;

/* In a write transaction: writes the statistics of all copies, and deletes copies without
 * samples. */
enum vbs_status vbs_run_summarise_copies(struct vbs_ctx *ctx,
                                         struct vbs_store_run *run) VBS_MUST_CHECK;

#endif
