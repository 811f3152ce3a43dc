/* A session's calls: running kernels, packing their weights, memory, and the end. */
#include "backend/onednn/kernels/kernels.h"

#include "backend/common/common.h"
#include "base/arith.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- running ---- */

static struct od_session *own(struct vbs_session *session)
{
    return (struct od_session *)session;
}

static void *alloc(struct vbs_session *session, int64_t bytes)
{
    (void)session;
    return od_alloc(bytes);
}

static void release(struct vbs_session *session, void *memory)
{
    (void)session;
    free(memory);
}

/* Gives the threads that a kernel runs on. */
static int threads_of(const struct od_session *s, int kernel)
{
    return s->kernels[kernel].serial ? 1 : s->threads;
}

/* Gives the address at which the data of a memory object begins. */
static void *find_address(const struct od_kernel *kernel, const struct od_memory *m,
                          const struct vbs_operands *o)
{
    const struct od_packed *packed = kernel->packed;

    switch (m->location) {
    case OD_SRC:
        return vbs_writable(o->src[m->index]);
    case OD_DST:
        return o->dst;
    case OD_WEIGHTS:
        return o->weights ? vbs_writable(o->weights)
                          : (char *)packed->data + od_packed_bytes(packed, kernel->first_channel);
    default:
        return o->ws;
    }
}

/* Sets the addresses of a kernel's memory objects. Most runs of a kernel find them as they are,
 * and setting one takes the library as long as a small layer. */
static dnnl_status_t set_addresses(const struct od_session *s, const struct od_kernel *kernel,
                                   const struct vbs_operands *o)
{
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < kernel->n_memories && status == dnnl_success; i++) {
        struct od_memory *m = &kernel->memories[i];
        char *address;

        if (m->location == OD_FIXED)
            continue;
        address = find_address(kernel, m, o);
        if (address)
            address += m->offset;
        if (address == m->address && !m->padded)
            continue;
        status = dnnl_memory_set_data_handle_v2(m->handle, address, s->stream);
        m->address = status == dnnl_success ? address : NULL;
    }
    return status;
}

static double since_us(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) * 1e6 +
           (double)(now.tv_nsec - start->tv_nsec) * 1e-3;
}

static enum vbs_status run_kernel(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                                  const struct vbs_operands *operands, double *time_us)
{
    struct od_session *s = own(session);
    const struct vbs_kernel *offer = &s->core.offers[kernel];
    struct od_threads before;
    struct timespec start;
    dnnl_status_t status;
    double taken_us = 0;

    if (offer->packed_bytes > 0 && s->core.weights_given && !operands->weights)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': '%s' at batch %d is run without weights",
                        s->core.layers[offer->layer].name, offer->algorithm, offer->batch);
    before = od_threads_set(threads_of(s, kernel));
    status = set_addresses(s, &s->kernels[kernel], operands);
    if (status == dnnl_success) {
        if (time_us)
            clock_gettime(CLOCK_MONOTONIC, &start);
        status = od_kernel_execute(s, &s->kernels[kernel]);
        if (time_us)
            taken_us = since_us(&start);
    }
    od_threads_restore(before);
    if (status == dnnl_out_of_memory)
        return vbs_no_memory(ctx);
    if (status != dnnl_success)
        return vbs_fail(ctx, VBS_LIBRARY, "layer '%s': oneDNN failed in '%s' at batch %d (%d)",
                        s->core.layers[offer->layer].name, offer->algorithm, offer->batch,
                        (int)status);
    if (time_us)
        *time_us = taken_us;
    return VBS_OK;
}

/* Makes a build for functions that work on kernel number index's layer. */
static struct od_build build_of(struct vbs_ctx *ctx, struct od_session *s, int index)
{
    int layer = s->core.offers[index].layer;

    return (struct od_build){.ctx = ctx,
                             .session = s,
                             .network = s->core.network,
                             .layer = layer,
                             .l = &s->core.network->layers[layer],
                             .batch = s->core.offers[index].batch};
}

static enum vbs_status pack(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                            void *memory)
{
    struct od_session *s = own(session);
    const struct od_kernel *k = &s->kernels[kernel];
    struct od_build b = build_of(ctx, s, kernel);
    enum vbs_status status = VBS_OK;

    if (!k->packed)
        return VBS_OK;
    if (k->packed->data)
        memcpy(memory, (char *)k->packed->data + od_packed_bytes(k->packed, k->first_channel),
               (size_t)s->core.offers[kernel].packed_bytes);
    else
        status = od_weights_write(&b, k->packed, k->first_channel, k->n_channels, memory);
    free(b.plain);
    return status;
}

static enum vbs_status pack_to(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                               const struct vbs_pack_sink *sink)
{
    struct od_session *s = own(session);
    const struct od_kernel *k = &s->kernels[kernel];
    struct od_build b = build_of(ctx, s, kernel);
    enum vbs_status status = VBS_OK;

    if (!k->packed)
        return VBS_OK;
    if (k->packed->data)
        return sink->write(ctx, sink->self,
                           (char *)k->packed->data + od_packed_bytes(k->packed, k->first_channel),
                           s->core.offers[kernel].packed_bytes);
    status = od_weights_stream(&b, k->packed, k->first_channel, k->n_channels, sink);
    free(b.plain);
    return status;
}

static uint64_t geometry(const struct vbs_session *session, int layer)
{
    const struct od_session *s = (const struct od_session *)session;
    const struct vbs_layer *l = &s->core.network->layers[layer];
    uint64_t hash = vbs_session_geometry(&s->core, layer, layer);

    hash = vbs_mix(hash, (uint64_t)s->stripes);
    hash = vbs_mix(hash, (uint64_t)s->tensors[layer].canonical);
    for (int i = 0; i < l->n_inputs; i++)
        hash = vbs_mix(hash, (uint64_t)s->inputs[layer][i].canonical);
    return hash;
}

/* ---- closing ---- */

static void close_session(struct vbs_session *session)
{
    struct od_session *s = own(session);

    for (int i = 0; i < s->core.session.n_kernels; i++)
        od_kernel_release(&s->kernels[i]);
    for (int k = 0; s->weights && k <= s->core.session.n_layers; k++)
        od_weights_release(&s->weights[k]);
    while (s->coded) {
        struct od_coded_step *step = s->coded;

        s->coded = step->next;
        vbs_coded_plan_free(step->plan);
        free(step);
    }
    for (int k = 0; s->transfers && k <= s->core.session.n_layers; k++)
        od_transfer_release(&s->transfers[k]);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s->kernels);
    vbs_session_core_clear(&s->core);
    free(s);
}

const struct vbs_session_ops od_session_ops = {
    .alloc = alloc,
    .free = release,
    .run = run_kernel,
    .pack = pack,
    .fill = od_fill,
    .write = od_write,
    .read = od_read,
    .write_rows = od_write_rows,
    .read_rows = od_read_rows,
    .close = close_session,
    .geometry = geometry,
    .pack_to = pack_to,
    .speed = od_speed,
    .cache_speed = od_cache_speed,
};
