/*
 * The simple tier within a limit of the whole process: plans keep it by the estimate, nothing is
 * prepared that was not estimated to keep it in the arena that it gets, limits that no plan keeps
 * are refused with numbers, and a fresh process stays within its limit. The linker puts functions
 * of this file around those that tell what the process takes, that place and that prepare.
 */
#include "support/made_profile.h"
#include "support/refused_plan.h"
#include "support/tap.h"

#include "base/fail.h"
#include "vbslab/simple.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB     ((int64_t)1 << 20)
#define REQUEST 32
#define BEFORE  (20 * MIB) /* of the process before planning, as the tests pretend */
#define ANY     (2048 * MIB)
#define VALUES  (REQUEST * 7)
#define PROFILE "within-profile.csv"

static const char NETWORK[] = "model wide\n"
                              "input 3x64x64\n"
                              "conv c1 out=32 kernel=3 pad=1\n"
                              "relu r1\n"
                              "conv c2 out=32 kernel=3 pad=1\n"
                              "maxpool p1 kernel=8 stride=8\n"
                              "fc f out=7\n";

/* What the functions around others do, and what they saw. */
static struct {
    int64_t before_bytes; /* 0: ask the system */
    int n_refused;        /* placements to refuse from now on */
    int n_placed, n_made;
    int64_t limit_bytes; /* that is checked when an executor is made */
    bool kept;
    int64_t peak_bytes;
} around = {.before_bytes = BEFORE};

__typeof__(vbs_exec_process_bytes) __real_vbs_exec_process_bytes, __wrap_vbs_exec_process_bytes;
int64_t __wrap_vbs_exec_process_bytes(void)
{
    return around.before_bytes ? around.before_bytes : __real_vbs_exec_process_bytes();
}

__typeof__(vbs_exec_place) __real_vbs_exec_place, __wrap_vbs_exec_place;
enum vbs_status __wrap_vbs_exec_place(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                      const struct vbs_schedule *schedule,
                                      const struct vbs_exec_options *options,
                                      struct vbs_exec_placement *placement,
                                      struct vbs_exec_placed **placed)
{
    around.n_placed++;
    if (around.n_refused == 0)
        return __real_vbs_exec_place(ctx, profile, schedule, options, placement, placed);
    around.n_refused--;
    placement->placed_bytes = options->memory_bytes + MIB;
    return VBS_INFEASIBLE;
}

/* Returns the estimate of a schedule's process. */
static struct vbs_exec_memory estimate(const struct vbs_profile *profile,
                                       const struct vbs_schedule *schedule, int64_t before_bytes)
{
    const struct vbs_exec_memory_options options = {
        .struct_size = sizeof options, .process_bytes = before_bytes, .threads = 1};
    struct vbs_exec_memory memory = {.total_bytes = INT64_MAX};

    if (vbs_exec_memory(NULL, profile, schedule, &options, &memory) != VBS_OK)
        memory.total_bytes = INT64_MAX;
    return memory;
}

__typeof__(vbs_exec_new) __real_vbs_exec_new, __wrap_vbs_exec_new;

/* Judges what is prepared with all pages of its arena, and a sixteenth more of these. */
enum vbs_status __wrap_vbs_exec_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend *backend,
                                    const struct vbs_profile *profile,
                                    const struct vbs_schedule *schedule,
                                    const struct vbs_exec_options *options,
                                    struct vbs_exec_placement *placement, struct vbs_exec **exec)
{
    struct vbs_exec_memory memory = estimate(profile, schedule, BEFORE);
    int64_t page = sysconf(_SC_PAGESIZE);
    int64_t more = (options->memory_bytes + page - 1) / page * page - memory.arena_bytes;

    more = more > 0 ? more + more / 16 + 1 : 0;
    around.kept = memory.total_bytes <= around.limit_bytes - more;
    if (!around.kept && around.before_bytes > 0)
        printf("# %lld and %lld bytes of %lld\n", (long long)memory.total_bytes, (long long)more,
               (long long)around.limit_bytes);
    around.n_made++;
    return __real_vbs_exec_new(ctx, network, backend, profile, schedule, options, placement, exec);
}

static struct vbs_simple_options options_of(int64_t limit_bytes)
{
    return (struct vbs_simple_options){.struct_size = sizeof(struct vbs_simple_options),
                                       .request = REQUEST,
                                       .total_memory_bytes = limit_bytes,
                                       .threads = 1,
                                       .folder = "/tmp"};
}

/* ---- Plans ---- */

/* Returns a plan within a limit; null: there is none. */
static struct vbs_schedule *plan(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                 int64_t limit_bytes, enum vbs_weights weights)
{
    struct vbs_simple_options options = options_of(limit_bytes);
    struct vbs_schedule *schedule = NULL;

