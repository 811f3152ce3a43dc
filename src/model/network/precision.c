/*
 * The precision of a network. Quantised files are read as operators on floats that round: linear,
 * round, linear (the zero point), clip, linear. Here such a chain at the end of a layer becomes the
 * encoding of its output, so that the values stay what they are.
 *
 * Where the linear operator at the end of the chain is missing, the tensor has whole numbers, and
 * its readers are layers that begin with that operator. Layers that only round an input, or only
 * turn whole numbers back, are left out where the tensor that they read is stored as they would
 * store it.
 */
#include "base/fail.h"
#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SCALES_DIFFER 1e-5 /* relative: a factor is the inverse of another one's float */
#define NEAR_WHOLE    1e-3 /* a zero point is computed from two floats */

static const char *const WORDS[] = {"fp32", "int8", "bf16"};

const char *vbs_precision_word(enum vbs_precision precision)
{
    return (unsigned)precision < VBS_N_PRECISIONS ? WORDS[precision] : "unknown";
}

enum vbs_status vbs_precision_parse(struct vbs_ctx *ctx, const char *word,
                                    enum vbs_precision *precision)
{
    for (int i = 0; i < VBS_N_PRECISIONS; i++)
        if (strcmp(word, WORDS[i]) == 0) {
            *precision = (enum vbs_precision)i;
            return VBS_OK;
        }
    return vbs_fail(ctx, VBS_USAGE, "precision '%.40s' is none of fp32, int8 and bf16%s", word,
                    strcmp(word, "mixed") == 0 ? "; 'vbslab mixed' plans one for each layer" : "");
}

size_t vbs_model_word_length(const char *model, enum vbs_precision *precision)
{
    const char *colon = strrchr(model, ':');
    enum vbs_precision found;

    if (!colon || colon == model || vbs_precision_parse(NULL, colon + 1, &found) != VBS_OK)
        return strlen(model);
    if (precision)
        *precision = found;
    return (size_t)(colon - model);
}

enum vbs_precision vbs_network_precision(const struct vbs_network *network)
{
    for (int k = 0; k <= network->n_layers; k++) {
        enum vbs_storage storage = network->layers[k].encoding.storage;

        if (storage != VBS_FLOAT32)
            return storage == VBS_BFLOAT16 ? VBS_PRECISION_BF16 : VBS_PRECISION_INT8;
    }
    return VBS_PRECISION_FP32;
}

enum vbs_status vbs_network_check_floats(struct vbs_ctx *ctx, const struct vbs_network *network,
                                         const char *what)
{
    enum vbs_precision precision = vbs_network_precision(network);

    if (precision == VBS_PRECISION_FP32)
        return VBS_OK;
    return vbs_fail(ctx, VBS_USAGE, "%s takes a network of precision fp32, and '%.100s' has %s",
                    what, network->name, vbs_precision_word(precision));
}

/* ---- chains ---- */

/* What becomes of a layer. */
struct storage_change {
    struct vbs_encoding encoding;
    int n_fused;   /* the fused operators that stay */
    bool identity; /* its own operator only rounds, or turns whole numbers back */
    bool whole;    /* the output has the whole numbers of encoding, whose scale is not final */
    bool is_output;
    bool dropped;
    int source; /* dropped: the tensor that its readers read */
    int number; /* not dropped: its new id */
};

struct precision_job {
    struct vbs_ctx *ctx;
    struct vbs_network *network;
    struct storage_change *changes; /* [n_layers + 1] */
};

/* A chain at the end of a layer. */
struct chain {
    struct vbs_encoding encoding;
    int begin; /* the fused operator with which it begins; -1: the layer's own */
    bool whole;
};

/* Gives a fused operator of a layer, or (at -1) its own one; VBS_N_OPS: there is none. */
static enum vbs_op op_at(const struct vbs_layer *l, int at)
{
    return at >= 0 ? l->fused[at].op : at == -1 ? l->op : VBS_N_OPS;
}

