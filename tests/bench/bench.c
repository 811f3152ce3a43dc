/*
 * make bench: speed as ratios within one run, and how far predictions are from measurements.
 * Nothing here passes or fails.
 *
 *   bench [SECONDS]   time for measuring each network (default 20)
 *   bench steps       only the overhead of a step
 */
#include "bench/bench.h"
#include "base/ctx.h"
#include "reference/plan/brute_force.h"
#include "profile/measure/measure.h"
#include "cases/random_profile.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const int BENCH_TO_12[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

double bench_now_s(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void bench_fail(const char *what, const struct vbs_ctx *ctx)
{
    fprintf(stderr, "bench: %s: %s\n", what, vbs_detail(ctx));
    exit(1);
}

/* ---- A profile in memory: the sink keeps the times itself ---- */

struct samples {
    double *times_us;
    int n, capacity;
};

struct memory_sink {
    struct samples *kernels;
};

static enum vbs_status nothing_stored(struct vbs_ctx *ctx, void *self, int kernel,
                                      const double **times_us, int *n_times)
{
    (void)ctx;
    (void)self;
    (void)kernel;
    *times_us = NULL;
    *n_times = 0;
    return VBS_OK;
}

static enum vbs_status keep(struct vbs_ctx *ctx, void *self, int kernel, int round, double time_us)
{
    struct samples *samples = &((struct memory_sink *)self)->kernels[kernel];

    (void)round;
    if (samples->n == samples->capacity) {
        int capacity = samples->capacity ? 2 * samples->capacity : 16;
        double *times = realloc(samples->times_us, (size_t)capacity * sizeof *times);

        if (!times) {
            if (ctx)
                ctx->status = VBS_NO_MEMORY;
            return VBS_NO_MEMORY;
        }
        samples->times_us = times;
        samples->capacity = capacity;
    }
    samples->times_us[samples->n++] = time_us;
    return VBS_OK;
}

static struct vbs_profile *build_profile(struct vbs_ctx *ctx, const struct vbs_session *session,
                                         struct samples *kernels)
{
    struct vbs_profile_builder *builder = vbs_profile_builder_new();
    struct vbs_profile *profile = NULL;
    enum vbs_status status = builder ? VBS_OK : VBS_NO_MEMORY;

    for (int k = 1; status == VBS_OK && k <= session->n_layers; k++)
        status = vbs_profile_builder_layer(ctx, builder, &session->layers[k]);
    for (int i = 0; status == VBS_OK && i < session->n_kernels; i++) {
        const struct vbs_kernel *kernel = &session->kernels[i];
        struct vbs_profile_row row = {.ws_bytes = kernel->ws_bytes};

        vbs_measure_summary(kernels[i].times_us, kernels[i].n, &row);
        status = vbs_profile_builder_row(ctx, builder, kernel->layer, kernel->batch,
                                         kernel->algorithm, &row);
    }
    if (status == VBS_OK)
        status = vbs_profile_builder_finish(ctx, builder, &profile);
    if (status != VBS_OK)
        bench_fail("profile", ctx);
    vbs_profile_builder_free(builder);
    return profile;
}

void bench_measure(const char *model, const char *backend_name, const int *batches, int n_batches,
                   double seconds, struct measured *made)
{
    bench_measure_threads(model, backend_name, batches, n_batches, seconds, 0, made);
}

void bench_measure_threads(const char *model, const char *backend_name, const int *batches,
                           int n_batches, double seconds, int threads, struct measured *made)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_backend *backend;
    const struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                                .batches = batches,
                                                .n_batches = n_batches,
                                                .threads = threads};
    const struct vbs_measure_options how = {
        .struct_size = sizeof(struct vbs_measure_options), .time_limit_s = seconds, .seed = 1};
    struct memory_sink keeper;
    const struct vbs_sample_sink sink = {.self = &keeper, .stored = nothing_stored, .add = keep};

    if (vbs_backend_find(&ctx, backend_name, &backend) != VBS_OK ||
        vbs_network_load(&ctx, model, NULL, &made->network) != VBS_OK ||
        backend->open(&ctx, made->network, &options, &made->session) != VBS_OK)
        bench_fail(model, &ctx);
    keeper.kernels = calloc((size_t)made->session->n_kernels, sizeof *keeper.kernels);
    if (!keeper.kernels)
        bench_fail(model, &ctx);
    if (vbs_measure(&ctx, made->session, &how, &sink, &made->report) != VBS_OK)
        bench_fail(model, &ctx);
    made->profile = build_profile(&ctx, made->session, keeper.kernels);
    for (int i = 0; i < made->session->n_kernels; i++)
        free(keeper.kernels[i].times_us);
    free(keeper.kernels);
}

