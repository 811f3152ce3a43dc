/*
 * Every allocation of reading a sweep, of looking at it and of running it fails once, and then also
 * all from one on: the call says that memory is out and leaves nothing behind (AddressSanitizer
 * looks). After each failure a second run does what is left: each task has its result, and nothing
 * else stays.
 */
#include "base/ctx.h"
#include "support/fault.h"
#include "support/profile_help.h"
#include "support/tap.h"
#include "vbslab/sweep.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define N_TASKS 4

/* Paths are made by these two functions of libc, whose memory the linker does not see. */
static struct faults path_faults;

int __real_vasprintf(char **text, const char *format, va_list args);
int __wrap_vasprintf(char **text, const char *format, va_list args);
int __wrap_asprintf(char **text, const char *format, ...);

int __wrap_vasprintf(char **text, const char *format, va_list args)
{
    if (!fault_strikes(&path_faults))
        return __real_vasprintf(text, format, args);
    errno = ENOMEM;
    return -1;
}

int __wrap_asprintf(char **text, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = __wrap_vasprintf(text, format, args);
    va_end(args);
    return length;
}

static const char DESCRIPTION[] =
    "[lists]\nword = [\"one\", \"file\"]\n"
    "[[task]]\nname = \"each\"\ncommand = [\"help\", \"{word}\"]\n"
    "[[task]]\nname = \"last\"\ncommand = [\"help\", \"{each}\", \"{word}\"]\nexclusive = true\n";

struct subject {
    char *folder, *description, *results;
};

/* ---- tasks ---- */

/* Expands and finds each task, and looks at all. */
static enum vbs_status look(struct vbs_ctx *ctx, const struct subject *s)
{
    struct vbs_sweep *sweep = (void *)&fault_untouched;
    struct vbs_sweep_counts counts = {{-1}};
    enum vbs_status status = vbs_sweep_load(ctx, s->description, &sweep);

    if (status != VBS_OK)
        return fault_status(status, sweep);
    for (int i = 0; i < N_TASKS && status == VBS_OK; i++) {
        struct vbs_sweep_task task = {0};
        char word[60];
        int64_t index;

        status = vbs_sweep_expand(ctx, sweep, i, &task);
        if (status == VBS_OK) {
            snprintf(word, sizeof word, "%d-%s", i, task.name);
            vbs_sweep_task_clear(&task);
            status = vbs_sweep_find(ctx, sweep, word, &index);
        }
    }
    if (status == VBS_OK)
        status = vbs_sweep_look(ctx, sweep, NULL, NULL, &counts);
    vbs_sweep_free(sweep);
    return status == VBS_OK || counts.n[0] == -1 ? status : VBS_N_STATUS;
}

/* Runs all tasks, two at once; the program prints its words. */
static enum vbs_status run(struct vbs_ctx *ctx, const struct subject *s)
{
    const struct vbs_sweep_options options = {
        .struct_size = sizeof options, .program = "/bin/echo", .jobs = 2};
    struct vbs_sweep *sweep = (void *)&fault_untouched;
    struct vbs_sweep_counts counts = {{-1}};
    enum vbs_status status = vbs_sweep_load(ctx, s->description, &sweep);

    if (status != VBS_OK)
        return fault_status(status, sweep);
    status = vbs_sweep_run(ctx, sweep, &options, &counts);
    vbs_sweep_free(sweep);
    if (status == VBS_OK)
        return counts.n[VBS_SWEEP_DONE] == N_TASKS ? status : VBS_N_STATUS;
    return counts.n[0] == -1 ? status : VBS_N_STATUS;
}

/* ---- what they leave ---- */

/* Gives how many files a folder has whose name ends so, or removes them. */
static int count(const char *folder, const char *name, const char *ending, bool removes)
{
    char *path = path_in(folder, name);
    DIR *stream = opendir(path);
    struct dirent *entry;
    int n = 0;

    while (stream && (entry = readdir(stream))) {
        size_t length = strlen(entry->d_name), end = strlen(ending);
        char *file = path_in(path, entry->d_name);

        if (entry->d_name[0] != '.' && length >= end &&
            strcmp(entry->d_name + length - end, ending) == 0) {
            n++;
            if (removes)
                unlink(file);
        }
        free(file);
    }
    if (stream)
        closedir(stream);
    free(path);
    return n;
}

/* Gives whether a second run does what is left, and leaves each result and nothing else. */
static bool goes_on(const struct subject *s)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status = run(&ctx, s);

    if (status != VBS_OK)
        printf("# the second run: status %d (%s)\n", (int)status, ctx.detail);
    return status == VBS_OK && count(s->results, "", ".txt", false) == N_TASKS &&
           count(s->results, "", ".log", false) == N_TASKS &&
           count(s->results, "", ".failed", false) == 0 &&
           count(s->results, "claims", "", false) == 0 &&
           count(s->results, "running", "", false) == 0;
}

static void reset(const struct subject *s)
{
    count(s->results, "", "", true);
}

static void try_each(const char *name, const struct subject *s,
                     enum vbs_status (*task)(struct vbs_ctx *, const struct subject *),
                     struct faults *faults, bool lasting)
{
    int n_faults = 0, n_wrong = 0;
    enum vbs_status status;

    for (;;) {
        struct vbs_ctx ctx = {0};

        reset(s);
        *faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = task(&ctx, s);
        faults->countdown = 0;
        if (!faults->hit)
            break;
        n_faults++;
        if ((!fault_is_said(&ctx, status) || (task == run && !goes_on(s))) && n_wrong++ < 5)
            printf("# fault %d: status %d (%s)\n", n_faults, (int)status, ctx.detail);
    }
    ok(n_faults > 5 && n_wrong == 0 && status == VBS_OK, "%s: %d faults of %s, %s", name, n_faults,
       faults == &path_faults ? "paths" : "allocations", lasting ? "all from one on" : "each once");
}

int main(void)
{
    struct subject s = {.folder = temporary_folder()};
    char *file = path_in(s.folder, "file");

    setenv("VBSLAB_LOCKS", s.folder, 1);
    s.description = path_in(s.folder, "s.toml");
    s.results = path_in(s.folder, "s.results");
    write_text(s.description, DESCRIPTION, strlen(DESCRIPTION));
    write_text(file, "read", 4);
    free(file);
    fault_jansson(true);
    for (int lasting = 0; lasting < 2; lasting++) {
        try_each("looking at a sweep", &s, look, &allocation_faults, lasting);
        try_each("running a sweep", &s, run, &allocation_faults, lasting);
        try_each("running a sweep", &s, run, &path_faults, lasting);
    }
    fault_jansson(false);
    free(s.description);
    free(s.results);
    remove_folder(s.folder);
    return done_testing();
}
