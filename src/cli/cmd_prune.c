#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/prune/prune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A pruning. */
struct prune_job {
    struct cli *cli;
    const char *const *values; /* of the options */
    const char *model, *path, *folder, *preset;
    struct vbs_network *network, *pruned;
    struct vbs_prune_groups *groups;
    struct vbs_dataset *images;
    struct vbs_normalise normalise;
    struct vbs_prune_options options;
    int64_t *keep;  /* [n_groups] */
    bool *chosen;   /* [n_groups] by the item that is read */
    double *scores; /* [n_channels] */
    int64_t step;   /* to which widths are rounded up */
    int64_t block;  /* filters that kernels compute at once */
    bool by_share;  /* items are shares that are removed, else filters that stay */
};

/* ---- options ---- */

static enum vbs_status read_options(struct prune_job *job)
{
#define WORD(name, word) word,
    static const char *const RANKINGS[] = {VBS_PRUNE_RANKING_LIST(WORD)};
#undef WORD
    struct cli *cli = job->cli;
    struct vbs_ctx *ctx = &cli->ctx;
    int64_t seed = 1, images = 0, threads = 0;
    int ranking = 0;
    bool taylor;

    VBS_TRY(cli_read_word(cli, job->values, "by", RANKINGS, VBS_N_PRUNE_RANKINGS, &ranking));
    job->options.ranking = (enum vbs_prune_ranking)ranking;
    taylor = job->options.ranking == VBS_PRUNE_TAYLOR;
    VBS_TRY(cli_read_whole(cli, job->values, "seed", 0, INT64_MAX, &seed));
    VBS_TRY(cli_read_whole(cli, job->values, "images", 1, VBS_DATA_MAX_IMAGES, &images));
    VBS_TRY(cli_read_whole(cli, job->values, "threads", 1, 1024, &threads));
    VBS_TRY(cli_read_whole(cli, job->values, "round", 1, VBS_MAX_DIM, &job->step));
    job->block = vbs_prune_block();
    VBS_TRY(cli_read_whole(cli, job->values, "block", 1, VBS_MAX_DIM, &job->block));
    if (taylor && !job->folder)
        return vbs_fail(ctx, VBS_USAGE, "--by taylor needs --data DIR");
    if (!taylor && (job->folder || images > 0))
        return vbs_fail(ctx, VBS_USAGE, "--%s goes with --by taylor",
                        job->folder ? "data" : "images");
    job->options.struct_size = sizeof job->options;
    job->options.seed = (uint64_t)seed;
    job->options.n_images = (int)images;
    job->options.threads = (int)threads;
    return VBS_OK;
}

/* ---- how much of which groups ---- */

/* Reads the share of channels that is removed. */
static enum vbs_status read_share(struct vbs_ctx *ctx, const char *text, double *share)
{
    char *end;
    double number = strtod(text, &end);
    bool percent = end != text && strcmp(end, "%") == 0;

    number = percent ? number / 100 : number;
    if (end == text || (*end && !percent) || !isfinite(number) || number < 0)
        return vbs_fail(ctx, VBS_USAGE,
                        "--prune '%.40s': it is the share of channels that is REMOVED, from 0 to "
                        "less than 1, or from 0%% to less than 100%%",
                        text);
    if (number >= 1)
        return vbs_fail(ctx, VBS_USAGE,
                        "--prune '%.40s' would remove all channels; the share that is removed is "
                        "less than 1",
                        text);
    *share = number;
    return VBS_OK;
}

/* Sets what the chosen groups keep. */
static enum vbs_status apply_value(struct prune_job *job, const char *value)
{
    double share = 0;
    int64_t filters = 0;

    if (job->by_share)
        VBS_TRY(read_share(&job->cli->ctx, value, &share));
    else
        VBS_TRY(vbs_parse_int(&job->cli->ctx, "--keep", value, 1, VBS_MAX_DIM, &filters));
    for (int g = 0; g < job->groups->n_groups; g++) {
        const struct vbs_prune_group *group = &job->groups->groups[g];
        int64_t step = job->step > 1 ? job->step : 1;
        int64_t channels = ((filters + step - 1) / step * step + group->unit - 1) / group->unit;

        if (!job->chosen[g])
            continue;
        if (job->by_share)
            job->keep[g] = vbs_prune_keep(group, share, job->step);
        else
            job->keep[g] = channels < group->n_channels ? channels : group->n_channels;
    }
    return VBS_OK;
}

