/*
 * The store of one process: profiles that are saved come back, a measurement becomes a profile, and
 * complete profiles never change. Files that are refused: refusals.c; several processes:
 * processes.c.
 */
#include "support/profile_help.h"
#include "base/ctx.h"
#include "base/owner.h"
#include "store/run.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- saving and loading ---- */

static void saved_profiles_come_back_to_the_bit(const char *folder, gsl_rng *rng)
{
    char *path = path_in(folder, "new/folders/round.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_MAKE_FOLDER);
    int n_same = 0;

    for (int i = 0; i < 60 && store; i++) {
        struct vbs_profile *profile = hostile_profile(&ctx, rng, i % 2), *back = NULL;
        char where[80];
        const char *difference = "not saved";
        int64_t id;

        if (profile && vbs_store_save(&ctx, store, profile, &id) == VBS_OK && id == i + 1 &&
            vbs_store_load(&ctx, store, id, &back) == VBS_OK)
            difference = profile_difference(profile, back, where, sizeof where);
        if (difference)
            printf("# %s: %s\n", difference, ctx.detail);
        n_same += !difference;
        vbs_profile_free(profile);
        vbs_profile_free(back);
    }
    is_int(n_same, 60, "profiles with hostile texts are saved and loaded unchanged, ids 1, 2, ...");
    vbs_store_close(store);
    is_int(query(path, "PRAGMA user_version"), newest_version(), "user_version");
    is_int(query(path, "PRAGMA application_id"), 0x5642534C, "application_id is VBSL");
    is_int(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0, "no dangling rows");
    ok(query(path, "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE "
                   "'sqlite_%' AND sql NOT LIKE '%STRICT%'") == 0,
       "every table is strict");
    free(path);
}

static void profiles_are_listed_newest_last(const char *folder)
{
    char *path = path_in(folder, "list.sqlite");
    struct plain_session *plain = plain_session_new(2, 3, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile *a = example("alexnet"), *g = example("goo'gle`net`");
    struct vbs_profile *again = numbered_example("alexnet", 2);
    struct vbs_store_run *run = NULL;
    struct vbs_store_list *list = NULL;
    struct vbs_store_choice choice;
    int64_t id = 0;

    ok(vbs_store_profiles(&ctx, store, &list) == VBS_OK && list->n_entries == 0, "an empty store");
    vbs_store_list_free(list);
    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           vbs_store_save(&ctx, store, a, &id) == VBS_OK &&
           vbs_store_save(&ctx, store, g, &id) == VBS_OK &&
           vbs_store_save(&ctx, store, again, &id) == VBS_OK,
       "one unfinished profile and three that are complete");
    if (ok(vbs_store_profiles(&ctx, store, &list) == VBS_OK && list->n_entries == 4, "four")) {
        const struct vbs_store_entry *e = list->entries;

        ok(e[0].id == 2 && e[1].id == 3 && e[2].id == 4 && e[3].id == 1, "in order of completion");
        ok(e[2].complete && !e[3].complete, "the unfinished one is told apart");
        is_str(e[1].provenance.model, "goo'gle`net`", "model");
        ok(e[3].n_layers == 2 && e[3].n_batches == 3 && e[3].max_batch == 3 && e[3].n_rows == 12,
           "counts of the unfinished one");
        is_str(e[3].batches, "1,2,3", "its batches");
        ok(e[0].n_layers == 2 && e[0].n_batches == 1 && e[0].n_rows == 3, "counts of another");
        ok(strlen(e[3].provenance.date) == 20 && e[3].provenance.date[19] == 'Z',
           "it was begun at %s", e[3].provenance.date);
        vbs_store_list_free(list);
    }
    ok(vbs_store_choose(&ctx, store, "alexnet", NULL, &choice) == VBS_OK && choice.id == 4,
       "newest of a model");
    ok(vbs_store_choose(&ctx, store, "goo'gle`net`", NULL, &choice) == VBS_OK && choice.id == 3,
       "... of another");
    ok(vbs_store_choose(&ctx, store, "alexnett", NULL, &choice) == VBS_NOT_FOUND &&
           strstr(ctx.detail, "did you mean 'alexnet'?"),
       "a wrong name gets a suggestion");
    ok(vbs_store_choose(&ctx, store, "' OR 1=1 --", NULL, &choice) == VBS_NOT_FOUND,
       "SQL is only a name");
    ok(vbs_store_choose(&ctx, store, "plain", NULL, &choice) == VBS_NOT_FOUND &&
           strstr(ctx.detail, "only an unfinished profile of 'plain'"),
       "a model with only an unfinished profile");
    ok(vbs_store_load(&ctx, store, 1, &a) == VBS_STORE && strstr(ctx.detail, "unfinished"),
       "an unfinished profile is not loaded");
    ok(vbs_store_load(&ctx, store, 99, &a) == VBS_NOT_FOUND && strstr(ctx.detail, "no profile 99"),
       "nor one that is not there");
    vbs_store_run_free(run);
    ok(query(path, "SELECT count(*) FROM profile") == 3, "a run without samples leaves nothing");
    vbs_store_close(store);
    vbs_profile_free(a);
    vbs_profile_free(g);
    vbs_profile_free(again);
    plain_session_free(plain);
    free(path);
}

/* ---- a measurement ---- */

/* Kernels are written in one transaction, which an interruption takes back. */
static void a_beginning_can_be_interrupted(const char *folder)
{
    static const sig_atomic_t stop = 1;
    char *path = path_in(folder, "stopped.sqlite");
    struct plain_session *plain = plain_session_new(3, 2, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;

    ctx.cancel = &stop;
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_INTERRUPTED && !run,
       "beginning can be interrupted");
    vbs_store_close(store);
    is_int(query(path, "SELECT count(*) FROM profile"), 0, "and leaves nothing behind");
    plain_session_free(plain);
    free(path);
}

static void a_finished_measurement_is_a_profile(const char *folder)
{
    char *path = path_in(folder, "run.sqlite");
    struct plain_session *plain = plain_session_new(3, 2, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile_row expected = {0};
    struct vbs_store_run *run = NULL;
    struct vbs_profile *profile = NULL;
    double times[7];
    int64_t id = 0;
    int n;

    if (!ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK, "begun"))
        return;
    ok(!vbs_store_run_resumed(run), "anew");
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_STORE &&
           strstr(ctx.detail, "layer 1 batch 1 algorithm 'direct' has no sample yet"),
       "without samples it cannot be finished");
    ok(feed(&ctx, run, 12, 7) == VBS_OK, "seven samples of each kernel");
    ok(vbs_store_run_finish(&ctx, run, "a 'note'\n", &id) == VBS_OK && id == 1, "finished");
    ok(feed(&ctx, run, 1, 1) == VBS_STORE, "then it takes no more samples");
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_STORE, "nor is it finished twice");
    vbs_store_run_free(run);
    is_int(query(path, "SELECT sum(length(samples)) / 12 FROM packed_sample"), 84,
           "the raw samples stay, packed");
    is_int(query(path, "SELECT count(*) FROM sample"), 0, "and no longer as rows");
    for (int k = 0; k < 7; k++)
        times[k] = 100 + 6 + k / 16.0;
    vbs_measure_summary(times, 7, &expected);
    if (ok(vbs_store_load(&ctx, store, id, &profile) == VBS_OK, "loaded")) {
        const struct vbs_profile_row *rows = vbs_profile_rows(profile, 2, 1, &n);
        int direct = vbs_profile_algorithm(profile, "direct");

        rows = n == 2 && rows[0].algorithm == direct ? rows : rows + 1;
        ok(n == 2 && rows->algorithm == direct, "layer 2 batch 2 has both algorithms");
        expected.time_us += 0; /* kernel 6 is layer 2 batch 2 direct */
        ok(rows->time_us == expected.time_us && rows->mad_us == expected.mad_us &&
               rows->low_us == expected.low_us && rows->high_us == expected.high_us &&
               rows->n_runs == 7 && rows->ws_bytes == 60,
           "its statistics are those of its samples");
        is_str(profile->provenance.notes, "a 'note'\n", "notes");
        is_str(profile->provenance.device, "this one", "device");
        is_int(profile->provenance.threads, 2, "threads");
        is_int((int64_t)strlen(profile->provenance.date), 20, "date");
        vbs_profile_free(profile);
    }
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

