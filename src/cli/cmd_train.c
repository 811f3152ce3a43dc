#include "base/fail.h"
#include "base/grow.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"
#include "vbslab/train.h"

#include <stdlib.h>
#include <string.h>

/* A training, and the epochs that it has done. */
struct train_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *model, *folder, *path;
    struct vbs_network *network, *trained;
    struct vbs_dataset *images, *validation;
    struct vbs_normalise normalise;
    struct vbs_progress progress;
    struct vbs_train_options options;
    bool table; /* epochs are printed as they come */
    struct vbs_train_epoch *epochs;
    int n_epochs;
    int64_t max_epochs;
    bool failed; /* no memory for an epoch */
};

/* ---- options ---- */

/* Reads a whole number of low..high; *number stays where the option is not given. */
static enum vbs_status read_number(const struct train_job *job, const char *option, int64_t low,
                                   int64_t high, int *number)
{
    int64_t read = *number;

    VBS_TRY(cli_read_whole(job->cli, job->values, option, low, high, &read));
    *number = (int)read;
    return VBS_OK;
}

/* Reads a number of 0 or more; zero is what 0 stands for in the options. */
static enum vbs_status read_real(const struct train_job *job, const char *option, double zero,
                                 double *number)
{
    VBS_TRY(cli_read_from_0(job->cli, job->values, option, number));
    if (*number == 0 && cli_value(job->cli, job->values, option))
        *number = zero;
    return VBS_OK;
}

static enum vbs_status read_words(struct train_job *job)
{
#define WORD(name, word) word,
    static const char *const OPTIMISERS[] = {VBS_OPTIMISER_LIST(WORD)};
    static const char *const COURSES[] = {VBS_RATE_LIST(WORD)};
    static const char *const WAYS[] = {VBS_INITIALISATION_LIST(WORD)};
#undef WORD
    const char *const *values = job->values;
    int optimiser = 0, course = 0, initialisation = 0;

    VBS_TRY(cli_read_word(job->cli, values, "optimiser", OPTIMISERS, VBS_N_OPTIMISERS, &optimiser));
    VBS_TRY(cli_read_word(job->cli, values, "schedule", COURSES, VBS_N_RATES, &course));
    VBS_TRY(cli_read_word(job->cli, values, "init", WAYS, VBS_N_INITIALISATIONS, &initialisation));
    job->options.optimiser = (enum vbs_optimiser)optimiser;
    job->options.course = (enum vbs_rate_course)course;
    job->options.initialisation = (enum vbs_initialisation)initialisation;
    return VBS_OK;
}

static enum vbs_status read_options(struct train_job *job)
{
    struct vbs_train_options *o = &job->options;
    int64_t number = 1;

    VBS_TRY(read_number(job, "epochs", 1, 1000000, &o->epochs));
    VBS_TRY(read_number(job, "batch", 1, VBS_MAX_BATCH, &o->batch));
    VBS_TRY(read_number(job, "threads", 1, 1024, &o->threads));
    VBS_TRY(read_number(job, "shift", 0, 4096, &o->max_shift));
    VBS_TRY(cli_read_whole(job->cli, job->values, "seed", 0, INT64_MAX, &number));
    o->seed = (uint64_t)number;
    VBS_TRY(read_words(job));
    VBS_TRY(read_real(job, "rate", 0, &o->rate));
    VBS_TRY(read_real(job, "momentum", -1, &o->momentum));
    VBS_TRY(read_real(job, "weight-decay", -1, &o->weight_decay));
    VBS_TRY(read_real(job, "warm-up", 0, &o->warm_up_epochs));
    VBS_TRY(read_real(job, "label-smoothing", 0, &o->label_smoothing));
    VBS_TRY(read_real(job, "dropout", -1, &o->dropout_rate));
    o->nesterov = cli_value(job->cli, job->values, "nesterov");
    o->mirror = cli_value(job->cli, job->values, "mirror");
    o->checkpoint = cli_value(job->cli, job->values, "checkpoint");
    return VBS_OK;
}

/* ---- what is printed ---- */

static void print_epoch(const struct vbs_train_epoch *e)
{
    printf("%5d  %7.4f  %7.2f%%", e->epoch, e->loss, 100 * e->accuracy);
    if (e->validated)
        printf("  %9.4f  %12.2f%%", e->validation_loss, 100 * e->validation_accuracy);
    printf("  %9.3g  %8.1f s\n", e->rate, e->elapsed_s);
    fflush(stdout);
}

