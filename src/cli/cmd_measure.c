#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_PERCENT 50
#define UNTIL_S      600 /* limit of the time with --until PERCENT */

/* The options of the measurement, which are the same for every model. */
struct measure_task {
    struct cli_measuring how;
    int *batches;
    bool oversubscribe;
    bool predict; /* instead of measuring */
    struct vbs_store *store;
};

/* ---- Reading the options ---- */

/* Reads the precision that is asked for, in percent. Without a limit of time there is a longer one
 * then. */
static enum vbs_status read_percent(struct cli *cli, const char *text, struct measure_task *task)
{
    char *end;
    double percent = strtod(text, &end);

    if (end == text || strcmp(end, "%") != 0 || !(percent > 0 && percent <= MOST_PERCENT))
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--until '%s' is no percentage above 0%% and up to %d%%, such as 2%%", text,
                        MOST_PERCENT);
    task->how.options.relative_interval = task->how.learn.until = percent / 100;
    if (task->how.options.time_limit_s == 0)
        task->how.options.time_limit_s = UNTIL_S;
    return VBS_OK;
}

/* Reads those values of --until that are percentages; the others name nodes. */
static enum vbs_status read_until(struct cli *cli, struct measure_task *task)
{
    const char *text;

    for (int i = 0; (text = cli_nth_value(cli, "until", i)); i++)
        if (cli_is_percentage(text))
            VBS_TRY(read_percent(cli, text, task));
    return VBS_OK;
}

static enum vbs_status read_numbers(struct cli *cli, const char *const *values,
                                    struct measure_task *task)
{
    const char *threads = cli_value(cli, values, "threads");
    const char *seed = cli_value(cli, values, "seed");
    int64_t n_threads = 0, seed_number = 1;

    if (threads)
        VBS_TRY(vbs_parse_int(&cli->ctx, "--threads", threads, 1, 4096, &n_threads));
    if (seed)
        VBS_TRY(vbs_parse_int(&cli->ctx, "--seed", seed, 0, INT64_MAX, &seed_number));
    VBS_TRY(cli_read_seconds(cli, values, "time-limit", &task->how.options.time_limit_s));
    VBS_TRY(read_until(cli, task));
    task->how.prepare.threads = (int)n_threads;
    task->how.options.seed = (uint64_t)seed_number;
    return VBS_OK;
}

static enum vbs_status read_task(struct cli *cli, const char *const *values,
                                 struct measure_task *task)
{
    const char *backend = cli_value(cli, values, "backend");
    const char *batches = cli_value(cli, values, "batches");

    VBS_TRY(vbs_backend_find(&cli->ctx, backend ? backend : vbs_backend_at(0)->name,
                             &task->how.backend));
    VBS_TRY(cli_read_batches(cli, batches ? batches : CLI_DEFAULT_BATCHES, &task->batches,
                             &task->how.prepare.n_batches));
    task->how.prepare.batches = task->batches;
    task->oversubscribe = cli_value(cli, values, "oversubscribe") != NULL;
    task->how.prepare.stripes = cli_value(cli, values, "stripes") != NULL;
    task->how.no_copies = cli_value(cli, values, "no-copies") != NULL;
    task->how.no_learning = cli_value(cli, values, "no-learning") != NULL;
    task->predict = cli_value(cli, values, "predict") != NULL;
    if (task->predict && task->how.prepare.stripes)
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--predict and --stripes: kernels on rows cannot be predicted");
    return read_numbers(cli, values, task);
}

/* ---- Measuring ---- */

