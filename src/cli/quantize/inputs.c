/* The samples of a quantisation, and the options of ranges and scales. */
#include "cli/quantize/quantize.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_IMAGES 512
#define MOST_VALUES    ((int64_t)1 << 32) /* of a file of samples */

/* ---- options ---- */

enum vbs_status quantize_read_options(struct cli *cli, const char *const *values,
                                      struct vbs_quantize_options *o)
{
#define WORD(name, word) word,
    static const char *const METHODS[] = {VBS_QUANTIZE_METHOD_LIST(WORD)};
#undef WORD
    int64_t batch = 0, threads = 0;
    int method = VBS_QUANTIZE_MINMAX;

    VBS_TRY(cli_read_word(cli, values, "method", METHODS, VBS_N_QUANTIZE_METHODS, &method));
    VBS_TRY(cli_read_from_0(cli, values, "percentile", &o->percentile));
    VBS_TRY(cli_read_whole(cli, values, "batch", 1, VBS_MAX_BATCH, &batch));
    VBS_TRY(cli_read_whole(cli, values, "threads", 1, 1024, &threads));
    if (cli_value(cli, values, "percentile") && method != VBS_QUANTIZE_PERCENTILE)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--percentile goes with --method percentile");
    if (cli_value(cli, values, "percentile") && !(o->percentile > 50 && o->percentile <= 100))
        return vbs_fail(&cli->ctx, VBS_USAGE, "--percentile %g is not above 50 and at most 100",
                        o->percentile);
    o->struct_size = sizeof *o;
    o->method = (enum vbs_quantize_method)method;
    o->per_tensor = cli_value(cli, values, "per-tensor");
    o->is_signed = cli_value(cli, values, "signed");
    o->symmetric = cli_value(cli, values, "symmetric");
    o->batch = (int)batch;
    o->threads = (int)threads;
    return VBS_OK;
}

enum vbs_status quantize_read_inputs(struct cli *cli, const char *const *values,
                                     struct quantize_inputs *in)
{
    int64_t seed = 1;

    in->n_images = DEFAULT_IMAGES;
    VBS_TRY(cli_read_whole(cli, values, "images", 1, VBS_DATA_MAX_IMAGES, &in->n_images));
    VBS_TRY(cli_read_whole(cli, values, "limit", 1, VBS_DATA_MAX_IMAGES, &in->n_tests));
    VBS_TRY(cli_read_whole(cli, values, "seed", 0, INT64_MAX, &seed));
    in->seed = (uint64_t)seed;
    return VBS_OK;
}

/* ---- samples ---- */

static enum vbs_status give_images(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                   float *inputs)
{
    const struct quantize_inputs *in = self;

    (void)ctx;
    vbs_dataset_images(in->images, in->order + first, n, &in->normalise, NULL, inputs);
    return VBS_OK;
}

static enum vbs_status give_held_out(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                     float *inputs)
{
    const struct quantize_inputs *in = self;

    return give_images(ctx, self, in->n_images + first, n, inputs);
}

static enum vbs_status give_tests(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                  float *inputs)
{
    const struct quantize_inputs *in = self;
    int *indices = malloc((size_t)n * sizeof *indices);

    if (!indices)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        indices[i] = (int)first + i;
    vbs_dataset_images(in->tests, indices, n, &in->normalise, NULL, inputs);
    free(indices);
    return VBS_OK;
}

static enum vbs_status give_rows(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                 float *inputs)
{
    const struct quantize_inputs *in = self;
    int64_t each = in->array.n_values / in->array.dim[0];

    (void)ctx;
    memcpy(inputs, in->array.values + first * each, (size_t)(n * each) * sizeof *inputs);
    return VBS_OK;
}

static int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

struct vbs_quantize_samples quantize_range_samples(struct quantize_inputs *in, int64_t most)
{
    return (struct vbs_quantize_samples){.self = in,
                                         .n = at_most(in->n_images, most),
                                         .inputs = in->images ? give_images : give_rows};
}

struct vbs_quantize_samples quantize_test_samples(struct quantize_inputs *in, int64_t most)
{
    return (struct vbs_quantize_samples){
        .self = in, .n = at_most(in->n_tests, most), .inputs = in->tests ? give_tests : give_rows};
}

struct vbs_quantize_samples quantize_held_out_samples(struct quantize_inputs *in, int64_t most)
{
    int64_t left = in->images ? vbs_dataset_info(in->images)->n_images - in->n_images : 0;

    if (left == 0)
        return quantize_range_samples(in, most);
    return (struct vbs_quantize_samples){
        .self = in, .n = at_most(at_most(in->n_images, left), most), .inputs = give_held_out};
}

