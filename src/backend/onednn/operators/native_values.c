/*
 * Kernels that work on tensors as they are stored, without weights: pools, means and operators on
 * values of whole numbers; pools, sums and products of bfloat16. Whole numbers of equal encodings
 * are compared as the numbers that stand for them.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <string.h>

/* Gives whether all inputs and the output have 8 bits in one layout, and inputs are read in their
 * own shapes; equal: and one encoding. */
static bool are_alike(const struct od_build *b, bool equal)
{
    const struct od_stored *out = od_stored_of(b, b->l->n_inputs);

    if (!vbs_storage_is_whole(out->encoding.storage))
        return false;
    for (int i = 0; i < b->l->n_inputs; i++) {
        const struct od_stored *in = od_stored_of(b, i);
        const struct vbs_shape *own = &b->network->layers[b->l->inputs[i]].shape;

        if (!vbs_storage_is_whole(in->encoding.storage) ||
            od_stored_layout(b, i) != od_stored_layout(b, b->l->n_inputs) ||
            (od_stored_layout(b, i) != OD_PLAIN && !vbs_shape_equal(own, &b->l->views[i])) ||
            (equal && !vbs_encoding_equal(&in->encoding, &out->encoding)))
            return false;
    }
    return true;
}

/* Ends the kernel of a primitive that has been chosen: its step, and nothing behind it. */
static enum vbs_status end_with(struct od_build *b, const_dnnl_primitive_desc_t pd, int n,
                                const dnnl_exec_arg_t *args)
{
    VBS_TRY(od_kernel_step(b, pd, n, args));
    return od_kernel_end(b, 0, 0);
}

/* ---- bfloat16 ---- */

/* Gives whether all tensors are bfloat16 in one layout, and inputs are read in their own shapes. */
static bool are_wide(const struct od_build *b)
{
    for (int i = 0; i <= b->l->n_inputs; i++) {
        bool input = i < b->l->n_inputs;
        const struct od_tensor *own = &b->session->tensors[od_tensor_of(b, i)];

        if (od_stored_of(b, i)->encoding.storage != VBS_BFLOAT16 ||
            own->canonical != od_output(b)->canonical ||
            (input && !vbs_shape_equal(&own->shape, &od_input(b, i)->shape)))
            return false;
    }
    return true;
}

static bool is_wide_pool(const struct od_build *b)
{
    return (b->l->op == VBS_OP_POOL_MAX || b->l->op == VBS_OP_POOL_AVG) && b->l->n_fused == 0 &&
           are_wide(b);
}

/* Gives whether the layer adds or multiplies two tensors of one shape; zeros of padding stay. */
static bool is_wide_pair(const struct od_build *b)
{
    return (b->l->op == VBS_OP_ADD || b->l->op == VBS_OP_MUL) && b->l->n_inputs == 2 &&
           vbs_shape_equal(&b->l->views[0], &b->l->shape) &&
           vbs_shape_equal(&b->l->views[1], &b->l->shape) && od_fusable(b, 0) == b->l->n_fused &&
           !od_breaks_padding(b) && are_wide(b);
}

static enum vbs_status build_wide_pair(struct od_build *b)
{
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC_0, NULL}, {DNNL_ARG_SRC_1, NULL}, {DNNL_ARG_DST, NULL}};
    int n_fused = b->l->n_fused;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_binary_desc_t desc;
    dnnl_memory_desc_t md;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(od_describe_flat(b, 2, &md));
    dnnl = dnnl_binary_desc_init(&desc, b->l->op == VBS_OP_ADD ? dnnl_binary_add : dnnl_binary_mul,
                                 &md, &md, &md);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a sum");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status == VBS_OK && !od_is_reference(pd) && n_fused == b->l->n_fused) {
        status = od_kernel_begin_with(b, pd);
        for (int i = 0; i < 3 && status == VBS_OK; i++)
            status = od_stored_memory(b, i, &args[i].memory);
        if (status == VBS_OK)
            status = end_with(b, pd, 3, args);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- pools ---- */

/* Gives whether the padding of a mean, which is 0, is the whole number 0 or does not count. */
static bool pads_well(const struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    bool padded = false;

    for (int i = 0; i < od_input(b, 0)->n_spatial; i++)
        padded |= a->pool.window.pad_low[i] != 0 || a->pool.window.pad_high[i] != 0;
    return b->l->op == VBS_OP_POOL_MAX || !a->pool.pad_counts || !padded ||
           od_stored_of(b, 0)->encoding.zero == 0;
}

