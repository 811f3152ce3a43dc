/*
 * Constants of more than 2^21 elements, which are computed as floats while a file is read: each
 * operator makes of them what it makes of one row of the same values.
 */
#include "cases/onnx_bytes.h"
#include "model/onnx/onnx.h"
#include "support/onnx_compute.h"
#include "support/tap.h"

#include "base/ctx.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WIDTH 12
#define ROWS  ((1 << 21) / WIDTH + 1)
#define STEPS 5 /* nodes of a case */

/* Types of elements. */
#define FLOAT 1
#define UINT8 2
#define INT8  3
#define INT32 6
#define BOOL  9

static const float ROW[WIDTH] = {0, 1.5f, -1, 0.25f, 300.5f, -300, 7, -0.5f, 2, 1e-3f, 64, -128};

/* A node, and an attribute of it; null: none. */
struct step {
    const char *op, *inputs, *output, *attribute;
    int64_t value;
};

/* What makes c, floats, of a, floats of ROWS x WIDTH. */
struct many_case {
    const char *name;
    struct step steps[STEPS];
};

static const struct many_case CASES[] = {
    {"Not",
     {{"Greater", "a half", "g", NULL, 0},
      {"Not", "g", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"And",
     {{"GreaterOrEqual", "a half", "g", NULL, 0},
      {"Less", "a seven", "l", NULL, 0},
      {"And", "g l", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"Or",
     {{"Greater", "a seven", "g", NULL, 0},
      {"LessOrEqual", "a half", "l", NULL, 0},
      {"Or", "g l", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"Xor",
     {{"Greater", "a half", "g", NULL, 0},
      {"Equal", "a seven", "l", NULL, 0},
      {"Xor", "g l", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"Where of floats", {{"Less", "a half", "l", NULL, 0}, {"Where", "l half row", "c", NULL, 0}}},
    {"Where of whole numbers",
     {{"Cast", "a", "i", "to", INT32},
      {"Greater", "i three", "g", NULL, 0},
      {"Where", "g i three", "w", NULL, 0},
      {"Cast", "w", "c", "to", FLOAT}}},
    {"Clip of floats", {{"Clip", "a half seven", "c", NULL, 0}}},
    {"Clip of whole numbers",
     {{"Cast", "a", "i", "to", INT32},
      {"Clip", "i three", "w", NULL, 0},
      {"Cast", "w", "c", "to", FLOAT}}},
    {"Cast of floats to INT8", {{"Cast", "a", "i", "to", INT8}, {"Cast", "i", "c", "to", FLOAT}}},
    {"Cast of whole numbers to UINT8",
     {{"Cast", "a", "i", "to", INT32},
      {"Cast", "i", "u", "to", UINT8},
      {"Cast", "u", "c", "to", FLOAT}}},
    {"Cast to BOOL", {{"Cast", "a", "b", "to", BOOL}, {"Cast", "b", "c", "to", FLOAT}}},
    {"IsInf",
     {{"Div", "a nought", "d", NULL, 0},
      {"IsInf", "d", "n", "detect_negative", 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"IsNaN",
     {{"Div", "a nought", "d", NULL, 0},
      {"IsNaN", "d", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"QuantizeLinear",
     {{"QuantizeLinear", "a scales zeros", "q", NULL, 0}, {"Cast", "q", "c", "to", FLOAT}}},
    {"DequantizeLinear of quantised values",
     {{"QuantizeLinear", "a scales zeros", "q", NULL, 0},
      {"DequantizeLinear", "q scales zeros", "c", NULL, 0}}},
    {"DequantizeLinear of transposed values",
     {{"QuantizeLinear", "a scales zeros", "q", NULL, 0},
      {"Transpose", "q", "t", NULL, 0},
      {"DequantizeLinear", "t scales zeros", "d", "axis", 0},
      {"Transpose", "d", "c", NULL, 0}}},
    {"BitwiseNot",
     {{"Cast", "a", "i", "to", INT32},
      {"BitwiseNot", "i", "n", NULL, 0},
      {"Cast", "n", "c", "to", FLOAT}}},
    {"Concat of whole numbers",
     {{"Cast", "a", "i", "to", INT8},
      {"Concat", "i i", "j", "axis", 0},
      {"Cast", "j", "c", "to", FLOAT}}},
    {"Gather of columns", {{"Gather", "a columns", "c", "axis", 1}}},
    {"Gather of rows", {{"Gather", "a first", "c", NULL, 0}}},
    {"ReduceL2 of rows", {{"ReduceL2", "a one", "n", NULL, 0}, {"Div", "a n", "c", NULL, 0}}},
    {"ReduceMax of columns", {{"ReduceMax", "a nil", "c", NULL, 0}}},
    {"ReduceSum of whole numbers",
     {{"Cast", "a", "i", "to", INT32},
      {"ReduceSum", "i one", "s", NULL, 0},
      {"Cast", "s", "c", "to", FLOAT}}},
};

static void add_constants(struct bytes *graph, int64_t rows)
{
    static const float SCALES[WIDTH] = {1, 0.5f, 2, 0.25f, 3, 1, 0.1f, 1, 0.01f, 1, 1, 1.5f};
    static const uint8_t ZEROS[WIDTH] = {0, 128, 3, 0, 100, 200, 0, 7, 0, 0, 255, 128};
    static const int64_t COLUMNS[WIDTH] = {11, 0, 3, 2, 1, -1, 4, 6, 5, 10, 9, 8};
    const float half = 0.5f, seven = 7, nought = 0;
    const int32_t three = 3;

    onnx_add_values(graph, "row", FLOAT, 2, (int64_t[]){1, WIDTH}, ROW);
    onnx_add_tensor(graph, onnx_longs("shape", 2, (int64_t[]){rows, WIDTH}));
    onnx_add_node(graph, onnx_node("Expand", "row shape", "a"));
    onnx_add_values(graph, "half", FLOAT, 0, NULL, &half);
    onnx_add_values(graph, "seven", FLOAT, 0, NULL, &seven);
    onnx_add_values(graph, "nought", FLOAT, 0, NULL, &nought);
    onnx_add_values(graph, "three", INT32, 0, NULL, &three);
    onnx_add_values(graph, "scales", FLOAT, 1, (int64_t[]){WIDTH}, SCALES);
    onnx_add_values(graph, "zeros", UINT8, 1, (int64_t[]){WIDTH}, ZEROS);
    onnx_add_tensor(graph, onnx_longs("columns", WIDTH, COLUMNS));
    onnx_add_tensor(graph, onnx_longs("first", 1, (int64_t[]){0}));
    onnx_add_tensor(graph, onnx_longs("one", 1, (int64_t[]){1}));
    onnx_add_tensor(graph, onnx_longs("nil", 1, (int64_t[]){0}));
}

/* Makes the file that adds the last row of c to its input. */
static struct bytes model_of(const struct many_case *c, int64_t rows)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, WIDTH});

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    add_constants(&graph, rows);
    for (int i = 0; i < STEPS && c->steps[i].op; i++) {
        const struct step *step = &c->steps[i];
        struct bytes node = onnx_node(step->op, step->inputs, step->output);

        if (step->attribute)
            onnx_attribute_int(&node, step->attribute, step->value);
        onnx_add_node(&graph, node);
    }
    onnx_add_tensor(&graph, onnx_longs("last", 1, (int64_t[]){-1}));
    onnx_add_tensor(&graph, onnx_longs("end", 1, (int64_t[]){INT64_MAX}));
    onnx_add_node(&graph, onnx_node("Slice", "c last end nil", "r"));
    onnx_add_node(&graph, onnx_node("Add", "x r", "y"));
    return onnx_model(20, &graph);
}

static void check(const struct many_case *c)
{
    static const float zeros[WIDTH];
    struct bytes many = model_of(c, ROWS), one = model_of(c, 1);
    int64_t n_many = 0, n_one = 0;
    float *got = onnx_compute(&many, zeros, &n_many), *want = onnx_compute(&one, zeros, &n_one);
    bool varies = false;

    for (int i = 1; want && i < WIDTH; i++)
        varies |= want[i] != want[0];
    ok(got && want && n_many == WIDTH && n_one == WIDTH && memcmp(got, want, sizeof zeros) == 0 &&
           (varies || strcmp(c->name, "ReduceSum of whole numbers") == 0),
       "%s: many rows are as one", c->name);
    bytes_clear(&many);
    bytes_clear(&one);
    free(got);
    free(want);
}

static void refuses(const struct many_case *c, const char *detail)
{
    char path[] = "/tmp/t_onnx_many.XXXXXX";
    struct bytes model = model_of(c, ROWS);
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    int file = mkstemp(path);
    bool refused = file >= 0 && close(file) == 0 && bytes_write(&model, path) &&
                   vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network) == VBS_UNSUPPORTED &&
                   strstr(vbs_detail(&ctx), detail);

    if (!ok(refused, "%s: refused", c->name))
        printf("# %s\n", vbs_detail(&ctx));
    vbs_network_free(network);
    bytes_clear(&model);
    unlink(path);
}

int main(void)
{
    static const struct many_case LARGE = {"whole numbers of 2^24 and more",
                                           {{"Exp", "seven", "e", NULL, 0},
                                            {"Mul", "a e", "f", NULL, 0},
                                            {"Mul", "f e", "g", NULL, 0},
                                            {"Cast", "g", "i", "to", INT32},
                                            {"Cast", "i", "c", "to", FLOAT}}};
    static const struct many_case BY_LINE = {"Softmax", {{"Softmax", "a", "c", NULL, 0}}};

    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++)
        check(&CASES[i]);
    refuses(&LARGE, "of which one is not below 2^24");
    refuses(&BY_LINE, "are too large to compute with");
    return done_testing();
}
