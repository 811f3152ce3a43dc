/*
 * Executors that cannot be made, and runs that end early: kernels and packing fail, runs are
 * stopped, backends execute nothing, cannot pack weights, or need more memory than the profile
 * says, and a file of packed weights is cut short. Each has its status and one reason, leaves
 * nothing open, and what comes after it is as if it had not been.
 */
#include "support/exec_case.h"
#include "fake/exec.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "cases/weights_chain.h"
#include "support/tap.h"

#include "base/ctx.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SEED    919
#define PLACE_S 0.25 /* for moves, which are found in a hundredth of it */
#define NO_TIME 1e-9 /* only placements without moves */
#define N_CASES 40
#define SCALE   64

/* ---- runs that end early ---- */

struct tally {
    int n, n_refused, n_failed; /* refused: no executor was made of an odd schedule */
    int n_broken;
    int n_moved, n_resident; /* schedules with moves; with resident weights */
};

static bool has_residents(const struct vbs_schedule *schedule)
{
    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].resident)
            return true;
    return false;
}

static void try_case(struct tally *tally, const struct vbs_profile *profile,
                     struct vbs_schedule *schedule, int i, double place_s)
{
    struct exec_case c = {
        .profile = profile, .schedule = schedule, .breaks = true, .less = i % 2 ? 40 : 0};
    bool good;

    c.options.debug_checks = i % 4 < 2;
    c.options.trace = i % 3 == 0;
    c.options.place_limit_s = place_s;
    good = exec_case_run(&c);
    tally->n++;
    tally->n_broken += c.n_broken;
    tally->n_refused += c.opened != VBS_OK;
    tally->n_moved += good && c.placement.n_moves > 0;
    tally->n_resident += good && has_residents(schedule);
    if (!good && c.opened == VBS_OK && tally->n_failed++ < 5)
        printf("# case %d: %s\n", i, c.why);
}

static void report(const struct tally *tally, const char *what)
{
    ok(tally->n_failed == 0 && 2 * tally->n_refused < tally->n && tally->n_broken > 5 * tally->n,
       "%s: %d runs of %d schedules end early, and the next ones are right", what, tally->n_broken,
       tally->n - tally->n_refused);
    printf("# %d with moves, %d with resident weights\n", tally->n_moved, tally->n_resident);
}

static void break_paths(gsl_rng *rng, enum vbs_io io)
{
    struct tally tally = {0};

    for (int i = 0; i < N_CASES; i++) {
        struct vbs_profile *draft =
            random_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), 8);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 8) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_schedule(rng, profile, random_int(rng, 1, 6), io) : NULL;

        if (schedule)
            try_case(&tally, profile, schedule, i, PLACE_S);
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    report(&tally, io == VBS_IO_RESIDENT ? "paths, io resident" : "paths");
    ok(tally.n_moved > 0, "  some with moves");
}

