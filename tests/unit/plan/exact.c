/*
 * The search for the best schedules of small problems with weights inside the budget: where it
 * ends. How good they are is told by weights_best.c and joint_rows.c.
 */
#include "plan/weights/exact.h"

#include "cases/weights_chain.h"
#include "support/tap.h"

#include "base/clock.h"

#define MOST_BYTES ((size_t)128 << 20)

static const struct vbs_link SLOW = {.source = "given", .latency_us = 1, .bytes_per_us = 4};

/* What a search found, and the memory that it took. */
struct found {
    int n_plans;
    size_t bytes;
};

/* Searches the schedules of the chain with so many packed formats until the clock until_s. */
static struct found search(int n_algorithms, int request, double until_s)
{
    struct vbs_profile *profile = weights_chain(n_algorithms, false);
    const struct vbs_problem problem = {
        .profile = profile, .request = request, .weights = VBS_WEIGHTS_INCLUDED, .copy = SLOW};
    struct vbs_pareto_set pareto = {0};
    struct vbs_task task;
    struct vbs_ctx ctx = {0};
    struct found found;

    if (vbs_task_init(&ctx, &task, &problem) != VBS_OK)
        bail_out("no task: %s", vbs_detail(&ctx));
    pareto.task = &task;
    if (vbs_exact_offer(&ctx, &task, until_s, &pareto) != VBS_OK)
        bail_out("no search: %s", vbs_detail(&ctx));
    found = (struct found){pareto.n, pareto.solving_bytes};
    vbs_pareto_clear(&pareto);
    vbs_task_clear(&task);
    vbs_profile_free(profile);
    return found;
}

int main(void)
{
    struct found found;

    ok(search(1, 2, 0).n_plans > 0, "there are plans");
    ok(search(1, 2, vbs_clock_s() + 1e6).n_plans > 0, "and where time is left");
    is_int(search(1, 2, vbs_clock_s() - 1).n_plans, 0, "none where it is over");
    found = search(2, 2, 0);
    ok(found.bytes > MOST_BYTES / 16 && found.bytes < MOST_BYTES,
       "one with too many lists ends, and takes little memory: %zu bytes", found.bytes);
    return done_testing();
}
