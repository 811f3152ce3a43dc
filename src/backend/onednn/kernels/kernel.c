/* Building kernels: memory objects, workspace, steps. */
#include "backend/onednn/kernels/encode.h"
#include "backend/onednn/kernels/kernel.h"
#include "backend/onednn/kernels/weights.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t aligned(int64_t bytes)
{
    return (bytes + OD_ALIGNMENT - 1) / OD_ALIGNMENT * OD_ALIGNMENT;
}

static bool has_padding(const dnnl_memory_desc_t *md)
{
    for (int i = 0; i < md->ndims; i++)
        if (md->padded_dims[i] != md->dims[i])
            return true;
    return false;
}

static enum vbs_status add_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                  struct od_memory where, void *data, dnnl_memory_t *memory)
{
    struct od_kernel *k = b->kernel;
    enum vbs_status grown = vbs_grow(b->ctx, &k->memories, &k->max_memories,
                                     (int64_t)k->n_memories + 1, sizeof *k->memories);
    dnnl_status_t status;

    if (grown != VBS_OK)
        return grown;
    status = dnnl_memory_create(&where.handle, md, b->session->engine, data);
    if (status != dnnl_success)
        return od_fail(b, status, "making a memory object");
    *memory = where.handle;
    where.padded = has_padding(md);
    where.address = data;
    k->memories[k->n_memories++] = where;
    return VBS_OK;
}

/* ---- encoded tensors ---- */

static bool decode_step(const void *plan, float *const *data)
{
    od_decode(plan, data[1], data[0]);
    return true;
}

static bool encode_step(const void *plan, float *const *data)
{
    od_encode(plan, data[1], data[0]);
    return true;
}

/* Appends the step between an encoded tensor and its floats in the workspace. */
static enum vbs_status recode(struct od_build *b, int index)
{
    bool output = index == b->l->n_inputs;
    const struct od_tensor *tensor = output ? od_output(b) : od_input(b, index);
    struct od_memory floats = {.location = OD_BUFFER, .offset = b->kernel->floats[index]};
    struct od_memory stored = {.location = output ? OD_DST : OD_SRC, .index = output ? 0 : index};
    struct od_recode *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    dnnl_memory_t data[2];
    dnnl_memory_desc_t md;

    if (!plan)
        return vbs_no_memory(b->ctx);
    *plan = od_recode_of(b->session, od_tensor_of(b, index), b->batch, tensor->canonical);
    VBS_TRY(od_describe(b, tensor, b->batch, tensor->canonical, false, &md));
    VBS_TRY(add_memory(b, &md, floats, NULL, &data[output]));
    VBS_TRY(add_memory(b, &md, stored, NULL, &data[!output])); /* only its address is used */
    return od_kernel_call(b, output ? encode_step : decode_step, plan, 2, data);
}

/* Gives encoded tensors space for their floats, and decodes the inputs. */
static enum vbs_status begin_decoded(struct od_build *b)
{
    int n = b->l->n_inputs + 1;
    int64_t *floats = vbs_arena_alloc(&b->session->core.arena, (size_t)n, sizeof *floats);

    if (!floats)
        return vbs_no_memory(b->ctx);
    for (int i = 0; i < n; i++) {
        const struct od_tensor *tensor = i + 1 < n ? od_input(b, i) : od_output(b);
        bool encoded = od_stored_of(b, i)->encoding.storage != VBS_FLOAT32;

        floats[i] = encoded ? od_kernel_reserve(b, b->batch * tensor->bytes) : -1;
    }
    b->kernel->floats = floats;
    for (int i = 0; i + 1 < n; i++)
        if (floats[i] >= 0)
            VBS_TRY(recode(b, i));
    return VBS_OK;
}

/* Puts the floats of an encoded tensor in the place of the tensor. */
static struct od_memory placed(const struct od_build *b, struct od_memory where)
{
    int index = where.location == OD_SRC ? where.index : b->l->n_inputs;
    int64_t *floats = b->kernel->floats;

    if (!floats || (where.location != OD_SRC && where.location != OD_DST) || floats[index] < 0)
        return where;
    return (struct od_memory){.location = OD_BUFFER, .offset = floats[index] + where.offset};
}

