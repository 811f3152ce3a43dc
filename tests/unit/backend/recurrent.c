/* Recurrent operators on the onednn backend: all kernels compute what the definition says, in every
 * direction, with units that fill vectors and that do not, at batches and on threads that divide
 * evenly and that do not, and write nothing outside of their memory. */
#include "vbslab/vbslab.h"

#include "backend/common/common.h"
#include "base/ctx.h"
#include "cases/operator_cases.h"
#include "reference/backend/ops.h"
#include "support/guard.h"
#include "support/tap.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS    4
#define VALUES      40 /* of an element of the input; the first states are taken from them */
#define MOST_BATCH  13
#define MOST_INPUTS 3
#define TOLERANCE   2e-6 /* of the largest value */

static const int batches[] = {1, 2, 3, 5, 6, 7, 12, 13};

/* An operator with its states before and behind the sequence. */
struct variant {
    const char *name;
    enum vbs_op op;
    int gates;
    int n_inputs;
    union vbs_attributes attributes;
};

static const struct variant variants[] = {
    {"lstm", VBS_OP_LSTM, 4, 1, {.recurrent = {.bias = true}}},
    {"lstm with first states", VBS_OP_LSTM, 4, 3, {.recurrent = {.bias = true}}},
    {"lstm with last memories", VBS_OP_LSTM, 4, 1, {.recurrent = {.cells = true}}},
    {"lstm with first states and last memories",
     VBS_OP_LSTM,
     4,
     3,
     {.recurrent = {.bias = true, .cells = true}}},
    {"gru", VBS_OP_GRU, 3, 1, {.recurrent = {.bias = true}}},
    {"gru with a first state", VBS_OP_GRU, 3, 2, {.recurrent = {.bias = true}}},
    {"gru that resets after", VBS_OP_GRU, 3, 1, {.recurrent = {.bias = true, .reset_after = true}}},
    {"gru that resets after, with a first state",
     VBS_OP_GRU,
     3,
     2,
     {.recurrent = {.bias = true, .reset_after = true}}},
    {"rnn with a first state", VBS_OP_RNN, 1, 2, {.recurrent = {.bias = true}}},
    {"rnn with relu", VBS_OP_RNN, 1, 1, {.recurrent = {.function = VBS_RNN_RELU}}},
    {"rnn with sigmoid and a first state",
     VBS_OP_RNN,
     1,
     2,
     {.recurrent = {.bias = true, .function = VBS_RNN_SIGMOID}}},
};

static struct vbs_network *network_of(const struct variant *v, int64_t hidden,
                                      enum vbs_direction direction)
{
    int directions = direction == VBS_BOTH_WAYS ? 2 : 1;
    const struct vbs_node state = {
        VBS_OP_SLICE, "h", FROM(0),
        .attributes = {.slice = {.begin = {0, 2}, .step = {1, 1}, .count = {directions, hidden}}}};
    struct operator_case c = {.name = v->name, .input = DIMS(ELEMENTS, VALUES)};
    struct vbs_node *node = c.nodes;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    for (int i = 1; i < v->n_inputs; i++) {
        *node = state;
        node->name = i == 1 ? "h" : "m";
        node->attributes.slice.begin[0] = i;
        node++;
    }
    *node = (struct vbs_node){v->op,
                              "n",
                              .n_inputs = v->n_inputs,
                              .inputs = (const int[]){0, 1, 2},
                              .operand = DIMS(directions, v->gates * hidden, hidden),
                              .attributes = v->attributes};
    node->attributes.recurrent.hidden = hidden;
    node->attributes.recurrent.direction = direction;
    if (operator_case_network(&ctx, &c, &network) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return network;
}

static struct vbs_session *open_on(const struct vbs_network *network, int threads)
{
    const struct vbs_backend_options options = {.struct_size = sizeof options,
                                                .batches = batches,
                                                .n_batches = sizeof batches / sizeof batches[0],
                                                .threads = threads};
    const struct vbs_backend *backend;
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_backend_find(&ctx, "onednn", &backend) != VBS_OK ||
        backend->open(&ctx, network, &options, &session) != VBS_OK)
        printf("# %s\n", vbs_detail(&ctx));
    return session;
}

/* ---- what the last layer makes of seeded samples ---- */

static int64_t elements_of(const struct vbs_network *network, int tensor)
{
    return vbs_shape_elements(tensor == 0 ? &network->input : &network->layers[tensor].shape);
}

