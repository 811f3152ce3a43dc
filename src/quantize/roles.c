/* Which operators are computed in 8 bits, and which values are rounded for them. */
#include "quantize/internal.h"

#include "base/fail.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char NO_KERNEL[] = "no kernel of 8 bits";
static const char CONSTANT[] = "has a constant operand";
static const char PART[] = "copies one of several inputs";
static const char KEPT[] = "kept by name";
static const char CHOSEN[] = "kept in floats";
static const char BESIDE[] = "reads floats of layers that are kept";

/* ---- the list of operators ---- */

static enum vbs_status list_operators(struct vbs_ctx *ctx, struct vbs_quantized_network *q)
{
    const struct vbs_network *network = q->network;
    int next = 1;

    q->n = vbs_network_operators(network);
    /* one more, which is none, ends the list */
    q->operators = vbs_arena_alloc(&q->arena, (size_t)q->n + 1, sizeof *q->operators);
    q->last = vbs_arena_alloc(&q->arena, (size_t)network->n_layers + 1, sizeof *q->last);
    if (!q->operators || !q->last)
        return vbs_no_memory(ctx);
    q->operators[0] =
        (struct quantize_operator){.fused = -1, .op = VBS_N_OPS, .name = VBS_INPUT_NAME};
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        for (int f = -1; f < l->n_fused; f++)
            q->operators[next++] = (struct quantize_operator){
                .layer = k,
                .fused = f,
                .op = f < 0 ? l->op : l->fused[f].op,
                .name = f < 0 ? l->name : l->fused[f].name,
                .attributes = f < 0 ? &l->attributes : &l->fused[f].attributes,
            };
        q->last[k] = next - 1;
    }
    return VBS_OK;
}

/* ---- roles ---- */

static enum quantize_role role_of_move(const struct quantize_operator *o)
{
    const union vbs_attributes *a = o->attributes;

    switch (o->op) {
    case VBS_OP_PAD:
        return a->pad.mode == VBS_PAD_CONSTANT && a->pad.value != 0 ? ROLE_FLOAT : ROLE_SAME;
    case VBS_OP_RESIZE:
        return a->resize.mode == VBS_RESIZE_CUBIC ||
                       a->resize.coordinates == VBS_COORDINATES_TF_CROP
                   ? ROLE_FLOAT
                   : ROLE_SAME;
    default:
        return ROLE_SAME;
    }
}

/* Gives the role of an operator by itself, and why it is one of floats. */
static enum quantize_role role_of(const struct vbs_layer *l, const struct quantize_operator *o,
                                  const char **why)
{
    *why = NULL;
    switch (o->op) {
    case VBS_OP_CONV:
    case VBS_OP_CONV_TRANSPOSE:
    case VBS_OP_FC:
    case VBS_OP_CONCAT:
    case VBS_OP_POOL_AVG:
    case VBS_OP_SIGMOID:
    case VBS_OP_LEAKY_RELU:
        return ROLE_EIGHT;
    case VBS_OP_MATMUL:
        if (l->n_inputs > 1 || !o->attributes->binary.swapped)
            return ROLE_EIGHT;
        *why = CONSTANT;
        return ROLE_FLOAT;
    case VBS_OP_ADD:
    case VBS_OP_MUL:
        if (l->n_inputs > 1)
            return ROLE_EIGHT;
        *why = CONSTANT;
        return ROLE_FLOAT;
    case VBS_OP_POOL_MAX:
    case VBS_OP_TRANSPOSE:
    case VBS_OP_SHUFFLE:
    case VBS_OP_SLICE:
    case VBS_OP_EXPAND:
    case VBS_OP_GATHER:
    case VBS_OP_IDENTITY:
    case VBS_OP_DROPOUT:
    case VBS_OP_PAD:
    case VBS_OP_RESIZE:
        if (role_of_move(o) == ROLE_SAME)
            return ROLE_SAME;
        break;
    default:
        break;
    }
    *why = NO_KERNEL;
    return ROLE_FLOAT;
}

/* Gives whether a kernel computes the operator together with the one before it. */
static bool joins(const struct quantize_operator *o)
{
    const struct quantize_operator *before = o - 1;

    return o->fused >= 0 && (before->role == ROLE_EIGHT || before->role == ROLE_JOINED) &&
           (o->op == VBS_OP_RELU || o->op == VBS_OP_CLIP || o->op == VBS_OP_DROPOUT);
}

