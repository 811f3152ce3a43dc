#include "support/session_profile.h"

#include "base/fail.h"

/* A time that grows with the work and does not depend on the machine. */
static double time_of(const struct vbs_session *session, const struct vbs_kernel *kernel)
{
    const struct vbs_profile_layer *layer = &session->layers[kernel->layer];
    double rows = kernel->rows > 0 ? (double)kernel->rows / layer->rows : 1;

    return 10 + kernel->batch * rows * (double)layer->out_bytes / 1000;
}

/* Adds the layers and the kernels of a session to a profile. */
static enum vbs_status add_session(struct vbs_ctx *ctx, const struct vbs_session *session,
                                   struct vbs_profile_builder *builder)
{
    VBS_TRY(vbs_profile_builder_input_rows(ctx, builder, session->layers[0].rows));
    for (int k = 1; k <= session->n_layers; k++)
        VBS_TRY(vbs_profile_builder_layer(ctx, builder, &session->layers[k]));
    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];
        const struct vbs_profile_row row = {.time_us = time_of(session, kernel),
                                            .ws_bytes = kernel->ws_bytes,
                                            .weight_bytes = kernel->weight_bytes,
                                            .format = kernel->format,
                                            .n_slices = kernel->row_slices,
                                            .rows = kernel->rows};

        VBS_TRY(vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch,
                                        kernel->algorithm, &row));
    }
    return vbs_profile_builder_provenance(ctx, builder, &session->provenance);
}

enum vbs_status session_profile(struct vbs_ctx *ctx, const struct vbs_backend *backend,
                                const struct vbs_network *network, bool stripes,
                                struct vbs_profile **profile)
{
    static const int BATCHES[] = {1, 2};
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = BATCHES,
                                                .n_batches = 2,
                                                .threads = 1,
                                                .stripes = stripes};
    struct vbs_profile_builder *builder;
    struct vbs_session *session = NULL;
    enum vbs_status status;

    VBS_TRY(backend->open(ctx, network, &options, &session));
    builder = vbs_profile_builder_new();
    status = builder ? add_session(ctx, session, builder) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, profile);
    vbs_profile_builder_free(builder);
    session->ops->close(session);
    return status;
}
