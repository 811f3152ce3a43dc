/*
 * The state of the import of an ONNX graph, and the functions with which handlers import nodes.
 *
 * The outputs of a node are constants or tensors. A tensor is the output of an operator of the
 * builder, in the shape that the file gives to the value. Reshape and similar nodes give the same
 * tensor another shape. An operator that its only reader may absorb (a convolution without bias
 * before an Add, a Pad before a convolution, a Sigmoid before a Mul) stays a draft until its reader
 * is imported.
 *
 * In batch mode, shapes are those of one sample; else they are those of the file. In the file, one
 * dimension of a tensor counts the samples. It is dimension 0 of most; operators that know others
 * (table.c has their list) work with it anywhere: recurrent ones have the elements of their
 * sequences before it. It may count nothing else, and is then no dimension of the shape; or other
 * dimensions are folded into it, as where attention works on [samples x heads, T, C].
 *
 * Functions without a comment on errors fail with VBS_NO_MEMORY, VBS_FORMAT (the file contradicts
 * the standard) or VBS_UNSUPPORTED (vbslab has no such operator), with the reason as the detail.
 */
#ifndef VBS_MODEL_ONNX_IMPORT_IMPORT_H
#define VBS_MODEL_ONNX_IMPORT_IMPORT_H

#include "model/network/network.h"
#include "model/onnx/import/graph.h"

struct vbs_onnx_tensor;

/* A layer that is not yet in the builder. */
struct vbs_onnx_draft {
    struct vbs_node node; /* inputs, views and name are filled in when it is added */
    int n_inputs;
    struct vbs_onnx_tensor **inputs;
    struct vbs_shape *views;          /* the shape in which it reads each input */
    const struct vbs_onnx_node *from; /* the node that it was made for */
    const char *name;                 /* null: the name of from, with a suffix for the operator */
    int depth;                        /* length of the longest path of drafts that it reads */
};

struct vbs_onnx_tensor {
    int id;                 /* in the builder; -1: not added yet */
    struct vbs_shape shape; /* in the builder */
    struct vbs_onnx_draft *draft;
    int64_t rows; /* of the smallest table that it has indices of; 0: of none */
    /* Of an image with its channels last the same with its channels first, and its shape; null: it
     * is not known. */
    struct vbs_onnx_tensor *first;
    struct vbs_shape first_shape;
};

/* The import so far of a value: a constant, a tensor with its shape in the file, or neither. */
struct vbs_onnx_state {
    struct vbs_onnx_constant *constant;
    struct vbs_onnx_tensor *tensor;
    struct vbs_shape shape; /* of tensor; n_dims may be 0, dimensions are above 0 */
    int at;                 /* of tensor in batch mode: the dimension of the samples in the file */
    bool whole;             /* of tensor: whole numbers in the file, whose quotients are cut off */
    int type;               /* of tensor: that of TensorProto.DataType of its whole numbers, or to
                               which a node has quantised it; 0: not known */
    int64_t outer; /* 0: it counts only samples; else dimension `at` of shape, of which this many
                      elements are before those of a sample, is folded into it */
    /* In batch mode: the file has no samples in it, and its shape is the file's; every sample has
     * the same values. */
    bool shared;
    /* In batch mode, of tensor of whole numbers: in the file these are the numbers of the tensor
     * plus own * the position of the sample among all; VBS_ONNX_ELSE: they depend on it in another
     * way. */
    int64_t own;
    /* In batch mode, of rows of numbers whose first one is the position of the sample: the others,
     * in as many rows; else null. */
    struct vbs_onnx_tensor *within;
};

#define VBS_ONNX_UNSAID (-1)
#define VBS_ONNX_ELSE   INT64_MIN

/* States for the inputs and the output of a node that is imported as another one (grid.h). */
#define VBS_ONNX_SPARE 256