static bool is_pool(const struct od_build *b)
{
    bool pool = b->l->op == VBS_OP_POOL_MAX || b->l->op == VBS_OP_POOL_AVG;

    /* Of nothing but -infinity, oneDNN makes the lowest number, which kernels of floats correct. */
    if (b->l->op == VBS_OP_POOL_MAX && !b->session->bounded[b->l->inputs[0]])
        return false;
    return pool && b->l->n_fused == 0 && are_alike(b, true) &&
           od_stored_of(b, 0)->layout == OD_CHANNELS_LAST && pads_well(b);
}

static enum vbs_status build_pool(struct od_build *b)
{
    struct od_window w = od_window_of(b->l->op, &b->l->attributes, od_input(b, 0)->n_spatial);
    dnnl_exec_arg_t args[] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd = NULL;
    union od_pool_desc desc;
    bool wide = od_stored_of(b, 1)->encoding.storage == VBS_BFLOAT16;
    int n_fused = 0;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(od_describe_stored(b, od_input(b, 0), od_stored_of(b, 0), wide, &src));
    VBS_TRY(od_describe_stored(b, od_output(b), od_stored_of(b, 1), wide, &dst));
    dnnl = od_pool_desc(&w, dnnl_forward_inference, &src, &dst, &desc);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    status = od_best(b, &desc, 0, &n_fused, &pd);
    if (status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status == VBS_OK && !od_is_reference(pd)) {
        status = od_kernel_begin_with(b, pd);
        if (status == VBS_OK)
            status = od_kernel_memory(b, &src, OD_SRC, 0, NULL, &args[0].memory);
        if (status == VBS_OK)
            status = od_kernel_memory(b, &dst, OD_DST, 0, NULL, &args[1].memory);
        if (status == VBS_OK)
            status = end_with(b, pd, 2, args);
    }
    dnnl_primitive_desc_destroy(pd);
    return status;
}

/* ---- means of all positions ---- */

struct mean_plan {
    struct vbs_encoding from, to;
    int64_t channels, positions, n; /* samples */
    bool last;                      /* the channels are last */
    float factor;
};

struct mean_job {
    const struct mean_plan *plan;
    const struct od_row_loops *rows;
    const uint8_t *from;
    uint8_t *to;
};

#define CHANNELS 64 /* that a thread takes at once */

/* Computes up to CHANNELS means of a sample. */
static void mean_part(void *self, int64_t part)
{
    const struct mean_job *j = self;
    const struct mean_plan *p = j->plan;
    int64_t n_parts = (p->channels + CHANNELS - 1) / CHANNELS;
    int64_t sample = part / n_parts, first = part % n_parts * CHANNELS;
    int64_t n = p->channels - first < CHANNELS ? p->channels - first : CHANNELS;
    const uint8_t *from = j->from + sample * p->channels * p->positions;
    int32_t sums[CHANNELS] = {0};

    for (int64_t i = 0; i < p->positions && p->last; i++)
        j->rows->gather(p->from.storage, from + i * p->channels + first, n, sums);
    for (int64_t c = 0; c < n && !p->last; c++)
        sums[c] = j->rows->total(p->from.storage, from + (first + c) * p->positions, p->positions);
    j->rows->scale(&p->to, sums, p->from.zero * (int32_t)p->positions, p->factor, n,
                   j->to + sample * p->channels + first);
}

static bool run_mean(const void *plan, float *const *data)
{
    const struct mean_plan *p = plan;
    struct mean_job job = {
        .plan = p, .rows = od_rows(), .from = (void *)data[1], .to = (void *)data[0]};
    int64_t n_parts = (p->channels + CHANNELS - 1) / CHANNELS;

    od_parallel(p->n * n_parts, p->n * p->channels * p->positions / 8, mean_part, &job);
    return true;
}

/* Gives whether the layer computes the mean of all positions of each channel. */
static bool is_mean(const struct od_build *b)
{
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *in = &b->l->views[0];
    bool whole = vbs_shape_elements(&b->l->shape) == in->dim[0];

    if (b->l->op == VBS_OP_POOL_AVG)
        for (int i = 0; i < od_input(b, 0)->n_spatial; i++)
            whole = whole && a->pool.window.pad_low[i] == 0 && a->pool.window.pad_high[i] == 0 &&
                    a->pool.window.kernel[i] == in->dim[1 + i];
    else
        whole = whole && b->l->op == VBS_OP_REDUCE_MEAN &&
                a->reduce.axes == (((1u << in->n_dims) - 1) & ~1u);
    return whole && in->n_dims > 1 && vbs_shape_elements(in) / in->dim[0] < INT64_C(1) << 22 &&
           vbs_storage_is_whole(od_stored_of(b, 0)->encoding.storage) &&
           vbs_storage_is_whole(od_stored_of(b, 1)->encoding.storage) &&
           (od_stored_layout(b, 0) == OD_PLAIN ||
            vbs_shape_equal(in, &b->network->layers[b->l->inputs[0]].shape));
}

