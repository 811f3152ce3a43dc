#include "exec/layout/segment.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define STEPS     20000 /* of the search in one segment, at most */
#define FEW_STEPS 4000  /* where it is asked whether some can stay */
#define MAX_ASKED 24    /* such questions of a segment */

/* ---- a segment's problem ---- */

static bool add_rect(struct sweep *w, const struct vbs_place_rect *rect)
{
    if (w->n_rects == w->max_rects) {
        int max = w->max_rects ? 2 * w->max_rects : 256;
        struct vbs_place_rect *rects = realloc(w->rects, (size_t)max * sizeof *rects);

        if (!rects)
            return false;
        w->rects = rects;
        w->max_rects = max;
    }
    w->rects[w->n_rects++] = *rect;
    w->items[w->n_items - 1].n_rects++;
    return true;
}

/* The least offset of an item's rects in the segment; -1: none lives in it. */
static int64_t lowest_offset(const struct sweep *w, const struct vbs_place_item *item)
{
    int64_t low = -1;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &w->buffers->rects[r];

        if (rect->lower < w->to && rect->upper > w->from && (low < 0 || rect->offset < low))
            low = rect->offset;
    }
    return low;
}

/* A member's item of the problem. Where what moves was is free for others: copies are made in an
 * order that allows it. */
static bool add_member(struct sweep *w, struct member *member)
{
    const struct vbs_place_item *whole = &w->buffers->items[member->item];
    int64_t alignment = whole->alignment, low = lowest_offset(w, whole);
    bool stays = member->part == STAYS;

    member->placed = -1;
    if (low < 0)
        return true;
    member->low = low / alignment * alignment;
    member->placed = w->n_items;
    w->items[w->n_items++] = (struct vbs_place_item){.first_rect = w->n_rects,
                                                     .alignment = stays ? 1 : alignment,
                                                     .fixed = stays,
                                                     .fixed_offset = member->base + member->low};
    for (int64_t r = whole->first_rect; r < whole->first_rect + whole->n_rects; r++) {
        struct vbs_place_rect rect = w->buffers->rects[r];

        rect.lower = rect.lower > w->from ? rect.lower : w->from;
        rect.upper = rect.upper < w->to ? rect.upper : w->to;
        rect.offset -= member->low;
        if (rect.lower < rect.upper && !add_rect(w, &rect))
            return false;
    }
    return true;
}

/* ---- moves ---- */

/* What is born at the cut is not there yet when others move. */
static bool lives_at_cut(const struct sweep *w, int64_t r)
{
    return w->buffers->rects[r].lower < w->from && w->buffers->rects[r].upper > w->from;
}

/* Blocks that live at the cut, where they were and where a placement of the segment has them. */
static int list_blocks(struct sweep *w)
{
    int n = 0;

    for (int i = 0; i < w->n_crossing; i++) {
        const struct vbs_place_item *item = &w->buffers->items[w->members[i].item];
        int64_t base = w->lives[w->members[i].item].base;

        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            const struct vbs_place_rect *rect = &w->buffers->rects[r];
            struct vbs_exec_block *last = n > 0 ? &w->blocks[n - 1] : NULL;

            if (!lives_at_cut(w, r))
                continue;
            if (last && last->from + last->bytes == base + rect->offset &&
                last->to + last->bytes == w->bases[i] + rect->offset)
                last->bytes += rect->size;
            else
                w->blocks[n++] = (struct vbs_exec_block){.from = base + rect->offset,
                                                         .to = w->bases[i] + rect->offset,
                                                         .bytes = rect->size};
        }
    }
    return n;
}

/* Loads that must have ended before what moves can: those that brought it. */
static int find_waits(const struct sweep *w)
{
    int waits = 0;

    for (int i = 0; i < w->n_crossing; i++) {
        const struct vbs_place_item *item = &w->buffers->items[w->members[i].item];

        if (w->bases[i] == w->lives[w->members[i].item].base)
            continue;
        for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
            int64_t piece = r - w->buffers->first_piece_rect;

            if (piece >= 0 && piece < w->buffers->n_piece_rects && lives_at_cut(w, r) &&
                w->pieces->pieces[piece].waits > waits)
                waits = w->pieces->pieces[piece].waits;
        }
    }
    return waits;
}

/* Takes a placement of the segment for the best, if its moves can be made and fewer bytes move than
 * in one that is no higher than the target either. */
static enum vbs_status take(struct sweep *w, const struct vbs_place_result *result, bool *taken)
{
    struct vbs_exec_moves *moves = &w->layout->moves;
    int n_before = moves->n, n_moves, waits;
    int64_t room = result->height_bytes > w->target_bytes ? result->height_bytes : w->target_bytes;
    int64_t moved = 0;
    enum vbs_status status;

