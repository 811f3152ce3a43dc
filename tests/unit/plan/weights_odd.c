/*
 * Odd cases of weights inside the budget: counted by hand at exact breakpoints and one byte below,
 * nothing to copy from, copies that never end, one layer larger than the budget, the most extreme
 * numbers of a profile, and requests to stop.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "support/tap.h"
#include "support/trials.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED       31337
#define N_PROFILES 12
#define N_BUDGETS  6
#define ROUNDING   1e-9
#define MIB        (INT64_C(1) << 20)

/* A layer of a chain at batch 1. */
struct link {
    int64_t in_bytes, out_bytes, weight_bytes;
    int channels;
    double time_us;
};

/* first_row: a further row of the first layer, or null */
static struct vbs_profile *chain_with(const struct link *links, int n,
                                      const struct vbs_profile_row *first_row)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= n; k++) {
        const struct link *link = &links[k - 1];
        const int input = k - 1;
        const struct vbs_profile_layer layer = {.name = "L",
                                                .kind = "conv",
                                                .n_inputs = 1,
                                                .inputs = &input,
                                                .in_bytes = link->in_bytes,
                                                .out_bytes = link->out_bytes,
                                                .weight_bytes = link->weight_bytes,
                                                .channels = link->channels};

        status = vbs_profile_builder_layer(NULL, builder, &layer);
        if (status == VBS_OK)
            status = vbs_profile_builder_row(NULL, builder, k, 1, "only",
                                             &(struct vbs_profile_row){.time_us = link->time_us});
        if (status == VBS_OK && k == 1 && first_row)
            status = vbs_profile_builder_row(NULL, builder, k, 1, "fast", first_row);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(NULL, builder, &profile);
    vbs_profile_builder_free(builder);
    if (status != VBS_OK)
        bail_out("no chain");
    return profile;
}

static struct vbs_profile *chain(const struct link *links, int n)
{
    return chain_with(links, n, NULL);
}

/* The first layer takes 10 us without weights, the second 10 us with 100 bytes in 2 channels. The
 * first step takes 200 bytes, the second 120 and its weights in memory. */
static struct vbs_profile *pool_first(void)
{
    static const struct link LINKS[] = {{100, 100, 0, 0, 10}, {100, 20, 100, 2, 10}};

    return chain(LINKS, 2);
}

static struct vbs_problem included(const struct vbs_profile *profile, int64_t request,
                                   double latency_us, double bytes_per_us)
{
    return (struct vbs_problem){
        .profile = profile,
        .request = request,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given", .latency_us = latency_us, .bytes_per_us = bytes_per_us}};
}

static struct vbs_solver *open_solver(const struct vbs_problem *problem, const char *name)
{
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        printf("# %s: %s\n", name, vbs_detail(&ctx));
    return solver;
}

/* Gives the time by the replay; HUGE_VAL: infeasible, NAN: an error, or a plan that differs from
 * its prediction. */
static double replayed_us(const struct vbs_problem *problem, struct vbs_solver *solver,
                          int64_t budget)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = solver ? vbs_solver_plan(&ctx, solver, budget, &schedule) : VBS_IO;
    double time_us = NAN;

    if (status == VBS_INFEASIBLE)
        return HUGE_VAL;
    if (status == VBS_OK)
        status = vbs_replay_run(&ctx, problem->profile, schedule, -1, false, &replay);
    if (status == VBS_OK && replay->fits && replay->in_time &&
        replay->peak_bytes == schedule->predicted.peak_bytes &&
        fabs(replay->time_us - schedule->predicted.time_us) <= ROUNDING * replay->time_us)
        time_us = replay->time_us;
    else if (status == VBS_OK)
        printf("# %g us in %" PRId64 " bytes instead of %g in %" PRId64 "%s\n", replay->time_us,
               replay->peak_bytes, schedule->predicted.time_us, schedule->predicted.peak_bytes,
               replay->in_time ? "" : ", too late");
    else
        printf("# %s\n", vbs_detail(&ctx));
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    return time_us;
}

static double time_of(const struct vbs_problem *problem, const char *name, int64_t budget)
{
    struct vbs_solver *solver = open_solver(problem, name);
    double time_us = replayed_us(problem, solver, budget);

    vbs_solver_free(solver);
    return time_us;
}

