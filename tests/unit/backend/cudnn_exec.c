/*
 * Schedules executed on the cudnn backend, on a fake of CUDA and cuDNN that does work as late as it
 * may: outputs are those of the definitions, all memory of a run is in one allocation of exactly
 * the budget, and steps wait for the copy thread's transfers. Without the fake (make test-gpu) it
 * executes the same schedules on a GPU.
 */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "fake/cuda.h"
#include "reference/backend/ops.h"
#include "support/profile_help.h"
#include "support/tap.h"
#include "support/trials.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define REQUEST 5

static const struct backend_case NETWORK = {"network", "input 3x16x16\n"
                                                       "conv c1 out=16 kernel=3 pad=1\n"
                                                       "batchnorm b1\n"
                                                       "relu r1\n"
                                                       "conv c2 out=16 kernel=3 pad=1\n"
                                                       "add sum from=r1,c2\n"
                                                       "maxpool p kernel=3 stride=2\n"
                                                       "conv c3 out=24 kernel=1\n"
                                                       "relu r3\n"
                                                       "conv c4 out=8 kernel=5 pad=2 from=p\n"
                                                       "concat both from=r3,c4\n"
                                                       "fc f1 out=64\n"
                                                       "relu r5\n"
                                                       "fc f2 out=10\n"
                                                       "softmax prob\n"};

struct trial {
    struct vbs_ctx ctx;
    struct vbs_network *network;
    const struct vbs_backend *backend;
    struct vbs_profile *profile;
    float *want; /* outputs by the definitions */
    int n_tried, n_failed, n_copied, n_launched;
};

/* ---- a profile, from one run of every kernel ---- */

static bool run_kernel(struct bench *b, int kernel, double *time_us)
{
    const struct vbs_kernel *k = &b->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &b->session->layers[k->layer];
    const struct vbs_session_ops *ops = b->session->ops;
    void *dst = ops->alloc(b->session, k->batch * layer->out_bytes);
    void *ws = ops->alloc(b->session, k->ws_bytes);
    const void *src[16];
    const struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws};
    bool done;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = b->canonical[layer->inputs[i]];
    if (layer->in_place)
        src[0] = dst;
    done = dst && ws && ops->run(&b->ctx, b->session, kernel, &operands, time_us) == VBS_OK;
    ops->free(b->session, dst);
    ops->free(b->session, ws);
    return done;
}

static struct vbs_profile *make_profile(void)
{
    struct vbs_profile *profile = NULL;
    double *times_us = NULL;
    struct bench b;
    bool done = bench_open(&b, &NETWORK, "cudnn", 0) && bench_tensors(&b) &&
                (times_us = calloc((size_t)b.session->n_kernels, sizeof *times_us));

    for (int i = 0; done && i < b.session->n_kernels; i++)
        done = run_kernel(&b, i, &times_us[i]);
    if (done)
        profile = profile_of_session(&b.ctx, b.session, times_us);
    if (!ok(profile != NULL, "a profile of a GPU"))
        printf("# %s\n", vbs_detail(&b.ctx));
    bench_close(&b);
    free(times_us);
    return profile;
}

/* ---- outputs by the definitions ---- */

static float *output_of(const struct vbs_network *network, int64_t sample)
{
    float **tensors = calloc((size_t)network->n_layers + 1, sizeof *tensors), *output;
    int64_t n = vbs_shape_elements(&network->input);

    tensors[0] = malloc((size_t)n * sizeof(float));
    vbs_tensor_values(0, sample * n, n, tensors[0]);
    for (int k = 1; k <= network->n_layers; k++) {
        const float *inputs[16];

        for (int i = 0; i < network->layers[k].n_inputs; i++)
            inputs[i] = tensors[network->layers[k].inputs[i]];
        tensors[k] = reference_layer(network, k, inputs);
    }
    output = tensors[network->outputs[0].layer];
    tensors[network->outputs[0].layer] = NULL;
    for (int k = 0; k <= network->n_layers; k++)
        free(tensors[k]);
    free(tensors);
    return output;
}

