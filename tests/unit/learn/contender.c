/* Times of schedules that were executed by turns: which schedules are the same, ratios, and what
 * runs tell of rows, whatever the state of the machine in a turn. */
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

    return vbs_schedule_same_steps(&one, &other) && vbs_schedule_same_steps(&other, &one);
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
    ok(!vbs_schedule_same_steps(&one, &none) && vbs_schedule_same_steps(&none, &none),
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
#define NEAR    1e-9

static const struct vbs_step STEPS[N_STEPS] = {{.layer = 1, .batch = 1},
                                               {.layer = 1, .batch = 1},
                                               {.layer = 1, .op = VBS_STEP_LOAD},
                                               {.layer = 2, .batch = 2},
                                               {.layer = 2, .batch = 1, .slice = 1, .n_slices = 2}};

static struct vbs_schedule schedule_of_steps = {
    .n_algorithms = 1, .algorithms = ALGORITHMS, .n_steps = N_STEPS, .steps = STEPS};

static const double STEPS_US[N_STEPS] = {10, 14, 1000, 20, 6};

#define MOST_RUNS 40

/* The memory of a contender. */
struct runs {
    double times_us[MOST_RUNS], steps_us[LEARN_STEPS_KEPT * N_STEPS];
    int turns[MOST_RUNS];
};

/* Appends a run that takes factor times as long as usual; a request takes a tenth longer than its
 * compute steps. */
static void append_run(struct contender *contender, int turn, double factor)
{
    int i = contender->n_runs++;

    contender->turns[i] = turn;
    contender->times_us[i] = 1.1 * 50 * factor;
    for (int s = 0; s < N_STEPS; s++)
        contender->steps_us[i % LEARN_STEPS_KEPT * N_STEPS + s] = STEPS_US[s] * factor;
}

static struct contender without_runs(struct runs *runs)
{
    return (struct contender){.schedule = &schedule_of_steps,
                              .times_us = runs->times_us,
                              .turns = runs->turns,
                              .steps_us = runs->steps_us};
}

/* Fills n runs, of which the first n_odd take ten times as long. */
static struct contender executed(int n, int n_odd, struct runs *runs)
{
    struct contender contender = without_runs(runs);

    for (int i = 0; i < n; i++)
        append_run(&contender, i + 1, i < n_odd ? 10 : 1);
    return contender;
}

/* Observes n contenders. Returns the status. */
static enum vbs_status observe_all(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                                   struct contender *contenders, int n,
                                   struct observations *observations)
{
    struct turns turns = {.contenders = contenders, .n = n, .last = MOST_RUNS, .number = 5};

    return learn_observe(ctx, profile, &turns, observations);
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
    struct runs runs;
    struct contender contender = executed(n, n_odd, &runs);
    struct observations observations = {0};
    const struct vbs_observed_row *first, *second;
    struct vbs_ctx ctx = {0};

    if (observe_all(&ctx, profile, &contender, 1, &observations) != VBS_OK)
        bail_out("nothing observed: %s", vbs_detail(&ctx));
    first = find(&observations, 1, 1);
    second = find(&observations, 2, 2);
    ok(observations.n_rows == 2 && first && second, "%d runs tell of the rows of whole layers", n);
    ok(first && fabs(first->time_us - 1.1 * 12) < 1e-9, "a row that ran twice takes their mean");
    ok(second && fabs(second->time_us - 1.1 * 20) < 1e-9,
       "all take longer by one factor, with which they add up to the request");
    ok(first && second && first->deviation > 0 && second->deviation > 0 &&
           (n > 1 || first->deviation < second->deviation),
       "with a deviation, which more steps make less");
    ok(first && first->algorithm == vbs_profile_algorithm(profile, "direct") && first->rows == 0 &&
           first->group == 5 && second->group == 5,
       "of the profile's algorithm, in the group of the race");
    free(observations.rows);
}

/* The first row ran twice in one run, the second once. */
static void single_times_have_the_pooled_deviation(const struct vbs_profile *profile)
{
    const double pooled = sqrt(8) / 12; /* of 10 and 14 */
    struct vbs_schedule last = {
        .n_algorithms = 1, .algorithms = ALGORITHMS, .n_steps = N_STEPS - 1, .steps = STEPS + 1};
    struct runs runs;
    struct contender contender = executed(1, 0, &runs);
    struct observations observations = {0};
    const struct vbs_observed_row *first, *second;

    if (observe_all(NULL, profile, &contender, 1, &observations) != VBS_OK)
        bail_out("nothing observed");
    first = find(&observations, 1, 1);
    second = find(&observations, 2, 2);
    ok(first && second && fabs(second->deviation - pooled) < NEAR &&
           fabs(first->deviation - pooled / sqrt(2)) < NEAR,
       "a row that ran once has the deviation of the others, and two times less");
    observations.n_rows = 0;
    contender.schedule = &last;
    if (observe_all(NULL, profile, &contender, 1, &observations) != VBS_OK)
        bail_out("nothing observed");
    ok(observations.n_rows == 2 && fabs(observations.rows[0].deviation - 0.05) < NEAR &&
           fabs(observations.rows[1].deviation - 0.05) < NEAR,
       "where all ran once, one is supposed");
    free(observations.rows);
}

static void nothing_is_told_without_runs(const struct vbs_profile *profile)
{
    struct contender contender = {.schedule = &schedule_of_steps};
    struct observations observations = {0};

    ok(observe_all(NULL, profile, &contender, 1, &observations) == VBS_OK &&
           observations.n_rows == 0,
       "without runs there is nothing to tell");
    free(observations.rows);
}

/* Times of steps are means, because plans sum them, and requests are medians: one run in which
 * the last two steps took longer, and the request with them, moves their share of it. */
static void rows_are_means_and_requests_medians(const struct vbs_profile *profile)
{
    struct runs runs;
    struct contender contender = executed(10, 0, &runs);
    struct observations observations = {0};
    const struct vbs_observed_row *first, *second;
    double second_us = (9 * 20 + 120) / 10.0;

    runs.steps_us[3 * N_STEPS + 3] = 120;
    runs.times_us[3] += 1.1 * 100;
    if (observe_all(NULL, profile, &contender, 1, &observations) != VBS_OK)
        bail_out("nothing observed");
    first = find(&observations, 1, 1);
    second = find(&observations, 2, 2);
    ok(second && fabs(second->time_us - 1.1 * 50 / (24 + second_us + 6) * second_us) < 1e-9,
       "a step that took longer once counts by its mean, in the median of the request");
    ok(first && fabs(first->time_us - 1.1 * 50 / (24 + second_us + 6) * 12) < 1e-9,
       "and the others are less of it");
    ok(first && first->deviation < second->deviation / 2, "its deviation is larger (%.3f, %.3f)",
       second->deviation, first->deviation);
    free(observations.rows);
}

/* Runs three contenders in 20 turns, the third from turn 9 on: in each turn there are two at least,
 * which tell its state. The state of turns 7 to 16 is slow. */
static void run_all(struct contender *contenders, struct runs *runs, double slow)
{
    static const int FIRST[] = {1, 1, 9};

    for (int c = 0; c < 3; c++) {
        contenders[c] = without_runs(&runs[c]);
        for (int turn = FIRST[c]; turn <= 20; turn++) {
            /* Each has noise of its own, and takes another time in all. */
            double noise = 1 + 0.01 * ((turn * (c + 2)) % 5 - 2);

            append_run(&contenders[c], turn,
                       (1 + c) * noise * (turn >= 7 && turn <= 16 ? slow : 1));
        }
    }
}

/* Returns the largest difference of times, and of deviations, from those without slow turns.
 * common: the factor that the times of all have in common. */
static double moved_by(const struct vbs_profile *profile, double slow, double common,
                       const bool *apart)
{
    struct runs runs[2][3];
    struct contender contenders[2][3];
    struct observations observations[2] = {{0}, {0}};
    double most = 0;

    for (int i = 0; i < 2; i++) {
        struct turns turns = {
            .contenders = contenders[i], .n = 3, .last = MOST_RUNS, .apart = apart};

        run_all(contenders[i], runs[i], i ? slow : 1);
        if (learn_observe(NULL, profile, &turns, &observations[i]) != VBS_OK)
            bail_out("nothing observed");
    }
    if (observations[0].n_rows != 6 || observations[1].n_rows != 6)
        bail_out("%d and %d rows", observations[0].n_rows, observations[1].n_rows);
    for (int i = 0; i < 6; i++) {
        const struct vbs_observed_row *a = &observations[0].rows[i], *b = &observations[1].rows[i];

        most = fmax(most, fabs(b->time_us / a->time_us / common - 1));
        most = fmax(most, fabs(b->deviation / a->deviation - 1));
    }
    free(observations[0].rows);
    free(observations[1].rows);
    return most;
}

static void states_of_turns_are_divided_out(const struct vbs_profile *profile)
{
    /* Half of the turns are slow, and the mean of all states is 0. */
    double slow = moved_by(profile, 1.4, sqrt(1.4), NULL);
    double fast = moved_by(profile, 0.7, sqrt(0.7), NULL);

    ok(slow < NEAR && fast < NEAR,
       "slow and fast turns do not change what contenders tell that join late (%.1e, %.1e)", slow,
       fast);
}

static void turns_in_another_state_are_left_out(const struct vbs_profile *profile)
{
    bool apart[MOST_RUNS + 1] = {false}, all[MOST_RUNS + 1];
    struct runs runs;
    struct contender contender = executed(12, 9, &runs);
    struct turns turns = {.contenders = &contender, .n = 1, .last = MOST_RUNS, .apart = apart};
    struct observations some = {0}, none = {0};

    for (int turn = 0; turn <= MOST_RUNS; turn++) {
        apart[turn] = turn >= 7 && turn <= 16;
        all[turn] = true;
    }
    ok(moved_by(profile, 1.4, 1, apart) < NEAR, "times are those of the profile's state");
    for (int turn = 1; turn <= 9; turn++)
        apart[turn] = true;
    apart[10] = apart[11] = apart[12] = false;
    if (learn_observe(NULL, profile, &turns, &some) != VBS_OK)
        bail_out("nothing observed");
    turns.apart = all;
    if (learn_observe(NULL, profile, &turns, &none) != VBS_OK)
        bail_out("nothing observed");
    ok(some.n_rows == 2 && fabs(some.rows[0].time_us - 1.1 * 12) < NEAR && !some.rows[0].apart,
       "three runs in it are enough");
    ok(none.n_rows == 2 && none.rows[0].time_us > 5 * 1.1 * 12 && none.rows[0].apart &&
           none.rows[1].apart,
       "where there are none, rows say so");
    free(some.rows);
    free(none.rows);
}

/* ---- Rows that were not executed ---- */

/* The schedule's rows take 12 (twice) and 20, and a slice of a third one. */
static void predictions_tell_what_is_unproven(const struct vbs_profile *profile)
{
    struct runs runs;
    struct contender contender = executed(3, 0, &runs);
    struct observations observations = {0};
    struct learn_prediction none, some, longer;
    double all_us, first_us;

    none = learn_predict(profile, &schedule_of_steps, &observations, 1);
    longer = learn_predict(profile, &schedule_of_steps, &observations, 1.25);
    if (observe_all(NULL, profile, &contender, 1, &observations) != VBS_OK)
        bail_out("nothing observed");
    all_us = none.all_us;
    ok(all_us > 0 && none.unproven_us == all_us, "without executed rows all is unproven");
    is_near(longer.all_us, all_us / 1.25, NEAR, "the factor of such rows is taken away");
    learn_sort_executed(&observations);
    some = learn_predict(profile, &schedule_of_steps, &observations, 1.25);
    observations.n_rows = 1;
    first_us = all_us - learn_predict(profile, &schedule_of_steps, &observations, 1).unproven_us;
    ok(some.all_us > longer.all_us && some.unproven_us < longer.unproven_us,
       "rows that were executed have none");
    ok(first_us > 0 && first_us < all_us, "each row counts by its own time");
    free(observations.rows);
}

/* Contender 1 takes 1.1 times as long beside number 0 as was predicted, and share of its time was
 * of new rows. */
static double factor_of(double share, double base_us)
{
    struct runs runs[2];
    struct contender contenders[] = {executed(7, 0, &runs[0]), executed(7, 0, &runs[1])};
    struct learn_outcomes outcomes = {0, 0};
    struct vbs_ctx ctx = {0};

    contenders[1].predicted = (struct learn_prediction){100, 100 * share};
    contenders[1].predicted_base = (struct learn_prediction){base_us, base_us};
    if (learn_add_outcomes(&ctx, contenders, 2, &outcomes) != VBS_OK)
        bail_out("no outcomes: %s", vbs_detail(&ctx));
    return learn_unproven_factor(&outcomes);
}

static void plans_correct_what_they_were_made_of(void)
{
    const struct learn_outcomes none = {0, 0};

    is_near(learn_unproven_factor(&none), 1, 0, "without plans nothing is known");
    is_near(factor_of(1, 110), 1 + 0.1 / 1.3, NEAR,
            "a plan of new rows that took 1.1 times as long");
    is_near(factor_of(0.5, 110), 1 + 0.05 / 0.55, NEAR, "half of it of new rows");
    is_near(factor_of(0.02, 110), 1 + 0.002 / 0.3004, NEAR, "hardly any of it");
    is_near(factor_of(0, 110), 1, 0, "none");
    is_near(factor_of(1, 90), 1, 0, "one that was faster than predicted corrects nothing");
    is_near(factor_of(1, 300), 1.2, NEAR, "nor is more than a fifth believed");
}

/* ---- Memory that runs out ---- */

static enum vbs_status observe(struct vbs_ctx *ctx, const void *profile)
{
    struct runs runs;
    struct contender contender = executed(7, 0, &runs);
    struct observations observations = {0};
    struct vbs_profile_row row;
    enum vbs_status status = observe_all(ctx, profile, &contender, 1, &observations);

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
    steps_add_up_to_the_request(profile, 33, 14);
    single_times_have_the_pooled_deviation(profile);
    rows_are_means_and_requests_medians(profile);
    states_of_turns_are_divided_out(profile);
    turns_in_another_state_are_left_out(profile);
    predictions_tell_what_is_unproven(profile);
    plans_correct_what_they_were_made_of();
    nothing_is_told_without_runs(profile);
    fault_each(&trial);
    ok(trial.n_faults > 2 && trial.n_wrong == 0 && trial.status == VBS_OK,
       "%d allocations, each failing once", trial.n_faults);
    vbs_profile_free(profile);
    plain_session_free(plain);
    return done_testing();
}
