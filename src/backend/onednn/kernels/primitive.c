#include "backend/onednn/kernels/primitive.h"

#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ATTEMPTS 3                  /* other threads may fill the cache between two attempts */
#define HEADROOM ((size_t)16 << 20) /* bytes, more than oneDNN obtains for one primitive */

/*
 * Checks that there is address space to spare. oneDNN 2.6 writes through a null pointer where it
 * gets no memory for the code that it generates, so it is called only then.
 */
static dnnl_status_t check_headroom(void)
{
    void *memory = mmap(NULL, HEADROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        return dnnl_out_of_memory;
    munmap(memory, HEADROOM);
    return dnnl_success;
}

/* ---- the cache ---- */

static void empty_cache(void)
{
    int capacity;

    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success)
        return;
    if (dnnl_set_primitive_cache_capacity(0) == dnnl_success)
        dnnl_set_primitive_cache_capacity(capacity);
}

/* Gives whether an implementation was made for this descriptor, with all its strides. */
static bool was_asked(const dnnl_memory_desc_t *asked, const dnnl_memory_desc_t *got)
{
    if (!asked || asked->format_kind != dnnl_blocked)
        return true;
    return got && got->format_kind == dnnl_blocked && got->ndims == asked->ndims &&
           memcmp(got->format_desc.blocking.strides, asked->format_desc.blocking.strides,
                  (size_t)asked->ndims * sizeof asked->dims[0]) == 0;
}

/* The memory descriptors for which an implementation is requested, each with the query that gives
 * the implementation's own. */
#define MAX_ASKED 7

struct od_question {
    int n;
    struct {
        const dnnl_memory_desc_t *md; /* null, or not set: the operation has none there */
        dnnl_query_t what;
        int index;
    } asked[MAX_ASKED];
};

static void ask(struct od_question *q, dnnl_query_t what, int index, const dnnl_memory_desc_t *md)
{
    q->asked[q->n].md = md;
    q->asked[q->n].what = what;
    q->asked[q->n++].index = index;
}

/* Asks for a source and a destination; of a backward pass, for their gradients. */
static struct od_question ask_two(const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *dst)
{
    struct od_question q = {0};

    ask(&q, dnnl_query_src_md, 0, src);
    ask(&q, dnnl_query_dst_md, 0, dst);
    return q;
}

static void ask_gradients(struct od_question *q, const dnnl_memory_desc_t *src,
                          const dnnl_memory_desc_t *weights, const dnnl_memory_desc_t *dst)
{
    ask(q, dnnl_query_diff_src_md, 0, src);
    ask(q, dnnl_query_diff_weights_md, 0, weights);
    ask(q, dnnl_query_diff_dst_md, 0, dst);
}

/* The operation of one tensor, data, whose backward pass reads it again. */
static struct od_question ask_one(dnnl_prop_kind_t kind, const dnnl_memory_desc_t *data,
                                  const dnnl_memory_desc_t *gradient)
{
    struct od_question q = {0};

    if (kind == dnnl_backward || kind == dnnl_backward_data)
        ask(&q, dnnl_query_diff_src_md, 0, gradient);
    else
        ask(&q, dnnl_query_src_md, 0, data);
    return q;
}

static struct od_question question_of_weighted(const_dnnl_op_desc_t desc)
{
    const dnnl_convolution_desc_t *conv = desc;
    const dnnl_inner_product_desc_t *product = desc;
    bool is_product = conv->primitive_kind == dnnl_inner_product;
    struct od_question q = is_product ? ask_two(&product->src_desc, &product->dst_desc)
                                      : ask_two(&conv->src_desc, &conv->dst_desc);

    ask(&q, dnnl_query_weights_md, 0, is_product ? &product->weights_desc : &conv->weights_desc);
    if (is_product)
        ask_gradients(&q, &product->diff_src_desc, &product->diff_weights_desc,
                      &product->diff_dst_desc);
    else
        ask_gradients(&q, &conv->diff_src_desc, &conv->diff_weights_desc, &conv->diff_dst_desc);
    return q;
}

static struct od_question question_of_pool(const_dnnl_op_desc_t desc)
{
    const dnnl_pooling_desc_t *pool = desc;
    const dnnl_pooling_v2_desc_t *dilated = desc;
    bool dense = pool->primitive_kind == dnnl_pooling;
    struct od_question q = dense ? ask_two(&pool->src_desc, &pool->dst_desc)
                                 : ask_two(&dilated->src_desc, &dilated->dst_desc);

