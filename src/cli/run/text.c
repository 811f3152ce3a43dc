/* The results of a run as text for people. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "cli/print/print.h"
#include "vbslab/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool includes_weights(const struct run_job *job)
{
    return job->schedule->weights == VBS_WEIGHTS_INCLUDED;
}

static void print_head(const struct run_job *job)
{
    const struct vbs_schedule *schedule = job->schedule;
    char bytes[48];

    cli_print_name(job->network->name);
    printf(": %lld sample%s in %s, %sio %s, planner ", (long long)job->request,
           job->request == 1 ? "" : "s", vbs_format_exact(job->memory_bytes, bytes, sizeof bytes),
           includes_weights(job) ? "weights included, " : "", vbs_io_word(schedule->io));
    cli_print_name(schedule->planner);
    if (job->threads > 0)
        printf(", %d thread%s", job->threads, job->threads == 1 ? "" : "s");
    printf("\n\n");
}

/* ---- Times ---- */

/* Adds a cell with a time, which is empty where the time is not known. */
static void add_time(struct cli_table *table, double time_us)
{
    char number[32];

    cli_table_add(table, "%s",
                  isnan(time_us) ? "" : cli_format_time(time_us, number, sizeof number));
}

/* Adds a difference in percent, or as a factor where it is large. */
static void add_difference(struct cli_table *table, double predicted, double measured)
{
    if (predicted > 0 && measured > 10 * predicted)
        cli_table_add(table, "%.0fx", measured / predicted);
    else if (predicted > 0 && measured > 0)
        cli_table_add(table, "%+.1f%%", 100 * (measured / predicted - 1));
    else
        cli_table_add(table, "%s", "");
}

static void add_times(struct cli_table *table, const char *name, double predicted_us,
                      double measured_us)
{
    cli_table_add(table, "%s", name);
    add_time(table, predicted_us);
    add_time(table, measured_us);
    add_difference(table, predicted_us, measured_us);
}

static void add_rate(struct cli_table *table, double predicted, double measured)
{
    char number[32];

    cli_table_add(table, "samples/s");
    cli_table_add(table, "%s", cli_format_number(predicted, number, sizeof number));
    cli_table_add(table, "%s", cli_format_number(measured, number, sizeof number));
    add_difference(table, predicted, measured);
}

