/*
 * Faults on the cudnn backend: whatever call of CUDA or cuDNN fails, and wherever the device is
 * lost, there is one line that says so, nothing is left behind and no rule of the libraries broken.
 */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "fake/cuda.h"
#include "support/tap.h"
#include "support/trials.h"

#include <stdlib.h>

#define ANY_CODE 0
#define ILLEGAL  700 /* cudaErrorIllegalAddress */

static const struct backend_case NETWORK = {"network", "input 2x6x6\n"
                                                       "conv c out=4 kernel=3\n"
                                                       "batchnorm b\n"
                                                       "relu r\n"
                                                       "maxpool p kernel=2 stride=2\n"
                                                       "fc f out=3\n"
                                                       "fc g out=3 from=p\n"
                                                       "add a from=f,g\n"
                                                       "softmax s\n"};

/* ---- probing ---- */

static void check_probe(const char *what, const char *requested)
{
    const struct vbs_backend *backend;
    struct vbs_backend_info info;
    struct vbs_ctx ctx = {0};
    struct bench t;
    bool opened;

    if (vbs_backend_find(&ctx, "cudnn", &backend) != VBS_OK)
        return;
    backend->probe(&info);
    ok(info.built && !info.usable && strstr(info.why, requested), "%s: %s", what, info.why);
    opened = bench_open(&t, &NETWORK, "cudnn", 0);
    ok(!opened && strstr(vbs_detail(&t.ctx), requested), "%s: no session: %s", what,
       vbs_detail(&t.ctx));
    bench_close(&t);
    ok(fake_cuda_live() == 0 && fake_cuda_violations() == 0, "%s: nothing is left", what);
}

static void check_probes(void)
{
    fake_cuda_reset();
    fake_cuda.n_devices = 0;
    check_probe("no device", "no CUDA device");
    fake_cuda_reset();
    fake_cuda.count_error = 35;
    fake_cuda.driver_version = 0;
    check_probe("no driver", "this machine has no NVIDIA driver");
    fake_cuda_reset();
    fake_cuda.count_error = 35;
    fake_cuda.driver_version = 12040;
    check_probe("an old driver", "the driver is for CUDA 12.4, older than the CUDA runtime (13.0)");
    fake_cuda_reset();
    fake_cuda.cudnn_version = 80907;
    check_probe("an old cuDNN", "cuDNN 8 is installed, vbslab was built with cuDNN 9");
    fake_cuda_reset();
    fake_cuda.runtime_version = 12090;
    check_probe("an old CUDA", "the CUDA runtime is 12.9, vbslab was built with CUDA 13");
    fake_cuda_reset();
    fake_cuda.cudnn_cudart_version = 12090;
    check_probe("a cuDNN for an older CUDA", "is for CUDA 12, the CUDA runtime is 13.0");
    fake_cuda_reset();
    fake_cuda_fail("cudaGetDeviceCount", 1, 999);
    fake_cuda_fail("cudaGetDeviceCount", 2, 999);
    check_probe("an unknown error", "no CUDA device");
}

/* ---- a session ---- */

/* Opens a session, makes tensors, and runs every kernel once. A time needs many calls, so that only
 * some are taken. */
static enum vbs_status use_session(struct bench *t)
{
    const struct vbs_session_ops *ops;
    enum vbs_status status = VBS_OK;

    if (!bench_open(t, &NETWORK, "cudnn", 0))
        return VBS_LIBRARY;
    ops = t->session->ops;
    if (!bench_tensors(t))
        return VBS_NO_MEMORY;
    for (int i = 0; i < t->session->n_kernels && status == VBS_OK; i++) {
        const struct vbs_kernel *k = &t->session->kernels[i];
        const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
        const void *src[2] = {t->canonical[layer->inputs[0]]};
        struct vbs_operands operands = {.src = src, .dst = t->canonical[k->layer]};
        bool timed = i == 0 || (layer->in_place && k->batch == 1);
        double time_us;

        if (layer->n_inputs > 1)
            src[1] = t->canonical[layer->inputs[1]];
        if (layer->in_place)
            src[0] = operands.dst;

        operands.ws = ops->alloc(t->session, k->ws_bytes);
        status = operands.ws ? ops->run(&t->ctx, t->session, i, &operands, timed ? &time_us : NULL)
                             : VBS_NO_MEMORY;
        ops->free(t->session, operands.ws);
    }
    if (status == VBS_OK)
        status = ops->read(&t->ctx, t->session, 1, 1, t->canonical[1], t->plain[1]);
    return status;
}

/* Makes each call in turn fail, or those that trials_stride gives; gives how many calls there are
 * at least. */
static int fail_each(bool lost, int *n_bad)
{
    int n = 0;

    for (bool struck = true; struck; n += trials_stride(1)) {
        struct bench t;
        enum vbs_status status;

        fake_cuda_reset();
        if (lost)
            fake_cuda_lose(NULL, n + 1, ILLEGAL);
        else
            fake_cuda_fail(NULL, n + 1, ANY_CODE);
        status = use_session(&t);
        struck = fake_cuda_struck();
        bench_close(&t);
        if (fake_cuda_live() == 0 && fake_cuda_violations() == 0 && (struck || status == VBS_OK) &&
            (status == VBS_OK || status == VBS_NO_MEMORY || vbs_detail(&t.ctx)[0]))
            continue;
        if ((*n_bad)++ < 5)
            printf("# call %d: status %d, '%s', alive: %s; %s\n", n + 1, status, vbs_detail(&t.ctx),
                   fake_cuda_live_text(), fake_cuda_violation(0) ? fake_cuda_violation(0) : "");
    }
    return n - trials_stride(1);
}

static void check_sessions(void)
{
    int n_bad = 0, n = fail_each(false, &n_bad), stride = trials_stride(1);

    ok(n > 100 && n_bad == 0, "of %d calls, %d fail once, with a line, and nothing is left", n,
       n / stride);
    n_bad = 0;
    n = fail_each(true, &n_bad);
    ok(n > 100 && n_bad == 0, "of %d calls, the device is lost in %d", n, n / stride);
}

static void check_memory(void)
{
    struct bench t;
    enum vbs_status status;

    fake_cuda_reset();
    fake_cuda.total_bytes = ((size_t)1 << 20) + 1024; /* the stage, and little more */
    status = use_session(&t);
    ok(status != VBS_OK && strstr(vbs_detail(&t.ctx), "the GPU is out of memory"),
       "too small a device: %s", vbs_detail(&t.ctx));
    bench_close(&t);
    is_int(fake_cuda_live(), 0, "nothing of it is left");
}

int main(void)
{
    check_probes();
    check_sessions();
    check_memory();
    return done_testing();
}
