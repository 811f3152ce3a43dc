/* Constants whose elements are chosen from others, or put into others, by indices. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* Checks an index into dim elements, which counts from the end where it is negative. */
static enum vbs_status index_of(struct vbs_onnx_import *im, const number *wanted, int64_t dim,
                                int64_t *at)
{
    int64_t given = vbs_onnx_clamp(wanted->value);

    if (wanted->batch)
        return vbs_onnx_counts(im);
    *at = given < 0 ? given + dim : given;
    if (*at < 0 || *at >= dim)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no element %lld among %lld",
                        (long long)given, (long long)dim);
    return VBS_OK;
}

/* Makes shape the dimensions of a from first_a to end_a - 1 and those of b from first_b on. */
static enum vbs_status joined_shape(struct vbs_onnx_import *im, const struct vbs_shape *a,
                                    int first_a, int end_a, const struct vbs_shape *b, int first_b,
                                    struct vbs_shape *shape)
{
    if (end_a - first_a + b->n_dims - first_b > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    *shape = (struct vbs_shape){.n_dims = 0};
    for (int d = first_a; d < end_a; d++)
        shape->dim[shape->n_dims++] = a->dim[d];
    for (int d = first_b; d < b->n_dims; d++)
        shape->dim[shape->n_dims++] = b->dim[d];
    if (!vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    return VBS_OK;
}

/* ---- Gather ---- */

/* Returns the copies of a constant whose elements along axis the indices have chosen, as struct
 * vbs_onnx_constant has them: of chosen copies one is as good as another. */
static int gathered_copies(const constant *data, const constant *indices, int axis)
{
    int of_data = data->copies == axis + 1 ? 0 : data->copies;
    int of_indices = indices->copies > 0 ? indices->copies + axis : 0;

    if (of_data > axis)
        of_data += indices->shape.n_dims - 1;
    return of_data > 0 && of_indices > 0 ? VBS_ONNX_UNSAID : of_data + of_indices;
}

/* Elements along an axis that indices choose. Each index chooses a run of elements, those behind
 * the axis. */
struct gathered_runs {
    int64_t before, behind; /* elements before and behind the axis, multiplied */
    int64_t dim, n_indices; /* elements of the axis, in the data and in the output */
    const number *which;
};

/* Finds the run of the data that is run i of the output. */
static enum vbs_status run_of(struct vbs_onnx_import *im, const struct gathered_runs *g, int64_t i,
                              int64_t *run)
{
    int64_t at;

    VBS_TRY(index_of(im, &g->which[i % g->n_indices], g->dim, &at));
    *run = i / g->n_indices * g->dim + at;
    return VBS_OK;
}

/* Gathers elements that are too many to become numbers. */
static enum vbs_status gather_floats(struct vbs_onnx_import *im, constant *data,
                                     const struct gathered_runs *g, const struct vbs_shape *shape)
{
    int64_t count = vbs_shape_elements(&data->shape), run;
    constant *made;
    float *x, *chosen;
    enum vbs_status status;

    VBS_TRY(vbs_onnx_numbers_read(im, count));
    VBS_TRY(vbs_onnx_floats_new(im, data, shape, &made, &chosen));
    x = malloc((size_t)(count + 1) * sizeof *x);
    status = x ? vbs_onnx_floats_read(im, data, x) : vbs_no_memory(im->ctx);
    for (int64_t i = 0; g->behind > 0 && i < g->before * g->n_indices && status == VBS_OK; i++) {
        status = run_of(im, g, i, &run);
        if (status == VBS_OK)
            memcpy(chosen + i * g->behind, x + run * g->behind, (size_t)g->behind * sizeof *x);
    }
    free(x);
    VBS_TRY(status);
    vbs_onnx_give_constant(im, 0, made);
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_gather)
{
    struct gathered_runs g = {.before = 1, .behind = 1};
    constant *data, *indices;
    const number *x;
    struct vbs_shape shape, inner;
    number *chosen;
    int axis;
    int64_t run;

    (void)operator;
    VBS_TRY(vbs_onnx_constant_in(im, 0, &data));
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &indices, &g.which));
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", 0), data->shape.n_dims, &axis));
    VBS_TRY(joined_shape(im, &indices->shape, 0, indices->shape.n_dims, &data->shape, axis + 1,
                         &inner));
    VBS_TRY(joined_shape(im, &data->shape, 0, axis, &inner, 0, &shape));
    im->copies = gathered_copies(data, indices, axis);
    g.dim = data->shape.dim[axis];
    for (int d = 0; d < data->shape.n_dims; d++) {
        g.before *= d < axis ? data->shape.dim[d] : 1;
        g.behind *= d > axis ? data->shape.dim[d] : 1;
    }
    g.n_indices = vbs_shape_elements(&indices->shape);
    if (vbs_shape_elements(&data->shape) > VBS_ONNX_MAX_NUMBERS ||
        vbs_shape_elements(&shape) > VBS_ONNX_MAX_NUMBERS)
        return gather_floats(im, data, &g, &shape);
    VBS_TRY(vbs_onnx_numbers(im, data, &x));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &chosen));
    for (int64_t i = 0; g.behind > 0 && i < g.before * g.n_indices; i++) {
        VBS_TRY(run_of(im, &g, i, &run));
        memcpy(chosen + i * g.behind, x + run * g.behind, (size_t)g.behind * sizeof *x);
    }
    return vbs_onnx_give_numbers(im, data->type, &shape, chosen);
}

