/*
 * On random schedules of steps with rows, among steps of whole samples, the replay agrees with the
 * definition cell by cell: it takes what the definition takes, with the same bytes, and refuses
 * what the definition refuses.
 */
#include "cases/random_rows.h"
#include "support/tap.h"

#include "vbslab/replay.h"

#include <stdlib.h>

#define SEED       41
#define N_PROFILES 3000
#define MAX_STEPS  4000
#define ATTEMPTS   400 /* at a next step, before a schedule counts as stuck */

struct walk {
    gsl_rng *rng;
    const struct vbs_profile *profile;
    struct brute_rows state;
    int n_steps;
    struct vbs_step steps[MAX_STEPS];
    int64_t bytes[MAX_STEPS], after[MAX_STEPS]; /* of each step, by the definition */
};

static struct counts {
    int complete, with_rows, refused, stuck;
} counts;

static struct vbs_schedule schedule_of(const struct walk *walk, int n_steps)
{
    return (struct vbs_schedule){.model = "m",
                                 .planner = "test",
                                 .request = walk->state.request,
                                 .memory_bytes = 1000,
                                 .io = walk->state.io,
                                 .n_algorithms = RANDOM_ROWS_ALGORITHMS,
                                 .algorithms = random_rows_algorithms,
                                 .n_steps = n_steps,
                                 .steps = walk->steps};
}

/* Checks that the replay refuses the steps so far with one more. */
static bool refuses(struct walk *walk, const struct vbs_step *step)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule schedule = schedule_of(walk, walk->n_steps + 1);
    struct vbs_replay *replay = NULL;
    char number[40];
    enum vbs_status status;

    walk->steps[walk->n_steps] = *step;
    status = vbs_replay_run(&ctx, walk->profile, &schedule, -1, false, &replay);
    vbs_replay_free(replay);
    snprintf(number, sizeof number, "step %d of ", walk->n_steps + 1);
    counts.refused++;
    if (status == VBS_INVALID && strstr(vbs_detail(&ctx), number))
        return true;
    printf("# step %d, layer %d, batch %d, rows %d + %d, window %d: status %d, '%s'\n",
           walk->n_steps + 1, step->layer, step->batch, step->row, step->rows, step->window,
           (int)status, status == VBS_OK ? "" : vbs_detail(&ctx));
    return false;
}

/* Appends random steps until the request is complete, or no step was found. */
static bool walk_on(struct walk *walk)
{
    int failed = 0;

    while (!brute_rows_complete(&walk->state) && walk->n_steps < MAX_STEPS - 1 &&
           failed < ATTEMPTS) {
        struct vbs_step step = random_rows_step(walk->rng, &walk->state);

        if (!random_rows_row(walk->profile, &step)) {
            failed++;
        } else if (brute_rows_step(&walk->state, &step, &walk->bytes[walk->n_steps])) {
            walk->after[walk->n_steps] = brute_rows_live(&walk->state);
            walk->steps[walk->n_steps++] = step;
            failed = 0;
        } else {
            failed++;
            if (random_once_in(walk->rng, 20) && !refuses(walk, &step))
                return false;
        }
    }
    return true;
}

static bool same_memory(const struct walk *walk, const struct vbs_replay *replay)
{
    double clock_us = 0;
    int64_t peak = 0;

    for (int i = 0; i < walk->n_steps; i++) {
        const struct vbs_replay_step *at = &replay->steps[i];
        const struct vbs_profile_row *row = random_rows_row(walk->profile, &walk->steps[i]);

        clock_us += row->time_us;
        peak = at->memory_bytes > peak ? at->memory_bytes : peak;
        if (at->memory_bytes != walk->bytes[i] + row->ws_bytes ||
            at->after_bytes != walk->after[i] || at->end_us != clock_us) {
            printf("# step %d: %" PRId64 " bytes instead of %" PRId64 ", then %" PRId64
                   " instead of %" PRId64 "\n",
                   i + 1, at->memory_bytes, walk->bytes[i] + row->ws_bytes, at->after_bytes,
                   walk->after[i]);
            return false;
        }
    }
    return replay->peak_bytes == peak && replay->time_us == clock_us;
}

/* Compares a complete schedule; one that is stuck must be refused at its end. */
static bool compare(struct walk *walk)
{
    struct vbs_ctx ctx = {0};
    struct vbs_schedule schedule = schedule_of(walk, walk->n_steps);
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, walk->profile, &schedule, -1, true, &replay);
    bool complete = brute_rows_complete(&walk->state), same;

    counts.complete += complete;
    counts.stuck += !complete;
    for (int i = 0; i < walk->n_steps && complete; i++)
        if (walk->steps[i].rows > 0) {
            counts.with_rows++;
            break;
        }
    if (complete)
        same = status == VBS_OK && same_memory(walk, replay);
    else
        same = status == VBS_INVALID && strstr(vbs_detail(&ctx), "after the last step");
    if (!same && status != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    vbs_replay_free(replay);
    return same;
}

