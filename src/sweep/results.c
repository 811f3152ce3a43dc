#include "sweep/results.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- looking ---- */

/* Makes a path of printf's format; null where memory is out. */
static char *path(const char *format, ...) VBS_PRINTF(1, 2);

static char *path(const char *format, ...)
{
    va_list args;
    char *made;
    int length;

    va_start(args, format);
    length = vasprintf(&made, format, args);
    va_end(args);
    return length < 0 ? NULL : made;
}

static enum vbs_status make_folder(struct vbs_ctx *ctx, const char *folder)
{
    if (!folder)
        return vbs_no_memory(ctx);
    if ((mkdir(folder, 0777) == 0 || errno == EEXIST) && access(folder, W_OK | X_OK) == 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_IO, "cannot write into the folder '%.300s': %s", folder,
                    strerror(errno));
}

enum vbs_status vbs_results_open(struct vbs_ctx *ctx, const struct vbs_sweep *sweep)
{
    static const char *const INSIDE[] = {"", "/claims", "/running"};
    enum vbs_status status = VBS_OK;

    for (int i = 0; i < 3 && status == VBS_OK; i++) {
        char *folder = path("%s%s", sweep->info.results, INSIDE[i]);

        status = make_folder(ctx, folder);
        free(folder);
    }
    return status;
}

/* The path of a file of a task in the folder of results. It takes no memory that could be out: a
 * task whose result could not be looked at for that would be done twice. */
struct result_path {
    char text[PATH_MAX + VBS_SWEEP_NAME_SIZE + 32];
};

static struct result_path result_path(const struct vbs_sweep *sweep, uint64_t name,
                                      const char *ending)
{
    struct result_path path;
    char text[VBS_SWEEP_NAME_SIZE];

    vbs_sweep_write_name(name, text);
    snprintf(path.text, sizeof path.text, "%s/%s.%s", sweep->info.results, text, ending);
    return path;
}

static bool exists(const struct vbs_sweep *sweep, uint64_t name, const char *ending)
{
    struct result_path path = result_path(sweep, name, ending);

    return access(path.text, F_OK) == 0;
}

enum vbs_sweep_state vbs_results_state(const struct vbs_sweep *sweep, uint64_t name,
                                       const char *ending)
{
    if (exists(sweep, name, ending))
        return VBS_SWEEP_DONE;
    return exists(sweep, name, "failed") ? VBS_SWEEP_FAILED : VBS_SWEEP_LEFT;
}

static enum vbs_status list_folder(struct vbs_ctx *ctx, const char *folder, bool claims,
                                   vbs_results_visit *visit, void *self)
{
    DIR *stream = folder ? opendir(folder) : NULL;
    struct dirent *entry;
    uint64_t name;

    if (!folder)
        return vbs_no_memory(ctx);
    if (!stream && errno == ENOENT)
        return VBS_OK;
    if (!stream)
        return vbs_fail(ctx, VBS_IO, "cannot read the folder '%.300s': %s", folder,
                        strerror(errno));
    while ((entry = readdir(stream)))
        if (vbs_sweep_read_name(entry->d_name, &name) && entry->d_name[16] == '.')
            visit(self, name, entry->d_name + 17, claims);
    closedir(stream);
    return VBS_OK;
}

enum vbs_status vbs_results_list_claims(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                        vbs_results_visit *visit, void *self)
{
    char *claims = path("%s/claims", sweep->info.results);
    enum vbs_status status = list_folder(ctx, claims, true, visit, self);

    free(claims);
    return status;
}

enum vbs_status vbs_results_list(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                 vbs_results_visit *visit, void *self)
{
    VBS_TRY(list_folder(ctx, sweep->info.results, false, visit, self));
    return vbs_results_list_claims(ctx, sweep, visit, self);
}

void vbs_results_forget(const struct vbs_sweep *sweep, uint64_t name)
{
    struct result_path path = result_path(sweep, name, "failed");

    unlink(path.text);
}

/* ---- the folder of a command ---- */