/* ---- one index for each element ---- */

/* Data, and indices along one of their dimensions, one for each element at a position of the
 * other dimensions. */
struct picks {
    constant *data, *indices;
    const number *x, *which;
    int axis;
    int64_t stride[VBS_MAX_DIMS]; /* of the data; 0 along the axis */
    int64_t step;                 /* of the data, along the axis */
};

static enum vbs_status read_picks(struct vbs_onnx_import *im, struct picks *p)
{
    const struct vbs_shape *data, *indices;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &p->data, &p->x));
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &p->indices, &p->which));
    data = &p->data->shape;
    indices = &p->indices->shape;
    VBS_TRY(vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", 0), data->n_dims, &p->axis));
    if (indices->n_dims != data->n_dims)
        return vbs_fail(im->ctx, VBS_FORMAT, "indices of %d dimensions into data of %d",
                        indices->n_dims, data->n_dims);
    for (int d = 0; d < data->n_dims; d++)
        if (d != p->axis && indices->dim[d] > data->dim[d])
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d is %lld, that of its indices %lld",
                            d, (long long)data->dim[d], (long long)indices->dim[d]);
    vbs_onnx_plain_strides(data, p->stride);
    p->step = p->stride[p->axis];
    p->stride[p->axis] = 0;
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_gather_elements)
{
    int64_t position[VBS_MAX_DIMS] = {0}, at = 0, count;
    struct picks p;
    number *chosen;
    enum vbs_status status = read_picks(im, &p);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (p.indices->copies != p.axis + 1)
        vbs_onnx_broadcast_copies(im, p.data->shape.n_dims);
    count = vbs_shape_elements(&p.indices->shape);
    VBS_TRY(vbs_onnx_numbers_new(im, count, &chosen));
    for (int64_t i = 0; i < count; i++) {
        int64_t index;

        VBS_TRY(index_of(im, &p.which[i], p.data->shape.dim[p.axis], &index));
        chosen[i] = p.x[at + index * p.step];
        vbs_onnx_advance(&p.indices->shape, p.stride, position, &at);
    }
    return vbs_onnx_give_numbers(im, p.data->type, &p.indices->shape, chosen);
}

/* ---- scattering ---- */

/* Reads how an update changes an element: an operator of pairs, or *replaces. */
static enum vbs_status read_reduction(struct vbs_onnx_import *im, bool *replaces, int *op)
{
    static const char *const WORDS[] = {"none", "add", "mul", "max", "min", NULL};
    static const int OPS[] = {0, VBS_OP_ADD, VBS_OP_MUL, VBS_OP_MAX, VBS_OP_MIN};
    int word = vbs_onnx_word(im, "reduction", WORDS, 0);

    if (word < 0)
        return im->bad;
    *replaces = word == 0;
    *op = OPS[word];
    return VBS_OK;
}

/* Copies data, into which updates are then put. */
static enum vbs_status copied(struct vbs_onnx_import *im, const constant *data, const number *x,
                              number **copy)
{
    int64_t count = vbs_shape_elements(&data->shape);

    VBS_TRY(vbs_onnx_numbers_new(im, count, copy));
    if (count > 0)
        memcpy(*copy, x, (size_t)count * sizeof *x);
    return VBS_OK;
}

static void update(bool replaces, int op, int type, const number *with, number *y)
{
    bool batch = with->batch || (y->batch && !replaces);

    y->value = replaces
                   ? with->value
                   : vbs_onnx_rounded(type, vbs_onnx_combined(op, type, y->value, with->value));
    y->batch = batch;
    y->own = replaces ? with->own : 0;
}

