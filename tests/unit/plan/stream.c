/*
 * The transfers of streams: their bytes and times against the walk and the replay, and the places
 * of their loads against all others.
 */
#include "cases/random_weights.h"
#include "support/tap.h"

#include "plan/weights/stream.h"
#include "vbslab/replay.h"

#include <gsl/gsl_randist.h>
#include <stdlib.h>

#define SEED        4711
#define N_STREAMS   800
#define MAX_LAYERS  4
#define MAX_REQUEST 3
#define MAX_SLOTS   64
#define MAX_LOADS   6     /* moved about */
#define MAX_PLACES  20000 /* combinations of them */
#define ROUNDING    1e-9

/* A stream of random steps, cut at random. */
struct subject {
    struct vbs_profile *profile;
    struct vbs_problem problem;
    struct vbs_task task;
    struct vbs_arena arena;
    struct vbs_schedule *path;
    struct vbs_slicing cutting;
    struct vbs_stream stream;
    double factors[MAX_LAYERS + 1];
};

static bool choose_cutting(gsl_rng *rng, struct subject *subject)
{
    const struct vbs_profile *profile = subject->profile;

    if (vbs_slicing_init(NULL, &subject->task, &subject->arena, &subject->cutting) != VBS_OK)
        return false;
    for (int k = 1; k <= profile->n_layers; k++)
        for (int f = 0; f < subject->cutting.n_formats; f++) {
            int limit =
                vbs_slice_limit(&profile->layers[k], vbs_profile_format_bytes(profile, k, f));

            subject->cutting.n_slices[k * subject->cutting.n_formats + f] =
                random_int(rng, 0, limit < 4 ? limit : 4);
        }
    return true;
}

static bool subject_init(gsl_rng *rng, int max_layers, struct subject *subject)
{
    struct vbs_stream_order order = {0};

    *subject =
        (struct subject){.profile = random_weights_profile(
                             rng, random_int(rng, 0, RANDOM_N_GRAPHS - 1), max_layers, true)};
    if (random_once_in(rng, 3))
        subject->profile = say_slices(rng, subject->profile, false);
    if (!subject->profile)
        return false;
    subject->problem =
        (struct vbs_problem){.profile = subject->profile,
                             .request = random_int(rng, 1, MAX_REQUEST),
                             .io = random_once_in(rng, 2) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
                             .weights = VBS_WEIGHTS_INCLUDED,
                             .copy = random_link(rng)};
    if (random_once_in(rng, 2))
        subject->problem.copy.beside =
            random_beside(rng, subject->profile->n_layers, subject->factors);
    subject->path =
        random_schedule(rng, subject->profile, (int)subject->problem.request, subject->problem.io);
    order.joins_steps = random_once_in(rng, 2);
    if (random_once_in(rng, 2))
        order.delayed_from = random_int(rng, 1, subject->profile->n_layers);
    return subject->path && vbs_task_init(NULL, &subject->task, &subject->problem) == VBS_OK &&
           choose_cutting(rng, subject) &&
           vbs_stream_init(NULL, &subject->task, subject->path->steps, subject->path->n_steps,
                           &subject->cutting, &order, &subject->stream) == VBS_OK;
}

static void subject_clear(struct subject *subject)
{
    vbs_stream_clear(&subject->stream);
    vbs_arena_clear(&subject->arena);
    vbs_task_clear(&subject->task);
    vbs_schedule_free(subject->path);
    vbs_profile_free(subject->profile);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= ROUNDING * (1 + fabs(b));
}

struct tally {
    int n_streams, n_plans, n_streamed, n_moved, n_slowed;
    int not_walked, not_replayed, over, below_least, refused, kept_anyway, too_early, not_all_kept,
        placed_better, placed_otherwise, faster_when_held, n_other_gaps, not_shares;
};

