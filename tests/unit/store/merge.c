/*
 * Stores brought together: the same profiles, samples and tags come out in any order, differences
 * are settled and named, and a source is never changed.
 */
#include "base/ctx.h"
#include "base/owner.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- stores ---- */

/* Adds all columns of a row to a text. */
static int add_row(void *self, int n, char **values, char **names)
{
    FILE *text = self;

    (void)names;
    for (int i = 0; i < n; i++)
        fprintf(text, "%s|", values[i] ? values[i] : "null");
    fputc('\n', text);
    return 0;
}

/* Gives all that a store holds of complete profiles, without ids, in an order that does not depend
 * on how it came there. The caller frees it. */
static char *dump(const char *path)
{
    static const char *const QUERIES[] = {
        "SELECT hash, model, date, notes, threads, network_hash, kernels_hash, n_samples, "
        "samples_hash FROM profile WHERE completed NOTNULL ORDER BY hash",
        "SELECT hash, layer, batch, algorithm, k.time_us, k.mad_us, k.n_runs, hex(samples) "
        "FROM kernel AS k JOIN profile AS p ON profile = p.id LEFT JOIN packed_sample "
        "ON kernel = k.id WHERE completed NOTNULL ORDER BY hash, layer, batch, algorithm",
        "SELECT hash, source, bytes, c.time_us, s.number, s.time_us FROM copy AS c JOIN profile "
        "AS p ON profile = p.id LEFT JOIN copy_sample AS s ON copy = c.id "
        "WHERE completed NOTNULL ORDER BY hash, source, bytes, s.number",
        "SELECT tag, hash FROM tag JOIN profile ON profile = id ORDER BY tag",
        "SELECT count(*) FROM sample JOIN kernel AS k ON kernel = k.id JOIN profile AS p "
        "ON profile = p.id WHERE completed NOTNULL",
        "SELECT * FROM pragma_integrity_check",
        "SELECT * FROM pragma_foreign_key_check",
    };
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    sqlite3 *db;

    sqlite3_open(path, &db);
    for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++)
        if (sqlite3_exec(db, QUERIES[i], add_row, stream, NULL) != SQLITE_OK)
            fprintf(stream, "%s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
    fclose(stream);
    return text;
}

static void is_same_dump(const char *path, const char *want, const char *what)
{
    char *got = dump(path);

    if (!ok(strcmp(got, want) == 0, "%s", what))
        printf("# got\n%s# want\n%s", got, want);
    free(got);
}

static void copy_file(const char *from, const char *to)
{
    size_t length;
    char *data = read_text(from, &length);

    write_text(to, data, length);
    free(data);
}

/* Measures a profile of 2 layers and 2 batches, with n samples of each kernel. Gives its id. */
static int64_t measure(const char *path, const char *model, int n)
{
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    int64_t id = 0;

    plain->session.provenance.model = model;
    if (vbs_store_run_begin(&ctx, store, 9, &plain->session, &run) != VBS_OK ||
        feed(&ctx, run, 4, n) != VBS_OK || feed_copies(&ctx, run, n) != VBS_OK ||
        vbs_store_run_finish(&ctx, run, NULL, &id) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    return id;
}

/* Imports profile id of another store, as by a CSV file: without its samples. */
static int64_t import(const char *path, const char *from, int64_t id)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *source = open_store(&ctx, from, VBS_STORE_READ);
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile *profile = NULL;
    int64_t imported = 0;

    if (vbs_store_load(&ctx, source, id, &profile) != VBS_OK ||
        vbs_store_save(&ctx, store, profile, &imported) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_profile_free(profile);
    vbs_store_close(source);
    vbs_store_close(store);
    return imported;
}

static void tag(const char *path, int64_t id, const char *name)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);

    if (vbs_store_tag(&ctx, store, id, name) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_close(store);
}

/* Merges one store into another; the caller frees the report, which is null after a failure. */
static struct vbs_merge_report *merge_with(struct vbs_ctx *ctx, const char *into, const char *from,
                                           const struct vbs_merge_options *options)
{
    struct vbs_store *store = open_store(ctx, into, VBS_STORE_WRITE);
    struct vbs_merge_report *report = NULL;
    enum vbs_status status = vbs_store_merge(ctx, store, from, options, &report);

    vbs_store_close(store);
    ctx->status = status;
    return report;
}

