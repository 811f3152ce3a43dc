/* Successive halving: who goes on, and when. Then spaces and options that are refused. */
#include "support/tap.h"
#include "vbslab/tune.h"

#include <stdlib.h>

#define MAX 200

static const struct vbs_search_parameter LINE[] = {{"x", VBS_SEARCH_REAL, 0, 1, 0, false, 0}};
static const struct vbs_search_space SPACE = {1, LINE};

struct study {
    struct vbs_sampler_options options;
    struct vbs_search_trial trials[MAX];
    double points[MAX], values[MAX][2];
    int n;
};

static struct study *new_study(void)
{
    struct study *study = calloc(1, sizeof *study);

    if (!study)
        bail_out("no memory");
    study->options = (struct vbs_sampler_options){.struct_size = sizeof study->options,
                                                  .sampler = VBS_SAMPLER_HALVING,
                                                  .max_epochs = 7,
                                                  .reduction = 3};
    return study;
}

/* Adds a trial with these epochs, which has ended with a value, or without one where it is NaN. */
static void add(struct study *study, int epochs, int continues, double value)
{
    int i = study->n++;

    study->points[i] = continues ? study->points[continues - 1] : fmod(0.618034 * i, 1);
    study->values[i][0] = value;
    study->trials[i] = (struct vbs_search_trial){.point = &study->points[i],
                                                 .state = VBS_TRIAL_COMPLETE,
                                                 .objectives = study->values[i],
                                                 .constraints = &study->values[i][1],
                                                 .epochs = epochs,
                                                 .continues = continues};
}

static struct vbs_suggestion suggest(struct study *study)
{
    struct vbs_suggestion suggestion = {0};
    struct vbs_ctx ctx = {0};
    double point;