#define MAX_HAND 4

/* Steps by hand, and what the replay must say about the last one. */
static const struct hand {
    const char *says;
    int n_steps;
    struct vbs_step steps[MAX_HAND];
} HAND[] = {
    {"begins with row 2: rows 0 to 1 are missing", 1, {{1, 1, .row = 2, .rows = 2, .window = 4}}},
    {"computes rows again: the next one is 2",
     2,
     {{1, 1, .row = 0, .rows = 2, .window = 8}, {1, 1, .row = 0, .rows = 2, .window = 8}}},
    {"computes rows again: the next one is 4",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 8}, {1, 1, .row = 2, .rows = 4, .window = 8}}},
    {"leaves out rows: the next one is 2",
     2,
     {{1, 1, .row = 0, .rows = 2, .window = 8}, {1, 1, .row = 4, .rows = 4, .window = 8}}},
    {"the layer has 8 rows only",
     3,
     {{1, 1, .row = 0, .rows = 4, .window = 8},
      {1, 1, .row = 4, .rows = 2, .window = 8},
      {1, 1, .row = 6, .rows = 4, .window = 8}}},
    {"the profile has no row of 3 rows", 1, {{1, 1, .row = 0, .rows = 3, .window = 8}}},
    {"a window of 1 rows; it has from 2 to 8", 1, {{1, 1, .row = 0, .rows = 2, .window = 1}}},
    {"a window of 9 rows; it has from 2 to 8", 1, {{1, 1, .row = 0, .rows = 2, .window = 9}}},
    {"its window has 4 rows, but layer 2 'second' still needs those from row 0 on",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 4}, {1, 1, .row = 4, .rows = 1, .window = 4}}},
    {"the window of these samples has 4 rows, and keeps them",
     2,
     {{1, 1, .row = 0, .rows = 2, .window = 4}, {1, 1, .row = 2, .rows = 2, .window = 5}}},
    {"reads rows 0 to 4 of layer 1 'first', which has finished 4 rows",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 8}, {2, 1, .row = 0, .rows = 4}}},
    {"the output leaves the budget and has no window",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 8}, {2, 1, .row = 0, .rows = 2, .window = 2}}},
    {"the layer has finished 4 of 8 rows of samples",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 8}, {.layer = 1, .batch = 1}}},
    {"reads up to sample 1 of layer 1 'first', which has finished 0",
     2,
     {{1, 1, .row = 0, .rows = 4, .window = 8}, {.layer = 2, .batch = 1}}},
    {"a step with rows computes all channels",
     1,
     {{1, 1, .slice = 1, .n_slices = 2, .row = 0, .rows = 8, .window = 8}}},
};

static void check_hand(const struct vbs_profile *profile, const struct hand *hand)
{
    struct vbs_ctx ctx = {0};
    static const char *const names[] = {"a"};
    const struct vbs_schedule schedule = {.model = "m",
                                          .planner = "test",
                                          .request = 1,
                                          .n_algorithms = 1,
                                          .algorithms = names,
                                          .n_steps = hand->n_steps,
                                          .steps = hand->steps};
    struct vbs_replay *replay = NULL;
    enum vbs_status status = vbs_replay_run(&ctx, profile, &schedule, 1 << 20, false, &replay);

    if (!ok(status == VBS_INVALID && strstr(vbs_detail(&ctx), hand->says), "%s", hand->says))
        printf("# status %d: %s\n", (int)status, status == VBS_OK ? "" : vbs_detail(&ctx));
    vbs_replay_free(replay);
}

/* A layer that accumulates the rows of another one, and a reader. */
static const char SUM[] =
    "# input-rows: 4\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,"
    "weight_bytes,in_place,parts,out_rows,reach,rows\n"
    "1,a,conv,0,1,a,5,40,40,0,0,0,0,4,1/1:0:0,0\n"
    "1,a,conv,0,1,a,2,40,40,0,0,0,1,4,1/1:0:0,2\n"
    "2,pool,avgpool,1,1,a,5,40,7,0,0,0,0,4,1/0:0:0,0\n"
    "2,pool,avgpool,1,1,a,2,40,7,0,0,0,1,4,1/0:0:0,2\n"
    "3,f,fc,2,1,a,5,7,4,0,0,0,0,0,,0\n";

