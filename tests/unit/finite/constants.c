/*
 * Numbers that are not finite in constants: each operator makes of them, while a file is read, what
 * it makes of the same numbers where they are computed, by the definition of its layers, also where
 * they are so many that they are computed as floats. A constant with NaN cannot be an operand, so
 * each value is turned into a finite one that tells what it was.
 */
#include "cases/onnx_bytes.h"
#include "support/onnx_compute.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FLOAT   1
#define N_KINDS 12              /* of numbers */
#define ROWS    8               /* of a reduction */
#define LENGTH  3               /* of a row */
#define MOST    (ROWS * LENGTH) /* values of a reduction */
#define PAIRS   (N_KINDS * N_KINDS)
#define MANY    (1 << 16) /* floats; more of them do not become numbers */
#define NONE    1000.0f   /* what tells NaN, +inf and -inf apart */
#define ABOVE   2000.0f
#define BELOW   3000.0f

static const float kinds[N_KINDS] = {1,     -1,     NAN,    INFINITY, -INFINITY, -0.0f,
                                     3e38f, -3e38f, 1e-40f, 0.3f,     -NAN,      2.5f};

/* ---- graphs ---- */

static void node(struct bytes *graph, const char *op, const char *inputs, const char *outputs)
{
    onnx_add_node(graph, onnx_node(op, inputs, outputs));
}

static void one_float(struct bytes *graph, const char *name, float value)
{
    onnx_add_values(graph, name, FLOAT, 0, NULL, &value);
}

/* Adds nodes that replace c where it is what a test looks for; detect: the sign of IsInf, or 0. */
static void replace(struct bytes *graph, const char *test, int detect, const char *name,
                    float value, const char *from, const char *to)
{
    struct bytes made = onnx_node(test, "c", "");
    char inputs[60];

    snprintf(inputs, sizeof inputs, "is.%s", name);
    bytes_text(&made, 2, inputs);
    if (detect != 0) {
        onnx_attribute_int(&made, "detect_negative", detect < 0);
        onnx_attribute_int(&made, "detect_positive", detect > 0);
    }
    onnx_add_node(graph, made);
    one_float(graph, name, value);
    snprintf(inputs, sizeof inputs, "is.%s %s %s", name, name, from);
    node(graph, "Where", inputs, to);
}

/* A case: an operator that makes c of a and, of two operands, b. */
struct constant_case {
    const char *op, *inputs;
    int64_t opset;
    int64_t axis;     /* of attribute `axis`; NO_AXIS: none */
    const char *axes; /* the name of an attribute that is the list of this axis; null: none */
};
#define NO_AXIS 99

static void add_operator(struct bytes *graph, const struct constant_case *c)
{
    struct bytes made = onnx_node(c->op, c->inputs, "c");

    if (c->axes)
        onnx_attribute_ints(&made, c->axes, 1, &c->axis);
    else if (c->axis != NO_AXIS)
        onnx_attribute_int(&made, "axis", c->axis);
    onnx_add_values(graph, "row", FLOAT, 1, (int64_t[]){LENGTH}, (float[]){1, 2, -1});
    one_float(graph, "low", -0.5f);
    one_float(graph, "high", 2);
    onnx_add_tensor(graph, onnx_longs("two", 1, (int64_t[]){2}));
    onnx_add_tensor(graph, onnx_longs("last", 0, (int64_t[]){2}));
    onnx_add_node(graph, made);
}

/* ---- both ways ---- */

