#include "model/network/network.h"

#include "base/arena.h"
#include "base/arith.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "model/network/op.h"
#include "model/network/parameters.h"
#include "model/network/operation.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* The memory of a network and of everything to which it points. */
struct network {
    struct vbs_network network; /* first: callers have a pointer to it */
    struct vbs_arena arena;
    struct vbs_parameters parameters;
    struct vbs_layer *layers; /* those of network, as they can be changed */
};

struct draft {
    struct vbs_node node;
    struct vbs_shape shape;
    int64_t parameters, macs;
    int n_readers;
    int last_reader;
    /* The layer to which the operator belongs, known at the end: as its own operator (place 0), or
     * as the place-th fused one. */
    int layer, place;
    int first; /* of a layer: the draft of its own operator */
};

struct named {
    const char *name;
    int id;
};

struct output {
    const char *name;
    int id;
    struct vbs_shape shape;
};

struct vbs_builder {
    struct network *network;
    struct output *outputs;
    int n_outputs;
    int64_t outputs_capacity;
    struct vbs_input *inputs;
    int n_inputs;
    int64_t inputs_capacity;
    struct vbs_fixed_input *fixed;
    int n_fixed;
    int64_t fixed_capacity;
    const char **unread;
    int n_unread;
    int64_t unread_capacity;
    struct draft *drafts; /* [0] is the network's input */
    int n_drafts;
    int64_t capacity;
    void *names; /* tsearch tree of struct named */
};

void vbs_network_free(struct vbs_network *network)
{
    struct network *whole = (struct network *)network;

    if (whole) {
        struct vbs_parameters *p = &whole->parameters;

        for (int k = 1; p->coded && k <= network->n_layers; k++)
            vbs_coded_free(p->coded[k].coded);
        free(p->coded);
        vbs_source_free(p->source);
        if (p->mapped)
            munmap(p->mapped, p->mapped_bytes);
        vbs_arena_clear(&whole->arena);
        free(whole);
    }
}

enum vbs_status vbs_network_rename(struct vbs_ctx *ctx, struct vbs_network *network,
                                   const char *name)
{
    char *copy = vbs_arena_strdup(&((struct network *)network)->arena, name);

    if (!copy)
        return vbs_no_memory(ctx);
    network->name = copy;
    return VBS_OK;
}

enum vbs_status vbs_network_set_normalise(struct vbs_ctx *ctx, struct vbs_network *network,
                                          const char *text)
{
    char *copy = text ? vbs_arena_strdup(&((struct network *)network)->arena, text) : NULL;

    if (text && !copy)
        return vbs_no_memory(ctx);
    network->normalise = copy;
    return VBS_OK;
}

enum vbs_status vbs_network_set_origin(struct vbs_ctx *ctx, struct vbs_network *network,
                                       const char *text, size_t length,
                                       const struct vbs_shape *input)
{
    struct network *whole = (struct network *)network;
    char *copy = text ? vbs_arena_alloc(&whole->arena, length + 1, 1) : NULL;

    if (text && !copy)
        return vbs_no_memory(ctx);
    if (text)
        memcpy(copy, text, length);
    whole->parameters.origin =
        (struct vbs_origin){.text = copy, .length = length, .input = {.n_dims = 0}};
    if (input)
        whole->parameters.origin.input = *input;
    return VBS_OK;
}

struct vbs_parameters *vbs_network_own(struct vbs_network *network)
{
    return &((struct network *)network)->parameters;
}

void *vbs_network_alloc(struct vbs_network *network, size_t count, size_t size)
{
    return vbs_arena_alloc(&((struct network *)network)->arena, count, size);
}

struct vbs_layer *vbs_network_layers(struct vbs_network *network)
{
    return ((struct network *)network)->layers;
}

void vbs_network_set_layers(struct vbs_network *network, struct vbs_layer *layers, int n_layers)
{
    ((struct network *)network)->layers = layers;
    network->layers = layers;
    network->n_layers = n_layers;
}

