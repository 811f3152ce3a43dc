#include "fake/cuda_common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE     ((size_t)4096)
#define RESERVED ((size_t)1 << 38)

static struct {
    struct fake_object *memory; /* a list of the live allocations */
    char *reserved;
    size_t reserved_used, used;
} state;

/* ---- Memory of the fake itself ---- */

static void *map(size_t n_bytes, int protection)
{
    void *memory =
        mmap(NULL, n_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (memory == MAP_FAILED) {
        perror("fake of CUDA: mmap");
        abort();
    }
    return memory;
}

void *fake_map(size_t n_bytes)
{
    return map(n_bytes, PROT_READ | PROT_WRITE);
}

void fake_unmap(void *memory, size_t n_bytes)
{
    munmap(memory, n_bytes);
}

/* ---- Memory ---- */

void fake_start_memory(void)
{
    state.reserved = map(RESERVED, PROT_NONE);
}

void fake_reset_memory(void)
{
    for (struct fake_object *m = state.memory; m; m = m->memory.next)
        fake_unmap(m->memory.mapping, m->memory.mapped_bytes);
    if (state.reserved)
        fake_unmap(state.reserved, RESERVED);
    memset(&state, 0, sizeof state);
}

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

bool fake_is_device(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer, base = (uintptr_t)state.reserved;

    return at >= base && at - base < RESERVED;
}

/* Gives the live allocation of a pointer; null: none. */
static struct fake_object *allocation(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer;

    for (struct fake_object *m = state.memory; m; m = m->memory.next) {
        if (at >= (uintptr_t)m->memory.base && at - (uintptr_t)m->memory.base < m->memory.n_bytes)
            return m;
    }
    return NULL;
}

/* Gives the address of n bytes from pointer in memory of a kind; null: not all of them exist. */
static char *bytes_in(enum fake_kind kind, const void *pointer, size_t n)
{
    const struct fake_object *m = allocation(pointer);
    size_t at = m ? (uintptr_t)pointer - (uintptr_t)m->memory.base : 0;

    return m && m->kind == kind && n <= m->memory.n_bytes - at ? m->memory.bytes + at : NULL;
}

char *fake_device_bytes(const void *pointer, size_t n, const char *what)
{
    char *bytes = bytes_in(FAKE_DEVICE_MEMORY, pointer, n);
    const struct fake_object *m = allocation(pointer);

    if (bytes)
        return bytes;
    if (m && m->kind == FAKE_DEVICE_MEMORY)
        fake_wrong("%s: %zu bytes from %zu of a device allocation of %zu", what, n,
                   (size_t)((const char *)pointer - m->memory.base), m->memory.n_bytes);
    else if (fake_is_device(pointer))
        fake_wrong("%s: device memory that was freed or never allocated", what);
    else
        fake_wrong("%s: %s", what, pointer ? "a host pointer" : "a null pointer");
    return NULL;
}

static void keep_memory(struct fake_object *m)
{
    m->memory.next = state.memory;
    state.memory = m;
}

/* Allocates in the middle of a page, because CUDA promises an alignment of only 256 bytes; the rest
 * of the last page and the next one stay unused. */
static int allocate_device(void **pointer, size_t n_bytes)
{
    size_t step = round_up(n_bytes, PAGE) + 2 * PAGE;
    struct fake_object *m;

    if (n_bytes > fake_cuda.total_bytes ||
        round_up(n_bytes, 512) > fake_cuda.total_bytes - state.used ||
        step > RESERVED - state.reserved_used || !(m = fake_object_new(FAKE_DEVICE_MEMORY)))
        return cudaErrorMemoryAllocation;
    m->memory.base = state.reserved + state.reserved_used + 256;
    m->memory.n_bytes = m->memory.mapped_bytes = n_bytes;
    m->memory.bytes = m->memory.mapping = fake_map(n_bytes);
    memset(m->memory.bytes, 0xFF, n_bytes);
    keep_memory(m);
    state.reserved_used += step;
    state.used += round_up(n_bytes, 512);
    *pointer = m->memory.base;
    return 0;
}

static int allocate_pinned(void **pointer, size_t n_bytes)
{
    size_t size = round_up(n_bytes, 64), mapped = round_up(size, PAGE) + PAGE;
    struct fake_object *m = size < RESERVED ? fake_object_new(FAKE_PINNED_MEMORY) : NULL;

    if (!m)
        return cudaErrorMemoryAllocation;
    m->memory.mapping = fake_map(mapped);
    m->memory.mapped_bytes = mapped;
    mprotect((char *)m->memory.mapping + mapped - PAGE, PAGE, PROT_NONE);
    m->memory.base = m->memory.bytes = (char *)m->memory.mapping + mapped - PAGE - size;
    m->memory.n_bytes = n_bytes;
    memset(m->memory.base, 0xFF, size);
    keep_memory(m);
    *pointer = m->memory.base;
    return 0;
}

static int free_memory(enum fake_kind kind, const void *pointer)
{
    struct fake_object *m = allocation(pointer), **link = &state.memory;

    if (!pointer)
        return 0;
    if (!m || m->kind != kind || m->memory.base != pointer)
        return fake_wrong("no %s begins there, or it was freed", fake_kind_names[kind]);
    fake_settle_device();
    while (*link != m)
        link = &(*link)->memory.next;
    *link = m->memory.next;
    fake_unmap(m->memory.mapping, m->memory.mapped_bytes);
    state.used -= kind == FAKE_DEVICE_MEMORY ? round_up(m->memory.n_bytes, 512) : 0;
    m->live = false;
    return 0;
}

static int allocate(int (*kind)(void **pointer, size_t n_bytes), void **pointer, size_t n_bytes)
{
    if (!pointer)
        return fake_wrong("nowhere to put the pointer");
    if (fake_captures())
        return fake_wrong("memory is obtained while a stream captures");
    if (n_bytes > 0)
        return kind(pointer, n_bytes);
    *pointer = NULL;
    return 0;
}

cudaError_t cudaMalloc(void **pointer, size_t n_bytes)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : allocate(allocate_device, pointer, n_bytes));
}

