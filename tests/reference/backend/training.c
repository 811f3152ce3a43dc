#include "reference/backend/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An operator of the network, its output, and the gradient of its output. Number 0 is the
 * network's input. */
struct reference_operator {
    enum vbs_op op;
    int layer, fused;
    const union vbs_attributes *attributes;
    int n_inputs;
    int inputs[8];
    struct vbs_shape shape;
    double *x, *g;
};

typedef struct reference_training training;
typedef struct reference_operator node;

static int64_t elements(const struct vbs_shape *s)
{
    int64_t n = 1;

    for (int i = 0; i < s->n_dims; i++)
        n *= s->dim[i];
    return n;
}

/* ---- operators ---- */

static bool add_node(training *r, const node *n)
{
    node *all = realloc(r->operators, ((size_t)r->n_operators + 1) * sizeof *all);
    size_t size = (size_t)(elements(&n->shape) * r->batch);

    if (!all)
        return false;
    r->operators = all;
    all[r->n_operators] = *n;
    all[r->n_operators].x = calloc(size, sizeof(double));
    all[r->n_operators].g = calloc(size, sizeof(double));
    r->n_operators++;
    return all[r->n_operators - 1].x && all[r->n_operators - 1].g;
}

static bool unfold(training *r)
{
    const struct vbs_network *net = r->network;
    int *last = calloc((size_t)net->n_layers + 1, sizeof *last);
    bool done = last && add_node(r, &(node){.op = VBS_N_OPS, .shape = net->input});

    for (int k = 1; k <= net->n_layers && done; k++) {
        const struct vbs_layer *l = &net->layers[k];
        node n = {l->op, k, -1, &l->attributes, l->n_inputs, {0}, l->shape, NULL, NULL};

        for (int i = 0; i < l->n_inputs; i++)
            n.inputs[i] = last[l->inputs[i]];
        if (l->op == VBS_OP_SOFTMAX) {
            last[k] = n.inputs[0];
            continue;
        }
        done = add_node(r, &n);
        for (int f = 0; f < l->n_fused && done; f++) {
            n = (node){l->fused[f].op, k,    f,   &l->fused[f].attributes, 1, {r->n_operators - 1},
                       l->shape,       NULL, NULL};
            done = add_node(r, &n);
        }
        last[k] = r->n_operators - 1;
    }
    free(last);
    return done;
}

void reference_training_clear(training *r)
{
    for (int i = 0; i < r->n_operators; i++) {
        free(r->operators[i].x);
        free(r->operators[i].g);
    }
    free(r->operators);
    r->operators = NULL;
    r->n_operators = 0;
}

static const struct reference_array *array_of(const training *r, const node *n,
                                              enum vbs_parameter what)
{
    for (int i = 0; i < r->n_arrays; i++)
        if (r->arrays[i].layer == n->layer && r->arrays[i].fused == n->fused &&
            r->arrays[i].what == what)
            return &r->arrays[i];
    return NULL;
}

/* ---- convolutions and inner products: the passes visit the same products ---- */

/* Positions of a shape [C, D, H, W] with missing dimensions of size 1 in front. */
struct grid {
    int64_t c, size[3];
};

static struct grid grid_of(const struct vbs_shape *s)
{
    struct grid g = {s->dim[0], {1, 1, 1}};

    for (int i = 1; i < s->n_dims; i++)
        g.size[3 - s->n_dims + i] = s->dim[i];
    return g;
}

/* The window of dimension i of a grid; dimensions in front have a window of one position. */
struct span {
    int64_t kernel, stride, dilation, low;
};

static struct span span_of(const struct vbs_window *w, int n_dims, int i)
{
    int own = i - (4 - n_dims);

    return own < 0 ? (struct span){1, 1, 1, 0}
                   : (struct span){w->kernel[own], w->stride[own],
                                   w->dilation[own] > 0 ? w->dilation[own] : 1, w->pad_low[own]};
}

/* Calls visit with the input's position under each position of the window at an output's position;
 * in: below 0 where it is outside. */
typedef void visitor(void *job, int64_t out, int64_t in, int64_t in_window);

