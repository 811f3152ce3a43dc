/*
 * vbslab/sensitivity.h - how much accuracy a network loses where channels of one group are removed,
 * and the ranges of pruning that a search should therefore try.
 *
 * One group is pruned at a time, to one width after the other, and all others stay whole. The
 * accuracy is that on the validation images: the images of the test split are refused. A point may
 * be measured twice, as the pruned network is, and behind a short retraining. What it is compared
 * with is the whole network, trained on for as many epochs, too.
 */
#ifndef VBSLAB_SENSITIVITY_H
#define VBSLAB_SENSITIVITY_H

#include "vbslab/data.h"
#include "vbslab/model.h"
#include "vbslab/progress.h"
#include "vbslab/prune.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The largest rate of retraining where the options say 0: the parameters are good already. */
#define VBS_SENSITIVITY_RATE 0.005

/* The options of vbs_sensitivity_open. Begin with {.struct_size = sizeof(struct
 * vbs_sensitivity_options)}; members that are 0 have the default that is named here. */
struct vbs_sensitivity_options {
    size_t struct_size;
    enum vbs_prune_ranking ranking;
    uint64_t seed; /* of the ranking and of retraining */
    int epochs;    /* of retraining; 0: none */
    double rate;   /* of retraining; 0: VBS_SENSITIVITY_RATE */
    int batch;     /* of retraining; 0: 128, or as many images as there are */
    bool mirror;   /* of retraining: half of the images are mirrored */
    int max_shift; /* of retraining: images are shifted by up to so many pixels */
    int64_t limit; /* only the first validation images, so many; 0: all */
    int threads;   /* 0: as many as OpenMP gives this process */
    /* Is called while a point is retrained, with the share that is done. */
    struct vbs_progress progress;
};

/* A network whose sensitivity is measured: its groups, and the scores of their channels. Threads:
 * one at a time. */
struct vbs_sensitivity;

/* A group at a width, and what the network is then. A plain value. */
struct vbs_sensitivity_point {
    int group;                /* below 0: the whole network */
    int64_t keep;             /* channels of the group that stay; 0 for the whole network */
    int64_t parameters, macs; /* of the network, of one sample */
    double accuracy, loss;    /* on the validation images; accuracy 0..1 */
    bool retrained;           /* the next two have values */
    double retrained_accuracy, retrained_loss;
    bool diverged; /* retraining ended without finite numbers: they have none */
};

#define VBS_SENSITIVITY_KEY_SIZE 17 /* bytes of a key, with the zero behind it */

/*
 * Prepares a network: finds its groups and ranks their channels, for which Taylor reads images. The
 * struct borrows all arguments until vbs_sensitivity_free. images may be null without retraining
 * and without Taylor; normalise may be null.
 *
 * Errors: VBS_USAGE (options; the validation images are those of the test split; images are
 * missing), VBS_FORMAT (the images do not suit the network), VBS_NO_MEMORY; errors of
 * vbs_prune_groups and vbs_prune_scores.
 */
enum vbs_status vbs_sensitivity_open(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_dataset *images,
                                     const struct vbs_dataset *validation,
                                     const struct vbs_normalise *normalise,
                                     const struct vbs_sensitivity_options *options,
                                     struct vbs_sensitivity **sensitivity) VBS_MUST_CHECK;

/* Frees it; null is allowed. */
void vbs_sensitivity_free(struct vbs_sensitivity *sensitivity);

/* Gives the groups of the network; owned by the struct. */
const struct vbs_prune_groups *vbs_sensitivity_groups(const struct vbs_sensitivity *sensitivity);

/*
 * Writes 16 hexadecimal digits of a hash of everything on which points depend: the network with its
 * parameters, the images, the options without threads. Points with equal keys may be compared.
 * Errors: VBS_NO_MEMORY; errors of vbs_parameter_values. O(bytes of images and parameters).
 */
enum vbs_status vbs_sensitivity_key(struct vbs_ctx *ctx, const struct vbs_sensitivity *sensitivity,
                                    char key[VBS_SENSITIVITY_KEY_SIZE]) VBS_MUST_CHECK;

/*
 * Measures a point: keep channels of a group stay, or, with a group below 0, all of all groups.
 * Two calls give the same numbers with the same number of threads. Where the retraining of a group
 * diverges, the point says so. Errors: VBS_USAGE (keep), those of
 * vbs_prune_apply, vbs_evaluate and vbs_train (which the whole network has where it diverges: no
 * point could be judged without it).
 */
enum vbs_status vbs_sensitivity_measure(struct vbs_ctx *ctx, struct vbs_sensitivity *sensitivity,
                                        int group, int64_t keep,
                                        struct vbs_sensitivity_point *point) VBS_MUST_CHECK;

/* The range that is proposed for a group: the shares low, low + step, ..., high leave the widths
 * that end a block of channels. Where only one of these is safe, the other width is that of all
 * filters. A plain value. */
struct vbs_sensitivity_range {
    int group;
    double safe;            /* the largest share that was measured before the accuracy fell more */
    double low, high, step; /* without meaning where n_widths is 0 */
    int n_widths;           /* shares from low to high; 0: nothing can be won */
    const char *why;        /* why there are none, for people; else null */
};

/*
 * Proposes a range for each group that has points. fall: the accuracy that may be lost, 0..1.
 * block: filters of a block, as VBS_PRUNE_STEP; at least 1. The shares of a group are judged in
 * ascending order, up to the first with an accuracy below that of the whole network less fall;
 * behind a retraining both are those behind it, and one that diverged has none. The safe share is
 * then rounded down to the end of a block.
 *
 * ranges: [groups->n_groups], of which the first *n_ranges are written. Errors: VBS_USAGE (there is
 * no point of the whole network). Complexity: O(groups x points).
 */
enum vbs_status vbs_sensitivity_propose(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                        const struct vbs_sensitivity_point *points, int n_points,
                                        double fall, int64_t block,
                                        struct vbs_sensitivity_range *ranges,
                                        int *n_ranges) VBS_MUST_CHECK;

/*
 * Writes the ranges as tables [[parameter]] of a study file: groups with as many filters and the
 * same range are one parameter, as they are likely to be pruned alike. *text is freed by free().
 * VBS_NO_MEMORY.
 */
enum vbs_status vbs_sensitivity_toml(struct vbs_ctx *ctx, const struct vbs_prune_groups *groups,
                                     const struct vbs_sensitivity_range *ranges, int n_ranges,
                                     char **text) VBS_MUST_CHECK;

/* Gives the share of a group's channels that is removed where keep stay. */
double vbs_sensitivity_share(const struct vbs_prune_group *group, int64_t keep);

#ifdef __cplusplus
}
#endif
#endif
