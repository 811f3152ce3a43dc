/*
 * The cudnn backend on a fake of CUDA and cuDNN: every kernel that it offers computes what the
 * definition says, within its memory, and nothing is left behind. Each time the fake must have
 * found no fault in the calls (ranges, order, streams, descriptors). Without the fake (make
 * test-gpu) it runs the same kernels on a GPU, and tells how far each algorithm is off.
 */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "fake/cuda.h"
#include "profile/device.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>

/* ---- what the fake says ---- */

static void check_fake(const char *name)
{
    bool clean = fake_cuda_violations() == 0 && fake_cuda_live() == 0;

    if (ok(clean, "%s: calls are as they must be, all is given back", name))
        return;
    for (int i = 0; i < 3 && fake_cuda_violation(i); i++)
        printf("# %s\n", fake_cuda_violation(i));
    printf("# alive: %s\n", fake_cuda_live_text());
}

/* ---- kernels ---- */

/* Gives the weights of a kernel on the device, where runs are given them. */
static void *packed(struct bench *t, int kernel, bool *failed)
{
    int64_t bytes = t->session->kernels[kernel].packed_bytes;
    const struct vbs_device_ops *device = t->session->ops->device;
    void *host, *memory;

    if (!t->given || bytes == 0)
        return NULL;
    host = device->host_alloc(t->session, bytes);
    memory = t->session->ops->alloc(t->session, bytes);
    *failed |= !host || !memory ||
               t->session->ops->pack(&t->ctx, t->session, kernel, host) != VBS_OK ||
               device->begin_copy(t->session, 0, memory, host, bytes) != 0 ||
               device->end_copy(t->session, 0) != 0;
    device->host_free(t->session, host);
    return memory;
}

/* Gives the difference from the reference; infinite where a call failed. Kernels in place are
 * timed, which must not change their result. */
static double run_kernel(struct bench *t, int kernel, const float *want)
{
    const struct vbs_session_ops *ops = t->session->ops;
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    int64_t out_bytes = k->batch * layer->out_bytes, count = out_bytes / 4;
    float *got = malloc((size_t)out_bytes);
    void *dst = ops->alloc(t->session, out_bytes);
    void *ws = k->ws_bytes > 0 ? ops->alloc(t->session, k->ws_bytes) : NULL;
    bool failed = !got || !dst;
    void *weights = packed(t, kernel, &failed);
    const void *src[16];
    const struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws, .weights = weights};
    bool timed = layer->in_place && k->batch == 1;
    double time_us = 1, result = INFINITY;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->canonical[layer->inputs[i]];
    if (layer->in_place) {
        failed |= ops->device->move(&t->ctx, t->session, dst, src[0], out_bytes) != VBS_OK;
        src[0] = dst;
    }
    if (!failed &&
        ops->run(&t->ctx, t->session, kernel, &operands, timed ? &time_us : NULL) == VBS_OK &&
        ops->read(&t->ctx, t->session, k->layer, k->batch, dst, got) == VBS_OK && time_us > 0)
        result = difference(got, want, count);
    ops->free(t->session, dst);
    ops->free(t->session, ws);
    ops->free(t->session, weights);
    free(got);
    return result;
}

/* ---- how far algorithms are off ---- */

static struct offset {
    char name[32]; /* of the algorithm, without slices */
    int n_kernels;
    double worst;
} offsets[64];

static void note_offset(const char *algorithm, double off)
{
    int length = (int)strcspn(algorithm, "/"), i = 0;
    char name[32];

    snprintf(name, sizeof name, "%.*s", length, algorithm);
    while (i < 63 && offsets[i].n_kernels > 0 && strcmp(offsets[i].name, name) != 0)
        i++;
    strcpy(offsets[i].name, name);
    offsets[i].n_kernels++;
    if (!(off <= offsets[i].worst))
        offsets[i].worst = off;
}

/* Gives the greatest difference that is allowed. On a GPU, transforms of Winograd and of Fourier
 * round more than sums do, and functions are approximated. */
static double tolerance(const char *algorithm)
{
    bool transforms = strstr(algorithm, "winograd") || strstr(algorithm, "fft");

    return fake_cuda_is_here ? 1e-5 : transforms ? 2e-3 : 1e-4;
}

/* Runs all kernels of a session; gives the largest difference as a fraction of what is allowed, and
 * the name of its kernel. */