    options.weights = weights;
    if (vbs_simple_plan(ctx, profile, &options, &schedule) != VBS_OK)
        return NULL;
    return schedule;
}

/* Returns the estimate of the plan that has all the memory that it wants. */
static struct vbs_exec_memory most_memory(struct vbs_ctx *ctx, const struct vbs_profile *profile)
{
    struct vbs_schedule *schedule = plan(ctx, profile, ANY, VBS_WEIGHTS_EXCLUDED);
    struct vbs_exec_memory memory = {0};

    if (ok(schedule, "a plan with a limit that binds nothing"))
        memory = estimate(profile, schedule, BEFORE);
    vbs_schedule_free(schedule);
    return memory;
}

static void plans_keep_limits(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                              const struct vbs_exec_memory *most, enum vbs_weights weights)
{
    int n = 0, n_kept = 0, n_refused = 0, n_smaller = 0;

    for (int64_t limit = BEFORE; limit <= most->total_bytes; limit += MIB / 2, n++) {
        struct vbs_schedule *schedule = plan(ctx, profile, limit, weights);
        struct vbs_exec_memory memory;

        if (!schedule) {
            n_refused += vbs_ctx_status(ctx) == VBS_INFEASIBLE;
            continue;
        }
        memory = estimate(profile, schedule, BEFORE);
        n_kept += memory.total_bytes <= limit;
        n_smaller += memory.arena_bytes < most->arena_bytes;
        vbs_schedule_free(schedule);
    }
    ok(n_kept > 0 && n_refused > 0 && n_kept + n_refused == n,
       "of %d limits %d are kept by the estimate, and the others refused (weights %s)", n, n_kept,
       vbs_weights_word(weights));
    ok(n_smaller > 0, "%d of the plans have smaller arenas than the fastest", n_smaller);
}

static void enough_is_as_fast_as_any(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                     const struct vbs_exec_memory *most)
{
    struct vbs_schedule *any = plan(ctx, profile, ANY, VBS_WEIGHTS_EXCLUDED);
    struct vbs_schedule *enough = plan(ctx, profile, most->total_bytes, VBS_WEIGHTS_EXCLUDED);

    ok(any && enough && enough->predicted.time_us == any->predicted.time_us,
       "what the fastest plan takes by the estimate is enough for it");
    vbs_schedule_free(any);
    vbs_schedule_free(enough);
}

/* ---- Executors ---- */

/* Keeps the most that the process has taken, as the system counts it; a run counts anew. */
static void keep_peak(void)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long kib = 0;

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "VmHWM: %lld kB", &kib) == 1 && kib * 1024 > around.peak_bytes)
            around.peak_bytes = kib * 1024;
    if (file)
        fclose(file);
}

/* Prepares within a limit and runs the request; false: it was refused. */
static bool run(struct vbs_ctx *ctx, const struct vbs_network *network,
                const struct vbs_profile *profile, int64_t limit_bytes, enum vbs_weights weights,
                float *values)
{
    struct vbs_simple_options options = options_of(limit_bytes);
    float *const outputs[] = {values};
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    bool good;

    options.weights = weights;
    around.limit_bytes = limit_bytes;
    around.n_made = around.n_placed = 0;
    good = vbs_simple_prepare(ctx, network, profile, &options, NULL, &exec) == VBS_OK;
    keep_peak();
    good = good && vbs_exec_run(ctx, exec, NULL, outputs, &report) == VBS_OK;
    keep_peak();
    vbs_exec_free(exec);
    return good;
}

static bool are_close(const float *got, const float *want)
{
    double largest = 0, difference = 0;

    for (int i = 0; i < VALUES; i++) {
        largest = fmax(largest, fabs((double)want[i]));
        difference = fmax(difference, fabs((double)want[i] - (double)got[i]));
    }
    return largest > 0 && difference <= 1e-4 * largest;
}

static void what_is_prepared_keeps_its_limit(struct vbs_ctx *ctx, const struct vbs_network *network,
                                             const struct vbs_profile *profile,
                                             const struct vbs_exec_memory *most)
{
    float want[VALUES], got[VALUES];

    ok(run(ctx, network, profile, ANY, VBS_WEIGHTS_EXCLUDED, want),
       "a request without a bound is run");
    for (int i = 0; i < 6; i++) {
        enum vbs_weights weights = i % 2 ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED;
        int64_t limit = most->total_bytes - i * most->arena_bytes / 8;
        bool good = run(ctx, network, profile, limit, weights, got);

        ok(good && around.n_made == 1 && around.kept && are_close(got, want),
           "%lld bytes, weights %s: estimated, prepared once, and the same values",
           (long long)limit, vbs_weights_word(weights));
    }
}

