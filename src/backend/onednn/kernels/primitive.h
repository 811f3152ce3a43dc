/*
 * Implementations and primitives of oneDNN, such that they depend on nothing but what is asked for.
 *
 * oneDNN keeps primitives and their descriptors in a cache of the process. The cache takes two
 * memory descriptors for the same when they differ only in the strides of dimensions of size 1: a
 * tensor of one channel in plain order and with the channels last, for example. What oneDNN returns
 * for the one is then the implementation that it chose for the other, under that one's name, and a
 * kernel would have another name in a process that has made other kernels before. So every answer
 * is compared with the question; where it belongs to another one, the cache is emptied and oneDNN
 * is asked again.
 *
 * All return dnnl_out_of_memory where little address space is left, in which oneDNN would crash.
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

/* Collects the implementations of an operation: all of them, or only the first whose name is name,
 * where that is not null. None is no failure. */
dnnl_status_t od_pds_init(struct od_pds *pds, const_dnnl_op_desc_t desc,
                          const_dnnl_primitive_attr_t attr, dnnl_engine_t engine, const char *name);
void od_pds_clear(struct od_pds *pds);

/* The implementation that oneDNN offers first; dnnl_unimplemented where there is none. */
dnnl_status_t od_pd_first(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                          dnnl_engine_t engine, dnnl_primitive_desc_t *pd);

/* A copy from one memory descriptor to another. */
dnnl_status_t od_pd_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                            const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                            dnnl_primitive_desc_t *pd);

/* A concatenation of n sources along a dimension. */
dnnl_status_t od_pd_concat(const dnnl_memory_desc_t *dst, int n, int dimension,
                           const dnnl_memory_desc_t *src, const_dnnl_primitive_attr_t attr,
                           dnnl_engine_t engine, dnnl_primitive_desc_t *pd);

/* The name of the implementation, as oneDNN calls it; lives as long as pd. Null: it has none. */
const char *od_pd_name(const_dnnl_primitive_desc_t pd);

/* A primitive of exactly this implementation, so that the scratchpad that pd asks for is its own.
 */
dnnl_status_t od_primitive_create(const_dnnl_primitive_desc_t pd, dnnl_primitive_t *primitive);

#endif
