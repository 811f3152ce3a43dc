/*
 * Problems without slack, a rectangle of steps and bytes cut at random: the placements are found,
 * and proven by the validator. Limits are steps, so that the results are the same everywhere;
 * seconds are only told.
 */
#include "cases/place_cuts.h"
#include "reference/place/place_check.h"
#include "support/tap.h"
#include "support/trials.h"

#define SEED 21

/* The cuts themselves are a placement, and the living buffers fill the capacity at every step. */
static bool is_right(const struct place_cuts *cuts)
{
    const struct vbs_place_problem *problem = &cuts->problem;
    int64_t height = 0, first = INT64_MAX, last = INT64_MIN;
    double area = 0;

    for (int64_t i = 0; i < problem->n_items; i++) {
        const struct vbs_place_rect *rect = &problem->rects[problem->items[i].first_rect];

        first = rect->lower < first ? rect->lower : first;
        last = rect->upper > last ? rect->upper : last;
        area += (double)(rect->upper - rect->lower) * (double)rect->size;
    }
    return !place_fault(problem, cuts->offsets, &height) && height == problem->capacity &&
           area == (double)(last - first) * (double)problem->capacity;
}

static void test_cuts(gsl_rng *rng, const struct place_cuts_kind *kind)
{
    static const struct vbs_place_options OPTIONS = {.struct_size =
                                                         sizeof(struct vbs_place_options),
                                                     .time_limit_s = -1,
                                                     .step_limit = 20000000};
    struct place_cuts cuts = place_cuts_make(rng, kind);
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {0};
    int64_t height = 0;
    bool good = is_right(&cuts) && vbs_place(&ctx, &cuts.problem, &OPTIONS, &result) == VBS_OK &&
                !place_fault(&cuts.problem, result->offsets, &height) &&
                height == cuts.problem.capacity && result->load_bytes == height;

    ok(good, "%d buffers %s, at %lld steps and multiples of %lld bytes: %s", kind->n_buffers,
       kind->guillotine ? "cut from side to side" : "between growing lines",
       (long long)kind->n_steps, (long long)kind->unit_bytes, good ? "placed" : ctx.detail);
    if (result)
        printf("# fixed orders take %.2f of it; %lld steps, %.3f s\n",
               (double)result->greedy_height_bytes / (double)cuts.problem.capacity,
               (long long)result->n_steps, result->seconds);
    vbs_place_free(result);
    place_cuts_clear(&cuts);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    gsl_rng_set(rng, SEED);
    for (int buffers = 100; buffers <= 100 * trials_some(5); buffers += 100)
        for (int which = 0; which < 4; which++)
            test_cuts(rng, &(struct place_cuts_kind){.guillotine = which & 1,
                                                     .n_buffers = buffers,
                                                     .n_steps = buffers < 400 ? 256 : 1024,
                                                     .n_units = which & 2 ? 1024 : 16384,
                                                     .unit_bytes = which & 2 ? 1024 : 64});
    gsl_rng_free(rng);
    return done_testing();
}
