#include "data/reader.h"

#include "base/fail.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct vbs_data_format *const FORMATS[] = {&vbs_format_idx, &vbs_format_cifar,
                                                        &vbs_format_npy};

#define N_FORMATS ((int)(sizeof FORMATS / sizeof FORMATS[0]))

enum vbs_status vbs_data_format_find(struct vbs_ctx *ctx, const char *folder, bool test,
                                     const struct vbs_data_format **format)
{
    const struct vbs_data_format *found = NULL;
    struct stat about;

    if (stat(folder, &about) != 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", folder, strerror(errno));
    if (!S_ISDIR(about.st_mode))
        return vbs_fail(ctx, VBS_IO, "%.300s: no folder; wanted is the folder of a data set",
                        folder);
    for (int i = 0; i < N_FORMATS; i++) {
        if (!FORMATS[i]->is_there(FORMATS[i], folder, false) &&
            !FORMATS[i]->is_there(FORMATS[i], folder, true))
            continue;
        if (found)
            return vbs_fail(ctx, VBS_FORMAT,
                            "%.300s: has data of the formats %s and %s; a folder "
                            "holds one data set",
                            folder, found->name, FORMATS[i]->name);
        found = FORMATS[i];
    }
    if (!found)
        return vbs_fail(ctx, VBS_FORMAT,
                        "%.300s: no data set; known are %s (%s), %s (%s) and %s "
                        "(%s)",
                        folder, FORMATS[0]->name, FORMATS[0]->example, FORMATS[1]->name,
                        FORMATS[1]->example, FORMATS[2]->name, FORMATS[2]->example);
    if (!found->is_there(found, folder, test))
        return vbs_fail(ctx, VBS_FORMAT, "%.300s: has no %s images", folder,
                        test ? "test" : "training");
    *format = found;
    return VBS_OK;
}
