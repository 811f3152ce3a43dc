/* The tables that decode codes, and coded weights that are read at another address. */
#include "coded/layout.h"

size_t vbs_coded_table_bytes(const struct vbs_coded_header *header, int code)
{
    size_t n_hits = (size_t)1 << header->code_bits[code];

    return n_hits * (header->coding == VBS_CODING_JOINT ? sizeof(vbs_pair_hit)
                                                        : sizeof(struct vbs_huffman_hit));
}

/* Makes pairs of hits of symbols, in place: from the last on, because a pair is larger. */
static void make_pairs(struct vbs_coded *coded, void *table)
{
    int index_bits = coded->header.index_bits;
    char *hits = table;

    coded->pairs = table;
    for (size_t i = (size_t)1 << coded->header.code_bits[0]; i-- > 0;) {
        struct vbs_huffman_hit hit;
        vbs_pair_hit pair = 0;

        memcpy(&hit, hits + i * sizeof hit, sizeof hit);
        if (hit.n_bits > 0) {
            unsigned distance = (hit.symbol & ((1U << index_bits) - 1)) + 1;
            unsigned index = (unsigned)hit.symbol >> index_bits;

            pair = vbs_pair_of(hit.n_bits, index, distance, coded->codebook[index]);
        }
        memcpy(hits + i * sizeof pair, &pair, sizeof pair);
    }
}

void vbs_coded_fill_table(struct vbs_coded *coded, int code, const uint8_t *lengths, void *table)
{
    const struct vbs_coded_header *header = &coded->header;

    vbs_huffman_table(lengths, vbs_coded_symbols(header, code), header->code_bits[code], table);
    if (header->coding == VBS_CODING_JOINT)
        make_pairs(coded, table);
    else
        coded->hits[code] = table;
}

/* Leaves the lower halves of pairs, in place: from the first on. */
static void narrow_pairs(struct vbs_coded *coded)
{
    char *pairs = (char *)coded->pairs;

    for (size_t i = 0; i < (size_t)1 << coded->header.code_bits[0]; i++) {
        uint32_t narrow = (uint32_t)coded->pairs[i];

        memcpy(pairs + i * sizeof narrow, &narrow, sizeof narrow);
    }
    coded->narrow_pairs = (void *)pairs;
    coded->pairs = NULL;
}

size_t vbs_coded_move_bytes(const struct vbs_coded *coded)
{
    int n_codes = vbs_coded_form((enum vbs_coding)coded->header.coding)->n_codes;
    size_t n_bytes = 0, most_symbols = 0;

    for (int c = 0; c < n_codes; c++) {
        size_t n = (size_t)vbs_coded_symbols(&coded->header, c);

        n_bytes += vbs_coded_table_bytes(&coded->header, c);
        most_symbols = n > most_symbols ? n : most_symbols;
    }
    return n_bytes + most_symbols;
}

void vbs_coded_move(const struct vbs_coded *coded, const void *bytes, bool for_lists,
                    void *workspace, struct vbs_coded *moved)
{
    const struct vbs_coded_form *form = vbs_coded_form((enum vbs_coding)coded->header.coding);
    uint8_t *begin = workspace, *table = begin;
    const uint8_t *base = bytes;

    *moved = *coded;
    moved->bytes = base;
    moved->owned = NULL;
    moved->codebook =
        (const void *)(base + ((const uint8_t *)(const void *)coded->codebook - coded->bytes));
    moved->offsets =
        (const void *)(base + ((const uint8_t *)(const void *)coded->offsets - coded->bytes));
    moved->data = base + (coded->data - coded->bytes);
    for (int c = 0; c < form->n_codes; c++)
        table += vbs_coded_table_bytes(&coded->header, c);
    for (int c = 0; c < form->n_codes; c++) {
        size_t at = (size_t)(coded->lengths[c] - coded->bytes), n_read;
        uint8_t *lengths = table;

        moved->lengths[c] = base + at;
        if (vbs_coded_get_lengths(base + at, coded->n_bytes - at,
                                  vbs_coded_symbols(&coded->header, c), lengths, &n_read))
            vbs_coded_fill_table(moved, c, lengths, begin);
        begin += vbs_coded_table_bytes(&coded->header, c);
    }
    if (for_lists && coded->header.coding == VBS_CODING_JOINT)
        narrow_pairs(moved);
}
