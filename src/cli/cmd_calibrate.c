#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/common.h"
#include "cli/print/print.h"
#include "cli/run/run.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The profile that is calibrated, and the result. */
struct calibrate_task {
    struct run_job job; /* its profile, network, backend and threads */
    double time_limit_s;
    struct vbs_calibration *calibration;
    int64_t id; /* of the calibrated profile */
};

/* ---- The session ---- */

/* Checks that the session has the layers of the profile. */
static enum vbs_status check_layers(struct calibrate_task *task, const struct vbs_session *session)
{
    const struct vbs_profile *profile = task->job.profile;
    bool same = session->n_layers == profile->n_layers;

    for (int k = 1; k <= profile->n_layers && same; k++)
        same = strcmp(session->layers[k].name, profile->layers[k].name) == 0 &&
               session->layers[k].out_bytes == profile->layers[k].out_bytes;
    return same ? VBS_OK
                : vbs_fail(&task->job.cli->ctx, VBS_INVALID,
                           "the profile is of another network or another version of the library: "
                           "its layers are not those that '%.100s' has here",
                           task->job.network->name);
}

static enum vbs_status measure(struct calibrate_task *task, struct vbs_session *session)
{
    const struct vbs_profile *profile = task->job.profile;
    const char *sources[VBS_MAX_COPIES];

    VBS_TRY(check_layers(task, session));
    for (int i = 0; i < profile->n_copies; i++)
        sources[i] = profile->copies[i].source;
    return cli_calibrate_session(task->job.cli, session, profile->n_copies, sources,
                                 task->time_limit_s, 0, &task->calibration);
}

/* Opens a session of the profile's kernels at batch 1 and at the one that is calibrated. */
static enum vbs_status open_and_measure(struct calibrate_task *task)
{
    struct run_job *job = &task->job;
    const struct vbs_profile *profile = job->profile;
    int batches[2] = {1};
    struct vbs_backend_options options = {.batches = batches,
                                          .n_batches = 1,
                                          .threads = job->threads,
                                          .stripes = vbs_profile_has_stripes(profile)};
    struct vbs_session *session = NULL;
    enum vbs_status status;

    for (int i = 1; i < profile->n_batches && profile->batches[i] <= CLI_MOST_CALIBRATED; i++) {
        batches[1] = profile->batches[i];
        options.n_batches = 2;
    }
    VBS_TRY(cli_open_session(job->cli, job->backend, job->network, &options, &session));
    status = measure(task, session);
    session->ops->close(session);
    return status;
}

/* ---- The result ---- */

/* Stores the calibrated profile: a copy of the one in the store, or what the file says. */
static enum vbs_status save(struct calibrate_task *task)
{
    struct run_job *job = &task->job;
    struct vbs_ctx *ctx = &job->cli->ctx;
    struct vbs_profile *calibrated = NULL;
    struct vbs_store *store = NULL;
    enum vbs_status status = cli_open_store(job->cli, true, &store);

    if (status == VBS_OK && job->profile_id > 0) {
        status = vbs_store_calibrate(ctx, store, job->profile_id, task->calibration, &task->id);
    } else if (status == VBS_OK) {
        status = vbs_profile_calibrate(ctx, job->profile, task->calibration, &calibrated);
        if (status == VBS_OK)
            status = vbs_store_save(ctx, store, calibrated, &task->id);
        vbs_profile_free(calibrated);
    }
    vbs_store_close(store);
    return status;
}

static void add_speed(struct cli_table *table, const char *what, double before, double now,
                      const char *unit)
{
    char number[32];

    cli_table_add(table, "%s", what);
    cli_table_add(table, "%s",
                  before > 0 ? cli_format_number(before / 1e3, number, sizeof number) : "");
    cli_table_add(table, "%s", now > 0 ? cli_format_number(now / 1e3, number, sizeof number) : "");
    cli_table_add(table, "%s", unit);
}

static void add_factor(struct cli_table *table, const char *what, const char *source, double before,
                       double now)
{
    cli_table_add(table, "%s %s", what, source);
    if (before > 0)
        cli_table_add(table, "%.2f", before);
    else
        cli_table_add(table, "%s", "");
    cli_table_add(table, "%.2f", now);
    cli_table_add(table, "%s", "times as long");
}

