/* Making a picture by running gnuplot on a script, apart from everything else. Internal to the
 * report room. */
#ifndef VBS_REPORT_PLOT_GNUPLOT_H
#define VBS_REPORT_PLOT_GNUPLOT_H

#include "base/text.h"
#include "vbslab/report.h"

/* The format of a picture, by the ending of the target's name. */
struct vbs_gnuplot_format {
    const char *name;   /* "svg": the file name's ending, and the value of vbs_format in scripts */
    const char *ending; /* the end of every whole file, by which a truncated one is noticed */
    double pixels_per_inch; /* 0: it has no pixels */
};

/* A picture that is being made. vbs_gnuplot_begin fills it, and script and data are appended to:
 * script sets the variables that the template of the picture needs (vbs_*), and data is CSV, in
 * blocks for gnuplot's "index" with two empty lines between them, each of which begins with a line
 * of names of columns. vbs_gnuplot_clear frees it. */
struct vbs_gnuplot {
    struct vbs_ctx *ctx;
    const struct vbs_gnuplot_format *format;
    const struct vbs_plot_options *options; /* never null */
    const char *path;
    struct vbs_text script, data;
};

/* Begins a picture; options may be null. VBS_USAGE when path ends in none of .svg, .png, .pdf and
 * .tex, or the options ask for what no picture of this format has. */
enum vbs_status vbs_gnuplot_begin(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                                  const char *path, struct vbs_gnuplot *picture) VBS_MUST_CHECK;
void vbs_gnuplot_clear(struct vbs_gnuplot *picture);

/* Appends text as an expression of single-quoted strings, in which gnuplot substitutes nothing.
 * Control characters, and characters that XML does not have, are made visible; "]]>", which would
 * end a text of SVG, gets a blank; a text of more than limit characters is cut. */
void vbs_gnuplot_add_string(struct vbs_text *script, const char *text, int limit);

/* Appends a number between two texts, as scripts and data have it: NaN where it is not finite. */
void vbs_gnuplot_add_number(struct vbs_text *text, const char *before, double value,
                            const char *after);

/* Appends a name as a field of the data, on one line whatever it holds. */
void vbs_gnuplot_add_field(struct vbs_text *data, const char *name);

/*
 * Draws the picture by the template of this name (plots/NAME.gp), and writes it to its path, whole
 * or not at all; with options->with_data then also data and script. Temporary files are in the
 * folder TMPDIR, else /tmp, without names, so that none stays however the process ends; only a
 * picture for LaTeX needs a folder with two links there while gnuplot runs, because gnuplot makes
 * the name of one file from that of the other. An SVG gets title, which browsers and screen readers
 * show. No shell and no name from outside take part. VBS_USAGE: the size is too small;
 * VBS_UNSUPPORTED when gnuplot is not installed, VBS_LIBRARY with its first error line when it
 * fails, VBS_INTERRUPTED, VBS_IO.
 */
enum vbs_status vbs_gnuplot_draw(struct vbs_gnuplot *picture, const char *template,
                                 const char *title) VBS_MUST_CHECK;

/* Gives whether a series is drawn: it is among those of the options, or these name none. */
bool vbs_plot_shows(const struct vbs_plot_options *options, const char *series);

/* Fails with VBS_USAGE where options name a series that is none of the picture's; the detail has
 * the nearest, or all. */
enum vbs_status vbs_plot_check_series(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                                      const char *const *names, int n_names) VBS_MUST_CHECK;

#endif
