/*
 * What killed processes left of files that they wrote is named, whatever process has their id by
 * now; what is still written, what belongs to another file, and what is none is not. Nothing is
 * removed.
 */
#include "base/leftover.h"

#include "base/ctx.h"
#include "base/new_file.h"
#include "base/text.h"
#include "support/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOBODY "999999999" /* above all process ids */
#define SAID   "runs that were killed left unfinished files, which can be removed: "

/* The file system refuses files without names, by the linker. */
int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    int mode = 0;

    if ((flags & O_TMPFILE) == O_TMPFILE) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (flags & O_CREAT) {
        va_start(args, flags);
        mode = va_arg(args, int);
        va_end(args);
    }
    return __real_open(path, flags, mode);
}

static char folder[] = "/tmp/t_leftover.XXXXXX";

/* Makes a file in the current folder. */
static void make(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        bail_out("cannot make a file");
}

/* Writes the file "out", and checks what is said of leftovers: null, nothing. */
static void check(const char *what, const char *said)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_write_file(&ctx, "out", "x", 1);

    if (said)
        is_str(status == VBS_OK && vbs_leftover(&ctx) ? vbs_leftover(&ctx) : "", said, what);
    else
        ok(status == VBS_OK && !vbs_leftover(&ctx), "%s: nothing is said", what);
}

/* Checks that a file that is there is named, or is not, and removes it. */
static void check_one(const char *what, const char *name, bool is_named)
{
    char said[300];

    snprintf(said, sizeof said, SAID "'%s'", name);
    check(what, is_named ? said : NULL);
    ok(unlink(name) == 0 || rmdir(name) == 0, "... and it stays");
}

static void check_file(const char *what, const char *name, const char *text, bool is_named)
{
    make(name, text);
    check_one(what, name, is_named);
}

static void check_names(void)
{
    char parent[80], own[80];

    snprintf(parent, sizeof parent, "out.%ld-0.part", (long)getppid());
    snprintf(own, sizeof own, "out.%ld-0.part", (long)getpid());
    check("an empty folder", NULL);
    check_file("a part", "out." NOBODY "-0.part", "x", true);
    check_file("an empty part", "out." NOBODY "-99.part", "", true);
    check_file("a part whose process id another one has", parent, "x", true);
    check_file("an empty part whose process may be about to lock it", parent, "", false);
    check_file("an empty part by the id of this process", own, "", true);
    check_file("a part of another file", "other." NOBODY "-0.part", "x", false);
    check_file("a part of a file whose name begins alike", "out.a." NOBODY "-0.part", "x", false);
    check_file("no part: no number", "out.1-.part", "x", false);
    check_file("no part: a sign", "out.-1-0.part", "x", false);
    check_file("no part: no process", "out.0-0.part", "x", false);
    check_file("no part: a large number", "out.99999999999999999999-0.part", "x", false);
    check_file("no part: another ending", "out." NOBODY "-0.part2", "x", false);
    check_file("no part: the ending alone", "out.part", "x", false);
    ok(mkdir("out." NOBODY "-0.part", 0777) == 0, "a folder of this name");
    check_one("a folder", "out." NOBODY "-0.part", false);
    ok(symlink("out", "out." NOBODY "-0.part") == 0, "a link of this name");
    check_one("a link", "out." NOBODY "-0.part", false);
    ok(mkfifo("out." NOBODY "-0.part", 0666) == 0, "a pipe of this name");
    check_one("a pipe", "out." NOBODY "-0.part", false);
}

/* A file in a folder, by a link; control characters; several; more than a line has room for. */
static void check_lines(void)
{
    struct vbs_ctx ctx = {0};
    char name[200];

    make("out." NOBODY "-1.part", "x");
    ok(mkdir("sub", 0777) == 0 && symlink("../out", "sub/link") == 0 &&
           vbs_write_file(&ctx, "sub/link", "x", 1) == VBS_OK,
       "a file is written by a link to it");
    is_str(vbs_leftover(&ctx) ? vbs_leftover(&ctx) : "", SAID "'sub/../out." NOBODY "-1.part'",
           "a part is beside the file itself");
    unlink("sub/link");
    rmdir("sub");
    ctx = (struct vbs_ctx){0};
    make("a\033." NOBODY "-1.part", "x");
    ok(vbs_write_file(&ctx, "out", "x", 1) == VBS_OK &&
           vbs_write_file(&ctx, "out", "x", 1) == VBS_OK &&
           vbs_write_file(&ctx, "a\033", "x", 1) == VBS_OK &&
           vbs_write_file(&ctx, "a\033", "x", 1) == VBS_OK,
       "two files are written twice");
    is_str(vbs_leftover(&ctx) ? vbs_leftover(&ctx) : "",
           SAID "'out." NOBODY "-1.part', 'a\\x1b." NOBODY "-1.part'",
           "parts of both are named once");
    unlink("a\033." NOBODY "-1.part");
    unlink("a\033");
    for (int i = 2; i < 40; i++) {
        snprintf(name, sizeof name, "out." NOBODY "-%d.part", i);
        make(name, "x");
    }
    ctx = (struct vbs_ctx){0};
    ok(vbs_write_file(&ctx, "out", "x", 1) == VBS_OK && vbs_leftover(&ctx) &&
           strlen(vbs_leftover(&ctx)) < VBS_DETAIL_SIZE &&
           strcmp(vbs_leftover(&ctx) + strlen(vbs_leftover(&ctx)) - 5, ", ...") == 0,
       "many end in dots: %s", vbs_leftover(&ctx) ? vbs_leftover(&ctx) : "");
    for (int i = 1; i < 40; i++) {
        snprintf(name, sizeof name, "out." NOBODY "-%d.part", i);
        unlink(name);
    }
}

/* A process that writes is not disturbed; once it is killed, what it left is named. */
static void check_processes(void)
{
    int ready[2];
    char name[80], byte = 0;
    pid_t child;

    if (pipe(ready) != 0)
        bail_out("no pipe");
    fflush(stdout);
    child = fork();
    if (child == 0) {
        struct vbs_ctx ctx = {0};
        struct vbs_new_file file = {0};

        if (vbs_new_file_open(&ctx, "out", &file) != VBS_OK ||
            vbs_new_file_write(&ctx, &file, 0, "half", 4) != VBS_OK || write(ready[1], "1", 1) != 1)
            _exit(1);
        pause();
        _exit(1);
    }
    snprintf(name, sizeof name, "out.%ld-0.part", (long)child);
    close(ready[1]);
    ok(read(ready[0], &byte, 1) == 1 && access(name, F_OK) == 0, "a process writes");
    close(ready[0]);
    check("what a process writes", NULL);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    check_one("what it left when it was killed", name, true);
}

/* An open file that was handed on is locked no more: its owner may do so. */
static void check_published(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_new_file file = {0};
    int descriptor = -1;

    ok(vbs_new_file_open(&ctx, "out." NOBODY "-0.part", &file) == VBS_OK &&
           vbs_new_file_write(&ctx, &file, 0, "x", 1) == VBS_OK &&
           vbs_new_file_publish(&ctx, &file, &descriptor) == VBS_OK,
       "a file is handed on");
    check_one("it is not written any more", "out." NOBODY "-0.part", true);
    close(descriptor);
}

int main(void)
{
    if (!mkdtemp(folder) || chdir(folder) != 0)
        bail_out("no folder for files");
    check_names();
    check_lines();
    check_processes();
    check_published();
    ok(unlink("out") == 0 && chdir("/") == 0 && rmdir(folder) == 0, "nothing else is left");
    return done_testing();
}
