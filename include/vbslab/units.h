/*
 * vbslab/units.h - sizes, ranges of sizes and lists of batches as people write them.
 *
 * Bytes are signed 64-bit everywhere, from 0 to VBS_MAX_BYTES. MB is 10^6 and MiB is 2^20.
 *
 * Threads: the calls keep nothing between them.
 */
#ifndef VBSLAB_UNITS_H
#define VBSLAB_UNITS_H

#include "vbslab/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_BYTES   INT64_MAX
#define VBS_MAX_REQUEST 4096 /* samples of one request */
#define VBS_MAX_BATCH   4096 /* samples of one step */
#define VBS_MAX_BUDGETS 4096 /* budgets in one range */

/* The sizes from..to, both included, that are step apart; one size where from and to are equal. A
 * plain value: copy it freely. */
struct vbs_byte_range {
    int64_t from_bytes;
    int64_t to_bytes;
    int64_t step_bytes; /* above 0; without a meaning where there is a factor */
    /* Above 1: each size is that many times the size before it, rounded down, and from_bytes is so
     * large that the first step is one byte at least. 0: there is none. */
    double factor;
};

/* Reads a size such as "15MB", "15MiB", "1.5GiB", "512KiB" or "1048576". The units are B, kB or KB,
 * MB, GB, TB, PB, EB and KiB, MiB, GiB, TiB, PiB, EiB. A size that is no whole number of bytes is
 * rounded down, because a budget is never rounded up. VBS_USAGE, with a detail that names the text,
 * where it is no size or is above VBS_MAX_BYTES. */
enum vbs_status vbs_parse_bytes(struct vbs_ctx *ctx, const char *text,
                                int64_t *bytes) VBS_MUST_CHECK;

/* Reads a range such as "15MiB..40MiB:1MiB" (a step) or "5MiB..1GiB:*1.25" (a factor), or one size.
 * VBS_USAGE where it is malformed, empty, or has more than VBS_MAX_BUDGETS sizes. */
enum vbs_status vbs_parse_byte_range(struct vbs_ctx *ctx, const char *text,
                                     struct vbs_byte_range *range) VBS_MUST_CHECK;

/* Gives the number of sizes in a range. */
int vbs_byte_range_count(const struct vbs_byte_range *range);

/* Gives the size number index (0..count - 1) of a range. */
int64_t vbs_byte_range_at(const struct vbs_byte_range *range, int index);

/* False where a range is empty, has more than VBS_MAX_BUDGETS sizes or breaks the rules of struct
 * vbs_byte_range. */
bool vbs_byte_range_valid(const struct vbs_byte_range *range);

/* Reads a list of batches such as "12", "1-12", "1,2,4" or "1-4,8", each within 1..VBS_MAX_BATCH.
 * The batches in *batches are ascending and different; the caller owns them and frees them with
 * free(). VBS_USAGE, VBS_NO_MEMORY. */
enum vbs_status vbs_parse_batches(struct vbs_ctx *ctx, const char *text, int **batches,
                                  int *n_batches) VBS_MUST_CHECK;

/* Writes a size as "20 MiB", "10.7 MiB" or "812 B" into buffer, for which 24 bytes suffice, and
 * returns buffer. */
char *vbs_format_bytes(int64_t bytes, char *buffer, size_t size);

/* Writes a size to the byte, so that it can be typed again, as "8830976 bytes (8.42 MiB)" or (below
 * 1 KiB) "6 bytes" or "1 byte" into buffer, for which 48 bytes suffice, and returns buffer. */
char *vbs_format_exact(int64_t bytes, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
