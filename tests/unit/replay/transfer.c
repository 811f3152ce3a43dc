/*
 * On random schedules with weights included the replay agrees with the definition, event by event.
 */
#include "reference/plan/brute_transfer.h"
#include "cases/random_profile.h"
#include "cases/random_transfer.h"
#include "cases/random_weights.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED        60521
#define N_PROFILES  5000
#define N_SCHEDULES 4 /* of each */

/* The features that the random schedules had, none of which may be missing. */
struct met {
    int loads, evictions, residents, slices, stalls, beside, slowed;
};

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fabs(b));
}

static bool agrees_with_events(const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                               const struct brute_event *events)
{
    int64_t peak = -1, peak_step = -1;
    double time_us = 0, compute_us = 0, copy_us = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_replay_step *at = &replay->steps[i];

        if (!near(at->start_us, events[i].start_us) || !near(at->end_us, events[i].end_us) ||
            at->memory_bytes != events[i].memory_bytes) {
            printf("# step %" PRId64 " of %" PRId64 ": %g to %g in %" PRId64
                   ", by the definition %g to %g in %" PRId64 "\n",
                   i + 1, schedule->n_steps, at->start_us, at->end_us, at->memory_bytes,
                   events[i].start_us, events[i].end_us, events[i].memory_bytes);
            return false;
        }
        time_us = events[i].end_us > time_us ? events[i].end_us : time_us;
        if (schedule->steps[i].op == VBS_STEP_COMPUTE)
            compute_us += events[i].end_us - events[i].start_us;
        else
            copy_us += events[i].end_us - events[i].start_us;
        if (events[i].memory_bytes > peak) {
            peak = events[i].memory_bytes;
            peak_step = i;
        }
    }
    return near(replay->time_us, time_us) && near(replay->compute_us, compute_us) &&
           near(replay->copy_us, copy_us) && replay->peak_bytes == peak &&
           replay->peak_step == peak_step;
}

/* What an observer is told, beside the trace of the same replay. */
struct telling {
    const struct vbs_replay *replay;
    int64_t n;
    bool same;
};

static enum vbs_status compare(struct vbs_ctx *ctx, void *self,
                               const struct vbs_replay_event *event)
{
    struct telling *telling = self;
    const struct vbs_replay_step *told = event->record, *at = &telling->replay->steps[telling->n];

    (void)ctx;
    telling->same = telling->same && event->index == telling->n && told->start_us == at->start_us &&
                    told->end_us == at->end_us && told->wait_us == at->wait_us &&
                    told->memory_bytes == at->memory_bytes;
    telling->n++;
    return VBS_OK;
}

/* The wait of a step is the time from the end of the chunk before. */
static bool waits_from_chunk(const struct vbs_schedule *schedule, const struct vbs_replay *replay)
{
    double begin_us = 0, end_us = 0;
    int64_t chunk = 1;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_replay_step *at = &replay->steps[i];

        if (at->chunk != chunk) {
            chunk = at->chunk;
            begin_us = end_us;
        }
        if (!near(at->wait_us, at->end_us - begin_us))
            return false;
        if (schedule->steps[i].op == VBS_STEP_COMPUTE)
            end_us = at->end_us;
    }
    return true;
}

static bool tells_the_trace(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                            const struct vbs_replay *replay)
{
    struct telling telling = {.replay = replay, .same = true};
    struct vbs_ctx ctx = {0};

    return vbs_replay_observe(&ctx, profile, schedule, -1, compare, &telling, NULL) == VBS_OK &&
           telling.same && telling.n == schedule->n_steps;
}

/* The longest time between the ends of chunks: there every layer has done the same, whole. */
static double longest_chunk_us(const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule,
                               const struct brute_event *events)
{
    struct brute_progress progress = brute_progress_start();
    double begin_us = 0, longest_us = 0;

    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];
        int slices = step->n_slices > 1 ? step->n_slices : 1, done;
        bool level = true;

        if (step->op != VBS_STEP_COMPUTE)
            continue;
        done = brute_progress_least(&progress, step->layer);
        if (progress.slices[step->layer] != slices)
            for (int p = 0; p < slices; p++)
                progress.done[step->layer][p] = done;
        progress.slices[step->layer] = slices;
        progress.done[step->layer][slices > 1 ? step->slice - 1 : 0] += step->batch;
        done = brute_progress_least(&progress, 1);
        for (int k = 1; k <= profile->n_layers; k++)
            level = level && brute_progress_least(&progress, k) == done &&
                    brute_progress_most(&progress, k) == done;
        if (!level || (schedule->io == VBS_IO_RESIDENT && done < schedule->request))
            continue;
        longest_us = fmax(longest_us, events[i].end_us - begin_us);
        begin_us = events[i].end_us;
    }
    return longest_us;
}

