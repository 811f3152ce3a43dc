/*
 * Rows of samples with weights inside the budget: the replay finds the schedules of joint, and of
 * dp-vbs+ beside resident weights, valid, with the bytes and the time that they say; schedules of
 * whole samples are never better; no schedule beats the bound, whatever made it. Arguments:
 * profiles, seed.
 */
#include "cases/random_rows.h"
#include "reference/plan/brute_rows_best.h"
#include "support/tap.h"
#include "support/trials.h"
#include "support/true_plan.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        76
#define N_PROFILES  40
#define N_SCHEDULES 40 /* of each profile, */
#define N_TINY      3  /* and every so many profiles a tiny problem */
#define MAX_STATES  400000
#define ROUNDING    1e-9

static struct totals {
    int plans, with_rows, copying; /* plans; with rows; with rows and loads */
    int faster, below;             /* faster by rows; where nothing else fits */
} totals;

static bool has_rows(const struct vbs_schedule *schedule)
{
    for (int64_t i = 0; i < schedule->n_steps; i++)
        if (schedule->steps[i].rows > 0)
            return true;
    return false;
}

static struct vbs_solver *open_solver(const char *name, const struct vbs_problem *problem)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;

    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    return solver;
}

/* Plans for a budget; null: infeasible. */
static struct vbs_schedule *plan(struct vbs_solver *solver, int64_t memory_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);

    if (status != VBS_OK && status != VBS_INFEASIBLE)
        bail_out("no plan: %s", vbs_detail(&ctx));
    return schedule;
}

/* Compares the plans with and without rows for a budget. */
static bool compare(const struct vbs_profile *profile, struct vbs_solver *by_rows,
                    struct vbs_solver *whole, int64_t memory_bytes)
{
    struct vbs_schedule *rows = plan(by_rows, memory_bytes), *plain = plan(whole, memory_bytes);
    bool same =
        !plain || (rows && rows->predicted.time_us <= plain->predicted.time_us * (1 + ROUNDING));

    if (!same)
        printf("# whole samples are better in %" PRId64 " bytes\n", memory_bytes);
    if (rows) {
        same = same && is_true_plan(profile, rows);
        totals.plans++;
        totals.with_rows += has_rows(rows);
        totals.copying += has_rows(rows) && rows->predicted.copied_bytes > 0;
        totals.below += !plain;
        totals.faster +=
            plain && rows->predicted.time_us < plain->predicted.time_us * (1 - ROUNDING);
    }
    if (plain && has_rows(plain)) {
        printf("# rows where whole samples are wanted\n");
        same = false;
    }
    vbs_schedule_free(rows);
    vbs_schedule_free(plain);
    return same;
}

static struct vbs_link draw_link(gsl_rng *rng)
{
    return (struct vbs_link){.source = "given",
                             .latency_us = random_int(rng, 0, 20),
                             .bytes_per_us =
                                 random_once_in(rng, 8)
                                     ? 0
                                     : random_int(rng, 1, 40) * (random_once_in(rng, 2) ? 1 : 10)};
}

static bool check(gsl_rng *rng, const struct vbs_profile *profile, const char *planner)
{
    struct vbs_problem problem = {.profile = profile,
                                  .request = random_int(rng, 1, 4),
                                  .io = random_once_in(rng, 3) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
                                  .weights = VBS_WEIGHTS_INCLUDED,
                                  .copy = draw_link(rng)};
    struct vbs_problem without = problem;
    struct vbs_solver *by_rows, *whole;
    int64_t least, most;
    bool same;

    without.whole_samples = true;
    by_rows = open_solver(planner, &problem);
    whole = open_solver(planner, &without);
    least = vbs_solver_least_bytes(by_rows);
    most = 2 * vbs_solver_least_bytes(whole);
    same = least <= vbs_solver_least_bytes(whole) && !plan(by_rows, least - 1);
    for (int i = 0; i <= 12 && same; i++)
        same = compare(profile, by_rows, whole, least + (most - least) * i / 12);
    if (!same)
        printf("# planner %s\n", planner);
    vbs_solver_free(by_rows);
    vbs_solver_free(whole);
    return same;
}

