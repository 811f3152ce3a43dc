/*
 * backend/onednn/cells: loops over the units of recurrent operators, compiled for several kinds of
 * processor.
 *
 * Units are in blocks of as many as a vector has lanes; the last block is padded. A step computes
 * the states of a block's units, of several samples, from all states before. The weights of a block
 * are read once for all samples of a step.
 *
 * choose.c picks the table; plain.c, avx2.c and avx512.c compile body.h for their processors.
 */
#ifndef VBS_BACKEND_ONEDNN_CELLS_CELLS_H
#define VBS_BACKEND_ONEDNN_CELLS_CELLS_H

#include "vbslab/model.h"

#include <stdint.h>

#define OD_MAX_CELL_LANES 16

/* The units of a block, and the samples of a step. Arrays of the block begin at its first unit, and
 * rows of states are `row` values apart. Gates are in ONNX's order. */
struct od_cell_step {
    int64_t n_samples, n_units; /* units without padding */
    const float *weights;       /* [n_terms][gates][lanes] */
    int64_t n_terms;            /* the states before that a unit reads: all units, and padding up
                                   to a multiple of 4, whose weights are 0 */
    const float *before;        /* [n_samples][row] states of all units, that are multiplied */
    int64_t row;                /* values */
    const float *sums;          /* [n_samples] of [gates][lanes]: products with the input, with
                                   the bias */
    int64_t sums_row;           /* values from one sample to the next */
    const float *bias;          /* [lanes] of the product of a gru's candidate with the state */
    const float *previous;      /* [n_samples][row] states of a gru's block before */
    float *states;              /* [n_samples][row]; padding is 0, as it is in reset */
    float *memory;              /* [n_samples][row] of an lstm: before, then behind; of a gru: its
                                   update gate */
    float *reset;               /* [n_samples][row] of a gru: the states behind the reset gate */
    /* Of the loops that end with _any. */
    const struct vbs_cell_function *functions; /* of gates, of what is new, of the memory */
    const float *peepholes; /* of an lstm, [3] of [lanes]: of input, output, forget; or null */
    int64_t peepholes_row;  /* values from one to the next */
    float *y;               /* [n_samples] of [n_units]: a copy of the states */
    int64_t y_row;          /* values from one sample to the next */
};

typedef void od_cell_loop(const struct od_cell_step *step);

struct od_cell_loops {
    int lanes; /* units of a block */
    od_cell_loop *lstm;
    /* A gru that resets the state before its product takes two steps: the gates update and reset,
     * which write memory and reset, then the candidate, which multiplies what all blocks wrote to
     * reset and reads the update gate in memory. Their weights and sums are those of their gates;
     * sums of the second begin at the candidate's. */
    od_cell_loop *gru_gates, *gru_candidate;
    od_cell_loop *gru_after; /* that resets after the product */
    od_cell_loop *rnn_tanh, *rnn_relu, *rnn_sigmoid;
    /* The same with any functions, and an lstm with peepholes. */
    od_cell_loop *lstm_any, *gru_gates_any, *gru_candidate_any, *gru_after_any, *rnn_any;
};

/* Gives the table for this processor. */
const struct od_cell_loops *od_cells(void);

/* The tables; those of other processors than this one are not to be called. */
extern const struct od_cell_loops od_cells_plain, od_cells_avx2, od_cells_avx512;

#endif
