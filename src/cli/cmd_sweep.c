#include "base/fail.h"
#include "base/grow.h"
#include "base/parse.h"
#include "cli/print/print.h"
#include "cli/sweep/sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WARNED 10 /* tasks that failed, each in a line */

/* ---- the list ---- */

/* A walk through the tasks that prints them. */
struct printing {
    struct sweep_job *job;
    struct vbs_text command; /* the begin of each line */
    struct vbs_sweep_counts groups[256];
    int n_failed;
};

static enum vbs_status list_task(void *self, int64_t index, const char *name,
                                 enum vbs_sweep_state state)
{
    struct printing *p = self;

    if (sweep_is_open(p->job, state))
        printf("%s --task %lld-%s\n", p->command.data, (long long)index, name);
    return ferror(stdout) ? vbs_fail(&p->job->cli->ctx, VBS_IO, "cannot write standard output")
                          : VBS_OK;
}

static enum vbs_status print_list(struct sweep_job *job)
{
    struct printing p = {.job = job};
    struct vbs_sweep_counts counts;
    enum vbs_status status;

    sweep_add_command(&p.command, job);
    if (job->retry)
        vbs_text_add(&p.command, " --retry");
    status = p.command.failed ? vbs_no_memory(&job->cli->ctx)
                              : vbs_sweep_look(&job->cli->ctx, job->sweep, list_task, &p, &counts);
    vbs_text_clear(&p.command);
    return status;
}

/* ---- the status ---- */

static int group_of(const struct sweep_job *job, int64_t index)
{
    int g = 0;

    while (index >= job->info->groups[g].first + job->info->groups[g].n_tasks)
        g++;
    return g;
}

static enum vbs_status count_task(void *self, int64_t index, const char *name,
                                  enum vbs_sweep_state state)
{
    struct printing *p = self;

    p->groups[group_of(p->job, index)].n[state]++;
    if (state == VBS_SWEEP_FAILED && p->n_failed++ < MAX_WARNED)
        cli_warn(p->job->cli, "%s has failed: see %s/%s.log", name, p->job->info->results, name);
    return VBS_OK;
}

static enum vbs_status print_row(void *self, int64_t index, const char *name,
                                 enum vbs_sweep_state state)
{
    struct printing *p = self;
    struct vbs_ctx *ctx = &p->job->cli->ctx;
    struct vbs_text command = {0}, row = {0};
    struct vbs_sweep_task task;

    VBS_TRY(vbs_sweep_expand(ctx, p->job->sweep, index, &task));
    for (char **word = task.words; *word; word++) {
        vbs_text_add(&command, word == task.words ? "" : " ");
        cli_quote(&command, *word);
    }
    vbs_text_addf(&row, "%lld,%s,", (long long)index, name);
    vbs_text_add_csv(&row, p->job->info->groups[task.group].name);
    vbs_text_addf(&row, ",%s,", vbs_sweep_state_word(state));
    vbs_text_add_csv(&row, command.data ? command.data : "");
    vbs_sweep_task_clear(&task);
    if (!row.failed && !command.failed)
        printf("%s\n", row.data);
    else
        (void)vbs_no_memory(ctx);
    row.failed = row.failed || command.failed;
    vbs_text_clear(&command);
    index = row.failed;
    vbs_text_clear(&row);
    return index ? VBS_NO_MEMORY : VBS_OK;
}

static enum vbs_status print_table(struct printing *p)
{
    static const struct cli_column COLUMNS[] = {
        {"task", false},   {"tasks", true}, {"done", true},    {"failed", true},
        {"running", true}, {"left", true},  {"blocked", true}, {"equal", true},
    };
    static const enum vbs_sweep_state STATES[] = {VBS_SWEEP_DONE,    VBS_SWEEP_FAILED,
                                                  VBS_SWEEP_RUNNING, VBS_SWEEP_LEFT,
                                                  VBS_SWEEP_BLOCKED, VBS_SWEEP_EQUAL};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 8};

    for (int g = 0; g < p->job->info->n_groups; g++) {
        cli_table_add(&table, "%s", p->job->info->groups[g].name);
        cli_table_add(&table, "%lld", (long long)p->job->info->groups[g].n_tasks);
        for (int i = 0; i < 6; i++)
            cli_table_add(&table, "%lld", (long long)p->groups[g].n[STATES[i]]);
    }
    return cli_table_print(p->job->cli, &table);
}

