/* The inputs and outputs of a run, in files of numpy's format. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "vbslab/npy.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_SIZE (VBS_NPY_MAX_DIMS * 21)
#define MOST_MORE  64 /* a file of inputs may have so many times the samples of the request */

/* ---- Shapes ---- */

int run_batch_shape(const struct run_job *job, const struct vbs_shape *sample, int64_t *dim)
{
    bool joined = job->network->whole && job->network->input.dim[0] == 1 && sample->dim[0] == 1;
    int n = sample->n_dims - joined;

    dim[0] = job->request;
    memcpy(dim + 1, sample->dim + joined, (size_t)n * sizeof *dim);
    return 1 + n;
}

/* Writes the position "[2, 0, 17]" of value index, counted as numpy does. */
static void name_position(const struct vbs_shape *sample, int64_t index, char *buffer, size_t size)
{
    int64_t at[VBS_MAX_DIMS] = {0};
    size_t length;

    for (int i = sample->n_dims - 1; i >= 0; i--) {
        at[i] = index % sample->dim[i];
        index /= sample->dim[i];
    }
    length = (size_t)snprintf(buffer, size, "[%lld", (long long)index);
    for (int i = 0; i < sample->n_dims && length < size; i++)
        length += (size_t)snprintf(buffer + length, size - length, ", %lld", (long long)at[i]);
    if (length < size)
        snprintf(buffer + length, size - length, "]");
}

/* Gives the index of the first value that is not finite, -1: all are. */
static int64_t first_bad(int64_t n, const float *values)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return i;
    return -1;
}

static const char *name_of(float value)
{
    return isnan(value) ? "NaN" : value > 0 ? "infinity" : "minus infinity";
}

/* ---- Inputs ---- */

static enum vbs_status check_shape(struct run_job *job, const char *path, const struct vbs_npy *npy)
{
    const struct vbs_shape *sample = &job->network->input;
    int64_t want[1 + VBS_MAX_DIMS];
    int n_dims = run_batch_shape(job, sample, want);
    char has[SHAPE_SIZE], wants[SHAPE_SIZE], hint[48] = "";
    bool suits = npy->n_dims == n_dims &&
                 memcmp(npy->dim + 1, want + 1, (size_t)(n_dims - 1) * sizeof *want) == 0;

    if (suits && npy->dim[0] >= want[0])
        return VBS_OK;
    if (suits && npy->dim[0] > 0 && !cli_value(job->cli, job->values, "schedule"))
        snprintf(hint, sizeof hint, ", or --request %lld", (long long)npy->dim[0]);
    return vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: has shape %s; the request needs %s%s", path,
                    vbs_npy_shape(npy->n_dims, npy->dim, has, sizeof has),
                    vbs_npy_shape(n_dims, want, wants, sizeof wants), hint);
}

static enum vbs_status read_input(struct run_job *job, const char *path)
{
    const struct vbs_shape *sample = &job->network->input;
    int64_t n_values = job->request * vbs_shape_elements(sample), bad;
    struct vbs_npy npy = {0};
    char position[SHAPE_SIZE];
    enum vbs_status status = vbs_npy_read(&job->cli->ctx, path, MOST_MORE * n_values, &npy);

    if (status == VBS_OK)
        status = check_shape(job, path, &npy);
    bad = status == VBS_OK ? first_bad(n_values, npy.values) : -1;
    if (bad >= 0) {
        name_position(sample, bad, position, sizeof position);
        status = vbs_fail(&job->cli->ctx, VBS_FORMAT, "%s: value %s is %s", path, position,
                          name_of(npy.values[bad]));
    }
    if (status != VBS_OK) {
        vbs_npy_clear(&npy);
        return status;
    }
    if (npy.dim[0] > job->request)
        cli_warn(job->cli, "%s has %lld samples; the request takes the first %lld", path,
                 (long long)npy.dim[0], (long long)job->request);
    job->input = npy.values;
    return VBS_OK;
}

/* ---- Outputs ---- */

int64_t run_output_values(const struct run_job *job, int output)
{
    return job->request * vbs_shape_elements(&job->network->outputs[output].shape);
}

float **run_new_outputs(const struct run_job *job)
{
    int n = job->network->n_outputs;
    float **outputs = calloc((size_t)n, sizeof *outputs);
    bool failed = !outputs;

    for (int i = 0; i < n && !failed; i++) {
        size_t n_values = (size_t)run_output_values(job, i);

        outputs[i] = malloc(n_values * sizeof *outputs[i]);
        failed = !outputs[i];
        /* Pages are touched now, because else they would count as memory of the run. */
        for (size_t v = 0; v < n_values && !failed; v++)
            outputs[i][v] = NAN;
    }
    if (failed && outputs) {
        run_free_outputs(job, outputs);
        outputs = NULL;
    }
    return outputs;
}

void run_free_outputs(const struct run_job *job, float **outputs)
{
    for (int i = 0; outputs && i < job->network->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

enum vbs_status run_read_input(struct run_job *job)
{
    const char *path = cli_value(job->cli, job->values, "input");

    VBS_TRY(run_name_files(job));
    if (path)
        VBS_TRY(read_input(job, path));
    job->outputs = run_new_outputs(job);
    return job->outputs ? VBS_OK : vbs_no_memory(&job->cli->ctx);
}

static enum vbs_status write_output(struct run_job *job, int output)
{
    int64_t dim[1 + VBS_MAX_DIMS];
    int n_dims = run_batch_shape(job, &job->network->outputs[output].shape, dim);

    return vbs_npy_write(&job->cli->ctx, job->files[output], n_dims, dim, job->outputs[output]);
}

static void warn_of(struct run_job *job, int output)
{
    const struct vbs_output *o = &job->network->outputs[output];
    int64_t bad = first_bad(run_output_values(job, output), job->outputs[output]);
    char position[SHAPE_SIZE];

    if (bad < 0)
        return;
    name_position(&o->shape, bad, position, sizeof position);
    cli_warn(job->cli, "output '%s' is not finite: value %s is %s", o->name, position,
             name_of(job->outputs[output][bad]));
}

enum vbs_status run_write_outputs(struct run_job *job)
{
    for (int i = 0; i < job->network->n_outputs; i++)
        warn_of(job, i);
    for (int i = 0; i < job->network->n_outputs; i++)
        if (job->files && job->files[i])
            VBS_TRY(write_output(job, i));
    return VBS_OK;
}
