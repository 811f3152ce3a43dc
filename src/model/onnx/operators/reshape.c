/* Operators that make no layer, because they give the same elements another shape. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <string.h>

/* Makes output 0 of the elements of input 0, in shape: of the file for a constant, else of a
 * tensor. */
static enum vbs_status give_reshaped(struct vbs_onnx_import *im, const struct vbs_shape *shape)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    struct vbs_onnx_constant *view;

    if (state->tensor)
        return vbs_onnx_give(im, 0, state->tensor, shape);
    VBS_TRY(vbs_onnx_constant_reshape(im, state->constant, shape, &view));
    vbs_onnx_give_constant(im, 0, view);
    return VBS_OK;
}

/* Gives input 0 and the shape that the file knows of it. */
static enum vbs_status shape_in(struct vbs_onnx_import *im, const struct vbs_shape **shape,
                                bool *batch)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);

    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    *batch = im->batch && state->tensor;
    *shape = state->tensor ? &state->shape : &state->constant->shape;
    return VBS_OK;
}

enum vbs_status vbs_onnx_list(struct vbs_onnx_import *im, const char *name, int index, int since,
                              int most, int64_t *values, int *n, bool *given)
{
    struct vbs_onnx_constant *constant;
    const int64_t *list;

    *n = 0;
    if (im->graph->opset >= since) {
        *given = vbs_onnx_in(im, index) != NULL;
        if (!*given)
            return VBS_OK;
        VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
        return vbs_onnx_whole_numbers(im, constant, most, values, n);
    }
    *given = vbs_onnx_has(im, name);
    list = vbs_onnx_ints(im, name, n);
    if (*n > most)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "'%s' has %d values, more than %d", name, *n,
                        most);
    if (*n > 0)
        memcpy(values, list, (size_t)*n * sizeof *values);
    return VBS_OK;
}

enum vbs_status vbs_onnx_target(struct vbs_onnx_import *im, int index, int64_t *values, int *open,
                                int *n)
{
    struct vbs_onnx_constant *input;
    const struct vbs_onnx_number *numbers = NULL;
    int64_t count;

    VBS_TRY(vbs_onnx_constant_in(im, index, &input));
    VBS_TRY(vbs_onnx_numbers(im, input, &numbers));
    count = vbs_shape_elements(&input->shape);
    if (input->shape.n_dims > 1 || !vbs_onnx_is_whole(input->type) || count > VBS_MAX_DIMS + 1)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "'%.100s' is no shape of up to %d dimensions",
                        input->name, VBS_MAX_DIMS);
    *open = -1;
    for (int i = 0; i < (int)count; i++) {
        values[i] = vbs_onnx_clamp(numbers[i].value);
        if (!numbers[i].batch)
            continue;
        if (*open >= 0 || values[i] < VBS_ONNX_OPEN_BATCH || values[i] % VBS_ONNX_OPEN_BATCH != 0)
            return vbs_onnx_counts(im);
        *open = i;
        values[i] /= VBS_ONNX_OPEN_BATCH;
    }
    *n = (int)count;
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_shape(struct vbs_onnx_import *im, const int64_t *values, int n,
                                        struct vbs_shape *shape)
{
    *shape = (struct vbs_shape){.n_dims = n};
    if (n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    for (int d = 0; d < n; d++) {
        int64_t dim = values[d];

        if (dim < 0 || dim > VBS_MAX_DIM)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d is %lld, out of range", d,
                            (long long)dim);
        shape->dim[d] = dim;
    }
    return vbs_onnx_bounded(shape)
               ? VBS_OK
               : vbs_fail(im->ctx, VBS_FORMAT, "its shape has more than 2^36 elements");
}

/* ---- Reshape ---- */

/* Makes a shape of values, in which -1 and 0 stand for dimensions that follow from the shape
 * from. */
static enum vbs_status resolve_shape(struct vbs_onnx_import *im, const struct vbs_shape *from,
                                     const int64_t *values, int n, bool keeps_zero,
                                     struct vbs_shape *shape)
{
    int64_t elements = vbs_shape_elements(from), known = 1;
    int open = -1;

