/* Pairs of arrays of numpy: images [n, H, W], [n, C, H, W], or [n, H, W, C] where the name of the
 * file says so; labels [n]. */
#include "data/reader.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/npy_header.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const TRAIN_IMAGES[] = {"train-images.npy", "train-images-nhwc.npy", NULL};
static const char *const TRAIN_LABELS[] = {"train-labels.npy", NULL};
static const char *const TEST_IMAGES[] = {"test-images.npy", "test-images-nhwc.npy", NULL};
static const char *const TEST_LABELS[] = {"test-labels.npy", NULL};

static enum vbs_status parse_header(struct vbs_data_file *file, char *text,
                                    struct vbs_npy_header *header)
{
    size_t size, before;

    VBS_TRY(vbs_data_file_some(file, text, VBS_NPY_PREFIX, &before));
    VBS_TRY(vbs_npy_find_values(file->ctx, file->path, text, before, &size));
    if (size > VBS_NPY_MAX_HEADER)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: malformed .npy header: it is longer than 65536 bytes", file->path);
    if (size > before)
        VBS_TRY(vbs_data_file_read(file, text + before, size - before, "its header"));
    VBS_TRY(
        vbs_npy_read_header(file->ctx, file->path, text, size > before ? size : before, header));
    if (header->fortran && header->n_dims > 1)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: is in Fortran order; "
                        "numpy.ascontiguousarray brings it into the other one",
                        file->path);
    return VBS_OK;
}

static enum vbs_status read_header(struct vbs_data_file *file, struct vbs_npy_header *header)
{
    char *text = malloc(VBS_NPY_MAX_HEADER);
    enum vbs_status status = text ? parse_header(file, text, header) : vbs_no_memory(file->ctx);

    free(text);
    return status;
}

/* Gives whether type is one of types after the order of its bytes. */
static bool is_type(const char *type, const char *const *types)
{
    for (; *types; types++)
        if (type[0] && strchr("<>=|", type[0]) && strcmp(type + 1, *types) == 0)
            return true;
    return false;
}

/* Checks that all bytes of the values are there. */
static enum vbs_status measure(struct vbs_data_file *file, const struct vbs_npy_header *header,
                               int64_t n, int64_t bytes_each)
{
    int64_t whole;

    if (!vbs_mul(n, bytes_each, &whole) || !vbs_add(whole, (int64_t)header->n_bytes, &whole))
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: %" PRId64 " images are too many",
                        file->path, n);
    return vbs_data_file_measure(file, whole);
}

static enum vbs_status images_head(struct vbs_data_file *file, struct vbs_images_head *head,
                                   struct vbs_stored *stored)
{
    static const char *const BYTES[] = {"u1", NULL}, *const FLOATS[] = {"f4", NULL};
    struct vbs_npy_header header;
    int64_t dim[3] = {1};
    bool is_float;

    VBS_TRY(read_header(file, &header));
    is_float = is_type(header.type, FLOATS);
    if (!is_float && !is_type(header.type, BYTES))
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: holds values of type '%s'; pixels are "
                        "bytes ('|u1') or 32-bit floats ('<f4')",
                        file->path, header.type);
    stored->by_pixel = strstr(strrchr(file->path, '/'), "-nhwc.npy") != NULL;
    if (header.n_dims != 4 && (header.n_dims != 3 || stored->by_pixel))
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: has %d dimensions; images are %s",
                        file->path, header.n_dims,
                        stored->by_pixel ? "[n, H, W, C] in a file of this name"
                                         : "[n, H, W] or [n, C, H, W]");
    stored->swapped = is_float && vbs_npy_is_swapped(header.type);
    if (header.n_dims == 3)
        memcpy(dim + 1, header.dim + 1, 2 * sizeof *dim);
    else if (stored->by_pixel)
        memcpy(dim, (const int64_t[3]){header.dim[3], header.dim[1], header.dim[2]}, sizeof dim);
    else
        memcpy(dim, header.dim + 1, sizeof dim);
    VBS_TRY(vbs_images_check(file, header.dim[0], dim, is_float, head));
    return measure(file, &header, header.dim[0], (int64_t)vbs_image_bytes(head));
}

static enum vbs_status labels_head(struct vbs_data_file *file, int64_t *n,
                                   struct vbs_stored *stored)
{
    static const char *const WHOLE[] = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", NULL};
    struct vbs_npy_header header;

    VBS_TRY(read_header(file, &header));
    if (!is_type(header.type, WHOLE))
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: holds values of type '%s'; labels are "
                        "whole numbers ('|u1', '<i8' and others)",
                        file->path, header.type);
    if (header.n_dims != 1)
        return vbs_fail(file->ctx, VBS_FORMAT, "%.300s: has %d dimensions; labels are [n]",
                        file->path, header.n_dims);
    *stored = (struct vbs_stored){.size = header.type[2] - '0',
                                  .is_signed = header.type[1] == 'i',
                                  .swapped = vbs_npy_is_swapped(header.type)};
    *n = header.dim[0];
    return measure(file, &header, *n, stored->size);
}

static const struct vbs_pair_format PAIR = {
    .images = {TRAIN_IMAGES, TEST_IMAGES},
    .labels = {TRAIN_LABELS, TEST_LABELS},
    .images_head = images_head,
    .labels_head = labels_head,
};

const struct vbs_data_format vbs_format_npy = {
    .name = "npy",
    .example = "train-images.npy",
    .pair = &PAIR,
    .is_there = vbs_pair_is_there,
    .read = vbs_pair_read,
};
