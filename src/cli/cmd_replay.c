#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/print/print.h"

#include <stdio.h>
#include <string.h>

/* A replay with the data for its report. */
struct judged {
    const struct vbs_profile *profile;
    const struct vbs_schedule *schedule;
    const struct vbs_replay *replay;
    const struct cli_pictures *pictures;
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

/* Gives the text before the layer of a step: "load of ", or nothing where it computes. */
static const char *before_layer(const struct vbs_step *step)
{
    static const char *const WORDS[] = {"", "load of ", "eviction of "};

    return WORDS[step->op];
}

/* Gives the text behind the layer of a step: " at batch 2, slice 1 of 3". */
static const char *behind_layer(const struct vbs_step *step, char *buffer, size_t size)
{
    char batch[32] = "", part[40] = "";

    if (step->op == VBS_STEP_COMPUTE)
        snprintf(batch, sizeof batch, " at batch %d", step->batch);
    if (step->n_slices > 1)
        snprintf(part, sizeof part, ", slice %d of %d", step->slice, step->n_slices);
    snprintf(buffer, size, "%s%s", batch, part);
    return buffer;
}

/* Prints a step as "step 2 of 4, layer 2 'L2' at batch 1". */
static void print_step(const struct judged *judged, int64_t index)
{
    const struct vbs_step *step = &judged->schedule->steps[index];
    char behind[80];

    printf("step %lld of %lld, %slayer %d '", (long long)index + 1,
           (long long)judged->schedule->n_steps, before_layer(step), step->layer);
    cli_print_name(judged->profile->layers[step->layer].name);
    printf("'%s", behind_layer(step, behind, sizeof behind));
}

static bool includes_weights(const struct judged *judged)
{
    return judged->schedule->weights == VBS_WEIGHTS_INCLUDED;
}

static void print_head(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;

    cli_print_name(schedule->model);
    printf("%s%lld sample%s in ", schedule->model[0] ? ": " : "", (long long)schedule->request,
           schedule->request == 1 ? "" : "s");
    print_bytes(judged->replay->memory_bytes);
    printf(", io %s, %splanner ", vbs_io_word(schedule->io),
           includes_weights(judged) ? "weights included, " : "");
    cli_print_name(schedule->planner);
    printf("\n\n");
}

static void print_prediction(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;
    double time_us = judged->replay->time_us;
    char predicted[48], replayed[48];

    if (schedule->predicted.time_us > 0 && schedule->predicted.time_us != time_us)
        printf("  time was predicted as %s, replayed as %s (%+.2f%%)\n",
               cli_format_exact_time(schedule->predicted.time_us, predicted, sizeof predicted),
               cli_format_exact_time(time_us, replayed, sizeof replayed),
               100 * (time_us - schedule->predicted.time_us) / schedule->predicted.time_us);
    if (schedule->predicted.peak_bytes > 0 &&
        schedule->predicted.peak_bytes != judged->replay->peak_bytes)
        printf("  peak was predicted as %s, replayed as %s\n",
               vbs_format_exact(schedule->predicted.peak_bytes, predicted, sizeof predicted),
               vbs_format_exact(judged->replay->peak_bytes, replayed, sizeof replayed));
    if (schedule->predicted.latency_us > 0 &&
        schedule->predicted.latency_us != judged->replay->latency_us)
        printf("  latency was predicted as %s, replayed as %s\n",
               cli_format_exact_time(schedule->predicted.latency_us, predicted, sizeof predicted),
               cli_format_exact_time(judged->replay->latency_us, replayed, sizeof replayed));
}

/* Gives the bytes by which the first step above the budget exceeds it. The replay has its trace. */
static int64_t over_bytes(const struct vbs_replay *replay)
{
    return replay->steps[replay->violation_step].memory_bytes - replay->memory_bytes;
}

static double late_us(const struct vbs_replay *replay)
{
    return replay->steps[replay->late_step].wait_us - replay->latency_bound_us;
}

/* The samples of the chunk to which compute step index belongs, counted from 1. */
struct samples {
    int64_t first, last;
};

static struct samples samples_of(const struct judged *judged, int64_t index)
{
    const struct vbs_replay_step *steps = judged->replay->steps;
    int64_t first = index, last = index;

