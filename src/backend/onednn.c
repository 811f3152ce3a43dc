/*
 * The onednn backend: layers on the processor by oneDNN 2.6 or a later 2.x. This file opens and
 * runs sessions; onednn.h says how the parts fit together.
 */
#include "backend/onednn.h"

#include "backend/backends.h"
#include "backend/cpu.h"
#include "backend/graph.h"
#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* From libgomp, which oneDNN runs on; declared here because only gcc brings omp.h. */
extern void omp_set_num_threads(int n);
extern int omp_get_max_threads(void);
extern int omp_get_proc_bind(void);

/* ---- what there is ---- */

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        {dnnl_cpu_isa_sse41, "sse41"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
        {dnnl_cpu_isa_avx512_mic, "avx512_mic"},
        {dnnl_cpu_isa_avx512_mic_4ops, "avx512_mic_4ops"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].isa == isa)
            return names[i].name;
    return "generic";
}

static void describe_library(char *buffer, size_t size)
{
    const dnnl_version_t *v = dnnl_version();
    const char *runtime = v->cpu_runtime == DNNL_RUNTIME_OMP   ? "OpenMP"
                          : v->cpu_runtime == DNNL_RUNTIME_TBB ? "TBB"
                          : v->cpu_runtime == DNNL_RUNTIME_SEQ ? "sequential"
                                                               : "threadpool";

    if (strcmp(v->hash, "N/A") == 0)
        snprintf(buffer, size, "oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch, runtime);
    else
        snprintf(buffer, size, "oneDNN %d.%d.%d (%.12s), %s", v->major, v->minor, v->patch, v->hash,
                 runtime);
}

static void describe_device(char *buffer, size_t size)
{
    char cpu[160];

    vbs_cpu_describe(cpu, sizeof cpu);
    snprintf(buffer, size, "%s, %s", cpu, isa_name(dnnl_get_effective_cpu_isa()));
}

static void probe(struct vbs_backend_info *info)
{
    *info = (struct vbs_backend_info){.built = true};
    describe_library(info->library, sizeof info->library);
    describe_device(info->device, sizeof info->device);
    info->usable = dnnl_engine_get_count(dnnl_cpu) > 0;
    if (!info->usable)
        snprintf(info->why, sizeof info->why, "this build of oneDNN has no engine for processors");
}

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

/* oneDNN's sources are not const; it does not write to them, but may rewrite the zeros of padding
 * with zeros. */
static void *writable(const void *memory)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = memory};

    return pointer.out;
}

static dnnl_status_t place_memories(const struct od_session *s, const struct od_kernel *kernel,
                                    const struct vbs_operands *o)
{
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < kernel->n_memories && status == dnnl_success; i++) {
        const struct od_memory *m = &kernel->memories[i];
        void *data = m->place == OD_SRC   ? writable(o->src[m->index])
                     : m->place == OD_DST ? o->dst
                     : o->ws              ? (char *)o->ws + m->offset
                                          : NULL;

        if (m->place != OD_FIXED)
            status = dnnl_memory_set_data_handle_v2(m->handle, data, s->stream);
    }
    return status;
}

static dnnl_status_t execute(const struct od_session *s, const struct od_kernel *kernel)
{
    dnnl_status_t status = dnnl_success;

    for (int i = 0; i < kernel->n_steps && status == dnnl_success; i++)
        status = dnnl_primitive_execute(kernel->steps[i].primitive, s->stream,
                                        kernel->steps[i].n_args, kernel->steps[i].args);
    return status == dnnl_success ? dnnl_stream_wait(s->stream) : status;
}

static double since_us(const struct timespec *start)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) * 1e6 +
           (double)(now.tv_nsec - start->tv_nsec) * 1e-3;
}

static enum vbs_status run(struct vbs_ctx *ctx, struct vbs_session *session, int kernel,
                           const struct vbs_operands *operands, double *time_us)
{
    struct od_session *s = own(session);
    const struct vbs_kernel *offer = &s->offers[kernel];
    int threads_before = omp_get_max_threads();
    struct timespec start;
    dnnl_status_t status;
    double taken_us = 0;

    omp_set_num_threads(s->threads);
    status = place_memories(s, &s->kernels[kernel], operands);
    if (status == dnnl_success) {
        clock_gettime(CLOCK_MONOTONIC, &start);
        status = execute(s, &s->kernels[kernel]);
        taken_us = since_us(&start);
    }
    omp_set_num_threads(threads_before);
    if (status == dnnl_out_of_memory)
        return vbs_no_memory(ctx);
    if (status != dnnl_success)
        return vbs_fail(ctx, VBS_LIBRARY, "layer '%s': oneDNN failed in '%s' at batch %d (%d)",
                        s->layers[offer->layer].name, offer->algorithm, offer->batch, (int)status);
    *time_us = taken_us;
    return VBS_OK;
}

