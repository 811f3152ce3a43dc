/* Operators whose output is larger than an input: Concat, Pad, Expand, Tile, Resize. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <math.h>
#include <string.h>

/* ---- Concat ---- */

/* Gives a constant of the given shape that has the values of constant from position begin of axis
 * on, and 0 elsewhere. */
static enum vbs_status place_constant(struct vbs_onnx_import *im,
                                      struct vbs_onnx_constant *constant, int axis, int64_t begin,
                                      const struct vbs_shape *shape, struct vbs_onnx_number *all)
{
    int64_t before = 1, row, each;
    const struct vbs_onnx_number *x;

    VBS_TRY(vbs_onnx_numbers(im, constant, &x));
    for (int d = 0; d < axis; d++)
        before *= shape->dim[d];
    row = vbs_shape_elements(shape) / before;
    each = vbs_shape_elements(&constant->shape) / before;
    begin *= row / shape->dim[axis];
    for (int64_t i = 0; i < before; i++)
        memcpy(all + i * row + begin, x + i * each, (size_t)each * sizeof *x);
    return VBS_OK;
}

/* The inputs of a Concat, in shapes of one rank. */
struct parts {
    int n;
    struct vbs_onnx_state *part;
    int64_t *begin; /* along the axis */
    int64_t *own;   /* what they have of the position of the sample, as in a state */
    int axis;
    struct vbs_shape shape; /* of the output */
    int n_tensors;
};

static enum vbs_status add_part(struct vbs_onnx_import *im, struct parts *p,
                                const struct vbs_onnx_state *state, int rank)
{
    struct vbs_onnx_state *part = &p->part[p->n];
    struct vbs_shape *shape;

    *part = *state;
    if (state->constant) {
        if (state->constant->shape.n_dims != rank)
            return vbs_fail(im->ctx, VBS_FORMAT, "inputs have different numbers of dimensions");
        VBS_TRY(vbs_onnx_strip_position(im, rank, part, &p->own[p->n]));
        VBS_TRY(vbs_onnx_align(im, part->constant, rank, &part->constant));
        part->shape = part->constant->shape;
    }
    if (state->tensor)
        p->own[p->n] = state->own;
    shape = &part->shape;
    if (vbs_shape_elements(shape) == 0) /* an empty constant adds nothing */
        return VBS_OK;
    if (shape->n_dims <= p->axis)
        return vbs_fail(im->ctx, VBS_FORMAT, "inputs have different numbers of dimensions");
    if (p->n == 0)
        p->shape = (struct vbs_shape){.n_dims = shape->n_dims};
    for (int d = 0; d < shape->n_dims; d++) {
        if (p->n == 0 && d != p->axis)
            p->shape.dim[d] = shape->dim[d];
        if (shape->n_dims != p->shape.n_dims || (d != p->axis && p->shape.dim[d] != shape->dim[d]))
            return vbs_fail(im->ctx, VBS_FORMAT, "sizes beside the axis differ");
    }
    p->begin[p->n++] = p->shape.dim[p->axis];
    p->shape.dim[p->axis] += shape->dim[p->axis];
    p->n_tensors += part->tensor != NULL;
    return VBS_OK;
}

static enum vbs_status read_parts(struct vbs_onnx_import *im, struct parts *p)
{
    size_t n = (size_t)im->node->n_inputs;
    int rank = 0;

    *p = (struct parts){.part = vbs_arena_alloc(im->arena, n, sizeof *p->part),
                        .begin = vbs_arena_alloc(im->arena, n, sizeof *p->begin),
                        .own = vbs_arena_alloc(im->arena, n, sizeof *p->own)};
    if (!p->part || !p->begin || !p->own)
        return vbs_no_memory(im->ctx);
    for (size_t i = 0; i < n; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, (int)i);

        if (state && state->tensor)
            rank = vbs_onnx_rank(im, state);
    }
    VBS_TRY(vbs_onnx_axis(im, vbs_onnx_int(im, "axis", 1), rank, &p->axis));
    for (size_t i = 0; i < n; i++) {
        const struct vbs_onnx_state *state = vbs_onnx_in(im, (int)i);

        if (!state)
            return vbs_fail(im->ctx, VBS_FORMAT, "input %zu is missing", i);
        VBS_TRY(add_part(im, p, state, rank));
    }
    return VBS_OK;
}

