/*
 * Measures how often and by how much the planners miss the optimum on small random networks: one
 * row of CSV for each, with the times of all planners at one budget. experiments/optimum-misses
 * reads it.
 *
 *   misses [NETWORKS [SEED]]   per kind of graph and of times (default 2000)
 *
 * A network has 2 to 7 layers and a request of 2 to 6 samples. The budget is any byte count, all
 * alike, from the least with a schedule up to the one from which the optimum falls no more. The
 * optimum is that of planner optimal with its gap proven to be 0, and where the lattice is small it
 * is compared with brute force. A difference, a gap or a plan below the optimum ends the program.
 */
#include "base/ctx.h"
#include "reference/plan/brute_force.h"
#include "cases/random_profile.h"

#include "vbslab/plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N_NETWORKS  2000
#define SEED        2718
#define MAX_LAYERS  7
#define MAX_REQUEST 6
#define MAX_CODES   20000 /* states of a lattice that brute force searches */

enum times {
    TIMES_AFFINE,    /* a constant and a slope; workspaces grow with the batch; one algorithm */
    TIMES_IRREGULAR, /* as random_profile makes them: some affine, some not, several algorithms */
    N_TIMES
};

static const char *const TIMES_WORDS[] = {"affine", "irregular"};
static const char *const GRAPH_WORDS[] = {"linear", "branched", "arbitrary"};

_Noreturn static void fail(const char *what, const char *why)
{
    fprintf(stderr, "misses: %s: %s\n", what, why);
    exit(1);
}

static enum vbs_status affine_layer(struct vbs_ctx *ctx, gsl_rng *rng,
                                    const struct vbs_profile *profile, int layer,
                                    struct vbs_profile_builder *builder)
{
    int start = random_int(rng, 0, 40), slope = random_int(rng, 1, 10);
    int ws_bytes = random_once_in(rng, 3) ? random_int(rng, 1, 9) : 0;
    enum vbs_status status = vbs_profile_builder_layer(ctx, builder, &profile->layers[layer]);

    for (int i = 0; i < profile->n_batches && status == VBS_OK; i++) {
        int batch = profile->batches[i];
        struct vbs_profile_row row = {.time_us = start + slope * batch,
                                      .ws_bytes = (int64_t)ws_bytes * batch};

        status = vbs_profile_builder_row(ctx, builder, layer, batch, "direct", &row);
    }
    return status;
}

/* Makes the same network with affine times. */
static struct vbs_profile *affine_profile(gsl_rng *rng, const struct vbs_profile *profile)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *affine = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; k <= profile->n_layers && status == VBS_OK; k++)
        status = affine_layer(&ctx, rng, profile, k, builder);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(&ctx, builder, &affine);
    if (status != VBS_OK)
        fail("cannot make a profile", vbs_detail(&ctx));
    vbs_profile_builder_free(builder);
    return affine;
}

static struct vbs_profile *next_profile(gsl_rng *rng, enum random_graph graph, enum times times)
{
    for (;;) {
        struct vbs_profile *profile = random_profile(rng, graph, MAX_LAYERS);

        if (!profile)
            fail("cannot make a profile", "the builder refused it");
        if (profile->n_layers > 1 && profile->n_batches > 1 && times == TIMES_AFFINE) {
            struct vbs_profile *affine = affine_profile(rng, profile);

            vbs_profile_free(profile);
            return affine;
        }
        if (profile->n_layers > 1 && profile->n_batches > 1)
            return profile;
        vbs_profile_free(profile);
    }
}

static struct vbs_solver *open_solver(const struct vbs_planner *planner,
                                      const struct vbs_problem *problem)
{
    struct vbs_solver *solver;
    struct vbs_ctx ctx = {0};

    if (vbs_solver_new(&ctx, planner, problem, NULL, &solver) != VBS_OK)
        fail(vbs_planner_name(planner), vbs_detail(&ctx));
    return solver;
}

/* Gives the time of a plan; HUGE_VAL: no schedule fits. */
static double plan_us(struct vbs_solver *solver, int64_t memory_bytes, double *bound_us)
{
    struct vbs_schedule *schedule;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_solver_plan(&ctx, solver, memory_bytes, &schedule);
    double time_us;

    if (status == VBS_INFEASIBLE)
        return HUGE_VAL;
    if (status != VBS_OK)
        fail("cannot plan", vbs_detail(&ctx));
    time_us = schedule->predicted.time_us;
    *bound_us = schedule->bound.time_us;
    vbs_schedule_free(schedule);
    return time_us;
}