static void break_transfers(gsl_rng *rng, enum vbs_io io)
{
    struct tally tally = {0};

    for (int i = 0; i < N_CASES; i++) {
        struct vbs_profile *draft = random_transfer_profile(rng, 4, 6);
        struct vbs_profile *profile = draft ? exec_fake_profile(draft, 1) : NULL;
        struct vbs_schedule *schedule =
            profile ? random_transfer_schedule(rng, profile, random_int(rng, 1, 4), io, 4) : NULL;

        if (schedule) {
            schedule->copy =
                (struct vbs_link){.source = "given", .latency_us = 1, .bytes_per_us = 100};
            try_case(&tally, profile, schedule, i, NO_TIME);
            schedule->copy = (struct vbs_link){0};
        }
        vbs_schedule_free(schedule);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    report(&tally, io == VBS_IO_RESIDENT ? "transfers, io resident" : "transfers");
    ok(tally.n_resident > 0, "  some with resident weights");
}

/* Runs end while other weights are where resident weights were, which come back at the end. */
static void break_evicted(const struct vbs_profile *profile)
{
    static const struct vbs_step STEPS[] = {
        KEEP(1, 100 * SCALE), RUN(1, 1),           EVICT(1, 100 * SCALE),
        LOAD(3, 60 * SCALE),  RUN(2, 1),           RUN(3, 1),
        EVICT(3, 60 * SCALE), LOAD(1, 100 * SCALE)};
    struct vbs_schedule schedule = weights_schedule(1, STEPS, COUNT(STEPS));
    struct tally tally = {0};

    for (int i = 0; i < 4; i++)
        try_case(&tally, profile, &schedule, i, PLACE_S);
    report(&tally, "resident weights that are evicted");
}

/* ---- executors that are not made ---- */

/* An executor of the chain with weights, for one sample, and the values of its output. */
struct trial {
    const struct vbs_profile *profile;
    struct vbs_network *network;
    struct vbs_schedule schedule;
    struct vbs_exec_options options;
    struct vbs_exec_placement placement;
    struct vbs_exec *exec;
    float *want, *got;
    int64_t n_values;
    struct vbs_ctx ctx;
};

static const struct vbs_step STREAMED[] = {LOAD(1, 100 * SCALE), RUN(1, 1), RUN(2, 1),
                                           LOAD(3, 60 * SCALE),  RUN(3, 1), EVICT(1, 100 * SCALE)};
static const struct vbs_step RESIDENT[] = {KEEP(1, 100 * SCALE), KEEP(3, 60 * SCALE), RUN(1, 1),
                                           RUN(2, 1), RUN(3, 1)};
static const struct vbs_step PLAIN[] = {RUN(1, 1), RUN(2, 1), RUN(3, 1)};

static void begin(struct trial *t, const struct vbs_step *steps, int64_t n_steps)
{
    exec_fake_reset(t->profile);
    t->schedule = weights_schedule(1, steps, n_steps);
    t->options =
        (struct vbs_exec_options){.struct_size = sizeof t->options, .memory_bytes = 1 << 20};
}

static enum vbs_status open_trial(struct trial *t)
{
    t->ctx = (struct vbs_ctx){0};
    t->exec = NULL;
    return vbs_exec_new(&t->ctx, t->network, &exec_fake_backend, t->profile, &t->schedule,
                        &t->options, &t->placement, &t->exec);
}

static enum vbs_status run_trial(struct trial *t)
{
    struct vbs_exec_report result;

    t->ctx = (struct vbs_ctx){0};
    memset(t->got, 0xff, (size_t)t->n_values * sizeof *t->got);
    return vbs_exec_run(&t->ctx, t->exec, NULL, &t->got, &result);
}

static bool is_right(const struct trial *t)
{
    return exec_fake.n_wrong == 0 &&
           memcmp(t->want, t->got, (size_t)t->n_values * sizeof *t->got) == 0;
}

/* Makes an executor, runs it once and checks its output. */
static bool works(struct trial *t)
{
    bool done = open_trial(t) == VBS_OK && run_trial(t) == VBS_OK && is_right(t);

    if (!done)
        printf("# %s\n", exec_fake.n_wrong > 0 ? exec_fake.why : vbs_detail(&t->ctx));
    vbs_exec_free(t->exec);
    t->exec = NULL;
    return done && exec_fake.n_open == 0;
}

/* Gives the lowest number that the next file gets, which grows where files stay open. */
static int next_file(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

    close(fd);
    return fd;
}

static void check_refusal(struct trial *t, enum vbs_status status, const char *why,
                          const char *what)
{
    int file = next_file();

    is_int(open_trial(t), status, what);
    is_str(vbs_detail(&t->ctx), why, "  with a line");
    ok(!t->exec && exec_fake.n_open == 0 && next_file() == file, "  and nothing stays open");
}

static void test_packing(struct trial *t, const char *path)
{
    begin(t, STREAMED, COUNT(STREAMED));
    t->options.weights_path = path;
    for (int call = 0; call < 2; call++) {
        exec_fake.n_packs = 0;
        exec_fake.die_at = call;
        check_refusal(t, VBS_LIBRARY, "packing died",
                      call ? "packing that fails later" : "packing that fails");
        is_int(access(path, F_OK), -1, "  no file is left");
    }
    exec_fake.die_at = -1;
    ok(works(t), "  then it packs");
    unlink(path);
}

static void test_no_pack(struct trial *t)
{
    begin(t, STREAMED, COUNT(STREAMED));
    t->options.memory_bytes = 1; /* too little, but only packing is refused */
    exec_fake.no_pack = true;
    check_refusal(t, VBS_UNSUPPORTED,
                  "backend 'fake' keeps weights outside the budget; plan with weights excluded",
                  "a schedule with weights on a backend that does not pack");
    begin(t, PLAIN, COUNT(PLAIN));
    t->schedule.weights = VBS_WEIGHTS_EXCLUDED;
    t->schedule.copy = (struct vbs_link){0};
    exec_fake.no_pack = true;
    ok(works(t), "  one with weights excluded runs");
}

static void test_model(struct trial *t)
{
    begin(t, STREAMED, COUNT(STREAMED));
    exec_fake.is_model = true;
    check_refusal(t, VBS_UNSUPPORTED, "backend 'fake' is a model; it executes nothing", "a model");
}

static void test_more_workspace(struct trial *t)
{
    int64_t least_bytes;

    begin(t, STREAMED, COUNT(STREAMED));
    ok(works(t), "a schedule in enough memory");
    least_bytes = t->options.memory_bytes = t->placement.placed_bytes;
    ok(works(t), "  and in the bytes of its placement, %lld", (long long)least_bytes);
    exec_fake.more_ws = 1000;
    check_refusal(t, VBS_INFEASIBLE,
                  "no placement within 11840 bytes (11.6 KiB) was found; what lives at once takes "
                  "12840 bytes (12.5 KiB), the best placement 12840 bytes (12.5 KiB); layer 1 'L1' "
                  "needs a workspace of 1000 bytes at batch 1 with algorithm 'default' here, of 0 "
                  "bytes in the profile: measure anew",
                  "one whose kernels need larger workspaces here");
    ok(t->placement.placed_bytes > least_bytes, "  the placement tells the bytes");
    t->options.memory_bytes = t->placement.placed_bytes;
    ok(works(t), "  in which it runs");
}

/* ---- the file of packed weights ---- */

static void test_short_file(struct trial *t, const char *path)
{
    begin(t, RESIDENT, COUNT(RESIDENT));
    t->options.weights_path = path;
    is_int(open_trial(t), VBS_OK, "an executor with resident weights");
    ok(run_trial(t) == VBS_OK && truncate(path, 100) == 0 && run_trial(t) == VBS_OK && is_right(t),
       "  reads them once, so that the file may be cut short");
    exec_fake.n_calls = 0;
    exec_fake.die_at = 1;
    is_int(run_trial(t), VBS_LIBRARY, "  a run fails");
    exec_fake.die_at = -1;
    for (int run = 0; run < 2; run++)
        is_int(run_trial(t), VBS_IO, "  the next ones read the weights again, and fail");
    ok(strstr(vbs_detail(&t->ctx), path), "  with a line that names the file: %s",
       vbs_detail(&t->ctx));
    vbs_exec_free(t->exec);
    is_int(exec_fake.n_open, 0, "  nothing stays open");
    ok(works(t), "  the next executor writes it anew");
    unlink(path);
}

int main(void)
{
    char path[] = "/tmp/vbslab-failures-XXXXXX";
    struct vbs_profile *draft = weights_chain(1, false);
    struct vbs_profile *profile = exec_fake_profile(draft, SCALE);
    struct trial t = {.profile = profile, .network = exec_fake_network(profile)};
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    t.n_values = vbs_shape_elements(&t.network->outputs[0].shape);
    t.want = malloc((size_t)t.n_values * sizeof *t.want);
    t.got = malloc((size_t)t.n_values * sizeof *t.got);
    if (!exec_fake_reference(profile, t.network, 1, NULL, &t.want))
        bail_out("out of memory");
    close(mkstemp(path));
    unlink(path);
    test_packing(&t, path);
    test_no_pack(&t);
    test_model(&t);
    test_more_workspace(&t);
    test_short_file(&t, path);
    break_evicted(profile);
    gsl_rng_set(rng, SEED);
    for (int io = 0; io < 2; io++) {
        break_paths(rng, (enum vbs_io)io);
        break_transfers(rng, (enum vbs_io)io);
    }
    gsl_rng_free(rng);
    exec_fake_network_free(t.network);
    vbs_profile_free(profile);
    vbs_profile_free(draft);
    free(t.want);
    free(t.got);
    return done_testing();
}
