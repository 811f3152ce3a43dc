/*
 * A comparison plans and judges at every budget with every planner, chooses sensible budgets where
 * none are given, and refuses problems that do not belong together.
 */
#include "cases/random_profile.h"
#include "cases/report_sample.h"
#include "report/compare/compare.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED   20240611
#define TRIALS 60

/* The example with a concat behind its first layer. */
static struct vbs_profile *with_concat(void)
{
    static const char TEXT[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place\n1,L1,conv,0,1,default,4,1,1,1,0,0\n2,join,concat,1,1,default,1,1,1,0,0,0\n"
        "3,L2,conv,2,1,default,4,1,1,4,0,0\n4,L3,conv,3,1,default,4,1,1,1,0,0\n";
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_profile_parse_csv(&ctx, "joined", TEXT, strlen(TEXT), &profile) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return profile;
}

static enum vbs_status compare_with(struct vbs_ctx *ctx, const struct vbs_problem *problem,
                                    const struct vbs_profile *judge,
                                    const struct vbs_byte_range *budgets,
                                    const struct vbs_planner *const *planners, int n_planners,
                                    struct vbs_compare **compare)
{
    struct vbs_compare_options options = {.struct_size = sizeof(struct vbs_compare_options),
                                          .judge = judge,
                                          .budgets = budgets,
                                          .planners = planners,
                                          .n_planners = n_planners};

    return vbs_compare_run(ctx, problem, &options, compare);
}

static const struct vbs_planner *find(const char *name)
{
    const struct vbs_planner *planner;

    if (vbs_planner_find(NULL, name, &planner) != VBS_OK)
        exit(1);
    return planner;
}

static const struct vbs_compare_row *row_of(const struct vbs_compare *compare, int b,
                                            const char *name)
{
    for (int p = 0; p < compare->n_planners; p++)
        if (compare->planners[p] == find(name))
            return &compare->rows[b * compare->n_planners + p];
    printf("# no row of %s\n", name);
    exit(1);
}

static void gains_are_told_over_baselines(void)
{
    for (int i = 0; i < VBS_N_BASELINES; i++) {
        const struct vbs_planner *planner = find(vbs_gains_baseline(i));

        ok(vbs_planner_is_baseline(planner) && vbs_planner_transfers(planner) == (i >= VBS_N_MADE),
           "%s is a baseline, planned %s", vbs_gains_baseline(i),
           i < VBS_N_MADE ? "always" : "where it is compared");
    }
}

static void example_of_the_paper(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_byte_range budgets = {4, 7, 3, 0};
    const struct vbs_compare_row *row;
    struct vbs_compare *compare = NULL;
    int n_planners = 0;

    for (int i = 0; vbs_planner_at(i); i++)
        n_planners +=
            !vbs_planner_transfers(vbs_planner_at(i)) && !vbs_planner_estimates(vbs_planner_at(i));
    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_OK,
       "the example of VBS III is compared: %s", ctx.detail);
    if (!compare)
        exit(1);
    is_int(compare->n_planners, n_planners,
           "no list of planners means all that plan without weights");
    is_int(compare->n_budgets, 2, "two budgets");
    ok(compare->self_judged, "without a judge the profile judges itself");
    row = row_of(compare, 1, "dp-vbs");
    is_near(row->per_sample_us, 10, 0, "dp-vbs takes 10 per sample in 7");
    is_near(row_of(compare, 1, "fbs")->per_sample_us, 12, 0, "fbs takes 12");
    is_near(row->samples_per_s, 1e5, 1e-9, "which are 100000 samples per second");
    is_near(row->gain_over_fbs.percent, 100.0 / 6, 1e-12, "a sixth less time");
    is_near(row->gain_over_fbs_best.percent, 100.0 / 6, 1e-12, "than fbs-best too");
    is_near(row->gap_percent, 100 * (20 - compare->bound_us[1]) / compare->bound_us[1], 1e-12,
            "the gap is above the bound");
    ok(row->min_batch == 1 && row->max_batch == 2, "batches 1 to 2");
    ok(row->plan_us > 0, "planning took time");
    ok(row->peak_bytes > 0 && row->peak_bytes <= 7, "the peak is within the budget");
    row = row_of(compare, 0, "dp-vbs");
    ok(!row->feasible && row->memory_bytes == 4 && row->least_bytes > 4 &&
           row->per_sample_us == 0 && row->peak_bytes == 0 && row->max_batch == 0 &&
           row->plan_us == 0,
       "an infeasible row is zero but for budget and least budget");
    vbs_compare_free(compare);
    vbs_profile_free(profile);
}

