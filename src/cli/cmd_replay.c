#include "base/fail.h"
#include "cli/cli.h"
#include "cli/json.h"
#include "cli/number.h"

#include <stdio.h>
#include <string.h>

/* What a replay is told about. */
struct judged {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_replay *replay;
};

static bool is_standard_output(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static void print_bytes(int64_t bytes)
{
    char exact[48];

    printf("%s", vbs_format_exact(bytes, exact, sizeof exact));
}

/* "step 2 of 4, layer 2 'L2' at batch 1" */
static void print_step(const struct judged *judged, int64_t index)
{
    const struct vbs_step *step = &judged->schedule->steps[index];

    printf("step %lld of %lld, layer %d '", (long long)index + 1,
           (long long)judged->schedule->n_steps, step->layer);
    cli_print_name(judged->profile->layers[step->layer].name);
    printf("' at batch %d", step->batch);
}

static void print_head(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;

    cli_print_name(schedule->model);
    printf("%s%lld sample%s in ", schedule->model[0] ? ": " : "", (long long)schedule->request,
           schedule->request == 1 ? "" : "s");
    print_bytes(judged->replay->memory_bytes);
    printf(", io %s, planner ", vbs_io_word(schedule->io));
    cli_print_name(schedule->planner);
    printf("\n\n");
}

static void print_prediction(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;
    double time_us = judged->replay->time_us;
    char predicted[48], replayed[48];

    if (schedule->predicted.time_us != time_us)
        printf("  time was predicted as %.6g ms, replayed as %.6g ms (%+.2f%%)\n",
               schedule->predicted.time_us / 1e3, time_us / 1e3,
               100 * (time_us - schedule->predicted.time_us) /
                   (schedule->predicted.time_us > 0 ? schedule->predicted.time_us : time_us));
    if (schedule->predicted.peak_bytes != judged->replay->peak_bytes)
        printf("  peak was predicted as %s, replayed as %s\n",
               vbs_format_exact(schedule->predicted.peak_bytes, predicted, sizeof predicted),
               vbs_format_exact(judged->replay->peak_bytes, replayed, sizeof replayed));
}

/* The violating step's memory is only in a trace. */
static int64_t over_bytes(const struct vbs_replay *replay)
{
    return replay->steps[replay->violation_step].memory_bytes - replay->memory_bytes;
}

static void print_verdict(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    double per_sample_us = replay->time_us / (double)judged->schedule->request;
    char number[32];

    print_head(judged);
    printf("  time   %s, ", cli_format_time(replay->time_us, number, sizeof number));
    printf("%s per sample", cli_format_time(per_sample_us, number, sizeof number));
    if (per_sample_us > 0)
        printf(", %s samples/s", cli_format_number(1e6 / per_sample_us, number, sizeof number));
    printf("\n  peak   ");
    print_bytes(replay->peak_bytes);
    printf(" in ");
    print_step(judged, replay->peak_step);
    if (replay->fits) {
        printf("\n  fits   yes, with ");
        print_bytes(replay->memory_bytes - replay->peak_bytes);
        printf(" to spare\n");
    } else {
        printf("\n  fits   no, first in ");
        print_step(judged, replay->violation_step);
        printf(" by ");
        print_bytes(over_bytes(replay));
        printf("\n");
    }
    print_prediction(judged);
}

static json_t *step_json(const struct judged *judged, int64_t index)
{
    const struct vbs_step *step = &judged->schedule->steps[index];

    return json_pack("{s:I, s:i, s:s, s:i, s:s}", "step", (json_int_t)index + 1, "layer",
                     step->layer, "name", judged->profile->layers[step->layer].name, "batch",
                     step->batch, "algorithm", judged->schedule->algorithms[step->algorithm]);
}

static json_t *violation_json(const struct judged *judged)
{
    json_t *object;

    if (judged->replay->fits)
        return json_null();
    object = step_json(judged, judged->replay->violation_step);
    if (json_object_set_new(object, "over_bytes", json_integer(over_bytes(judged->replay))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Null when memory is out. */
static json_t *verdict_json(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;
    const struct vbs_replay *replay = judged->replay;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:f, s:f, s:I, s:b, s:{s:f, s:I}}", "format",
        "vbslab-replay-1", "model", schedule->model, "planner", schedule->planner, "request",
        (json_int_t)schedule->request, "io", vbs_io_word(schedule->io), "memory_bytes",
        (json_int_t)replay->memory_bytes, "n_steps", (json_int_t)replay->n_steps, "time_us",
        replay->time_us, "per_sample_us", replay->time_us / (double)schedule->request, "peak_bytes",
        (json_int_t)replay->peak_bytes, "fits", (int)replay->fits, "predicted", "time_us",
        schedule->predicted.time_us, "peak_bytes", (json_int_t)schedule->predicted.peak_bytes);

    if (json_object_set_new(object, "peak", step_json(judged, replay->peak_step)) != 0 ||
        json_object_set_new(object, "violation", violation_json(judged)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* The error that names the least budget of this schedule: its peak. */
static enum vbs_status refuse(struct cli *cli, const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    const struct vbs_step *step = &judged->schedule->steps[replay->violation_step];
    char budget[48], over[48], least[48];

    vbs_format_exact(replay->memory_bytes, budget, sizeof budget);
    vbs_format_exact(over_bytes(replay), over, sizeof over);
    vbs_format_exact(replay->peak_bytes, least, sizeof least);
    return vbs_fail(&cli->ctx, VBS_OVER_BUDGET,
                    "schedule breaks its budget of %s: step %lld, layer '%s' at batch %d, is %s "
                    "over; the least budget that works is %s",
                    budget, (long long)replay->violation_step + 1,
                    judged->profile->layers[step->layer].name, step->batch, over, least);
}

/* Says the verdict in the form that was asked for; a trace on standard output stands alone. */
static enum vbs_status report(struct cli *cli, const char *const *values,
                              const struct judged *judged)
{
    const char *trace = cli_value(cli, values, "trace");
    enum vbs_status status = VBS_OK;

    if (trace)
        status = vbs_replay_write_csv(&cli->ctx, judged->profile, judged->schedule, judged->replay,
                                      trace);
    if (status == VBS_OK && cli_value(cli, values, "json"))
        status = cli_json_print(cli, verdict_json(judged), false);
    else if (status == VBS_OK && !is_standard_output(trace))
        print_verdict(judged);
    if (status == VBS_OK && !judged->replay->fits)
        status = refuse(cli, judged);
    return status;
}

static enum vbs_status replay_file(struct cli *cli, const char *const *values,
                                   const struct vbs_profile *profile, const char *path,
                                   int64_t memory_bytes)
{
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_schedule_read_json(&cli->ctx, path, &schedule);

    if (status == VBS_OK && schedule->model[0] && profile->circumstances.model[0] &&
        strcmp(schedule->model, profile->circumstances.model) != 0)
        cli_warn(cli, "the schedule is for '%s', the profile of '%s'", schedule->model,
                 profile->circumstances.model);
    if (status == VBS_OK)
        status = vbs_replay_run(&cli->ctx, profile, schedule, memory_bytes, true, &replay);
    if (status == VBS_OK)
        status =
            report(cli, values,
                   &(struct judged){.profile = profile, .schedule = schedule, .replay = replay});
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    return status;
}

static int run(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments)
{
    const char *memory = cli_value(cli, values, "memory");
    struct vbs_profile *profile = NULL;
    int64_t memory_bytes = -1, id;
    enum vbs_status status = VBS_OK;

    if (n_arguments != 2)
        return cli_usage(cli, "needs PROFILE and SCHEDULE.json, got %d argument%s", n_arguments,
                         n_arguments == 1 ? "" : "s");
    if (strcmp(arguments[0], "-") == 0 && strcmp(arguments[1], "-") == 0)
        return cli_usage(cli, "profile and schedule cannot both come from standard input");
    if (cli_value(cli, values, "json") && is_standard_output(cli_value(cli, values, "trace")))
        return cli_usage(cli, "--json and --trace cannot both go to standard output");
    if (memory)
        status = vbs_parse_bytes(&cli->ctx, memory, &memory_bytes);
    if (status == VBS_OK)
        status = cli_load_profile(cli, arguments[0], &profile, &id);
    if (status == VBS_OK)
        status = replay_file(cli, values, profile, arguments[1], memory_bytes);
    vbs_profile_free(profile);
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"memory", "SIZE", "the budget to judge by (default: the schedule's own)"},
    {"trace", "FILE.csv", "write every step: bytes, times; - is standard output, alone"},
    {"json", NULL, "the verdict as JSON"},
    {0},
};

const struct cli_command cli_replay = {
    .name = "replay",
    .summary = "judge a schedule: peak, time, first step above the budget",
    .usage = "PROFILE SCHEDULE.json [--memory SIZE] [options]",
    .options = OPTIONS,
    .arguments =
        (const struct cli_argument[]){
            {CLI_ARGUMENT_PROFILE},
            {"SCHEDULE.json", "what 'vbslab plan --json' wrote; - is standard input"},
            {CLI_ARGUMENT_SIZE},
            {0}},
    .example = "vbslab plan googlenet --planner dp-vbs --memory 20MiB --json plan.json\n"
               "vbslab replay googlenet plan.json --trace trace.csv",
    .run = run,
};