/* ScatterElements, and Scatter as it was called before. */
VBS_ONNX_HANDLER(fold_scatter_elements)
{
    int64_t position[VBS_MAX_DIMS] = {0}, at = 0;
    constant *updates;
    const number *with;
    struct picks p;
    bool replaces = true;
    int op = 0;
    number *y;
    enum vbs_status status = read_picks(im, &p);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_numbers_in(im, 2, &updates, &with));
    VBS_TRY(read_reduction(im, &replaces, &op));
    if (!vbs_shape_equal(&updates->shape, &p.indices->shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its updates and indices have different shapes");
    VBS_TRY(copied(im, p.data, p.x, &y));
    for (int64_t i = 0; i < vbs_shape_elements(&updates->shape); i++) {
        int64_t index;

        VBS_TRY(index_of(im, &p.which[i], p.data->shape.dim[p.axis], &index));
        update(replaces, op, p.data->type, &with[i], &y[at + index * p.step]);
        vbs_onnx_advance(&p.indices->shape, p.stride, position, &at);
    }
    return vbs_onnx_give_numbers(im, p.data->type, &p.data->shape, y);
}

/* ---- several indices for each slice ---- */

/* Data, and rows of indices, each of which chooses a slice of them. */
struct slices {
    constant *data;
    const number *x, *which;
    int n_batched;                /* leading dimensions that data and indices share */
    int depth;                    /* indices of a row */
    int64_t stride[VBS_MAX_DIMS]; /* of the data */
    int64_t size;                 /* elements of a slice */
    int64_t n_rows, n_rows_each;  /* of all, and of each position of the shared dimensions */
    struct vbs_shape shape;       /* of all slices that the rows choose */
};

static enum vbs_status count_slices(struct vbs_onnx_import *im, const struct vbs_shape *indices,
                                    struct slices *s)
{
    const struct vbs_shape *data = &s->data->shape;
    int last = indices->n_dims - 1;

    if (last < 0 || s->n_batched < 0 || s->n_batched > last || s->n_batched > data->n_dims ||
        indices->dim[last] > data->n_dims - s->n_batched)
        return vbs_fail(im->ctx, VBS_FORMAT, "its indices do not suit data of %d dimensions",
                        data->n_dims);
    s->depth = (int)indices->dim[last];
    for (int d = 0; d < s->n_batched; d++)
        if (indices->dim[d] != data->dim[d])
            return vbs_fail(im->ctx, VBS_FORMAT, "batch dimension %d is %lld and %lld", d,
                            (long long)data->dim[d], (long long)indices->dim[d]);
    VBS_TRY(joined_shape(im, indices, 0, last, data, s->n_batched + s->depth, &s->shape));
    vbs_onnx_plain_strides(data, s->stride);
    s->size = s->n_rows = s->n_rows_each = 1;
    for (int d = s->n_batched + s->depth; d < data->n_dims; d++)
        s->size *= data->dim[d];
    for (int d = 0; d < last; d++) {
        s->n_rows *= indices->dim[d];
        s->n_rows_each *= d < s->n_batched ? 1 : indices->dim[d];
    }
    s->n_rows = s->size > 0 ? s->n_rows : 0;
    return VBS_OK;
}

static enum vbs_status read_slices(struct vbs_onnx_import *im, int64_t n_batched, struct slices *s)
{
    constant *indices;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &s->data, &s->x));
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &indices, &s->which));
    s->n_batched = n_batched < 0 || n_batched > VBS_MAX_DIMS ? -1 : (int)n_batched;
    return count_slices(im, &indices->shape, s);
}

/* Gives the first element of the slice that a row of indices chooses. */
static enum vbs_status slice_of(struct vbs_onnx_import *im, const struct slices *s, int64_t row,
                                int64_t *first)
{
    int64_t at;

    *first = s->n_batched > 0 ? row / s->n_rows_each * s->stride[s->n_batched - 1] : 0;
    for (int k = 0; k < s->depth; k++) {
        int d = s->n_batched + k;

        VBS_TRY(index_of(im, &s->which[row * s->depth + k], s->data->shape.dim[d], &at));
        *first += at * s->stride[d];
    }
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_gather_nd)
{
    int64_t first;
    struct slices s;
    number *chosen;
    enum vbs_status status = read_slices(im, vbs_onnx_int(im, "batch_dims", 0), &s);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&s.shape), &chosen));
    for (int64_t row = 0; row < s.n_rows; row++) {
        VBS_TRY(slice_of(im, &s, row, &first));
        memcpy(chosen + row * s.size, s.x + first, (size_t)s.size * sizeof *chosen);
    }
    return vbs_onnx_give_numbers(im, s.data->type, &s.shape, chosen);
}

VBS_ONNX_HANDLER(fold_scatter_nd)
{
    constant *updates;
    const number *with;
    struct slices s;
    bool replaces = true;
    int64_t first;
    int op = 0;
    number *y;
    enum vbs_status status = read_slices(im, 0, &s);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_numbers_in(im, 2, &updates, &with));
    VBS_TRY(read_reduction(im, &replaces, &op));
    if (!vbs_shape_equal(&updates->shape, &s.shape))
        return vbs_fail(im->ctx, VBS_FORMAT,
                        "its updates do not have the shape of what they update");
    VBS_TRY(copied(im, s.data, s.x, &y));
    for (int64_t row = 0; row < s.n_rows; row++) {
        VBS_TRY(slice_of(im, &s, row, &first));
        for (int64_t i = 0; i < s.size; i++)
            update(replaces, op, s.data->type, &with[row * s.size + i], &y[first + i]);
    }
    return vbs_onnx_give_numbers(im, s.data->type, &s.data->shape, y);
}

