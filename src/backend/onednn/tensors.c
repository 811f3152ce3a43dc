/* Converts tensors to and from their canonical layouts. */
#include "backend/onednn/kernels/kernels.h"

#include "backend/common/common.h"
#include "base/fail.h"
#include "profile/reach.h"

#include <stdlib.h>
#include <string.h>

void od_transfer_release(struct od_transfer *t)
{
    dnnl_primitive_destroy(t->to_canonical);
    dnnl_primitive_destroy(t->to_plain);
    dnnl_memory_destroy(t->plain);
    dnnl_memory_destroy(t->canonical);
}

static dnnl_status_t make_copy(dnnl_engine_t engine, const dnnl_memory_desc_t *from,
                               const dnnl_memory_desc_t *to, dnnl_primitive_t *primitive)
{
    dnnl_primitive_desc_t pd = NULL;
    dnnl_status_t dnnl = od_pd_reorder(from, to, NULL, engine, &pd);

    if (dnnl == dnnl_success)
        dnnl = od_primitive_create(pd, primitive);
    dnnl_primitive_desc_destroy(pd);
    return dnnl;
}

#define SERIAL_BYTES (INT64_C(64) << 10) /* that one thread copies faster than several do */

/* Makes the primitives for t->threads, which the calling thread is set to. */
static enum vbs_status make_copies(struct od_build *b, const struct od_tensor *tensor,
                                   struct od_transfer *t)
{
    dnnl_engine_t engine = b->session->engine;
    dnnl_memory_desc_t plain, canonical;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe(b, tensor, 1, OD_PLAIN, false, &plain));
    VBS_TRY(od_describe(b, tensor, 1, tensor->canonical, false, &canonical));
    dnnl = dnnl_memory_create(&t->plain, &plain, engine, NULL);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_create(&t->canonical, &canonical, engine, NULL);
    if (dnnl == dnnl_success)
        dnnl = make_copy(engine, &plain, &canonical, &t->to_canonical);
    if (dnnl == dnnl_success)
        dnnl = make_copy(engine, &canonical, &plain, &t->to_plain);
    if (dnnl == dnnl_success)
        return VBS_OK;
    od_transfer_release(t);
    *t = (struct od_transfer){0};
    return od_fail(b, dnnl, "copying a tensor");
}

static enum vbs_status transfer_init(struct od_build *b, const struct od_tensor *tensor,
                                     struct od_transfer *t)
{
    struct od_threads before;
    enum vbs_status status;

    t->threads = tensor->bytes <= SERIAL_BYTES ? 1 : b->session->threads;
    before = od_threads_set(t->threads);
    status = make_copies(b, tensor, t);
    od_threads_restore(before);
    return status;
}

static enum vbs_status transfer_sample(struct od_build *b, const struct od_transfer *t,
                                       bool to_canonical, void *plain, void *canonical)
{
    dnnl_stream_t stream = b->session->stream;
    struct od_threads before;
    dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, to_canonical ? t->plain : t->canonical},
                              {DNNL_ARG_TO, to_canonical ? t->canonical : t->plain}};
    dnnl_status_t dnnl = dnnl_memory_set_data_handle_v2(t->plain, plain, stream);

    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_set_data_handle_v2(t->canonical, canonical, stream);
    before = od_threads_set(t->threads);
    if (dnnl == dnnl_success)
        dnnl =
            dnnl_primitive_execute(to_canonical ? t->to_canonical : t->to_plain, stream, 2, args);
    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_wait(stream);
    od_threads_restore(before);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "copying a tensor");
}

/* Converts samples of a tensor whose canonical layout is not plain. */
static enum vbs_status transfer_all(struct vbs_ctx *ctx, struct od_session *s, int tensor, int n,
                                    bool to_canonical, float *values, void *memory)
{
    const struct od_tensor *shape = &s->tensors[tensor];
    struct od_transfer *t = &s->transfers[tensor];
    /* Messages about a tensor need its layer's name. */
    struct vbs_layer layer = {.name = s->core.layers[tensor].name};
    struct od_build b = {.ctx = ctx, .session = s, .layer = tensor, .l = &layer, .batch = 1};

    if (!t->to_plain)
        VBS_TRY(transfer_init(&b, shape, t));
    for (int i = 0; i < n; i++)
        VBS_TRY(transfer_sample(&b, t, to_canonical,
                                values + i * shape->channels * shape->positions,
                                (char *)memory + i * shape->bytes));
    return VBS_OK;
}

/* Converts samples of a tensor of floats. */
static enum vbs_status transfer_floats(struct vbs_ctx *ctx, struct od_session *s, int tensor, int n,
                                       bool to_canonical, float *values, void *memory)
{
    const struct od_tensor *shape = &s->tensors[tensor];

    if (shape->canonical != OD_PLAIN)
        return transfer_all(ctx, s, tensor, n, to_canonical, values, memory);
    if (to_canonical)
        memcpy(memory, values, (size_t)n * (size_t)shape->bytes);
    else
        memcpy(values, memory, (size_t)n * (size_t)shape->bytes);
    return VBS_OK;
}

