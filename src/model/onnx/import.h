/*
 * Importing an ONNX graph: what is known of each value so far, layers that are about to be made,
 * and the functions that nodes are imported with.
 *
 * A node's outputs are constants or tensors. A tensor stands for an operator of the builder and is
 * seen in the shape that the file gives it; Reshape and its like give the same tensor in another
 * shape. An operator that its only reader may absorb (a convolution without bias before an Add, a
 * Pad before a convolution, a Sigmoid before a Mul) is a draft until then.
 *
 * Shapes: in batch mode those of a sample, without dimension 0 of the file; else the file's.
 */
#ifndef VBS_MODEL_ONNX_IMPORT_H
#define VBS_MODEL_ONNX_IMPORT_H

#include "model/network/network.h"
#include "model/onnx/graph.h"

struct vbs_onnx_tensor;

/* A layer to be. */
struct vbs_onnx_draft {
    struct vbs_node node; /* inputs, views and name are filled in when it is added */
    int n_inputs;
    struct vbs_onnx_tensor **inputs;
    struct vbs_shape *views;          /* how it reads them */
    const struct vbs_onnx_node *from; /* what it was made for */
    const char *name;                 /* null: a name of from, with the operator's word */
    int depth;                        /* drafts that must be added first, one after the other */
};

struct vbs_onnx_tensor {
    int id;                 /* in the builder; -1: not added yet */
    struct vbs_shape shape; /* in the builder */
    struct vbs_onnx_draft *draft;
};

/* What is known of a value: a constant, a tensor with its shape in the file, or nothing. */
struct vbs_onnx_state {
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_tensor *tensor;
    struct vbs_shape shape; /* of tensor; n_dims may be 0, dimensions are above 0 */
};

struct vbs_onnx_import {
    struct vbs_ctx *ctx;
    const struct vbs_onnx_graph *graph;
    struct vbs_arena *arena;   /* of everything that is needed until the network is made */
    struct vbs_source *source; /* of what the network needs */
    struct vbs_builder *builder;
    bool batch;
    int64_t n_samples;                /* dimension 0 of the input as the file has it; 0: open */
    struct vbs_onnx_state *states;    /* of graph->values */
    const struct vbs_onnx_node *node; /* the one that is being imported */
    enum vbs_status bad;              /* of an attribute that was read wrongly, and why */
    char bad_why[128];
    bool mixed;                /* batch mode failed because samples would mix */
    int64_t n_numbers, n_read; /* made, and gone through, while constants are computed */
};

/* ---- attributes of im->node; a wrong type sets im->bad and gives what is missing ---- */

bool vbs_onnx_has(const struct vbs_onnx_import *im, const char *name);
int64_t vbs_onnx_int(struct vbs_onnx_import *im, const char *name, int64_t missing);
double vbs_onnx_real(struct vbs_onnx_import *im, const char *name, double missing);
/* Null where it is missing, *n is 0 then. */
const int64_t *vbs_onnx_ints(struct vbs_onnx_import *im, const char *name, int *n);
const float *vbs_onnx_reals(struct vbs_onnx_import *im, const char *name, int *n);
/* Whether the string attribute is word; missing: whether it is where it is not given. */
bool vbs_onnx_is(struct vbs_onnx_import *im, const char *name, const char *word, bool missing);
/* The place of the string attribute among words (ends with null), missing where it is not given; -1
 * and im->bad when it is none of them. */
int vbs_onnx_word(struct vbs_onnx_import *im, const char *name, const char *const *words,
                  int missing);
const Onnx__TensorProto *vbs_onnx_tensor_attribute(struct vbs_onnx_import *im, const char *name);

/* ---- inputs and outputs of im->node ---- */

/* Null where it is left out. */
const struct vbs_onnx_state *vbs_onnx_in(const struct vbs_onnx_import *im, int index);

/* Whether the output is there and anybody needs it. */
bool vbs_onnx_wanted(const struct vbs_onnx_import *im, int index);

/* Input index, which must be there and a tensor, or a constant. */
enum vbs_status vbs_onnx_tensor_in(struct vbs_onnx_import *im, int index,
                                   const struct vbs_onnx_state **state) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_constant_in(struct vbs_onnx_import *im, int index,
                                     struct vbs_onnx_constant **constant) VBS_MUST_CHECK;

