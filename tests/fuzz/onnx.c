#include "fuzz/onnx.h"

#include "model/onnx/onnx.h"

#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH   12
#define DONOR_TRIES 8

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);

enum message {
    MODEL,
    OPSET,
    GRAPH,
    NODE,
    ATTRIBUTE,
    TENSOR,
    ENTRY,
    VALUE,
    TYPE,
    TENSOR_TYPE,
    SHAPE,
    DIMENSION,
    N_MESSAGES,
    NONE = N_MESSAGES
};

/* The fields that are messages. */
static const struct {
    enum message outer;
    unsigned field;
    enum message inner;
} INNER[] = {{MODEL, 7, GRAPH},     {MODEL, 8, OPSET},      {GRAPH, 1, NODE},
             {GRAPH, 5, TENSOR},    {GRAPH, 11, VALUE},     {GRAPH, 12, VALUE},
             {NODE, 5, ATTRIBUTE},  {ATTRIBUTE, 5, TENSOR}, {TENSOR, 13, ENTRY},
             {VALUE, 2, TYPE},      {TYPE, 1, TENSOR_TYPE}, {TENSOR_TYPE, 2, SHAPE},
             {SHAPE, 1, DIMENSION}, {ATTRIBUTE, 6, GRAPH}};

enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

/* A field within a message. */
struct field {
    size_t at, payload, end;
    unsigned number, wire;
};

/* A buffer to which bytes are written. */
struct sink {
    uint8_t *data;
    size_t length, room;
    bool full;
};

struct edit {
    uint64_t random;
    /* a file from which fields are taken, and the kind of message that it is */
    const uint8_t *donor;
    size_t donor_size;
    enum message donor_kind;
    bool insert; /* insert one of the donor's fields */
    int depth;
};

static uint64_t next_random(struct edit *e, uint64_t n)
{
    e->random = e->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (e->random >> 33) % n;
}

static enum message inner_of(enum message outer, const struct field *f)
{
    for (size_t i = 0; i < sizeof INNER / sizeof INNER[0]; i++)
        if (INNER[i].outer == outer && INNER[i].field == f->number && f->wire == WIRE_BYTES)
            return INNER[i].inner;
    return NONE;
}

/* ---- reading ---- */

