#include "base/fail.h"
#include "base/parse.h"
#include "base/text.h"
#include "cli/common/common.h"
#include "cli/tune/tune.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- options ---- */

/* Gives the folder of the study's networks, beside the store: STORE-studies/NAME. */
static char *folder_of(const struct cli *cli, const struct vbs_study *study)
{
    char *networks = cli_networks_folder(cli->db_path);
    struct vbs_text path = {.failed = !networks};

    vbs_text_addf(&path, "%s/%s", networks, vbs_study_name(study));
    free(networks);
    if (!path.failed)
        return path.data;
    vbs_text_clear(&path);
    return NULL;
}

/* Makes the folder of the networks, and replaces its name by one from the root, by which it is
 * found from elsewhere. */
static enum vbs_status make_folder(struct cli *cli, char **folder)
{
    char *slash = strrchr(*folder, '/'), *whole;
    int error;

    *slash = '\0';
    error = mkdir(*folder, 0777) != 0 && errno != EEXIST ? errno : 0;
    *slash = '/';
    if (error == 0 && mkdir(*folder, 0777) != 0 && errno != EEXIST)
        error = errno;
    if (error != 0)
        return vbs_fail(&cli->ctx, VBS_IO, "cannot make folder '%s': %s", *folder, strerror(error));
    whole = realpath(*folder, NULL);
    if (!whole)
        return vbs_fail(&cli->ctx, VBS_IO, "cannot find folder '%s': %s", *folder, strerror(errno));
    free(*folder);
    *folder = whole;
    return VBS_OK;
}

static enum vbs_status read_options(const char *const *values, struct cli_tuning *tuning)
{
    struct cli *cli = tuning->cli;
    static const char *const ROLES[] = {"all", "train", "measure"}; /* of enum vbs_study_role */
    int role = VBS_STUDY_ALL - 1;
    int64_t n_jobs = 1, n_threads = 0, processors = sysconf(_SC_NPROCESSORS_ONLN);

    VBS_TRY(cli_read_whole(cli, values, "jobs", 1, 1024, &n_jobs));
    VBS_TRY(cli_read_whole(cli, values, "threads", 1, 1024, &n_threads));
    VBS_TRY(cli_read_word(cli, values, "only", ROLES + 1, 2, &role));
    tuning->role = (enum vbs_study_role)(role + 1);
    if (n_jobs > 1 && tuning->role != VBS_STUDY_ALL)
        return vbs_fail(&cli->ctx, VBS_USAGE, "--jobs and --only exclude each other");
    if (n_jobs > 1 && n_threads == 0)
        n_threads = processors > n_jobs ? processors / n_jobs : 1;
    tuning->jobs = (int)n_jobs;
    tuning->threads = (int)n_threads;
    tuning->join = cli_value(cli, values, "worker") != NULL;
    return VBS_OK;
}

/* ---- results ---- */

static enum vbs_status print_results(struct cli *cli, const char *const *values,
                                     const struct vbs_study_results *results)
{
    char *text = NULL;
    enum vbs_status status;

    if (cli_value(cli, values, "json"))
        status = vbs_study_json(&cli->ctx, results, &text);
    else if (cli_value(cli, values, "csv"))
        status = vbs_study_csv(&cli->ctx, results, &text);
    else
        status = vbs_study_table(&cli->ctx, results, cli->columns, &text);
    if (status == VBS_OK)
        fputs(text, stdout);
    free(text);
    return status;
}

/* Writes the network of the best trial, or of the one that --trial names. */
static enum vbs_status export_trial(struct cli *cli, const char *const *values,
                                    const struct vbs_study_results *results, const char *path)
{
    const struct vbs_trial_list *list = vbs_study_trial_list(results);
    struct vbs_network *network = NULL;
    int64_t number = vbs_study_best(results);
    const char *file = NULL;
    enum vbs_status status;

    VBS_TRY(cli_read_whole(cli, values, "trial", 0, INT32_MAX, &number));
    if (number < 0)
        return vbs_fail(&cli->ctx, VBS_INFEASIBLE, "no trial is complete and accurate enough");
    for (int i = 0; i < list->n_trials; i++)
        if (list->trials[i].number == number)
            file = list->trials[i].file;
    if (!file || !file[0])
        return vbs_fail(&cli->ctx, VBS_NOT_FOUND, "trial %lld %s", (long long)number,
                        file ? "has made no network" : "does not exist");
    VBS_TRY(cli_check_output(cli, file, path, ".onnx", "an ONNX file"));
    VBS_TRY(vbs_network_load_as(&cli->ctx, file, NULL, 0, VBS_PRECISION_FP32, &network));
    status = vbs_network_export(&cli->ctx, network, path);
    vbs_network_free(network);
    if (status == VBS_OK)
        cli_note(cli, "trial %lld is written to '%s'", (long long)number, path);
    return status;
}

