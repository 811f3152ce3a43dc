#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/quantize/quantize.h"
#include "vbslab/npy.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEFAULT_IMAGES 512
#define MOST_COMPARED  512 /* samples whose outputs are compared, one by one */
#define MOST_KEPT      256
#define MOST_VALUES    ((int64_t)1 << 32) /* of a file of samples */

/* A quantisation. */
struct quantize_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *model, *path, *data;
    struct vbs_network *network, *written;
    struct vbs_dataset *images, *tests; /* of a folder */
    struct vbs_npy array;               /* of a file */
    struct vbs_normalise normalise;
    int *order; /* of the images */
    int64_t n_images, n_tests;
    uint64_t seed;
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
#define WORD(name, word) word,
    static const char *const METHODS[] = {VBS_QUANTIZE_METHOD_LIST(WORD)};
#undef WORD
    struct cli *cli = job->cli;
    struct vbs_quantize_options *o = &job->options;
    const char *keep = cli_value(cli, job->values, "keep");
    int64_t seed = 1, batch = 0, threads = 0;
    int method = VBS_QUANTIZE_MINMAX;

    job->n_images = DEFAULT_IMAGES;
    VBS_TRY(cli_read_word(cli, job->values, "method", METHODS, VBS_N_QUANTIZE_METHODS, &method));
    VBS_TRY(cli_read_from_0(cli, job->values, "percentile", &o->percentile));
    VBS_TRY(cli_read_whole(cli, job->values, "images", 1, VBS_DATA_MAX_IMAGES, &job->n_images));
    VBS_TRY(cli_read_whole(cli, job->values, "limit", 1, VBS_DATA_MAX_IMAGES, &job->n_tests));
    VBS_TRY(cli_read_whole(cli, job->values, "seed", 0, INT64_MAX, &seed));
    VBS_TRY(cli_read_whole(cli, job->values, "batch", 1, VBS_MAX_BATCH, &batch));
    VBS_TRY(cli_read_whole(cli, job->values, "threads", 1, 1024, &threads));
    if (cli_value(cli, job->values, "percentile") && method != VBS_QUANTIZE_PERCENTILE)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--percentile goes with --method percentile");
    if (cli_value(cli, job->values, "percentile") && !(o->percentile > 50 && o->percentile <= 100))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--percentile %g is not above 50 and at most 100",
                        o->percentile);
    if (cli_is_empty_list(keep))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--keep names no layer");
    VBS_TRY(keep ? cli_for_each(&cli->ctx, keep, add_kept, job) : VBS_OK);
    o->struct_size = sizeof *o;
    o->method = (enum vbs_quantize_method)method;
    o->per_tensor = cli_value(cli, job->values, "per-tensor");
    o->is_signed = cli_value(cli, job->values, "signed");
    o->symmetric = cli_value(cli, job->values, "symmetric");
    o->keep = (const char *const *)job->keep;
    o->batch = (int)batch;
    o->threads = (int)threads;
    job->seed = (uint64_t)seed;
    return VBS_OK;
}

/* ---- samples ---- */

static enum vbs_status give_images(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                   float *inputs)
{
    const struct quantize_job *job = self;

    (void)ctx;
    vbs_dataset_images(job->images, job->order + first, n, &job->normalise, NULL, inputs);
    return VBS_OK;
}

static enum vbs_status give_tests(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                  float *inputs)
{
    const struct quantize_job *job = self;
    int *indices = malloc((size_t)n * sizeof *indices);

    if (!indices)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        indices[i] = (int)first + i;
    vbs_dataset_images(job->tests, indices, n, &job->normalise, NULL, inputs);
    free(indices);
    return VBS_OK;
}

static enum vbs_status give_rows(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                 float *inputs)
{
    const struct quantize_job *job = self;
    int64_t each = job->array.n_values / job->array.dim[0];

    (void)ctx;
    memcpy(inputs, job->array.values + first * each, (size_t)(n * each) * sizeof *inputs);
    return VBS_OK;
}

