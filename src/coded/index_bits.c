/*
 * Symbols are counted once, for the most bits of a distance; their counts for fewer bits follow:
 * entries of distance d in 2^8 become (d - 1) / 2^k entries that fill the distance, and one of the
 * distance that is left.
 */
#include "coded/index_bits.h"

#include "coded/count.h"

#include "base/fail.h"

#include <stdlib.h>

#define MOST_BITS VBS_MAX_INDEX_BITS
#define LONGEST   (1 << MOST_BITS)

struct index_search {
    struct vbs_block_matrix blocks;
    struct vbs_symbol_counts wide, narrow; /* counts for MOST_BITS bits, and for those at hand */
    uint8_t *lengths;                      /* [symbols] of the code at hand */
    uint64_t n_bytes[MOST_BITS + 1];       /* that depend on the bits, by bits */
};

/* Derives counts of pairs of value and distance for k bits. */
static void derive_pairs(const struct index_search *search, int n_values, int k)
{
    const uint64_t *wide = search->wide.counts[0];
    uint64_t *narrow = search->narrow.counts[0];
    uint64_t n_filling = wide[LONGEST - 1] << (MOST_BITS - k);

    for (int i = 0; i < n_values << k; i++)
        narrow[i] = 0;
    for (int v = 1; v < n_values; v++)
        for (int d = 0; d < LONGEST; d++) {
            uint64_t n = wide[v << MOST_BITS | d];

            narrow[v << k | (d & ((1 << k) - 1))] += n;
            n_filling += n * (uint64_t)(d >> k);
        }
    narrow[(1 << k) - 1] = n_filling;
}

/* Derives counts of values and of distances for k bits. */
static void derive_both(const struct index_search *search, int n_values, int k)
{
    const uint64_t *wide = search->wide.counts[1];
    uint64_t *values = search->narrow.counts[0], *distances = search->narrow.counts[1];
    uint64_t n_longest = search->wide.counts[0][0], n_filling = n_longest << (MOST_BITS - k);

    for (int v = 1; v < n_values; v++)
        values[v] = search->wide.counts[0][v];
    for (int d = 0; d < 1 << k; d++)
        distances[d] = 0;
    for (int d = 0; d < LONGEST; d++) {
        uint64_t n = wide[d] - (d == LONGEST - 1 ? n_longest : 0);

        distances[d & ((1 << k) - 1)] += n;
        n_filling += n * (uint64_t)(d >> k);
    }
    values[0] = n_filling;
    distances[(1 << k) - 1] += n_filling;
}

/* Finds the bytes of codes and data with k bits: exact but for what joint loses between streams. */
static enum vbs_status find_bytes(struct index_search *search, int k)
{
    struct vbs_coded_header *header = &search->blocks.coded.header;
    enum vbs_coding coding = (enum vbs_coding)header->coding;
    uint64_t n_tables = 0, n_data = 0;

    header->index_bits = (uint8_t)k;
    if (coding == VBS_CODING_JOINT)
        derive_pairs(search, 1 << header->bits, k);
    else
        derive_both(search, 1 << header->bits, k);
    for (int c = 0; c < search->blocks.form->n_codes; c++) {
        const uint64_t *counts = search->narrow.counts[c];
        int n = vbs_coded_symbols(header, c);
        uint64_t n_bits;

        VBS_TRY(vbs_choose_lengths(search->blocks.ctx, coding, counts, n, search->lengths,
                                   &header->code_bits[c]));
        n_bits = vbs_total_bits(counts, search->lengths, n);
        n_tables += vbs_coded_put_lengths(search->lengths, n, NULL);
        n_data = coding == VBS_CODING_JOINT ? n_bits / 8
                                            : vbs_coded_stream_end(n_data, (n_bits + 7) / 8);
    }
    search->n_bytes[k] = n_tables + n_data;
    return VBS_OK;
}

/* Gives the most bytes by which what joint loses between streams may differ. */
static uint64_t most_lost(const struct vbs_block_matrix *blocks)
{
    if (blocks->coded.header.coding != VBS_CODING_JOINT)
        return 0;
    return (uint64_t)(blocks->coded.n_block_rows * blocks->coded.n_block_columns) * VBS_MOST_RUNS +
           8;
}

static enum vbs_status find_set(struct index_search *search, int most, unsigned *set)
{
    uint64_t least = UINT64_MAX, lost = most_lost(&search->blocks);

    VBS_TRY(vbs_counts_init(&search->blocks, &search->wide));
    VBS_TRY(vbs_counts_init(&search->blocks, &search->narrow));
    search->lengths = malloc((size_t)1 << VBS_MAX_CODEBOOK_BITS);
    if (!search->lengths)
        return vbs_no_memory(search->blocks.ctx);
    VBS_TRY(vbs_count_symbols(&search->blocks, &search->wide));
    for (int k = 1; k <= most; k++) {
        VBS_TRY(vbs_check_cancel(search->blocks.ctx));
        VBS_TRY(find_bytes(search, k));
        least = search->n_bytes[k] < least ? search->n_bytes[k] : least;
    }
    *set = 0;
    for (int k = most; k >= 1; k--)
        if (search->n_bytes[k] <= least + lost && (lost > 0 || *set == 0))
            *set |= 1U << k;
    return VBS_OK;
}

enum vbs_status vbs_find_index_bits(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                    const struct vbs_coding_options *options, unsigned *set)
{
    struct vbs_coding_options widest = *options;
    struct index_search search = {.lengths = NULL};
    int most = options->coding == VBS_CODING_JOINT ? VBS_MAX_PAIR_BITS - matrix->bits : MOST_BITS;
    enum vbs_status status;

    widest.index_bits = MOST_BITS;
    status = vbs_blocks_init(ctx, matrix, &widest, &search.blocks);
    if (status == VBS_OK && (options->coding == VBS_CODING_BYTES || most < 1))
        *set = most < 1 ? 0 : 1U << MOST_BITS; /* distances of bytes have 8 bits in any case */
    else if (status == VBS_OK)
        status = find_set(&search, most < MOST_BITS ? most : MOST_BITS, set);
    vbs_counts_clear(&search.wide);
    vbs_counts_clear(&search.narrow);
    vbs_blocks_clear(&search.blocks);
    free(search.lengths);
    return status;
}
