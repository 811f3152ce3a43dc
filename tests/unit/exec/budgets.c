/*
 * Every budget from the least on is placed, and executes in exactly so many bytes: random chains
 * and other networks by whole samples, by rows, and with weights inside. The least budget is the
 * solver's or, where its plan leaves holes, the one that vbs_replan_least names. Offsets are
 * searched for once.
 */
#include "cases/random_rows.h"
#include "cases/random_weights.h"
#include "exec/replan.h"
#include "fake/exec.h"
#include "support/tap.h"
#include "support/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED       4242
#define N_PROFILES 40 /* of each kind */
#define N_BUDGETS  4
#define PLACE_S    0.2
#define MOST_STEPS 200 /* of a schedule; others take long */

/* A kind of profiles; weights are inside the budget where it says so. */
struct kind {
    const char *name;
    enum vbs_weights weights;
    struct vbs_profile *(*draw)(gsl_rng *rng, int number);
};

static struct vbs_profile *draw_whole(gsl_rng *rng, int number)
{
    return random_profile(rng, (enum random_graph)(number % RANDOM_N_GRAPHS), 8);
}

static struct vbs_profile *draw_chain(gsl_rng *rng, int number)
{
    return random_rows_chain(rng, 1 + number % 6, RANDOM_MAX_ROWS);
}

static struct vbs_profile *draw_rows(gsl_rng *rng, int number)
{
    return random_rows_profile(rng, 1 + number % 8);
}

static struct vbs_profile *draw_weights(gsl_rng *rng, int number)
{
    return random_weights_profile(rng, (enum random_graph)(number % RANDOM_N_GRAPHS), 8, true);
}

static struct vbs_profile *draw_rows_weights(gsl_rng *rng, int number)
{
    return random_rows_weighted(rng, 1 + number % 6);
}

static const struct kind KINDS[] = {
    {"whole samples", VBS_WEIGHTS_EXCLUDED, draw_whole},
    {"chains by rows", VBS_WEIGHTS_EXCLUDED, draw_chain},
    {"networks by rows", VBS_WEIGHTS_EXCLUDED, draw_rows},
    {"weights inside", VBS_WEIGHTS_INCLUDED, draw_weights},
    {"weights inside, by rows", VBS_WEIGHTS_INCLUDED, draw_rows_weights},
};
#define N_KINDS ((int)(sizeof KINDS / sizeof KINDS[0]))

struct tally {
    int n, n_failed, n_above, n_searches;
    int64_t most_above; /* bytes of a least budget above the solver's */
};

/* Counts the searches for offsets that an executor's making reports. */
static void count_search(void *self, double share, double left_s, const char *what)
{
    struct tally *tally = self;

    (void)share;
    (void)left_s;
    tally->n_searches += strstr(what, "offsets") != NULL;
}

struct values {
    int n;
    int64_t *sizes;
    float **at;
};

static void make_values(const struct vbs_network *network, int64_t request, struct values *values)
{
    values->n = network->n_outputs;
    values->sizes = calloc((size_t)values->n, sizeof *values->sizes);
    values->at = calloc((size_t)values->n, sizeof *values->at);
    for (int i = 0; i < values->n && values->sizes && values->at; i++) {
        values->sizes[i] = request * vbs_shape_elements(&network->outputs[i].shape);
        values->at[i] = calloc((size_t)values->sizes[i] + 1, sizeof **values->at);
        if (!values->at[i])
            bail_out("out of memory");
    }
    if (!values->sizes || !values->at)
        bail_out("out of memory");
}

static void free_values(struct values *values)
{
    for (int i = 0; i < values->n; i++)
        free(values->at[i]);
    free(values->at);
    free(values->sizes);
}

static bool are_same(const struct values *a, const struct values *b)
{
    for (int i = 0; i < a->n; i++)
        if (memcmp(a->at[i], b->at[i], (size_t)a->sizes[i] * sizeof(float)) != 0)
            return false;
    return true;
}

/* Runs twice, and compares with plain execution. */
static bool is_right(const struct vbs_problem *problem, const struct vbs_network *network,
                     struct vbs_exec *exec)
{
    struct values want, got;
    struct vbs_exec_report report;
    struct vbs_ctx ctx = {0};
    bool same;

