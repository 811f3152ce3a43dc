/* Placing a schedule: from its check to offsets that are found once, for vbs_exec_place and for
 * vbs_exec_new. */
#include "exec/placed.h"

#include "base/fail.h"
#include "base/options.h"
#include "exec/layout/layout.h"
#include "exec/weights/weights.h"
#include "vbslab/backend.h"

#include <stdlib.h>

#define PLACE_S   10
#define ALIGNMENT 64 /* of weights that are not read directly */

int64_t vbs_exec_arena_bytes(const struct vbs_exec_options *options,
                             const struct vbs_schedule *schedule)
{
    return options->memory_bytes > 0 ? options->memory_bytes : schedule->memory_bytes;
}

enum vbs_status vbs_exec_placed_new(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                    const struct vbs_schedule *schedule,
                                    struct vbs_exec_placed **placed)
{
    struct vbs_exec_placed *made = calloc(1, sizeof *made);
    enum vbs_status status;

    if (!made)
        return vbs_no_memory(ctx);
    status = vbs_exec_check(ctx, &made->checked, profile, schedule);
    if (status != VBS_OK) {
        vbs_exec_placed_free(made);
        return status;
    }
    *placed = made;
    return VBS_OK;
}

void vbs_exec_placed_free(struct vbs_exec_placed *placed)
{
    if (!placed)
        return;
    vbs_exec_fit_clear(&placed->fit);
    vbs_exec_checked_clear(&placed->checked);
    free(placed);
}

enum vbs_status vbs_exec_placed_search(struct vbs_ctx *ctx, struct vbs_exec_placed *placed,
                                       const struct vbs_exec_options *options)
{
    struct vbs_exec_fit_options fit_options = {
        .bytes = vbs_exec_arena_bytes(options, placed->checked.schedule),
        .block_alignment = options->direct ? VBS_EXEC_SECTOR : ALIGNMENT,
        .on_device = vbs_provenance_device(&placed->checked.profile->provenance) != NULL,
        .limit_s = options->place_limit_s > 0 ? options->place_limit_s : PLACE_S,
        .progress = options->progress};
    enum vbs_status status;

    vbs_exec_fit_clear(&placed->fit);
    status = vbs_exec_fit(ctx, &placed->fit, &placed->checked, &fit_options);
    if (status == VBS_INFEASIBLE && options->direct) { /* without direct reads, weights are copied
                                                          twice, but need less alignment */
        vbs_exec_fit_clear(&placed->fit);
        fit_options.block_alignment = ALIGNMENT;
        status = vbs_exec_fit(ctx, &placed->fit, &placed->checked, &fit_options);
    }
    return status;
}

/* Makes the buffers again for the sizes that the check says now. */
static enum vbs_status resize(struct vbs_ctx *ctx, struct vbs_exec_fit *fit)
{
    vbs_exec_blocks_clear(&fit->blocks);
    VBS_TRY(vbs_exec_blocks_init(ctx, &fit->blocks, fit->checked, fit->begins));
    return vbs_exec_fit_buffers(ctx, fit, fit->is_dense);
}

enum vbs_status vbs_exec_placed_keep(struct vbs_ctx *ctx, struct vbs_exec_placed *placed,
                                     const struct vbs_exec_options *options, bool resized,
                                     bool *valid)
{
    struct vbs_exec_fit *fit = &placed->fit;
    int64_t bytes = vbs_exec_arena_bytes(options, placed->checked.schedule);

    *valid = false;
    if (!fit->layout.first_relocation) /* nothing is placed */
        return VBS_OK;
    if (resized)
        VBS_TRY(resize(ctx, fit));
    if (fit->layout.n_items != fit->buffers.n_items)
        return VBS_OK;
    if (resized) { /* moves copy bytes of the sizes before */
        if (fit->layout.moves.n > 0 && placed->checked.n_packed > 0)
            return VBS_OK;
        VBS_TRY(vbs_exec_layout_finish(ctx, &fit->layout, &fit->buffers));
        fit->placement.placed_bytes = fit->layout.height_bytes;
    }
    return vbs_exec_layout_verify(ctx, &fit->layout, &fit->buffers, bytes, valid);
}

enum vbs_status vbs_exec_place(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule,
                               const struct vbs_exec_options *options,
                               struct vbs_exec_placement *placement,
                               struct vbs_exec_placed **placed)
{
    struct vbs_exec_options own;
    struct vbs_exec_placed *made;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_exec_options", options, &own, sizeof own));
    VBS_TRY(vbs_exec_placed_new(ctx, profile, schedule, &made));
    status = vbs_exec_placed_search(ctx, made, &own);
    if (status == VBS_OK || status == VBS_INFEASIBLE)
        *placement = made->fit.placement;
    if (status == VBS_OK && placed)
        *placed = made;
    else
        vbs_exec_placed_free(made);
    return status;
}
