#define FAKE_CUDA_INSIDE
#include "fake_cuda.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE        ((size_t)4096)
#define RESERVED    ((size_t)1 << 38)
#define MAX_OBJECTS (1 << 21)
#define MAX_OPS     (1 << 13)
#define MAX_TEXTS   64
#define MAX_FAULTS  8
#define MAX_NAMES   160

#define DEFAULTS                                                                                   \
    {                                                                                              \
        .n_devices = 1, .total_bytes = (size_t)1 << 30, .major = 9, .clock_khz = 1000000,          \
        .n_multiprocessors = 8, .driver_version = 13000, .runtime_version = 13000,                 \
        .cudnn_version = CUDNN_VERSION, .cudnn_cudart_version = 13000                              \
    }

static const struct fake_cuda_settings defaults = DEFAULTS;
struct fake_cuda_settings fake_cuda = DEFAULTS;

struct fault {
    const char *function; /* null: any */
    int countdown, code;
    bool lasting;
};

static struct {
    int generation; /* of resets */
    const char *function;
    struct fake_object *objects, *memory, *streams; /* lists of all of a kind, memory of the live */
    struct fake_object default_stream;
    struct fake_op *ops, *free_ops;
    int n_objects, n_ops, n_pending;
    long n_queued;
    char *reserved;
    size_t reserved_used, used;
    uint64_t random;
    unsigned rest; /* work is done at one call of so many; 0: never before it is needed */
    bool struck;
    int lost;
    struct fault faults[MAX_FAULTS];
    int n_faults;
    struct {
        const char *name;
        int n;
    } calls[MAX_NAMES];
    int n_calls;
    char texts[MAX_TEXTS][240];
    int n_violations;
    char live_text[400];
} fake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* What CUDA keeps for each thread, and its clock. */
static _Thread_local struct {
    int generation, device, last_error;
    double us;
} self;

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

static void start(void)
{
    if (fake.objects)
        return;
    fake.objects = fake_map(MAX_OBJECTS * sizeof *fake.objects);
    fake.ops = fake_map(MAX_OPS * sizeof *fake.ops);
    fake.reserved = map(RESERVED, PROT_NONE);
    fake.default_stream = (struct fake_object){.kind = FAKE_STREAM, .live = true};
    fake.generation++;
}

void fake_cuda_reset(void)
{
    int generation = fake.generation;

    for (struct fake_object *m = fake.memory; m; m = m->memory.next)
        fake_unmap(m->memory.mapping, m->memory.mapped_bytes);
    if (fake.objects) {
        fake_unmap(fake.objects, MAX_OBJECTS * sizeof *fake.objects);
        fake_unmap(fake.ops, MAX_OPS * sizeof *fake.ops);
        fake_unmap(fake.reserved, RESERVED);
    }
    memset(&fake, 0, sizeof fake);
    fake.generation = generation;
    fake_cuda = defaults;
}

/* ---- Violations, faults and the log ---- */

static bool of_cudnn(const char *function)
{
    return strncmp(function, "cudnn", 5) == 0;
}

int fake_wrong(const char *format, ...)
{
    va_list args;

    if (fake.n_violations < MAX_TEXTS) {
        char *text = fake.texts[fake.n_violations];
        int n = snprintf(text, sizeof fake.texts[0], "%s: ", fake.function);

        va_start(args, format);
        vsnprintf(text + n, sizeof fake.texts[0] - (size_t)n, format, args);
        va_end(args);
    }
    fake.n_violations++;
    return of_cudnn(fake.function) ? (int)CUDNN_STATUS_BAD_PARAM : (int)cudaErrorInvalidValue;
}

static void count_call(const char *function)
{
    int i = 0;

    while (i < fake.n_calls && strcmp(fake.calls[i].name, function) != 0)
        i++;
    if (i == MAX_NAMES)
        abort();
    fake.calls[i].name = function;
    fake.calls[i].n++;
    fake.n_calls += i == fake.n_calls;
}

/* A code as this function would give it. */
static int code_of(const char *function, int code)
{
    if (of_cudnn(function) && code < 1000)
        return code ? CUDNN_STATUS_EXECUTION_FAILED_CUDART : CUDNN_STATUS_INTERNAL_ERROR;
    return of_cudnn(function) || (code && code < 1000) ? code : (int)cudaErrorUnknown;
}

