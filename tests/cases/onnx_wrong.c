#include "cases/onnx_wrong.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define FLOAT  1
#define INT8   3
#define INT64  7
#define STRING 8

static void add_weights(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("w", 0.5f, 4, (int64_t[]){4, 3, 3, 3}));
}

static void nothing(struct bytes *graph)
{
    bytes_clear(graph);
}

static void sound(struct bytes *graph)
{
    add_weights(graph);
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void no_output(struct bytes *graph)
{
    struct bytes value = onnx_value("x", FLOAT, 2, (int64_t[]){0, 3});

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
}

static void dangling(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Conv", "x weights", "y"));
}

static void dangling_output(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Relu", "x", "z"));
}

static void cycle(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Add", "x b", "a"));
    onnx_add_node(graph, onnx_node("Relu", "a", "b"));
    onnx_add_node(graph, onnx_node("Relu", "b", "y"));
}

static void itself(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Add", "x y", "y"));
}

static void twice(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Relu", "x", "a"));
    onnx_add_node(graph, onnx_node("Tanh", "x", "a"));
    onnx_add_node(graph, onnx_node("Relu", "a", "y"));
}

static void overwritten(struct bytes *graph)
{
    add_weights(graph);
    onnx_add_node(graph, onnx_node("Relu", "x", "w"));
    onnx_add_node(graph, onnx_node("Relu", "w", "y"));
}

static void two_initialisers(struct bytes *graph)
{
    add_weights(graph);
    add_weights(graph);
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void unknown_operators(struct bytes *graph)
{
    struct bytes node = onnx_node("Attention", "b", "c");

    bytes_text(&node, 7, "com.microsoft");
    onnx_add_node(graph, onnx_node("Unique", "x", "a"));
    onnx_add_node(graph, onnx_node("Det", "a", "b"));
    onnx_add_node(graph, node);
    onnx_add_node(graph, onnx_node("Det", "c", "y"));
    onnx_add_node(graph, onnx_node("Loop", "x", "unread"));
}

static void few_bytes(struct bytes *graph)
{
    struct bytes tensor = onnx_tensor("w", FLOAT, 4, (int64_t[]){4, 3, 3, 3});

    bytes_data(&tensor, 9, "1234", 4);
    onnx_add_tensor(graph, tensor);
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void negative_weights(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_tensor("w", FLOAT, 2, (int64_t[]){4, -3}));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void huge_weights(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_tensor("w", FLOAT, 3, (int64_t[]){1 << 30, 1 << 30, 1 << 30}));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void many_dims(struct bytes *graph)
{
    static const int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

    onnx_add_tensor(graph, onnx_floats("w", 1, 9, dims));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void strings(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_tensor("w", 8, 1, (int64_t[]){1}));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_channels(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("w", 1, 4, (int64_t[]){4, 5, 3, 3}));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_bias(struct bytes *graph)
{
    add_weights(graph);
    onnx_add_tensor(graph, onnx_floats("b", 1, 1, (int64_t[]){5}));
    onnx_add_node(graph, onnx_node("Conv", "x w b", "y"));
}

static void wide_kernel(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("w", 1, 4, (int64_t[]){1, 3, 9, 9}));
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_attribute(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_text(&node, "group", "one");
    onnx_add_node(graph, node);
}

static void wrong_pads(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_ints(&node, "pads", 3, (int64_t[]){1, 1, 1});
    onnx_add_node(graph, node);
}

static void negative_pads(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_ints(&node, "pads", 4, (int64_t[]){1, 1, -1, 1});
    onnx_add_node(graph, node);
}

static void unknown_mode(struct bytes *graph)
{
    struct bytes node = onnx_node("Pad", "x p", "y");

    onnx_add_tensor(graph, onnx_longs("p", 8, (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}));
    onnx_attribute_text(&node, "mode", "mirror");
    onnx_add_node(graph, node);
}

static void trains(struct bytes *graph)
{
    struct bytes node = onnx_node("BatchNormalization", "x c c c c", "y");

    onnx_add_tensor(graph, onnx_floats("c", 1, 1, (int64_t[]){3}));
    onnx_attribute_int(&node, "training_mode", 1);
    onnx_add_node(graph, node);
}

static void trains_by_outputs(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("c", 1, 1, (int64_t[]){3}));
    onnx_add_node(graph,
                  onnx_node("BatchNormalization", "x c c c c", "y mean var saved.mean saved.var"));
}

static void indices(struct bytes *graph)
{
    struct bytes node = onnx_node("MaxPool", "x", "z y");

    onnx_attribute_ints(&node, "kernel_shape", 2, (int64_t[]){2, 2});
    onnx_add_node(graph, node);
}

static void to_int(struct bytes *graph)
{
    struct bytes node = onnx_node("Cast", "x", "y");

    onnx_attribute_int(&node, "to", INT8);
    onnx_add_node(graph, node);
}

static void constant_output(struct bytes *graph)
{
    add_weights(graph);
    onnx_add_node(graph, onnx_node("Neg", "w", "y"));
}

static void odd_reshape(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("s", 2, (int64_t[]){0, 100}));
    onnx_add_node(graph, onnx_node("Reshape", "x s", "y"));
}

static void negative_reshape(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("s", 3, (int64_t[]){0, -1, -7}));
    onnx_add_node(graph, onnx_node("Reshape", "x s", "y"));
}

static void shapes_differ(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("b", 1, 2, (int64_t[]){7, 8}));
    onnx_add_node(graph, onnx_node("Add", "x b", "y"));
}

