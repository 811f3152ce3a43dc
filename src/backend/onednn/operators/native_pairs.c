/*
 * Sums, differences and products of two tensors of 8 bits, of which either may be broadcast. They
 * round as ONNX Runtime's kernels for x86 do, which add the zero of the output in floats, before
 * they round.
 */
#include "backend/onednn/operators/operators.h"

#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

#define PATTERN 1024 /* bytes, of copies of a unit */

struct pair_plan {
    struct od_mixture mixture;
    od_mixing *mix;
    int64_t unit; /* above 0: each position of the nest's rows is a unit of so many values */
    int spread;   /* the operand, 1 or 2, of which all positions of a row have the same unit */
    struct od_nest nest;
};

/* ---- running ---- */

static void pair_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                     void *const *at)
{
    const struct pair_plan *p = plan;
    int64_t a = axis->stride[1], b = axis->stride[2];

    p->mix(&p->mixture, (const uint8_t *)at[1] + first * a, a, (const uint8_t *)at[2] + first * b,
           b, n, (uint8_t *)at[0] + first);
}

/* Computes positions whose units are short: one operand's unit is written many times, so that rows
 * are long. */
static void units_row(const void *plan, const struct od_axis *axis, int64_t first, int64_t n,
                      void *const *at)
{
    const struct pair_plan *p = plan;
    int64_t unit = p->unit, most = PATTERN / unit;
    int64_t copies = n < most ? n : most;
    const uint8_t *other = (const uint8_t *)at[3 - p->spread] + first * unit;
    uint8_t *to = (uint8_t *)at[0] + first * unit, pattern[PATTERN];

    (void)axis;
    for (int64_t i = 0; i < copies; i++)
        memcpy(pattern + i * unit, at[p->spread], (size_t)unit);
    for (int64_t i = 0; i < n; i += copies) {
        int64_t values = (n - i < copies ? n - i : copies) * unit;

        if (p->spread == 1)
            p->mix(&p->mixture, pattern, 1, other + i * unit, 1, values, to + i * unit);
        else
            p->mix(&p->mixture, other + i * unit, 1, pattern, 1, values, to + i * unit);
    }
}

static bool run_pair(const void *plan, float *const *data)
{
    const struct pair_plan *p = plan;

    od_nest_run(&p->nest, p->unit > 0 ? units_row : pair_row, p, data);
    return true;
}

/* ---- planning ---- */

/* Sets the strides of operand number i of the nest, whose axes are the batch and the dimensions of
 * the output. */
static void set_strides(const struct od_build *b, int i, int index, struct od_nest *nest)
{
    const struct vbs_shape *out = &b->l->shape;
    const struct vbs_shape *shape = i > 0 ? &od_input(b, index)->shape : out;
    int64_t strides[VBS_MAX_DIMS] = {0};
    int missing = out->n_dims - shape->n_dims;

    od_stored_strides(b, index, strides);
    nest->axes[0].stride[i] = od_stored_of(b, index)->bytes;
    for (int d = missing; d < out->n_dims; d++)
        if (shape->dim[d - missing] > 1)
            nest->axes[1 + d].stride[i] = strides[d - missing];
}

/* Makes the nest; false: the rows of an operand are not values side by side, or one value. */
static bool plan_nest(const struct od_build *b, int first, struct od_nest *nest)
{
    const struct vbs_shape *out = &b->l->shape;
    const struct od_axis *row;

    nest->bytes = 1;
    od_nest_add(nest, b->batch);
    for (int d = 0; d < out->n_dims; d++)
        od_nest_add(nest, out->dim[d]);
    set_strides(b, 0, 2, nest);
    set_strides(b, 1, first, nest);
    set_strides(b, 2, 1 - first, nest);
    if (od_stored_layout(b, 2) == OD_CHANNELS_LAST) {
        struct od_axis channels = nest->axes[1];

        for (int d = 1; d < out->n_dims; d++)
            nest->axes[d] = nest->axes[d + 1];
        nest->axes[out->n_dims] = channels;
    }
    od_nest_simplify(nest);
    row = &nest->axes[nest->n_axes - 1];
    return (row->stride[0] == 1 || row->n == 1) && (row->stride[1] | 1) == 1 &&
           (row->stride[2] | 1) == 1;
}

