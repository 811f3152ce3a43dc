/*
 * Running a program from outside, within its limits.
 *
 * Its standard input is a file in memory, so that it may read all, some or nothing of it. Its
 * standard output is read as it comes, a line at a time. Of its standard error the end is kept, and
 * the last line is quoted where the program fails. The program leads a process group of its own,
 * which is killed before its end is taken from the system, so that the number of the group cannot
 * belong to others by then. It is also killed where this process dies.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"
#include "outside/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS    50    /* between two looks at the clock and at the caller's wish to stop */
#define READ_BYTES 65536 /* at once */
#define TAIL_BYTES 2048  /* of standard error that are kept */
#define QUOTED     200   /* characters of its last line in a message */
#define FIRST_COPY 10    /* descriptors from this one on are none of a program's three streams */

/* The descriptors of a program that is being started. */
struct child_streams {
    int input;
    int out[2], err[2]; /* pipes: to read from, to write to */
    int failed[2];      /* a pipe for errno where the program cannot be run */
};

/* A running program. */
struct process {
    const struct vbs_outside_run *run;
    pid_t pid;    /* of its group, too */
    int handle;   /* a descriptor that is readable when it has ended; -1: the system has none */
    int out, err; /* -1: closed */
    bool ended;
    siginfo_t end;
    double until_s;
    struct vbs_text line; /* the begin of the line that is being read */
    size_t n_blank;       /* bytes of lines that are empty */
    int n_lines;
    char tail[TAIL_BYTES + 1]; /* the end of standard error */
    size_t n_tail;
    double reported_s;
};

/* ---- Starting ---- */

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

static void close_streams(struct child_streams *streams)
{
    int *all[] = {&streams->input,  &streams->out[0],    &streams->out[1],   &streams->err[0],
                  &streams->err[1], &streams->failed[0], &streams->failed[1]};

    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        close_one(all[i]);
}

/* Gives 0, or errno. */
static int fill_input(int descriptor, const char *input, size_t length)
{
    while (length > 0) {
        ssize_t n = write(descriptor, input, length);

        if (n < 0 && errno != EINTR)
            return errno;
        if (n > 0) {
            input += n;
            length -= (size_t)n;
        }
    }
    return lseek(descriptor, 0, SEEK_SET) == 0 ? 0 : errno;
}

static enum vbs_status open_streams(struct vbs_ctx *ctx, const struct vbs_outside_run *run,
                                    struct child_streams *streams)
{
    int error = 0;

    *streams = (struct child_streams){-1, {-1, -1}, {-1, -1}, {-1, -1}};
    streams->input = memfd_create("problem", MFD_CLOEXEC);
    if (streams->input < 0 || pipe2(streams->out, O_CLOEXEC) != 0 ||
        pipe2(streams->err, O_CLOEXEC) != 0 || pipe2(streams->failed, O_CLOEXEC) != 0 ||
        fcntl(streams->out[0], F_SETFL, O_NONBLOCK) != 0 ||
        fcntl(streams->err[0], F_SETFL, O_NONBLOCK) != 0)
        error = errno;
    if (error == 0)
        error = fill_input(streams->input, run->input, run->n_input);
    if (error == 0)
        return VBS_OK;
    close_streams(streams);
    return vbs_fail(ctx, VBS_IO, "%s: cannot make its streams: %s", run->name, strerror(error));
}

static int limit(int resource, rlim_t most)
{
    struct rlimit old;

    if (getrlimit(resource, &old) != 0)
        return -1;
    if (old.rlim_max == RLIM_INFINITY || most < old.rlim_max)
        old.rlim_max = most;
    old.rlim_cur = old.rlim_max;
    return setrlimit(resource, &old);
}

