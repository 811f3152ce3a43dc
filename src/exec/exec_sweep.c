#include "exec/exec_sweep.h"

#include "base/clock.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define STEPS     60000 /* of the search in one segment, at most */
#define FEW_STEPS 6000  /* where it is asked whether one stack more can stay */
#define MAX_ASKED 24    /* such questions of a segment */

/* An item of the whole problem. */
struct life {
    int64_t first, end; /* slots */
    int64_t base;       /* where its offset 0 is now; that of a stack may be negative */
    int64_t span;       /* bytes */
    bool moves;         /* it is a stack */
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
    int64_t live_bytes; /* at the cut; what a move would copy */
    int64_t low;        /* of its rects in the segment, if it is not to stay */
    int placed;         /* its item in the segment's problem; -1: none */
};

struct sweep {
    struct vbs_ctx *ctx;
    struct vbs_exec_stacks *stacks;
    const struct vbs_exec_buffers *buffers;
    struct life *lives; /* [n_items] */
    int *order;         /* [n_items] by their first slot */
    int next;           /* the next of them */
    int n_members, n_crossing;
    struct member *members; /* of the segment: those that cross its cut first */
    int64_t from, to;       /* the segment's first slot, the next one's */
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
    struct vbs_exec_moves moves;   /* of all cuts so far, those of the best last */
    int n_kept_moves;              /* of the cuts before */
    /* Of each stack's turns, in the order of time. */
    int64_t *first_base; /* [n_stacks] */
    int64_t *split_base; /* of the splits, as they are made */
    int max_split_bases;
};

/* ---- the beginning ---- */

static struct life life_of(const struct vbs_exec_buffers *buffers, int i, int n_stacks)
{
    const struct vbs_place_item *item = &buffers->items[i];
    struct life life = {.first = INT64_MAX, .end = -1, .moves = i < n_stacks};

