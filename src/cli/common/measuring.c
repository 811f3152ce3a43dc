#include "cli/common/measuring.h"

#include "base/clock.h"
#include "base/fail.h"
#include "cli/common/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum vbs_status cli_check_backend(struct cli *cli, const struct vbs_backend *backend)
{
    struct vbs_backend_info info;

    backend->probe(&info);
    if (info.built && info.usable)
        return VBS_OK;
    return vbs_fail(&cli->ctx, VBS_UNSUPPORTED, "backend '%s' cannot be used here: %s",
                    backend->name, info.why);
}

enum vbs_status cli_read_batches(struct cli *cli, const char *text, int **batches, int *n_batches)
{
    int *list, n;

    VBS_TRY(vbs_parse_batches(&cli->ctx, text, &list, &n));
    if (list[0] != 1) {
        free(list);
        return vbs_fail(&cli->ctx, VBS_USAGE,
                        "--batches '%s' lacks 1, which every profile must have; write '1,%s'", text,
                        text);
    }
    *batches = list;
    *n_batches = n;
    return VBS_OK;
}

#define LATE 1.1 /* of its limit: the last pass may have taken longer than those before it */

/* Writes why intervals are not as narrow as wanted: of few runs there is none, whatever their range
 * is. */
static void describe_wide(const struct vbs_measure_report *report, char *text, size_t size)
{
    bool wide = report->n_unconverged > report->n_few;
    int length = 0;

    text[0] = '\0';
    if (report->n_few > 0)
        length =
            snprintf(text, size, " (%d ran fewer than %d times, too few for one%s", report->n_few,
                     VBS_MEASURE_RUNS, wide ? "; the widest of the others" : ")");
    else if (wide)
        length = snprintf(text, size, " (the widest");
    if (wide)
        snprintf(text + length, size - (size_t)length, " +-%.*f%%)",
                 report->worst_interval < 1 ? 1 : 0, 100 * report->worst_interval);
}

/* Describes the result, as notes of the profile and for the line on standard error. */
static void describe(const struct vbs_session *session, const struct vbs_measure_options *options,
                     const struct vbs_measure_report *report, char *text, size_t size)
{
    double outside = report->total_s > 0 ? 1 - report->timed_s / report->total_s : 0;
    char wide[100];

    text[0] = '\0';
    if (session->modelled)
        return;
    describe_wide(report, wide, sizeof wide);
    snprintf(text, size,
             "%d of %d kernels have a 95%% interval within %g%%%s, %lld samples and %lld rejected "
             "as disturbed, %.1f%% of the time outside kernels",
             report->n_judged - report->n_unconverged, report->n_judged,
             100 * options->relative_interval, wide, (long long)report->n_samples,
             (long long)report->n_rejected, 100 * outside);
}

/* In names of algorithms that turn encoded tensors into floats and back. */
#define IN_FLOATS "+f32"

/* Gives whether all kernels of a layer compute encoded tensors in floats. */
static bool is_in_floats(const struct vbs_session *session, int layer)
{
    bool any = false;

    for (int i = 0; i < session->n_kernels; i++) {
        if (session->kernels[i].layer != layer)
            continue;
        if (!strstr(session->kernels[i].algorithm, IN_FLOATS))
            return false;
        any = true;
    }
    return any;
}

/* Gives whether a layer has no kernel on rows. */
static bool is_whole(const struct vbs_session *session, int layer)
{
    for (int i = 0; i < session->n_kernels; i++)
        if (session->kernels[i].layer == layer && session->kernels[i].rows > 0)
            return false;
    return true;
}

/* Writes the names and kinds of the layers of which is says so, the first three of them and the
 * number of the others; gives their number. */
static int name_layers(const struct vbs_session *session,
                       bool (*is)(const struct vbs_session *session, int layer), char *names,
                       size_t size)
{
    size_t used = 0;
    int n = 0;

    names[0] = '\0';
    for (int k = 1; k <= session->n_layers; k++)
        if (is(session, k) && ++n <= 3)
            used +=
                (size_t)snprintf(names + used, size - used, "%s'%.60s' (%.40s)", n > 1 ? ", " : "",
                                 session->layers[k].name, session->layers[k].kind);
    if (n > 3)
        snprintf(names + used, size - used, " and %d more", n - 3);
    return n;
}