static void note(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                 const struct vbs_replay *replay, struct met *met)
{
    for (int64_t i = 0; i < schedule->n_steps; i++) {
        const struct vbs_step *step = &schedule->steps[i];

        met->loads += step->op == VBS_STEP_LOAD && !step->resident;
        met->evictions += step->op == VBS_STEP_EVICT;
        met->residents += step->resident;
        met->slices += step->op == VBS_STEP_COMPUTE && step->n_slices > 1;
    }
    met->stalls += replay->time_us > replay->compute_us + 1e-6;
    met->beside += replay->time_us < replay->compute_us + replay->copy_us - 1e-6;
    if (schedule->copy.beside) {
        struct vbs_schedule alone = *schedule;
        struct vbs_replay *faster = NULL;
        struct vbs_ctx ctx = {0};

        alone.copy.beside = NULL;
        met->slowed += vbs_replay_run(&ctx, profile, &alone, -1, false, &faster) == VBS_OK &&
                       replay->time_us > faster->time_us + 1e-6;
        vbs_replay_free(faster);
    }
}

static bool schedule_agrees(gsl_rng *rng, const struct vbs_profile *profile, struct met *met)
{
    int request = random_int(rng, 1, BRUTE_REQUEST);
    enum vbs_io io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL;
    struct vbs_schedule *schedule = random_transfer_schedule(rng, profile, request, io, 4);
    struct brute_event *events = NULL;
    struct vbs_replay *replay = NULL;
    double factors[BRUTE_LAYERS + 1];
    struct vbs_ctx ctx = {0};
    bool same = false;

    if (schedule) {
        schedule->copy =
            (struct vbs_link){.source = "given",
                              .latency_us = random_int(rng, 0, 3),
                              .bytes_per_us = random_int(rng, 1, 8) / 4.0,
                              .beside = random_beside(rng, profile->n_layers, factors)};
        events = calloc((size_t)schedule->n_steps, sizeof *events);
        same = events && vbs_replay_run(&ctx, profile, schedule, random_int(rng, 0, 100), true,
                                        &replay) == VBS_OK;
        if (!same)
            printf("# %s\n", vbs_detail(&ctx));
    }
    if (same) {
        same = brute_transfer_events(profile, schedule, &schedule->copy, events) &&
               agrees_with_events(schedule, replay, events) &&
               near(replay->latency_us, longest_chunk_us(profile, schedule, events)) &&
               waits_from_chunk(schedule, replay) && tells_the_trace(profile, schedule, replay);
        note(profile, schedule, replay, met);
    }
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    free(events);
    return same;
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
    struct met met = {0};
    int n_refused = 0, n_wrong = 0;

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    for (int i = 0; i < N_PROFILES && n_wrong < 3; i++) {
        struct vbs_profile *profile = random_transfer_profile(rng, BRUTE_LAYERS, 4);

        if (i % 3 == 2)
            profile = say_slices(rng, profile, true);
        n_refused += !profile;
        for (int n = 0; profile && n < N_SCHEDULES; n++)
            n_wrong += !schedule_agrees(rng, profile, &met);
        vbs_profile_free(profile);
    }
    gsl_rng_free(rng);
    is_int(n_refused, 0, "random networks are profiles");
    ok(n_wrong == 0, "%d random schedules agree with the definition, event by event",
       N_PROFILES * N_SCHEDULES);
    ok(met.loads > 10000 && met.evictions > 3000 && met.residents > 1000 && met.slices > 3000 &&
           met.stalls > 1000 && met.beside > 1000 && met.slowed > 1000,
       "%d loads, %d evictions, %d residents, %d steps in slices; %d waited, %d copied beside "
       "computing, %d were slowed down by that",
       met.loads, met.evictions, met.residents, met.slices, met.stalls, met.beside, met.slowed);
    return done_testing();
}
