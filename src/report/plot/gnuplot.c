#include "report/plot/gnuplot.h"

#include "base/embedded.h"
#include "base/fail.h"
#include "base/parse.h"
#include "report/plot/latex.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define PREFIX "vbslab-plot-"
/* First number of this process's descriptors for the files, above those of gnuplot. */
#define FIRST_FD      10
#define PICTURE_LIMIT ((size_t)256 << 20)
#define LOG_LIMIT     ((size_t)1 << 20)
#define TAIL          ((size_t)16) /* bytes of a picture in which its ending is searched for */

/* Of pictures, in inches; a PNG of the largest has 36 million pixels. */
#define LEAST_SIDE 0.5
#define MOST_SIDE  100.0
#define MOST_AREA  400.0

#define LEAST_POINTS   2.0
#define MOST_POINTS    72.0
#define DEFAULT_POINTS 8.27 /* as plots/common.gp has it */
#define FONT_LIMIT     60   /* bytes of its name */

/* The files of one run. A picture for LaTeX is a text with another file, of its lines. */
enum plot_file { SCRIPT, DATA, PICTURE, GRAPHICS, LOG, N_PLOT_FILES };

/* The names that a script uses. They are file descriptors of gnuplot, whose files have no name. */
#define DATA_NAME     "/dev/fd/4"
#define OUTPUT_NAME   "/dev/fd/5"
#define GRAPHICS_NAME "/dev/fd/6"

struct plot_files {
    const char *folder;
    int fds[N_PLOT_FILES]; /* -1: not open */
    struct vbs_text links; /* for LaTeX: the folder of the links; else empty */
};

extern char **environ;
extern const struct vbs_embedded vbs_plots[];

static const struct vbs_gnuplot_format FORMATS[] = {
    {"svg", "</svg>", 100},
    {"png", "IEND", 300},
    {"pdf", "%%EOF", 0},
    {"tex", "\\endgroup", 0},
};

static bool is_latex(const struct vbs_gnuplot *picture)
{
    return strcmp(picture->format->name, "tex") == 0;
}

/* ---- Options ---- */

static enum vbs_status find_format(struct vbs_ctx *ctx, const char *path,
                                   const struct vbs_gnuplot_format **format)
{
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof FORMATS / sizeof FORMATS[0]; i++) {
        if (strcasecmp(dot + 1, FORMATS[i].name) == 0) {
            *format = &FORMATS[i];
            return VBS_OK;
        }
    }
    return vbs_fail(ctx, VBS_USAGE, "plot '%s' must end in .svg, .png, .pdf or .tex", path);
}

/* The sides of a picture in inches; 0: its own. */
struct sides {
    double width, height;
};

static struct sides sides_of(const struct vbs_gnuplot *picture)
{
    const struct vbs_plot_options *options = picture->options;
    double unit = options->in_pixels ? picture->format->pixels_per_inch : 1;

    return (struct sides){options->width / unit, options->height / unit};
}

static enum vbs_status check_size(const struct vbs_gnuplot *picture)
{
    const struct vbs_plot_options *options = picture->options;
    struct sides sides = sides_of(picture);

    if (options->width == 0 && options->height == 0)
        return VBS_OK;
    if (options->in_pixels && picture->format->pixels_per_inch == 0)
        return vbs_fail(picture->ctx, VBS_USAGE,
                        "plot '%s' has no pixels; give its size in inches or centimetres",
                        picture->path);
    if (!(sides.width >= LEAST_SIDE && sides.height >= LEAST_SIDE && sides.width <= MOST_SIDE &&
          sides.height <= MOST_SIDE && sides.width * sides.height <= MOST_AREA))
        return vbs_fail(picture->ctx, VBS_USAGE,
                        "a plot of %.4gx%.4g inches: sides are %g to %g inches, and the area at "
                        "most %g square inches",
                        sides.width, sides.height, LEAST_SIDE, MOST_SIDE, MOST_AREA);
    return VBS_OK;
}

