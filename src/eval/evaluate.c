#include "vbslab/eval.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/options.h"
#include "eval/runner.h"
#include "vbslab/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_BATCH 64
#define DEFAULT_BYTES ((int64_t)1 << 28) /* of all tensors, by default */

/* ---- does the network fit the data ---- */

/* Copies the dimensions that are not 1. */
static int squeeze(int n_dims, const int64_t *dim, int64_t *squeezed)
{
    int n = 0;

    for (int i = 0; i < n_dims; i++)
        if (dim[i] != 1)
            squeezed[n++] = dim[i];
    return n;
}

/* Gives whether images of these dimensions, in their order, are an input of this shape. */
static bool suits(const struct vbs_shape *shape, const int64_t dim[3])
{
    int64_t wanted[VBS_MAX_DIMS], given[3];
    int n_wanted = squeeze(shape->n_dims, shape->dim, wanted), n_given = squeeze(3, dim, given);

    if (n_wanted == 1 && wanted[0] == dim[0] * dim[1] * dim[2])
        return true;
    return n_wanted == n_given && memcmp(wanted, given, (size_t)n_given * sizeof *given) == 0;
}

enum vbs_status vbs_eval_check_input(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_dataset *dataset)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    const int64_t dim[3] = {info->channels, info->height, info->width};
    char shape[64];

    if (!suits(&network->input, dim))
        return vbs_fail(ctx, VBS_FORMAT,
                        "network '%.100s' takes inputs of %s, the images are "
                        "%dx%dx%d",
                        network->name, vbs_shape_format(&network->input, shape, sizeof shape),
                        info->channels, info->height, info->width);
    return VBS_OK;
}

enum vbs_status vbs_eval_check(struct vbs_ctx *ctx, const struct vbs_network *network,
                               const struct vbs_dataset *dataset)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    int64_t n_outputs = vbs_shape_elements(&network->outputs[0].shape);

    VBS_TRY(vbs_eval_check_input(ctx, network, dataset));
    if (network->n_outputs > 1)
        return vbs_fail(ctx, VBS_FORMAT,
                        "network '%.100s' has %d outputs; a network that names "
                        "classes has one",
                        network->name, network->n_outputs);
    if (n_outputs != info->n_classes)
        return vbs_fail(ctx, VBS_FORMAT,
                        "network '%.100s' has %" PRId64 " outputs, the data have "
                        "%d classes%s",
                        network->name, n_outputs, info->n_classes,
                        n_outputs > info->n_classes && !vbs_dataset_class(dataset, 0)
                            ? ", as far as labels say; classes.txt in the folder can name them all"
                            : "");
    return VBS_OK;
}

/* ---- options ---- */

/* Gives the bytes of all tensors for one image. */
static int64_t bytes_each(const struct vbs_network *network)
{
    int64_t sum = 0;

    for (int k = 0; k <= network->n_layers; k++)
        sum += vbs_network_out_bytes(network, k);
    return sum;
}

int vbs_eval_batch(const struct vbs_network *network)
{
    int64_t most = DEFAULT_BYTES / bytes_each(network);

    return most < 1 ? 1 : most < DEFAULT_BATCH ? (int)most : DEFAULT_BATCH;
}

static enum vbs_status read_options(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_dataset *dataset,
                                    const struct vbs_eval_options *options,
                                    struct vbs_eval_options *own)
{
    VBS_TRY(vbs_options_read(ctx, "vbs_eval_options", options, own, sizeof *own));
    if (own->batch < 0 || own->batch > VBS_MAX_BATCH)
        return vbs_fail(ctx, VBS_USAGE, "%d images at once; possible are 1 to %d", own->batch,
                        VBS_MAX_BATCH);
    if (own->limit < 0)
        return vbs_fail(ctx, VBS_USAGE, "a limit of %" PRId64 " images", own->limit);
    if (own->limit == 0 || own->limit > vbs_dataset_info(dataset)->n_images)
        own->limit = vbs_dataset_info(dataset)->n_images;
    if (own->batch == 0)
        own->batch = vbs_eval_batch(network);
    if (own->batch > own->limit)
        own->batch = (int)own->limit;
    return VBS_OK;
}

/* ---- the work ---- */

/* An evaluation. */
struct evaluation {
    struct vbs_ctx *ctx;
    const struct vbs_dataset *dataset;
    const struct vbs_normalise *normalise;
    const struct vbs_eval_options *options;
    struct vbs_runner runner;
    float *images, *outputs; /* of a batch */
    int *indices, *labels;   /* of a batch */
    struct vbs_score score;
    double start_s;
};