static double run_all(struct bench *t, const char **name)
{
    double worst = 0;
    float *want = NULL;
    int layer = 0;

    for (int i = 0; i < t->session->n_kernels; i++) {
        double off;

        if (t->session->kernels[i].layer != layer) {
            free(want);
            layer = t->session->kernels[i].layer;
            want = bench_reference(t, layer);
        }
        off = want ? run_kernel(t, i, want) : INFINITY;
        note_offset(t->session->kernels[i].algorithm, off);
        off /= tolerance(t->session->kernels[i].algorithm);
        if (!(off <= worst)) {
            worst = off;
            *name = t->session->kernels[i].algorithm;
        }
    }
    free(want);
    return worst;
}

struct count {
    int n_cases, n_supported, n_kernels;
};

static void check_bench(struct bench *t, const char *name, bool opened, struct count *count)
{
    const char *algorithm = "";
    double worst;

    count->n_cases++;
    if (!opened && strstr(vbs_detail(&t->ctx), "the cudnn backend has no")) {
        bench_close(t);
        check_fake(name);
        return;
    }
    if (!ok(opened && bench_tensors(t), "%s: a session opens", name)) {
        printf("# %s\n", vbs_detail(&t->ctx));
        bench_close(t);
        return;
    }
    count->n_supported++;
    count->n_kernels += t->session->n_kernels;
    worst = run_all(t, &algorithm);
    if (!ok(worst < 1, "%s: %d kernels compute what the definition says", name,
            t->session->n_kernels))
        printf("# off by %g of what is allowed with %s; %s\n", worst, algorithm,
               vbs_detail(&t->ctx));
    bench_close(t);
    check_fake(name);
}

static void check_cases(unsigned order)
{
    struct count count = {0};
    struct bench t;

    for (const struct backend_case *c = backend_cases; c->name; c++) {
        bool opened;

        fake_cuda_reset();
        fake_cuda_order(order);
        opened = bench_open(&t, c, "cudnn", 0);
        check_bench(&t, c->name, opened, &count);
    }
    for (int i = 0; operator_case_at(i); i++) {
        bool opened;

        fake_cuda_reset();
        fake_cuda_order(order);
        opened = bench_open_operator(&t, operator_case_at(i), "cudnn", i % 2 == 1);
        check_bench(&t, operator_case_at(i)->name, opened, &count);
    }
    printf("# order %u: %d of %d cases, %d kernels\n", order, count.n_supported, count.n_cases,
           count.n_kernels);
    ok(count.n_supported * 3 > count.n_cases, "a third of the cases and more can be run");
}

/* ---- what cuDNN refuses when it is run ---- */

static const struct backend_case FUSED = {"fused", "input 3x9x9\n"
                                                   "conv c out=4 kernel=3\n"
                                                   "relu r\n"
                                                   "maxpool p kernel=2 stride=2\n"};

static int kernels_with(const char *function, double *worst)
{
    const char *algorithm = "";
    struct bench t;
    int n = 0;

    fake_cuda_reset();
    for (int i = 1; function && i <= 3; i++)
        fake_cuda_fail(function, i, 3000); /* CUDNN_STATUS_NOT_SUPPORTED */
    if (bench_open(&t, &FUSED, "cudnn", 0) && bench_tensors(&t)) {
        n = t.session->n_kernels;
        *worst = run_all(&t, &algorithm);
    } else
        printf("# %s\n", vbs_detail(&t.ctx));
    bench_close(&t);
    check_fake(function ? function : "all");
    return n;
}

static void check_refusals(void)
{
    double off = 1;
    int n = kernels_with(NULL, &off);

    ok(n > 6 && off < 1, "%d kernels where nothing is refused", n);
    if (!fake_cuda_is_here)
        return;
    off = 1;
    is_int(kernels_with("cudnnConvolutionBiasActivationForward", &off), n,
           "a fused call that is refused is taken apart");
    ok(off < 1 && fake_cuda_calls("cudnnAddTensor") > 0, "and computes the same");
    is_int(kernels_with("cudnnPoolingForward", &off), 0,
           "a layer that no call can run is not supported");
}

/* ---- pools that reach unevenly beyond the input ---- */

static const struct backend_case CLIPPED = {"clipped", "input 3x8x8\n"
                                                       "maxpool p kernel=3 stride=2\n"};

