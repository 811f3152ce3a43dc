/* The reference of operators that move values, and of resizing. */
#include "reference/backend/ops_common.h"

#include <math.h>
#include <stdlib.h>

/* Gives the position from which a padded position is read; -1: it is not read. */
static int64_t pad_source(enum vbs_pad_mode mode, int64_t i, int64_t n)
{
    if (i >= 0 && i < n)
        return i;
    switch (mode) {
    case VBS_PAD_EDGE:
        return i < 0 ? 0 : n - 1;
    case VBS_PAD_WRAP:
        while (i < 0)
            i += n;
        return i % n;
    case VBS_PAD_REFLECT:
        while (n > 1 && (i < 0 || i >= n))
            i = i < 0 ? -i : 2 * (n - 1) - i;
        return n > 1 ? i : 0;
    default:
        return -1;
    }
}

/* Turns the output's indices into those of the input; false: there is no value at this place. */
static bool source_of(const struct vbs_layer *l, const float *values, int64_t *index)
{
    const union vbs_attributes *a = &l->attributes;
    const struct vbs_shape *in = &l->views[0];
    int64_t out[VBS_MAX_DIMS], n = l->operand.n_dims ? vbs_shape_elements(&l->operand) : 0;
    int target = l->shape.n_dims - in->n_dims + 1; /* gather: dimensions of the indices */
    int64_t which = 0;

    for (int d = 0; d < l->shape.n_dims; d++)
        out[d] = index[d];
    for (int d = 0; d < in->n_dims; d++)
        switch (l->op) {
        case VBS_OP_TRANSPOSE:
            index[a->transpose.perm[d]] = out[d];
            break;
        case VBS_OP_SHUFFLE:
            index[d] = d > 0 ? out[d]
                             : out[0] % a->shuffle.groups * (in->dim[0] / a->shuffle.groups) +
                                   out[0] / a->shuffle.groups;
            break;
        case VBS_OP_SLICE:
            index[d] = a->slice.begin[d] + out[d] * a->slice.step[d];
            break;
        case VBS_OP_PAD:
            index[d] = pad_source(a->pad.mode, out[d] - a->pad.before[d], in->dim[d]);
            if (index[d] < 0)
                return false;
            break;
        case VBS_OP_EXPAND:
            index[d] = in->dim[d] == 1 ? 0 : out[d + l->shape.n_dims - in->n_dims];
            break;
        case VBS_OP_GATHER:
            for (int t = 0; d == a->gather.axis && t < target; t++)
                which = which * l->shape.dim[d + t] + out[d + t];
            index[d] = d < a->gather.axis      ? out[d]
                       : d > a->gather.axis    ? out[d + target - 1]
                       : values[which % n] < 0 ? (int64_t)values[which % n] + in->dim[d]
                                               : (int64_t)values[which % n];
            break;
        default:
            break;
        }
    return true;
}

bool reference_move(const struct subject *s, const float *x, float *y)
{
    const struct vbs_layer *l = s->l;
    bool gather = l->op == VBS_OP_GATHER;
    float *values =
        gather ? subject_values(s, -1, VBS_PARAMETER_OPERAND, vbs_shape_elements(&l->operand))
               : NULL;
    int64_t index[VBS_MAX_DIMS];

    if (gather && !values)
        return false;
    for (int64_t i = 0; i < vbs_shape_elements(&l->shape); i++) {
        indices_of(&l->shape, i, index);
        y[i] = source_of(l, values, index) ? x[number_of(&l->views[0], index)]
                                           : (float)l->attributes.pad.value;
    }
    free(values);
    return true;
}

/* ---- resize ---- */

/* Returns x / y, x * y and x - y as numbers of 32 bits, as in files. */
static double over32(double x, double y)
{
    return (float)(x / y);
}

static double times32(double x, double y)
{
    return (float)(x * y);
}

static double less32(double x, double y)
{
    return (float)(x - y);
}

/* Returns the original coordinate by ONNX's coordinate_transformation_mode, where the scale is that
 * of the sizes: as one quotient of whole numbers. */
static double original_of_sizes(const struct vbs_layer *l, int d, double x)
{
    const union vbs_attributes *a = &l->attributes;
    double in = (double)l->views[0].dim[d], out = (double)l->shape.dim[d];

    switch (a->resize.coordinates) {
    case VBS_COORDINATES_ALIGN_CORNERS:
        return out == 1 ? 0 : x * (in - 1) / (out - 1);
    case VBS_COORDINATES_ASYMMETRIC:
        return x * in / out;
    case VBS_COORDINATES_TF_HALF_PIXEL:
        return (2 * x + 1) * in / (2 * out);
    default:
        return a->resize.coordinates == VBS_COORDINATES_PYTORCH_HALF_PIXEL && out == 1
                   ? 0
                   : ((2 * x + 1) * in - out) / (2 * out);
    }
}

