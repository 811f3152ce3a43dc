/* Declarations that the files of the fake of CUDA and cuDNN share; fake/cuda.h is for tests. */
#ifndef TESTS_FAKE_CUDA_COMMON_H
#define TESTS_FAKE_CUDA_COMMON_H

#include "fake/cuda.h"

#include <cudnn.h>
#include <pthread.h>
#include <stdint.h>

enum fake_kind {
    FAKE_NOTHING,
    FAKE_DEVICE_MEMORY,
    FAKE_PINNED_MEMORY,
    FAKE_STREAM,
    FAKE_EVENT,
    FAKE_RECORD, /* that an event was recorded; never alive */
    FAKE_GRAPH,
    FAKE_GRAPH_EXEC,
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

/* The window of a convolution or a pooling, in n spatial dimensions. */
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
    int code;                                     /* while the call is checked: the code that it
                                                     returns */

    char *to; /* copies and sets */
    const char *from;
    size_t to_pitch, from_pitch, width, height;
    int byte;
    void (*host)(void *self); /* a function of the host */
    void *self;

    struct fake_operand at[FAKE_SLOTS]; /* cuDNN */
    char *scratch;
    size_t scratch_bytes; /* bytes of scratch that it writes */
    struct fake_window window;
    int mode, algorithm;
    double alpha, alpha2, beta,
        number_of[4]; /* the last: of the activation, LRN or normalisation */
};

/* The object behind a pointer or handle. Memory of objects is not used again before the reset, so
 * that stale handles are recognised. */
