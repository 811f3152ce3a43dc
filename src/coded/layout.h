/*
 * Where the sections of coded weights lie. Internal to the room.
 */
#ifndef VBS_CODED_LAYOUT_H
#define VBS_CODED_LAYOUT_H

#include "coded/forms.h"

/* Gives the form of a coding. */
const struct vbs_coded_form *vbs_coded_form(enum vbs_coding coding);

/* Gives whether values[0..n-1] are a codebook: 0 (not -0, which is another float), then finite
 * values in ascending order that are not 0. */
bool vbs_coded_is_codebook(const float *values, int n);

/* Gives the number of symbols of a code. */
int vbs_coded_symbols(const struct vbs_coded_header *header, int code);

/* Gives the bytes of a section of n_bytes, which is filled up to a multiple of 8. */
static inline size_t vbs_coded_filled(size_t n_bytes)
{
    return (n_bytes + 7) & ~(size_t)7;
}

/* Gives the bytes of the table that decodes a code. */
size_t vbs_coded_table_bytes(const struct vbs_coded_header *header, int code);

/* Makes that table, from the lengths of its codes: header and codebook are known, and coded refers
 * to the table from now on. */
void vbs_coded_fill_table(struct vbs_coded *coded, int code, const uint8_t *lengths, void *table);

/* Gives the bytes of the workspace of vbs_coded_move. */
size_t vbs_coded_move_bytes(const struct vbs_coded *coded);

/* Gives the same coded weights at another address. Their tables are made in the workspace, which is
 * aligned to 8; for listing entries, or for decoding. *moved is not freed. */
void vbs_coded_move(const struct vbs_coded *coded, const void *bytes, bool for_lists,
                    void *workspace, struct vbs_coded *moved);

/* Sizes of blocks, and counts of them. */
void vbs_coded_count_blocks(struct vbs_coded *coded);

/*
 * Writes the lengths of a code of n symbols: a number m of 32 bits, then the m symbols that have a
 * code (16 bits each) and their lengths (8 bits each); or 2^32 - 1, then all lengths in 4 bits
 * each, where this is shorter and no length is above 15. bytes null: only counts. Gives the bytes,
 * filled up to a multiple of 8.
 */
size_t vbs_coded_put_lengths(const uint8_t *lengths, int n, uint8_t *bytes);

/* Reads them; false where n_bytes do not hold lengths of n symbols. */
bool vbs_coded_get_lengths(const uint8_t *bytes, size_t n_bytes, int n, uint8_t *lengths,
                           size_t *n_read);

#endif
