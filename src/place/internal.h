/*
 * The types and functions that the files of the offset allocation share. Internal to the room.
 *
 * A problem is first rewritten for the searches: bytes in units of their greatest common
 * divisor, steps as places in the list of all steps at which something begins or ends, items that
 * take no bytes left out, the others in the order of their begin. Two items that share a step
 * forbid each other's distances: offset(i) - offset(j) must not lie inside certain open intervals,
 * one or more for each such pair (several where rigid groups can reach into each other). The
 * searches know nothing else of rectangles but the sums of sections.
 */
#ifndef VBS_PLACE_INTERNAL_H
#define VBS_PLACE_INTERNAL_H

#include "base/arena.h"
#include "vbslab/place.h"

#include <stddef.h>

/* offset(item) - offset(other) is not in the open interval (low, high). */
struct place_arc {
    int other;
    int64_t low, high;
};

struct place_item {
    int origin;       /* in the problem */
    int lower, upper; /* of all its rectangles; places in the list of steps */
    int first_rect, n_rects;
    int64_t height; /* end of its highest rectangle */
    int64_t align;  /* 1 or more */
    int64_t fixed;  /* offset, or -1 */
    double life;    /* from its first step to its last, as the problem counts */
    double area;    /* sum of its rectangles */
};

/* A rectangle of an item; the rectangles of an item keep the order of the problem. */
struct place_rect {
    int lower, upper;
    int64_t offset, size;
};

/* A connected component: items that share steps, directly or through others. */
struct place_component {
    int first, n; /* items [first, first + n) */
    int64_t load;
    int64_t low;    /* no placement of the component is lower */
    int64_t height; /* of offsets, the best so far */
    int64_t greedy_height;
    enum vbs_place_method method; /* that found offsets */
    int64_t *offsets;             /* [n] */
    unsigned n_tries;             /* searches so far: they begin differently */
    struct place_orient *orient;
    struct place_stack *stack;
};

struct place_search {
    struct vbs_ctx *ctx;
    struct vbs_arena arena; /* what lives as long as this */
    int64_t unit;           /* bytes */
    int n_items, n_rects, n_components;
    struct place_item *items;
    struct place_rect *rects;
    int64_t *first_arc; /* [n_items + 1] */
    struct place_arc *arcs;
    struct place_component *components;

    /* The limits. */
    double start_s, end_s;
    int64_t n_steps, step_limit;
    int64_t next_look; /* n_steps at which the clock is read */
    struct vbs_progress progress;
    double report_s; /* when it is told next */
    bool over;       /* a limit is reached, or the caller asked to stop */
    uint64_t random;
};

enum place_answer {
    PLACE_UNKNOWN, /* within the steps given */
    PLACE_FOUND,   /* component->offsets is no higher than the target now */
    PLACE_REFUTED, /* there is no placement that low */
};

/* ---- prepare.c, pairs.c ---- */

/* Checks the problem and fills *search, which is {0} but for ctx; VBS_USAGE, VBS_UNSUPPORTED,
 * VBS_NO_MEMORY, VBS_INTERRUPTED. To be cleared in any case. */
enum vbs_status vbs_place_prepare(struct place_search *search,
                                  const struct vbs_place_problem *problem) VBS_MUST_CHECK;
void vbs_place_clear(struct place_search *search);

/* Fills the arcs, from items and rectangles. */
enum vbs_status vbs_place_pairs(struct place_search *search) VBS_MUST_CHECK;

/* The name of an item of the problem in messages; text has PLACE_NAME bytes. */
#define PLACE_NAME 64
const char *vbs_place_name(const struct vbs_place_problem *problem, int64_t item, char *text);

/* ---- sections.c ---- */

struct place_member {
    int item; /* of the component */
    int64_t offset, size;
};

/* Sections: steps whose sets of live items are maximal. At each other step a subset of the items of
 * some section lives. */
struct place_sections {
    int n;
    int64_t *first; /* [n + 1], of members */
    struct place_member *members;
    int *lower, *upper; /* [items of the component]: it lives in none but sections [lower, upper) */
};

/* VBS_NO_MEMORY. Lives in arena. */
enum vbs_status vbs_place_sections(const struct place_search *search,
                                   const struct place_component *component, struct vbs_arena *arena,
                                   struct place_sections *sections) VBS_MUST_CHECK;

/* ---- limits.c ---- */

/* The clock starts now. */
void vbs_place_set_limits(struct place_search *search, const struct vbs_place_options *options);

/* Counts steps; false once a limit is reached. */
bool vbs_place_step(struct place_search *search, int64_t n_steps);

/* A number below n, which is above 0. */
uint64_t vbs_place_random(struct place_search *search, uint64_t n);

/* Records offsets as the best of the component. They end at height at most, which is lower than the
 * height so far. */
void vbs_place_record(struct place_component *component, const int64_t *offsets, int64_t height,
                      enum vbs_place_method method);

static inline int64_t vbs_place_align(int64_t offset, int64_t align)
{
    return align == 1 ? offset : (offset + align - 1) / align * align;
}

/* ---- fit.c: orders, each item as low as it fits ---- */

/* The best of the fixed orders into the component; the first is tried whatever the limits. */
enum vbs_status vbs_place_greedy(struct place_search *search, struct place_component *component,
                                 int64_t target) VBS_MUST_CHECK;

/* Squeaky wheel: what ends above the target moves to the front of the order. */
enum vbs_status vbs_place_repair(struct place_search *search, struct place_component *component,
                                 int64_t target, int64_t n_steps,
                                 enum place_answer *answer) VBS_MUST_CHECK;

/* ---- stack.c: bottom up, for components of plain items that are not fixed ---- */

bool vbs_place_stack_suits(const struct place_search *search,
                           const struct place_component *component);
enum vbs_status vbs_place_stack(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps,
                                enum place_answer *answer) VBS_MUST_CHECK;
void vbs_place_stack_free(struct place_stack *stack);

/* ---- orient.c: which of two lies above ---- */

bool vbs_place_orient_suits(const struct place_search *search,
                            const struct place_component *component);
enum vbs_status vbs_place_orient(struct place_search *search, struct place_component *component,
                                 int64_t target, int64_t n_steps,
                                 enum place_answer *answer) VBS_MUST_CHECK;
/* From the best placement, much of which stays; never refutes. */
enum vbs_status vbs_place_relax(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps,
                                enum place_answer *answer) VBS_MUST_CHECK;
void vbs_place_orient_free(struct place_orient *orient);

#endif