/* Becomes the program, in the child: only calls that are safe behind fork. */
static _Noreturn void become(const struct vbs_outside_run *run, const struct child_streams *streams,
                             pid_t parent, char *const *words)
{
    static const int SIGNALS[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD, SIGQUIT};
    /* Copies, because the descriptors themselves may be among the three that are replaced. */
    int failed = fcntl(streams->failed[1], F_DUPFD_CLOEXEC, FIRST_COPY);
    int input = fcntl(streams->input, F_DUPFD_CLOEXEC, FIRST_COPY);
    int out = fcntl(streams->out[1], F_DUPFD_CLOEXEC, FIRST_COPY);
    int err = fcntl(streams->err[1], F_DUPFD_CLOEXEC, FIRST_COPY);
    sigset_t none;
    int error;

    for (size_t i = 0; i < sizeof SIGNALS / sizeof SIGNALS[0]; i++)
        signal(SIGNALS[i], SIG_DFL);
    sigemptyset(&none);
    setpgid(0, 0);
    /* A parent that has ended before this call sends no signal. */
    if (sigprocmask(SIG_SETMASK, &none, NULL) == 0 && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
        getppid() == parent && limit(RLIMIT_CORE, 0) == 0 &&
        (run->memory_limit == 0 || limit(RLIMIT_DATA, (rlim_t)run->memory_limit) == 0) &&
        dup2(input, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0) {
        /* The program gets no other file of this process; a system without the call leaves it
         * those that are not closed by themselves. */
        syscall(SYS_close_range, STDERR_FILENO + 1, failed - 1, 0);
        syscall(SYS_close_range, failed + 1, ~0U, 0);
        execve(run->path, words, environ);
    }
    error = errno;
    while (write(failed, &error, sizeof error) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* Explains why a program cannot be run. */
static enum vbs_status refuse_start(struct vbs_ctx *ctx, const struct vbs_outside_run *run,
                                    int error)
{
    const char *hint = error == ENOEXEC  ? "; a script begins with a line such as #!/bin/sh"
                       : error == ENOENT ? "; is the interpreter of its first line there?"
                                         : "";

    return vbs_fail(ctx, VBS_IO, "%s: cannot run '%s': %s%s", run->name, run->path, strerror(error),
                    hint);
}

/* Waits until the child has become the program; gives 0, or its errno. */
static int wait_start(int descriptor)
{
    int error = 0;
    ssize_t n;

    do
        n = read(descriptor, &error, sizeof error);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)sizeof error ? error : 0;
}

static enum vbs_status begin(struct vbs_ctx *ctx, struct process *process)
{
    const struct vbs_outside_run *run = process->run;
    struct vbs_text word = {0};
    pid_t parent = getpid();
    struct child_streams streams;
    int error;

    VBS_TRY(open_streams(ctx, run, &streams));
    vbs_text_add(&word, run->path);
    if (word.failed) {
        close_streams(&streams);
        return vbs_no_memory(ctx);
    }
    process->pid = fork();
    error = errno;
    if (process->pid == 0)
        become(run, &streams, parent, (char *const[]){word.data, NULL});
    vbs_text_clear(&word);
    if (process->pid < 0) {
        close_streams(&streams);
        return vbs_fail(ctx, VBS_LIBRARY, "%s: cannot start a process: %s", run->name,
                        strerror(error));
    }
    setpgid(process->pid, process->pid);
    process->handle = (int)syscall(SYS_pidfd_open, process->pid, 0);
    close_one(&streams.failed[1]);
    error = wait_start(streams.failed[0]);
    process->out = streams.out[0];
    process->err = streams.err[0];
    streams.out[0] = streams.err[0] = -1;
    close_streams(&streams);
    return error ? refuse_start(ctx, run, error) : VBS_OK;
}

/* Kills what is left of the group and takes the program's end from the system. */
static void finish(struct process *process)
{
    int status;

    if (process->pid > 0) {
        kill(-process->pid, SIGKILL);
        while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
            ;
    }
    close_one(&process->out);
    close_one(&process->err);
    close_one(&process->handle);
    vbs_text_clear(&process->line);
}

/* ---- Answers ---- */

/* Appends what the program wrote last to standard error, if it wrote anything. */
static void quote(const struct process *process, struct vbs_text *text)
{
    static const char ENDS[] = "\r\n";
    const char *tail = process->tail;
    size_t end = process->n_tail, from;

    while (end > 0 && strchr(" \t\r\n", tail[end - 1]))
        end--;
    for (from = end; from > 0 && !strchr(ENDS, tail[from - 1]); from--)
        ;
    if (from == end)
        return;
    {
        struct vbs_text last = {0};

        vbs_text_add_bytes(&last, tail + from, end - from);
        vbs_text_add(text, "; it says: '");
        vbs_text_add_visible(text, last.data ? last.data : "", QUOTED);
        vbs_text_add(text, "'");
        text->failed = text->failed || last.failed;
        vbs_text_clear(&last);
    }
}

/* Fails with a reason and the last line of standard error. */
static enum vbs_status fail(struct vbs_ctx *ctx, const struct process *process,
                            enum vbs_status status, const char *reason)
{
    struct vbs_text text = {0};

    vbs_text_addf(&text, "%s: %s", process->run->name, reason);
    quote(process, &text);
    status = text.failed ? vbs_no_memory(ctx) : vbs_fail(ctx, status, "%s", text.data);
    vbs_text_clear(&text);
    return status;
}

static enum vbs_status fail_lines(struct vbs_ctx *ctx, const struct process *process)
{
    char reason[120];
    int n = process->run->n_lines;

    snprintf(reason, sizeof reason, "answered %s%d line%s for %d budget%s",
             process->n_lines > n ? "more than " : "", process->n_lines > n ? n : process->n_lines,
             (process->n_lines > n ? n : process->n_lines) == 1 ? "" : "s", n, n == 1 ? "" : "s");
    return fail(ctx, process, VBS_FORMAT, reason);
}

static bool is_blank(const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
            return false;
    return true;
}

static enum vbs_status take_line(struct vbs_ctx *ctx, struct process *process)
{
    const struct vbs_outside_run *run = process->run;
    struct vbs_text *line = &process->line;
    enum vbs_status status = VBS_OK;

    if (is_blank(line->data, line->length)) {
        process->n_blank += line->length + 1;
    } else if (process->n_lines++ < run->n_lines) {
        status = run->take(ctx, run->self, process->n_lines - 1, line->data, line->length);
    } else {
        return fail_lines(ctx, process);
    }
    vbs_text_clear(line);
    return status;
}

/* Takes bytes of standard output. */
static enum vbs_status take_bytes(struct vbs_ctx *ctx, struct process *process, const char *bytes,
                                  size_t n)
{
    while (n > 0) {
        const char *end = memchr(bytes, '\n', n);
        size_t length = end ? (size_t)(end - bytes) : n;
        char reason[80];

        vbs_text_add_bytes(&process->line, bytes, length);
        if (process->line.failed)
            return vbs_no_memory(ctx);
        if (process->line.length + process->n_blank > process->run->most_bytes) {
            snprintf(reason, sizeof reason, "wrote more than %zu bytes for one budget",
                     process->run->most_bytes);
            return fail(ctx, process, VBS_FORMAT, reason);
        }
        if (end)
            VBS_TRY(take_line(ctx, process));
        bytes += length + (end ? 1 : 0);
        n -= length + (end ? 1 : 0);
    }
    return VBS_OK;
}

static void keep_tail(struct process *process, const char *bytes, size_t n)
{
    if (n > TAIL_BYTES) {
        bytes += n - TAIL_BYTES;
        n = TAIL_BYTES;
    }
    if (process->n_tail + n > TAIL_BYTES) {
        size_t keep = TAIL_BYTES - n;

        memmove(process->tail, process->tail + process->n_tail - keep, keep);
        process->n_tail = keep;
    }
    memcpy(process->tail + process->n_tail, bytes, n);
    process->n_tail += n;
    process->tail[process->n_tail] = '\0';
}

/* Reads once from standard output or standard error; *more: there were bytes. */
static enum vbs_status read_once(struct vbs_ctx *ctx, struct process *process, int *from,
                                 char *buffer, bool *more)
{
    ssize_t n;

    *more = false;
    if (*from < 0)
        return VBS_OK;
    n = read(*from, buffer, READ_BYTES);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        close_one(from);
    if (n <= 0)
        return VBS_OK;
    *more = true;
    if (from == &process->err) {
        keep_tail(process, buffer, (size_t)n);
        return VBS_OK;
    }
    return take_bytes(ctx, process, buffer, (size_t)n);
}

/* ---- The end ---- */

static void look_for_end(struct process *process)
{
    process->end = (siginfo_t){0};
    if (waitid(P_PID, (id_t)process->pid, &process->end, WEXITED | WNOHANG | WNOWAIT) != 0)
        process->ended = errno != EINTR;
    else
        process->ended = process->end.si_pid != 0;
}

/* Reads what the program wrote before it ended. */
static enum vbs_status read_rest(struct vbs_ctx *ctx, struct process *process, char *buffer)
{
    bool more = true;

    kill(-process->pid, SIGKILL); /* nobody of the group writes on */
    while (more)
        VBS_TRY(read_once(ctx, process, &process->err, buffer, &more));
    for (more = true; more;)
        VBS_TRY(read_once(ctx, process, &process->out, buffer, &more));
    return process->line.length > 0 ? take_line(ctx, process) : VBS_OK;
}

/* Judges how the program ended. */
static enum vbs_status judge_end(struct vbs_ctx *ctx, const struct process *process)
{
    char reason[120];

    if (process->end.si_code == CLD_KILLED || process->end.si_code == CLD_DUMPED) {
        snprintf(reason, sizeof reason, "died by signal %d (%s) after %d of %d answers",
                 process->end.si_status, strsignal(process->end.si_status), process->n_lines,
                 process->run->n_lines);
        return fail(ctx, process, VBS_LIBRARY, reason);
    }
    if (process->end.si_status != 0) {
        snprintf(reason, sizeof reason, "ended with exit code %d after %d of %d answers",
                 process->end.si_status, process->n_lines, process->run->n_lines);
        return fail(ctx, process, VBS_LIBRARY, reason);
    }
    return process->n_lines == process->run->n_lines ? VBS_OK : fail_lines(ctx, process);
}

static enum vbs_status fail_late(struct vbs_ctx *ctx, const struct process *process)
{
    char reason[160];

    snprintf(reason, sizeof reason,
             "did not end within %g s, with %d of %d answers; --time-limit gives each budget more",
             process->run->time_limit_s, process->n_lines, process->run->n_lines);
    return fail(ctx, process, VBS_LIBRARY, reason);
}

static void report(struct process *process)
{
    const struct vbs_progress *progress = &process->run->progress;
    double now_s = vbs_clock_s();

    if (!progress->report || now_s < process->reported_s + 0.1)
        return;
    process->reported_s = now_s;
    progress->report(progress->self, (double)process->n_lines / (process->run->n_lines + 1), -1,
                     process->run->name);
}

static enum vbs_status follow(struct vbs_ctx *ctx, struct process *process, char *buffer)
{
    bool more;

    while (!process->ended) {
        struct pollfd files[] = {{.fd = process->out, .events = POLLIN},
                                 {.fd = process->err, .events = POLLIN},
                                 {.fd = process->handle, .events = POLLIN}};
        double left_s = process->until_s - vbs_clock_s();

        VBS_TRY(vbs_check_cancel(ctx));
        if (left_s <= 0)
            return fail_late(ctx, process);
        poll(files, 3, (int)ceil(fmin(1e3 * left_s, POLL_MS)));
        VBS_TRY(read_once(ctx, process, &process->err, buffer, &more));
        VBS_TRY(read_once(ctx, process, &process->out, buffer, &more));
        report(process);
        look_for_end(process);
    }
    VBS_TRY(read_rest(ctx, process, buffer));
    return judge_end(ctx, process);
}

enum vbs_status vbs_outside_run_program(struct vbs_ctx *ctx, const struct vbs_outside_run *run)
{
    struct process process = {.run = run, .pid = -1, .handle = -1, .out = -1, .err = -1};
    char *buffer = malloc(READ_BYTES);
    enum vbs_status status = buffer ? VBS_OK : vbs_no_memory(ctx);

    process.until_s = vbs_clock_s() + run->time_limit_s;
    if (status == VBS_OK)
        status = begin(ctx, &process);
    if (status == VBS_OK)
        status = follow(ctx, &process, buffer);
    finish(&process);
    free(buffer);
    return status;
}