/* Keeps an epoch, and prints it. */
static void report(void *self, const struct vbs_train_epoch *epoch)
{
    struct train_job *job = self;

    if (vbs_grow(NULL, &job->epochs, &job->max_epochs, (int64_t)job->n_epochs + 1,
                 sizeof *job->epochs) != VBS_OK) {
        job->failed = true;
        return;
    }
    job->epochs[job->n_epochs++] = *epoch;
    if (!job->table)
        return;
    cli_progress_end(job->cli);
    if (job->n_epochs == 1)
        printf("epoch     loss  accuracy%s       rate        time\n",
               epoch->validated ? "  val. loss  val. accuracy" : "");
    print_epoch(epoch);
}

static void show_progress(void *self, double done, const struct vbs_train_epoch *so_far)
{
    struct train_job *job = self;
    char text[80];

    if (!job->progress.report)
        return;
    snprintf(text, sizeof text, "epoch %d, loss %.4f", so_far->epoch, so_far->loss);
    job->progress.report(job->progress.self, done, -1, text);
}

static void warn(void *self, const char *text)
{
    const struct train_job *job = self;

    cli_warn(job->cli, "%s", text);
}

static json_t *epoch_json(const struct vbs_train_epoch *e, bool *failed)
{
    json_t *made = json_object();

    cli_json_put(made, "epoch", json_integer(e->epoch), failed);
    cli_json_put(made, "loss", json_real(e->loss), failed);
    cli_json_put(made, "accuracy", json_real(e->accuracy), failed);
    cli_json_put(made, "validation_loss",
                 e->validated ? json_real(e->validation_loss) : json_null(), failed);
    cli_json_put(made, "validation_accuracy",
                 e->validated ? json_real(e->validation_accuracy) : json_null(), failed);
    cli_json_put(made, "rate", json_real(e->rate), failed);
    cli_json_put(made, "time_s", json_real(e->elapsed_s), failed);
    return made;
}

static enum vbs_status print_json(const struct train_job *job)
{
    json_t *root = json_object(), *epochs = json_array();
    char normalise[VBS_NORMALISE_SIZE];
    bool failed = false;