static const union vbs_attributes *attributes_at(const struct vbs_layer *l, int at)
{
    return at >= 0 ? &l->fused[at].attributes : &l->attributes;
}

/* Finds the storage whose range a clip has. */
static bool storage_of(const union vbs_attributes *clip, enum vbs_storage *storage)
{
    for (int s = VBS_UINT8; s <= VBS_INT8; s++)
        if (clip->clip.low == vbs_storage_low((enum vbs_storage)s) &&
            clip->clip.high == vbs_storage_high((enum vbs_storage)s)) {
            *storage = (enum vbs_storage)s;
            return true;
        }
    return false;
}

/* Sets scale and zero to those of factor q + shift; false: they are none, or are not those of
 * numbers that have been made with divide and zero. */
static bool set_scale(double factor, double shift, double divide, double zero,
                      struct vbs_encoding *encoding)
{
    double own_zero = nearbyint(-shift / factor);

    if (!(factor > 0) || !isfinite((float)factor) || (float)factor == 0 ||
        fabs(factor * divide - 1) > SCALES_DIFFER ||
        fabs(-shift / factor - own_zero) > NEAR_WHOLE || own_zero != zero ||
        zero < vbs_storage_low(encoding->storage) || zero > vbs_storage_high(encoding->storage))
        return false;
    encoding->scale = (float)factor;
    encoding->zero = (int)zero;
    return true;
}

/* Finds the chain that ends with fused operator number n - 1 of a layer. */
static bool find_chain(const struct vbs_layer *l, int n, struct chain *chain)
{
    double divide = 1, zero = 0, factor = 0, shift = 0;
    int at = n - 1;

    *chain = (struct chain){.whole = op_at(l, at) != VBS_OP_LINEAR};
    if (!chain->whole) {
        factor = attributes_at(l, at)->linear.factor;
        shift = attributes_at(l, at--)->linear.shift;
    }
    if (op_at(l, at) != VBS_OP_CLIP ||
        !storage_of(attributes_at(l, at--), &chain->encoding.storage))
        return false;
    if (op_at(l, at) == VBS_OP_LINEAR && attributes_at(l, at)->linear.factor == 1)
        zero = attributes_at(l, at--)->linear.shift;
    if (op_at(l, at--) != VBS_OP_ROUND)
        return false;
    if (op_at(l, at) == VBS_OP_LINEAR && attributes_at(l, at)->linear.shift == 0)
        divide = attributes_at(l, at--)->linear.factor;
    chain->begin = at + 1;
    if (chain->whole) /* until the readers say it exactly */
        return divide > 0 && set_scale(1 / divide, -zero / divide, divide, zero, &chain->encoding);
    return set_scale(factor, shift, divide, zero, &chain->encoding);
}

/* Gives whether an operator changes no value that stays different when it is stored. */
static bool is_implied(enum vbs_op op, const union vbs_attributes *a, const struct vbs_encoding *e)
{
    double low = vbs_storage_low(e->storage) - e->zero;
    double high = vbs_storage_high(e->storage) - e->zero;

    if (op == VBS_OP_RELU)
        return low >= 0;
    return op == VBS_OP_CLIP && nearbyint(a->clip.low / (double)e->scale) <= low &&
           nearbyint(a->clip.high / (double)e->scale) >= high;
}

bool vbs_network_rounds(const struct vbs_network *network)
{
    struct chain chain;

    for (int k = 1; k <= network->n_layers; k++)
        if (find_chain(&network->layers[k], network->layers[k].n_fused, &chain))
            return true;
    return false;
}

int vbs_layer_rounding(const struct vbs_layer *layer, int first, struct vbs_encoding *encoding)
{
    struct chain chain, back;

    for (int n = first + 1; n <= layer->n_fused; n++) {
        if (!find_chain(layer, n, &chain) || !chain.whole || chain.begin != first)
            continue;
        *encoding = chain.encoding;
        if (n < layer->n_fused && find_chain(layer, n + 1, &back) && back.begin == first)
            *encoding = back.encoding; /* its scale is exact */
        return n - first;
    }
    return 0;
}