/* ---- opening ---- */

static bool is_array(const char *data)
{
    size_t n = strlen(data);

    return n > 4 && strcmp(data + n - 4, ".npy") == 0;
}

/* Reads samples without labels: [n, ...] in the shape of the network's input. */
static enum vbs_status open_array(struct cli *cli, struct quantize_inputs *in)
{
    const struct vbs_shape *input = &in->network->input;
    struct vbs_npy *a = &in->array;
    char has[300], wants[64];
    bool suits;

    VBS_TRY(vbs_npy_read(&cli->ctx, in->data, MOST_VALUES, a));
    suits = a->n_dims == input->n_dims + 1 && a->dim[0] > 0;
    for (int d = 0; suits && d < input->n_dims; d++)
        suits = a->dim[d + 1] == input->dim[d];
    if (!suits)
        return vbs_fail(&cli->ctx, VBS_FORMAT,
                        "'%.200s' has the shape %s; samples of '%.100s' are Nx%s", in->data,
                        vbs_npy_shape(a->n_dims, a->dim, has, sizeof has), in->network->name,
                        vbs_shape_format(input, wants, sizeof wants));
    if (in->n_images > a->dim[0])
        in->n_images = a->dim[0];
    in->n_tests = in->n_images;
    return VBS_OK;
}

/* Reads the training images, whose order the seed decides, and the test images. */
static enum vbs_status open_folder(struct cli *cli, const char *const *values,
                                   struct quantize_inputs *in)
{
    const struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_ctx *ctx = &cli->ctx;
    const struct vbs_data_info *info;
    const char *from;

    VBS_TRY(vbs_dataset_open(ctx, in->data, VBS_SPLIT_TRAIN, &data, &in->images));
    VBS_TRY(vbs_dataset_open(ctx, in->data, VBS_SPLIT_TEST, &data, &in->tests));
    info = vbs_dataset_info(in->images);
    VBS_TRY(vbs_eval_check_input(ctx, in->network, in->images));
    VBS_TRY(cli_find_normalise(cli, values, in->network, in->model, in->data, info->channels,
                               &in->normalise, &from));
    in->order = malloc((size_t)info->n_images * sizeof *in->order);
    if (!in->order)
        return vbs_no_memory(ctx);
    vbs_data_order(info->n_images, in->seed, 0, in->order);
    if (in->n_images > info->n_images)
        in->n_images = info->n_images;
    if (in->n_tests == 0 || in->n_tests > vbs_dataset_info(in->tests)->n_images)
        in->n_tests = vbs_dataset_info(in->tests)->n_images;
    return VBS_OK;
}

enum vbs_status quantize_open_inputs(struct cli *cli, const char *const *values,
                                     struct quantize_inputs *in)
{
    VBS_TRY(cli_load_floats(cli, in->model, &in->network));
    return is_array(in->data) ? open_array(cli, in) : open_folder(cli, values, in);
}

void quantize_clear_inputs(struct quantize_inputs *in)
{
    free(in->order);
    vbs_npy_clear(&in->array);
    vbs_dataset_free(in->images);
    vbs_dataset_free(in->tests);
    vbs_network_free(in->network);
}

/* ---- accuracy ---- */

static enum vbs_status score(struct cli *cli, const struct quantize_inputs *in,
                             const struct vbs_quantize_options *o,
                             const struct vbs_network *network, struct vbs_score *result)
{
    const struct vbs_eval_options options = {.struct_size = sizeof options,
                                             .batch = o->batch,
                                             .threads = o->threads,
                                             .limit = in->n_tests,
                                             .progress = cli_progress(cli)};
    enum vbs_status status =
        vbs_evaluate(&cli->ctx, network, in->tests, &in->normalise, &options, NULL, result);

    cli_progress_end(cli);
    return status;
}

enum vbs_status quantize_score_both(struct cli *cli, const struct quantize_inputs *in,
                                    const struct vbs_quantize_options *options,
                                    const struct vbs_network *quantized,
                                    struct quantize_scores *scores)
{
    if (!in->tests)
        return VBS_OK;
    if (vbs_eval_check(&cli->ctx, in->network, in->tests) != VBS_OK) {
        cli_note(cli, "accuracy is not measured: %s", vbs_detail(&cli->ctx));
        return VBS_OK;
    }
    VBS_TRY(score(cli, in, options, in->network, &scores->before));
    scores->scored = true;
    return score(cli, in, options, quantized, &scores->after);
}

void quantize_clear_scores(struct quantize_scores *scores)
{
    vbs_score_clear(&scores->before);
    vbs_score_clear(&scores->after);
}
