/* The fake of CUDA and cuDNN that the tests of a backend rest on: that it finds what is wrong, and
 * computes what is right. */
#include "fake_cuda.h"
#include "tap.h"

#include <cudnn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Help ---- */

/* n floats on the device, of these values or as new. */
static float *on_device(const float *values, int n)
{
    void *device = NULL;

    if (cudaMalloc(&device, (size_t)n * sizeof *values) == cudaSuccess && values)
        cudaMemcpy(device, values, (size_t)n * sizeof *values, cudaMemcpyHostToDevice);
    return device;
}

static float *pinned(int n)
{
    void *host = NULL;

    cudaMallocHost(&host, (size_t)n * sizeof(float));
    return host;
}

static float from_device(const float *device, int i)
{
    float value = -1;

    cudaMemcpy(&value, device + i, sizeof value, cudaMemcpyDeviceToHost);
    return value;
}

/* Whether there is one violation with this text in it. */
static bool only_violation(const char *text)
{
    bool found = fake_cuda_violations() == 1 && strstr(fake_cuda_violation(0), text);

    for (int i = 0; !found && fake_cuda_violation(i); i++)
        printf("# %s\n", fake_cuda_violation(i));
    return found;
}

static cudaStream_t new_stream(void)
{
    cudaStream_t stream = NULL;

    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    return stream;
}

static cudaEvent_t new_event(void)
{
    cudaEvent_t event = NULL;

    cudaEventCreate(&event);
    return event;
}

static cudnnHandle_t new_handle(cudaStream_t stream)
{
    cudnnHandle_t handle = NULL;

    cudnnCreate(&handle);
    cudnnSetStream(handle, stream);
    return handle;
}

/* [N, C, ...], dense. */
static cudnnTensorDescriptor_t tensor(int n_dims, const int *dims)
{
    cudnnTensorDescriptor_t descriptor = NULL;
    int strides[8];

    for (int d = n_dims - 1, n = 1; d >= 0; n *= dims[d--])
        strides[d] = n;
    cudnnCreateTensorDescriptor(&descriptor);
    cudnnSetTensorNdDescriptor(descriptor, CUDNN_DATA_FLOAT, n_dims, dims, strides);
    return descriptor;
}

#define TENSOR(...)                                                                                \
    tensor((int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})

static const float one = 1, none = 0;

/* ---- Memory ---- */

/* Dies, or ends well if it may read it. */
static bool host_may_read(const float *memory)
{
    const struct rlimit no_core = {0};
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile const float *)memory == 12345);
    }
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
}

static void memory_is_the_devices(void)
{
    float *device, *host;
    void *more = NULL;
    size_t n_free = 0, n_total = 0;

    fake_cuda_reset();
    fake_cuda.total_bytes = 4096;
    device = on_device(NULL, 16);
    host = pinned(16);
    ok(!host_may_read(device), "a host that reads device memory dies");
    ok(host_may_read(host) && !host_may_read(host + 16), "pinned memory is the host's, to its end");
    ok(isnan(from_device(device, 15)), "new memory is no number");
    cudaMemGetInfo(&n_free, &n_total);
    ok(n_total == 4096 && n_free == 3584, "the device knows how much is left");
    is_int(cudaMalloc(&more, 3585), cudaErrorMemoryAllocation, "more is not there");
    is_int(cudaGetLastError(), cudaErrorMemoryAllocation, "that is the last error");
    is_int(cudaGetLastError(), cudaSuccess, "until it is asked for");
    is_str(fake_cuda_live_text(), "1 device allocation, 1 pinned allocation", "leaks have names");
    cudaFree(device);
    cudaFreeHost(host);
    is_int(fake_cuda_live(), 0, "nothing is left");
    is_int(fake_cuda_violations(), 0, "nothing was wrong");
}

/* ---- Order ---- */

/* A copy to the device on one stream, doubled on another; what comes out. */
static float doubled(unsigned seed, bool waits)
{
    float *host, *device, result, two = 2;
    cudaStream_t copies, kernels;
    cudaEvent_t copied;
    cudnnHandle_t handle;

    fake_cuda_reset();
    fake_cuda_order(seed);
    host = pinned(1);
    device = on_device(&one, 1);
    copies = new_stream();
    kernels = new_stream();
    copied = new_event();
    handle = new_handle(kernels);
    *host = 21;
    cudaMemcpyAsync(device, host, sizeof *host, cudaMemcpyHostToDevice, copies);
    cudaEventRecord(copied, copies);
    if (waits)
        cudaStreamWaitEvent(kernels, copied, 0);
    cudnnScaleTensor(handle, TENSOR(1, 1, 1, 1), device, &two);
    cudaStreamSynchronize(kernels);
    result = from_device(device, 0);
    cudaDeviceSynchronize();
    return result;
}