    for (int64_t r = 0; r < item->n_rects; r++) {
        const struct vbs_place_rect *rect = &buffers->rects[item->first_rect + r];

        life.first = rect->lower < life.first ? rect->lower : life.first;
        life.end = rect->upper > life.end ? rect->upper : life.end;
        life.span = rect->offset + rect->size > life.span ? rect->offset + rect->size : life.span;
    }
    return life;
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

/* Resident weights, which never move and are there from first to last: at the bottom. */
static void place_residents(struct sweep *w, const struct vbs_exec_pieces *pieces)
{
    int64_t at = 0;

    for (int i = 0; i < pieces->n_pieces; i++) {
        int item = w->buffers->first_piece_item + pieces->item_of[pieces->pieces[i].load];
        int64_t alignment = w->buffers->items[item].alignment;

        if (!pieces->pieces[i].is_resident || w->lives[item].is_placed)
            continue;
        w->lives[item].is_placed = true;
        w->lives[item].base = (at + alignment - 1) / alignment * alignment;
        at = w->lives[item].base + w->lives[item].span;
    }
}

static bool begin(struct sweep *w)
{
    size_t n = (size_t)w->buffers->n_items;
    struct key *keys = malloc(n * sizeof *keys + 1);
    bool done = keys != NULL;

    w->lives = malloc(n * sizeof *w->lives + 1);
    w->order = malloc(n * sizeof *w->order + 1);
    w->members = malloc(n * sizeof *w->members + 1);
    w->items = malloc(n * sizeof *w->items + 1);
    w->best = malloc(n * sizeof *w->best + 1);
    w->bases = malloc(n * sizeof *w->bases + 1);
    w->blocks = malloc((size_t)w->buffers->n_rects * sizeof *w->blocks + 1);
    w->first_base = calloc((size_t)w->stacks->n_stacks + 1, sizeof *w->first_base);
    if (!done || !w->lives || !w->order || !w->members || !w->items || !w->best || !w->bases ||
        !w->blocks || !w->first_base) {
        free(keys);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        w->lives[i] = life_of(w->buffers, (int)i, w->stacks->n_stacks);
        keys[i] = (struct key){w->lives[i].first, (int)i};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_keys);
    for (size_t i = 0; i < n; i++)
        w->order[i] = keys[i].item;
    free(keys);
    return true;
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
    free(w->moves.moves);
    free(w->first_base);
    free(w->split_base);
}

/* ---- a segment's problem ---- */

static bool add_rect(struct sweep *w, int64_t lower, int64_t upper, int64_t offset, int64_t size)
{
    if (w->n_rects == w->max_rects) {
        int max = w->max_rects ? 2 * w->max_rects : 256;
        struct vbs_place_rect *rects = realloc(w->rects, (size_t)max * sizeof *rects);

        if (!rects)
            return false;
        w->rects = rects;
        w->max_rects = max;
    }
    w->rects[w->n_rects++] = (struct vbs_place_rect){lower, upper, offset, size};
    w->items[w->n_items - 1].n_rects++;
    return true;
}

static void begin_item(struct sweep *w, int64_t alignment, bool fixed, int64_t offset)
{
    w->items[w->n_items++] = (struct vbs_place_item){.first_rect = w->n_rects,
                                                     .alignment = fixed ? 1 : alignment,
                                                     .fixed = fixed,
                                                     .fixed_offset = offset};
}

/* The item's rects within slots from..to - 1, offsets less low. */
static bool add_clipped(struct sweep *w, int item, int64_t from, int64_t to, int64_t low)
{
    const struct vbs_place_item *whole = &w->buffers->items[item];
    bool done = true;

    for (int64_t r = 0; r < whole->n_rects && done; r++) {
        const struct vbs_place_rect *rect = &w->buffers->rects[whole->first_rect + r];
        int64_t lower = rect->lower > from ? rect->lower : from;
        int64_t upper = rect->upper < to ? rect->upper : to;

        if (lower < upper)
            done = add_rect(w, lower, upper, rect->offset - low, rect->size);
    }
    return done;
}

/* The least offset of an item's rects within slots from..to - 1; -1: it has none. */
static int64_t lowest_offset(const struct sweep *w, int item, int64_t from, int64_t to)
{
    const struct vbs_place_item *whole = &w->buffers->items[item];
    int64_t low = -1;

    for (int64_t r = 0; r < whole->n_rects; r++) {
        const struct vbs_place_rect *rect = &w->buffers->rects[whole->first_rect + r];

        if (rect->lower < to && rect->upper > from && (low < 0 || rect->offset < low))
            low = rect->offset;
    }
    return low;
}

/*
 * A member's item of the problem. Where what moves was is free for others: copies are made in an
 * order that allows it. What can never move keeps all its span free of its like at the end, as if
 * it were alive.
 */
static bool add_member(struct sweep *w, struct member *member)
{
    const struct life *life = &w->lives[member->item];
    int64_t alignment = w->buffers->items[member->item].alignment;
    int64_t low = lowest_offset(w, member->item, w->from, w->to);

    member->placed = -1;
    member->low = low;
    if (low < 0)
        return true;
    if (!life->moves)
        low = member->low = 0;
    member->placed = w->n_items;
    begin_item(w, alignment, member->part == STAYS, life->base + low);
    if (!add_clipped(w, member->item, w->from, w->to, low))
        return false;
    return life->moves || life->end <= w->to || add_rect(w, w->to, w->to + 1, 0, life->span);
}

/* Blocks that live at the cut, before and behind it by a placement of the segment. */
static int list_blocks(struct sweep *w, const int64_t *bases)
{
    int n = 0;

    for (int i = 0; i < w->n_crossing; i++) {
        const struct vbs_place_item *item = &w->buffers->items[w->members[i].item];
        int64_t base = w->lives[w->members[i].item].base;

        for (int64_t r = 0; r < item->n_rects; r++) {
            const struct vbs_place_rect *rect = &w->buffers->rects[item->first_rect + r];

            if (rect->lower > w->from || rect->upper <= w->from)
                continue;
            if (n > 0 && w->blocks[n - 1].from + w->blocks[n - 1].bytes == base + rect->offset &&
                w->blocks[n - 1].to + w->blocks[n - 1].bytes == bases[i] + rect->offset)
                w->blocks[n - 1].bytes += rect->size;
            else
                w->blocks[n++] = (struct vbs_exec_block){.from = base + rect->offset,
                                                         .to = bases[i] + rect->offset,
                                                         .bytes = rect->size};
        }
    }
    return n;
}

/* Takes a placement of the segment for the best, if its moves can be made. */
static enum vbs_status take(struct sweep *w, const struct vbs_place_result *result, bool *taken)
{
    int n_before = w->moves.n, n_moves;
    int64_t room = result->height_bytes > w->target_bytes ? result->height_bytes : w->target_bytes;
    enum vbs_status status;

