/* The acquisition against numerical integration over what the processes expect. */
#include "tune/models/models.h"
#include "tune/models/normal.h"

#include "support/tap.h"

#include <stdlib.h>

#define N     14
#define AT    40
#define STEPS 500
#define REACH 8.5 /* deviations, beyond which the normal distribution has nothing */

static double density(double z)
{
    return exp(-z * z / 2) / sqrt(2 * M_PI);
}

/* Gives the expected value of max(0, number - level), by the trapezium rule from the level on. */
static double improvement(double mean, double deviation, double level)
{
    double z = (level - mean) / deviation, low = fmax(level, mean - REACH * deviation);
    /* Far out the density falls by a factor of e in a step of 1 / z. */
    double high = low + deviation * (z > 1 ? fmin(60 / z, 2 * REACH) : 2 * REACH), sum = 0, width;

    width = (high - low) / (40 * STEPS);
    for (int i = 0; i <= 40 * STEPS; i++) {
        double y = low + i * width, share = i == 0 || i == 40 * STEPS ? 0.5 : 1;

        sum += share * width / deviation * density((y - mean) / deviation) * (y - level);
    }
    return sum;
}

static void test_normal(void)
{
    static const double LEVELS[] = {-30, -3, -0.7, 0, 0.99, 1.01, 3, 7, 19.9, 20.1, 33};
    double worst = 0, last, jump = 0;
    bool falls = true;

    for (size_t i = 0; i < sizeof LEVELS / sizeof *LEVELS; i++) {
        double got = vbs_tune_log_improvement(2, 3, 2 + 3 * LEVELS[i]);

        worst = fmax(worst, fabs(got - log(improvement(2, 3, 2 + 3 * LEVELS[i]))));
    }
    ok(worst < 1e-5, "expected improvement is that of an integral (%.1e)", worst);
    last = vbs_tune_log_improvement(0, 1, 0.999);
    for (double z = 1; z < 1e4; z *= 1.001) {
        double here = vbs_tune_log_improvement(0, 1, z), slope = (here - last) / (0.001 * z);

        falls = falls && here < last && isfinite(here);
        jump = fmax(jump, fabs(slope / z + 1) - 2.1 / z / z - 0.01);
        last = here;
    }
    ok(falls && jump <= 0.5, "it falls without a jump as far as 10,000 deviations");
    worst = 0;
    for (double z = -37; z < 8; z += 0.25)
        worst = fmax(worst, fabs(vbs_tune_log_probability(3 * z, 3) - log(erfc(-z / sqrt(2)) / 2)) /
                                (1 + z * z));
    ok(worst < 1e-12, "probabilities are those of erfc (%.1e)", worst);
    ok(isfinite(vbs_tune_log_probability(-1e6, 1)), "and have logarithms where it is 0");
}

/* ---- models of a problem ---- */

struct subject {
    struct vbs_search_parameter parameters[2];
    struct vbs_search_space space;
    struct vbs_sampler_options options;
    struct vbs_search_trial trials[N];
    double points[2 * N], values[4 * N], at[2 * AT], x[2 * AT];
    struct tune_problem problem;
    struct tune_models models;
};

static double known(void *self, int objective, const double *point)
{
    (void)self;
    return 1 + objective + point[0];
}

static void fill(struct subject *s, int n_objectives, int n_constraints, int n_without)
{
    struct tune_random random = {9};

    s->space = (struct vbs_search_space){2, s->parameters};
    s->options.struct_size = sizeof s->options;
    s->options.n_objectives = n_objectives;
    s->options.n_constraints = n_constraints;
    for (int k = 0; k < 2; k++)
        s->parameters[k] = (struct vbs_search_parameter){"p", VBS_SEARCH_REAL, 0, 1, 0, false, 0};
    for (int i = 0; i < N; i++) {
        double *p = s->points + 2 * i, *v = s->values + 4 * i;

        p[0] = vbs_tune_uniform(&random);
        p[1] = vbs_tune_uniform(&random);
        v[0] = sin(5 * p[0]) + p[1];
        v[1] = cos(4 * p[1]) - p[0];
        v[n_objectives] = p[0] - 0.3;
        v[n_objectives + 1] = 0.8 - p[1] * p[0];
        s->trials[i] = (struct vbs_search_trial){.point = p,
                                                 .state = i < n_without ? VBS_TRIAL_INFEASIBLE
                                                                        : VBS_TRIAL_COMPLETE,
                                                 .objectives = v,
                                                 .constraints = v + n_objectives};
    }
    s->trials[N - 1].state = VBS_TRIAL_RUNNING;
    for (int i = 0; i < 2 * AT; i++)
        s->at[i] = vbs_tune_uniform(&random);
}