/* A name becomes part of a command of gnuplot, and of LaTeX. */
static enum vbs_status check_font(const struct vbs_gnuplot *picture)
{
    const char *font = picture->options->font ? picture->options->font : "";
    double points = picture->options->font_points;

    for (const char *at = font; *at; at++)
        if (!isalnum((unsigned char)*at) && !strchr(" -_.+", *at) && (unsigned char)*at < 0x80)
            return vbs_fail(picture->ctx, VBS_USAGE,
                            "font '%.60s': a name has letters, digits, blanks and - _ . +", font);
    if (strlen(font) > FONT_LIMIT)
        return vbs_fail(picture->ctx, VBS_USAGE, "the name of the font is longer than %d bytes",
                        FONT_LIMIT);
    if (points != 0 && !(points >= LEAST_POINTS && points <= MOST_POINTS))
        return vbs_fail(picture->ctx, VBS_USAGE, "a font of %g points: sizes are %g to %g points",
                        points, LEAST_POINTS, MOST_POINTS);
    return VBS_OK;
}

/* Gives the name of a path without its folder. */
static const char *name_in(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

enum vbs_status vbs_gnuplot_begin(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                                  const char *path, struct vbs_gnuplot *picture)
{
    static const struct vbs_plot_options DEFAULTS = {.struct_size = sizeof DEFAULTS};

    *picture =
        (struct vbs_gnuplot){.ctx = ctx, .options = options ? options : &DEFAULTS, .path = path};
    if (picture->options->struct_size != sizeof DEFAULTS)
        return vbs_fail(ctx, VBS_USAGE,
                        "struct vbs_plot_options has another size: set struct_size");
    VBS_TRY(find_format(ctx, path, &picture->format));
    if (is_latex(picture) && !vbs_latex_can_name(name_in(path)))
        return vbs_fail(ctx, VBS_USAGE,
                        "plot '%s': LaTeX cannot read a file whose name has one of \\{}#%%~$&^\"",
                        path);
    VBS_TRY(check_size(picture));
    return check_font(picture);
}

void vbs_gnuplot_clear(struct vbs_gnuplot *picture)
{
    vbs_text_clear(&picture->script);
    vbs_text_clear(&picture->data);
}

bool vbs_plot_shows(const struct vbs_plot_options *options, const char *series)
{
    for (int i = 0; i < options->n_series; i++)
        if (strcmp(options->series[i], series) == 0)
            return true;
    return options->n_series == 0;
}

enum vbs_status vbs_plot_check_series(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                                      const char *const *names, int n_names)
{
    for (int i = 0; i < options->n_series; i++) {
        int unused;

        VBS_TRY(vbs_parse_word(ctx, "series", options->series[i], names, n_names, &unused));
    }
    return VBS_OK;
}

/* ---- Texts ---- */

/* True for U+FFFE and U+FFFF, which are UTF-8 but no characters of XML. */
static bool is_no_character(const char *at)
{
    return memcmp(at, "\xef\xbf", 2) == 0 && ((unsigned char)at[2] | 1) == 0xbf;
}

void vbs_gnuplot_add_number(struct vbs_text *text, const char *before, double value,
                            const char *after)
{
    vbs_text_add(text, before);
    if (isfinite(value))
        vbs_text_add_double(text, value);
    else
        vbs_text_add(text, "NaN");
    vbs_text_add(text, after);
}

void vbs_gnuplot_add_string(struct vbs_text *script, const char *text, int limit)
{
    struct vbs_text visible = {0};

    vbs_text_add(&visible, "");
    vbs_text_add_visible(&visible, text, limit);
    vbs_text_add(script, "'");
    for (const char *at = visible.data; at && *at; at++) {
        /* A quote is not doubled, because gnuplot 5.4 ends a string that begins with a doubled
         * quote at once. */
        if (*at == '\'')
            vbs_text_add(script, "'.\"'\".'");
        else if (strncmp(at, "]]>", 3) == 0) {
            vbs_text_add(script, "]] >");
            at += 2;
        } else if (strlen(at) >= 3 && is_no_character(at)) {
            vbs_text_addf(script, "\\xef\\xbf\\x%02x", (unsigned char)at[2]);
            at += 2;
        } else
            vbs_text_addf(script, "%c", *at);
    }
    vbs_text_add(script, "'");
    script->failed = script->failed || visible.failed;
    vbs_text_clear(&visible);
}

void vbs_gnuplot_add_field(struct vbs_text *data, const char *name)
{
    struct vbs_text visible = {0};

    vbs_text_add(&visible, "");
    vbs_text_add_visible(&visible, name, (int)strlen(name));
    if (visible.data)
        vbs_text_add_csv_exact(data, visible.data);
    data->failed = data->failed || visible.failed;
    vbs_text_clear(&visible);
}

/* Appends the name of a file as a string of gnuplot, exactly. */
static void add_file_name(struct vbs_text *script, const char *before, const char *name)
{
    vbs_text_addf(script, "\"%s", before);
    for (const char *at = name; *at; at++)
        vbs_text_addf(script,
                      isalnum((unsigned char)*at) || strchr("/._-+,@=", *at) ? "%c" : "\\%03o",
                      (unsigned char)*at);
    vbs_text_add(script, "\"");
}

/* ---- Files ---- */

static enum vbs_status open_files(struct vbs_ctx *ctx, struct plot_files *files)
{
    files->folder = vbs_temporary_folder();
    for (int i = 0; i < N_PLOT_FILES; i++) {
        int fd = vbs_open_nameless(files->folder, PREFIX);

        if (fd < 0)
            return vbs_fail(ctx, VBS_IO, "cannot make a temporary file in '%s': %s", files->folder,
                            strerror(errno));
        files->fds[i] = fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
        close(fd);
        if (files->fds[i] < 0)
            return vbs_fail(ctx, VBS_IO, "cannot open a temporary file: %s", strerror(errno));
    }
    return VBS_OK;
}

/* Makes the folder in which gnuplot finds the two files of a picture for LaTeX under names of which
 * one follows from the other. */
static enum vbs_status make_links(struct vbs_ctx *ctx, struct plot_files *files)
{
    char *folder = realpath(files->folder, NULL);
    struct vbs_text link = {0};
    bool made = false;

    if (folder)
        vbs_text_addf(&files->links, "%s/" PREFIX "XXXXXX", folder);
    free(folder);
    if (files->links.data && !files->links.failed && mkdtemp(files->links.data)) {
        vbs_text_addf(&link, "%s/p.tex", files->links.data);
        made = link.data && symlink(OUTPUT_NAME, link.data) == 0;
        vbs_text_clear(&link);
        vbs_text_addf(&link, "%s/p.pdf", files->links.data);
        made = made && link.data && symlink(GRAPHICS_NAME, link.data) == 0;
        vbs_text_clear(&link);
    } else {
        vbs_text_clear(&files->links);
    }
    return made ? VBS_OK
                : vbs_fail(ctx, VBS_IO, "cannot make a temporary folder in '%s': %s", files->folder,
                           strerror(errno));
}

static void remove_links(struct plot_files *files)
{
    static const char *const NAMES[] = {"p.tex", "p.pdf"};

    for (size_t i = 0; files->links.data && i < sizeof NAMES / sizeof NAMES[0]; i++) {
        struct vbs_text link = {0};

        vbs_text_addf(&link, "%s/%s", files->links.data, NAMES[i]);
        if (link.data)
            unlink(link.data);
        vbs_text_clear(&link);
    }
    if (files->links.data)
        rmdir(files->links.data);
    vbs_text_clear(&files->links);
}

static void close_files(struct plot_files *files)
{
    remove_links(files);
    for (int i = 0; i < N_PLOT_FILES; i++)
        if (files->fds[i] >= 0)
            close(files->fds[i]);
}

static enum vbs_status write_in(struct vbs_ctx *ctx, const struct plot_files *files,
                                enum plot_file which, const struct vbs_text *text)
{
    size_t written = 0;

    while (written < text->length) {
        ssize_t n = write(files->fds[which], text->data + written, text->length - written);

        if (n < 0 && errno != EINTR)
            return vbs_fail(ctx, VBS_IO, "cannot write a temporary file in '%s': %s", files->folder,
                            strerror(errno));
        if (vbs_cancelled(ctx))
            return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted");
        written += n > 0 ? (size_t)n : 0;
    }
    return VBS_OK;
}

static enum vbs_status read_in(struct vbs_ctx *ctx, const struct plot_files *files,
                               enum plot_file which, size_t limit, char **data, size_t *length)
{
    char path[32];

    snprintf(path, sizeof path, "/dev/fd/%d", files->fds[which]);
    return vbs_read_file(ctx, path, limit, data, length);
}

/* Resets signals that the caller may ignore, and whose default is to end gnuplot when it cannot
 * write. */
static int set_signals(posix_spawnattr_t *attributes)
{
    sigset_t defaults;
    int error;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGXFSZ);
    sigaddset(&defaults, SIGPIPE);
    error = posix_spawnattr_setsigdefault(attributes, &defaults);
    return error ? error : posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
}