static void not_a_number(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("b", NAN, 0, NULL));
    onnx_add_node(graph, onnx_node("Mul", "x b", "y"));
}

static void no_perm(struct bytes *graph)
{
    struct bytes node = onnx_node("Transpose", "x", "y");

    onnx_attribute_ints(&node, "perm", 4, (int64_t[]){0, 1, 1, 3});
    onnx_add_node(graph, node);
}

static void far_gather(struct bytes *graph)
{
    struct bytes node = onnx_node("Gather", "x i", "y");

    onnx_add_tensor(graph, onnx_longs("i", 2, (int64_t[]){0, 9}));
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(graph, node);
}

static void long_range(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("n", 1, (int64_t[]){INT64_MAX}));
    onnx_add_tensor(graph, onnx_longs("o", 1, (int64_t[]){1}));
    onnx_add_node(graph, onnx_node("Range", "o n o", "r"));
    onnx_add_node(graph, onnx_node("Mul", "x r", "y"));
}

static void endless_slice(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("a", 1, (int64_t[]){INT64_MIN}));
    onnx_add_tensor(graph, onnx_longs("b", 1, (int64_t[]){INT64_MIN}));
    onnx_add_tensor(graph, onnx_longs("d", 1, (int64_t[]){3}));
    onnx_add_tensor(graph, onnx_longs("s", 1, (int64_t[]){INT64_MIN}));
    onnx_add_node(graph, onnx_node("Slice", "x a b d s", "y"));
}

/* A gru of two states over the 4 rows of q; more are its inputs from number 4 on. */
static void gru_with(struct bytes *graph, const char *more)
{
    struct bytes value = onnx_value("q", FLOAT, 3, (int64_t[]){4, 1, 5}), node;
    char names[40];

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(graph, onnx_floats("w", 1, 3, (int64_t[]){1, 6, 5}));
    onnx_add_tensor(graph, onnx_floats("r", 1, 3, (int64_t[]){1, 6, 2}));
    snprintf(names, sizeof names, "q w r - %s", more);
    node = onnx_node("GRU", names, "y");
    onnx_attribute_int(&node, "hidden_size", 2);
    onnx_add_node(graph, node);
}

static void odd_state(struct bytes *graph)
{
    struct bytes value = onnx_value("h", FLOAT, 3, (int64_t[]){1, 1, 9});

    gru_with(graph, "- h");
    bytes_put(graph, ONNX_INPUT, &value);
}

