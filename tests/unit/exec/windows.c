/*
 * Schedules with steps by rows run in an arena whose windows are rings: random schedules of random
 * profiles, and plans of dp-vbs+, on a backend whose layers compute each row of an output from the
 * bytes of the rows that it reads. So a row that was overwritten too early, is looked for at
 * another place, or meets another border, changes the outputs.
 */
#include "cases/random_rows.h"
#include "fake/exec.h"
#include "support/exec_case.h"
#include "support/tap.h"
#include "support/trials.h"

#include "vbslab/vbslab.h"

#include <stdlib.h>

#define SEED       29
#define N_PROFILES 160

struct tally {
    int n, n_failed, n_exact, n_moved, n_with_rings, n_stuck, n_refused, n_unsupported;
    double sum_loss, worst_loss;
};

static bool has_rings(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    for (int64_t s = 0; s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        if (step->rows > 0 && step->window > 0 && step->window < profile->layers[step->layer].rows)
            return true;
    }
    return false;
}

static void count_case(struct tally *tally, struct exec_case *c, int number)
{
    double loss;

    c->options.debug_checks = true;
    c->options.place_limit_s = 0.3;
    c->breaks = number % 16 == 0;
    c->most_calls = 2; /* a step by rows runs the kernel for each sample */
    tally->n++;
    if (!exec_case_run(c)) {
        if (c->opened == VBS_UNSUPPORTED)
            tally->n_unsupported++;
        else if (c->opened == VBS_INFEASIBLE)
            tally->n_refused++;
        else if (tally->n_failed++ < 5)
            printf("# profile %d: %s\n", number, c->why);
        return;
    }
    loss = (double)c->placement.placed_bytes / (double)c->placement.live_bytes - 1;
    tally->n_exact += c->exact;
    tally->n_moved += c->placement.n_moves > 0;
    tally->n_with_rings += has_rings(c->profile, c->schedule);
    tally->sum_loss += loss;
    tally->worst_loss = loss > tally->worst_loss ? loss : tally->worst_loss;
}

/* Makes the same schedule with weights included: those of a layer are loaded before its first step
 * and evicted behind its last. Null: out of memory. */
static struct vbs_schedule *with_weights(const struct vbs_profile *profile,
                                         const struct vbs_schedule *schedule)
{
    int n_layers = profile->n_layers;
    struct vbs_schedule draft = *schedule, *made = NULL;
    struct vbs_step *steps =
        calloc((size_t)schedule->n_steps + 2 * (size_t)n_layers, sizeof *steps);

    draft.n_steps = 0;
    draft.steps = steps;
    draft.weights = VBS_WEIGHTS_INCLUDED;
    draft.copy = (struct vbs_link){.source = "given", .latency_us = 1, .bytes_per_us = 100};
    for (int64_t s = 0; s < schedule->n_steps && steps; s++) {
        int layer = schedule->steps[s].layer;
        struct vbs_step weights = {.layer = layer,
                                   .op = VBS_STEP_LOAD,
                                   .slice = 1,
                                   .bytes = profile->layers[layer].weight_bytes};
        bool is_first = weights.bytes > 0, is_last = weights.bytes > 0;

        for (int64_t t = 0; t < schedule->n_steps; t++) {
            is_first &= t >= s || schedule->steps[t].layer != layer;
            is_last &= t <= s || schedule->steps[t].layer != layer;
        }
        if (is_first)
            steps[draft.n_steps++] = weights;
        steps[draft.n_steps++] = schedule->steps[s];
        weights.op = VBS_STEP_EVICT;
        if (is_last)
            steps[draft.n_steps++] = weights;
    }
    if (!steps || vbs_schedule_copy(NULL, &draft, &made) != VBS_OK)
        made = NULL;
    free(steps);
    return made;
}

static struct vbs_schedule *draw_schedule(gsl_rng *rng, const struct vbs_profile *profile,
                                          enum vbs_io io, enum vbs_weights weights)
{
    struct vbs_schedule *plain = random_rows_schedule(rng, profile, random_int(rng, 1, 4), io);
    struct vbs_schedule *schedule;

    if (!plain || weights == VBS_WEIGHTS_EXCLUDED)
        return plain;
    schedule = with_weights(profile, plain);
    vbs_schedule_free(plain);
    return schedule;
}

/* Makes the plan of dp-vbs+ for its least budget. */
static struct vbs_schedule *make_plan(gsl_rng *rng, const struct vbs_profile *profile,
                                      enum vbs_io io)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_problem problem = {
        .profile = profile, .request = random_int(rng, 1, 4), .io = io};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(&ctx, "dp-vbs+", &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, &problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(&ctx, solver, vbs_solver_least_bytes(solver), &schedule) != VBS_OK)
        bail_out("no plan: %s", vbs_detail(&ctx));
    vbs_solver_free(solver);
    return schedule;
}

static void try_plans(enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    struct tally tally = {0};

    gsl_rng_set(rng, SEED + 1);
    for (int i = 0; i < trials_some(N_PROFILES); i++) {
        struct vbs_profile *draft = random_rows_profile(rng, 1 + i % 8);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1 + i % 3) : NULL;
        struct vbs_schedule *schedule = profile ? make_plan(rng, profile, io) : NULL;
        struct exec_case c = {.profile = profile, .schedule = schedule};

        if (!schedule)
            bail_out("no profile");
        count_case(&tally, &c, i);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    gsl_rng_free(rng);
    ok(tally.n_failed == 0 && tally.n_with_rings > tally.n / 20,
       "plans, io %s: %d, of which %d with rings, %d in the replay's peak to the byte, %d not "
       "placed, %d unsupported",
       vbs_io_word(io), tally.n, tally.n_with_rings, tally.n_exact, tally.n_refused,
       tally.n_unsupported);
}

