/*
 * Choosing tiles, chunks and parts: every way to cut the positions is priced by a model of cycles,
 * and the cheapest one whose slab and sums stay in the cache is taken.
 */
#include "coded/layer/layer.h"

#include "base/arith.h"

#include <math.h>

#define LINE_FLOATS      16          /* of a line of the cache */
#define SLAB_BYTES       (288 << 10) /* of a part, at most, where tiles can be small enough */
#define SUMS_BYTES       (800 << 10) /* of a part, at most, where chunks can be small enough */
#define DENSE_BYTES      (1 << 20)   /* the same for products of dense matrices, with the copy */
#define MOST_SLAB_FLOATS (INT32_MAX / 8)
#define MOST_CUTS        64  /* of a line of positions */
#define MOST_SIDE        128 /* samples of an inner product side by side */
#define DECODE_FROM      3   /* spans for which decoding bytes pays */

/* Cycles of a processor with AVX2, measured. */
#define ENTRY_CYCLES  0.7  /* of an entry that is decoded, beside the multiplications of its span */
#define LINEAR_CYCLES 1.0  /* of one in bytes */
#define BYTES_CYCLES  2.5  /* of one in bytes, with offsets in a table */
#define FUSED_CYCLES  4.0  /* of one that is multiplied when it is decoded */
#define ROW_CYCLES    16.0 /* of a row of a block and a span */
#define COPY_CYCLES   1.5  /* of a float of a slab */
#define FINISH_CYCLES 0.8  /* of an output */
#define NEAR_BYTES    (22 << 10) /* that a span reads of a slab from the first cache */
#define FAR_CYCLES    0.9        /* of a vector from the second, more than from the first */

/* Cycles in which an entry is decoded, by coding. */
static const double DECODE_CYCLES[VBS_N_CODINGS] = {12, 9, 3};

