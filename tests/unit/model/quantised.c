/*
 * Quantised networks of ONNX files compute what arithmetic of whole numbers gives: random
 * QLinearConvs, and products of rows that are quantised by their own range, beside sums of
 * integers.
 */
#include "vbslab/model.h"

#include "cases/onnx_bytes.h"
#include "reference/backend/ops.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#define ROUNDS   40
#define CHANNELS 3 /* of the usual graph's input, [N, 3, 8, 8] */
#define SIDE     8
#define IN       (CHANNELS * SIDE * SIDE)
#define OUT      5 /* channels of the convolution, columns of the product */
#define WINDOW   9 /* positions of a 3 x 3 window */

static unsigned seed;

static int below(int n)
{
    seed = seed * 1103515245 + 12345;
    return (int)(seed / 65536 % (unsigned)n);
}

/* Gives a number from -1 to 1. */
static float fraction(void)
{
    return (float)(below(20001) - 10000) / 10000;
}

/* Numbers of a random case; the tests use those that they need. */
struct chosen {
    float x[IN], x_scale, w_scale[OUT], y_scale;
    uint8_t x_zero, y_zero, w_zero;
    int8_t conv[OUT * CHANNELS * WINDOW];
    int32_t bias[OUT];
    uint8_t matrix[IN * OUT];
};

static void choose(struct chosen *c)
{
    float reach = 0.5f + 3 * fabsf(fraction()), shift = fraction();

    for (int i = 0; i < IN; i++)
        c->x[i] = reach * (fraction() + shift);
    c->x_scale = 0.004f + 0.02f * fabsf(fraction());
    c->y_scale = 0.05f + 0.1f * fabsf(fraction());
    c->x_zero = (uint8_t)below(256);
    c->y_zero = (uint8_t)below(256);
    c->w_zero = (uint8_t)below(256);
    for (int i = 0; i < OUT; i++) {
        c->w_scale[i] = 0.002f + 0.01f * fabsf(fraction());
        c->bias[i] = below(4001) - 2000;
    }
    for (int i = 0; i < OUT * CHANNELS * WINDOW; i++)
        c->conv[i] = (int8_t)(below(255) - 127);
    for (int i = 0; i < IN * OUT; i++)
        c->matrix[i] = (uint8_t)below(256);
}

/* ---- whole numbers ---- */

static int quantised(float x, float scale, int zero)
{
    float q = rintf(x / scale) + (float)zero;

    return q < 0 ? 0 : q > 255 ? 255 : (int)q;
}

/* Gives the sum of one output of the convolution. */
static int64_t conv_sum(const struct chosen *c, int out, int row, int column)
{
    int64_t sum = c->bias[out];

    for (int channel = 0; channel < CHANNELS; channel++)
        for (int k = 0; k < WINDOW; k++) {
            int y = row + k / 3 - 1, x = column + k % 3 - 1;

            if (y >= 0 && y < SIDE && x >= 0 && x < SIDE)
                sum += (quantised(c->x[(channel * SIDE + y) * SIDE + x], c->x_scale, c->x_zero) -
                        c->x_zero) *
                       (int64_t)c->conv[(out * CHANNELS + channel) * WINDOW + k];
        }
    return sum;
}

/* Gives element i of the output of the convolution. */
static int conv_output(const struct chosen *c, int i)
{
    int out = i / (SIDE * SIDE), row = i / SIDE % SIDE, column = i % SIDE;
    double value = (double)conv_sum(c, out, row, column) * c->x_scale * c->w_scale[out];

    return quantised((float)value, c->y_scale, c->y_zero);
}

/* Gives column i of the product. */
static double product_output(const struct chosen *c, int i)
{
    float low = 0, high = 0, scale;
    int64_t sum = 0;
    int zero;

    for (int k = 0; k < IN; k++) {
        low = fminf(low, c->x[k]);
        high = fmaxf(high, c->x[k]);
    }
    scale = (high - low) / 255;
    zero = quantised(0 - low, scale, 0);
    for (int k = 0; k < IN; k++)
        sum += (quantised(c->x[k], scale, zero) - zero) *
               (int64_t)(c->matrix[k * OUT + i] - c->w_zero);
    return (double)sum * scale;
}

/* ---- files ---- */

static struct bytes conv_file(const struct chosen *c)
{
    static const int8_t none[OUT] = {0};
    struct bytes graph = onnx_usual_graph();
    struct bytes node = onnx_node("QLinearConv", "q xs xz w ws wz ys yz b", "y");

