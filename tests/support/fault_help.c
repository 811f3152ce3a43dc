#include "support/fault_help.h"

#include "base/ctx.h"
#include "support/profile_help.h"
#include "support/store_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- tasks ---- */

static enum vbs_status build(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    struct vbs_provenance provenance = {.model = "built", .threads = 1};
    enum vbs_status status;

    (void)place;
    if (!builder)
        return VBS_NO_MEMORY;
    status = vbs_profile_builder_provenance(ctx, builder, &provenance);
    for (int i = 1; i <= 4 && status == VBS_OK; i++)
        status = vbs_profile_builder_copy(ctx, builder, i % 2 ? "odd" : "even",
                                          &(struct vbs_copy_row){.bytes = i, .time_us = i});
    for (int id = 1; id <= 70 && status == VBS_OK; id++) {
        struct vbs_profile_layer layer = {
            .name = "l", .kind = "k", .n_inputs = 1, .inputs = (const int[]){id - 1}};

        status = vbs_profile_builder_layer(ctx, builder, &layer);
        for (int batch = 1; batch <= 5 && status == VBS_OK; batch++)
            status = vbs_profile_builder_row(ctx, builder, id, batch, batch % 2 ? "odd" : "even",
                                             &(struct vbs_profile_row){.time_us = batch});
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, &profile);
    vbs_profile_builder_free(builder);
    vbs_profile_free(profile);
    return status;
}

static enum vbs_status read_csv(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_profile_read_csv(ctx, place->csv, &profile);

    vbs_profile_free(profile);
    return status;
}

static enum vbs_status parse_csv(struct vbs_ctx *ctx, const struct fault_place *place)
{
    static const char TEXT[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place\n1,\"L\"\"1\",conv,0,1,default,4,1,1,1,0,0\n";
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_profile_parse_csv(ctx, "text", TEXT, strlen(TEXT), &profile);

    (void)place;
    vbs_profile_free(profile);
    return status;
}

static enum vbs_status write_csv(struct vbs_ctx *ctx, const struct fault_place *place)
{
    return vbs_profile_write_csv(ctx, place->profile, place->csv);
}

static enum vbs_status make_store(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->fresh, VBS_STORE_MAKE_FOLDER, &store);
    int64_t id;

    if (status == VBS_OK)
        status = vbs_store_save(ctx, store, place->profile, &id);
    vbs_store_close(store);
    return status;
}

static enum vbs_status save(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_WRITE, &store);
    int64_t id;

    if (status == VBS_OK)
        status = vbs_store_save(ctx, store, place->profiles[FAULT_SAVED], &id);
    vbs_store_close(store);
    return status;
}

static enum vbs_status load(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    struct vbs_profile *profile = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_READ, &store);
    struct vbs_store_choice choice = {0};

    if (status == VBS_OK)
        status = vbs_store_choose(ctx, store, "first", NULL, &choice);
    if (status == VBS_OK)
        status = vbs_store_load(ctx, store, choice.id, &profile);
    vbs_profile_free(profile);
    vbs_store_close(store);
    return status;
}

static enum vbs_status list(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    struct vbs_store_list *entries = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_READ, &store);
    struct vbs_store_choice choice;

    if (status == VBS_OK)
        status = vbs_store_profiles(ctx, store, &entries);
    if (status == VBS_OK && vbs_store_choose(ctx, store, "frist", NULL, &choice) != VBS_NOT_FOUND)
        status = ctx->status;
    vbs_store_list_free(entries);
    vbs_store_close(store);
    return status;
}

/* Reads the samples of the first row of profile id, and checks their number. */
static enum vbs_status read_samples(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                    int n_expected)
{
    struct vbs_store_samples *samples = NULL;
    const struct vbs_sample_source *source;
    const double *times_us;
    enum vbs_status status = vbs_store_samples_open(ctx, store, id, &samples);
    int n = 0;

    if (status != VBS_OK)
        return status;
    source = vbs_store_samples_source(samples);
    status = source->times(ctx, source->self, 1, 1, 0, "direct", &times_us, &n);
    vbs_store_samples_free(samples);
    return status == VBS_OK && n != n_expected ? VBS_N_STATUS : status;
}

