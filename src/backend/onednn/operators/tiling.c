/*
 * Transposed convolutions whose windows lie side by side: the stride is the window's size, and
 * there is neither padding nor dilation. Each position of the input makes one window of the output,
 * so that such a layer is a convolution of 1x1, which has a channel for each output channel at each
 * offset in the window, and a step that moves these channels to their positions. Fused operators
 * work on single values, and are fused into the convolution.
 *
 * Samples are computed one after the other, so that the workspace is that of one sample. Moving
 * reads and writes each value of the output once, by rows. A kernel on rows computes whole windows,
 * and moves those of their rows that it writes.
 */
#include "backend/onednn/kernels/kernels.h"
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <string.h>

/* ---- moving channels to positions ---- */

/* How one sample is moved. A unit is what is contiguous on both sides: a block of channels, a
 * single value, or, where the channels are last, all values that a position of the input makes in a
 * line of the output. Lines are the input's positions along its last dimension. */
struct moving {
    int64_t unit; /* floats */
    int64_t n_units, n_lines, length;
    int64_t n_above, across; /* offsets in the window of which each has units of its own: outside
                                its last dimension, and in it */
    int64_t out_lines;       /* lines of a unit in the output */
    int64_t step;            /* floats from one position of the convolution's output to the next */
    /* [n_units][n_above][across] floats to the unit's channels in the convolution's output */
    int64_t *from;
    int64_t *to; /* [n_lines][n_above] number of the output's line; below 0: it is not written */
};

struct move_job {
    const struct moving *moving;
    float *to;
    const float *from;
};

/* The sizes of units are constants here, so that compilers copy without calls. */
static void move_line(float *to, int64_t to_step, const float *from, int64_t from_step, int64_t n,
                      int64_t unit)
{
    if (unit == 1)
        for (int64_t i = 0; i < n; i++)
            to[i * to_step] = from[i * from_step];
    else if (unit == 8)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, 8 * sizeof *to);
    else if (unit == 16)
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, 16 * sizeof *to);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + i * to_step, from + i * from_step, (size_t)unit * sizeof *to);
}

/* Moves line i % n_lines of unit i / n_lines. */
static void move_lines(void *data, int64_t i)
{
    const struct move_job *job = data;
    const struct moving *m = job->moving;
    int64_t unit = i / m->n_lines, line = i % m->n_lines;
    int64_t width = m->length * m->across * m->unit;

    for (int64_t a = 0; a < m->n_above; a++)
        for (int64_t x = 0; m->to[line * m->n_above + a] >= 0 && x < m->across; x++) {
            int64_t from = m->from[(unit * m->n_above + a) * m->across + x];
            int64_t to = unit * m->out_lines + m->to[line * m->n_above + a];

            move_line(job->to + to * width + x * m->unit, m->across * m->unit,
                      job->from + from + line * m->length * m->step, m->step, m->length, m->unit);
        }
}

static bool move_sample(const void *plan, float *const *data)
{
    const struct moving *m = plan;
    struct move_job job = {.moving = m, .to = data[0], .from = data[1]};

    od_parallel(m->n_units * m->n_lines,
                m->n_units * m->n_lines * m->length * m->n_above * m->across * m->unit, move_lines,
                &job);
    return true;
}

/* Fills where lines go: those of the output's positions outside its last dimension. row: the first
 * row that is written, counted from the first row of the first windows. */
static void fill_lines(const struct od_tensor *in, const struct od_tensor *out,
                       const int64_t *kernel, int64_t row, struct moving *m)
{
    int n = in->n_spatial - 1;

    for (int64_t line = 0; line < m->n_lines; line++)
        for (int64_t a = 0; a < m->n_above; a++) {
            int64_t left = line, offset = a, to = 0, size = 1;
            bool written = true;

            for (int i = n - 1; i >= 0; i--) {
                int64_t at = left % in->spatial[i] * kernel[i] + offset % kernel[i];

                at -= i == 0 ? row : 0;
                written &= at >= 0 && at < out->spatial[i];
                to += size * at;
                size *= out->spatial[i];
                left /= in->spatial[i];
                offset /= kernel[i];
            }
            m->to[line * m->n_above + a] = written ? to : -1;
        }
}

/* Gives how many positions of the output a position of the input makes. */
static int64_t offsets_of(const struct od_build *b)
{
    int64_t n = 1;

    for (int i = 0; i < od_input(b, 0)->n_spatial; i++)
        n *= b->l->attributes.weighted.window.kernel[i];
    return n;
}