/* Says which layers compute in floats although their tensors are stored in fewer bits. */
static void note_floats(struct cli *cli, const char *model, const struct vbs_session *session)
{
    char names[VBS_DETAIL_SIZE];
    int n = name_layers(session, is_in_floats, names, sizeof names);

    if (n > 0)
        cli_note(
            cli,
            "%s: %s %s no kernel for tensors as they are stored, and compute%s in 32-bit floats "
            "(" IN_FLOATS ")",
            model, names, n > 1 ? "have" : "has", n > 1 ? "" : "s");
}

/* Says which layers cannot be computed by rows. */
static void note_whole(struct cli *cli, const char *model, const struct vbs_session *session)
{
    char names[VBS_DETAIL_SIZE];
    int n = name_layers(session, is_whole, names, sizeof names);

    if (n > 0)
        cli_note(cli, "%s: %s %s no kernels on rows, and compute%s whole samples", model, names,
                 n > 1 ? "have" : "has", n > 1 ? "" : "s");
}

/* Says why a network takes whole inputs of its file, where the file leaves their size open. */
static void note_samples(struct cli *cli, const struct vbs_network *network)
{
    if (network->whole_open && network->whole_why)
        cli_note(cli,
                 "%s takes whole inputs of its file, whose first dimension is open and is taken as "
                 "1; --input SHAPE with all dimensions chooses another size: %s",
                 network->name, network->whole_why);
}

static void note_end(struct cli *cli, const char *model, const struct vbs_session *session,
                     const struct vbs_measure_report *report, int64_t id, bool resumed,
                     const char *what)
{
    cli_note(cli, "%s: profile %lld: %d rows in %.1f s%s%s%s", model, (long long)id,
             session->n_kernels - report->n_left_out, report->total_s, resumed ? " (resumed)" : "",
             what[0] ? ": " : "", what);
}

char *cli_copy_folder(const struct cli *cli)
{
    const char *slash = strrchr(cli->db_path, '/'), *other = getenv("TMPDIR");
    char *folder = slash ? strndup(cli->db_path, (size_t)(slash - cli->db_path + 1)) : strdup(".");

    if (!folder || !other || !other[0] || access(folder, W_OK) == 0)
        return folder;
    free(folder);
    return strdup(other);
}

/* Measures copies, which come first, within the time limit; notes and report describe them. */
static enum vbs_status measure_copies(struct cli *cli, const struct cli_measuring *how,
                                      const struct vbs_measure_shares *shares,
                                      struct vbs_session *session,
                                      const struct vbs_sample_sink *sink,
                                      struct vbs_measure_options *options, char *notes, size_t size,
                                      struct vbs_copy_report *report)
{
    char *folder = cli_copy_folder(cli);
    struct vbs_copy_options copies = {.struct_size = sizeof(struct vbs_copy_options),
                                      .folder = folder,
                                      .time_limit_s =
                                          vbs_measure_part_s(shares, options->time_limit_s),
                                      .progress = cli_progress(cli)};
    enum vbs_status status = folder ? VBS_OK : vbs_no_memory(&cli->ctx);

    *report = (struct vbs_copy_report){0};
    notes[0] = '\0';
    if (status == VBS_OK && !how->no_copies)
        status = vbs_measure_copies(&cli->ctx, session, &copies, sink, report);
    cli_progress_end(cli);
    free(folder);
    if (status != VBS_OK)
        return status;
    if (report->warning[0])
        cli_warn(cli, "copies of weights are not measured: %s", report->warning);
    if (options->time_limit_s > 0)
        options->time_limit_s = fmax(1e-3, options->time_limit_s - report->total_s);
    snprintf(notes, size, "%s", report->notes);
    return VBS_OK;
}

enum vbs_status cli_calibrate_session(struct cli *cli, struct vbs_session *session, int n_sources,
                                      const char *const *sources, double time_limit_s,
                                      double most_s, struct vbs_calibration **calibration)
{
    char *folder = cli_copy_folder(cli), warning[VBS_DETAIL_SIZE] = "";
    struct vbs_calibrate_options options = {.struct_size = sizeof options,
                                            .folder = folder,
                                            .n_sources = n_sources,
                                            .sources = sources,
                                            .time_limit_s = time_limit_s,
                                            .most_s = most_s,
                                            .progress = cli_progress(cli)};
    enum vbs_status status = folder ? VBS_OK : vbs_no_memory(&cli->ctx);

    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];

        if (kernel->rows == 0 && kernel->batch <= CLI_MOST_CALIBRATED &&
            kernel->batch > options.batch)
            options.batch = kernel->batch;
    }
    if (status == VBS_OK)
        status = vbs_measure_calibration(&cli->ctx, session, &options, warning, calibration);
    cli_progress_end(cli);
    free(folder);
    if (status == VBS_OK && warning[0])
        cli_warn(cli, "copies beside layers are not measured: %s", warning);
    return status;
}