static void plans_that_cannot_be_placed_are_replaced(struct vbs_ctx *ctx,
                                                     const struct vbs_network *network,
                                                     const struct vbs_profile *profile,
                                                     const struct vbs_exec_memory *most)
{
    float got[VALUES];

    around.n_refused = 3;
    ok(run(ctx, network, profile, most->total_bytes, VBS_WEIGHTS_EXCLUDED, got) &&
           around.n_placed == 4 && around.n_made == 1 && around.kept,
       "after three plans that cannot be placed the fourth is prepared, within the limit");
    around.n_refused = 1000;
    ok(!run(ctx, network, profile, most->total_bytes, VBS_WEIGHTS_EXCLUDED, got) &&
           vbs_ctx_status(ctx) == VBS_INFEASIBLE && around.n_made == 0 && around.n_placed > 1,
       "where none can be placed none is prepared");
    ok(strstr(vbs_detail(ctx), "20 MiB were there before planning; the first plan lacks 1 MiB"),
       "and the numbers are named: %s", vbs_detail(ctx));
    around.n_refused = 0;
}

static void a_limit_that_no_plan_keeps_is_refused(struct vbs_ctx *ctx,
                                                  const struct vbs_network *network,
                                                  const struct vbs_profile *profile)
{
    struct vbs_simple_options options = options_of(MIB);
    struct vbs_schedule *schedule = NULL;
    struct vbs_exec *exec = NULL;

    around.n_made = around.n_placed = 0;
    is_int(vbs_simple_plan(ctx, profile, &options, &schedule), VBS_INFEASIBLE,
           "1 MiB is infeasible");
    ok(!schedule && strstr(vbs_detail(ctx), "where 1 MiB is the limit") &&
           strstr(vbs_detail(ctx), "20 MiB were there before planning"),
       "and the numbers are named: %s", vbs_detail(ctx));
    is_int(vbs_simple_prepare(ctx, network, profile, &options, &schedule, &exec), VBS_INFEASIBLE,
           "nor can it be prepared");
    ok(!schedule && !exec && around.n_made == 0 && around.n_placed == 0, "and nothing was");
}

/* ---- Options ---- */

static void wrong_options_are_refused(struct vbs_ctx *ctx, struct vbs_profile *profile)
{
    struct vbs_simple_options options = options_of(ANY);
    const char *backend = profile->provenance.backend;
    struct vbs_schedule *schedule = NULL;

    options.memory_bytes = MIB;
    refuses_plan(ctx, profile, &options, VBS_USAGE, "one of memory_bytes and total_memory_bytes");
    options.struct_size = offsetof(struct vbs_simple_options, total_memory_bytes);
    ok(vbs_simple_plan(ctx, profile, &options, &schedule) == VBS_OK &&
           schedule->memory_bytes == MIB,
       "a program with an older header has no limit");
    vbs_schedule_free(schedule);
    options = options_of(0);
    refuses_plan(ctx, profile, &options, VBS_USAGE, "total_memory_bytes has to be 1 or more");
    options = options_of(-1);
    refuses_plan(ctx, profile, &options, VBS_USAGE, "a limit of -1 bytes");
    options = options_of(ANY);
    profile->provenance.backend = "cudnn";
    refuses_plan(ctx, profile, &options, VBS_UNSUPPORTED, "'cudnn' computes in a device's");
    profile->provenance.backend = backend;
    around.before_bytes = -1;
    refuses_plan(ctx, profile, &options, VBS_UNSUPPORTED, "the system does not tell");
    around.before_bytes = BEFORE;
}

/* ---- A fresh process ---- */

static bool is_sanitized(void)
{
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    return true;
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return true;
#else
    return false;
#endif
}

static struct vbs_network *parse_network(void)
{
    struct vbs_network *network = NULL;

    if (vbs_network_parse(NULL, "wide", NETWORK, sizeof NETWORK - 1, NULL, &network) != VBS_OK)
        return NULL;
    return network;
}

/* The work of the fresh process. Without a limit it prints what the fastest plan would take by the
 * estimate; with one it runs the request and prints the most that it took. */
static int work(int64_t limit_bytes)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = parse_network();
    struct vbs_profile *profile = NULL;
    struct vbs_schedule *schedule = NULL;
    float values[VALUES];
    int64_t bytes = -1;

    around.before_bytes = 0;
    if (network && vbs_profile_read_csv(&ctx, PROFILE, &profile) == VBS_OK) {
        int64_t before = vbs_exec_process_bytes();

        if (limit_bytes > 0)
            bytes = run(&ctx, network, profile, limit_bytes, VBS_WEIGHTS_EXCLUDED, values)
                        ? around.peak_bytes
                        : -1;
        else if ((schedule = plan(&ctx, profile, ANY, VBS_WEIGHTS_EXCLUDED)))
            bytes = estimate(profile, schedule, before).total_bytes;
    }
    printf("%lld\n", (long long)bytes);
    if (bytes < 0)
        fprintf(stderr, "# %s\n", vbs_detail(&ctx));
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    vbs_network_free(network);
    return 0;
}

