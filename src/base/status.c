#include "base/ctx.h"

#include <stdlib.h>

static const struct {
    int exit_code;
    const char *text;
} STATUS[VBS_N_STATUS] = {
#define ENTRY(name, code, message) [VBS_##name] = {code, message},
    VBS_STATUS_LIST(ENTRY)
#undef ENTRY
};

const char *vbs_status_text(enum vbs_status status)
{
    return (unsigned)status < VBS_N_STATUS ? STATUS[status].text : "unknown status";
}

int vbs_status_exit_code(enum vbs_status status)
{
    return (unsigned)status < VBS_N_STATUS ? STATUS[status].exit_code : 1;
}

struct vbs_ctx *vbs_ctx_new(void)
{
    return calloc(1, sizeof(struct vbs_ctx));
}

void vbs_ctx_free(struct vbs_ctx *ctx)
{
    free(ctx);
}

void vbs_ctx_set_cancel(struct vbs_ctx *ctx, const volatile sig_atomic_t *cancel)
{
    if (ctx)
        ctx->cancel = cancel;
}

enum vbs_status vbs_ctx_status(const struct vbs_ctx *ctx)
{
    return ctx ? ctx->status : VBS_OK;
}

const char *vbs_detail(const struct vbs_ctx *ctx)
{
    if (!ctx)
        return "no context was given to explain the failure";
    return ctx->detail[0] ? ctx->detail : vbs_status_text(ctx->status);
}

const char *vbs_version(void)
{
    return VBS_VERSION_STRING;
}