/* Plans how a sample moves from the product, the convolution's output, to the layer's. */
static enum vbs_status plan_moving(struct od_build *b, const struct od_tensor *product,
                                   struct moving **planned)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    const int64_t *kernel = b->l->attributes.weighted.window.kernel;
    struct vbs_arena *arena = &b->session->core.arena;
    bool last = product->canonical == OD_CHANNELS_LAST;
    int64_t row = b->row_output ? b->row - b->row_read * kernel[0] : 0, offset_step;
    struct moving *m = vbs_arena_alloc(arena, 1, sizeof *m);

    if (!m)
        return vbs_no_memory(b->ctx);
    offset_step = last ? kernel[in->n_spatial - 1] : 1;
    m->unit = last                           ? offset_step * out->channels
              : out->canonical == OD_BLOCKED ? b->session->block
                                             : 1;
    m->n_units = last ? 1 : out->stored_channels / m->unit;
    m->length = in->spatial[in->n_spatial - 1];
    m->n_lines = in->positions / m->length;
    m->across = kernel[in->n_spatial - 1] / offset_step;
    m->n_above = offsets_of(b) / kernel[in->n_spatial - 1];
    m->out_lines = out->positions / out->spatial[out->n_spatial - 1];
    m->step = last ? product->channels : product->canonical == OD_BLOCKED ? b->session->block : 1;
    m->from =
        vbs_arena_alloc(arena, (size_t)(m->n_units * m->n_above * m->across), sizeof *m->from);
    m->to = vbs_arena_alloc(arena, (size_t)(m->n_lines * m->n_above), sizeof *m->to);
    if (!m->from || !m->to)
        return vbs_no_memory(b->ctx);
    for (int64_t unit = 0; unit < m->n_units; unit++)
        for (int64_t offset = 0; offset < m->n_above * m->across; offset++)
            m->from[unit * m->n_above * m->across + offset] =
                od_stored_index(b->session, product,
                                offset * offset_step * out->stored_channels + unit * m->unit, 0);
    fill_lines(in, out, kernel, row, m);
    *planned = m;
    return VBS_OK;
}

/* ---- the convolution ---- */

/* Gives whether the windows of the layer's output, of several positions each, lie side by side and
 * fill it. */
static bool windows_tile(const struct od_build *b)
{
    const union vbs_attributes *a = &b->network->layers[b->layer].attributes;
    const struct vbs_window *w = &a->weighted.window;
    const struct od_tensor *in = &b->session->inputs[b->layer][0];
    const struct od_tensor *out = &b->session->tensors[b->layer];

    if (b->l->op != VBS_OP_CONV_TRANSPOSE || a->weighted.groups != 1 ||
        in->n_spatial != out->n_spatial)
        return false;
    for (int i = 0; i < in->n_spatial; i++)
        if (w->stride[i] != w->kernel[i] || (w->kernel[i] > 1 && w->dilation[i] != 1) ||
            out->spatial[i] != in->spatial[i] * w->kernel[i] || w->pad_low[i] != 0)
            return false;
    return out->positions > in->positions;
}

/* The convolution of one sample: its operands, its bias, and the operators that it fuses. */
struct product {
    struct od_tensor tensor; /* its output */
    dnnl_memory_desc_t src, dst, bias_md;
    float *bias; /* null: none */
    int n_fused;
    struct moving *moving;
};

/* Repeats the layer's bias for each offset in the window. */
static enum vbs_status repeat_bias(struct od_build *b, struct product *p)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    int64_t stored = od_output(b)->stored_channels;
    int64_t n = offsets_of(b);

    VBS_TRY(od_describe_vector(b, p->tensor.stored_channels, &p->bias_md));
    if (!w->bias)
        return VBS_OK;
    p->bias = od_constants(b, p->tensor.stored_channels);
    if (!p->bias)
        return vbs_no_memory(b->ctx);
    memset(p->bias, 0, (size_t)p->tensor.stored_channels * sizeof *p->bias);
    for (int64_t i = 0; i < n; i++)
        memcpy(p->bias + i * stored, w->bias, (size_t)stored * sizeof *p->bias);
    return VBS_OK;
}

static enum vbs_status product_init(struct od_build *b, enum od_layout layout, struct product *p)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    struct od_tensor channels = *in;

    *p = (struct product){.n_fused = b->session->weights[b->layer].n_fused};
    channels.channels = offsets_of(b) * out->stored_channels;
    p->tensor = od_in_layout(b->session, &channels, layout);
    VBS_TRY(od_describe(b, in, 1, in->canonical, true, &p->src));
    VBS_TRY(od_describe(b, &p->tensor, 1, layout, true, &p->dst));
    VBS_TRY(repeat_bias(b, p));
    return plan_moving(b, &p->tensor, &p->moving);
}

static enum vbs_status product_pds(struct od_build *b, const struct product *p, struct od_pds *pds)
{
    const struct od_tensor *in = od_input(b, 0);
    dnnl_dims_t dims = {p->tensor.stored_channels, in->stored_channels, 1, 1, 1};
    dnnl_dims_t ones = {1, 1, 1}, none = {0};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_convolution_desc_t desc;
    dnnl_memory_desc_t weights;
    dnnl_status_t dnnl = dnnl_memory_desc_init_by_tag(&weights, 2 + in->n_spatial, dims, dnnl_f32,
                                                      dnnl_format_tag_any);