static int compare_named(const void *a, const void *b)
{
    const struct named *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static void keep_in_arena(void *named)
{
    (void)named; /* lives in the arena */
}

void vbs_builder_free(struct vbs_builder *builder)
{
    if (!builder)
        return;
    tdestroy(builder->names, keep_in_arena);
    free(builder->drafts);
    free(builder->outputs);
    free(builder->inputs);
    free(builder->fixed);
    free(builder->unread);
    if (builder->network)
        vbs_network_free(&builder->network->network);
    free(builder);
}

static struct vbs_arena *arena(struct vbs_builder *builder)
{
    return &builder->network->arena;
}

/* Makes space for one more draft. */
static enum vbs_status grow(struct vbs_ctx *ctx, struct vbs_builder *builder)
{
    return vbs_grow(ctx, &builder->drafts, &builder->capacity, (int64_t)builder->n_drafts + 1,
                    sizeof *builder->drafts);
}

enum vbs_status vbs_builder_new(struct vbs_ctx *ctx, const char *name, const char *about,
                                const struct vbs_shape *input, struct vbs_builder **builder)
{
    struct vbs_builder *made = calloc(1, sizeof *made);
    struct vbs_network *network;

    if (!made)
        return vbs_no_memory(ctx);
    made->network = calloc(1, sizeof *made->network);
    if (!made->network || grow(ctx, made) != VBS_OK)
        goto no_memory;
    network = &made->network->network;
    network->input = *input;
    network->name = vbs_arena_strdup(arena(made), name);
    network->about = vbs_arena_strdup(arena(made), about);
    if (!network->name || !network->about)
        goto no_memory;
    made->drafts[0] =
        (struct draft){.node = {.op = VBS_N_OPS, .name = VBS_INPUT_NAME}, .shape = *input};
    made->n_drafts = 1;
    *builder = made;
    return VBS_OK;

no_memory:
    vbs_builder_free(made);
    return vbs_no_memory(ctx);
}

enum vbs_status vbs_builder_source(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_source *source)
{
    struct vbs_parameters *parameters = &builder->network->parameters;

    if (parameters->source) {
        vbs_source_free(source);
        return vbs_fail(ctx, VBS_USAGE, "a network has one source of parameters");
    }
    parameters->source = source;
    return VBS_OK;
}

enum vbs_status vbs_builder_output(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   const char *name, int id, const struct vbs_shape *shape)
{
    const char *copy = vbs_arena_strdup(arena(builder), name);

    VBS_TRY(vbs_grow(ctx, &builder->outputs, &builder->outputs_capacity,
                     (int64_t)builder->n_outputs + 1, sizeof *builder->outputs));
    if (!copy)
        return vbs_no_memory(ctx);
    builder->outputs[builder->n_outputs++] =
        (struct output){.name = copy, .id = id, .shape = *shape};
    builder->drafts[id].n_readers++;
    return VBS_OK;
}

enum vbs_status vbs_builder_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  const struct vbs_input *input)
{
    const char *copy = vbs_arena_strdup(arena(builder), input->name);
    const struct vbs_input *before;
    struct vbs_input *added;

    VBS_TRY(vbs_grow(ctx, &builder->inputs, &builder->inputs_capacity,
                     (int64_t)builder->n_inputs + 1, sizeof *builder->inputs));
    if (!copy)
        return vbs_no_memory(ctx);
    added = &builder->inputs[builder->n_inputs++];
    before = added - 1;
    *added = *input;
    added->name = copy;
    added->first = builder->n_inputs > 1 ? before->first + vbs_shape_elements(&before->shape) : 0;
    return VBS_OK;
}

enum vbs_status vbs_builder_fixed_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                        const struct vbs_fixed_input *input)
{
    const char *copy = vbs_arena_strdup(arena(builder), input->name);

    VBS_TRY(vbs_grow(ctx, &builder->fixed, &builder->fixed_capacity, (int64_t)builder->n_fixed + 1,
                     sizeof *builder->fixed));
    if (!copy)
        return vbs_no_memory(ctx);
    builder->fixed[builder->n_fixed++] =
        (struct vbs_fixed_input){.name = copy, .value = input->value};
    return VBS_OK;
}