static int strike(const char *function)
{
    int code = 0;

    for (int i = 0; i < fake.n_faults; i++) {
        struct fault *f = &fake.faults[i];

        if (f->countdown <= 0 || (f->function && strcmp(f->function, function) != 0) ||
            --f->countdown > 0)
            continue;
        code = code_of(function, f->code);
        fake.struck = true;
        if (f->lasting)
            fake.lost = f->code ? f->code : (int)cudaErrorUnknown;
    }
    return fake.lost ? code_of(function, fake.lost) : code;
}

/* Whether there is no device for this function; the code. */
static int absent(const char *function)
{
    if ((fake_cuda.n_devices > 0 && !fake_cuda.count_error) || strstr(function, "Version"))
        return 0;
    if (of_cudnn(function))
        return CUDNN_STATUS_NOT_INITIALIZED;
    return fake_cuda.count_error ? fake_cuda.count_error : (int)cudaErrorNoDevice;
}

static void add_fault(const char *function, int nth_call, int code, bool lasting)
{
    pthread_mutex_lock(&lock);
    if (fake.n_faults == MAX_FAULTS)
        abort();
    fake.faults[fake.n_faults++] = (struct fault){function, nth_call, code, lasting};
    pthread_mutex_unlock(&lock);
}

void fake_cuda_fail(const char *function, int nth_call, int code)
{
    add_fault(function, nth_call, code, false);
}

void fake_cuda_lose(const char *function, int nth_call, int code)
{
    add_fault(function, nth_call, code, true);
}

/* ---- Doing what is queued ---- */

static double later(double a, double b)
{
    return a > b ? a : b;
}

static bool goes_first(const struct fake_object *stream, const struct fake_op *op)
{
    return stream->stream.first && stream->stream.first->number < op->number;
}

/* The stream that has to go on before this one can; null: none. */
static struct fake_object *blocker(struct fake_object *stream)
{
    const struct fake_op *op = stream->stream.first;

    if (op->waits && !op->waits->record.done)
        return op->waits->record.stream;
    if (stream != &fake.default_stream)
        return stream->stream.blocking && goes_first(&fake.default_stream, op)
                   ? &fake.default_stream
                   : NULL;
    for (struct fake_object *s = fake.streams; s; s = s->stream.next) {
        if (s->stream.blocking && goes_first(s, op))
            return s;
    }
    return NULL;
}

static double begin_us(const struct fake_object *stream, const struct fake_op *op)
{
    double us = later(stream->stream.us, op->issued_us);

    if (op->waits)
        us = later(us, op->waits->record.us);
    if (stream->stream.blocking)
        us = later(us, fake.default_stream.stream.us);
    for (struct fake_object *s = fake.streams; s && stream == &fake.default_stream;
         s = s->stream.next)
        us = later(us, s->stream.blocking ? s->stream.us : 0);
    return us;
}

/* The first piece of a stream that nothing blocks. */
static void execute(struct fake_object *stream)
{
    struct fake_op *op = stream->stream.first;
    double us = begin_us(stream, op) + op->cost_us;

    if (op->run && !fake.lost)
        op->run(op);
    stream->stream.us = us;
    if (op->records) {
        op->records->record.done = true;
        op->records->record.us = us;
    }
    stream->stream.first = op->next;
    op->next = fake.free_ops;
    fake.free_ops = op;
    fake.n_pending--;
}

/* One piece of it, or of what it waits for. */
static void step(struct fake_object *stream)
{
    struct fake_object *first;

    while ((first = blocker(stream)))
        stream = first;
    execute(stream);
}

static void settle(struct fake_object *stream, long number)
{
    while (stream->stream.first && stream->stream.first->number <= number)
        step(stream);
}

static void settle_stream(struct fake_object *stream)
{
    settle(stream, fake.n_queued);
    self.us = later(self.us, stream->stream.us);
}

static void settle_device(void)
{
    for (struct fake_object *s = fake.streams; s; s = s->stream.next)
        settle_stream(s);
    settle_stream(&fake.default_stream);
}

static unsigned draw(unsigned n)
{
    fake.random = fake.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(fake.random >> 33) % n;
}