static bool is_array(const struct quantize_job *job)
{
    size_t n = strlen(job->data);

    return n > 4 && strcmp(job->data + n - 4, ".npy") == 0;
}

/* Reads samples without labels: [n, ...] in the shape of the network's input. */
static enum vbs_status open_array(struct quantize_job *job)
{
    const struct vbs_shape *input = &job->network->input;
    struct vbs_npy *a = &job->array;
    char has[300], wants[64];
    bool suits;

    VBS_TRY(vbs_npy_read(&job->cli->ctx, job->data, MOST_VALUES, a));
    suits = a->n_dims == input->n_dims + 1 && a->dim[0] > 0;
    for (int d = 0; suits && d < input->n_dims; d++)
        suits = a->dim[d + 1] == input->dim[d];
    if (!suits)
        return vbs_fail(&job->cli->ctx, VBS_FORMAT,
                        "'%.200s' has the shape %s; samples of '%.100s' are Nx%s", job->data,
                        vbs_npy_shape(a->n_dims, a->dim, has, sizeof has), job->network->name,
                        vbs_shape_format(input, wants, sizeof wants));
    if (job->n_images > a->dim[0])
        job->n_images = a->dim[0];
    job->n_tests = job->n_images;
    return VBS_OK;
}

/* Reads the training images, whose order the seed decides, and the test images. */
static enum vbs_status open_folder(struct quantize_job *job)
{
    const struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_ctx *ctx = &job->cli->ctx;
    const struct vbs_data_info *info;
    const char *from;

    VBS_TRY(vbs_dataset_open(ctx, job->data, VBS_SPLIT_TRAIN, &data, &job->images));
    VBS_TRY(vbs_dataset_open(ctx, job->data, VBS_SPLIT_TEST, &data, &job->tests));
    info = vbs_dataset_info(job->images);
    VBS_TRY(vbs_eval_check_input(ctx, job->network, job->images));
    VBS_TRY(cli_find_normalise(job->cli, job->values, job->network, job->model, job->data,
                               info->channels, &job->normalise, &from));
    job->order = malloc((size_t)info->n_images * sizeof *job->order);
    if (!job->order)
        return vbs_no_memory(ctx);
    vbs_data_order(info->n_images, job->seed, 0, job->order);
    if (job->n_images > info->n_images)
        job->n_images = info->n_images;
    if (job->n_tests == 0 || job->n_tests > vbs_dataset_info(job->tests)->n_images)
        job->n_tests = vbs_dataset_info(job->tests)->n_images;
    return VBS_OK;
}

/* ---- the work ---- */

static enum vbs_status quantise(struct quantize_job *job)
{
    const struct vbs_quantize_samples samples = {
        .self = job, .n = job->n_images, .inputs = job->images ? give_images : give_rows};
    enum vbs_status status;

    job->options.progress = cli_progress(job->cli);
    status = vbs_quantize(&job->cli->ctx, job->network, &samples, &job->options, &job->quantized);
    cli_progress_end(job->cli);
    return status;
}

/* Counts what a network names right. */
static enum vbs_status score(struct quantize_job *job, const struct vbs_network *network,
                             struct vbs_score *result)
{
    const struct vbs_eval_options options = {.struct_size = sizeof options,
                                             .batch = job->options.batch,
                                             .threads = job->options.threads,
                                             .limit = job->n_tests,
                                             .progress = cli_progress(job->cli)};
    enum vbs_status status =
        vbs_evaluate(&job->cli->ctx, network, job->tests, &job->normalise, &options, NULL, result);

    cli_progress_end(job->cli);
    return status;
}

/* Measures what each layer costs alone, on the samples that told the ranges: it is for choices. */
static enum vbs_status measure_alone(struct quantize_job *job)
{
    const struct vbs_quantize_samples samples = {.self = job,
                                                 .n = job->n_images < MOST_COMPARED ? job->n_images
                                                                                    : MOST_COMPARED,
                                                 .inputs = job->images ? give_images : give_rows};
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
    const struct vbs_quantize_samples samples = {.self = job,
                                                 .n = job->n_tests < MOST_COMPARED ? job->n_tests
                                                                                   : MOST_COMPARED,
                                                 .inputs = job->tests ? give_tests : give_rows};
    struct vbs_ctx *ctx = &job->cli->ctx;
    enum vbs_status status;

