/* Constants whose lines are normalised: Softmax and its like, LayerNormalization. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* Elements that are normalised together: n of them, step apart. */
struct normal_line {
    const number *x;
    number *y;
    int64_t n, step;
};

static long double largest_of(const struct normal_line *l)
{
    long double most = -INFINITY;

    for (int64_t i = 0; i < l->n; i++)
        most = l->x[i * l->step].value > most ? l->x[i * l->step].value : most;
    return most;
}

static bool any_batch(const struct normal_line *l)
{
    bool any = false;

    for (int64_t i = 0; i < l->n; i++)
        any |= l->x[i * l->step].batch;
    return any;
}

/* Computes the shares of exponentials, or (log) their logarithms. */
static void soften(const struct normal_line *l, bool log, int type)
{
    long double most = largest_of(l), sum = 0;
    bool batch = any_batch(l);

    for (int64_t i = 0; i < l->n; i++)
        sum += expl(l->x[i * l->step].value - most);
    for (int64_t i = 0; i < l->n; i++) {
        long double above = l->x[i * l->step].value - most;

        l->y[i * l->step] = (number){
            vbs_onnx_rounded(type, log ? above - logl(sum) : expl(above) / sum), .batch = batch};
    }
}

/* Before version 13 the dimensions from the axis on are one. */
VBS_ONNX_HANDLER(fold_softmax)
{
    bool old = im->graph->opset < 13;
    int64_t step = 1, n = 1, count;
    constant *input;
    const number *x;
    number *y;
    int axis;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", old ? 1 : -1), input->shape.n_dims,
                                   &axis));
    VBS_TRY(vbs_onnx_check_copies(im, input, old ? ~0u << axis : 1u << axis));
    vbs_onnx_same_copies(im, 0);
    count = vbs_shape_elements(&input->shape);
    VBS_TRY(vbs_onnx_numbers_new(im, count, &y));
    for (int d = axis; d < input->shape.n_dims; d++) {
        if (d == axis || old)
            n *= input->shape.dim[d];
        else
            step *= input->shape.dim[d];
    }
    for (int64_t i = 0; count > 0 && i < count / n; i++) {
        int64_t first = i / step * step * n + i % step;
        const struct normal_line line = {.x = x + first, .y = y + first, .n = n, .step = step};

        soften(&line, operator->op == VBS_OP_LOGSOFTMAX, input->type);
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}

/* ---- LayerNormalization ---- */

/* What LayerNormalization makes of a row beside the row itself. */
struct row_moments {
    long double mean, inverse; /* 1 / deviation */
};

static struct row_moments moments_of(const struct normal_line *l, double epsilon)
{
    struct row_moments m = {0, 0};

    for (int64_t i = 0; i < l->n; i++)
        m.mean += l->x[i].value / l->n;
    for (int64_t i = 0; i < l->n; i++)
        m.inverse += (l->x[i].value - m.mean) * (l->x[i].value - m.mean) / l->n;
    m.inverse = 1 / sqrtl(m.inverse + epsilon);
    return m;
}

/* Gives input index, repeated to the shape of a row; null where the node has none. */
static enum vbs_status row_input(struct vbs_onnx_import *im, int index, const struct vbs_shape *row,
                                 const number **numbers)
{
    constant *input;

    *numbers = NULL;
    if (!vbs_onnx_in(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, index, &input));
    VBS_TRY(vbs_onnx_constant_expand(im, input, row, &input));
    return vbs_onnx_numbers(im, input, numbers);
}

/* Makes output index, which has one value for each row, of these numbers. */
static enum vbs_status give_by_row(struct vbs_onnx_import *im, int index,
                                   const struct vbs_shape *shape, int axis, const number *numbers)
{
    struct vbs_shape rows = *shape;
    constant *made;

    for (int d = axis; d < rows.n_dims; d++)
        rows.dim[d] = 1;
    VBS_TRY(vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &rows, numbers, &made));
    vbs_onnx_give_constant(im, index, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_layer_norm)
{
    double epsilon = vbs_onnx_real(im, "epsilon", 1e-5);
    const number *x, *gamma, *beta;
    number *y, *means, *inverses;
    struct vbs_shape row = {.n_dims = 0};
    int64_t n, n_rows = 1;
    constant *input;
    int axis;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &input, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", -1), input->shape.n_dims, &axis));
    if (input->copies <= axis)
        vbs_onnx_same_copies(im, 0);
    for (int d = axis; d < input->shape.n_dims; d++)
        row.dim[row.n_dims++] = input->shape.dim[d];
    VBS_TRY(row_input(im, 1, &row, &gamma));
    VBS_TRY(row_input(im, 2, &row, &beta));
    n = vbs_shape_elements(&row);
    for (int d = 0; d < axis; d++)
        n_rows *= input->shape.dim[d];
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    VBS_TRY(vbs_onnx_numbers_new(im, n_rows, &means));
    VBS_TRY(vbs_onnx_numbers_new(im, n_rows, &inverses));
    for (int64_t r = 0; r < n_rows; r++) {
        const struct normal_line line = {.x = x + r * n, .y = y + r * n, .n = n, .step = 1};
        struct row_moments m = moments_of(&line, epsilon);
        bool batch = any_batch(&line);

        means[r] = (number){(float)m.mean, .batch = batch};
        inverses[r] = (number){(float)m.inverse, .batch = batch};
        for (int64_t i = 0; i < n; i++) {
            long double value = (line.x[i].value - m.mean) * m.inverse;

            value = value * (gamma ? gamma[i].value : 1) + (beta ? beta[i].value : 0);
            line.y[i] =
                (number){vbs_onnx_rounded(input->type, value),
                         .batch = batch || (gamma && gamma[i].batch) || (beta && beta[i].batch)};
        }
    }
    VBS_TRY(give_by_row(im, 1, &input->shape, axis, means));
    VBS_TRY(give_by_row(im, 2, &input->shape, axis, inverses));
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}
