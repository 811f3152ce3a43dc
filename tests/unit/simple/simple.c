/*
 * The simple tier: a network measured without a store, planned, placed and executed; plans that
 * cannot be placed are replaced by smaller ones; faults in the options are named; memory that runs
 * out leaves nothing behind.
 */
#include "exec/replan.h"
#include "support/fault.h"
#include "support/profile_help.h"
#include "support/refused_plan.h"
#include "support/tap.h"

#include "vbslab/replay.h"
#include "vbslab/simple.h"

#include <stdlib.h>

#define REQUEST 3
#define MEMORY  ((int64_t)1 << 20)

static const char NETWORK[] = "model tiny\n"
                              "input 3x10x10\n"
                              "conv c1 out=16 kernel=3 pad=1\n"
                              "relu r1\n"
                              "conv c2 out=16 kernel=3 pad=1\n"
                              "fc f out=7\n";

static const int BATCHES[] = {1, 2, 3};

static struct vbs_simple_options options_of(const char *backend)
{
    return (struct vbs_simple_options){.struct_size = sizeof(struct vbs_simple_options),
                                       .request = REQUEST,
                                       .memory_bytes = MEMORY,
                                       .threads = 1,
                                       .backend = backend,
                                       .batches = BATCHES,
                                       .n_batches = 3,
                                       .time_limit_s = 0.05};
}

static struct vbs_network *parse_network(void)
{
    struct vbs_network *network = NULL;

    if (vbs_network_parse(NULL, "tiny", NETWORK, sizeof NETWORK - 1, NULL, &network) != VBS_OK)
        return NULL;
    return network;
}

/* ---- Measuring ---- */

static void what_is_measured_makes_a_profile(struct vbs_ctx *ctx, const struct vbs_network *network,
                                             const struct vbs_profile *profile)
{
    const struct vbs_provenance *p = &profile->provenance;
    bool measured = true;

    ok(profile->n_batches == 3 && profile->batches[2] == 3, "every batch is in the profile");
    for (int k = 1; k <= profile->n_layers; k++)
        for (int b = 0; b < 3; b++) {
            int n;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, b, &n);

            for (int i = 0; i < n; i++)
                measured = measured && rows[i].n_runs > 0 && rows[i].low_us <= rows[i].time_us &&
                           rows[i].time_us <= rows[i].high_us;
        }
    ok(measured, "every row has times and their interval");
    is_str(p->model, "tiny", "the profile says of which model it is");
    is_str(p->backend, "onednn", "and with which backend it was measured");
    ok(p->vbslab[0] && strlen(p->date) == strlen("2000-01-01T00:00:00Z") && p->threads == 1,
       "and with which version, when and with how many threads");
    (void)ctx, (void)network;
}

static void copies_are_measured_for_weights(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    struct vbs_simple_options options = options_of("analytic");
    struct vbs_profile *with = NULL, *without = NULL;

    ok(vbs_simple_measure(ctx, network, &options, &without) == VBS_OK && without->n_copies == 0,
       "with weights excluded copies are not measured");
    options.weights = VBS_WEIGHTS_INCLUDED;
    ok(vbs_simple_measure(ctx, network, &options, &with) == VBS_OK && with->n_copies > 0 &&
           with->copies[0].link.bytes_per_us > 0,
       "with weights included they are");
    vbs_profile_free(with);
    vbs_profile_free(without);
}

static void an_interruption_ends_measuring(const struct vbs_network *network)
{
    static const volatile sig_atomic_t now = 1;
    struct vbs_ctx ctx = {.cancel = &now};
    struct vbs_simple_options options = options_of(NULL);
    struct vbs_profile *profile = NULL;

    ok(vbs_simple_measure(&ctx, network, &options, &profile) == VBS_INTERRUPTED && !profile,
       "an interruption ends measuring");
}

/* ---- Planning and running ---- */