/* Checks such a pool, whose calls cuDNN refuses n_refused times. */
static void check_clipped(int n_refused, bool copies)
{
    const char *algorithm = "";
    struct bench t;

    fake_cuda_reset();
    for (int i = 1; i <= n_refused; i++)
        fake_cuda_fail("cudnnPoolingForward", 2 * i - 1, 3000); /* CUDNN_STATUS_NOT_SUPPORTED */
    if (ok(bench_open(&t, &CLIPPED, "cudnn", 0) && bench_tensors(&t), "a clipped pool")) {
        ok((t.session->kernels[0].ws_bytes > 0) == copies, "its input is %s",
           copies ? "copied" : "not copied");
        ok(run_all(&t, &algorithm) < 1, "it computes what the definition says");
    }
    bench_close(&t);
    check_fake("clipped pool");
}

/* ---- times ---- */

/* Runs all kernels twice for their times; gives the largest relative difference from those that
 * times_us has, or fills it. */
static double all_times(const struct backend_case *c, double event_us, bool fill, double *times_us)
{
    struct bench t;
    double worst = 0;

    fake_cuda_reset();
    fake_cuda.event_us = event_us;
    if (!ok(bench_open(&t, c, "cudnn", 0) && bench_tensors(&t), "a session for times"))
        return INFINITY;
    for (int i = 0; i < t.session->n_kernels && i < 64; i++) {
        const struct vbs_kernel *k = &t.session->kernels[i];
        const struct vbs_profile_layer *layer = &t.session->layers[k->layer];
        const void *src[2] = {t.canonical[layer->inputs[0]], NULL};
        struct vbs_operands operands = {.src = src, .dst = t.canonical[k->layer]};

        if (layer->n_inputs > 1)
            src[1] = t.canonical[layer->inputs[1]];
        if (layer->in_place)
            src[0] = operands.dst;
        operands.ws = t.session->ops->alloc(t.session, k->ws_bytes);
        for (int run = 0; run < 2; run++) {
            double us = INFINITY;

            if (t.session->ops->run(&t.ctx, t.session, i, &operands, &us) != VBS_OK)
                printf("# %s\n", vbs_detail(&t.ctx));
            if (fill)
                times_us[i] = us;
            worst = fmax(worst, fabs(us / times_us[i] - 1));
        }
        t.session->ops->free(t.session, operands.ws);
    }
    bench_close(&t);
    check_fake("times");
    return worst;
}

static void check_times(void)
{
    static const struct backend_case SUM = {"sum", "input 4x6x6\n"
                                                   "conv a out=4 kernel=3 pad=1\n"
                                                   "maxpool p kernel=2 stride=2 from=input\n"
                                                   "conv b out=4 kernel=1 from=input\n"
                                                   "add s from=a,b\n"};
    double times_us[64] = {0};

    all_times(&SUM, 0, true, times_us);
    ok(times_us[0] > 1, "a time of the device: %g us", times_us[0]);
    ok(all_times(&SUM, 3, false, times_us) < 1e-3, "events around a kernel are not in its time");
}

/* ---- slices ---- */

static const struct backend_case DIVIDED = {"divided", "input 3x9x9\n"
                                                       "conv c out=8 kernel=3\n"
                                                       "relu r\n"};

/* Runs the session's kernels one after the other into one output. */
static double run_slices(struct bench *t, const float *want)
{
    const struct vbs_session_ops *ops = t->session->ops;
    int64_t bytes = 2 * t->session->layers[1].out_bytes;
    const void *src[1] = {t->canonical[0]};
    float *got = malloc((size_t)bytes);
    void *dst = ops->alloc(t->session, bytes);
    bool failed = !got || !dst;
    double result = INFINITY, us;

    for (int i = 0; i < t->session->n_kernels && !failed; i++) {
        void *ws = ops->alloc(t->session, t->session->kernels[i].ws_bytes);
        void *weights = packed(t, i, &failed);
        const struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws, .weights = weights};

        failed |= ops->run(&t->ctx, t->session, i, &operands, &us) != VBS_OK;
        ops->free(t->session, ws);
        ops->free(t->session, weights);
    }
    if (!failed && ops->read(&t->ctx, t->session, 1, 2, dst, got) == VBS_OK)
        result = difference(got, want, bytes / 4);
    ops->free(t->session, dst);
    free(got);
    return result;
}

