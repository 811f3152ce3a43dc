/* The precision of networks: chains of operators that round become encodings, layers that only
 * round are left out, values stay what they are, and hashes tell encodings apart. */
#include "vbslab/vbslab.h"

#include "base/ctx.h"
#include "cases/operator_cases.h"
#include "reference/backend/ops.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A number q stands for S * (q - zero). */
#define S 0.0625

#define DIVIDE(name_, from)                                                                        \
    {                                                                                              \
        VBS_OP_LINEAR, name_, FROM(from), .attributes = {.linear = {1 / S, 0} }                    \
    }
#define ROUND(name_, from)                                                                         \
    {                                                                                              \
        VBS_OP_ROUND, name_, FROM(from)                                                            \
    }
#define SHIFT(name_, from, zero)                                                                   \
    {                                                                                              \
        VBS_OP_LINEAR, name_, FROM(from), .attributes = {.linear = {1, zero} }                     \
    }
#define CLIP(name_, from, low_, high_)                                                             \
    {                                                                                              \
        VBS_OP_CLIP, name_, FROM(from), .attributes = {.clip = {low_, high_} }                     \
    }
#define BACK(name_, from, zero)                                                                    \
    {                                                                                              \
        VBS_OP_LINEAR, name_, FROM(from), .attributes = {.linear = {S, -(zero)*S} }                \
    }

/* A network, and what it is in precision int8. */
struct precision_case {
    struct operator_case network;
    const char *want; /* the input's encoding, then layers: kind+fused:encoding(inputs) */
};

static const struct precision_case CASES[] = {
    {{.name = "a chain behind a relu, which its range implies",
      .input = DIMS(4, 3, 3),
      .nodes = {{VBS_OP_POOL_MAX, "p", FROM(0),
                 .attributes = {.pool = {.window = WINDOW(1, 1, 1, 0)}}},
                {VBS_OP_RELU, "r", FROM(1)},
                DIVIDE("d", 2),
                ROUND("o", 3),
                CLIP("c", 4, 0, 255),
                BACK("b", 5, 0)}},
     "float32 maxpool:uint8/0(0)"},
    {{.name = "a zero point, and a relu that the range does not imply",
      .input = DIMS(4, 3, 3),
      .nodes = {{VBS_OP_IDENTITY, "p", FROM(0)},
                {VBS_OP_RELU, "r", FROM(1)},
                DIVIDE("d", 2),
                ROUND("o", 3),
                SHIFT("z", 4, -10),
                CLIP("c", 5, -128, 127),
                BACK("b", 6, -10)}},
     "float32 identity+relu:int8/-10(0)"},
    {{.name = "the input is only rounded",
      .input = DIMS(8),
      .nodes = {DIVIDE("d", 0),
                ROUND("o", 1),
                CLIP("c", 2, -128, 127),
                BACK("b", 3, 0),
                {VBS_OP_SOFTMAX, "s", FROM(4)}}},
     "int8/0 softmax:float32(0)"},
    {{.name = "whole numbers, which two layers turn back",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                DIVIDE("d", 1),
                ROUND("o", 2),
                CLIP("c", 3, 0, 255),
                BACK("b", 4, 0),
                {VBS_OP_RELU, "r", FROM(5)},
                BACK("e", 4, 0),
                {VBS_OP_SOFTMAX, "t", FROM(7)}}},
     "float32 softmax:uint8/0(0) identity+relu:float32(1) softmax:float32(1)"},
    {{.name = "whole numbers that are the values, which nothing turns back",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                ROUND("o", 1),
                CLIP("c", 2, 0, 255),
                {VBS_OP_SOFTMAX, "t", FROM(3)},
                {VBS_OP_ADD, "a", FROM(3, 4)}}},
     "float32 softmax:uint8/0(0) softmax:float32(1) add:float32(1,2)"},
    {{.name = "a layer that reads both would read a tensor twice",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                DIVIDE("d", 1),
                ROUND("o", 2),
                CLIP("c", 3, 0, 255),
                BACK("b", 4, 0),
                BACK("e", 4, 0),
                {VBS_OP_ADD, "a", FROM(5, 6)}}},
     "float32 softmax:uint8/0(0) identity:uint8/0(1) add:float32(1,2)"},
    {{.name = "factors that are not each other's inverse",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                {VBS_OP_LINEAR, "d", FROM(1), .attributes = {.linear = {15, 0}}},
                ROUND("o", 2),
                CLIP("c", 3, 0, 255),
                BACK("b", 4, 0)}},
     "float32 softmax+linear+round+clip+linear:float32(0)"},
    {{.name = "zero points that differ",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                DIVIDE("d", 1),
                ROUND("o", 2),
                SHIFT("z", 3, 4),
                CLIP("c", 4, 0, 255),
                BACK("b", 5, 5)}},
     "float32 softmax+linear+round+linear+clip+linear:float32(0)"},
    {{.name = "a range that is none of 8 bits",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                DIVIDE("d", 1),
                ROUND("o", 2),
                CLIP("c", 3, 0, 65535),
                BACK("b", 4, 0)}},
     "float32 softmax+linear+round+clip+linear:float32(0)"},
    {{.name = "the same chain twice, as around a reshape",
      .input = DIMS(8),
      .nodes = {{VBS_OP_SOFTMAX, "s", FROM(0)},
                DIVIDE("d", 1),
                ROUND("o", 2),
                CLIP("c", 3, 0, 255),
                BACK("b", 4, 0),
                DIVIDE("d2", 5),
                ROUND("o2", 6),
                CLIP("c2", 7, 0, 255),
                BACK("b2", 8, 0)}},
     "float32 softmax:uint8/0(0)"},
};

