/* Gemm, MatMul and Softmax. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <string.h>

/* ---- constant matrices ---- */

/* Multiplies each row of x's last dimension by a matrix of weights: [K, N], or [N, K] where it is
 * transposed. */
static enum vbs_status fully_connect(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                     struct vbs_onnx_constant *matrix, bool transposed,
                                     double factor, struct vbs_onnx_state *result)
{
    static const int SWAP[] = {1, 0};
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_FC, 1);
    struct vbs_shape view = vbs_onnx_shape(x);
    int64_t k = view.dim[view.n_dims - 1];
    bool rows = vbs_shape_elements(&view) != k;
    enum vbs_status status = VBS_OK;

    if (!draft)
        return vbs_no_memory(im->ctx);
    if (matrix->shape.dim[transposed] != k)
        return vbs_fail(im->ctx, VBS_FORMAT, "rows of %lld elements meet a matrix of %lld",
                        (long long)k, (long long)matrix->shape.dim[transposed]);
    if (!transposed)
        status = vbs_onnx_constant_transpose(im, matrix, SWAP, &matrix);
    if (status == VBS_OK)
        status = vbs_onnx_weights(im, matrix, factor, &draft->node.values[VBS_PARAMETER_WEIGHTS]);
    vbs_onnx_reads(draft, 0, x->tensor, rows ? &view : NULL);
    draft->node.attributes.weighted.rows = rows;
    draft->node.attributes.weighted.out_channels = matrix->shape.dim[0];
    if (status == VBS_OK)
        status = vbs_onnx_tensor_new(im, draft, &result->tensor);
    result->constant = NULL;
    result->shape = view;
    result->shape.dim[view.n_dims - 1] = matrix->shape.dim[0];
    return status;
}

/* ---- any matrices ---- */

/* Computes the output's shape of a times b, both of which have two dimensions or more. */
static enum vbs_status matrix_shape(struct vbs_onnx_import *im, const struct vbs_shape *a,
                                    const struct vbs_shape *b, struct vbs_shape *shape)
{
    struct vbs_shape first = *a, second = *b;
    enum vbs_status status;

    if (a->dim[a->n_dims - 1] != b->dim[b->n_dims - 2])
        return vbs_fail(im->ctx, VBS_FORMAT, "matrices of inner sizes %lld and %lld",
                        (long long)a->dim[a->n_dims - 1], (long long)b->dim[b->n_dims - 2]);
    first.dim[first.n_dims - 2] = first.dim[first.n_dims - 1] = 1;
    second.dim[second.n_dims - 2] = second.dim[second.n_dims - 1] = 1;
    status = vbs_onnx_broadcast(im, &second, &first);
    first.dim[first.n_dims - 2] = a->dim[a->n_dims - 2];
    first.dim[first.n_dims - 1] = b->dim[b->n_dims - 1];
    *shape = first;
    return status;
}

/* Multiplies a by b. One of them may be a constant, aligned. Both have two dimensions or more. */
static enum vbs_status multiply(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                                const struct vbs_onnx_state *b, struct vbs_onnx_state *result)
{
    bool swapped = !a->tensor;
    const struct vbs_onnx_state *x = swapped ? b : a;
    struct vbs_onnx_constant *constant = swapped ? a->constant : b->constant;
    const struct vbs_shape *a_shape = a->tensor ? &a->shape : &a->constant->shape;
    const struct vbs_shape *b_shape = b->tensor ? &b->shape : &b->constant->shape;
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_MATMUL, constant ? 1 : 2);
    enum vbs_status status = matrix_shape(im, a_shape, b_shape, &result->shape);

    if (!draft)
        return vbs_no_memory(im->ctx);
    if (status != VBS_OK)
        return status;
    vbs_onnx_reads(draft, 0, x->tensor, &x->shape);
    if (constant) {
        draft->node.operand = constant->shape;
        draft->node.attributes.binary.swapped = swapped;
        status = vbs_onnx_parameter(im, constant, 0, &draft->node.values[VBS_PARAMETER_OPERAND]);
    } else {
        vbs_onnx_reads(draft, 1, b->tensor, &b->shape);
    }
    result->constant = NULL;
    return status == VBS_OK ? vbs_onnx_tensor_new(im, draft, &result->tensor) : status;
}

