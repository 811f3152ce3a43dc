/* Functions for all files that build kernels: failures, memory, and the tensors of the layer. */
#include "backend/onednn/kernels/session.h"

#include "base/fail.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

const struct od_tensor *od_input(const struct od_build *b, int index)
{
    return b->row_inputs ? &b->row_inputs[index] : &b->session->inputs[b->layer][index];
}

const struct od_tensor *od_output(const struct od_build *b)
{
    return b->row_output ? b->row_output : &b->session->tensors[b->layer];
}

enum vbs_status od_fail(struct od_build *b, dnnl_status_t status, const char *doing)
{
    const char *name = b->l ? b->l->name : VBS_INPUT_NAME;
    const char *meaning = status == dnnl_invalid_arguments ? "invalid arguments"
                          : status == dnnl_runtime_error   ? "error at run time"
                                                           : "unexpected status";

    if (status == dnnl_out_of_memory)
        return vbs_fail(b->ctx, VBS_NO_MEMORY, "layer '%s': out of memory when %s at batch %d",
                        name, doing, b->batch);
    if (status == dnnl_unimplemented || status == dnnl_iterator_ends)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED,
                        "layer '%s': oneDNN has no implementation for %s at batch %d", name, doing,
                        b->batch);
    return vbs_fail(b->ctx, VBS_LIBRARY, "layer '%s': oneDNN failed when %s at batch %d: %s (%d)",
                    name, doing, b->batch, meaning, (int)status);
}

void *od_space(int64_t bytes)
{
    size_t used = bytes > 0 ? (size_t)bytes : 1, size;
    size_t alignment = used >= HUGE_PAGE ? HUGE_PAGE : 4096;
    char *memory;

    if (used > SIZE_MAX / 2)
        return NULL;
    size = (used + alignment - 1) / alignment * alignment;
    memory = aligned_alloc(alignment, size);
    if (!memory)
        return NULL;
    if (alignment == HUGE_PAGE)
        (void)madvise(memory, size, MADV_HUGEPAGE); /* only advice: failure does not matter */
    memset(memory + used, 0, size - used);
    return memory;
}

void *od_alloc(int64_t bytes)
{
    void *memory = od_space(bytes);

    return memory ? memset(memory, 0, bytes > 0 ? (size_t)bytes : 1) : NULL;
}

float *od_constants(struct od_build *b, int64_t n)
{
    char *memory =
        vbs_arena_alloc(&b->session->core.arena, (size_t)n * sizeof(float) + OD_ALIGNMENT, 1);
    size_t beyond = (uintptr_t)memory % OD_ALIGNMENT;

    return memory ? (float *)(void *)(memory + (OD_ALIGNMENT - beyond) % OD_ALIGNMENT) : NULL;
}