/* Reads "VALUE" or "GROUP=VALUE". */
static enum vbs_status take_item(struct vbs_ctx *ctx, const char *item, void *self)
{
    struct prune_job *job = self;
    const char *equals = strrchr(item, '=');
    char *pattern = equals ? strndup(item, (size_t)(equals - item)) : strdup("all");
    enum vbs_status status;

    if (!pattern)
        return vbs_no_memory(ctx);
    memset(job->chosen, 0, (size_t)job->groups->n_groups * sizeof *job->chosen);
    status = vbs_prune_choose(ctx, job->groups, job->preset, pattern, job->chosen);
    if (status == VBS_OK)
        status = apply_value(job, equals ? equals + 1 : item);
    free(pattern);
    return status;
}

static enum vbs_status read_keep(struct prune_job *job)
{
    const char *shares = cli_value(job->cli, job->values, "prune");
    const char *filters = cli_value(job->cli, job->values, "keep");
    size_t n = (size_t)job->groups->n_groups + 1;

    job->keep = calloc(n, sizeof *job->keep);
    job->chosen = calloc(n, sizeof *job->chosen);
    job->scores = calloc((size_t)job->groups->n_channels + 1, sizeof *job->scores);
    if (!job->keep || !job->chosen || !job->scores)
        return vbs_no_memory(&job->cli->ctx);
    for (int g = 0; g < job->groups->n_groups; g++)
        job->keep[g] = job->groups->groups[g].n_channels;
    if (cli_is_empty_list(shares) || cli_is_empty_list(filters))
        return vbs_fail(&job->cli->ctx, VBS_USAGE, "--%s names no value",
                        cli_is_empty_list(shares) ? "prune" : "keep");
    job->by_share = true;
    if (shares)
        VBS_TRY(cli_for_each(&job->cli->ctx, shares, take_item, job));
    job->by_share = false;
    return filters ? cli_for_each(&job->cli->ctx, filters, take_item, job) : VBS_OK;
}

/* ---- the work ---- */

/* Reads the images of a Taylor ranking, which are training images, and their normalisation. */
static enum vbs_status open_images(struct prune_job *job)
{
    const struct vbs_data_options data = {.struct_size = sizeof data};
    struct vbs_ctx *ctx = &job->cli->ctx;

    if (!job->folder)
        return VBS_OK;
    VBS_TRY(vbs_dataset_open(ctx, job->folder, VBS_SPLIT_TRAIN, &data, &job->images));
    if (job->network->normalise)
        VBS_TRY(vbs_normalise_parse(ctx, job->model, job->network->normalise, &job->normalise));
    else
        VBS_TRY(vbs_normalise_measure(ctx, job->folder, &job->normalise));
    job->options.images = job->images;
    job->options.normalise = &job->normalise;
    return VBS_OK;
}

static bool has_coded(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (vbs_network_coded(network, k))
            return true;
    return false;
}

static enum vbs_status write_pruned(struct prune_job *job)
{
    struct vbs_ctx *ctx = &job->cli->ctx;

    VBS_TRY(read_keep(job));
    VBS_TRY(open_images(job));
    VBS_TRY(vbs_prune_scores(ctx, job->network, job->groups, &job->options, job->scores));
    VBS_TRY(vbs_prune_apply(ctx, job->network, job->groups, job->scores, job->keep, &job->pruned));
    VBS_TRY(vbs_network_export(ctx, job->pruned, job->path));
    if (has_coded(job->network))
        cli_note(job->cli, "the coded weights of '%s' are written dense", job->model);
    return VBS_OK;
}

static enum vbs_status print(const struct prune_job *job)
{
    const struct prune_report report = {.model = job->model,
                                        .path = job->pruned ? job->path : NULL,
                                        .ranking = job->options.ranking,
                                        .network = job->network,
                                        .pruned = job->pruned,
                                        .groups = job->groups,
                                        .keep = job->pruned ? job->keep : NULL,
                                        .block = job->block};

    if (cli_value(job->cli, job->values, "json"))
        return prune_print_json(job->cli, &report);
    if (cli_value(job->cli, job->values, "csv"))
        return prune_print_csv(job->cli, &report);
    return prune_print_table(job->cli, &report);
}

static enum vbs_status prune(struct prune_job *job)
{
    bool list = cli_value(job->cli, job->values, "list");

