/*
 * The outputs of a schedule against those of plain execution: one sample after the other, every
 * layer whole and from dense weights, with the algorithm that the schedule uses most for it, where
 * this one does so at batch 1.
 */
#include "cli/run/run.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- The plain schedule ---- */

/* Counts the samples that each algorithm of the schedule computes of each layer, [n_layers +
 * 1][n_algorithms]; null: out of memory. */
static int64_t *count_samples(const struct run_job *job)
{
    const struct vbs_schedule *schedule = job->schedule;
    size_t n = (size_t)schedule->n_algorithms;
    int64_t *samples = calloc((size_t)job->profile->n_layers + 1, n * sizeof *samples);

    for (int64_t s = 0; samples && s < schedule->n_steps; s++) {
        const struct vbs_step *step = &schedule->steps[s];

        if (step->op == VBS_STEP_COMPUTE)
            samples[(size_t)step->layer * n + (size_t)step->algorithm] += step->batch;
    }
    return samples;
}

/* Gives the algorithm of the profile that computes one sample of layer: the one with the most
 * samples; one that was measured in slices, or computes from coded weights, only where there is no
 * other. Counts the layer where the schedule computes samples with another one. */
static int plain_algorithm(const struct run_job *job, int layer, const int64_t *samples,
                           struct run_check *check)
{
    const struct vbs_profile *profile = job->profile;
    const struct vbs_schedule *schedule = job->schedule;
    int n_rows, best = -1;
    int64_t most = -2;
    bool changed = false, coded = false;
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, 0, &n_rows);

    for (int r = 0; r < n_rows; r++) {
        const char *name = profile->algorithms[rows[r].algorithm];
        int64_t used = rows[r].n_slices > 1 || vbs_algorithm_is_coded(name) ? -1 : 0;

        for (int a = 0; a < schedule->n_algorithms && used == 0; a++)
            if (strcmp(schedule->algorithms[a], name) == 0)
                used = samples[a];
        if (used > most) {
            most = used;
            best = rows[r].algorithm;
        }
    }
    for (int a = 0; a < schedule->n_algorithms; a++)
        if (samples[a] > 0 && strcmp(schedule->algorithms[a], profile->algorithms[best]) != 0) {
            changed = true;
            coded = coded || vbs_algorithm_is_coded(schedule->algorithms[a]);
        }
    check->n_changed += changed;
    check->n_coded += coded && !vbs_algorithm_is_coded(profile->algorithms[best]);
    return best;
}

/* Fills steps; there are request times the number of layers. */
static enum vbs_status fill_steps(struct run_job *job, struct vbs_step *steps)
{
    int n = job->profile->n_layers;
    int64_t *samples = count_samples(job);

    if (!samples)
        return vbs_no_memory(&job->cli->ctx);
    for (int k = 1; k <= n; k++) {
        int algorithm = plain_algorithm(
            job, k, samples + (size_t)k * (size_t)job->schedule->n_algorithms, &job->check);

        for (int64_t s = 0; s < job->request; s++)
            steps[s * n + k - 1] =
                (struct vbs_step){.layer = k, .batch = 1, .algorithm = algorithm};
    }
    free(samples);
    return VBS_OK;
}

/* Sets the budget to twice the peak of plain execution, for bytes lost in placing. */
static enum vbs_status set_budget(struct run_job *job, struct vbs_schedule *plain)
{
    struct vbs_replay *replay = NULL;
    enum vbs_status status =
        vbs_replay_run(&job->cli->ctx, job->profile, plain, INT64_MAX, false, &replay);

    if (status == VBS_OK) {
        plain->predicted.peak_bytes = replay->peak_bytes;
        plain->memory_bytes = 2 * replay->peak_bytes + (1 << 20);
    }
    vbs_replay_free(replay);
    return status;
}

/* ---- Comparing ---- */

/* Compares the values of an output with the expected ones. */
static void compare_values(int64_t n, const float *values, const float *want, const char *name,
                           struct run_check *check)
{
    double largest = 0, scale = 0, relative;

