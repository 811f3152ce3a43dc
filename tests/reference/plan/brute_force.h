/*
 * Slow references that follow the definitions word by word: memory of a step, the optimum over the
 * lattice, the recurrences of VBS III, the baselines of VBS IV. They share no code with the library
 * beyond reading profiles. For networks of up to 7 layers and requests of up to 6 samples. They
 * print a line and end the program when memory is out.
 */
#ifndef TESTS_BRUTE_FORCE_H
#define TESTS_BRUTE_FORCE_H

#include "vbslab/plan.h"

#include <stdbool.h>

/* Gives the bytes of all samples that are live between steps in the state done[1..n] (samples
 * finished per layer), by the definition of docs/accounting.md, sample by sample. */
int64_t brute_live_bytes(const struct vbs_problem *problem, const int *done);

/* Gives the bytes during a step of layer on batch samples in this state, without its workspace. */
int64_t brute_step_bytes(const struct vbs_problem *problem, const int *done, int layer, int batch);

/* True when all inputs of the step exist and it stays within the request. */
bool brute_step_allowed(const struct vbs_problem *problem, const int *done, int layer, int batch);

/* All states that can be reached and all steps between them. */
struct brute_lattice;

struct brute_lattice *brute_lattice_new(const struct vbs_problem *problem);
void brute_lattice_free(struct brute_lattice *lattice);

/* Gives the least time of any path whose steps all stay within memory_bytes; HUGE_VAL: there is
 * none. */
double brute_optimum_us(const struct brute_lattice *lattice, int64_t memory_bytes);

/* Gives the steps of such a path, first to last; returns their number, 0: there is no path. Layers
 * times request is enough space. */
int brute_optimum_path(const struct brute_lattice *lattice, int64_t memory_bytes,
                       struct vbs_step *steps);

/* Gives the least budget for which there is a path. */
int64_t brute_least_bytes(const struct brute_lattice *lattice);

/*
 * The optimum with a bound of the latency (0: none), HUGE_VAL: there is none. io external: a path
 * falls into chunks that share nothing; of the ways to divide the request into chunks that each
 * take no longer than the bound, the one that takes least. resident: the request is one chunk.
 */
struct brute_chunks;

struct brute_chunks *brute_chunks_new(const struct vbs_problem *problem);
void brute_chunks_free(struct brute_chunks *chunks);
double brute_chunks_us(const struct brute_chunks *chunks, int64_t memory_bytes, double latency_us);

/*
 * The planners below obey the problem's latency bound.
 *
 * DP-VBS of a chain (each layer reads the one before): recurrences 1, 2 and 3 of VBS III as a
 * recursion over exact budgets. io external: inputs that wait at layer 1 and finished outputs of
 * layer n take nothing. HUGE_VAL: infeasible.
 */
double brute_dp_vbs_us(const struct vbs_problem *problem, int64_t memory_bytes);

/* Fixed batch: the largest batch of the profile, up to the request, with which chunk after chunk
 * runs through all layers in time; what is left over runs in the largest batches that do not exceed
 * it. fbs_best: the fastest of all batches that fit and are in time. HUGE_VAL: infeasible. */
double brute_fbs_us(const struct vbs_problem *problem, int64_t memory_bytes);
double brute_fbs_best_us(const struct vbs_problem *problem, int64_t memory_bytes);

/*
 * Greedy-VBS: layer after layer over the whole request, each at the largest batch that fits beside
 * its reservation: the whole request of every tensor that is still read, and of the output. io
 * external: the network's input and final outputs are reserved only for the samples of a step. In
 * place, when no later layer reads the first input: the output is reserved in its place, but not
 * one that stays in the place of external samples, which are lent for a step. HUGE_VAL: infeasible,
 * or later than the latency.
 */
double brute_greedy_us(const struct vbs_problem *problem, int64_t memory_bytes);

#endif
