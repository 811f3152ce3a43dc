#include "base/arith.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"
#include "vbslab/eval.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CONFUSIONS 10 /* that the table lists */

/* An evaluation and its result. */
struct eval_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *model, *folder;
    struct vbs_network *network;
    struct vbs_dataset *dataset;
    struct vbs_normalise normalise;
    const char *normalise_from; /* network, data or option */
    struct vbs_eval_report report;
    struct vbs_score score;
};

/* ---- what was asked for ---- */

static enum vbs_status read_options(const struct eval_job *job, enum vbs_split *split,
                                    struct vbs_data_options *data, struct vbs_eval_options *options)
{
#define WORD(name, word) word,
    static const char *const SPLITS[] = {VBS_SPLIT_LIST(WORD)};
#undef WORD
    struct cli *cli = job->cli;
    int64_t batch = 0, threads = 0;
    int chosen = VBS_SPLIT_TEST;

    VBS_TRY(cli_read_word(cli, job->values, "split", SPLITS, VBS_N_SPLITS, &chosen));
    VBS_TRY(cli_read_whole(cli, job->values, "validation", 1, VBS_DATA_MAX_IMAGES,
                           &data->n_validation));
    VBS_TRY(cli_read_whole(cli, job->values, "limit", 1, VBS_DATA_MAX_IMAGES, &options->limit));
    VBS_TRY(cli_read_whole(cli, job->values, "batch", 1, VBS_MAX_BATCH, &batch));
    VBS_TRY(cli_read_whole(cli, job->values, "threads", 1, 1024, &threads));
    *split = (enum vbs_split)chosen;
    options->batch = (int)batch;
    options->threads = (int)threads;
    return VBS_OK;
}

/* ---- the result ---- */

static double percent(int64_t part, int64_t whole)
{
    return 100.0 * (double)part / (double)whole;
}

static double images_per_s(const struct eval_job *job)
{
    return (double)job->score.n_images / fmax(job->report.time_s, 1e-9);
}

/* Gives the 95% interval of the part of images that are right (Wilson 1927), in percent. */
static void interval(int64_t right, int64_t all, double *low, double *high)
{
    const double z = VBS_NORMAL_95;
    double n = (double)all, p = (double)right / n;
    double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    double half = z / (1 + z * z / n) * sqrt(p * (1 - p) / n + z * z / (4 * n * n));

    *low = 100 * fmax(0, middle - half);
    *high = 100 * fmin(1, middle + half);
}

/* Images of one label with another answer. */
struct confusion {
    int label, answer;
    int64_t n;
};

static int compare_confusions(const void *a, const void *b)
{
    const struct confusion *left = a, *right = b;

    if (left->n != right->n)
        return left->n > right->n ? -1 : 1;
    if (left->label != right->label)
        return left->label < right->label ? -1 : 1;
    return (left->answer > right->answer) - (left->answer < right->answer);
}

/* Gives the confusions, the most frequent first, which the caller frees; null: out of memory. */
static struct confusion *find_confusions(const struct vbs_score *score, int *n)
{
    int64_t count = 0, at = 0;
    int n_classes = score->n_classes;
    struct confusion *found;

    for (int64_t i = 0; i < (int64_t)n_classes * n_classes; i++)
        count += score->confusion[i] > 0 && i / n_classes != i % n_classes;
    found = malloc((size_t)(count + 1) * sizeof *found);
    if (!found)
        return NULL;
    for (int64_t i = 0; i < (int64_t)n_classes * n_classes; i++)
        if (score->confusion[i] > 0 && i / n_classes != i % n_classes)
            found[at++] = (struct confusion){.label = (int)(i / n_classes),
                                             .answer = (int)(i % n_classes),
                                             .n = score->confusion[i]};
    qsort(found, (size_t)count, sizeof *found, compare_confusions);
    *n = (int)count;
    return found;
}

/* Adds the name of a class, or its number. */
static void add_class(struct cli_table *table, const struct eval_job *job, int k)
{
    const char *name = vbs_dataset_class(job->dataset, k);

    if (name)
        cli_table_add(table, "%d %s", k, name);
    else
        cli_table_add(table, "%d", k);
}

static enum vbs_status print_confusions(const struct eval_job *job)
{
    static const struct cli_column COLUMNS[] = {
        {"images", true}, {"of its label", true}, {"label", false}, {"answer", false}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = 4};
    struct confusion *found;
    int n = 0;

