#include "coded/layout.h"

#include <math.h>

#define ALL_LENGTHS UINT32_MAX
#define LISTED      3 /* bytes of a listed symbol */
#define NIBBLE      15

const struct vbs_coded_form *vbs_coded_form(enum vbs_coding coding)
{
    static const struct vbs_coded_form *const FORMS[] = {
        &vbs_coded_form_comp, &vbs_coded_form_joint, &vbs_coded_form_bytes};

    return FORMS[coding];
}

const char *vbs_coding_name(enum vbs_coding coding)
{
    return vbs_coded_form(coding)->name;
}

bool vbs_coded_is_codebook(const float *values, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(values[i]) || (values[i] == 0) != (i == 0) ||
            (i == 0 && signbit(values[i])) || (i > 1 && values[i] <= values[i - 1]))
            return false;
    return true;
}

int vbs_coded_symbols(const struct vbs_coded_header *header, int code)
{
    if (header->coding == VBS_CODING_JOINT)
        return 1 << (header->bits + header->index_bits);
    return 1 << (code == 0 ? header->bits : header->index_bits);
}

void vbs_coded_count_blocks(struct vbs_coded *coded)
{
    const struct vbs_coded_header *header = &coded->header;

    coded->n_block_rows = (header->n_rows - 1) / header->block_rows + 1;
    coded->n_block_columns = (header->n_columns - 1) / header->block_columns + 1;
}

struct vbs_coded_place vbs_coded_place(const struct vbs_coded *coded, int64_t block)
{
    const struct vbs_coded_header *header = &coded->header;
    int64_t row = block / coded->n_block_columns * header->block_rows;
    int64_t column = block % coded->n_block_columns * header->block_columns;
    int64_t n_rows = header->n_rows - row, n_columns = header->n_columns - column;

    return (struct vbs_coded_place){
        .number = block,
        .first_row = row,
        .first_column = column,
        .n_rows = (int)(n_rows < header->block_rows ? n_rows : header->block_rows),
        .n_columns = (int)(n_columns < header->block_columns ? n_columns : header->block_columns)};
}

static void put_list(const uint8_t *lengths, int n, int n_listed, uint8_t *bytes)
{
    int at = 0;

    vbs_number_put(bytes, 4, (uint32_t)n_listed);
    for (int i = 0; i < n; i++)
        if (lengths[i] > 0) {
            vbs_number_put(bytes + 4 + 2 * at, 2, (uint32_t)i);
            bytes[4 + 2 * n_listed + at++] = lengths[i];
        }
}

size_t vbs_coded_put_lengths(const uint8_t *lengths, int n, uint8_t *bytes)
{
    int n_listed = 0, longest = 0;

    for (int i = 0; i < n; i++) {
        n_listed += lengths[i] > 0;
        longest = lengths[i] > longest ? lengths[i] : longest;
    }
    if (longest > NIBBLE || LISTED * n_listed <= (n + 1) / 2) {
        if (bytes)
            put_list(lengths, n, n_listed, bytes);
        return vbs_coded_filled(4 + (size_t)LISTED * (size_t)n_listed);
    }
    if (bytes) {
        vbs_number_put(bytes, 4, ALL_LENGTHS);
        for (int i = 0; i < n; i++)
            bytes[4 + i / 2] |= (uint8_t)(lengths[i] << (i % 2 * 4));
    }
    return vbs_coded_filled(4 + ((size_t)n + 1) / 2);
}

static bool get_list(const uint8_t *bytes, int n, int n_listed, uint8_t *lengths)
{
    for (int i = 0; i < n_listed; i++) {
        uint32_t symbol = vbs_number_get(bytes + 4 + 2 * i, 2);
        uint8_t length = bytes[4 + 2 * n_listed + i];

        if (symbol >= (uint32_t)n || lengths[symbol] > 0 || length == 0)
            return false;
        lengths[symbol] = length;
    }
    return true;
}

bool vbs_coded_get_lengths(const uint8_t *bytes, size_t n_bytes, int n, uint8_t *lengths,
                           size_t *n_read)
{
    uint32_t n_listed;

    memset(lengths, 0, (size_t)n);
    if (n_bytes < 4)
        return false;
    n_listed = vbs_number_get(bytes, 4);
    if (n_listed != ALL_LENGTHS) {
        if (n_listed > (uint32_t)n)
            return false;
        *n_read = vbs_coded_filled(4 + (size_t)LISTED * n_listed);
        return *n_read <= n_bytes && get_list(bytes, n, (int)n_listed, lengths);
    }
    *n_read = vbs_coded_filled(4 + ((size_t)n + 1) / 2);
    if (*n_read > n_bytes)
        return false;
    for (int i = 0; i < n; i++)
        lengths[i] = bytes[4 + i / 2] >> (i % 2 * 4) & NIBBLE;
    return true;
}
