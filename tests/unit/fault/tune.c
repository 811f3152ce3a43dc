/* Every allocation of a suggestion and of what is told of trials fails once, and then also every
 * one after it: the call reports it, leaves nothing behind (AddressSanitizer looks), and leaves its
 * outputs alone. */
#include "support/fault.h"
#include "support/tap.h"
#include "tune/space/random.h"
#include "vbslab/tune.h"

#define N 12
#define D 3

static const struct vbs_search_parameter PARAMETERS[] = {
    {"a", VBS_SEARCH_REAL, 0, 1, 0, false, 0},
    {"b", VBS_SEARCH_INTEGER, 1, 20, 0, false, 0},
    {"c", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 3}};
static const struct vbs_search_space SPACE = {D, PARAMETERS};

static double points[N * D], values[N][3];
static struct vbs_search_trial trials[N];

typedef enum vbs_status fault_task(struct vbs_ctx *ctx, double *output);

static void fill(void)
{
    struct tune_random random = {2};

    for (int i = 0; i < N; i++) {
        double *p = points + (size_t)i * D;

        p[0] = vbs_tune_uniform(&random);
        p[1] = 1 + (double)vbs_tune_below(&random, 20);
        p[2] = (double)vbs_tune_below(&random, 3);
        values[i][0] = p[0];
        values[i][1] = -p[1];
        values[i][2] = p[0] + 1;
        trials[i] = (struct vbs_search_trial){.point = p,
                                              .state = i == 0   ? VBS_TRIAL_FAILED
                                                       : i == 1 ? VBS_TRIAL_RUNNING
                                                                : VBS_TRIAL_COMPLETE,
                                              .objectives = values[i],
                                              .constraints = values[i] + 2,
                                              .epochs = 1};
    }
}

static enum vbs_status suggest(struct vbs_ctx *ctx, enum vbs_sampler sampler, int n_trials,
                               double *point)
{
    const struct vbs_sampler_options options = {.struct_size = sizeof options,
                                                .sampler = sampler,
                                                .n_objectives = 2,
                                                .n_constraints = 1,
                                                .max_epochs = 3};
    struct vbs_suggestion suggestion;

    return vbs_sampler_suggest(ctx, &SPACE, &options, trials, n_trials, point, &suggestion);
}

static enum vbs_status first_point(struct vbs_ctx *ctx, double *output)
{
    return suggest(ctx, VBS_SAMPLER_BAYESIAN, 1, output);
}

static enum vbs_status model(struct vbs_ctx *ctx, double *output)
{
    return suggest(ctx, VBS_SAMPLER_BAYESIAN, N, output);
}

static enum vbs_status grid(struct vbs_ctx *ctx, double *output)
{
    return suggest(ctx, VBS_SAMPLER_GRID, N, output);
}

static enum vbs_status halving(struct vbs_ctx *ctx, double *output)
{
    return suggest(ctx, VBS_SAMPLER_HALVING, N, output);
}

static enum vbs_status importance(struct vbs_ctx *ctx, double *output)
{
    return vbs_search_importance(ctx, &SPACE, points, points, N, 1, output);
}

static enum vbs_status predict(struct vbs_ctx *ctx, double *output)
{
    return vbs_search_predict(ctx, &SPACE, points, points, N, points, 1, output, output + 1);
}

static enum vbs_status volume(struct vbs_ctx *ctx, double *output)
{
    static const double ZERO[3] = {0};

    return vbs_hypervolume(ctx, 3, points, N, ZERO, output);
}

static enum vbs_status front(struct vbs_ctx *ctx, double *output)
{
    bool on_front[N] = {false};
    enum vbs_status status = vbs_pareto_front(ctx, 3, points, N, on_front);

    output[0] = on_front[0] ? 0 : output[0];
    return status;
}

static void test(const char *name, fault_task *task, bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status;

    /* Of many allocations every one up to the hundredth fails, then every tenth. */
    for (int next = 1;; next += next < 100 ? 1 : next / 10) {
        struct vbs_ctx ctx = {0};
        double output[D] = {-7, -7, -7};

        allocation_faults = (struct faults){.countdown = next, .lasting = lasting};
        status = task(&ctx, output);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        if (status != VBS_NO_MEMORY || ctx.status != status || output[0] != -7) {
            n_wrong++;
            printf("# allocation %d: status %d (%s)\n", next, (int)status, ctx.detail);
        }
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%s: %d faults, %s", name, n_faults,
       lasting ? "all allocations from one on fail" : "each fails once");
}

static void test_stop(void)
{
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {.cancel = &stop};
    double output[D];

    is_int(model(&ctx, output), VBS_INTERRUPTED, "a suggestion can be stopped");
    is_int(importance(&ctx, output), VBS_INTERRUPTED, "and so can an analysis");
}

int main(void)
{
    fill();
    for (int lasting = 0; lasting < 2; lasting++) {
        test("an initial point", first_point, lasting);
        test("a point by a model", model, lasting);
        test("a point of the grid", grid, lasting);
        test("halving", halving, lasting);
        test("importance", importance, lasting);
        test("predictions", predict, lasting);
        test("a hypervolume", volume, lasting);
        test("a front", front, lasting);
    }
    test_stop();
    return done_testing();
}
