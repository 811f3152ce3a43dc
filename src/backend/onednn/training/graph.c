/* The network as operators that are trained one by one. */
#include "backend/onednn/training/training.h"

#include "base/fail.h"
#include "model/network/network.h"

#include <stdio.h>
#include <string.h>

/* ---- which operators can be trained ---- */

/* Functions of one value of which the library has the derivative. The backward pass of some needs
 * only the output, which then takes the place of the input. */
static bool find_derivative(enum vbs_op op, const union vbs_attributes *a, bool *by_output)
{
    switch (op) {
    case VBS_OP_RELU:
    case VBS_OP_SIGMOID:
    case VBS_OP_TANH:
        *by_output = true;
        return true;
    case VBS_OP_LEAKY_RELU:
        *by_output = a->leaky_relu.slope >= 0;
        return true;
    case VBS_OP_ELU:
        *by_output = a->elu.alpha >= 0;
        return true;
    case VBS_OP_HARD_SWISH:
    case VBS_OP_SWISH:
    case VBS_OP_GELU:
    case VBS_OP_MISH:
    case VBS_OP_SOFTPLUS:
    case VBS_OP_CLIP:
    case VBS_OP_LINEAR:
    case VBS_OP_EXP:
    case VBS_OP_SQRT:
    case VBS_OP_ABS:
    case VBS_OP_NEG:
        *by_output = false;
        return true;
    default:
        return false;
    }
}

/* Gives whether both shapes are the same values in the same places where the channels are last. */
static bool is_same_place(const struct vbs_shape *a, const struct vbs_shape *b)
{
    return vbs_shape_equal(a, b) || (a->dim[0] == b->dim[0] && vbs_shape_elements(a) == a->dim[0] &&
                                     vbs_shape_elements(b) == b->dim[0]);
}

static const struct vbs_shape *shape_of(const struct vbs_network *network, int layer)
{
    return layer > 0 ? &network->layers[layer].shape : &network->input;
}

/* Gives the reason why a layer's own operator cannot be trained, beside its kind; empty: it can. */
static const char *refuse_layer(const struct vbs_network *network, const struct vbs_layer *l)
{
    if (l->op == VBS_OP_FC)
        return l->attributes.weighted.rows && l->views[0].n_dims > 1 ? " on rows" : "";
    if (l->op == VBS_OP_ADD && (l->n_inputs != 2 || !vbs_shape_equal(&l->views[0], &l->views[1])))
        return " of a constant, or of tensors of different shapes";
    for (int i = 0; i < l->n_inputs; i++)
        if (!is_same_place(shape_of(network, l->inputs[i]), &l->views[i]))
            return " that reads its input in another shape";
    return "";
}

static bool is_known(enum vbs_op op, const union vbs_attributes *attributes)
{
    bool by_output;

    switch (op) {
    case VBS_OP_CONV:
    case VBS_OP_FC:
    case VBS_OP_POOL_MAX:
    case VBS_OP_POOL_AVG:
    case VBS_OP_LRN:
    case VBS_OP_CONCAT:
    case VBS_OP_ADD:
    case VBS_OP_BATCHNORM:
    case VBS_OP_SCALE:
    case VBS_OP_DROPOUT:
    case VBS_OP_IDENTITY:
        return true;
    default:
        return find_derivative(op, attributes, &by_output);
    }
}

/* ---- refusals ---- */

struct refusals {
    char text[VBS_DETAIL_SIZE / 2]; /* a list; the rest of a long one is left out */
    int n;
    bool seen[VBS_N_OPS];
};

static void add_refusal(struct refusals *r, enum vbs_op op, const char *why, const char *layer)
{
    size_t used = strlen(r->text);

    if (r->seen[op])
        return;
    r->seen[op] = true;
    r->n++;
    snprintf(r->text + used, sizeof r->text - used, "%s%s%s ('%.60s')", used > 0 ? ", " : "",
             vbs_op_word(op), why, layer);
}

