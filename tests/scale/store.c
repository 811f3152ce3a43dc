/*
 * Makes a store of many samples, and times what people do with it: one row of CSV for each, with
 * the seconds that passed and those of processor time.
 *
 *   store FOLDER [PROFILES [KERNELS [SAMPLES]]]   (default 2000 profiles of 500 kernels with 100
 *                                                  samples each: 10^8)
 *
 * FOLDER must be empty; the stores are removed at the end, or when the program is told to stop.
 * They take 2.3 GB at most for 10^8 samples, and as much again for the merge of all.
 */
#include "base/clock.h"
#include "base/ctx.h"
#include "base/fail.h"
#include "store/kernel_samples.h"
#include "store/rows.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define N_BATCHES  10
#define N_MODELS   50
#define FEW        10  /* profiles of a small store */
#define PER_COMMIT 100 /* profiles made in one transaction */

static volatile sig_atomic_t stop;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

struct scale {
    struct vbs_ctx ctx;
    int n_profiles, n_layers, n_samples;
    char big[4096], small[4096], all[4096];
};

static void check(const struct scale *s, enum vbs_status status)
{
    if (status == VBS_OK)
        return;
    fprintf(stderr, "store: %s\n", s->ctx.detail);
    for (int i = 0; i < 12; i++) {
        static const char *const ENDINGS[] = {"", "-wal", "-shm", "-journal"};
        char name[5000];

        snprintf(name, sizeof name, "%s%s",
                 i < 4   ? s->big
                 : i < 8 ? s->small
                         : s->all,
                 ENDINGS[i % 4]);
        unlink(name);
    }
    exit(1);
}

/* ---- making stores ---- */

static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static struct vbs_profile *make_profile(struct scale *s, int number)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    uint64_t seed = (uint64_t)number;
    char model[40], date[40];
    struct vbs_provenance provenance = {.model = model,
                                        .input = "3x224x224",
                                        .backend = "onednn",
                                        .library = "oneDNN 2.6.3",
                                        .device = "a processor, 2 cores",
                                        .vbslab = vbs_version(),
                                        .date = date,
                                        .threads = 2};

    snprintf(model, sizeof model, "model-%02d", number % N_MODELS);
    snprintf(date, sizeof date, "2026-%02d-%02dT%02d:%02d:%02dZ", 1 + number / 86400 / 28 % 12,
             1 + number / 86400 % 28, number / 3600 % 24, number / 60 % 60, number % 60);
    check(s, builder ? VBS_OK : vbs_no_memory(&s->ctx));
    check(s, vbs_profile_builder_provenance(&s->ctx, builder, &provenance));
    for (int id = 1; id <= s->n_layers; id++) {
        struct vbs_profile_layer layer = {.name = "layer",
                                          .kind = "conv",
                                          .n_inputs = 1,
                                          .inputs = (const int[]){id - 1},
                                          .in_bytes = 4096,
                                          .out_bytes = 4096,
                                          .weight_bytes = 1 << 20};

        check(s, vbs_profile_builder_layer(&s->ctx, builder, &layer));
        for (int k = 0; k < 2 * N_BATCHES; k++) {
            double time_us = 100 + (double)(next_random(&seed) % 100000) / 64;
            struct vbs_profile_row row = {.time_us = time_us,
                                          .mad_us = 1,
                                          .low_us = time_us - 1,
                                          .high_us = time_us + 1,
                                          .n_runs = s->n_samples};

            check(s, vbs_profile_builder_row(&s->ctx, builder, id, 1 + k / 2,
                                             k % 2 ? "winograd" : "direct", &row));
        }
    }
    check(s, vbs_profile_builder_finish(&s->ctx, builder, &profile));
    vbs_profile_builder_free(builder);
    return profile;
}

/* Writes the samples of a kernel near its median. */
static void write_samples(struct scale *s, struct vbs_sample_packer *packer, int64_t kernel,
                          double time_us)
{
    double times_us[1000];
    int rounds[1000];
    struct vbs_kernel_samples samples = {.n = s->n_samples, .times_us = times_us, .rounds = rounds};

    for (int i = 0; i < s->n_samples; i++) {
        times_us[i] = time_us + (i - s->n_samples / 2) / 16.0;
        rounds[i] = i;
    }
    check(s, vbs_sample_packer_write(&s->ctx, packer, kernel, &samples));
}

