#include "backend/onednn/training/loops.h"

#include "backend/onednn/kernels/kernels.h"
#include "base/random.h"
#include "vbslab/training.h"

#include <string.h>

#define CHUNK 8192 /* floats that one thread computes at once; even */

/* A loop over n floats in chunks. */
struct loop_job {
    const void *plan;
    float *const *data;
    int64_t n;
    int64_t chunk;
};

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Runs body for all chunks of n items; each item is `floats` floats. */
static void run(const void *plan, float *const *data, int64_t n, int64_t floats,
                void (*body)(void *job, int64_t i))
{
    int64_t chunk = floats < CHUNK ? CHUNK / floats : 1;
    struct loop_job job = {plan, data, n, chunk};

    od_parallel((n + chunk - 1) / chunk, n * floats, body, &job);
}

/* ---- values ---- */

static void copy(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);

    memcpy(j->data[0] + first, j->data[1] + first, (size_t)n * sizeof(float));
}

static void accumulate(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);
    float *to = j->data[0] + first;
    const float *from = j->data[1] + first;

    for (int64_t k = 0; k < n; k++)
        to[k] += from[k];
}

static void sum(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);
    float *to = j->data[0] + first;
    const float *a = j->data[1] + first, *b = j->data[2] + first;

    for (int64_t k = 0; k < n; k++)
        to[k] = a[k] + b[k];
}

static void sum_relu(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);
    float *to = j->data[0] + first;
    const float *a = j->data[1] + first, *b = j->data[2] + first;

    for (int64_t k = 0; k < n; k++) {
        float value = a[k] + b[k];

        to[k] = value > 0 ? value : 0;
    }
}

static void relu_gradient(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);
    float *to = j->data[0] + first;
    const float *output = j->data[1] + first, *gradient = j->data[2] + first;

    for (int64_t k = 0; k < n; k++) {
        float value = gradient[k];

        to[k] = output[k] > 0 ? value : 0;
    }
}

static void relu_gradient_accumulate(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, n = smaller(j->chunk, j->n - first);
    float *to = j->data[0] + first;
    const float *output = j->data[1] + first, *gradient = j->data[2] + first;

    for (int64_t k = 0; k < n; k++) {
        float value = gradient[k];

        to[k] += output[k] > 0 ? value : 0;
    }
}

bool od_loop_copy(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, copy);
    return true;
}

bool od_loop_accumulate(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, accumulate);
    return true;
}

bool od_loop_sum(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, sum);
    return true;
}

bool od_loop_sum_relu(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, sum_relu);
    return true;
}

bool od_loop_relu_gradient(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, relu_gradient);
    return true;
}

bool od_loop_relu_gradient_accumulate(const void *plan, float *const *data)
{
    run(plan, data, *(const int64_t *)plan, 1, relu_gradient_accumulate);
    return true;
}

/* ---- dropout ---- */

/* Gives the factors of the values number `index` and index + 1; index is even. */
static void draw(const struct od_dropout *plan, uint64_t key, int64_t index, float factors[2])
{
    uint64_t bits = vbs_random(key + (uint64_t)index, 0);

    factors[0] = (uint32_t)bits < plan->threshold ? 0 : plan->factor;
    factors[1] = (uint32_t)(bits >> 32) < plan->threshold ? 0 : plan->factor;
}

static uint64_t key_of(const struct od_dropout *plan)
{
    return vbs_random(vbs_random(vbs_random(plan->pass->seed, 0) ^ plan->pass->step, 0) ^
                          (uint64_t)plan->number,
                      0);
}

static void drop(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, end = smaller(first + j->chunk, j->n);
    uint64_t key = key_of(j->plan);
    float *to = j->data[0];
    const float *from = j->data[1];
    float factors[2];

    for (int64_t k = first; k < end; k++) {
        if (k % 2 == 0)
            draw(j->plan, key, k, factors);
        to[k] = factors[k % 2] * from[k];
    }
}

static void drop_accumulate(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t first = i * j->chunk, end = smaller(first + j->chunk, j->n);
    uint64_t key = key_of(j->plan);
    float *to = j->data[0];
    const float *from = j->data[1];
    float factors[2];

    for (int64_t k = first; k < end; k++) {
        if (k % 2 == 0)
            draw(j->plan, key, k, factors);
        to[k] += factors[k % 2] * from[k];
    }
}

bool od_loop_dropout(const void *plan, float *const *data)
{
    run(plan, data, ((const struct od_dropout *)plan)->n, 1, drop);
    return true;
}

bool od_loop_dropout_accumulate(const void *plan, float *const *data)
{
    run(plan, data, ((const struct od_dropout *)plan)->n, 1, drop_accumulate);
    return true;
}

/* ---- channels ---- */

