/* Operators that change where values stand: Transpose, Slice and their like. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"
#include "model/network/network.h"

#include <string.h>

/* ---- Transpose ---- */

/* Gives whether perm leaves the dimensions other than 1 in their order. */
static bool keeps_order(const struct vbs_shape *shape, const int *perm)
{
    int last = -1;

    for (int d = 0; d < shape->n_dims; d++) {
        if (shape->dim[perm[d]] == 1)
            continue;
        if (perm[d] < last)
            return false;
        last = perm[d];
    }
    return true;
}

/* Recognises a channel shuffle: the channels of the tensor are divided into two dimensions, which
 * are swapped. Gives the number of groups, or 0 where perm is none. */
static int64_t shuffled_groups(const struct vbs_onnx_state *state, const int *perm)
{
    const struct vbs_shape *own = &state->tensor->shape, *seen = &state->shape;

    if (seen->n_dims != own->n_dims + 1 || own->n_dims < 2 || perm[0] != 1 || perm[1] != 0 ||
        seen->dim[0] * seen->dim[1] != own->dim[0])
        return 0;
    for (int d = 2; d < seen->n_dims; d++)
        if (perm[d] != d || seen->dim[d] != own->dim[d - 1])
            return 0;
    return seen->dim[0];
}

/* Counts the leading dimensions that only the file's shape has and that perm leaves in their
 * place. */
static int spare_dims(const struct vbs_onnx_state *state, const int *perm)
{
    const struct vbs_shape *own = &state->tensor->shape;
    int spare = state->shape.n_dims - own->n_dims;

    if (spare <= 0 || !vbs_onnx_same_but_ones(own, &state->shape))
        return 0;
    for (int d = 0; d < spare; d++)
        if (perm[d] != d)
            return 0;
    return spare;
}

enum vbs_status vbs_onnx_permute(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const int *perm, struct vbs_onnx_state *result)
{
    bool kept = vbs_onnx_makes(im, VBS_OP_TRANSPOSE);
    int64_t groups = kept ? 0 : shuffled_groups(state, perm);
    union vbs_attributes attributes;
    struct vbs_onnx_state out = {.tensor = state->tensor, .shape = state->shape};
    const struct vbs_onnx_draft *before = vbs_onnx_pending(state->tensor, VBS_OP_TRANSPOSE);
    int spare = spare_dims(state, perm);

    for (int d = 0; d < out.shape.n_dims; d++)
        out.shape.dim[d] = state->shape.dim[perm[d]];
    if (!kept && !vbs_onnx_belongs(im, VBS_OP_SHUFFLE) && keeps_order(&state->shape, perm)) {
        *result = out;
        return VBS_OK;
    }
    if (before && vbs_shape_equal(&state->shape, &state->tensor->shape)) {
        struct vbs_onnx_state source = {.tensor = before->inputs[0], .shape = before->views[0]};
        int both[VBS_MAX_DIMS];

        for (int d = 0; d < out.shape.n_dims; d++)
            both[d] = before->node.attributes.transpose.perm[perm[d]];
        return vbs_onnx_permute(im, &source, both, result);
    }
    if (groups) {
        attributes = (union vbs_attributes){.shuffle = {groups}};
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_SHUFFLE, &attributes, state->tensor, NULL, &out.tensor));
    } else {
        struct vbs_shape view = spare ? state->tensor->shape : state->shape;

        attributes = (union vbs_attributes){.transpose = {{0}}};
        for (int d = 0; d < view.n_dims; d++)
            attributes.transpose.perm[d] = perm[d + spare] - spare;
        VBS_TRY(
            vbs_onnx_apply(im, VBS_OP_TRANSPOSE, &attributes, state->tensor, &view, &out.tensor));
    }
    *result = out;
    return VBS_OK;
}

bool vbs_onnx_with_channels_first(const struct vbs_onnx_state *state, struct vbs_onnx_state *first)
{
    if (!state->tensor || !state->tensor->first ||
        !vbs_shape_equal(&state->shape, &state->tensor->shape))
        return false;
    *first = *state;
    first->shape = state->tensor->first_shape;
    first->tensor = state->tensor->first;
    return true;
}

/* Makes the permutation of n dimensions that moves the channels of an image; false: it has none. */
static bool turning_perm(const struct vbs_onnx_import *im, int n, bool first, int *perm)
{
    int images = im->batch ? 0 : 1, last = n - 1;

    for (int d = 0; d <= last; d++)
        perm[d] = d;
    for (int d = images; d <= last; d++)
        perm[d] = first ? (d == images ? last : d - 1) : d == last ? images : d + 1;
    return last >= images;
}

