/* Which operators are computed in 8 bits, ranges of samples that are known, weights and biases,
 * files that are read again, and what is refused. */
#include "vbslab/quantize.h"

#include "cases/onnx_bytes.h"
#include "support/model_help.h"
#include "support/tap.h"
#include "vbslab/eval.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char path[] = "/tmp/t_quantize.XXXXXX.onnx";

static struct vbs_network *load(const char *model)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load(&ctx, model, NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return network;
}

/* Samples of which every value is at + i % 64 / 63 * spread, where i counts all values. */
struct ramp {
    int64_t each;
    double at, spread;
    double odd; /* the value of the last element of all samples, where it is not 0 */
    int64_t n;
    int n_calls;
};

static enum vbs_status give_ramp(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                 float *inputs)
{
    struct ramp *r = self;

    (void)ctx;
    r->n_calls++;
    for (int64_t i = 0; i < n * r->each; i++)
        inputs[i] = (float)(r->at + (double)((i + first * r->each) % 64) / 63 * r->spread);
    if (r->odd != 0 && first + n == r->n)
        inputs[n * r->each - 1] = (float)r->odd;
    return VBS_OK;
}

static struct ramp ramp_for(const struct vbs_network *network, double at, double spread, int64_t n)
{
    return (struct ramp){
        .each = vbs_shape_elements(&network->input), .at = at, .spread = spread, .n = n};
}

static struct vbs_quantized_network *quantise(const struct vbs_network *network, struct ramp *ramp,
                                              const struct vbs_quantize_options *options)
{
    const struct vbs_quantize_samples samples = {ramp, ramp->n, give_ramp};
    struct vbs_quantized_network *q = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_quantize(&ctx, network, &samples, options, &q) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return q;
}

static const struct vbs_quantize_row *find(const struct vbs_quantized_network *q, const char *name)
{
    int n;
    const struct vbs_quantize_row *rows = vbs_quantized_rows(q, &n);

    for (int i = 0; i < n; i++)
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    return NULL;
}

/* ---- roles ---- */

static const char TEXT[] = "model roles\n"
                           "input 4x8x8\n"
                           "conv a out=8 kernel=3 pad=1\n"
                           "batchnorm ab\n"
                           "relu ar\n"
                           "maxpool p kernel=2 stride=2\n"
                           "lrn n size=3 alpha=0.1 beta=0.75\n"
                           "conv b out=8 kernel=1\n"
                           "batchnorm bb\n"
                           "conv c out=8 kernel=1 groups=8 from=n\n"
                           "relu cr\n"
                           "dropout cd\n"
                           "batchnorm cb\n"
                           "add s from=bb,cb\n"
                           "relu sr\n"
                           "fc f out=5\n"
                           "softmax o\n";

/* Checks "kind" and whether the value of an operator is rounded. */
static void check_row(const struct vbs_quantized_network *q, const char *name, const char *kind,
                      bool rounded, bool floats)
{
    const struct vbs_quantize_row *row = find(q, name);

    ok(row && strcmp(row->kind, kind) == 0 && row->rounded == rounded && !!row->why == floats,
       "%s is %s, %s, computed in %s", name, kind, rounded ? "rounded" : "not rounded",
       floats ? "floats" : "8 bits");
}

