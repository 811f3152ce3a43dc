/* ONNX files that are wrong or not supported are refused with one clear line, which names the file
 * and the node or tensor. A file that is cut off or damaged is refused or read. */
#include "vbslab/model.h"

#include "model/onnx/onnx.h"

#include "cases/onnx_wrong.h"
#include "support/tap.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define FLOAT 1

static char folder[] = "/tmp/t_onnx_refusals.XXXXXX";

static const char *path_of(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static enum vbs_status load(struct vbs_ctx *ctx, const char *path)
{
    struct vbs_network *network = NULL;
    enum vbs_status status = vbs_network_load(ctx, path, NULL, &network);

    if (status == VBS_OK)
        vbs_network_free(network);
    return status;
}

static void check_case(const struct onnx_case *c)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_ctx ctx = {0};
    char want[600];
    enum vbs_status status;

    c->fill(&graph);
    model = onnx_model(13, &graph);
    if (!bytes_write(&model, path_of("m.onnx")))
        ok(false, "the file is written");
    bytes_clear(&model);
    status = load(&ctx, path_of("m.onnx"));
    ok(status == c->status, "%s", c->what);
    snprintf(want, sizeof want, "%s: %s", path_of("m.onnx"), c->why ? c->why : "");
    if (c->why)
        is_str(vbs_detail(&ctx), want, "is said");
    else if (status == VBS_IO)
        ok(strstr(vbs_detail(&ctx), "none.bin") != NULL, "is said: %s", vbs_detail(&ctx));
}

/* Checks opsets: operators may have another meaning in versions to come. */
static void check_opsets(void)
{
    static const struct {
        int64_t opset;
        enum vbs_status status;
    } CASES[] = {{1, VBS_OK},           {24, VBS_OK},
                 {25, VBS_UNSUPPORTED}, {INT64_MAX, VBS_UNSUPPORTED},
                 {0, VBS_UNSUPPORTED},  {-1, VBS_UNSUPPORTED}};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        struct bytes graph = onnx_usual_graph(), model;
        struct vbs_ctx ctx = {0};
        enum vbs_status status;

        onnx_add_node(&graph, onnx_node("Relu", "x", "y"));
        model = onnx_model(CASES[i].opset, &graph);
        bytes_write(&model, path_of("m.onnx"));
        bytes_clear(&model);
        status = load(&ctx, path_of("m.onnx"));
        ok(status == CASES[i].status, "opset %lld: %s", (long long)CASES[i].opset,
           vbs_detail(&ctx));
    }
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

/* ---- functions ---- */

/* Appends a function of domain f with one input x and one output y; op is in the same domain where
 * called is set. */
static void add_function(struct bytes *model, const char *name, const char *op, bool called)
{
    struct bytes function = {0}, node = onnx_node(op, "x", "y");

    if (called)
        bytes_text(&node, 7, "f");
    bytes_text(&function, 1, name);
    bytes_text(&function, 4, "x");
    bytes_text(&function, 5, "y");
    bytes_put(&function, 7, &node);
    bytes_text(&function, 10, "f");
    bytes_put(model, 25, &function);
}

/* Checks a graph with one call, whose inputs these are, of function a. */
static void check_call(const char *what, const char *inputs, struct bytes *functions,
                       enum vbs_status status, const char *why)
{
    struct bytes graph = onnx_usual_graph(), call = onnx_node("a", inputs, "y"), model;

    bytes_text(&call, 7, "f");
    onnx_add_node(&graph, call);
    model = onnx_model(17, &graph);
    bytes_add(&model, functions->data, functions->length);
    bytes_clear(functions);
    check_bytes(what, model.data, model.length, status, why);
    bytes_clear(&model);
}

