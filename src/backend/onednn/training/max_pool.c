#include "backend/onednn/training/max_pool.h"

#include "backend/onednn/kernels/kernels.h"

#include <float.h>
#include <string.h>

#define LANES  4
#define INLINE static inline __attribute__((always_inline))

typedef float vector __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t numbers __attribute__((vector_size(LANES * sizeof(int32_t))));
typedef uint8_t bytes __attribute__((vector_size(LANES)));

struct pool_job {
    const struct od_max_pool *plan;
    float *to;
    const float *from;
    int64_t line[OD_POOL_AXES];    /* floats from one position of the input to the next */
    int64_t offset[OD_POOL_TAPS];  /* floats from element 0 of a window to each */
    int64_t in_floats, out_floats; /* of a sample */
    bool accumulates;
};

/* The elements of a window that are inside the input. */
struct window {
    int64_t origin; /* floats from the sample's begin to element 0, which may be outside */
    int64_t first[OD_POOL_AXES], end[OD_POOL_AXES];
};

/* ---- geometry ---- */

static int64_t product(const int64_t *dims)
{
    return dims[0] * dims[1] * dims[2];
}

static void begin_job(struct pool_job *j)
{
    const struct od_max_pool *p = j->plan;
    int64_t stride = p->channels, taps = product(p->kernel);

    for (int i = OD_POOL_AXES - 1; i >= 0; i--) {
        j->line[i] = stride;
        stride *= p->in[i];
    }
    for (int64_t t = 0; t < taps; t++)
        j->offset[t] = t / (p->kernel[1] * p->kernel[2]) * p->dilation[0] * j->line[0] +
                       t / p->kernel[2] % p->kernel[1] * p->dilation[1] * j->line[1] +
                       t % p->kernel[2] * p->dilation[2] * j->line[2];
    j->in_floats = product(p->in) * p->channels;
    j->out_floats = product(p->out) * p->channels;
}

/* Divides, rounding up; few pools are dilated. */
static int64_t divide_up(int64_t n, int64_t by)
{
    return by == 1 ? n : (n + by - 1) / by;
}

/* Sets the window's elements along an axis; at: of the output. */
static void set_axis(const struct pool_job *j, int axis, int64_t at, struct window *w)
{
    const struct od_max_pool *p = j->plan;
    int64_t begin = at * p->stride[axis] - p->low[axis], dilation = p->dilation[axis];
    int64_t left = p->in[axis] - begin; /* to the end of the input */

    w->first[axis] = begin < 0 ? divide_up(-begin, dilation) : 0;
    w->end[axis] = left <= 0 ? 0 : divide_up(left, dilation);
    if (w->end[axis] > p->kernel[axis])
        w->end[axis] = p->kernel[axis];
    w->origin += begin * j->line[axis];
}

static bool is_empty(const struct window *w)
{
    return w->first[0] >= w->end[0] || w->first[1] >= w->end[1] || w->first[2] >= w->end[2];
}

/* Calls body for each window of a sample. */
typedef void on_window(const struct pool_job *j, const struct window *w, int64_t sample,
                       int64_t position);

INLINE void visit(const struct pool_job *j, int64_t sample, on_window *body)
{
    const int64_t *out = j->plan->out;
    struct window d, h, w;
    int64_t position = 0;

    for (int64_t z = 0; z < out[0]; z++) {
        d.origin = 0;
        set_axis(j, 0, z, &d);
        for (int64_t y = 0; y < out[1]; y++) {
            h = d;
            set_axis(j, 1, y, &h);
            for (int64_t x = 0; x < out[2]; x++) {
                w = h;
                set_axis(j, 2, x, &w);
                body(j, &w, sample, position++);
            }
        }
    }
}

/* ---- forward ---- */

/* Computes n channels of a window, at most LANES; x: the sample's values from the first of these
 * channels on. Only elements inside the input are read. */
