#include "cli/common/pictures.h"

#include "base/fail.h"
#include "cli/common/list.h"
#include "report/plot/plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const OPTIONS[] = {"plot-size", "plot-font", "plot-series", "plot-data"};

const char *const cli_memory_series[] = {"weights", "tensors", "workspace", "budget"};

/* The files of an option, while they are checked. */
struct checked {
    struct cli *cli;
    const char *option, *list;
};

/* Fails where the other item is the .pdf of a picture for LaTeX. */
static enum vbs_status check_beside(struct vbs_ctx *ctx, const char *item, void *self)
{
    const char *latex = self;
    size_t length = strlen(latex) - strlen("tex");

    if (strlen(item) != strlen(latex) || strncmp(item, latex, length) != 0 ||
        strcmp(item + length, "pdf") != 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_USAGE, "'%.100s' has its lines in '%.100s': give one another name",
                    latex, item);
}

/* self: struct checked */
static enum vbs_status check_file(struct vbs_ctx *ctx, const char *item, void *self)
{
    static const char *const ENDINGS[] = {".svg", ".png", ".pdf", ".tex"};
    const struct checked *checked = self;
    bool known = false;

    for (size_t i = 0; i < sizeof ENDINGS / sizeof ENDINGS[0]; i++)
        known = known || cli_ends_in(item, ENDINGS[i]);
    if (!known)
        return vbs_fail(ctx, VBS_USAGE, "--%s '%.100s' must end in .svg, .png, .pdf or .tex",
                        checked->option, item);
    if (!cli_ends_in(item, ".tex"))
        return VBS_OK;
    return cli_for_each(ctx, checked->list, check_beside, (char *)(uintptr_t)item);
}

static enum vbs_status check_files(struct cli *cli, const char *option, const char *list)
{
    struct checked checked = {.cli = cli, .option = option, .list = list};

    if (cli_is_empty_list(list))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--%s names no file; write one or more that end in .svg, .png, .pdf or "
                        ".tex, with commas between them",
                        option);
    return cli_for_each(&cli->ctx, list, check_file, &checked);
}

/* Reads one side, and gives where it ends; null: it is no number above 0. */
static const char *read_side(const char *text, double *side)
{
    char *end;

    if (strspn(text, "0123456789.") == 0)
        return NULL;
    *side = strtod(text, &end);
    return *side > 0 ? end : NULL;
}

static enum vbs_status read_size(struct cli *cli, const char *text,
                                 struct vbs_plot_options *options)
{
    const char *at = read_side(text, &options->width);
    double unit = 1;

    at = at && *at == 'x' ? read_side(at + 1, &options->height) : NULL;
    if (!at || (*at && strcmp(at, "in") != 0 && strcmp(at, "cm") != 0 && strcmp(at, "px") != 0))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--plot-size '%.40s' is no size; write 4.6x3in, 12x8cm or 1200x800px",
                        text);
    if (!*at && (options->width > 100 || options->height > 100))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--plot-size '%.40s' is in inches; write %.40spx for "
                        "pixels",
                        text, text);
    options->in_pixels = strcmp(at, "px") == 0;
    unit = strcmp(at, "cm") == 0 ? 2.54 : 1;
    options->width /= unit;
    options->height /= unit;
    return VBS_OK;
}

static enum vbs_status read_font(struct cli *cli, const char *text, struct cli_pictures *pictures)
{
    char *comma, *end;

    pictures->font = strdup(text);
    if (!pictures->font)
        return vbs_no_memory(&cli->ctx);
    comma = strchr(pictures->font, ',');
    if (comma) {
        *comma = '\0';
        pictures->options.font_points = strtod(comma + 1, &end);
        if (end == comma + 1 || *end || !(pictures->options.font_points > 0))
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--plot-font '%.60s': the size is no number of points", text);
    }
    if (!pictures->font[0] && !comma)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--plot-font names no font; write NAME, NAME,9 or ,9");
    pictures->options.font = pictures->font[0] ? pictures->font : NULL;
    return VBS_OK;
}