/* Sets the descriptors of the files in gnuplot; none of the names in its script is relative to a
 * folder. */
static int set_files(posix_spawn_file_actions_t *actions, const struct plot_files *files)
{
    static const struct {
        enum plot_file file;
        int fd;
    } GIVEN[] = {{LOG, 1}, {LOG, 2}, {SCRIPT, 3}, {DATA, 4}, {PICTURE, 5}, {GRAPHICS, 6}};
    int error = posix_spawn_file_actions_addchdir_np(actions, "/");

    if (!error)
        error = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    for (size_t i = 0; i < sizeof GIVEN / sizeof GIVEN[0] && !error; i++)
        error = posix_spawn_file_actions_adddup2(actions, files->fds[GIVEN[i].file], GIVEN[i].fd);
    return error;
}

/* Starts gnuplot on the files. Returns an error number, ENOENT when it is not installed. The option
 * -d leaves out the user's own start-up files. */
static int start(const struct plot_files *files, pid_t *process)
{
    char name[] = "gnuplot", no_rc[] = "-d", script[] = "/dev/fd/3";
    char *arguments[] = {name, no_rc, script, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    error = posix_spawnattr_init(&attributes);
    if (error)
        goto free_actions;
    error = set_files(&actions, files);
    if (!error)
        error = set_signals(&attributes);
    if (!error)
        error = posix_spawnp(process, name, &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
free_actions:
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* Waits for process, and ends it when the caller wants to stop. */
static enum vbs_status wait_for(struct vbs_ctx *ctx, pid_t process, int *outcome)
{
    while (waitpid(process, outcome, 0) < 0) {
        if (errno != EINTR)
            return vbs_fail(ctx, VBS_IO, "cannot wait for gnuplot: %s", strerror(errno));
        if (vbs_cancelled(ctx))
            kill(process, SIGTERM);
    }
    return vbs_cancelled(ctx) ? vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while gnuplot drew")
                              : VBS_OK;
}

#define REFUSAL "vbslab: " /* a message of plots/common.gp */

/* Finds the reason in gnuplot's log, which repeats the faulty line and a mark before it: "line N:
 * why". Of warnings, which begin in the same way, one is the reason only where there is nothing
 * else. */
static const char *find_reason(char *log)
{
    const char *first = NULL, *warning = NULL;
    char *rest;

    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t\r");
        if (strstr(line, "warning:"))
            warning = warning ? warning : line;
        else if (strstr(line, "line ") && strchr(line, ':'))
            return line;
        else if (!first && line[0])
            first = line;
    }
    return first ? first : warning ? warning : "it does not say why";
}

static enum vbs_status fail_with_log(struct vbs_ctx *ctx, const struct plot_files *files,
                                     int outcome)
{
    const char *reason, *refusal;
    char *log = NULL;
    size_t length;
    enum vbs_status status;

    if (WIFSIGNALED(outcome))
        return vbs_fail(ctx, VBS_LIBRARY, "gnuplot was ended by a signal: %s",
                        strsignal(WTERMSIG(outcome)));
    if (read_in(ctx, files, LOG, LOG_LIMIT, &log, &length) != VBS_OK)
        return vbs_fail(ctx, VBS_LIBRARY, "gnuplot failed with exit code %d", WEXITSTATUS(outcome));
    reason = find_reason(log);
    refusal = strstr(reason, REFUSAL);
    status = refusal ? vbs_fail(ctx, VBS_USAGE, "%s", refusal + strlen(REFUSAL))
                     : vbs_fail(ctx, VBS_LIBRARY, "gnuplot failed: %s", reason);
    free(log);
    return status;
}

static enum vbs_status draw(struct vbs_ctx *ctx, const struct plot_files *files)
{
    pid_t process;
    int outcome, error = start(files, &process);

    if (error == ENOMEM)
        return vbs_no_memory(ctx);
    if (error == ENOENT)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "plots need gnuplot, which is not installed (Debian: gnuplot-nox)");
    if (error)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "cannot run gnuplot: %s", strerror(error));
    VBS_TRY(wait_for(ctx, process, &outcome));
    return WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0 ? VBS_OK
                                                           : fail_with_log(ctx, files, outcome);
}

