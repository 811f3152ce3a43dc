/*
 * Weights that a file has in another order than they are needed are read in blocks: calls of the
 * system are counted, which must be far fewer than weights, for every kind of layer that has many,
 * and everything that reads them.
 */
#include "vbslab/backend.h"
#include "vbslab/measure.h"
#include "vbslab/model.h"

#include "model/network/network.h"

#include "base/sha256.h"
#include "cases/onnx_bytes.h"
#include "support/tap.h"
#include "support/vbz_help.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOAT    1
#define INT8     3
#define MAX_DIMS 4
#define FEWER    1024 /* calls are so many times fewer than weights, */
#define OTHERS   100  /* beside those for other matters, such as the threads of the process */

/* The slices in which weights are packed: of so many channels, but no more of them than this. */
#define SLICE       16
#define MOST_SLICES 64

/* A network of one layer. Its weights are stored in dims, and transposed by perm. */
struct subject {
    const char *name, *op;
    int n_input, n_dims;
    int64_t input[MAX_DIMS]; /* without the number of samples, which is 0 where it is not first */
    int64_t dims[MAX_DIMS], perm[MAX_DIMS];
    int64_t group, pad; /* of a convolution */
    enum vbs_precision precision;
    bool keeps_order; /* dims is the order in which the operator reads the weights */
    bool coded;
};

static const struct subject SUBJECTS[] = {
    {.name = "MatMul",
     .op = "MatMul",
     .n_input = 1,
     .input = {512},
     .n_dims = 2,
     .dims = {512, 768},
     .keeps_order = true},
    {.name = "Gemm",
     .op = "Gemm",
     .n_input = 1,
     .input = {512},
     .n_dims = 2,
     .dims = {512, 768},
     .keeps_order = true},
    {.name = "many inputs",
     .op = "MatMul",
     .n_input = 1,
     .input = {16384},
     .n_dims = 2,
     .dims = {16384, 256},
     .keeps_order = true},
    {.name = "rows",
     .op = "MatMul",
     .n_input = 2,
     .input = {8, 512},
     .n_dims = 2,
     .dims = {512, 768},
     .keeps_order = true},
    {.name = "conv",
     .op = "Conv",
     .n_input = 3,
     .input = {96, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 96, 320},
     .perm = {3, 2, 0, 1},
     .group = 1,
     .pad = 1},
    {.name = "conv of many outputs",
     .op = "Conv",
     .n_input = 3,
     .input = {16, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 16, 2048},
     .perm = {3, 2, 0, 1},
     .group = 1,
     .pad = 1},
    {.name = "conv 1x1",
     .op = "Conv",
     .n_input = 3,
     .input = {512, 4, 4},
     .n_dims = 4,
     .dims = {1, 1, 512, 768},
     .perm = {3, 2, 0, 1},
     .group = 1},
    {.name = "grouped",
     .op = "Conv",
     .n_input = 3,
     .input = {128, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 32, 960},
     .perm = {3, 2, 0, 1},
     .group = 4,
     .pad = 1},
    {.name = "depthwise",
     .op = "Conv",
     .n_input = 3,
     .input = {32768, 2, 2},
     .n_dims = 4,
     .dims = {3, 3, 1, 32768},
     .perm = {3, 2, 0, 1},
     .group = 32768,
     .pad = 1},
    {.name = "deconv",
     .op = "ConvTranspose",
     .n_input = 3,
     .input = {256, 4, 4},
     .n_dims = 4,
     .dims = {3, 3, 128, 256},
     .perm = {3, 2, 0, 1},
     .group = 1},
    {.name = "deconv 2x2",
     .op = "ConvTranspose",
     .n_input = 3,
     .input = {512, 4, 4},
     .n_dims = 4,
     .dims = {2, 2, 128, 512},
     .perm = {3, 2, 0, 1},
     .group = 1},
    {.name = "depthwise deconv",
     .op = "ConvTranspose",
     .n_input = 3,
     .input = {32768, 2, 2},
     .n_dims = 4,
     .dims = {32768, 1, 3, 3},
     .group = 32768,
     .keeps_order = true},
    {.name = "LSTM",
     .op = "LSTM",
     .n_input = 2,
     .input = {2, 0, 256},
     .n_dims = 3,
     .dims = {1, 256, 1024},
     .perm = {0, 2, 1}},
    {.name = "operand",
     .op = "Add",
     .n_input = 2,
     .input = {512, 768},
     .n_dims = 2,
     .dims = {768, 512},
     .perm = {1, 0}},
    {.name = "MatMul of 8 bits",
     .op = "MatMul",
     .n_input = 1,
     .input = {512},
     .n_dims = 2,
     .dims = {512, 768},
     .precision = VBS_PRECISION_INT8,
     .keeps_order = true},
    {.name = "conv of 8 bits",
     .op = "Conv",
     .n_input = 3,
     .input = {96, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 96, 320},
     .perm = {3, 2, 0, 1},
     .group = 1,
     .pad = 1,
     .precision = VBS_PRECISION_INT8},
    {.name = "MatMul of bfloat16",
     .op = "MatMul",
     .n_input = 1,
     .input = {512},
     .n_dims = 2,
     .dims = {512, 768},
     .precision = VBS_PRECISION_BF16,
     .keeps_order = true},
    {.name = "conv of bfloat16",
     .op = "Conv",
     .n_input = 3,
     .input = {96, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 96, 320},
     .perm = {3, 2, 0, 1},
     .group = 1,
     .pad = 1,
     .precision = VBS_PRECISION_BF16},
    {.name = "coded MatMul",
     .op = "MatMul",
     .n_input = 1,
     .input = {512},
     .n_dims = 2,
     .dims = {512, 768},
     .keeps_order = true,
     .coded = true},
    {.name = "coded conv",
     .op = "Conv",
     .n_input = 3,
     .input = {96, 8, 8},
     .n_dims = 4,
     .dims = {3, 3, 96, 320},
     .perm = {3, 2, 0, 1},
     .group = 1,
     .pad = 1,
     .coded = true},
};

