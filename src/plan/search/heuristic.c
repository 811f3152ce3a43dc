#include "plan/search/heuristic.h"

#include "base/fail.h"
#include "plan/search/pattern_database.h"

#include <stdlib.h>
#include <string.h>

/* maps[part][p]: the position of the part's pattern that position p of the lattice belongs to. */
static enum vbs_status add_part(struct vbs_ctx *ctx, struct vbs_guide *guide,
                                const struct vbs_pattern *pattern)
{
    const struct vbs_positions *positions = guide->lattice->positions;
    int *map = vbs_arena_alloc(&guide->arena, (size_t)positions->n, sizeof *map);

    if (!map)
        return vbs_no_memory(ctx);
    if (positions->projected)
        for (int i = 0; i < positions->n_original; i++)
            map[positions->projected[i]] = pattern->positions.projected[i];
    else
        memcpy(map, pattern->positions.projected, (size_t)positions->n * sizeof *map);
    for (int k = 1; k <= guide->lattice->task->n_layers; k++)
        if (vbs_layers_have(pattern->layers, k))
            guide->part_of[k] = guide->n_parts;
    guide->patterns[guide->n_parts] = pattern;
    guide->maps[guide->n_parts++] = map;
    return VBS_OK;
}

static bool is_within(const uint64_t *some, const uint64_t *layers, int n_words)
{
    for (int w = 0; w < n_words; w++)
        if (some[w] & ~layers[w])
            return false;
    return true;
}

enum vbs_status vbs_guide_init(struct vbs_ctx *ctx, struct vbs_guide *guide,
                               const struct vbs_lattice *lattice, const uint64_t *layers,
                               int64_t *const *layer_to_go, const struct vbs_pattern *patterns,
                               int n_patterns)
{
    const struct vbs_task *task = lattice->task;
    enum vbs_status status = VBS_OK;
    struct vbs_arena *arena;

    *guide = (struct vbs_guide){.lattice = lattice, .layer_to_go = layer_to_go};
    arena = &guide->arena;
    guide->patterns = vbs_arena_alloc(arena, (size_t)n_patterns, sizeof(struct vbs_pattern *));
    guide->maps = vbs_arena_alloc(arena, (size_t)n_patterns, sizeof *guide->maps);
    guide->part_of = vbs_arena_alloc(arena, (size_t)task->n_layers + 1, sizeof *guide->part_of);
    guide->scratch = vbs_arena_alloc(arena, (size_t)task->request, sizeof *guide->scratch);
    if (!guide->patterns || !guide->maps || !guide->part_of || !guide->scratch)
        status = vbs_no_memory(ctx);
    for (int k = 1; status == VBS_OK && k <= task->n_layers; k++)
        guide->part_of[k] = vbs_layers_have(layers, k) ? -1 : -2;
    for (int i = 0; status == VBS_OK && i < n_patterns; i++)
        if (is_within(patterns[i].layers, layers, lattice->positions->n_words))
            status = add_part(ctx, guide, &patterns[i]);
    if (status != VBS_OK)
        vbs_guide_clear(guide);
    return status;
}

void vbs_guide_clear(struct vbs_guide *guide)
{
    struct vbs_arena arena = guide->arena;

    vbs_arena_clear(&arena);
    *guide = (struct vbs_guide){0};
}

int64_t vbs_guide_part(const struct vbs_guide *guide, int part, const uint16_t *state)
{
    const struct vbs_pattern *pattern = guide->patterns[part];
    const int *map = guide->maps[part];
    int index;

    for (int s = 0; s < guide->lattice->task->request; s++)
        guide->scratch[s] = (uint16_t)map[state[s]];
    index = vbs_states_find(&pattern->sweep.states, guide->scratch);
    return index >= 0 ? pattern->sweep.togo[index] : VBS_NEVER_TICKS;
}

/* Samples that layer has done in a state: those in front. */
static int samples_done(const struct vbs_guide *guide, int layer, const uint16_t *state)
{
    int done = 0;

    while (done < guide->lattice->task->request &&
           vbs_position_done(guide->lattice->positions, state[done], layer))
        done++;
    return done;
}

int64_t vbs_guide_ticks(const struct vbs_guide *guide, const uint16_t *state)
{
    int64_t ticks = 0;

    for (int part = 0; part < guide->n_parts; part++) {
        ticks += vbs_guide_part(guide, part, state);
        if (ticks >= VBS_NEVER_TICKS)
            return VBS_NEVER_TICKS;
    }
    for (int k = 1; k <= guide->lattice->task->n_layers && ticks < VBS_NEVER_TICKS; k++)
        if (guide->part_of[k] == -1)
            ticks += guide->layer_to_go[k - 1][samples_done(guide, k, state)];
    return ticks < VBS_NEVER_TICKS ? ticks : VBS_NEVER_TICKS;
}
