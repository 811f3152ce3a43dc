/* Graphs inside nodes: If and Loop. */
#include "cases/onnx_wrong.h"

#define FLOAT 1

/* Makes a graph with an output of this name. */
static struct bytes inner_graph(const char *output)
{
    struct bytes graph = {0}, value = onnx_value(output, FLOAT, 0, NULL);

    bytes_put(&graph, ONNX_OUTPUT, &value);
    return graph;
}

static struct bytes one_node(const char *op, const char *inputs, const char *output)
{
    struct bytes graph = inner_graph(output);

    onnx_add_node(&graph, onnx_node(op, inputs, output));
    return graph;
}

/* Adds an If whose condition is true. */
static void add_if(struct bytes *graph, struct bytes then_branch, struct bytes else_branch)
{
    struct bytes node = onnx_node("If", "true", "y");

    onnx_add_tensor(graph, onnx_floats("true", 1, 0, NULL));
    onnx_attribute_graph(&node, "then_branch", then_branch);
    onnx_attribute_graph(&node, "else_branch", else_branch);
    onnx_add_node(graph, node);
}

static void unchosen(struct bytes *graph)
{
    add_if(graph, one_node("Relu", "x", "t"), one_node("Unique", "x", "e"));
}

static void shadowed(struct bytes *graph)
{
    struct bytes branch = inner_graph("t");

    onnx_add_tensor(&branch, onnx_floats("x", 2, 1, (int64_t[]){8}));
    onnx_add_node(&branch, onnx_node("Add", "x r", "t"));
    onnx_add_node(graph, onnx_node("Relu", "x", "r"));
    add_if(graph, branch, one_node("Relu", "x", "e"));
}

static void chosen(struct bytes *graph)
{
    add_if(graph, one_node("Unique", "x", "t"), one_node("Relu", "x", "e"));
}

static void wrong_inside(struct bytes *graph)
{
    add_if(graph, one_node("Gemm", "x x", "t"), one_node("Relu", "x", "e"));
}

static void no_branch(struct bytes *graph)
{
    struct bytes node = onnx_node("If", "true", "y");

    onnx_add_tensor(graph, onnx_floats("true", 1, 0, NULL));
    onnx_attribute_graph(&node, "else_branch", one_node("Relu", "x", "e"));
    onnx_add_node(graph, node);
}

static void no_graph(struct bytes *graph)
{
    struct bytes node = onnx_node("If", "true", "y");

    onnx_add_tensor(graph, onnx_floats("true", 1, 0, NULL));
    onnx_attribute_int(&node, "then_branch", 1);
    onnx_attribute_graph(&node, "else_branch", one_node("Relu", "x", "e"));
    onnx_add_node(graph, node);
}

static void open_condition(struct bytes *graph)
{
    struct bytes node = onnx_node("If", "c", "y");

    onnx_add_node(graph, onnx_node("ReduceMax", "x", "c"));
    onnx_attribute_graph(&node, "then_branch", one_node("Relu", "x", "t"));
    onnx_attribute_graph(&node, "else_branch", one_node("Relu", "x", "e"));
    onnx_add_node(graph, node);
}

static void inner_dangling(struct bytes *graph)
{
    add_if(graph, one_node("Add", "x z", "t"), one_node("Relu", "x", "e"));
}

static void inner_of_unchosen(struct bytes *graph)
{
    add_if(graph, one_node("Relu", "x", "t"), one_node("Add", "x z", "e"));
}

static void inner_twice(struct bytes *graph)
{
    struct bytes branch = inner_graph("t");

    onnx_add_node(&branch, onnx_node("Relu", "x", "t"));
    onnx_add_node(&branch, onnx_node("Tanh", "x", "t"));
    add_if(graph, branch, one_node("Relu", "x", "e"));
}

static void inner_cycle(struct bytes *graph)
{
    struct bytes branch = inner_graph("t");

    onnx_add_node(&branch, onnx_node("Add", "x b", "a"));
    onnx_add_node(&branch, onnx_node("Relu", "a", "b"));
    onnx_add_node(&branch, onnx_node("Relu", "b", "t"));
    add_if(graph, branch, one_node("Relu", "x", "e"));
}

/* A branch that reads what is made from the output of its own node. */
static void outer_cycle(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Relu", "y", "z"));
    add_if(graph, one_node("Add", "x z", "t"), one_node("Relu", "x", "e"));
}

static void more_outputs(struct bytes *graph)
{
    struct bytes branch = one_node("Relu", "x", "t"), value = onnx_value("x", FLOAT, 0, NULL);

    bytes_put(&branch, ONNX_OUTPUT, &value);
    add_if(graph, branch, one_node("Relu", "x", "e"));
}

static void branch_of_another_shape(struct bytes *graph)
{
    add_if(graph, one_node("Shape", "x", "t"), one_node("Relu", "x", "e"));
}

/* Makes a branch with an If in it, in whose branch there is another one, and so on. */
static struct bytes nest(int depth)
{
    struct bytes graph, node;

    if (depth == 0)
        return one_node("Relu", "x", "t");
    graph = inner_graph("t");
    node = onnx_node("If", "true", "t");
    onnx_attribute_graph(&node, "then_branch", nest(depth - 1));
    onnx_attribute_graph(&node, "else_branch", one_node("Relu", "x", "e"));
    onnx_add_node(&graph, node);
    return graph;
}

static void deep(struct bytes *graph)
{
    add_if(graph, nest(6), one_node("Relu", "x", "e"));
}

static void too_deep(struct bytes *graph)
{
    add_if(graph, nest(7), one_node("Relu", "x", "e"));
}