/* ---- kernels ---- */

enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm)
{
    struct od_session *s = b->session;
    bool decoded = !b->native && od_is_encoded(b);
    struct vbs_kernel offer = {.layer = b->layer, .batch = b->batch, .row_slices = 1};
    char name[OD_KERNEL_NAME];

    snprintf(name, sizeof name, "%s%s%s", algorithm, decoded ? OD_DECODED : "",
             b->serial ? OD_SERIAL : "");
    offer.algorithm = vbs_arena_strdup(&s->core.arena, name);
    if (!offer.algorithm)
        return vbs_no_memory(b->ctx);
    VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &offer, &s->kernels, sizeof *s->kernels));
    b->kernel = &s->kernels[s->core.session.n_kernels - 1];
    *b->kernel = (struct od_kernel){.serial = b->serial};
    return decoded ? begin_decoded(b) : VBS_OK;
}

enum vbs_status od_kernel_begin_with(struct od_build *b, const_dnnl_primitive_desc_t pd)
{
    const char *impl = NULL;
    dnnl_status_t status = dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &impl);

    if (status != dnnl_success)
        return od_fail(b, status, "asking for an implementation's name");
    return od_kernel_begin(b, impl);
}

enum vbs_status od_kernel_add(struct od_build *b, const dnnl_memory_desc_t *md,
                              struct od_memory where, void *data, dnnl_memory_t *memory)
{
    return add_memory(b, md, placed(b, where), data, memory);
}

enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_location location, int index, void *data,
                                 dnnl_memory_t *memory)
{
    return od_kernel_add(b, md, (struct od_memory){.location = location, .index = index}, data,
                         memory);
}

enum vbs_status od_stored_memory(struct od_build *b, int index, dnnl_memory_t *memory)
{
    bool output = index == b->l->n_inputs;
    dnnl_memory_desc_t md;

    VBS_TRY(od_describe_flat(b, index, &md));
    return od_kernel_memory(b, &md, output ? OD_DST : OD_SRC, output ? 0 : index, NULL, memory);
}

int64_t od_kernel_reserve(struct od_build *b, int64_t bytes)
{
    int64_t offset = b->kernel->buffer_bytes;

    b->kernel->buffer_bytes += aligned(bytes);
    return offset;
}

enum vbs_status od_kernel_at(struct od_build *b, const dnnl_memory_desc_t *md, int64_t offset,
                             dnnl_memory_t *memory)
{
    return od_kernel_add(b, md, (struct od_memory){.location = OD_BUFFER, .offset = offset}, NULL,
                         memory);
}

enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory)
{
    return od_kernel_at(b, md, od_kernel_reserve(b, (int64_t)dnnl_memory_desc_get_size(md)),
                        memory);
}

/* Adds the scratchpad of a primitive. Steps run one after the other, so that all scratchpads share
 * one range. */
static enum vbs_status add_scratchpad(struct od_build *b, const_dnnl_primitive_desc_t pd,
                                      struct od_step *step)
{
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
    int64_t bytes = md ? (int64_t)dnnl_memory_desc_get_size(md) : 0;
    dnnl_memory_t memory = NULL;

    if (bytes == 0)
        return VBS_OK;
    VBS_TRY(od_kernel_add(b, md, (struct od_memory){.location = OD_SCRATCH}, NULL, &memory));
    if (bytes > b->kernel->scratch_bytes)
        b->kernel->scratch_bytes = bytes;
    step->args[step->n_args++] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, memory};
    return VBS_OK;
}

/* Makes space for a step with its arguments and a scratchpad. The step counts once k->n_steps
 * does. */
static enum vbs_status add_step(struct od_build *b, int n_args, const dnnl_exec_arg_t *args,
                                struct od_step **step)
{
    struct od_kernel *k = b->kernel;

    VBS_TRY(vbs_grow(b->ctx, &k->steps, &k->max_steps, (int64_t)k->n_steps + 1, sizeof *k->steps));
    *step = &k->steps[k->n_steps];
    **step = (struct od_step){.n_args = n_args};
    (*step)->args = vbs_arena_alloc(&b->session->core.arena, (size_t)n_args + 1, sizeof *args);
    if (!(*step)->args)
        return vbs_no_memory(b->ctx);
    memcpy((*step)->args, args, (size_t)n_args * sizeof *args);
    return VBS_OK;
}

