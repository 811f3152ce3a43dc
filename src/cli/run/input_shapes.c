/* What the shapes of the files of --input decide before their values are read: the samples of the
 * request, and sizes that the model leaves open. */
#include "cli/run/inputs.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

/* ---- Samples of the request ---- */

/* Returns the samples of a file, 0 where they cannot be told now: standard input and pipes can be
 * read only once, and other faults are told when the files are read. */
static int64_t samples_of(const struct run_job *job, const struct run_input_file *file)
{
    struct vbs_npy npy = {0};
    int64_t want[1 + VBS_MAX_DIMS], n;

    if (file->input->shared || !file->path ||
        vbs_npy_read_shape(NULL, file->path, VBS_MAX_ELEMENTS, &npy) != VBS_OK)
        return 0;
    n = npy.n_dims >= run_wanted_shape(job, file->input, want) ? npy.dim[0] : 0;
    if (job->network->whole && npy.n_dims == file->input->shape.n_dims)
        n = run_joins_samples(job->network) ? npy.dim[0] : 1;
    return n;
}

/* Sets job->n_given to the samples that every file has. */
static enum vbs_status compare_samples(struct run_job *job, const struct run_input_file *files)
{
    const struct run_input_file *first = NULL;

    for (int i = 0; i < job->network->n_inputs; i++) {
        int64_t n = samples_of(job, &files[i]);

        if (n > 0 && first && n != job->n_given)
            return vbs_fail(&job->cli->ctx, VBS_FORMAT,
                            "'%.100s' has %lld sample%s of input '%.40s', and '%.100s' %lld of "
                            "input '%.40s': --request %lld takes the first ones of each",
                            first->path, (long long)job->n_given, job->n_given == 1 ? "" : "s",
                            first->input->name, files[i].path, (long long)n, files[i].input->name,
                            (long long)(n < job->n_given ? n : job->n_given));
        if (n > 0 && !first) {
            first = &files[i];
            job->n_given = n;
        }
    }
    return VBS_OK;
}

/* Sets job->n_given to the samples of the files of --input, once: plans for less memory ask again.
 */
static enum vbs_status count_given(struct run_job *job)
{
    struct run_input_file *files;
    enum vbs_status status = VBS_OK;
    int n_files;

    if (job->n_given > 0)
        return VBS_OK;
    files = calloc((size_t)job->network->n_inputs, sizeof *files);
    if (!files)
        return vbs_no_memory(&job->cli->ctx);
    /* Values that name no input are refused when the files are read. */
    if (run_find_files(job->cli, job->network, files, &n_files) == VBS_OK)
        status = compare_samples(job, files);
    free(files);
    return status;
}

enum vbs_status run_read_task(struct run_job *job, struct cli_task *task)
{
    VBS_TRY(cli_read_task(job->cli, job->values, task));
    if (cli_value(job->cli, job->values, "request") || !job->network || !run_gives_file(job->cli))
        return VBS_OK;
    VBS_TRY(count_given(job));
    if (job->n_given > 0)
        task->problem.request = job->n_given < VBS_MAX_REQUEST ? job->n_given : VBS_MAX_REQUEST;
    return VBS_OK;
}

/* ---- Sizes that the model leaves open ---- */

/* Adds the shape of a sample that a file of --input has, where it names one that can be read. whole
 * is null, or a network that takes whole inputs: of it a file of as many dimensions is one. */
static enum vbs_status add_shape_of(struct run_job *job, const char *value,
                                    const struct vbs_network *whole)
{
    const char *path = run_file_of(value);
    size_t length = path > value ? (size_t)(path - value) - 1 : 0; /* of the name before = */
    struct vbs_input_choice choice = {.name = NULL};
    struct vbs_npy npy = {0};
    int first = 1; /* dimension of the shape */

    if (vbs_npy_read_shape(NULL, path, VBS_MAX_ELEMENTS, &npy) != VBS_OK)
        return VBS_OK;
    if (npy.n_values == 0) {
        char shape[RUN_SHAPE_SIZE];

        return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: has shape %s, and no values", path,
                        vbs_npy_shape(npy.n_dims, npy.dim, shape, sizeof shape));
    }
    for (int i = 0; whole && i < whole->n_inputs; i++)
        if (length == 0 || (strlen(whole->inputs[i].name) == length &&
                            strncmp(whole->inputs[i].name, value, length) == 0))
            first = npy.n_dims > whole->inputs[i].shape.n_dims;
    if (npy.n_dims <= first || npy.n_dims - first > VBS_MAX_DIMS)
        return VBS_OK;
    choice.shape.n_dims = npy.n_dims - first;
    memcpy(choice.shape.dim, npy.dim + first, (size_t)choice.shape.n_dims * sizeof npy.dim[0]);
    return cli_add_choice(job->cli, &job->cli->choices, value, length, &choice);
}

static enum vbs_status add_shapes(struct run_job *job, const struct vbs_network *whole)
{
    const char *value;

    for (int i = 0; (value = cli_nth_value(job->cli, "input", i)); i++)
        if (!cli_is_shape_choice(value))
            VBS_TRY(add_shape_of(job, value, whole));
    return VBS_OK;
}

/* Chooses the shapes of whole inputs that the files of --input are, for the network of word, whose
 * file leaves their first dimension open; of the choices, the first n stay. */
static enum vbs_status choose_whole(struct run_job *job, const char *word,
                                    const struct vbs_network *network, int n)
{
    struct cli_choices *choices = &job->cli->choices;
    int n_dims = network->inputs[0].shape.n_dims;

    if (network->whole_why && !cli_is_started_anew())
        cli_note(job->cli, "%s takes whole inputs of its file, and so a file of --input is one: %s",
                 network->name, network->whole_why);
    while (choices->n > n)
        free(choices->names[--choices->n]);
    VBS_TRY(add_shapes(job, network));
    cli_forget_network(job->cli);
    if (cli_name_network(job->cli, word, &network) == VBS_OK &&
        network->inputs[0].shape.n_dims != n_dims)
        return vbs_fail(&job->cli->ctx, VBS_USAGE,
                        "%s: takes whole inputs, and does not say their shape, which is to be in "
                        "the file",
                        word);
    return VBS_OK;
}

enum vbs_status run_choose_inputs(struct run_job *job, const char *word)
{
    const struct vbs_network *network;
    int n = job->cli->choices.n, given = run_count_shapes(&job->cli->choices);
    enum vbs_status status;

    if (!cli_is_network_file(word) || !run_gives_file(job->cli))
        return VBS_OK;
    status = cli_name_network(job->cli, word, &network);
    if (status == VBS_USAGE) {
        VBS_TRY(add_shapes(job, NULL));
        if (job->cli->choices.n > n)
            status = cli_name_network(job->cli, word, &network);
    }
    /* Other faults of the file are told where it is loaded. */
    if (status != VBS_OK)
        return VBS_OK;
    return network->whole_open && given == 0 ? choose_whole(job, word, network, n) : VBS_OK;
}
