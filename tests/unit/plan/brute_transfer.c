/* The reference for planners with weights included: its best schedules have the times that it
 * gives, and no random schedule is better. */
#include "reference/plan/brute_force.h"
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"
#include "support/trials.h"
#include "cases/weights_chain.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED       81173
#define N_PROFILES 60

/* Replays its schedule; null and a line of TAP where it is refused. */
static struct vbs_replay *replay_best(const struct brute_best *best, const struct vbs_step *steps,
                                      int n_steps)
{
    const struct vbs_schedule schedule = {.model = "",
                                          .planner = "",
                                          .request = best->of.request,
                                          .memory_bytes = best->memory_bytes,
                                          .io = best->of.io,
                                          .weights = VBS_WEIGHTS_INCLUDED,
                                          .copy = best->link,
                                          .n_algorithms = best->of.profile->n_algorithms,
                                          .algorithms = best->of.profile->algorithms,
                                          .n_steps = n_steps,
                                          .steps = steps};
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_replay_run(&ctx, best->of.profile, &schedule, -1, false, &replay) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return replay;
}

static bool runs_as_it_says(const struct brute_best *best, double time_us,
                            const struct vbs_step *steps, int n_steps)
{
    struct vbs_replay *replay = replay_best(best, steps, n_steps);
    bool same = replay && replay->fits && fabs(replay->time_us - time_us) <= 1e-9 * (1 + time_us);

    if (replay && !same)
        printf("# %g us in %" PRId64 " bytes instead of %g in %" PRId64 "\n", replay->time_us,
               replay->peak_bytes, time_us, best->memory_bytes);
    vbs_replay_free(replay);
    return same;
}

/* Cases of weights_chain, counted by hand. With all weights resident a sample takes 15 us. With 160
 * bytes of weights and 90 of samples in less than 190 bytes, weights must be evicted and loaded. */
static void test_by_hand(void)
{
    struct vbs_profile *profile = weights_chain(1, false);
    struct brute_best best = {.of = {profile, 1, VBS_IO_EXTERNAL},
                              .memory_bytes = 190,
                              .link = {.source = "given", .latency_us = 1, .bytes_per_us = 10},
                              .max_slices = 1};
    struct vbs_step steps[BRUTE_STEPS];
    int n_steps;

    is_near(brute_transfer_best(&best, steps, &n_steps), 15, 0, "with room for all nothing waits");
    ok(runs_as_it_says(&best, 15, steps, n_steps), "  as the replay says too");
    best.memory_bytes = 189;
    /* Without layer 1's weights there is room again: a resident is dropped behind its step and
     * loaded behind the last step: 5 + 3 + 7, then 11. Or weights of layer 3 come beside step 2,
     * from 5 on: done at 12, 12 + 7 = 19. */
    is_near(brute_transfer_best(&best, steps, &n_steps), 19, 0, "a byte less costs a copy");
    ok(runs_as_it_says(&best, 19, steps, n_steps), "  as the replay says too");
    best.memory_bytes = 113;
    ok(isinf(brute_transfer_best(&best, steps, &n_steps)),
       "a byte less than the first step needs is too little");
    best.max_slices = 2;
    ok(isfinite(brute_transfer_best(&best, steps, &n_steps)), "  unless it is taken in slices");
    best.max_slices = 1;
    best.memory_bytes = 190;
    best.link.bytes_per_us = 0;
    is_near(brute_transfer_best(&best, steps, &n_steps), 15, 0, "residents need no copies");
    best.memory_bytes = 189;
    ok(isinf(brute_transfer_best(&best, steps, &n_steps)), "  and nothing else can be without");
    vbs_profile_free(profile);
}

struct tally {
    int n, too_many, infeasible, not_as_said, beaten, slower_with_more, slower_in_slices,
        not_lattice;
};

