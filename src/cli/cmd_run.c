#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/common.h"
#include "cli/run/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_RUNS 5

static bool is_standard(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* ---- What was asked for ---- */

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

/* Checks that a file can be made or replaced in the folder of path; or that the file exists and may
 * be written, or only read. */
static enum vbs_status check_folder(struct cli *cli, const char *option, const char *path,
                                    int there)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char *folder;
    bool writable;
    int reason;

    if (path && is_folder(path))
        return vbs_fail(&cli->ctx, VBS_IO, "--%s: cannot create '%.300s': %s", option, path,
                        strerror(EISDIR));
    if (!path || is_standard(path) || access(path, there) == 0)
        return VBS_OK;
    folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
    if (!folder)
        return vbs_no_memory(&cli->ctx);
    writable = access(folder, W_OK) == 0;
    reason = errno;
    free(folder);
    return writable ? VBS_OK
                    : vbs_fail(&cli->ctx, VBS_IO, "--%s: cannot create '%.300s': %s", option, path,
                               strerror(reason));
}

/* self: the command line. */
static enum vbs_status check_picture_folder(struct vbs_ctx *ctx, const char *item, void *self)
{
    (void)ctx;
    return check_folder(self, "gantt", item, W_OK);
}

static enum vbs_status check_folders(struct cli *cli, const char *const *values)
{
    static const char TRACE[] = "trace", WEIGHTS[] = "weights-file";
    const char *gantt = cli_value(cli, values, "gantt");

    const char *output;

    VBS_TRY(check_folder(cli, WEIGHTS, cli_value(cli, values, WEIGHTS), R_OK));
    for (int i = 0; (output = cli_nth_value(cli, "output", i)); i++)
        VBS_TRY(check_folder(cli, "output", run_file_of(output), W_OK));
    VBS_TRY(check_folder(cli, TRACE, cli_value(cli, values, TRACE), W_OK));
    return gantt ? cli_for_each(&cli->ctx, gantt, check_picture_folder, cli) : VBS_OK;
}

/* Checks that a file that is read only after measuring can be opened. */
static enum vbs_status check_readable(struct cli *cli, const char *path)
{
    if (!path || is_standard(path) || access(path, R_OK) == 0)
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_IO, "cannot open '%.300s': %s", path, strerror(errno));
}

/* Files that options name, up to one option. */
struct named_files {
    const struct cli *cli;
    const char *const *values;
    int n; /* options of WRITERS before it */
};

/* The options that name a file to write; the last one names several, with commas. */
static const char *const WRITERS[] = {"output", "trace", "weights-file", "gantt"};

#define N_WRITERS ((int)(sizeof WRITERS / sizeof WRITERS[0]))

/* Refuses a file of option n of WRITERS that an option before it names. self: struct named_files */
static enum vbs_status check_other(struct vbs_ctx *ctx, const char *item, void *self)
{
    const struct named_files *files = self;

    for (int i = 0; i < files->n; i++) {
        const char *other = cli_value(files->cli, files->values, WRITERS[i]);

        other = other && i == 0 ? run_file_of(other) : other;
        if (other && !is_standard(item) && strcmp(item, other) == 0)
            return vbs_fail(ctx, VBS_USAGE, "--%s and --%s name the same file, '%.100s'",
                            WRITERS[i], WRITERS[files->n], item);
    }
    return VBS_OK;
}

/* Refuses two options that write one file: the last one would be all that is left of it. */
static enum vbs_status check_distinct(struct cli *cli, const char *const *values)
{
    struct named_files files = {.cli = cli, .values = values};

    for (; files.n < N_WRITERS; files.n++) {
        const char *value = cli_value(cli, values, WRITERS[files.n]);

        if (value && files.n + 1 < N_WRITERS)
            VBS_TRY(check_other(&cli->ctx, value, &files));
        else if (value)
            VBS_TRY(cli_for_each(&cli->ctx, value, check_other, &files));
    }
    return VBS_OK;
}

/* Checks files whose faults would otherwise be found only after all the work. */
static enum vbs_status check_files(struct run_job *job)
{
    struct cli *cli = job->cli;
    const char *const *values = job->values;
    const char *output, *input;
    const char *weights = cli_value(cli, values, "weights-file");