static int64_t least_of(const struct vbs_problem *problem, const char *name)
{
    struct vbs_solver *solver = open_solver(problem, name);
    int64_t least = solver ? vbs_solver_least_bytes(solver) : -1;

    vbs_solver_free(solver);
    return least;
}

/* Checks that the frontier has exactly these points, and that the plans there and one byte below
 * agree. */
static void check_frontier(const struct vbs_problem *problem, const char *name,
                           const struct vbs_frontier_point *points, int n, const char *text)
{
    struct vbs_solver *solver = open_solver(problem, name);
    struct vbs_frontier *frontier = NULL;
    bool same =
        solver && vbs_solver_frontier(NULL, solver, &frontier) == VBS_OK && frontier->n_points == n;

    for (int i = 0; frontier && i < frontier->n_points; i++)
        if (i >= n || frontier->points[i].memory_bytes != points[i].memory_bytes ||
            frontier->points[i].time_us != points[i].time_us) {
            printf("# %s: %g us from %" PRId64 " bytes\n", name, frontier->points[i].time_us,
                   frontier->points[i].memory_bytes);
            same = false;
        }
    for (int i = 0; same && i < n; i++)
        same = replayed_us(problem, solver, points[i].memory_bytes) == points[i].time_us &&
               replayed_us(problem, solver, points[i].memory_bytes - 1) ==
                   (i == 0 ? HUGE_VAL : points[i - 1].time_us);
    ok(same, "%s", text);
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
}

#define POINTS(...)                                                                                \
    (const struct vbs_frontier_point[])                                                            \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void test_pool_first(void)
{
    struct vbs_profile *profile = pool_first();
    struct vbs_problem problem = included(profile, 1, 0, 10);

    check_frontier(&problem, "vdnn", POINTS({220, 30}, {300, 20}), 2,
                   "a layer without weights first: vdnn copies beside it where both fit");
    /* Two slices where the whole does not fit beside the second step; the first of two beside the
     * first step from 250 on, the second beside the first's computing. */
    check_frontier(&problem, "mmcnn", POINTS({200, 30}, {250, 20}), 2, "  mmcnn a slice of them");
    /* At 220 the second slice comes while the first is computed: 10, 5 + 5, 5. */
    check_frontier(&problem, "joint", POINTS({200, 30}, {220, 25}, {250, 20}), 3,
                   "  joint the second slice in less");
    check_frontier(&problem, "dp-vbs+", POINTS({300, 20}), 1, "  and dp-vbs+ keeps them all");
    problem.copy.bytes_per_us = 0;
    check_frontier(&problem, "joint", POINTS({300, 20}), 1,
                   "where nothing can be copied so does joint");
    is_int(least_of(&problem, "vdnn"), INT64_MAX, "  and vdnn has no plan in any memory");
    is_int(least_of(&problem, "mmcnn"), INT64_MAX, "  nor has mmcnn");
    ok(isinf(time_of(&problem, "vdnn", INT64_MAX)), "  which it says when asked for one");
    vbs_profile_free(profile);
}

/* ---- Latency ---- */

static void test_latency(void)
{
    struct vbs_profile *profile = pool_first();
    struct vbs_problem problem = included(profile, 1, 0, 10);

    problem.latency_us = 29;
    is_int(least_of(&problem, "mmcnn"), 250, "waiting for copies counts in the latency of mmcnn");
    is_int(least_of(&problem, "vdnn"), 300, "  of vdnn");
    is_int(least_of(&problem, "joint"), 220, "  and of joint");
    problem.latency_us = 20;
    is_int(least_of(&problem, "joint"), 250, "a bound that is just kept is kept");
    problem.latency_us = 19.99;
    is_int(least_of(&problem, "joint"), INT64_MAX, "  and one below is not");
    ok(isinf(time_of(&problem, "joint", INT64_MAX)), "  in any memory");
    /* Copies of 1e14 us, in whole ticks, would be beyond what can be counted. */
    problem = included(profile, 1, 0, 1e-12);
    problem.latency_us = 29;
    is_int(least_of(&problem, "mmcnn"), INT64_MAX, "copies that take years answer too late");
    is_int(least_of(&problem, "vdnn"), INT64_MAX, "  whole ones too");
    is_int(least_of(&problem, "joint"), 300, "  so that joint keeps all weights");
    vbs_profile_free(profile);
}

