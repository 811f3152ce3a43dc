#include "base/clock.h"
#include "base/fail.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/print/print.h"
#include "cli/sensitivity/sensitivity.h"
#include "vbslab/sensitivity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SHARES "0.125,0.25,0.375,0.5,0.625,0.75,0.875"
#define MAX_SHARES     1000

/* A measurement of sensitivity and its results. */
struct sensitivity_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *model, *folder;
    struct vbs_network *network;
    struct vbs_dataset *images, *validation;
    struct vbs_normalise normalise;
    struct vbs_sensitivity_options options;
    struct vbs_sensitivity *sensitivity;
    const struct vbs_prune_groups *groups;
    bool *chosen; /* [n_groups] */
    double shares[MAX_SHARES];
    int n_shares;
    double fall;   /* of accuracy, 0..1 */
    int64_t block; /* filters */
    struct sensitivity_points points;
    struct vbs_sensitivity_range *ranges; /* [n_groups] */
    int n_ranges;
    struct vbs_progress progress;
    int n_points, n_done; /* points to measure, without those of the file */
    char at[100];         /* the point that is being measured */
    struct cli_pictures pictures;
};

/* ---- options ---- */

/* Adds a share to the list. */
static enum vbs_status add_share(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct sensitivity_job *job = self;
    double share;

    VBS_TRY(cli_parse_from_0(ctx, "--shares", item, "", &share));
    if (!(share > 0 && share < 1) || job->n_shares == MAX_SHARES)
        return vbs_fail(ctx, VBS_USAGE,
                        "--shares are up to %d numbers above 0 and below 1, such as 0.25,0.5",
                        MAX_SHARES);
    job->shares[job->n_shares++] = share;
    return VBS_OK;
}

static enum vbs_status read_options(struct sensitivity_job *job)
{
#define WORD(name, word) word,
    static const char *const RANKINGS[] = {VBS_PRUNE_RANKING_LIST(WORD)};
#undef WORD
    struct cli *cli = job->cli;
    struct vbs_sensitivity_options *o = &job->options;
    const char *shares = cli_value(cli, job->values, "shares");
    int64_t epochs = 0, batch = 0, threads = 0, shift = 0, seed = 1;
    int ranking = 0;
    double fall = 1;

    o->struct_size = sizeof *o;
    job->block = VBS_PRUNE_STEP;
    VBS_TRY(cli_read_whole(cli, job->values, "epochs", 0, 1000000, &epochs));
    VBS_TRY(cli_read_whole(cli, job->values, "batch", 1, VBS_MAX_BATCH, &batch));
    VBS_TRY(cli_read_whole(cli, job->values, "threads", 1, 1024, &threads));
    VBS_TRY(cli_read_whole(cli, job->values, "shift", 0, 4096, &shift));
    VBS_TRY(cli_read_whole(cli, job->values, "seed", 0, INT64_MAX, &seed));
    VBS_TRY(cli_read_whole(cli, job->values, "limit", 1, VBS_DATA_MAX_IMAGES, &o->limit));
    VBS_TRY(cli_read_whole(cli, job->values, "round", 1, 65536, &job->block));
    VBS_TRY(cli_read_from_0(cli, job->values, "rate", &o->rate));
    VBS_TRY(cli_read_from_0(cli, job->values, "fall", &fall));
    VBS_TRY(cli_read_word(cli, job->values, "by", RANKINGS, VBS_N_PRUNE_RANKINGS, &ranking));
    if (fall > 100)
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--fall %g is more than 100 points", fall);
    if (cli_is_empty_list(shares))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--shares has no number");
    VBS_TRY(cli_for_each(&job->cli->ctx, shares ? shares : DEFAULT_SHARES, add_share, job));
    job->fall = fall / 100;
    o->ranking = (enum vbs_prune_ranking)ranking;
    o->epochs = (int)epochs;
    o->batch = (int)batch;
    o->threads = (int)threads;
    o->max_shift = (int)shift;
    o->seed = (uint64_t)seed;
    o->mirror = cli_value(job->cli, job->values, "mirror");
    return VBS_OK;
}

