/*
 * Every allocation of a comparison of noisy measurements fails once, and then also every one from
 * it on: it fails with VBS_NO_MEMORY, gives no result and leaves nothing behind (AddressSanitizer
 * checks), and then gives the same intervals as before. A request to stop is obeyed at any moment.
 */
#include "support/fault.h"
#include "cases/noisy_profile.h"
#include "support/tap.h"

#include "report/plot/gantt.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED 11

struct subject {
    struct noisy *noisy;
    struct vbs_problem problem;
    struct vbs_compare_options options;
    struct vbs_byte_range budgets;
    const struct vbs_planner *planners[2];
    struct vbs_compare *compare; /* the result without faults */
};

static void subject_init(struct subject *subject)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, SEED);
    *subject = (struct subject){
        .noisy = noisy_new(rng, &(struct noisy_plan){.n_layers = 8, .n_runs = 9, .sigma = 0.1}),
        .budgets = {20000, 40000, 10000, 0},
        .problem = {.request = 12},
    };
    gsl_rng_free(rng);
    subject->problem.profile = subject->noisy->profile;
    subject->noisy->n_kept = 4 * NOISY_BATCHES; /* the other rows have only their intervals */
    if (vbs_planner_find(NULL, "greedy-vbs", &subject->planners[0]) != VBS_OK ||
        vbs_planner_find(NULL, "dp-vbs", &subject->planners[1]) != VBS_OK)
        exit(1);
    subject->options =
        (struct vbs_compare_options){.struct_size = sizeof(struct vbs_compare_options),
                                     .samples = &subject->noisy->source,
                                     .budgets = &subject->budgets,
                                     .planners = subject->planners,
                                     .n_planners = 2};
    if (vbs_compare_run(NULL, &subject->problem, &subject->options, &subject->compare) != VBS_OK)
        exit(1);
}

static const char PROFILE[] =
    "# copy: given,1000,1000\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
    "in_place,mad_us,low_us,high_us,n_runs\n"
    "1,L1,conv,0,1,default,4,1,1,1,6,0,0.1,3.8,4.3,9\n"
    "1,L1,conv,0,2,default,6,2,2,2,6,0,0.1,5.8,6.3,9\n"
    "2,L2,conv,1,1,default,4,1,1,4,8,0,0.1,3.8,4.3,9\n"
    "2,L2,conv,1,2,default,6,2,2,8,8,0,0.1,5.8,6.3,9\n";

/* Compares a few layers with weights inside the budget, over the default budgets: fbs, which holds
 * them, and vdnn, which copies them. */
static struct vbs_profile *included_init(struct subject *subject)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    *subject = (struct subject){0};
    if (vbs_profile_parse_csv(&ctx, "weights", PROFILE, strlen(PROFILE), &profile) != VBS_OK ||
        vbs_planner_find(&ctx, "fbs", &subject->planners[0]) != VBS_OK ||
        vbs_planner_find(&ctx, "vdnn", &subject->planners[1]) != VBS_OK)
        goto fail;
    subject->problem = (struct vbs_problem){.profile = profile,
                                            .request = 2,
                                            .weights = VBS_WEIGHTS_INCLUDED,
                                            .copy = profile->copies[0].link};
    subject->options =
        (struct vbs_compare_options){.struct_size = sizeof(struct vbs_compare_options),
                                     .planners = subject->planners,
                                     .n_planners = 2};
    if (vbs_compare_run(&ctx, &subject->problem, &subject->options, &subject->compare) == VBS_OK)
        return profile;
fail:
    bail_out("%s", ctx.detail);
}

/* Gives whether two gains are the same, as two unknown ones are. */
static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

static bool same_rows(const struct vbs_compare *a, const struct vbs_compare *b)
{
    for (int i = 0; i < a->n_budgets * a->n_planners; i++)
        if (!same(a->rows[i].gain_over_fbs.low_percent, b->rows[i].gain_over_fbs.low_percent) ||
            !same(a->rows[i].gain_over_fbs_best.high_percent,
                  b->rows[i].gain_over_fbs_best.high_percent) ||
            !same(a->rows[i].gain_over_vdnn.low_percent, b->rows[i].gain_over_vdnn.low_percent) ||
            a->rows[i].noise != b->rows[i].noise)
            return false;
    return a->n_budgets == b->n_budgets;
}

/* Gives whether the rows are equal, as in a comparison that was interrupted once all its rows were
 * planned. */
static bool same_but_noise(const struct vbs_compare *a, const struct vbs_compare *b)
{
    for (int i = 0; i < a->n_budgets * a->n_planners; i++)
        if (a->rows[i].missing ||
            !same(a->rows[i].gain_over_fbs.percent, b->rows[i].gain_over_fbs.percent) ||
            (a->rows[i].feasible && !isnan(a->rows[i].gain_over_fbs.low_percent)) ||
            a->rows[i].noise != VBS_NOISE_UNKNOWN)
            return false;
    return a->intervals == VBS_INTERVALS_NONE && a->n_budgets == b->n_budgets;
}

