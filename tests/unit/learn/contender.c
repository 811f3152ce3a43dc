/* Times of schedules that were executed by turns: which schedules are the same, ratios, and what
 * runs tell of rows. */
#include "learn/learn.h"
#include "support/fault.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <stdlib.h>

static const char *const ALGORITHMS[] = {"direct", "other"};

/* ---- Schedules ---- */

static bool are_same(const struct vbs_step *a, const struct vbs_step *b, const char *const *names)
{
    const struct vbs_schedule one = {
        .n_algorithms = 2, .algorithms = ALGORITHMS, .n_steps = 1, .steps = a};
    const struct vbs_schedule other = {
        .n_algorithms = 2, .algorithms = names, .n_steps = 1, .steps = b};

    return learn_same_steps(&one, &other) && learn_same_steps(&other, &one);
}

static void schedules_are_the_same_by_their_steps(void)
{
    static const char *const SWAPPED[] = {"other", "direct"};
    const struct vbs_step step = {.layer = 2, .batch = 3, .rows = 4, .window = 8};
    const struct vbs_step load = {.layer = 2, .op = VBS_STEP_LOAD};
    struct vbs_schedule one = {
        .n_algorithms = 1, .algorithms = ALGORITHMS, .n_steps = 1, .steps = &step};
    struct vbs_schedule none = one;
    struct vbs_step changed;
    int n_same = 0;

    ok(are_same(&step, &step, ALGORITHMS), "equal steps are the same");
#define CHANGE(member, value)                                                                      \
    changed = step;                                                                                \
    changed.member = value;                                                                        \
    n_same += are_same(&step, &changed, ALGORITHMS)
    CHANGE(layer, 1);
    CHANGE(batch, 1);
    CHANGE(algorithm, 1);
    CHANGE(slice, 1);
    CHANGE(n_slices, 2);
    CHANGE(op, VBS_STEP_EVICT);
    CHANGE(row, 4);
    CHANGE(rows, 2);
    CHANGE(window, 4);
#undef CHANGE
    is_int(n_same, 0, "a step that differs in anything makes another schedule");
    changed = step;
    changed.algorithm = 1;
    ok(are_same(&step, &changed, SWAPPED) && !are_same(&step, &step, SWAPPED),
       "algorithms are compared by name");
    ok(are_same(&load, &load, SWAPPED), "loads have none");
    none.n_steps = 0;
    one.memory_bytes = 7;
    ok(!learn_same_steps(&one, &none) && learn_same_steps(&none, &none),
       "one step is not the same as none");
}

/* ---- Ratios ---- */

#define N_TURNS 20

/* Runs in the turns for which take is true, in base times the drift of the turn. */
static struct contender made_contender(double base, int every, int first, double *times_us,
                                       int *turns)
{
    struct contender contender = {.times_us = times_us, .turns = turns};

    for (int turn = first; turn <= N_TURNS; turn += every) {
        times_us[contender.n_runs] = base * pow(1.3, turn);
        turns[contender.n_runs++] = turn;
    }
    return contender;
}

static void ratios_are_those_of_common_turns(void)
{
    double times_us[3][N_TURNS];
    int turns[3][N_TURNS];
    struct contender all = made_contender(100, 1, 1, times_us[0], turns[0]);
    struct contender third = made_contender(80, 3, 2, times_us[1], turns[1]);
    struct contender even = made_contender(50, 2, 2, times_us[2], turns[2]);
    struct contender none = {0};
    struct vbs_profile_row ratio = {0}, back = {0}, time = {0};
    struct vbs_ctx ctx = {0};

    ok(learn_contender_ratio(&ctx, &third, &all, &ratio) == VBS_OK && ratio.n_runs == 7,
       "turns in which both ran count");
    ok(fabs(ratio.time_us - 0.8) < 1e-12 && fabs(ratio.low_us - 0.8) < 1e-12 &&
           fabs(ratio.high_us - 0.8) < 1e-12,
       "a drift of the machine cancels");
    ok(learn_contender_ratio(&ctx, &all, &third, &back) == VBS_OK && back.n_runs == 7 &&
           fabs(back.time_us - 1.25) < 1e-12,
       "also the other way round");
    ok(learn_contender_ratio(&ctx, &third, &even, &ratio) == VBS_OK && ratio.n_runs == 4 &&
           fabs(ratio.time_us - 1.6) < 1e-12,
       "both may have left out turns");
    even = made_contender(50, 20, 1, times_us[2], turns[2]);
    ok(learn_contender_ratio(&ctx, &third, &even, &ratio) == VBS_OK && ratio.n_runs == 0,
       "there may be none in common");
    ok(learn_contender_ratio(&ctx, &none, &all, &ratio) == VBS_OK && ratio.n_runs == 0 &&
           learn_contender_time(&ctx, &none, &time) == VBS_OK && time.n_runs == 0,
       "nor any at all");
    ok(learn_contender_time(&ctx, &third, &time) == VBS_OK && time.n_runs == 7 &&
           time.time_us == times_us[1][3] && times_us[1][0] < times_us[1][6],
       "the time is the median, and runs stay in their order");
}

