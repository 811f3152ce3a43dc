/*
 * The largest or smallest elements along a dimension. A heap of their positions grows in the output
 * itself, the last of them on top, and is then sorted where it is. What is no number is above all
 * numbers, so that the largest element of a line with such an element is none.
 */
#include "backend/onednn/operators/operators.h"

#include "base/fail.h"

#include <math.h>

#define COST 8 /* of an element, in copied floats */

struct topk_plan {
    int64_t n_lines, n, k; /* lines of n elements, of which k are taken */
    int64_t inner;         /* lines that lie between two elements of one */
    bool smallest, positions;
};

/* A line, and the heap of positions of its elements. */
struct topk_line {
    const float *x;
    float *heap;
    int64_t stride;
    bool smallest;
};

static float element(const struct topk_line *line, float position)
{
    return line->x[(int64_t)position * line->stride];
}

/* Gives whether the element at a comes before the one at b. */
static bool precedes(const struct topk_line *line, float a, float b)
{
    float x = element(line, a), y = element(line, b);

    if (isnan(x) || isnan(y))
        return isnan(x) == isnan(y) ? a < b : isnan(line->smallest ? y : x);
    if (x == y)
        return a < b;
    return line->smallest ? x < y : x > y;
}

/* Moves the position at place i of a heap of n down to where it belongs. */
static void sift(const struct topk_line *line, int64_t i, int64_t n)
{
    float moved = line->heap[i * line->stride];

    for (int64_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && precedes(line, line->heap[child * line->stride],
                                      line->heap[(child + 1) * line->stride]))
            child++;
        if (!precedes(line, moved, line->heap[child * line->stride]))
            break;
        line->heap[i * line->stride] = line->heap[child * line->stride];
    }
    line->heap[i * line->stride] = moved;
}

static void sort(const struct topk_line *line, int64_t n)
{
    for (int64_t end = n - 1; end > 0; end--) {
        float last = line->heap[0];

        line->heap[0] = line->heap[end * line->stride];
        line->heap[end * line->stride] = last;
        sift(line, 0, end);
    }
}

struct topk_job {
    const struct topk_plan *plan;
    const float *x;
    float *y;
};

static void take_line(void *self, int64_t i)
{
    const struct topk_job *job = self;
    const struct topk_plan *p = job->plan;
    int64_t outer = i / p->inner, inner = i % p->inner;
    const struct topk_line line = {.x = job->x + outer * p->n * p->inner + inner,
                                   .heap = job->y + outer * p->k * p->inner + inner,
                                   .stride = p->inner,
                                   .smallest = p->smallest};

    for (int64_t j = 0; j < p->k; j++)
        line.heap[j * line.stride] = (float)j;
    for (int64_t j = p->k / 2; j-- > 0;)
        sift(&line, j, p->k);
    for (int64_t j = p->k; j < p->n; j++)
        if (precedes(&line, (float)j, line.heap[0])) {
            line.heap[0] = (float)j;
            sift(&line, 0, p->k);
        }
    sort(&line, p->k);
    for (int64_t j = 0; j < p->k && !p->positions; j++)
        line.heap[j * line.stride] = element(&line, line.heap[j * line.stride]);
}

static bool run_topk(const void *plan, float *const *data)
{
    const struct topk_plan *p = plan;
    struct topk_job job = {.plan = p, .x = data[1], .y = data[0]};

    od_parallel(p->n_lines, COST * p->n_lines * p->n, take_line, &job);
    return true;
}

enum vbs_status od_build_topk(struct od_build *b)
{
    struct topk_plan *plan = vbs_arena_alloc(&b->session->core.arena, 1, sizeof *plan);
    const union vbs_attributes *a = &b->l->attributes;
    const struct vbs_shape *in = &b->l->views[0];
    dnnl_memory_t data[2];
    dnnl_memory_desc_t md;

    VBS_TRY(plan ? od_kernel_begin(b, "loop:topk") : vbs_no_memory(b->ctx));
    *plan = (struct topk_plan){.n_lines = b->batch,
                               .n = in->dim[a->topk.axis],
                               .k = a->topk.k,
                               .inner = 1,
                               .smallest = a->topk.smallest,
                               .positions = a->topk.positions};
    for (int d = 0; d < in->n_dims; d++)
        if (d != a->topk.axis) {
            plan->n_lines *= in->dim[d];
            plan->inner *= d > a->topk.axis ? in->dim[d] : 1;
        }
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){plan->n_lines, plan->k}, &md));
    VBS_TRY(od_kernel_memory(b, &md, OD_DST, 0, NULL, &data[0]));
    VBS_TRY(od_describe_dense(b, 2, (dnnl_dims_t){plan->n_lines, plan->n}, &md));
    VBS_TRY(od_source(b, 0, OD_PLAIN, &md, &data[1]));
    VBS_TRY(od_kernel_call(b, run_topk, plan, 2, data));
    return od_fused_end(b, 0, 0, 0);
}
