/* How much copies and layers slow each other down, and the speed of the machine. */
#include "profile/builder.h"

#include "base/fail.h"

#include <math.h>

enum vbs_status vbs_profile_builder_beside(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                           const char *source, int layer, double factor)
{
    struct builder_copy *copy = NULL;

    VBS_TRY(vbs_builder_check_source(ctx, builder, source));
    if (layer < 0 || layer > VBS_MAX_LAYERS)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "a factor beside copies is of layer %d, which cannot be", layer);
    if (!(factor >= 1 && factor <= VBS_MAX_BESIDE))
        return vbs_builder_fail(ctx, builder, builder->line,
                                "a factor beside copies is %g, not from 1 to %g", factor,
                                VBS_MAX_BESIDE);
    VBS_TRY(vbs_builder_copies_of(ctx, builder, source, &copy));
    if (!copy->beside)
        copy->beside = vbs_arena_alloc(&builder->arena, VBS_MAX_LAYERS + 1, sizeof *copy->beside);
    if (!copy->beside)
        return vbs_no_memory(ctx);
    if (copy->beside[layer] > 0)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "the factor of layer %d beside copies from '%.40s' is there twice",
                                layer, source);
    copy->beside[layer] = factor;
    copy->n_beside++;
    return VBS_OK;
}

enum vbs_status vbs_builder_check_beside(struct vbs_ctx *ctx,
                                         const struct vbs_profile_builder *builder)
{
    for (int i = 0; i < builder->n_copies; i++) {
        const struct builder_copy *copy = &builder->copies[i];

        if (copy->n_rows == 0)
            return vbs_builder_fail(
                ctx, builder, 0, "there are factors beside copies from '%.40s', but no such copies",
                copy->source);
        if (copy->n_beside == 0)
            continue;
        for (int layer = 0; layer <= builder->n_layers; layer++)
            if (copy->beside[layer] == 0)
                return vbs_builder_fail(ctx, builder, 0,
                                        "layer %d has no factor beside copies from '%.40s'", layer,
                                        copy->source);
        if (copy->n_beside != builder->n_layers + 1)
            return vbs_builder_fail(ctx, builder, 0,
                                    "there are %d factors beside copies from '%.40s', not one more "
                                    "than the %d layers",
                                    copy->n_beside, copy->source, builder->n_layers);
    }
    return VBS_OK;
}

enum vbs_status vbs_profile_builder_speed(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                          const struct vbs_speed *speed)
{
    const double values[] = {speed->flops_per_us, speed->cache_bytes_per_us,
                             speed->memory_bytes_per_us};
    int n_known = 0;

    for (int i = 0; i < 3; i++) {
        if (!(values[i] >= 0 && isfinite(values[i])))
            return vbs_builder_fail(ctx, builder, builder->line,
                                    "the machine's speed is %g per us, which cannot be", values[i]);
        n_known += values[i] > 0;
    }
    if (n_known != 0 && n_known != 3)
        return vbs_builder_fail(ctx, builder, builder->line,
                                "of the three speeds of the machine some are 0");
    builder->speed = *speed;
    return VBS_OK;
}