static inline void visit_window(const struct grid *in, const struct grid *out, const struct span *s,
                                const int64_t at[3], visitor *visit, void *job)
{
    int64_t o = (at[0] * out->size[1] + at[1]) * out->size[2] + at[2], k = 0, p[3];

    for (int64_t a = 0; a < s[0].kernel; a++)
        for (int64_t b = 0; b < s[1].kernel; b++)
            for (int64_t c = 0; c < s[2].kernel; c++, k++) {
                p[0] = at[0] * s[0].stride - s[0].low + a * s[0].dilation;
                p[1] = at[1] * s[1].stride - s[1].low + b * s[1].dilation;
                p[2] = at[2] * s[2].stride - s[2].low + c * s[2].dilation;
                bool inside = p[0] >= 0 && p[0] < in->size[0] && p[1] >= 0 && p[1] < in->size[1] &&
                              p[2] >= 0 && p[2] < in->size[2];

                visit(job, o, inside ? (p[0] * in->size[1] + p[1]) * in->size[2] + p[2] : -1, k);
            }
}

static inline void visit_windows(const struct vbs_shape *from, const struct vbs_shape *to,
                                 const struct vbs_window *w, visitor *visit, void *job)
{
    struct grid in = grid_of(from), out = grid_of(to);
    struct span s[3];
    int64_t at[3];

    for (int i = 0; i < 3; i++)
        s[i] = span_of(w, from->n_dims, i);
    for (at[0] = 0; at[0] < out.size[0]; at[0]++)
        for (at[1] = 0; at[1] < out.size[1]; at[1]++)
            for (at[2] = 0; at[2] < out.size[2]; at[2]++)
                visit_window(&in, &out, s, at, visit, job);
}

/* One pair of channels of a convolution. */
struct product {
    double *x, *y, *dx, *dy;
    const double *w;
    double *dw;
    bool back;
};

static void multiply(void *data, int64_t out, int64_t in, int64_t k)
{
    const struct product *p = data;

    if (in < 0)
        return;
    if (!p->back) {
        p->y[out] += p->w[k] * p->x[in];
        return;
    }
    p->dw[k] += p->x[in] * p->dy[out];
    p->dx[in] += p->w[k] * p->dy[out];
}

static void convolve(training *r, node *n, bool back)
{
    node *in = &r->operators[n->inputs[0]];
    const struct reference_array *w = array_of(r, n, VBS_PARAMETER_WEIGHTS);
    int64_t groups = n->attributes->weighted.groups, ci = in->shape.dim[0], co = n->shape.dim[0];
    int64_t pi = elements(&in->shape) / ci, po = elements(&n->shape) / co;
    int64_t window = w->count / (co * (ci / groups));

    for (int64_t s = 0; s < r->batch; s++)
        for (int64_t o = 0; o < co; o++)
            for (int64_t i = 0; i < ci / groups; i++) {
                int64_t channel = o / (co / groups) * (ci / groups) + i;
                int64_t from = (s * ci + channel) * pi, to = (s * co + o) * po;
                int64_t weights = (o * (ci / groups) + i) * window;
                struct product p = {in->x + from, n->x + to,           in->g + from,
                                    n->g + to,    w->values + weights, w->gradient + weights,
                                    back};

                visit_windows(&in->shape, &n->shape, &n->attributes->weighted.window, multiply, &p);
            }
}

static void connect(training *r, node *n, bool back)
{
    node *in = &r->operators[n->inputs[0]];
    const struct reference_array *w = array_of(r, n, VBS_PARAMETER_WEIGHTS);
    int64_t m = elements(&in->shape), outputs = elements(&n->shape);

    for (int64_t s = 0; s < r->batch; s++)
        for (int64_t o = 0; o < outputs; o++)
            for (int64_t i = 0; i < m; i++) {
                double *x = &in->x[s * m + i];

                if (!back) {
                    n->x[s * outputs + o] += w->values[o * m + i] * *x;
                } else {
                    w->gradient[o * m + i] += n->g[s * outputs + o] * *x;
                    in->g[s * m + i] += n->g[s * outputs + o] * w->values[o * m + i];
                }
            }
}

static void add_bias(training *r, node *n, bool back)
{
    const struct reference_array *bias = array_of(r, n, VBS_PARAMETER_BIAS);
    int64_t c = n->shape.dim[0], positions = elements(&n->shape) / c;

    for (int64_t i = 0; bias && i < r->batch * c * positions; i++) {
        if (back)
            bias->gradient[i / positions % c] += n->g[i];
        else
            n->x[i] += bias->values[i / positions % c];
    }
}

