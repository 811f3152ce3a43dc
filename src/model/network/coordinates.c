/* The coordinates of the operators Resize, GridSample and DeformConv, as ONNX defines them. */
#include "model/network/coordinates.h"

#include <math.h>

/* Returns the coordinate in the input of position i, by a scale that follows from the sizes. Each
 * quotient is rounded once, so that positions on an element or between two are exact. */
static double coordinate_by_size(const union vbs_attributes *a, int64_t in, int64_t out, int64_t i)
{
    double x = (double)i, n = (double)in;
    /* (x + 1/2) / scale - 1/2 */
    double half = (double)((2 * i + 1) * in - out) / (double)(2 * out);

    switch (a->resize.coordinates) {
    case VBS_COORDINATES_PYTORCH_HALF_PIXEL:
        return out > 1 ? half : 0;
    case VBS_COORDINATES_ALIGN_CORNERS:
        return out > 1 ? x * (n - 1) / (double)(out - 1) : 0;
    case VBS_COORDINATES_ASYMMETRIC:
        return x * n / (double)out;
    case VBS_COORDINATES_TF_HALF_PIXEL:
        return (x + 0.5) * n / (double)out;
    default:
        return half;
    }
}

/* Returns the coordinate within a crop. All is computed with the 32 bits that its borders have in
 * files, because whole coordinates follow only so. */
static double coordinate_in_crop(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                                 int64_t i)
{
    float begin = (float)a->resize.roi_begin[d], end = (float)a->resize.roi_end[d];
    float x = (float)i, last = (float)(in - 1);

    return out > 1 ? begin * last + x * (end - begin) * last / (float)(out - 1)
                   : 0.5F * (begin + end) * last;
}

/* Returns the coordinate in the input of position i, by a scale of its own. All is computed with
 * the 32 bits that scales have in files: 0.4 is slightly more there, and 2 divided by it is 5 only
 * where the quotient is rounded as the scale was. */
static double coordinate_by_scale(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                                  int64_t i)
{
    float scale = (float)a->resize.scale[d], x = (float)i, n = (float)in, length = scale * n;
    float half = (x + 0.5f) / scale - 0.5f;

    switch (a->resize.coordinates) {
    case VBS_COORDINATES_PYTORCH_HALF_PIXEL:
        return out > 1 ? half : 0;
    case VBS_COORDINATES_ALIGN_CORNERS:
        return out > 1 ? x * (n - 1) / (length - 1) : 0;
    case VBS_COORDINATES_ASYMMETRIC:
        return x / scale;
    case VBS_COORDINATES_TF_HALF_PIXEL:
        return (x + 0.5f) / scale;
    case VBS_COORDINATES_HALF_PIXEL_SYMMETRIC:
        return n / 2 * (1 - (float)out / length) + half;
    default:
        return half;
    }
}

double vbs_resize_coordinate(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                             int64_t i)
{
    bool follows = a->resize.scale[d] == (double)out / (double)in;

    if (a->resize.coordinates == VBS_COORDINATES_TF_CROP)
        return coordinate_in_crop(a, d, in, out, i);
    return follows ? coordinate_by_size(a, in, out, i) : coordinate_by_scale(a, d, in, out, i);
}

double vbs_resize_width(const union vbs_attributes *a, int d)
{
    return a->resize.antialias && a->resize.scale[d] < 1 ? 1 / a->resize.scale[d] : 1;
}

double vbs_resize_nearest(enum vbs_resize_nearest mode, double x)
{
    switch (mode) {
    case VBS_NEAREST_ROUND_PREFER_CEIL:
        return floor(x + 0.5);
    case VBS_NEAREST_FLOOR:
        return floor(x);
    case VBS_NEAREST_CEIL:
        return ceil(x);
    default:
        return ceil(x - 0.5);
    }
}

/* ---- GridSample ---- */

#define CUBIC (-0.75f) /* the coefficient of its kernel */

/* Returns a coordinate mirrored at two borders, as often as it takes to lie between them. */
static float mirrored(float x, float low, float high)
{
    float range = high - low, beyond = x < low ? low - x : x - high, rest = fmodf(beyond, range);
    bool even = fmodf(beyond, 2 * range) < range;

    if (x >= low && x <= high)
        return x;
    if (!(range > 0))
        return isnan(x) ? x : low;
    return (x < low) == even ? low + rest : high - rest;
}