    VBS_TRY(read_options(job));
    if (!list)
        VBS_TRY(cli_check_output(job->cli, job->model, job->path, ".onnx", "an ONNX file"));
    VBS_TRY(cli_load_floats(job->cli, job->model, &job->network));
    VBS_TRY(vbs_prune_groups(&job->cli->ctx, job->network, &job->groups));
    if (!list)
        VBS_TRY(write_pruned(job));
    return print(job);
}

static int run_prune(struct cli *cli, const char *const *values, int n_arguments,
                     const char *const *arguments)
{
    struct prune_job job = {.cli = cli, .values = values};
    bool list = cli_value(cli, values, "list");
    bool chosen = cli_value(cli, values, "prune") || cli_value(cli, values, "keep");
    int code = cli_check_model(cli, values, n_arguments);
    enum vbs_status status;

    if (code != 0)
        return code;
    job.model = arguments[0];
    job.path = cli_value(cli, values, "output");
    job.folder = cli_value(cli, values, "data");
    job.preset = cli_value(cli, values, "preset");
    if (list && (job.path || chosen))
        return cli_usage(cli, "--list changes nothing: it goes without --prune, --keep and -o");
    if (!list && !chosen)
        return cli_usage(cli, "needs --prune LIST or --keep LIST; --list shows the groups");
    if (!list && !job.path)
        return cli_usage(cli, "needs -o FILE.onnx");
    status = prune(&job);
    free(job.keep);
    free(job.chosen);
    free(job.scores);
    vbs_dataset_free(job.images);
    vbs_prune_groups_free(job.groups);
    vbs_network_free(job.pruned);
    vbs_network_free(job.network);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"output", "FILE.onnx", "the pruned network; an older file is replaced"},
    {"prune", "LIST",
     "the share of channels that is REMOVED, from 0 to less than 1: 0.5 or 50% of every group, or "
     "of groups, conv1=0.5,stage2/*=0.25; rounded down to whole channels"},
    {"keep", "LIST", "the number of filters that STAY: 32, or conv1=32,stage2/*=16"},
    {"preset", "NAME",
     "named groups, which --prune and --keep may name: tune-resnet-56 has those of TUNE's Table 2 "
     "for resnet-56-cifar; a value without a group is then for these alone"},
    {"round", "N",
     "round the filters that stay up to a multiple of N, such as the blocks of kernels (default "
     "1)"},
    {"block", "N",
     "filters that kernels compute at once, for what widths are as fast as (default: as this "
     "processor does, 8 or 16)"},
    {"by", "NAME",
     "which channels stay: those with the largest l1 (sum of absolute weights) or l2, random ones, "
     "or taylor, |gradient x value| over images of --data (default l1)"},
    {"data", "DIR", "of --by taylor: the folder of a data set, whose training images are used"},
    {"images", "N", "of --by taylor: how many images (default 512)"},
    {"seed", "N", "decides random numbers and the choice of images (default 1)"},
    {"threads", "N", "of --by taylor (default: as many as this process may use)"},
    {"list", NULL, "list the groups, and what each saves, and write nothing"},
    {CLI_OPTION_INPUT_SHAPE},
    {CLI_OPTION_FIX},
    {CLI_OPTION_UNTIL},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV"},
    {0},
};

const struct cli_command cli_prune = {
    .name = "prune",
    .summary = "a network with fewer channels, as an ONNX file",
    .usage = "MODEL -o FILE.onnx (--prune LIST|--keep LIST) [options] | MODEL --list",
    .options = OPTIONS,
    .letters = (const struct cli_letter[]){{'o', "output"}, {0}},
    .arguments =
        (const struct cli_argument[]){{CLI_ARGUMENT_MODEL},
                                      {"LIST",
                                       "values with commas between: a value for all groups that "
                                       "can be pruned, and GROUP=value, where GROUP is a name of "
                                       "--list, a pattern of names with * and ?, or a label of "
                                       "the preset; the last value of a group counts"},
                                      {0}},
    .example = "vbslab prune resnet-20 --list\n"
               "vbslab prune net.onnx -o half.onnx --prune 0.5 --round 16\n"
               "vbslab prune resnet-56-cifar -o small.onnx --preset tune-resnet-56 --prune "
               "filter_pruner_layer_1=0.5,filter_pruner_layer_3.2=0.25",
    .run = run_prune,
};