/* Runs the comparison. VBS_N_STATUS when the call broke a promise; VBS_INTERRUPTED also when it
 * gave the rows that it had. */
static enum vbs_status try(struct vbs_ctx *ctx, const void *tried)
{
    const struct subject *subject = tried;
    struct vbs_compare *compare = NULL;
    enum vbs_status status = vbs_compare_run(ctx, &subject->problem, &subject->options, &compare);
    bool equal;

    allocation_faults.countdown = 0;
    if (status != VBS_OK)
        return compare ? VBS_N_STATUS : status;
    if (compare->interrupted)
        status = VBS_INTERRUPTED;
    equal = status == VBS_OK ? same_rows(compare, subject->compare)
                             : same_but_noise(compare, subject->compare);
    vbs_compare_free(compare);
    return equal ? status : VBS_N_STATUS;
}

/* Gives whether memory was out, and the same comparison then succeeds. */
static bool is_sound(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *subject)
{
    struct vbs_ctx again = {0};

    (void)n;
    return fault_is_said(ctx, status) && try(&again, subject) == VBS_OK;
}

static void allocations_fail(const struct subject *subject, bool lasting)
{
    struct fault_trial trial = {
        .run = try, .subject = subject, .lasting = lasting, .is_sound = is_sound};

    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK, "%d allocations, %s",
       trial.n_faults, trial.way);
}

/* A source that asks the caller to stop once it has given so many results. */
struct stopping {
    const struct vbs_sample_source *source;
    volatile sig_atomic_t stop;
    int n_left;
};

static enum vbs_status times(struct vbs_ctx *ctx, void *self, int layer, int batch, int rows,
                             const char *algorithm, const double **times_us, int *n_times)
{
    struct stopping *stopping = self;

    stopping->stop = stopping->n_left-- <= 0;
    return stopping->source->times(ctx, stopping->source->self, layer, batch, rows, algorithm,
                                   times_us, n_times);
}

static void resampling_is_interrupted(struct subject *subject)
{
    struct stopping stopping = {.source = &subject->noisy->source};
    struct vbs_sample_source source = {.self = &stopping, .times = times};
    int n_interrupted = 0, n_tries = 0;
    enum vbs_status status;

    subject->options.samples = &source;
    do {
        struct vbs_ctx ctx = {.cancel = &stopping.stop};

        stopping.n_left = n_tries;
        stopping.stop = 0;
        status = try(&ctx, subject);
        n_interrupted += status == VBS_INTERRUPTED;
    } while (status == VBS_INTERRUPTED && ++n_tries < 1000);
    subject->options.samples = &subject->noisy->source;
    ok(status == VBS_OK && n_interrupted > 8, "interrupted after each of the first %d rows",
       n_interrupted);
}

/* Makes the boxes of pictures, without drawing them, which another program does. */
static void pictures_fail(const struct subject *subject)
{
    const struct vbs_compare *compare = subject->compare;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    enum vbs_status status;
    int n_faults = 0, n_wrong = 0;

    if (vbs_solver_new(NULL, subject->planners[1], &subject->problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(NULL, solver, compare->budgets[compare->n_budgets - 1], &schedule) !=
            VBS_OK ||
        vbs_replay_run(NULL, subject->problem.profile, schedule, -1, true, &replay) != VBS_OK)
        exit(1);
    for (;; n_faults++) {
        struct vbs_gantt gantt;

        allocation_faults = (struct faults){.countdown = n_faults + 1};
        status = vbs_gantt_make(NULL, schedule, replay, &gantt);
        allocation_faults.countdown = 0;
        if (status == VBS_OK)
            vbs_gantt_clear(&gantt);
        if (!allocation_faults.hit)
            break;
        n_wrong += status != VBS_NO_MEMORY || gantt.boxes || gantt.levels;
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%d allocations of a picture", n_faults);
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

int main(void)
{
    struct vbs_profile *profile;
    struct subject subject;

    subject_init(&subject);
    printf("# seed %d\n", SEED);
    allocations_fail(&subject, false);
    allocations_fail(&subject, true);
    resampling_is_interrupted(&subject);
    vbs_compare_free(subject.compare);
    noisy_free(subject.noisy);
    profile = included_init(&subject);
    ok(subject.compare->intervals == VBS_INTERVALS_ROWS && subject.compare->n_budgets > 2,
       "weights included: intervals at %d budgets", subject.compare->n_budgets);
    allocations_fail(&subject, false);
    allocations_fail(&subject, true);
    pictures_fail(&subject);
    vbs_compare_free(subject.compare);
    vbs_profile_free(profile);
    return done_testing();
}
