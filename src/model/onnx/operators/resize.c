/* Resize of all versions, Upsample, and GridSample. */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <math.h>
#include <string.h>

/* The parameters of a Resize node, by dimension of the file. */
struct request {
    int rank;
    bool batch; /* dimension 0 of the file is not among those of shapes */
    bool sized; /* the node gives sizes instead of scales */
    double scale[VBS_MAX_DIMS + 1];
    int64_t size[VBS_MAX_DIMS + 1];
    bool open; /* size[0] is the number of samples */
    int n_axes;
    int64_t axis[VBS_MAX_DIMS + 1]; /* the axes that the lists of the node are for */
};

/* Reads a list of numbers from input index; *n is 0 where the input is left out or empty. */
static enum vbs_status read_reals(struct vbs_onnx_import *im, int index, int most, double *values,
                                  int *n)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, index);
    const struct vbs_onnx_number *numbers;
    struct vbs_onnx_constant *constant;

    *n = 0;
    if (!state)
        return VBS_OK;
    VBS_TRY(vbs_onnx_constant_in(im, index, &constant));
    VBS_TRY(vbs_onnx_numbers(im, constant, &numbers));
    if (vbs_shape_elements(&constant->shape) > most)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has more than %d values", index, most);
    *n = (int)vbs_shape_elements(&constant->shape);
    for (int i = 0; i < *n; i++) {
        if (numbers[i].batch)
            return vbs_onnx_counts(im);
        values[i] = (double)numbers[i].value;
    }
    return VBS_OK;
}

static enum vbs_status read_axes(struct vbs_onnx_import *im, struct request *r)
{
    int n;
    const int64_t *axes = vbs_onnx_ints(im, "axes", &n);

    r->n_axes = axes ? n : r->rank;
    if (r->n_axes > r->rank)
        return vbs_fail(im->ctx, VBS_FORMAT, "%d axes for %d dimensions", n, r->rank);
    for (int i = 0; i < r->n_axes; i++) {
        r->axis[i] = axes ? axes[i] + (axes[i] < 0 ? r->rank : 0) : i;
        if (r->axis[i] < 0 || r->axis[i] >= r->rank)
            return vbs_fail(im->ctx, VBS_FORMAT, "there is no dimension %lld", (long long)axes[i]);
    }
    return VBS_OK;
}

static enum vbs_status read_sizes(struct vbs_onnx_import *im, int index, struct request *r)
{
    int64_t values[VBS_MAX_DIMS + 1];
    int open, n;

    VBS_TRY(vbs_onnx_target(im, index, values, &open, &n));
    if (n != r->n_axes)
        return vbs_fail(im->ctx, VBS_FORMAT, "%d sizes for %d dimensions", n, r->n_axes);
    if (open >= 0 && (!r->batch || r->axis[open] != 0 || values[open] != 1))
        return vbs_onnx_mixes(im);
    if (n > 0 && r->axis[0] == 0 && r->batch)
        r->open = open == 0;
    for (int i = 0; i < n; i++)
        r->size[r->axis[i]] = values[i];
    r->sized = true;
    return VBS_OK;
}

/* Reads the scales from an attribute (Upsample before 9) or an input. */
static enum vbs_status read_scales(struct vbs_onnx_import *im, int index, struct request *r)
{
    double values[VBS_MAX_DIMS + 1];
    const float *listed;
    int n;

    if (index < 0) {
        listed = vbs_onnx_reals(im, "scales", &n);
        for (int i = 0; i < n && n <= r->rank; i++)
            values[i] = listed[i];
    } else {
        VBS_TRY(read_reals(im, index, r->rank, values, &n));
    }
    if (n != r->n_axes)
        return vbs_fail(im->ctx, VBS_FORMAT, "%d scales for %d dimensions", n, r->n_axes);
    for (int i = 0; i < n; i++)
        r->scale[r->axis[i]] = values[i];
    return VBS_OK;
}

/* Replaces the scales by one for all axes, such that no size is above (not_larger) or below
 * (not_smaller) the one that was asked for. */