static enum vbs_status print_times(struct run_job *job)
{
    static const struct cli_column COLUMNS[] = {
        {"", false}, {"predicted", true}, {"measured", true}, {"difference", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};
    const struct vbs_exec_report *ran = &job->times.median;
    double predicted_us = job->replay->time_us, measured_us = job->times.request.time_us;
    double samples = (double)job->request;

    add_times(&table, "request", predicted_us, measured_us);
    add_times(&table, "per sample", predicted_us / samples, measured_us / samples);
    if (predicted_us > 0 && measured_us > 0)
        add_rate(&table, 1e6 * samples / predicted_us, 1e6 * samples / measured_us);
    add_times(&table, "computing", job->replay->compute_us, ran->compute_us);
    if (includes_weights(job) && job->replay->n_copies > 0) {
        add_times(&table, "copying weights", job->replay->copy_us, ran->copy_us);
        add_times(&table, "waiting for them", predicted_us - job->replay->compute_us,
                  ran->waited_us);
    }
    if (!isnan(ran->io_us))
        add_times(&table, "input and output", NAN, ran->io_us);
    return cli_table_print(job->cli, &table);
}

static void print_runs(const struct run_job *job)
{
    const struct run_times *times = &job->times;
    char number[32];

    printf("  runs     %lld after %lld to warm up: ", (long long)times->n_all,
           (long long)job->n_warm_up);
    printf("%s", cli_format_time(times->fastest_us, number, sizeof number));
    if (times->n_all > 1) {
        printf(" to %s", cli_format_time(times->slowest_us, number, sizeof number));
        if (times->request.n_runs < times->n_all)
            printf("; %lld disturbed ones do not count above", (long long)times->n_disturbed);
        printf("\n  latency  p50 %s, ", cli_format_time(times->p50_us, number, sizeof number));
        if (isfinite(times->p90_us))
            printf("p90 %s, ", cli_format_time(times->p90_us, number, sizeof number));
        if (isfinite(times->p99_us))
            printf("p99 %s, ", cli_format_time(times->p99_us, number, sizeof number));
        printf("slowest %s", cli_format_time(times->slowest_us, number, sizeof number));
    }
    printf("\n");
    if (times->speed.flops_per_us > 0)
        printf("  speed    arithmetic %.0f%%, last-level cache %.0f%% of the machine's when the "
               "profile was calibrated\n",
               100 * times->speed.flops_per_us / job->profile->speed.flops_per_us,
               100 * times->speed.cache_bytes_per_us / job->profile->speed.cache_bytes_per_us);
    if (times->n_disturbed > times->n_all / 2 && times->request.n_runs == times->n_all)
        printf(
            "  state    most runs were disturbed: the times above are of a slower machine than the "
            "predicted one%s\n",
            job->learned ? "" : ";\n           --learn SECONDS finds what is fastest on it");
}

/* ---- Memory ---- */

static void add_bytes(struct cli_table *table, const char *name, int64_t bytes, const char *what)
{
    char text[24];

    cli_table_add(table, "%s", name);
    if (bytes >= 0) {
        cli_table_add(table, "%lld", (long long)bytes);
        cli_table_add(table, "%s", vbs_format_bytes(bytes, text, sizeof text));
    } else {
        cli_table_add(table, "%s", "not told");
        cli_table_add(table, "%s", "");
    }
    cli_table_add(table, "%s", what);
}

/* Gives the text that explains "base". */
static const char *base_text(const struct run_job *job)
{
    if (job->backend->device)
        return "what of the device's memory is taken beside it, by anybody";
    return includes_weights(job) ? "program, libraries, kernels, biases, inputs and outputs"
                                 : "program, libraries, kernels, packed weights, inputs and "
                                   "outputs";
}

static enum vbs_status print_memory(struct run_job *job)
{
    bool device = job->backend->device;
    static const struct cli_column COLUMNS[] = {
        {"memory", false}, {"bytes", true}, {"", true}, {"", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};

    printf("\n");
    add_bytes(&table, "budget", job->memory_bytes, "the arena, obtained once");
    add_bytes(&table, "planned", job->replay->peak_bytes, "live at most, by the replay");
    add_bytes(&table, "placed", job->placement.placed_bytes, "the highest end of a buffer in it");
    add_bytes(&table, "touched", job->times.touched_bytes,
              device ? "all of it, on the device" : "pages of it in memory after the runs");
    add_bytes(&table, device ? "device" : "process", job->times.high_water_bytes,
              device ? "what is taken of the device's memory after the runs, above the base"
                     : "most that the process rose above its base");
    add_bytes(&table, "base", job->times.base_bytes, base_text(job));
    if (job->limit_bytes > 0) {
        add_bytes(&table, "total", job->times.total_bytes, "most of the whole process");
        add_bytes(&table, "limit", job->limit_bytes, "of the whole process");
    }
    return cli_table_print(job->cli, &table);
}

static void print_lost(const struct run_job *job)
{
    const struct vbs_exec_placement *p = &job->placement;
    int64_t lost = p->placed_bytes - p->live_bytes;
    char bytes[48], time[32];

    printf("\n  lost     ");
    if (lost <= 0)
        printf("nothing");
    else
        printf("%s, %.2f%%,", vbs_format_exact(lost, bytes, sizeof bytes),
               100 * (double)lost / (double)(p->live_bytes > 0 ? p->live_bytes : 1));
    printf(" between planned and placed; %d buffers placed in %s\n", p->n_buffers,
           cli_format_time(1e6 * p->place_s, time, sizeof time));
}

static void print_placement(const struct run_job *job)
{
    const struct vbs_exec_placement *p = &job->placement;
    char bytes[48];

    print_lost(job);
    printf("  moves    ");
    if (p->n_moves == 0)
        printf("none: all batches lie together\n");
    else
        printf("%lld cop%s of samples, %s in all, so that batches lie together\n",
               (long long)p->n_moves, p->n_moves == 1 ? "y" : "ies",
               vbs_format_bytes(p->moved_bytes, bytes, sizeof bytes));
    if (job->n_replans > 0)
        printf("  planned  for %s, where what was planned for more could not be placed\n",
               vbs_format_exact(job->schedule->memory_bytes, bytes, sizeof bytes));
}

static void print_weights(const struct run_job *job, int64_t weight_bytes)
{
    const struct vbs_replay *replay = job->replay;
    char bytes[24];

    cli_print_held(job->schedule->weights, weight_bytes, "  ");
    if (!includes_weights(job))
        return;
    printf("  weights  ");
    if (replay->resident_bytes > 0)
        printf("%s resident, ", vbs_format_bytes(replay->resident_bytes, bytes, sizeof bytes));
    if (replay->n_copies > 0)
        printf("%s copied per request in %lld load%s\n",
               vbs_format_bytes(job->times.median.copied_bytes, bytes, sizeof bytes),
               (long long)replay->n_copies, replay->n_copies == 1 ? "" : "s");
    else
        printf("nothing copied\n");
}

/* ---- Outputs ---- */

static void print_check(const struct run_job *job)
{
    const struct run_check *check = &job->check;

    if (!check->done)
        return;
    printf("  check    ");
    if (check->bit_equal)
        printf("outputs are those of one sample at a time, to the bit");
    else
        printf("outputs differ from those of one sample at a time by %.3g at most, %.3g of the "
               "largest value (tolerance %.0e)",
               check->absolute, check->relative, run_tolerance(job));
    if (check->n_coded > 0)
        printf("; %d layer%s there from dense weights, here from coded ones", check->n_coded,
               check->n_coded == 1 ? "" : "s");
    if (check->n_changed > check->n_coded)
        printf("; %d layer%s there with other kernels too", check->n_changed - check->n_coded,
               check->n_changed - check->n_coded == 1 ? "" : "s");
    printf("\n");
}

static void print_outputs(const struct run_job *job)
{
    for (int i = 0; job->files && i < job->network->n_outputs; i++) {
        const struct vbs_output *output = &job->network->outputs[i];
        char shape[VBS_NPY_MAX_DIMS * 21];
        int64_t dim[1 + VBS_MAX_DIMS];
        int n_dims = run_batch_shape(job, &output->shape, dim);

        if (!job->files[i])
            continue;
        printf("  output   ");
        cli_print_name(output->name);
        printf(", %s, in ", vbs_npy_shape(n_dims, dim, shape, sizeof shape));
        cli_print_name(job->files[i]);
        printf("\n");
    }
}

enum vbs_status run_print_text(struct run_job *job)
{
    int64_t weight_bytes;

    VBS_TRY(vbs_exec_used_weights(&job->cli->ctx, job->profile, job->schedule, &weight_bytes));
    cli_flow_begin(job->cli);
    print_head(job);
    cli_flow_end(job->cli);
    VBS_TRY(print_times(job));
    VBS_TRY(print_memory(job));
    cli_flow_begin(job->cli);
    print_placement(job);
    print_weights(job, weight_bytes);
    cli_print_provenance(job->cli, job->profile, job->profile_id);
    print_runs(job);
    print_check(job);
    print_outputs(job);
    cli_flow_end(job->cli);
    if (cli_value(job->cli, job->values, "profile"))
        VBS_TRY(run_print_layers(job));
    return VBS_OK;
}
