#include "model/network/copy.h"

#include "base/fail.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECE_VALUES ((int64_t)1 << 24) /* values that are read at once */

/* A copy that is being made. */
struct network_copying {
    struct vbs_ctx *ctx;
    const struct vbs_network *network;
    const struct vbs_network_change *change;
    struct vbs_source *source; /* the owner of the values; the builder's */
    struct vbs_builder *builder;
    int *last; /* [layer] the number of its last operator in the builder */
    int *taps; /* [n_taps] the numbers of operators that were added, of at most one for each */
    int n_taps, n_names;
};

enum vbs_status vbs_parameter_read(struct vbs_ctx *ctx, const struct vbs_network *network,
                                   int layer, int fused, enum vbs_parameter what, int64_t first,
                                   int64_t count, float *values)
{
    for (int64_t done = 0; done < count; done += PIECE_VALUES) {
        int64_t left = count - done;

        VBS_TRY(vbs_check_cancel(ctx));
        VBS_TRY(vbs_parameter_values(ctx, network, layer, fused, what, first + done,
                                     left < PIECE_VALUES ? left : PIECE_VALUES, values + done));
    }
    return VBS_OK;
}

/* Puts the values of one parameter into the source; *made stays null where there are none. */
static enum vbs_status copy_values(const struct network_copying *c, int layer, int fused,
                                   enum vbs_parameter what, const struct vbs_values **made)
{
    int64_t count = c->change->count(c->change->self, layer, fused, what);
    struct vbs_values *values;
    float *memory;

    if (count == 0)
        return VBS_OK;
    values = vbs_source_alloc(c->source, 1, sizeof *values);
    memory = vbs_source_alloc(c->source, (size_t)count, sizeof *memory);
    if (!values || !memory)
        return vbs_no_memory(c->ctx);
    VBS_TRY(c->change->values(c->change->self, layer, fused, what, count, memory));
    *values = (struct vbs_values){.name = vbs_parameter_word(what),
                                  .element = VBS_F32,
                                  .count = count,
                                  .memory = memory,
                                  .file = -1};
    *made = values;
    return VBS_OK;
}

/* Adds an operator that copies what the last operator of the layer makes. */
static enum vbs_status add_tap(struct network_copying *c, int layer)
{
    char name[32];
    const struct vbs_node node = {
        .op = VBS_OP_IDENTITY, .name = name, .n_inputs = 1, .inputs = &c->last[layer]};

    do
        snprintf(name, sizeof name, "tap %d", ++c->n_names);
    while (vbs_builder_find(c->builder, name) >= 0);
    VBS_TRY(vbs_builder_add(c->ctx, c->builder, &node));
    c->taps[c->n_taps++] = vbs_builder_count(c->builder);
    return VBS_OK;
}

static enum vbs_status add_node(struct network_copying *c, int layer, int fused,
                                struct vbs_node *node)
{
    for (int what = 0; what < VBS_N_PARAMETERS; what++)
        VBS_TRY(copy_values(c, layer, fused, (enum vbs_parameter)what, &node->values[what]));
    VBS_TRY(vbs_builder_add(c->ctx, c->builder, node));
    c->last[layer] = vbs_builder_count(c->builder);
    if (c->change->tap && c->change->tap(c->change->self, layer, fused))
        VBS_TRY(add_tap(c, layer));
    return VBS_OK;
}

/* Adds the own operator of a layer; inputs has space for the numbers of its inputs. */
static enum vbs_status add_own(struct network_copying *c, int layer, int *inputs)
{
    const struct vbs_layer *l = &c->network->layers[layer];
    struct vbs_node node = {.op = l->op,
                            .name = l->name,
                            .n_inputs = l->n_inputs,
                            .inputs = inputs,
                            .views = l->views,
                            .attributes = l->attributes,
                            .operand = l->operand};

    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = c->last[l->inputs[i]];
    if (c->change->node)
        VBS_TRY(c->change->node(c->change->self, layer, &node));
    return add_node(c, layer, -1, &node);
}