static bool take_varint(const uint8_t *data, size_t size, size_t *at, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && *at < size; shift += 7) {
        uint8_t byte = data[(*at)++];

        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool take_field(const uint8_t *data, size_t size, size_t at, struct field *f)
{
    uint64_t key, length = 0;

    f->at = at;
    if (at >= size || !take_varint(data, size, &at, &key))
        return false;
    f->number = (unsigned)(key >> 3);
    f->wire = (unsigned)(key & 7);
    if (f->wire == WIRE_BYTES && !take_varint(data, size, &at, &length))
        return false;
    f->payload = at;
    if (f->wire == WIRE_VARINT && !take_varint(data, size, &at, &key))
        return false;
    if (f->wire == WIRE_64 || f->wire == WIRE_32)
        length = f->wire == WIRE_64 ? 8 : 4;
    else if (f->wire != WIRE_VARINT && f->wire != WIRE_BYTES)
        return false;
    if (length > size - at)
        return false;
    f->end = at + length;
    return true;
}

/* Chooses any of the fields; false where there is none. */
static bool choose(struct edit *e, const uint8_t *data, size_t size, struct field *chosen)
{
    struct field f;
    uint64_t n = 0;

    for (size_t at = 0; take_field(data, size, at, &f); at = f.end)
        if (next_random(e, ++n) == 0)
            *chosen = f;
    return n > 0;
}

/* Finds a field of a message of this kind in the donor. */
static bool find_donor(struct edit *e, enum message kind, const uint8_t **data, size_t *length)
{
    for (int i = 0; i < DONOR_TRIES; i++) {
        const uint8_t *at = e->donor;
        size_t size = e->donor_size;
        enum message here = e->donor_kind;
        struct field f;

        for (int depth = 0; here != NONE && depth < MAX_DEPTH && choose(e, at, size, &f); depth++) {
            if (here == kind) {
                *data = at + f.at;
                *length = f.end - f.at;
                return true;
            }
            here = inner_of(here, &f);
            at += f.payload;
            size = f.end - f.payload;
        }
    }
    return false;
}

/* ---- writing ---- */

static void put(struct sink *sink, const void *data, size_t length)
{
    if (length > sink->room - sink->length) {
        sink->full = true;
        return;
    }
    if (length > 0)
        memcpy(sink->data + sink->length, data, length);
    sink->length += length;
}

static void put_varint(struct sink *sink, uint64_t value)
{
    uint8_t bytes[10];
    size_t n = 0;

    for (; value >= 0x80; value >>= 7)
        bytes[n++] = (uint8_t)(value | 0x80);
    bytes[n++] = (uint8_t)value;
    put(sink, bytes, n);
}

static void put_bytes(struct sink *sink, unsigned number, const void *data, size_t length)
{
    put_varint(sink, (uint64_t)number << 3 | WIRE_BYTES);
    put_varint(sink, length);
    put(sink, data, length);
}

/* ---- fields that change ---- */

static uint64_t other_number(struct edit *e, uint64_t value)
{
    static const int64_t ODD[] = {0,
                                  1,
                                  -1,
                                  2,
                                  3,
                                  4,
                                  7,
                                  8,
                                  16,
                                  64,
                                  1 << 16,
                                  INT32_MAX,
                                  INT32_MIN,
                                  INT64_MAX,
                                  INT64_MIN,
                                  1LL << 31,
                                  1LL << 36,
                                  1LL << 62,
                                  INT64_MAX / 2,
                                  -2,
                                  -8,
                                  5,
                                  9,
                                  100};

    switch (next_random(e, 4)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return next_random(e, 24);
    default:
        return (uint64_t)ODD[next_random(e, sizeof ODD / sizeof ODD[0])];
    }
}

static void put_operator(struct edit *e, struct sink *sink, unsigned number)
{
    const char *name = NULL, *next;
    bool layer;

    for (int i = 0; (next = vbs_onnx_operator(i, &layer)); i++)
        if (next_random(e, (uint64_t)i + 1) == 0)
            name = next;
    put_bytes(sink, number, name, strlen(name));
}

static void put_mutated(struct sink *sink, unsigned number, const uint8_t *data, size_t length)
{
    size_t room = length + 64;
    uint8_t *copy = malloc(room);

    if (!copy)
        return;
    if (length > 0)
        memcpy(copy, data, length);
    length = LLVMFuzzerMutate(copy, length, room);
    put_bytes(sink, number, copy, length);
    free(copy);
}

/* Writes a list of numbers with one of them changed. */
static void put_list(struct edit *e, struct sink *sink, const struct field *f, const uint8_t *data)
{
    size_t at = f->payload, size = f->end - f->payload;
    struct sink list = {.data = malloc(size + 64), .room = size + 64};
    uint64_t value, n = 0, chosen;

    while (take_varint(data, f->end, &at, &value))
        n++;
    chosen = next_random(e, n + 1);
    at = f->payload;
    for (uint64_t i = 0; list.data && take_varint(data, f->end, &at, &value); i++)
        put_varint(&list, i == chosen ? other_number(e, value) : value);
    if (list.data && chosen == n)
        put_varint(&list, other_number(e, n));
    put_bytes(sink, f->number, list.data, list.length);
    free(list.data);
}

static void change_value(struct edit *e, enum message kind, const struct field *f,
                         const uint8_t *data, struct sink *sink)
{
    static const float REALS[] = {0, -0.0f, 1, -1, 0.5f, 1e30f, -1e-30f, 3, 6, 1.0f / 6};
    bool list = (kind == ATTRIBUTE && f->number == 8) ||
                (kind == TENSOR && (f->number == 1 || f->number == 5 || f->number == 7));
    size_t length = f->end - f->payload, at = f->payload;
    uint8_t bytes[8];
    uint64_t value;

    if (f->wire == WIRE_VARINT) {
        take_varint(data, f->end, &at, &value);
        put_varint(sink, (uint64_t)f->number << 3);
        put_varint(sink, other_number(e, value));
    } else if (f->wire != WIRE_BYTES) {
        memcpy(bytes, data + f->payload, length);
        if (f->wire == WIRE_32 && next_random(e, 2))
            memcpy(bytes, &REALS[next_random(e, sizeof REALS / sizeof REALS[0])], 4);
        else
            LLVMFuzzerMutate(bytes, length, length);
        put(sink, data + f->at, f->payload - f->at);
        put(sink, bytes, length);
    } else if (kind == NODE && f->number == 4 && next_random(e, 8)) {
        put_operator(e, sink, f->number);
    } else if (list && next_random(e, 4)) {
        put_list(e, sink, f, data);
    } else {
        put_mutated(sink, f->number, data + f->payload, length);
    }
}

static void put_donated(struct edit *e, enum message kind, struct sink *sink)
{
    const uint8_t *data;
    size_t length;

    if (find_donor(e, kind, &data, &length))
        put(sink, data, length);
    e->insert = false;
}

static void change_field(struct edit *e, enum message kind, const struct field *f,
                         const uint8_t *data, struct sink *sink)
{
    if (e->insert) {
        if (next_random(e, 2))
            put(sink, data + f->at, f->end - f->at);
        put_donated(e, kind, sink);
        return;
    }
    switch (next_random(e, 10)) {
    case 0: /* left out */
        break;
    case 1:
        put(sink, data + f->at, f->end - f->at);
        put(sink, data + f->at, f->end - f->at);
        break;
    case 2:
        put(sink, data + f->at, f->end - f->at);
        put_donated(e, kind, sink);
        break;
    default:
        change_value(e, kind, f, data, sink);
    }
}

/* Changes one thing in a message, or in one of its messages. */
static void change_message(struct edit *e, enum message kind, const uint8_t *data, size_t size,
                           struct sink *sink)
{
    struct field f;
    enum message inner;

    if (!choose(e, data, size, &f)) {
        put_donated(e, kind, sink);
        put(sink, data, size);
        return;
    }
    inner = inner_of(kind, &f);
    put(sink, data, f.at);
    if (inner != NONE && ++e->depth < MAX_DEPTH && next_random(e, 6)) {
        struct sink within = {.data = malloc(sink->room), .room = sink->room};

        if (within.data)
            change_message(e, inner, data + f.payload, f.end - f.payload, &within);
        sink->full |= within.full;
        put_bytes(sink, f.number, within.data, within.length);
        free(within.data);
    } else {
        change_field(e, kind, &f, data, sink);
    }
    put(sink, data + f.end, size - f.end);
}

static size_t change(struct edit *e, uint8_t *data, size_t size, size_t room, bool tensor)
{
    struct sink sink = {.data = malloc(room), .room = room};

    if (sink.data)
        change_message(e, tensor ? TENSOR : MODEL, data, size, &sink);
    if (sink.data && !sink.full) {
        memcpy(data, sink.data, sink.length);
        size = sink.length;
    }
    free(sink.data);
    return size;
}

size_t fuzz_onnx_mutate(uint8_t *data, size_t size, size_t room, bool tensor, unsigned seed)
{
    struct edit e = {.random = seed};
    uint8_t *copy = malloc(size + 1);

    if (!copy)
        return size;
    for (uint64_t n = 1 + next_random(&e, 3); n > 0; n--) {
        uint8_t *grown = realloc(copy, size + 1);

        if (!grown)
            break;
        copy = grown;
        memcpy(copy, data, size);
        e.donor = copy;
        e.donor_size = size;
        e.donor_kind = tensor ? TENSOR : MODEL;
        e.depth = 0;
        size = change(&e, data, size, room, tensor);
    }
    free(copy);
    return size;
}

size_t fuzz_onnx_cross(uint8_t *data, size_t size, size_t room, bool tensor, const uint8_t *other,
                       size_t other_size, bool other_tensor, unsigned seed)
{
    struct edit e = {.random = seed,
                     .donor = other,
                     .donor_size = other_size,
                     .donor_kind = other_tensor ? TENSOR : MODEL,
                     .insert = true};

    return change(&e, data, size, room, tensor);
}
