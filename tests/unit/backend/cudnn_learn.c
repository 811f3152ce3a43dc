/*
 * Learning from execution on the cudnn backend, on a fake of CUDA and cuDNN: a device tells no
 * times of steps, so that the times of whole requests are divided among them. Without the fake
 * (make test-gpu) it learns on a GPU.
 */
#include "fake/cuda.h"
#include "support/bail_out.h"
#include "support/learn_help.h"
#include "support/tap.h"
#include "vbslab/exec.h"
#include "vbslab/replay.h"

#include <math.h>

#define REQUEST 5
#define MOST    ((int64_t)1 << 20)

static struct {
    int n, n_searching; /* executors that were made, and those of them without offsets */
} opened;

__typeof__(vbs_exec_new) __real_vbs_exec_new, __wrap_vbs_exec_new;

/* Counts executors. */
enum vbs_status __wrap_vbs_exec_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend *backend,
                                    const struct vbs_profile *profile,
                                    const struct vbs_schedule *schedule,
                                    const struct vbs_exec_options *options,
                                    struct vbs_exec_placement *placement, struct vbs_exec **exec)
{
    opened.n++;
    opened.n_searching += !options->placed;
    return __real_vbs_exec_new(ctx, network, backend, profile, schedule, options, placement, exec);
}

/* Returns the logarithm of the predicted time of the answer over the executed one. */
static double error_of(const struct vbs_profile *profile, const struct vbs_learned_budget *budget)
{
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    double error;

    if (vbs_replay_run(&ctx, profile, budget->schedule, budget->memory_bytes, false, &replay) !=
        VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    error = log(replay->time_us / budget->time_us);
    vbs_replay_free(replay);
    return error;
}

static void budgets_are_learned(const struct tiny *tiny)
{
    const int64_t budgets[] = {2 * tiny_least_bytes(tiny, "dp-vbs+", VBS_WEIGHTS_EXCLUDED), MOST};
    const struct vbs_learn_options options = {.struct_size = sizeof options,
                                              .time_limit_s = 2,
                                              .request = REQUEST,
                                              .n_budgets = 2,
                                              .budgets = budgets,
                                              .seed = 4};
    int n_before = fake_cuda_calls("cudaGraphLaunch");
    struct vbs_learned *learned = tiny_learn_all(tiny, &options);

    ok(learned->report.n_executed > 0, "rows were executed");
    ok(opened.n > learned->n_schedules && opened.n_searching == 0,
       "executors were made %d times for %d schedules: a second search for offsets might fail",
       opened.n, learned->n_schedules);
    ok(!fake_cuda_is_here || fake_cuda_calls("cudaGraphLaunch") > n_before,
       "requests run as they do without learning: nobody waits for their steps");
    for (int i = 0; i < 2; i++) {
        const struct vbs_learned_budget *b = &learned->budgets[i];
        double given, corrected;

        ok(b->schedule && tiny_replays(learned->profile, b) && tiny_agrees(b),
           "the answer of budget %d fits, and its times agree with each other", i);
        given = fabs(error_of(tiny->profile, b));
        corrected = fabs(error_of(learned->profile, b));
        ok(corrected < 0.5 * given,
           "the learned profile predicts it from whole requests: off by exp(%.2f), exp(%.2f) "
           "before",
           corrected, given);
    }
    vbs_learned_free(learned);
    ok(fake_cuda_live() == 0 && fake_cuda_violations() == 0, "nothing is left on the device");
}

static void weights_inside_are_refused(const struct tiny *tiny)
{
    const struct vbs_learn_options options = {
        .struct_size = sizeof options, .request = REQUEST, .weights = VBS_WEIGHTS_INCLUDED};
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};

    is_int(tiny_learn(&ctx, tiny, &options, &learned), VBS_UNSUPPORTED,
           "weights inside the budget: a device does not tell how long it waited for them");
}

int main(void)
{
    struct tiny tiny;

    /* No machine is as fast as this profile. */
    tiny_open_on("cudnn", tiny_network, REQUEST, 1e-3, &tiny);
    budgets_are_learned(&tiny);
    weights_inside_are_refused(&tiny);
    tiny_close(&tiny);
    return done_testing();
}
