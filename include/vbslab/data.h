/*
 * vbslab/data.h - labelled images to train with and to test with.
 *
 * A folder holds the images of a data set in one of the formats of docs/formats.md: IDX files
 * (MNIST, Fashion-MNIST), CIFAR-10's binary files, or pairs of .npy files. Each file may also be
 * compressed by gzip, with ".gz" behind its name. The files are untrusted: sizes, counts and labels
 * are checked, and no more is inflated than the header of a file announces.
 *
 * An image is an array [C, H, W] of pixels: bytes, which count as the numbers 0, 1/255, ..., 1, or
 * 32-bit floats, which count as they are. A network takes (pixel - mean) / deviation, with a mean
 * and a deviation for each channel (struct vbs_normalise).
 *
 * Everything random here (which images are set aside, the order of an epoch, how an image is
 * varied) is a function of whole numbers alone, and equal on every machine.
 */
#ifndef VBSLAB_DATA_H
#define VBSLAB_DATA_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_DATA_MAX_CHANNELS 64
#define VBS_DATA_MAX_PIXELS   (1 << 24) /* pixels of an image, of all channels */
#define VBS_DATA_MAX_CLASSES  65536
#define VBS_DATA_MAX_IMAGES   INT32_MAX

/*
 * X(NAME, word): the parts of a data set. The validation images are set aside from the images in
 * the training files: choices (when to stop, which rate, how much to prune) are made on them, so
 * that the test images stay unseen until the end.
 */
#define VBS_SPLIT_LIST(X)                                                                          \
    X(TRAIN, "train")                                                                              \
    X(VALIDATION, "validation")                                                                    \
    X(TEST, "test")

#define VBS_SPLIT_ENUM(name, word) VBS_SPLIT_##name,
/* The parts of a data set. */
enum vbs_split { VBS_SPLIT_LIST(VBS_SPLIT_ENUM) VBS_N_SPLITS };
#undef VBS_SPLIT_ENUM

/* Gives the word of a part, such as "train"; never null. */
const char *vbs_split_word(enum vbs_split split);

/* The options of vbs_dataset_open. Begin with {sizeof(struct vbs_data_options)}. */
struct vbs_data_options {
    size_t struct_size;
    int64_t n_validation; /* training images to set aside; 0: a tenth of them, rounded down; below
                             0: none */
};

/* The images of one part of a data set and their labels. Threads: immutable, may be shared. */
struct vbs_dataset;

/* What a data set's images are. A plain value: copy it freely. */
struct vbs_data_info {
    enum vbs_split split;
    int n_images;                /* of this part, at least 1 */
    int channels, height, width; /* of each image, each at least 1 */
    int n_classes;               /* labels are 0..n_classes - 1 */
    int largest_label;           /* of all labels in the files that were read */
    bool is_float;               /* pixels are 32-bit floats, else bytes */
    const char *format;          /* "idx", "cifar-10" or "npy"; a constant */
};

/*
 * Reads one part of the data set in folder. options: null for the defaults. The caller frees
 * *dataset with vbs_dataset_free.
 *
 * The validation images are the first n_validation of the order that vbs_data_order gives the
 * training images for seed VBS_VALIDATION_SEED and epoch 0; the training images are the others.
 * Both keep the order that they have in the files. Images of the other part are not kept.
 *
 * The number of classes is that of the folder's list of classes where it has one (classes.txt, or
 * batches.meta.txt with CIFAR-10), else one more than the largest label of the training and the
 * test images.
 *
 * VBS_IO: the folder or a file cannot be read. VBS_FORMAT: no data set of a known format, a file
 * that is cut or too long, counts of images and labels that differ, a label outside the classes, a
 * pixel that is no finite number, no image left; the message names the file and the image.
 * VBS_USAGE: options, or split is none. VBS_NO_MEMORY, VBS_INTERRUPTED. O(bytes of the files);
 * memory is that of the pixels of one part as they are in the files.
 */
enum vbs_status vbs_dataset_open(struct vbs_ctx *ctx, const char *folder, enum vbs_split split,
                                 const struct vbs_data_options *options,
                                 struct vbs_dataset **dataset) VBS_MUST_CHECK;

#define VBS_VALIDATION_SEED 20261122 /* of the order by which validation images are chosen */

/* Frees a data set; null is allowed. */
void vbs_dataset_free(struct vbs_dataset *dataset);

