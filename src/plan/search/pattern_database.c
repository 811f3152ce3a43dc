#include "plan/search/pattern_database.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static enum vbs_status build(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                             int64_t *const *layer_to_go, const struct vbs_pattern *patterns,
                             int n_patterns, const struct vbs_sweep_limits *limits,
                             struct vbs_pattern *pattern, enum vbs_found *found)
{
    struct vbs_lattice lattice = *all;
    struct vbs_guide guide;
    enum vbs_status status =
        vbs_positions_project(ctx, all->positions, pattern->layers, &pattern->positions);

    lattice.positions = &pattern->positions;
    if (status == VBS_OK)
        status = vbs_guide_init(ctx, &guide, &lattice, pattern->layers, layer_to_go, patterns,
                                n_patterns);
    if (status != VBS_OK)
        return status;
    status = vbs_sweep_run(ctx, &guide, NULL, NULL, limits, &pattern->sweep, found);
    vbs_guide_clear(&guide);
    return status;
}

enum vbs_status vbs_pattern_build(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                  const uint64_t *layers, int64_t *const *layer_to_go,
                                  const struct vbs_pattern *patterns, int n_patterns,
                                  const struct vbs_sweep_limits *limits,
                                  struct vbs_pattern *pattern, enum vbs_found *found)
{
    size_t bytes = (size_t)all->positions->n_words * sizeof *layers;
    enum vbs_status status;

    *pattern = (struct vbs_pattern){.layers = malloc(bytes)};
    *found = VBS_FOUND_OUT;
    if (!pattern->layers)
        return vbs_no_memory(ctx);
    memcpy(pattern->layers, layers, bytes);
    status = build(ctx, all, layer_to_go, patterns, n_patterns, limits, pattern, found);
    if (status != VBS_OK || *found != VBS_FOUND)
        vbs_pattern_clear(pattern);
    return status;
}

void vbs_pattern_clear(struct vbs_pattern *pattern)
{
    free(pattern->layers);
    vbs_sweep_clear(&pattern->sweep);
    vbs_positions_clear(&pattern->positions);
    *pattern = (struct vbs_pattern){0};
}

size_t vbs_pattern_bytes(const struct vbs_pattern *pattern)
{
    return vbs_sweep_bytes(&pattern->sweep) + pattern->positions.arena.total_bytes;
}
