/*
 * If and Loop: the graphs inside these nodes become part of the graph around them while the file is
 * read. What decides which of them run, and how often, must be known then: a condition may depend
 * on shapes, but not on the network's input.
 */
#include "base/fail.h"
#include "model/onnx/operators/operators.h"

#include <math.h>
#include <string.h>

#define BOOL  ONNX__TENSOR_PROTO__DATA_TYPE__BOOL
#define INT64 ONNX__TENSOR_PROTO__DATA_TYPE__INT64

/* Reads a number that decides what runs; word names it in messages. */
static enum vbs_status read_known(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                  const char *word, double *value)
{
    if (!state->constant)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED,
                        "its %s depends on the network's input; it is to be known once shapes are",
                        word);
    return vbs_onnx_scalar(im, state->constant, value);
}

/* Adds a graph inside the node, which is to have so many inputs and outputs. */
static enum vbs_status add_graph(struct vbs_onnx_import *im, const char *attribute, int n_inputs,
                                 int n_outputs, struct vbs_onnx_inner *inner)
{
    const Onnx__GraphProto *graph = vbs_onnx_graph_attribute(im, attribute);
    int first = im->graph->n_values;

    if (!graph)
        return vbs_fail(im->ctx, VBS_FORMAT, "has no '%s'", attribute);
    VBS_TRY(vbs_onnx_graph_add(im->ctx, im->arena, im->node, graph, im->graph, inner));
    if (inner->n_inputs != n_inputs || inner->n_outputs != n_outputs)
        return vbs_fail(im->ctx, VBS_FORMAT, "'%s' has %d inputs and %d outputs, not %d and %d",
                        attribute, inner->n_inputs, inner->n_outputs, n_inputs, n_outputs);
    return vbs_onnx_add_states(im, first);
}

/* Gives an output of the node the state of another value. */
static void give_state(struct vbs_onnx_import *im, int index, const struct vbs_onnx_state *state)
{
    if (index < im->node->n_outputs && im->node->outputs[index] >= 0)
        im->states[im->node->outputs[index]] = *state;
}

VBS_ONNX_HANDLER(if)
{
    const struct vbs_onnx_state *state = vbs_onnx_in(im, 0);
    struct vbs_onnx_inner inner;
    double condition = 0;

    (void)operator;
    if (!state || im->node->n_given != 1)
        return vbs_fail(im->ctx, VBS_FORMAT, "is to have a condition and no other input");
    VBS_TRY(read_known(im, state, "condition", &condition));
    VBS_TRY(add_graph(im, condition != 0 ? "then_branch" : "else_branch", 0, im->node->n_outputs,
                      &inner));
    VBS_TRY(vbs_onnx_import_nodes(im, inner.nodes, inner.n_nodes));
    for (int i = 0; i < inner.n_outputs; i++)
        give_state(im, i, &im->states[inner.outputs[i]]);
    return VBS_OK;
}

/* ---- Loop ---- */

/* The run of a Loop so far. The values of scan output number s are scans[s * room ..]. */
struct rounds {
    int64_t most;  /* times that the body may run */
    bool goes_on;  /* the condition */
    int n_carried; /* values that one run of the body hands to the next */
    struct vbs_onnx_state *carried;
    int n_scans, n_runs, room;
    struct vbs_onnx_state *scans;
};

static enum vbs_status begin_run(struct vbs_onnx_import *im, struct rounds *run)
{
    const struct vbs_onnx_state *most = vbs_onnx_in(im, 0), *condition = vbs_onnx_in(im, 1);
    int n = im->node->n_given - 2;
    double value = 1;

    if (n < 0 || im->node->n_outputs < n)
        return vbs_fail(im->ctx, VBS_FORMAT, "has %d inputs and %d outputs", im->node->n_given,
                        im->node->n_outputs);
    *run = (struct rounds){.most = INT64_MAX,
                           .n_carried = n,
                           .carried = vbs_arena_alloc(im->arena, (size_t)n, sizeof *run->carried),
                           .n_scans = im->node->n_outputs - n};
    if (!run->carried)
        return vbs_no_memory(im->ctx);
    for (int i = 0; i < n; i++) {
        if (!vbs_onnx_in(im, i + 2))
            return vbs_fail(im->ctx, VBS_FORMAT, "input %d is missing", i + 2);
        run->carried[i] = *vbs_onnx_in(im, i + 2);
    }
    if (condition)
        VBS_TRY(read_known(im, condition, "condition", &value));
    run->goes_on = value != 0;
    if (most) {
        VBS_TRY(read_known(im, most, "trip count", &value));
        run->most = vbs_onnx_clamp((long double)value);
    }
    return VBS_OK;
}