    for (int i = 0; i < w->n_members; i++) {
        const struct member *member = &w->members[i];

        w->bases[i] = member->placed < 0 ? w->lives[member->item].base
                                         : result->offsets[member->placed] - member->low;
    }
    status = vbs_exec_order(w->ctx, w->blocks, list_blocks(w), room, moves, taken);
    if (status != VBS_OK || !*taken)
        return status;
    for (int i = n_before; i < moves->n; i++)
        moved += moves->moves[i].bytes;
    if (w->has_best && w->best_bytes <= w->target_bytes && moved >= w->best_moved) {
        moves->n = n_before;
        return VBS_OK;
    }
    n_moves = moves->n - n_before;
    waits = find_waits(w);
    for (int i = 0; i < n_moves; i++) { /* instead of those of the best so far */
        struct vbs_exec_move *move = &moves->moves[w->n_kept_moves + i];

        *move = moves->moves[n_before + i];
        move->step = w->from / 2;
        move->waits = waits;
    }
    moves->n = w->n_kept_moves + n_moves;
    w->has_best = true;
    w->best_bytes = result->height_bytes;
    w->best_moved = moved;
    memcpy(w->best, w->bases, (size_t)w->n_members * sizeof *w->best);
    for (int i = 0; i < w->n_members; i++)
        w->members[i].best_part = w->members[i].part;
    return VBS_OK;
}

/* *fits: the segment has a placement within the target with its members as they are now. The best
 * is kept whatever it is. VBS_INFEASIBLE: time is over. */
static enum vbs_status ask(struct sweep *w, int64_t n_steps, bool *fits)
{
    const struct vbs_place_options options = {.step_limit = n_steps,
                                              .time_limit_s = w->end_s - vbs_clock_s(),
                                              .decides = !w->is_shortest};
    struct vbs_place_problem problem = {.capacity = w->target_bytes};
    struct vbs_place_result *result = NULL;
    enum vbs_status status;

    *fits = false;
    w->n_items = w->n_rects = 0;
    for (int i = 0; i < w->n_members; i++)
        if (!add_member(w, &w->members[i]))
            return vbs_no_memory(w->ctx);
    problem.n_items = w->n_items;
    problem.items = w->items;
    problem.n_rects = w->n_rects;
    problem.rects = w->rects;
    if (options.time_limit_s <= 0)
        return VBS_INFEASIBLE;
    status = vbs_place(w->ctx, &problem, &options, &result);
    /* What stays is in each other's way, or there is too much of it. */
    if (status == VBS_USAGE || status == VBS_UNSUPPORTED)
        return VBS_OK;
    if (status != VBS_OK && status != VBS_INFEASIBLE)
        return status;
    if (status == VBS_OK || !w->has_best || result->height_bytes < w->best_bytes) {
        enum vbs_status taking = take(w, result, fits);

        *fits = *fits && status == VBS_OK;
        status = taking;
    } else {
        status = VBS_OK;
    }
    vbs_place_free(result);
    return status;
}

/* ---- what moves ---- */

static void free_all(struct sweep *w)
{
    for (int i = 0; i < w->n_crossing; i++)
        if (w->lives[w->members[i].item].moves)
            w->members[i].part = MOVES;
}

/* Takes members at..end - 1 that move for staying; how many there are. */
static int try_to_keep(struct sweep *w, int at, int end)
{
    int n = 0;

    for (int i = at; i < end; i++) {
        struct member *member = &w->members[i];

        member->is_asked = member->part == MOVES && member->live_bytes > 0;
        if (member->is_asked)
            member->part = STAYS;
        n += member->is_asked;
    }
    return n;
}

/* What need not move stays, the largest first: half of all at once, then fewer. */
static enum vbs_status keep_some(struct sweep *w)
{
    int n_asked = 0;

    for (int run = (w->n_crossing + 1) / 2; run >= 1; run /= 2)
        for (int end = w->n_crossing; end > 0; end -= run) {
            int at = end > run ? end - run : 0;
            bool fits;
            enum vbs_status status;

            if (try_to_keep(w, at, end) == 0)
                continue;
            if (n_asked++ == MAX_ASKED)
                return VBS_OK; /* parts are of no use any more, the best has its own */
            status = ask(w, FEW_STEPS, &fits);
            if (status != VBS_OK && status != VBS_INFEASIBLE)
                return status;
            for (int i = at; i < end && !fits; i++)
                if (w->members[i].is_asked)
                    w->members[i].part = MOVES;
        }
    return VBS_OK;
}

