#include "model/onnx/import/types.h"

#include "base/arith.h"
#include "generated/onnx.pb-c.h"

#include <math.h>
#include <stdio.h>

/* The element types of TensorProto. */
static const struct {
    const char *name;
    bool known, whole;
    enum vbs_element element;
} TYPES[] = {{"UNDEFINED", false, false, 0},
             {"FLOAT", true, false, VBS_F32},
             {"UINT8", true, true, VBS_U8},
             {"INT8", true, true, VBS_I8},
             {"UINT16", true, true, VBS_U16},
             {"INT16", true, true, VBS_I16},
             {"INT32", true, true, VBS_I32},
             {"INT64", true, true, VBS_I64},
             {"STRING", false, false, 0},
             {"BOOL", true, true, VBS_U8},
             {"FLOAT16", true, false, VBS_F16},
             {"DOUBLE", true, false, VBS_F64},
             {"UINT32", true, true, VBS_U32},
             {"UINT64", true, true, VBS_U64},
             {"COMPLEX64", false, false, 0},
             {"COMPLEX128", false, false, 0},
             {"BFLOAT16", true, false, VBS_BF16},
             {"FLOAT8E4M3FN", false, false, 0},
             {"FLOAT8E4M3FNUZ", false, false, 0},
             {"FLOAT8E5M2", false, false, 0},
             {"FLOAT8E5M2FNUZ", false, false, 0},
             {"UINT4", true, true, VBS_U4},
             {"INT4", true, true, VBS_I4},
             {"FLOAT4E2M1", false, false, 0},
             {"FLOAT8E8M0", false, false, 0},
             {"UINT2", false, false, 0},
             {"INT2", false, false, 0}};

static bool is_listed(int type)
{
    return type >= 0 && type < (int)(sizeof TYPES / sizeof TYPES[0]);
}

bool vbs_onnx_element(int type, enum vbs_element *element)
{
    if (!is_listed(type) || !TYPES[type].known)
        return false;
    *element = TYPES[type].element;
    return true;
}

bool vbs_onnx_is_whole(int type)
{
    return is_listed(type) && TYPES[type].whole;
}

const char *vbs_onnx_type_name(int type)
{
    return is_listed(type) ? TYPES[type].name : "of a later version";
}

char *vbs_onnx_shape_text(const struct vbs_shape *shape, char *buffer, size_t size)
{
    if (shape->n_dims == 0)
        snprintf(buffer, size, "scalar");
    else
        vbs_shape_format(shape, buffer, size);
    return buffer;
}

void vbs_onnx_plain_strides(const struct vbs_shape *shape, int64_t *stride)
{
    int64_t each = 1;

    for (int i = shape->n_dims - 1; i >= 0; i--) {
        stride[i] = each;
        each *= shape->dim[i];
    }
}

bool vbs_onnx_bounded(const struct vbs_shape *shape)
{
    int64_t elements = 1;

    for (int d = 0; d < shape->n_dims; d++)
        if (shape->dim[d] < 0 ||
            (shape->dim[d] > 0 &&
             (!vbs_mul(elements, shape->dim[d], &elements) || elements > VBS_MAX_ELEMENTS)))
            return false;
    return true;
}

bool vbs_onnx_is_signed(int type)
{
    if (!vbs_onnx_is_whole(type))
        return false;
    return TYPES[type].element == VBS_I4 || TYPES[type].element == VBS_I8 ||
           TYPES[type].element == VBS_I16 || TYPES[type].element == VBS_I32 ||
           TYPES[type].element == VBS_I64;
}

long double vbs_onnx_rounded(int type, long double value)
{
    long double least, most;
    int n_bits;

    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL)
        return value != 0;
    if (!vbs_onnx_is_whole(type))
        return type == ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE ? (double)value : (float)value;
    if (isnan(value))
        return 0;
    n_bits = vbs_element_bits(TYPES[type].element) - vbs_onnx_is_signed(type);
    most = ldexpl(1, n_bits) - 1;
    least = vbs_onnx_is_signed(type) ? -most - 1 : 0;
    return value < least ? least : value > most ? most : truncl(value);
}

uint64_t vbs_onnx_bits(long double value)
{
    if (isnan(value))
        return 0;
    if (value < 0)
        return value <= -0x1p63L ? (uint64_t)INT64_MIN : (uint64_t)(int64_t)value;
    return value >= 0x1p64L ? UINT64_MAX : (uint64_t)value;
}

long double vbs_onnx_wrapped(int type, uint64_t bits)
{
    int unused;

    if (type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL)
        return bits != 0;
    unused = 64 - vbs_element_bits(TYPES[type].element);
    bits <<= unused;
    if (!vbs_onnx_is_signed(type))
        return bits >> unused;
    return bits >> 63 ? -(long double)(~bits >> unused) - 1 : (long double)(bits >> unused);
}

int vbs_onnx_narrow_bits(int type)
{
    int bits;

    if (!vbs_onnx_is_whole(type) || type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL)
        return 0;
    bits = vbs_element_bits(TYPES[type].element);
    return bits <= 16 ? bits : 0;
}

bool vbs_onnx_is_wide(int type)
{
    return vbs_onnx_is_whole(type) && vbs_element_bits(TYPES[type].element) >= 32;
}

void vbs_onnx_range(int type, int64_t *least, int64_t *most)
{
    int bits = vbs_onnx_narrow_bits(type);
    bool is_signed = vbs_onnx_is_signed(type);

    *most = type == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL ? 1
            : bits > 0                                  ? ((int64_t)1 << (bits - is_signed)) - 1
                                                        : VBS_MAX_WHOLE;
    *least = !is_signed ? 0 : bits > 0 ? -*most - 1 : -VBS_MAX_WHOLE;
}