/* Starts this program anew and returns the bytes that it prints. */
static int64_t work_apart(int64_t limit_bytes)
{
    char limit[24], text[64] = "";
    int ends[2], status = -1;
    ssize_t n = 0;
    pid_t child;

    snprintf(limit, sizeof limit, "%lld", (long long)limit_bytes);
    if (pipe(ends) != 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execl("/proc/self/exe", "within", limit, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    for (ssize_t got; n < (ssize_t)sizeof text - 1 &&
                      (got = read(ends[0], text + n, sizeof text - 1 - (size_t)n)) > 0;)
        n += got;
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0)
        return -1;
    return atoll(text);
}

static void a_fresh_process_stays_within_its_limit(const struct vbs_exec_memory *most)
{
    int64_t any = work_apart(0), limit = any - most->arena_bytes / 2, taken;

    if (!ok(any > most->arena_bytes, "the fastest plan takes about %lld bytes in a fresh process",
            (long long)any))
        return;
    taken = work_apart(limit);
    if (is_sanitized())
        return skip("a fresh process stays within less", "a sanitizer keeps memory of its own");
    ok(taken > limit / 4 && taken <= limit, "a limit of %lld bytes: it takes %lld at most",
       (long long)limit, (long long)taken);
}

/* Adds the rows of a layer at a batch, which take less for each sample in larger batches. */
static enum vbs_status add_rows(struct vbs_ctx *ctx, struct vbs_profile_builder *builder,
                                const struct vbs_profile *profile, int layer, int i)
{
    int n_rows, batch = profile->batches[i];
    const struct vbs_profile_row *rows = vbs_profile_rows(profile, layer, i, &n_rows);

    for (int r = 0; r < n_rows; r++) {
        struct vbs_profile_row row = rows[r];

        row.time_us = row.low_us = row.high_us = 100.0 * (8 + batch) + r;
        row.mad_us = 0;
        VBS_TRY(vbs_profile_builder_row(ctx, builder, layer, batch,
                                        profile->algorithms[row.algorithm], &row));
    }
    return VBS_OK;
}

/* Returns the profile with times that are the same on every machine, and frees the measured one. */
static struct vbs_profile *with_steady_times(struct vbs_ctx *ctx, struct vbs_profile *measured)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    enum vbs_status status =
        builder ? vbs_profile_builder_provenance(ctx, builder, &measured->provenance)
                : VBS_NO_MEMORY;
    struct vbs_profile *made;

    for (int k = 1; k <= measured->n_layers && status == VBS_OK; k++)
        status = vbs_profile_builder_layer(ctx, builder, &measured->layers[k]);
    for (int k = 1; k <= measured->n_layers; k++)
        for (int i = 0; i < measured->n_batches && status == VBS_OK; i++)
            status = add_rows(ctx, builder, measured, k, i);
    made = made_profile(ctx, builder, status);
    vbs_profile_free(measured);
    return made;
}

static struct vbs_profile *measure(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    static const int BATCHES[] = {1, 8, 32};
    struct vbs_simple_options options = options_of(0);
    struct vbs_profile *profile = NULL;

    options.batches = BATCHES;
    options.n_batches = 3;
    options.time_limit_s = 0.05;
    if (!network || vbs_simple_measure(ctx, network, &options, &profile) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(ctx));
    profile = with_steady_times(ctx, profile);
    if (vbs_profile_write_csv(ctx, profile, PROFILE) != VBS_OK)
        bail_out("no file: %s", vbs_detail(ctx));
    return profile;
}

int main(int argc, char **argv)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    struct vbs_exec_memory most;

    if (argc > 1)
        return work(atoll(argv[1]));
    network = parse_network();
    profile = measure(&ctx, network);
    most = most_memory(&ctx, profile);
    plans_keep_limits(&ctx, profile, &most, VBS_WEIGHTS_EXCLUDED);
    plans_keep_limits(&ctx, profile, &most, VBS_WEIGHTS_INCLUDED);
    enough_is_as_fast_as_any(&ctx, profile, &most);
    what_is_prepared_keeps_its_limit(&ctx, network, profile, &most);
    plans_that_cannot_be_placed_are_replaced(&ctx, network, profile, &most);
    a_limit_that_no_plan_keeps_is_refused(&ctx, network, profile);
    wrong_options_are_refused(&ctx, profile);
    a_fresh_process_stays_within_its_limit(&most);
    unlink(PROFILE);
    vbs_profile_free(profile);
    vbs_network_free(network);
    return done_testing();
}