enum vbs_status vbs_builder_unread_input(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                         const char *name)
{
    const char *copy = vbs_arena_strdup(arena(builder), name);

    VBS_TRY(vbs_grow(ctx, &builder->unread, &builder->unread_capacity,
                     (int64_t)builder->n_unread + 1, sizeof *builder->unread));
    if (!copy)
        return vbs_no_memory(ctx);
    builder->unread[builder->n_unread++] = copy;
    return VBS_OK;
}

enum vbs_status vbs_builder_until(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  const char *const *names, int n)
{
    struct vbs_network *network = &builder->network->network;
    const char **copies = vbs_arena_alloc(arena(builder), (size_t)n, sizeof *copies);

    if (!copies)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        if (!(copies[i] = vbs_arena_strdup(arena(builder), names[i])))
            return vbs_no_memory(ctx);
    network->n_until = n;
    network->until = copies;
    return VBS_OK;
}

enum vbs_status vbs_builder_whole(struct vbs_ctx *ctx, struct vbs_builder *builder, const char *why,
                                  bool open)
{
    struct vbs_network *network = &builder->network->network;

    network->whole = true;
    network->whole_open = open;
    network->whole_why = why ? vbs_arena_strdup(arena(builder), why) : NULL;
    return why && !network->whole_why ? vbs_no_memory(ctx) : VBS_OK;
}

bool vbs_builder_is_read(const struct vbs_builder *builder, int id)
{
    return builder->drafts[id].last_reader > 0;
}

int vbs_builder_count(const struct vbs_builder *builder)
{
    return builder->n_drafts - 1;
}

int vbs_builder_find(const struct vbs_builder *builder, const char *name)
{
    struct named key = {.name = name};
    struct named *const *found;

    if (strcmp(name, VBS_INPUT_NAME) == 0)
        return 0;
    found = tfind(&key, &builder->names, compare_named);
    return found ? (*found)->id : -1;
}

/* Names are compared pair by pair, so that reporting a mistake needs no memory. */
const char *vbs_builder_nearest(const struct vbs_builder *builder, const char *name)
{
    const char *nearest = NULL;

    for (int id = 1; id < builder->n_drafts; id++) {
        const char *const pair[] = {builder->drafts[id].node.name, nearest};

        nearest = vbs_nearest_name(name, pair, nearest ? 2 : 1);
    }
    return nearest;
}

const struct vbs_shape *vbs_builder_shape(const struct vbs_builder *builder, int id)
{
    return &builder->drafts[id].shape;
}

static enum vbs_status check_name(struct vbs_ctx *ctx, const struct vbs_builder *builder,
                                  const char *name)
{
    int before;

    if (name[0] == '\0')
        return vbs_fail(ctx, VBS_FORMAT, "name is empty");
    if (strlen(name) >= VBS_MAX_NAME)
        return vbs_fail(ctx, VBS_FORMAT, "name '%.40s...' is longer than %d bytes", name,
                        VBS_MAX_NAME - 1);
    before = vbs_builder_find(builder, name);
    if (before == 0)
        return vbs_fail(ctx, VBS_FORMAT, "name '%s' stands for the network's input", name);
    if (before > 0)
        return vbs_fail(ctx, VBS_FORMAT, "name '%s' is taken by line %d", name,
                        builder->drafts[before].node.line);
    return VBS_OK;
}

/* Checks the operands: one of the two operands may be a constant. */
static bool needs_two(const struct vbs_node *node)
{
    bool pairs = vbs_op_class(node->op) == VBS_CLASS_BINARY || node->op == VBS_OP_MATMUL;

    return pairs && node->operand.n_dims == 0;
}

static enum vbs_status check_inputs(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                    const struct vbs_node *node)
{
    const struct vbs_op_info *info = vbs_op_info(node->op);
    int n = node->n_inputs, reader = builder->n_drafts;
    int fewest = needs_two(node) ? 2 : info->fewest_inputs;
    bool is_pair = node->operand.n_dims > 0 && vbs_op_gates(node->op) == 0;
    int most = is_pair ? 1 : info->most_inputs;