    if (vbs_sampler_suggest(&ctx, &SPACE, &study->options, study->trials, study->n, &point,
                            &suggestion) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    if (suggestion.continues > 0 && point != study->points[suggestion.continues - 1])
        bail_out("another point goes on");
    return suggestion;
}

static void is_suggested(struct study *study, int continues, int epochs, const char *name)
{
    struct vbs_suggestion suggestion = suggest(study);

    ok(suggestion.continues == continues && suggestion.epochs == epochs, "%s (trial %d, %d epochs)",
       name, suggestion.continues, suggestion.epochs);
}

static void test_levels(void)
{
    struct study *study = new_study();

    is_suggested(study, 0, 1, "the first trial is new");
    add(study, 1, 0, 0.5);
    add(study, 1, 0, 0.7);
    is_suggested(study, 0, 1, "two trials are too few for one to go on");
    add(study, 1, 0, 0.6);
    is_suggested(study, 2, 3, "of three the best goes on");
    add(study, 3, 2, 0.8);
    study->trials[3].state = VBS_TRIAL_RUNNING;
    is_suggested(study, 0, 1, "it goes on once");
    study->trials[3].state = VBS_TRIAL_FAILED;
    is_suggested(study, 0, 1, "also where it then fails");
    study->trials[3].state = VBS_TRIAL_COMPLETE;
    add(study, 1, 0, 0.9);
    add(study, 1, 0, NAN);
    add(study, 1, 0, 0.1);
    is_suggested(study, 5, 3, "of six the second best goes on, where the best two of them may");
    add(study, 3, 5, 0.75);
    add(study, 3, 1, 0.2);
    is_suggested(study, 4, 7, "a higher level comes first, and the last one has all epochs");
    add(study, 7, 4, 0.99);
    is_suggested(study, 0, 1, "nothing goes on from the last level");
    free(study);
}

static void test_constraints(void)
{
    struct study *study = new_study();

    study->options.n_constraints = 1;
    add(study, 1, 0, 9);
    add(study, 1, 0, 5);
    add(study, 1, 0, 6);
    study->values[0][1] = -2;
    is_suggested(study, 3, 3, "a feasible trial is better than any other");
    study->values[1][1] = -1;
    study->values[2][1] = -3;
    is_suggested(study, 2, 3, "then the one that lacks least");
    free(study);
}

static void test_objectives(void)
{
    struct study *study = new_study();

    study->options.n_objectives = 2;
    add(study, 1, 0, 2);
    add(study, 1, 0, 3);
    add(study, 1, 0, 1);
    study->values[0][1] = 2;
    study->values[1][1] = -5;
    study->values[2][1] = 1;
    is_suggested(study, 2, 3, "of two that nothing dominates the first objective decides");
    study->values[1][0] = 0.5;
    is_suggested(study, 1, 3, "one that is dominated does not go on");
    free(study);
}

/* Three workers, to the end: each level has a third of the one below it. */
static void test_course(void)
{
    struct study *study = new_study();
    int n_level[3] = {0}, n_wrong = 0;

    for (int i = 0; i < 120; i++) {
        struct vbs_suggestion suggestion = suggest(study);
        int continues = suggestion.continues;

        n_level[suggestion.epochs == 1 ? 0 : suggestion.epochs == 3 ? 1 : 2]++;
        n_wrong += continues > 0 && study->trials[continues - 1].epochs >= suggestion.epochs;
        for (int k = 0; k < study->n; k++)
            n_wrong += continues > 0 && study->trials[k].continues == continues;
        add(study, suggestion.epochs, continues, 0);
        study->trials[i].state = VBS_TRIAL_RUNNING;
        if (i >= 2) {
            study->trials[i - 2].state = VBS_TRIAL_COMPLETE;
            study->values[i - 2][0] = study->points[i - 2] + study->trials[i - 2].epochs;
        }
    }
    is_int(n_wrong, 0, "each trial goes on once, for more epochs");
    /* Some more than a third go on: the best of few are not all among the best of many. */
    ok(n_level[1] >= n_level[0] / 3 - 2 && n_level[1] <= n_level[0] / 2 &&
           n_level[2] >= n_level[1] / 3 - 2 && n_level[2] <= n_level[1] / 2,
       "levels of %d, %d and %d trials", n_level[0], n_level[1], n_level[2]);
    free(study);
}

/* ---- refusals ---- */

static void refused_space(struct vbs_search_parameter parameter, const char *detail)
{
    const struct vbs_search_space space = {1, &parameter};
    struct vbs_ctx ctx = {0};

    if (!parameter.name)
        parameter.name = "p";
    is_int(vbs_search_space_check(&ctx, &space), VBS_USAGE, "a space is refused");
    is_str(ctx.detail, detail, "and the reason is");
}

static void refused(struct vbs_sampler_options options, const char *detail)
{
    struct vbs_suggestion suggestion;
    struct vbs_ctx ctx = {0};
    double point = 5;

    options.struct_size = sizeof options;
    is_int(vbs_sampler_suggest(&ctx, &SPACE, &options, NULL, 0, &point, &suggestion), VBS_USAGE,
           "options are refused");
    ok(strstr(ctx.detail, detail) && point == 5, "because '%s'", ctx.detail);
}

static void test_refusals(void)
{
    const struct vbs_search_space empty = {0, LINE};
    struct vbs_search_trial trial = {.point = (const double[]){1.5}};
    struct vbs_sampler_options options = {.struct_size = sizeof options};
    struct vbs_suggestion suggestion;
    struct vbs_ctx ctx = {0};
    double point;

    is_int(vbs_search_space_check(&ctx, &empty), VBS_USAGE, "a space needs a parameter");
    refused_space((struct vbs_search_parameter){.low = 2, .high = 1},
                  "parameter 'p': its lower bound is above its upper bound");
    refused_space((struct vbs_search_parameter){.low = NAN, .high = 1},
                  "parameter 'p': its bounds must be finite numbers");
    refused_space((struct vbs_search_parameter){.low = -1e308, .high = 1e308},
                  "parameter 'p': its bounds are too far apart");
    refused_space((struct vbs_search_parameter){.low = 0, .high = 1, .log = true},
                  "parameter 'p': a logarithmic parameter must be above 0");
    refused_space((struct vbs_search_parameter){.low = 0, .high = 1, .step = -1},
                  "parameter 'p': its step must be a finite number, at least 0");
    refused_space((struct vbs_search_parameter){.kind = VBS_SEARCH_INTEGER, .low = 0.5, .high = 1},
                  "parameter 'p': bounds and step of an integer must be whole numbers within 2^53");
    refused_space((struct vbs_search_parameter){.high = 1, .step = 1e-300},
                  "parameter 'p': it has more than 2^53 values");
    refused_space((struct vbs_search_parameter){.kind = VBS_SEARCH_CATEGORICAL},
                  "parameter 'p': it has no choices");
    refused((struct vbs_sampler_options){.n_objectives = 4}, "1 to 3 objectives, not 4");
    refused((struct vbs_sampler_options){.n_constraints = -1}, "0 to 16 constraints, not -1");
    refused((struct vbs_sampler_options){.n_initial = 1}, "at least 2 initial points, not 1");
    refused((struct vbs_sampler_options){.n_modelled = 5}, "16 to 2000 trials, not 5");
    refused((struct vbs_sampler_options){.known_objectives = 1}, "need a function");
    refused((struct vbs_sampler_options){.sampler = VBS_SAMPLER_HALVING}, "halving needs");
    refused((struct vbs_sampler_options){.sampler = VBS_SAMPLER_GRID, .grid_levels = 1},
            "at least 2 levels");
    refused((struct vbs_sampler_options){.n_objectives = 3, .front_rule = VBS_FRONT_HYPERVOLUME},
            "three take the rule 'scalar'");
    is_int(vbs_sampler_suggest(&ctx, &SPACE, &options, &trial, 1, &point, &suggestion), VBS_USAGE,
           "a trial outside the space is refused");
    is_str(ctx.detail, "trial 1: parameter 'x' is 1.5, outside 0..1", "with its number");
    trial.point = (const double[]){0.5};
    trial.state = VBS_TRIAL_COMPLETE;
    is_int(vbs_sampler_suggest(&ctx, &SPACE, &options, &trial, 1, &point, &suggestion), VBS_USAGE,
           "a complete trial without values is refused");
}

static void test_words(void)
{
    is_str(vbs_sampler_word(VBS_SAMPLER_HALVING), "halving", "samplers have words");
    is_str(vbs_search_kind_word(VBS_SEARCH_CATEGORICAL), "categorical", "kinds have words");
    is_str(vbs_trial_state_word(VBS_TRIAL_INFEASIBLE), "infeasible", "states have words");
    is_str(vbs_front_rule_word(VBS_FRONT_SCALAR), "scalar", "rules have words");
    ok(!vbs_sampler_word(VBS_N_SAMPLERS) && !vbs_search_kind_word((enum vbs_search_kind) - 1) &&
           !vbs_trial_state_word(VBS_N_TRIAL_STATES) && !vbs_front_rule_word(VBS_N_FRONT_RULES),
       "others have none");
}

int main(void)
{
    test_levels();
    test_constraints();
    test_objectives();
    test_course();
    test_refusals();
    test_words();
    return done_testing();
}