/* ---- indices as results, and marks at indices ---- */

/* Gives the positions of the elements that are not 0, one in each column. */
VBS_ONNX_HANDLER(fold_non_zero)
{
    int64_t position[VBS_MAX_DIMS] = {0}, none[VBS_MAX_DIMS] = {0}, unused = 0, n = 0, count,
            found = 0;
    struct vbs_shape shape;
    constant *input;
    const number *x;
    number *y;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &input, &x);

    (void)operator;
    if (status != VBS_OK)
        return status;
    count = vbs_shape_elements(&input->shape);
    for (int64_t i = 0; i < count; i++) {
        if (x[i].batch)
            return vbs_onnx_counts(im);
        n += x[i].value != 0;
    }
    shape = (struct vbs_shape){.n_dims = 2, .dim = {input->shape.n_dims, n}};
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int64_t i = 0; i < count; i++) {
        if (x[i].value != 0) {
            for (int d = 0; d < input->shape.n_dims; d++)
                y[d * n + found].value = position[d];
            found++;
        }
        vbs_onnx_advance(&input->shape, none, position, &unused);
    }
    return vbs_onnx_give_numbers(im, INT64, &shape, y);
}

/* Puts one value where indices are, along a new dimension, and another one elsewhere. */
VBS_ONNX_HANDLER(fold_one_hot)
{
    constant *indices, *deep, *values;
    const number *which, *off_on;
    int64_t behind = 1, n;
    struct vbs_shape line = {.n_dims = 1}, behind_axis, shape;
    double depth;
    number *y;
    int axis;
    enum vbs_status status = vbs_onnx_numbers_in(im, 0, &indices, &which);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &deep));
    VBS_TRY(vbs_onnx_scalar(im, deep, &depth));
    VBS_TRY(vbs_onnx_numbers_in(im, 2, &values, &off_on));
    if (depth < 0 || depth > VBS_MAX_DIM || vbs_shape_elements(&values->shape) != 2)
        return vbs_fail(im->ctx, VBS_FORMAT, "needs a depth and two values");
    VBS_TRY(
        vbs_onnx_constant_axis(im, vbs_onnx_int(im, "axis", -1), indices->shape.n_dims + 1, &axis));
    line.dim[0] = n = (int64_t)depth;
    VBS_TRY(joined_shape(im, &line, 0, 1, &indices->shape, axis, &behind_axis));
    VBS_TRY(joined_shape(im, &indices->shape, 0, axis, &behind_axis, 0, &shape));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int d = axis; d < indices->shape.n_dims; d++)
        behind *= indices->shape.dim[d];
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        const number *wanted = &which[i / behind / n * behind + i % behind];
        int64_t at = vbs_onnx_clamp(wanted->value);

        at += at < 0 ? n : 0;
        y[i] = off_on[at == i / behind % n];
        if (wanted->batch)
            y[i] = (number){y[i].value, .batch = true};
    }
    return vbs_onnx_give_numbers(im, values->type, &shape, y);
}

/* ---- ReverseSequence ---- */

VBS_ONNX_HANDLER(fold_reverse_sequence)
{
    int64_t stride[VBS_MAX_DIMS];
    constant *input, *lengths;
    const number *x, *n;
    number *y;
    int batch, time;

    (void)operator;
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &lengths, &n));
    VBS_TRY(vbs_onnx_read_reversed(im, input->shape.n_dims, &batch, &time));
    if (vbs_shape_elements(&lengths->shape) != input->shape.dim[batch])
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld lengths of %lld sequences",
                        (long long)vbs_shape_elements(&lengths->shape),
                        (long long)input->shape.dim[batch]);
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &y));
    vbs_onnx_plain_strides(&input->shape, stride);
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++) {
        int64_t at = i / stride[time] % input->shape.dim[time];
        const number *length = &n[i / stride[batch] % input->shape.dim[batch]];
        int64_t count = vbs_onnx_clamp(length->value);

        if (length->batch)
            return vbs_onnx_mixes(im);
        if (count < 0 || count > input->shape.dim[time])
            return vbs_fail(im->ctx, VBS_FORMAT, "reverses %lld of %lld elements", (long long)count,
                            (long long)input->shape.dim[time]);
        y[i] = x[at < count ? i + (count - 1 - 2 * at) * stride[time] : i];
    }
    return vbs_onnx_give_numbers(im, input->type, &input->shape, y);
}
