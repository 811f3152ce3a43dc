#include "model/onnx/import/graph.h"

#include "base/fail.h"
#include "base/text.h"

#include <search.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#define MAX_UNKNOWN 32 /* kinds of unsupported operators that are counted apart */

/* A name of the graph that is being read, and its value. */
struct naming {
    const char *name;
    int value;
};

struct builder {
    struct vbs_ctx *ctx;
    struct vbs_arena *arena;
    struct vbs_onnx_graph *graph; /* to which values are added */
    const Onnx__GraphProto *proto;
    const struct vbs_onnx_reading *reading; /* null: the graph is inside a node */
    const struct vbs_onnx_node *around;     /* this node; else null */
    void *names;                            /* tsearch tree of struct naming */
    struct vbs_onnx_node *nodes;
    int n_nodes, n_outputs;
    int *outputs;        /* values */
    unsigned char *mark; /* [nodes of the file] */
};

enum { UNSEEN, NEEDED, OPEN, DONE };

enum vbs_status vbs_onnx_within_node(struct vbs_ctx *ctx, enum vbs_status status,
                                     const struct vbs_onnx_node *node)
{
    char prefix[160];

    if (status == VBS_NO_MEMORY)
        return status;
    snprintf(prefix, sizeof prefix, "node '%.80s' (%.40s)", node->label, node->op);
    return vbs_fail_within(ctx, status, prefix);
}

/* ---- names ---- */

static int compare(const void *a, const void *b)
{
    const struct naming *left = a, *right = b;

    return strcmp(left->name, right->name);
}

static void keep_in_arena(void *naming)
{
    (void)naming; /* it lives in the arena */
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* Finds the value of a name, of the graph itself or of those around it. */
static int find_tensor(const void *graph, const char *name)
{
    const struct builder *b = graph;
    const struct naming key = {.name = name};
    struct naming *const *found = tfind(&key, &b->names, compare);

    if (found)
        return (*found)->value;
    return b->around ? vbs_onnx_find_captured(b->around->captured,
                                              b->around->n_inputs - b->around->n_given, name)
                     : -1;
}

enum vbs_status vbs_onnx_graph_value(struct vbs_ctx *ctx, struct vbs_arena *arena, const char *name,
                                     struct vbs_onnx_graph *graph, int *value)
{
    if (graph->n_values == graph->room) {
        int room = 2 * graph->room + 64;
        struct vbs_onnx_value *values = vbs_arena_alloc(arena, (size_t)room, sizeof *values);

        if (!values)
            return vbs_no_memory(ctx);
        if (graph->n_values > 0)
            memcpy(values, graph->values, (size_t)graph->n_values * sizeof *values);
        graph->values = values;
        graph->room = room;
    }
    graph->values[graph->n_values] = (struct vbs_onnx_value){.name = name, .producer = -1};
    *value = graph->n_values++;
    return VBS_OK;
}

/* Adds a value; *made is false when there is one of that name already. The value may move when
 * others are added. */
static enum vbs_status add_value(struct builder *b, const char *name, struct vbs_onnx_value **value,
                                 bool *made)
{
    struct naming *naming = vbs_arena_alloc(b->arena, 1, sizeof *naming);
    struct naming *const *found;

    if (b->around)
        VBS_TRY(vbs_onnx_count_names(b->ctx, &b->graph->n_names, 1));
    if (!naming)
        return vbs_no_memory(b->ctx);
    naming->name = name;
    found = tsearch(naming, &b->names, compare);
    if (!found)
        return vbs_no_memory(b->ctx);
    *made = *found == naming;
    if (*made)
        VBS_TRY(vbs_onnx_graph_value(b->ctx, b->arena, name, b->graph, &naming->value));
    *value = &b->graph->values[(*found)->value];
    return VBS_OK;
}

static enum vbs_status add_initialiser(struct builder *b, const char *name,
                                       struct vbs_onnx_value **value)
{
    bool made;

    VBS_TRY(add_value(b, text_of(name), value, &made));
    if (!made || !(*value)->name[0])
        return vbs_fail(b->ctx, VBS_FORMAT, "initialiser '%.100s' is there twice, or unnamed",
                        (*value)->name);
    return VBS_OK;
}

static enum vbs_status add_initialisers(struct builder *b)
{
    const struct vbs_onnx_file *file = b->graph->file;
    struct vbs_onnx_value *value;

    for (size_t i = 0; i < b->proto->n_initializer; i++) {
        const Onnx__TensorProto *tensor = b->proto->initializer[i];

        VBS_TRY(add_initialiser(b, tensor->name, &value));
        VBS_TRY(vbs_onnx_file_constant(b->ctx, file, tensor, &value->constant));
    }
    for (size_t i = 0; i < b->proto->n_sparse_initializer; i++) {
        const Onnx__SparseTensorProto *sparse = b->proto->sparse_initializer[i];

        VBS_TRY(add_initialiser(b, sparse->values ? sparse->values->name : NULL, &value));
        VBS_TRY(vbs_onnx_file_sparse(b->ctx, file, sparse, &b->graph->n_sparse, &value->constant));
    }
    return VBS_OK;
}

static enum vbs_status bind(struct builder *b, const char *path, struct vbs_onnx_value *value)
{
    struct vbs_onnx_file file;

    VBS_TRY(vbs_onnx_file_read(b->ctx, b->graph->file->source, path, true, &file));
    VBS_TRY(vbs_onnx_file_constant(b->ctx, &file, file.tensor, &value->constant));
    value->constant->name = value->name;
    return VBS_OK;
}

/* Gives the choice that fixes the input of a name, or null. */
static const struct vbs_input_choice *find_fixed(const struct builder *b, const char *name)
{
    for (int i = 0; i < b->reading->n_choices; i++) {
        const struct vbs_input_choice *choice = &b->reading->choices[i];

        if (choice->fixed && choice->name && strcmp(choice->name, name) == 0)
            return choice;
    }
    return NULL;
}

/* Gives whether the file says that an input has one element. */
static bool has_one_element(const Onnx__TypeProto__Tensor *type)
{
    for (size_t d = 0; type->shape && d < type->shape->n_dim; d++) {
        const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[d];

        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
            dim->dim_value != 1)
            return false;
    }
    return type->shape && type->shape->n_dim <= VBS_MAX_DIMS;
}

