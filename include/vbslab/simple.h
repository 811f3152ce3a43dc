/*
 * vbslab/simple.h - the simple tier: five calls from a profile in a CSV file, or from a network
 * without a profile, to the execution of a plan.
 *
 *     vbs_profile_read_csv    or vbs_simple_measure: a profile (profile.h)
 *     vbs_network_load        the network that the profile is of (model.h)
 *     vbs_simple_prepare      plans for a budget and makes an executor of the plan
 *     vbs_exec_run            runs the request once; may be repeated (exec.h)
 *     vbs_exec_free
 *
 * vbs_simple_plan only makes a plan. All three calls take the same options. Programs that want to
 * choose more themselves use plan.h, exec.h, measure.h and store.h, on which this tier is built.
 *
 * Threads: the options are only read, and may be shared. The calls keep nothing between them, and
 * may run at once in several threads with a context each; an executor belongs to one thread at a
 * time.
 */
#ifndef VBSLAB_SIMPLE_H
#define VBSLAB_SIMPLE_H

#include "vbslab/exec.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The options of all three calls. Begin with {.struct_size = sizeof(struct vbs_simple_options)}: a
 * member that is 0 or null has the default that is named here. */
struct vbs_simple_options {
    size_t struct_size;   /* sizeof(struct vbs_simple_options) */
    int64_t request;      /* samples of a run, 1..VBS_MAX_REQUEST; needed for planning */
    int64_t memory_bytes; /* the budget, 1 or more; planning needs it or total_memory_bytes */
    /* A planner of the library, or one from outside, as vbs_planner_load takes it (planner.h).
     * Null: "joint" with weights included, else "dp-vbs+". */
    const char *planner;
    enum vbs_io io;           /* of inputs and outputs; 0: VBS_IO_EXTERNAL */
    enum vbs_weights weights; /* 0: VBS_WEIGHTS_EXCLUDED, outside the budget */
    /* Weights included: the source of the copies in the profile that give the time of loads; null:
     * its first source. For a profile without copies all weights are resident. */
    const char *copy_source;
    double latency_us; /* longest wait of a sample (struct vbs_problem); 0: not bounded */
    /* Threads that compute. 0: vbs_simple_prepare takes as many as the profile was measured with,
     * where this machine has them, vbs_simple_measure as many as this process may use. */
    int threads;
    /* A folder for temporary files: packed weights of an executor, and copies that are measured.
     * Null: ".". */
    const char *folder;
    struct vbs_progress progress; /* receives the progress of measuring and preparing; {0}: none */

    const char *backend; /* of vbs_simple_measure only; null: the first of vbs_backend_at */
    const int *batches;  /* of vbs_simple_measure only: [n_batches], ascending, batches[0] == 1;
                            null: 1 to 12, but none above the request, if there is one */
    int n_batches;
    /* Of vbs_simple_measure only: seconds of measuring; 0: 60. From 10 on, there is a profile
     * within them whatever the machine does: batches for which there is no time are left out, and
     * algorithms that pack weights in formats of their own. Preparing one kernel for each layer,
     * and running it once, may exceed it. Less bounds the refinement of times only, and there is a
     * profile within 60. */
    double time_limit_s;
    bool stripes; /* of vbs_simple_measure only: also kernels on rows (struct
                     vbs_backend_options) */
    /*
     * In place of memory_bytes: the whole process takes at most so many bytes by the estimate of
     * vbs_exec_memory (exec.h), 1 or more; 0: memory_bytes is the budget. What the process takes
     * when the call begins (vbs_exec_process_bytes) is part of it, so that a network that is to run
     * is best loaded before. Not for profiles that were measured on a device.
     */
    int64_t total_memory_bytes;
};

/*
 * Plans a request on profile within the budget, in at most about VBS_RUN_PLAN_S seconds (plan.h;
 * planner optimal: VBS_TIME_LIMIT_S). *schedule is freed by vbs_schedule_free and does not need the
 * profile. VBS_USAGE (an option is missing or out of range), VBS_NOT_FOUND (the name
 * of a planner or of a source of copies), VBS_INFEASIBLE (the detail names the least budget that
 * works), VBS_NO_MEMORY, VBS_INTERRUPTED.
 *
 * With total_memory_bytes as vbs_exec_plan_within. VBS_INFEASIBLE: not even the least plan keeps
 * the limit by the estimate, and the detail names what the process would take and parts of it.
 * VBS_UNSUPPORTED: the profile is of a device, or the system does not tell what the process takes.
 */
enum vbs_status vbs_simple_plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_simple_options *options,
                                struct vbs_schedule **schedule) VBS_MUST_CHECK;

/*
 * Plans a request on profile, of network, and makes an executor of the plan in an arena of exactly
 * the budget, on the backend that profile was measured with. A plan counts live bytes; where its
 * buffers cannot be placed within the budget, plans for smaller budgets are tried, a dozen at most.
 * *exec is freed by vbs_exec_free and borrows network; *schedule is the plan that it runs, to be
 * freed by vbs_schedule_free; schedule may be null. Fails as vbs_simple_plan and vbs_exec_new do;
 * also with VBS_INFEASIBLE where no plan could be placed, and then the detail names the arena that
 * the first plan needs.
 *
 * With total_memory_bytes every plan that is tried keeps the limit by the estimate, with the arena
 * that it is given, and no kernel is made before one is placed. The solver is freed before kernels
 * are made, and memory that preparing took goes back to the system before and behind them, by
 * vbs_exec_trim, which acts on the whole process. The estimate has the inputs and outputs of one
 * request; what else the caller obtains afterwards comes on top.
 */
enum vbs_status vbs_simple_prepare(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct vbs_schedule **schedule,
                                   struct vbs_exec **exec) VBS_MUST_CHECK;

/*
 * Measures network on a backend of this machine, without a store: every layer at every batch with
 * every algorithm, and, with weights included, how fast weights can be copied. Times are posterior
 * ones (posterior.h); vbs_learn corrects them by executed schedules. *profile is freed by
 * vbs_profile_free; vbs_profile_write_csv writes it to a file. options may be null. Fails as the
 * backend's open and vbs_measure do; VBS_NOT_FOUND (the name of a backend), VBS_UNSUPPORTED (a
 * backend that this build or this machine does not have).
 */
enum vbs_status vbs_simple_measure(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_simple_options *options,
                                   struct vbs_profile **profile) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
