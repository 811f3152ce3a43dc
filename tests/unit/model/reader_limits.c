/*
 * Files of the largest size, each full of the statements that take the most time or memory for
 * their bytes, are refused with a reason or read, and soon. No check depends on a clock; time that
 * grows with the square of a size would be noticed as minutes.
 */
#include "vbslab/model.h"

#include "model/onnx/onnx.h"

#include "cases/onnx_bytes.h"
#include "support/tap.h"

#include <stdlib.h>
#include <unistd.h>

#define INT64 7

static char folder[] = "/tmp/t_reader_limits.XXXXXX";

/* ---- model texts ---- */

/* Makes a text of first, and then as many lines of word with a name as a text may have, or most. */
static char *long_text(const char *first, const char *word, int most, size_t *length)
{
    char *text = malloc(VBS_MAX_MODEL_TEXT + 1);
    size_t at;

    if (!text)
        exit(1);
    at = (size_t)sprintf(text, "model m\ninput 4x2x2\n%s", first);
    for (int i = 0; i < most && at + 40 < VBS_MAX_MODEL_TEXT; i++)
        at += (size_t)sprintf(text + at, "%s %x\n", word, i);
    *length = at;
    return text;
}

static void check_text(const char *what, const char *first, const char *word, int most,
                       enum vbs_status status, const char *why)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    size_t length;
    char *text = long_text(first, word, most, &length);

    is_int(vbs_network_parse(&ctx, "long", text, length, NULL, &network), status, what);
    if (network)
        is_int(network->layers[1].n_fused, most, "all of them are fused with their layer");
    else
        ok(strstr(vbs_detail(&ctx), why) != NULL, "is said: %s", vbs_detail(&ctx));
    vbs_network_free(network);
    free(text);
}

static void check_texts(void)
{
    check_text("a layer with as many operators in place as there can be is read",
               "conv first out=4 kernel=1\n", "scale", VBS_MAX_OPERATORS - 1, VBS_OK, NULL);
    check_text("one operator more than a network may have is refused", "", "relu",
               VBS_MAX_OPERATORS + 1, VBS_FORMAT, "one operator too many");
    check_text("one layer more than a network may have is refused", "", "softmax",
               VBS_MAX_LAYERS + 1, VBS_FORMAT, "one layer too many");
}

/* ---- files of ONNX ---- */

static void check_model(const char *what, struct bytes *graph, enum vbs_status status,
                        const char *why)
{
    struct bytes model = onnx_model(13, graph);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    char path[200];

    snprintf(path, sizeof path, "%s/m.onnx", folder);
    if (!bytes_write(&model, path))
        ok(false, "the file is written");
    bytes_clear(&model);
    is_int(vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network), status, what);
    ok(strstr(vbs_detail(&ctx), why) != NULL, "is said: %s", vbs_detail(&ctx));
    vbs_network_free(network);
    unlink(path);
}

static void check_nodes(void)
{
    struct bytes graph = onnx_usual_graph();
    char in[20] = "x", out[20];

    for (int i = 0; i <= VBS_MAX_OPERATORS; i++) {
        snprintf(out, sizeof out, i == VBS_MAX_OPERATORS ? "y" : "%x", i);
        onnx_add_node(&graph, onnx_node("Relu", in, out));
        strcpy(in, out);
    }
    check_model("more nodes than a network may have operators", &graph, VBS_UNSUPPORTED, "nodes");
}

static void check_many_inputs(void)
{
    struct bytes graph = onnx_usual_graph(), node = onnx_node("Concat", "x", "y");

    for (int i = 0; i < VBS_MAX_LAYERS; i++)
        bytes_text(&node, 1, "x");
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(&graph, node);
    check_model("a node with more inputs than a network may have layers", &graph, VBS_UNSUPPORTED,
                "inputs");
}

/* Copies of one input, each of which becomes an operator. */
static void check_copies(void)
{
    struct bytes graph = onnx_usual_graph();
    char out[20];

    for (int i = 0; i < 32; i++) {
        struct bytes node;

        snprintf(out, sizeof out, i == 31 ? "y" : "a%d", i);
        node = onnx_node("Concat", "x", out);
        for (int k = 1; k < VBS_MAX_LAYERS; k++)
            bytes_text(&node, 1, "x");
        onnx_attribute_int(&node, "axis", 1);
        onnx_add_node(&graph, node);
    }
    /* All of these nodes are needed. */
    for (int i = 0; i < 31; i++) {
        struct bytes value;

        snprintf(out, sizeof out, "a%d", i);
        value = onnx_value(out, 1, 0, NULL);
        bytes_put(&graph, ONNX_OUTPUT, &value);
    }
    check_model("nodes that read one tensor again and again", &graph, VBS_FORMAT,
                "one operator too many");
}

/* The same large constant folded again and again, which takes time but no memory. */
static void check_folding(void)
{
    static const int64_t SIZE[] = {1 << 19};
    struct bytes graph = onnx_usual_graph(), node;
    char in[20] = "r0", out[20];

    onnx_add_tensor(&graph, onnx_longs("n", 1, SIZE));
    onnx_add_node(&graph, onnx_node("ConstantOfShape", "n", "c"));
    onnx_add_node(&graph, onnx_node("ReduceSum", "c", "r0"));
    for (int i = 1; i < 10000; i++) {
        snprintf(out, sizeof out, "p%d", i);
        onnx_add_node(&graph, onnx_node("ReduceSum", "c", out));
        snprintf(in, sizeof in, "r%d p%d", i - 1, i);
        snprintf(out, sizeof out, "r%d", i);
        onnx_add_node(&graph, onnx_node("Add", in, out));
    }
    node = onnx_node("Add", "x r9999", "y");
    onnx_add_node(&graph, node);
    check_model("large constants reduced again and again", &graph, VBS_UNSUPPORTED,
                "too much is computed");
}

/* Constants without elements whose other dimensions are large. */
static void check_empty(void)
{
    static const int64_t DIMS[] = {INT32_MAX, 32, 0}, AXIS[] = {0};
    struct bytes graph = onnx_usual_graph(), node = onnx_node("Concat", "e e", "c");

    onnx_attribute_int(&node, "axis", 2);
    onnx_add_tensor(&graph, onnx_tensor("e", INT64, 3, DIMS));
    onnx_add_tensor(&graph, onnx_longs("i", 1, AXIS));
    onnx_add_node(&graph, node);
    onnx_add_node(&graph, onnx_node("Shape", "c", "s"));
    onnx_add_node(&graph, onnx_node("Gather", "s i", "g"));
    onnx_add_node(&graph, onnx_node("Add", "x g", "y"));
    check_model("nothing joined to nothing in 2^36 rows", &graph, VBS_OK, "");
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    check_texts();
    check_nodes();
    check_many_inputs();
    check_copies();
    check_folding();
    check_empty();
    rmdir(folder);
    return done_testing();
}