/* Checks slices as kernels of their own, on slices of the whole's packed weights. */
static void check_slices(int n_slices, bool given)
{
    static const int first_batch[] = {1};
    char name[32];
    struct vbs_requested_kernel requested[8];
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = first_batch,
                                          .n_batches = 1,
                                          .requested = requested,
                                          .n_requested = n_slices,
                                          .weights_given = given};
    const struct vbs_backend *backend;
    struct bench t = {.name = DIVIDED.name, .given = given};
    float *want = NULL;
    int64_t packed_bytes = 0;

    fake_cuda_reset();
    snprintf(name, sizeof name, "precomp-gemm/%d", n_slices);
    for (int i = 0; i < n_slices; i++)
        requested[i] = (struct vbs_requested_kernel){
            .layer = 1, .batch = 2, .slice = i + 1, .n_slices = n_slices, .algorithm = name};
    if (!ok(backend_case_network(&t.ctx, &DIVIDED, &t.network) == VBS_OK &&
                vbs_backend_find(&t.ctx, "cudnn", &backend) == VBS_OK &&
                backend->open(&t.ctx, t.network, &options, &t.session) == VBS_OK &&
                bench_tensors(&t) && (want = bench_reference(&t, 1)),
            "%d slices", n_slices))
        printf("# %s\n", vbs_detail(&t.ctx));
    else {
        for (int i = 0; i < n_slices; i++)
            packed_bytes += t.session->kernels[i].packed_bytes;
        is_int(packed_bytes, 4 * vbs_weight_count(t.network, 1), "their weights are all there are");
        ok(run_slices(&t, want) < tolerance(name), "and they compute the whole, weights %s",
           given ? "given" : "kept");
    }
    free(want);
    bench_close(&t);
    check_fake("slices");
}

/* ---- moves ---- */

/* Moves n values by some, with ranges that overlap; gives how many are wrong afterwards. */
static int64_t wrong_after_move(struct bench *t, int64_t n, int64_t by)
{
    const struct vbs_session_ops *ops = t->session->ops;
    int samples = (int)(n / bench_elements(t, 0));
    int64_t first = by < 0 ? -by : 0, n_moved = n - (by < 0 ? -by : by), n_wrong = -1;
    float *values = malloc((size_t)n * sizeof *values);
    float *memory = ops->alloc(t->session, n * 4);

    for (int64_t i = 0; i < n; i++)
        values[i] = (float)(i % 8191);
    if (ops->write(&t->ctx, t->session, 0, samples, values, memory) == VBS_OK &&
        ops->device->move(&t->ctx, t->session, memory + first + by, memory + first, n_moved * 4) ==
            VBS_OK &&
        ops->read(&t->ctx, t->session, 0, samples, memory, values) == VBS_OK)
        for (int64_t i = n_wrong = 0; i < n_moved; i++)
            n_wrong += values[first + by + i] != (float)((first + i) % 8191);
    ops->free(t->session, memory);
    free(values);
    return n_wrong;
}

static void check_moves(void)
{
    struct bench t;
    int64_t n;

    fake_cuda_reset();
    if (!ok(bench_open(&t, &DIVIDED, "cudnn", 0), "a session for moves"))
        return;
    n = 3000 * bench_elements(&t, 0); /* 2.8 MiB, more than is moved at once */
    is_int(wrong_after_move(&t, n, 100), 0, "a move upwards onto itself");
    is_int(wrong_after_move(&t, n, -100), 0, "a move downwards onto itself");
    is_int(wrong_after_move(&t, n, n - 50), 0, "a move beside itself");
    is_int(wrong_after_move(&t, n, 0), 0, "a move to where it is");
    bench_close(&t);
    check_fake("moves");
}

int main(void)
{
    check_cases(0);
    if (fake_cuda_is_here)
        check_cases(7);
    for (int i = 0; i < 64 && offsets[i].n_kernels > 0 && !fake_cuda_is_here; i++)
        printf("# %s: %d kernels, off by at most %.2g of the largest value\n", offsets[i].name,
               offsets[i].n_kernels, offsets[i].worst);
    check_refusals();
    check_clipped(0, false);
    if (fake_cuda_is_here) {
        check_clipped(3, true);
        check_times();
    }
    check_moves();
    check_slices(2, false);
    check_slices(2, true);
    check_slices(8, true);
    return done_testing();
}
