#include "base/fail.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies text into detail with control characters written as \xNN. Bytes of UTF-8 stay, and a
 * character that does not fit whole is left out. */
static void set_detail(struct vbs_ctx *ctx, const char *text)
{
    size_t at = 0;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
        if (*c < 0x20 || *c == 0x7f) {
            if (at + 5 > sizeof ctx->detail)
                break;
            snprintf(ctx->detail + at, 5, "\\x%02x", *c);
            at += 4;
        } else {
            if (at + 2 > sizeof ctx->detail)
                break;
            ctx->detail[at++] = (char)*c;
        }
    }
    while (at == sizeof ctx->detail - 1 && at > 0 && (ctx->detail[at - 1] & 0x80))
        at--;
    ctx->detail[at] = '\0';
}

enum vbs_status vbs_fail(struct vbs_ctx *ctx, enum vbs_status status, const char *format, ...)
{
    char text[2 * VBS_DETAIL_SIZE];
    va_list args;

    if (!ctx)
        return status;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    ctx->status = status;
    set_detail(ctx, text);
    return status;
}

enum vbs_status vbs_no_memory(struct vbs_ctx *ctx)
{
    return vbs_fail(ctx, VBS_NO_MEMORY, "%s", vbs_status_text(VBS_NO_MEMORY));
}

enum vbs_status vbs_fail_within(struct vbs_ctx *ctx, enum vbs_status status, const char *prefix)
{
    char inner[VBS_DETAIL_SIZE];

    if (!ctx)
        return status;
    memcpy(inner, ctx->detail, sizeof inner);
    return vbs_fail(ctx, status, "%s: %s", prefix, inner[0] ? inner : vbs_status_text(status));
}

int vbs_cancelled(const struct vbs_ctx *ctx)
{
    return ctx && ctx->cancel && *ctx->cancel;
}
