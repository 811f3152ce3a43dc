/* Functions that the forms of a comparison share: names without control characters, sizes, the best
 * row, columns. Internal to the report room. */
#ifndef VBS_REPORT_COMMON_COMMON_H
#define VBS_REPORT_COMMON_COMMON_H

#include "base/text.h"
#include "vbslab/backend.h"
#include "vbslab/report.h"

/* Gives the columns of text on a terminal, where every character counts as one. */
int vbs_form_width(const char *text);

/* Appends name as valid UTF-8: bytes that are no UTF-8 become U+FFFD, and all else stays. */
void vbs_form_add_utf8(struct vbs_text *text, const char *name);

/* The unit in which all budgets can be written shortest without rounding. */
struct vbs_form_unit {
    const char *name; /* "MiB" */
    int64_t bytes;
    int decimals; /* 0..2 */
};

struct vbs_form_unit vbs_form_budget_unit(const struct vbs_compare *compare);

/* Writes bytes rounded up to two decimals of the largest fitting unit, so that the text is a
 * sufficient budget: "12.11 MiB". 24 bytes suffice; returns buffer. */
char *vbs_form_bytes_up(int64_t bytes, char *buffer, size_t size);

/* Gives "none", "rows" or "samples". */
const char *vbs_form_intervals(enum vbs_intervals intervals);

/* Gives the percentage by which time_us is above a lower bound; 0 where the bound is 0. */
double vbs_form_gap_percent(double time_us, double bound_us);

/* Writes microseconds rounded up to six digits, so that the text is a sufficient bound: "46750.2".
 * Returns buffer. */
#define VBS_FORM_US_SIZE 32
char *vbs_form_us_up(double us, char buffer[VBS_FORM_US_SIZE]);

/* Writes a time in us, ms or s by its size, in four digits: "46.75 ms". Returns buffer. */
char *vbs_form_time(double us, char buffer[VBS_FORM_US_SIZE]);

/* Gives the row of budget b and planner p. */
const struct vbs_compare_row *vbs_form_row(const struct vbs_compare *compare, int b, int p);

/* Gives the fastest feasible row of budget b, the first of equals; only among planners that are no
 * baselines where ours is set. Null when there is none. */
const struct vbs_compare_row *vbs_form_fastest(const struct vbs_compare *compare, int b, bool ours);

struct vbs_form_cell {
    char text[24];
    bool strong; /* bold where there is colour */
};

/* One column of a table; headings and cells are set to the right. */
struct vbs_form_column {
    const char *top, *bottom; /* the two lines of the heading */
    struct vbs_form_cell *cells;
    bool begins_group; /* it and the columns up to the next such one are kept together if
                          possible */
    int width;         /* set by vbs_form_add_columns */
};

/* Appends the columns, in as many blocks beneath each other as width requires; the first column is
 * repeated in each. */
void vbs_form_add_columns(struct vbs_text *text, struct vbs_form_column *columns, int n_columns,
                          int n_rows, int width, bool colour);

/* Appends words wrapped at width; lines after the first are indented. Ends with a newline. */
void vbs_form_add_wrapped(struct vbs_text *text, const char *words, int indent, int width);

#endif
