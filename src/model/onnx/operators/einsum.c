/*
 * Einsum of tensors, as products of matrices. Of two factors, the labels that both have and the
 * result has count matrices; those that both have and nothing needs any more are summed over; the
 * others are rows and columns. Several factors are multiplied one after the other.
 *
 * Dimensions of 1 are left out of factors: they are repeated, or nothing.
 */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#define MOST_DIAGONAL 1024 /* elements: a mask has the square of them */

/* A factor: a value, and the labels of the dimensions of its shape, which are above 1. */
struct einsum_operand {
    struct vbs_onnx_state state;
    struct vbs_onnx_term term;
};

struct einsum {
    struct vbs_onnx_import *im;
    struct vbs_onnx_equation equation;
    struct einsum_operand *factors; /* [n]; those before first are in the next one */
    int first, n;
    struct vbs_onnx_term result;
    int samples; /* the label of the samples; -1: none */
};

static bool has_label(const struct vbs_onnx_term *term, int label)
{
    for (int d = 0; d < term->n; d++)
        if (term->label[d] == label)
            return true;
    return false;
}

/* Gives whether the result, or a factor from number k on, has the label. */
static bool is_needed(const struct einsum *e, int k, int label)
{
    for (; k < e->n; k++)
        if (has_label(&e->factors[k].term, label))
            return true;
    return has_label(&e->result, label);
}

static const struct vbs_shape *shape_of(const struct vbs_onnx_state *state)
{
    return state->tensor ? &state->shape : &state->constant->shape;
}

/* Gives a value another shape of as many elements. */
static enum vbs_status reshape(struct einsum *e, struct vbs_onnx_state *state,
                               const struct vbs_shape *shape)
{
    if (state->constant)
        return vbs_onnx_constant_reshape(e->im, state->constant, shape, &state->constant);
    state->shape = *shape;
    return VBS_OK;
}

/* ---- the equation ---- */

/* Reads the term of an input, whose dimensions are those of the file. */
static enum vbs_status read_input(struct einsum *e, int k)
{
    struct einsum_operand *f = &e->factors[k];
    const struct vbs_onnx_state *state = vbs_onnx_in(e->im, k);
    int64_t dims[VBS_MAX_DIMS + 1];
    const struct vbs_shape *shape;
    int n = 0;
    bool apart;

    if (!state)
        return vbs_fail(e->im->ctx, VBS_FORMAT, "input %d is missing", k);
    f->state = *state;
    shape = shape_of(state);
    apart = e->im->batch && state->tensor;
    for (int d = 0; d < shape->n_dims + apart; d++)
        dims[n++] = apart && d == state->at ? 1 : shape->dim[d - (apart && d > state->at)];
    if (!vbs_onnx_read_factor(&e->equation, k, dims, n, &f->term))
        return vbs_fail(e->im->ctx, VBS_FORMAT, "its equation does not suit its inputs");
    if (!apart)
        return VBS_OK;
    if (e->samples >= 0 && e->samples != f->term.label[state->at])
        return vbs_onnx_mixes(e->im);
    e->samples = f->term.label[state->at];
    return VBS_OK;
}

/* Makes a mask of ones where the positions of two dimensions are the same, for a tensor of n
 * dimensions. */
static enum vbs_status same_places(struct einsum *e, int first, int second, int n, int64_t size,
                                   struct vbs_onnx_state *mask)
{
    struct vbs_shape shape = {.n_dims = n - first};
    struct vbs_onnx_number *numbers;

    for (int d = first; d < n; d++)
        shape.dim[d - first] = d == first || d == second ? size : 1;
    *mask = (struct vbs_onnx_state){.tensor = NULL};
    VBS_TRY(vbs_onnx_numbers_new(e->im, size * size, &numbers));
    for (int64_t i = 0; i < size * size; i++)
        numbers[i].value = i / size == i % size;
    return vbs_onnx_constant_new(e->im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &shape, numbers,
                                 &mask->constant);
}

/* Takes the diagonal along two dimensions of a tensor, of which the second is removed. */
static enum vbs_status take_diagonal(struct einsum *e, struct einsum_operand *f, int first,
                                     int second)
{
    struct vbs_shape shape = f->state.shape;
    struct vbs_onnx_state mask, kept, diagonal;

    if (shape.dim[first] > MOST_DIAGONAL)
        return vbs_fail(e->im->ctx, VBS_UNSUPPORTED, "takes a diagonal of more than %d elements",
                        MOST_DIAGONAL);
    VBS_TRY(same_places(e, first, second, shape.n_dims, shape.dim[first], &mask));
    VBS_TRY(vbs_onnx_combine(e->im, VBS_OP_KEEP, &f->state, &mask, &kept));
    VBS_TRY(vbs_onnx_reduce_state(e->im, VBS_OP_REDUCE_SUM, &kept, 1u << second, &diagonal));
    f->term.n--;
    shape.n_dims--;
    for (int d = second; d < shape.n_dims; d++) {
        f->term.label[d] = f->term.label[d + 1];
        shape.dim[d] = shape.dim[d + 1];
    }
    f->state = diagonal;
    f->state.at = 0;
    return reshape(e, &f->state, &shape);
}

