/* The graph of an ONNX file: its values by number, and the nodes on which its outputs depend, in
 * topological order. */
#ifndef VBS_MODEL_ONNX_IMPORT_GRAPH_H
#define VBS_MODEL_ONNX_IMPORT_GRAPH_H

#include "base/arena.h"
#include "model/onnx/import/capture.h"
#include "model/onnx/import/file.h"

struct vbs_onnx_import;

/* The most inputs of operators that take any number, and the number of lists of inputs that an
 * operator has had. */
#define VBS_ONNX_ANY         VBS_MAX_LAYERS
#define VBS_ONNX_MAX_CHANGES 3

/* An operator of ONNX, and how its nodes are imported. */
struct vbs_onnx_operator {
    const char *name;
    /* Imports im->node when an input is a tensor; null: the operator works on constants only. */
    enum vbs_status (*import)(struct vbs_onnx_import *im, const struct vbs_onnx_operator *operator);
    /* Imports im->node when no input is a tensor; null: the operator works on tensors only. */
    enum vbs_status (*fold)(struct vbs_onnx_import *im, const struct vbs_onnx_operator *operator);
    int op; /* enum vbs_op, or a number whose meaning the two functions define */
    /* The most inputs of its nodes, from a version of the operators on; ascending, and ended by a
     * version of 0 or the last one. */
    struct {
        int since, most;
    } inputs[VBS_ONNX_MAX_CHANGES];
    /* Where its tensors may have the samples, beside dimension 0 alone, and of which types they may
     * not be: bits of the following. */
    unsigned traits;
};

#define VBS_ONNX_APART  1u /* any dimension counts them, and nothing else */
#define VBS_ONNX_FOLDED 2u /* other dimensions are folded into that dimension */
/* Its nodes have graphs inside them: import is called in any case, and deals with the samples. */
#define VBS_ONNX_INSIDE 4u
/* Inputs 0 and 1 have dimensions of their own: import finds out how their samples go together, and
 * the first one that has samples of its own decides where the node has them. */
#define VBS_ONNX_CHOOSES 8u
/* ONNX does not define it for truth values and whole numbers of fewer than 32 bits, and layers
 * would not keep their range. */
#define VBS_ONNX_WIDE 16u
/* ONNX does not define it for truth values and whole numbers, and layers would make fractions. */
#define VBS_ONNX_REAL 32u

struct vbs_onnx_node {
    const Onnx__NodeProto *proto;
    const char *op; /* its op_type */
    const struct vbs_onnx_operator *operator;
    const char *label; /* its name, else that of its first output, for messages */
    int n_inputs;
    const int *inputs; /* values; -1: left out; behind those of the file, those of captured */
    int n_given;       /* inputs in the file */
    const struct vbs_onnx_captured *captured; /* [n_inputs - n_given] ascending by name */
    int n_outputs;
    const int *outputs; /* values; -1: left out */
};

struct vbs_onnx_value {
    const char *name;
    int producer;                       /* node, or -1; while its graph is read */
    int n_uses;                         /* by nodes, and as an output of a graph */
    const struct vbs_onnx_node *reader; /* the last node that reads the value; null: an output */
    struct vbs_onnx_constant *constant; /* of an initialiser or a binding; else null */
    const Onnx__ValueInfoProto *input;  /* the input of the graph where it has no constant; else
                                           null */
};

struct vbs_onnx_graph {
    int64_t opset; /* of the ONNX operators */
    const struct vbs_onnx_file *file;
    const struct vbs_onnx_operator *operators; /* as in struct vbs_onnx_reading */
    int n_operators;
    int n_values, room; /* values, and those that memory has been taken for */
    struct vbs_onnx_value *values;
    int n_nodes;
    struct vbs_onnx_node *nodes;
    int n_inputs;      /* at least 1 */
    const int *inputs; /* the values that are inputs of the network, in the file's order */
    int n_unread;
    const int *unread; /* the other inputs of the file that are no constants: nothing reads them */
    int n_outputs;
    const int *outputs; /* values, in the file's order, or those with which the caller has it end */
    bool ends;          /* they are the caller's */
    /* ConstantOfShape makes most weights of convolutions and matrices, as files without weights are
     * written. All weights, biases and normalisations are then seeded. */
    bool weightless;
    int n_added;      /* nodes of graphs inside nodes that have been added */
    int64_t n_names;  /* names of graphs inside nodes that have been looked at */
    int64_t n_sparse; /* bytes of sparse tensors, with their zeros */
};