/* Gives whether perm moves the channels of an image with two dimensions or more beside them. */
static bool turns_channels(const struct vbs_onnx_import *im, int n, bool first, const int *perm)
{
    int turning[VBS_MAX_DIMS];

    return n >= (im->batch ? 3 : 4) && vbs_onnx_is_apart(im) == im->batch && im->at == 0 &&
           turning_perm(im, n, first, turning) &&
           memcmp(perm, turning, (size_t)n * sizeof *perm) == 0;
}

/* Notes that a tensor is an image that was turned to have its channels last. */
static void note_turned(const struct vbs_onnx_state *from, const struct vbs_onnx_state *turned)
{
    if (turned->tensor == from->tensor)
        return;
    turned->tensor->first = from->tensor;
    turned->tensor->first_shape = from->shape;
}

enum vbs_status vbs_onnx_turn_channels(struct vbs_onnx_import *im,
                                       const struct vbs_onnx_state *state, bool first,
                                       struct vbs_onnx_state *result)
{
    int perm[VBS_MAX_DIMS];
    struct vbs_onnx_state turned;

    if (!turning_perm(im, state->shape.n_dims, first, perm))
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no channels");
    if (first && vbs_onnx_with_channels_first(state, result))
        return VBS_OK;
    VBS_TRY(vbs_onnx_permute(im, state, perm, &turned));
    turned.at = state->at;
    if (!first)
        note_turned(state, &turned);
    *result = turned;
    return VBS_OK;
}

/* Reads the attribute perm for rank dimensions; VBS_FORMAT when it is no permutation of them. */
static enum vbs_status read_perm(struct vbs_onnx_import *im, int rank, int *perm)
{
    int n;
    const int64_t *list = vbs_onnx_ints(im, "perm", &n);
    unsigned seen = 0;

    if (list && n != rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "'perm' has %d values for %d dimensions", n, rank);
    for (int d = 0; d < rank; d++) {
        int64_t from = list ? list[d] : rank - 1 - d;

        if (from < 0 || from >= rank || seen >> from & 1)
            return vbs_fail(im->ctx, VBS_FORMAT, "'perm' is no permutation");
        seen |= 1u << from;
        perm[d] = (int)from;
    }
    return VBS_OK;
}

/* Makes a permutation of the n dimensions of a sample from one of the file, and sets im->at_out to
 * where it moves the samples. */
static void take_samples(struct vbs_onnx_import *im, int n, int *perm)
{
    bool apart = vbs_onnx_is_apart(im);
    int left = 0;

    for (int d = 0; im->batch && d < n + apart; d++) {
        if (perm[d] == im->at)
            im->at_out = d;
        if (!apart || perm[d] != im->at)
            perm[left++] = perm[d] - (apart && perm[d] > im->at);
    }
}

VBS_ONNX_HANDLER(transpose)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    struct vbs_onnx_state result;
    struct vbs_onnx_constant *view;
    int perm[VBS_MAX_DIMS + 1];

    (void)operator;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    if (state->constant) {
        VBS_TRY(read_perm(im, state->constant->shape.n_dims, perm));
        VBS_TRY(vbs_onnx_constant_transpose(im, state->constant, perm, &view));
        im->copies = 0;
        for (int d = 0; d < view->shape.n_dims; d++)
            if (perm[d] + 1 == state->constant->copies)
                im->copies = d + 1;
        vbs_onnx_give_constant(im, 0, view);
        return VBS_OK;
    }
    VBS_TRY(read_perm(im, vbs_onnx_rank(im, state), perm));
    take_samples(im, state->shape.n_dims, perm);
    if (!vbs_onnx_makes(im, VBS_OP_TRANSPOSE) &&
        turns_channels(im, state->shape.n_dims, true, perm) &&
        vbs_onnx_with_channels_first(state, &result))
        return vbs_onnx_give(im, 0, result.tensor, &result.shape);
    VBS_TRY(vbs_onnx_permute(im, state, perm, &result));
    if (turns_channels(im, state->shape.n_dims, false, perm))
        note_turned(state, &result);
    return vbs_onnx_give(im, 0, result.tensor, &result.shape);
}

/* DepthToSpace (DCR and CRD) and SpaceToDepth divide channels, move their dimensions and join them
 * again. */