/* ---- what is measured ---- */

static enum vbs_status choose_group(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct sensitivity_job *job = self;

    return vbs_prune_choose(ctx, job->groups, NULL, item, job->chosen);
}

static enum vbs_status choose_groups(struct sensitivity_job *job)
{
    const char *groups = cli_value(job->cli, job->values, "groups");

    job->chosen = calloc((size_t)job->groups->n_groups + 1, sizeof *job->chosen);
    job->ranges = calloc((size_t)job->groups->n_groups + 1, sizeof *job->ranges);
    if (!job->chosen || !job->ranges)
        return vbs_no_memory(&job->cli->ctx);
    if (cli_is_empty_list(groups))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--groups has no name");
    return cli_for_each(&job->cli->ctx, groups ? groups : "all", choose_group, job);
}

static enum vbs_status find_normalise(struct sensitivity_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;

    return job->network->normalise
               ? vbs_normalise_parse(ctx, job->model, job->network->normalise, &job->normalise)
               : vbs_normalise_measure(ctx, job->folder, &job->normalise);
}

/* Reads the network and its images: choices are made on validation images, never on test images. */
/* Checks the names of series before the work. */
static enum vbs_status check_series(struct sensitivity_job *job)
{
    const struct vbs_prune_groups *groups = job->groups;
    const char **names = calloc((size_t)groups->n_groups + 1, sizeof *names);
    enum vbs_status status;

    if (!names)
        return vbs_no_memory(&job->cli->ctx);
    for (int g = 0; g < groups->n_groups; g++)
        names[g] = groups->groups[g].name;
    status = cli_pictures_check(job->cli, &job->pictures, names, groups->n_groups);
    free(names);
    return status;
}

static enum vbs_status open_all(struct sensitivity_job *job)
{
    struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_ctx *ctx = &job->cli->ctx;

    VBS_TRY(cli_read_whole(job->cli, job->values, "validation", 1, VBS_DATA_MAX_IMAGES,
                           &data.n_validation));
    VBS_TRY(cli_load_floats(job->cli, job->model, &job->network));
    VBS_TRY(vbs_dataset_open(ctx, job->folder, VBS_SPLIT_VALIDATION, &data, &job->validation));
    if (job->options.epochs > 0 || job->options.ranking == VBS_PRUNE_TAYLOR)
        VBS_TRY(vbs_dataset_open(ctx, job->folder, VBS_SPLIT_TRAIN, &data, &job->images));
    VBS_TRY(find_normalise(job));
    VBS_TRY(vbs_sensitivity_open(ctx, job->network, job->images, job->validation, &job->normalise,
                                 &job->options, &job->sensitivity));
    job->groups = vbs_sensitivity_groups(job->sensitivity);
    job->points.groups = job->groups;
    job->points.epochs = job->options.epochs;
    job->points.path = cli_value(job->cli, job->values, "output");
    VBS_TRY(check_series(job));
    VBS_TRY(choose_groups(job));
    VBS_TRY(vbs_sensitivity_key(ctx, job->sensitivity, job->points.key));
    return points_open(ctx, &job->points);
}

/* ---- measuring ---- */

/* Passes the progress of a point on as progress of all points. */
static void report(void *self, double done, double left_s, const char *text)
{
    struct sensitivity_job *job = self;
    char both[200];

    (void)left_s;
    if (!job->progress.report)
        return;
    snprintf(both, sizeof both, "%s%s%s", job->at, text[0] ? ", " : "", text);
    job->progress.report(job->progress.self, (job->n_done + done) / job->n_points, -1, both);
}

static enum vbs_status measure(struct sensitivity_job *job, int group, int64_t keep)
{
    struct sensitivity_row row;
    double begin_s = vbs_clock_s();