/* Calibrates the session, within the time limit, of which at least half is left for kernels. */
static enum vbs_status calibrate(struct cli *cli, struct vbs_session *session,
                                 const struct vbs_copy_report *copies,
                                 const struct vbs_measure_shares *shares,
                                 struct vbs_measure_options *options,
                                 struct vbs_calibration **calibration)
{
    double start_s = vbs_clock_s();

    VBS_TRY(cli_calibrate_session(cli, session, copies->n_sources, copies->sources,
                                  vbs_measure_part_s(shares, shares->calibration_s),
                                  vbs_measure_part_s(shares, shares->calibrated_s), calibration));
    if (options->time_limit_s > 0)
        options->time_limit_s =
            fmax(options->time_limit_s / 2, options->time_limit_s - (vbs_clock_s() - start_s));
    return VBS_OK;
}

/* ---- Learning ---- */

/* Where copies from this source could not be measured, learning is of weights outside the budget,
 * in budgets that it chooses, so that there is a profile nevertheless. */
static void forget_copies(struct vbs_learn_options *options)
{
    options->weights = VBS_WEIGHTS_EXCLUDED;
    options->copy_source = NULL;
    options->direct = false;
    options->planner = NULL;
    options->n_budgets = 0;
}

/* Makes the profile of posterior times: with executed schedules, where there is time for them. */
static enum vbs_status learn(struct cli *cli, const struct cli_measuring *how,
                             const struct vbs_network *network, const struct vbs_session *session,
                             const struct vbs_profile *draft,
                             const struct vbs_measure_shares *shares, struct vbs_learned **learned)
{
    struct vbs_learn_options options = how->learn;
    enum vbs_status status;

    options.struct_size = sizeof options;
    options.time_limit_s =
        fmax(shares->least_learning_s, vbs_measure_left_s(shares, shares->limit_s));
    options.time_limit_s =
        fmin(options.time_limit_s, vbs_measure_left_s(shares, shares->learned_s));
    options.threads = session->provenance.threads;
    options.seed = how->options.seed;
    options.progress = cli_progress(cli);
    if (options.copy_source && !vbs_profile_copy(draft, options.copy_source))
        forget_copies(&options);
    cli->ctx.deadline_s = shares->begin_s + shares->stopped_s;
    status = vbs_learn(&cli->ctx, network, how->backend, draft, &options, learned);
    if (status == VBS_INTERRUPTED && vbs_out_of_time(&cli->ctx))
        status = VBS_OK; /* nothing was learned */
    cli->ctx.deadline_s = 0;
    cli_progress_end(cli);
    return status;
}

/* Has the run finish with posterior times, and with the speed of the cache that they are for. */
static enum vbs_status revise(struct cli *cli, const struct cli_measuring *how,
                              const struct vbs_network *network, const struct vbs_session *session,
                              struct vbs_store_run *run, struct vbs_calibration *calibration,
                              const struct vbs_measure_shares *shares, struct vbs_learned **learned,
                              struct vbs_profile **posterior)
{
    const struct vbs_posterior_options options = {.struct_size = sizeof options};
    struct vbs_profile *draft = NULL;
    enum vbs_status status;

    if (session->modelled)
        return VBS_OK;
    VBS_TRY(vbs_store_run_draft(&cli->ctx, run, &draft));
    status = VBS_OK;
    if (shares->learning_s > 0)
        status = learn(cli, how, network, session, draft, shares, learned);
    if (status == VBS_OK && !*learned)
        status = vbs_profile_posterior(&cli->ctx, draft, &options, NULL, posterior);
    vbs_profile_free(draft);
    if (status == VBS_OK)
        vbs_store_run_revise(run, *learned ? (*learned)->profile : *posterior);
    if (status != VBS_OK || !*learned)
        return status;
    vbs_calibration_set_cache(calibration, (*learned)->profile->speed.cache_bytes_per_us);
    return vbs_store_run_calibrate(&cli->ctx, run, calibration);
}

const char *cli_baseline_words(const struct vbs_planner *baseline)
{
    const char *name = baseline ? vbs_planner_name(baseline) : "";

    return strcmp(name, "vdnn") == 0    ? "the plan of vdnn"
           : strcmp(name, "mmcnn") == 0 ? "the plan of mmcnn"
                                        : "one batch for all layers";
}

