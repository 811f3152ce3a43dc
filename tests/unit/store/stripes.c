/*
 * Rows of samples in the store: profiles with stripes come back to the bit, stripes keep samples of
 * their own, and a store that an earlier version wrote keeps all that it has.
 */
#include "cases/random_rows.h"
#include "support/made_profile.h"
#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>

#define SEED       53
#define N_PROFILES 60

/* Checks that two profiles are equal; frees the second. */
static bool are_equal(const struct vbs_profile *profile, struct vbs_profile *back)
{
    char where[80];
    const char *difference =
        back ? profile_difference(profile, back, where, sizeof where) : "nothing";

    if (difference)
        printf("# %s\n", difference);
    vbs_profile_free(back);
    return !difference;
}

static void random_profiles_come_back(const char *folder)
{
    char *path = path_in(folder, "random.sqlite");
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    int n_equal = 0, n_stripes = 0, n_once = 0;

    gsl_rng_set(rng, SEED);
    for (int i = 0; store && i < N_PROFILES; i++) {
        struct vbs_profile *profile = random_rows_profile(rng, 1 + i % 8), *back = NULL;
        int64_t id = 0, again = -1;

        if (profile && vbs_store_save(&ctx, store, profile, &id) == VBS_OK &&
            vbs_store_save(&ctx, store, profile, &again) == VBS_OK)
            (void)!vbs_store_load(&ctx, store, id, &back);
        n_stripes += profile && has_stripe_rows(profile);
        n_once += id == again;
        n_equal += profile && are_equal(profile, back);
        vbs_profile_free(profile);
    }
    is_int(n_equal, N_PROFILES, "profiles with rows come back from the store");
    is_int(n_once, N_PROFILES, "each is kept once");
    ok(n_stripes > N_PROFILES / 2, "%d of them have stripes", n_stripes);
    gsl_rng_free(rng);
    vbs_store_close(store);
    free(path);
}

/* ---- measuring ---- */

static const struct vbs_reach REACHES[] = {{1, 1, -1, 1}};

/* A session of two layers of 5 rows, each with kernels on whole samples and on 1 row. */
static struct plain_session *session_with_stripes(void)
{
    struct plain_session *plain = plain_session_new(2, 1, 4);

    for (int k = 0; k <= 2; k++)
        plain->layers[k].rows = 5;
    plain->layers[1].reaches = plain->layers[2].reaches = REACHES;
    for (int i = 0; i < plain->session.n_kernels; i++) {
        struct vbs_kernel *kernel = &plain->kernels[i];

        kernel->algorithm = i % 2 ? "winograd" : "direct";
        kernel->rows = i % 4 < 2 ? 0 : 1;
        kernel->row_slices = 1;
    }
    return plain;
}

static bool has_times(struct vbs_ctx *ctx, const struct vbs_sample_source *source, int layer,
                      int rows, const char *algorithm, double first_us)
{
    const double *times_us = NULL;
    int n = -1;

    return source->times(ctx, source->self, layer, 1, rows, algorithm, &times_us, &n) == VBS_OK &&
           n == 3 && times_us[0] == first_us && times_us[2] == first_us + 2 / 16.0;
}

static void check_samples(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    struct vbs_store_samples *samples = NULL;
    const struct vbs_sample_source *source;

    if (!ok(vbs_store_samples_open(ctx, store, id, &samples) == VBS_OK, "samples"))
        return;
    source = vbs_store_samples_source(samples);
    ok(has_times(ctx, source, 1, 0, "direct", 100) && has_times(ctx, source, 1, 1, "direct", 102) &&
           has_times(ctx, source, 2, 0, "winograd", 105) &&
           has_times(ctx, source, 2, 1, "winograd", 107),
       "whole samples and stripes have their own");
    vbs_store_samples_free(samples);
}

