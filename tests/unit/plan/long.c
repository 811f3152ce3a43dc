/*
 * Long networks are refused without a search where no budget can help, searches keep their limits
 * on them, and schedules name their profile.
 */
#include "plan/dp/dp.h"
#include "plan/search/search.h"
#include "support/planner.h"
#include "support/tap.h"
#include "support/trials.h"
#include "vbslab/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum graph { CHAIN, STAR, SKIPS };

/* Makes n layers with batches 1 and 2 and two algorithms, of which the faster needs workspace.
 * Weighted layers come in three kinds: without weights, of channels that are equally large, and of
 * others. */
static struct vbs_profile *make_weighted(int n, enum graph graph, unsigned seed, bool weighted)
{
    size_t size = (size_t)n * 500 + 200, used;
    char *text = malloc(size);
    int *out = calloc((size_t)n + 1, sizeof *out);
    struct vbs_profile *profile = NULL;

    if (!text || !out)
        abort();
    used = (size_t)snprintf(text, size,
                            "layer,name,kind,inputs,batch,algorithm,time_us,in_bytes,out_bytes,"
                            "ws_bytes,weight_bytes,in_place,channels\n");
    out[0] = 100;
    for (int k = 1; k <= n; k++) {
        int other = graph == SKIPS && k % 3 == 0 && k > 3 ? k - 3 : -1;
        int first = graph == STAR ? 0 : k - 1, in;
        int weight_bytes = weighted && k % 3 != 0 ? 48 + (k % 3 - 1) * 5 : 0;
        char inputs[32];

        seed = seed * 1103515245 + 12345;
        out[k] = 20 + (int)(seed >> 16) % 200;
        in = out[first] + (other >= 0 ? out[other] : 0);
        snprintf(inputs, sizeof inputs, other >= 0 ? "%d;%d" : "%d", first, other);
        for (int b = 1; b <= 2; b++)
            for (int a = 0; a < 2; a++)
                used += (size_t)snprintf(
                    text + used, size - used, "%d,L%d,conv,%s,%d,a%d,%d,%d,%d,%d,%d,0,%d\n", k, k,
                    inputs, b, a, (a ? 3 : 5) + b * 2 + k % 4, b * in, b * out[k], a ? 60 * b : 0,
                    weight_bytes, weight_bytes ? 12 : 0);
    }
    if (vbs_profile_parse_csv(NULL, "long", text, used, &profile) != VBS_OK)
        abort();
    free(out);
    free(text);
    return profile;
}

static struct vbs_profile *make_profile(int n, enum graph graph, unsigned seed)
{
    return make_weighted(n, graph, seed, false);
}

static struct vbs_solver_options options(int64_t most_bytes, int64_t node_limit, uint64_t seed)
{
    return (struct vbs_solver_options){.struct_size = sizeof(struct vbs_solver_options),
                                       .most_bytes = most_bytes,
                                       .node_limit = node_limit,
                                       .seed = seed};
}

/* Tests small networks, whose least budget is known from a solve. */
static void brackets(const char *name)
{
    const struct vbs_planner *planner = planner_named(name);
    struct vbs_solver_options few = options(0, 1, 0); /* the least budget needs no search */
    int good = 0, exact = 0, n = 0, n_seeds = trials_some(60);

    for (int seed = 1; seed <= n_seeds; seed++) {
        bool weighted = planner->transfers;
        struct vbs_profile *profile =
            make_weighted(3 + seed % 9, seed % 3, (unsigned)seed, weighted);
        struct vbs_problem problem = {.profile = profile,
                                      .request = 1 + seed % 4,
                                      .io = seed % 2 ? VBS_IO_RESIDENT : VBS_IO_EXTERNAL,
                                      .weights =
                                          weighted ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED,
                                      .copy = {.bytes_per_us = weighted}};
        struct vbs_bracket bracket = {0};
        struct vbs_solver *solver = NULL;
        struct vbs_task task;
        int64_t least = -1;

        if (vbs_task_init(NULL, &task, &problem) == VBS_OK &&
            planner->bracket(NULL, &task, &bracket) == VBS_OK)
            vbs_task_clear(&task);
        if (vbs_solver_new(NULL, planner, &problem, &few, &solver) == VBS_OK)
            least = vbs_solver_least_bytes(solver);
        good += bracket.low_bytes <= least && least <= bracket.high_bytes;
        exact += bracket.low_bytes == bracket.high_bytes;
        n++;
        vbs_solver_free(solver);
        vbs_profile_free(profile);
    }
    ok(good == n, "the least budget of %s lies in its bracket", name);
    ok(exact > n / 4, "which is often exact: %d of %d", exact, n);
}