/* A sequence of no elements. */
static void empty_sequence(struct bytes *graph)
{
    gru_with(graph, "n");
    onnx_add_values(graph, "n", 6, 1, (int64_t[]){1}, &(int32_t){0});
}

static void constant_state(struct bytes *graph)
{
    gru_with(graph, "- h");
    onnx_add_tensor(graph, onnx_floats("h", 0.5F, 3, (int64_t[]){1, 1, 2}));
}

static void other_input(struct bytes *graph, int type, int n, const int64_t *dims)
{
    struct bytes value = onnx_value("x", type, n, dims);

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_node(graph, onnx_node("Relu", "x", "y"));
}

static void text_input(struct bytes *graph)
{
    other_input(graph, STRING, 2, (int64_t[]){0, 3});
}

static void empty_dimension(struct bytes *graph)
{
    struct bytes value = onnx_value("z", FLOAT, 2, (int64_t[]){0, -3});

    bytes_put(graph, ONNX_INPUT, &value);
    onnx_add_node(graph, onnx_node("Add", "x z", "y"));
}

static void negative_input(struct bytes *graph)
{
    other_input(graph, FLOAT, 3, (int64_t[]){0, 3, -8});
}

static void open_input(struct bytes *graph)
{
    other_input(graph, FLOAT, 3, (int64_t[]){0, 3, 0});
}

static void huge_input(struct bytes *graph)
{
    other_input(graph, FLOAT, 4, (int64_t[]){1, 1 << 20, 1 << 20, 1 << 20});
}

static void whole_conv(struct bytes *graph)
{
    struct bytes value = onnx_value("x", FLOAT, 4, (int64_t[]){2, 3, 8, 8}), node;

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    add_weights(graph);
    onnx_add_node(graph, onnx_node("Conv", "x w", "c"));
    node = onnx_node("Softmax", "c", "y");
    onnx_attribute_int(&node, "axis", 0);
    onnx_add_node(graph, node);
}

