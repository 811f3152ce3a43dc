#include "reference/coded/code.h"

#include <stdlib.h>
#include <string.h>

enum { COMP, JOINT, BYTES };

/* Bytes, and bits that are appended to them: the first bit of a byte is its lowest. */
struct output {
    uint8_t *bytes; /* enough of them */
    size_t n_bits;
};

/* One entry of a run. */
struct entry {
    int64_t distance;
    int value;
};

struct writer {
    const struct reference_matrix *matrix;
    size_t capacity; /* bytes that suffice for any output */
    struct output header, offsets, data, distances;
    int n_symbols[2];
    int64_t *counts[2];
    int *lengths[2];
    unsigned *codes[2];
    bool writes; /* else symbols are counted */
    int64_t n_entries, n_nonzero;
    uint64_t n_blocks;
};

static void put_bit(struct output *output, int bit)
{
    if (bit)
        output->bytes[output->n_bits / 8] |= (uint8_t)(1 << output->n_bits % 8);
    output->n_bits++;
}

static void put_number(struct output *output, uint64_t number, int n_bytes)
{
    for (int bit = 0; bit < 8 * n_bytes; bit++)
        put_bit(output, (int)(number >> bit & 1));
}

static void fill_up(struct output *output, int n_bytes)
{
    while (output->n_bits % (8 * (size_t)n_bytes) != 0)
        put_bit(output, 0);
}

/* ---- codes ---- */

struct node {
    int64_t count;
    int symbol; /* -1: a tree */
    int parent; /* -1: none */
};

static int by_count(const void *a, const void *b)
{
    const struct node *x = a, *y = b;

    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return x->symbol - y->symbol;
}

/* Takes the rarer one of the next leaf and the next tree, both of which come in order. */
static int take(const struct node *nodes, int n_leaves, int n_nodes, int *leaf, int *tree)
{
    if (*tree == n_nodes || (*leaf < n_leaves && nodes[*leaf].count <= nodes[*tree].count))
        return (*leaf)++;
    return (*tree)++;
}

/* Huffman's algorithm: the two rarest nodes become one tree. */
static void find_lengths(const int64_t *counts, int n, int *lengths)
{
    struct node *nodes = calloc(2 * (size_t)n + 1, sizeof *nodes);
    int n_leaves = 0, n_nodes, leaf = 0, tree;

    for (int i = 0; i < n; i++) {
        lengths[i] = 0;
        if (counts[i] > 0)
            nodes[n_leaves++] = (struct node){counts[i], i, -1};
    }
    qsort(nodes, (size_t)n_leaves, sizeof *nodes, by_count);
    n_nodes = tree = n_leaves;
    while (n_leaves - leaf + n_nodes - tree > 1) {
        int first = take(nodes, n_leaves, n_nodes, &leaf, &tree);
        int second = take(nodes, n_leaves, n_nodes, &leaf, &tree);

        nodes[n_nodes] = (struct node){nodes[first].count + nodes[second].count, -1, -1};
        nodes[first].parent = nodes[second].parent = n_nodes++;
    }
    for (int i = 0; i < n_leaves; i++)
        for (int node = i; nodes[node].parent >= 0; node = nodes[node].parent)
            lengths[nodes[i].symbol]++;
    if (n_leaves == 1)
        lengths[nodes[0].symbol] = 1;
    free(nodes);
}

/* Makes counts more equal until no code is too long. */
static void limit_lengths(int64_t *counts, int n, int most_bits, int *lengths)
{
    bool fits;

    do {
        fits = true;
        find_lengths(counts, n, lengths);
        for (int i = 0; i < n; i++)
            fits = fits && lengths[i] <= most_bits;
        for (int i = 0; i < n; i++)
            counts[i] = (counts[i] + 1) / 2;
    } while (!fits);
}

