/*
 * A schedule of planner joint for the least budget that it names, with the weights inside it, is
 * executed in that budget, to the byte. Weights then lie at any values, and the outputs are, bit by
 * bit, those of the same schedule in more memory, where weights are aligned.
 */
#include "exec/placed.h"

#include "cases/random_network.h"
#include "cases/random_weights.h"
#include "fake/exec.h"
#include "reference/exec/layout_check.h"
#include "support/session_profile.h"
#include "support/tap.h"
#include "support/trials.h"

#include "vbslab/exec.h"
#include "vbslab/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SEED       99
#define N_PROFILES 30
#define N_NETWORKS 40
#define SHORT_S    1 /* limit of a search for what mostly is found at once or not at all */
#define MORE_BYTES ((int64_t)1 << 20) /* with them, no buffer has to be dense */

/* Networks of tests/data/onnx whose least budgets lacked 4 to 64 bytes while weights had to begin
 * at multiples of 64. */
static const char *const NAMES[] = {
    "blocks",           "fused",          "later", "old_06", "outputs", "sampled_20",
    "torch_flatten_11", "whole_reversed",
};
#define N_NAMES ((int)(sizeof NAMES / sizeof NAMES[0]))

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    const struct vbs_network *network;
    const struct vbs_profile *profile;
    int64_t request;
    enum vbs_io io;
    int64_t most_holes;   /* bytes that may be missing */
    double place_limit_s; /* 0: the usual one */
    bool reads_directly;  /* it is also executed with direct reads */
};

struct tally {
    int n, n_missed, n_wrong, n_dense;
    int64_t most_missed; /* bytes */
};

static struct vbs_schedule *plan(struct subject *t)
{
    const struct vbs_problem problem = {
        .profile = t->profile,
        .request = t->request,
        .io = t->io,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 2000}};
    const struct vbs_planner *planner = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (vbs_planner_find(&t->ctx, "joint", &planner) != VBS_OK ||
        vbs_solver_new(&t->ctx, planner, &problem, NULL, &solver) != VBS_OK ||
        vbs_solver_plan(&t->ctx, solver, vbs_solver_least_bytes(solver), &schedule) != VBS_OK)
        bail_out("no plan: %s", vbs_detail(&t->ctx));
    vbs_solver_free(solver);
    return schedule;
}

/* Places a schedule in its budget, and has the layout judged. Returns the bytes that are missing;
 * -1: the layout has a fault. *placed is the caller's to free; *is_dense: its buffers are. */
static int64_t place(struct subject *t, const struct vbs_schedule *schedule,
                     struct vbs_exec_placed **placed, bool *is_dense)
{
    const struct vbs_exec_options options = {.place_limit_s = t->place_limit_s};
    enum vbs_status status = vbs_exec_placed_new(&t->ctx, t->profile, schedule, placed);

    *is_dense = false;
    if (status == VBS_OK)
        status = vbs_exec_placed_search(&t->ctx, *placed, &options);
    if (status == VBS_INFEASIBLE)
        return (*placed)->fit.placement.placed_bytes - schedule->memory_bytes;
    if (status != VBS_OK || layout_fault(&(*placed)->fit, schedule->memory_bytes))
        return -1;
    *is_dense = (*placed)->fit.is_dense;
    return 0;
}

static int64_t count_values(const struct subject *t, int output)
{
    return t->request * vbs_shape_elements(&t->network->outputs[output].shape);
}

static void free_outputs(const struct subject *t, float **outputs)
{
    for (int i = 0; outputs && i < t->network->n_outputs; i++)
        free(outputs[i]);
    free(outputs);
}

/* Runs a schedule twice in so many bytes at the offsets of placed, or, where it is null, at others
 * with direct reads. Returns the outputs; null: it failed. */
static float **run(struct subject *t, const struct vbs_schedule *schedule, int64_t bytes,
                   struct vbs_exec_placed *placed)
{
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .threads = 1,
                                             .memory_bytes = bytes,
                                             .place_limit_s = t->place_limit_s,
                                             .placed = placed,
                                             .direct = !placed,
                                             .debug_checks = true};
    float **outputs = calloc((size_t)t->network->n_outputs + 1, sizeof *outputs);
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    enum vbs_status status =
        vbs_exec_new(&t->ctx, t->network, t->backend, t->profile, schedule, &options, NULL, &exec);

    for (int i = 0; i < t->network->n_outputs; i++)
        outputs[i] = calloc((size_t)count_values(t, i) + 1, sizeof **outputs);
    for (int i = 0; i < 2 && status == VBS_OK; i++)
        status = vbs_exec_run(&t->ctx, exec, NULL, outputs, &report);
    vbs_exec_free(exec);
    if (status == VBS_OK)
        return outputs;
    printf("# %s\n", vbs_detail(&t->ctx));
    free_outputs(t, outputs);
    return NULL;
}

/* Returns whether a schedule gives at these offsets, and in its budget with direct reads, what it
 * gives in more memory. */
static bool is_right(struct subject *t, const struct vbs_schedule *schedule,
                     struct vbs_exec_placed *placed)
{
    float **want = run(t, schedule, 2 * schedule->memory_bytes + MORE_BYTES, NULL);
    bool same = want != NULL;

    for (int direct = 0; direct < 1 + t->reads_directly; direct++) {
        float **got = run(t, schedule, schedule->memory_bytes, direct ? NULL : placed);

        same = same && got != NULL;
        for (int i = 0; i < t->network->n_outputs && same; i++)
            same = memcmp(got[i], want[i], (size_t)count_values(t, i) * sizeof **got) == 0;
        free_outputs(t, got);
    }
    free_outputs(t, want);
    return same;
}

