/*
 * Allocations of reading a description, of working on a study and of its results fail once, and
 * then also all from one on: the call says that memory is out and leaves nothing behind
 * (AddressSanitizer looks), the store stays sound, and a second run ends the study with the same
 * results.
 */
#include "support/bail_out.h"
#include "support/data_help.h"
#include "support/fault.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "support/trials.h"
#include "vbslab/study.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char NETWORK[] = "model tiny\ninput 1x3x4\nconv a out=16 kernel=3 pad=1\nrelu ar\n"
                              "conv b out=16 kernel=3 pad=1\nrelu br\nfc f out=4\nsoftmax s\n";

static const char DESCRIPTION[] =
    "[study]\nname = \"s\"\nmodel = \"%s/tiny.net\"\ndata = \"%s\"\nbackend = \"analytic\"\n"
    "batches = \"1,2\"\nrequest = 2\nepochs = 1\nbatch = 4\nround = 8\nthreads = 1\n"
    "validation = 4\nmemory = \"20KiB\"\ntrials = 1\nsampler = \"random\"\n"
    "accuracy_loss_at_most = 0.9\n"
    "[[parameter]]\nname = \"first\"\ngroup = \"a\"\n[[parameter]]\ngroups = [\"b\"]\nhigh = "
    "0.75\n";

struct subject {
    char *folder, *description, *path, *networks;
    char data[DATA_FOLDER_SIZE];
    struct vbs_study *study;
    struct vbs_store *store;
    int64_t digest; /* of the results without faults */
};

/* ---- the description and the results ---- */

static enum vbs_status read_description(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct vbs_study *study = (void *)&fault_untouched;
    enum vbs_status status = vbs_study_read(ctx, s->description, &study);

    if (status != VBS_OK)
        return fault_status(status, study);
    vbs_study_free(study);
    return status;
}

static enum vbs_status write_results(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;
    struct vbs_study_results *results = (void *)&fault_untouched;
    char *text = (char *)&fault_untouched;
    enum vbs_status status = vbs_study_results_read(ctx, s->store, s->study, &results);

    if (status != VBS_OK)
        return fault_status(status, results);
    for (int i = 0; i < 3 && status == VBS_OK; i++) {
        text = (char *)&fault_untouched;
        status = i == 0   ? vbs_study_table(ctx, results, 0, &text)
                 : i == 1 ? vbs_study_json(ctx, results, &text)
                          : vbs_study_csv(ctx, results, &text);
        if (status == VBS_OK)
            free(text);
        else
            status = fault_status(status, text);
    }
    vbs_study_results_free(results);
    return status;
}

static void each_allocation(const char *name, const struct subject *s,
                            enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject))
{
    for (int lasting = 0; lasting < 2; lasting++) {
        struct fault_trial trial = {.run = run, .subject = s, .lasting = lasting};

        fault_each(&trial);
        ok(trial.n_faults > 5 && trial.n_wrong == 0 && trial.status == VBS_OK,
           "%s: %d allocations, %s", name, trial.n_faults, trial.way);
    }
}

/* ---- the work ---- */

static bool never(void *self)
{
    (void)self;
    return false;
}

static enum vbs_status work(struct vbs_ctx *ctx, const struct subject *s)
{
    const struct vbs_study_options options = {
        .struct_size = sizeof options, .folder = s->networks, .threads = 1, .wait = never};
    struct vbs_store *store = NULL;
    struct vbs_study_outcome outcome = {.n_feasible = -1};
    enum vbs_status status = vbs_store_open(ctx, s->path, VBS_STORE_WRITE, &store);

    if (status == VBS_OK)
        status = vbs_study_work(ctx, store, s->study, &options, &outcome);
    vbs_store_close(store);
    return status == VBS_OK || outcome.n_feasible == -1 ? status : VBS_N_STATUS;
}

/* Begins with a new store. */
static void reset(const struct subject *s)
{
    char name[4096];

    for (int i = 0; i < 3; i++) {
        static const char *const ENDINGS[] = {"", "-wal", "-shm"};

        snprintf(name, sizeof name, "%s%s", s->path, ENDINGS[i]);
        unlink(name);
    }
    data_folder_remove(s->networks);
    mkdir(s->networks, 0777);
}

/* Gives a number that stands for the results of all trials, but not for how long they took. */
static int64_t digest_of(const struct subject *s)
{
    return query(s->path, "SELECT sum((number + 2) * CAST(value * 1000003 AS INTEGER) * "
                          "(length(name) + 1) % 1000000007) FROM trial JOIN trial_value ON "
                          "trial = id WHERE state = 'complete'");
}

static bool goes_on(const struct subject *s)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status = work(&ctx, s);

    if (status != VBS_OK)
        printf("# the second run: %s\n", vbs_detail(&ctx));
    return status == VBS_OK && digest_of(s) == s->digest;
}

/* Many allocations are alike, above all those of networks: they are tried with strides that grow,
 * or every one with TRIALS_PERCENT=1000000. second: a second run follows each. */
static void try_work(const struct subject *s, bool lasting, bool second)
{
    int n_faults = 0, n_wrong = 0, at;
    enum vbs_status status;

    for (at = 1;; at += trials_stride(at < 40 ? 3 : at / 9)) {
        struct vbs_ctx ctx = {0};
        bool sound;

        reset(s);
        allocation_faults = (struct faults){.countdown = at, .lasting = lasting};
        status = work(&ctx, s);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        sound = access(s->path, F_OK) != 0 ||
                query(s->path, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1;
        sound = sound && fault_is_said(&ctx, status) && (!second || goes_on(s));
        if (!sound && n_wrong++ < 5)
            printf("# allocation %d: status %d (%s)\n", at, (int)status, vbs_detail(&ctx));
    }
    ok(n_faults > 10 && n_wrong == 0 && status == VBS_OK,
       "work on a study: %d of %d allocations, %s", n_faults, at,
       lasting ? "all from one on fail" : "each fails once");
    ok(digest_of(s) == s->digest, "the run without a fault has the results of the first one");
}

/* ---- the subject ---- */

static void open_subject(struct subject *s)
{
    struct vbs_ctx ctx = {0};
    char text[2000], *net;

    *s = (struct subject){.folder = temporary_folder()};
    setenv("VBSLAB_LOCKS", s->folder, 1);
    data_folder_new(s->data);
    data_put_idx(s->data, 16, 1, false);
    net = path_in(s->folder, "tiny.net");
    write_text(net, NETWORK, strlen(NETWORK));
    free(net);
    snprintf(text, sizeof text, DESCRIPTION, s->folder, s->data);
    s->description = path_in(s->folder, "s.toml");
    s->path = path_in(s->folder, "store.sqlite");
    s->networks = path_in(s->folder, "networks");
    write_text(s->description, text, strlen(text));
    if (vbs_study_read(&ctx, s->description, &s->study) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    reset(s);
    if (work(&ctx, s) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    s->digest = digest_of(s);
    s->store = open_store(&ctx, s->path, VBS_STORE_READ);
}

static void close_subject(struct subject *s)
{
    vbs_study_free(s->study);
    reset(s);
    data_folder_remove(s->networks);
    data_folder_remove(s->data);
    free(s->networks);
    free(s->path);
    free(s->description);
    remove_folder(s->folder);
}

int main(void)
{
    struct subject s;

    open_subject(&s);
    fault_jansson(true);
    each_allocation("a description", &s, read_description);
    each_allocation("results", &s, write_results);
    vbs_store_close(s.store);
    try_work(&s, false, true);
    try_work(&s, true, false);
    fault_jansson(false);
    close_subject(&s);
    return done_testing();
}