static float *all_outputs(const struct vbs_network *network)
{
    int64_t n = vbs_shape_elements(&network->outputs[0].shape);
    float *all = malloc((size_t)(REQUEST * n) * sizeof *all);

    for (int64_t r = 0; r < REQUEST; r++) {
        float *one = output_of(network, r);

        memcpy(all + r * n, one, (size_t)n * sizeof *all);
        free(one);
    }
    return all;
}

/* ---- running ---- */

/* Runs and compares the outputs; resident weights stay from one run to the next. */
static bool run_times(struct trial *t, struct vbs_exec *exec, int n_runs,
                      struct vbs_exec_report *report)
{
    int64_t n = REQUEST * vbs_shape_elements(&t->network->outputs[0].shape);
    float *got = malloc((size_t)n * sizeof *got);
    bool same = true;

    for (int i = 0; i < n_runs && same; i++) {
        for (int64_t v = 0; v < n; v++)
            got[v] = NAN;
        same = vbs_exec_run(&t->ctx, exec, NULL, &got, report) == VBS_OK &&
               difference(got, t->want, n) < (fake_cuda_is_here ? 1e-5 : 1e-3);
    }
    free(got);
    return same;
}

/* Executes a schedule; trace: the host waits for every step. */
static bool try_schedule(struct trial *t, const struct vbs_schedule *schedule, bool trace)
{
    /* The arena is larger than the plan's peak, because placing aligns to 64 bytes. */
    const struct vbs_exec_options options = {.struct_size = sizeof(struct vbs_exec_options),
                                             .memory_bytes = schedule->memory_bytes + 4096,
                                             .place_limit_s = 2,
                                             .trace = trace};
    struct vbs_exec_report report = {.copied_bytes = 0};
    struct vbs_exec *exec = NULL;
    int n_before = fake_cuda_calls("cudaGraphLaunch"), n_launched;
    bool good = vbs_exec_new(&t->ctx, t->network, t->backend, t->profile, schedule, &options, NULL,
                             &exec) == VBS_OK &&
                run_times(t, exec, 3, &report);

    n_launched = fake_cuda_calls("cudaGraphLaunch") - n_before;
    t->n_launched += n_launched > 0;
    if (good) {
        t->n_copied += report.copied_bytes > 0;
        good = report.touched_bytes == options.memory_bytes && isnan(report.compute_us) == !trace &&
               report.time_us > 0;
        if (fake_cuda_is_here)
            good = good && n_launched == (trace ? 0 : 2) &&
                   report.high_water_bytes >= report.touched_bytes &&
                   report.high_water_bytes < report.touched_bytes + 512;
    }
    vbs_exec_free(exec);
    return good && fake_cuda_violations() == 0 && fake_cuda_live() == 0;
}

static void try_budget(struct trial *t, struct vbs_solver *solver, int64_t bytes, const char *name)
{
    struct vbs_schedule *schedule = NULL;
    enum vbs_status status = vbs_solver_plan(&t->ctx, solver, bytes, &schedule);

    if (status == VBS_INFEASIBLE)
        return;
    t->n_tried++;
    if ((status != VBS_OK || !try_schedule(t, schedule, false) ||
         !try_schedule(t, schedule, true)) &&
        t->n_failed++ < 5) {
        printf("# %s in %lld bytes: %s\n", name, (long long)bytes, vbs_detail(&t->ctx));
        for (int i = 0; i < 3 && fake_cuda_violation(i); i++)
            printf("# %s\n", fake_cuda_violation(i));
        printf("# alive: %s\n", fake_cuda_live_text());
    }
    vbs_schedule_free(schedule);
}

