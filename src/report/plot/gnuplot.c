#include "report/plot/gnuplot.h"

#include "base/embedded.h"
#include "base/fail.h"
#include "report/common/common.h"

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

/* The files of one run. */
enum plot_file { SCRIPT, DATA, PICTURE, LOG, N_PLOT_FILES };

struct plot_files {
    const char *folder;
    int fds[N_PLOT_FILES]; /* -1: not open */
};

extern char **environ;
extern const struct vbs_embedded vbs_plots[];

enum vbs_status vbs_gnuplot_format(struct vbs_ctx *ctx, const char *path,
                                   const struct vbs_gnuplot_format **format)
{
    static const struct vbs_gnuplot_format FORMATS[] = {
        {"svg", "</svg>"},
        {"png", "IEND"},
        {"pdf", "%%EOF"},
    };
    const char *dot = strrchr(path, '.');

    for (size_t i = 0; dot && i < sizeof FORMATS / sizeof FORMATS[0]; i++) {
        if (strcasecmp(dot + 1, FORMATS[i].name) == 0) {
            *format = &FORMATS[i];
            return VBS_OK;
        }
    }
    return vbs_fail(ctx, VBS_USAGE, "plot '%s' must end in .svg, .png or .pdf", path);
}

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

static enum vbs_status open_files(struct vbs_ctx *ctx, struct plot_files *files)
{
    const char *folder = getenv("TMPDIR");

    files->folder = folder && folder[0] ? folder : "/tmp";
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

static void close_files(struct plot_files *files)
{
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
    } GIVEN[] = {{LOG, 1}, {LOG, 2}, {SCRIPT, 3}, {DATA, 4}, {PICTURE, 5}};
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

/* Finds the reason in gnuplot's log, which repeats the faulty line and a mark before it: "line N:
 * why". */
static const char *find_reason(char *log)
{
    const char *first = NULL;
    char *rest;

    for (char *line = strtok_r(log, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        line += strspn(line, " \t\r");
        if (strstr(line, "line ") && strchr(line, ':'))
            return line;
        if (!first && line[0])
            first = line;
    }
    return first ? first : "it does not say why";
}

static enum vbs_status fail_with_log(struct vbs_ctx *ctx, const struct plot_files *files,
                                     int outcome)
{
    char *log = NULL;
    size_t length;
    enum vbs_status status;

    if (WIFSIGNALED(outcome))
        return vbs_fail(ctx, VBS_LIBRARY, "gnuplot was ended by a signal: %s",
                        strsignal(WTERMSIG(outcome)));
    if (read_in(ctx, files, LOG, LOG_LIMIT, &log, &length) != VBS_OK)
        return vbs_fail(ctx, VBS_LIBRARY, "gnuplot failed with exit code %d", WEXITSTATUS(outcome));
    status = vbs_fail(ctx, VBS_LIBRARY, "gnuplot failed: %s", find_reason(log));
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

/* gnuplot may ignore that a disk is full, so a file without its ending is refused. */
static enum vbs_status hand_out(struct vbs_ctx *ctx, const struct plot_files *files,
                                const char *title, const struct vbs_gnuplot_format *format,
                                const char *path)
{
    char *picture = NULL;
    size_t length = 0;
    enum vbs_status status = read_in(ctx, files, PICTURE, PICTURE_LIMIT, &picture, &length);

    if (status != VBS_OK)
        return status;
    if (length == 0)
        status = vbs_fail(ctx, VBS_LIBRARY, "gnuplot wrote no picture");
    else if (length < TAIL ||
             !memmem(picture + length - TAIL, TAIL, format->ending, strlen(format->ending)))
        status = vbs_fail(ctx, VBS_LIBRARY,
                          "gnuplot wrote only a part of the picture; is there room in '%s'?",
                          files->folder);
    if (status == VBS_OK && strcmp(format->name, "svg") == 0)
        status = set_title(ctx, title, &picture, &length);
    if (status == VBS_OK)
        status = vbs_write_file(ctx, path, picture, length);
    free(picture);
    return status;
}

static const struct vbs_embedded *find_template(const char *name)
{
    const struct vbs_embedded *found = vbs_plots;

    while (found->name && strcmp(found->name, name) != 0)
        found++;
    return found->name ? found : NULL;
}

enum vbs_status vbs_gnuplot_run(struct vbs_ctx *ctx, struct vbs_text *script, const char *template,
                                const struct vbs_text *data, const char *title,
                                const struct vbs_gnuplot_format *format, const char *path)
{
    const struct vbs_embedded *found = find_template(template);
    struct plot_files files = {.fds = {-1, -1, -1, -1}};
    enum vbs_status status;

    if (!found)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "this build has no template for plots");
    vbs_text_add(script, "\n");
    vbs_text_add(script, found->text);
    if (script->failed || data->failed)
        return vbs_no_memory(ctx);
    status = open_files(ctx, &files);
    if (status != VBS_OK)
        goto done;
    status = write_in(ctx, &files, SCRIPT, script);
    if (status != VBS_OK)
        goto done;
    status = write_in(ctx, &files, DATA, data);
    if (status != VBS_OK)
        goto done;
    status = draw(ctx, &files);
    if (status != VBS_OK)
        goto done;
    status = hand_out(ctx, &files, title, format, path);
done:
    close_files(&files);
    return status;
}
