/*
 * Readers of the formats of folders of data. A reader hands the images of the training files or of
 * the test files, one after the other, to a receiver, which keeps them (dataset.c) or only adds
 * them up (normalise.c). Internal to the room.
 */
#ifndef VBS_DATA_READER_H
#define VBS_DATA_READER_H

#include "data/file.h"
#include "vbslab/data.h"

/* What a file says of its images. */
struct vbs_images_head {
    int n_images;
    int channels, height, width;
    bool is_float; /* pixels are 32-bit floats of this machine, else bytes */
};

/* The labels of the images of a part, and the names of the classes. */
struct vbs_data_labels {
    int n;
    int *labels; /* [n], each 0..n_classes - 1 */
    int n_classes, largest;
    char *text;   /* the list of classes, a zero behind each name; null: there is none */
    char **names; /* [n_classes] in text, or null */
};

/* Takes what a reader finds. A failure ends the reading and is its result. */
struct vbs_image_receiver {
    void *self;
    /* Called once, before all images; labels live until the reader ends. */
    enum vbs_status (*begin)(struct vbs_ctx *ctx, void *self, const struct vbs_images_head *head,
                             const struct vbs_data_labels *labels);
    /* Takes image i, [C, H, W], which the receiver must not keep; every pixel is
     * finite. */
    enum vbs_status (*take)(struct vbs_ctx *ctx, void *self, int i, const void *pixels);
};

/* Gives the bytes of an image. */
static inline size_t vbs_image_bytes(const struct vbs_images_head *head)
{
    return (size_t)head->channels * (size_t)head->height * (size_t)head->width *
           (head->is_float ? sizeof(float) : 1);
}

/* A format of files. */
struct vbs_data_format {
    const char *name;
    const char *example; /* the name of a file by which a folder of this format is known */
    const struct vbs_pair_format *pair; /* what vbs_pair_is_there and vbs_pair_read need; or null */
    /* Gives whether the folder has files of this format: the training images (test false) or the
     * test images. */
    bool (*is_there)(const struct vbs_data_format *format, const char *folder, bool test);
    /* Hands over the images of one part. */
    enum vbs_status (*read)(struct vbs_ctx *ctx, const struct vbs_data_format *format,
                            const char *folder, bool test,
                            const struct vbs_image_receiver *receiver);
};

extern const struct vbs_data_format vbs_format_idx, vbs_format_cifar, vbs_format_npy;

/* formats.c: finds the format of a folder. VBS_IO: it is no folder; VBS_FORMAT: it has no files of
 * any format, files of several, or not those of this part. */
enum vbs_status vbs_data_format_find(struct vbs_ctx *ctx, const char *folder, bool test,
                                     const struct vbs_data_format **format) VBS_MUST_CHECK;

/* ---- what readers share ---- */

/* Checks what a file says of its images, in the order channels, height, width, and fills *head.
 * VBS_FORMAT: a number is below 1 or above what data.h allows. */
enum vbs_status vbs_images_check(struct vbs_data_file *file, int64_t n_images, const int64_t dim[3],
                                 bool is_float, struct vbs_images_head *head) VBS_MUST_CHECK;

/* Reads the list of classes in folder, one name a line, where there is a file of this name, into
 * *labels, which is {0}. VBS_IO, VBS_FORMAT. The caller calls vbs_data_labels_clear in any case. */
enum vbs_status vbs_classes_read(struct vbs_ctx *ctx, const char *folder, const char *name,
                                 struct vbs_data_labels *labels) VBS_MUST_CHECK;
void vbs_data_labels_clear(struct vbs_data_labels *labels);

/* ---- formats with a file of images and one of labels ---- */

/* How pixels or labels are stored behind the head of a file. */
struct vbs_stored {
    int size;       /* bytes of a whole number: 1, 2, 4 or 8 */
    bool is_signed; /* of whole numbers */
    bool swapped;   /* their order, and that of the bytes of floats, is not this machine's */
    bool by_pixel;  /* images are [H, W, C], not [C, H, W] */
};

/* The files of such a format; [0] are those of the training images, [1] of the test images. */
struct vbs_pair_format {
    const char *const *images[2]; /* names of files, the first that is there counts; null at the
                                     end */
    const char *const *labels[2];
    /* Reads the head of a file of images, up to its pixels. */
    enum vbs_status (*images_head)(struct vbs_data_file *file, struct vbs_images_head *head,
                                   struct vbs_stored *stored);
    /* Reads the head of a file of labels, and gives their number. */
    enum vbs_status (*labels_head)(struct vbs_data_file *file, int64_t *n,
                                   struct vbs_stored *stored);
};

/* The functions of struct vbs_data_format, of a format whose `pair` is set. */
bool vbs_pair_is_there(const struct vbs_data_format *format, const char *folder, bool test);
enum vbs_status vbs_pair_read(struct vbs_ctx *ctx, const struct vbs_data_format *format,
                              const char *folder, bool test,
                              const struct vbs_image_receiver *receiver) VBS_MUST_CHECK;

#endif
