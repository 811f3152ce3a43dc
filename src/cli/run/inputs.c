/* The inputs of a run, in files of numpy's format: FILE.npy of the only one, NAME=FILE.npy of each
 * of several. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "vbslab/npy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SHAPE_SIZE (VBS_NPY_MAX_DIMS * 21)
#define MOST_MORE  64 /* a file of inputs may have so many times the samples of the request */

/* An input of the network, and its file. */
struct input_file {
    const struct vbs_input *input;
    const char *path; /* null: it has none */
    struct vbs_npy npy;
};

/* ---- Which file is of which input ---- */

/* Gives the path where value is NAME=PATH of this name, else null. */
static const char *path_for(const char *name, const char *value)
{
    size_t length = strlen(name);

    return strncmp(value, name, length) == 0 && value[length] == '=' ? value + length + 1 : NULL;
}

/* Refuses a value of --input that is of no input. */
static enum vbs_status refuse_name(struct cli *cli, const struct vbs_network *network,
                                   const char *value)
{
    char names[400] = "";
    size_t at = 0;

    for (int i = 0; i < network->n_inputs && at + 100 < sizeof names; i++)
        at += (size_t)snprintf(names + at, sizeof names - at, "%s'%.80s'", i ? ", " : "",
                               network->inputs[i].name);
    return vbs_fail(&cli->ctx, VBS_USAGE,
                    "--input '%.100s' is NAME=FILE.npy of no input; the input%s %s", value,
                    network->n_inputs > 1 ? "s are" : " is", names);
}

/* Returns the name of the input that nothing reads and that a value of --input is for; null: it is
 * for none. */
static const char *find_unread(const struct vbs_network *network, const char *value)
{
    for (int i = 0; i < network->n_unread_inputs; i++)
        if (path_for(network->unread_inputs[i], value))
            return network->unread_inputs[i];
    return NULL;
}

/* Finds the input that a value of --input is for, and its path: the longest name that fits. *input
 * is -1 where it is for one that nothing reads. */
static enum vbs_status find_input(struct cli *cli, const struct vbs_network *network,
                                  const char *value, int *input, const char **path)
{
    bool is_file = access(value, F_OK) == 0;

    *input = -1;
    for (int i = 0; i < network->n_inputs; i++) {
        const char *found = path_for(network->inputs[i].name, value);

        if (found && (*input < 0 || found > *path)) {
            *input = i;
            *path = found;
        }
    }
    if (*input >= 0 && !(network->n_inputs == 1 && is_file))
        return VBS_OK;
    if (*input < 0 && find_unread(network, value))
        return VBS_OK;
    *input = 0;
    *path = value;
    if (network->n_inputs == 1 && (is_file || !run_looks_named(value)))
        return VBS_OK;
    return refuse_name(cli, network, value);
}

/* Finds the files of all inputs; *n is their number. */
static enum vbs_status find_files(struct cli *cli, const struct vbs_network *network,
                                  struct input_file *files, int *n)
{
    const char *value, *path = NULL;
    int input;

    for (int i = 0; i < network->n_inputs; i++)
        files[i].input = &network->inputs[i];
    *n = 0;
    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++) {
        if (cli_is_shape_choice(value))
            continue;
        VBS_TRY(find_input(cli, network, value, &input, &path));
        if (input < 0)
            continue;
        if (files[input].path)
            return vbs_fail(&cli->ctx, VBS_USAGE, "--input gives two files for input '%.80s'",
                            network->inputs[input].name);
        files[input].path = path;
        (*n)++;
    }
    for (int i = 0; i<network->n_inputs && * n> 0; i++)
        if (!files[i].path)
            return vbs_fail(&cli->ctx, VBS_USAGE,
                            "--input gives no file for input '%.80s', but for %d of %d: give all, "
                            "or none for seeded values",
                            network->inputs[i].name, *n, network->n_inputs);
    return VBS_OK;
}

/* Warns of files for inputs that nothing reads. */
static void warn_of_unread(struct run_job *job)
{
    const char *value, *name;

    for (int i = 0; (value = cli_nth_value(job->cli, "input", i)); i++)
        if (!cli_is_shape_choice(value) && (name = find_unread(job->network, value)))
            cli_warn(job->cli, "no node of the network reads input '%.80s': '%.200s' is not read",
                     name, path_for(name, value));
}

/* ---- Reading one ---- */

/* Gives the samples that a file must have of an input, and (where it is not shared) the shape of
 * all of them in want. */
