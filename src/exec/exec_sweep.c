#include "exec/exec_sweep.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define STEPS         20000 /* of the search in one segment, at most */
#define FEW_STEPS     4000  /* where it is asked whether some can stay */
#define LEAST_HORIZON 4     /* new buffers of a segment */
#define MAX_ASKED     24    /* such questions of a segment */

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
    STAYS, /* where it is */
    MOVES  /* it leaves where it is */
};

struct member {
    int item;
    uint8_t part;       /* enum part */
    uint8_t best_part;  /* in the best placement of the segment */
    bool is_asked;      /* whether it can stay instead of moving */
    int64_t live_bytes; /* at the cut: what a move would copy */
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
    int64_t best_bytes;
    bool has_best;
    struct vbs_exec_block *blocks; /* what lives at the cut */
    int n_kept_moves;              /* of the cuts before; those of the best come last */
    struct vbs_exec_layout *layout;
};

/* ---- the beginning ---- */

static struct life life_of(const struct vbs_exec_buffers *buffers, int i)
{
    const struct vbs_place_item *item = &buffers->items[i];
    struct life life = {.first = INT64_MAX, .end = -1, .moves = true};

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &buffers->rects[r];

        life.first = rect->lower < life.first ? rect->lower : life.first;
        life.end = rect->upper > life.end ? rect->upper : life.end;
    }
    return life;
}

/* Resident weights, which never move: at the bottom. */
static void place_residents(struct sweep *w)
{
    int64_t at = 0;

    for (int i = 0; i < w->buffers->n_piece_rects; i++) {
        const struct vbs_exec_piece *piece = &w->pieces->pieces[i];
        int item = w->buffers->first_piece_item + w->pieces->item_of[piece->load];
        int64_t alignment = w->buffers->items[item].alignment;
        int64_t first = w->buffers->items[item].first_rect;

        if (!piece->is_resident || w->lives[item].is_placed)
            continue;
        w->lives[item].is_placed = true;
        w->lives[item].moves = false;
        w->lives[item].base = (at + alignment - 1) / alignment * alignment;
        for (int64_t r = first; r < first + w->buffers->items[item].n_rects; r++) {
            int64_t end =
                w->lives[item].base + w->buffers->rects[r].offset + w->buffers->rects[r].size;

            at = end > at ? end : at;
        }
    }
}

struct key {
    int64_t first;
    int item;
};

static int compare_keys(const void *left, const void *right)
{
    const struct key *a = left, *b = right;

    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return a->item - b->item;
}

static bool sort_items(struct sweep *w)
{
    size_t n = (size_t)w->buffers->n_items;
    struct key *keys = malloc(n * sizeof *keys + 1);

    if (!keys)
        return false;
    for (size_t i = 0; i < n; i++) {
        w->lives[i] = life_of(w->buffers, (int)i);
        keys[i] = (struct key){w->lives[i].first, (int)i};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        w->order[i] = keys[i].item;
    free(keys);
    return true;
}

static enum vbs_status begin(struct sweep *w)
{
    size_t n = (size_t)w->buffers->n_items;

    w->lives = malloc(n * sizeof *w->lives + 1);
    w->order = malloc(n * sizeof *w->order + 1);
    w->members = malloc(n * sizeof *w->members + 1);
    w->items = malloc(n * sizeof *w->items + 1);
    w->best = malloc(n * sizeof *w->best + 1);
    w->bases = malloc(n * sizeof *w->bases + 1);
    w->blocks = malloc((size_t)w->buffers->n_rects * sizeof *w->blocks + 1);
    if (!w->lives || !w->order || !w->members || !w->items || !w->best || !w->bases || !w->blocks ||
        !sort_items(w))
        return vbs_no_memory(w->ctx);
    place_residents(w);
    return VBS_OK;
}

static void clear(struct sweep *w)
{
    free(w->lives);
    free(w->order);
    free(w->members);
    free(w->items);
    free(w->rects);
    free(w->best);
    free(w->bases);
    free(w->blocks);
}

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
    w->items[w->n_items++] =
        (struct vbs_place_item){.first_rect = w->n_rects,
                                .alignment = stays ? 1 : alignment,
                                .fixed = stays,
                                .fixed_offset = w->lives[member->item].base + member->low};
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

static bool lives_at_cut(const struct sweep *w, int64_t r)
{
    return w->buffers->rects[r].lower <= w->from && w->buffers->rects[r].upper > w->from;
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

        if (w->members[i].part != MOVES)
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

/* Takes a placement of the segment for the best, if its moves can be made. */
static enum vbs_status take(struct sweep *w, const struct vbs_place_result *result, bool *taken)
{
    struct vbs_exec_moves *moves = &w->layout->moves;
    int n_before = moves->n, n_moves, waits;
    int64_t room = result->height_bytes > w->target_bytes ? result->height_bytes : w->target_bytes;
    enum vbs_status status;

    for (int i = 0; i < w->n_members; i++) {
        const struct member *member = &w->members[i];

        w->bases[i] = member->placed < 0 ? w->lives[member->item].base
                                         : result->offsets[member->placed] - member->low;
    }
    status = vbs_exec_order(w->ctx, w->blocks, list_blocks(w), room, moves, taken);
    if (status != VBS_OK || !*taken)
        return status;
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
                                              .time_limit_s = w->end_s - vbs_clock_s()};
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
    if (status == VBS_USAGE) /* what stays is in each other's way */
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

/* ---- segments ---- */

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->live_bytes != b->live_bytes)
        return a->live_bytes < b->live_bytes ? -1 : 1;
    return a->item - b->item;
}

