/*
 * The fake of CUDA, on which the tests of the cudnn backend rest, behaves as CUDA is documented:
 * its memory, the order of its work, its clock, its faults and its devices.
 */
#include "fake/cuda_help.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Memory ---- */

/* Reads the memory in a process of its own; gives whether that did not die. */
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

/* Copies to the device on one stream and doubles on another; gives the result. */
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

/* Each launch copies the value that is there at the time. */
static void graphs_are_launched(void)
{
    float *from, *to, *device;
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;

    fake_cuda_reset();
    device = on_device(NULL, 1);
    from = pinned(1);
    to = pinned(1);
    stream = new_stream();
    *to = *from = 1;
    is_int(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), 0, "a capture");
    cudaMemcpyAsync(device, from, sizeof *from, cudaMemcpyHostToDevice, stream);
    cudaMemcpyAsync(to, device, sizeof *to, cudaMemcpyDeviceToHost, stream);
    ok(cudaStreamEndCapture(stream, &graph) == 0 && graph && fake_cuda_pending() == 0,
       "queues nothing");
    ok(cudaGraphInstantiate(&exec, graph, 0) == 0 && cudaGraphDestroy(graph) == 0,
       "a graph that can be launched stays when the one that was captured is destroyed");
    for (int i = 2; i < 5; i++) {
        *from = (float)i;
        cudaGraphLaunch(exec, stream);
        cudaStreamSynchronize(stream);
        ok(*to == (float)i, "launch %d does all of it", i - 1);
    }
    ok(cudaGraphExecDestroy(exec) == 0 && fake_cuda_violations() == 0, "and none is wrong");
}

/* Gives the value that cudaMemcpy copies while there is work on a stream with these flags. */
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

/* Gives when work on a second stream begins, behind an event of the first or behind a host that
 * waited for it. */
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

/* Checks that freeing memory waits for work on it. */
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

static void CUDART_CB count_up(void *self)
{
    ++*(int *)self;
}

static void functions_are_called(void)
{
    cudaStream_t stream;
    int n = 0;

    fake_cuda_reset();
    cudaStreamCreate(&stream);
    ok(cudaLaunchHostFunc(stream, count_up, &n) == cudaSuccess && n == 0,
       "a function of the host is work like other work");
    cudaStreamSynchronize(stream);
    is_int(n, 1, "and called once when its turn comes");
    ok(cudaLaunchHostFunc(stream, NULL, &n) != cudaSuccess && fake_cuda_violations() == 1,
       "none is a violation");
    cudaStreamDestroy(stream);
}

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

int main(void)
{
    memory_is_the_devices();
    functions_are_called();
    graphs_are_launched();
    order_shows_what_is_not_waited_for();
    host_waits();
    default_stream();
    clock_is_made_up();
    clocks_wait();
    freeing_waits();
    two_threads();
    faults_strike();
    devices_are_settings();
    fake_cuda_reset();
    return done_testing();
}
