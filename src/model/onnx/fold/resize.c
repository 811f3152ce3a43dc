/* Constants that are resized, as tables of positions are, one dimension after the other. */
#include "model/onnx/fold/fold.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

typedef struct vbs_onnx_number number;
typedef struct vbs_onnx_constant constant;

/* The elements along a dimension of which one of the output is made; none: it is extrapolated. */
struct resize_taps {
    int n;
    int64_t *at;
    double *weight;
};

/* Gives the weight of an element at distance t. */
static double weight_of(const union vbs_attributes *a, double t)
{
    double c = a->resize.cubic_a;

    t = fabs(t);
    if (a->resize.mode == VBS_RESIZE_LINEAR)
        return t < 1 ? 1 - t : 0;
    if (t <= 1)
        return (c + 2) * t * t * t - (c + 3) * t * t + 1;
    return t < 2 ? c * t * t * t - 5 * c * t * t + 8 * c * t - 4 * c : 0;
}

static int64_t inside(double at, int64_t n)
{
    return !(at > 0) ? 0 : at >= (double)(n - 1) ? n - 1 : (int64_t)at;
}

/* Returns how far from a coordinate an element may have a weight. */
static double reach_of(const union vbs_attributes *a, int d)
{
    return ceil(2 * vbs_resize_width(a, d));
}

/* Finds the taps of position x along dimension d of n elements; taps has room for all within
 * reach. */
static void find_taps(const union vbs_attributes *a, int d, int64_t n, int64_t x,
                      struct resize_taps *taps)
{
    double place = vbs_resize_coordinate(a, d, n, a->resize.shape.dim[d], x), sum = 0;
    double width = vbs_resize_width(a, d), reach = reach_of(a, d), first;

    taps->n = 0;
    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP &&
        !(place >= 0 && place <= (double)(n - 1)))
        return;
    if (a->resize.mode == VBS_RESIZE_NEAREST) {
        taps->at[0] = inside(vbs_resize_nearest(a->resize.nearest, place), n);
        taps->weight[taps->n++] = 1;
        return;
    }
    /* further outside nothing changes */
    place = fmin(fmax(place, -reach - 2), (double)n + reach + 2);
    first = floor(place) - reach;
    for (int i = 0; i < 2 * (int)reach + 2; i++) {
        double at = first + i, weight = weight_of(a, (place - at) / width);

        if (weight == 0 || (a->resize.exclude_outside && (at < 0 || at >= (double)n)))
            continue;
        taps->at[taps->n] = inside(at, n);
        taps->weight[taps->n++] = weight;
        sum += weight;
    }
    for (int i = 0; i < taps->n && (a->resize.exclude_outside || width > 1); i++)
        taps->weight[i] /= sum;
}

/* Makes an element of those that are step apart from x on. */
static number mixed(const union vbs_attributes *a, const struct resize_taps *taps, const number *x,
                    int64_t step)
{
    number sum = {taps->n > 0 ? 0 : a->resize.extrapolation, .batch = false};

    for (int i = 0; i < taps->n; i++) {
        sum.value += taps->weight[i] * x[taps->at[i] * step].value;
        sum.batch |= x[taps->at[i] * step].batch;
    }
    return sum;
}

/* Gives whether dimension d of n elements stays as it is. */
static bool stays(const union vbs_attributes *a, int d, int64_t n)
{
    return a->resize.scale[d] == 1 && a->resize.shape.dim[d] == n &&
           a->resize.coordinates != VBS_COORDINATES_TF_HALF_PIXEL &&
           a->resize.coordinates != VBS_COORDINATES_TF_CROP;
}

/* Resizes dimension d of *shape, and replaces *x. */
static enum vbs_status resize_along(struct vbs_onnx_import *im, const union vbs_attributes *a,
                                    int d, struct vbs_shape *shape, const number **x)
{
    int64_t n = shape->dim[d], out = a->resize.shape.dim[d], step = 1, n_before = 1;
    size_t most = 2 * (size_t)reach_of(a, d) + 2;
    struct resize_taps taps = {.at = vbs_arena_alloc(im->arena, most, sizeof *taps.at),
                               .weight = vbs_arena_alloc(im->arena, most, sizeof *taps.weight)};
    number *y;

    for (int i = 0; i < shape->n_dims; i++) {
        step *= i > d ? shape->dim[i] : 1;
        n_before *= i < d ? shape->dim[i] : 1;
    }
    if (!taps.at || !taps.weight)
        return vbs_no_memory(im->ctx);
    shape->dim[d] = out;
    if (!vbs_onnx_bounded(shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(shape), &y));
    VBS_TRY(vbs_onnx_numbers_read(im, (int64_t)most * vbs_shape_elements(shape)));
    for (int64_t k = 0; k < out; k++) {
        find_taps(a, d, n, k, &taps);
        for (int64_t i = 0; i < n_before * step; i++) {
            int64_t line = i / step, at = i % step;

            y[(line * out + k) * step + at] = mixed(a, &taps, *x + line * n * step + at, step);
        }
    }
    *x = y;
    return VBS_OK;
}

