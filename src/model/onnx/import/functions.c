#include "model/onnx/import/functions.h"

#include "base/fail.h"
#include "model/onnx/import/wire.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NODES VBS_MAX_OPERATORS /* of the result */

struct inlining {
    struct vbs_ctx *ctx;
    struct vbs_source *source;
    const Onnx__FunctionProto **functions; /* [n_functions] ascending by name */
    size_t n_functions;
    int n_nodes, n_calls;
};

/* The call whose function's nodes are being copied. Names of the function become those of its
 * inputs and outputs in the call, or get a prefix. */
struct scope {
    const Onnx__FunctionProto *function;
    const Onnx__NodeProto *call; /* in the words of the nodes around it */
    const char *prefix;
    int depth;
};

/* Nodes of a graph so far. */
struct node_list {
    Onnx__NodeProto **nodes;
    size_t n, room;
};

static const char *text_of(const char *text)
{
    return text ? text : "";
}

/* ---- finding functions ---- */

static const char *domain_of(const char *domain)
{
    return strcmp(text_of(domain), "ai.onnx") == 0 ? "" : text_of(domain);
}

static int compare_names(const char *domain, const char *name, const Onnx__FunctionProto *f)
{
    int order = strcmp(text_of(name), text_of(f->name));

    return order ? order : strcmp(domain_of(domain), domain_of(f->domain));
}

static int compare_functions(const void *a, const void *b)
{
    const Onnx__FunctionProto *left = *(const Onnx__FunctionProto *const *)a;

    return compare_names(left->domain, left->name, *(const Onnx__FunctionProto *const *)b);
}

static int compare_call(const void *key, const void *function)
{
    const Onnx__NodeProto *node = key;

    return compare_names(node->domain, node->op_type,
                         *(const Onnx__FunctionProto *const *)function);
}

/* Finds the function that a node calls; null: it is an operator. */
static const Onnx__FunctionProto *find_function(const struct inlining *e,
                                                const Onnx__NodeProto *node)
{
    const Onnx__FunctionProto *const *found =
        bsearch(node, e->functions, e->n_functions, sizeof *e->functions, compare_call);

    return found ? *found : NULL;
}

static enum vbs_status sort_functions(struct inlining *e, const Onnx__ModelProto *model)
{
    e->n_functions = model->n_functions;
    e->functions = vbs_source_alloc(e->source, e->n_functions, sizeof *e->functions);
    if (!e->functions)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < e->n_functions; i++)
        e->functions[i] = model->functions[i];
    qsort(e->functions, e->n_functions, sizeof *e->functions, compare_functions);
    for (size_t i = 1; i < e->n_functions; i++)
        if (compare_functions(&e->functions[i - 1], &e->functions[i]) == 0)
            return vbs_fail(e->ctx, VBS_UNSUPPORTED, "there are two functions '%.100s'",
                            text_of(e->functions[i]->name));
    return VBS_OK;
}

/* ---- names ---- */

/* Finds a name in a list; -1: it is not there. */
static int find_name(char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], name) == 0)
            return (int)i;
    return -1;
}

static char *joined(struct inlining *e, const char *prefix, const char *name)
{
    size_t size = strlen(prefix) + strlen(name) + 1;
    char *text = vbs_source_alloc(e->source, size, 1);

    if (text)
        snprintf(text, size, "%s%s", prefix, name);
    return text;
}

/* Returns what a name of a function is called in the graph; "" where the call leaves it out; null:
 * out of memory. */
static char *renamed(struct inlining *e, const struct scope *scope, char *name)
{
    int input, output;

    if (!scope || !name[0])
        return name;
    input = find_name(scope->function->input, scope->function->n_input, name);
    output = find_name(scope->function->output, scope->function->n_output, name);
    if (input >= 0)
        return (size_t)input < scope->call->n_input ? scope->call->input[input] : joined(e, "", "");
    if (output >= 0 && (size_t)output < scope->call->n_output && scope->call->output[output][0])
        return scope->call->output[output];
    return joined(e, scope->prefix, name);
}

