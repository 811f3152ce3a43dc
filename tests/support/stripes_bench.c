#include "support/stripes_bench.h"

#include "reference/backend/ops.h"
#include "support/guard.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Places of a layer at which stripes are checked, where it has many. */
#define MANY    40
#define AT_ENDS 8
#define BETWEEN 13

struct vbs_session *stripes_open(struct stripes_bench *t, bool stripes,
                                 const struct vbs_requested_kernel *requested, int n)
{
    static const int BATCHES[] = {1, 3};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = BATCHES,
                                          .n_batches = 2,
                                          .requested = requested,
                                          .n_requested = n,
                                          .stripes = stripes,
                                          .threads = t->threads};
    struct vbs_session *session = NULL;

    return t->backend->open(&t->ctx, t->network, &options, &session) == VBS_OK ? session : NULL;
}

int64_t stripes_elements(const struct vbs_network *network, int tensor)
{
    return vbs_shape_elements(tensor == 0 ? &network->input : &network->layers[tensor].shape);
}

bool stripes_run(struct stripes_bench *t, struct vbs_session *session, int kernel,
                 const void *const *src, void *dst)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    unsigned char *ws = guarded(session, k->ws_bytes);
    struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws};
    bool worked = ws && session->ops->run(&t->ctx, session, kernel, &operands, NULL) == VBS_OK &&
                  is_guard(ws + k->ws_bytes, GUARD_BYTES);

    session->ops->free(session, ws);
    return worked;
}

char **stripes_tensors(struct vbs_session *session)
{
    char **tensors = calloc((size_t)session->n_layers + 1, sizeof *tensors);

    for (int k = 0; tensors && k <= session->n_layers; k++) {
        tensors[k] = session->ops->alloc(session, session->layers[k].out_bytes);
        if (!tensors[k]) {
            stripes_free_tensors(session, tensors);
            return NULL;
        }
    }
    return tensors;
}

void stripes_free_tensors(struct vbs_session *session, char **tensors)
{
    for (int k = 0; tensors && k <= session->n_layers; k++)
        session->ops->free(session, tensors[k]);
    free(tensors);
}

bool stripes_compute(struct stripes_bench *t)
{
    t->outputs = stripes_tensors(t->session);
    for (int k = 1; t->outputs && k <= t->session->n_layers; k++) {
        const struct vbs_layer *l = &t->network->layers[k];
        const float *inputs[STRIPES_MAX_INPUTS];
        float *values[STRIPES_MAX_INPUTS], *output;
        bool done = true;

        for (int i = 0; i < l->n_inputs; i++) {
            values[i] =
                malloc((size_t)stripes_elements(t->network, l->inputs[i]) * sizeof **values);
            inputs[i] = values[i];
            done &= t->session->ops->read(&t->ctx, t->session, l->inputs[i], 1,
                                          t->tensors[l->inputs[i]], values[i]) == VBS_OK;
        }
        output = done ? reference_layer(t->network, k, inputs) : NULL;
        done = output &&
               t->session->ops->write(&t->ctx, t->session, k, 1, output, t->outputs[k]) == VBS_OK;
        free(output);
        for (int i = 0; i < l->n_inputs; i++)
            free(values[i]);
        if (!done)
            return false;
    }
    return t->outputs;
}

double stripes_difference(const float *got, const float *want, int64_t n, const float *all,
                          int64_t n_all)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < n_all; i++)
        if (isfinite(all[i]))
            largest = fmax(largest, fabs((double)all[i]));
    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        if (got[i] == want[i] || (isnan(got[i]) && isnan(want[i])))
            continue;
        most = d > most || isnan(d) ? d : most;
        if (isnan(most))
            return HUGE_VAL;
    }
    return most / largest;
}

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

static bool accumulates(const struct vbs_profile_layer *layer)
{
    return layer->reaches && layer->reaches[0].unit == 0 && layer->reaches[0].step == 1;
}

/* Makes a sample of NaN but for the rows of the input that rows [row, row + n) read; *first: the
 * first of these. */