    *shape = (struct vbs_shape){.n_dims = n};
    if (n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    for (int d = 0; d < n; d++) {
        int64_t dim = values[d];

        if (dim == 0 && !keeps_zero && d < from->n_dims)
            dim = from->dim[d];
        if (dim == -1 && open < 0) {
            open = d;
            continue;
        }
        if (dim < 0 || dim > VBS_MAX_DIM || (known > 0 && dim > VBS_MAX_ELEMENTS / known))
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d of the new shape is %lld", d,
                            (long long)dim);
        shape->dim[d] = dim;
        known *= dim;
    }
    if (open >= 0) {
        shape->dim[open] = known > 0 ? elements / known : 0;
        known *= shape->dim[open];
    }
    if (known != elements || !vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "%lld elements do not fit the new shape",
                        (long long)elements);
    return VBS_OK;
}

/* A new shape that a file asks for. */
struct target {
    int64_t values[VBS_MAX_DIMS + 1];
    int n, open; /* value number open is a factor of the number of samples; -1: not known */
    bool keeps_zero;
};

/* Counts the elements of the first n dimensions. */
static int64_t elements_before(const struct vbs_shape *shape, int n)
{
    struct vbs_shape first = *shape;

    first.n_dims = n;
    return vbs_shape_elements(&first);
}

/* Replaces the zeros of a target for a tensor in batch mode by what they copy; *twice: two values
 * would count the samples. */
static void fill_zeros(const struct vbs_onnx_import *im, const struct vbs_shape *from,
                       struct target *target, bool *twice)
{
    bool apart = vbs_onnx_is_apart(im);

    *twice = false;
    for (int d = 0; d < target->n && !target->keeps_zero; d++) {
        if (target->values[d] != 0 || d >= from->n_dims + apart)
            continue;
        if (d == im->at) {
            *twice = target->open >= 0;
            target->open = d;
        }
        target->values[d] = apart && d == im->at ? 1 : from->dim[d - (apart && d > im->at)];
    }
}

/* Counts the dimensions of a sample that are behind the samples, in a tensor of shape from. */
static int count_behind(const struct vbs_onnx_import *im, const struct vbs_shape *from)
{
    if (im->outer == 0)
        return from->n_dims - im->at;
    return from->n_dims - im->at - (from->dim[im->at] == im->outer);
}

/* Finds the value of a target that counts the samples, with so many elements of a sample before
 * them: the number of samples, or, where folded is set, a multiple of it. -1: none does. In a file
 * of one sample two values may: that of the elements before it, and the next. The first does where
 * dimensions behind the samples stay or are joined, as in front of a matrix; the second where these
 * are divided, as heads are. */
static int find_counted(const struct vbs_onnx_import *im, const struct vbs_shape *from,
                        const struct target *target, int64_t before, bool folded)
{
    int64_t product = 1;

    for (int d = 0; d < target->n && before % product == 0; d++) {
        int64_t value = target->values[d], left = before / product;
        bool is_last = im->n_samples == 1 && value == left && left > 1 && d + 1 < target->n &&
                       target->values[d + 1] > 1;

        if (value < 1)
            return -1;
        if (folded && is_last && target->n - d - 1 > count_behind(im, from))
            return d + 1;
        if (folded ? value % im->n_samples == 0 && value / im->n_samples % left == 0
                   : value == im->n_samples && left == 1)
            return d;
        if (value > left)
            return -1;
        product *= value;
    }
    return -1;
}

/* Finds the value of -1 of a target, where it may count the samples: so many elements of a sample
 * are before them, and it begins with one of these. -1: there is none. */
static int find_open(const struct target *target, int64_t before)
{
    int64_t product = 1;

    for (int d = 0; d < target->n && product > 0 && before % product == 0; d++) {
        if (target->values[d] == -1)
            return d;
        product *= target->values[d];
    }
    return -1;
}

/* Finds the value of a target that counts the samples, and makes it the factor of their number, or
 * -1 where this follows from the other values. Gives -1 where none does. */
static int find_samples(const struct vbs_onnx_import *im, const struct vbs_shape *from,
                        struct target *target, int64_t before)
{
    int at = target->open;

    if (at >= 0)
        return at;
    if (im->n_samples > 0)
        at = find_counted(im, from, target, before, false);
    if (at < 0 && (at = find_open(target, before)) >= 0)
        return at;
    if (im->n_samples > 0 && at < 0)
        at = find_counted(im, from, target, before, true);
    if (at >= 0)
        target->values[at] /= im->n_samples;
    return at;
}