    if (group < 0)
        snprintf(job->at, sizeof job->at, "the whole network");
    else
        snprintf(job->at, sizeof job->at, "%.60s, %" PRId64 " of %" PRId64,
                 job->groups->groups[group].name, keep, job->groups->groups[group].n_channels);
    report(job, 0, -1, "");
    VBS_TRY(vbs_check_cancel(&job->cli->ctx));
    VBS_TRY(vbs_sensitivity_measure(&job->cli->ctx, job->sensitivity, group, keep, &row.point));
    row.time_s = vbs_clock_s() - begin_s;
    job->n_done++;
    return points_add(&job->cli->ctx, &job->points, &row);
}

/* Gives the channels of a group that stay at share number i, or 0 where another share of the list
 * has as many, or nothing is removed. */
static int64_t keep_of(const struct sensitivity_job *job, int group, int i)
{
    const struct vbs_prune_group *g = &job->groups->groups[group];
    int64_t keep = vbs_prune_keep(g, job->shares[i], 1);

    for (int k = 0; k < i; k++)
        if (vbs_prune_keep(g, job->shares[k], 1) == keep)
            return 0;
    return keep < g->n_channels ? keep : 0;
}

/* Calls measure for each point that the file does not have; with count it counts them only. */
static enum vbs_status each_point(struct sensitivity_job *job, bool count)
{
    if (!points_find(&job->points, -1, 0)) {
        job->n_points += count;
        VBS_TRY(count ? VBS_OK : measure(job, -1, 0));
    }
    for (int g = 0; g < job->groups->n_groups; g++)
        for (int i = 0; job->chosen[g] && !job->groups->groups[g].fixed && i < job->n_shares; i++) {
            int64_t keep = keep_of(job, g, i);

            if (keep == 0 || points_find(&job->points, g, keep))
                continue;
            job->n_points += count;
            VBS_TRY(count ? VBS_OK : measure(job, g, keep));
        }
    return VBS_OK;
}

/* Puts the points in the order of groups and of falling widths. */
static int compare_rows(const void *a, const void *b)
{
    const struct vbs_sensitivity_point *p = &((const struct sensitivity_row *)a)->point;
    const struct vbs_sensitivity_point *q = &((const struct sensitivity_row *)b)->point;

    if (p->group != q->group)
        return p->group < q->group ? -1 : 1;
    return (p->keep < q->keep) - (p->keep > q->keep);
}

/* Gives the points without their times; the caller frees them. Null: memory is out. */
static struct vbs_sensitivity_point *copy_points(const struct sensitivity_points *points)
{
    struct vbs_sensitivity_point *copy = malloc((size_t)points->n_rows * sizeof *copy);

    for (int i = 0; copy && i < points->n_rows; i++)
        copy[i] = points->rows[i].point;
    return copy;
}

static void warn_diverged(const struct sensitivity_job *job)
{
    int n = 0;

    for (int i = 0; i < job->points.n_rows; i++)
        n += job->points.rows[i].point.diverged;
    if (n > 0)
        cli_warn(job->cli,
                 "%d of %d points diverged in retraining and count as too inaccurate; a lower "
                 "--rate may help",
                 n, job->points.n_rows);
}

static enum vbs_status propose(struct sensitivity_job *job)
{
    struct vbs_sensitivity_point *points = copy_points(&job->points);
    enum vbs_status status;

    if (!points)
        return vbs_no_memory(&job->cli->ctx);
    status = vbs_sensitivity_propose(&job->cli->ctx, job->groups, points, job->points.n_rows,
                                     job->fall, job->block, job->ranges, &job->n_ranges);
    free(points);
    return status;
}

/* ---- results ---- */

static void add_percent(struct cli_table *table, bool has, double share)
{
    if (has)
        cli_table_add(table, "%.2f", 100 * share);
    else
        cli_table_add(table, "-");
}

