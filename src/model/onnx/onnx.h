/*
 * Networks from ONNX files. vbs_network_load uses vbs_onnx_load; tests use the other functions too.
 *
 * The graph is imported node by node. Constants are folded. Nodes that only rename or reshape
 * become no layer, and neighbours that are one operator of vbslab become one layer. Dimension 0 of
 * the input is the batch where it can be carried to every output; else the network is whole
 * (vbs_network).
 */
#ifndef VBS_MODEL_ONNX_ONNX_H
#define VBS_MODEL_ONNX_ONNX_H

#include "vbslab/model.h"

#include "model/network/network.h"

/* An input of the graph that is a constant: the TensorProto in a file. */
struct vbs_onnx_binding {
    int input; /* from 0, initialisers not counted */
    const char *path;
};

/* Loads an ONNX file of any name, as vbs_network_load does; bindings may be null. */
enum vbs_status vbs_onnx_load(struct vbs_ctx *ctx, const char *path, const struct vbs_shape *input,
                              const struct vbs_onnx_binding *bindings, int n_bindings,
                              struct vbs_network **network) VBS_MUST_CHECK;

/* Loads an ONNX file of any name, as vbs_network_load_inputs does. */
enum vbs_status vbs_onnx_load_inputs(struct vbs_ctx *ctx, const char *path,
                                     const struct vbs_input_choice *choices, int n,
                                     struct vbs_network **network) VBS_MUST_CHECK;

/* Loads an ONNX file out of a source that has it, or an image of it, under this path, and images of
 * all files beside it, under their locations. source is freed on failure, and else becomes the
 * network's. */
enum vbs_status vbs_onnx_load_source(struct vbs_ctx *ctx, const char *path,
                                     const struct vbs_input_choice *choices, int n_choices,
                                     struct vbs_source *source,
                                     struct vbs_network **network) VBS_MUST_CHECK;

/* The values of a TensorProto file as floats. */
struct vbs_onnx_tensor_file {
    int type;               /* TensorProto.DataType; 1: FLOAT */
    struct vbs_shape shape; /* n_dims 0: a scalar; dimensions may be 0 */
    float *values;          /* free() it */
};

/* Reads a TensorProto file. VBS_IO, VBS_FORMAT, VBS_UNSUPPORTED (element types that are no
 * numbers), VBS_NO_MEMORY. Values that are not finite are given as they are. */
enum vbs_status vbs_onnx_read_tensor(struct vbs_ctx *ctx, const char *path,
                                     struct vbs_onnx_tensor_file *tensor) VBS_MUST_CHECK;

/* Gives the name of the index-th ONNX operator that can be imported, in alphabetical order; null
 * after the last. *layer tells whether it may become a layer; else it works on constants and shapes
 * only. */
const char *vbs_onnx_operator(int index, bool *layer);

#endif
