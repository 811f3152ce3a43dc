#include "backend/common/common.h"

#include "base/fail.h"
#include "profile/reach.h"

#include <limits.h>
#include <string.h>

enum vbs_status vbs_graph_layer_init(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                     const struct vbs_network *network, int k,
                                     struct vbs_profile_layer *layer)
{
    const struct vbs_layer *l = &network->layers[k];
    int *inputs = vbs_arena_alloc(arena, (size_t)l->n_inputs, sizeof *inputs);

    *layer = (struct vbs_profile_layer){.name = vbs_arena_strdup(arena, l->name),
                                        .kind = vbs_op_word(l->op),
                                        .n_inputs = l->n_inputs,
                                        .inputs = inputs,
                                        .weight_bytes = vbs_network_weight_bytes(network, k)};
    if (!inputs || !layer->name)
        return vbs_no_memory(ctx);
    for (int i = 0; i < l->n_inputs; i++)
        inputs[i] = l->inputs[i];
    return VBS_OK;
}

/* Marks layer's ancestors. Inputs come before their readers, so that one pass downwards is
 * enough. */
static void mark_ancestors(const struct vbs_profile_layer *layers, int layer, bool *mark)
{
    memset(mark, 0, (size_t)(layer + 1) * sizeof *mark);
    mark[layer] = true;
    for (int k = layer; k >= 1; k--) {
        if (!mark[k])
            continue;
        for (int i = 0; i < layers[k].n_inputs; i++)
            mark[layers[k].inputs[i]] = true;
    }
}

static bool reads(const struct vbs_profile_layer *reader, int tensor)
{
    for (int i = 0; i < reader->n_inputs; i++)
        if (reader->inputs[i] == tensor)
            return true;
    return false;
}

/* Counts the readers of tensor beside layer; -1 when one of them is no marked ancestor. */
static int other_readers(const struct vbs_profile_layer *layers, int n_layers, int tensor,
                         int layer, const bool *mark)
{
    int n = 0;

    for (int k = tensor + 1; k <= n_layers; k++) {
        if (k == layer || !reads(&layers[k], tensor))
            continue;
        if (k > layer || !mark[k])
            return -1;
        n++;
    }
    return n;
}

bool vbs_graph_overwrites(const struct vbs_layer *layer, int input)
{
    bool commutes = layer->op == VBS_OP_ADD || layer->op == VBS_OP_MUL || layer->op == VBS_OP_MAX ||
                    layer->op == VBS_OP_MIN;

    return vbs_op_class(layer->op) == VBS_CLASS_BINARY && (input == 0 || commutes);
}

/* Finds the input over which layer can be in place; false: there is none. */
static bool find_place(const struct vbs_profile_layer *layers, int n_layers, int layer,
                       const bool *may, bool *mark, int *input)
{
    const struct vbs_profile_layer *l = &layers[layer];
    int fewest = -1;

    mark_ancestors(layers, layer, mark);
    for (int i = 0; i < l->n_inputs; i++) {
        int tensor = l->inputs[i], n;

        if (!may[i] || tensor == 0 || layers[tensor].out_bytes != l->out_bytes)
            continue;
        n = other_readers(layers, n_layers, tensor, layer, mark);
        if (n >= 0 && (fewest < 0 || n < fewest)) {
            fewest = n;
            *input = i;
        }
    }
    return fewest >= 0;
}

/* Puts a layer in place if it can be. mark has space for all layers and the input. *first: the
 * number of the input over which it is now, or -1. */
static enum vbs_status set_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                    struct vbs_profile_layer *layers, int n_layers, int layer,
                                    const bool *may, bool *mark, int *first)
{
    struct vbs_profile_layer *l = &layers[layer];
    int input = 0, *inputs;

    *first = -1;
    if (!find_place(layers, n_layers, layer, may, mark, &input))
        return VBS_OK;
    inputs = vbs_arena_alloc(arena, (size_t)l->n_inputs, sizeof *inputs);
    if (!inputs)
        return vbs_no_memory(ctx);
    memcpy(inputs, l->inputs, (size_t)l->n_inputs * sizeof *inputs);
    inputs[input] = l->inputs[0];
    inputs[0] = l->inputs[input];
    l->inputs = inputs;
    l->in_place = true;
    *first = input;
    return VBS_OK;
}

