/* The outputs of a run, in files of numpy's format, and what inputs share with them. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "vbslab/npy.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_SIZE (VBS_NPY_MAX_DIMS * 21)

/* ---- Shapes ---- */

/* Gives whether a sample is a batch of one. */
static bool is_one(const struct vbs_shape *sample)
{
    return sample->n_dims > 0 && sample->dim[0] == 1;
}

bool run_joins_samples(const struct vbs_network *network)
{
    bool joined = network->whole;

    for (int i = 0; i < network->n_inputs && joined; i++)
        joined = is_one(&network->inputs[i].shape);
    return joined;
}

int run_batch_shape(const struct run_job *job, const struct vbs_shape *sample, int64_t *dim)
{
    bool joined = run_joins_samples(job->network) && is_one(sample);
    int n = sample->n_dims - joined;

    if (job->bare) {
        memcpy(dim, sample->dim, (size_t)sample->n_dims * sizeof *dim);
        return sample->n_dims;
    }
    dim[0] = job->request;
    memcpy(dim + 1, sample->dim + joined, (size_t)n * sizeof *dim);
    return 1 + n;
}

void run_name_position(const struct vbs_shape *sample, int64_t index, char *buffer, size_t size)
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

int64_t run_first_bad(int64_t n, const float *values)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(values[i]))
            return i;
    return -1;
}

const char *run_value_word(float value)
{
    return isnan(value) ? "NaN" : value > 0 ? "infinity" : "minus infinity";
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

enum vbs_status run_make_outputs(struct run_job *job)
{
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
    int64_t bad = run_first_bad(run_output_values(job, output), job->outputs[output]);
    char position[SHAPE_SIZE];

    if (bad < 0)
        return;
    run_name_position(&o->shape, bad, position, sizeof position);
    cli_warn(job->cli, "output '%s' is not finite: value %s is %s", o->name, position,
             run_value_word(job->outputs[output][bad]));
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