void bench_release(struct measured *made)
{
    vbs_profile_free(made->profile);
    made->session->ops->close(made->session);
    vbs_network_free(made->network);
}

/* ---- Planning ---- */

const struct vbs_planner *bench_planner(const char *name)
{
    const struct vbs_planner *planner;
    struct vbs_ctx ctx = {0};

    if (vbs_planner_find(&ctx, name, &planner) != VBS_OK)
        bench_fail(name, &ctx);
    return planner;
}

struct vbs_solver *bench_solver(const char *planner, const struct vbs_problem *problem,
                                const struct vbs_solver_options *options)
{
    struct vbs_solver *solver;
    struct vbs_ctx ctx = {0};

    if (vbs_solver_new(&ctx, bench_planner(planner), problem, options, &solver) != VBS_OK)
        bench_fail(planner, &ctx);
    return solver;
}

/* Gives a budget at which a plan is neither trivial nor infeasible. */
static int64_t middle_budget(struct vbs_solver *solver)
{
    struct vbs_frontier *frontier;
    struct vbs_ctx ctx = {0};
    int64_t bytes;

    if (vbs_solver_frontier(&ctx, solver, &frontier) != VBS_OK)
        bench_fail("frontier", &ctx);
    bytes = frontier->points[frontier->n_points / 2].memory_bytes;
    vbs_frontier_free(frontier);
    return bytes;
}

/* Replays a schedule for a while; gives the steps per second. */
static double replay_speed(const struct vbs_profile *profile, const struct vbs_schedule *schedule)
{
    struct vbs_ctx ctx = {0};
    double start = bench_now_s(), end = start;
    int64_t n = 0;

    while (end - start < 0.2) {
        struct vbs_replay *replay;

        if (vbs_replay_run(&ctx, profile, schedule, -1, false, &replay) != VBS_OK)
            bench_fail("replay", &ctx);
        n += schedule->n_steps;
        vbs_replay_free(replay);
        end = bench_now_s();
    }
    return (double)n / (end - start);
}

/* Gives the steps per second of reading the steps and adding their times up, which no replay can
 * beat. */
static double reading_speed(const struct vbs_schedule *schedule)
{
    double start = bench_now_s(), end = start;
    volatile double sum = 0;
    int64_t n = 0;

    while (end - start < 0.05) {
        double total = 0;

        for (int64_t s = 0; s < schedule->n_steps; s++)
            total += schedule->steps[s].batch;
        sum = sum + total;
        n += schedule->n_steps;
        end = bench_now_s();
    }
    return (double)n / (end - start);
}

static void bench_network(const char *model)
{
    struct measured made = {0};
    struct vbs_problem problem = {.request = 12};
    struct vbs_ctx ctx = {0};
    struct vbs_solver *solver;
    struct vbs_schedule *schedule;
    double start, solve_s, plan_s;

    bench_measure(model, "analytic", BENCH_TO_12, 12, 1, &made);
    problem.profile = made.profile;
    start = bench_now_s();
    solver = bench_solver("dp-vbs", &problem, NULL);
    solve_s = bench_now_s() - start;
    start = bench_now_s();
    if (vbs_solver_plan(&ctx, solver, middle_budget(solver), &schedule) != VBS_OK)
        bench_fail(model, &ctx);
    plan_s = bench_now_s() - start;
    printf("%-18s %6d %9.2f %9.3f %12.1f %12.1f\n", model, made.profile->n_layers, 1e3 * solve_s,
           1e3 * plan_s, replay_speed(made.profile, schedule) / 1e6,
           reading_speed(schedule) / replay_speed(made.profile, schedule));
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
    bench_release(&made);
}