/* A random stream's next piece, if it can be done. */
static void wander(void)
{
    for (unsigned n = fake.rest > 0 && draw(fake.rest) == 0 ? draw(4) : 0; n > 0; n--) {
        struct fake_object *chosen = fake.default_stream.stream.first ? &fake.default_stream : NULL;
        unsigned n_seen = chosen ? 1 : 0;

        for (struct fake_object *s = fake.streams; s; s = s->stream.next) {
            if (s->stream.first && draw(++n_seen) == 0)
                chosen = s;
        }
        if (chosen && !blocker(chosen))
            execute(chosen);
    }
}

static struct fake_op *free_op(void)
{
    struct fake_op *op = fake.free_ops;

    if (!op && fake.n_ops == MAX_OPS) {
        settle_device(); /* a full queue makes the caller wait */
        op = fake.free_ops;
    }
    if (!op)
        return &fake.ops[fake.n_ops++];
    fake.free_ops = op->next;
    return op;
}

void fake_queue(struct fake_object *stream, const struct fake_op *op)
{
    struct fake_op *queued = free_op();

    *queued = *op;
    queued->next = NULL;
    queued->stream = stream;
    queued->number = ++fake.n_queued;
    queued->issued_us = self.us;
    if (stream->stream.first)
        stream->stream.last->next = queued;
    else
        stream->stream.first = queued;
    stream->stream.last = queued;
    fake.n_pending++;
}

/* ---- Entering and leaving ---- */

static void note(const char *function)
{
    pthread_mutex_lock(&lock);
    start();
    if (self.generation != fake.generation) {
        memset(&self, 0, sizeof self);
        self.generation = fake.generation;
    }
    fake.function = function;
    count_call(function);
}

int fake_enter(const char *function)
{
    int code;

    note(function);
    wander();
    code = absent(function);
    return code ? code : strike(function);
}

int fake_leave(int code)
{
    wander();
    if (code && !of_cudnn(fake.function))
        self.last_error = code;
    pthread_mutex_unlock(&lock);
    return code;
}

static cudaError_t leave(int code)
{
    return (cudaError_t)fake_leave(code);
}

/* ---- Objects ---- */

static const char *const kind_names[FAKE_KINDS] = {
    [FAKE_DEVICE_MEMORY] = "device allocation",
    [FAKE_PINNED_MEMORY] = "pinned allocation",
    [FAKE_STREAM] = "stream",
    [FAKE_EVENT] = "event",
    [FAKE_HANDLE] = "handle",
    [FAKE_TENSOR] = "tensor descriptor",
    [FAKE_FILTER] = "filter descriptor",
    [FAKE_CONVOLUTION] = "convolution descriptor",
    [FAKE_ACTIVATION] = "activation descriptor",
    [FAKE_POOLING] = "pooling descriptor",
    [FAKE_LRN] = "LRN descriptor",
    [FAKE_OP_TENSOR] = "OpTensor descriptor",
    [FAKE_REDUCTION] = "reduction descriptor",
};

struct fake_object *fake_object_new(enum fake_kind kind)
{
    struct fake_object *object = &fake.objects[fake.n_objects];

    if (fake.n_objects == MAX_OBJECTS)
        return NULL;
    fake.n_objects++;
    object->kind = kind;
    object->live = kind != FAKE_RECORD;
    object->device = self.device;
    return object;
}

struct fake_object *fake_object(enum fake_kind kind, const void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)fake.objects;
    struct fake_object *object = &fake.objects[at / sizeof *fake.objects];

    if (!handle)
        fake_wrong("null instead of a %s", kind_names[kind]);
    else if (at >= (size_t)fake.n_objects * sizeof *object || at % sizeof *object != 0 ||
             object->kind != kind)
        fake_wrong("what is given is no %s", kind_names[kind]);
    else if (!object->live)
        fake_wrong("the %s was destroyed", kind_names[kind]);
    else
        return object;
    return NULL;
}

int fake_end(enum fake_kind kind, const void *handle)
{
    struct fake_object *object = fake_object(kind, handle);

    if (object) {
        object->live = false;
        return 0;
    }
    return of_cudnn(fake.function) ? (int)CUDNN_STATUS_BAD_PARAM
                                   : (int)cudaErrorInvalidResourceHandle;
}

struct fake_object *fake_stream(cudaStream_t stream)
{
    struct fake_object *object;

