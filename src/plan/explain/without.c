/*
 * Profiles without some of their data, and the choice of the planners that a report compares.
 */
#include "plan/explain/internal.h"

#include "base/fail.h"

bool vbs_explain_asks(const struct vbs_opened_planner *opened, const struct vbs_planner *planner,
                      bool timed)
{
    int64_t request = opened->task->request;
    int64_t effort = opened->task->n_layers * request * request;

    return planner != opened->planner && !planner->searches_long && !planner->transfers &&
           !planner->estimates && effort <= (timed ? VBS_EXPLAIN_EFFORT / 40 : VBS_EXPLAIN_EFFORT);
}

/* A profile, and the data that its copy lacks. */
struct reduction {
    const struct vbs_profile *profile;
    const struct vbs_without *without;
};

static void reduce_layer(void *self, int k, struct vbs_profile_layer *layer)
{
    const struct reduction *reduction = self;

    (void)k;
    if (reduction->without->bytes)
        layer->in_bytes = layer->out_bytes = 0;
}

static bool reduce_stripe(void *self, int layer, struct vbs_profile_row *row)
{
    const struct reduction *reduction = self;
    const struct vbs_without *without = reduction->without;
    bool no_ws = without->bytes || without->ws_of_layer == layer;

    *row = (struct vbs_profile_row){.algorithm = row->algorithm,
                                    .time_us = without->times ? 0 : row->time_us,
                                    .ws_bytes = no_ws ? 0 : row->ws_bytes,
                                    .n_slices = 1,
                                    .rows = row->rows};
    return true;
}

static enum vbs_status reduced_rows(struct vbs_ctx *ctx, void *self,
                                    struct vbs_profile_builder *builder, int layer, int batch)
{
    const struct reduction *reduction = self;
    const struct vbs_profile *profile = reduction->profile;
    const struct vbs_without *without = reduction->without;
    bool no_ws = without->bytes || without->ws_of_layer == layer;
    int n_rows;
    const struct vbs_profile_row *rows =
        vbs_profile_rows(profile, layer, vbs_profile_batch_index(profile, batch), &n_rows);

    for (int a = 0; a < n_rows; a++) {
        struct vbs_profile_row row = {.time_us = without->times ? 0 : rows[a].time_us,
                                      .ws_bytes = no_ws ? 0 : rows[a].ws_bytes};

        VBS_TRY(vbs_profile_builder_row(ctx, builder, layer, batch,
                                        profile->algorithms[rows[a].algorithm], &row));
    }
    return VBS_OK;
}

enum vbs_status vbs_profile_without(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_without *without, struct vbs_profile **copy)
{
    struct reduction reduction = {profile, without};
    struct vbs_derivation derivation = {.self = &reduction,
                                        .layer = reduce_layer,
                                        .rows = reduced_rows,
                                        .stripe = reduce_stripe,
                                        .n_batches = profile->n_batches,
                                        .batches = profile->batches};

    return vbs_profile_derive(ctx, profile, &derivation, copy);
}
