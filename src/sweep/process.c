#include "sweep/process.h"

#include "base/fail.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONGEST_STOP_MS 500 /* to wait until a process has stopped */

/* Appends a word as a shell would read it. */
static void add_quoted(struct vbs_text *text, const char *word)
{
    vbs_text_add(text, " '");
    for (; *word; word++)
        vbs_text_addf(text, *word == '\'' ? "'\\''" : "%c", *word);
    vbs_text_add(text, "'");
}

/* Begins the log with the command. */
static enum vbs_status write_command(struct vbs_ctx *ctx, char **words, int log)
{
    struct vbs_text text = {0};
    enum vbs_status status = VBS_OK;

    vbs_text_add(&text, "$ vbslab");
    for (; *words; words++)
        add_quoted(&text, *words);
    vbs_text_add(&text, "\n");
    if (text.failed)
        status = vbs_no_memory(ctx);
    else if (write(log, text.data, text.length) != (ssize_t)text.length)
        status = vbs_fail(ctx, VBS_IO, "cannot write the log of a task: %s", strerror(errno));
    vbs_text_clear(&text);
    return status;
}

/* Becomes the command, in the child. Only calls that are safe behind fork. */
static _Noreturn void become(const char *program, const char *folder, char **words,
                             const struct vbs_work *work, pid_t parent, char **environment)
{
    int nothing = open("/dev/null", O_RDONLY);

    setpgid(0, 0);
    /* A parent that has ended before this call sends no signal. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && chdir(folder) == 0 &&
        dup2(nothing, STDIN_FILENO) >= 0 && dup2(work->output, STDOUT_FILENO) >= 0 &&
        dup2(work->log, STDERR_FILENO) >= 0)
        execve(program, words, environment);
    _exit(127);
}

/* Makes the environment of a command: this one, with OMP_NUM_THREADS where it has none. */
static char **make_environment(int threads, char setting[40])
{
    size_t n = 0;
    char **made;

    while (environ[n])
        n++;
    made = calloc(n + 2, sizeof *made);
    if (!made)
        return NULL;
    if (n > 0)
        memcpy(made, environ, n * sizeof *made);
    snprintf(setting, 40, "OMP_NUM_THREADS=%d", threads);
    if (threads > 0 && !getenv("OMP_NUM_THREADS"))
        made[n] = setting;
    return made;
}

enum vbs_status vbs_process_begin(struct vbs_ctx *ctx, const char *program, const char *folder,
                                  char **words, const struct vbs_work *work, int threads,
                                  struct vbs_process *process)
{
    pid_t parent = getpid(), pid;
    char setting[40], **environment, **all;
    size_t n = 0;
    int error;

    VBS_TRY(write_command(ctx, words, work->log));
    while (words[n])
        n++;
    environment = make_environment(threads, setting);
    all = calloc(n + 2, sizeof *all);
    if (!environment || !all) {
        free(environment);
        free(all);
        return vbs_no_memory(ctx);
    }
    all[0] = (char[]){"vbslab"};
    memcpy(all + 1, words, n * sizeof *all);
    pid = fork();
    if (pid == 0)
        become(program, folder, all, work, parent, environment);
    error = errno;
    free(environment);
    free(all);
    if (pid < 0)
        return vbs_fail(ctx, VBS_LIBRARY, "cannot start a process: %s", strerror(error));
    setpgid(pid, pid);
    process->pid = pid;
    process->handle = (int)syscall(SYS_pidfd_open, pid, 0);
    process->stopped = false;
    return VBS_OK;
}

/* Takes the end of a process from the system. */
static bool take_end(struct vbs_process *process, int status, int *exit_code)
{
    if (!WIFEXITED(status) && !WIFSIGNALED(status))
        return false;
    *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (process->handle >= 0)
        close(process->handle);
    *process = (struct vbs_process){.handle = -1};
    return true;
}

bool vbs_process_ended(struct vbs_process *process, int *exit_code)
{
    int status;

    return waitpid(process->pid, &status, WNOHANG) == process->pid &&
           take_end(process, status, exit_code);
}

/* Gives whether a process has stopped or ended. Its end is left for vbs_process_ended. */
static bool stands_still(const struct vbs_process *process)
{
    siginfo_t info = {0};

    return waitid(P_PID, (id_t)process->pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) == 0 &&
           info.si_pid != 0;
}

void vbs_process_stop(struct vbs_process *process)
{
    if (process->stopped)
        return;
    kill(-process->pid, SIGSTOP);
    process->stopped = true;
    /* A process that waits for its child to become another program (vfork) is not told to stop
     * before that, and the child, which is stopped, does not become one. It computes nothing. */
    for (int ms = 0; ms < LONGEST_STOP_MS && !stands_still(process); ms++)
        poll(NULL, 0, 1);
}

void vbs_process_continue(struct vbs_process *process)
{
    if (process->stopped)
        kill(-process->pid, SIGCONT);
    process->stopped = false;
}

void vbs_process_terminate(struct vbs_process *process)
{
    kill(-process->pid, SIGTERM);
    vbs_process_continue(process);
}

void vbs_process_kill(struct vbs_process *process)
{
    int status, exit_code;

    kill(-process->pid, SIGKILL);
    while (waitpid(process->pid, &status, 0) < 0 && errno == EINTR)
        ;
    take_end(process, status, &exit_code);
}
