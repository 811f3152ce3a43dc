/* Functions that the files of the simple tier share. Internal to the room. */
#ifndef VBS_SIMPLE_INTERNAL_H
#define VBS_SIMPLE_INTERNAL_H

#include "vbslab/plan.h"
#include "vbslab/simple.h"

struct vbs_replanned;

/* The inputs of planning, the planner, and its solver. */
struct vbs_simple_planning {
    const struct vbs_planner *planner;
    struct vbs_problem problem;
    struct vbs_solver *solver;
    int64_t process_bytes; /* of the process before planning, with total_memory_bytes */
};

/* Reads the options as this version knows them. VBS_USAGE: one is out of range. */
enum vbs_status vbs_simple_read_options(struct vbs_ctx *ctx,
                                        const struct vbs_simple_options *options,
                                        struct vbs_simple_options *own) VBS_MUST_CHECK;

/* Finds a backend by name (null or empty: the default) that this machine can use. */
enum vbs_status vbs_simple_find_backend(struct vbs_ctx *ctx, const char *name,
                                        const struct vbs_backend **backend) VBS_MUST_CHECK;

/* Plans within total_memory_bytes of the options. Fails as vbs_exec_plan_within does. */
enum vbs_status vbs_simple_plan_within(struct vbs_ctx *ctx, const struct vbs_simple_planning *p,
                                       const struct vbs_simple_options *options,
                                       struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* Plans within total_memory_bytes of the options and makes an executor of a plan that keeps it by
 * the estimate in its arena, as prepare says (but for memory_bytes and placed). Frees the solver,
 * also where it fails. Of *made only schedule and exec are filled. Fails as vbs_simple_prepare. */
enum vbs_status vbs_simple_prepare_within(struct vbs_ctx *ctx, const struct vbs_network *network,
                                          const struct vbs_backend *backend,
                                          struct vbs_simple_planning *p,
                                          const struct vbs_simple_options *options,
                                          const struct vbs_exec_options *prepare,
                                          struct vbs_replanned *made) VBS_MUST_CHECK;

#endif
