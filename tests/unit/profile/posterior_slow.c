/* Posterior times are those of their slow definition, on random profiles. */
#include "cases/timed_profile.h"
#include "cases/random_profile.h"
#include "reference/profile/slow_posterior.h"
#include "support/tap.h"
#include "support/trials.h"

#include <gsl/gsl_randist.h>

#define MOST_EXECUTED  24
#define MOST_STRETCHES 4
#define NEAR           1e-9

static double relative(double got, double want)
{
    return fabs(got - want) / fmax(fabs(want), 1e-300);
}

/* Returns the largest relative difference of all rows and the report. */
static double difference(const struct timed *timed, const struct vbs_profile *posterior,
                         const struct vbs_posterior_report *report,
                         const struct slow_posterior *slow)
{
    double most = relative(report->deviation, slow->report.deviation);

    most = fmax(most, relative(report->level, slow->report.level));
    if (slow->report.n_executed > 0)
        most = fmax(most, fmax(relative(report->context, slow->report.context),
                               relative(report->drift, slow->report.drift)));
    if (report->n_executed != slow->report.n_executed || slow->n_rows != timed->n_rows)
        return HUGE_VAL;
    for (int i = 0; i < timed->n_rows; i++) {
        const struct vbs_profile_row *row = timed_row(timed, posterior, i);

        most = fmax(most, relative(row->time_us, slow->rows[i].time_us));
        if (row->n_runs == 0 && row->low_us == row->high_us)
            continue;
        most = fmax(most, relative(row->low_us, slow->rows[i].low_us));
        most = fmax(most, relative(row->high_us, slow->rows[i].high_us));
    }
    return most;
}

static int draw_executed(gsl_rng *rng, const struct timed *timed, double deviation,
                         struct vbs_observed_row *executed)
{
    int n = random_int(rng, 1, MOST_EXECUTED), n_stretches = random_int(rng, 1, MOST_STRETCHES);

    for (int k = 0; k < n; k++) {
        int i = (int)gsl_rng_uniform_int(rng, (unsigned long)timed->n_rows);
        int stretch = random_int(rng, 0, n_stretches - 1);
        double burst = random_once_in(rng, 8) ? 1.5 : 1, state = 1 + 0.2 * stretch;

        executed[k] = (struct vbs_observed_row){
            .layer = timed->layers[i],
            .batch = timed->batches[i],
            .rows = timed->rows[i]->rows,
            .algorithm = timed->rows[i]->algorithm,
            .time_us = timed->schedule_us[i] * burst * state * gsl_ran_lognormal(rng, 0, deviation),
            .deviation = deviation * gsl_ran_flat(rng, 0.2, 2),
            .group = stretch * (VBS_OBSERVED_GROUPS - 1) / (MOST_STRETCHES - 1),
            .apart = stretch > 0 && k % 3 > 0};
        if (executed[k].rows == 0 && random_once_in(rng, 2))
            executed[k].rows = timed->profile->layers[executed[k].layer].rows;
    }
    return n;
}

static struct timed_plan draw_plan(gsl_rng *rng)
{
    return (struct timed_plan){.n_layers = random_int(rng, 1, 4),
                               .n_batches = random_int(rng, 1, 7),
                               .n_algorithms = random_int(rng, 1, 3),
                               .stripes = random_once_in(rng, 3),
                               .n_runs = random_once_in(rng, 6)   ? -1
                                         : random_once_in(rng, 5) ? random_int(rng, 21, 400)
                                                                  : 0,
                               .intervals = random_once_in(rng, 2),
                               .disturbed = random_once_in(rng, 2) ? gsl_ran_flat(rng, 0, 0.6) : 0,
                               .deviation = exp(gsl_ran_flat(rng, log(0.002), log(0.3))),
                               .steps = exp(gsl_ran_flat(rng, log(0.001), log(0.2))),
                               .level = exp(gsl_ran_flat(rng, -0.3, 0.3)),
                               .context = gsl_ran_flat(rng, 0, 0.1)};
}

/* Returns the difference from the slow reference for a profile that is drawn. */
static double try_one(gsl_rng *rng, bool executes)
{
    const struct timed_plan plan = draw_plan(rng);
    struct timed *timed = timed_new(rng, &plan);
    struct vbs_observed_row executed[MOST_EXECUTED];
    int n = executes ? draw_executed(rng, timed, gsl_ran_flat(rng, 0.001, 0.1), executed) : 0;
    const struct vbs_posterior_options options = {
        .struct_size = sizeof options, .n_executed = n, .executed = executed};
    struct vbs_posterior_report report = {0};
    struct vbs_profile *posterior = NULL;
    struct slow_posterior *slow = slow_posterior_new(timed->profile, executed, n);
    struct vbs_ctx ctx = {0};
    double most = HUGE_VAL;

    if (vbs_profile_posterior(&ctx, timed->profile, &options, &report, &posterior) == VBS_OK)
        most = difference(timed, posterior, &report, slow);
    if (!(most < NEAR))
        printf("# %d layers, %d batches, %d algorithms, stripes %d, runs %d, %d executed: %g %s\n",
               plan.n_layers, plan.n_batches, plan.n_algorithms, plan.stripes, plan.n_runs, n, most,
               vbs_detail(&ctx));
    vbs_profile_free(posterior);
    slow_posterior_free(slow);
    timed_free(timed);
    return most;
}

int main(int argc, char **argv)
{
    const struct trials trials = trials_of(argc, argv, 60, 20260, "profiles");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

    gsl_rng_set(rng, trials.seed);
    for (int executes = 0; executes < 2; executes++) {
        double most = 0;

        for (int i = 0; i < trials.n; i++)
            most = fmax(most, try_one(rng, executes));
        ok(most < NEAR,
           "%s executed rows all times and intervals are those of the definition (%.1e)",
           executes ? "with" : "without", most);
    }
    gsl_rng_free(rng);
    return done_testing();
}
