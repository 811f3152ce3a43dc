/* The nodes of operators that change where values stand, and of Resize. */
#include "model/export/export.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Gives by how much dimensions of samples are shifted in the file. */
static int shift_of(const struct export_operator *o)
{
    return !o->e->network->whole;
}

/* Adds whole numbers as an input. */
static enum vbs_status add_numbers(struct export_operator *o, const char *suffix,
                                   const int64_t *values, int n, struct export_node *node)
{
    const char *name;

    VBS_TRY(vbs_export_numbers(o->e, o->name, suffix, values, n, NULL, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

static enum vbs_status write_transpose(struct export_operator *o)
{
    struct export_node node = vbs_export_node("Transpose");
    int64_t perm[EXPORT_MAX_DIMS] = {0};
    int shift = shift_of(o), n = o->l->views[0].n_dims;

    for (int d = 0; d < n; d++)
        perm[d + shift] = o->attributes->transpose.perm[d] + shift;
    vbs_export_reads(&node, o->in.name);
    vbs_export_ints(&node, "perm", perm, n + shift);
    return vbs_export_result(o, &node, NULL);
}

/* Writes a shuffle: the channels, divided into two dimensions, are transposed. */
static enum vbs_status write_shuffle(struct export_operator *o)
{
    struct exporter *e = o->e;
    const struct vbs_shape *view = &o->l->views[0];
    int64_t groups = o->attributes->shuffle.groups, perm[EXPORT_MAX_DIMS];
    int shift = shift_of(o);
    struct export_dims apart = o->in.dims;
    struct export_value moved;
    struct export_node turn = vbs_export_node("Transpose"), join = vbs_export_node("Reshape");
    const char *name;

    memmove(apart.dim + shift + 2, apart.dim + shift + 1,
            (size_t)(view->n_dims - 1) * sizeof apart.dim[0]);
    apart.dim[shift] = groups;
    apart.dim[shift + 1] = view->dim[0] / groups;
    apart.n++;
    for (int d = 0; d < apart.n; d++)
        perm[d] = d;
    perm[shift] = shift + 1;
    perm[shift + 1] = shift;
    VBS_TRY(vbs_export_reshape(e, &o->in, &apart, &name));
    vbs_export_reads(&turn, name);
    vbs_export_ints(&turn, "perm", perm, apart.n);
    VBS_TRY(vbs_export_part(o, &turn, ".turned", &moved.name));
    vbs_export_reads(&join, moved.name);
    VBS_TRY(add_numbers(o, ".shape", o->in.dims.dim, o->in.dims.n, &join));
    return vbs_export_result(o, &join, NULL);
}

static enum vbs_status write_slice(struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];
    struct export_node node = vbs_export_node("Slice");
    int64_t starts[VBS_MAX_DIMS], ends[VBS_MAX_DIMS], axes[VBS_MAX_DIMS], steps[VBS_MAX_DIMS];
    int n = view->n_dims;

    for (int d = 0; d < n; d++) {
        int64_t step = a->slice.step[d];
        int64_t last = a->slice.begin[d] + (a->slice.count[d] - 1) * step;

        starts[d] = a->slice.begin[d];
        steps[d] = step;
        axes[d] = d + shift_of(o);
        /* an end before the first element cannot be -1, which is the last element */
        ends[d] = step > 0 ? last + 1 : last > 0 ? last - 1 : -view->dim[d] - 1;
    }
    vbs_export_reads(&node, o->in.name);
    VBS_TRY(add_numbers(o, ".starts", starts, n, &node));
    VBS_TRY(add_numbers(o, ".ends", ends, n, &node));
    VBS_TRY(add_numbers(o, ".axes", axes, n, &node));
    VBS_TRY(add_numbers(o, ".steps", steps, n, &node));
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_pad(struct export_operator *o)
{
    static const char *const MODES[] = {"constant", "reflect", "edge", "wrap"};
    const union vbs_attributes *a = o->attributes;
    struct export_node node = vbs_export_node("Pad");
    int shift = shift_of(o), n = o->l->views[0].n_dims + shift;
    int64_t pads[2 * EXPORT_MAX_DIMS] = {0};
    const struct export_dims scalar = {.n = 0};
    const char *name;

    for (int d = shift; d < n; d++) {
        pads[d] = a->pad.before[d - shift];
        pads[d + n] = a->pad.behind[d - shift];
    }
    vbs_export_reads(&node, o->in.name);
    VBS_TRY(add_numbers(o, ".pads", pads, 2 * n, &node));
    if (a->pad.value != 0) {
        VBS_TRY(vbs_export_fill(o->e, o->name, ".value", (float)a->pad.value, &scalar, &name));
        vbs_export_reads(&node, name);
    }
    vbs_export_word(&node, "mode", MODES[a->pad.mode]);
    return vbs_export_result(o, &node, NULL);
}

static enum vbs_status write_expand(struct export_operator *o)
{
    const struct vbs_shape *target = &o->attributes->expand.shape;
    struct export_node node = vbs_export_node("Expand");
    struct export_dims shape = vbs_export_dims(o->e, target);
    const char *name;

    if (!o->e->network->whole)
        shape.dim[0] = 1; /* as many samples as there are */
    VBS_TRY(vbs_export_input(o, 0, target->n_dims, &name));
    vbs_export_reads(&node, name);
    VBS_TRY(add_numbers(o, ".shape", shape.dim, shape.n, &node));
    return vbs_export_result(o, &node, NULL);
}

/* Reads the operand of a gather as positions. */
static enum vbs_status read_positions(struct export_operator *o, int64_t n, int64_t *positions)
{
    struct exporter *e = o->e;
    int64_t size = o->l->views[0].dim[o->attributes->gather.axis];
    float *values = malloc((size_t)n * sizeof *values + 1);
    enum vbs_status status = values ? vbs_parameter_values(e->ctx, e->network, o->layer, -1,
                                                           VBS_PARAMETER_OPERAND, 0, n, values)
                                    : vbs_no_memory(e->ctx);

    for (int64_t i = 0; i < n && status == VBS_OK; i++) {
        double at = values[i];

        if (at != floor(at) || at < (double)-size || at >= (double)size)
            status = vbs_fail(e->ctx, VBS_FORMAT,
                              "layer '%.100s': index %lld is %g, of a dimension of %lld", o->name,
                              (long long)i, at, (long long)size);
        else
            positions[i] = (int64_t)at;
    }
    free(values);
    return status;
}

static enum vbs_status write_gather(struct export_operator *o)
{
    const struct vbs_shape *shape = &o->l->operand;
    int64_t n = vbs_shape_elements(shape);
    int64_t *positions = malloc((size_t)n * sizeof *positions + 1);
    struct export_node node = vbs_export_node("Gather");
    struct export_dims dims = {.n = shape->n_dims};
    const char *name;
    enum vbs_status status = positions ? read_positions(o, n, positions) : vbs_no_memory(o->e->ctx);

    memcpy(dims.dim, shape->dim, (size_t)shape->n_dims * sizeof shape->dim[0]);
    if (status == VBS_OK)
        status = vbs_export_numbers(o->e, o->name, ".indices", positions, n, &dims, &name);
    free(positions);
    if (status != VBS_OK)
        return status;
    vbs_export_reads(&node, o->in.name);
    vbs_export_reads(&node, name);
    vbs_export_int(&node, "axis", o->attributes->gather.axis + shift_of(o));
    return vbs_export_result(o, &node, NULL);
}

/* ---- Resize ---- */

/* Gives whether all scales are those that follow from the sizes. */
static bool follows_from_sizes(const struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];

    for (int d = 0; d < view->n_dims; d++)
        if (a->resize.scale[d] != (double)a->resize.shape.dim[d] / (double)view->dim[d])
            return false;
    return true;
}

/* Gives whether floats tell all scales, and the sizes follow from them. Then the scales of all
 * dimensions are written, that of the samples too, and no axes: ONNX Runtime 1.32 refuses sizes of
 * some axes where it moves channels behind positions, as it does between convolutions of 8 bits. */
static bool has_whole_scales(const struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];

    for (int d = 0; d < view->n_dims; d++) {
        double scale = a->resize.scale[d];

        if ((double)(float)scale != scale ||
            scale * (double)view->dim[d] != (double)a->resize.shape.dim[d])
            return false;
    }
    return true;
}

/* Adds the scales of all dimensions. */
static enum vbs_status add_whole_scales(struct export_operator *o, struct export_node *node)
{
    double scales[VBS_MAX_DIMS + 1] = {1};
    int n = o->l->views[0].n_dims;
    const char *name;

    for (int d = 0; d < n; d++)
        scales[d + shift_of(o)] = o->attributes->resize.scale[d];
    VBS_TRY(vbs_export_reals(o->e, o->name, ".scales", scales, n + shift_of(o), &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

/* Gives the float nearest to the scale of dimension d, of in elements, with which the output has
 * the size that it has. */
static float scale_for(const union vbs_attributes *a, int d, int64_t in)
{
    double out = (double)a->resize.shape.dim[d];
    float scale = (float)a->resize.scale[d];

    for (int i = 0; i < 4 && floorf((float)in * scale) < out; i++)
        scale = nextafterf(scale, INFINITY);
    for (int i = 0; i < 4 && floorf((float)in * scale) > out; i++)
        scale = nextafterf(scale, 0);
    return scale;
}

/* Gives the policy by which one scale follows from the sizes of all dimensions that have another
 * scale than 1, or null: there is none. */
static const char *ratio_policy(const struct export_operator *o)
{
    const union vbs_attributes *a = o->attributes;
    const struct vbs_shape *view = &o->l->views[0];
    double scale = 1, least = INFINITY, largest = 0;

    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP)
        return NULL;
    for (int d = 0; d < view->n_dims; d++) {
        double in = (double)view->dim[d], out = (double)a->resize.shape.dim[d];

        if (a->resize.scale[d] == 1 && in == out)
            continue;
        if ((scale != 1 && a->resize.scale[d] != scale) ||
            floor(in * a->resize.scale[d] + 0.5) != out)
            return NULL;
        scale = a->resize.scale[d];
        least = fmin(least, out / in);
        largest = fmax(largest, out / in);
    }
    return least == scale ? "not_larger" : largest == scale ? "not_smaller" : NULL;
}

/* Adds the sizes of the dimensions that axes[0..n-1] name. */
static enum vbs_status add_sizes(struct export_operator *o, const int64_t *axes, int n,
                                 struct export_node *node)
{
    int64_t sizes[VBS_MAX_DIMS];

    for (int i = 0; i < n; i++)
        sizes[i] = o->attributes->resize.shape.dim[axes[i] - shift_of(o)];
    vbs_export_reads(node, "");
    return add_numbers(o, ".sizes", sizes, n, node);
}

/* Adds the region of interest as input 1. */
static enum vbs_status add_region(struct export_operator *o, struct export_node *node)
{
    const union vbs_attributes *a = o->attributes;
    double region[2 * VBS_MAX_DIMS];
    int n = o->l->views[0].n_dims;
    const char *name;

    if (a->resize.coordinates != VBS_COORDINATES_TF_CROP) {
        vbs_export_reads(node, "");
        return VBS_OK;
    }
    for (int d = 0; d < n; d++) {
        region[d] = a->resize.roi_begin[d];
        region[d + n] = a->resize.roi_end[d];
    }
    VBS_TRY(vbs_export_reals(o->e, o->name, ".region", region, 2 * n, &name));
    vbs_export_reads(node, name);
    return VBS_OK;
}

/* Adds the sizes or scales of axes; policy: null, or how one scale follows from sizes. */
static enum vbs_status add_axes(struct export_operator *o, const char *policy,
                                struct export_node *node)
{
    const union vbs_attributes *a = o->attributes;
    int64_t axes[VBS_MAX_DIMS];
    double scales[VBS_MAX_DIMS];
    int n = o->l->views[0].n_dims, n_axes = 0;
    const char *name;

    for (int d = 0; d < n; d++)
        if (!policy || a->resize.scale[d] != 1)
            axes[n_axes++] = d + shift_of(o);
    if (policy)
        vbs_export_word(node, "keep_aspect_ratio_policy", policy);
    if (policy || follows_from_sizes(o)) {
        VBS_TRY(add_sizes(o, axes, n_axes, node));
    } else {
        for (int d = 0; d < n; d++)
            scales[d] = scale_for(a, d, o->l->views[0].dim[d]);
        VBS_TRY(vbs_export_reals(o->e, o->name, ".scales", scales, n, &name));
        vbs_export_reads(node, name);
    }
    vbs_export_ints(node, "axes", axes, n_axes);
    return VBS_OK;
}

static enum vbs_status write_resize(struct export_operator *o)
{
    static const char *const MODES[] = {"nearest", "linear", "cubic"};
    static const char *const COORDINATES[] = {
        "half_pixel",         "pytorch_half_pixel",   "align_corners",       "asymmetric",
        "tf_crop_and_resize", "tf_half_pixel_for_nn", "half_pixel_symmetric"};
    static const char *const NEAREST[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                          "ceil"};
    const union vbs_attributes *a = o->attributes;
    struct export_node node = vbs_export_node("Resize");
    const char *policy = follows_from_sizes(o) ? NULL : ratio_policy(o);

    vbs_export_reads(&node, o->in.name);
    VBS_TRY(add_region(o, &node));
    if (a->resize.coordinates != VBS_COORDINATES_TF_CROP && has_whole_scales(o))
        VBS_TRY(add_whole_scales(o, &node));
    else
        VBS_TRY(add_axes(o, policy, &node));
    vbs_export_word(&node, "mode", MODES[a->resize.mode]);
    vbs_export_word(&node, "coordinate_transformation_mode", COORDINATES[a->resize.coordinates]);
    vbs_export_word(&node, "nearest_mode", NEAREST[a->resize.nearest]);
    vbs_export_real(&node, "cubic_coeff_a", a->resize.cubic_a);
    vbs_export_int(&node, "exclude_outside", a->resize.exclude_outside);
    if (a->resize.antialias)
        vbs_export_int(&node, "antialias", 1);
    vbs_export_real(&node, "extrapolation_value", a->resize.extrapolation);
    return vbs_export_result(o, &node, NULL);
}

enum vbs_status vbs_export_move(struct export_operator *o)
{
    switch (o->op) {
    case VBS_OP_TRANSPOSE:
        return write_transpose(o);
    case VBS_OP_SHUFFLE:
        return write_shuffle(o);
    case VBS_OP_SLICE:
        return write_slice(o);
    case VBS_OP_PAD:
        return write_pad(o);
    case VBS_OP_EXPAND:
        return write_expand(o);
    case VBS_OP_GATHER:
        return write_gather(o);
    default:
        return write_resize(o);
    }
}
