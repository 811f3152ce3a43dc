/* Pictures that a command draws: the files that an option names, and how they are drawn. */
#ifndef VBS_CLI_COMMON_PICTURES_H
#define VBS_CLI_COMMON_PICTURES_H

#include "cli/common/cli.h"

/* The endings of pictures, for the help of the option that names them. */
#define CLI_PICTURE_ENDINGS ".svg, .png, .pdf or .tex (LaTeX, with its .pdf beside it)"

/* The options of pictures, for a table of options, behind the one that names the files. */
#define CLI_OPTIONS_PICTURE                                                                        \
    {"plot-size", "WxH",                                                                           \
     "size of the pictures: 4.6x3 or 4.6x3in (inches), 12x8cm, and of .svg (100 an inch) and "     \
     ".png (300) also 1200x800px"},                                                                \
        {"plot-font", "NAME[,SIZE]",                                                               \
         "font of the pictures and its size in points as printed (default 8.3); ,9 changes the "   \
         "size alone"},                                                                            \
        {"plot-series", "LIST", "draw only these, with commas; their names are those of the key"}, \
    {                                                                                              \
        "plot-data", NULL,                                                                         \
            "write the numbers of each picture FILE too, as FILE.csv, and a script for gnuplot, "  \
            "FILE.gp"                                                                              \
    }

/* The pictures of a command. Begin with {0}. */
struct cli_pictures {
    const char *list; /* of files with commas; null: none */
    struct vbs_plot_options options;
    char *font, *names; /* which options borrows */
    const char **series;
};

/* Reads the options of pictures into *pictures, which cli_pictures_clear clears, also where this
 * fails. option is the one that names the files, list its value or null. VBS_USAGE: the list has no
 * item, one without an ending of a picture, or two that write one file; an option of pictures is
 * malformed, or was given without pictures. */
enum vbs_status cli_pictures_read(struct cli *cli, const char *const *values, const char *option,
                                  const char *list, struct cli_pictures *pictures) VBS_MUST_CHECK;
void cli_pictures_clear(struct cli_pictures *pictures);

/* Fails with VBS_USAGE, and names the nearest, where a series was chosen that is not among names:
 * for commands that know them before a long work. */
enum vbs_status cli_pictures_check(struct cli *cli, const struct cli_pictures *pictures,
                                   const char *const *names, int n_names) VBS_MUST_CHECK;

/* The series of pictures of schedules. */
#define CLI_N_MEMORY_SERIES 4
extern const char *const cli_memory_series[CLI_N_MEMORY_SERIES];

/* Draws one picture. */
typedef enum vbs_status cli_draw_function(struct vbs_ctx *ctx,
                                          const struct vbs_plot_options *options, const char *path,
                                          void *self);

/* Draws all of the list; a failure ends it and is its result. */
enum vbs_status cli_pictures_draw(struct cli *cli, const struct cli_pictures *pictures,
                                  cli_draw_function *draw, void *self) VBS_MUST_CHECK;

/* Prints a line with the path of each picture of the list, for people below a table. */
enum vbs_status cli_pictures_name(struct cli *cli,
                                  const struct cli_pictures *pictures) VBS_MUST_CHECK;

#endif