/* Computes c as layers. The input is a, or, of a pair, a and b, one behind the other. */
static float *as_layers(const struct constant_case *c, bool pair, const int64_t *dims,
                        const float *values, int64_t *count)
{
    struct bytes graph = {0}, value, split, model;
    const int64_t stacked[] = {0, 2, dims[2]};
    float *result;

    value = onnx_value(pair ? "x" : "a", FLOAT, 3, pair ? stacked : dims);
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("c", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    if (pair) {
        onnx_add_tensor(&graph, onnx_longs("ones", 2, (int64_t[]){1, 1}));
        split = onnx_node("Split", c->opset < 13 ? "x" : "x ones", "a b");
        onnx_attribute_int(&split, "axis", 1);
        onnx_add_node(&graph, split);
    }
    add_operator(&graph, c);
    model = onnx_model(c->opset, &graph);
    result = onnx_compute(&model, values, count);
    bytes_clear(&model);
    return result;
}

/* Adds a constant of times copies of [1, dims[1], dims[2]]. */
static void add_copies(struct bytes *graph, const char *name, int64_t times, const int64_t *dims,
                       const float *values)
{
    char one[20], inputs[60];

    snprintf(one, sizeof one, "%s.one", name);
    snprintf(inputs, sizeof inputs, "%s %s.shape", one, name);
    onnx_add_values(graph, one, FLOAT, 3, (int64_t[]){1, dims[1], dims[2]}, values);
    snprintf(one, sizeof one, "%s.shape", name);
    onnx_add_tensor(graph, onnx_longs(one, 3, (int64_t[]){times, dims[1], dims[2]}));
    node(graph, "Expand", inputs, name);
}

/* Computes c of constants a and b, of times copies of the values, and adds the first of them, made
 * finite, to an input that is 0. */
static float *as_constants(const struct constant_case *c, bool pair, const int64_t *dims,
                           const float *values, int64_t times, int64_t n_out, int64_t *count)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, n_out}), model;
    const int64_t one[] = {1, pair ? 1 : dims[1], dims[2]};
    float *zeros = calloc((size_t)n_out, sizeof *zeros), *result;

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    add_copies(&graph, "a", times, one, values);
    if (pair)
        add_copies(&graph, "b", times, one, values + dims[2]);
    add_operator(&graph, c);
    replace(&graph, "IsNaN", 0, "none", NONE, "c", "c.1");
    replace(&graph, "IsInf", 1, "above", ABOVE, "c.1", "c.2");
    replace(&graph, "IsInf", -1, "below", BELOW, "c.2", "c.3");
    onnx_add_tensor(&graph, onnx_longs("from", 1, (int64_t[]){0}));
    onnx_add_tensor(&graph, onnx_longs("to", 1, (int64_t[]){1}));
    node(&graph, "Slice", "c.3 from to from", "c.first");
    onnx_add_tensor(&graph, onnx_longs("flat", 1, (int64_t[]){-1}));
    node(&graph, "Reshape", "c.first flat", "c.flat");
    node(&graph, "Add", "x c.flat", "y");
    model = onnx_model(c->opset, &graph);
    result = onnx_compute(&model, zeros, count);
    bytes_clear(&model);
    free(zeros);
    return result;
}

static bool is_told(float value, float told)
{
    if (isnan(value))
        return told == NONE;
    if (isinf(value))
        return told == (value > 0 ? ABOVE : BELOW);
    return fabs((double)value - told) <= 1e-6 * fmax(1, fabs((double)value));
}

static void check_times(const struct constant_case *c, bool pair, const int64_t *dims,
                        const float *values, int64_t times)
{
    int64_t n = 0, count = 0, wrong = -1;
    float *layers = as_layers(c, pair, dims, values, &n);
    float *constants = layers ? as_constants(c, pair, dims, values, times, n, &count) : NULL;

    for (int64_t i = 0; constants && n == count && i < n && wrong < 0; i++)
        if (!is_told(layers[i], constants[i]))
            wrong = i;
    if (!ok(constants && n == count &&
                    wrong<0, "%s of %snumbers that are not finite", c->op, times> 1
                ? "many "
                : ""))
        printf("# value %lld is %g in layers and %g as a constant\n", (long long)wrong,
               wrong < 0 ? 0 : (double)layers[wrong], wrong < 0 ? 0 : (double)constants[wrong]);
    free(layers);
    free(constants);
}

static void check(const struct constant_case *c, bool pair, const int64_t *dims,
                  const float *values)
{
    check_times(c, pair, dims, values, 1);
}

