/* The coordinates of the operators Resize, GridSample and DeformConv, as ONNX defines them: for
 * constants that are resized or sampled while a file is read, and for layers. */
#ifndef VBS_MODEL_NETWORK_COORDINATES_H
#define VBS_MODEL_NETWORK_COORDINATES_H

#include "vbslab/model.h"

/* Returns the coordinate in the input, of in elements along dimension d, of position i of the
 * output, of out elements. */
double vbs_resize_coordinate(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                             int64_t i);

/* Returns the position, which may lie outside, of the element that is nearest to a coordinate. */
double vbs_resize_nearest(enum vbs_resize_nearest mode, double x);

/* Returns how much wider than usual the kernel of a linear or cubic resize is along dimension d. */
double vbs_resize_width(const union vbs_attributes *a, int d);

#define VBS_GRID_MOST_TAPS 4

/* The elements along a dimension of which a gridsample makes a value, and their weights; what
 * stands for zeros outside of the image is left out. */
struct vbs_grid_taps {
    int n;
    int64_t at[VBS_GRID_MOST_TAPS];
    float weight[VBS_GRID_MOST_TAPS];
};

/* Returns those at a coordinate of the grid, along a dimension of n elements. A coordinate that is
 * no number makes a value that is none. */
struct vbs_grid_taps vbs_grid_sample_taps(const union vbs_attributes *a, float coordinate,
                                          int64_t n);

/* The elements of an image of which a deformconv makes what it reads at a place, and their weights;
 * the zeros outside of the image are left out. */
struct vbs_image_taps {
    int n;
    int64_t at[4]; /* row-major */
    float weight[4];
};

/* Returns those at a row and a column, between which it mixes linearly. Where one of the two is no
 * number, neither is what is read. */
struct vbs_image_taps vbs_deform_taps(float row, float column, int64_t height, int64_t width);

#endif