/* A softmax over all values of the network's only output, which the session leaves out. */
static bool is_final_softmax(const struct vbs_network *network, int layer)
{
    const struct vbs_layer *l = &network->layers[layer];

    return l->op == VBS_OP_SOFTMAX && network->outputs[0].layer == layer && l->n_fused == 0 &&
           l->views[0].dim[l->attributes.softmax.axis] == vbs_shape_elements(&l->views[0]);
}

static enum vbs_status check_operators(struct vbs_ctx *ctx, const struct vbs_network *network)
{
    struct refusals r = {{0}, 0, {false}};

    if (network->whole || network->n_outputs != 1)
        return vbs_fail(ctx, VBS_UNSUPPORTED, "network '%s' cannot be trained: it has %s",
                        network->name,
                        network->whole ? "no dimension for a batch" : "several outputs");
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];
        bool known = is_known(l->op, &l->attributes);
        const char *why = known ? refuse_layer(network, l) : "";

        if ((!known || why[0]) && !is_final_softmax(network, k))
            add_refusal(&r, l->op, why, l->name);
        for (int i = 0; i < l->n_fused; i++)
            if (!is_known(l->fused[i].op, &l->fused[i].attributes))
                add_refusal(&r, l->fused[i].op, "", l->fused[i].name);
    }
    if (r.n > 0)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "network '%s' has operators that cannot be trained: %s", network->name,
                        r.text);
    return VBS_OK;
}

/* ---- unfolding ---- */

static int count_operators(const struct vbs_network *network)
{
    int n = network->n_layers;

    for (int k = 1; k <= network->n_layers; k++)
        n += network->layers[k].n_fused;
    return n;
}

static enum vbs_status add_activation(struct od_train_build *b, int number,
                                      const struct vbs_shape *shape)
{
    struct od_activation *a = &b->t->activations[number];

    VBS_TRY(od_tensor_init(&b->build, shape, OD_CHANNELS_LAST, &a->tensor));
    a->values_like = a->gradient_like = number;
    return od_describe(&b->build, &a->tensor, b->build.batch, OD_CHANNELS_LAST, false, &a->md);
}

/* Sets what the backward pass reads. */
static void set_reads(struct od_operator *o)
{
    bool by_output = false;

    o->reads_src = o->op == VBS_OP_CONV || o->op == VBS_OP_FC || o->op == VBS_OP_BATCHNORM ||
                   o->op == VBS_OP_SCALE || o->op == VBS_OP_LRN;
    if (find_derivative(o->op, o->attributes, &by_output)) {
        o->reads_src = !by_output;
        o->reads_dst = by_output;
        (void)od_eltwise_operations(o->op, o->attributes, &o->eltwise);
    }
}

/* Appends an operator of the layer; inputs are activations. */
static enum vbs_status add_operator(struct od_train_build *b, int layer, int fused,
                                    const struct od_operator *made)
{
    struct od_training *t = b->t;
    const struct vbs_layer *l = &b->t->network->layers[layer];
    struct od_operator *o = &t->operators[++t->n_operators];
    int number = t->n_operators;
    bool has_own = made->op == VBS_OP_CONV || made->op == VBS_OP_FC || made->op == VBS_OP_SCALE ||
                   (made->op == VBS_OP_BATCHNORM && made->attributes->norm.affine);

    *o = *made;
    o->layer = layer;
    o->fused = fused;
    o->weights = o->bias = o->gamma = o->beta = o->mean = o->variance = -1;
    o->learns = has_own;
    for (int i = 0; i < o->n_inputs; i++) {
        struct od_activation *in = &t->activations[o->inputs[i]];

        in->n_readers++;
        in->last_reader = number;
        o->learns |= in->learns;
    }
    set_reads(o);
    b->build.layer = layer;
    b->build.l = l;
    VBS_TRY(add_activation(b, number, &l->shape));
    t->activations[number].learns = o->learns;
    return VBS_OK;
}