static enum vbs_status keep_ratio(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                  struct request *r)
{
    static const char *const POLICIES[] = {"stretch", "not_larger", "not_smaller", NULL};
    int policy = vbs_onnx_word(im, "keep_aspect_ratio_policy", POLICIES, 0);
    double scale = 0;

    if (policy <= 0)
        return policy < 0 ? im->bad : VBS_OK;
    for (int i = 0; i < r->n_axes; i++) {
        double each;

        if (r->batch && r->axis[i] == 0)
            return vbs_onnx_mixes(im);
        each = (double)r->size[r->axis[i]] / (double)shape->dim[r->axis[i] - r->batch];
        scale = i == 0 ? each : policy == 1 ? fmin(scale, each) : fmax(scale, each);
    }
    for (int i = 0; i < r->n_axes; i++) {
        double size = (double)shape->dim[r->axis[i] - r->batch] * scale;

        if (!(size >= 0 && size < VBS_MAX_DIM))
            return vbs_fail(im->ctx, VBS_FORMAT, "its output is too large");
        r->size[r->axis[i]] = (int64_t)floor(size + 0.5);
        r->scale[r->axis[i]] = scale;
    }
    return VBS_OK;
}

static enum vbs_status read_request(struct vbs_onnx_import *im, const struct vbs_shape *shape,
                                    bool batch, bool upsample, struct request *r)
{
    const struct vbs_onnx_state *sizes = vbs_onnx_in(im, 3);
    bool sized = !upsample && im->graph->opset >= 11 && sizes && sizes->constant &&
                 vbs_shape_elements(&sizes->constant->shape) > 0;
    int scales = upsample ? (im->graph->opset < 9 ? -1 : 1) : im->graph->opset < 11 ? 1 : 2;

    *r = (struct request){.rank = shape->n_dims + batch, .batch = batch, .open = batch};
    for (int d = 0; d < r->rank; d++) {
        r->scale[d] = 1;
        r->size[d] = d < batch ? 1 : shape->dim[d - batch];
    }
    VBS_TRY(read_axes(im, r));
    if (!sized)
        return read_scales(im, scales, r);
    VBS_TRY(read_sizes(im, 3, r));
    return keep_ratio(im, shape, r);
}

/* Sets dimension d of the file, of in elements, in the attributes, and gives the output's size in
 * *out. */
static enum vbs_status set_dim(struct vbs_onnx_import *im, const struct request *r, int d,
                               int64_t in, union vbs_attributes *a, int at)
{
    /* With the 32 bits that a scale has in files, so that 20 elements by 0.7 are 14. */
    double out = r->sized ? (double)r->size[d] : floorf((float)in * (float)r->scale[d]);

    if (!(out >= 1 && out <= VBS_MAX_DIM) || !(r->scale[d] > 0))
        return vbs_fail(im->ctx, VBS_FORMAT, "dimension %d would have %g elements", d, out);
    a->resize.shape.dim[at] = (int64_t)out;
    a->resize.scale[at] = r->sized && r->scale[d] == 1 ? out / (double)in : r->scale[d];
    return VBS_OK;
}

static enum vbs_status read_roi(struct vbs_onnx_import *im, const struct request *r, int shift,
                                union vbs_attributes *a)
{
    double values[2 * (VBS_MAX_DIMS + 1)];
    int n;
    enum vbs_status status = read_reals(im, 1, 2 * r->rank, values, &n);

    for (int d = 0; d < a->resize.shape.n_dims; d++)
        a->resize.roi_end[d] = 1;
    if (status != VBS_OK)
        return status;
    if (n != 2 * r->n_axes)
        return vbs_fail(im->ctx, VBS_FORMAT, "a region of %d values for %d dimensions", n,
                        r->n_axes);
    for (int i = 0; i < r->n_axes; i++) {
        int64_t at = r->axis[i] - r->batch + shift;

        if (!isfinite(values[i]) || !isfinite(values[i + n / 2]))
            return vbs_fail(im->ctx, VBS_FORMAT, "the region is not finite");
        if (r->axis[i] < r->batch) {
            if (values[i] != 0 || values[i + n / 2] != 1)
                return vbs_onnx_mixes(im);
            continue;
        }
        a->resize.roi_begin[at] = values[i];
        a->resize.roi_end[at] = values[i + n / 2];
    }
    return VBS_OK;
}

