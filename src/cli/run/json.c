/* The result of a run as JSON: format "vbslab-run-1". */
#include "cli/run/run.h"

#include "base/fail.h"
#include "cli/print/print.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Makes a number that JSON can hold, else null. */
static json_t *real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *bytes(int64_t value)
{
    return value >= 0 ? json_integer(value) : json_null();
}

static double percent(double predicted, double measured)
{
    return predicted > 0 ? 100 * (measured / predicted - 1) : NAN;
}

static json_t *times_json(const struct run_job *job, double time_us, double compute_us,
                          double copy_us, double waited_us, int64_t copied_bytes, bool *failed)
{
    json_t *object = json_object();
    double samples = (double)job->request;

    cli_json_put(object, "time_us", real(time_us), failed);
    cli_json_put(object, "per_sample_us", real(time_us / samples), failed);
    cli_json_put(object, "samples_per_s", real(1e6 * samples / time_us), failed);
    cli_json_put(object, "compute_us", real(compute_us), failed);
    cli_json_put(object, "copy_us", real(copy_us), failed);
    cli_json_put(object, "waited_us", real(waited_us), failed);
    cli_json_put(object, "copied_bytes", bytes(copied_bytes), failed);
    return object;
}

static json_t *predicted_json(const struct run_job *job, bool *failed)
{
    const struct vbs_replay *replay = job->replay;

    return times_json(job, replay->time_us, replay->compute_us, replay->copy_us,
                      replay->time_us - replay->compute_us, replay->copied_bytes, failed);
}

static json_t *measured_json(const struct run_job *job, bool *failed)
{
    const struct run_times *times = &job->times;
    const struct vbs_exec_report *ran = &times->median;
    json_t *object = times_json(job, times->request.time_us, ran->compute_us, ran->copy_us,
                                ran->waited_us, ran->copied_bytes, failed);

    cli_json_put(object, "io_us", real(ran->io_us), failed);
    cli_json_put(object, "n_runs", json_integer(times->n_all), failed);
    if (times->speed.flops_per_us > 0) {
        cli_json_put(object, "speed", cli_speed_json(&times->speed, failed), failed);
        cli_json_put(object, "calibrated_speed", cli_speed_json(&job->profile->speed, failed),
                     failed);
    }
    cli_json_put(object, "n_disturbed", json_integer(times->n_disturbed), failed);
    cli_json_put(object, "n_warm_up", json_integer(job->n_warm_up), failed);
    cli_json_put(object, "p50_us", real(times->p50_us), failed);
    cli_json_put(object, "p90_us", real(times->p90_us), failed);
    cli_json_put(object, "p99_us", real(times->p99_us), failed);
    cli_json_put(object, "fastest_us", real(times->fastest_us), failed);
    cli_json_put(object, "slowest_us", real(times->slowest_us), failed);
    cli_json_put(object, "mad_us", real(times->request.mad_us), failed);
    cli_json_put(object, "low_us", real(times->request.low_us), failed);
    cli_json_put(object, "high_us", real(times->request.high_us), failed);
    return object;
}

static json_t *memory_json(const struct run_job *job, bool *failed)
{
    const struct vbs_exec_placement *p = &job->placement;
    json_t *object = json_object();

    cli_json_put(object, "planned_bytes", bytes(job->replay->peak_bytes), failed);
    cli_json_put(object, "load_bytes", bytes(p->load_bytes), failed);
    cli_json_put(object, "placed_bytes", bytes(p->placed_bytes), failed);
    cli_json_put(object, "lost_bytes", json_integer(p->placed_bytes - p->live_bytes), failed);
    cli_json_put(object, "live_bytes", bytes(p->live_bytes), failed);
    cli_json_put(object, "touched_bytes", bytes(job->times.touched_bytes), failed);
    cli_json_put(object, "high_water_bytes", bytes(job->times.high_water_bytes), failed);
    cli_json_put(object, "above_budget_bytes", json_integer(run_above_budget(job)), failed);
    cli_json_put(object, "heap_bytes", bytes(job->times.heap_bytes), failed);
    cli_json_put(object, "base_bytes", bytes(job->times.base_bytes), failed);
    cli_json_put(object, "resident_peak_bytes", bytes(job->peak_bytes), failed);
    cli_json_put(object, "virtual_peak_bytes", bytes(run_process_bytes("VmPeak")), failed);
    cli_json_put(object, "total_bytes", bytes(job->times.total_bytes), failed);
    cli_json_put(object, "limit_bytes",
                 job->limit_bytes > 0 ? json_integer(job->limit_bytes) : json_null(), failed);
    cli_json_put(object, "n_buffers", json_integer(p->n_buffers), failed);
    cli_json_put(object, "n_moves", json_integer(p->n_moves), failed);
    cli_json_put(object, "moved_bytes", bytes(p->moved_bytes), failed);
    cli_json_put(object, "place_s", real(p->place_s), failed);
    cli_json_put(object, "n_replans", json_integer(job->n_replans), failed);
    return object;
}

static json_t *check_json(const struct run_job *job, bool *failed)
{
    const struct run_check *check = &job->check;
    json_t *object;

    if (!check->done)
        return json_null();
    object = json_object();
    cli_json_put(object, "bit_equal", json_boolean(check->bit_equal), failed);
    cli_json_put(object, "absolute", real(check->absolute), failed);
    cli_json_put(object, "relative", real(check->relative), failed);
    cli_json_put(object, "tolerance", real(run_tolerance(job)), failed);
    cli_json_put(object, "n_changed", json_integer(check->n_changed), failed);
    cli_json_put(object, "n_coded", json_integer(check->n_coded), failed);
    return object;
}