/* Checks the steps by replay. */
static bool is_replayed(const struct subject *subject, const struct vbs_step_list *steps,
                        int64_t memory_bytes, const struct vbs_streamed *streamed)
{
    const struct vbs_profile *profile = subject->profile;
    const struct vbs_schedule schedule = {.model = "",
                                          .planner = "",
                                          .request = subject->problem.request,
                                          .memory_bytes = memory_bytes,
                                          .io = subject->problem.io,
                                          .weights = VBS_WEIGHTS_INCLUDED,
                                          .copy = subject->problem.copy,
                                          .n_algorithms = profile->n_algorithms,
                                          .algorithms = profile->algorithms,
                                          .n_steps = steps->n_steps,
                                          .steps = steps->steps};
    struct vbs_replay *replay = NULL;
    struct vbs_ctx ctx = {0};
    bool same = vbs_replay_run(&ctx, profile, &schedule, -1, false, &replay) == VBS_OK;

    if (!same)
        printf("# %s\n", vbs_detail(&ctx));
    same = same && replay->fits && replay->peak_bytes == streamed->peak_bytes &&
           near(replay->time_us, streamed->time_us);
    vbs_replay_free(replay);
    return same;
}

/* A load of a schedule: before slot at, first read by the step in slot needed, evicted before slot
 * end, and not placed before slot from. */
struct placed {
    int at, needed, end, from;
    int64_t bytes;
    double copy_us;
};

struct places {
    const struct vbs_stream *stream;
    int64_t memory_bytes;
    int n, n_slots;
    struct placed loads[MAX_LOADS];
    int64_t others[MAX_SLOTS]; /* bytes during each step without these loads */
    int tried;
};

static bool same_piece(const struct vbs_step *a, const struct vbs_step *b)
{
    return a->layer == b->layer && a->format == b->format && a->slice == b->slice;
}

static bool reads(const struct vbs_stream *stream, int slot, const struct vbs_step *load)
{
    for (int v = 0; v < stream->n_visits; v++) {
        const struct vbs_weight_block *block = &stream->blocks[stream->visits[v].block];

        if (stream->visits[v].slot == slot && block->layer == load->layer &&
            block->format == load->format && block->slice == load->slice)
            return true;
    }
    return false;
}

/* Finds the place of load s of the schedule. */
static struct placed find_place(const struct vbs_stream *stream, const struct vbs_step_list *steps,
                                int64_t s)
{
    const struct vbs_step *load = &steps->steps[s];
    struct placed placed = {.bytes = load->bytes, .end = (int)stream->computes.n_steps};
    int slot = 0;

    for (int64_t i = 0; i < s; i++) {
        slot += steps->steps[i].op == VBS_STEP_COMPUTE;
        if (steps->steps[i].op == VBS_STEP_EVICT && same_piece(&steps->steps[i], load))
            placed.from = slot;
    }
    placed.at = placed.needed = slot;
    while (!reads(stream, placed.needed, load))
        placed.needed++;
    for (int64_t i = s; i < steps->n_steps; i++) {
        slot += steps->steps[i].op == VBS_STEP_COMPUTE;
        if (steps->steps[i].op == VBS_STEP_EVICT && same_piece(&steps->steps[i], load)) {
            placed.end = slot;
            break;
        }
    }
    placed.copy_us = vbs_task_copy_us(stream->task, load->bytes);
    return placed;
}

/* Finds the places of all loads. False: too many loads or slots. */
static bool find_places(const struct vbs_stream *stream, const struct vbs_step_list *steps,
                        int64_t memory_bytes, struct places *places)
{
    int64_t there = 0;
    int slot = 0;

    *places = (struct places){
        .stream = stream, .memory_bytes = memory_bytes, .n_slots = (int)stream->computes.n_steps};
    if (places->n_slots > MAX_SLOTS)
        return false;
    for (int64_t s = 0; s < steps->n_steps; s++) {
        const struct vbs_step *step = &steps->steps[s];

        if (step->op == VBS_STEP_COMPUTE) {
            places->others[slot] = stream->step_bytes[slot] + there;
            slot++;
            continue;
        }
        there += step->op == VBS_STEP_LOAD ? step->bytes : -step->bytes;
        if (step->op == VBS_STEP_EVICT || step->resident)
            continue;
        if (places->n == MAX_LOADS)
            return false;
        places->loads[places->n++] = find_place(stream, steps, s);
    }
    for (int i = 0; i < places->n; i++)
        for (int s = places->loads[i].at; s < places->loads[i].end; s++)
            places->others[s] -= places->loads[i].bytes;
    return true;
}

