/* Element types and shapes of the tensors in ONNX files. */
#ifndef VBS_MODEL_ONNX_TYPES_H
#define VBS_MODEL_ONNX_TYPES_H

#include "model/network/network.h"

/* A shape as text: "2x3", "scalar". Returns buffer. */
char *vbs_onnx_shape_text(const struct vbs_shape *shape, char *buffer, size_t size);

/* Strides of a shape whose elements lie one after the other. */
void vbs_onnx_plain_strides(const struct vbs_shape *shape, int64_t *stride);

/* Whether the dimensions of a constant that are not 0 make at most VBS_MAX_ELEMENTS: then so do any
 * of them, in any order. */
bool vbs_onnx_bounded(const struct vbs_shape *shape);

/* Whether elements of this type are whole numbers, or booleans. */
bool vbs_onnx_is_whole(int type);

/* Element type of values of a TensorProto.DataType; false when vbslab does not know it. */
bool vbs_onnx_element(int type, enum vbs_element *element);

/* "FLOAT16" and so on; never null. */
const char *vbs_onnx_type_name(int type);

/* value as one of a TensorProto.DataType. */
long double vbs_onnx_rounded(int type, long double value);

#endif
