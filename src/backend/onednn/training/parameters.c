/* Trainable arrays and running statistics: their memory, layouts and plain values. */
#include "backend/onednn/training/training.h"

#include "base/fail.h"
#include "base/grow.h"

#include <stdlib.h>
#include <string.h>

enum vbs_status od_train_alloc(struct od_train_build *b, int64_t bytes, void *memory)
{
    struct od_training *t = b->t;
    void *made;

    VBS_TRY(vbs_grow(b->build.ctx, &t->memory, &t->max_memory, t->n_memory + 1, sizeof *t->memory));
    made = od_alloc(bytes);
    if (!made)
        return vbs_no_memory(b->build.ctx);
    t->memory[t->n_memory++] = made;
    memcpy(memory, &made, sizeof made);
    return VBS_OK;
}

/* ---- making arrays ---- */

static enum vbs_status add_memory(struct od_train_build *b, int64_t bytes, float **memory)
{
    if (*memory)
        return VBS_OK;
    VBS_TRY(od_train_alloc(b, bytes, memory));
    b->t->session.parameter_bytes += bytes;
    return VBS_OK;
}

enum vbs_status od_add_trainable(struct od_train_build *b, enum vbs_parameter what,
                                 const dnnl_memory_desc_t *md, const dnnl_memory_desc_t *plain,
                                 float *values, float *gradient, int *index)
{
    struct od_training *t = b->t;
    struct vbs_training *s = &t->session;
    int64_t bytes = (int64_t)dnnl_memory_desc_get_size(md), n = (int64_t)s->n_trainable + 1;

    VBS_TRY(add_memory(b, bytes, &values));
    VBS_TRY(add_memory(b, bytes, &gradient));
    VBS_TRY(vbs_grow(b->build.ctx, &s->trainable, &t->max_trainable, n, sizeof *s->trainable));
    VBS_TRY(vbs_grow(b->build.ctx, &t->arrays, &t->max_arrays, n, sizeof *t->arrays));
    s->trainable[s->n_trainable] =
        (struct vbs_trainable){.layer = b->o->layer,
                               .fused = b->o->fused,
                               .name = b->o->name,
                               .what = what,
                               .count = (int64_t)(dnnl_memory_desc_get_size(plain) / sizeof(float)),
                               .stored = bytes / (int64_t)sizeof(float),
                               .values = values,
                               .gradient = gradient};
    t->arrays[s->n_trainable] = (struct od_array){
        .md = *md, .plain = *plain, .channels = 1, .positions = 1, .gradient = gradient};
    *index = s->n_trainable++;
    return VBS_OK;
}

enum vbs_status od_add_statistic(struct od_train_build *b, enum vbs_parameter what, int64_t count,
                                 int *index)
{
    struct vbs_training *s = &b->t->session;
    float *values = NULL;

    VBS_TRY(add_memory(b, count * (int64_t)sizeof *values, &values));
    VBS_TRY(vbs_grow(b->build.ctx, &s->statistics, &b->t->max_statistics,
                     (int64_t)s->n_statistics + 1, sizeof *s->statistics));
    s->statistics[s->n_statistics] = (struct vbs_running_statistic){.layer = b->o->layer,
                                                                    .fused = b->o->fused,
                                                                    .name = b->o->name,
                                                                    .what = what,
                                                                    .count = count,
                                                                    .values = values};
    *index = s->n_statistics++;
    return VBS_OK;
}

/* ---- plain order ---- */

static enum vbs_status copy(struct od_build *b, const dnnl_memory_desc_t *from_md, float *from,
                            const dnnl_memory_desc_t *to_md, float *to)
{
    dnnl_engine_t engine = b->session->engine;
    dnnl_exec_arg_t args[2] = {{DNNL_ARG_FROM, NULL}, {DNNL_ARG_TO, NULL}};
    dnnl_primitive_desc_t pd = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_status_t dnnl = od_pd_reorder(from_md, to_md, NULL, engine, &pd);

    if (dnnl == dnnl_success)
        dnnl = od_primitive_create(pd, &primitive);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_create(&args[0].memory, from_md, engine, from);
    if (dnnl == dnnl_success)
        dnnl = dnnl_memory_create(&args[1].memory, to_md, engine, to);
    if (dnnl == dnnl_success)
        dnnl = dnnl_primitive_execute(primitive, b->session->stream, 2, args);
    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_wait(b->session->stream);
    dnnl_memory_destroy(args[0].memory);
    dnnl_memory_destroy(args[1].memory);
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(pd);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "copying parameters");
}

