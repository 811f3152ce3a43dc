/* What is left of a graph without the nodes that cannot be read. */
#include "model/onnx/import/graph.h"

#include "base/fail.h"

#include <string.h>

/* What is known of a value. */
enum {
    DATA = 1, /* it depends on the network's input */
    MADE = 2, /* a node makes it */
    LOST = 4, /* it depends on a node that cannot be read */
    LEFT = 8, /* it is among what is left */
};

const char *vbs_onnx_first_output(const struct vbs_onnx_graph *graph,
                                  const struct vbs_onnx_node *node)
{
    for (int i = 0; i < node->n_outputs; i++)
        if (node->outputs[i] >= 0)
            return graph->values[node->outputs[i]].name;
    return "";
}

static bool is_refused(const struct vbs_onnx_graph *graph, const struct vbs_onnx_node *node,
                       char *const *names, int n_names)
{
    for (int i = 0; i < n_names; i++)
        if (strcmp(names[i], vbs_onnx_first_output(graph, node)) == 0)
            return true;
    return !node->operator;
}

/* Returns the bits of what a node makes; shapes do not depend on data. */
static unsigned bits_of(const struct vbs_onnx_node *node, const unsigned char *of, bool refused)
{
    bool is_shape = strcmp(node->op, "Shape") == 0 || strcmp(node->op, "Size") == 0;
    unsigned bits = MADE | (refused ? LOST : 0);

    for (int k = 0; k < node->n_inputs; k++)
        if (node->inputs[k] >= 0)
            bits |= of[node->inputs[k]] & (is_shape ? LOST : LOST | DATA);
    return bits;
}

static void add_left(const struct vbs_onnx_graph *graph, int value, unsigned char *of,
                     struct vbs_onnx_left *left)
{
    bool is_computed = (of[value] & (DATA | MADE | LOST)) == (DATA | MADE);

    if (is_computed && !(of[value] & LEFT))
        left->names[left->n++] = graph->values[value].name;
    of[value] |= is_computed ? LEFT : 0;
}

enum vbs_status vbs_onnx_graph_left(struct vbs_ctx *ctx, const struct vbs_onnx_graph *graph,
                                    struct vbs_arena *arena, char *const *names, int n_names,
                                    struct vbs_onnx_left *left)
{
    size_t n = (size_t)graph->n_values;
    unsigned char *of = vbs_arena_alloc(arena, n, sizeof *of);
    unsigned char *lost = vbs_arena_alloc(arena, (size_t)graph->n_nodes, sizeof *lost);

    *left = (struct vbs_onnx_left){.names = vbs_arena_alloc(arena, n, sizeof *left->names)};
    if (!of || !lost || !left->names)
        return vbs_no_memory(ctx);
    for (int i = 0; i < graph->n_inputs; i++)
        of[graph->inputs[i]] = DATA;
    for (int i = 0; i < graph->n_nodes; i++) {
        const struct vbs_onnx_node *node = &graph->nodes[i];
        unsigned bits = bits_of(node, of, is_refused(graph, node, names, n_names));

        lost[i] = bits & LOST;
        for (int k = 0; k < node->n_outputs; k++)
            if (node->outputs[k] >= 0)
                of[node->outputs[k]] = (unsigned char)bits;
    }
    for (int i = 0; i < graph->n_outputs; i++)
        add_left(graph, graph->outputs[i], of, left);
    left->n_outputs = left->n;
    for (int i = 0; i < graph->n_nodes; i++)
        for (int k = 0; k < graph->nodes[i].n_inputs && lost[i]; k++)
            if (graph->nodes[i].inputs[k] >= 0)
                add_left(graph, graph->nodes[i].inputs[k], of, left);
    return VBS_OK;
}
