/*
 * Explanations of plans are true. On random profiles: the tree's steps are the plan's, a decision
 * takes what its parts take, and no candidate that fits is faster than the chosen one. On chains,
 * the time of every part of every candidate is that of the slow recursion over exact budgets, also
 * where the candidate does not fit; the batches of fbs are checked step by step, the cells of
 * tables against that recursion, and the bounds of optimal against the optimum over the whole
 * lattice. Arguments: number of profiles per kind of graph, seed.
 */
#include "cases/random_profile.h"
#include "reference/plan/brute_chain.h"
#include "reference/plan/brute_common.h"
#include "reference/plan/brute_force.h"
#include "support/tally.h"
#include "support/trials.h"
#include "vbslab/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEED        91125
#define N_PROFILES  60 /* per kind of graph, each with both io */
#define MAX_LAYERS  5
#define MAX_REQUEST 4
#define N_BUDGETS   4
#define N_CURVES    4 /* of the first decisions, whose points the slow recursion finds too */

#define PROPERTY_LIST(X)                                                                           \
    X(MADE, "a plan is explained")                                                                 \
    X(TIME, "the first decision takes the time of the plan")                                       \
    X(STEPS, "the steps of the tree are those of the plan, in order")                              \
    X(SUMS, "the time of a candidate is the sum of its parts'")                                    \
    X(BEST, "no candidate that fits is faster than the chosen one")                                \
    X(FITS, "a candidate fits exactly where its least memory is there")                            \
    X(BELOW, "what a decision leaves takes the time of its part")                                  \
    X(CUTS, "every part of a cut takes the time of the slow recursion")                            \
    X(LEAST, "a cut fits from its least memory on, and not a byte below")                          \
    X(NEEDED, "and has its time from its needed memory on, and not a byte below")                  \
    X(POINTS, "the curve is that of the slow recursion")                                           \
    X(CURVES, "the curve of a decision has its time, and is that of the slow recursion")           \
    X(PARTS, "a part that is asked for takes the time of the slow recursion")                      \
    X(CELLS, "the cells of a table of single bytes have its times")                                \
    X(BATCHES, "a batch of fbs needs the largest step, and binds there")                           \
    X(BOUNDS, "the bounds of optimal rise and do not exceed the optimum")

enum property { TALLY_ENUM(PROPERTY_LIST, N_PROPERTIES) };
static const char *const PROPERTY_TEXTS[] = {TALLY_TEXTS(PROPERTY_LIST)};

struct subject {
    struct tally tally;
    gsl_rng *rng;
    int number; /* of the profile */
    struct vbs_problem problem;
    const char *planner;
    int64_t budget;
    const struct vbs_explanation *made;
    /* On chains, the slow recursion; else null. */
    struct brute_chain *chain;
    struct brute_cutting cutting;
};

static void describe(const void *self)
{
    const struct subject *subject = self;

    printf("profile %d, %s, %d layers, request %" PRId64 ", io %s, budget %" PRId64,
           subject->number, subject->planner, subject->problem.profile->n_layers,
           subject->problem.request, vbs_io_word(subject->problem.io), subject->budget);
}

static void check(struct subject *subject, enum property property, bool holds)
{
    tally_check(&subject->tally, (int)property, holds);
}

/* ---- What holds of every tree ---- */

static void check_candidate(struct subject *subject, const struct vbs_decision *decision,
                            const struct vbs_candidate *candidate)
{
    double sum = 0;

    check(subject, FITS, candidate->fits == (candidate->least_bytes <= decision->memory_bytes));
    if (candidate->fits &&
        strcmp(subject->planner, "greedy-vbs") != 0) /* takes the largest batch */
        check(subject, BEST, candidate->time_us >= decision->time_us);
    for (int p = 0; p < candidate->n_parts; p++)
        sum += candidate->parts[p].times * candidate->parts[p].time_us;
    if (candidate->n_parts > 0 && candidate->least_bytes < INT64_MAX)
        check(subject, SUMS, sum == candidate->time_us);
}

