/* The coordinates of the operator Resize, as ONNX defines them. */
#include "model/network/coordinates.h"

#include <math.h>

/* Returns the coordinate in the input of position i, by a scale that follows from the sizes. Each
 * quotient is rounded once, so that positions on an element or between two are exact. */
static double coordinate_by_size(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                                 int64_t i)
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
    case VBS_COORDINATES_TF_CROP:
        return out > 1 ? (n - 1) * (a->resize.roi_begin[d] +
                                    x * (a->resize.roi_end[d] - a->resize.roi_begin[d]) /
                                        (double)(out - 1))
                       : (n - 1) * 0.5 * (a->resize.roi_begin[d] + a->resize.roi_end[d]);
    default:
        return half;
    }
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
    case VBS_COORDINATES_TF_CROP:
        return coordinate_by_size(a, d, in, out, i);
    default:
        return half;
    }
}

double vbs_resize_coordinate(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                             int64_t i)
{
    bool follows = a->resize.scale[d] == (double)out / (double)in;

    return follows ? coordinate_by_size(a, d, in, out, i) : coordinate_by_scale(a, d, in, out, i);
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
