/* The kernels of a session while it is opened: all of them, or those that are requested. */
#include "backend/common/common.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <stdbool.h>
#include <string.h>

enum vbs_status vbs_kernel_append(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                  const struct vbs_kernel *kernel, void *own, size_t own_size)
{
    int64_t needed = (int64_t)core->session.n_kernels + 1;

    VBS_TRY(vbs_grow(ctx, &core->offers, &core->max_offers, needed, sizeof *core->offers));
    core->session.kernels = core->offers;
    VBS_TRY(vbs_grow(ctx, own, &core->max_own, needed, own_size));
    core->offers[core->session.n_kernels++] = *kernel;
    return VBS_OK;
}

static enum vbs_status check_interrupted(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                         int layer)
{
    if (vbs_cancelled(ctx))
        return vbs_fail(ctx, VBS_INTERRUPTED, "interrupted while preparing layer '%s'",
                        core->layers[layer].name);
    return VBS_OK;
}

static enum vbs_status make_layer(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                  const struct vbs_kernel_maker *maker, int layer, int batch,
                                  const struct vbs_requested *requested)
{
    VBS_TRY(check_interrupted(ctx, core, layer));
    return maker->make(maker->build, layer, batch, requested);
}

static enum vbs_status make_requested(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                      const struct vbs_requested_kernel *kernel,
                                      const struct vbs_kernel_maker *maker)
{
    struct vbs_requested requested;
    bool in_slices = kernel->n_slices > 1, by_rows;
    int first = core->session.n_kernels;

    VBS_TRY(vbs_requested_check(ctx, &core->session, kernel));
    requested = vbs_requested_read(kernel);
    /* All rows are whole samples. */
    by_rows = kernel->rows > 0 && kernel->rows < core->layers[kernel->layer].rows;
    if (!by_rows) {
        VBS_TRY(make_layer(ctx, core, maker, kernel->layer, kernel->batch, &requested));
    } else {
        VBS_TRY(check_interrupted(ctx, core, kernel->layer));
        VBS_TRY(
            maker->make_rows(maker->build, kernel->layer, kernel->row, kernel->rows, &requested));
    }
    if (!maker->keep(maker->build, first, kernel->algorithm))
        return vbs_requested_missing(ctx, &core->session, kernel);
    core->offers[first].rows = by_rows ? kernel->rows : 0;
    core->offers[first].slice = in_slices ? kernel->slice : 0;
    core->offers[first].n_slices = in_slices ? kernel->n_slices : 0;
    return VBS_OK;
}

/* Makes the kernels of a layer at a batch: all, or the only one that the options name. */
static enum vbs_status make_some(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker, int layer, int batch)
{
    struct vbs_requested_kernel only = {.layer = layer, .batch = batch};

    if (options->only)
        only.algorithm = options->only(options->self, layer, batch);
    if (only.algorithm)
        return make_requested(ctx, core, &only, maker);
    return make_layer(ctx, core, maker, layer, batch, NULL);
}

/* Makes the kernels of a layer on 1, 2, 4, ... rows of one sample: in the middle, where both sides
 * reach into the input, if there is such a place. */
static enum vbs_status make_stripes(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const struct vbs_kernel_maker *maker, int layer)
{
    int all = core->layers[layer].rows;

    for (int64_t n = 1; core->layers[layer].reaches && n < all; n *= 2) {
        int first = core->session.n_kernels;

        VBS_TRY(check_interrupted(ctx, core, layer));
        VBS_TRY(maker->make_rows(maker->build, layer, (int)(all / n / 2 * n), (int)n, NULL));
        for (int i = first; i < core->session.n_kernels; i++) {
            core->offers[i].rows = (int)n;
            core->offers[i].row_slices = 1;
        }
    }
    return VBS_OK;
}

/* ---- All kernels, in as much time as there is ---- */

#define JUDGED 0.125 /* of the limit, from which on it is judged whether it will do */

/* The batches of a session that is being made, and what their kernels have taken so far. */
struct kernels_making {
    struct vbs_ctx *ctx;
    struct vbs_session_core *core;
    const struct vbs_backend_options *options;
    const struct vbs_kernel_maker *maker;
    int *batches; /* [n] that are still made, ascending */
    int n;
    double begin_s;
    double first_s, other_s; /* of the first batch, and of all others together */
    int64_t n_others;        /* layers times batches of other_s */
};

