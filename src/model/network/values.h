/*
 * Where the values of parameters are: in a file, read when they are asked for, or in memory.
 */
#ifndef VBS_MODEL_NETWORK_VALUES_H
#define VBS_MODEL_NETWORK_VALUES_H

#include "vbslab/model.h"

/* Element types of ONNX that values may have; all are given as floats. */
enum vbs_element {
    VBS_F32,
    VBS_F64,
    VBS_F16,
    VBS_BF16,
    VBS_I8,
    VBS_U8,
    VBS_I16,
    VBS_U16,
    VBS_I32,
    VBS_U32,
    VBS_I64,
    VBS_U64,
    VBS_N_ELEMENTS
};

/* Bytes of one element. */
int vbs_element_bytes(enum vbs_element element);

/* Element at *at, any address, little-endian. long double holds all of them exactly where it has 64
 * bits for digits. */
long double vbs_element_value(enum vbs_element element, const void *at);

/* Files and pieces of memory that values are read from, and the values. */
struct vbs_source;

struct vbs_values {
    const char *name; /* of the initialiser, for messages */
    enum vbs_element element;
    int64_t count;
    /* Every value is fill (file < 0 and memory null); or little-endian elements in memory; or in
     * file number file of the source, from byte offset on. */
    double fill;
    const void *memory;
    int file;
    int64_t offset;
    /* Value i of the parameter is stored at sum of digit d of i (row-major in dim) * stride[d],
     * in elements; n_dims 0: at i. Lets a transposed matrix be read as it is. */
    int n_dims;
    int64_t dim[VBS_MAX_DIMS], stride[VBS_MAX_DIMS];
    /* Values are multiplied by this after reading, where it is not 0 (alpha of Gemm). */
    double factor;
};

/* An empty source. Null: out of memory. */
struct vbs_source *vbs_source_new(void);
void vbs_source_free(struct vbs_source *source);

/* Memory that lives as long as the source, zeroed; null: out of memory. */
void *vbs_source_alloc(struct vbs_source *source, size_t n, size_t size);

/* Opens a file for reading; *file is its number, the same for the same path. VBS_IO (also when it
 * is no regular file). */
enum vbs_status vbs_source_open(struct vbs_ctx *ctx, struct vbs_source *source, const char *path,
                                int *file, int64_t *bytes) VBS_MUST_CHECK;

/* Bytes of a file as they are; VBS_IO, also when it ends before. */
enum vbs_status vbs_source_read(struct vbs_ctx *ctx, const struct vbs_source *source, int file,
                                int64_t offset, int64_t bytes, void *to) VBS_MUST_CHECK;

/* Values first .. first + count - 1 as floats. VBS_IO, VBS_FORMAT (not finite). Linear in count.
 * Where strides are not those of dim, pieces of a quarter MiB are read that hold at least one
 * wanted value in 16, or single runs of neighbours: ask for many rows at once. */
enum vbs_status vbs_values_read(struct vbs_ctx *ctx, const struct vbs_source *source,
                                const struct vbs_values *values, int64_t first, int64_t count,
                                float *out) VBS_MUST_CHECK;

#endif
