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
 * The limit is the multiplications: 16 a cycle, 109 GFLOP/s at 3.4 GHz. The table has GFLOP/s on
 * one core of that kind (Zen 3) with 128 samples, of oneDNN 2.6 and of this file. Products with
 * padding, which both leave out, are counted; those in lanes beyond the last channel are not.
 * Loading and storing sums once for each column of the kernel takes the rest where there are few
 * channels.
 *
 *     convolution                     forward     of the input   of the weights
 *     1 x 28 x 28 to 20, 5 x 5        64 and  47                  34 and 44
 *     20 x 12 x 12 to 50, 5 x 5       78 and  80   41 and  74     56 and 78
 *     16 x 28 x 28 to 16, 3 x 3       74 and  78   88 and  78     64 and 84
 *     32 x 14 x 14 to 32, 3 x 3       90 and  87  103 and  85     64 and 84
 *     64 x 7 x 7 to 64, 3 x 3         83 and 106   98 and 104     69 and 99
 *     16 x 28 x 28 to 32, stride 2    73 and  48   81 and  68     53 and 64
 *     32 x 14 x 14 to 64, stride 2    43 and  70   72 and  74     35 and 83
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