static enum vbs_status build_mean(struct od_build *b)
{
    struct mean_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    struct od_tail tail;
    dnnl_memory_t data[2];

    VBS_TRY(plan ? od_tail_init(b, 0, &tail) : vbs_no_memory(b->ctx));
    if (tail.end > 0)
        return VBS_OK;
    *plan = (struct mean_plan){.from = od_stored_of(b, 0)->encoding,
                               .to = tail.encoding,
                               .channels = b->l->views[0].dim[0],
                               .n = b->batch,
                               .last = od_stored_layout(b, 0) == OD_CHANNELS_LAST};
    plan->positions = vbs_shape_elements(&b->l->views[0]) / plan->channels;
    plan->factor = plan->from.scale / (plan->to.scale * (float)plan->positions);
    VBS_TRY(od_kernel_begin(b, "loop:mean"));
    VBS_TRY(od_stored_memory(b, 1, &data[0]));
    VBS_TRY(od_stored_memory(b, 0, &data[1]));
    VBS_TRY(od_kernel_call(b, run_mean, plan, 2, data));
    VBS_TRY(od_tail_step(b, &tail));
    return od_kernel_end(b, od_line_bytes(tail.line), od_line_format(tail.line));
}

/* ---- operators on values ---- */

/* Builds the kernel of a layer that works value by value: a table of all whole numbers. */
static enum vbs_status build_table(struct od_build *b)
{
    struct od_table_request request = {.from = od_stored_of(b, 0)->encoding,
                                       .to = od_stored_of(b, 1)->encoding,
                                       .own = true,
                                       .end = b->l->n_fused};
    const uint8_t *table = NULL;
    dnnl_memory_t to, from;

    if (!od_table_possible(b, &request) || !are_alike(b, false))
        return VBS_OK;
    VBS_TRY(od_table_make(b, &request, NULL, &table, NULL));
    VBS_TRY(od_kernel_begin(b, "loop:table"));
    VBS_TRY(od_stored_memory(b, 1, &to));
    VBS_TRY(od_stored_memory(b, 0, &from));
    VBS_TRY(od_table_step(b, table, b->batch * od_stored_of(b, 1)->bytes, from, to));
    return od_kernel_end(b, 0, 0);
}

/* ---- factors and shifts ---- */

/* Builds the kernel of a BatchNorm or Scale, or of an operator with a constant operand. */
static enum vbs_status build_line(struct od_build *b)
{
    struct od_table_request request = {.from = od_stored_of(b, 0)->encoding, .own = true};
    const struct od_line_plan *plan;
    struct od_tail tail;
    dnnl_memory_t to, from;

    if (!are_alike(b, false) || !vbs_shape_equal(&b->l->views[0], &b->l->shape))
        return VBS_OK;
    od_tail_find(b, 0, &tail);
    request.to = tail.encoding;
    request.end = tail.end;
    if (tail.lines || !od_line_possible(b, &request))
        return VBS_OK;
    VBS_TRY(od_line_make(b, &request, &plan));
    VBS_TRY(od_tail_init(b, 0, &tail));
    VBS_TRY(od_kernel_begin(b, "loop:line"));
    VBS_TRY(od_stored_memory(b, 1, &to));
    VBS_TRY(od_stored_memory(b, 0, &from));
    VBS_TRY(od_line_step(b, plan, from, to));
    VBS_TRY(od_tail_step(b, &tail));
    return od_kernel_end(b, od_line_bytes(plan), od_line_format(plan));
}

/* ---- the choice ---- */

enum vbs_status od_build_native_values(struct od_build *b)
{
    bool made = false;

    VBS_TRY(od_build_native_move(b, &made));
    if (made)
        return VBS_OK;
    if (b->l->op == VBS_OP_MATMUL)
        return od_build_native_matmul(b);
    if (b->l->op == VBS_OP_SOFTMAX || b->l->op == VBS_OP_LAYER_NORM)
        return od_build_native_norm(b);
    if (is_wide_pair(b))
        return build_wide_pair(b);
    if (vbs_op_class(b->l->op) == VBS_CLASS_UNARY)
        return build_table(b);
    if (b->l->n_inputs == 1 && (vbs_op_class(b->l->op) == VBS_CLASS_BINARY ||
                                b->l->op == VBS_OP_BATCHNORM || b->l->op == VBS_OP_SCALE))
        return build_line(b);
    if (vbs_op_class(b->l->op) == VBS_CLASS_BINARY)
        return od_build_native_pair(b);
    if (is_mean(b))
        return build_mean(b);
    if (is_pool(b) || is_wide_pool(b))
        return build_pool(b);
    return b->l->op == VBS_OP_POOL_AVG ? od_build_native_windows(b) : VBS_OK;
}