/* Inputs are there from the start with resident io, so that the whole request is bounded. */
static void test_resident_latency(void)
{
    struct vbs_profile *profile = pool_first();
    struct vbs_problem problem = included(profile, 2, 0, 10);

    problem.io = VBS_IO_RESIDENT;
    problem.latency_us = 40;
    is_near(time_of(&problem, "joint", INT64_MAX), 40, 0, "two samples in 40 us answer within 40");
    problem.latency_us = 39.99;
    ok(isinf(time_of(&problem, "joint", INT64_MAX)), "  and never within less");
    vbs_profile_free(profile);
}

/* ---- A fat layer ---- */

/* The second layer's 1000 bytes come in 10 channels of 1 us each. */
static void test_fat_layer(void)
{
    static const struct link LINKS[] = {{10, 10, 20, 4, 4}, {10, 10, 1000, 10, 10}};
    struct vbs_profile *profile = chain(LINKS, 2);
    struct vbs_problem problem = included(profile, 1, 0, 100);

    is_int(least_of(&problem, "dp-vbs+"), 1040, "a layer larger than the budget: all must fit");
    is_int(least_of(&problem, "vdnn"), 1020, "  or the one");
    is_int(least_of(&problem, "mmcnn"), 120, "  or one channel of it");
    is_int(least_of(&problem, "joint"), 120, "  with joint too");
    is_near(time_of(&problem, "mmcnn", 1019), time_of(&problem, "mmcnn", 120), 30,
            "mmcnn plans below what the layer takes");
    ok(time_of(&problem, "joint", 320) <= 15 + ROUNDING,
       "with two channels and more slices come in while others are computed");
    problem.request = 3;
    ok(time_of(&problem, "joint", 320) < 3 * 15 - 1 && time_of(&problem, "joint", 120) < HUGE_VAL,
       "  and no slice comes in more than once for all samples");
    vbs_profile_free(profile);
}

/* Makes one layer of 100 bytes in either of two formats: the second is faster for one sample, the
 * first for two. */
static struct vbs_profile *two_formats(void)
{
    static const double TIMES[2][2] = {{9, 10}, {6, 20}}; /* [format][batch - 1] */
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    const int input = 0;
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    if (status == VBS_OK)
        status = vbs_profile_builder_layer(NULL, builder,
                                           &(struct vbs_profile_layer){.name = "L",
                                                                       .kind = "fc",
                                                                       .n_inputs = 1,
                                                                       .inputs = &input,
                                                                       .in_bytes = 1,
                                                                       .out_bytes = 1,
                                                                       .weight_bytes = 100});
    for (int format = 0; format < 2; format++)
        for (int b = 1; status == VBS_OK && b <= 2; b++)
            status = vbs_profile_builder_row(
                NULL, builder, 1, b, format ? "b" : "a",
                &(struct vbs_profile_row){.time_us = TIMES[format][b - 1], .format = format});
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(NULL, builder, &profile);
    vbs_profile_builder_free(builder);
    if (status != VBS_OK)
        bail_out("no profile of two formats");
    return profile;
}

static void test_formats_of_the_request(void)
{
    struct vbs_profile *profile = two_formats();
    struct vbs_problem problem = included(profile, 1, 0, 0);

    is_near(time_of(&problem, "dp-vbs+", 102), 6, ROUNDING,
            "resident weights are in the format that is best for the request's batches");
    problem.request = 2;
    is_near(time_of(&problem, "dp-vbs+", 104), 10, ROUNDING, "  which is another for a larger one");
    problem.request = 3;
    is_near(time_of(&problem, "dp-vbs+", 104), 19, ROUNDING, "  or one of them");
    is_near(time_of(&problem, "dp-vbs+", 204), 16, ROUNDING, "  and both where both fit");
    vbs_profile_free(profile);
}

/* One layer of 100 bytes, which runs one sample with one algorithm and two with another. */
static struct vbs_profile *no_common_algorithm(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    const int input = 0;
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    if (status == VBS_OK)
        status = vbs_profile_builder_layer(NULL, builder,
                                           &(struct vbs_profile_layer){.name = "L",
                                                                       .kind = "fc",
                                                                       .n_inputs = 1,
                                                                       .inputs = &input,
                                                                       .in_bytes = 1,
                                                                       .out_bytes = 1,
                                                                       .weight_bytes = 100});
    for (int b = 1; status == VBS_OK && b <= 2; b++)
        status = vbs_profile_builder_row(NULL, builder, 1, b, b == 1 ? "single" : "double",
                                         &(struct vbs_profile_row){.time_us = b == 1 ? 10 : 12});
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(NULL, builder, &profile);
    vbs_profile_builder_free(builder);
    if (status != VBS_OK)
        bail_out("no profile without a common algorithm");
    return profile;
}