/* Makes the constant that an input is fixed to. */
static enum vbs_status fix(struct builder *b, const struct vbs_input_choice *choice,
                           struct vbs_onnx_value *value)
{
    const Onnx__TypeProto *any = value->input->type;
    const Onnx__TypeProto__Tensor *type =
        any && any->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE ? any->tensor_type : NULL;
    struct vbs_onnx_constant *made = vbs_arena_alloc(b->arena, 1, sizeof *made);
    struct vbs_onnx_number *number = vbs_arena_alloc(b->arena, 1, sizeof *number);
    enum vbs_element element;

    if (!made || !number)
        return vbs_no_memory(b->ctx);
    if (!type || !vbs_onnx_element(type->elem_type, &element) || !has_one_element(type))
        return vbs_fail(b->ctx, VBS_USAGE,
                        "input '%.80s' cannot be fixed to a number: it has more than one element",
                        value->name);
    number->value = choice->value;
    if (vbs_onnx_is_whole(type->elem_type) &&
        vbs_onnx_rounded(type->elem_type, choice->value) != (long double)choice->value)
        return vbs_fail(b->ctx, VBS_USAGE, "input '%.80s' is of type %s, which has no %g",
                        value->name, vbs_onnx_type_name(type->elem_type), choice->value);
    *made = (struct vbs_onnx_constant){
        .name = value->name, .type = type->elem_type, .numbers = number, .computed = true};
    made->shape.n_dims = (int)type->shape->n_dim;
    for (int d = 0; d < made->shape.n_dims; d++)
        made->shape.dim[d] = 1;
    vbs_onnx_plain_strides(&made->shape, made->stride);
    value->constant = made;
    return VBS_OK;
}

/* Refuses a number for an input that is not there, and two numbers for one input. */
static enum vbs_status check_fixed(const struct builder *b)
{
    for (int i = 0; i < b->reading->n_choices; i++) {
        const struct vbs_input_choice *choice = &b->reading->choices[i];
        const char *name = choice->name ? choice->name : "";
        int value = choice->fixed ? find_tensor(b, name) : 0;

        if (choice->fixed && (value < 0 || !b->graph->values[value].input))
            return vbs_fail(b->ctx, VBS_USAGE, "there is no input '%.80s' that could be fixed",
                            name);
        if (choice->fixed && find_fixed(b, name) != choice)
            return vbs_fail(b->ctx, VBS_USAGE, "input '%.80s' is fixed twice", name);
    }
    return VBS_OK;
}

/* Adds the inputs of the graph. Files of IR version 3 list initialisers among them. */
static enum vbs_status add_inputs(struct builder *b)
{
    int n_paths = b->reading ? b->reading->n_paths : 0, n = 0;