    for (int64_t i = 0; i < n; i++) {
        double difference = fabs((double)values[i] - (double)want[i]);

        if (isnan(values[i]) != isnan(want[i]) ||
            (isnan(difference) && !isnan(want[i]) && values[i] != want[i]))
            difference = HUGE_VAL;
        if (difference > largest)
            largest = difference;
        if (isfinite(want[i]))
            scale = fmax(scale, fabs((double)want[i]));
    }
    relative = scale > 0 ? largest / scale : largest > 0 ? HUGE_VAL : 0;
    check->bit_equal = check->bit_equal && memcmp(values, want, (size_t)n * sizeof *values) == 0;
    if (!check->output || relative > check->relative) {
        check->relative = relative;
        check->output = name;
    }
    check->absolute = fmax(check->absolute, largest);
}

static void compare_outputs(struct run_job *job, float *const *want)
{
    job->check.bit_equal = true;
    for (int i = 0; i < job->network->n_outputs; i++)
        compare_values(run_output_values(job, i), job->outputs[i], want[i],
                       job->network->outputs[i].name, &job->check);
    job->check.done = true;
}

static enum vbs_status run_plain(struct run_job *job, const struct vbs_schedule *plain,
                                 float *const *outputs)
{
    struct vbs_exec_options options = {.struct_size = sizeof(struct vbs_exec_options),
                                       .threads = job->threads,
                                       .progress = cli_progress(job->cli)};
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    enum vbs_status status = vbs_exec_new(&job->cli->ctx, job->network, job->backend, job->profile,
                                          plain, &options, NULL, &exec);

    cli_progress_end(job->cli);
    run_keep_peak(job);
    if (status == VBS_OK)
        status = vbs_exec_run(&job->cli->ctx, exec, job->input, outputs, &report);
    vbs_exec_free(exec);
    return status == VBS_OK ? VBS_OK : vbs_fail_within(&job->cli->ctx, status, "--check");
}

enum vbs_status run_compare(struct run_job *job)
{
    int64_t n_steps = job->request * job->profile->n_layers;
    struct vbs_step *steps = calloc((size_t)n_steps, sizeof *steps);
    float **outputs = run_new_outputs(job);
    struct vbs_schedule plain = {.model = job->schedule->model,
                                 .planner = "plain",
                                 .request = job->request,
                                 .n_algorithms = job->profile->n_algorithms,
                                 .algorithms = job->profile->algorithms,
                                 .n_steps = n_steps,
                                 .steps = steps};
    enum vbs_status status =
        steps && outputs ? fill_steps(job, steps) : vbs_no_memory(&job->cli->ctx);

    vbs_exec_free(job->exec);
    job->exec = NULL;
    if (status != VBS_OK)
        goto done;
    status = set_budget(job, &plain);
    if (status != VBS_OK)
        goto done;
    status = run_plain(job, &plain, outputs);
    if (status != VBS_OK)
        goto done;
    compare_outputs(job, outputs);
done:
    run_free_outputs(job, outputs);
    free(steps);
    return status;
}

/* Gives whether a layer rounds its output, as in a quantised file. */
static bool rounds(const struct vbs_layer *l)
{
    bool found = l->encoding.storage != VBS_FLOAT32 || l->op == VBS_OP_ROUND;

    for (int f = 0; f < l->n_fused; f++)
        found |= l->fused[f].op == VBS_OP_ROUND;
    return found;
}

double run_tolerance(const struct run_job *job)
{
    for (int k = 0; k <= job->network->n_layers; k++)
        if (rounds(&job->network->layers[k]))
            return RUN_TOLERANCE_ROUNDED;
    return RUN_TOLERANCE;
}

enum vbs_status run_judge(struct run_job *job)
{
    const struct run_check *check = &job->check;

    if (!check->done || check->relative <= run_tolerance(job))
        return VBS_OK;
    return vbs_fail(&job->cli->ctx, VBS_LIBRARY,
                    "output '%.100s' differs from that of one sample at a time by %.3g of its "
                    "largest value; %.0e is the tolerance",
                    check->output, check->relative, run_tolerance(job));
}
