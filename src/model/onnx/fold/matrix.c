/* Constants that are computed from rows or channels of others: products, normalisations. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

#define FLOAT ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* Gives the numbers of input index, which must be as many as count. */
static enum vbs_status vector_in(struct vbs_onnx_import *im, int index, int64_t count,
                                 const number **numbers)
{
    constant *input;

    VBS_TRY(vbs_onnx_known_in(im, index, &input, numbers));
    if (vbs_shape_elements(&input->shape) != count)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has %lld values for %lld channels", index,
                        (long long)vbs_shape_elements(&input->shape), (long long)count);
    return VBS_OK;
}

/* A constant whose channels, its dimension 1, are normalised. */
struct channels {
    constant *input;
    int64_t n, behind, count; /* behind: elements of one channel of one sample; count: of all */
    const number *x;          /* null: they are floats, which are changed in place */
    float *floats;
    const number *mean, *variance, *gamma, *beta; /* by channel */
};

static long double value_of(const struct channels *c, int64_t i)
{
    return c->floats ? c->floats[i] : c->x[i].value;
}

static int64_t channel_of(const struct channels *c, int64_t i)
{
    return i / c->behind % c->n;
}

static enum vbs_status copy_floats(struct vbs_onnx_import *im, struct channels *c)
{
    constant *from = c->input;

    VBS_TRY(vbs_onnx_floats_new(im, from, &from->shape, &c->input, &c->floats));
    return vbs_onnx_floats_read(im, from, c->floats);
}

/* Weights stay floats, because they may be large. */
static enum vbs_status read_channels(struct vbs_onnx_import *im, struct channels *c)
{
    const number **const given[] = {&c->gamma, &c->beta, &c->mean, &c->variance};
    const struct vbs_shape *shape;

    *c = (struct channels){.behind = 1};
    VBS_TRY(vbs_onnx_constant_in(im, 0, &c->input));
    shape = &c->input->shape;
    if (shape->n_dims < 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no channels");
    c->n = shape->dim[1];
    c->count = vbs_shape_elements(shape);
    for (int d = 2; d < shape->n_dims; d++)
        c->behind *= shape->dim[d];
    for (int i = 0; i < 4; i++)
        VBS_TRY(vector_in(im, i + 1, c->n, given[i]));
    if (vbs_onnx_is_stored(c->input))
        return copy_floats(im, c);
    return vbs_onnx_numbers(im, c->input, &c->x);
}

/* Gives output index: old where the momentum is 1, new where it is 0. */
static enum vbs_status give_running(struct vbs_onnx_import *im, int index, const number *old,
                                    const number *new, int64_t n)
{
    long double momentum = vbs_onnx_real(im, "momentum", 0.9);
    struct vbs_shape shape = {.n_dims = 1, .dim = {n}};
    constant *made;
    number *mixed;

    if (!vbs_onnx_output_used(im, index))
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers_new(im, n, &mixed));
    for (int64_t i = 0; i < n; i++)
        mixed[i] = (number){(float)(momentum * old[i].value + (1 - momentum) * new[i].value),
                            .batch = old[i].batch || new[i].batch};
    VBS_TRY(vbs_onnx_constant_new(im, FLOAT, &shape, mixed, &made));
    vbs_onnx_give_constant(im, index, made);
    return VBS_OK;
}

/* Computes the mean and the variance of every channel, and uses them instead of those given. */
static enum vbs_status use_moments(struct vbs_onnx_import *im, struct channels *c)
{
    long double each = c->n > 0 ? (long double)(c->count / c->n) : 0;
    number *mean, *variance;

    if (!c->floats)
        VBS_TRY(vbs_onnx_numbers_read(im, 2 * c->count));
    VBS_TRY(vbs_onnx_numbers_new(im, c->n, &mean));
    VBS_TRY(vbs_onnx_numbers_new(im, c->n, &variance));
    for (int64_t i = 0; i < c->count; i++) {
        mean[channel_of(c, i)].value += value_of(c, i) / each;
        mean[channel_of(c, i)].batch |= c->x && c->x[i].batch;
    }
    for (int64_t i = 0; i < c->count; i++) {
        long double apart = value_of(c, i) - mean[channel_of(c, i)].value;

        variance[channel_of(c, i)].value += apart * apart / each;
    }
    VBS_TRY(give_running(im, 1, c->mean, mean, c->n));
    VBS_TRY(give_running(im, 2, c->variance, variance, c->n));
    c->mean = mean;
    c->variance = variance;
    return VBS_OK;
}

/* In training mode the mean and the variance are those of the values: so networks normalise their
 * weights. */
