#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/cli.h"
#include "cli/common/pin.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is asked for, the same for every model. */
struct task {
    const struct vbs_backend *backend;
    int *batches;
    struct vbs_backend_options prepare;
    struct vbs_measure_options options;
    struct vbs_shape input;
    bool has_input;
    bool no_copies;
    struct vbs_store *store;
};

/* ---- Reading the options ---- */

static enum vbs_status read_seconds(struct cli *cli, const char *text, double *seconds)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !(value > 0 && isfinite(value)))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--time-limit '%s' is not a number of seconds above 0", text);
    *seconds = value;
    return VBS_OK;
}

static enum vbs_status read_batches(struct cli *cli, const char *text, struct task *task)
{
    enum vbs_status status =
        vbs_parse_batches(&cli->ctx, text, &task->batches, &task->prepare.n_batches);

    if (status != VBS_OK)
        return status;
    task->prepare.batches = task->batches;
    if (task->batches[0] != 1)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--batches '%s' lacks 1, which every profile must have; write '1,%s'", text,
                        text);
    return VBS_OK;
}

static enum vbs_status read_numbers(struct cli *cli, const char *const *values, struct task *task)
{
    const char *threads = cli_value(cli, values, "threads");
    const char *limit = cli_value(cli, values, "time-limit");
    const char *seed = cli_value(cli, values, "seed");
    int64_t n_threads = 0, seed_number = 1;
    enum vbs_status status = VBS_OK;

    if (threads)
        status = vbs_parse_int(&cli->ctx, "--threads", threads, 1, 4096, &n_threads);
    if (status == VBS_OK && seed)
        status = vbs_parse_int(&cli->ctx, "--seed", seed, 0, INT64_MAX, &seed_number);
    if (status == VBS_OK && limit)
        status = read_seconds(cli, limit, &task->options.time_limit_s);
    task->prepare.threads = (int)n_threads;
    task->options.seed = (uint64_t)seed_number;
    return status;
}

static enum vbs_status read_task(struct cli *cli, const char *const *values, struct task *task)
{
    const char *backend = cli_value(cli, values, "backend");
    const char *batches = cli_value(cli, values, "batches");
    const char *input = cli_value(cli, values, "input");
    enum vbs_status status;

    status =
        vbs_backend_find(&cli->ctx, backend ? backend : vbs_backend_at(0)->name, &task->backend);
    if (status == VBS_OK)
        status = read_batches(cli, batches ? batches : "1-12", task);
    if (status == VBS_OK && input)
        status = vbs_shape_parse(&cli->ctx, input, &task->input);
    task->has_input = input != NULL;
    task->no_copies = cli_value(cli, values, "no-copies") != NULL;
    return status == VBS_OK ? read_numbers(cli, values, task) : status;
}

static enum vbs_status check_backend(struct cli *cli, const struct vbs_backend *backend)
{
    struct vbs_backend_info info;

    backend->probe(&info);
    if (info.built && info.usable)
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_UNSUPPORTED, "backend '%s' cannot be used here: %s",
                    backend->name, info.why);
}

/* ---- Measuring ---- */

/* What came out, as notes of the profile and for the line on standard error. */
static void describe(const struct vbs_session *session, const struct vbs_measure_options *options,
                     const struct vbs_measure_report *report, char *text, size_t size)
{
    double outside = report->total_s > 0 ? 1 - report->timed_s / report->total_s : 0;
    int length;

    text[0] = '\0';
    if (session->modelled)
        return;
    length = snprintf(text, size, "%d of %d kernels have a 95%% interval within %g%%",
                      report->n_judged - report->n_loose, report->n_judged,
                      100 * options->relative_interval);
    if (report->n_loose > 0)
        length += snprintf(text + length, size - (size_t)length, " (worst %.1f%%)",
                           100 * report->worst_interval);
    snprintf(text + length, size - (size_t)length,
             ", %lld samples and %lld rejected as disturbed, %.1f%% of the time outside kernels",
             (long long)report->n_samples, (long long)report->n_rejected, 100 * outside);
}

