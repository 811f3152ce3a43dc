/*
 * Huffman codes with a limit of length. Internal to the library.
 */
#ifndef VBS_CODED_HUFFMAN_H
#define VBS_CODED_HUFFMAN_H

#include "vbslab/status.h"

#include <stdint.h>

#define VBS_MAX_CODE_BITS 18

/* What the next max_bits bits of a stream stand for. */
struct vbs_huffman_hit {
    uint16_t symbol;
    uint8_t n_bits; /* of the code; 0: no code begins so */
};

/*
 * Finds the lengths of the best prefix code for counts[0..n-1] in which no code has more than
 * max_bits bits (package-merge: Larmore and Hirschberg, "A fast algorithm for optimal
 * length-limited Huffman codes", 1990). A symbol that does not occur gets 0; a single one gets 1.
 * VBS_USAGE: more symbols occur than there are codes. VBS_NO_MEMORY. O(n log n + n max_bits).
 */
enum vbs_status vbs_huffman_lengths(struct vbs_ctx *ctx, const uint64_t *counts, int n,
                                    int max_bits, uint8_t *lengths) VBS_MUST_CHECK;

/* Finds the canonical codes of lengths[0..n-1] (at most VBS_MAX_CODE_BITS each), first bit lowest:
 * shorter codes come first, and of equal length the smaller symbol. O(n). */
void vbs_huffman_codes(const uint8_t *lengths, int n, uint32_t *codes);

/* Gives whether lengths are those of a complete prefix code of at most max_bits: every sequence of
 * bits is one of codes. A code of a single symbol has one bit, and no code at all is one, too. */
int vbs_huffman_is_complete(const uint8_t *lengths, int n, int max_bits);

/* Fills hits[0..2^max_bits-1] for lengths that are complete. O(2^max_bits + n). */
void vbs_huffman_table(const uint8_t *lengths, int n, int max_bits, struct vbs_huffman_hit *hits);

#endif
