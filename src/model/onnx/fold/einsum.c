/* Constants that are computed by Einsum: sums of products of their elements, as an equation such as
 * "bij,bjk->bik" says. */
#include "model/onnx/fold/fold.h"

#include "base/arith.h"
#include "base/fail.h"

#include <string.h>

#define N_LETTERS 52
#define N_LABELS  (N_LETTERS + VBS_MAX_DIMS) /* the last ones are dimensions of an ellipsis */

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* The labels of the dimensions of an input, or of the output. */
struct term {
    int n;
    int label[VBS_MAX_DIMS];
};

struct equation {
    const char *next; /* the text that is still to be read, without blanks */
    int64_t size[N_LABELS];
    int count[N_LABELS]; /* how often the inputs have each label */
    int n_hidden;        /* dimensions of the longest ellipsis */
    int n_labels;        /* those of the output first, then those that are summed over */
    int labels[N_LABELS];
};

/* An input, and where its elements are: stride by place in struct equation's labels. */
struct einsum_factor {
    const number *x;
    int64_t stride[N_LABELS], at;
};

/* Gives the label of a letter, or -1. */
static int label_of(char letter)
{
    if (letter >= 'A' && letter <= 'Z')
        return letter - 'A';
    return letter >= 'a' && letter <= 'z' ? letter - 'a' + N_LETTERS / 2 : -1;
}

/* Adds the labels of an ellipsis of n dimensions, of which the last ones go together. */
static bool add_hidden(int n, struct term *term)
{
    if (n < 0 || term->n + n > VBS_MAX_DIMS)
        return false;
    for (int i = 0; i < n; i++)
        term->label[term->n++] = N_LABELS - n + i;
    return true;
}

/* Reads a term up to a comma, an arrow or the end. hidden: the dimensions of an ellipsis in it. */
static bool read_term(struct equation *e, int hidden, struct term *term)
{
    *term = (struct term){.n = 0};
    for (; *e->next && *e->next != ',' && *e->next != '-'; e->next++) {
        if (strncmp(e->next, "...", 3) == 0) {
            if (!add_hidden(hidden, term))
                return false;
            e->next += 2;
        } else if (term->n == VBS_MAX_DIMS || label_of(*e->next) < 0) {
            return false;
        } else {
            term->label[term->n++] = label_of(*e->next);
        }
    }
    return true;
}

/* Counts the letters of the next term; *ellipsis: there is one among them. */
static int count_letters(const char *text, bool *ellipsis)
{
    size_t length = strcspn(text, ",-");
    int n = 0;

    *ellipsis = false;
    for (size_t i = 0; i < length; i++) {
        n += label_of(text[i]) >= 0;
        *ellipsis |= text[i] == '.';
    }
    return n;
}

/* Reads the term of an input and learns the sizes of its labels. */
static bool read_factor(struct equation *e, const struct vbs_shape *shape, struct term *term)
{
    bool ellipsis;
    int hidden = shape->n_dims - count_letters(e->next, &ellipsis);

    if (!read_term(e, hidden, term) || term->n != shape->n_dims)
        return false;
    if (ellipsis && hidden > e->n_hidden)
        e->n_hidden = hidden;
    for (int d = 0; d < term->n; d++) {
        int64_t *size = &e->size[term->label[d]], dim = shape->dim[d];

        if (e->count[term->label[d]]++ > 0 && *size != dim && *size != 1 && dim != 1)
            return false;
        *size = e->count[term->label[d]] == 1 || *size == 1 ? dim : *size;
    }
    return true;
}

/* Reads the output behind the arrow; without one it has the ellipsis and, in their order, the
 * labels that the inputs have once. */
static bool read_result(struct equation *e, struct term *term)
{
    if (strncmp(e->next, "->", 2) == 0) {
        e->next += 2;
        return read_term(e, e->n_hidden, term) && *e->next == '\0';
    }
    *term = (struct term){.n = 0};
    if (!add_hidden(e->n_hidden, term))
        return false;
    for (int label = 0; label < N_LETTERS; label++)
        if (e->count[label] == 1) {
            if (term->n == VBS_MAX_DIMS)
                return false;
            term->label[term->n++] = label;
        }
    return *e->next == '\0';
}

/* Orders the labels: those of the output, each once, and the others behind them. */
static bool order_labels(struct equation *e, const struct term *result)
{
    bool seen[N_LABELS] = {false};

    for (int d = 0; d < result->n; d++) {
        if (seen[result->label[d]] || e->count[result->label[d]] == 0)
            return false;
        seen[result->label[d]] = true;
        e->labels[e->n_labels++] = result->label[d];
    }
    for (int label = 0; label < N_LABELS; label++)
        if (!seen[label] && e->count[label] > 0)
            e->labels[e->n_labels++] = label;
    return true;
}

/* Sets the strides of a factor. A dimension of 1 is repeated; one label may be two dimensions,
 * along whose diagonal the elements are then. */
static void set_strides(const struct equation *e, const struct term *term,
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
static bool advance_labels(const struct equation *e, int first, int end, int64_t *position,
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
static enum vbs_status count_work(struct vbs_onnx_import *im, const struct equation *e, int n)
{
    int64_t work = 2 * (int64_t)n; /* the position of each factor advances, too */

    for (int i = 0; i < e->n_labels; i++)
        if (!vbs_mul(work, e->size[e->labels[i]], &work))
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "too much is computed with constants");
    return vbs_onnx_numbers_read(im, work);
}

/* Computes one element: the sum over the labels behind the n_out first ones. */
static number sum_products(const struct equation *e, int n_out, int type, int64_t *position,
                           struct einsum_factor *factors, int n)
{
    bool whole = vbs_onnx_is_whole(type);
    number sum = {0, false};

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
static enum vbs_status read_equation(struct vbs_onnx_import *im, struct equation *e,
                                     struct einsum_factor *factors, struct term *result)
{
    int n = im->node->n_inputs;
    struct term *terms = vbs_arena_alloc(im->arena, (size_t)n, sizeof *terms);
    constant *input;
    bool read = true;

    if (!terms)
        return vbs_no_memory(im->ctx);
    for (int k = 0; k < n; k++) {
        VBS_TRY(vbs_onnx_numbers_in(im, k, &input, &factors[k].x));
        read = read && (k == 0 || *e->next++ == ',') && read_factor(e, &input->shape, &terms[k]);
    }
    if (!read || !read_result(e, result) || !order_labels(e, result))
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
    struct equation e = {.next = vbs_onnx_text(im, "equation")};
    int64_t position[N_LABELS] = {0};
    struct vbs_shape shape;
    struct term result;
    constant *first;
    number *y;
    bool empty = false;

    (void)operator;
    if (!factors || !e.next)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_constant_in(im, 0, &first));
    VBS_TRY(read_equation(im, &e, factors, &result));
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
