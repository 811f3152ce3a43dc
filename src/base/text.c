#include "base/text.h"

#include "base/fail.h"
#include "base/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
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

static void add_bytes(struct vbs_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length))
        return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void vbs_text_add(struct vbs_text *text, const char *string)
{
    add_bytes(text, string, strlen(string));
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

void vbs_text_add_double(struct vbs_text *text, double value)
{
    char buffer[40];
    locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before;

    if (!c) {
        text->failed = true;
        return;
    }
    before = uselocale(c);
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(buffer, sizeof buffer, "%.*g", digits, value);
        if (strtod(buffer, NULL) == value)
            break;
    }
    uselocale(before);
    freelocale(c);
    vbs_text_add(text, buffer);
}

void vbs_text_add_csv(struct vbs_text *text, const char *field)
{
    if (!strpbrk(field, ",\"\r\n#") && field[0] != ' ') {
        vbs_text_add(text, field);
        return;
    }
    add_bytes(text, "\"", 1);
    for (const char *quote; (quote = strchr(field, '"')); field = quote + 1) {
        add_bytes(text, field, (size_t)(quote - field));
        add_bytes(text, "\"\"", 2);
    }
    vbs_text_add(text, field);
    add_bytes(text, "\"", 1);
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

enum vbs_status vbs_read_file(struct vbs_ctx *ctx, const char *path, size_t limit, char **data,
                              size_t *length)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "rb");
    struct vbs_text text = {0};
    enum vbs_status status = VBS_OK;

    if (!file)
        return vbs_fail(ctx, VBS_IO, "cannot open '%s': %s", path, strerror(errno));
    for (;;) {
        size_t got;

        if (!reserve(&text, 65536)) {
            status = vbs_no_memory(ctx);
            break;
        }
        got = fread(text.data + text.length, 1, 65536, file);
        text.length += got;
        if (text.length > limit) {
            status = vbs_fail(ctx, VBS_FORMAT, "'%s' is larger than %zu bytes", path, limit);
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

static enum vbs_status write_by_rename(struct vbs_ctx *ctx, const char *path, const char *data,
                                       size_t length)
{
    struct vbs_text temporary = {0};
    enum vbs_status status = VBS_OK;
    mode_t mask;
    int fd;

    vbs_text_addf(&temporary, "%s.XXXXXX", path);
    if (temporary.failed) {
        vbs_text_clear(&temporary);
        return vbs_no_memory(ctx);
    }
    fd = mkostemp(temporary.data, O_CLOEXEC);
    if (fd < 0) {
        status = vbs_fail(ctx, VBS_IO, "cannot create '%s': %s", path, strerror(errno));
        vbs_text_clear(&temporary);
        return status;
    }
    mask = umask(0);
    umask(mask);
    if (!write_all(fd, data, length) || fchmod(fd, 0666 & ~mask) != 0) {
        status = vbs_fail(ctx, VBS_IO, "cannot write '%s': %s", path, strerror(errno));
        close(fd);
    } else if (close(fd) != 0 || rename(temporary.data, path) != 0) {
        status = vbs_fail(ctx, VBS_IO, "cannot write '%s': %s", path, strerror(errno));
    }
    if (status != VBS_OK)
        unlink(temporary.data);
    vbs_text_clear(&temporary);
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

/* Levenshtein distance, case ignored, of names cut to MAX_COMPARED. One row of the table is kept.
 */
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

const char *vbs_nearest_name(const char *name, const char *const *names, int count)
{
    const char *nearest = NULL;
    size_t least = strlen(name) / 2 + 1; /* farther than half of the name is no suggestion */

    for (int i = 0; i < count; i++) {
        size_t distance = edit_distance(name, names[i]);

        if (distance < least || (distance == least && !nearest && distance <= 2)) {
            nearest = names[i];
            least = distance;
        }
    }
    return nearest;
}