static struct vbs_merge_report *merge(const char *into, const char *from)
{
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report = merge_with(&ctx, into, from, NULL);

    if (!report)
        printf("# %s\n", ctx.detail);
    return report;
}

/* Merges, and gives how many notes of a kind there were. */
static int merge_noted(const char *into, const char *from, enum vbs_merge_note_kind kind)
{
    struct vbs_merge_report *report = merge(into, from);
    int n = 0;

    for (int i = 0; report && i < report->n_notes; i++)
        n += report->notes[i].kind == kind;
    vbs_merge_report_free(report);
    return n;
}

/* Gives other samples of equal number to the kernels of profile id, as if it had been tampered
 * with; its medians stay. */
static void alter_samples(const char *path, int64_t id)
{
    char sql[400];
    const char *error;

    snprintf(
        sql, sizeof sql,
        "UPDATE packed_sample SET samples = CAST(substr(samples, 13) || substr(samples, 1, 12) "
        "AS BLOB) "
        "WHERE kernel IN (SELECT id FROM kernel WHERE profile = %d);"
        "UPDATE profile SET n_samples = NULL, samples_hash = NULL WHERE id = %d",
        (int)id, (int)id);
    if ((error = run_sql_untriggered(path, sql)))
        printf("# %s\n", error);
}

/* Three stores that share profiles and tags, and disagree on some. */
static void make_three(const char *folder, char *paths[3])
{
    int64_t x, w, id;

    for (int i = 0; i < 3; i++) {
        char name[20];

        snprintf(name, sizeof name, "%c.sqlite", 'a' + i);
        paths[i] = path_in(folder, name);
    }
    x = measure(paths[0], "x", 5);
    tag(paths[0], x, "best");
    tag(paths[0], x, "one");
    w = measure(paths[0], "w", 3);
    tag(paths[0], w, "same");

    id = import(paths[1], paths[0], x);
    tag(paths[1], id, "one");
    tag(paths[1], save_example(paths[1], "late"), "best");
    save_example(paths[1], "only here");

    copy_file(paths[0], paths[2]);
    alter_samples(paths[2], w);
    tag(paths[2], measure(paths[2], "z", 2), "best");
    tag(paths[2], import(paths[2], paths[1], 2), "later");
    run_sql(paths[2], "DELETE FROM profile WHERE model = 'x'");
}

/* ---- orders ---- */