    make_values(network, problem->request, &want);
    make_values(network, problem->request, &got);
    same = exec_fake_reference(problem->profile, network, problem->request, NULL, want.at);
    for (int i = 0; i < 2 && same; i++)
        same = vbs_exec_run(&ctx, exec, NULL, got.at, &report) == VBS_OK && are_same(&want, &got);
    if (!same || exec_fake.n_wrong > 0)
        printf("# %s; %s\n", vbs_detail(&ctx), exec_fake.why);
    free_values(&want);
    free_values(&got);
    return same && exec_fake.n_wrong == 0;
}

/* Plans, places and executes in an arena of so many bytes. */
static bool runs_in(struct tally *tally, const struct vbs_problem *problem,
                    struct vbs_solver *solver, int64_t bytes)
{
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .memory_bytes = bytes,
                                             .place_limit_s = PLACE_S,
                                             .debug_checks = true,
                                             .progress = {.report = count_search, .self = tally}};
    struct vbs_network *network = exec_fake_network(problem->profile);
    struct vbs_replanned made = {0};
    struct vbs_ctx ctx = {0};
    int n_before = tally->n_searches;
    bool done;

    exec_fake_reset(problem->profile);
    exec_fake.less = problem->weights == VBS_WEIGHTS_INCLUDED ? (int)(bytes % 3) : 0;
    done = vbs_replan_exec(&ctx, solver, network, &exec_fake_backend, problem->profile, &options,
                           &made) == VBS_OK;
    if (!done)
        printf("# %lld bytes: %s\n", (long long)bytes, vbs_detail(&ctx));
    done = done && made.placement.placed_bytes <= bytes && is_right(problem, network, made.exec);
    if (exec_fake.less > 0) /* other sizes than the profile's may need other offsets */
        tally->n_searches = n_before;
    vbs_exec_free(made.exec);
    vbs_exec_placed_free(made.placed);
    vbs_schedule_free(made.schedule);
    exec_fake_network_free(network);
    return done;
}

/* Returns whether the plan of the least budget has few steps. */
static bool is_short(struct vbs_solver *solver)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_ctx ctx = {0};
    bool found;

    if (vbs_solver_plan(&ctx, solver, vbs_solver_least_bytes(solver), &schedule) != VBS_OK)
        bail_out("no plan: %s", vbs_detail(&ctx));
    found = schedule->n_steps <= MOST_STEPS;
    vbs_schedule_free(schedule);
    return found;
}

static void try_profile(struct tally *tally, const struct vbs_problem *problem, gsl_rng *rng)
{
    const char *name = problem->weights == VBS_WEIGHTS_INCLUDED ? "joint" : "dp-vbs+";
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};
    int64_t least = 0, above;
    bool done = true;

    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        bail_out("no solver: %s", vbs_detail(&ctx));
    if (!is_short(solver)) {
        vbs_solver_free(solver);
        return;
    }
    if (vbs_replan_least(&ctx, solver, problem->profile, PLACE_S, &least) != VBS_OK)
        bail_out("no least budget: %s", vbs_detail(&ctx));
    above = least - vbs_solver_least_bytes(solver);
    tally->n_above += above > 0;
    tally->most_above = above > tally->most_above ? above : tally->most_above;
    for (int i = 0; i < N_BUDGETS && done; i++)
        done = runs_in(tally, problem, solver,
                       least + (i < 2 ? i : random_int(rng, 0, 1 + (int)(least % 100000))));
    tally->n++;
    tally->n_failed += !done;
    vbs_solver_free(solver);
}

static void try_kind(const struct kind *kind, enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < trials_some(N_PROFILES); i++) {
        struct vbs_profile *draft = kind->draw(rng, i);
        struct vbs_profile *profile =
            draft ? exec_fake_profile(draft, random_int(rng, 1, 9)) : NULL;
        struct vbs_problem problem = {
            .profile = profile,
            .request = random_int(rng, 1, 4),
            .io = io,
            .weights = kind->weights,
            .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 50}};

        if (profile)
            try_profile(&tally, &problem, rng);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    gsl_rng_free(rng);
    ok(tally.n > 0 && tally.n_failed == 0,
       "%s, io %s: %d of %d run in every budget from the least on; that of %d is above the "
       "solver's, by %lld bytes at most",
       kind->name, vbs_io_word(io), tally.n - tally.n_failed, tally.n, tally.n_above,
       (long long)tally.most_above);
    ok(tally.n_searches == 0, "offsets that are found are not searched for again");
}

int main(void)
{
    for (int k = 0; k < N_KINDS; k++)
        for (int io = 0; io < 2; io++)
            try_kind(&KINDS[k], (enum vbs_io)io);
    return done_testing();
}
