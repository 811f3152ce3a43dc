/*
 * How far joint's plans are above the lower bound, for AlexNet and VGG-S on the analytic backend,
 * whose times are the same on every machine.
 */
#include "support/tap.h"

#include "vbslab/model.h"
#include "vbslab/plan.h"
#include "vbslab/replay.h"
#include "vbslab/simple.h"

#define MIB      (INT64_C(1) << 20)
#define ROUNDING 1e-9

static const int BATCHES[] = {1, 2, 4, 8};

static struct vbs_profile *measure(const char *name)
{
    const struct vbs_simple_options options = {
        .struct_size = sizeof options, .backend = "analytic", .batches = BATCHES, .n_batches = 4};
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, name, NULL, &network) != VBS_OK ||
        vbs_simple_measure(&ctx, network, &options, &profile) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(&ctx));
    vbs_network_free(network);
    return profile;
}

static void try_budget(const struct vbs_profile *profile, struct vbs_solver *solver,
                       int64_t memory_bytes, double most_gap)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);
    double gap = HUGE_VAL;

    if (status == VBS_OK)
        status = vbs_replay_run(&ctx, profile, schedule, -1, false, &replay);
    if (status == VBS_OK && replay->fits)
        gap = 100 * (replay->time_us / schedule->bound.time_us - 1);
    ok(gap >= -ROUNDING && gap <= most_gap, "in %d MiB %.2f%% above the bound",
       (int)(memory_bytes / MIB), gap);
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
}

/* Tries budgets of `least` MiB, and of twice as many, up to 256 MiB. */
static void try_request(const struct vbs_profile *profile, int64_t request, int least,
                        double most_gap)
{
    const struct vbs_problem problem = {
        .profile = profile,
        .request = request,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given", .latency_us = 20, .bytes_per_us = 5000}};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    printf("# samples: %d\n", (int)request);
    if (vbs_planner_find(&ctx, "joint", &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, &problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    for (int budget = least; budget <= 256; budget *= 2)
        try_budget(profile, solver, budget * MIB, most_gap);
    vbs_solver_free(solver);
}

int main(void)
{
    struct vbs_profile *profile = measure("alexnet");

    try_request(profile, 1, 8, 5);
    try_request(profile, 12, 8, 4);
    vbs_profile_free(profile);
    /* Only a search for the gaps to keep finds its plans for 64 MiB and more, which were 5.1, 8.1
     * and 13.1 percent above. */
    profile = measure("vgg-s");
    try_request(profile, 2, 16, 5.5);
    vbs_profile_free(profile);
    return done_testing();
}
