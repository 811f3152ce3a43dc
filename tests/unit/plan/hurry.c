/*
 * Long networks: plans come before the time is up, or the caller stops the planner. Groups of
 * layers (plan/dp/group.c) are what the first of them are made of.
 */
#include "plan/dp/dp.h"
#include "support/planner.h"
#include "support/tap.h"
#include "support/trials.h"
#include "vbslab/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OVER_S   1e-9               /* a limit that is over when it begins */
#define FOREVER  1e9                /* a limit that no test waits for */
#define ALL      ((int64_t)1 << 40) /* a budget in which everything fits */
#define REQUEST  4
#define SOME     4000 /* a budget that few weights fit in */
#define ROUNDING 1e-9

static unsigned next_number(unsigned *seed)
{
    *seed = *seed * 1103515245 + 12345;
    return *seed >> 16;
}

/* Makes n layers, a chain, or one in which every third layer also reads a tensor from before. Every
 * third layer takes less time sample by sample, the others on many. */
static struct vbs_profile *make_profile(int n, bool skips, unsigned seed)
{
    size_t size = (size_t)n * 700 + 200, used;
    char *text = malloc(size);
    int *out = calloc((size_t)n + 1, sizeof *out);
    struct vbs_profile *profile = NULL;

    if (!text || !out)
        bail_out("no memory");
    used = (size_t)snprintf(text, size,
                            "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,"
                            "ws_bytes,weight_bytes,in_place,channels\n");
    out[0] = 100;
    for (int k = 1; k <= n; k++) {
        int other = skips && k % 3 == 0 ? k - 3 : -1, in;
        int us = 3 + (int)(next_number(&seed) % 9);
        char inputs[32];

        out[k] = 20 + (int)(next_number(&seed) % 200);
        in = out[k - 1] + (other >= 0 ? out[other] : 0);
        snprintf(inputs, sizeof inputs, other >= 0 ? "%d;%d" : "%d", k - 1, other);
        for (int b = 1; b <= 4; b *= 2)
            for (int a = 0; a < 2; a++)
                used += (size_t)snprintf(
                    text + used, size - used, "%d,L%d,conv,%s,%d,a%d,%d,%d,%d,%d,%d,0,%d\n", k, k,
                    inputs, b, a, (a ? us : 2 * us) + b * 2 + (k % 3 == 0 ? 3 * b * b : 0), b * in,
                    b * out[k], a ? 60 * b : 0, 480, 12);
    }
    if (vbs_profile_parse_csv(NULL, "long", text, used, &profile) != VBS_OK)
        bail_out("no profile");
    free(out);
    free(text);
    return profile;
}

static struct vbs_problem problem_of(const struct vbs_profile *profile, const char *planner)
{
    bool included = vbs_planner_transfers(planner_named(planner));

    return (struct vbs_problem){.profile = profile,
                                .request = REQUEST,
                                .weights = included ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED,
                                .copy = {.source = "given", .bytes_per_us = included ? 100 : 0}};
}

/* Whether the replay, which knows nothing of planners, finds the schedule valid within a budget. */
static bool holds(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                  int64_t memory_bytes)
{
    struct vbs_replay *replay = NULL;
    bool valid = schedule &&
                 vbs_replay_run(NULL, profile, schedule, memory_bytes, false, &replay) == VBS_OK &&
                 replay->fits && fabs(replay->time_us / schedule->predicted.time_us - 1) < ROUNDING;

    vbs_replay_free(replay);
    return valid;
}

/* ---- Groups ---- */

static int most_of(const struct vbs_chain *chain)
{
    int most = chain->n_items;

    for (int i = 0; i < chain->n_items; i++)
        if (chain->items[i].subchain) {
            int inside = most_of(chain->items[i].subchain);

            most = inside > most ? inside : most;
        }
    return most;
}