static void any_order_gives_the_same(const char *folder)
{
    static const int ORDERS[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    char *paths[3], *into = path_in(folder, "into.sqlite"), *want = NULL;
    char *onto = path_in(folder, "onto.sqlite"), *nested = path_in(folder, "nested.sqlite");

    make_three(folder, paths);
    for (int i = 0; i < 6; i++) {
        char what[80];

        unlink(into);
        for (int k = 0; k < 3; k++)
            vbs_merge_report_free(merge(into, paths[ORDERS[i][k]]));
        want = want ? want : dump(into);
        snprintf(what, sizeof what, "into an empty store: %c, %c, %c", 'a' + ORDERS[i][0],
                 'a' + ORDERS[i][1], 'a' + ORDERS[i][2]);
        is_same_dump(into, want, what);
        for (int k = 2; k >= 0; k--)
            vbs_merge_report_free(merge(into, paths[ORDERS[i][k]]));
        is_same_dump(into, want, "and once more, which changes nothing");

        copy_file(paths[ORDERS[i][0]], onto);
        vbs_merge_report_free(merge(onto, paths[ORDERS[i][1]]));
        copy_file(paths[ORDERS[i][2]], nested);
        vbs_merge_report_free(merge(nested, onto));
        is_same_dump(nested, want, "into one of them, the other two merged before");
    }
    is_int(query(into, "SELECT count(*) FROM profile"), 5, "all profiles are there once");
    is_int(query(into,
                 "SELECT length(samples) / 12 FROM packed_sample JOIN kernel AS k ON kernel = k.id "
                 "JOIN profile AS p ON profile = p.id WHERE model = 'x'"),
           5, "with the samples of the store that had them");
    is_int(query(into, "SELECT count(*) FROM tag"), 4, "and all tags");
    for (int i = 0; i < 3; i++)
        free(paths[i]);
    free(want);
    free(into);
    free(onto);
    free(nested);
}

/* ---- differences ---- */

static void samples_win(const char *folder)
{
    char *with = path_in(folder, "with.sqlite"), *without = path_in(folder, "without.sqlite");
    char *want, *was;
    struct vbs_merge_report *report;
    int64_t id = measure(with, "m", 4), own;

    save_example(without, "first");
    own = import(without, with, id);
    tag(without, own, "kept");
    tag(without, own, "too");
    was = dump(with);
    report = merge(with, without);
    ok(report && report->n_profiles == 2 && report->n_added == 1 && report->n_improved == 0 &&
           report->n_samples == 0 && report->n_tags == 2 && report->n_conflicts == 0,
       "a profile without samples adds nothing to one with samples");
    vbs_merge_report_free(report);
    ok(query(with, "SELECT sum(n_samples) FROM profile") == 4 * 4 + 3 * 4, "which keeps them");
    want = dump(with);
    report = merge(without, with);
    ok(report && report->n_profiles == 2 && report->n_added == 0 && report->n_improved == 1 &&
           report->n_samples == 28 && report->n_conflicts == 0,
       "a profile with samples gives them to one without");
    vbs_merge_report_free(report);
    is_same_dump(without, want, "so that both stores are the same");
    is_int(query(without, "SELECT profile FROM tag WHERE tag = 'kept'"), own,
           "it keeps its id and tags");
    is_int(query(without, "SELECT completed FROM profile WHERE model = 'm'"), 2, "and its place");
    free(was);
    free(want);
    free(with);
    free(without);
}

static void other_samples_are_named(const char *folder)
{
    char *one = path_in(folder, "one.sqlite"), *other = path_in(folder, "other.sqlite");
    char *both = path_in(folder, "both.sqlite");

    measure(one, "m", 4);
    copy_file(one, other);
    alter_samples(other, 1);
    copy_file(one, both);
    is_int(merge_noted(both, other, VBS_MERGE_SAMPLES), 1, "other samples are a conflict");
    is_int(merge_noted(other, one, VBS_MERGE_SAMPLES), 1, "in the other direction too");
    free(one);
    free(other);
    free(both);
}

static void a_tag_goes_to_the_profile_measured_last(const char *folder)
{
    static const char CSV[] =
        "# model: %s\n# date: %s\nlayer,name,kind,inputs,batch,algorithm,time_us,in_bytes,"
        "out_bytes,ws_bytes,weight_bytes,in_place\n1,L1,conv,0,1,default,%d,1,1,1,9,0\n";
    char *paths[2] = {path_in(folder, "early.sqlite"), path_in(folder, "late.sqlite")};
    struct vbs_merge_report *report;

    for (int i = 0; i < 2; i++) {
        struct vbs_ctx ctx = {0};
        struct vbs_store *store = open_store(&ctx, paths[i], VBS_STORE_WRITE);
        struct vbs_profile *profile = NULL;
        char text[600];
        int64_t id;

        snprintf(text, sizeof text, CSV, i ? "late" : "early",
                 i ? "2026-05-01T00:00:00Z" : "2026-04-01T00:00:00Z", i);
        ok(vbs_profile_parse_csv(&ctx, "csv", text, strlen(text), &profile) == VBS_OK &&
               vbs_store_save(&ctx, store, profile, &id) == VBS_OK &&
               vbs_store_tag(&ctx, store, id, "mine") == VBS_OK,
           "a profile with a tag");
        vbs_profile_free(profile);
        vbs_store_close(store);
    }
    report = merge(paths[0], paths[1]);
    if (ok(report && report->n_notes == 1 && report->n_conflicts == 1 && report->n_tags == 1 &&
               report->notes[0].kind == VBS_MERGE_TAG,
           "one conflict")) {
        is_str(report->notes[0].name, "mine", "is that of the tag");
        is_str(vbs_merge_note_word(report->notes[0].kind), "tag", "as its word says");
        ok(strstr(report->notes[0].text, "it names now"), "it moves: %s", report->notes[0].text);
    }
    vbs_merge_report_free(report);
    is_int(query(paths[0], "SELECT model = 'late' FROM tag JOIN profile ON profile = id"), 1,
           "to the profile measured last");
    is_int(merge_noted(paths[1], paths[0], VBS_MERGE_TAG), 0, "the other way it stays");
    run_sql_untriggered(paths[1], "INSERT INTO tag VALUES ('no tag', 1), ('file.csv', 1)");
    is_int(merge_noted(paths[0], paths[1], VBS_MERGE_TAG), 2, "what is no tag is left out");
    is_int(query(paths[0], "SELECT count(*) FROM tag"), 1, "and noted");
    free(paths[0]);
    free(paths[1]);
}

static void one_provenance_with_two_contents_is_named(const char *folder)
{
    char *one = path_in(folder, "node-1.sqlite"), *two = path_in(folder, "node-2.sqlite");

    measure(one, "m", 4);
    copy_file(one, two);
    run_sql_untriggered(two, "UPDATE kernel SET time_us = time_us + 1, high_us = high_us + 1;"
                             "UPDATE profile SET hash = NULL");
    is_int(merge_noted(one, two, VBS_MERGE_PROVENANCE), 1, "it is a conflict");
    is_int(query(one, "SELECT count(*) FROM profile"), 2, "and both are kept");
    is_int(merge_noted(one, two, VBS_MERGE_PROVENANCE), 0, "which is said once");
    free(one);
    free(two);
}

/* ---- what is left behind ---- */

static void unfinished_measurements_stay(const char *folder)
{
    char *path = path_in(folder, "unfinished.sqlite"), *into = path_in(folder, "none.sqlite");
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store;
    struct vbs_store_run *run = NULL;
    struct vbs_merge_report *report;

    measure(path, "done", 2);
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 2, 200) == VBS_OK,
       "a source into which this process measures");
    report = merge(into, path);
    ok(report && report->n_added == 1 && report->n_unfinished == 1 && report->n_conflicts == 0 &&
           report->n_notes == 1 && strstr(report->notes[0].text, "is being measured"),
       "its complete profile comes over, the other one is named");
    vbs_merge_report_free(report);
    ok(feed(&ctx, run, 2, 200) == VBS_OK, "measuring goes on");
    vbs_store_run_free(run);
    vbs_store_close(store);
    report = merge(into, path);
    ok(report && report->n_added == 0 && report->n_unfinished == 1 &&
           strstr(report->notes[0].text, "is unfinished"),
       "when it has been given up, it stays too");
    vbs_merge_report_free(report);
    is_int(query(into, "SELECT count(*) FROM profile"), 1, "nothing of it is copied");
    plain_session_free(plain);
    free(path);
    free(into);
}