static int put_encoding(const struct vbs_encoding *e, char *to, size_t size)
{
    return e->scale > 0 ? snprintf(to, size, "%s/%d", vbs_storage_word(e->storage), e->zero)
                        : snprintf(to, size, "%s", vbs_storage_word(e->storage));
}

static void describe(const struct vbs_network *network, char *text, size_t size)
{
    size_t at = (size_t)put_encoding(&network->layers[0].encoding, text, size);

    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        at += (size_t)snprintf(text + at, size - at, " %s", vbs_op_word(l->op));
        for (int f = 0; f < l->n_fused; f++)
            at += (size_t)snprintf(text + at, size - at, "+%s", vbs_op_word(l->fused[f].op));
        at += (size_t)snprintf(text + at, size - at, ":");
        at += (size_t)put_encoding(&l->encoding, text + at, size - at);
        for (int i = 0; i < l->n_inputs; i++)
            at += (size_t)snprintf(text + at, size - at, "%c%d", i ? ',' : '(', l->inputs[i]);
        at += (size_t)snprintf(text + at, size - at, ")");
    }
}

/* Computes all tensors of a sample; the caller frees the last one, of the network's last layer. */
static float *compute(const struct vbs_network *network)
{
    float *tensors[MAX_CASE_NODES + 1] = {NULL}, *last;
    int n = network->n_layers;
    int64_t count = vbs_shape_elements(&network->input);

    tensors[0] = malloc((size_t)count * sizeof(float));
    if (!tensors[0])
        return NULL;
    vbs_tensor_values(0, 0, count, tensors[0]);
    for (int64_t i = 0; i < count; i++)
        tensors[0][i] = reference_stored(&network->layers[0].encoding, 9 * tensors[0][i]);
    for (int k = 1; k <= n; k++) {
        const float *inputs[4] = {NULL};

        for (int i = 0; i < network->layers[k].n_inputs; i++)
            inputs[i] = tensors[network->layers[k].inputs[i]];
        tensors[k] = reference_layer(network, k, inputs);
    }
    for (int k = 0; k < n; k++)
        free(tensors[k]);
    last = tensors[n];
    return last;
}

static void check_values(const struct precision_case *c, const struct vbs_network *before,
                         const struct vbs_network *after)
{
    float *want = compute(before), *got = compute(after);
    int64_t n = vbs_shape_elements(&before->layers[before->n_layers].shape);
    double most = 0;

    for (int64_t i = 0; want && got && i < n; i++)
        most = fmax(most, fabs((double)got[i] - (double)want[i]));
    ok(want && got && most < 1e-6, "%s: values stay what they are (%g)", c->network.name, most);
    free(want);
    free(got);
}

static void check_case(const struct precision_case *c)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *before = NULL, *after = NULL;
    char text[400];
    bool made = operator_case_network(&ctx, &c->network, &before) == VBS_OK &&
                operator_case_network(&ctx, &c->network, &after) == VBS_OK &&
                vbs_network_set_precision(&ctx, after, VBS_PRECISION_INT8) == VBS_OK;

    if (!ok(made, "%s: made", c->network.name)) {
        printf("# %s\n", vbs_detail(&ctx));
    } else {
        bool encoded = vbs_network_precision(after) == VBS_PRECISION_INT8;

        describe(after, text, sizeof text);
        is_str(text, c->want, "its layers in int8");
        check_values(c, before, after);
        ok((vbs_network_hash(before) != vbs_network_hash(after)) == encoded,
           "its hash is another one where tensors are encoded");
        ok(vbs_network_set_precision(&ctx, after, VBS_PRECISION_BF16) ==
               (encoded ? VBS_USAGE : VBS_OK),
           "a precision is set once");
    }
    vbs_network_free(before);
    vbs_network_free(after);
}

/* ---- encodings ---- */