static int remove_entry(const char *file, const struct stat *is, int kind, struct FTW *where)
{
    (void)is;
    (void)kind;
    (void)where;
    remove(file);
    return 0;
}

static void remove_folder(const char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

void vbs_work_end(struct vbs_work *work)
{
    if (work->output >= 0)
        close(work->output);
    if (work->log >= 0)
        close(work->log);
    if (work->path)
        remove_folder(work->path);
    free(work->path);
    free(work->result);
    *work = (struct vbs_work){.output = -1, .log = -1};
}

/* Opens one of the files of the streams; -1, with errno set, on failure. */
static int open_stream(const struct vbs_work *work, const char *name)
{
    char *file = path("%s/%s", work->path, name);
    int opened;

    if (!file) {
        errno = ENOMEM;
        return -1;
    }
    opened = open(file, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    free(file);
    return opened;
}

/* Returns the generation of an entry of the folder "running" that is a folder of the task, or 0. */
static int generation_of(const char *entry, uint64_t name)
{
    uint64_t of;
    char *end;
    long generation;

    if (!vbs_sweep_read_name(entry, &of) || of != name || entry[16] != '.')
        return 0;
    generation = strtol(entry + 17, &end, 10);
    return (*end == '\0' || *end == '.') && generation > 0 && generation < INT_MAX ? (int)generation
                                                                                   : 0;
}

enum vbs_status vbs_work_remove(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                                int generation)
{
    enum vbs_status status = VBS_OK;
    char *running = path("%s/running", sweep->info.results);
    DIR *stream = running ? opendir(running) : NULL;
    struct dirent *entry;

    if (!running)
        return vbs_no_memory(ctx);
    while (stream && status == VBS_OK && (entry = readdir(stream))) {
        int found = generation_of(entry->d_name, name);
        char *folder;

        if (found < 1 || found > generation)
            continue;
        folder = path("%s/%s", running, entry->d_name);
        if (folder)
            remove_folder(folder);
        else
            status = vbs_no_memory(ctx);
        free(folder);
    }
    if (stream)
        closedir(stream);
    free(running);
    return status;
}

/* Makes the folder of a claim. No other claim has its name, also where the generation is the same:
 * a process that was stopped and goes on must not find the files of the one that took its place. */
static enum vbs_status make_own_folder(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                       const char *name, int generation, char **made)
{
    do {
        free(*made);
        *made = path("%s/running/%s.%d.%lx-%llx", sweep->info.results, name, generation,
                     (unsigned long)getpid(), (unsigned long long)(vbs_clock_s() * 1e9));
        if (!*made)
            return vbs_no_memory(ctx);
    } while (mkdir(*made, 0777) != 0 && errno == EEXIST);
    return access(*made, F_OK) == 0
               ? VBS_OK
               : vbs_fail(ctx, VBS_IO, "cannot write '%.300s': %s", *made, strerror(errno));
}

enum vbs_status vbs_work_begin(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                               int generation, struct vbs_work *work)
{
    struct vbs_work made = {.output = -1, .log = -1};
    char text[VBS_SWEEP_NAME_SIZE];
    enum vbs_status status;

    VBS_TRY(vbs_work_remove(ctx, sweep, name, generation));
    vbs_sweep_write_name(name, text);
    status = make_own_folder(ctx, sweep, text, generation, &made.path);
    made.result = status == VBS_OK ? path("%s/%s", made.path, text) : NULL;
    if (status == VBS_OK && !made.result)
        status = vbs_no_memory(ctx);
    if (status == VBS_OK) {
        made.output = open_stream(&made, "output");
        made.log = made.output >= 0 ? open_stream(&made, "log") : -1;
        if (made.log < 0)
            status = errno == ENOMEM ? vbs_no_memory(ctx)
                                     : vbs_fail(ctx, VBS_IO, "cannot write '%.300s': %s", made.path,
                                                strerror(errno));
    }
    if (status == VBS_OK)
        *work = made;
    else
        vbs_work_end(&made);
    return status;
}

/* ---- results ---- */

/* How a file gets its place. Final: it marks the task as done; a file that is there stays, and
 * counts as this one. */
enum keeping { KEEP_LOG, KEEP_FILE, KEEP_FINAL };

/* Gives a file of the folder a place, after its bytes are on the disk; those of a log may come
 * later. */
static enum vbs_status move(struct vbs_ctx *ctx, const char *from, const char *to, enum keeping how)
{
    int file = from && to ? open(from, O_RDONLY | O_CLOEXEC) : -1;
    bool moved;

    if (!from || !to)
        return vbs_no_memory(ctx);
    moved = file >= 0 && (how == KEEP_LOG || fsync(file) == 0);
    if (file >= 0)
        close(file);
    if (moved && how == KEEP_FINAL) {
        moved = link(from, to) == 0 || errno == EEXIST;
        if (!moved && (errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS))
            moved = rename(from, to) == 0; /* the file system has no links */
    } else if (moved) {
        moved = rename(from, to) == 0;
    }
    if (moved)
        return VBS_OK;
    return vbs_fail(ctx, VBS_IO, "cannot write '%.300s': %s", to, strerror(errno));
}

static enum vbs_status move_from(struct vbs_ctx *ctx, const struct vbs_sweep *sweep,
                                 const struct vbs_work *work, const char *entry, uint64_t name,
                                 const char *ending, enum keeping how)
{
    char text[VBS_SWEEP_NAME_SIZE], *from, *to;
    enum vbs_status status;

    vbs_sweep_write_name(name, text);
    from = path("%s/%s", work->path, entry);
    to = path("%s/%s.%s", sweep->info.results, text, ending);
    status = move(ctx, from, to, how);
    free(from);
    free(to);
    return status;
}

/* Moves the files that the command made under the name of its result. */
static enum vbs_status move_files(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                                  const struct vbs_work *work)
{
    DIR *stream = opendir(work->path);
    enum vbs_status status = VBS_OK;
    struct dirent *entry;
    uint64_t of;

    if (!stream)
        return vbs_fail(ctx, VBS_IO, "cannot read '%.300s': %s", work->path, strerror(errno));
    while (status == VBS_OK && (entry = readdir(stream)))
        if (vbs_sweep_read_name(entry->d_name, &of) && of == name && entry->d_name[16] == '.')
            status =
                move_from(ctx, sweep, work, entry->d_name, name, entry->d_name + 17, KEEP_FILE);
    closedir(stream);
    return status;
}

/* Has the names in the folder of results written to the disk. */
static void sync_folder(const struct vbs_sweep *sweep)
{
    int folder = open(sweep->info.results, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    fsync(folder);
    close(folder);
}

enum vbs_status vbs_work_commit(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                                const char *ending, const struct vbs_work *work)
{
    VBS_TRY(move_files(ctx, sweep, name, work));
    VBS_TRY(move_from(ctx, sweep, work, "log", name, "log", KEEP_LOG));
    VBS_TRY(move_from(ctx, sweep, work, "output", name, ending, KEEP_FINAL));
    sync_folder(sweep);
    return VBS_OK;
}

enum vbs_status vbs_work_fail(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                              int exit_code, const struct vbs_work *work)
{
    char text[VBS_SWEEP_NAME_SIZE], date[VBS_DATE_SIZE], host[128] = "", mark[400], *file;
    enum vbs_status status;
    int length;

    VBS_TRY(move_from(ctx, sweep, work, "log", name, "log", KEEP_LOG));
    vbs_sweep_write_name(name, text);
    vbs_date_now(date);
    if (gethostname(host, sizeof host - 1) != 0 || strpbrk(host, "\"\\"))
        host[0] = '\0';
    length = snprintf(mark, sizeof mark,
                      "{ \"task\": \"%s\", \"%s\": %d, \"host\": \"%s\", \"date\": \"%s\" }\n",
                      text, exit_code < 0 ? "signal" : "exit_code", abs(exit_code), host, date);
    file = path("%s/%s.failed", sweep->info.results, text);
    status = file ? vbs_write_file(ctx, file, mark, (size_t)length) : vbs_no_memory(ctx);
    free(file);
    return status;
}