static void test_no_common_algorithm(void)
{
    struct vbs_profile *profile = no_common_algorithm();
    struct vbs_problem problem = included(profile, 3, 0, 100);

    is_near(time_of(&problem, "joint", 104), 22, 1e-6,
            "joint runs three samples as two and one, which no algorithm does both");
    problem.request = 5;
    is_near(time_of(&problem, "joint", 104), 34, 1e-6, "  and five");
    problem.request = 400;
    is_near(time_of(&problem, "joint", 104), 2400, 1e-6, "  and more than it plans at once");
    vbs_profile_free(profile);
}

/* Where some channels have no byte of their own, no slice is without one. */
static void test_more_channels_than_bytes(void)
{
    static const struct link LINKS[] = {{4, 4, 7, 20, 5}, {4, 4, 3, 0, 5}};
    struct vbs_profile *profile = chain(LINKS, 2);
    struct vbs_problem problem = included(profile, 2, 0.5, 1);

    for (int64_t budget = 8; budget <= 20; budget++)
        if (isnan(time_of(&problem, "mmcnn", budget)) || isnan(time_of(&problem, "joint", budget)))
            ok(false, "fewer bytes than channels in %" PRId64 " bytes", budget);
    ok(isfinite(time_of(&problem, "joint", 18)),
       "weights of fewer bytes than channels are planned");
    vbs_profile_free(profile);
}

/* ---- Numbers as far out as they go ---- */

struct tally {
    int n, n_plans, errors, slower, not_found;
};

static const char *const STREAMERS[] = {"vdnn", "mmcnn", "joint"};

static void try_far(gsl_rng *rng, const struct vbs_problem *problem, struct tally *tally)
{
    struct vbs_solver *plus = open_solver(problem, "dp-vbs+");
    struct vbs_solver *solvers[3];
    int64_t budget = plus ? vbs_solver_least_bytes(plus) : INT64_MAX;

    tally->n++;
    for (int s = 0; s < 3; s++) {
        solvers[s] = open_solver(problem, STREAMERS[s]);
        tally->not_found += !solvers[s];
    }
    for (int b = 0; b < N_BUDGETS; b++) {
        double plus_us = replayed_us(problem, plus, budget), times_us[3];

        for (int s = 0; s < 3; s++) {
            times_us[s] = replayed_us(problem, solvers[s], budget);
            tally->errors += isnan(times_us[s]) != 0;
        }
        tally->errors += isnan(plus_us) != 0;
        tally->n_plans += isfinite(times_us[2]);
        tally->slower += times_us[2] > plus_us * (1 + ROUNDING);
        budget = (int64_t)ldexp(1 + gsl_rng_uniform(rng), random_int(rng, 0, 61));
    }
    for (int s = 0; s < 3; s++)
        vbs_solver_free(solvers[s]);
    vbs_solver_free(plus);
}

static void test_far_numbers(gsl_rng *rng)
{
    static const double LATENCIES[] = {0, 1e-3, 1e6, 1e18};
    static const double RATES[] = {0, 1e-300, 1e-12, 1, 1e4, 1e18};
    struct tally tally = {0};
    int n = trials_some(N_PROFILES);

    for (int i = 0; i < n; i++) {
        struct vbs_profile *profile = hostile_profile(NULL, rng, false);
        struct vbs_problem problem;
        double latency_us, bytes_per_us;

        if (!profile)
            continue;
        /* Drawn one by one, since compilers evaluate arguments in different orders. */
        latency_us = LATENCIES[random_int(rng, 0, 3)];
        bytes_per_us = RATES[random_int(rng, 0, 5)];
        problem = included(profile, random_int(rng, 1, 3), latency_us, bytes_per_us);
        problem.io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL;
        if (random_once_in(rng, 3))
            problem.latency_us = ldexp(1, random_int(rng, 45, 59)); /* a tick may be 16 us */
        try_far(rng, &problem, &tally);
        vbs_profile_free(profile);
    }
    /* Two profiles, the fewest that are tried, may have one plan each. */
    ok(tally.n > n / 2 && tally.n_plans >= tally.n, "profiles of any numbers are tried");
    is_int(tally.not_found, 0, "  their solvers are had");
    is_int(tally.errors, 0, "  their plans are as the replay finds them");
    is_int(tally.slower, 0, "  and joint is never slower than dp-vbs+ beside resident weights");
}

