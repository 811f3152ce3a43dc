/* Copies of networks with other values of parameters: the operators are added to a builder again,
 * with values in memory. */
#include "model/network/network.h"

#include "base/fail.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Values that are read at once: many, because coded weights are decoded block by block. */
#define PIECE_VALUES ((int64_t)1 << 24)

/* A copy that is being made. */
struct revaluation {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_new_values **given; /* [n_given] ascending by layer, operator, parameter */
    size_t n_given;
    struct vbs_source *source; /* the owner of the values; the builder's */
    struct vbs_builder *builder;
    int *last; /* [layer] the number of its last operator in the builder */
};

/* ---- the new values ---- */

static int place_of(const struct vbs_new_values *v)
{
    return v->fused < 0 ? -1 : v->fused;
}

static int compare_given(const void *a, const void *b)
{
    const struct vbs_new_values *left = *(const struct vbs_new_values *const *)a;
    const struct vbs_new_values *right = *(const struct vbs_new_values *const *)b;

    if (left->layer != right->layer)
        return left->layer < right->layer ? -1 : 1;
    if (place_of(left) != place_of(right))
        return place_of(left) < place_of(right) ? -1 : 1;
    return (left->what > right->what) - (left->what < right->what);
}

/* Refuses values: "layer 3 'conv1', weights: what". */
static enum vbs_status refuse(const struct revaluation *r, const struct vbs_new_values *v,
                              const char *what)
{
    const struct vbs_layer *l = &r->network->layers[v->layer];

    return vbs_fail(r->ctx, VBS_USAGE, "layer %d '%.100s', %s: %s", v->layer,
                    v->fused < 0 ? l->name : l->fused[v->fused].name, vbs_parameter_word(v->what),
                    what);
}

static enum vbs_status check_finite(const struct revaluation *r, const struct vbs_new_values *v)
{
    char text[64];

    for (int64_t i = 0; i < v->count; i++) {
        if (isfinite(v->values[i]))
            continue;
        snprintf(text, sizeof text, "value %lld is %s", (long long)i,
                 isnan(v->values[i]) ? "no number" : "infinite");
        return refuse(r, v, text);
    }
    return VBS_OK;
}

static enum vbs_status check_given(const struct revaluation *r, const struct vbs_new_values *v)
{
    int64_t count = vbs_parameter_count(r->network, v->layer, v->fused, v->what);
    char text[96];

    if (v->layer < 1 || v->layer > r->network->n_layers)
        return vbs_fail(r->ctx, VBS_USAGE, "there is no layer %d; the network has %d layers",
                        v->layer, r->network->n_layers);
    if (v->fused >= r->network->layers[v->layer].n_fused)
        return vbs_fail(r->ctx, VBS_USAGE,
                        "layer %d '%.100s' has no fused operator %d; it has %d of them", v->layer,
                        r->network->layers[v->layer].name, v->fused,
                        r->network->layers[v->layer].n_fused);
    if (count == 0)
        return refuse(r, v, "the operator has no such parameter");
    if (v->count != count) {
        snprintf(text, sizeof text, "%lld values are given; the parameter has %lld",
                 (long long)v->count, (long long)count);
        return refuse(r, v, text);
    }
    return check_finite(r, v);
}

static enum vbs_status take_given(struct revaluation *r, const struct vbs_new_values *values, int n)
{
    r->given = calloc((size_t)n + 1, sizeof *r->given);
    if (!r->given)
        return vbs_no_memory(r->ctx);
    for (int i = 0; i < n; i++) {
        VBS_TRY(check_given(r, &values[i]));
        r->given[i] = &values[i];
    }
    r->n_given = (size_t)n;
    qsort(r->given, r->n_given, sizeof(const struct vbs_new_values *), compare_given);
    for (int i = 1; i < n; i++)
        if (compare_given(&r->given[i - 1], &r->given[i]) == 0)
            return refuse(r, r->given[i], "the parameter is given twice");
    return VBS_OK;
}

static const struct vbs_new_values *find_given(const struct revaluation *r, int layer, int fused,
                                               enum vbs_parameter what)
{
    const struct vbs_new_values wanted = {.layer = layer, .fused = fused, .what = what};
    const struct vbs_new_values *key = &wanted, **found;

    found =
        bsearch(&key, r->given, r->n_given, sizeof(const struct vbs_new_values *), compare_given);
    return found ? *found : NULL;
}

/* ---- values ---- */

static enum vbs_status read_values(const struct revaluation *r, int layer, int fused,
                                   enum vbs_parameter what, int64_t count, float *values)
{
    for (int64_t done = 0; done < count; done += PIECE_VALUES) {
        int64_t left = count - done;

        VBS_TRY(vbs_check_cancel(r->ctx));
        VBS_TRY(vbs_parameter_values(r->ctx, r->network, layer, fused, what, done,
                                     left < PIECE_VALUES ? left : PIECE_VALUES, values + done));
    }
    return VBS_OK;
}

