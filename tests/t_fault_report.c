/*
 * Every allocation of a comparison of noisy measurements fails once, and then also every one from
 * it on: it says that memory is out, gives nothing out and leaves nothing behind (AddressSanitizer
 * looks), and then gives the same intervals as before. A wish to stop is heard wherever it comes.
 */
#include "fault.h"
#include "noisy_profile.h"
#include "tap.h"

#include "vbslab/report.h"

#include <stdlib.h>

#define SEED 11

struct subject {
    struct noisy *noisy;
    struct vbs_problem problem;
    struct vbs_compare_options options;
    struct vbs_byte_range budgets;
    const struct vbs_planner *planners[2];
    struct vbs_compare *compare; /* when nothing fails */
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
    subject->noisy->n_kept = 4 * NOISY_BATCHES; /* the rest goes by its intervals */
    if (vbs_planner_find(NULL, "greedy-vbs", &subject->planners[0]) != VBS_OK ||
        vbs_planner_find(NULL, "dp-vbs", &subject->planners[1]) != VBS_OK)
        exit(1);
    subject->options = (struct vbs_compare_options){.samples = &subject->noisy->source,
                                                    .budgets = &subject->budgets,
                                                    .planners = subject->planners,
                                                    .n_planners = 2};
    if (vbs_compare_run(NULL, &subject->problem, &subject->options, &subject->compare) != VBS_OK)
        exit(1);
}

static bool same_rows(const struct vbs_compare *a, const struct vbs_compare *b)
{
    for (int i = 0; i < a->n_budgets * a->n_planners; i++)
        if (a->rows[i].gain_over_fbs.low_percent != b->rows[i].gain_over_fbs.low_percent ||
            a->rows[i].gain_over_fbs_best.high_percent !=
                b->rows[i].gain_over_fbs_best.high_percent ||
            a->rows[i].noise != b->rows[i].noise)
            return false;
    return true;
}

/* VBS_N_STATUS when the call broke a promise. */
static enum vbs_status try(struct vbs_ctx *ctx, const struct subject *subject)
{
    struct vbs_compare *compare = NULL;
    enum vbs_status status = vbs_compare_run(ctx, &subject->problem, &subject->options, &compare);
    bool same;

    allocation_faults.countdown = 0;
    if (status != VBS_OK)
        return compare ? VBS_N_STATUS : status;
    same = same_rows(compare, subject->compare);
    vbs_compare_free(compare);
    return same ? VBS_OK : VBS_N_STATUS;
}

static void allocations_fail(const struct subject *subject, bool lasting)
{
    enum vbs_status status;
    int n_wrong = 0, n_faults = 0;

    for (;; n_faults++) {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = try(&ctx, subject);
        if (!allocation_faults.hit)
            break;
        if (status == VBS_NO_MEMORY && try(&ctx, subject) == VBS_OK)
            continue;
        n_wrong++;
        printf("# allocation %d: status %d (%s)\n", n_faults + 1, (int)status, ctx.detail);
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%d allocations, %s", n_faults,
       lasting ? "all from one on fail" : "each fails once");
}

/* A source that asks the caller to stop once it has given so many answers. */
struct stopping {
    const struct vbs_sample_source *source;
    volatile sig_atomic_t stop;
    int n_left;
};

static enum vbs_status times(struct vbs_ctx *ctx, void *self, int layer, int batch,
                             const char *algorithm, const double **times_us, int *n_times)
{
    struct stopping *stopping = self;

    stopping->stop = stopping->n_left-- <= 0;
    return stopping->source->times(ctx, stopping->source->self, layer, batch, algorithm, times_us,
                                   n_times);
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

int main(void)
{
    struct subject subject;

    subject_init(&subject);
    printf("# seed %d\n", SEED);
    allocations_fail(&subject, false);
    allocations_fail(&subject, true);
    resampling_is_interrupted(&subject);
    vbs_compare_free(subject.compare);
    noisy_free(subject.noisy);
    return done_testing();
}
