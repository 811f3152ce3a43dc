/*
 * vbslab compress: which layers are coded and how (recipe.c), what each stage of the compression
 * takes (stages.c), the work (layers.c), and the tables (table.c, data.c).
 */
#ifndef VBS_CLI_COMPRESS_COMPRESS_H
#define VBS_CLI_COMPRESS_COMPRESS_H

#include "cli/common/common.h"

/* ---- recipe.c ---- */

/* How the weights of a layer are compressed. */
struct compress_choice {
    bool coded;
    const char *why; /* a layer with weights that stays dense: the reason */
    double density;  /* at most this part of the weights remains */
    int bits;
    double excess;          /* of the squared error over the least, for values with shorter codes */
    int index_bits;         /* 0: the number that makes it smallest */
    bool automatic;         /* the smallest form is stored, and any may be used */
    enum vbs_coding coding; /* the form where it is not automatic */
};

struct compress_recipe {
    struct compress_choice *choices; /* [1..n_layers] */
    bool automatic;                  /* any form of each layer that is coded may be used */
    int64_t block_rows;              /* 0: each layer has blocks that suit it */
    int64_t block_columns;
    const char *preset; /* the name of one, or "" */
};

#define COMPRESS_LEAST_WEIGHTS 1024 /* of a layer that is coded without being named */

/* Reads the options of the command for a network; compress_recipe_clear frees what *recipe owns.
 * VBS_USAGE. */
enum vbs_status compress_recipe_read(struct cli *cli, const char *const *values,
                                     const struct vbs_network *network,
                                     struct compress_recipe *recipe) VBS_MUST_CHECK;
void compress_recipe_clear(struct compress_recipe *recipe);

/* ---- stages.c ---- */

/* What the weights of a layer, or of several together, take after each stage, in bytes. */
struct compress_bytes {
    int64_t dense;    /* 32 bits a weight */
    int64_t pruned;   /* CSR: value and column of 32 bits each, and where rows begin */
    int64_t codebook; /* the same, with indices of values, and the codebook */
    int64_t index;    /* entries of index and distance, one after the other, and the codebook */
    int64_t forms[VBS_N_CODINGS]; /* all bytes of the coded weights; 0: there is no such form */
    int64_t stored;
};

/* Lower bounds in bits, for all entries or weights together. */
struct compress_bounds {
    double values, distances; /* each with a code of its own, from their frequencies */
    double pairs;             /* of value and distance together */
    double information;       /* where each weight that is not 0 lies, and which value it has */
};

struct compress_sizes {
    int64_t n_weights, n_nonzero;
    int64_t n_entries; /* of relative indices, with the zeros that fill distances */
    struct compress_bytes bytes;
    struct compress_bounds bounds;
};

/* Counts entries, and finds the bytes before coding and the bounds: all but the bytes of forms and
 * what is stored. options: of the form comp.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. O(weights). */
enum vbs_status compress_find_sizes(struct vbs_ctx *ctx, const struct vbs_quantised *quantised,
                                    const struct vbs_coding_options *options,
                                    struct compress_sizes *sizes) VBS_MUST_CHECK;

/* Adds the sizes of a layer to the sizes of several. A form that one layer does not have is none of
 * several. */
void compress_add_sizes(struct compress_sizes *total, const struct compress_sizes *layer);

/* ---- layers.c ---- */

/* A layer whose weights are coded. */
struct compress_layer {
    int layer;
    struct vbs_coded *coded; /* in the stored form; owned */
    struct vbs_coded_shape shape;
    struct compress_sizes sizes;
    double error; /* of quantising: root mean square, relative to the weights that remain */
};

struct compress_result {
    struct compress_layer *layers; /* [n_layers] ascending by layer */
    int n_layers;
    struct compress_sizes total;
    int64_t parameter_bytes; /* of all parameters of the network, dense */
    int64_t network_bytes;   /* of the coded weights, and of all other parameters, dense */
};

/* Compresses all layers that the recipe names; compress_result_clear frees what *result owns.
 * VBS_USAGE (a weight that is not finite), VBS_UNSUPPORTED, VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status compress_layers(struct cli *cli, const struct vbs_network *network,
                                const struct compress_recipe *recipe,
                                struct compress_result *result) VBS_MUST_CHECK;
void compress_result_clear(struct compress_result *result);

/* ---- table.c, data.c ---- */

struct compress_report {
    const char *model, *path; /* as given */
    int64_t file_bytes;
    const struct vbs_network *network;
    const struct compress_recipe *recipe;
    const struct compress_result *result;
};

enum vbs_status compress_print_table(struct cli *cli,
                                     const struct compress_report *report) VBS_MUST_CHECK;
enum vbs_status compress_print_json(struct cli *cli,
                                    const struct compress_report *report) VBS_MUST_CHECK;
enum vbs_status compress_print_csv(struct cli *cli,
                                   const struct compress_report *report) VBS_MUST_CHECK;

#endif