static void scale(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t n = ((const struct od_channels *)j->plan)->channels;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++) {
        float *to = j->data[0] + row * n;
        const float *from = j->data[1] + row * n, *factor = j->data[2], *shift = j->data[3];

        for (int64_t c = 0; c < n; c++)
            to[c] = from[c] * factor[c] + shift[c];
    }
}

static void scale_factor(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t n = ((const struct od_channels *)j->plan)->channels;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++) {
        float *to = j->data[0] + row * n;
        const float *from = j->data[1] + row * n, *factor = j->data[2];

        for (int64_t c = 0; c < n; c++)
            to[c] = from[c] * factor[c];
    }
}

static void scale_accumulate(void *data, int64_t i)
{
    const struct loop_job *j = data;
    int64_t n = ((const struct od_channels *)j->plan)->channels;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++) {
        float *to = j->data[0] + row * n;
        const float *from = j->data[1] + row * n, *factor = j->data[2];

        for (int64_t c = 0; c < n; c++)
            to[c] += from[c] * factor[c];
    }
}

bool od_loop_scale(const void *plan, float *const *data)
{
    const struct od_channels *c = plan;

    run(plan, data, c->rows, c->channels, scale);
    return true;
}

bool od_loop_scale_factor(const void *plan, float *const *data)
{
    const struct od_channels *c = plan;

    run(plan, data, c->rows, c->channels, scale_factor);
    return true;
}

bool od_loop_scale_accumulate(const void *plan, float *const *data)
{
    const struct od_channels *c = plan;

    run(plan, data, c->rows, c->channels, scale_accumulate);
    return true;
}

static void sum_part(void *data, int64_t part)
{
    const struct loop_job *j = data;
    int64_t n = ((const struct od_channels *)j->plan)->channels;
    float *products = j->data[0] + part * 2 * n, *sums = products + n;

    memset(products, 0, (size_t)n * 2 * sizeof *products);
    for (int64_t row = j->n * part / OD_SUM_PARTS; row < j->n * (part + 1) / OD_SUM_PARTS; row++) {
        const float *x = j->data[1] + row * n, *y = j->data[2] + row * n;

        for (int64_t c = 0; c < n; c++) {
            products[c] += x[c] * y[c];
            sums[c] += y[c];
        }
    }
}

bool od_loop_scale_sums(const void *plan, float *const *data)
{
    const struct od_channels *c = plan;
    struct loop_job job = {plan, data, c->rows, 1};

    od_parallel(OD_SUM_PARTS, c->rows * c->channels, sum_part, &job);
    return true;
}

bool od_loop_scale_totals(const void *plan, float *const *data)
{
    int64_t n = ((const struct od_channels *)plan)->channels;

    for (int64_t c = 0; c < n; c++) {
        float product = 0, total = 0;

        for (int64_t part = 0; part < OD_SUM_PARTS; part++) {
            product += data[1][part * 2 * n + c];
            total += data[1][part * 2 * n + n + c];
        }
        data[0][c] = product;
        data[2][c] = total;
    }
    return true;
}

bool od_loop_statistics(const void *plan, float *const *data)
{
    const struct od_statistics *s = plan;

    for (int64_t c = 0; c < s->channels; c++) {
        data[0][c] += s->rate * (data[1][c] - data[0][c]);
        data[2][c] += s->rate * (s->correction * data[3][c] - data[2][c]);
    }
    return true;
}

/* ---- parts of rows ---- */

static void put(void *data, int64_t i)
{
    const struct loop_job *j = data;
    const struct od_rows *r = j->plan;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++)
        memcpy(j->data[0] + row * r->whole + r->first, j->data[1] + row * r->part,
               (size_t)r->part * sizeof(float));
}

static void take(void *data, int64_t i)
{
    const struct loop_job *j = data;
    const struct od_rows *r = j->plan;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++)
        memcpy(j->data[0] + row * r->part, j->data[1] + row * r->whole + r->first,
               (size_t)r->part * sizeof(float));
}

static void take_accumulate(void *data, int64_t i)
{
    const struct loop_job *j = data;
    const struct od_rows *r = j->plan;
    int64_t end = smaller((i + 1) * j->chunk, j->n);

    for (int64_t row = i * j->chunk; row < end; row++) {
        float *to = j->data[0] + row * r->part;
        const float *from = j->data[1] + row * r->whole + r->first;

        for (int64_t k = 0; k < r->part; k++)
            to[k] += from[k];
    }
}

bool od_loop_put(const void *plan, float *const *data)
{
    const struct od_rows *r = plan;

    run(plan, data, r->rows, r->part, put);
    return true;
}

bool od_loop_take(const void *plan, float *const *data)
{
    const struct od_rows *r = plan;

    run(plan, data, r->rows, r->part, take);
    return true;
}

bool od_loop_take_accumulate(const void *plan, float *const *data)
{
    const struct od_rows *r = plan;

    run(plan, data, r->rows, r->part, take_accumulate);
    return true;
}