static void order_shows_what_is_not_waited_for(void)
{
    int n_wrong = 0, n_right = 0;

    is_near(doubled(0, false), 2, 0, "a copy that is not waited for has not begun");
    is_near(doubled(0, true), 42, 0, "one that is waited for is done");
    for (unsigned seed = 1; seed <= 40; seed++) {
        n_wrong += doubled(seed, false) != 42;
        n_right += doubled(seed, true) == 42;
    }
    ok(n_wrong > 0 && n_wrong < 40, "other orders are sometimes lucky");
    is_int(n_right, 40, "never wrong with the wait");
}

static void host_waits(void)
{
    float *host, *device;
    cudaStream_t stream;
    cudaEvent_t event;
    int n_queries = 0;

    fake_cuda_reset();
    device = on_device(&one, 1);
    host = pinned(1);
    stream = new_stream();
    event = new_event();
    is_int(cudaEventQuery(event), cudaSuccess, "an event that was never recorded is through");
    *host = 0;
    cudaMemcpyAsync(host, device, sizeof *host, cudaMemcpyDeviceToHost, stream);
    cudaMemcpyAsync(device, host, sizeof *host, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(event, stream);
    ok(*host == 0 && fake_cuda_pending() == 3, "nothing is there before the host waits");
    while (cudaEventQuery(event) == cudaErrorNotReady && n_queries < 10)
        n_queries++;
    is_int(n_queries, 2, "a query makes one piece of progress");
    ok(*host == 1, "and all is there in the end");
    is_int(cudaStreamQuery(stream), cudaSuccess, "the stream is through");
}

/* What cudaMemcpy sees of work on a stream with these flags. */
static float seen_by_default_stream(unsigned flags)
{
    float *device;
    cudaStream_t stream = NULL;

    fake_cuda_reset();
    device = on_device(&one, 1);
    cudaStreamCreateWithFlags(&stream, flags);
    cudaMemsetAsync(device, 0, sizeof *device, stream);
    return from_device(device, 0);
}

static void default_stream(void)
{
    is_near(seen_by_default_stream(cudaStreamDefault), 0, 0, "it waits for blocking streams");
    is_near(seen_by_default_stream(cudaStreamNonBlocking), 1, 0, "and not for the others");
}

static float copy_ms(int n)
{
    cudaEvent_t start = new_event(), end = new_event();
    cudaStream_t stream = new_stream();
    float *device = on_device(NULL, n), *host = pinned(n), ms = -1;

    cudaEventRecord(start, stream);
    cudaMemcpyAsync(device, host, (size_t)n * sizeof *host, cudaMemcpyHostToDevice, stream);
    cudaEventRecord(end, stream);
    is_int(cudaEventElapsedTime(&ms, start, end), cudaErrorNotReady, "no time before the end");
    cudaEventSynchronize(end);
    cudaEventElapsedTime(&ms, start, end);
    return ms;
}

static void clock_is_made_up(void)
{
    fake_cuda_reset();
    is_near(copy_ms(10000), 0.005, 1e-9, "40000 bytes take 5 us");
    is_near(copy_ms(10000), 0.005, 1e-9, "always");
}

/* Work on a second stream, behind an event of the first or behind a host that waited for it. */
static float second_begins_us(bool by_event, bool by_host)
{
    cudaStream_t first, second;
    cudaEvent_t start, middle, end;
    float *device, ms = -1;

    fake_cuda_reset();
    device = on_device(NULL, 50000);
    first = new_stream();
    second = new_stream();
    start = new_event();
    middle = new_event();
    end = new_event();
    cudaEventRecord(start, first);
    cudaMemsetAsync(device, 0, 200000, first); /* 3 us */
    cudaEventRecord(middle, first);
    if (by_host)
        cudaEventSynchronize(middle);
    if (by_event)
        cudaStreamWaitEvent(second, middle, 0);
    cudaEventRecord(end, second);
    cudaDeviceSynchronize();
    cudaEventElapsedTime(&ms, start, end);
    return ms * 1000;
}

static void clocks_wait(void)
{
    float base = second_begins_us(false, false);

    is_near(second_begins_us(true, false), base + 3, 1e-4, "waiting for an event takes its time");
    is_near(second_begins_us(false, true), base + 3, 1e-4, "work begins behind the host's waits");
}

/* Memory that is freed with work on it. */
static void freeing_waits(void)
{
    float *device, *host;
    cudaStream_t stream;

    fake_cuda_reset();
    device = on_device(&one, 1);
    host = pinned(1);
    stream = new_stream();
    cudaMemcpyAsync(host, device, sizeof *host, cudaMemcpyDeviceToHost, stream);
    cudaStreamDestroy(stream);
    cudaFree(device);
    ok(*host == 1 && fake_cuda_pending() == 0, "freeing waits for all work, of ended streams too");
    is_int(fake_cuda_violations(), 0, "and is allowed");
}

/* ---- Two threads ---- */

struct ping {
    cudaStream_t stream;
    float *device, *host;
    int n_wrong;
};

static void *copy_to_and_fro(void *argument)
{
    struct ping *p = argument;

    for (int i = 0; i < 200; i++) {
        for (int j = 0; j < 64; j++)
            p->host[j] = (float)(i + j);
        cudaMemcpyAsync(p->device, p->host, 64 * sizeof(float), cudaMemcpyHostToDevice, p->stream);
        cudaMemcpyAsync(p->host + 64, p->device, 64 * sizeof(float), cudaMemcpyDeviceToHost,
                        p->stream);
        cudaStreamSynchronize(p->stream);
        for (int j = 0; j < 64; j++)
            p->n_wrong += p->host[64 + j] != (float)(i + j);
    }
    return NULL;
}

static void two_threads(void)
{
    struct ping pings[2] = {0};
    pthread_t threads[2];
    int n_joined = 0;

    fake_cuda_reset();
    fake_cuda_order(7);
    for (int i = 0; i < 2; i++)
        pings[i] = (struct ping){new_stream(), on_device(NULL, 64), pinned(128), 0};
    for (int i = 0; i < 2; i++)
        n_joined += pthread_create(&threads[i], NULL, copy_to_and_fro, &pings[i]) == 0;
    for (int i = 0; i < n_joined; i++)
        pthread_join(threads[i], NULL);
    ok(n_joined == 2 && pings[0].n_wrong + pings[1].n_wrong == 0, "two threads may call at once");
    is_int(fake_cuda_calls("cudaStreamSynchronize"), 400, "all calls are counted");
    is_int(fake_cuda_violations(), 0, "without a violation");
}

/* ---- Violations ---- */

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

/* ---- Faults and the device ---- */

static void faults_strike(void)
{
    float *a, *b, *lost;
    cudnnHandle_t handle;

    fake_cuda_reset();
    lost = pinned(1);
    fake_cuda_fail("cudaMalloc", 2, cudaErrorMemoryAllocation);
    a = on_device(&one, 1);
    b = on_device(&one, 1);
    ok(a && !b && fake_cuda_struck(), "the second call fails");
    is_int(fake_cuda_calls("cudaMalloc"), 2, "calls that fail count");
    b = on_device(&one, 1);
    ok(b != NULL, "the third does not");
    handle = new_handle(NULL);
    fake_cuda_lose(NULL, 2, cudaErrorIllegalAddress);
    is_int(cudaMemcpyAsync(lost, a, sizeof *lost, cudaMemcpyDeviceToHost, NULL), cudaSuccess,
           "any function: not yet");
    is_int(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "lost");
    is_int(cudaDeviceSynchronize(), cudaErrorIllegalAddress, "for ever");
    is_int(cudnnScaleTensor(handle, NULL, NULL, NULL), CUDNN_STATUS_EXECUTION_FAILED_CUDART,
           "for cuDNN as well");
    is_int(cudaGetLastError(), cudaErrorIllegalAddress, "it is the last error");
    is_int(cudaGetLastError(), cudaErrorIllegalAddress, "and stays it");
    is_int(cudaFree(a), cudaErrorIllegalAddress, "freeing fails");
    is_str(fake_cuda_live_text(), "1 device allocation, 1 pinned allocation, 1 handle",
           "and frees");
    ok(isnan(*lost), "what was queued is not done any more");
    is_int(fake_cuda_violations(), 0, "no violation");
}

static void devices_are_settings(void)
{
    struct cudaDeviceProp properties;
    int count = -7, value = 0;
    cudnnHandle_t handle = NULL;

    fake_cuda_reset();
    fake_cuda.n_devices = 2;
    is_int(cudaSetDevice(2), cudaErrorInvalidDevice, "devices are numbered from 0");
    cudaSetDevice(1);
    cudaGetDevice(&value);
    is_int(value, 1, "a device can be chosen");
    cudaGetDeviceProperties(&properties, 1);
    is_str(properties.name, "fake device 1", "it has a name");
    cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 1);
    is_int(value, properties.major, "and attributes");
    fake_cuda_reset();
    fake_cuda.count_error = cudaErrorInsufficientDriver;
    is_int(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver, "an old driver");
    is_int(count, -7, "leaves the count alone");
    is_int(cudnnCreate(&handle), CUDNN_STATUS_NOT_INITIALIZED, "without one there is no handle");
    fake_cuda_reset();
    fake_cuda.n_devices = 0;
    is_int(cudaGetDeviceCount(&count), cudaErrorNoDevice, "there may be no device");
    is_str(cudaGetErrorString(cudaErrorNoDevice), "no CUDA-capable device is detected", "its text");
    is_int(fake_cuda_violations(), 0, "all of which is allowed");
}

