/* Functions with known optima, on which samplers are compared. */
#ifndef SAMPLERS_PROBLEMS_H
#define SAMPLERS_PROBLEMS_H

#include "vbslab/tune.h"

/* A problem. All objectives are maximised. */
struct problem {
    const char *name;
    struct vbs_search_space space;
    int n_objectives, n_constraints, n_trials;
    unsigned known;      /* objectives that a search may compute without a trial */
    double reference[2]; /* of the hypervolume, where there are two objectives */
    /* Writes the objectives, then the constraints. */
    void (*evaluate)(const double *x, double *values);
};

/* Gives the number of problems, and one of them. */
int n_problems(void);
const struct problem *problem_at(int index);

/* The same for a program that knows no structs of C: what counts of a problem, and the parameter
 * as kind, low, high, step, choices. */
const char *problem_name(int index);
void problem_counts(int index, int *counts); /* parameters, objectives, constraints, trials */
void problem_parameter(int index, int parameter, double *bounds);
void problem_evaluate(int index, const double *x, double *values);
double problem_hypervolume(int index, const double *values, int n);

#endif