/* ---- samples ---- */

static bool has_samples(struct vbs_ctx *ctx, const struct vbs_sample_source *source, int layer,
                        int batch, const char *algorithm, const double *want_us, int n_want)
{
    const double *times_us = NULL;
    int n = -1;

    return source->times(ctx, source->self, layer, batch, 0, algorithm, &times_us, &n) == VBS_OK &&
           n == n_want && (n == 0 || memcmp(times_us, want_us, (size_t)n * sizeof *times_us) == 0);
}

/* 100 samples a row are more than the reader has space for at first. */
static void samples_of_a_profile_come_back(const char *folder)
{
    char *path = path_in(folder, "samples.sqlite");
    struct plain_session *plain = plain_session_new(3, 2, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile *imported = example("imported");
    struct vbs_store_run *run = NULL;
    struct vbs_store_samples *samples = NULL, *none = NULL;
    const struct vbs_sample_source *source;
    int64_t id = 0, imported_id = 0;
    double times_us[100];

    for (int k = 0; k < 100; k++)
        times_us[k] = 100 + 6 + k / 16.0; /* of kernel 6: layer 2 batch 2 direct */
    if (!ok(vbs_store_save(&ctx, store, imported, &imported_id) == VBS_OK &&
                vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
                feed(&ctx, run, 12, 100) == VBS_OK &&
                vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK &&
                vbs_store_samples_open(&ctx, store, id, &samples) == VBS_OK &&
                vbs_store_samples_open(&ctx, store, imported_id, &none) == VBS_OK,
            "a measured and an imported profile: %s", ctx.detail))
        return;
    source = vbs_store_samples_source(samples);
    ok(has_samples(&ctx, source, 2, 2, "direct", times_us, 100), "samples are as they were taken");
    for (int k = 0; k < 100; k++)
        times_us[k] += 1;
    ok(has_samples(&ctx, source, 2, 2, "winograd", times_us, 100), "of each algorithm its own");
    for (int k = 0; k < 100; k++)
        times_us[k] -= 1;
    ok(has_samples(&ctx, source, 2, 2, "direct", times_us, 100), "and again");
    ok(has_samples(&ctx, source, 2, 2, "gemm", NULL, 0) &&
           has_samples(&ctx, source, 2, 3, "direct", NULL, 0) &&
           has_samples(&ctx, source, 4, 1, "direct", NULL, 0) &&
           has_samples(&ctx, source, 2, 2, "' OR 1 --", NULL, 0),
       "a row that is not there has none");
    ok(has_samples(&ctx, vbs_store_samples_source(none), 1, 1, "default", NULL, 0),
       "neither has one that was imported");
    ok(!run_sql(path, "DELETE FROM profile WHERE completed = 2"), "another process deletes it");
    ok(has_samples(&ctx, source, 2, 2, "direct", NULL, 0), "then there are none");
    vbs_store_samples_free(samples);
    vbs_store_samples_free(none);
    vbs_store_samples_free(NULL);
    vbs_store_run_free(run);
    vbs_store_close(store);
    vbs_profile_free(imported);
    plain_session_free(plain);
    free(path);
}

static void a_session_that_makes_no_profile_is_refused_at_the_start(const char *folder)
{
    char *path = path_in(folder, "bad-session.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;

    plain->session.n_kernels = 3;
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_FORMAT &&
           strstr(ctx.detail, "layer 2 ('layer') has no row for batch 2"),
       "a session whose kernels lack a batch");
    is_int(query(path, "SELECT count(*) FROM profile"), 0, "nothing was stored");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void samples_are_committed_after_20_ms_or_256(const char *folder)
{
    char *path = path_in(folder, "commit.sqlite");
    struct plain_session *plain = plain_session_new(1, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const struct vbs_sample_sink *sink;
    struct vbs_store_run *run = NULL;

    if (vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) != VBS_OK)
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->add(&ctx, sink->self, 0, 0, 19999) == VBS_OK, "19.999 ms");
    is_int(query(path, "SELECT count(*) FROM sample"), 0, "... wait");
    ok(sink->add(&ctx, sink->self, 0, 1, 1) == VBS_OK, "0.001 ms more");
    is_int(query(path, "SELECT count(*) FROM sample"), 2, "... are committed together");
    ok(sink->add(&ctx, sink->self, 0, 2, 1e6) == VBS_OK, "one long sample");
    is_int(query(path, "SELECT count(*) FROM sample"), 3, "... is committed at once");
    for (int i = 0; i < 255; i++)
        if (sink->add(&ctx, sink->self, 0, 3 + i, 0.5) != VBS_OK)
            printf("# %s\n", ctx.detail);
    is_int(query(path, "SELECT count(*) FROM sample"), 3, "255 short ones wait");
    ok(sink->add(&ctx, sink->self, 0, 300, 0.5) == VBS_OK, "the 256th");
    is_int(query(path, "SELECT count(*) FROM sample"), 259, "... is committed with them");
    ok(sink->add(&ctx, sink->self, 0, 301, NAN) == VBS_STORE &&
           sink->add(&ctx, sink->self, 1, 301, 1) == VBS_STORE &&
           sink->add(&ctx, sink->self, 0, 301, -1) == VBS_STORE,
       "what is no sample is refused");
    ok(sink->add(&ctx, sink->self, 0, 301, 7) == VBS_OK, "a last one");
    vbs_store_run_free(run);
    is_int(query(path, "SELECT count(*) FROM sample"), 260, "... is committed when the run ends");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void a_broken_off_run_is_resumed_only_by_the_same_measurement(const char *folder)
{
    char *path = path_in(folder, "key.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_provenance original = plain->session.provenance, *c;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    const struct vbs_sample_sink *sink;
    const double *times;
    int n_times = 0, n_fresh = 0;
    int64_t id;

    c = &plain->session.provenance;
    if (vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) != VBS_OK ||
        feed(&ctx, run, 4, 3) != VBS_OK)
        return;
    vbs_store_run_free(run);
    for (int change = 0; change < 10; change++) {
        *c = original;
        c->model = change == 0 ? "other" : c->model;
        c->input = change == 1 ? "3x5x5" : c->input;
        c->backend = change == 2 ? "other" : c->backend;
        c->library = change == 3 ? "none 1.1" : c->library;
        c->device = change == 4 ? "that one" : c->device;
        c->vbslab = change == 5 ? "1" : c->vbslab;
        c->threads = change == 6 ? 3 : c->threads;
        plain->kernels[1].ws_bytes += change == 7;
        plain->layers[1].out_bytes += change == 8;
        if (vbs_store_run_begin(&ctx, store, change == 9 ? 6 : 5, &plain->session, &run) != VBS_OK)
            return;
        n_fresh += !vbs_store_run_resumed(run);
        vbs_store_run_free(run);
        plain->kernels[1].ws_bytes -= change == 7;
        plain->layers[1].out_bytes -= change == 8;
    }
    is_int(n_fresh, 10,
           "another model, input, backend, library, device, version, thread count, "
           "kernel, layer or network begins anew");
    *c = original;
    c->notes = "other notes";
    if (!ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
                vbs_store_run_resumed(run),
            "the same measurement resumes"))
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->stored(&ctx, sink->self, 3, &times, &n_times) == VBS_OK && n_times == 3 &&
           times[0] == 103 && times[1] == 103 + 1 / 16.0 && times[2] == 103 + 2 / 16.0,
       "its samples are there in their order");
    ok(feed(&ctx, run, 4, 2) == VBS_OK, "two more of each");
    ok(sink->stored(&ctx, sink->self, 3, &times, &n_times) == VBS_OK && n_times == 3,
       "what this process adds is not among the stored");
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && id == 1, "finished under its id");
    vbs_store_run_free(run);
    is_int(query(path, "SELECT sum(length(samples) = 5 * 12) FROM packed_sample"), 4,
           "five samples of each of four kernels");
    is_int(query(path, "SELECT count(DISTINCT hex(substr(samples, 1 + 12 * n, 4))) "
                       "FROM packed_sample, (SELECT 0 AS n UNION SELECT 1 UNION SELECT 2 UNION "
                       "SELECT 3 UNION SELECT 4)"),
           5, "in five rounds");
    is_int(query(path, "SELECT min(n_runs) FROM kernel"), 5, "all of them count");
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           !vbs_store_run_resumed(run),
       "a complete profile is not resumed");
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void a_run_whose_profile_was_taken_over_is_told(const char *folder)
{
    char *path = path_in(folder, "robbed.sqlite");
    struct plain_session *plain = plain_session_new(1, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    const struct vbs_sample_sink *sink;
    int64_t id;

    if (vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) != VBS_OK)
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->add(&ctx, sink->self, 0, 0, 30000) == VBS_OK, "a sample of its own");
    run_sql(path, "UPDATE profile SET owner = 'someone else'");
    ok(sink->add(&ctx, sink->self, 0, 0, 30000) == VBS_STORE &&
           strstr(ctx.detail, "taken over by another process"),
       "another owner is noticed");
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_STORE, "nothing can be finished");
    vbs_store_run_free(run);
    is_int(query(path, "SELECT count(*) FROM sample"), 1, "nothing was written any more");
    is_int(query(path, "SELECT count(*) FROM profile WHERE owner = 'someone else'"), 1,
           "and the other's ownership stands");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

