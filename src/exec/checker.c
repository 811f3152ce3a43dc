#include "exec/checker.h"

#include "base/fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN UINT64_C(0x7f8bad017f8bad01) /* two signalling NaNs */
#define WORD    ((int64_t)sizeof(uint64_t))
/* Bytes looked at in a whole run: some seconds. Of more, only every so many steps. */
#define MOST_BYTES ((int64_t)1 << 36)

enum { ARRIVES = 1, LEAVES = 2 };

struct vbs_exec_guard {
    const struct vbs_exec_arena *arena;
    int n_rects;
    struct vbs_place_rect *rects; /* offsets are of the arena */
    bool *is_resident;            /* [n_rects] there before the run */
    int *births, *deaths;         /* rects by their first slot, by the slot behind their last */
    int n_born, n_dead;           /* so far */
    unsigned char *lives;         /* [page_bytes] of the arena's pages: 1: alive */
    unsigned char *turns;         /* [n_rects] ARRIVES, LEAVES */
    int n_left, *left;            /* [n_rects] those that have just left for another place */
    int64_t origin;               /* of the arena in its pages */
    int64_t every, looked;        /* steps between looks; the last step known to be clean */
};

/* ---- bytes ---- */

static unsigned char pattern_at(const char *at)
{
    return (unsigned char)(PATTERN >> ((uintptr_t)at % 8 * 8));
}

static void fill(char *from, int64_t bytes)
{
    const uint64_t word = PATTERN;
    char *end = from + bytes;

    for (; from < end && (uintptr_t)from % 8 != 0; from++)
        *from = (char)pattern_at(from);
    for (; end - from >= WORD; from += WORD)
        memcpy(from, &word, sizeof word);
    for (; from < end; from++)
        *from = (char)pattern_at(from);
}

/* The first dead byte of from..to - 1 of the pages that is not as it was filled; -1: none. */
static int64_t find_touched(const struct vbs_exec_guard *guard, int64_t from, int64_t to)
{
    const char *low = guard->arena->low;
    uint64_t alive, there;

    for (int64_t i = from; i < to;) {
        if ((uintptr_t)(low + i) % 8 == 0 && to - i >= WORD) {
            memcpy(&alive, guard->lives + i, sizeof alive);
            if (alive == 0) {
                memcpy(&there, low + i, sizeof there);
                if (there == PATTERN) {
                    i += WORD;
                    continue;
                }
            }
        }
        if (!guard->lives[i] && (unsigned char)low[i] != pattern_at(low + i))
            return i;
        i++;
    }
    return -1;
}

/* ---- making one ---- */

struct order {
    int64_t slot;
    int rect;
};

static int compare(const void *left, const void *right)
{
    const struct order *a = left, *b = right;

    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return a->rect - b->rect;
}

static bool sort_rects(struct vbs_exec_guard *guard)
{
    struct order *order = malloc((size_t)guard->n_rects * sizeof *order + 1);

    if (!order)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        int *sorted = pass ? guard->deaths : guard->births;

        for (int i = 0; i < guard->n_rects; i++) /* in a slot those that arrive are born first */
            order[i] =
                (struct order){pass ? guard->rects[i].upper
                                    : 2 * guard->rects[i].lower + !(guard->turns[i] & ARRIVES),
                               i};
        qsort(order, (size_t)guard->n_rects, sizeof *order, compare);
        for (int i = 0; i < guard->n_rects; i++)
            sorted[i] = order[i].rect;
    }
    free(order);
    return true;
}

/* The rects of an item in one of its turns; returns how many there are. */
static int add_turn(struct vbs_exec_guard *guard, const struct vbs_exec_fit *fit, int turn, int n)
{
    const struct vbs_exec_layout *layout = &fit->layout;
    const struct vbs_exec_turn *at = &layout->turns[turn];
    const struct vbs_place_item *item = &fit->buffers.items[at->item];
    const struct vbs_exec_slots slots = vbs_exec_turn_slots(layout, turn);
    int first = n;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        struct vbs_place_rect rect = fit->buffers.rects[r];
        int64_t piece = r - fit->buffers.first_piece_rect;

        if (rect.lower >= slots.to || rect.upper <= slots.from)
            continue;
        guard->turns[n] = (unsigned char)((rect.lower < slots.from ? ARRIVES : 0) |
                                          (rect.upper > slots.to ? LEAVES : 0));
        guard->is_resident[n] = piece >= 0 && piece < fit->buffers.n_piece_rects &&
                                fit->pieces.pieces[piece].is_resident;
        rect.lower = rect.lower > slots.from ? rect.lower : slots.from;
        rect.upper = rect.upper < slots.to ? rect.upper : slots.to;
        rect.offset += at->base;
        guard->rects[n++] = rect;
    }
    return n - first;
}

