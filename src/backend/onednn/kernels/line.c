/*
 * Factors and shifts. A run of operators y = a * x + b is one such operator, whose factors are
 * computed when a session is opened. Rows are decoded, computed in floats and encoded at once.
 */
#include "backend/onednn/kernels/line.h"

#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/nest.h"
#include "backend/onednn/kernels/weights.h"
#include "backend/onednn/rows/rows.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>

struct od_line_plan {
    struct od_line line;
    struct vbs_shape shape; /* of the factors, of as many dimensions as the output */
    int64_t n;              /* factors */
    const struct od_packed *packed;
    float *factor, *shift; /* its values */
    struct od_nest nest;   /* operand 2 counts factors */
};

/* ---- operators ---- */

static bool by_channel(enum vbs_op op)
{
    return op == VBS_OP_BATCHNORM || op == VBS_OP_SCALE;
}

static bool has_constant(const struct od_build *b)
{
    return (b->l->op == VBS_OP_ADD || b->l->op == VBS_OP_SUB || b->l->op == VBS_OP_MUL) &&
           b->l->operand.n_dims > 0 && b->l->operand.n_dims <= b->l->shape.n_dims;
}

/* ---- factors ---- */

/* Factors and shifts while they are computed: y = a[i] * x + b[i]. */
struct line_factors {
    double *a, *b;
    float *values; /* twice as many */
};

static void apply(struct line_factors *line, int64_t i, double factor, double shift)
{
    line->a[i] *= factor;
    line->b[i] = line->b[i] * factor + shift;
}

/* Applies a BatchNorm or Scale, the layer's own (fused < 0) or a fused one. */
static enum vbs_status apply_channels(struct od_build *b, int fused, int64_t n,
                                      struct line_factors *line)
{
    VBS_TRY(vbs_affine(b->ctx, b->network, b->layer, fused, n, line->values, line->values + n));
    for (int64_t i = 0; i < n; i++)
        apply(line, i, (double)line->values[i], (double)line->values[n + i]);
    return VBS_OK;
}

static enum vbs_status apply_constant(struct od_build *b, int64_t n, struct line_factors *line)
{
    bool swapped = b->l->attributes.binary.swapped;

    VBS_TRY(vbs_parameter_values(b->ctx, b->network, b->layer, -1, VBS_PARAMETER_OPERAND, 0, n,
                                 line->values));
    for (int64_t i = 0; i < n; i++) {
        double value = (double)line->values[i];

        if (b->l->op == VBS_OP_MUL)
            apply(line, i, value, 0);
        else if (b->l->op == VBS_OP_ADD)
            apply(line, i, 1, value);
        else
            apply(line, i, swapped ? -1 : 1, swapped ? value : -value);
    }
    return VBS_OK;
}

static enum vbs_status apply_all(struct od_build *b, const struct od_table_request *request,
                                 int64_t n, struct line_factors *line)
{
    if (request->own)
        VBS_TRY(has_constant(b) ? apply_constant(b, n, line) : apply_channels(b, -1, n, line));
    for (int i = request->first; i < request->end; i++) {
        const struct vbs_fused *fused = &b->l->fused[i];

        if (by_channel(fused->op))
            VBS_TRY(apply_channels(b, i, n, line));
        for (int64_t c = 0; c < n && fused->op == VBS_OP_LINEAR; c++)
            apply(line, c, fused->attributes.linear.factor, fused->attributes.linear.shift);
    }
    return VBS_OK;
}

/* Computes the plan's factors and shifts. */
static enum vbs_status make_factors(struct od_build *b, const struct od_table_request *request,
                                    struct od_line_plan *plan)
{
    int64_t n = plan->n;
    struct line_factors line = {.a = malloc((size_t)n * sizeof *line.a),
                                .b = malloc((size_t)n * sizeof *line.b),
                                .values = malloc(2 * (size_t)n * sizeof *line.values)};
    enum vbs_status status = line.a && line.b && line.values ? VBS_OK : vbs_no_memory(b->ctx);

    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        line.a[i] = 1;
        line.b[i] = 0;
    }
    if (status == VBS_OK)
        status = apply_all(b, request, n, &line);
    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        plan->factor[i] = (float)line.a[i];
        plan->shift[i] = (float)line.b[i];
    }
    free(line.a);
    free(line.b);
    free(line.values);
    return status;
}

/* ---- the nest ---- */