/* Gives the median of the factors of layers; 0 without any. */
static double median_factor(const double *beside, int n_layers, double *scratch)
{
    if (!beside)
        return 0;
    memcpy(scratch, beside + 1, (size_t)n_layers * sizeof *scratch);
    gsl_sort(scratch, 1, (size_t)n_layers);
    return gsl_stats_median_from_sorted_data(scratch, 1, (size_t)n_layers);
}

static enum vbs_status print_text(struct calibrate_task *task)
{
    static const struct cli_column COLUMNS[] = {
        {"", false}, {"before", true}, {"now", true}, {"", false}};
    const struct vbs_profile *profile = task->job.profile;
    const struct vbs_speed *before = &profile->speed, *now = &task->calibration->speed;
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};
    double *scratch = malloc((size_t)profile->n_layers * sizeof *scratch);

    if (!scratch)
        return vbs_no_memory(&task->job.cli->ctx);
    add_speed(&table, "arithmetic", before->flops_per_us, now->flops_per_us, "Gflop/s");
    add_speed(&table, "reading from the last-level cache", before->cache_bytes_per_us,
              now->cache_bytes_per_us, "GB/s");
    add_speed(&table, "reading from memory", before->memory_bytes_per_us, now->memory_bytes_per_us,
              "GB/s");
    for (int i = 0; i < task->calibration->n_sources; i++) {
        const struct vbs_calibrated_source *made = &task->calibration->sources[i];
        const struct vbs_copy *copy = vbs_profile_copy(profile, made->source);
        const double *old = copy ? copy->link.beside : NULL;

        add_factor(&table, "copies beside layers, from", made->source, old ? old[0] : 0,
                   made->beside[0]);
        add_factor(&table, "layers beside copies from", made->source,
                   median_factor(old, profile->n_layers, scratch),
                   median_factor(made->beside, profile->n_layers, scratch));
    }
    free(scratch);
    VBS_TRY(cli_table_print(task->job.cli, &table));
    printf("%lld\n", (long long)task->id);
    return VBS_OK;
}

static json_t *source_json(const struct vbs_calibrated_source *source, int n_layers, bool *failed)
{
    json_t *object = json_object(), *layers = json_array();

    for (int k = 1; k <= n_layers; k++)
        cli_json_append(layers, json_real(source->beside[k]), failed);
    cli_json_put(object, "source", json_string(source->source), failed);
    cli_json_put(object, "copies", json_real(source->beside[0]), failed);
    cli_json_put(object, "layers", layers, failed);
    return object;
}

static enum vbs_status print_json(struct calibrate_task *task)
{
    const struct vbs_calibration *calibration = task->calibration;
    json_t *root = json_object(), *sources = json_array();
    bool failed = false;

    for (int i = 0; i < calibration->n_sources; i++)
        cli_json_append(sources,
                        source_json(&calibration->sources[i], task->job.profile->n_layers, &failed),
                        &failed);
    cli_json_put(root, "format", json_string("vbslab-calibration-1"), &failed);
    cli_json_put(root, "profile", json_integer(task->id), &failed);
    cli_json_put(root, "speed", cli_speed_json(&calibration->speed, &failed), &failed);
    cli_json_put(root, "beside", sources, &failed);
    return cli_json_print(task->job.cli, root, failed);
}

/* ---- The machine ---- */

static enum vbs_status print_machine(struct cli *cli, const struct vbs_predict_report *report,
                                     bool as_json)
{
    bool failed = false;
    json_t *root;

    if (!as_json) {
        printf("kernel times of this machine: %d, of %d networks, %d of them measured now in %.0f "
               "s\n",
               report->n_kernels, report->n_networks, report->n_measured, report->measured_s);
        return VBS_OK;
    }
    root = json_object();
    cli_json_put(root, "format", json_string("vbslab-machine-calibration-1"), &failed);
    cli_json_put(root, "networks", json_integer(report->n_networks), &failed);
    cli_json_put(root, "measured", json_integer(report->n_measured), &failed);
    cli_json_put(root, "kernels", json_integer(report->n_kernels), &failed);
    cli_json_put(root, "samples", json_integer(report->n_samples), &failed);
    cli_json_put(root, "measured_s", json_real(report->measured_s), &failed);
    return cli_json_print(cli, root, failed);
}

