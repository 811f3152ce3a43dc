/* The sources of the parameters of a network's layers. */
#ifndef VBS_MODEL_NETWORK_PARAMETERS_H
#define VBS_MODEL_NETWORK_PARAMETERS_H

#include "vbslab/model.h"

#include "model/network/values.h"

/* The parameters of one operator. */
struct vbs_layer_values {
    const struct vbs_values *of[VBS_N_PARAMETERS]; /* null: the parameter is seeded */
};

/* The coded weights of a layer. */
struct vbs_layer_coded {
    struct vbs_coded *coded; /* null: the weights are not coded; owned */
    bool any_form;           /* they may be coded anew in other forms */
    uint64_t fingerprint;    /* of the bytes of coded */
};

/* From what a network was made: a model text, or the files of the source of its parameters. */
struct vbs_origin {
    const char *text;       /* null: files, of which number 0 is the ONNX file */
    size_t length;          /* of text */
    struct vbs_shape input; /* that replaced the model's own; n_dims 0: none did */
    bool chosen;            /* more was chosen of the inputs than this shape */
};

/* The parameters of a network. */
struct vbs_parameters {
    struct vbs_source *source; /* null: there is none; owned by the network */
    int n_stored;              /* parameters that the source has */
    int *first; /* [k] index in values at which layer k begins: its own operator, then the fused
                   ones */
    struct vbs_layer_values *values;
    struct vbs_origin origin;
    struct vbs_layer_coded *coded; /* [1..n_layers]; null: no layer has coded weights */
    void *mapped; /* the file that source and coded weights lie in, or null; owned */
    size_t mapped_bytes;
};

/* Reads values first..first+count-1 of a parameter in large pieces: many at once, because coded
 * weights are decoded block by block. VBS_INTERRUPTED; errors of vbs_parameter_values. */
enum vbs_status vbs_parameter_read(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   int layer, int fused, enum vbs_parameter what, int64_t first,
                                   int64_t count, float *values) VBS_MUST_CHECK;

/* Gives the matrix of a layer whose weights can be coded: a row for each output channel of a conv
 * or fc. False: the layer has none. */
bool vbs_weight_matrix(const struct vbs_network *network, int layer, int64_t *n_rows,
                       int64_t *n_columns);

/* Decodes the weights first..first+count-1 of a layer. VBS_NO_MEMORY. Each block that has one of
 * them is decoded once. */
enum vbs_status vbs_coded_values(struct vbs_ctx *ctx, const struct vbs_coded *coded, int64_t first,
                                 int64_t count, float *values) VBS_MUST_CHECK;

#endif
