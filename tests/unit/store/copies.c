/*
 * Packed weights and copies in the store: stores of version 1, which lack them, and measurements
 * that were interrupted.
 */
#include "support/profile_help.h"
#include "store/schema.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- version 1 ---- */

/* Makes a store as version 1 wrote it: a profile whose layer 1 has kernels of 10, 30, 20 and again
 * 30 bytes of weights, and an imported one without them. */
static char *version_1(const char *folder, const char *name)
{
    static const char ROWS[] =
        "INSERT INTO profile VALUES (1, 'old', '', '', '', '', '', '', '', 0, 1, 1, NULL, NULL, "
        "NULL), (2, 'imported', '', '', '', '', '', '', '', 0, NULL, NULL, NULL, NULL, NULL);"
        "INSERT INTO layer VALUES (1, 1, 'L1', 'conv', 1, 1, 10, 0), (1, 2, 'L2', 'relu', 1, 1, 0, "
        "0), (2, 1, 'L1', 'conv', 1, 1, 10, 0);"
        "INSERT INTO layer_input VALUES (1, 1, 0, 0), (1, 2, 0, 1), (2, 1, 0, 0);"
        "INSERT INTO kernel VALUES (1, 1, 0, 1, 1, 'a', 5, 10, 4, 0, 4, 4, 3),"
        "(2, 1, 1, 1, 1, 'b', 5, 30, 3, 0, 3, 3, 3), (3, 1, 2, 1, 2, 'a', 5, 20, 7, 0, 7, 7, 3),"
        "(4, 1, 3, 1, 2, 'b', 5, 30, 5, 0, 5, 5, 3), (5, 1, 4, 2, 1, 'a', 0, 0, 1, 0, 1, 1, 3),"
        "(6, 1, 5, 2, 2, 'a', 0, 0, 2, 0, 2, 2, 3), (7, 2, 0, 1, 1, 'a', 5, NULL, 4, 0, 0, 0, 0);"
        "INSERT INTO sample VALUES (1, 0, 0, 4), (1, 1, 1, 4), (1, 2, 2, 4);"
        "UPDATE profile SET completed = id";
    char *path = path_in(folder, name);

    for (const struct vbs_embedded *script = vbs_schema; script->name; script++)
        if (strcmp(script->name, "schema") == 0) {
            const char *error = run_sql(path, script->text);

            error = error ? error : run_sql(path, ROWS);
            if (error)
                printf("# %s\n", error);
        }
    ok(query(path, "PRAGMA user_version") == 1 && query(path, "SELECT count(*) FROM kernel") == 7,
       "a store of version 1");
    return path;
}

static bool has_row(const struct vbs_profile *profile, int batch_index, int index, const char *name,
                    int64_t weight_bytes, int format)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, 1, batch_index, &n_rows);

    return index < n_rows && strcmp(profile->algorithms[rows[index].algorithm], name) == 0 &&
           rows[index].weight_bytes == weight_bytes && rows[index].format == format;
}

static bool has_slices(const struct vbs_profile *profile, int index, int n_slices)
{
    int n_rows;
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, 1, 0, &n_rows);

    return index < n_rows && rows[index].n_slices == n_slices;
}

static void old_profiles_load_with_a_format_for_each_size(const char *folder,
                                                          enum vbs_store_mode mode)
{
    char *path = version_1(folder, mode == VBS_STORE_READ ? "read.sqlite" : "write.sqlite");
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, mode);
    int n_rows;

    if (!ok(store && vbs_store_load(&ctx, store, 1, &profile) == VBS_OK, "it is brought up: %s",
            ctx.detail))
        return;
    is_int(query(path, "PRAGMA user_version"), newest_version(), "to the newest version");
    ok(has_row(profile, 0, 0, "a", 10, 0) && has_row(profile, 0, 1, "b", 30, 2) &&
           has_row(profile, 1, 0, "a", 20, 1) && has_row(profile, 1, 1, "b", 30, 2),
       "each size of packed weights is a packed weight format, ascending");
    is_int(vbs_profile_rows(profile, 2, 0, &n_rows)->format, 0,
           "packed weight format 0 without weights");
    is_int(profile->layers[1].channels, 0, "channels are not known");
    is_int(query(path, "SELECT sum(parts <> 0) FROM kernel"), 0, "nor in how many slices they run");
    is_int(profile->n_copies, 0, "nor are copies");
    vbs_profile_free(profile);
    if (ok(vbs_store_load(&ctx, store, 2, &profile) == VBS_OK, "an imported profile"))
        ok(has_row(profile, 0, 0, "a", 10, 0), "has the weights of the layer");
    vbs_profile_free(profile);
    vbs_store_close(store);
    ok(run_sql(path, "UPDATE kernel SET form = 0") && run_sql(path, "DELETE FROM sample"),
       "complete profiles stay final");
    is_int(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0, "no dangling rows");
    free(path);
}