static float *rows_alone(struct stripes_bench *t, int layer, int input, int row, int n,
                         const void **first)
{
    const struct vbs_profile_layer *l = &t->session->layers[layer];
    const struct vbs_profile_layer *in = &t->session->layers[l->inputs[input]];
    const struct vbs_reach *reach = &l->reaches[input];
    float *sample = t->session->ops->alloc(t->session, in->out_bytes);
    int64_t from = 0, to = in->rows - 1, bytes;

    if (reach->unit == 0 && reach->step == 0) {
        memcpy(sample, t->tensors[l->inputs[input]], (size_t)in->out_bytes);
        *first = sample;
        return sample;
    }
    bytes = in->out_bytes / in->rows;
    from = row;
    to = row + n - 1;
    if (reach->unit > 0) {
        from = floor_div(reach->step * (int64_t)row + reach->low, reach->unit);
        to = floor_div(reach->step * ((int64_t)row + n - 1) + reach->high, reach->unit);
    }
    from = from < 0 ? 0 : from;
    to = to > in->rows - 1 ? in->rows - 1 : to;
    for (int64_t i = 0; i < in->out_bytes / 4; i++)
        sample[i] = NAN;
    memcpy((char *)sample + from * bytes, t->tensors[l->inputs[input]] + from * bytes,
           (size_t)((to - from + 1) * bytes));
    *first = (char *)sample + from * bytes;
    return sample;
}

/* Runs a kernel on rows alone. Gives the distance from the whole layer; HUGE_VAL: it failed, or
 * wrote other rows. */
static double stripe_differs(struct stripes_bench *t, struct vbs_session *session, int kernel,
                             int row)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    const struct vbs_profile_layer *l = &session->layers[k->layer];
    int64_t bytes = l->out_bytes / l->rows * k->rows, at = l->out_bytes / l->rows * row;
    const float *want = (const float *)(const void *)t->outputs[k->layer];
    unsigned char *dst = guarded(session, bytes);
    const void *src[STRIPES_MAX_INPUTS];
    float *samples[STRIPES_MAX_INPUTS];
    double differs = HUGE_VAL;

    for (int i = 0; i < l->n_inputs; i++)
        samples[i] = rows_alone(t, k->layer, i, row, k->rows, &src[i]);
    if (stripes_run(t, session, kernel, src, dst) && is_guard(dst + bytes, GUARD_BYTES))
        differs = stripes_difference((float *)(void *)dst, want + at / 4, bytes / 4, want,
                                     l->out_bytes / 4);
    for (int i = 0; i < l->n_inputs; i++)
        session->ops->free(session, samples[i]);
    session->ops->free(session, dst);
    return differs;
}

/* Lists the first rows of stripes: all, or, of many, those at both ends and some between. */
static int list_places(struct stripes_bench *t, const struct vbs_kernel *k,
                       struct vbs_requested_kernel *requested)
{
    int last = t->session->layers[k->layer].rows - k->rows, n = 0;

    for (int row = 0; row <= last; row++)
        if (last < MANY || row < AT_ENDS || row > last - AT_ENDS || row % BETWEEN == 0)
            requested[n++] = (struct vbs_requested_kernel){.layer = k->layer,
                                                           .batch = 1,
                                                           .row = row,
                                                           .rows = k->rows,
                                                           .algorithm = k->algorithm};
    return n;
}

/* Checks the kernels of a row of a profile at the places of the layer; gives the largest
 * difference. */
static double differs_anywhere(struct stripes_bench *t, const struct vbs_kernel *k,
                               double tolerance)
{
    struct vbs_requested_kernel *requested =
        calloc((size_t)t->session->layers[k->layer].rows, sizeof *requested);
    int n = list_places(t, k, requested);
    struct vbs_session *session;
    double worst = 0;

    session = stripes_open(t, true, requested, n);
    if (!session || session->n_kernels != n) {
        printf("# %s\n", vbs_detail(&t->ctx));
        worst = HUGE_VAL;
    }
    for (int i = 0; worst <= tolerance && i < n; i++) {
        const struct vbs_kernel *made = &session->kernels[i];
        int row = requested[i].row;
        bool right = made->rows == k->rows && made->ws_bytes <= k->ws_bytes &&
                     made->packed_bytes == k->packed_bytes && made->weight_bytes == k->weight_bytes;

        if (right && accumulates(&t->session->layers[k->layer])) /* sums_differ runs them */
            continue;
        worst = right ? fmax(worst, stripe_differs(t, session, i, row)) : HUGE_VAL;
        if (worst > tolerance)
            printf("# layer %d, rows %d + %d, %s: %g, workspace %lld of %lld\n", k->layer, row,
                   k->rows, k->algorithm, worst, (long long)made->ws_bytes, (long long)k->ws_bytes);
    }
    if (session)
        session->ops->close(session);
    free(requested);
    return worst;
}

