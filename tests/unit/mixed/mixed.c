/*
 * Mixed precision of a network on the analytic backend, whose times have no noise: plans are those
 * that loading, measuring and planning the written network gives, chosen networks are within their
 * bounds, and what is chosen is the best of all choices.
 */
#include "vbslab/mixed.h"

#include "support/model_help.h"
#include "support/tap.h"
#include "vbslab/backend.h"
#include "vbslab/replay.h"
#include "vbslab/simple.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SAMPLES 10
#define REQUEST 6
#define BOUNDS  3

static const int BATCHES[] = {1, 2, 3, 6};

static const char TEXT[] = "model small\n"
                           "input 3x12x12\n"
                           "conv a out=8 kernel=3 pad=1\n"
                           "relu ar\n"
                           "conv b out=12 kernel=3 pad=1\n"
                           "conv c out=12 kernel=1 from=ar\n"
                           "add s from=b,c\n"
                           "relu sr\n"
                           "maxpool p kernel=2 stride=2\n"
                           "conv d out=16 kernel=3 pad=1\n"
                           "fc f out=10\n";

static enum vbs_status give(struct vbs_ctx *ctx, void *self, int64_t first, int n, float *inputs)
{
    const struct vbs_network *network = self;
    int64_t each = vbs_shape_elements(&network->input);

    (void)ctx;
    vbs_tensor_values(0, first * each, n * each, inputs);
    return VBS_OK;
}

static char folder[] = "/tmp/t_mixed.XXXXXX", path[64];

struct fixture {
    struct vbs_network *network;
    struct vbs_quantize_samples samples;
    struct vbs_quantized_network *quantized;
    struct vbs_store *store;
    struct vbs_mixed_options options;
};

static void must(struct vbs_ctx *ctx, enum vbs_status status)
{
    if (status != VBS_OK)
        bail_out("%s", vbs_detail(ctx));
}

static void begin(struct fixture *f)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_backend *backend = NULL;

    f->network = parse_network(TEXT);
    f->samples = (struct vbs_quantize_samples){f->network, SAMPLES, give};
    must(&ctx, vbs_quantize(&ctx, f->network, &f->samples, NULL, &f->quantized));
    if (!mkdtemp(folder))
        bail_out("cannot make %s", folder);
    snprintf(path, sizeof path, "%s/store.sqlite", folder);
    must(&ctx, vbs_store_open(&ctx, path, VBS_STORE_WRITE, &f->store));
    must(&ctx, vbs_backend_find(&ctx, "analytic", &backend));
    f->options = (struct vbs_mixed_options){
        .struct_size = sizeof f->options,
        .profile = {.backend = backend,
                    .batches = BATCHES,
                    .n_batches = 4,
                    .measure = {.min_runs = 1, .max_runs = 1, .seed = 1}},
        .problem = {.request = REQUEST},
    };
    must(&ctx, vbs_planner_find(&ctx, "dp-vbs+", &f->options.planner));
}

static void end(struct fixture *f)
{
    vbs_store_close(f->store);
    vbs_quantized_free(f->quantized);
    vbs_network_free(f->network);
    unlink(path);
    rmdir(folder);
}

/* Plans the network of a choice by itself; HUGE_VAL where nothing fits. */
static double plan_alone(const struct fixture *f, const struct vbs_mixed *mixed, int choice,
                         int64_t budget)
{
    const struct vbs_simple_options options = {
        .struct_size = sizeof options, .backend = "analytic", .batches = BATCHES, .n_batches = 4};
    struct vbs_quantized_network *chosen = NULL;
    struct vbs_network *network = NULL;
    struct vbs_profile *profile = NULL;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;
    struct vbs_replay *replay = NULL;
    struct vbs_problem problem = f->options.problem;
    struct vbs_ctx ctx = {0};
    double time_us = HUGE_VAL;

    must(&ctx, vbs_mixed_network(&ctx, mixed, choice, &chosen));
    must(&ctx, vbs_quantized_load(&ctx, chosen, &network));
    must(&ctx, vbs_simple_measure(&ctx, network, &options, &profile));
    problem.profile = profile;
    must(&ctx, vbs_solver_new(&ctx, f->options.planner, &problem, NULL, &solver));
    if (vbs_solver_plan(&ctx, solver, budget, &schedule) == VBS_OK) {
        must(&ctx, vbs_replay_run(&ctx, profile, schedule, -1, false, &replay));
        time_us = replay->time_us;
    }
    vbs_replay_free(replay);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    vbs_profile_free(profile);
    vbs_network_free(network);
    vbs_quantized_free(chosen);
    return time_us;
}

static void check_plans(const struct fixture *f, const struct vbs_mixed *mixed)
{
    int n, n_budgets, n_wrong = 0, n_fit = 0;
    const struct vbs_mixed_choice *choices = vbs_mixed_choices(mixed, &n);
    const int64_t *budgets = vbs_mixed_budgets(mixed, &n_budgets);

    for (int i = 0; i < n; i++)
        for (int b = 0; b < n_budgets; b += 3) {
            double time_us = plan_alone(f, mixed, i, budgets[b]);

            n_fit += time_us < HUGE_VAL;
            n_wrong += choices[i].plans[b].time_us != time_us;
        }
    ok(n_wrong == 0 && n_fit > 0, "plans are those of the networks by themselves");
}