bool vbs_quantize_is_input(const struct vbs_quantized_network *q, const struct quantize_operator *o)
{
    if (o->layer == 0)
        return true;
    return q->network->n_inputs > 1 && o->fused < 0 &&
           q->network->layers[o->layer].inputs[0] == 0 && o->op == VBS_OP_SLICE;
}

static bool is_kept(const struct vbs_quantized_network *q, const struct quantize_operator *o,
                    const struct vbs_quantize_options *options, bool *used)
{
    bool kept = false;

    for (int i = 0; i < options->n_keep; i++) {
        const char *layer = q->network->layers[o->layer].name;
        bool matches =
            fnmatch(options->keep[i], layer, 0) == 0 || fnmatch(options->keep[i], o->name, 0) == 0;

        used[i] = used[i] || matches;
        kept = kept || matches;
    }
    return kept;
}

static enum vbs_status refuse_name(struct vbs_ctx *ctx, const struct vbs_quantized_network *q,
                                   const char *pattern)
{
    const char **names = malloc((size_t)q->n * sizeof *names);
    const char *nearest;

    if (!names)
        return vbs_no_memory(ctx);
    for (int i = 1; i < q->n; i++)
        names[i - 1] = q->operators[i].name;
    nearest = vbs_nearest_name(pattern, names, q->n - 1);
    free(names);
    return vbs_fail(ctx, VBS_USAGE, "'%.100s' is no layer of '%.100s'%s%.100s%s", pattern,
                    q->network->name, nearest ? "; did you mean '" : "", nearest ? nearest : "",
                    nearest ? "'?" : "");
}

static enum vbs_status choose_roles(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                    const struct vbs_quantize_options *options)
{
    bool *used = vbs_arena_alloc(&q->arena, (size_t)options->n_keep + 1, sizeof *used);

    if (!used)
        return vbs_no_memory(ctx);
    for (int i = 1; i < q->n; i++) {
        struct quantize_operator *o = &q->operators[i];

        o->role = role_of(&q->network->layers[o->layer], o, &o->why);
        if (vbs_quantize_is_input(q, o)) {
            o->role = ROLE_FLOAT;
            o->why = PART;
        }
        if (is_kept(q, o, options, used)) {
            o->role = ROLE_FLOAT;
            o->why = KEPT;
        } else if (joins(o)) {
            o->role = ROLE_JOINED;
            o->why = NULL;
        }
    }
    for (int i = 0; i < options->n_keep; i++)
        if (!used[i])
            return refuse_name(ctx, q, options->keep[i]);
    return VBS_OK;
}

/* ---- values ---- */

static void need_inputs(struct vbs_quantized_network *q, const struct quantize_operator *o)
{
    const struct vbs_layer *l = &q->network->layers[o->layer];

    if (o->fused >= 0)
        q->operators[o - q->operators - 1].needed = true;
    for (int i = 0; o->fused < 0 && i < l->n_inputs; i++)
        q->operators[q->last[l->inputs[i]]].needed = true;
}

/* Gives the operator that makes the first input of an operator. */
static int source_of(const struct vbs_quantized_network *q, int i)
{
    const struct quantize_operator *o = &q->operators[i];

    return o->fused >= 0 ? i - 1 : q->last[q->network->layers[o->layer].inputs[0]];
}

/* Gives whether what an operator of 8 bits makes may stay in floats. */
static bool may_be_float(const struct vbs_quantized_network *q, int i)
{
    while (q->operators[i].role == ROLE_JOINED)
        i--;
    return q->operators[i].op == VBS_OP_FC || q->operators[i].op == VBS_OP_MATMUL;
}

static void round_value(struct vbs_quantized_network *q, int i)
{
    struct quantize_operator *o = &q->operators[i];
    bool followed = i + 1 < q->n && q->operators[i + 1].role == ROLE_JOINED;

    o->root = i;
    switch (o->role) {
    case ROLE_EIGHT:
    case ROLE_JOINED:
        o->rounded = !followed && (o->needed || !may_be_float(q, i));
        break;
    case ROLE_SAME:
        o->rounded = q->operators[source_of(q, i)].rounded;
        o->root = o->rounded ? q->operators[source_of(q, i)].root : i;
        break;
    default:
        o->rounded = o->needed;
    }
}