static void refusals(const char *name, enum graph graph)
{
    struct vbs_profile *profile = make_profile(1000, graph, 7);
    struct vbs_problem problem = {.profile = profile, .request = 12};
    struct vbs_solver_options most = options(50, 0, 0);
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_solver_new(&ctx, planner_named(name), &problem, &most, &solver) == VBS_INFEASIBLE,
       "%s refuses 1000 layers in 50 bytes", name);
    ok(strstr(vbs_detail(&ctx), "the least budget is ") && strstr(vbs_detail(&ctx), "binds"),
       "and says what it needs: %s", vbs_detail(&ctx));
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* With weights inside, which are streamed in slices, no solve is needed either: neither far below
 * the least budget nor a byte below it. */
static void weighted_refusals(enum graph graph)
{
    struct vbs_profile *profile = make_weighted(1000, graph, 7, true);
    struct vbs_problem problem = {.profile = profile,
                                  .request = 300,
                                  .weights = VBS_WEIGHTS_INCLUDED,
                                  .copy = {.latency_us = 1, .bytes_per_us = 10}};
    struct vbs_solver_options most = options(50, 0, 0);
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};
    const char *told;

    is_int(vbs_solver_new(&ctx, planner_named("joint"), &problem, &most, &solver), VBS_INFEASIBLE,
           "joint refuses 1000 layers with weights in 50 bytes");
    told = strstr(vbs_detail(&ctx), "the least budget is ");
    ok(told && strstr(vbs_detail(&ctx), "the weights take"), "and says what it needs: %s",
       vbs_detail(&ctx));
    most.most_bytes = told ? strtoll(told + strlen("the least budget is "), NULL, 10) - 1 : 0;
    ok(most.most_bytes > 50 &&
           vbs_solver_new(&ctx, planner_named("joint"), &problem, &most, &solver) == VBS_INFEASIBLE,
       "it refuses a byte less than that");
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* Gives what a refusal says of joint: 1: it fits, 0: it may fit, -1: nothing. */
static int says_of_joint(const char *detail)
{
    const char *said = strstr(detail, "; planner joint, ");

    return !said ? -1 : strstr(said, " may fit") ? 0 : strstr(said, " fits") ? 1 : -2;
}

/* A planner that keeps all weights resident names joint where joint fits, and not where joint does
 * not fit either. */
static void offers_joint(const char *name)
{
    int n_fits = 0, n_silent = 0, n_wrong = 0, n_seeds = trials_some(30);

    for (int seed = 1; seed <= n_seeds; seed++) {
        struct vbs_profile *profile = make_weighted(3 + seed % 9, seed % 3, (unsigned)seed, true);
        struct vbs_problem problem = {.profile = profile,
                                      .request = 1 + seed % 4,
                                      .weights = VBS_WEIGHTS_INCLUDED,
                                      .copy = {.bytes_per_us = 1}};
        struct vbs_solver *resident = NULL, *joint = NULL;
        struct vbs_ctx ctx = {0};

        if (vbs_solver_new(&ctx, planner_named(name), &problem, NULL, &resident) != VBS_OK ||
            vbs_solver_new(&ctx, planner_named("joint"), &problem, NULL, &joint) != VBS_OK)
            abort();
        for (int64_t bytes = vbs_solver_least_bytes(resident) - 1; bytes > 0; bytes -= 37) {
            struct vbs_schedule *schedule = NULL;
            bool fits = bytes >= vbs_solver_least_bytes(joint);
            int says = vbs_solver_plan(&ctx, resident, bytes, &schedule) == VBS_INFEASIBLE
                           ? says_of_joint(vbs_detail(&ctx))
                           : -2;

            n_fits += says == 1;
            n_silent += says == -1;
            n_wrong += says == -2 || (says == 1 && !fits) || (says == -1 && fits);
        }
        vbs_solver_free(resident);
        vbs_solver_free(joint);
        vbs_profile_free(profile);
    }
    ok(n_fits > n_seeds * 5 / 3 && n_silent > n_seeds * 5 / 3 && n_wrong == 0,
       "refusals of %s name joint where it fits: %d times, and %d times they do not", name, n_fits,
       n_silent);
}

/* The planner that needs less is named without solving a network that is too long for a solve. */
static void explanations(const char *name)
{
    struct vbs_profile *profile = make_profile(4000, STAR, 3);
    struct vbs_problem problem = {.profile = profile, .request = 4};
    struct vbs_infeasibility infeasibility = {0};
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_solver_new(&ctx, planner_named(name), &problem, NULL, &solver) == VBS_OK &&
           vbs_solver_explain(&ctx, solver, &infeasibility) == VBS_OK,
       "%s explains what 4000 layers on one input need: %s", name, vbs_detail(&ctx));
    ok(infeasibility.least_bytes > 0 && infeasibility.other_bytes < infeasibility.least_bytes &&
           infeasibility.tensor_bytes + infeasibility.ws_bytes <= infeasibility.least_bytes,
       "%lld bytes, where layer %d binds", (long long)infeasibility.least_bytes,
       infeasibility.step.layer);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* It is only known that the curves would take more bytes than there is memory. */