    if (n < fewest || (most && n > most))
        return vbs_fail(ctx, VBS_FORMAT, "'%s' takes %d input%s%s, not %d", info->word, fewest,
                        fewest == 1 ? "" : "s", most ? "" : " or more", n);
    for (int i = 0; i < n; i++) {
        struct draft *input = &builder->drafts[node->inputs[i]];

        if (input->last_reader == reader)
            return vbs_fail(ctx, VBS_FORMAT, "input '%s' is named twice", input->node.name);
        input->last_reader = reader;
    }
    return VBS_OK;
}

/* Makes the shapes in which node reads its inputs, in the arena. */
static enum vbs_status take_views(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  struct vbs_node *node)
{
    struct vbs_shape *views =
        vbs_arena_alloc(arena(builder), (size_t)node->n_inputs, sizeof *views);

    if (!views)
        return vbs_no_memory(ctx);
    for (int i = 0; i < node->n_inputs; i++) {
        const struct vbs_shape *shape = vbs_builder_shape(builder, node->inputs[i]);

        views[i] = node->views ? node->views[i] : *shape;
        if (!vbs_shape_valid(&views[i]) ||
            vbs_shape_elements(&views[i]) != vbs_shape_elements(shape))
            return vbs_fail(ctx, VBS_FORMAT, "input '%s' has another number of elements than asked",
                            builder->drafts[node->inputs[i]].node.name);
    }
    node->views = views;
    return VBS_OK;
}

static enum vbs_status infer(struct vbs_ctx *ctx, struct vbs_builder *builder, struct draft *draft)
{
    struct vbs_node *node = &draft->node;
    struct vbs_operation operation = {.op = node->op,
                                      .n_inputs = node->n_inputs,
                                      .operand = &node->operand,
                                      .round_up = node->round_up};

    VBS_TRY(take_views(ctx, builder, node));
    operation.inputs = node->views;
    VBS_TRY(vbs_operation_shape(ctx, &operation, &node->attributes, &draft->shape));
    return vbs_operation_work(ctx, &operation, &node->attributes, &draft->shape, &draft->parameters,
                              &draft->macs);
}

/* Appends draft, which reads the drafts of these numbers, and enters its name. */
static enum vbs_status append(struct vbs_ctx *ctx, struct vbs_builder *builder,
                              const struct draft *draft, const int *inputs)
{
    size_t n = (size_t)draft->node.n_inputs;
    int *copy = vbs_arena_alloc(arena(builder), n, sizeof *copy), id = builder->n_drafts;
    struct named *named = vbs_arena_alloc(arena(builder), 1, sizeof *named);
    struct draft *added = &builder->drafts[id];

    if (!copy || !named)
        return vbs_no_memory(ctx);
    *named = (struct named){.name = draft->node.name, .id = id};
    if (!tsearch(named, &builder->names, compare_named))
        return vbs_no_memory(ctx);
    *added = *draft;
    added->node.inputs = copy;
    added->n_readers = added->last_reader = 0;
    for (size_t i = 0; i < n; i++) {
        copy[i] = inputs[i];
        builder->drafts[inputs[i]].n_readers++;
        builder->drafts[inputs[i]].last_reader = id;
    }
    builder->n_drafts++;
    return VBS_OK;
}

/* Copies all data of draft into the arena, and appends it. */
static enum vbs_status take_draft(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                  struct draft *draft)
{
    char *name = vbs_arena_strdup(arena(builder), draft->node.name);

    if (!name || grow(ctx, builder) != VBS_OK)
        return vbs_no_memory(ctx);
    draft->node.name = name;
    return append(ctx, builder, draft, draft->node.inputs);
}

enum vbs_status vbs_builder_keep(struct vbs_ctx *ctx, struct vbs_builder *builder, int *ids, int n)
{
    int n_before = builder->n_drafts;
    bool *needed = vbs_arena_alloc(arena(builder), (size_t)n_before, sizeof *needed);
    int *number = vbs_arena_alloc(arena(builder), (size_t)n_before, sizeof *number);
    int *inputs = vbs_arena_alloc(arena(builder), (size_t)n_before, sizeof *inputs);

