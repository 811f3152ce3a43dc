/* The subject of a run: a profile and the network on which it was measured, on its backend. */
#include "cli/run/run.h"

#include "base/fail.h"
#include "base/parse.h"
#include "cli/common/common.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- The network ---- */

/* Gives the name of the network: from the command line, or from the profile. Null: neither has
 * one. */
static const char *network_word(const struct run_job *job, const char *word)
{
    const char *model = cli_value(job->cli, job->values, "model");

    if (model)
        return model;
    if (cli_is_network_file(word))
        return word;
    return job->profile->provenance.model[0] ? job->profile->provenance.model : NULL;
}

/* Loads a network with the inputs of the profile's measurement, because an ONNX file may leave its
 * own shape open. */
static enum vbs_status load_in_shape(struct run_job *job, const char *model)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    enum vbs_status status =
        cli_take_network(job->cli, model, job->profile->provenance.input, &job->owned);

    job->network = job->owned;
    return status == VBS_USAGE
               ? vbs_fail_within(ctx, VBS_INVALID, "the profile is of another network")
               : status;
}

static enum vbs_status load_network(struct run_job *job, const char *word)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    const char *model = network_word(job, word);
    enum vbs_status status;

    if (!model)
        return vbs_fail(ctx, VBS_USAGE,
                        "the profile does not say of which network it is; --model MODEL does");
    status = load_in_shape(job, model);
    if (status == VBS_NOT_FOUND && !cli_value(job->cli, job->values, "model"))
        return vbs_fail(ctx, status,
                        "the profile is of '%.100s', which is no built-in network; --model FILE "
                        "says where it is",
                        model);
    return status;
}

/* Finds the layer of network with this name; null: there is none. */
static const struct vbs_layer *find_layer(const struct vbs_network *network, const char *name)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (strcmp(network->layers[k].name, name) == 0)
            return &network->layers[k];
    return NULL;
}

/* Checks, before anything is planned, the properties that the executor would refuse in the end. */
static enum vbs_status check_network(struct run_job *job)
{
    const struct vbs_profile *profile = job->profile;

    for (int k = 1; k <= profile->n_layers; k++)
        if (!find_layer(job->network, profile->layers[k].name))
            return vbs_fail(&job->cli->ctx, VBS_INVALID,
                            "the profile is of another network: its layer %d '%.100s' is not in "
                            "'%.100s'",
                            k, profile->layers[k].name, job->network->name);
    return VBS_OK;
}

/* Warns where the store says that the profile was measured on another network. */
static enum vbs_status compare_networks(struct run_job *job)
{
    struct vbs_store *store = NULL;
    enum vbs_status status;
    bool another = false;

    if (job->profile_id == 0)
        return VBS_OK;
    VBS_TRY(cli_open_store(job->cli, false, &store));
    status = vbs_store_is_of_another(&job->cli->ctx, store, job->profile_id,
                                     vbs_network_hash(job->network), &another);
    vbs_store_close(store);
    if (status == VBS_OK && another)
        cli_warn(job->cli,
                 "profile %lld was measured on another network, of other layers or other coded "
                 "weights than '%.100s': predicted times are not its own",
                 (long long)job->profile_id, job->network->name);
    return status;
}

/* ---- The backend ---- */

/* Returns the command that measures the profile's network: a path where the command line names one.
 */
static const char *measuring(const struct run_job *job, const char *word,
                             struct cli_suggestion *command)
{
    const char *model = network_word(job, word);

    return cli_suggest(job->cli, "measure", model && cli_is_model(model) ? model : "FILE.onnx",
                       NULL, command);
}