/* Learns how fast the kernels of this machine are, for predictions. */
static enum vbs_status calibrate_machine(struct cli *cli, const char *const *values,
                                         double time_limit_s)
{
    struct cli_measuring how = {.backend = vbs_backend_at(0)};
    const char *threads = cli_value(cli, values, "threads");
    const char *backend = cli_value(cli, values, "backend");
    struct vbs_predict_report report;
    int64_t n = 0;
    enum vbs_status status;

    if (backend)
        VBS_TRY(vbs_backend_find(&cli->ctx, backend, &how.backend));
    if (threads)
        VBS_TRY(vbs_parse_int(&cli->ctx, "--threads", threads, 1, 4096, &n));
    how.prepare.threads = (int)n;
    if (!how.backend->device && !how.backend->modelled) {
        VBS_TRY(cli_check_threads(cli, how.prepare.threads));
        if (cli_pin_threads(cli, &how.prepare.threads) && !threads)
            how.prepare.threads = 0;
    }
    status = cli_calibrate_machine(cli, &how, time_limit_s, cli_value(cli, values, "again") != NULL,
                                   &report);
    if (status == VBS_INTERRUPTED)
        return vbs_fail(&cli->ctx, status, "interrupted; the same command goes on from here");
    VBS_TRY(status);
    return print_machine(cli, &report, cli_value(cli, values, "json") != NULL);
}

static int run_calibrate(struct cli *cli, const char *const *values, int n_arguments,
                         const char *const *arguments)
{
    struct calibrate_task task = {
        .job = {.cli = cli, .values = values, .needs_same_machine = true}};
    const char *limit = cli_value(cli, values, "time-limit");
    bool machine = cli_value(cli, values, "machine") != NULL;
    enum vbs_status status = VBS_OK;

    if (machine && n_arguments > 0)
        return cli_usage(cli, "--machine needs no PROFILE");
    if (!machine && n_arguments != 1)
        return cli_usage(cli, "needs one PROFILE or MODEL, got %d", n_arguments);
    if (!machine && cli_value(cli, values, "backend"))
        return cli_usage(cli, "--backend needs --machine: a profile has its backend");
    if (!machine && cli_value(cli, values, "again"))
        return cli_usage(cli, "--again needs --machine");
    if (limit)
        status =
            cli_parse_positive(&cli->ctx, "--time-limit", limit, "seconds", &task.time_limit_s);
    if (machine)
        return cli_end(cli, status == VBS_OK ? calibrate_machine(cli, values, task.time_limit_s)
                                             : status);
    if (status == VBS_OK)
        status = run_find_subject(&task.job, arguments[0]);
    if (status == VBS_OK)
        status = open_and_measure(&task);
    if (status == VBS_OK)
        status = save(&task);
    if (status == VBS_OK)
        status = cli_value(cli, values, "json") ? print_json(&task) : print_text(&task);
    vbs_calibration_free(task.calibration);
    vbs_network_free(task.job.owned);
    vbs_profile_free(task.job.profile);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"machine", NULL,
     "measure a set of small networks, in about two minutes, from which times of networks that "
     "were "
     "never measured are predicted ('vbslab measure MODEL --predict', and 'vbslab run')"},
    {"again", NULL, "with --machine: measure all of them, though the store has their times"},
    {"backend", "NAME", "with --machine: the backend that is measured (default: onednn)"},
    {"model", "MODEL", "the network, where the profile does not say where it is"},
    {"threads", "N", "threads that compute (default: as the profile was measured)"},
    {"time-limit", "SECONDS",
     "of measuring; three passes of each kind come first (default: 6 seconds; with --machine: "
     "120)"},
    {"json", NULL, "the calibration as JSON"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {0},
};

const struct cli_command cli_calibrate = {
    .name = "calibrate",
    .summary = "measure how fast this machine is now, and how much copies of weights and layers "
               "slow each other down; store a profile that says so",
    .usage = "PROFILE|MODEL|--machine [--time-limit SECONDS] [--threads N] [--json]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_PROFILE}, {0}},
    .example = "vbslab calibrate googlenet\n"
               "vbslab calibrate --machine",
    .run = run_calibrate,
};