/* ---- Convolutions, against a loop that goes over the inputs instead of the outputs ---- */

struct conv_case {
    const char *name;
    int n_spatial, n, c, k, groups;
    int in[3], size[3], pad[3], stride[3], dilation[3];
};

static const struct conv_case conv_cases[] = {
    {"plain", 2, 2, 3, 4, 1, {1, 5, 6}, {1, 3, 3}, {0}, {1, 1, 1}, {1, 1, 1}},
    {"padded", 2, 1, 2, 2, 1, {1, 4, 5}, {1, 3, 2}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"stride", 2, 1, 2, 3, 1, {1, 7, 6}, {1, 3, 3}, {0, 1, 2}, {1, 2, 3}, {1, 1, 1}},
    {"dilation", 2, 1, 2, 2, 1, {1, 7, 8}, {1, 2, 3}, {0, 2, 1}, {1, 1, 2}, {1, 3, 2}},
    {"groups", 2, 2, 4, 6, 2, {1, 4, 4}, {1, 3, 3}, {0, 1, 1}, {1, 1, 1}, {1, 1, 1}},
    {"depthwise", 2, 1, 3, 3, 3, {1, 4, 4}, {1, 2, 2}, {0}, {1, 2, 2}, {1, 1, 1}},
    {"volume", 3, 2, 2, 3, 1, {4, 5, 3}, {3, 2, 3}, {1, 0, 1}, {1, 2, 1}, {1, 1, 1}},
    {"odd volume", 3, 1, 4, 2, 2, {5, 4, 6}, {2, 2, 3}, {2, 1, 1}, {2, 1, 3}, {2, 1, 1}},
};

