/* The executors of one budget. */
#include "cli/compare/compare.h"

#include "base/fail.h"
#include "base/grow.h"
#include "exec/replan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An entrant that is placed. */
struct placing {
    struct execution *execution;
    struct entrants *entrants;
    struct entrant *entrant;
    int64_t memory_bytes;
    struct vbs_exec_placement placement;
};

/* ---- Executors ---- */

/* Gives the executor that runs the steps of a schedule; -1: none does. */
static int find_executor(const struct entrants *entrants, const struct vbs_schedule *schedule)
{
    for (int i = 0; i < entrants->n_execs; i++)
        if (vbs_schedule_same_steps(entrants->at[entrants->owners[i]].schedule, schedule))
            return i;
    return -1;
}

static enum vbs_status make_executor(struct vbs_ctx *ctx, const struct placing *p,
                                     struct vbs_exec_placement *placement, struct vbs_exec **exec)
{
    const struct run_job *subject = &p->execution->subject;
    struct vbs_exec_options options = {.struct_size = sizeof(struct vbs_exec_options),
                                       .threads = subject->threads,
                                       .memory_bytes = p->memory_bytes,
                                       .place_limit_s = VBS_REPLAN_PLACE_S};
    enum vbs_status status;

    VBS_TRY(vbs_exec_place(ctx, subject->profile, p->entrant->schedule, &options, placement,
                           &options.placed));
    run_set_heap(false);
    status = vbs_exec_new(ctx, subject->network, subject->backend, subject->profile,
                          p->entrant->schedule, &options, placement, exec);
    vbs_exec_placed_free(options.placed);
    run_set_heap(true);
    return status;
}

/* Finds an executor of the entrant's schedule, or makes one. self: struct placing */
static enum vbs_status enter(struct vbs_ctx *ctx, void *self)
{
    struct placing *p = self;
    struct entrants *entrants = p->entrants;

    p->entrant->executor = find_executor(entrants, p->entrant->schedule);
    if (p->entrant->executor >= 0)
        return VBS_OK;
    VBS_TRY(make_executor(ctx, p, &p->placement, &entrants->execs[entrants->n_execs]));
    entrants->owners[entrants->n_execs] = (int)(p->entrant - entrants->at);
    p->entrant->executor = entrants->n_execs++;
    return VBS_OK;
}

/* ---- Plans of less memory ---- */

/* Gives the solver of a planner, with the limits that the comparison has for it. */
static enum vbs_status open_solver(struct execution *x, const struct vbs_planner *planner,
                                   struct vbs_solver **solver)
{
    struct vbs_ctx *ctx = &x->subject.cli->ctx;
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};

    for (int64_t i = 0; i < x->n_solvers; i++)
        if (x->solvers[i].planner == planner) {
            *solver = x->solvers[i].solver;
            return VBS_OK;
        }
    if (vbs_planner_is_timed(planner)) {
        options.node_limit = x->options->node_limit;
        options.seed = x->options->seed;
        options.time_limit_s = VBS_COMPARE_TIME_LIMIT_S;
    }
    if (x->options->time_limit_s > 0)
        options.time_limit_s = x->options->time_limit_s;
    VBS_TRY(vbs_grow(ctx, &x->solvers, &x->max_solvers, x->n_solvers + 1, sizeof *x->solvers));
    VBS_TRY(vbs_solver_new(ctx, planner, x->problem, &options, solver));
    x->solvers[x->n_solvers++] = (struct opened_solver){planner, *solver};
    return VBS_OK;
}

/* Plans again for less memory, until a plan can be placed. */
static enum vbs_status place_less(struct placing *p)
{
    struct execution *x = p->execution;
    struct vbs_replan replan = {.memory_bytes = p->memory_bytes,
                                .schedule = &p->entrant->schedule,
                                .make = enter,
                                .self = p,
                                .placement = &p->placement};
    enum vbs_status status;

    VBS_TRY(open_solver(x, p->entrant->planner, &replan.solver));
    status = vbs_replan(&x->subject.cli->ctx, &replan);
    if (status == VBS_OK && replan.n_replans > 0)
        p->entrant->predicted_us =
            p->entrant->schedule->predicted.time_us / (double)x->problem->request;
    return status;
}

static enum vbs_status place(struct placing *p)
{
    struct cli *cli = p->execution->subject.cli;
    enum vbs_status status = enter(&cli->ctx, p);
    char budget[48], detail[VBS_DETAIL_SIZE];