bool vbs_layer_turns_back(const struct vbs_layer *layer, int i, const struct vbs_encoding *encoding)
{
    struct vbs_encoding own = {.storage = encoding->storage};

    return i < layer->n_fused && op_at(layer, i) == VBS_OP_LINEAR &&
           set_scale(attributes_at(layer, i)->linear.factor, attributes_at(layer, i)->linear.shift,
                     1 / (double)encoding->scale, encoding->zero, &own) &&
           vbs_encoding_equal(&own, encoding);
}

/* Leaves out fused operators that the encoding implies, and chains of the same encoding. */
static void leave_out(const struct vbs_layer *l, struct storage_change *c)
{
    struct chain chain;

    while (c->n_fused > 0) {
        const struct vbs_fused *last = &l->fused[c->n_fused - 1];

        if (is_implied(last->op, &last->attributes, &c->encoding))
            c->n_fused--;
        else if (find_chain(l, c->n_fused, &chain) && !chain.whole && chain.begin >= 0 &&
                 vbs_encoding_equal(&chain.encoding, &c->encoding))
            c->n_fused = chain.begin;
        else
            break;
    }
}

static void find_chains(struct precision_job *job)
{
    for (int k = 1; k <= job->network->n_layers; k++) {
        const struct vbs_layer *l = &job->network->layers[k];
        struct storage_change *c = &job->changes[k];
        struct chain chain;

        c->n_fused = l->n_fused;
        if (!find_chain(l, l->n_fused, &chain))
            continue;
        c->encoding = chain.encoding;
        c->whole = chain.whole;
        c->identity = chain.begin < 0;
        c->n_fused = chain.begin < 0 ? 0 : chain.begin;
    }
}

/* ---- readers ---- */

static bool reads(const struct vbs_layer *l, int tensor)
{
    for (int i = 0; i < l->n_inputs; i++)
        if (l->inputs[i] == tensor)
            return true;
    return false;
}

static int count_readers(const struct vbs_network *network, int tensor)
{
    int n = 0;

    for (int k = tensor + 1; k <= network->n_layers; k++)
        n += reads(&network->layers[k], tensor);
    return n;
}

/* Gives whether all readers of a tensor of whole numbers begin with the same linear operator, which
 * turns them back; sets its scale then. */
static bool readers_turn_back(struct precision_job *job, int tensor)
{
    const struct vbs_network *network = job->network;
    struct storage_change *c = &job->changes[tensor];
    const union vbs_attributes *first = NULL;

    for (int k = tensor + 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        if (!reads(l, tensor))
            continue;
        if (l->op != VBS_OP_LINEAR || job->changes[k].identity ||
            (first && (first->linear.factor != l->attributes.linear.factor ||
                       first->linear.shift != l->attributes.linear.shift)))
            return false;
        first = &l->attributes;
    }
    return first && !c->is_output &&
           set_scale(first->linear.factor, first->linear.shift, 1 / (double)c->encoding.scale,
                     c->encoding.zero, &c->encoding);
}

/* Gives whether the whole numbers of an encoding are the values. */
static bool is_value(const struct vbs_encoding *e)
{
    return e->scale == 1 && e->zero == 0;
}

/* Settles tensors of whole numbers: they are encoded, or stay floats. */
static void settle_whole(struct precision_job *job)
{
    const struct vbs_network *network = job->network;

    for (int k = 1; k <= network->n_layers; k++) {
        struct storage_change *c = &job->changes[k];

        if (!c->whole)
            continue;
        if (!readers_turn_back(job, k)) {
            if (is_value(&c->encoding))
                continue;
            *c = (struct storage_change){.n_fused = network->layers[k].n_fused,
                                         .is_output = c->is_output};
            continue;
        }
        for (int r = k + 1; r <= network->n_layers; r++)
            if (reads(&network->layers[r], k))
                job->changes[r].identity = true;
    }
}