VBS_ONNX_HANDLER(space_depth)
{
    static const char *const MODES[] = {"DCR", "CRD", NULL};
    static const int PERMS[3][5] = {{2, 3, 0, 4, 1}, {0, 3, 1, 4, 2}, {2, 4, 0, 1, 3}};
    bool to_depth = strcmp(operator->name, "SpaceToDepth") == 0;
    int64_t b = vbs_onnx_int(im, "blocksize", 0), c, h, w;
    int mode = to_depth ? 2 : vbs_onnx_word(im, "mode", MODES, 0);
    const struct vbs_onnx_state *state;
    struct vbs_onnx_state divided, moved;
    struct vbs_shape view;
    enum vbs_status status = vbs_onnx_tensor_in(im, 0, &state);

    if (status == VBS_OK)
        status = vbs_onnx_channels(im, state, &view);
    if (status != VBS_OK || mode < 0)
        return status != VBS_OK ? status : im->bad;
    if (view.n_dims != 3 || b < 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "needs an image and blocks of 1 or more");
    c = view.dim[0], h = view.dim[1], w = view.dim[2];
    if (to_depth ? h % b || w % b : c % b || c / b % b)
        return vbs_fail(im->ctx, VBS_FORMAT, "blocks of %lld do not divide its input",
                        (long long)b);
    divided = (struct vbs_onnx_state){.tensor = state->tensor};
    if (mode == 0)
        divided.shape = (struct vbs_shape){5, {b, b, c / b / b, h, w}};
    else if (mode == 1)
        divided.shape = (struct vbs_shape){5, {c / b / b, b, b, h, w}};
    else
        divided.shape = (struct vbs_shape){5, {c, h / b, b, w / b, b}};
    VBS_TRY(vbs_onnx_permute(im, &divided, PERMS[mode], &moved));
    if (to_depth)
        view = (struct vbs_shape){3, {c * b * b, h / b, w / b}};
    else
        view = (struct vbs_shape){3, {c / b / b, h * b, w * b}};
    view = vbs_onnx_unchannels(im, &view);
    return vbs_onnx_give(im, 0, moved.tensor, &view);
}

/* ---- Slice ---- */

/* The range that a Slice takes of each dimension of a value. */
struct cut {
    int64_t begin[VBS_MAX_DIMS], step[VBS_MAX_DIMS], count[VBS_MAX_DIMS];
};

static void cut_nothing(const struct vbs_shape *shape, struct cut *cut)
{
    for (int d = 0; d < shape->n_dims; d++) {
        cut->begin[d] = 0;
        cut->step[d] = 1;
        cut->count[d] = shape->dim[d];
    }
}

static enum vbs_status cut_constant(struct vbs_onnx_import *im, struct vbs_onnx_constant *constant,
                                    const struct cut *cut, struct vbs_onnx_state *result)
{
    struct vbs_shape shape = constant->shape;
    int64_t stride[VBS_MAX_DIMS], offset = 0;
    enum vbs_status status = VBS_OK;

    for (int d = 0; d < shape.n_dims && status == VBS_OK; d++)
        if (cut->step[d] < 0)
            status = vbs_onnx_constant_compute(im, constant, &constant);
    for (int d = 0; d < shape.n_dims; d++) {
        shape.dim[d] = cut->count[d];
        stride[d] = constant->stride[d] * cut->step[d];
        offset += cut->count[d] > 0 ? cut->begin[d] * constant->stride[d] : 0;
    }
    *result = (struct vbs_onnx_state){.tensor = NULL};
    if (status == VBS_OK)
        status = vbs_onnx_constant_view(im, constant, &shape, stride, offset, &result->constant);
    return status;
}

/* Combines two slices into one: cut, and before, the draft that made the input of cut. */
static struct cut cut_of_cut(const struct vbs_onnx_draft *before, const struct cut *cut)
{
    const union vbs_attributes *a = &before->node.attributes;
    struct cut both = {{0}, {0}, {0}};

    for (int d = 0; d < before->views[0].n_dims; d++) {
        both.begin[d] = a->slice.begin[d] + cut->begin[d] * a->slice.step[d];
        both.step[d] = cut->count[d] == 1 ? 1 : a->slice.step[d] * cut->step[d];
        both.count[d] = cut->count[d];
    }
    return both;
}

