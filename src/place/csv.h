/* Reads a text of CSV row by row, and cuts rows into fields (scan.c). Internal to the room. */
#ifndef VBS_PLACE_CSV_H
#define VBS_PLACE_CSV_H

#include "vbslab/status.h"

#include <stddef.h>

#define PLACE_MAX_COLUMNS 64

/* A text that is being read. It is cut in place: the characters that separate fields become zeros.
 */
struct place_scan {
    struct vbs_ctx *ctx;
    const char *source;
    char *at, *end; /* the part that is not read yet; *end is 0 */
    int line;       /* the number of the line in which at is */
    int row_line;   /* the number of the line in which the row began */
    int n_fields;
    char *fields[PLACE_MAX_COLUMNS]; /* of the row that was read last */
};

/* Reads the next row that is not empty into fields; n_fields is 0 at the end of the text.
 * VBS_FORMAT: a quote is not closed, or the row has too many fields. */
enum vbs_status vbs_place_scan_row(struct place_scan *scan) VBS_MUST_CHECK;

/* Fails with VBS_FORMAT, and puts the source and the line of the row before the text. */
enum vbs_status vbs_place_scan_fail(const struct place_scan *scan, const char *format, ...)
    VBS_PRINTF(2, 3);

#endif
