#include "reference/prune/masked.h"

#include "reference/backend/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct masked_network {
    const struct vbs_network *network;
    bool (*masked)(void *self, int layer, int64_t filter);
    void *self;
    float **tensors; /* [n_layers + 1] */
    bool **dead;     /* [n_layers + 1] the elements that count as zeros */
    bool **fixed;    /* [n_layers + 1] the elements that depend on nothing, such as padding */
};

static int64_t elements_of(const struct masked_network *m, int layer)
{
    return vbs_shape_elements(&m->network->layers[layer].shape);
}

static bool has_filters(enum vbs_op op)
{
    return op == VBS_OP_CONV || op == VBS_OP_CONV_TRANSPOSE || op == VBS_OP_FC;
}

/* Whose values are others. */
enum moved { MOVED_NONE, MOVED_DEAD, MOVED_REST };

/* Computes a layer, with larger (sign 1) or smaller (sign -1) values in the places of dead
 * elements, or in all other places. A residual sum of padding and masked values is masked:
 * constants keep their values then. */
static float *compute(const struct masked_network *m, int layer, enum moved whose, int sign)
{
    const struct vbs_layer *l = &m->network->layers[layer];
    const float **inputs = calloc((size_t)l->n_inputs, sizeof *inputs);
    float **made = calloc((size_t)l->n_inputs, sizeof *made), *result = NULL;
    bool complete = inputs && made, pairs = vbs_op_class(l->op) == VBS_CLASS_BINARY;

    for (int i = 0; complete && i < l->n_inputs; i++) {
        int64_t n = elements_of(m, l->inputs[i]);

        made[i] = malloc((size_t)n * sizeof *made[i]);
        inputs[i] = made[i];
        complete = made[i];
        for (int64_t e = 0; complete && e < n; e++) {
            bool dead = m->dead[l->inputs[i]][e];
            bool moved = dead ? whose == MOVED_DEAD
                              : whose == MOVED_REST && !(pairs && m->fixed[l->inputs[i]][e]);

            made[i][e] = dead ? 0 : m->tensors[l->inputs[i]][e];
            if (moved)
                made[i][e] += (float)sign * (3 + (float)((e * 7 + i * 3) % 11));
        }
    }
    if (complete)
        result = reference_layer(m->network, layer, inputs);
    for (int i = 0; made && i < l->n_inputs; i++)
        free(made[i]);
    free(inputs);
    free(made);
    return result;
}

/* The channels that are left stand close together: neighbours of a dead channel are those beyond
 * it. */
static bool run_lrn(struct masked_network *m, int layer)
{
    const struct vbs_layer *l = &m->network->layers[layer];
    const float *x = m->tensors[l->inputs[0]];
    const bool *dead = m->dead[l->inputs[0]];
    int64_t n = elements_of(m, layer), inner = n / l->shape.dim[0];
    int64_t half = l->attributes.lrn.size / 2;

    for (int64_t e = 0; e < n; e++) {
        double sum = (double)x[e] * (double)x[e];
        int64_t near;

        m->dead[layer][e] = dead[e];
        for (int side = -1; side <= 1; side += 2) {
            near = 0;
            for (int64_t o = e + side * inner; o >= 0 && o < n && near < half; o += side * inner)
                if (!dead[o]) {
                    sum += (double)x[o] * (double)x[o];
                    near++;
                }
        }
        m->tensors[layer][e] =
            (float)((double)x[e] /
                    pow(l->attributes.lrn.k +
                            l->attributes.lrn.alpha / (double)l->attributes.lrn.size * sum,
                        l->attributes.lrn.beta));
    }
    return true;
}

/* Marks what the masked filters of a layer make. */
static void mark_filters(struct masked_network *m, int layer)
{
    const struct vbs_layer *l = &m->network->layers[layer];
    int64_t n = elements_of(m, layer), n_out = l->attributes.weighted.out_channels;
    bool last = l->op == VBS_OP_FC;

    for (int64_t e = 0; e < n; e++)
        m->dead[layer][e] =
            m->masked && m->masked(m->self, layer, last ? e % n_out : e / (n / n_out));
}

static bool differ(float a, float b)
{
    return a != b && !(isnan(a) && isnan(b));
}

/* Finds the elements that change with the values of some others, which is not seen of all that a
 * function cuts off. */
