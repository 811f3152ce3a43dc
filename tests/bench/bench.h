/* Functions that the parts of make bench share. They print; nothing here passes or fails. */
#ifndef TESTS_BENCH_H
#define TESTS_BENCH_H

#include "vbslab/vbslab.h"

double bench_now_s(void);

/* Prints the line and ends the program. */
_Noreturn void bench_fail(const char *what, const struct vbs_ctx *ctx);

/* A network that was prepared and measured. */
struct measured {
    struct vbs_network *network;
    struct vbs_session *session;
    struct vbs_profile *profile;
    struct vbs_measure_report report;
};

/* Measures a model at some batches into memory; freed by bench_release. */
void bench_measure(const char *model, const char *backend, const int *batches, int n_batches,
                   double seconds, struct measured *made);
void bench_release(struct measured *made);

/* The same with so many threads; 0: as many as the process may use. */
void bench_measure_threads(const char *model, const char *backend, const int *batches,
                           int n_batches, double seconds, int threads, struct measured *made);

extern const int BENCH_TO_12[12]; /* batches 1 to 12 */

/* Gives the planner of this name. */
const struct vbs_planner *bench_planner(const char *name);

/* Makes a solver, and ends the program where it cannot; options may be null. */
struct vbs_solver *bench_solver(const char *planner, const struct vbs_problem *problem,
                                const struct vbs_solver_options *options);

/* Compares dp-vbs on curves with the tables of VBS's Algorithm 1. */
void bench_table(void);

/* Compares a step of a run with a call of oneDNN. */
void bench_steps(void);

/* Compares the planner optimal with an integer program. */
void bench_ilp(void);

#endif
