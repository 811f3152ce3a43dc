/* Turns of subjects whose times and whose clock are made by hand. */
#include "support/tap.h"

#include "turns/internal.h"

#include <signal.h>

#define MOST 4096

/* Subjects whose times a function tells, on a clock that their runs move. */
struct subjects {
    struct vbs_ctx ctx;
    double (*time_us)(int which, int turn);
    int n;
    int n_runs;    /* first runs included */
    int ran[MOST]; /* which subject each run ran */
    double now_s;
    /* The first of the turns in another state, and the first one after them; both 0: there are
     * none.
     */
    int unusual_from, unusual_to;
    int fails_at; /* number of the run that fails, from 1; 0: none does */
    int stops_at; /* number of the run in which somebody asks for an end */
    volatile sig_atomic_t stop;
};

static enum vbs_status run(struct vbs_ctx *ctx, void *self, int which, double *time_us)
{
    struct subjects *s = self;
    int turn = s->n_runs / s->n; /* 0: the first runs */

    (void)ctx;
    s->ran[s->n_runs++] = which;
    if (s->n_runs == s->fails_at)
        return VBS_LIBRARY;
    s->stop = s->stop || s->n_runs == s->stops_at;
    *time_us = s->time_us(which, turn);
    s->now_s += *time_us / 1e6;
    return VBS_OK;
}

static double now_s(void *self)
{
    return ((struct subjects *)self)->now_s;
}

static bool is_unusual(void *self)
{
    const struct subjects *s = self;
    int turn = (s->n_runs - 1) / s->n;

    return s->n_runs % s->n > 0 && turn >= s->unusual_from && turn < s->unusual_to;
}

static enum vbs_status by_turns(struct subjects *s, const struct vbs_turns_options *options,
                                struct vbs_turns **turns)
{
    struct vbs_turns_subjects subjects = {
        .self = s, .n = s->n, .run = run, .now_s = now_s, .is_unusual = is_unusual};

    s->ctx.cancel = &s->stop;
    return vbs_turns_by_clock(&s->ctx, &subjects, options, turns);
}

/* A second each. */
static double even(int which, int turn)
{
    (void)which;
    (void)turn;
    return 1e6;
}

/* Each turn is a tenth slower than the one before; subject 1 takes 0.8 and subject 2 takes 0.99 of
 * the time of subject 0, give or take half a percent. */
static double drifting(int which, int turn)
{
    static const double SHARES[] = {1, 0.8, 0.99};
    double wobble = which == 0 ? 1 : 1 + 0.005 * ((turn * 7 + which) % 5 - 2) / 2.0;

    return 1000 * (1 + 0.1 * turn) * SHARES[which] * wobble;
}

static double without_time(int which, int turn)
{
    return which == 1 && turn == 3 ? 0 : 1;
}

/* Subject 1 takes 0.8 of the time of subject 0, and 1.2 of it in turns 10 to 29, when both take
 * twice and three times as long. */
static double in_two_states(int which, int turn)
{
    bool slow = turn >= 10 && turn < 30;

    return which == 0 ? slow ? 2000 : 1000 : slow ? 2400 : 800;
}

#define OPTIONS(...)                                                                               \
    (&(struct vbs_turns_options){.struct_size = sizeof(struct vbs_turns_options), __VA_ARGS__})

/* ---- Turns ---- */

/* Gives whether the runs of every turn are of all subjects. */
static bool is_by_turns(const struct subjects *s)
{
    for (int turn = 0; turn < s->n_runs / s->n; turn++) {
        unsigned seen = 0;

        for (int i = 0; i < s->n; i++)
            seen |= 1U << s->ran[turn * s->n + i];
        if (seen != (1U << s->n) - 1)
            return false;
    }
    return s->n_runs % s->n == 0;
}

static int count_firsts(const struct subjects *s, int which)
{
    int n = 0;

    for (int at = 0; at < s->n_runs; at += s->n)
        n += s->ran[at] == which;
    return n;
}

