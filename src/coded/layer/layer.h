/*
 * How layers are computed from coded weights. Internal to the room.
 *
 * Words: a tile is a box of output positions that is computed at once, for some samples side by
 * side. Its slab is the part of the padded input that the columns of one block read: a plane for
 * each channel and each remainder of a position by the stride, so that a column reads the same
 * distance (its offset) from every position. A chunk is a number of rows whose sums over a tile lie
 * in the workspace. A part is the work of one thread: some rows and some tiles.
 */
#ifndef VBS_CODED_LAYER_LAYER_H
#define VBS_CODED_LAYER_LAYER_H

#include "coded/forms.h"
#include "vbslab/coded_layer.h"

#define N_DIMS VBS_CODED_SPATIAL

/* ---- The functions that differ between processors ---- */

/* An entry of a decoded block. */
struct vbs_coded_entry {
    int32_t offset; /* of its column, in bytes */
    float weight;
};

/* How the entries of a strip are given. */
enum vbs_coded_reader {
    VBS_READ_ENTRIES, /* decoded */
    VBS_READ_BYTES,   /* distances and indices; offsets of columns in a table */
    VBS_READ_LINEAR,  /* the same, with offsets that are multiples of a stride */
    VBS_N_READERS
};

/* Some rows of a block. */
struct vbs_coded_strip {
    enum vbs_coded_reader reader;
    int n_rows;
    const struct vbs_coded_entry *entries; /* decoded */
    const uint32_t *starts;                /* [n_rows + 1] of the rows in entries */
    const uint8_t *numbers;                /* of entries of the rows, number_bytes each */
    int number_bytes;
    const uint8_t *distances, *indices; /* from the first row on */
    const float *codebook;
    int n_values;           /* of it */
    const int32_t *offsets; /* [block columns] in bytes */
    size_t stride;          /* in bytes; one float, where spans are single floats */
};

/* Floats behind a slab that a kernel may read. */
#define VBS_CODED_BEHIND_SLAB 16

/* The positions to which a strip is applied: n_lines lines of n_vectors vectors each; n_vectors 0:
 * one float. */
struct vbs_coded_span {
    const float *planes;
    float *sums; /* of the first row */
    size_t row_pitch, sum_pitch,
        plane_pitch; /* of rows and lines of sums, lines of planes: bytes */
    int n_lines, n_vectors;
};

/* A block of VBS_CODING_JOINT of an inner product, which is applied to one span of at most
 * VBS_CODED_MOST_FUSED vectors while it is decoded. */
struct vbs_coded_fused {
    const struct vbs_coded *coded; /* with narrow pairs */
    struct vbs_joint_streams streams;
    int64_t n_columns;
    size_t stride; /* of columns, in bytes */
};

#define VBS_CODED_MOST_FUSED 3

/* Matrices that are copied with rows and columns exchanged:
 * to[k * to_step + j * to_pitch + i] = from[k * from_step + i * from_pitch + j]
 * for k < count, i < n_rows and j < n_columns. */
struct vbs_coded_transpose {
    int64_t n_rows, n_columns, from_pitch, to_pitch;
    int64_t count, from_step, to_step;
};

/* What one kind of processor does. */
struct vbs_coded_processor {
    int lanes;        /* floats of a vector */
    int most_vectors; /* of a span, all lines together */
    int most_lines;
    /* sums += weights x planes. */
    void (*multiply)(const struct vbs_coded_strip *strip, const struct vbs_coded_span *span);
    void (*multiply_fused)(const struct vbs_coded_fused *fused, const struct vbs_coded_span *span);
    void (*transpose)(const struct vbs_coded_transpose *transpose, const float *from, float *to);
    /* values = scale x values + bias, at least 0 where relu is set. */
    void (*finish)(float *values, int64_t n, float scale, float bias, bool relu);
};

extern const struct vbs_coded_processor vbs_coded_plain;
#if defined(__x86_64__)
extern const struct vbs_coded_processor vbs_coded_avx2, vbs_coded_avx512;
#endif

/* Gives the processor with the widest vectors that this machine has. */
const struct vbs_coded_processor *vbs_coded_choose_processor(void);

/* ---- Plans ---- */