/* Adds a convolution with weights outside the file, at a location of any bytes. */
static void add_external(struct bytes *graph, const char *location, size_t length,
                         const char *offset)
{
    struct bytes tensor = onnx_tensor("w", FLOAT, 4, (int64_t[]){4, 3, 3, 3}), entry = {0};

    bytes_text(&entry, 1, "location");
    bytes_data(&entry, 2, location, length);
    bytes_put(&tensor, 13, &entry);
    bytes_text(&entry, 1, "offset");
    bytes_text(&entry, 2, offset);
    bytes_put(&tensor, 13, &entry);
    bytes_int(&tensor, 14, 1);
    onnx_add_tensor(graph, tensor);
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

void onnx_add_external(struct bytes *graph, const char *location, const char *offset)
{
    add_external(graph, location, strlen(location), offset);
}

static void missing_file(struct bytes *graph)
{
    onnx_add_external(graph, "none.bin", "0");
}

static void outside(struct bytes *graph)
{
    onnx_add_external(graph, "a/../../w.bin", "0");
}

static void absolute(struct bytes *graph)
{
    onnx_add_external(graph, "/etc/passwd", "0");
}

static void above(struct bytes *graph)
{
    onnx_add_external(graph, "..", "0");
}

static void below_and_above(struct bytes *graph)
{
    onnx_add_external(graph, ".//a/./../w.bin", "0");
}

static void nowhere(struct bytes *graph)
{
    onnx_add_external(graph, "", "0");
}

static void zero_byte(struct bytes *graph)
{
    add_external(graph, "short.bin\0/../../w.bin", 22, "0");
}

static void zero_bytes_only(struct bytes *graph)
{
    add_external(graph, "\0", 1, "0");
}

static void zero_byte_in_operator(struct bytes *graph)
{
    struct bytes node = onnx_node("", "x", "y");

    bytes_data(&node, 4, "Relu\0x", 6);
    onnx_add_node(graph, node);
}

static void zero_byte_in_equation(struct bytes *graph)
{
    struct bytes node = onnx_node("Einsum", "x", "y"), attribute = {0};

    bytes_text(&attribute, 1, "equation");
    bytes_data(&attribute, 4, "nchw->nchw\0->n", 14);
    bytes_int(&attribute, 20, 3);
    bytes_put(&node, 5, &attribute);
    onnx_add_node(graph, node);
}

static void short_file(struct bytes *graph)
{
    onnx_add_external(graph, "short.bin", "64");
}

static void odd_offset(struct bytes *graph)
{
    onnx_add_external(graph, "short.bin", "-5");
}

/* Adds y = x + op(d, i, u), where d is [2, 3] and i a list of rows of two indices. */
static void index_rows(struct bytes *graph, const char *op, int64_t n, const int64_t *rows,
                       int64_t n_updates)
{
    onnx_add_values(graph, "i", INT64, 2, (int64_t[]){n, 2}, rows);
    onnx_add_tensor(graph, onnx_floats("d", 1, 2, (int64_t[]){2, 3}));
    if (n_updates > 0)
        onnx_add_tensor(graph, onnx_floats("u", 1, 1, &n_updates));
    onnx_add_node(graph, onnx_node(op, n_updates > 0 ? "d i u" : "d i", "c"));
    onnx_add_node(graph, onnx_node("Add", "x c", "y"));
}

static void far_rows(struct bytes *graph)
{
    index_rows(graph, "GatherND", 2, (int64_t[]){0, 1, -3, 0}, 0);
}

static void far_scatter(struct bytes *graph)
{
    index_rows(graph, "ScatterND", 1, (int64_t[]){1, INT64_MIN}, 1);
}

static void odd_updates(struct bytes *graph)
{
    index_rows(graph, "ScatterND", 1, (int64_t[]){1, 2}, 2);
}

static void many_tiles(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("d", 1, 1, (int64_t[]){2}));
    onnx_add_tensor(graph, onnx_longs("n", 1, (int64_t[]){1 << 21}));
    onnx_add_node(graph, onnx_node("Tile", "d n", "c"));
    onnx_add_node(graph, onnx_node("Add", "x c", "y"));
}

static void spare_input(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Exp", "x", "e"));
    onnx_add_node(graph, onnx_node("Relu", "x e", "y"));
}

static void later_input(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("axes", 1, (int64_t[]){2}));
    onnx_add_node(graph, onnx_node("ReduceMax", "x axes", "y"));
}

static void empty_input(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Relu", "x -", "y"));
}

/* Runs an operator with a state of 2 elements over all values of x, with a first state of this
 * value. */
static void recur(struct bytes *graph, const char *op, int64_t gates, float state)
{
    onnx_add_tensor(graph, onnx_floats("w", 0.5f, 3, (int64_t[]){1, 2 * gates, 8}));
    onnx_add_tensor(graph, onnx_floats("r", 0.5f, 3, (int64_t[]){1, 2 * gates, 2}));
    onnx_add_tensor(graph, onnx_floats("h", state, 3, (int64_t[]){1, 1, 2}));
    onnx_add_node(graph, onnx_node("Flatten", "x", "f"));
    onnx_add_node(graph, onnx_node("Unsqueeze", "f u", "t"));
    onnx_add_tensor(graph, onnx_longs("u", 1, (int64_t[]){0}));
    onnx_add_node(graph, onnx_node(op, "t w r - - h", "y"));
}

static void short_weights(struct bytes *graph)
{
    recur(graph, "GRU", 3, 0);
}

static void output_twice(struct bytes *graph)
{
    struct bytes value = onnx_value("y", FLOAT, 0, NULL);

    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_node(graph, onnx_node("Relu", "x", "y"));
}

static void summed_updates(struct bytes *graph)
{
    struct bytes node = onnx_node("ScatterND", "x i u", "y");

    onnx_add_tensor(graph, onnx_longs("list", 4, (int64_t[]){0, 0, 0, 0}));
    onnx_add_tensor(graph, onnx_longs("shape", 2, (int64_t[]){1, 4}));
    onnx_add_node(graph, onnx_node("Reshape", "list shape", "i"));
    onnx_add_tensor(graph, onnx_floats("u", 1, 1, (int64_t[]){1}));
    onnx_attribute_text(&node, "reduction", "add");
    onnx_add_node(graph, node);
}

