/*
 * Learning from execution on the onednn backend, with a tiny network whose profile is made up, so
 * that nothing is measured. Times are never judged: schedules keep their budgets, results agree
 * with each other, and calls that end early leave nothing behind.
 */
#include "support/fault.h"
#include "support/learn_help.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <stdlib.h>

#define REQUEST 5

static int64_t least_bytes(const struct tiny *tiny)
{
    return tiny_least_bytes(tiny, "dp-vbs+", VBS_WEIGHTS_EXCLUDED);
}

/* ---- Results ---- */

static bool has_rows_of(const struct vbs_profile *learned, const struct vbs_profile *profile)
{
    bool same = learned->n_layers == profile->n_layers && learned->n_batches == profile->n_batches;

    for (int layer = 1; layer <= profile->n_layers && same; layer++)
        for (int b = 0; b < profile->n_batches && same; b++) {
            int n, m;
            const struct vbs_profile_row *x = vbs_profile_rows(learned, layer, b, &n);
            const struct vbs_profile_row *y = vbs_profile_rows(profile, layer, b, &m);

            same = n == m;
            for (int i = 0; i < n && same; i++)
                same = x[i].algorithm == y[i].algorithm && x[i].ws_bytes == y[i].ws_bytes &&
                       x[i].time_us > 0;
        }
    return same;
}

static void budgets_are_learned(const struct tiny *tiny)
{
    const int64_t budgets[] = {1, 2 * least_bytes(tiny), (int64_t)1 << 20};
    const struct vbs_learn_options options = {.struct_size = sizeof options,
                                              .time_limit_s = 2.5,
                                              .request = REQUEST,
                                              .n_budgets = 3,
                                              .budgets = budgets,
                                              .threads = 1,
                                              .seed = 4,
                                              .notes = "learned"};
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = tiny_learn(&ctx, tiny, &options, &learned);
    int n_schedules = 0;

    if (!ok(status == VBS_OK, "three budgets are learned"))
        bail_out("%s", vbs_detail(&ctx));
    ok(learned->n_budgets == 3 && learned->budgets[0].memory_bytes == 1 &&
           learned->budgets[2].memory_bytes == budgets[2],
       "in the order in which they were given");
    ok(learned->budgets[0].n_schedules == 0 && !learned->budgets[0].schedule &&
           learned->budgets[0].n_turns == 0,
       "a budget in which nothing fits has no schedule, which is no failure");
    for (int i = 0; i < 3; i++)
        n_schedules += learned->budgets[i].n_schedules;
    ok(learned->n_schedules == n_schedules && learned->n_runs >= 3 * n_schedules,
       "%d schedules were executed, each three times or more (%d)", n_schedules, learned->n_runs);
    for (int i = 1; i < 3; i++) {
        const struct vbs_learned_budget *b = &learned->budgets[i];

        ok(b->schedule && b->schedule->request == REQUEST && tiny_replays(learned->profile, b) &&
               tiny_replays(tiny->profile, b),
           "the answer of budget %d fits into it", i);
        ok(tiny_agrees(b), "and its times agree with each other");
    }
    ok(has_rows_of(learned->profile, tiny->profile), "the learned profile has the same rows");
    ok(learned->report.n_executed > 0 && learned->report.level > 0, "some were executed");
    is_str(learned->profile->provenance.notes, "learned", "its notes are those that were given");
    vbs_learned_free(learned);
}

