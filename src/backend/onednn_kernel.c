/* Building kernels: memory objects, scratch, steps. */
#include "backend/onednn.h"

#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

static int64_t aligned(int64_t bytes)
{
    return (bytes + OD_ALIGNMENT - 1) / OD_ALIGNMENT * OD_ALIGNMENT;
}

static enum vbs_status grow(struct od_build *b)
{
    struct od_session *s = b->session;
    int max = s->max_kernels ? 2 * s->max_kernels : 256;
    struct vbs_kernel *offers;
    struct od_kernel *kernels;

    if (s->base.n_kernels < s->max_kernels)
        return VBS_OK;
    offers = realloc(s->offers, (size_t)max * sizeof *offers);
    if (!offers)
        return vbs_no_memory(b->ctx);
    s->offers = offers;
    s->base.kernels = offers;
    kernels = realloc(s->kernels, (size_t)max * sizeof *kernels);
    if (!kernels)
        return vbs_no_memory(b->ctx);
    s->kernels = kernels;
    s->max_kernels = max;
    return VBS_OK;
}

enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm)
{
    struct od_session *s = b->session;
    /* One step for each input or a primitive with two copies, then one per bundled operator; a
     * step has at most source, destination, four parameters and a scratchpad of its own. */
    int max_steps = b->l->n_inputs + 3 + b->l->n_bundled;
    int max_memories = 7 * max_steps;
    struct od_kernel kernel = {.max_memories = max_memories, .max_steps = max_steps};
    struct vbs_kernel offer = {.layer = b->layer, .batch = b->batch};
    enum vbs_status status = grow(b);

    if (status != VBS_OK)
        return status;
    offer.algorithm = vbs_arena_strdup(&s->arena, algorithm);
    kernel.memories = vbs_arena_alloc(&s->arena, (size_t)max_memories, sizeof *kernel.memories);
    kernel.steps = vbs_arena_alloc(&s->arena, (size_t)max_steps, sizeof *kernel.steps);
    if (!offer.algorithm || !kernel.memories || !kernel.steps)
        return vbs_no_memory(b->ctx);
    b->kernel = &s->kernels[s->base.n_kernels];
    *b->kernel = kernel;
    s->offers[s->base.n_kernels++] = offer;
    return VBS_OK;
}

static enum vbs_status add_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                  struct od_memory memory, void *data, dnnl_memory_t *handle)
{
    struct od_kernel *k = b->kernel;
    dnnl_status_t status;

    if (k->n_memories == k->max_memories)
        return vbs_fail(b->ctx, VBS_LIBRARY, "layer '%s': too many parts in one kernel",
                        b->l->name);
    status = dnnl_memory_create(&memory.handle, md, b->session->engine, data);
    if (status != dnnl_success)
        return od_fail(b, status, "making a memory object");
    *handle = memory.handle;
    k->memories[k->n_memories++] = memory;
    return VBS_OK;
}

enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_place place, int index, void *data, dnnl_memory_t *memory)
{
    return add_memory(b, md, (struct od_memory){.place = place, .index = index}, data, memory);
}

enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory)
{
    int64_t offset = b->kernel->buffer_bytes;

    b->kernel->buffer_bytes += aligned((int64_t)dnnl_memory_desc_get_size(md));
    return add_memory(b, md, (struct od_memory){.place = OD_BUFFER, .offset = offset}, NULL,
                      memory);
}

/* Steps run one after the other, so that one piece serves all their scratchpads. */
static enum vbs_status add_scratchpad(struct od_build *b, const_dnnl_primitive_desc_t pd,
                                      struct od_step *step)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    int64_t bytes = md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
    dnnl_memory_t memory = NULL;
    enum vbs_status status;

    if (bytes == 0)
        return VBS_OK;
    status = add_memory(b, md, (struct od_memory){.place = OD_SCRATCH}, NULL, &memory);
    if (status != VBS_OK)
        return status;
    if (bytes > b->kernel->scratch_bytes)
        b->kernel->scratch_bytes = bytes;
    step->args[step->n_args++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory};
    return VBS_OK;
}

enum vbs_status od_kernel_step(struct od_build *b, const_dnnl_primitive_desc_t pd, int n_args,
                               const dnnl_exec_arg_t *args)
{
    struct od_kernel *k = b->kernel;
    struct od_step *step = &k->steps[k->n_steps];
    dnnl_status_t status;

    if (k->n_steps == k->max_steps)
        return vbs_fail(b->ctx, VBS_LIBRARY, "layer '%s': too many steps in one kernel",
                        b->l->name);
    step->args = vbs_arena_alloc(&b->session->arena, (size_t)n_args + 1, sizeof *args);
    if (!step->args)
        return vbs_no_memory(b->ctx);
    memcpy(step->args, args, (size_t)n_args * sizeof *args);
    step->n_args = n_args;
    status = dnnl_primitive_create(&step->primitive, pd);
    if (status != dnnl_success)
        return od_fail(b, status, "making a primitive");
    k->n_steps++;
    return add_scratchpad(b, pd, step);
}

enum vbs_status od_kernel_reorder(struct od_build *b, const dnnl_memory_desc_t *from_md,
                                  dnnl_memory_t from, const dnnl_memory_desc_t *to_md,
                                  dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_engine_t engine = b->session->engine;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;
    enum vbs_status status = od_attributes(b, false, &attr);

    if (status != VBS_OK)
        return status;
    dnnl = dnnl_reorder_primitive_desc_create(&pd, from_md, engine, to_md, engine, attr);
    status = dnnl == dnnl_success ? od_kernel_step(b, pd, 2, args)
                                  : od_fail(b, dnnl, "copying between layouts");
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

void od_kernel_end(struct od_build *b, int64_t weight_bytes, int form)
{
    struct vbs_kernel *offer = &b->session->offers[b->session->base.n_kernels - 1];

    offer->ws_bytes = b->kernel->buffer_bytes + b->kernel->scratch_bytes;
    offer->weight_bytes = weight_bytes;
    offer->form = form;
    for (int i = 0; i < b->kernel->n_memories; i++)
        if (b->kernel->memories[i].place == OD_SCRATCH)
            b->kernel->memories[i].offset = b->kernel->buffer_bytes;
}

void od_kernel_release(struct od_kernel *kernel)
{
    for (int i = 0; i < kernel->n_steps; i++)
        dnnl_primitive_destroy(kernel->steps[i].primitive);
    for (int i = 0; i < kernel->n_memories; i++)
        dnnl_memory_destroy(kernel->memories[i].handle);
}

enum vbs_status od_attributes(struct od_build *b, bool relu, dnnl_primitive_attr_t *attr)
{
    dnnl_post_ops_t ops = NULL;
    dnnl_primitive_attr_t made = NULL;
    dnnl_status_t status = dnnl_primitive_attr_create(&made);

    if (status == dnnl_success)
        status = dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user);
    if (status == dnnl_success && relu)
        status = dnnl_post_ops_create(&ops);
    if (status == dnnl_success && relu)
        status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_relu, 0, 0);
    if (status == dnnl_success && relu)
        status = dnnl_primitive_attr_set_post_ops(made, ops);
    dnnl_post_ops_destroy(ops);
    if (status != dnnl_success) {
        dnnl_primitive_attr_destroy(made);
        return od_fail(b, status, "setting attributes");
    }
    *attr = made;
    return VBS_OK;
}