static void stripes_are_measured(const char *folder)
{
    char *path = path_in(folder, "measured.sqlite"), *other = path_in(folder, "merged.sqlite");
    struct plain_session *plain = session_with_stripes();
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE), *into;
    struct vbs_store_run *run = NULL, *second = NULL;
    struct vbs_merge_report *report = NULL;
    struct vbs_merge_options options = {.struct_size = sizeof options};
    struct vbs_profile *profile = NULL, *copy = NULL;
    int64_t id = 0;

    if (!ok(store && vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK,
            "a session with stripes begins: %s", ctx.detail))
        return;
    plain->kernels[3].rows = plain->kernels[2].rows = 2;
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &second) == VBS_OK &&
           query(path, "SELECT count(*) FROM profile") == 2,
       "one with other stripes does not go on with it");
    vbs_store_run_free(second);
    plain->kernels[3].rows = plain->kernels[2].rows = 1;
    ok(feed(&ctx, run, plain->session.n_kernels, 3) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK,
       "it is finished: %s", ctx.detail);
    vbs_store_run_free(run);
    ok(vbs_store_load(&ctx, store, id, &profile) == VBS_OK && has_stripe_rows(profile) &&
           profile->layers[0].rows == 5 && profile->layers[2].reaches &&
           profile->layers[2].reaches[0].low == -1,
       "its profile has stripes: %s", ctx.detail);
    check_samples(&ctx, store, id);
    vbs_store_close(store);

    into = open_store(&ctx, other, VBS_STORE_WRITE);
    ok(into && vbs_store_merge(&ctx, into, path, &options, &report) == VBS_OK &&
           vbs_store_load(&ctx, into, 1, &copy) == VBS_OK,
       "it is merged: %s", ctx.detail);
    if (profile)
        ok(are_equal(profile, copy), "into an equal one");
    check_samples(&ctx, into, 1);
    vbs_merge_report_free(report);
    vbs_store_close(into);
    vbs_profile_free(profile);
    plain_session_free(plain);
    free(other);
    free(path);
}

/* ---- stores of version 7 ---- */

/* Makes a store of version 7 with a measured profile, which has 3 samples of each of 8 kernels, and
 * an unfinished one, which has 2. */
static char *version_7(const char *folder, struct vbs_profile **profile)
{
    char *path = path_in(folder, "7.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 2);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    int64_t id = 0;

    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 8, 3) == VBS_OK &&
           vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK &&
           vbs_store_load(&ctx, store, id, profile) == VBS_OK,
       "a measured profile: %s", ctx.detail);
    vbs_store_run_free(run);
    ok(vbs_store_run_begin(&ctx, store, 5, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 8, 2) == VBS_OK,
       "and one that is being measured");
    vbs_store_run_free(run);
    vbs_store_close(store);
    ok(!make_earlier(path, 7) && query(path, "PRAGMA user_version") == 7, "as version 7 had them");
    plain_session_free(plain);
    return path;
}

static void earlier_stores_keep_all(const char *folder)
{
    struct vbs_profile *profile = NULL, *back = NULL;
    char *path = version_7(folder, &profile);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    const char *error;

    is_int(query(path, "PRAGMA user_version"), newest_version(), "it is brought up");
    is_int(query(path, "SELECT count(*) FROM kernel"), 16, "all kernels are there");
    is_int(query(path, "SELECT sum(length(samples)) / 12 FROM packed_sample"), 24,
           "and the samples of those that are finished");
    is_int(query(path, "SELECT count(*) FROM sample"), 16, "and of those that are not");
    is_int(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0, "all rows have owners");
    ok(store && vbs_store_load(&ctx, store, 1, &back) == VBS_OK && are_equal(profile, back),
       "the profile is the same: %s", ctx.detail);
    error = run_sql(path, "UPDATE kernel SET time_us = 1 WHERE profile = 1");
    ok(error && strcmp(error, "a complete profile cannot be changed") == 0, "and stays so");
    ok(!run_sql(path, "DELETE FROM profile") &&
           query(path, "SELECT (SELECT count(*) FROM kernel) + (SELECT count(*) FROM sample) + "
                       "(SELECT count(*) FROM packed_sample)") == 0,
       "what is deleted is gone with its samples");
    vbs_store_close(store);
    vbs_profile_free(profile);
    free(path);
}

/* ---- damage ---- */

static void half_a_reach_is_refused(const char *folder)
{
    char *path = path_in(folder, "half.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile *profile = rows_pair_profile(8, 64, 4), *back = NULL;
    int64_t id = 0;

    ok(vbs_store_save(&ctx, store, profile, &id) == VBS_OK, "a profile with reaches");
    ok(run_sql_untriggered(path, "UPDATE layer_input SET low = NULL WHERE layer = 2") != NULL,
       "a part of a reach cannot be removed");
    ok(!run_sql_untriggered(path, "UPDATE layer SET out_rows = 0 WHERE layer = 1"),
       "the rows of a layer can, by force");
    ok(vbs_store_load(&ctx, store, id, &back) == VBS_STORE &&
           strstr(ctx.detail, "layer 1: it has a reach, but no rows"),
       "which is seen: %s", ctx.detail);
    vbs_store_close(store);
    vbs_profile_free(profile);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    random_profiles_come_back(folder);
    stripes_are_measured(folder);
    earlier_stores_keep_all(folder);
    half_a_reach_is_refused(folder);
    remove_folder(folder);
    return done_testing();
}