static void the_planner_may_be_that_of_the_baseline(const struct tiny *tiny)
{
    const int64_t budget = (int64_t)1 << 20;
    struct vbs_learn_options options = {.struct_size = sizeof options,
                                        .time_limit_s = 0.7,
                                        .request = REQUEST,
                                        .n_budgets = 1,
                                        .budgets = &budget,
                                        .threads = 1};
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    const struct vbs_learned_budget *b;

    if (vbs_planner_find(&ctx, "fbs-best", &options.planner) != VBS_OK ||
        tiny_learn(&ctx, tiny, &options, &learned) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    b = &learned->budgets[0];
    ok(b->schedule && strcmp(b->schedule->planner, "fbs-best") == 0 && tiny_agrees(b) &&
           isfinite(b->ratio),
       "where the planner is fbs-best, the answer is of this planner");
    vbs_learned_free(learned);
}

static void no_time_executes_nothing(const struct tiny *tiny)
{
    const struct vbs_learn_options options = {
        .struct_size = sizeof options, .time_limit_s = 1e-3, .request = REQUEST};
    struct vbs_learned *learned = NULL;
    struct vbs_profile *posterior = NULL;
    struct vbs_ctx ctx = {0};
    char where[80];
    bool ascend = true, empty = true;

    if (tiny_learn(&ctx, tiny, &options, &learned) != VBS_OK ||
        vbs_profile_posterior(&ctx, tiny->profile, NULL, NULL, &posterior) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    ok(learned->n_schedules == 0 && learned->n_runs == 0, "without time nothing is executed");
    ok(!profile_difference(learned->profile, posterior, where, sizeof where),
       "and the profile is the posterior of the given one");
    for (int i = 0; i < learned->n_budgets; i++) {
        empty = empty && learned->budgets[i].n_schedules == 0 && !learned->budgets[i].schedule;
        ascend = ascend && learned->budgets[i].memory_bytes >=
                               (i ? learned->budgets[i - 1].memory_bytes : least_bytes(tiny));
    }
    ok(learned->n_budgets == VBS_LEARN_BUDGETS && ascend,
       "budgets are chosen from the least one on, ascending");
    ok(empty, "and are empty");
    vbs_learned_free(learned);
    vbs_profile_free(posterior);
    vbs_learned_free(NULL);
}

/* ---- Early ends ---- */

static void interruptions_end_it(const struct tiny *tiny)
{
    static const int REPORTS[] = {0, 1, 2, 3, 5, 8};
    const int64_t budget = (int64_t)1 << 20;

    for (size_t i = 0; i < sizeof REPORTS / sizeof REPORTS[0]; i++) {
        struct tiny_stop stopping = {.n_left = REPORTS[i], .stop = REPORTS[i] == 0};
        struct vbs_ctx ctx = {.cancel = &stopping.stop};
        const struct vbs_learn_options options = {.struct_size = sizeof options,
                                                  .time_limit_s = 5,
                                                  .request = REQUEST,
                                                  .n_budgets = 1,
                                                  .budgets = &budget,
                                                  .threads = 1,
                                                  .progress = {&stopping, tiny_stop_soon}};
        struct vbs_learned *learned = NULL;

        ok(tiny_learn(&ctx, tiny, &options, &learned) == VBS_INTERRUPTED && !learned,
           "a request to stop at report %d ends it", REPORTS[i]);
    }
}

/* Sets the deadline of a context into the past after so many reports. */
struct late {
    struct vbs_ctx ctx;
    int n_left;
};

static void be_late(void *self, double done, double left_s, const char *text)
{
    struct late *late = self;

    (void)done, (void)left_s, (void)text;
    if (--late->n_left <= 0)
        late->ctx.deadline_s = 1e-9;
}

static void a_deadline_keeps_what_is_learned(const struct tiny *tiny)
{
    static const int REPORTS[] = {0, 1, 2, 3, 5, 8, 20};
    const int64_t budgets[] = {(int64_t)1 << 20, (int64_t)2 << 20};

    for (size_t i = 0; i < sizeof REPORTS / sizeof REPORTS[0]; i++) {
        struct late late = {.n_left = REPORTS[i],
                            .ctx = {.deadline_s = REPORTS[i] == 0 ? 1e-9 : 0}};
        const struct vbs_learn_options options = {.struct_size = sizeof options,
                                                  .time_limit_s = 60,
                                                  .request = REQUEST,
                                                  .n_budgets = 2,
                                                  .budgets = budgets,
                                                  .threads = 1,
                                                  .progress = {&late, be_late}};
        struct vbs_learned *learned = NULL;
        enum vbs_status status = tiny_learn(&late.ctx, tiny, &options, &learned);

        if (REPORTS[i] == 0)
            ok(status == VBS_INTERRUPTED && !learned, "nothing is learned behind a deadline");
        else
            ok(status == VBS_OK && learned->profile &&
                   !(learned->budgets[0].tried && learned->budgets[1].tried),
               "a deadline at report %d keeps the profile", REPORTS[i]);
        vbs_learned_free(learned);
    }
}

static void refuses(const struct tiny *tiny, const struct vbs_learn_options *options)
{
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = tiny_learn(&ctx, tiny, options, &learned);

    ok(status == VBS_USAGE && !learned, "refused: %s", vbs_detail(&ctx));
    vbs_learned_free(learned);
}

#define REFUSES(...)                                                                               \
    do {                                                                                           \
        struct vbs_learn_options o = {                                                             \
            .struct_size = sizeof o, .time_limit_s = 1e-3, .request = REQUEST};                    \
        __VA_ARGS__;                                                                               \
        refuses(tiny, &o);                                                                         \
    } while (0)

static void wrong_options_are_refused(const struct tiny *tiny)
{
    static const int64_t NOTHING[] = {4096, 0};
    const struct vbs_learn_options options = {.struct_size = sizeof options};
    const struct vbs_backend *modelled;
    struct vbs_learned *learned = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    REFUSES(o.struct_size = 0);
    REFUSES(o.time_limit_s = -1);
    REFUSES(o.time_limit_s = NAN);
    REFUSES(o.time_limit_s = INFINITY);
    REFUSES(o.request = -1);
    REFUSES(o.request = 4097);
    REFUSES(o.n_budgets = 2; o.budgets = NOTHING);
    REFUSES(o.latency_us = NAN);
    if (vbs_backend_find(&ctx, "analytic", &modelled) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    status = vbs_learn(&ctx, tiny->network, modelled, tiny->profile, &options, &learned);
    ok(status == VBS_UNSUPPORTED && !learned, "a model is refused: %s", vbs_detail(&ctx));
}

/* ---- Memory that runs out ---- */

static enum vbs_status learn_in(struct vbs_ctx *ctx, const struct tiny *tiny, double time_limit_s)
{
    const int64_t budget = (int64_t)1 << 20;
    const struct vbs_learn_options options = {.struct_size = sizeof options,
                                              .time_limit_s = time_limit_s,
                                              .request = REQUEST,
                                              .threads = 1,
                                              .n_budgets = time_limit_s > 0.1,
                                              .budgets = &budget};
    struct vbs_learned *learned = (void *)&fault_untouched;
    enum vbs_status status = tiny_learn(ctx, tiny, &options, &learned);

    if (status != VBS_OK)
        return fault_status(status, learned);
    vbs_learned_free(learned);
    return status;
}

static enum vbs_status learn_nothing(struct vbs_ctx *ctx, const void *tiny)
{
    return learn_in(ctx, tiny, 1e-3);
}

static enum vbs_status learn_something(struct vbs_ctx *ctx, const void *tiny)
{
    return learn_in(ctx, tiny, 0.7);
}

static void memory_runs_out(const struct tiny *tiny)
{
    struct fault_trial all = {.run = learn_nothing, .subject = tiny};
    struct fault_trial some = {.run = learn_something, .subject = tiny, .lasting = true};

    fault_each(&all);
    ok(all.n_faults > 10 && all.n_wrong == 0 && all.status == VBS_OK,
       "%d allocations before anything is executed, each failing once", all.n_faults);
    some.first = all.n_faults + 1;
    some.skips = 1.0 / 3;
    fault_each(&some);
    ok(some.n_faults > 2 && some.n_wrong == 0 && some.status == VBS_OK,
       "memory runs out at %d places of executing", some.n_faults);
}

int main(void)
{
    struct tiny tiny = {0};

    tiny_open(tiny_network, REQUEST, &tiny);
    wrong_options_are_refused(&tiny);
    no_time_executes_nothing(&tiny);
    budgets_are_learned(&tiny);
    the_planner_may_be_that_of_the_baseline(&tiny);
    interruptions_end_it(&tiny);
    a_deadline_keeps_what_is_learned(&tiny);
    memory_runs_out(&tiny);
    tiny_close(&tiny);
    return done_testing();
}