static int64_t divided(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Fills what follows from the side, height and width of tiles. sum_lines is 0 where a line does not
 * fit a span, or offsets into a slab would not fit 32 bits. */
static void set_pitches(const struct vbs_coded_plan *plan, struct vbs_coded_geometry *g)
{
    int64_t lanes = plan->processor->lanes, columns = plan->layer.coded->header.block_columns;
    int64_t channels =
        least(divided(columns - 1, g->window) + 1, plan->layer.coded->header.n_columns / g->window);

    g->n_sides = divided(plan->layer.batch, g->side);
    g->n_down = divided(g->out_size[1], g->height);
    g->n_over = divided(g->out_size[2], g->width);
    g->n_tiles = g->n_sides * g->out_size[0] * g->n_down * g->n_over;
    g->line_pitch = (g->width + g->reach[2]) * g->side;
    g->plane_pitch = g->line_pitch * (g->height + g->reach[1]);
    g->sum_lines = 0;
    if ((double)g->plane_pitch * (double)g->planes[0] * (double)g->planes[1] *
            (double)g->planes[2] * (double)channels >
        MOST_SLAB_FLOATS)
        return;
    g->channel_pitch = g->plane_pitch * g->planes[0] * g->planes[1] * g->planes[2];
    g->slab_floats = g->channel_pitch * channels + VBS_CODED_BEHIND_SLAB;
    g->sum_lines = g->height;
    if (plan->layer.method == VBS_CODED_DENSE) {
        g->sum_pitch = g->width * g->side;
        g->group_floats = g->height * g->sum_pitch;
    } else if (g->flat) {
        g->sum_pitch = g->line_pitch;
        g->group_floats =
            divided((g->height - 1) * g->line_pitch + g->width * g->side, lanes) * lanes;
    } else {
        g->sum_pitch = divided(g->width * g->side, lanes) * lanes;
        g->sum_lines =
            least(g->height, least(plan->processor->most_lines,
                                   plan->processor->most_vectors * lanes / g->sum_pitch));
        g->group_floats = g->sum_lines * g->sum_pitch;
    }
    if (g->sum_lines > 0)
        g->row_floats = divided(g->height, g->sum_lines) * g->group_floats;
}

/* The bytes of a slab, and of its copy for products of dense matrices. */
static int64_t slab_bytes(const struct vbs_coded_plan *plan, const struct vbs_coded_geometry *g)
{
    int64_t floats = g->slab_floats;

    if (plan->layer.method == VBS_CODED_DENSE && vbs_coded_has_columns(g))
        floats += plan->layer.coded->header.block_columns * g->row_floats;
    return floats * (int64_t)sizeof(float);
}

/* The share of loads of a vector that cross a line of the cache: addresses are multiples of side
 * floats. */
static double crossing(int64_t side, int64_t lanes)
{
    int64_t step = vbs_gcd(side, LINE_FLOATS), n = 0, n_crossing = 0;

    for (int64_t at = 0; at < LINE_FLOATS; at += step, n++)
        n_crossing += at + lanes > LINE_FLOATS;
    return (double)n_crossing / (double)n;
}

/* The spans that a tile is cut into. */
struct tile_spans {
    double n_vectors, n_spans;
    int64_t lines, vectors; /* of the largest */
};

static struct tile_spans spans_of(const struct vbs_coded_processor *processor,
                                  const struct vbs_coded_geometry *g)
{
    int64_t lines = g->flat ? 1 : g->height, at_once = g->flat ? 1 : g->sum_lines;
    int64_t vectors = divided(g->flat ? g->row_floats : g->sum_pitch, processor->lanes);
    int64_t pieces = divided(vectors, processor->most_vectors);

    return (struct tile_spans){.n_vectors = (double)(lines * vectors),
                               .n_spans = (double)(pieces * divided(lines, at_once)),
                               .lines = at_once,
                               .vectors = divided(vectors, pieces)};
}

/* Gives the bytes of a slab that one span reads. */
static double span_bytes(const struct vbs_coded_plan *plan, const struct vbs_coded_geometry *g,
                         const struct tile_spans *spans)
{
    double floats = (double)(spans->vectors * plan->processor->lanes + g->reach[2] * g->side) *
                    (double)(spans->lines + g->reach[1]);

    return floats * (double)(g->planes[0] * g->planes[1] * g->planes[2]) *
           (double)plan->layer.coded->header.block_columns / (double)g->window * sizeof(float);
}

/* Gives the cycles of a vector of a span: 2 are multiplied in one, where they lie in the first
 * cache and in one line of it each. */
static double vector_cycles(const struct vbs_coded_plan *plan, const struct vbs_coded_geometry *g,
                            const struct tile_spans *spans)
{
    double bytes = span_bytes(plan, g, spans);
    double cycles = 0.5 * (1 + crossing(g->side, plan->processor->lanes));

    return bytes <= NEAR_BYTES ? cycles : cycles + FAR_CYCLES * (1 - NEAR_BYTES / bytes);
}

static bool has_to_decode(const struct vbs_coded_plan *plan, const struct tile_spans *spans)
{
    if (plan->fuses)
        return false;
    return plan->layer.coded->header.coding != VBS_CODING_BYTES ||
           (plan->layer.n_spatial > 0 && spans->n_spans >= DECODE_FROM);
}

/* Gives the cycles of the largest part. */
static double price(const struct vbs_coded_plan *plan, const struct vbs_coded_geometry *g)
{
    const struct vbs_coded_header *header = &plan->layer.coded->header;
    struct tile_spans spans = spans_of(plan->processor, g);
    double rows = (double)divided(header->n_rows, g->n_row_parts);
    double tiles = (double)divided(g->n_tiles, g->n_tile_parts);
    double entries = (double)header->n_entries / (double)header->n_rows;
    double blocks = (double)plan->layer.coded->n_block_columns, entry, row, slab;

    entry = spans.n_vectors * vector_cycles(plan, g, &spans);
    if (plan->fuses)
        entry += spans.n_spans * FUSED_CYCLES;
    else if (has_to_decode(plan, &spans))
        entry += DECODE_CYCLES[header->coding] + spans.n_spans * ENTRY_CYCLES;
    else
        entry += spans.n_spans * (plan->layer.n_spatial == 0 ? LINEAR_CYCLES : BYTES_CYCLES);
    row = entries * entry + blocks * (spans.n_spans * ROW_CYCLES + spans.n_vectors) +
          (double)g->row_floats * FINISH_CYCLES;
    slab = (double)(g->channel_pitch * (header->n_columns / g->window)) * COPY_CYCLES *
           ceil(rows / (double)g->chunk_rows);
    return tiles * (rows * row + slab);
}

/* Chooses the rows of a chunk, and how parts divide rows and tiles; keeps the cheapest. */
static void try_parts(const struct vbs_coded_plan *plan, struct vbs_coded_geometry *g, double *best,
                      struct vbs_coded_geometry *chosen)
{
    int threads = plan->layer.threads;
    int64_t most_rows = plan->layer.coded->header.n_rows / plan->layer.groups;
    int64_t rows = SUMS_BYTES / (g->row_floats * (int64_t)sizeof(float));

    rows = rows > plan->granule ? rows - rows % plan->granule : plan->granule;
    for (int row_parts = 1; row_parts <= threads; row_parts++) {
        int64_t needed = least(most_rows, divided(plan->layer.coded->header.n_rows, row_parts));
        double cycles;

        if (threads % row_parts != 0)
            continue;
        needed = least(most_rows, divided(needed, plan->granule) * plan->granule);
        g->n_row_parts = row_parts;
        g->n_tile_parts = threads / row_parts;
        g->chunk_rows = divided(needed, divided(needed, rows));
        g->chunk_rows = least(needed, divided(g->chunk_rows, plan->granule) * plan->granule);
        cycles = price(plan, g);
        if (cycles < *best) {
            *best = cycles;
            *chosen = *g;
        }
    }
}

/* Tries all heights of tiles of a width; gives whether the least of them has a small slab. */
static bool try_heights(const struct vbs_coded_plan *plan, struct vbs_coded_geometry *g,
                        double *best, struct vbs_coded_geometry *chosen)
{
    bool is_dense = plan->layer.method == VBS_CODED_DENSE, fits = false;

    for (int64_t n_down = g->out_size[1]; n_down >= 1; n_down--) {
        g->height = divided(g->out_size[1], n_down);
        if (divided(g->out_size[1], g->height) != n_down)
            continue;
        for (int flat = is_dense || plan->layer.n_spatial == 0; flat < 2; flat++) {
            g->flat = flat;
            set_pitches(plan, g);
            if (g->sum_lines == 0)
                continue;
            if (slab_bytes(plan, g) > (is_dense ? DENSE_BYTES : SLAB_BYTES))
                return fits;
            fits = true;
            try_parts(plan, g, best, chosen);
        }
    }
    return fits;
}

static void try_side(const struct vbs_coded_plan *plan, struct vbs_coded_geometry *g, double *best,
                     struct vbs_coded_geometry *chosen)
{
    int n_tried = 0;

    for (int64_t n = 1; n <= g->out_size[2] && n_tried < MOST_CUTS; n++) {
        g->width = divided(g->out_size[2], n);
        if (divided(g->out_size[2], g->width) == n)
            n_tried += try_heights(plan, g, best, chosen);
    }
}

bool vbs_coded_geometry_choose(struct vbs_coded_plan *plan)
{
    struct vbs_coded_geometry *g = &plan->geometry, chosen = {0};
    int64_t batch = plan->layer.batch, lanes = plan->processor->lanes;
    bool is_product = plan->layer.n_spatial == 0;
    double best = INFINITY;

    if (is_product)
        for (int64_t n = divided(batch, MOST_SIDE); n <= batch && n <= divided(batch, lanes); n++) {
            g->side = divided(batch, n);
            if (g->side > lanes)
                g->side = divided(g->side, lanes) * lanes;
            try_side(plan, g, &best, &chosen);
        }
    else
        for (g->side = 1; g->side <= least(batch, 2 * lanes); g->side++)
            try_side(plan, g, &best, &chosen);
    /* Else the least slab; of a product, whose columns are many, the least with full vectors,
     * because all entries are decoded again for each tile. */
    for (int64_t side = is_product ? least(batch, lanes) : 1; best == INFINITY; side = 1) {
        g->side = side;
        g->height = g->width = 1;
        g->flat = true;
        set_pitches(plan, g);
        if (g->sum_lines > 0)
            try_parts(plan, g, &best, &chosen);
        else if (side == 1)
            return false;
    }
    *g = chosen;
    if (plan->layer.method == VBS_CODED_SPARSE) {
        struct tile_spans spans = spans_of(plan->processor, g);

        plan->decodes = has_to_decode(plan, &spans);
    }
    return true;
}