static void bench_planning(void)
{
    printf("Planning, 12 samples, analytic profile: one solve of dp-vbs answers every budget.\n\n");
    printf("%-18s %6s %9s %9s %12s %12s\n", "network", "layers", "solve ms", "plan ms",
           "replay M/s", "over reading");
    for (int i = 0; i < vbs_model_count(); i++)
        bench_network(vbs_model_name(i));
    printf(
        "\n  replay M/s: million replayed steps a second; over reading: its time as a multiple of\n"
        "  what reading the steps and adding one number each takes.\n\n");
}

/* Gives the seconds that the recurrences take as a memoised recursion, once for each budget of the
 * curve. */
static double reference_s(const struct vbs_problem *problem, struct vbs_solver *solver)
{
    struct vbs_frontier *frontier;
    struct vbs_ctx ctx = {0};
    double start;

    if (vbs_solver_frontier(&ctx, solver, &frontier) != VBS_OK)
        bench_fail("frontier", &ctx);
    start = bench_now_s();
    for (int i = 0; i < frontier->n_points; i++)
        brute_dp_vbs_us(problem, frontier->points[i].memory_bytes);
    vbs_frontier_free(frontier);
    return bench_now_s() - start;
}

/* Compares dp-vbs on curves with the same recurrences byte by byte. */
static void bench_reference(void)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    double ratios[25];
    int n = 0;

    gsl_rng_set(rng, 7);
    while (n < (int)(sizeof ratios / sizeof ratios[0])) {
        struct vbs_profile *profile = random_profile(rng, RANDOM_LINEAR, 7);
        struct vbs_problem problem = {.profile = profile, .request = 6};
        struct vbs_solver *solver;
        double start, fast_s;

        if (!profile || profile->n_layers < 6) {
            vbs_profile_free(profile);
            continue;
        }
        start = bench_now_s();
        solver = bench_solver("dp-vbs", &problem, NULL);
        fast_s = bench_now_s() - start;
        ratios[n++] = reference_s(&problem, solver) / fast_s;
        vbs_solver_free(solver);
        vbs_profile_free(profile);
    }
    gsl_sort(ratios, 1, (size_t)n);
    printf(
        "dp-vbs on curves against the same recurrences as a recursion that remembers, chains of\n"
        "6 and 7 layers, 6 samples, every budget at which the plan changes: %.1f times as fast\n"
        "(median of %d, %.1f to %.1f).\n\n",
        gsl_stats_median_from_sorted_data(ratios, 1, (size_t)n), n, ratios[0], ratios[n - 1]);
    gsl_rng_free(rng);
}

/* ---- Prediction ---- */

/* Chooses the fastest kernel of each layer at batch; kernels[1..n_layers]. Returns the sum of their
 * medians. */
static double choose_kernels(const struct measured *made, int batch, int *kernels)
{
    int index = vbs_profile_batch_index(made->profile, batch);
    double sum_us = 0;

    for (int k = 1; k <= made->session->n_layers; k++) {
        int n_rows;
        const struct vbs_profile_row *rows = vbs_profile_rows(made->profile, k, index, &n_rows);
        const struct vbs_profile_row *best = &rows[0];

        for (int a = 1; a < n_rows; a++)
            if (rows[a].time_us < best->time_us)
                best = &rows[a];
        sum_us += best->time_us;
        for (int i = 0; i < made->session->n_kernels; i++) {
            const struct vbs_kernel *kernel = &made->session->kernels[i];

            if (kernel->layer == k && kernel->batch == batch &&
                strcmp(kernel->algorithm, made->profile->algorithms[best->algorithm]) == 0)
                kernels[k] = i;
        }
    }
    return sum_us;
}

/* Gives the wall-clock time of one pass through all layers, with everything between them. */
static double run_pass(const struct measured *made, const struct vbs_pass_buffers *buffers,
                       const int *kernels)
{
    const struct vbs_session *session = made->session;
    struct vbs_ctx ctx = {0};
    double start = bench_now_s();

    for (int k = 1; k <= session->n_layers; k++) {
        const struct vbs_profile_layer *layer = &session->layers[k];
        const void *src[64];
        double time_us;

        for (int i = 0; i < layer->n_inputs && i < 64; i++)
            src[i] = buffers->slots[buffers->slot_of[layer->inputs[i]]];
        if (session->ops->run(&ctx, made->session, kernels[k],
                              &(struct vbs_operands){.src = src,
                                                     .dst = buffers->slots[buffers->slot_of[k]],
                                                     .ws = buffers->scratch},
                              &time_us) != VBS_OK)
            bench_fail(layer->name, &ctx);
    }
    return 1e6 * (bench_now_s() - start);
}