static void too_many(void)
{
    struct vbs_profile *profile = make_profile(4000, STAR, 3);
    struct vbs_problem problem = {.profile = profile, .request = 4};
    struct vbs_solver *solver = NULL;
    struct vbs_ctx ctx = {0};

    is_int(vbs_solver_new(&ctx, planner_named("dp-vbs"), &problem, NULL, &solver), VBS_NO_MEMORY,
           "4000 layers on one input are refused before they are planned");
    ok(strstr(vbs_detail(&ctx), "4000 layers") && strstr(vbs_detail(&ctx), "GiB"), "%s",
       vbs_detail(&ctx));
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

/* Knowing the budget before gives the same plan as a solve for all budgets. */
static void same_plan(void)
{
    struct vbs_profile *profile = make_profile(380, CHAIN, 5);
    struct vbs_problem problem = {.profile = profile, .request = 2};
    struct vbs_solver_options most;
    struct vbs_solver *any = NULL, *one = NULL;
    struct vbs_schedule *a = NULL, *b = NULL;
    int64_t bytes;

    if (vbs_solver_new(NULL, planner_named("dp-vbs"), &problem, NULL, &any) != VBS_OK)
        abort();
    bytes = vbs_solver_least_bytes(any) + 20;
    most = options(bytes, 0, 0);
    ok(vbs_solver_new(NULL, planner_named("dp-vbs"), &problem, &most, &one) == VBS_OK &&
           vbs_solver_plan(NULL, any, bytes, &a) == VBS_OK &&
           vbs_solver_plan(NULL, one, bytes, &b) == VBS_OK,
       "380 layers are planned, for any budget and for one");
    ok(a && b && a->predicted.time_us == b->predicted.time_us, "both take the same time");
    ok(one && vbs_solver_peak_bytes(one) < vbs_solver_peak_bytes(any),
       "for one it takes less memory");
    vbs_schedule_free(a);
    vbs_schedule_free(b);
    vbs_solver_free(any);
    vbs_solver_free(one);
    vbs_profile_free(profile);
}

static struct vbs_schedule *plan_nodes(const struct vbs_problem *problem, int64_t nodes,
                                       uint64_t seed, int *cancel)
{
    struct vbs_solver_options how = options(0, nodes, seed);
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    volatile sig_atomic_t flag = 0;
    struct vbs_ctx ctx = {.cancel = &flag};

    if (vbs_solver_new(&ctx, planner_named("optimal"), problem, &how, &solver) == VBS_OK) {
        flag = cancel != NULL;
        if (vbs_solver_plan(&ctx, solver, 900, &schedule) != VBS_OK)
            schedule = NULL;
    }
    vbs_solver_free(solver);
    return schedule;
}

static bool same_steps(const struct vbs_schedule *a, const struct vbs_schedule *b)
{
    if (!a || !b || a->n_steps != b->n_steps)
        return false;
    for (int64_t s = 0; s < a->n_steps; s++)
        if (a->steps[s].layer != b->steps[s].layer || a->steps[s].batch != b->steps[s].batch ||
            a->steps[s].algorithm != b->steps[s].algorithm)
            return false;
    return true;
}

static void nodes(void)
{
    struct vbs_profile *profile = make_profile(24, SKIPS, 11);
    struct vbs_problem problem = {.profile = profile, .request = 6, .io = VBS_IO_EXTERNAL};
    int cancel = 1;
    struct vbs_schedule *a = plan_nodes(&problem, 3000, 1, NULL);
    struct vbs_schedule *b = plan_nodes(&problem, 3000, 1, NULL);
    struct vbs_schedule *c = plan_nodes(&problem, 3000, 1, &cancel), *beside;

    problem.weights = VBS_WEIGHTS_INCLUDED;
    beside = plan_nodes(&problem, 3000, 1, &cancel);
    ok(a && same_steps(a, b) && a->bound.time_us == b->bound.time_us,
       "a limit of nodes and a seed give one plan and one bound");
    ok(a && !a->solver.interrupted, "which was not interrupted");
    ok(c && c->solver.interrupted && c->predicted.time_us >= a->predicted.time_us &&
           c->bound.time_us <= c->predicted.time_us,
       "an interrupted search gives the best so far with its gap");
    ok(beside && beside->solver.interrupted, "  and says so beside resident weights, too");
    ok(a && a->layer_names && strcmp(a->layer_names[24], "L24") == 0,
       "a schedule has the names of its layers");
    vbs_schedule_free(a);
    vbs_schedule_free(b);
    vbs_schedule_free(c);
    vbs_schedule_free(beside);
    vbs_profile_free(profile);
}

/* Stops the call that reports its progress to it. */
struct stopper {
    volatile sig_atomic_t *cancel;
    int n_reports;
    double done;
    char text[40];
};

static void stop(void *self, double done, double left_s, const char *text)
{
    struct stopper *stopper = self;

    (void)left_s;
    stopper->n_reports++;
    stopper->done = done;
    snprintf(stopper->text, sizeof stopper->text, "%s", text);
    *stopper->cancel = 1;
}

/* Gives the time of a frontier at a budget; HUGE_VAL below its first point. */
static double time_at(const struct vbs_frontier *frontier, int64_t memory_bytes)
{
    double time_us = HUGE_VAL;

    for (int i = 0; i < frontier->n_points && frontier->points[i].memory_bytes <= memory_bytes; i++)
        time_us = frontier->points[i].time_us;
    return time_us;
}

/* Gives whether the points of a frontier ascend, become faster, and are no faster than those of the
 * finished one. */
static bool is_known_part(const struct vbs_frontier *part, const struct vbs_frontier *whole)
{
    for (int i = 0; i < part->n_points; i++) {
        const struct vbs_frontier_point *point = &part->points[i];

        if (i > 0 && (point->memory_bytes <= part->points[i - 1].memory_bytes ||
                      point->time_us >= part->points[i - 1].time_us))
            return false;
        if (point->time_us < time_at(whole, point->memory_bytes) * (1 - 1e-9))
            return false;
    }
    return part->n_points > 0;
}

/* A frontier reports its progress. Where it is cancelled, at once or by its first report, it has
 * the points that are known by then. */
static void frontiers(const char *planner, enum vbs_weights weights, bool at_once)
{
    struct vbs_profile *profile = make_profile(12, SKIPS, 11);
    struct vbs_problem problem = {.profile = profile,
                                  .request = 4,
                                  .io = VBS_IO_EXTERNAL,
                                  .weights = weights,
                                  .copy = {.bytes_per_us = 1000}};
    volatile sig_atomic_t flag = 0;
    struct stopper stopper = {.cancel = &flag};
    struct vbs_ctx ctx = {.cancel = &flag};
    struct vbs_solver_options how = options(0, strcmp(planner, "optimal") == 0 ? 50 : 0, 1);
    struct vbs_solver *solver = NULL;
    struct vbs_frontier *part = NULL, *whole = NULL;

    if (weights == VBS_WEIGHTS_EXCLUDED)
        problem.copy = (struct vbs_link){0};
    how.progress = (struct vbs_progress){.self = &stopper, .report = stop};
    stopper.cancel = &(volatile sig_atomic_t){0};
    if (vbs_solver_new(&ctx, planner_named(planner), &problem, &how, &solver) != VBS_OK)
        abort();
    stopper.cancel = &flag;
    flag = at_once;
    is_int(vbs_solver_frontier(&ctx, solver, &part), VBS_OK,
           "a frontier that is cancelled has what is known");
    ok(part && part->interrupted && flag && stopper.n_reports > 0,
       "of %s: it is interrupted, and had told its progress", planner);
    ok(strstr(stopper.text, "of the frontier") != NULL, "of the whole frontier: '%s'",
       stopper.text);
    ok(stopper.done >= 0 && stopper.done <= 1, "as a share");
    flag = 0;
    stopper.cancel = &(volatile sig_atomic_t){0};
    is_int(vbs_solver_frontier(&ctx, solver, &whole), VBS_OK, "not cancelled, it is made");
    ok(part && whole && !whole->interrupted && is_known_part(part, whole),
       "%s: %d of %d points were known, each in order and no faster than the finished ones",
       planner, part ? part->n_points : 0, whole ? whole->n_points : 0);
    vbs_frontier_free(part);
    vbs_frontier_free(whole);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
}

int main(void)
{
    brackets("dp-vbs");
    brackets("dp-vbs+");
    brackets("optimal");
    brackets("joint");
    refusals("dp-vbs", CHAIN);
    refusals("dp-vbs+", SKIPS);
    refusals("optimal", SKIPS);
    weighted_refusals(CHAIN);
    weighted_refusals(SKIPS);
    offers_joint("dp-vbs+");
    offers_joint("fbs");
    explanations("fbs");
    explanations("greedy-vbs");
    too_many();
    same_plan();
    nodes();
    frontiers("optimal", VBS_WEIGHTS_EXCLUDED, true);
    frontiers("optimal", VBS_WEIGHTS_EXCLUDED, false);
    frontiers("optimal", VBS_WEIGHTS_INCLUDED, true);
    frontiers("dp-vbs", VBS_WEIGHTS_EXCLUDED, true);
    frontiers("joint", VBS_WEIGHTS_INCLUDED, false);
    return done_testing();
}