#define SVG_TITLE "<title>Gnuplot</title>" /* of every SVG of gnuplot */

static void add_xml(struct vbs_text *text, const char *title)
{
    for (const char *at = title; *at; at++) {
        if (*at == '&')
            vbs_text_add(text, "&amp;");
        else if (*at == '<')
            vbs_text_add(text, "&lt;");
        else if (*at == '>')
            vbs_text_add(text, "&gt;");
        else if (strlen(at) >= 3 && is_no_character(at)) {
            vbs_text_add(text, "\xef\xbf\xbd");
            at += 2;
        } else
            vbs_text_addf(text, "%c", *at);
    }
}

/* Adds svg without its titles: gnuplot names curves by formulas or numbers, and browsers show these
 * names under the pointer. */
static void add_untitled(struct vbs_text *text, const char *svg)
{
    static const char BEGIN[] = "<title>", END[] = "</title>";
    const char *begin, *end;

    while ((begin = strstr(svg, BEGIN)) && (end = strstr(begin, END))) {
        vbs_text_addf(text, "%.*s", (int)(begin - svg), svg);
        svg = end + strlen(END);
    }
    vbs_text_add(text, svg);
}

/* Puts title into an SVG in the place of gnuplot's own, which is the same in all. */
static enum vbs_status set_title(struct vbs_ctx *ctx, const char *title, char **picture,
                                 size_t *length)
{
    char *found = strstr(*picture, SVG_TITLE);
    struct vbs_text text = {0};

    if (!found)
        return VBS_OK;
    *found = '\0';
    vbs_text_add(&text, *picture);
    vbs_text_add(&text, "<title>");
    add_xml(&text, title);
    vbs_text_add(&text, "</title>");
    add_untitled(&text, found + strlen(SVG_TITLE));
    if (text.failed) {
        vbs_text_clear(&text);
        return vbs_no_memory(ctx);
    }
    free(*picture);
    *picture = text.data;
    *length = text.length;
    return VBS_OK;
}