/* The picture that is drawn. */
struct shown {
    const struct vbs_study_results *results;
    enum vbs_study_plot kind;
};

static enum vbs_status draw(struct vbs_ctx *ctx, const struct vbs_plot_options *options,
                            const char *path, void *self)
{
    const struct shown *shown = self;

    return vbs_study_draw(ctx, shown->results, shown->kind, options, path);
}

/* pictures: where --plot is given; else null. */
static enum vbs_status show(struct cli *cli, const char *const *values, struct vbs_store *store,
                            const struct vbs_study *study, const struct cli_pictures *pictures)
{
    const char *plot = cli_value(cli, values, "plot"),
               *path = cli_value(cli, values, "export-best");
    struct vbs_study_results *results = NULL;
    enum vbs_study_plot kind = VBS_STUDY_PLOT_HISTORY;
    enum vbs_status status = VBS_OK;

    if (plot)
        VBS_TRY(vbs_study_plot_find(&cli->ctx, plot, &kind));
    VBS_TRY(vbs_study_results_read(&cli->ctx, store, study, &results));
    if (plot)
        status = cli_pictures_draw(cli, pictures, draw,
                                   &(struct shown){.results = results, .kind = kind});
    if (status == VBS_OK && path)
        status = export_trial(cli, values, results, path);
    if (status == VBS_OK && !plot && !path)
        status = print_results(cli, values, results);
    vbs_study_results_free(results);
    return status;
}

/* ---- the command ---- */

/* Says why a study ended without a feasible trial, and what was reached at best. */
static enum vbs_status fail_infeasible(struct cli *cli, struct vbs_store *store,
                                       const struct vbs_study *study)
{
    struct vbs_study_results *results = NULL;
    const struct vbs_trial_list *list;
    const struct vbs_trial_record *best = NULL;
    double most = -1;

    VBS_TRY(vbs_study_results_read(&cli->ctx, store, study, &results));
    list = vbs_study_trial_list(results);
    for (int i = 0; i < list->n_trials; i++) {
        double accuracy = vbs_trial_number(&list->trials[i], true, "accuracy");

        if (list->trials[i].number > 0 && accuracy > most) {
            most = accuracy;
            best = &list->trials[i];
        }
    }
    if (best)
        vbs_fail(&cli->ctx, VBS_INFEASIBLE,
                 "no trial is accurate enough; trial %d is the nearest, with %.2f%%, which lacks "
                 "%.2f points",
                 best->number, 100 * most, -100 * vbs_trial_number(best, true, "margin"));
    else
        vbs_fail(&cli->ctx, VBS_INFEASIBLE, "%s: %s",
                 list->n_trials > 1 ? "no trial could be carried out"
                                    : "no network of the search space fits the memory",
                 list->n_trials > 0 ? list->trials[list->n_trials - 1].reason : "");
    vbs_study_results_free(results);
    return VBS_INFEASIBLE;
}

static enum vbs_status work(struct cli_tuning *tuning, const char *const *values,
                            struct vbs_store *store)
{
    struct cli *cli = tuning->cli;
    struct vbs_study_outcome outcome = {0};

    VBS_TRY(make_folder(cli, &tuning->folder));
    VBS_TRY(cli_tune_work(tuning, store, &outcome));
    if (tuning->role != VBS_STUDY_ALL)
        return VBS_OK;
    VBS_TRY(show(cli, values, store, tuning->study, NULL));
    return outcome.n_feasible > 0 ? VBS_OK : fail_infeasible(cli, store, tuning->study);
}

/* Removes the files of trials that no trial of the study names any more: checkpoints, and networks
 * of trials that a merge has replaced. */
static void remove_left(const char *folder)
{
    DIR *stream = opendir(folder);
    struct dirent *entry;

    while (stream && (entry = readdir(stream)))
        if (strncmp(entry->d_name, "trial-", 6) == 0)
            unlinkat(dirfd(stream), entry->d_name, 0);
    if (stream)
        closedir(stream);
}