static double now_s(const struct kernels_making *m)
{
    return m->maker->now_s ? m->maker->now_s(m->maker->build) : vbs_clock_s();
}

/* Makes the kernels of a layer at all batches. The first takes longer, because it packs weights. */
static enum vbs_status make_batches(struct kernels_making *m, int layer)
{
    for (int i = 0; i < m->n; i++) {
        double begin_s = now_s(m), taken_s;

        VBS_TRY(make_some(m->ctx, m->core, m->options, m->maker, layer, m->batches[i]));
        taken_s = now_s(m) - begin_s;
        m->first_s += i == 0 ? taken_s : 0;
        m->other_s += i == 0 ? 0 : taken_s;
        m->n_others += i > 0;
    }
    return VBS_OK;
}

/* Estimates the seconds from the beginning to the end, when n_made layers are made. */
static double whole_s(const struct kernels_making *m, int n_made)
{
    double left = m->core->session.n_layers - n_made;
    double other_s = m->n_others > 0 ? m->other_s / (double)m->n_others : 0;

    return now_s(m) - m->begin_s + left * (m->first_s / n_made + other_s * (m->n - 1));
}

/* Takes out every second batch between the first and the last, or the last, until there is time for
 * those that stay. The first layers tell nothing of the others, so that a part of the time is over
 * before. */
static void thin_out(struct kernels_making *m, int n_made)
{
    if (now_s(m) - m->begin_s < JUDGED * m->options->time_limit_s)
        return;
    while (m->n > 1 && whole_s(m, n_made) > m->options->time_limit_s) {
        int n = 1;

        for (int i = 2; i < m->n - 1; i += 2)
            m->batches[n++] = m->batches[i];
        if (m->n > 2)
            m->batches[n++] = m->batches[m->n - 1];
        m->n = n;
    }
}

static bool is_made(const struct kernels_making *m, const struct vbs_kernel *kernel)
{
    for (int i = 0; i < m->n; i++)
        if (m->batches[i] == kernel->batch)
            return true;
    return kernel->rows > 0;
}

/* Removes the kernels of batches that were given up. */
static void remove_others(const struct kernels_making *m)
{
    struct vbs_session_core *core = m->core;
    int n = 0;

    if (m->n == m->options->n_batches)
        return;
    for (int i = 0; i < core->session.n_kernels; i++) {
        if (!is_made(m, &core->offers[i])) {
            m->maker->release(m->maker->build, i);
            continue;
        }
        if (n < i) {
            core->offers[n] = core->offers[i];
            m->maker->move(m->maker->build, i, n);
        }
        n++;
    }
    core->session.n_kernels = n;
}

static enum vbs_status make_all(struct kernels_making *m)
{
    int n_layers = m->core->session.n_layers;
    bool limited = m->options->time_limit_s > 0 && m->maker->release;

    VBS_TRY(vbs_graph_check_kernels(m->ctx, n_layers, m->options->n_batches,
                                    (int64_t)n_layers * m->options->n_batches));
    m->batches = vbs_arena_alloc(&m->core->arena, (size_t)m->options->n_batches, sizeof(int));
    if (!m->batches)
        return vbs_no_memory(m->ctx);
    memcpy(m->batches, m->options->batches, (size_t)m->options->n_batches * sizeof(int));
    m->n = m->options->n_batches;
    m->begin_s = now_s(m);
    for (int k = 1; k <= n_layers; k++) {
        VBS_TRY(make_batches(m, k));
        if (limited)
            thin_out(m, k);
        if (m->options->stripes)
            VBS_TRY(make_stripes(m->ctx, m->core, m->maker, k));
    }
    remove_others(m);
    return VBS_OK;
}

enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker)
{
    if (options->stripes && !maker->make_rows)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "this backend has no kernels on rows of a sample");
    if (!options->requested)
        return make_all(
            &(struct kernels_making){.ctx = ctx, .core = core, .options = options, .maker = maker});
    for (int i = 0; i < options->n_requested; i++) {
        int same = vbs_requested_same(options->requested, i);

        if (same >= 0)
            VBS_TRY(maker->share(maker->build, same));
        else
            VBS_TRY(make_requested(ctx, core, &options->requested[i], maker));
    }
    return VBS_OK;
}