static enum vbs_status find_backend(struct run_job *job, const char *word)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    const char *name = job->profile->provenance.backend;
    struct vbs_backend_info info;
    struct cli_suggestion command;

    VBS_TRY(vbs_backend_find(ctx, name[0] ? name : vbs_backend_at(0)->name, &job->backend));
    if (job->backend->modelled)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "the profile is of backend '%s', which models times and runs nothing; "
                        "'%s' makes one that can be run",
                        name, measuring(job, word, &command));
    job->backend->probe(&info);
    if (!info.built || !info.usable)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "backend '%s' cannot be used here: %s",
                        job->backend->name, info.why);
    if (!job->profile->provenance.device[0] ||
        strcmp(job->profile->provenance.device, info.device) == 0)
        return VBS_OK;
    if (job->needs_same_machine)
        return vbs_fail(
            ctx, VBS_INVALID,
            "the profile was measured on another machine (%.100s); '%s' makes one of this "
            "machine, calibrated",
            job->profile->provenance.device, measuring(job, word, &command));
    cli_warn(job->cli,
             "the profile was measured on another machine (%s), so that its times are not this "
             "one's",
             job->profile->provenance.device);
    return VBS_OK;
}

/* ---- Threads ---- */

/* Chooses as many threads as the profile was measured with, where this machine has them and OpenMP
 * allows them. */
static enum vbs_status choose_threads(struct run_job *job)
{
    const char *threads = cli_value(job->cli, job->values, "threads");
    int64_t n = 0;
    enum vbs_status status = VBS_OK;

    if (threads) {
        status = vbs_parse_int(&job->cli->ctx, "--threads", threads, 1, 4096, &n);
        /* As many as the profile was measured with are known to work. */
        if (status == VBS_OK && !(job->profile && job->profile->provenance.threads == n))
            status = cli_check_threads(job->cli, (int)n);
    } else if (job->profile && job->profile->provenance.threads <= sysconf(_SC_NPROCESSORS_ONLN))
        n = cli_limit_threads(job->profile->provenance.threads);
    job->threads = (int)n;
    return status;
}

static void compare_threads(struct run_job *job)
{
    int measured = job->profile->provenance.threads;

    if (measured > 0 && job->threads > 0 && measured != job->threads)
        cli_warn(job->cli,
                 "the profile was measured with %d thread%s, this run has %d: predicted times are "
                 "not its own",
                 measured, measured == 1 ? "" : "s", job->threads);
}

/* Gives whether the backend runs on a device, which has threads of its own; false where the backend
 * is not known yet. */
static bool is_of_device(const struct run_job *job)
{
    return job->profile && vbs_provenance_device(&job->profile->provenance);
}

/* ---- The profile ---- */

/* The profiles that the store has of the subject. */
enum run_times_known {
    KNOWN_HERE,      /* measured on this machine or predicted for it; or no model needs a plan */
    KNOWN_ELSEWHERE, /* measured on other machines only */
    UNKNOWN
};

static enum vbs_status find_times(struct run_job *job, const char *word,
                                  enum run_times_known *known)
{
    bool has = true, here = true;

    if (cli_is_model(word) && !cli_value(job->cli, job->values, "schedule"))
        VBS_TRY(cli_has_times(job->cli, word, &has, &here));
    *known = here ? KNOWN_HERE : has ? KNOWN_ELSEWHERE : UNKNOWN;
    return VBS_OK;
}

/* Measures into the store, so that the next run finds the profile. */
static enum vbs_status measure_into(struct run_job *job, const struct cli_measuring *how,
                                    const struct vbs_network *network, struct vbs_store *store)
{
    struct cli_measuring own = *how;
    int64_t id, memory_bytes;
    bool possible;

    cli_note(job->cli,
             "no measured profile of '%s' in '%s': measuring it first, which takes at most %g "
             "seconds (--measure-limit); the next run finds it",
             network->name, job->cli->db_path, job->measure_s);
    VBS_TRY(run_learn_options(job, &own.learn, &memory_bytes, &possible));
    possible = possible && !cli_value(job->cli, job->values, "planner");
    return cli_measure_network(job->cli, &own, network, store, &id,
                               possible ? &job->learned : NULL);
}

/* Predicts the profile, where this machine is calibrated; else measures it, where the store knows
 * nothing of it. */