static void gains_do_not_need_the_baselines_in_the_list(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_byte_range budgets = {7, 7, 1, 0};
    const struct vbs_planner *planner = find("dp-vbs");
    struct vbs_compare *compare = NULL;

    ok(compare_with(&ctx, &problem, NULL, &budgets, &planner, 1, &compare) == VBS_OK,
       "dp-vbs alone is compared");
    ok(compare && compare->n_planners == 1, "one planner, one row");
    is_near(compare ? compare->rows[0].gain_over_fbs.percent : 0, 100.0 / 6, 1e-12,
            "its gain over fbs is the same");
    vbs_compare_free(compare);
    vbs_profile_free(profile);
}

static void judge_decides_the_times(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile();
    struct vbs_profile *copy = scaled_example_profile(1, 1), *slow = scaled_example_profile(3, 1);
    struct vbs_profile *hungry = scaled_example_profile(1, 2), *joined = with_concat();
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    struct vbs_profile *other = random_profile(rng, RANDOM_LINEAR, 8);
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_byte_range budgets = {7, 7, 1, 0};
    struct vbs_compare *compare = NULL;

    ok(compare_with(&ctx, &problem, slow, &budgets, NULL, 0, &compare) == VBS_OK,
       "another profile judges");
    ok(compare && !compare->self_judged, "and it is said");
    if (compare) {
        const struct vbs_compare_row *row = row_of(compare, 0, "dp-vbs");

        is_near(row->per_sample_us, 30, 0, "times are the judge's");
        ok(row->gap_percent >= 0 && 2 * row->per_sample_us >= compare->bound_us[0],
           "so is the bound");
    }
    vbs_compare_free(compare);
    compare = NULL;
    ok(compare_with(&ctx, &problem, copy, &budgets, NULL, 0, &compare) == VBS_OK &&
           compare->self_judged,
       "a copy of the profile is no second opinion");
    vbs_compare_free(compare);
    compare = NULL;
    ok(compare_with(&ctx, &problem, hungry, &budgets, NULL, 0, &compare) == VBS_OVER_BUDGET,
       "a judge that counts more memory refuses the schedule: %s", ctx.detail);
    ok(compare_with(&ctx, &problem, other, &budgets, NULL, 0, &compare) == VBS_INVALID,
       "so does one of another network: %s", ctx.detail);
    ok(!compare, "and nothing is given out");
    ok(compare_with(&ctx, &problem, joined, &budgets, NULL, 0, &compare) == VBS_INVALID &&
           strstr(vbs_detail(&ctx), "only the judging one has layer 2 'join' (concat), which a "
                                    "backend that does not copy leaves out"),
       "one with a layer more says which: %s", vbs_detail(&ctx));
    vbs_profile_free(joined);
    gsl_rng_free(rng);
    vbs_profile_free(other);
    vbs_profile_free(hungry);
    vbs_profile_free(slow);
    vbs_profile_free(copy);
    vbs_profile_free(profile);
}

