/* Windows of pools, of one layer or of the gradient of its input (window.c). */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_WINDOW_H
#define VBS_BACKEND_ONEDNN_KERNELS_WINDOW_H

#include "backend/onednn/kernels/session.h"

struct od_window {
    dnnl_alg_kind_t algorithm;
    dnnl_dims_t kernel, stride, dilation, low, high;
    bool dense; /* no dilation */
};

/* A descriptor for od_best and the other functions that take a const_dnnl_op_desc_t. */
union od_pool_desc {
    dnnl_pooling_desc_t dense;
    dnnl_pooling_v2_desc_t dilated;
};

/* Gives the window of a layer VBS_OP_POOL_MAX or VBS_OP_POOL_AVG. */
struct od_window od_window_of(enum vbs_op op, const union vbs_attributes *attributes,
                              int n_spatial);

/* Makes the descriptor of a pool, or of the gradient of its input. */
dnnl_status_t od_pool_desc(const struct od_window *w, dnnl_prop_kind_t kind,
                           const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst,
                           union od_pool_desc *desc);
dnnl_status_t od_pool_gradient_desc(const struct od_window *w, const dnnl_memory_desc_t *src,
                                    const dnnl_memory_desc_t *dst, union od_pool_desc *desc);

/* Returns whether the operator never makes -infinity, and makes the same of it as of the lowest
 * number. */
bool od_bounds_below(enum vbs_op op, const union vbs_attributes *attributes);

/* Fills which of the session's tensors have no value -infinity, as far as their operators alone say
 * it. */
void od_bounded_init(struct od_session *session, const struct vbs_network *network);

#endif
