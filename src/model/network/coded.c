/* Weights that are coded. */
#include "model/network/parameters.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

const struct vbs_coded *vbs_network_coded(const struct vbs_network *network, int layer)
{
    const struct vbs_parameters *p = network->parameters;

    return p && p->coded ? p->coded[layer].coded : NULL;
}

bool vbs_network_may_code(const struct vbs_network *network, int layer, enum vbs_coding coding)
{
    const struct vbs_coded *coded = vbs_network_coded(network, layer);
    struct vbs_coded_shape shape;

    if (!coded)
        return false;
    vbs_coded_describe(coded, &shape);
    if (shape.coding == coding)
        return true;
    return network->parameters->coded[layer].any_form &&
           (coding != VBS_CODING_JOINT || shape.bits + shape.index_bits <= VBS_MAX_PAIR_BITS);
}

/* The rows and columns that are read, and where the first of them goes. */
struct coded_window {
    int64_t first_row, n_rows, first_column, n_columns;
    float *values;
};

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Copies what a block and a window have in common. The block is rows x columns floats at first_row
 * and first_column. */
static void copy_common(const float *block, int64_t first_row, int64_t rows, int64_t first_column,
                        int64_t columns, const struct coded_window *w)
{
    int64_t begin = first_column > w->first_column ? first_column : w->first_column;
    int64_t end = least(first_column + columns, w->first_column + w->n_columns);
    int64_t last = least(first_row + rows, w->first_row + w->n_rows);

    for (int64_t r = first_row > w->first_row ? first_row : w->first_row; r < last; r++)
        memcpy(w->values + (r - w->first_row) * w->n_columns + begin - w->first_column,
               block + (r - first_row) * columns + begin - first_column,
               (size_t)(end - begin) * sizeof *block);
}

/* Decodes the blocks of a window; block has space for one. */
static void read_window(const struct vbs_coded *coded, const struct vbs_coded_shape *shape,
                        const struct coded_window *w, float *block)
{
    int64_t last_row = (w->first_row + w->n_rows - 1) / shape->block_rows;
    int64_t last_column = (w->first_column + w->n_columns - 1) / shape->block_columns;

    for (int64_t i = w->first_row / shape->block_rows; i <= last_row; i++)
        for (int64_t j = w->first_column / shape->block_columns; j <= last_column; j++) {
            int64_t row = i * shape->block_rows, column = j * shape->block_columns;

            vbs_coded_block(coded, i * shape->n_block_columns + j, block);
            copy_common(block, row, least(shape->block_rows, shape->n_rows - row), column,
                        least(shape->block_columns, shape->n_columns - column), w);
        }
}

enum vbs_status vbs_coded_values(struct vbs_ctx *ctx, const struct vbs_coded *coded, int64_t first,
                                 int64_t count, float *values)
{
    struct vbs_coded_shape shape;
    float *block;

    vbs_coded_describe(coded, &shape);
    block = malloc((size_t)(shape.block_rows * shape.block_columns) * sizeof *block);
    if (!block)
        return vbs_no_memory(ctx);
    while (count > 0) {
        int64_t column = first % shape.n_columns, n;
        struct coded_window w = {.first_row = first / shape.n_columns,
                                 .n_rows = 1,
                                 .first_column = column,
                                 .values = values};

        if (column == 0 && count >= shape.n_columns)
            w.n_rows = count / shape.n_columns;
        w.n_columns = least(count, shape.n_columns - column);
        read_window(coded, &shape, &w, block);
        n = w.n_rows * w.n_columns;
        first += n;
        count -= n;
        values += n;
    }
    free(block);
    return VBS_OK;
}