static void check_rounding(void)
{
    static const struct vbs_encoding encodings[] = {
        {VBS_UINT8, 0.5f, 0}, {VBS_UINT8, 0.03f, 77},    {VBS_INT8, 0.5f, -128},
        {VBS_INT8, 0.1f, 5},  {.storage = VBS_BFLOAT16}, {.storage = VBS_FLOAT32}};
    static const float values[] = {0,     0.25f,  0.75f,  1.25f,  -0.25f,   3.14159f,  1e30f,
                                   -1e9f, 1e-30f, 127.5f, 128.5f, INFINITY, -INFINITY, 0.1f};

    for (size_t e = 0; e < sizeof encodings / sizeof encodings[0]; e++) {
        bool same = true;

        for (size_t i = 0; i < sizeof values / sizeof values[0]; i++)
            same &= vbs_encoding_round(&encodings[e], values[i]) ==
                    reference_stored(&encodings[e], values[i]);
        ok(same, "encoding %zu rounds as the definition says", e);
    }
    ok(vbs_encoding_round(&encodings[0], NAN) == 0, "what is no number becomes the smallest value");
}

/* ---- names ---- */

static void check_words(void)
{
    enum vbs_precision precision = VBS_N_PRECISIONS;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    is_int((int64_t)vbs_model_word_length("a/net.onnx:bf16", &precision), 10, "a word's length");
    is_int(precision, VBS_PRECISION_BF16, "and its precision");
    is_int((int64_t)vbs_model_word_length("a:b/net.onnx", NULL), 12, "a colon in a path");
    ok(vbs_network_load(&ctx, "lenet-5:bf16", NULL, &network) == VBS_OK &&
           strcmp(network->name, "lenet-5:bf16") == 0 &&
           vbs_network_precision(network) == VBS_PRECISION_BF16 &&
           vbs_network_out_bytes(network, 1) == 2 * vbs_shape_elements(&network->layers[1].shape),
       "a network in bfloat16 has 2 bytes for each value");
    vbs_network_free(network);
    network = NULL;
    ok(vbs_network_load(&ctx, "lenet-5:fp32", NULL, &network) == VBS_OK &&
           strcmp(network->name, "lenet-5") == 0,
       "its own precision is not in a network's name");
    vbs_network_free(network);
    ok(vbs_network_load(&ctx, "lenet-5:int8", NULL, &network) == VBS_USAGE,
       "int8 of a network that is not quantised is refused: %s", vbs_detail(&ctx));
}

/* Places that are chosen among several, and joined, need more digits than bfloat16 has; values that
 * are compared to find them do not. */
static void check_positions(void)
{
    static const struct {
        const char *name;
        enum vbs_storage storage;
    } LAYERS[] = {
        {"MatMul_3", VBS_BFLOAT16},       {"ReduceMax_5", VBS_BFLOAT16},
        {"TopK_64", VBS_FLOAT32},         {"ArgMin_87.equal", VBS_FLOAT32},
        {"ArgMin_87.mul", VBS_FLOAT32},   {"ArgMin_87.reducemin.20", VBS_FLOAT32},
        {"ArgMax_89.equal", VBS_FLOAT32}, {"ArgMax_89.reducemin", VBS_FLOAT32},
        {"Concat_93", VBS_FLOAT32},       {"Transpose_121", VBS_BFLOAT16},
        {"GatherND_130", VBS_BFLOAT16},
    };
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, "tests/data/onnx/chosen.onnx:bf16", NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++) {
        const struct vbs_layer *found = NULL;

        for (int k = 1; k <= network->n_layers; k++)
            if (strcmp(network->layers[k].name, LAYERS[i].name) == 0)
                found = &network->layers[k];
        ok(found && found->encoding.storage == LAYERS[i].storage, "%s is stored as %s",
           LAYERS[i].name, vbs_storage_word(LAYERS[i].storage));
    }
    vbs_network_free(network);
}

/* ---- weights ---- */

/* Multiplies the weights of LeNet's first layer onto a grid, and gives whether steps are found. */
static bool finds_steps(struct vbs_ctx *ctx, double largest, double off)
{
    struct vbs_network *network = NULL, *made = NULL;
    float values[64 * 25], steps[64];
    struct vbs_new_values v = {1, -1, VBS_PARAMETER_WEIGHTS, 0, values};
    bool whole = false;

    if (vbs_network_load(ctx, "lenet-5", NULL, &network) != VBS_OK)
        return false;
    v.count = vbs_weight_count(network, 1);
    for (int i = 0; i < v.count; i++) {
        double q = i % 25 == 3 ? largest : (i * 37 % 101) - 50;

        values[i] = (float)q * (float)(0.013 + 0.001 * (i / 25));
    }
    values[7] += (float)(off * 0.013);
    if (vbs_network_revalue(ctx, network, &v, 1, &made) != VBS_OK ||
        vbs_weight_steps(ctx, made, 1, steps, &whole) != VBS_OK)
        whole = false;
    vbs_network_free(network);
    vbs_network_free(made);
    return whole;
}

int main(void)
{
    struct vbs_ctx ctx = {0};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check_case(&CASES[i]);
    check_rounding();
    check_words();
    check_positions();
    ok(finds_steps(&ctx, 127, 0), "weights that are multiples of a step are found");
    ok(finds_steps(&ctx, -128, 0), "-128 of them, too");
    ok(!finds_steps(&ctx, 131, 0), "131 are too many");
    ok(!finds_steps(&ctx, 127, 0.02), "a weight between two multiples is seen");
    return done_testing();
}