static void note_end(struct cli *cli, const char *model, const struct vbs_session *session,
                     const struct vbs_measure_report *report, int64_t id, bool resumed,
                     const char *what)
{
    cli_note(cli, "%s: profile %lld: %d rows in %.1f s%s%s%s", model, (long long)id,
             session->n_kernels, report->total_s, resumed ? " (resumed)" : "", what[0] ? ": " : "",
             what);
    if (2 * report->n_loose > report->n_judged)
        cli_warn(cli,
                 "%s: most times are noise: the machine was busy, or --time-limit too short; gains "
                 "of plans from this profile will be noise too",
                 model);
}

/* The folder of the store, or, where no file can be made there, $TMPDIR. */
static char *copy_folder(const struct cli *cli)
{
    const char *slash = strrchr(cli->db_path, '/'), *other = getenv("TMPDIR");
    char *folder = slash ? strndup(cli->db_path, (size_t)(slash - cli->db_path + 1)) : strdup(".");

    if (!folder || !other || !other[0] || access(folder, W_OK) == 0)
        return folder;
    free(folder);
    return strdup(other);
}

/* Copies come first, out of the time limit; notes are theirs. */
static enum vbs_status measure_copies(struct cli *cli, const struct task *task,
                                      struct vbs_session *session,
                                      const struct vbs_sample_sink *sink,
                                      struct vbs_measure_options *options, char *notes, size_t size)
{
    char *folder = copy_folder(cli);
    struct vbs_copy_options copies = {
        .folder = folder, .time_limit_s = options->time_limit_s, .progress = cli_progress(cli)};
    struct vbs_copy_report report = {0};
    enum vbs_status status = folder ? VBS_OK : vbs_no_memory(&cli->ctx);

    notes[0] = '\0';
    if (status == VBS_OK && !task->no_copies)
        status = vbs_measure_copies(&cli->ctx, session, &copies, sink, &report);
    cli_progress_end(cli);
    free(folder);
    if (status != VBS_OK)
        return status;
    if (report.warning[0])
        cli_warn(cli, "copies of weights are not measured: %s", report.warning);
    if (options->time_limit_s > 0)
        options->time_limit_s = fmax(1e-3, options->time_limit_s - report.total_s);
    snprintf(notes, size, "%s", report.notes);
    return VBS_OK;
}

/* Measures what the session offers into the store; *id is the finished profile's. */
static enum vbs_status measure(struct cli *cli, const struct task *task,
                               const struct vbs_network *network, struct vbs_session *session,
                               int64_t *id)
{
    struct vbs_measure_options options = task->options;
    struct vbs_measure_report report;
    struct vbs_store_run *run = NULL;
    char copies[200], what[256], notes[720];
    enum vbs_status status;

    status = vbs_store_run_begin(&cli->ctx, task->store, vbs_network_hash(network), session, &run);
    if (status != VBS_OK)
        return status;
    status = measure_copies(cli, task, session, vbs_store_run_sink(run), &options, copies,
                            sizeof copies);
    if (status == VBS_OK) {
        options.progress = cli_progress(cli);
        status = vbs_measure(&cli->ctx, session, &options, vbs_store_run_sink(run), &report);
        cli_progress_end(cli);
    }
    if (status == VBS_OK) {
        const char *before = session->provenance.notes;

        describe(session, &options, &report, what, sizeof what);
        snprintf(notes, sizeof notes, "%s%s%s%s%s", before, before[0] && what[0] ? "; " : "", what,
                 copies[0] && (before[0] || what[0]) ? "; " : "", copies);
        status = vbs_store_run_finish(&cli->ctx, run, notes, id);
    }
    if (status == VBS_OK)
        note_end(cli, network->name, session, &report, *id, vbs_store_run_resumed(run), what);
    vbs_store_run_free(run);
    return status;
}

