/*
 * vbslab/place.h - offset allocation: offsets for buffers whose lifetimes are known beforehand.
 *
 * This is offline dynamic storage allocation, with rigid groups. An item is a rigid group of
 * rectangles: each lives through the steps [lower, upper) and takes the bytes [offset, offset +
 * size) of the item. A plain buffer is an item of one rectangle at offset 0; the samples of a
 * tensor that must lie side by side, but begin and end to live at different steps, are an item with
 * a rectangle for each. Bytes of an item that no living rectangle takes are free for others. A
 * placement gives each item its offset, so that no two rectangles of different items that share a
 * step share a byte.
 *
 * The load, the largest sum of living rectangles over all steps, is a lower bound of the height.
 *
 * Threads: problems, results and parsed CSV files (struct vbs_place_csv) are only read by the calls
 * and may be shared; the calls keep nothing between them.
 */
#ifndef VBSLAB_PLACE_H
#define VBSLAB_PLACE_H

#include "vbslab/progress.h"
#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_PLACE_ITEMS ((int64_t)1 << 20)
#define VBS_MAX_PLACE_RECTS ((int64_t)1 << 22) /* of all items together */
#define VBS_MAX_PLACE_STACK 4096               /* of one item */
#define VBS_MAX_PLACE_PAIRS ((int64_t)1 << 23) /* of rectangles of two items that share a step */
#define VBS_PLACE_TIME_S    10                 /* the default limit of time */

/* Bytes that an item takes through some steps. */
struct vbs_place_rect {
    int64_t lower, upper; /* steps [lower, upper), lower < upper; may be negative */
    int64_t offset;       /* bytes from the first byte of the item, 0 or more */
    int64_t size;         /* bytes, 0 or more */
};

/* A buffer (one rectangle), or a rigid group of several, which keep their distances. */
struct vbs_place_item {
    /* Its rectangles; those of one item may touch but not overlap in time and space. They need not
     * be sorted. None: the item takes no bytes. */
    int64_t first_rect, n_rects;
    int64_t alignment; /* the offset is a multiple of this power of two; 0 counts as 1 */
    bool fixed;        /* the item must lie at fixed_offset */
    int64_t fixed_offset;
};

/* A placement problem. It is borrowed only during a call. */
struct vbs_place_problem {
    int64_t n_items;
    const struct vbs_place_item *items;
    int64_t n_rects;
    const struct vbs_place_rect *rects;
    int64_t capacity;         /* bytes, 0 or more: no rectangle may end above */
    const char *const *names; /* [n_items], for messages; null: items are numbered from 0 */
};

/* The options of a search; {0} gives the defaults. The same problem and options give the same
 * placement unless the time limit cuts the search. */
struct vbs_place_options {
    size_t struct_size;  /* sizeof(struct vbs_place_options) */
    double time_limit_s; /* 0: VBS_PLACE_TIME_S; below 0: none */
    int64_t step_limit;  /* steps of searching, about 1e6 a second; 0: none */
    uint64_t seed;       /* of the random numbers */
    /* For vbs_place: search only for a placement within the capacity, and end too where it is
     * proven that there is none. The result of VBS_INFEASIBLE is then not searched for, and may be
     * far from the lowest. */
    bool decides;
    struct vbs_progress progress; /* of the search, at most ten times a second */
};

/* The method by which the placement was found; for people. */
enum vbs_place_method {
    VBS_PLACE_GREEDY, /* one of the fixed orders */
    VBS_PLACE_REPAIR, /* an order repaired until it fitted */
    VBS_PLACE_SEARCH, /* exact search */
};

/* A placement: an offset for each item, and bounds of its height. Freed by vbs_place_free. */
struct vbs_place_result {
    int64_t n_items;
    int64_t *offsets;     /* [n_items] */
    int64_t height_bytes; /* the end of the highest rectangle */
    int64_t load_bytes;
    /* No placement is lower. It is at least load_bytes; where it equals height_bytes, the placement
     * is proven best. */
    int64_t bound_bytes;
    int64_t greedy_height_bytes; /* height of the best fixed order alone */
    enum vbs_place_method method;
    int64_t n_steps; /* steps of searching */
    double seconds;
    bool interrupted; /* the caller interrupted the search; a longer one may find a lower
                         placement */
};