static enum vbs_status read_series(struct cli *cli, const char *list, struct cli_pictures *pictures)
{
    char *rest;
    int n = 0;

    if (cli_is_empty_list(list))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--plot-series names no series");
    pictures->names = strdup(list);
    pictures->series = calloc(strlen(list) + 1, sizeof *pictures->series);
    if (!pictures->names || !pictures->series)
        return vbs_no_memory(&cli->ctx);
    for (char *item = strtok_r(pictures->names, ",", &rest); item;
         item = strtok_r(NULL, ",", &rest))
        pictures->series[n++] = item;
    pictures->options.series = pictures->series;
    pictures->options.n_series = n;
    return VBS_OK;
}

/* Checks a file with the options, as drawing it would. self: struct cli_pictures */
static enum vbs_status check_drawable(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct cli_pictures *pictures = self;
    struct vbs_gnuplot picture;
    enum vbs_status status = vbs_gnuplot_begin(ctx, &pictures->options, item, &picture);

    vbs_gnuplot_clear(&picture);
    return status;
}

enum vbs_status cli_pictures_read(struct cli *cli, const char *const *values, const char *option,
                                  const char *list, struct cli_pictures *pictures)
{
    const char *size = cli_value(cli, values, "plot-size");
    const char *font = cli_value(cli, values, "plot-font");
    const char *series = cli_value(cli, values, "plot-series");

    pictures->list = list;
    pictures->options.struct_size = sizeof pictures->options;
    for (size_t i = 0; !list && i < sizeof OPTIONS / sizeof OPTIONS[0]; i++)
        if (cli_value(cli, values, OPTIONS[i]))
            return vbs_fail(&cli->ctx, VBS_USAGE, "--%s belongs to --%s", OPTIONS[i], option);
    if (!list)
        return VBS_OK;
    VBS_TRY(check_files(cli, option, list));
    if (size)
        VBS_TRY(read_size(cli, size, &pictures->options));
    if (font)
        VBS_TRY(read_font(cli, font, pictures));
    if (series)
        VBS_TRY(read_series(cli, series, pictures));
    pictures->options.with_data = cli_value(cli, values, "plot-data") != NULL;
    return cli_for_each(&cli->ctx, list, check_drawable, pictures);
}

void cli_pictures_clear(struct cli_pictures *pictures)
{
    free(pictures->font);
    free(pictures->names);
    free(pictures->series);
    *pictures = (struct cli_pictures){0};
}

enum vbs_status cli_pictures_check(struct cli *cli, const struct cli_pictures *pictures,
                                   const char *const *names, int n_names)
{
    return vbs_plot_check_series(&cli->ctx, &pictures->options, names, n_names);
}

/* What is drawn into each file. */
struct drawn {
    const struct vbs_plot_options *options;
    cli_draw_function *draw;
    void *self;
};

static enum vbs_status draw_one(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct drawn *drawn = self;

    return drawn->draw(ctx, drawn->options, item, drawn->self);
}

enum vbs_status cli_pictures_draw(struct cli *cli, const struct cli_pictures *pictures,
                                  cli_draw_function *draw, void *self)
{
    if (!pictures->list)
        return VBS_OK;
    return cli_for_each(&cli->ctx, pictures->list, draw_one,
                        &(struct drawn){.options = &pictures->options, .draw = draw, .self = self});
}

static enum vbs_status name_one(struct vbs_ctx *ctx, const char *item, void *self)
{
    (void)ctx;
    (void)self;
    fputs("plot: ", stdout);
    cli_print_name(item);
    putchar('\n');
    return VBS_OK;
}

enum vbs_status cli_pictures_name(struct cli *cli, const struct cli_pictures *pictures)
{
    return pictures->list ? cli_for_each(&cli->ctx, pictures->list, name_one, NULL) : VBS_OK;
}