static void plans_are_true(gsl_rng *rng, int n)
{
    bool same = true;

    for (int i = 0; i < n && same; i++) {
        struct vbs_profile *profile = random_rows_weighted(rng, 1 + i % 6);

        if (!profile)
            bail_out("no profile");
        same = check(rng, profile, "joint") && check(rng, profile, "dp-vbs+");
        if (!same)
            printf("# profile %d\n", i);
        vbs_profile_free(profile);
    }
    ok(same, "plans by rows are what the replay says, and never worse than those of whole samples");
    printf("# %d plans, %d with rows, %d of them with loads, %d faster, %d where whole samples do "
           "not fit\n",
           totals.plans, totals.with_rows, totals.copying, totals.faster, totals.below);
    ok(totals.faster > n && totals.below > n && totals.copying > n, "rows help often enough");
}

/* ---- random schedules ---- */

/* The weights in memory while loads are added, by layer and format. */
struct memory {
    bool loaded[RANDOM_MAX_LAYERS + 1][2], resident[RANDOM_MAX_LAYERS + 1][2];
};

struct steps {
    struct vbs_step *list;
    int64_t n;
};

static void add_transfer(struct steps *steps, const struct vbs_profile *profile, int layer,
                         int format, enum vbs_step_op op, bool resident)
{
    steps->list[steps->n++] =
        (struct vbs_step){.op = (uint8_t)op,
                          .layer = layer,
                          .format = (uint8_t)format,
                          .resident = resident,
                          .bytes = vbs_profile_format_bytes(profile, layer, format)};
}

/* Gives the weights that a later step of the list reads, at random; null: it reads none. */
static const struct vbs_profile_row *later_row(gsl_rng *rng, const struct vbs_profile *profile,
                                               const struct vbs_schedule *plain, int64_t at,
                                               int *layer)
{
    int64_t later = at + random_int(rng, 1, 6);
    const struct vbs_profile_row *row;

    if (later >= plain->n_steps)
        return NULL;
    row = random_rows_row(profile, &plain->steps[later]);
    *layer = plain->steps[later].layer;
    return row->weight_bytes > 0 ? row : NULL;
}

/* Adds the step at, with what it must load, sometimes a load for a later step, and evictions. */
static void add_step(gsl_rng *rng, const struct vbs_profile *profile,
                     const struct vbs_schedule *plain, int64_t at, struct memory *memory,
                     struct steps *steps)
{
    const struct vbs_step *step = &plain->steps[at];
    const struct vbs_profile_row *row = random_rows_row(profile, step), *later;
    bool *loaded = &memory->loaded[step->layer][row->format];
    int layer;

    if (row->weight_bytes > 0 && !*loaded) {
        add_transfer(steps, profile, step->layer, row->format, VBS_STEP_LOAD, false);
        *loaded = true;
    }
    later = random_once_in(rng, 3) ? later_row(rng, profile, plain, at, &layer) : NULL;
    if (later && !memory->loaded[layer][later->format]) {
        add_transfer(steps, profile, layer, later->format, VBS_STEP_LOAD, false);
        memory->loaded[layer][later->format] = true;
    }
    steps->list[steps->n++] = *step;
    for (int k = 1; k <= profile->n_layers; k++)
        for (int f = 0; f < 2; f++)
            if (memory->loaded[k][f] && !memory->resident[k][f] && random_once_in(rng, 4)) {
                add_transfer(steps, profile, k, f, VBS_STEP_EVICT, false);
                memory->loaded[k][f] = false;
            }
}

