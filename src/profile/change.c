/* Profiles made of a profile: with another calibration (how much copies and layers slow each other
 * down, and the speed of the machine), or with other rows. */
#include "profile/builder.h"

#include "base/fail.h"

void vbs_profile_calibration(const struct vbs_profile *profile, struct vbs_calibration *made)
{
    *made = (struct vbs_calibration){.speed = profile->speed};
    for (int i = 0; i < profile->n_copies; i++)
        if (profile->copies[i].link.beside)
            made->sources[made->n_sources++] = (struct vbs_calibrated_source){
                profile->copies[i].source, profile->copies[i].link.beside};
}

enum vbs_status vbs_profile_each_row(const struct vbs_profile *profile, int layer,
                                     vbs_profile_row_visit *visit, void *self)
{
    const struct vbs_profile_stripe *stripes;
    int n;

    for (int b = 0; b < profile->n_batches; b++) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, b, &n);

        for (int i = 0; i < n; i++)
            VBS_TRY(visit(self, layer, profile->batches[b], &rows[i]));
    }
    stripes = vbs_profile_stripes(profile, layer, &n);
    for (int i = 0; i < n; i++)
        VBS_TRY(visit(self, layer, stripes[i].batch, &stripes[i].row));
    return VBS_OK;
}

/* A builder that gets the rows of a profile, or others in their places. */
struct row_copying {
    struct vbs_ctx *ctx;
    struct vbs_profile_builder *builder;
    const struct vbs_profile *profile;
    const struct vbs_profile_row *changed; /* the next one; null: those of the profile */
};

static enum vbs_status add_row(void *self, int layer, int batch, const struct vbs_profile_row *row)
{
    struct row_copying *c = self;

    return vbs_profile_builder_row(c->ctx, c->builder, layer, batch,
                                   c->profile->algorithms[row->algorithm],
                                   c->changed ? c->changed++ : row);
}

/* Adds everything of a profile but its provenance and calibration. */
static enum vbs_status add_profile(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                   const struct vbs_profile *profile,
                                   const struct vbs_profile_row *changed)
{
    struct row_copying copying = {ctx, builder, profile, changed};

    VBS_TRY(vbs_profile_builder_input_rows(ctx, builder, profile->layers[0].rows));
    for (int layer = 1; layer <= profile->n_layers; layer++) {
        VBS_TRY(vbs_profile_builder_layer(ctx, builder, &profile->layers[layer]));
        VBS_TRY(vbs_profile_each_row(profile, layer, add_row, &copying));
    }
    for (int i = 0; i < profile->n_copies; i++)
        for (int j = 0; j < profile->copies[i].n_rows; j++)
            VBS_TRY(vbs_profile_builder_copy(ctx, builder, profile->copies[i].source,
                                             &profile->copies[i].rows[j]));
    return VBS_OK;
}

static enum vbs_status add_calibration(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                       const struct vbs_profile *profile,
                                       const struct vbs_calibration *calibration)
{
    for (int i = 0; i < calibration->n_sources; i++) {
        const struct vbs_calibrated_source *from = &calibration->sources[i];

        if (!vbs_profile_copy(profile, from->source))
            continue;
        for (int layer = 0; layer <= profile->n_layers; layer++)
            VBS_TRY(
                vbs_profile_builder_beside(ctx, builder, from->source, layer, from->beside[layer]));
    }
    return vbs_profile_builder_speed(ctx, builder, &calibration->speed);
}

/* Makes a copy of a profile with other rows, where they are not null, and with this provenance and
 * calibration. */
static enum vbs_status make_copy(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 const struct vbs_profile_row *changed,
                                 const struct vbs_provenance *provenance,
                                 const struct vbs_calibration *calibration,
                                 struct vbs_profile **made)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status = builder ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        status = add_profile(ctx, builder, profile, changed);
    if (status == VBS_OK)
        status = vbs_profile_builder_provenance(ctx, builder, provenance);
    if (status == VBS_OK)
        status = add_calibration(ctx, builder, profile, calibration);
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, made);
    vbs_profile_builder_free(builder);
    return status;
}

enum vbs_status vbs_profile_calibrate(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_calibration *calibration,
                                      struct vbs_profile **calibrated)
{
    return make_copy(ctx, profile, NULL, &profile->provenance, calibration, calibrated);
}

enum vbs_status vbs_profile_change(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   const struct vbs_profile_row *rows,
                                   const struct vbs_provenance *provenance,
                                   struct vbs_profile **changed)
{
    struct vbs_calibration calibration;

    vbs_profile_calibration(profile, &calibration);
    return make_copy(ctx, profile, rows, provenance, &calibration, changed);
}
