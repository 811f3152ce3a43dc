/* What every sampler keeps: points of the space, none twice, equal bits for equal arguments; and
 * what trials can do to it. */
#include "tune/space/space.h"

#include "support/tap.h"
#include "tune/space/random.h"

#include <gsl/gsl_errno.h>
#include <stdlib.h>

#define MAX 400
#define D   5

/* A search: trials as they would be stored. */
struct study {
    struct vbs_search_space space;
    struct vbs_sampler_options options;
    struct vbs_search_trial trials[MAX];
    double points[MAX][D], values[MAX][5];
    int n;
};

static const struct vbs_search_parameter MIXED[] = {
    {"rate", VBS_SEARCH_REAL, 1e-5, 1, 0, true, 0},
    {"width", VBS_SEARCH_INTEGER, 16, 250, 16, false, 0},
    {"depth", VBS_SEARCH_INTEGER, 1, 300, 0, true, 0},
    {"kind", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 3},
    {"share", VBS_SEARCH_REAL, -0.5, 0.5, 0.1, false, 0}};
/* 24 points, and a parameter with one value. */
static const struct vbs_search_parameter SMALL[] = {
    {"a", VBS_SEARCH_INTEGER, -1, 1, 1, false, 0},
    {"b", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 2},
    {"c", VBS_SEARCH_REAL, 0, 0.3, 0.1, false, 0},
    {"d", VBS_SEARCH_REAL, 4, 4, 0, false, 0}};

static struct study *new_study(const struct vbs_search_parameter *parameters, int d,
                               enum vbs_sampler sampler)
{
    struct study *study = calloc(1, sizeof *study);

    if (!study)
        bail_out("no memory");
    study->space = (struct vbs_search_space){d, parameters};
    study->options = (struct vbs_sampler_options){
        .struct_size = sizeof study->options, .sampler = sampler, .seed = 5, .max_epochs = 9};
    return study;
}

/* Takes the next suggestion as a trial that runs. */
static enum vbs_status next(struct vbs_ctx *ctx, struct study *study,
                            struct vbs_suggestion *suggestion)
{
    enum vbs_status status = vbs_sampler_suggest(ctx, &study->space, &study->options, study->trials,
                                                 study->n, study->points[study->n], suggestion);

    if (status != VBS_OK)
        return status;
    study->trials[study->n] = (struct vbs_search_trial){.point = study->points[study->n],
                                                        .objectives = study->values[study->n],
                                                        .constraints = study->values[study->n] + 3,
                                                        .epochs = suggestion->epochs,
                                                        .continues = suggestion->continues};
    study->n++;
    return VBS_OK;
}

static bool is_repeated(const struct study *study, int i)
{
    size_t size = sizeof(double) * (size_t)study->space.n_parameters;

    for (int k = 0; k < i; k++) {
        if (memcmp(study->points[i], study->points[k], size) == 0 &&
            study->trials[i].continues == 0)
            return true;
    }
    return false;
}

/* A value that depends on all parameters. */
static void end_trial(struct study *study, int i)
{
    double sum = 0;

    for (int k = 0; k < study->space.n_parameters; k++) {
        double u = vbs_tune_coordinate(&study->space.parameters[k], study->points[i][k]);

        sum -= (u - 0.3) * (u - 0.3) * (k + 1);
    }
    study->values[i][0] = sum;
    study->values[i][1] = study->points[i][0];
    study->values[i][2] = -study->points[i][1];
    study->values[i][3] = sum + 1.5;
    study->trials[i].state = VBS_TRIAL_COMPLETE;
}

/* Ends trials in turn in all ways that there are, some of them later than others. */
static void end_somehow(struct study *study, int i)
{
    static const enum vbs_trial_state STATES[] = {VBS_TRIAL_COMPLETE, VBS_TRIAL_COMPLETE,
                                                  VBS_TRIAL_FAILED, VBS_TRIAL_INFEASIBLE,
                                                  VBS_TRIAL_COMPLETE};
    enum vbs_trial_state state = STATES[i % 5];

    if (i % 7 == 3)
        return;
    end_trial(study, i);
    study->trials[i].state = state;
    if (i % 5 == 4)
        study->values[i][0] = NAN;
    if (state != VBS_TRIAL_COMPLETE) {
        study->trials[i].objectives = NULL;
        study->trials[i].constraints = NULL;
    }
}

