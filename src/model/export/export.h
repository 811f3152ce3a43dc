/*
 * Writing a network as an ONNX file. Other rooms use the calls of vbslab/model.h only.
 *
 * The graph is made operator by operator (operators.c, moves.c): nodes are packed at once,
 * constants are collected, and their values are read when the file is written (file.c). Each node
 * has a hint in its doc_string, the word of the operator of vbslab that it stands for, so that the
 * reader makes this operator again and not one that is equal to it (model/onnx/import/import.h).
 */
#ifndef VBS_MODEL_EXPORT_EXPORT_H
#define VBS_MODEL_EXPORT_EXPORT_H

#include "base/arena.h"
#include "generated/onnx.pb-c.h"
#include "model/network/network.h"

#define EXPORT_MAX_DIMS       (VBS_MAX_DIMS + 2)
#define EXPORT_MAX_ATTRIBUTES 10
#define EXPORT_MAX_WORDS      6  /* of a list */
#define EXPORT_MAX_INTS       64 /* in all lists of the attributes of a node together */

/* The shape of a value in the file. Where samples are independent, dimension 0 is the batch, and is
 * 0 here, which a Reshape keeps. */
struct export_dims {
    int n;
    int64_t dim[EXPORT_MAX_DIMS];
};

/* A value in the graph. */
struct export_value {
    const char *name;
    struct export_dims dims;
};

/* Bytes that grow. */
struct export_bytes {
    unsigned char *data;
    int64_t length, capacity;
};

/* A constant of the graph. Its values are data, where this is not null; else floats: of a parameter
 * of the network, or, where layer is 0, all of them fill. */
struct export_constant {
    const char *name;
    int type; /* TensorProto.DataType: FLOAT, INT64, INT32, INT8 or UINT8; the last three have data
               */
    struct export_dims dims;
    int64_t count;
    const void *data;
    float fill;
    int layer, fused;
    enum vbs_parameter what;
};

struct exporter {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_int8_table *int8; /* null: all is written as floats */
    struct vbs_arena arena;
    int opset;
    void *names;               /* tsearch tree of the names of values */
    const char **inputs;       /* [network->n_inputs] their names */
    struct export_bytes nodes; /* NodeProtos as fields of GraphProto */
    struct export_constant *constants;
    int64_t n_constants, constants_capacity;
    struct export_value *values; /* [0..n_layers] the output of each layer, with its fused operators
                                  */
    const char **outputs;        /* [0..n_layers] the name that this output must have, or null */
};

/* A node that is being made. Begin with vbs_export_node. The first memory that runs out is noted,
 * and the node then fails. */
struct export_node {
    const char *op;
    const char **inputs; /* [n_inputs] */
    int n_inputs, most_inputs;
    const char *few[8];  /* the inputs of most nodes */
    const char *more[2]; /* [n_more] outputs behind the first one */
    int n_more;
    Onnx__AttributeProto attributes[EXPORT_MAX_ATTRIBUTES];
    int n_attributes;
    int64_t ints[EXPORT_MAX_INTS];
    int n_ints;
    ProtobufCBinaryData words[EXPORT_MAX_WORDS]; /* of one attribute that is a list of words */
    float floats[2 * EXPORT_MAX_WORDS];          /* of two lists */
    int n_floats;
};

/* What a node stands for. */
struct export_place {
    const char *name; /* of the operator; null: the node is none of the network's operators */
    const char *hint; /* its word, and what the reader must know beside it; null: nothing */
};

/* ---- graph.c ---- */

/* Gives a name like base that no value has yet, which is then taken; null: memory is out. */
const char *vbs_export_name(struct exporter *e, const char *base, const char *suffix);

/* Gives the shape of a value that holds samples of shape, and the shape of one that holds their
 * channels: [N, C, D, H, W]. */
struct export_dims vbs_export_dims(const struct exporter *e, const struct vbs_shape *shape);
struct export_dims vbs_export_channels(const struct exporter *e, const struct vbs_shape *shape);

struct export_node vbs_export_node(const char *op);
void vbs_export_reads(struct export_node *node, const char *value); /* "": left out */
void vbs_export_int(struct export_node *node, const char *name, int64_t value);
void vbs_export_real(struct export_node *node, const char *name, double value);
void vbs_export_word(struct export_node *node, const char *name, const char *value);
void vbs_export_words(struct export_node *node, const char *name, const char *const *values, int n);
void vbs_export_floats(struct export_node *node, const char *name, const double *values, int n);
void vbs_export_ints(struct export_node *node, const char *name, const int64_t *values, int n);

/* Appends the node to the graph; its output is the value named output. */
enum vbs_status vbs_export_add(struct exporter *e, struct export_node *node,
                               const struct export_place *place, const char *output) VBS_MUST_CHECK;