static enum vbs_status rename_all(struct inlining *e, const struct scope *scope, size_t n,
                                  char ***names)
{
    char **made = vbs_source_alloc(e->source, n, sizeof *made);

    if (!made)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < n; i++) {
        made[i] = renamed(e, scope, (*names)[i]);
        if (!made[i])
            return vbs_no_memory(e->ctx);
    }
    *names = made;
    return VBS_OK;
}

/* ---- attributes ---- */

static void *take_from_source(void *source, size_t size)
{
    return vbs_source_alloc(source, size, 1);
}

static void leave_to_source(void *source, void *bytes)
{
    (void)source, (void)bytes;
}

/* Unpacks an attribute that a function has for calls that leave it out. */
static Onnx__AttributeProto *unpack_default(struct inlining *e,
                                            const ProtobufCMessageUnknownField *field)
{
    ProtobufCAllocator allocator = {
        .alloc = take_from_source, .free = leave_to_source, .allocator_data = e->source};
    size_t length = 0;

    while (length < field->len && field->data[length] >= 0x80) /* of the message */
        length++;
    if (length >= field->len)
        return NULL;
    return onnx__attribute_proto__unpack(&allocator, field->len - length - 1,
                                         field->data + length + 1);
}

/* Finds the attribute of a call that has this name, or that of the function where the call has
 * none; null: neither has it. */
static const Onnx__AttributeProto *find_given(struct inlining *e, const struct scope *scope,
                                              const char *name)
{
    const ProtobufCMessage *base = &scope->function->base;

    for (size_t i = 0; i < scope->call->n_attribute; i++)
        if (strcmp(text_of(scope->call->attribute[i]->name), name) == 0)
            return scope->call->attribute[i];
    for (unsigned i = 0; i < base->n_unknown_fields; i++) {
        const Onnx__AttributeProto *made = base->unknown_fields[i].tag == VBS_ONNX_FIELD_DEFAULTS
                                               ? unpack_default(e, &base->unknown_fields[i])
                                               : NULL;

        if (made && strcmp(text_of(made->name), name) == 0)
            return made;
    }
    return NULL;
}

static enum vbs_status expand_graph(struct inlining *e, const struct scope *scope,
                                    const Onnx__GraphProto *graph, Onnx__GraphProto **expanded);

/* Copies the attributes of a node: those that refer to one of the call are that one. */
static enum vbs_status copy_attributes(struct inlining *e, const struct scope *scope,
                                       Onnx__NodeProto *node)
{
    size_t n = 0;
    Onnx__AttributeProto **made = vbs_source_alloc(e->source, node->n_attribute, sizeof *made);

    if (!made)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *given = node->attribute[i];
        bool refers = text_of(given->ref_attr_name)[0] != '\0';
        Onnx__AttributeProto *copy;

        if (refers)
            given = scope ? find_given(e, scope, given->ref_attr_name) : NULL;
        if (!given)
            continue;
        copy = vbs_source_alloc(e->source, 1, sizeof *copy);
        if (!copy)
            return vbs_no_memory(e->ctx);
        *copy = *given;
        copy->name = node->attribute[i]->name;
        /* The graph of an attribute of the call is in the words of the nodes around it. */
        if (copy->g && !refers)
            VBS_TRY(expand_graph(e, scope, given->g, &copy->g));
        made[n++] = copy;
    }
    node->attribute = made;
    node->n_attribute = n;
    return VBS_OK;
}

/* ---- nodes ---- */

static enum vbs_status append(struct inlining *e, struct node_list *list, Onnx__NodeProto *node)
{
    if (++e->n_nodes > MOST_NODES)
        return vbs_fail(e->ctx, VBS_UNSUPPORTED, "more than %d nodes with those of functions",
                        MOST_NODES);
    if (list->n == list->room) {
        size_t room = 2 * list->room + 16;
        Onnx__NodeProto **nodes = vbs_source_alloc(e->source, room, sizeof(Onnx__NodeProto *));

        if (!nodes)
            return vbs_no_memory(e->ctx);
        if (list->n > 0)
            memcpy(nodes, list->nodes, list->n * sizeof *nodes);
        list->nodes = nodes;
        list->room = room;
    }
    list->nodes[list->n++] = node;
    return VBS_OK;
}

/* Returns the name by which people know a call. */
static const char *label_of(const Onnx__NodeProto *call)
{
    const char *label = text_of(call->name);

    for (size_t i = 0; i < call->n_output && !label[0]; i++)
        label = call->output[i];
    return label;
}

