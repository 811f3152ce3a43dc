/*
 * Kernels are tried when they are made. cuDNN may refuse to run a call whose parameters it has
 * accepted, some algorithms fail for some shapes, and the device may lack the memory for a
 * workspace. Where a kernel with fused bias and ReLU fails, these become steps of their own; a
 * kernel that still fails is not offered. Samples are aligned as badly as they can be in an arena,
 * because a batch can begin at any of them.
 */
#include "backend/cudnn/kernel.h"

#include "base/fail.h"

#include <stdlib.h>

/* The memory for one run. */
enum { SOURCE, TARGET, SCRATCH, WEIGHTS, N_MEMORIES };

struct cu_trial {
    void *memory[N_MEMORIES];
    int64_t skipped[N_MEMORIES]; /* bytes before the data that are read or written */
};

/* Gives the alignment of a sample that follows others, the first of which is aligned to
 * CU_ALIGNMENT. */
static int64_t alignment_of(int64_t sample_bytes)
{
    int64_t alignment = CU_ALIGNMENT;

    while (sample_bytes % alignment != 0)
        alignment /= 2;
    return alignment;
}

static void *address(const struct cu_trial *t, int memory)
{
    return t->memory[memory] ? (char *)t->memory[memory] + t->skipped[memory] : NULL;
}

static void release(const struct cu_build *b, struct cu_trial *t)
{
    for (int i = 0; i < N_MEMORIES; i++)
        if (t->memory[i])
            b->session->api.cudaFree(t->memory[i]);
}

static cudaError_t obtain(struct cu_build *b, const struct vbs_kernel *offer, struct cu_trial *t)
{
    const struct vbs_profile_layer *layers = b->session->core.layers;
    int64_t bytes[N_MEMORIES] = {[TARGET] = offer->batch * layers[b->layer].out_bytes,
                                 [SCRATCH] = offer->ws_bytes,
                                 [WEIGHTS] =
                                     b->session->core.weights_given ? offer->packed_bytes : 0};
    cudaError_t error = cudaSuccess;

    for (int i = 0; i < layers[b->layer].n_inputs; i++) {
        int64_t input = offer->batch * layers[layers[b->layer].inputs[i]].out_bytes;

        bytes[SOURCE] = input > bytes[SOURCE] ? input : bytes[SOURCE];
        t->skipped[SOURCE] = alignment_of(layers[layers[b->layer].inputs[i]].out_bytes);
    }
    t->skipped[TARGET] = alignment_of(layers[b->layer].out_bytes);
    for (int i = 0; i < N_MEMORIES && error == cudaSuccess; i++)
        if (bytes[i] > 0)
            error = b->session->api.cudaMalloc(&t->memory[i], (size_t)(t->skipped[i] + bytes[i]));
    return error;
}

/* Runs the kernel on whatever is in memory; all inputs are the same one. */
static enum vbs_status run_once(struct cu_build *b, const struct cu_kernel *kernel,
                                const struct cu_trial *t, cudnnStatus_t *said)
{
    const struct vbs_profile_layer *layer = &b->session->core.layers[b->layer];
    const void **src = malloc((size_t)layer->n_inputs * sizeof *src);
    struct vbs_operands operands = {.src = src,
                                    .dst = address(t, TARGET),
                                    .ws = address(t, SCRATCH),
                                    .weights = address(t, WEIGHTS)};
    cudaError_t error;

    if (!src)
        return vbs_no_memory(b->ctx);
    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = address(t, SOURCE);
    if (layer->in_place)
        src[0] = address(t, TARGET);
    *said = cu_enqueue(b->session, kernel, &operands);
    free(src);
    error = b->session->api.cudaStreamSynchronize(b->session->stream);
    if (error == cudaSuccess && cu_is_of_memory(*said)) {
        b->no_memory = true;
        /* The reason is reported if no other kernel runs. */
        (void)cu_fail(b->ctx, b->session, b->l->name, *said, "trying a kernel");
    }
    return error == cudaSuccess
               ? VBS_OK
               : cu_fail_cuda(b->ctx, b->session, b->l->name, error, "trying a kernel");
}

/* Makes bias and activation steps of their own; *taken is false where neither was fused. */
static enum vbs_status take_apart(struct cu_build *b, struct cu_kernel *kernel, bool *taken)
{
    int n = 0;
    struct cu_step *steps = malloc(3 * (size_t)kernel->n_steps * sizeof *steps);

    if (!steps)
        return vbs_no_memory(b->ctx);
    *taken = false;
    for (int i = 0; i < kernel->n_steps; i++) {
        struct cu_step *step = &kernel->steps[i];

        steps[n++] = *step;
        if (step->what != CU_CONV || !step->activation)
            continue;
        *taken = true;
        steps[n - 1].activation = NULL;
        steps[n++] = (struct cu_step){.what = CU_BIAS, .b = step->b, .y = step->y};
        steps[n++] = (struct cu_step){
            .what = CU_ACTIVATE, .activation = step->activation, .x = step->y, .y = step->y};
    }
    kernel->max_steps = 3 * kernel->n_steps;
    kernel->n_steps = n;
    free(kernel->steps);
    kernel->steps = steps;
    return VBS_OK;
}

static enum vbs_status try_kernel(struct cu_build *b, int index, bool *works)
{
    struct cu_kernel *kernel = &b->session->kernels[index];
    struct cu_trial t = {{NULL}, {0}};
    cudaError_t error = obtain(b, &b->session->core.offers[index], &t);
    cudnnStatus_t said = CUDNN_STATUS_SUCCESS;
    bool taken = false;
    enum vbs_status status = VBS_OK;

    if (error == cudaSuccess)
        status = run_once(b, kernel, &t, &said);
    if (status == VBS_OK && said != CUDNN_STATUS_SUCCESS)
        status = take_apart(b, kernel, &taken);
    if (status == VBS_OK && taken)
        status = run_once(b, kernel, &t, &said);
    release(b, &t);
    *works = error == cudaSuccess && said == CUDNN_STATUS_SUCCESS;
    if (error == cudaSuccess)
        return status;
    status = cu_fail_cuda(b->ctx, b->session, b->l->name, error,
                          b->session->core.offers[index].algorithm);
    b->no_memory |= status == VBS_NO_MEMORY;
    return status == VBS_NO_MEMORY ? VBS_OK : status;
}

enum vbs_status cu_try(struct cu_build *b, int first)
{
    struct cu_session *s = b->session;
    int kept = first, n = s->core.session.n_kernels;
    enum vbs_status status = VBS_OK;

    for (int i = first; i < n && status == VBS_OK; i++) {
        bool works = false;

        status = try_kernel(b, i, &works);
        if (status != VBS_OK)
            return status;
        if (!works) {
            cu_kernel_release(&s->kernels[i]);
            continue;
        }
        s->kernels[kept] = s->kernels[i];
        s->core.offers[kept++] = s->core.offers[i];
        if (kept <= i)
            s->kernels[i].shared = true; /* its steps were moved */
    }
    s->core.session.n_kernels = kept;
    return VBS_OK;
}