/* ---- tensors in and out ---- */

/* A copy of one sample between plain order and a tensor's home. */
struct transfer {
    dnnl_memory_t plain, home;
    dnnl_primitive_t primitive;
};

static void transfer_release(struct transfer *t)
{
    dnnl_primitive_destroy(t->primitive);
    dnnl_memory_destroy(t->plain);
    dnnl_memory_destroy(t->home);
}

static enum vbs_status transfer_init(struct od_build *b, const struct od_tensor *tensor,
                                     bool to_home, struct transfer *t)
{
    dnnl_engine_t engine = b->session->engine;
    dnnl_primitive_desc_t pd = NULL;
    dnnl_memory_desc_t plain, home;
    dnnl_status_t dnnl;
    enum vbs_status status = od_describe(b, tensor, 1, OD_PLAIN, false, &plain);

    *t = (struct transfer){0};
    if (status == VBS_OK)
        status = od_describe(b, tensor, 1, tensor->home, false, &home);
    if (status != VBS_OK)
        return status;
    dnnl = dnnl_memory_create(&t->plain, &plain, engine, NULL);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_create(&t->home, &home, engine, NULL);
    if (dnnl == dnnl_success)
        dnnl = dnnl_reorder_primitive_desc_create(&pd, to_home ? &plain : &home, engine,
                                                  to_home ? &home : &plain, engine, NULL);
    if (dnnl == dnnl_success)
        dnnl = dnnl_primitive_create(&t->primitive, pd);
    dnnl_primitive_desc_destroy(pd);
    if (dnnl == dnnl_success)
        return VBS_OK;
    transfer_release(t);
    return od_fail(b, dnnl, "copying a tensor");
}

static enum vbs_status transfer_sample(struct od_build *b, struct transfer *t, bool to_home,
                                       void *plain, void *home)
{
    dnnl_stream_t stream = b->session->stream;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, to_home ? t->plain : t->home},
                              {DNNL_ARG_TO, to_home ? t->home : t->plain}};
    dnnl_status_t dnnl = dnnl_memory_set_data_handle_v2(t->plain, plain, stream);

    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_set_data_handle_v2(t->home, home, stream);
    if (dnnl == dnnl_success)
        dnnl = dnnl_primitive_execute(t->primitive, stream, 2, args);
    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_wait(stream);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "copying a tensor");
}

/* What errors about a tensor need: its layer's name. */
static struct od_build about(struct vbs_ctx *ctx, struct od_session *s, struct vbs_layer *layer,
                             int tensor)
{
    *layer = (struct vbs_layer){.name = s->layers[tensor].name};
    return (struct od_build){.ctx = ctx, .session = s, .layer = tensor, .l = layer, .batch = 1};
}

static enum vbs_status transfer_all(struct vbs_ctx *ctx, struct od_session *s, int tensor, int n,
                                    bool to_home, float *values, void *memory)
{
    const struct od_tensor *shape = &s->tensors[tensor];
    int64_t elements = shape->channels * shape->positions;
    struct vbs_layer layer;
    struct od_build b = about(ctx, s, &layer, tensor);
    struct transfer t;
    enum vbs_status status = transfer_init(&b, shape, to_home, &t);

    if (status != VBS_OK)
        return status;
    for (int i = 0; i < n && status == VBS_OK; i++)
        status = transfer_sample(&b, &t, to_home, values + i * elements,
                                 (char *)memory + i * shape->bytes);
    transfer_release(&t);
    return status;
}

static enum vbs_status write_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                    int n, const float *values, void *memory)
{
    return transfer_all(ctx, own(session), tensor, n, true, writable(values), memory);
}

static enum vbs_status read_tensor(struct vbs_ctx *ctx, struct vbs_session *session, int tensor,
                                   int n, const void *memory, float *values)
{
    return transfer_all(ctx, own(session), tensor, n, false, values, writable(memory));
}

