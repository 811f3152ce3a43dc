#include "base/fail.h"
#include "cli/common/common.h"
#include "cli/mixed/mixed.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_COMPARED   512 /* samples whose outputs are compared */
#define DEFAULT_BOUNDS  3
#define DEFAULT_SECONDS 20 /* for the times that a choice lacks */

/* A search for mixed precision. */
struct mixed_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *path;          /* of the network that is written, or null */
    struct quantize_inputs inputs;
    struct vbs_quantize_options ranges;
    struct vbs_quantize_samples samples; /* of the loss */
    struct cli_task task;
    struct vbs_mixed_options options;
    struct mixed_bound bounds[MIXED_MOST_BOUNDS];
    int n_bounds;
    int64_t *budgets;
    int *batches;
    struct vbs_quantized_network *quantized;
    struct vbs_store *store;
    struct vbs_mixed *mixed;
    int *chosen;
    struct vbs_profile *profile;
    struct cli_pictures pictures;
    struct mixed_report report;
};

/* ---- options ---- */

static enum vbs_status refuse_bound(struct vbs_ctx *ctx, const char *item)
{
    return vbs_fail(ctx, VBS_USAGE,
                    "--loss-bound '%.40s' is no bound: it is the least ratio of output and error, "
                    "as 30dB, the share of samples that may be of another class, as 0.5%%, or none",
                    item);
}

static enum vbs_status add_bound(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct mixed_job *job = self;
    struct mixed_bound *b = &job->bounds[job->n_bounds];
    char *end;
    double value = strtod(item, &end);

    if (job->n_bounds == MIXED_MOST_BOUNDS)
        return vbs_fail(ctx, VBS_USAGE, "--loss-bound has more than %d bounds", MIXED_MOST_BOUNDS);
    b->bound = (struct vbs_mixed_bound){HUGE_VAL, HUGE_VAL};
    if (end == item ? strcmp(item, "none") != 0 : !isfinite(value))
        return refuse_bound(ctx, item);
    if (end != item && strcmp(end, "dB") == 0)
        b->bound.error = vbs_quantize_error(value);
    else if (end != item && strcmp(end, "%") == 0 && value >= 0 && value <= 100)
        b->bound.changed = value / 100;
    else if (end != item)
        return refuse_bound(ctx, item);
    if (strlen(item) >= sizeof b->word)
        return refuse_bound(ctx, item);
    strcpy(b->word, item);
    job->n_bounds++;
    return VBS_OK;
}

static enum vbs_status read_bounds(struct mixed_job *job)
{
    const char *list = cli_value(job->cli, job->values, "loss-bound");

    if (cli_is_empty_list(list))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--loss-bound has no bound");
    return list ? cli_for_each(&job->cli->ctx, list, add_bound, job) : VBS_OK;
}

/* Chooses bounds above what all layers in 8 bits are predicted to keep, where none is given. */
static enum vbs_status choose_bounds(struct mixed_job *job)
{
    static const int ABOVE[DEFAULT_BOUNDS] = {3, 6, 12}; /* decibels: halves of the error */
    int n;
    double error = vbs_mixed_choices(job->mixed, &n)[0].error;
    char word[32];

    for (int i = 0; i < DEFAULT_BOUNDS; i++) {
        double above = error > 0 && isfinite(error) ? ceil(vbs_quantize_decibels(error)) : 0;

        snprintf(word, sizeof word, "%.0fdB", above + ABOVE[i]);
        VBS_TRY(add_bound(&job->cli->ctx, word, job));
    }
    return VBS_OK;
}

static enum vbs_status read_budgets(struct mixed_job *job)
{
    const char *memory = cli_value(job->cli, job->values, "memory");
    struct vbs_byte_range range;