/* ---- Observations ---- */

#define N_STEPS 5

static const struct vbs_step STEPS[N_STEPS] = {{.layer = 1, .batch = 1},
                                               {.layer = 1, .batch = 1},
                                               {.layer = 1, .op = VBS_STEP_LOAD},
                                               {.layer = 2, .batch = 2},
                                               {.layer = 2, .batch = 1, .slice = 1, .n_slices = 2}};

static struct vbs_schedule schedule_of_steps = {
    .n_algorithms = 1, .algorithms = ALGORITHMS, .n_steps = N_STEPS, .steps = STEPS};

static const double STEPS_US[N_STEPS] = {10, 14, 1000, 20, 6};

/* Fills n runs, of which the first n_odd take ten times as long; a request takes a tenth longer
 * than its compute steps. */
static struct contender executed(int n, int n_odd, double *times_us, double *steps_us)
{
    struct contender contender = {
        .schedule = &schedule_of_steps, .n_runs = n, .times_us = times_us, .steps_us = steps_us};

    for (int i = 0; i < n; i++) {
        times_us[i] = 1.1 * 50 * (i < n_odd ? 10 : 1);
        for (int s = 0; s < N_STEPS; s++)
            steps_us[i % LEARN_STEPS_KEPT * N_STEPS + s] = STEPS_US[s] * (i < n_odd ? 10 : 1);
    }
    return contender;
}

static const struct vbs_observed_row *find(const struct observations *observations, int layer,
                                           int batch)
{
    for (int i = 0; i < observations->n_rows; i++)
        if (observations->rows[i].layer == layer && observations->rows[i].batch == batch)
            return &observations->rows[i];
    return NULL;
}

static void steps_add_up_to_the_request(const struct vbs_profile *profile, int n, int n_odd)
{
    double times_us[40], steps_us[LEARN_STEPS_KEPT * N_STEPS];
    struct contender contender = executed(n, n_odd, times_us, steps_us);
    struct observations observations = {0};
    const struct vbs_observed_row *first, *second;
    struct vbs_ctx ctx = {0};

    if (learn_observe(&ctx, profile, &contender, &observations) != VBS_OK)
        bail_out("nothing observed: %s", vbs_detail(&ctx));
    first = find(&observations, 1, 1);
    second = find(&observations, 2, 2);
    ok(observations.n_rows == 2 && first && second, "%d runs tell of the rows of whole layers", n);
    ok(first && fabs(first->time_us - 1.1 * 12) < 1e-9, "a row that ran twice takes their mean");
    ok(second && fabs(second->time_us - 1.1 * 20) < 1e-9,
       "all take longer by one factor, with which they add up to the request");
    ok(first && first->deviation > 0 && second->deviation > 0 &&
           (n > 1 || (fabs(second->deviation - 0.05) < 1e-12 && first->deviation < 0.04)),
       "with a deviation, which more steps make less");
    ok(first && first->algorithm == vbs_profile_algorithm(profile, "direct") && first->rows == 0,
       "of the profile's algorithm");
    free(observations.rows);
}

static void nothing_is_told_without_runs(const struct vbs_profile *profile)
{
    struct contender contender = {.schedule = &schedule_of_steps};
    struct observations observations = {0};

    ok(learn_observe(NULL, profile, &contender, &observations) == VBS_OK &&
           observations.n_rows == 0,
       "without runs there is nothing to tell");
    free(observations.rows);
}

/* ---- Memory that runs out ---- */

static enum vbs_status observe(struct vbs_ctx *ctx, const void *profile)
{
    double times_us[7], steps_us[LEARN_STEPS_KEPT * N_STEPS];
    int turns[] = {1, 2, 3, 4, 5, 6, 7};
    struct contender contender = executed(7, 0, times_us, steps_us);
    struct observations observations = {0};
    struct vbs_profile_row row;
    enum vbs_status status = learn_observe(ctx, profile, &contender, &observations);

    contender.turns = turns;
    if (status == VBS_OK)
        status = learn_contender_time(ctx, &contender, &row);
    if (status == VBS_OK)
        status = learn_contender_ratio(ctx, &contender, &contender, &row);
    free(observations.rows);
    return status;
}

int main(void)
{
    struct plain_session *plain = plain_session_new(2, 2, 1);
    struct vbs_ctx ctx = {0};
    struct vbs_profile *profile = profile_of_session(&ctx, &plain->session, NULL);
    struct fault_trial trial = {.run = observe, .subject = profile};

    schedules_are_the_same_by_their_steps();
    ratios_are_those_of_common_turns();
    steps_add_up_to_the_request(profile, 7, 0);
    steps_add_up_to_the_request(profile, 1, 0);
    steps_add_up_to_the_request(profile, 2, 0);
    steps_add_up_to_the_request(profile, 33, 33 - LEARN_STEPS_KEPT);
    nothing_is_told_without_runs(profile);
    fault_each(&trial);
    ok(trial.n_faults > 2 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "%d allocations, each failing once", trial.n_faults);
    vbs_profile_free(profile);
    plain_session_free(plain);
    return done_testing();
}
