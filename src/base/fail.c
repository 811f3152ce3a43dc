#include "base/fail.h"

#include "base/clock.h"
#include "base/ctx.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Copies text into detail with control characters made visible; a character that does not fit whole
 * is left out. */
static void set_detail(struct vbs_ctx *ctx, const char *text)
{
    char shown[VBS_UTF8_SHOWN];
    size_t at = 0;

    while (*text) {
        int length = vbs_utf8_show(text, shown);

        if (at + strlen(shown) >= sizeof ctx->detail)
            break;
        strcpy(ctx->detail + at, shown);
        at += strlen(shown);
        text += length;
    }
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

enum vbs_status vbs_vfail_at(struct vbs_ctx *ctx, enum vbs_status status, const char *place,
                             const char *format, va_list args)
{
    char text[VBS_DETAIL_SIZE];

    vsnprintf(text, sizeof text, format, args);
    return vbs_fail(ctx, status, "%s: %s", place, text);
}

enum vbs_status vbs_fail_at(struct vbs_ctx *ctx, enum vbs_status status, const char *place,
                            const char *format, ...)
{
    va_list args;

    va_start(args, format);
    status = vbs_vfail_at(ctx, status, place, format, args);
    va_end(args);
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
    return ctx && ((ctx->cancel && *ctx->cancel) ||
                   (ctx->deadline_s > 0 && vbs_clock_s() > ctx->deadline_s));
}

bool vbs_out_of_time(const struct vbs_ctx *ctx)
{
    return ctx && ctx->deadline_s > 0 && !(ctx->cancel && *ctx->cancel) && vbs_cancelled(ctx);
}

enum vbs_status vbs_check_cancel(struct vbs_ctx *ctx)
{
    return vbs_cancelled(ctx) ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted") : VBS_OK;
}
