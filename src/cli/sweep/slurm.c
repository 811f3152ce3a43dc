/*
 * Submits a sweep to Slurm. Tasks of one level that share their machine are one array of jobs,
 * those that run alone another one, with --exclusive; an array begins when those of the levels
 * below have ended. Element i of n runs every n-th task of a list, from the i-th, so that an array
 * is never larger than the controller allows.
 */
#include "cli/sweep/sweep.h"

#include "base/fail.h"
#include "base/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_ARRAY 1001 /* MaxArraySize of a controller that is not configured otherwise */
#define MAX_LEVELS    257  /* a group is at most one level above all others */

/* The tasks of one array. */
struct job_array {
    struct vbs_text list; /* records of tasks */
    int64_t n;
};

struct submission {
    struct sweep_job *job;
    struct job_array
        stages[2 * MAX_LEVELS]; /* level by level: those that share, those that are alone */
    int64_t max_array;
    char **words; /* of a command */
    int64_t n_words, max_words;
    struct vbs_text below, here; /* ":ID:ID" of the jobs of all levels below, and of this level */
    bool dry, failed;            /* no memory for a word */
};

/* ---- commands ---- */

static void add_word(struct submission *s, const char *word)
{
    if (vbs_grow(NULL, &s->words, &s->max_words, s->n_words + 2, sizeof *s->words) != VBS_OK) {
        s->failed = true;
        return;
    }
    s->words[s->n_words] = strdup(word);
    s->failed = s->failed || !s->words[s->n_words];
    s->words[++s->n_words] = NULL;
}

static void add_wordf(struct submission *s, const char *format, ...) VBS_PRINTF(2, 3);

static void add_wordf(struct submission *s, const char *format, ...)
{
    va_list args;
    char *word;

    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        word = NULL;
    va_end(args);
    if (word)
        add_word(s, word);
    else
        s->failed = true;
    free(word);
}

static void clear_words(struct submission *s)
{
    for (int64_t i = 0; i < s->n_words; i++)
        free(s->words[i]);
    s->n_words = 0;
}

/* Runs a command, and gives the first bytes of its standard output; ctx null: its errors are not
 * shown. VBS_LIBRARY: it cannot be started, or ends with another exit code than 0. */
static enum vbs_status run_command(struct vbs_ctx *ctx, char *const *words, char *output,
                                   size_t size)
{
    posix_spawn_file_actions_t actions;
    int ends[2], error, status = 0;
    size_t used = 0;
    ssize_t n;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        return vbs_fail(ctx, VBS_LIBRARY, "cannot start '%s': %s", words[0], strerror(errno));
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!ctx)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    error = posix_spawnp(&pid, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(ends[1]);
    while (error == 0 && (n = read(ends[0], output + used, size - 1 - used)) != 0) {
        if (n < 0 && errno != EINTR)
            break;
        used += n > 0 ? (size_t)n : 0;
        if (used == size - 1)
            break;
    }
    close(ends[0]);
    output[used] = '\0';
    if (error != 0)
        return vbs_fail(ctx, VBS_LIBRARY, "cannot start '%s': %s", words[0], strerror(error));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return VBS_OK;
    return vbs_fail(ctx, VBS_LIBRARY, "'%s' failed", words[0]);
}

/* Asks the controller how many elements an array may have. The default counts where there is no
 * controller, or its answer is longer than expected. */
static int64_t largest_array(const struct sweep_job *job)
{
    static char SCONTROL[] = "scontrol", SHOW[] = "show", CONFIG[] = "config";
    char *const words[] = {SCONTROL, SHOW, CONFIG, NULL};
    char output[65536], *line;
    int64_t n = DEFAULT_ARRAY;

    if (run_command(NULL, words, output, sizeof output) == VBS_OK) {
        line = strstr(output, "MaxArraySize");
        line = line ? strchr(line, '=') : NULL;
        if (line && strtoll(line + 1, NULL, 10) > 0)
            n = strtoll(line + 1, NULL, 10);
    }
    return job->info->slurm_array > 0 && job->info->slurm_array < n ? job->info->slurm_array : n;
}

