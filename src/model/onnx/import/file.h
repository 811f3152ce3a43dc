/* An unpacked ONNX file, and its tensors, which are stored in it or beside it. */
#ifndef VBS_MODEL_ONNX_IMPORT_FILE_H
#define VBS_MODEL_ONNX_IMPORT_FILE_H

#include "model/onnx/import/constant.h"
#include "model/onnx/import/wire.h"

#include "generated/onnx.pb-c.h"

struct vbs_onnx_file {
    const char *path;
    struct vbs_source *source; /* owns all unpacked data */
    int number;                /* of the file in source */
    int64_t bytes;
    const Onnx__ModelProto *model;
    const Onnx__GraphProto *graph;   /* of the model, without calls of its functions */
    const Onnx__TensorProto *tensor; /* of a file with one TensorProto */
    const struct vbs_onnx_blob *blobs;
    int n_blobs;
};

/* Reads a file of a ModelProto, or (tensor) of a TensorProto; path must live as long as source.
 * VBS_IO, VBS_FORMAT, VBS_UNSUPPORTED, VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_file_read(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                   bool tensor, struct vbs_onnx_file *file) VBS_MUST_CHECK;

/* Makes a constant of a tensor of file (an initialiser, or the value of an attribute) without
 * reading its values; both live as long as the source of the file. Sizes are checked against the
 * stored array, in the file or in a file of external data beside it. */
enum vbs_status vbs_onnx_file_constant(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                       const Onnx__TensorProto *tensor,
                                       struct vbs_onnx_constant **constant) VBS_MUST_CHECK;

/* The most bytes of all constants of a file that are stored as the elements other than 0. */
#define VBS_ONNX_MAX_SPARSE ((int64_t)1 << 30)

/* Makes a constant of a sparse tensor, with its zeros, which lives as long as the source of the
 * file. *bytes counts the bytes of all of them. VBS_FORMAT: an index is beyond the shape, or they
 * are not as many as the values; VBS_UNSUPPORTED: the limit is reached; VBS_IO, VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_file_sparse(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                     const Onnx__SparseTensorProto *sparse, int64_t *bytes,
                                     struct vbs_onnx_constant **constant) VBS_MUST_CHECK;

#endif