/* ---- pools ---- */

struct pooled {
    const double *x;
    double *y, *dx;
    const double *dy;
    double *best;   /* [outputs] the largest value */
    int64_t *where; /* [outputs] its position */
    int64_t *count; /* [outputs] positions that count in a mean */
    bool pad_counts;
};

static void find_best(void *data, int64_t out, int64_t in, int64_t k)
{
    struct pooled *p = data;

    (void)k;
    if (in >= 0 && (p->where[out] < 0 || p->x[in] > p->best[out])) {
        p->best[out] = p->x[in];
        p->where[out] = in;
    }
    p->count[out] += in >= 0 || p->pad_counts;
}

static void take_mean(void *data, int64_t out, int64_t in, int64_t k)
{
    struct pooled *p = data;

    (void)k;
    if (in >= 0)
        p->y[out] += p->x[in] / (double)p->count[out];
}

static void give_mean(void *data, int64_t out, int64_t in, int64_t k)
{
    struct pooled *p = data;

    (void)k;
    if (in >= 0)
        p->dx[in] += p->dy[out] / (double)p->count[out];
}

static bool pool(training *r, node *n, bool back)
{
    node *in = &r->operators[n->inputs[0]];
    const struct vbs_window *w = &n->attributes->pool.window;
    int64_t c = n->shape.dim[0], pi = elements(&in->shape) / c, po = elements(&n->shape) / c;
    bool mean = n->op == VBS_OP_POOL_AVG;
    double *best = calloc((size_t)po, sizeof *best);
    int64_t *where = calloc((size_t)po, sizeof *where), *count = calloc((size_t)po, sizeof *count);

    for (int64_t i = 0; i < r->batch * c && best && where && count; i++) {
        struct pooled p = {
            in->x + i * pi, n->x + i * po, in->g + i * pi, n->g + i * po,
            best,           where,         count,          mean && n->attributes->pool.pad_counts};

        for (int64_t o = 0; o < po; o++) {
            where[o] = -1;
            count[o] = 0;
        }
        visit_windows(&in->shape, &n->shape, w, find_best, &p);
        if (mean)
            visit_windows(&in->shape, &n->shape, w, back ? give_mean : take_mean, &p);
        for (int64_t o = 0; o < po && !mean; o++) {
            if (back)
                p.dx[where[o]] += p.dy[o];
            else
                p.y[o] = best[o];
        }
    }
    free(best);
    free(where);
    free(count);
    return best && where && count;
}

/* ---- normalization ---- */

/* Values of one channel: sample s, position i is at (s * c + channel) * positions + i. */
static void normalise(training *r, node *n, bool back, int64_t channel)
{
    node *in = &r->operators[n->inputs[0]];
    const struct reference_array *gamma = array_of(r, n, VBS_PARAMETER_GAMMA);
    const struct reference_array *beta = array_of(r, n, VBS_PARAMETER_BETA);
    int64_t c = n->shape.dim[0], m = elements(&n->shape) / c, count = r->batch * m;
    double scale = gamma ? gamma->values[channel] : 1, shift = beta ? beta->values[channel] : 0;
    double mean = 0, variance = 0, dgamma = 0, dbeta = 0, deviation;
    double epsilon = n->attributes->norm.epsilon;

    for (int64_t k = 0; k < count; k++)
        mean += in->x[(k / m * c + channel) * m + k % m] / (double)count;
    for (int64_t k = 0; k < count; k++)
        variance += pow(in->x[(k / m * c + channel) * m + k % m] - mean, 2) / (double)count;
    if (!r->training) {
        mean = array_of(r, n, VBS_PARAMETER_MEAN)->values[channel];
        variance = array_of(r, n, VBS_PARAMETER_VARIANCE)->values[channel];
    }
    deviation = sqrt(variance + (epsilon > 0 ? epsilon : VBS_BATCHNORM_EPSILON));
    for (int64_t k = 0; k < count; k++) {
        int64_t i = (k / m * c + channel) * m + k % m;
        double normal = (in->x[i] - mean) / deviation;

        n->x[i] = back ? n->x[i] : scale * normal + shift;
        dgamma += n->g[i] * normal;
        dbeta += n->g[i];
    }
    for (int64_t k = 0; k < count && back; k++) {
        int64_t i = (k / m * c + channel) * m + k % m;
        double normal = (in->x[i] - mean) / deviation;

        in->g[i] +=
            scale / deviation * (n->g[i] - dbeta / (double)count - normal * dgamma / (double)count);
    }
    if (back && gamma)
        gamma->gradient[channel] += dgamma;
    if (back && beta)
        beta->gradient[channel] += dbeta;
}

