/* Kernels, and the memory and objects that the session keeps for them. */
#include "backend/cudnn/kernel.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>

/* ---- what is kept ---- */

void cu_release(const struct cu_session *s, struct cu_object *object)
{
    switch (object->kind) {
    case CU_TENSOR:
        s->api.cudnnDestroyTensorDescriptor(object->handle);
        break;
    case CU_FILTER:
        s->api.cudnnDestroyFilterDescriptor(object->handle);
        break;
    case CU_CONVOLUTION:
        s->api.cudnnDestroyConvolutionDescriptor(object->handle);
        break;
    case CU_ACTIVATION:
        s->api.cudnnDestroyActivationDescriptor(object->handle);
        break;
    case CU_POOLING:
        s->api.cudnnDestroyPoolingDescriptor(object->handle);
        break;
    case CU_NORMALISATION:
        s->api.cudnnDestroyLRNDescriptor(object->handle);
        break;
    case CU_OPERATION:
        s->api.cudnnDestroyOpTensorDescriptor(object->handle);
        break;
    case CU_REDUCTION:
        s->api.cudnnDestroyReduceTensorDescriptor(object->handle);
        break;
    case CU_MEMORY:
        s->api.cudaFree(object->handle);
        break;
    }
}

enum vbs_status cu_adopt(struct cu_build *b, enum cu_kind kind, void *handle)
{
    struct cu_session *s = b->session;
    struct cu_object object = {.kind = kind, .handle = handle};

    if (vbs_grow(b->ctx, &s->objects, &s->max_objects, (int64_t)s->n_objects + 1, sizeof object)) {
        cu_release(s, &object);
        return VBS_NO_MEMORY;
    }
    s->objects[s->n_objects++] = object;
    return VBS_OK;
}

enum vbs_status cu_upload(struct cu_build *b, const void *values, int64_t bytes, void **memory)
{
    const struct cu_session *s = b->session;
    cudaError_t error = s->api.cudaMalloc(memory, (size_t)bytes);

    if (error != cudaSuccess)
        return cu_fail_cuda(b->ctx, s, b->l->name, error, "obtaining memory for parameters");
    VBS_TRY(cu_adopt(b, CU_MEMORY, *memory));
    error = s->api.cudaMemcpy(*memory, values, (size_t)bytes, cudaMemcpyHostToDevice);
    return error == cudaSuccess ? VBS_OK
                                : cu_fail_cuda(b->ctx, s, b->l->name, error, "copying parameters");
}

/* ---- kernels ---- */

enum vbs_status cu_kernel_begin(struct cu_build *b, const char *algorithm)
{
    struct cu_session *s = b->session;
    const struct vbs_kernel offer = {.layer = b->layer,
                                     .batch = b->batch,
                                     .algorithm = vbs_arena_strdup(&s->core.arena, algorithm)};

    if (!offer.algorithm)
        return vbs_no_memory(b->ctx);
    VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &offer, &s->kernels, sizeof *s->kernels));
    b->kernel = &s->kernels[s->core.session.n_kernels - 1];
    *b->kernel = (struct cu_kernel){0};
    b->scratch_bytes = b->most_asked = 0;
    return VBS_OK;
}

struct cu_step *cu_step(struct cu_build *b, enum cu_do what)
{
    struct cu_kernel *k = b->kernel;

    if (vbs_grow(b->ctx, &k->steps, &k->max_steps, (int64_t)k->n_steps + 1, sizeof *k->steps))
        return NULL;
    k->steps[k->n_steps] = (struct cu_step){.what = what, .alpha = 1, .scratch_offset = -1};
    return &k->steps[k->n_steps++];
}

static int64_t round_up(int64_t bytes)
{
    return (bytes + CU_ALIGNMENT - 1) / CU_ALIGNMENT * CU_ALIGNMENT;
}

int64_t cu_reserve(struct cu_build *b, int64_t bytes)
{
    int64_t at = b->scratch_bytes;

    b->scratch_bytes = at + round_up(bytes);
    return at;
}

void cu_ask(struct cu_build *b, struct cu_step *step, size_t bytes)
{
    step->scratch_bytes = (int64_t)bytes;
    if (step->scratch_bytes > b->most_asked)
        b->most_asked = step->scratch_bytes;
}

void cu_kernel_end(struct cu_build *b, int64_t fixed_bytes, int64_t packed_bytes)
{
    struct cu_session *s = b->session;
    struct vbs_kernel *offer = &s->core.offers[s->core.session.n_kernels - 1];

    for (int i = 0; i < b->kernel->n_steps; i++)
        b->kernel->steps[i].scratch_offset = b->scratch_bytes;
    offer->ws_bytes = b->scratch_bytes + round_up(b->most_asked);
    offer->weight_bytes = fixed_bytes + packed_bytes;
    offer->packed_bytes = packed_bytes;
    offer->row_slices = 1;
}

void cu_kernel_undo(struct cu_build *b)
{
    cu_kernel_release(b->kernel);
    b->session->core.session.n_kernels--;
    b->kernel = NULL;
}

enum vbs_status cu_kernel_share(struct cu_build *b, int index)
{
    struct cu_session *s = b->session;
    const struct vbs_kernel offer = s->core.offers[index];
    struct cu_kernel *kernel;

    VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &offer, &s->kernels, sizeof *s->kernels));
    kernel = &s->kernels[s->core.session.n_kernels - 1];
    *kernel = s->kernels[index];
    kernel->shared = true;
    return VBS_OK;
}

void cu_kernel_release(struct cu_kernel *kernel)
{
    if (!kernel->shared)
        free(kernel->steps);
    kernel->steps = NULL;
}