static void bad_questions_are_refused(void)
{
    static const struct vbs_byte_range RANGES[] = {{7, 6, 1, 0},
                                                   {-1, 7, 1, 0},
                                                   {1, 7, 0, 0},
                                                   {0, VBS_MAX_BUDGETS, 1, 0},
                                                   {0, INT64_MAX, 1, 0},
                                                   {3, 7, 1, 1.2},
                                                   {4, 7, 1, 1},
                                                   {4, 7, 1, -2},
                                                   {1000, INT64_MAX, 1, 1.001}};
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_byte_range budgets = {7, 7, 1, 0};
    const struct vbs_planner *planner = find("dp-vbs");
    struct vbs_compare *compare = NULL;
    volatile sig_atomic_t stop = 1;

    for (size_t i = 0; i < sizeof RANGES / sizeof RANGES[0]; i++)
        ok(compare_with(&ctx, &problem, NULL, &RANGES[i], NULL, 0, &compare) == VBS_USAGE,
           "range %zu: %s", i, ctx.detail);
    ok(compare_with(&ctx, &problem, NULL, &budgets, &planner, 0, &compare) == VBS_USAGE,
       "an empty list of planners: %s", ctx.detail);
    problem.request = 0;
    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_USAGE,
       "request 0: %s", ctx.detail);
    problem.request = 2;
    problem.latency_us = -1;
    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_USAGE,
       "latency -1: %s", ctx.detail);
    problem.latency_us = 0;
    ctx.cancel = &stop;
    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_INTERRUPTED,
       "a wish to stop is heard");
    ok(vbs_compare_default_budgets(&ctx, &problem, &budgets) == VBS_INTERRUPTED,
       "also while budgets are looked for");
    ok(!compare, "nothing is given out");
    vbs_profile_free(profile);
}

/* The example of VBS III takes 6 us a layer for both samples, 8 us for one after the other: with
 * all inputs inside, 18 us is the least that both can wait. */
static void latency_can_be_out_of_reach(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile(), *slow = scaled_example_profile(3, 1);
    struct vbs_problem problem = {
        .profile = profile, .request = 2, .io = VBS_IO_RESIDENT, .latency_us = 17.5};
    struct vbs_byte_range budgets = {12, 40, 28, 0};
    struct vbs_compare *compare = NULL;
    int n_right = 0;

    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_OK,
       "a latency that no planner can keep is compared: %s", ctx.detail);
    for (int i = 0; compare && i < 2 * compare->n_planners; i++)
        n_right += !compare->rows[i].feasible && compare->rows[i].least_bytes == INT64_MAX &&
                   fabs(compare->rows[i].least_latency_us - 18) < 1e-6;
    is_int(n_right, compare ? 2 * compare->n_planners : -1,
           "no row is feasible in any memory, and each says that 18 us would do");
    vbs_compare_free(compare);
    compare = NULL;
    ok(compare_with(&ctx, &problem, NULL, NULL, NULL, 0, &compare) == VBS_INFEASIBLE && !compare,
       "there are no default budgets then");
    ok(strstr(ctx.detail, "answers within 17.5 us in any memory; the least latency that works is "
                          "18 us, with fbs"),
       "and the reason says what would help: %s", ctx.detail);
    problem.latency_us = 18;
    ok(compare_with(&ctx, &problem, NULL, &budgets, NULL, 0, &compare) == VBS_OK &&
           row_of(compare, 0, "fbs")->feasible && compare->latency_bound_us == 18,
       "18 us can be kept: %s", ctx.detail);
    is_near(compare ? row_of(compare, 0, "fbs")->latency_us : 0, 18, 0, "by waiting as long");
    vbs_compare_free(compare);
    compare = NULL;
    ok(compare_with(&ctx, &problem, slow, &budgets, NULL, 0, &compare) == VBS_OK,
       "a slower judge does not refuse what kept the bound by the first profile: %s", ctx.detail);
    is_near(compare ? row_of(compare, 0, "fbs")->latency_us : 0, 54, 0, "but tells how long it is");
    vbs_compare_free(compare);
    vbs_profile_free(profile);
    vbs_profile_free(slow);
}

static bool is_round(int64_t step)
{
    while (step % 1024 == 0)
        step /= 1024;
    while (step % 10 == 0)
        step /= 10;
    return step == 1 || step == 2 || step == 5;
}

/* The least budget and the fastest plan of all planners without a time limit, found apart from the
 * code under test. */