static void add_point(struct cli_table *table, const struct sensitivity_job *job,
                      const struct sensitivity_row *row, const struct sensitivity_row *whole)
{
    const struct vbs_sensitivity_point *p = &row->point;
    const struct vbs_prune_group *g = p->group < 0 ? NULL : &job->groups->groups[p->group];

    cli_table_add(table, "%s", g ? g->name : "(whole network)");
    if (g)
        cli_table_add(table, "%" PRId64 " of %" PRId64, p->keep, g->n_channels);
    else
        cli_table_add(table, "-");
    cli_table_add(table, "%.4g", g ? vbs_sensitivity_share(g, p->keep) : 0);
    cli_table_add(table, "%.1f",
                  100 * (double)p->macs / (double)(whole->point.macs > 0 ? whole->point.macs : 1));
    add_percent(table, true, p->accuracy);
    if (job->options.epochs > 0 && p->diverged)
        cli_table_add(table, "diverged");
    else if (job->options.epochs > 0)
        add_percent(table, p->retrained, p->retrained_accuracy);
}

static enum vbs_status print_points(const struct sensitivity_job *job)
{
    static const struct cli_column COLUMNS[] = {{"group", false},     {"channels", true},
                                                {"removed", true},    {"work %", true},
                                                {"accuracy %", true}, {"retrained %", true}};
    struct cli_table table = {.columns = COLUMNS, .n_columns = job->options.epochs > 0 ? 6 : 5};
    const struct sensitivity_row *whole = points_find(&job->points, -1, 0);

    for (int i = 0; i < job->points.n_rows; i++)
        add_point(&table, job, &job->points.rows[i], whole);
    return cli_table_print(job->cli, &table);
}

/* Prints the groups for which no range is proposed. */
static void print_left_out(const struct sensitivity_job *job)
{
    for (int i = 0; i < job->n_ranges; i++)
        if (job->ranges[i].n_widths == 0) {
            fputs("# ", stdout);
            cli_print_name(job->groups->groups[job->ranges[i].group].name);
            printf(": none, %s\n", job->ranges[i].why);
        }
}

static enum vbs_status print_toml(const struct sensitivity_job *job)
{
    char *text = NULL;

    VBS_TRY(vbs_sensitivity_toml(&job->cli->ctx, job->groups, job->ranges, job->n_ranges, &text));
    fputs(text, stdout);
    free(text);
    return VBS_OK;
}

static enum vbs_status print_text(const struct sensitivity_job *job)
{
    VBS_TRY(print_points(job));
    printf("\n# Ranges within %g points of the whole network%s, in blocks of %" PRId64
           " filters, for a study:\n\n",
           100 * job->fall, job->options.epochs > 0 ? ", both retrained" : "", job->block);
    VBS_TRY(print_toml(job));
    print_left_out(job);
    return VBS_OK;
}

static enum vbs_status print_csv(const struct sensitivity_job *job)
{
    struct vbs_text text = {0};

    vbs_text_add(&text, points_header);
    for (int i = 0; i < job->points.n_rows; i++)
        points_format(&job->points, &job->points.rows[i], &text);
    return cli_text_print(job->cli, &text);
}

static json_t *point_json(const struct sensitivity_job *job, const struct sensitivity_row *row,
                          bool *failed)
{
    const struct vbs_sensitivity_point *p = &row->point;
    const struct vbs_prune_group *g = p->group < 0 ? NULL : &job->groups->groups[p->group];
    json_t *made = json_object();

    cli_json_put(made, "group", g ? json_string(g->name) : json_null(), failed);
    cli_json_put(made, "number", json_integer(p->group), failed);
    cli_json_put(made, "keep", json_integer(p->keep), failed);
    cli_json_put(made, "share", json_real(g ? vbs_sensitivity_share(g, p->keep) : 0), failed);
    cli_json_put(made, "parameters", json_integer(p->parameters), failed);
    cli_json_put(made, "macs", json_integer(p->macs), failed);
    cli_json_put(made, "accuracy", json_real(p->accuracy), failed);
    cli_json_put(made, "loss", json_real(p->loss), failed);
    cli_json_put(made, "retrained_accuracy",
                 p->retrained ? json_real(p->retrained_accuracy) : json_null(), failed);
    cli_json_put(made, "retrained_loss", p->retrained ? json_real(p->retrained_loss) : json_null(),
                 failed);
    cli_json_put(made, "time_s", json_real(row->time_s), failed);
    cli_json_put(made, "diverged", json_boolean(p->diverged), failed);
    return made;
}