/* Joins n neighbouring parts, all of them tensors. The tensors are read in their own shapes where
 * the axis has the same place in all of them, else in the shapes of the file. */
static enum vbs_status join_tensors(struct vbs_onnx_import *im, const struct parts *p, int first,
                                    int n, struct vbs_onnx_state *joined)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_CONCAT, n);
    int shift = 0, common = 0;

    if (!draft)
        return vbs_no_memory(im->ctx);
    *joined = p->part[first];
    if (n == 1)
        return VBS_OK;
    joined->shape.dim[p->axis] = 0;
    for (int i = 0; i < n; i++) {
        const struct vbs_onnx_state *part = &p->part[first + i];
        struct vbs_shape view = vbs_onnx_view(part, p->axis, &shift);

        if (i == 0)
            common = shift;
        else if (shift != common)
            common = VBS_MAX_DIMS + 1;
        vbs_onnx_reads(draft, i, part->tensor, &view);
        joined->shape.dim[p->axis] += part->shape.dim[p->axis];
    }
    draft->node.attributes.concat.axis = p->axis + (common > VBS_MAX_DIMS ? 0 : common);
    for (int i = 0; i < n && common > VBS_MAX_DIMS; i++)
        draft->views[i] = p->part[first + i].shape;
    return vbs_onnx_tensor_new(im, draft, &joined->tensor);
}

/* Pads state with zeros along axis to the given size; its first element gets position begin. */
static enum vbs_status pad_along(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 int axis, int64_t begin, int64_t size,
                                 struct vbs_onnx_state *padded)
{
    union vbs_attributes attributes = {.pad = {.mode = VBS_PAD_CONSTANT}};

    *padded = *state;
    attributes.pad.before[axis] = begin;
    attributes.pad.behind[axis] = size - begin - state->shape.dim[axis];
    padded->shape.dim[axis] = size;
    return vbs_onnx_apply(im, VBS_OP_PAD, &attributes, state->tensor, &state->shape,
                          &padded->tensor);
}

/* Joins parts of which some are constants: each run of tensors is padded with zeros to the whole
 * size, and a constant with zeros in the tensors' places is added. */
static enum vbs_status join_mixed(struct vbs_onnx_import *im, const struct parts *p,
                                  struct vbs_onnx_state *result)
{
    struct vbs_onnx_state sum = {.tensor = NULL}, constant = {.tensor = NULL};
    struct vbs_onnx_number *all;
    enum vbs_status status = vbs_onnx_numbers_new(im, vbs_shape_elements(&p->shape), &all);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < p->n && status == VBS_OK;) {
        struct vbs_onnx_state run, padded = {.tensor = NULL}, before = sum;
        int n = 0;

        while (i + n < p->n && p->part[i + n].tensor)
            n++;
        if (n == 0) {
            status = place_constant(im, p->part[i].constant, p->axis, p->begin[i], &p->shape, all);
            i++;
            continue;
        }
        status = join_tensors(im, p, i, n, &run);
        if (status == VBS_OK)
            status = pad_along(im, &run, p->axis, p->begin[i], p->shape.dim[p->axis], &padded);
        if (status == VBS_OK && before.tensor)
            status = vbs_onnx_combine(im, VBS_OP_ADD, &before, &padded, &sum);
        else if (status == VBS_OK)
            sum = padded;
        i += n;
    }
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, &p->shape, all,
                                  &constant.constant));
    return vbs_onnx_operand(im, VBS_OP_ADD, &sum, constant.constant, false, result);
}

/* Gives the draft where a part is the elements of a tensor from element begin of the axis on, all
 * dimensions beside it whole; else null. */
static const struct vbs_onnx_draft *find_slice(const struct parts *p, int part, int64_t begin)
{
    const struct vbs_onnx_tensor *tensor = p->part[part].tensor;
    const struct vbs_onnx_draft *draft = tensor ? tensor->draft : NULL;
    const union vbs_attributes *a;

    if (!draft || !draft->from || draft->node.op != VBS_OP_SLICE ||
        !vbs_shape_equal(&tensor->shape, &p->part[part].shape) ||
        draft->views[0].n_dims != p->shape.n_dims)
        return NULL;
    a = &draft->node.attributes;
    for (int d = 0; d < p->shape.n_dims; d++)
        if (a->slice.step[d] != 1 || a->slice.begin[d] != (d == p->axis ? begin : 0))
            return NULL;
    return draft;
}