/* Random schedules are never faster than the best one in the memory that they take. */
static bool is_beaten(gsl_rng *rng, const struct brute_best *as, struct tally *tally)
{
    struct brute_best best = *as;
    struct vbs_schedule *schedule = random_transfer_schedule(rng, best.of.profile, best.of.request,
                                                             best.of.io, best.max_slices);
    struct vbs_replay *replay = NULL;
    double best_us;
    bool beaten;

    if (!schedule)
        return true;
    schedule->copy = best.link;
    if (vbs_replay_run(NULL, best.of.profile, schedule, -1, false, &replay) != VBS_OK)
        beaten = true;
    else {
        best.memory_bytes = replay->peak_bytes;
        best_us = brute_transfer_best(&best, NULL, NULL);
        tally->too_many += isnan(best_us);
        beaten = best_us > replay->time_us * (1 + 1e-9);
        if (beaten)
            printf("# %g us in %" PRId64 " bytes, the best is %g\n", replay->time_us,
                   replay->peak_bytes, best_us);
    }
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    return beaten;
}

/* Where nothing can be copied, and each layer has one format, the reference equals the lattice
 * without weights in the memory that they leave. */
static bool agrees_with_lattice(const struct brute_best *as)
{
    const struct vbs_profile *profile = as->of.profile;
    const struct vbs_problem problem = {
        .profile = profile, .request = as->of.request, .io = as->of.io};
    struct brute_lattice *lattice;
    struct brute_best best = *as;
    int64_t weights = 0;
    double best_us, optimum_us;

    for (int k = 1; k <= profile->n_layers; k++) {
        if (brute_transfer_weights(profile, k, 1) > 0)
            return true;
        weights += brute_transfer_weights(profile, k, 0);
    }
    best.link.bytes_per_us = 0;
    best.max_slices = 1;
    best_us = brute_transfer_best(&best, NULL, NULL);
    lattice = brute_lattice_new(&problem);
    optimum_us = brute_optimum_us(lattice, best.memory_bytes - weights);
    brute_lattice_free(lattice);
    return best_us == optimum_us || fabs(best_us - optimum_us) < 1e-9;
}

static void try_network(gsl_rng *rng, const struct vbs_profile *profile, struct tally *tally)
{
    static struct vbs_step steps[BRUTE_STEPS];
    struct brute_best best = {.of = {profile, random_int(rng, 1, 2),
                                     random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL},
                              .memory_bytes = random_int(rng, 5, 40),
                              .link = {.source = "given",
                                       .latency_us = random_int(rng, 0, 2),
                                       .bytes_per_us = random_int(rng, 1, 8) / 4.0},
                              .max_slices = random_int(rng, 1, 2),
                              .bands = random_once_in(rng, 4)};
    double time_us, more_us;
    int n_steps = 0;

    tally->n++;
    time_us = brute_transfer_best(&best, steps, &n_steps);
    tally->too_many += isnan(time_us);
    tally->infeasible += isinf(time_us) != 0;
    tally->not_as_said += isfinite(time_us) && !runs_as_it_says(&best, time_us, steps, n_steps);
    best.memory_bytes++;
    more_us = brute_transfer_best(&best, NULL, NULL);
    tally->slower_with_more += more_us > time_us + 1e-9;
    best.memory_bytes--;
    tally->not_lattice += !agrees_with_lattice(&best);
    if (best.max_slices == 1) {
        best.max_slices = 2;
        tally->slower_in_slices += brute_transfer_best(&best, NULL, NULL) > time_us + 1e-9;
    }
    best.bands = true;
    best.max_slices = 2;
    for (int i = 0; i < 2; i++)
        tally->beaten += is_beaten(rng, &best, tally);
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct tally tally = {0};
    int n = trials_some(N_PROFILES);

    test_by_hand();
    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    for (int i = 0; i < n; i++) {
        struct vbs_profile *profile = random_transfer_profile(rng, 3, 2);

        if (i % 3 == 2)
            profile = say_slices(rng, profile, false);
        if (profile)
            try_network(rng, profile, &tally);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    is_int(tally.n, n, "random networks are tried");
    ok(tally.too_many < n / 4 && tally.infeasible > n / 20 && tally.infeasible < n / 2,
       "  of which %d are infeasible; %d searches were too large", tally.infeasible,
       tally.too_many);
    is_int(tally.not_as_said, 0, "the best schedules run as they say and fit");
    is_int(tally.beaten, 0, "no random schedule is faster in its own peak");
    is_int(tally.slower_with_more, 0, "a byte more is never slower");
    is_int(tally.slower_in_slices, 0, "slices are never slower than wholes");
    is_int(tally.not_lattice, 0, "without copies it is the lattice in what weights leave");
    return done_testing();
}