/* Gives whether the operator of activation `last` can compute a ReLU of the layer, too. */
static bool takes_relu(const struct od_training *t, int layer, int last)
{
    const struct od_operator *o = &t->operators[last];

    return last > 0 && last == t->n_operators && o->layer == layer && !o->relu &&
           (o->op == VBS_OP_BATCHNORM || o->op == VBS_OP_ADD);
}

/* Appends a fused operator behind the activation *last. */
static enum vbs_status add_fused(struct od_train_build *b, int layer, int fused, int *last)
{
    struct od_training *t = b->t;
    const struct vbs_fused *f = &t->network->layers[layer].fused[fused];
    int *inputs;

    if (f->op == VBS_OP_IDENTITY)
        return VBS_OK;
    if (f->op == VBS_OP_RELU && takes_relu(t, layer, *last)) {
        t->operators[*last].relu = true;
        t->operators[*last].reads_dst = t->operators[*last].op == VBS_OP_ADD;
        return VBS_OK;
    }
    inputs = vbs_arena_alloc(&t->base.core.arena, 1, sizeof *inputs);
    if (!inputs)
        return vbs_no_memory(b->build.ctx);
    inputs[0] = *last;
    VBS_TRY(add_operator(b, layer, fused,
                         &(struct od_operator){.op = f->op,
                                               .name = f->name,
                                               .attributes = &f->attributes,
                                               .n_inputs = 1,
                                               .inputs = inputs}));
    *last = t->n_operators;
    return VBS_OK;
}

/* Appends the operators of a layer; of_layer: the activations of the layers before it, and of this
 * one. */
static enum vbs_status add_layer(struct od_train_build *b, int layer, int *of_layer)
{
    struct od_training *t = b->t;
    const struct vbs_layer *l = &t->network->layers[layer];
    int *inputs = vbs_arena_alloc(&t->base.core.arena, (size_t)l->n_inputs, sizeof *inputs);

    if (!inputs)
        return vbs_no_memory(b->build.ctx);
    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = of_layer[l->inputs[i]];
    of_layer[layer] = inputs[0];
    if (l->op == VBS_OP_SOFTMAX) {
        t->session.softmax = true;
    } else if (l->op != VBS_OP_IDENTITY) {
        VBS_TRY(add_operator(b, layer, -1,
                             &(struct od_operator){.op = l->op,
                                                   .name = l->name,
                                                   .attributes = &l->attributes,
                                                   .n_inputs = l->n_inputs,
                                                   .inputs = inputs}));
        of_layer[layer] = t->n_operators;
    }
    for (int i = 0; i < l->n_fused; i++)
        VBS_TRY(add_fused(b, layer, i, &of_layer[layer]));
    return VBS_OK;
}

enum vbs_status od_unfold(struct od_train_build *b)
{
    struct od_training *t = b->t;
    size_t n = (size_t)count_operators(t->network) + 1;
    int *of_layer;

    VBS_TRY(check_operators(b->build.ctx, t->network));
    of_layer =
        vbs_arena_alloc(&t->base.core.arena, (size_t)t->network->n_layers + 1, sizeof *of_layer);
    t->operators = vbs_arena_alloc(&t->base.core.arena, n, sizeof *t->operators);
    t->activations = vbs_arena_alloc(&t->base.core.arena, n, sizeof *t->activations);
    t->session.slow = vbs_arena_alloc(&t->base.core.arena, n, sizeof *t->session.slow);
    if (!of_layer || !t->operators || !t->activations || !t->session.slow)
        return vbs_no_memory(b->build.ctx);
    VBS_TRY(add_activation(b, 0, &t->network->input));
    t->activations[0].learns = t->options.input_gradient;
    for (int k = 1; k <= t->network->n_layers; k++)
        VBS_TRY(add_layer(b, k, of_layer));
    t->output = of_layer[t->network->outputs[0].layer];
    t->session.input_elements = vbs_shape_elements(&t->network->input);
    t->session.output_elements = vbs_shape_elements(&t->activations[t->output].tensor.shape);
    return VBS_OK;
}
