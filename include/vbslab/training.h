/*
 * vbslab/training.h - forward and backward passes of a network on a backend, for a batch.
 *
 * A backend that can train opens a training session (struct vbs_backend): a table of functions, and
 * the arrays of the trainable parameters with their gradients. The loop that trains knows nothing
 * else of the backend.
 *
 * Operators are trained one by one: those that a network fuses with a layer are separate in a
 * session. A softmax at the end of the network is left out, because it is joined with the loss: the
 * outputs of a session are then the values that the softmax reads.
 */
#ifndef VBSLAB_TRAINING_H
#define VBSLAB_TRAINING_H

#include "vbslab/model.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The share of dropped values where the options say 0: networks do not hold their own. */
#define VBS_DROPOUT_RATE 0.5
/* The weight of the last batch in running statistics where the options say 0. */
#define VBS_STATISTICS_RATE 0.1

/* The options of opening a training session. Begin with {.struct_size = sizeof(struct
 * vbs_training_options)}. */
struct vbs_training_options {
    size_t struct_size;     /* sizeof(struct vbs_training_options) */
    int batch;              /* samples of every pass, 1..VBS_MAX_BATCH */
    int threads;            /* that compute; 0: as many as OpenMP gives this process */
    double dropout_rate;    /* below 1; 0: VBS_DROPOUT_RATE; below 0: nothing is dropped */
    double statistics_rate; /* at most 1; 0: VBS_STATISTICS_RATE */
    bool input_gradient;    /* backward passes also compute the gradient of the input */
};

/*
 * One array of trainable parameters. The layout of its values is the backend's: the one that its
 * kernels read, in which some values may be padding. Padding is zero, and so is its gradient, so
 * that an update that computes a new value from the old value, the gradient and further arrays of
 * the same kind needs to know nothing of layouts. The functions `read` and `write` of the session
 * convert.
 */
struct vbs_trainable {
    int layer, fused; /* fused below 0: the layer's own operator */
    const char *name; /* the operator's */
    enum vbs_parameter what;
    int64_t count;  /* of parameters */
    int64_t stored; /* floats of the two arrays below, with padding: at least count */
    float *values;
    const float *gradient;   /* written by a backward pass */
    int64_t fan_in, fan_out; /* of weights: the number of products that one output sums, and that
                                one input takes part in; else 0 */
};

/* Running statistics of a BatchNorm, which inference uses: the mean or the variance by channel. */
struct vbs_running_statistic {
    int layer, fused;
    const char *name;
    enum vbs_parameter what; /* VBS_PARAMETER_MEAN or VBS_PARAMETER_VARIANCE */
    int64_t count;
    float *values;
};

/* One forward pass. */
struct vbs_training_pass {
    const float *input; /* [batch] samples in plain order */
    /* True: BatchNorm normalises with the statistics of this batch and takes them into its running
     * statistics, and dropout drops. False: inference. */
    bool training;
    /* Decide together which values dropout drops. The values that are dropped depend on nothing
     * else: not on the number of threads, nor on earlier passes. */
    uint64_t seed, step;
};

/*
 * A network prepared for training on a backend. Backends put this struct first in their own.
 *
 * Threads: one thread at a time uses a session. Different sessions may be used at the same time.
 */
struct vbs_training {
    const struct vbs_training_ops *ops;
    int batch;
    int64_t input_elements;  /* of one sample */
    int64_t output_elements; /* of one sample */
    bool softmax;            /* the network ends with a softmax, which the session leaves out */
    int n_trainable;
    struct vbs_trainable *trainable; /* [n_trainable] ascending by layer */
    int n_statistics;
    struct vbs_running_statistic *statistics; /* [n_statistics] ascending by layer */
    int n_slow; /* operators that a pass computes with code of the library that is only a reference
                   and many times slower than its other code */
    const char **slow; /* [n_slow] their names, which live as long as the session */
    /* The memory that the session holds, in bytes: activations that a backward pass needs and
     * gradients, which share memory where their lifetimes do not overlap; workspaces; and
     * parameters with their gradients. */
    int64_t activation_bytes, workspace_bytes, parameter_bytes;
};

/* The calls of a training session. All that return a status set the reason in *ctx on failure. */
struct vbs_training_ops {
    /*
     * Computes the outputs of a batch, [batch][output_elements] in plain order. A network computes
     * the same outputs to the bit from the same parameters, input, seed and step with the same
     * number of threads.
     */
    enum vbs_status (*forward)(struct vbs_ctx *ctx, struct vbs_training *session,
                               const struct vbs_training_pass *pass, float *output);
    /*
     * Computes the gradients of all trainable parameters for the batch of the last forward pass
     * from the gradient of its outputs, [batch][output_elements] in plain order. Gradients of
     * samples are added, not averaged. VBS_USAGE: the last pass was not a forward pass with
     * `training`.
     */
    enum vbs_status (*backward)(struct vbs_ctx *ctx, struct vbs_training *session,
                                const float *output_gradient);
    /* Gives the gradient of the input of the last backward pass, [batch][input_elements] in plain
     * order. VBS_USAGE: the session was opened without input_gradient. */
    enum vbs_status (*input_gradient)(struct vbs_ctx *ctx, struct vbs_training *session,
                                      float *values);
    /* Converts the values or the gradient of trainable array number index to plain order, in the
     * shape of enum vbs_parameter. */
    enum vbs_status (*read)(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                            bool gradient, float *plain);
    /* Replaces the values of trainable array number index by plain ones. */
    enum vbs_status (*write)(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                             const float *plain);
    /* Computes a forward pass once more, operator by operator, and gives the name of the first one
     * whose output has a value that is not finite, which lives as long as the network; null: there
     * is none. For messages; with `training`, running statistics change again. */
    enum vbs_status (*find_overflow)(struct vbs_ctx *ctx, struct vbs_training *session,
                                     const struct vbs_training_pass *pass, const char **name);
    void (*close)(struct vbs_training *session);
};

/*
 * Opens a training session on the backend of this name. The session borrows network until
 * ops->close, which the caller calls; it begins with the network's own parameters.
 *
 * Errors: VBS_NOT_FOUND (no such backend), VBS_USAGE (options), VBS_UNSUPPORTED (the backend cannot
 * train; the network has operators that cannot be trained, of which each is named with one layer;
 * or it has no trainable parameters, and no input_gradient is requested), VBS_NO_MEMORY,
 * VBS_LIBRARY; errors of reading parameters. Time and memory grow with the number of operators and
 * with the batch.
 */
enum vbs_status vbs_training_open(struct vbs_ctx *ctx, const char *backend,
                                  const struct vbs_network *network,
                                  const struct vbs_training_options *options,
                                  struct vbs_training **session) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