static double fastest_within(const struct vbs_problem *problem, int64_t memory_bytes,
                             int64_t *least_bytes)
{
    double fastest_us = HUGE_VAL;

    *least_bytes = INT64_MAX;
    for (int i = 0; vbs_planner_at(i); i++) {
        struct vbs_solver *solver = NULL;
        struct vbs_schedule *schedule = NULL;

        if (strcmp(vbs_planner_name(vbs_planner_at(i)), "optimal") == 0 ||
            vbs_planner_transfers(vbs_planner_at(i)) || vbs_planner_estimates(vbs_planner_at(i)))
            continue;
        if (vbs_solver_new(NULL, vbs_planner_at(i), problem, NULL, &solver) != VBS_OK)
            exit(1);
        if (vbs_solver_least_bytes(solver) < *least_bytes)
            *least_bytes = vbs_solver_least_bytes(solver);
        if (vbs_solver_plan(NULL, solver, memory_bytes, &schedule) == VBS_OK)
            fastest_us = fmin(fastest_us, schedule->predicted.time_us);
        vbs_schedule_free(schedule);
        vbs_solver_free(solver);
    }
    return fastest_us;
}

/* Gives "" when budgets are as report.h promises, else the fault. */
static const char *judge_budgets(const struct vbs_problem *problem,
                                 const struct vbs_byte_range *budgets)
{
    int64_t least_bytes, ignored;
    double fastest_us = fastest_within(problem, INT64_MAX, &least_bytes);

    if (budgets->from_bytes < least_bytes ||
        budgets->from_bytes - least_bytes >= budgets->step_bytes)
        return "does not start at the least budget";
    if (fastest_within(problem, budgets->to_bytes, &ignored) > 1.0011 * fastest_us)
        return "does not reach the fastest plan";
    if (vbs_byte_range_count(budgets) == 1)
        return "";
    if (!is_round(budgets->step_bytes) || budgets->from_bytes % budgets->step_bytes != 0)
        return "is not round";
    return vbs_byte_range_count(budgets) <= 42 ? "" : "is too long";
}