struct vbs_onnx_import {
    struct vbs_ctx *ctx;
    struct vbs_onnx_graph *graph; /* of this import: graphs inside nodes are added to it */
    struct vbs_arena *arena;      /* for data that are needed until the network is made */
    struct vbs_source *source;    /* for data that the network keeps */
    struct vbs_builder *builder;
    bool batch;
    bool shared; /* all tensors that the node reads are; it is imported as out of batch mode */
    /* In batch mode the dimension of the samples in the file, as in a state: of the node's tensors,
     * and of its outputs, which is the same unless the handler sets it. */
    int at, at_out;
    int64_t outer, outer_out;
    int64_t n_samples;                /* in the network's input in the file; 0: open */
    struct vbs_onnx_state *states;    /* of graph->values, and VBS_ONNX_SPARE more for handlers */
    int n_states;                     /* that memory has been taken for */
    const struct vbs_onnx_node *node; /* the one that is being imported */
    enum vbs_status bad; /* error of an attribute that could not be read, and the reason */
    char bad_why[128];
    bool whole_out;  /* the node's outputs are whole numbers in the file: as its first input, unless
                        the handler sets it */
    int type_out;    /* the type of the node's outputs, as in a state: the type of its first input
                        where the operator keeps it, unless the handler sets it */
    bool whole_more; /* the outputs behind the first one are whole numbers in any case */
    /* What output 0 has of the sample's position, as in a state: what its first input has where the
     * operator keeps the numbers, unless the handler sets it. */
    int64_t own_out;
    struct vbs_onnx_tensor *within_out;
    /* In a node that makes constants, struct vbs_onnx_constant's copies of its outputs;
     * VBS_ONNX_UNSAID: the handler does not know, so that inputs may have none. */
    int copies;
    bool mixed;                         /* batch mode failed, because samples would mix */
    const struct vbs_onnx_node *failed; /* the node of the file's graph that was refused */
    bool failed_shape;                  /* because the shape of what it makes depends on data */
    int64_t n_numbers, n_read; /* numbers made, and numbers read, while constants are computed */
    int64_t n_floats;          /* made likewise */
};

/* ---- attributes of im->node; an attribute of a wrong type sets im->bad and reads as missing ----
 */

bool vbs_onnx_has(const struct vbs_onnx_import *im, const char *name);
int64_t vbs_onnx_int(struct vbs_onnx_import *im, const char *name, int64_t missing);
double vbs_onnx_real(struct vbs_onnx_import *im, const char *name, double missing);
/* Null, with *n 0, where the attribute is missing. */
const int64_t *vbs_onnx_ints(struct vbs_onnx_import *im, const char *name, int *n);
const float *vbs_onnx_reals(struct vbs_onnx_import *im, const char *name, int *n);
/* Gives whether the string attribute is word; where the attribute is missing, the result is
 * missing. */
bool vbs_onnx_is(struct vbs_onnx_import *im, const char *name, const char *word, bool missing);
/* Gives the index of the string attribute in words, which end with null; missing where the
 * attribute is missing. Where it is none of the words, gives -1 and sets im->bad. */
int vbs_onnx_word(struct vbs_onnx_import *im, const char *name, const char *const *words,
                  int missing);
/* Gives a string attribute without blanks; empty where it is missing, null: out of memory. */
const char *vbs_onnx_text(struct vbs_onnx_import *im, const char *name);

/* Returns the number of strings of a list; 0 where the attribute is missing. */
int vbs_onnx_n_words(const struct vbs_onnx_import *im, const char *name);
/* Returns the index in words, which end with null, of string number i of a list, without regard to
 * case; -1: it is none of them. */
int vbs_onnx_word_of(const struct vbs_onnx_import *im, const char *name, int i,
                     const char *const *words);
const Onnx__TensorProto *vbs_onnx_tensor_attribute(struct vbs_onnx_import *im, const char *name);
const Onnx__SparseTensorProto *vbs_onnx_sparse_attribute(struct vbs_onnx_import *im,
                                                         const char *name);
const Onnx__GraphProto *vbs_onnx_graph_attribute(struct vbs_onnx_import *im, const char *name);

/* ---- the hint of a node: its doc_string in files that vbslab has written ----
 *
 * "vbslab WORD" says that the node makes the operator of this word, "vbslab part of WORD" that the
 * nodes that read it do. A hint only chooses among operators that compute the same; what is
 * computed follows from the nodes. Behind the word may stand "plain" (a normalisation without gamma
 * and beta) and NAME=BITS, a double of which the file has the nearest float.
 */

bool vbs_onnx_is_hinted(const struct vbs_onnx_node *node);
bool vbs_onnx_is_part(const struct vbs_onnx_node *node);

/* Gives whether im->node makes op, and whether it does or is a part of it. */
bool vbs_onnx_makes(const struct vbs_onnx_import *im, enum vbs_op op);
bool vbs_onnx_belongs(const struct vbs_onnx_import *im, enum vbs_op op);