static void test_order(void)
{
    struct subjects a = {.time_us = even, .n = 3}, b = a, c = a;
    struct vbs_turns *turns[3] = {NULL};
    bool done =
        by_turns(&a, OPTIONS(.seed = 1, .max_turns = 60, .time_limit_s = 1e6), &turns[0]) == 0 &&
        by_turns(&b, OPTIONS(.seed = 1, .max_turns = 60, .time_limit_s = 1e6), &turns[1]) == 0 &&
        by_turns(&c, OPTIONS(.seed = 2, .max_turns = 60, .time_limit_s = 1e6), &turns[2]) == 0;

    ok(done && turns[0]->n == 3 && turns[0]->n_turns == 60, "as many turns as are allowed");
    is_int(a.n_runs, 3 * 61, "one run of each comes before the turns");
    ok(is_by_turns(&a), "every turn runs all");
    ok(memcmp(a.ran, b.ran, sizeof a.ran) == 0, "one seed gives one order");
    ok(memcmp(a.ran, c.ran, sizeof a.ran) != 0, "another seed gives another");
    ok(count_firsts(&a, 0) > 10 && count_firsts(&a, 1) > 10 && count_firsts(&a, 2) > 10,
       "each is often first in its turn");
    for (int i = 0; i < 3; i++)
        vbs_turns_free(turns[i]);
}

static void test_times(void)
{
    struct subjects s = {.time_us = drifting, .n = 3};
    struct vbs_turns *turns = NULL;
    bool same = true;

    if (by_turns(&s, OPTIONS(.max_turns = 20), &turns) != VBS_OK)
        bail_out("no turns");
    for (int t = 0; t < 20; t++)
        for (int i = 0; i < 3; i++)
            same = same && turns->times_us[t * 3 + i] == drifting(i, t + 1);
    ok(same, "times stand in the order of turns and executors");
    vbs_turns_free(turns);
}

static int count_turns(double (*time_us)(int which, int turn),
                       const struct vbs_turns_options *options)
{
    struct subjects s = {.time_us = time_us, .n = 3};
    struct vbs_turns *turns = NULL;
    int n = by_turns(&s, options, &turns) == VBS_OK ? turns->n_turns : -1;

    vbs_turns_free(turns);
    return n;
}

static void test_ends(void)
{
    is_int(count_turns(even, OPTIONS(.time_limit_s = 30)), 9,
           "no turn begins after the limit, which has the first runs too");
    is_int(count_turns(even, OPTIONS(.time_limit_s = 1)), VBS_TURNS_MIN,
           "the least number of turns goes before the limit of time");
    is_int(count_turns(even, OPTIONS(.time_limit_s = 1, .min_turns = 2)), 2,
           "as few as are asked for");
    is_int(count_turns(even, OPTIONS(.time_limit_s = 1e9, .max_turns = 4)), 4,
           "a most below the default least");
    is_int(count_turns(even, OPTIONS(.until = 0.01, .time_limit_s = 1e9)), VBS_TURNS_MIN,
           "equal ratios are tight at once");
    is_int(count_turns(drifting, OPTIONS(.until = 1e-9, .max_turns = 50)), 50,
           "ratios that are not tight go on");
    is_int(count_turns(even, NULL), VBS_TURNS_MIN, "null: all defaults");
}

static void test_refusals(void)
{
    struct subjects s = {.time_us = even, .n = 3};
    struct vbs_turns *turns = NULL;

    is_int(by_turns(&s, OPTIONS(.min_turns = 5, .max_turns = 4), &turns), VBS_USAGE,
           "more turns at least than at most");
    is_int(by_turns(&s, OPTIONS(.time_limit_s = -1), &turns), VBS_USAGE, "a limit below 0");
    is_int(by_turns(&s, OPTIONS(.until = NAN), &turns), VBS_USAGE, "a share that is no number");
    is_int(by_turns(&s, OPTIONS(.min_turns = -1), &turns), VBS_USAGE, "turns below 0");
    s.n = 0;
    is_int(by_turns(&s, NULL, &turns), VBS_USAGE, "no subject");
    ok(s.n_runs == 0 && !turns, "nothing ran");
    s.n = 3;
    s.fails_at = 8;
    is_int(by_turns(&s, NULL, &turns), VBS_LIBRARY, "a run that fails ends the turns");
    is_int(s.n_runs, 8, "no other runs after it");
    s = (struct subjects){.time_us = even, .n = 3, .stops_at = 5};
    is_int(by_turns(&s, NULL, &turns), VBS_INTERRUPTED, "turns can be cancelled");
    is_int(s.n_runs, 5, "within a turn");
    ok(!turns, "the output is untouched");
    vbs_turns_free(NULL);
}