static void check_roles(void)
{
    struct vbs_network *network = parse_network(TEXT);
    struct ramp ramp = ramp_for(network, -1, 2, 3);
    struct vbs_quantized_network *q = quantise(network, &ramp, NULL);
    const char *keep[] = {"c", "f*"};
    const struct vbs_quantize_options options = {
        .struct_size = sizeof options, .keep = keep, .n_keep = 2};

    check_row(q, VBS_INPUT_NAME, "input", true, false);
    check_row(q, "a", "conv+relu", true, false);
    check_row(q, "p", "maxpool", true, false);
    check_row(q, "n", "lrn", true, true);
    check_row(q, "b", "conv", true, false);
    check_row(q, "c", "conv+relu+dropout", true, false);
    check_row(q, "cb", "batchnorm", true, true);
    check_row(q, "s", "add+relu", true, false);
    check_row(q, "f", "fc", false, false);
    check_row(q, "o", "softmax", false, true);
    ok(find(q, "a")->value.scale == find(q, "p")->value.scale &&
           find(q, "a")->value.zero == find(q, "p")->value.zero,
       "a maxpool has the scale of its input");
    is_int(find(q, "c")->n_weights, 64 / 8, "weights are counted");
    is_int(find(q, "b")->n_channels, 8, "... and their scales");
    vbs_quantized_free(q);
    q = quantise(network, &ramp, &options);
    check_row(q, "c", "conv", false, true);
    check_row(q, "f", "fc", false, true);
    check_row(q, "s", "add+relu", true, false);
    ok(find(q, "c")->n_weights == 0 && find(q, "f")->n_weights == 0,
       "layers that are kept have no weights in 8 bits");
    vbs_quantized_free(q);
    vbs_network_free(network);
}

/* ---- ranges ---- */

static void set_values(struct vbs_network **network, int layer, enum vbs_parameter what,
                       const float *values, int64_t n)
{
    const struct vbs_new_values given = {layer, -1, what, n, values};
    struct vbs_network *made = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_revalue(&ctx, *network, &given, 1, &made) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    vbs_network_free(*network);
    *network = made;
}

static bool near(double a, double b)
{
    return fabs(a - b) < 1e-5 * (1 + fabs(b));
}

static void check_range(const struct vbs_network *network, struct ramp *ramp,
                        const struct vbs_quantize_options *options, double low, double high,
                        const char *what)
{
    struct vbs_quantized_network *q = quantise(network, ramp, options);
    const struct vbs_quantize_row *row = find(q, VBS_INPUT_NAME);

    double bin = options->method == VBS_QUANTIZE_MINMAX
                     ? 0
                     : (row->seen_high - row->seen_low) / VBS_QUANTIZE_BINS;

    /* numbers are at most half a step away from the range, and this a bin from what it should be */
    ok(fabs(row->low - low) <= (double)row->value.scale * 0.51 + bin &&
           fabs(row->high - high) <= (double)row->value.scale * 0.51 + bin,
       "%s: %g .. %g: %g .. %g", what, low, high, row->low, row->high);
    vbs_quantized_free(q);
}

/* Values of about a normal distribution with deviation 1, the last of which is 30. */
static enum vbs_status give_normal(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                   float *inputs)
{
    const struct ramp *r = self;

    (void)ctx;
    for (int64_t i = 0; i < n * r->each; i++) {
        uint32_t state = (uint32_t)(first * r->each + i) * 2654435761u;
        double sum = 0;

        for (int k = 0; k < 12; k++) {
            state = state * 1664525u + 1013904223u;
            sum += state / 4294967296.0;
        }
        inputs[i] = (float)(sum - 6);
    }
    if (first + n == r->n)
        inputs[n * r->each - 1] = 30;
    return VBS_OK;
}

