/* Layers on some of their output channels (slices.c), and the descriptors of operations with
 * weights (descriptors.c). */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_SLICES_H
#define VBS_BACKEND_ONEDNN_KERNELS_SLICES_H

#include "backend/onednn/kernels/kernel.h"

/* ---- descriptors.c ---- */

/* The descriptor of a convolution or, for a deconv, of its transpose. */
union od_conv_desc {
    dnnl_convolution_desc_t forward;
    dnnl_deconvolution_desc_t transposed;
};

/* Makes the descriptor of b's layer between tensors as described, with the layer's own window and
 * bias. algorithm: that of a convolution. */
enum vbs_status od_conv_desc(struct od_build *b, dnnl_alg_kind_t algorithm,
                             const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                             const dnnl_memory_desc_t *dst,
                             union od_conv_desc *desc) VBS_MUST_CHECK;

/* Makes the descriptor of an inner product of b's batch over all rows. */
enum vbs_status od_fc_desc(struct od_build *b, const dnnl_memory_desc_t *weights,
                           dnnl_inner_product_desc_t *desc) VBS_MUST_CHECK;

/* ---- slices.c ---- */

/* An implementation of the layer that can run on some of its channels. */
struct od_sliceable {
    const char *impl;             /* oneDNN's name of it */
    dnnl_alg_kind_t algorithm;    /* of a conv */
    int n_fused;                  /* operators that its primitive fuses */
    const dnnl_memory_desc_t *md; /* of the whole weights, of which it reads slices; null: it
                                     chooses a format itself */
    bool stored;                  /* md counts padded channels */
};

/* Finds whether the implementation can read slices of the whole layer's packed weights, so that the
 * layer runs in any number of slices. *ws_bytes: the largest workspace that a slice needs. */
enum vbs_status od_can_slice(struct od_build *b, const struct od_sliceable *sliceable,
                             bool *divides, int64_t *ws_bytes) VBS_MUST_CHECK;

/* Builds the kernel of the requested slice, of an implementation that can run on slices. */
enum vbs_status od_build_slice(struct od_build *b, const char *name,
                               const struct od_sliceable *sliceable) VBS_MUST_CHECK;

/* Gives whether b's layer may be worth measuring in slices; where a kernel is requested, whether it
 * is one in slices. */
bool od_may_run_in_slices(const struct od_build *b);

/* Gives the numbers of slices in which weights of so many bytes are worth measuring: first, and
 * twice as many as the one before, below end. */
void od_slice_numbers(int64_t packed_bytes, int *first, int *end);

/* Builds the kernels of an implementation in numbers of slices that suit its packed_bytes, or the
 * requested one. An implementation that chooses the format of its weights gets weight blocks for
 * each number. */
enum vbs_status od_build_in_slices(struct od_build *b, const char *name,
                                   const struct od_sliceable *sliceable,
                                   int64_t packed_bytes) VBS_MUST_CHECK;

#endif
