/* Which trials the models are made of, the distance of several objectives, the best trial, and
 * predictions for pictures. */
#include "support/tap.h"
#include "tune/models/chosen.h"
#include "tune/space/random.h"
#include "tune/models/scalar.h"

#include <stdlib.h>

#define N    1000
#define MOST 64

static const struct vbs_search_parameter PLANE[] = {{"x", VBS_SEARCH_REAL, 0, 1, 0, false, 0},
                                                    {"y", VBS_SEARCH_REAL, 0, 1, 0, false, 0}};
static const struct vbs_search_space SPACE = {2, PLANE};

struct many {
    struct vbs_search_trial trials[N];
    double points[N][2], values[N][3];
    struct vbs_sampler_options options;
    struct tune_problem problem;
    struct tune_chosen chosen;
};

static struct many *new_many(int n_objectives, int n_constraints)
{
    struct many *many = calloc(1, sizeof *many);
    struct tune_random random = {6};

    if (!many)
        bail_out("no memory");
    many->options = (struct vbs_sampler_options){.struct_size = sizeof many->options,
                                                 .n_objectives = n_objectives,
                                                 .n_constraints = n_constraints,
                                                 .n_modelled = MOST};
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 2; k++)
            many->points[i][k] = vbs_tune_uniform(&random);
        for (int k = 0; k < 3; k++)
            many->values[i][k] = vbs_tune_uniform(&random) - (k == n_objectives) * 0.98;
        many->trials[i] = (struct vbs_search_trial){.point = many->points[i],
                                                    .state = VBS_TRIAL_COMPLETE,
                                                    .objectives = many->values[i],
                                                    .constraints = many->values[i] + n_objectives};
    }
    return many;
}

