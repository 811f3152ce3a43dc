/* The coordinates of the operator Resize, as ONNX defines them: for constants that are resized
 * while a file is read, and for layers. */
#ifndef VBS_MODEL_NETWORK_COORDINATES_H
#define VBS_MODEL_NETWORK_COORDINATES_H

#include "vbslab/model.h"

/* Returns the coordinate in the input, of in elements along dimension d, of position i of the
 * output, of out elements. */
double vbs_resize_coordinate(const union vbs_attributes *a, int d, int64_t in, int64_t out,
                             int64_t i);

/* Returns the position, which may lie outside, of the element that is nearest to a coordinate. */
double vbs_resize_nearest(enum vbs_resize_nearest mode, double x);

#endif
