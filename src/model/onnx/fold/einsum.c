/* Constants that are computed by Einsum: sums of products of their elements, as an equation such as
 * "bij,bjk->bik" says. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* An input, and where its elements are: stride by place in struct equation's labels. */
struct einsum_factor {
    const number *x;
    int64_t stride[VBS_ONNX_LABELS], at;
};

/* Sets the strides of a factor. A dimension of 1 is repeated; one label may be two dimensions,
 * along whose diagonal the elements are then. */
static void set_strides(const struct vbs_onnx_equation *e, const struct vbs_onnx_term *term,
                        const struct vbs_shape *shape, struct einsum_factor *f)
{
    int64_t stride[VBS_MAX_DIMS];

    vbs_onnx_plain_strides(shape, stride);
    for (int i = 0; i < e->n_labels; i++)
        for (int d = 0; d < term->n; d++)
            if (term->label[d] == e->labels[i] && shape->dim[d] != 1)
                f->stride[i] += stride[d];
}

/* Advances to the next position of the labels first..end-1; false after the last one. */
static bool advance_labels(const struct vbs_onnx_equation *e, int first, int end, int64_t *position,
                           struct einsum_factor *factors, int n)
{
    for (int i = end - 1; i >= first; i--) {
        bool more = ++position[i] < e->size[e->labels[i]];
        int64_t by = more ? 1 : 1 - position[i];

        for (int k = 0; k < n; k++)
            factors[k].at += by * factors[k].stride[i];
        if (more)
            return true;
        position[i] = 0;
    }
    return false;
}

/* Counts the products, which are work. */
static enum vbs_status count_work(struct vbs_onnx_import *im, const struct vbs_onnx_equation *e,
                                  int n)
{
    int64_t work = 2 * (int64_t)n; /* the position of each factor advances, too */

    for (int i = 0; i < e->n_labels; i++)
        if (!vbs_mul(work, e->size[e->labels[i]], &work))
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "too much is computed with constants");
    return vbs_onnx_numbers_read(im, work);
}

/* Computes one element: the sum over the labels behind the n_out first ones. */
static number sum_products(const struct vbs_onnx_equation *e, int n_out, int type,
                           int64_t *position, struct einsum_factor *factors, int n)
{
    bool whole = vbs_onnx_is_whole(type);
    number sum = {0};

    do {
        long double product = 1;

        for (int k = 0; k < n; k++) {
            const number *x = &factors[k].x[factors[k].at];

            product =
                whole ? vbs_onnx_combined(VBS_OP_MUL, type, product, x->value) : product * x->value;
            sum.batch |= x->batch;
        }
        sum.value =
            whole ? vbs_onnx_combined(VBS_OP_ADD, type, sum.value, product) : sum.value + product;
    } while (advance_labels(e, n_out, e->n_labels, position, factors, n));
    sum.value = vbs_onnx_rounded(type, sum.value);
    return sum;
}

/* Reads the inputs and the equation. */
static enum vbs_status read_equation(struct vbs_onnx_import *im, struct vbs_onnx_equation *e,
                                     struct einsum_factor *factors, struct vbs_onnx_term *result)
{
    int n = im->node->n_inputs;
    struct vbs_onnx_term *terms = vbs_arena_alloc(im->arena, (size_t)n, sizeof *terms);
    constant *input;
    bool read = true;

    if (!terms)
        return vbs_no_memory(im->ctx);
    for (int k = 0; k < n; k++) {
        VBS_TRY(vbs_onnx_numbers_in(im, k, &input, &factors[k].x));
        read = read && vbs_onnx_read_factor(e, k, input->shape.dim, input->shape.n_dims, &terms[k]);
    }
    if (!read || !vbs_onnx_read_result(e, result))
        return vbs_fail(im->ctx, VBS_FORMAT, "its equation does not suit its inputs");
    for (int k = 0; k < n; k++) {
        VBS_TRY(vbs_onnx_constant_in(im, k, &input));
        set_strides(e, &terms[k], &input->shape, &factors[k]);
    }
    return count_work(im, e, n);
}

VBS_ONNX_HANDLER(fold_einsum)
{
    int n = im->node->n_inputs;
    struct einsum_factor *factors = vbs_arena_alloc(im->arena, (size_t)n, sizeof *factors);
    struct vbs_onnx_equation e = {.next = vbs_onnx_text(im, "equation")};
    int64_t position[VBS_ONNX_LABELS] = {0};
    struct vbs_shape shape;
    struct vbs_onnx_term result;
    constant *first;
    number *y;
    bool empty = false;

    (void)operator;
    if (!factors || !e.next)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_constant_in(im, 0, &first));
    VBS_TRY(read_equation(im, &e, factors, &result));
    if (result.n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    shape = (struct vbs_shape){.n_dims = result.n};
    for (int d = 0; d < result.n; d++)
        shape.dim[d] = e.size[result.label[d]];
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int i = 0; i < e.n_labels; i++)
        empty |= e.size[e.labels[i]] == 0;
    for (int64_t i = 0; !empty && i < vbs_shape_elements(&shape); i++) {
        y[i] = sum_products(&e, result.n, first->type, position, factors, n);
        advance_labels(&e, 0, result.n, position, factors, n);
    }
    return vbs_onnx_give_numbers(im, first->type, &shape, y);
}
