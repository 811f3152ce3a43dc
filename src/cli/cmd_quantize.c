#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/quantize/quantize.h"
#include "vbslab/npy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_COMPARED 512 /* samples whose outputs are compared, one by one */
#define MOST_KEPT     256

/* A quantisation. */
struct quantize_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *path;
    struct quantize_inputs inputs;
    struct vbs_network *written;
    char *keep[MOST_KEPT];
    struct vbs_quantize_options options;
    struct vbs_quantized_network *quantized;
    struct quantize_report report;
    double *alone; /* [rows] or null */
};

/* ---- options ---- */

static enum vbs_status add_kept(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct quantize_job *job = self;

    if (job->options.n_keep == MOST_KEPT)
        return vbs_fail(ctx, VBS_USAGE,
                        "--keep has more than %d names; a pattern such as 'fc*' "
                        "names several layers",
                        MOST_KEPT);
    job->keep[job->options.n_keep] = strdup(item);
    if (!job->keep[job->options.n_keep])
        return vbs_no_memory(ctx);
    job->options.n_keep++;
    return VBS_OK;
}

static enum vbs_status read_options(struct quantize_job *job)
{
    struct cli *cli = job->cli;
    const char *keep = cli_value(cli, job->values, "keep");

    VBS_TRY(quantize_read_options(cli, job->values, &job->options));
    VBS_TRY(quantize_read_inputs(cli, job->values, &job->inputs));
    if (cli_is_empty_list(keep))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--keep names no layer");
    VBS_TRY(keep ? cli_for_each(&cli->ctx, keep, add_kept, job) : VBS_OK);
    job->options.keep = (const char *const *)job->keep;
    return VBS_OK;
}

/* ---- the work ---- */

static enum vbs_status quantise(struct quantize_job *job)
{
    const struct vbs_quantize_samples samples = quantize_range_samples(&job->inputs, INT64_MAX);
    enum vbs_status status;

    job->options.progress = cli_progress(job->cli);
    status =
        vbs_quantize(&job->cli->ctx, job->inputs.network, &samples, &job->options, &job->quantized);
    cli_progress_end(job->cli);
    return status;
}

/* Measures what each layer costs alone, on the samples that told the ranges: it is for choices. */
static enum vbs_status measure_alone(struct quantize_job *job)
{
    const struct vbs_quantize_samples samples = quantize_range_samples(&job->inputs, MOST_COMPARED);
    enum vbs_status status;
    int n;

    if (!cli_value(job->cli, job->values, "alone"))
        return VBS_OK;
    vbs_quantized_rows(job->quantized, &n);
    job->alone = calloc((size_t)n, sizeof *job->alone);
    if (!job->alone)
        return vbs_no_memory(&job->cli->ctx);
    job->options.progress = cli_progress(job->cli);
    status =
        vbs_quantized_alone(&job->cli->ctx, job->quantized, &samples, &job->options, job->alone);
    cli_progress_end(job->cli);
    return status;
}

static enum vbs_status compare(struct quantize_job *job)
{
    const struct vbs_quantize_samples samples = quantize_test_samples(&job->inputs, MOST_COMPARED);
    struct vbs_ctx *ctx = &job->cli->ctx;
    enum vbs_status status;

    job->options.progress = cli_progress(job->cli);
    status = vbs_quantize_compare(ctx, job->inputs.network, job->written, &samples, &job->options,
                                  &job->report.difference);
    cli_progress_end(job->cli);
    VBS_TRY(status);
    return quantize_score_both(job->cli, &job->inputs, &job->options, job->written,
                               &job->report.scores);
}

static enum vbs_status print(struct quantize_job *job)
{
    struct quantize_report *r = &job->report;

    r->path = job->path;
    r->data = job->inputs.data;
    r->network = job->inputs.network;
    r->options = &job->options;
    r->alone = job->alone;
    r->n_samples = job->inputs.n_images;
    r->rows = vbs_quantized_rows(job->quantized, &r->n_rows);
    if (cli_value(job->cli, job->values, "json"))
        return quantize_print_json(job->cli, r);
    if (cli_value(job->cli, job->values, "csv"))
        return quantize_print_csv(job->cli, r);
    return quantize_print_table(job->cli, r);
}

static enum vbs_status quantize(struct quantize_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    struct stat about = {0};

    VBS_TRY(read_options(job));
    VBS_TRY(cli_check_output(job->cli, job->inputs.model, job->path, ".onnx", "an ONNX file"));
    VBS_TRY(quantize_open_inputs(job->cli, job->values, &job->inputs));
    VBS_TRY(quantise(job));
    VBS_TRY(vbs_quantized_write(ctx, job->quantized, job->path));
    if (stat(job->path, &about) == 0)
        job->report.file_bytes = about.st_size;
    VBS_TRY(vbs_network_load(ctx, job->path, NULL, &job->written));
    VBS_TRY(measure_alone(job));
    VBS_TRY(compare(job));
    return print(job);
}

static void clear(struct quantize_job *job)
{
    for (int i = 0; i < job->options.n_keep; i++)
        free(job->keep[i]);
    free(job->alone);
    quantize_clear_scores(&job->report.scores);
    vbs_quantized_free(job->quantized);
    vbs_network_free(job->written);
    quantize_clear_inputs(&job->inputs);
}

static int run_quantize(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    struct quantize_job job = {.cli = cli, .values = values};
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.inputs.model = arguments[0];
    job.path = cli_value(cli, values, "output");
    job.inputs.data = cli_value(cli, values, "data");
    if (!job.inputs.data)
        return cli_usage(cli, "needs --data DIR, whose images tell the ranges of values");
    if (!job.path)
        return cli_usage(cli, "needs -o FILE.onnx");
    status = quantize(&job);
    clear(&job);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE.onnx", "the quantised network; an older file is replaced"},
    {QUANTIZE_OPTION_DATA},
    QUANTIZE_OPTIONS_RANGES,
    {"keep", "LIST", "layers that stay in floats: names, or patterns with * and ?"},
    {"alone", NULL,
     "measure what each layer with weights costs alone, all others in floats: where to begin with "
     "--keep"},
    {"limit", "N", "only the first N test images (default all)"},
    CLI_OPTIONS_IMAGES,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV: a row for each layer"},
    {0},
};

const struct cli_command cli_quantize = {
    .name = "quantize",
    .summary = "a network in 8 bits, as an ONNX file",
    .usage = "MODEL --data DIR -o FILE.onnx [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL},
                                               {"LIST", "names with commas between them"},
                                               {0}},
    .example =
        "vbslab quantize net.onnx --data /usr/share/datasets/fashion-mnist -o net-int8.onnx\n"
        "vbslab quantize net.onnx --data samples.npy -o net-int8.onnx --method entropy\n"
        "vbslab quantize net.onnx --data DIR -o net-int8.onnx --keep 'conv1,fc*' --per-tensor",
    .run = run_quantize,
};