static void default_budgets_span_what_matters(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    const char *wrong = "";

    gsl_rng_set(rng, SEED);
    for (int trial = 0; trial < TRIALS && !wrong[0]; trial++) {
        struct vbs_profile *profile = random_profile(rng, (enum random_graph)(trial % 3), 8);
        struct vbs_problem problem = {
            .profile = profile, .request = random_int(rng, 1, 6), .io = trial % 2};
        struct vbs_byte_range budgets;
        struct vbs_ctx ctx = {0};

        if (!profile)
            exit(1);
        wrong = vbs_compare_default_budgets(&ctx, &problem, &budgets) == VBS_OK
                    ? judge_budgets(&problem, &budgets)
                    : vbs_detail(&ctx);
        if (wrong[0])
            printf("# trial %d of seed %d: %s\n", trial, SEED, wrong);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    ok(!wrong[0], "default budgets of %d random profiles span what matters, in round steps",
       TRIALS);
}

/* Gives whether all rows of both are equal, except for times of planning. */
static bool same_comparison(const struct vbs_compare *a, const struct vbs_compare *b)
{
    if (a->n_budgets != b->n_budgets || a->n_planners != b->n_planners)
        return false;
    for (int i = 0; i < a->n_budgets * a->n_planners; i++) {
        const struct vbs_compare_row *x = &a->rows[i], *y = &b->rows[i];

        if (x->memory_bytes != y->memory_bytes || x->planner != y->planner ||
            x->feasible != y->feasible || x->per_sample_us != y->per_sample_us ||
            x->peak_bytes != y->peak_bytes || x->least_bytes != y->least_bytes ||
            (x->feasible && !(x->plan_us > 0)))
            return false;
    }
    return true;
}

/* A planner twice: its solver, open from the search for budgets, can be taken only once. */
static void no_budgets_means_the_default_ones(void)
{
    const struct vbs_planner *planners[] = {find("dp-vbs"), find("fbs"), find("dp-vbs")};
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = example_profile();
    struct vbs_problem problem = {.profile = profile, .request = 2, .io = VBS_IO_RESIDENT};
    struct vbs_byte_range budgets;
    struct vbs_compare *implied = NULL, *given = NULL;
    volatile sig_atomic_t stop = 1;

    ok(vbs_compare_default_budgets(&ctx, &problem, &budgets) == VBS_OK &&
           compare_with(&ctx, &problem, NULL, &budgets, planners, 3, &given) == VBS_OK &&
           compare_with(&ctx, &problem, NULL, NULL, planners, 3, &implied) == VBS_OK,
       "compared over the default budgets, given and implied: %s", ctx.detail);
    ok(given && implied && same_comparison(given, implied), "both comparisons are the same");
    vbs_compare_free(given);
    vbs_compare_free(implied);
    ctx.cancel = &stop;
    ok(compare_with(&ctx, &problem, NULL, NULL, NULL, 0, &implied) == VBS_INTERRUPTED,
       "the search for budgets is interrupted: %s", ctx.detail);
    vbs_profile_free(profile);
}

/* Weights of 24 bytes; copies take a microsecond for each. */
static void weights_have_their_own_default_budgets(void)
{
    static const char PROFILE[] =
        "# copy: given,1000,1000\n"
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place\n"
        "1,L1,conv,0,1,default,4,1,1,1,14,0\n"
        "2,L2,conv,1,1,default,4,1,1,4,10,0\n";
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;
    struct vbs_problem problem = {.request = 2, .weights = VBS_WEIGHTS_INCLUDED};
    struct vbs_byte_range range;
    struct vbs_compare *compare = NULL;
    int64_t least_bytes = INT64_MAX;

    if (vbs_profile_parse_csv(&ctx, "weights", PROFILE, strlen(PROFILE), &profile) != VBS_OK)
        exit(1);
    problem.profile = profile;
    problem.copy = profile->copies[0].link;
    ok(vbs_compare_default_budgets(&ctx, &problem, &range) == VBS_USAGE, "they are no range: %s",
       ctx.detail);
    ok(compare_with(&ctx, &problem, NULL, NULL, NULL, 0, &compare) == VBS_OK,
       "a comparison with weights included: %s", ctx.detail);
    if (!compare)
        exit(1);
    for (int p = 0; p < compare->n_planners; p++)
        if (compare->rows[p].least_bytes < least_bytes)
            least_bytes = compare->rows[p].least_bytes;
    is_int(compare->budgets[0], least_bytes, "from the least that works");
    ok(compare->budgets[compare->n_budgets - 1] >= 48 &&
           compare->budgets[compare->n_budgets - 2] < 48,
       "to twice the weights");
    is_int(compare->n_planners, 6, "of six planners");
    is_int(compare->weight_bytes, 24, "whose weights are told");
    for (int p = 0; p < compare->n_planners; p++) {
        const struct vbs_compare_row *row =
            &compare->rows[(compare->n_budgets - 1) * compare->n_planners + p];

        if (strcmp(vbs_planner_name(row->planner), "fbs") == 0)
            ok(row->resident_bytes == 24 && row->copied_bytes == 0 && row->copy_us == 0,
               "fbs holds them all");
        if (strcmp(vbs_planner_name(row->planner), "mmcnn") == 0)
            ok(row->resident_bytes + row->copied_bytes >= 24 && row->gain_over_mmcnn.percent == 0,
               "mmcnn may copy, and is no faster than itself");
    }
    vbs_compare_free(compare);
    vbs_profile_free(profile);
}

struct stopper {
    volatile sig_atomic_t stop;
};

/* Asks to stop when the first samples are read. */
static enum vbs_status stop_with_samples(struct vbs_ctx *ctx, void *self, int layer, int batch,
                                         int rows, const char *algorithm, const double **times_us,
                                         int *n_times)
{
    struct stopper *stopper = self;

    (void)ctx, (void)layer, (void)batch, (void)rows, (void)algorithm, (void)times_us;
    stopper->stop = 1;
    *n_times = 0;
    return VBS_OK;
}

/* Samples are read when the first schedule that copies weights is judged, otherwise when all rows
 * are planned. */
static void interrupted_comparisons_keep_finished_rows(void)
{
    static const char PROFILE[] =
        "# copy: given,1000,1000\n"
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place,mad_us,low_us,high_us,n_runs\n"
        "1,L1,conv,0,1,default,4,1,1,1,14,0,1,3,5,9\n"
        "2,L2,conv,1,1,default,4,1,1,4,10,0,1,3,5,9\n";
    const struct vbs_planner *planners[] = {find("dp-vbs+"), find("joint")};
    struct vbs_byte_range budgets = {25, 31, 1, 0};
    struct stopper stopper = {0};
    struct vbs_sample_source samples = {.self = &stopper, .times = stop_with_samples};
    struct vbs_compare_options options = {.struct_size = sizeof options,
                                          .samples = &samples,
                                          .budgets = &budgets,
                                          .planners = planners,
                                          .n_planners = 2};
    struct vbs_ctx ctx = {.cancel = &stopper.stop};
    struct vbs_profile *profile = NULL;
    struct vbs_problem problem = {.request = 2, .weights = VBS_WEIGHTS_INCLUDED};
    struct vbs_compare *compare = NULL;

    if (vbs_profile_parse_csv(&ctx, "weights", PROFILE, strlen(PROFILE), &profile) != VBS_OK)
        bail_out("%s", ctx.detail);
    problem.profile = profile;
    problem.copy = profile->copies[0].link;
    ok(vbs_compare_run(&ctx, &problem, &options, &compare) == VBS_OK && compare->interrupted,
       "a comparison that is interrupted after a planner is given out: %s", ctx.detail);
    ok(compare && !compare->rows[0].missing && !compare->rows[12].missing &&
           compare->rows[12].feasible,
       "with the rows of that planner");
    ok(compare && compare->rows[1].missing && compare->rows[13].missing &&
           compare->rows[13].planner == planners[1] && compare->rows[13].memory_bytes == 31,
       "and without those of the next one, which are named");
    is_near(compare ? compare->rows[12].gain_over_fbs.percent : -1, 0, 1e-9,
            "the gains of finished rows are known");
    ok(compare && isnan(compare->rows[12].gain_over_fbs.low_percent) &&
           compare->intervals == VBS_INTERVALS_NONE,
       "but not their intervals");
    vbs_compare_free(compare);
    compare = NULL;
    stopper.stop = 0;
    options.n_planners = 1;
    ok(vbs_compare_run(&ctx, &problem, &options, &compare) == VBS_OK && compare->interrupted &&
           !compare->rows[6].missing && compare->intervals == VBS_INTERVALS_NONE,
       "interrupted after all planners it has all rows without intervals: %s", ctx.detail);
    vbs_compare_free(compare);
    compare = NULL;
    stopper.stop = 0;
    options.samples = NULL;
    ok(vbs_compare_run(&ctx, &problem, &options, &compare) == VBS_OK && !compare->interrupted &&
           compare->intervals == VBS_INTERVALS_ROWS,
       "else it is not interrupted: %s", ctx.detail);
    vbs_compare_free(compare);
    vbs_profile_free(profile);
}

static void range_has_about_25_budgets(void)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_byte_range budgets = {0};
    int input = 0;
    struct vbs_profile_layer layer = {.name = "only",
                                      .kind = "conv",
                                      .n_inputs = 1,
                                      .inputs = &input,
                                      .in_bytes = 300000,
                                      .out_bytes = 300000};
    enum vbs_status status = vbs_profile_builder_layer(NULL, builder, &layer);
    struct vbs_problem problem = {.request = 64};

    for (int b = 1; b <= 64 && status == VBS_OK; b++) {
        struct vbs_profile_row row = {.time_us = 1000 + b};

        status = vbs_profile_builder_row(NULL, builder, 1, b, "default", &row);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(NULL, builder, &profile);
    problem.profile = profile;
    if (status != VBS_OK || vbs_compare_default_budgets(NULL, &problem, &budgets) != VBS_OK)
        exit(1);
    /* 600 kB for one sample to 38.4 MB for all 64. */
    is_int(budgets.step_bytes, 2 << 20, "37 MB are walked in steps of 2 MiB");
    is_int(budgets.from_bytes, 2 << 20, "from 2 MiB");
    is_int(budgets.to_bytes, 38 << 20, "to 38 MiB");
    vbs_profile_free(profile);
    vbs_profile_builder_free(builder);
}

int main(void)
{
    gains_are_told_over_baselines();
    example_of_the_paper();
    gains_do_not_need_the_baselines_in_the_list();
    judge_decides_the_times();
    bad_questions_are_refused();
    latency_can_be_out_of_reach();
    default_budgets_span_what_matters();
    no_budgets_means_the_default_ones();
    weights_have_their_own_default_budgets();
    interrupted_comparisons_keep_finished_rows();
    range_has_about_25_budgets();
    return done_testing();
}