    for (size_t i = 0; i < b->proto->n_input; i++) {
        const Onnx__ValueInfoProto *input = b->proto->input[i];
        struct vbs_onnx_value *value;
        const char *path;
        bool made;

        VBS_TRY(add_value(b, text_of(input->name), &value, &made));
        if (!made && value->constant && !value->input && !b->around)
            continue;
        if (!made || !value->name[0])
            return vbs_fail(b->ctx, VBS_FORMAT, "input '%.100s' is there twice, or unnamed",
                            value->name);
        if (b->around)
            continue;
        value->input = input;
        path = n < n_paths ? b->reading->paths[n] : NULL;
        n++;
        if (path)
            VBS_TRY(bind(b, path, value));
        if (find_fixed(b, value->name))
            VBS_TRY(fix(b, find_fixed(b, value->name), value));
    }
    return b->reading ? check_fixed(b) : VBS_OK;
}

/* ---- nodes ---- */

/* True for names such as "n12", which tell people less than the name of an output does. */
static bool is_number(const char *name)
{
    name += *name && strspn(name + 1, "0123456789") > 0;
    return name[strspn(name, "0123456789")] == '\0';
}

static const char *label_of(const Onnx__NodeProto *node)
{
    const char *name = text_of(node->name), *output = "";

    for (size_t i = 0; i < node->n_output && !output[0]; i++)
        output = node->output[i];
    /* vbslab writes the names of its layers (hints in import.h) */
    if (!name[0] || (is_number(name) && !is_number(output) && !text_of(node->doc_string)[0]))
        name = output;
    return name[0] ? name : "?";
}

