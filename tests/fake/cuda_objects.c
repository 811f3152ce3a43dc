#include "fake/cuda_common.h"

#include <stdio.h>

#define MAX_OBJECTS (1 << 21)

static struct fake_object *objects;
static int n_objects;
static char live_text[400];

void fake_start_objects(void)
{
    objects = fake_map(MAX_OBJECTS * sizeof *objects);
}

void fake_reset_objects(void)
{
    if (objects)
        fake_unmap(objects, MAX_OBJECTS * sizeof *objects);
    objects = NULL;
    n_objects = 0;
}

const char *const fake_kind_names[FAKE_KINDS] = {
    [FAKE_DEVICE_MEMORY] = "device allocation",
    [FAKE_PINNED_MEMORY] = "pinned allocation",
    [FAKE_STREAM] = "stream",
    [FAKE_EVENT] = "event",
    [FAKE_GRAPH] = "graph",
    [FAKE_GRAPH_EXEC] = "executable graph",
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
    struct fake_object *object = &objects[n_objects];

    if (n_objects == MAX_OBJECTS)
        return NULL;
    n_objects++;
    object->kind = kind;
    object->live = kind != FAKE_RECORD;
    object->device = fake_thread.device;
    return object;
}

struct fake_object *fake_object(enum fake_kind kind, const void *handle)
{
    uintptr_t at = (uintptr_t)handle - (uintptr_t)objects;
    struct fake_object *object = &objects[at / sizeof *objects];

    if (!handle)
        fake_wrong("null instead of a %s", fake_kind_names[kind]);
    else if (at >= (size_t)n_objects * sizeof *object || at % sizeof *object != 0 ||
             object->kind != kind)
        fake_wrong("what is given is no %s", fake_kind_names[kind]);
    else if (!object->live)
        fake_wrong("the %s was destroyed", fake_kind_names[kind]);
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
    return fake_in_cudnn() ? (int)CUDNN_STATUS_BAD_PARAM : (int)cudaErrorInvalidResourceHandle;
}

int fake_cuda_live(void)
{
    int n = 0;

    for (int i = 0; i < n_objects; i++)
        n += objects[i].live;
    return n;
}

const char *fake_cuda_live_text(void)
{
    int counts[FAKE_KINDS] = {0};
    size_t n = 0;

    for (int i = 0; i < n_objects; i++)
        counts[objects[i].kind] += objects[i].live;
    live_text[0] = '\0';
    for (int i = 0; i < FAKE_KINDS; i++) {
        if (counts[i] > 0)
            n += (size_t)snprintf(live_text + n, sizeof live_text - n, "%s%d %s%s",
                                  n > 0 ? ", " : "", counts[i], fake_kind_names[i],
                                  counts[i] > 1 ? "s" : "");
    }
    return live_text;
}
