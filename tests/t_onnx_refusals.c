/* ONNX files that are wrong, or ask for what is not supported: one clear line each, which names the
 * file and the node or tensor; and any file that is cut off or damaged is refused or read. */
#include "vbslab/model.h"

#include "model/onnx.h"

#include "onnx_bytes.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLOAT 1
#define INT64 7

static char folder[] = "/tmp/t_onnx_refusals.XXXXXX";

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* ---- graphs ---- */

static void add_node(struct bytes *graph, struct bytes node)
{
    bytes_put(graph, ONNX_NODE, &node);
}

static void add_tensor(struct bytes *graph, struct bytes tensor)
{
    bytes_put(graph, ONNX_INITIALIZER, &tensor);
}

static void add_weights(struct bytes *graph)
{
    add_tensor(graph, onnx_floats("w", 0.5f, 4, (int64_t[]){4, 3, 3, 3}));
}

static void nothing(struct bytes *graph)
{
    bytes_clear(graph);
}

static void sound(struct bytes *graph)
{
    add_weights(graph);
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void no_output(struct bytes *graph)
{
    struct bytes value = onnx_value("x", FLOAT, 2, (int64_t[]){0, 3});

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
}

static void dangling(struct bytes *graph)
{
    add_node(graph, onnx_node("Conv", "x weights", "y"));
}

static void dangling_output(struct bytes *graph)
{
    add_node(graph, onnx_node("Relu", "x", "z"));
}

static void cycle(struct bytes *graph)
{
    add_node(graph, onnx_node("Add", "x b", "a"));
    add_node(graph, onnx_node("Relu", "a", "b"));
    add_node(graph, onnx_node("Relu", "b", "y"));
}

static void itself(struct bytes *graph)
{
    add_node(graph, onnx_node("Add", "x y", "y"));
}

static void twice(struct bytes *graph)
{
    add_node(graph, onnx_node("Relu", "x", "a"));
    add_node(graph, onnx_node("Tanh", "x", "a"));
    add_node(graph, onnx_node("Relu", "a", "y"));
}

static void overwritten(struct bytes *graph)
{
    add_weights(graph);
    add_node(graph, onnx_node("Relu", "x", "w"));
    add_node(graph, onnx_node("Relu", "w", "y"));
}

static void two_initialisers(struct bytes *graph)
{
    add_weights(graph);
    add_weights(graph);
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void unknown_operators(struct bytes *graph)
{
    struct bytes node = onnx_node("FusedConv", "b", "c");

    bytes_text(&node, 7, "com.microsoft");
    add_node(graph, onnx_node("NonZero", "x", "a"));
    add_node(graph, onnx_node("Einsum", "a", "b"));
    add_node(graph, node);
    add_node(graph, onnx_node("Einsum", "c", "y"));
    add_node(graph, onnx_node("Loop", "x", "unread"));
}

static void few_bytes(struct bytes *graph)
{
    struct bytes tensor = onnx_tensor("w", FLOAT, 4, (int64_t[]){4, 3, 3, 3});

    bytes_data(&tensor, 9, "1234", 4);
    add_tensor(graph, tensor);
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void negative_weights(struct bytes *graph)
{
    add_tensor(graph, onnx_tensor("w", FLOAT, 2, (int64_t[]){4, -3}));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void huge_weights(struct bytes *graph)
{
    add_tensor(graph, onnx_tensor("w", FLOAT, 3, (int64_t[]){1 << 30, 1 << 30, 1 << 30}));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void many_dims(struct bytes *graph)
{
    static const int64_t dims[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};

    add_tensor(graph, onnx_floats("w", 1, 9, dims));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void strings(struct bytes *graph)
{
    add_tensor(graph, onnx_tensor("w", 8, 1, (int64_t[]){1}));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_channels(struct bytes *graph)
{
    add_tensor(graph, onnx_floats("w", 1, 4, (int64_t[]){4, 5, 3, 3}));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_bias(struct bytes *graph)
{
    add_weights(graph);
    add_tensor(graph, onnx_floats("b", 1, 1, (int64_t[]){5}));
    add_node(graph, onnx_node("Conv", "x w b", "y"));
}

static void wide_kernel(struct bytes *graph)
{
    add_tensor(graph, onnx_floats("w", 1, 4, (int64_t[]){1, 3, 9, 9}));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void wrong_attribute(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_text(&node, "group", "one");
    add_node(graph, node);
}

static void wrong_pads(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_ints(&node, "pads", 3, (int64_t[]){1, 1, 1});
    add_node(graph, node);
}

static void negative_pads(struct bytes *graph)
{
    struct bytes node = onnx_node("Conv", "x w", "y");

    add_weights(graph);
    onnx_attribute_ints(&node, "pads", 4, (int64_t[]){1, 1, -1, 1});
    add_node(graph, node);
}

static void unknown_mode(struct bytes *graph)
{
    struct bytes node = onnx_node("Pad", "x p", "y");

    add_tensor(graph, onnx_longs("p", 8, (int64_t[]){0, 0, 1, 1, 0, 0, 1, 1}));
    onnx_attribute_text(&node, "mode", "mirror");
    add_node(graph, node);
}

static void computed_weights(struct bytes *graph)
{
    add_node(graph, onnx_node("Relu", "x", "w"));
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void trains(struct bytes *graph)
{
    struct bytes node = onnx_node("BatchNormalization", "x c c c c", "y");

    add_tensor(graph, onnx_floats("c", 1, 1, (int64_t[]){3}));
    onnx_attribute_int(&node, "training_mode", 1);
    add_node(graph, node);
}

static void indices(struct bytes *graph)
{
    struct bytes node = onnx_node("MaxPool", "x", "z y");

    onnx_attribute_ints(&node, "kernel_shape", 2, (int64_t[]){2, 2});
    add_node(graph, node);
}

static void to_int(struct bytes *graph)
{
    struct bytes node = onnx_node("Cast", "x", "y");

    onnx_attribute_int(&node, "to", INT64);
    add_node(graph, node);
}

static void constant_output(struct bytes *graph)
{
    add_weights(graph);
    add_node(graph, onnx_node("Neg", "w", "y"));
}

static void odd_reshape(struct bytes *graph)
{
    add_tensor(graph, onnx_longs("s", 2, (int64_t[]){0, 100}));
    add_node(graph, onnx_node("Reshape", "x s", "y"));
}

static void negative_reshape(struct bytes *graph)
{
    add_tensor(graph, onnx_longs("s", 3, (int64_t[]){0, -1, -7}));
    add_node(graph, onnx_node("Reshape", "x s", "y"));
}

static void shapes_differ(struct bytes *graph)
{
    add_tensor(graph, onnx_floats("b", 1, 2, (int64_t[]){7, 8}));
    add_node(graph, onnx_node("Add", "x b", "y"));
}

static void not_a_number(struct bytes *graph)
{
    add_tensor(graph, onnx_floats("b", NAN, 0, NULL));
    add_node(graph, onnx_node("Mul", "x b", "y"));
}

static void no_perm(struct bytes *graph)
{
    struct bytes node = onnx_node("Transpose", "x", "y");

    onnx_attribute_ints(&node, "perm", 4, (int64_t[]){0, 1, 1, 3});
    add_node(graph, node);
}

static void far_gather(struct bytes *graph)
{
    struct bytes node = onnx_node("Gather", "x i", "y");

    add_tensor(graph, onnx_longs("i", 2, (int64_t[]){0, 9}));
    onnx_attribute_int(&node, "axis", 1);
    add_node(graph, node);
}

static void long_range(struct bytes *graph)
{
    add_tensor(graph, onnx_longs("n", 1, (int64_t[]){INT64_MAX}));
    add_tensor(graph, onnx_longs("o", 1, (int64_t[]){1}));
    add_node(graph, onnx_node("Range", "o n o", "r"));
    add_node(graph, onnx_node("Mul", "x r", "y"));
}

static void endless_slice(struct bytes *graph)
{
    add_tensor(graph, onnx_longs("a", 1, (int64_t[]){INT64_MIN}));
    add_tensor(graph, onnx_longs("b", 1, (int64_t[]){INT64_MIN}));
    add_tensor(graph, onnx_longs("d", 1, (int64_t[]){3}));
    add_tensor(graph, onnx_longs("s", 1, (int64_t[]){INT64_MIN}));
    add_node(graph, onnx_node("Slice", "x a b d s", "y"));
}

static void two_inputs(struct bytes *graph)
{
    struct bytes value = onnx_value("z", FLOAT, 4, (int64_t[]){0, 3, 8, 8});

    bytes_put(graph, ONNX_INPUT, &value);
    add_node(graph, onnx_node("Add", "x z", "y"));
}

static void other_input(struct bytes *graph, int type, int n, const int64_t *dims)
{
    struct bytes value = onnx_value("x", type, n, dims);

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    add_node(graph, onnx_node("Relu", "x", "y"));
}

static void int_input(struct bytes *graph)
{
    other_input(graph, INT64, 2, (int64_t[]){0, 3});
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
    add_node(graph, onnx_node("Conv", "x w", "c"));
    node = onnx_node("Softmax", "c", "y");
    onnx_attribute_int(&node, "axis", 0);
    add_node(graph, node);
}

static void add_external(struct bytes *graph, const char *location, const char *offset)
{
    struct bytes tensor = onnx_tensor("w", FLOAT, 4, (int64_t[]){4, 3, 3, 3}), entry = {0};

    bytes_text(&entry, 1, "location");
    bytes_text(&entry, 2, location);
    bytes_put(&tensor, 13, &entry);
    bytes_text(&entry, 1, "offset");
    bytes_text(&entry, 2, offset);
    bytes_put(&tensor, 13, &entry);
    bytes_int(&tensor, 14, 1);
    add_tensor(graph, tensor);
    add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void missing_file(struct bytes *graph)
{
    add_external(graph, "none.bin", "0");
}

static void outside(struct bytes *graph)
{
    add_external(graph, "a/../../w.bin", "0");
}

static void absolute(struct bytes *graph)
{
    add_external(graph, "/etc/passwd", "0");
}

static void short_file(struct bytes *graph)
{
    add_external(graph, "short.bin", "64");
}

static void odd_offset(struct bytes *graph)
{
    add_external(graph, "short.bin", "-5");
}

static const struct {
    const char *what;
    void (*fill)(struct bytes *graph);
    enum vbs_status status;
    const char *why; /* behind the path; null: it loads */
} CASES[] = {
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
     "operators not supported: NonZero ('a'), Einsum ('b', 2 times), com.microsoft.FusedConv "
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
    {"weights that are computed", computed_weights, VBS_UNSUPPORTED,
     "node 'y' (Conv): input 1 depends on the network's input; it is to be a constant"},
    {"training", trains, VBS_UNSUPPORTED, "node 'y' (BatchNormalization): is in training mode"},
    {"indices of a pool", indices, VBS_UNSUPPORTED,
     "node 'z' (MaxPool): its indices are not supported"},
    {"a cast to whole numbers", to_int, VBS_UNSUPPORTED,
     "node 'y' (Cast): casts to element type INT64"},
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
    {"a range without end", long_range, VBS_UNSUPPORTED,
     "node 'r' (Range): the range is too long, or endless"},
    {"a slice of extremes, which are clamped", endless_slice, VBS_OK, NULL},
    {"two inputs", two_inputs, VBS_UNSUPPORTED,
     "2 inputs ('x', 'z'); networks of one input are supported"},
    {"an input of whole numbers", int_input, VBS_UNSUPPORTED,
     "input 'x' has element type INT64, no floats"},
    {"a negative input", negative_input, VBS_FORMAT, "dimension 2 of input 'x' is -8"},
    {"an open input", open_input, VBS_USAGE,
     "dimension 2 of input 'x' is open; give a shape (--input CxHxW)"},
    {"an input that is too large", huge_input, VBS_FORMAT,
     "input 'x' is larger than 2^36 elements"},
    {"samples that mix behind a convolution", whole_conv, VBS_UNSUPPORTED,
     "node 'c' (Conv): has 2 samples in dimension 0, which other nodes mix"},
    {"weights in a file that is not there", missing_file, VBS_IO, NULL},
    {"weights outside the folder", outside, VBS_FORMAT,
     "tensor 'w': its values are in 'a/../../w.bin', which is not within the model's folder"},
    {"weights at an absolute path", absolute, VBS_FORMAT,
     "tensor 'w': its values are in '/etc/passwd', which is not within the model's folder"},
    {"weights beyond a file's end", short_file, VBS_FORMAT,
     "tensor 'w': 'short.bin' has 100 bytes, too few for 432 at 64"},
    {"weights before a file", odd_offset, VBS_FORMAT,
     "tensor 'w': '-5' is no offset of external data"},
};

static enum vbs_status load(struct vbs_ctx *ctx, const char *path)
{
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_network_load(ctx, path, NULL, &network);

    if (status == VBS_OK)
        vbs_network_free(network);
    return status;
}

static void check_case(size_t i)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_ctx ctx = {0};
    char want[600];
    enum vbs_status status;

    CASES[i].fill(&graph);
    model = onnx_model(13, &graph);
    if (!bytes_write(&model, path_of("m.onnx")))
        ok(false, "the file is written");
    bytes_clear(&model);
    status = load(&ctx, path_of("m.onnx"));
    ok(status == CASES[i].status, "%s", CASES[i].what);
    snprintf(want, sizeof want, "%s: %s", path_of("m.onnx"), CASES[i].why ? CASES[i].why : "");
    if (CASES[i].why)
        is_str(vbs_detail(&ctx), want, "is said");
    else if (status == VBS_IO)
        ok(strstr(vbs_detail(&ctx), "none.bin") != NULL, "is said: %s", vbs_detail(&ctx));
}

/* ---- bytes that are no such file ---- */

static void check_bytes(const char *what, const void *data, size_t length, enum vbs_status status,
                        const char *why)
{
    struct bytes file = {0};
    struct vbs_ctx ctx = {0};
    char want[300];

    bytes_add(&file, data, length);
    bytes_write(&file, path_of("m.onnx"));
    bytes_clear(&file);
    ok(load(&ctx, path_of("m.onnx")) == status, "%s", what);
    snprintf(want, sizeof want, "%s: %s", path_of("m.onnx"), why);
    is_str(vbs_detail(&ctx), want, "is said");
}

static void check_wire(void)
{
    struct bytes file = {0};

    check_bytes("an empty file", "", 0, VBS_FORMAT,
                "no graph; this is no ONNX file, or an empty one");
    check_bytes("a text", "model alexnet\n", 14, VBS_FORMAT,
                "byte 8: no field of a protocol buffer; this is no ONNX file");
    check_bytes("a picture", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16, VBS_FORMAT,
                "byte 11: no field of a protocol buffer; this is no ONNX file");
    check_bytes("a number without end", "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11,
                VBS_FORMAT, "byte 11: a number has more than ten bytes");
    check_bytes("a key that is cut off", "\x08", 1, VBS_FORMAT, "byte 1: a field is cut off");
    check_bytes("two graphs", "\x3a\0\x3a\0", 4, VBS_FORMAT, "byte 3: a second 'graph'");
    check_bytes("a field of 2 GB", "\x3a\xff\xff\xff\xff\x07xx", 8, VBS_FORMAT,
                "byte 6: a field of 2147483647 bytes where 2 are left; the file is cut off or "
                "damaged");
    check_bytes("a field of 2^64 bytes", "\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01xx", 13,
                VBS_FORMAT,
                "byte 11: a field of 18446744073709551615 bytes where 2 are left; the file is cut "
                "off or damaged");
    check_bytes("sparse initialisers", "\x3a\x02\x7a\0", 4, VBS_UNSUPPORTED,
                "sparse initialisers are not read");
    check_bytes("a field of another type", "\x3a\x02\x08\x05", 4, VBS_FORMAT,
                "the graph has no outputs");
    for (int i = 0; i < 70000; i++)
        bytes_add(&file, "x", 1);
    {
        struct bytes model = {0};

        bytes_data(&model, 2, file.data, file.length);
        check_bytes("a long name", model.data, model.length, VBS_FORMAT,
                    "byte 4: a text of more than 64 KiB");
        bytes_clear(&model);
    }
    bytes_clear(&file);
}

/* Nodes by the hundred thousand in a small file. */
static void check_many(void)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_ctx ctx = {0};

    for (int i = 0; i < 1100000; i++)
        bytes_add(&graph, "\x0a\0", 2);
    model = onnx_model(13, &graph);
    bytes_write(&model, path_of("m.onnx"));
    bytes_clear(&model);
    ok(load(&ctx, path_of("m.onnx")) == VBS_FORMAT &&
           strstr(vbs_detail(&ctx), "more than 2^20 fields beside the weights"),
       "more nodes than a network can have: %s", vbs_detail(&ctx));
}

/* ---- any damage ---- */

static unsigned char *read_whole(const char *path, size_t *length)
{
    FILE *file = fopen(path, "rb");
    unsigned char *data = malloc(1 << 20);

    *length = file && data ? fread(data, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    return data;
}

/* 0, or 1 where loading ends in another way than it may. */
static int try_bytes(const unsigned char *data, size_t length)
{
    struct vbs_ctx ctx = {0};
    struct bytes file = {0};
    enum vbs_status status;

    bytes_add(&file, data, length);
    bytes_write(&file, path_of("m.onnx"));
    bytes_clear(&file);
    status = load(&ctx, path_of("m.onnx"));
    return !(status == VBS_OK ||
             ((status == VBS_FORMAT || status == VBS_UNSUPPORTED || status == VBS_USAGE ||
               status == VBS_IO) &&
              ctx.status == status && ctx.detail[0] && !strpbrk(ctx.detail, "\n\r")));
}

static void check_damage(const char *path)
{
    size_t length;
    unsigned char *data = read_whole(path, &length);
    int wrong_cut = 0, wrong_bits = 0, n = 0;
    unsigned seed = 9;

    for (size_t cut = 0; cut < length; cut += 1 + cut / 200) {
        wrong_cut += try_bytes(data, cut);
        n++;
    }
    ok(length > 0 && wrong_cut == 0, "%s cut off at %d places", path, n);
    for (int i = 0; i < 500 && length > 0; i++) {
        size_t at = (seed = seed * 1103515245 + 12345) / 7 % length;
        unsigned char kept = data[at];

        data[at] ^= (unsigned char)(1 << (seed >> 28) % 8);
        wrong_bits += try_bytes(data, length);
        if (i % 4)
            data[at] = kept; /* else it stays */
    }
    ok(wrong_bits == 0, "%s with single bits changed", path);
    free(data);
}

static void check_values(void)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    float values[108];

    add_tensor(&graph, onnx_floats("conv1.weight", NAN, 4, (int64_t[]){4, 3, 3, 3}));
    add_node(&graph, onnx_node("Conv", "x conv1.weight", "y"));
    model = onnx_model(13, &graph);
    bytes_write(&model, path_of("m.onnx"));
    bytes_clear(&model);
    ok(vbs_network_load(&ctx, path_of("m.onnx"), NULL, &network) == VBS_OK &&
           vbs_parameter_values(&ctx, network, 1, -1, VBS_PARAMETER_WEIGHTS, 0, 108, values) ==
               VBS_FORMAT,
       "weights that are no numbers are refused when they are read");
    is_str(vbs_detail(&ctx), "parameter 'conv1.weight': value 0 is no number", "by name");
    vbs_network_free(network);
}

static void check_tensors(void)
{
    struct bytes tensor = onnx_floats("t", NAN, 2, (int64_t[]){2, 3});
    struct vbs_onnx_tensor_file read = {.values = NULL};
    struct vbs_ctx ctx = {0};

    bytes_write(&tensor, path_of("t.pb"));
    ok(vbs_onnx_read_tensor(&ctx, path_of("t.pb"), &read) == VBS_OK && read.type == FLOAT &&
           read.shape.n_dims == 2 && isnan(read.values[5]),
       "a tensor file is read as it is");
    free(read.values);
    tensor.length -= 4;
    bytes_write(&tensor, path_of("t.pb"));
    ok(vbs_onnx_read_tensor(&ctx, path_of("t.pb"), &read) == VBS_FORMAT, "not when it is cut off");
    bytes_clear(&tensor);
    ok(vbs_onnx_read_tensor(&ctx, path_of("none.pb"), &read) == VBS_IO, "nor when it is not there");
}

int main(void)
{
    struct bytes hundred = {0};

    if (!mkdtemp(folder))
        return 1;
    for (int i = 0; i < 100; i++)
        bytes_add(&hundred, "x", 1);
    bytes_write(&hundred, path_of("short.bin"));
    bytes_clear(&hundred);
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_case(i);
    check_wire();
    check_many();
    check_values();
    check_tensors();
    check_damage("tests/onnx/opset_18.onnx");
    check_damage("tests/onnx/segment.onnx");
    check_damage("tests/onnx/normals.onnx");
    unlink(path_of("m.onnx"));
    unlink(path_of("t.pb"));
    unlink(path_of("short.bin"));
    rmdir(folder);
    return done_testing();
}
