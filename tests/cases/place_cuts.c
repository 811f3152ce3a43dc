#include "cases/place_cuts.h"

#include <stdlib.h>
#include <string.h>

#define SIDE      ((int64_t)1 << 40) /* of the square that is cut; its coordinates never coincide */
#define BYTE_CUTS 0.6                /* the share of cuts that separate bytes */
#define LEAST     0.1                /* a cut leaves this share of a rectangle on each side */

/* A rectangle of the square: [0] along the steps, [1] along the bytes. */
struct piece {
    int64_t lower[2], upper[2];
};

/* A line that grows from a point both ways along one axis. */
struct line {
    int axis;       /* along which it grows */
    int64_t at[2];  /* the point */
    int64_t end[2]; /* how far it has grown down and up, once it has met another line */
};

/* The meeting of a growing end of a line with the course of another one. */
struct meeting {
    int line, up, other;
    int64_t way, other_way; /* to the crossing */
};

static int64_t below(gsl_rng *rng, int64_t n)
{
    return (int64_t)(gsl_rng_uniform(rng) * (double)n);
}

static double area_of(const struct piece *piece)
{
    return (double)(piece->upper[0] - piece->lower[0]) *
           (double)(piece->upper[1] - piece->lower[1]);
}

/* ---- cuts from side to side ---- */

static void cut_guillotine(gsl_rng *rng, int n, struct piece *pieces)
{
    pieces[0] = (struct piece){.upper = {SIDE, SIDE}};
    for (int k = 1; k < n; k++) {
        struct piece *one = &pieces[below(rng, k)], *two = &pieces[below(rng, k)];
        int axis = gsl_rng_uniform(rng) < BYTE_CUTS;
        double share = LEAST + (1 - 2 * LEAST) * gsl_rng_uniform(rng);

        if (area_of(two) > area_of(one))
            one = two;
        pieces[k] = *one;
        one->upper[axis] = pieces[k].lower[axis] =
            one->lower[axis] + (int64_t)(share * (double)(one->upper[axis] - one->lower[axis]));
    }
}

/* ---- growing lines ---- */

static int by_way(const void *a, const void *b)
{
    const struct meeting *x = a, *y = b;

    return (x->way > y->way) - (x->way < y->way);
}

