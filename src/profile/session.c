#include "profile/session.h"

#include "base/fail.h"

struct vbs_profile_row vbs_session_row(const struct vbs_kernel *kernel)
{
    return (struct vbs_profile_row){.ws_bytes = kernel->ws_bytes,
                                    .weight_bytes = kernel->weight_bytes,
                                    .format = kernel->format,
                                    .n_slices = kernel->row_slices,
                                    .rows = kernel->rows};
}

enum vbs_status vbs_session_build_layers(struct vbs_ctx *ctx, const struct vbs_session *session,
                                         struct vbs_profile_builder *builder)
{
    VBS_TRY(vbs_profile_builder_input_rows(ctx, builder, session->layers[0].rows));
    for (int k = 1; k <= session->n_layers; k++)
        VBS_TRY(vbs_profile_builder_layer(ctx, builder, &session->layers[k]));
    return VBS_OK;
}