static enum vbs_status copy_node(struct inlining *e, const struct scope *scope,
                                 const Onnx__NodeProto *node, Onnx__NodeProto **copied)
{
    Onnx__NodeProto *copy = vbs_source_alloc(e->source, 1, sizeof *copy);
    char name[400];

    if (!copy)
        return vbs_no_memory(e->ctx);
    *copy = *node;
    VBS_TRY(rename_all(e, scope, node->n_input, &copy->input));
    VBS_TRY(rename_all(e, scope, node->n_output, &copy->output));
    VBS_TRY(copy_attributes(e, scope, copy));
    if (scope && text_of(node->name)[0]) {
        snprintf(name, sizeof name, "%.190s/%.190s", label_of(scope->call), node->name);
        copy->name = joined(e, name, "");
        if (!copy->name)
            return vbs_no_memory(e->ctx);
    }
    *copied = copy;
    return VBS_OK;
}

static enum vbs_status expand_nodes(struct inlining *e, const struct scope *scope,
                                    Onnx__NodeProto *const *nodes, size_t n,
                                    struct node_list *list);

/* Copies an output of a function that is also one of its inputs, which no node makes. */
static enum vbs_status pass_inputs(struct inlining *e, const struct scope *scope,
                                   struct node_list *list)
{
    for (size_t i = 0; i < scope->call->n_output; i++) {
        char *name = scope->function->output[i];
        Onnx__NodeProto *node;

        if (!scope->call->output[i][0] ||
            find_name(scope->function->input, scope->function->n_input, name) < 0)
            continue;
        node = vbs_source_alloc(e->source, 1, sizeof *node);
        if (!node)
            return vbs_no_memory(e->ctx);
        *node = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
        node->op_type = joined(e, "Identity", "");
        node->input = vbs_source_alloc(e->source, 1, sizeof *node->input);
        if (!node->op_type || !node->input)
            return vbs_no_memory(e->ctx);
        node->input[0] = renamed(e, scope, name);
        if (!node->input[0])
            return vbs_no_memory(e->ctx);
        node->output = &scope->call->output[i];
        node->n_input = node->n_output = 1;
        VBS_TRY(append(e, list, node));
    }
    return VBS_OK;
}

/* Appends the nodes of a function in the place of a call. */
static enum vbs_status expand_call(struct inlining *e, const struct scope *around,
                                   const Onnx__FunctionProto *function, const Onnx__NodeProto *call,
                                   struct node_list *list)
{
    struct scope scope = {
        .function = function, .call = call, .depth = around ? around->depth + 1 : 1};
    char prefix[200];

    if (scope.depth > VBS_ONNX_MOST_CALLS)
        return vbs_fail(e->ctx, VBS_FORMAT,
                        "function '%.100s' calls itself, or calls are nested deeper than %d",
                        function->name, VBS_ONNX_MOST_CALLS);
    if (++e->n_calls > MOST_NODES)
        return vbs_fail(e->ctx, VBS_UNSUPPORTED, "more than %d calls of functions", MOST_NODES);
    if (call->n_input > function->n_input || call->n_output > function->n_output)
        return vbs_fail(e->ctx, VBS_FORMAT,
                        "node '%.80s' has %zu inputs and %zu outputs, function '%.80s' %zu and %zu",
                        label_of(call), call->n_input, call->n_output, function->name,
                        function->n_input, function->n_output);
    /* a name of its own: of two calls that are alike, too */
    snprintf(prefix, sizeof prefix, "%.150s/%d/", label_of(call), e->n_calls);
    scope.prefix = prefix;
    VBS_TRY(expand_nodes(e, &scope, function->node, function->n_node, list));
    return pass_inputs(e, &scope, list);
}

static enum vbs_status expand_nodes(struct inlining *e, const struct scope *scope,
                                    Onnx__NodeProto *const *nodes, size_t n, struct node_list *list)
{
    for (size_t i = 0; i < n; i++) {
        const Onnx__FunctionProto *function = find_function(e, nodes[i]);
        Onnx__NodeProto *copy;

        VBS_TRY(copy_node(e, scope, nodes[i], &copy));
        VBS_TRY(function ? expand_call(e, scope, function, copy, list) : append(e, list, copy));
    }
    return VBS_OK;
}

