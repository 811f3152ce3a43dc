/*
 * The workers of a study. With several jobs this process starts the program anew for each of them,
 * to train, and takes the times itself. A worker ends by itself when the study is over, and by a
 * signal when this process ends, however it ends.
 */
#include "cli/tune/tune.h"

#include "base/fail.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* The processes that were started. */
struct workers {
    const struct cli_tuning *tuning;
    pid_t *pids; /* [tuning->jobs]; 0: it has ended */
    int n_running;
    int n_failed;
    struct vbs_progress progress;
};

/* ---- what is shown ---- */

static void report(void *self, const struct vbs_study_event *event)
{
    struct workers *workers = self;
    struct cli *cli = workers->tuning->cli;
    char text[240];

    if (event->ended) {
        if (event->trial == 0)
            cli_note(cli, "control: %s", event->doing);
        else
            cli_note(cli, "trial %d: %s", event->trial, event->doing);
        return;
    }
    if (!workers->progress.report)
        return;
    if (event->trial == 0)
        snprintf(text, sizeof text, "control %s", event->doing);
    else if (event->trial > 0)
        snprintf(text, sizeof text, "trial %d %s", event->trial, event->doing);
    else
        snprintf(text, sizeof text, "%s", event->doing);
    workers->progress.report(workers->progress.self, event->done < 0 ? 0 : event->done, -1, text);
}

/* ---- processes ---- */

/* Runs the program as a training worker. Ends the process. */
static void become_worker(const struct cli_tuning *tuning, pid_t parent)
{
    char threads[16];
    const char *words[] = {tuning->cli->argv[0],
                           "--db",
                           tuning->cli->db_path,
                           "--quiet",
                           "tune",
                           tuning->path,
                           "--only",
                           "train",
                           "--threads",
                           threads,
                           NULL};

    snprintf(threads, sizeof threads, "%d", tuning->threads);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(1);
    dup2(STDERR_FILENO,
         STDOUT_FILENO); /* the result is printed once, by the process that measures */
    execv("/proc/self/exe", (char *const *)(uintptr_t)words);
    _exit(127);
}

/* Starts the workers, once it is certain that there is work for them. */
static enum vbs_status start(void *self)
{
    struct workers *workers = self;
    const struct cli_tuning *tuning = workers->tuning;
    pid_t parent = getpid();

    if (tuning->jobs <= 1)
        return VBS_OK;
    workers->pids = calloc((size_t)tuning->jobs, sizeof *workers->pids);
    if (!workers->pids)
        return vbs_no_memory(&tuning->cli->ctx);
    fflush(NULL);
    for (int i = 0; i < tuning->jobs; i++) {
        pid_t pid = fork();

        if (pid == 0)
            become_worker(tuning, parent);
        if (pid < 0)
            return vbs_fail(&tuning->cli->ctx, VBS_IO, "cannot start a worker: %s",
                            strerror(errno));
        workers->pids[i] = pid;
        workers->n_running++;
    }
    return VBS_OK;
}

/* Notices workers that have ended; block: waits for all. */
static void reap(struct workers *workers, bool block)
{
    for (int i = 0; workers->pids && i < workers->tuning->jobs; i++) {
        int status;
        pid_t pid;

        if (workers->pids[i] == 0)
            continue;
        do
            pid = waitpid(workers->pids[i], &status, block ? 0 : WNOHANG);
        while (pid < 0 && errno == EINTR);
        if (pid == 0)
            continue;
        workers->pids[i] = 0;
        workers->n_running--;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
            workers->n_failed++;
    }
}

static void stop(struct workers *workers)
{
    for (int i = 0; workers->pids && i < workers->tuning->jobs; i++)
        if (workers->pids[i] > 0)
            kill(workers->pids[i], SIGTERM);
    reap(workers, true);
}

/* There is something to wait for while a worker runs; a process that works alone waits for those of
 * other shells. */
static bool wait_on(void *self)
{
    struct workers *workers = self;

    reap(workers, false);
    return workers->tuning->jobs <= 1 || workers->n_running > 0;
}

enum vbs_status cli_tune_work(const struct cli_tuning *tuning, struct vbs_store *store,
                              struct vbs_study_outcome *outcome)
{
    struct cli *cli = tuning->cli;
    struct workers workers = {.tuning = tuning, .progress = cli_progress(cli)};
    const struct vbs_study_options options = {.struct_size = sizeof options,
                                              .role = tuning->jobs > 1 ? VBS_STUDY_MEASURE
                                                                       : tuning->role,
                                              .join = tuning->join,
                                              .vbslab = cli_build,
                                              .folder = tuning->folder,
                                              .threads = tuning->threads,
                                              .self = &workers,
                                              .report = report,
                                              .ready = start,
                                              .wait = wait_on};
    enum vbs_status status = vbs_study_work(&cli->ctx, store, tuning->study, &options, outcome);
    cli_progress_end(cli);
    if (status == VBS_OK)
        reap(&workers, true);
    stop(&workers);
    if (status == VBS_OK && workers.n_failed > 0)
        status = vbs_fail(&cli->ctx, VBS_LIBRARY, "%d of %d workers failed", workers.n_failed,
                          tuning->jobs);
    free(workers.pids);
    return status;
}