cudaError_t cudaMallocHost(void **pointer, size_t n_bytes)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : allocate(allocate_pinned, pointer, n_bytes));
}

cudaError_t cudaHostAlloc(void **pointer, size_t n_bytes, unsigned flags)
{
    int code = fake_enter(__func__);

    if (!code && flags > 7)
        code = fake_wrong("unknown flags %#x", flags);
    return fake_leave(code ? code : allocate(allocate_pinned, pointer, n_bytes));
}

cudaError_t cudaFree(void *pointer)
{
    int code = fake_enter(__func__), freed = free_memory(FAKE_DEVICE_MEMORY, pointer);

    return fake_leave(code ? code : freed);
}

cudaError_t cudaFreeHost(void *pointer)
{
    int code = fake_enter(__func__), freed = free_memory(FAKE_PINNED_MEMORY, pointer);

    return fake_leave(code ? code : freed);
}

cudaError_t cudaMemGetInfo(size_t *n_free, size_t *n_total)
{
    int code = fake_enter(__func__);

    if (!code && (!n_free || !n_total))
        code = fake_wrong("nowhere to put the sizes");
    if (!code) {
        *n_free = fake_cuda.total_bytes > state.used ? fake_cuda.total_bytes - state.used : 0;
        *n_total = fake_cuda.total_bytes;
    }
    return fake_leave(code);
}

/* ---- Copies ---- */

static void run_copy(const struct fake_op *op)
{
    for (size_t row = 0; row < op->height; row++)
        memcpy(op->to + row * op->to_pitch, op->from + row * op->from_pitch, op->width);
}

static void run_set(const struct fake_op *op)
{
    memset(op->to, op->byte, op->width);
}

/* Gives the address of one end of a copy; null: a violation. */
static char *end_of_copy(const void *pointer, size_t n, bool device, bool pinned, const char *what)
{
    const struct fake_object *m = allocation(pointer);
    union {
        const void *in;
        char *out;
    } host = {pointer};

    if (device)
        return fake_device_bytes(pointer, n, what);
    if (fake_is_device(pointer) || !pointer)
        fake_wrong("%s: %s", what, pointer ? "device memory instead of the host's" : "null");
    else if (m && !bytes_in(FAKE_PINNED_MEMORY, pointer, n))
        fake_wrong("%s: %zu bytes reach beyond pinned memory of %zu", what, n, m->memory.n_bytes);
    else if (!m && pinned)
        fake_wrong("pageable memory in an asynchronous copy (%s)", what);
    else
        return host.out;
    return NULL;
}