    if (!needed || !number || !inputs)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++)
        needed[ids[i]] = true;
    for (int id = n_before - 1; id > 0; id--)
        for (int i = 0; needed[id] && i < builder->drafts[id].node.n_inputs; i++)
            needed[builder->drafts[id].node.inputs[i]] = true;
    tdestroy(builder->names, keep_in_arena);
    builder->names = NULL;
    builder->n_drafts = 1;
    builder->drafts[0].n_readers = builder->drafts[0].last_reader = 0;
    for (int id = 1; id < n_before; id++) {
        const struct draft draft = builder->drafts[id];

        number[id] = builder->n_drafts;
        for (int i = 0; needed[id] && i < draft.node.n_inputs; i++)
            inputs[i] = number[draft.node.inputs[i]];
        if (needed[id])
            VBS_TRY(append(ctx, builder, &draft, inputs));
    }
    for (int i = 0; i < n; i++)
        ids[i] = number[ids[i]];
    return VBS_OK;
}

enum vbs_status vbs_builder_add(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                const struct vbs_node *node)
{
    struct draft draft = {.node = *node};

    VBS_TRY(check_name(ctx, builder, node->name));
    if (vbs_builder_count(builder) == VBS_MAX_OPERATORS)
        return vbs_fail(ctx, VBS_FORMAT, "'%s' is one operator too many; a network has at most %d",
                        node->name, VBS_MAX_OPERATORS);
    VBS_TRY(check_inputs(ctx, builder, node));
    VBS_TRY(infer(ctx, builder, &draft));
    return take_draft(ctx, builder, &draft);
}

/* Gives the shape of the layer to which draft, whose layer is settled, belongs. */
static const struct vbs_shape *layer_shape(const struct vbs_builder *builder,
                                           const struct draft *draft)
{
    return &builder->drafts[draft->first].shape;
}

/* Gives whether draft runs in place: the tensor that it overwrites is the output of a layer, and no
 * other operator reads it. */
static bool joins(const struct vbs_builder *builder, const struct draft *draft)
{
    int input = draft->node.inputs[0];

    const struct draft *before = &builder->drafts[input];
    bool by_value = vbs_op_class(draft->node.op) == VBS_CLASS_UNARY;

    return vbs_op_info(draft->node.op)->fused && input != 0 && before->n_readers == 1 &&
           (by_value || draft->shape.dim[0] == layer_shape(builder, before)->dim[0]);
}

/* Settles to which layer each operator belongs. */
static enum vbs_status number_layers(struct vbs_ctx *ctx, struct vbs_builder *builder, int *line)
{
    int n = 0;

    for (int id = 1; id < builder->n_drafts; id++) {
        struct draft *draft = &builder->drafts[id];

        if (joins(builder, draft)) {
            const struct draft *before = &builder->drafts[draft->node.inputs[0]];

            draft->layer = before->layer;
            draft->place = before->place + 1;
            draft->first = before->first;
            continue;
        }
        if (n == VBS_MAX_LAYERS) {
            *line = draft->node.line;
            return vbs_fail(ctx, VBS_FORMAT, "'%s' is one layer too many; a network has at most %d",
                            draft->node.name, VBS_MAX_LAYERS);
        }
        draft->layer = ++n;
        draft->place = 0;
        draft->first = id;
    }
    builder->network->network.n_layers = n;
    return VBS_OK;
}

/* fused: where the layer's fused operators will be. */
static bool make_layer(struct vbs_builder *builder, const struct draft *draft,
                       const struct vbs_fused *fused, struct vbs_layer *layer)
{
    const struct vbs_node *node = &draft->node;
    size_t n = (size_t)node->n_inputs;
    int *inputs = vbs_arena_alloc(arena(builder), n, sizeof *inputs);

    if (!inputs)
        return false;
    for (size_t i = 0; i < n; i++)
        inputs[i] = builder->drafts[node->inputs[i]].layer;
    *layer = (struct vbs_layer){.op = node->op,
                                .name = node->name,
                                .n_inputs = node->n_inputs,
                                .inputs = inputs,
                                .views = node->views,
                                .operand = node->operand,
                                .attributes = node->attributes,
                                .shape = draft->shape,
                                .n_fused = layer->n_fused,
                                .fused = fused,
                                .parameters = draft->parameters,
                                .macs = draft->macs};
    return true;
}

