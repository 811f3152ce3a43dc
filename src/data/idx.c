/* The format of MNIST: a magic number, the sizes of the dimensions, the values; all numbers are
 * big-endian, and values are bytes. */
#include "data/reader.h"

#include "base/fail.h"

#include <inttypes.h>

#define BYTES_1 0x0801 /* type "unsigned byte", dimensions */

static const char *const TRAIN_IMAGES[] = {"train-images-idx3-ubyte", "train-images.idx3-ubyte",
                                           "train-images-idx4-ubyte", NULL};
static const char *const TRAIN_LABELS[] = {"train-labels-idx1-ubyte", "train-labels.idx1-ubyte",
                                           NULL};
static const char *const TEST_IMAGES[] = {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte",
                                          "test-images-idx3-ubyte", "test-images-idx4-ubyte", NULL};
static const char *const TEST_LABELS[] = {"t10k-labels-idx1-ubyte", "t10k-labels.idx1-ubyte",
                                          "test-labels-idx1-ubyte", NULL};

static int64_t number_at(const unsigned char *bytes)
{
    return (int64_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
}

static enum vbs_status read_number(struct vbs_data_file *file, int64_t *number)
{
    unsigned char bytes[4];

    VBS_TRY(vbs_data_file_read(file, bytes, sizeof bytes, "its header"));
    *number = number_at(bytes);
    return VBS_OK;
}

/* Reads the magic number of a file of low..high dimensions, and the first of these. */
static enum vbs_status read_magic(struct vbs_data_file *file, int low, int high, int *n_dims,
                                  int64_t *n)
{
    int64_t magic;

    VBS_TRY(read_number(file, &magic));
    if (magic < BYTES_1 - 1 + low || magic > BYTES_1 - 1 + high)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: begins with %08" PRIx64 "; an IDX file of "
                        "%s begins with %08x",
                        file->path, (uint64_t)magic, low == 1 ? "labels" : "images",
                        (unsigned)(BYTES_1 - 1 + low));
    *n_dims = (int)(magic - BYTES_1 + 1);
    return read_number(file, n);
}

static enum vbs_status images_head(struct vbs_data_file *file, struct vbs_images_head *head,
                                   struct vbs_stored *stored)
{
    int64_t n, dim[3] = {1, 0, 0};
    int n_dims = 0;

    (void)stored; /* bytes, one channel after the other */
    VBS_TRY(read_magic(file, 3, 4, &n_dims, &n));
    for (int d = 4 - n_dims; d < 3; d++)
        VBS_TRY(read_number(file, &dim[d]));
    VBS_TRY(vbs_images_check(file, n, dim, false, head));
    return vbs_data_file_measure(file, 4 * (n_dims + 1) + n * (int64_t)vbs_image_bytes(head));
}

static enum vbs_status labels_head(struct vbs_data_file *file, int64_t *n,
                                   struct vbs_stored *stored)
{
    int n_dims = 0;

    VBS_TRY(read_magic(file, 1, 1, &n_dims, n));
    *stored = (struct vbs_stored){.size = 1};
    return vbs_data_file_measure(file, 8 + *n);
}

static const struct vbs_pair_format PAIR = {
    .images = {TRAIN_IMAGES, TEST_IMAGES},
    .labels = {TRAIN_LABELS, TEST_LABELS},
    .images_head = images_head,
    .labels_head = labels_head,
};

const struct vbs_data_format vbs_format_idx = {
    .name = "idx",
    .example = "train-images-idx3-ubyte",
    .pair = &PAIR,
    .is_there = vbs_pair_is_there,
    .read = vbs_pair_read,
};
