/* What the files of the room share. */
#ifndef VBS_QUANTIZE_INTERNAL_H
#define VBS_QUANTIZE_INTERNAL_H

#include "base/arena.h"
#include "vbslab/quantize.h"

/* How an operator is computed. */
enum quantize_role {
    ROLE_FLOAT, /* in floats */
    ROLE_EIGHT, /* in 8 bits: reads and makes rounded values */
    ROLE_SAME,  /* moves values: in 8 bits where its input is rounded */
    ROLE_JOINED /* belongs to the operator before it, which is of 8 bits */
};

/* An operator, and what is decided about it. */
struct quantize_operator {
    int layer, fused;
    enum vbs_op op;
    const char *name;
    const union vbs_attributes *attributes;
    enum quantize_role role;
    const char *why; /* of ROLE_FLOAT */
    bool needed;     /* an operator of 8 bits reads what it makes */
    bool rounded;    /* what it makes is rounded */
    int root;        /* the operator whose scale it has: itself, or the source of what it moves */
};

/* What samples showed of what an operator makes. */
struct quantize_seen {
    double low, high;
    double *counts; /* [VBS_QUANTIZE_BINS]; null for minmax */
    double total;   /* of counts */
};

/* Weights in 8 bits that belong to table.weights. */
struct vbs_quantized_network {
    struct vbs_arena arena;
    const struct vbs_network *network;   /* borrowed, or own */
    struct vbs_network *own;             /* with factors folded into weights, or null */
    struct quantize_operator *operators; /* [n], and one more, by vbs_network_operator */
    int n;
    int *last;                        /* [0..n_layers] the last operator of a layer */
    struct quantize_seen *seen;       /* [n] */
    struct vbs_int8_value *values;    /* [n] */
    struct vbs_int8_weights *weights; /* [n_weights] */
    int n_weights;
    struct vbs_quantize_row *rows; /* [n_rows] */
    int *row_of;                   /* [n] the row of an operator, or -1 */
    int n_rows;
    bool is_signed;
};

/* ---- roles.c ---- */

/* Decides how each operator is computed, and which values are rounded: fills operators and last. */
enum vbs_status vbs_quantize_roles(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                   const struct vbs_quantize_options *options) VBS_MUST_CHECK;

/* Does the same for a network that is in 8 bits as whole, but for operators kept[0..n-1] with
 * weights. */
enum vbs_status vbs_quantize_roles_keep(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                        const struct vbs_quantized_network *whole,
                                        const bool *kept) VBS_MUST_CHECK;

/* Gives whether an operator is an input of the network: tensor 0, or the layer that copies one of
 * several inputs out of it, which has a scale of its own. */
bool vbs_quantize_is_input(const struct vbs_quantized_network *q,
                           const struct quantize_operator *o);

/* ---- quantize.c ---- */

/* Lists the rows: names and kinds, without what scales and weights tell. */
enum vbs_status vbs_quantize_rows(struct vbs_ctx *ctx,
                                  struct vbs_quantized_network *q) VBS_MUST_CHECK;

/* Gives what is written in 8 bits; it belongs to q. */
struct vbs_int8_table vbs_quantize_table(const struct vbs_quantized_network *q);

/* ---- collect.c ---- */

/* Runs the samples and fills seen. */
enum vbs_status vbs_quantize_collect(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                     const struct vbs_quantize_samples *samples,
                                     const struct vbs_quantize_options *options) VBS_MUST_CHECK;

/* ---- range.c ---- */

/* Chooses the range of what was seen. */
void vbs_quantize_range(const struct quantize_seen *seen,
                        const struct vbs_quantize_options *options, double *low, double *high);

/* Gives the share of the values that was seen outside low..high, as far as bins tell; 0 without
 * counts. */
double vbs_quantize_outside(const struct quantize_seen *seen, enum vbs_quantize_method method,
                            double low, double high);

/* ---- compare.c ---- */

/* A network's outputs, beside which those of others are held. */
struct quantize_comparing {
    const struct vbs_quantize_samples *samples;
    const struct vbs_quantize_options *options;
    struct vbs_progress progress; /* of a run */
    int64_t each;                 /* elements of an output */
    float *kept;                  /* [n, each] outputs of the first network */
    bool second;                  /* another network runs */
    double power, error;
    struct vbs_quantize_difference result;
};

/* Runs a network and keeps its outputs; runs another one and compares its outputs with them. Clear
 * it in any case. */
enum vbs_status vbs_quantize_compare_begin(struct vbs_ctx *ctx, const struct vbs_network *a,
                                           const struct vbs_quantize_samples *samples,
                                           const struct vbs_quantize_options *options,
                                           struct vbs_progress progress,
                                           struct quantize_comparing *c) VBS_MUST_CHECK;
enum vbs_status vbs_quantize_compare_with(
    struct vbs_ctx *ctx, struct quantize_comparing *c, const struct vbs_network *b,
    struct vbs_quantize_difference *difference) VBS_MUST_CHECK;
void vbs_quantize_compare_clear(struct quantize_comparing *c);

/* Passes that take as long as each other, whose progress is one. */
struct quantize_passes {
    const struct vbs_progress *all;
    int n_done, n;
};

/* Gives what reports the progress of the pass that runs. passes stays where it is meanwhile. */
struct vbs_progress vbs_quantize_progress(struct quantize_passes *passes);

/* ---- weights.c ---- */

/* Gives the parameter of a layer that is stored in 8 bits where its operator is computed so, or
 * VBS_N_PARAMETERS. */
enum vbs_parameter vbs_quantize_weights_of(const struct vbs_layer *l);

/* Rounds the weights and the bias of a layer whose input has a scale; fills a row's members. */
enum vbs_status vbs_quantize_weights(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                     int layer, bool per_tensor, struct vbs_int8_weights *weights,
                                     struct vbs_quantize_row *row) VBS_MUST_CHECK;

#endif