/* Returns how often this process has called the system to read so far; -1: the system does not
 * tell. */
static int64_t calls(void)
{
    FILE *file = fopen("/proc/self/io", "r");
    long long n = -1;
    char line[100];

    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "syscr: %lld", &n) == 1)
            break;
    if (file)
        fclose(file);
    return n;
}

static int64_t n_weights(const struct subject *s)
{
    int64_t n = 1;

    for (int d = 0; d < s->n_dims; d++)
        n *= s->dims[d];
    return n;
}

/* ---- files ---- */

/* Adds weights of 8 bits, q, and their values, `name`. */
static void add_whole_weights(struct bytes *graph, const struct subject *s, const char *name)
{
    signed char *numbers = malloc((size_t)n_weights(s));

    if (!numbers)
        bail_out("out of memory");
    for (int64_t i = 0; i < n_weights(s); i++)
        numbers[i] = (signed char)(i % 255 - 127);
    onnx_add_values(graph, "q", INT8, s->n_dims, s->dims, numbers);
    free(numbers);
    onnx_add_node(graph, onnx_node("DequantizeLinear", "q s", name));
}

/* Adds the weights as they are stored, and the node that transposes them; the result is `name`. */
static void add_weights(struct bytes *graph, const struct subject *s, const char *name)
{
    const char *stored = s->keeps_order ? name : "stored";
    struct bytes node;

    if (s->precision == VBS_PRECISION_INT8)
        add_whole_weights(graph, s, stored);
    else
        onnx_add_tensor(graph, onnx_floats(stored, 0.5, s->n_dims, s->dims));
    if (s->keeps_order)
        return;
    node = onnx_node("Transpose", stored, name);
    onnx_attribute_ints(&node, "perm", s->n_dims, s->perm);
    onnx_add_node(graph, node);
}

/* Adds the rounding of a tensor to 8 bits. */
static void add_rounding(struct bytes *graph, const char *of, const char *numbers, const char *name)
{
    char inputs[20];

    snprintf(inputs, sizeof inputs, "%s s", of);
    onnx_add_node(graph, onnx_node("QuantizeLinear", inputs, numbers));
    snprintf(inputs, sizeof inputs, "%s s", numbers);
    onnx_add_node(graph, onnx_node("DequantizeLinear", inputs, name));
}

/* Adds the node that reads x and the weights w. */
static void add_operator(struct bytes *graph, const struct subject *s, const char *x, const char *y)
{
    bool recurrent = strcmp(s->op, "LSTM") == 0;
    char inputs[20];
    struct bytes node;

    snprintf(inputs, sizeof inputs, recurrent ? "%s w w" : "%s w", x);
    node = onnx_node(s->op, inputs, y);
    if (recurrent)
        onnx_attribute_int(&node, "hidden_size", 256);
    if (s->group > 0) {
        onnx_attribute_int(&node, "group", s->group);
        onnx_attribute_ints(&node, "pads", 4, (int64_t[]){s->pad, s->pad, s->pad, s->pad});
    }
    onnx_add_node(graph, node);
}

