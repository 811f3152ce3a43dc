/*
 * Numbers of samples for which cuttings are solved: each can be split into two others. Cuttings of
 * some numbers against cuttings of all numbers, on random networks: no plan is for less than the
 * least budget, none is faster, few are much slower, and the bytes of a plan are the peak of its
 * steps. Arguments: number of networks, seed.
 */
#include "cases/random_profile.h"
#include "plan/dp/counts.h"
#include "plan/dp/dp.h"
#include "plan/problem/problem.h"
#include "support/tap.h"
#include "support/trials.h"

#include <stdlib.h>

#define SEED       4096
#define N_NETWORKS 24
#define MAX_LAYERS 4
#define REQUEST    285  /* odd, and above 8 x 8 x 4 */
#define SLOWER     1.01 /* of a plan that is much slower */

static bool is_sum(const struct vbs_counts *counts, int b)
{
    for (int a = 1; a < b; a++)
        if (counts->index[a] >= 0 && counts->index[b - a] >= 0)
            return true;
    return false;
}

static bool are_sound(const struct vbs_counts *counts, int request)
{
    bool holds = counts->n > 0 && counts->list[counts->n - 1] == request && counts->index[0] < 0;

    for (int b = 1, n = 0; holds && b <= request; b++) {
        if (counts->index[b] < 0) {
            holds = b > counts->exact;
            continue;
        }
        holds = counts->index[b] == n && counts->list[n] == b && (b == 1 || is_sum(counts, b));
        n++;
    }
    return holds;
}

static void test_splits(void)
{
    static const int EXACTS[] = {0, 1, 8, 9, 13, 64};
    int n_wrong = 0, most = 0;

    for (size_t e = 0; e < sizeof EXACTS / sizeof EXACTS[0]; e++)
        for (int r = 1; r <= 5000; r += r < 700 ? 1 : 89) {
            struct vbs_task task = {.request = r, .exact_samples = EXACTS[e]};
            struct vbs_arena arena = {0};
            struct vbs_counts counts;

            if (vbs_counts_find(NULL, &task, &arena, &counts) != VBS_OK || !are_sound(&counts, r))
                n_wrong++;
            if (EXACTS[e] == 64 && counts.n > most)
                most = counts.n;
            vbs_arena_clear(&arena);
        }
    is_int(n_wrong, 0, "every number of samples is the sum of two others");
    ok(most < 64 + 2 * 56 + 56, "up to 5000 samples there are few numbers (%d)", most);
}

static struct vbs_pareto_set *solve(const struct vbs_problem *problem, int exact,
                                    struct vbs_task *task)
{
    void *self = NULL;

    if (vbs_task_init(NULL, task, problem) != VBS_OK)
        return NULL;
    task->exact_samples = exact;
    if (vbs_planner_dp_vbs_plus.open(NULL, task, &self) != VBS_OK) {
        vbs_task_clear(task);
        return NULL;
    }
    return self;
}

struct comparison {
    int n, n_slower;
    bool no_less, never_faster, exact_peaks;
};

static void compare(const struct vbs_pareto_set *all, const struct vbs_pareto_set *some,
                    struct comparison *comparison)
{
    comparison->no_less = comparison->no_less && all->n > 0 && some->n > 0 &&
                          all->list[0].bytes <= some->list[0].bytes;
    for (int i = 0, at = 0; i < some->n; i++) {
        const struct vbs_pareto_plan *plan = &some->list[i];
        struct vbs_step_list steps = {.n_steps = plan->n_steps,
                                      .steps = (struct vbs_step *)(uintptr_t)plan->steps};
        struct vbs_timeline timeline;

        while (at + 1 < all->n && all->list[at + 1].bytes <= plan->bytes)
            at++;
        comparison->n++;
        comparison->n_slower += plan->time_us > all->list[at].time_us * SLOWER;
        comparison->never_faster =
            comparison->never_faster && plan->time_us >= all->list[at].time_us * (1 - 1e-9);
        comparison->exact_peaks =
            comparison->exact_peaks &&
            vbs_timeline_find(NULL, some->task, &steps, &timeline) == VBS_OK &&
            timeline.peak_bytes == plan->bytes;
    }
}

/* Cuttings of all numbers up to exact, and fewer above, against those of all. */
static void test_cuttings(int exact, int n_networks, unsigned long seed, double most_slower)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    struct comparison comparison = {0, 0, true, true, true};
    int n_solved = 0;

    gsl_rng_set(rng, seed);
    for (int i = 0; i < n_networks; i++) {
        struct vbs_profile *profile =
            random_profile(rng, i % 2 ? RANDOM_BRANCHED : RANDOM_LINEAR, MAX_LAYERS);
        struct vbs_problem problem = {.profile = profile, .request = REQUEST};
        struct vbs_task all_task, some_task;
        struct vbs_pareto_set *all = solve(&problem, 0, &all_task),
                              *some = solve(&problem, exact, &some_task);

        if (all && some) {
            compare(all, some, &comparison);
            n_solved++;
        }
        if (all)
            vbs_task_clear(&all_task);
        if (some)
            vbs_task_clear(&some_task);
        vbs_pareto_close(all);
        vbs_pareto_close(some);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    ok(n_solved == n_networks, "all numbers of samples up to %d: all networks are solved", exact);
    ok(comparison.no_less, "  no plan is for less than the least budget");
    ok(comparison.never_faster, "  no plan is faster");
    ok(comparison.exact_peaks, "  the bytes of a plan are the peak of its steps");
    ok(comparison.n_slower <= most_slower * comparison.n,
       "  at most %g of the plans are a percent slower (%d of %d)", most_slower,
       comparison.n_slower, comparison.n);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_NETWORKS, SEED, "networks");

    test_splits();
    test_cuttings(8, trials.n, trials.seed, 0.7);
    test_cuttings(64, trials.n, trials.seed, 0.03);
    return done_testing();
}