static void choose(struct many *many)
{
    struct vbs_ctx ctx = {0};

    if (vbs_tune_problem_init(&ctx, &SPACE, &many->options, many->trials, N, &many->problem) !=
            VBS_OK ||
        vbs_tune_choose(&ctx, &many->problem, &many->problem.arena, &many->chosen) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
}

static bool is_chosen(const struct many *many, int trial)
{
    for (int i = 0; i < many->chosen.n_complete; i++) {
        if (many->chosen.complete[i] == trial)
            return true;
    }
    return false;
}

static void end(struct many *many)
{
    vbs_tune_problem_clear(&many->problem);
    free(many);
}

static void test_one_objective(void)
{
    struct many *many = new_many(1, 0);
    int n_new = 0, n_best = 0, n_unordered = 0, n_old = 0;

    choose(many);
    is_int(many->chosen.n_complete, MOST, "models hold as many trials as they may");
    is_int(many->chosen.n_ended, 0, "where all have values, none is asked whether it had some");
    for (int i = 0; i < N; i++) {
        int n_better = 0;

        for (int k = 0; k < N; k++)
            n_better += many->values[k][0] > many->values[i][0];
        n_best += n_better < MOST / 2 && is_chosen(many, i);
        n_new += i >= N - MOST / 4 && is_chosen(many, i);
        n_old += i < N / 2 && n_better > N / 10 && is_chosen(many, i);
    }
    is_int(n_best, MOST / 2, "the best are among them");
    is_int(n_new, MOST / 4, "and the newest");
    ok(n_old >= MOST / 16, "and some old and poor ones (%d)", n_old);
    for (int i = 1; i < MOST; i++)
        n_unordered += many->values[many->chosen.complete[i]][0] >=
                       many->values[many->chosen.complete[i - 1]][0];
    is_int(n_unordered, 0, "the best first, none twice");
    end(many);
}

static void test_states(void)
{
    struct many *many = new_many(1, 1);
    int n_feasible = 0, n_first = 0;

    for (int i = 0; i < N; i += 3)
        many->trials[i].state = VBS_TRIAL_FAILED;
    for (int i = 1; i < N; i += 3)
        many->trials[i].state = VBS_TRIAL_RUNNING;
    many->values[2][0] = NAN;
    choose(many);
    is_int(many->chosen.n_running, 100, "of trials that run the newest hundred");
    ok(many->chosen.running[99] == 997, "in their order");
    is_int(many->chosen.n_ended, MOST, "of trials that ended as many as a model may hold");
    ok(!is_chosen(many, 2), "a value that is not a number is none");
    for (int i = 0; i < N; i++)
        n_feasible += i > 2 && vbs_trial_feasible(&many->trials[i], 1, 1);
    for (int i = 0; i < n_feasible && i < MOST; i++)
        n_first += many->values[many->chosen.complete[i]][1] >= 0;
    ok(n_feasible > 2 && n_first == n_feasible && n_feasible < MOST,
       "all %d feasible trials come first", n_feasible);
    ok(many->values[many->chosen.complete[n_feasible]][1] < 0 &&
           many->values[many->chosen.complete[n_feasible]][1] >=
               many->values[many->chosen.complete[n_feasible + 1]][1],
       "then those that lack least");
    end(many);
}

static void test_front(void)
{
    struct many *many = new_many(2, 0);
    double values[2 * N];
    bool on_front[N];
    int n_front = 0, n_first = 0;

    choose(many);
    for (int i = 0; i < N; i++)
        memcpy(values + (size_t)2 * i, many->values[i], 2 * sizeof *values);
    if (vbs_pareto_front(NULL, 2, values, N, on_front) != VBS_OK)
        bail_out("no front");
    for (int i = 0; i < N; i++)
        n_front += on_front[i];
    for (int i = 0; i < n_front; i++)
        n_first += on_front[many->chosen.complete[i]];
    ok(n_front > 2 && n_first == n_front, "of two objectives the front's %d come first", n_front);
    end(many);
}

/* With weights that are drawn, no point is better than one that dominates it. */
static void test_scalar(void)
{
    struct many *many = new_many(3, 0);
    int trials[4] = {0, 1, 2, 3}, n_wrong = 0;
    double first[4], values[4];

    for (int o = 0; o < 3; o++) {
        many->values[0][o] = 0.1 * o;
        many->values[1][o] = 0.1 * o + (o == 1 ? 0.05 : 0);
        many->values[2][o] = 1;
        many->values[3][o] = 0;
    }
    choose(many);
    vbs_tune_scalar(&many->problem, trials, 4, first);
    for (many->problem.n_trials = 1; many->problem.n_trials < 50; many->problem.n_trials++) {
        vbs_tune_scalar(&many->problem, trials, 4, values);
        n_wrong += !(values[1] > values[0] && values[2] > values[1] && values[3] < values[0] &&
                     values[2] == 0);
    }
    is_int(n_wrong, 0, "a distance is larger where a point is dominated");
    ok(values[0] != first[0], "each number of trials has weights of its own");
    end(many);
}

static void test_best(void)
{
    struct many *many = new_many(1, 1);
    int best = -1;

    many->trials[7].state = VBS_TRIAL_RUNNING;
    many->values[8][0] = INFINITY;
    for (int i = 0; i < N; i++) {
        if (i != 7 && i != 8 && many->values[i][1] >= 0 &&
            (best < 0 || many->values[i][0] > many->values[best][0]))
            best = i;
    }
    is_int(vbs_trials_best(many->trials, N, 1, 1), best, "the best trial is the best feasible one");
    is_int(vbs_trials_best(many->trials + 7, 2, 1, 1), -1, "there may be none");
    free(many);
}

static void test_predict(void)
{
    double points[40], values[20], at[4] = {0.5, 0.5, 0.2, 0.9}, mean[2], deviation[2], far[2];
    struct tune_random random = {12};
    struct vbs_ctx ctx = {0};

    for (int i = 0; i < 20; i++) {
        points[2 * i] = vbs_tune_uniform(&random);
        points[2 * i + 1] = vbs_tune_uniform(&random);
        values[i] = 1000 + 3 * points[2 * i] * points[2 * i + 1];
    }
    is_int(vbs_search_predict(&ctx, &SPACE, points, values, 20, at, 2, mean, deviation), VBS_OK,
           "values are predicted");
    ok(fabs(mean[0] - 1000.75) < 0.05 && fabs(mean[1] - 1000.54) < 0.05,
       "as the function has them (%.3f, %.3f)", mean[0], mean[1]);
    ok(deviation[0] > 0 && deviation[0] < 0.1, "with a deviation (%.4f)", deviation[0]);
    at[0] = 2;
    mean[0] = -1;
    is_int(vbs_search_predict(&ctx, &SPACE, points, values, 20, at, 2, mean, far), VBS_USAGE,
           "a point outside the space is refused");
    ok(mean[0] == -1, "and outputs stay as they were");
}

int main(void)
{
    test_one_objective();
    test_states();
    test_front();
    test_scalar();
    test_best();
    test_predict();
    return done_testing();
}