/* Makes a draft of a run, whose times the run takes in the end; *draft is the caller's. */
static enum vbs_status draft_run(struct vbs_ctx *ctx, struct vbs_store_run *run,
                                 struct vbs_profile **draft)
{
    enum vbs_status status = vbs_store_run_draft(ctx, run, draft);

    if (status == VBS_OK)
        vbs_store_run_revise(run, *draft);
    return status;
}

/* Resumes the unfinished run, adds samples, makes a draft, finishes, and reads the samples back. */
static enum vbs_status measure(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_store *store = NULL;
    struct vbs_store_run *run = NULL;
    struct vbs_profile *draft = NULL;
    enum vbs_status status = VBS_NO_MEMORY;
    int64_t id;

    if (!plain)
        return status;
    status = vbs_store_open(ctx, place->store, VBS_STORE_WRITE, &store);
    if (status == VBS_OK)
        status = vbs_store_run_begin(ctx, store, 9, &plain->session, &run);
    if (status == VBS_OK)
        status = feed(ctx, run, 4, 70);
    if (status == VBS_OK)
        status = feed_copies(ctx, run, 3);
    if (status == VBS_OK)
        status = draft_run(ctx, run, &draft);
    if (status == VBS_OK)
        status = vbs_store_run_finish(ctx, run, "notes", &id);
    if (status == VBS_OK)
        status = read_samples(ctx, store, id, 71);
    vbs_profile_free(draft);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    return status;
}

/* Stores the times of another profile with the samples of the first. */
static enum vbs_status revise(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_WRITE, &store);
    int64_t id = 0;

    if (status == VBS_OK)
        status = vbs_store_revise(ctx, store, 1, place->profiles[FAULT_SAVED], &id);
    vbs_store_close(store);
    return status;
}

/* Gives the tag of one profile to another, and deletes the unfinished profile. */
static enum vbs_status tag_and_delete(struct vbs_ctx *ctx, const struct fault_place *place)
{
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_WRITE, &store);
    int64_t id = 0;

    if (status == VBS_OK)
        status = vbs_store_tag(ctx, store, 2, "tagged");
    if (status == VBS_OK)
        status = vbs_store_find_tag(ctx, store, "tagged", &id);
    if (status == VBS_OK)
        status = id == 2 ? vbs_store_untag(ctx, store, "tagged") : VBS_N_STATUS;
    if (status == VBS_OK)
        status = vbs_store_delete(ctx, store, (const int64_t[]){FAULT_SAVED + 1}, 1);
    vbs_store_close(store);
    return status;
}

/* Merges another store, in which a profile has samples that this one lacks, kernel times are of
 * more runs, and a trial with a network is complete that failed here. */
static enum vbs_status merge(struct vbs_ctx *ctx, const struct fault_place *place)
{
    const struct vbs_merge_options options = {.struct_size = sizeof options,
                                              .networks = place->networks,
                                              .from_networks = place->networks};
    struct vbs_merge_report *report = NULL;
    struct vbs_store *store = NULL;
    enum vbs_status status = vbs_store_open(ctx, place->store, VBS_STORE_WRITE, &store);

    if (status == VBS_OK)
        status = vbs_store_merge(ctx, store, place->other, &options, &report);
    if (status == VBS_OK && (report->n_added != 2 || report->n_timings_improved != 1 ||
                             report->n_trials_improved != 1 || report->n_networks != 1))
        status = VBS_N_STATUS;
    vbs_merge_report_free(report);
    vbs_store_close(store);
    return status;
}

const struct fault_task FAULT_TASKS[] = {
    {"building a profile", build, false},
    {"reading a CSV file", read_csv, false},
    {"parsing CSV", parse_csv, false},
    {"writing a CSV file", write_csv, false},
    {"making a store", make_store, true},
    {"saving a profile", save, true},
    {"loading a profile", load, true},
    {"listing profiles", list, true},
    {"tagging and deleting", tag_and_delete, true},
    {"revising a profile", revise, true},
    {"merging two stores", merge, true},
    {"resuming, finishing and reading a measurement", measure, true},
    {0},
};