static void add_profile(struct scale *s, struct vbs_store *store, int number)
{
    struct vbs_profile *profile = make_profile(s, number);
    struct vbs_sample_packer packer = {0};
    struct vbs_evidence evidence;
    char hash[VBS_PROFILE_HASH_SIZE];
    sqlite3_stmt *kernels;
    int64_t id = 0;
    bool row = true;

    check(s, vbs_rows_insert(&s->ctx, store, profile, &id));
    check(s, vbs_sample_packer_open(&s->ctx, store, false, &packer));
    check(s, vbs_sql_prepare(&s->ctx, store, "SELECT id, time_us FROM kernel WHERE profile = ?",
                             &kernels));
    check(s, vbs_sql_bind(&s->ctx, store, kernels, "i", id));
    for (;;) {
        check(s, vbs_sql_step(&s->ctx, store, kernels, &row));
        if (!row)
            break;
        write_samples(s, &packer, sqlite3_column_int64(kernels, 0),
                      sqlite3_column_double(kernels, 1));
    }
    sqlite3_finalize(kernels);
    vbs_sample_packer_clear(&packer);
    vbs_profile_hash(profile, hash);
    check(s, vbs_evidence_compute(&s->ctx, store, id, &evidence));
    check(s, vbs_rows_complete(&s->ctx, store, id, hash, &evidence, 0));
    vbs_profile_free(profile);
}

static void make_store(struct scale *s, const char *path, int first, int n)
{
    struct vbs_store *store;

    check(s, vbs_store_open(&s->ctx, path, VBS_STORE_WRITE, &store));
    for (int i = 0; i < n; i++) {
        if (i % PER_COMMIT == 0)
            check(s, vbs_sql_begin_write(&s->ctx, store));
        add_profile(s, store, first + i);
        if (i % PER_COMMIT == PER_COMMIT - 1 || i == n - 1)
            check(s, vbs_sql_end(&s->ctx, store, VBS_OK));
    }
    vbs_store_close(store);
}

/* ---- what people do ---- */

static void list(struct scale *s, struct vbs_store *store)
{
    struct vbs_store_list *all = NULL;

    check(s, vbs_store_profiles(&s->ctx, store, &all));
    vbs_store_list_free(all);
}

static void choose(struct scale *s, struct vbs_store *store)
{
    struct vbs_store_choice choice;

    check(s, vbs_store_choose(&s->ctx, store, "model-07", NULL, &choice));
}

static void choose_nothing(struct scale *s, struct vbs_store *store)
{
    struct vbs_store_choice choice;

    if (vbs_store_choose(&s->ctx, store, "modell-07", NULL, &choice) != VBS_NOT_FOUND)
        check(s, VBS_STORE);
}

static void load(struct scale *s, struct vbs_store *store)
{
    struct vbs_profile *profile = NULL;

    check(s, vbs_store_load(&s->ctx, store, s->n_profiles / 2, &profile));
    vbs_profile_free(profile);
}

/* Reads the samples of each row of a profile, as comparisons do. */
static void read_samples(struct scale *s, struct vbs_store *store)
{
    struct vbs_store_samples *samples = NULL;
    const struct vbs_sample_source *source;
    const double *times_us;
    int n;

    check(s, vbs_store_samples_open(&s->ctx, store, s->n_profiles / 2, &samples));
    source = vbs_store_samples_source(samples);
    for (int layer = 1; layer <= s->n_layers; layer++)
        for (int k = 0; k < 2 * N_BATCHES; k++)
            check(s, source->times(&s->ctx, source->self, layer, 1 + k / 2,
                                   k % 2 ? "winograd" : "direct", &times_us, &n));
    vbs_store_samples_free(samples);
}

static void tag(struct scale *s, struct vbs_store *store)
{
    check(s, vbs_store_tag(&s->ctx, store, 1, "tagged"));
}

static void add_one(struct scale *s, struct vbs_store *store)
{
    check(s, vbs_sql_begin_write(&s->ctx, store));
    add_profile(s, store, s->n_profiles + FEW);
    check(s, vbs_sql_end(&s->ctx, store, VBS_OK));
}