static void report_progress(const struct evaluation *e, int64_t n_done)
{
    double done = (double)n_done / (double)e->options->limit;
    double spent_s = vbs_clock_s() - e->start_s;
    char text[100];

    if (!e->options->progress.report)
        return;
    snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 " images", n_done, e->options->limit);
    e->options->progress.report(e->options->progress.self, done, vbs_left_s(done, spent_s, spent_s),
                                text);
}

/* Runs and counts the images from number first on; those behind the last are the last again, and do
 * not count. */
static enum vbs_status run_batch(struct evaluation *e, int64_t first)
{
    int64_t left = e->options->limit - first;
    int batch = e->runner.batch, n = left < batch ? (int)left : batch;

    for (int i = 0; i < batch; i++) {
        e->indices[i] = (int)first + (i < n ? i : n - 1);
        e->labels[i] = vbs_dataset_label(e->dataset, e->indices[i]);
    }
    vbs_dataset_images(e->dataset, e->indices, batch, e->normalise, NULL, e->images);
    VBS_TRY(vbs_runner_run(e->ctx, &e->runner, n, e->images, e->outputs));
    return vbs_score_add(e->ctx, &e->score, n, e->outputs, e->labels);
}

static enum vbs_status allocate(struct evaluation *e, size_t n_values, size_t n_classes)
{
    size_t batch = (size_t)e->runner.batch;

    e->images = malloc(batch * n_values * sizeof *e->images);
    e->outputs = malloc(batch * n_classes * sizeof *e->outputs);
    e->indices = malloc(batch * sizeof *e->indices);
    e->labels = malloc(batch * sizeof *e->labels);
    return e->images && e->outputs && e->indices && e->labels ? VBS_OK : vbs_no_memory(e->ctx);
}

static enum vbs_status run_all(struct evaluation *e)
{
    e->start_s = vbs_clock_s();
    for (int64_t first = 0; first < e->options->limit; first += e->runner.batch) {
        report_progress(e, first);
        VBS_TRY(run_batch(e, first));
    }
    return VBS_OK;
}

static struct vbs_eval_report report_of(const struct evaluation *e, size_t n_values)
{
    return (struct vbs_eval_report){
        .batch = e->runner.batch,
        .threads = e->runner.session->provenance.threads,
        .time_s = vbs_clock_s() - e->start_s,
        .compute_s = e->runner.compute_s,
        .held_bytes = e->runner.held_bytes +
                      e->runner.batch * (int64_t)(n_values + (size_t)e->score.n_classes) * 4};
}

static void clear(struct evaluation *e)
{
    vbs_runner_clear(&e->runner);
    free(e->images);
    free(e->outputs);
    free(e->indices);
    free(e->labels);
}

enum vbs_status vbs_evaluate(struct vbs_ctx *ctx, const struct vbs_network *network,
                             const struct vbs_dataset *dataset,
                             const struct vbs_normalise *normalise,
                             const struct vbs_eval_options *options, struct vbs_eval_report *report,
                             struct vbs_score *score)
{
    const struct vbs_data_info *info = vbs_dataset_info(dataset);
    struct vbs_eval_options own;
    struct evaluation e = {.ctx = ctx, .dataset = dataset, .normalise = normalise, .options = &own};
    const struct vbs_backend *backend;
    enum vbs_status status;

    VBS_TRY(vbs_eval_check(ctx, network, dataset));
    if (normalise && normalise->n_channels != info->channels)
        return vbs_fail(ctx, VBS_FORMAT, "a normalisation of %d channels for images that have %d",
                        normalise->n_channels, info->channels);
    VBS_TRY(read_options(ctx, network, dataset, options, &own));
    VBS_TRY(vbs_backend_find(ctx, "onednn", &backend));
    status = vbs_score_init(ctx, info->n_classes, vbs_network_answers(network), &e.score);
    if (status == VBS_OK && own.progress.report)
        own.progress.report(own.progress.self, 0, -1, "preparing kernels");
    if (status == VBS_OK)
        status = vbs_runner_open(ctx, network, backend, own.batch, own.threads, &e.runner);
    if (status == VBS_OK)
        status = allocate(&e, (size_t)vbs_shape_elements(&network->input), (size_t)info->n_classes);
    if (status == VBS_OK)
        status = run_all(&e);
    if (status == VBS_OK && report)
        *report = report_of(&e, (size_t)vbs_shape_elements(&network->input));
    clear(&e);
    if (status != VBS_OK)
        vbs_score_clear(&e.score);
    else
        *score = e.score;
    return status;
}
