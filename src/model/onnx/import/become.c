/* Nodes that are imported as other nodes. */
#include "base/fail.h"
#include "model/onnx/import/import.h"

/* Imports a node that is im->node but for its operator, inputs and outputs. */
static enum vbs_status run_node(struct vbs_onnx_import *im, const char *name,
                                const struct vbs_onnx_state *inputs, int n, int n_outputs,
                                const int *outputs)
{
    const struct vbs_onnx_operator *operator= vbs_onnx_graph_operator(im->graph, name);
    const struct vbs_onnx_node *outer = im->node;
    struct vbs_onnx_node *node = vbs_arena_alloc(im->arena, 1, sizeof *node);
    int *values = vbs_arena_alloc(im->arena, (size_t)n, sizeof *values);
    bool tensors = false;
    enum vbs_status status;

    if (!node || !values)
        return vbs_no_memory(im->ctx);
    if (n > VBS_ONNX_MOST_RUN)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "has more than %d inputs", VBS_ONNX_MOST_RUN);
    for (int i = 0; i < n; i++) {
        values[i] = inputs[i].tensor || inputs[i].constant ? im->graph->n_values + i : -1;
        im->states[im->graph->n_values + i] = inputs[i];
        tensors |= inputs[i].tensor != NULL;
    }
    *node = *outer;
    node->op = operator->name;
    node->operator= operator;
    node->n_inputs = n;
    node->inputs = values;
    node->n_outputs = n_outputs;
    node->outputs = outputs;
    im->node = node;
    status = vbs_onnx_run_operator(im, tensors || !operator->fold);
    im->node = outer;
    return status;
}

enum vbs_status vbs_onnx_run_as(struct vbs_onnx_import *im, const char *name,
                                const struct vbs_onnx_state *inputs, int n,
                                struct vbs_onnx_state *result)
{
    int *output = vbs_arena_alloc(im->arena, 1, sizeof *output);

    if (!output)
        return vbs_no_memory(im->ctx);
    *output = im->graph->n_values + VBS_ONNX_MOST_RUN;
    im->states[*output] = (struct vbs_onnx_state){.tensor = NULL};
    VBS_TRY(run_node(im, name, inputs, n, 1, output));
    *result = im->states[*output];
    return VBS_OK;
}

enum vbs_status vbs_onnx_become(struct vbs_onnx_import *im, const char *name,
                                const struct vbs_onnx_state *inputs, int n)
{
    return run_node(im, name, inputs, n, im->node->n_outputs, im->node->outputs);
}
