/*
 * vbslab/prune.h - networks with fewer channels: which channels can be removed, which of them
 * matter least, and the network without them.
 *
 * Pruning removes whole filters: the output channel of a convolution with its filter, its bias and
 * its BatchNorm, and the weights of all layers that read the channel. What is left is an ordinary,
 * dense network with smaller tensors.
 *
 * Many channels can be removed only together: a residual sum needs the same channels of both
 * inputs, a depthwise convolution has a filter for each channel that it reads. Which ones is found
 * on the graph of the network, by following every channel from the filter that makes it through all
 * operators to the weights that read it. Names of layers play no role. A channel that an operator
 * mixes with others in a way that is not understood cannot be removed, and neither can outputs of
 * the network.
 *
 * The pruned network computes what the whole network would compute if the removed channels were
 * zero in every tensor that has them. The exception is LRN across channels, whose windows close up
 * over the removed ones.
 */
#ifndef VBSLAB_PRUNE_H
#define VBSLAB_PRUNE_H

#include "vbslab/data.h"
#include "vbslab/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The step of widths that searches try unless they are told otherwise: a multiple of the blocks of
 * kernels on all processors. */
#define VBS_PRUNE_STEP 16

/* Gives the number of output channels that kernels of convolutions compute at once on this
 * processor, 8 or (with AVX-512) 16: a width within a block costs about as much as the whole block
 * (docs/pruning.md). */
int64_t vbs_prune_block(void);

/* Filters first..first+n-1 of a conv, deconv or fc. A plain value. */
struct vbs_prune_member {
    int layer;
    int64_t first, n;
};

/*
 * A group: n_channels sets of filters. All filters of a set have to be removed together; sets are
 * removed independently of each other, as long as one stays. A set is called a channel of the
 * group. Every layer has the same number of filters in each set of a group.
 */
struct vbs_prune_group {
    const char *name; /* of its first layer, unique: a second group of that layer is "NAME#2" */
    int64_t first;    /* number of its first channel in the array of scores */
    int64_t n_channels;
    int64_t unit;  /* filters of its first layer in each channel: above 1 where groups of a
                      convolution, a shuffle or a reshape force it */
    int n_members; /* ascending by layer, then by first */
    const struct vbs_prune_member *members;
    const char *fixed; /* the reason why no channel can be removed, for people, or null */
    /* What the network has less where one channel is removed: parameters, and
     * multiply-accumulates for one sample, of the layers that make it and that read it. */
    int64_t parameters, macs;
};

/* All groups of a network, in the order of their first filters. Every filter of every conv, deconv
 * and fc is in one of them. It owns everything that it points to, and does not need the network.
 * Threads: immutable, may be shared. */
struct vbs_prune_groups {
    int n_groups;
    const struct vbs_prune_group *groups;
    int64_t n_channels; /* of all groups: the length of an array of scores */
};

/*
 * Finds the groups of a network. The caller frees *groups with vbs_prune_groups_free.
 * VBS_UNSUPPORTED (more than 2^25 channels, counted in every tensor), VBS_NO_MEMORY; errors of
 * reading the indices of a gather. Complexity: O(c log c), where c is the number of channels of all
 * tensors, and of the inputs of every fully connected layer.
 */
enum vbs_status vbs_prune_groups(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 struct vbs_prune_groups **groups) VBS_MUST_CHECK;

/* Frees groups; null is allowed. */
void vbs_prune_groups_free(struct vbs_prune_groups *groups);

/*
 * Sets chosen[g], [n_groups], for the groups that pattern names, and leaves the others as they are:
 * the name of a group, a pattern of names with *, ? and [...], as in file names (a * also stands
 * for slashes), or the word "all". preset, where it is not null, is the name of a preset whose
 * labels name groups, too, and then "all" stands for the groups of all labels. A pattern with
 * several names passes over those that are fixed.
 *
 * Errors: VBS_NOT_FOUND (no group has such a name; the detail suggests the nearest; or no such
 * preset), VBS_USAGE (all groups of that name are fixed: the detail says why), VBS_NO_MEMORY.
 */
enum vbs_status vbs_prune_choose(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                 const char *preset, const char *pattern,
                                 bool *chosen) VBS_MUST_CHECK;

/* A label of a preset: groups that are pruned alike. */
struct vbs_prune_label {
    const char *name;
    const char *groups; /* names with commas between them */
};

/* Named choices of groups for networks with the names of layers of a built-in network. Constant. */
struct vbs_prune_preset {
    const char *name, *about;
    int n_labels;
    const struct vbs_prune_label *labels;
};