/* ---- layers that accumulate ---- */

/* Lists steps from the first row to the last, each of the most rows up to height that are a power
 * of two and left; gives their number. */
static int list_steps(const struct stripes_bench *t, int layer, int height,
                      struct vbs_requested_kernel *requested)
{
    const struct vbs_session *s = t->session;
    int n = 0, rows = height;

    for (int row = 0; row < s->layers[layer].rows; row += rows) {
        while (rows > s->layers[layer].rows - row)
            rows /= 2;
        requested[n] =
            (struct vbs_requested_kernel){.layer = layer, .batch = 1, .row = row, .rows = rows};
        for (int i = 0; i < s->n_kernels; i++)
            if (s->kernels[i].layer == layer && s->kernels[i].rows == rows)
                requested[n].algorithm = s->kernels[i].algorithm;
        n++;
    }
    return n;
}

/* Runs steps of a layer one after the other, into memory that held NaN before. Gives the distance
 * of what they add up to from the whole layer; HUGE_VAL: some step failed. */
static double sum_differs(struct stripes_bench *t, const struct vbs_requested_kernel *steps, int n)
{
    const struct vbs_profile_layer *l = &t->session->layers[steps->layer];
    const float *want = (const float *)(const void *)t->outputs[steps->layer];
    struct vbs_session *session = stripes_open(t, true, steps, n);
    unsigned char *dst = guarded(t->session, l->out_bytes);
    double differs = session ? 0 : HUGE_VAL;

    for (int64_t i = 0; i < l->out_bytes / 4; i++)
        ((float *)(void *)dst)[i] = NAN;
    for (int i = 0; i < n && differs < HUGE_VAL; i++) {
        const void *src[STRIPES_MAX_INPUTS];
        float *samples[STRIPES_MAX_INPUTS];

        for (int j = 0; j < l->n_inputs; j++)
            samples[j] = rows_alone(t, steps->layer, j, steps[i].row, steps[i].rows, &src[j]);
        if (!stripes_run(t, session, i, src, dst) || !is_guard(dst + l->out_bytes, GUARD_BYTES))
            differs = HUGE_VAL;
        for (int j = 0; j < l->n_inputs; j++)
            t->session->ops->free(t->session, samples[j]);
    }
    if (differs < HUGE_VAL)
        differs = stripes_difference((float *)(void *)dst, want, l->out_bytes / 4, want,
                                     l->out_bytes / 4);
    if (session)
        session->ops->close(session);
    t->session->ops->free(t->session, dst);
    return differs;
}

/* Runs a layer that accumulates in steps of each height. */
static double sums_differ(struct stripes_bench *t, int layer)
{
    int rows = t->session->layers[layer].rows;
    struct vbs_requested_kernel *steps = calloc((size_t)rows, sizeof *steps);
    double worst = 0;

    for (int height = 1; height < rows; height *= 2)
        worst = fmax(worst, sum_differs(t, steps, list_steps(t, layer, height, steps)));
    free(steps);
    return worst;
}

struct stripes_result stripes_check(struct stripes_bench *t, double tolerance)
{
    struct stripes_result result = {0};

    for (int k = 1; k <= t->session->n_layers; k++) {
        const struct vbs_profile_layer *l = &t->session->layers[k];

        result.n_layers += l->reaches != NULL;
        for (int n = 1; l->reaches && n < l->rows; n *= 2) {
            int n_made = 0;

            for (int i = 0; i < t->session->n_kernels; i++)
                n_made += t->session->kernels[i].layer == k && t->session->kernels[i].rows == n;
            result.n_missing += n_made == 0;
        }
    }
    for (int k = 1; k <= t->session->n_layers; k++)
        if (accumulates(&t->session->layers[k])) {
            double differs = sums_differ(t, k);

            result.n_sums++;
            result.n_bad += !(differs <= tolerance);
            result.worst = fmax(result.worst, differs);
        }
    for (int i = 0; i < t->session->n_kernels; i++)
        if (t->session->kernels[i].rows > 0) {
            double differs = differs_anywhere(t, &t->session->kernels[i], tolerance);

            result.n_kernels++;
            result.n_bad += !(differs <= tolerance);
            result.worst = fmax(result.worst, differs);
        }
    return result;
}
