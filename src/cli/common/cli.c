#include "cli/common/cli.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "base/utf8.h"
#include "cli/common/inputs.h"
#include "cli/common/number.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define LINE_SIZE 1024

/* ---- Lines on the standard streams ---- */

/* Prints text with control characters made visible. */
static void print_visible(FILE *file, const char *text)
{
    char shown[VBS_UTF8_SHOWN];

    while (*text) {
        text += vbs_utf8_show(text, shown);
        fputs(shown, file);
    }
}

void cli_print_name(const char *text)
{
    print_visible(stdout, text);
}

#define HANG 4 /* indent of a line that goes on */

/* Prints the first length bytes of text, with control characters made visible; returns the columns
 * that they take. Without a file it only counts. */
static int print_word(FILE *file, const char *text, size_t length)
{
    const char *end = text + length;
    char shown[VBS_UTF8_SHOWN];
    int columns = 0;

    while (text < end) {
        text += vbs_utf8_show(text, shown);
        if (file)
            fputs(shown, file);
        for (const char *c = shown; *c; c++)
            columns += ((unsigned char)*c & 0xc0) != 0x80;
    }
    return columns;
}

/* Prints the words of text to standard error, from column at on, and returns the column behind
 * them. Where standard error is a terminal of so many columns, words that do not fit go on in the
 * next line; 0: it is none, and there is one line. */
static int print_words(const char *text, int at, int columns)
{
    while (*text) {
        size_t blanks = strspn(text, " "), length = strcspn(text + blanks, " ");
        int width = print_word(NULL, text + blanks, length);

        if (columns > 0 && at > HANG && at + (int)blanks + width > columns) {
            fprintf(stderr, "\n%*s", HANG, "");
            at = HANG;
        } else {
            at += fprintf(stderr, "%*s", (int)blanks, "");
        }
        at += print_word(stderr, text + blanks, length);
        text += blanks + length;
    }
    return at;
}

/* Prints "vbslab: COMMAND: text" on a line of its own, whatever was printed before. */
static void print_line(struct cli *cli, const char *text, const char *tail)
{
    int columns = cli_columns_of(STDERR_FILENO), at;

    cli_progress_end(cli);
    fflush(stdout);
    at = fprintf(stderr, "vbslab: ");
    if (cli->command)
        at += fprintf(stderr, "%s: ", cli->command->name);
    at = print_words(text, at, columns);
    print_words(tail, at, columns);
    fputc('\n', stderr);
}

int cli_fail(struct cli *cli, enum vbs_status status)
{
    const char *detail = vbs_detail(&cli->ctx);

    /* The detail of another failure would mislead. */
    print_line(cli, cli->ctx.status == status ? detail : vbs_status_text(status), "");
    return vbs_status_exit_code(status);
}

int cli_usage(struct cli *cli, const char *format, ...)
{
    char text[LINE_SIZE], tail[80];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(tail, sizeof tail, " (see 'vbslab %s%s--help')",
             cli->command ? cli->command->name : "", cli->command ? " " : "");
    print_line(cli, text, tail);
    return vbs_status_exit_code(VBS_USAGE);
}

void cli_warn(struct cli *cli, const char *format, ...)
{
    char text[LINE_SIZE] = "warning: ";
    size_t length = strlen(text);
    va_list args;

    if (cli->quiet)
        return;
    va_start(args, format);
    vsnprintf(text + length, sizeof text - length, format, args);
    va_end(args);
    print_line(cli, text, "");
}

void cli_note(struct cli *cli, const char *format, ...)
{
    char text[LINE_SIZE];
    va_list args;

    if (cli->quiet)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line(cli, text, "");
}

int cli_finish(struct cli *cli)
{
    bool earlier = ferror(stdout);
    char text[LINE_SIZE];

    errno = 0;
    if (fflush(stdout) == 0 && !earlier)
        return 0;
    snprintf(text, sizeof text, "cannot write to standard output%s%s", errno ? ": " : "",
             errno ? strerror(errno) : "");
    print_line(cli, text, "");
    return vbs_status_exit_code(VBS_IO);
}