/* Makes the nest over the output, whose layout the input has; false: rows are not contiguous. */
static bool plan_nest(const struct od_build *b, struct od_line_plan *plan)
{
    const struct vbs_shape *out = &b->l->shape;
    struct od_nest *nest = &plan->nest;
    int64_t strides[VBS_MAX_DIMS], stride = 1;
    bool last = od_stored_layout(b, b->l->n_inputs) == OD_CHANNELS_LAST;
    int64_t sample = od_stored_of(b, b->l->n_inputs)->bytes;
    struct od_axis axes[VBS_MAX_DIMS] = {0};
    const struct od_axis *row;

    od_stored_strides(b, b->l->n_inputs, strides);
    for (int d = out->n_dims - 1; d >= 0; d--) {
        axes[d] = (struct od_axis){
            .n = out->dim[d],
            .stride = {strides[d], strides[d], plan->shape.dim[d] > 1 ? stride : 0}};
        stride *= plan->shape.dim[d];
    }
    nest->bytes = 1;
    od_nest_add_strided(nest, b->batch, sample, sample, 0);
    for (int i = 0; i < out->n_dims; i++)
        *od_nest_add(nest, 1) = axes[last ? (i + 1) % out->n_dims : i];
    od_nest_simplify(nest);
    row = &nest->axes[nest->n_axes - 1];
    return (row->stride[0] == 1 || row->n == 1) && (row->stride[2] | 1) == 1;
}

/* Gives the shape of the factors, of as many dimensions as the output. */
static struct vbs_shape factor_shape(const struct od_build *b,
                                     const struct od_table_request *request)
{
    bool constant = request->own && has_constant(b);
    int n_dims = b->l->shape.n_dims, missing = n_dims - b->l->operand.n_dims;
    struct vbs_shape shape = {.n_dims = n_dims};

    for (int d = 0; d < n_dims; d++)
        shape.dim[d] = constant ? (d < missing ? 1 : b->l->operand.dim[d - missing])
                                : (d == 0 ? b->l->shape.dim[0] : 1);
    return shape;
}

bool od_line_possible(const struct od_build *b, const struct od_table_request *request)
{
    bool constant = request->own && has_constant(b);
    struct od_line_plan plan = {.shape = factor_shape(b, request)};

    if (!vbs_storage_is_whole(request->from.storage) ||
        !vbs_storage_is_whole(request->to.storage) ||
        (request->own && !constant && !by_channel(b->l->op)))
        return false;
    for (int i = request->first; i < request->end; i++) {
        enum vbs_op op = b->l->fused[i].op;

        if (op != VBS_OP_LINEAR && op != VBS_OP_DROPOUT && !(by_channel(op) && !constant) &&
            !(op == VBS_OP_RELU && i + 1 == request->end))
            return false;
    }
    return plan_nest(b, &plan);
}

enum vbs_status od_line_make(struct od_build *b, const struct od_table_request *request,
                             const struct od_line_plan **made)
{
    struct od_line_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    int end = request->end;
    bool found;

    if (!plan)
        return vbs_no_memory(b->ctx);
    plan->shape = factor_shape(b, request);
    plan->n = vbs_shape_elements(&plan->shape);
    plan->line = (struct od_line){
        .from = request->from, .to = request->to, .low = vbs_storage_low(request->to.storage)};
    if (end > request->first && b->l->fused[end - 1].op == VBS_OP_RELU)
        plan->line.low = request->to.zero;
    VBS_TRY(od_own_floats(b, 2 * plan->n, &found, &plan->packed));
    plan->factor = plan->packed->data;
    plan->shift = plan->factor + plan->n;
    if (!found)
        VBS_TRY(make_factors(b, request, plan));
    if (plan_nest(b, plan))
        *made = plan;
    return VBS_OK;
}

int64_t od_line_bytes(const struct od_line_plan *plan)
{
    return plan ? plan->packed->bytes : 0;
}

int od_line_format(const struct od_line_plan *plan)
{
    return plan ? plan->packed->number : 0;
}

/* ---- running ---- */

/* at[2] is as many bytes behind the factors as factors precede the row's. */
static void line_row(const void *self, const struct od_axis *axis, int64_t first, int64_t n,
                     void *const *at)
{
    const struct od_line_plan *p = self;
    int64_t step = axis->stride[2];
    int64_t index = (const char *)at[2] - (const char *)p->factor + first * step;

    od_rows()->line(&p->line, (const uint8_t *)at[1] + first, p->factor + index, p->shift + index,
                    step, n, (uint8_t *)at[0] + first);
}

static bool run_line(const void *self, float *const *data)
{
    const struct od_line_plan *p = self;
    float *const operands[OD_OPERANDS] = {data[0], data[1], p->factor};

    od_nest_run(&p->nest, line_row, p, operands);
    return true;
}

enum vbs_status od_line_step(struct od_build *b, const struct od_line_plan *plan,
                             dnnl_memory_t from, dnnl_memory_t to)
{
    const dnnl_memory_t data[] = {to, from};

    return od_kernel_call(b, run_line, plan, 2, data);
}