static void test_space(enum vbs_sampler sampler, int n_objectives)
{
    struct study *study = new_study(MIXED, 5, sampler);
    struct vbs_ctx ctx = {0};
    int n_outside = 0, n_repeated = 0, n_failed = 0, n_scored = 0;

    study->options.n_objectives = n_objectives;
    study->options.n_constraints = 1;
    study->options.grid_levels = 4;
    for (int i = 0; i < 32; i++) {
        struct vbs_suggestion suggestion;

        if (next(&ctx, study, &suggestion) != VBS_OK) {
            n_failed++;
            printf("# %s\n", vbs_detail(&ctx));
            break;
        }
        n_outside += vbs_search_point_check(&ctx, &study->space, study->points[i]) != VBS_OK;
        n_repeated += is_repeated(study, i);
        n_scored += isfinite(suggestion.score);
        end_somehow(study, i);
    }
    ok(n_failed == 0 && n_outside == 0 && n_repeated == 0,
       "%s, %d objectives: 32 points of the space, none twice", vbs_sampler_word(sampler),
       n_objectives);
    ok((n_scored > 15) == (sampler == VBS_SAMPLER_BAYESIAN),
       "and %d of them have scores of a model", n_scored);
    free(study);
}

static void test_exhaustion(enum vbs_sampler sampler, bool ends)
{
    struct study *study = new_study(SMALL, 4, sampler);
    struct vbs_suggestion suggestion = {.epochs = 77};
    struct vbs_ctx ctx = {0};
    int n_new = 0, n_repeated = 0;
    enum vbs_status status;

    is_int(vbs_search_space_points(&study->space), 24, "a space of 24 points");
    while ((status = next(&ctx, study, &suggestion)) == VBS_OK && study->n < 100) {
        n_new += suggestion.continues == 0;
        n_repeated += is_repeated(study, study->n - 1);
        if (ends)
            end_trial(study, study->n - 1);
    }
    ok(status == VBS_NOT_FOUND && n_new == 24 && n_repeated == 0,
       "%s finds each of them once, then none, where trials %s", vbs_sampler_word(sampler),
       ends ? "end" : "run");
    suggestion.epochs = 77;
    status = vbs_sampler_suggest(&ctx, &study->space, &study->options, study->trials, study->n,
                                 study->points[MAX - 1], &suggestion);
    ok(status == VBS_NOT_FOUND && suggestion.epochs == 77 && study->points[MAX - 1][3] == 0,
       "outputs stay as they were");
    free(study);
}

