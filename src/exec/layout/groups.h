/*
 * Rigid groups: samples that must lie one after the other. Internal to the room.
 *
 * A tensor that stays in the arena between steps has its samples at the places of a line. A layer
 * in place that is the last reader of its first input writes onto the line of that input, so that
 * several tensors can use the places of one line in turn. Two neighbouring places are linked when
 * some step reads or writes both at once. A group is a longest run of linked places.
 *
 * A place holds a whole sample, or the ring that is the sample's window where steps by rows write
 * it into a window of fewer rows. Steps by rows link no places, so that a ring is a group alone.
 *
 * Time is divided into slots. Step i, counted from 0, is slot 2 i + 1. Moves of buffers before the
 * step, and the effects of transfers, are in slot 2 i. The last slot is 2 n_steps + 1.
 */
#ifndef VBS_EXEC_LAYOUT_GROUPS_H
#define VBS_EXEC_LAYOUT_GROUPS_H

#include "exec/check/check.h"

/* A place of a line holds a live sample in slots birth..death - 1. Births are odd or 0, deaths are
 * even. */
struct vbs_exec_lifetime {
    int birth, death;
};

struct vbs_exec_line {
    int64_t sample_bytes;
    int64_t *ring_bytes; /* [request] of the sample's ring; 0: it is whole. Null: all are whole */
    unsigned char *is_linked;        /* [request]: the place is linked to the one before */
    struct vbs_exec_lifetime *lives; /* [request] */
    int *group_of;                   /* [request] */
};

/* Places first..end - 1 of a line. */
struct vbs_exec_group {
    int line, first, end;
};

struct vbs_exec_groups {
    const struct vbs_exec_checked *checked;
    int request;
    int *line_of; /* [n_layers + 1]: -1: the tensor is in the arena only during steps */
    int n_lines;
    struct vbs_exec_line *lines;
    int n_groups;
    struct vbs_exec_group *groups;
    struct vbs_arena arena;
};

/* Start with {0}; clear it after success and failure. Borrows checked. Linear in what steps read
 * and write, in samples. VBS_UNSUPPORTED: a kernel of whole samples reads a window of fewer rows.
 */
enum vbs_status vbs_exec_groups_init(struct vbs_ctx *ctx, struct vbs_exec_groups *groups,
                                     const struct vbs_exec_checked *checked) VBS_MUST_CHECK;
void vbs_exec_groups_clear(struct vbs_exec_groups *groups);

/* Gives the group of a sample of a tensor that has a line. */
int vbs_exec_group_of(const struct vbs_exec_groups *groups, int tensor, int sample);

/* Gives the bytes of the places of a group, and whether the group is a ring. */
int64_t vbs_exec_place_bytes(const struct vbs_exec_groups *groups, int group, bool *is_ring);

#endif