static enum vbs_status make_fused(struct vbs_ctx *ctx, const struct draft *draft,
                                  struct vbs_layer *layer, struct vbs_fused *fused)
{
    *fused = (struct vbs_fused){.op = draft->node.op,
                                .name = draft->node.name,
                                .attributes = draft->node.attributes,
                                .parameters = draft->parameters};
    if (!vbs_add(layer->parameters, draft->parameters, &layer->parameters) ||
        layer->parameters > VBS_MAX_ELEMENTS)
        return vbs_fail(ctx, VBS_FORMAT, "layer '%s' has more than 2^36 parameters with '%s'",
                        layer->name, draft->node.name);
    return VBS_OK;
}

/* Makes layers[1..] and all operators that are fused with them, in the order of the operators. */
static enum vbs_status fill_layers(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_layer *layers, struct vbs_fused *fused, int *line)
{
    struct vbs_fused *next = fused;

    for (int id = 1; id < builder->n_drafts; id++)
        layers[builder->drafts[id].layer].n_fused = builder->drafts[id].place;
    for (int id = 1; id < builder->n_drafts; id++) {
        const struct draft *draft = &builder->drafts[id];
        struct vbs_layer *layer = &layers[draft->layer];

        *line = draft->node.line;
        if (draft->place > 0) {
            ptrdiff_t at = layer->fused - fused + draft->place - 1;

            VBS_TRY(make_fused(ctx, draft, layer, &fused[at]));
        } else {
            if (!make_layer(builder, draft, next, layer))
                return vbs_no_memory(ctx);
            next += layer->n_fused;
        }
    }
    return VBS_OK;
}

/* Collects the values of all operators, by layer and place. */
static enum vbs_status take_values(struct vbs_ctx *ctx, struct vbs_builder *builder)
{
    struct vbs_parameters *parameters = &builder->network->parameters;
    struct vbs_network *made = &builder->network->network;
    size_t n = (size_t)builder->n_drafts;

    parameters->first =
        vbs_arena_alloc(arena(builder), (size_t)made->n_layers + 1, sizeof *parameters->first);
    parameters->values = vbs_arena_alloc(arena(builder), n, sizeof *parameters->values);
    if (!parameters->first || !parameters->values)
        return vbs_no_memory(ctx);
    for (int k = 1, next = 0; k <= made->n_layers; k++) {
        parameters->first[k] = next;
        next += 1 + made->layers[k].n_fused;
    }
    for (size_t id = 1; id < n; id++) {
        const struct draft *draft = &builder->drafts[id];
        int at = parameters->first[draft->layer] + draft->place;

        for (int i = 0; i < VBS_N_PARAMETERS; i++) {
            parameters->values[at].of[i] = draft->node.values[i];
            parameters->n_stored += draft->node.values[i] != NULL;
        }
    }
    made->parameters = parameters;
    return VBS_OK;
}

static enum vbs_status take_outputs(struct vbs_ctx *ctx, struct vbs_builder *builder)
{
    struct vbs_network *made = &builder->network->network;
    bool *read = vbs_arena_alloc(arena(builder), (size_t)made->n_layers + 1, sizeof *read);
    struct vbs_output *outputs = vbs_arena_alloc(
        arena(builder), (size_t)(made->n_layers + builder->n_outputs), sizeof *outputs);
    int n = 0;