    for (int i = 0; i < w->n_members; i++) {
        const struct member *member = &w->members[i];

        w->bases[i] = member->placed < 0 ? w->lives[member->item].base
                                         : result->offsets[member->placed] - member->low;
    }
    status = vbs_exec_order(w->ctx, w->blocks, list_blocks(w, w->bases), room, &w->moves, taken);
    if (status != VBS_OK || !*taken)
        return status;
    n_moves = w->moves.n - n_before;
    for (int i = 0; i < n_moves; i++) { /* instead of those of the best so far */
        w->moves.moves[w->n_kept_moves + i] = w->moves.moves[n_before + i];
        w->moves.moves[w->n_kept_moves + i].step = w->from / 2;
    }
    w->moves.n = w->n_kept_moves + n_moves;
    w->has_best = true;
    w->best_bytes = result->height_bytes;
    memcpy(w->best, w->bases, (size_t)w->n_members * sizeof *w->best);
    for (int i = 0; i < w->n_members; i++)
        w->members[i].best_part = w->members[i].part;
    return VBS_OK;
}

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
    if (status != VBS_OK && status != VBS_INFEASIBLE)
        return status == VBS_USAGE ? VBS_OK : status; /* what stays is in each other's way */
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

/* ---- which stacks move ---- */

static int compare_members(const void *left, const void *right)
{
    const struct member *a = left, *b = right;

    if (a->live_bytes != b->live_bytes)
        return a->live_bytes < b->live_bytes ? -1 : 1;
    return a->item - b->item;
}

static void free_stacks(struct sweep *w)
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

/* Those that need not move stay, the largest first: half of them at once, then fewer. */
static enum vbs_status keep_stacks(struct sweep *w)
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

static bool note_split(struct sweep *w, int stack, int64_t base)
{
    int n = w->stacks->n_splits;

    if (!vbs_exec_split(w->stacks, stack, w->from / 2))
        return false;
    if (n == w->max_split_bases) {
        int max = n ? 2 * n : 64;
        int64_t *bases = realloc(w->split_base, (size_t)max * sizeof *bases);

        if (!bases)
            return false;
        w->split_base = bases;
        w->max_split_bases = max;
    }
    w->split_base[n] = base;
    return true;
}

/* Everything is where the best placement has it. */
static enum vbs_status settle(struct sweep *w)
{
    for (int i = 0; i < w->n_members; i++) {
        struct life *life = &w->lives[w->members[i].item];
        bool is_new = w->members[i].best_part == FREE;

        if (is_new && w->members[i].item < w->stacks->n_stacks)
            w->first_base[w->members[i].item] = w->best[i];
        if (w->members[i].best_part == MOVES && w->best[i] != life->base &&
            !note_split(w, w->members[i].item, w->best[i]))
            return vbs_no_memory(w->ctx);
        life->base = w->best[i];
    }
    return VBS_OK;
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
        *member = (struct member){.item = item, .part = STAYS};
        if (w->lives[item].moves) {
            member->live_bytes = vbs_exec_stack_live_bytes(w->stacks, item, w->from);
            if (member->live_bytes == 0)
                member->part = MOVES;
        }
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
    w->moves.n = w->n_kept_moves;
    status = ask(w, STEPS, &fits);
    if (status == VBS_OK && !fits && w->n_crossing > 0) {
        free_stacks(w);
        status = ask(w, STEPS, &fits);
        if (status == VBS_OK && fits)
            status = keep_stacks(w);
    }
    return status == VBS_OK && !w->has_best ? VBS_INFEASIBLE : status;
}

/* Moves take place before this slot's step. Not before a load, which would not wait for them. */
static bool can_cut(const struct sweep *w, int64_t slot)
{
    const struct vbs_schedule *schedule = w->stacks->walk->schedule;

    return slot % 2 == 0 && slot / 2 < schedule->n_steps &&
           schedule->steps[slot / 2].op != VBS_STEP_LOAD;
}

/* The segment ends where least lives in it. False: it is as short as it can be. */
static bool shorten(struct sweep *w, const int64_t *load)
{
    int64_t best = -1;

    for (int64_t slot = w->from + 1; slot < w->to; slot++)
        if (can_cut(w, slot) && (best < 0 || load[slot] < load[best]))
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
        w->members[i].part =
            w->lives[w->members[i].item].moves && w->members[i].live_bytes == 0 ? MOVES : STAYS;
    return true;
}

/* As long as it is to be, or as far as it fits. */
static enum vbs_status place_segment(struct sweep *w, const int64_t *load)
{
    enum vbs_status status;

