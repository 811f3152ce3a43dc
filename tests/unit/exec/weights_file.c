/*
 * A file of packed weights that is stopped or killed while it is written leaves nothing under its
 * name; the file has the permissions of the caller's mask, keeps symbolic links as they are, goes
 * to TMPDIR where its folder cannot be written, and is never a pipe, a folder or a device.
 */
#include "fake/exec.h"
#include "support/tap.h"
#include "cases/weights_chain.h"

#include "base/ctx.h"
#include "vbslab/exec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCALE   64
#define ALARM_S 60 /* a test that hangs ends */

/* Makes the file system refuse files without names, by the linker. */
static bool refuses_nameless;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    int mode = 0;

    if ((flags & O_TMPFILE) == O_TMPFILE && refuses_nameless) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {
        va_start(args, flags);
        mode = va_arg(args, int);
        va_end(args);
    }
    return __real_open(path, flags, mode);
}

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    int n = 0;

    for (const struct dirent *entry; dir && (entry = readdir(dir));)
        n += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    if (dir)
        closedir(dir);
    return n;
}

/* The events while weights are packed. */
struct watch {
    const char *folder;
    int n_reports, most_entries;
    volatile sig_atomic_t stop; /* is set then, where stops is */
    bool stops;
};

static void watch(void *self, double done, double left_s, const char *text)
{
    struct watch *w = self;
    int n = count_entries(w->folder);

    (void)done;
    (void)left_s;
    if (strcmp(text, "packing weights") != 0)
        return;
    w->n_reports++;
    w->most_entries = n > w->most_entries ? n : w->most_entries;
    w->stop = w->stops;
}

struct trial {
    const struct vbs_profile *profile;
    struct watch watch;
    char detail[VBS_DETAIL_SIZE];
};

/* Makes and runs an executor with weights from path, or without one. */
static enum vbs_status try_path(struct trial *t, const char *path)
{
    static const struct vbs_step STEPS[] = {LOAD(1, 100 * SCALE), RUN(1, 1), RUN(2, 1),
                                            LOAD(3, 60 * SCALE),  RUN(3, 1), EVICT(1, 100 * SCALE)};
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct vbs_network *network = exec_fake_network(t->profile);
    struct vbs_exec_options options = {.struct_size = sizeof options,
                                       .weights_path = path,
                                       .progress = {&t->watch, watch},
                                       .memory_bytes = 1 << 20};
    struct vbs_ctx ctx = {.cancel = &t->watch.stop};
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    enum vbs_status status;

    exec_fake_reset(t->profile);
    t->watch.n_reports = t->watch.most_entries = t->watch.stop = 0;
    t->watch.folder = t->watch.folder ? t->watch.folder : ".";
    status = vbs_exec_new(&ctx, network, &exec_fake_backend, t->profile, &schedule, &options, NULL,
                          &exec);
    if (status == VBS_OK)
        status = vbs_exec_run(&ctx, exec, NULL, NULL, &report);
    snprintf(t->detail, sizeof t->detail, "%s", vbs_detail(&ctx));
    vbs_exec_free(exec);
    exec_fake_network_free(network);
    if (status == VBS_OK && exec_fake.n_wrong > 0) {
        printf("# %s\n", exec_fake.why);
        return VBS_LIBRARY;
    }
    return status;
}

static int mode_of(const char *path)
{
    struct stat info;

    return lstat(path, &info) == 0 ? (int)info.st_mode : 0;
}

static void test_nameless(struct trial *t)
{
    for (int i = 0; i < 2; i++) {
        refuses_nameless = i > 0;
        is_int(try_path(t, NULL), VBS_OK,
               i ? "a nameless file where the system has none" : "nameless");
        ok(t->watch.n_reports > 0 && t->watch.most_entries == 0,
           "  is not to be seen while it is written");
        is_int(count_entries("."), 0, "  nor later");
    }
    refuses_nameless = false;
}

