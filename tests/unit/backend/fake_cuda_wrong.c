/* The fake of CUDA and cuDNN finds every wrong use that a backend could make of it. */
#include "fake/cuda_help.h"

/* Gives whether there is one violation, with this text in it. */
static bool only_violation(const char *text)
{
    bool found = fake_cuda_violations() == 1 && strstr(fake_cuda_violation(0), text);

    for (int i = 0; !found && fake_cuda_violation(i); i++)
        printf("# %s\n", fake_cuda_violation(i));
    return found;
}

struct scene {
    float *a, *b, *pinned; /* 16 values each */
    float host[16];
    cudaStream_t stream;
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t t; /* [1, 4, 2, 2] */
};

static void copies_pageable(struct scene *s)
{
    cudaMemcpyAsync(s->a, s->host, 64, cudaMemcpyHostToDevice, s->stream);
}

static void copies_too_much(struct scene *s)
{
    cudaMemcpy(s->a + 1, s->host, 64, cudaMemcpyHostToDevice);
}

static void copies_beyond_pinned(struct scene *s)
{
    cudaMemcpyAsync(s->a, s->pinned + 1, 64, cudaMemcpyHostToDevice, s->stream);
}

static void copies_overlapping(struct scene *s)
{
    cudaMemcpyAsync(s->a + 1, s->a, 8, cudaMemcpyDeviceToDevice, s->stream);
}

static void copies_the_other_way(struct scene *s)
{
    cudaMemcpy(s->a, s->b, 64, cudaMemcpyHostToDevice);
}

static void copies_wide_rows(struct scene *s)
{
    cudaMemcpy2DAsync(s->a, 4, s->pinned, 8, 8, 2, cudaMemcpyHostToDevice, s->stream);
}

static void uses_freed(struct scene *s)
{
    cudaFree(s->b);
    cudaMemset(s->b, 0, 4);
}

static void frees_twice(struct scene *s)
{
    cudaFree(s->b);
    cudaFree(s->b);
}

static void waits_for_a_capture(struct scene *s)
{
    cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal);
    cudaStreamSynchronize(s->stream);
}

static void allocates_in_a_capture(struct scene *s)
{
    void *more;

    cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal);
    cudaMalloc(&more, 4);
}

static void copies_beside_a_capture(struct scene *s)
{
    cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal);
    cudaMemset(s->a, 0, 64);
}

static void ends_no_capture(struct scene *s)
{
    cudaGraph_t graph;

    cudaStreamEndCapture(s->stream, &graph);
}

static void destroys_twice(struct scene *s)
{
    cudaStreamDestroy(s->stream);
    cudaStreamDestroy(s->stream);
}

static void uses_a_stream_as_event(struct scene *s)
{
    cudaEventSynchronize((cudaEvent_t)s->stream);
}

static void measures_without_timing(struct scene *s)
{
    cudaEvent_t event = NULL;
    float ms;

    cudaEventCreateWithFlags(&event, cudaEventDisableTiming);
    cudaEventRecord(event, s->stream);
    cudaEventSynchronize(event);
    cudaEventElapsedTime(&ms, event, event);
}

static void transforms_in_place(struct scene *s)
{
    cudnnTransformTensor(s->handle, &one, s->t, s->a, &none, s->t, s->a);
}

static void makes_odd_stream(struct scene *s)
{
    cudaStreamCreateWithFlags(&s->stream, 2);
}

static void computes_in_place_of_b(struct scene *s)
{
    cudnnOpTensorDescriptor_t op = NULL;

    cudnnCreateOpTensorDescriptor(&op);
    cudnnSetOpTensorDescriptor(op, CUDNN_OP_TENSOR_ADD, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN);
    cudnnOpTensor(s->handle, op, &one, s->t, s->a, &one, s->t, s->b, &none, s->t, s->b);
}

static void gives_host_memory(struct scene *s)
{
    cudnnScaleTensor(s->handle, s->t, s->pinned, &one);
}

static void gives_a_device_factor(struct scene *s)
{
    cudnnScaleTensor(s->handle, s->t, s->a, s->b);
}

static void writes_beyond(struct scene *s)
{
    cudnnScaleTensor(s->handle, s->t, s->a + 1, &one);
}

static void destroys_in_use(struct scene *s)
{
    cudnnDestroyTensorDescriptor(s->t);
    cudnnScaleTensor(s->handle, s->t, s->a, &one);
}