    ask_gradients(&q, dense ? &pool->diff_src_desc : &dilated->diff_src_desc, NULL,
                  dense ? &pool->diff_dst_desc : &dilated->diff_dst_desc);
    return q;
}

static struct od_question question_of_normalization(const_dnnl_op_desc_t desc)
{
    const dnnl_batch_normalization_desc_t *batch = desc;
    const dnnl_layer_normalization_desc_t *layer = desc;

    return batch->primitive_kind == dnnl_batch_normalization
               ? ask_one(batch->prop_kind, &batch->data_desc, &batch->diff_data_desc)
               : ask_one(layer->prop_kind, &layer->data_desc, &layer->diff_data_desc);
}

/* The operations of two sources, or of a source and weights. */
static struct od_question question_of_pair(const_dnnl_op_desc_t desc)
{
    const dnnl_matmul_desc_t *matmul = desc;
    const dnnl_binary_desc_t *binary = desc;
    const dnnl_prelu_desc_t *prelu = desc;
    struct od_question q = {0};

    if (matmul->primitive_kind == dnnl_matmul) {
        q = ask_two(&matmul->src_desc, &matmul->dst_desc);
        ask(&q, dnnl_query_weights_md, 0, &matmul->weights_desc);
    } else if (binary->primitive_kind == dnnl_binary) {
        q = ask_two(&binary->src_desc[0], &binary->dst_desc);
        ask(&q, dnnl_query_src_md, 1, &binary->src_desc[1]);
    } else {
        q = ask_two(&prelu->data_desc, NULL);
        ask(&q, dnnl_query_weights_md, 0, &prelu->weights_desc);
    }
    return q;
}

static struct od_question question_of(const_dnnl_op_desc_t desc)
{
    const dnnl_softmax_v2_desc_t *softmax = desc;
    const dnnl_reduction_desc_t *reduction = desc;
    const dnnl_resampling_desc_t *resampling = desc;
    const dnnl_eltwise_desc_t *eltwise = desc;
    const dnnl_lrn_desc_t *lrn = desc;

    switch (*(const dnnl_primitive_kind_t *)desc) {
    case dnnl_convolution:
    case dnnl_deconvolution:
    case dnnl_inner_product:
        return question_of_weighted(desc);
    case dnnl_pooling:
    case dnnl_pooling_v2:
        return question_of_pool(desc);
    case dnnl_softmax_v2:
        return ask_two(&softmax->src_desc, &softmax->dst_desc);
    case dnnl_reduction:
        return ask_two(&reduction->src_desc, &reduction->dst_desc);
    case dnnl_resampling:
        return ask_two(&resampling->src_desc, &resampling->dst_desc);
    case dnnl_matmul:
    case dnnl_binary:
    case dnnl_prelu:
        return question_of_pair(desc);
    case dnnl_eltwise:
        return ask_one(eltwise->prop_kind, &eltwise->data_desc, &eltwise->diff_data_desc);
    case dnnl_lrn:
        return ask_one(lrn->prop_kind, &lrn->data_desc, &lrn->diff_data_desc);
    case dnnl_batch_normalization:
    case dnnl_layer_normalization:
        return question_of_normalization(desc);
    case dnnl_shuffle:
        return ask_two(&((const dnnl_shuffle_desc_t *)desc)->data_desc, NULL);
    default:
        return (struct od_question){0};
    }
}

static const dnnl_memory_desc_t *md_of(const_dnnl_primitive_desc_t pd, dnnl_query_t what, int index)
{
    return dnnl_primitive_desc_query_md(pd, what, index);
}

static bool answers(const struct od_question *q, const_dnnl_primitive_desc_t pd)
{
    for (int i = 0; i < q->n; i++)
        if (!was_asked(q->asked[i].md, md_of(pd, q->asked[i].what, q->asked[i].index)))
            return false;
    return true;
}

/* ---- implementations ---- */

const char *od_pd_name(const_dnnl_primitive_desc_t pd)
{
    const char *name = NULL;

    return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success ? name
                                                                                             : NULL;
}

