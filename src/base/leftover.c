#include "base/leftover.h"

#include "base/ctx.h"
#include "base/utf8.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define ENDING ".part"

char *vbs_part_name(const char *target, int number)
{
    char *name;

    return asprintf(&name, "%s.%ld-%d" ENDING, target, (long)getpid(), number) < 0 ? NULL : name;
}

/* Others look at a lock for a moment only. Where the file system has no locks, the process id in
 * the name must do. */
void vbs_part_lock(int descriptor)
{
    while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
        ;
}

void vbs_part_unlock(int descriptor)
{
    flock(descriptor, LOCK_UN);
}

/* ---- names ---- */

/* Reads a number without a sign; *end is behind it, or null: there is none. */
static long read_number(const char *text, char **end)
{
    long number;

    *end = NULL;
    if (!isdigit((unsigned char)text[0]))
        return 0;
    errno = 0;
    number = strtol(text, end, 10);
    if (errno != 0 || number > INT_MAX)
        *end = NULL;
    return number;
}

/* Returns the process that made a part of the file `base`, by its name; 0: the name is another. */
static pid_t writer_of(const char *name, const char *base)
{
    size_t length = strlen(base);
    char *end;
    long pid;

    if (strncmp(name, base, length) != 0 || name[length] != '.')
        return 0;
    pid = read_number(name + length + 1, &end);
    if (!end || *end != '-' || pid <= 0)
        return 0;
    (void)read_number(end + 1, &end);
    return end && strcmp(end, ENDING) == 0 ? (pid_t)pid : 0;
}

static bool is_part(const char *name)
{
    size_t length = strlen(name);

    return length > strlen(ENDING) && strcmp(name + length - strlen(ENDING), ENDING) == 0;
}

/* ---- whether a part is still written ---- */

static bool runs(pid_t pid)
{
    return kill(pid, 0) == 0 || errno == EPERM;
}

/* Returns whether nobody writes a part of a file any more. Between making and locking it, it is
 * empty and its process runs; processes of other machines and containers cannot be seen, but their
 * locks can. In a container, this process may have the id of the one that was killed. */
static bool is_left(int folder, const char *name, pid_t writer)
{
    int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat about;
    bool left = false;

    if (file < 0)
        return false;
    if (fstat(file, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid()) {
        if (flock(file, LOCK_SH | LOCK_NB) == 0)
            left = about.st_size > 0 || writer == getpid() || !runs(writer);
        else
            left = errno != EWOULDBLOCK && !runs(writer);
    }
    close(file);
    return left;
}

/* ---- what is said ---- */

#define BEGIN "runs that were killed left unfinished files, which can be removed: "
#define MORE  ", ..."

/* Writes a name in quotes, with control characters made visible; false: it does not fit. */
static bool quote(const char *folder, const char *name, char *quoted, size_t size)
{
    const char *const parts[] = {"'", folder, name, "'"};
    char shown[VBS_UTF8_SHOWN];
    size_t at = 0;

    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (const char *text = parts[i]; *text; at += strlen(shown)) {
            text += vbs_utf8_show(text, shown);
            if (at + strlen(shown) >= size)
                return false;
            strcpy(quoted + at, shown);
        }
    return true;
}

/* Adds the name of a leftover, as the user called its folder, once; where it does not fit, dots. */
static void say(struct vbs_ctx *ctx, const char *folder, const char *name)
{
    char quoted[VBS_DETAIL_SIZE], *said = ctx->leftover;
    bool fits = quote(folder, name, quoted, sizeof quoted - sizeof BEGIN - sizeof MORE);
    size_t length = strlen(said);

    if ((fits && strstr(said, quoted)) || (length > 3 && strcmp(said + length - 3, "...") == 0))
        return;
    strcat(said, said[0] ? ", " : BEGIN);
    if (fits && strlen(said) + strlen(quoted) + sizeof MORE < VBS_DETAIL_SIZE)
        strcat(said, quoted);
    else
        strcat(said, "...");
}

/* Looks through a folder, whose name ends in a slash or is empty. */
static void look(struct vbs_ctx *ctx, DIR *stream, const char *folder, const char *base)
{
    bool is_clean = true;
    struct dirent *entry;
    struct stat about;

    if (fstat(dirfd(stream), &about) != 0 ||
        (ctx->clean_folder == about.st_ino && ctx->clean_device == about.st_dev))
        return;
    while ((entry = readdir(stream))) {
        pid_t writer;

        if (!is_part(entry->d_name))
            continue;
        is_clean = false;
        writer = writer_of(entry->d_name, base);
        if (writer != 0 && is_left(dirfd(stream), entry->d_name, writer))
            say(ctx, folder, entry->d_name);
    }
    if (is_clean) {
        ctx->clean_folder = about.st_ino;
        ctx->clean_device = about.st_dev;
    }
}

void vbs_leftover_look(struct vbs_ctx *ctx, const char *target)
{
    const char *slash = strrchr(target, '/');
    size_t length = slash ? (size_t)(slash - target) + 1 : 0;
    char folder[PATH_MAX];
    DIR *stream;

    if (!ctx || length >= sizeof folder)
        return;
    memcpy(folder, target, length);
    folder[length] = '\0';
    stream = opendir(length > 0 ? folder : ".");
    if (!stream)
        return;
    look(ctx, stream, folder, target + length);
    closedir(stream);
}

const char *vbs_leftover(const struct vbs_ctx *ctx)
{
    return ctx && ctx->leftover[0] ? ctx->leftover : NULL;
}
