#include "exec/layout/buffers.h"

#include "base/fail.h"
#include "base/grow.h"
#include "profile/reach.h"

#include <stdlib.h>

#define ALIGNMENT 64

struct making {
    struct vbs_ctx *ctx;
    int64_t alignment; /* of samples, at most */
    const struct vbs_exec_checked *checked;
    const struct vbs_exec_groups *groups;
    struct vbs_exec_buffers *out;
};

static enum vbs_status refuse_many(struct making *m)
{
    return vbs_fail(m->ctx, VBS_USAGE,
                    "the schedule is too large to be executed: it needs more than %d buffers of "
                    "%d blocks",
                    (int)VBS_MAX_PLACE_ITEMS, (int)VBS_MAX_PLACE_RECTS);
}

/* Returns the alignment of samples of so many bytes. */
static int64_t alignment_of(const struct making *m, int64_t bytes)
{
    int64_t alignment = bytes & -bytes;

    return alignment == 0 || alignment > m->alignment ? m->alignment : alignment;
}

/* Begins an item, to which the following rects belong. */
static enum vbs_status add_item(struct making *m, int64_t alignment)
{
    struct vbs_exec_buffers *out = m->out;

    if (out->n_items >= VBS_MAX_PLACE_ITEMS)
        return refuse_many(m);
    VBS_TRY(vbs_grow(m->ctx, &out->items, &out->max_items, out->n_items + 1, sizeof *out->items));
    out->items[out->n_items++] =
        (struct vbs_place_item){.first_rect = out->n_rects, .alignment = alignment};
    return VBS_OK;
}

/* Adds a rect to the last item, unless it is empty. */
static enum vbs_status add_rect(struct making *m, int64_t birth, int64_t death, int64_t offset,
                                int64_t bytes)
{
    struct vbs_exec_buffers *out = m->out;

    if (bytes <= 0)
        return VBS_OK;
    if (out->n_rects >= VBS_MAX_PLACE_RECTS)
        return refuse_many(m);
    VBS_TRY(vbs_grow(m->ctx, &out->rects, &out->max_rects, out->n_rects + 1, sizeof *out->rects));
    out->rects[out->n_rects++] =
        (struct vbs_place_rect){.lower = birth, .upper = death, .offset = offset, .size = bytes};
    out->items[out->n_items - 1].n_rects++;
    return VBS_OK;
}

/* ---- groups ---- */

/* Adds a group. Neighbouring places with the same lifetime are one rect. */
static enum vbs_status add_group(struct making *m, int group)
{
    const struct vbs_exec_group *at = &m->groups->groups[group];
    const struct vbs_exec_line *line = &m->groups->lines[at->line];
    const struct vbs_exec_lifetime *lives = line->lives;
    bool is_ring;
    int64_t bytes = vbs_exec_place_bytes(m->groups, group, &is_ring);

    VBS_TRY(add_item(m, is_ring ? VBS_WINDOW_ALIGNMENT : alignment_of(m, bytes)));
    for (int i = at->first, end; i < at->end; i = end) {
        for (end = i + 1; end < at->end && lives[end].birth == lives[i].birth &&
                          lives[end].death == lives[i].death;)
            end++;
        VBS_TRY(add_rect(m, lives[i].birth, lives[i].death, (i - at->first) * bytes,
                         (end - i) * bytes));
    }
    return VBS_OK;
}

/* ---- weights ---- */

static enum vbs_status add_blocks(struct making *m, const struct vbs_exec_blocks *blocks)
{
    enum vbs_status status = VBS_OK;

    m->out->first_block_item = m->out->n_items;
    m->out->first_block_rect = m->out->n_rects;
    for (int i = 0, at = 0; i < blocks->n_items && status == VBS_OK; i++) {
        const struct vbs_exec_block_item *item = &blocks->items[i];

        status = add_item(m, item->alignment);
        for (; at < blocks->n_blocks && status == VBS_OK; at++) {
            const struct vbs_exec_block *block = &blocks->blocks[at];

            if (blocks->item_of[block->load] != i)
                break;
            status = add_rect(m, block->birth, block->death, block->from - item->origin,
                              block->to - block->from);
        }
    }
    m->out->n_block_rects = m->out->n_rects - m->out->first_block_rect;
    return status;
}

/* ---- single steps ---- */