/* ---- which tasks ---- */

static enum vbs_status take_task(void *self, int64_t index, const char *name,
                                 enum vbs_sweep_state state)
{
    struct submission *s = self;
    const struct vbs_sweep_group *group = s->job->info->groups;
    struct job_array *stage;

    if (!sweep_is_open(s->job, state))
        return VBS_OK;
    while (index >= group->first + group->n_tasks)
        group++;
    stage = &s->stages[2 * group->level + (group->exclusive != 0)];
    vbs_text_addf(&stage->list, "%08lld-%s\n", (long long)index, name);
    stage->n++;
    return stage->list.failed ? vbs_no_memory(&s->job->cli->ctx) : VBS_OK;
}

/* ---- one array ---- */

/* Writes the script of an array of n elements, which runs tasks of a list. */
static void write_script(struct submission *s, const char *list, int64_t n, struct vbs_text *script)
{
    vbs_text_add(script, "#!/bin/sh\n# An element of an array: every task of the list whose place "
                         "is this element's.\nexec ");
    sweep_add_command(script, s->job);
    vbs_text_add(script, " --from ");
    cli_quote(script, list);
    vbs_text_addf(script, " --share \"$SLURM_ARRAY_TASK_ID/%lld\"%s\n", (long long)n,
                  s->job->retry ? " --retry" : "");
}

/* Makes the words of sbatch. */
static void write_words(struct submission *s, const char *folder, const char *script, int64_t n,
                        bool exclusive)
{
    const struct vbs_sweep_info *info = s->job->info;
    struct vbs_text output = {0};

    for (const char *c = folder; *c; c++)
        vbs_text_addf(&output, *c == '%' || *c == '\\' ? "%c%c" : "%c", *c, *c);
    clear_words(s);
    add_word(s, "sbatch");
    add_word(s, "--parsable");
    add_wordf(s, "--job-name=%s", info->name);
    add_wordf(s, "--array=0-%lld", (long long)n - 1);
    add_wordf(s, "--output=%s/%%A_%%a.txt", output.data ? output.data : "");
    add_word(s, "--open-mode=append");
    add_word(s, "--requeue");
    if (exclusive)
        add_word(s, "--exclusive");
    if (s->below.length > 0)
        add_wordf(s, "--dependency=afterany%s", s->below.data);
    for (int i = 0; i < info->n_slurm_options; i++)
        add_word(s, info->slurm_options[i]);
    add_word(s, script);
    s->failed = s->failed || output.failed;
    vbs_text_clear(&output);
}

static void print_command(const struct submission *s, const struct vbs_text *script)
{
    struct vbs_text line = {0};

    for (int64_t i = 0; i < s->n_words; i++) {
        vbs_text_add(&line, i > 0 ? " " : "");
        cli_quote(&line, s->words[i]);
    }
    printf("%s%s\n", script->data, line.data ? line.data : "");
    vbs_text_clear(&line);
}

/* Gives a job the number with which sbatch answered, "ID" or "ID;CLUSTER". */
static enum vbs_status take_id(struct submission *s, char *answer, int64_t n_tasks, int64_t n)
{
    size_t digits = strspn(answer, "0123456789");

    if (digits == 0 || digits > 18)
        return vbs_fail(&s->job->cli->ctx, VBS_LIBRARY, "sbatch answered '%.40s', not with a job",
                        answer);
    answer[digits] = '\0';
    vbs_text_addf(&s->here, ":%s", answer);
    printf("%s: %lld task%s in %lld element%s\n", answer, (long long)n_tasks,
           n_tasks == 1 ? "" : "s", (long long)n, n == 1 ? "" : "s");
    return s->here.failed ? vbs_no_memory(&s->job->cli->ctx) : VBS_OK;
}

/* Makes a folder for the files of an array; its name is new, because arrays that were submitted
 * before still read theirs. */
