/* Formats with a file of images and a file of labels: the values behind the heads of the files. */
#include "data/reader.h"

#include "base/fail.h"
#include "base/grow.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLASSES     "classes.txt"
#define CHECK_EVERY 1024 /* images between two looks whether the caller asked to stop */
#define LABELS_READ 8192 /* labels that are read at once */

/* ---- labels ---- */

/* Gives a whole number of stored->size bytes; numbers beyond INT64_MAX become INT64_MAX. */
static int64_t number_of(const unsigned char *bytes, const struct vbs_stored *stored)
{
    const uint16_t one = 1;
    bool little = (*(const char *)&one == 1) != stored->swapped;
    uint64_t value = 0;
    int bits = 8 * stored->size;

    for (int i = 0; i < stored->size; i++)
        value = value << 8 | bytes[little ? stored->size - 1 - i : i];
    if (stored->is_signed && value >> (bits - 1))
        return bits == 64 ? (int64_t)value : (int64_t)value - (INT64_C(1) << bits);
    return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* Checks the label of image i against the list of classes. */
static enum vbs_status check_label(struct vbs_data_file *file, int64_t label, int64_t i,
                                   int n_classes)
{
    int limit = n_classes > 0 ? n_classes : VBS_DATA_MAX_CLASSES;

    if (label >= 0 && label < limit)
        return VBS_OK;
    return vbs_fail(
        file->ctx, VBS_FORMAT,
        "%.300s: label %" PRId64 " of image %" PRId64 " (the first is 0) is not within 0 to %d%s",
        file->path, label, i, limit - 1, n_classes > 0 ? ", the classes of " CLASSES : "");
}

/* Reads n labels and keeps them (keep) or only the largest one. */
static enum vbs_status take_labels(struct vbs_data_file *file, int64_t n,
                                   const struct vbs_stored *stored, bool keep,
                                   struct vbs_data_labels *labels)
{
    unsigned char bytes[LABELS_READ * 8];
    int64_t capacity = 0;

    for (int64_t i = 0; i < n; i += LABELS_READ) {
        int64_t count = n - i < LABELS_READ ? n - i : LABELS_READ;

        VBS_TRY(vbs_data_file_read(file, bytes, (size_t)(count * stored->size), "its labels"));
        if (keep)
            VBS_TRY(
                vbs_grow(file->ctx, &labels->labels, &capacity, i + count, sizeof *labels->labels));
        for (int64_t k = 0; k < count; k++) {
            int64_t label = number_of(bytes + k * stored->size, stored);

            VBS_TRY(check_label(file, label, i + k, labels->names ? labels->n_classes : 0));
            if (keep)
                labels->labels[i + k] = (int)label;
            if (label > labels->largest)
                labels->largest = (int)label;
        }
    }
    if (keep)
        labels->n = (int)n;
    return vbs_data_file_end(file);
}

static enum vbs_status read_labels(struct vbs_ctx *ctx, const struct vbs_pair_format *format,
                                   const char *folder, bool test, bool keep,
                                   struct vbs_data_labels *labels)
{
    const char *name = vbs_data_file_find(folder, format->labels[test]);
    struct vbs_stored stored = {0};
    struct vbs_data_file file;
    int64_t n = 0;
    enum vbs_status status;

    if (!name)
        return vbs_fail(ctx, VBS_FORMAT, "%.300s: has %s images without labels; there is no %s",
                        folder, test ? "test" : "training", format->labels[test][0]);
    status = vbs_data_file_open(ctx, folder, name, &file);
    if (status == VBS_OK)
        status = format->labels_head(&file, &n, &stored);
    if (status == VBS_OK && (n < 1 || n > VBS_DATA_MAX_IMAGES))
        status = vbs_fail(ctx, VBS_FORMAT,
                          "%.300s: the file has %" PRId64 " labels; possible are "
                          "1 to %d",
                          file.path, n, VBS_DATA_MAX_IMAGES);
    if (status == VBS_OK)
        status = take_labels(&file, n, &stored, keep, labels);
    vbs_data_file_close(&file);
    return status;
}

/* Reads the labels of one part, and how many classes both parts have. */
static enum vbs_status read_all_labels(struct vbs_ctx *ctx, const struct vbs_pair_format *format,
                                       const char *folder, bool test,
                                       struct vbs_data_labels *labels)
{
    VBS_TRY(vbs_classes_read(ctx, folder, CLASSES, labels));
    VBS_TRY(read_labels(ctx, format, folder, test, true, labels));
    if (vbs_data_file_find(folder, format->labels[!test]))
        VBS_TRY(read_labels(ctx, format, folder, !test, false, labels));
    if (!labels->names)
        labels->n_classes = labels->largest + 1;
    return VBS_OK;
}

/* ---- images ---- */

/* Images that are being read: one as the file has it, one as the receiver gets it. */
struct image_loop {
    struct vbs_data_file *file;
    const struct vbs_images_head *head;
    struct vbs_stored stored;
    unsigned char *raw, *plain;
};

/* Brings the channels of each pixel into planes. */
static void to_planes(const struct image_loop *loop)
{
    size_t size = loop->head->is_float ? sizeof(float) : 1;
    size_t n = (size_t)loop->head->height * (size_t)loop->head->width;
    size_t n_channels = (size_t)loop->head->channels;

    for (size_t c = 0; c < n_channels; c++)
        for (size_t p = 0; p < n; p++)
            memcpy(loop->plain + (c * n + p) * size, loop->raw + (p * n_channels + c) * size, size);
}

/* Brings floats into the order of bytes of this machine, and refuses those that are not finite. */
static enum vbs_status take_floats(const struct image_loop *loop, int i)
{
    size_t n = vbs_image_bytes(loop->head) / sizeof(float);
    float value;
    uint32_t bits;

    for (size_t p = 0; p < n; p++) {
        memcpy(&bits, loop->raw + p * sizeof bits, sizeof bits);
        if (loop->stored.swapped) {
            bits = __builtin_bswap32(bits);
            memcpy(loop->raw + p * sizeof bits, &bits, sizeof bits);
        }
        memcpy(&value, &bits, sizeof value);
        if (!isfinite(value))
            return vbs_fail(loop->file->ctx, VBS_FORMAT,
                            "%.300s: a pixel of image %d (the first "
                            "is 0) is no finite number",
                            loop->file->path, i);
    }
    return VBS_OK;
}

static enum vbs_status take_image(const struct image_loop *loop, int i,
                                  const struct vbs_image_receiver *receiver)
{
    char what[64];

    if (i % CHECK_EVERY == 0)
        VBS_TRY(vbs_check_cancel(loop->file->ctx));
    snprintf(what, sizeof what, "image %d of its %d images", i + 1, loop->head->n_images);
    VBS_TRY(vbs_data_file_read(loop->file, loop->raw, vbs_image_bytes(loop->head), what));
    if (loop->head->is_float)
        VBS_TRY(take_floats(loop, i));
    if (loop->stored.by_pixel)
        to_planes(loop);
    return receiver->take(loop->file->ctx, receiver->self, i,
                          loop->stored.by_pixel ? loop->plain : loop->raw);
}

static enum vbs_status take_images(struct vbs_data_file *file, const struct vbs_images_head *head,
                                   const struct vbs_stored *stored,
                                   const struct vbs_image_receiver *receiver)
{
    struct image_loop loop = {.file = file, .head = head, .stored = *stored};
    enum vbs_status status = VBS_OK;

    loop.raw = malloc(vbs_image_bytes(head));
    loop.plain = stored->by_pixel ? malloc(vbs_image_bytes(head)) : NULL;
    if (!loop.raw || (stored->by_pixel && !loop.plain))
        status = vbs_no_memory(file->ctx);
    for (int i = 0; status == VBS_OK && i < head->n_images; i++)
        status = take_image(&loop, i, receiver);
    if (status == VBS_OK)
        status = vbs_data_file_end(file);
    free(loop.raw);
    free(loop.plain);
    return status;
}

static enum vbs_status read_images(struct vbs_data_file *file, const struct vbs_pair_format *format,
                                   const struct vbs_data_labels *labels,
                                   const struct vbs_image_receiver *receiver)
{
    struct vbs_images_head head;
    struct vbs_stored stored = {0};

    VBS_TRY(format->images_head(file, &head, &stored));
    if (head.n_images != labels->n)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: the file has %d images, but there are %d "
                        "labels",
                        file->path, head.n_images, labels->n);
    VBS_TRY(receiver->begin(file->ctx, receiver->self, &head, labels));
    return take_images(file, &head, &stored, receiver);
}

/* ---- the format ---- */

bool vbs_pair_is_there(const struct vbs_data_format *format, const char *folder, bool test)
{
    return vbs_data_file_find(folder, format->pair->images[test]) != NULL;
}

enum vbs_status vbs_pair_read(struct vbs_ctx *ctx, const struct vbs_data_format *format,
                              const char *folder, bool test,
                              const struct vbs_image_receiver *receiver)
{
    const struct vbs_pair_format *pair = format->pair;
    struct vbs_data_labels labels = {0};
    struct vbs_data_file file = {0};
    enum vbs_status status = read_all_labels(ctx, pair, folder, test, &labels);

    if (status == VBS_OK)
        status =
            vbs_data_file_open(ctx, folder, vbs_data_file_find(folder, pair->images[test]), &file);
    if (status == VBS_OK)
        status = read_images(&file, pair, &labels, receiver);
    vbs_data_file_close(&file);
    vbs_data_labels_clear(&labels);
    return status;
}