/* Lets lines grow until each end meets a line that was there before, or the side of the square. */
static void grow_lines(gsl_rng *rng, int n, struct line *lines)
{
    struct meeting *meetings = malloc((size_t)n * (size_t)n * sizeof *meetings + 1);
    size_t n_meetings = 0;

    for (int i = 0; i < n; i++) {
        lines[i] = (struct line){.axis = gsl_rng_uniform(rng) >= BYTE_CUTS,
                                 .at = {below(rng, SIDE), below(rng, SIDE)}};
        lines[i].end[0] = -1;
        lines[i].end[1] = SIDE + 1;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int axis = lines[i].axis;
            int64_t way = lines[j].at[axis] - lines[i].at[axis];
            int64_t other_way = lines[i].at[!axis] - lines[j].at[!axis];

            if (lines[j].axis != axis && llabs(other_way) < llabs(way))
                meetings[n_meetings++] = (struct meeting){i, way > 0, j, llabs(way), other_way};
        }
    qsort(meetings, n_meetings, sizeof *meetings, by_way);
    for (size_t m = 0; m < n_meetings; m++) {
        const struct meeting *meeting = &meetings[m];
        struct line *line = &lines[meeting->line];
        const struct line *other = &lines[meeting->other];
        int axis = line->axis;
        int64_t at = other->at[axis];
        bool grows = meeting->up ? line->end[1] > SIDE : line->end[0] < 0;

        if (grows && other->end[0] <= line->at[!axis] && line->at[!axis] <= other->end[1])
            line->end[meeting->up] = at;
    }
    free(meetings);
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Gives whether a line separates the cells on both sides of the coordinate `at` of an axis, at the
 * coordinate `beside` of the other axis. */
static bool is_cut(const struct line *lines, int n, int axis, int64_t at, int64_t beside)
{
    for (int i = 0; i < n; i++)
        if (lines[i].axis != axis && lines[i].at[axis] == at && lines[i].end[0] <= beside &&
            beside < lines[i].end[1])
            return true;
    return at == SIDE;
}

/* Finds the rectangles between the lines: from every lower corner to the next lines. */
static int find_pieces(const struct line *lines, int n, struct piece *pieces)
{
    int64_t *at[2] = {calloc((size_t)n + 2, sizeof **at), calloc((size_t)n + 2, sizeof **at)};
    int n_at[2] = {0, 0}, n_pieces = 0;
    bool *taken;

    for (int axis = 0; axis < 2; axis++) {
        at[axis][n_at[axis]++] = 0;
        for (int i = 0; i < n; i++)
            if (lines[i].axis != axis)
                at[axis][n_at[axis]++] = lines[i].at[axis];
        at[axis][n_at[axis]++] = SIDE;
        qsort(at[axis], (size_t)n_at[axis], sizeof **at, by_value);
    }
    taken = calloc((size_t)n_at[0] * (size_t)n_at[1], sizeof *taken);
    for (int y = 0; y + 1 < n_at[1]; y++)
        for (int x = 0; x + 1 < n_at[0]; x++) {
            int right = x + 1, top = y + 1;

            if (taken[y * n_at[0] + x])
                continue;
            while (!is_cut(lines, n, 0, at[0][right], at[1][y]))
                right++;
            while (!is_cut(lines, n, 1, at[1][top], at[0][x]))
                top++;
            for (int row = y; row < top; row++)
                memset(taken + row * n_at[0] + x, true, (size_t)(right - x) * sizeof *taken);
            pieces[n_pieces++] = (struct piece){{at[0][x], at[1][y]}, {at[0][right], at[1][top]}};
        }
    free(taken);
    free(at[0]);
    free(at[1]);
    return n_pieces;
}

static void cut_lines(gsl_rng *rng, int n, struct piece *pieces)
{
    struct line *lines = calloc((size_t)n, sizeof *lines);

    do
        grow_lines(rng, n - 1, lines);
    while (find_pieces(lines, n - 1, pieces) != n);
    free(lines);
}

/* ---- steps and bytes ---- */

/* Gives each coordinate of an axis its step or unit of bytes, in the same order, such that no piece
 * gets empty. */
static void rewrite(int axis, int64_t n_values, int n, struct piece *pieces)
{
    int64_t *at = calloc(2 * (size_t)n, sizeof *at), last = 0;
    struct piece *old = calloc((size_t)n, sizeof *old);

    memcpy(old, pieces, (size_t)n * sizeof *old);
    for (int p = 0; p < n; p++) {
        at[2 * p] = old[p].lower[axis];
        at[2 * p + 1] = old[p].upper[axis];
    }
    qsort(at, 2 * (size_t)n, sizeof *at, by_value);
    for (int k = 0; k < 2 * n; k++) {
        int64_t to, least = last;

        if (k > 0 && at[k] == at[k - 1])
            continue;
        for (int p = 0; p < n; p++) /* pieces that end here have begun before */
            if (old[p].upper[axis] == at[k] && pieces[p].lower[axis] >= least)
                least = pieces[p].lower[axis] + 1;
        to = (int64_t)((double)at[k] / (double)SIDE * (double)n_values + 0.5);
        last = to > least ? to : least;
        for (int p = 0; p < n; p++) {
            if (old[p].lower[axis] == at[k])
                pieces[p].lower[axis] = last;
            if (old[p].upper[axis] == at[k])
                pieces[p].upper[axis] = last;
        }
    }
    free(at);
    free(old);
}

struct place_cuts place_cuts_make(gsl_rng *rng, const struct place_cuts_kind *kind)
{
    size_t n = (size_t)kind->n_buffers;
    struct place_cuts cuts = {.items = calloc(n, sizeof *cuts.items),
                              .rects = calloc(n, sizeof *cuts.rects),
                              .offsets = calloc(n, sizeof *cuts.offsets)};
    struct piece *pieces = calloc(n, sizeof *pieces);

    if (kind->guillotine)
        cut_guillotine(rng, kind->n_buffers, pieces);
    else
        cut_lines(rng, kind->n_buffers, pieces);
    rewrite(0, kind->n_steps, kind->n_buffers, pieces);
    rewrite(1, kind->n_units, kind->n_buffers, pieces);
    for (int p = kind->n_buffers - 1; p >= 0; p--) {
        int64_t other = below(rng, p + 1);
        struct piece piece = pieces[other];

        pieces[other] = pieces[p];
        cuts.items[p] = (struct vbs_place_item){.first_rect = p, .n_rects = 1};
        cuts.rects[p] =
            (struct vbs_place_rect){piece.lower[0], piece.upper[0], 0,
                                    (piece.upper[1] - piece.lower[1]) * kind->unit_bytes};
        cuts.offsets[p] = piece.lower[1] * kind->unit_bytes;
        if (piece.upper[1] * kind->unit_bytes > cuts.problem.capacity)
            cuts.problem.capacity = piece.upper[1] * kind->unit_bytes;
    }
    cuts.problem.n_items = cuts.problem.n_rects = kind->n_buffers;
    cuts.problem.items = cuts.items;
    cuts.problem.rects = cuts.rects;
    free(pieces);
    return cuts;
}

void place_cuts_clear(struct place_cuts *cuts)
{
    free(cuts->items);
    free(cuts->rects);
    free(cuts->offsets);
}
