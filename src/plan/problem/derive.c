#include "plan/problem/derive.h"

#include "base/fail.h"

enum vbs_status vbs_profile_derive(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_derivation *derivation,
                                   struct vbs_profile **derived)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status = builder ? VBS_OK : vbs_no_memory(ctx);

    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++) {
        struct vbs_profile_layer layer = profile->layers[k];

        if (derivation->layer)
            derivation->layer(derivation->self, &layer);
        status = vbs_profile_builder_layer(ctx, builder, &layer);
        for (int i = 0; status == VBS_OK && i < derivation->n_batches; i++)
            status = derivation->rows(ctx, derivation->self, builder, k, derivation->batches[i]);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, derived);
    vbs_profile_builder_free(builder);
    return status;
}