/* Sets the output, whose shape is shape in the file's dimensions. */
enum vbs_status vbs_onnx_give(struct vbs_onnx_import *im, int index, struct vbs_onnx_tensor *tensor,
                              const struct vbs_shape *shape) VBS_MUST_CHECK;
void vbs_onnx_give_constant(struct vbs_onnx_import *im, int index,
                            struct vbs_onnx_constant *constant);

/* ---- dimensions ---- */

/* "would mix samples": batch mode cannot go on. */
enum vbs_status vbs_onnx_mixes(struct vbs_onnx_import *im);

/* Dimension axis of the file (from the end where negative) among rank of them as a dimension of
 * shapes; VBS_FORMAT, and vbs_onnx_mixes where it is the batch. rank: of the file. */
enum vbs_status vbs_onnx_axis(struct vbs_onnx_import *im, int64_t axis, int rank,
                              int *dim) VBS_MUST_CHECK;

/* Dimensions of a state's tensor in the file. */
int vbs_onnx_rank(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state);

/* state's shape with at least one dimension. */
struct vbs_shape vbs_onnx_shape(const struct vbs_onnx_state *state);

/* [C, D, H, W] of a state that the file has with dimension N before: without it in either mode.
 * VBS_UNSUPPORTED when N is no batch and above 1. */
enum vbs_status vbs_onnx_channels(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  struct vbs_shape *view) VBS_MUST_CHECK;

/* The inverse: the file's shape of what was [C, D, H, W]. */
struct vbs_shape vbs_onnx_unchannels(const struct vbs_onnx_import *im,
                                     const struct vbs_shape *shape);

/* How state is best read by an operator that works along dimension axis (0 where there is none), or
 * the ones behind it: as its tensor is where only ones in front differ, else in its own shape.
 * *shift: what is to be added to dimensions. */
struct vbs_shape vbs_onnx_view(const struct vbs_onnx_state *state, int axis, int *shift);

/* Whether two shapes differ by ones in front only. */
bool vbs_onnx_same_but_ones(const struct vbs_shape *a, const struct vbs_shape *b);

/* ---- layers ---- */

/* A draft made for im->node; null: out of memory. */
struct vbs_onnx_draft *vbs_onnx_draft(struct vbs_onnx_import *im, enum vbs_op op, int n_inputs);

/* Sets an input of a draft; view null: the tensor's own shape. */
void vbs_onnx_reads(struct vbs_onnx_draft *draft, int index, struct vbs_onnx_tensor *tensor,
                    const struct vbs_shape *view);

/* The output of draft; its shape is inferred, and the draft checked. */
enum vbs_status vbs_onnx_tensor_new(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft,
                                    struct vbs_onnx_tensor **tensor) VBS_MUST_CHECK;

/* Whether a node that may have a bias (conv, deconv, fc, scale) has one. */
bool vbs_onnx_has_bias(const struct vbs_node *node);

/* A layer of one input; attributes, view may be null. */
enum vbs_status vbs_onnx_apply(struct vbs_onnx_import *im, enum vbs_op op,
                               const union vbs_attributes *attributes,
                               struct vbs_onnx_tensor *input, const struct vbs_shape *view,
                               struct vbs_onnx_tensor **output) VBS_MUST_CHECK;

/* Adds tensor's draft, if it is one, and those that it reads to the builder. */
enum vbs_status vbs_onnx_add(struct vbs_onnx_import *im,
                             struct vbs_onnx_tensor *tensor) VBS_MUST_CHECK;

/* The draft of tensor, when it is one of op still; else null. */
struct vbs_onnx_draft *vbs_onnx_pending(const struct vbs_onnx_tensor *tensor, enum vbs_op op);

/* A copy of a draft, to be amended. Null: out of memory. */
struct vbs_onnx_draft *vbs_onnx_again(struct vbs_onnx_import *im,
                                      const struct vbs_onnx_draft *draft);

/* Imports all nodes, in their order; im->states of the graph's input and of constants are set. */
enum vbs_status vbs_onnx_import_nodes(struct vbs_onnx_import *im) VBS_MUST_CHECK;

/* ---- operators of ONNX ---- */

#define VBS_ONNX_HANDLER(name)                                                                     \
    enum vbs_status vbs_onnx_##name(struct vbs_onnx_import *im,                                    \
                                    const struct vbs_onnx_operator *operator)

#endif
