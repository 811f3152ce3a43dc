#include "vbslab/status.h"

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

const char *vbs_detail(const struct vbs_ctx *ctx)
{
    if (!ctx)
        return "no context was given to explain the failure";
    return ctx->detail[0] ? ctx->detail : vbs_status_text(ctx->status);
}

const char *vbs_version(void)
{
    return "0.1.0";
}
