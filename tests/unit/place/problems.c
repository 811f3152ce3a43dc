/*
 * Placements of real problems, each proven by the validator: the hard ones of MiniMalloc in
 * tests/data/placement, and rigid groups of guillotine schedules. Limits are steps, so that the
 * results are the same everywhere; seconds are only told.
 */
#include "reference/place/place_check.h"
#include "cases/place_schedules.h"
#include "support/tap.h"
#include "support/trials.h"

#define SEED 3

/* The load refutes a capacity below it: the fixed orders are not improved on, although a search
 * would do so, as it does where the lowest placement is wanted. */
static void test_refuted(const char *name, struct vbs_place_problem problem)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 1000000};
    struct vbs_place_result *refuted = NULL, *lowest = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    problem.capacity = place_load(&problem) - 1;
    status = vbs_place(&ctx, &problem, &OPTIONS, &refuted);
    ok(status == VBS_INFEASIBLE && strstr(ctx.detail, "nothing fits") &&
           refuted->bound_bytes > problem.capacity && refuted->method == VBS_PLACE_GREEDY &&
           refuted->height_bytes == refuted->greedy_height_bytes,
       "%s below its load is not searched for: %s", name, ctx.detail);
    status = vbs_place_lowest(&ctx, &problem, &OPTIONS, &lowest);
    ok(status == VBS_INFEASIBLE && refuted && lowest->height_bytes < refuted->height_bytes,
       "  but for its lowest placement it is");
    vbs_place_free(refuted);
    vbs_place_free(lowest);
}

static void test_hard(const char *name)
{
    static const struct vbs_place_options OPTIONS = {.struct_size =
                                                         sizeof(struct vbs_place_options),
                                                     .time_limit_s = -1,
                                                     .step_limit = 20000000};
    struct vbs_place_result *result = NULL;
    struct vbs_place_problem problem;
    struct vbs_place_csv *csv = NULL;
    struct vbs_ctx ctx = {0};
    char path[80];
    int64_t height = 0;
    const char *fault = "not read";

    snprintf(path, sizeof path, "tests/data/placement/%s.1048576.csv", name);
    if (vbs_place_csv_read(&ctx, path, &csv) == VBS_OK) {
        problem = *vbs_place_csv_problem(csv);
        problem.capacity = 1048576;
        fault = vbs_place(&ctx, &problem, &OPTIONS, &result) == VBS_OK
                    ? place_fault(&problem, result->offsets, &height)
                    : "not placed";
    }
    ok(!fault && height <= 1048576 && result->load_bytes == place_load(&problem),
       "%s in 1 MiB: %lld bytes high (%s)", name, (long long)height, fault ? ctx.detail : "valid");
    if (result)
        printf("# %lld buffers, load %lld, fixed orders %lld; %lld steps, %.2f s\n",
               (long long)result->n_items, (long long)result->load_bytes,
               (long long)result->greedy_height_bytes, (long long)result->n_steps, result->seconds);
    vbs_place_free(result);
    if (!fault && strcmp(name, "D") == 0)
        test_refuted(name, problem);
    vbs_place_csv_free(csv);
}

/* How far placements are above the proven bound, with all searches and with the fixed orders
 * alone. */
struct losses {
    double worst, worst_greedy;
    int n_proven, n_at_load;
};

static bool add_losses(const struct vbs_place_problem *problem,
                       const struct vbs_place_options *options, struct losses *losses)
{
    struct vbs_place_result *result = NULL;
    struct vbs_ctx ctx = {0};
    bool good = vbs_place_lowest(&ctx, problem, options, &result) == VBS_OK;
    int64_t height = 0;

    good = good && !place_fault(problem, result->offsets, &height) &&
           height == result->height_bytes && result->load_bytes == place_load(problem) &&
           result->load_bytes <= result->bound_bytes && result->bound_bytes <= height &&
           height <= result->greedy_height_bytes;
    if (good) {
        double bound = (double)result->bound_bytes, loss = (double)height / bound - 1;
        double greedy = (double)result->greedy_height_bytes / bound - 1;

        losses->worst = loss > losses->worst ? loss : losses->worst;
        losses->worst_greedy = greedy > losses->worst_greedy ? greedy : losses->worst_greedy;
        losses->n_proven += height == result->bound_bytes;
        losses->n_at_load += height == result->load_bytes;
    } else {
        printf("# %s\n", ctx.detail);
    }
    vbs_place_free(result);
    return good;
}

static void test_schedules(gsl_rng *rng, int n, int n_layers, int request)
{
    static const struct vbs_place_options OPTIONS = {
        .struct_size = sizeof(struct vbs_place_options), .time_limit_s = -1, .step_limit = 2000000};
    struct losses losses = {0};
    bool good = true;

    gsl_rng_set(rng, SEED); /* fewer are the first of more */
    for (int i = 0; i < n; i++) {
        struct place_schedule schedule = place_schedule_make(rng, n_layers, request);

        good = add_losses(&schedule.problem, &OPTIONS, &losses) && good;
        place_schedule_clear(&schedule);
    }
    ok(good && losses.worst <= 0.01,
       "%d schedules of %d layers and %d samples: at most %.2f%% above the bound", n, n_layers,
       request, 100 * losses.worst);
    printf("# %d proven best, %d of them at the load; fixed orders up to %.0f%% above\n",
           losses.n_proven, losses.n_at_load, 100 * losses.worst_greedy);
}

int main(void)
{
    static const char *const HARD[] = {"A", "C", "D", "F", "H", "J"};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    for (int i = 0; i < trials_some((int)(sizeof HARD / sizeof HARD[0])); i++)
        test_hard(HARD[i]);
    test_schedules(rng, trials_some(60), 8, 12);
    test_schedules(rng, trials_some(20), 30, 12);
    test_schedules(rng, trials_some(10), 20, 64);
    test_schedules(rng, trials_some(3), 60, 64);
    gsl_rng_free(rng);
    return done_testing();
}