/* Computes MOST_BATCH samples by the definition. */
static float *reference_of(const struct vbs_network *network)
{
    int layer = network->n_layers;
    const struct vbs_layer *l = &network->layers[layer];
    int64_t n = elements_of(network, layer);
    float *all = malloc((size_t)(MOST_BATCH * n) * sizeof *all), *values[MOST_INPUTS] = {0};
    bool right = all;

    for (int i = 0; i < l->n_inputs; i++) {
        int64_t count = MOST_BATCH * elements_of(network, l->inputs[i]);

        values[i] = malloc((size_t)count * sizeof(float));
        if (values[i])
            vbs_tensor_values(l->inputs[i], 0, count, values[i]);
        right &= values[i] != NULL;
    }
    for (int s = 0; s < MOST_BATCH && right; s++) {
        const float *inputs[MOST_INPUTS];
        float *one;

        for (int i = 0; i < l->n_inputs; i++)
            inputs[i] = values[i] + s * elements_of(network, l->inputs[i]);
        one = reference_layer(network, layer, inputs);
        right = one != NULL;
        if (one)
            memcpy(all + s * n, one, (size_t)n * sizeof *one);
        free(one);
    }
    for (int i = 0; i < MOST_INPUTS; i++)
        free(values[i]);
    if (right)
        return all;
    free(all);
    return NULL;
}

/* Gives the largest difference as a fraction of the largest value. */
static double difference(const float *a, const float *b, int64_t n)
{
    double largest = 0, value = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)a[i] - (double)b[i]);

        largest = d <= largest ? largest : d; /* also what is no number */
        value = fmax(value, fabs((double)b[i]));
    }
    return largest / value;
}

/* Runs a kernel twice; gives by how much its output differs from want, infinity where it fails or
 * writes beyond its memory. */
static double difference_of(struct vbs_session *s, const struct vbs_network *network, int kernel,
                            const float *want)
{
    const struct vbs_kernel *k = &s->kernels[kernel];
    const struct vbs_profile_layer *layer = &s->layers[k->layer];
    int64_t out_bytes = k->batch * layer->out_bytes, n = k->batch * elements_of(network, k->layer);
    unsigned char *dst = guarded(s, out_bytes), *ws = guarded(s, k->ws_bytes);
    float *values = malloc((size_t)n * sizeof *values);
    void *src[MOST_INPUTS] = {0};
    const void *sources[MOST_INPUTS];
    double wrong = INFINITY;
    bool done = dst && ws && values;

    for (int i = 0; i < layer->n_inputs; i++) {
        int input = layer->inputs[i];

        sources[i] = src[i] = s->ops->alloc(s, k->batch * s->layers[input].out_bytes);
        done = done && src[i] && s->ops->fill(NULL, s, input, k->batch, src[i]) == VBS_OK;
    }
    for (int i = 0; i < 2 && done; i++) /* the second run finds what the first one has left */
        done = s->ops->run(NULL, s, kernel,
                           &(struct vbs_operands){.src = sources, .dst = dst, .ws = ws},
                           NULL) == VBS_OK;
    if (done && s->ops->read(NULL, s, k->layer, k->batch, dst, values) == VBS_OK &&
        is_guard(dst + out_bytes, GUARD_BYTES) && is_guard(ws + k->ws_bytes, GUARD_BYTES))
        wrong = difference(values, want, n);
    for (int i = 0; i < MOST_INPUTS; i++)
        s->ops->free(s, src[i]);
    s->ops->free(s, dst);
    s->ops->free(s, ws);
    free(values);
    return wrong;
}

/* Checks all kernels of the last layer. */
static void check(const struct variant *v, int64_t hidden, enum vbs_direction direction,
                  int threads)
{
    static const char *const ways[] = {
        [VBS_FORWARD] = "forward", [VBS_BACKWARD] = "backward", [VBS_BOTH_WAYS] = "both ways"};
    struct vbs_network *network = network_of(v, hidden, direction);
    struct vbs_session *session = network ? open_on(network, threads) : NULL;
    float *want = network ? reference_of(network) : NULL;
    const char *at = "no session";
    double worst = session && want ? 0 : INFINITY;
    int n = 0, batch = 0;

    for (int i = 0; session && want && i < session->n_kernels; i++) {
        double wrong;

        if (session->kernels[i].layer != network->n_layers)
            continue;
        n++;
        wrong = difference_of(session, network, i, want);
        if (!(wrong <= worst)) {
            worst = wrong;
            at = session->kernels[i].algorithm;
            batch = session->kernels[i].batch;
        }
    }
    if (!ok(n > 0 && worst <= TOLERANCE, "%s, %lld units, %s, %d threads", v->name,
            (long long)hidden, ways[direction], threads))
        printf("# %d kernels, the worst differs by %g: %s at batch %d\n", n, worst, at, batch);
    if (session)
        session->ops->close(session);
    vbs_network_free(network);
    free(want);
}

int main(void)
{
    static const int64_t units[] = {1, 7, 16, 35};

    for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
        for (int j = 0; j < 4; j++)
            for (int d = VBS_FORWARD; d <= VBS_BOTH_WAYS; d++)
                check(&variants[i], units[j], (enum vbs_direction)d, 1 + ((int)i + j + d) % 3);
    return done_testing();
}
