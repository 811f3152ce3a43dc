#include "base/options.h"

#include "base/fail.h"

#include <string.h>

enum vbs_status vbs_options_read(struct vbs_ctx *ctx, const char *what, const void *given,
                                 void *own, size_t own_size)
{
    const unsigned char *bytes = given;
    size_t size = own_size;

    memset(own, 0, own_size);
    if (!given)
        return VBS_OK;
    memcpy(&size, given, sizeof size);
    if (size < sizeof size)
        return vbs_fail(ctx, VBS_USAGE, "struct %s: struct_size is not set", what);
    for (size_t i = own_size; i < size; i++)
        if (bytes[i] != 0)
            return vbs_fail(ctx, VBS_USAGE,
                            "struct %s: has an option that version %s does not know", what,
                            vbs_version());
    memcpy(own, given, size < own_size ? size : own_size);
    return VBS_OK;
}