/* ---- graphs ---- */

/* Renames the inputs, or the outputs, of a graph inside a node. */
static enum vbs_status rename_values(struct inlining *e, const struct scope *scope, size_t n,
                                     Onnx__ValueInfoProto ***values)
{
    Onnx__ValueInfoProto **made = vbs_source_alloc(e->source, n, sizeof *made);

    if (!made)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < n; i++) {
        made[i] = vbs_source_alloc(e->source, 1, sizeof *made[i]);
        if (!made[i])
            return vbs_no_memory(e->ctx);
        *made[i] = *(*values)[i];
        if (made[i]->name)
            made[i]->name = renamed(e, scope, made[i]->name);
        if ((*values)[i]->name && !made[i]->name)
            return vbs_no_memory(e->ctx);
    }
    *values = made;
    return VBS_OK;
}

static enum vbs_status rename_tensor(struct inlining *e, const struct scope *scope,
                                     Onnx__TensorProto **tensor)
{
    Onnx__TensorProto *made = vbs_source_alloc(e->source, 1, sizeof *made);

    if (!made)
        return vbs_no_memory(e->ctx);
    *made = **tensor;
    if (made->name)
        made->name = renamed(e, scope, made->name);
    if ((*tensor)->name && !made->name)
        return vbs_no_memory(e->ctx);
    *tensor = made;
    return VBS_OK;
}

static enum vbs_status rename_initialisers(struct inlining *e, const struct scope *scope,
                                           Onnx__GraphProto *graph)
{
    Onnx__TensorProto **dense =
        vbs_source_alloc(e->source, graph->n_initializer, sizeof(Onnx__TensorProto *));
    Onnx__SparseTensorProto **sparse =
        vbs_source_alloc(e->source, graph->n_sparse_initializer, sizeof(Onnx__SparseTensorProto *));

    if (!dense || !sparse)
        return vbs_no_memory(e->ctx);
    for (size_t i = 0; i < graph->n_initializer; i++) {
        dense[i] = graph->initializer[i];
        VBS_TRY(rename_tensor(e, scope, &dense[i]));
    }
    for (size_t i = 0; i < graph->n_sparse_initializer; i++) {
        sparse[i] = vbs_source_alloc(e->source, 1, sizeof *sparse[i]);
        if (!sparse[i])
            return vbs_no_memory(e->ctx);
        *sparse[i] = *graph->sparse_initializer[i];
        if (sparse[i]->values)
            VBS_TRY(rename_tensor(e, scope, &sparse[i]->values));
    }
    graph->initializer = dense;
    graph->sparse_initializer = sparse;
    return VBS_OK;
}

static enum vbs_status expand_graph(struct inlining *e, const struct scope *scope,
                                    const Onnx__GraphProto *graph, Onnx__GraphProto **expanded)
{
    Onnx__GraphProto *made = vbs_source_alloc(e->source, 1, sizeof *made);
    struct node_list list = {.nodes = NULL};

    if (!made)
        return vbs_no_memory(e->ctx);
    *made = *graph;
    VBS_TRY(expand_nodes(e, scope, graph->node, graph->n_node, &list));
    made->node = list.nodes;
    made->n_node = list.n;
    if (scope) {
        VBS_TRY(rename_values(e, scope, graph->n_input, &made->input));
        VBS_TRY(rename_values(e, scope, graph->n_output, &made->output));
        VBS_TRY(rename_initialisers(e, scope, made));
    }
    *expanded = made;
    return VBS_OK;
}

enum vbs_status vbs_onnx_expand_functions(struct vbs_ctx *ctx, struct vbs_source *source,
                                          const Onnx__ModelProto *model,
                                          const Onnx__GraphProto **graph)
{
    struct inlining e = {.ctx = ctx, .source = source};
    Onnx__GraphProto *expanded = NULL;

    *graph = model->graph;
    if (model->n_functions == 0 || !model->graph)
        return VBS_OK;
    VBS_TRY(sort_functions(&e, model));
    VBS_TRY(expand_graph(&e, NULL, model->graph, &expanded));
    *graph = expanded;
    return VBS_OK;
}