INLINE void find_largest(const struct pool_job *j, const struct window *w, const float *x, size_t n,
                         float *y, uint8_t *taps)
{
    const int64_t *kernel = j->plan->kernel;
    int64_t tap = (w->first[0] * kernel[1] + w->first[1]) * kernel[2] + w->first[2];
    vector best = {0}, value = {0};
    numbers from = (numbers){0} + (int32_t)tap, larger;

    memcpy(&best, x + (w->origin + j->offset[tap]), n * sizeof *x);
    for (int64_t d = w->first[0]; d < w->end[0]; d++)
        for (int64_t h = w->first[1]; h < w->end[1]; h++)
            for (int64_t i = w->first[2]; i < w->end[2]; i++) {
                tap = (d * kernel[1] + h) * kernel[2] + i;
                memcpy(&value, x + (w->origin + j->offset[tap]), n * sizeof *x);
                larger = value > best;
                best = (vector)(((numbers)value & larger) | ((numbers)best & ~larger));
                from = (((numbers){0} + (int32_t)tap) & larger) | (from & ~larger);
            }
    memcpy(y, &best, n * sizeof *y);
    if (taps) {
        bytes small = __builtin_convertvector(from, bytes);

        memcpy(taps, &small, n);
    }
}

/* Computes a window that has no element inside the input. */
static void find_nothing(int64_t n, float *y, uint8_t *taps)
{
    for (int64_t c = 0; c < n; c++)
        y[c] = -FLT_MAX;
    if (taps)
        memset(taps, OD_POOL_TAPS, (size_t)n);
}

/* The last vector begins where it ends with the last channel, so that some channels are computed
 * twice. */
INLINE void find_window(const struct pool_job *j, const struct window *w, int64_t sample,
                        int64_t position)
{
    int64_t n = j->plan->channels, at = sample * j->out_floats + position * n;
    const float *x = j->from + sample * j->in_floats;
    uint8_t *taps = j->plan->taps ? j->plan->taps + at : NULL;
    float *y = j->to + at;

    if (is_empty(w)) {
        find_nothing(n, y, taps);
        return;
    }
    for (int64_t c = 0; c + LANES <= n; c += LANES)
        find_largest(j, w, x + c, LANES, y + c, taps ? taps + c : NULL);
    if (n < LANES)
        find_largest(j, w, x, (size_t)n, y, taps);
    else if (n % LANES != 0)
        find_largest(j, w, x + n - LANES, LANES, y + n - LANES, taps ? taps + n - LANES : NULL);
}

static void find_sample(void *job, int64_t sample)
{
    visit(job, sample, find_window);
}

/* ---- backward ---- */

/* Adds the gradient of each output to that of the element that was the largest. */
INLINE void give_window(const struct pool_job *j, const struct window *w, int64_t sample,
                        int64_t position)
{
    int64_t n = j->plan->channels, at = sample * j->out_floats + position * n;
    const uint8_t *taps = j->plan->taps + at;
    const float *gradient = j->from + at;
    float *to = j->to + sample * j->in_floats;

    for (int64_t c = 0; c < n; c++)
        if (taps[c] != OD_POOL_TAPS)
            to[w->origin + j->offset[taps[c]] + c] += gradient[c];
}

static void give_sample(void *job, int64_t sample)
{
    const struct pool_job *j = job;

    if (!j->accumulates)
        memset(j->to + sample * j->in_floats, 0, (size_t)j->in_floats * sizeof *j->to);
    visit(j, sample, give_window);
}

/* ---- steps ---- */

static bool run(const void *plan, float *const *data, bool accumulates,
                void (*body)(void *job, int64_t sample))
{
    struct pool_job j = {.plan = plan, .to = data[0], .from = data[1], .accumulates = accumulates};

    begin_job(&j);
    od_parallel(j.plan->batch, j.plan->batch * j.in_floats, body, &j);
    return true;
}

bool od_max_pool(const void *plan, float *const *data)
{
    return run(plan, data, false, find_sample);
}

bool od_max_pool_gradient(const void *plan, float *const *data)
{
    return run(plan, data, false, give_sample);
}

bool od_max_pool_gradient_accumulate(const void *plan, float *const *data)
{
    return run(plan, data, true, give_sample);
}
