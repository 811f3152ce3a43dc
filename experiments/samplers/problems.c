/* The problems. Sources: Surjanovic, Bingham: Virtual Library of Simulation Experiments (Hartmann,
 * Branin, Rosenbrock); Gardner et al.: Bayesian Optimization with Inequality Constraints, 2014;
 * Zitzler, Deb, Thiele: Comparison of Multiobjective Evolutionary Algorithms, 2000. */
#include "problems.h"

#include <math.h>
#include <stddef.h>

/* ---- functions ---- */

static void hartmann(const double *x, double *values)
{
    static const double A[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                   {.05, 10, 17, .1, 8, 14},
                                   {3, 3.5, 1.7, 10, 17, 8},
                                   {17, 8, .05, 10, .1, 14}};
    static const double C[4] = {1, 1.2, 3, 3.2};
    static const double P[4][6] = {{.1312, .1696, .5569, .0124, .8283, .5886},
                                   {.2329, .4135, .8307, .3736, .1004, .9991},
                                   {.2348, .1451, .3522, .2883, .3047, .6650},
                                   {.4047, .8828, .8732, .5743, .1091, .0381}};

    values[0] = 0;
    for (int i = 0; i < 4; i++) {
        double sum = 0;

        for (int j = 0; j < 6; j++)
            sum += A[i][j] * (x[j] - P[i][j]) * (x[j] - P[i][j]);
        values[0] += C[i] * exp(-sum);
    }
}

static void branin(const double *x, double *values)
{
    double a = x[1] - 5.1 / (4 * M_PI * M_PI) * x[0] * x[0] + 5 / M_PI * x[0] - 6;

    values[0] = -(a * a + 10 * (1 - 1 / (8 * M_PI)) * cos(x[0]) + 10);
}

/* Rosenbrock's function of four numbers on a lattice of quarters, without scaling. */
static void rosenbrock(const double *x, double *values)
{
    values[0] = 0;
    for (int i = 0; i < 3; i++) {
        double a = x[i] / 4, b = x[i + 1] / 4;

        values[0] -= 100 * (b - a * a) * (b - a * a) + (1 - a) * (1 - a);
    }
}

/* Gardner's first problem: small feasible regions. */
static void gardner(const double *x, double *values)
{
    values[0] = -(cos(2 * x[0]) * cos(x[1]) + sin(x[0]));
    values[1] = 0.5 - cos(x[0]) * cos(x[1]) + sin(x[0]) * sin(x[1]);
}

/* Learning-like: a rate over five decades, a number of layers, one of four activations; half of the
 * space is infeasible because it is too large. */
static void mixed(const double *x, double *values)
{
    static const double LOSS[4] = {0.3, 0, 0.1, 0.6};
    int kind = (int)x[2];
    double rate = log10(x[0]) + 2 + 0.3 * kind, layers = x[1] - 9 - 2 * (kind == 1);

    values[0] = -rate * rate - 0.05 * layers * layers - LOSS[kind] - 0.2 * fabs(x[3] - 0.37);
    values[1] = 14 - x[1] - 4 * x[3];
}

/* Pruning-like: six groups that keep 1 to 8 blocks of their filters. How much faster the network
 * becomes is known; the accuracy, which must stay within a point, is not. */
static void pruning(const double *x, double *values)
{
    static const double TIME[6] = {0.10, 0.20, 0.25, 0.20, 0.15, 0.10};
    static const double LOSS[6] = {6, 1, 1.5, 0.6, 2.5, 0.3};
    double time = 0, loss = 0, before = 1;

    for (int i = 0; i < 6; i++) {
        double kept = x[i] / 8, removed = 1 - kept;

        time += TIME[i] * kept * before;
        loss += LOSS[i] * removed * removed * (1 + (i > 0 ? 2 * (1 - before) : 0));
        before = kept;
    }
    values[0] = 1 / time;
    values[1] = 1 - loss;
}

/* ZDT1 of five numbers; both objectives are turned around. */
static void zdt1(const double *x, double *values)
{
    double g = 1;

    for (int i = 1; i < 5; i++)
        g += 9 * x[i] / 4;
    values[0] = -x[0];
    values[1] = -g * (1 - sqrt(x[0] / g));
}