/* Gives the path of the lines of a picture for LaTeX, beside it; the caller clears it. */
static struct vbs_text graphics_path(const struct vbs_gnuplot *picture)
{
    struct vbs_text path = {0};

    vbs_text_addf(&path, "%.*s.pdf", (int)(strlen(picture->path) - strlen(".tex")), picture->path);
    return path;
}

/* Makes LaTeX of what gnuplot wrote, and writes its other file. */
static enum vbs_status finish_latex(const struct vbs_gnuplot *picture,
                                    const struct plot_files *files, char **text, size_t *length)
{
    struct vbs_text path = graphics_path(picture), latex = {0};
    double points = picture->options->font_points;
    char *graphics = NULL;
    size_t n_graphics = 0;
    enum vbs_status status = VBS_OK;

    if (path.failed)
        return vbs_no_memory(picture->ctx);
    vbs_latex_add(&latex, *text, name_in(path.data), points > 0 ? points : DEFAULT_POINTS);
    if (latex.failed)
        status = vbs_no_memory(picture->ctx);
    if (status == VBS_OK)
        status = read_in(picture->ctx, files, GRAPHICS, PICTURE_LIMIT, &graphics, &n_graphics);
    if (status == VBS_OK && (n_graphics < TAIL ||
                             !memmem(graphics + n_graphics - TAIL, TAIL, "%%EOF", strlen("%%EOF"))))
        status = vbs_fail(picture->ctx, VBS_LIBRARY,
                          "gnuplot wrote only a part of the picture; is there room in '%s'?",
                          files->folder);
    if (status == VBS_OK)
        status = vbs_write_file(picture->ctx, path.data, graphics, n_graphics);
    if (status == VBS_OK) {
        free(*text);
        *text = latex.data;
        *length = latex.length;
        latex = (struct vbs_text){0};
    }
    free(graphics);
    vbs_text_clear(&latex);
    vbs_text_clear(&path);
    return status;
}