/* Makes state a matrix: a vector gets a dimension of 1 in front, or, where behind is set, at its
 * end. */
static enum vbs_status as_matrix(struct vbs_onnx_import *im, struct vbs_onnx_state *state,
                                 bool behind, bool *vector)
{
    struct vbs_shape *shape = state->tensor ? &state->shape : &state->constant->shape;
    struct vbs_shape wide = {2, {behind ? shape->dim[0] : 1, behind ? 1 : shape->dim[0]}};

    *vector = shape->n_dims == 1;
    if (shape->n_dims == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "a scalar is no matrix");
    if (!*vector)
        return VBS_OK;
    if (state->constant)
        return vbs_onnx_constant_reshape(im, state->constant, &wide, &state->constant);
    *shape = wide;
    return VBS_OK;
}

/* True for a constant matrix with only dimensions of 1 before its last two: it works on every
 * row. */
static bool is_plain_matrix(const struct vbs_onnx_constant *constant)
{
    for (int d = 0; d + 2 < constant->shape.n_dims; d++)
        if (constant->shape.dim[d] != 1)
            return false;
    return constant->shape.n_dims >= 2;
}

static enum vbs_status times_matrix(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                                    struct vbs_onnx_constant *b, struct vbs_onnx_state *result)
{
    struct vbs_shape two = {2,
                            {b->shape.dim[b->shape.n_dims - 2], b->shape.dim[b->shape.n_dims - 1]}};

    VBS_TRY(vbs_onnx_constant_reshape(im, b, &two, &b));
    return fully_connect(im, a, b, false, 0, result);
}

/* Removes from the output's shape the dimensions that vectors were given. */
static void drop_dims(bool a_vector, bool b_vector, struct vbs_shape *shape)
{
    int n = shape->n_dims;

    if (a_vector)
        shape->dim[n - 2] = shape->dim[n - 1];
    shape->n_dims -= a_vector + b_vector;
}

/* Gives whether a product sums over samples, or takes them for rows or columns of matrices that it
 * cannot take apart; simple: every row of a is multiplied by one constant matrix. */
static bool has_samples_inside(const struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                               const struct vbs_onnx_state *b, bool simple)
{
    /* dimensions behind the samples */
    int behind = (a->tensor ? a : b)->shape.n_dims - im->at - (im->outer > 0);

    if (a->tensor && (simple || (b->constant && im->at == 0)))
        return behind < 1;
    return behind < 2;
}

