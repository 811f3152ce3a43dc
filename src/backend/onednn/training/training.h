/*
 * backend/onednn/training: forward and backward passes, by oneDNN's primitives for training.
 *
 * A network is unfolded into operators (graph.c): operator i writes activation i, activation 0 is
 * the network's input. Activations and their gradients have the channels last, for which the
 * library has generated kernels in both directions, and share memory where their lifetimes do not
 * overlap (lifetimes.c). A pass is one kernel (struct od_kernel) of steps on memory objects that
 * are made while the session opens; running it allocates nothing.
 *
 * Files, from the lowest: loops, max_pool, tile, direct; parameters, graph, lifetimes, steps;
 * weighted, window, norm, pointwise; session.
 */
#ifndef VBS_BACKEND_ONEDNN_TRAINING_TRAINING_H
#define VBS_BACKEND_ONEDNN_TRAINING_TRAINING_H

#include "backend/onednn/kernels/kernels.h"
#include "vbslab/training.h"

/* The kernels of a training session. */
enum od_pass { OD_PASS_TRAIN, OD_PASS_INFER, OD_PASS_BACKWARD, OD_N_PASSES };

/* Memory that all steps of a session share, one after the other: each region is as large as the
 * largest step needs. */
enum od_region {
    OD_REGION_WEIGHTS,  /* weights in a layout of another pass */
    OD_REGION_GRADIENT, /* a gradient of weights in the layout of its kernel */
    OD_REGION_SHARE,    /* a gradient that is added to that of other readers */
    OD_REGION_SUMS,     /* panels and sums of a direct convolution */
    OD_REGION_SCRATCH,
    OD_N_REGIONS
};

/* The output of an operator, or the network's input. */
struct od_activation {
    struct od_tensor tensor; /* of one sample, with the channels last */
    dnnl_memory_desc_t md;   /* of the batch */
    int n_readers;
    int last_reader;   /* the operator of the highest number that reads it; 0: none */
    bool learns;       /* its gradient is needed */
    int values_like;   /* the activation, at most this one, whose memory its values take */
    int gradient_like; /* the activation, at least this one, whose gradient's memory is its own */
    float *values, *gradient;
    int n_written; /* while the backward pass is made: readers that have written their share */
};

/* An operator of the unfolded network. */
struct od_operator {
    enum vbs_op op;
    int layer, fused; /* fused below 0: the layer's own operator */
    const char *name;
    const union vbs_attributes *attributes;
    int n_inputs;
    const int *inputs;             /* activations */
    bool relu;                     /* normalization, sum: it computes the ReLU behind it, too */
    bool reads_src;                /* the backward pass reads the input's values */
    bool reads_dst;                /* the backward pass reads the output's values */
    bool learns;                   /* it has parameters, or an input has a gradient */
    struct od_eltwise eltwise;     /* functions of one value */
    dnnl_primitive_desc_t forward; /* of the training pass, while the session opens */
    int weights, bias;             /* trainable arrays; below 0: it has none */
    int gamma, beta;
    int mean, variance;                 /* running statistics; below 0: it has none */
    float *batch_mean, *batch_variance; /* of the last training pass */
    int end_step[2]; /* of the forward passes OD_PASS_TRAIN and OD_PASS_INFER: the step behind its
                        last one */
    dnnl_memory_t workspace;            /* from the forward to the backward pass; null: none */
    const struct od_max_pool *max_pool; /* of the training pass; null: the library's */
};

/* The layout of a trainable array. */
struct od_array {
    dnnl_memory_desc_t md;    /* of `values` and the gradient */
    dnnl_memory_desc_t plain; /* in plain order */
    /* The columns of a matrix that reads an activation of several positions are stored with the
     * channels last: [rows][positions][channels], plain [rows][channels][positions]. */
    int64_t channels, positions;
    float *gradient;
};

struct od_training {
    struct vbs_training session; /* first */
    struct od_session base;      /* engine, stream, threads, and the arena */
    const struct vbs_network *network;
    struct vbs_training_options options;
    int n_operators, output;           /* the activation that is the output */
    struct od_operator *operators;     /* [n_operators + 1]; [0] is not used */
    struct od_activation *activations; /* [n_operators + 1] */
    struct od_array *arrays;           /* [session.n_trainable] */
    int64_t max_trainable, max_arrays, max_statistics;
    struct od_kernel passes[OD_N_PASSES];
    int64_t region_bytes[OD_N_REGIONS];
    void **memory; /* everything that is freed by free() when the session closes */
    int64_t n_memory, max_memory;
    struct vbs_training_pass pass; /* the forward pass that is running */
    float *input_gradient;         /* in plain order; null: not asked for */
    bool trained;                  /* the last pass was a forward pass with `training` */
};