VBS_ONNX_HANDLER(fold_batch_norm)
{
    double epsilon = vbs_onnx_real(im, "epsilon", VBS_BATCHNORM_EPSILON);
    struct channels c;
    number *y = NULL;
    enum vbs_status status = read_channels(im, &c);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (vbs_onnx_int(im, "spatial", 1) == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "attribute 'spatial' is 0");
    if (c.input->copies <= 1 && !vbs_onnx_trains(im))
        vbs_onnx_same_copies(im, 0);
    if (vbs_onnx_trains(im))
        VBS_TRY(use_moments(im, &c));
    if (!c.floats)
        VBS_TRY(vbs_onnx_numbers_new(im, c.count, &y));
    for (int64_t i = 0; i < c.count; i++) {
        int64_t k = channel_of(&c, i);
        long double factor = c.gamma[k].value / sqrtl(c.variance[k].value + epsilon);
        long double value = (value_of(&c, i) - c.mean[k].value) * factor + c.beta[k].value;

        if (y)
            y[i] = (number){vbs_onnx_rounded(c.input->type, value),
                            .batch = c.x[i].batch || c.mean[k].batch};
        else
            c.floats[i] = (float)value;
    }
    if (y)
        return vbs_onnx_give_numbers(im, c.input->type, &c.input->shape, y);
    vbs_onnx_give_constant(im, 0, c.input);
    return VBS_OK;
}

/* ---- products ---- */

/* A product of stacks of matrices: rows x inner by inner x columns. */
struct matrix_product {
    int64_t stacks, rows, inner, columns;
    const number *a, *b;
};

/* Computes an element of a product: the sum of n products of a row and a column. */
static number row_by_column(int type, const number *row, const number *column, int64_t n,
                            int64_t step)
{
    bool whole = vbs_onnx_is_whole(type);
    number sum = {0};

    for (int64_t k = 0; k < n; k++) {
        const number *a = &row[k], *b = &column[k * step];

        if (whole)
            sum.value = vbs_onnx_combined(VBS_OP_ADD, type, sum.value,
                                          vbs_onnx_combined(VBS_OP_MUL, type, a->value, b->value));
        else
            sum.value += a->value * b->value;
        sum.batch |= a->batch || b->batch;
    }
    sum.value = vbs_onnx_rounded(type, sum.value);
    return sum;
}

static enum vbs_status multiply(struct vbs_onnx_import *im, int type,
                                const struct matrix_product *p, number *c)
{
    int64_t each, work;

    if (!vbs_mul(p->rows, p->columns, &each) || !vbs_mul(each, 2 * p->inner, &work) ||
        !vbs_mul(work, p->stacks, &work))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "too much is computed with constants");
    VBS_TRY(vbs_onnx_numbers_read(im, work));
    for (int64_t i = 0; i < p->stacks * each; i++)
        c[i] = row_by_column(type, p->a + i / p->columns * p->inner,
                             p->b + i / each * p->inner * p->columns + i % p->columns, p->inner,
                             p->columns);
    return VBS_OK;
}

/* Makes a vector a matrix of one row, or of one column. */
static enum vbs_status as_matrix(struct vbs_onnx_import *im, bool row, constant **x)
{
    int64_t n = (*x)->shape.dim[0];
    struct vbs_shape shape = {.n_dims = 2, .dim = {row ? 1 : n, row ? n : 1}};

    if ((*x)->shape.n_dims == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "a scalar is no matrix");
    return (*x)->shape.n_dims > 1 ? VBS_OK : vbs_onnx_constant_reshape(im, *x, &shape, x);
}

/* Gives the numbers of a stack of matrices, repeated to the dimensions of stacks before its last
 * two. */
static enum vbs_status repeated(struct vbs_onnx_import *im, constant *x,
                                const struct vbs_shape *stacks, const number **numbers)
{
    struct vbs_shape shape = *stacks;

    shape.dim[shape.n_dims++] = x->shape.dim[x->shape.n_dims - 2];
    shape.dim[shape.n_dims++] = x->shape.dim[x->shape.n_dims - 1];
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its operands have more than 2^36 elements");
    VBS_TRY(vbs_onnx_constant_expand(im, x, &shape, &x));
    return vbs_onnx_numbers(im, x, numbers);
}

static struct vbs_shape stacks_of(const constant *x)
{
    struct vbs_shape shape = x->shape;

    shape.n_dims -= 2;
    return shape;
}

/* Returns the copies of a product of two matrices or stacks of them, as struct vbs_onnx_constant
 * has them: they may count the rows of the first one, or a dimension of the stacks. */
static int product_copies(const constant *a, const constant *b)
{
    int rank = a->shape.n_dims > b->shape.n_dims ? a->shape.n_dims : b->shape.n_dims;
    int of_a = a->copies > 0 ? a->copies + rank - a->shape.n_dims : 0;
    int of_b = b->copies > 0 ? b->copies + rank - b->shape.n_dims : 0;

    if (of_a == rank || of_b >= rank - 1 || (of_a > 0 && of_b > 0 && of_a != of_b))
        return of_a == 0 && of_b == 0 ? 0 : VBS_ONNX_UNSAID;
    return of_a > 0 ? of_a : of_b;
}