    gather(w);
    w->n_kept_moves = w->moves.n;
    do
        status = place_members(w);
    while (status == VBS_OK && w->best_bytes > w->target_bytes && shorten(w, load));
    if (status != VBS_OK)
        return status;
    if (w->best_bytes > w->target_bytes)
        w->target_bytes = w->best_bytes;
    return settle(w);
}

/* The first slot of the next segment: where least lives in a run in which no more than cut_bytes
 * do, behind a slot in which more does. */
static int64_t next_cut(const struct sweep *w, const int64_t *load, int64_t n_slots,
                        int64_t cut_bytes)
{
    int64_t best = -1, slot = w->from;

    while (slot < n_slots && load[slot] <= cut_bytes)
        slot++;
    while (slot < n_slots && load[slot] > cut_bytes)
        slot++;
    for (; slot < n_slots && load[slot] <= cut_bytes; slot++)
        if (can_cut(w, slot) && (best < 0 || load[slot] < load[best]))
            best = slot;
    return slot < n_slots && best > 0 ? best : n_slots;
}

static enum vbs_status place_segments(struct sweep *w, const int64_t *load, int64_t n_slots,
                                      int64_t cut_bytes)
{
    enum vbs_status status = VBS_OK;

    for (w->from = 0; w->from < n_slots && status == VBS_OK; w->from = w->to) {
        w->to = next_cut(w, load, n_slots, cut_bytes);
        status = place_segment(w, load);
    }
    return status;
}

/* ---- the end ---- */

/* Offsets of the items that stacks with splits give. */
static enum vbs_status write_offsets(struct sweep *w, const struct vbs_exec_pieces *pieces,
                                     struct vbs_exec_buffers *buffers, int64_t **result)
{
    struct vbs_exec_stacks *stacks = w->stacks;
    int n_stacks = stacks->n_stacks, n_others = buffers->n_items - n_stacks;
    int *turn = calloc((size_t)n_stacks + 1, sizeof *turn);
    int64_t *offsets =
        malloc(((size_t)buffers->n_items + (size_t)stacks->n_splits + 1) * sizeof *offsets);
    struct vbs_exec_split *made = malloc((size_t)stacks->n_splits * sizeof *made + 1);
    int n_made = stacks->n_splits;
    enum vbs_status status = turn && offsets && made ? VBS_OK : vbs_no_memory(w->ctx);

    if (status == VBS_OK) {
        if (n_made > 0)
            memcpy(made, stacks->splits, (size_t)n_made * sizeof *made);
        vbs_exec_splits_sort(stacks);
        status = vbs_exec_buffers_make(w->ctx, buffers, stacks, pieces);
    }
    for (int s = 0; s < n_stacks && status == VBS_OK; s++)
        offsets[buffers->stack_items[s]] = w->first_base[s];
    for (int i = 0; i < n_made && status == VBS_OK; i++)
        offsets[buffers->stack_items[made[i].stack] + ++turn[made[i].stack]] = w->split_base[i];
    for (int s = 0; s < n_stacks && status == VBS_OK; s++) /* bases are of the first place */
        for (int t = 0; t <= stacks->stacks[s].n_splits; t++)
            offsets[buffers->stack_items[s] + t] +=
                (vbs_exec_stack_turn_slots(stacks, s, t).low - stacks->stacks[s].first) *
                stacks->lines[stacks->stacks[s].line].sample_bytes;
    for (int i = 0; i < n_others && status == VBS_OK; i++)
        offsets[buffers->n_items - n_others + i] = w->lives[n_stacks + i].base;
    free(turn);
    free(made);
    if (status == VBS_OK)
        *result = offsets;
    else
        free(offsets);
    return status;
}

enum vbs_status vbs_exec_sweep(struct vbs_ctx *ctx, struct vbs_exec_stacks *stacks,
                               const struct vbs_exec_pieces *pieces,
                               struct vbs_exec_buffers *buffers, const int64_t *load,
                               int64_t n_slots, int64_t cut_bytes, int64_t target_bytes,
                               double limit_s, struct vbs_exec_swept *swept)
{
    struct sweep w = {.ctx = ctx,
                      .stacks = stacks,
                      .buffers = buffers,
                      .target_bytes = target_bytes,
                      .end_s = vbs_clock_s() + limit_s};
    enum vbs_status status = begin(&w) ? VBS_OK : vbs_no_memory(ctx);

    if (status == VBS_OK)
        place_residents(&w, pieces);
    if (status == VBS_OK)
        status = place_segments(&w, load, n_slots, cut_bytes);
    if (status == VBS_OK)
        status = write_offsets(&w, pieces, buffers, &swept->offsets);
    if (status == VBS_OK) {
        swept->height_bytes = 0;
        swept->moves = w.moves;
        w.moves = (struct vbs_exec_moves){0};
    }
    for (int i = 0; i < buffers->n_items && status == VBS_OK; i++) {
        const struct vbs_place_item *item = &buffers->items[i];

        for (int64_t r = 0; r < item->n_rects; r++) {
            const struct vbs_place_rect *rect = &buffers->rects[item->first_rect + r];
            int64_t end = swept->offsets[i] + rect->offset + rect->size;

            swept->height_bytes = end > swept->height_bytes ? end : swept->height_bytes;
        }
    }
    clear(&w);
    return status;
}

void vbs_exec_swept_clear(struct vbs_exec_swept *swept)
{
    free(swept->offsets);
    free(swept->moves.moves);
    *swept = (struct vbs_exec_swept){0};
}
