/*
 * A profile while it is put together. Internal to the room: the public calls fill it by appending,
 * the CSV reader by layer id, in whatever order its lines come.
 */
#ifndef VBS_PROFILE_BUILDER_H
#define VBS_PROFILE_BUILDER_H

#include "base/arena.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"
#include "vbslab/units.h"

struct builder_layer {
    struct vbs_profile_layer layer; /* texts and inputs in the builder's arena */
    bool given;
    int line; /* of the source, where it was first seen; 0: none */
};

struct builder_row {
    struct vbs_profile_row row; /* algorithm: index into the builder's algorithms */
    int layer;
    int batch;
    int line;
};

struct builder_copy {
    const char *source; /* in the builder's arena */
    int n_rows;
    struct vbs_copy_row *rows; /* [VBS_MAX_COPY_ROWS], bytes ascending; likewise */
};

struct vbs_profile_builder {
    struct vbs_arena arena;
    /* Where the next layer or row stands, for messages; source is borrowed and may be null. */
    const char *source;
    int line;
    struct builder_layer *layers; /* [1..n_layers] */
    int n_layers;
    int64_t layers_capacity;
    struct builder_row *rows;
    size_t n_rows;
    int64_t rows_capacity;
    const char **algorithms; /* [VBS_MAX_ALGORITHMS] in the order of their first use */
    int n_algorithms;
    int *slots; /* hash table, open addressing: index into algorithms + 1, or 0 */
    struct builder_copy copies[VBS_MAX_COPIES]; /* in the order of their first use */
    int n_copies;
    struct vbs_provenance provenance;
};

/* Hidden behind the public struct, which comes first. */
struct profile_body {
    struct vbs_profile profile;
    struct vbs_arena arena; /* everything that the profile points to, and the body's arrays */
    struct vbs_profile_row *rows;
    size_t *first; /* [n_layers * n_batches + 1]: rows of cell c are first[c] .. first[c + 1] - 1 */
};

/* VBS_FORMAT with "SOURCE:LINE: " before the text where the builder knows them. */
enum vbs_status vbs_builder_fail(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                 int line, const char *format, ...) VBS_PRINTF(4, 5);

/* Why time_us cannot be a time ("negative"), or null. */
const char *vbs_builder_time_fault(double time_us);

/* Sets layer id (1..VBS_MAX_LAYERS), which must not have been given. */
enum vbs_status vbs_builder_set_layer(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      int id, const struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* Sorts algorithms by name and rows by layer, batch and algorithm, gives rows that do not say their
 * weight_bytes those of the layer, then checks the whole.
 * *batches and *n_batches (in the builder's arena) are those of every layer; *input_bytes is what
 * one sample of the network's input takes. */
enum vbs_status vbs_builder_check(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  int **batches, int *n_batches,
                                  int64_t *input_bytes) VBS_MUST_CHECK;

/* ---- copy.c ---- */

/* The builder's copies and their links into profile; false when memory is out. */
bool vbs_builder_copies(const struct vbs_profile_builder *builder, struct vbs_arena *arena,
                        struct vbs_profile *profile);

#endif
