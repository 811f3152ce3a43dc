/* Discrete Fourier transforms, line by line, in doubles (model/network/fourier.h). */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <stdlib.h>

#define COST 32 /* of an element, in copied floats */

/* Inputs are [outer, length, inner, parts], outputs [outer, kept, inner, parts_out]. */
struct dft_plan {
    struct vbs_fourier fourier;
    int64_t outer, length, inner; /* of all samples */
    int64_t parts, parts_out;     /* of a number: 1 or 2 */
    int64_t kept;                 /* elements of the transform that are written */
    bool inverse;
    bool half;      /* the input is half of a transform of real numbers */
    int64_t shares; /* of the lines, each with a workspace of its own */
};

struct dft_job {
    const struct dft_plan *plan;
    const float *x;
    float *y;
    double *ws;
};

/* Reads a line: zeros behind its end. */
static void read_line(const struct dft_plan *p, const float *x, double *line)
{
    int64_t n = p->fourier.n < p->length ? p->fourier.n : p->length;

    for (int64_t j = 0; j < p->fourier.n; j++) {
        const float *from = x + j * p->inner * p->parts;

        line[2 * j] = j < n ? (double)from[0] : 0;
        line[2 * j + 1] = j < n && p->parts == 2 ? (double)from[1] : 0;
    }
    if (p->half)
        vbs_fourier_complete(p->fourier.n, line);
}

static void write_line(const struct dft_plan *p, const double *line, float *y)
{
    for (int64_t k = 0; k < p->kept; k++)
        for (int64_t part = 0; part < p->parts_out; part++)
            y[p->parts_out * k * p->inner + part] = (float)line[2 * k + part];
}

/* Transforms a share of the lines. */
static void transform_share(void *self, int64_t share)
{
    const struct dft_job *job = self;
    const struct dft_plan *p = job->plan;
    int64_t n = p->outer * p->inner, first = n * share / p->shares;
    double *line = job->ws + share * (2 * p->fourier.n + vbs_fourier_space(p->fourier.n));

    for (int64_t i = first; i < n * (share + 1) / p->shares; i++) {
        int64_t outer = i / p->inner, inner = i % p->inner;

        read_line(p, job->x + (outer * p->length * p->inner + inner) * p->parts, line);
        vbs_fourier_run(&p->fourier, p->inverse, line, line + 2 * p->fourier.n);
        write_line(p, line, job->y + (outer * p->kept * p->inner + inner) * p->parts_out);
    }
}

static bool run_dft(const void *plan, float *const *data)
{
    const struct dft_plan *p = plan;
    struct dft_job job = {.plan = p, .x = data[1], .y = data[0], .ws = (double *)(void *)data[2]};

    od_parallel(p->shares, COST * p->outer * p->inner * p->fourier.n, transform_share, &job);
    return true;
}

static struct dft_plan plan_of(const struct od_build *b)
{
    const struct vbs_shape *in = &b->l->views[0];
    int axis = b->l->attributes.dft.axis, last = in->n_dims - 1;
    int threads = b->serial ? 1 : b->session->threads;
    struct dft_plan p = {.outer = b->batch,
                         .length = in->dim[axis],
                         .inner = 1,
                         .parts = in->dim[last],
                         .parts_out = b->l->shape.dim[last],
                         .kept = b->l->shape.dim[axis],
                         .inverse = b->l->attributes.dft.inverse};

    p.half = p.inverse && b->l->attributes.dft.onesided;
    for (int d = 0; d < last; d++) {
        if (d < axis)
            p.outer *= in->dim[d];
        else if (d > axis)
            p.inner *= in->dim[d];
    }
    p.shares = p.outer * p.inner < threads ? p.outer * p.inner : threads;
    return p;
}

/* Makes the transform, whose table all kernels of the layer share. */
static enum vbs_status make_fourier(struct od_build *b, struct vbs_fourier *fourier,
                                    const struct od_packed **packed)
{
    int64_t n = b->l->attributes.dft.n;
    double *space;
    bool found;

    VBS_TRY(od_own_floats(b, 2 * vbs_fourier_table(n), &found, packed));
    space = od_alloc(vbs_fourier_space(n) * (int64_t)sizeof *space);
    if (!space)
        return vbs_no_memory(b->ctx);
    vbs_fourier_init(n, (*packed)->data, space, fourier);
    free(space);
    return VBS_OK;
}

enum vbs_status od_build_dft(struct od_build *b)
{
    struct dft_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    const struct od_packed *packed;
    dnnl_memory_t data[3];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:dft") : vbs_no_memory(b->ctx));
    *plan = plan_of(b);
    VBS_TRY(make_fourier(b, &plan->fourier, &packed));
    VBS_TRY(
        od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->shape)}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(
        od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->views[0])}, &md));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &md, &data[1]));
    VBS_TRY(od_describe_vector(
        b, 2 * plan->shares * (2 * plan->fourier.n + vbs_fourier_space(plan->fourier.n)), &md));
    VBS_TRY(od_kernel_buffer(b, &md, &data[2]));
    VBS_TRY(od_kernel_call(b, run_dft, plan, 3, data));
    return od_fused_end(b, 0, packed->bytes, packed->number);
}