/* Copies the values of one parameter into the source; *made stays null where the operator does not
 * have it. */
static enum vbs_status copy_values(const struct revaluation *r, int layer, int fused,
                                   enum vbs_parameter what, const struct vbs_values **made)
{
    int64_t count = vbs_parameter_count(r->network, layer, fused, what);
    const struct vbs_new_values *given = find_given(r, layer, fused, what);
    struct vbs_values *values;
    float *memory;

    if (count == 0)
        return VBS_OK;
    values = vbs_source_alloc(r->source, 1, sizeof *values);
    memory = vbs_source_alloc(r->source, (size_t)count, sizeof *memory);
    if (!values || !memory)
        return vbs_no_memory(r->ctx);
    if (given)
        memcpy(memory, given->values, (size_t)count * sizeof *memory);
    else
        VBS_TRY(read_values(r, layer, fused, what, count, memory));
    *values = (struct vbs_values){.name = vbs_parameter_word(what),
                                  .element = VBS_F32,
                                  .count = count,
                                  .memory = memory,
                                  .file = -1};
    *made = values;
    return VBS_OK;
}

static enum vbs_status copy_parameters(const struct revaluation *r, int layer, int fused,
                                       struct vbs_node *node)
{
    for (int what = 0; what < VBS_N_PARAMETERS; what++)
        VBS_TRY(copy_values(r, layer, fused, (enum vbs_parameter)what, &node->values[what]));
    return VBS_OK;
}

/* ---- operators ---- */

static enum vbs_status add_node(struct revaluation *r, int layer, int fused, struct vbs_node *node)
{
    VBS_TRY(copy_parameters(r, layer, fused, node));
    VBS_TRY(vbs_builder_add(r->ctx, r->builder, node));
    r->last[layer] = vbs_builder_count(r->builder);
    return VBS_OK;
}

/* Adds a layer and the operators that are fused with it. */
static enum vbs_status add_layer(struct revaluation *r, int layer)
{
    const struct vbs_layer *l = &r->network->layers[layer];
    int *inputs = calloc((size_t)l->n_inputs, sizeof *inputs);
    struct vbs_node node = {.op = l->op,
                            .name = l->name,
                            .n_inputs = l->n_inputs,
                            .inputs = inputs,
                            .views = l->views,
                            .attributes = l->attributes,
                            .operand = l->operand};
    enum vbs_status status;

    if (!inputs)
        return vbs_no_memory(r->ctx);
    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = r->last[l->inputs[i]];
    status = add_node(r, layer, -1, &node);
    free(inputs);
    for (int f = 0; f < l->n_fused && status == VBS_OK; f++) {
        node = (struct vbs_node){.op = l->fused[f].op,
                                 .name = l->fused[f].name,
                                 .n_inputs = 1,
                                 .inputs = &r->last[layer],
                                 .attributes = l->fused[f].attributes};
        status = add_node(r, layer, f, &node);
    }
    return status;
}

static enum vbs_status add_operators(struct revaluation *r)
{
    const struct vbs_network *network = r->network;

    for (int k = 1; k <= network->n_layers; k++)
        VBS_TRY(add_layer(r, k));
    for (int i = 0; i < network->n_outputs; i++)
        VBS_TRY(vbs_builder_output(r->ctx, r->builder, network->outputs[i].name,
                                   r->last[network->outputs[i].layer], &network->outputs[i].shape));
    if (network->whole)
        vbs_builder_whole(r->builder);
    return VBS_OK;
}

static enum vbs_status make_copy(struct revaluation *r, struct vbs_network **copy)
{
    const struct vbs_network *network = r->network;
    struct vbs_network *made;
    enum vbs_status status;
    int line;

    r->last = calloc((size_t)network->n_layers + 1, sizeof *r->last);
    if (!r->last)
        return vbs_no_memory(r->ctx);
    VBS_TRY(vbs_builder_new(r->ctx, network->name, network->about, &network->input, &r->builder));
    r->source = vbs_source_new();
    if (!r->source)
        return vbs_no_memory(r->ctx);
    VBS_TRY(vbs_builder_source(r->ctx, r->builder, r->source));
    VBS_TRY(add_operators(r));
    VBS_TRY(vbs_builder_finish(r->ctx, r->builder, &made, &line));
    status = vbs_network_set_normalise(r->ctx, made, network->normalise);
    if (status != VBS_OK)
        vbs_network_free(made);
    else
        *copy = made;
    return status;
}

enum vbs_status vbs_network_revalue(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    const struct vbs_new_values *values, int n,
                                    struct vbs_network **copy)
{
    struct revaluation r = {.ctx = ctx, .network = network};
    enum vbs_status status = take_given(&r, values, n);

    if (status == VBS_OK)
        status = make_copy(&r, copy);
    vbs_builder_free(r.builder);
    free(r.last);
    free(r.given);
    return status;
}