static void many_sizes_end_in_one_format(const char *folder)
{
    char *path = version_1(folder, "many.sqlite");
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store;

    run_sql(path, "UPDATE profile SET completed = NULL");
    run_sql(path, "DELETE FROM profile WHERE id = 1");
    ok(!run_sql(path, "DROP TRIGGER kernel_insert_is_final;"
                      "WITH RECURSIVE n(x) AS (SELECT 1 UNION SELECT x + 1 FROM n WHERE x < 100)"
                      "INSERT INTO kernel SELECT 100 + x, 2, x, 1, 1, 'a' || x, 0, 1000 + x, 1, 0, "
                      "0, 0, 0 FROM n"),
       "a layer of 100 sizes");
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    if (ok(store && vbs_store_load(&ctx, store, 2, &profile) == VBS_OK, "loads: %s", ctx.detail))
        ok(has_row(profile, 0, 1, "a1", 1001, 1) && has_row(profile, 0, 2, "a10", 1010, 10) &&
               has_row(profile, 0, 3, "a100", 1100, 63) && has_row(profile, 0, 99, "a98", 1100, 63),
           "the 64th packed weight format stands for the rest and takes the largest");
    vbs_profile_free(profile);
    vbs_store_close(store);
    free(path);
}

static void an_old_store_that_cannot_be_written_is_refused(const char *folder)
{
    char *path = version_1(folder, "read-only.sqlite");
    struct vbs_ctx ctx;

    if (geteuid() == 0) {
        skip("an old store on a read-only medium", "root may write anywhere");
    } else {
        chmod(path, 0400);
        ok(try_open(&ctx, path, VBS_STORE_READ) == VBS_STORE &&
               strstr(ctx.detail, "is of version 1 and must be brought to version 3"),
           "an old store that cannot be written: %s", ctx.detail);
    }
    free(path);
}

/* ---- a measurement ---- */

/* Makes a session with kernels of two formats, never divided or measured in 4 slices, and a layer
 * of 96 channels. */
static struct plain_session *packed_session(void)
{
    struct plain_session *plain = plain_session_new(2, 2, 2);

    for (int i = 0; i < plain->session.n_kernels; i++) {
        plain->kernels[i].format = i % 2;
        plain->kernels[i].weight_bytes = 10 + i % 2;
        plain->kernels[i].row_slices = i % 2 ? 4 : 1;
    }
    plain->layers[1].channels = 96;
    return plain;
}

static bool has_copy(const struct vbs_profile *profile, const char *source, int index,
                     int64_t bytes, double first_us, int n_runs)
{
    const struct vbs_copy *copy = vbs_profile_copy(profile, source);
    struct vbs_profile_row expected;
    double times_us[20];

    if (!copy || index >= copy->n_rows)
        return false;
    for (int k = 0; k < n_runs; k++)
        times_us[k] = first_us + k / 16.0;
    vbs_measure_summary(times_us, n_runs, &expected);
    return copy->rows[index].bytes == bytes && copy->rows[index].n_runs == n_runs &&
           copy->rows[index].time_us == expected.time_us &&
           copy->rows[index].mad_us == expected.mad_us &&
           copy->rows[index].low_us == expected.low_us &&
           copy->rows[index].high_us == expected.high_us;
}