static void forgets_to_set(struct scene *s)
{
    cudnnTensorDescriptor_t t = NULL;

    cudnnCreateTensorDescriptor(&t);
    cudnnScaleTensor(s->handle, t, s->a, &one);
}

static void mixes_shapes(struct scene *s)
{
    cudnnAddTensor(s->handle, &one, TENSOR(1, 2, 2, 2), s->b, &one, s->t, s->a);
}

static void writes_values_on_one_another(struct scene *s)
{
    cudnnTensorDescriptor_t t = NULL;

    cudnnCreateTensorDescriptor(&t);
    cudnnSetTensorNdDescriptor(t, CUDNN_DATA_FLOAT, 4, (int[]){1, 2, 2, 2}, (int[]){8, 2, 2, 1});
    cudnnScaleTensor(s->handle, t, s->a, &one);
}

static void convolves(struct scene *s, float *scratch, size_t n_bytes)
{
    cudnnFilterDescriptor_t filter = NULL;
    cudnnConvolutionDescriptor_t convolution = NULL;

    cudnnCreateFilterDescriptor(&filter);
    cudnnSetFilterNdDescriptor(filter, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, 4, (int[]){1, 4, 1, 1});
    cudnnCreateConvolutionDescriptor(&convolution);
    cudnnSetConvolutionNdDescriptor(convolution, 2, (int[]){0, 0}, (int[]){1, 1}, (int[]){1, 1},
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnConvolutionForward(s->handle, &one, s->t, s->a, filter, s->b, convolution,
                            CUDNN_CONVOLUTION_FWD_ALGO_GEMM, scratch, n_bytes, &none,
                            TENSOR(1, 1, 2, 2), s->b + 4);
}

static void gives_little_scratch(struct scene *s)
{
    convolves(s, s->b + 8, 8);
}

static void gives_odd_scratch(struct scene *s)
{
    convolves(s, on_device(NULL, 64) + 1, 240);
}

static void gives_used_scratch(struct scene *s)
{
    convolves(s, s->a, 64);
}

static const struct {
    void (*does)(struct scene *scene);
    const char *text;
} wrongs[] = {
    {copies_pageable, "cudaMemcpyAsync: pageable memory in an asynchronous copy"},
    {copies_too_much, "destination: 64 bytes from 4 of a device allocation of 64"},
    {copies_beyond_pinned, "reach beyond pinned memory"},
    {copies_overlapping, "source and destination overlap"},
    {copies_the_other_way, "source: device memory instead of the host's"},
    {copies_wide_rows, "rows of 8 bytes, but pitches of 4 and 8"},
    {uses_freed, "device memory that was freed"},
    {frees_twice, "cudaFree: no device allocation begins there"},
    {destroys_twice, "the stream was destroyed"},
    {waits_for_a_capture, "waits for a stream that captures"},
    {allocates_in_a_capture, "memory is obtained while a stream captures"},
    {copies_beside_a_capture, "the default stream is used while"},
    {ends_no_capture, "the stream began no capture"},
    {uses_a_stream_as_event, "what is given is no event"},
    {measures_without_timing, "events without timing"},
    {transforms_in_place, "x and y overlap"},
    {makes_odd_stream, "unknown flags 0x2"},
    {computes_in_place_of_b, "in place of B alone"},
    {gives_host_memory, "y: a host pointer"},
    {gives_a_device_factor, "a factor is null or in device memory"},
    {writes_beyond, "y: 64 bytes from 4 of a device allocation of 64"},
    {destroys_in_use, "the tensor descriptor was destroyed"},
    {forgets_to_set, "created and never set"},
    {mixes_shapes, "dimension 1 of x is 2, of y 4"},
    {writes_values_on_one_another, "values of y lie on one another"},
    {gives_little_scratch, "a workspace of 8 bytes, 64 are needed"},
    {gives_odd_scratch, "the workspace begins at no multiple of 16"},
    {gives_used_scratch, "workspace and x overlap"},
};

static void violations_are_found(void)
{
    for (size_t i = 0; i < sizeof wrongs / sizeof wrongs[0]; i++) {
        struct scene s = {0};

        fake_cuda_reset();
        s.a = on_device(NULL, 16);
        s.b = on_device(NULL, 16);
        s.pinned = pinned(16);
        s.stream = new_stream();
        s.handle = new_handle(s.stream);
        s.t = TENSOR(1, 4, 2, 2);
        wrongs[i].does(&s);
        ok(only_violation(wrongs[i].text), "found: %s", wrongs[i].text);
    }
}

int main(void)
{
    violations_are_found();
    fake_cuda_reset();
    return done_testing();
}