static int made(const struct conv_case *t, int d)
{
    return (t->in[d] + 2 * t->pad[d] - (t->size[d] - 1) * t->dilation[d] - 1) / t->stride[d] + 1;
}

static int product(const int *v)
{
    return v[0] * v[1] * v[2];
}

/* The number of the output place that sees input place i at window place q; -1: none. */
static int sees(const struct conv_case *t, int i, int q)
{
    int place[3] = {i / (t->in[1] * t->in[2]), i / t->in[2] % t->in[1], i % t->in[2]};
    int at[3] = {q / (t->size[1] * t->size[2]), q / t->size[2] % t->size[1], q % t->size[2]};
    int number = 0;

    for (int d = 0; d < 3; d++) {
        int x = place[d] + t->pad[d] - at[d] * t->dilation[d];

        if (x < 0 || x % t->stride[d] != 0 || x / t->stride[d] >= made(t, d))
            return -1;
        number = number * made(t, d) + x / t->stride[d];
    }
    return number;
}

/* y of x, or with back x of y; results begin at 0. */
static void convolve(const struct conv_case *t, float *x, const float *w, float *y, bool back)
{
    int area = product(t->in), window = product(t->size), n_c = t->c / t->groups;
    int made_area = made(t, 0) * made(t, 1) * made(t, 2), n_k = t->k / t->groups;

    for (int i = 0; i < t->n * t->c * area; i++) {
        int n = i / (t->c * area), c = i / area % t->c;

        for (int j = 0; j < n_k * window; j++) {
            int k = c / n_c * n_k + j / window, place = sees(t, i % area, j % window);
            float weight = w[(k * n_c + c % n_c) * window + j % window];

            if (place >= 0 && back)
                x[i] += weight * y[(n * t->k + k) * made_area + place];
            else if (place >= 0)
                y[(n * t->k + k) * made_area + place] += weight * x[i];
        }
    }
}

/* Small whole numbers, so that sums are exact. */
static float *numbers(int n, unsigned seed)
{
    float *values = malloc((size_t)n * sizeof *values);

    for (int i = 0; i < n; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = (float)(seed >> 16 & 7) - 3;
    }
    return values;
}

static int n_different(const float *device, const float *want, int n)
{
    float *got = malloc((size_t)n * sizeof *got);
    int different = 0;

    cudaMemcpy(got, device, (size_t)n * sizeof *got, cudaMemcpyDeviceToHost);
    for (int i = 0; i < n; i++)
        different += !(fabsf(got[i] - want[i]) <= 1e-6f * fabsf(want[i]));
    free(got);
    return different;
}

struct conv {
    cudnnHandle_t handle;
    cudnnTensorDescriptor_t x, y;
    cudnnFilterDescriptor_t w;
    cudnnConvolutionDescriptor_t convolution;
    int n_x, n_w, n_y;
};