static void recode(const struct od_session *s, int tensor, int n, enum od_layout floats,
                   bool to_stored, float *values, void *memory)
{
    const struct od_recode r = od_recode_of(s, tensor, n, floats);

    if (to_stored)
        od_encode(&r, values, memory);
    else
        od_decode(&r, memory, values);
}

/* Converts samples of a tensor of bfloat16, whose layout is that of its floats, one by one. */
static enum vbs_status transfer_wide(struct vbs_ctx *ctx, struct od_session *s, int tensor, int n,
                                     bool to_stored, float *values, char *memory)
{
    const struct od_tensor *shape = &s->tensors[tensor];
    int64_t elements = shape->channels * shape->positions;
    float *canonical = od_alloc(shape->bytes);
    enum vbs_status status = canonical ? VBS_OK : vbs_no_memory(ctx);

    for (int i = 0; i < n && status == VBS_OK; i++) {
        char *sample = memory + i * s->stored[tensor].bytes;

        if (!to_stored)
            recode(s, tensor, 1, shape->canonical, false, canonical, sample);
        status = transfer_floats(ctx, s, tensor, 1, to_stored, values + i * elements, canonical);
        if (status == VBS_OK && to_stored)
            recode(s, tensor, 1, shape->canonical, true, canonical, sample);
    }
    free(canonical);
    return status;
}

/* Converts samples between plain floats and the form in which the tensor is stored. */
static enum vbs_status transfer(struct vbs_ctx *ctx, struct od_session *s, int tensor, int n,
                                bool to_stored, float *values, void *memory)
{
    const struct od_stored *stored = &s->stored[tensor];
    struct od_threads before;

    if (stored->encoding.storage == VBS_FLOAT32)
        return transfer_floats(ctx, s, tensor, n, to_stored, values, memory);
    if (stored->encoding.storage == VBS_BFLOAT16)
        return transfer_wide(ctx, s, tensor, n, to_stored, values, memory);
    /* Few bytes are converted faster by one thread. */
    before = od_threads_set((int64_t)n * stored->bytes <= SERIAL_BYTES ? 1 : s->threads);
    recode(s, tensor, n, OD_PLAIN, to_stored, values, memory);
    od_threads_restore(before);
    return VBS_OK;
}

enum vbs_status od_write(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                         const float *values, void *memory)
{
    return transfer(ctx, (struct od_session *)session, tensor, n, true, vbs_writable(values),
                    memory);
}

enum vbs_status od_read(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        const void *memory, float *values)
{
    return transfer(ctx, (struct od_session *)session, tensor, n, false, values,
                    vbs_writable(memory));
}

/* Converts rows of a sample, which are stored with the channels last. */
static void transfer_rows(const struct od_session *s, int tensor, int row, int n, bool to_stored,
                          float *values, float *memory)
{
    const struct od_tensor *t = &s->tensors[tensor];
    int64_t width = t->positions / t->spatial[0], first = row * width;

    for (int64_t p = 0; p < n * width; p++)
        for (int64_t c = 0; c < t->channels; c++) {
            float *value = &values[c * t->positions + first + p];
            float *stored = &memory[p * t->channels + c];

            if (to_stored)
                *stored = *value;
            else
                *value = *stored;
        }
}

/* Checks that the tensor has these rows. */
static enum vbs_status check_rows(struct vbs_ctx *ctx, const struct od_session *s, int tensor,
                                  int row, int n)
{
    const struct vbs_profile_layer *layer = &s->core.layers[tensor];
    int rows = vbs_layer_accumulates(layer) ? 0 : layer->rows; /* those that its output has */

    if (n < 0 || row < 0 || row > rows - n)
        return vbs_fail(ctx, VBS_INVALID, "layer '%s': there are no rows %d to %lld of %d",
                        layer->name, row, (long long)row + n - 1, rows);
    return VBS_OK;
}

enum vbs_status od_write_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int row,
                              int n, const float *values, void *memory)
{
    const struct od_session *s = (const struct od_session *)session;

    VBS_TRY(check_rows(ctx, s, tensor, row, n));
    transfer_rows(s, tensor, row, n, true, vbs_writable(values), memory);
    return VBS_OK;
}

enum vbs_status od_read_rows(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int row,
                             int n, const void *memory, float *values)
{
    const struct od_session *s = (const struct od_session *)session;

    VBS_TRY(check_rows(ctx, s, tensor, row, n));
    transfer_rows(s, tensor, row, n, false, values, vbs_writable(memory));
    return VBS_OK;
}

enum vbs_status od_fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        void *memory)
{
    const struct od_session *s = (const struct od_session *)session;
    const struct od_tensor *shape = &s->tensors[tensor];
    int64_t elements = shape->channels * shape->positions;
    float *values = malloc((size_t)elements * sizeof *values);
    enum vbs_status status = VBS_OK;

    if (!values)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n && status == VBS_OK; i++) {
        if (tensor == 0)
            vbs_network_input_values(s->core.network, i * elements, elements, values);
        else
            vbs_tensor_values(tensor, i * elements, elements, values);
        status =
            od_write(ctx, session, tensor, 1, values, (char *)memory + i * s->stored[tensor].bytes);
    }
    free(values);
    return status;
}