    if (!job->score.confusion || job->score.n_right == job->score.n_images)
        return VBS_OK;
    found = find_confusions(&job->score, &n);
    if (!found)
        return vbs_no_memory(&job->cli->ctx);
    for (int i = 0; i < n && i < MOST_CONFUSIONS; i++) {
        const int64_t *row = job->score.confusion + (int64_t)found[i].label * job->score.n_classes;
        int64_t of_label = 0;

        for (int k = 0; k < job->score.n_classes; k++)
            of_label += row[k];
        cli_table_add(&table, "%lld", (long long)found[i].n);
        cli_table_add(&table, "%.1f%%", percent(found[i].n, of_label));
        add_class(&table, job, found[i].label);
        add_class(&table, job, found[i].answer);
    }
    free(found);
    printf("\nThe most frequent confusions%s:\n\n", n > MOST_CONFUSIONS ? " (--json has all)" : "");
    return cli_table_print(job->cli, &table);
}

static enum vbs_status print_text(const struct eval_job *job)
{
    static const char *const ORIGINS[] = {"option",  "--normalise",
                                          "network", "the network's file",
                                          "data",    "the data's training images"};
    const struct vbs_data_info *info = vbs_dataset_info(job->dataset);
    const struct vbs_score *score = &job->score;
    char normalise[VBS_NORMALISE_SIZE], rate[32];
    double low, high;
    int origin = 0;

    while (strcmp(ORIGINS[origin], job->normalise_from) != 0)
        origin += 2;
    interval(score->n_right, score->n_images, &low, &high);
    printf("network    ");
    cli_print_name(job->network->name);
    printf("\ndata       %lld %s images of ", (long long)score->n_images,
           vbs_split_word(info->split));
    cli_print_name(job->folder);
    printf("\nnormalise  %s, of %s\n",
           vbs_normalise_format(&job->normalise, normalise, sizeof normalise), ORIGINS[origin + 1]);
    printf("top-1      %.2f%%, %lld right, %lld wrong (95%% interval %.2f to %.2f)\n",
           percent(score->n_right, score->n_images), (long long)score->n_right,
           (long long)(score->n_images - score->n_right), low, high);
    printf("top-%d      %.2f%%\n", VBS_SCORE_TOP, percent(score->n_top, score->n_images));
    printf("loss       %.4f\n", score->loss_sum / (double)score->n_images);
    printf("speed      %s images/s, %d at once, %d thread%s\n",
           cli_format_number(images_per_s(job), rate, sizeof rate), job->report.batch,
           job->report.threads, job->report.threads == 1 ? "" : "s");
    return print_confusions(job);
}

/* Gives the confusion matrix as an array of rows, or null where there is none. */
static json_t *confusion_json(const struct vbs_score *score, bool *failed)
{
    json_t *rows;

    if (!score->confusion)
        return json_null();
    rows = json_array();
    for (int label = 0; label < score->n_classes; label++) {
        json_t *row = json_array();

        for (int k = 0; k < score->n_classes; k++)
            cli_json_append(
                row, json_integer(score->confusion[(int64_t)label * score->n_classes + k]), failed);
        cli_json_append(rows, row, failed);
    }
    return rows;
}

/* Gives the names of the classes, or null where they have none. */
static json_t *classes_json(const struct eval_job *job, bool *failed)
{
    json_t *names;

    if (!vbs_dataset_class(job->dataset, 0))
        return json_null();
    names = json_array();
    for (int k = 0; k < job->score.n_classes; k++)
        cli_json_append(names, json_string(vbs_dataset_class(job->dataset, k)), failed);
    return names;
}

static enum vbs_status print_json(const struct eval_job *job)
{
    const struct vbs_data_info *info = vbs_dataset_info(job->dataset);
    const struct vbs_score *score = &job->score;
    char normalise[VBS_NORMALISE_SIZE];
    json_t *root = json_object();
    bool failed = false;
    double low, high;