static void open_indices(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("Cast", "x", "i"));
    onnx_add_node(graph, onnx_node("GatherND", "x i", "y"));
}

static void fewer_indices(struct bytes *graph)
{
    struct bytes pool = onnx_node("GlobalMaxPool", "x", "i"), node;

    onnx_add_node(graph, pool);
    onnx_add_tensor(graph, onnx_floats("table", 1, 4, (int64_t[]){1, 3, 8, 8}));
    node = onnx_node("GatherElements", "table i", "y");
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(graph, node);
}

static void far_element(struct bytes *graph)
{
    struct bytes value = onnx_value("x", FLOAT, 2, (int64_t[]){1, 3});
    struct bytes node = onnx_node("GatherElements", "x i", "y");

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(graph, onnx_longs("list", 1, (int64_t[]){3}));
    onnx_add_tensor(graph, onnx_longs("shape", 2, (int64_t[]){1, 1}));
    onnx_add_node(graph, onnx_node("Reshape", "list shape", "i"));
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(graph, node);
}

static void sum_products(struct bytes *graph, const char *inputs, const char *equation)
{
    struct bytes node = onnx_node("Einsum", inputs, "y");

    onnx_attribute_text(&node, "equation", equation);
    onnx_add_node(graph, node);
}

static void short_equation(struct bytes *graph)
{
    sum_products(graph, "x x", "nchw->nc");
}

static void unknown_label(struct bytes *graph)
{
    sum_products(graph, "x", "nchw->nck");
}

static void other_sizes(struct bytes *graph)
{
    sum_products(graph, "x x", "nchw,nwhc->n");
}