    if (!memory)
        return VBS_OK;
    VBS_TRY(vbs_parse_byte_range(&job->cli->ctx, memory, &range));
    job->options.n_budgets = vbs_byte_range_count(&range);
    job->budgets = calloc((size_t)job->options.n_budgets, sizeof *job->budgets);
    if (!job->budgets)
        return vbs_no_memory(&job->cli->ctx);
    for (int i = 0; i < job->options.n_budgets; i++)
        job->budgets[i] = vbs_byte_range_at(&range, i);
    job->options.budgets = job->budgets;
    return VBS_OK;
}

static enum vbs_status read_profile(struct mixed_job *job)
{
    struct vbs_assemble_options *p = &job->options.profile;
    const char *backend = cli_value(job->cli, job->values, "backend");
    const char *batches = cli_value(job->cli, job->values, "batches");
    const char *seconds = cli_value(job->cli, job->values, "time-limit");

    VBS_TRY(
        vbs_backend_find(&job->cli->ctx, backend ? backend : vbs_backend_at(0)->name, &p->backend));
    VBS_TRY(cli_check_backend(job->cli, p->backend));
    VBS_TRY(cli_read_batches(job->cli, batches ? batches : CLI_DEFAULT_BATCHES, &job->batches,
                             &p->n_batches));
    p->measure = (struct vbs_measure_options){
        .time_limit_s = DEFAULT_SECONDS, .relative_interval = CLI_RELATIVE_INTERVAL, .seed = 1};
    if (seconds)
        VBS_TRY(cli_parse_positive(&job->cli->ctx, "--time-limit", seconds, "seconds",
                                   &p->measure.time_limit_s));
    p->batches = job->batches;
    p->threads = job->ranges.threads;
    return VBS_OK;
}

static enum vbs_status read_options(struct mixed_job *job)
{
    struct vbs_mixed_options *o = &job->options;
    int64_t choices = 0;

    VBS_TRY(quantize_read_options(job->cli, job->values, &job->ranges));
    VBS_TRY(quantize_read_inputs(job->cli, job->values, &job->inputs));
    VBS_TRY(cli_read_whole(job->cli, job->values, "choices", 8, 1000000, &choices));
    VBS_TRY(read_bounds(job));
    VBS_TRY(read_budgets(job));
    VBS_TRY(cli_pictures_read(job->cli, job->values, "plot",
                              cli_value(job->cli, job->values, "plot"), &job->pictures));
    VBS_TRY(cli_read_task(job->cli, job->values, &job->task));
    VBS_TRY(read_profile(job));
    o->struct_size = sizeof *o;
    o->planner = job->task.planner;
    o->problem = job->task.problem;
    o->problem.weights = job->task.weights.weights;
    o->most_choices = (int)choices;
    o->batch = job->ranges.batch;
    o->threads = job->ranges.threads;
    if (job->path && (o->n_budgets != 1 || job->n_bounds != 1 ||
                      !cli_value(job->cli, job->values, "loss-bound")))
        return vbs_fail(&job->cli->ctx, VBS_USAGE,
                        "-o writes one network: name one --memory and one --loss-bound");
    return VBS_OK;
}

/* ---- the work ---- */

static enum vbs_status quantise(struct mixed_job *job)
{
    const struct vbs_quantize_samples samples = quantize_range_samples(&job->inputs, INT64_MAX);
    enum vbs_status status;

    job->samples = quantize_held_out_samples(&job->inputs, MOST_COMPARED);
    job->ranges.progress = cli_progress(job->cli);
    status =
        vbs_quantize(&job->cli->ctx, job->inputs.network, &samples, &job->ranges, &job->quantized);
    cli_progress_end(job->cli);
    return status;
}