/* Gives the tensor that the parts are all slices of, in their order; null: they are not. */
static struct vbs_onnx_tensor *find_whole(const struct parts *p)
{
    struct vbs_onnx_tensor *whole = NULL;
    int64_t begin = 0;

    for (int i = 0; i < p->n; i++) {
        const struct vbs_onnx_draft *draft = find_slice(p, i, begin);

        if (!draft || (whole && draft->inputs[0] != whole) ||
            !vbs_shape_equal(&draft->views[0], &p->shape))
            return NULL;
        whole = draft->inputs[0];
        begin += p->part[i].shape.dim[p->axis];
    }
    return whole;
}

/* Joins the channels of images that were turned to have them last, as those that have them first.
 */
static enum vbs_status join_turned(struct vbs_onnx_import *im, struct parts *p, bool *joined,
                                   struct vbs_onnx_state *result)
{
    struct vbs_onnx_state *first = vbs_arena_alloc(im->arena, (size_t)p->n, sizeof *first);
    struct parts turned = *p;

    *joined = false;
    if (!first)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < p->n; i++)
        if (p->axis != p->shape.n_dims - 1 || !p->part[i].tensor ||
            !vbs_onnx_with_channels_first(&p->part[i], &first[i]))
            return VBS_OK;
    turned.part = first;
    turned.axis = im->batch ? 0 : 1;
    VBS_TRY(join_tensors(im, &turned, 0, p->n, result));
    *joined = true;
    return vbs_onnx_turn_channels(im, result, false, result);
}

/* Returns whether the first part is a column of the positions of samples, and the others, which do
 * not depend on these, stand behind it in rows. */
static enum vbs_status begins_with_position(struct vbs_onnx_import *im, const struct parts *p,
                                            bool *begins)
{
    const struct vbs_onnx_state *first = &p->part[0];
    const struct vbs_onnx_number *numbers;
    bool is_column = im->batch && im->outer == 0 && p->n > 1 && p->n_tensors == p->n - 1 &&
                     first->constant && p->axis == p->shape.n_dims - 1 && im->at <= p->axis &&
                     first->shape.dim[p->axis] == 1 &&
                     (p->own[0] == 1 || (p->own[0] == 0 && im->n_samples == 1));

    for (int i = 1; i < p->n; i++)
        is_column = is_column && p->own[i] == 0;
    *begins = is_column && vbs_onnx_is_wide(first->constant->type);
    if (!*begins)
        return VBS_OK;
    VBS_TRY(vbs_onnx_numbers(im, first->constant, &numbers));
    for (int64_t i = 0; i < vbs_shape_elements(&first->shape); i++)
        *begins = *begins && numbers[i].value == 0 && !numbers[i].batch;
    return VBS_OK;
}

/* Notes what the joined numbers have of the position of the sample. */
static enum vbs_status join_positions(struct vbs_onnx_import *im, const struct parts *p)
{
    struct vbs_onnx_state within;
    bool begins;

    for (int i = 0; i < p->n; i++)
        if (i == 0 || p->own[i] != im->own_out)
            im->own_out = i == 0 ? p->own[i] : VBS_ONNX_ELSE;
    VBS_TRY(begins_with_position(im, p, &begins));
    if (!begins)
        return im->own_out == VBS_ONNX_ELSE ? vbs_onnx_counts(im) : VBS_OK;
    VBS_TRY(join_tensors(im, p, 1, p->n - 1, &within));
    im->within_out = within.tensor;
    return VBS_OK;
}