    job->options.progress = cli_progress(job->cli);
    status = vbs_quantize_compare(ctx, job->network, job->written, &samples, &job->options,
                                  &job->report.difference);
    cli_progress_end(job->cli);
    VBS_TRY(status);
    if (!job->tests)
        return VBS_OK;
    if (vbs_eval_check(ctx, job->network, job->tests) != VBS_OK) {
        cli_note(job->cli, "accuracy is not measured: %s", vbs_detail(ctx));
        return VBS_OK;
    }
    VBS_TRY(score(job, job->network, &job->report.before));
    job->report.scored = true;
    return score(job, job->written, &job->report.after);
}

static enum vbs_status print(struct quantize_job *job)
{
    struct quantize_report *r = &job->report;

    r->path = job->path;
    r->data = job->data;
    r->network = job->network;
    r->options = &job->options;
    r->alone = job->alone;
    r->n_samples = job->n_images;
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
    VBS_TRY(cli_check_output(job->cli, job->model, job->path, ".onnx", "an ONNX file"));
    VBS_TRY(cli_load_floats(job->cli, job->model, &job->network));
    VBS_TRY(is_array(job) ? open_array(job) : open_folder(job));
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
    free(job->order);
    free(job->alone);
    vbs_score_clear(&job->report.before);
    vbs_score_clear(&job->report.after);
    vbs_npy_clear(&job->array);
    vbs_dataset_free(job->images);
    vbs_dataset_free(job->tests);
    vbs_quantized_free(job->quantized);
    vbs_network_free(job->written);
    vbs_network_free(job->network);
}

static int run_quantize(struct cli *cli, const char *const *values, int n_arguments,
                        const char *const *arguments)
{
    struct quantize_job job = {.cli = cli, .values = values};
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.model = arguments[0];
    job.path = cli_value(cli, values, "output");
    job.data = cli_value(cli, values, "data");
    if (!job.data)
        return cli_usage(cli, "needs --data DIR, whose images tell the ranges of values");
    if (!job.path)
        return cli_usage(cli, "needs -o FILE.onnx");
    status = quantize(&job);
    clear(&job);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE.onnx", "the quantised network; an older file is replaced"},
    {"data", "DIR|FILE.npy",
     "the folder of a data set, whose training images tell the ranges of values and whose test "
     "images the accuracy; or an array of numpy, Nx the shape of the input, without labels"},
    {"method", "NAME",
     "how ranges are chosen: minmax, all that was seen; percentile; entropy, what loses least "
     "information (default minmax)"},
    {"percentile", "P",
     "of --method percentile: the range holds P percent of the values, and as many lie below it as "
     "above (default 99.999)"},
    {"images", "N", "training images that tell the ranges (default 512)"},
    {"seed", "N", "decides which images (default 1)"},
    {"per-tensor", NULL, "one scale for all weights of a layer (default: for each output channel)"},
    {"symmetric", NULL, "values have ranges [-a, a] (default: from the least to the largest)"},
    {"signed", NULL, "values are numbers -128..127 (default: 0..255)"},
    {"keep", "LIST", "layers that stay in floats: names, or patterns with * and ?"},
    {"alone", NULL,
     "measure what each layer with weights costs alone, all others in floats: where to begin with "
     "--keep"},
    {"limit", "N", "only the first N test images (default all)"},
    {"normalise", "MEAN,DEVIATION",
     "the network takes (pixel - MEAN) / DEVIATION, bytes counting as 0 to 1; M,M,M;D,D,D for each "
     "channel its own (default: as the network's file says, else those of the training images)"},
    {"batch", "N", "images at once (default 64, fewer where these need more than 256 MiB)"},
    {"threads", "N", "threads that compute (default: as many as this process may use)"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
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