/* ---- the place ---- */

/* Adds kernel times of so many runs, and a study with a trial that ended in this state. */
static void add_study(const char *path, int n_runs, const char *state)
{
    char sql[1000];
    const char *error;

    snprintf(sql, sizeof sql,
             "INSERT INTO timing VALUES (1, 1, '1', 'b', 'l', 'd', 'v', 1, '');"
             "INSERT INTO timing_row VALUES (1, 0, 1, 'a', 0, 0, 0, 0, 1, 0, 1, 1, %d, 0);"
             "INSERT INTO timing_copy VALUES (1, 0, 'disk', 1, 1, 0, 1, 1, 1);"
             "INSERT INTO study VALUES (1, 's', '{}', 'h', 'v', '');"
             "INSERT INTO trial (id, study, number, state, stage, seed, begun) "
             "VALUES (1, 1, 0, 'running', '', 1, '');"
             "INSERT INTO trial_value VALUES (1, 'parameter', 'p', 0.5), (1, 'result', 'r', 1);"
             "UPDATE trial SET state = '%s', ended = '', file = 'net.onnx'",
             n_runs, state);
    if ((error = run_sql(path, sql)))
        printf("# %s\n", error);
}

/* Saves two complete profiles, and begins a run of four kernels with one sample each. */
static void fill_store(const struct fault_place *place)
{
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, place->store, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    int64_t id;

    for (int i = 0; i < FAULT_SAVED; i++)
        if (vbs_store_save(&ctx, store, place->profiles[i], &id) != VBS_OK)
            printf("# %s\n", ctx.detail);
    if (vbs_store_tag(&ctx, store, 1, "tagged") != VBS_OK ||
        vbs_store_run_begin(&ctx, store, 9, &plain->session, &run) != VBS_OK ||
        feed(&ctx, run, 4, 1) != VBS_OK || feed_copies(&ctx, run, 1) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    add_study(place->store, 1, "failed");
}

/* Makes the store that is merged: a measured profile and an imported one, of which one has a tag.
 */
static void fill_other(const struct fault_place *place)
{
    struct plain_session *plain = plain_session_new(2, 1, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, place->other, VBS_STORE_WRITE);
    struct vbs_profile *profile = example("merged");
    struct vbs_store_run *run = NULL;
    int64_t id;

    plain->session.provenance.model = "merged";
    if (vbs_store_save(&ctx, store, profile, &id) != VBS_OK ||
        vbs_store_run_begin(&ctx, store, 9, &plain->session, &run) != VBS_OK ||
        feed(&ctx, run, 2, 2) != VBS_OK || feed_copies(&ctx, run, 1) != VBS_OK ||
        vbs_store_run_finish(&ctx, run, NULL, &id) != VBS_OK ||
        vbs_store_tag(&ctx, store, id, "tagged") != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_run_free(run);
    vbs_store_close(store);
    vbs_profile_free(profile);
    plain_session_free(plain);
    add_study(place->other, 2, "complete");
}

/* Makes the folder of networks, with that of the trial. */
static void fill_networks(const struct fault_place *place)
{
    char *folder = path_in(place->networks, "s"), *file = path_in(folder, "net.onnx");

    mkdir(place->networks, 0777);
    mkdir(folder, 0777);
    write_text(file, "network", 7);
    free(file);
    free(folder);
}

struct fault_place *fault_place_new(const char *folder)
{
    struct fault_place *place = calloc(1, sizeof *place);
    struct vbs_ctx ctx = {0};

    place->store = path_in(folder, "store.sqlite");
    place->csv = path_in(folder, "profile.csv");
    place->fresh = path_in(folder, "fresh/store.sqlite");
    place->other = path_in(folder, "other.sqlite");
    place->networks = path_in(folder, "networks");
    fill_networks(place);
    for (int i = 0; i <= FAULT_SAVED; i++)
        place->profiles[i] = numbered_example("first", i);
    place->profile = place->profiles[0];
    fill_store(place);
    fill_other(place);
    place->pristine = read_text(place->store, &place->n_pristine);
    if (vbs_profile_write_csv(&ctx, place->profile, place->csv) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return place;
}

void fault_place_free(struct fault_place *place)
{
    for (int i = 0; i <= FAULT_SAVED; i++)
        vbs_profile_free(place->profiles[i]);
    free(place->store);
    free(place->csv);
    free(place->fresh);
    free(place->other);
    free(place->networks);
    free(place->pristine);
    free(place);
}

/* Removes a store and the files that SQLite keeps beside it. */
static void remove_store(const char *path)
{
    static const char *const ENDINGS[] = {"", "-wal", "-shm", "-journal"};

    for (int i = 0; i < 4; i++) {
        char name[4096];

        snprintf(name, sizeof name, "%s%s", path, ENDINGS[i]);
        unlink(name);
    }
}

void fault_place_reset(const struct fault_place *place)
{
    char folder[4096];

    remove_store(place->store);
    remove_store(place->fresh);
    snprintf(folder, sizeof folder, "%s", place->fresh);
    *strrchr(folder, '/') = '\0';
    rmdir(folder);
    write_text(place->store, place->pristine, place->n_pristine);
}

const char *fault_place_damage(const struct fault_place *place)
{
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, place->store, VBS_STORE_WRITE);
    struct vbs_profile *csv = NULL;
    char where[80];
    bool same = store != NULL;

    for (int64_t id = 1; id <= FAULT_SAVED && same; id++) {
        struct vbs_profile *profile = NULL;

        same = vbs_store_load(&ctx, store, id, &profile) == VBS_OK &&
               !profile_difference(place->profiles[id - 1], profile, where, sizeof where);
        vbs_profile_free(profile);
    }
    vbs_store_close(store);
    if (!same)
        return "a complete profile";
    if (query(place->store, "SELECT count(*) FROM pragma_integrity_check "
                            "WHERE integrity_check = 'ok'") != 1 ||
        query(place->store, "SELECT count(*) FROM pragma_foreign_key_check") != 0)
        return "the database";
    if (query(place->store, "SELECT count(*) FROM profile WHERE id > 2 AND completed NOTNULL AND "
                            "EXISTS (SELECT 1 FROM kernel WHERE profile = profile.id AND time_us "
                            "IS NULL)") != 0)
        return "a complete profile without times";
    if (query(place->store,
              "SELECT count(*) FROM (SELECT 1 FROM sample LEFT JOIN packed_sample AS p "
              "ON sample.kernel = p.kernel GROUP BY sample.kernel "
              "HAVING count(*) + coalesce(length(samples), 0) / 12 <> max(number) + 1)") != 0 ||
        query(place->store, "SELECT count(*) FROM (SELECT 1 FROM copy_sample GROUP BY copy "
                            "HAVING count(*) <> max(number) + 1)") != 0)
        return "the numbering of samples";
    if (query(place->store, "SELECT count(*) FROM profile WHERE model = 'merged'") % 2 != 0 ||
        query(place->other, "SELECT count(*) FROM profile WHERE model = 'merged'") != 2)
        return "a merge";
    if (query(
            place->store,
            "SELECT 2 * (SELECT count(*) FROM trial WHERE state = 'complete' AND file LIKE '/%') "
            "= (SELECT count(*) FROM profile WHERE model = 'merged') AND "
            "(SELECT n_runs = 2 FROM timing_row) = (SELECT state = 'complete' FROM trial) AND "
            "(SELECT count(*) FROM timing_copy) = 1 AND (SELECT count(*) FROM trial_value) = 2") !=
        1)
        return "a half of a merge";
    same = vbs_profile_read_csv(&ctx, place->csv, &csv) == VBS_OK &&
           !profile_difference(place->profile, csv, where, sizeof where);
    vbs_profile_free(csv);
    return same ? NULL : "the CSV file";
}