/* A process that dies after it has packed samples leaves them to the next, whose own follow. */
static void a_run_that_died_while_it_finished_resumes(const char *folder)
{
    char *path = path_in(folder, "died.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    struct vbs_store_samples *samples = NULL;
    const struct vbs_sample_source *source;
    const double *times = NULL;
    int64_t id = 0;
    int n = 0;

    run_sql(path, "CREATE TRIGGER dies BEFORE UPDATE OF completed ON profile "
                  "BEGIN SELECT RAISE(ABORT, 'died'); END");
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 4, 3) == VBS_OK && feed_copies(&ctx, run, 2) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_STORE,
       "it ends before the profile is complete: %s", ctx.detail);
    vbs_store_run_free(run);
    is_int(query(path, "SELECT sum(length(samples)) / 12 FROM packed_sample"), 12,
           "its samples are packed");
    run_sql(path, "DROP TRIGGER dies");
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           vbs_store_run_resumed(run) && feed(&ctx, run, 4, 2) == VBS_OK,
       "the next process resumes it and adds two of each kernel");
    vbs_store_run_free(run);
    is_int(query(path, "SELECT min(number) FROM sample"), 3, "which are counted on");
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && id == 1,
       "a third one finishes");
    vbs_store_run_free(run);
    if (ok(vbs_store_samples_open(&ctx, store, id, &samples) == VBS_OK, "samples")) {
        source = vbs_store_samples_source(samples);
        ok(source->times(&ctx, source->self, 1, 1, 0, "direct", &times, &n) == VBS_OK && n == 5 &&
               times[0] == 100 && times[2] == 100 + 2 / 16.0 && times[3] == 100 &&
               times[4] == 100 + 1 / 16.0,
           "are those of all, in their order");
    }
    vbs_store_samples_free(samples);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