/* Adds loads to a schedule without weights; steps of the new one are freed by the caller. */
static struct vbs_schedule add_loads(gsl_rng *rng, const struct vbs_profile *profile,
                                     const struct vbs_schedule *plain, struct vbs_link link)
{
    struct memory memory = {0};
    struct vbs_schedule schedule = *plain;
    int64_t most = plain->n_steps * (2 + 2 * RANDOM_MAX_LAYERS) + 2 * RANDOM_MAX_LAYERS;
    struct steps steps = {.list = calloc((size_t)most, sizeof *steps.list)};

    if (!steps.list)
        bail_out("out of memory");
    for (int64_t s = 0; s < plain->n_steps; s++) {
        const struct vbs_profile_row *row = random_rows_row(profile, &plain->steps[s]);
        int layer = plain->steps[s].layer;

        if (row->weight_bytes == 0 || memory.resident[layer][row->format] ||
            !random_once_in(rng, 8))
            continue;
        memory.loaded[layer][row->format] = memory.resident[layer][row->format] = true;
        add_transfer(&steps, profile, layer, row->format, VBS_STEP_LOAD, true);
    }
    for (int64_t s = 0; s < plain->n_steps; s++)
        add_step(rng, profile, plain, s, &memory, &steps);
    schedule.weights = VBS_WEIGHTS_INCLUDED;
    schedule.copy = link;
    schedule.memory_bytes = INT64_MAX;
    schedule.n_steps = steps.n;
    schedule.steps = steps.list;
    return schedule;
}

/* Compares the bound with a schedule in the memory that it takes. */
static bool is_above_bound(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    const struct vbs_problem problem = {.profile = profile,
                                        .request = schedule->request,
                                        .io = schedule->io,
                                        .weights = VBS_WEIGHTS_INCLUDED,
                                        .copy = schedule->copy};
    struct vbs_ctx ctx = {0};
    struct vbs_replay *replay = NULL;
    double bound_us;
    bool above;

    if (vbs_replay_run(&ctx, profile, schedule, -1, false, &replay) != VBS_OK)
        bail_out("the replay refuses a random schedule: %s", vbs_detail(&ctx));
    if (vbs_bound_us(&ctx, &problem, replay->peak_bytes, &bound_us) != VBS_OK)
        bail_out("no bound: %s", vbs_detail(&ctx));
    above = bound_us <= replay->time_us * (1 + ROUNDING);
    if (!above)
        printf("# bound %g us in %" PRId64 " bytes, where a schedule takes %g\n", bound_us,
               replay->peak_bytes, replay->time_us);
    vbs_replay_free(replay);
    return above;
}

static void bounds_hold(gsl_rng *rng, int n)
{
    bool same = true;
    int n_compared = 0;

    for (int i = 0; i < n && same; i++) {
        struct vbs_profile *profile = random_rows_weighted(rng, 1 + i % 6);
        struct vbs_schedule *plain =
            profile
                ? random_rows_schedule(rng, profile, random_int(rng, 1, 3),
                                       random_once_in(rng, 3) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL)
                : NULL;
        struct vbs_link link = {.source = "given",
                                .latency_us = random_int(rng, 0, 20),
                                .bytes_per_us = random_int(rng, 1, 400)};

        if (plain) {
            struct vbs_schedule schedule = add_loads(rng, profile, plain, link);

            n_compared++;
            same = is_above_bound(profile, &schedule);
            free((void *)(uintptr_t)schedule.steps);
        }
        vbs_schedule_free(plain);
        vbs_profile_free(profile);
    }
    ok(same && n_compared > n / 2, "%d random schedules by rows with loads take the bound or more",
       n_compared);
}

/* ---- tiny problems ---- */

/* Gives whether a plan has slices, which the best of all schedules does not know. */
static bool has_slices(const struct vbs_schedule *schedule)
{
    for (int64_t i = 0; schedule && i < schedule->n_steps; i++)
        if (schedule->steps[i].n_slices > 1)
            return true;
    return false;
}

static struct tiny {
    int n, best, skipped, infeasible, sliced;
    double worst;
} tiny = {.worst = 1};