/* Adds a Loop of these inputs whose body hands a tensor on, and gives it as a scan output. */
static void add_loop(struct bytes *graph, const char *inputs, const char *outputs,
                     const char *condition)
{
    static const char *const NAMES[] = {"i", "c", "v"};
    struct bytes body = inner_graph("goes"), value, node = onnx_node("Loop", inputs, outputs);

    for (int k = 0; k < 3; k++) {
        value = onnx_value(NAMES[k], FLOAT, 0, NULL);
        bytes_put(&body, ONNX_INPUT, &value);
    }
    for (int k = 0; k < 2; k++) {
        value = onnx_value("w", FLOAT, 0, NULL);
        bytes_put(&body, ONNX_OUTPUT, &value);
    }
    onnx_add_node(&body, onnx_node("Relu", "v", "w"));
    onnx_add_node(&body, onnx_node("Identity", condition, "goes"));
    onnx_attribute_graph(&node, "body", body);
    onnx_add_node(graph, node);
}

static void twice_round(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("two", 1, (int64_t[]){2}));
    add_loop(graph, "two - x", "y s", "c");
}

static void no_round(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("none", 1, (int64_t[]){0}));
    add_loop(graph, "none - x", "v s", "c");
    onnx_add_node(graph, onnx_node("Relu", "s", "y"));
}

static void negative_rounds(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("few", 1, (int64_t[]){INT64_MIN}));
    add_loop(graph, "few - x", "v s", "c");
    onnx_add_node(graph, onnx_node("Relu", "v", "y"));
}

static void many_rounds(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("many", 1, (int64_t[]){INT64_MAX}));
    add_loop(graph, "many - x", "v s", "c");
    onnx_add_node(graph, onnx_node("Relu", "s", "y"));
}

static void endless_loop(struct bytes *graph)
{
    add_loop(graph, "- - x", "y s", "c");
}

static void open_rounds(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("ReduceMax", "x", "m"));
    add_loop(graph, "m - x", "y s", "c");
}

static void open_end(struct bytes *graph)
{
    add_loop(graph, "- - x", "y s", "w");
}

static void more_carried(struct bytes *graph)
{
    add_loop(graph, "- - x x", "y s", "c");
}

const struct onnx_case onnx_inner_cases[] = {
    {"an operator that is not supported in a branch that is not taken", unchosen, VBS_OK, NULL},
    {"a name of a branch that the graph has too", shadowed, VBS_OK, NULL},
    {"an operator that is not supported in a branch", chosen, VBS_UNSUPPORTED,
     "node 'y' (If): operator not supported: Unique ('t')"},
    {"a node of a branch that is wrong, and both are named", wrong_inside, VBS_FORMAT,
     "node 'y' (If): node 't' (Gemm): its inputs are no matrices"},
    {"a branch that is missing", no_branch, VBS_FORMAT, "node 'y' (If): has no 'then_branch'"},
    {"a branch that is no graph", no_graph, VBS_FORMAT,
     "node 'y' (If): attribute 'then_branch' is no graph"},
    {"a condition on the input", open_condition, VBS_UNSUPPORTED,
     "node 'y' (If): its condition depends on the network's input; it is to be known once shapes "
     "are"},
    {"a name in a branch that nothing makes", inner_dangling, VBS_FORMAT,
     "node 'y' (If): reads 'z', which nothing makes"},
    {"such a name in a branch that is not taken", inner_of_unchosen, VBS_FORMAT,
     "node 'y' (If): reads 'z', which nothing makes"},
    {"a name made twice in a branch", inner_twice, VBS_FORMAT,
     "node 'y' (If): node 't' (Tanh): makes 't', which is there already"},
    {"a cycle in a branch", inner_cycle, VBS_FORMAT,
     "node 'y' (If): node 'b' (Relu): reads what is made from its own output"},
    {"a cycle through a branch", outer_cycle, VBS_FORMAT,
     "node 'y' (If): reads what is made from its own output"},
    {"a branch with more outputs", more_outputs, VBS_FORMAT,
     "node 'y' (If): 'then_branch' has 0 inputs and 2 outputs, not 0 and 1"},
    {"a branch that gives a constant", branch_of_another_shape, VBS_UNSUPPORTED,
     "output 'y' of the graph does not depend on its input"},
    {"eight graphs inside each other", deep, VBS_OK, NULL},
    {"nine graphs inside each other", too_deep, VBS_UNSUPPORTED, NULL},
    {"a loop that runs twice", twice_round, VBS_OK, NULL},
    {"a sequence without elements", no_round, VBS_UNSUPPORTED,
     "node 'v' (Loop): its body never runs, so that output 1 is empty"},
    {"a loop that runs less than never", negative_rounds, VBS_OK, NULL},
    {"a loop that runs 2^63 times", many_rounds, VBS_UNSUPPORTED,
     "node 'v' (Loop): graphs inside nodes have more than 65536 nodes, counted each time that they "
     "run"},
    {"a loop that never ends", endless_loop, VBS_UNSUPPORTED,
     "node 'y' (Loop): graphs inside nodes have more than 65536 nodes, counted each time that they "
     "run"},
    {"a trip count on the input", open_rounds, VBS_UNSUPPORTED,
     "node 'y' (Loop): its trip count depends on the network's input; it is to be known once "
     "shapes are"},
    {"a loop whose end depends on the input", open_end, VBS_UNSUPPORTED,
     "node 'y' (Loop): its condition depends on the network's input; it is to be known once shapes "
     "are"},
    {"a loop whose body takes less", more_carried, VBS_FORMAT,
     "node 'y' (Loop): 'body' has 3 inputs and 3 outputs, not 4 and 3"},
    {NULL, NULL, VBS_OK, NULL},
};
