/* Rows and fields of CSV, as RFC 4180 defines them. */
#include "place/csv.h"

#include "base/fail.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Characters of a long path in messages, so that there is space for the reason. */
#define SHOWN_SOURCE 120

enum vbs_status vbs_place_scan_fail(const struct place_scan *scan, const char *format, ...)
{
    size_t length = strlen(scan->source);
    char text[VBS_DETAIL_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return vbs_fail(scan->ctx, VBS_FORMAT, "%s%s:%d: %s", length > SHOWN_SOURCE ? "..." : "",
                    length > SHOWN_SOURCE ? scan->source + length - SHOWN_SOURCE : scan->source,
                    scan->row_line, text);
}

/* Ends a field at stop. at points to the separator behind it. */
static enum vbs_status end_field(struct place_scan *scan, char *stop, bool *last)
{
    char next = *scan->at;

    *last = next != ',';
    if (next == '\r' && scan->at[1] == '\n')
        scan->at++;
    else if (next == '"')
        return vbs_place_scan_fail(scan, "a quote inside a field that does not begin with one");
    else if (next == '\0' && scan->at != scan->end)
        return vbs_place_scan_fail(scan, "a zero byte; this is not a text file");
    else if (next != ',' && next != '\n' && next != '\0')
        return vbs_place_scan_fail(scan, "text behind the end of a field");
    if (*scan->at == '\n')
        scan->line++;
    if (scan->at != scan->end)
        scan->at++;
    *stop = '\0';
    return VBS_OK;
}

/* Reads a quoted field; at is behind the opening quote. Doubled quotes become one, and ends of
 * lines are text. */
static enum vbs_status read_quoted(struct place_scan *scan, bool *last)
{
    char *to = scan->at;

    for (;; scan->at++) {
        if (*scan->at == '\0')
            return vbs_place_scan_fail(scan, scan->at == scan->end
                                                 ? "a quote is opened and never closed"
                                                 : "a zero byte; this is not a text file");
        if (*scan->at == '"' && *++scan->at != '"')
            return end_field(scan, to, last);
        if (*scan->at == '\n')
            scan->line++;
        *to++ = *scan->at;
    }
}

static void skip_empty_lines(struct place_scan *scan)
{
    for (;;) {
        size_t length = scan->at[0] == '\r' && scan->at[1] == '\n' ? 2 : scan->at[0] == '\n';

        if (length == 0)
            return;
        scan->at += length;
        scan->line++;
    }
}

enum vbs_status vbs_place_scan_row(struct place_scan *scan)
{
    bool last;

    skip_empty_lines(scan);
    scan->row_line = scan->line;
    scan->n_fields = 0;
    for (last = scan->at == scan->end; !last;) {
        bool quoted = *scan->at == '"';

        if (scan->n_fields == PLACE_MAX_COLUMNS)
            return vbs_place_scan_fail(scan, "more than %d fields", PLACE_MAX_COLUMNS);
        scan->at += quoted;
        scan->fields[scan->n_fields++] = scan->at;
        if (quoted) {
            VBS_TRY(read_quoted(scan, &last));
        } else {
            scan->at += strcspn(scan->at, ",\r\n\"");
            VBS_TRY(end_field(scan, scan->at, &last));
        }
    }
    return VBS_OK;
}