static bool is_onnx(const char *domain)
{
    return domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static int compare_operator(const void *name, const void *operator)
{
    return strcmp(name, ((const struct vbs_onnx_operator *)operator)->name);
}

const struct vbs_onnx_operator *vbs_onnx_graph_operator(const struct vbs_onnx_graph *graph,
                                                        const char *name)
{
    return bsearch(name, graph->operators, (size_t)graph->n_operators, sizeof *graph->operators,
                   compare_operator);
}

/* Finds the operator of a node; null where it is unknown. Operators of other domains than ONNX's
 * have the domain before their name. */
static const struct vbs_onnx_operator *find_operator(const struct builder *b,
                                                     const Onnx__NodeProto *node)
{
    const char *domain = text_of(node->domain), *name = text_of(node->op_type);
    char whole[80];

    if (!is_onnx(domain)) {
        if (snprintf(whole, sizeof whole, "%s.%s", domain, name) >= (int)sizeof whole)
            return NULL;
        name = whole;
    }
    return vbs_onnx_graph_operator(b->graph, name);
}

static enum vbs_status add_outputs_of(struct builder *b, int number)
{
    struct vbs_onnx_node *node = &b->nodes[number];
    int *outputs = vbs_arena_alloc(b->arena, node->proto->n_output, sizeof *outputs);

    if (!outputs)
        return vbs_no_memory(b->ctx);
    for (size_t i = 0; i < node->proto->n_output; i++) {
        const char *name = node->proto->output[i];
        struct vbs_onnx_value *value;
        bool made;

        outputs[i] = -1;
        if (!name[0])
            continue;
        VBS_TRY(add_value(b, name, &value, &made));
        if (!made)
            return vbs_onnx_within_node(
                b->ctx,
                vbs_fail(b->ctx, VBS_FORMAT, "makes '%.100s', which is there already", name), node);
        value->producer = number;
        outputs[i] = (int)(value - b->graph->values);
    }
    node->n_outputs = (int)node->proto->n_output;
    node->outputs = outputs;
    return VBS_OK;
}

/* Makes what graphs inside a node read inputs of it, behind the others. */
static enum vbs_status capture(struct builder *b, struct vbs_onnx_node *node, int **inputs)
{
    struct vbs_onnx_capturing capturing = {.ctx = b->ctx,
                                           .arena = b->arena,
                                           .find = find_tensor,
                                           .graph = b,
                                           .n_names = &b->graph->n_names};
    int n = 0, *all;

    VBS_TRY(vbs_onnx_capture(&capturing, node->proto, &node->captured, &n));
    if (n == 0)
        return VBS_OK;
    all = vbs_arena_alloc(b->arena, (size_t)(node->n_given + n), sizeof *all);
    if (!all)
        return vbs_no_memory(b->ctx);
    if (node->n_given > 0)
        memcpy(all, *inputs, (size_t)node->n_given * sizeof *all);
    for (int i = 0; i < n; i++)
        all[node->n_given + i] = node->captured[i].value;
    node->n_inputs += n;
    *inputs = all;
    return VBS_OK;
}

static enum vbs_status find_inputs_of(struct builder *b, struct vbs_onnx_node *node)
{
    int *inputs = vbs_arena_alloc(b->arena, node->proto->n_input, sizeof *inputs);
    enum vbs_status status;

    if (!inputs)
        return vbs_no_memory(b->ctx);
    if (node->proto->n_input > VBS_MAX_LAYERS)
        return vbs_onnx_within_node(b->ctx,
                                    vbs_fail(b->ctx, VBS_UNSUPPORTED,
                                             "has %zu inputs, more than %d", node->proto->n_input,
                                             VBS_MAX_LAYERS),
                                    node);
    for (size_t i = 0; i < node->proto->n_input; i++) {
        const char *name = node->proto->input[i];

        inputs[i] = name[0] ? find_tensor(b, name) : -1;
        if (name[0] && inputs[i] < 0)
            return vbs_onnx_within_node(
                b->ctx, vbs_fail(b->ctx, VBS_FORMAT, "reads '%.100s', which nothing makes", name),
                node);
    }
    node->n_given = node->n_inputs = (int)node->proto->n_input;
    status = capture(b, node, &inputs);
    node->inputs = inputs;
    if (status != VBS_OK)
        return vbs_onnx_within_node(b->ctx, status, node);
    return VBS_OK;
}

static enum vbs_status add_nodes(struct builder *b)
{
    size_t n = b->proto->n_node;

    if (n > VBS_MAX_OPERATORS)
        return vbs_fail(b->ctx, VBS_UNSUPPORTED, "%zu nodes, more than %d", n, VBS_MAX_OPERATORS);
    b->nodes = vbs_arena_alloc(b->arena, n, sizeof *b->nodes);
    b->mark = vbs_arena_alloc(b->arena, n, 1);
    if (!b->nodes || !b->mark)
        return vbs_no_memory(b->ctx);
    b->n_nodes = (int)n;
    for (size_t i = 0; i < n; i++) {
        const Onnx__NodeProto *proto = b->proto->node[i];

        b->nodes[i] = (struct vbs_onnx_node){.proto = proto,
                                             .op = text_of(proto->op_type),
                                             .operator= find_operator(b, proto),
                                             .label = label_of(proto)};
        VBS_TRY(add_outputs_of(b, (int)i));
    }
    for (size_t i = 0; i < n; i++)
        VBS_TRY(find_inputs_of(b, &b->nodes[i]));
    return VBS_OK;
}

/* ---- where the caller has the network end ---- */

/* The values with which it does. */
struct ends {
    int n, *values;
    bool *taken; /* by value */
};

static void add_end(struct ends *ends, int value)
{
    if (!ends->taken[value])
        ends->values[ends->n++] = value;
    ends->taken[value] = true;
}

static bool is_output(const struct builder *b, const char *name)
{
    for (size_t i = 0; i < b->proto->n_output; i++)
        if (strcmp(text_of(b->proto->output[i]->name), name) == 0)
            return true;
    return false;
}

static bool is_read(const struct builder *b, int value)
{
    for (int i = 0; i < b->n_nodes; i++)
        for (int k = 0; k < b->nodes[i].n_inputs; k++)
            if (b->nodes[i].inputs[k] == value)
                return true;
    return is_output(b, b->graph->values[value].name);
}

/* Adds what a node makes: the outputs that something reads, or the first one. */
static void add_node_ends(const struct builder *b, const struct vbs_onnx_node *node,
                          struct ends *ends)
{
    int before = ends->n;

    for (int i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] >= 0 && is_read(b, node->outputs[i]))
            add_end(ends, node->outputs[i]);
    for (int i = 0; i < node->n_outputs && ends->n == before; i++)
        if (node->outputs[i] >= 0)
            add_end(ends, node->outputs[i]);
}

/* Adds the tensor, or what the node makes, of a name; *found: there is one that nodes make. */
static void find_end(const struct builder *b, const char *name, struct ends *ends, bool *found)
{
    int value = find_tensor(b, name);

    *found = value >= 0 && b->graph->values[value].producer >= 0;
    if (*found)
        add_end(ends, value);
    for (int i = 0; i < b->n_nodes && value < 0; i++)
        if (strcmp(text_of(b->nodes[i].proto->name), name) == 0) {
            add_node_ends(b, &b->nodes[i], ends);
            *found = true;
        }
}

