#include "plan/search/heuristic.h"

#include "base/fail.h"
#include "plan/search/pattern_database.h"

#include <stdlib.h>
#include <string.h>

/* Adds database number d, and fills maps[d][i]: the ideal of database d to which ideal i of the
 * lattice is projected. */
static enum vbs_status add_database(struct vbs_ctx *ctx, struct vbs_heuristic *heuristic,
                                    const struct vbs_pattern_database *database)
{
    const struct vbs_order_ideals *ideals = heuristic->lattice->ideals;
    int *map = vbs_arena_alloc(&heuristic->arena, (size_t)ideals->n, sizeof *map);

    if (!map)
        return vbs_no_memory(ctx);
    if (ideals->projected)
        for (int i = 0; i < ideals->n_original; i++)
            map[ideals->projected[i]] = database->ideals.projected[i];
    else
        memcpy(map, database->ideals.projected, (size_t)ideals->n * sizeof *map);
    for (int k = 1; k <= heuristic->lattice->task->n_layers; k++)
        if (vbs_layers_have(database->layers, k))
            heuristic->database_of[k] = heuristic->n_databases;
    heuristic->databases[heuristic->n_databases] = database;
    heuristic->maps[heuristic->n_databases++] = map;
    return VBS_OK;
}

static bool is_within(const uint64_t *some, const uint64_t *layers, int n_words)
{
    for (int w = 0; w < n_words; w++)
        if (some[w] & ~layers[w])
            return false;
    return true;
}

enum vbs_status vbs_heuristic_init(struct vbs_ctx *ctx, struct vbs_heuristic *heuristic,
                                   const struct vbs_lattice *lattice, const uint64_t *layers,
                                   int64_t *const *layer_to_go,
                                   const struct vbs_pattern_database *databases, int n_databases)
{
    const struct vbs_task *task = lattice->task;
    enum vbs_status status = VBS_OK;
    struct vbs_arena *arena;

    *heuristic = (struct vbs_heuristic){.lattice = lattice, .layer_to_go = layer_to_go};
    arena = &heuristic->arena;
    heuristic->databases =
        vbs_arena_alloc(arena, (size_t)n_databases, sizeof(struct vbs_pattern_database *));
    heuristic->maps = vbs_arena_alloc(arena, (size_t)n_databases, sizeof *heuristic->maps);
    heuristic->database_of =
        vbs_arena_alloc(arena, (size_t)task->n_layers + 1, sizeof *heuristic->database_of);
    heuristic->scratch = vbs_arena_alloc(arena, (size_t)task->request, sizeof *heuristic->scratch);
    if (!heuristic->databases || !heuristic->maps || !heuristic->database_of || !heuristic->scratch)
        status = vbs_no_memory(ctx);
    for (int k = 1; status == VBS_OK && k <= task->n_layers; k++)
        heuristic->database_of[k] = vbs_layers_have(layers, k) ? -1 : -2;
    for (int i = 0; status == VBS_OK && i < n_databases; i++)
        if (is_within(databases[i].layers, layers, lattice->ideals->n_words))
            status = add_database(ctx, heuristic, &databases[i]);
    if (status != VBS_OK)
        vbs_heuristic_clear(heuristic);
    return status;
}

void vbs_heuristic_clear(struct vbs_heuristic *heuristic)
{
    struct vbs_arena arena = heuristic->arena;

    vbs_arena_clear(&arena);
    *heuristic = (struct vbs_heuristic){0};
}

int64_t vbs_heuristic_database_ticks(const struct vbs_heuristic *heuristic, int which,
                                     const uint16_t *state)
{
    const struct vbs_pattern_database *database = heuristic->databases[which];
    const int *map = heuristic->maps[which];
    int index;

    for (int s = 0; s < heuristic->lattice->task->request; s++)
        heuristic->scratch[s] = (uint16_t)map[state[s]];
    index = vbs_states_find(&database->search.states, heuristic->scratch);
    return index >= 0 ? database->search.togo[index] : VBS_NEVER_TICKS;
}

/* Counts the samples that layer has done in a state: the first ones of the request. */
static int samples_done(const struct vbs_heuristic *heuristic, int layer, const uint16_t *state)
{
    int done = 0;

    while (done < heuristic->lattice->task->request &&
           vbs_order_ideal_has(heuristic->lattice->ideals, state[done], layer))
        done++;
    return done;
}

int64_t vbs_heuristic_ticks(const struct vbs_heuristic *heuristic, const uint16_t *state)
{
    int64_t ticks = 0;

    for (int which = 0; which < heuristic->n_databases; which++) {
        ticks += vbs_heuristic_database_ticks(heuristic, which, state);
        if (ticks >= VBS_NEVER_TICKS)
            return VBS_NEVER_TICKS;
    }
    for (int k = 1; k <= heuristic->lattice->task->n_layers && ticks < VBS_NEVER_TICKS; k++)
        if (heuristic->database_of[k] == -1)
            ticks += heuristic->layer_to_go[k - 1][samples_done(heuristic, k, state)];
    return ticks < VBS_NEVER_TICKS ? ticks : VBS_NEVER_TICKS;
}