static bool find_changes(const struct masked_network *m, int layer, enum moved whose, bool *changes)
{
    const float *y = m->tensors[layer];

    for (int sign = -1; sign <= 1; sign += 2) {
        float *other = compute(m, layer, whose, sign);

        if (!other)
            return false;
        for (int64_t e = 0; e < elements_of(m, layer); e++)
            changes[e] = changes[e] || differ(other[e], y[e]);
        free(other);
    }
    return true;
}

/* Finds what depends on masked values alone, and what depends on nothing. Elements that depend on
 * nothing count as zeros where all others of their channel do. */
static void mark(struct masked_network *m, int layer, const bool *by_dead, const bool *by_rest)
{
    int64_t n_channels = m->network->layers[layer].shape.dim[0];
    int64_t n = elements_of(m, layer) / n_channels;

    for (int64_t c = 0; c < n_channels; c++) {
        bool dead = false, alive = false;

        for (int64_t e = c * n; e < (c + 1) * n; e++) {
            m->dead[layer][e] = by_dead[e] && !by_rest[e];
            m->fixed[layer][e] = !by_dead[e] && !by_rest[e];
            dead = dead || m->dead[layer][e];
            alive = alive || by_rest[e];
        }
        for (int64_t e = c * n; e < (c + 1) * n && dead && !alive; e++)
            m->dead[layer][e] = true;
    }
}

static bool run_layer(struct masked_network *m, int layer)
{
    const struct vbs_layer *l = &m->network->layers[layer];
    int64_t n = elements_of(m, layer);
    bool *by_dead, *by_rest, complete;

    m->dead[layer] = calloc((size_t)n, sizeof **m->dead);
    m->fixed[layer] = calloc((size_t)n, sizeof **m->fixed);
    m->tensors[layer] = compute(m, layer, MOVED_NONE, 0);
    if (!m->dead[layer] || !m->fixed[layer] || !m->tensors[layer])
        return false;
    if (l->op == VBS_OP_LRN && l->n_fused == 0)
        return run_lrn(m, layer);
    if (has_filters(l->op)) {
        mark_filters(m, layer);
        return true;
    }
    if (!m->masked)
        return true;
    by_dead = calloc((size_t)n, sizeof *by_dead);
    by_rest = calloc((size_t)n, sizeof *by_rest);
    complete = by_dead && by_rest && find_changes(m, layer, MOVED_DEAD, by_dead) &&
               find_changes(m, layer, MOVED_REST, by_rest);
    if (complete)
        mark(m, layer, by_dead, by_rest);
    free(by_dead);
    free(by_rest);
    return complete;
}

bool masked_run(const struct vbs_network *network, const float *input,
                bool (*masked)(void *self, int layer, int64_t filter), void *self, float ***tensors)
{
    size_t n = (size_t)network->n_layers + 1;
    struct masked_network m = {.network = network, .masked = masked, .self = self};
    int64_t n_input = vbs_shape_elements(&network->input);
    bool complete;

    m.tensors = calloc(n, sizeof *m.tensors);
    m.dead = calloc(n, sizeof *m.dead);
    m.fixed = calloc(n, sizeof *m.fixed);
    complete = m.tensors && m.dead && m.fixed;
    if (complete) {
        m.tensors[0] = malloc((size_t)n_input * sizeof **m.tensors);
        m.dead[0] = calloc((size_t)n_input, sizeof **m.dead);
        m.fixed[0] = calloc((size_t)n_input, sizeof **m.fixed);
        complete = m.tensors[0] && m.dead[0] && m.fixed[0];
    }
    if (complete)
        memcpy(m.tensors[0], input, (size_t)n_input * sizeof *input);
    for (int k = 1; k <= network->n_layers && complete; k++)
        complete = run_layer(&m, k);
    for (int k = 0; k <= network->n_layers; k++) {
        free(m.dead ? m.dead[k] : NULL);
        free(m.fixed ? m.fixed[k] : NULL);
    }
    free(m.dead);
    free(m.fixed);
    if (complete)
        *tensors = m.tensors;
    else if (m.tensors)
        masked_free(network, m.tensors);
    return complete;
}

void masked_free(const struct vbs_network *network, float **tensors)
{
    for (int k = 0; k <= network->n_layers; k++)
        free(tensors[k]);
    free(tensors);
}