VBS_ONNX_HANDLER(matmul)
{
    const struct vbs_onnx_state *first = vbs_onnx_in(im, 0), *second = vbs_onnx_in(im, 1);
    struct vbs_onnx_state a, b, result = {.tensor = NULL};
    bool a_vector = false, b_vector = false, simple;

    (void)operator;
    if (!first || !second)
        return vbs_fail(im->ctx, VBS_FORMAT, "has not two inputs");
    a = *first;
    b = *second;
    simple = a.tensor && b.constant && !vbs_onnx_makes(im, VBS_OP_MATMUL) &&
             (b.constant->shape.n_dims == 1 ||
              (is_plain_matrix(b.constant) && b.constant->shape.n_dims <= vbs_onnx_rank(im, &a)));
    if (b.constant && (!simple || b.constant->shape.n_dims > 2))
        VBS_TRY(vbs_onnx_align(im, b.constant, vbs_onnx_rank(im, &a), &b.constant));
    if (a.constant)
        VBS_TRY(vbs_onnx_align(im, a.constant, vbs_onnx_rank(im, &b), &a.constant));
    if (im->batch && a.tensor && b.tensor && a.shape.n_dims != b.shape.n_dims)
        return vbs_onnx_mixes(im);
    if (im->batch && has_samples_inside(im, &a, &b, simple))
        return vbs_onnx_mixes(im);
    VBS_TRY(as_matrix(im, &b, true, &b_vector));
    if (simple) {
        VBS_TRY(times_matrix(im, &a, b.constant, &result));
        a_vector = false;
    } else {
        VBS_TRY(as_matrix(im, &a, false, &a_vector));
        VBS_TRY(multiply(im, &a, &b, &result));
    }
    drop_dims(a_vector, b_vector, &result.shape);
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- Gemm ---- */

/* Computes A B times alpha, where A and B are already transposed as needed. */
static enum vbs_status gemm_product(struct vbs_onnx_import *im, const struct vbs_onnx_state *a,
                                    const struct vbs_onnx_state *b, bool b_transposed, double alpha,
                                    struct vbs_onnx_state *result)
{
    struct vbs_onnx_state product, turned = *b;
    int perm[VBS_MAX_DIMS] = {1, 0};

    if (a->tensor && b->constant)
        return fully_connect(im, a, b->constant, b_transposed, alpha == 1 ? 0 : alpha, result);
    if (im->batch)
        return vbs_onnx_mixes(im);
    if (b_transposed && b->tensor)
        VBS_TRY(vbs_onnx_permute(im, b, perm, &turned));
    else if (b_transposed)
        VBS_TRY(vbs_onnx_constant_transpose(im, b->constant, perm, &turned.constant));
    VBS_TRY(multiply(im, a, &turned, &product));
    return vbs_onnx_linear(im, &product, alpha, 0, result);
}

/* Adds beta times C to product. */
static enum vbs_status gemm_add(struct vbs_onnx_import *im, const struct vbs_onnx_state *product,
                                double beta, struct vbs_onnx_state *result)
{
    const struct vbs_onnx_state *c = vbs_onnx_in(im, 2);
    struct vbs_onnx_draft *draft = vbs_onnx_pending(product->tensor, VBS_OP_FC);
    struct vbs_onnx_state scaled;
    enum vbs_status status;

    *result = *product;
    if (!c || beta == 0)
        return VBS_OK;
    if (draft && c->constant) { /* where C is one row, or one number, it is the bias of every row */
        struct vbs_shape row = {1, {draft->node.attributes.weighted.out_channels}};
        struct vbs_onnx_constant *bias = c->constant;
        int64_t n = vbs_shape_elements(&bias->shape);
        int last;

        if (bias->copies > 0)
            VBS_TRY(vbs_onnx_align(im, bias, 2, &bias));
        last = bias->shape.n_dims - 1;
        if (n == 1 || (last >= 0 && bias->shape.dim[last] == n && n == row.dim[0])) {
            struct vbs_shape list = {1, {n}};

            status = vbs_onnx_constant_reshape(im, bias, &list, &bias);
            if (status == VBS_OK)
                status = vbs_onnx_constant_expand(im, bias, &row, &bias);
            draft->node.attributes.weighted.bias = true;
            if (status == VBS_OK)
                status = vbs_onnx_added(im, bias, beta == 1 ? 0 : beta,
                                        &draft->node.values[VBS_PARAMETER_BIAS]);
            return status;
        }
    }
    if (c->tensor) {
        VBS_TRY(vbs_onnx_linear(im, c, beta, 0, &scaled));
        return vbs_onnx_combine(im, VBS_OP_ADD, product, &scaled, result);
    }
    if (beta != 1)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "attribute 'beta' is %g for a matrix C", beta);
    return vbs_onnx_combine(im, VBS_OP_ADD, product, c, result);
}