static void the_plan_is_the_solvers(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_problem problem = {.profile = profile, .request = REQUEST};
    struct vbs_simple_options options = options_of(NULL);
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *ours = NULL, *theirs = NULL;
    struct vbs_replay *replay = NULL;
    char want[80];

    if (vbs_planner_find(ctx, "dp-vbs+", &planner) != VBS_OK ||
        vbs_solver_new(ctx, planner, &problem, NULL, &solver) != VBS_OK)
        return (void)ok(0, "a solver");
    options.memory_bytes = vbs_solver_least_bytes(solver);
    ok(vbs_simple_plan(ctx, profile, &options, &ours) == VBS_OK &&
           vbs_solver_plan(ctx, solver, options.memory_bytes, &theirs) == VBS_OK,
       "a plan for the least budget");
    ok(ours && theirs && ours->predicted.time_us == theirs->predicted.time_us &&
           ours->n_steps == theirs->n_steps,
       "the default planner is dp-vbs+");
    ok(ours && vbs_replay_run(ctx, profile, ours, -1, false, &replay) == VBS_OK && replay->fits &&
           replay->time_us == ours->predicted.time_us,
       "the replay confirms it");
    vbs_schedule_free(ours);
    ours = NULL;
    options.memory_bytes--;
    ok(vbs_simple_plan(ctx, profile, &options, &ours) == VBS_INFEASIBLE && !ours,
       "a byte less is infeasible");
    snprintf(want, sizeof want, "%lld", (long long)options.memory_bytes + 1);
    ok(strstr(vbs_detail(ctx), want), "and the least budget is named: %s", vbs_detail(ctx));
    vbs_replay_free(replay);
    vbs_schedule_free(theirs);
    vbs_solver_free(solver);
}

/* Computes the outputs of a request; false: it was refused. */
static bool run(struct vbs_ctx *ctx, const struct vbs_network *network,
                const struct vbs_profile *profile, const struct vbs_simple_options *options,
                float *values, struct vbs_exec_report *report)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_exec *exec = NULL;
    float *const outputs[] = {values};
    bool good = vbs_simple_prepare(ctx, network, profile, options, &schedule, &exec) == VBS_OK &&
                vbs_exec_run(ctx, exec, NULL, outputs, report) == VBS_OK &&
                vbs_exec_placement(exec)->placed_bytes <= options->memory_bytes &&
                schedule->memory_bytes <= options->memory_bytes;

    vbs_exec_free(exec);
    vbs_schedule_free(schedule);
    if (!good)
        printf("# %s\n", vbs_detail(ctx));
    return good;
}

static bool tells_memory(const struct vbs_exec_report *r)
{
    return r->base_bytes > 0 && r->touched_bytes > 0 && r->heap_bytes >= 0 && r->file_bytes >= 0;
}

static bool tells_no_memory(const struct vbs_exec_report *r)
{
    return r->base_bytes == -1 && r->touched_bytes == -1 && r->high_water_bytes == -1 &&
           r->heap_bytes == -1 && r->file_bytes == -1;
}

/* Runs tell memory unless they are to tell times only. */
static void runs_tell_memory(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_profile *profile)
{
    const struct vbs_simple_options options = options_of(NULL);
    struct vbs_exec *exec = NULL;
    bool good = vbs_simple_prepare(ctx, network, profile, &options, NULL, &exec) == VBS_OK;

    for (int i = 0; i < 3; i++) {
        struct vbs_exec_report report = {0};

        if (good && i > 0)
            vbs_exec_set_times_only(exec, i == 1);
        good = good && vbs_exec_run(ctx, exec, NULL, NULL, &report) == VBS_OK;
        ok(good && report.time_us > 0 &&
               (i == 1 ? tells_no_memory(&report) : tells_memory(&report)),
           "run %d tells %s", i + 1, i == 1 ? "times only" : "times and memory");
    }
    vbs_exec_free(exec);
}

/* Whatever the plan, the values are those of one sample at a time. */
static void plans_are_executed(struct vbs_ctx *ctx, const struct vbs_network *network,
                               const struct vbs_profile *profile)
{
    float want[REQUEST * 7], got[REQUEST * 7];
    struct vbs_simple_options options = options_of(NULL);
    struct vbs_exec_report report;
    double largest = 0, difference = 0;

    options.planner = "fbs";
    ok(run(ctx, network, profile, &options, want, &report), "a request in equal batches");
    options.planner = NULL;
    options.memory_bytes = MEMORY / 64;
    ok(run(ctx, network, profile, &options, got, &report), "a request in 16 KiB");
    for (int i = 0; i < REQUEST * 7; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        difference = fmax(difference, fabs((double)want[i] - (double)got[i]));
    }
    ok(largest > 0 && difference <= 1e-4 * largest, "both give the same values");
    options.memory_bytes = MEMORY;
    options.weights = VBS_WEIGHTS_INCLUDED;
    ok(run(ctx, network, profile, &options, got, &report), "a request with weights included");
    difference = 0;
    for (int i = 0; i < REQUEST * 7; i++)
        difference = fmax(difference, fabs((double)want[i] - (double)got[i]));
    ok(difference <= 1e-4 * largest, "gives the same values, too");
}