/* How positions are cut, and where they lie in slabs and sums. Pitches count floats. */
struct vbs_coded_geometry {
    /* The layer, with three spatial dimensions. */
    int64_t in_size[N_DIMS], out_size[N_DIMS];
    int64_t kernel[N_DIMS], stride[N_DIMS], dilation[N_DIMS], pad[N_DIMS];
    int64_t window; /* weights of a channel */
    int64_t planes[N_DIMS], reach[N_DIMS];
    /* Tiles. */
    int64_t side;           /* samples side by side */
    int64_t n_sides;        /* of them */
    int64_t height, width;  /* of a tile, at most; its depth is 1 */
    int64_t n_down, n_over; /* tiles in height and width */
    int64_t n_tiles;
    bool flat; /* the lines of a tile are computed as one, with what lies between them */
    /* Slabs. */
    int64_t line_pitch, plane_pitch, channel_pitch, slab_floats;
    /* Sums. */
    int64_t sum_pitch;    /* of lines */
    int64_t sum_lines;    /* lines whose sums of one row lie side by side: those of a span */
    int64_t group_floats; /* of them; the next row follows, and after all rows the next lines */
    int64_t row_floats;   /* of a row, all lines together */
    int64_t chunk_rows;   /* at most */
    int64_t n_row_parts, n_tile_parts;
};

/* Where things lie in the workspace: bytes from its begin, or from that of a part. */
struct vbs_coded_memory {
    int64_t tables_bytes; /* at the begin, shared by all parts */
    int64_t part_bytes;
    int64_t slab, columns, offsets, entries, starts, dense, sums; /* of a part */
    int64_t total_bytes;
};

struct vbs_coded_plan {
    struct vbs_coded_layer layer;
    const struct vbs_coded_processor *processor;
    struct vbs_coded_geometry geometry;
    struct vbs_coded_memory memory;
    int n_parts;
    int64_t granule; /* rows that are not divided between parts */
    bool decodes;    /* blocks to entries */
    bool fuses;      /* multiplies entries when they are decoded; parts have whole blocks */
};

/* Gives whether a product of dense matrices needs a copy of the slab: otherwise each channel is one
 * column. */
static inline bool vbs_coded_has_columns(const struct vbs_coded_geometry *geometry)
{
    return geometry->window > 1;
}

/* Gives whether the columns of a block have a table of offsets: those of an inner product lie side
 * by side, and only decoded entries have offsets of their own. */
static inline bool vbs_coded_has_offsets(const struct vbs_coded_plan *plan)
{
    return plan->layer.n_spatial > 0 || plan->decodes;
}

/* vbs_coded_plan_new for a processor. */
enum vbs_status vbs_coded_plan_for(struct vbs_ctx *ctx, const struct vbs_coded_layer *layer,
                                   const struct vbs_coded_processor *processor,
                                   struct vbs_coded_plan **plan) VBS_MUST_CHECK;

/* Chooses tiles, chunks and parts for the plan, whose layer has been checked and whose geometry has
 * the sizes of the layer. False: a slab would have 1 GiB or more. */
bool vbs_coded_geometry_choose(struct vbs_coded_plan *plan);

/* ---- Running ---- */

/* A box of output positions of some samples. */
struct vbs_coded_tile {
    int64_t sample, n_samples;
    int64_t depth, top, left; /* the first position */
    int64_t height, width;
};

/* A part at work. */
struct vbs_coded_part {
    const struct vbs_coded_plan *plan;
    struct vbs_coded coded; /* at the address of this run */
    const float *input;
    float *output;
    float *slab, *columns, *dense, *sums;
    int64_t first_row, n_rows; /* of the chunk at hand */
    int32_t *offsets;
    struct vbs_coded_entry *entries;
    uint32_t *starts; /* [block rows + 1] */
};

/* Copies what the columns from first_column (within the group) on read for a tile into the slab,
 * and notes the offsets of the columns. */
void vbs_coded_fill_slab(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                         int64_t group, int64_t first_column, int64_t n_columns);

/* Copies the slab to one row of positions for each column. */
void vbs_coded_fill_columns(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile,
                            int64_t n_columns);

/* Decodes a block to entries and starts. */
void vbs_coded_unpack(const struct vbs_coded_part *part, const struct vbs_coded_place *place);

/* Gives the rows from `from` to `end` of a block of VBS_CODING_BYTES, in place. */
struct vbs_coded_strip vbs_coded_strip_of(const struct vbs_coded *coded,
                                          const struct vbs_coded_place *place, int64_t from,
                                          int64_t end);

/* Gives where the sums of a row of the chunk begin in a line of the tile. */
static inline float *vbs_coded_sums(const struct vbs_coded_part *part, int64_t row, int64_t line)
{
    const struct vbs_coded_geometry *g = &part->plan->geometry;
    int64_t group = line / g->sum_lines;

    return part->sums + (group * part->n_rows + row - part->first_row) * g->group_floats +
           line % g->sum_lines * g->sum_pitch;
}

/* Writes the outputs of the chunk, whose sums over a tile are complete. */
void vbs_coded_put_output(const struct vbs_coded_part *part, const struct vbs_coded_tile *tile);

#endif
