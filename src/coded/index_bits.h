/*
 * With how many bits of a distance coded weights are smallest. Internal to the room.
 */
#ifndef VBS_CODED_INDEX_BITS_H
#define VBS_CODED_INDEX_BITS_H

#include "coded/matrix.h"

/*
 * Gives the numbers of bits of a distance of which one has the fewest bytes, as a set (bit k: k
 * bits); the bits that options has are not looked at. The set has a single number in all forms but
 * VBS_CODING_JOINT, where it may have several that differ by less than what streams lose because
 * they begin at bytes. Matrices of more than VBS_MAX_PAIR_BITS - 1 bits have no joint code: the set
 * is empty then. VBS_USAGE (blocks out of range), VBS_NO_MEMORY, VBS_INTERRUPTED. O(weights +
 * symbols log symbols).
 */
enum vbs_status vbs_find_index_bits(struct vbs_ctx *ctx, const struct vbs_index_matrix *matrix,
                                    const struct vbs_coding_options *options,
                                    unsigned *set) VBS_MUST_CHECK;

#endif