VBS_ONNX_HANDLER(fold_matmul)
{
    bool row, column;
    struct vbs_shape shape, other;
    struct matrix_product p;
    constant *a, *b;
    number *c;
    enum vbs_status status = vbs_onnx_constant_in(im, 0, &a);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &b));
    row = a->shape.n_dims == 1;
    column = b->shape.n_dims == 1;
    if (!row && !column)
        im->copies = product_copies(a, b);
    VBS_TRY(as_matrix(im, true, &a));
    VBS_TRY(as_matrix(im, false, &b));
    shape = stacks_of(a);
    other = stacks_of(b);
    VBS_TRY(vbs_onnx_broadcast(im, &other, &shape));
    p = (struct matrix_product){.stacks = vbs_shape_elements(&shape),
                                .rows = a->shape.dim[a->shape.n_dims - 2],
                                .inner = a->shape.dim[a->shape.n_dims - 1],
                                .columns = b->shape.dim[b->shape.n_dims - 1]};
    if (b->shape.dim[b->shape.n_dims - 2] != p.inner)
        return vbs_fail(im->ctx, VBS_FORMAT, "rows of %lld elements meet columns of %lld",
                        (long long)p.inner, (long long)b->shape.dim[b->shape.n_dims - 2]);
    VBS_TRY(repeated(im, a, &shape, &p.a));
    VBS_TRY(repeated(im, b, &shape, &p.b));
    if (!row)
        shape.dim[shape.n_dims++] = p.rows;
    if (!column)
        shape.dim[shape.n_dims++] = p.columns;
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &c));
    VBS_TRY(multiply(im, a->type, &p, c));
    return vbs_onnx_give_numbers(im, a->type, &shape, c);
}

/* Adds beta times the third input of a Gemm, if it has one. */
static enum vbs_status add_third(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                 double alpha, double beta, number *sum)
{
    const number *c = NULL;
    constant *input;

    if (vbs_onnx_in(im, 2)) {
        VBS_TRY(vbs_onnx_constant_in(im, 2, &input));
        VBS_TRY(vbs_onnx_constant_expand(im, input, shape, &input));
        VBS_TRY(vbs_onnx_numbers(im, input, &c));
    }
    for (int64_t i = 0; i < vbs_shape_elements(shape); i++) {
        sum[i].value = alpha * sum[i].value + (c ? beta * c[i].value : 0);
        sum[i].batch |= c && c[i].batch;
    }
    return VBS_OK;
}

/* Gives a matrix, transposed where the attribute says so. */
static enum vbs_status matrix_in(struct vbs_onnx_import *im, int index, const char *transposed,
                                 constant **matrix)
{
    static const int SWAP[] = {1, 0};

    VBS_TRY(vbs_onnx_constant_in(im, index, matrix));
    if ((*matrix)->shape.n_dims != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is no matrix", index);
    return vbs_onnx_int(im, transposed, 0) ? vbs_onnx_constant_transpose(im, *matrix, SWAP, matrix)
                                           : VBS_OK;
}

VBS_ONNX_HANDLER(fold_gemm)
{
    double alpha = vbs_onnx_real(im, "alpha", 1), beta = vbs_onnx_real(im, "beta", 1);
    struct vbs_shape shape;
    struct matrix_product p;
    constant *a, *b;
    number *c;
    enum vbs_status status = matrix_in(im, 0, "transA", &a);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(matrix_in(im, 1, "transB", &b));
    if (a->copies <= 1 && b->copies == 0 && !vbs_onnx_int(im, "transA", 0))
        vbs_onnx_broadcast_copies(im, 2);
    p = (struct matrix_product){
        .stacks = 1, .rows = a->shape.dim[0], .inner = a->shape.dim[1], .columns = b->shape.dim[1]};
    if (b->shape.dim[0] != p.inner)
        return vbs_fail(im->ctx, VBS_FORMAT, "rows of %lld elements meet columns of %lld",
                        (long long)p.inner, (long long)b->shape.dim[0]);
    VBS_TRY(vbs_onnx_numbers(im, a, &p.a));
    VBS_TRY(vbs_onnx_numbers(im, b, &p.b));
    shape = (struct vbs_shape){.n_dims = 2, .dim = {p.rows, p.columns}};
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &c));
    VBS_TRY(multiply(im, ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE, &p, c));
    VBS_TRY(add_third(im, &shape, alpha, beta, c));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        c[i].value = vbs_onnx_rounded(a->type, c[i].value);
    return vbs_onnx_give_numbers(im, a->type, &shape, c);
}
