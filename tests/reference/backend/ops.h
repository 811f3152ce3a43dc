/* Every operator by its definition: slow, clear, one sample at a time, plain order, sums in double.
 * The results of backends are checked against these. */
#ifndef TESTS_REFERENCE_OPS_H
#define TESTS_REFERENCE_OPS_H

#include "vbslab/backend.h"

/*
 * Computes one sample of layer with its fused operators and the encoding of its output, with the
 * parameters of vbs_parameter_values. inputs: one sample of each of the layer's inputs, in the
 * network's order. The caller frees the result; null: out of memory.
 */
float *reference_layer(const struct vbs_network *network, int layer, const float *const *inputs);

/* Gives the value that x has when it has been stored with this encoding. */
float reference_stored(const struct vbs_encoding *encoding, float x);

#endif