static enum vbs_status fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                            void *memory)
{
    const struct od_tensor *shape = &own(session)->tensors[tensor];
    int64_t elements = shape->channels * shape->positions;
    float *values = malloc((size_t)elements * sizeof *values);
    enum vbs_status status = VBS_OK;

    if (!values)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n && status == VBS_OK; i++) {
        vbs_tensor_values(tensor, i * elements, elements, values);
        status = write_tensor(ctx, session, tensor, 1, values, (char *)memory + i * shape->bytes);
    }
    free(values);
    return status;
}

/* ---- opening and closing ---- */

static void close_session(struct vbs_session *session)
{
    struct od_session *s = own(session);

    if (!s)
        return;
    for (int i = 0; i < s->base.n_kernels; i++)
        od_kernel_release(&s->kernels[i]);
    for (int k = 0; s->weights && k <= s->base.n_layers; k++)
        od_weights_release(&s->weights[k]);
    dnnl_stream_destroy(s->stream);
    dnnl_engine_destroy(s->engine);
    free(s->offers);
    free(s->kernels);
    vbs_arena_clear(&s->arena);
    free(s);
}

static const struct vbs_session_ops ops = {
    .alloc = alloc,
    .free = release,
    .run = run,
    .fill = fill,
    .write = write_tensor,
    .read = read_tensor,
    .close = close_session,
};

static enum vbs_status init_circumstances(struct vbs_ctx *ctx, const struct vbs_network *network,
                                          struct od_session *s)
{
    struct vbs_circumstances *c = &s->base.circumstances;
    char library[200], device[200], notes[100], input[64];
    double mhz = vbs_cpu_clock_mhz();

    describe_library(library, sizeof library);
    describe_device(device, sizeof device);
    snprintf(notes, sizeof notes, "threads %s%s%.0f%s",
             omp_get_proc_bind() ? "bound" : "not bound (OMP_PROC_BIND)", mhz > 0 ? ", clock " : "",
             mhz, mhz > 0 ? " MHz" : "");
    *c = (struct vbs_circumstances){
        .model = vbs_arena_strdup(&s->arena, network->name),
        .input =
            vbs_arena_strdup(&s->arena, vbs_shape_format(&network->input, input, sizeof input)),
        .backend = vbs_backend_onednn.name,
        .library = vbs_arena_strdup(&s->arena, library),
        .device = vbs_arena_strdup(&s->arena, device),
        .vbslab = vbs_version(),
        .date = "",
        .notes = vbs_arena_strdup(&s->arena, notes),
        .threads = s->threads,
    };
    return c->model && c->input && c->library && c->device && c->notes ? VBS_OK
                                                                       : vbs_no_memory(ctx);
}

/* Layer k as in a profile; the tensors that it reads are described already. */
static enum vbs_status init_layer(struct od_build *b, int k)
{
    struct od_session *s = b->session;
    const struct vbs_layer *l = &b->network->layers[k];
    struct vbs_profile_layer *layer = &s->layers[k];
    int *inputs = vbs_arena_alloc(&s->arena, (size_t)l->n_inputs, sizeof *inputs);
    enum vbs_status status;

    b->layer = k;
    b->l = l;
    *layer = (struct vbs_profile_layer){.name = vbs_arena_strdup(&s->arena, l->name),
                                        .kind = vbs_op_word(l->op),
                                        .n_inputs = l->n_inputs,
                                        .inputs = inputs,
                                        .weight_bytes = 4 * l->parameters,
                                        .channels = vbs_graph_channels(l)};
    if (!inputs || !layer->name)
        return vbs_no_memory(b->ctx);
    status = od_tensor_init(b, &l->shape, &s->tensors[k]);
    if (status != VBS_OK)
        return status;
    layer->out_bytes = s->tensors[k].bytes;
    for (int i = 0; i < l->n_inputs; i++) {
        inputs[i] = l->inputs[i];
        layer->in_bytes += s->tensors[inputs[i]].bytes;
    }
    return VBS_OK;
}

/* Adds write onto an input that nobody needs any more; that one comes first. */
static enum vbs_status init_in_place(struct od_build *b)
{
    struct od_session *s = b->session;
    int n = s->base.n_layers;
    bool *mark = vbs_arena_alloc(&s->arena, (size_t)n + 1, sizeof *mark);

