/*
 * Profiles with other times than the medians of their samples: drafts of a measurement that goes
 * on, measurements that are finished with revised times, and complete profiles that are revised.
 */
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "vbslab/posterior.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_LAYERS  2
#define N_BATCHES 3
#define N_KERNELS (N_LAYERS * N_BATCHES)
#define NETWORK   77

static struct vbs_store_run *begin(struct vbs_ctx *ctx, struct vbs_store *store,
                                   const struct plain_session *plain)
{
    struct vbs_store_run *run = NULL;

    if (vbs_store_run_begin(ctx, store, NETWORK, &plain->session, &run) != VBS_OK)
        bail_out("no run: %s", vbs_detail(ctx));
    return run;
}

/* Makes the posterior of a profile, of which a row was executed. */
static struct vbs_profile *posterior_of(const struct vbs_profile *profile, double time_us)
{
    const struct vbs_observed_row executed = {
        .layer = 1, .batch = 2, .time_us = time_us, .deviation = 0.01};
    const struct vbs_posterior_options options = {
        .struct_size = sizeof options, .n_executed = 1, .executed = &executed};
    struct vbs_profile *made = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_profile_posterior(&ctx, profile, &options, NULL, &made) != VBS_OK)
        bail_out("no posterior: %s", vbs_detail(&ctx));
    return made;
}

/* Returns how many rows of two profiles differ in time or interval, or, where others is set, in
 * what is measured beside these. */
static int count_different(const struct vbs_profile *a, const struct vbs_profile *b, bool others)
{
    int n_different = 0, n, m;

    for (int layer = 1; layer <= N_LAYERS; layer++)
        for (int k = 0; k < N_BATCHES; k++) {
            const struct vbs_profile_row *x = vbs_profile_rows(a, layer, k, &n);
            const struct vbs_profile_row *y = vbs_profile_rows(b, layer, k, &m);

            n_different += n != 1 || m != 1 ||
                           (others ? x->mad_us != y->mad_us || x->n_runs != y->n_runs
                                   : x->time_us != y->time_us || x->low_us != y->low_us ||
                                         x->high_us != y->high_us);
        }
    return n_different;
}

/* Returns whether kernel i of a profile has the n samples that feed wrote. */
static bool has_samples(struct vbs_store *store, int64_t id, int layer, int batch, int n)
{
    struct vbs_store_samples *samples = NULL;
    const struct vbs_sample_source *source;
    const double *times_us;
    struct vbs_ctx ctx = {0};
    int n_times = 0, kernel = (layer - 1) * N_BATCHES + batch - 1;
    bool good = vbs_store_samples_open(&ctx, store, id, &samples) == VBS_OK;

    if (!good)
        return false;
    source = vbs_store_samples_source(samples);
    good = source->times(&ctx, source->self, layer, batch, 0, "direct", &times_us, &n_times) ==
               VBS_OK &&
           n_times == n;
    for (int k = 0; k < n && good; k++) {
        bool found = false;

        for (int i = 0; i < n; i++)
            found = found || times_us[i] == 100 + kernel + k / 16.0;
        good = found;
    }
    vbs_store_samples_free(samples);
    return good;
}

static bool has_all_samples(struct vbs_store *store, int64_t id, int n)
{
    bool good = true;

    for (int i = 0; i < N_KERNELS; i++)
        good = good && has_samples(store, id, 1 + i / N_BATCHES, 1 + i % N_BATCHES, n);
    return good;
}

static struct vbs_profile *load(struct vbs_store *store, int64_t id)
{
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_store_load(&ctx, store, id, &profile) != VBS_OK)
        bail_out("not loaded: %s", vbs_detail(&ctx));
    return profile;
}

/* ---- Measurements ---- */