/* Gives whether a copy writes a byte that it reads. */
static bool copies_overlap(const struct fake_op *op)
{
    uintptr_t to = (uintptr_t)op->to, from = (uintptr_t)op->from;

    if (to + (op->height - 1) * op->to_pitch + op->width <= from ||
        from + (op->height - 1) * op->from_pitch + op->width <= to)
        return false;
    for (size_t i = 0; i < op->height; i++) {
        for (size_t j = 0; j < op->height; j++) {
            uintptr_t a = to + i * op->to_pitch, b = from + j * op->from_pitch;

            if (a < b + op->width && b < a + op->width)
                return true;
        }
    }
    return false;
}

/* Makes a copy's operation, with all checks: op has pitches, width and height. */
static int check_copy(struct fake_op *op, void *to, const void *from, enum cudaMemcpyKind kind,
                      bool pinned)
{
    size_t rows = op->height - 1;
    bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
    bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;

    if ((unsigned)kind > cudaMemcpyDefault)
        return fake_wrong("unknown direction %d", (int)kind);
    if (op->width > op->to_pitch || op->width > op->from_pitch)
        return fake_wrong("rows of %zu bytes, but pitches of %zu and %zu", op->width, op->to_pitch,
                          op->from_pitch);
    if (kind == cudaMemcpyDefault) {
        to_device = fake_is_device(to);
        from_device = fake_is_device(from);
    }
    op->to = end_of_copy(to, rows * op->to_pitch + op->width, to_device, pinned, "destination");
    op->from =
        op->to ? end_of_copy(from, rows * op->from_pitch + op->width, from_device, pinned, "source")
               : NULL;
    if (!op->to || !op->from)
        return cudaErrorInvalidValue;
    if (copies_overlap(op))
        return fake_wrong("source and destination overlap");
    op->run = run_copy;
    op->cost_us = 1 + (double)(op->width * op->height) / (to_device && from_device ? 1e5 : 1e4);
    return 0;
}

static int copy(struct fake_op *op, void *to, const void *from, enum cudaMemcpyKind kind,
                cudaStream_t stream, bool waits)
{
    struct fake_object *s = fake_stream(stream);
    int code;

    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (op->width == 0 || op->height == 0)
        return 0;
    code = check_copy(op, to, from, kind, !waits);
    if (code)
        return code;
    fake_queue(s, op);
    if (waits)
        fake_settle_stream(s);
    return 0;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
    int code = fake_enter(__func__);
    struct fake_op op = {.to_pitch = n, .from_pitch = n, .width = n, .height = 1};

    return fake_leave(code ? code : copy(&op, to, from, kind, NULL, true));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_op op = {.to_pitch = n, .from_pitch = n, .width = n, .height = 1};

    return fake_leave(code ? code : copy(&op, to, from, kind, stream, false));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    int code = fake_enter(__func__);
    struct fake_op op = {
        .to_pitch = to_pitch, .from_pitch = from_pitch, .width = width, .height = height};

    return fake_leave(code ? code : copy(&op, to, from, kind, NULL, true));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_op op = {
        .to_pitch = to_pitch, .from_pitch = from_pitch, .width = width, .height = height};

    return fake_leave(code ? code : copy(&op, to, from, kind, stream, false));
}

static int set(void *to, int byte, size_t n, cudaStream_t stream)
{
    struct fake_object *s = fake_stream(stream);
    struct fake_op op = {.run = run_set, .byte = byte, .width = n, .cost_us = 1 + (double)n / 1e5};

    if (!s)
        return cudaErrorInvalidResourceHandle;
    if (n == 0)
        return 0;
    op.to = fake_device_bytes(to, n, "destination");
    if (!op.to)
        return cudaErrorInvalidValue;
    fake_queue(s, &op);
    return 0;
}

cudaError_t cudaMemset(void *to, int byte, size_t n)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : set(to, byte, n, NULL));
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t n, cudaStream_t stream)
{
    int code = fake_enter(__func__);

    return fake_leave(code ? code : set(to, byte, n, stream));
}
