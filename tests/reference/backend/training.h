/* Forward and backward passes by their definitions: slow, clear, a batch in plain order, doubles.
 * Sessions that train are checked against these, and these against finite differences. */
#ifndef TESTS_REFERENCE_TRAINING_H
#define TESTS_REFERENCE_TRAINING_H

#include "vbslab/model.h"

/* Trainable parameters, or running statistics, of an operator. */
struct reference_array {
    int layer, fused; /* fused below 0: the layer's own operator */
    enum vbs_parameter what;
    int64_t count;
    double *values, *gradient;
};

struct reference_training {
    const struct vbs_network *network;
    int batch;
    bool training; /* BatchNorm uses the statistics of the batch, else those of the arrays */
    int n_arrays;
    struct reference_array *arrays;
    int n_operators;
    struct reference_operator *operators; /* made by the first forward pass */
};

/* Computes the outputs, [batch][elements], which the struct owns; a softmax at the end is left out.
 * Null: out of memory. Dropout passes all values on. */
const double *reference_forward(struct reference_training *r, const double *input);

/* Computes the gradients of all arrays, and gives that of the input, which the struct owns. Null:
 * out of memory. */
const double *reference_backward(struct reference_training *r, const double *output_gradient);

/* Frees the operators, not the arrays. */
void reference_training_clear(struct reference_training *r);

#endif