#define MAX_PASSES 31

static double median_pass(const struct measured *made, int batch, const int *kernels)
{
    struct vbs_pass_buffers buffers;
    struct vbs_ctx ctx = {0};
    double passes_us[MAX_PASSES], start = bench_now_s();
    int n = 0;

    if (vbs_pass_buffers_init(&ctx, made->session, batch, &buffers) != VBS_OK ||
        made->session->ops->fill(&ctx, made->session, 0, batch,
                                 buffers.slots[buffers.slot_of[0]]) != VBS_OK)
        bench_fail("buffers", &ctx);
    run_pass(made, &buffers, kernels);
    while (n < MAX_PASSES && (n < 5 || bench_now_s() - start < 2))
        passes_us[n++] = run_pass(made, &buffers, kernels);
    vbs_pass_buffers_release(made->session, &buffers);
    gsl_sort(passes_us, 1, (size_t)n);
    return gsl_stats_median_from_sorted_data(passes_us, 1, (size_t)n);
}

static void bench_prediction(double seconds)
{
    static const char *const MODELS[] = {"alexnet",     "vgg-16",          "googlenet",
                                         "resnet-50",   "resnet-56-cifar", "squeezenet-v1.0",
                                         "mobilenet-v1"};
    static const int BATCHES[] = {1, 4, 12};
    double errors[64], overheads[8];
    int n = 0, m = 0;

    printf(
        "Predicted (sum of the layers' medians) against measured time of a plain pass at a fixed\n"
        "batch, fastest algorithm per layer; profiles of %.0f s each.\n\n",
        seconds);
    printf("%-18s %5s %12s %12s %8s\n", "network", "batch", "predicted ms", "measured ms", "error");
    for (size_t i = 0; i < sizeof MODELS / sizeof MODELS[0]; i++) {
        struct measured made = {0};
        int *kernels;

        bench_measure(MODELS[i], "onednn", BATCHES, 3, seconds, &made);
        kernels = calloc((size_t)made.session->n_layers + 1, sizeof *kernels);
        for (int b = 0; kernels && b < 3; b++) {
            double predicted_us = choose_kernels(&made, BATCHES[b], kernels);
            double measured_us = median_pass(&made, BATCHES[b], kernels);

            errors[n] = fabs(predicted_us / measured_us - 1);
            printf("%-18s %5d %12.3f %12.3f %+7.1f%%\n", MODELS[i], BATCHES[b], predicted_us / 1e3,
                   measured_us / 1e3, 100 * (predicted_us / measured_us - 1));
            n++;
        }
        overheads[m++] = made.report.total_s / made.report.timed_s;
        fflush(stdout);
        free(kernels);
        bench_release(&made);
    }
    gsl_sort(errors, 1, (size_t)n);
    gsl_sort(overheads, 1, (size_t)m);
    printf("\n  median error %.1f%%, largest %.1f%% (the aim is a median of 5%%)\n"
           "  measuring takes %.2f times what its timed kernels take (median; %.2f to %.2f)\n",
           100 * gsl_stats_median_from_sorted_data(errors, 1, (size_t)n), 100 * errors[n - 1],
           gsl_stats_median_from_sorted_data(overheads, 1, (size_t)m), overheads[0],
           overheads[m - 1]);
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? atof(argv[1]) : 20;
    struct vbs_backend_info info;

    setvbuf(stdout, NULL, _IOLBF, 0);
    vbs_backend_at(0)->probe(&info);
    printf("vbslab %s on %s, %s\n\n", vbs_version(), info.device, info.library);
    if (argc > 1 && strcmp(argv[1], "steps") == 0 && info.usable) {
        bench_steps();
        return 0;
    }
    bench_planning();
    bench_reference();
    bench_table();
    bench_ilp();
    if (info.usable) {
        bench_steps();
        bench_prediction(seconds > 0 ? seconds : 20);
    } else {
        printf("No prediction: %s\n", info.why);
    }
    return 0;
}