/* Gives the factor of the number of samples that value number at of a target is: where it is -1, as
 * many elements as the other values leave. 0: none. */
static int64_t factor_of(const struct target *target, int at, int64_t elements)
{
    int64_t left = elements;

    if (target->values[at] != -1)
        return target->values[at];
    for (int d = 0; d < target->n; d++) {
        if (d != at && (target->values[d] < 1 || left % target->values[d] != 0))
            return 0;
        left /= d == at ? 1 : target->values[d];
    }
    return left;
}

/* Makes the shape of a sample from the target, and sets where the samples are counted. */
static enum vbs_status reshape_samples(struct vbs_onnx_import *im, const struct vbs_shape *from,
                                       struct target *target, struct vbs_shape *shape)
{
    int64_t before = elements_before(from, im->at) * (im->outer > 0 ? im->outer : 1);
    int64_t factor = 0, own;
    bool twice;
    int at;

    fill_zeros(im, from, target, &twice);
    at = twice ? -1 : find_samples(im, from, target, before);
    if (at >= 0)
        factor = target->values[at] = factor_of(target, at, vbs_shape_elements(from));
    if (factor < 1)
        return vbs_onnx_mixes(im);
    if (factor == 1) {
        target->n--;
        memmove(target->values + at, target->values + at + 1,
                (size_t)(target->n - at) * sizeof target->values[0]);
    }
    VBS_TRY(resolve_shape(im, from, target->values, target->n, true, shape));
    own = elements_before(shape, at);
    if (before % own != 0 || factor % (before / own) != 0)
        return vbs_onnx_mixes(im);
    im->at_out = at;
    im->outer_out = factor == 1 ? 0 : before / own;
    return VBS_OK;
}

/* Finds the dimension of the new shape of a constant that counts the samples as one of it does: as
 * many elements are before it, and as many are in it for each sample. `values` are the values of
 * the target, of which one, or none (-1), is a multiple of the number of samples. */
static enum vbs_status reshape_copies(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                      const int64_t *values, int open)
{
    const struct vbs_onnx_constant *constant = vbs_onnx_in(im, 0)->constant;
    int at = constant->copies - 1;
    int64_t before = 1, wanted;

    im->copies = 0;
    if (at < 0)
        return open < 0 ? VBS_OK : vbs_onnx_counts(im);
    wanted = elements_before(&constant->shape, at);
    for (int d = 0; d < shape->n_dims; d++) {
        bool counts =
            open >= 0 ? d == open : values[d] == -1 || values[d] == 0 || im->n_samples == 1;

        if (counts && constant->shape.dim[at] > 0 && before == wanted &&
            shape->dim[d] % constant->shape.dim[at] == 0 &&
            (shape->dim[d] == constant->shape.dim[at] || im->n_samples == 1)) {
            im->copies = d + 1;
            return VBS_OK;
        }
        before *= shape->dim[d];
    }
    return vbs_onnx_counts(im);
}

VBS_ONNX_HANDLER(reshape)
{
    struct target target = {.open = -1, .keeps_zero = vbs_onnx_int(im, "allowzero", 0) != 0};
    const struct vbs_shape *from = NULL;
    struct vbs_shape shape;
    bool batch = false, given;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status == VBS_OK && im->graph->opset < 5)
        status =
            vbs_onnx_list(im, "shape", 1, 5, VBS_MAX_DIMS + 1, target.values, &target.n, &given);
    else if (status == VBS_OK)
        status = vbs_onnx_target(im, 1, target.values, &target.open, &target.n);
    if (status != VBS_OK)
        return status;
    if (!batch && target.open >= 0 && target.values[target.open] != 1)
        return vbs_onnx_counts(im);
    status = batch ? reshape_samples(im, from, &target, &shape)
                   : resolve_shape(im, from, target.values, target.n, target.keeps_zero, &shape);
    if (status == VBS_FORMAT && batch) /* the other dimensions may include some of the samples */
        im->mixed = true;
    if (status == VBS_OK && !vbs_onnx_in(im, 0)->tensor)
        status = reshape_copies(im, &shape, target.values, target.open);
    return status == VBS_OK ? give_reshaped(im, &shape) : status;
}