    if (weights && (is_standard(weights) || !weights[0]))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--weights-file needs the name of a file; it is read again and again");
    for (int i = 0; (output = cli_nth_value(cli, "output", i)); i++)
        if (!is_standard(run_file_of(output)) && !cli_ends_in(output, ".npy"))
            return vbs_fail(&cli->ctx, VBS_USAGE, "--output '%.100s' must end in .npy", output);
    VBS_TRY(
        cli_pictures_read(cli, values, "gantt", cli_value(cli, values, "gantt"), &job->pictures));
    VBS_TRY(cli_pictures_check(cli, &job->pictures, cli_memory_series, CLI_N_MEMORY_SERIES));
    VBS_TRY(check_distinct(cli, values));
    for (int i = 0; (input = cli_nth_value(cli, "input", i)); i++)
        if (!cli_is_shape_choice(input))
            VBS_TRY(check_readable(cli, run_file_of(input)));
    return check_folders(cli, values);
}

/* Checks that at most one file is standard input, and one is standard output. */
static enum vbs_status check_streams(struct cli *cli, const char *const *values, const char *word)
{
    int n_in = is_standard(word) + is_standard(cli_value(cli, values, "schedule")) +
               run_uses_standard(cli, "input");
    int n_out = (cli_value(cli, values, "json") != NULL) + run_uses_standard(cli, "output") +
                is_standard(cli_value(cli, values, "trace"));

    if (n_in > 1)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "only one of PROFILE, --schedule and --input can come from standard input");
    if (n_out > 1)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "only one of --json, --output and --trace can go to standard output");
    return VBS_OK;
}

#define MOST_SECONDS 86400

static enum vbs_status read_runs(struct run_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    const char *runs = cli_value(job->cli, job->values, "runs");
    const char *warm_up = cli_value(job->cli, job->values, "warmup");
    const char *duration = cli_value(job->cli, job->values, "duration");

    job->n_runs = duration ? 1 : DEFAULT_RUNS;
    job->n_warm_up = 1;
    if (runs)
        VBS_TRY(vbs_parse_int(ctx, "--runs", runs, 1, RUN_MOST_RUNS, &job->n_runs));
    if (warm_up)
        VBS_TRY(vbs_parse_int(ctx, "--warmup", warm_up, 0, RUN_MOST_RUNS, &job->n_warm_up));
    if (duration)
        VBS_TRY(cli_parse_positive(ctx, "--duration", duration, "seconds", &job->duration_s));
    job->measure_s = VBS_MEASURE_S;
    VBS_TRY(cli_read_seconds(job->cli, job->values, "measure-limit", &job->measure_s));
    if (job->duration_s > MOST_SECONDS)
        return vbs_fail(ctx, VBS_USAGE, "--duration '%.40s' is above the longest, %d seconds",
                        duration, MOST_SECONDS);
    return VBS_OK;
}

/* Checks the options that a planner would refuse, before a profile is measured for it. */
static enum vbs_status check_planning(struct cli *cli, const char *const *values)
{
    static const char *const SIZES[] = {"memory", "total-memory"};
    struct vbs_solver_options options = {.struct_size = sizeof(struct vbs_solver_options)};
    struct cli_task task;
    int64_t bytes;

    VBS_TRY(cli_read_task(cli, values, &task));
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++)
        if (cli_value(cli, values, SIZES[i]))
            VBS_TRY(vbs_parse_bytes(&cli->ctx, cli_value(cli, values, SIZES[i]), &bytes));
    return cli_read_solver_options(cli, values, task.planner, &options);
}

static enum vbs_status check_weights(struct cli *cli, const char *const *values)
{
    struct cli_task task;

    if (cli_value(cli, values, "schedule"))
        return VBS_OK;
    VBS_TRY(cli_read_task(cli, values, &task));
    return run_check_weights(cli, values, task.weights.weights);
}

/* ---- Results ---- */

/* self: the job. */
static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct run_job *job = self;

    return vbs_executed_plot(ctx, job->profile, job->schedule, job->replay, &job->times.fastest,
                             options, path);
}

/* Writes the trace in the form that the ending of its name asks for. */
static enum vbs_status write_trace(struct run_job *job, const char *path)
{
    enum vbs_status (*write)(struct vbs_ctx *, const struct vbs_profile *,
                             const struct vbs_schedule *, const struct vbs_replay *,
                             const struct vbs_exec_report *, const char *) =
        cli_ends_in(path, ".json") ? vbs_executed_write_events : vbs_executed_write_csv;

    return write(&job->cli->ctx, job->profile, job->schedule, job->replay, &job->times.fastest,
                 path);
}