int cli_end(struct cli *cli, enum vbs_status status)
{
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
}

int cli_run_list(struct cli *cli, const char *const *values, int n_arguments,
                 const char *const *arguments, enum vbs_status (*print_json)(struct cli *cli),
                 enum vbs_status (*print_table)(struct cli *cli))
{
    enum vbs_status status;

    if (n_arguments > 0)
        return cli_usage(cli, "'%s': the command takes no arguments", arguments[0]);
    status = cli_value(cli, values, "json") ? print_json(cli) : print_table(cli);
    return cli_end(cli, status);
}

#define LEAST_COLUMNS   20 /* a terminal that names fewer does not know its width */
#define DEFAULT_COLUMNS 80

int cli_columns_of(int descriptor)
{
    struct winsize size;

    if (!isatty(descriptor))
        return 0;
    return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > LEAST_COLUMNS
               ? size.ws_col
               : DEFAULT_COLUMNS;
}

/* ---- What several commands take ---- */

const char *cli_value(const struct cli *cli, const char *const *values, const char *name)
{
    for (int i = 0; cli->command->options[i].name; i++)
        if (strcmp(cli->command->options[i].name, name) == 0)
            return values[i];
    return NULL;
}

enum vbs_status cli_load_network(struct cli *cli, const char *model, struct vbs_network **network)
{
    return vbs_network_load_inputs(&cli->ctx, model, cli->choices.choices, cli->choices.n, network);
}

enum vbs_status cli_load_floats(struct cli *cli, const char *model, struct vbs_network **network)
{
    return vbs_network_load_as(&cli->ctx, model, cli->choices.choices, cli->choices.n,
                               VBS_PRECISION_FP32, network);
}

enum vbs_status cli_read_problem(struct cli *cli, const char *const *values,
                                 struct vbs_problem *problem)
{
    const char *request = cli_value(cli, values, "request");
    const char *io = cli_value(cli, values, "io");
    const char *latency = cli_value(cli, values, "latency-us");
    const char *stripes = cli_value(cli, values, "stripes");

    problem->request = 12;
    problem->io = VBS_IO_EXTERNAL;
    if (request)
        VBS_TRY(
            vbs_parse_int(&cli->ctx, "--request", request, 1, VBS_MAX_REQUEST, &problem->request));
    if (io)
        VBS_TRY(vbs_io_parse(&cli->ctx, io, &problem->io));
    if (latency)
        VBS_TRY(cli_parse_positive(&cli->ctx, "--latency-us", latency, "microseconds",
                                   &problem->latency_us));
    if (stripes && strcmp(stripes, "yes") != 0 && strcmp(stripes, "no") != 0)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--stripes '%.40s' is none: it is yes or no",
                        stripes);
    problem->whole_samples = stripes && strcmp(stripes, "no") == 0;
    return VBS_OK;
}

bool cli_ends_in(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length > tail && strcmp(text + length - tail, ending) == 0;
}

bool cli_is_file_of(const char *word, const char *ending)
{
    size_t length = vbs_model_word_length(word, NULL), tail = strlen(ending);

    return length > tail && strncmp(word + length - tail, ending, tail) == 0;
}

bool cli_is_network_file(const char *word)
{
    return cli_is_file_of(word, ".net") || cli_is_file_of(word, ".onnx") ||
           cli_is_file_of(word, ".vbz");
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat left, right;

    return stat(a, &left) == 0 && stat(b, &right) == 0 && left.st_dev == right.st_dev &&
           left.st_ino == right.st_ino;
}