/* Checks that the children of a decision take, together, its time. */
static void check_children(struct subject *subject, int index)
{
    const struct vbs_explanation *made = subject->made;
    const struct vbs_decision *decision = &made->decisions[index];
    const struct vbs_candidate *chosen;
    double sum = 0;
    int n = 0;

    for (int d = index + 1; d < made->n_decisions; d++)
        if (made->decisions[d].parent == index) {
            int times = 1;

            if (decision->chosen >= 0 && n < decision->candidates[decision->chosen].n_parts)
                times = decision->candidates[decision->chosen].parts[n].times;
            sum += times * made->decisions[d].time_us;
            n++;
        }
    if (decision->chosen < 0 || n == 0)
        return;
    chosen = &decision->candidates[decision->chosen];
    check(subject, BELOW, sum == decision->time_us && chosen->time_us == decision->time_us);
}

static bool same_time(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* Checks that the curve of a decision has its time in its memory. */
static void check_curve(struct subject *subject, const struct vbs_decision *decision)
{
    double time_us = HUGE_VAL;

    for (int p = 0; p < decision->n_points; p++) {
        check(subject, CURVES,
              p == 0 || (decision->points[p].memory_bytes > decision->points[p - 1].memory_bytes &&
                         decision->points[p].time_us < decision->points[p - 1].time_us));
        if (decision->points[p].memory_bytes <= decision->memory_bytes)
            time_us = decision->points[p].time_us;
    }
    if (decision->n_points > 0)
        check(subject, CURVES, same_time(time_us, decision->time_us));
}

static void check_tree(struct subject *subject, double time_us)
{
    const struct vbs_explanation *made = subject->made;

    check(subject, TIME, made->n_decisions > 0 && made->decisions[0].time_us == time_us);
    for (int d = 0; d < made->n_decisions; d++) {
        const struct vbs_decision *decision = &made->decisions[d];

        check_children(subject, d);
        check_curve(subject, decision);
        for (int c = 0; c < decision->n_candidates; c++)
            check_candidate(subject, decision, &decision->candidates[c]);
    }
}

static void check_steps(struct subject *subject, const struct vbs_schedule *schedule)
{
    const struct vbs_explanation *made = subject->made;
    int64_t s = 0;
    bool same = true;

    for (int d = 0; d < made->n_decisions; d++) {
        const struct vbs_decision *decision = &made->decisions[d];
        const struct vbs_candidate *chosen = &decision->candidates[decision->chosen];
        const struct vbs_step *step = &schedule->steps[s];

        if (chosen->choice != VBS_CHOICE_STEP)
            continue;
        same = same && s < schedule->n_steps && step->layer == decision->first_layer &&
               step->batch == decision->samples && step->algorithm == chosen->at;
        s++;
    }
    check(subject, STEPS, same && s == schedule->n_steps);
}

/* ---- Cuttings of chains, where layer k is item k - 1 ---- */

/* Gives whether a part runs its layer whole: the item of a pivot. */
static bool is_whole(const struct vbs_candidate *candidate, int part)
{
    return candidate->choice == VBS_CHOICE_PIVOT &&
           candidate->parts[part].first_layer == candidate->at;
}

/* Gives the time of a candidate in a memory by the slow recursion. */
static double slow_us(struct subject *subject, const struct vbs_decision *decision,
                      const struct vbs_candidate *candidate, int64_t memory_bytes)
{
    const struct brute_cutting *cutting = &subject->cutting;
    double time_us = 0;

    if (candidate->choice == VBS_CHOICE_STEP)
        return brute_item_us(cutting, subject->chain, decision->first_layer - 1, decision->samples,
                             memory_bytes);
    for (int p = 0; p < candidate->n_parts; p++) {
        const struct vbs_part *part = &candidate->parts[p];
        int64_t left = memory_bytes - part->beside_bytes;

        time_us +=
            is_whole(candidate, p)
                ? brute_item_us(cutting, subject->chain, part->first_layer - 1, part->samples, left)
                : brute_part_us(cutting, subject->chain, part->first_layer - 1,
                                part->last_layer - 1, part->samples, left);
    }
    return time_us;
}

/* The bytes of waiting samples, which the definition of a split gives. */
static bool has_right_bytes(const struct subject *subject, const struct vbs_decision *decision,
                            const struct vbs_candidate *candidate)
{
    const int64_t *cut = subject->chain->cut_bytes;
    int waiting = decision->samples - candidate->at;

    if (candidate->choice != VBS_CHOICE_SPLIT)
        return true;
    return candidate->parts[0].beside_bytes == waiting * cut[decision->first_layer - 1] &&
           candidate->parts[1].beside_bytes == candidate->at * cut[decision->last_layer];
}

static void check_cut(struct subject *subject, const struct vbs_decision *decision,
                      const struct vbs_candidate *candidate)
{
    int64_t memory = candidate->fits ? decision->memory_bytes : candidate->least_bytes;

    if (candidate->choice == VBS_CHOICE_STEP)
        return; /* several algorithms, of which the recursion has the fastest */
    check(subject, CUTS,
          has_right_bytes(subject, decision, candidate) &&
              slow_us(subject, decision, candidate,
                      memory == INT64_MAX ? subject->cutting.top_bytes : memory) ==
                  candidate->time_us);
    if (candidate->least_bytes == INT64_MAX)
        return;
    check(subject, LEAST,
          isfinite(slow_us(subject, decision, candidate, candidate->least_bytes)) &&
              isinf(slow_us(subject, decision, candidate, candidate->least_bytes - 1)));
    check(subject, NEEDED,
          slow_us(subject, decision, candidate, candidate->needed_bytes) == candidate->time_us &&
              slow_us(subject, decision, candidate, candidate->needed_bytes - 1) >
                  candidate->time_us);
}

/* Gives the time of a decision's part in a memory by the slow recursion. */
static double slow_part_us(struct subject *subject, const struct vbs_decision *decision,
                           int64_t memory_bytes)
{
    return decision->is_exact
               ? brute_item_us(&subject->cutting, subject->chain, decision->first_layer - 1,
                               decision->samples, memory_bytes)
               : brute_part_us(&subject->cutting, subject->chain, decision->first_layer - 1,
                               decision->last_layer - 1, decision->samples, memory_bytes);
}

/* Checks the curve of a decision point by point; the items of a pivot are single layers. */
static void check_slow_curve(struct subject *subject, const struct vbs_decision *decision)
{
    check(subject, CURVES, decision->n_points > 0);
    for (int p = 0; p < decision->n_points; p++) {
        int64_t bytes = decision->points[p].memory_bytes;
        double us = decision->points[p].time_us;

        check(subject, CURVES,
              same_time(us, slow_part_us(subject, decision, bytes)) &&
                  slow_part_us(subject, decision, bytes - 1) > us);
    }
}

static void check_cuts(struct subject *subject)
{
    const struct vbs_explanation *made = subject->made;
    int last = subject->problem.profile->n_layers - 1, r = (int)subject->problem.request;

    for (int d = 0; d < made->n_decisions; d++) {
        if (d < N_CURVES)
            check_slow_curve(subject, &made->decisions[d]);
        for (int c = 0; c < made->decisions[d].n_candidates; c++)
            check_cut(subject, &made->decisions[d], &made->decisions[d].candidates[c]);
    }
    for (int p = 0; p < made->n_points; p++) {
        int64_t bytes = made->points[p].memory_bytes;
        double us = made->points[p].time_us;

        check(subject, POINTS,
              brute_part_us(&subject->cutting, subject->chain, 0, last, r, bytes) == us &&
                  brute_part_us(&subject->cutting, subject->chain, 0, last, r, bytes - 1) > us);
    }
}

/* Explains any part in any memory. */
static void check_part(struct subject *subject, struct vbs_solver *solver)
{
    int n = subject->problem.profile->n_layers, i = random_int(subject->rng, 1, n);
    int j = random_int(subject->rng, i, n);
    struct vbs_explain_options options = {
        .struct_size = sizeof options,
        .first_layer = i,
        .last_layer = j,
        .samples = random_int(subject->rng, 1, (int)subject->problem.request)};
    struct vbs_explanation *made = NULL;
    bool had;

    subject->budget = random_int(subject->rng, 0, (int)subject->cutting.top_bytes);
    had = vbs_solver_explain_plan(NULL, solver, subject->budget, &options, &made) == VBS_OK;
    check(subject, MADE, had);
    if (had)
        check(subject, PARTS,
              made->decisions[0].time_us == brute_part_us(&subject->cutting, subject->chain, i - 1,
                                                          j - 1, options.samples, subject->budget));
    vbs_explanation_free(made);
}

static void check_cells(struct subject *subject, const struct vbs_explanation *made)
{
    for (int64_t c = 0; c < made->n_cells; c++) {
        const struct vbs_cell *cell = &made->cells[c];

        check(subject, CELLS,
              cell->opt_us == brute_part_us(&subject->cutting, subject->chain,
                                            cell->first_layer - 1, cell->last_layer - 1,
                                            cell->samples, cell->memory_bytes));
    }
}

/* ---- Batches, bounds ---- */

/* Gives the memory that the chunks of at most `batch` samples need, and the layer that needs it. */
static int64_t slow_batch(const struct subject *subject, int batch, int *binds)
{
    const struct vbs_problem *problem = &subject->problem;
    const struct vbs_profile *profile = problem->profile;
    int done[RANDOM_MAX_LAYERS + 1] = {0}, left = (int)problem->request, at = 0;
    int64_t most = 0;

    *binds = 0;
    while (profile->batches[at] != batch)
        at++;
    for (; left > 0; left -= profile->batches[at]) {
        while (profile->batches[at] > left)
            at--;
        for (int k = 1; k <= profile->n_layers; k++) {
            int n_rows;
            const struct vbs_profile_row *rows = vbs_profile_rows(profile, k, at, &n_rows);
            int64_t ws = rows[0].ws_bytes, bytes;

            for (int a = 1; a < n_rows; a++)
                ws = rows[a].ws_bytes < ws ? rows[a].ws_bytes : ws;
            bytes = brute_step_bytes(problem, done, k, profile->batches[at]) + ws;
            if (bytes > most)
                *binds = k;
            most = bytes > most ? bytes : most;
            done[k] += profile->batches[at];
        }
    }
    return most;
}

static void check_batches(struct subject *subject)
{
    const struct vbs_decision *decision = &subject->made->decisions[0];

    for (int c = 0; c < decision->n_candidates; c++) {
        const struct vbs_candidate *candidate = &decision->candidates[c];
        int binds;
        int64_t bytes = slow_batch(subject, candidate->at, &binds);

        check(subject, BATCHES, candidate->least_bytes == bytes && candidate->binds == binds);
    }
}

static void check_bound(struct subject *subject)
{
    const struct vbs_bound_report *bound = &subject->made->bound;
    struct brute_lattice *lattice = brute_lattice_new(&subject->problem);
    double best_us = brute_optimum_us(lattice, subject->budget);

    check(subject, BOUNDS,
          subject->made->has_bound && bound->free_us <= bound->waiting_us &&
              bound->waiting_us <= best_us && bound->proven_us <= best_us &&
              best_us <= bound->cutting_us);
    brute_lattice_free(lattice);
}

/* ---- Planners ---- */

/* Explains the plan for a budget; false: there is none. */
static bool explain(struct subject *subject, struct vbs_solver *solver,
                    const struct vbs_explain_options *options, struct vbs_schedule **schedule,
                    struct vbs_explanation **made)
{
    *schedule = NULL;
    *made = NULL;
    if (vbs_solver_plan(NULL, solver, subject->budget, schedule) != VBS_OK)
        return false;
    check(subject, MADE,
          vbs_solver_explain_plan(NULL, solver, subject->budget, options, made) == VBS_OK);
    subject->made = *made;
    return *made != NULL;
}

static void check_budget(struct subject *subject, struct vbs_solver *solver, bool is_cut)
{
    const struct vbs_explain_options curves = {.struct_size = sizeof curves, .with_curves = is_cut};
    struct vbs_schedule *schedule;
    struct vbs_explanation *made;

    if (explain(subject, solver, &curves, &schedule, &made)) {
        if (made->has_bound)
            check_bound(subject);
        else if (strcmp(subject->planner, "fbs") == 0)
            check_batches(subject);
        if (!made->has_bound && strcmp(subject->planner, "fbs") != 0)
            check_tree(subject, schedule->predicted.time_us);
        if (is_cut)
            check_steps(subject, schedule);
        if (is_cut && subject->chain)
            check_cuts(subject);
    }
    vbs_explanation_free(made);
    vbs_schedule_free(schedule);
}

static struct vbs_solver *open_solver(struct subject *subject,
                                      const struct vbs_solver_options *options)
{
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;

    check(subject, MADE,
          vbs_planner_find(NULL, subject->planner, &planner) == VBS_OK &&
              vbs_solver_new(NULL, planner, &subject->problem, options, &solver) == VBS_OK);
    return solver;
}

static void check_planner(struct subject *subject, const char *name, bool is_cut)
{
    struct vbs_solver *solver;
    int64_t least;

    subject->planner = name;
    solver = open_solver(subject, NULL);
    if (!solver)
        return;
    if (subject->chain)
        brute_chain_forget(subject->chain);
    least = vbs_solver_least_bytes(solver);
    if (least == INT64_MAX) { /* no memory keeps the latency */
        vbs_solver_free(solver);
        return;
    }
    for (int i = 0; i < N_BUDGETS; i++) {
        subject->budget = least + random_int(subject->rng, 0, 12 * i);
        check_budget(subject, solver, is_cut);
    }
    if (is_cut && subject->chain)
        check_part(subject, solver);
    vbs_solver_free(solver);
}

static void check_table(struct subject *subject)
{
    struct vbs_solver_options options = {.struct_size = sizeof options, .table_bytes = 1};
    struct vbs_explain_options cells = {
        .struct_size = sizeof cells, .with_cells = true, .with_curves = true};
    struct vbs_solver *solver;
    struct vbs_schedule *schedule;
    struct vbs_explanation *made;

    subject->planner = "dp-vbs";
    solver = open_solver(subject, &options);
    if (!solver || vbs_solver_least_bytes(solver) == INT64_MAX) {
        vbs_solver_free(solver);
        return;
    }
    subject->budget = vbs_solver_least_bytes(solver) + random_int(subject->rng, 0, 20);
    if (explain(subject, solver, &cells, &schedule, &made)) {
        check_tree(subject, schedule->predicted.time_us);
        check_steps(subject, schedule);
        if (subject->chain) {
            brute_chain_forget(subject->chain);
            check_cells(subject, made);
        }
    }
    vbs_explanation_free(made);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

static void check_problem(struct subject *subject, bool is_chain)
{
    int order[RANDOM_MAX_LAYERS];
    struct brute_chain chain;

    for (int k = 0; k < subject->problem.profile->n_layers; k++)
        order[k] = k + 1;
    chain = brute_line(&subject->problem, order);
    subject->chain = is_chain ? &chain : NULL;
    subject->cutting = (struct brute_cutting){.problem = &subject->problem,
                                              .rule = BRUTE_PIVOTS,
                                              .top_bytes = brute_top_bytes(&subject->problem)};
    check_planner(subject, "dp-vbs", true);
    check_table(subject);
    subject->cutting.rule = BRUTE_BARRIERS;
    check_planner(subject, "dp-vbs+", is_chain);
    subject->chain = NULL;
    check_planner(subject, "dp-monotone", false);
    check_planner(subject, "greedy-vbs", false);
    check_planner(subject, "fbs", false);
    check_planner(subject, "fbs-best", false);
    if (is_chain)
        check_planner(subject, "optimal", false);
    brute_chain_free(&chain);
}

/* Latencies divide requests with external io into chunks, and end those with resident io. */
static void check_latency(struct subject *subject)
{
    subject->problem.latency_us = random_int(subject->rng, 100, 4000);
    subject->chain = NULL;
    check_planner(subject, "dp-vbs", true);
    check_planner(subject, "dp-vbs+", false);
    check_planner(subject, "dp-monotone", false);
    check_table(subject);
    subject->problem.latency_us = 0;
}

static void check_profile(struct subject *subject, enum random_graph graph)
{
    struct vbs_profile *profile =
        random_profile(subject->rng, graph, random_int(subject->rng, 1, MAX_LAYERS));

    check(subject, MADE, profile != NULL);
    if (!profile)
        return;
    subject->problem = (struct vbs_problem){.profile = profile,
                                            .request = random_int(subject->rng, 1, MAX_REQUEST)};
    for (int io = 0; io < 2; io++) {
        subject->problem.io = io ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL;
        check_problem(subject, graph == RANDOM_LINEAR);
        check_latency(subject);
    }
    vbs_profile_free(profile);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, N_PROFILES, SEED, "profiles of each kind");
    struct subject subject = {.rng = gsl_rng_alloc(gsl_rng_mt19937)};

    subject.tally = tally_of(N_PROPERTIES, PROPERTY_TEXTS, describe, &subject);
    gsl_rng_set(subject.rng, trials.seed);
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        for (subject.number = 1; subject.number <= trials.n; subject.number++)
            check_profile(&subject, (enum random_graph)graph);
    tally_report(&subject.tally, "explanations");
    gsl_rng_free(subject.rng);
    return done_testing();
}