static void check_functions(void)
{
    struct bytes functions = {0};
    char name[16], next[16];

    add_function(&functions, "a", "b", true);
    add_function(&functions, "b", "a", true);
    check_call("functions that call each other", "x", &functions, VBS_FORMAT,
               "function 'a' calls itself, or calls are nested deeper than 64");
    add_function(&functions, "a", "Relu", false);
    add_function(&functions, "a", "Tanh", false);
    check_call("two functions of a name", "x", &functions, VBS_UNSUPPORTED,
               "there are two functions 'a'");
    add_function(&functions, "a", "Relu", false);
    check_call("a call with an input too many", "x x", &functions, VBS_FORMAT,
               "node 'y' has 2 inputs and 1 outputs, function 'a' 1 and 1");
    add_function(&functions, "a", "Relu", true);
    check_call("an operator that is none, in a function", "x", &functions, VBS_UNSUPPORTED,
               "operator not supported: f.Relu ('y')");
    for (int i = 0; i < 40; i++) { /* each calls the next one twice */
        struct bytes function = {0}, first, second;

        snprintf(name, sizeof name, i == 0 ? "a" : "a%d", i);
        snprintf(next, sizeof next, "a%d", i + 1);
        first = onnx_node(i < 39 ? next : "Relu", "x", "m");
        second = onnx_node(i < 39 ? next : "Relu", "m", "y");
        if (i < 39) {
            bytes_text(&first, 7, "f");
            bytes_text(&second, 7, "f");
        }
        bytes_text(&function, 1, name);
        bytes_text(&function, 4, "x");
        bytes_text(&function, 5, "y");
        bytes_put(&function, 7, &first);
        bytes_put(&function, 7, &second);
        bytes_text(&function, 10, "f");
        bytes_put(&functions, 25, &function);
    }
    check_call("functions that double their calls", "x", &functions, VBS_UNSUPPORTED,
               "more than 65536 calls of functions");
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
    check_bytes("a sparse initialiser without values", "\x3a\x02\x7a\0", 4, VBS_FORMAT,
                "initialiser '' is there twice, or unnamed");
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
    {
        struct bytes entry = {0}, model = {0};

        bytes_data(&entry, 1, "k", 1);
        bytes_data(&entry, 2, file.data, file.length);
        bytes_data(&model, 14, entry.data, entry.length);
        check_bytes("a long text of the metadata is left out", model.data, model.length, VBS_FORMAT,
                    "no graph; this is no ONNX file, or an empty one");
        bytes_clear(&entry);
        bytes_clear(&model);
    }
    bytes_clear(&file);
}

/* Checks hundreds of thousands of nodes in a small file. */
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

/* Gives 0, or 1 where loading ends in a way that is not allowed. */
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

    onnx_add_tensor(&graph, onnx_floats("conv1.weight", NAN, 4, (int64_t[]){4, 3, 3, 3}));
    onnx_add_node(&graph, onnx_node("Conv", "x conv1.weight", "y"));
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

/* ---- values in files that symbolic links lead to ---- */

/* The model in "models" reads its weights from the link "w.bin", which leads to target. */
static void check_link(const char *what, const char *model, const char *target,
                       enum vbs_status status)
{
    struct vbs_ctx ctx = {0};

    unlink(path_of("models/w.bin"));
    ok(symlink(target, path_of("models/w.bin")) == 0 && load(&ctx, path_of(model)) == status, "%s",
       what);
    if (status == VBS_FORMAT)
        ok(strstr(vbs_detail(&ctx), "'w.bin', a link to a file that is not within the model's") !=
               NULL,
           "is said: %s", vbs_detail(&ctx));
}

static void check_links(void)
{
    static const char *const FILES[] = {"models/m.onnx",    "models/w.bin", "models/sub/w.bin",
                                        "models/blob.onnx", "cache/w.bin",  "cache/m.onnx",
                                        "models2/w.bin"};
    static const char *const FOLDERS[] = {"models/sub", "models", "cache", "models2"};
    struct bytes graph = onnx_usual_graph(), model, zeros = {0};

    for (int i = 3; i >= 0; i--)
        mkdir(path_of(FOLDERS[i]), 0700);
    for (int i = 0; i < 108; i++)
        bytes_add(&zeros, "\0\0\0\0", 4);
    onnx_add_external(&graph, "w.bin", "0");
    model = onnx_model(13, &graph);
    ok(bytes_write(&model, path_of("models/m.onnx")) &&
           bytes_write(&model, path_of("cache/m.onnx")) &&
           bytes_write(&zeros, path_of("models/sub/w.bin")) &&
           bytes_write(&zeros, path_of("models2/w.bin")) &&
           bytes_write(&zeros, path_of("cache/w.bin")) &&
           symlink("../cache/m.onnx", path_of("models/blob.onnx")) == 0,
       "models and links");
    bytes_clear(&model);
    bytes_clear(&zeros);
    check_link("a link to a file in a folder below", "models/m.onnx", "sub/w.bin", VBS_OK);
    check_link("a link that leaves the folder and comes back", "models/m.onnx",
               "../models/sub/w.bin", VBS_OK);
    check_link("a link that leaves the folder", "models/m.onnx", "../cache/w.bin", VBS_FORMAT);
    check_link("a link into a folder whose name begins alike", "models/m.onnx", "../models2/w.bin",
               VBS_FORMAT);
    check_link("an absolute link", "models/m.onnx", "/etc/passwd", VBS_FORMAT);
    check_link("a link that leads nowhere", "models/m.onnx", "none.bin", VBS_IO);
    check_link("a link to the folder of the file that the model's path is a link to",
               "models/blob.onnx", "../cache/w.bin", VBS_OK);
    for (size_t i = 0; i < sizeof FILES / sizeof FILES[0]; i++)
        unlink(path_of(FILES[i]));
    for (size_t i = 0; i < sizeof FOLDERS / sizeof FOLDERS[0]; i++)
        rmdir(path_of(FOLDERS[i]));
}