/* Encodes a tensor of floats that all readers do nothing with but round it alike. */
static void encode_read_alike(struct precision_job *job, int tensor)
{
    const struct vbs_network *network = job->network;
    struct storage_change *c = &job->changes[tensor];
    const struct storage_change *first = NULL;

    if (c->encoding.storage != VBS_FLOAT32 || c->is_output)
        return;
    for (int k = tensor + 1; k <= network->n_layers; k++) {
        const struct storage_change *reader = &job->changes[k];

        if (!reads(&network->layers[k], tensor))
            continue;
        if (!reader->identity || reader->n_fused > 0 || reader->encoding.storage == VBS_FLOAT32 ||
            (first && !vbs_encoding_equal(&first->encoding, &reader->encoding)))
            return;
        first = reader;
    }
    if (first)
        c->encoding = first->encoding;
}

/* Drops the layers that do nothing any more. */
static void drop_layers(struct precision_job *job)
{
    const struct vbs_network *network = job->network;

    for (int k = 1; k <= network->n_layers; k++) {
        struct storage_change *c = &job->changes[k], *from;
        int tensor = c->identity ? network->layers[k].inputs[0] : 0;

        if (!c->identity || c->n_fused > 0)
            continue;
        from = &job->changes[tensor];
        if (c->is_output && (tensor == 0 || from->is_output || count_readers(network, tensor) > 1))
            continue;
        if (from->encoding.storage == VBS_FLOAT32 ||
            (c->encoding.storage != VBS_FLOAT32 &&
             !vbs_encoding_equal(&c->encoding, &from->encoding)))
            continue;
        c->dropped = true;
        c->encoding = from->encoding; /* for readers that do nothing either */
    }
}

/* Gives the tensor that readers of tensor read. */
static int follow(const struct precision_job *job, int tensor)
{
    while (job->changes[tensor].dropped)
        tensor = job->network->layers[tensor].inputs[0];
    return tensor;
}

/* Keeps a layer where without it a reader would read a tensor twice; false: there is none. */
static bool keep_one(struct precision_job *job)
{
    for (int k = 1; k <= job->network->n_layers; k++) {
        const struct vbs_layer *l = &job->network->layers[k];

        for (int i = 1; i < l->n_inputs; i++)
            for (int j = 0; j < i; j++) {
                struct storage_change *c = &job->changes[l->inputs[i]];

                if (follow(job, l->inputs[i]) != follow(job, l->inputs[j]))
                    continue;
                c = c->dropped ? c : &job->changes[l->inputs[j]];
                c->dropped = false;
                return true;
            }
    }
    return false;
}

/* ---- the changed network ---- */

static enum vbs_status change_layer(struct precision_job *job, int k, struct vbs_layer *l)
{
    const struct storage_change *c = &job->changes[k];
    int *inputs = vbs_network_alloc(job->network, (size_t)l->n_inputs, sizeof *inputs);

    if (!inputs)
        return vbs_no_memory(job->ctx);
    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = job->changes[follow(job, l->inputs[i])].number;
    l->inputs = inputs;
    l->n_fused = c->n_fused;
    l->encoding = c->encoding;
    if (c->identity) {
        l->op = VBS_OP_IDENTITY;
        memset(&l->attributes, 0, sizeof l->attributes);
    }
    return VBS_OK;
}

/* Moves what is kept for each layer to the new ids, which are not above the old ones. */
static void move_parameters(const struct precision_job *job)
{
    struct vbs_parameters *p = vbs_network_own(job->network);

    for (int k = 1; k <= job->network->n_layers; k++) {
        int number = job->changes[k].number;

        if (job->changes[k].dropped || number == k)
            continue;
        p->first[number] = p->first[k];
        if (p->coded) {
            p->coded[number] = p->coded[k];
            p->coded[k] = (struct vbs_layer_coded){.coded = NULL};
        }
    }
}