VBS_ONNX_HANDLER(gemm)
{
    const struct vbs_onnx_state *a = vbs_onnx_in(im, 0), *b = vbs_onnx_in(im, 1);
    bool a_transposed = vbs_onnx_int(im, "transA", 0), b_transposed = vbs_onnx_int(im, "transB", 0);
    double alpha = vbs_onnx_real(im, "alpha", 1), beta = vbs_onnx_real(im, "beta", 1);
    const int perm[] = {1, 0};
    struct vbs_onnx_state left, product, result;

    (void)operator;
    if (!a || !b)
        return vbs_fail(im->ctx, VBS_FORMAT, "has not two inputs");
    if ((a->tensor ? vbs_onnx_rank(im, a) : a->constant->shape.n_dims) != 2 ||
        (b->tensor ? vbs_onnx_rank(im, b) : b->constant->shape.n_dims) != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "its inputs are no matrices");
    left = *a;
    if (im->batch && (im->at > 0 || (a_transposed && a->tensor)))
        return vbs_onnx_mixes(im);
    if (a_transposed && a->tensor)
        VBS_TRY(vbs_onnx_permute(im, a, perm, &left));
    else if (a_transposed)
        VBS_TRY(vbs_onnx_constant_transpose(im, a->constant, perm, &left.constant));
    VBS_TRY(gemm_product(im, &left, b, b_transposed, alpha, &product));
    VBS_TRY(gemm_add(im, &product, beta, &result));
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* ---- Softmax ---- */

/* Gives the dimension of shape that holds all of its n elements, or -1 where there is none. */
static int only_dim(const struct vbs_shape *shape, int64_t n)
{
    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] == n && vbs_shape_elements(shape) == n)
            return d;
    return -1;
}

/* Applies Softmax along one dimension. A vector is read in the shape of its tensor, which may be
 * that of the channels of one pixel. */
static enum vbs_status along(struct vbs_onnx_import *im, enum vbs_op op,
                             const struct vbs_onnx_state *x, int axis)
{
    int only = only_dim(&x->tensor->shape, x->shape.dim[axis]), shift;
    struct vbs_shape view = vbs_onnx_view(x, axis, &shift);
    union vbs_attributes attributes = {.softmax = {only < 0 ? axis + shift : only}};
    struct vbs_onnx_tensor *tensor;

    VBS_TRY(vbs_onnx_apply(im, op, &attributes, x->tensor, only < 0 ? &view : NULL, &tensor));
    return vbs_onnx_give(im, 0, tensor, &x->shape);
}

/* Applies Softmax over all dimensions from axis on, as it was defined before version 13. */
static enum vbs_status from_axis(struct vbs_onnx_import *im, enum vbs_op op,
                                 const struct vbs_onnx_state *x, int axis)
{
    union vbs_attributes attributes = {.softmax = {.axis = 1}};
    struct vbs_shape view = {2, {1, 1}};
    struct vbs_onnx_tensor *tensor;
    int wide = 0, last = axis;

    if (im->batch && im->at > axis)
        return vbs_onnx_mixes(im);
    for (int d = 0; d < x->shape.n_dims; d++) {
        view.dim[d >= axis] *= x->shape.dim[d];
        if (d >= axis && x->shape.dim[d] != 1) {
            wide++;
            last = d;
        }
    }
    if (wide <= 1)
        return along(im, op, x, last);
    VBS_TRY(vbs_onnx_apply(im, op, &attributes, x->tensor, &view, &tensor));
    return vbs_onnx_give(im, 0, tensor, &x->shape);
}

VBS_ONNX_HANDLER(softmax)
{
    const struct vbs_onnx_state *x;
    bool old = im->graph->opset < 13;
    int axis;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &x));
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", old ? 1 : -1), vbs_onnx_rank(im, x), &axis));
    return old ? from_axis(im, (enum vbs_op) operator->op, x, axis)
               : along(im, (enum vbs_op) operator->op, x, axis);
}
