/*
 * Networks that end where the caller says (vbs_input_choice.until): their outputs, how they are
 * named and written down, what is refused; and what is said of a file of which a part cannot be
 * read, because the shape of what it makes depends on data.
 */
#include "vbslab/model.h"

#include "cases/onnx_bytes.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOAT = 1, BOOL = 9 };

#define MOST_NODES 10

static char folder[] = "/tmp/t_until.XXXXXX";
static char path[100];

/* A node, with an attribute that is a number. */
struct line {
    const char *op, *inputs, *outputs, *attribute;
    int64_t value;
};

/* Writes a network of one input x, [N, 4, 6], and these outputs. */
static void write_network(const struct line *lines, const char *const *outputs)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 3, (int64_t[]){0, 4, 6}), model;

    bytes_put(&graph, ONNX_INPUT, &value);
    for (int i = 0; outputs[i]; i++) {
        value = onnx_value(outputs[i], FLOAT, 0, NULL);
        bytes_put(&graph, ONNX_OUTPUT, &value);
    }
    onnx_add_tensor(&graph, onnx_longs("parts", 2, (int64_t[]){2, 4}));
    onnx_add_tensor(&graph, onnx_floats("zero", 0, 0, NULL));
    for (int i = 0; i < MOST_NODES && lines[i].op; i++) {
        struct bytes node = onnx_node(lines[i].op, lines[i].inputs, lines[i].outputs);
        char name[40];

        snprintf(name, sizeof name, "node %d", i);
        bytes_text(&node, 3, name);
        if (lines[i].attribute)
            onnx_attribute_int(&node, lines[i].attribute, lines[i].value);
        onnx_add_node(&graph, node);
    }
    model = onnx_model(17, &graph);
    if (!bytes_write(&model, path))
        bail_out("cannot write %s", path);
    bytes_clear(&model);
}

static enum vbs_status load(struct vbs_ctx *ctx, const char *until, struct vbs_network **network)
{
    const struct vbs_input_choice choice = {.name = until, .until = true};

    *network = NULL;
    return vbs_network_load_inputs(ctx, path, &choice, until ? 1 : 0, network);
}

/* ---- where networks end ---- */

static const struct line BRANCHES[] = {
    {"Relu", "x", "a", NULL, 0},
    {"Sigmoid", "a", "b,c", NULL, 0},
    {"Split", "a parts", "d e", "axis", 2},
    {"Tanh", "e", "f", NULL, 0},
    {"Exp", "b,c", "y", NULL, 0},
    {"Abs", "f", "z", NULL, 0},
    {NULL, NULL, NULL, NULL, 0},
};

/* Writes the names of the outputs, with blanks between them. */
static void list_outputs(const struct vbs_network *network, char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; network && i < network->n_outputs && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " " : "",
                                 network->outputs[i].name);
}

static void check_end(const char *until, const char *outputs, int n_layers)
{
    struct vbs_network *network, *again = NULL;
    struct vbs_ctx ctx = {0};
    char names[200], *text = NULL;
    bool same = false;

    ok(load(&ctx, until, &network) == VBS_OK, "until '%s' (%s)", until, vbs_detail(&ctx));
    list_outputs(network, names, sizeof names);
    is_str(names, outputs, "its outputs");
    if (!network)
        return;
    is_int(network->n_layers, n_layers, "its layers");
    for (int i = 0; i < network->n_until; i++)
        same = (i == 0 || same) && strcmp(network->until[i], network->outputs[i].name) == 0;
    ok(same && network->n_until == network->n_outputs, "it says where it ends");
    ok(vbs_network_inputs_text(&ctx, network, &text) == VBS_OK &&
           vbs_network_load_by_text(&ctx, path, text, &again) == VBS_OK &&
           vbs_network_hash(again) == vbs_network_hash(network) &&
           again->n_outputs == network->n_outputs,
       "what is written down of it makes it again: %s", text ? text : "");
    free(text);
    vbs_network_free(again);
    vbs_network_free(network);
}

static void check_copy(void)
{
    struct vbs_network *network, *copy = NULL;
    struct vbs_ctx ctx = {0};

    ok(load(&ctx, "f", &network) == VBS_OK &&
           vbs_network_revalue(&ctx, network, NULL, 0, &copy) == VBS_OK && copy->n_until == 1 &&
           strcmp(copy->until[0], "f") == 0,
       "a copy of a network ends where it does");
    vbs_network_free(copy);
    vbs_network_free(network);
}

static void check_refused(const char *until, const char *why)
{
    struct vbs_network *network;
    struct vbs_ctx ctx = {0};
    char want[300];

    snprintf(want, sizeof want, "%s: %s", path, why);
    ok(load(&ctx, until, &network) == VBS_USAGE, "until '%s' is refused", until);
    is_str(vbs_detail(&ctx), want, "... and why");
}