static enum vbs_status search(struct mixed_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    struct vbs_mixed_bound bounds[MIXED_MOST_BOUNDS];
    int n_budgets;

    VBS_TRY(
        vbs_mixed_new(ctx, job->store, job->quantized, &job->samples, &job->options, &job->mixed));
    if (job->n_bounds == 0)
        VBS_TRY(choose_bounds(job));
    for (int i = 0; i < job->n_bounds; i++)
        bounds[i] = job->bounds[i].bound;
    vbs_mixed_budgets(job->mixed, &n_budgets);
    job->chosen = calloc((size_t)n_budgets * (size_t)job->n_bounds, sizeof *job->chosen);
    if (!job->chosen)
        return vbs_no_memory(ctx);
    VBS_TRY(vbs_mixed_search(ctx, job->mixed, bounds, job->n_bounds, job->chosen));
    VBS_TRY(vbs_mixed_compare(ctx, job->mixed, 0));
    VBS_TRY(vbs_mixed_compare(ctx, job->mixed, 1));
    return vbs_mixed_profile(ctx, job->mixed, 1, &job->profile);
}

static enum vbs_status search_with_progress(struct mixed_job *job)
{
    enum vbs_status status;

    job->options.progress = cli_progress(job->cli);
    status = search(job);
    cli_progress_end(job->cli);
    return status;
}

/* ---- the network that is written ---- */

/* Keeps the profile of the written network in the store, so that it can be planned at once. */
static enum vbs_status keep_profile(struct mixed_job *job, const struct vbs_network *written)
{
    struct vbs_assemble_options options = job->options.profile;
    struct vbs_profile *profile;
    enum vbs_status status;

    options.struct_size = sizeof options;
    options.may_measure = true;
    options.copies = job->options.problem.weights == VBS_WEIGHTS_INCLUDED;
    VBS_TRY(vbs_profile_assemble(&job->cli->ctx, job->store, written, &options, NULL, &profile));
    status = vbs_store_save(&job->cli->ctx, job->store, profile, &job->report.profile_id);
    vbs_profile_free(profile);
    return status;
}

static enum vbs_status write_chosen(struct mixed_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    struct vbs_quantized_network *chosen;
    struct vbs_network *written = NULL;
    enum vbs_status status;

    if (job->chosen[0] < 0)
        return vbs_fail(ctx, VBS_INFEASIBLE, "no choice of layers fits %s and keeps the bound %s",
                        cli_value(job->cli, job->values, "memory"), job->bounds[0].word);
    VBS_TRY(vbs_mixed_network(ctx, job->mixed, job->chosen[0], &chosen));
    status = vbs_quantized_write(ctx, chosen, job->path);
    vbs_quantized_free(chosen);
    VBS_TRY(status);
    status = vbs_network_load(ctx, job->path, NULL, &written);
    if (status == VBS_OK)
        status = keep_profile(job, written);
    if (status == VBS_OK)
        status =
            quantize_score_both(job->cli, &job->inputs, &job->ranges, written, &job->report.scores);
    vbs_network_free(written);
    job->report.path = job->path;
    return status;
}

/* ---- the picture ---- */

static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct mixed_job *job = self;
    const char *words[MIXED_MOST_BOUNDS];
    const struct vbs_mixed_figure figure = {.mixed = job->mixed,
                                            .profile = job->profile,
                                            .planner = vbs_planner_name(job->options.planner),
                                            .request = job->options.problem.request,
                                            .words = words,
                                            .n_bounds = job->n_bounds,
                                            .chosen = job->chosen};

    for (int i = 0; i < job->n_bounds; i++)
        words[i] = job->bounds[i].word;
    return vbs_mixed_plot(ctx, &figure, options, path);
}

/* ---- the command ---- */

static enum vbs_status print(struct mixed_job *job)
{
    struct mixed_report *r = &job->report;

    r->data = job->inputs.data;
    r->network = job->inputs.network;
    r->options = &job->options;
    r->ranges = &job->ranges;
    r->mixed = job->mixed;
    r->profile = job->profile;
    r->bounds = job->bounds;
    r->n_bounds = job->n_bounds;
    r->chosen = job->chosen;
    if (cli_value(job->cli, job->values, "json"))
        return mixed_print_json(job->cli, r);
    if (cli_value(job->cli, job->values, "csv"))
        return mixed_print_csv(job->cli, r);
    VBS_TRY(mixed_print_table(job->cli, r));
    return cli_pictures_name(job->cli, &job->pictures);
}

