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

/* Makes a memory descriptor; NULL where the layout does not exist or memory is short.
 */
static od_md od_make(int n_dims, const dnnl_dims_t dims, dnnl_data_type_t type,
                     dnnl_format_tag_t tag)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_memory_desc_t md;

    return dnnl_memory_desc_create_with_tag(&md, n_dims, dims, type, tag) ? NULL : md;
#else
    dnnl_memory_desc_t *md = malloc(sizeof *md);

    return !md || dnnl_memory_desc_init_by_tag(md, n_dims, dims, type, tag) ? NULL : md;
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

/* The scales of int8 that a kernel is given when it runs. Version 2 gets the product of all of them
 * before, as scales of the output. */
struct od_scale_arg {
    int arg;
    int by_channel; /* one for each output channel, else one */
};
#if DNNL_VERSION_MAJOR >= 3
#define OD_N_SCALES 3
static const struct od_scale_arg od_scale_args[] = {
    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_SRC, 0},
    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_WEIGHTS, 1},
    {DNNL_ARG_ATTR_SCALES | DNNL_ARG_DST, 0},
};
#else
#define OD_N_SCALES 0
static const struct od_scale_arg od_scale_args[1];
#endif

/* Sets the attributes of scales; `scales` has one for each of n_channels. */
static dnnl_status_t od_set_scales(dnnl_primitive_attr_t attr, int has_groups, int n_channels,
                                   const float *scales)
{
#if DNNL_VERSION_MAJOR >= 3
    dnnl_status_t status = dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_SRC, 0);

    (void)n_channels;
    (void)scales;
    if (!status)
        status = dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_WEIGHTS, has_groups ? 3 : 1);
    return status ? status : dnnl_primitive_attr_set_scales_mask(attr, DNNL_ARG_DST, 0);
#else
    (void)has_groups;
    return dnnl_primitive_attr_set_output_scales(attr, n_channels, 1 << 1, scales);
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