static void check_text_model(void)
{
    const struct vbs_input_choice choice = {.name = "conv1", .until = true};
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_network_load_inputs(&ctx, "lenet-5", &choice, 1, &network) == VBS_USAGE,
       "a built-in network ends with its end");
    is_str(vbs_detail(&ctx), "only the network of an ONNX file can end at a node", "... and why");
}

static void check_ends(void)
{
    static const char *const OUTPUTS[] = {"y", "z", NULL};

    write_network(BRANCHES, OUTPUTS);
    check_end("a", "a", 1);
    check_end("node 0", "a", 1);
    check_end("f", "f", 2);
    check_end("b,c", "b,c", 1);
    check_end("node 3,b,c,a", "f b,c a", 4);
    check_end("b,c,node 1,b,c", "b,c", 1);
    check_end("node 2", "e", 2);
    check_end("d", "d", 2);
    check_end("y,z", "y z", 3);
    check_copy();
    check_refused("nowhere", "the network cannot end at 'nowhere': no node and no tensor has this "
                             "name");
    check_refused("a,b", "the network cannot end at 'b': no node and no tensor has this name");
    check_refused("a,", "the network cannot end at '': no node and no tensor has this name");
    check_refused("x", "the network cannot end at 'x': no node makes it");
    check_refused("parts", "the network cannot end at 'parts': no node makes it");
    check_text_model();
}

/* ---- what is left of files that are refused ---- */

struct refusal {
    const char *what, *why;
    const char *until; /* null: nothing is said of it */
    const char *left;  /* outputs of the file that are left */
    struct line lines[MOST_NODES];
};

#define ON_DATA "works on constants only; what does not depend on it can be run: --until "
#define TWO_OUTPUTS                                                                                \
    {"Sigmoid", "x", "scores", NULL, 0}, {"Relu", "x", "boxes", NULL, 0},                          \
    {                                                                                              \
        "Exp", "scores", "y", NULL, 0                                                              \
    }

static const struct refusal REFUSALS[] = {
    {"NonZero",
     "node 'node 3' (NonZero): " ON_DATA "y,scores,boxes (the first is an output of the file)",
     "y,scores,boxes",
     "y",
     {TWO_OUTPUTS,
      {"NonZero", "scores", "kept", NULL, 0},
      {"Transpose", "kept", "rows", NULL, 0},
      {"GatherND", "boxes rows", "z", NULL, 0}}},
    {"a Range of data, and no output that is left",
     "node 'node 4' (Range): " ON_DATA "most (none of the file's outputs is left)",
     "most",
     "",
     {TWO_OUTPUTS,
      {"ReduceMax", "scores", "most", "keepdims", 0},
      {"Range", "zero most zero", "z", NULL, 0}}},
    {"a condition that is computed",
     "node 'node 4' (Compress): input 1 depends on the network's input; it is to be a constant; "
     "what does not depend on it can be run: --until y,boxes,flags (the first is an output of the "
     "file)",
     "y,boxes,flags",
     "y",
     {TWO_OUTPUTS,
      {"Cast", "scores", "flags", "to", BOOL},
      {"Compress", "boxes flags", "z", NULL, 0}}},
    {"two operators that are not known, and one that is made of data",
     "operators not supported: NonMaxSuppression ('node 3'), Unknown ('node 5'); what does not "
     "depend on it can be run: --until y,boxes,scores (the first is an output of the file)",
     "y,boxes,scores",
     "y",
     {TWO_OUTPUTS,
      {"NonMaxSuppression", "boxes scores", "kept", NULL, 0},
      {"NonZero", "boxes", "many", NULL, 0},
      {"Unknown", "kept many", "z", NULL, 0}}},
    {"nothing before it",
     "node 'node 3' (NonZero): works on constants only",
     NULL,
     "",
     {TWO_OUTPUTS, {"NonZero", "x", "z", NULL, 0}}},
    {NULL, NULL, NULL, NULL, {{NULL, NULL, NULL, NULL, 0}}},
};

static void check_refusal(const struct refusal *r)
{
    static const char *const BOTH[] = {"y", "z", NULL}, *const ONE[] = {"z", NULL};
    struct vbs_network *network;
    struct vbs_ctx ctx = {0};
    char want[600], names[200];

    write_network(r->lines, r->left[0] ? BOTH : ONE);
    snprintf(want, sizeof want, "%s: %s", path, r->why);
    ok(load(&ctx, NULL, &network) == VBS_UNSUPPORTED, "%s: refused", r->what);
    is_str(vbs_detail(&ctx), want, "... and what is left is named");
    if (!r->until)
        return;
    ok(load(&ctx, r->until, &network) == VBS_OK, "... which is read (%s)", vbs_detail(&ctx));
    list_outputs(network, names, sizeof names);
    ok(strncmp(names, r->left, strlen(r->left)) == 0, "... with outputs %s", names);
    vbs_network_free(network);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    check_ends();
    for (int i = 0; REFUSALS[i].what; i++)
        check_refusal(&REFUSALS[i]);
    unlink(path);
    rmdir(folder);
    return done_testing();
}
