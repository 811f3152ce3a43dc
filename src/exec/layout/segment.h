/* A segment of time in windowed repacking: the allocation of its buffers, and the relocations at
 * its begin, the cut. Internal to exec/layout. */
#ifndef VBS_EXEC_LAYOUT_SEGMENT_H
#define VBS_EXEC_LAYOUT_SEGMENT_H

#include "exec/layout/repack.h"

/* An item, whose state lasts through all segments. */
struct item_state {
    int64_t first, end; /* slots */
    int64_t base;       /* present address of its offset 0; may be negative */
    bool moves;         /* it can be relocated */
    bool is_placed;     /* it got its address before the first segment */
};

/* How an item takes part in a segment. */
enum role {
    FREE,  /* it has no address yet */
    STAYS, /* it stays at its base */
    MOVES  /* it may leave for any address */
};

struct member {
    int item;
    uint8_t role;       /* enum role */
    bool is_asked;      /* the search tries whether it can stay instead of moving */
    int64_t base;       /* of a member that stays: its address, or the one to which it is pushed */
    int64_t live_bytes; /* bytes that live at the cut, which a relocation would copy */
    int64_t from, end;  /* the range of offsets that live at the cut */
    int64_t low;        /* bytes of the item below its bytes in the segment */
    int placed;         /* its item in the segment's offset allocation; -1: none */
};

/* The buffers to be placed: those that live in slots from .. to - 1. */
struct segment_problem {
    const struct vbs_exec_buffers *buffers;
    const struct vbs_exec_blocks *blocks;
    struct item_state *items; /* [buffers->n_items] */
    struct member *members;   /* those that cross the cut, at the first slot, come first */
    int n_members, n_crossing;
    int64_t from, to;
};

struct segment_options {
    int64_t target_bytes; /* the height to stay within */
    double end_s;         /* when the search must end, by vbs_thread_s (base/clock.h) */
    bool is_shortest;     /* the segment cannot be any shorter, so that any height is taken */
    int n_kept_moves;     /* moves of the layout that belong to cuts before this one */
};

/* The best allocation so far. Its moves are the last ones of the layout. */
struct segment_incumbent {
    bool exists;
    int64_t *bases; /* [n_members] */
    int64_t height_bytes, moved_bytes;
};

/* Memory that every search of the segment uses. */
struct segment_scratch {
    struct vbs_place_item *items;
    struct vbs_place_rect *rects;
    int64_t n_items, n_rects, max_rects;
    int64_t *bases;                /* [n_members] */
    struct vbs_exec_shift *shifts; /* of the buffers that live at the cut */
};

struct segment {
    struct vbs_ctx *ctx;
    struct vbs_exec_layout *layout; /* the moves are added to it */
    struct segment_problem problem;
    struct segment_options options;
    struct segment_incumbent incumbent;
    struct segment_scratch scratch;
};

/* Finds which bytes of a member live at the cut, and gives it the role to stay where it is. */
void vbs_segment_enter(const struct segment *segment, struct member *member);

/* Gives all members that cross the cut the role to stay where they are. */
void vbs_segment_stay(struct segment *segment);

/*
 * Allocates the members. First no member moves. Where no allocation within the target is found in
 * this way, it tries to move all members, then fewer, and to push apart all members that live. It
 * takes the attempt that copies the fewest bytes. The incumbent stays whatever its height.
 * VBS_INFEASIBLE: time is over.
 */
enum vbs_status vbs_segment_place(struct segment *segment) VBS_MUST_CHECK;

#endif