static int wanted_shape(const struct run_job *job, const struct vbs_input *input, int64_t *want)
{
    if (!input->shared)
        return run_batch_shape(job, &input->shape, want);
    memcpy(want, input->shape.dim, (size_t)input->shape.n_dims * sizeof *want);
    return input->shape.n_dims;
}

/* Gives whether a file has the wanted shape, but for the number of samples where there may be more;
 * or where each sample comes as the batch of one that the model takes, as `models show` says it. */
static bool has_shape(const struct input_file *file, const int64_t *want, int n_dims)
{
    const struct vbs_npy *npy = &file->npy;
    int fixed = file->input->shared ? 0 : 1;
    bool single = fixed > 0 && n_dims == file->input->shape.n_dims && npy->n_dims == n_dims + 1 &&
                  npy->dim[1] == 1;

    return npy->n_dims == n_dims + single && memcmp(npy->dim + fixed + single, want + fixed,
                                                    (size_t)(n_dims - fixed) * sizeof *want) == 0;
}

/* Returns whether a file is one whole input of the network's file. */
static bool is_bare(const struct run_job *job, const struct input_file *file)
{
    const struct vbs_shape *own = &file->input->shape;

    return job->network->whole && !run_joins_samples(job->network) &&
           file->npy.n_dims == own->n_dims &&
           memcmp(file->npy.dim, own->dim, (size_t)own->n_dims * sizeof *own->dim) == 0;
}

/* Returns how many shapes the caller has chosen. */
static int count_shapes(const struct cli_choices *choices)
{
    int n = 0;

    for (int i = 0; i < choices->n; i++)
        n += !choices->choices[i].fixed;
    return n;
}

/* Refuses a file of several entries along a dimension that the network's file leaves open, where it
 * was 1 in the measurement: they would be inputs of their own, which the network mixes. Who gives
 * the shape of an input on the command line says that they are. */
static enum vbs_status check_open(struct run_job *job, const struct input_file *file)
{
    const struct vbs_npy *npy = &file->npy;
    const struct vbs_shape *own = &file->input->shape;
    char has[SHAPE_SIZE], wants[SHAPE_SIZE], shape[64];

    if (!job->network->whole_open || count_shapes(&job->cli->choices) > 0 ||
        npy->n_dims != own->n_dims || npy->dim[0] < 2 || own->dim[0] != 1)
        return VBS_OK;
    return vbs_fail(&job->cli->ctx, VBS_USAGE,
                    "%s: has shape %s; the network takes whole inputs of its file, and the profile "
                    "is of %s: name the network's file in place of the profile, or add --input %s "
                    "if each entry is an input of its own",
                    file->path, vbs_npy_shape(npy->n_dims, npy->dim, has, sizeof has),
                    vbs_npy_shape(own->n_dims, own->dim, wants, sizeof wants),
                    vbs_shape_format(own, shape, sizeof shape));
}

static enum vbs_status check_shape(struct run_job *job, const struct input_file *file)
{
    const struct vbs_npy *npy = &file->npy;
    int64_t want[1 + VBS_MAX_DIMS];
    int n_dims = wanted_shape(job, file->input, want);
    char has[SHAPE_SIZE], wants[SHAPE_SIZE], hint[48] = "", which[100] = "";
    bool suits = has_shape(file, want, n_dims);

    VBS_TRY(check_open(job, file));
    if (is_bare(job, file) && job->request == 1) {
        job->bare = true;
        return VBS_OK;
    }
    if (suits && (file->input->shared || npy->dim[0] >= want[0]))
        return VBS_OK;
    if (suits && npy->dim[0] > 0 && !cli_value(job->cli, job->values, "schedule"))
        snprintf(hint, sizeof hint, ", or --request %lld", (long long)npy->dim[0]);
    if (is_bare(job, file))
        snprintf(hint, sizeof hint, ", or --request 1");
    if (job->network->n_inputs > 1)
        snprintf(which, sizeof which, " for input '%.80s'", file->input->name);
    return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: has shape %s; %s needs %s%s%s", file->path,
                    vbs_npy_shape(npy->n_dims, npy->dim, has, sizeof has),
                    file->input->shared ? "the input, which is the same for all samples,"
                                        : "the request",
                    vbs_npy_shape(n_dims, want, wants, sizeof wants), which, hint);
}

