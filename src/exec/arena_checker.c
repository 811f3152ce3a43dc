#include "exec/arena_checker.h"

#include "base/fail.h"
#include "exec/row_deaths.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN UINT64_C(0x7f8bad017f8bad01) /* two signalling NaNs */
#define WORD    ((int64_t)sizeof(uint64_t))
/* The bytes that may be looked at in a whole run, which takes some seconds. Where looking after
 * every step would be more, the checker looks only after every so many steps. */
#define MOST_BYTES ((int64_t)1 << 36)

enum { ARRIVES = 1, LEAVES = 2 };

struct vbs_exec_checker {
    const struct vbs_exec_arena *arena;
    int n_rects;
    struct vbs_place_rect *rects; /* offsets are in the arena */
    bool *is_resident;            /* [n_rects] the rect is in memory before the run */
    int *births, *deaths;         /* rects by their first slot; rects by the slot behind their
                                     last */
    int n_born, n_dead;           /* rects that were born, and that died, so far */
    unsigned char *alive;         /* [page_bytes] for each byte of the arena's pages, how many
                                     rects live there */
    unsigned char *relocations;   /* [n_rects] ARRIVES, LEAVES */
    int n_left, *left;            /* [n_rects] rects that have just left for another address */
    struct vbs_exec_row_deaths rows;
    int64_t n_dead_rows;   /* of these deaths, so far */
    int64_t origin;        /* offset of the arena in its pages */
    int64_t every, looked; /* steps between two looks; the last step after which the arena
                              was clean */
};

/* ---- bytes ---- */

static unsigned char pattern_at(const char *at)
{
    return (unsigned char)(PATTERN >> ((uintptr_t)at % 8 * 8));
}

static void fill_range(char *from, int64_t bytes)
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

/* Whether each of the eight bytes is above 0. */
static bool has_no_zero_byte(uint64_t word)
{
    return ((word - UINT64_C(0x0101010101010101)) & ~word & UINT64_C(0x8080808080808080)) == 0;
}

/* Whether the eight bytes from i on, the first of which is aligned, are all alive or all as they
 * were filled. Others are looked at one by one. */
static bool is_plain_word(const struct vbs_exec_checker *checker, int64_t i)
{
    uint64_t alive, there;

    memcpy(&alive, checker->alive + i, sizeof alive);
    if (alive != 0)
        return has_no_zero_byte(alive);
    memcpy(&there, checker->arena->low + i, sizeof there);
    return there == PATTERN;
}

/* Finds the first byte of from..to - 1 of the pages in which nothing lives and which is not as it
 * was filled; -1: there is none. */
