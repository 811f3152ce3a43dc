/*
 * vbslab/coded_layer.h - convolutions and inner products that are computed from coded weights.
 *
 * The matrix of a layer has a row for each output channel and a column for each weight of an
 * output: of a convolution, channel of its group, then the position in the window; of an inner
 * product, channel, then position of the input, in plain order. Rows of a group stand one after the
 * other.
 *
 * A column of the matrix reads the same distance from every output position, so that a convolution
 * is a product of the matrix with shifted planes of the input: planes are copied into the workspace
 * with their padding, one for each remainder of a position by the stride, and all output positions
 * of all samples lie side by side there. An inner product is the case of one position: its samples
 * lie side by side.
 *
 * Threads: a plan is immutable; each run needs output and workspace of its own.
 */
#ifndef VBSLAB_CODED_LAYER_H
#define VBSLAB_CODED_LAYER_H

#include "vbslab/coded.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_CODED_SPATIAL 3 /* spatial dimensions of a convolution, at most */

/* A tensor of floats in memory. The element of sample n, channel c and position p (row-major among
 * the positions) is number n * sample_stride + c / block * block_stride + c % block *
 * channel_stride + p * position_stride. Plain: block is the number of channels. */
struct vbs_coded_tensor {
    int64_t channels;
    int64_t stored_channels; /* those beyond channels are padding: outputs of 0, never read */
    int64_t n_positions;
    int64_t block, block_stride, channel_stride, position_stride, sample_stride;
};

/* How a layer is computed from its weights. */
enum vbs_coded_method {
    /* From the entries: 2 operations for each entry and position. Those of forms other than bytes
     * are decoded block by block into the workspace; but in inner products of few samples (up to
     * three vectors of the processor) those of VBS_CODING_JOINT are multiplied when they are
     * decoded. An activation that is infinite or no number may give outputs that are no numbers
     * where its weight is 0, as in a dense product. */
    VBS_CODED_SPARSE,
    /* Each block is decoded to dense weights in the workspace, which a product of matrices takes:
     * COMP, algorithm 2. */
    VBS_CODED_DENSE
};

/* A product of dense matrices on the calling thread, all row by row: c[m][n] (rows of c_stride
 * floats) += a[m][k] x b[k][n]. False: the library failed. */
typedef bool vbs_coded_gemm(int64_t m, int64_t n, int64_t k, const float *a, int64_t a_stride,
                            const float *b, int64_t b_stride, float *c, int64_t c_stride);

/* Runs body(job, i) for i = 0..n-1, on threads side by side; the order is free. */
typedef void vbs_coded_parallel(int n, void (*body)(void *job, int i), void *job);

/* A layer. Begin with {0}. */
struct vbs_coded_layer {
    const struct vbs_coded *coded; /* lives as long as the plan */
    enum vbs_coded_method method;
    struct vbs_coded_tensor input, output;
    int batch;      /* samples, at least 1 */
    int64_t groups; /* of channels, at least 1 */
    /* Of a convolution; n_spatial 0: an inner product. Sizes are those of input and output. */
    int n_spatial;
    int64_t in_size[VBS_CODED_SPATIAL], out_size[VBS_CODED_SPATIAL];
    int64_t kernel[VBS_CODED_SPATIAL], stride[VBS_CODED_SPATIAL], dilation[VBS_CODED_SPATIAL],
        pad_low[VBS_CODED_SPATIAL];
    /* Each output is scale x sum + bias, then, where relu is set, 0 where it is below 0. */
    const float *scale; /* [rows]; null: 1. These live as long as the plan. */
    const float *bias;  /* [rows]; null: 0 */
    bool relu;
    vbs_coded_gemm *gemm;         /* for VBS_CODED_DENSE */
    int threads;                  /* parts of the work, at least 1 */
    vbs_coded_parallel *parallel; /* null: parts run one after the other */
};

/* How a layer is computed: made once, run often. */
struct vbs_coded_plan;

/* Makes a plan, which vbs_coded_plan_free frees. VBS_USAGE (sizes that do not suit the matrix),
 * VBS_UNSUPPORTED (indices of more than 8 bits with VBS_CODED_SPARSE; a block that reads 1 GiB of
 * input or more at one position), VBS_NO_MEMORY. Some thousand steps: nothing is measured. */
enum vbs_status vbs_coded_plan_new(struct vbs_ctx *ctx, const struct vbs_coded_layer *layer,
                                   struct vbs_coded_plan **plan) VBS_MUST_CHECK;
void vbs_coded_plan_free(struct vbs_coded_plan *plan);

/* Gives the bytes of workspace that a run needs, exactly: blocks, planes, sums, and the tables that
 * decoding reads. It depends on the processor, the method, the blocks,
 * the batch and the threads. */
int64_t vbs_coded_plan_workspace(const struct vbs_coded_plan *plan);

/* Computes the layer. weights are the bytes of the plan's coded weights (vbs_coded_bytes), at any
 * address that is a multiple of 64, workspace likewise; nothing is allocated. False: gemm failed.
 * Sums are in floats, in an order that depends on the processor, the form, the blocks, the batch
 * and the threads. 2 operations for each weight that is not 0 (dense: for each weight), position
 * and sample. */
bool vbs_coded_plan_run(const struct vbs_coded_plan *plan, const void *weights, const float *input,
                        float *output, void *workspace);

#ifdef __cplusplus
}
#endif

#endif