static enum vbs_status write_timeline(struct run_job *job)
{
    const char *trace = cli_value(job->cli, job->values, "trace");

    if (trace)
        VBS_TRY(write_trace(job, trace));
    return cli_pictures_draw(job->cli, &job->pictures, draw, job);
}

/* Prints the report. A file on standard output is printed alone, without the table. */
static enum vbs_status report_run(struct run_job *job)
{
    VBS_TRY(run_write_outputs(job));
    VBS_TRY(write_timeline(job));
    if (cli_value(job->cli, job->values, "json"))
        VBS_TRY(run_print_json(job));
    else if (!run_uses_standard(job->cli, "output") &&
             !is_standard(cli_value(job->cli, job->values, "trace")))
        VBS_TRY(run_print_text(job));
    return run_judge(job);
}

/* Says what the prediction does not know. */
static void note_calibration(struct run_job *job, const char *subject)
{
    const struct vbs_profile *profile = job->profile;
    const struct vbs_copy *copy =
        job->schedule->copy.source ? vbs_profile_copy(profile, job->schedule->copy.source) : NULL;
    bool slowed = !copy || copy->link.beside || job->replay->n_copies == 0;
    bool timed = profile->speed.flops_per_us > 0 || !vbs_exec_session(job->exec)->ops->speed;
    struct cli_suggestion command;
    char id[32];

    if (slowed && timed)
        return;
    snprintf(id, sizeof id, "%lld", (long long)job->profile_id);
    cli_note(job->cli,
             "the prediction rests on no calibration%s%s; '%s' makes a profile that has one",
             timed ? " of copies from " : "", timed ? copy->source : "",
             cli_suggest(job->cli, "calibrate",
                         job->profile_id             ? id
                         : strcmp(subject, "-") == 0 ? "FILE.csv"
                                                     : subject,
                         cli_value(job->cli, job->values, "model"), &command));
}

static enum vbs_status execute(struct run_job *job, const char *word)
{
    VBS_TRY(run_choose_inputs(job, word));
    VBS_TRY(run_find_subject(job, word));
    VBS_TRY(run_learn(job));
    VBS_TRY(run_prepare(job));
    note_calibration(job, word);
    VBS_TRY(run_measure_within(job));
    if (cli_value(job->cli, job->values, "check"))
        VBS_TRY(run_compare(job));
    run_keep_peak(job);
    return report_run(job);
}

static void clear_job(struct run_job *job)
{
    vbs_exec_free(job->exec);
    run_free_outputs(job, job->outputs);
    run_free_files(job);
    free(job->input);
    free(job->times.steps);
    cli_pictures_clear(&job->pictures);
    vbs_replay_free(job->replay);
    vbs_schedule_free(job->schedule);
    vbs_learned_free(job->learned);
    vbs_network_free(job->owned);
    vbs_profile_free(job->profile);
}

/* Before anything is loaded or measured. */
static enum vbs_status check_options(struct run_job *job, const char *word)
{
    VBS_TRY(read_runs(job));
    if (!cli_value(job->cli, job->values, "schedule"))
        VBS_TRY(check_planning(job->cli, job->values));
    VBS_TRY(run_check_learn(job));
    VBS_TRY(check_files(job));
    VBS_TRY(check_weights(job->cli, job->values));
    return check_streams(job->cli, job->values, word);
}