/* ---- pushing ---- */

struct pushed {
    int member;
    int64_t at; /* where what lives of it begins */
};

static int compare_pushed(const void *left, const void *right)
{
    const struct pushed *a = left, *b = right;

    return a->at < b->at ? -1 : a->at > b->at;
}

/* Those that live at the cut and can move, by where they are; *bottom: the end of the others. */
static int list_pushed(const struct sweep *w, struct pushed *pushed, int64_t *bottom)
{
    int n = 0;

    *bottom = 0;
    for (int i = 0; i < w->n_crossing; i++) {
        const struct member *member = &w->members[i];
        const struct life *life = &w->lives[member->item];

        if (member->live_bytes == 0)
            continue;
        if (life->moves)
            pushed[n++] = (struct pushed){i, life->base + member->from};
        else if (life->base + member->end > *bottom)
            *bottom = life->base + member->end;
    }
    if (n > 0)
        qsort(pushed, (size_t)n, sizeof *pushed, compare_pushed);
    return n;
}

/* The first n_down down as far as they go, the others up. */
static void push(struct sweep *w, const struct pushed *pushed, int n, int n_down, int64_t bottom)
{
    int64_t top = w->target_bytes;

    for (int i = 0; i < n_down; i++) {
        struct member *member = &w->members[pushed[i].member];
        int64_t alignment = w->buffers->items[member->item].alignment;
        int64_t low = member->from / alignment * alignment;

        member->part = STAYS;
        member->base = (bottom + alignment - 1) / alignment * alignment - low;
        bottom = member->base + member->end;
    }
    for (int i = n - 1; i >= n_down; i--) {
        struct member *member = &w->members[pushed[i].member];
        int64_t alignment = w->buffers->items[member->item].alignment;

        member->part = STAYS;
        member->base = (top - member->end) / alignment * alignment;
        if (top < member->end) /* rounded down */
            member->base = -((member->end - top + alignment - 1) / alignment * alignment);
        top = member->base + member->from;
    }
}

/* Keeps the order of what lives at the cut, so that it can be brought there whatever room there is,
 * and gathers free bytes at one place. */
static enum vbs_status push_all(struct sweep *w)
{
    struct pushed *pushed = malloc((size_t)w->n_crossing * sizeof *pushed + 1);
    int64_t bottom;
    enum vbs_status status = VBS_OK;
    int n;

    if (!pushed)
        return vbs_no_memory(w->ctx);
    n = list_pushed(w, pushed, &bottom);
    for (int n_down = n; n_down >= 0 && status == VBS_OK; n_down--) {
        bool fits;

        push(w, pushed, n, n_down, bottom);
        status = ask(w, FEW_STEPS, &fits);
    }
    free(pushed);
    return status;
}

/* ---- the whole ---- */

static void find_living(const struct sweep *w, struct member *member)
{
    const struct vbs_place_item *item = &w->buffers->items[member->item];

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &w->buffers->rects[r];

        if (!lives_at_cut(w, r))
            continue;
        if (member->live_bytes == 0 || rect->offset < member->from)
            member->from = rect->offset;
        if (rect->offset + rect->size > member->end)
            member->end = rect->offset + rect->size;
        member->live_bytes += rect->size;
    }
}

/* What nothing lives of at the cut can have any place behind it. */
static enum part first_part(const struct sweep *w, const struct member *member)
{
    return w->lives[member->item].moves && member->live_bytes == 0 ? MOVES : STAYS;
}

void vbs_segment_enter(const struct sweep *w, struct member *member)
{
    member->base = w->lives[member->item].base;
    find_living(w, member);
    member->part = first_part(w, member);
}

void vbs_segment_stay(struct sweep *w)
{
    for (int i = 0; i < w->n_crossing; i++) {
        w->members[i].base = w->lives[w->members[i].item].base;
        w->members[i].part = first_part(w, &w->members[i]);
    }
}

enum vbs_status vbs_segment_place(struct sweep *w)
{
    bool fits;
    enum vbs_status status;

    w->has_best = false;
    w->layout->moves.n = w->n_kept_moves;
    status = ask(w, STEPS, &fits);
    if (status == VBS_OK && !fits && w->n_crossing > 0) {
        free_all(w);
        status = ask(w, STEPS, &fits);
        if (status == VBS_OK && fits)
            status = keep_some(w);
        if (status == VBS_OK)
            status = push_all(w);
        vbs_segment_stay(w);
    }
    return status;
}