static int64_t live_bytes(const struct sweep *w, int index)
{
    const struct vbs_place_item *item = &w->buffers->items[index];
    int64_t bytes = 0;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++)
        bytes += lives_at_cut(w, r) ? w->buffers->rects[r].size : 0;
    return bytes;
}

/* What nothing lives of at the cut can have any place behind it. */
static enum part first_part(const struct sweep *w, const struct member *member)
{
    return w->lives[member->item].moves && member->live_bytes == 0 ? MOVES : STAYS;
}

/* Those that still live at the segment's beginning come first, by what they have to copy. */
static void gather(struct sweep *w)
{
    int n = 0;

    for (int i = 0; i < w->n_members; i++) {
        struct member *member = &w->members[n];
        int item = w->members[i].item;

        if (w->lives[item].end <= w->from)
            continue;
        *member = (struct member){.item = item, .live_bytes = live_bytes(w, item)};
        member->part = first_part(w, member);
        n++;
    }
    w->n_crossing = n;
    if (n > 0)
        qsort(w->members, (size_t)n, sizeof *w->members, compare_members);
    for (; w->next < w->buffers->n_items; w->next++) {
        int item = w->order[w->next];

        if (w->lives[item].first >= w->to)
            break;
        w->members[n++] =
            (struct member){.item = item, .part = w->lives[item].is_placed ? STAYS : FREE};
    }
    w->n_members = n;
}

static enum vbs_status place_members(struct sweep *w)
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
    }
    return status;
}

/* The segment ends where least lives in it. False: it is as short as it can be. */
static bool shorten(struct sweep *w)
{
    int64_t best = -1;

    for (int64_t slot = w->from + 2; slot < w->to; slot += 2)
        if (best < 0 || w->load[slot] < w->load[best])
            best = slot;
    if (best < 0)
        return false;
    w->to = best;
    while (w->n_members > w->n_crossing &&
           w->lives[w->members[w->n_members - 1].item].first >= best) {
        w->n_members--;
        w->next--;
    }
    for (int i = 0; i < w->n_crossing; i++)
        w->members[i].part = first_part(w, &w->members[i]);
    return true;
}

/* Everything is where the best placement has it. */
static enum vbs_status settle(struct sweep *w)
{
    for (int i = 0; i < w->n_members; i++) {
        const struct member *member = &w->members[i];
        struct life *life = &w->lives[member->item];
        bool is_new = i >= w->n_crossing;

        if ((is_new || (member->best_part == MOVES && w->best[i] != life->base)) &&
            !vbs_exec_layout_add(w->layout, member->item, is_new ? 0 : w->from / 2, w->best[i]))
            return vbs_no_memory(w->ctx);
        life->base = w->best[i];
    }
    if (w->best_bytes > w->target_bytes)
        w->target_bytes = w->best_bytes;
    return VBS_OK;
}

/* The first slot of the next segment: where least lives in the second half of the horizon. */
static int64_t next_cut(const struct sweep *w)
{
    int far = w->next + w->horizon, near = w->next + w->horizon / 2;
    int64_t best = -1, first, last;

    if (far >= w->buffers->n_items || w->lives[w->order[far]].first >= w->n_slots)
        return w->n_slots;
    first = w->lives[w->order[near]].first;
    last = w->lives[w->order[far]].first;
    if (first < w->from + 2)
        first = w->from + 2;
    for (int64_t slot = first + first % 2; slot <= last || best < 0; slot += 2) {
        if (slot >= w->n_slots)
            return w->n_slots;
        if (best < 0 || w->load[slot] < w->load[best])
            best = slot;
    }
    return best;
}

/* As long as it is to be, or as far as it fits. */
static enum vbs_status place_segment(struct sweep *w)
{
    enum vbs_status status;

    w->to = next_cut(w);
    gather(w);
    w->n_kept_moves = w->layout->moves.n;
    w->horizon = 2 * w->horizon < w->most_horizon ? 2 * w->horizon : w->most_horizon;
    for (;;) {
        int n_new;

        status = place_members(w);
        if (status != VBS_OK || (w->has_best && w->best_bytes <= w->target_bytes) || !shorten(w))
            break;
        n_new = w->n_members - w->n_crossing;
        w->horizon = 2 * n_new > LEAST_HORIZON ? 2 * n_new : LEAST_HORIZON;
    }
    if (status == VBS_OK && !w->has_best) /* no order of moves was found, and all must move */
        return VBS_INFEASIBLE;
    return status == VBS_OK ? settle(w) : status;
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_sweep(struct vbs_ctx *ctx, const struct vbs_exec_sweep *sweep,
                               struct vbs_exec_layout *layout)
{
    struct sweep w = {.ctx = ctx,
                      .buffers = sweep->buffers,
                      .pieces = sweep->pieces,
                      .load = sweep->load,
                      .n_slots = sweep->n_slots,
                      .target_bytes = sweep->target_bytes,
                      .horizon = sweep->horizon,
                      .most_horizon = sweep->horizon,
                      .end_s = vbs_clock_s() + sweep->limit_s,
                      .layout = layout};
    enum vbs_status status = begin(&w);

    for (w.from = 0; w.from < w.n_slots && status == VBS_OK; w.from = w.to)
        status = place_segment(&w);
    for (int i = w.next; i < sweep->buffers->n_items && status == VBS_OK; i++) /* without bytes */
        if (!vbs_exec_layout_add(layout, w.order[i], 0, 0))
            status = vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = vbs_exec_layout_finish(ctx, layout, sweep->buffers);
    clear(&w);
    return status;
}