static void delete_one(struct scale *s, struct vbs_store *store)
{
    check(s, vbs_store_delete(&s->ctx, store, (const int64_t[]){1}, 1));
}

static void merge_path(struct scale *s, struct vbs_store *store, const char *path)
{
    struct vbs_merge_report *report = NULL;

    check(s, vbs_store_merge(&s->ctx, store, path, NULL, &report));
    vbs_merge_report_free(report);
}

static void merge_few(struct scale *s, struct vbs_store *store)
{
    merge_path(s, store, s->small);
}

static void merge_all(struct scale *s, struct vbs_store *store)
{
    merge_path(s, store, s->big);
}

/* Times work on a store that is opened anew, with the time of opening. */
static void time_work(struct scale *s, const char *name, const char *path,
                      void (*work)(struct scale *s, struct vbs_store *store))
{
    double begin_s = vbs_clock_s(), begin_cpu_s = vbs_thread_s();
    struct vbs_store *store;

    check(s, vbs_store_open(&s->ctx, path, VBS_STORE_WRITE, &store));
    work(s, store);
    vbs_store_close(store);
    printf("%s,%.3f,%.3f\n", name, vbs_clock_s() - begin_s, vbs_thread_s() - begin_cpu_s);
    fflush(stdout);
}

static void print_size(const char *path)
{
    struct stat info;

    if (stat(path, &info) == 0)
        printf("# %.2f GB\n", (double)info.st_size / 1e9);
}

static void time_all(struct scale *s)
{
    double begin_s = vbs_clock_s(), begin_cpu_s = vbs_thread_s();

    printf("# profiles %d, kernels %d, samples %.0f\nwork,seconds,cpu_seconds\n", s->n_profiles,
           s->n_profiles * s->n_layers * 2 * N_BATCHES,
           (double)s->n_profiles * s->n_layers * 2 * N_BATCHES * s->n_samples);
    fflush(stdout);
    make_store(s, s->big, 0, s->n_profiles);
    make_store(s, s->small, s->n_profiles, FEW);
    printf("making it,%.3f,%.3f\n", vbs_clock_s() - begin_s, vbs_thread_s() - begin_cpu_s);
    print_size(s->big);
    time_work(s, "listing the profiles", s->big, list);
    time_work(s, "listing them again", s->big, list);
    time_work(s, "choosing a profile of a model", s->big, choose);
    time_work(s, "choosing one of an unknown model", s->big, choose_nothing);
    time_work(s, "loading a profile", s->big, load);
    time_work(s, "reading all its samples", s->big, read_samples);
    time_work(s, "tagging", s->big, tag);
    time_work(s, "storing one more profile", s->big, add_one);
    time_work(s, "merging ten profiles", s->big, merge_few);
    time_work(s, "merging them again", s->big, merge_few);
    time_work(s, "deleting a profile", s->big, delete_one);
    time_work(s, "merging all into a new store", s->all, merge_all);
    time_work(s, "merging all again", s->all, merge_all);
}

int main(int argc, char **argv)
{
    struct scale s = {.n_profiles = argc > 2 ? atoi(argv[2]) : 2000,
                      .n_layers = (argc > 3 ? atoi(argv[3]) : 500) / (2 * N_BATCHES),
                      .n_samples = argc > 4 ? atoi(argv[4]) : 100};

    if (argc < 2 || argc > 5 || s.n_profiles < 1 || s.n_layers < 1 || s.n_samples < 1 ||
        s.n_samples > 1000) {
        fprintf(stderr, "usage: store FOLDER [PROFILES [KERNELS [SAMPLES]]]\n");
        return 2;
    }
    snprintf(s.big, sizeof s.big, "%s/big.sqlite", argv[1]);
    snprintf(s.small, sizeof s.small, "%s/small.sqlite", argv[1]);
    snprintf(s.all, sizeof s.all, "%s/all.sqlite", argv[1]);
    signal(SIGINT, on_signal);
    signal(SIGTERM, on_signal);
    vbs_ctx_set_cancel(&s.ctx, &stop);
    time_all(&s);
    unlink(s.big);
    unlink(s.small);
    unlink(s.all);
    return 0;
}