static enum vbs_status number_state(struct vbs_onnx_import *im, int type, long double value,
                                    struct vbs_onnx_state *state)
{
    static const struct vbs_shape SCALAR = {.n_dims = 0};
    struct vbs_onnx_number *number;

    VBS_TRY(vbs_onnx_numbers_new(im, 1, &number));
    number->value = value;
    *state = (struct vbs_onnx_state){.tensor = NULL};
    return vbs_onnx_constant_new(im, type, &SCALAR, number, &state->constant);
}

/* Keeps what a run of the body adds to the scan outputs. */
static enum vbs_status keep_scans(struct vbs_onnx_import *im, const int *outputs,
                                  struct rounds *run)
{
    if (run->n_scans > 0 && run->n_runs == run->room) {
        int room = 2 * run->room + 16;
        struct vbs_onnx_state *scans =
            vbs_arena_alloc(im->arena, (size_t)run->n_scans * (size_t)room, sizeof *scans);

        if (!scans)
            return vbs_no_memory(im->ctx);
        for (int s = 0; s < run->n_scans && run->n_runs > 0; s++)
            memcpy(scans + (size_t)s * (size_t)room, run->scans + (size_t)s * (size_t)run->room,
                   (size_t)run->n_runs * sizeof *scans);
        run->scans = scans;
        run->room = room;
    }
    for (int s = 0; s < run->n_scans; s++)
        run->scans[s * run->room + run->n_runs] = im->states[outputs[s]];
    run->n_runs++;
    return VBS_OK;
}

static enum vbs_status run_body(struct vbs_onnx_import *im, struct rounds *run)
{
    struct vbs_onnx_inner inner;
    double goes_on = 0;

    VBS_TRY(add_graph(im, "body", run->n_carried + 2, 1 + im->node->n_outputs, &inner));
    VBS_TRY(number_state(im, INT64, run->n_runs, &im->states[inner.inputs[0]]));
    VBS_TRY(number_state(im, BOOL, 1, &im->states[inner.inputs[1]]));
    for (int i = 0; i < run->n_carried; i++)
        im->states[inner.inputs[i + 2]] = run->carried[i];
    VBS_TRY(vbs_onnx_import_nodes(im, inner.nodes, inner.n_nodes));
    VBS_TRY(read_known(im, &im->states[inner.outputs[0]], "condition", &goes_on));
    run->goes_on = goes_on != 0;
    for (int i = 0; i < run->n_carried; i++)
        run->carried[i] = im->states[inner.outputs[i + 1]];
    return keep_scans(im, inner.outputs + 1 + run->n_carried, run);
}

/* ---- scan outputs: nodes that the file does not have ---- */

/* Appends a value with a state that one node reads. */
static enum vbs_status add_value(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                 int *value)
{
    VBS_TRY(vbs_onnx_graph_value(im->ctx, im->arena, im->node->label, im->graph, value));
    im->graph->values[*value].n_uses = 1;
    VBS_TRY(vbs_onnx_add_states(im, *value));
    im->states[*value] = *state;
    return VBS_OK;
}

/* Imports a node that the file does not have: an operator of the given inputs, with one attribute
 * where it is not null. */
static enum vbs_status import_made(struct vbs_onnx_import *im, const char *op, const int *inputs,
                                   int n, Onnx__AttributeProto *attribute,
                                   struct vbs_onnx_state *result)
{
    static const struct vbs_onnx_state NONE = {.tensor = NULL};
    Onnx__NodeProto *proto = vbs_arena_alloc(im->arena, 1, sizeof *proto);
    Onnx__AttributeProto **attributes = vbs_arena_alloc(im->arena, 1, sizeof *attributes);
    struct vbs_onnx_node *node = vbs_arena_alloc(im->arena, 1, sizeof *node);
    int *output = vbs_arena_alloc(im->arena, 1, sizeof *output);