/* ---- Delayed layers ---- */

/* The last layer has weights of 8 MiB, which take 800 us to copy, and little to compute. In 6 MiB
 * their copies are hidden only where the last layer of some samples runs among the steps of the
 * layers before for the samples that follow. */
static void test_delayed_layer(void)
{
    enum { N_LAYERS = 9, REQUEST = 16 };
    struct link links[N_LAYERS];
    struct vbs_profile *profile;
    struct vbs_problem problem;
    double time_us, compute_us = REQUEST * (8 * 125 + 10);

    for (int k = 0; k < N_LAYERS - 1; k++)
        links[k] = (struct link){MIB, MIB, 0, 0, 125};
    links[N_LAYERS - 1] = (struct link){MIB, 1024, 8 * MIB, 64, 10};
    profile = chain(links, N_LAYERS);
    problem = included(profile, REQUEST, 0, (double)MIB / 100);
    time_us = time_of(&problem, "joint", 6 * MIB);
    ok(time_us <= 1.04 * compute_us, "copies for the last layer run beside others: %.0f us of %.0f",
       time_us, compute_us);
    vbs_profile_free(profile);
}

/* ---- The bound ---- */

static void bound_is(const struct vbs_problem *problem, int64_t budget, double expected_us)
{
    double bound_us = 0, time_us = time_of(problem, "joint", budget);
    enum vbs_status status = vbs_bound_us(NULL, problem, budget, &bound_us);

    ok(status == VBS_OK && fabs(bound_us - expected_us) <= ROUNDING * expected_us &&
           time_us >= bound_us * (1 - ROUNDING),
       "in %d bytes the bound is %g us, of %g us that joint takes", (int)budget, bound_us, time_us);
}

/* One sample passes a layer without weights, slowly or in 100 bytes of workspace, and a layer with
 * 100 bytes of weights, which take 1 us each. In 320 bytes 20 of them lie beside the fast row, and
 * 80 are copied behind it; beside the slow row there is room for all. */
static void test_late_copies(void)
{
    static const struct vbs_profile_row FAST = {.time_us = 10, .ws_bytes = 100};
    static const struct link SLOW[] = {{100, 100, 0, 0, 60}, {100, 20, 100, 2, 10}};
    static const struct link SLOWER[] = {{100, 100, 0, 0, 95}, {100, 20, 100, 2, 10}};
    struct vbs_profile *profile = chain_with(SLOW, 2, &FAST);
    struct vbs_profile *slower = chain_with(SLOWER, 2, &FAST);
    struct vbs_problem problem = included(profile, 1, 0, 1), other = included(slower, 1, 0, 1);

    bound_is(&problem, 320, 70);  /* slow, and the second layer, whose weights are resident */
    bound_is(&problem, 220, 140); /* only the slow row fits, and 80 bytes are copied behind it */
    bound_is(&other, 320, 90);    /* fast, and 80 bytes */
    vbs_profile_free(profile);
    vbs_profile_free(slower);
}

/* ---- Stopping ---- */

static void test_stop(void)
{
    struct vbs_profile *profile = pool_first();
    struct vbs_problem problem = included(profile, 2, 0, 10);
    volatile sig_atomic_t stop = 1;

    for (int i = 0; i < 3; i++) {
        const struct vbs_planner *planner;
        struct vbs_solver *solver = NULL;
        struct vbs_ctx ctx = {.cancel = &stop};

        if (vbs_planner_find(NULL, STREAMERS[i], &planner) != VBS_OK)
            continue;
        is_int(vbs_solver_new(&ctx, planner, &problem, NULL, &solver), VBS_INTERRUPTED,
               STREAMERS[i]);
        ok(!solver && ctx.status == VBS_INTERRUPTED, "  stops when it is asked to");
        vbs_solver_free(solver);
    }
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    gsl_rng_set(rng, seed);
    test_pool_first();
    test_latency();
    test_resident_latency();
    test_fat_layer();
    test_formats_of_the_request();
    test_no_common_algorithm();
    test_more_channels_than_bytes();
    test_delayed_layer();
    test_late_copies();
    test_stop();
    printf("# seed %lu\n", seed);
    test_far_numbers(rng);
    gsl_rng_free(rng);
    return done_testing();
}