static void damaged_profiles_stay(const char *folder)
{
    static const char *const DAMAGES[] = {
        "UPDATE packed_sample SET samples = x'00000000000000000000f0ff' WHERE kernel = 2",
        "UPDATE packed_sample SET samples = x'ffffffff0000000000000000' WHERE kernel = 1",
        "UPDATE kernel SET time_us = NULL WHERE id = 2",
        ("UPDATE layer_input SET source = 0 WHERE profile = 1; "
         "DELETE FROM layer WHERE layer = 1 AND profile = 1"),
    };
    char *path = path_in(folder, "sound.sqlite"), *into = path_in(folder, "sound-too.sqlite");
    char *damaged = path_in(folder, "damaged.sqlite");

    measure(path, "m", 2);
    save_example(path, "sound");
    for (size_t i = 0; i < sizeof DAMAGES / sizeof DAMAGES[0]; i++) {
        struct vbs_merge_report *report;
        char sql[400];

        unlink(into);
        copy_file(path, damaged);
        snprintf(sql, sizeof sql, "%s; UPDATE profile SET n_samples = NULL, samples_hash = NULL",
                 DAMAGES[i]);
        run_sql_untriggered(damaged, sql);
        report = merge(into, damaged);
        ok(report && report->n_added == 1 && report->n_damaged == 1 && report->n_profiles == 1 &&
               report->n_samples == 0,
           "a damaged profile stays, the other one comes over");
        if (report && report->n_notes == 1)
            printf("# %s\n", report->notes[0].text);
        vbs_merge_report_free(report);
        is_int(query(into, "SELECT count(*) FROM profile"), 1, "nothing is left of it");
        is_int(query(into, "SELECT count(*) FROM kernel WHERE profile <> (SELECT id FROM profile)"),
               0, "nor of its rows");
    }
    free(path);
    free(into);
    free(damaged);
}

/* ---- sources ---- */