static enum vbs_status change_outputs(const struct precision_job *job)
{
    struct vbs_network *network = job->network;
    size_t n = (size_t)network->n_outputs;
    struct vbs_output *outputs = vbs_network_alloc(network, n, sizeof *outputs);

    if (!outputs)
        return vbs_no_memory(job->ctx);
    for (size_t i = 0; i < n; i++) {
        outputs[i] = network->outputs[i];
        outputs[i].layer = job->changes[follow(job, outputs[i].layer)].number;
    }
    network->outputs = outputs;
    return VBS_OK;
}

static enum vbs_status change_network(struct precision_job *job)
{
    struct vbs_network *network = job->network;
    size_t n = (size_t)network->n_layers + 1;
    struct vbs_layer *layers = vbs_network_alloc(network, n, sizeof *layers);
    int number = 0;

    if (!layers)
        return vbs_no_memory(job->ctx);
    for (int k = 1; k <= network->n_layers; k++)
        if (!job->changes[k].dropped)
            job->changes[k].number = ++number;
    layers[0] = network->layers[0];
    layers[0].encoding = job->changes[0].encoding;
    for (int k = 1; k <= network->n_layers; k++) {
        int at = job->changes[k].number;

        if (job->changes[k].dropped)
            continue;
        layers[at] = network->layers[k];
        VBS_TRY(change_layer(job, k, &layers[at]));
    }
    VBS_TRY(change_outputs(job));
    move_parameters(job);
    vbs_network_set_layers(network, layers, number);
    return VBS_OK;
}

/* Finds whether a layer that reads a tensor of 8 bits may have weights of 8 bits. */
static enum vbs_status inspect_layer(struct precision_job *job, int k, struct vbs_layer *l)
{
    float *steps =
        vbs_network_alloc(job->network, (size_t)l->attributes.weighted.out_channels, sizeof *steps);
    bool whole = false;

    if (!steps)
        return vbs_no_memory(job->ctx);
    VBS_TRY(vbs_weight_steps(job->ctx, job->network, k, steps, &whole));
    l->weights = whole ? VBS_INT8 : VBS_FLOAT32;
    l->weight_steps = whole ? steps : NULL;
    return VBS_OK;
}

static enum vbs_status inspect_weights(struct precision_job *job)
{
    struct vbs_layer *layers = vbs_network_layers(job->network);

    for (int k = 1; k <= job->network->n_layers; k++) {
        if ((layers[k].op != VBS_OP_CONV && layers[k].op != VBS_OP_CONV_TRANSPOSE &&
             layers[k].op != VBS_OP_FC) ||
            !vbs_storage_is_whole(layers[layers[k].inputs[0]].encoding.storage))
            continue;
        VBS_TRY(vbs_check_cancel(job->ctx));
        VBS_TRY(inspect_layer(job, k, &layers[k]));
    }
    return VBS_OK;
}

static bool has_chain(const struct precision_job *job)
{
    for (int k = 1; k <= job->network->n_layers; k++)
        if (job->changes[k].encoding.storage != VBS_FLOAT32)
            return true;
    return false;
}

static enum vbs_status encode_chains(struct precision_job *job)
{
    struct vbs_network *network = job->network;

    for (int i = 0; i < network->n_outputs; i++)
        job->changes[network->outputs[i].layer].is_output = true;
    find_chains(job);
    settle_whole(job);
    if (!has_chain(job))
        return VBS_OK;
    for (int k = 0; k <= network->n_layers; k++)
        encode_read_alike(job, k);
    for (int k = 1; k <= network->n_layers; k++)
        if (job->changes[k].encoding.storage != VBS_FLOAT32)
            leave_out(&network->layers[k], &job->changes[k]);
    drop_layers(job);
    while (keep_one(job))
        continue;
    VBS_TRY(change_network(job));
    return inspect_weights(job);
}

