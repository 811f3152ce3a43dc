/*
 * The inputs of an ONNX graph that vary, and how they become tensor 0 of the network.
 *
 * An attempt to import the graph says where the first input that may have samples has them, or that
 * there are none. Where each other input has them follows: in the dimension that the file calls by
 * the same name, else in the dimension of the same number, else in the first one of the same size
 * (or open), or, in another attempt, in the second dimension that suits: states of recurrent
 * operators have their samples there, behind one layer. An input without such a dimension is the
 * same for all samples.
 */
#ifndef VBS_MODEL_ONNX_INPUTS_H
#define VBS_MODEL_ONNX_INPUTS_H

#include "model/onnx/import/import.h"

#define VBS_ONNX_WHOLE (-1) /* in the place of the dimension of the samples: there is none */

/* An input that varies. */
struct vbs_onnx_input {
    int value;                        /* of the graph */
    const char *name;                 /* of the value */
    const struct vbs_shape *choice;   /* the caller's shape, or null */
    struct vbs_shape dims;            /* in the file, 0 where open */
    const char *labels[VBS_MAX_DIMS]; /* the file's names of dimensions; "": it has none */
    unsigned empty;                   /* bits of the dimensions that are 0 in the file */
    int rank;                         /* with choice; -1: neither says */
    int at;                           /* in this attempt, the dimension of the samples */
    struct vbs_shape shape;           /* in this attempt; n_dims may be 0 */
    const Onnx__TypeProto__Tensor *type;
};

struct vbs_onnx_inputs {
    struct vbs_ctx *ctx;
    const struct vbs_onnx_graph *graph;
    int n;
    struct vbs_onnx_input *of;
    int first; /* the first one that may have samples; -1: none may */
    /* The caller gave all dimensions, with one sample in front: ONNX's own shapes. Only dimension 0
     * may count the samples then. */
    bool in_full;
};

/* Reads the inputs of a graph and their choices, which must outlive them. VBS_UNSUPPORTED (types,
 * dimensions), VBS_FORMAT, VBS_USAGE (choices that suit no input), VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_inputs_read(struct vbs_ctx *ctx, const struct vbs_onnx_graph *graph,
                                     const struct vbs_input_choice *choices, int n_choices,
                                     struct vbs_arena *arena,
                                     struct vbs_onnx_inputs *inputs) VBS_MUST_CHECK;

/* Gives whether dimension at of the first input may count the samples. */
bool vbs_onnx_inputs_may_count(const struct vbs_onnx_inputs *inputs, int at);

/* Gives whether an input has the samples elsewhere where second is set in vbs_onnx_inputs_place. */
bool vbs_onnx_inputs_have_second(const struct vbs_onnx_inputs *inputs, int at);

/* Settles the shapes of all inputs, where the first one has the samples in dimension at, or
 * VBS_ONNX_WHOLE, and the others in the first dimension that suits, or the second. VBS_USAGE: a
 * size is open; VBS_FORMAT. */
enum vbs_status vbs_onnx_inputs_place(struct vbs_onnx_inputs *inputs, int at,
                                      bool second) VBS_MUST_CHECK;

/* Gives the number of samples that the file has in this attempt; 0: it is open. */
int64_t vbs_onnx_inputs_samples(const struct vbs_onnx_inputs *inputs);

/* Returns whether the file leaves dimension 0 of an input open, which is 1 in an attempt without
 * samples. */
bool vbs_onnx_inputs_open(const struct vbs_onnx_inputs *inputs);

/* Makes the shape of tensor 0 in this attempt. VBS_UNSUPPORTED: it would be too large. */
enum vbs_status vbs_onnx_inputs_shape(const struct vbs_onnx_inputs *inputs,
                                      struct vbs_shape *shape) VBS_MUST_CHECK;

/* Sets im's states of all inputs; its builder has just been made. VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_inputs_begin(const struct vbs_onnx_inputs *inputs,
                                      struct vbs_onnx_import *im) VBS_MUST_CHECK;

/* Tells the builder of all inputs, behind the import of the nodes. VBS_NO_MEMORY. */
enum vbs_status vbs_onnx_inputs_end(const struct vbs_onnx_inputs *inputs,
                                    struct vbs_onnx_import *im) VBS_MUST_CHECK;

#endif