/* Codes of one length count up in the order of the symbols. */
static void find_codes(const int *lengths, int n, unsigned *codes)
{
    unsigned code = 0;

    for (int length = 1; length <= 18; length++) {
        for (int i = 0; i < n; i++)
            if (lengths[i] == length)
                codes[i] = code++;
        code *= 2;
    }
}

/* The first bit of a code is its highest. */
static void put_code(struct writer *writer, struct output *output, int code, int symbol)
{
    for (int bit = writer->lengths[code][symbol] - 1; bit >= 0; bit--)
        put_bit(output, (int)(writer->codes[code][symbol] >> bit & 1));
}

static void put_lengths(struct writer *writer, int code)
{
    struct output *output = &writer->header;
    const int *lengths = writer->lengths[code];
    int n = writer->n_symbols[code], n_used = 0;

    for (int i = 0; i < n; i++)
        n_used += lengths[i] > 0;
    put_number(output, writer->matrix->all_lengths ? 0xffffffff : (uint64_t)n_used, 4);
    if (writer->matrix->all_lengths) {
        for (int i = 0; i < n; i++)
            for (int bit = 0; bit < 4; bit++)
                put_bit(output, lengths[i] >> bit & 1);
    } else {
        for (int i = 0; i < n; i++)
            if (lengths[i] > 0)
                put_number(output, (uint64_t)i, 2);
        for (int i = 0; i < n; i++)
            if (lengths[i] > 0)
                put_number(output, (uint64_t)lengths[i], 1);
    }
    fill_up(output, 8);
}

/* ---- blocks ---- */

struct block {
    int64_t row, column, n_rows, n_columns;
};

static int index_at(const struct writer *writer, const struct block *block, int64_t place)
{
    int64_t row = block->row + place / block->n_columns;
    int64_t column = block->column + place % block->n_columns;

    return writer->matrix->indices[row * writer->matrix->n_columns + column];
}

/* Lists the entries of places from..to-1 of a block, and gives their number. */
static int64_t list_entries(struct writer *writer, const struct block *block, int64_t from,
                            int64_t to, int64_t most, struct entry *entries)
{
    int64_t distance = 0, n = 0;

    for (int64_t place = from; place < to; place++) {
        int index = index_at(writer, block, place);

        distance++;
        if (index == 0)
            continue;
        for (; distance > most; distance -= most)
            entries[n++] = (struct entry){most, 0};
        entries[n++] = (struct entry){distance, index};
        distance = 0;
        writer->n_nonzero++;
    }
    writer->n_entries += n;
    return n;
}

static void do_comp(struct writer *writer, const struct block *block, struct entry *entries)
{
    int64_t n = list_entries(writer, block, 0, block->n_rows * block->n_columns,
                             1 << writer->matrix->index_bits, entries);

    put_number(&writer->offsets, writer->data.n_bits, 4);
    put_number(&writer->offsets, writer->distances.n_bits, 4);
    for (int64_t i = 0; i < n; i++) {
        int distance = (int)entries[i].distance - 1;

        writer->counts[0][entries[i].value]++;
        writer->counts[1][distance]++;
        if (writer->writes) {
            put_code(writer, &writer->data, 0, entries[i].value);
            put_code(writer, &writer->distances, 1, distance);
        }
    }
}