VBS_ONNX_HANDLER(flatten)
{
    struct target target = {.values = {1, 1}, .n = 2, .open = -1, .keeps_zero = true};
    int64_t axis = vbs_onnx_int(im, "axis", 1);
    const struct vbs_shape *from = NULL;
    struct vbs_shape shape;
    bool batch = false;
    enum vbs_status status = shape_in(im, &from, &batch);
    int rank;

    (void)operator;
    if (status != VBS_OK)
        return status;
    rank = from->n_dims + (batch && vbs_onnx_is_apart(im));
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis > rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    for (int d = 0; d < from->n_dims; d++)
        target.values[(batch ? vbs_onnx_file_dim(im, d) : d) >= axis] *= from->dim[d];
    if (batch)
        target.open = im->at >= axis;
    VBS_TRY(batch ? reshape_samples(im, from, &target, &shape)
                  : resolve_shape(im, from, target.values, 2, true, &shape));
    if (!vbs_onnx_in(im, 0)->tensor) {
        const int64_t follow[] = {-1, -1};

        VBS_TRY(reshape_copies(im, &shape, follow, -1));
    }
    return give_reshaped(im, &shape);
}

/* ---- Squeeze, Unsqueeze ---- */

/* Gives the dimensions that axes name among rank ones, as bits. VBS_FORMAT. */
static enum vbs_status axis_bits(struct vbs_onnx_import *im, const int64_t *axes, int n, int rank,
                                 unsigned *bits)
{
    *bits = 0;
    for (int i = 0; i < n; i++) {
        int64_t axis = axes[i] + (axes[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank || *bits >> axis & 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %lld is not among %d, or named twice",
                            (long long)axes[i], rank);
        *bits |= 1u << axis;
    }
    return VBS_OK;
}

/* Returns the copies of input 0, as struct vbs_onnx_constant has them; of a tensor 0. */
static int constant_copies(const struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);

    return state->constant ? state->constant->copies : 0;
}

VBS_ONNX_HANDLER(squeeze)
{
    const struct vbs_shape *from = NULL;
    int64_t axes[VBS_MAX_DIMS + 1];
    struct vbs_shape shape = {.n_dims = 0};
    bool given = false, batch = false, apart;
    unsigned bits = 0;
    int n = 0;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status != VBS_OK)
        return status;
    apart = batch && vbs_onnx_is_apart(im);
    VBS_TRY(vbs_onnx_list(im, "axes", 1, 13, VBS_MAX_DIMS + 1, axes, &n, &given));
    VBS_TRY(axis_bits(im, axes, n, from->n_dims + apart, &bits));
    if (apart && (given ? bits >> im->at & 1 : im->n_samples == 1))
        return vbs_onnx_mixes(im);
    im->copies = 0;
    for (int d = 0; d < from->n_dims; d++) {
        int own = d + (apart && d >= im->at);
        bool dropped = given ? bits >> own & 1 : from->dim[d] == 1;

        if (dropped && from->dim[d] != 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d is %lld, not 1", own,
                            (long long)from->dim[d]);
        im->at_out -= batch && dropped && own < im->at;
        if (!batch && dropped && d + 1 == constant_copies(im))
            return vbs_onnx_counts(im);
        if (!dropped)
            shape.dim[shape.n_dims++] = from->dim[d];
        if (!batch && d + 1 == constant_copies(im))
            im->copies = shape.n_dims;
    }
    return give_reshaped(im, &shape);
}