static enum vbs_status cut_tensor(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  const struct cut *cut, struct vbs_onnx_state *result)
{
    const struct vbs_onnx_draft *before = vbs_onnx_pending(state->tensor, VBS_OP_SLICE);
    union vbs_attributes attributes = {.slice = {.count = {0}}};
    int first = -1, shift;
    struct vbs_shape view;

    *result = *state;
    for (int d = state->shape.n_dims - 1; d >= 0; d--) {
        if (cut->count[d] != state->shape.dim[d] || cut->step[d] != 1)
            first = d;
        result->shape.dim[d] = cut->count[d];
    }
    if (first < 0 && vbs_onnx_makes(im, VBS_OP_SLICE))
        first = 0;
    if (first < 0)
        return VBS_OK;
    if (before && vbs_shape_equal(&state->shape, &state->tensor->shape)) {
        struct vbs_onnx_state source = {.tensor = before->inputs[0], .shape = before->views[0]};
        struct cut both = cut_of_cut(before, cut);

        return cut_tensor(im, &source, &both, result);
    }
    view = vbs_onnx_view(state, first, &shift);
    for (int d = 0; d < view.n_dims; d++) {
        bool own = d - shift >= 0;

        attributes.slice.begin[d] = own ? cut->begin[d - shift] : 0;
        attributes.slice.step[d] = own ? cut->step[d - shift] : 1;
        attributes.slice.count[d] = own ? cut->count[d - shift] : 1;
    }
    return vbs_onnx_apply(im, VBS_OP_SLICE, &attributes, state->tensor, &view, &result->tensor);
}

/* Makes what has no elements: a constant that all samples share. */
static enum vbs_status make_empty(struct vbs_onnx_import *im, const struct vbs_onnx_state *like,
                                  const struct cut *cut, struct vbs_onnx_state *result)
{
    int type = vbs_onnx_holds_whole(like) ? ONNX__TENSOR_PROTO__DATA_TYPE__INT64
                                          : ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
    struct vbs_shape shape = {.n_dims = 0};
    struct vbs_onnx_number *none;

    if (im->batch && (im->outer > 0 || like->shape.n_dims == VBS_MAX_DIMS))
        return vbs_onnx_mixes(im);
    for (int d = 0; d <= like->shape.n_dims; d++) {
        if (im->batch && d == im->at)
            shape.dim[shape.n_dims++] = 1;
        if (d < like->shape.n_dims)
            shape.dim[shape.n_dims++] = cut->count[d];
    }
    im->copies = im->batch ? im->at + 1 : 0;
    *result = (struct vbs_onnx_state){.tensor = NULL};
    VBS_TRY(vbs_onnx_numbers_new(im, 0, &none));
    return vbs_onnx_constant_new(im, type, &shape, none, &result->constant);
}

static enum vbs_status cut_state(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 const struct cut *cut, struct vbs_onnx_state *result)
{
    if (state->constant)
        return cut_constant(im, state->constant, cut, result);
    for (int d = 0; d < state->shape.n_dims; d++)
        if (cut->count[d] < 1)
            return make_empty(im, state, cut, result);
    return cut_tensor(im, state, cut, result);
}

static enum vbs_status give_state(struct vbs_onnx_import *im, int index,
                                  const struct vbs_onnx_state *state)
{
    if (state->tensor)
        return vbs_onnx_give(im, index, state->tensor, &state->shape);
    vbs_onnx_give_constant(im, index, state->constant);
    return VBS_OK;
}