void od_pds_clear(struct od_pds *pds)
{
    for (int i = 0; i < pds->n; i++)
        dnnl_primitive_desc_destroy(pds->list[i]);
    free(pds->list);
    *pds = (struct od_pds){0};
}

/* Appends an implementation, and takes ownership of pd. */
static dnnl_status_t append(struct od_pds *pds, dnnl_primitive_desc_t pd)
{
    if (vbs_grow(NULL, &pds->list, &pds->max, (int64_t)pds->n + 1, sizeof(pd)) != VBS_OK) {
        dnnl_primitive_desc_destroy(pd);
        return dnnl_out_of_memory;
    }
    pds->list[pds->n++] = pd;
    return dnnl_success;
}

/* Collects implementations once; *foreign: one of them was made for other descriptors, and
 * collecting ended there. */
static dnnl_status_t collect(struct od_pds *pds, const_dnnl_op_desc_t desc,
                             const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                             const char *name, bool *foreign)
{
    struct od_question question = question_of(desc);
    dnnl_primitive_desc_iterator_t iterator = NULL;
    dnnl_status_t status = dnnl_primitive_desc_iterator_create(&iterator, desc, attr, engine, NULL);
    bool found = false;

    *foreign = false;
    while (status == dnnl_success && !found) {
        dnnl_primitive_desc_t pd = dnnl_primitive_desc_iterator_fetch(iterator);
        const char *own = pd ? od_pd_name(pd) : NULL;

        *foreign = pd && !answers(&question, pd);
        if (!pd)
            status = dnnl_out_of_memory;
        else if (!*foreign && (!name || (own && strcmp(own, name) == 0)))
            status = append(pds, pd);
        else
            dnnl_primitive_desc_destroy(pd);
        found = *foreign || (name && pds->n > 0);
        if (status == dnnl_success && !found)
            status = dnnl_primitive_desc_iterator_next(iterator);
    }
    dnnl_primitive_desc_iterator_destroy(iterator);
    return status == dnnl_iterator_ends || status == dnnl_unimplemented ? dnnl_success : status;
}

dnnl_status_t od_pds_init(struct od_pds *pds, const_dnnl_op_desc_t desc,
                          const_dnnl_primitive_attr_t attr, dnnl_engine_t engine, const char *name)
{
    dnnl_status_t status = check_headroom();
    bool foreign = true;

    *pds = (struct od_pds){0};
    for (int i = 0; i < ATTEMPTS && foreign && status == dnnl_success; i++) {
        od_pds_clear(pds);
        if (i > 0)
            empty_cache();
        status = collect(pds, desc, attr, engine, name, &foreign);
    }
    if (status != dnnl_success)
        od_pds_clear(pds);
    return status;
}

/* hint: the forward pass; null: it is one. */
static dnnl_status_t create_first(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                                  dnnl_engine_t engine, const_dnnl_primitive_desc_t hint,
                                  dnnl_primitive_desc_t *pd)
{
    struct od_question question = question_of(desc);
    dnnl_status_t status = check_headroom();

    if (status == dnnl_success)
        status = dnnl_primitive_desc_create(pd, desc, attr, engine, hint);
    for (int i = 1; i < ATTEMPTS && status == dnnl_success && !answers(&question, *pd); i++) {
        dnnl_primitive_desc_destroy(*pd);
        *pd = NULL;
        empty_cache();
        status = dnnl_primitive_desc_create(pd, desc, attr, engine, hint);
    }
    return status;
}

dnnl_status_t od_pd_first(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                          dnnl_engine_t engine, dnnl_primitive_desc_t *pd)
{
    return create_first(desc, attr, engine, NULL, pd);
}

dnnl_status_t od_pd_backward(const_dnnl_op_desc_t desc, const_dnnl_primitive_attr_t attr,
                             dnnl_engine_t engine, const_dnnl_primitive_desc_t forward,
                             dnnl_primitive_desc_t *pd)
{
    return create_first(desc, attr, engine, forward, pd);
}

dnnl_status_t od_pd_reorder(const dnnl_memory_desc_t *from, const dnnl_memory_desc_t *to,
                            const_dnnl_primitive_attr_t attr, dnnl_engine_t engine,
                            dnnl_primitive_desc_t *pd)
{
    struct od_question question = ask_two(from, to);
    dnnl_status_t status = check_headroom();

    if (status == dnnl_success)
        status = dnnl_reorder_primitive_desc_create(pd, from, engine, to, engine, attr);
    for (int i = 1; i < ATTEMPTS && status == dnnl_success && !answers(&question, *pd); i++) {
        dnnl_primitive_desc_destroy(*pd);
        empty_cache();
        status = dnnl_reorder_primitive_desc_create(pd, from, engine, to, engine, attr);
    }
    return status;
}

