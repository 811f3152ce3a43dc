/* Blocks as strips: in place where they are bytes, else decoded to entries. */
#include "coded/layer/layer.h"
#include "coded/layout.h"

/* Gives the bytes of an entry, as one word. */
static inline uint64_t entry_of(int32_t offset, uint32_t weight)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    return (uint64_t)(uint32_t)offset << 32 | weight;
#else
    return (uint64_t)weight << 32 | (uint32_t)offset;
#endif
}

/* Where entries are placed: the row at hand, and those before it are complete. */
struct entry_placer {
    const float *codebook;
    const int32_t *offsets; /* at the place in the block of the first weight of the row */
    uint32_t *starts;
    char *entries;
    uint32_t n;                  /* entries so far */
    int64_t row, end, n_columns; /* the place of the first weight behind the row */
};

/* Goes on to the row of a place. */
static void next_row(struct entry_placer *placer, int64_t place)
{
    do {
        placer->starts[++placer->row] = placer->n;
        placer->end += placer->n_columns;
        placer->offsets -= placer->n_columns;
    } while (place >= placer->end);
}

/* Hits of a run become entries; the zeros that fill distances are left out. */
static void place_run(struct entry_placer *state, uint32_t begin, uint32_t n_entries,
                      const char *hits)
{
    struct entry_placer placer = *state;
    int64_t place = (int64_t)begin - 1;

    for (; n_entries > 0; n_entries--, hits += sizeof(uint32_t)) {
        uint32_t hit, weight;
        uint64_t entry;

        memcpy(&hit, hits, sizeof hit);
        place += vbs_pair_distance(hit);
        if (place >= placer.end)
            next_row(&placer, place);
        memcpy(&weight, &placer.codebook[vbs_pair_index(hit)], sizeof weight);
        entry = entry_of(placer.offsets[place], weight);
        memcpy(placer.entries + placer.n * sizeof entry, &entry, sizeof entry);
        placer.n += vbs_pair_index(hit) != 0;
    }
    *state = placer;
}

static void place_entries(const struct vbs_coded_part *part, const struct vbs_coded_place *place,
                          const struct vbs_entry_runs *runs, const char *hits)
{
    struct entry_placer placer = {.codebook = part->coded.codebook,
                                  .offsets = part->offsets,
                                  .starts = part->starts,
                                  .entries = (char *)part->entries,
                                  .end = place->n_columns,
                                  .n_columns = place->n_columns};

    part->starts[0] = 0;
    for (int run = 0; run < runs->n_runs; run++) {
        place_run(&placer, runs->begins[run], runs->n_entries[run], hits);
        hits += runs->n_entries[run] * sizeof(uint32_t);
    }
    while (placer.row < place->n_rows)
        part->starts[++placer.row] = placer.n;
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
    /* Hits fill the upper half of the entries: each is read before an entry takes its place. */
    uint32_t *hits = (uint32_t *)(void *)part->entries + (coded->most_entries + 1);
    struct vbs_entry_runs runs;

    if (!form->list) {
        place_bytes(part, place);
        return;
    }
    form->list(coded, place, hits, &runs);
    place_entries(part, place, &runs, (const char *)hits);
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
                                    .codebook = coded->codebook,
                                    .n_values = (int)coded->header.n_values};
}