static int64_t limit(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* Normalises start, end and step of an ONNX Slice in a dimension of dim elements. */
static void cut_range(int64_t dim, int64_t start, int64_t end, int64_t step, int d, struct cut *cut)
{
    int64_t length;

    if (dim == 0) {
        cut->count[d] = 0;
        return;
    }
    step = limit(step, -VBS_MAX_DIM, VBS_MAX_DIM);
    start += start < 0 ? dim : 0;
    end += end < 0 && end >= -dim ? dim : 0;
    if (step > 0) {
        start = limit(start, 0, dim);
        end = limit(end, 0, dim);
        length = end > start ? (end - start + step - 1) / step : 0;
    } else {
        start = limit(start, 0, dim - 1);
        end = limit(end, -1, dim - 1);
        length = start > end ? (start - end - step - 1) / -step : 0;
    }
    cut->begin[d] = start;
    cut->step[d] = step;
    cut->count[d] = length;
}

/* The starts, ends, axes and steps of a Slice node. */
struct ranges {
    int64_t start[VBS_MAX_DIMS + 1], end[VBS_MAX_DIMS + 1], axis[VBS_MAX_DIMS + 1],
        step[VBS_MAX_DIMS + 1];
    int n;
};

static enum vbs_status read_ranges(struct vbs_onnx_import *im, struct ranges *r)
{
    const int most = VBS_MAX_DIMS + 1;
    int n_ends = 0, n_axes = 0, n_steps = 0;
    bool given, axes = false, steps = false;

    VBS_TRY(vbs_onnx_list(im, "starts", 1, 10, most, r->start, &r->n, &given));
    VBS_TRY(vbs_onnx_list(im, "ends", 2, 10, most, r->end, &n_ends, &given));
    VBS_TRY(vbs_onnx_list(im, "axes", 3, 10, most, r->axis, &n_axes, &axes));
    VBS_TRY(vbs_onnx_list(im, "steps", 4, 10, most, r->step, &n_steps, &steps));
    if (n_ends != r->n || (axes && n_axes != r->n) || (steps && n_steps != r->n))
        return vbs_fail(im->ctx, VBS_FORMAT, "starts, ends, axes and steps are not as many");
    for (int i = 0; i < r->n; i++) {
        r->axis[i] = axes ? r->axis[i] : i;
        r->step[i] = steps ? r->step[i] : 1;
        if (r->step[i] == 0)
            return vbs_fail(im->ctx, VBS_FORMAT, "a step is 0");
    }
    return VBS_OK;
}

/* Gives whether a range covers all samples, whose number is not known. */
static bool is_all(const struct vbs_onnx_import *im, const struct ranges *r, int i)
{
    return r->start[i] == 0 && r->step[i] == 1 &&
           (r->end[i] >= VBS_MAX_DIM || (im->n_samples > 0 && r->end[i] == im->n_samples));
}

/* Returns whether a range of a dimension of copies, dim for each sample, takes all of them, or the
 * first one where there is one for each: one copy is as good as all. */
static bool is_one_or_all(const struct ranges *r, int i, int64_t dim)
{
    return r->start[i] == 0 && r->step[i] == 1 &&
           (r->end[i] >= VBS_MAX_DIM || (dim == 1 && r->end[i] == 1));
}

VBS_ONNX_HANDLER(slice)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    const struct vbs_shape *shape;
    struct vbs_onnx_state result;
    struct ranges ranges;
    struct cut cut;
    enum vbs_status status = read_ranges(im, &ranges);
    bool samples, apart;
    int rank;

    (void)operator;
    if (status != VBS_OK)
        return status;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    samples = im->batch && state->tensor;
    apart = samples && vbs_onnx_is_apart(im);
    shape = state->tensor ? &state->shape : &state->constant->shape;
    rank = shape->n_dims + apart;
    cut_nothing(shape, &cut);
    for (int i = 0; i < ranges.n; i++) {
        int64_t axis = ranges.axis[i] + (ranges.axis[i] < 0 ? rank : 0);

        if (axis < 0 || axis >= rank)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld",
                            (long long)ranges.axis[i]);
        if (samples && axis == im->at) {
            if (!is_all(im, &ranges, i))
                return vbs_onnx_mixes(im);
            continue;
        }
        axis -= apart && axis > im->at;
        if (state->constant && !is_one_or_all(&ranges, i, shape->dim[axis]))
            VBS_TRY(vbs_onnx_check_copies(im, state->constant, 1u << axis));
        cut_range(shape->dim[axis], ranges.start[i], ranges.end[i], ranges.step[i], (int)axis,
                  &cut);
    }
    im->copies = state->constant ? state->constant->copies : 0;
    VBS_TRY(cut_state(im, state, &cut, &result));
    return give_state(im, 0, &result);
}

/* ---- Split ---- */

/* Reads the sizes of the outputs of a Split of dim elements. */
static enum vbs_status split_sizes(struct vbs_onnx_import *im, int64_t dim, int64_t *sizes)
{
    int n = im->node->n_outputs, given_sizes = 0;
    int64_t sum = 0, each;
    bool given;

