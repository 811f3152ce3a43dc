/* What each stage of the compression takes. */
#include "cli/compress/compress.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

static double entropy(const int64_t *counts, int64_t n)
{
    double total = 0, sum = 0;

    for (int64_t i = 0; i < n; i++)
        if (counts[i] > 0) {
            total += (double)counts[i];
            sum += (double)counts[i] * log2((double)counts[i]);
        }
    return total > 0 ? total * log2(total) - sum : 0;
}

/* ---- entries ---- */

/* Counts of entries by value and distance. */
struct entry_counts {
    int index_bits;
    int64_t *pairs; /* [n_values << index_bits] */
    int64_t n_entries;
};

/* Counts the entries of a row of weights that continue at gap; gives the gap at its end. */
static int64_t count_row(struct entry_counts *counts, const uint16_t *row, int64_t n, int64_t gap)
{
    int64_t longest = INT64_C(1) << counts->index_bits;

    for (int64_t i = 0; i < n; i++) {
        gap++;
        if (row[i] == 0)
            continue;
        for (; gap > longest; gap -= longest) {
            counts->pairs[longest - 1]++;
            counts->n_entries++;
        }
        counts->pairs[((int64_t)row[i] << counts->index_bits) + gap - 1]++;
        counts->n_entries++;
        gap = 0;
    }
    return gap;
}

static enum vbs_status count_blocks(struct vbs_ctx *ctx, const struct vbs_quantised *q,
                                    const struct vbs_coding_options *options,
                                    struct entry_counts *counts)
{
    for (int64_t row = 0; row < q->n_rows; row += options->block_rows) {
        int64_t end = q->n_rows - row < options->block_rows ? q->n_rows : row + options->block_rows;

        VBS_TRY(vbs_check_cancel(ctx));
        for (int64_t column = 0; column < q->n_columns; column += options->block_columns) {
            int64_t left = q->n_columns - column, gap = 0;
            int64_t n = left < options->block_columns ? left : options->block_columns;

            for (int64_t r = row; r < end; r++)
                gap = count_row(counts, q->indices + r * q->n_columns + column, n, gap);
        }
    }
    return VBS_OK;
}

/* Finds the bounds from the counts of pairs. */
static enum vbs_status find_bounds(struct vbs_ctx *ctx, const struct vbs_quantised *q,
                                   const struct entry_counts *counts, struct compress_sizes *sizes)
{
    int64_t n_distances = INT64_C(1) << counts->index_bits, places[2];
    int64_t *values = calloc((size_t)q->n_values, sizeof *values);
    int64_t distances[1 << VBS_MAX_INDEX_BITS] = {0};

    if (!values)
        return vbs_no_memory(ctx);
    for (int64_t v = 0; v < q->n_values; v++)
        for (int64_t d = 0; d < n_distances; d++) {
            values[v] += counts->pairs[v * n_distances + d];
            distances[d] += counts->pairs[v * n_distances + d];
        }
    sizes->n_entries = counts->n_entries;
    sizes->n_nonzero = counts->n_entries - values[0];
    places[0] = sizes->n_weights - sizes->n_nonzero;
    places[1] = sizes->n_nonzero;
    sizes->bounds = (struct compress_bounds){
        .values = entropy(values, q->n_values),
        .distances = entropy(distances, n_distances),
        .pairs = entropy(counts->pairs, q->n_values * n_distances),
        .information = entropy(places, 2) + entropy(values + 1, q->n_values - 1)};
    free(values);
    return VBS_OK;
}

static int64_t bytes_of_bits(int64_t bits)
{
    return (bits + 7) / 8;
}

enum vbs_status compress_find_sizes(struct vbs_ctx *ctx, const struct vbs_quantised *q,
                                    const struct vbs_coding_options *options,
                                    struct compress_sizes *sizes)
{
    struct entry_counts counts = {
        .index_bits = options->index_bits,
        .pairs = calloc((size_t)q->n_values << options->index_bits, sizeof *counts.pairs)};
    int64_t rows = 4 * (q->n_rows + 1), codebook = 4 * q->n_values, n;
    enum vbs_status status = counts.pairs ? VBS_OK : vbs_no_memory(ctx);

    sizes->n_weights = q->n_rows * q->n_columns;
    if (status == VBS_OK)
        status = count_blocks(ctx, q, options, &counts);
    if (status == VBS_OK)
        status = find_bounds(ctx, q, &counts, sizes);
    free(counts.pairs);
    n = sizes->n_nonzero;
    sizes->bytes.dense = 4 * sizes->n_weights;
    sizes->bytes.pruned = 8 * n + rows;
    sizes->bytes.codebook = bytes_of_bits((32 + q->bits) * n) + rows + codebook;
    sizes->bytes.index =
        bytes_of_bits((q->bits + options->index_bits) * sizes->n_entries) + codebook;
    return status;
}

void compress_add_sizes(struct compress_sizes *total, const struct compress_sizes *layer)
{
    bool first = total->n_weights == 0;

    total->n_weights += layer->n_weights;
    total->n_nonzero += layer->n_nonzero;
    total->n_entries += layer->n_entries;
    total->bytes.dense += layer->bytes.dense;
    total->bytes.pruned += layer->bytes.pruned;
    total->bytes.codebook += layer->bytes.codebook;
    total->bytes.index += layer->bytes.index;
    total->bytes.stored += layer->bytes.stored;
    for (int c = 0; c < VBS_N_CODINGS; c++) {
        bool all = layer->bytes.forms[c] > 0 && (first || total->bytes.forms[c] > 0);

        total->bytes.forms[c] = all ? total->bytes.forms[c] + layer->bytes.forms[c] : 0;
    }
    total->bounds.values += layer->bounds.values;
    total->bounds.distances += layer->bounds.distances;
    total->bounds.pairs += layer->bounds.pairs;
    total->bounds.information += layer->bounds.information;
}