static json_t *range_json(const struct sensitivity_job *job,
                          const struct vbs_sensitivity_range *range, bool *failed)
{
    json_t *made = json_object();
    bool any = range->n_widths > 0;

    cli_json_put(made, "group", json_string(job->groups->groups[range->group].name), failed);
    cli_json_put(made, "safe", json_real(range->safe), failed);
    cli_json_put(made, "widths", json_integer(range->n_widths), failed);
    cli_json_put(made, "low", any ? json_real(range->low) : json_null(), failed);
    cli_json_put(made, "high", any ? json_real(range->high) : json_null(), failed);
    cli_json_put(made, "step", any ? json_real(range->step) : json_null(), failed);
    cli_json_put(made, "why", any ? json_null() : json_string(range->why), failed);
    return made;
}

static enum vbs_status print_json(const struct sensitivity_job *job)
{
    json_t *root = json_object(), *points = json_array(), *ranges = json_array();
    bool failed = false;

    for (int i = 0; i < job->points.n_rows; i++)
        cli_json_append(points, point_json(job, &job->points.rows[i], &failed), &failed);
    for (int i = 0; i < job->n_ranges; i++)
        cli_json_append(ranges, range_json(job, &job->ranges[i], &failed), &failed);
    cli_json_put(root, "format", json_string("vbslab-sensitivity-1"), &failed);
    cli_json_put(root, "vbslab", json_string(vbs_version()), &failed);
    cli_json_put(root, "model", json_string(job->network->name), &failed);
    cli_json_put(root, "data", json_string(job->folder), &failed);
    cli_json_put(root, "key", json_string(job->points.key), &failed);
    cli_json_put(root, "images", json_integer(vbs_dataset_info(job->validation)->n_images),
                 &failed);
    cli_json_put(root, "ranking", json_string(vbs_prune_ranking_word(job->options.ranking)),
                 &failed);
    cli_json_put(root, "epochs", json_integer(job->options.epochs), &failed);
    cli_json_put(root, "fall", json_real(job->fall), &failed);
    cli_json_put(root, "round", json_integer(job->block), &failed);
    cli_json_put(root, "points", points, &failed);
    cli_json_put(root, "ranges", ranges, &failed);
    return cli_json_print(job->cli, root, failed);
}

static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct sensitivity_job *job = self;
    struct vbs_sensitivity_point *points = copy_points(&job->points);
    enum vbs_status status =
        points ? vbs_sensitivity_plot(ctx, job->network->name, job->groups, points,
                                      job->points.n_rows, job->fall, options, path)
               : vbs_no_memory(ctx);

    free(points);
    return status;
}

static enum vbs_status print_result(struct sensitivity_job *job)
{
    VBS_TRY(cli_pictures_draw(job->cli, &job->pictures, draw, job));
    if (cli_value(job->cli, job->values, "json"))
        return print_json(job);
    if (cli_value(job->cli, job->values, "csv"))
        return print_csv(job);
    return cli_value(job->cli, job->values, "toml") ? print_toml(job) : print_text(job);
}

/* ---- the command ---- */

static enum vbs_status run(struct sensitivity_job *job)
{
    enum vbs_status status;