/* How many rects there are with what is in several turns counted in each. */
static size_t count_rects(const struct vbs_exec_fit *fit)
{
    size_t n = 0;

    for (int i = 0; i < fit->buffers.n_items; i++)
        n += (size_t)fit->buffers.items[i].n_rects *
             (size_t)(fit->layout.first_turn[i + 1] - fit->layout.first_turn[i]);
    return n;
}

enum vbs_status vbs_exec_guard_new(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                   const struct vbs_exec_arena *arena,
                                   struct vbs_exec_guard **result)
{
    struct vbs_exec_guard *guard = calloc(1, sizeof *guard);
    int64_t n_steps = fit->walk->schedule->n_steps;
    size_t n = count_rects(fit) + 1;

    if (!guard)
        return vbs_no_memory(ctx);
    guard->arena = arena;
    guard->rects = malloc(n * sizeof *guard->rects);
    guard->is_resident = calloc(n, sizeof *guard->is_resident);
    guard->births = malloc(n * sizeof *guard->births);
    guard->deaths = malloc(n * sizeof *guard->deaths);
    guard->turns = calloc(n, sizeof *guard->turns);
    guard->left = malloc(n * sizeof *guard->left);
    guard->lives = malloc((size_t)arena->page_bytes + 1);
    guard->origin = arena->base - arena->low;
    guard->every = n_steps / (MOST_BYTES / (arena->page_bytes + 1) + 1) + 1;
    if (!guard->rects || !guard->is_resident || !guard->births || !guard->deaths || !guard->turns ||
        !guard->left || !guard->lives) {
        vbs_exec_guard_free(guard);
        return vbs_no_memory(ctx);
    }
    for (int turn = 0; turn < fit->layout.n_turns; turn++)
        guard->n_rects += add_turn(guard, fit, turn, guard->n_rects);
    if (!sort_rects(guard)) {
        vbs_exec_guard_free(guard);
        return vbs_no_memory(ctx);
    }
    *result = guard;
    return VBS_OK;
}

void vbs_exec_guard_free(struct vbs_exec_guard *guard)
{
    if (!guard)
        return;
    free(guard->rects);
    free(guard->is_resident);
    free(guard->births);
    free(guard->deaths);
    free(guard->turns);
    free(guard->left);
    free(guard->lives);
    free(guard);
}

/* ---- a run ---- */

void vbs_exec_guard_start(struct vbs_exec_guard *guard)
{
    const struct vbs_exec_arena *arena = guard->arena;

    guard->n_born = guard->n_dead = guard->n_left = 0;
    guard->looked = -1;
    memset(guard->lives, 0, (size_t)arena->page_bytes);
    for (int i = 0; i < guard->n_rects; i++)
        if (guard->is_resident[i])
            memset(guard->lives + guard->origin + guard->rects[i].offset, 1,
                   (size_t)guard->rects[i].size);
    for (int64_t i = 0, end; i < arena->page_bytes; i = end) {
        for (end = i; end < arena->page_bytes && guard->lives[end] == guard->lives[i];)
            end++;
        if (!guard->lives[i])
            fill(arena->low + i, end - i);
    }
}

static enum vbs_status refuse(struct vbs_ctx *ctx, const struct vbs_exec_guard *guard,
                              int64_t touched, int64_t step)
{
    int64_t first = guard->looked + 2, last = step + 1, offset = touched - guard->origin;
    char where[80];

    if (first >= last)
        snprintf(where, sizeof where, "step %" PRId64, last);
    else
        snprintf(where, sizeof where, "one of the steps %" PRId64 " to %" PRId64, first, last);
    return vbs_fail(ctx, VBS_LIBRARY,
                    "%s wrote where nothing lives: at byte %" PRId64 " of the arena's %" PRId64,
                    where, offset, guard->arena->bytes);
}

