/* Running kernels: calls cuDNN for each of their steps. */
#include "backend/cudnn/kernel.h"

#include "backend/common/common.h"

/* A step with the pointers of a run. */
struct bound {
    const struct cu_step *step;
    const struct cu_api *api;
    cudnnHandle_t cudnn;
    cudaStream_t stream;
    void *x, *y, *b, *scratch;
    const void *weights;
};

static void *find(const struct cu_operand *operand, const struct vbs_operands *o)
{
    char *place = NULL;

    switch (operand->location) {
    case CU_SRC:
        place = vbs_writable(o->src[operand->index]);
        break;
    case CU_DST:
        place = o->dst;
        break;
    case CU_SCRATCH:
        place = o->ws;
        break;
    case CU_FIXED:
        place = operand->fixed;
        break;
    }
    return place ? place + operand->offset : NULL;
}

static cudnnStatus_t convolve(const struct bound *at)
{
    const struct cu_step *step = at->step;
    cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)step->algorithm;
    size_t bytes = (size_t)step->scratch_bytes;
    const float one = 1, zero = 0;

    if (step->activation)
        return at->api->cudnnConvolutionBiasActivationForward(
            at->cudnn, &one, step->x.desc, at->x, step->filter, at->weights, step->conv, algorithm,
            at->scratch, bytes, &zero, step->y.desc, at->y, step->b.desc, at->b, step->activation,
            step->y.desc, at->y);
    return at->api->cudnnConvolutionForward(at->cudnn, &one, step->x.desc, at->x, step->filter,
                                            at->weights, step->conv, algorithm, at->scratch, bytes,
                                            &zero, step->y.desc, at->y);
}

static cudnnStatus_t convolve_back(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float one = 1, zero = 0;

    return at->api->cudnnConvolutionBackwardData(
        at->cudnn, &one, step->filter, at->weights, step->x.desc, at->x, step->conv,
        (cudnnConvolutionBwdDataAlgo_t)step->algorithm, at->scratch, (size_t)step->scratch_bytes,
        &zero, step->y.desc, at->y);
}

static cudnnStatus_t combine(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float zero = 0;

    return at->api->cudnnOpTensor(at->cudnn, step->binary, &step->alpha, step->x.desc, at->x,
                                  &step->beta, step->b.desc, at->b, &zero, step->y.desc, at->y);
}

static cudnnStatus_t copy_rows(const struct bound *at)
{
    const struct cu_step *step = at->step;

    return at->api->cudaMemcpy2DAsync(at->y, step->y_pitch, at->x, step->x_pitch, step->width,
                                      step->n_rows, cudaMemcpyDeviceToDevice,
                                      at->stream) == cudaSuccess
               ? CUDNN_STATUS_SUCCESS
               : CUDNN_STATUS_EXECUTION_FAILED_CUDART;
}

static cudnnStatus_t call(const struct bound *at)
{
    const struct cu_step *step = at->step;
    const float one = 1, zero = 0;

    switch (step->what) {
    case CU_CONV:
        return convolve(at);
    case CU_DECONV:
        return convolve_back(at);
    case CU_BIAS:
        return at->api->cudnnAddTensor(at->cudnn, &one, step->b.desc, at->b, &one, step->y.desc,
                                       at->y);
    case CU_ACTIVATE:
        return at->api->cudnnActivationForward(at->cudnn, step->activation, &one, step->x.desc,
                                               at->x, &zero, step->y.desc, at->y);
    case CU_POOL:
        return at->api->cudnnPoolingForward(at->cudnn, step->pool, &one, step->x.desc, at->x, &zero,
                                            step->y.desc, at->y);
    case CU_LRN:
        return at->api->cudnnLRNCrossChannelForward(
            at->cudnn, step->lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, step->x.desc, at->x, &zero,
            step->y.desc, at->y);
    case CU_SOFTMAX:
        return at->api->cudnnSoftmaxForward(at->cudnn, (cudnnSoftmaxAlgorithm_t)step->algorithm,
                                            CUDNN_SOFTMAX_MODE_CHANNEL, &one, step->x.desc, at->x,
                                            &zero, step->y.desc, at->y);
    case CU_BINARY:
        return combine(at);
    case CU_REDUCE:
        return at->api->cudnnReduceTensor(at->cudnn, step->reduce, NULL, 0, at->scratch,
                                          (size_t)step->scratch_bytes, &step->alpha, step->x.desc,
                                          at->x, &zero, step->y.desc, at->y);
    case CU_FILL:
        return at->api->cudnnSetTensor(at->cudnn, step->y.desc, at->y, &step->alpha);
    case CU_REARRANGE:
        return at->api->cudnnTransformTensor(at->cudnn, &step->alpha, step->x.desc, at->x, &zero,
                                             step->y.desc, at->y);
    case CU_COPY:
        return copy_rows(at);
    }
    return CUDNN_STATUS_BAD_PARAM;
}

/* Gives the weights of a kernel. Those that the session keeps are all of the layer's; weights that
 * a run is given are the kernel's own. */
static const void *weights_for(const struct cu_session *s, const struct cu_kernel *kernel,
                               const struct cu_step *step, const struct vbs_operands *o, int layer)
{
    const struct cu_weights *w = &s->weights[layer];
    const char *weights = o->weights;

    if (!kernel->has_weights)
        return NULL;
    if (!weights)
        weights = (const char *)w->data + kernel->first_output * w->count * (int64_t)sizeof(float);
    return weights + step->weights_offset;
}

cudnnStatus_t cu_enqueue(struct cu_session *s, const struct cu_kernel *kernel,
                         const struct vbs_operands *o)
{
    int layer = s->core.offers[kernel - s->kernels].layer;
    cudnnStatus_t status = CUDNN_STATUS_SUCCESS;

    for (int i = 0; i < kernel->n_steps && status == CUDNN_STATUS_SUCCESS; i++) {
        const struct cu_step *step = &kernel->steps[i];
        const struct bound at = {
            .step = step,
            .api = &s->api,
            .cudnn = s->cudnn,
            .stream = s->stream,
            .x = find(&step->x, o),
            .y = find(&step->y, o),
            .b = find(&step->b, o),
            .scratch = step->scratch_bytes > 0 ? (char *)o->ws + step->scratch_offset : NULL,
            .weights = weights_for(s, kernel, step, o, layer)};

        status = call(&at);
    }
    return status;
}