enum vbs_status od_kernel_step(struct od_build *b, const_dnnl_primitive_desc_t pd, int n_args,
                               const dnnl_exec_arg_t *args)
{
    struct od_step *step;
    dnnl_status_t dnnl = dnnl_success;

    VBS_TRY(add_step(b, n_args, args, &step));
    if (!b->sizes_only)
        dnnl = od_primitive_create(pd, &step->primitive);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "making a primitive");
    b->kernel->n_steps++;
    return add_scratchpad(b, pd, step);
}

enum vbs_status od_kernel_call(struct od_build *b, od_function *function, const void *plan, int n,
                               const dnnl_memory_t *data)
{
    dnnl_exec_arg_t args[OD_MAX_DATA];
    struct od_step *step;

    for (int i = 0; i < n; i++)
        args[i] = (dnnl_exec_arg_t){.arg = i, .memory = data[i]};
    VBS_TRY(add_step(b, n, args, &step));
    step->function = function;
    step->plan = plan;
    b->kernel->n_steps++;
    return VBS_OK;
}

enum vbs_status od_kernel_reorder(struct od_build *b, const dnnl_memory_desc_t *from_md,
                                  dnnl_memory_t from, const dnnl_memory_desc_t *to_md,
                                  dnnl_memory_t to)
{
    const dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl;
    enum vbs_status status;

    VBS_TRY(od_attributes(b, 0, 0, &attr));
    dnnl = od_pd_reorder(from_md, to_md, attr, b->session->engine, &pd);
    status = dnnl == dnnl_success ? od_kernel_step(b, pd, 2, args)
                                  : od_fail(b, dnnl, "copying between layouts");
    dnnl_primitive_desc_destroy(pd);
    dnnl_primitive_attr_destroy(attr);
    return status;
}

/* Reserves workspace for batch samples of tensor in layout; returns its offset. */
static enum vbs_status reserve_layout(struct od_build *b, const struct od_tensor *tensor,
                                      enum od_layout layout, dnnl_memory_desc_t *md,
                                      int64_t *offset)
{
    VBS_TRY(od_describe(b, tensor, b->batch, layout, false, md));
    *offset = od_kernel_reserve(b, (int64_t)dnnl_memory_desc_get_size(md));
    return VBS_OK;
}

/* Appends the copy between the tensor in its canonical layout, at location, and its space in
 * layout. */
static enum vbs_status copy_layout(struct od_build *b, const struct od_tensor *tensor,
                                   enum od_location location, int index,
                                   const dnnl_memory_desc_t *md, int64_t offset)
{
    dnnl_memory_desc_t canonical_md;
    dnnl_memory_t canonical = NULL, copy = NULL;

    VBS_TRY(od_describe(b, tensor, b->batch, tensor->canonical, false, &canonical_md));
    VBS_TRY(od_kernel_memory(b, &canonical_md, location, index, NULL, &canonical));
    VBS_TRY(od_kernel_at(b, md, offset, &copy));
    return location == OD_SRC ? od_kernel_reorder(b, &canonical_md, canonical, md, copy)
                              : od_kernel_reorder(b, md, copy, &canonical_md, canonical);
}

enum vbs_status od_source(struct od_build *b, int index, enum od_layout layout,
                          const dnnl_memory_desc_t *md, dnnl_memory_t *memory)
{
    const struct od_tensor *tensor = od_input(b, index);
    dnnl_memory_desc_t copy_md;
    int64_t offset = 0;

    if (od_layouts_agree(b->session, tensor, layout))
        return od_kernel_memory(b, md, OD_SRC, index, NULL, memory);
    VBS_TRY(reserve_layout(b, tensor, layout, &copy_md, &offset));
    VBS_TRY(copy_layout(b, tensor, OD_SRC, index, &copy_md, offset));
    return od_kernel_at(b, md, offset, memory);
}

