#include "reference/coded/decode.h"

#include <stdlib.h>
#include <string.h>

enum { COMP, JOINT, BYTES };

struct reference {
    const uint8_t *bytes;
    size_t n_bytes;
    int coding, bits, index_bits, n_values;
    int64_t n_rows, n_columns, block_rows, block_columns;
    size_t codebook, codes[2], offsets, data; /* where the sections begin */
    uint8_t *lengths[2];
    int n_symbols[2];
    float *dense;
    int64_t n_entries;
};

static uint64_t number(const struct reference *in, size_t at, int n_bytes)
{
    uint64_t value = 0;

    for (int i = n_bytes - 1; i >= 0; i--)
        value = value << 8 | in->bytes[at + (size_t)i];
    return value;
}

static size_t next_eighth(size_t at)
{
    while (at % 8 != 0)
        at++;
    return at;
}

static float value_of(const struct reference *in, uint64_t index)
{
    uint32_t bits = (uint32_t)number(in, in->codebook + 4 * index, 4);
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Reads the lengths of a code, and gives the end of the section. */
static size_t read_lengths(struct reference *in, int code, size_t at)
{
    uint64_t n_listed = number(in, at, 4);
    int n = in->n_symbols[code];

    in->lengths[code] = calloc((size_t)n, 1);
    at += 4;
    if (n_listed == 0xffffffff) {
        for (int i = 0; i < n; i++)
            in->lengths[code][i] = (uint8_t)(in->bytes[at + (size_t)i / 2] >> (i % 2 ? 4 : 0) & 15);
        return next_eighth(at + (size_t)(n + 1) / 2);
    }
    for (uint64_t i = 0; i < n_listed; i++)
        in->lengths[code][number(in, at + 2 * i, 2)] = in->bytes[at + 2 * n_listed + i];
    return next_eighth(at + 3 * n_listed);
}

/* Reads bits one by one until they are a code: codes of one length are numbers that count up by
 * symbol, and the first of a length is twice the number behind the last of the length before. */
static int read_symbol(const struct reference *in, int code, const uint8_t *stream, uint64_t *bit)
{
    int value = 0, first = 0;

    for (int length = 1; length <= 32; length++) {
        int n = 0;

        value = 2 * value + (stream[*bit / 8] >> (*bit % 8) & 1);
        ++*bit;
        for (int s = 0; s < in->n_symbols[code]; s++)
            if (in->lengths[code][s] == length && first + n++ == value)
                return s;
        first = 2 * (first + n);
    }
    return -1;
}

/* Stores a weight at a position of a block that has so many columns. */
static void place(struct reference *in, int64_t row, int64_t column, int64_t n_columns,
                  int64_t position, uint64_t index)
{
    in->dense[(row + position / n_columns) * in->n_columns + column + position % n_columns] =
        value_of(in, index);
    in->n_entries++;
}

static bool decode_comp(struct reference *in, int64_t block, int64_t n_blocks, int64_t row,
                        int64_t column, int64_t n_columns)
{
    size_t offset = in->offsets + 8 * (size_t)block;
    uint64_t value = number(in, offset, 4), distance = number(in, offset + 4, 4);
    uint64_t first_bits = number(in, in->offsets + 8 * (size_t)n_blocks, 4);
    const uint8_t *values = in->bytes + in->data;
    const uint8_t *distances = values + next_eighth((size_t)(first_bits + 7) / 8 + 8);
    int64_t position = -1;

    while (value < number(in, offset + 8, 4)) {
        int index = read_symbol(in, 0, values, &value);

        position += read_symbol(in, 1, distances, &distance) + 1;
        place(in, row, column, n_columns, position, (uint64_t)index);
    }
    return value == number(in, offset + 8, 4) && distance == number(in, offset + 12, 4);
}

static bool decode_joint(struct reference *in, int64_t block, int64_t row, int64_t column,
                         int64_t n_rows, int64_t n_columns)
{
    size_t at = in->data + number(in, in->offsets + 4 * (size_t)block, 4);
    int size = n_rows * n_columns <= 65536 ? 2 : 4;
    int64_t quarter = (n_rows * n_columns + 3) / 4;
    const uint8_t *stream = in->bytes + at + 7 * size;

    for (int s = 0; s < 4; s++) {
        uint64_t n = number(in, at + (size_t)(s * size), size), bit = 0;
        int64_t position = s * quarter - 1;

        for (uint64_t i = 0; i < n; i++) {
            int symbol = read_symbol(in, 0, stream, &bit);

            position += symbol % (1 << in->index_bits) + 1;
            place(in, row, column, n_columns, position, (uint64_t)(symbol >> in->index_bits));
        }
        if (s < 3 && (bit + 7) / 8 != number(in, at + (size_t)((4 + s) * size), size))
            return false;
        stream += (bit + 7) / 8;
    }
    return stream == in->bytes + in->data + number(in, in->offsets + 4 * (size_t)block + 4, 4);
}

static bool decode_bytes(struct reference *in, int64_t block, int64_t row, int64_t column,
                         int64_t n_rows, int64_t n_columns)
{
    size_t at = in->data + number(in, in->offsets + 4 * (size_t)block, 4);
    int size = in->block_columns <= 255 ? 1 : 2, wide = in->bits <= 8 ? 1 : 2;
    size_t n = 0, distances = at + (size_t)(n_rows * size), i = 0;

    for (int64_t r = 0; r < n_rows; r++)
        n += number(in, at + (size_t)(r * size), size);
    for (int64_t r = 0; r < n_rows; r++) {
        int64_t position = -1;

        for (uint64_t e = number(in, at + (size_t)(r * size), size); e > 0; e--, i++) {
            position += in->bytes[distances + i] + 1;
            place(in, row + r, column, n_columns, position,
                  number(in, distances + n + i * (size_t)wide, wide));
        }
    }
    return distances + n * (size_t)(1 + wide) ==
           in->data + number(in, in->offsets + 4 * (size_t)block + 4, 4);
}

static bool decode_block(struct reference *in, int64_t block, int64_t n_blocks, int64_t row,
                         int64_t column)
{
    int64_t n_rows = in->n_rows - row, n_columns = in->n_columns - column;

    n_rows = n_rows < in->block_rows ? n_rows : in->block_rows;
    n_columns = n_columns < in->block_columns ? n_columns : in->block_columns;
    if (in->coding == COMP)
        return decode_comp(in, block, n_blocks, row, column, n_columns);
    if (in->coding == JOINT)
        return decode_joint(in, block, row, column, n_rows, n_columns);
    return decode_bytes(in, block, row, column, n_rows, n_columns);
}

static void find_sections(struct reference *in, int64_t n_blocks)
{
    size_t at = next_eighth(64 + 4 * (size_t)in->n_values);

    in->n_symbols[0] = 1 << (in->coding == JOINT ? in->bits + in->index_bits : in->bits);
    in->n_symbols[1] = 1 << in->index_bits;
    for (int c = 0; c < (in->coding == COMP ? 2 : in->coding == JOINT ? 1 : 0); c++)
        at = read_lengths(in, c, at);
    in->offsets = at;
    in->data = next_eighth(at + (size_t)(n_blocks + 1) * (in->coding == COMP ? 8 : 4));
}

bool reference_decode(const uint8_t *bytes, size_t n_bytes, float *dense, int64_t *n_entries)
{
    struct reference in = {.bytes = bytes, .n_bytes = n_bytes, .dense = dense};
    int64_t n_blocks, block = 0;
    bool sound = n_bytes >= 64 && memcmp(bytes, "vbsc\1", 5) == 0;

    if (!sound)
        return false;
    in.coding = bytes[5];
    in.bits = bytes[6];
    in.index_bits = bytes[7];
    in.n_values = (int)number(&in, 12, 4);
    in.n_rows = (int64_t)number(&in, 16, 8);
    in.n_columns = (int64_t)number(&in, 24, 8);
    in.block_rows = (int64_t)number(&in, 32, 4);
    in.block_columns = (int64_t)number(&in, 36, 4);
    in.codebook = 64;
    n_blocks = ((in.n_rows + in.block_rows - 1) / in.block_rows) *
               ((in.n_columns + in.block_columns - 1) / in.block_columns);
    find_sections(&in, n_blocks);
    memset(dense, 0, (size_t)(in.n_rows * in.n_columns) * sizeof *dense);
    for (int64_t row = 0; row < in.n_rows; row += in.block_rows)
        for (int64_t column = 0; column < in.n_columns; column += in.block_columns)
            sound = sound && decode_block(&in, block++, n_blocks, row, column);
    free(in.lengths[0]);
    free(in.lengths[1]);
    *n_entries = in.n_entries;
    return sound;
}
