/* The kernels of a session while it is opened: all of them, or those that are requested. */
#include "backend/common/common.h"

#include "base/arena.h"
#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"

#include <stdbool.h>
#include <stdlib.h>
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

/* Returns whether a layer has kernels on so many rows: fewer than a whole sample has. */
static bool has_rows(const struct vbs_session_core *core, int layer, int64_t n)
{
    return core->layers[layer].reaches && n < core->layers[layer].rows;
}

/* Makes the kernels of a layer on n rows of one sample: in the middle, where both sides reach into
 * the input, if there is such a place. */
static enum vbs_status make_rows(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_kernel_maker *maker, int layer, int64_t n)
{
    int first = core->session.n_kernels;
    int row = (int)(core->layers[layer].rows / n / 2 * n);

    VBS_TRY(check_interrupted(ctx, core, layer));
    VBS_TRY(maker->make_rows(maker->build, layer, row, (int)n, NULL));
    for (int i = first; i < core->session.n_kernels; i++) {
        core->offers[i].rows = (int)n;
        core->offers[i].row_slices = 1;
    }
    return VBS_OK;
}

/* ---- Packing weights ---- */

/* Returns whether a backend packs the weights of kernels after these are made. */
static bool packs(const struct vbs_session_core *core, const struct vbs_kernel_maker *maker)
{
    return maker->pack && !core->weights_given;
}

static enum vbs_status pack_all(struct vbs_ctx *ctx, const struct vbs_session_core *core,
                                const struct vbs_kernel_maker *maker)
{
    for (int i = 0; packs(core, maker) && i < core->session.n_kernels; i++) {
        VBS_TRY(check_interrupted(ctx, core, core->offers[i].layer));
        VBS_TRY(maker->pack(maker->build, i));
    }
    return VBS_OK;
}

/* ---- All kernels, in as much time as there is ---- */

/* Shares of the time that is left when their turn comes: for kernels on rows, and for batches
 * before further formats of weights. */
#define ROWS_SHARE    0.75
#define BATCHES_SHARE 0.5

/*
 * Where the time is limited, every layer first gets its kernels at the first batch, of which one
 * can run: its weights are packed, in the format of the fewest bytes. Then a share of the time that
 * is left is for kernels on rows, where they are wanted, and one for further batches, from coarse
 * to fine. The other formats of weights follow, the first further one of all layers before the
 * second ones; at last, batches again. Batches and formats are begun only if they are likely to end
 * within the limit, by what those before them took. Kernels whose weights are not packed in the end
 * are removed.
 */
struct kernels_making {
    struct vbs_ctx *ctx;
    struct vbs_session_core *core;
    const struct vbs_backend_options *options;
    const struct vbs_kernel_maker *maker;
    bool *made;                      /* [options->n_batches] */
    bool (*packed)[VBS_MAX_FORMATS]; /* [n_layers + 1] */
    double begin_s;
    double first_s;   /* of the first batch, without packing */
    double others_s;  /* of n_others other batches */
    int n_others;     /* batches that all layers have */
    double packing_s; /* that packing packed_bytes took */
    double packed_bytes;
};

static double elapsed_s(const struct kernels_making *m)
{
    return (m->maker->now_s ? m->maker->now_s(m->maker->build) : vbs_clock_s()) - m->begin_s;
}

/* Returns the end of a share of the time that is left. */
static double until_s(const struct kernels_making *m, double share)
{
    return elapsed_s(m) + share * (m->options->time_limit_s - elapsed_s(m));
}

static bool is_late(const struct kernels_making *m)
{
    return elapsed_s(m) > m->options->time_limit_s;
}

/* Returns whether a kernel cannot run yet, because its weights are not packed. */
static bool lacks_weights(const struct kernels_making *m, int index)
{
    const struct vbs_kernel *kernel = &m->core->offers[index];

    return packs(m->core, m->maker) && kernel->packed_bytes > 0 &&
           !m->packed[kernel->layer][kernel->format];
}

static enum vbs_status pack_weights(struct kernels_making *m, int index)
{
    const struct vbs_kernel *kernel = &m->core->offers[index];
    double begin_s = elapsed_s(m);