/* An owner of this boot, and of another, by the name of the machine. */
static void owners_of_other_machines_are_told(const char *boot, const char *space, int pid,
                                              unsigned long long start, const char *host)
{
    char owner[VBS_OWNER_SIZE + 8], name[VBS_OWNER_HOST_SIZE] = "none";

    snprintf(owner, sizeof owner, "x%s %s %d %llu %s", boot + 1, space, pid, start, host);
    ok(!vbs_owner_is_elsewhere(owner, 0, name), "a process before a restart is of this machine");
    snprintf(owner, sizeof owner, "%s pid:[1] %d %llu elsewhere", boot, pid, start);
    ok(!vbs_owner_is_elsewhere(owner, 0, name), "so is one of another container");
    snprintf(owner, sizeof owner, "x%s %s %d %llu", boot + 1, space, pid, start);
    ok(!vbs_owner_is_elsewhere(owner, 0, name) && !vbs_owner_is_elsewhere("", 0, name) &&
           strcmp(name, "none") == 0,
       "and what has no name of a machine is not told");
    snprintf(owner, sizeof owner, "x%s %s %d %llu elsewhere", boot + 1, space, pid, start);
    ok(vbs_owner_is_elsewhere(owner, 599, name) && strcmp(name, "elsewhere") == 0 &&
           vbs_owner_is_elsewhere(owner, -599, name),
       "one of another boot and name is of another machine");
    ok(!vbs_owner_is_elsewhere(owner, 601, name) && !vbs_owner_is_elsewhere(owner, -601, name),
       "for ten minutes");
}