/* The borders along a dimension. */
struct borders {
    enum vbs_grid_padding padding;
    float low, high;
    int64_t n;
};

/* Returns the element that stands at a position; -1: a zero does. */
static int64_t element_at(const struct borders *b, int64_t i)
{
    if (i >= 0 && i < b->n)
        return i;
    if (b->padding == VBS_GRID_ZEROS)
        return -1;
    if (b->padding == VBS_GRID_REFLECTION)
        i = (int64_t)mirrored((float)i, b->low, b->high);
    return i < 0 ? 0 : i < b->n ? i : b->n - 1;
}

/* Returns the weight of the element at distance t (Keys 1981), at most 2. */
static float cubic(float t)
{
    return t <= 1 ? ((CUBIC + 2) * t - (CUBIC + 3)) * t * t + 1
                  : ((CUBIC * t - 5 * CUBIC) * t + 8 * CUBIC) * t - 4 * CUBIC;
}

/* Returns the weight of the element at a position near a coordinate. */
static float weight_at(enum vbs_resize_mode mode, float x, float at)
{
    float distance = fabsf(x - at);

    return mode == VBS_RESIZE_NEAREST  ? 1
           : mode == VBS_RESIZE_LINEAR ? 1 - distance
                                       : cubic(distance);
}

struct vbs_grid_taps vbs_grid_sample_taps(const union vbs_attributes *a, float coordinate,
                                          int64_t n)
{
    bool corners = a->grid_sample.align_corners;
    enum vbs_resize_mode mode = a->grid_sample.mode;
    float length = (float)n, x;
    struct borders b = {.padding = a->grid_sample.padding,
                        .low = corners ? 0 : -0.5f,
                        .high = length - (corners ? 1 : 0.5f),
                        .n = n};
    int most = mode == VBS_RESIZE_NEAREST ? 1 : mode == VBS_RESIZE_LINEAR ? 2 : VBS_GRID_MOST_TAPS;
    struct vbs_grid_taps taps = {.n = 0};

    x = corners ? (coordinate + 1) / 2 * (length - 1) : ((coordinate + 1) * length - 1) / 2;
    x = mode == VBS_RESIZE_NEAREST ? rintf(x) : x;
    if (b.padding == VBS_GRID_BORDER && (x < b.low || x > b.high))
        x = x < 0 ? 0 : length - 1;
    if (b.padding == VBS_GRID_REFLECTION)
        x = mirrored(x, b.low, b.high);
    if (isnan(x))
        return (struct vbs_grid_taps){.n = 1, .at = {0}, .weight = {x}};
    if (x < -4 || x > length + 4) /* zeros only */
        return taps;
    for (int t = 0; t < most; t++) {
        int64_t at = (int64_t)floorf(x) + t - (most == VBS_GRID_MOST_TAPS);

        taps.at[taps.n] = element_at(&b, at);
        taps.weight[taps.n] = weight_at(mode, x, (float)at);
        taps.n += taps.at[taps.n] >= 0 && taps.weight[taps.n] != 0; /* 0 times infinity is none */
    }
    return taps;
}

/* ---- DeformConv ---- */

struct vbs_image_taps vbs_deform_taps(float row, float column, int64_t height, int64_t width)
{
    struct vbs_image_taps taps = {.n = 0};
    int64_t top, left;
    float down, across;

    if (isnan(row) || isnan(column))
        return (struct vbs_image_taps){.n = 1, .at = {0}, .weight = {row + column}};
    if (row <= -1 || column <= -1 || row >= (float)height || column >= (float)width)
        return taps;
    top = (int64_t)floorf(row);
    left = (int64_t)floorf(column);
    down = row - (float)top;
    across = column - (float)left;
    for (int t = 0; t < 4; t++) {
        int64_t y = top + t / 2, x = left + t % 2;

        if (y < 0 || y >= height || x < 0 || x >= width)
            continue;
        taps.at[taps.n] = y * width + x;
        taps.weight[taps.n] = (t / 2 ? down : 1 - down) * (t % 2 ? across : 1 - across);
        taps.n += taps.weight[taps.n] != 0; /* 0 times infinity is none */
    }
    return taps;
}
