/*
 * Kernel times and studies of stores that are brought together. The reference is slow and clear: it
 * knows of each store which variant of each item it has, and takes unions and best variants of
 * these. Then what does not come over, what is damaged, and the networks of trials.
 */
#include "base/ctx.h"
#include "base/owner.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"
#include "support/trials.h"
#include "vbslab/trials.h"

#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- stores ---- */

__attribute__((format(printf, 2, 3))) static void sql(const char *path, const char *format, ...)
{
    char text[2000];
    const char *error;
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if ((error = run_sql(path, text)))
        printf("# %s: %s\n", error, text);
}

static void make_store(const char *path)
{
    struct vbs_ctx ctx = {0};

    vbs_store_close(open_store(&ctx, path, VBS_STORE_WRITE));
}

/* Merges, with the networks of trials in the folders PATH-studies. The caller frees the report,
 * which is null after a failure. */
static struct vbs_merge_report *merge(struct vbs_ctx *ctx, const char *into, const char *from)
{
    char networks[4096], from_networks[4096];
    const struct vbs_merge_options options = {
        .struct_size = sizeof options, .networks = networks, .from_networks = from_networks};
    struct vbs_store *store = open_store(ctx, into, VBS_STORE_WRITE);
    struct vbs_merge_report *report = NULL;
    enum vbs_status status;

    snprintf(networks, sizeof networks, "%s-studies", into);
    snprintf(from_networks, sizeof from_networks, "%s-studies", from);
    status = vbs_store_merge(ctx, store, from, &options, &report);
    vbs_store_close(store);
    ctx->status = status;
    return report;
}

/* Merges and forgets what was told. */
static void merge_only(const char *into, const char *from)
{
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report = merge(&ctx, into, from);

    if (!report)
        printf("# %s\n", ctx.detail);
    vbs_merge_report_free(report);
}

/* Merges, and gives the text of the only note, which must be of this kind; null: there is another
 * number of notes, or another kind. The text is valid until the next call. */
static const char *only_note(const char *into, const char *from, enum vbs_merge_note_kind kind)
{
    static char text[VBS_DETAIL_SIZE];
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report = merge(&ctx, into, from);
    bool good = report && report->n_notes == 1 && report->notes[0].kind == kind;

    text[0] = '\0';
    if (good)
        snprintf(text, sizeof text, "%s", report->notes[0].text);
    else
        for (int i = 0; report && i < report->n_notes; i++)
            printf("# %s\n", report->notes[i].text);
    vbs_merge_report_free(report);
    return good ? text : NULL;
}

/* ---- any order, against sets ---- */

#define N_STORES   3
#define N_TIMINGS  6
#define N_TRIALS   5
#define N_VARIANTS 6 /* of times, and of trials; -1: the store does not have the item */

/* What a store has. */
struct content {
    int timing[N_TIMINGS];
    int trial[N_TRIALS]; /* without gaps: behind a -1 all are -1 */
};

/* Variants of times: those of more runs are better, and two of each are equally good. */
static int timing_worth(int variant)
{
    return variant < 0 ? -1 : variant / 2;
}

/* Variants of trials: two that run, one that failed, one that is infeasible, two complete ones. */
static const char *const STATES[N_VARIANTS] = {"running",    "running",  "failed",
                                               "infeasible", "complete", "complete"};
static int trial_worth(int variant)
{
    static const int WORTH[N_VARIANTS] = {0, 1, 2, 3, 4, 4};

    return variant < 0 ? -1 : WORTH[variant];
}

static void write_timing(const char *path, int number, int variant, int day)
{
    sql(path,
        "INSERT INTO timing (geometry, batches, backend, library, device, vbslab, threads, date) "
        "VALUES (%d, '%s', 'onednn', 'l', 'd', 'v', %d, '2026-01-0%dT00:00:00Z');"
        "INSERT INTO timing_row VALUES (last_insert_rowid(), 0, 1, 'a', 8, NULL, 0, 0, %d, 0, 0, "
        "%d, %d, 0)",
        number / 2, number % 2 ? "1,2" : "1", number, day, variant, variant,
        10 * (timing_worth(variant) + 1));
    if (variant % 2)
        sql(path,
            "INSERT INTO timing_copy SELECT max(id), 0, 'disk', 4096, 2, 0, 1, 3, 0 FROM timing");
    else
        sql(path, "INSERT INTO timing_row SELECT max(id), 1, 2, 'b', 8, 16, 1, 4, 7, 0, 7, 7, 0, 0 "
                  "FROM timing");
}

