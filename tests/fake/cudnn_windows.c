#include "fake/cuda_common.h"

#include <math.h>

/* Gives the value at a place of a tensor with three spatial dimensions. */
static float *value(const struct fake_operand *o, int n, int c, const int *place)
{
    const int *s = o->t.stride;

    return &o->values[(int64_t)n * s[0] + (int64_t)c * s[1] + (int64_t)place[0] * s[2] +
                      (int64_t)place[1] * s[3] + (int64_t)place[2] * s[4]];
}

/* Goes on to the next place of a space of these sizes; the last dimension changes first. */
static void step(const int *sizes, int *place)
{
    for (int d = 2; d >= 0 && ++place[d] == sizes[d]; d--)
        place[d] = 0;
}

static int64_t volume(const int *sizes)
{
    return (int64_t)sizes[0] * sizes[1] * sizes[2];
}

/* Gives the place in x of number q of the window at place; false: it is in the padding. */
static bool look(const struct fake_op *op, const int *place, const int *q, int *from)
{
    const struct fake_window *w = &op->window;
    bool inside = true;

    for (int d = 0; d < 3; d++) {
        from[d] = place[d] * w->stride[d] - w->pad[d] + q[d] * w->dilation[d];
        inside = inside && from[d] >= 0 && from[d] < op->at[FAKE_X].t.dim[2 + d];
    }
    return inside;
}

static double window_sum(const struct fake_op *op, int n, int k, const int *place)
{
    const struct fake_operand *x = &op->at[FAKE_X], *w = &op->at[FAKE_W];
    int n_in = w->t.dim[1], first = k / (w->t.dim[0] / op->window.groups) * n_in;
    int64_t n_q = volume(&w->t.dim[2]);
    double sum = 0;
    int q[3] = {0};

    for (int64_t i = 0; i < n_q; i++, step(&w->t.dim[2], q)) {
        const float *weights, *values;
        int from[3];

        if (!look(op, place, q, from))
            continue;
        weights = value(w, k, 0, q);
        values = value(x, n, first, from);
        for (int64_t c = 0; c < n_in; c++)
            sum += (double)weights[c * w->t.stride[1]] * values[c * x->t.stride[1]];
    }
    return sum;
}

/* With a bias: y = activation(alpha * sum + alpha2 * z + bias). */
static void convolved(const struct fake_op *op, int n, int k, const int *place)
{
    float *y = value(&op->at[FAKE_Y], n, k, place);
    double sum = window_sum(op, n, k, place);

    if (!op->at[FAKE_BIAS].values) {
        fake_put(op, sum, y);
        return;
    }
    sum = op->alpha * sum + op->at[FAKE_BIAS].values[(int64_t)k * op->at[FAKE_BIAS].t.stride[1]];
    if (op->alpha2 != 0)
        sum += op->alpha2 * *value(&op->at[FAKE_Z], n, k, place);
    *y = (float)fake_activate(op, sum);
}

void fake_convolve(const struct fake_op *op)
{
    const struct fake_tensor *y = &op->at[FAKE_Y].t;
    int64_t n_places = volume(&y->dim[2]);

    fake_scribble(op);
    for (int n = 0; n < y->dim[0]; n++) {
        for (int k = 0; k < y->dim[1]; k++) {
            int place[3] = {0};

            for (int64_t i = 0; i < n_places; i++, step(&y->dim[2], place))
                convolved(op, n, k, place);
        }
    }
}

/* Gives the place in dy whose window had number q on this place in dx; false: there is none. */
static bool look_back(const struct fake_op *op, const int *place, const int *q, int *from)
{
    const struct fake_window *w = &op->window;

    for (int d = 0; d < 3; d++) {
        int at_stride = place[d] + w->pad[d] - q[d] * w->dilation[d];

        from[d] = at_stride / w->stride[d];
        if (at_stride < 0 || at_stride % w->stride[d] != 0 ||
            from[d] >= op->at[FAKE_X].t.dim[2 + d])
            return false;
    }
    return true;
}

static double back_sum(const struct fake_op *op, int n, int c, const int *place)
{
    const struct fake_operand *dy = &op->at[FAKE_X], *w = &op->at[FAKE_W];
    int n_out = w->t.dim[0] / op->window.groups, first = c / w->t.dim[1] * n_out;
    int64_t n_q = volume(&w->t.dim[2]);
    double sum = 0;
    int q[3] = {0};

    for (int64_t i = 0; i < n_q; i++, step(&w->t.dim[2], q)) {
        int from[3];

        if (!look_back(op, place, q, from))
            continue;
        for (int k = first; k < first + n_out; k++)
            sum += (double)*value(w, k, c % w->t.dim[1], q) * *value(dy, n, k, from);
    }
    return sum;
}

void fake_convolve_back(const struct fake_op *op)
{
    const struct fake_operand *dx = &op->at[FAKE_Y];
    int64_t n_places = volume(&dx->t.dim[2]);

    fake_scribble(op);
    for (int n = 0; n < dx->t.dim[0]; n++) {
        for (int c = 0; c < dx->t.dim[1]; c++) {
            int place[3] = {0};

            for (int64_t i = 0; i < n_places; i++, step(&dx->t.dim[2], place))
                fake_put(op, back_sum(op, n, c, place), value(dx, n, c, place));
        }
    }
}

static double pooled(const struct fake_op *op, int n, int c, const int *place)
{
    const struct fake_window *w = &op->window;
    bool is_max = w->mode == CUDNN_POOLING_MAX || w->mode == CUDNN_POOLING_MAX_DETERMINISTIC;
    double sum = 0, greatest = -INFINITY;
    int64_t n_inside = 0, n_q = volume(w->size);
    int q[3] = {0};

    for (int64_t i = 0; i < n_q; i++, step(w->size, q)) {
        int from[3];
        double x;

        if (!look(op, place, q, from))
            continue;
        x = *value(&op->at[FAKE_X], n, c, from);
        if (is_max && isnan(x) && w->nan == CUDNN_PROPAGATE_NAN)
            return x;
        greatest = x > greatest ? x : greatest;
        sum += x;
        n_inside++;
    }
    if (is_max)
        return greatest;
    return sum / (double)(w->mode == CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING ? n_q : n_inside);
}

void fake_pool(const struct fake_op *op)
{
    const struct fake_operand *y = &op->at[FAKE_Y];
    int64_t n_places = volume(&y->t.dim[2]);

    for (int n = 0; n < y->t.dim[0]; n++) {
        for (int c = 0; c < y->t.dim[1]; c++) {
            int place[3] = {0};

            for (int64_t i = 0; i < n_places; i++, step(&y->t.dim[2], place))
                fake_put(op, pooled(op, n, c, place), value(y, n, c, place));
        }
    }
}