static void a_measured_profile_has_its_copies_and_formats(const char *folder)
{
    char *path = path_in(folder, "measured.sqlite");
    struct plain_session *plain = packed_session();
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    struct vbs_profile *profile = NULL;
    int64_t id;

    if (!ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
                feed_copies(&ctx, run, 7) == VBS_OK && feed(&ctx, run, 8, 3) == VBS_OK &&
                vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK &&
                vbs_store_load(&ctx, store, id, &profile) == VBS_OK,
            "measured: %s", ctx.detail))
        return;
    is_int(profile->n_copies, 2, "two sources");
    is_str(profile->copies[0].source, "page-cache", "in the order in which they were measured");
    ok(has_copy(profile, "page-cache", 0, 65536, 10, 7) &&
           has_copy(profile, "page-cache", 1, 262144, 40, 7) &&
           has_copy(profile, "disk", 0, 65536, 100, 7),
       "with the statistics of their samples");
    is_int(query(path, "SELECT count(*) FROM copy_sample"), 21, "the raw samples stay");
    ok(has_row(profile, 0, 0, "direct", 10, 0) && has_row(profile, 0, 1, "winograd", 11, 1),
       "packed weight formats and packed weights are the session's");
    is_int(profile->layers[1].channels, 96, "and so are channels");
    ok(has_slices(profile, 0, 1) && has_slices(profile, 1, 4), "and slices");
    vbs_profile_free(profile);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void a_broken_off_run_keeps_its_copies(const char *folder)
{
    char *path = path_in(folder, "resumed.sqlite");
    struct plain_session *plain = packed_session();
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const struct vbs_sample_sink *sink;
    struct vbs_store_run *run = NULL;
    struct vbs_profile *profile = NULL;
    const double *times_us;
    int64_t id;
    int n;

    if (!ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
                feed_copies(&ctx, run, 4) == VBS_OK,
            "only copies"))
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->stored_copies(&ctx, sink->self, "disk", 65536, &times_us, &n) == VBS_OK && n == 0,
       "what this process adds is not among the stored");
    vbs_store_run_free(run);
    /* As version 1 left them. */
    run_sql(path, "UPDATE kernel SET form = 0, parts = 0; UPDATE layer SET channels = 0");
    if (!ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
                vbs_store_run_resumed(run),
            "the same measurement resumes"))
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->stored_copies(&ctx, sink->self, "disk", 65536, &times_us, &n) == VBS_OK && n == 4 &&
           times_us[0] == 100 && times_us[3] == 100 + 3 / 16.0,
       "its copies are there in their order");
    ok(sink->stored_copies(&ctx, sink->self, "disk", 65537, &times_us, &n) == VBS_OK && n == 0 &&
           sink->stored_copies(&ctx, sink->self, "tape", 65536, &times_us, &n) == VBS_OK && n == 0,
       "others are not");
    for (int k = 4; k < 9; k++)
        if (sink->add_copy(&ctx, sink->self, "disk", 65536, 100 + k / 16.0) != VBS_OK)
            printf("# %s\n", ctx.detail);
    if (ok(feed(&ctx, run, 8, 2) == VBS_OK &&
               vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK && id == 1 &&
               vbs_store_load(&ctx, store, id, &profile) == VBS_OK,
           "finished under its id: %s", ctx.detail)) {
        ok(has_copy(profile, "disk", 0, 65536, 100, 9) &&
               has_copy(profile, "page-cache", 1, 262144, 40, 4),
           "old and new samples make the statistics");
        ok(has_row(profile, 0, 1, "winograd", 11, 1) && profile->layers[1].channels == 96 &&
               has_slices(profile, 1, 4),
           "packed weight formats, slices and channels are those of the session that went on");
    }
    ok(sink->add_copy(&ctx, sink->self, "disk", 65536, 1) == VBS_STORE, "then it takes no more");
    vbs_profile_free(profile);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void what_is_no_copy_is_refused(const char *folder)
{
    char *path = path_in(folder, "refused.sqlite");
    struct plain_session *plain = packed_session();
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const struct vbs_sample_sink *sink;
    struct vbs_store_run *run = NULL;

    if (vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) != VBS_OK)
        return;
    sink = vbs_store_run_sink(run);
    ok(sink->add_copy(&ctx, sink->self, "disk", 1, 0) == VBS_STORE &&
           sink->add_copy(&ctx, sink->self, "disk", 1, NAN) == VBS_STORE &&
           sink->add_copy(&ctx, sink->self, "disk", 0, 1) == VBS_STORE &&
           sink->add_copy(&ctx, sink->self, "", 1, 1) == VBS_STORE,
       "no time, no number, no bytes, no source");
    is_int(query(path, "SELECT count(*) FROM copy"), 0, "nothing is stored");
    ok(sink->add_copy(&ctx, sink->self, "disk", 1, 30000) == VBS_OK, "a copy");
    run_sql(path, "UPDATE profile SET owner = 'someone else'");
    ok(sink->add_copy(&ctx, sink->self, "tape", 1, 1) == VBS_STORE &&
           strstr(ctx.detail, "taken over by another process"),
       "another owner is noticed");
    is_int(query(path, "SELECT count(*) FROM copy"), 1, "nothing more is stored");
    vbs_store_run_free(run);
    ok(run_sql(path, "UPDATE profile SET completed = 1, owner = NULL"),
       "a profile whose copies have no statistics cannot be completed");
    plain->kernels[1].weight_bytes = 12;
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_FORMAT &&
           strstr(ctx.detail, "form 1 takes"),
       "a session whose packed weight formats differ in their weights: %s", ctx.detail);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    old_profiles_load_with_a_format_for_each_size(folder, VBS_STORE_WRITE);
    old_profiles_load_with_a_format_for_each_size(folder, VBS_STORE_READ);
    many_sizes_end_in_one_format(folder);
    an_old_store_that_cannot_be_written_is_refused(folder);
    a_measured_profile_has_its_copies_and_formats(folder);
    a_broken_off_run_keeps_its_copies(folder);
    what_is_no_copy_is_refused(folder);
    remove_folder(folder);
    return done_testing();
}