static void make_study(const char *path, const char *name, const char *hash)
{
    sql(path,
        "INSERT INTO study (name, description, hash, vbslab, date) VALUES ('%s', '{}', '%s', "
        "'1.0', '2026-01-01T00:00:00Z')",
        name, hash);
}

/* Adds a trial to the last study; its result is the variant. */
static void write_trial(const char *path, int number, int variant, int day)
{
    const char *state = STATES[variant];
    bool runs = strcmp(state, "running") == 0;

    sql(path,
        "INSERT INTO trial (study, number, state, stage, seed, begun) SELECT max(id), %d, "
        "'running', '%s', %d, '2026-02-0%d' FROM study;"
        "INSERT INTO trial_value SELECT max(id), 'parameter', 'p', 0.25 FROM trial;"
        "INSERT INTO trial_value SELECT max(id), 'result', 'r', %d FROM trial;",
        number,
        !runs     ? ""
        : variant ? "train"
                  : "measure",
        number + 7, day, variant);
    if (!runs)
        sql(path,
            "UPDATE trial SET state = '%s', ended = '2026-03-0%d', spent_s = %d, training = 't%d' "
            "WHERE id = (SELECT max(id) FROM trial)",
            state, day, day, day);
}

static int below(unsigned long *seed, int n)
{
    *seed = *seed * 6364136223846793005UL + 1442695040888963407UL;
    return (int)((*seed >> 33) % (unsigned long)n);
}

static void make_random(const char *path, struct content *content, int day, unsigned long *seed)
{
    make_store(path);
    for (int i = 0; i < N_TIMINGS; i++) {
        content->timing[i] = below(seed, N_VARIANTS + 2) - 2;
        if (content->timing[i] < 0)
            content->timing[i] = -1;
        else
            write_timing(path, i, content->timing[i], day);
    }
    make_study(path, "s", "h");
    for (int i = 0; i < N_TRIALS; i++) {
        content->trial[i] = i > 0 && content->trial[i - 1] < 0 ? -1 : below(seed, N_VARIANTS);
        if (below(seed, 5) == 0)
            content->trial[i] = -1;
        if (content->trial[i] >= 0)
            write_trial(path, i, content->trial[i], day);
    }
}

/* Gives whether a merge of three stores may have this variant: one of those that are worth most. */
static bool may_have(int variant, const int variants[N_STORES], int (*worth)(int variant))
{
    bool has = false;
    int most = -1;

    for (int i = 0; i < N_STORES; i++) {
        most = worth(variants[i]) > most ? worth(variants[i]) : most;
        has = has || variants[i] == variant;
    }
    return has && worth(variant) == most;
}

/* Gives the variant of times, or of a trial, that a store has; -1: it has none. */
static int timing_of(const char *path, int number)
{
    char text[300];

    snprintf(text, sizeof text,
             "SELECT coalesce((SELECT time_us FROM timing JOIN timing_row ON timing = id WHERE "
             "number = 0 AND geometry = %d AND batches = '%s'), -1)",
             number / 2, number % 2 ? "1,2" : "1");
    return (int)query(path, text);
}

static int trial_of(const char *path, int number)
{
    char text[300];

    snprintf(text, sizeof text,
             "SELECT coalesce((SELECT value FROM trial JOIN trial_value ON trial = id WHERE "
             "name = 'r' AND number = %d), -1)",
             number);
    return (int)query(path, text);
}

