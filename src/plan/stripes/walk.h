/* The steps of a segment at given heights, and their bytes. Internal to plan/stripes. */
#ifndef VBS_PLAN_STRIPES_WALK_H
#define VBS_PLAN_STRIPES_WALK_H

#include "plan/stripes/stripes.h"

/* A height at which a layer can run, and its algorithms: those that no other beats in bytes and
 * time, bytes ascending. The bytes are those of the workspace and, where weights count, of the
 * weights. */
struct stripe_height {
    int rows;
    int n_options;
    struct stripe_option {
        int64_t bytes, ticks;
        int64_t weight_bytes; /* of these bytes */
        int algorithm, format;
    } * options;
};

/* A layer of the order. */
struct stripe_layer {
    int layer;
    int rows;      /* 0: it cannot run by rows */
    int n_heights; /* ascending; the last is all rows */
    struct stripe_height *heights;
};

/* A step of a segment. */
struct stripe_piece {
    int place, row, height; /* height: index into the layer's heights */
};

/* One layer while a segment is walked through. */
struct stripe_state {
    int height; /* rows of a step */
    int64_t lag;
    int done;
    int window;
    int waiting; /* readers in the segment that have not finished the sample */
    int runs;    /* steps of the layer, those that follow each other counted once */
    int asker;   /* place of the layer that the next step of this one is for; -1: none */
    bool whole;  /* a layer behind the segment reads it, or nobody does, or it accumulates */
};

/* A layer of a segment: the most bytes of its steps without their weights, its weights, and the
 * ticks of a load of them. */
struct segment_layer {
    int64_t step_bytes, weight_bytes;
    int64_t load_ticks;
    int runs;
    double worth; /* ticks that are saved for a byte of weights that stays */
};

struct vbs_stripes {
    const struct vbs_task *task;         /* whose rows are used */
    const struct vbs_task *clock;        /* whose ticks are counted */
    const struct vbs_rows_source *loads; /* null: weights do not count */
    const int *order;
    int *place;                  /* [0..n] of a layer in the order; -1 of the network's input */
    struct stripe_layer *layers; /* [n] in the order */
    struct stripe_state *states; /* [n] of the segment that is walked through */
    struct segment_layer *of_segment; /* [n] of the segment that is priced */
    int64_t *most_bytes;         /* [all heights] the most bytes of a step of that height, without
                                    workspace; -1: none has it */
    int *counts;                 /* [all heights] steps of that height */
    int *first_height;           /* [n + 1] where those of a layer begin */
    struct stripe_piece *pieces; /* the steps, in order */
    int64_t n_pieces, pieces_capacity;
    struct vbs_arena arena;
};

/* Walks through the segment from..to with the heights in states, in the early or the late order
 * (stripes.h), and fills pieces, windows, counts, runs and most_bytes. *walked: false where some
 * rows have no height. VBS_NO_MEMORY. */
enum vbs_status vbs_stripes_walk(struct vbs_ctx *ctx, struct vbs_stripes *stripes, int from, int to,
                                 bool early, int64_t before_bytes, bool *walked) VBS_MUST_CHECK;

/* Gives the fastest option of a height within the bytes, or null. */
const struct stripe_option *vbs_stripe_option(const struct stripe_height *height,
                                              int64_t most_bytes);

#endif
