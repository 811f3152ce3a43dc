/*
 * Implementations and primitives of oneDNN that depend on nothing but the request.
 *
 * oneDNN keeps primitives and their descriptors in a cache of the process. The cache takes two
 * memory descriptors for equal when they differ only in the strides of dimensions of size 1: for
 * example those of a tensor of one channel in plain order and with the channels last. For the one,
 * oneDNN then returns the implementation that it chose for the other, with the other's name, and a
 * kernel's name would depend on the kernels that the process made before. So every result is
 * compared with the request. Where it was made for another request, the cache is emptied and oneDNN
 * is called again.
 *
 * All functions return dnnl_out_of_memory where little address space is left, in which oneDNN would
 * crash.
 */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_PRIMITIVE_H
#define VBS_BACKEND_ONEDNN_KERNELS_PRIMITIVE_H

#include <dnnl.h>
#include <stdint.h>

/* Implementations of one operation, in oneDNN's order. */
struct od_pds {
    int n;
    int64_t max;
    dnnl_primitive_desc_t *list;
};

/* Collects the implementations of an operation: all of them, or, where name is not null, only the
 * first of this name. It is no failure where there are none. */
dnnl_status_t od_pds_init(struct od_pds *pds, const_dnnl_op_desc_t desc,
                          const_dnnl_primitive_attr_t attr, dnnl_engine_t engine, const char *name);
void od_pds_clear(struct od_pds *pds);

/* Gives the implementation that oneDNN offers first; dnnl_unimplemented where there is none. */
dnnl_status_t od_pd_first(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                          dnnl_engine_t engine, dnnl_primitive_desc_t *pd);

/* Does the same for a backward pass; forward is the implementation of its forward pass. */
dnnl_status_t od_pd_backward(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                             dnnl_engine_t engine, const_dnnl_primitive_desc_t forward,
                             dnnl_primitive_desc_t *pd);

/* Gives the implementation of a copy from one memory descriptor to another. */
dnnl_status_t od_pd_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                            const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                            dnnl_primitive_desc_t *pd);

/* Gives the implementation of a concatenation of n sources along a dimension. */
dnnl_status_t od_pd_concat(const dnnl_memory_desc_t *dst, int n, int dimension,
                           const dnnl_memory_desc_t *src, const_dnnl_primitive_attr_t attr,
                           dnnl_engine_t engine, dnnl_primitive_desc_t *pd);

/* Gives oneDNN's name of the implementation; it lives as long as pd. Null: it has none. */
const char *od_pd_name(const_dnnl_primitive_desc_t pd);

/* Lets oneDNN generate what all products of matrices of the process share, which it would otherwise
 * do during the first of them. od_primitive_create does so itself. */
dnnl_status_t od_prepare_gemm(void);

/* Makes a primitive of exactly this implementation, so that the scratchpad of pd is its own. */
dnnl_status_t od_primitive_create(const_dnnl_primitive_desc_t pd, dnnl_primitive_t *primitive);

#endif