    if (!read || !outputs)
        return vbs_no_memory(ctx);
    for (int k = 1; k <= made->n_layers; k++)
        for (int i = 0; i < made->layers[k].n_inputs; i++)
            read[made->layers[k].inputs[i]] = true;
    for (int i = 0; i < builder->n_outputs; i++) {
        const struct output *o = &builder->outputs[i];
        int layer = builder->drafts[o->id].layer;

        if (layer == 0 || read[layer])
            return vbs_fail(ctx, VBS_FORMAT, "output '%s' is read inside the network", o->name);
        outputs[n++] = (struct vbs_output){.name = o->name, .layer = layer, .shape = o->shape};
    }
    for (int k = 1; k <= made->n_layers && builder->n_outputs == 0; k++)
        if (!read[k])
            outputs[n++] = (struct vbs_output){
                .name = made->layers[k].name, .layer = k, .shape = made->layers[k].shape};
    made->n_outputs = n;
    made->outputs = outputs;
    return VBS_OK;
}

/* Copies the inputs into the arena; where none was added, there is one. */
static enum vbs_status take_inputs(struct vbs_ctx *ctx, struct vbs_builder *builder)
{
    struct vbs_network *made = &builder->network->network;
    const struct vbs_input only = {.name = VBS_INPUT_NAME, .shape = made->input};
    struct vbs_input *inputs;
    struct vbs_fixed_input *fixed = NULL;
    const char **unread = NULL;
    size_t n_fixed = (size_t)builder->n_fixed, n_unread = (size_t)builder->n_unread;
    int64_t elements = 0;

    if (builder->n_inputs == 0)
        VBS_TRY(vbs_builder_input(ctx, builder, &only));
    inputs = vbs_arena_alloc(arena(builder), (size_t)builder->n_inputs, sizeof *inputs);
    fixed = vbs_arena_alloc(arena(builder), n_fixed, sizeof *fixed);
    unread = vbs_arena_alloc(arena(builder), n_unread, sizeof *unread);
    if (!inputs || !fixed || !unread)
        return vbs_no_memory(ctx);
    memcpy(inputs, builder->inputs, (size_t)builder->n_inputs * sizeof *inputs);
    if (n_fixed)
        memcpy(fixed, builder->fixed, n_fixed * sizeof *fixed);
    if (n_unread)
        memcpy(unread, builder->unread, n_unread * sizeof *unread);
    for (int i = 0; i < builder->n_inputs; i++)
        elements += vbs_shape_elements(&inputs[i].shape);
    if (elements != vbs_shape_elements(&made->input))
        return vbs_fail(ctx, VBS_FORMAT, "its inputs have another number of elements together");
    made->n_inputs = builder->n_inputs;
    made->inputs = inputs;
    made->n_fixed_inputs = builder->n_fixed;
    made->fixed_inputs = fixed;
    made->n_unread_inputs = builder->n_unread;
    made->unread_inputs = unread;
    return VBS_OK;
}

enum vbs_status vbs_builder_finish(struct vbs_ctx *ctx, struct vbs_builder *builder,
                                   struct vbs_network **network, int *line)
{
    struct vbs_network *made = &builder->network->network;
    struct vbs_layer *layers;
    struct vbs_fused *fused;
    size_t n_fused;

    *line = 0;
    if (vbs_builder_count(builder) == 0)
        return vbs_fail(ctx, VBS_FORMAT, "network '%s' has no layers", made->name);
    VBS_TRY(number_layers(ctx, builder, line));
    layers = vbs_arena_alloc(arena(builder), (size_t)made->n_layers + 1, sizeof *layers);
    n_fused = (size_t)(vbs_builder_count(builder) - made->n_layers);
    fused = vbs_arena_alloc(arena(builder), n_fused, sizeof *fused);
    if (!layers || !fused)
        return vbs_no_memory(ctx);
    layers[0] = (struct vbs_layer){.op = VBS_N_OPS, .name = VBS_INPUT_NAME, .shape = made->input};
    VBS_TRY(fill_layers(ctx, builder, layers, fused, line));
    vbs_network_set_layers(made, layers, made->n_layers);
    *line = 0;
    VBS_TRY(take_values(ctx, builder));
    VBS_TRY(take_outputs(ctx, builder));
    VBS_TRY(take_inputs(ctx, builder));
    builder->network = NULL;
    *network = made;
    return VBS_OK;
}