    VBS_TRY(vbs_onnx_list(im, "split", 1, 13, n, sizes, &given_sizes, &given));
    each = im->graph->opset >= 18 ? (dim + n - 1) / n : dim / n;
    for (int i = 0; i < n && !given; i++)
        sizes[i] = i + 1 < n || im->graph->opset < 18 ? each : dim - each * (n - 1);
    for (int i = 0; i < n && (!given || given_sizes == n); i++) {
        if (sizes[i] < 0 || sizes[i] > dim)
            return vbs_fail(im->ctx, VBS_FORMAT, "a part of %lld elements", (long long)sizes[i]);
        sum += sizes[i];
    }
    if (sum != dim)
        return vbs_fail(im->ctx, VBS_FORMAT, "its parts are not the %lld elements of its input",
                        (long long)dim);
    return VBS_OK;
}

VBS_ONNX_HANDLER(split)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    int64_t axis = vbs_onnx_int(im, "axis", 0), begin = 0;
    const struct vbs_shape *shape;
    struct vbs_onnx_state result;
    int64_t *sizes;
    struct cut cut;
    bool samples, apart;
    int rank;

    (void)operator;
    if (!state)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    samples = im->batch && state->tensor;
    apart = samples && vbs_onnx_is_apart(im);
    shape = state->tensor ? &state->shape : &state->constant->shape;
    rank = shape->n_dims + apart;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axis);
    if (samples && axis == im->at)
        return vbs_onnx_mixes(im);
    axis -= apart && axis > im->at;
    if (state->constant)
        VBS_TRY(vbs_onnx_check_copies(im, state->constant, 1u << axis));
    im->copies = state->constant ? state->constant->copies : 0;
    sizes = vbs_arena_alloc(im->arena, (size_t)im->node->n_outputs, sizeof *sizes);
    if (!sizes)
        return vbs_no_memory(im->ctx);
    VBS_TRY(split_sizes(im, shape->dim[axis], sizes));
    for (int i = 0; i < im->node->n_outputs; begin += sizes[i++]) {
        if (!vbs_onnx_output_used(im, i))
            continue;
        cut_nothing(shape, &cut);
        cut.begin[axis] = begin;
        cut.count[axis] = sizes[i];
        VBS_TRY(cut_state(im, state, &cut, &result));
        VBS_TRY(give_state(im, i, &result));
    }
    return VBS_OK;
}

/* ---- Gather ---- */

/* Reads and checks indices and counts them from the front; *even tells whether they rise or fall by
 * the same step. */
static enum vbs_status read_indices(struct vbs_onnx_import *im, struct vbs_onnx_constant *indices,
                                    int64_t dim, const struct vbs_onnx_number **numbers,
                                    int64_t *first, int64_t *step)
{
    int64_t count = vbs_shape_elements(&indices->shape), before = 0;
    const struct vbs_onnx_number *given;
    struct vbs_onnx_number *made;

    VBS_TRY(vbs_onnx_numbers(im, indices, &given));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &made));
    if (count == 0 || dim > 1 << 24)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "no indices, or into more than 2^24 elements");
    for (int64_t i = 0; i < count; i++) {
        int64_t at = vbs_onnx_clamp(given[i].value);

        if (given[i].batch)
            return vbs_onnx_counts(im);
        at += at < 0 ? dim : 0;
        if (at < 0 || at >= dim)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no element %lld among %lld",
                            (long long)vbs_onnx_clamp(given[i].value), (long long)dim);
        made[i].value = at;
        if (i == 0)
            *first = at;
        else if (i == 1)
            *step = at - before;
        else if (at - before != *step)
            *step = 0;
        before = at;
    }
    *step = count == 1 ? 1 : *step;
    *numbers = made;
    return VBS_OK;
}

static enum vbs_status gather_layer(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                    int axis, const struct vbs_shape *indices,
                                    const struct vbs_onnx_number *numbers,
                                    struct vbs_onnx_tensor **tensor)
{
    struct vbs_shape list = {.n_dims = 1, .dim = {vbs_shape_elements(indices)}}, view;
    bool kept = vbs_onnx_makes(im, VBS_OP_GATHER) && indices->n_dims > 0;
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_GATHER, 1);
    struct vbs_onnx_constant *constant;
    int shift;

    if (!draft)
        return vbs_no_memory(im->ctx);
    list = kept ? *indices : list;
    view = vbs_onnx_view(state, axis, &shift);
    vbs_onnx_reads(draft, 0, state->tensor, &view);
    draft->node.attributes.gather.axis = axis + shift;
    draft->node.attributes.gather.indices = list;
    draft->node.operand = list;
    VBS_TRY(
        vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &list, numbers, &constant));
    VBS_TRY(vbs_onnx_parameter(im, constant, 0, &draft->node.values[VBS_PARAMETER_OPERAND]));
    return vbs_onnx_tensor_new(im, draft, tensor);
}

