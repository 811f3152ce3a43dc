/* The binary format of CIFAR-10: five files of training images and one of test images. A record is
 * a label and an image, [3, 32, 32] bytes; nothing else is in a file. */
#include "data/reader.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define N_TRAINING 5
#define N_CLASSES  10
#define SIDE       32
#define CHANNELS   3
#define PIXELS     (CHANNELS * SIDE * SIDE)
#define RECORD     (1 + PIXELS)
#define NAMES      "batches.meta.txt"

/* The files of a part while they are read. */
struct batches {
    int n;
    struct vbs_data_file files[N_TRAINING];
    int n_images[N_TRAINING];
};

static void name_of(bool test, int k, char name[32])
{
    if (test)
        snprintf(name, 32, "test_batch.bin");
    else
        snprintf(name, 32, "data_batch_%d.bin", k + 1);
}

static bool is_there(const struct vbs_data_format *format, const char *folder, bool test)
{
    char name[32];
    const char *const names[] = {name, NULL};

    (void)format;
    name_of(test, 0, name);
    return vbs_data_file_find(folder, names) != NULL;
}

/* Opens all files and counts their records by their sizes. */
static enum vbs_status open_batches(struct vbs_ctx *ctx, const char *folder, bool test,
                                    struct batches *batches, int64_t *n_images)
{
    char name[32];
    const char *const names[] = {name, NULL};

    batches->n = test ? 1 : N_TRAINING;
    for (int k = 0; k < batches->n; k++) {
        struct vbs_data_file *file = &batches->files[k];

        name_of(test, k, name);
        if (!vbs_data_file_find(folder, names))
            return vbs_fail(ctx, VBS_FORMAT, "%.300s: has no %s", folder, name);
        VBS_TRY(vbs_data_file_open(ctx, folder, name, file));
        if (!gzdirect(file->gz))
            return vbs_fail(ctx, VBS_FORMAT,
                            "%.300s: is compressed, and does not say how many "
                            "images it has; gunzip it",
                            file->path);
        if (file->n_bytes == 0 || file->n_bytes % RECORD != 0)
            return vbs_fail(ctx, VBS_FORMAT,
                            "%.300s: has %" PRId64 " bytes, which is no multiple "
                            "of the %d bytes of an image with its label",
                            file->path, file->n_bytes, RECORD);
        *n_images += file->n_bytes / RECORD;
        if (*n_images > VBS_DATA_MAX_IMAGES)
            return vbs_fail(ctx, VBS_FORMAT, "%.300s: too many images", file->path);
        batches->n_images[k] = (int)(file->n_bytes / RECORD);
    }
    return VBS_OK;
}

/* Reads the labels of all images, which the receiver gets before the images. */
static enum vbs_status read_labels(struct vbs_data_file *file, int n,
                                   struct vbs_data_labels *labels)
{
    unsigned char record[RECORD];

    for (int i = 0; i < n; i++) {
        VBS_TRY(vbs_data_file_read(file, record, sizeof record, "an image"));
        if (record[0] >= labels->n_classes)
            return vbs_fail(file->ctx, VBS_FORMAT,
                            "%.300s: label %d of image %d (the first is 0) "
                            "is not within 0 to %d",
                            file->path, record[0], i, labels->n_classes - 1);
        if (record[0] > labels->largest)
            labels->largest = record[0];
        labels->labels[labels->n++] = record[0];
    }
    VBS_TRY(vbs_data_file_end(file));
    if (gzrewind(file->gz) != 0)
        return vbs_fail(file->ctx, VBS_IO, "cannot read '%.300s' again", file->path);
    return vbs_check_cancel(file->ctx);
}

static enum vbs_status read_all_labels(struct vbs_ctx *ctx, const char *folder,
                                       struct batches *batches, int64_t n_images,
                                       struct vbs_data_labels *labels)
{
    VBS_TRY(vbs_classes_read(ctx, folder, NAMES, labels));
    if (!labels->names)
        labels->n_classes = N_CLASSES;
    labels->labels = malloc((size_t)n_images * sizeof *labels->labels);
    if (!labels->labels)
        return vbs_no_memory(ctx);
    for (int k = 0; k < batches->n; k++)
        VBS_TRY(read_labels(&batches->files[k], batches->n_images[k], labels));
    return VBS_OK;
}

static enum vbs_status read_images(struct vbs_ctx *ctx, struct batches *batches,
                                   const struct vbs_data_labels *labels,
                                   const struct vbs_image_receiver *receiver)
{
    struct vbs_images_head head = {
        .n_images = labels->n, .channels = CHANNELS, .height = SIDE, .width = SIDE};
    unsigned char record[RECORD];
    int i = 0;

    VBS_TRY(receiver->begin(ctx, receiver->self, &head, labels));
    for (int k = 0; k < batches->n; k++) {
        for (int n = 0; n < batches->n_images[k]; n++) {
            VBS_TRY(vbs_data_file_read(&batches->files[k], record, sizeof record, "an image"));
            VBS_TRY(receiver->take(ctx, receiver->self, i++, record + 1));
        }
        VBS_TRY(vbs_check_cancel(ctx));
    }
    return VBS_OK;
}

static enum vbs_status read_part(struct vbs_ctx *ctx, const struct vbs_data_format *format,
                                 const char *folder, bool test,
                                 const struct vbs_image_receiver *receiver)
{
    struct vbs_data_labels labels = {0};
    struct batches *batches = calloc(1, sizeof *batches);
    int64_t n_images = 0;
    enum vbs_status status;

    (void)format;
    if (!batches)
        return vbs_no_memory(ctx);
    status = open_batches(ctx, folder, test, batches, &n_images);
    if (status == VBS_OK)
        status = read_all_labels(ctx, folder, batches, n_images, &labels);
    if (status == VBS_OK)
        status = read_images(ctx, batches, &labels, receiver);
    for (int k = 0; k < batches->n; k++)
        vbs_data_file_close(&batches->files[k]);
    vbs_data_labels_clear(&labels);
    free(batches);
    return status;
}

const struct vbs_data_format vbs_format_cifar = {
    .name = "cifar-10",
    .example = "data_batch_1.bin",
    .is_there = is_there,
    .read = read_part,
};