static void make(struct subject *s)
{
    struct vbs_ctx ctx = {0};

    if (vbs_tune_problem_init(&ctx, &s->space, &s->options, s->trials, N, &s->problem) != VBS_OK ||
        vbs_tune_models(&ctx, &s->problem, &s->problem.arena, &s->models) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (int i = 0; i < AT; i++)
        vbs_tune_locate(&s->space, &s->models.axes, s->at + 2 * i, s->x + 2 * i);
}

static void expect(const struct tune_gp *gp, const double *x, double *mean, double *deviation)
{
    if (vbs_gp_predict(NULL, gp, x, 1, mean, deviation) != VBS_OK)
        bail_out("no memory");
}

static double probability(const struct subject *s, const double *x)
{
    double all = 1;

    for (int c = 0; c < s->models.n_conditions; c++) {
        double mean, deviation;

        expect(&s->models.conditions[c], x, &mean, &deviation);
        all *= erfc(-mean / deviation / sqrt(2)) / 2;
    }
    return all;
}

static void test_constrained(int n_constraints, int n_without)
{
    struct subject *s = calloc(1, sizeof *s);
    double scores[AT], worst = 0, best = -INFINITY;
    int n = 0;

    fill(s, 1, n_constraints, n_without);
    make(s);
    for (int i = 0; i < N - 1; i++) {
        if (vbs_trial_feasible(&s->trials[i], 1, n_constraints))
            best = fmax(best, s->values[4 * i]);
    }
    ok(s->models.best >= best - 0.01,
       "the best that is reached or believed is no less than that of trials");
    is_int(s->models.n_conditions, n_constraints + (n_without > 0),
           "a process for each constraint, and one for trials without values");
    if (vbs_tune_score(NULL, &s->models, s->at, AT, scores) != VBS_OK)
        bail_out("no memory");
    for (int i = 0; i < AT; i++) {
        double mean, deviation;

        /* Where both are above the smallest double. */
        if (scores[i] < -600)
            continue;
        n++;
        expect(&s->models.objectives[0], s->x + 2 * i, &mean, &deviation);
        worst = fmax(worst, fabs(scores[i] - log(improvement(mean, deviation, s->models.best)) -
                                 log(probability(s, s->x + 2 * i))));
    }
    ok(worst < 1e-4 && n >= 5,
       "%d constraints, %d trials without values: %d scores are integrals (%.1e)", n_constraints,
       n_without, n, worst);
    vbs_tune_problem_clear(&s->problem);
    free(s);
}

/* Gives the expected growth of the hypervolume, by the rule of midpoints over the plane. */
static double growth(const struct subject *s, const double *mean, const double *deviation)
{
    double values[2 * N + 2], before = 0, sum = 0;
    int n = s->models.n_front;

    memcpy(values, s->models.front, sizeof *values * 2 * (size_t)n);
    if (vbs_hypervolume(NULL, 2, values, n, s->models.reference, &before) != VBS_OK)
        bail_out("no volume");
    for (int i = 0; i < STEPS / 2; i++) {
        for (int k = 0; k < STEPS / 2; k++) {
            double a = REACH * ((i + 0.5) * 4 / STEPS - 1), b = REACH * ((k + 0.5) * 4 / STEPS - 1);
            double weight = density(a) * density(b) * pow(4 * REACH / STEPS, 2), after;

            if (weight < 1e-12)
                continue;
            values[2 * n] = mean[0] + a * deviation[0];
            values[2 * n + 1] = mean[1] + b * deviation[1];
            if (vbs_hypervolume(NULL, 2, values, n + 1, s->models.reference, &after) != VBS_OK)
                bail_out("no volume");
            sum += weight * (after - before);
        }
    }
    return sum;
}

static void test_front(bool is_known)
{
    struct subject *s = calloc(1, sizeof *s);
    double scores[AT], worst = 0;

    fill(s, 2, 0, 0);
    s->options.known_objectives = is_known ? 1 : 0;
    s->options.known = known;
    make(s);
    ok(s->models.n_front >= 2, "a front of %d points", s->models.n_front);
    if (vbs_tune_score(NULL, &s->models, s->at, AT, scores) != VBS_OK)
        bail_out("no memory");
    for (int i = 0; i < 3; i++) {
        double mean[2], deviation[2];

        for (int o = is_known ? 1 : 0; o < 2; o++)
            expect(&s->models.objectives[o], s->x + 2 * i, &mean[o], &deviation[o]);
        if (is_known) {
            mean[0] = known(NULL, 0, s->at + 2 * i);
            deviation[0] = 1e-9;
        }
        worst = fmax(worst, fabs(exp(scores[i]) / growth(s, mean, deviation) - 1));
    }
    ok(worst < 0.01, "%s: expected growth of the hypervolume is an integral (%.1e)",
       is_known ? "one objective known" : "two objectives", worst);
    vbs_tune_problem_clear(&s->problem);
    free(s);
}

int main(void)
{
    test_normal();
    test_constrained(0, 0);
    test_constrained(2, 0);
    test_constrained(1, 4);
    test_front(false);
    test_front(true);
    return done_testing();
}
