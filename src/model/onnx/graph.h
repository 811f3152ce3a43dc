/* The graph of an ONNX file: its values by number, and those of its nodes that outputs need, in an
 * order in which they can run. */
#ifndef VBS_MODEL_ONNX_GRAPH_H
#define VBS_MODEL_ONNX_GRAPH_H

#include "base/arena.h"
#include "model/onnx/onnx.h"
#include "model/onnx/file.h"

struct vbs_onnx_import;

/* An operator of ONNX, and how its nodes are imported. */
struct vbs_onnx_operator {
    const char *name;
    /* Imports im->node with tensors among its inputs; null: it works on constants only. */
    enum vbs_status (*import)(struct vbs_onnx_import *im, const struct vbs_onnx_operator *operator);
    /* Imports im->node with no tensor among its inputs; null: it works on tensors only. */
    enum vbs_status (*fold)(struct vbs_onnx_import *im, const struct vbs_onnx_operator *operator);
    int op; /* enum vbs_op, or a number that the two functions know */
};

struct vbs_onnx_node {
    const Onnx__NodeProto *proto;
    const char *op; /* its op_type */
    const struct vbs_onnx_operator *operator;
    const char *label; /* its name, else that of its first output, for messages */
    int n_inputs;
    const int *inputs; /* values; -1: left out */
    int n_outputs;
    const int *outputs; /* values; -1: left out */
};

struct vbs_onnx_value {
    const char *name;
    int producer;                       /* node, or -1 */
    int n_uses;                         /* by nodes, and as an output of the graph */
    int reader;                         /* the last node that reads it, or -1 */
    struct vbs_onnx_constant *constant; /* initialiser or binding; else null */
    const Onnx__ValueInfoProto *input;  /* of an input of the graph that is none of these */
};

struct vbs_onnx_graph {
    int64_t opset; /* of the ONNX operators */
    const struct vbs_onnx_file *file;
    int n_values;
    struct vbs_onnx_value *values;
    int n_nodes;
    struct vbs_onnx_node *nodes;
    int input; /* the value that is the network's input */
    int n_outputs;
    const int *outputs; /* values, in the file's order */
    /* Most weights of convolutions and matrices are made by ConstantOfShape: files without weights
     * are written so. All are seeded then, and so are biases and normalisations. */
    bool weightless;
};

/* What a graph is read with. */
struct vbs_onnx_reading {
    /* The operators that are known, ascending by name. */
    const struct vbs_onnx_operator *operators;
    int n_operators;
    const struct vbs_onnx_binding *bindings;
    int n_bindings;
};

/* arena holds the graph; file and what it lives with must outlive it. VBS_FORMAT: names that
 * nothing makes or that are made twice, cycles, an input that is missing; VBS_UNSUPPORTED: more
 * than one input, operators that vbslab does not know, all in one line. */
enum vbs_status vbs_onnx_graph_read(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                    const struct vbs_onnx_reading *reading, struct vbs_arena *arena,
                                    struct vbs_onnx_graph *graph) VBS_MUST_CHECK;

/* Puts the node before what went wrong. */
enum vbs_status vbs_onnx_within_node(struct vbs_ctx *ctx, enum vbs_status status,
                                     const struct vbs_onnx_node *node);

#endif
