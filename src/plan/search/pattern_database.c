#include "plan/search/pattern_database.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static enum vbs_status build(struct vbs_ctx *ctx, const struct vbs_pattern_request *request,
                             struct vbs_pattern_database *database, enum vbs_found *found)
{
    struct vbs_lattice lattice = *request->all;
    struct vbs_heuristic heuristic;
    enum vbs_status status;

    VBS_TRY(
        vbs_order_ideals_project(ctx, request->all->ideals, database->layers, &database->ideals));
    lattice.ideals = &database->ideals;
    VBS_TRY(vbs_heuristic_init(ctx, &heuristic, &lattice, database->layers, request->layer_to_go,
                               request->databases, request->n_databases));
    status =
        vbs_search_run(ctx, &heuristic, NULL, NULL, &request->limits, &database->search, found);
    vbs_heuristic_clear(&heuristic);
    return status;
}

enum vbs_status vbs_pattern_database_build(struct vbs_ctx *ctx,
                                           const struct vbs_pattern_request *request,
                                           struct vbs_pattern_database *database,
                                           enum vbs_found *found)
{
    size_t bytes = (size_t)request->all->ideals->n_words * sizeof *request->layers;
    enum vbs_status status;

    *database = (struct vbs_pattern_database){.layers = malloc(bytes)};
    *found = VBS_FOUND_OUT;
    if (!database->layers)
        return vbs_no_memory(ctx);
    memcpy(database->layers, request->layers, bytes);
    status = build(ctx, request, database, found);
    if (status != VBS_OK || *found != VBS_FOUND)
        vbs_pattern_database_clear(database);
    return status;
}

void vbs_pattern_database_clear(struct vbs_pattern_database *database)
{
    free(database->layers);
    vbs_search_clear(&database->search);
    vbs_order_ideals_clear(&database->ideals);
    *database = (struct vbs_pattern_database){0};
}

size_t vbs_pattern_database_bytes(const struct vbs_pattern_database *database)
{
    return vbs_search_bytes(&database->search) + database->ideals.arena.total_bytes;
}
