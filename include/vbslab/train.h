/*
 * vbslab/train.h - training a network on labelled images.
 *
 * The network's outputs are scores of the classes, of which a softmax makes probabilities (a
 * softmax at the end of the network is this one). The loss is the mean cross entropy of a batch.
 * An epoch takes the images in an order that is new for each epoch, in batches; what is left behind
 * the last whole batch is not used in that epoch.
 *
 * Training is a function of the network, the images, the options and the number of threads: two
 * runs give the same parameters to the bit, also where one of them was interrupted and continued
 * from its checkpoint.
 */
#ifndef VBSLAB_TRAIN_H
#define VBSLAB_TRAIN_H

#include "vbslab/data.h"
#include "vbslab/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, word): the rules by which gradients change parameters. SGD: v = momentum v + g, and w -=
 * rate v (Nesterov: rate (g + momentum v)). Adam (Kingma and Ba, 2015): first and second moments
 * with 0.9 and 0.999, epsilon 1e-8. In both, g is the gradient with weight_decay w added. */
#define VBS_OPTIMISER_LIST(X)                                                                      \
    X(SGD, "sgd")                                                                                  \
    X(ADAM, "adam")

/* X(NAME, word): the course of the rate, behind the warm-up. Cosine falls to 0 at the end
 * (Loshchilov and Hutter, 2017). Step multiplies the rate by rate_factor every rate_epochs;
 * exponential multiplies it by rate_factor in every epoch, a little at each step. */
#define VBS_RATE_LIST(X)                                                                           \
    X(COSINE, "cosine")                                                                            \
    X(CONSTANT, "constant")                                                                        \
    X(STEP, "step")                                                                                \
    X(EXPONENTIAL, "exponential")

/* X(NAME, word): the parameters with which training begins. Fan: weights are normal with variance
 * 2 / fan-in where a ReLU is fused with their layer, else 1 / fan-in, because a layer without a
 * ReLU passes its values on whole. He (2015): 2 / fan-in everywhere. Glorot (2010): uniform with
 * variance 2 / (fan-in + fan-out). In these, biases and beta are 0, gamma is 1, running means are 0
 * and variances 1. Keep: the network's own. */
#define VBS_INITIALISATION_LIST(X)                                                                 \
    X(FAN, "fan")                                                                                  \
    X(HE, "he")                                                                                    \
    X(GLOROT, "glorot")                                                                            \
    X(KEEP, "keep")

#define VBS_TRAIN_ENUM_OPTIMISER(name, word)      VBS_OPTIMISER_##name,
#define VBS_TRAIN_ENUM_RATE(name, word)           VBS_RATE_##name,
#define VBS_TRAIN_ENUM_INITIALISATION(name, word) VBS_INITIALISATION_##name,
/* The optimisers of VBS_OPTIMISER_LIST. */
enum vbs_optimiser { VBS_OPTIMISER_LIST(VBS_TRAIN_ENUM_OPTIMISER) VBS_N_OPTIMISERS };
/* The courses of the rate of VBS_RATE_LIST. */
enum vbs_rate_course { VBS_RATE_LIST(VBS_TRAIN_ENUM_RATE) VBS_N_RATES };
/* The ways of VBS_INITIALISATION_LIST to make the first parameters. */
enum vbs_initialisation {
    VBS_INITIALISATION_LIST(VBS_TRAIN_ENUM_INITIALISATION) VBS_N_INITIALISATIONS
};
#undef VBS_TRAIN_ENUM_OPTIMISER
#undef VBS_TRAIN_ENUM_RATE
#undef VBS_TRAIN_ENUM_INITIALISATION

/* Give the word of a value, such as "adam"; null where there is no such value. */
const char *vbs_optimiser_word(enum vbs_optimiser optimiser);
const char *vbs_rate_word(enum vbs_rate_course course);
const char *vbs_initialisation_word(enum vbs_initialisation initialisation);