/* Pruning-like with two objectives: speed, which is known, and accuracy. */
static void pareto(const double *x, double *values)
{
    pruning(x, values);
    values[1] -= 1;
}

/* ---- spaces ---- */

#define REAL(name, low, high)                                                                      \
    {                                                                                              \
        name, VBS_SEARCH_REAL, low, high, 0, false, 0                                              \
    }
#define INTEGER(name, low, high)                                                                   \
    {                                                                                              \
        name, VBS_SEARCH_INTEGER, low, high, 1, false, 0                                           \
    }

static const struct vbs_search_parameter UNIT[] = {REAL("x1", 0, 1), REAL("x2", 0, 1),
                                                   REAL("x3", 0, 1), REAL("x4", 0, 1),
                                                   REAL("x5", 0, 1), REAL("x6", 0, 1)};
static const struct vbs_search_parameter BRANIN[] = {REAL("x1", -5, 10), REAL("x2", 0, 15)};
static const struct vbs_search_parameter LATTICE[] = {INTEGER("x1", -8, 8), INTEGER("x2", -8, 8),
                                                      INTEGER("x3", -8, 8), INTEGER("x4", -8, 8)};
static const struct vbs_search_parameter GARDNER[] = {REAL("x1", 0, 6), REAL("x2", 0, 6)};
static const struct vbs_search_parameter MIXED[] = {
    {"rate", VBS_SEARCH_REAL, 1e-5, 1, 0, true, 0},
    INTEGER("layers", 1, 20),
    {"activation", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 4},
    REAL("dropout", 0, 1)};
static const struct vbs_search_parameter BLOCKS[] = {INTEGER("g1", 1, 8), INTEGER("g2", 1, 8),
                                                     INTEGER("g3", 1, 8), INTEGER("g4", 1, 8),
                                                     INTEGER("g5", 1, 8), INTEGER("g6", 1, 8)};

static const struct problem PROBLEMS[] = {
    {"hartmann", {6, UNIT}, 1, 0, 60, 0, {0, 0}, hartmann},
    {"branin", {2, BRANIN}, 1, 0, 40, 0, {0, 0}, branin},
    {"rosenbrock", {4, LATTICE}, 1, 0, 60, 0, {0, 0}, rosenbrock},
    {"gardner", {2, GARDNER}, 1, 1, 40, 0, {0, 0}, gardner},
    {"mixed", {4, MIXED}, 1, 1, 50, 0, {0, 0}, mixed},
    {"pruning", {6, BLOCKS}, 1, 1, 30, 1, {0, 0}, pruning},
    {"zdt1", {5, UNIT}, 2, 0, 60, 0, {-1.1, -5}, zdt1},
    {"pareto", {6, BLOCKS}, 2, 0, 40, 1, {1, -10}, pareto},
};

int n_problems(void)
{
    return (int)(sizeof PROBLEMS / sizeof *PROBLEMS);
}

const struct problem *problem_at(int index)
{
    return &PROBLEMS[index];
}

const char *problem_name(int index)
{
    return PROBLEMS[index].name;
}

void problem_counts(int index, int *counts)
{
    const struct problem *p = &PROBLEMS[index];

    counts[0] = p->space.n_parameters;
    counts[1] = p->n_objectives;
    counts[2] = p->n_constraints;
    counts[3] = p->n_trials;
}

void problem_parameter(int index, int parameter, double *bounds)
{
    const struct vbs_search_parameter *p = &PROBLEMS[index].space.parameters[parameter];

    bounds[0] = p->kind;
    bounds[1] = p->low;
    bounds[2] = p->high;
    bounds[3] = p->log;
    bounds[4] = p->n_choices;
}

void problem_evaluate(int index, const double *x, double *values)
{
    PROBLEMS[index].evaluate(x, values);
}

double problem_hypervolume(int index, const double *values, int n)
{
    double volume = 0;

    if (vbs_hypervolume(NULL, 2, values, n, PROBLEMS[index].reference, &volume) != VBS_OK)
        return NAN;
    return volume;
}
