/*
 * Reads the wire format of ONNX files (protobuf) without their weights.
 *
 * A file is read once, from its beginning to its end, through a small window. Only the fields that
 * the importer needs are copied, into a skeleton of some kilobytes for a file of any size, which
 * protobuf-c then unpacks. Large arrays of values stay in the file, and a table holds their
 * offsets.
 */
#ifndef VBS_MODEL_ONNX_IMPORT_WIRE_H
#define VBS_MODEL_ONNX_IMPORT_WIRE_H

#include "model/network/network.h"

/* Limits of what a file may ask memory for. */
#define VBS_ONNX_MAX_SKELETON ((size_t)32 << 20) /* bytes */
#define VBS_ONNX_MAX_FIELDS   (1 << 20)          /* in the skeleton */
#define VBS_ONNX_MAX_TEXT     (1 << 16)          /* bytes of a name, or another string */
#define VBS_ONNX_KEPT_BYTES   1024               /* arrays up to here are part of the skeleton */
#define VBS_ONNX_MAX_NESTED   8                  /* graphs inside each other, the outermost too */

/* An array of a TensorProto that stays in the file. The TensorProto, without the array, is in the
 * skeleton, where field VBS_ONNX_FIELD_BLOB is the number of the blob. */
struct vbs_onnx_blob {
    int field; /* of TensorProto: raw_data, float_data or double_data */
    int64_t offset, bytes;
};

struct vbs_onnx_skeleton {
    unsigned char *data; /* a ModelProto or TensorProto */
    size_t length;
    struct vbs_onnx_blob *blobs; /* of several of one TensorProto the last one counts */
    int n_blobs;
};

#define VBS_ONNX_FIELD_FLOAT_DATA  4
#define VBS_ONNX_FIELD_RAW_DATA    9
#define VBS_ONNX_FIELD_DOUBLE_DATA 10
#define VBS_ONNX_FIELD_DEFAULTS    11   /* of FunctionProto: attributes that calls may leave out */
#define VBS_ONNX_FIELD_BLOB        1000 /* not of ONNX: only the walk writes it */

/* Reads file number file of source, which has so many bytes, as a ModelProto (tensor: as a
 * TensorProto). The skeleton is to be freed by vbs_onnx_skeleton_clear. VBS_FORMAT says what is
 * wrong and at which byte; VBS_IO, VBS_NO_MEMORY. Linear in the length of the skeleton and the
 * number of blobs. */
enum vbs_status vbs_onnx_walk(struct vbs_ctx *ctx, const struct vbs_source *source, int file,
                              int64_t bytes, bool tensor,
                              struct vbs_onnx_skeleton *skeleton) VBS_MUST_CHECK;

void vbs_onnx_skeleton_clear(struct vbs_onnx_skeleton *skeleton);

#endif