static void scale_channels(training *r, node *n, bool back)
{
    node *in = &r->operators[n->inputs[0]];
    const struct reference_array *gamma = array_of(r, n, VBS_PARAMETER_GAMMA);
    const struct reference_array *beta = array_of(r, n, VBS_PARAMETER_BETA);
    int64_t c = n->shape.dim[0], m = elements(&n->shape) / c;

    for (int64_t i = 0; i < r->batch * c * m; i++) {
        int64_t channel = i / m % c;

        if (!back) {
            n->x[i] = in->x[i] * gamma->values[channel] + (beta ? beta->values[channel] : 0);
            continue;
        }
        in->g[i] += n->g[i] * gamma->values[channel];
        gamma->gradient[channel] += n->g[i] * in->x[i];
        if (beta)
            beta->gradient[channel] += n->g[i];
    }
}

/* ---- local response normalization ---- */

/* Gives k + alpha / size * the sum of squares around a channel; x: that position of channel 0. */
static double energy(const node *n, const double *x, int64_t channel, int64_t m)
{
    int64_t half = (n->attributes->lrn.size - 1) / 2, c = n->shape.dim[0];
    double sum = 0;

    for (int64_t i = channel - half; i < channel - half + n->attributes->lrn.size; i++)
        if (i >= 0 && i < c)
            sum += x[i * m] * x[i * m];
    return n->attributes->lrn.k + n->attributes->lrn.alpha / (double)n->attributes->lrn.size * sum;
}

static void respond(training *r, node *n, bool back)
{
    node *in = &r->operators[n->inputs[0]];
    int64_t c = n->shape.dim[0], m = elements(&n->shape) / c, size = n->attributes->lrn.size;
    double beta = n->attributes->lrn.beta, alpha = n->attributes->lrn.alpha / (double)size;

    for (int64_t k = 0; k < r->batch * c * m; k++) {
        int64_t channel = k / m % c, first = channel - (size - 1) / 2;
        const double *x = in->x + k - channel * m;
        double e = energy(n, x, channel, m);

        if (!back) {
            n->x[k] = x[channel * m] * pow(e, -beta);
            continue;
        }
        in->g[k] += n->g[k] * pow(e, -beta);
        for (int64_t i = first; i < first + size; i++)
            if (i >= 0 && i < c)
                in->g[k + (i - channel) * m] -=
                    n->g[k] * x[channel * m] * beta * pow(e, -beta - 1) * alpha * 2 * x[i * m];
    }
}

/* ---- values ---- */

static double value(enum vbs_op op, const union vbs_attributes *a, double x)
{
    switch (op) {
    case VBS_OP_RELU:
        return x > 0 ? x : 0;
    case VBS_OP_LEAKY_RELU:
        return x > 0 ? x : a->leaky_relu.slope * x;
    case VBS_OP_ELU:
        return x > 0 ? x : a->elu.alpha * expm1(x);
    case VBS_OP_SIGMOID:
        return 1 / (1 + exp(-x));
    case VBS_OP_TANH:
        return tanh(x);
    case VBS_OP_HARD_SWISH:
        return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case VBS_OP_SWISH:
        return x / (1 + exp(-x));
    case VBS_OP_GELU:
        return a->gelu.by_tanh
                   ? x / 2 * (1 + tanh(sqrt(2 / acos(-1.0)) * (x + 0.044715 * x * x * x)))
                   : x / 2 * (1 + erf(x / sqrt(2)));
    case VBS_OP_MISH:
        return x * tanh(log1p(exp(x)));
    case VBS_OP_SOFTPLUS:
        return log1p(exp(x));
    case VBS_OP_CLIP:
        return fmin(fmax(x, a->clip.low), a->clip.high);
    case VBS_OP_LINEAR:
        return a->linear.factor * x + a->linear.shift;
    case VBS_OP_EXP:
        return exp(x);
    case VBS_OP_SQRT:
        return sqrt(x);
    case VBS_OP_ABS:
        return fabs(x);
    case VBS_OP_NEG:
        return -x;
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
        return x;
    default:
        return NAN;
    }
}