    for (int64_t i = index - 1; i >= 0 && steps[i].chunk == steps[index].chunk; i--)
        if (judged->schedule->steps[i].op == VBS_STEP_COMPUTE)
            first = i;
    for (int64_t i = index + 1; i < judged->replay->n_steps && steps[i].chunk == steps[index].chunk;
         i++)
        if (judged->schedule->steps[i].op == VBS_STEP_COMPUTE)
            last = i;
    return (struct samples){.first = steps[first].done_before + 1,
                            .last = steps[last].done_before + judged->schedule->steps[last].batch};
}

/* Names the samples: "samples 1 to 4", "sample 5", "the only sample". */
static void name_samples(const struct judged *judged, int64_t index, char *buffer, size_t size)
{
    struct samples samples = samples_of(judged, index);

    if (judged->schedule->request == 1)
        snprintf(buffer, size, "the only sample");
    else if (samples.first == samples.last)
        snprintf(buffer, size, "sample %lld", (long long)samples.first);
    else
        snprintf(buffer, size, "samples %lld to %lld", (long long)samples.first,
                 (long long)samples.last);
}

static void print_times(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    double per_sample_us = replay->time_us / (double)judged->schedule->request;
    char number[32], samples[64];

    printf("  time     %s, ", cli_format_time(replay->time_us, number, sizeof number));
    printf("%s per sample", cli_format_time(per_sample_us, number, sizeof number));
    if (per_sample_us > 0)
        printf(", %s samples/s", cli_format_number(1e6 / per_sample_us, number, sizeof number));
    name_samples(judged, replay->latency_step, samples, sizeof samples);
    printf("\n  latency  %s, %s\n", cli_format_time(replay->latency_us, number, sizeof number),
           samples);
}

/* Gives the share of copying that is hidden. Some step computes or copies at any time, so that the
 * sum of both clocks exceeds the whole time by the time in which both run. */
static double hidden_percent(const struct vbs_replay *replay)
{
    double both_us = replay->compute_us + replay->copy_us - replay->time_us;

    if (!(both_us > 0 && replay->copy_us > 0))
        return 0;
    return both_us < replay->copy_us ? 100 * both_us / replay->copy_us : 100;
}

static void print_weights(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    char number[32];

    if (!includes_weights(judged))
        return;
    printf("  compute  %s\n  copy     ",
           cli_format_time(replay->compute_us, number, sizeof number));
    if (replay->n_copies == 0) {
        printf("nothing\n");
    } else {
        printf("%s, %.1f%% of it while computing, ",
               cli_format_time(replay->copy_us, number, sizeof number), hidden_percent(replay));
        print_bytes(replay->copied_bytes);
        printf(" in %lld cop%s\n", (long long)replay->n_copies,
               replay->n_copies == 1 ? "y" : "ies");
    }
    printf("  weights  ");
    print_bytes(replay->resident_bytes);
    printf(" resident\n");
}

static void print_fits(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;

    if (replay->fits) {
        printf("  fits     yes, with ");
        print_bytes(replay->memory_bytes - replay->peak_bytes);
        printf(" to spare\n");
    } else {
        printf("  fits     no, first in ");
        print_step(judged, replay->violation_step);
        printf(" by ");
        print_bytes(over_bytes(replay));
        printf("\n");
    }
}

/* Prints the verdict on the latency, where one was bounded. */
static void print_in_time(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    double spare_us = replay->latency_bound_us - replay->latency_us;
    char number[32];

    if (replay->latency_bound_us == 0)
        return;
    if (replay->in_time) {
        printf("  in time  yes, with %s to spare\n",
               cli_format_time(spare_us > 0 ? spare_us : 0, number, sizeof number));
    } else {
        printf("  in time  no, first in ");
        print_step(judged, replay->late_step);
        printf(" by %s\n", cli_format_time(late_us(replay), number, sizeof number));
    }
}

static void print_verdict(struct cli *cli, const struct judged *judged)
{
    cli_flow_begin(cli);
    print_head(judged);
    print_times(judged);
    print_weights(judged);
    printf("  peak     ");
    print_bytes(judged->replay->peak_bytes);
    printf(" in ");
    print_step(judged, judged->replay->peak_step);
    printf("\n");
    print_fits(judged);
    print_in_time(judged);
    cli_print_provenance(cli, judged->profile, judged->replay->profile_id);
    print_prediction(judged);
    cli_flow_end(cli);
}

static json_t *step_json(const struct judged *judged, int64_t index)
{
    const struct vbs_step *step = &judged->schedule->steps[index];

    const char *name = judged->profile->layers[step->layer].name;
    json_t *object;
    bool failed = false;

    if (step->op == VBS_STEP_COMPUTE)
        object = json_pack("{s:I, s:i, s:s, s:i, s:s}", "step", (json_int_t)index + 1, "layer",
                           step->layer, "name", name, "batch", step->batch, "algorithm",
                           judged->schedule->algorithms[step->algorithm]);
    else
        object = json_pack("{s:I, s:s, s:i, s:s, s:i, s:I}", "step", (json_int_t)index + 1, "op",
                           vbs_step_word((enum vbs_step_op)step->op), "layer", step->layer, "name",
                           name, "form", step->format, "bytes", (json_int_t)step->bytes);
    if (step->n_slices > 1) {
        cli_json_put(object, "part", json_integer(step->slice), &failed);
        cli_json_put(object, "parts", json_integer(step->n_slices), &failed);
    }
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Puts the members of weights inside the budget. */
static void put_weights(const struct judged *judged, json_t *object, bool *failed)
{
    const struct vbs_replay *replay = judged->replay;

    if (!includes_weights(judged))
        return;
    cli_json_put(object, "weights", json_string("included"), failed);
    cli_json_put(object, "compute_us", json_real(replay->compute_us), failed);
    cli_json_put(object, "copy_us", json_real(replay->copy_us), failed);
    cli_json_put(object, "hidden_percent", json_real(hidden_percent(replay)), failed);
    cli_json_put(object, "n_copies", json_integer(replay->n_copies), failed);
    cli_json_put(object, "copied_bytes", json_integer(replay->copied_bytes), failed);
    cli_json_put(object, "resident_bytes", json_integer(replay->resident_bytes), failed);
}

/* Makes the object of the step that breaks a limit first, and of the excess; null where none
 * does. */
static json_t *violation_json(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    json_t *object;

    if (replay->fits)
        return json_null();
    object = step_json(judged, replay->violation_step);
    if (json_object_set_new(object, "over_bytes", json_integer(over_bytes(replay))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

static json_t *late_json(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    json_t *object;

    if (replay->in_time)
        return json_null();
    object = step_json(judged, replay->late_step);
    if (json_object_set_new(object, "late_us", json_real(late_us(replay))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Makes the object of the chunk that takes longest. */
static json_t *longest_json(const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    struct samples samples = samples_of(judged, replay->latency_step);

    return json_pack("{s:I, s:I, s:I}", "chunk",
                     (json_int_t)replay->steps[replay->latency_step].chunk, "first_sample",
                     (json_int_t)samples.first, "last_sample", (json_int_t)samples.last);
}

/* Makes the verdict; null when memory is out. */
static json_t *verdict_json(const struct judged *judged)
{
    const struct vbs_schedule *schedule = judged->schedule;
    const struct vbs_replay *replay = judged->replay;
    bool failed = false;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:s, s:I, s:I, s:f, s:f, s:f, s:I, s:b, s:b, s:{s:f, s:I, s:f}}",
        "format", "vbslab-replay-1", "model", schedule->model, "planner", schedule->planner,
        "request", (json_int_t)schedule->request, "io", vbs_io_word(schedule->io), "memory_bytes",
        (json_int_t)replay->memory_bytes, "n_steps", (json_int_t)replay->n_steps, "time_us",
        replay->time_us, "per_sample_us", replay->time_us / (double)schedule->request, "latency_us",
        replay->latency_us, "peak_bytes", (json_int_t)replay->peak_bytes, "fits", (int)replay->fits,
        "in_time", (int)replay->in_time, "predicted", "time_us", schedule->predicted.time_us,
        "peak_bytes", (json_int_t)schedule->predicted.peak_bytes, "latency_us",
        schedule->predicted.latency_us);

    cli_json_put(object, "profile", json_integer(judged->replay->profile_id), &failed);
    cli_json_put(object, "provenance", cli_provenance_json(judged->profile), &failed);
    cli_json_put(object, "latency_bound_us",
                 replay->latency_bound_us > 0 ? json_real(replay->latency_bound_us) : json_null(),
                 &failed);
    put_weights(judged, object, &failed);
    cli_json_put(object, "peak", step_json(judged, replay->peak_step), &failed);
    cli_json_put(object, "longest", longest_json(judged), &failed);
    cli_json_put(object, "violation", violation_json(judged), &failed);
    cli_json_put(object, "late", late_json(judged), &failed);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* Fails, and names the least budget of this schedule: its peak. */
static enum vbs_status refuse_memory(struct cli *cli, const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    const struct vbs_step *step = &judged->schedule->steps[replay->violation_step];
    char budget[48], over[48], least[48], behind[80];

    vbs_format_exact(replay->memory_bytes, budget, sizeof budget);
    vbs_format_exact(over_bytes(replay), over, sizeof over);
    vbs_format_exact(replay->peak_bytes, least, sizeof least);
    return vbs_fail(&cli->ctx, VBS_OVER_BUDGET,
                    "schedule breaks its budget of %s: step %lld, %slayer '%s'%s, is %s over; the "
                    "least budget that works is %s%s",
                    budget, (long long)replay->violation_step + 1, before_layer(step),
                    judged->profile->layers[step->layer].name,
                    behind_layer(step, behind, sizeof behind), over, least,
                    replay->in_time ? "" : "; it breaks its latency too");
}

/* Fails, and names the least bound of the latency of this schedule. */
static enum vbs_status refuse_latency(struct cli *cli, const struct judged *judged)
{
    const struct vbs_replay *replay = judged->replay;
    const struct vbs_step *step = &judged->schedule->steps[replay->late_step];
    char bound[32], late[32], least[32], samples[64], behind[80];

    cli_format_typed(replay->latency_bound_us, bound, sizeof bound);
    cli_format_time(late_us(replay), late, sizeof late);
    cli_format_typed(cli_round_up(replay->latency_us), least, sizeof least);
    name_samples(judged, replay->late_step, samples, sizeof samples);
    return vbs_fail(&cli->ctx, VBS_OVER_BUDGET,
                    "schedule breaks its latency of %s us: step %lld, layer '%s'%s, ends %s late "
                    "for %s; the least latency that works is %s us",
                    bound, (long long)replay->late_step + 1,
                    judged->profile->layers[step->layer].name,
                    behind_layer(step, behind, sizeof behind), late, samples, least);
}

static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct judged *judged = self;

    return vbs_replay_plot(ctx, judged->profile, judged->schedule, judged->replay, options, path);
}

/* Writes the trace in the form that the ending of its name asks for. */
static enum vbs_status write_trace(struct vbs_ctx *ctx, const struct judged *judged,
                                   const char *path)
{
    return cli_ends_in(path, ".json")
               ? vbs_replay_write_events(ctx, judged->profile, judged->schedule, judged->replay,
                                         path)
               : vbs_replay_write_csv(ctx, judged->profile, judged->schedule, judged->replay, path);
}

/* Prints the verdict in the requested form; a trace on standard output is printed alone. */
static enum vbs_status report(struct cli *cli, const char *const *values, struct judged *judged)
{
    const char *trace = cli_value(cli, values, "trace");

    if (trace)
        VBS_TRY(write_trace(&cli->ctx, judged, trace));
    VBS_TRY(cli_pictures_draw(cli, judged->pictures, draw, judged));
    if (cli_value(cli, values, "json"))
        VBS_TRY(cli_json_print(cli, verdict_json(judged), false));
    else if (!is_standard_output(trace))
        print_verdict(cli, judged);
    if (!judged->replay->fits)
        return refuse_memory(cli, judged);
    if (!judged->replay->in_time)
        return refuse_latency(cli, judged);
    return VBS_OK;
}

/* The limits by which a schedule is judged. */
struct limits {
    int64_t memory_bytes;       /* -1: the schedule's own */
    double latency_us;          /* -1: the schedule's own */
    int64_t profile_id;         /* 0: not from the store */
    struct cli_weights weights; /* the link for copies */
    struct cli_pictures pictures;
};

/* Puts the requested link into schedule, if there is one. */
static enum vbs_status set_copy(struct cli *cli, const struct vbs_profile *profile,
                                const struct cli_weights *asked, struct vbs_schedule *schedule)
{
    struct cli_weights weights = *asked;
    const char *own = schedule->copy.source;

    if (!weights.source && weights.bytes_per_us < 0 && weights.latency_us < 0)
        return VBS_OK;
    if (schedule->weights == VBS_WEIGHTS_EXCLUDED)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--copy, --copy-rate and --copy-latency are for weights included; the "
                        "schedule has them excluded");
    if (!weights.source && own && vbs_profile_copy(profile, own))
        weights.source = own;
    return cli_find_link(cli, &weights, profile, &schedule->copy);
}

static enum vbs_status judge(struct cli *cli, const char *const *values,
                             const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                             const struct limits *limits)
{
    struct vbs_schedule bounded = *schedule;
    struct vbs_replay *replay = NULL;
    enum vbs_status status = set_copy(cli, profile, &limits->weights, &bounded);

    if (limits->latency_us >= 0)
        bounded.latency_us = limits->latency_us;
    if (status == VBS_OK)
        status = vbs_replay_run(&cli->ctx, profile, &bounded, limits->memory_bytes, true, &replay);
    if (status == VBS_INVALID)
        status = cli_fail_origin(cli, status, profile, schedule);
    if (status == VBS_OK) {
        replay->profile_id = limits->profile_id;
        cli_warn_origin(cli, profile, schedule);
        status = report(cli, values,
                        &(struct judged){.profile = profile,
                                         .schedule = &bounded,
                                         .replay = replay,
                                         .pictures = &limits->pictures});
    }
    vbs_replay_free(replay);
    return status;
}

static enum vbs_status replay_file(struct cli *cli, const char *const *values,
                                   const struct vbs_profile *profile, const char *path,
                                   const struct limits *limits)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_schedule_read_json(&cli->ctx, path, &schedule);

    if (status == VBS_OK)
        status = judge(cli, values, profile, schedule, limits);
    vbs_schedule_free(schedule);
    return status;
}

static enum vbs_status read_limits(struct cli *cli, const char *const *values,
                                   struct limits *limits)
{
    const char *memory = cli_value(cli, values, "memory");
    const char *latency = cli_value(cli, values, "latency-us");

    limits->memory_bytes = -1;
    limits->latency_us = -1;
    VBS_TRY(cli_pictures_read(cli, values, "gantt", cli_value(cli, values, "gantt"),
                              &limits->pictures));
    VBS_TRY(cli_pictures_check(cli, &limits->pictures, cli_memory_series, CLI_N_MEMORY_SERIES));
    VBS_TRY(cli_read_copy(cli, values, &limits->weights));
    if (memory)
        VBS_TRY(vbs_parse_bytes(&cli->ctx, memory, &limits->memory_bytes));
    if (latency)
        VBS_TRY(cli_parse_positive(&cli->ctx, "--latency-us", latency, "microseconds",
                                   &limits->latency_us));
    return VBS_OK;
}

static int run_replay(struct cli *cli, const char *const *values, int n_arguments,
                      const char *const *arguments)
{
    struct vbs_profile *profile = NULL;
    struct limits limits = {0};
    enum vbs_status status;

    if (n_arguments != 2)
        return cli_usage(cli, "needs PROFILE and SCHEDULE.json, got %d argument%s", n_arguments,
                         n_arguments == 1 ? "" : "s");
    if (strcmp(arguments[0], "-") == 0 && strcmp(arguments[1], "-") == 0)
        return cli_usage(cli, "profile and schedule cannot both come from standard input");
    if (cli_value(cli, values, "json") && is_standard_output(cli_value(cli, values, "trace")))
        return cli_usage(cli, "--json and --trace cannot both go to standard output");
    status = read_limits(cli, values, &limits);
    if (status == VBS_OK)
        status = cli_load_profile(cli, arguments[0], &profile, &limits.profile_id);
    if (status == VBS_OK)
        status = replay_file(cli, values, profile, arguments[1], &limits);
    cli_pictures_clear(&limits.pictures);
    vbs_profile_free(profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"memory", "SIZE", "the budget to judge by (default: the schedule's own)"},
    {"latency-us", "L", "the latency to judge by (default: the schedule's own, if it has one)"},
    {CLI_OPTION_COPY},
    {CLI_OPTION_COPY_RATE},
    {CLI_OPTION_COPY_LATENCY},
    {"trace", "FILE",
     "write every step: bytes, times; as CSV or, where the name ends in .json, as trace events for "
     "Perfetto and chrome://tracing; - is standard output, alone"},
    {"json", NULL, "the verdict as JSON"},
    {"gantt", "FILE",
     "draw what runs when and what memory holds meanwhile, as " CLI_PICTURE_ENDINGS "; several "
     "with commas. Series are weights, tensors, workspace and budget"},
    CLI_OPTIONS_PICTURE,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {0},
};

const struct cli_command cli_replay = {
    .name = "replay",
    .summary = "judge a schedule: peak, time, latency, first step above the budget",
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
    .run = run_replay,
};