/* A graph inside a node, whose values have become values of the graph around it. */
struct vbs_onnx_inner {
    struct vbs_onnx_node *nodes; /* those on which its outputs depend, in topological order */
    int n_nodes;
    const int *inputs, *outputs; /* values */
    int n_inputs, n_outputs;
};

/* Finds an operator that can be imported by its name; null where there is none. */
const struct vbs_onnx_operator *vbs_onnx_graph_operator(const struct vbs_onnx_graph *graph,
                                                        const char *name);

/* The inputs of vbs_onnx_graph_read, beside the file. */
struct vbs_onnx_reading {
    /* All operators that can be imported, ascending by name. */
    const struct vbs_onnx_operator *operators;
    int n_operators;
    const char *const *paths; /* [n_paths] by input, initialisers not counted: the file of a
                                 TensorProto that it is; null: it varies */
    int n_paths;
    /* Of these, those that are fixed and those with which the network ends matter here. */
    const struct vbs_input_choice *choices;
    int n_choices;
    bool any_operators; /* nodes of unknown operators stay; their member operator is null */
};

/* Reads the graph into arena; file and its source must outlive it. VBS_FORMAT: names that no node
 * makes or that two nodes make, cycles, a missing input. VBS_UNSUPPORTED: unknown operators, all of
 * which the detail names in one line. VBS_USAGE: an input cannot be the number that the caller
 * fixed, or the network cannot end where the caller says. VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_graph_read(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                    const struct vbs_onnx_reading *reading, struct vbs_arena *arena,
                                    struct vbs_onnx_graph *graph) VBS_MUST_CHECK;

/* The tensors with which a network can end that some nodes keep from being read. */
struct vbs_onnx_left {
    int n, n_outputs;   /* all, and the file's outputs among them, which come first */
    const char **names; /* [n] */
};

/* Finds what is left of a graph where nothing is computed that depends on a node of an unknown
 * operator, or on one of the nodes whose first outputs have these names: outputs, and tensors that
 * such nodes read. VBS_NO_MEMORY. O(n n_names) in the nodes. */
enum vbs_status vbs_onnx_graph_left(struct vbs_ctx *ctx, const struct vbs_onnx_graph *graph,
                                    struct vbs_arena *arena, char *const *names, int n_names,
                                    struct vbs_onnx_left *left) VBS_MUST_CHECK;

/* Returns the name of the first output of a node that has one; else "". */
const char *vbs_onnx_first_output(const struct vbs_onnx_graph *graph,
                                  const struct vbs_onnx_node *node);

/* Adds the values of a graph inside node, which may be added any number of times, to those of
 * graph; its nodes stay apart. Errors as above; VBS_UNSUPPORTED: more than VBS_MAX_OPERATORS nodes
 * have been added. Complexity: O(n log n) in the names of the inner graph. */
enum vbs_status vbs_onnx_graph_add(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                   const struct vbs_onnx_node *node, const Onnx__GraphProto *proto,
                                   struct vbs_onnx_graph *graph,
                                   struct vbs_onnx_inner *inner) VBS_MUST_CHECK;

/* Appends a value without a producer. */
enum vbs_status vbs_onnx_graph_value(struct vbs_ctx *ctx, struct vbs_arena *arena, const char *name,
                                     struct vbs_onnx_graph *graph, int *value) VBS_MUST_CHECK;

/* Puts the operator and the name of node before the detail of an error; returns status. */
enum vbs_status vbs_onnx_within_node(struct vbs_ctx *ctx, enum vbs_status status,
                                     const struct vbs_onnx_node *node);

#endif
