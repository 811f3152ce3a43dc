/* The table of the operators of ONNX. */
#ifndef VBS_MODEL_ONNX_TABLE_H
#define VBS_MODEL_ONNX_TABLE_H

#include "model/onnx/import/import.h"

/* Every operator of ONNX that can be imported, ascending by name; a null name ends the list. */
extern const struct vbs_onnx_operator vbs_onnx_operators[];
extern const int vbs_onnx_n_operators;

#endif
