/*
 * Tiles of a segment: its last layer's output is cut into tiles of some rows, and for each tile all
 * layers of the segment compute the rows that it needs, whatever the tiles before have computed.
 * Internal to plan/recompute.
 */
#ifndef VBS_PLAN_RECOMPUTE_TILES_H
#define VBS_PLAN_RECOMPUTE_TILES_H

#include "plan/recompute/estimates.h"
#include "plan/recompute/row_costs.h"

/* How a tile is computed. */
enum tile_shape {
    TILE_ROWS,   /* rows over the full width, layer after layer */
    TILE_SQUARE, /* as many columns as rows, layer after layer */
    /* Rows over the full width, column after column; columns that the next column needs again are
     * kept (H-cache). */
    TILE_SWEPT,
};

/* Steps of a segment that differ in nothing but the tile. */
struct tiled_step {
    int layer;
    int rows;      /* that it computes; 0: all in one step, a whole sample */
    int columns;   /* out of as many as the layer has rows */
    int64_t bytes; /* the most that such a step takes, without workspace */
    int64_t n;     /* such steps of one sample */
    double us;     /* of all of them, within the bytes that are looked at */
};

/* The rows that the layers of a segment compute for one tile; arrays [0..n] by layers. */
struct tile_rows {
    int64_t n; /* tiles that compute as many rows of every layer, and read as many of the network's
                  input */
    int *first, *rows;
    int64_t *input_bytes; /* of the network's input, which the layer's step has inside */
};

/* The columns of a layer's output while a tile is swept. */
struct swept_columns {
    int done, kept;
    int64_t input_bytes; /* of as many rows of the network's input as a step reads columns */
};

struct step_event;

/* What tiling needs of a task, and its working memory. */
struct tiling {
    const struct vbs_task *task;
    const struct row_costs *costs; /* [0..n] */
    const int64_t *before_bytes;   /* [0..n] live before the layer, of one sample */
    enum tile_shape shape;
    struct tile_rows *tiles; /* the distinct ones of a segment, then unused ones */
    int64_t n_tiles, n_allocated, tiles_capacity;
    struct tiled_step *steps;
    int64_t n_steps, steps_capacity;
    struct step_event *events;
    int64_t events_capacity;
    struct swept_columns *columns; /* [0..n] of the segment that was swept last */
    int swept_from, swept_to;
    struct vbs_arena arena;
};

/* Fills *tiling, whose arrays are borrowed. VBS_NO_MEMORY. O(layers). */
enum vbs_status vbs_tiling_init(struct vbs_ctx *ctx, struct tiling *tiling,
                                const struct vbs_task *task, const struct row_costs *costs,
                                const int64_t *before_bytes, enum tile_shape shape) VBS_MUST_CHECK;
void vbs_tiling_clear(struct tiling *tiling);

/* Gives the last layer up to which layers from first_layer on could be in one segment, were it not
 * for readers behind it: 0 where that one cannot run by rows. O(layers). */
int vbs_tiling_reach(const struct vbs_task *task, int first_layer);

/* Gives whether the layers from..to are a segment: none of them but the last is read behind it, or
 * by nobody. O(layers). */
bool vbs_tiling_is_segment(const struct vbs_task *task, int from, int to);

/* Gives whether the layer behind a segment can take its rows as they come: it is a pooling or
 * fully connected layer of all rows of the last layer, which nobody else reads. */
bool vbs_tiling_accumulates(const struct vbs_task *task, int to);

/* Offers the points of a segment in tiles of so many rows to a curve; tail: 1 where the layer
 * behind it accumulates. VBS_NO_MEMORY, VBS_INTERRUPTED. O(tiles x layers). */
enum vbs_status vbs_tiling_offer(struct vbs_ctx *ctx, struct tiling *tiling, int from, int to,
                                 int rows, int tail, struct estimate_curve *curve) VBS_MUST_CHECK;

/* Offers the points of one layer on whole samples: base_bytes without workspace. VBS_NO_MEMORY. */
enum vbs_status vbs_tiling_offer_whole(struct vbs_ctx *ctx, struct tiling *tiling, int layer,
                                       int64_t base_bytes,
                                       struct estimate_curve *curve) VBS_MUST_CHECK;

#endif
