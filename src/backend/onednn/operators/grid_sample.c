/* Values of images at points that another tensor has. */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>

#define COST 8 /* of a value, in copied floats */
#define POINTS                                                                                     \
    256 /* of a part, whose taps are found once for all channels; neighbours share lines of        \
           an image in the cache */
#define MOST (VBS_GRID_MOST_TAPS * VBS_GRID_MOST_TAPS) /* taps of a point */

struct grid_plan {
    const union vbs_attributes *attributes;
    int64_t n_images, channels, height, width; /* of all samples */
    int64_t points, parts;                     /* of an image */
};

struct grid_job {
    const struct grid_plan *plan;
    const float *images, *points;
    float *y;
};

/* The elements of an image of one channel that are added up for each of some points, one after the
 * other. */
struct point_taps {
    int n[POINTS];
    int64_t at[POINTS * MOST];
    float weight[POINTS * MOST];
};

static void find_taps(const struct grid_plan *p, const float *points, int n,
                      struct point_taps *taps)
{
    int64_t *at = taps->at;
    float *weight = taps->weight;

    for (int j = 0; j < n; j++) {
        struct vbs_grid_taps x = vbs_grid_sample_taps(p->attributes, points[2 * j], p->width);
        struct vbs_grid_taps y = vbs_grid_sample_taps(p->attributes, points[2 * j + 1], p->height);

        if (isnan(points[2 * j]) || isnan(points[2 * j + 1])) /* however far away the other is */
            x = y = (struct vbs_grid_taps){.n = 1, .weight = {NAN}};
        taps->n[j] = x.n * y.n;
        for (int t = 0; t < taps->n[j]; t++) {
            *at++ = y.at[t / x.n] * p->width + x.at[t % x.n];
            *weight++ = y.weight[t / x.n] * x.weight[t % x.n];
        }
    }
}

static void sum_taps(const struct point_taps *taps, int n, const float *channel, float *y)
{
    const int64_t *at = taps->at;
    const float *weight = taps->weight;

    for (int j = 0; j < n; j++) {
        float sum = 0;

        for (int t = 0; t < taps->n[j]; t++)
            sum += *weight++ * channel[*at++];
        y[j] = sum;
    }
}

/* Computes all channels of a part of the points of an image. */
static void sample_part(void *self, int64_t i)
{
    const struct grid_job *job = self;
    const struct grid_plan *p = job->plan;
    int64_t image = i / p->parts, first = i % p->parts * POINTS;
    int n = (int)(p->points - first < POINTS ? p->points - first : POINTS);
    struct point_taps taps;

    find_taps(p, job->points + 2 * (image * p->points + first), n, &taps);
    for (int64_t c = 0; c < p->channels; c++) {
        int64_t channel = image * p->channels + c;

        sum_taps(&taps, n, job->images + channel * p->height * p->width,
                 job->y + channel * p->points + first);
    }
}

static bool run_grid_sample(const void *plan, float *const *data)
{
    const struct grid_plan *p = plan;
    struct grid_job job = {.plan = p, .images = data[1], .points = data[2], .y = data[0]};

    od_parallel(p->n_images * p->parts, COST * p->n_images * p->points * p->channels, sample_part,
                &job);
    return true;
}

enum vbs_status od_build_grid_sample(struct od_build *b)
{
    struct grid_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    const struct vbs_shape *images = &b->l->views[0], *points = &b->l->views[1];
    int n = images->n_dims;
    dnnl_memory_t data[3];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:gridsample") : vbs_no_memory(b->ctx));
    *plan = (struct grid_plan){.attributes = &b->l->attributes,
                               .n_images = b->batch * (n == 4 ? images->dim[0] : 1),
                               .channels = images->dim[n - 3],
                               .height = images->dim[n - 2],
                               .width = images->dim[n - 1],
                               .points = points->dim[n - 3] * points->dim[n - 2]};
    plan->parts = (plan->points + POINTS - 1) / POINTS;
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(images)}, &md));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &md, &data[1]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(points)}, &md));
    VBS_TRY(od_source(b, 1, OD_PLAIN, &md, &data[2]));
    VBS_TRY(
        od_describe_dense(b, 2, (dnnl_dims_t){b->batch, vbs_shape_elements(&b->l->shape)}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_kernel_call(b, run_grid_sample, plan, 3, data));
    return od_fused_end(b, 0, 0, 0);
}