VBS_ONNX_HANDLER(concat)
{
    struct vbs_onnx_tensor *whole;
    struct vbs_onnx_state result;
    struct parts parts;
    enum vbs_status status = read_parts(im, &parts);
    bool turned;

    (void)operator;
    if (status == VBS_OK)
        status = join_positions(im, &parts);
    if (status != VBS_OK)
        return status;
    whole = vbs_onnx_makes(im, VBS_OP_CONCAT) ? NULL : find_whole(&parts);
    if (whole)
        return vbs_onnx_give(im, 0, whole, &parts.shape);
    VBS_TRY(join_turned(im, &parts, &turned, &result));
    if (turned)
        return vbs_onnx_give(im, 0, result.tensor, &parts.shape);
    VBS_TRY(parts.n_tensors == parts.n ? join_tensors(im, &parts, 0, parts.n, &result)
                                       : join_mixed(im, &parts, &result));
    return vbs_onnx_give(im, 0, result.tensor, &parts.shape);
}

/* ---- Pad ---- */

const char *const vbs_onnx_pad_modes[] = {"constant", "reflect", "edge", "wrap", NULL};

enum vbs_status vbs_onnx_read_pads(struct vbs_onnx_import *im, int rank, struct vbs_onnx_pads *pads)
{
    int64_t values[2 * (VBS_MAX_DIMS + 1)], axes[VBS_MAX_DIMS + 1];
    const char *name = im->graph->opset < 2 ? "paddings" : "pads";
    bool given, some = false;
    int n, n_axes = rank;
    enum vbs_status status = vbs_onnx_list(im, name, 1, 11, 2 * rank, values, &n, &given);

    *pads = (struct vbs_onnx_pads){{0}, {0}};
    if (status != VBS_OK)
        return status;
    if (im->graph->opset >= 18)
        VBS_TRY(vbs_onnx_list(im, "axes", 3, 18, rank, axes, &n_axes, &some));
    n_axes = some ? n_axes : rank;
    if (n != 2 * n_axes)
        return vbs_fail(im->ctx, VBS_FORMAT, "%d pads for %d dimensions", n, n_axes);
    for (int i = 0; i < n_axes; i++) {
        int64_t axis = some ? axes[i] + (axes[i] < 0 ? rank : 0) : i;

        if (axis < 0 || axis >= rank)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axes[i]);
        pads->before[axis] = values[i];
        pads->behind[axis] = values[i + n_axes];
    }
    return VBS_OK;
}

enum vbs_status vbs_onnx_read_pad_value(struct vbs_onnx_import *im, long double *value)
{
    const struct vbs_onnx_number *number;
    struct vbs_onnx_constant *constant;

    *value = vbs_onnx_real(im, "value", 0);
    if (im->graph->opset < 11 || !vbs_onnx_in(im, 2))
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, 2, &constant));
    VBS_TRY(vbs_onnx_numbers(im, constant, &number));
    if (vbs_shape_elements(&constant->shape) != 1 || isnan(number->value))
        return vbs_fail(im->ctx, VBS_FORMAT, "the value to pad with is no number");
    if (number->batch)
        return vbs_onnx_counts(im);
    *value = number->value;
    return VBS_OK;
}

/* Cuts off the elements that pads below 0 name, which become 0: what is added behind this comes
 * from the elements that are left. */
static enum vbs_status cut_padded(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  struct vbs_onnx_pads *pads, struct vbs_onnx_state *left)
{
    union vbs_attributes attributes = {.slice = {.count = {0}}};
    struct vbs_shape view = vbs_onnx_shape(state);
    bool cuts = false;

    *left = *state;
    for (int d = 0; d < state->shape.n_dims; d++) {
        int64_t *before = &pads->before[vbs_onnx_file_dim(im, d)];
        int64_t *behind = &pads->behind[vbs_onnx_file_dim(im, d)];
        int64_t begin = *before < 0 ? -*before : 0, dim = state->shape.dim[d];

        if (begin > dim || (*behind < 0 && -*behind >= dim - begin) || begin == dim)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "cuts off all elements of dimension %d",
                            vbs_onnx_file_dim(im, d));
        cuts |= *before < 0 || *behind < 0;
        left->shape.dim[d] = dim - begin + (*behind < 0 ? *behind : 0);
        attributes.slice.begin[d] = begin;
        attributes.slice.step[d] = 1;
        attributes.slice.count[d] = left->shape.dim[d];
        *before += begin;
        *behind = *behind < 0 ? 0 : *behind;
    }
    return cuts ? vbs_onnx_apply(im, VBS_OP_SLICE, &attributes, state->tensor, &view, &left->tensor)
                : VBS_OK;
}