static void do_joint(struct writer *writer, const struct block *block, struct entry *entries)
{
    int64_t area = block->n_rows * block->n_columns, quarter = (area + 3) / 4;
    struct output numbers = {.bytes = calloc(32, 1)};
    struct output streams = {.bytes = calloc(writer->capacity, 1)};
    int size = area <= 65536 ? 2 : 4;
    uint64_t lengths[4];

    for (int64_t s = 0; s < 4; s++) {
        int64_t from = s * quarter, to = from + quarter, n;
        size_t begin = streams.n_bits;

        n = list_entries(writer, block, from < area ? from : area, to < area ? to : area,
                         1 << writer->matrix->index_bits, entries);
        for (int64_t i = 0; i < n; i++) {
            int symbol =
                (int)((entries[i].value << writer->matrix->index_bits) + entries[i].distance - 1);

            writer->counts[0][symbol]++;
            if (writer->writes)
                put_code(writer, &streams, 0, symbol);
        }
        fill_up(&streams, 1);
        put_number(&numbers, (uint64_t)n, size);
        lengths[s] = (streams.n_bits - begin) / 8;
    }
    for (int s = 0; s < 3; s++)
        put_number(&numbers, lengths[s], size);
    put_number(&writer->offsets, writer->data.n_bits / 8, 4);
    for (size_t i = 0; i < numbers.n_bits / 8; i++)
        put_number(&writer->data, numbers.bytes[i], 1);
    for (size_t i = 0; i < streams.n_bits / 8; i++)
        put_number(&writer->data, streams.bytes[i], 1);
    free(numbers.bytes);
    free(streams.bytes);
}