static int64_t find_touched(const struct vbs_exec_checker *checker, int64_t from, int64_t to)
{
    const char *low = checker->arena->low;

    for (int64_t i = from; i < to;) {
        if ((uintptr_t)(low + i) % 8 == 0 && to - i >= WORD && is_plain_word(checker, i)) {
            i += WORD;
            continue;
        }
        if (!checker->alive[i] && (unsigned char)low[i] != pattern_at(low + i))
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

static bool sort_rects(struct vbs_exec_checker *checker)
{
    struct order *order = malloc((size_t)checker->n_rects * sizeof *order + 1);

    if (!order)
        return false;
    for (int pass = 0; pass < 2; pass++) {
        int *sorted = pass ? checker->deaths : checker->births;

        for (int i = 0; i < checker->n_rects; i++) /* in one slot, rects that arrive are born
                                                      first */
            order[i] = (struct order){pass ? checker->rects[i].upper
                                           : 2 * checker->rects[i].lower +
                                                 !(checker->relocations[i] & ARRIVES),
                                      i};
        qsort(order, (size_t)checker->n_rects, sizeof *order, compare);
        for (int i = 0; i < checker->n_rects; i++)
            sorted[i] = order[i].rect;
    }
    free(order);
    return true;
}

/* Appends the rects of an item in one of its relocations; returns their number. */
static int add_relocation(struct vbs_exec_checker *checker, const struct vbs_exec_fit *fit,
                          int relocation, int n)
{
    const struct vbs_exec_layout *layout = &fit->layout;
    const struct vbs_exec_relocation *at = &layout->relocations[relocation];
    const struct vbs_place_item *item = &fit->buffers.items[at->item];
    const struct vbs_exec_slots slots = vbs_exec_relocation_slots(layout, relocation);
    int first = n;

    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        struct vbs_place_rect rect = fit->buffers.rects[r];
        int64_t block = r - fit->buffers.first_block_rect;

        if (rect.lower >= slots.to || rect.upper <= slots.from)
            continue;
        checker->relocations[n] = (unsigned char)((rect.lower < slots.from ? ARRIVES : 0) |
                                                  (rect.upper > slots.to ? LEAVES : 0));
        checker->is_resident[n] = block >= 0 && block < fit->buffers.n_block_rects &&
                                  fit->blocks.blocks[block].is_resident;
        rect.lower = rect.lower > slots.from ? rect.lower : slots.from;
        rect.upper = rect.upper < slots.to ? rect.upper : slots.to;
        rect.offset += at->base;
        checker->rects[n++] = rect;
    }
    return n - first;
}

/* Counts the rects; one that lives in several relocations counts in each of them. */
static size_t count_rects(const struct vbs_exec_fit *fit)
{
    size_t n = 0;

    for (int i = 0; i < fit->buffers.n_items; i++)
        n += (size_t)fit->buffers.items[i].n_rects *
             (size_t)(fit->layout.first_relocation[i + 1] - fit->layout.first_relocation[i]);
    return n;
}

enum vbs_status vbs_exec_checker_new(struct vbs_ctx *ctx, const struct vbs_exec_fit *fit,
                                     const struct vbs_exec_arena *arena,
                                     struct vbs_exec_checker **result)
{
    struct vbs_exec_checker *checker = calloc(1, sizeof *checker);
    int64_t n_steps = fit->checked->schedule->n_steps;
    size_t n = count_rects(fit) + 1;
    enum vbs_status status;

    if (!checker)
        return vbs_no_memory(ctx);
    checker->arena = arena;
    checker->rects = malloc(n * sizeof *checker->rects);
    checker->is_resident = calloc(n, sizeof *checker->is_resident);
    checker->births = malloc(n * sizeof *checker->births);
    checker->deaths = malloc(n * sizeof *checker->deaths);
    checker->relocations = calloc(n, sizeof *checker->relocations);
    checker->left = malloc(n * sizeof *checker->left);
    checker->alive = malloc((size_t)arena->page_bytes + 1);
    if (checker->alive) /* its pages are touched now and count for the base */
        memset(checker->alive, 1, (size_t)arena->page_bytes + 1);
    checker->origin = arena->base - arena->low;
    checker->every = n_steps / (MOST_BYTES / (arena->page_bytes + 1) + 1) + 1;
    if (!checker->rects || !checker->is_resident || !checker->births || !checker->deaths ||
        !checker->relocations || !checker->left || !checker->alive) {
        vbs_exec_checker_free(checker);
        return vbs_no_memory(ctx);
    }
    for (int relocation = 0; relocation < fit->layout.n_relocations; relocation++)
        checker->n_rects += add_relocation(checker, fit, relocation, checker->n_rects);
    if (!sort_rects(checker)) {
        vbs_exec_checker_free(checker);
        return vbs_no_memory(ctx);
    }
    status = vbs_exec_row_deaths_find(ctx, fit, &checker->rows);
    if (status != VBS_OK) {
        vbs_exec_checker_free(checker);
        return status;
    }
    *result = checker;
    return VBS_OK;
}

void vbs_exec_checker_free(struct vbs_exec_checker *checker)
{
    if (!checker)
        return;
    free(checker->rects);
    free(checker->is_resident);
    free(checker->births);
    free(checker->deaths);
    free(checker->relocations);
    free(checker->left);
    free(checker->alive);
    free(checker->rows.list);
    free(checker);
}

/* ---- a run ---- */

void vbs_exec_checker_start(struct vbs_exec_checker *checker)
{
    const struct vbs_exec_arena *arena = checker->arena;

    checker->n_born = checker->n_dead = checker->n_left = 0;
    checker->n_dead_rows = 0;
    checker->looked = -1;
    memset(checker->alive, 0, (size_t)arena->page_bytes);
    for (int i = 0; i < checker->n_rects; i++)
        if (checker->is_resident[i])
            memset(checker->alive + checker->origin + checker->rects[i].offset, 1,
                   (size_t)checker->rects[i].size);
    for (int64_t i = 0, end; i < arena->page_bytes; i = end) {
        for (end = i; end < arena->page_bytes && checker->alive[end] == checker->alive[i];)
            end++;
        if (!checker->alive[i])
            fill_range(arena->low + i, end - i);
    }
}

static enum vbs_status refuse(struct vbs_ctx *ctx, const struct vbs_exec_checker *checker,
                              int64_t touched, int64_t step)
{
    int64_t first = checker->looked + 2, last = step + 1, offset = touched - checker->origin;
    char where[80];

    if (first >= last)
        snprintf(where, sizeof where, "step %" PRId64, last);
    else
        snprintf(where, sizeof where, "one of the steps %" PRId64 " to %" PRId64, first, last);
    return vbs_fail(ctx, VBS_LIBRARY,
                    "%s wrote where nothing lives: at byte %" PRId64 " of the arena's %" PRId64,
                    where, offset, checker->arena->bytes);
}

static bool arrives(const struct vbs_exec_checker *checker, int index)
{
    return (checker->relocations[index] & ARRIVES) != 0;
}

static enum vbs_status begin_lifetime(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                      int index, int64_t step)
{
    const struct vbs_place_rect *rect = &checker->rects[index];
    int64_t from = checker->origin + rect->offset, touched;
    unsigned char *alive = checker->alive + from;

    if (checker->is_resident[index])
        return VBS_OK;
    if (arrives(checker, index)) { /* other rects there may be about to leave */
        for (int64_t i = 0; i < rect->size; i++)
            alive[i]++;
        return VBS_OK;
    }
    if (memchr(alive, 1, (size_t)rect->size))
        return vbs_fail(ctx, VBS_LIBRARY,
                        "step %" PRId64 " needs %" PRId64 " bytes at %" PRId64
                        " of the arena, where something lives",
                        step + 1, rect->size, rect->offset);
    touched = find_touched(checker, from, from + rect->size);
    if (touched >= 0)
        return refuse(ctx, checker, touched, step);
    memset(alive, 1, (size_t)rect->size);
    return VBS_OK;
}

/* Fills the bytes of a range of the arena in which nothing lives. */
static void fill_dead(struct vbs_exec_checker *checker, int64_t offset, int64_t bytes)
{
    char *at = checker->arena->base + offset;
    const unsigned char *alive = checker->alive + checker->origin + offset;

    for (int64_t i = 0, end; i < bytes; i = end) {
        for (end = i + 1; end < bytes && !alive[end] == !alive[i];)
            end++;
        if (!alive[i])
            fill_range(at + i, end - i);
    }
}

static void end_lifetime(struct vbs_exec_checker *checker, int index)
{
    const struct vbs_place_rect *rect = &checker->rects[index];
    unsigned char *alive = checker->alive + checker->origin + rect->offset;

    for (int64_t i = 0; i < rect->size; i++)
        alive[i]--;
    if (checker->relocations[index] & LEAVES) /* it is still to be copied */
        checker->left[checker->n_left++] = index;
    else
        fill_range(checker->arena->base + rect->offset, rect->size);
}

enum vbs_status vbs_exec_checker_reach(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                       int64_t slot, bool has_moved)
{
    enum vbs_status status = VBS_OK;

    for (; checker->n_left > 0 && has_moved; checker->n_left--) {
        const struct vbs_place_rect *rect = &checker->rects[checker->left[checker->n_left - 1]];

        fill_dead(checker, rect->offset, rect->size);
    }
    while (status == VBS_OK) {
        int dead = checker->n_dead < checker->n_rects ? checker->deaths[checker->n_dead] : -1;
        int born = checker->n_born < checker->n_rects ? checker->births[checker->n_born] : -1;
        int64_t upper = dead >= 0 ? checker->rects[dead].upper : INT64_MAX;
        int64_t lower = born >= 0 ? checker->rects[born].lower : INT64_MAX;

        if (upper <= slot && upper <= lower) {
            end_lifetime(checker, dead);
            checker->n_dead++;
        } else if (lower < slot || (lower == slot && (has_moved || arrives(checker, born)))) {
            status = begin_lifetime(ctx, checker, born, slot / 2);
            checker->n_born++;
        } else {
            break;
        }
    }
    return status;
}

void vbs_exec_checker_moved(struct vbs_exec_checker *checker, const void *place, int64_t bytes)
{
    fill_dead(checker, (const char *)place - checker->arena->base, bytes);
}

enum vbs_status vbs_exec_checker_look(struct vbs_ctx *ctx, struct vbs_exec_checker *checker,
                                      int64_t step)
{
    int64_t touched;

    for (; checker->n_dead_rows < checker->rows.n &&
           checker->rows.list[checker->n_dead_rows].step == step;
         checker->n_dead_rows++) {
        const struct vbs_exec_row_death *death = &checker->rows.list[checker->n_dead_rows];

        fill_range(checker->arena->base + death->offset, death->bytes);
    }
    if (step - checker->looked < checker->every)
        return VBS_OK;
    touched = find_touched(checker, 0, checker->arena->page_bytes);
    if (touched >= 0)
        return refuse(ctx, checker, touched, step);
    checker->looked = step;
    return VBS_OK;
}