/* Returns indices that count from the first of a sample's own elements, where each index is one
 * into the elements of all samples; null: some choose others. */
static enum vbs_status strip_own(struct vbs_onnx_import *im, struct vbs_onnx_constant *indices,
                                 int64_t own, struct vbs_onnx_constant **stripped)
{
    int64_t count = vbs_shape_elements(&indices->shape);
    const struct vbs_onnx_number *given;
    struct vbs_onnx_number *made;

    VBS_TRY(vbs_onnx_numbers(im, indices, &given));
    VBS_TRY(vbs_onnx_numbers_new(im, count, &made));
    for (int64_t i = 0; i < count; i++) {
        if (given[i].own != own || given[i].value < 0 || given[i].value >= own)
            return VBS_OK;
        made[i].value = given[i].value;
    }
    return vbs_onnx_constant_new(im, indices->type, &indices->shape, made, stripped);
}

/* Gives the indices of the first of n samples, of which each has as many, into its own elements,
 * of which there are `own`; null: they are other ones. */
static enum vbs_status find_own(struct vbs_onnx_import *im, struct vbs_onnx_constant *indices,
                                int64_t n, int64_t own, struct vbs_onnx_constant **first)
{
    int64_t count = vbs_shape_elements(&indices->shape), each = n > 0 ? count / n : 0;
    const struct vbs_onnx_number *given;
    struct vbs_shape shape = indices->shape;

    *first = NULL;
    if (indices->copies == 1)
        return strip_own(im, indices, own, first);
    if (n < 1 || shape.n_dims == 0 || shape.dim[0] % n != 0)
        return VBS_OK;
    if (n > 1)
        VBS_TRY(vbs_onnx_numbers(im, indices, &given));
    for (int64_t i = 0; n > 1 && i < count; i++)
        if (given[i].value != given[i % each].value + (long double)(i / each * own))
            return VBS_OK;
    shape.dim[0] /= n;
    return vbs_onnx_constant_view(im, indices, &shape, indices->stride, 0, first);
}

/* Gives the dimension of state->shape along which im->node gathers. *only: the samples are folded
 * into it, and each sample of the file has indices into its own elements, to which *indices are
 * changed; their first dimension then counts the samples. */
static enum vbs_status gather_axis(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                   struct vbs_onnx_constant **indices, int *axis, bool *only)
{
    int64_t given = vbs_onnx_int(im, "axis", 0);
    int rank = vbs_onnx_rank(im, state);
    struct vbs_onnx_constant *own = NULL;

    VBS_TRY(vbs_onnx_constant_axis(im, given, rank, axis));
    if (im->batch && *axis == im->at && im->outer == 1)
        VBS_TRY(find_own(im, *indices, im->n_samples, state->shape.dim[*axis], &own));
    *only = own != NULL;
    *indices = own ? own : *indices;
    return own ? VBS_OK : vbs_onnx_axis(im, given, rank, axis);
}

/* Says that dimension axis of the node's output counts the samples, each of which has gathered from
 * its own elements. */
static void count_only(struct vbs_onnx_import *im, int axis, struct vbs_shape *shape)
{
    im->at_out = axis;
    im->outer_out = shape->dim[axis] > 1;
    if (im->outer_out > 0)
        return;
    vbs_shape_drop(shape, axis);
}

enum vbs_status vbs_onnx_gather_at(struct vbs_onnx_import *im)
{
    const struct vbs_onnx_state *state;
    const struct vbs_onnx_number *numbers = NULL;
    struct vbs_onnx_constant *indices = NULL;
    struct vbs_onnx_state result;
    struct vbs_shape shape;
    int64_t first = 0, step = 0;
    int axis = 0, more;
    bool only = false;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &state));
    VBS_TRY(vbs_onnx_constant_in(im, 1, &indices));
    VBS_TRY(gather_axis(im, state, &indices, &axis, &only));
    VBS_TRY(read_indices(im, indices, state->shape.dim[axis], &numbers, &first, &step));
    more = indices->shape.n_dims - 1;
    im->at_out += vbs_onnx_file_dim(im, axis) < im->at ? more : 0;
    if (state->shape.n_dims + more > VBS_MAX_DIMS)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "more than %d dimensions", VBS_MAX_DIMS);
    shape.n_dims = state->shape.n_dims + more;
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = d < axis           ? state->shape.dim[d]
                       : d <= axis + more ? indices->shape.dim[d - axis]
                                          : state->shape.dim[d - more];
    if (step != 0 && !vbs_onnx_makes(im, VBS_OP_GATHER)) {
        struct cut cut;

        cut_nothing(&state->shape, &cut);
        cut.begin[axis] = first;
        cut.step[axis] = step;
        cut.count[axis] = vbs_shape_elements(&indices->shape);
        VBS_TRY(cut_tensor(im, state, &cut, &result));
    } else {
        VBS_TRY(gather_layer(im, state, axis, &indices->shape, numbers, &result.tensor));
    }
    if (only)
        count_only(im, axis, &shape);
    return vbs_onnx_give(im, 0, result.tensor, &shape);
}

