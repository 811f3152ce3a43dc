/* Running gnuplot on a script, apart from everything else. Internal to the report room. */
#ifndef VBS_REPORT_PLOT_GNUPLOT_H
#define VBS_REPORT_PLOT_GNUPLOT_H

#include "base/text.h"

/* The format of a picture, by the ending of the target's name. */
struct vbs_gnuplot_format {
    const char *name;   /* "svg": the file name's ending, and the value of vbs_format in scripts */
    const char *ending; /* the end of every whole file, by which a truncated one is noticed */
};

/* VBS_USAGE when path ends in none of .svg, .png, .pdf. */
enum vbs_status vbs_gnuplot_format(struct vbs_ctx *ctx, const char *path,
                                   const struct vbs_gnuplot_format **format) VBS_MUST_CHECK;

/* Appends text as an expression of single-quoted strings, in which gnuplot substitutes nothing.
 * Control characters, and characters that XML does not have, are made visible; "]]>", which would
 * end a text of SVG, gets a blank; a text of more than limit characters is cut. */
void vbs_gnuplot_add_string(struct vbs_text *script, const char *text, int limit);

/* Appends a number between two texts, as scripts and data have it: NaN where it is not finite. */
void vbs_gnuplot_add_number(struct vbs_text *text, const char *before, double value,
                            const char *after);

/* The names that a script uses. They are file descriptors of gnuplot, whose files have no name. */
#define VBS_GNUPLOT_DATA   "/dev/fd/4"
#define VBS_GNUPLOT_OUTPUT "/dev/fd/5"

/*
 * Runs script, and then the template of this name (plots/NAME.gp), on data, and writes the picture
 * to path, whole or not at all. Temporary files are in the folder TMPDIR, else /tmp, without names,
 * so that none stays however the process ends. An SVG gets title, which browsers and screen readers
 * show. No shell and no name from outside take part. VBS_UNSUPPORTED when gnuplot is not installed,
 * VBS_LIBRARY with its first error line when it fails, VBS_INTERRUPTED, VBS_IO.
 */
enum vbs_status vbs_gnuplot_run(struct vbs_ctx *ctx, struct vbs_text *script, const char *template,
                                const struct vbs_text *data, const char *title,
                                const struct vbs_gnuplot_format *format,
                                const char *path) VBS_MUST_CHECK;

#endif
