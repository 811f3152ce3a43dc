/* The path from a profile to a schedule, and to an executor of it. */
#include "simple/internal.h"

#include "base/fail.h"
#include "exec/replan.h"
#include "vbslab/planner.h"
#include "vbslab/units.h"

#include <unistd.h>

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

/* The budget is that of an arena, or that of a whole process. */
static enum vbs_status check_budget(struct vbs_ctx *ctx, const struct vbs_simple_options *options)
{
    if (options->total_memory_bytes == 0 && options->memory_bytes < 1)
        return vbs_fail(ctx, VBS_USAGE,
                        "a budget of %lld bytes; memory_bytes or total_memory_bytes has to be 1 or "
                        "more",
                        (long long)options->memory_bytes);
    if (options->total_memory_bytes < 0)
        return vbs_fail(ctx, VBS_USAGE,
                        "a limit of %lld bytes; total_memory_bytes has to be 1 or more",
                        (long long)options->total_memory_bytes);
    if (options->total_memory_bytes > 0 && options->memory_bytes != 0)
        return vbs_fail(ctx, VBS_USAGE, "takes one of memory_bytes and total_memory_bytes");
    return VBS_OK;
}

static enum vbs_status set_problem(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct vbs_simple_planning *p)
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
    VBS_TRY(check_budget(ctx, options));
    if (options->copy_source && !included)
        return vbs_fail(ctx, VBS_USAGE,
                        "copy_source is for weights included; excluded ones are never copied");
    if (included)
        VBS_TRY(find_link(ctx, profile, options->copy_source, &p->problem.copy));
    return vbs_planner_load(ctx, planner, &p->planner);
}

static enum vbs_status make_solver(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct vbs_simple_planning *p)
{
    const int64_t budgets[] = {options->memory_bytes, vbs_replan_bytes(options->memory_bytes)};
    char hash[VBS_PROFILE_HASH_SIZE];
    struct vbs_solver_options solver_options = {.struct_size = sizeof solver_options,
                                                .profile_hash = hash};

    VBS_TRY(set_problem(ctx, profile, options, p));
    if (options->total_memory_bytes > 0)
        p->process_bytes = vbs_exec_process_bytes();
    vbs_profile_hash(profile, hash);
    if (!vbs_planner_is_timed(p->planner) && !vbs_planner_is_outside(p->planner))
        solver_options.time_limit_s = VBS_RUN_PLAN_S;
    /* Within a limit, the estimates of plans lead to the budgets. */
    if (solver_options.time_limit_s > 0 && options->memory_bytes > 0) {
        solver_options.most_bytes = options->memory_bytes;
        solver_options.budgets = budgets;
        solver_options.n_budgets = sizeof budgets / sizeof *budgets;
    }
    return vbs_solver_new(ctx, p->planner, &p->problem, &solver_options, &p->solver);
}

static void clear(struct vbs_simple_planning *p)
{
    vbs_solver_free(p->solver);
    vbs_planner_unload(p->planner);
}

enum vbs_status vbs_simple_plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                const struct vbs_simple_options *options,
                                struct vbs_schedule **schedule)
{
    struct vbs_simple_options own;
    struct vbs_simple_planning p = {0};
    enum vbs_status status = vbs_simple_read_options(ctx, options, &own);

    if (status == VBS_OK)
        status = make_solver(ctx, profile, &own, &p);
    if (status == VBS_OK && own.total_memory_bytes > 0)
        status = vbs_simple_plan_within(ctx, &p, &own, schedule);
    else if (status == VBS_OK)
        status = vbs_solver_plan(ctx, p.solver, own.memory_bytes, schedule);
    clear(&p);
    return status;
}

/* ---- Executors ---- */

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

/* Fails because no plan could be placed. */
static enum vbs_status refuse_plans(struct vbs_ctx *ctx, const struct vbs_simple_planning *p,
                                    int64_t memory_bytes, int64_t placed_bytes)
{
    char budget[48], placed[48];

    return vbs_fail(
        ctx, VBS_INFEASIBLE,
        "no plan of %s for %s or less could be placed in an arena of that size; the plan "
        "for it needs an arena of %s",
        vbs_planner_name(p->planner), vbs_format_exact(memory_bytes, budget, sizeof budget),
        vbs_format_exact(placed_bytes, placed, sizeof placed));
}

enum vbs_status vbs_simple_prepare(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   const struct vbs_profile *profile,
                                   const struct vbs_simple_options *options,
                                   struct vbs_schedule **schedule, struct vbs_exec **exec)
{
    struct vbs_simple_options own;
    struct vbs_simple_planning p = {0};
    struct vbs_replanned made = {0};
    struct vbs_exec_options prepare;
    const struct vbs_backend *backend;
    enum vbs_status status = vbs_simple_read_options(ctx, options, &own);

    if (status == VBS_OK)
        status = vbs_simple_find_backend(ctx, profile->provenance.backend, &backend);
    if (status == VBS_OK)
        status = make_solver(ctx, profile, &own, &p);
    if (status != VBS_OK)
        goto done;
    prepare = (struct vbs_exec_options){.struct_size = sizeof(struct vbs_exec_options),
                                        .threads = choose_threads(&own, profile, backend),
                                        .memory_bytes = own.memory_bytes,
                                        .place_limit_s = VBS_REPLAN_PLACE_S,
                                        .folder = own.folder,
                                        .progress = own.progress};
    if (own.total_memory_bytes > 0)
        status = vbs_simple_prepare_within(ctx, network, backend, &p, &own, &prepare, &made);
    else
        status = vbs_replan_exec(ctx, p.solver, network, backend, profile, &prepare, &made);
    if (status == VBS_INFEASIBLE && made.placed_bytes > 0)
        status = refuse_plans(ctx, &p, own.memory_bytes, made.placed_bytes);
    if (status != VBS_OK)
        goto done;
    vbs_exec_placed_free(made.placed);
    *exec = made.exec;
    if (schedule)
        *schedule = made.schedule;
    else
        vbs_schedule_free(made.schedule);
done:
    clear(&p);
    return status;
}