/* Adds the longest text at the beginning of a list with commas between names that is a name, and
 * returns its length; 0: there is none. */
static size_t find_first_end(const struct builder *b, char *list, struct ends *ends)
{
    for (size_t n = strlen(list); n > 0; n--) {
        char after = list[n];
        bool found = false;

        if (after && after != ',')
            continue;
        list[n] = '\0';
        find_end(b, list, ends, &found);
        list[n] = after;
        if (found)
            return n;
    }
    return 0;
}

/* Adds the names of a list, which is changed. */
static enum vbs_status find_ends_of(struct builder *b, char *list, struct ends *ends)
{
    while (list) {
        size_t n = find_first_end(b, list, ends);

        if (n == 0) {
            list[strcspn(list, ",")] = '\0';
            return vbs_fail(b->ctx, VBS_USAGE, "the network cannot end at '%.80s': %s", list,
                            find_tensor(b, list) < 0 ? "no node and no tensor has this name"
                                                     : "no node makes it");
        }
        list = list[n] ? list + n + 1 : NULL;
    }
    return VBS_OK;
}

/* Finds the outputs where the caller says with what the network ends; *given: it does. */
static enum vbs_status find_ends(struct builder *b, bool *given)
{
    size_t n = (size_t)b->graph->n_values;
    struct ends ends = {.n = 0};

    *given = false;
    for (int i = 0; b->reading && i < b->reading->n_choices; i++) {
        const struct vbs_input_choice *choice = &b->reading->choices[i];
        char *list;

        if (!choice->until)
            continue;
        if (!*given) {
            ends.values = vbs_arena_alloc(b->arena, n, sizeof *ends.values);
            ends.taken = vbs_arena_alloc(b->arena, n, sizeof *ends.taken);
        }
        *given = true;
        list = vbs_arena_strdup(b->arena, choice->name ? choice->name : "");
        if (!ends.values || !ends.taken || !list)
            return vbs_no_memory(b->ctx);
        VBS_TRY(find_ends_of(b, list, &ends));
    }
    b->n_outputs = ends.n;
    b->outputs = ends.values;
    return VBS_OK;
}

static enum vbs_status find_outputs(struct builder *b)
{
    size_t n = b->proto->n_output;
    int *outputs = vbs_arena_alloc(b->arena, n, sizeof *outputs);
    bool *named =
        vbs_arena_alloc(b->arena, b->around ? 0 : (size_t)b->graph->n_values, sizeof *named);

    if (!outputs || !named)
        return vbs_no_memory(b->ctx);
    if (n == 0)
        return vbs_fail(b->ctx, VBS_FORMAT, "the graph has no outputs");
    for (size_t i = 0; i < n; i++) {
        const char *name = text_of(b->proto->output[i]->name);

        outputs[i] = find_tensor(b, name);
        if (outputs[i] < 0)
            return vbs_fail(b->ctx, VBS_FORMAT, "output '%.100s' of the graph is made by nothing",
                            name);
        if (b->around)
            continue;
        if (named[outputs[i]])
            return vbs_fail(b->ctx, VBS_FORMAT, "output '%.100s' of the graph is named twice",
                            name);
        named[outputs[i]] = true;
    }
    b->n_outputs = (int)n;
    b->outputs = outputs;
    return VBS_OK;
}

/* ---- which nodes are needed, and their order ---- */

static int producer_of(const struct builder *b, int value)
{
    return value < 0 ? -1 : b->graph->values[value].producer;
}

/* Marks the nodes on which the outputs depend; list has room for all nodes. */
static void mark_needed(struct builder *b, int *list)
{
    int n = 0;

    for (int i = 0; i < b->n_outputs; i++) {
        int node = producer_of(b, b->outputs[i]);

        if (node >= 0 && b->mark[node] == UNSEEN) {
            b->mark[node] = NEEDED;
            list[n++] = node;
        }
    }
    while (n > 0) {
        const struct vbs_onnx_node *node = &b->nodes[list[--n]];

        for (int i = 0; i < node->n_inputs; i++) {
            int next = producer_of(b, node->inputs[i]);

            if (next >= 0 && b->mark[next] == UNSEEN) {
                b->mark[next] = NEEDED;
                list[n++] = next;
            }
        }
    }
}

/* A node that is being visited, and the input to look at next. */
struct visit {
    int node, input;
};