/* Compares a plan and its bound with the best of all schedules. */
static bool is_no_better(const struct vbs_problem *problem, struct vbs_solver *solver,
                         int64_t memory_bytes)
{
    const struct brute_rows_problem of = {.profile = problem->profile,
                                          .request = (int)problem->request,
                                          .io = problem->io,
                                          .memory_bytes = memory_bytes,
                                          .weights = true,
                                          .link = problem->copy,
                                          .max_states = MAX_STATES};
    struct vbs_schedule *schedule = plan(solver, memory_bytes);
    double best_us = brute_rows_best_us(&of), bound_us = 0;
    double time_us = schedule ? schedule->predicted.time_us : HUGE_VAL;
    struct vbs_ctx ctx = {0};
    bool same = best_us < 0;

    if (same) {
        tiny.skipped++;
    } else if (best_us < HUGE_VAL) {
        same = vbs_bound_us(&ctx, problem, memory_bytes, &bound_us) == VBS_OK &&
               bound_us <= best_us * (1 + ROUNDING) &&
               (has_slices(schedule) ? is_true_plan(problem->profile, schedule)
                                     : time_us >= best_us * (1 - ROUNDING));
        tiny.n++;
        tiny.best += time_us <= best_us * (1 + ROUNDING);
        tiny.sliced += has_slices(schedule);
        tiny.infeasible += !schedule;
        if (schedule && time_us / best_us > tiny.worst)
            tiny.worst = time_us / best_us;
    } else {
        same = !schedule;
    }
    if (!same)
        printf("# %" PRId64 " bytes: plan %g, best %g, bound %g\n", memory_bytes, time_us, best_us,
               bound_us);
    vbs_schedule_free(schedule);
    return same;
}

static bool check_tiny(gsl_rng *rng, int i)
{
    struct vbs_profile *profile = random_rows_weighted_chain(rng, 1 + i % 2, 4);
    struct vbs_problem problem = {
        .profile = profile,
        .request = 1 + i % 4 / 3,
        .io = VBS_IO_EXTERNAL,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given",
                 .latency_us = random_int(rng, 0, 3),
                 .bytes_per_us = random_once_in(rng, 8) ? 0 : random_int(rng, 1, 20)}};
    struct vbs_problem without = problem;
    struct vbs_solver *solver, *whole;
    int64_t least, most;
    bool same = true;

    if (!profile)
        bail_out("no profile");
    without.whole_samples = true;
    solver = open_solver("joint", &problem);
    whole = open_solver("joint", &without);
    least = vbs_solver_least_bytes(solver) * 3 / 4;
    most = vbs_solver_least_bytes(whole) * 3 / 2;
    for (int m = 0; m <= 6 && same; m++)
        same = is_no_better(&problem, solver, least + (most - least) * m / 6);
    if (!same)
        printf("# tiny profile %d\n", i);
    vbs_solver_free(solver);
    vbs_solver_free(whole);
    vbs_profile_free(profile);
    return same;
}

static void tiny_plans_are_no_better(gsl_rng *rng, int n)
{
    bool same = true;

    for (int i = 0; i < n && same; i++)
        same = check_tiny(rng, i);
    ok(same, "no plan without slices and no bound is better than the best of all schedules");
    printf("# %d budgets of tiny problems: %d planned best, %d in slices, at %d no plan where "
           "there is one, %d too large; the worst plan takes %.3f of the best time\n",
           tiny.n, tiny.best, tiny.sliced, tiny.infeasible, tiny.skipped, tiny.worst);
    ok(tiny.n > 2 * n, "enough of them can be compared");
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);

    gsl_rng_set(rng, trials.seed);
    plans_are_true(rng, trials.n);
    bounds_hold(rng, trials.n * N_SCHEDULES);
    tiny_plans_are_no_better(rng, (trials.n + N_TINY - 1) / N_TINY);
    gsl_rng_free(rng);
    return done_testing();
}
