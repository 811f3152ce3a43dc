/*
 * The profile for which a name stands, profiles with the same content, and deletion; a store that
 * loses its name, and one whose query never ends.
 */
#include "store/sql.h"

#include "support/profile_help.h"
#include "support/store_help.h"
#include "support/tap.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

/* A profile of model "m" on a device, measured at a date; threads make it unlike others. */
static struct vbs_profile *dated(const char *device, const char *date, int threads)
{
    static const char ROWS[] =
        "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,weight_bytes,"
        "in_place\n1,L1,conv,0,1,default,4,1,1,1,9,0\n";
    struct vbs_profile *profile = NULL;
    struct vbs_ctx ctx = {0};
    char text[1000];

    snprintf(text, sizeof text, "# model: m\n# device: %s\n# date: %s\n# threads: %d\n%s", device,
             date, threads, ROWS);
    if (vbs_profile_parse_csv(&ctx, "dated", text, strlen(text), &profile) != VBS_OK)
        printf("# %s\n", ctx.detail);
    return profile;
}

static int64_t save_dated(struct vbs_store *store, const char *device, const char *date,
                          int threads)
{
    struct vbs_profile *profile = dated(device, date, threads);
    struct vbs_ctx ctx = {0};
    int64_t id = -1;

    if (vbs_store_save(&ctx, store, profile, &id) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_profile_free(profile);
    return id;
}

static enum vbs_status delete_one(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id)
{
    return vbs_store_delete(ctx, store, &id, 1);
}

static int rank_own(void *self, const struct vbs_provenance *provenance)
{
    return strcmp(provenance->device, self) == 0;
}

static void is_chosen(struct vbs_store *store, const char *own, int64_t id, int n_complete,
                      const char *what)
{
    char device[20];
    struct vbs_store_preference preference = {.self = device, .rank = rank_own};
    struct vbs_store_choice choice = {0};
    struct vbs_ctx ctx = {0};

    snprintf(device, sizeof device, "%s", own);
    ok(vbs_store_choose(&ctx, store, "m", own[0] ? &preference : NULL, &choice) == VBS_OK &&
           choice.id == id && choice.n_complete == n_complete && choice.rank == (own[0] != '\0'),
       "%s: %lld of %d", what, (long long)choice.id, choice.n_complete);
}

static void the_newest_is_that_of_the_day_of_measuring(const char *folder)
{
    char *path = path_in(folder, "newest.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);

    is_int(save_dated(store, "mine", "2026-03-01T00:00:00Z", 1), 1, "one of March");
    is_int(save_dated(store, "mine", "2026-05-01T00:00:00Z", 1), 2, "one of May");
    is_int(save_dated(store, "mine", "2026-04-01T00:00:00Z", 1), 3, "one of April, saved later");
    is_chosen(store, "", 2, 3, "the newest is that of May");
    is_int(save_dated(store, "other", "2026-06-01T00:00:00Z", 1), 4, "another device's, of June");
    is_int(save_dated(store, "mine", "yesterday", 1), 5, "one whose date is none");
    is_chosen(store, "", 4, 5, "without preference the newest is that of June");
    is_chosen(store, "mine", 2, 5, "the preferred device goes before the date");
    is_int(save_dated(store, "mine", "2026-05-01T00:00:00Z", 2), 6, "of the same second");
    is_chosen(store, "mine", 6, 6, "then the last saved");
    vbs_store_close(store);
    free(path);
}

static void the_same_content_is_kept_once(const char *folder)
{
    char *path = path_in(folder, "same.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_profile *profile = dated("mine", "2026-03-01", 1);
    struct vbs_store_list *list = NULL;
    char hash[VBS_PROFILE_HASH_SIZE];

    is_int(save_dated(store, "mine", "2026-03-01", 1), 1, "a profile");
    is_int(save_dated(store, "mine", "2026-03-01", 2), 2, "one of other content");
    is_int(save_dated(store, "mine", "2026-03-01", 1), 1, "the first again gets its id");
    vbs_profile_hash(profile, hash);
    if (ok(vbs_store_profiles(&ctx, store, &list) == VBS_OK && list->n_entries == 2, "two listed"))
        is_str(list->entries[0].hash, hash, "with the hash of the content");
    vbs_store_list_free(list);
    ok(delete_one(&ctx, store, 1) == VBS_OK, "it is deleted");
    is_int(save_dated(store, "mine", "2026-03-01", 1), 3, "and then saved anew");
    ok(run_sql(path, "UPDATE profile SET hash = 'x' WHERE id = 2") != NULL,
       "no hash of a complete profile can be changed");
    vbs_store_close(store);
    vbs_profile_free(profile);
    free(path);
}

/* As version 3 left it: without hashes and tags. */
static void profiles_of_earlier_versions_get_their_hashes(const char *folder)
{
    char *path = path_in(folder, "old.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);

    save_dated(store, "mine", "2026-03-01", 1);
    save_dated(store, "mine", "2026-03-01", 2);
    vbs_store_close(store);
    ok(!make_earlier(path, 3) && !run_sql_untriggered(path, "UPDATE profile SET threads = 1"),
       "a store of version 3, with one content twice");
    store = open_store(&ctx, path, VBS_STORE_READ);
    vbs_store_close(store);
    is_int(query(path, "PRAGMA user_version"), newest_version(),
           "it is brought up when it is read");
    is_int(query(path, "SELECT count(*) FROM profile WHERE hash IS NOT NULL"), 1,
           "the first of the two has the hash");
    store = open_store(&ctx, path, VBS_STORE_WRITE);
    is_int(save_dated(store, "mine", "2026-03-01", 1), 1, "and is found by it");
    vbs_store_close(store);
    free(path);
}

static void a_tag_is_a_name_for_one_profile(const char *folder)
{
    static const char *const WRONG[] = {"", "1a", "a b", "a.csv", "a.onnx", "a,b", "m", "-a"};
    char *path = path_in(folder, "tags.sqlite");
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_store_list *list = NULL;
    struct vbs_store_run *run = NULL;
    int64_t id = 0;
    int n_refused = 0;

    save_dated(store, "mine", "2026-03-01", 1);
    save_dated(store, "mine", "2026-03-01", 2);
    ok(vbs_store_tag(&ctx, store, 1, "quiet") == VBS_OK &&
           vbs_store_tag(&ctx, store, 1, "best-2.1") == VBS_OK &&
           vbs_store_find_tag(&ctx, store, "quiet", &id) == VBS_OK && id == 1,
       "a profile has two tags");
    if (vbs_store_profiles(&ctx, store, &list) == VBS_OK)
        is_str(list->entries[0].tags, "best-2.1,quiet", "which are listed");
    vbs_store_list_free(list);
    ok(vbs_store_tag(&ctx, store, 2, "quiet") == VBS_OK &&
           vbs_store_find_tag(&ctx, store, "quiet", &id) == VBS_OK && id == 2,
       "one goes to another profile");
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++)
        n_refused += vbs_store_tag(&ctx, store, 1, WRONG[i]) == VBS_USAGE;
    is_int(n_refused, 8, "what can be taken for something else is no tag");
    ok(vbs_store_tag(&ctx, store, 9, "x") == VBS_NOT_FOUND, "nor can what is not there have one");
    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           vbs_store_tag(&ctx, store, 3, "x") == VBS_STORE && strstr(ctx.detail, "unfinished"),
       "nor an unfinished profile");
    ok(delete_one(&ctx, store, 3) == VBS_STORE && strstr(ctx.detail, "is being measured"),
       "which is not deleted while it is measured: %s", ctx.detail);
    vbs_store_run_free(run);
    ok(vbs_store_untag(&ctx, store, "best-2.1") == VBS_OK &&
           vbs_store_untag(&ctx, store, "best-2.1") == VBS_NOT_FOUND,
       "a tag is taken away once");
    ok(vbs_store_delete(&ctx, store, (const int64_t[]){2, 77}, 2) == VBS_NOT_FOUND &&
           vbs_store_find_tag(&ctx, store, "quiet", &id) == VBS_OK,
       "where one of several profiles is not there, none is deleted");
    ok(vbs_store_delete(&ctx, store, (const int64_t[]){1, 1}, 2) == VBS_OK &&
           delete_one(&ctx, store, 1) == VBS_NOT_FOUND,
       "an id that is given twice counts once");
    ok(delete_one(&ctx, store, 2) == VBS_OK &&
           vbs_store_find_tag(&ctx, store, "quiet", &id) == VBS_NOT_FOUND,
       "with its profile the other one goes");
    ok(delete_one(&ctx, store, 2) == VBS_NOT_FOUND, "a profile is deleted once");
    is_int(query(path, "SELECT count(*) FROM pragma_foreign_key_check"), 0, "nothing dangles");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static void a_store_that_loses_its_name_is_told(const char *folder)
{
    char *path = path_in(folder, "moved.sqlite"), *away = path_in(folder, "away.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    struct vbs_profile *profile = example("m");
    int64_t id = 0;

    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 4, 3) == VBS_OK && rename(path, away) == 0,
       "a store is moved while it is measured into");
    ok(vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_STORE &&
           strstr(ctx.detail, "was deleted, moved or replaced"),
       "which is told: %s", ctx.detail);
    ok(rename(away, path) == 0 && vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK,
       "moved back, it is finished");
    vbs_store_run_free(run);
    ok(unlink(path) == 0 && vbs_store_save(&ctx, store, profile, &id) == VBS_STORE,
       "so it is when it is deleted: %s", ctx.detail);
    vbs_store_close(store);
    vbs_profile_free(profile);
    plain_session_free(plain);
    free(path);
    free(away);
}

/* Measures a profile on a network of a hash; gives its id. */
static int64_t measure(struct vbs_store *store, struct plain_session *plain, uint64_t network_hash)
{
    struct vbs_store_run *run = NULL;
    struct vbs_ctx ctx = {0};
    int64_t id = -1;

    if (vbs_store_run_begin(&ctx, store, network_hash, &plain->session, &run) != VBS_OK ||
        feed(&ctx, run, 4, 3) != VBS_OK || vbs_store_run_finish(&ctx, run, NULL, &id) != VBS_OK)
        printf("# %s\n", ctx.detail);
    vbs_store_run_free(run);
    return id;
}

static void profiles_of_another_network_are_passed_over(const char *folder)
{
    static const uint64_t FIRST = UINT64_C(0x8000000000000001), SECOND = 2;
    char *path = path_in(folder, "networks.sqlite");
    struct plain_session *plain = plain_session_new(2, 2, 1);
    const struct vbs_provenance *provenance = &plain->session.provenance;
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_preference network = {.input = provenance->input, .network_hash = SECOND};
    struct vbs_store_choice choice = {0};
    bool another = true;
    int64_t id;

    is_int(measure(store, plain, FIRST), 1, "a network is measured");
    ok(vbs_store_choose(&ctx, store, provenance->model, &network, &choice) == VBS_NOT_FOUND &&
           choice.id == 0 && strstr(ctx.detail, "of another network with this name"),
       "another one of its name has no profile: %s", ctx.detail);
    network.input = "1x2x3";
    ok(vbs_store_choose(&ctx, store, provenance->model, &network, &choice) == VBS_OK &&
           choice.id == 1,
       "a network of another input cannot be told apart");
    network.input = provenance->input;
    is_int(measure(store, plain, SECOND), 2, "it is measured, too");
    ok(vbs_store_choose(&ctx, store, provenance->model, &network, &choice) == VBS_OK &&
           choice.id == 2 && choice.n_complete == 1,
       "then it has one");
    network.network_hash = FIRST;
    ok(vbs_store_choose(&ctx, store, provenance->model, &network, &choice) == VBS_OK &&
           choice.id == 1,
       "and the first still its own");
    ok(vbs_store_is_of_another(&ctx, store, 1, FIRST, &another) == VBS_OK && !another &&
           vbs_store_is_of_another(&ctx, store, 1, SECOND, &another) == VBS_OK && another,
       "a profile knows its network");
    id = save_example(path, provenance->model);
    network.network_hash = 3;
    ok(vbs_store_is_of_another(&ctx, store, id, SECOND, &another) == VBS_OK && !another &&
           vbs_store_choose(&ctx, store, provenance->model, &network, &choice) == VBS_OK &&
           choice.id == id,
       "that of an imported one is not known");
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

static volatile sig_atomic_t interrupted;

static void interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

/* The file defines its tables: here one is a query without an end. */
static void an_endless_store_can_be_interrupted(const char *folder)
{
    char *path = path_in(folder, "endless.sqlite");
    struct vbs_ctx ctx = {.cancel = &interrupted};
    struct vbs_store_list *list = NULL;
    struct vbs_store *store;
    struct vbs_profile *profile = NULL;

    save_example(path, "x");
    ok(!run_sql(path, "ALTER TABLE kernel RENAME TO old; CREATE VIEW kernel AS WITH RECURSIVE "
                      "n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT old.*, n.id AS z "
                      "FROM old, n WHERE n.id < 0"),
       "a store with an endless view");
    store = open_store(&ctx, path, VBS_STORE_READ);
    signal(SIGALRM, interrupt);
    setitimer(ITIMER_REAL, &(struct itimerval){.it_value.tv_usec = 50000}, NULL);
    ok(vbs_store_profiles(&ctx, store, &list) == VBS_INTERRUPTED, "listing it ends: %s",
       ctx.detail);
    ok(vbs_store_load(&ctx, store, 1, &profile) == VBS_INTERRUPTED,
       "a cancelled call is not begun");
    vbs_store_close(store);
    free(path);
}

/* More kernels than one slice has, of which a process that was killed wrote the first. */
static void kernels_that_were_not_written_are_added(const char *folder)
{
    char *path = path_in(folder, "slices.sqlite");
    struct plain_session *plain = plain_session_new(3, 600, 3);
    struct vbs_ctx ctx = {0};
    struct vbs_store *store = open_store(&ctx, path, VBS_STORE_WRITE);
    struct vbs_store_run *run = NULL;
    int64_t id = 0;

    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           feed(&ctx, run, 5, 1) == VBS_OK,
       "5400 kernels are begun");
    vbs_store_run_free(run);
    run = NULL;
    is_int(query(path, "SELECT count(*) FROM kernel"), 5400, "in two slices");
    ok(!run_sql(path, "DELETE FROM kernel WHERE number >= 4096"), "the second is lost");
    ok(vbs_store_run_begin(&ctx, store, 1, &plain->session, &run) == VBS_OK &&
           vbs_store_run_resumed(run) &&
           query(path, "SELECT count(*) FROM kernel WHERE profile = 1") == 5400,
       "the next process adds it and goes on");
    ok(feed(&ctx, run, 5400, 1) == VBS_OK && vbs_store_run_finish(&ctx, run, NULL, &id) == VBS_OK &&
           id == 1,
       "and finishes: %s", ctx.detail);
    vbs_store_run_free(run);
    vbs_store_close(store);
    plain_session_free(plain);
    free(path);
}

int main(void)
{
    char *folder = temporary_folder();

    the_newest_is_that_of_the_day_of_measuring(folder);
    the_same_content_is_kept_once(folder);
    profiles_of_earlier_versions_get_their_hashes(folder);
    a_tag_is_a_name_for_one_profile(folder);
    a_store_that_loses_its_name_is_told(folder);
    kernels_that_were_not_written_are_added(folder);
    profiles_of_another_network_are_passed_over(folder);
    an_endless_store_can_be_interrupted(folder);
    remove_folder(folder);
    return done_testing();
}