static void put_counts(json_t *object, int64_t n_tasks, const struct vbs_sweep_counts *counts,
                       bool *failed)
{
    cli_json_put(object, "tasks", json_integer(n_tasks), failed);
    for (int s = 0; s < VBS_N_SWEEP_STATES; s++)
        cli_json_put(object, vbs_sweep_state_word((enum vbs_sweep_state)s),
                     json_integer(counts->n[s]), failed);
}

static enum vbs_status print_json(struct sweep_job *job, const struct vbs_sweep_counts *counts,
                                  const struct printing *p)
{
    json_t *root = json_object(), *groups = json_array();
    int64_t n = 0;
    bool failed = false;

    for (int s = 0; s < VBS_N_SWEEP_STATES; s++)
        n += counts->n[s];
    cli_json_put(root, "format", json_string("vbslab-sweep-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "sweep", json_string(job->info->name), &failed);
    cli_json_put(root, "results", json_string(job->info->results), &failed);
    put_counts(root, n, counts, &failed);
    for (int g = 0; p && g < job->info->n_groups; g++) {
        json_t *group = json_object();

        cli_json_put(group, "task", json_string(job->info->groups[g].name), &failed);
        put_counts(group, job->info->groups[g].n_tasks, &p->groups[g], &failed);
        cli_json_append(groups, group, &failed);
    }
    cli_json_put(root, "groups", groups, &failed);
    return cli_json_print(job->cli, root, failed);
}

static enum vbs_status print_status(struct sweep_job *job)
{
    bool csv = cli_value(job->cli, job->values, "csv");
    struct printing p = {.job = job};
    struct vbs_sweep_counts counts;

    if (csv)
        printf("index,name,task,state,command\n");
    VBS_TRY(vbs_sweep_look(&job->cli->ctx, job->sweep, csv ? print_row : count_task, &p, &counts));
    if (cli_value(job->cli, job->values, "json"))
        return print_json(job, &counts, &p);
    return csv ? VBS_OK : print_table(&p);
}

/* ---- running ---- */

static void say_end(void *self, const struct vbs_sweep_end *end)
{
    struct sweep_job *job = self;
    const char *name = job->info->groups[end->task->group].name;

    if (end->state == VBS_SWEEP_DONE || job->n_warned++ >= MAX_WARNED)
        return;
    cli_warn(job->cli, "%s (%s) failed with %s %d: see %s/%s.log", end->task->name, name,
             end->exit_code < 0 ? "signal" : "exit code", abs(end->exit_code), job->info->results,
             end->task->name);
}

static void say_taken_over(void *self, const struct vbs_sweep_silence *silence)
{
    struct sweep_job *job = self;

    cli_note(job->cli, "%s: process %lld on %s has given no sign for %g s; its task is run here",
             silence->task, (long long)silence->process, silence->host, silence->patience_s);
}

static void show_progress(void *self, const struct vbs_sweep_counts *counts, int waiting)
{
    struct sweep_job *job = self;
    struct vbs_progress bar = cli_progress(job->cli);
    int64_t n = 0, ended = counts->n[VBS_SWEEP_DONE] + counts->n[VBS_SWEEP_FAILED] +
                           counts->n[VBS_SWEEP_BLOCKED] + counts->n[VBS_SWEEP_EQUAL];
    char text[120];

    if (!bar.report)
        return;
    for (int s = 0; s < VBS_N_SWEEP_STATES; s++)
        n += counts->n[s];
    snprintf(text, sizeof text, "%lld done, %lld failed, %lld %s",
             (long long)counts->n[VBS_SWEEP_DONE], (long long)counts->n[VBS_SWEEP_FAILED],
             (long long)counts->n[VBS_SWEEP_RUNNING],
             waiting ? "run by other processes" : "running");
    bar.report(bar.self, n > 0 ? (double)ended / (double)n : 1, -1, text);
}

/* Reads the tasks of a share "I/N" of a list of tasks: those of the places I, I + N, I + 2N, ... */
static enum vbs_status read_share(struct sweep_job *job, const char *list, const char *share,
                                  int64_t **tasks, int64_t *n_tasks)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    int64_t i = -1, n = 0, capacity = 0, place;
    const char *end;
    enum vbs_status status = VBS_OK;
    char record[SWEEP_RECORD_BYTES + 1];
    int file;

    if (!vbs_parse_digits(share, &end, &i) || *end != '/' || end == share ||
        !vbs_parse_digits(end + 1, &end, &n) || *end || i >= n)
        return vbs_fail(ctx, VBS_USAGE, "--share '%.40s' is not I/N with I below N", share);
    file = open(list, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return vbs_fail(ctx, VBS_IO, "cannot open '%.300s': %s", list, strerror(errno));
    for (place = i; status == VBS_OK && pread(file, record, SWEEP_RECORD_BYTES,
                                              place * SWEEP_RECORD_BYTES) == SWEEP_RECORD_BYTES;
         place += n) {
        record[SWEEP_RECORD_BYTES - 1] = '\0';
        status = vbs_grow(ctx, tasks, &capacity, *n_tasks + 1, sizeof **tasks);
        if (status == VBS_OK)
            status = vbs_sweep_find(ctx, job->sweep, record, &(*tasks)[*n_tasks]);
        *n_tasks += status == VBS_OK;
    }
    close(file);
    return status;
}

/* Chooses the tasks that the options name. */
static enum vbs_status choose_tasks(struct sweep_job *job, int64_t **tasks, int64_t *n_tasks)
{
    const char *task = cli_value(job->cli, job->values, "task");
    const char *from = cli_value(job->cli, job->values, "from");
    int64_t capacity = 0;

    if (from)
        return read_share(job, from, cli_value(job->cli, job->values, "share"), tasks, n_tasks);
    if (!task)
        return VBS_OK;
    VBS_TRY(vbs_grow(&job->cli->ctx, tasks, &capacity, 1, sizeof **tasks));
    *n_tasks = 1;
    return vbs_sweep_find(&job->cli->ctx, job->sweep, task, *tasks);
}

static void print_end(const struct vbs_sweep_counts *counts)
{
    printf("%lld done, %lld failed, %lld blocked",
           (long long)(counts->n[VBS_SWEEP_DONE] + counts->n[VBS_SWEEP_EQUAL]),
           (long long)counts->n[VBS_SWEEP_FAILED], (long long)counts->n[VBS_SWEEP_BLOCKED]);
    if (counts->n[VBS_SWEEP_EQUAL] > 0)
        printf("; %lld of them equal to others", (long long)counts->n[VBS_SWEEP_EQUAL]);
    printf("\n");
}

static enum vbs_status run_tasks(struct sweep_job *job, bool *all_done)
{
    struct vbs_sweep_options options = {.struct_size = sizeof options,
                                        .program = job->program,
                                        .jobs = 1,
                                        .retry = job->retry,
                                        .self = job,
                                        .ended = say_end,
                                        .progress = show_progress,
                                        .taken_over = say_taken_over};
    const char *jobs = cli_value(job->cli, job->values, "jobs");
    struct vbs_sweep_counts counts;
    int64_t *tasks = NULL, n_jobs = 1;
    enum vbs_status status;

    if (jobs)
        VBS_TRY(vbs_parse_int(&job->cli->ctx, "--jobs", jobs, 1, 1024, &n_jobs));
    options.jobs = (int)n_jobs;
    status = choose_tasks(job, &tasks, &options.n_tasks);
    options.tasks = tasks;
    if (status == VBS_OK && (options.n_tasks > 0 || !cli_value(job->cli, job->values, "from"))) {
        status = vbs_sweep_run(&job->cli->ctx, job->sweep, &options, &counts);
        cli_progress_end(job->cli);
        if (status == VBS_OK) {
            *all_done = counts.n[VBS_SWEEP_FAILED] == 0 && counts.n[VBS_SWEEP_BLOCKED] == 0;
            if (cli_value(job->cli, job->values, "json"))
                status = print_json(job, &counts, NULL);
            else if (!cli_value(job->cli, job->values, "task"))
                print_end(&counts);
        }
    }
    free(tasks);
    return status;
}

/* ---- the command ---- */

/* Finds the program, and the store where it is not the default: commands run in the folder of the
 * description. */
static enum vbs_status find_program(struct sweep_job *job)
{
    ssize_t length = readlink("/proc/self/exe", job->program, sizeof job->program - 1);
    char folder[2048];

    if (length <= 0)
        return vbs_fail(&job->cli->ctx, VBS_IO, "cannot find the program: %s", strerror(errno));
    job->program[length] = '\0';
    if (job->cli->db_is_default)
        return VBS_OK;
    if (job->cli->db_path[0] == '/')
        folder[0] = '\0';
    else if (!getcwd(folder, sizeof folder - 1))
        return vbs_fail(&job->cli->ctx, VBS_IO, "cannot find this folder: %s", strerror(errno));
    if ((size_t)snprintf(job->store, sizeof job->store, "%s%s%s", folder, folder[0] ? "/" : "",
                         job->cli->db_path) >= sizeof job->store)
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "the path of the store is too long");
    if (setenv("VBSLAB_DB", job->store, 1) != 0)
        return vbs_no_memory(&job->cli->ctx);
    return VBS_OK;
}

static enum vbs_status sweep(struct sweep_job *job, const char *file, bool *all_done)
{
    VBS_TRY(vbs_sweep_load(&job->cli->ctx, file, &job->sweep));
    job->info = vbs_sweep_info(job->sweep);
    VBS_TRY(find_program(job));
    if (cli_value(job->cli, job->values, "list"))
        return print_list(job);
    if (cli_value(job->cli, job->values, "status"))
        return print_status(job);
    if (cli_value(job->cli, job->values, "slurm"))
        return sweep_submit(job, cli_value(job->cli, job->values, "dry-run"));
    return run_tasks(job, all_done);
}

/* Counts which of the options that exclude each other are given. */
static int count_given(struct cli *cli, const char *const *values, const char *const *names)
{
    int n = 0;

    for (; *names; names++)
        n += cli_value(cli, values, *names) != NULL;
    return n;
}

static int run_sweep(struct cli *cli, const char *const *values, int n_arguments,
                     const char *const *arguments)
{
    static const char *const WAYS[] = {"jobs", "list", "status", "slurm", "task", "from", NULL};
    static const char *const FORMS[] = {"json", "csv", NULL};
    struct sweep_job job = {.cli = cli, .values = values, .retry = cli_value(cli, values, "retry")};
    enum vbs_status status;
    bool all_done = true;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one FILE, a description of tasks");
    if (count_given(cli, values, WAYS) > 1)
        return cli_usage(cli,
                         "--jobs, --list, --status, --slurm, --task and --from exclude each other");
    if (!cli_value(cli, values, "from") != !cli_value(cli, values, "share"))
        return cli_usage(cli, "--from and --share go together");
    if (cli_value(cli, values, "dry-run") && !cli_value(cli, values, "slurm"))
        return cli_usage(cli, "--dry-run goes with --slurm");
    if (count_given(cli, values, FORMS) > 1)
        return cli_usage(cli, "--json and --csv exclude each other");
    if (cli_value(cli, values, "csv") && !cli_value(cli, values, "status"))
        return cli_usage(cli, "--csv goes with --status");
    status = sweep(&job, arguments[0], &all_done);
    vbs_sweep_free(job.sweep);
    if (status == VBS_OK && !all_done)
        return (void)cli_finish(cli), 1;
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"jobs", "N", "runs N commands at once, on this machine (default 1)"},
    {"list", NULL, "prints a command for each task that is left, for xargs, parallel and the like"},
    {"slurm", NULL, "submits the tasks that are left to Slurm, as arrays of jobs"},
    {"dry-run", NULL, "with --slurm: prints the scripts and commands, and submits nothing"},
    {"status", NULL, "prints how many tasks are done, have failed, run, and are left"},
    {"task", "TASK", "runs one task, as --list names it"},
    {"from", "LIST", "runs tasks of a file that --slurm has written"},
    {"share", "I/N", "with --from: the tasks at the places I, I + N, I + 2N, ..., from 0"},
    {"retry", NULL, "tasks that have failed are run again"},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "with --status: print a row for each task"},
    {0},
};

const struct cli_command cli_sweep = {
    .name = "sweep",
    .summary = "runs many commands that a file describes, on one machine or many",
    .usage = "FILE [--jobs N | --list | --slurm | --status] [options]",
    .options = OPTIONS,
    .arguments =
        (const struct cli_argument[]){{"FILE", "a description of tasks: lists that are multiplied "
                                               "out into command lines, in TOML (docs/sweeps.md)"},
                                      {0}},
    .example = "vbslab sweep budgets.toml --jobs 4\n"
               "vbslab sweep budgets.toml --list | xargs -d '\\n' -n 1 -P 4 sh -c",
    .run = run_sweep,
};