static void a_run_is_finished_with_revised_times(struct vbs_store *store,
                                                 const struct plain_session *plain)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store_run *run = begin(&ctx, store, plain);
    struct vbs_profile *draft = NULL, *later = NULL, *posterior, *loaded;
    struct vbs_store_list *list = NULL;
    enum vbs_status status;
    int64_t id = 0;

    status = vbs_store_run_draft(&ctx, run, &draft);
    ok(status == VBS_STORE && !draft && strstr(vbs_detail(&ctx), "no sample"),
       "there is no draft without samples: %s", vbs_detail(&ctx));
    ok(feed(&ctx, run, N_KERNELS - 1, 5) == VBS_OK &&
           vbs_store_run_draft(&ctx, run, &draft) == VBS_STORE && !draft,
       "nor before every kernel has one");
    if (feed(&ctx, run, N_KERNELS, 2) != VBS_OK || feed_copies(&ctx, run, 3) != VBS_OK)
        bail_out("not fed: %s", vbs_detail(&ctx));
    status = vbs_store_run_draft(&ctx, run, &draft);
    ok(status == VBS_OK && vbs_profile_find_row(draft, 1, 1, 0, 0)->n_runs == 7 &&
           vbs_profile_find_row(draft, N_LAYERS, N_BATCHES, 0, 0)->n_runs == 2 &&
           draft->n_copies == 2,
       "then there is one, of the samples so far");
    ok(vbs_store_profiles(&ctx, store, &list) == VBS_OK && list->n_entries == 1 &&
           !list->entries[0].complete,
       "which completes nothing");
    vbs_store_list_free(list);
    ok(feed(&ctx, run, N_KERNELS, 1) == VBS_OK &&
           vbs_store_run_draft(&ctx, run, &later) == VBS_OK &&
           vbs_profile_find_row(later, 1, 1, 0, 0)->n_runs == 8,
       "the measurement goes on behind it, and a later draft has more samples");
    posterior = posterior_of(later, 150);
    ok(count_different(later, posterior, false) == N_KERNELS, "a posterior has other times");
    vbs_store_run_revise(run, posterior);
    status = vbs_store_run_finish(&ctx, run, "revised", &id);
    if (!ok(status == VBS_OK, "it is finished with these"))
        bail_out("not finished: %s", vbs_detail(&ctx));
    loaded = load(store, id);
    ok(count_different(loaded, posterior, false) == 0, "which are those of the profile");
    ok(count_different(loaded, later, true) == 0, "its deviations and runs are those of samples");
    is_str(loaded->provenance.notes, "revised", "it has the notes");
    ok(vbs_provenance_posterior(&loaded->provenance), "and says that its times are posterior");
    vbs_profile_free(loaded);
    loaded = NULL;
    ok(vbs_store_load_medians(&ctx, store, id, &loaded) == VBS_OK &&
           count_different(loaded, later, false) == 0 && loaded->provenance.times[0] == '\0',
       "its medians do not");
    vbs_store_run_free(run);
    vbs_profile_free(draft);
    vbs_profile_free(later);
    vbs_profile_free(posterior);
    vbs_profile_free(loaded);
}

static void other_rows_are_refused(struct vbs_store *store, const struct plain_session *plain)
{
    struct plain_session *less = plain_session_new(N_LAYERS, N_BATCHES - 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_profile *few = profile_of_session(&ctx, &less->session, NULL);
    struct vbs_store_run *run = begin(&ctx, store, plain);
    enum vbs_status status;
    int64_t id = 0;

    if (feed(&ctx, run, N_KERNELS, 3) != VBS_OK)
        bail_out("not fed: %s", vbs_detail(&ctx));
    vbs_store_run_revise(run, few);
    status = vbs_store_run_finish(&ctx, run, NULL, &id);
    ok(status == VBS_INVALID && id == 0 && strstr(vbs_detail(&ctx), "layer 1 batch 3"),
       "times of a profile without some row are refused: %s", vbs_detail(&ctx));
    vbs_store_run_revise(run, NULL);
    ok(vbs_store_run_finish(&ctx, run, "medians", &id) == VBS_OK,
       "it can be finished with its medians");
    ok(has_all_samples(store, id, 3), "and has all samples");
    vbs_store_run_free(run);
    vbs_profile_free(few);
    plain_session_free(less);
}

/* Begins a run, makes a draft and waits to be killed. */
static void draft_and_wait(const char *path, const struct plain_session *plain, int ready)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = begin(&ctx, store, plain);
    struct vbs_profile *draft = NULL;

    if (feed(&ctx, run, N_KERNELS, 4) != VBS_OK || vbs_store_run_draft(&ctx, run, &draft) != VBS_OK)
        _exit(1);
    if (write(ready, "x", 1) != 1)
        _exit(2);
    for (;;)
        pause();
}

