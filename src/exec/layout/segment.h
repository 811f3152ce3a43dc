/* A segment of time in windowed repacking: its allocation, and what moves where it begins. Internal
 * to exec/layout. */
#ifndef VBS_EXEC_LAYOUT_SEGMENT_H
#define VBS_EXEC_LAYOUT_SEGMENT_H

#include "exec/layout/repack.h"

/* An item of all segments. */
struct item_state {
    int64_t first, end; /* slots */
    int64_t base;       /* where its offset 0 is now; may be negative */
    bool moves;         /* it can move */
    bool is_placed;     /* base is given beforehand */
};

/* How an item takes part in a segment. */
enum role {
    FREE,  /* it has no address so far */
    STAYS, /* at its base */
    MOVES  /* it leaves where it is, for any address */
};

struct member {
    int item;
    uint8_t role;       /* enum role */
    bool is_asked;      /* whether it can stay instead of moving */
    int64_t base;       /* of one that stays: where it is, or is pushed to */
    int64_t live_bytes; /* at the cut: what a move would copy */
    int64_t from, end;  /* at the cut: offsets of what lives */
    int64_t low;        /* bytes of the item below its bytes in the segment */
    int placed;         /* its item in the segment's offset allocation; -1: none */
};

/* What is to be placed: slots from .. to - 1. */
struct segment_problem {
    const struct vbs_exec_buffers *buffers;
    const struct vbs_exec_blocks *blocks;
    struct item_state *items; /* [buffers->n_items] */
    struct member *members;   /* those that cross the cut, at the first slot, come first */
    int n_members, n_crossing;
    int64_t from, to;
};

struct segment_options {
    int64_t target_bytes; /* to be found within */
    double end_s;         /* of the search */
    bool is_shortest;     /* it cannot be any shorter: any height will do */
    int n_kept_moves;     /* of the layout: of the cuts before */
};

/* The best allocation so far. Its moves are the last of the layout. */
struct segment_incumbent {
    bool exists;
    int64_t *bases; /* [n_members] */
    int64_t height_bytes, moved_bytes;
};

/* Memory of the search. */
struct segment_scratch {
    struct vbs_place_item *items;
    struct vbs_place_rect *rects;
    int64_t n_items, n_rects, max_rects;
    int64_t *bases;                /* [n_members] */
    struct vbs_exec_shift *shifts; /* what lives at the cut */
};

struct segment {
    struct vbs_ctx *ctx;
    struct vbs_exec_layout *layout; /* gets the moves */
    struct segment_problem problem;
    struct segment_options options;
    struct segment_incumbent incumbent;
    struct segment_scratch scratch;
};

/* Finds what lives of a member at the cut; it is to stay where it is. */
void vbs_segment_enter(const struct segment *segment, struct member *member);

/* All that cross the cut are to stay where they are. */
void vbs_segment_stay(struct segment *segment);

/*
 * Allocates the members: without moves; where that is not found within the target, with moves of
 * all, of fewer, or with all that lives pushed apart, whichever copies the fewest bytes. The
 * incumbent is kept whatever its height. VBS_INFEASIBLE: time is over.
 */
enum vbs_status vbs_segment_place(struct segment *segment) VBS_MUST_CHECK;

#endif
