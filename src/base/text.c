#include "base/text.h"

#include "base/fail.h"
#include "base/new_file.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

static bool reserve(struct vbs_text *text, size_t more)
{
    size_t capacity = text->capacity ? text->capacity : 256;
    char *data;

    if (text->failed || more >= SIZE_MAX / 2 - text->length) {
        text->failed = true;
        return false;
    }
    while (capacity < text->length + more + 1)
        capacity *= 2;
    if (capacity == text->capacity)
        return true;
    data = realloc(text->data, capacity);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void vbs_text_add_bytes(struct vbs_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void vbs_text_add(struct vbs_text *text, const char *string)
{
    vbs_text_add_bytes(text, string, strlen(string));
}

void vbs_text_add_names(struct vbs_text *text, const char *const *names, int n_names)
{
    for (int i = 0; i < n_names; i++) {
        vbs_text_add(text, i == 0 ? "" : i < n_names - 1 ? ", " : " and ");
        vbs_text_add(text, names[i]);
    }
}

void vbs_text_addf(struct vbs_text *text, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void vbs_text_clear(struct vbs_text *text)
{
    free(text->data);
    *text = (struct vbs_text){0};
}

char *vbs_format_double(double value, char buffer[VBS_DOUBLE_SIZE])
{
    size_t to = 0;

    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, VBS_DOUBLE_SIZE, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    /* What is neither digit, sign, exponent nor the name of an infinity is the decimal point of the
     * process's locale, which may have several bytes. */
    for (size_t from = 0; buffer[from];) {
        size_t n = strcspn(buffer + from, "+-0123456789einfa");

        if (n > 0)
            buffer[to++] = '.';
        else
            buffer[to++] = buffer[from++];
        from += n;
    }
    buffer[to] = '\0';
    return buffer;
}

void vbs_text_add_double(struct vbs_text *text, double value)
{
    char buffer[VBS_DOUBLE_SIZE];

    vbs_text_add(text, vbs_format_double(value, buffer));
}

void vbs_text_add_csv_exact(struct vbs_text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n#") && field[0] != ' ') {
        vbs_text_add(text, field);
        return;
    }
    vbs_text_add_bytes(text, "\"", 1);
    for (const char *quote; (quote = strchr(field, '"')); field = quote + 1) {
        vbs_text_add_bytes(text, field, (size_t)(quote - field));
        vbs_text_add_bytes(text, "\"\"", 2);
    }
    vbs_text_add(text, field);
    vbs_text_add_bytes(text, "\"", 1);
}

#define CELL_ENDS      ",;\t\r\n" /* for some spreadsheet, also between quotes */
#define FORMULA_BEGINS "=+-@\t\r"

/* Returns whether a spreadsheet may take the text from at, which is in field, for a formula. A
 * single character is none. */
static bool is_formula(const char *field, const char *at)
{
    return strchr(FORMULA_BEGINS, *at) && at[1] && (at == field || strchr(CELL_ENDS, at[-1]));
}

bool vbs_text_has_formula(const char *field)
{
    for (const char *at = field; (at = strpbrk(at, FORMULA_BEGINS)); at++)
        if (is_formula(field, at))
            return true;
    return false;
}

void vbs_text_add_csv(struct vbs_text *text, const char *field)
{
    struct vbs_text plain = {0};

    if (!vbs_text_has_formula(field)) {
        vbs_text_add_csv_exact(text, field);
        return;
    }
    for (const char *at = field; *at; at++) {
        vbs_text_add_bytes(&plain, "'", is_formula(field, at));
        vbs_text_add_bytes(&plain, at, 1);
    }
    if (!plain.failed)
        vbs_text_add_csv_exact(text, plain.data);
    text->failed = text->failed || plain.failed;
    vbs_text_clear(&plain);
}

void vbs_text_add_field(struct vbs_text *text, double value)
{
    vbs_text_add(text, ",");
    if (isfinite(value))
        vbs_text_add_double(text, value);
}

void vbs_text_add_visible(struct vbs_text *text, const char *name, int limit)
{
    char shown[VBS_UTF8_SHOWN];

    for (int left = limit; *name; left--) {
        if (left <= 0) {
            vbs_text_add(text, "...");
            return;
        }
        name += vbs_utf8_show(name, shown);
        vbs_text_add(text, shown);
    }
}

/* Gives whether a file is known to be larger than limit before it is read. */
static bool is_too_large(FILE *file, size_t limit)
{
    struct stat about;

    return fstat(fileno(file), &about) == 0 && S_ISREG(about.st_mode) &&
           (uintmax_t)about.st_size > limit;
}

static enum vbs_status fail_too_large(struct vbs_ctx *ctx, const char *path, size_t limit)
{
    return vbs_fail(ctx, VBS_FORMAT, "'%s' is larger than %zu bytes", path, limit);
}

/* Returns whether reading a file may wait for somebody who writes it. */
static bool may_wait(FILE *file)
{
    struct stat about;

    return fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode);
}

enum vbs_status vbs_read_file(struct vbs_ctx *ctx, const char *path, size_t limit, char **data,
                              size_t *length)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    struct vbs_text text = {0};
    enum vbs_status status = VBS_OK;
    bool waits;

    if (!file)
        return vbs_fail(ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    waits = may_wait(file);
    if (!standard && is_too_large(file, limit))
        status = fail_too_large(ctx, path, limit);
    if (status == VBS_OK && waits)
        status = vbs_check_cancel(ctx);
    while (status == VBS_OK) {
        size_t got;

        if (!reserve(&text, 65536)) {
            status = vbs_no_memory(ctx);
            break;
        }
        got = fread(text.data + text.length, 1, 65536, file);
        text.length += got;
        if (waits && (status = vbs_check_cancel(ctx)) != VBS_OK)
            break;
        if (text.length > limit) {
            status = fail_too_large(ctx, path, limit);
            break;
        }
        if (got == 0)
            break;
    }
    if (status == VBS_OK && ferror(file))
        status = vbs_fail(ctx, VBS_IO, "cannot read '%s': %s", path, strerror(errno));
    if (!standard)
        fclose(file);
    if (status != VBS_OK) {
        vbs_text_clear(&text);
        return status;
    }
    text.data[text.length] = '\0';
    *data = text.data;
    *length = text.length;
    return VBS_OK;
}

static bool write_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t wrote = write(fd, data, length);

        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote < 0)
            return false;
        data += wrote;
        length -= (size_t)wrote;
    }
    return true;
}