    if (!proto || !attributes || !node || !output)
        return vbs_no_memory(im->ctx);
    VBS_TRY(add_value(im, &NONE, output));
    *proto = (Onnx__NodeProto)ONNX__NODE_PROTO__INIT;
    attributes[0] = attribute;
    proto->attribute = attributes;
    proto->n_attribute = attribute != NULL;
    *node = (struct vbs_onnx_node){.proto = proto,
                                   .op = op,
                                   .operator= vbs_onnx_graph_operator(im->graph, op),
                                   .label = im->node->label,
                                   .n_inputs = n,
                                   .inputs = inputs,
                                   .n_given = n,
                                   .n_outputs = 1,
                                   .outputs = output};
    VBS_TRY(vbs_onnx_import_nodes(im, node, 1));
    *result = im->states[*output];
    return VBS_OK;
}

static Onnx__AttributeProto *axis_attribute(struct vbs_onnx_import *im, const char *name)
{
    Onnx__AttributeProto *attribute = vbs_arena_alloc(im->arena, 1, sizeof *attribute);
    int64_t *zero = vbs_arena_alloc(im->arena, 1, sizeof *zero);
    size_t length = strlen(name) + 1;
    char *copy = vbs_arena_alloc(im->arena, length, 1);

    if (!attribute || !zero || !copy)
        return NULL;
    memcpy(copy, name, length);
    *attribute = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
    attribute->name = copy;
    attribute->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    if (strcmp(name, "axis") == 0) {
        attribute->has_i = true;
    } else {
        attribute->ints = zero;
        attribute->n_ints = 1;
    }
    return attribute;
}

/* Gives a state a new dimension 0 of 1. */
static enum vbs_status stand_up(struct vbs_onnx_import *im, const struct vbs_onnx_state *state,
                                struct vbs_onnx_state *result)
{
    Onnx__AttributeProto *axes = axis_attribute(im, "axes");
    int *inputs = vbs_arena_alloc(im->arena, 2, sizeof *inputs);
    struct vbs_onnx_state zero;
    bool is_input = im->graph->opset >= 13;

    if (!axes || !inputs)
        return vbs_no_memory(im->ctx);
    VBS_TRY(add_value(im, state, &inputs[0]));
    VBS_TRY(number_state(im, INT64, 0, &zero));
    zero.constant->shape = (struct vbs_shape){.n_dims = 1, .dim = {1}};
    VBS_TRY(add_value(im, &zero, &inputs[1]));
    return import_made(im, "Unsqueeze", inputs, is_input ? 2 : 1, is_input ? NULL : axes, result);
}

static enum vbs_status give_scan(struct vbs_onnx_import *im, const struct rounds *run, int scan)
{
    Onnx__AttributeProto *axis = axis_attribute(im, "axis");
    int *inputs = vbs_arena_alloc(im->arena, (size_t)run->n_runs, sizeof *inputs);
    struct vbs_onnx_state state;

    if (!axis || !inputs)
        return vbs_no_memory(im->ctx);
    if (run->n_runs == 0)
        return vbs_fail(im->ctx, VBS_UNSUPPORTED, "its body never runs, so that output %d is empty",
                        run->n_carried + scan);
    for (int i = 0; i < run->n_runs; i++) {
        VBS_TRY(stand_up(im, &run->scans[scan * run->room + i], &state));
        VBS_TRY(add_value(im, &state, &inputs[i]));
    }
    VBS_TRY(import_made(im, "Concat", inputs, run->n_runs, axis, &state));
    give_state(im, run->n_carried + scan, &state);
    return VBS_OK;
}

VBS_ONNX_HANDLER(loop)
{
    struct rounds run = {.n_runs = 0};

    (void)operator;
    VBS_TRY(begin_run(im, &run));
    while (run.goes_on && run.n_runs < run.most)
        VBS_TRY(run_body(im, &run));
    for (int i = 0; i < run.n_carried; i++)
        give_state(im, i, &run.carried[i]);
    for (int i = 0; i < run.n_scans; i++)
        if (vbs_onnx_output_used(im, run.n_carried + i))
            VBS_TRY(give_scan(im, &run, i));
    return VBS_OK;
}