/* Reads the modes of interpolation. Older versions of the operator correspond to one choice
 * each. */
static enum vbs_status read_modes(struct vbs_onnx_import *im, bool upsample,
                                  union vbs_attributes *a)
{
    static const char *const MODES[] = {"nearest", "linear", "cubic", NULL};
    static const char *const COORDINATES[] = {
        "half_pixel",         "pytorch_half_pixel",   "align_corners",        "asymmetric",
        "tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric", NULL};
    static const char *const NEAREST[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil", NULL};
    bool old = upsample || im->graph->opset < 11;
    int mode = vbs_onnx_word(im, "mode", MODES, 0);
    int coordinates = old ? VBS_COORDINATES_ASYMMETRIC
                          : vbs_onnx_word(im, "coordinate_transformation_mode", COORDINATES, 0);
    int nearest = old ? VBS_NEAREST_FLOOR : vbs_onnx_word(im, "nearest_mode", NEAREST, 0);

    if (mode < 0 || coordinates < 0 || nearest < 0)
        return im->bad;
    a->resize.mode = (enum vbs_resize_mode)mode;
    a->resize.coordinates = (enum vbs_resize_coordinates)coordinates;
    a->resize.nearest = (enum vbs_resize_nearest)nearest;
    a->resize.cubic_a = vbs_onnx_real(im, "cubic_coeff_a", -0.75);
    a->resize.exclude_outside = vbs_onnx_int(im, "exclude_outside", 0) != 0;
    a->resize.antialias = mode != VBS_RESIZE_NEAREST && vbs_onnx_int(im, "antialias", 0) != 0;
    a->resize.extrapolation = vbs_onnx_real(im, "extrapolation_value", 0);
    return VBS_OK;
}

bool vbs_onnx_rounds_by_scale(const struct vbs_onnx_import *im, bool upsample,
                              const union vbs_attributes *a)
{
    return !upsample && im->graph->opset == 10 && a->resize.mode == VBS_RESIZE_NEAREST;
}

enum vbs_resize_nearest vbs_onnx_nearest_by_scale(double scale)
{
    return scale < 1 ? VBS_NEAREST_CEIL : VBS_NEAREST_FLOOR;
}

enum vbs_status vbs_onnx_read_resize(struct vbs_onnx_import *im, bool upsample,
                                     const struct vbs_shape *shape, bool batch, int shift,
                                     union vbs_attributes *a, bool *same)
{
    struct request request;

    VBS_TRY(read_modes(im, upsample, a));
    VBS_TRY(read_request(im, shape, batch, upsample, &request));
    if (batch && (request.scale[0] != 1 || (!request.open && request.size[0] != im->n_samples)))
        return vbs_onnx_mixes(im);
    if (shape->n_dims == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "a scalar cannot be resized");
    /* With these, elements may move where their number stays. */
    *same = a->resize.coordinates != VBS_COORDINATES_TF_CROP &&
            a->resize.coordinates != VBS_COORDINATES_TF_HALF_PIXEL;
    for (int d = 0; d < shape->n_dims; d++) {
        VBS_TRY(set_dim(im, &request, d + batch, shape->dim[d], a, d + shift));
        *same &= a->resize.shape.dim[d + shift] == shape->dim[d] && a->resize.scale[d + shift] == 1;
    }
    return a->resize.coordinates == VBS_COORDINATES_TF_CROP ? read_roi(im, &request, shift, a)
                                                            : VBS_OK;
}

/* Resizes a view of a tensor whose dimensions round by their own scales: those that get fewer
 * elements first, and then those that get more. */
static enum vbs_status resize_by_scale(struct vbs_onnx_import *im, const union vbs_attributes *a,
                                       const struct vbs_shape *view,
                                       struct vbs_onnx_tensor **tensor)
{
    static const enum vbs_resize_nearest IN_TURN[] = {VBS_NEAREST_CEIL, VBS_NEAREST_FLOOR};
    struct vbs_shape shape = *view;