static void apply(training *r, node *n, bool back)
{
    const double h = 1e-6;
    node *in = &r->operators[n->inputs[0]];

    for (int64_t i = 0; i < r->batch * elements(&n->shape); i++) {
        if (back)
            in->g[i] += n->g[i] *
                        (value(n->op, n->attributes, in->x[i] + h) -
                         value(n->op, n->attributes, in->x[i] - h)) /
                        (2 * h);
        else
            n->x[i] = value(n->op, n->attributes, in->x[i]);
    }
}

static void add(training *r, node *n, bool back)
{
    for (int64_t i = 0; i < r->batch * elements(&n->shape); i++)
        for (int k = 0; k < n->n_inputs; k++) {
            node *in = &r->operators[n->inputs[k]];

            if (back)
                in->g[i] += n->g[i];
            else
                n->x[i] += in->x[i];
        }
}

static void concat(training *r, node *n, bool back)
{
    int axis = n->attributes->concat.axis;
    int64_t outer = r->batch, inner = 1, first = 0;

    for (int i = 0; i < axis; i++)
        outer *= n->shape.dim[i];
    for (int i = axis + 1; i < n->shape.n_dims; i++)
        inner *= n->shape.dim[i];
    for (int k = 0; k < n->n_inputs; k++) {
        node *in = &r->operators[n->inputs[k]];
        int64_t part = in->shape.dim[axis] * inner, whole = n->shape.dim[axis] * inner;

        for (int64_t i = 0; i < outer * part; i++) {
            int64_t to = i / part * whole + first + i % part;

            if (back)
                in->g[i] += n->g[to];
            else
                n->x[to] = in->x[i];
        }
        first += part;
    }
}

/* ---- passes ---- */

static bool compute(training *r, node *n, bool back)
{
    switch (n->op) {
    case VBS_OP_CONV:
        convolve(r, n, back);
        add_bias(r, n, back);
        return true;
    case VBS_OP_FC:
        connect(r, n, back);
        add_bias(r, n, back);
        return true;
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
        return pool(r, n, back);
    case VBS_OP_BATCHNORM:
        for (int64_t c = 0; c < n->shape.dim[0]; c++)
            normalise(r, n, back, c);
        return true;
    case VBS_OP_SCALE:
        scale_channels(r, n, back);
        return true;
    case VBS_OP_LRN:
        respond(r, n, back);
        return true;
    case VBS_OP_ADD:
        add(r, n, back);
        return true;
    case VBS_OP_CONCAT:
        concat(r, n, back);
        return true;
    default:
        apply(r, n, back);
        return true;
    }
}

static size_t bytes_of(const training *r, const node *n)
{
    return (size_t)(elements(&n->shape) * r->batch) * sizeof(double);
}

const double *reference_forward(training *r, const double *input)
{
    if (!r->operators && !unfold(r))
        return NULL;
    memcpy(r->operators[0].x, input, bytes_of(r, &r->operators[0]));
    for (int i = 1; i < r->n_operators; i++) {
        memset(r->operators[i].x, 0, bytes_of(r, &r->operators[i]));
        if (!compute(r, &r->operators[i], false))
            return NULL;
    }
    return r->operators[r->n_operators - 1].x;
}

const double *reference_backward(training *r, const double *output_gradient)
{
    node *last = &r->operators[r->n_operators - 1];

    for (int i = 0; i < r->n_operators; i++)
        memset(r->operators[i].g, 0, bytes_of(r, &r->operators[i]));
    for (int i = 0; i < r->n_arrays; i++)
        memset(r->arrays[i].gradient, 0, (size_t)r->arrays[i].count * sizeof(double));
    memcpy(last->g, output_gradient, bytes_of(r, last));
    for (int i = r->n_operators - 1; i > 0; i--)
        if (!compute(r, &r->operators[i], true))
            return NULL;
    return r->operators[0].g;
}