    if (!stream || stream == cudaStreamLegacy)
        return &fake.default_stream;
    object = fake_object(FAKE_STREAM, stream);
    if (object && object->device != self.device) {
        fake_wrong("the stream is of device %d, current is %d", object->device, self.device);
        return NULL;
    }
    return object;
}

int fake_cuda_live(void)
{
    int n = 0;

    for (int i = 0; i < fake.n_objects; i++)
        n += fake.objects[i].live;
    return n;
}

const char *fake_cuda_live_text(void)
{
    int counts[FAKE_KINDS] = {0};
    size_t n = 0;

    for (int i = 0; i < fake.n_objects; i++)
        counts[fake.objects[i].kind] += fake.objects[i].live;
    fake.live_text[0] = '\0';
    for (int i = 0; i < FAKE_KINDS; i++) {
        if (counts[i] > 0)
            n += (size_t)snprintf(fake.live_text + n, sizeof fake.live_text - n, "%s%d %s%s",
                                  n > 0 ? ", " : "", counts[i], kind_names[i],
                                  counts[i] > 1 ? "s" : "");
    }
    return fake.live_text;
}

int fake_cuda_violations(void)
{
    return fake.n_violations;
}

const char *fake_cuda_violation(int i)
{
    return i >= 0 && i < fake.n_violations && i < MAX_TEXTS ? fake.texts[i] : NULL;
}

int fake_cuda_calls(const char *function)
{
    int n = 0;

    for (int i = 0; i < fake.n_calls; i++)
        n += !function || strcmp(fake.calls[i].name, function) == 0 ? fake.calls[i].n : 0;
    return n;
}

bool fake_cuda_struck(void)
{
    return fake.struck;
}

size_t fake_cuda_used(void)
{
    return fake.used;
}

int fake_cuda_pending(void)
{
    return fake.n_pending;
}

void fake_cuda_order(unsigned seed)
{
    fake.random = seed;
    fake.rest = seed ? 1 + draw(16) : 0;
}

/* ---- Memory ---- */

static size_t round_up(size_t n, size_t step)
{
    return (n + step - 1) / step * step;
}

bool fake_is_device(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer, base = (uintptr_t)fake.reserved;

    return at >= base && at - base < RESERVED;
}

/* The live allocation that a pointer is in; null: none. */
static struct fake_object *allocation(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer;

    for (struct fake_object *m = fake.memory; m; m = m->memory.next) {
        if (at >= (uintptr_t)m->memory.base && at - (uintptr_t)m->memory.base < m->memory.n_bytes)
            return m;
    }
    return NULL;
}

/* The bytes of n from pointer in memory of a kind; null: not all of them are there. */
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
    m->memory.next = fake.memory;
    fake.memory = m;
}

/* In the middle of a page, because CUDA promises 256 bytes and no more; the rest of the last page
 * and the next stay unused. */
static int allocate_device(void **pointer, size_t n_bytes)
{
    size_t step = round_up(n_bytes, PAGE) + 2 * PAGE;
    struct fake_object *m;

    if (n_bytes > fake_cuda.total_bytes ||
        round_up(n_bytes, 512) > fake_cuda.total_bytes - fake.used ||
        step > RESERVED - fake.reserved_used || !(m = fake_object_new(FAKE_DEVICE_MEMORY)))
        return cudaErrorMemoryAllocation;
    m->memory.base = fake.reserved + fake.reserved_used + 256;
    m->memory.n_bytes = m->memory.mapped_bytes = n_bytes;
    m->memory.bytes = m->memory.mapping = fake_map(n_bytes);
    memset(m->memory.bytes, 0xFF, n_bytes);
    keep_memory(m);
    fake.reserved_used += step;
    fake.used += round_up(n_bytes, 512);
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
    struct fake_object *m = allocation(pointer), **link = &fake.memory;

    if (!pointer)
        return 0;
    if (!m || m->kind != kind || m->memory.base != pointer)
        return fake_wrong("no %s begins there, or it was freed", kind_names[kind]);
    settle_device();
    while (*link != m)
        link = &(*link)->memory.next;
    *link = m->memory.next;
    fake_unmap(m->memory.mapping, m->memory.mapped_bytes);
    fake.used -= kind == FAKE_DEVICE_MEMORY ? round_up(m->memory.n_bytes, 512) : 0;
    m->live = false;
    return 0;
}