static void owners_are_told_from_the_dead(void)
{
    char self[VBS_OWNER_SIZE], changed[VBS_OWNER_SIZE + 8];
    char boot[48], space[32], host[65];
    unsigned long long start;
    int pid, status;
    pid_t child;

    vbs_owner_self(self);
    if (!ok(sscanf(self, "%47s %31s %d %llu %64s", boot, space, &pid, &start, host) == 5 &&
                start > 0 && pid == (int)getpid(),
            "this process is '%s'", self))
        return;
    owners_of_other_machines_are_told(boot, space, pid, start, host);
    ok(vbs_owner_is_alive(self, 1 << 30), "it is alive, however long it was silent");
    snprintf(changed, sizeof changed, "%s %s %d %llu", boot, space, pid, start + 1);
    ok(!vbs_owner_is_alive(changed, 0), "another process that had its id is not");
    snprintf(changed, sizeof changed, "x%s %s %d %llu", boot + 1, space, pid, start);
    ok(!vbs_owner_is_alive(changed, 0), "nor is any of another boot");
    snprintf(changed, sizeof changed, "%s pid:[1] %d %llu", boot, pid, start);
    ok(vbs_owner_is_alive(changed, 599) && !vbs_owner_is_alive(changed, 601),
       "one that cannot be seen from here is for ten minutes");
    snprintf(changed, sizeof changed, "x%s %s %d %llu elsewhere", boot + 1, space, pid, start);
    ok(vbs_owner_is_alive(changed, 599) && vbs_owner_is_alive(changed, -599),
       "one of another machine is for ten minutes, by either clock");
    ok(!vbs_owner_is_alive(changed, 601) && !vbs_owner_is_alive(changed, -601),
       "and not for longer, so that no wrong clock keeps a profile for ever");
    snprintf(changed, sizeof changed, "x%s %s %d %llu %s", boot + 1, space, pid, start, host);
    ok(!vbs_owner_is_alive(changed, 0), "one of this machine before it was started anew is not");
    snprintf(changed, sizeof changed, "%s %s %d %llu renamed", boot, space, pid, start);
    ok(vbs_owner_is_alive(changed, 1 << 30), "the name of a machine may change while it runs");
    ok(!vbs_owner_is_alive("", 0) && !vbs_owner_is_alive("a b c d", 0) &&
           !vbs_owner_is_alive("a b -1 1", 0),
       "what is no owner is not");
    child = fork();
    if (child == 0)
        pause();
    snprintf(changed, sizeof changed, "%s %s %d 0", boot, space, (int)child);
    ok(vbs_owner_is_alive(changed, 0), "a process whose start is unknown is alive");
    kill(child, SIGKILL);
    waitid(P_PID, (id_t)child, &(siginfo_t){0}, WEXITED | WNOWAIT);
    ok(!vbs_owner_is_alive(changed, 0), "a killed one is not, though nobody has waited for it");
    waitpid(child, &status, 0);
    ok(!vbs_owner_is_alive(changed, 0), "nor afterwards");
}