VBS_ONNX_HANDLER(pad)
{
    union vbs_attributes attributes = {.pad = {.mode = VBS_PAD_CONSTANT}};
    int mode = vbs_onnx_word(im, "mode", vbs_onnx_pad_modes, 0), first = -1, shift;
    const struct vbs_onnx_state *state;
    struct vbs_onnx_state left;
    struct vbs_shape view, shape;
    struct vbs_onnx_tensor *tensor;
    struct vbs_onnx_pads pads;
    long double value;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &state);

    (void)operator;
    if (mode < 0)
        return im->bad;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_read_pads(im, vbs_onnx_rank(im, state), &pads));
    VBS_TRY(vbs_onnx_read_pad_value(im, &value));
    attributes.pad.value = (double)value;
    if (im->batch && (pads.before[im->at] || pads.behind[im->at]))
        return vbs_onnx_mixes(im);
    if (mode == VBS_PAD_REFLECT || mode == VBS_PAD_WRAP) {
        VBS_TRY(cut_padded(im, state, &pads, &left));
        state = &left;
    }
    shape = state->shape;
    for (int d = shape.n_dims - 1; d >= 0; d--)
        if (pads.before[vbs_onnx_file_dim(im, d)] || pads.behind[vbs_onnx_file_dim(im, d)])
            first = d;
    if (first < 0 && vbs_onnx_makes(im, VBS_OP_PAD) && shape.n_dims > 0)
        first = 0;
    if (first < 0)
        return vbs_onnx_give(im, 0, state->tensor, &shape);
    attributes.pad.mode = (enum vbs_pad_mode)mode;
    view = vbs_onnx_view(state, first, &shift);
    for (int d = first; d < shape.n_dims; d++) {
        attributes.pad.before[d + shift] = pads.before[vbs_onnx_file_dim(im, d)];
        attributes.pad.behind[d + shift] = pads.behind[vbs_onnx_file_dim(im, d)];
    }
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_PAD, &attributes, state->tensor, &view, &tensor));
    for (int d = first; d < shape.n_dims; d++)
        shape.dim[d] = tensor->shape.dim[d + shift];
    return vbs_onnx_give(im, 0, tensor, &shape);
}

/* ---- Expand, Tile ---- */

/* Repeats the tensor of state, read in the shape view, to fill target. */
static enum vbs_status expand_to(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const struct vbs_shape *view, const struct vbs_shape *target,
                                 struct vbs_onnx_tensor **tensor)
{
    union vbs_attributes attributes = {.expand = {*target}};

    *tensor = state->tensor;
    if (vbs_shape_elements(view) == vbs_shape_elements(target))
        return VBS_OK;
    return vbs_onnx_apply(im, VBS_OP_EXPAND, &attributes, state->tensor, view, tensor);
}

static enum vbs_status expand_tensor(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                     const int64_t *values, int n, bool batch_first)
{
    int rank = vbs_onnx_rank(im, state), more;
    struct vbs_shape target = state->shape, view = vbs_onnx_shape(state);
    struct vbs_onnx_tensor *tensor;

    if (im->batch && im->outer == 0 &&
        (n > rank || (n == rank && !batch_first && values[0] != 1 && values[0] != im->n_samples)))
        return vbs_onnx_mixes(im);
    if (im->batch && im->outer == 0 && n == rank) {
        values++;
        n--;
    }
    if (n > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    more = n - target.n_dims;
    if (more > 0) {
        memmove(target.dim + more, target.dim, (size_t)target.n_dims * sizeof target.dim[0]);
        target.n_dims = n;
        for (int d = 0; d < more; d++)
            target.dim[d] = 1;
    }
    for (int d = 0; d < n; d++) {
        int64_t *dim = &target.dim[d + target.n_dims - n];

        if (values[d] != 1 && *dim != 1 && *dim != values[d])
            return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d of %lld cannot be repeated to %lld",
                            d, (long long)*dim, (long long)values[d]);
        *dim = *dim == 1 ? values[d] : *dim;
    }
    if (target.n_dims > 0 && !vbs_shape_valid(&target))
        return vbs_fail(im->ctx, VBS_FORMAT, "the shape to repeat to is invalid or too large");
    VBS_TRY(expand_to(im, state, &view, &target, &tensor));
    return vbs_onnx_give(im, 0, tensor, &target);
}

