/*
 * The shares of a measurement's time: there is a profile within a limit from 10 seconds on, shorter
 * ones are quick looks, whose profile may take the usual minute, and what is executed afterwards
 * takes its time from the kernels.
 */
#include "support/tap.h"
#include "vbslab/measure.h"

#include <math.h>

/* Returns whether the moments of a measurement follow each other within the limit, and the parts
 * that have a duration leave time to the others. */
static bool is_in_order(const struct vbs_measure_shares *s)
{
    return 0 < s->prepared_s && s->prepared_s + s->calibrated_s < s->timed_s &&
           s->timed_s <= s->learned_s && s->learned_s < s->stopped_s && s->stopped_s < s->most_s &&
           0 <= s->least_learning_s && s->least_learning_s <= s->learning_s &&
           s->learning_s + s->calibration_s < s->limit_s && 0 < s->calibration_s &&
           s->calibration_s <= VBS_CALIBRATION_S;
}

static void limits_hold_from_ten_seconds_on(void)
{
    static const struct {
        double time_limit_s, most_s;  /* as they are given */
        double limit_s, profile_at_s; /* as they are meant */
        bool quick;
    } CASES[] = {{0, 0, 60, 60, false},   {600, 0, 600, 600, false}, {10, 0, 10, 10, false},
                 {9.9, 0, 9.9, 60, true}, {0.1, 0, 0.1, 60, true},   {5, 5, 5, 5, false},
                 {60, 30, 60, 30, false}};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        for (int learns = 0; learns < 2; learns++) {
            struct vbs_measure_shares s;

            vbs_measure_divide(CASES[i].time_limit_s, CASES[i].most_s, learns, &s);
            ok(s.limit_s == CASES[i].limit_s && s.most_s == CASES[i].profile_at_s &&
                   (s.calibrated_s == 0) == CASES[i].quick && is_in_order(&s),
               "limits %g and %g, %s: %g seconds, a profile after %g", CASES[i].time_limit_s,
               CASES[i].most_s, learns ? "learning" : "kernels alone", s.limit_s, s.most_s);
        }
}

static void learning_takes_its_time_from_kernels(void)
{
    struct vbs_measure_shares alone, learning;

    vbs_measure_divide(60, 0, false, &alone);
    vbs_measure_divide(60, 0, true, &learning);
    ok(alone.learning_s == 0 && alone.least_learning_s == 0 && learning.learning_s == 45 &&
           learning.least_learning_s == 22.5,
       "three quarters of the time are for executing schedules, half of that in any case");
    ok(learning.timed_s < alone.timed_s && learning.calibration_s < alone.calibration_s &&
           learning.prepared_s == alone.prepared_s,
       "kernels are timed earlier then, and are prepared as ever");
}

static void time_that_is_over_is_not_zero(void)
{
    struct vbs_measure_shares s;
    double left_s;

    vbs_measure_divide(1000, 0, false, &s);
    left_s = vbs_measure_left_s(&s, 500);
    ok(left_s > 0 && left_s <= 500, "of 500 seconds %g are left", left_s);
    s.begin_s -= 400;
    left_s = vbs_measure_left_s(&s, 500);
    ok(left_s <= 100, "400 seconds later %g", left_s);
    s.begin_s -= 101;
    left_s = vbs_measure_left_s(&s, 500);
    ok(left_s > 0 && left_s <= 1e-3, "and then hardly any, which is not the 0 of a default");
}

/* The moments are moved by hundreds of seconds, so that the machine's speed decides nothing. */
static void parts_take_what_is_left(void)
{
    struct vbs_measure_shares s;

    vbs_measure_divide(1000, 0, false, &s);
    ok(vbs_measure_part_s(&s, 20) == 20 && vbs_measure_part_s(&s, 0) == 0,
       "parts have their time while there is enough");
    s.begin_s -= s.timed_s - 100;
    ok(vbs_measure_part_s(&s, 20) == 20 && vbs_measure_part_s(&s, 500) <= 50,
       "and then at most as much as kernels have");
    s.begin_s -= 150;
    ok(vbs_measure_part_s(&s, 20) == 5e-4 && vbs_measure_part_s(&s, 0) == 0,
       "where that is over, hardly any");
    ok(vbs_measure_excess_s(&s) == 0, "the limit is not exceeded yet");
    s.begin_s -= 300;
    ok(vbs_measure_excess_s(&s) > 100 && vbs_measure_excess_s(&s) <= 500, "now it is");
}

int main(void)
{
    limits_hold_from_ten_seconds_on();
    learning_takes_its_time_from_kernels();
    time_that_is_over_is_not_zero();
    parts_take_what_is_left();
    return done_testing();
}