static struct conv conv(const struct conv_case *t)
{
    int skip_d = 3 - t->n_spatial, n_dims = t->n_spatial + 2;
    struct conv v = {.handle = new_handle(NULL), .n_x = t->n * t->c, .n_y = t->n * t->k};
    int x[5] = {t->n, t->c}, w[5] = {t->k, t->c / t->groups}, y[5] = {0};

    for (int d = 0; d < t->n_spatial; d++) {
        x[d + 2] = t->in[skip_d + d];
        w[d + 2] = t->size[skip_d + d];
    }
    v.x = tensor(n_dims, x);
    cudnnCreateFilterDescriptor(&v.w);
    cudnnSetFilterNdDescriptor(v.w, CUDNN_DATA_FLOAT, CUDNN_TENSOR_NCHW, n_dims, w);
    cudnnCreateConvolutionDescriptor(&v.convolution);
    cudnnSetConvolutionNdDescriptor(v.convolution, t->n_spatial, t->pad + skip_d,
                                    t->stride + skip_d, t->dilation + skip_d,
                                    CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT);
    cudnnSetConvolutionGroupCount(v.convolution, t->groups);
    cudnnGetConvolutionNdForwardOutputDim(v.convolution, v.x, v.w, n_dims, y);
    v.y = tensor(n_dims, y);
    v.n_x *= product(t->in);
    v.n_w = w[0] * w[1] * product(t->size);
    v.n_y *= made(t, 0) * made(t, 1) * made(t, 2);
    return v;
}

/* All algorithms that there are; how many. */
static int n_right_forward(const struct conv_case *t, const struct conv *v, float *x, float *w)
{
    float *y = calloc((size_t)v->n_y, sizeof *y), *dx = on_device(x, v->n_x);
    float *dw = on_device(w, v->n_w), *dy = on_device(NULL, v->n_y);
    int n_right = 0, count = 0;

    convolve(t, x, w, y, false);
    cudnnGetConvolutionForwardAlgorithmMaxCount(v->handle, &count);
    for (int i = 0; i < count; i++) {
        cudnnConvolutionFwdAlgo_t algorithm = (cudnnConvolutionFwdAlgo_t)i;
        size_t n_bytes = 0;
        void *scratch = NULL;

        if (cudnnGetConvolutionForwardWorkspaceSize(v->handle, v->x, v->w, v->convolution, v->y,
                                                    algorithm, &n_bytes) != CUDNN_STATUS_SUCCESS)
            continue;
        cudaMalloc(&scratch, n_bytes);
        cudaMemset(dy, 0xFF, (size_t)v->n_y * sizeof *dy);
        cudnnConvolutionForward(v->handle, &one, v->x, dx, v->w, dw, v->convolution, algorithm,
                                scratch, n_bytes, &none, v->y, dy);
        n_right += n_different(dy, y, v->n_y) == 0;
    }
    free(y);
    return n_right;
}

static int n_right_back(const struct conv_case *t, const struct conv *v, float *y, float *w)
{
    float *x = calloc((size_t)v->n_x, sizeof *x), *dx = on_device(NULL, v->n_x);
    float *dw = on_device(w, v->n_w), *dy = on_device(y, v->n_y);
    int n_right = 0;

    convolve(t, x, w, y, true);
    for (int i = 0; i < 2; i++) {
        cudnnConvolutionBwdDataAlgo_t algorithm = (cudnnConvolutionBwdDataAlgo_t)i;
        size_t n_bytes = 0;
        void *scratch = NULL;

        cudnnGetConvolutionBackwardDataWorkspaceSize(v->handle, v->w, v->y, v->convolution, v->x,
                                                     algorithm, &n_bytes);
        cudaMalloc(&scratch, n_bytes);
        cudaMemset(dx, 0xFF, (size_t)v->n_x * sizeof *dx);
        cudnnConvolutionBackwardData(v->handle, &one, v->w, dw, v->y, dy, v->convolution, algorithm,
                                     scratch, n_bytes, &none, v->x, dx);
        n_right += n_different(dx, x, v->n_x) == 0;
    }
    free(x);
    return n_right;
}

/* Each has so many algorithms. */
static void convolutions(void)
{
    static const int n_algorithms[] = {7, 6, 3, 2, 6, 3, 2, 2};

    for (size_t i = 0; i < sizeof conv_cases / sizeof conv_cases[0]; i++) {
        const struct conv_case *t = &conv_cases[i];
        struct conv v;
        float *x, *w, *y;

        fake_cuda_reset();
        v = conv(t);
        x = numbers(v.n_x, 1);
        w = numbers(v.n_w, 2);
        y = numbers(v.n_y, 3);
        ok(n_right_forward(t, &v, x, w) == n_algorithms[i], "%s: forward", t->name);
        ok(n_right_back(t, &v, y, w) == 2, "%s: back", t->name);
        ok(fake_cuda_violations() == 0, "%s: nothing wrong", t->name);
        free(x);
        free(w);
        free(y);
    }
}

