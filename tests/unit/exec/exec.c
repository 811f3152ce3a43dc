/*
 * Schedules of every planner on random networks are executed: the outputs are those of plain
 * execution, no byte outside of living buffers changes, and as many bytes are live as the replay
 * counts.
 */
#include "support/exec_case.h"
#include "fake/exec.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"
#include "support/trials.h"

#include "vbslab/plan.h"
#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        505
#define PLACE_S     0.1
#define N_NETWORKS  12
#define N_SCHEDULES 60
#define MAX_SHOWN   5

struct tally {
    int n, n_exact, n_failed, n_moved, n_refused;
    double worst_loss, sum_loss;
};

/* Gives whether the reason is one for which only odd schedules are refused. */
static bool is_refused(const char *why)
{
    return strstr(why, "in slices that read different packed formats") ||
           strstr(why, "pairs of buffers");
}

static void count_case(struct tally *tally, struct exec_case *c, const char *name)
{
    bool good;

    c->options.debug_checks = true;
    c->options.trace = true;
    c->options.place_limit_s = PLACE_S;
    good = exec_case_run(c);
    tally->n++;
    tally->n_exact += c->exact;
    tally->n_moved += c->placement.n_moves > 0;
    if (good && c->placement.live_bytes > 0) {
        double loss = (double)c->placement.placed_bytes / (double)c->placement.live_bytes - 1;

        tally->sum_loss += loss;
        tally->worst_loss = loss > tally->worst_loss ? loss : tally->worst_loss;
    }
    if (!good && is_refused(c->why)) {
        tally->n_refused++;
        return;
    }
    if (!good && tally->n_failed++ < MAX_SHOWN)
        printf("# %s: %s\n", name, c->why);
}

static void report(const struct tally *tally, const char *what)
{
    ok(tally->n > 0 && tally->n_failed == 0,
       "%s: %d schedules, %d in the replay's peak to the byte, %d with moves, %d refused", what,
       tally->n, tally->n_exact, tally->n_moved, tally->n_refused);
    printf("# placed above live: mean %.2f %%, worst %.1f %%\n",
           100 * tally->sum_loss / (tally->n ? tally->n : 1), 100 * tally->worst_loss);
}

/* ---- planners ---- */

static void try_budgets(struct tally *tally, const struct vbs_problem *problem,
                        const struct vbs_planner *planner, gsl_rng *rng)
{
    struct vbs_ctx ctx = {0};
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *frontier = NULL;
    const struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options),
                                               .time_limit_s = 1};

    if (vbs_solver_new(&ctx, planner, problem, &options, &solver) != VBS_OK)
        return;
    if (vbs_solver_frontier(&ctx, solver, &frontier) == VBS_OK)
        for (int i = 0; i < 3; i++) {
            int point = i == 0 ? 0 : random_int(rng, 0, frontier->n_points - 1);
            struct vbs_schedule *schedule = NULL;
            struct exec_case c = {.profile = problem->profile};

            if (vbs_solver_plan(&ctx, solver, frontier->points[point].memory_bytes, &schedule) !=
                VBS_OK)
                continue;
            c.schedule = schedule;
            c.less = random_once_in(rng, 2) ? 0 : random_int(rng, 1, 200);
            count_case(tally, &c, vbs_planner_name(planner));
            vbs_schedule_free(schedule);
        }
    vbs_frontier_free(frontier);
    vbs_solver_free(solver);
}

static void try_planners(enum vbs_weights weights, enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    for (int p = 0; vbs_planner_at(p); p++) {
        const struct vbs_planner *planner = vbs_planner_at(p);
        struct tally tally = {0};
        char what[120];

        if (vbs_planner_estimates(planner) ||
            (vbs_planner_transfers(planner) && weights == VBS_WEIGHTS_EXCLUDED))
            continue;
        gsl_rng_set(rng, SEED);
        for (int i = 0; i < trials_some(N_NETWORKS); i++) {
            enum random_graph graph = (enum random_graph)(i % RANDOM_N_GRAPHS);
            struct vbs_profile *draft = random_weights_profile(rng, graph, 6, true);
            struct vbs_profile *profile = draft ? exec_fake_profile(draft, 64) : NULL;
            struct vbs_problem problem = {
                .profile = profile,
                .request = random_int(rng, 1, 7),
                .io = io,
                .weights = weights,
                .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 100}};

            if (profile)
                try_budgets(&tally, &problem, planner, rng);
            vbs_profile_free(draft);
            vbs_profile_free(profile);
        }
        snprintf(what, sizeof what, "%s, io %s, weights %s", vbs_planner_name(planner),
                 vbs_io_word(io), vbs_weights_word(weights));
        report(&tally, what);
    }
    gsl_rng_free(rng);
}

/* ---- any schedules ---- */

static void try_random(enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    char what[80];

    gsl_rng_set(rng, SEED + 1);
    for (int i = 0; i < trials_some(N_SCHEDULES); i++) {
        struct vbs_profile *draft =
            random_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), RANDOM_MAX_LAYERS);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 64) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_schedule(rng, profile, random_int(rng, 1, 12), io) : NULL;
        struct exec_case c = {.profile = profile, .schedule = schedule};

        if (schedule)
            count_case(&tally, &c, "a random path");
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    snprintf(what, sizeof what, "random paths, io %s", vbs_io_word(io));
    report(&tally, what);
    gsl_rng_free(rng);
}

static void try_random_transfers(enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    char what[80];

    gsl_rng_set(rng, SEED + 2);
    for (int i = 0; i < trials_some(N_SCHEDULES); i++) {
        struct vbs_profile *draft = random_transfer_profile(rng, 4, 6);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_transfer_schedule(rng, profile, random_int(rng, 1, 4), io, 4) : NULL;
        struct exec_case c = {.profile = profile, .schedule = schedule};

        if (schedule) {
            schedule->copy =
                (struct vbs_link){.source = "given", .latency_us = 1, .bytes_per_us = 100};
            count_case(&tally, &c, "random transfers");
            schedule->copy = (struct vbs_link){0};
        }
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    snprintf(what, sizeof what, "random transfers, io %s", vbs_io_word(io));
    report(&tally, what);
    gsl_rng_free(rng);
}

int main(void)
{
    for (int io = 0; io < 2; io++) {
        try_planners(VBS_WEIGHTS_EXCLUDED, (enum vbs_io)io);
        try_planners(VBS_WEIGHTS_INCLUDED, (enum vbs_io)io);
        try_random((enum vbs_io)io);
        try_random_transfers((enum vbs_io)io);
    }
    return done_testing();
}