    if (dnnl == dnnl_success)
        dnnl = dnnl_convolution_forward_desc_init(
            &desc, dnnl_forward_inference, dnnl_convolution_direct, &p->src, &weights,
            p->bias ? &p->bias_md : NULL, &p->dst, ones, none, none);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a convolution");
    VBS_TRY(od_attributes(b, b->session->weights[b->layer].n_folded, p->n_fused, &attr));
    dnnl = od_pds_init(pds, &desc, attr, b->session->engine, NULL);
    dnnl_primitive_attr_destroy(attr);
    return dnnl == dnnl_success ? VBS_OK : od_fail(b, dnnl, "looking for implementations");
}

/* Appends the steps of sample i. args has its weights and bias behind source and destination. */
static enum vbs_status add_sample(struct od_build *b, const struct product *p,
                                  const_dnnl_primitive_desc_t pd, int i, int n_args,
                                  dnnl_exec_arg_t *args)
{
    struct od_memory src = {.location = OD_SRC, .offset = i * od_input(b, 0)->bytes};
    struct od_memory dst = {.location = OD_DST, .offset = i * od_output(b)->bytes};
    dnnl_memory_desc_t sample;
    dnnl_memory_t data[2] = {NULL, args[1].memory};

    VBS_TRY(od_describe_vector(b, od_output(b)->bytes / (int64_t)sizeof(float), &sample));
    VBS_TRY(od_kernel_add(b, &p->src, src, NULL, &args[0].memory));
    VBS_TRY(od_kernel_add(b, &sample, dst, NULL, &data[0]));
    VBS_TRY(od_kernel_step(b, pd, n_args, args));
    return od_kernel_call(b, move_sample, p->moving, 2, data);
}

static enum vbs_status build_product(struct od_build *b, const struct product *p,
                                     const_dnnl_primitive_desc_t pd, const char *name)
{
    const struct od_weights *w = &b->session->weights[b->layer];
    const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
    dnnl_exec_arg_t args[4] = {{DNNL_ARG_SRC, NULL}, {DNNL_ARG_DST, NULL}};
    struct od_packed *packed;
    int n = 2;

    VBS_TRY(od_kernel_begin(b, name));
    VBS_TRY(od_weights_pointwise(b, md, &packed));
    od_kernel_weights(b, packed, 0, packed->channels);
    VBS_TRY(od_kernel_buffer(b, &p->dst, &args[1].memory));
    args[n].arg = DNNL_ARG_WEIGHTS;
    VBS_TRY(od_kernel_memory(b, md, OD_WEIGHTS, 0, NULL, &args[n++].memory));
    if (p->bias) {
        args[n].arg = DNNL_ARG_BIAS;
        VBS_TRY(od_kernel_memory(b, &p->bias_md, OD_FIXED, 0, p->bias, &args[n++].memory));
    }
    for (int i = 0; i < b->batch; i++)
        VBS_TRY(add_sample(b, p, pd, i, n, args));
    return od_fused_end(b, w->n_folded + p->n_fused,
                        packed->bytes +
                            (p->bias ? p->tensor.stored_channels * (int64_t)sizeof(float) : 0),
                        packed->number);
}

/* Builds the implementation that oneDNN prefers, if it is no reference. */
static enum vbs_status build_best(struct od_build *b, const struct product *p,
                                  const struct od_pds *pds)
{
    char name[OD_IMPLEMENTATION_NAME];
    const char *impl =
        pds->n > 0 && !od_is_reference(pds->list[0]) ? od_pd_name(pds->list[0]) : NULL;

    if (!impl)
        return VBS_OK;
    od_implementation_name(impl, "+tiling", name);
    if (b->requested && strcmp(name, b->requested->name) != 0)
        return VBS_OK;
    return build_product(b, p, pds->list[0], name);
}

static enum vbs_status build_in(struct od_build *b, enum od_layout layout)
{
    struct product p;
    struct od_pds pds;
    enum vbs_status status;

    VBS_TRY(product_init(b, layout, &p));
    VBS_TRY(product_pds(b, &p, &pds));
    if (p.n_fused > 0 && pds.n > 0 && od_fuses_by_value(pds.list[0])) {
        od_pds_clear(&pds);
        p.n_fused = 0;
        VBS_TRY(product_pds(b, &p, &pds));
    }
    status = build_best(b, &p, &pds);
    od_pds_clear(&pds);
    return status;
}

enum vbs_status od_build_tiling(struct od_build *b)
{
    bool slice = b->requested && b->requested->n_slices > 1;

    if (slice || !windows_tile(b))
        return VBS_OK;
    if (od_output(b)->canonical == OD_CHANNELS_LAST) {
        /* Along the only dimension, rows are parts of lines. */
        bool parts = b->row_output && od_output(b)->n_spatial == 1;

        return parts ? VBS_OK : build_in(b, OD_CHANNELS_LAST);
    }
    if (b->session->block > 1)
        VBS_TRY(build_in(b, OD_BLOCKED));
    if (od_input(b, 0)->canonical == OD_PLAIN && od_output(b)->canonical == OD_PLAIN)
        VBS_TRY(build_in(b, OD_PLAIN));
    return VBS_OK;
}