/* y = activation(x * 2 + bias) for x = -1, 1 with bias -1 */
static cudnnStatus_t fused(cudnnActivationMode_t mode, cudnnConvolutionFwdAlgo_t algorithm,
                           float *first, float *second)
{
    static const struct conv_case t = {"",        2,         1,   1,         1,        1,
                                       {1, 1, 2}, {1, 1, 1}, {0}, {1, 1, 1}, {1, 1, 1}};
    struct conv v;
    float *x, *w, *y, *bias;
    cudnnActivationDescriptor_t activation = NULL;
    cudnnStatus_t status;

    fake_cuda_reset();
    v = conv(&t);
    x = on_device((float[]){-1, 1}, 2);
    w = on_device((float[]){2}, 1);
    bias = on_device((float[]){-1}, 1);
    y = on_device(NULL, 2);
    cudnnCreateActivationDescriptor(&activation);
    cudnnSetActivationDescriptor(activation, mode, CUDNN_PROPAGATE_NAN, 0);
    status = cudnnConvolutionBiasActivationForward(v.handle, &one, v.x, x, v.w, w, v.convolution,
                                                   algorithm, on_device(NULL, 64), 256, &none, v.y,
                                                   y, TENSOR(1, 1, 1, 1), bias, activation, v.y, y);
    *first = from_device(y, 0);
    *second = from_device(y, 1);
    return status;
}

static void fused_convolutions(void)
{
    float first, second;

    fused(CUDNN_ACTIVATION_RELU, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &first, &second);
    ok(first == 0 && second == 1, "convolution, bias and relu");
    fused(CUDNN_ACTIVATION_IDENTITY, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, &first,
          &second);
    ok(first == -3 && second == 1, "convolution and bias");
    is_int(
        fused(CUDNN_ACTIVATION_IDENTITY, CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, &first, &second),
        CUDNN_STATUS_NOT_SUPPORTED, "not with another algorithm");
    is_int(fake_cuda_violations(), 0, "which is an answer");
}

/* ---- The rest, against numbers by hand ---- */

static bool results(const float *device, const float *want, int n)
{
    bool good = true;

    for (int i = 0; i < n; i++) {
        float got = from_device(device, i);

        if (!(fabsf(got - want[i]) <= 1e-6f)) {
            printf("# value %d: got %g, want %g\n", i, (double)got, (double)want[i]);
            good = false;
        }
    }
    return good && fake_cuda_violations() == 0;
}

#define RESULTS(device, ...)                                                                       \
    results(device, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* [1, 1, 2, 3] = 1 ... 6, windows 2 x 2 of stride 2, padded by 1: outputs 2 x 2. */
static const float *pooled(cudnnPoolingMode_t mode)
{
    cudnnPoolingDescriptor_t pooling = NULL;
    cudnnTensorDescriptor_t x;
    float *y;
    int dims[4] = {0};

    fake_cuda_reset();
    cudnnCreatePoolingDescriptor(&pooling);
    cudnnSetPoolingNdDescriptor(pooling, mode, CUDNN_PROPAGATE_NAN, 2, (int[]){2, 2}, (int[]){1, 1},
                                (int[]){2, 2});
    x = TENSOR(1, 1, 2, 3);
    cudnnGetPoolingNdForwardOutputDim(pooling, x, 4, dims);
    y = on_device(NULL, 4);
    cudnnPoolingForward(new_handle(NULL), pooling, &one, x,
                        on_device((float[]){1, 2, 3, 4, 5, 6}, 6), &none, tensor(4, dims), y);
    return y;
}

static void pools(void)
{
    cudnnPoolingDescriptor_t pooling = NULL;
    float *y;

    ok(RESULTS(pooled(CUDNN_POOLING_MAX), 1, 3, 4, 6), "greatest");
    ok(RESULTS(pooled(CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING), 1, 2.5f, 4, 5.5f),
       "mean without padding");
    ok(RESULTS(pooled(CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING), 0.25f, 1.25f, 1, 2.75f),
       "mean with padding");
    fake_cuda_reset();
    cudnnCreatePoolingDescriptor(&pooling);
    cudnnSetPoolingNdDescriptor(pooling, CUDNN_POOLING_MAX, CUDNN_PROPAGATE_NAN, 3,
                                (int[]){2, 1, 2}, (int[]){0, 0, 0}, (int[]){1, 1, 1});
    y = on_device(NULL, 2);
    cudnnPoolingForward(new_handle(NULL), pooling, &one, TENSOR(1, 1, 2, 2, 2),
                        on_device((float[]){8, 1, 2, 3, 4, 5, 6, 7}, 8), &none,
                        TENSOR(1, 1, 1, 2, 1), y);
    ok(RESULTS(y, 8, 7), "greatest of a volume");
}

/* Three channels of one value: 1, 2, 3. */
static void lrn_and_softmax(void)
{
    cudnnLRNDescriptor_t lrn = NULL;
    cudnnTensorDescriptor_t t, two;
    cudnnHandle_t handle;
    float *x, *y;
    float e1 = expf(1), e2 = expf(2), sum3 = 1 + e1 + e2, small = 1 / (1 + e1);

    fake_cuda_reset();
    t = TENSOR(1, 3, 1, 1);
    handle = new_handle(NULL);
    x = on_device((float[]){1, 2, 3}, 3);
    y = on_device(NULL, 3);
    cudnnCreateLRNDescriptor(&lrn);
    cudnnSetLRNDescriptor(lrn, 2, 4, 1, 1); /* x / (1 + 2 * (its own square and the next one's)) */
    cudnnLRNCrossChannelForward(handle, lrn, CUDNN_LRN_CROSS_CHANNEL_DIM1, &one, t, x, &none, t, y);
    ok(RESULTS(y, 1 / 11.0f, 2 / 27.0f, 3 / 19.0f), "LRN, window ahead");
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, t, x,
                        &none, t, y);
    ok(RESULTS(y, 1 / sum3, e1 / sum3, e2 / sum3), "softmax");
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_LOG, CUDNN_SOFTMAX_MODE_INSTANCE, &one, t, x, &none,
                        t, x);
    ok(RESULTS(x, -logf(sum3), 1 - logf(sum3), 2 - logf(sum3)), "log of it, in place");
    two = TENSOR(1, 2, 2, 1);
    x = on_device((float[]){1, 5, 2, 6}, 4);
    cudnnSoftmaxForward(handle, CUDNN_SOFTMAX_ACCURATE, CUDNN_SOFTMAX_MODE_CHANNEL, &one, two, x,
                        &none, two, x);
    ok(RESULTS(x, small, small, 1 - small, 1 - small), "softmax over channels at each place");
}

