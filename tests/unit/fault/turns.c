/* Every allocation of turns and of their statistics fails once, and then also every one after it:
 * the failure is reported, and nothing is lost. */
#include "support/fault.h"
#include "support/tap.h"

#include "base/fail.h"
#include "turns/internal.h"

static enum vbs_status run(struct vbs_ctx *ctx, void *self, int which, double *time_us)
{
    int *n_runs = self;

    (void)ctx;
    *time_us = 1 + which + ++*n_runs % 3;
    return VBS_OK;
}

static double now_s(void *self)
{
    return *(const int *)self;
}

static enum vbs_status tell(struct vbs_ctx *ctx, const struct vbs_turns *turns)
{
    struct vbs_turns_ratio ratio;
    struct vbs_profile_row row;

    VBS_TRY(vbs_turns_summary(ctx, turns, 1, &row));
    return vbs_turns_compare(ctx, turns, 1, 0, &ratio);
}

static enum vbs_status task(struct vbs_ctx *ctx, const void *subject)
{
    struct vbs_turns_options options = {
        .struct_size = sizeof options, .max_turns = 40, .until = 1e-6, .time_limit_s = 1e6};
    struct vbs_turns *turns = (void *)&fault_untouched;
    int n_runs = 0;
    struct vbs_turns_subjects subjects = {.self = &n_runs, .n = 2, .run = run, .now_s = now_s};
    enum vbs_status status = vbs_turns_by_clock(ctx, &subjects, &options, &turns);

    (void)subject;
    if (status != VBS_OK)
        return fault_status(status, turns);
    status = tell(ctx, turns);
    vbs_turns_free(turns);
    return status;
}

int main(void)
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = task, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 5 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%d allocations fail %s", trial.n_faults, trial.way);
    }
    return done_testing();
}