/* A run whose owner seems to be gone from here goes to another process, and the first one, which
 * still runs on a machine with another clock, stores nothing any more: no sample is lost or there
 * twice. */
static void a_run_of_another_machine_is_taken_over_once(const char *folder)
{
    char *path = path_in(folder, "machines.sqlite");
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *there = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store *here = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *far = NULL, *near = NULL;
    int64_t id = 0;

    ok(vbs_store_run_begin(&ctx, there, 5, &plain->session, &far) == VBS_OK &&
           feed(&ctx, far, 2, 200) == VBS_OK,
       "a machine measures");
    strcpy(far->owner, "boot pid:[1] 7 9 elsewhere");
    run_sql(path, "UPDATE profile SET owner = 'boot pid:[1] 7 9 elsewhere'");
    ok(vbs_store_run_begin(&ctx, here, 5, &plain->session, &near) == VBS_STORE &&
           strstr(ctx.detail, "unfinished work of another machine, 'elsewhere'"),
       "while its last sign is new, nothing is begun here: %s", ctx.detail);
    run_sql(path, "UPDATE profile SET touched = touched + 3600");
    ok(vbs_store_run_begin(&ctx, here, 5, &plain->session, &near) == VBS_OK &&
           vbs_store_run_resumed(near),
       "where the clocks differ by an hour, it takes over the samples");
    ok(feed(&ctx, far, 2, 200) == VBS_STORE, "the first one is refused: %s", ctx.detail);
    vbs_store_run_free(far);
    ok(feed(&ctx, near, 2, 1) == VBS_OK && vbs_store_run_finish(&ctx, near, NULL, &id) == VBS_OK &&
           id == 1,
       "the other one finishes");
    vbs_store_run_free(near);
    is_int(query(path, "SELECT count(*) FROM profile"), 1, "one profile");
    ok(query(path, "SELECT max(n_runs) FROM kernel") < 300, "without samples of both");
    vbs_store_close(here);
    vbs_store_close(there);
    plain_session_free(plain);
    free(path);
}

/* ---- calibrations ---- */