    interval(score->n_right, score->n_images, &low, &high);
    cli_json_put(root, "format", json_string("vbslab-eval-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(job->network->name), &failed);
    cli_json_put(root, "data", json_string(job->folder), &failed);
    cli_json_put(root, "data_format", json_string(info->format), &failed);
    cli_json_put(root, "split", json_string(vbs_split_word(info->split)), &failed);
    cli_json_put(root, "normalise",
                 json_string(vbs_normalise_format(&job->normalise, normalise, sizeof normalise)),
                 &failed);
    cli_json_put(root, "normalise_from", json_string(job->normalise_from), &failed);
    cli_json_put(root, "images", json_integer(score->n_images), &failed);
    cli_json_put(root, "right", json_integer(score->n_right), &failed);
    cli_json_put(root, "top1_percent", json_real(percent(score->n_right, score->n_images)),
                 &failed);
    cli_json_put(root, "top1_low_percent", json_real(low), &failed);
    cli_json_put(root, "top1_high_percent", json_real(high), &failed);
    cli_json_put(root, "top5_percent", json_real(percent(score->n_top, score->n_images)), &failed);
    cli_json_put(root, "loss", json_real(score->loss_sum / (double)score->n_images), &failed);
    cli_json_put(root, "images_per_s", json_real(images_per_s(job)), &failed);
    cli_json_put(root, "batch", json_integer(job->report.batch), &failed);
    cli_json_put(root, "threads", json_integer(job->report.threads), &failed);
    cli_json_put(root, "held_bytes", json_integer(job->report.held_bytes), &failed);
    cli_json_put(root, "classes", classes_json(job, &failed), &failed);
    cli_json_put(root, "confusion", confusion_json(score, &failed), &failed);
    return cli_json_print(job->cli, root, failed);
}

static enum vbs_status print_csv(const struct eval_job *job)
{
    const struct vbs_score *score = &job->score;
    struct vbs_text text = {0};

    vbs_text_add(&text, "model,data,split,images,right,top1_percent,top5_percent,loss,"
                        "images_per_s,batch,threads\n");
    vbs_text_add_csv(&text, job->network->name);
    vbs_text_add(&text, ",");
    vbs_text_add_csv(&text, job->folder);
    vbs_text_addf(&text, ",%s,%lld,%lld,", vbs_split_word(vbs_dataset_info(job->dataset)->split),
                  (long long)score->n_images, (long long)score->n_right);
    vbs_text_add_double(&text, percent(score->n_right, score->n_images));
    vbs_text_add(&text, ",");
    vbs_text_add_double(&text, percent(score->n_top, score->n_images));
    vbs_text_add(&text, ",");
    vbs_text_add_double(&text, score->loss_sum / (double)score->n_images);
    vbs_text_add(&text, ",");
    vbs_text_add_double(&text, images_per_s(job));
    vbs_text_addf(&text, ",%d,%d\n", job->report.batch, job->report.threads);
    return cli_text_print(job->cli, &text);
}

/* ---- the command ---- */

static enum vbs_status run_network(struct eval_job *job, struct vbs_eval_options *options)
{
    enum vbs_status status;

    VBS_TRY(vbs_eval_check(&job->cli->ctx, job->network, job->dataset));
    VBS_TRY(cli_find_normalise(job->cli, job->values, job->network, job->model, job->folder,
                               vbs_dataset_info(job->dataset)->channels, &job->normalise,
                               &job->normalise_from));
    options->progress = cli_progress(job->cli);
    status = vbs_evaluate(&job->cli->ctx, job->network, job->dataset, &job->normalise, options,
                          &job->report, &job->score);
    cli_progress_end(job->cli);
    return status;
}

static enum vbs_status evaluate(struct eval_job *job)
{
    struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_eval_options options = {.struct_size = sizeof options};
    enum vbs_split split;

    VBS_TRY(read_options(job, &split, &data, &options));
    VBS_TRY(cli_load_network(job->cli, job->model, &job->network));
    VBS_TRY(vbs_dataset_open(&job->cli->ctx, job->folder, split, &data, &job->dataset));
    VBS_TRY(run_network(job, &options));
    if (cli_value(job->cli, job->values, "json"))
        return print_json(job);
    return cli_value(job->cli, job->values, "csv") ? print_csv(job) : print_text(job);
}

static int run_eval(struct cli *cli, const char *const *values, int n_arguments,
                    const char *const *arguments)
{
    struct eval_job job = {.cli = cli, .values = values};
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.model = arguments[0];
    job.folder = cli_value(cli, values, "data");
    if (!job.folder)
        return cli_usage(cli, "needs --data DIR");
    status = evaluate(&job);
    vbs_score_clear(&job.score);
    vbs_dataset_free(job.dataset);
    vbs_network_free(job.network);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"data", "DIR",
     "the folder of a data set: IDX files (MNIST, Fashion-MNIST), CIFAR-10's binary files, or "
     "arrays of numpy"},
    {"split", "NAME", "train, validation or test images (default test)"},
    {"validation", "N",
     "how many of the training images are set aside for validation (default a tenth)"},
    {"limit", "N", "only the first N images"},
    CLI_OPTIONS_IMAGES,
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON, with the whole confusion matrix"},
    {"csv", NULL, "print CSV"},
    {CLI_OPTION_PRECISION},
    {0},
};

const struct cli_command cli_eval = {
    .name = "eval",
    .summary = "how often a network names the right class of the images of a data set",
    .usage = "MODEL --data DIR [options]",
    .options = OPTIONS,
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .example = "vbslab eval net.onnx --data /usr/share/datasets/fashion-mnist\n"
               "vbslab eval net.vbz --data cifar-10-batches-bin --split validation --json",
    .run = run_eval,
};