static void try_planner(struct trial *t, const char *name, enum vbs_weights weights,
                        const char *source)
{
    const struct vbs_problem problem = {
        .profile = t->profile,
        .request = REQUEST,
        .weights = weights,
        .copy = {.source = source, .latency_us = 1, .bytes_per_us = 100}};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    int64_t least;

    t->n_tried = t->n_failed = t->n_copied = t->n_launched = 0;
    if (vbs_planner_find(&t->ctx, name, &planner) != VBS_OK ||
        vbs_solver_new(&t->ctx, planner, &problem, NULL, &solver) != VBS_OK) {
        ok(false, "%s: %s", name, vbs_detail(&t->ctx));
        return;
    }
    least = vbs_solver_least_bytes(solver);
    for (int i = 4; i <= 16; i += 3)
        try_budget(t, solver, least * i / 4, name);
    ok(t->n_tried > 0 && t->n_failed == 0,
       "%s, weights %s: %d schedules, %d runs with copies of weights, %d as a graph", name,
       vbs_weights_word(weights), t->n_tried, t->n_copied, t->n_launched);
    vbs_solver_free(solver);
}

/* ---- faults ---- */

/* Prepares and runs twice, with a fault in call n; gives whether it occurred. After a run that
 * fails the next one is as if there had been no fault, unless the device is lost. */
static bool try_fault(struct trial *t, const struct vbs_schedule *schedule, int n, bool lost,
                      int *n_bad)
{
    const struct vbs_exec_options options = {.struct_size = sizeof(struct vbs_exec_options),
                                             .memory_bytes = schedule->memory_bytes + 4096,
                                             .place_limit_s = 2,
                                             .trace = n % 3 == 0};
    struct vbs_exec_report report;
    struct vbs_exec *exec = NULL;
    enum vbs_status status;
    bool struck;

    fake_cuda_reset();
    if (lost)
        fake_cuda_lose(NULL, n, 700);
    else
        fake_cuda_fail(NULL, n, 0);
    t->ctx.detail[0] = '\0';
    status =
        vbs_exec_new(&t->ctx, t->network, t->backend, t->profile, schedule, &options, NULL, &exec);
    for (int i = 0; i < 3 && status == VBS_OK; i++)
        status = vbs_exec_run(&t->ctx, exec, NULL, NULL, &report);
    struck = fake_cuda_struck();
    if (exec && status != VBS_OK && !lost) {
        struct trial again = {.network = t->network, .want = t->want};

        t->n_tried++;
        if (!run_times(&again, exec, 1, &report) && t->n_failed++ < 5)
            printf("# after call %d, which failed (%s): %s\n", n, vbs_detail(&t->ctx),
                   vbs_detail(&again.ctx));
    }
    vbs_exec_free(exec);
    if (fake_cuda_live() > 0 || fake_cuda_violations() > 0 || (!struck && status != VBS_OK) ||
        (status != VBS_OK && status != VBS_NO_MEMORY && !t->ctx.detail[0]))
        if ((*n_bad)++ < 5)
            printf("# call %d: status %d, '%s', alive: %s; %s\n", n, status, vbs_detail(&t->ctx),
                   fake_cuda_live_text(), fake_cuda_violation(0) ? fake_cuda_violation(0) : "");
    return struck;
}