/* Returns the first value that an input of this kind does not have, -1: there is none. */
static int64_t first_unsuited(const struct vbs_input *input, int64_t n, const float *values)
{
    for (int64_t i = 0; i < n && input->number != VBS_NUMBER_REAL; i++)
        if (values[i] != floorf(values[i]) || values[i] < (float)input->least ||
            values[i] > (float)input->most)
            return i;
    return -1;
}

/* Returns the first value that is no index of the table, -1: there is none. */
static int64_t first_outside(const struct vbs_input *input, int64_t n, const float *values)
{
    for (int64_t i = 0; i < n; i++)
        if (values[i] < -(float)(input->high + 1) || values[i] > (float)input->high)
            return i;
    return -1;
}

static enum vbs_status check_values(struct run_job *job, const struct input_file *file)
{
    int64_t samples = file->input->shared ? 1 : job->request;
    int64_t n = samples * vbs_shape_elements(&file->input->shape);
    int64_t bad = run_first_bad(n, file->npy.values), other;
    char position[SHAPE_SIZE], takes[64];

    if (bad >= 0) {
        run_name_position(&file->input->shape, bad, position, sizeof position);
        return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: value %s is %s", file->path, position,
                        run_value_word(file->npy.values[bad]));
    }
    other = first_unsuited(file->input, n, file->npy.values);
    if (other >= 0) {
        run_name_position(&file->input->shape, other, position, sizeof position);
        snprintf(takes, sizeof takes, "whole numbers from %lld to %lld",
                 (long long)file->input->least, (long long)file->input->most);
        return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: value %s is %g; input '%.80s' takes %s",
                        file->path, position, (double)file->npy.values[other], file->input->name,
                        file->input->number == VBS_NUMBER_BOOL ? "0 and 1 only" : takes);
    }
    other = file->input->is_index ? first_outside(file->input, n, file->npy.values) : -1;
    if (other < 0)
        return VBS_OK;
    run_name_position(&file->input->shape, other, position, sizeof position);
    return vbs_fail(&job->cli->ctx, VBS_FORMAT,
                    "%s: value %s is %g; input '%.80s' takes indices up to %lld, and those below 0 "
                    "count from the end",
                    file->path, position, (double)file->npy.values[other], file->input->name,
                    (long long)file->input->high);
}

static enum vbs_status read_file(struct run_job *job, struct input_file *file)
{
    int64_t n_values = job->request * vbs_shape_elements(&file->input->shape);

    VBS_TRY(vbs_npy_read(&job->cli->ctx, file->path, MOST_MORE * n_values, &file->npy));
    VBS_TRY(check_shape(job, file));
    VBS_TRY(check_values(job, file));
    if (!file->input->shared && !job->bare && file->npy.dim[0] > job->request)
        cli_warn(job->cli, "%s has %lld samples; the request takes the first %lld", file->path,
                 (long long)file->npy.dim[0], (long long)job->request);
    return VBS_OK;
}

/* ---- All of them ---- */

/* Makes the samples of tensor 0 out of the files of all inputs. */
static enum vbs_status join(struct run_job *job, const struct input_file *files)
{
    const struct vbs_network *network = job->network;
    int64_t n = job->request * vbs_shape_elements(&network->input);
    const float **values = calloc((size_t)network->n_inputs, sizeof *values);
    float *tensor = malloc((size_t)n * sizeof *tensor);

    if (values && tensor) {
        for (int i = 0; i < network->n_inputs; i++)
            values[i] = files[i].npy.values;
        vbs_network_join_inputs(network, job->request, values, tensor);
        job->input = tensor;
    } else {
        free(tensor);
    }
    free(values);
    return job->input ? VBS_OK : vbs_no_memory(&job->cli->ctx);
}

static enum vbs_status read_files(struct run_job *job, struct input_file *files)
{
    int n;

    VBS_TRY(find_files(job->cli, job->network, files, &n));
    warn_of_unread(job);
    for (int i = 0; i < job->network->n_inputs && n > 0; i++)
        VBS_TRY(read_file(job, &files[i]));
    if (n == 0)
        return VBS_OK;
    if (job->network->n_inputs > 1 || job->network->inputs[0].shared)
        return join(job, files);
    job->input = files[0].npy.values;
    files[0].npy.values = NULL;
    return VBS_OK;
}

enum vbs_status run_read_inputs(struct run_job *job)
{
    struct input_file *files = calloc((size_t)job->network->n_inputs, sizeof *files);
    enum vbs_status status = files ? read_files(job, files) : vbs_no_memory(&job->cli->ctx);