static enum vbs_status measure_model(struct cli *cli, const struct task *task, const char *model,
                                     const struct vbs_network *network)
{
    struct vbs_session *session = NULL;
    struct vbs_progress progress = cli_progress(cli);
    enum vbs_status status;
    int64_t id;

    if (progress.report)
        progress.report(progress.self, 0, -1, "preparing kernels");
    status = task->backend->open(&cli->ctx, network, &task->prepare, &session);
    cli_progress_end(cli);
    if (status == VBS_OK) {
        status = measure(cli, task, network, session, &id);
        session->ops->close(session);
    }
    if (status == VBS_INTERRUPTED)
        return vbs_fail(&cli->ctx, status,
                        "interrupted; 'vbslab measure %s' with the same options goes on from here",
                        model);
    if (status != VBS_OK)
        return vbs_fail_within(&cli->ctx, status, network->name);
    printf("%lld\n", (long long)id);
    fflush(stdout);
    return VBS_OK;
}

/* All are loaded before the first is measured, so that a wrong name shows at once. */
static enum vbs_status measure_all(struct cli *cli, struct task *task, int n,
                                   const char *const *models)
{
    struct vbs_network **networks = calloc((size_t)n, sizeof(struct vbs_network *));
    enum vbs_status status = networks ? VBS_OK : vbs_no_memory(&cli->ctx);

    for (int i = 0; i < n && status == VBS_OK; i++)
        status = vbs_network_load(&cli->ctx, models[i], task->has_input ? &task->input : NULL,
                                  &networks[i]);
    if (status == VBS_OK)
        status = check_backend(cli, task->backend);
    if (status == VBS_OK)
        status = vbs_store_open(&cli->ctx, cli->db_path, VBS_STORE_WRITE, &task->store);
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = measure_model(cli, task, models[i], networks[i]);
    vbs_store_close(task->store);
    for (int i = 0; i < n && networks; i++)
        vbs_network_free(networks[i]);
    free(networks);
    return status;
}

static int run(struct cli *cli, const char *const *values, int n_arguments,
               const char *const *arguments)
{
    struct task task = {.options.relative_interval = 0.02};
    enum vbs_status status;

    if (n_arguments == 0)
        return cli_usage(cli, "which MODEL? 'vbslab models' lists the built-in ones");
    status = read_task(cli, values, &task);
    if (status == VBS_OK) {
        if (strcmp(task.backend->name, "onednn") == 0)
            cli_pin_threads(cli, &task.prepare.threads);
        else if (task.prepare.threads)
            cli_warn(cli, "--threads is ignored: backend '%s' %s", task.backend->name,
                     task.backend->modelled ? "runs nothing" : "has none of its own");
        status = measure_all(cli, &task, n_arguments, arguments);
    }
    free(task.batches);
    return status == VBS_OK ? cli_finish(cli) : cli_fail(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"backend", "NAME", "what runs the layers: 'vbslab backends' lists them (default: onednn)"},
    {"batches", "LIST", "batch sizes, 1 among them (default: 1-12)"},
    {"threads", "N", "threads that compute (default: as many as this process may use)"},
    {"input", "CxHxW", "another input shape, as 3x16x224x224 (default: the model's own)"},
    {"time-limit", "SECONDS",
     "when to stop refining each model; every kernel gets 5 runs first (default: 60)"},
    {"no-copies", NULL, "do not measure how fast weights can be copied from page cache and disk"},
    {"seed", "N", "decides the order of batches and algorithms (default: 1)"},
    {NULL, NULL, NULL},
};

const struct cli_command cli_measure = {
    .name = "measure",
    .summary = "measure models into the store, going on where a broken-off run ended; prints the "
               "ids of the profiles",
    .usage = "MODEL... [--backend NAME] [--batches LIST] [--threads N] [--input CxHxW] "
             "[--time-limit SECONDS] [--seed N] [--no-copies]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL},
                                               {"LIST", "12, 1-12, 1,2,4 or 1-4,8"},
                                               {0}},
    .example = "vbslab measure alexnet googlenet --batches 1-12",
    .run = run,
};