static void a_killed_run_with_a_draft_is_resumed(const char *folder,
                                                 const struct plain_session *plain)
{
    char *path = path_in(folder, "killed.sqlite"), byte;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_MAKE_FOLDER);
    struct vbs_profile *draft = NULL, *loaded, *revised;
    struct vbs_store_run *run;
    int ends[2], code;
    pid_t child;
    int64_t id = 0;

    vbs_store_close(store);
    fflush(stdout);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        bail_out("no process");
    if (child == 0)
        draft_and_wait(path, plain, ends[1]);
    close(ends[1]);
    ok(read(ends[0], &byte, 1) == 1, "another process makes a draft");
    kill(child, SIGKILL);
    waitpid(child, &code, 0);
    close(ends[0]);
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    run = begin(&ctx, store, plain);
    ok(vbs_store_run_resumed(run), "it is killed, and its measurement is resumed");
    if (vbs_store_run_draft(&ctx, run, &draft) != VBS_OK)
        bail_out("no draft: %s", vbs_detail(&ctx));
    ok(vbs_profile_find_row(draft, 1, 1, 0, 0)->n_runs == 4, "a new draft has its samples");
    revised = posterior_of(draft, 120);
    vbs_store_run_revise(run, revised);
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && has_all_samples(store, id, 4),
       "it is finished with all samples");
    loaded = load(store, id);
    ok(count_different(loaded, revised, false) == 0, "and the revised times");
    vbs_store_run_free(run);
    vbs_store_close(store);
    vbs_profile_free(draft);
    vbs_profile_free(revised);
    vbs_profile_free(loaded);
    free(path);
}

/* ---- Kernels that are left out ---- */

/* Feeds n samples to every kernel of the session but those of the second algorithm at batch 2. */
static void feed_some(struct vbs_ctx *ctx, struct vbs_store_run *run,
                      const struct plain_session *plain, int n)
{
    const struct vbs_sample_sink *sink = vbs_store_run_sink(run);

    for (int i = 0; i < plain->session.n_kernels; i++)
        for (int k = 0; k < n; k++)
            if ((plain->kernels[i].batch != 2 || i % 2 == 0) &&
                sink->add(ctx, sink->self, i, k, 100 + i) != VBS_OK)
                bail_out("not fed: %s", vbs_detail(ctx));
}

static void leave_out_some(struct vbs_ctx *ctx, struct vbs_store_run *run,
                           const struct plain_session *plain)
{
    const struct vbs_sample_sink *sink = vbs_store_run_sink(run);

    for (int i = 0; i < plain->session.n_kernels; i++)
        if (plain->kernels[i].batch == 2 && i % 2 == 1 &&
            sink->leave_out(ctx, sink->self, i) != VBS_OK)
            bail_out("not left out: %s", vbs_detail(ctx));
}

/* Counts the rows of a profile at a batch. */
static int rows_at(const struct vbs_profile *profile, int batch)
{
    int n = 0, n_rows;

    for (int layer = 1; layer <= profile->n_layers; layer++) {
        (void)vbs_profile_rows(profile, layer, batch - 1, &n_rows);
        n += n_rows;
    }
    return n;
}

static void kernels_are_left_out(struct vbs_store *store)
{
    struct plain_session *plain = plain_session_new(N_LAYERS, N_BATCHES, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store_run *run = begin(&ctx, store, plain);
    const struct vbs_sample_sink *sink = vbs_store_run_sink(run);
    struct vbs_profile *draft = NULL, *loaded;
    int64_t id = 0;

    ok(sink->leave_out(&ctx, sink->self, plain->session.n_kernels) == VBS_STORE,
       "a kernel that is none is not left out");
    feed_some(&ctx, run, plain, 3);
    ok(vbs_store_run_draft(&ctx, run, &draft) == VBS_STORE,
       "a kernel without samples is missing unless it is left out");
    leave_out_some(&ctx, run, plain);
    ok(vbs_store_run_draft(&ctx, run, &draft) == VBS_OK && rows_at(draft, 2) == N_LAYERS &&
           rows_at(draft, 3) == 2 * N_LAYERS,
       "a draft has no rows of those that are left out");
    vbs_profile_free(draft);
    draft = NULL;
    vbs_store_run_free(run);
    run = begin(&ctx, store, plain);
    ok(vbs_store_run_resumed(run) && vbs_store_run_draft(&ctx, run, &draft) == VBS_STORE,
       "where it is resumed they are missing again");
    feed_some(&ctx, run, plain, 2);
    leave_out_some(&ctx, run, plain);
    sink = vbs_store_run_sink(run);
    ok(sink->leave_out(&ctx, sink->self, 0) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK,
       "it is finished");
    loaded = load(store, id);
    ok(rows_at(loaded, 2) == N_LAYERS && rows_at(loaded, 1) == 2 * N_LAYERS - 1 &&
           !vbs_profile_find_row(loaded, 1, 1, 0, 0) &&
           vbs_profile_find_row(loaded, 1, 1, 0, 1)->n_runs == 5,
       "a kernel whose samples do not count is left out, too");
    vbs_store_run_free(run);
    vbs_profile_free(loaded);
    plain_session_free(plain);
}

/* ---- Complete profiles ---- */

static void complete_profiles_are_revised(struct vbs_store *store, const char *path,
                                          const struct plain_session *plain)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store_run *run = begin(&ctx, store, plain);
    struct vbs_profile *profile, *posterior, *loaded;
    int64_t id = 0, revised = 0, again = 0, other = -1;
    char where[80];

    if (feed(&ctx, run, N_KERNELS, 6) != VBS_OK || feed_copies(&ctx, run, 3) != VBS_OK ||
        vbs_store_run_finish(&ctx, run, "first", &id) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(&ctx));
    vbs_store_run_free(run);
    profile = load(store, id);
    posterior = posterior_of(profile, 130);
    ok(vbs_store_revise(&ctx, store, id, posterior, &revised) == VBS_OK && revised != id,
       "a revised profile is one of its own");
    loaded = load(store, revised);
    ok(!profile_difference(loaded, posterior, where, sizeof where), "as it was given");
    vbs_profile_free(loaded);
    ok(has_all_samples(store, revised, 6), "with the samples of the other");
    is_int(query(path, "SELECT count(*) FROM copy_sample"),
           2 * query(path, "SELECT count(*) FROM copy_sample JOIN copy ON copy = copy.id "
                           "WHERE profile = (SELECT max(id) FROM profile)") +
               query(path, "SELECT count(*) FROM copy_sample JOIN copy ON copy = copy.id WHERE "
                           "profile < (SELECT max(id) - 1 FROM profile)"),
           "and those of its copies");
    loaded = load(store, id);
    ok(!profile_difference(loaded, profile, where, sizeof where) && has_all_samples(store, id, 6),
       "the other is as it was");
    vbs_profile_free(loaded);
    ok(vbs_store_revise(&ctx, store, id, posterior, &again) == VBS_OK && again == revised,
       "the same content is the same profile");
    ok(vbs_store_revise(&ctx, store, id, profile, &again) == VBS_OK && again == id,
       "a profile revised to itself, too");
    ok(vbs_store_revise(&ctx, store, 4711, posterior, &again) == VBS_OK && again == revised,
       "where the content is in the store, the number of the other does not matter");
    vbs_profile_free(posterior);
    posterior = posterior_of(profile, 131);
    ok(vbs_store_revise(&ctx, store, 4711, posterior, &other) != VBS_OK && other == -1,
       "a profile that is not in the store cannot be revised");
    vbs_profile_free(profile);
    vbs_profile_free(posterior);
}