/* Takes the diagonals of a factor that has a label twice. */
static enum vbs_status take_diagonals(struct einsum *e, struct einsum_operand *f)
{
    for (int first = 0; first < f->term.n; first++)
        for (int d = f->term.n - 1; d > first; d--)
            if (f->term.label[d] != f->term.label[first])
                continue;
            else if (f->state.constant)
                return vbs_fail(e->im->ctx, VBS_UNSUPPORTED, "takes the diagonal of a constant");
            else
                VBS_TRY(take_diagonal(e, f, first, d));
    return VBS_OK;
}

/* Leaves the dimensions of 1 and that of the samples out of a factor. */
static enum vbs_status trim(struct einsum *e, struct einsum_operand *f)
{
    const struct vbs_shape *shape = shape_of(&f->state);
    bool apart = e->im->batch && f->state.tensor;
    struct vbs_shape left = {.n_dims = 0};
    struct vbs_onnx_term term = {.n = 0};

    for (int d = 0; d < f->term.n; d++) {
        int64_t dim = apart && d == f->state.at ? 1 : shape->dim[d - (apart && d > f->state.at)];

        if (dim == 1)
            continue;
        if (f->term.label[d] == e->samples)
            return vbs_onnx_mixes(e->im);
        term.label[term.n++] = f->term.label[d];
        left.dim[left.n_dims++] = dim;
    }
    f->term = term;
    f->state.at = 0;
    return reshape(e, &f->state, &left);
}

static enum vbs_status read_equation(struct einsum *e)
{
    for (int k = 0; k < e->n; k++)
        VBS_TRY(read_input(e, k));
    if (!vbs_onnx_read_result(&e->equation, &e->result))
        return vbs_fail(e->im->ctx, VBS_FORMAT, "its equation does not suit its inputs");
    if (e->samples >= 0 && !has_label(&e->result, e->samples))
        return vbs_onnx_mixes(e->im);
    for (int k = 0; k < e->n; k++)
        VBS_TRY(trim(e, &e->factors[k]));
    return VBS_OK;
}

/* ---- products ---- */

/* Orders the dimensions of a factor as the labels of order. */
static enum vbs_status arrange(struct einsum *e, struct einsum_operand *f,
                               const struct vbs_onnx_term *order)
{
    struct vbs_onnx_state turned = {.tensor = NULL};
    int perm[VBS_MAX_DIMS];

    for (int d = 0; d < order->n; d++)
        for (int from = 0; from < f->term.n; from++)
            if (f->term.label[from] == order->label[d])
                perm[d] = from;
    f->term = *order;
    if (f->state.constant)
        return vbs_onnx_constant_transpose(e->im, f->state.constant, perm, &f->state.constant);
    VBS_TRY(vbs_onnx_permute(e->im, &f->state, perm, &turned));
    f->state = turned;
    return VBS_OK;
}

/* Sums a factor over the labels that no other one and not the result has. */
static enum vbs_status sum_alone(struct einsum *e, struct einsum_operand *f,
                                 const struct einsum_operand *other)
{
    struct vbs_onnx_term left = {.n = 0};
    struct vbs_shape shape = {.n_dims = 0};
    struct vbs_onnx_state sum;
    unsigned axes = 0;

    for (int d = 0; d < f->term.n; d++)
        if (is_needed(e, e->first + 2, f->term.label[d]) ||
            (other && has_label(&other->term, f->term.label[d]))) {
            left.label[left.n++] = f->term.label[d];
            shape.dim[shape.n_dims++] = shape_of(&f->state)->dim[d];
        } else {
            axes |= 1u << d;
        }
    if (axes == 0)
        return VBS_OK;
    if (f->state.constant)
        return vbs_fail(e->im->ctx, VBS_UNSUPPORTED, "sums over dimensions of a constant alone");
    VBS_TRY(vbs_onnx_reduce_state(e->im, VBS_OP_REDUCE_SUM, &f->state, axes, &sum));
    sum.at = 0;
    f->state = sum;
    f->term = left;
    return reshape(e, &f->state, &shape);
}

/* The labels of two factors, by what they are in their product. */
struct roles {
    struct vbs_onnx_term many, rows, inner, columns;
};

static void add_label(struct vbs_onnx_term *term, int label)
{
    term->label[term->n++] = label;
}

static void find_roles(const struct einsum *e, const struct einsum_operand *a,
                       const struct einsum_operand *b, struct roles *roles)
{
    *roles = (struct roles){.many = {.n = 0}};
    for (int d = 0; d < a->term.n; d++) {
        int label = a->term.label[d];

        if (!has_label(&b->term, label))
            add_label(&roles->rows, label);
        else
            add_label(is_needed(e, e->first + 2, label) ? &roles->many : &roles->inner, label);
    }
    for (int d = 0; d < b->term.n; d++)
        if (!has_label(&a->term, b->term.label[d]))
            add_label(&roles->columns, b->term.label[d]);
}

