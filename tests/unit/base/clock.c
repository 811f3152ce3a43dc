/*
 * The estimate of the time left falls while nothing is reached, and is unknown where it would be a
 * guess.
 */
#include "base/clock.h"
#include "support/tap.h"

#include <math.h>

static int near(double a, double b)
{
    return fabs(a - b) < 1e-9;
}

static void estimates(void)
{
    ok(near(vbs_left_s(0.5, 10, 10), 10) && near(vbs_left_s(0.25, 10, 10), 30),
       "the rest takes as long as its share says");
    ok(near(vbs_left_s(0.25, 10, 15), 25), "time that passes counts as time of the rest");
    ok(vbs_left_s(1, 10, 10) == 0, "nothing is left of all");
}

static void is_unknown(void)
{
    ok(vbs_left_s(0, 0, 5) < 0 && vbs_left_s(1e-9, 0.06, 0.06) < 0 && vbs_left_s(0.019, 9, 9) < 0,
       "the rest is unknown before a fiftieth is done");
    ok(vbs_left_s(0.25, 10, 41) < 0, "and where it has taken longer than expected");
    ok(vbs_left_s(NAN, 1, 1) < 0, "and where the share is no number");
}

/* One part of a hundred takes longer than all others: the share stands still. */
static void never_grows_while_waiting(void)
{
    double before_s = HUGE_VAL;
    int n_known = 0, n_grown = 0;

    for (double now_s = 18; now_s < 200; now_s += 0.1) {
        double left_s = vbs_left_s(0.18, 18, now_s);

        n_known += left_s >= 0;
        n_grown += left_s > before_s;
        before_s = left_s;
    }
    ok(n_known > 800 && n_known < 840, "82 s are left, and then it is not known: %d", n_known);
    ok(n_grown == 0, "the time left does not grow while the share stands still");
}

int main(void)
{
    estimates();
    is_unknown();
    never_grows_while_waiting();
    return done_testing();
}
