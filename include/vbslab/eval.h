/*
 * vbslab/eval.h - how often a network is right: scores of outputs against labels, and a call that
 * runs a network on a data set.
 *
 * A network answers with the class whose output is the largest (the first of several equal ones).
 * The loss of an image is the cross entropy: the negative logarithm of the probability of its
 * label, where the probabilities are the softmax of the outputs, unless the network's last operator
 * makes probabilities or their logarithms itself.
 */
#ifndef VBSLAB_EVAL_H
#define VBSLAB_EVAL_H

#include "vbslab/data.h"
#include "vbslab/model.h"
#include "vbslab/progress.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the outputs of a network are. */
enum vbs_answers {
    VBS_ANSWERS_LOGITS,           /* the probabilities are their softmax */
    VBS_ANSWERS_PROBABILITIES,    /* a softmax comes last */
    VBS_ANSWERS_LOG_PROBABILITIES /* a logsoftmax comes last */
};

/* Gives what the first output of a network is. */
enum vbs_answers vbs_network_answers(const struct vbs_network *network);

#define VBS_SCORE_TOP         5    /* the label is among so many largest outputs: n_top */
#define VBS_SCORE_MAX_CLASSES 4096 /* for which a score has a confusion matrix */

/* How well labels were met so far. Begin with vbs_score_init, end with vbs_score_clear. Threads:
 * one at a time. */
struct vbs_score {
    enum vbs_answers answers;
    int n_classes;
    int64_t n_images;
    int64_t n_right;    /* images with the largest output at their label (top-1) */
    int64_t n_top;      /* images with the label among the VBS_SCORE_TOP largest outputs */
    double loss_sum;    /* of all images; the mean loss is loss_sum / n_images */
    int64_t *confusion; /* [n_classes, n_classes] images by label (row) and answer (column); null
                           above VBS_SCORE_MAX_CLASSES classes */
};

/* Prepares a score of n_classes outputs, at least 1, for which no image is counted. VBS_NO_MEMORY.
 */
enum vbs_status vbs_score_init(struct vbs_ctx *ctx, int n_classes, enum vbs_answers answers,
                               struct vbs_score *score) VBS_MUST_CHECK;
/* Frees what a score owns; it is then as {0}. */
void vbs_score_clear(struct vbs_score *score);

/*
 * Counts n images with outputs [n, n_classes] and labels [n]. A probability of 0 counts as the
 * smallest positive float, so that a loss stays finite. VBS_LIBRARY: an output is no finite number,
 * or a label is outside the classes; images before it are counted. O(n n_classes).
 */
enum vbs_status vbs_score_add(struct vbs_ctx *ctx, struct vbs_score *score, int n,
                              const float *outputs, const int *labels) VBS_MUST_CHECK;

/* The options of vbs_evaluate. Begin with {.struct_size = sizeof(struct vbs_eval_options)}: a
 * member that is 0 or null has the default that is named here. */
struct vbs_eval_options {
    size_t struct_size;
    int batch;     /* images at once, 1..VBS_MAX_BATCH; 0: as many as keep all tensors within 256
                      MiB, but at least 1 and at most 64 */
    int threads;   /* as struct vbs_backend_options */
    int64_t limit; /* only the first images of the data set, so many; 0: all */
    struct vbs_progress progress;
};

/* The cost of an evaluation. */
struct vbs_eval_report {
    int batch;          /* images at once */
    int threads;        /* that computed */
    double time_s;      /* of all images: preparing them, running the network, counting */
    double compute_s;   /* of it, in the network's layers */
    int64_t held_bytes; /* of all tensors and images at once, without weights and kernels */
};

/*
 * Checks that a network takes the images of a data set and answers with as many outputs as there
 * are classes: [C, H, W], or a vector of as many values, or the same without dimensions of 1.
 * VBS_FORMAT says both.
 */
enum vbs_status vbs_eval_check(struct vbs_ctx *ctx, const struct vbs_network *network,
                               const struct vbs_dataset *dataset) VBS_MUST_CHECK;

/* Checks the first half of this alone: that a network takes the images. */
enum vbs_status vbs_eval_check_input(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_dataset *dataset) VBS_MUST_CHECK;

/*
 * Runs network on the images of dataset, one batch after the other, every layer with the first
 * kernel of the onednn backend that computes it from dense weights as it is defined (no Winograd
 * transform, which rounds more). Networks without values for their parameters have seeded ones.
 * normalise: as vbs_dataset_images takes it, with as many channels as the images. *score is to be
 * cleared by vbs_score_clear; report may be null.
 *
 * Errors: those of vbs_eval_check, of opening a session (backend.h), of vbs_score_add; VBS_USAGE
 * (options); VBS_UNSUPPORTED: this build or machine has no onednn; VBS_INTERRUPTED. Memory:
 * weights, kernels, and report->held_bytes; the data set's own besides.
 */
enum vbs_status vbs_evaluate(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_dataset *dataset,
                             const struct vbs_normalise *normalise,
                             const struct vbs_eval_options *options, struct vbs_eval_report *report,
                             struct vbs_score *score) VBS_MUST_CHECK;

/* Samples that a network runs on, and what is looked at of it. The functions are called in the
 * thread of vbs_observe. */
struct vbs_observer {
    void *self;
    int64_t n_samples; /* at least 1 */
    /* Writes samples first..first+n-1 into inputs, as the network takes them: [n, ...]. */
    enum vbs_status (*inputs)(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs);
    /* [0..n_layers] Whose outputs, fused operators included, are looked at; 0 is the input. */
    const bool *wanted;
    /* Is given what a layer makes of samples first..first+n-1: values [n, ...], row-major. A
     * failure ends the run. */
    enum vbs_status (*look)(struct vbs_ctx *ctx, void *self, int layer, int64_t first, int n,
                            const float *values);
};

/*
 * Runs network on samples, one batch after the other, with the kernels of vbs_evaluate, and shows
 * what layers make, in their order. limit of the options has no meaning. report may be null.
 *
 * Errors: those of opening a session (backend.h) and of the observer; VBS_USAGE (options);
 * VBS_UNSUPPORTED: this build or machine has no onednn; VBS_INTERRUPTED. Memory: as vbs_evaluate,
 * and the largest tensor once more.
 */
enum vbs_status vbs_observe(struct vbs_ctx *ctx, const struct vbs_network *network,
                            const struct vbs_observer *observer,
                            const struct vbs_eval_options *options,
                            struct vbs_eval_report *report) VBS_MUST_CHECK;

/* Gives as many samples at once as keep all tensors of a network within 256 MiB, but at least 1 and
 * at most 64. */
int vbs_eval_batch(const struct vbs_network *network);

#ifdef __cplusplus
}
#endif
#endif