/* Returns it within a crop. */
static double original_of_crop(const struct vbs_layer *l, int d, double x)
{
    const union vbs_attributes *a = &l->attributes;
    double last = (double)(l->views[0].dim[d] - 1), gaps = (double)(l->shape.dim[d] - 1);
    double begin = (float)a->resize.roi_begin[d], end = (float)a->resize.roi_end[d];

    if (gaps == 0)
        return times32(times32(0.5, (float)(begin + end)), last);
    return (float)(times32(begin, last) +
                   over32(times32(times32(x, less32(end, begin)), last), gaps));
}

/* Returns it where the node has a scale of its own. */
static double original(const struct vbs_layer *l, int d, double x)
{
    const union vbs_attributes *a = &l->attributes;
    double in = (double)l->views[0].dim[d], out = (double)l->shape.dim[d];
    double scale = (float)a->resize.scale[d], length = times32(scale, in);
    double half = less32(over32(x + 0.5, scale), 0.5);

    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP)
        return original_of_crop(l, d, x);
    if (a->resize.scale[d] == out / in)
        return original_of_sizes(l, d, x);
    switch (a->resize.coordinates) {
    case VBS_COORDINATES_HALF_PIXEL_SYMMETRIC:
        return (float)(times32(in / 2, less32(1, over32(out, length))) + half);
    case VBS_COORDINATES_PYTORCH_HALF_PIXEL:
        return out > 1 ? half : 0;
    case VBS_COORDINATES_ALIGN_CORNERS:
        return out == 1 ? 0 : over32(times32(x, in - 1), less32(length, 1));
    case VBS_COORDINATES_ASYMMETRIC:
        return over32(x, scale);
    case VBS_COORDINATES_TF_HALF_PIXEL:
        return over32(x + 0.5, scale);
    default:
        return half;
    }
}

/* Gives the weight of the sample at distance t from the coordinate. */
static double kernel(const union vbs_attributes *a, double t)
{
    double c = a->resize.cubic_a;

    t = fabs(t);
    if (a->resize.mode == VBS_RESIZE_LINEAR)
        return t < 1 ? 1 - t : 0;
    if (t <= 1)
        return (c + 2) * t * t * t - (c + 3) * t * t + 1;
    return t < 2 ? c * t * t * t - 5 * c * t * t + 8 * c * t - 4 * c : 0;
}

static int64_t nearest(enum vbs_resize_nearest mode, double x)
{
    double low = floor(x), part = x - low;

    switch (mode) {
    case VBS_NEAREST_FLOOR:
        return (int64_t)low;
    case VBS_NEAREST_CEIL:
        return (int64_t)ceil(x);
    case VBS_NEAREST_ROUND_PREFER_CEIL:
        return (int64_t)(part >= 0.5 ? low + 1 : low);
    default:
        return (int64_t)(part > 0.5 ? low + 1 : low);
    }
}

/* Gives the value at the output's position index, from dimension d on; at: the input's indices so
 * far. */
static double sample(const struct vbs_layer *l, const int64_t *index, int d, int64_t *at,
                     const float *x)
{
    const union vbs_attributes *a = &l->attributes;
    int64_t n;
    double place, sum = 0, weights = 0, wide = 1;

    if (d == l->shape.n_dims)
        return x[number_of(&l->views[0], at)];
    n = l->views[0].dim[d];
    place = original(l, d, (double)index[d]);
    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP && (place < 0 || place > (double)(n - 1)))
        return a->resize.extrapolation;
    if (a->resize.mode == VBS_RESIZE_NEAREST) {
        at[d] = nearest(a->resize.nearest, place);
        at[d] = at[d] < 0 ? 0 : at[d] >= n ? n - 1 : at[d];
        return sample(l, index, d + 1, at, x);
    }
    if (a->resize.antialias && a->resize.scale[d] < 1)
        wide = 1 / a->resize.scale[d];
    for (int64_t i = (int64_t)floor(place - 3 * wide); i <= (int64_t)ceil(place + 3 * wide); i++) {
        double weight = kernel(a, (place - (double)i) / wide);

        if (weight == 0 || (a->resize.exclude_outside && (i < 0 || i >= n)))
            continue;
        at[d] = i < 0 ? 0 : i >= n ? n - 1 : i;
        sum += weight * sample(l, index, d + 1, at, x);
        weights += weight;
    }
    return a->resize.exclude_outside || wide > 1 ? sum / weights : sum;
}

