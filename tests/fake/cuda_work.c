#include "fake/cuda_common.h"

#include <string.h>

#define MAX_OPS  (1 << 13)
#define MAX_KEPT (1 << 18) /* of all graphs until the reset */

static struct {
    struct fake_object *streams, default_stream; /* a list of all the others */
    struct fake_op *ops, *free_ops, *kept;
    int n_ops, n_pending, n_kept;
    long n_queued;
    uint64_t random;
    unsigned rest; /* work is done at one call of so many; 0: never before it is needed */
} state;

void fake_start_work(void)
{
    state.ops = fake_map(MAX_OPS * sizeof *state.ops);
    state.kept = fake_map(MAX_KEPT * sizeof *state.kept);
    state.default_stream = (struct fake_object){.kind = FAKE_STREAM, .live = true};
}

void fake_reset_work(void)
{
    if (state.ops)
        fake_unmap(state.ops, MAX_OPS * sizeof *state.ops);
    if (state.kept)
        fake_unmap(state.kept, MAX_KEPT * sizeof *state.kept);
    memset(&state, 0, sizeof state);
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

/* Gives the stream that must advance before this one can; null: none. */
static struct fake_object *blocker(struct fake_object *stream)
{
    const struct fake_op *op = stream->stream.first;

    if (op->waits && !op->waits->record.done)
        return op->waits->record.stream;
    if (stream != &state.default_stream)
        return stream->stream.blocking && goes_first(&state.default_stream, op)
                   ? &state.default_stream
                   : NULL;
    for (struct fake_object *s = state.streams; s; s = s->stream.next) {
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
        us = later(us, state.default_stream.stream.us);
    for (struct fake_object *s = state.streams; s && stream == &state.default_stream;
         s = s->stream.next)
        us = later(us, s->stream.blocking ? s->stream.us : 0);
    return us;
}

/* Does the first piece of a stream that nothing blocks. */
static void execute(struct fake_object *stream)
{
    struct fake_op *op = stream->stream.first;
    double us = begin_us(stream, op) + op->cost_us;

    if (op->run && !fake_lost())
        op->run(op);
    stream->stream.us = us;
    if (op->records) {
        op->records->record.done = true;
        op->records->record.us = us;
    }
    stream->stream.first = op->next;
    op->next = state.free_ops;
    state.free_ops = op;
    state.n_pending--;
}

void fake_step(struct fake_object *stream)
{
    struct fake_object *first;

    while ((first = blocker(stream)))
        stream = first;
    execute(stream);
}

void fake_wait_until(double us)
{
    fake_thread.us = later(fake_thread.us, us);
}

void fake_settle(struct fake_object *stream, long number)
{
    while (stream->stream.first && stream->stream.first->number <= number)
        fake_step(stream);
}

void fake_settle_stream(struct fake_object *stream)
{
    if (stream->stream.graph)
        fake_wrong("waits for a stream that captures");
    fake_settle(stream, state.n_queued);
    fake_wait_until(stream->stream.us);
}

void fake_settle_device(void)
{
    for (struct fake_object *s = state.streams; s; s = s->stream.next)
        fake_settle_stream(s);
    fake_settle_stream(&state.default_stream);
}

static unsigned draw(unsigned n)
{
    state.random = state.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state.random >> 33) % n;
}

/* Does a random stream's next piece, if it can be done. */
void fake_wander(void)
{
    for (unsigned n = state.rest > 0 && draw(state.rest) == 0 ? draw(4) : 0; n > 0; n--) {
        struct fake_object *chosen =
            state.default_stream.stream.first ? &state.default_stream : NULL;
        unsigned n_seen = chosen ? 1 : 0;

        for (struct fake_object *s = state.streams; s; s = s->stream.next) {
            if (s->stream.first && draw(++n_seen) == 0)
                chosen = s;
        }
        if (chosen && !blocker(chosen))
            execute(chosen);
    }
}

static struct fake_op *free_op(void)
{
    struct fake_op *op = state.free_ops;

    if (!op && state.n_ops == MAX_OPS) {
        fake_settle_device(); /* a full queue makes the caller wait */
        op = state.free_ops;
    }
    if (!op)
        return &state.ops[state.n_ops++];
    state.free_ops = op->next;
    return op;
}

bool fake_captures(void)
{
    for (const struct fake_object *s = state.streams; s; s = s->stream.next)
        if (s->stream.graph)
            return true;
    return false;
}

int fake_capture(struct fake_object *stream)
{
    struct fake_object *graph;

    if (stream == &state.default_stream || fake_captures())
        return fake_wrong("this fake captures one graph at a time, not of the default stream");
    graph = fake_object_new(FAKE_GRAPH);
    if (!graph)
        return cudaErrorMemoryAllocation;
    graph->graph.first = state.n_kept;
    graph->graph.origin = stream;
    stream->stream.graph = graph;
    return 0;
}

int fake_captured(struct fake_object *stream, struct fake_object **captured)
{
    struct fake_object *graph = stream->stream.graph;
    bool joined = true;

    if (!graph || graph->graph.origin != stream)
        return fake_wrong("the stream began no capture");
    for (struct fake_object *s = state.streams; s; s = s->stream.next) {
        joined &= s == stream || s->stream.graph != graph || !s->stream.unjoined;
        if (s->stream.graph == graph)
            s->stream.graph = NULL;
    }
    graph->live = joined;
    *captured = joined ? graph : NULL;
    return joined ? 0 : cudaErrorStreamCaptureUnjoined;
}

int fake_join(struct fake_object *stream, struct fake_object *record)
{
    struct fake_object *graph = record->record.graph, *from = record->record.stream;

    if (graph != stream->stream.graph &&
        (stream->stream.graph || from->stream.graph != graph || stream == &state.default_stream))
        return fake_wrong("waits across the border of a capture");
    stream->stream.graph = graph;
    if (graph && stream != from && record->record.n_kept == from->stream.n_kept)
        from->stream.unjoined = false;
    return 0;
}

static long keep(struct fake_object *stream, const struct fake_op *op)
{
    struct fake_object *graph = stream->stream.graph;

    if (state.n_kept == MAX_KEPT) {
        fake_wrong("this fake keeps at most %d pieces of captured work", MAX_KEPT);
        return 0;
    }
    if (op->records) {
        op->records->record.graph = graph;
        op->records->record.n_kept = stream->stream.n_kept;
    } else {
        stream->stream.n_kept++;
        stream->stream.unjoined = true;
    }
    state.kept[state.n_kept] = *op;
    state.kept[state.n_kept++].stream = stream;
    graph->graph.n++;
    return 0;
}

void fake_launch(const struct fake_object *graph, struct fake_object *stream)
{
    for (int i = 0; i < graph->graph.n; i++) {
        const struct fake_op *kept = &state.kept[graph->graph.first + i];
        struct fake_object *to = kept->stream == graph->graph.origin ? stream : graph->graph.branch;
        struct fake_op op = *kept;

        if (kept->waits)
            op.waits = kept->waits->record.launched;
        if (kept->records) {
            op.records = fake_object_new(FAKE_RECORD);
            if (!op.records)
                return;
            op.records->record.stream = to;
            kept->records->record.launched = op.records;
        }
        fake_queue(to, &op);
    }
}

long fake_queue(struct fake_object *stream, const struct fake_op *op)
{
    struct fake_op *queued;

    if (stream->stream.graph)
        return keep(stream, op);
    if (stream == &state.default_stream && fake_captures())
        fake_wrong("the default stream is used while a stream that waits for it captures");
    queued = free_op();
    *queued = *op;
    queued->next = NULL;
    queued->stream = stream;
    queued->number = ++state.n_queued;
    queued->issued_us = fake_thread.us;
    if (stream->stream.first)
        stream->stream.last->next = queued;
    else
        stream->stream.first = queued;
    stream->stream.last = queued;
    state.n_pending++;
    return queued->number;
}

int fake_query(struct fake_object *stream)
{
    const struct fake_op next = {.number = state.n_queued + 1};

    if (stream->stream.graph)
        fake_wrong("asks for a stream that captures");

    if (goes_first(stream, &next))
        fake_step(stream);
    if (goes_first(stream, &next))
        return cudaErrorNotReady;
    fake_wait_until(stream->stream.us);
    return 0;
}

/* ---- Streams and order ---- */

void fake_keep_stream(struct fake_object *stream)
{
    stream->stream.next = state.streams;
    state.streams = stream;
}

struct fake_object *fake_stream(cudaStream_t stream)
{
    struct fake_object *object;

    if (!stream || stream == cudaStreamLegacy)
        return &state.default_stream;
    object = fake_object(FAKE_STREAM, stream);
    if (object && object->device != fake_thread.device) {
        fake_wrong("the stream is of device %d, current is %d", object->device, fake_thread.device);
        return NULL;
    }
    return object;
}

int fake_cuda_pending(void)
{
    return state.n_pending;
}

void fake_cuda_order(unsigned seed)
{
    state.random = seed;
    state.rest = seed ? 1 + draw(16) : 0;
}