/* What an epoch gave. */
struct vbs_train_epoch {
    int epoch; /* 1.. */
    int64_t n_steps;
    double rate;     /* of the last step */
    double loss;     /* mean of the batches, each before its step */
    double accuracy; /* share of the images, 0..1, whose largest score was that of their label,
                        before the step */
    bool validated;  /* there are validation images */
    double validation_loss, validation_accuracy; /* after the epoch, without label smoothing */
    double elapsed_s;                            /* of this process, in this epoch */
};

/* The options of training. Begin with {.struct_size = sizeof(struct vbs_train_options)}; members
 * that are 0 have the default that is named here. */
struct vbs_train_options {
    size_t struct_size; /* sizeof(struct vbs_train_options) */
    int epochs;         /* at least 1 */
    int batch;          /* 0: 128, or as many images as there are */
    int threads;        /* 0: as many as OpenMP gives this process */
    uint64_t seed;      /* of first parameters, order of images, variation, dropout */
    enum vbs_optimiser optimiser;
    double rate;         /* 0: 0.02 of SGD, 0.001 of Adam */
    double momentum;     /* of SGD; 0: 0.9; below 0: none */
    bool nesterov;       /* of SGD */
    double weight_decay; /* 0: 0.0005; below 0: none */
    bool decay_all;      /* weight decay also of biases, gamma and beta, which have none else */
    enum vbs_rate_course course;
    double warm_up_epochs;  /* in which the rate rises in a line; 0: none */
    double rate_epochs;     /* 0: a third of the epochs */
    double rate_factor;     /* 0: 0.1 of step, 0.9 of exponential */
    double label_smoothing; /* the share of a label's probability that all classes have evenly */
    double dropout_rate;    /* as in vbs_training_options */
    enum vbs_initialisation initialisation;
    bool mirror;   /* half of the images are mirrored */
    int max_shift; /* images are shifted by up to so many pixels */
    /* A file from which training continues where it exists, and which is written anew, whole or not
     * at all, at least every checkpoint_s seconds and at the end of every epoch; null: none. */
    const char *checkpoint;
    double checkpoint_s; /* 0: 30 */
    void *self;
    /* Is called after each epoch, in the thread of the call; null: never. */
    void (*report)(void *self, const struct vbs_train_epoch *epoch);
    /* Is called often, with the share of all steps that is done; null: never. */
    void (*progress)(void *self, double done, const struct vbs_train_epoch *so_far);
    bool *diverged; /* is set to true where the loss or a parameter is not finite; null: not told */
    /* Is called before the first step where the backend trains some operators slowly, with a line
     * that names them; null: never. */
    void (*warn)(void *self, const char *text);
};

#define VBS_TRAIN_OPTIONS_SIZE 512

/* Writes the options that decide what a training gives, as they are, into a text that is filled up
 * with zeros: from one network, on the same images and with as many threads, equal texts give equal
 * networks. */
void vbs_train_options_text(const struct vbs_train_options *options,
                            char text[VBS_TRAIN_OPTIONS_SIZE]);

/*
 * Trains a network. validation may be null. normalise is applied to all images; its text becomes
 * that of the trained network. *trained is a copy with the new parameters, freed by
 * vbs_network_free; *last is the last epoch.
 *
 * Errors: VBS_USAGE (options; images of another shape than the network's input; more classes than
 * the network has outputs; a checkpoint of another training), VBS_UNSUPPORTED (operators that
 * cannot be trained; the loss or a parameter is not finite: the detail names step and layer, and
 * the checkpoint stays as it was), VBS_FORMAT (a damaged checkpoint), VBS_IO, VBS_INTERRUPTED (the
 * checkpoint has all steps), VBS_NO_MEMORY, VBS_LIBRARY.
 */
enum vbs_status vbs_train(struct vbs_ctx *ctx, const struct vbs_network *network,
                          const struct vbs_dataset *images, const struct vbs_dataset *validation,
                          const struct vbs_normalise *normalise,
                          const struct vbs_train_options *options, struct vbs_network **trained,
                          struct vbs_train_epoch *last) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