static bool has_whole_input(const struct vbs_network *network)
{
    for (int i = 0; i < network->n_inputs; i++)
        if (network->inputs[i].number != VBS_NUMBER_REAL)
            return true;
    return false;
}

/* Returns whether positions that a layer makes may be made of positions that it reads: they are
 * moved, joined, computed one by one, or chosen among several, as ArgMax does. What is compared is
 * none. */
static bool passes_positions(enum vbs_op op)
{
    enum vbs_op_class class = vbs_op_class(op);

    if (op == VBS_OP_EQUAL || op == VBS_OP_LESS || op == VBS_OP_LESS_EQUAL)
        return false;
    return class == VBS_CLASS_MOVE || class == VBS_CLASS_UNARY || class == VBS_CLASS_BINARY ||
           op == VBS_OP_REDUCE_MAX || op == VBS_OP_REDUCE_MIN || op == VBS_OP_CONCAT ||
           op == VBS_OP_PICK || op == VBS_OP_TAKE;
}

/* Returns the input of a layer that is positions, where it has one; else -1. */
static int positions_of(const struct vbs_layer *l)
{
    switch (l->op) {
    case VBS_OP_EMBED:
    case VBS_OP_PICK:
    case VBS_OP_TAKE:
    case VBS_OP_GRID_SAMPLE:
        return l->n_inputs - 1;
    case VBS_OP_DEFORM_CONV:
        return 1;
    default:
        return -1;
    }
}

/* Gives whether positions are computed from tensor k: those that a layer reads, or what becomes
 * them. The layers are in the order in which they run. */
static bool holds_positions(const struct vbs_network *network, int k)
{
    for (int r = k + 1; r <= network->n_layers; r++) {
        const struct vbs_layer *l = &network->layers[r];
        bool passes = passes_positions(l->op);
        int positions = positions_of(l);

        if (positions >= 0 && l->inputs[positions] == k)
            return true;
        for (int i = 0; i < l->n_inputs && passes; i++)
            if (l->inputs[i] == k && network->layers[r].encoding.storage == VBS_FLOAT32)
                return true;
    }
    return false;
}

static void store_all(struct vbs_network *network)
{
    struct vbs_layer *layers = vbs_network_layers(network);

    for (int k = network->n_layers; k >= 0; k--) { /* readers come first */
        bool is_positions = layers[k].op == VBS_OP_TOPK && layers[k].attributes.topk.positions;

        /* Whole numbers, which may be indices, need more digits. */
        if (k == 0 && (network->n_inputs > 1 || has_whole_input(network)))
            continue;
        if (is_positions || holds_positions(network, k))
            continue;
        layers[k].encoding = (struct vbs_encoding){.storage = VBS_BFLOAT16};
        if (layers[k].op == VBS_OP_CONV || layers[k].op == VBS_OP_FC)
            layers[k].weights = VBS_BFLOAT16;
    }
}

enum vbs_status vbs_network_set_precision(struct vbs_ctx *ctx, struct vbs_network *network,
                                          enum vbs_precision precision)
{
    struct precision_job job = {.ctx = ctx, .network = network};
    enum vbs_status status;

    if (precision == vbs_network_precision(network))
        return VBS_OK;
    if (vbs_network_precision(network) != VBS_PRECISION_FP32)
        return vbs_fail(ctx, VBS_USAGE, "the precision of '%.100s' has been set already",
                        network->name);
    if (precision == VBS_PRECISION_BF16) {
        store_all(network);
        return VBS_OK;
    }
    job.changes = calloc((size_t)network->n_layers + 1, sizeof *job.changes);
    if (!job.changes)
        return vbs_no_memory(ctx);
    status = encode_chains(&job);
    free(job.changes);
    return status;
}
