/* Blocks as strips: in place where they are bytes, else decoded to entries. */
#include "coded/layer/layer.h"
#include "coded/layout.h"

#define EXACT_BITS 32 /* of the reciprocal of a number of columns */

_Static_assert(sizeof(struct vbs_coded_entry) == sizeof(vbs_pair_hit),
               "entries are decoded in place");

/* Gives the row of a place. */
static inline uint32_t row_of(uint32_t place, uint32_t n_columns, uint64_t reciprocal)
{
    return reciprocal ? (uint32_t)(place * reciprocal >> EXACT_BITS) : place / n_columns;
}

/* Hits become entries in place; the zeros that fill distances are left out. */
static void place_entries(const struct vbs_coded_part *part, const struct vbs_coded_place *place,
                          const struct vbs_entry_runs *runs)
{
    const int32_t *offsets = part->offsets;
    uint32_t *starts = part->starts;
    char *entries = (char *)part->entries;
    uint32_t n_columns = (uint32_t)place->n_columns, n = 0, at = 0;
    /* Exact for places below 2^32 / columns. */
    uint64_t area = (uint64_t)place->n_rows * n_columns;
    uint64_t reciprocal = area * n_columns < UINT64_C(1) << EXACT_BITS
                              ? ((UINT64_C(1) << EXACT_BITS) + n_columns - 1) / n_columns
                              : 0;

    memset(starts, 0, ((size_t)place->n_rows + 1) * sizeof *starts);
    for (int run = 0; run < runs->n_runs; run++) {
        uint32_t position = runs->begins[run] - 1;

        for (uint32_t end = at + runs->n_entries[run]; at < end; at++) {
            vbs_pair_hit hit;
            uint32_t row, words[2];

            memcpy(&hit, entries + at * sizeof hit, sizeof hit);
            position += vbs_pair_distance(hit);
            row = row_of(position, n_columns, reciprocal);
            words[0] = (uint32_t)offsets[position - row * n_columns];
            words[1] = vbs_pair_value(hit);
            memcpy(entries + n * sizeof hit, words, sizeof words);
            n += (words[1] & INT32_MAX) != 0;
            starts[row + 1] = n;
        }
    }
    for (int row = 1; row <= place->n_rows; row++)
        if (starts[row] < starts[row - 1])
            starts[row] = starts[row - 1];
}

/* The entries of coding bytes, row by row. */
static void place_bytes(const struct vbs_coded_part *part, const struct vbs_coded_place *place)
{
    struct vbs_coded_strip strip = vbs_coded_strip_of(&part->coded, place, 0, place->n_rows);
    struct vbs_coded_entry *entry = part->entries;

    part->starts[0] = 0;
    for (int row = 0; row < place->n_rows; row++) {
        uint32_t n = vbs_number_get(strip.numbers + row * strip.number_bytes, strip.number_bytes);
        const int32_t *offset = part->offsets - 1;

        part->starts[row + 1] = part->starts[row] + n;
        for (; n > 0; n--, entry++) {
            offset += *strip.distances++ + 1;
            *entry = (struct vbs_coded_entry){*offset, strip.codebook[*strip.indices++]};
        }
    }
}

void vbs_coded_unpack(const struct vbs_coded_part *part, const struct vbs_coded_place *place)
{
    const struct vbs_coded *coded = &part->coded;
    const struct vbs_coded_form *form = vbs_coded_form((enum vbs_coding)coded->header.coding);
    struct vbs_entry_runs runs;

    if (!form->list) {
        place_bytes(part, place);
        return;
    }
    form->list(coded, place, (void *)part->entries, &runs);
    place_entries(part, place, &runs);
}

struct vbs_coded_strip vbs_coded_strip_of(const struct vbs_coded *coded,
                                          const struct vbs_coded_place *place, int64_t from,
                                          int64_t end)
{
    const uint8_t *numbers = coded->data + coded->offsets[place->number];
    int size = coded->header.block_columns <= UINT8_MAX ? 1 : 2;
    const uint8_t *distances = numbers + place->n_rows * size;
    int64_t n = (coded->offsets[place->number + 1] - coded->offsets[place->number] -
                 (distances - numbers)) /
                2;
    uint32_t skipped = 0;

    for (int64_t row = 0; row < from; row++)
        skipped += vbs_number_get(numbers + row * size, size);
    return (struct vbs_coded_strip){.reader = VBS_READ_BYTES,
                                    .n_rows = (int)(end - from),
                                    .numbers = numbers + from * size,
                                    .number_bytes = size,
                                    .distances = distances + skipped,
                                    .indices = distances + n + skipped,
                                    .codebook = coded->codebook};
}
