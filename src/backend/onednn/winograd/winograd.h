/*
 * backend/onednn/winograd: loops of convolutions of 3x3 by Winograd's method on tensors with the
 * channels last, compiled for several kinds of processor.
 *
 * A tile is 4 columns of 1, 2 or 4 rows of the output. Along a dimension of 4 positions the input
 * and the filter are evaluated at the six points 0, 3/4, -3/4, 3/2, -3/2 and infinity, and along
 * one of 2 positions at 0, 1, -1 and infinity; tiles of one row are transformed along columns only.
 * At each point, the products of input and filter are summed over the input's channels: a product
 * of matrices, [tiles, channels] by [channels, outputs]. The points of the sums give the tile.
 * Points of 3/4 and 3/2 instead of 1 and 2 halve the errors.
 *
 * choose.c picks the table; plain.c, avx2.c and avx512.c compile body.h for their processors.
 */
#ifndef VBS_BACKEND_ONEDNN_WINOGRAD_WINOGRAD_H
#define VBS_BACKEND_ONEDNN_WINOGRAD_WINOGRAD_H

#include <stdbool.h>
#include <stdint.h>

#define OD_TILE_COLUMNS 4
#define OD_TILE_REACH   6  /* columns of the input that a tile reads; the most rows of it, too */
#define OD_TILE_SIZES   3  /* tiles of 1, 2 and 4 rows */
#define OD_TILE_CHUNK   16 /* channels of the input that lie side by side, of every tile */
#define OD_TILE_OUTPUTS 32 /* channels of the output that are computed at once */

/* A tile of the input: the channels of each position that it reads. */
struct od_tile_input {
    const float *cells[OD_TILE_REACH][OD_TILE_REACH]; /* [rows + 2][6] */
    int64_t channels;
};

/* Where points of the input go: channel c of point p is to[p * point + c / 16 * chunk + c % 16]. */
struct od_tile_points {
    float *to;
    int64_t point, chunk; /* floats */
};

/* Sums of products at one point, of n_tiles rows of OD_TILE_OUTPUTS floats. Each of n_terms terms
 * adds a product over all channels. */
struct od_tile_product {
    const float *input;              /* the first tile's */
    int64_t chunk;                   /* floats from one chunk of channels to the next */
    int64_t input_term, filter_term; /* floats from one term to the next */
    const float *filter;             /* [channels][OD_TILE_OUTPUTS] */
    float *sums;
    int64_t n_tiles, channels;
    int n_terms;
    bool add; /* to what the sums are, else to 0 */
};

/* A tile of the output: its sums at point p begin at sums + p * point. */
struct od_tile_output {
    const float *sums;
    int64_t point;
    const float *bias; /* [channels]; null: none */
    bool relu;
    float *to;
    int64_t row, column;   /* floats from one row and column of the output to the next */
    int64_t rows, columns; /* of the tile that the output has */
    int64_t channels;      /* that the output has, at most OD_TILE_OUTPUTS */
};

/* The loops of tiles of one size. */
struct od_tile_loops {
    void (*input)(const struct od_tile_input *input, const struct od_tile_points *points);
    /* filters: [channels][9][OD_TILE_OUTPUTS], positions row by row; the filter of channel c at
     * point p is written to to[p * point + c * OD_TILE_OUTPUTS]. */
    void (*filter)(const float *filters, int64_t channels, float *to, int64_t point);
    void (*output)(const struct od_tile_output *output);
};

struct od_winograd_loops {
    struct od_tile_loops sizes[OD_TILE_SIZES]; /* of 1, 2 and 4 rows */
    void (*multiply)(const struct od_tile_product *product);
};

/* Gives the table for this processor. */
const struct od_winograd_loops *od_winograd(void);

/* The tables; those of other processors than this one are not to be called. */
extern const struct od_winograd_loops od_winograd_plain, od_winograd_avx2, od_winograd_avx512;

#endif