/* ---- depth ---- */

struct deep {
    enum vbs_status status;
    int n_layers;
};

static void *load_deep(void *data)
{
    struct deep *deep = data;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    deep->status = vbs_network_load(&ctx, path_of("m.onnx"), NULL, &network);
    if (deep->status == VBS_OK) {
        deep->n_layers = network->n_layers;
        vbs_network_free(network);
    } else {
        printf("# %s\n", vbs_detail(&ctx));
    }
    return NULL;
}

/* One node that reads its input x many times becomes 2 x and as many additions; the stack has 192
 * KiB. */
static void check_depth(const char *op)
{
    char inputs[2 * 4000 + 1];
    struct bytes graph = onnx_usual_graph(), model;
    struct deep deep = {.n_layers = 0};
    pthread_attr_t attributes;
    pthread_t thread;

    for (int i = 0; i < 4000; i++)
        memcpy(inputs + 2 * i, "x ", 2);
    inputs[2 * 4000 - 1] = '\0';
    onnx_add_node(&graph, onnx_node(op, inputs, "y"));
    model = onnx_model(13, &graph);
    ok(bytes_write(&model, path_of("m.onnx")), "a file of %zu bytes", model.length);
    bytes_clear(&model);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 192 << 10);
    if (ok(pthread_create(&thread, &attributes, load_deep, &deep) == 0, "a thread"))
        pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    ok(deep.status == VBS_OK && deep.n_layers == 3999,
       "a %s that reads its input 4000 times has %d layers", op, deep.n_layers);
}

int main(void)
{
    static const struct onnx_case *const TABLES[] = {onnx_cases, onnx_quantised_cases,
                                                     onnx_inner_cases, onnx_operator_cases};
    struct bytes hundred = {0};

    if (!mkdtemp(folder))
        return 1;
    for (int i = 0; i < 100; i++)
        bytes_add(&hundred, "x", 1);
    bytes_write(&hundred, path_of("short.bin"));
    bytes_clear(&hundred);
    for (size_t t = 0; t < sizeof TABLES / sizeof TABLES[0]; t++)
        for (const struct onnx_case *c = TABLES[t]; c->what; c++)
            check_case(c);
    check_opsets();
    check_links();
    check_depth("Sum");
    check_depth("Mean");
    check_functions();
    check_wire();
    check_many();
    check_values();
    check_tensors();
    check_damage("tests/data/onnx/opset_18.onnx");
    check_damage("tests/data/onnx/segment.onnx");
    check_damage("tests/data/onnx/normals.onnx");
    check_damage("tests/data/onnx/folded.onnx");
    check_damage("tests/data/onnx/control.onnx");
    check_damage("tests/data/onnx/truth.onnx");
    check_damage("tests/data/onnx/index.onnx");
    check_damage("tests/data/onnx/folds.onnx");
    check_damage("tests/data/onnx/sparse.onnx");
    check_damage("tests/data/onnx/functions.onnx");
    unlink(path_of("m.onnx"));
    unlink(path_of("t.pb"));
    unlink(path_of("short.bin"));
    rmdir(folder);
    return done_testing();
}
