/* A segment of a sweep: its problem, what moves at its cut. Internal to the room. */
#ifndef VBS_EXEC_LAYOUT_SEGMENT_H
#define VBS_EXEC_LAYOUT_SEGMENT_H

#include "exec/layout/repack.h"

/* An item of the whole problem. */
struct life {
    int64_t first, end; /* slots */
    int64_t base;       /* where its offset 0 is now; may be negative */
    bool moves;         /* it can */
    bool is_placed;     /* base is given beforehand */
};

/* How an item takes part in a segment. */
enum part {
    FREE,  /* it has no place so far */
    STAYS, /* at its base */
    MOVES  /* it leaves where it is, for any place */
};

struct member {
    int item;
    uint8_t part;       /* enum part */
    uint8_t best_part;  /* in the best placement of the segment */
    bool is_asked;      /* whether it can stay instead of moving */
    int64_t base;       /* for one that stays: where it is, or is pushed to */
    int64_t live_bytes; /* at the cut: what a move would copy */
    int64_t from, end;  /* at the cut: offsets of what lives */
    int64_t low;        /* bytes of the item below its part of the problem */
    int placed;         /* its item in the segment's problem; -1: none */
};

struct sweep {
    struct vbs_ctx *ctx;
    const struct vbs_exec_buffers *buffers;
    const struct vbs_exec_pieces *pieces;
    const int64_t *load;
    int64_t n_slots;
    struct life *lives; /* [n_items] */
    int *order;         /* [n_items] by their first slot */
    int next;           /* the next of them */
    int n_members, n_crossing;
    struct member *members;    /* of the segment: those that cross its cut first */
    int64_t from, to;          /* the segment's first slot, the next one's */
    int horizon, most_horizon; /* of the segment to come; follows how far the last ones went */
    int64_t target_bytes;
    double end_s;
    /* The segment's problem, and the best placement of it so far. */
    struct vbs_place_item *items;
    struct vbs_place_rect *rects;
    int n_items, n_rects, max_rects;
    int64_t *best, *bases; /* [n_members] */
    int64_t best_bytes, best_moved;
    bool has_best;
    bool is_shortest;              /* a segment that cannot be any shorter */
    struct vbs_exec_block *blocks; /* what lives at the cut */
    int n_kept_moves;              /* of the cuts before; those of the best come last */
    struct vbs_exec_layout *layout;
};

/* Finds what lives of a member at the cut; it is to stay where it is. */
void vbs_segment_enter(const struct sweep *w, struct member *member);

/* All that cross the cut are to stay where they are. */
void vbs_segment_stay(struct sweep *w);

/*
 * Places the members: without moves; where that is not found within the target, with those of all,
 * fewer, or of all that lives pushed apart, whichever copies the fewest bytes. The best is kept
 * whatever it is. VBS_INFEASIBLE: time is over.
 */
enum vbs_status vbs_segment_place(struct sweep *w) VBS_MUST_CHECK;

#endif