/* Tells what was learned of a budget. */
static void note_budget(struct cli *cli, const char *model, const struct vbs_learned_budget *budget,
                        int64_t request)
{
    const char *baseline = cli_baseline_words(budget->baseline);
    char bytes[24], time[32];

    if (budget->n_schedules == 0)
        return;
    vbs_format_bytes(budget->memory_bytes, bytes, sizeof bytes);
    cli_format_time(budget->time_us / (double)request, time, sizeof time);
    if (budget->is_baseline)
        cli_note(cli, "%s: executed in %s: %s a sample; %s is the fastest", model, bytes, time,
                 baseline);
    else if (isfinite(budget->ratio))
        cli_note(cli,
                 "%s: executed in %s: %s a sample, %.1f%% less than %s (95%% interval %.1f to "
                 "%.1f%%)",
                 model, bytes, time, 100 * (1 - budget->ratio), baseline,
                 100 * (1 - budget->ratio_high), 100 * (1 - budget->ratio_low));
    else
        cli_note(cli, "%s: executed in %s: %s a sample; %s does not fit", model, bytes, time,
                 baseline);
}

/* Returns whether no schedule was executed although there was time for all budgets. */
static bool fits_nowhere(const struct vbs_learned *learned)
{
    bool tried = learned->n_budgets > 0;

    for (int i = 0; i < learned->n_budgets; i++)
        tried = tried && learned->budgets[i].tried;
    return tried && learned->n_schedules == 0;
}

static void note_learned(struct cli *cli, const struct cli_measuring *how, const char *model,
                         const struct vbs_learned *learned)
{
    if (!learned)
        return;
    for (int i = 0; i < learned->n_budgets; i++)
        note_budget(cli, model, &learned->budgets[i],
                    how->learn.request > 0 ? how->learn.request : VBS_LEARN_REQUEST);
    if (learned->n_schedules == 0)
        cli_note(cli,
                 "%s: no schedule was executed, %s; predictions rest on kernels that were timed "
                 "alone",
                 model, fits_nowhere(learned) ? "none fits" : "there was no time for it");
}

/* Returns how many batches the kernels of a session on whole samples have. */
static int count_batches(const struct vbs_session *session)
{
    int n = 0, last = 0;

    for (int i = 0; i < session->n_kernels && session->kernels[i].layer == 1; i++)
        if (session->kernels[i].rows == 0 && session->kernels[i].batch > last) {
            last = session->kernels[i].batch;
            n++;
        }
    return n;
}

/* Says that there was no time for some batches, or that a short limit could not be kept. */
static void note_limits(struct cli *cli, const struct cli_measuring *how, const char *model,
                        const struct vbs_session *session, const struct vbs_measure_report *report,
                        const struct vbs_measure_shares *shares)
{
    int n = count_batches(session) - report->n_batches_left_out;

    if (n < how->prepare.n_batches)
        cli_note(cli,
                 "%s: the profile has %d of %d batches: there was no time for the others within "
                 "%g s; 'vbslab measure' with a longer --time-limit measures them",
                 model, n, how->prepare.n_batches, shares->most_s);
    else if (how->options.time_limit_s > 0 && report->total_s > LATE * how->options.time_limit_s)
        cli_note(cli,
                 "%s: --time-limit %g was too short: every kernel that may be chosen runs at "
                 "every batch; --batches with fewer of them takes less time",
                 model, how->options.time_limit_s);
}

/* Says that the limit that holds could not be kept. */
static void note_excess(struct cli *cli, const char *model, double prepared_s,
                        const struct vbs_measure_shares *shares)
{
    double excess_s = vbs_measure_excess_s(shares);

    if (excess_s > (LATE - 1) * shares->most_s)
        cli_note(cli,
                 "%s: the limit of %g s was exceeded by %.1f s: each layer needs a kernel, which "
                 "runs once; preparing them took %.1f s",
                 model, shares->most_s, excess_s, prepared_s);
}

/* ---- The whole ---- */

/* Writes the notes of the profile: those of the session, what was measured, and copies. */
static void write_notes(const struct vbs_session *session, const char *what, const char *copies,
                        const struct vbs_learned *learned, char *notes, size_t size)
{
    const char *before = session->provenance.notes;
    char executed[128] = "";

    if (learned && learned->n_schedules > 0)
        snprintf(executed, sizeof executed,
                 "; %d schedules executed %d times took %+.1f%% of what kernels alone say",
                 learned->n_schedules, learned->n_runs, 100 * (learned->report.level - 1));
    snprintf(notes, size, "%s%s%s%s%s%s", before, before[0] && what[0] ? "; " : "", what, executed,
             copies[0] && (before[0] || what[0]) ? "; " : "", copies);
}