/* Whether the cuts of a grouped chain have the bytes of the line at the same places. */
static bool has_cuts(const struct vbs_chain *line, const struct vbs_chain *chain, int *at)
{
    bool same = chain->cut_bytes[0] == line->cut_bytes[*at];

    for (int i = 0; i < chain->n_items; i++) {
        if (chain->items[i].subchain)
            same = has_cuts(line, chain->items[i].subchain, at) && same;
        else
            ++*at;
        same = same && chain->cut_bytes[i + 1] == line->cut_bytes[*at];
    }
    return same;
}

static void group(int n, int most_items)
{
    struct vbs_profile *profile = make_profile(n, false, (unsigned)n);
    struct vbs_problem problem = problem_of(profile, "dp-vbs+");
    struct vbs_chain line, grouped;
    struct vbs_arena arena = {0};
    struct vbs_task task;
    int *order = calloc(2 * (size_t)n, sizeof *order), at = 0;
    bool in_order;

    for (int i = 0; order && i < n; i++)
        order[i] = i + 1;
    if (!order || vbs_task_init(NULL, &task, &problem) != VBS_OK ||
        vbs_line_build(NULL, &task, &arena, order, &line) != VBS_OK ||
        vbs_chain_group(NULL, &arena, &line, most_items, &grouped) != VBS_OK)
        bail_out("no groups");
    in_order = vbs_chain_layers(&grouped, order + n) == n &&
               memcmp(order, order + n, (size_t)n * sizeof *order) == 0;
    ok(in_order && most_of(&grouped) <= most_items && has_cuts(&line, &grouped, &at),
       "%d layers in groups of %d keep their order and their bytes", n, most_items);
    vbs_task_clear(&task);
    vbs_arena_clear(&arena);
    free(order);
    vbs_profile_free(profile);
}

/* Returns the time of dp-vbs+ on the task, with its chains in groups, within a budget. */
static double time_in_groups(struct vbs_task *task, int most_items, int64_t memory_bytes)
{
    struct vbs_draft draft = {0};
    double time_us = HUGE_VAL;
    void *self = NULL;

    task->most_items = most_items;
    if (vbs_planner_dp_vbs_plus.open(NULL, task, &self) != VBS_OK)
        bail_out("no plans");
    if (vbs_planner_dp_vbs_plus.plan(NULL, self, memory_bytes, &draft) == VBS_OK)
        time_us = vbs_step_list_us(task, &draft.steps);
    vbs_step_list_clear(&draft.steps);
    vbs_planner_dp_vbs_plus.close(self);
    return time_us;
}

/* Smaller groups allow fewer cuttings: they are never faster, and mostly as fast. */
static void compare_groups(bool skips)
{
    int n_trials = trials_some(20), n_worse = 0, n_slower = 0, n = 0;

    for (int seed = 1; seed <= n_trials; seed++) {
        struct vbs_profile *profile = make_profile(30 + seed, skips, (unsigned)seed);
        struct vbs_problem problem = problem_of(profile, "dp-vbs+");
        struct vbs_task task;

        if (vbs_task_init(NULL, &task, &problem) != VBS_OK)
            bail_out("no task");
        for (int64_t bytes = 600; bytes < 1800; bytes += 200, n++) {
            double small_us = time_in_groups(&task, 4, bytes);
            double all_us = time_in_groups(&task, 0, bytes);

            n_worse += small_us < all_us * (1 - ROUNDING);
            n_slower += small_us > all_us * 1.05;
        }
        vbs_task_clear(&task);
        vbs_profile_free(profile);
    }
    ok(n_worse == 0, "cuttings of groups are cuttings");
    ok(n_slower <= n / 10, "and rarely 5%% slower than the best: %d of %d", n_slower, n);
}

/* ---- Time ---- */

static struct vbs_schedule *plan_within(const struct vbs_problem *problem, const char *planner,
                                        int64_t memory_bytes, double limit_s, struct vbs_ctx *ctx,
                                        struct vbs_progress progress)
{
    struct vbs_solver_options options = {.struct_size = sizeof options,
                                         .most_bytes = memory_bytes,
                                         .time_limit_s = limit_s,
                                         .budgets = &memory_bytes,
                                         .n_budgets = limit_s > 0,
                                         .progress = progress};
    struct vbs_schedule *schedule = NULL;
    struct vbs_solver *solver = NULL;

