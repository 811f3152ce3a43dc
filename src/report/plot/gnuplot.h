/* Running gnuplot on a script, apart from everything else. Internal to the report room. */
#ifndef VBS_REPORT_PLOT_GNUPLOT_H
#define VBS_REPORT_PLOT_GNUPLOT_H

#include "base/text.h"

/* What a script writes, by the ending of the target's name. */
struct vbs_gnuplot_format {
    const char *name;   /* "svg": the file name's ending, and the value of vbs_format in scripts */
    const char *ending; /* stands at the end of a whole file, so that half of one is noticed */
};

/* VBS_USAGE when path ends in none of .svg, .png, .pdf. */
enum vbs_status vbs_gnuplot_format(struct vbs_ctx *ctx, const char *path,
                                   const struct vbs_gnuplot_format **format) VBS_MUST_CHECK;

/* Appends text as an expression of single-quoted strings, in which gnuplot substitutes nothing;
 * control characters are made visible, so are those that XML does not have, "]]>", which would end
 * a text of SVG, gets a blank, and what is longer than limit characters is cut. */
void vbs_gnuplot_add_string(struct vbs_text *script, const char *text, int limit);

/* The names that a script uses. They are file descriptors of gnuplot's, whose files have no name.
 */
#define VBS_GNUPLOT_DATA   "/dev/fd/4"
#define VBS_GNUPLOT_OUTPUT "/dev/fd/5"

/*
 * Runs script and behind it the template of that name (plots/NAME.gp) on data and moves what it
 * wrote to path, whole or not at all. The files between lie in the folder of TMPDIR, else /tmp,
 * without names, so that none stays whatever ends the process. An SVG gets title, which browsers
 * and readers of screens show. No shell and no name from outside take part. VBS_UNSUPPORTED when
 * gnuplot is not installed, VBS_LIBRARY with its first error line when it fails, VBS_INTERRUPTED,
 * VBS_IO.
 */
enum vbs_status vbs_gnuplot_run(struct vbs_ctx *ctx, struct vbs_text *script, const char *template,
                                const struct vbs_text *data, const char *title,
                                const struct vbs_gnuplot_format *format,
                                const char *path) VBS_MUST_CHECK;

#endif
