/*
 * The judge of layouts. A sweep over the slots: rectangles that end leave the list of living ones,
 * those that begin enter it at their address, and overlap a neighbour there or nothing.
 */
#include "exec/layout/layout.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* A rectangle at its address, while one relocation of its item holds. */
struct piece {
    int64_t lower, upper; /* slots */
    int64_t from, end;    /* bytes of the arena */
};

struct slot_sweep {
    struct piece *pieces;        /* [n] by lower */
    const struct piece **by_end; /* [n] by upper */
    const struct piece **living; /* [n_living] by address */
    size_t n, n_living;
};

/* ---- pieces ---- */

static bool is_aligned(const struct vbs_place_item *item, int64_t base)
{
    return item->alignment <= 1 || base % item->alignment == 0;
}

/* Appends the pieces of one relocation. Returns whether all are within the limit and aligned. */
static bool add_relocation(struct slot_sweep *sweep, const struct vbs_exec_layout *layout,
                           const struct vbs_exec_buffers *buffers, int relocation, int64_t limit)
{
    const struct vbs_exec_relocation *at = &layout->relocations[relocation];
    const struct vbs_place_item *item = &buffers->items[at->item];
    int64_t from = 2 * at->step, to = INT64_MAX;

    if (relocation + 1 < layout->first_relocation[at->item + 1])
        to = 2 * at[1].step;
    for (int64_t r = item->first_rect; r < item->first_rect + item->n_rects; r++) {
        const struct vbs_place_rect *rect = &buffers->rects[r];
        struct piece piece = {.lower = rect->lower > from ? rect->lower : from,
                              .upper = rect->upper < to ? rect->upper : to,
                              .from = at->base + rect->offset,
                              .end = at->base + rect->offset + rect->size};

        if (piece.lower >= piece.upper || rect->size == 0)
            continue;
        if (piece.from < 0 || piece.end > limit || !is_aligned(item, at->base))
            return false;
        sweep->pieces[sweep->n++] = piece;
    }
    return true;
}

/* Returns the most pieces that there can be: the rectangles of each item, once for each of its
 * relocations. */
static size_t count_pieces(const struct vbs_exec_layout *layout,
                           const struct vbs_exec_buffers *buffers)
{
    size_t n = 0;

    for (int t = 0; t < layout->n_relocations; t++)
        n += (size_t)buffers->items[layout->relocations[t].item].n_rects;
    return n;
}

/* Returns whether each item that has bytes has an address from step 0 on. */
static bool have_addresses(const struct vbs_exec_layout *layout,
                           const struct vbs_exec_buffers *buffers)
{
    if (layout->n_items != buffers->n_items || !layout->first_relocation)
        return false;
    for (int i = 0; i < layout->n_items; i++) {
        int first = layout->first_relocation[i];

        if (buffers->items[i].n_rects == 0)
            continue;
        if (first == layout->first_relocation[i + 1] || layout->relocations[first].step > 0)
            return false;
    }
    return true;
}

static bool are_moves_inside(const struct vbs_exec_moves *moves, int64_t limit)
{
    for (int m = 0; m < moves->n; m++) {
        const struct vbs_exec_move *move = &moves->moves[m];

        if (move->from < 0 || move->to < 0 || move->bytes > limit - move->from ||
            move->bytes > limit - move->to)
            return false;
    }
    return true;
}

/* ---- the sweep ---- */

static int compare_lower(const void *left, const void *right)
{
    const struct piece *a = left, *b = right;

    return (a->lower > b->lower) - (a->lower < b->lower);
}

static int compare_upper(const void *left, const void *right)
{
    const struct piece *a = *(const struct piece *const *)left;
    const struct piece *b = *(const struct piece *const *)right;

    return (a->upper > b->upper) - (a->upper < b->upper);
}

/* Returns the first living piece that begins at an address or above it. */
static size_t find_living(const struct slot_sweep *sweep, int64_t from)
{
    size_t low = 0, high = sweep->n_living;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (sweep->living[middle]->from < from)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void leave(struct slot_sweep *sweep, const struct piece *piece)
{
    size_t at = find_living(sweep, piece->from);

    sweep->n_living--;
    memmove(&sweep->living[at], &sweep->living[at + 1],
            (sweep->n_living - at) * sizeof *sweep->living);
}

/* Lets a piece live. Returns whether it overlaps none that does. */
static bool enter(struct slot_sweep *sweep, const struct piece *piece)
{
    size_t at = find_living(sweep, piece->from);

    if ((at > 0 && sweep->living[at - 1]->end > piece->from) ||
        (at < sweep->n_living && sweep->living[at]->from < piece->end))
        return false;
    memmove(&sweep->living[at + 1], &sweep->living[at],
            (sweep->n_living - at) * sizeof *sweep->living);
    sweep->living[at] = piece;
    sweep->n_living++;
    return true;
}

static bool are_apart(struct slot_sweep *sweep)
{
    size_t n_left = 0;

    if (sweep->n == 0)
        return true;
    qsort(sweep->pieces, sweep->n, sizeof *sweep->pieces, compare_lower);
    for (size_t i = 0; i < sweep->n; i++)
        sweep->by_end[i] = &sweep->pieces[i];
    qsort(sweep->by_end, sweep->n, sizeof *sweep->by_end, compare_upper);
    for (size_t i = 0; i < sweep->n; i++) {
        while (sweep->by_end[n_left]->upper <= sweep->pieces[i].lower)
            leave(sweep, sweep->by_end[n_left++]);
        if (!enter(sweep, &sweep->pieces[i]))
            return false;
    }
    return true;
}

/* ---- the whole ---- */

enum vbs_status vbs_exec_layout_verify(struct vbs_ctx *ctx, const struct vbs_exec_layout *layout,
                                       const struct vbs_exec_buffers *buffers, int64_t limit_bytes,
                                       bool *valid)
{
    struct slot_sweep sweep = {0};
    size_t most;

    *valid = have_addresses(layout, buffers) && are_moves_inside(&layout->moves, limit_bytes);
    if (!*valid)
        return VBS_OK;
    most = count_pieces(layout, buffers);
    sweep.pieces = malloc(most * sizeof *sweep.pieces + 1);
    sweep.by_end = malloc(most * sizeof *sweep.by_end + 1);
    sweep.living = malloc(most * sizeof *sweep.living + 1);
    if (sweep.pieces && sweep.by_end && sweep.living) {
        for (int t = 0; t < layout->n_relocations && *valid; t++)
            *valid = add_relocation(&sweep, layout, buffers, t, limit_bytes);
        *valid = *valid && are_apart(&sweep);
    }
    most = sweep.pieces && sweep.by_end && sweep.living;
    free(sweep.pieces);
    free(sweep.by_end);
    free(sweep.living);
    return most ? VBS_OK : vbs_no_memory(ctx);
}