    for (int i = 0; i < 2; i++) {
        union vbs_attributes part = *a;
        bool some = false;

        part.resize.nearest = IN_TURN[i];
        part.resize.shape = shape;
        for (int d = 0; d < shape.n_dims; d++) {
            bool now = a->resize.scale[d] != 1 &&
                       vbs_onnx_nearest_by_scale(a->resize.scale[d]) == IN_TURN[i];

            some = some || now;
            part.resize.shape.dim[d] = now ? a->resize.shape.dim[d] : shape.dim[d];
            part.resize.scale[d] = now ? a->resize.scale[d] : 1;
        }
        if (some)
            VBS_TRY(vbs_onnx_apply(im, VBS_OP_RESIZE, &part, *tensor, &shape, tensor));
        shape = part.resize.shape;
    }
    return VBS_OK;
}

VBS_ONNX_HANDLER(resize)
{
    union vbs_attributes attributes = {.resize = {.mode = VBS_RESIZE_NEAREST}};
    const struct vbs_onnx_state *state;
    struct vbs_onnx_tensor *tensor;
    struct vbs_shape view, shape;
    int shift;
    bool same;

    VBS_TRY(vbs_onnx_tensor_in(im, 0, &state));
    view = vbs_onnx_view(state, 0, &shift);
    attributes.resize.shape = view;
    for (int d = 0; d < view.n_dims; d++)
        attributes.resize.scale[d] = 1;
    shape = state->shape;
    VBS_TRY(
        vbs_onnx_read_resize(im, operator->op != 0, &shape, im->batch, shift, &attributes, &same));
    for (int d = 0; d < shape.n_dims; d++)
        shape.dim[d] = attributes.resize.shape.dim[d + shift];
    if (same && !vbs_onnx_makes(im, VBS_OP_RESIZE))
        return vbs_onnx_give(im, 0, state->tensor, &shape);
    tensor = state->tensor;
    if (vbs_onnx_rounds_by_scale(im, operator->op != 0, &attributes))
        VBS_TRY(resize_by_scale(im, &attributes, &view, &tensor));
    else
        VBS_TRY(vbs_onnx_apply(im, VBS_OP_RESIZE, &attributes, tensor, &view, &tensor));
    if (state->whole && attributes.resize.mode != VBS_RESIZE_NEAREST) {
        const struct vbs_onnx_state between = {.tensor = tensor, .shape = shape};
        struct vbs_onnx_state cut;

        VBS_TRY(vbs_onnx_cut_off(im, &between, &cut));
        tensor = cut.tensor;
    }
    return vbs_onnx_give(im, 0, tensor, &shape);
}

/* ---- GridSample ---- */

enum vbs_status vbs_onnx_read_grid_sample(struct vbs_onnx_import *im, union vbs_attributes *a)
{
    /* The words of version 16, and those since version 20. */
    static const char *const MODES[] = {"nearest", "bilinear", "bicubic", "linear", "cubic", NULL};
    static const char *const PADDINGS[] = {"zeros", "border", "reflection", NULL};
    int mode = vbs_onnx_word(im, "mode", MODES, VBS_RESIZE_LINEAR);
    int padding = vbs_onnx_word(im, "padding_mode", PADDINGS, VBS_GRID_ZEROS);