    VBS_TRY(check_interrupted(m->ctx, m->core, kernel->layer));
    VBS_TRY(m->maker->pack(m->maker->build, index));
    m->packed[kernel->layer][kernel->format] = true;
    m->packing_s += elapsed_s(m) - begin_s;
    m->packed_bytes += (double)kernel->packed_bytes;
    return VBS_OK;
}

/* Packs weights so that one of the kernels from number first on can run. */
static enum vbs_status pack_least(struct kernels_making *m, int first)
{
    int least = -1;

    for (int i = first; i < m->core->session.n_kernels; i++) {
        if (!lacks_weights(m, i))
            return VBS_OK;
        if (least < 0 || m->core->offers[i].packed_bytes < m->core->offers[least].packed_bytes)
            least = i;
    }
    return least < 0 ? VBS_OK : pack_weights(m, least);
}

/* Removes the kernels from number n on. */
static void remove_from(const struct kernels_making *m, int n)
{
    while (m->core->session.n_kernels > n)
        m->maker->release(m->maker->build, --m->core->session.n_kernels);
}

/* Makes the kernels of all layers at a batch. A batch but the first is given up at the limit. */
static enum vbs_status make_batch(struct kernels_making *m, int batch)
{
    int before = m->core->session.n_kernels;
    double begin_s = elapsed_s(m), packed_before_s = m->packing_s;

    for (int k = 1; k <= m->core->session.n_layers; k++) {
        int first = m->core->session.n_kernels;

        if (batch > 0 && is_late(m)) {
            remove_from(m, before);
            return VBS_OK;
        }
        VBS_TRY(make_some(m->ctx, m->core, m->options, m->maker, k, m->options->batches[batch]));
        VBS_TRY(pack_least(m, first));
    }
    m->made[batch] = true;
    if (batch == 0) {
        m->first_s = elapsed_s(m) - begin_s - (m->packing_s - packed_before_s);
    } else {
        m->others_s += elapsed_s(m) - begin_s;
        m->n_others++;
    }
    return VBS_OK;
}

/* Returns the number of the batch that is furthest from those that are made; -1: all are. */
static int next_batch(const struct kernels_making *m)
{
    int next = -1, furthest = 0;

    for (int i = 0; i < m->options->n_batches; i++) {
        int nearest = m->options->n_batches;

        for (int j = 0; j < m->options->n_batches; j++)
            if (m->made[j] && abs(i - j) < nearest)
                nearest = abs(i - j);
        if (nearest > furthest) {
            furthest = nearest;
            next = i;
        }
    }
    return next;
}

/* Makes further batches that are likely to end until until_s. */
static enum vbs_status make_batches(struct kernels_making *m, double until_s)
{
    for (int next = next_batch(m); next >= 0; next = next_batch(m)) {
        double once_s = m->n_others > 0 ? m->others_s / m->n_others : m->first_s;

        if (elapsed_s(m) + once_s > until_s)
            return VBS_OK;
        VBS_TRY(make_batch(m, next));
        if (!m->made[next])
            return VBS_OK;
    }
    return VBS_OK;
}

/* Packs weights in further formats, as long as each is likely to end within the limit. */
static enum vbs_status pack_more(struct kernels_making *m)
{
    for (int format = 0; packs(m->core, m->maker) && format < VBS_MAX_FORMATS; format++)
        for (int i = 0; i < m->core->session.n_kernels; i++) {
            const struct vbs_kernel *kernel = &m->core->offers[i];
            double bytes = (double)kernel->packed_bytes, once_s = 0;

            if (kernel->format != format || !lacks_weights(m, i))
                continue;
            if (m->packed_bytes > 0)
                once_s = m->packing_s / m->packed_bytes * bytes;
            if (elapsed_s(m) + once_s <= m->options->time_limit_s)
                VBS_TRY(pack_weights(m, i));
        }
    return VBS_OK;
}

/* Makes kernels on 1, 2, 4, ... rows until until_s, those of all layers on few rows first. */
static enum vbs_status make_stripes(const struct kernels_making *m, double until_s)
{
    bool any = m->options->stripes;

    for (int64_t n = 1; any; n *= 2) {
        any = false;
        for (int k = 1; k <= m->core->session.n_layers && elapsed_s(m) < until_s; k++) {
            if (!has_rows(m->core, k, n))
                continue;
            VBS_TRY(make_rows(m->ctx, m->core, m->maker, k, n));
            any = true;
        }
    }
    return VBS_OK;
}