/* Runs loads first..last-1 beside a step of a layer until it ends, or, where the layer is 0, alone
 * until load last - 1 ends; *left_us is what the first of them still takes alone. Gives the time.
 */
static double run_placed(const struct places *places, int layer, double step_us, int last,
                         int *first, double *left_us)
{
    const double *beside = places->stream->task->problem.copy.beside;
    double slow = layer && beside ? beside[layer] : 1, copies_slow = layer && beside ? *beside : 1;
    double took_us = 0;

    for (; *first < last; *left_us = ++*first < places->n ? places->loads[*first].copy_us : 0) {
        double both_us = *left_us * copies_slow;

        if (layer && both_us > step_us * slow) {
            *left_us -= step_us * slow / copies_slow;
            return took_us + step_us * slow;
        }
        took_us += both_us;
        step_us -= layer ? both_us / slow : 0;
    }
    return took_us + (layer ? step_us : 0);
}

/* Gives the end of the last step with these places of the loads, HUGE_VAL where they do not fit. */
static double time_placed(const struct places *places, const int *at)
{
    double now_us = 0, left_us = places->n > 0 ? places->loads[0].copy_us : 0;
    int first = 0, last = 0; /* loads that have begun or wait for the one before */

    for (int s = 0; s < places->n_slots; s++) {
        int64_t bytes = places->others[s];

        for (int i = 0; i < places->n; i++)
            if (at[i] <= s && s < places->loads[i].end)
                bytes += places->loads[i].bytes;
        if (bytes > places->memory_bytes)
            return HUGE_VAL;
        while (last < places->n && at[last] <= s)
            last++;
        for (int i = first; i < last; i++)
            if (places->loads[i].needed == s)
                now_us += run_placed(places, 0, 0, i + 1, &first, &left_us);
        now_us += run_placed(places, places->stream->computes.steps[s].layer,
                             places->stream->step_us[s], last, &first, &left_us);
    }
    return now_us;
}

/* Gives the least time over all places of loads i.. on. */
static double best_placed(struct places *places, int *at, int i)
{
    double best_us = HUGE_VAL;
    int from;

    if (i == places->n) {
        places->tried++;
        return time_placed(places, at);
    }
    from = places->loads[i].from;
    if (i > 0 && at[i - 1] > from)
        from = at[i - 1];
    for (at[i] = from; at[i] <= places->loads[i].needed && places->tried < MAX_PLACES; at[i]++)
        best_us = fmin(best_us, best_placed(places, at, i + 1));
    return best_us;
}

/* Checks that no places of the same loads in the same order end earlier; where copies slow steps
 * down, that these places end as they say. */
static void check_places(const struct vbs_stream *stream, const struct vbs_step_list *steps,
                         int64_t memory_bytes, double time_us, struct tally *tally)
{
    struct places places;
    int at[MAX_LOADS];
    double best_us;

    if (!find_places(stream, steps, memory_bytes, &places) || places.n == 0)
        return;
    if (stream->task->problem.copy.beside) { /* earlier loads may slow steps down for nothing */
        for (int i = 0; i < places.n; i++)
            at[i] = places.loads[i].at;
        tally->n_slowed++;
        tally->placed_otherwise += !near(time_placed(&places, at), time_us);
        return;
    }
    best_us = best_placed(&places, at, 0);
    if (places.tried >= MAX_PLACES)
        return;
    tally->n_moved += places.tried > 1;
    tally->placed_better += !near(best_us, time_us);
    if (!near(best_us, time_us))
        printf("# %d loads end at %.17g instead of %.17g\n", places.n, time_us, best_us);
}