/* Decides which values are rounded, once the roles are known. */
static void round_values(struct vbs_quantized_network *q)
{
    for (int i = q->n - 1; i > 0; i--)
        if (q->operators[i].role == ROLE_EIGHT ||
            (q->operators[i].role == ROLE_SAME && q->operators[i].needed))
            need_inputs(q, &q->operators[i]);
    for (int i = 0; i < q->n; i++)
        round_value(q, i);
}

enum vbs_status vbs_quantize_roles(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                   const struct vbs_quantize_options *options)
{
    VBS_TRY(list_operators(ctx, q));
    VBS_TRY(choose_roles(ctx, q, options));
    round_values(q);
    return VBS_OK;
}

/* ---- layers that go back to floats ---- */

/* What is known of operators while layers go back to floats. */
struct role_keeping {
    struct vbs_quantized_network *q;
    const struct vbs_quantized_network *whole;
    const bool *kept; /* [n] */
    bool *wanted;     /* [n] a layer with weights reads the value in 8 bits, or what moves it */
    bool *floats;     /* [n] it comes from a layer that is kept, and is computed in floats */
};

static bool has_weights(const struct vbs_quantized_network *q, int i)
{
    const struct quantize_operator *o = &q->operators[i];

    return o->fused < 0 &&
           vbs_quantize_weights_of(&q->network->layers[o->layer]) != VBS_N_PARAMETERS;
}

/* Finds the values that layers with weights read in 8 bits. */
static void find_wanted(struct role_keeping *k)
{
    const struct vbs_quantized_network *q = k->q;

    for (int i = q->n - 1; i > 0; i--) {
        const struct quantize_operator *o = &q->operators[i];
        const struct vbs_layer *l = &q->network->layers[o->layer];
        enum quantize_role role = k->whole->operators[i].role;

        if (role == ROLE_SAME && k->wanted[i])
            k->wanted[source_of(q, i)] = true;
        if (role != ROLE_EIGHT || k->kept[i] || !has_weights(q, i))
            continue;
        for (int j = 0; j < l->n_inputs; j++)
            k->wanted[q->last[l->inputs[j]]] = true;
    }
}

/* Gives whether an operator reads a value that stays in floats because of layers that are kept. */
static bool reads_floats(const struct role_keeping *k, int i)
{
    const struct quantize_operator *o = &k->q->operators[i];
    const struct vbs_layer *l = &k->q->network->layers[o->layer];

    if (o->fused >= 0)
        return k->floats[i - 1];
    for (int j = 0; j < l->n_inputs; j++) {
        int input = k->q->last[l->inputs[j]];

        if (k->floats[input] && !k->wanted[input])
            return true;
    }
    return false;
}

/* An operator that joined a layer which is kept has the role that it has by itself, and one without
 * weights is in 8 bits only where nothing is rounded for its sake alone. */
static void choose_role_keep(struct role_keeping *k, int i)
{
    struct quantize_operator *o = &k->q->operators[i];
    const struct quantize_operator *whole = &k->whole->operators[i];
    bool reads = !has_weights(k->q, i) && reads_floats(k, i);

    o->role = whole->role;
    o->why = whole->why;
    k->floats[i] = k->kept[i] || reads;
    if (whole->role == ROLE_FLOAT)
        return;
    o->role = role_of(&k->q->network->layers[o->layer], o, &o->why);
    if (joins(o)) {
        o->role = ROLE_JOINED;
        o->why = NULL;
    } else if (o->role == ROLE_EIGHT && k->floats[i]) {
        o->role = ROLE_FLOAT;
        o->why = k->kept[i] ? CHOSEN : BESIDE;
    }
}

enum vbs_status vbs_quantize_roles_keep(struct vbs_ctx *ctx, struct vbs_quantized_network *q,
                                        const struct vbs_quantized_network *whole, const bool *kept)
{
    struct role_keeping k = {.q = q, .whole = whole, .kept = kept};

    VBS_TRY(list_operators(ctx, q));
    k.wanted = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *k.wanted);
    k.floats = vbs_arena_alloc(&q->arena, (size_t)q->n, sizeof *k.floats);
    if (!k.wanted || !k.floats)
        return vbs_no_memory(ctx);
    find_wanted(&k);
    for (int i = 1; i < q->n; i++)
        choose_role_keep(&k, i);
    round_values(q);
    return VBS_OK;
}
