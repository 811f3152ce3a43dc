/* Networks of ONNX files, computed layer by layer by the definition of each. */
#ifndef TESTS_ONNX_COMPUTE_H
#define TESTS_ONNX_COMPUTE_H

#include "cases/onnx_bytes.h"

/*
 * Reads a model and computes its first output for one sample x of its input, with
 * reference_layer. *count: elements of the output. The caller frees the result; null, with a line
 * on standard output: the model cannot be read.
 */
float *onnx_compute(const struct bytes *model, const float *x, int64_t *count);

#endif
