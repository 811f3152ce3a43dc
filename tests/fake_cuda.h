/*
 * A fake of the CUDA runtime and of cuDNN for tests: fake_*.c define the functions of the real
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

/* ---- Between the fake's own files ---- */

#if defined(FAKE_CUDA_INSIDE) && !defined(TESTS_FAKE_CUDA_PARTS)
#define TESTS_FAKE_CUDA_PARTS

#include <cudnn.h>
#include <stdint.h>

enum fake_kind {
    FAKE_NOTHING,
    FAKE_DEVICE_MEMORY,
    FAKE_PINNED_MEMORY,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_RECORD, /* that an event was recorded; never alive */
    FAKE_HANDLE,
    FAKE_TENSOR,
    FAKE_FILTER,
    FAKE_CONVOLUTION,
    FAKE_ACTIVATION,
    FAKE_POOLING,
    FAKE_LRN,
    FAKE_OP_TENSOR,
    FAKE_REDUCTION,
    FAKE_KINDS
};

/* Dimensions [N, C, ...] and strides in values. */
struct fake_tensor {
    int n_dims, dim[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX];
};

/* Of a convolution or a pooling; n spatial dimensions. */
struct fake_window {
    int n, size[CUDNN_DIM_MAX], pad[CUDNN_DIM_MAX], stride[CUDNN_DIM_MAX], dilation[CUDNN_DIM_MAX];
    int groups, mode, nan;
};

/* The operands of a cuDNN call. */
enum fake_slot { FAKE_X, FAKE_W, FAKE_BIAS, FAKE_Z, FAKE_MEAN, FAKE_VARIANCE, FAKE_Y, FAKE_SLOTS };

struct fake_operand {
    struct fake_tensor t;
    float *values; /* in the hidden bytes; null: the call has no such operand */
};

/* A piece of work. */
struct fake_op {
    void (*run)(const struct fake_op *op); /* null: a wait or a record */
    double cost_us, issued_us;
    long number; /* by the order of calls */
    struct fake_op *next;
    struct fake_object *stream, *waits, *records; /* records: of this kind, or null */
    int code;                                     /* while the call is checked: what it returns */

    char *to; /* copies and sets */
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    int byte;

    struct fake_operand at[FAKE_SLOTS]; /* cuDNN */
    char *scratch;
    size_t scratch_bytes; /* that it writes */
    struct fake_window window;
    int mode, algorithm;
    double alpha, alpha2, beta,
        number_of[4]; /* the last: of the activation, LRN or normalisation */
};

/* What a pointer or handle stands for. Memory of objects is not used again before the reset, so
 * that stale handles are known. */
struct fake_object {
    enum fake_kind kind;
    bool live, set;
    int device;
    union {
        struct {
            char *base, *bytes; /* as the caller sees it; where the bytes are */
            size_t n_bytes;
            void *mapping;
            size_t mapped_bytes;
            struct fake_object *next;
        } memory;
        struct {
            bool blocking; /* waits for the default stream */
            double us;
            struct fake_op *first, *last;
            struct fake_object *next;
        } stream;
        struct {
            bool timed;
            struct fake_object *latest; /* record; null: never */
        } event;
        struct {
            bool done;
            double us;
            struct fake_object *stream;
            long number;
        } record;
        cudaStream_t handle_stream;
        struct fake_tensor tensor; /* or filter */
        struct fake_window window;
        struct {
            int mode;
            double numbers[4];
        } scalar;
    };
};

/* Every function of the interface begins with the first, which locks and returns 0 or the code of a
 * fault, and ends with the second, which unlocks and returns the code. */
int fake_enter(const char *function);
int fake_leave(int code);

/* Notes a violation of the function that was entered; its code. */
__attribute__((format(printf, 1, 2))) int fake_wrong(const char *format, ...);

/* A new one, alive. Null: too many. */
struct fake_object *fake_object_new(enum fake_kind kind);

/* The one behind a handle; null: it is none or dead, which is a violation. */
struct fake_object *fake_object(enum fake_kind kind, const void *handle);

/* Ends it. The code: 0, or that of a violation. */
int fake_end(enum fake_kind kind, const void *handle);

/* The stream behind a handle, null for the default stream; null: a violation. */
struct fake_object *fake_stream(cudaStream_t stream);

bool fake_is_device(const void *pointer);

/* Where the n bytes are; null: they do not lie in one live allocation, a violation. */
char *fake_device_bytes(const void *pointer, size_t n, const char *what);

void fake_queue(struct fake_object *stream, const struct fake_op *op);

/* Zeroed memory out of reach of what makes malloc fail; never null. */
void *fake_map(size_t n_bytes);
void fake_unmap(void *memory, size_t n_bytes);

/* A cuDNN call is checked step by step; after the first wrong step the others do nothing. A call
 * without run asks only: its operands have shapes and no values. */
void fake_op_begin(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op));
void fake_op_tensor(struct fake_op *op, enum fake_slot slot, const void *descriptor,
                    const void *values);
void fake_op_filter(struct fake_op *op, const void *descriptor, const void *values);
void fake_op_number(struct fake_op *op, double *number, const void *value);
void fake_op_must(struct fake_op *op, bool condition, const char *what);
/* a may be broadcast: its dimensions are b's or 1. */
void fake_op_same(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool broadcast);
/* No value in common; in_place: or all, one on one. */
void fake_op_apart(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool in_place);
void fake_op_scratch(struct fake_op *op, const void *scratch, size_t given, size_t needed);
/* What a descriptor holds; null: a violation, as above. */
const struct fake_object *fake_op_get(struct fake_op *op, enum fake_kind kind,
                                      const void *descriptor);
/* Queues it, and leaves. */
cudnnStatus_t fake_op_issue(struct fake_op *op, double operations);

int64_t fake_elements(const struct fake_tensor *tensor);
/* Of value number i in the order of the dimensions of t, in a tensor that may be broadcast. */
int64_t fake_offset(const struct fake_tensor *t, const struct fake_tensor *of, int64_t i);

/* Arithmetic; operands and windows of the first three have three spatial dimensions. */
void fake_convolve(const struct fake_op *op);
void fake_convolve_back(const struct fake_op *op);
void fake_pool(const struct fake_op *op);
double fake_activate(const struct fake_op *op, double value);

#endif