    if (status == VBS_INFEASIBLE)
        status = place_less(p);
    if (status != VBS_INFEASIBLE && status != VBS_UNSUPPORTED)
        return status;
    p->entrant->executor = -1;
    cli_note(cli, "the plan of %s for %s is not executed: %s",
             vbs_planner_name(p->entrant->planner),
             vbs_format_exact(p->memory_bytes, budget, sizeof budget),
             strcpy(detail, vbs_detail(&cli->ctx)));
    return VBS_OK;
}

/* ---- Entrants ---- */

/* Gives the bytes that programs can have now; -1: the system does not tell. */
static int64_t available_bytes(void)
{
    FILE *file = fopen("/proc/meminfo", "re");
    char line[256];
    long long kib, found = -1;

    while (file && found < 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "MemAvailable: %lld kB", &kib) == 1)
            found = kib * 1024;
    if (file)
        fclose(file);
    return found;
}

/* Fails where the machine has not enough memory for all executors, each of which has weights of its
 * own: they would be ended by the system. */
static enum vbs_status check_memory(struct execution *x, const struct entrants *entrants,
                                    int64_t memory_bytes)
{
    int64_t available = available_bytes(), weights = vbs_profile_weight_bytes(x->subject.profile);
    int64_t needed;
    int n = 0;
    char have[24], need[24];

    for (int i = 0; i < entrants->n; i++) {
        bool seen = false;

        for (int k = 0; k < i && !seen; k++)
            seen = vbs_schedule_same_steps(entrants->at[k].schedule, entrants->at[i].schedule);
        n += !seen;
    }
    needed = n * (memory_bytes + (x->problem->weights == VBS_WEIGHTS_EXCLUDED ? weights : 0));
    if (available < 0 || needed < available)
        return VBS_OK;
    return vbs_fail(&x->subject.cli->ctx, VBS_NO_MEMORY,
                    "%d schedules that run by turns need %s, and the machine has %s; --planners "
                    "and --baselines name fewer",
                    n, vbs_format_bytes(needed, need, sizeof need),
                    vbs_format_bytes(available, have, sizeof have));
}

/* Copies the plans of a budget. */
static enum vbs_status gather(struct execution *x, int64_t memory_bytes, struct entrants *entrants)
{
    static const char *const BASELINES[] = {"fbs", "fbs-best"};
    struct vbs_ctx *ctx = &x->subject.cli->ctx;
    size_t n = (size_t)x->plans.n + 1;

    entrants->baselines[0] = entrants->baselines[1] = -1;
    entrants->at = calloc(n, sizeof *entrants->at);
    entrants->execs = calloc(n, sizeof(struct vbs_exec *));
    entrants->owners = calloc(n, sizeof *entrants->owners);
    if (!entrants->at || !entrants->execs || !entrants->owners)
        return vbs_no_memory(ctx);
    for (int64_t i = 0; i < x->plans.n; i++) {
        const struct kept_plan *plan = &x->plans.at[i];
        struct entrant *entrant = &entrants->at[entrants->n];

        if (plan->memory_bytes != memory_bytes)
            continue;
        *entrant = (struct entrant){
            .planner = plan->planner, .predicted_us = plan->predicted_us, .executor = -1};
        VBS_TRY(vbs_schedule_copy(ctx, plan->schedule, &entrant->schedule));
        for (int b = 0; b < 2; b++)
            if (strcmp(vbs_planner_name(plan->planner), BASELINES[b]) == 0)
                entrants->baselines[b] = entrants->n;
        entrants->n++;
    }
    return VBS_OK;
}

enum vbs_status compare_prepare(struct execution *x, int64_t memory_bytes,
                                struct entrants *entrants)
{
    VBS_TRY(gather(x, memory_bytes, entrants));
    VBS_TRY(check_memory(x, entrants, memory_bytes));
    for (int i = 0; i < entrants->n; i++) {
        struct placing placing = {.execution = x,
                                  .entrants = entrants,
                                  .entrant = &entrants->at[i],
                                  .memory_bytes = memory_bytes};

        if (vbs_cancelled(&x->subject.cli->ctx))
            return vbs_fail(&x->subject.cli->ctx, VBS_INTERRUPTED, "interrupted");
        VBS_TRY(place(&placing));
    }
    return VBS_OK;
}

void compare_clear_entrants(struct entrants *entrants)
{
    for (int i = 0; i < entrants->n_execs; i++)
        vbs_exec_free(entrants->execs[i]);
    for (int i = 0; i < entrants->n; i++)
        vbs_schedule_free(entrants->at[i].schedule);
    free(entrants->at);
    free(entrants->execs);
    free(entrants->owners);
    *entrants = (struct entrants){0};
}