enum vbs_status vbs_onnx_take_along(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                    int axis, struct vbs_onnx_constant *places,
                                    struct vbs_onnx_state *result)
{
    const struct vbs_onnx_number *numbers;
    int64_t first = 0, step = 0;
    struct cut cut;

    cut_nothing(&state->shape, &cut);
    cut.count[axis] = vbs_shape_elements(&places->shape);
    if (cut.count[axis] == 0)
        return make_empty(im, state, &cut, result);
    VBS_TRY(read_indices(im, places, state->shape.dim[axis], &numbers, &first, &step));
    if (step != 0) {
        cut.begin[axis] = first;
        cut.step[axis] = step;
        return cut_state(im, state, &cut, result);
    }
    *result = *state;
    result->shape.dim[axis] = cut.count[axis];
    return gather_layer(im, state, axis, &places->shape, numbers, &result->tensor);
}

/* ---- Compress ---- */

/* Makes the list of the places below n where the condition is true. */
static enum vbs_status true_places(struct vbs_onnx_import *im, int64_t n,
                                   struct vbs_onnx_constant **places)
{
    struct vbs_shape list = {.n_dims = 1};
    const struct vbs_onnx_number *given;
    struct vbs_onnx_constant *condition;
    struct vbs_onnx_number *made;

    VBS_TRY(vbs_onnx_numbers_in(im, 1, &condition, &given));
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&condition->shape), &made));
    for (int64_t i = 0; i < vbs_shape_elements(&condition->shape); i++) {
        if (given[i].batch)
            return vbs_onnx_mixes(im);
        if (given[i].value == 0)
            continue;
        if (i >= n)
            return vbs_fail(im->ctx, VBS_FORMAT, "takes element %lld of %lld", (long long)i,
                            (long long)n);
        made[list.dim[0]++].value = i;
    }
    return vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, &list, made, places);
}

/* Takes elements along an axis or, without one, of all elements in their order. */
VBS_ONNX_HANDLER(compress)
{
    const struct vbs_onnx_state *given = vbs_onnx_in(im, 0);
    struct vbs_onnx_state inputs[2], result;
    struct vbs_shape *shape, list = {.n_dims = 1};
    int64_t axis = vbs_onnx_int(im, "axis", 0);
    int dim = 0;

    (void)operator;
    if (!given)
        return vbs_fail(im->ctx, VBS_FORMAT, "input 0 is missing");
    inputs[0] = *given;
    inputs[1] = (struct vbs_onnx_state){.tensor = NULL};
    shape = given->tensor ? &inputs[0].shape : &given->constant->shape;
    if (!vbs_onnx_has(im, "axis")) {
        list.dim[0] = vbs_shape_elements(shape);
        if (im->batch && given->tensor)
            return vbs_onnx_mixes(im);
        if (given->tensor)
            *shape = list;
        else
            VBS_TRY(vbs_onnx_constant_reshape(im, given->constant, &list, &inputs[0].constant));
        shape = &list;
    } else if (given->tensor) {
        VBS_TRY(vbs_onnx_axis(im, axis, vbs_onnx_rank(im, given), &dim));
    } else {
        VBS_TRY(vbs_onnx_constant_axis(im, axis, shape->n_dims, &dim));
    }
    VBS_TRY(true_places(im, shape->dim[dim], &inputs[1].constant));
    if (!given->tensor)
        return vbs_onnx_become(im, "Gather", inputs, 2);
    VBS_TRY(vbs_onnx_take_along(im, &inputs[0], dim, inputs[1].constant, &result));
    return give_state(im, 0, &result);
}