static int64_t product_of(const struct einsum *e, const struct vbs_onnx_term *term)
{
    int64_t product = 1;

    for (int d = 0; d < term->n; d++)
        product *= e->equation.size[term->label[d]];
    return product;
}

static void append(struct vbs_onnx_term *to, const struct vbs_onnx_term *more)
{
    for (int d = 0; d < more->n; d++)
        add_label(to, more->label[d]);
}

/* Makes a factor matrices: [many.., product of rows, product of columns]. */
static enum vbs_status as_matrices(struct einsum *e, struct einsum_operand *f,
                                   const struct vbs_onnx_term *many,
                                   const struct vbs_onnx_term *rows,
                                   const struct vbs_onnx_term *columns)
{
    struct vbs_onnx_term order = *many;
    struct vbs_shape shape = {.n_dims = many->n + 2};

    append(&order, rows);
    append(&order, columns);
    if (shape.n_dims > VBS_MAX_DIMS - 1)
        return vbs_fail(e->im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    VBS_TRY(arrange(e, f, &order));
    for (int d = 0; d < many->n; d++)
        shape.dim[d] = e->equation.size[many->label[d]];
    shape.dim[many->n] = product_of(e, rows);
    shape.dim[many->n + 1] = product_of(e, columns);
    return reshape(e, &f->state, &shape);
}

/* Multiplies the first two factors; the product takes the place of the second. */
static enum vbs_status multiply(struct einsum *e)
{
    struct einsum_operand *a = &e->factors[e->first], *b = &e->factors[e->first + 1];
    struct vbs_onnx_state inputs[2], result;
    struct vbs_shape shape = {.n_dims = 0};
    struct roles roles;

    if (a->state.constant && b->state.tensor) { /* a constant matrix behind a tensor is cheap */
        struct einsum_operand swapped = *a;

        *a = *b;
        *b = swapped;
    }
    VBS_TRY(sum_alone(e, a, b));
    VBS_TRY(sum_alone(e, b, a));
    find_roles(e, a, b, &roles);
    VBS_TRY(as_matrices(e, a, &roles.many, &roles.rows, &roles.inner));
    VBS_TRY(as_matrices(e, b, &roles.many, &roles.inner, &roles.columns));
    inputs[0] = a->state;
    inputs[1] = b->state;
    VBS_TRY(vbs_onnx_run_as(e->im, roles.inner.n > 0 ? "MatMul" : "Mul", inputs, 2, &result));
    b->term = roles.many;
    append(&b->term, &roles.rows);
    append(&b->term, &roles.columns);
    for (int d = 0; d < b->term.n; d++)
        shape.dim[shape.n_dims++] = e->equation.size[b->term.label[d]];
    b->state = result;
    e->first++;
    return reshape(e, &b->state, &shape);
}

/* ---- the whole ---- */

/* Orders the product as the result, and gives it with its dimensions of 1. */
static enum vbs_status give_result(struct einsum *e)
{
    struct einsum_operand *last = &e->factors[e->n - 1];
    struct vbs_onnx_term order = {.n = 0};
    struct vbs_shape shape = {.n_dims = 0};

    for (int d = 0; d < e->result.n; d++) {
        int label = e->result.label[d];

        if (label == e->samples) {
            e->im->at_out = d;
            continue;
        }
        if (shape.n_dims == VBS_MAX_DIMS)
            return vbs_fail(e->im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
        shape.dim[shape.n_dims++] = e->equation.size[label];
        if (e->equation.size[label] != 1)
            add_label(&order, label);
    }
    VBS_TRY(arrange(e, last, &order));
    return vbs_onnx_give(e->im, 0, last->state.tensor, &shape);
}

VBS_ONNX_HANDLER(einsum)
{
    struct einsum e = {.im = im, .n = im->node->n_inputs, .samples = -1};
    int bits = vbs_onnx_narrow_bits(vbs_onnx_type(vbs_onnx_in(im, 0)));

    (void)operator;
    if (bits > 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "sums of products of whole numbers of %d bits, which wrap in ONNX", bits);
    e.factors = vbs_arena_alloc(im->arena, (size_t)e.n, sizeof *e.factors);
    e.equation.next = vbs_onnx_text(im, "equation");
    if (!e.factors || !e.equation.next)
        return vbs_no_memory(im->ctx);
    VBS_TRY(read_equation(&e));
    im->at = im->at_out = 0; /* the factors have the samples in front */
    for (int k = 0; k < e.n; k++)
        VBS_TRY(take_diagonals(&e, &e.factors[k]));
    while (e.first + 1 < e.n)
        VBS_TRY(multiply(&e));
    e.first--; /* nothing is behind the last one */
    VBS_TRY(sum_alone(&e, &e.factors[e.n - 1], NULL));
    return give_result(&e);
}