/* gnuplot may ignore that a disk is full, so a file without its ending is refused. */
static enum vbs_status hand_out(const struct vbs_gnuplot *picture, const struct plot_files *files,
                                const char *title)
{
    const struct vbs_gnuplot_format *format = picture->format;
    struct vbs_ctx *ctx = picture->ctx;
    char *drawn = NULL;
    size_t length = 0;
    enum vbs_status status = read_in(ctx, files, PICTURE, PICTURE_LIMIT, &drawn, &length);

    if (status != VBS_OK)
        return status;
    if (length == 0)
        status = vbs_fail(ctx, VBS_LIBRARY, "gnuplot wrote no picture");
    else if (length < TAIL ||
             !memmem(drawn + length - TAIL, TAIL, format->ending, strlen(format->ending)))
        status = vbs_fail(ctx, VBS_LIBRARY,
                          "gnuplot wrote only a part of the picture; is there room in '%s'?",
                          files->folder);
    if (status == VBS_OK && strcmp(format->name, "svg") == 0)
        status = set_title(ctx, title, &drawn, &length);
    if (status == VBS_OK && is_latex(picture))
        status = finish_latex(picture, files, &drawn, &length);
    if (status == VBS_OK)
        status = vbs_write_file(ctx, picture->path, drawn, length);
    free(drawn);
    return status;
}

/* ---- Scripts ---- */

static const struct vbs_embedded *find_template(const char *name)
{
    const struct vbs_embedded *found = vbs_plots;

    while (found->name && strcmp(found->name, name) != 0)
        found++;
    return found->name ? found : NULL;
}

/* Appends the whole script, behind the names of its files and the format: the variables of all
 * pictures, those of this one, and the templates. */
static enum vbs_status add_script(struct vbs_text *script, const struct vbs_gnuplot *picture,
                                  const char *template)
{
    const struct vbs_embedded *common = find_template("common"), *own = find_template(template);
    struct sides sides = sides_of(picture);

    if (!common || !own)
        return vbs_fail(picture->ctx, VBS_UNSUPPORTED, "this build has no template for plots");
    vbs_gnuplot_add_number(script, "vbs_width = ", sides.width, "\n");
    vbs_gnuplot_add_number(script, "vbs_height = ", sides.height, "\n");
    vbs_text_add(script, "vbs_font = ");
    vbs_gnuplot_add_string(script, picture->options->font ? picture->options->font : "",
                           FONT_LIMIT);
    vbs_gnuplot_add_number(script, "\nvbs_points = ", picture->options->font_points, "\n\n");
    vbs_text_add(script, common->text);
    vbs_text_add(script, "\n");
    vbs_text_add_bytes(script, picture->script.data, picture->script.length);
    vbs_text_add(script, "\n");
    vbs_text_add(script, own->text);
    script->failed = script->failed || picture->script.failed || picture->data.failed;
    return script->failed ? vbs_no_memory(picture->ctx) : VBS_OK;
}