static void a_calibrated_copy_has_all_samples(const char *folder)
{
    static const double FACTORS[] = {3, 1, 1.25};
    static const struct vbs_calibration CALIBRATION = {
        .speed = {.flops_per_us = 1, .cache_bytes_per_us = 2, .memory_bytes_per_us = 3},
        .n_sources = 2,
        .sources = {{"disk", FACTORS}, {"tape", FACTORS}}};
    char *path = path_in(folder, "calibrated.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    struct vbs_profile *profile = NULL;
    int64_t id = 0, calibrated = 0, again = 0;

    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 8, 30) == VBS_OK && feed_copies(&ctx, run, 2) == VBS_OK &&
           vbs_store_calibrate(&ctx, store, 1, &CALIBRATION, &calibrated) == VBS_STORE,
       "an unfinished profile is not calibrated: %s", ctx.detail);
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && id == 1, "a measured profile");
    vbs_store_run_free(run);
    ok(vbs_store_calibrate(&ctx, store, id, &CALIBRATION, &calibrated) == VBS_OK && calibrated == 2,
       "its calibrated copy: %s", ctx.detail);
    ok(vbs_store_calibrate(&ctx, store, id, &CALIBRATION, &again) == VBS_OK && again == 2,
       "is made once");
    is_int(vbs_store_calibrate(&ctx, store, 99, &CALIBRATION, &again), VBS_NOT_FOUND,
           "of a profile that is there");
    if (ok(vbs_store_load(&ctx, store, calibrated, &profile) == VBS_OK, "it loads: %s", ctx.detail))
        ok(profile->speed.cache_bytes_per_us == 2 &&
               vbs_profile_copy(profile, "disk")->link.beside[0] == 3 &&
               vbs_profile_copy(profile, "disk")->link.beside[2] == 1.25 &&
               !vbs_profile_copy(profile, "page-cache")->link.beside,
           "with the figures");
    vbs_profile_free(profile);
    is_int(query(path, "SELECT (SELECT n_samples FROM profile WHERE id = 1) = "
                       "(SELECT n_samples FROM profile WHERE id = 2)"),
           1, "as many samples");
    is_int(query(path,
                 "SELECT count(*) FROM (SELECT length(samples) FROM packed_sample JOIN kernel "
                 "ON kernel.id = kernel WHERE profile = 2)"),
           query(path, "SELECT count(*) FROM kernel WHERE profile = 2"), "of every kernel");
    is_int(query(path, "SELECT count(*) FROM copy_sample JOIN copy ON copy = id WHERE profile = 2"),
           query(path, "SELECT count(*) FROM copy_sample JOIN copy ON copy = id WHERE profile = 1"),
           "and of copies");
    is_int(query(path, "SELECT count(DISTINCT network_hash) = 1 AND count(*) = 2 FROM profile"), 1,
           "of the same network");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

/* ---- complete profiles stay as they are ---- */

/* A migration that adds a column to a table makes its trigger anew where the trigger names columns.
 */
static void every_column_is_final(const char *path)
{
    sqlite3 *db = NULL;
    sqlite3_stmt *columns = NULL;
    int n_columns = 0, n_open = 0;

    sqlite3_open(path, &db);
    sqlite3_prepare_v2(
        db,
        "SELECT tables.name, columns.name FROM sqlite_schema AS tables, "
        "pragma_table_info(tables.name) AS columns WHERE tables.type = 'table' "
        "AND tables.name NOT LIKE 'sqlite_%' AND tables.name NOT IN ('tag', 'timing', "
        "'timing_row', 'timing_copy', 'study', 'trial', 'trial_value')",
        -1, &columns, NULL);
    for (; sqlite3_step(columns) == SQLITE_ROW; n_columns++) {
        const char *table = (const char *)sqlite3_column_text(columns, 0);
        const char *column = (const char *)sqlite3_column_text(columns, 1), *error;
        char sql[200];

        snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s", table, column, column);
        error = run_sql(path, sql);
        if (!error || strcmp(error, "a complete profile cannot be changed") != 0) {
            printf("# %s.%s: %s\n", table, column, error ? error : "no error");
            n_open++;
        }
    }
    ok(n_columns > 40 && n_open == 0, "none of %d columns can be changed", n_columns);
    sqlite3_finalize(columns);
    sqlite3_close(db);
}

