/* Opening sessions of the onednn backend: layers, then all kernels or those that are requested. */
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/operators/operators.h"
#include "backend/onednn/stripes.h"

#include "backend/common/common.h"
#include "base/fail.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

/* This function is from libgomp, on which oneDNN runs. It is declared here because only gcc has
 * omp.h. */
extern int omp_get_proc_bind(void);

static enum vbs_status init_provenance(struct od_build *b)
{
    char library[200], device[200], notes[100];
    double mhz = vbs_cpu_clock_mhz();

    od_describe_library(library, sizeof library);
    od_describe_device(device, sizeof device);
    snprintf(notes, sizeof notes, "threads %s%s%.0f%s",
             omp_get_proc_bind() ? "bound" : "not bound (OMP_PROC_BIND)", mhz > 0 ? ", clock " : "",
             mhz, mhz > 0 ? " MHz" : "");
    return vbs_session_init_provenance(
        b->ctx, &b->session->core,
        &(struct vbs_provenance){.backend = "onednn",
                                 .library = library,
                                 .device = device,
                                 .layout = b->session->stripes ? VBS_LAYOUT_ROWS : "",
                                 .notes = notes,
                                 .threads = b->session->threads});
}

/* Sets the units of channels, where the layer can be divided at all. */
static void init_channels(struct od_build *b, struct vbs_profile_layer *layer)
{
    const struct od_weights *w = &b->session->weights[b->layer];

    layer->channels = vbs_graph_channels(b->l);
    if (layer->channels == 0)
        return;
    od_weights_measure(b);
    if (w->unit > 0)
        layer->channels = (int)(w->channels / w->unit);
}

/* Fills layer k as in a profile; the tensors that it reads are described already. */
static enum vbs_status init_layer(struct od_build *b, int k, enum od_layout canonical)
{
    struct od_session *s = b->session;
    const struct vbs_layer *l = &b->network->layers[k];
    struct vbs_profile_layer *layer = &s->core.layers[k];
    enum vbs_status status = vbs_graph_layer_init(b->ctx, &s->core.arena, b->network, k, layer);

    b->layer = k;
    b->l = l;
    if (status != VBS_OK)
        return status;
    VBS_TRY(od_tensor_init(b, &l->shape, canonical, &s->tensors[k]));
    VBS_TRY(od_inputs_init(b));
    s->stored[k] = od_stored_init(b, k);
    layer->out_bytes = s->stored[k].bytes;
    for (int i = 0; i < l->n_inputs; i++)
        layer->in_bytes += s->stored[l->inputs[i]].bytes;
    init_channels(b, layer);
    return VBS_OK;
}

/* ---- operators of two operands write onto one that nobody needs any more ---- */

static bool can_overwrite(const void *build, int layer, int input)
{
    const struct od_build *b = build;
    const struct vbs_layer *l = &b->network->layers[layer];
    const struct od_session *s = b->session;

    return vbs_graph_overwrites(l, input) &&
           s->inputs[layer][input].canonical == s->tensors[layer].canonical &&
           s->stored[l->inputs[input]].layout == s->stored[layer].layout &&
           vbs_shape_equal(&l->views[input], &l->shape);
}

static void swap_inputs(void *build, int layer, int first)
{
    const struct od_build *b = build;
    struct od_tensor *inputs = b->session->inputs[layer], read = inputs[first];

    inputs[first] = inputs[0];
    inputs[0] = read;
}

static enum vbs_status init_layers(struct od_build *b)
{
    struct od_session *s = b->session;
    size_t n = (size_t)b->network->n_layers + 1;
    const struct vbs_in_place in_place = {.build = b, .may = can_overwrite, .swap = swap_inputs};
    enum od_layout *layouts;

    VBS_TRY(vbs_session_init_layers(b->ctx, &s->core));
    s->tensors = vbs_arena_alloc(&s->core.arena, n, sizeof *s->tensors);
    s->stored = vbs_arena_alloc(&s->core.arena, n, sizeof *s->stored);
    s->bounded = vbs_arena_alloc(&s->core.arena, n, sizeof *s->bounded);
    s->inputs = vbs_arena_alloc(&s->core.arena, n, sizeof *s->inputs);
    s->weights = vbs_arena_alloc(&s->core.arena, n, sizeof *s->weights);
    s->transfers = vbs_arena_alloc(&s->core.arena, n, sizeof *s->transfers);
    layouts = vbs_arena_alloc(&s->core.arena, n, sizeof *layouts);
    if (!s->tensors || !s->stored || !s->bounded || !s->inputs || !s->weights || !s->transfers ||
        !layouts)
        return vbs_no_memory(b->ctx);
    b->l = &b->network->layers[0];
    VBS_TRY(od_canonical_layouts(b, layouts));
    VBS_TRY(od_tensor_init(b, &b->network->input, layouts[0], &s->tensors[0]));
    s->stored[0] = od_stored_init(b, 0);
    s->core.layers[0].out_bytes = s->stored[0].bytes;
    for (int k = 1; k < (int)n; k++)
        VBS_TRY(init_layer(b, k, layouts[k]));
    od_bounded_init(s, b->network);
    VBS_TRY(vbs_graph_init_in_place(b->ctx, &s->core.arena, s->core.layers, (int)n - 1, &in_place));
    return s->stripes ? od_stripes_init(b) : VBS_OK;
}

/* ---- kernels ---- */