/* A = [1, 2, 2, 1] of 1 ... 4 with B of two channels, 10 and 20. */
static void op_tensors(void)
{
    static const struct {
        cudnnOpTensorOp_t op;
        float want[4];
    } cases[] = {
        {CUDNN_OP_TENSOR_ADD, {12, 14, 26, 28}},
        {CUDNN_OP_TENSOR_MUL, {20, 40, 120, 160}},
        {CUDNN_OP_TENSOR_MIN, {2, 4, 6, 8}},
        {CUDNN_OP_TENSOR_MAX, {10, 10, 20, 20}},
        {CUDNN_OP_TENSOR_SQRT, {1.4142136f, 2, 2.4494898f, 2.8284271f}},
        {CUDNN_OP_TENSOR_NOT, {-1, -3, -5, -7}},
    };
    const float two = 2;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnOpTensorDescriptor_t op = NULL;
        cudnnTensorDescriptor_t t;
        float *a;

        fake_cuda_reset();
        t = TENSOR(1, 2, 2, 1);
        a = on_device((float[]){1, 2, 3, 4}, 4);
        cudnnCreateOpTensorDescriptor(&op);
        cudnnSetOpTensorDescriptor(op, cases[i].op, CUDNN_DATA_FLOAT, CUDNN_PROPAGATE_NAN);
        cudnnOpTensor(new_handle(NULL), op, &two, t, a, &one, TENSOR(1, 2, 1, 1),
                      on_device((float[]){10, 20}, 2), &none, t, a);
        ok(results(a, cases[i].want, 4), "OpTensor %d, in place and broadcast", (int)cases[i].op);
    }
}

static void activations(void)
{
    static const struct {
        cudnnActivationMode_t mode;
        float want[3]; /* of -1, 0.5 and 3; the coefficient is 2 */
    } cases[] = {
        {CUDNN_ACTIVATION_SIGMOID, {0.26894142f, 0.62245933f, 0.95257413f}},
        {CUDNN_ACTIVATION_RELU, {0, 0.5f, 3}},
        {CUDNN_ACTIVATION_TANH, {-0.76159416f, 0.46211716f, 0.99505475f}},
        {CUDNN_ACTIVATION_CLIPPED_RELU, {0, 0.5f, 2}},
        {CUDNN_ACTIVATION_ELU, {-1.2642411f, 0.5f, 3}},
        {CUDNN_ACTIVATION_IDENTITY, {-1, 0.5f, 3}},
        {CUDNN_ACTIVATION_SWISH, {-0.11920292f, 0.36552929f, 2.9925821f}}, /* beta 2 */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnActivationDescriptor_t activation = NULL;
        cudnnTensorDescriptor_t t;
        float *x;

        fake_cuda_reset();
        t = TENSOR(1, 3, 1, 1);
        x = on_device((float[]){-1, 0.5f, 3}, 3);
        cudnnCreateActivationDescriptor(&activation);
        cudnnSetActivationDescriptor(activation, cases[i].mode, CUDNN_PROPAGATE_NAN, 2);
        cudnnSetActivationDescriptorSwishBeta(activation, 2);
        cudnnActivationForward(new_handle(NULL), activation, &one, t, x, &none, t, x);
        ok(results(x, cases[i].want, 3), "activation %d", (int)cases[i].mode);
    }
}