static int allocate(int (*kind)(void **pointer, size_t n_bytes), void **pointer, size_t n_bytes)
{
    if (!pointer)
        return fake_wrong("nowhere to put the pointer");
    if (n_bytes > 0)
        return kind(pointer, n_bytes);
    *pointer = NULL;
    return 0;
}

cudaError_t cudaMalloc(void **pointer, size_t n_bytes)
{
    int code = fake_enter(__func__);

    return leave(code ? code : allocate(allocate_device, pointer, n_bytes));
}

cudaError_t cudaMallocHost(void **pointer, size_t n_bytes)
{
    int code = fake_enter(__func__);

    return leave(code ? code : allocate(allocate_pinned, pointer, n_bytes));
}

cudaError_t cudaHostAlloc(void **pointer, size_t n_bytes, unsigned flags)
{
    int code = fake_enter(__func__);

    if (!code && flags > 7)
        code = fake_wrong("unknown flags %#x", flags);
    return leave(code ? code : allocate(allocate_pinned, pointer, n_bytes));
}

cudaError_t cudaFree(void *pointer)
{
    int code = fake_enter(__func__), freed = free_memory(FAKE_DEVICE_MEMORY, pointer);

    return leave(code ? code : freed);
}

cudaError_t cudaFreeHost(void *pointer)
{
    int code = fake_enter(__func__), freed = free_memory(FAKE_PINNED_MEMORY, pointer);

    return leave(code ? code : freed);
}

cudaError_t cudaMemGetInfo(size_t *n_free, size_t *n_total)
{
    int code = fake_enter(__func__);

    if (!code && (!n_free || !n_total))
        code = fake_wrong("nowhere to put the sizes");
    if (!code) {
        *n_free = fake_cuda.total_bytes > fake.used ? fake_cuda.total_bytes - fake.used : 0;
        *n_total = fake_cuda.total_bytes;
    }
    return leave(code);
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

/* The bytes at one end of a copy; null: wrong. */
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

/* Whether a byte that a copy writes is one that it reads. */
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

/* A copy's operation with all its checks: op has pitches, width and height. */
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
        settle_stream(s);
    return 0;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind kind)
{
    int code = fake_enter(__func__);
    struct fake_op op = {.to_pitch = n, .from_pitch = n, .width = n, .height = 1};

    return leave(code ? code : copy(&op, to, from, kind, NULL, true));
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t n, enum cudaMemcpyKind kind,
                            cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_op op = {.to_pitch = n, .from_pitch = n, .width = n, .height = 1};

    return leave(code ? code : copy(&op, to, from, kind, stream, false));
}

cudaError_t cudaMemcpy2D(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                         size_t width, size_t height, enum cudaMemcpyKind kind)
{
    int code = fake_enter(__func__);
    struct fake_op op = {
        .to_pitch = to_pitch, .from_pitch = from_pitch, .width = width, .height = height};

    return leave(code ? code : copy(&op, to, from, kind, NULL, true));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_op op = {
        .to_pitch = to_pitch, .from_pitch = from_pitch, .width = width, .height = height};

    return leave(code ? code : copy(&op, to, from, kind, stream, false));
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

    return leave(code ? code : set(to, byte, n, NULL));
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t n, cudaStream_t stream)
{
    int code = fake_enter(__func__);

    return leave(code ? code : set(to, byte, n, stream));
}

/* ---- Streams ---- */

static int create_stream(cudaStream_t *stream, unsigned flags)
{
    struct fake_object *s;

    if (!stream || flags > cudaStreamNonBlocking)
        return fake_wrong("no place for the stream, or unknown flags %#x", flags);
    s = fake_object_new(FAKE_STREAM);
    if (!s)
        return cudaErrorMemoryAllocation;
    s->stream.blocking = flags == cudaStreamDefault;
    s->stream.next = fake.streams;
    fake.streams = s;
    *stream = (cudaStream_t)s;
    return 0;
}

cudaError_t cudaStreamCreate(cudaStream_t *stream)
{
    int code = fake_enter(__func__);

    return leave(code ? code : create_stream(stream, cudaStreamDefault));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
    int code = fake_enter(__func__);

    return leave(code ? code : create_stream(stream, flags));
}