static bool write_network(const char *path, const struct subject *s)
{
    bool recurrent = strcmp(s->op, "LSTM") == 0, rounds = s->precision == VBS_PRECISION_INT8;
    int64_t input[MAX_DIMS + 1] = {0};
    int n = s->n_input + !recurrent;
    struct bytes graph = {0}, value, model;
    bool written;

    memcpy(input + !recurrent, s->input, (size_t)(s->n_input + recurrent) * sizeof *input);
    value = onnx_value("x", FLOAT, recurrent ? n + 1 : n, input);
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(&graph, onnx_floats("s", 0.125, 0, NULL));
    if (rounds)
        add_rounding(&graph, "x", "xq", "xd");
    add_weights(&graph, s, "w");
    add_operator(&graph, s, rounds ? "xd" : "x", rounds ? "yd" : "y");
    if (rounds)
        add_rounding(&graph, "yd", "yq", "y");
    model = onnx_model(17, &graph);
    written = bytes_write(&model, path);
    bytes_clear(&model);
    return written;
}

static struct vbs_network *load(const char *path, const struct subject *s)
{
    static const struct vbz_recipe RECIPE = {
        .density = 0.25, .bits = 4, .options = {VBS_CODING_JOINT, 4, 64, 128}};
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    char model[100];

    snprintf(model, sizeof model, "%s:%s", path, vbs_precision_word(s->precision));
    if (vbs_network_load(&ctx, model, NULL, &network) != VBS_OK)
        bail_out("%s: no network: %s", s->name, vbs_detail(&ctx));
    return s->coded ? vbz_coded(network, &RECIPE) : network;
}

/* ---- what reads weights ---- */

/* Each returns how many values it reads, or 0: as many as the network has, once. */

static int64_t load_again(const struct vbs_network *network, const struct subject *s,
                          const char *path)
{
    (void)network;
    vbs_network_free(load(path, s));
    return s->coded ? 4 * n_weights(s) : 0; /* it is coded, written and loaded again */
}

static int64_t hash_values(const struct vbs_network *network, const struct subject *s,
                           const char *path)
{
    unsigned char digest[VBS_SHA256_BYTES];
    struct vbs_sha256 hash;
    struct vbs_ctx ctx = {0};

    (void)path;
    vbs_sha256_begin(&hash);
    if (vbs_network_hash_values(&ctx, network, &hash) != VBS_OK)
        bail_out("%s: %s", s->name, vbs_detail(&ctx));
    vbs_sha256_end(&hash, digest);
    return 0;
}

static int64_t write_again(const struct vbs_network *network, const struct subject *s,
                           const char *path)
{
    char other[100];
    struct vbs_ctx ctx = {0};

    snprintf(other, sizeof other, "%s.onnx", path);
    if (vbs_network_export(&ctx, network, other) != VBS_OK)
        bail_out("%s: %s", s->name, vbs_detail(&ctx));
    unlink(other);
    return 0;
}

/* Opens a session on one thread; null: it does not have the kernels that are requested. */
static struct vbs_session *open_session(const struct vbs_network *network, const struct subject *s,
                                        struct vbs_backend_options options)
{
    const struct vbs_backend *backend;
    struct vbs_session *session = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    options.struct_size = sizeof options;
    options.batches = (const int[]){1};
    options.n_batches = 1;
    options.threads = 1;
    status = vbs_backend_find(&ctx, "onednn", &backend);
    if (status == VBS_OK)
        status = backend->open(&ctx, network, &options, &session);
    if (status != VBS_OK && !(options.requested && status == VBS_NOT_FOUND))
        bail_out("%s: %s", s->name, vbs_detail(&ctx));
    return session;
}

/* Returns the weights of all formats of the session's layer that has weights. */
static int64_t packed_values(const struct vbs_session *session)
{
    bool known[64] = {false};
    int64_t n = 0;

    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *k = &session->kernels[i];

        if (k->packed_bytes > 0 && k->n_slices == 0 && k->format < 64 && !known[k->format])
            n += session->layers[k->layer].weight_bytes / (int64_t)sizeof(float);
        known[k->format < 64 ? k->format : 0] = true;
    }
    return n;
}

/* Makes the kernels of all algorithms, which keep their weights. */
static int64_t make_kernels(const struct vbs_network *network, const struct subject *s,
                            const char *path)
{
    struct vbs_session *session =
        open_session(network, s, (struct vbs_backend_options){.stripes = false});
    int64_t n = packed_values(session);

    (void)path;
    session->ops->close(session);
    return n;
}