/* Checks that no load is placed before its earliest slot. */
static void check_held(gsl_rng *rng, const struct subject *subject, bool keeps,
                       int64_t memory_bytes, double free_us, struct tally *tally)
{
    const struct vbs_stream *stream = &subject->stream;
    int *earliest = calloc((size_t)stream->n_visits + 1, sizeof *earliest);
    struct vbs_stream_rule rule = {.keeps = keeps, .earliest = earliest};
    struct vbs_step_list steps = {0};
    struct vbs_streamed streamed;
    int slot = 0, visit = 0;

    for (int v = 0; v < stream->n_visits; v++)
        earliest[v] = random_int(rng, 0, stream->visits[v].slot);
    if (vbs_stream_plan(NULL, stream, &rule, memory_bytes, &streamed, &steps) == VBS_OK) {
        tally->not_replayed += !is_replayed(subject, &steps, memory_bytes, &streamed);
        tally->faster_when_held +=
            !subject->problem.copy.beside && streamed.time_us < free_us * (1 - ROUNDING);
        for (int64_t s = 0; s < steps.n_steps; s++) {
            const struct vbs_step *step = &steps.steps[s];

            slot += step->op == VBS_STEP_COMPUTE;
            if (step->op != VBS_STEP_LOAD || step->resident)
                continue;
            while (!(stream->visits[visit].slot >= slot &&
                     stream->blocks[stream->visits[visit].block].layer == step->layer &&
                     stream->blocks[stream->visits[visit].block].format == step->format &&
                     stream->blocks[stream->visits[visit].block].slice ==
                         (step->slice > 0 ? step->slice : 1)))
                visit++;
            tally->too_early += slot < earliest[visit++];
        }
    }
    vbs_step_list_clear(&steps);
    free(earliest);
}

/* Keeps gaps in a random order, which fits and runs as it says all the same. */
static void check_other_gaps(gsl_rng *rng, const struct subject *subject, int64_t memory_bytes,
                             struct tally *tally)
{
    const struct vbs_stream *stream = &subject->stream;
    size_t n = (size_t)stream->n_visits;
    int *gaps = calloc(n + 1, sizeof *gaps);
    double *waited = calloc(n + 1, sizeof *waited);
    struct vbs_stream_rule rule = {.keeps = true, .gaps = gaps, .waited = waited};
    struct vbs_step_list steps = {0};
    struct vbs_streamed streamed;

    for (size_t v = 0; v < n; v++) {
        gaps[v] = stream->gaps[v];
        waited[v] = NAN;
    }
    if (n > 1)
        gsl_ran_shuffle(rng, gaps, n, sizeof *gaps);
    if (vbs_stream_plan(NULL, stream, &rule, memory_bytes, &streamed, &steps) == VBS_OK) {
        tally->n_other_gaps++;
        tally->not_replayed += !is_replayed(subject, &steps, memory_bytes, &streamed);
        tally->over += streamed.peak_bytes > memory_bytes;
        for (size_t v = 0; v < n; v++)
            tally->not_shares += !(waited[v] >= 0 && waited[v] <= 1);
    }
    vbs_step_list_clear(&steps);
    free(waited);
    free(gaps);
}

static bool keeps_none(const struct vbs_stream *stream, const struct vbs_timeline *timeline)
{
    int64_t bytes = 0;

    for (int p = 0; p < stream->n_blocks; p++)
        bytes += stream->blocks[p].bytes;
    return timeline->resident_bytes == 0 && timeline->copied_bytes >= bytes;
}

static void check_plan(gsl_rng *rng, const struct subject *subject, int64_t memory_bytes,
                       struct tally *tally)
{
    const struct vbs_stream *stream = &subject->stream;
    struct vbs_stream_rule rule = {.keeps = !random_once_in(rng, 4),
                                   .reserved_bytes =
                                       random_int(rng, 0, 1) * random_int(rng, 0, 50)};
    struct vbs_step_list steps = {0};
    struct vbs_streamed streamed = {0};
    struct vbs_timeline timeline = {0};
    enum vbs_status status = vbs_stream_plan(NULL, stream, &rule, memory_bytes, &streamed, &steps);