/* What is queued is still done. */
cudaError_t cudaStreamDestroy(cudaStream_t stream)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_STREAM, stream);

    return leave(code ? code : ended);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *s = code ? NULL : fake_stream(stream);

    if (s)
        settle_stream(s);
    return leave(code || s ? code : (int)cudaErrorInvalidResourceHandle);
}

cudaError_t cudaDeviceSynchronize(void)
{
    int code = fake_enter(__func__);

    if (!code)
        settle_device();
    return leave(code);
}

/* One piece of work; whether there is none left up to this number. */
static int query(struct fake_object *stream, long number)
{
    if (goes_first(stream, &(struct fake_op){.number = number + 1}))
        step(stream);
    if (goes_first(stream, &(struct fake_op){.number = number + 1}))
        return cudaErrorNotReady;
    self.us = later(self.us, stream->stream.us);
    return 0;
}

cudaError_t cudaStreamQuery(cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *s = code ? NULL : fake_stream(stream);

    if (!code)
        code = s ? query(s, fake.n_queued) : (int)cudaErrorInvalidResourceHandle;
    return leave(code);
}

/* ---- Events ---- */

/* The event, or null and a violation. */
static struct fake_object *event_of(cudaEvent_t event, int *code)
{
    struct fake_object *e = *code ? NULL : fake_object(FAKE_EVENT, event);

    if (!e && !*code)
        *code = cudaErrorInvalidResourceHandle;
    return e;
}

static int create_event(cudaEvent_t *event, unsigned flags)
{
    struct fake_object *e;

    if (!event || flags > 7)
        return fake_wrong("no place for the event, or unknown flags %#x", flags);
    e = fake_object_new(FAKE_EVENT);
    if (!e)
        return cudaErrorMemoryAllocation;
    e->event.timed = !(flags & cudaEventDisableTiming);
    *event = (cudaEvent_t)e;
    return 0;
}

cudaError_t cudaEventCreate(cudaEvent_t *event)
{
    int code = fake_enter(__func__);

    return leave(code ? code : create_event(event, cudaEventDefault));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    int code = fake_enter(__func__);

    return leave(code ? code : create_event(event, flags));
}

cudaError_t cudaEventDestroy(cudaEvent_t event)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_EVENT, event);

    return leave(code ? code : ended);
}

static int record(struct fake_object *event, struct fake_object *stream)
{
    struct fake_object *r = fake_object_new(FAKE_RECORD);

    if (!r)
        return cudaErrorMemoryAllocation;
    r->record.stream = stream;
    event->event.latest = r;
    fake_queue(stream, &(struct fake_op){.records = r});
    r->record.number = fake.n_queued;
    return 0;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *s = e ? fake_stream(stream) : NULL;

    if (e)
        code = s ? record(e, s) : (int)cudaErrorInvalidResourceHandle;
    return leave(code);
}

/* For the latest record until now; an event without one is no reason to wait. */
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *s = e ? fake_stream(stream) : NULL;

    if (e && flags != cudaEventWaitDefault)
        code = fake_wrong("unknown flags %#x", flags);
    else if (e && !s)
        code = cudaErrorInvalidResourceHandle;
    else if (e && e->event.latest)
        fake_queue(s, &(struct fake_op){.waits = e->event.latest});
    return leave(code);
}

cudaError_t cudaEventSynchronize(cudaEvent_t event)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *r = e ? e->event.latest : NULL;

    if (r) {
        settle(r->record.stream, r->record.number);
        self.us = later(self.us, r->record.us);
    }
    return leave(code);
}

cudaError_t cudaEventQuery(cudaEvent_t event)
{
    int code = fake_enter(__func__);
    struct fake_object *e = event_of(event, &code), *r = e ? e->event.latest : NULL;

    if (r && !r->record.done)
        step(r->record.stream);
    if (r && r->record.done)
        self.us = later(self.us, r->record.us);
    else if (r)
        code = cudaErrorNotReady;
    return leave(code);
}

static int elapsed(float *ms, const struct fake_object *start, const struct fake_object *end)
{
    if (!ms || !start->event.timed || !end->event.timed)
        return fake_wrong("no place for the time, or events without timing");
    if (!start->event.latest || !end->event.latest)
        return fake_wrong("an event was never recorded");
    if (!start->event.latest->record.done || !end->event.latest->record.done)
        return cudaErrorNotReady;
    *ms = (float)((end->event.latest->record.us - start->event.latest->record.us) / 1000);
    return 0;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    int code = fake_enter(__func__);
    struct fake_object *a = event_of(start, &code), *b = event_of(end, &code);

    return leave(code ? code : elapsed(ms, a, b));
}