/* Appends the needed nodes that first reads, directly or through others, and then first itself. */
static enum vbs_status visit_nodes(struct builder *b, int first, struct visit *stack, int *order,
                                   int *n)
{
    int depth = 0;

    stack[depth++] = (struct visit){.node = first};
    b->mark[first] = OPEN;
    while (depth > 0) {
        struct visit *top = &stack[depth - 1];
        const struct vbs_onnx_node *node = &b->nodes[top->node];
        int next;

        if (top->input == node->n_inputs) {
            b->mark[top->node] = DONE;
            order[(*n)++] = top->node;
            depth--;
            continue;
        }
        next = producer_of(b, node->inputs[top->input++]);
        if (next < 0 || b->mark[next] == DONE)
            continue;
        if (b->mark[next] == OPEN)
            return vbs_onnx_within_node(
                b->ctx, vbs_fail(b->ctx, VBS_FORMAT, "reads what is made from its own output"),
                node);
        b->mark[next] = OPEN;
        stack[depth++] = (struct visit){.node = next};
    }
    return VBS_OK;
}

/* Makes the values of the graph's nodes those of no producer. */
static void forget_producers(struct builder *b)
{
    for (int i = 0; i < b->n_nodes; i++)
        for (int k = 0; k < b->nodes[i].n_outputs; k++)
            if (b->nodes[i].outputs[k] >= 0)
                b->graph->values[b->nodes[i].outputs[k]].producer = -1;
}

/* Keeps only the needed nodes, in the file's order as far as their dependencies allow. */
static enum vbs_status sort(struct builder *b)
{
    size_t room = (size_t)b->n_nodes;
    int *order = vbs_arena_alloc(b->arena, room, sizeof *order), n = 0;
    struct visit *stack = vbs_arena_alloc(b->arena, room, sizeof *stack);
    struct vbs_onnx_node *sorted = vbs_arena_alloc(b->arena, room, sizeof *sorted);

    if (!order || !stack || !sorted)
        return vbs_no_memory(b->ctx);
    mark_needed(b, order);
    for (int i = 0; i < b->n_nodes; i++)
        if (b->mark[i] == NEEDED)
            VBS_TRY(visit_nodes(b, i, stack, order, &n));
    for (int i = 0; i < n; i++)
        sorted[i] = b->nodes[order[i]];
    forget_producers(b);
    b->nodes = sorted;
    b->n_nodes = n;
    return VBS_OK;
}

/* Finds the producer and the readers of each value among the nodes that are left. */
static void count_uses(const struct builder *b)
{
    struct vbs_onnx_value *values = b->graph->values;

    for (int i = 0; i < b->n_nodes; i++) {
        const struct vbs_onnx_node *node = &b->nodes[i];

        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] >= 0)
                values[node->outputs[k]].producer = i;
        for (int k = 0; k < node->n_inputs; k++)
            if (node->inputs[k] >= 0) {
                values[node->inputs[k]].n_uses++;
                values[node->inputs[k]].reader = node;
            }
    }
    for (int i = 0; i < b->n_outputs; i++) {
        values[b->outputs[i]].n_uses++;
        values[b->outputs[i]].reader = NULL;
    }
}

static void find_weights(const struct builder *b, struct vbs_onnx_graph *graph)
{
    static const char *const WITH_WEIGHTS[] = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
    int n = 0, made = 0;

    for (int i = 0; i < b->n_nodes; i++) {
        const struct vbs_onnx_node *node = &b->nodes[i];

        for (int k = 0; k < 4 && node->n_inputs > 1 && node->inputs[1] >= 0; k++) {
            const struct vbs_onnx_value *weights = &graph->values[node->inputs[1]];

            if (strcmp(node->op, WITH_WEIGHTS[k]) != 0)
                continue;
            n++;
            made += weights->producer >= 0 &&
                    strcmp(b->nodes[weights->producer].op, "ConstantOfShape") == 0;
        }
    }
    graph->weightless = 2 * made > n;
}

/* ---- what cannot be imported ---- */

static bool same_operator(const struct vbs_onnx_node *a, const struct vbs_onnx_node *b)
{
    return strcmp(a->op, b->op) == 0 &&
           strcmp(text_of(a->proto->domain), text_of(b->proto->domain)) == 0;
}

/* An operator that is not supported: the first node that has it, and the number of such nodes. */
struct unknown {
    const struct vbs_onnx_node *first[MAX_UNKNOWN];
    int count[MAX_UNKNOWN];
    int n;
    bool more;
};