VBS_ONNX_HANDLER(fold_resize)
{
    union vbs_attributes a = {.resize = {.mode = VBS_RESIZE_NEAREST}};
    struct vbs_shape shape;
    constant *input;
    const number *x;
    number *y;
    bool same, by_scale;

    VBS_TRY(vbs_onnx_numbers_in(im, 0, &input, &x));
    shape = input->shape;
    if (vbs_shape_elements(&shape) == 0)
        return vbs_fail(im->ctx, VBS_FORMAT, "its input has no elements");
    a.resize.shape = shape;
    VBS_TRY(vbs_onnx_read_resize(im, operator->op != 0, &shape, false, 0, &a, &same));
    by_scale = vbs_onnx_rounds_by_scale(im, operator->op != 0, &a);
    for (int d = 0; d < shape.n_dims; d++) {
        if (by_scale)
            a.resize.nearest = vbs_onnx_nearest_by_scale(a.resize.scale[d]);
        if (!stays(&a, d, shape.dim[d]))
            VBS_TRY(resize_along(im, &a, d, &shape, &x));
    }
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++)
        y[i] = (number){vbs_onnx_rounded(input->type, x[i].value), .batch = x[i].batch};
    return vbs_onnx_give_numbers(im, input->type, &shape, y);
}

/* ---- GridSample ---- */

/* Makes an element of an image of one channel. */
static number sampled(const struct vbs_grid_taps *x, const struct vbs_grid_taps *y,
                      const number *image, int64_t width)
{
    number sum = {.value = 0};

    for (int i = 0; i < y->n; i++)
        for (int j = 0; j < x->n; j++) {
            const number *from = &image[y->at[i] * width + x->at[j]];

            sum.value += (long double)y->weight[i] * x->weight[j] * from->value;
            sum.batch |= from->batch;
        }
    return sum;
}

VBS_ONNX_HANDLER(fold_grid_sample)
{
    union vbs_attributes a = {.grid_sample = {.mode = VBS_RESIZE_NEAREST}};
    constant *images, *grid;
    const number *x, *points;
    struct vbs_shape shape;
    number *y;

    (void)operator;
    VBS_TRY(vbs_onnx_read_grid_sample(im, &a));
    VBS_TRY(vbs_onnx_numbers_in(im, 0, &images, &x));
    VBS_TRY(vbs_onnx_numbers_in(im, 1, &grid, &points));
    shape = images->shape;
    if (shape.n_dims != 4 || grid->shape.n_dims != 4 || grid->shape.dim[3] != 2 ||
        grid->shape.dim[0] != shape.dim[0] || vbs_shape_elements(&shape) == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its inputs are no images and no points in them");
    shape.dim[2] = grid->shape.dim[1];
    shape.dim[3] = grid->shape.dim[2];
    if (!vbs_onnx_bounded(&shape))
        return vbs_fail(im->ctx, VBS_FORMAT, "its output has more than 2^36 elements");
    VBS_TRY(vbs_onnx_numbers_new(im, vbs_shape_elements(&shape), &y));
    VBS_TRY(vbs_onnx_numbers_read(im, 16 * vbs_shape_elements(&shape)));
    for (int64_t i = 0; i < vbs_shape_elements(&shape); i++) {
        int64_t n_points = shape.dim[2] * shape.dim[3], channel = i / n_points;
        const number *at = &points[2 * (channel / shape.dim[1] * n_points + i % n_points)];
        int64_t height = images->shape.dim[2], width = images->shape.dim[3];
        struct vbs_grid_taps across = vbs_grid_sample_taps(&a, (float)at[0].value, width);
        struct vbs_grid_taps down = vbs_grid_sample_taps(&a, (float)at[1].value, height);

        if (isnan(at[0].value) || isnan(at[1].value)) /* however far away the other is */
            across = down = (struct vbs_grid_taps){.n = 1, .weight = {NAN}};
        y[i] = sampled(&across, &down, x + channel * height * width, width);
        y[i].value = vbs_onnx_rounded(images->type, y[i].value);
        y[i].batch |= at[0].batch || at[1].batch;
    }
    return vbs_onnx_give_numbers(im, images->type, &shape, y);
}
