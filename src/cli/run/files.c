/* The files of --output: FILE.npy for the first output, FILE-NAME.npy for each further one. */
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
        if (strcmp(paths[i], path) == 0)
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
    } while (is_taken(job->files, output, path));
    job->files[output] = path;
    return check_length(job, path, output);
}

enum vbs_status run_name_files(struct run_job *job)
{
    const char *file = cli_value(job->cli, job->values, "output");
    int n = job->network->n_outputs;
    enum vbs_status status = VBS_OK;

    if (!file)
        return VBS_OK;
    job->files = calloc((size_t)n, sizeof *job->files);
    if (!job->files)
        return vbs_no_memory(&job->cli->ctx);
    if (strcmp(file, "-") == 0 && n > 1)
        cli_warn(job->cli,
                 "the network has %d outputs, and standard output takes the first only; --output "
                 "FILE.npy writes all of them",
                 n);
    for (int i = 0; i < (strcmp(file, "-") == 0 ? 1 : n) && status == VBS_OK; i++)
        status = add_path(job, file, i);
    return status;
}

void run_free_files(struct run_job *job)
{
    for (int i = 0; job->files && i < job->network->n_outputs; i++)
        free(job->files[i]);
    free(job->files);
    job->files = NULL;
}
