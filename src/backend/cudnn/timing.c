/*
 * Times of kernels, as they are in graphs.
 *
 * A kernel is timed where inference runs it, by an event before it and one behind it. The two
 * events lengthen a short kernel's time by a few microseconds, which kernels of a graph do not have
 * (exec captures schedules). So the excess is measured once for each kernel, on the same data: the
 * kernel alone between two events, and graphs of n and of 2 n copies of it, whose times differ by
 * those of n. The time of a run is that between its events less this excess. What cold caches add
 * to a run stays in its time.
 *
 * A kernel that works in place changes its input with every copy, until values may overflow. The
 * times of a GPU's kernels do not depend on the values, and its output is put back afterwards.
 */
#include "backend/cudnn/kernel.h"

#include "base/clock.h"

#include <stdatomic.h>

#define HOLD_S      200e-6
#define SHORT_US    200 /* the excess is below 2% of longer times */
#define GRAPH_US    40  /* about the time of the copies of a graph */
#define MOST_COPIES 8
#define ROUNDS      3

/* Work between two events. */
struct cu_timed {
    const struct cu_kernel *kernel;
    const struct vbs_operands *operands;
    cudaGraphExec_t graph; /* of copies of the kernel; null: the kernel itself */
};

/* ---- one time ---- */

/* Holds the stream until the work and the events around it are on it, so that the time between
 * these is only that of the device. It ends after a while in any case, because a call might wait
 * for the device. */
static void CUDART_CB hold(void *self)
{
    struct cu_session *s = self;
    double until_s = vbs_clock_s() + HOLD_S;

    while (!atomic_load(&s->released) && vbs_clock_s() < until_s)
        ;
}

/* Puts the work between the two events on the stream. */
static cudnnStatus_t enqueue(struct cu_session *s, const struct cu_timed *timed, cudaError_t *error)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    atomic_store(&s->released, false);
    *error = s->api.cudaLaunchHostFunc(s->stream, hold, s);
    if (*error == cudaSuccess)
        *error = s->api.cudaEventRecord(s->start, s->stream);
    if (*error == cudaSuccess && timed->graph)
        *error = s->api.cudaGraphLaunch(timed->graph, s->stream);
    else if (*error == cudaSuccess)
        status = cu_enqueue(s, timed->kernel, timed->operands);
    if (*error == cudaSuccess && status == CUDNN_STATUS_SUCCESS)
        *error = s->api.cudaEventRecord(s->stop, s->stream);
    atomic_store(&s->released, true);
    return status;
}

static cudnnStatus_t take_time(struct cu_session *s, const struct cu_timed *timed, double *time_us,
                               cudaError_t *error)
{
    cudnnStatus_t status = enqueue(s, timed, error);
    float ms = 0;

    if (status == CUDNN_STATUS_SUCCESS && *error == cudaSuccess)
        *error = s->api.cudaEventSynchronize(s->stop);
    if (status == CUDNN_STATUS_SUCCESS && *error == cudaSuccess)
        *error = s->api.cudaEventElapsedTime(&ms, s->start, s->stop);
    *time_us = (double)ms * 1e3;
    return status;
}

/* ---- the excess ---- */

/* Captures n copies of a kernel as a graph. False: it cannot be captured, or there is no memory. */
static bool capture(struct cu_session *s, const struct cu_kernel *kernel,
                    const struct vbs_operands *operands, int n, cudaGraphExec_t *graph)
{
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    if (!cu_capture_begin(s))
        return false;
    for (int i = 0; i < n && status == CUDNN_STATUS_SUCCESS; i++)
        status = cu_enqueue(s, kernel, operands);
    return cu_capture_end(s, graph) && status == CUDNN_STATUS_SUCCESS;
}

static double middle(const double *us)
{
    double low = us[0] < us[1] ? us[0] : us[1], high = us[0] < us[1] ? us[1] : us[0];

    return us[2] < low ? low : us[2] > high ? high : us[2];
}

/* Takes the times of all works by turns; the first turn, in which graphs are uploaded, does not
 * count. */