/* ---- Device and errors ---- */

cudaError_t cudaGetDeviceCount(int *count)
{
    int code = fake_enter(__func__);

    if (!code && !count)
        code = fake_wrong("nowhere to put the count");
    if (!code)
        *count = fake_cuda.n_devices;
    return leave(code);
}

static int no_device(int device)
{
    return device < 0 || device >= fake_cuda.n_devices ? (int)cudaErrorInvalidDevice : 0;
}

cudaError_t cudaSetDevice(int device)
{
    int code = fake_enter(__func__);

    if (!code)
        code = no_device(device);
    if (!code)
        self.device = device;
    return leave(code);
}

cudaError_t cudaGetDevice(int *device)
{
    int code = fake_enter(__func__);

    if (!code && !device)
        code = fake_wrong("nowhere to put the device");
    if (!code)
        *device = self.device;
    return leave(code);
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *properties, int device)
{
    int code = fake_enter(__func__);

    if (!code && !properties)
        code = fake_wrong("nowhere to put the properties");
    if (!code)
        code = no_device(device);
    if (!code) {
        memset(properties, 0, sizeof *properties);
        snprintf(properties->name, sizeof properties->name, "fake device %d", device);
        memset(&properties->uuid, 0x10 + device, sizeof properties->uuid);
        properties->totalGlobalMem = fake_cuda.total_bytes;
        properties->major = fake_cuda.major;
        properties->minor = fake_cuda.minor;
        properties->multiProcessorCount = fake_cuda.n_multiprocessors;
        properties->asyncEngineCount = 2;
        properties->pciBusID = device + 1;
    }
    return leave(code);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
    int code = fake_enter(__func__);

    if (!code && !value)
        code = fake_wrong("nowhere to put the value");
    if (!code)
        code = no_device(device);
    if (!code)
        *value = attribute == cudaDevAttrComputeCapabilityMajor   ? fake_cuda.major
                 : attribute == cudaDevAttrComputeCapabilityMinor ? fake_cuda.minor
                 : attribute == cudaDevAttrClockRate              ? fake_cuda.clock_khz
                 : attribute == cudaDevAttrMultiProcessorCount    ? fake_cuda.n_multiprocessors
                                                                  : 0;
    return leave(code);
}

cudaError_t cudaDriverGetVersion(int *version)
{
    int code = fake_enter(__func__);

    if (!code && !version)
        code = fake_wrong("nowhere to put the version");
    if (!code)
        *version = fake_cuda.driver_version;
    return leave(code);
}

cudaError_t cudaRuntimeGetVersion(int *version)
{
    int code = fake_enter(__func__);

    if (!code && !version)
        code = fake_wrong("nowhere to put the version");
    if (!code)
        *version = fake_cuda.runtime_version;
    return leave(code);
}

static const struct {
    cudaError_t code;
    const char *name, *text;
} error_texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorDevicesUnavailable, "cudaErrorDevicesUnavailable",
     "CUDA-capable device(s) is/are busy or unavailable"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};

const char *cudaGetErrorString(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++) {
        if (error_texts[i].code == error)
            return error_texts[i].text;
    }
    return "unrecognized error code";
}

const char *cudaGetErrorName(cudaError_t error)
{
    for (size_t i = 0; i < sizeof error_texts / sizeof error_texts[0]; i++) {
        if (error_texts[i].code == error)
            return error_texts[i].name;
    }
    return "unrecognized error code";
}

/* What a lost device leaves cannot be forgotten. */
static cudaError_t last_error(const char *function, bool forgets)
{
    int code;

    note(function);
    code = fake.lost ? fake.lost : self.last_error;
    if (forgets)
        self.last_error = 0;
    pthread_mutex_unlock(&lock);
    return (cudaError_t)code;
}

cudaError_t cudaGetLastError(void)
{
    return last_error(__func__, true);
}

cudaError_t cudaPeekAtLastError(void)
{
    return last_error(__func__, false);
}
