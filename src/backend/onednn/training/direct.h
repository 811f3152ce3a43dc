/*
 * Convolutions of one or two dimensions without groups, in all three directions, made of products
 * of small matrices (tile.h). They take the place of the kernels that oneDNN has for AVX2, which
 * compute fewer than 8 sums at a time where there are 16 output channels, and lose up to half of
 * the speed where channels are no whole vectors and in gradients of weights.
 *
 * Activations have the channels last; weights are [kernel][input channels][output channels]. What
 * is multiplied in vectors is copied into panels first, so that it is read without gaps: weights,
 * or, for their gradient, the gradient of the output.
 *
 * The limit is the multiplications: 16 a cycle, 109 GFLOP/s at 3.4 GHz, of those that padding
 * leaves.
 */
#ifndef VBS_BACKEND_ONEDNN_TRAINING_DIRECT_H
#define VBS_BACKEND_ONEDNN_TRAINING_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

#define OD_DIRECT_AXES 2 /* rows and columns; a missing axis has the size 1 */

struct od_direct {
    int64_t batch, in_channels, out_channels;
    int64_t in[OD_DIRECT_AXES], out[OD_DIRECT_AXES];
    int64_t kernel[OD_DIRECT_AXES], stride[OD_DIRECT_AXES], dilation[OD_DIRECT_AXES];
    int64_t low[OD_DIRECT_AXES];
    int64_t parts;     /* into which the work is cut, for threads */
    const float *bias; /* null: none */
    float *bias_gradient;
};

/* Gives whether the functions below can compute a convolution as fast as oneDNN, at least the
 * gradient of the weights. */
bool od_direct_pays(const struct od_direct *d);

/* Of a convolution for which that holds: whether the forward pass, or the gradient of the input, is
 * faster, too. */
bool od_direct_pays_forward(const struct od_direct *d);
bool od_direct_pays_input(const struct od_direct *d);

/* Gives the floats of scratch memory that the functions below need. */
int64_t od_direct_scratch(const struct od_direct *d);

/*
 * Each is an od_function. Operand 0 is what is written or added to, 1 and 2 are what is read, 3 is
 * the scratch memory. Outputs and gradients of inputs are the same whatever the number of parts;
 * gradients of weights are sums over parts.
 */
bool od_direct_forward(const void *plan, float *const *data);          /* of input and weights */
bool od_direct_input(const void *plan, float *const *data);            /* of gradient and weights */
bool od_direct_input_accumulate(const void *plan, float *const *data); /* likewise */
bool od_direct_weights(const void *plan, float *const *data);          /* of input and gradient */

#endif
