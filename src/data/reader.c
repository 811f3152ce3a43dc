#include "data/reader.h"

#include "base/fail.h"

#include <inttypes.h>

enum vbs_status vbs_images_check(struct vbs_data_file *file, int64_t n_images, const int64_t dim[3],
                                 bool is_float, struct vbs_images_head *head)
{
    if (n_images < 1 || n_images > VBS_DATA_MAX_IMAGES)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: the file has %" PRId64 " images; possible "
                        "are 1 to %d",
                        file->path, n_images, VBS_DATA_MAX_IMAGES);
    if (dim[0] < 1 || dim[0] > VBS_DATA_MAX_CHANNELS)
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: the images have %" PRId64 " channels; "
                        "possible are 1 to %d",
                        file->path, dim[0], VBS_DATA_MAX_CHANNELS);
    if (dim[1] < 1 || dim[2] < 1 || dim[1] > VBS_DATA_MAX_PIXELS || dim[2] > VBS_DATA_MAX_PIXELS ||
        dim[0] * dim[1] > VBS_DATA_MAX_PIXELS / dim[2])
        return vbs_fail(file->ctx, VBS_FORMAT,
                        "%.300s: the images have %" PRId64 "x%" PRId64 "x%" PRId64
                        " pixels; possible are 1 to %d",
                        file->path, dim[0], dim[1], dim[2], VBS_DATA_MAX_PIXELS);
    *head = (struct vbs_images_head){.n_images = (int)n_images,
                                     .channels = (int)dim[0],
                                     .height = (int)dim[1],
                                     .width = (int)dim[2],
                                     .is_float = is_float};
    return VBS_OK;
}