/* Deletes the study from the store, and the networks of its trials. */
static enum vbs_status delete_study(struct cli *cli, struct vbs_store *store,
                                    const struct vbs_study *study, const char *folder)
{
    struct vbs_study_results *results = NULL;
    const struct vbs_trial_list *list;

    VBS_TRY(vbs_study_results_read(&cli->ctx, store, study, &results));
    list = vbs_study_trial_list(results);
    if (vbs_store_study_delete(&cli->ctx, store, vbs_study_name(study)) != VBS_OK) {
        vbs_study_results_free(results);
        return cli->ctx.status;
    }
    for (int i = 0; i < list->n_trials; i++)
        if (list->trials[i].file[0])
            unlink(list->trials[i].file);
    vbs_study_results_free(results);
    remove_left(folder);
    rmdir(folder); /* where it holds anything else, it stays */
    return VBS_OK;
}

static enum vbs_status tune(struct cli_tuning *tuning, const char *const *values,
                            const struct cli_pictures *pictures)
{
    struct cli *cli = tuning->cli;
    bool removes = cli_value(cli, values, "delete") != NULL;
    bool shows = cli_value(cli, values, "show") || cli_value(cli, values, "plot") ||
                 cli_value(cli, values, "export-best");
    struct vbs_store *store = NULL;
    enum vbs_status status;

    VBS_TRY(read_options(values, tuning));
    VBS_TRY(vbs_study_read(&cli->ctx, tuning->path, &tuning->study));
    tuning->folder = folder_of(cli, tuning->study);
    if (!tuning->folder)
        return vbs_no_memory(&cli->ctx);
    VBS_TRY(cli_open_store(cli, !shows, &store));
    if (removes)
        status = delete_study(cli, store, tuning->study, tuning->folder);
    else if (shows)
        status = show(cli, values, store, tuning->study, pictures);
    else
        status = work(tuning, values, store);
    vbs_store_close(store);
    return status;
}

static int run_tune(struct cli *cli, const char *const *values, int n_arguments,
                    const char *const *arguments)
{
    bool plots = cli_value(cli, values, "plot") != NULL;
    struct cli_tuning tuning = {.cli = cli};
    struct cli_pictures pictures = {0};
    enum vbs_status status;

    if (n_arguments != (plots ? 2 : 1))
        return cli_usage(cli, plots ? "--plot KIND needs STUDY.toml and the picture's file"
                                    : "needs one STUDY.toml");
    if (cli_value(cli, values, "json") && cli_value(cli, values, "csv"))
        return cli_usage(cli, "--json and --csv exclude each other");
    if (cli_value(cli, values, "trial") && !cli_value(cli, values, "export-best"))
        return cli_usage(cli, "--trial belongs to --export-best");
    tuning.path = arguments[0];
    status = cli_pictures_read(cli, values, "plot", plots ? arguments[1] : NULL, &pictures);
    if (status == VBS_OK)
        status = tune(&tuning, values, &pictures);
    cli_pictures_clear(&pictures);
    free(tuning.folder);
    vbs_study_free(tuning.study);
    return cli_end(cli, status);
}

static const struct cli_option OPTIONS[] = {
    {"jobs", "N",
     "training processes; with several, one more process takes the times (default 1, which does "
     "everything by turns)"},
    {"worker", NULL, "join a study that was begun before, from another shell of this machine"},
    {"only", "WORK", "this process does only this: train or measure"},
    {"threads", "N", "threads of training (default: processors divided by jobs)"},
    {"show", NULL, "do no work: print the trials, the best one, and the importance of parameters"},
    {"json", NULL, "print JSON"},
    {"csv", NULL, "print CSV"},
    {"plot", "KIND",
     "do no work: draw FILE, a picture of this kind: history, importance, parallel, slice, contour "
     "or pareto"},
    CLI_OPTIONS_PICTURE,
    {"export-best", "FILE.onnx", "do no work: write the network of the best trial"},
    {"trial", "N", "with --export-best: of this trial instead"},
    {"delete", NULL, "do no work: delete the study and the networks of its trials"},
    {0},
};

const struct cli_command cli_tune = {
    .name = "tune",
    .summary = "prunes a network in many ways, trains and plans each, and finds the best",
    .usage = "STUDY.toml [--jobs N] [--worker] | --show [--json | --csv] | --plot KIND FILE | "
             "--export-best FILE.onnx [--trial N] | --delete",
    .options = OPTIONS,
    .arguments =
        (const struct cli_argument[]){
            {"STUDY.toml", "the description of the study (docs/tuning.md)"},
            {"FILE", "a picture's file, " CLI_PICTURE_ENDINGS "; several with commas"},
            {0}},
    .example = "vbslab tune examples/tune-resnet-8.toml --jobs 2\n"
               "vbslab tune examples/tune-resnet-8.toml --show\n"
               "vbslab tune examples/tune-resnet-8.toml --plot pareto pareto.svg",
    .run = run_tune,
};
