/*
 * vbslab/units.h - sizes, ranges of sizes and lists of batches as people write them.
 *
 * Bytes are signed 64-bit everywhere, from 0 to VBS_MAX_BYTES. MB is 10^6 and MiB is 2^20.
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

/* From..to by step, ends included; from == to is one size. */
struct vbs_byte_range {
    int64_t from_bytes;
    int64_t to_bytes;
    int64_t step_bytes; /* > 0; not used with a factor */
    /* Above 1: each size is that many times the one before, rounded down; from_bytes is so large
     * that the first step is one byte at least. Else 0. */
    double factor;
};

/* "15MB", "15MiB", "1.5GiB", "512KiB", "1048576"; units B, kB/KB, MB, GB, TB, PB, EB and KiB, MiB,
 * GiB, TiB, PiB, EiB. The product must be whole bytes, or is rounded down (a budget is never
 * rounded up). VBS_USAGE with a detail that names the text when it is not a size or is above
 * VBS_MAX_BYTES. */
enum vbs_status vbs_parse_bytes(struct vbs_ctx *ctx, const char *text,
                                int64_t *bytes) VBS_MUST_CHECK;

/* "15MiB..40MiB:1MiB", "5MiB..1GiB:*1.25" (a factor), or one size. VBS_USAGE when malformed, empty
 * or above VBS_MAX_BUDGETS. */
enum vbs_status vbs_parse_byte_range(struct vbs_ctx *ctx, const char *text,
                                     struct vbs_byte_range *range) VBS_MUST_CHECK;

/* Number of sizes in a range. */
int vbs_byte_range_count(const struct vbs_byte_range *range);

/* Size index (0..count - 1) of a range. */
int64_t vbs_byte_range_at(const struct vbs_byte_range *range, int index);

/* False where a range is empty, has more than VBS_MAX_BUDGETS sizes or breaks what struct
 * vbs_byte_range says. */
bool vbs_byte_range_valid(const struct vbs_byte_range *range);

/* "12", "1-12", "1,2,4", "1-4,8": ascending, without repeats, each 1..VBS_MAX_BATCH.
 * *batches is owned by the caller: free(). */
enum vbs_status vbs_parse_batches(struct vbs_ctx *ctx, const char *text, int **batches,
                                  int *n_batches) VBS_MUST_CHECK;

/* "20 MiB", "10.7 MiB", "812 B" into buffer (24 bytes suffice); returns buffer. */
char *vbs_format_bytes(int64_t bytes, char *buffer, size_t size);

/* A size to the byte, for whoever will type it again: "8830976 bytes (8.42 MiB)", below 1 KiB only
 * "6 bytes", "1 byte"; into buffer (48 bytes suffice); returns buffer. */
char *vbs_format_exact(int64_t bytes, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