static void note_unknown(struct unknown *unknown, const struct vbs_onnx_node *node)
{
    int i = 0;

    while (i < unknown->n && !same_operator(unknown->first[i], node))
        i++;
    if (i == MAX_UNKNOWN) {
        unknown->more = true;
        return;
    }
    if (i == unknown->n) {
        unknown->first[unknown->n] = node;
        unknown->count[unknown->n++] = 0;
    }
    unknown->count[i]++;
}

static enum vbs_status fail_unknown(struct vbs_ctx *ctx, const struct unknown *unknown)
{
    struct vbs_text text = {0};
    bool more = unknown->more;
    enum vbs_status status;

    for (int i = 0; i < unknown->n; i++) {
        const struct vbs_onnx_node *node = unknown->first[i];
        const char *domain = text_of(node->proto->domain);

        if (text.length > VBS_DETAIL_SIZE - 160) {
            more = true;
            break;
        }
        vbs_text_addf(&text, "%s%.30s%s%.40s ('%.40s'", i ? ", " : "",
                      is_onnx(domain) ? "" : domain, is_onnx(domain) ? "" : ".", node->op,
                      node->label);
        if (unknown->count[i] > 1)
            vbs_text_addf(&text, ", %d times", unknown->count[i]);
        vbs_text_add(&text, ")");
    }
    if (text.failed)
        status = vbs_no_memory(ctx);
    else
        status = vbs_fail(ctx, VBS_UNSUPPORTED, "operator%s not supported: %s%s",
                          unknown->n == 1 ? "" : "s", text.data, more ? ", and others" : "");
    vbs_text_clear(&text);
    return status;
}

/* Gives the most inputs that an operator takes in a version of the operators. */
static int most_inputs(const struct vbs_onnx_operator *operator, int64_t opset)
{
    int most = operator->inputs[0].most;

    for (int i = 1; i < VBS_ONNX_MAX_CHANGES && operator->inputs[i].since> 0; i++)
        if (opset >= operator->inputs[i].since)
            most = operator->inputs[i].most;
    return most;
}

/* Refuses nodes with more inputs than their operator takes: what they mean is not known. Inputs
 * that are left out at the end do not count. */
static enum vbs_status check_inputs(const struct builder *b)
{
    struct vbs_ctx *ctx = b->ctx;

    for (int i = 0; i < b->n_nodes; i++) {
        const struct vbs_onnx_node *node = &b->nodes[i];
        int most = most_inputs(node->operator, b->graph->opset), n = node->n_given;

        while (n > 0 && node->inputs[n - 1] < 0)
            n--;
        if (n > most)
            return vbs_onnx_within_node(
                ctx,
                vbs_fail(ctx, VBS_FORMAT, "has %d inputs; %s of opset %lld takes at most %d", n,
                         node->operator->name, (long long)b->graph->opset, most),
                node);
    }
    return VBS_OK;
}

static enum vbs_status check_operators(const struct builder *b)
{
    struct unknown unknown = {.n = 0};

    for (int i = 0; i < b->n_nodes; i++)
        if (!b->nodes[i].operator)
            note_unknown(&unknown, &b->nodes[i]);
    return unknown.n ? fail_unknown(b->ctx, &unknown) : check_inputs(b);
}

/* Finds the network's inputs: those of the graph that a node or an output reads. */
static enum vbs_status choose_inputs(struct builder *b)
{
    struct vbs_onnx_graph *graph = b->graph;
    int *inputs = vbs_arena_alloc(b->arena, (size_t)graph->n_values, sizeof *inputs);
    int *unread = vbs_arena_alloc(b->arena, (size_t)graph->n_values, sizeof *unread);

    if (!inputs || !unread)
        return vbs_no_memory(b->ctx);
    for (int v = 0; v < graph->n_values; v++) {
        const struct vbs_onnx_value *value = &graph->values[v];

        if (value->input && !value->constant && value->n_uses > 0)
            inputs[graph->n_inputs++] = v;
        else if (value->input && !value->constant)
            unread[graph->n_unread++] = v;
    }
    graph->inputs = inputs;
    graph->unread = unread;
    return graph->n_inputs > 0
               ? VBS_OK
               : vbs_fail(b->ctx, VBS_UNSUPPORTED, "its outputs depend on no input");
}

/* The newest version whose operators the importer knows. Versions 22 to 24 only added element types
 * to the operators that it imports. */
#define NEWEST_OPSET 24