    if (mode < 0 || padding < 0)
        return im->bad;
    a->grid_sample.mode = (enum vbs_resize_mode)(mode > VBS_RESIZE_CUBIC ? mode - 2 : mode);
    a->grid_sample.padding = (enum vbs_grid_padding)padding;
    a->grid_sample.align_corners = vbs_onnx_int(im, "align_corners", 0) != 0;
    return VBS_OK;
}

enum vbs_status vbs_onnx_constant_tensor(struct vbs_onnx_import *im, const struct vbs_onnx_state *x,
                                         struct vbs_onnx_constant *constant,
                                         struct vbs_onnx_state *result)
{
    const struct vbs_shape flat = {1, {vbs_shape_elements(&x->tensor->shape)}};
    const union vbs_attributes first = {.slice = {.step = {1}, .count = {1}}};
    struct vbs_onnx_state one = *x, none, zeros, values = {.constant = constant};
    struct vbs_onnx_number *zero;

    if (im->batch && im->outer > 0)
        return vbs_onnx_mixes(im);
    one.shape = (struct vbs_shape){.n_dims = constant->shape.n_dims - vbs_onnx_is_apart(im)};
    for (int d = 0; d < one.shape.n_dims; d++)
        one.shape.dim[d] = 1;
    VBS_TRY(vbs_onnx_numbers_new(im, 1, &zero));
    VBS_TRY(vbs_onnx_constant_new(im, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT,
                                  &(struct vbs_shape){.n_dims = 0}, zero, &none.constant));
    none.tensor = NULL;
    VBS_TRY(vbs_onnx_apply(im, VBS_OP_SLICE, &first, x->tensor, &flat, &one.tensor));
    VBS_TRY(vbs_onnx_combine(im, VBS_OP_KEEP, &one, &none, &zeros));
    return vbs_onnx_combine(im, VBS_OP_ADD, &zeros, &values, result);
}

enum vbs_status vbs_onnx_images(struct vbs_onnx_import *im, int index,
                                struct vbs_onnx_state *images, struct vbs_shape *view)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, index), *other = NULL;
    int several;

    if (im->batch && im->outer > 0 && im->at > 0)
        return vbs_onnx_mixes(im);
    for (int i = 0; i < im->node->n_inputs && !other; i++)
        if (vbs_onnx_in(im, i) && vbs_onnx_in(im, i)->tensor)
            other = vbs_onnx_in(im, i);
    if (!state || !other)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", index);
    *images = *state;
    if (!state->tensor)
        VBS_TRY(vbs_onnx_constant_tensor(im, other, state->constant, images));
    if (vbs_onnx_rank(im, images) == 5)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "reads volumes; images are supported");
    if (vbs_onnx_rank(im, images) != 4)
        return vbs_fail(im->ctx, VBS_FORMAT, "input %d has %d dimensions, not 4", index,
                        vbs_onnx_rank(im, images));
    several = im->batch ? im->outer > 0 : images->shape.dim[0] > 1;
    *view = images->shape;
    if (view->n_dims == 4 && !several) {
        view->n_dims--;
        memmove(view->dim, view->dim + 1, 3 * sizeof view->dim[0]);
    }
    return VBS_OK;
}

VBS_ONNX_HANDLER(grid_sample)
{
    struct vbs_onnx_draft *draft = vbs_onnx_draft(im, VBS_OP_GRID_SAMPLE, 2);
    struct vbs_onnx_state images, points;
    struct vbs_onnx_tensor *tensor;
    struct vbs_shape view, shape;

    (void)operator;
    if (!draft)
        return vbs_no_memory(im->ctx);
    VBS_TRY(vbs_onnx_read_grid_sample(im, &draft->node.attributes));
    VBS_TRY(vbs_onnx_images(im, 0, &images, &view));
    vbs_onnx_reads(draft, 0, images.tensor, &view);
    VBS_TRY(vbs_onnx_images(im, 1, &points, &view));
    vbs_onnx_reads(draft, 1, points.tensor, &view);
    VBS_TRY(vbs_onnx_tensor_new(im, draft, &tensor));
    shape = images.shape;
    for (int d = 1; d <= 2; d++)
        shape.dim[shape.n_dims - d] = points.shape.dim[points.shape.n_dims - d - 1];
    return vbs_onnx_give(im, 0, tensor, &shape);
}