enum vbs_status cli_check_output(struct cli *cli, const char *model, const char *path,
                                 const char *ending, const char *what)
{
    const char *slash = strrchr(path, '/');
    char folder[4096] = ".";
    struct stat about;

    if (!cli_ends_in(slash ? slash + 1 : path, ending))
        return vbs_fail(&cli->ctx, VBS_USAGE, "-o '%.200s': the name of %s ends in %s", path, what,
                        ending);
    if (cli_is_network_file(model) && is_same_file(model, path))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "-o '%.200s' is the network that is read; name another file", path);
    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path + 1), path);
    if (stat(folder, &about) != 0 || !S_ISDIR(about.st_mode))
        return vbs_fail(&cli->ctx, VBS_IO, "cannot create '%.200s': there is no folder '%.200s'",
                        path, folder);
    return VBS_OK;
}

/* ---- Progress ---- */

#define BAR_WIDTH      20
#define REDRAW_EVERY_S 0.1
#define RATE_AFTER_S   0.5 /* before this time it shows no estimate */

/* Writes "0:42", "1:02:03", or "-:--". */
static void format_left(double left_s, char *buffer, size_t size)
{
    long s = left_s < 0 || left_s > 1e7 ? -1 : (long)(left_s + 0.5);

    if (s < 0)
        snprintf(buffer, size, "-:--");
    else if (s < 3600)
        snprintf(buffer, size, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(buffer, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
}

/* Writes the rate as percent of the whole in a second, a minute or an hour, whichever is 1 or more,
 * or "-" before it is known. */
static void format_rate(double done, double elapsed_s, char *buffer, size_t size)
{
    double percent = 100 * done / elapsed_s;

    if (elapsed_s < RATE_AFTER_S || percent * 3600 < 0.05)
        snprintf(buffer, size, "-");
    else if (percent >= 1)
        snprintf(buffer, size, "%.1f%%/s", percent);
    else if (percent * 60 >= 1)
        snprintf(buffer, size, "%.1f%%/min", percent * 60);
    else
        snprintf(buffer, size, "%.1f%%/h", percent * 3600);
}

/* Cuts line to columns, behind a word if possible, but not before the first from bytes, and never
 * inside a character of several bytes. */
static void cut_line(char *line, int columns, size_t from)
{
    size_t length = strlen(line), most = (size_t)columns, end;

    if (length <= most)
        return;
    for (end = most; end > from && line[end] != ' '; end--)
        ;
    if (end > from)
        most = end;
    while (most > 0 && ((unsigned char)line[most] & 0xc0) == 0x80)
        most--;
    while (most > 0 && (line[most - 1] == ',' || line[most - 1] == ' '))
        most--;
    line[most] = '\0';
}

static void draw(void *self, double done, double left_s, const char *text)
{
    struct cli *cli = self;
    double now = vbs_clock_s(), elapsed_s = now - cli->bar.start_s;
    char line[LINE_SIZE], bar[BAR_WIDTH + 1], left[24], rate[24];
    size_t at;

    if (cli->bar.drawn && now - cli->bar.drawn_s < REDRAW_EVERY_S)
        return;
    for (int i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < (int)(done * BAR_WIDTH + 0.5) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    format_left(left_s, left, sizeof left);
    format_rate(done, elapsed_s, rate, sizeof rate);
    at = (size_t)snprintf(line, sizeof line, "[%s] %3d%%  %s  %s left  ", bar, (int)(100 * done),
                          rate, left);
    snprintf(line + at, sizeof line - at, "%s", text);
    cut_line(line, cli_columns_of(STDERR_FILENO) - 1, at);
    fputs("\r\033[K", stderr);
    print_visible(stderr, line);
    fflush(stderr);
    cli->bar.drawn = true;
    cli->bar.drawn_s = now;
}

struct vbs_progress cli_progress(struct cli *cli)
{
    cli_progress_end(cli);
    cli->bar = (struct cli_bar){.start_s = vbs_clock_s()};
    if (cli->quiet || !cli->tty)
        return (struct vbs_progress){0};
    return (struct vbs_progress){.self = cli, .report = draw};
}

void cli_progress_end(struct cli *cli)
{
    if (!cli->bar.drawn)
        return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    cli->bar.drawn = false;
}