static enum vbs_status find_out(struct run_job *job, enum run_times_known known,
                                const struct vbs_network *network, int *batches, int n_batches)
{
    struct cli_measuring how = {
        .backend = vbs_backend_at(0),
        .prepare = {.batches = batches, .n_batches = n_batches, .threads = job->threads},
        .options = {.relative_interval = CLI_RELATIVE_INTERVAL,
                    .seed = 1,
                    .time_limit_s = job->measure_s},
        .most_s = job->measure_s};
    struct vbs_store *store = NULL;
    int64_t id;
    enum vbs_status status = cli_check_backend(job->cli, how.backend);

    if (status == VBS_OK)
        status = cli_open_store(job->cli, true, &store);
    if (status == VBS_OK)
        status = cli_predict_network(job->cli, &how, network, store, &id);
    if (status == VBS_NOT_FOUND && known == UNKNOWN)
        status = measure_into(job, &how, network, store);
    vbs_store_close(store);
    return status;
}

/* Reads the data of the request before anything is measured or executed. A schedule has a request
 * of its own, and is read later. */
static enum vbs_status read_data(struct run_job *job)
{
    struct cli_task task;

    if (!job->takes_data || cli_value(job->cli, job->values, "schedule"))
        return VBS_OK;
    VBS_TRY(run_read_task(job, &task));
    job->request = task.problem.request;
    return run_read_data(job);
}

/* The same for the network of word, of which there is no profile yet. */
static enum vbs_status read_data_of(struct run_job *job, const char *word,
                                    const struct vbs_network **network)
{
    VBS_TRY(cli_name_network(job->cli, word, network));
    job->network = *network;
    return read_data(job);
}

/* Makes a profile of this machine into the store, in whose place job->profile is null then. Where
 * the store has one of another machine and none can be predicted, that one stays. */
static enum vbs_status make_profile(struct run_job *job, const char *word,
                                    enum run_times_known known)
{
    struct vbs_ctx *ctx = &job->cli->ctx;
    const struct vbs_network *network;
    int *batches = NULL, n_batches;
    enum vbs_status status;

    VBS_TRY(read_data_of(job, word, &network));
    status = cli_read_batches(job->cli, CLI_DEFAULT_BATCHES, &batches, &n_batches);
    if (status == VBS_OK)
        status = find_out(job, known, network, batches, n_batches);
    free(batches);
    malloc_trim(0); /* memory of measuring is not the run's */
    if (status == VBS_INTERRUPTED)
        return vbs_fail(ctx, status, "interrupted; the same command goes on measuring from here");
    if (status != VBS_OK)
        return known == KNOWN_ELSEWHERE ? VBS_OK : status;
    vbs_profile_free(job->profile);
    job->profile = NULL;
    job->network = NULL;
    return VBS_OK;
}

static enum vbs_status load_profile(struct run_job *job, const char *word)
{
    return cli_load_profile(job->cli, word, &job->profile, &job->profile_id);
}

/* Loads the profile, which determines the number of threads with which the program is started
 * again. The program that was started again loads it too, without printing the choice. */
static enum vbs_status load_profile_for_threads(struct run_job *job, const char *word)
{
    bool quiet = job->cli->quiet;
    enum vbs_status status;

    job->cli->quiet = quiet || cli_is_started_anew();
    status = load_profile(job, word);
    job->cli->quiet = quiet;
    return status;
}

enum vbs_status run_find_subject(struct run_job *job, const char *word)
{
    bool piped = strcmp(word, "-") == 0;
    struct cli_suggestion command;
    enum run_times_known known;

    VBS_TRY(find_times(job, word, &known));
    /* The program that was started again could not read standard input once more. */
    if (!piped && known != UNKNOWN)
        VBS_TRY(load_profile_for_threads(job, word));
    VBS_TRY(choose_threads(job));
    if (!is_of_device(job))
        cli_pin_threads(job->cli, &job->threads);
    if (known == UNKNOWN || (known == KNOWN_ELSEWHERE && !is_of_device(job)))
        VBS_TRY(make_profile(job, word, known));
    if (!job->profile)
        VBS_TRY(load_profile(job, word));
    if (vbs_provenance_predicted(&job->profile->provenance))
        cli_note(job->cli,
                 "the times of the profile are predicted, not measured; '%s' measures them",
                 measuring(job, word, &command));
    VBS_TRY(find_backend(job, word));
    if (job->backend->device)
        job->threads = 0;
    VBS_TRY(load_network(job, word));
    VBS_TRY(check_network(job));
    VBS_TRY(compare_networks(job));
    compare_threads(job);
    return read_data(job);
}