const struct onnx_case onnx_cases[] = {
    {"a sound graph", sound, VBS_OK, NULL},
    {"an empty graph", nothing, VBS_FORMAT, "the graph has no outputs"},
    {"no outputs", no_output, VBS_FORMAT, "the graph has no outputs"},
    {"a name that nothing makes", dangling, VBS_FORMAT,
     "node 'y' (Conv): reads 'weights', which nothing makes"},
    {"an output that nothing makes", dangling_output, VBS_FORMAT,
     "output 'y' of the graph is made by nothing"},
    {"a cycle", cycle, VBS_FORMAT, "node 'b' (Relu): reads what is made from its own output"},
    {"a node that reads itself", itself, VBS_FORMAT,
     "node 'y' (Add): reads what is made from its own output"},
    {"a name made twice", twice, VBS_FORMAT, "node 'a' (Tanh): makes 'a', which is there already"},
    {"an initialiser that is made", overwritten, VBS_FORMAT,
     "node 'w' (Relu): makes 'w', which is there already"},
    {"two initialisers of a name", two_initialisers, VBS_FORMAT,
     "initialiser 'w' is there twice, or unnamed"},
    {"operators that are not supported", unknown_operators, VBS_UNSUPPORTED,
     "operators not supported: Unique ('a'), Det ('b', 2 times), com.microsoft.Attention "
     "('c')"},
    {"too few values", few_bytes, VBS_FORMAT,
     "tensor 'w': 4 bytes of values where its shape asks for 432"},
    {"a negative dimension of weights", negative_weights, VBS_FORMAT,
     "tensor 'w': dimension 1 is -3"},
    {"weights that are too large", huge_weights, VBS_FORMAT, "tensor 'w': more than 2^36 elements"},
    {"too many dimensions", many_dims, VBS_UNSUPPORTED, "tensor 'w': 9 dimensions, more than 8"},
    {"strings", strings, VBS_UNSUPPORTED, "tensor 'w': element type STRING"},
    {"weights for other channels", wrong_channels, VBS_FORMAT,
     "node 'y' (Conv): weights for 5 channels in each of 1 groups, its input has 3"},
    {"a bias for other channels", wrong_bias, VBS_FORMAT,
     "node 'y' (Conv): input 2 has 5 values for 4 channels"},
    {"a kernel beyond the input", wide_kernel, VBS_FORMAT,
     "node 'y' (Conv): kernel spans 9, more than the 8 of its padded input"},
    {"an attribute of another type", wrong_attribute, VBS_FORMAT,
     "node 'y' (Conv): attribute 'group' is no whole number"},
    {"pads of another number", wrong_pads, VBS_FORMAT,
     "node 'y' (Conv): 'pads' has 3 values for 4 spatial dimensions"},
    {"negative pads", negative_pads, VBS_FORMAT, "node 'y' (Conv): 'pads' has a value of -1"},
    {"a mode that nobody knows", unknown_mode, VBS_UNSUPPORTED,
     "node 'y' (Pad): attribute 'mode' is 'mirror'"},
    {"training", trains, VBS_UNSUPPORTED, "node 'y' (BatchNormalization): is in training mode"},
    {"training of version 9", trains_by_outputs, VBS_UNSUPPORTED,
     "node 'y' (BatchNormalization): is in training mode"},
    {"indices of a pool", indices, VBS_UNSUPPORTED,
     "node 'z' (MaxPool): its indices are not supported"},
    {"a cast to whole numbers", to_int, VBS_OK, NULL},
    {"a first state of another size", odd_state, VBS_FORMAT,
     "node 'y' (GRU): input 5 has shape 1x1x9, not 1x1x2"},
    {"a sequence of no elements", empty_sequence, VBS_UNSUPPORTED,
     "node 'y' (GRU): the length of a sequence is 0; it is to be that of the input, 4"},
    {"a first state that is no 0", constant_state, VBS_UNSUPPORTED,
     "node 'y' (GRU): begins with a state that is a constant other than 0"},
    {"an output of constants", constant_output, VBS_UNSUPPORTED, "its outputs depend on no input"},
    {"a shape that does not fit", odd_reshape, VBS_FORMAT,
     "node 'y' (Reshape): 192 elements do not fit the new shape"},
    {"a negative shape", negative_reshape, VBS_FORMAT,
     "node 'y' (Reshape): dimension 2 of the new shape is -7"},
    {"operands of other shapes", shapes_differ, VBS_FORMAT,
     "node 'y' (Add): shapes 3x8x8 and 7x8 do not go together"},
    {"a scalar that is no number", not_a_number, VBS_FORMAT, "node 'y' (Mul): 'b' is no number"},
    {"no permutation", no_perm, VBS_FORMAT, "node 'y' (Transpose): 'perm' is no permutation"},
    {"an index beyond", far_gather, VBS_FORMAT, "node 'y' (Gather): there is no element 9 among 3"},
    {"a row of indices beyond", far_rows, VBS_FORMAT,
     "node 'c' (GatherND): there is no element -3 among 2"},
    {"an update beyond", far_scatter, VBS_FORMAT,
     "node 'c' (ScatterND): there is no element -9223372036854775808 among 3"},
    {"updates of another shape", odd_updates, VBS_FORMAT,
     "node 'c' (ScatterND): its updates do not have the shape of what they update"},
    {"a constant repeated too often", many_tiles, VBS_UNSUPPORTED,
     "node 'c' (Tile): constants of 4194304 elements are too large to compute with"},
    {"more inputs than an operator takes", spare_input, VBS_FORMAT,
     "node 'y' (Relu): has 2 inputs; Relu of opset 13 takes at most 1"},
    {"an input of a later version", later_input, VBS_FORMAT,
     "node 'y' (ReduceMax): has 2 inputs; ReduceMax of opset 13 takes at most 1"},
    {"an input that is left out at the end", empty_input, VBS_OK, NULL},
    {"weights of a sequence of other elements", short_weights, VBS_FORMAT,
     "node 'y' (GRU): input 1 has shape 1x6x8, not 1x6x192"},
    {"an output named twice", output_twice, VBS_FORMAT, "output 'y' of the graph is named twice"},
    {"a range without end", long_range, VBS_UNSUPPORTED,
     "node 'r' (Range): the range is too long, or endless"},
    {"a slice of extremes, which are clamped", endless_slice, VBS_OK, NULL},
    {"an input of texts", text_input, VBS_UNSUPPORTED,
     "input 'x' has element type STRING, no numbers"},
    {"a second input with a size below 0", empty_dimension, VBS_FORMAT,
     "dimension 1 of input 'z' is -3"},
    {"a negative input", negative_input, VBS_FORMAT, "dimension 2 of input 'x' is -8"},
    {"an open input", open_input, VBS_USAGE,
     "dimension 2 of input 'x' is open; give the shape of a sample (--input 3xN)"},
    {"an input that is too large", huge_input, VBS_FORMAT,
     "input 'x' is larger than 2^36 elements"},
    {"samples that mix behind a convolution", whole_conv, VBS_OK, NULL},
    {"weights in a file that is not there", missing_file, VBS_IO, NULL},
    {"weights outside the folder", outside, VBS_FORMAT,
     "tensor 'w': its values are in 'a/../../w.bin', which is not within the model's folder"},
    {"weights at an absolute path", absolute, VBS_FORMAT,
     "tensor 'w': its values are in '/etc/passwd', which is not within the model's folder"},
    {"weights in the folder above", above, VBS_FORMAT,
     "tensor 'w': its values are in '..', which is not within the model's folder"},
    {"weights above a folder below", below_and_above, VBS_FORMAT,
     "tensor 'w': its values are in './/a/./../w.bin', which is not within the model's folder"},
    {"weights at no place", nowhere, VBS_FORMAT,
     "tensor 'w': its values are in '', which is not within the model's folder"},
    {"weights at a place with a zero byte", zero_byte, VBS_FORMAT,
     "byte 80: the text 'short.bin' goes on behind a zero byte"},
    {"weights at a place of a zero byte", zero_bytes_only, VBS_FORMAT,
     "byte 80: the text '' goes on behind a zero byte"},
    {"an operator with a zero byte", zero_byte_in_operator, VBS_FORMAT,
     "byte 63: the text 'Relu' goes on behind a zero byte"},
    {"an equation with a zero byte", zero_byte_in_equation, VBS_FORMAT,
     "node 'y' (Einsum): attribute 'equation' is no text"},
    {"weights beyond a file's end", short_file, VBS_FORMAT,
     "tensor 'w': 'short.bin' has 100 bytes, too few for 432 at 64"},
    {"weights before a file", odd_offset, VBS_FORMAT,
     "tensor 'w': '-5' is no offset of external data"},
    {"updates that are added on data", summed_updates, VBS_UNSUPPORTED,
     "node 'y' (ScatterND): combines updates with what is there; on data they can only take its "
     "place"},
    {"rows of computed indices that are too long", open_indices, VBS_FORMAT,
     "node 'y' (GatherND): rows of 8 indices into 4 dimensions, of which 0 are common"},
    {"indices that are computed for fewer elements of a constant", fewer_indices, VBS_UNSUPPORTED,
     "node 'y' (GatherElements): indices that vary are supported for all elements of a constant "
     "only; dimension 2 has 1 of 8"},
    {"an index of an element beyond", far_element, VBS_FORMAT,
     "node 'y' (GatherElements): there is no element 3 among 3"},
    {"an equation of fewer factors", short_equation, VBS_FORMAT,
     "node 'y' (Einsum): its equation does not suit its inputs"},
    {"an equation whose result has a label of its own", unknown_label, VBS_FORMAT,
     "node 'y' (Einsum): its equation does not suit its inputs"},
    {"a label of two sizes", other_sizes, VBS_FORMAT,
     "node 'y' (Einsum): its equation does not suit its inputs"},
    {NULL, NULL, VBS_OK, NULL},
};