static bool is_union(const char *path, const struct content content[N_STORES])
{
    bool good = true;

    for (int i = 0; i < N_TIMINGS; i++) {
        const int variants[N_STORES] = {content[0].timing[i], content[1].timing[i],
                                        content[2].timing[i]};

        good = good && may_have(timing_of(path, i), variants, timing_worth);
    }
    for (int i = 0; i < N_TRIALS; i++) {
        const int variants[N_STORES] = {content[0].trial[i], content[1].trial[i],
                                        content[2].trial[i]};

        good = good && may_have(trial_of(path, i), variants, trial_worth);
    }
    return good;
}

static int add_values(void *self, int n, char **values, char **names)
{
    FILE *text = self;

    (void)names;
    for (int i = 0; i < n; i++)
        fprintf(text, "%s|", values[i] ? values[i] : "null");
    fputc('\n', text);
    return 0;
}

/* Gives all that a store holds of times and studies, without ids. The caller frees it. */
static char *dump(const char *path)
{
    static const char *const QUERIES[] = {
        "SELECT geometry, batches, backend, library, device, vbslab, threads, date, number, batch, "
        "algorithm, ws_bytes, weight_bytes, form, parts, time_us, mad_us, low_us, high_us, n_runs "
        "FROM timing "
        "JOIN timing_row ON timing = id ORDER BY geometry, batches, number",
        "SELECT geometry, batches, number, source, bytes, time_us, mad_us, low_us, high_us, n_runs "
        "FROM timing JOIN timing_copy ON timing = id "
        "ORDER BY geometry, batches, number",
        "SELECT name, description, hash, vbslab, date FROM study ORDER BY name",
        "SELECT s.name, number, state, stage, seed, owner, touched, begun, ended, spent_s, reason, "
        "training, "
        "kind, v.name, value FROM study AS s JOIN trial AS t ON study = s.id JOIN trial_value AS v "
        "ON trial = t.id ORDER BY s.name, number, kind, v.name",
        "SELECT * FROM pragma_integrity_check",
        "SELECT * FROM pragma_foreign_key_check",
    };
    char *text = NULL;
    size_t length;
    FILE *stream = open_memstream(&text, &length);
    sqlite3 *db;

    sqlite3_open(path, &db);
    for (size_t i = 0; i < sizeof QUERIES / sizeof QUERIES[0]; i++)
        if (sqlite3_exec(db, QUERIES[i], add_values, stream, NULL) != SQLITE_OK)
            fprintf(stream, "%s\n", sqlite3_errmsg(db));
    sqlite3_close(db);
    fclose(stream);
    return text;
}

static bool is_dump(const char *path, const char *want)
{
    char *got = dump(path);
    bool same = strcmp(got, want) == 0;

    if (!same)
        printf("# got\n%s# want\n%s", got, want);
    free(got);
    return same;
}

static void copy_file(const char *from, const char *to)
{
    size_t length;
    char *data = read_text(from, &length);

    write_text(to, data, length);
    free(data);
}

/* Merges three stores in one order, into an empty store and into each other. */
static bool merge_in_order(char *paths[N_STORES], const int order[N_STORES], const char *folder,
                           char **want)
{
    char *into = path_in(folder, "into.sqlite"), *onto = path_in(folder, "onto.sqlite");
    char *nested = path_in(folder, "nested.sqlite");
    bool same;

    unlink(into);
    for (int k = 0; k < N_STORES; k++)
        merge_only(into, paths[order[k]]);
    if (!*want)
        *want = dump(into);
    same = is_dump(into, *want);
    merge_only(into, paths[order[0]]);
    same = same && is_dump(into, *want);
    copy_file(paths[order[0]], onto);
    merge_only(onto, paths[order[1]]);
    copy_file(paths[order[2]], nested);
    merge_only(nested, onto);
    same = same && is_dump(nested, *want);
    free(nested);
    free(onto);
    free(into);
    return same;
}