static const struct hand HAND_SUM[] = {
    {"a window of 2 rows; the layer adds all 4 up in one output, which is whole",
     2,
     {{1, 1, .row = 0, .rows = 2, .window = 2}, {2, 1, .row = 0, .rows = 2, .window = 2}}},
    {"reads up to sample 1 of layer 2 'pool', which has finished 0",
     3,
     {{1, 1, .row = 0, .rows = 2, .window = 2},
      {2, 1, .row = 0, .rows = 2, .window = 4},
      {.layer = 3, .batch = 1}}},
    {"reads rows 0 to 3 of layer 1 'a', which has finished 2 rows",
     3,
     {{1, 1, .row = 0, .rows = 2, .window = 2},
      {2, 1, .row = 0, .rows = 2, .window = 4},
      {2, 1, .row = 2, .rows = 2, .window = 4}}},
};

/* A layer and another that leaves out its first two rows. */
static const char SLICE[] =
    "# input-rows: 6\n"
    "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,ws_bytes,"
    "weight_bytes,in_place,parts,out_rows,reach,rows\n"
    "1,a,conv,0,1,a,5,60,60,0,0,0,0,6,1/1:0:0,0\n"
    "1,a,conv,0,1,a,2,60,60,0,0,0,1,6,1/1:0:0,2\n"
    "2,s,slice,1,1,a,5,60,40,0,0,0,0,4,1/1:2:2,0\n"
    "2,s,slice,1,1,a,2,60,40,0,0,0,1,4,1/1:2:2,2\n";

static const struct hand HAND_SLICE[] = {
    {"its window has 3 rows, but layer 2 's' still needs those from row 2 on",
     3,
     {{1, 1, .row = 0, .rows = 2, .window = 3},
      {1, 1, .row = 2, .rows = 2, .window = 3},
      {1, 1, .row = 4, .rows = 2, .window = 3}}},
    {"reads whole samples, but layer 1 'a' has windows of 4 of its 6 rows",
     4,
     {{1, 1, .row = 0, .rows = 2, .window = 4},
      {1, 1, .row = 2, .rows = 2, .window = 4},
      {1, 1, .row = 4, .rows = 2, .window = 4},
      {2, 1, .row = 0, .rows = 4}}},
    {"reads whole samples, but layer 1 'a' has windows of 4 of its 6 rows",
     4,
     {{1, 1, .row = 0, .rows = 2, .window = 4},
      {1, 1, .row = 2, .rows = 2, .window = 4},
      {1, 1, .row = 4, .rows = 2, .window = 4},
      {.layer = 2, .batch = 1}}},
};

/* A layer of a profile without stripes. */
static const char WHOLE[] = "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,"
                            "ws_bytes,weight_bytes,in_place\n"
                            "1,a,conv,0,1,a,5,60,60,0,0,0\n";

static void check_hands(const char *csv, const struct hand *hands, size_t n)
{
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = NULL;

    if (vbs_profile_parse_csv(&ctx, "by hand", csv, strlen(csv), &profile) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (size_t i = 0; i < n; i++)
        check_hand(profile, &hands[i]);
    vbs_profile_free(profile);
}

static void check_messages(void)
{
    const struct hand without = {
        "measured without stripes", 1, {{1, 1, .row = 0, .rows = 4, .window = 8}}};
    struct vbs_profile *profile = rows_pair_profile(8, 100, 4);

    for (size_t i = 0; i < sizeof HAND / sizeof *HAND; i++)
        check_hand(profile, &HAND[i]);
    vbs_profile_free(profile);
    check_hands(WHOLE, &without, 1);
}

int main(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus);
    static struct walk walk;
    bool same = true;

    gsl_rng_set(rng, SEED);
    for (int i = 0; i < N_PROFILES && same; i++) {
        struct vbs_profile *profile = random_rows_profile(rng, 1 + i % 8);

        if (!profile)
            bail_out("no profile");
        walk = (struct walk){.rng = rng, .profile = profile};
        brute_rows_init(&walk.state, profile, random_int(rng, 1, 4),
                        random_once_in(rng, 3) ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL);
        same = walk_on(&walk) && compare(&walk);
        if (!same)
            printf("# profile %d\n", i);
        vbs_profile_free(profile);
    }
    ok(same, "the replay agrees with the definition, cell by cell");
    printf("# %d complete schedules, %d of them with rows; %d refused steps, %d stuck\n",
           counts.complete, counts.with_rows, counts.refused, counts.stuck);
    ok(counts.with_rows > N_PROFILES / 3 && counts.refused > N_PROFILES,
       "enough schedules have rows, and enough steps are refused");
    gsl_rng_free(rng);
    check_messages();
    check_hands(SUM, HAND_SUM, sizeof HAND_SUM / sizeof *HAND_SUM);
    check_hands(SLICE, HAND_SLICE, sizeof HAND_SLICE / sizeof *HAND_SLICE);
    return done_testing();
}