    onnx_add_values(&graph, "xs", 1, 0, NULL, &c->x_scale);
    onnx_add_values(&graph, "xz", 2, 0, NULL, &c->x_zero);
    onnx_add_values(&graph, "w", 3, 4, (int64_t[]){OUT, CHANNELS, 3, 3}, c->conv);
    onnx_add_values(&graph, "ws", 1, 1, (int64_t[]){OUT}, c->w_scale);
    onnx_add_values(&graph, "wz", 3, 1, (int64_t[]){OUT}, none);
    onnx_add_values(&graph, "ys", 1, 0, NULL, &c->y_scale);
    onnx_add_values(&graph, "yz", 2, 0, NULL, &c->y_zero);
    onnx_add_values(&graph, "b", 6, 1, (int64_t[]){OUT}, c->bias);
    onnx_add_node(&graph, onnx_node("QuantizeLinear", "x xs xz", "q"));
    onnx_attribute_ints(&node, "pads", 4, (int64_t[]){1, 1, 1, 1});
    onnx_add_node(&graph, node);
    return onnx_model(13, &graph);
}

static struct bytes product_file(const struct chosen *c)
{
    struct bytes graph = onnx_usual_graph(), node;

    onnx_add_values(&graph, "w", 2, 2, (int64_t[]){IN, OUT}, c->matrix);
    onnx_add_values(&graph, "wz", 2, 0, NULL, &c->w_zero);
    onnx_add_node(&graph, onnx_node("Flatten", "x", "f"));
    onnx_add_node(&graph, onnx_node("DynamicQuantizeLinear", "f", "q s z"));
    onnx_add_node(&graph, onnx_node("MatMulInteger", "q w z wz", "p"));
    node = onnx_node("Cast", "p", "c");
    onnx_attribute_int(&node, "to", 1);
    onnx_add_node(&graph, node);
    onnx_add_node(&graph, onnx_node("Mul", "c s", "y"));
    return onnx_model(13, &graph);
}

/* ---- networks ---- */

/* Computes the last layer by the slow definitions; null on failure. */
static float *compute(const struct vbs_network *network, const float *x)
{
    float *tensors[32] = {NULL}, *last;
    const float *inputs[32];
    int n = network->n_layers;

    for (int k = 1; n < 32 && k <= n; k++) {
        for (int i = 0; i < network->layers[k].n_inputs; i++) {
            int from = network->layers[k].inputs[i];

            inputs[i] = from == 0 ? x : tensors[from];
        }
        tensors[k] = reference_layer(network, k, inputs);
    }
    last = n < 32 ? tensors[n] : NULL;
    for (int k = 1; n < 32 && k < n; k++)
        free(tensors[k]);
    return last;
}

/* Writes a file, which is cleared, reads it, and computes its output of x. */
static float *run(struct bytes file, const char *path, const float *x)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    float *output = NULL;

    if (bytes_write(&file, path) &&
        vbs_network_load_as(&ctx, path, NULL, 0, VBS_PRECISION_FP32, &network) == VBS_OK)
        output = compute(network, x);
    else
        printf("# %s\n", vbs_detail(&ctx));
    bytes_clear(&file);
    vbs_network_free(network);
    return output;
}

int main(void)
{
    char path[] = "/tmp/t_model_quantised.XXXXXX.onnx";
    int made = mkstemps(path, 5), n = OUT * SIDE * SIDE, steps = 0, off = 0, clipped = 0;
    static struct chosen c;
    double most = 0;
    bool ran = made >= 0;

    for (seed = 1; ran && seed <= ROUNDS; seed++) {
        unsigned kept = seed;
        float *conv, *product;

        choose(&c);
        conv = run(conv_file(&c), path, c.x);
        product = run(product_file(&c), path, c.x);
        ran = conv && product;
        for (int i = 0; ran && i < n; i++) {
            int want = conv_output(&c, i), differ = abs((int)conv[i] - want);

            ran = conv[i] == rintf(conv[i]);
            steps = differ > steps ? differ : steps;
            off += differ != 0;
            clipped += want == 0 || want == 255;
        }
        for (int i = 0; ran && i < OUT; i++) {
            double want = product_output(&c, i);

            most = fmax(most, fabs((double)product[i] - want) / (1 + fabs(want)));
        }
        free(conv);
        free(product);
        seed = kept;
    }
    ok(ran, "%d random convolutions and products of whole numbers are computed", ROUNDS);
    ok(clipped < n * ROUNDS / 2, "most of the convolutions' outputs are within the range");
    ok(steps <= 1, "the convolutions differ by at most one step");
    ok(off <= n * ROUNDS / 1000, "and in at most one of 1000 values: %d of %d", off, n * ROUNDS);
    ok(most < 1e-4, "the products are those of the integers (%.1g)", most);
    close(made);
    unlink(path);
    return done_testing();
}