static int run_run(struct cli *cli, const char *const *values, int n_arguments,
                   const char *const *arguments)
{
    struct run_job job = {.cli = cli, .values = values, .takes_data = true, .peak_bytes = -1};
    enum vbs_status status;

    if (n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE or MODEL, got %d", n_arguments);
    if (!cli_value(cli, values, "schedule") && !cli_value(cli, values, "memory") &&
        !cli_value(cli, values, "total-memory"))
        return cli_usage(cli, "needs --memory, --total-memory or --schedule");
    if (cli_value(cli, values, "memory") && cli_value(cli, values, "total-memory"))
        return cli_usage(cli, "takes one of --memory and --total-memory");
    if (cli_value(cli, values, "schedule") && cli_value(cli, values, "planner"))
        return cli_usage(cli, "takes one of --schedule and --planner");
    if (cli_value(cli, values, "steps") && !cli_value(cli, values, "json"))
        return cli_usage(cli, "--steps adds to --json, which is not given");
    status = check_options(&job, arguments[0]);
    if (status == VBS_OK)
        status = execute(&job, arguments[0]);
    clear_job(&job);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {CLI_OPTION_PLANNER},
    {"memory", "SIZE", "the budget: the size of the arena (default: the schedule's)"},
    {"total-memory", "SIZE",
     "in place of --memory: the whole process takes at most SIZE while it runs the network, "
     "program, libraries, kernels and weights included"},
    {"schedule", "FILE.json", "run this schedule; - is standard input"},
    CLI_OPTIONS_PROBLEM,
    {CLI_OPTION_TIME_LIMIT("20; with --total-memory 10 for each plan")},
    {CLI_OPTION_NODE_LIMIT},
    {CLI_OPTION_SEED},
    {"learn", "SECONDS",
     "first execute this plan, the best with one batch for all layers (weights included: or the "
     "one "
     "of vdnn or mmcnn that is faster), and others by turns, for so long; then run the fastest. "
     "What "
     "was learned becomes part of the profile"},
    {"model", "MODEL", "the network, where the profile does not say where it is"},
    {"input", "[NAME=]FILE.npy",
     "samples, of shape [R, ...] as the network's input (default: seeded values), all of which are "
     "the request unless --request says another number; - is standard input. Of several inputs "
     "NAME=FILE.npy, repeated for all. [NAME=]CxHxW: a size that the file "
     "leaves open"},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"measure-limit", "SECONDS",
     "where the model has no profile: time until there is one (default 60), whatever the machine "
     "does; batches and algorithms for which there is no time are left out, all but one kernel of "
     "each layer"},
    {"output", "[NAME=]FILE.npy",
     "write the first output; further ones go to FILE-NAME.npy. NAME=FILE.npy, which may be "
     "repeated, writes the output of that name. - is standard output, alone"},
    {"runs", "N",
     "timed runs, at least (default 5; 1 with --duration); percentile p90 needs 10 runs, p99 100. "
     "Runs that lose time to other processes are repeated, up to 3 N runs in all"},
    {"duration", "SECONDS", "time of the timed runs together, at least"},
    {"warmup", "N", "runs before the timed ones (default 1)"},
    {"threads", "N", "threads that compute (default: as the profile was measured)"},
    {"weights-file", "FILE",
     "weights included: the file of packed weights, written where it is not there or does not suit "
     "(default: a nameless one for this run)"},
    {"direct", NULL, "weights included: copies bypass the page cache"},
    {"debug-checks", NULL,
     "fill memory that is not in use with signalling values, and check that nobody changes it; "
     "slow"},
    {"check", NULL, "compare the outputs with those of one sample at a time"},
    {"check-finite", NULL,
     "end with an error at the first layer whose output has an infinite number or none (NaN); "
     "fused "
     "activations may hide them"},
    {"trace", "FILE",
     "write every step of the fastest run, planned and executed; as CSV or, where the name ends in "
     ".json, as trace events for Perfetto and chrome://tracing; - is standard output, alone"},
    {"gantt", "FILE",
     "draw the fastest run below what was planned, as " CLI_PICTURE_ENDINGS "; several with "
     "commas. Series are weights, tensors, workspace and budget"},
    CLI_OPTIONS_PICTURE,
    {"profile", NULL, "a table of the layers: times planned and in the fastest run"},
    {"json", NULL, "the result as JSON"},
    {"steps", NULL,
     "with --json: the schedule, and the times of every step of the fastest run, for "
     "'vbslab report --run'"},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_run = {
    .name = "run",
    .summary = "execute for real in an arena of the budget; measured beside predicted",
    .usage = "PROFILE|MODEL (--memory SIZE | --total-memory SIZE | --schedule FILE.json) [options]",
    .options = OPTIONS,
    .old_names =
        (const struct cli_old_name[]){{"repeat", "runs"}, {"paranoid", "debug-checks"}, {0}},
    .arguments =
        (const struct cli_argument[]){{CLI_ARGUMENT_PROFILE},
                                      {"MODEL",
                                       "a network of 'vbslab models', or a .net, .onnx or .vbz "
                                       "file: its newest profile; measured first where "
                                       "there is none"},
                                      {CLI_ARGUMENT_SIZE},
                                      {0}},
    .example = "vbslab run googlenet --memory 20MiB --check\n"
               "vbslab run alexnet --weights included --memory 30MiB --request 64 --gantt run.svg",
    .input_files = true,
    .run = run_run,
};
