/*
 * The reader of folders of images.
 */
#include "fuzz/reading.h"

#include "vbslab/data.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DATA_PIECES 3 /* files of a data set: classes, labels, images */

/* The files of a format, in the order in which the input has them. */
static const char *const DATA_FILES[][DATA_PIECES] = {
    {"classes.txt", "train-labels-idx1-ubyte", "train-images-idx3-ubyte"},
    {"classes.txt", "train-labels.npy", "train-images.npy"},
    {"classes.txt", "train-labels.npy", "train-images-nhwc.npy"},
    {"batches.meta.txt", "", "data_batch_1.bin"},
};

static void data_path(const char *folder, const char *name, const char *end, char path[96])
{
    snprintf(path, 96, "%s/%s%s", folder, name, end);
}

static bool put_data(const char *folder, const char *name, const char *end, const char *bytes,
                     size_t n)
{
    char path[96];
    FILE *file;
    bool put;

    data_path(folder, name, end, path);
    file = fopen(path, "wb");
    put = file && (n == 0 || fwrite(bytes, 1, n, file) == n);
    if (file && fclose(file) != 0)
        put = false;
    return put;
}

/* Writes the files of a data set: classes, labels, images, each but the last behind two bytes of
 * its length. A file without bytes is left out. The five files of CIFAR-10 are the same. */
static bool put_pieces(const char *folder, int format, const char *end, const char *text,
                       size_t length)
{
    for (int i = 0; i < DATA_PIECES; i++) {
        size_t n = length;

        if (i + 1 < DATA_PIECES) {
            if (length < 2)
                return false;
            n = (unsigned char)text[0] | (size_t)(unsigned char)text[1] << 8;
            text += 2;
            length -= 2;
            n = n < length ? n : length;
        }
        if (n > 0 && DATA_FILES[format][i][0] &&
            !put_data(folder, DATA_FILES[format][i], i == 0 ? "" : end, text, n))
            return false;
        for (int k = 2; format == 3 && i == 2 && k <= 5; k++) {
            char name[32];

            snprintf(name, sizeof name, "data_batch_%d.bin", k);
            if (!put_data(folder, name, "", text, n))
                return false;
        }
        text += n;
        length -= n;
    }
    return true;
}

static void remove_data(const char *folder, int format, const char *end)
{
    char path[96], name[32];

    for (int i = 0; i < DATA_PIECES; i++) {
        data_path(folder, DATA_FILES[format][i], i == 0 ? "" : end, path);
        unlink(path);
    }
    for (int k = 2; format == 3 && k <= 5; k++) {
        snprintf(name, sizeof name, "data_batch_%d.bin", k);
        data_path(folder, name, "", path);
        unlink(path);
    }
    rmdir(folder);
}

/* Reads labels, names and the last image of a data set, varied. */
static const char *use_dataset(const struct vbs_dataset *dataset)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    struct vbs_variation variation = {.seed = 1, .mirror = true, .max_shift = 3};
    int64_t n = (int64_t)info->channels * info->height * info->width;
    int last = info->n_images - 1;
    float *image;

    if (info->n_images < 1 || n < 1 || n > VBS_DATA_MAX_PIXELS || info->n_classes < 1 ||
        info->largest_label >= info->n_classes)
        return "a data set has images, pixels and classes";
    for (int i = 0; i < info->n_images; i++)
        if (vbs_dataset_label(dataset, i) < 0 || vbs_dataset_label(dataset, i) >= info->n_classes)
            return "labels are classes";
    for (int k = 0; vbs_dataset_class(dataset, 0) && k < info->n_classes; k++)
        if (vbs_dataset_class(dataset, k)[0] == '\0')
            return "classes that have names have all of them";
    image = malloc((size_t)n * sizeof *image);
    if (!image)
        return NULL;
    vbs_dataset_images(dataset, &last, 1, NULL, &variation, image);
    for (int64_t p = 0; p < n; p++)
        if (!isfinite(image[p])) {
            free(image);
            return "pixels are finite";
        }
    free(image);
    return NULL;
}

static const char *read_split(const char *folder, enum vbs_split split, enum vbs_status *status)
{
    struct vbs_dataset *dataset;
    struct vbs_ctx ctx = {0};
    const char *broken;

    *status = vbs_dataset_open(&ctx, folder, split, NULL, &dataset);
    if (*status != VBS_OK)
        return fuzz_failed_well(&ctx, *status);
    broken = use_dataset(dataset);
    vbs_dataset_free(dataset);
    return broken;
}

static const char *read_folder(const char *folder)
{
    struct vbs_normalise normalise, again;
    struct vbs_ctx ctx = {0};
    enum vbs_status status, other, measured;
    char text[VBS_NORMALISE_SIZE];
    const char *broken = read_split(folder, VBS_SPLIT_TRAIN, &status);

    if (!broken)
        broken = read_split(folder, VBS_SPLIT_VALIDATION, &other);
    if (broken)
        return broken;
    if (other == VBS_OK && status != VBS_OK)
        return "where images can be set aside, there are others";
    measured = vbs_normalise_measure(&ctx, folder, &normalise);
    if (measured != status)
        return "images that can be read have a mean, and no others";
    if (measured == VBS_OK &&
        vbs_normalise_parse(&ctx, "file", vbs_normalise_format(&normalise, text, sizeof text),
                            &again) != VBS_OK)
        return "a mean and a deviation that are written can be read";
    return NULL;
}

const char *fuzz_read_data(const char *text, size_t length)
{
    char folder[] = "/dev/shm/fuzz_data.XXXXXX";
    const char *broken = NULL, *end;
    int format;

    if (length < 1 || !mkdtemp(folder))
        return NULL;
    format = text[0] & 3;
    end = text[0] & 4 && format < 3 ? ".gz" : "";
    if (put_pieces(folder, format, end, text + 1, length - 1))
        broken = read_folder(folder);
    remove_data(folder, format, end);
    return broken;
}