static void complete_profiles_cannot_be_changed(const char *folder)
{
    static const char *const CHANGES[] = {
        "UPDATE profile SET device = 'better' WHERE id = 1",
        "UPDATE profile SET completed = NULL WHERE id = 1",
        "UPDATE layer SET out_bytes = 0 WHERE profile = 1",
        "UPDATE layer SET profile = 2 WHERE profile = 1",
        "UPDATE layer_input SET source = 0",
        "UPDATE kernel SET time_us = 0.5 WHERE profile = 1",
        "UPDATE packed_sample SET samples = zeroblob(12)",
        "DELETE FROM layer WHERE profile = 1",
        "DELETE FROM layer_input WHERE profile = 1",
        "DELETE FROM kernel WHERE profile = 1",
        "DELETE FROM packed_sample",
        "INSERT INTO layer VALUES (1, 9, '', '', 0, 0, 0, 0, 0, 0)",
        "INSERT INTO layer_input VALUES (1, 1, 9, 0, 1, 1, 0, 0)",
        "INSERT INTO kernel SELECT 99, 1, 99, 1, 9, 'x', 0, 0, 0, 0, 0, 0, 1, 0, 0, 0",
        "UPDATE copy SET time_us = 0.5",
        "UPDATE copy_sample SET time_us = 0.5",
        "DELETE FROM copy WHERE profile = 1",
        "DELETE FROM copy_sample",
        "INSERT INTO copy VALUES (99, 1, 99, 'tape', 1, 1, 0, 0, 0, 0)",
        "INSERT INTO copy_sample SELECT id, 99, 0.5 FROM copy WHERE profile = 1 LIMIT 1",
        "INSERT INTO sample SELECT id, 99, 0, 0.5 FROM kernel WHERE profile = 1 LIMIT 1",
        "INSERT OR REPLACE INTO sample SELECT id, 0, 0, 0.5 FROM kernel WHERE profile = 1 LIMIT 1",
        "INSERT OR REPLACE INTO packed_sample SELECT id, zeroblob(12) FROM kernel LIMIT 1",
        "UPDATE profile SET n_samples = 0",
        "UPDATE beside SET factor = 2",
        "DELETE FROM beside",
        "INSERT INTO beside VALUES (1, 'tape', 0, 1)",
        "UPDATE profile SET flops_per_us = 2",
    };
    static const double FACTORS[] = {3, 1, 1.25};
    static const struct vbs_calibration CALIBRATION = {
        .speed = {.flops_per_us = 1, .cache_bytes_per_us = 2, .memory_bytes_per_us = 3},
        .n_sources = 1,
        .sources = {{"disk", FACTORS}}};
    char *path = path_in(folder, "final.sqlite");
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    int64_t id;

    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 2, 3) == VBS_OK && feed_copies(&ctx, run, 2) == VBS_OK &&
           vbs_store_run_calibrate(&ctx, run, &CALIBRATION) == VBS_OK &&
           vbs_store_run_calibrate(&ctx, run, &CALIBRATION) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && id == 1,
       "a measured profile, calibrated twice");
    vbs_store_run_free(run);
    for (size_t i = 0; i < sizeof CHANGES / sizeof CHANGES[0]; i++) {
        const char *error = run_sql(path, CHANGES[i]);

        ok(error && strcmp(error, "a complete profile cannot be changed") == 0, "refused: %s",
           CHANGES[i]);
        if (!error || strcmp(error, "a complete profile cannot be changed") != 0)
            printf("#  got %s\n", error ? error : "no error");
    }
    ok(!run_sql_untriggered(path, "INSERT INTO sample SELECT id, 0, 0, 1 FROM kernel"),
       "samples as earlier versions kept them");
    every_column_is_final(path);
    ok(!run_sql(path, "DELETE FROM profile WHERE id = 1"), "it can be deleted as a whole");
    is_int(query(path, "SELECT (SELECT count(*) FROM layer) + (SELECT count(*) FROM layer_input) "
                       "+ (SELECT count(*) FROM kernel) + (SELECT count(*) FROM sample) "
                       "+ (SELECT count(*) FROM packed_sample) "
                       "+ (SELECT count(*) FROM copy) + (SELECT count(*) FROM copy_sample) "
                       "+ (SELECT count(*) FROM beside)"),
           0, "with all its rows");
    vbs_store_close(store);
    is_int(save_example(path, "next"), 2, "its id is not given again");
    plain_session_free(plain);
    free(path);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    unsigned long seed = getenv("SEED") ? strtoul(getenv("SEED"), NULL, 10) : 20170328;
    char *folder = temporary_folder();

    printf("# SEED=%lu\n", seed);
    gsl_rng_set(rng, seed);
    saved_profiles_come_back_to_the_bit(folder, rng);
    profiles_are_listed_newest_last(folder);
    a_beginning_can_be_interrupted(folder);
    a_finished_measurement_is_a_profile(folder);
    samples_of_a_profile_come_back(folder);
    a_session_that_makes_no_profile_is_refused_at_the_start(folder);
    samples_are_committed_after_20_ms_or_256(folder);
    a_broken_off_run_is_resumed_only_by_the_same_measurement(folder);
    a_run_whose_profile_was_taken_over_is_told(folder);
    a_run_that_died_while_it_finished_resumes(folder);
    owners_are_told_from_the_dead();
    a_run_of_another_machine_is_taken_over_once(folder);
    a_calibrated_copy_has_all_samples(folder);
    complete_profiles_cannot_be_changed(folder);
    remove_folder(folder);
    gsl_rng_free(rng);
    return done_testing();
}