static enum vbs_status find_opset(struct vbs_ctx *ctx, const Onnx__ModelProto *model,
                                  struct vbs_onnx_graph *graph)
{
    graph->opset = 1;
    for (size_t i = 0; i < model->n_opset_import; i++)
        if (is_onnx(text_of(model->opset_import[i]->domain)))
            graph->opset = model->opset_import[i]->version;
    if (graph->opset < 1 || graph->opset > NEWEST_OPSET)
        return vbs_fail(ctx, VBS_UNSUPPORTED,
                        "opset %lld is not known; known are those up to %d, which exporters can be "
                        "asked for",
                        (long long)graph->opset, NEWEST_OPSET);
    return VBS_OK;
}

/* Reads what the file has of a graph, and leaves the needed nodes. */
static enum vbs_status read_nodes(struct builder *b)
{
    bool ends;

    VBS_TRY(add_initialisers(b));
    VBS_TRY(add_inputs(b));
    VBS_TRY(add_nodes(b));
    VBS_TRY(find_ends(b, &ends));
    if (b->reading)
        b->graph->ends = ends;
    if (!ends)
        VBS_TRY(find_outputs(b));
    VBS_TRY(sort(b));
    count_uses(b);
    return VBS_OK;
}

static enum vbs_status read_graph(struct builder *b)
{
    VBS_TRY(read_nodes(b));
    find_weights(b, b->graph);
    forget_producers(b);
    if (!b->reading->any_operators)
        VBS_TRY(check_operators(b));
    b->graph->nodes = b->nodes;
    b->graph->n_nodes = b->n_nodes;
    b->graph->outputs = b->outputs;
    b->graph->n_outputs = b->n_outputs;
    return choose_inputs(b);
}

enum vbs_status vbs_onnx_graph_read(struct vbs_ctx *ctx, const struct vbs_onnx_file *file,
                                    const struct vbs_onnx_reading *reading, struct vbs_arena *arena,
                                    struct vbs_onnx_graph *graph)
{
    struct vbs_onnx_graph made = {
        .file = file, .operators = reading->operators, .n_operators = reading->n_operators};
    struct builder b = {
        .ctx = ctx, .arena = arena, .graph = &made, .proto = file->graph, .reading = reading};
    enum vbs_status status;

    if (!b.proto)
        return vbs_fail(ctx, VBS_FORMAT, "no graph; this is no ONNX file, or an empty one");
    status = find_opset(ctx, file->model, &made);
    if (status == VBS_OK)
        status = read_graph(&b);
    tdestroy(b.names, keep_in_arena);
    if (status == VBS_OK)
        *graph = made;
    return status;
}

/* ---- graphs inside nodes ---- */

/* Finds the values that were made for the inputs of a graph inside a node. */
static enum vbs_status find_formal(const struct builder *b, struct vbs_onnx_inner *inner)
{
    size_t n = b->proto->n_input;
    int *inputs = vbs_arena_alloc(b->arena, n, sizeof *inputs);

    if (!inputs)
        return vbs_no_memory(b->ctx);
    for (size_t i = 0; i < n; i++)
        inputs[i] = find_tensor(b, text_of(b->proto->input[i]->name));
    inner->inputs = inputs;
    inner->n_inputs = (int)n;
    return VBS_OK;
}

static enum vbs_status read_inner(struct builder *b, struct vbs_onnx_inner *inner)
{
    int most = VBS_MAX_OPERATORS - b->graph->n_added;

    VBS_TRY(read_nodes(b));
    forget_producers(b);
    VBS_TRY(check_operators(b));
    if (b->n_nodes >= most)
        return vbs_fail(
            b->ctx, VBS_UNSUPPORTED,
            "graphs inside nodes have more than %d nodes, counted each time that they run",
            VBS_MAX_OPERATORS);
    b->graph->n_added += b->n_nodes + 1;
    inner->nodes = b->nodes;
    inner->n_nodes = b->n_nodes;
    inner->outputs = b->outputs;
    inner->n_outputs = b->n_outputs;
    return find_formal(b, inner);
}

enum vbs_status vbs_onnx_graph_add(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                   const struct vbs_onnx_node *node, const Onnx__GraphProto *proto,
                                   struct vbs_onnx_graph *graph, struct vbs_onnx_inner *inner)
{
    struct builder b = {.ctx = ctx, .arena = arena, .graph = graph, .proto = proto, .around = node};
    enum vbs_status status = read_inner(&b, inner);

    tdestroy(b.names, keep_in_arena);
    return status;
}