    tally->below_least += memory_bytes < stream->least_bytes && status != VBS_INFEASIBLE;
    tally->n_plans++;
    tally->refused += memory_bytes >= stream->least_bytes && status != VBS_OK &&
                      subject->problem.copy.bytes_per_us > 0;
    if (status == VBS_OK && vbs_timeline_find(NULL, &subject->task, &steps, &timeline) == VBS_OK) {
        tally->n_streamed += timeline.copied_bytes > 0;
        tally->not_walked +=
            timeline.peak_bytes != streamed.peak_bytes || !near(timeline.time_us, streamed.time_us);
        tally->over += streamed.peak_bytes > memory_bytes;
        tally->not_replayed += !is_replayed(subject, &steps, memory_bytes, &streamed);
        tally->kept_anyway += !rule.keeps && !keeps_none(stream, &timeline);
        check_places(stream, &steps, memory_bytes, streamed.time_us, tally);
        if (rule.reserved_bytes == 0)
            check_held(rng, subject, rule.keeps, memory_bytes, streamed.time_us, tally);
    }
    vbs_step_list_clear(&steps);
}

/* With space for all of them the blocks stay, and no step waits. */
static void check_all_kept(const struct subject *subject, struct tally *tally)
{
    const struct vbs_stream *stream = &subject->stream;
    struct vbs_step_list steps = {0};
    struct vbs_streamed streamed = {0};
    struct vbs_timeline timeline = {0};

    tally->not_all_kept += vbs_stream_plan(NULL, stream, &(struct vbs_stream_rule){.keeps = true},
                                           (int64_t)1 << 40, &streamed, &steps) != VBS_OK ||
                           vbs_timeline_find(NULL, &subject->task, &steps, &timeline) != VBS_OK ||
                           timeline.copied_bytes > 0 || !near(streamed.time_us, stream->compute_us);
    vbs_step_list_clear(&steps);
}

static void test_streams(gsl_rng *rng)
{
    struct tally tally = {0};

    for (int i = 0; i < N_STREAMS; i++) {
        struct subject subject;

        if (subject_init(rng, random_int(rng, 1, MAX_LAYERS), &subject)) {
            tally.n_streams++;
            check_plan(rng, &subject, subject.stream.least_bytes - 1, &tally);
            check_plan(rng, &subject, subject.stream.least_bytes, &tally);
            check_other_gaps(rng, &subject, subject.stream.least_bytes + random_int(rng, 0, 300),
                             &tally);
            for (int b = 0; b < 3; b++)
                check_plan(rng, &subject, subject.stream.least_bytes + random_int(rng, 1, 300),
                           &tally);
            check_all_kept(&subject, &tally);
        }
        subject_clear(&subject);
    }
    is_int(tally.n_streams, N_STREAMS, "random streams are made");
    ok(tally.n_streamed > N_STREAMS && tally.n_moved > N_STREAMS / 4 &&
           tally.n_slowed > N_STREAMS / 4,
       "  of %d plans %d copy; the loads of %d can be elsewhere, those of %d slow steps down",
       tally.n_plans, tally.n_streamed, tally.n_moved, tally.n_slowed);
    is_int(tally.below_least, 0, "below the least budget nothing is planned");
    is_int(tally.refused, 0, "from the least budget on everything is that can be copied");
    is_int(tally.over, 0, "peaks are within the budget");
    is_int(tally.not_walked, 0, "peak and time are those of the walk");
    is_int(tally.not_replayed, 0, "  and of the replay");
    is_int(tally.kept_anyway, 0, "where nothing is to be kept, all is loaded");
    is_int(tally.not_all_kept, 0, "with room for all nothing is loaded");
    is_int(tally.placed_better, 0, "no places of the same loads in the same order end earlier");
    is_int(tally.placed_otherwise, 0, "loads that slow steps down end as they say");
    is_int(tally.too_early, 0, "no load stands before the earliest place that it is given");
    is_int(tally.faster_when_held, 0, "  which makes no plan faster");
    ok(tally.n_other_gaps > N_STREAMS / 2, "gaps are kept in another order in %d plans",
       tally.n_other_gaps);
    is_int(tally.not_shares, 0, "  and waits are shares of the loads' times");
}

int main(int argc, char **argv)
{
    unsigned long seed = argc > 1 ? strtoul(argv[1], NULL, 10) : SEED;
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);

    printf("# seed %lu\n", seed);
    gsl_rng_set(rng, seed);
    test_streams(rng);
    gsl_rng_free(rng);
    return done_testing();
}