static void check_faults(struct trial *t, const char *name, enum vbs_weights weights,
                         const char *source)
{
    const struct vbs_problem problem = {
        .profile = t->profile,
        .request = REQUEST,
        .weights = weights,
        .copy = {.source = source, .latency_us = 1, .bytes_per_us = 100}};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    if (!ok(vbs_planner_find(&t->ctx, name, &planner) == VBS_OK &&
                vbs_solver_new(&t->ctx, planner, &problem, NULL, &solver) == VBS_OK &&
                vbs_solver_plan(&t->ctx, solver, vbs_solver_least_bytes(solver), &schedule) ==
                    VBS_OK,
            "a schedule by %s", name))
        return;
    t->n_tried = t->n_failed = 0;
    for (int lost = 0; lost < 2; lost++) {
        int n = 1, n_tried = 1, n_bad = 0;

        for (; try_fault(t, schedule, n, lost, &n_bad); n_tried++)
            n += n < 100 ? trials_stride(1) : trials_stride(1 + n % 13);
        ok(n_tried > 100 / trials_stride(1) && n_bad == 0,
           "%s: %d of %d calls: a line, and nothing is left",
           lost ? "the device is lost" : "a call fails", n_tried, n);
    }
    ok(t->n_tried > 10 / trials_stride(1) && t->n_failed == 0,
       "  the runs after %d that failed are right", t->n_tried);
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

/* ---- a file that is cut off ---- */

/* Runs a schedule whose weights come from a file three times; before the last run, which is a
 * graph, the file loses its end. */
static enum vbs_status run_cut_file(struct trial *t, const struct vbs_schedule *schedule)
{
    char path[] = "/tmp/cudnn_exec.XXXXXX";
    const struct vbs_exec_options options = {.struct_size = sizeof(struct vbs_exec_options),
                                             .memory_bytes = schedule->memory_bytes + 4096,
                                             .place_limit_s = 2,
                                             .weights_path = path};
    struct vbs_exec_report report = {0};
    struct vbs_exec *exec = NULL;
    int file = mkstemp(path);
    enum vbs_status status = VBS_INVALID;

    if (file < 0)
        return status;
    close(file);
    unlink(path);
    if (vbs_exec_new(&t->ctx, t->network, t->backend, t->profile, schedule, &options, NULL,
                     &exec) == VBS_OK &&
        run_times(t, exec, 2, &report) && truncate(path, 4096) == 0)
        status = vbs_exec_run(&t->ctx, exec, NULL, NULL, &report);
    vbs_exec_free(exec);
    unlink(path);
    return status;
}

static void check_cut_file(struct trial *t)
{
    const struct vbs_problem problem = {
        .profile = t->profile,
        .request = REQUEST,
        .weights = VBS_WEIGHTS_INCLUDED,
        .copy = {.source = "given", .latency_us = 1, .bytes_per_us = 100}};
    const struct vbs_planner *planner;
    struct vbs_solver *solver = NULL;
    struct vbs_schedule *schedule = NULL;

    fake_cuda_reset();
    if (ok(vbs_planner_find(&t->ctx, "mmcnn", &planner) == VBS_OK &&
               vbs_solver_new(&t->ctx, planner, &problem, NULL, &solver) == VBS_OK &&
               vbs_solver_plan(&t->ctx, solver, vbs_solver_least_bytes(solver), &schedule) ==
                   VBS_OK,
           "a schedule with loads")) {
        is_int(run_cut_file(t, schedule), VBS_IO, "weights that a graph cannot read: VBS_IO");
        ok(fake_cuda_violations() == 0 && fake_cuda_live() == 0, "nothing is left: %s",
           vbs_detail(&t->ctx));
    }
    vbs_schedule_free(schedule);
    vbs_solver_free(solver);
}

/* ---- the whole ---- */

static void check_order(unsigned order)
{
    static const char *const outside[] = {"fbs", "greedy-vbs", "dp-vbs", "dp-vbs+"};
    static const char *const inside[] = {"mmcnn", "vdnn", "joint", "dp-vbs+"};
    struct trial t = {0};

    fake_cuda_reset();
    fake_cuda_order(order);
    t.profile = make_profile();
    if (!t.profile || !ok(backend_case_network(&t.ctx, &NETWORK, &t.network) == VBS_OK &&
                              vbs_backend_find(&t.ctx, "cudnn", &t.backend) == VBS_OK,
                          "a network, order %u", order))
        return;
    t.want = all_outputs(t.network);
    for (int i = 0; i < 4; i++)
        try_planner(&t, outside[i], VBS_WEIGHTS_EXCLUDED, "given");
    for (int i = 0; i < 4; i++)
        try_planner(&t, inside[i], VBS_WEIGHTS_INCLUDED, i % 2 ? VBS_COPY_PINNED : "given");
    check_cut_file(&t);
    if (order == 0 && fake_cuda_is_here)
        for (int i = 0; i < 3; i++)
            check_faults(&t, i < 2 ? "mmcnn" : "dp-vbs+",
                         i < 2 ? VBS_WEIGHTS_INCLUDED : VBS_WEIGHTS_EXCLUDED,
                         i == 1 ? VBS_COPY_PINNED : "given");
    free(t.want);
    vbs_profile_free(t.profile);
    vbs_network_free(t.network);
}

int main(void)
{
    check_order(0);
    if (fake_cuda_is_here)
        check_order(11);
    return done_testing();
}