/*
 * Finds a placement no higher than problem->capacity, and ends with the first one found.
 *
 * VBS_INFEASIBLE: none was found, or none exists; the detail says which, with load and height.
 * *result is then the lowest placement found, which is higher than the capacity (the search for it
 * goes on until a limit). Where result->bound_bytes > capacity, it is proven that none exists.
 * Where the load, or another bound that is known before a search, exceeds the capacity, nothing is
 * searched for: *result is that of a fixed order, and may be far from the lowest. VBS_USAGE:
 * malformed, or fixed items in each other's way. VBS_UNSUPPORTED: more than VBS_MAX_PLACE_PAIRS.
 * VBS_NO_MEMORY. A search that is interrupted gives the lowest placement found, with interrupted
 * set, if it is within the capacity; else VBS_INTERRUPTED. *result is freed by vbs_place_free,
 * after VBS_OK and VBS_INFEASIBLE.
 *
 * Fixed orders come first, O(n_items log n_items + pairs) each, whatever the limits are. Then four
 * searches take turns: for buffers that fill the capacity at every step, a search over which of
 * those that end at a step make room for which that begin, which draws a planar graph; the search
 * of Moffitt, "MiniMalloc", ASPLOS 2023, for buffers; repair of an order; and a search over which
 * of two items lies above, with the methods of job shops, for rigid groups. All but the repair are
 * complete: they also prove that nothing fits. Memory: about 200 bytes for each pair.
 */
enum vbs_status vbs_place(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                          const struct vbs_place_options *options,
                          struct vbs_place_result **result) VBS_MUST_CHECK;

/*
 * Finds the lowest placement within the limits, at most problem->capacity high (INT64_MAX: any
 * height), and ends early when it is proven best. Otherwise does as vbs_place.
 */
enum vbs_status vbs_place_lowest(struct vbs_ctx *ctx, const struct vbs_place_problem *problem,
                                 const struct vbs_place_options *options,
                                 struct vbs_place_result **result) VBS_MUST_CHECK;

/* Frees a placement; null is allowed. */
void vbs_place_free(struct vbs_place_result *result);

/*
 * The CSV of Google's MiniMalloc: one buffer per row, columns by name, RFC 4180 quoting.
 *
 *   id         any text
 *   lower,upper  the steps [lower, upper) in which it lives
 *   size       bytes
 *   alignment  (may be missing) its offset is a multiple of this power of two; empty: any
 *   gaps       (may be missing) "A-B C-D@L:U": through the steps [A, B) it takes no bytes, through
 *              [C, D) only its bytes [L, U); separated by spaces, apart from each other
 *   hint       (may be missing) a preferred offset, or -1; kept in the output, without effect
 *   offset     (may be missing) where it is fixed; empty where it is not
 */
struct vbs_place_csv;

/* Reads the CSV in text, of length bytes; source names it in messages. VBS_FORMAT: the detail tells
 * the line. */
enum vbs_status vbs_place_csv_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                                    size_t length, struct vbs_place_csv **csv) VBS_MUST_CHECK;
/* Reads the CSV in the file at path ("-": standard input). */
enum vbs_status vbs_place_csv_read(struct vbs_ctx *ctx, const char *path,
                                   struct vbs_place_csv **csv) VBS_MUST_CHECK;
/* Frees the buffers and their problem; null is allowed. */
void vbs_place_csv_free(struct vbs_place_csv *csv);

/* Gives the problem of the CSV: item i is its ith row, and any height is allowed (capacity
 * INT64_MAX). It belongs to csv. */
const struct vbs_place_problem *vbs_place_csv_problem(const struct vbs_place_csv *csv);

/* Writes the same rows with offsets, in the column offset where there is one, else in a new last
 * column ("-": standard output). VBS_USAGE: the offsets are of another problem. */
enum vbs_status vbs_place_csv_write(struct vbs_ctx *ctx, const struct vbs_place_csv *csv,
                                    const struct vbs_place_result *result,
                                    const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