static void try_random(enum vbs_io io, enum vbs_weights weights)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    struct tally tally = {0};

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < trials_some(N_PROFILES); i++) {
        struct vbs_profile *draft = random_rows_profile(rng, 1 + i % 8);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1 + i % 3) : NULL;
        struct vbs_schedule *schedule = profile ? draw_schedule(rng, profile, io, weights) : NULL;
        struct exec_case c = {.profile = profile, .schedule = schedule};

        if (schedule)
            count_case(&tally, &c, i);
        tally.n_stuck += !schedule;
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    gsl_rng_free(rng);
    ok(tally.n_failed == 0 && tally.n_with_rings > tally.n / 8,
       "random schedules, io %s, weights %s: %d, of which %d with rings, %d in the replay's peak "
       "to "
       "the byte, %d with moves",
       vbs_io_word(io), vbs_weights_word(weights), tally.n, tally.n_with_rings, tally.n_exact,
       tally.n_moved);
    printf("# %d stuck, %d not placed, %d unsupported; placed above live: mean %.2f %%, worst %.1f "
           "%%\n",
           tally.n_stuck, tally.n_refused, tally.n_unsupported,
           100 * tally.sum_loss / (tally.n ? tally.n : 1), 100 * tally.worst_loss);
}

/* ---- schedules by hand ---- */

/* Makes the schedule that computes a sample two rows at a time, each as early as they can be, in a
 * window of so many rows. */
static struct vbs_schedule *make_pair_schedule(int rows, int window)
{
    static const char *const names[] = {"a"};
    struct vbs_step *steps = calloc(2 * (size_t)rows, sizeof *steps);
    struct vbs_schedule *schedule = NULL;
    struct vbs_schedule draft = {.model = "pair",
                                 .planner = "test",
                                 .request = 1,
                                 .n_algorithms = 1,
                                 .algorithms = names,
                                 .steps = steps};

    for (int row = 0; row <= rows && steps; row += 2) {
        if (row < rows)
            steps[draft.n_steps++] =
                (struct vbs_step){.layer = 1, .batch = 1, .row = row, .rows = 2, .window = window};
        if (row > 0)
            steps[draft.n_steps++] =
                (struct vbs_step){.layer = 2, .batch = 1, .row = row - 2, .rows = 2};
    }
    if (!steps || vbs_schedule_copy(NULL, &draft, &schedule) != VBS_OK)
        bail_out("out of memory");
    free(steps);
    return schedule;
}

/* A kernel that reads a row above its reach finds it as it was only by luck: with debug checks it
 * finds the values of memory that is free. */
static void check_dead_rows(void)
{
    struct vbs_profile *profile = rows_pair_profile(12, 100, 2);
    struct vbs_schedule *schedule = make_pair_schedule(12, 5);

    for (int debug_checks = 0; debug_checks < 2; debug_checks++) {
        struct exec_case c = {.profile = profile,
                              .schedule = schedule,
                              .reads_above = 1,
                              .options = {.memory_bytes = 8192, .debug_checks = debug_checks}};
        bool same = exec_case_run(&c);

        ok(debug_checks ? !same && strstr(c.why, "differs") : same,
           "a row that is read too late is %s",
           debug_checks ? "filled by the debug checks" : "still there without them");
        if (debug_checks == same)
            printf("# %s\n", c.why);
    }
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
}

/* Pages of a window count once, although they are mapped three times. The arena has 64 rows of the
 * window, and four of the input or two of the output. */
static void check_memory(void)
{
    const int64_t row_bytes = 1 << 16;
    struct vbs_profile *profile = rows_pair_profile(100, row_bytes, 2);
    struct vbs_schedule *schedule = make_pair_schedule(100, 64);
    struct vbs_network *network = exec_fake_network(profile);
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .memory_bytes = 68 * row_bytes};
    struct vbs_exec *exec = NULL;
    struct vbs_exec_report report;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    exec_fake_reset(profile);
    status =
        vbs_exec_new(&ctx, network, &exec_fake_backend, profile, schedule, &options, NULL, &exec);
    for (int i = 0; i < 2 && status == VBS_OK; i++) {
        status = vbs_exec_run(&ctx, exec, NULL, NULL, &report);
        if (!ok(status == VBS_OK && report.touched_bytes == 68 * row_bytes &&
                    (report.high_water_bytes < 0 ||
                     (report.high_water_bytes < 68 * row_bytes + (1 << 20) &&
                      report.high_water_bytes > 67 * row_bytes)),
                "run %d: the process rises by the bytes of the arena", i + 1))
            printf("# touched %lld, process %lld; %s\n", (long long)report.touched_bytes,
                   (long long)report.high_water_bytes, status == VBS_OK ? "" : vbs_detail(&ctx));
    }
    vbs_exec_free(exec);
    exec_fake_network_free(network);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
}

int main(void)
{
    check_dead_rows();
    check_memory();
    try_plans(VBS_IO_EXTERNAL);
    try_plans(VBS_IO_RESIDENT);
    for (int weights = 0; weights < 2; weights++) {
        try_random(VBS_IO_EXTERNAL, (enum vbs_weights)weights);
        try_random(VBS_IO_RESIDENT, (enum vbs_weights)weights);
    }
    return done_testing();
}