static bool arrives(const struct vbs_exec_guard *guard, int index)
{
    return (guard->turns[index] & ARRIVES) != 0;
}

static enum vbs_status begin_life(struct vbs_ctx *ctx, struct vbs_exec_guard *guard, int index,
                                  int64_t step)
{
    const struct vbs_place_rect *rect = &guard->rects[index];
    int64_t from = guard->origin + rect->offset, touched;
    unsigned char *lives = guard->lives + from;

    if (guard->is_resident[index])
        return VBS_OK;
    if (arrives(guard, index)) { /* where others may be about to leave */
        for (int64_t i = 0; i < rect->size; i++)
            lives[i]++;
        return VBS_OK;
    }
    if (memchr(lives, 1, (size_t)rect->size))
        return vbs_fail(ctx, VBS_LIBRARY,
                        "step %" PRId64 " needs %" PRId64 " bytes at %" PRId64
                        " of the arena, where something lives",
                        step + 1, rect->size, rect->offset);
    touched = find_touched(guard, from, from + rect->size);
    if (touched >= 0)
        return refuse(ctx, guard, touched, step);
    memset(lives, 1, (size_t)rect->size);
    return VBS_OK;
}

/* Fills what is dead of a range of the arena. */
static void fill_dead(struct vbs_exec_guard *guard, int64_t offset, int64_t bytes)
{
    char *at = guard->arena->base + offset;
    const unsigned char *lives = guard->lives + guard->origin + offset;

    for (int64_t i = 0, end; i < bytes; i = end) {
        for (end = i + 1; end < bytes && !lives[end] == !lives[i];)
            end++;
        if (!lives[i])
            fill(at + i, end - i);
    }
}

static void end_life(struct vbs_exec_guard *guard, int index)
{
    const struct vbs_place_rect *rect = &guard->rects[index];
    unsigned char *lives = guard->lives + guard->origin + rect->offset;

    for (int64_t i = 0; i < rect->size; i++)
        lives[i]--;
    if (guard->turns[index] & LEAVES) /* is still to be copied */
        guard->left[guard->n_left++] = index;
    else
        fill(guard->arena->base + rect->offset, rect->size);
}

enum vbs_status vbs_exec_guard_reach(struct vbs_ctx *ctx, struct vbs_exec_guard *guard,
                                     int64_t slot, bool has_moved)
{
    enum vbs_status status = VBS_OK;

    for (; guard->n_left > 0 && has_moved; guard->n_left--) {
        const struct vbs_place_rect *rect = &guard->rects[guard->left[guard->n_left - 1]];

        fill_dead(guard, rect->offset, rect->size);
    }
    while (status == VBS_OK) {
        int dead = guard->n_dead < guard->n_rects ? guard->deaths[guard->n_dead] : -1;
        int born = guard->n_born < guard->n_rects ? guard->births[guard->n_born] : -1;
        int64_t upper = dead >= 0 ? guard->rects[dead].upper : INT64_MAX;
        int64_t lower = born >= 0 ? guard->rects[born].lower : INT64_MAX;

        if (upper <= slot && upper <= lower) {
            end_life(guard, dead);
            guard->n_dead++;
        } else if (lower < slot || (lower == slot && (has_moved || arrives(guard, born)))) {
            status = begin_life(ctx, guard, born, slot / 2);
            guard->n_born++;
        } else {
            break;
        }
    }
    return status;
}

void vbs_exec_guard_moved(struct vbs_exec_guard *guard, const void *place, int64_t bytes)
{
    fill_dead(guard, (const char *)place - guard->arena->base, bytes);
}

enum vbs_status vbs_exec_guard_look(struct vbs_ctx *ctx, struct vbs_exec_guard *guard, int64_t step)
{
    int64_t touched;

    if (step - guard->looked < guard->every)
        return VBS_OK;
    touched = find_touched(guard, 0, guard->arena->page_bytes);
    if (touched >= 0)
        return refuse(ctx, guard, touched, step);
    guard->looked = step;
    return VBS_OK;
}
