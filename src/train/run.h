/* A training that is running: what the files of this room share. */
#ifndef VBS_TRAIN_RUN_H
#define VBS_TRAIN_RUN_H

#include "vbslab/train.h"
#include "vbslab/training.h"

#define VBS_TRAIN_STATES 2 /* arrays beside the parameters that an optimiser has at most */

/* What decides how a training goes on, beside the point that it has reached: one hash for each kind
 * of cause, so that a message can name what differs. */
enum vbs_train_cause {
    VBS_TRAIN_NETWORK, /* the network; with "keep" also its own parameters */
    VBS_TRAIN_IMAGES,  /* pixels, labels and normalisation */
    VBS_TRAIN_OPTIONS, /* all options but threads and checkpoints */
    VBS_TRAIN_N_CAUSES
};

/* The identity of a training. */
struct vbs_train_identity {
    unsigned char digest[VBS_TRAIN_N_CAUSES][VBS_DATASET_DIGEST_BYTES];
};

/* A training. Everything that decides how it goes on is in `at`, in the parameters and statistics
 * of the session, and in the states. */
struct vbs_train_run {
    const struct vbs_network *network;
    const struct vbs_dataset *images, *validation;
    const struct vbs_normalise *normalise;
    struct vbs_train_options options; /* with all defaults in place */
    struct vbs_training *session;
    int64_t epoch_steps; /* of an epoch */
    int n_classes;       /* outputs of the network */
    int n_states;
    float **states; /* [n_states * n_trainable], each as long as the array is stored */
    int *order;     /* of the images in this epoch */
    float *input, *output, *gradient;
    struct vbs_train_point {
        int64_t step;                    /* steps done, of all epochs */
        double loss;                     /* sum of the losses of this epoch's images */
        int64_t n_right;                 /* of this epoch's images */
        double last_loss, last_accuracy; /* of the epoch before, once there is one */
    } at;
    struct vbs_train_identity identity; /* while there is a checkpoint */
    double saved_s;                     /* when the checkpoint was written last */
};

/* ---- options.c ---- */

/* Copies the options with all defaults in place; VBS_USAGE. */
enum vbs_status vbs_train_read_options(struct vbs_ctx *ctx, const struct vbs_train_options *given,
                                       int n_images, struct vbs_train_options *own) VBS_MUST_CHECK;

/* ---- loss.c ---- */

/* The loss of n samples, [n][classes] scores. */
struct vbs_loss {
    double sum;
    int64_t n_right;
};

/* Adds the cross entropy of sample scores with its label; gradient, where it is not null, is that
 * of the sum divided by `divisor`. O(classes). */
void vbs_loss_add(const float *scores, int n_classes, int label, double smoothing, double divisor,
                  struct vbs_loss *loss, float *gradient);

/* ---- rate.c ---- */

/* Gives the rate of a step, 0..epochs * epoch_steps - 1. */
double vbs_train_rate(const struct vbs_train_options *options, int64_t epoch_steps, int64_t step);

/* ---- optimise.c ---- */

/* Gives how many state arrays the optimiser has. */
int vbs_train_states(const struct vbs_train_options *options);

/* Changes n values by their gradients; step is the number of the step from 0. decays: with weight
 * decay. */
void vbs_train_update(const struct vbs_train_options *options, double rate, int64_t step,
                      bool decays, int64_t n, const float *gradient, float *const *states,
                      float *values);

/* ---- initialise.c ---- */

/* Gives the session's arrays their first values. */
enum vbs_status vbs_train_initialise(struct vbs_ctx *ctx, struct vbs_train_run *run) VBS_MUST_CHECK;

/* ---- identity.c ---- */

/* Sets the identity of a run that has its first parameters. O(bytes of images and parameters). */
enum vbs_status vbs_train_identify(struct vbs_ctx *ctx, struct vbs_train_run *run) VBS_MUST_CHECK;

/* Fails with VBS_USAGE and says in what the training of the checkpoint at path differs from this
 * run, if it does. */
enum vbs_status vbs_train_compare(struct vbs_ctx *ctx, const struct vbs_train_run *run,
                                  const struct vbs_train_identity *kept,
                                  const char *path) VBS_MUST_CHECK;

/* ---- checkpoint.c ---- */

/* Writes the checkpoint, whole or not at all. */
enum vbs_status vbs_checkpoint_write(struct vbs_ctx *ctx, struct vbs_train_run *run) VBS_MUST_CHECK;

/* Continues from the checkpoint, if there is one. VBS_USAGE: it belongs to another training.
 * VBS_FORMAT: it is damaged. */
enum vbs_status vbs_checkpoint_read(struct vbs_ctx *ctx, struct vbs_train_run *run) VBS_MUST_CHECK;

#endif