/* Gives whether im->node is a part of op, and the only reader of its first output makes op. */
bool vbs_onnx_feeds(const struct vbs_onnx_import *im, enum vbs_op op);

/* Gives whether the word is in the hint of im->node. */
bool vbs_onnx_hints(const struct vbs_onnx_import *im, const char *word);

/* Gives the double of this name in the hint of im->node where value is its float, else value. */
double vbs_onnx_exact(const struct vbs_onnx_import *im, const char *name, double value);

/* Copies text into buffer, and returns it; each character that could harm a terminal becomes _. */
char *vbs_onnx_clean(const char *text, char *buffer, size_t size);

/* ---- inputs and outputs of im->node ---- */

/* Gives the state of an input; null where the node omits it. */
const struct vbs_onnx_state *vbs_onnx_in(const struct vbs_onnx_import *im, int index);

/* Gives whether the node has the output and something reads it. */
bool vbs_onnx_output_used(const struct vbs_onnx_import *im, int index);

/* Give input index, which the node must have, as a tensor or as a constant; VBS_FORMAT,
 * VBS_UNSUPPORTED. */
enum vbs_status vbs_onnx_tensor_in(struct vbs_onnx_import *im, int index,
                                   const struct vbs_onnx_state **state) VBS_MUST_CHECK;
enum vbs_status vbs_onnx_constant_in(struct vbs_onnx_import *im, int index,
                                     struct vbs_onnx_constant **constant) VBS_MUST_CHECK;

/* Sets an output; shape has the dimensions of the file. */
enum vbs_status vbs_onnx_give(struct vbs_onnx_import *im, int index, struct vbs_onnx_tensor *tensor,
                              const struct vbs_shape *shape) VBS_MUST_CHECK;
void vbs_onnx_give_constant(struct vbs_onnx_import *im, int index,
                            struct vbs_onnx_constant *constant);

/* Gives whether a value is whole numbers in the file; null: it is not. */
bool vbs_onnx_holds_whole(const struct vbs_onnx_state *state);

/* Returns the TensorProto.DataType of the whole numbers that a value is, or is quantised to; 0: it
 * is none, the type is not known, or state is null. */
int vbs_onnx_type(const struct vbs_onnx_state *state);

/* ---- dimensions ---- */

/* Fails with "would mix samples", which ends batch mode; or because values or positions depend on
 * how many samples there are. */
enum vbs_status vbs_onnx_mixes(struct vbs_onnx_import *im);
enum vbs_status vbs_onnx_counts(struct vbs_onnx_import *im);

/* Converts axis of the file, which counts from the end where it is negative, to a dimension of a
 * constant of this rank. */
enum vbs_status vbs_onnx_constant_axis(struct vbs_onnx_import *im, int64_t axis, int rank,
                                       int *dim) VBS_MUST_CHECK;

/* Converts axis of the file, which counts from the end where it is negative, to a dimension of
 * shapes; rank is the rank in the file of a tensor. VBS_FORMAT; vbs_onnx_mixes where it is that of
 * the samples. */
enum vbs_status vbs_onnx_axis(struct vbs_onnx_import *im, int64_t axis, int rank,
                              int *dim) VBS_MUST_CHECK;

/* Gives the rank in the file of a state's tensor. */
int vbs_onnx_rank(const struct vbs_onnx_import *im, const struct vbs_onnx_state *state);

/* Gives whether tensors of the node have a dimension in the file that is none of their shapes. */
bool vbs_onnx_is_apart(const struct vbs_onnx_import *im);

/* Gives the dimension of the file that dimension dim of the shape of a tensor is. */
int vbs_onnx_file_dim(const struct vbs_onnx_import *im, int dim);

/* Gives the shape of a state; a scalar gets one dimension. */
struct vbs_shape vbs_onnx_shape(const struct vbs_onnx_state *state);

/* Gives the dimensions [C, D, H, W] of a state that is [N, C, D, H, W] in the file; N is left out
 * in both modes. VBS_UNSUPPORTED when N is above 1 outside batch mode. */
enum vbs_status vbs_onnx_channels(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  struct vbs_shape *view) VBS_MUST_CHECK;

/* Gives the shape in the file of a tensor of shape [C, D, H, W]. */
struct vbs_shape vbs_onnx_unchannels(const struct vbs_onnx_import *im,
                                     const struct vbs_shape *shape);

