/* Pools, and global ones that take some rows of their input at a time. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"
#include "profile/reach.h"

#include <string.h>

/* Returns whether the largest value of a window may be -infinity, and no operator behind the pool
 * makes the same of the lowest number. */
static bool may_have_no_number(const struct od_build *b, const struct od_window *w)
{
    const struct vbs_layer *l = b->l;

    return w->algorithm == dnnl_pooling_max &&
           !b->session->bounded[b->network->layers[b->layer].inputs[0]] &&
           !(l->n_fused > 0 && od_bounds_below(l->fused[0].op, &l->fused[0].attributes));
}

static enum vbs_status build_extremes(struct od_build *b, dnnl_primitive_desc_t pd,
                                      const struct od_window *w, const struct od_tensor *out)
{
    const struct od_tensor *in = od_input(b, 0);
    struct od_extremes e = {.n_spatial = in->n_spatial,
                            .n = b->batch * out->stored_channels * out->positions,
                            .window = *w};

    e.lanes = in->canonical == OD_BLOCKED         ? b->session->block
              : in->canonical == OD_CHANNELS_LAST ? in->channels
                                                  : 1;
    for (int i = 0; i < in->n_spatial; i++) {
        e.in[i] = in->spatial[i];
        e.out[i] = out->spatial[i];
    }
    return od_build_extremes(b, pd, in->canonical, &e);
}

/* Padding stays zero, because the largest and the mean of zeros are zero. */
static enum vbs_status build_window(struct od_build *b, const struct od_window *w)
{
    enum od_layout layout = od_input(b, 0)->canonical;
    struct od_tensor out = od_in_layout(b->session, od_output(b), layout);
    bool corrected = may_have_no_number(b, w);
    bool fuses = !corrected && out.canonical == od_output(b)->canonical;
    int n_fused = fuses ? od_fusable(b, 0) : 0;
    dnnl_memory_desc_t src, dst;
    dnnl_primitive_desc_t pd;
    union od_pool_desc desc;
    dnnl_status_t dnnl;

    VBS_TRY(od_describe(b, od_input(b, 0), b->batch, layout, true, &src));
    VBS_TRY(od_describe(b, &out, b->batch, layout, true, &dst));
    dnnl = od_pool_desc(w, dnnl_forward_inference, &src, &dst, &desc);
    if (dnnl != dnnl_success)
        return od_fail(b, dnnl, "describing a pool");
    VBS_TRY(od_best(b, &desc, 0, &n_fused, &pd));
    return corrected ? build_extremes(b, pd, w, &out) : od_build_primitive(b, pd, layout, n_fused);
}

/* ---- some rows of a global pool ---- */

#define CHANNELS 64 /* that a thread takes at a time */

/* Adds rows up in the output, which has one value for each channel. */
struct sum_plan {
    int64_t channels, positions; /* positions: of the rows */
    bool largest;                /* else the mean */
    bool is_first;               /* nothing is in the output so far */
    float divisor;               /* of the mean, with the last rows; 0: there are more */
};

struct sum_job {
    const struct sum_plan *plan;
    float *to;
    const float *from; /* [positions][channels] */
};

static void add_values(const float *from, int64_t n, float *sums)
{
    for (int64_t c = 0; c < n; c++)
        sums[c] += from[c];
}

/* What is no number is the largest. */
static void keep_largest(const float *from, int64_t n, float *most)
{
    for (int64_t c = 0; c < n; c++)
        most[c] = ((from[c] > most[c]) | (from[c] != from[c])) ? from[c] : most[c];
}

/* Takes the channels of one block: their own sum, which is added to that of the rows before. */
static void sum_channels(void *job, int64_t block)
{
    const struct sum_job *j = job;
    const struct sum_plan *p = j->plan;
    int64_t first = block * CHANNELS,
            n = p->channels - first < CHANNELS ? p->channels - first : CHANNELS;
    void (*take)(const float *, int64_t, float *) = p->largest ? keep_largest : add_values;
    float *to = j->to + first, sums[CHANNELS];

    memcpy(sums, j->from + first, (size_t)n * sizeof *sums);
    for (int64_t i = 1; i < p->positions; i++)
        take(j->from + i * p->channels + first, n, sums);
    if (!p->is_first)
        take(to, n, sums);
    for (int64_t c = 0; c < n; c++)
        to[c] = p->divisor > 0 ? sums[c] / p->divisor : sums[c];
}

static bool run_sum(const void *plan, float *const *data)
{
    const struct sum_plan *p = plan;
    struct sum_job job = {.plan = p, .to = data[0], .from = data[1]};

    od_parallel((p->channels + CHANNELS - 1) / CHANNELS, p->channels * p->positions, sum_channels,
                &job);
    return true;
}

/* Builds the kernel on some rows of a pool that accumulates, whose input has the channels last.
 * Fused operators come behind the last rows. */
static enum vbs_status build_sum(struct od_build *b)
{
    const struct od_tensor *in = od_input(b, 0), *out = od_output(b);
    const struct od_tensor *whole = &b->session->inputs[b->layer][0];
    struct sum_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    bool is_last = b->row + in->spatial[0] == whole->spatial[0];
    dnnl_memory_t data[2];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:pool") : vbs_no_memory(b->ctx));
    *plan = (struct sum_plan){.channels = in->channels,
                              .positions = in->positions,
                              .largest = b->l->op == VBS_OP_POOL_MAX,
                              .is_first = b->row == 0};
    if (is_last && !plan->largest)
        plan->divisor = (float)whole->positions;
    VBS_TRY(od_describe(b, out, b->batch, out->canonical, true, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_describe(b, in, b->batch, in->canonical, true, &md));
    VBS_TRY(od_source(b, 0, in->canonical, &md, &data[1]));
    VBS_TRY(od_kernel_call(b, run_sum, plan, 2, data));
    return is_last ? od_fused_end(b, 0, 0, 0) : od_kernel_end(b, 0, 0);
}

/* ---- pools ---- */

enum vbs_status od_build_pool(struct od_build *b)
{
    struct od_window w = od_window_of(b->l->op, &b->l->attributes, od_input(b, 0)->n_spatial);

    if (b->row_output && vbs_layer_accumulates(&b->session->core.layers[b->layer]))
        return build_sum(b);
    return build_window(b, &w);
}

enum vbs_status od_build_global_pool(struct od_build *b, bool largest)
{
    const struct od_tensor *in = od_input(b, 0);
    struct od_window w = {
        .algorithm = largest ? dnnl_pooling_max : dnnl_pooling_avg_exclude_padding, .dense = true};

    for (int i = 0; i < in->n_spatial; i++) {
        w.kernel[i] = in->spatial[i];
        w.stride[i] = 1;
    }
    return build_window(b, &w);
}