/* ---- Plans that cannot be placed ---- */

/* Pretends that the first n_refused plans need more than the arena. */
struct placer {
    struct vbs_schedule *schedule;
    struct vbs_exec_placement placement;
    int64_t excess_bytes;
    int n_refused, n_calls;
    int64_t budgets[16];
};

static enum vbs_status place(struct vbs_ctx *ctx, void *self)
{
    struct placer *placer = self;

    (void)ctx;
    if (placer->n_calls < 16)
        placer->budgets[placer->n_calls] = placer->schedule->memory_bytes;
    placer->placement.placed_bytes = MEMORY + placer->excess_bytes;
    return placer->n_calls++ < placer->n_refused ? VBS_INFEASIBLE : VBS_OK;
}

static void plan_again(struct vbs_ctx *ctx, struct vbs_solver *solver, int n_refused,
                       int64_t excess_bytes, struct placer *placer, struct vbs_replan *replan,
                       enum vbs_status *status)
{
    *placer = (struct placer){.n_refused = n_refused, .excess_bytes = excess_bytes};
    *replan = (struct vbs_replan){.solver = solver,
                                  .memory_bytes = MEMORY,
                                  .schedule = &placer->schedule,
                                  .make = place,
                                  .self = placer,
                                  .placement = &placer->placement};
    *status = vbs_solver_plan(ctx, solver, MEMORY, &placer->schedule);
    if (*status == VBS_OK)
        *status = vbs_replan(ctx, replan);
}

static void smaller_plans_are_tried(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    const struct vbs_problem problem = {.profile = profile, .request = REQUEST};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct placer placer;
    struct vbs_replan replan;
    enum vbs_status status;
    int64_t least;
    bool falls = true;

    if (vbs_planner_find(ctx, "dp-vbs", &planner) != VBS_OK ||
        vbs_solver_new(ctx, planner, &problem, NULL, &solver) != VBS_OK)
        return (void)ok(0, "a solver");
    least = vbs_solver_least_bytes(solver);
    plan_again(ctx, solver, 0, 800, &placer, &replan, &status);
    ok(status == VBS_OK && replan.n_replans == 0 && placer.n_calls == 1,
       "a plan that can be placed is kept");
    vbs_schedule_free(placer.schedule);
    plan_again(ctx, solver, 2, 800, &placer, &replan, &status);
    ok(status == VBS_OK && replan.n_replans == 2 && replan.placed_bytes == MEMORY + 800,
       "after two that cannot the third is taken");
    ok(placer.budgets[1] < placer.budgets[0] && placer.budgets[2] < placer.budgets[1] &&
           placer.schedule->memory_bytes == placer.budgets[2],
       "each is of a smaller budget");
    vbs_schedule_free(placer.schedule);
    plan_again(ctx, solver, 100, 1, &placer, &replan, &status);
    ok(status == VBS_INFEASIBLE && replan.n_replans <= 12 && placer.n_calls == replan.n_replans + 1,
       "a dozen are tried at most");
    for (int i = 1; i < placer.n_calls; i++)
        falls = falls && placer.budgets[i] < placer.budgets[i - 1] && placer.budgets[i] >= least;
    ok(falls, "and none below the least budget");
    vbs_schedule_free(placer.schedule);
    plan_again(ctx, solver, 100, MEMORY, &placer, &replan, &status);
    ok(status == VBS_INFEASIBLE && placer.budgets[placer.n_calls - 1] == least,
       "the least plan is the last that is tried");
    vbs_schedule_free(placer.schedule);
    vbs_solver_free(solver);
}

/* ---- Refusals ---- */

#define REFUSES(status, part, ...)                                                                 \
    do {                                                                                           \
        struct vbs_simple_options o = options_of(NULL);                                            \
        __VA_ARGS__;                                                                               \
        refuses_plan(ctx, profile, &o, status, part);                                              \
    } while (0)

