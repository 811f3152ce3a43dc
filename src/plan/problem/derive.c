#include "plan/problem/derive.h"

#include "base/fail.h"

/* Adds the rows of stripes of a layer. */
static enum vbs_status derive_stripes(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_derivation *derivation, int layer,
                                      struct vbs_profile_builder *builder)
{
    int n_stripes;
    const struct vbs_profile_stripe *stripes = vbs_profile_stripes(profile, layer, &n_stripes);

    for (int i = 0; i < n_stripes; i++) {
        struct vbs_profile_row row = stripes[i].row;

        if (derivation->stripe(derivation->self, layer, &row))
            VBS_TRY(vbs_profile_builder_row(ctx, builder, layer, stripes[i].batch,
                                            profile->algorithms[row.algorithm], &row));
    }
    return VBS_OK;
}

enum vbs_status vbs_profile_derive(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_derivation *derivation,
                                   struct vbs_profile **derived)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status = builder ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK && derivation->stripe)
        status = vbs_profile_builder_input_rows(ctx, builder, profile->layers[0].rows);
    for (int k = 1; status == VBS_OK && k <= profile->n_layers; k++) {
        struct vbs_profile_layer layer = profile->layers[k];

        if (derivation->layer)
            derivation->layer(derivation->self, k, &layer);
        if (!derivation->stripe) {
            layer.rows = 0;
            layer.reaches = NULL;
        }
        status = vbs_profile_builder_layer(ctx, builder, &layer);
        for (int i = 0; status == VBS_OK && i < derivation->n_batches; i++)
            status = derivation->rows(ctx, derivation->self, builder, k, derivation->batches[i]);
        if (status == VBS_OK && derivation->stripe)
            status = derive_stripes(ctx, profile, derivation, k, builder);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, derived);
    vbs_profile_builder_free(builder);
    return status;
}