static void test_named(struct trial *t)
{
    mode_t before = umask(027);

    for (int i = 0; i < 2; i++) {
        refuses_nameless = i > 0;
        is_int(try_path(t, "w.bin"), VBS_OK,
               i ? "written beside its name" : "written without a name");
        is_int(t->watch.most_entries, i, "  what a process that is killed would leave");
        is_int(mode_of("w.bin"), S_IFREG | 0640, "  its permissions are those of the mask");
        is_int(try_path(t, "w.bin"), VBS_OK, "  it is read again");
        is_int(exec_fake.n_packs, 0, "    without packing");
        unlink("w.bin");
        t->watch.stops = true;
        is_int(try_path(t, "w.bin"), VBS_INTERRUPTED, "  stopped while it is written");
        t->watch.stops = false;
        is_int(count_entries("."), 0, "    nothing is left");
    }
    refuses_nameless = false;
    umask(before);
}

static void test_links(struct trial *t)
{
    mkdir("far", 0777);
    ok(symlink("far/real.bin", "near.bin") == 0 && symlink("near.bin", "nearer.bin") == 0, "links");
    for (int i = 0; i < 2; i++) {
        is_int(try_path(t, "nearer.bin"), VBS_OK,
               i ? "through links again" : "through dangling links");
        is_int(exec_fake.n_packs > 0, i == 0, "  it is packed the first time");
        ok(S_ISLNK(mode_of("near.bin")) && S_ISLNK(mode_of("nearer.bin")), "  links stay links");
        ok(S_ISREG(mode_of("far/real.bin")), "  to a file");
        is_int(count_entries("far"), 1, "    alone in its folder");
    }
    ok(truncate("far/real.bin", 5000) == 0 && try_path(t, "near.bin") == VBS_OK &&
           exec_fake.n_packs > 0 && S_ISLNK(mode_of("near.bin")),
       "a damaged file behind a link is written anew");
    ok(symlink("round.bin", "round.bin") == 0 && try_path(t, "round.bin") == VBS_IO,
       "a link to itself is refused: %s", t->detail);
    for (const char **path =
             (const char *[]){"near.bin", "nearer.bin", "round.bin", "far/real.bin", NULL};
         *path; path++)
        unlink(*path);
    rmdir("far");
}

static void test_kinds(struct trial *t)
{
    ok(mkfifo("pipe", 0666) == 0, "a pipe");
    is_int(try_path(t, "pipe"), VBS_FORMAT, "  is refused, and not waited for");
    is_str(t->detail, "'pipe' is no regular file; give another name", "  with a line");
    unlink("pipe");
    is_int(try_path(t, "."), VBS_FORMAT, "so is a folder");
    is_int(try_path(t, "/dev/null"), VBS_FORMAT, "and a device");
}

/* Nothing can be made in a folder that was removed, whoever the user is. */
static void test_no_folder(struct trial *t, const char *base)
{
    mkdir("gone", 0777);
    ok(chdir("gone") == 0 && rmdir("../gone") == 0, "a folder where nothing can be written");
    setenv("TMPDIR", base, 1);
    t->watch.folder = base;
    is_int(try_path(t, NULL), VBS_OK, "  weights are in TMPDIR");
    is_int(t->watch.most_entries, 0, "  without a name");
    setenv("TMPDIR", "/nowhere", 1);
    is_int(try_path(t, NULL), VBS_IO, "  nor there");
    ok(strstr(t->detail, "'/nowhere'") && strstr(t->detail, "--weights-file"),
       "  the line says what would help: %s", t->detail);
    unsetenv("TMPDIR");
    ok(chdir(base) == 0, "back");
}

int main(void)
{
    char base[] = "/tmp/vbslab-weights-file-XXXXXX";
    struct vbs_profile *draft = weights_chain(1, false);
    struct vbs_profile *profile = exec_fake_profile(draft, SCALE);
    struct trial trial = {.profile = profile};

    if (!profile || !mkdtemp(base) || chdir(base) != 0)
        bail_out("no folder");
    alarm(ALARM_S);
    test_nameless(&trial);
    test_named(&trial);
    test_links(&trial);
    test_kinds(&trial);
    test_no_folder(&trial, base);
    vbs_profile_free(profile);
    vbs_profile_free(draft);
    rmdir(base);
    return done_testing();
}
