/*
 * The few calls of oneDNN that differ between its major versions 2 and 3, for time_layers.c. A
 * memory descriptor is a borrowed pointer in both; only od_end frees anything here.
 */
#ifndef DNNL_VERSIONS_H
#define DNNL_VERSIONS_H

#include <dnnl.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR >= 3
typedef const_dnnl_memory_desc_t od_md;
#else
typedef const dnnl_memory_desc_t *od_md;
#endif

/* An iterator over all kernels of one operation. It must not be moved while in use. */
struct od_kernels {
#if DNNL_VERSION_MAJOR >= 3
    dnnl_primitive_desc_t at;
#else
    dnnl_primitive_desc_iterator_t at;
    /* The library's iterator keeps a pointer to the operation, and ends early without an error when
     * the operation has been freed. */
    union {
        dnnl_convolution_desc_t conv;
        dnnl_inner_product_desc_t fc;
    } operation;
#endif
};

/* The memory descriptors of the tensors that one layer reads and writes. */
struct od_operands {
    od_md src, weights, bias, dst;
};

struct od_window {
    dnnl_dims_t strides, dilates, low, high;
};

/* Makes a memory descriptor of f32 values; NULL where the layout does not exist or memory is short.
 */
static od_md od_make(int n_dims, const dnnl_dims_t dims, dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t md;

    return dnnl_memory_desc_create_with_tag(&md, n_dims, dims, dnnl_f32, tag) ? NULL : md;
#else
    dnnl_memory_desc_t *md = malloc(sizeof *md);

    return !md || dnnl_memory_desc_init_by_tag(md, n_dims, dims, dnnl_f32, tag) ? NULL : md;
#endif
}

static dnnl_status_t od_append_relu(dnnl_post_ops_t ops)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_post_ops_append_eltwise(ops, dnnl_eltwise_relu, 0, 0);
#else
    return dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
#endif
}

static dnnl_status_t od_begin_conv(struct od_kernels *k, dnnl_engine_t engine,
                                   dnnl_alg_kind_t algorithm, const struct od_operands *o,
                                   const struct od_window *w, const_dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_convolution_forward_primitive_desc_create(
        &k->at, engine, dnnl_forward_inference, algorithm, o->src, o->weights, o->bias, o->dst,
        w->strides, w->dilates, w->low, w->high, attr);
#else
    dnnl_status_t status = dnnl_dilated_convolution_forward_desc_init(
        &k->operation.conv, dnnl_forward_inference, algorithm, o->src, o->weights, o->bias, o->dst,
        w->strides, w->dilates, w->low, w->high);

    return status ? status
                  : dnnl_primitive_desc_iterator_create(&k->at, &k->operation, attr, engine, NULL);
#endif
}

static dnnl_status_t od_begin_fc(struct od_kernels *k, dnnl_engine_t engine,
                                 const struct od_operands *o, const_dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_inner_product_forward_primitive_desc_create(
        &k->at, engine, dnnl_forward_inference, o->src, o->weights, o->bias, o->dst, attr);
#else
    dnnl_status_t status = dnnl_inner_product_forward_desc_init(
        &k->operation.fc, dnnl_forward_inference, o->src, o->weights, o->bias, o->dst);

    return status ? status
                  : dnnl_primitive_desc_iterator_create(&k->at, &k->operation, attr, engine, NULL);
#endif
}

/* The kernel at which the iterator stands, as a descriptor that the caller frees; NULL: no memory.
 */
static dnnl_primitive_desc_t od_get(const struct od_kernels *k)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_primitive_desc_t own = NULL;

    return dnnl_primitive_desc_clone(&own, k->at) ? NULL : own;
#else
    return dnnl_primitive_desc_iterator_fetch(k->at);
#endif
}

/* Goes to the next kernel; dnnl_success while there is one. */
static dnnl_status_t od_next(struct od_kernels *k)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_primitive_desc_next_impl(k->at);
#else
    return dnnl_primitive_desc_iterator_next(k->at);
#endif
}

static void od_end(struct od_kernels *k)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_primitive_desc_destroy(k->at);
#else
    dnnl_primitive_desc_iterator_destroy(k->at);
#endif
}

#endif