static void do_bytes(struct writer *writer, const struct block *block, struct entry *entries)
{
    int64_t n = 0;

    put_number(&writer->offsets, writer->data.n_bits / 8, 4);
    for (int64_t row = 0; row < block->n_rows; row++) {
        int64_t in_row = list_entries(writer, block, row * block->n_columns,
                                      (row + 1) * block->n_columns, 256, entries + n);

        put_number(&writer->data, (uint64_t)in_row, writer->matrix->block_columns <= 255 ? 1 : 2);
        n += in_row;
    }
    for (int64_t i = 0; i < n; i++)
        put_number(&writer->data, (uint64_t)entries[i].distance - 1, 1);
    for (int64_t i = 0; i < n; i++)
        put_number(&writer->data, (uint64_t)entries[i].value, writer->matrix->bits <= 8 ? 1 : 2);
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Counts the symbols of all blocks, or writes them. */
static void do_blocks(struct writer *writer, bool writes)
{
    const struct reference_matrix *matrix = writer->matrix;
    struct entry *entries =
        calloc((size_t)(matrix->block_rows * matrix->block_columns), sizeof *entries);

    writer->writes = writes;
    writer->n_entries = writer->n_nonzero = 0;
    writer->n_blocks = 0;
    memset(writer->data.bytes, 0, writer->data.n_bits / 8 + 1);
    memset(writer->offsets.bytes, 0, writer->offsets.n_bits / 8 + 1);
    writer->data.n_bits = writer->distances.n_bits = writer->offsets.n_bits = 0;
    for (int64_t row = 0; row < matrix->n_rows; row += matrix->block_rows)
        for (int64_t column = 0; column < matrix->n_columns; column += matrix->block_columns) {
            struct block block = {row, column, smaller(matrix->block_rows, matrix->n_rows - row),
                                  smaller(matrix->block_columns, matrix->n_columns - column)};

            writer->n_blocks++;
            if (matrix->coding == COMP)
                do_comp(writer, &block, entries);
            else if (matrix->coding == JOINT)
                do_joint(writer, &block, entries);
            else
                do_bytes(writer, &block, entries);
        }
    free(entries);
}

/* ---- all of it ---- */

static void put_header(struct writer *writer, uint64_t n_data)
{
    const struct reference_matrix *matrix = writer->matrix;
    struct output *output = &writer->header;
    int most[2] = {0, 0};

    for (int c = 0; c < 2; c++)
        for (int i = 0; i < writer->n_symbols[c]; i++)
            most[c] = writer->lengths[c][i] > most[c] ? writer->lengths[c][i] : most[c];
    put_number(output, 'v' | 'b' << 8 | 's' << 16 | 'c' << 24, 4);
    put_number(output, 1, 1);
    put_number(output, (uint64_t)matrix->coding, 1);
    put_number(output, (uint64_t)matrix->bits, 1);
    put_number(output, (uint64_t)matrix->index_bits, 1);
    put_number(output, matrix->coding == BYTES ? 0 : most[0] > 0 ? (uint64_t)most[0] : 1, 1);
    put_number(output, matrix->coding != COMP ? 0 : most[1] > 0 ? (uint64_t)most[1] : 1, 1);
    put_number(output, 0, 2);
    put_number(output, (uint64_t)matrix->n_values, 4);
    put_number(output, (uint64_t)matrix->n_rows, 8);
    put_number(output, (uint64_t)matrix->n_columns, 8);
    put_number(output, (uint64_t)matrix->block_rows, 4);
    put_number(output, (uint64_t)matrix->block_columns, 4);
    put_number(output, (uint64_t)writer->n_entries, 8);
    put_number(output, (uint64_t)writer->n_nonzero, 8);
    put_number(output, n_data, 8);
    for (int i = 0; i < matrix->n_values; i++) {
        uint32_t bits;

        memcpy(&bits, &matrix->codebook[i], sizeof bits);
        put_number(output, bits, 4);
    }
    fill_up(output, 8);
}

/* Puts at least 8 bytes of 0 behind a stream. */
static void end_stream(struct output *output)
{
    fill_up(output, 1);
    put_number(output, 0, 8);
    fill_up(output, 8);
}

static void append(struct output *output, const struct output *part)
{
    for (size_t i = 0; i < part->n_bits / 8; i++)
        put_number(output, part->bytes[i], 1);
}

static void put_all(struct writer *writer)
{
    do_blocks(writer, true);
    put_number(&writer->offsets, writer->data.n_bits / (writer->matrix->coding == COMP ? 1 : 8), 4);
    if (writer->matrix->coding == COMP)
        put_number(&writer->offsets, writer->distances.n_bits, 4);
    fill_up(&writer->offsets, 8);
    end_stream(&writer->data);
    if (writer->matrix->coding == COMP) {
        end_stream(&writer->distances);
        append(&writer->data, &writer->distances);
    }
    put_header(writer, writer->data.n_bits / 8);
    for (int c = 0; c < 2 && writer->n_symbols[c] > 0; c++)
        put_lengths(writer, c);
    append(&writer->header, &writer->offsets);
    append(&writer->header, &writer->data);
}

uint8_t *reference_code(const struct reference_matrix *matrix, size_t *n_bytes)
{
    struct writer writer = {.matrix = matrix};
    struct output *outputs[] = {&writer.header, &writer.offsets, &writer.data, &writer.distances};

    writer.capacity = 48 * (size_t)(matrix->n_rows * matrix->n_columns) + (1 << 19);
    for (int i = 0; i < 4; i++)
        outputs[i]->bytes = calloc(writer.capacity, 1);
    if (matrix->coding == COMP)
        writer.n_symbols[1] = 1 << matrix->index_bits;
    if (matrix->coding != BYTES)
        writer.n_symbols[0] =
            1 << (matrix->bits + (matrix->coding == JOINT ? matrix->index_bits : 0));
    for (int c = 0; c < 2; c++) {
        writer.counts[c] = calloc((size_t)writer.n_symbols[c] + 1, sizeof **writer.counts);
        writer.lengths[c] = calloc((size_t)writer.n_symbols[c] + 1, sizeof **writer.lengths);
        writer.codes[c] = calloc((size_t)writer.n_symbols[c] + 1, sizeof **writer.codes);
    }
    do_blocks(&writer, false);
    for (int c = 0; c < 2; c++) {
        limit_lengths(writer.counts[c], writer.n_symbols[c], matrix->most_bits, writer.lengths[c]);
        find_codes(writer.lengths[c], writer.n_symbols[c], writer.codes[c]);
    }
    put_all(&writer);
    *n_bytes = writer.header.n_bits / 8;
    for (int c = 0; c < 2; c++) {
        free(writer.counts[c]);
        free(writer.lengths[c]);
        free(writer.codes[c]);
    }
    for (int i = 1; i < 4; i++)
        free(outputs[i]->bytes);
    return writer.header.bytes;
}
