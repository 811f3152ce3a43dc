/* The values of the inputs of a run, in files of numpy's format. */
#include "cli/run/inputs.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_MORE 64 /* a file of inputs may have so many times the samples of the request */

/* ---- Reading one ---- */

/* Returns whether a file has the wanted shape, but for the number of samples where there may be
 * more; or where each sample comes as the batch of one that the model takes, as `models show` says
 * it. */
static bool has_shape(const struct run_input_file *file, const int64_t *want, int n_dims)
{
    const struct vbs_npy *npy = &file->npy;
    int fixed = file->input->shared ? 0 : 1;
    bool single = fixed > 0 && n_dims == file->input->shape.n_dims && npy->n_dims == n_dims + 1 &&
                  npy->dim[1] == 1;

    return npy->n_dims == n_dims + single && memcmp(npy->dim + fixed + single, want + fixed,
                                                    (size_t)(n_dims - fixed) * sizeof *want) == 0;
}

/* Returns whether a file is one whole input of the network's file. */
static bool is_bare(const struct run_job *job, const struct run_input_file *file)
{
    const struct vbs_shape *own = &file->input->shape;

    return job->network->whole && !run_joins_samples(job->network) &&
           file->npy.n_dims == own->n_dims &&
           memcmp(file->npy.dim, own->dim, (size_t)own->n_dims * sizeof *own->dim) == 0;
}

/* Refuses a file of several entries along a dimension that the network's file leaves open, where it
 * was 1 in the measurement: they would be inputs of their own, which the network mixes. Who gives
 * the shape of an input on the command line says that they are. */
static enum vbs_status check_open(struct run_job *job, const struct run_input_file *file)
{
    const struct vbs_npy *npy = &file->npy;
    const struct vbs_shape *own = &file->input->shape;
    char has[RUN_SHAPE_SIZE], wants[RUN_SHAPE_SIZE], shape[64];

    if (!job->network->whole_open || run_count_shapes(&job->cli->choices) > 0 ||
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

static enum vbs_status check_shape(struct run_job *job, const struct run_input_file *file)
{
    const struct vbs_npy *npy = &file->npy;
    int64_t want[1 + VBS_MAX_DIMS];
    int n_dims = run_wanted_shape(job, file->input, want);
    char has[RUN_SHAPE_SIZE], wants[RUN_SHAPE_SIZE], hint[48] = "", which[100] = "";
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

static enum vbs_status check_values(struct run_job *job, const struct run_input_file *file)
{
    int64_t samples = file->input->shared ? 1 : job->request;
    int64_t n = samples * vbs_shape_elements(&file->input->shape);
    int64_t bad = run_first_bad(n, file->npy.values), other;
    char position[RUN_SHAPE_SIZE], takes[64];

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

static enum vbs_status read_file(struct run_job *job, struct run_input_file *file)
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
static enum vbs_status join(struct run_job *job, const struct run_input_file *files)
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

static enum vbs_status read_files(struct run_job *job, struct run_input_file *files)
{
    int n;

    VBS_TRY(run_find_files(job->cli, job->network, files, &n));
    run_warn_of_unread(job);
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

static enum vbs_status read_inputs(struct run_job *job)
{
    struct run_input_file *files = calloc((size_t)job->network->n_inputs, sizeof *files);
    enum vbs_status status = files ? read_files(job, files) : vbs_no_memory(&job->cli->ctx);

    for (int i = 0; files && i < job->network->n_inputs; i++)
        vbs_npy_clear(&files[i].npy);
    free(files);
    return status;
}

enum vbs_status run_read_data(struct run_job *job)
{
    if (job->has_data)
        return VBS_OK;
    VBS_TRY(read_inputs(job));
    VBS_TRY(run_name_files(job));
    job->has_data = true;
    return VBS_OK;
}