/* Measures the kernels of the session into the store; *id is the finished profile's. */
static enum vbs_status measure_session(struct cli *cli, const struct cli_measuring *how,
                                       const struct vbs_network *network, struct vbs_store *store,
                                       struct vbs_session *session,
                                       const struct vbs_measure_shares *shares, int64_t *id,
                                       struct vbs_learned **learned)
{
    struct vbs_measure_options options = how->options;
    struct vbs_measure_report report;
    struct vbs_store_run *run = NULL;
    struct vbs_copy_report copied;
    struct vbs_calibration *calibration = NULL;
    struct vbs_profile *posterior = NULL;
    char copies[200], what[300], notes[900];
    double prepared_s = vbs_clock_s() - shares->begin_s;
    enum vbs_status status;

    options.struct_size = sizeof options;
    options.save_runs = true;
    if (!session->modelled && options.time_limit_s == 0)
        options.time_limit_s = VBS_MEASURE_S;
    options.time_limit_s -= shares->learning_s;
    VBS_TRY(vbs_store_run_begin(&cli->ctx, store, vbs_network_hash(network), session, &run));
    status = measure_copies(cli, how, shares, session, vbs_store_run_sink(run), &options, copies,
                            sizeof copies, &copied);
    if (status == VBS_OK)
        status = calibrate(cli, session, &copied, shares, &options, &calibration);
    if (status != VBS_OK)
        goto done;
    options.progress = cli_progress(cli);
    options.most_s = vbs_measure_left_s(shares, shares->timed_s);
    status = vbs_measure(&cli->ctx, session, &options, vbs_store_run_sink(run), &report);
    cli_progress_end(cli);
    if (status != VBS_OK)
        goto done;
    vbs_calibration_set_cache(calibration, report.cache_bytes_per_us);
    status = vbs_store_run_calibrate(&cli->ctx, run, calibration);
    if (status == VBS_OK)
        status = revise(cli, how, network, session, run, calibration, shares, learned, &posterior);
    if (status != VBS_OK)
        goto done;
    describe(session, &options, &report, what, sizeof what);
    write_notes(session, what, copies, *learned, notes, sizeof notes);
    status = vbs_store_run_finish(&cli->ctx, run, notes, id);
    if (status != VBS_OK)
        goto done;
    note_end(cli, network->name, session, &report, *id, vbs_store_run_resumed(run), what);
    note_learned(cli, how, network->name, *learned);
    note_floats(cli, network->name, session);
    note_samples(cli, network);
    if (how->prepare.stripes)
        note_whole(cli, network->name, session);
    note_limits(cli, how, network->name, session, &report, shares);
    note_excess(cli, network->name, prepared_s, shares);
done:
    vbs_profile_free(posterior);
    vbs_calibration_free(calibration);
    vbs_store_run_free(run);
    return status;
}

enum vbs_status cli_open_session(struct cli *cli, const struct vbs_backend *backend,
                                 const struct vbs_network *network,
                                 const struct vbs_backend_options *options,
                                 struct vbs_session **session)
{
    struct vbs_backend_options own = *options;
    struct vbs_progress progress = cli_progress(cli);
    enum vbs_status status;

    own.struct_size = sizeof own;
    if (progress.report)
        progress.report(progress.self, 0, -1, "preparing kernels");
    status = backend->open(&cli->ctx, network, &own, session);
    cli_progress_end(cli);
    return status;
}

enum vbs_status cli_measure_network(struct cli *cli, const struct cli_measuring *how,
                                    const struct vbs_network *network, struct vbs_store *store,
                                    int64_t *id, struct vbs_learned **learned)
{
    bool waits = how->backend->device && how->learn.weights == VBS_WEIGHTS_INCLUDED; /* learn.h */
    bool learns = !how->no_learning && !how->backend->modelled && !waits;
    struct vbs_measure_shares shares;
    struct vbs_backend_options prepare = how->prepare;
    struct vbs_session *session = NULL;
    struct vbs_learned *own = NULL;
    enum vbs_status status;

    vbs_measure_divide(how->options.time_limit_s, how->most_s, learns, &shares);
    prepare.time_limit_s = shares.prepared_s;
    VBS_TRY(cli_open_session(cli, how->backend, network, &prepare, &session));
    session->provenance.vbslab = cli_build;
    status = measure_session(cli, how, network, store, session, &shares, id, &own);
    session->ops->close(session);
    if (learned && status == VBS_OK)
        *learned = own;
    else
        vbs_learned_free(own);
    return status;
}