/* Gives value in another shape: by a Reshape, where it has another one. */
enum vbs_status vbs_export_reshape(struct exporter *e, const struct export_value *value,
                                   const struct export_dims *dims,
                                   const char **name) VBS_MUST_CHECK;

/* Make constants; *name is their name. */
enum vbs_status vbs_export_parameter(struct exporter *e, int layer, int fused,
                                     enum vbs_parameter what, const struct export_dims *dims,
                                     const char **name) VBS_MUST_CHECK;
enum vbs_status vbs_export_fill(struct exporter *e, const char *base, const char *suffix,
                                float value, const struct export_dims *dims,
                                const char **name) VBS_MUST_CHECK;
enum vbs_status vbs_export_numbers(struct exporter *e, const char *base, const char *suffix,
                                   const int64_t *values, int64_t n, const struct export_dims *dims,
                                   const char **name) VBS_MUST_CHECK;
enum vbs_status vbs_export_reals(struct exporter *e, const char *base, const char *suffix,
                                 const double *values, int n, const char **name) VBS_MUST_CHECK;

enum vbs_status vbs_export_whole(struct exporter *e, const char *base, const char *suffix, int type,
                                 const void *data, const struct export_dims *dims,
                                 const char **name) VBS_MUST_CHECK; /* data is borrowed */

/* ---- shared.c ---- */

/* An operator that is being written: of a layer (fused below 0), or fused with it. */
struct export_operator {
    struct exporter *e;
    const struct vbs_layer *l;
    int layer, fused;
    enum vbs_op op;
    const char *name;
    const union vbs_attributes *attributes;
    struct export_value in; /* of an operator with one input */
    const char *output;     /* the name of the value that it makes */
};

/* Gives whether the operator reads and makes [N, C, D, H, W]. */
bool vbs_export_has_channels(enum vbs_op op);

/* Reads input index in its view, with dimensions of 1 before it where it has fewer than rank and
 * stands behind a dimension of samples. */
enum vbs_status vbs_export_input(struct export_operator *o, int index, int rank,
                                 const char **name) VBS_MUST_CHECK;

/* Appends the node that makes the output of the operator; more may be null. */
enum vbs_status vbs_export_result(struct export_operator *o, struct export_node *node,
                                  const char *more) VBS_MUST_CHECK;

/* Appends a node whose output only the operator itself reads, which is *made. */
enum vbs_status vbs_export_part(struct export_operator *o, struct export_node *node,
                                const char *suffix, const char **made) VBS_MUST_CHECK;

/* ---- int8.c ---- */

/* VBS_USAGE: the table has weights of layers that have none. */
enum vbs_status vbs_export_check_table(const struct exporter *e) VBS_MUST_CHECK;

/* Gives whether what an operator makes is written in 8 bits. */
bool vbs_export_is_whole(const struct exporter *e, int layer, int fused);

/* Makes the value named to of the one named from, which the operator makes: what its whole numbers
 * stand for. */
enum vbs_status vbs_export_pair(struct exporter *e, int layer, int fused, const char *from,
                                const char *to) VBS_MUST_CHECK;

/* Make the weights or the bias of a layer, or the operand of a matmul, as an input of a node: as
 * floats where the table has no others. turned: weights [O, I] are written as [I, O], which only
 * those that the table has can be. */
bool vbs_export_has_whole(const struct export_operator *o);
enum vbs_status vbs_export_weights(struct export_operator *o, enum vbs_parameter what,
                                   const struct export_dims *dims, bool turned,
                                   const char **name) VBS_MUST_CHECK;
enum vbs_status vbs_export_bias(struct export_operator *o, const char **name) VBS_MUST_CHECK;

/* ---- operators.c ---- */

/* Gives the least opset that has the operator with these attributes. */
int vbs_export_opset(enum vbs_op op, const union vbs_attributes *attributes);

/* Writes all nodes of the operator. */
enum vbs_status vbs_export_operator(struct export_operator *o) VBS_MUST_CHECK;

/* ---- moves.c ---- */

/* Writes an operator of class MOVE or a resize. */
enum vbs_status vbs_export_move(struct export_operator *o) VBS_MUST_CHECK;

/* ---- recurrent.c ---- */

/* Writes an rnn, gru or lstm. */
enum vbs_status vbs_export_recurrent(struct export_operator *o) VBS_MUST_CHECK;

/* --- file.c --- */

/* Writes what vbs_network_export_int8 writes into an open file, which is empty; messages name it by
 * path. */
enum vbs_status vbs_export_write(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_int8_table *table, const char *path,
                                 int descriptor) VBS_MUST_CHECK;

#endif
