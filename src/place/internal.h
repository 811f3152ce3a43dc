/*
 * The types and functions that the files of the offset allocation share. Internal to the room.
 *
 * A problem is first rewritten for the searches: bytes in units of their greatest common divisor,
 * steps as places in the list of all steps at which something begins or ends, without items that
 * take no bytes, the other items in the order of their begin. Two items that share a step forbid
 * each other's distances: offset(i) - offset(j) must not lie inside certain open intervals, one or
 * more for each such pair (several where rigid groups can reach into each other). All else that the
 * searches know of rectangles is the sums of sections.
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
    int origin;       /* index in the problem */
    int lower, upper; /* of all its rectangles: indices in the list of steps */
    int first_rect, n_rects;
    int64_t height; /* end of its highest rectangle */
    int64_t align;  /* at least 1 */
    int64_t fixed;  /* offset, or -1 */
    double life;    /* steps from its begin to its end, as the problem counts them */
    double area;    /* sum over its rectangles */
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
    int64_t height; /* of the best offsets so far */
    int64_t greedy_height;
    enum vbs_place_method method; /* the method that found the offsets */
    int64_t *offsets;             /* [n] */
    unsigned n_tries;             /* searches so far, each of which begins differently */
    struct place_orient *orient;
    struct place_stack *stack;
    struct place_embed *embed;
};

struct place_search {
    struct vbs_ctx *ctx;
    struct vbs_arena arena; /* memory that lives as long as the search */
    int64_t unit;           /* bytes */
    int n_items, n_rects, n_components;
    struct place_item *items;
    struct place_rect *rects;
    int64_t *first_arc; /* [n_items + 1] */
    struct place_arc *arcs;
    struct place_component *components;
    bool lowest; /* the lowest placement is wanted, else one that fits a capacity */

    /* The limits. */
    double start_s, end_s;
    int64_t n_steps, step_limit;
    int64_t next_look; /* the value of n_steps at which the clock is read next */
    struct vbs_progress progress;
    double report_s; /* time of the next report of progress */
    bool over;       /* a limit is reached, or the caller asked to stop */
    uint64_t random;
};

enum place_answer {
    PLACE_UNKNOWN, /* nothing was decided within the steps given */
    PLACE_FOUND,   /* component->offsets is now no higher than the target */
    PLACE_REFUTED, /* there is no placement that low */
};

/* ---- prepare.c, pairs.c ---- */

/* Checks the problem and fills *search, which is {0} but for ctx; VBS_USAGE, VBS_UNSUPPORTED,
 * VBS_NO_MEMORY, VBS_INTERRUPTED. Clear it after success and failure. */
enum vbs_status vbs_place_prepare(struct place_search *search,
                                  const struct vbs_place_problem *problem) VBS_MUST_CHECK;
void vbs_place_clear(struct place_search *search);

/* Fills the arcs from items and rectangles. */
enum vbs_status vbs_place_pairs(struct place_search *search) VBS_MUST_CHECK;

/* The name of an item of the problem in messages; text has PLACE_NAME bytes. */
#define PLACE_NAME 64
const char *vbs_place_name(const struct vbs_place_problem *problem, int64_t item, char *text);

/* ---- sections.c ---- */

struct place_member {
    int item; /* index in the component */
    int64_t offset, size;
};

/* Sections: steps whose sets of live items are maximal. At each other step a subset of the items of
 * some section lives. */
struct place_sections {
    int n;
    int64_t *first; /* [n + 1], ranges of members */
    struct place_member *members;
    int *lower, *upper; /* [items of the component]: the item lives only in sections [lower,
                           upper) */
};

/* Finds the sections of a component, in arena. VBS_NO_MEMORY. */
enum vbs_status vbs_place_sections(const struct place_search *search,
                                   const struct place_component *component, struct vbs_arena *arena,
                                   struct place_sections *sections) VBS_MUST_CHECK;

/* ---- limits.c ---- */

/* Sets the limits; the clock starts now. */
void vbs_place_set_limits(struct place_search *search, const struct vbs_place_options *options);

/* Counts steps; false once a limit is reached. */
bool vbs_place_step(struct place_search *search, int64_t n_steps);

/* Gives a random number below n, which is above 0. */
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

/* Fills the component with the best placement of the fixed orders. The first of these is computed
 * whatever the limits are. */
enum vbs_status vbs_place_greedy(struct place_search *search, struct place_component *component,
                                 int64_t target) VBS_MUST_CHECK;

/* Repairs orders ("squeaky wheel"): items that end above the target move to the front of the
 * order. */
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

/* ---- embed.c: without slack, for components of plain items that are neither fixed nor aligned
 * ---- */

bool vbs_place_embed_suits(const struct place_search *search,
                           const struct place_component *component);
/* Only the load is decided, and only where the living items fill it at every step. */
enum vbs_status vbs_place_embed(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps,
                                enum place_answer *answer) VBS_MUST_CHECK;
void vbs_place_embed_free(struct place_embed *embed);

/* ---- orient.c: which of two lies above ---- */

bool vbs_place_orient_suits(const struct place_search *search,
                            const struct place_component *component);
enum vbs_status vbs_place_orient(struct place_search *search, struct place_component *component,
                                 int64_t target, int64_t n_steps,
                                 enum place_answer *answer) VBS_MUST_CHECK;
/* Searches near the best placement, most of which is kept; never refutes a height. */
enum vbs_status vbs_place_relax(struct place_search *search, struct place_component *component,
                                int64_t target, int64_t n_steps,
                                enum place_answer *answer) VBS_MUST_CHECK;
void vbs_place_orient_free(struct place_orient *orient);

#endif