    for (int i = 0; files && i < job->network->n_inputs; i++)
        vbs_npy_clear(&files[i].npy);
    free(files);
    return status;
}

/* Returns whether --input has a file. */
static bool gives_file(const struct cli *cli)
{
    const char *value;

    for (int i = 0; (value = cli_nth_value(cli, "input", i)); i++)
        if (!cli_is_shape_choice(value))
            return true;
    return false;
}

/* ---- Samples of the request ---- */

/* Returns the samples of a file, 0 where it cannot be read now: the standard input can be read only
 * once, and other faults are told when the files are read. */
static int64_t samples_of(const struct run_job *job, const struct input_file *file)
{
    struct vbs_npy npy = {0};
    int64_t want[1 + VBS_MAX_DIMS], n;

    if (file->input->shared || !file->path || strcmp(file->path, "-") == 0 ||
        vbs_npy_read(NULL, file->path, VBS_MAX_ELEMENTS, &npy) != VBS_OK)
        return 0;
    n = npy.n_dims >= wanted_shape(job, file->input, want) ? npy.dim[0] : 0;
    if (job->network->whole && npy.n_dims == file->input->shape.n_dims)
        n = run_joins_samples(job->network) ? npy.dim[0] : 1;
    vbs_npy_clear(&npy);
    return n;
}

/* Sets job->n_given to the samples that every file has. */
static enum vbs_status compare_samples(struct run_job *job, const struct input_file *files)
{
    const struct input_file *first = NULL;

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
    struct input_file *files;
    enum vbs_status status = VBS_OK;
    int n_files;

    if (job->n_given > 0)
        return VBS_OK;
    files = calloc((size_t)job->network->n_inputs, sizeof *files);
    if (!files)
        return vbs_no_memory(&job->cli->ctx);
    /* Values that name no input are refused when the files are read. */
    if (find_files(job->cli, job->network, files, &n_files) == VBS_OK)
        status = compare_samples(job, files);
    free(files);
    return status;
}

enum vbs_status run_read_task(struct run_job *job, struct cli_task *task)
{
    VBS_TRY(cli_read_task(job->cli, job->values, task));
    if (cli_value(job->cli, job->values, "request") || !job->network || !gives_file(job->cli))
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
    enum vbs_status status = VBS_OK;
    int first = 1; /* dimension of the shape */

    if (strcmp(path, "-") == 0 || vbs_npy_read(NULL, path, VBS_MAX_ELEMENTS, &npy) != VBS_OK)
        return VBS_OK;
    if (npy.n_values == 0) {
        char shape[SHAPE_SIZE];

        return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: has shape %s, and no values", path,
                        vbs_npy_shape(npy.n_dims, npy.dim, shape, sizeof shape));
    }
    for (int i = 0; whole && i < whole->n_inputs; i++)
        if (length == 0 || (strlen(whole->inputs[i].name) == length &&
                            strncmp(whole->inputs[i].name, value, length) == 0))
            first = npy.n_dims > whole->inputs[i].shape.n_dims;
    if (npy.n_dims > first && npy.n_dims - first <= VBS_MAX_DIMS) {
        choice.shape.n_dims = npy.n_dims - first;
        memcpy(choice.shape.dim, npy.dim + first, (size_t)choice.shape.n_dims * sizeof npy.dim[0]);
        status = cli_add_choice(job->cli, &job->cli->choices, value, length, &choice);
    }
    vbs_npy_clear(&npy);
    return status;
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

/* Checks, before anything is measured, that the values of --input are of inputs of the network. */
static enum vbs_status check_names(struct run_job *job, const struct vbs_network *network)
{
    struct input_file *files = calloc((size_t)network->n_inputs, sizeof *files);
    enum vbs_status status;
    int n;

    if (!files)
        return vbs_no_memory(&job->cli->ctx);
    status = find_files(job->cli, network, files, &n);
    free(files);
    return status;
}

enum vbs_status run_choose_inputs(struct run_job *job, const char *word)
{
    const struct vbs_network *network;
    int n = job->cli->choices.n, given = count_shapes(&job->cli->choices);
    enum vbs_status status;

    if (!cli_is_network_file(word) || !gives_file(job->cli))
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
    VBS_TRY(check_names(job, network));
    return network->whole_open && given == 0 ? choose_whole(job, word, network, n) : VBS_OK;
}