/* Makes the script for gnuplot as it is run here. */
static enum vbs_status make_script(const struct vbs_gnuplot *picture,
                                   const struct plot_files *files, const char *template,
                                   struct vbs_text *script)
{
    vbs_text_addf(script, "vbs_format = '%s'\nvbs_data = '" DATA_NAME "'\nvbs_output = ",
                  picture->format->name);
    if (is_latex(picture) && files->links.data)
        add_file_name(script, "", files->links.data);
    else
        vbs_text_add(script, "'" OUTPUT_NAME "'");
    vbs_text_add(script, is_latex(picture) ? ".'/p.tex'\n" : "\n");
    return add_script(script, picture, template);
}

static enum vbs_status write_beside(const struct vbs_gnuplot *picture, const char *ending,
                                    const struct vbs_text *text)
{
    struct vbs_text path = {0};
    enum vbs_status status;

    vbs_text_addf(&path, "%s%s", picture->path, ending);
    status = path.failed || text->failed
                 ? vbs_no_memory(picture->ctx)
                 : vbs_write_file(picture->ctx, path.data, text->data, text->length);
    vbs_text_clear(&path);
    return status;
}

/* Writes the data and the script of a picture beside it. Names of files begin with "./", because
 * some first characters would make commands of them. The script of one for LaTeX draws a PDF: its
 * texts are made LaTeX here. */
static enum vbs_status write_data(const struct vbs_gnuplot *picture, const char *template)
{
    const char *name = name_in(picture->path);
    struct vbs_text script = {0};
    enum vbs_status status;

    VBS_TRY(write_beside(picture, ".csv", &picture->data));
    vbs_text_addf(&script,
                  "# Draws this picture from the data beside it. Run gnuplot on it in its folder;\n"
                  "# change what you like.\nvbs_format = '%s' # svg, png or pdf\nvbs_data = ",
                  is_latex(picture) ? "pdf" : picture->format->name);
    add_file_name(&script, "./", name);
    vbs_text_add(&script, ".'.csv'\nvbs_output = ");
    add_file_name(&script, "./", name);
    vbs_text_add(&script, is_latex(picture) ? ".'.pdf'\n" : "\n");
    status = add_script(&script, picture, template);
    if (status == VBS_OK)
        status = write_beside(picture, ".gp", &script);
    vbs_text_clear(&script);
    return status;
}

enum vbs_status vbs_gnuplot_draw(struct vbs_gnuplot *picture, const char *template,
                                 const char *title)
{
    struct plot_files files = {.fds = {-1, -1, -1, -1, -1}};
    struct vbs_text script = {0};
    enum vbs_status status = open_files(picture->ctx, &files);

    if (status == VBS_OK && is_latex(picture))
        status = make_links(picture->ctx, &files);
    if (status == VBS_OK)
        status = make_script(picture, &files, template, &script);
    if (status == VBS_OK)
        status = write_in(picture->ctx, &files, SCRIPT, &script);
    if (status == VBS_OK)
        status = write_in(picture->ctx, &files, DATA, &picture->data);
    if (status == VBS_OK)
        status = draw(picture->ctx, &files);
    if (status == VBS_OK)
        status = hand_out(picture, &files, title);
    if (status == VBS_OK && picture->options->with_data)
        status = write_data(picture, template);
    vbs_text_clear(&script);
    close_files(&files);
    return status;
}