/* Gives preset number index, from 0, or null behind the last. tune-resnet-56: the groups of Table 2
 * of TUNE (Fay-Hunt, 2021), for resnet-56-cifar. */
const struct vbs_prune_preset *vbs_prune_preset_at(int index);

/* Gives how many channels of a group stay where the share removed, 0 <= share < 1, is removed: as
 * many as are left when share of them, rounded down, are gone. With step above 1, the filters of
 * its first layer are rounded up to a multiple of step where the group has as many. A fixed group
 * keeps all. */
int64_t vbs_prune_keep(const struct vbs_prune_group *group, double share, int64_t step);

/* X(NAME, word): how important a channel is: the sum of the absolute weights of its filters (Li et
 * al., Pruning filters for efficient ConvNets, 2017), the square root of the sum of their squares,
 * a random number, or |gradient x value| summed over weights and biases and over batches of images
 * (the first term of a Taylor series of the loss; Molchanov et al., Importance estimation for
 * neural network pruning, 2019). */
#define VBS_PRUNE_RANKING_LIST(X)                                                                  \
    X(L1, "l1")                                                                                    \
    X(L2, "l2")                                                                                    \
    X(RANDOM, "random")                                                                            \
    X(TAYLOR, "taylor")

#define VBS_PRUNE_ENUM_RANKING(name, word) VBS_PRUNE_##name,
/* The rankings of VBS_PRUNE_RANKING_LIST. */
enum vbs_prune_ranking { VBS_PRUNE_RANKING_LIST(VBS_PRUNE_ENUM_RANKING) VBS_N_PRUNE_RANKINGS };
#undef VBS_PRUNE_ENUM_RANKING

/* Gives the word of a ranking, such as "taylor"; null where there is no such ranking. */
const char *vbs_prune_ranking_word(enum vbs_prune_ranking ranking);

/* The options of vbs_prune_scores. Begin with {.struct_size = sizeof(struct vbs_prune_options)}. */
struct vbs_prune_options {
    size_t struct_size; /* sizeof(struct vbs_prune_options) */
    enum vbs_prune_ranking ranking;
    uint64_t seed; /* of random numbers, and of the choice of images */
    /* For VBS_PRUNE_TAYLOR, which needs images: */
    const struct vbs_dataset *images;
    const struct vbs_normalise *normalise; /* null: pixels as they are */
    int n_images;                          /* 0: 512, or all where there are fewer; in batches of
                                              64, what is left behind the last whole one is not used */
    int threads;                           /* 0: as many as OpenMP gives this process */
};

/*
 * Gives every channel of every group a score, [groups->n_channels]; a larger one is more important.
 * Scores are comparable within a group. options: null for the defaults.
 *
 * Errors: VBS_USAGE (options), VBS_INTERRUPTED, VBS_NO_MEMORY; errors of reading parameters. Taylor
 * also: errors of vbs_eval_check (eval.h), VBS_UNSUPPORTED (operators that cannot be trained),
 * VBS_LIBRARY (a gradient is not finite). Complexity:
 * O(parameters); Taylor: a forward and a backward pass for each image.
 */
enum vbs_status vbs_prune_scores(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_groups *groups,
                                 const struct vbs_prune_options *options,
                                 double *scores) VBS_MUST_CHECK;

/*
 * Removes channels: of group g the keep[g] channels with the largest scores stay, of equal ones the
 * first, in their order. scores may be null: the first channels stay. *pruned is freed by
 * vbs_network_free; it has the values that stay, also seeded and coded ones, in memory of its own.
 *
 * Errors: VBS_USAGE (keep[g] is not 1..n_channels, or less than all of a fixed group),
 * VBS_INTERRUPTED, VBS_NO_MEMORY; errors of vbs_parameter_values. Complexity: O(parameters).
 */
enum vbs_status vbs_prune_apply(struct vbs_ctx *ctx, const struct vbs_network *network,
                                const struct vbs_prune_groups *groups, const double *scores,
                                const int64_t *keep, struct vbs_network **pruned) VBS_MUST_CHECK;

/* Makes a network of the shapes that vbs_prune_apply would give, with seeded parameters: it has
 * tensors and work of the same sizes, and needs no weights to be read. Only where a slice begins
 * among channels, or how many of a padding's lie in front of others, may differ. Errors and owner
 * as there. */
enum vbs_status vbs_prune_shapes(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_prune_groups *groups, const int64_t *keep,
                                 struct vbs_network **pruned) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