static enum vbs_status measure_model(struct cli *cli, const struct measure_task *task,
                                     const char *model, const struct vbs_network *network)
{
    int64_t id;
    enum vbs_status status =
        task->predict ? cli_predict_network(cli, &task->how, network, task->store, &id)
                      : cli_measure_network(cli, &task->how, network, task->store, &id, NULL);

    if (task->predict && status == VBS_NOT_FOUND)
        return vbs_fail(&cli->ctx, VBS_STORE,
                        "this machine is not calibrated for predictions with this build of vbslab "
                        "and this number of threads; 'vbslab calibrate --machine' does that");

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

/* Loads all models before it measures the first, so that a wrong name is reported at once. */
static enum vbs_status measure_all(struct cli *cli, struct measure_task *task, int n,
                                   const char *const *models)
{
    struct vbs_network **networks = calloc((size_t)n, sizeof(struct vbs_network *));
    enum vbs_status status = networks ? VBS_OK : vbs_no_memory(&cli->ctx);

    for (int i = 0; i < n && status == VBS_OK; i++)
        status = cli_load_network(cli, models[i], &networks[i]);
    if (status == VBS_OK)
        status = cli_check_backend(cli, task->how.backend);
    if (status == VBS_OK)
        status = cli_open_store(cli, true, &task->store);
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = measure_model(cli, task, models[i], networks[i]);
    vbs_store_close(task->store);
    for (int i = 0; i < n && networks; i++)
        vbs_network_free(networks[i]);
    free(networks);
    return status;
}

/* Settles the number of threads. Where none was given, libgomp chooses, and the backend records the
 * true number. */
static enum vbs_status settle_threads(struct cli *cli, struct measure_task *task)
{
    int *threads = &task->how.prepare.threads;
    bool given = *threads > 0;

    if (strcmp(task->how.backend->name, "onednn") != 0) {
        if (given)
            cli_warn(cli, "--threads is ignored: backend '%s' %s", task->how.backend->name,
                     task->how.backend->modelled ? "runs nothing" : "has none of its own");
        return VBS_OK;
    }
    if (!task->oversubscribe)
        VBS_TRY(cli_check_threads(cli, *threads));
    if (cli_pin_threads(cli, threads) && !given)
        *threads = 0;
    return VBS_OK;
}

static int run_measure(struct cli *cli, const char *const *values, int n_arguments,
                       const char *const *arguments)
{
    struct measure_task task = {.how.options.relative_interval = CLI_RELATIVE_INTERVAL};
    enum vbs_status status;

    if (n_arguments == 0)
        return cli_usage(cli, "which MODEL? 'vbslab models' lists the built-in ones");
    status = read_task(cli, values, &task);
    if (status == VBS_OK)
        status = settle_threads(cli, &task);
    if (status == VBS_OK)
        status = measure_all(cli, &task, n_arguments, arguments);
    free(task.batches);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"backend", "NAME", "what runs the layers: 'vbslab backends' lists them (default: onednn)"},
    {"batches", "LIST", "batch sizes, 1 among them (default: 1-12)"},
    {"threads", "N", "threads that compute (default: as many as this process may use)"},
    {"oversubscribe", NULL, "allow more threads than there are processors"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {"until", "NODE[,NODE...]|PERCENT%",
     CLI_UNTIL_TEXT ". A percentage, as 2%: go on until kernels, and schedules in each budget, are "
                    "known so well (half of their 95% interval); --time-limit is then 600 by "
                    "default"},
    {"time-limit", "SECONDS",
     "time for each model (default: 60), three quarters of it for executing schedules. From 10 on "
     "it holds whatever the machine does, and batches and algorithms for which there is no time "
     "are left out, all but one kernel of each layer; below, it bounds the refinement of times "
     "only"},
    {"no-learning", NULL,
     "execute no schedules: times are those of kernels alone, made smooth over batches"},
    {"stripes", NULL,
     "lay rows of samples out one after the other, and measure kernels on 1, 2, 4, ... rows too, "
     "for "
     "plans below the largest layer"},
    {"predict", NULL,
     "measure nothing: predict the times from the machine's calibration ('vbslab calibrate "
     "--machine')"},
    {"no-copies", NULL, "do not measure how fast weights can be copied from page cache and disk"},
    {"seed", "N", "decides the order of batches and algorithms (default: 1)"},
    {CLI_OPTION_PRECISION},
    {NULL, NULL, NULL},
};

const struct cli_command cli_measure = {
    .name = "measure",
    .summary = "measure models into the store, going on where a broken-off run ended; prints the "
               "ids of the profiles",
    .usage = "MODEL... [--backend NAME] [--batches LIST] [--threads N] [--oversubscribe] "
             "[--input CxHxW] [--time-limit SECONDS] [--seed N] [--until PERCENT%] [--no-copies] "
             "[--no-learning] "
             "[--stripes] [--predict]",
    .options = OPTIONS,
    .until_percentage = true,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL},
                                               {"LIST", "12, 1-12, 1,2,4 or 1-4,8"},
                                               {0}},
    .example = "vbslab measure alexnet googlenet --batches 1-12",
    .run = run_measure,
};
