/*
 * A fake of the CUDA runtime and of cuDNN for tests: fake_cud*.c define the functions of the real
 * headers and are linked instead of the libraries. It computes what a device would, and is strict.
 *
 * Device memory is address space that no one may touch (a host that does dies of SIGSEGV); the
 * bytes lie elsewhere, 0xFF when new. All ranges that a call reads or writes are checked. Pinned
 * memory is 0xFF when new and ends before such a page, too.
 *
 * Work on a stream is queued, and done only when something needs it: a synchronise of its stream,
 * event or device, or work of another stream that waits for it; cudaFree and cudaFreeHost
 * synchronise the device, a query does one piece of work. So what is not waited for is not there.
 * cudaMemcpy, cudaMemcpy2D and cudaMemset are work of the default stream, which waits for streams
 * of cudaStreamCreate and they for it, but not for those of cudaStreamNonBlocking: as in CUDA.
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

/* The device; tests change what they need after a reset. */
struct fake_cuda_settings {
    int n_devices;      /* 1; 0: none, cudaErrorNoDevice */
    int count_error;    /* 0; else what cudaGetDeviceCount answers, and all that needs a device */
    size_t total_bytes; /* 1 GiB; allocations count in steps of 512 bytes */
    int major, minor, clock_khz, n_multiprocessors;
    int driver_version, runtime_version; /* 13000 */
    size_t cudnn_version, cudnn_cudart_version;
};
extern struct fake_cuda_settings fake_cuda;

/* As at first: nothing allocated, queued, noted, counted or set to fail; settings as above. All
 * pointers and handles from before are void. */
void fake_cuda_reset(void);

/* 0: all work as late as possible. Else calls first and last do up to three pieces of work that
 * could be done; which, and at one call of how many (1 to 16), is up to the seed: other orders that
 * a device may take. */
void fake_cuda_order(unsigned seed);

/*
 * The nth call from now on of this function (1: the next; null: of any that can fail) returns code
 * and does nothing, except that what it should free or destroy is gone. code 0: cudaErrorUnknown
 * or CUDNN_STATUS_INTERNAL_ERROR. Up to 8 may be set.
 */
void fake_cuda_fail(const char *function, int nth_call, int code);

/* The same, and all later calls fail as well and no more work is done, as when a device is lost: a
 * CUDA code such as 700. cuDNN's calls return CUDNN_STATUS_EXECUTION_FAILED_CUDART. */
void fake_cuda_lose(const char *function, int nth_call, int code);

/* Whether a fault that was set has struck. */
bool fake_cuda_struck(void);

/* How many calls of the function there were since the reset; null: of all. */
int fake_cuda_calls(const char *function);

/* How many allocations, streams, events, handles and descriptors are alive; and which, as "2 device
 * allocations, 1 stream", "" for none, valid until the next call of it. */
int fake_cuda_live(void);
const char *fake_cuda_live_text(void);

/* Device bytes allocated now. */
size_t fake_cuda_used(void);

/* Pieces of work that are queued and not done. */
int fake_cuda_pending(void);

/* How many violations; and number i as "cudaMemcpyAsync: what was wrong", null behind the last and
 * for more than 64. */
int fake_cuda_violations(void);
const char *fake_cuda_violation(int i);

#endif