static int64_t make_kernels_by_rows(const struct vbs_network *network, const struct subject *s,
                                    const char *path)
{
    struct vbs_session *session =
        open_session(network, s, (struct vbs_backend_options){.stripes = true});
    int64_t n = packed_values(session);

    (void)path;
    session->ops->close(session);
    return n;
}

static enum vbs_status take(struct vbs_ctx *ctx, void *self, const void *bytes, int64_t n_bytes)
{
    (void)ctx;
    (void)bytes;
    *(int64_t *)self += n_bytes;
    return VBS_OK;
}

/* Packs the weights of a kernel, in pieces. */
static int64_t pack(struct vbs_session *session, int kernel)
{
    struct vbs_ctx ctx = {0};
    int64_t bytes = 0;

    if (session->ops->pack_to(&ctx, session, kernel, &(struct vbs_pack_sink){&bytes, take}) !=
        VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return bytes / (int64_t)sizeof(float);
}

/* Packs the weights of a kernel in slices of so many channels. */
static int64_t pack_parts(const struct vbs_network *network, const struct subject *s,
                          const struct vbs_kernel *kernel, int channels)
{
    struct vbs_requested_kernel requested[MOST_SLICES];
    int n_slices = channels / SLICE < MOST_SLICES ? channels / SLICE : MOST_SLICES;
    struct vbs_session *session;
    int64_t n = 0;

    if (n_slices < 2)
        return 0;
    for (int i = 0; i < n_slices; i++)
        requested[i] = (struct vbs_requested_kernel){.layer = kernel->layer,
                                                     .batch = 1,
                                                     .slice = i + 1,
                                                     .n_slices = n_slices,
                                                     .algorithm = kernel->algorithm};
    session =
        open_session(network, s,
                     (struct vbs_backend_options){
                         .weights_given = true, .requested = requested, .n_requested = n_slices});
    for (int i = 0; session && i < n_slices; i++)
        n += pack(session, i);
    if (session)
        session->ops->close(session);
    return n;
}

/* Packs the weights of all kernels, whole and in slices. */
static int64_t pack_weights(const struct vbs_network *network, const struct subject *s,
                            const char *path)
{
    struct vbs_session *session =
        open_session(network, s, (struct vbs_backend_options){.weights_given = true});
    int64_t n = 0;

    (void)path;
    for (int i = 0; i < session->n_kernels; i++) {
        const struct vbs_kernel *k = &session->kernels[i];

        if (k->packed_bytes > 0 && k->n_slices == 0)
            n += pack(session, i) + pack_parts(network, s, k, session->layers[k->layer].channels);
    }
    session->ops->close(session);
    return n;
}

/* ---- counting ---- */

/* Checks the calls that a task makes. */
static void reads_blocks(const struct vbs_network *network, const struct subject *s,
                         const char *path, const char *what,
                         int64_t (*task)(const struct vbs_network *network, const struct subject *s,
                                         const char *path))
{
    int64_t before = calls(), values = task(network, s, path), n = calls() - before;

    if (values == 0)
        values = n_weights(s);
    if (before < 0)
        skip(what, "the system counts no calls");
    else
        ok(n < values / FEWER + OTHERS, "%s, %s: %lld calls for %lld weights", s->name, what,
           (long long)n, (long long)values);
}

static void check(const char *path, const struct subject *s)
{
    struct vbs_network *network = write_network(path, s) ? load(path, s) : NULL;

    if (!network)
        bail_out("%s: no network", s->name);
    reads_blocks(network, s, path, "loading", load_again);
    reads_blocks(network, s, path, "hashing weights", hash_values);
    reads_blocks(network, s, path, "making kernels", make_kernels);
    reads_blocks(network, s, path, "making kernels by rows", make_kernels_by_rows);
    reads_blocks(network, s, path, "packing weights", pack_weights);
    if (s->precision == VBS_PRECISION_FP32)
        reads_blocks(network, s, path, "writing ONNX", write_again);
    vbs_network_free(network);
}

int main(void)
{
    char path[] = "/tmp/t_model_reads.XXXXXX.onnx";
    int file = mkstemps(path, 5);

    if (file < 0 || close(file) != 0)
        return 1;
    for (size_t i = 0; i < sizeof SUBJECTS / sizeof SUBJECTS[0]; i++)
        check(path, &SUBJECTS[i]);
    unlink(path);
    return done_testing();
}