/* ---- Statistics ---- */

static void test_drift(void)
{
    struct subjects s = {.time_us = drifting, .n = 3};
    struct vbs_turns *turns = NULL;
    struct vbs_turns_ratio ratio, inverse;
    struct vbs_profile_row slow, fast;

    if (by_turns(&s, OPTIONS(.max_turns = 41), &turns) != VBS_OK ||
        vbs_turns_summary(&s.ctx, turns, 0, &slow) != VBS_OK ||
        vbs_turns_summary(&s.ctx, turns, 2, &fast) != VBS_OK)
        bail_out("no turns");
    is_near(slow.time_us, 1000 * (1 + 0.1 * 21), 1e-9, "the median is that of the middle turn");
    ok(fast.high_us > slow.low_us && fast.low_us < slow.low_us && slow.n_runs == 41,
       "intervals of drifting times overlap");
    is_int(vbs_turns_compare(&s.ctx, turns, 2, 0, &ratio), VBS_OK, "a ratio in spite of drift");
    is_near(ratio.ratio, 0.99, 0.003, "of 0.99");
    ok(ratio.low > 0.98 && ratio.low <= ratio.ratio && ratio.ratio <= ratio.high && ratio.high < 1,
       "whose interval tells it from 1");
    is_int(vbs_turns_compare(&s.ctx, turns, 0, 2, &inverse), VBS_OK, "and the other way");
    is_near(inverse.ratio * ratio.ratio, 1, 1e-12, "is the inverse");
    is_near(inverse.low * ratio.high, 1, 1e-12, "with its interval");
    is_int(vbs_turns_compare(&s.ctx, turns, 1, 1, &ratio), VBS_OK, "one over itself");
    ok(ratio.low == 1 && ratio.ratio == 1 && ratio.high == 1, "is exactly 1");
    vbs_turns_free(turns);
}

static void test_no_time(void)
{
    struct subjects s = {.time_us = without_time, .n = 3};
    struct vbs_turns *turns = NULL;
    struct vbs_turns_ratio ratio;

    if (by_turns(&s, OPTIONS(.max_turns = 9), &turns) != VBS_OK)
        bail_out("no turns");
    is_int(vbs_turns_compare(&s.ctx, turns, 0, 1, &ratio), VBS_OK, "a time of 0");
    ok(isnan(ratio.ratio) && isnan(ratio.low) && isnan(ratio.high), "has no ratio");
    vbs_turns_free(turns);
}

/* Turns from..29 of n_turns are in another state. */
static void test_states(int n_turns, int from, int n_counted)
{
    struct subjects s = {.time_us = in_two_states, .n = 2, .unusual_from = from, .unusual_to = 30};
    struct vbs_turns *turns = NULL;
    struct vbs_turns_ratio ratio;
    struct vbs_profile_row row;
    double slowdown;

    if (by_turns(&s, OPTIONS(.max_turns = n_turns, .time_limit_s = 1e6), &turns) != VBS_OK ||
        vbs_turns_summary(&s.ctx, turns, 1, &row) != VBS_OK ||
        vbs_turns_compare(&s.ctx, turns, 1, 0, &ratio) != VBS_OK ||
        vbs_turns_slowdown(&s.ctx, turns, &slowdown) != VBS_OK)
        bail_out("no turns");
    is_int(turns->n_turns, n_turns, "all turns are kept");
    is_int(vbs_turns_counted(turns), n_counted, "and so many count");
    is_int(row.n_runs, n_counted, "in a time");
    if (n_counted == n_turns) {
        ok(row.high_us == 2400 && ratio.high > 1.1, "where few are left it shows both states");
        ok(slowdown == 0, "and nothing is compared");
    } else {
        ok(row.time_us == 800, "which is that of the usual state");
        is_near(ratio.high, 0.8, 1e-12, "as the ratio is");
        is_near(slowdown, 2.5, 1e-12, "in the other state both took longer");
    }
    vbs_turns_free(turns);
}

int main(void)
{
    test_order();
    test_times();
    test_ends();
    test_refusals();
    test_drift();
    test_no_time();
    test_states(60, 10, 40);
    test_states(25, 10, 9);
    test_states(15, 10, 15 - 6);
    test_states(14, 6, 14);
    return done_testing();
}