struct fake_object {
    enum fake_kind kind;
    bool live, set;
    int device;
    union {
        struct {
            char *base, *bytes; /* its address for the caller; the address of the bytes */
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
            struct fake_object *graph; /* into which it captures; null: none */
            int n_kept;                /* of its work, by captures */
            bool unjoined;             /* no other stream waited for all of its captured work */
        } stream;
        struct {
            bool timed;
            struct fake_object *latest; /* record; null: never */
        } event;
        struct {
            int first, n;               /* of the pieces of work that are kept for graphs */
            struct fake_object *origin; /* the stream that began the capture */
            struct fake_object *branch; /* executable graph: does the work of the others */
        } graph;                        /* or executable graph */
        struct {
            bool done;
            double us;
            struct fake_object *stream;
            long number;
            struct fake_object *graph;    /* that captured it; null: none */
            struct fake_object *launched; /* captured: the record of the launch under way */
            int n_kept;                   /* captured: of the stream's work before it */
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

/* The data that CUDA keeps for each thread, and the thread's clock. */
struct fake_thread {
    int generation, device, last_error;
    double us;
};
extern _Thread_local struct fake_thread fake_thread;

/* ---- Entering and leaving: cuda.c ---- */

/* Every function of the interface begins with the first, which locks and returns 0 or the code of a
 * fault, and ends with the second, which unlocks and returns the code. */
int fake_enter(const char *function);
int fake_leave(int code);

/* Is called by functions that never fail: locks fake_lock and counts the call. */
void fake_note(const char *function);
extern pthread_mutex_t fake_lock;

/* ---- Violations and faults: cuda_faults.c ---- */

/* Notes a violation of the function that was entered; gives its code. */
__attribute__((format(printf, 1, 2))) int fake_wrong(const char *format, ...);

/* Gives whether the function that was entered is one of cuDNN. */
bool fake_in_cudnn(void);

/* Makes function the one that was entered. */
void fake_count_call(const char *function);

/* Gives the code with which this call must fail, because there is no device or by a fault; 0:
 * none. */
int fake_strike(const char *function);

/* Gives the code by which the device was lost; 0: it was not. */
int fake_lost(void);

void fake_reset_faults(void);

/* ---- Objects: cuda_objects.c ---- */

extern const char *const fake_kind_names[FAKE_KINDS];

/* Makes an object, alive. Null: there are too many. */
struct fake_object *fake_object_new(enum fake_kind kind);

/* Gives the object behind a handle; null: there is none or it is dead, which is a violation. */
struct fake_object *fake_object(enum fake_kind kind, const void *handle);

/* Ends an object. Gives 0, or the code of a violation. */
int fake_end(enum fake_kind kind, const void *handle);

void fake_start_objects(void);
void fake_reset_objects(void);

/* ---- Memory: cuda_memory.c ---- */

bool fake_is_device(const void *pointer);

/* Gives the address of n bytes of the device; null: they are not in one live allocation, a
 * violation. */
char *fake_device_bytes(const void *pointer, size_t n, const char *what);

/* Allocates zeroed memory, which no fault makes fail; never null. */
void *fake_map(size_t n_bytes);
void fake_unmap(void *memory, size_t n_bytes);

void fake_start_memory(void);
void fake_reset_memory(void);

/* ---- Work on streams: cuda_work.c ---- */

/* Gives the stream behind a handle, null for the default stream; null: a violation. */
struct fake_object *fake_stream(cudaStream_t stream);

/* Adds a stream to those whose work is done. */
void fake_keep_stream(struct fake_object *stream);

/* Queues a copy of op; gives its number. A stream that captures adds it to its graph instead, and
 * gives 0. */
long fake_queue(struct fake_object *stream, const struct fake_op *op);

/* Begin and end the capture of a stream. Both give 0 or a code; that of a capture with work for
 * which the stream does not wait is no violation. */
int fake_capture(struct fake_object *stream);
int fake_captured(struct fake_object *stream, struct fake_object **graph);

/* Lets a stream join the capture that has the event's record. Gives 0, or the code of a
 * violation. */
int fake_join(struct fake_object *stream, struct fake_object *record);

/* Queues the work of an executable graph. */
void fake_launch(const struct fake_object *graph, struct fake_object *stream);

/* Gives whether a stream captures. */
bool fake_captures(void);

/* Does one piece of the stream's work, which has some, or of the work for which it waits. */
void fake_step(struct fake_object *stream);

/* Does one piece, if there is any; cudaErrorNotReady: there is more. */
int fake_query(struct fake_object *stream);

/* Do all work of the stream up to this number; all of the stream; all of every stream. The last two
 * make the thread wait for it. */
void fake_settle(struct fake_object *stream, long number);
void fake_settle_stream(struct fake_object *stream);
void fake_settle_device(void);

/* Moves the thread's clock forward to at least this time. */
void fake_wait_until(double us);

/* Does some work by chance, in the order of fake_cuda_order. */
void fake_wander(void);

void fake_start_work(void);
void fake_reset_work(void);

/* ---- Calls of cuDNN: cudnn_calls.c ---- */

/* A cuDNN call is checked step by step; after the first wrong step the others do nothing. A call
 * without run asks only: its operands have shapes and no values. */
void fake_op_begin(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op));
/* Does the same without a handle and run. */
void fake_op_ask(struct fake_op *op, const char *function);
/* Does the same for y = alpha * something + beta * y. */
void fake_op_blend(struct fake_op *op, const char *function, cudnnHandle_t handle,
                   void (*run)(const struct fake_op *op), const void *alpha, const void *beta);
void fake_op_tensor(struct fake_op *op, enum fake_slot slot, const void *descriptor,
                    const void *values);
void fake_op_x_to_y(struct fake_op *op, const void *x_descriptor, const void *x,
                    const void *y_descriptor, const void *y);
void fake_op_filter(struct fake_op *op, const void *descriptor, const void *values);
void fake_op_number(struct fake_op *op, double *number, const void *value);
void fake_op_must(struct fake_op *op, bool condition, const char *what);
void fake_op_at_most_5(struct fake_op *op); /* dimensions */
/* Checks that two operands have the same dimensions, or, where a may be broadcast, that a's are b's
 * or 1. */
void fake_op_same(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool broadcast);
/* Checks that two operands have no value in common; in_place: or all, one on one. */
void fake_op_apart(struct fake_op *op, enum fake_slot a, enum fake_slot b, bool in_place);
void fake_op_scratch(struct fake_op *op, const void *scratch, size_t given, size_t needed);
/* Gives the object behind a descriptor; null: a violation, as above. */
const struct fake_object *fake_op_get(struct fake_op *op, enum fake_kind kind,
                                      const void *descriptor);
/* Takes mode and numbers from a descriptor. */
void fake_op_numbers(struct fake_op *op, enum fake_kind kind, const void *descriptor);
/* Queues the operation, and leaves the function. */
cudnnStatus_t fake_op_issue(struct fake_op *op, double operations);

int64_t fake_elements(const struct fake_tensor *tensor);
double fake_n_values(const struct fake_op *op); /* of y */
/* Gives the offset of value number i, in the order of the dimensions of t, in a tensor that may be
 * broadcast. */
int64_t fake_offset(const struct fake_tensor *t, const struct fake_tensor *of, int64_t i);

/* ---- Arithmetic: cudnn_math.c, and with windows cudnn_windows.c ---- */

/* Gives the value of an operand that belongs to number i of the tensor t. */
float *fake_value(const struct fake_op *op, const struct fake_tensor *t, enum fake_slot slot,
                  int64_t i);

/* Writes y = alpha * result + beta * y; the old y counts only with a beta. */
void fake_put(const struct fake_op *op, double result, float *y);

/* Fills scratch with values while a kernel runs, and with others when it has ended. */
void fake_scribble(const struct fake_op *op);

double fake_activate(const struct fake_op *op, double value);

/* Computes a convolution; operands and windows have three spatial dimensions. */
void fake_convolve(const struct fake_op *op);
void fake_convolve_back(const struct fake_op *op);
void fake_pool(const struct fake_op *op);

#endif