/* The place of a kernel in the session; layer 0: it has none. */
struct kernel_place {
    int layer, rows, batch, from;
};

static int compare_places(const void *a, const void *b)
{
    const struct kernel_place *x = a, *y = b;

    if ((x->layer == 0) != (y->layer == 0))
        return x->layer == 0 ? 1 : -1;
    if (x->layer != y->layer)
        return x->layer < y->layer ? -1 : 1;
    if (x->rows != y->rows)
        return x->rows < y->rows ? -1 : 1;
    if (x->batch != y->batch)
        return x->batch < y->batch ? -1 : 1;
    return x->from < y->from ? -1 : 1;
}

static void swap_kernels(const struct kernels_making *m, int i, int j)
{
    struct vbs_kernel kernel = m->core->offers[i];

    m->core->offers[i] = m->core->offers[j];
    m->core->offers[j] = kernel;
    m->maker->swap(m->maker->build, i, j);
}

/* Removes the kernels that cannot run, and puts the others in order. */
static enum vbs_status settle(const struct kernels_making *m)
{
    int n = m->core->session.n_kernels, n_kept = 0;
    struct kernel_place *places = calloc((size_t)n + 1, sizeof *places);

    if (!places)
        return vbs_no_memory(m->ctx);
    for (int i = 0; i < n; i++) {
        const struct vbs_kernel *kernel = &m->core->offers[i];
        bool lacks = lacks_weights(m, i);

        places[i] =
            (struct kernel_place){lacks ? 0 : kernel->layer, kernel->rows, kernel->batch, i};
        n_kept += !lacks;
    }
    qsort(places, (size_t)n, sizeof *places, compare_places);
    for (int i = 0; i < n; i++) {
        int from = places[i].from;

        while (from < i) /* it has been swapped since */
            from = places[from].from;
        if (from != i)
            swap_kernels(m, i, from);
    }
    free(places);
    remove_from(m, n_kept);
    return VBS_OK;
}

static enum vbs_status make_limited(struct kernels_making *m)
{
    int n_layers = m->core->session.n_layers;

    m->made = vbs_arena_alloc(&m->core->arena, (size_t)m->options->n_batches, sizeof *m->made);
    m->packed = vbs_arena_alloc(&m->core->arena, (size_t)n_layers + 1, sizeof *m->packed);
    if (!m->made || !m->packed)
        return vbs_no_memory(m->ctx);
    m->begin_s = elapsed_s(m);
    VBS_TRY(make_batch(m, 0));
    VBS_TRY(make_stripes(m, until_s(m, ROWS_SHARE)));
    VBS_TRY(make_batches(m, until_s(m, BATCHES_SHARE)));
    VBS_TRY(pack_more(m));
    VBS_TRY(make_batches(m, m->options->time_limit_s));
    return settle(m);
}

static enum vbs_status make_all(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                const struct vbs_backend_options *options,
                                const struct vbs_kernel_maker *maker)
{
    int n_layers = core->session.n_layers;

    VBS_TRY(vbs_graph_check_kernels(ctx, n_layers, options->n_batches,
                                    (int64_t)n_layers * options->n_batches));
    if (options->time_limit_s > 0 && maker->release)
        return make_limited(
            &(struct kernels_making){.ctx = ctx, .core = core, .options = options, .maker = maker});
    for (int k = 1; k <= n_layers; k++) {
        for (int i = 0; i < options->n_batches; i++)
            VBS_TRY(make_some(ctx, core, options, maker, k, options->batches[i]));
        for (int64_t n = 1; options->stripes && has_rows(core, k, n); n *= 2)
            VBS_TRY(make_rows(ctx, core, maker, k, n));
    }
    return pack_all(ctx, core, maker);
}

enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker)
{
    if (options->stripes && !maker->make_rows)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "this backend has no kernels on rows of a sample");
    if (!options->requested)
        return make_all(ctx, core, options, maker);
    for (int i = 0; i < options->n_requested; i++) {
        int same = vbs_requested_same(options->requested, i);

        if (same >= 0)
            VBS_TRY(maker->share(maker->build, same));
        else
            VBS_TRY(make_requested(ctx, core, &options->requested[i], maker));
    }
    return pack_all(ctx, core, maker);
}