/* Stores of version 9 do not know whether times are posterior ones. */
static void earlier_profiles_stay(const char *folder, const struct plain_session *plain)
{
    char *path = path_in(folder, "earlier.sqlite"), hashes[2][VBS_PROFILE_HASH_SIZE];
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_MAKE_FOLDER);
    struct vbs_store_run *run = begin(&ctx, store, plain);
    struct vbs_profile *profile, *loaded, *posterior;
    int64_t id = 0, same = 0, revised = 0;

    if (feed(&ctx, run, N_KERNELS, 6) != VBS_OK ||
        vbs_store_run_finish(&ctx, run, "first", &id) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(&ctx));
    vbs_store_run_free(run);
    profile = load(store, id);
    vbs_store_close(store);
    ok(!make_earlier(path, 9) && query(path, "PRAGMA user_version") == 9, "a store of version 9");
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    is_int(query(path, "PRAGMA user_version"), newest_version(), "is brought up");
    loaded = load(store, id);
    vbs_profile_hash(profile, hashes[0]);
    vbs_profile_hash(loaded, hashes[1]);
    is_str(hashes[1], hashes[0], "its profile has the hash that it had");
    is_str(loaded->provenance.times, "", "and does not say what its times are");
    posterior = posterior_of(loaded, 130);
    ok(vbs_store_revise(&ctx, store, id, profile, &same) == VBS_OK && same == id &&
           vbs_store_revise(&ctx, store, id, posterior, &revised) == VBS_OK && revised != id,
       "it can be revised");
    vbs_profile_free(loaded);
    loaded = load(store, revised);
    ok(vbs_provenance_posterior(&loaded->provenance), "to one that does");
    vbs_store_close(store);
    vbs_profile_free(profile);
    vbs_profile_free(loaded);
    vbs_profile_free(posterior);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder(), *path = path_in(folder, "store.sqlite");
    struct plain_session *plain = plain_session_new(N_LAYERS, N_BATCHES, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_MAKE_FOLDER);

    if (!store)
        bail_out("no store");
    a_run_is_finished_with_revised_times(store, plain);
    other_rows_are_refused(store, plain);
    complete_profiles_are_revised(store, path, plain);
    kernels_are_left_out(store);
    vbs_store_close(store);
    a_killed_run_with_a_draft_is_resumed(folder, plain);
    earlier_profiles_stay(folder, plain);
    plain_session_free(plain);
    free(path);
    remove_folder(folder);
    return done_testing();
}