static cudnnStatus_t take_turns(struct cu_session *s, const struct cu_timed *works, int n_works,
                                double *medians_us, cudaError_t *error)
{
    double us[3][ROUNDS] = {{0}};

    for (int round = -1; round < ROUNDS; round++)
        for (int i = 0; i < n_works; i++) {
            cudnnStatus_t status = take_time(s, &works[i], &us[i][round < 0 ? 0 : round], error);

            if (status != CUDNN_STATUS_SUCCESS || *error != cudaSuccess)
                return status;
        }
    for (int i = 0; i < n_works; i++)
        medians_us[i] = middle(us[i]);
    return CUDNN_STATUS_SUCCESS;
}

static cudnnStatus_t measure_excess(struct cu_session *s, struct cu_kernel *kernel,
                                    const struct vbs_operands *operands, double time_us,
                                    cudaError_t *error)
{
    int n = (int)(GRAPH_US / (time_us + 1)) + 1;
    struct cu_timed works[3];
    double us[3] = {0};
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
    bool captured;

    n = n < MOST_COPIES ? n : MOST_COPIES;
    for (int i = 0; i < 3; i++)
        works[i] = (struct cu_timed){kernel, operands, NULL};
    captured = capture(s, kernel, operands, n, &works[1].graph) &&
               capture(s, kernel, operands, 2 * n, &works[2].graph);
    if (captured)
        status = take_turns(s, works, 3, us, error);
    if (captured && status == CUDNN_STATUS_SUCCESS && *error == cudaSuccess) {
        kernel->graph_us = (us[2] - us[1]) / n;
        kernel->excess_us = us[0] - kernel->graph_us;
    }
    for (int i = 1; i < 3; i++)
        if (works[i].graph)
            s->api.cudaGraphExecDestroy(works[i].graph);
    return status;
}

/* Does the same where the kernel overwrites its input, which is kept meanwhile. There is no excess
 * where there is no memory to keep it. */
static cudnnStatus_t measure_in_place(struct cu_session *s, struct cu_kernel *kernel,
                                      const struct vbs_operands *operands, int64_t bytes,
                                      double time_us, cudaError_t *error)
{
    void *kept = NULL;
    cudnnStatus_t status;

    if (s->api.cudaMalloc(&kept, (size_t)bytes) != cudaSuccess) {
        (void)s->api.cudaGetLastError();
        return CUDNN_STATUS_SUCCESS;
    }
    *error = s->api.cudaMemcpyAsync(kept, operands->dst, (size_t)bytes, cudaMemcpyDeviceToDevice,
                                    s->stream);
    status = *error == cudaSuccess ? measure_excess(s, kernel, operands, time_us, error)
                                   : CUDNN_STATUS_SUCCESS;
    if (*error == cudaSuccess)
        *error = s->api.cudaMemcpyAsync(operands->dst, kept, (size_t)bytes,
                                        cudaMemcpyDeviceToDevice, s->stream);
    if (*error == cudaSuccess)
        *error = s->api.cudaStreamSynchronize(s->stream);
    s->api.cudaFree(kept);
    return status;
}

static cudnnStatus_t find_excess(struct cu_session *s, struct cu_kernel *kernel,
                                 const struct vbs_operands *operands, double time_us,
                                 cudaError_t *error)
{
    const struct vbs_kernel *offer = &s->core.offers[kernel - s->kernels];
    const struct vbs_profile_layer *layer = &s->core.layers[offer->layer];

    kernel->has_excess = true;
    kernel->excess_us = kernel->graph_us = 0;
    if (time_us > SHORT_US)
        return CUDNN_STATUS_SUCCESS;
    if (layer->in_place && offer->batch * layer->out_bytes > 0)
        return measure_in_place(s, kernel, operands, offer->batch * layer->out_bytes, time_us,
                                error);
    return measure_excess(s, kernel, operands, time_us, error);
}

/* ---- the whole ---- */

cudnnStatus_t cu_run_timed(struct cu_session *s, struct cu_kernel *kernel,
                           const struct vbs_operands *operands, double *time_us, cudaError_t *error)
{
    const struct cu_timed timed = {kernel, operands, NULL};
    cudnnStatus_t status = take_time(s, &timed, time_us, error);

    if (status == CUDNN_STATUS_SUCCESS && *error == cudaSuccess && !kernel->has_excess)
        status = find_excess(s, kernel, operands, *time_us, error);
    /* An undisturbed run is not shorter than in a graph: what is less than nothing is noise. */
    *time_us = *time_us > kernel->excess_us ? *time_us - kernel->excess_us : kernel->graph_us;
    return status;
}