/* An operator of which the steps are being made. build is first: the functions of kernels/ know
 * nothing else. */
struct od_train_build {
    struct od_build build;
    struct od_training *t;
    struct od_operator *o; /* null: none yet */
    int number;            /* of the operator */
};

/* ---- graph.c ---- */

/* Unfolds the network into operators and activations. VBS_UNSUPPORTED names all operators that
 * cannot be trained, each with one layer. */
enum vbs_status od_unfold(struct od_train_build *b) VBS_MUST_CHECK;

/* ---- lifetimes.c ---- */

/* Gives every activation the memory of its values and of its gradient. */
enum vbs_status od_place_activations(struct od_train_build *b) VBS_MUST_CHECK;

/* ---- parameters.c ---- */

/* Allocates zeroed memory that lives as long as the session. */
enum vbs_status od_train_alloc(struct od_train_build *b, int64_t bytes,
                               void *memory) VBS_MUST_CHECK;

/* Appends a trainable array of the operator, in a layout; plain: the same in plain order. values
 * and gradient: its memory, or null for memory of its own. */
enum vbs_status od_add_trainable(struct od_train_build *b, enum vbs_parameter what,
                                 const dnnl_memory_desc_t *md, const dnnl_memory_desc_t *plain,
                                 float *values, float *gradient, int *index) VBS_MUST_CHECK;
enum vbs_status od_add_statistic(struct od_train_build *b, enum vbs_parameter what, int64_t count,
                                 int *index) VBS_MUST_CHECK;

/* Gives all arrays the network's parameters. */
enum vbs_status od_read_network(struct od_train_build *b) VBS_MUST_CHECK;

/* Functions of the session: read and write. */
enum vbs_status od_read_array(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                              bool gradient, float *plain) VBS_MUST_CHECK;
enum vbs_status od_write_array(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                               const float *plain) VBS_MUST_CHECK;

/* ---- steps.c ---- */

/* Makes a memory object at a fixed address, or in a region. */
enum vbs_status od_at(struct od_train_build *b, const dnnl_memory_desc_t *md, float *data,
                      dnnl_memory_t *memory) VBS_MUST_CHECK;
enum vbs_status od_in_region(struct od_train_build *b, const dnnl_memory_desc_t *md,
                             enum od_region region, dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Appends memory as an argument. */
enum vbs_status od_arg(struct od_train_build *b, int id, const dnnl_memory_desc_t *md, float *data,
                       int *n, dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Gives n as the plan of a loop, which lives as long as the session; null: out of memory. */
const int64_t *od_plan_count(struct od_train_build *b, int64_t n);

/* Gives the library's implementation of the forward pass, or of the backward pass behind it. */
enum vbs_status od_forward_pd(struct od_train_build *b, const_dnnl_op_desc_t desc,
                              dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;
enum vbs_status od_backward_pd(struct od_train_build *b, const_dnnl_op_desc_t desc,
                               dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;

/* Appends a step to the kernel that is being made, and frees pd, also where it fails. */
enum vbs_status od_train_step(struct od_train_build *b, dnnl_primitive_desc_t pd, int n_args,
                              const dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Appends the step of a backward pass of the operator. args has n arguments of its own and room for
 * two more: the gradient of the output, and what the forward pass has kept. */
enum vbs_status od_backward_step(struct od_train_build *b, const_dnnl_op_desc_t desc, int n,
                                 dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* The memory into which a primitive writes the gradient of an input: the gradient itself, or, where
 * another reader has written its share already, a region, which od_input_gradient_end adds. */
enum vbs_status od_input_gradient(struct od_train_build *b, int input, const dnnl_memory_desc_t *md,
                                  dnnl_memory_t *memory) VBS_MUST_CHECK;
enum vbs_status od_input_gradient_end(struct od_train_build *b, int input,
                                      dnnl_memory_t memory) VBS_MUST_CHECK;

/* Makes the memory in which the operator's forward pass keeps what its backward pass reads beside
 * activations; there may be none. */
enum vbs_status od_add_workspace(struct od_train_build *b) VBS_MUST_CHECK;

/* ---- the operators ---- */

/* Each appends the steps of b's operator to a pass: the forward pass of training or of inference,
 * or the backward pass. Activations that do not learn have no gradient. */
enum vbs_status od_train_conv(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_fc(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_pool(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_batchnorm(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_scale(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_lrn(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_eltwise(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_dropout(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_add(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;
enum vbs_status od_train_concat(struct od_train_build *b, enum od_pass pass) VBS_MUST_CHECK;

/* ---- session.c ---- */

/* Does as vbs_training_open, on this backend. */
enum vbs_status od_training_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_training_options *options,
                                 struct vbs_training **session) VBS_MUST_CHECK;

#endif
