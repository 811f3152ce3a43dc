/*
 * A profile while it is built. Internal to the room. The public calls append to it; the CSV reader
 * adds layers by their ids, in whatever order its lines come.
 */
#ifndef VBS_PROFILE_BUILDER_H
#define VBS_PROFILE_BUILDER_H

#include "base/arena.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"
#include "vbslab/units.h"

struct builder_layer {
    struct vbs_profile_layer layer; /* its texts and inputs are in the builder's arena */
    bool given;
    int line; /* line of the source in which it was first seen; 0: none */
};

struct builder_row {
    struct vbs_profile_row row; /* its algorithm is an index into the builder's algorithms */
    int layer;
    int batch;
    int line;
};

struct builder_copy {
    const char *source; /* in the builder's arena */
    int n_rows;
    struct vbs_copy_row *rows; /* [VBS_MAX_COPY_ROWS], bytes ascending; in the builder's arena */
    /* [VBS_MAX_LAYERS + 1], as struct vbs_link has them; 0: not set. Null: none is set. */
    double *beside;
    int n_beside; /* that are set */
};

struct vbs_profile_builder {
    struct vbs_arena arena;
    /* The place of the next layer or row in the source, for messages; source is borrowed and may be
     * null. */
    const char *source;
    int line;
    struct builder_layer *layers; /* [1..n_layers] */
    int n_layers;
    int64_t layers_capacity;
    struct builder_row *rows;
    size_t n_rows;    /* once they are checked, of whole samples */
    size_t n_stripes; /* rows of stripes, which lie behind them once they are checked */
    int64_t rows_capacity;
    const char **algorithms; /* [VBS_MAX_ALGORITHMS] in the order of their first use */
    int n_algorithms;
    int *slots; /* hash table, open addressing: index into algorithms + 1, or 0 */
    struct builder_copy copies[VBS_MAX_COPIES]; /* in the order of their first use */
    int n_copies;
    struct vbs_speed speed;
    struct vbs_provenance provenance;
    int input_rows; /* of the network's input */
};

/* The memory behind a profile. The public struct comes first. */
struct profile_body {
    struct vbs_profile profile;
    struct vbs_arena arena; /* for everything to which the profile points, and for the arrays of
                               the body */
    struct vbs_profile_row *rows;
    size_t *first; /* [n_layers * n_batches + 1]: rows of cell c are first[c] .. first[c + 1] - 1 */
    struct vbs_profile_stripe *stripes;
    size_t *first_stripe; /* [n_layers + 2]: those of layer k are first_stripe[k] ..
                             first_stripe[k + 1] - 1 */
};

/* Fails with VBS_FORMAT, and with "SOURCE:LINE: " before the detail where the builder knows
 * them. */
enum vbs_status vbs_builder_fail(struct vbs_ctx *ctx, const struct vbs_profile_builder *builder,
                                 int line, const char *format, ...) VBS_PRINTF(4, 5);

/* Gives the reason why time_us cannot be a time, such as "negative", or null. */
const char *vbs_builder_time_fault(double time_us);

/* Sets layer id (1..VBS_MAX_LAYERS), which must not be set yet. */
enum vbs_status vbs_builder_set_layer(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      int id, const struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* Sorts algorithms by name, and rows by layer, batch and algorithm, those of stripes last. Gives
 * rows without weight_bytes the weight_bytes of their layer. Then checks the whole profile.
 * *batches and *n_batches (in the builder's arena) are the batches of every layer; *input_bytes is
 * the size of one sample of the network's input. */
enum vbs_status vbs_builder_check(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                  int **batches, int *n_batches,
                                  int64_t *input_bytes) VBS_MUST_CHECK;

/* ---- change.c ---- */

/* What is done with a row of a profile. */
typedef enum vbs_status vbs_profile_row_visit(void *self, int layer, int batch,
                                              const struct vbs_profile_row *row);

/* Visits the rows of a layer: those of whole samples by batch and algorithm, then those of stripes.
 * Passes on the first failure of visit. */
enum vbs_status vbs_profile_each_row(const struct vbs_profile *profile, int layer,
                                     vbs_profile_row_visit *visit, void *self) VBS_MUST_CHECK;

/* Makes a copy of a profile with other rows: one for each row of the profile, layer by layer in the
 * order of vbs_profile_each_row. They differ from the profile's in times only. rows null: those
 * of the profile. provenance: of
 * the copy. */
enum vbs_status vbs_profile_change(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_profile_row *rows,
                                   const struct vbs_provenance *provenance,
                                   struct vbs_profile **changed) VBS_MUST_CHECK;

/* ---- copy.c ---- */

/* Checks the name of a source of copies. */
enum vbs_status vbs_builder_check_source(struct vbs_ctx *ctx,
                                         const struct vbs_profile_builder *builder,
                                         const char *source) VBS_MUST_CHECK;

/* Gives the copies of a source, whose name is checked, and which is added when it is new. */
enum vbs_status vbs_builder_copies_of(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                      const char *source,
                                      struct builder_copy **copy) VBS_MUST_CHECK;

/* Copies the builder's copies and their links into profile, whose layers are set; false when memory
 * is out. */
bool vbs_builder_copies(const struct vbs_profile_builder *builder, struct vbs_arena *arena,
                        struct vbs_profile *profile);

/* ---- beside.c ---- */

/* Checks that each source with factors has copies, and factors of all layers. */
enum vbs_status vbs_builder_check_beside(struct vbs_ctx *ctx,
                                         const struct vbs_profile_builder *builder) VBS_MUST_CHECK;

#endif
