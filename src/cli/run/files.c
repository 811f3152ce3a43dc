/* The files of --output: FILE.npy for the first output, FILE-NAME.npy for each further one; or
 * NAME=FILE.npy for one of them. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A file that is written whole or not at all is first written beside its name, under a longer
 * name. */
#define LONGER_BY 32

/* Appends the characters of an output's name that every file system allows; the others become
 * "_". */
static void add_name(struct vbs_text *text, const char *name)
{
    for (; *name; name++) {
        bool plain = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
                            *name) != NULL;

        vbs_text_addf(text, "%c", plain ? *name : '_');
    }
}

/* Makes the path of an output, with a number from 2 on where another output has the same path
 * without one. Null: out of memory. */
static char *make_path(const struct run_job *job, const char *path, int output, int number)
{
    size_t stem = strlen(path);
    struct vbs_text text = {0};

    if (output == 0)
        return strdup(path);
    if (cli_ends_in(path, ".npy"))
        stem -= strlen(".npy");
    vbs_text_addf(&text, "%.*s-", (int)stem, path);
    add_name(&text, job->network->outputs[output].name);
    if (number > 1)
        vbs_text_addf(&text, "-%d", number);
    vbs_text_add(&text, path + stem);
    if (text.failed)
        vbs_text_clear(&text);
    return text.data;
}

static bool is_taken(char *const *paths, int n, const char *path)
{
    for (int i = 0; i < n; i++)
        if (paths[i] && strcmp(paths[i], path) == 0)
            return true;
    return false;
}

/* Gives the longest name of a file in the folder of path. */
static size_t longest_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    long most = folder ? pathconf(folder, _PC_NAME_MAX) : -1;

    free(folder);
    return most > LONGER_BY ? (size_t)most : NAME_MAX;
}

static enum vbs_status check_length(struct run_job *job, const char *path, int output)
{
    const char *slash = strrchr(path, '/');
    size_t length = strlen(slash ? slash + 1 : path), most = longest_name(path) - LONGER_BY;

    if (length <= most && strlen(path) < PATH_MAX - LONGER_BY)
        return VBS_OK;
    return vbs_fail(&job->cli->ctx, VBS_USAGE,
                    "--output: the file of output '%.60s' would have a name of %zu bytes; %zu is "
                    "the most here",
                    job->network->outputs[output].name, length, most);
}

static enum vbs_status add_path(struct run_job *job, const char *file, int output)
{
    char *path = NULL;
    int number = 1;

    do {
        free(path);
        path = make_path(job, file, output, number++);
        if (!path)
            return vbs_no_memory(&job->cli->ctx);
    } while (is_taken(job->files, job->network->n_outputs, path));
    job->files[output] = path;
    return check_length(job, path, output);
}

const char *run_file_of(const char *value)
{
    const char *equals = access(value, F_OK) == 0 ? NULL : strrchr(value, '=');

    return equals ? equals + 1 : value;
}

bool run_uses_standard(const struct cli *cli, const char *option)
{
    const char *value;

    for (int i = 0; (value = cli_nth_value(cli, option, i)); i++)
        if (strcmp(run_file_of(value), "-") == 0)
            return true;
    return false;
}

/* Finds the output that a value NAME=FILE of --output is for, of the longest name that fits, and
 * its file; -1: it is for none. */
static int find_output(const struct run_job *job, const char *value, const char **file)
{
    int output = -1;

    for (int i = 0; i < job->network->n_outputs; i++) {
        const char *name = job->network->outputs[i].name;
        size_t length = strlen(name);

        if (strncmp(value, name, length) != 0 || value[length] != '=')
            continue;
        if (output < 0 || value + length + 1 > *file) {
            output = i;
            *file = value + length + 1;
        }
    }
    return output;
}

bool run_looks_named(const char *value)
{
    const char *equals = strchr(value, '='), *slash = strchr(value, '/');

    return equals && (!slash || slash > equals);
}

static enum vbs_status refuse_name(struct run_job *job, const char *value)
{
    const struct vbs_network *network = job->network;
    char names[400] = "";
    size_t at = 0;

    for (int i = 0; i < network->n_outputs && at + 100 < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               network->outputs[i].name);
    return vbs_fail(
        &job->cli->ctx, VBS_USAGE,
        "--output '%.100s' is NAME=FILE.npy of no output; %s %s (a file of this name is "
        "./%.100s)",
        value, network->n_outputs > 1 ? "the outputs are" : "the output is", names, value);
}

/* Notes the file of one output, where value names an output; else the file of all of them. */
static enum vbs_status take_file(struct run_job *job, const char *value, const char **all)
{
    const char *file = NULL;
    int output = find_output(job, value, &file);

    if (output < 0 && run_looks_named(value))
        return refuse_name(job, value);
    if (output < 0 && *all)
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--output gives two files, '%.80s' and '%.80s'",
                        *all, value);
    if (output < 0) {
        *all = value;
        return VBS_OK;
    }
    if (job->files[output])
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--output gives two files for output '%.80s'",
                        job->network->outputs[output].name);
    if (strcmp(file, "-") != 0 && !cli_ends_in(file, ".npy"))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--output '%.100s' must end in .npy", value);
    if (strcmp(file, "-") != 0 && is_taken(job->files, job->network->n_outputs, file))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--output gives '%.100s' for two outputs", file);
    job->files[output] = strdup(file);
    return job->files[output] ? VBS_OK : vbs_no_memory(&job->cli->ctx);
}

/* Names the files of those outputs that have none yet after that of the first one. */
static enum vbs_status name_all(struct run_job *job, const char *file)
{
    int n = job->network->n_outputs;

    if (strcmp(file, "-") == 0 && n > 1)
        cli_warn(job->cli,
                 "the network has %d outputs, and standard output takes the first only; --output "
                 "FILE.npy writes all of them",
                 n);
    for (int i = 0; i < (strcmp(file, "-") == 0 ? 1 : n); i++)
        if (!job->files[i])
            VBS_TRY(add_path(job, file, i));
    return VBS_OK;
}

enum vbs_status run_name_files(struct run_job *job)
{
    const char *value, *all = NULL;

    if (!cli_value(job->cli, job->values, "output"))
        return VBS_OK;
    job->n_files = job->network->n_outputs;
    job->files = calloc((size_t)job->n_files, sizeof *job->files);
    if (!job->files)
        return vbs_no_memory(&job->cli->ctx);
    for (int i = 0; (value = cli_nth_value(job->cli, "output", i)); i++)
        VBS_TRY(take_file(job, value, &all));
    return all ? name_all(job, all) : VBS_OK;
}

void run_free_files(struct run_job *job)
{
    for (int i = 0; job->files && i < job->n_files; i++)
        free(job->files[i]);
    free(job->files);
    job->files = NULL;
}