/* Checks an operator that works value by value, or reduces, on many values, too. */
static void check_many(const struct constant_case *c, bool pair, const int64_t *dims,
                       const float *values)
{
    check(c, pair, dims, values);
    check_times(c, pair, dims, values, MANY / (dims[1] * dims[2]) + 1);
}

/* ---- cases ---- */

static void check_unary(void)
{
    static const char *const OPS[] = {"Relu",     "LeakyRelu",   "ThresholdedRelu",
                                      "Elu",      "Celu",        "Selu",
                                      "Sigmoid",  "HardSigmoid", "HardSwish",
                                      "Gelu",     "Mish",        "Softplus",
                                      "Softsign", "Shrink",      "Neg",
                                      "Abs",      "Sqrt",        "Exp",
                                      "Log",      "Erf",         "Floor",
                                      "Ceil",     "Round",       "Reciprocal",
                                      "Sign",     "Sin",         "Cos",
                                      "Tan",      "Asin",        "Acos",
                                      "Atan",     "Sinh",        "Cosh",
                                      "Tanh",     "Asinh",       "Acosh",
                                      "Atanh",    "Identity"};
    const int64_t dims[] = {0, 1, N_KINDS};

    for (size_t i = 0; i < sizeof OPS / sizeof OPS[0]; i++)
        check_many(&(struct constant_case){OPS[i], "a", 20, NO_AXIS, NULL}, false, dims, kinds);
    check_many(&(struct constant_case){"Clip", "a low high", 13, NO_AXIS, NULL}, false, dims,
               kinds);
    check_many(&(struct constant_case){"Clip", "a low", 13, NO_AXIS, NULL}, false, dims, kinds);
    check_many(&(struct constant_case){"PRelu", "a low", 13, NO_AXIS, NULL}, false, dims, kinds);
}

/* Every kind of number beside every kind. */
static void check_pairs(void)
{
    static const char *const OPS[] = {"Add", "Sub", "Mul",  "Div", "Pow",
                                      "Max", "Min", "Mean", "Sum"};
    const int64_t dims[] = {0, 1, PAIRS};
    float values[2 * PAIRS];

    for (int i = 0; i < PAIRS; i++) {
        values[i] = kinds[i / N_KINDS];
        values[PAIRS + i] = kinds[i % N_KINDS];
    }
    for (size_t i = 0; i < sizeof OPS / sizeof OPS[0]; i++)
        check_many(&(struct constant_case){OPS[i], "a b", 13, NO_AXIS, NULL}, true, dims, values);
}

/* Rows along which values are combined. */
static void check_rows(void)
{
    static const char *const REDUCTIONS[] = {
        "ReduceSum", "ReduceMean", "ReduceMax",    "ReduceMin",       "ReduceProd",
        "ReduceL1",  "ReduceL2",   "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"};
    static const char *const OTHERS[] = {"Softmax", "LogSoftmax", "Hardmax",
                                         "ArgMax",  "ArgMin",     "LpNormalization"};
    static const float values[MOST] = {
        1,         NAN,       2,         INFINITY,  1,        2,         1,  2,
        -INFINITY, -INFINITY, -INFINITY, -INFINITY, INFINITY, -INFINITY, 0,  1e18f,
        1e18f,     -1,        NAN,       1,         NAN,      20000,     -5, 3};
    const int64_t dims[] = {0, ROWS, LENGTH};

    for (size_t i = 0; i < sizeof REDUCTIONS / sizeof REDUCTIONS[0]; i++)
        check_many(&(struct constant_case){REDUCTIONS[i], "a", 12, 2, "axes"}, false, dims, values);
    for (size_t i = 0; i < sizeof OTHERS / sizeof OTHERS[0]; i++)
        check(&(struct constant_case){OTHERS[i], "a", 12, 2, NULL}, false, dims, values);
    check(&(struct constant_case){"TopK", "a two", 12, 2, NULL}, false, dims, values);
    check(&(struct constant_case){"LayerNormalization", "a row", 17, 2, NULL}, false, dims, values);
}

int main(void)
{
    check_unary();
    check_pairs();
    check_rows();
    return done_testing();
}