static void has_refused(const char *into, const char *from, const char *why)
{
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report = merge_with(&ctx, into, from, NULL);

    ok(!report && ctx.status == VBS_STORE && strstr(ctx.detail, why), "refused: %s", ctx.detail);
    vbs_merge_report_free(report);
}

static void other_files_are_refused(const char *folder)
{
    char *path = path_in(folder, "good.sqlite"), *into = path_in(folder, "unharmed.sqlite");
    char *bad = path_in(folder, "bad.sqlite"), *want;
    size_t length;
    char *data;

    for (int i = 0; i < 40; i++)
        save_example(path, "some");
    measure(into, "own", 2);
    want = dump(into);
    has_refused(into, bad, "No such file");
    write_text(bad, "", 0);
    has_refused(into, bad, "is empty");
    write_text(bad, "layer,name,kind\n", 16);
    has_refused(into, bad, "no SQLite database");
    unlink(bad);
    run_sql(bad, "CREATE TABLE t (x); PRAGMA application_id = 7");
    has_refused(into, bad, "another program");
    unlink(bad);
    copy_file(path, bad);
    run_sql(bad, "PRAGMA user_version = 99");
    has_refused(into, bad, "use the newer vbslab");
    data = read_text(path, &length);
    write_text(bad, data, length / 2);
    has_refused(into, bad, "damaged");
    memset(data + length / 2, 0x55, length / 2);
    write_text(bad, data, length);
    has_refused(into, bad, "damaged");
    is_same_dump(into, want, "nothing of any came over");
    free(data);
    free(want);
    free(path);
    free(bad);
    free(into);
}

static void the_store_itself_is_no_source(const char *folder)
{
    char *path = path_in(folder, "self.sqlite"), *link_path = path_in(folder, "link.sqlite");
    char *hard = path_in(folder, "hard.sqlite");
    const char *const names[] = {path, link_path, hard};

    measure(path, "m", 2);
    ok(symlink(path, link_path) == 0 && link(path, hard) == 0, "other names of a store");
    for (int i = 0; i < 3; i++) {
        struct vbs_merge_report *report = merge(path, names[i]);

        ok(report && report->same_file && report->n_profiles == 0, "nothing is done");
        vbs_merge_report_free(report);
    }
    free(path);
    free(link_path);
    free(hard);
}

/* Merges a store that is checked to stay as it is to the byte, and to get no files beside it. */
static void merges_unchanged(const char *into, const char *from, int64_t n, const char *what)
{
    size_t length, length_after;
    char *before = read_text(from, &length), *after;
    struct vbs_merge_report *report = merge(into, from);
    char beside[4096];

    ok(report && report->n_added == n, "%s", what);
    vbs_merge_report_free(report);
    after = read_text(from, &length_after);
    ok(length == length_after && memcmp(before, after, length) == 0, "the source stays as it is");
    snprintf(beside, sizeof beside, "%s-wal", from);
    ok(access(beside, F_OK) != 0, "without files beside it");
    free(before);
    free(after);
}

static void sources_of_earlier_versions_stay_as_they_are(const char *folder)
{
    char *path = path_in(folder, "earlier.sqlite"), *into = path_in(folder, "newer.sqlite");
    char *want, *now = path_in(folder, "now.sqlite");

    measure(path, "m", 3);
    tag(path, save_example(path, "other"), "tagged");
    merges_unchanged(now, path, 2, "a store of this version");
    want = dump(now);
    /* The rows that version 4 had in place of the packed samples. */
    ok(!run_sql_untriggered(
           path, "WITH n (i) AS (SELECT 0 UNION SELECT 1 UNION SELECT 2) INSERT INTO sample "
                 "SELECT kernel, i, i, 100 + (SELECT number FROM kernel AS k WHERE k.id = p.kernel)"
                 " + i / 16.0 FROM packed_sample AS p, n") &&
           !make_earlier(path, 4) && query(path, "PRAGMA user_version") == 4,
       "a store of version 4");
    merges_unchanged(into, path, 2, "comes over with its samples");
    is_same_dump(into, want, "as if this version had written it");
    is_int(query(path, "PRAGMA user_version"), 4, "and is still of version 4");
    unlink(into);
    ok(!make_earlier(path, 3), "a store of version 3");
    merges_unchanged(into, path, 2, "comes over too");
    is_int(query(path, "PRAGMA user_version"), 3, "and is still of version 3");
    free(want);
    free(now);
    free(path);
    free(into);
}