    VBS_TRY(read_options(job));
    job->options.progress = (struct vbs_progress){.self = job, .report = report};
    VBS_TRY(open_all(job));
    job->progress = cli_progress(job->cli);
    (void)each_point(job, true);
    if (job->points.n_read > 0)
        cli_note(job->cli, "'%s' has %d points already, %d are left", job->points.path,
                 job->points.n_read, job->n_points);
    status = each_point(job, false);
    cli_progress_end(job->cli);
    if (status != VBS_OK)
        return status;
    warn_diverged(job);
    qsort(job->points.rows, (size_t)job->points.n_rows, sizeof *job->points.rows, compare_rows);
    VBS_TRY(propose(job));
    return print_result(job);
}

static int run_sensitivity(struct cli *cli, const char *const *values, int n_arguments,
                           const char *const *arguments)
{
    struct sensitivity_job job = {.cli = cli, .values = values, .points = {.descriptor = -1}};
    enum vbs_status status =
        cli_pictures_read(cli, values, "plot", cli_value(cli, values, "plot"), &job.pictures);
    int code = cli_check_model(cli, values, n_arguments);

    if (code == 0 && !cli_value(cli, values, "data"))
        code = cli_usage(cli, "needs --data DIR");
    if (code != 0) {
        cli_pictures_clear(&job.pictures);
        return code;
    }
    job.model = arguments[0];
    job.folder = cli_value(cli, values, "data");
    if (status == VBS_OK)
        status = run(&job);
    points_clear(&job.points);
    cli_pictures_clear(&job.pictures);
    vbs_sensitivity_free(job.sensitivity);
    free(job.chosen);
    free(job.ranges);
    vbs_dataset_free(job.images);
    vbs_dataset_free(job.validation);
    vbs_network_free(job.network);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"data", "DIR",
     "the folder of a data set; accuracies are those on the images that are set aside for "
     "validation, never on test images"},
    {"groups", "LIST",
     "names or patterns of groups of 'vbslab prune --list' (default all that can be pruned)"},
    {"shares", "LIST", "shares of the channels that are removed (default " DEFAULT_SHARES ")"},
    {"by", "NAME",
     "which channels stay, as in 'vbslab prune': l1, l2, random or taylor (default l1)"},
    {"epochs", "N",
     "measure each point also behind N epochs of retraining, and compare with the whole network "
     "trained on for as many (default 0)"},
    {"rate", "R", "the largest rate of retraining, which falls as a cosine (default 0.005)"},
    {"batch", "N", "images of a step of retraining (default 128)"},
    {"mirror", NULL, "retraining mirrors half of the images"},
    {"shift", "N", "retraining moves images by up to N pixels (default 0)"},
    {"limit", "N", "only the first N validation images"},
    {"validation", "N",
     "how many of the training images are set aside for validation (default a tenth)"},
    {"fall", "POINTS", "percentage points of accuracy that a range may lose (default 1)"},
    {"round", "N", "ranges end at whole blocks of N filters (default 16)"},
    {"output", "FILE.csv",
     "a line for each point as soon as it is measured; where the file exists, the command goes on "
     "behind its points"},
    {"plot", "FILE",
     "accuracy against share as " CLI_PICTURE_ENDINGS "; several with commas. Series are the names "
     "of groups"},
    CLI_OPTIONS_PICTURE,
    {"seed", "N", "of random and taylor, and of retraining (default 1)"},
    {"threads", "N", "threads that compute (default: as many as this process may use)"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV"},
    {"toml", NULL, "print only the ranges, as tables [[parameter]] of a study"},
    {0},
};

const struct cli_command cli_sensitivity = {
    .name = "sensitivity",
    .summary = "what accuracy a network loses where channels of a group are removed",
    .usage = "MODEL --data DIR [options]",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments = (const struct cli_argument[]){{CLI_ARGUMENT_MODEL}, {0}},
    .example =
        "vbslab sensitivity net.onnx --data /usr/share/datasets/fashion-mnist --plot net.svg\n"
        "vbslab sensitivity net.onnx --data cifar-10-batches-bin --epochs 1 -o points.csv",
    .run = run_sensitivity,
};