enum vbs_status od_target(struct od_build *b, enum od_layout layout, const dnnl_memory_desc_t *md,
                          struct od_target *target)
{
    const struct od_tensor *tensor = od_output(b);

    *target = (struct od_target){.layout = layout};
    if (od_layouts_agree(b->session, tensor, layout))
        return od_kernel_memory(b, md, OD_DST, 0, NULL, &target->memory);
    target->copied = true;
    VBS_TRY(reserve_layout(b, tensor, layout, &target->md, &target->offset));
    return od_kernel_at(b, md, target->offset, &target->memory);
}

enum vbs_status od_target_end(struct od_build *b, const struct od_target *target)
{
    if (!target->copied)
        return VBS_OK;
    return copy_layout(b, od_output(b), OD_DST, 0, &target->md, target->offset);
}

enum vbs_status od_kernel_end(struct od_build *b, int64_t weight_bytes, int format)
{
    struct vbs_kernel *offer = &b->session->core.offers[b->session->core.session.n_kernels - 1];

    if (b->kernel->floats && b->kernel->floats[b->l->n_inputs] >= 0)
        VBS_TRY(recode(b, b->l->n_inputs));
    offer->ws_bytes = b->kernel->buffer_bytes + aligned(b->kernel->scratch_bytes);
    if (b->kernel->packed)
        offer->packed_bytes = od_packed_bytes(b->kernel->packed, b->kernel->n_channels);
    offer->weight_bytes = weight_bytes;
    offer->format = format;
    for (int i = 0; i < b->kernel->n_memories; i++)
        if (b->kernel->memories[i].location == OD_SCRATCH)
            b->kernel->memories[i].offset = b->kernel->buffer_bytes;
    return VBS_OK;
}

enum vbs_status od_kernel_share(struct od_build *b, int index)
{
    struct od_session *s = b->session;
    const struct vbs_kernel offer = s->core.offers[index];
    struct od_kernel *kernel;

    VBS_TRY(vbs_kernel_append(b->ctx, &s->core, &offer, &s->kernels, sizeof *s->kernels));
    kernel = &s->kernels[s->core.session.n_kernels - 1];
    *kernel = s->kernels[index];
    kernel->shared = true;
    return VBS_OK;
}

bool od_kernels_keep(struct od_session *session, int first, const char *name)
{
    int kept = -1;

    for (int i = first; i < session->core.session.n_kernels; i++) {
        if (kept < 0 && strcmp(session->core.offers[i].algorithm, name) == 0)
            kept = i;
        else
            od_kernel_release(&session->kernels[i]);
    }
    session->core.session.n_kernels = first;
    if (kept < 0)
        return false;
    session->core.offers[first] = session->core.offers[kept];
    session->kernels[first] = session->kernels[kept];
    session->core.session.n_kernels++;
    return true;
}

/* ---- running ---- */

static dnnl_status_t call_function(const struct od_step *step)
{
    float *data[OD_MAX_DATA] = {0};
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < step->n_args && status == dnnl_success; i++) {
        void *handle = NULL;

        status = dnnl_memory_get_data_handle(step->args[i].memory, &handle);
        data[i] = handle;
    }
    if (status == dnnl_success && !step->function(step->plan, data))
        status = dnnl_runtime_error;
    return status;
}

dnnl_status_t od_kernel_execute(const struct od_session *s, const struct od_kernel *kernel)
{
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < kernel->n_steps && status == dnnl_success; i++) {
        const struct od_step *step = &kernel->steps[i];

        status = step->primitive
                     ? dnnl_primitive_execute(step->primitive, s->stream, step->n_args, step->args)
                     : call_function(step);
    }
    return status == dnnl_success ? dnnl_stream_wait(s->stream) : status;
}

void od_kernel_release(struct od_kernel *kernel)
{
    if (kernel->shared)
        return;
    for (int i = 0; i < kernel->n_steps; i++)
        dnnl_primitive_destroy(kernel->steps[i].primitive);
    for (int i = 0; i < kernel->n_memories; i++)
        dnnl_memory_destroy(kernel->memories[i].handle);
    free(kernel->steps);
    free(kernel->memories);
}
