/*
 * Plans and executors within a limit of the whole process. Whatever is prepared has been estimated
 * before: first a plan is found that keeps the limit, then a placement of it, or of one for less
 * memory, and only then, with the solver freed, are kernels made.
 */
#include "simple/internal.h"

#include "base/fail.h"
#include "exec/replan.h"
#include "vbslab/units.h"

#include <unistd.h>

/* The placing of plans, each of which is judged with the arena that it would get. */
struct limited_placing {
    const struct vbs_profile *profile;
    struct vbs_exec_memory_options memory;
    struct vbs_exec_options exec; /* with the arena and the offsets of the last plan */
    int64_t limit_bytes;
    int64_t first_bytes; /* the budget of the first plan, the most that an arena can be */
    struct vbs_schedule *schedule;
    struct vbs_exec_placement needed; /* for vbs_replan: first_bytes and what was lacking */
};

static struct vbs_exec_memory_options memory_options(const struct vbs_simple_planning *p,
                                                     const struct vbs_simple_options *options)
{
    return (struct vbs_exec_memory_options){.struct_size = sizeof(struct vbs_exec_memory_options),
                                            .process_bytes = p->process_bytes,
                                            .threads = options->threads};
}

enum vbs_status vbs_simple_plan_within(struct vbs_ctx *ctx, const struct vbs_simple_planning *p,
                                       const struct vbs_simple_options *options,
                                       struct vbs_schedule **schedule)
{
    const struct vbs_exec_memory_options own = memory_options(p, options);
    struct vbs_exec_memory memory;

    return vbs_exec_plan_within(ctx, p->solver, p->problem.profile, options->total_memory_bytes,
                                &own, &memory, schedule);
}

/* Returns the largest arena with which the estimate of *memory, which keeps the limit, still does.
 * The estimate counts the pages of the plan's peak; its placement may need more of them. The spare
 * bytes are taken but for an eighth, because the estimate adds a share to each. */
static int64_t arena_bytes(const struct limited_placing *p, const struct vbs_exec_memory *memory)
{
    int64_t spare = p->limit_bytes - memory->total_bytes, page = sysconf(_SC_PAGESIZE);
    int64_t most = memory->arena_bytes + (spare > 0 ? spare - spare / 8 - 1 : 0);

    most = most / page * page;
    return most < p->first_bytes ? most : p->first_bytes;
}

/* Estimates and places a plan; it lacks what its estimate exceeds the limit by, or its placement
 * the arena. */
static enum vbs_status place(struct vbs_ctx *ctx, void *self)
{
    struct limited_placing *p = self;
    struct vbs_exec_options options = p->exec;
    struct vbs_exec_placement placement = {0};
    struct vbs_exec_memory memory;
    enum vbs_status status;

    VBS_TRY(vbs_exec_memory(ctx, p->profile, p->schedule, &p->memory, &memory));
    if (memory.total_bytes > p->limit_bytes) {
        p->needed.placed_bytes = p->first_bytes + memory.total_bytes - p->limit_bytes;
        return vbs_fail(ctx, VBS_INFEASIBLE, "the estimate of a plan exceeds the limit");
    }
    options.memory_bytes = p->exec.memory_bytes = arena_bytes(p, &memory);
    options.progress = (struct vbs_progress){0};
    status = vbs_exec_place(ctx, p->profile, p->schedule, &options, &placement, &p->exec.placed);
    if (status == VBS_INFEASIBLE)
        p->needed.placed_bytes = p->first_bytes + placement.placed_bytes - options.memory_bytes;
    return status;
}

/* Fails because no plan within the limit could be placed. */
static enum vbs_status refuse_plans(struct vbs_ctx *ctx, const struct vbs_simple_planning *p,
                                    const struct limited_placing *placing, int64_t lacking_bytes)
{
    char limit[24], before[24], lacking[24];

    return vbs_fail(ctx, VBS_INFEASIBLE,
                    "no plan of %s could be placed so that the process stays within %s by the "
                    "estimate, of which %s were there before planning; the first plan lacks %s",
                    vbs_planner_name(p->planner),
                    vbs_format_bytes(placing->limit_bytes, limit, sizeof limit),
                    vbs_format_bytes(p->process_bytes, before, sizeof before),
                    vbs_format_bytes(lacking_bytes, lacking, sizeof lacking));
}

/* Finds a plan that keeps the limit, and offsets for its buffers. */
static enum vbs_status find_placed(struct vbs_ctx *ctx, const struct vbs_simple_planning *p,
                                   const struct vbs_simple_options *options,
                                   struct limited_placing *placing)
{
    struct vbs_replan replan = {.solver = p->solver,
                                .schedule = &placing->schedule,
                                .make = place,
                                .self = placing,
                                .placement = &placing->needed};
    enum vbs_status status;

    VBS_TRY(vbs_simple_plan_within(ctx, p, options, &placing->schedule));
    placing->first_bytes = replan.memory_bytes = placing->schedule->memory_bytes;
    status = vbs_replan(ctx, &replan);
    if (status == VBS_INFEASIBLE && replan.placed_bytes > 0)
        status = refuse_plans(ctx, p, placing, replan.placed_bytes - placing->first_bytes);
    return status;
}

enum vbs_status vbs_simple_prepare_within(struct vbs_ctx *ctx, const struct vbs_network *network,
                                          const struct vbs_backend *backend,
                                          struct vbs_simple_planning *p,
                                          const struct vbs_simple_options *options,
                                          const struct vbs_exec_options *prepare,
                                          struct vbs_replanned *made)
{
    struct limited_placing placing = {.profile = p->problem.profile,
                                      .memory = memory_options(p, options),
                                      .exec = *prepare,
                                      .limit_bytes = options->total_memory_bytes};
    struct vbs_exec *exec = NULL;
    enum vbs_status status = find_placed(ctx, p, options, &placing);

    vbs_solver_free(p->solver);
    p->solver = NULL;
    if (status == VBS_OK) {
        vbs_exec_trim(); /* of what planning took */
        status = vbs_exec_new(ctx, network, backend, placing.profile, placing.schedule,
                              &placing.exec, NULL, &exec);
    }
    vbs_exec_placed_free(placing.exec.placed);
    if (status != VBS_OK) {
        vbs_schedule_free(placing.schedule);
        return status;
    }
    vbs_exec_trim(); /* of what making kernels and packing took */
    *made = (struct vbs_replanned){.schedule = placing.schedule, .exec = exec};
    return VBS_OK;
}