static json_t *output_json(const struct run_job *job, int output, bool *failed)
{
    const struct vbs_output *o = &job->network->outputs[output];
    json_t *object = json_object(), *shape = json_array();
    int64_t dim[1 + VBS_MAX_DIMS];
    int n_dims = run_batch_shape(job, &o->shape, dim);

    for (int i = 0; i < n_dims; i++)
        cli_json_append(shape, json_integer(dim[i]), failed);
    cli_json_put(object, "name", json_string(o->name), failed);
    cli_json_put(object, "shape", shape, failed);
    if (job->files && job->files[output])
        cli_json_put(object, "file", json_string(job->files[output]), failed);
    return object;
}

static json_t *outputs_json(const struct run_job *job, bool *failed)
{
    json_t *array = json_array();

    for (int i = 0; i < job->network->n_outputs; i++)
        cli_json_append(array, output_json(job, i, failed), failed);
    return array;
}

static json_t *layer_json(const struct run_job *job, int layer, const struct run_layer_time *time,
                          bool *failed)
{
    json_t *object = json_object();

    cli_json_put(object, "layer", json_integer(layer), failed);
    cli_json_put(object, "name", json_string(job->profile->layers[layer].name), failed);
    cli_json_put(object, "n_steps", json_integer(time->n_steps), failed);
    cli_json_put(object, "planned_us", real(time->planned_us), failed);
    cli_json_put(object, "measured_us", real(time->measured_us), failed);
    return object;
}

static json_t *layers_json(const struct run_job *job, bool *failed)
{
    struct run_layer_time *times = run_layer_times(job);
    json_t *array = json_array();

    *failed |= !times;
    for (int k = 1; times && k <= job->profile->n_layers; k++)
        cli_json_append(array, layer_json(job, k, &times[k], failed), failed);
    free(times);
    return array;
}

/* Makes the schedule an object of the result, as `plan --json` writes it. */
static enum vbs_status schedule_json(struct run_job *job, json_t **json)
{
    json_error_t error;
    char *text;

    VBS_TRY(vbs_schedule_json(&job->cli->ctx, job->schedule, &text));
    *json = json_loads(text, 0, &error);
    free(text);
    return *json ? VBS_OK : vbs_no_memory(&job->cli->ctx);
}

/* Makes the fastest run: when each step of the schedule began and ended. */
static json_t *fastest_json(const struct run_job *job, bool *failed)
{
    const struct vbs_exec_report *ran = &job->times.fastest;
    json_t *object = json_object(), *starts = json_array(), *ends = json_array();

    for (int64_t s = 0; s < ran->n_steps; s++) {
        cli_json_append(starts, real(ran->steps[s].start_us), failed);
        cli_json_append(ends, real(ran->steps[s].end_us), failed);
    }
    cli_json_put(object, "time_us", real(ran->time_us), failed);
    cli_json_put(object, "compute_us", real(ran->compute_us), failed);
    cli_json_put(object, "copy_us", real(ran->copy_us), failed);
    cli_json_put(object, "waited_us", real(ran->waited_us), failed);
    cli_json_put(object, "io_us", real(ran->io_us), failed);
    cli_json_put(object, "start_us", starts, failed);
    cli_json_put(object, "end_us", ends, failed);
    return object;
}

enum vbs_status run_print_json(struct run_job *job)
{
    const struct vbs_schedule *schedule = job->schedule;
    bool failed = false, steps = cli_value(job->cli, job->values, "steps");
    json_t *object, *as_json = NULL;

    if (steps)
        VBS_TRY(schedule_json(job, &as_json));
    object = json_object();

    cli_json_put(object, "format", json_string("vbslab-run-1"), &failed);
    cli_json_put(object, "profile", json_integer(job->profile_id), &failed);
    cli_json_put(object, "provenance", cli_provenance_json(job->profile), &failed);
    cli_json_put(object, "model", json_string(job->network->name), &failed);
    cli_json_put(object, "planner", json_string(schedule->planner), &failed);
    cli_json_put(object, "request", json_integer(job->request), &failed);
    cli_json_put(object, "io", json_string(vbs_io_word(schedule->io)), &failed);
    cli_json_put(object, "weights", json_string(vbs_weights_word(schedule->weights)), &failed);
    cli_json_put(object, "weight_bytes", json_integer(vbs_profile_weight_bytes(job->profile)),
                 &failed);
    cli_json_put(object, "memory_bytes", json_integer(job->memory_bytes), &failed);
    cli_json_put(object, "planned_for_bytes", json_integer(schedule->memory_bytes), &failed);
    cli_json_put(object, "n_steps", json_integer(schedule->n_steps), &failed);
    cli_json_put(object, "threads", json_integer(job->threads), &failed);
    cli_json_put(object, "predicted", predicted_json(job, &failed), &failed);
    cli_json_put(object, "measured", measured_json(job, &failed), &failed);
    cli_json_put(object, "difference_percent",
                 real(percent(job->replay->time_us, job->times.request.time_us)), &failed);
    cli_json_put(object, "memory", memory_json(job, &failed), &failed);
    if (cli_value(job->cli, job->values, "profile"))
        cli_json_put(object, "layers", layers_json(job, &failed), &failed);
    cli_json_put(object, "outputs", outputs_json(job, &failed), &failed);
    cli_json_put(object, "check", check_json(job, &failed), &failed);
    if (steps) {
        cli_json_put(object, "schedule", as_json, &failed);
        cli_json_put(object, "fastest", fastest_json(job, &failed), &failed);
    }
    return cli_json_print(job->cli, object, failed);
}
