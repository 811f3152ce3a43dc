/* A measurement on its way into the store. Internal to the room. */
#ifndef VBS_STORE_RUN_H
#define VBS_STORE_RUN_H

#include "store/owner.h"
#include "store/sql.h"

#define VBS_RUN_PENDING   256
#define VBS_RUN_COMMIT_US 20000.0 /* of measured time */
#define VBS_DATE_SIZE     sizeof "2000-01-01T00:00:00Z"

struct vbs_run_pending {
    int kernel;
    int round;
    double time_us;
};

struct vbs_store_run {
    struct vbs_store *store;
    const struct vbs_session *session;
    struct vbs_sample_sink sink;
    int64_t id;
    char owner[VBS_OWNER_SIZE];
    bool resumed;
    bool over;           /* finished, or lost to another process: nothing more is written */
    int64_t *kernel_ids; /* [n_kernels] */
    int *n_samples;      /* [n_kernels] committed so far */
    size_t *first;       /* [n_kernels + 1]: of kernel k's times of earlier processes */
    double *times_us;    /* of earlier processes, by kernel; null: none */
    int first_round;     /* added to the rounds of this process */
    int n_pending;
    double pending_us;
    struct vbs_run_pending pending[VBS_RUN_PENDING];
};

/* Memory for a run of session; nothing is in the store yet. */
enum vbs_status vbs_run_new(struct vbs_ctx *ctx, struct vbs_store *store,
                            const struct vbs_session *session,
                            struct vbs_store_run **run) VBS_MUST_CHECK;

/* Frees the memory and leaves the store alone. */
void vbs_run_discard(struct vbs_store_run *run);

/* The time of day, UTC; empty when there is none. */
void vbs_date_now(char date[VBS_DATE_SIZE]);

#endif
