/* The path from a profile to a schedule, and to an executor of it. */
#include "simple/internal.h"

#include "base/fail.h"
#include "simple/replan.h"
#include "vbslab/planner.h"
#include "vbslab/units.h"

#include <unistd.h>

/* The inputs of planning, and the planner. */
struct simple_planning {
    const struct vbs_planner *planner;
    struct vbs_problem problem;
    struct vbs_solver *solver;
    struct vbs_schedule *schedule;
};

static enum vbs_status find_link(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 const char *source, struct vbs_link *link)
{
    const struct vbs_copy *copy = source                  ? vbs_profile_copy(profile, source)
                                  : profile->n_copies > 0 ? profile->copies
                                                          : NULL;

    if (copy)
        *link = copy->link;
    else if (source)
        return vbs_fail(ctx, VBS_NOT_FOUND, "the profile has no copies from '%.100s'", source);
    return VBS_OK;
}

static enum vbs_status set_problem(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct simple_planning *p)
{
    bool included = options->weights == VBS_WEIGHTS_INCLUDED;
    const char *planner = options->planner ? options->planner : included ? "joint" : "dp-vbs+";

    p->problem = (struct vbs_problem){.profile = profile,
                                      .request = options->request,
                                      .io = options->io,
                                      .latency_us = options->latency_us,
                                      .weights = options->weights};
    if (options->request < 1 || options->request > VBS_MAX_REQUEST)
        return vbs_fail(ctx, VBS_USAGE, "a request of %lld samples; 1 to %d are possible",
                        (long long)options->request, VBS_MAX_REQUEST);
    if (options->memory_bytes < 1)
        return vbs_fail(ctx, VBS_USAGE, "a budget of %lld bytes; memory_bytes has to be 1 or more",
                        (long long)options->memory_bytes);
    if (options->copy_source && !included)
        return vbs_fail(ctx, VBS_USAGE,
                        "copy_source is for weights included; excluded ones are never copied");
    if (included)
        VBS_TRY(find_link(ctx, profile, options->copy_source, &p->problem.copy));
    return vbs_planner_load(ctx, planner, &p->planner);
}

static enum vbs_status plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                            const struct vbs_simple_options *options, struct simple_planning *p)
{
    char hash[VBS_PROFILE_HASH_SIZE];
    struct vbs_solver_options solver_options = {.struct_size = sizeof solver_options,
                                                .profile_hash = hash};
    enum vbs_status status = set_problem(ctx, profile, options, p);

    vbs_profile_hash(profile, hash);
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_solver_new(ctx, p->planner, &p->problem, &solver_options, &p->solver));
    return vbs_solver_plan(ctx, p->solver, options->memory_bytes, &p->schedule);
}

static void clear(struct simple_planning *p)
{
    vbs_solver_free(p->solver);
    vbs_schedule_free(p->schedule);
    vbs_planner_unload(p->planner);
}

enum vbs_status vbs_simple_plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_simple_options *options,
                                struct vbs_schedule **schedule)
{
    struct vbs_simple_options own;
    struct simple_planning p = {0};
    enum vbs_status status = vbs_simple_read_options(ctx, options, &own);

    if (status == VBS_OK)
        status = plan(ctx, profile, &own, &p);
    if (status == VBS_OK) {
        *schedule = p.schedule;
        p.schedule = NULL;
    }
    clear(&p);
    return status;
}

/* ---- Executors ---- */

struct preparing {
    struct simple_planning planning;
    const struct vbs_network *network;
    const struct vbs_profile *profile;
    const struct vbs_backend *backend;
    struct vbs_exec_options options;
    struct vbs_exec_placement placement;
    struct vbs_exec *exec;
};

/* Finds offsets before the executor is made, because they need no kernels. */
static enum vbs_status make_executor(struct vbs_ctx *ctx, void *self)
{
    struct preparing *p = self;
    struct vbs_exec_options place = p->options;

    place.progress = (struct vbs_progress){0};
    VBS_TRY(vbs_exec_place(ctx, p->profile, p->planning.schedule, &place, &p->placement));
    return vbs_exec_new(ctx, p->network, p->backend, p->profile, p->planning.schedule, &p->options,
                        &p->placement, &p->exec);
}

static enum vbs_status place(struct vbs_ctx *ctx, struct preparing *p)
{
    struct vbs_replan replan = {.solver = p->planning.solver,
                                .memory_bytes = p->options.memory_bytes,
                                .schedule = &p->planning.schedule,
                                .make = make_executor,
                                .self = p,
                                .placement = &p->placement};
    enum vbs_status status = vbs_replan(ctx, &replan);
    char budget[48], placed[48];

    if (status != VBS_INFEASIBLE)
        return status;
    return vbs_fail(
        ctx, status,
        "no plan of %s for %s or less could be placed in an arena of that size; the plan "
        "for it needs an arena of %s",
        vbs_planner_name(p->planning.planner),
        vbs_format_exact(p->options.memory_bytes, budget, sizeof budget),
        vbs_format_exact(replan.placed_bytes, placed, sizeof placed));
}

/* Chooses the number of threads with which the profile was measured, where this machine has as
 * many. */
static int choose_threads(const struct vbs_simple_options *options,
                          const struct vbs_profile *profile, const struct vbs_backend *backend)
{
    int measured = profile->provenance.threads;

    if (options->threads > 0 || backend->device)
        return options->threads;
    return measured <= sysconf(_SC_NPROCESSORS_ONLN) ? measured : 0;
}

enum vbs_status vbs_simple_prepare(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct vbs_schedule **schedule, struct vbs_exec **exec)
{
    struct vbs_simple_options own;
    struct preparing p = {.network = network, .profile = profile};
    enum vbs_status status = vbs_simple_read_options(ctx, options, &own);

    if (status != VBS_OK)
        goto done;
    status = vbs_simple_find_backend(ctx, profile->provenance.backend, &p.backend);
    if (status != VBS_OK)
        goto done;
    status = plan(ctx, profile, &own, &p.planning);
    if (status != VBS_OK)
        goto done;
    p.options = (struct vbs_exec_options){.struct_size = sizeof(struct vbs_exec_options),
                                          .threads = choose_threads(&own, profile, p.backend),
                                          .memory_bytes = own.memory_bytes,
                                          .place_limit_s = VBS_REPLAN_PLACE_S,
                                          .folder = own.folder,
                                          .progress = own.progress};
    status = place(ctx, &p);
    if (status != VBS_OK)
        goto done;
    *exec = p.exec;
    if (schedule) {
        *schedule = p.planning.schedule;
        p.planning.schedule = NULL;
    }
done:
    clear(&p.planning);
    return status;
}