static enum vbs_status make_folder(struct submission *s, char *folder, size_t size)
{
    const char *results = s->job->info->results;
    struct vbs_ctx *ctx = &s->job->cli->ctx;

    snprintf(folder, size, "%s/slurm", results);
    if (s->dry) {
        snprintf(folder, size, "%s/slurm/XXXXXX", results);
        return VBS_OK;
    }
    if ((mkdir(results, 0777) != 0 && errno != EEXIST) ||
        (mkdir(folder, 0777) != 0 && errno != EEXIST))
        return vbs_fail(ctx, VBS_IO, "cannot make the folder '%.300s': %s", folder,
                        strerror(errno));
    snprintf(folder, size, "%s/slurm/XXXXXX", results);
    if (!mkdtemp(folder) || chmod(folder, 0755) != 0)
        return vbs_fail(ctx, VBS_IO, "cannot make a folder in '%.300s/slurm': %s", results,
                        strerror(errno));
    return VBS_OK;
}

static enum vbs_status submit(struct submission *s, const struct job_array *stage, bool exclusive)
{
    struct vbs_ctx *ctx = &s->job->cli->ctx;
    int64_t n = stage->n < s->max_array ? stage->n : s->max_array;
    char folder[4096], list[4200], path[4200], answer[256] = "";
    struct vbs_text script = {0};
    enum vbs_status status = make_folder(s, folder, sizeof folder);

    if (status != VBS_OK)
        return status;
    snprintf(list, sizeof list, "%s/tasks", folder);
    snprintf(path, sizeof path, "%s/job.sh", folder);
    write_script(s, list, n, &script);
    write_words(s, folder, path, n, exclusive);
    if (s->failed || script.failed)
        status = vbs_no_memory(ctx);
    else if (s->dry)
        print_command(s, &script);
    else
        status = vbs_write_file(ctx, list, stage->list.data, stage->list.length);
    if (status == VBS_OK && !s->dry)
        status = vbs_write_file(ctx, path, script.data, script.length);
    if (status == VBS_OK && !s->dry)
        status = run_command(ctx, s->words, answer, sizeof answer);
    if (status == VBS_OK)
        status = s->dry ? VBS_OK : take_id(s, answer, stage->n, n);
    vbs_text_clear(&script);
    return status;
}

/* Submits the arrays of a level, which wait for those of the levels below. */
static enum vbs_status submit_level(struct submission *s, int level)
{
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        const struct job_array *stage = &s->stages[2 * level + exclusive];

        if (stage->n > 0)
            VBS_TRY(submit(s, stage, exclusive));
        if (stage->n > 0 && s->dry)
            vbs_text_add(&s->here, exclusive ? ":ALONE" : ":SHARED");
    }
    if (s->here.length > 0)
        vbs_text_add(&s->below, s->here.data);
    vbs_text_clear(&s->here);
    return s->below.failed ? vbs_no_memory(&s->job->cli->ctx) : VBS_OK;
}

enum vbs_status sweep_submit(struct sweep_job *job, bool dry)
{
    struct submission *s = calloc(1, sizeof *s);
    struct vbs_sweep_counts counts;
    enum vbs_status status;

    if (!s)
        return vbs_no_memory(&job->cli->ctx);
    s->job = job;
    s->dry = dry;
    status = vbs_sweep_look(&job->cli->ctx, job->sweep, take_task, s, &counts);
    if (status == VBS_OK)
        s->max_array = largest_array(job);
    for (int level = 0; status == VBS_OK && level < MAX_LEVELS; level++)
        status = submit_level(s, level);
    if (status == VBS_OK && s->n_words == 0)
        cli_note(job->cli, "no task is left to submit");
    for (int i = 0; i < 2 * MAX_LEVELS; i++)
        vbs_text_clear(&s->stages[i].list);
    clear_words(s);
    free(s->words);
    vbs_text_clear(&s->below);
    vbs_text_clear(&s->here);
    free(s);
    return status;
}
