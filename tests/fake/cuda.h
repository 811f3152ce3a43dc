/*
 * A fake of the CUDA runtime and of cuDNN for tests: a shared library with the names of both, which
 * the backend loads instead of them. cuda*.c and cudnn*.c of this folder define the functions of
 * the real headers. It computes the results of a device, and is strict.
 *
 * Device memory is address space without access rights (a host that reads or writes it dies of
 * SIGSEGV); the bytes are elsewhere, 0xFF when new. All ranges that a call reads or writes are
 * checked. Pinned memory is 0xFF when new and ends before such a page, too.
 *
 * Work on a stream is queued, and done only when something needs it: a synchronise of its stream,
 * event or device, or work of another stream that waits for it; cudaFree and cudaFreeHost
 * synchronise the device, a query does one piece of work. So a result for which nothing waited does
 * not exist. cudaMemcpy, cudaMemcpy2D and cudaMemset are work of the default stream, which waits
 * for streams of cudaStreamCreate and they for it, but not for those of cudaStreamNonBlocking: as
 * in CUDA.
 *
 * A stream that captures adds its work to a graph, as cudaStreamCaptureModeThreadLocal wants it:
 * memory is neither obtained nor freed meanwhile, the default stream is not used, nothing waits for
 * the stream. A stream that waits for an event of the capture joins it, and the stream that began
 * it must wait for the other's work before the end.
 *
 * A call that breaks a rule is a violation: it is noted, returns cudaErrorInvalidValue or
 * CUDNN_STATUS_BAD_PARAM, and does nothing. What a device may refuse (no memory, a device that is
 * not there, CUDNN_STATUS_NOT_SUPPORTED) is an answer and no violation. Beyond CUDA's own rules
 * it wants: no stream of a device other than the thread's, and float tensors only.
 *
 * Time is made up: work lasts 1 us and its bytes / 1e4 (host and device), its bytes / 1e5 (on the
 * device) or its operations / 1e6 more, and a convolution's share depends on the algorithm. It
 * begins when its stream, what it waits for, and the last synchronise of the thread that queued it
 * are through.
 *
 * Several threads may call CUDA; what is declared here is for when only one does.
 */
#ifndef TESTS_FAKE_CUDA_H
#define TESTS_FAKE_CUDA_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it is the fake: false where tests are linked with real_gpu.c instead, and run on a real
 * GPU. Then the functions below do nothing, and nothing is counted or noted. */
extern const bool fake_cuda_is_here;

/* The device; tests change what they need after a reset. */
struct fake_cuda_settings {
    int n_devices;      /* 1; 0: none, cudaErrorNoDevice */
    int count_error;    /* 0; else the result of cudaGetDeviceCount, and of all calls that need a
                           device */
    size_t total_bytes; /* 1 GiB; allocations count in steps of 512 bytes */
    int major, minor, clock_khz, n_multiprocessors;
    double event_us;                     /* 0; that a stream needs for an event with timing */
    int driver_version, runtime_version; /* 13000 */
    size_t cudnn_version, cudnn_cudart_version;
};
extern struct fake_cuda_settings fake_cuda;

/* Resets the fake: nothing is allocated, queued, noted, counted or set to fail; settings are as
 * above. All pointers and handles from before are invalid. */
void fake_cuda_reset(void);

/* Sets the order of work. 0: all work is done as late as possible. Else the first and last calls do
 * up to three pieces of work that can be done; seed decides which pieces, and at one call of how
 * many (1 to 16). A real device may choose any of these orders. */
void fake_cuda_order(unsigned seed);

/*
 * Makes the nth call from now on of this function fail (1: the next; null: of any that can fail):
 * it returns code and does nothing, except that the object which it should free or destroy is gone.
 * code 0: cudaErrorUnknown or CUDNN_STATUS_INTERNAL_ERROR. Up to 8 may be set.
 */
void fake_cuda_fail(const char *function, int nth_call, int code);

/* Does the same, and all later calls fail as well and no more work is done, as when a device is
 * lost: code is one of CUDA, such as 700. cuDNN's calls return
 * CUDNN_STATUS_EXECUTION_FAILED_CUDART. */
void fake_cuda_lose(const char *function, int nth_call, int code);

/* Gives whether a fault that was set has occurred. */
bool fake_cuda_struck(void);

/* Counts the calls of the function since the reset; null: of all. */
int fake_cuda_calls(const char *function);

/* Counts the allocations, streams, events, handles and descriptors that are alive. The second
 * function lists them, as "2 device allocations, 1 stream", "" for none, valid until its next
 * call. */
int fake_cuda_live(void);
const char *fake_cuda_live_text(void);

/* Counts the pieces of work that are queued and not done. */
int fake_cuda_pending(void);

/* Count the violations, and give number i as "cudaMemcpyAsync: REASON", null behind the last and
 * for more than 64. */
int fake_cuda_violations(void);
const char *fake_cuda_violation(int i);

#endif