VBS_ONNX_HANDLER(unsqueeze)
{
    const struct vbs_shape *from = NULL;
    int64_t axes[VBS_MAX_DIMS];
    struct vbs_shape shape = {.n_dims = 0};
    bool given, batch = false, apart;
    unsigned bits = 0;
    int n = 0, rank = 0, d = 0;
    enum vbs_status status = shape_in(im, &from, &batch);

    (void)operator;
    if (status != VBS_OK)
        return status;
    apart = batch && vbs_onnx_is_apart(im);
    VBS_TRY(vbs_onnx_list(im, "axes", 1, 13, VBS_MAX_DIMS, axes, &n, &given));
    rank = from->n_dims + apart + n;
    if (rank - apart > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    VBS_TRY(axis_bits(im, axes, n, rank, &bits));
    im->copies = 0;
    for (int i = 0, own = 0; i < rank; i++) { /* own: a dimension of the input */
        if (bits >> i & 1) {
            shape.dim[shape.n_dims++] = 1;
            continue;
        }
        if (batch && own == im->at)
            im->at_out = i;
        if (!batch && own + 1 == constant_copies(im))
            im->copies = i + 1;
        if (!apart || own != im->at)
            shape.dim[shape.n_dims++] = from->dim[d++];
        own++;
    }
    return give_reshaped(im, &shape);
}

/* ---- operators that do nothing ---- */

VBS_ONNX_HANDLER(identity)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);

    (void)operator;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    if (!state->tensor) {
        im->copies = state->constant->copies;
        vbs_onnx_give_constant(im, 0, state->constant);
        return VBS_OK;
    }
    if (vbs_onnx_makes(im, VBS_OP_DROPOUT) || vbs_onnx_makes(im, VBS_OP_IDENTITY)) {
        enum vbs_op op = vbs_onnx_makes(im, VBS_OP_DROPOUT) ? VBS_OP_DROPOUT : VBS_OP_IDENTITY;
        struct vbs_onnx_tensor *copy;

        VBS_TRY(vbs_onnx_apply(im, op, NULL, state->tensor, NULL, &copy));
        return vbs_onnx_give(im, 0, copy, &state->shape);
    }
    return vbs_onnx_give(im, 0, state->tensor, &state->shape);
}

/* Makes the mask of a Dropout: true for every element, because none is dropped. */
static enum vbs_status give_mask(struct vbs_onnx_import *im, const struct vbs_onnx_constant *input)
{
    struct vbs_onnx_constant *mask;
    struct vbs_onnx_number *kept;

    if (!input)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its mask is not supported");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&input->shape), &kept));
    for (int64_t i = 0; i < vbs_shape_elements(&input->shape); i++)
        kept[i].value = 1;
    VBS_TRY(
        vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__BOOL, &input->shape, kept, &mask));
    vbs_onnx_give_constant(im, 1, mask);
    return VBS_OK;
}

/* A Dropout of a version before 7 that says that it trains is refused, because its scaling
 * differs. */
VBS_ONNX_HANDLER(dropout)
{
    bool trains = im->graph->opset < 7 && vbs_onnx_int(im, "is_test", 0) == 0;

    if (im->graph->opset >= 12 && vbs_onnx_in(im, 2)) {
        struct vbs_onnx_constant *mode;
        double value = 0;

        VBS_TRY(vbs_onnx_constant_in(im, 2, &mode));
        VBS_TRY(vbs_onnx_scalar(im, mode, &value));
        trains = value != 0;
    }
    if (trains)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "is in training mode");
    if (vbs_onnx_output_used(im, 1) && vbs_onnx_in(im, 0))
        VBS_TRY(give_mask(im, vbs_onnx_in(im, 0)->constant));
    return vbs_onnx_identity(im, operator);
}

enum vbs_status vbs_onnx_cast_type(struct vbs_onnx_import *im, bool like, int *type)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 1);
    enum vbs_element element;

    *type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    if (!like)
        *type = (int)vbs_onnx_int(im, "to", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT);
    else if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 1 is missing");
    else if (state->constant)
        *type = state->constant->type;
    else if (state->whole)
        *type = state->type != 0 ? state->type : ONNX__TENSOR_PROTO__DATA_TYPE__INT64;
    if (!vbs_onnx_element(*type, &element))
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "casts to element type %s",
                        vbs_onnx_type_name(*type));
    return VBS_OK;
}

/* Cast, and CastLike (op 1), whose input 0 may be a constant beside a tensor. */
VBS_ONNX_HANDLER(cast)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    int to;

    if (state && state->constant)
        return operator->fold(im, operator);
    VBS_TRY(vbs_onnx_cast_type(im, operator->op == 1, &to));
    im->whole_out = vbs_onnx_is_whole(to);
    im->type_out = im->whole_out ? to : 0;
    if (im->whole_out && !vbs_onnx_feeds(im, VBS_OP_KEEP) && !vbs_onnx_feeds(im, VBS_OP_EMBED) &&
        !vbs_onnx_feeds(im, VBS_OP_PICK) && !vbs_onnx_feeds(im, VBS_OP_TAKE))
        return vbs_onnx_cast_whole(im, state, to);
    return vbs_onnx_identity(im, operator);
}