/* Makes short rows units of the axis before them, where one operand has the same unit everywhere
 * and the units of the other one and of the output follow each other. */
static void make_units(struct pair_plan *plan)
{
    struct od_nest *nest = &plan->nest;
    const struct od_axis *row = &nest->axes[nest->n_axes - 1], *outer = row - 1;
    int spread = nest->n_axes > 1 && outer->stride[1] == 0 ? 1 : 2;

    if (nest->n_axes < 2 || row->n > PATTERN / 4 || row->stride[1] != 1 || row->stride[2] != 1 ||
        outer->stride[spread] != 0 || outer->stride[3 - spread] != row->n ||
        outer->stride[0] != row->n)
        return;
    plan->unit = row->n;
    plan->spread = spread;
    nest->cost = row->n;
    nest->n_axes--;
}

/* Sets what is computed of both operands, the definition's first one first. */
static void plan_mixture(const struct od_build *b, int first, const struct vbs_encoding *to,
                         struct pair_plan *plan)
{
    const struct vbs_encoding *x = &od_stored_of(b, first)->encoding;
    const struct vbs_encoding *y = &od_stored_of(b, 1 - first)->encoding;
    struct od_mixture *m = &plan->mixture;

    *m = (struct od_mixture){.a = x->storage,
                             .b = y->storage,
                             .zero_a = x->zero,
                             .zero_b = y->zero,
                             .low = vbs_storage_low(to->storage),
                             .high = vbs_storage_high(to->storage)};
    if (b->l->op == VBS_OP_MUL) {
        plan->mix = od_rows()->multiply;
        m->factor = x->scale * y->scale / to->scale;
        m->shift = (float)to->zero;
        return;
    }
    plan->mix = od_rows()->add;
    m->factor = x->scale / to->scale;
    m->second = y->scale / to->scale;
    if (b->l->op == VBS_OP_SUB)
        m->second = -m->second;
    m->shift = (float)to->zero - fmaf(m->factor, (float)x->zero, m->second * (float)y->zero);
}

/* ---- the kernel ---- */

/* Gives whether the fused operators up to number end are at most a ReLU. */
static bool at_most_relu(const struct od_build *b, int end)
{
    return end == 0 || (end == 1 && b->l->fused[0].op == VBS_OP_RELU);
}

enum vbs_status od_build_native_pair(struct od_build *b)
{
    bool op = b->l->op == VBS_OP_ADD || b->l->op == VBS_OP_SUB || b->l->op == VBS_OP_MUL;
    int first = od_tensor_of(b, 0) == b->l->inputs[0] ? 0 : 1; /* in the definition */
    struct pair_plan *plan;
    struct od_tail tail;
    dnnl_memory_t data[OD_OPERANDS];

    if (!op || b->l->n_inputs != 2)
        return VBS_OK;
    for (int i = 0; i < 3; i++)
        if (!vbs_storage_is_whole(od_stored_of(b, i)->encoding.storage) ||
            (i < 2 && !od_has_strides(b, i)))
            return VBS_OK;
    plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    VBS_TRY(plan ? od_tail_init(b, 0, &tail) : vbs_no_memory(b->ctx));
    if (!at_most_relu(b, tail.end) || !plan_nest(b, first, &plan->nest))
        return VBS_OK;
    make_units(plan);
    plan_mixture(b, first, &tail.encoding, plan);
    if (tail.end > 0)
        plan->mixture.low = tail.encoding.zero;
    VBS_TRY(od_kernel_begin(b, "loop:binary"));
    VBS_TRY(od_stored_memory(b, 2, &data[0]));
    VBS_TRY(od_stored_memory(b, first, &data[1]));
    VBS_TRY(od_stored_memory(b, 1 - first, &data[2]));
    VBS_TRY(od_kernel_call(b, run_pair, plan, OD_OPERANDS, data));
    VBS_TRY(od_tail_step(b, &tail));
    return od_kernel_end(b, od_line_bytes(tail.line), od_line_format(tail.line));
}