static void try_least(struct tally *tally, struct subject *t, const char *name)
{
    struct vbs_schedule *schedule = plan(t);
    struct vbs_exec_placed *placed = NULL;
    bool is_dense;
    int64_t missed = place(t, schedule, &placed, &is_dense);

    tally->n++;
    if (missed > t->most_holes) {
        printf("# %s, io %s: %" PRId64 " of %" PRId64 " bytes are missing\n", name,
               vbs_io_word(t->io), missed, schedule->memory_bytes);
        tally->n_missed++;
        tally->most_missed = missed > tally->most_missed ? missed : tally->most_missed;
    } else if (missed <= 0) {
        bool right = missed == 0 && is_right(t, schedule, placed);

        if (!right)
            printf("# %s, io %s: wrong\n", name, vbs_io_word(t->io));
        tally->n_wrong += !right;
        tally->n_dense += is_dense;
    }
    vbs_exec_placed_free(placed);
    vbs_schedule_free(schedule);
}

/* Profiles whose weights have any number of bytes, so that samples of whole 32-bit values leave
 * holes of 3 bytes beside them. */
static void try_profiles(enum vbs_io io)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    int n = trials_some(N_PROFILES);

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < n; i++) {
        struct vbs_profile *draft =
            random_weights_profile(rng, (enum random_graph)(i % RANDOM_N_GRAPHS), 6, i % 2);
        struct vbs_profile *profile =
            draft ? exec_fake_profile(draft, 4 * random_int(rng, 1, 10)) : NULL;
        struct subject t = {.backend = &exec_fake_backend,
                            .profile = profile,
                            .request = random_int(rng, 1, 3),
                            .io = io,
                            .most_holes = 3,
                            .place_limit_s = SHORT_S,
                            .reads_directly = true};
        struct vbs_network *network;

        if (!profile)
            bail_out("no profile");
        network = exec_fake_network(profile);
        t.network = network;
        exec_fake_reset(profile);
        try_least(&tally, &t, "a random profile");
        tally.n_wrong += exec_fake.n_wrong > 0;
        exec_fake_network_free(network);
        vbs_profile_free(profile);
        vbs_profile_free(draft);
    }
    gsl_rng_free(rng);
    /* Some have no placement, because samples and weights that lie together leave larger ones, most
     * of them where inputs and outputs are in the arena too. */
    ok(tally.n_wrong == 0 && tally.n_dense > 0 &&
           tally.n_missed <= (io == VBS_IO_EXTERNAL ? 1 + n / 10 : n / 3),
       "random profiles, io %s: %d least budgets, %d too small by %" PRId64
       " bytes at most, %d with dense buffers, %d wrong",
       vbs_io_word(io), tally.n, tally.n_missed, tally.most_missed, tally.n_dense, tally.n_wrong);
}

/* Tries a network with inputs and outputs inside the arena and outside. */
static void try_network(struct tally *tally, struct subject *t, const char *name)
{
    struct vbs_profile *profile = NULL;

    if (session_profile(&t->ctx, t->backend, t->network, false, &profile) != VBS_OK)
        bail_out("no profile: %s", vbs_detail(&t->ctx));
    t->profile = profile;
    for (int io = 0; io < 2; io++) {
        t->io = (enum vbs_io)io;
        try_least(tally, t, name);
    }
    vbs_profile_free(profile);
}

static void try_files(struct subject *t)
{
    struct tally tally = {0};

    t->request = 2;
    for (int i = 0; i < N_NAMES; i++) {
        struct vbs_network *network;
        char path[80];

        snprintf(path, sizeof path, "tests/data/onnx/%s.onnx", NAMES[i]);
        if (vbs_network_load(&t->ctx, path, NULL, &network) != VBS_OK)
            bail_out("%s", vbs_detail(&t->ctx));
        t->network = network;
        try_network(&tally, t, NAMES[i]);
        vbs_network_free(network);
    }
    ok(tally.n_missed == 0 && tally.n_wrong == 0 && tally.n_dense >= N_NAMES,
       "networks of files: %d least budgets, %d too small, %d with dense buffers, %d wrong",
       tally.n, tally.n_missed, tally.n_dense, tally.n_wrong);
}

static void try_random(struct subject *t)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    int n = trials_some(N_NETWORKS);

    gsl_rng_set(rng, SEED);
    t->reads_directly = true;
    for (int i = 0; i < n; i++) {
        struct vbs_network *network = random_network(&t->ctx, rng, 3 + i % 8);

        if (!network)
            bail_out("no network: %s", vbs_detail(&t->ctx));
        t->request = 1 + i % 3;
        t->network = network;
        try_network(&tally, t, "a random network");
        vbs_network_free(network);
    }
    gsl_rng_free(rng);
    ok(tally.n_missed == 0 && tally.n_wrong == 0,
       "random networks: %d least budgets, %d too small, %d with dense buffers, %d wrong", tally.n,
       tally.n_missed, tally.n_dense, tally.n_wrong);
}

int main(void)
{
    struct subject t = {0};
    struct vbs_backend_info info;

    for (int io = 0; io < 2; io++)
        try_profiles((enum vbs_io)io);
    if (vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK)
        bail_out("no backend");
    t.backend->probe(&info);
    if (info.usable) {
        try_files(&t);
        try_random(&t);
    } else {
        printf("# not with kernels of oneDNN: %s\n", info.why);
    }
    return done_testing();
}