static enum vbs_status mixed(struct mixed_job *job)
{
    VBS_TRY(read_options(job));
    if (job->path)
        VBS_TRY(cli_check_output(job->cli, job->inputs.model, job->path, ".onnx", "an ONNX file"));
    VBS_TRY(quantize_open_inputs(job->cli, job->values, &job->inputs));
    VBS_TRY(cli_open_store(job->cli, true, &job->store));
    VBS_TRY(quantise(job));
    VBS_TRY(search_with_progress(job));
    VBS_TRY(cli_pictures_draw(job->cli, &job->pictures, draw, job));
    if (job->path)
        VBS_TRY(write_chosen(job));
    return print(job);
}

static void clear(struct mixed_job *job)
{
    cli_pictures_clear(&job->pictures);
    quantize_clear_scores(&job->report.scores);
    vbs_profile_free(job->profile);
    free(job->chosen);
    vbs_mixed_free(job->mixed);
    vbs_store_close(job->store);
    vbs_quantized_free(job->quantized);
    free(job->batches);
    free(job->budgets);
    quantize_clear_inputs(&job->inputs);
}

static int run_mixed(struct cli *cli, const char *const *values, int n_arguments,
                     const char *const *arguments)
{
    struct mixed_job job = {.cli = cli, .values = values};
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.inputs.model = arguments[0];
    job.inputs.data = cli_value(cli, values, "data");
    job.path = cli_value(cli, values, "output");
    if (!job.inputs.data)
        return cli_usage(cli, "needs --data DIR, whose images tell ranges and losses");
    status = mixed(&job);
    clear(&job);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {QUANTIZE_OPTION_DATA},
    {"memory", "RANGE",
     "budgets: one, or 15MiB..40MiB:1MiB, 5MiB..1GiB:*1.25 (default: 8, from the least in which 8 "
     "bits fit to the one in which floats are fastest)"},
    {"loss-bound", "LIST",
     "bounds of the loss: the least ratio of output and error, as 30dB; the share of samples whose "
     "class may change, as 0.5%; or none (default: 3, 6 and 12 dB above what all layers in 8 bits "
     "are predicted to keep)"},
    {"output", "FILE.onnx",
     "the network of one budget and one bound; its profile is kept in the store"},
    QUANTIZE_OPTIONS_RANGES,
    {CLI_OPTION_PLANNER},
    {"request", "R", "samples of the request (default 12)"},
    {"io", "WHERE", "the request's inputs and outputs: external (default) or resident"},
    {CLI_OPTION_WEIGHTS},
    {CLI_OPTION_LATENCY},
    {"backend", "NAME", "what runs the layers: 'vbslab backends' lists them (default: onednn)"},
    {"batches", "LIST", "batch sizes, 1 among them (default: 1-12)"},
    {"time-limit", "SECONDS",
     "for the times that a choice lacks, each time that layers have to be measured (default 20)"},
    {"choices", "N", "plan at most N choices of layers (default 600)"},
    {"limit", "N", "only the first N test images (default all)"},
    CLI_OPTIONS_IMAGES,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"plot", "FILE",
     "draw throughput against memory, by bound, and against the loss, by budget, "
     "as " CLI_PICTURE_ENDINGS "; several with commas. Series are int8, the bounds and fp32"},
    CLI_OPTIONS_PICTURE,
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV: a row for each budget and bound"},
    {0},
};

const struct cli_command cli_mixed = {
    .name = "mixed",
    .summary = "which layers to keep in floats and which in 8 bits, by budget and loss",
    .usage = "MODEL --data DIR [--memory RANGE] [--loss-bound LIST] [-o FILE.onnx] [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .example =
        "vbslab mixed net.onnx --data /usr/share/datasets/fashion-mnist --plot mixed.svg\n"
        "vbslab mixed net.onnx --data DIR --memory 100KiB --loss-bound 0.5% -o net-mixed.onnx",
    .run = run_mixed,
};
