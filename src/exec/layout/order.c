#include "exec/layout/order.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

#define MAX_FRAGMENTS 256  /* of cut shifts, beyond one for each shift */
#define LEAST_RUN     4096 /* a block is cut only for at least so many bytes */

struct fragment {
    int64_t from, to, bytes;
    bool has_detoured;
};

struct byte_span {
    int64_t from, to;
};

struct ordering {
    struct fragment *fragments; /* moving fragments come first */
    int n_moving, n, max;
    struct byte_span *spans; /* [2 max] */
    int64_t limit_bytes;
    struct vbs_exec_moves *moves;
    bool failed; /* memory is out */
};

bool vbs_exec_moves_add(struct vbs_exec_moves *moves, const struct vbs_exec_move *move)
{
    if (vbs_grow(NULL, &moves->moves, &moves->max, moves->n + 1, sizeof *moves->moves) != VBS_OK)
        return false;
    moves->moves[moves->n++] = *move;
    return true;
}

/* ---- fragments ---- */

static void swap(struct ordering *o, int a, int b)
{
    struct fragment kept = o->fragments[a];

    o->fragments[a] = o->fragments[b];
    o->fragments[b] = kept;
}

/* Records that fragment i, a moving one, has reached its destination. */
static void arrive(struct ordering *o, int i)
{
    swap(o, i, --o->n_moving);
}

/* Cuts fragment i, a moving one, so that it keeps its first bytes bytes, and appends the rest as
 * the last moving fragment. False: there are too many. */
static bool cut_shift(struct ordering *o, int i, int64_t bytes)
{
    struct fragment rest = o->fragments[i];

    if (o->n == o->max)
        return false;
    rest.from += bytes;
    rest.to += bytes;
    rest.bytes -= bytes;
    o->fragments[i].bytes = bytes;
    o->fragments[o->n++] = rest;
    swap(o, o->n - 1, o->n_moving++);
    return true;
}

/* Copies fragment i to another address. False: memory is out. */
static bool copy(struct ordering *o, int i, int64_t to)
{
    struct fragment *fragment = &o->fragments[i];
    const struct vbs_exec_move move = {.from = fragment->from, .to = to, .bytes = fragment->bytes};

    fragment->from = to;
    o->failed = !vbs_exec_moves_add(o->moves, &move);
    return !o->failed;
}

/*
 * Gives how many bytes of a fragment can move now without touching another fragment: the first
 * bytes of one that moves down, the last bytes of one that moves up. Only the fragment itself can
 * overlap their destination, which copies allow.
 */
static int64_t free_run(const struct ordering *o, int i)
{
    const struct fragment *fragment = &o->fragments[i];
    int64_t low = fragment->to, high = fragment->to + fragment->bytes;

    for (int j = 0; j < o->n; j++) {
        const struct fragment *other = &o->fragments[j];

        if (j == i || other->from >= high || other->from + other->bytes <= low)
            continue;
        if (fragment->to < fragment->from)
            high = other->from;
        else
            low = other->from + other->bytes;
        if (high <= low)
            return 0;
    }
    return high - low;
}

/* ---- moving ---- */

/* Moves run bytes of the fragment. False: memory is out, or fragments are too many. */
static bool advance(struct ordering *o, int i, int64_t run)
{
    bool goes_down = o->fragments[i].to < o->fragments[i].from;

    if (run < o->fragments[i].bytes) {
        if (!cut_shift(o, i, goes_down ? run : o->fragments[i].bytes - run))
            return false;
        i = goes_down ? i : o->n_moving - 1;
    }
    if (!copy(o, i, o->fragments[i].to))
        return false;
    arrive(o, i);
    return true;
}

static int compare(const void *left, const void *right)
{
    const struct byte_span *a = left, *b = right;

    return a->from < b->from ? -1 : a->from > b->from;
}

/* Finds the largest run of bytes in which no fragment is or, where also_requested is set, is to
 * be. */
static struct byte_span find_free(const struct ordering *o, bool also_requested)
{
    struct byte_span best = {0, 0};
    int64_t end = 0;
    int n = 0;

    for (int i = 0; i < o->n; i++) {
        const struct fragment *fragment = &o->fragments[i];

        o->spans[n++] = (struct byte_span){fragment->from, fragment->from + fragment->bytes};
        if (also_requested)
            o->spans[n++] = (struct byte_span){fragment->to, fragment->to + fragment->bytes};
    }
    if (n > 0)
        qsort(o->spans, (size_t)n, sizeof *o->spans, compare);
    for (int i = 0; i <= n; i++) {
        int64_t from = i < n ? o->spans[i].from : o->limit_bytes;

        if (from - end > best.to - best.from)
            best = (struct byte_span){end, from};
        if (i < n && o->spans[i].to > end)
            end = o->spans[i].to;
    }
    return best;
}

/* Finds the smallest fragment that has made no detour so far; -1: all have. */
static int smallest(const struct ordering *o)
{
    int least = -1;

    for (int i = 0; i < o->n_moving; i++)
        if (!o->fragments[i].has_detoured &&
            (least < 0 || o->fragments[i].bytes < o->fragments[least].bytes))
            least = i;
    return least;
}

/* Copies a fragment out of the way of the others. False: none can make a detour, or memory is
 * out. */
static bool detour(struct ordering *o)
{
    int i = smallest(o);
    struct byte_span gap = find_free(o, true);

    if (i < 0)
        return false;
    if (gap.to - gap.from < o->fragments[i].bytes)
        gap = find_free(o, false);
    if (gap.to - gap.from < o->fragments[i].bytes &&
        (gap.to - gap.from < LEAST_RUN || !cut_shift(o, i, gap.to - gap.from)))
        return false;
    o->fragments[i].has_detoured = true;
    return copy(o, i, gap.from);
}

/* Orders the copies. False: no order is found, or memory is out. */
static bool order(struct ordering *o)
{
    while (o->n_moving > 0) {
        int64_t longest = 0;
        int best = -1;

        for (int i = 0; i < o->n_moving; i++) {
            int64_t run = free_run(o, i);

            if (run == o->fragments[i].bytes) {
                best = i;
                longest = run;
                break;
            }
            if (run >= LEAST_RUN && run > longest) {
                best = i;
                longest = run;
            }
        }
        if (!(best >= 0 ? advance(o, best, longest) : detour(o)))
            return false;
    }
    return true;
}

enum vbs_status vbs_exec_order(struct vbs_ctx *ctx, const struct vbs_exec_shift *shifts,
                               int n_shifts, int64_t limit_bytes, struct vbs_exec_moves *moves,
                               bool *done)
{
    int n_before = moves->n, max = n_shifts + MAX_FRAGMENTS;
    struct ordering o = {.max = max, .limit_bytes = limit_bytes, .moves = moves};
    enum vbs_status status = VBS_OK;

    o.fragments = malloc((size_t)max * sizeof *o.fragments);
    o.spans = malloc(2 * (size_t)max * sizeof *o.spans);
    if (!o.fragments || !o.spans)
        status = vbs_no_memory(ctx);
    for (int i = 0; i < n_shifts && status == VBS_OK; i++) {
        o.fragments[o.n++] =
            (struct fragment){shifts[i].from, shifts[i].to, shifts[i].bytes, false};
        if (shifts[i].from != shifts[i].to && shifts[i].bytes > 0)
            swap(&o, o.n - 1, o.n_moving++);
    }
    *done = status == VBS_OK && order(&o);
    if (!*done)
        moves->n = n_before;
    if (o.failed)
        status = vbs_no_memory(ctx);
    free(o.fragments);
    free(o.spans);
    return status;
}