static bool answers_concat(const dnnl_memory_desc_t *dst, int n, const dnnl_memory_desc_t *src,
                           const_dnnl_primitive_desc_t pd)
{
    for (int i = 0; i < n; i++)
        if (!was_asked(&src[i], md_of(pd, dnnl_query_src_md, i)))
            return false;
    return was_asked(dst, md_of(pd, dnnl_query_dst_md, 0));
}

dnnl_status_t od_pd_concat(const dnnl_memory_desc_t *dst, int n, int dimension,
                           const dnnl_memory_desc_t *src, const_dnnl_primitive_attr_t attr,
                           dnnl_engine_t engine, dnnl_primitive_desc_t *pd)
{
    dnnl_status_t status = check_headroom();

    if (status == dnnl_success)
        status = dnnl_concat_primitive_desc_create(pd, dst, n, dimension, src, attr, engine);
    for (int i = 1; i < ATTEMPTS && status == dnnl_success && !answers_concat(dst, n, src, *pd);
         i++) {
        dnnl_primitive_desc_destroy(*pd);
        empty_cache();
        status = dnnl_concat_primitive_desc_create(pd, dst, n, dimension, src, attr, engine);
    }
    return status;
}

/* ---- primitives ---- */

static bool is_of(dnnl_primitive_t primitive, const_dnnl_primitive_desc_t pd)
{
    struct od_question question =
        ask_two(md_of(pd, dnnl_query_src_md, 0), md_of(pd, dnnl_query_dst_md, 0));
    const_dnnl_primitive_desc_t own = NULL;
    const char *name = od_pd_name(pd), *own_name;

    ask(&question, dnnl_query_src_md, 1, md_of(pd, dnnl_query_src_md, 1));
    ask(&question, dnnl_query_weights_md, 0, md_of(pd, dnnl_query_weights_md, 0));
    ask_gradients(&question, md_of(pd, dnnl_query_diff_src_md, 0),
                  md_of(pd, dnnl_query_diff_weights_md, 0), md_of(pd, dnnl_query_diff_dst_md, 0));
    if (dnnl_primitive_get_primitive_desc(primitive, &own) != dnnl_success)
        return true;
    own_name = od_pd_name(own);
    return name && own_name && strcmp(name, own_name) == 0 && answers(&question, own);
}

dnnl_status_t od_prepare_gemm(void)
{
    static const float a[4] = {0}, b[4] = {0};
    float c[4] = {0};
    dnnl_status_t status = check_headroom();

    if (status == dnnl_success)
        status = dnnl_sgemm('N', 'N', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    if (status == dnnl_success)
        status = dnnl_sgemm('N', 'N', 1, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    /* With AVX-512, few rows by a transposed matrix have kernels of their own. */
    if (status == dnnl_success)
        status = dnnl_sgemm('N', 'T', 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);
    return status;
}

/* Gives whether an implementation multiplies matrices by what all products of the process share, as
 * those of recurrent operators do. */
static bool is_gemm(const_dnnl_primitive_desc_t pd)
{
    const char *name = od_pd_name(pd);
    dnnl_primitive_kind_t kind = dnnl_undefined_primitive;

    if (dnnl_primitive_desc_query(pd, dnnl_query_primitive_kind, 0, &kind) == dnnl_success &&
        kind == dnnl_rnn)
        return true;
    return name && strstr(name, "gemm");
}

dnnl_status_t od_primitive_create(const_dnnl_primitive_desc_t pd, dnnl_primitive_t *primitive)
{
    dnnl_status_t status = is_gemm(pd) ? od_prepare_gemm() : check_headroom();

    if (status == dnnl_success)
        status = dnnl_primitive_create(primitive, pd);
    for (int i = 1; i < ATTEMPTS && status == dnnl_success && !is_of(*primitive, pd); i++) {
        dnnl_primitive_destroy(*primitive);
        empty_cache();
        status = dnnl_primitive_create(primitive, pd);
    }
    return status;
}