static void reductions(void)
{
    static const struct {
        cudnnReduceTensorOp_t op;
        float want[2]; /* of 3, -4 and of 1, 2 */
    } cases[] = {
        {CUDNN_REDUCE_TENSOR_ADD, {-1, 3}},          {CUDNN_REDUCE_TENSOR_MUL, {-12, 2}},
        {CUDNN_REDUCE_TENSOR_MIN, {-4, 1}},          {CUDNN_REDUCE_TENSOR_MAX, {3, 2}},
        {CUDNN_REDUCE_TENSOR_AVG, {-0.5f, 1.5f}},    {CUDNN_REDUCE_TENSOR_NORM1, {7, 3}},
        {CUDNN_REDUCE_TENSOR_NORM2, {5, 2.236068f}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        cudnnReduceTensorDescriptor_t reduction = NULL;
        cudnnTensorDescriptor_t a, c;
        cudnnHandle_t handle;
        float *y;
        size_t n_bytes = 0;

        fake_cuda_reset();
        handle = new_handle(NULL);
        a = TENSOR(1, 2, 2, 1);
        c = TENSOR(1, 2, 1, 1);
        y = on_device(NULL, 2);
        cudnnCreateReduceTensorDescriptor(&reduction);
        cudnnSetReduceTensorDescriptor(reduction, cases[i].op, CUDNN_DATA_FLOAT,
                                       CUDNN_PROPAGATE_NAN, CUDNN_REDUCE_TENSOR_NO_INDICES,
                                       CUDNN_32BIT_INDICES);
        cudnnGetReductionWorkspaceSize(handle, reduction, a, c, &n_bytes);
        cudnnReduceTensor(handle, reduction, NULL, 0, on_device(NULL, 64), n_bytes, &one, a,
                          on_device((float[]){3, -4, 1, 2}, 4), &none, c, y);
        ok(results(y, cases[i].want, 2), "reduction %d", (int)cases[i].op);
    }
}

static void moves_and_norm(void)
{
    cudnnTensorDescriptor_t columns = NULL, t, c;
    cudnnHandle_t handle;
    float *x, *y, two = 2;

    fake_cuda_reset();
    handle = new_handle(NULL);
    t = TENSOR(1, 1, 2, 2);
    cudnnCreateTensorDescriptor(&columns);
    cudnnSetTensorNdDescriptor(columns, CUDNN_DATA_FLOAT, 4, (int[]){1, 1, 2, 2},
                               (int[]){8, 8, 1, 3});
    x = on_device((float[]){1, 2, 3, 4}, 4);
    y = on_device((float[]){9, 9, 9, 9, 9}, 5);
    cudnnTransformTensor(handle, &two, t, x, &one, columns, y);
    ok(RESULTS(y, 11, 15, 9, 13, 17), "a transposed copy with gaps, scaled and added");
    cudnnSetTensor(handle, t, y, &two);
    cudnnAddTensor(handle, &two, TENSOR(1, 1, 2, 1), x, &one, t, y);
    ok(RESULTS(y, 4, 4, 6, 6), "a sum that is broadcast");
    c = TENSOR(1, 2, 1, 1);
    cudnnBatchNormalizationForwardInference(
        handle, CUDNN_BATCHNORM_SPATIAL, &one, &none, TENSOR(1, 2, 2, 1), x, TENSOR(1, 2, 2, 1), y,
        c, on_device((float[]){2, 3}, 2), on_device((float[]){10, 20}, 2),
        on_device((float[]){1, 2}, 2), on_device((float[]){3, 0}, 2), 1);
    ok(RESULTS(y, 10, 11, 23, 26), "batch normalisation");
}

int main(void)
{
    memory_is_the_devices();
    order_shows_what_is_not_waited_for();
    host_waits();
    default_stream();
    clock_is_made_up();
    clocks_wait();
    freeing_waits();
    two_threads();
    violations_are_found();
    faults_strike();
    devices_are_settings();
    convolutions();
    fused_convolutions();
    pools();
    lrn_and_softmax();
    op_tensors();
    activations();
    reductions();
    moves_and_norm();
    fake_cuda_reset();
    return done_testing();
}