enum vbs_status vbs_graph_init_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                        struct vbs_profile_layer *layers, int n_layers,
                                        const struct vbs_in_place *own)
{
    int n_inputs = 1;
    bool *mark, *may;

    for (int k = 1; k <= n_layers; k++)
        n_inputs = layers[k].n_inputs > n_inputs ? layers[k].n_inputs : n_inputs;
    mark = vbs_arena_alloc(arena, (size_t)n_layers + 1, sizeof *mark);
    may = vbs_arena_alloc(arena, (size_t)n_inputs, sizeof *may);
    if (!mark || !may)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= n_layers; k++) {
        bool any = false;
        int first = -1;

        for (int i = 0; i < layers[k].n_inputs; i++) {
            may[i] = own->may(own->build, k, i);
            any |= may[i];
        }
        if (any)
            VBS_TRY(set_in_place(ctx, arena, layers, n_layers, k, may, mark, &first));
        if (first > 0 && own->swap)
            own->swap(own->build, k, first);
    }
    return VBS_OK;
}

/* Gives the number of the layer's input that reads tensor. */
static int input_of(const struct vbs_layer *l, int tensor)
{
    int i = 0;

    while (l->inputs[i] != tensor)
        i++;
    return i;
}

void vbs_graph_settle_rows(struct vbs_profile_layer *layers, int layer)
{
    struct vbs_profile_layer *l = &layers[layer];
    int n = 0;

    for (int i = 0; l->reaches && i < l->n_inputs; i++)
        n += vbs_reach_accumulates(&l->reaches[i]);
    if (n == 0)
        return;
    for (int i = 0; i < l->n_inputs; i++)
        n -= layers[l->inputs[i]].rows == layers[l->inputs[0]].rows;
    if (n == 0)
        l->rows = layers[l->inputs[0]].rows;
    else
        l->reaches = NULL;
}

enum vbs_status vbs_graph_init_rows(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                    const bool *rows)
{
    const struct vbs_network *network = core->network;

    for (int k = 0; k <= network->n_layers; k++) {
        struct vbs_profile_layer *layer = &core->layers[k];
        struct vbs_reach *reaches =
            vbs_arena_alloc(&core->arena, (size_t)layer->n_inputs + 1, sizeof *reaches);
        bool any = false;

        if (!reaches)
            return vbs_no_memory(ctx);
        layer->rows = rows[k] ? vbs_shape_rows(&network->layers[k].shape) : 0;
        for (int i = 0; i < layer->n_inputs; i++) {
            struct vbs_reach reach;

            /* What a layer accumulates is not read by rows, however it is stored. */
            if (!rows[layer->inputs[i]] ||
                !vbs_layer_reach(network, k, input_of(&network->layers[k], layer->inputs[i]),
                                 &reach) ||
                (!rows[k] && reach.unit > 0))
                continue;
            reaches[i] = reach;
            any = true;
        }
        layer->reaches = any ? reaches : NULL;
        vbs_graph_settle_rows(core->layers, k);
    }
    return VBS_OK;
}

enum vbs_status vbs_graph_check_kernels(struct vbs_ctx *ctx, int n_layers, int n_batches,
                                        int64_t n_kernels)
{
    if (n_kernels <= VBS_MAX_KERNELS)
        return VBS_OK;
    return vbs_fail(ctx, VBS_UNSUPPORTED,
                    "%d layers at %d batches make a profile of %lld rows or more, above the limit "
                    "of %d; measure fewer batches",
                    n_layers, n_batches, (long long)n_kernels, VBS_MAX_KERNELS);
}

void *vbs_writable(const void *memory)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = memory};

    return pointer.out;
}

int vbs_graph_channels(const struct vbs_layer *layer)
{
    bool weighted =
        layer->op == VBS_OP_CONV || (layer->op == VBS_OP_FC && !layer->attributes.weighted.rows);

    return weighted && layer->shape.dim[0] <= INT_MAX ? (int)layer->shape.dim[0] : 0;
}