/* Gives what the images are; owned by the data set. */
const struct vbs_data_info *vbs_dataset_info(const struct vbs_dataset *dataset);

/* Gives the name of class k, or null where the folder has no list of classes; owned by the data
 * set.
 */
const char *vbs_dataset_class(const struct vbs_dataset *dataset, int k);

/* Gives the label of image i, 0..n_images - 1. */
int vbs_dataset_label(const struct vbs_dataset *dataset, int i);

#define VBS_DATASET_DIGEST_BYTES 32

/* Computes the SHA-256 hash of the images of this part: their number, shape and type, all labels
 * and all pixels. The names of the classes do not count. O(bytes of the pixels). */
void vbs_dataset_digest(const struct vbs_dataset *dataset,
                        unsigned char digest[VBS_DATASET_DIGEST_BYTES]);

/* ---- normalisation ---- */

/* A mean and a deviation for each channel, in units of pixels (bytes count as 0 to 1). A plain
 * value: copy it freely. */
struct vbs_normalise {
    int n_channels; /* 1..VBS_DATA_MAX_CHANNELS */
    double mean[VBS_DATA_MAX_CHANNELS];
    double deviation[VBS_DATA_MAX_CHANNELS]; /* each above 0 */
};

/*
 * Computes mean and standard deviation of each channel over all images in the training files of
 * folder, those that are set aside for validation too, so that they do not depend on how many these
 * are. Both are rounded to six significant digits, so that vbs_normalise_format writes exactly
 * these. The deviation of a channel whose pixels are all equal is 1. Errors as those of
 * vbs_dataset_open. O(bytes of the training files).
 */
enum vbs_status vbs_normalise_measure(struct vbs_ctx *ctx, const char *folder,
                                      struct vbs_normalise *normalise) VBS_MUST_CHECK;

#define VBS_NORMALISE_SIZE 4096 /* bytes that suffice for the text of any normalisation */

/* Writes a normalisation as "0.286041;0.353024": the means of the channels with commas between
 * them, a semicolon, the deviations with commas between them. Numbers read back exactly. Text is
 * cut where size bytes are too few. Returns buffer. */
char *vbs_normalise_format(const struct vbs_normalise *normalise, char *buffer, size_t size);

/*
 * Reads what vbs_normalise_format writes; two numbers with a comma between them are the mean and
 * the deviation of one channel. what names the text in messages. VBS_FORMAT: it is not such a text,
 * the counts differ, a number is not finite, a deviation is not above 0.
 */
enum vbs_status vbs_normalise_parse(struct vbs_ctx *ctx, const char *what, const char *text,
                                    struct vbs_normalise *normalise) VBS_MUST_CHECK;

/* ---- images as a network takes them ---- */

/*
 * How the images of an epoch are varied. {0} varies nothing. The choices for an image depend on
 * seed, epoch and the image's number in its data set alone, not on the batch it is in. A plain
 * value: copy it freely.
 */
struct vbs_variation {
    uint64_t seed;
    int64_t epoch;
    bool mirror;   /* half of the images are mirrored left to right */
    int max_shift; /* images move by -max_shift..max_shift pixels, each number equally likely, in
                      both directions independently; pixels that come in from outside are 0 before
                      normalisation. At least 0 */
};

/*
 * Writes images as floats [n, C, H, W], row-major. indices: n numbers of images, each
 * 0..n_images - 1; null: 0..n - 1. normalise: of as many channels as the images, or null, which
 * takes pixels as they are. variation: null for none. Mirroring comes before shifting. Each float
 * is the nearest to (pixel - mean) / deviation computed in double precision. Threads: any number of
 * calls may run at once on one data set. O(n C H W).
 */
void vbs_dataset_images(const struct vbs_dataset *dataset, const int *indices, int n,
                        const struct vbs_normalise *normalise,
                        const struct vbs_variation *variation, float *images);

/*
 * Writes a permutation of 0..n - 1 into order, in which all are equally likely as far as the
 * generator goes (splitmix64; Fisher and Yates). It depends on n, seed and epoch alone. The batches
 * of an epoch are consecutive pieces of it. n is at least 0. O(n).
 */
void vbs_data_order(int n, uint64_t seed, int64_t epoch, int *order);

#ifdef __cplusplus
}
#endif
#endif