/* A pipe, a device or a terminal cannot be replaced by renaming. */
static bool is_regular_or_new(const char *path)
{
    struct stat info;

    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

static enum vbs_status write_in_place(struct vbs_ctx *ctx, const char *path, const char *data,
                                      size_t length)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDOUT_FILENO : open(path, O_WRONLY | O_CLOEXEC);
    bool wrote;

    if (fd < 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    if (standard)
        fflush(stdout);
    wrote = write_all(fd, data, length);
    if (!standard)
        wrote = close(fd) == 0 && wrote;
    if (!wrote)
        return vbs_fail(ctx, VBS_IO, "cannot write '%s': %s", standard ? "standard output" : path,
                        strerror(errno));
    return VBS_OK;
}

/* Symbolic links are followed, so that a link is kept and its target is replaced. A file that
 * existed keeps its mode. */
static enum vbs_status write_by_rename(struct vbs_ctx *ctx, const char *path, const char *data,
                                       size_t length)
{
    struct vbs_new_file file;
    enum vbs_status status = vbs_new_file_open(ctx, path, &file);

    if (status == VBS_OK)
        status = vbs_new_file_write(ctx, &file, 0, data, (int64_t)length);
    if (status == VBS_OK)
        return vbs_new_file_finish(ctx, &file);
    vbs_new_file_abandon(&file);
    return status;
}

enum vbs_status vbs_write_file(struct vbs_ctx *ctx, const char *path, const char *data,
                               size_t length)
{
    if (strcmp(path, "-") == 0 || !is_regular_or_new(path))
        return write_in_place(ctx, path, data, length);
    return write_by_rename(ctx, path, data, length);
}

#define MAX_COMPARED 64

/* Gives the Levenshtein distance, case ignored, of names cut to MAX_COMPARED. It keeps one row of
 * the table. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t row[MAX_COMPARED + 1];
    size_t n = strnlen(b, MAX_COMPARED);

    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; i <= MAX_COMPARED && a[i - 1]; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t above = row[j];
            size_t cost = diagonal + (strncasecmp(a + i - 1, b + j - 1, 1) != 0);

            if (above + 1 < cost)
                cost = above + 1;
            if (row[j - 1] + 1 < cost)
                cost = row[j - 1] + 1;
            row[j] = cost;
            diagonal = above;
        }
    }
    return row[n];
}

/* Finds the shortest of the names that begin with name, which is probably the one that was
 * meant. */
static const char *shortest_completion(const char *name, const char *const *names, int count)
{
    size_t length = strlen(name);
    const char *shortest = NULL;

    for (int i = 0; i < count && length > 0; i++)
        if (strncasecmp(name, names[i], length) == 0 &&
            (!shortest || strlen(names[i]) < strlen(shortest)))
            shortest = names[i];
    return shortest;
}

const char *vbs_nearest_name(const char *name, const char *const *names, int count)
{
    const char *nearest = shortest_completion(name, names, count);
    size_t least = strlen(name) / 2 + 1; /* farther than half of the name is no suggestion */

    if (nearest)
        return nearest;
    for (int i = 0; i < count; i++) {
        size_t distance = edit_distance(name, names[i]);

        if (distance < least || (distance == least && !nearest && distance <= 2)) {
            nearest = names[i];
            least = distance;
        }
    }
    return nearest;
}

const char *vbs_temporary_folder(void)
{
    const char *folder = getenv("TMPDIR");

    return folder && folder[0] ? folder : "/tmp";
}

int vbs_open_nameless(const char *folder, const char *prefix)
{
    int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    char *name;

    if (fd >= 0)
        return fd;
    if (asprintf(&name, "%s/%sXXXXXX", folder, prefix) < 0) {
        errno = ENOMEM;
        return -1;
    }
    fd = mkostemp(name, O_CLOEXEC);
    if (fd >= 0)
        unlink(name);
    free(name);
    return fd;
}