static enum vbs_status build_floats(struct od_build *b)
{
    switch (b->l->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
        return od_build_conv(b);
    case VBS_OP_FC:
        return od_build_fc(b);
    default:
        return od_build_other(b);
    }
}

/* Takes an ending off the name of a requested kernel; false: it has another one. */
static bool cut_ending(struct vbs_requested *requested, const char *ending)
{
    size_t length = strlen(requested->name), tail = strlen(ending);

    if (length <= tail || strcmp(requested->name + length - tail, ending) != 0)
        return false;
    requested->name[length - tail] = '\0';
    return true;
}

/* Builds the kernels of a layer with encoded tensors: on these, and on floats. */
static enum vbs_status build_encoded(struct od_build *b)
{
    const struct vbs_requested *requested = b->requested;
    struct vbs_requested plain = requested ? *requested : (struct vbs_requested){0};
    bool decoded = requested && cut_ending(&plain, OD_DECODED);
    enum vbs_status status = VBS_OK;

    if (!decoded) {
        b->native = true;
        status = od_build_native(b);
        b->native = false;
    }
    if (status != VBS_OK || (requested && !decoded))
        return status;
    b->requested = requested ? &plain : NULL;
    status = build_floats(b);
    b->requested = requested;
    return status;
}

static enum vbs_status build_layer(struct od_build *b)
{
    return od_is_encoded(b) ? build_encoded(b) : build_floats(b);
}

/* Work of a layer above which two threads take less time than one, wherever starting them takes
 * less than twenty microseconds. */
#define SERIAL_MACS  (INT64_C(1) << 20)
#define SERIAL_BYTES (INT64_C(512) << 10)

/* Gives whether one thread may compute the layer in less time than it takes to start the others and
 * to wait for them, or in little more. */
static bool may_be_serial(const struct od_build *b)
{
    const struct vbs_profile_layer *layer = &b->session->core.layers[b->layer];
    int64_t bytes = layer->in_bytes + layer->out_bytes;

    if (b->row_output) {
        bytes = b->row_output->bytes;
        for (int i = 0; i < b->l->n_inputs; i++)
            bytes += b->row_inputs[i].bytes;
    }
    return b->session->threads > 1 && b->batch * b->l->macs <= SERIAL_MACS &&
           b->batch * bytes <= SERIAL_BYTES;
}

/* Makes the layer's kernels for one thread. The library fixes the number of threads of a primitive
 * when it makes it. */
static enum vbs_status build_serial(struct od_build *b)
{
    struct od_threads before = od_threads_set(1);
    enum vbs_status status;

    b->serial = true;
    status = build_layer(b);
    b->serial = false;
    od_threads_restore(before);
    return status;
}

static enum vbs_status make_some(struct od_build *b, int layer, const struct vbs_layer *l,
                                 const struct vbs_requested *requested)
{
    struct vbs_requested plain = requested ? *requested : (struct vbs_requested){0};
    bool serial = requested && cut_ending(&plain, OD_SERIAL);
    enum vbs_status status = VBS_OK;

    b->layer = layer;
    b->l = l;
    b->requested = requested ? &plain : NULL;
    if (!serial)
        status = build_layer(b);
    if (status == VBS_OK && (serial || (!requested && may_be_serial(b))))
        status = build_serial(b);
    b->requested = NULL;
    return status;
}

static enum vbs_status make_kernels(void *build, int layer, int batch,
                                    const struct vbs_requested *requested)
{
    struct od_build *b = build;

    b->batch = batch;
    return make_some(b, layer, &b->network->layers[layer], requested);
}

static enum vbs_status make_rows(void *build, int layer, int row, int n,
                                 const struct vbs_requested *requested)
{
    return od_stripes_make(build, make_some, layer, row, n, requested);
}

static bool keep_kernel(void *build, int first, const char *algorithm)
{
    return od_kernels_keep(((struct od_build *)build)->session, first, algorithm);
}

static enum vbs_status share_kernel(void *build, int index)
{
    return od_kernel_share(build, index);
}

static void release_kernel(void *build, int index)
{
    od_kernel_release(&((struct od_build *)build)->session->kernels[index]);
}

static enum vbs_status pack_kernel(void *build, int index)
{
    return od_kernel_pack(build, index);
}

static void swap_kernels(void *build, int i, int j)
{
    struct od_kernel *kernels = ((struct od_build *)build)->session->kernels, kernel = kernels[i];

    kernels[i] = kernels[j];
    kernels[j] = kernel;
}

enum vbs_status od_open(struct od_build *b, const struct vbs_backend_options *options)
{
    struct od_session *s = b->session;
    const struct vbs_kernel_maker maker = {.build = b,
                                           .make = make_kernels,
                                           .make_rows = make_rows,
                                           .keep = keep_kernel,
                                           .share = share_kernel,
                                           .pack = pack_kernel,
                                           .release = release_kernel,
                                           .swap = swap_kernels};
    dnnl_status_t dnnl = dnnl_engine_create(&s->engine, dnnl_cpu, 0);

    if (dnnl == dnnl_success)
        dnnl = dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags);
    if (dnnl != dnnl_success)
        return vbs_fail(b->ctx, dnnl == dnnl_out_of_memory ? VBS_NO_MEMORY : VBS_LIBRARY,
                        "cannot start oneDNN (%d)", (int)dnnl);
    s->block = od_block();
    s->stripes = options->stripes;
    VBS_TRY(init_provenance(b));
    VBS_TRY(init_layers(b));
    return vbs_kernels_make(b->ctx, &s->core, options, &maker);
}