    if (vbs_solver_new(ctx, planner_named(planner), problem, &options, &solver) == VBS_OK &&
        vbs_solver_plan(ctx, solver, memory_bytes, &schedule) != VBS_OK)
        schedule = NULL;
    vbs_solver_free(solver);
    return schedule;
}

/* A limit that is over at once leaves a plan in every budget that has one. */
static void no_time(const char *planner, bool skips)
{
    struct vbs_profile *profile = make_profile(300, skips, 5);
    struct vbs_problem problem = problem_of(profile, planner);
    int64_t budgets[] = {2400, 4000, 20000, 80000, ALL};
    int n_held = 0, n = sizeof budgets / sizeof *budgets;

    for (int i = 0; i < n; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_schedule *schedule =
            plan_within(&problem, planner, budgets[i], OVER_S, &ctx, (struct vbs_progress){0});

        n_held += holds(profile, schedule, budgets[i]) && !schedule->solver.interrupted;
        if (!schedule)
            printf("# %" PRId64 " bytes: %s\n", budgets[i], vbs_detail(&ctx));
        vbs_schedule_free(schedule);
    }
    ok(n_held == n, "%s has plans for 300 layers in no time: %d of %d", planner, n_held, n);
    vbs_profile_free(profile);
}

/* Where everything fits, the plan is as fast as its bound, and the search ends. If it did not, this
 * would take hours. */
static void all_fits(const char *planner, int n_layers)
{
    struct vbs_profile *profile = make_profile(n_layers, false, 7);
    struct vbs_problem problem = problem_of(profile, planner);
    struct vbs_ctx ctx = {0};
    struct vbs_schedule *schedule =
        plan_within(&problem, planner, ALL, FOREVER, &ctx, (struct vbs_progress){0});

    ok(holds(profile, schedule, ALL) && schedule->bound.gap_percent < ROUNDING,
       "%s has the fastest plan for %d layers where all fits: %s", planner, n_layers,
       vbs_detail(&ctx));
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
}

/* Stops the planner at its nth report. */
struct stopper {
    volatile sig_atomic_t stop;
    int left;
};

static void stop(void *self, double done, double left_s, const char *text)
{
    struct stopper *stopper = self;

    (void)done, (void)left_s, (void)text;
    if (--stopper->left == 0)
        stopper->stop = 1;
}

/* Stops the planner later and later until it has a plan by then. It does not know that one budget
 * is all that it is asked for, so that it does not end by itself. */
static void stopped(const char *planner)
{
    struct vbs_profile *profile = make_profile(700, true, 11);
    struct vbs_problem problem = problem_of(profile, planner);
    struct vbs_schedule *schedule = NULL;

    for (int left = 1; !schedule && left < 1000; left *= 2) {
        struct stopper stopper = {.left = left};
        struct vbs_ctx ctx = {.cancel = &stopper.stop};

        schedule = plan_within(&problem, planner, SOME, 0, &ctx,
                               (struct vbs_progress){.self = &stopper, .report = stop});
    }
    ok(holds(profile, schedule, SOME), "%s that is stopped has the best plan so far", planner);
    ok(schedule && schedule->solver.interrupted && schedule->bound.time_us > 0,
       "it says so, and has a bound");
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
}

int main(void)
{
    for (int n = 9; n <= 1000; n = 3 * n + 1)
        for (int most = 2; most <= 16; most *= 2)
            group(n, most);
    compare_groups(false);
    compare_groups(true);
    no_time("dp-vbs+", false);
    no_time("dp-vbs+", true);
    no_time("joint", false);
    no_time("joint", true);
    all_fits("joint", 1000);
    stopped("dp-vbs+");
    stopped("joint");
    return done_testing();
}