/* What a convolution makes of samples of which one value is far from all others. */
static void check_clipped(void)
{
    struct vbs_network *network = parse_network("model c\ninput 1x8x8\nconv c out=1 kernel=1\n");
    struct ramp ramp = ramp_for(network, 0, 0, 400);
    const struct vbs_quantize_samples samples = {&ramp, ramp.n, give_normal};
    const struct vbs_quantize_options options = {.struct_size = sizeof options,
                                                 .method = VBS_QUANTIZE_ENTROPY};
    struct vbs_quantized_network *q = NULL;
    struct vbs_ctx ctx = {0};
    const struct vbs_quantize_row *row;

    set_values(&network, 1, VBS_PARAMETER_WEIGHTS, &(const float){1}, 1);
    set_values(&network, 1, VBS_PARAMETER_BIAS, &(const float){0}, 1);
    if (vbs_quantize(&ctx, network, &samples, &options, &q) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    row = find(q, "c");
    ok(row->seen_high == 30 && row->high > 2 && row->high < 10 && row->low < -2 &&
           row->low > -5.1 && row->clipped > 0 && row->clipped < 0.02,
       "entropy clips a single far value: %g .. %g", row->low, row->high);
    vbs_quantized_free(q);
    vbs_network_free(network);
}

static void check_ranges(void)
{
    struct vbs_network *network = parse_network("model r\ninput 1x8x8\nfc f out=2\n");
    struct ramp ramp = ramp_for(network, -1, 4, 40), far = ramp, constant = ramp;
    struct vbs_quantize_options options = {.struct_size = sizeof options};
    struct vbs_quantized_network *q;

    check_range(network, &ramp, &options, -1, 3, "minmax");
    is_int(ramp.n_calls, 1, "... of samples that are read once");
    far.odd = 100;
    check_range(network, &far, &options, -1, 100, "minmax with a far value");
    q = quantise(network, &far, &options);
    ok(find(q, VBS_INPUT_NAME)->seen_high == 100 && find(q, VBS_INPUT_NAME)->clipped == 0,
       "... which is seen");
    vbs_quantized_free(q);
    options.batch = 7;
    check_range(network, &far, &options, -1, 100, "... in batches of another size");
    options.batch = 0;
    options.method = VBS_QUANTIZE_PERCENTILE;
    options.percentile = 99.8; /* 2.56 of 2560 values on each side; bins are 101/2048 wide */
    check_range(network, &far, &options, -1, 3, "percentile");
    q = quantise(network, &far, &options);
    ok(near(find(q, VBS_INPUT_NAME)->clipped, 1.0 / 2560), "... clips one of 2560 values: %g",
       find(q, VBS_INPUT_NAME)->clipped * 2560);
    vbs_quantized_free(q);
    options.percentile = 100;
    check_range(network, &far, &options, -1, 100, "percentile 100 is minmax");
    options.method = VBS_QUANTIZE_ENTROPY;
    far.odd = 4;
    check_range(network, &far, &options, -1, 4, "entropy, the input");
    check_clipped();
    options.method = VBS_QUANTIZE_MINMAX;
    options.symmetric = true;
    check_range(network, &ramp, &options, -3, 3, "symmetric");
    options.symmetric = false;
    options.is_signed = true;
    check_range(network, &ramp, &options, -1, 3, "signed");
    constant.at = constant.spread = 0;
    for (int m = 0; m < VBS_N_QUANTIZE_METHODS; m++) {
        options.method = (enum vbs_quantize_method)m;
        q = quantise(network, &constant, &options);
        ok(find(q, VBS_INPUT_NAME)->value.scale == 1, "a value that is always 0 has scale 1: %s",
           vbs_quantize_method_word(options.method));
        vbs_quantized_free(q);
    }
    vbs_network_free(network);
}

/* ---- weights ---- */

/* Writes it, loads it, and gives the values of a parameter of its only layer with weights. */
static void read_back(const struct vbs_quantized_network *q, enum vbs_parameter what, float *values,
                      int64_t n)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *loaded;

    if (vbs_quantized_write(&ctx, q, path) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    loaded = load(path);
    for (int k = 1; k <= loaded->n_layers; k++)
        if (vbs_weight_count(loaded, k) > 0 &&
            vbs_parameter_values(&ctx, loaded, k, -1, what, 0, n, values) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
    vbs_network_free(loaded);
}

static void check_weights(void)
{
    static const float WEIGHTS[] = {0.127F, -0.0104F, 0.001F, 0, 0, 0, 1e-12F, -1e-12F, 5e-13F};
    static const float BIAS[] = {0.5F, 0.25F, 3};
    struct vbs_network *network = parse_network("model w\ninput 3\nfc f out=3\n");
    struct ramp ramp = ramp_for(network, 0, 2.55, 22);
    struct vbs_quantize_options options = {.struct_size = sizeof options};
    struct vbs_quantized_network *q;
    float read[9], bias[3];

    set_values(&network, 1, VBS_PARAMETER_WEIGHTS, WEIGHTS, 9);
    set_values(&network, 1, VBS_PARAMETER_BIAS, BIAS, 3);
    q = quantise(network, &ramp, &options);
    read_back(q, VBS_PARAMETER_WEIGHTS, read, 9);
    read_back(q, VBS_PARAMETER_BIAS, bias, 3);
    ok(near((double)read[0], 0.127) && near((double)read[1], -0.010) &&
           near((double)read[2], 0.001),
       "weights are the nearest multiples of the largest / 127: %g %g %g", (double)read[0],
       (double)read[1], (double)read[2]);
    ok(read[3] == 0 && read[4] == 0 && read[5] == 0, "a channel of zeros stays one");
    ok(near((double)bias[0], 0.5) && near((double)bias[1], 0.25) && near((double)bias[2], 3),
       "biases are kept where weights are none, or too small for steps of 32 bits: %g %g %g",
       (double)bias[0], (double)bias[1], (double)bias[2]);
    ok(find(q, "f")->weights_db > 40 && find(q, "f")->weights_db < 60,
       "their error is told: %.1f dB", find(q, "f")->weights_db);
    vbs_quantized_free(q);
    options.per_tensor = true;
    q = quantise(network, &ramp, &options);
    read_back(q, VBS_PARAMETER_WEIGHTS, read, 9);
    ok(find(q, "f")->n_channels == 1 && near((double)read[0], 0.127) && read[6] == 0,
       "one scale for all of them rounds small ones to 0");
    vbs_quantized_free(q);
    vbs_network_free(network);
}

/* ---- what is computed ---- */

static double difference(const struct vbs_network *a, const struct vbs_network *b,
                         struct ramp *ramp)
{
    const struct vbs_quantize_samples samples = {ramp, ramp->n, give_ramp};
    struct vbs_quantize_difference d;
    struct vbs_ctx ctx = {0};

    if (vbs_quantize_compare(&ctx, a, b, &samples, NULL, &d) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return d.db;
}

static void check_outputs(const char *what, struct vbs_network *network, double least_db)
{
    struct ramp ramp = ramp_for(network, -1, 2, 5);

    for (int i = 0; i < 8; i++) {
        const struct vbs_quantize_options options = {.struct_size = sizeof options,
                                                     .method = (enum vbs_quantize_method)(i % 3),
                                                     .per_tensor = i & 1,
                                                     .is_signed = i & 2,
                                                     .symmetric = i & 4};
        struct vbs_quantized_network *q = quantise(network, &ramp, &options);
        struct vbs_ctx ctx = {0};
        struct vbs_network *loaded;
        double db;

        if (vbs_quantized_write(&ctx, q, path) != VBS_OK)
            bail_out("%s", vbs_detail(&ctx));
        loaded = load(path);
        db = difference(network, loaded, &ramp);
        ok(db > least_db && isfinite(db), "%s, %s%s%s%s: outputs differ by %.1f dB", what,
           vbs_quantize_method_word(options.method), i & 1 ? ", per tensor" : "",
           i & 2 ? ", signed" : "", i & 4 ? ", symmetric" : "", db);
        vbs_network_free(loaded);
        vbs_quantized_free(q);
    }
    ok(!isfinite(difference(network, network, &ramp)), "%s differs not from itself", what);
    vbs_network_free(network);
}

/* y = (a w + b v) of two inputs, whose ranges differ. */
static void check_two_inputs(void)
{
    struct bytes graph = {0}, output = onnx_value("y", 1, 2, (int64_t[]){0, 2});
    struct bytes a = onnx_value("a", 1, 2, (int64_t[]){0, 3});
    struct bytes b = onnx_value("b", 1, 2, (int64_t[]){0, 4}), model;
    struct vbs_quantized_network *q;
    struct vbs_network *network;
    struct ramp ramp;

    bytes_put(&graph, ONNX_OUTPUT, &output);
    bytes_put(&graph, ONNX_INPUT, &a);
    bytes_put(&graph, ONNX_INPUT, &b);
    onnx_add_tensor(&graph, onnx_floats("w", 0.5F, 2, (int64_t[]){3, 2}));
    onnx_add_tensor(&graph, onnx_floats("v", -0.25F, 2, (int64_t[]){4, 2}));
    onnx_add_node(&graph, onnx_node("MatMul", "a w", "c"));
    onnx_add_node(&graph, onnx_node("MatMul", "b v", "d"));
    onnx_add_node(&graph, onnx_node("Add", "c d", "y"));
    model = onnx_model(13, &graph);
    if (!bytes_write(&model, path))
        bail_out("cannot write %s", path);
    bytes_clear(&model);
    network = load(path);
    ramp = ramp_for(network, -1, 2, 64);
    q = quantise(network, &ramp, NULL);
    ok(!find(q, VBS_INPUT_NAME)->rounded && find(q, "a") && find(q, "a")->rounded && find(q, "b") &&
           find(q, "b")->rounded,
       "each of two inputs is rounded by itself");
    vbs_quantized_free(q);
    check_outputs("two inputs", network, 25);
}

/* Layers with weights are measured; other rows have no number. */
static void check_alone(void)
{
    struct vbs_network *network =
        parse_network("model n\ninput 1x4x4\nconv a out=2 kernel=1\nrelu r\nfc f out=2\n");
    struct ramp ramp = ramp_for(network, -1, 2, 8);
    const struct vbs_quantize_samples samples = {&ramp, ramp.n, give_ramp};
    const struct vbs_quantize_options options = {.struct_size = sizeof options, .per_tensor = true};
    const float weights[] = {0.5F, 0.25F};
    struct vbs_quantized_network *q;
    struct vbs_ctx ctx = {0};
    double db[3];
    int n;

    set_values(&network, 1, VBS_PARAMETER_WEIGHTS, weights, 2);
    q = quantise(network, &ramp, &options);
    vbs_quantized_rows(q, &n);
    if (n != 3 || vbs_quantized_alone(&ctx, q, &samples, NULL, db) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    ok(!isfinite(db[0]) && isfinite(db[1]) && isfinite(db[2]) && db[1] > 20 && db[2] > 20,
       "layers with weights are measured alone: %.1f and %.1f dB", db[1], db[2]);
    vbs_quantized_free(q);
    vbs_network_free(network);
}

static void check_same_file(void)
{
    struct vbs_network *network = parse_network(TEXT);
    struct ramp ramp = ramp_for(network, -1, 2, 3);
    struct vbs_quantized_network *a = quantise(network, &ramp, NULL),
                                 *b = quantise(network, &ramp, NULL);
    char command[200];
    struct vbs_ctx ctx = {0};

    if (vbs_quantized_write(&ctx, a, path) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    snprintf(command, sizeof command, "cp %s %s.a", path, path);
    if (system(command) != 0 || vbs_quantized_write(&ctx, b, path) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    snprintf(command, sizeof command, "cmp -s %s %s.a && rm %s.a", path, path, path);
    is_int(system(command), 0, "two calls give the same bytes");
    vbs_quantized_free(a);
    vbs_quantized_free(b);
    vbs_network_free(network);
}

/* ---- refusals ---- */

static void refuse(const char *what, const struct vbs_network *network, struct ramp *ramp,
                   const struct vbs_quantize_options *options, enum vbs_status want,
                   const char *part)
{
    const struct vbs_quantize_samples samples = {ramp, ramp->n, give_ramp};
    struct vbs_quantized_network *q = NULL;
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_quantize(&ctx, network, &samples, options, &q);

    ok(status == want && !q && strstr(vbs_detail(&ctx), part), "%s: %s", what, vbs_detail(&ctx));
    vbs_quantized_free(q);
}

static enum vbs_status fail_to_give(struct vbs_ctx *ctx, void *self, int64_t first, int n,
                                    float *inputs)
{
    (void)ctx, (void)self, (void)first, (void)n, (void)inputs;
    return VBS_IO;
}

static void check_refusals(void)
{
    struct vbs_network *network = parse_network(TEXT),
                       *none = parse_network("model n\ninput 4\nsoftmax s\n"),
                       *done = load("tests/data/onnx/quantised.onnx");
    struct ramp ramp = ramp_for(network, -1, 2, 3), odd = ramp, few = ramp;
    struct vbs_network *conv = parse_network("model c\ninput 1x2x2\nconv c out=1 kernel=1\n");
    struct ramp large = ramp_for(conv, 0, 1, 3);
    struct ramp small = ramp_for(none, 0, 1, 1), other = ramp_for(done, 0, 1, 1);
    const char *keep[] = {"a", "sf"};
    struct vbs_quantize_options options = {
        .struct_size = sizeof options, .keep = keep, .n_keep = 2};
    const struct vbs_quantize_samples failing = {NULL, 3, fail_to_give};
    struct vbs_quantized_network *q = NULL;
    volatile sig_atomic_t stop = 1;
    struct vbs_ctx ctx = {0};

    refuse("a layer that is none", network, &ramp, &options, VBS_USAGE, "'sf' is no layer");
    keep[1] = "*";
    refuse("nothing that is left", network, &ramp, &options, VBS_USAGE, "no convolution");
    options = (struct vbs_quantize_options){.struct_size = sizeof options, .percentile = 50};
    refuse("a percentile", network, &ramp, &options, VBS_USAGE, "percentile of 50");
    options.percentile = 0;
    options.method = VBS_N_QUANTIZE_METHODS;
    refuse("a method", network, &ramp, &options, VBS_USAGE, "method");
    few.n = 0;
    refuse("no samples", network, &few, NULL, VBS_USAGE, "no sample");
    odd.odd = NAN;
    refuse("no number", network, &odd, NULL, VBS_LIBRARY, "sample 2");
    large.odd = 3e38;
    set_values(&conv, 1, VBS_PARAMETER_WEIGHTS, &(const float){100}, 1);
    refuse("an overflow", conv, &large, NULL, VBS_LIBRARY,
           "made by 'c' is no finite number for sample 2");
    refuse("no weights", none, &small, NULL, VBS_USAGE, "no convolution");
    refuse("quantised twice", done, &other, NULL, VBS_UNSUPPORTED, "quantised already");
    is_int(vbs_quantize(&ctx, network, &failing, NULL, &q), VBS_IO,
           "a failure to read samples is passed on");
    vbs_ctx_set_cancel(&ctx, &stop);
    is_int(vbs_quantize(&ctx, network, &(struct vbs_quantize_samples){&ramp, ramp.n, give_ramp},
                        NULL, &q),
           VBS_INTERRUPTED, "work stops on request");
    vbs_network_free(network);
    vbs_network_free(none);
    vbs_network_free(conv);
    vbs_network_free(done);
}

int main(void)
{
    int file = mkstemps(path, 5);

    check_roles();
    check_ranges();
    check_weights();
    check_outputs("many operators", parse_network(TEXT), 15);
    check_outputs("opset 13", load("tests/data/onnx/opset_13.onnx"), 5);
    check_outputs("gates", load("tests/data/onnx/torch_gates.onnx"), 5);
    check_outputs("segment", load("tests/data/onnx/segment.onnx"), 5);
    check_two_inputs();
    check_alone();
    check_same_file();
    check_refusals();
    close(file);
    unlink(path);
    return done_testing();
}