static bool is_within(const struct vbs_quantize_difference *d, const struct vbs_mixed_bound *bound)
{
    return pow(10, -d->db / 10) <= bound->error &&
           (double)(d->n - d->n_same) / (double)d->n <= bound->changed;
}

/* Compares all choices, and gives the fastest within a bound. */
static double best_of_all(const struct fixture *f, struct vbs_mixed *mixed, int b,
                          const struct vbs_mixed_bound *bound)
{
    struct vbs_ctx ctx = {0};
    double best = HUGE_VAL;
    int n;
    const struct vbs_mixed_choice *choices = vbs_mixed_choices(mixed, &n);

    (void)f;
    for (int i = 0; i < n; i++) {
        must(&ctx, vbs_mixed_compare(&ctx, mixed, i));
        if (is_within(&choices[i].difference, bound))
            best = fmin(best, choices[i].plans[b].time_us);
    }
    return best;
}

static void check_search(const struct fixture *f)
{
    struct vbs_mixed_bound bounds[BOUNDS] = {{HUGE_VAL, HUGE_VAL}, {0, HUGE_VAL}, {0, HUGE_VAL}};
    int chosen[VBS_MIXED_BUDGETS * BOUNDS], n, n_layers, n_budgets, n_wrong = 0, n_mixed = 0;
    const struct vbs_mixed_choice *choices;
    struct vbs_mixed *mixed = NULL;
    struct vbs_ctx ctx = {0};

    must(&ctx, vbs_mixed_new(&ctx, f->store, f->quantized, &f->samples, &f->options, &mixed));
    vbs_mixed_layers(mixed, &n_layers);
    is_int(n_layers, 5, "all layers with weights can be chosen");
    vbs_mixed_budgets(mixed, &n_budgets);
    is_int(n_budgets, VBS_MIXED_BUDGETS, "budgets are chosen where none is given");
    choices = vbs_mixed_choices(mixed, &n);
    ok(choices[0].n_kept == 0 && choices[1].n_kept == n_layers && choices[1].error == 0 &&
           choices[0].plans[0].time_us < HUGE_VAL &&
           choices[1].plans[n_budgets - 1].time_us < HUGE_VAL,
       "8 bits fit the least budget, and floats the largest");
    bounds[1].error = choices[0].error / 4;
    bounds[2].error = choices[0].error / 50;
    must(&ctx, vbs_mixed_search(&ctx, mixed, bounds, BOUNDS, chosen));
    choices = vbs_mixed_choices(mixed, &n);
    is_int(n, 1 << n_layers, "few layers: all choices are planned");
    for (int i = 0; i < n_budgets * BOUNDS; i++) {
        double best = best_of_all(f, mixed, i / BOUNDS, &bounds[i % BOUNDS]);
        bool found = chosen[i] >= 0 && choices[chosen[i]].plans[i / BOUNDS].time_us <= 1.2 * best &&
                     is_within(&choices[chosen[i]].difference, &bounds[i % BOUNDS]);

        n_wrong += best < HUGE_VAL ? !found : chosen[i] >= 0;
        n_mixed += found && choices[chosen[i]].n_kept % n_layers != 0;
    }
    is_int(n_wrong, 0, "what is chosen is within its bound and near the best");
    ok(n_mixed > 0, "some networks are mixed");
    check_plans(f, mixed);
    vbs_mixed_free(mixed);
}

static void check_options(struct fixture *f)
{
    static const int64_t BUDGETS[] = {90000, 20000, 90000};
    const struct vbs_mixed_options before = f->options;
    struct vbs_mixed *mixed = NULL;
    struct vbs_ctx ctx = {0};
    const int64_t *budgets;
    int n;

    f->options.budgets = BUDGETS;
    f->options.n_budgets = 3;
    must(&ctx, vbs_mixed_new(&ctx, f->store, f->quantized, &f->samples, &f->options, &mixed));
    budgets = vbs_mixed_budgets(mixed, &n);
    ok(n == 2 && budgets[0] == 20000 && budgets[1] == 90000,
       "budgets are taken in ascending order, each once");
    vbs_mixed_free(mixed);
    f->options = before;
    f->options.planner = NULL;
    ok(vbs_mixed_new(&ctx, f->store, f->quantized, &f->samples, &f->options, &mixed) == VBS_USAGE,
       "a planner is needed");
    f->options = before;
    f->options.problem.latency_us = 1e-6;
    ok(vbs_mixed_new(&ctx, f->store, f->quantized, &f->samples, &f->options, &mixed) ==
           VBS_INFEASIBLE,
       "where no budget is feasible, none can be chosen");
    f->options = before;
}

int main(void)
{
    struct fixture f;

    begin(&f);
    check_search(&f);
    check_options(&f);
    end(&f);
    done_testing();
}