static void any_order_gives_the_union(const char *folder, unsigned long seed)
{
    static const int ORDERS[6][N_STORES] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                            {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct content content[N_STORES];
    char *paths[N_STORES], *want = NULL, *last = path_in(folder, "nested.sqlite");
    unsigned long state = seed;
    int n_same = 0;

    for (int i = 0; i < N_STORES; i++) {
        char name[20];

        snprintf(name, sizeof name, "%c.sqlite", 'a' + i);
        paths[i] = path_in(folder, name);
        make_random(paths[i], &content[i], i + 1, &state);
    }
    for (int i = 0; i < 6; i++)
        n_same += merge_in_order(paths, ORDERS[i], folder, &want);
    ok(n_same == 6, "seed %lu: each order of three stores, nested and repeated, gives one store",
       seed);
    ok(is_union(last, content), "... which is the union of the best");
    for (int i = 0; i < N_STORES; i++)
        free(paths[i]);
    free(last);
    free(want);
}

/* ---- differences ---- */

static void times_of_more_runs_win(const char *folder)
{
    char *few = path_in(folder, "few.sqlite"), *many = path_in(folder, "many.sqlite");
    const char *note;
    int64_t id;

    make_store(few);
    make_store(many);
    write_timing(few, 0, 1, 1);
    write_timing(few, 3, 1, 2);
    write_timing(many, 3, 4, 1);
    id = query(few, "SELECT max(id) FROM timing");
    note = only_note(few, many, VBS_MERGE_TIMES);
    ok(note && strstr(note, "geometry 0000000000000001, batches 1,2, onednn on 'd'") &&
           strstr(note, "30 runs against 10; those of the other store are kept"),
       "times of more runs replace others: %s", note);
    is_int(timing_of(few, 3), 4, "... they are there");
    is_int(query(few, "SELECT max(id) FROM timing"), id, "... under the id of the others");
    is_int(query(few, "SELECT count(*) FROM timing"), 2, "and nothing else has changed");
    ok(!only_note(few, many, VBS_MERGE_TIMES), "again, nothing is said");
    free(few);
    free(many);
}

static void another_study_of_a_name_stays(const char *folder)
{
    char *one = path_in(folder, "one.sqlite"), *two = path_in(folder, "two.sqlite"), *was;
    const char *note;

    make_store(one);
    make_store(two);
    make_study(one, "s", "abc");
    write_trial(one, 0, 4, 1);
    make_study(two, "s", "xyz");
    write_trial(two, 0, 5, 1);
    was = dump(one);
    note = only_note(one, two, VBS_MERGE_STUDY);
    ok(note && strstr(note, "study 's' stays in '"), "it is named: %s", note);
    ok(is_dump(one, was), "... and changes nothing");
    free(was);
    free(one);
    free(two);
}

static void trials_with_other_results_are_named(const char *folder)
{
    char *one = path_in(folder, "one.sqlite"), *two = path_in(folder, "two.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;
    const char *note;

    make_store(one);
    make_store(two);
    make_study(one, "s", "h");
    write_trial(one, 0, 2, 1);
    write_trial(one, 1, 1, 1);
    make_study(two, "s", "h");
    write_trial(two, 0, 4, 2);
    write_trial(two, 1, 4, 2);
    note = only_note(one, two, VBS_MERGE_TRIAL);
    ok(note && strstr(note, "trial 0 of study 's'") && strstr(note, "had p 0.25, seed 7"),
       "the trial that is replaced can be carried out again: %s", note);
    ok(trial_of(one, 0) == 4 && trial_of(one, 1) == 4,
       "a complete trial goes before a failed one and one that runs");
    report = merge(&ctx, one, two);
    ok(report && report->n_notes == 0 && report->n_trials == 2 && report->n_trials_added == 0 &&
           report->n_trials_improved == 0 && report->n_studies == 1,
       "again, nothing is done");
    vbs_merge_report_free(report);
    free(one);
    free(two);
}

/* ---- trials that run ---- */

static void own_trials(const char *path, int number)
{
    char owner[VBS_OWNER_SIZE];

    vbs_owner_self(owner);
    sql(path, "UPDATE trial SET owner = '%s', touched = %lld WHERE number = %d", owner,
        (long long)time(NULL), number);
}

static void a_trial_at_work_stays(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;

    make_store(from);
    make_study(from, "s", "h");
    for (int i = 0; i < 4; i++)
        write_trial(from, i, i == 1 ? 1 : 4, 1);
    own_trials(from, 1);
    report = merge(&ctx, into, from);
    ok(report && report->n_notes == 2 && report->notes[0].kind == VBS_MERGE_UNFINISHED &&
           strstr(report->notes[0].text, "works on trial 1 of study 's' in '") &&
           strstr(report->notes[1].text, "from 2 on, because trial 1 does") &&
           report->n_conflicts == 0,
       "a trial at work is named, and so are those behind it");
    vbs_merge_report_free(report);
    is_int(query(into, "SELECT count(*) FROM trial"), 1, "... and they stay");
    sql(from, "UPDATE trial SET owner = NULL, touched = NULL WHERE number = 1");
    merge_only(into, from);
    is_int(query(into, "SELECT count(*) FROM trial"), 4, "later they come");

    sql(from, "UPDATE trial SET state = 'failed', ended = 'x' WHERE number = 1");
    own_trials(into, 1);
    report = merge(&ctx, into, from);
    ok(report && report->n_notes == 1 && report->notes[0].kind == VBS_MERGE_UNFINISHED &&
           strstr(report->notes[0].text, "works on trial 1 of study 's' here"),
       "a trial on which a process works here is left alone");
    vbs_merge_report_free(report);
    is_int(query(into, "SELECT count(*) FROM trial WHERE owner NOTNULL"), 1,
           "... it has its owner");
    free(from);
    free(into);
}

static void a_trial_that_was_left_can_be_gone_on_with(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite");
    char *networks = path_in(folder, "into.sqlite-studies"), *checkpoint;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store;
    int64_t id = 0;

    make_store(from);
    make_study(from, "s", "h");
    write_trial(from, 0, 1, 1);
    sql(from, "UPDATE trial SET owner = 'a b 1 1', touched = 1");
    merge_only(into, from);
    store = open_store(&ctx, into, VBS_STORE_WRITE);
    ok(vbs_store_trial_claim(&ctx, store, 1, "train", &id) == VBS_OK && id == 1,
       "a trial whose process is gone waits here for another one");
    vbs_store_close(store);
    sql(into, "UPDATE trial SET owner = NULL, stage = 'measure'");
    mkdir(networks, 0777);
    free(networks);
    networks = path_in(folder, "into.sqlite-studies/s");
    mkdir(networks, 0777);
    checkpoint = path_in(networks, "trial-0000.checkpoint");
    write_text(checkpoint, "x", 1);
    merge_only(into, from);
    ok(query(into, "SELECT stage = 'train' FROM trial") == 1 && access(checkpoint, F_OK) != 0,
       "the trial that is further replaces another one, whose checkpoint goes");
    free(checkpoint);
    free(networks);
    free(from);
    free(into);
}

/* ---- networks ---- */

/* Gives trial number of a store a network with this content. */
static void give_network(const char *path, int number, const char *content)
{
    char folder[4096], file[4200];

    snprintf(folder, sizeof folder, "%s-studies", path);
    mkdir(folder, 0777);
    snprintf(folder, sizeof folder, "%s-studies/s", path);
    mkdir(folder, 0777);
    snprintf(file, sizeof file, "%s/trial-%04d.onnx", folder, number);
    write_text(file, content, strlen(content));
}

/* Adds a complete trial with a network. */
static void write_with_network(const char *path, int number, int variant, const char *content)
{
    char file[4200];

    write_trial(path, number, 1, 1);
    sql(path,
        "UPDATE trial_value SET value = %d WHERE name = 'r' AND trial = "
        "(SELECT max(id) FROM trial)",
        variant);
    snprintf(file, sizeof file, "%s-studies/s/trial-%04d.onnx", path, number);
    sql(path,
        "UPDATE trial SET file = '%s', state = 'complete', stage = '', ended = 'x' "
        "WHERE id = (SELECT max(id) FROM trial)",
        file);
    if (content)
        give_network(path, number, content);
}

/* Gives the content of the file of a trial, or null; the caller frees it. */
static char *network_of(const char *path, int number)
{
    char text[100], *content = NULL, *name = NULL;
    size_t length;
    sqlite3_stmt *stmt;
    sqlite3 *db;

    sqlite3_open(path, &db);
    snprintf(text, sizeof text, "SELECT file FROM trial WHERE number = %d", number);
    sqlite3_prepare_v2(db, text, -1, &stmt, NULL);
    if (sqlite3_step(stmt) == SQLITE_ROW) {
        name = strdup((const char *)sqlite3_column_text(stmt, 0));
        content = read_text(name, &length);
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    free(name);
    return content;
}

static void is_network(const char *path, int number, const char *want, const char *what)
{
    char *got = network_of(path, number);

    ok(got && strcmp(got, want) == 0, "%s", what);
    free(got);
}

static void networks_come_with_their_trials(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;
    const char *note;
    char *was;

    make_store(from);
    make_study(from, "s", "h");
    write_with_network(from, 0, 4, "zero");
    write_with_network(from, 1, 4, NULL);
    note = only_note(into, from, VBS_MERGE_NETWORK);
    ok(note && strstr(note, "trial 1 of study 's' came without its network"),
       "a network that is missing is named: %s", note);
    is_network(into, 0, "zero", "the other one is there");
    is_int(query(into, "SELECT count(*) FROM trial WHERE file LIKE "
                       "'/%into.sqlite-studies/s/trial-0000-________________.onnx'"),
           1, "... in the folder of this store");
    is_int(query(into, "SELECT count(*) FROM trial WHERE file = ''"), 1,
           "the trial without a network says so");
    was = dump(into);
    report = merge(&ctx, into, from);
    ok(report && report->n_networks == 0 && report->n_notes == 0, "again, nothing is copied");
    vbs_merge_report_free(report);
    give_network(from, 1, "one");
    report = merge(&ctx, into, from);
    ok(report && report->n_networks == 1 && report->n_conflicts == 0,
       "a network that has come back is copied later");
    vbs_merge_report_free(report);
    is_network(into, 1, "one", "... and is there");
    ok(is_dump(into, was), "all else is as before");
    free(was);
    free(from);
    free(into);
}

static void no_network_is_lost(const char *folder)
{
    char *paths[2] = {path_in(folder, "one.sqlite"), path_in(folder, "two.sqlite")};
    char *own = path_in(folder, "one.sqlite-studies/s/trial-0000.onnx"), *content;
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;
    size_t length;

    for (int i = 0; i < 2; i++) {
        make_store(paths[i]);
        make_study(paths[i], "s", "h");
        write_with_network(paths[i], 0, 4 + i, i ? "two" : "one");
    }
    report = merge(&ctx, paths[0], paths[1]);
    ok(report && report->n_conflicts == 1, "two networks of one trial are a conflict");
    content = read_text(own, &length);
    ok(content && strcmp(content, "one") == 0, "the network of this store stays where it is");
    is_network(paths[0], 0, trial_of(paths[0], 0) == 4 ? "one" : "two",
               "and the trial has the one that belongs to it");
    ok(report && (report->n_trials_improved == 0 || strstr(report->notes[0].text, own)),
       "if it is replaced, its network is named");
    vbs_merge_report_free(report);
    free(content);
    free(own);
    free(paths[0]);
    free(paths[1]);
}

static void a_network_that_cannot_be_written_ends_the_merge(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite"), *was;
    char *blocked = path_in(folder, "into.sqlite-studies");
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;

    make_store(from);
    write_timing(from, 0, 1, 1);
    make_study(from, "s", "h");
    write_with_network(from, 0, 4, "zero");
    make_store(into);
    was = dump(into);
    write_text(blocked, "no folder", 9);
    report = merge(&ctx, into, from);
    ok(!report && ctx.status == VBS_IO && strstr(ctx.detail, "cannot make folder"),
       "it says what: %s", ctx.detail);
    vbs_merge_report_free(report);
    ok(is_dump(into, was), "and nothing came over");
    free(was);
    free(blocked);
    free(from);
    free(into);
}

/* ---- damage ---- */

static void damaged_items_stay(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_merge_report *report;
    int n_damaged = 0;

    make_store(from);
    write_timing(from, 0, 1, 1);
    write_timing(from, 1, 1, 1);
    make_study(from, "a", "h");
    write_trial(from, 0, 4, 1);
    make_study(from, "../up", "h");
    write_trial(from, 0, 4, 1);
    sql(from, "PRAGMA ignore_check_constraints = 1;"
              "UPDATE timing_row SET time_us = -1 WHERE timing = 1;"
              "INSERT INTO trial (study, number, state, stage, seed, begun) "
              "VALUES (1, 1, 'flies', '', 1, '')");
    report = merge(&ctx, into, from);
    for (int i = 0; report && i < report->n_notes; i++)
        n_damaged += report->notes[i].kind == VBS_MERGE_DAMAGED;
    ok(report && report->n_damaged == 3 && n_damaged == 3 && report->n_timings_added == 1 &&
           report->n_trials_added == 1,
       "times, a trial and a study that cannot be are left out and named");
    vbs_merge_report_free(report);
    ok(query(into, "SELECT count(*) FROM timing") == 1 &&
           query(into, "SELECT count(*) FROM timing_row") == 1 &&
           query(into, "SELECT count(*) FROM study") == 1 &&
           query(into, "SELECT count(*) FROM trial") == 1,
       "nothing of them stays");
    free(from);
    free(into);
}

static void a_file_elsewhere_is_no_network(const char *folder)
{
    char *from = path_in(folder, "from.sqlite"), *into = path_in(folder, "into.sqlite");
    char *elsewhere = path_in(folder, "elsewhere");

    make_store(from);
    make_study(from, "s", "h");
    write_text(elsewhere, "secret", 6);
    write_trial(from, 0, 1, 1);
    sql(from, "UPDATE trial SET file = '%s', state = 'complete', ended = 'x'", elsewhere);
    ok(only_note(into, from, VBS_MERGE_NETWORK) != NULL,
       "a file that is not in the folder of the study is not copied");
    free(elsewhere);
    free(from);
    free(into);
}

/* A column that is added to these tables must be copied by src/store/merge/timings.c and
 * studies.c, too. */
static void all_columns_are_copied(const char *folder)
{
    static const struct {
        const char *table;
        int n_columns;
    } TABLES[] = {{"timing", 9}, {"timing_row", 14}, {"timing_copy", 9},
                  {"study", 6},  {"trial", 14},      {"trial_value", 4}};
    char *path = path_in(folder, "store.sqlite");

    make_store(path);
    for (size_t i = 0; i < sizeof TABLES / sizeof TABLES[0]; i++) {
        char text[100];

        snprintf(text, sizeof text, "SELECT count(*) FROM pragma_table_info('%s')",
                 TABLES[i].table);
        ok(query(path, text) == TABLES[i].n_columns, "a merge knows all columns of '%s'",
           TABLES[i].table);
    }
    free(path);
}

/* Runs a test in a folder of its own. */
static void in_folder(void (*test)(const char *folder))
{
    char *folder = temporary_folder();

    test(folder);
    remove_folder(folder);
}

int main(int argc, char **argv)
{
    struct trials trials = trials_of(argc, argv, 4, 1, "triples of stores");

    for (int i = 0; i < trials.n; i++) {
        char *folder = temporary_folder();

        any_order_gives_the_union(folder, trials.seed + (unsigned long)i);
        remove_folder(folder);
    }
    in_folder(times_of_more_runs_win);
    in_folder(another_study_of_a_name_stays);
    in_folder(trials_with_other_results_are_named);
    in_folder(a_trial_at_work_stays);
    in_folder(a_trial_that_was_left_can_be_gone_on_with);
    in_folder(networks_come_with_their_trials);
    in_folder(no_network_is_lost);
    in_folder(a_network_that_cannot_be_written_ends_the_merge);
    in_folder(damaged_items_stay);
    in_folder(a_file_elsewhere_is_no_network);
    in_folder(all_columns_are_copied);
    return done_testing();
}