bool reference_resize(const struct subject *s, const float *x, float *y)
{
    int64_t index[VBS_MAX_DIMS], at[VBS_MAX_DIMS];

    for (int64_t i = 0; i < vbs_shape_elements(&s->l->shape); i++) {
        indices_of(&s->l->shape, i, index);
        y[i] = (float)sample(s->l, index, 0, at, x);
    }
    return true;
}

/* ---- GridSample ---- */

/* The borders of an image along a dimension of n elements, and its elements. */
struct edge {
    double low, high;
    int64_t n;
};

static struct edge edge_of(const union vbs_attributes *a, int64_t n)
{
    double outside = a->grid_sample.align_corners ? 0 : 0.5;

    return (struct edge){-outside, (double)n - 1 + outside, n};
}

/* Mirrors a position at the borders until it lies between them, where an infinite one never does.
 */
static double mirror(const struct edge *e, double x)
{
    if (!isfinite(x))
        return NAN;
    while (e->low < e->high && (x < e->low || x > e->high))
        x = x < e->low ? 2 * e->low - x : 2 * e->high - x;
    return e->low < e->high ? x : e->low;
}

/* Returns the position of a coordinate of the grid, computed with 32 bits as it is in files. */
static double position(const union vbs_attributes *a, const struct edge *e, float coordinate)
{
    float n = (float)e->n;
    double x = a->grid_sample.align_corners ? (coordinate + 1) / 2 * (n - 1)
                                            : ((coordinate + 1) * n - 1) / 2;

    if (a->grid_sample.mode == VBS_RESIZE_NEAREST)
        x = rint(x);
    if (isnan(x) || (x >= e->low && x <= e->high))
        return x;
    if (a->grid_sample.padding == VBS_GRID_BORDER)
        return x < e->low ? 0 : (double)(e->n - 1);
    return a->grid_sample.padding == VBS_GRID_REFLECTION ? mirror(e, x) : x;
}

/* Returns the weight of the element at distance t. */
static double weight_of(enum vbs_resize_mode mode, double t)
{
    static const union vbs_attributes CUBIC = {
        .resize = {.mode = VBS_RESIZE_CUBIC, .cubic_a = -0.75}};
    static const union vbs_attributes LINEAR = {.resize = {.mode = VBS_RESIZE_LINEAR}};

    return mode == VBS_RESIZE_NEAREST ? t == 0
                                      : kernel(mode == VBS_RESIZE_CUBIC ? &CUBIC : &LINEAR, t);
}

/* Returns the element at a row and a column, which may lie outside. */
static double pixel(const union vbs_attributes *a, const struct edge *edge, const float *image,
                    const int64_t *place)
{
    int64_t at[2];

    for (int d = 0; d < 2; d++) {
        at[d] = place[d];
        if (at[d] >= 0 && at[d] < edge[d].n)
            continue;
        if (a->grid_sample.padding == VBS_GRID_ZEROS)
            return 0;
        if (a->grid_sample.padding == VBS_GRID_BORDER)
            at[d] = at[d] < 0 ? 0 : edge[d].n - 1;
        else
            at[d] = (int64_t)mirror(&edge[d], (double)at[d]);
        at[d] = at[d] < 0 ? 0 : at[d];
    }
    return image[at[0] * edge[1].n + at[1]];
}

/* Adds up the elements around each point, of each channel. */
void reference_grid_sample(const struct subject *s, const float *const *inputs, float *y)
{
    const union vbs_attributes *a = &s->l->attributes;
    const struct vbs_shape *in = &s->l->views[0], *out = &s->l->shape;
    int n = in->n_dims;
    int64_t channels = in->dim[n - 3], points = out->dim[n - 2] * out->dim[n - 1];
    const struct edge edge[] = {edge_of(a, in->dim[n - 2]), edge_of(a, in->dim[n - 1])};

    for (int64_t i = 0; i < vbs_shape_elements(out); i++) {
        int64_t channel = i / points, at[2];
        const float *point = inputs[1] + 2 * (channel / channels * points + i % points);
        const double where[] = {position(a, &edge[0], point[1]), position(a, &edge[1], point[0])};
        double sum = 0, weight;

        if (isnan(where[0]) || isnan(where[1]))
            sum = NAN;
        for (int k = 0; k < 16 && isfinite(where[0]) && isfinite(where[1]); k++) {
            at[0] = (int64_t)floor(where[0]) - 1 + k / 4;
            at[1] = (int64_t)floor(where[1]) - 1 + k % 4;
            weight = weight_of(a->grid_sample.mode, where[0] - (double)at[0]) *
                     weight_of(a->grid_sample.mode, where[1] - (double)at[1]);
            if (weight != 0)
                sum += weight * pixel(a, edge, inputs[0] + channel * edge[0].n * edge[1].n, at);
        }
        y[i] = (float)sum;
    }
}