    for (int i = 0; i < job->n_epochs; i++)
        cli_json_append(epochs, epoch_json(&job->epochs[i], &failed), &failed);
    cli_json_put(root, "format", json_string("vbslab-train-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(job->network->name), &failed);
    cli_json_put(root, "data", json_string(job->folder), &failed);
    cli_json_put(root, "images", json_integer(vbs_dataset_info(job->images)->n_images), &failed);
    cli_json_put(root, "normalise",
                 json_string(vbs_normalise_format(&job->normalise, normalise, sizeof normalise)),
                 &failed);
    cli_json_put(root, "output", job->path ? json_string(job->path) : json_null(), &failed);
    cli_json_put(root, "epochs", epochs, &failed);
    return cli_json_print(job->cli, root, failed);
}

static void print_csv(const struct train_job *job)
{
    printf("epoch,loss,accuracy,validation_loss,validation_accuracy,rate,time_s\n");
    for (int i = 0; i < job->n_epochs; i++) {
        const struct vbs_train_epoch *e = &job->epochs[i];

        printf("%d,%.9g,%.9g,", e->epoch, e->loss, e->accuracy);
        if (e->validated)
            printf("%.9g,%.9g", e->validation_loss, e->validation_accuracy);
        else
            printf(",");
        printf(",%.9g,%.3f\n", e->rate, e->elapsed_s);
    }
}

static enum vbs_status print_result(const struct train_job *job)
{
    if (cli_value(job->cli, job->values, "json"))
        return print_json(job);
    if (cli_value(job->cli, job->values, "csv"))
        print_csv(job);
    else if (job->n_epochs == 0)
        printf("all epochs were trained before, as the checkpoint says\n");
    return VBS_OK;
}

/* ---- the command ---- */

static enum vbs_status open_images(struct train_job *job)
{
    struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_ctx *ctx = &job->cli->ctx;

    VBS_TRY(cli_read_whole(job->cli, job->values, "validation", 1, VBS_DATA_MAX_IMAGES,
                           &data.n_validation));
    VBS_TRY(vbs_dataset_open(ctx, job->folder, VBS_SPLIT_TRAIN, &data, &job->images));
    /* Of fewer than ten images a tenth is none. */
    if (data.n_validation > 0 || vbs_dataset_info(job->images)->n_images >= 10)
        VBS_TRY(vbs_dataset_open(ctx, job->folder, VBS_SPLIT_VALIDATION, &data, &job->validation));
    return vbs_normalise_measure(ctx, job->folder, &job->normalise);
}

static enum vbs_status train(struct train_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    struct vbs_train_epoch last;
    enum vbs_status status;

    VBS_TRY(read_options(job));
    if (job->path)
        VBS_TRY(cli_check_output(job->cli, job->model, job->path, ".onnx", "an ONNX file"));
    VBS_TRY(cli_load_floats(job->cli, job->model, &job->network));
    VBS_TRY(open_images(job));
    job->progress = cli_progress(job->cli);
    job->options.self = job;
    job->options.report = report;
    job->options.progress = show_progress;
    job->options.warn = warn;
    status = vbs_train(ctx, job->network, job->images, job->validation, &job->normalise,
                       &job->options, &job->trained, &last);
    cli_progress_end(job->cli);
    if (status == VBS_OK && job->failed)
        status = vbs_no_memory(ctx);
    if (status == VBS_OK && job->path)
        status = vbs_network_export(ctx, job->trained, job->path);
    return status == VBS_OK ? print_result(job) : status;
}

static int run_train(struct cli *cli, const char *const *values, int n_arguments,
                     const char *const *arguments)
{
    struct train_job job = {.cli = cli, .values = values};
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.model = arguments[0];
    job.folder = cli_value(cli, values, "data");
    job.path = cli_value(cli, values, "output");
    job.table = !cli_value(cli, values, "json") && !cli_value(cli, values, "csv");
    job.options.struct_size = sizeof job.options;
    if (!job.folder || !cli_value(cli, values, "epochs"))
        return cli_usage(cli, "needs --data DIR and --epochs N");
    status = train(&job);
    free(job.epochs);
    vbs_dataset_free(job.images);
    vbs_dataset_free(job.validation);
    vbs_network_free(job.trained);
    vbs_network_free(job.network);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"data", "DIR",
     "the folder of a data set: IDX files (MNIST, Fashion-MNIST), CIFAR-10's binary files, or "
     "arrays of numpy"},
    {"epochs", "N", "passes over all training images"},
    {"validation", "N",
     "how many of the training images are set aside for validation (default a tenth)"},
    {"output", "FILE.onnx", "the trained network (default: none is written)"},
    {"batch", "N", "images of a step (default 128)"},
    {"rate", "R", "the largest rate (default 0.02 with sgd, 0.001 with adam)"},
    {"schedule", "NAME",
     "the course of the rate: cosine, constant, step or exponential (default "
     "cosine, which falls to 0)"},
    {"warm-up", "N", "epochs in which the rate rises to its largest (default 0)"},
    {"optimiser", "NAME", "sgd, with momentum, or adam (default sgd)"},
    {"momentum", "M", "of sgd (default 0.9)"},
    {"nesterov", NULL, "Nesterov's momentum"},
    {"weight-decay", "D", "of weights; biases, gamma and beta have none (default 0.0005)"},
    {"label-smoothing", "S",
     "the share of a label's probability that all classes have evenly "
     "(default 0)"},
    {"dropout", "RATE", "the share of values that dropout layers drop (default 0.5, 0 drops none)"},
    {"mirror", NULL, "half of the images are mirrored, other ones in each epoch"},
    {"shift", "N", "images are moved by up to N pixels, anew in each epoch (default 0)"},
    {"init", "NAME",
     "first weights: fan, he, glorot, or keep, the network's own (default fan: he "
     "for layers with a ReLU, half of its variance for others)"},
    {"seed", "N", "decides first weights, order and variation of images, and dropout (default 1)"},
    {"checkpoint", "FILE", "written every 30 seconds; where it exists, training goes on from it"},
    {"threads", "N", "threads that compute (default: as many as this process may use)"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV"},
    {0},
};

const struct cli_command cli_train = {
    .name = "train",
    .summary = "trains a network on labelled images, and writes it as an ONNX file",
    .usage = "MODEL --data DIR --epochs N [-o FILE.onnx] [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .example =
        "vbslab train lenet-5 --data /usr/share/datasets/fashion-mnist --epochs 5 -o net.onnx\n"
        "vbslab train resnet-8 --input 3x32x32 --data cifar-10-batches-bin --epochs 30 --mirror",
    .run = run_train,
};
