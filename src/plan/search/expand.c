#include "plan/search/expand.h"

#include "base/fail.h"

#include <string.h>

/* The data that stay the same while the steps of one state are listed. */
struct expansion {
    const struct vbs_lattice *lattice;
    const uint16_t *from;
    uint16_t *to;
    int64_t live_bytes;
    enum vbs_status (*visit)(void *self, const struct vbs_edge *edge);
    void *self;
};

/* Lists the steps of one layer, whose next sample is first. */
static enum vbs_status expand_layer(const struct expansion *at, int layer, int first)
{
    const struct vbs_lattice *lattice = at->lattice;
    const struct vbs_task *task = lattice->task;
    const struct vbs_profile_layer *l = &task->profile->layers[layer];
    int64_t bytes = at->live_bytes, place = 0;
    const struct vbs_move *move = NULL;

    for (int b = 1; first + b <= task->request; b++) {
        int s = first + b - 1, index = task->batch_index[b];
        int64_t ticks, out = b * l->out_bytes;

        if (s == first || at->from[s] != at->from[s - 1])
            move = vbs_order_ideal_move(lattice->ideals, at->from[s], layer);
        if (!move)
            break;
        at->to[s] = (uint16_t)move->to;
        bytes += move->base_bytes - lattice->ideals->live_bytes[at->from[s]];
        place += move->place_bytes;
        if (index < 0)
            continue;
        ticks = vbs_row_pareto_ticks(&task->row_pareto, layer, index,
                                     lattice->memory_bytes - bytes - vbs_task_added(out, place));
        if (ticks < 0)
            continue;
        VBS_TRY(at->visit(
            at->self,
            &(struct vbs_edge){
                .layer = layer, .first = first, .batch = b, .ticks = ticks, .to = at->to}));
    }
    memcpy(at->to + first, at->from + first, (size_t)(task->request - first) * sizeof *at->to);
    return VBS_OK;
}

enum vbs_status vbs_lattice_expand(
    const struct vbs_lattice *lattice, const uint16_t *from, uint16_t *to,
    enum vbs_status (*visit)(void *self, const struct vbs_edge *edge), void *self)
{
    const struct vbs_order_ideals *ideals = lattice->ideals;
    int r = lattice->task->request;
    struct expansion at = {
        .lattice = lattice, .from = from, .to = to, .visit = visit, .self = self};

    memcpy(to, from, (size_t)r * sizeof *to);
    for (int s = 0; s < r; s++)
        at.live_bytes += ideals->live_bytes[from[s]];
    for (int s = 0; s < r; s++) {
        if (s > 0 && from[s] == from[s - 1])
            continue;
        for (int m = ideals->first_move[from[s]]; m < ideals->first_move[from[s] + 1]; m++) {
            int layer = ideals->moves[m].layer;

            /* A step is possible only where the layer has done the sample before, because samples
             * keep their order. */
            if (s > 0 && !vbs_order_ideal_has(ideals, from[s - 1], layer))
                continue;
            VBS_TRY(expand_layer(&at, layer, s));
        }
    }
    return VBS_OK;
}