/* Adds a layer and the operators that are fused with it. */
static enum vbs_status add_layer(struct network_copying *c, int layer)
{
    const struct vbs_layer *l = &c->network->layers[layer];
    int *inputs = calloc((size_t)l->n_inputs, sizeof *inputs);
    enum vbs_status status = inputs ? add_own(c, layer, inputs) : vbs_no_memory(c->ctx);

    free(inputs);
    for (int f = 0; f < l->n_fused && status == VBS_OK; f++) {
        struct vbs_node node = {.op = l->fused[f].op,
                                .name = l->fused[f].name,
                                .n_inputs = 1,
                                .inputs = &c->last[layer],
                                .attributes = l->fused[f].attributes};

        if (!c->change->skip || !c->change->skip(c->change->self, layer, f))
            status = add_node(c, layer, f, &node);
    }
    return status;
}

static enum vbs_status name_tap(struct network_copying *c, int id)
{
    char name[32];

    snprintf(name, sizeof name, "tap output %d", id);
    return vbs_builder_output(c->ctx, c->builder, name, id, vbs_builder_shape(c->builder, id));
}

static enum vbs_status add_operators(struct network_copying *c)
{
    const struct vbs_network *network = c->network;

    for (int k = 1; k <= network->n_layers; k++)
        VBS_TRY(add_layer(c, k));
    for (int i = 0; i < network->n_outputs; i++)
        VBS_TRY(vbs_builder_output(c->ctx, c->builder, network->outputs[i].name,
                                   c->last[network->outputs[i].layer], &network->outputs[i].shape));
    for (int i = 0; i < c->n_taps; i++)
        VBS_TRY(name_tap(c, c->taps[i]));
    for (int i = 0; i < network->n_inputs; i++)
        VBS_TRY(vbs_builder_input(c->ctx, c->builder, &network->inputs[i]));
    for (int i = 0; i < network->n_fixed_inputs; i++)
        VBS_TRY(vbs_builder_fixed_input(c->ctx, c->builder, &network->fixed_inputs[i]));
    for (int i = 0; i < network->n_unread_inputs; i++)
        VBS_TRY(vbs_builder_unread_input(c->ctx, c->builder, network->unread_inputs[i]));
    VBS_TRY(vbs_builder_until(c->ctx, c->builder, network->until, network->n_until));
    if (network->whole)
        VBS_TRY(vbs_builder_whole(c->ctx, c->builder, network->whole_why, network->whole_open));
    return VBS_OK;
}

static enum vbs_status make_copy(struct network_copying *c, struct vbs_network **copy)
{
    const struct vbs_network *network = c->network;
    struct vbs_network *made;
    enum vbs_status status;
    int line;

    c->last = calloc((size_t)network->n_layers + 1, sizeof *c->last);
    c->taps = calloc((size_t)vbs_network_operators(network), sizeof *c->taps);
    if (!c->last || !c->taps)
        return vbs_no_memory(c->ctx);
    VBS_TRY(vbs_builder_new(c->ctx, network->name, network->about, &network->input, &c->builder));
    c->source = vbs_source_new();
    if (!c->source)
        return vbs_no_memory(c->ctx);
    VBS_TRY(vbs_builder_source(c->ctx, c->builder, c->source));
    VBS_TRY(add_operators(c));
    VBS_TRY(vbs_builder_finish(c->ctx, c->builder, &made, &line));
    status = vbs_network_set_normalise(c->ctx, made, network->normalise);
    if (status != VBS_OK)
        vbs_network_free(made);
    else
        *copy = made;
    return status;
}

enum vbs_status vbs_network_copy(struct vbs_ctx *ctx, const struct vbs_network *network,
                                 const struct vbs_network_change *change, struct vbs_network **copy)
{
    struct network_copying c = {.ctx = ctx, .network = network, .change = change};
    enum vbs_status status = vbs_network_check_floats(ctx, network, "changing");

    if (status == VBS_OK)
        status = make_copy(&c, copy);

    vbs_builder_free(c.builder);
    free(c.last);
    free(c.taps);
    return status;
}