/* Chooses a budget at which the optimum is neither infeasible nor that of unlimited memory. */
static int64_t choose_budget(gsl_rng *rng, struct vbs_solver *optimal)
{
    struct vbs_frontier *frontier;
    struct vbs_ctx ctx = {0};
    int64_t least, most;

    if (vbs_solver_frontier(&ctx, optimal, &frontier) != VBS_OK)
        fail("cannot have the frontier", vbs_detail(&ctx));
    least = frontier->points[0].memory_bytes;
    most = frontier->points[frontier->n_points - 1].memory_bytes - 1;
    vbs_frontier_free(frontier);
    return random_int(rng, (int)least, (int)(most > least ? most : least));
}

static bool is_small(const struct vbs_problem *problem)
{
    return pow((double)problem->request + 1, problem->profile->n_layers) <= MAX_CODES;
}

/* Gives the optimum, which is proven. */
static double optimum_us(const struct vbs_problem *problem, struct vbs_solver *optimal,
                         int64_t memory_bytes)
{
    double bound_us, time_us = plan_us(optimal, memory_bytes, &bound_us);

    if (time_us != bound_us)
        fail("optimal", "the gap is not 0");
    if (is_small(problem)) {
        struct brute_lattice *lattice = brute_lattice_new(problem);

        if (brute_optimum_us(lattice, memory_bytes) != time_us)
            fail("optimal", "brute force finds another optimum");
        brute_lattice_free(lattice);
    }
    return time_us;
}

/* Gives whether a planner is compared with the optimum: one that plans with weights excluded. */
static bool is_measured(const struct vbs_planner *planner)
{
    return strcmp(vbs_planner_name(planner), "optimal") != 0 && !vbs_planner_transfers(planner) &&
           !vbs_planner_estimates(planner);
}

static void print_case(gsl_rng *rng, const struct vbs_problem *problem, const char *label)
{
    const struct vbs_planner *planner;
    struct vbs_solver *solver;
    int64_t memory_bytes;
    double best_us, unused_us;

    if (vbs_planner_find(NULL, "optimal", &planner) != VBS_OK)
        fail("optimal", "no such planner");
    solver = open_solver(planner, problem);
    memory_bytes = choose_budget(rng, solver);
    best_us = optimum_us(problem, solver, memory_bytes);
    vbs_solver_free(solver);
    printf("%s,%d,%d,%s,%d,%s,%.0f", label, problem->profile->n_layers, (int)problem->request,
           vbs_io_word(problem->io), (int)memory_bytes, is_small(problem) ? "true" : "false",
           best_us);
    for (int p = 0; (planner = vbs_planner_at(p)) != NULL; p++) {
        double time_us;

        if (!is_measured(planner))
            continue;
        solver = open_solver(planner, problem);
        time_us = plan_us(solver, memory_bytes, &unused_us);
        vbs_solver_free(solver);
        if (time_us < best_us)
            fail(vbs_planner_name(planner), "a plan is faster than the optimum");
        if (time_us < HUGE_VAL)
            printf(",%.0f", time_us);
        else
            printf(",");
    }
    printf("\n");
}

static void print_header(void)
{
    const struct vbs_planner *planner;

    printf("graph,times,layers,request,io,memory_bytes,brute_force,optimal");
    for (int p = 0; (planner = vbs_planner_at(p)) != NULL; p++)
        if (is_measured(planner))
            printf(",%s", vbs_planner_name(planner));
    printf("\n");
}

static void print_kind(enum random_graph graph, enum times times, int n, unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    char label[64];

    if (!rng)
        fail("random numbers", "out of memory");
    gsl_rng_set(rng, seed + (unsigned long)(graph * N_TIMES + times));
    snprintf(label, sizeof label, "%s,%s", GRAPH_WORDS[graph], TIMES_WORDS[times]);
    for (int i = 0; i < n; i++) {
        struct vbs_profile *profile = next_profile(rng, graph, times);
        struct vbs_problem problem = {
            .profile = profile,
            .request = random_int(rng, 2, MAX_REQUEST),
            .io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
        };

        print_case(rng, &problem, label);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : N_NETWORKS;
    unsigned long seed = argc > 2 ? strtoul(argv[2], NULL, 10) : SEED;

    print_header();
    for (int graph = 0; graph < RANDOM_N_GRAPHS; graph++)
        for (int times = 0; times < N_TIMES; times++)
            print_kind((enum random_graph)graph, (enum times)times, n, seed);
    if (fflush(stdout) != 0 || ferror(stdout))
        fail("cannot write", "standard output");
    return 0;
}
