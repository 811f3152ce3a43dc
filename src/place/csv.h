/* Cutting CSV into fields. Internal to the room. */
#ifndef VBS_PLACE_CSV_H
#define VBS_PLACE_CSV_H

#include "vbslab/status.h"

#include <stddef.h>

#define PLACE_MAX_COLUMNS 64

/* A text under way. It is cut in place: what separates fields becomes a zero. */
struct place_scan {
    struct vbs_ctx *ctx;
    const char *source;
    char *at, *end; /* *end is 0 */
    int line;       /* of at */
    int row_line;   /* where the row began */
    int n_fields;
    char *fields[PLACE_MAX_COLUMNS]; /* of the row */
};

/* The next row that is not empty; n_fields is 0 at the end. VBS_FORMAT. */
enum vbs_status vbs_place_scan_row(struct place_scan *scan) VBS_MUST_CHECK;

/* VBS_FORMAT with source and line of the row before the text. */
enum vbs_status vbs_place_scan_fail(const struct place_scan *scan, const char *format, ...)
    VBS_PRINTF(2, 3);

#endif