static void wrong_options_are_refused(struct vbs_ctx *ctx, const struct vbs_network *network,
                                      const struct vbs_profile *profile)
{
    struct vbs_simple_options options = options_of("analytic");
    struct vbs_profile *modelled = NULL;
    struct vbs_exec *exec = NULL;
    static const int NO_ONE[] = {2, 3};

    refuses_plan(ctx, profile, NULL, VBS_USAGE, "0 samples");
    REFUSES(VBS_USAGE, "struct_size", o.struct_size = 0);
    REFUSES(VBS_USAGE, "0 samples", o.request = 0);
    REFUSES(VBS_USAGE, "4097 samples", o.request = 4097);
    REFUSES(VBS_USAGE, "0 bytes", o.memory_bytes = 0);
    REFUSES(VBS_USAGE, "-1 threads", o.threads = -1);
    REFUSES(VBS_USAGE, "io is 2", o.io = (enum vbs_io)2);
    REFUSES(VBS_USAGE, "weights is 7", o.weights = (enum vbs_weights)7);
    REFUSES(VBS_USAGE, "excluded", o.copy_source = "disk");
    REFUSES(VBS_NOT_FOUND, "moon", o.weights = VBS_WEIGHTS_INCLUDED; o.copy_source = "moon");
    REFUSES(VBS_NOT_FOUND, "dp-vbs", o.planner = "dp-vsb");
    REFUSES(VBS_USAGE, "", o.planner = "joint");
    REFUSES(VBS_USAGE, "latency", o.latency_us = NAN);

    ok(vbs_simple_measure(ctx, network, &options, &modelled) == VBS_OK, "a modelled profile");
    ok(vbs_simple_prepare(ctx, network, modelled, &options, NULL, &exec) == VBS_UNSUPPORTED &&
           !exec,
       "cannot be executed: %s", vbs_detail(ctx));
    vbs_profile_free(modelled);
    modelled = NULL;
    options.batches = NO_ONE;
    options.n_batches = 2;
    ok(vbs_simple_measure(ctx, network, &options, &modelled) == VBS_USAGE && !modelled,
       "batches without 1: %s", vbs_detail(ctx));
    options = options_of("onednm");
    ok(vbs_simple_measure(ctx, network, &options, &modelled) == VBS_NOT_FOUND && !modelled,
       "an unknown backend: %s", vbs_detail(ctx));
    options = options_of(NULL);
    options.time_limit_s = -1;
    ok(vbs_simple_measure(ctx, network, &options, &modelled) == VBS_USAGE && !modelled,
       "a time limit below 0: %s", vbs_detail(ctx));
}

/* ---- Memory that runs out ---- */

static enum vbs_status measure_and_plan(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    struct vbs_simple_options options = options_of("analytic");
    struct vbs_profile *profile = NULL;
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status;

    options.weights = VBS_WEIGHTS_INCLUDED;
    status = vbs_simple_measure(ctx, network, &options, &profile);
    options.weights = VBS_WEIGHTS_EXCLUDED;
    if (status == VBS_OK)
        status = vbs_simple_plan(ctx, profile, &options, &schedule);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    return status;
}

static void memory_runs_out(const struct vbs_network *network)
{
    int n = 0, n_wrong = 0;

    do {
        struct vbs_ctx ctx = {0};
        enum vbs_status status;

        allocation_faults = (struct faults){.countdown = ++n};
        status = measure_and_plan(&ctx, network);
        allocation_faults.countdown = 0;
        n_wrong += status != (allocation_faults.hit ? VBS_NO_MEMORY : VBS_OK);
    } while (allocation_faults.hit && n < 10000);
    ok(n > 10 && n < 10000 && n_wrong == 0, "%d allocations, each failing once", n - 1);
}

int main(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = parse_network();
    struct vbs_simple_options options = options_of(NULL);
    struct vbs_profile *profile = NULL;

    if (!ok(network != NULL, "a network"))
        return done_testing();
    options.folder = "/tmp";
    if (ok(vbs_simple_measure(&ctx, network, &options, &profile) == VBS_OK, "it is measured")) {
        what_is_measured_makes_a_profile(&ctx, network, profile);
        the_plan_is_the_solvers(&ctx, profile);
        runs_tell_memory(&ctx, network, profile);
        plans_are_executed(&ctx, network, profile);
        smaller_plans_are_tried(&ctx, profile);
        wrong_options_are_refused(&ctx, network, profile);
    } else {
        printf("# %s\n", vbs_detail(&ctx));
    }
    copies_are_measured_for_weights(&ctx, network);
    an_interruption_ends_measuring(network);
    memory_runs_out(network);
    vbs_profile_free(profile);
    vbs_network_free(network);
    return done_testing();
}