VBS_ONNX_HANDLER(expand)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    int64_t values[VBS_MAX_DIMS + 1];
    struct vbs_onnx_constant *view;
    const struct vbs_shape *own;
    struct vbs_shape shape;
    int n, open, own_copies = 0;
    enum vbs_status status = vbs_onnx_target(im, 1, values, &open, &n);

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    if (state->tensor && im->outer > 0) { /* the dimension of the samples stays as it is */
        bool stays = n == state->shape.n_dims &&
                     (open >= 0 ? open == im->at && values[open] == state->shape.dim[open]
                                : values[im->at] == 1 ||
                                      values[im->at] == state->shape.dim[im->at] * im->n_samples);

        values[im->at] = 1;
        return stays ? expand_tensor(im, state, values, n, false) : vbs_onnx_mixes(im);
    }
    if (state->tensor)
        return open > 0 || (open == 0 && values[0] != 1)
                   ? vbs_onnx_mixes(im)
                   : expand_tensor(im, state, values, n, open == 0);
    VBS_TRY(vbs_onnx_constant_shape(im, values, n, &shape));
    own = &state->constant->shape;
    if (open >= 0 && own->n_dims - n + open >= 0 && own->dim[own->n_dims - n + open] != 1)
        return vbs_onnx_mixes(im);
    /* broadcasting goes both ways: a dimension of the constant that is larger is kept */
    VBS_TRY(vbs_onnx_broadcast(im, own, &shape));
    if (state->constant->copies > 0)
        own_copies = state->constant->copies + shape.n_dims - own->n_dims;
    VBS_TRY(vbs_onnx_constant_expand(im, state->constant, &shape, &view));
    im->copies = own_copies;
    if (open >= 0)
        im->copies = own_copies > 0 && own_copies != open + 1 + shape.n_dims - n
                         ? VBS_ONNX_UNSAID
                         : open + 1 + shape.n_dims - n;
    vbs_onnx_give_constant(im, 0, view);
    return VBS_OK;
}

VBS_ONNX_HANDLER(tile)
{
    int64_t repeats[VBS_MAX_DIMS + 1];
    struct vbs_shape view = {.n_dims = 0}, target, shape;
    const struct vbs_onnx_state *state;
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_tensor *tensor;
    int n = 0;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &state);

    (void)operator;
    if (status != VBS_OK)
        return status;
    VBS_TRY(vbs_onnx_constant_in(im, 1, &constant));
    VBS_TRY(vbs_onnx_whole_numbers(im, constant, VBS_MAX_DIMS + 1, repeats, &n));
    if (n != vbs_onnx_rank(im, state))
        return vbs_fail(im->ctx, VBS_FORMAT, "%d repeats for %d dimensions", n,
                        vbs_onnx_rank(im, state));
    if (im->batch && repeats[0] != 1)
        return vbs_onnx_mixes(im);
    shape = state->shape;
    target = view;
    for (int d = 0; d < shape.n_dims; d++) {
        int64_t times = repeats[d + im->batch];
        bool apart = times != 1 && shape.dim[d] != 1;

        if (times < 1 || times > VBS_MAX_DIM || shape.dim[d] > VBS_MAX_DIM / times)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "%lld repeats", (long long)times);
        if (view.n_dims + 1 + apart > VBS_MAX_DIMS)
            return vbs_fail(im->ctx, VBS_UNSUPPORTED, "repeats too many dimensions");
        if (apart) {
            view.dim[view.n_dims++] = 1;
            target.dim[target.n_dims++] = times;
        }
        view.dim[view.n_dims++] = shape.dim[d];
        target.dim[target.n_dims++] = apart ? shape.dim[d] : times * shape.dim[d];
        shape.dim[d] *= times;
    }
    if (shape.n_dims == 0)
        return vbs_onnx_give(im, 0, state->tensor, &shape);
    if (!vbs_shape_valid(&target))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output is larger than 2^36 elements");
    VBS_TRY(expand_to(im, state, &view, &target, &tensor));
    return vbs_onnx_give(im, 0, tensor, &shape);
}