/* Gives the shape in which an operator that works along dimension axis and those behind it (0 where
 * it works along none) reads state: the shape of its tensor where the two differ by leading ones
 * only, else the shape of the state. *shift is the number to add to dimensions of the state. */
struct vbs_shape vbs_onnx_view(const struct vbs_onnx_state *state, int axis, int *shift);

/* Gives whether two shapes differ by leading dimensions of 1 only. */
bool vbs_onnx_same_but_ones(const struct vbs_shape *a, const struct vbs_shape *b);

/* ---- layers ---- */

/* Makes a draft for im->node; null: out of memory. */
struct vbs_onnx_draft *vbs_onnx_draft(struct vbs_onnx_import *im, enum vbs_op op, int n_inputs);

/* Sets an input of a draft; view null: it is read in the shape of the tensor. */
void vbs_onnx_reads(struct vbs_onnx_draft *draft, int index, struct vbs_onnx_tensor *tensor,
                    const struct vbs_shape *view);

/* Makes the output of draft: infers its shape and checks the draft. */
enum vbs_status vbs_onnx_tensor_new(struct vbs_onnx_import *im, struct vbs_onnx_draft *draft,
                                    struct vbs_onnx_tensor **tensor) VBS_MUST_CHECK;

/* Gives whether a node that may have a bias (conv, deconv, fc, scale) has one. */
bool vbs_onnx_has_bias(const struct vbs_node *node);

/* Makes a layer with one input; attributes and view may be null. */
enum vbs_status vbs_onnx_apply(struct vbs_onnx_import *im, enum vbs_op op,
                               const union vbs_attributes *attributes,
                               struct vbs_onnx_tensor *input, const struct vbs_shape *view,
                               struct vbs_onnx_tensor **output) VBS_MUST_CHECK;

/* Adds the draft of tensor, if it has one, and all drafts that it reads to the builder. */
enum vbs_status vbs_onnx_add(struct vbs_onnx_import *im,
                             struct vbs_onnx_tensor *tensor) VBS_MUST_CHECK;

/* Gives the draft of tensor where its operator is op; else null. */
struct vbs_onnx_draft *vbs_onnx_pending(const struct vbs_onnx_tensor *tensor, enum vbs_op op);

/* Copies a draft, so that it can be changed; null: out of memory. */
struct vbs_onnx_draft *vbs_onnx_again(struct vbs_onnx_import *im,
                                      const struct vbs_onnx_draft *draft);

/* Gives values that have been appended to the graph, from number first on, their states: those of
 * constants, and none. */
enum vbs_status vbs_onnx_add_states(struct vbs_onnx_import *im, int first) VBS_MUST_CHECK;

/* Runs the handler of im->node for tensors, or that for constants, with no more around it. */
enum vbs_status vbs_onnx_run_operator(struct vbs_onnx_import *im, bool tensors) VBS_MUST_CHECK;

/* Imports n nodes in their order; im->node is the same afterwards. The caller has set im->states of
 * what they read and do not make. */
enum vbs_status vbs_onnx_import_nodes(struct vbs_onnx_import *im, const struct vbs_onnx_node *nodes,
                                      int n) VBS_MUST_CHECK;

/* ---- a node as another one ---- */

/* Imports a node that is im->node but for its operator, of this name, and its n inputs, of which
 * there are at most VBS_ONNX_MOST_RUN, and gives its output 0: a constant where all inputs are
 * constants and the operator computes with them. */
#define VBS_ONNX_MOST_RUN (VBS_ONNX_SPARE - 1)
enum vbs_status vbs_onnx_run_as(struct vbs_onnx_import *im, const char *name,
                                const struct vbs_onnx_state *inputs, int n,
                                struct vbs_onnx_state *result) VBS_MUST_CHECK;

/* Does the same and leaves the outputs to the node's. */
enum vbs_status vbs_onnx_become(struct vbs_onnx_import *im, const char *name,
                                const struct vbs_onnx_state *inputs, int n) VBS_MUST_CHECK;

/* ---- operators of ONNX ---- */

#define VBS_ONNX_HANDLER(name)                                                                     \
    enum vbs_status vbs_onnx_##name(struct vbs_onnx_import *im,                                    \
                                    const struct vbs_onnx_operator *operator)

#endif
