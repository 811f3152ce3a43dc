/*
 * Planners on profiles of any numbers that a profile may have: times from the least double to 1e18
 * us side by side, tensors of a terabyte and of nothing, workspaces of half of all bytes that can
 * be counted, batches of thousands. The relations hold to the resolution of time, a tick (struct
 * vbs_task). Arguments: number of profiles, seed.
 */
#include "support/profile_help.h"
#include "cases/random_profile.h"
#include "reference/plan/rivals.h"
#include "support/tally.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED         60221
#define N_PROFILES   120
#define MOST_REQUEST 801
#define FEW_LAYERS   3 /* of a profile with a large request */
#define N_BUDGETS    8
#define TIME_LIMIT_S 0.02
#define ROUNDING     1e-9

#define PROPERTY_LIST(X)                                                                           \
    X(HAD, "solvers, frontiers and plans are had without errors")                                  \
    X(SOUND, "the replay accepts the plan, and finds what was predicted")                          \
    X(IN_TIME, "the bound of the latency is kept")                                                 \
    X(PLUS, "dp-vbs+ is as fast as every planner but optimal, and feasible where they are")        \
    X(OPTIMAL, "optimal is as fast as dp-vbs+, and feasible where it is")                          \
    X(BOUND, "no bound of any plan is above any plan")                                             \
    X(NUMBERS, "predictions and bounds are finite and not negative")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    int number; /* of the profile */
    struct rivals rivals;
    int dp_vbs_plus, optimal; /* among the rivals */
    double resolution_us;     /* of the time of a schedule */
    const char *planner;      /* that is being checked */
    int64_t budget;
};

static void describe(const void *self)
{
    const struct subject *subject = self;
    const struct vbs_problem *problem = &subject->rivals.problem;

    printf("profile %d, %d layers, request %" PRId64
           ", io %s, latency %.17g, planner %s, budget %" PRId64,
           subject->number, problem->profile->n_layers, problem->request, vbs_io_word(problem->io),
           problem->latency_us, subject->planner, subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* Each step's time is rounded to a tick, and the slowest schedule has at most 2^61 ticks. */
static double resolution_us(const struct vbs_problem *problem)
{
    const struct vbs_profile *profile = problem->profile;
    double dearest = 1;

    for (int k = 1; k <= profile->n_layers; k++) {
        double layer = 0;

        for (int i = 0; i < profile->n_batches; i++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, i, &n_rows);

            for (int a = 0; a < n_rows; a++)
                layer = fmax(layer, rows[a].time_us);
        }
        dearest += layer * (double)problem->request;
    }
    return ldexp(dearest, -59) * profile->n_layers * (double)problem->request;
}

static bool at_most(const struct subject *subject, double a, double b)
{
    return a <= b * (1 + ROUNDING) + subject->resolution_us;
}

static void check_outcome(struct subject *subject, int planner, const struct outcome *plan)
{
    double latency_us = subject->rivals.problem.latency_us;

    subject->planner = subject->rivals.list[planner].name;
    check(subject, HAD, plan->status == VBS_OK || plan->status == VBS_INFEASIBLE);
    if (plan->status != VBS_OK)
        return;
    check(subject, SOUND, plan->is_valid && plan->fits && plan->is_timed);
    if (latency_us > 0)
        check(subject, IN_TIME, at_most(subject, plan->latency_us, latency_us));
    check(subject, NUMBERS,
          plan->time_us >= 0 && isfinite(plan->time_us) && plan->bound_us >= 0 &&
              plan->bound_us <= plan->time_us && plan->gap_percent >= 0);
}

static void check_budget(struct subject *subject)
{
    const struct rivals *rivals = &subject->rivals;
    struct outcome plans[MAX_RIVALS];
    double bound_us = 0;

    for (int p = 0; p < rivals->n; p++) {
        plans[p] = rival_plan(rivals, p, subject->budget);
        check_outcome(subject, p, &plans[p]);
        if (plans[p].status == VBS_OK)
            bound_us = fmax(bound_us, plans[p].bound_us);
    }
    for (int p = 0; p < rivals->n; p++) {
        subject->planner = rivals->list[p].name;
        check(subject, BOUND, at_most(subject, bound_us, plans[p].time_us));
        if (p != subject->optimal)
            check(subject, PLUS,
                  at_most(subject, plans[subject->dp_vbs_plus].time_us, plans[p].time_us));
    }
    subject->planner = "optimal";
    check(subject, OPTIMAL,
          at_most(subject, plans[subject->optimal].time_us, plans[subject->dp_vbs_plus].time_us));
}

static void check_problem(struct subject *subject, const struct vbs_problem *problem)
{
    struct rivals *rivals = &subject->rivals;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = rivals_open(&ctx, rivals, problem, TIME_LIMIT_S, &subject->planner);
    int stride;

    subject->budget = 0;
    check(subject, HAD, status == VBS_OK);
    if (status != VBS_OK) {
        printf("# %s\n", vbs_detail(&ctx));
        return;
    }
    subject->dp_vbs_plus = rivals_find(rivals, "dp-vbs+");
    subject->optimal = rivals_find(rivals, "optimal");
    subject->resolution_us = resolution_us(problem);
    rivals_add_breakpoints(rivals);
    rivals_add_budget(rivals, 0);
    rivals_add_budget(rivals, INT64_MAX);
    rivals_sort_budgets(rivals);
    stride = 1 + rivals->n_budgets / N_BUDGETS;
    for (int i = 0; i < rivals->n_budgets; i += stride) {
        subject->budget = rivals->budgets[i];
        check_budget(subject);
    }
    rivals_close(rivals);
}

static struct vbs_problem choose_problem(gsl_rng *rng, const struct vbs_profile *profile)
{
    bool is_small = profile->n_layers <= FEW_LAYERS;
    struct vbs_problem problem = {.profile = profile,
                                  .request = random_int(rng, 1, 4),
                                  .io = random_once_in(rng, 2) ? VBS_IO_EXTERNAL : VBS_IO_RESIDENT};

    if (is_small && random_once_in(rng, 2))
        problem.request = random_int(rng, 1, MOST_REQUEST);
    if (random_once_in(rng, 3))
        problem.latency_us =
            fmin(ldexp(gsl_rng_uniform(rng), random_int(rng, -20, 60)), VBS_MAX_TIME_US);
    return problem;
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles");
    int n_tried = 0;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct subject *subject = calloc(1, sizeof *subject);

    gsl_rng_set(rng, trials.seed);
    subject->tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, subject);
    for (int i = 0; i < trials.n; i++) {
        struct vbs_profile *profile = hostile_profile(NULL, rng, false);
        struct vbs_problem problem;

        if (!profile)
            continue; /* some are refused */
        subject->number = i;
        problem = choose_problem(rng, profile);
        check_problem(subject, &problem);
        n_tried++;
        vbs_profile_free(profile);
    }
    ok(2 * n_tried > trials.n, "most profiles are profiles: %d", n_tried);
    tally_report(&subject->tally, "hostile");
    free(subject);
    gsl_rng_free(rng);
    return done_testing();
}