static void a_log_that_was_left_stays(const char *folder)
{
    char *path = path_in(folder, "killed.sqlite"), *into = path_in(folder, "from-log.sqlite");
    char *log = path_in(folder, "killed.sqlite-wal");
    size_t length, length_after;
    char *before, *after;

    fflush(stdout);
    if (fork() == 0) {
        struct vbs_ctx ctx = {0};
        struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
        struct vbs_profile *profile = example("logged");
        int64_t id;

        _exit(vbs_store_save(&ctx, store, profile, &id) != VBS_OK);
    }
    wait(NULL);
    before = read_text(log, &length);
    if (ok(before && length > 0, "a process ended without merging its log")) {
        vbs_merge_report_free(merge(into, path));
        is_int(query(into, "SELECT count(*) FROM profile WHERE model = 'logged'"), 1,
               "what is in the log comes over");
        after = read_text(log, &length_after);
        ok(after && length == length_after && memcmp(before, after, length) == 0,
           "the log stays as it is");
        free(after);
    }
    free(before);
    free(path);
    free(into);
    free(log);
}

/* ---- ends ---- */

static void cancel(void *self, double done, double left_s, const char *text)
{
    (void)left_s;
    (void)text;
    if (done >= 0.5)
        *(volatile sig_atomic_t *)self = 1;
}

static void an_interrupted_merge_did_nothing(const char *folder)
{
    char *path = path_in(folder, "much.sqlite"), *into = path_in(folder, "before.sqlite"), *want;
    struct vbs_ctx ctx = {0};
    volatile sig_atomic_t stop = 0;
    sig_atomic_t *stopper = (sig_atomic_t *)(uintptr_t)&stop;
    struct vbs_merge_options options = {.struct_size = sizeof options,
                                        .progress = {.self = stopper, .report = cancel}};
    struct vbs_merge_report *report;

    for (int i = 0; i < 6; i++)
        save_example(path, "some");
    measure(into, "own", 2);
    want = dump(into);
    vbs_ctx_set_cancel(&ctx, &stop);
    report = merge_with(&ctx, into, path, &options);
    ok(!report && ctx.status == VBS_INTERRUPTED, "it ends: %s", ctx.detail);
    is_same_dump(into, want, "nothing was copied");
    free(want);
    free(path);
    free(into);
}

static void processes_merge_at_once(const char *folder)
{
    char *paths[3], *into = path_in(folder, "at-once.sqlite");
    char *by_turns = path_in(folder, "by-turns.sqlite"), *want;
    int n_good = 0;

    make_three(folder, paths);
    for (int i = 0; i < 3; i++)
        vbs_merge_report_free(merge(by_turns, paths[i]));
    want = dump(by_turns);
    fflush(stdout);
    for (int i = 0; i < 6; i++)
        if (fork() == 0) {
            struct vbs_merge_report *report = merge(into, paths[i % 3]);

            _exit(report ? 0 : 1);
        }
    for (int i = 0, status; i < 6; i++)
        n_good += wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    is_int(n_good, 6, "six processes merge three stores into a new one");
    is_same_dump(into, want, "as if one had done so");
    for (int i = 0; i < 3; i++)
        free(paths[i]);
    free(want);
    free(into);
    free(by_turns);
}

/* Runs a test in a folder of its own. */
static void in_folder(void (*test)(const char *folder))
{
    char *folder = temporary_folder();

    test(folder);
    remove_folder(folder);
}

int main(void)
{
    in_folder(any_order_gives_the_same);
    in_folder(samples_win);
    in_folder(other_samples_are_named);
    in_folder(a_tag_goes_to_the_profile_measured_last);
    in_folder(one_provenance_with_two_contents_is_named);
    in_folder(unfinished_measurements_stay);
    in_folder(damaged_profiles_stay);
    in_folder(other_files_are_refused);
    in_folder(the_store_itself_is_no_source);
    in_folder(sources_of_earlier_versions_stay_as_they_are);
    in_folder(a_log_that_was_left_stays);
    in_folder(an_interrupted_merge_did_nothing);
    in_folder(processes_merge_at_once);
    return done_testing();
}