    if (!mark)
        return vbs_no_memory(b->ctx);
    for (int k = 1; k <= n; k++) {
        int first, *inputs;

        if (b->network->layers[k].op != VBS_OP_ADD ||
            !vbs_graph_in_place(s->layers, n, k, mark, &first))
            continue;
        inputs = vbs_arena_alloc(&s->arena, 2, sizeof *inputs);
        if (!inputs)
            return vbs_no_memory(b->ctx);
        inputs[0] = s->layers[k].inputs[first];
        inputs[1] = s->layers[k].inputs[1 - first];
        s->layers[k].inputs = inputs;
        s->layers[k].in_place = true;
    }
    return VBS_OK;
}

static enum vbs_status init_layers(struct od_build *b)
{
    struct od_session *s = b->session;
    size_t n = (size_t)b->network->n_layers + 1;
    enum vbs_status status;

    s->base.n_layers = b->network->n_layers;
    s->layers = vbs_arena_alloc(&s->arena, n, sizeof *s->layers);
    s->tensors = vbs_arena_alloc(&s->arena, n, sizeof *s->tensors);
    s->weights = vbs_arena_alloc(&s->arena, n, sizeof *s->weights);
    if (!s->layers || !s->tensors || !s->weights)
        return vbs_no_memory(b->ctx);
    s->base.layers = s->layers;
    b->l = &b->network->layers[0];
    status = od_tensor_init(b, &b->network->input, &s->tensors[0]);
    s->layers[0] = (struct vbs_profile_layer){
        .name = VBS_INPUT_NAME, .kind = VBS_INPUT_NAME, .out_bytes = s->tensors[0].bytes};
    for (int k = 1; k < (int)n && status == VBS_OK; k++)
        status = init_layer(b, k);
    return status == VBS_OK ? init_in_place(b) : status;
}

static enum vbs_status build_layer(struct od_build *b)
{
    if (vbs_cancelled(b->ctx))
        return vbs_fail(b->ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        b->l->name);
    switch (b->l->op) {
    case VBS_OP_CONV:
        return od_build_conv(b);
    case VBS_OP_FC:
        return od_build_fc(b);
    default:
        return od_build_other(b);
    }
}

static enum vbs_status init_kernels(struct od_build *b, const struct vbs_backend_options *options)
{
    for (int k = 1; k <= b->network->n_layers; k++)
        for (int i = 0; i < options->n_batches; i++) {
            enum vbs_status status;

            b->layer = k;
            b->l = &b->network->layers[k];
            b->batch = options->batches[i];
            status = build_layer(b);
            if (status != VBS_OK)
                return status;
        }
    return VBS_OK;
}

static enum vbs_status init(struct od_build *b, const struct vbs_backend_options *options)
{
    struct od_session *s = b->session;
    dnnl_status_t dnnl = dnnl_engine_create(&s->engine, dnnl_cpu, 0);
    enum vbs_status status;

    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags);
    if (dnnl != dnnl_success)
        return vbs_fail(b->ctx, dnnl == dnnl_out_of_memory ? VBS_NO_MEMORY : VBS_LIBRARY,
                        "cannot start oneDNN (%d)", (int)dnnl);
    s->block = od_block();
    status = init_circumstances(b->ctx, b->network, s);
    if (status == VBS_OK)
        status = init_layers(b);
    return status == VBS_OK ? init_kernels(b, options) : status;
}

/* Kernels are made for a number of threads, and run with it. */
static enum vbs_status open_session(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_backend_options *options,
                                    struct vbs_session **session)
{
    int threads_before = omp_get_max_threads();
    struct od_session *s = calloc(1, sizeof *s);
    struct od_build b = {.ctx = ctx, .session = s, .network = network, .batch = 1};
    enum vbs_status status;

    if (!s)
        return vbs_no_memory(ctx);
    s->base.ops = &ops;
    s->threads = options->threads > 0 ? options->threads : threads_before;
    omp_set_num_threads(s->threads);
    status = init(&b, options);
    free(b.plain);
    omp_set_num_threads(threads_before);
    if (status != VBS_OK) {
        close_session(&s->base);
        return status;
    }
    *session = &s->base;
    return VBS_OK;
}

const struct vbs_backend vbs_backend_onednn = {
    .name = "onednn",
    .summary = "layers on this machine's processor, by oneDNN",
    .probe = probe,
    .open = open_session,
};