/* Copies rows of [n][m] matrices, each transposed to [m][n]. */
static void transpose(int64_t rows, int64_t n, int64_t m, const float *from, float *to)
{
    for (int64_t r = 0; r < rows; r++, from += n * m, to += n * m)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < m; j++)
                to[j * n + i] = from[i * m + j];
}

static struct od_build build_for(struct vbs_ctx *ctx, struct od_training *t, int index)
{
    int layer = t->session.trainable[index].layer;

    return (struct od_build){.ctx = ctx,
                             .session = &t->base,
                             .network = t->network,
                             .layer = layer,
                             .l = &t->network->layers[layer],
                             .batch = t->session.batch};
}

enum vbs_status od_read_array(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                              bool gradient, float *plain)
{
    struct od_training *t = (struct od_training *)session;
    const struct od_array *a = &t->arrays[index];
    float *values = gradient ? a->gradient : session->trainable[index].values, *copied;
    struct od_build b = build_for(ctx, t, index);
    struct od_threads before;
    enum vbs_status status;

    copied = malloc((size_t)session->trainable[index].count * sizeof *copied);
    if (!copied)
        return vbs_no_memory(ctx);
    before = od_threads_set(t->base.threads);
    status = copy(&b, &a->md, values, &a->plain, copied);
    od_threads_restore(before);
    if (status == VBS_OK)
        transpose(session->trainable[index].count / (a->positions * a->channels), a->positions,
                  a->channels, copied, plain);
    free(copied);
    return status;
}

enum vbs_status od_write_array(struct vbs_ctx *ctx, struct vbs_training *session, int index,
                               const float *plain)
{
    struct od_training *t = (struct od_training *)session;
    const struct od_array *a = &t->arrays[index];
    struct od_build b = build_for(ctx, t, index);
    float *copied = malloc((size_t)session->trainable[index].count * sizeof *copied);
    struct od_threads before;
    enum vbs_status status;

    if (!copied)
        return vbs_no_memory(ctx);
    transpose(session->trainable[index].count / (a->positions * a->channels), a->channels,
              a->positions, plain, copied);
    before = od_threads_set(t->base.threads);
    status = copy(&b, &a->plain, copied, &a->md, session->trainable[index].values);
    od_threads_restore(before);
    free(copied);
    return status;
}

/* ---- the network's own values ---- */

static enum vbs_status read_trainable(struct vbs_ctx *ctx, struct od_training *t, int index)
{
    const struct vbs_trainable *p = &t->session.trainable[index];
    float *plain = malloc((size_t)p->count * sizeof *plain);
    enum vbs_status status;

    if (!plain)
        return vbs_no_memory(ctx);
    status = vbs_parameter_values(ctx, t->network, p->layer, p->fused, p->what, 0, p->count, plain);
    if (status == VBS_OK)
        status = od_write_array(ctx, &t->session, index, plain);
    free(plain);
    return status;
}

enum vbs_status od_read_network(struct od_train_build *b)
{
    const struct vbs_training *s = &b->t->session;

    for (int i = 0; i < s->n_trainable; i++)
        VBS_TRY(read_trainable(b->build.ctx, b->t, i));
    for (int i = 0; i < s->n_statistics; i++) {
        const struct vbs_running_statistic *r = &s->statistics[i];

        VBS_TRY(vbs_parameter_values(b->build.ctx, b->t->network, r->layer, r->fused, r->what, 0,
                                     r->count, r->values));
    }
    return VBS_OK;
}