/* Suggestions from copies of the trials are the same to the bit. */
static void test_bits(enum vbs_sampler sampler)
{
    struct study *study = new_study(MIXED, 5, sampler), *copy = new_study(MIXED, 5, sampler);
    struct vbs_ctx ctx = {0};
    bool same = true, differs = false;

    study->options.n_constraints = 1;
    study->options.n_initial = copy->options.n_initial = 6;
    for (int i = 0; i < 14; i++) {
        struct vbs_suggestion suggestion, again;
        double point[D];

        memcpy(copy, study, sizeof *study);
        for (int k = 0; k < i; k++) {
            copy->trials[k].point = copy->points[k];
            copy->trials[k].objectives = study->trials[k].objectives ? copy->values[k] : NULL;
            copy->trials[k].constraints = study->trials[k].constraints ? copy->values[k] + 3 : NULL;
        }
        if (next(&ctx, study, &suggestion) != VBS_OK || next(&ctx, copy, &again) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
        same = same && memcmp(study->points[i], copy->points[i], sizeof *study->points) == 0 &&
               suggestion.continues == again.continues && suggestion.epochs == again.epochs &&
               memcmp(&suggestion.score, &again.score, sizeof again.score) == 0;
        copy->options.seed++;
        copy->n--;
        if (vbs_sampler_suggest(&ctx, &copy->space, &copy->options, copy->trials, copy->n, point,
                                &again) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
        differs = differs || memcmp(point, study->points[i], sizeof point) != 0;
        end_somehow(study, i);
    }
    ok(same, "%s: equal arguments have equal bits", vbs_sampler_word(sampler));
    ok(differs, "another seed has other points");
    free(study);
    free(copy);
}

/* All of some trials end in one way; then suggestions go on. */
static void test_outcomes(void)
{
    static const char *const NAMES[] = {"one trial", "all infeasible",  "all failed",
                                        "all equal", "all run",         "all break a constraint",
                                        "enormous",  "NaN and infinite"};

    for (int outcome = 0; outcome < 8; outcome++) {
        struct study *study = new_study(MIXED, 5, VBS_SAMPLER_BAYESIAN);
        struct vbs_suggestion suggestion;
        struct vbs_ctx ctx = {0};
        int n_wrong = 0;

        study->options.n_constraints = 1;
        study->options.n_initial = 2;
        for (int i = 0; i < (outcome == 0 ? 2 : 10); i++) {
            if (next(&ctx, study, &suggestion) != VBS_OK) {
                n_wrong++;
                printf("# %s\n", vbs_detail(&ctx));
                break;
            }
            n_wrong += is_repeated(study, i);
            end_trial(study, i);
            study->values[i][3] = 1;
            if (outcome >= 1 && outcome <= 2)
                study->trials[i].state = outcome == 1 ? VBS_TRIAL_INFEASIBLE : VBS_TRIAL_FAILED;
            if (outcome == 3)
                study->values[i][0] = study->values[i][3] = 4;
            if (outcome == 4)
                study->trials[i].state = VBS_TRIAL_RUNNING;
            if (outcome == 5)
                study->values[i][3] = -1 - study->points[i][4];
            if (outcome == 6)
                study->values[i][0] = study->values[i][3] = i % 2 ? 1e308 : -1.7e308;
            if (outcome == 7)
                study->values[i][0] = i % 2 ? INFINITY : NAN;
        }
        ok(n_wrong == 0, "%s: suggestions go on", NAMES[outcome]);
        free(study);
    }
}

/* An optimum on a lattice is found, with a constraint that cuts the space. */
static void test_search(int workers)
{
    static const struct vbs_search_parameter LATTICE[] = {
        {"a", VBS_SEARCH_INTEGER, 0, 30, 1, false, 0},
        {"b", VBS_SEARCH_INTEGER, 0, 30, 1, false, 0},
        {"c", VBS_SEARCH_CATEGORICAL, 0, 0, 0, false, 3}};
    struct study *study = new_study(LATTICE, 3, VBS_SAMPLER_BAYESIAN);
    struct vbs_ctx ctx = {0};
    int best;

    study->options.n_constraints = 1;
    for (int i = 0; i < 40; i++) {
        struct vbs_suggestion suggestion;

        if (next(&ctx, study, &suggestion) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
        if (i - workers + 1 >= 0) {
            int k = i - workers + 1;
            const double *p = study->points[k];

            study->values[k][0] = -pow(p[0] - 21, 2) - pow(p[1] - 4, 2) - 20 * (p[2] != 1);
            study->values[k][3] = 20.5 - p[0];
            study->trials[k].state = VBS_TRIAL_COMPLETE;
        }
    }
    best = vbs_trials_best(study->trials, study->n, 1, 1);
    ok(best >= 0 && study->values[best][0] == -1,
       "%d workers: the best of 2,883 points in 40 trials (number %d)", workers, best + 1);
    free(study);
}

static double speed(void *self, int objective, const double *point)
{
    (void)self;
    (void)objective;
    if (point[0] == 7)
        return NAN;
    return point[0] == 9 ? 0 : 1 + point[0] + point[1];
}

/* What is known is not tried where it is impossible, and leads to the border of the constraint. */
static void test_known(void)
{
    static const struct vbs_search_parameter LATTICE[] = {
        {"a", VBS_SEARCH_INTEGER, 0, 90, 1, false, 0},
        {"b", VBS_SEARCH_INTEGER, 0, 90, 1, false, 0}};
    struct study *study = new_study(LATTICE, 2, VBS_SAMPLER_BAYESIAN);
    struct vbs_ctx ctx = {0};
    int n_impossible = 0, best;

    study->options.n_constraints = 1;
    study->options.known_objectives = 1;
    study->options.known = speed;
    for (int i = 0; i < 30; i++) {
        struct vbs_suggestion suggestion;
        const double *p = study->points[i];

        if (next(&ctx, study, &suggestion) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
        n_impossible += p[0] == 7 || p[0] == 9;
        study->values[i][0] = speed(NULL, 0, p);
        study->values[i][3] = 100 * 100 - p[0] * p[0] - 1.5 * p[1] * p[1];
        study->trials[i].state = VBS_TRIAL_COMPLETE;
    }
    best = vbs_trials_best(study->trials, study->n, 1, 1);
    is_int(n_impossible, 0, "points that the known objective forbids are not tried");
    /* a = 78, b = 51 or 77 and 52: 130. */
    ok(best >= 0 && study->values[best][0] >= 129, "30 trials find %.0f of 130",
       best < 0 ? 0 : study->values[best][0]);
    free(study);
}

/* The time of a suggestion does not grow as the cube of trials: the model holds some of them. */
static void test_many(void)
{
    enum { MANY = 10000 };
    static const struct vbs_search_parameter PLANE[] = {{"x", VBS_SEARCH_REAL, 0, 1, 0, false, 0},
                                                        {"y", VBS_SEARCH_REAL, 0, 1, 0, false, 0}};
    const struct vbs_search_space space = {2, PLANE};
    struct vbs_sampler_options options = {.struct_size = sizeof options, .n_modelled = 64};
    struct vbs_search_trial *trials = calloc(MANY, sizeof *trials);
    double *points = malloc(sizeof *points * 2 * MANY), *values = malloc(sizeof *values * MANY);
    struct tune_random random = {1};
    struct vbs_suggestion suggestion;
    double point[2];

    if (!trials || !points || !values)
        bail_out("no memory");
    for (int i = 0; i < MANY; i++) {
        double *p = points + (size_t)2 * i;

        p[0] = vbs_tune_uniform(&random);
        p[1] = vbs_tune_uniform(&random);
        values[i] = -hypot(p[0] - 0.4, p[1] - 0.6);
        trials[i] = (struct vbs_search_trial){p, VBS_TRIAL_COMPLETE, &values[i], NULL, 0, 0};
    }
    if (vbs_sampler_suggest(NULL, &space, &options, trials, MANY, point, &suggestion) != VBS_OK)
        bail_out("no suggestion");
    ok(hypot(point[0] - 0.4, point[1] - 0.6) < 0.05,
       "10,000 trials lead to a point near the best (%.3f, %.3f)", point[0], point[1]);
    free(trials);
    free(points);
    free(values);
}

static int n_gsl_errors(int more)
{
    static int n;

    return n += more;
}

static void count_error(const char *reason, const char *file, int line, int number)
{
    printf("# GSL: %s (%s:%d, %d)\n", reason, file, line, number);
    n_gsl_errors(1);
}

int main(void)
{
    gsl_set_error_handler(count_error);
    for (int s = 0; s < VBS_N_SAMPLERS; s++) {
        for (int m = 1; m <= 2; m++)
            test_space((enum vbs_sampler)s, m);
        test_exhaustion((enum vbs_sampler)s, true);
        test_exhaustion((enum vbs_sampler)s, false);
        test_bits((enum vbs_sampler)s);
    }
    test_space(VBS_SAMPLER_BAYESIAN, 3);
    test_outcomes();
    test_search(1);
    test_search(4);
    test_known();
    test_many();
    is_int(n_gsl_errors(0), 0, "GSL's error handler was never called");
    return done_testing();
}
