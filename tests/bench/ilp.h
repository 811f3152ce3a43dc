/*
 * Planning as an integer program, for a solver of such programs.
 *
 * A schedule fills slots s = 1, 2, ... with one step each. Binaries x[s, q]: slot s runs step q,
 * one row of the profile (layer k, batch b, algorithm). Continuous p[s, k]: samples that layer k
 * has done behind slot s. Continuous m[s, t]: at most the samples that every reader of tensor t has
 * done; where there is one reader, its p serves. All times and all bytes are those of
 * docs/accounting.md:
 *
 *   least    sum time[q] x[s, q]
 *   one      sum over q of x[s, q] <= 1, and no less in a slot than in the next
 *   progress p[s, k] = p[s-1, k] + sum over q of layer k of b x[s, q],   p[last, k] = request
 *   inputs   p[s, k] <= p[s-1, t] for each layer t that k reads
 *   memory   sum over tensors kept inside of bytes[t] (p[s-1, t] - m[s-1, t])
 *              + sum over q of (added output + workspace + lent inputs) x[s, q] <= budget
 *
 * Slots: layers times request, which is enough for any schedule.
 */
#ifndef TESTS_BENCH_ILP_H
#define TESTS_BENCH_ILP_H

#include "vbslab/plan.h"

#include <stdbool.h>

struct ilp_column {
    double cost;
    bool binary; /* else from 0 up */
    int slot;    /* of a binary: its step */
    struct vbs_step step;
};

struct ilp_row {
    char sense; /* L: at most, E: equal, as in MPS */
    double right;
};

struct ilp_entry {
    int column, row;
    double value;
};

struct ilp {
    int n_columns, n_rows, n_binaries, n_slots;
    struct ilp_column *columns;
    struct ilp_row *rows;
    int n_entries;
    struct ilp_entry *entries; /* by column */
};

/* Gives whether the model is exact: the bytes that an in-place step overwrites must not depend on
 * other layers, so that its first input has no other reader. */
bool ilp_models(const struct vbs_problem *problem);

/* Makes the program of a problem; ends the test program when memory is out. */
struct ilp *ilp_new(const struct vbs_problem *problem, int64_t memory_bytes);
void ilp_free(struct ilp *ilp);

/* Writes the program as a file in free MPS, column i with the name Ci; false: it cannot be
 * written. */
bool ilp_write(const struct ilp *ilp, const char *path);

#endif
