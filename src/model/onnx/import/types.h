/* Element types and shapes of the tensors in ONNX files. */
#ifndef VBS_MODEL_ONNX_IMPORT_TYPES_H
#define VBS_MODEL_ONNX_IMPORT_TYPES_H

#include "model/network/network.h"

/* Writes a shape as text, "2x3" or "scalar", into buffer, and returns buffer. */
char *vbs_onnx_shape_text(const struct vbs_shape *shape, char *buffer, size_t size);

/* Gives the strides of a shape whose elements lie one after the other in row-major order. */
void vbs_onnx_plain_strides(const struct vbs_shape *shape, int64_t *stride);

/* Gives whether the product of those dimensions that are not 0 is at most VBS_MAX_ELEMENTS: then
 * the product of any of them, in any order, is within this limit too. */
bool vbs_onnx_bounded(const struct vbs_shape *shape);

/* Gives whether elements of this TensorProto.DataType are whole numbers or booleans. */
bool vbs_onnx_is_whole(int type);

/* Gives the element type of struct vbs_values for a TensorProto.DataType; false where there is
 * none.
 */
bool vbs_onnx_element(int type, enum vbs_element *element);

/* Gives the name of a TensorProto.DataType, such as "FLOAT16"; never null. */
const char *vbs_onnx_type_name(int type);

/* Gives whether elements of this TensorProto.DataType are whole numbers that may be negative. */
bool vbs_onnx_is_signed(int type);

/* Gives the number that value becomes when it is stored as a TensorProto.DataType. Whole numbers
 * are cut off towards 0; a value beyond their range becomes its nearest end, and NaN becomes 0. */
long double vbs_onnx_rounded(int type, long double value);

/* Returns the least and the largest number of a TensorProto.DataType of whole numbers or truth
 * values, as far as 32-bit floats count: within VBS_MAX_WHOLE on both sides of 0. */
void vbs_onnx_range(int type, int64_t *least, int64_t *most);

/* Returns whether a TensorProto.DataType has whole numbers of 32 or 64 bits. */
bool vbs_onnx_is_wide(int type);

/* Returns the bits of a TensorProto.DataType of whole numbers of which 32-bit floats hold all, 4 to
 * 16; 0 of all other types. */
int vbs_onnx_narrow_bits(int type);

/* Gives the 64 bits of a whole number of any type, in two's complement where it is negative; the
 * nearest ones where it has none. */
uint64_t vbs_onnx_bits(long double value);

/* Gives the whole number of a TensorProto.DataType whose bits are the lowest of these: how integers
 * overflow. */
long double vbs_onnx_wrapped(int type, uint64_t bits);

#endif