bool vbs_exec_output_leaves(const struct vbs_exec_groups *groups, int layer)
{
    const struct vbs_profile_layer *l = &groups->checked->profile->layers[layer];

    return groups->line_of[layer] < 0 &&
           !(groups->checked->shares[layer] && groups->line_of[l->inputs[0]] >= 0);
}

/* Gives the bytes of the copy of the network's input that a step reads where that input is outside
 * the arena; 0: it reads none. A layer in place finds it where its output belongs, and needs no
 * buffer for it. */
static int64_t fetched_bytes(const struct vbs_exec_groups *groups, const struct vbs_step *step)
{
    const struct vbs_profile *profile = groups->checked->profile;
    const struct vbs_profile_layer *l = &profile->layers[step->layer];
    bool is_stripe = vbs_exec_is_stripe(profile, step), reads = false;
    struct vbs_exec_rows rows;

    for (int i = 0; i < l->n_inputs; i++)
        reads |= l->inputs[i] == 0;
    if (!reads || groups->line_of[0] >= 0 || (!is_stripe && l->in_place && l->inputs[0] == 0))
        return 0;
    if (!is_stripe)
        return step->batch * profile->layers[0].out_bytes;
    rows = vbs_exec_input_rows(profile, step);
    return step->batch * vbs_exec_rows_bytes(profile, 0, &rows);
}

/* Adds a buffer that lives only in step s; *item is its number. */
static enum vbs_status add_own(struct making *m, int64_t s, int64_t alignment, int64_t bytes,
                               int *item)
{
    VBS_TRY(add_item(m, alignment));
    VBS_TRY(add_rect(m, 2 * s + 1, 2 * s + 2, 0, bytes));
    *item = m->out->n_items - 1;
    return VBS_OK;
}

static enum vbs_status add_step(struct making *m, int64_t s)
{
    const struct vbs_step *step = &m->checked->schedule->steps[s];
    const struct vbs_profile *profile = m->checked->profile;
    int64_t in_bytes = fetched_bytes(m->groups, step);
    int64_t out_bytes = profile->layers[step->layer].out_bytes;
    int64_t ws_bytes = m->checked->kernels[m->checked->steps[s].kernel].ws_bytes;
    struct vbs_exec_own *own = &m->out->own[s];

    if (ws_bytes > 0)
        VBS_TRY(add_own(m, s, ALIGNMENT, ws_bytes, &own->ws));
    if (vbs_exec_is_stripe(profile, step))
        out_bytes = vbs_layer_rows_bytes(&profile->layers[step->layer], step->rows);
    if (in_bytes > 0)
        VBS_TRY(add_own(m, s, alignment_of(m, in_bytes / step->batch), in_bytes, &own->in));
    if (vbs_exec_output_leaves(m->groups, step->layer))
        VBS_TRY(add_own(m, s, alignment_of(m, out_bytes), step->batch * out_bytes, &own->out));
    return VBS_OK;
}

enum vbs_status vbs_exec_buffers_make(struct vbs_ctx *ctx, struct vbs_exec_buffers *buffers,
                                      const struct vbs_exec_groups *groups,
                                      const struct vbs_exec_blocks *blocks, bool is_dense)
{
    struct making m = {.ctx = ctx,
                       .alignment = is_dense ? VBS_EXEC_DENSE : ALIGNMENT,
                       .checked = groups->checked,
                       .groups = groups,
                       .out = buffers};
    int64_t n_steps = m.checked->schedule->n_steps;

    buffers->n_items = buffers->n_rects = 0;
    if (!buffers->own)
        buffers->own = malloc((size_t)n_steps * sizeof *buffers->own + 1);
    if (!buffers->own)
        return vbs_no_memory(ctx);
    for (int s = 0; s < groups->n_groups; s++)
        VBS_TRY(add_group(&m, s));
    VBS_TRY(add_blocks(&m, blocks));
    for (int64_t s = 0; s < n_steps; s++) {
        buffers->own[s] = (struct vbs_exec_own){-1, -1, -1};
        if (m.checked->steps[s].kernel >= 0)
            VBS_TRY(add_step(&m, s));
    }
    return VBS_OK;
}

void vbs_exec_buffers_clear(struct vbs_exec_buffers *buffers)
{
    free(buffers->items);
    free(buffers->rects);
    free(buffers->own);
    *buffers = (struct vbs_exec_buffers){0};
}
