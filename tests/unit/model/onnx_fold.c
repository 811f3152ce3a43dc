/* Constants that the reader of ONNX files computes: types and overflow, indices, and the patterns
 * of nodes that exporters write for positions, masks, padding and normalised weights. The
 * conformance cases (unit/backend/conformance) check each operator; here its results meet others.
 */
#include "vbslab/model.h"

#include "model/onnx/onnx.h"

#include "cases/onnx_bytes.h"
#include "support/onnx_compute.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { FLOAT = 1, UINT8 = 2, INT8 = 3, INT32 = 6, INT64 = 7, BOOL = 9, UINT64 = 13 };

static char path[] = "/tmp/t_onnx_fold.XXXXXX";

/* ---- graphs ---- */

static void node(struct bytes *graph, const char *op, const char *inputs, const char *outputs)
{
    onnx_add_node(graph, onnx_node(op, inputs, outputs));
}

static void node_int(struct bytes *graph, const char *op, const char *inputs, const char *outputs,
                     const char *name, int64_t value)
{
    struct bytes made = onnx_node(op, inputs, outputs);

    onnx_attribute_int(&made, name, value);
    onnx_add_node(graph, made);
}

static void one_long(struct bytes *graph, const char *name, int64_t value)
{
    onnx_add_values(graph, name, INT64, 0, NULL, &value);
}

static void one_float(struct bytes *graph, const char *name, float value)
{
    onnx_add_values(graph, name, FLOAT, 0, NULL, &value);
}

/* ---- networks ---- */

/* Checks that the constant 'c' of a graph, which is cleared, has these values. */
static void check_constant(struct bytes *graph, const char *what, int64_t n, const double *want)
{
    struct bytes value = onnx_value("x", FLOAT, 2, (int64_t[]){1, n}), model;
    float *zeros = calloc((size_t)n, sizeof *zeros), *got;
    int64_t count = 0, wrong = -1;

    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(graph, onnx_longs("flat", 1, (int64_t[]){-1}));
    node_int(graph, "Cast", "c", "c.cast", "to", FLOAT);
    node(graph, "Reshape", "c.cast flat", "c.flat");
    node(graph, "Add", "x c.flat", "y");
    model = onnx_model(18, graph);
    got = onnx_compute(&model, zeros, &count);
    for (int64_t i = 0; got && count == n && i < n && wrong < 0; i++)
        if (!(fabs(got[i] - (float)want[i]) <= 1e-6 * fabs(want[i])))
            wrong = i;
    ok(got && count == n && wrong < 0, "%s", what);
    if (got && wrong >= 0)
        printf("# value %lld is %.9g, not %.9g\n", (long long)wrong, got[wrong], want[wrong]);
    bytes_clear(&model);
    free(got);
    free(zeros);
}

/* ---- types ---- */

static void check_power(void)
{
    struct bytes graph = {0};

    onnx_add_values(&graph, "a", FLOAT, 1, (int64_t[]){3}, (float[]){1.5f, -0.5f, 4});
    onnx_add_tensor(&graph, onnx_longs("b", 1, (int64_t[]){2}));
    node(&graph, "Pow", "a b", "c");
    check_constant(&graph, "a float raised to an integer stays a float", 3,
                   (double[]){2.25, 0.25, 16});
    onnx_add_tensor(&graph, onnx_longs("a", 3, (int64_t[]){3, -3, 9}));
    onnx_add_values(&graph, "b", FLOAT, 1, (int64_t[]){3}, (float[]){3, 3, 0.5f});
    node(&graph, "Pow", "a b", "c");
    check_constant(&graph, "an integer raised to a float stays an integer", 3,
                   (double[]){27, -27, 3});
}

/* The borders of a crop have 32 bits: with exact numbers 0.1 x 4 + 4 x (0.6 - 0.1) x 4 / 5 would be
 * slightly above 2, whose element is the third. */
static void check_crop(void)
{
    struct bytes graph = {0}, model, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, 5});
    struct bytes resize = onnx_node("Resize", "x roi s", "y");
    static const float VALUES[] = {0, 1, 2, 3, 4}, WANT[] = {1, 1, 2, 2, 2, 3};
    int64_t count;
    float *got;

    onnx_add_values(&graph, "roi", FLOAT, 1, (int64_t[]){4}, (float[]){0, 0.1F, 1, 0.6F});
    onnx_add_values(&graph, "s", FLOAT, 1, (int64_t[]){2}, (float[]){1, 1.3F});
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_attribute_text(&resize, "mode", "nearest");
    onnx_attribute_text(&resize, "nearest_mode", "ceil");
    onnx_attribute_text(&resize, "coordinate_transformation_mode", "tf_crop_and_resize");
    onnx_add_node(&graph, resize);
    model = onnx_model(13, &graph);
    got = onnx_compute(&model, VALUES, &count);
    ok(got && count == 6 && memcmp(got, WANT, sizeof WANT) == 0,
       "the nearest elements of a crop whose borders are no binary fractions");
    bytes_clear(&model);
    free(got);
}

/* Version 10 of Resize takes the nearest element behind where there are fewer, and the one before
 * where there are more, each dimension by itself: its cases (resize_downsample_nearest of ONNX) and
 * ONNX Runtime say so, its text does not. What a constant becomes, the last n values, is the same.
 */
static void check_resize_10(float rows, float columns, int64_t n, const double *want)
{
    struct bytes graph = {0}, model, value = onnx_value("x", FLOAT, 3, (int64_t[]){0, 2, 4});
    static const float VALUES[] = {1, 2, 3, 4, 5, 6, 7, 8};
    int64_t count = 0;
    bool same;
    float *got;

    onnx_add_values(&graph, "s", FLOAT, 1, (int64_t[]){3}, (float[]){1, rows, columns});
    onnx_add_values(&graph, "k", FLOAT, 3, (int64_t[]){1, 2, 4}, VALUES);
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    node(&graph, "Resize", "x s", "a");
    node(&graph, "Resize", "k s", "b");
    node(&graph, "Sub", "b a", "zero");
    node(&graph, "Add", "zero b", "c");
    node_int(&graph, "Concat", "a c", "y", "axis", 1);
    model = onnx_model(10, &graph);
    got = onnx_compute(&model, VALUES, &count);
    same = got && count == 2 * n;
    for (int64_t i = 0; i < 2 * n && same; i++)
        same = got[i] == (float)want[i % n];
    ok(same, "version 10 of Resize by %g and %g", rows, columns);
    bytes_clear(&model);
    free(got);
}

/* Checks c = a op b - less, in integers of 64 bits. */
static void check_longs(const char *op, int64_t a, int64_t b, int64_t less, double want)
{
    struct bytes graph = {0};
    char what[100];

    one_long(&graph, "a", a);
    one_long(&graph, "b", b);
    one_long(&graph, "less", less);
    node(&graph, op, "a b", "ab");
    node(&graph, "Sub", "ab less", "c");
    snprintf(what, sizeof what, "%s of %lld and %lld", op, (long long)a, (long long)b);
    check_constant(&graph, what, 1, &want);
}

static void check_exact(void)
{
    check_longs("Mul", (INT64_C(1) << 53) + 1, 3, (INT64_C(3) << 53) + 2, 1);
    check_longs("Mul", INT64_C(1) << 62, 6, INT64_MIN, 0);
    check_longs("Add", INT64_MAX, 1, INT64_MIN, 0);
    check_longs("Sub", INT64_MIN, 1, INT64_MAX, 0);
    check_longs("Div", -7, 2, 0, -3);
    check_longs("Div", INT64_MIN, -1, INT64_MIN, 0);
    check_longs("Div", 5, 0, 0, 0);
    check_longs("Mod", -7, 3, 0, 2);
    check_longs("Mod", INT64_MAX, 1000, 0, 807);
    check_longs("Mod", 5, 0, 0, 0);
    check_longs("Mod", INT64_MIN, -1, 0, 0);
    check_longs("Pow", 3, 39, INT64_C(4052555153018976267), 0);
    check_longs("Pow", -1, -3, 0, -1);
    check_longs("Max", INT64_MAX, INT64_MAX - 1, INT64_MAX - 1, 1);
}

/* Checks the cast of a float, or of a whole number where it is whole, to a type. */
static void check_cast(float real, int64_t whole, bool is_whole, int type, double want)
{
    struct bytes graph = {0};
    char what[100];

    if (is_whole)
        one_long(&graph, "a", whole);
    else
        one_float(&graph, "a", real);
    node_int(&graph, "Cast", "a", "c", "to", type);
    snprintf(what, sizeof what, "a cast of %.9g to type %d", is_whole ? (double)whole : real, type);
    check_constant(&graph, what, 1, &want);
}

static void check_casts(void)
{
    check_cast(0, 300, true, UINT8, 44);
    check_cast(0, 200, true, INT8, -56);
    check_cast(0, -1, true, UINT64, 18446744073709551615.0);
    check_cast(0, 256, true, BOOL, 1);
    check_cast(-2.75f, 0, false, INT32, -2);
    check_cast(3e9f, 0, false, INT32, 2147483647);
    check_cast(-1, 0, false, UINT8, 0);
    check_cast(NAN, 0, false, INT64, 0);
    check_cast(0.5f, 0, false, BOOL, 1);
}

/* ---- patterns ---- */

/* Makes n numbers that count from 0 and the float 'one' of any shape. */
static void range(struct bytes *graph, const char *name, int64_t n)
{
    char limit[40], inputs[80];

    snprintf(limit, sizeof limit, "%s.n", name);
    one_long(graph, limit, n);
    snprintf(inputs, sizeof inputs, "nought %s unit", limit);
    node(graph, "Range", inputs, name);
}

static void add_small(struct bytes *graph)
{
    one_long(graph, "nought", 0);
    one_long(graph, "unit", 1);
}

/* The index of the relative position of two pixels of a window, as windowed attention computes it
 * from two ranges; then a table of one value for each is read by it. */
static void check_relative_positions(void)
{
    enum { W = 3, N = W * W, TABLE = (2 * W - 1) * (2 * W - 1) };
    struct bytes graph = {0};
    double want[N * N];
    float table[TABLE];

    add_small(&graph);
    range(&graph, "r", W);
    onnx_add_tensor(&graph, onnx_longs("square", 2, (int64_t[]){W, W}));
    onnx_add_tensor(&graph, onnx_longs("column", 2, (int64_t[]){W, 1}));
    onnx_add_tensor(&graph, onnx_longs("line", 2, (int64_t[]){2, N}));
    onnx_add_tensor(&graph, onnx_longs("first", 1, (int64_t[]){0}));
    onnx_add_tensor(&graph, onnx_longs("second", 1, (int64_t[]){1}));
    onnx_add_tensor(&graph, onnx_longs("third", 1, (int64_t[]){2}));
    node(&graph, "Reshape", "r column", "r.column");
    node(&graph, "Expand", "r.column square", "ys");
    node(&graph, "Expand", "r square", "xs");
    node(&graph, "Unsqueeze", "ys first", "ys.1");
    node(&graph, "Unsqueeze", "xs first", "xs.1");
    node_int(&graph, "Concat", "ys.1 xs.1", "grid", "axis", 0);
    node(&graph, "Reshape", "grid line", "flat.grid");
    node(&graph, "Unsqueeze", "flat.grid third", "a");
    node(&graph, "Unsqueeze", "flat.grid second", "b");
    node(&graph, "Sub", "a b", "apart");
    onnx_add_values(&graph, "shift", INT64, 3, (int64_t[]){2, 1, 1}, (int64_t[]){W - 1, W - 1});
    onnx_add_values(&graph, "factor", INT64, 3, (int64_t[]){2, 1, 1}, (int64_t[]){2 * W - 1, 1});
    node(&graph, "Add", "apart shift", "above");
    node(&graph, "Mul", "above factor", "scaled");
    struct bytes sum = onnx_node("ReduceSum", "scaled first", "index");
    onnx_attribute_int(&sum, "keepdims", 0);
    onnx_add_node(&graph, sum);
    for (int i = 0; i < TABLE; i++)
        table[i] = (float)(i * i);
    onnx_add_values(&graph, "table", FLOAT, 1, (int64_t[]){TABLE}, table);
    node(&graph, "Gather", "table index", "c");
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            int at = (i / W - k / W + W - 1) * (2 * W - 1) + i % W - k % W + W - 1;

            want[i * N + k] = at * at;
        }
    check_constant(&graph, "a table read by relative positions", N * N, want);
}

/* The mask of shifted windows: regions of an image are numbered by scattering, the image is cut
 * into windows, and pixels of different regions do not see each other. */
static void check_shifted_windows(void)
{
    enum { SIDE = 4, W = 2, N = W * W };
    static const int64_t BOUNDS[4] = {0, SIDE - W, SIDE - 1, SIDE};
    struct bytes graph = {0};
    int64_t indices[SIDE * SIDE * 2], region[SIDE][SIDE];
    double want[N * N * N];
    const char *image = "image.0";
    char next[20], names[60], index[20], update[20];

    onnx_add_tensor(&graph, onnx_longs("sides", 2, (int64_t[]){SIDE, SIDE}));
    node(&graph, "ConstantOfShape", "sides", "image.0");
    for (int r = 0; r < 9; r++) {
        float values[SIDE * SIDE];
        int n = 0;

        for (int64_t y = BOUNDS[r / 3]; y < BOUNDS[r / 3 + 1]; y++)
            for (int64_t x = BOUNDS[r % 3]; x < BOUNDS[r % 3 + 1]; x++) {
                region[y][x] = r;
                values[n] = (float)r;
                indices[2 * n] = r % 2 ? y - SIDE : y; /* also counted from the end */
                indices[2 * n++ + 1] = x;
            }
        snprintf(index, sizeof index, "index.%d", r);
        snprintf(update, sizeof update, "update.%d", r);
        snprintf(next, sizeof next, "image.%d", r + 1);
        snprintf(names, sizeof names, "image.%d %s %s", r, index, update);
        onnx_add_values(&graph, index, INT64, 2, (int64_t[]){n, 2}, indices);
        onnx_add_values(&graph, update, FLOAT, 1, (int64_t[]){n}, values);
        node(&graph, "ScatterND", names, next);
        image = next;
    }
    snprintf(names, sizeof names, "%s cut", image);
    onnx_add_tensor(&graph, onnx_longs("cut", 4, (int64_t[]){SIDE / W, W, SIDE / W, W}));
    onnx_add_tensor(&graph, onnx_longs("windows", 2, (int64_t[]){-1, N}));
    onnx_add_tensor(&graph, onnx_longs("one", 1, (int64_t[]){1}));
    onnx_add_tensor(&graph, onnx_longs("two", 1, (int64_t[]){2}));
    node(&graph, "Reshape", names, "parts");
    struct bytes turn = onnx_node("Transpose", "parts", "turned");
    onnx_attribute_ints(&turn, "perm", 4, (int64_t[]){0, 2, 1, 3});
    onnx_add_node(&graph, turn);
    node(&graph, "Reshape", "turned windows", "window");
    node(&graph, "Unsqueeze", "window one", "across");
    node(&graph, "Unsqueeze", "window two", "down");
    node(&graph, "Sub", "across down", "differ");
    one_float(&graph, "zero", 0);
    one_float(&graph, "far", -100);
    node(&graph, "Equal", "differ zero", "same");
    node(&graph, "Not", "same", "other");
    node(&graph, "Where", "other far zero", "c");
    for (int w = 0; w < N; w++)
        for (int i = 0; i < N; i++)
            for (int k = 0; k < N; k++) {
                int y = w / 2 * W, x = w % 2 * W;

                want[(w * N + i) * N + k] =
                    region[y + i / W][x + i % W] == region[y + k / W][x + k % W] ? 0 : -100;
            }
    check_constant(&graph, "the mask of shifted windows", N * N * N, want);
}

/* Positions as sines and cosines of running sums, behind a convolution of 1 x 1. */
static void check_fourier(void)
{
    enum { SIDE = 3, HALF = 2 };
    struct bytes graph = {0};
    double want[SIDE * SIDE];

    onnx_add_tensor(&graph, onnx_longs("shape", 3, (int64_t[]){1, SIDE, SIDE}));
    node(&graph, "ConstantOfShape", "shape", "zeros");
    node_int(&graph, "Cast", "zeros", "masked", "to", BOOL);
    node(&graph, "Not", "masked", "open");
    node_int(&graph, "Cast", "open", "ones", "to", FLOAT);
    one_long(&graph, "axis", 1);
    node(&graph, "CumSum", "ones axis", "ys");
    onnx_add_tensor(&graph, onnx_longs("last", 1, (int64_t[]){-1}));
    onnx_add_tensor(&graph, onnx_longs("end", 1, (int64_t[]){INT64_MAX}));
    onnx_add_tensor(&graph, onnx_longs("rows", 1, (int64_t[]){1}));
    onnx_add_tensor(&graph, onnx_longs("fourth", 1, (int64_t[]){3}));
    node(&graph, "Slice", "ys last end rows", "bottom");
    node(&graph, "Div", "ys bottom", "height");
    node(&graph, "Unsqueeze", "height fourth", "height.1");
    onnx_add_values(&graph, "scales", FLOAT, 1, (int64_t[]){HALF}, (float[]){1, 10});
    node(&graph, "Div", "height.1 scales", "angle");
    node(&graph, "Sin", "angle", "sine");
    node(&graph, "Cos", "angle", "cosine");
    node_int(&graph, "Concat", "sine cosine", "both", "axis", 3);
    struct bytes turn = onnx_node("Transpose", "both", "channels");
    onnx_attribute_ints(&turn, "perm", 4, (int64_t[]){0, 3, 1, 2});
    onnx_add_node(&graph, turn);
    onnx_add_values(&graph, "w", FLOAT, 4, (int64_t[]){1, 4, 1, 1}, (float[]){1, 2, 3, 4});
    onnx_add_tensor(&graph, onnx_floats("b", 0.5f, 1, (int64_t[]){1}));
    node(&graph, "Conv", "channels w b", "c");
    for (int i = 0; i < SIDE * SIDE; i++) {
        double h = (i / SIDE + 1) / (double)SIDE;

        want[i] = sin(h) + 2 * sin(h / 10) + 3 * cos(h) + 4 * cos(h / 10) + 0.5;
    }
    check_constant(&graph, "an encoding of positions behind a convolution", SIDE * SIDE, want);
}

/* A padding that is computed from the shape of the input, so that a convolution of stride 2 keeps
 * every second pixel; the number of samples is not known, and may be limited from below. */
static void check_same_padding(void)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 4, (int64_t[]){0, 1, 7, 7}), model;
    float x[49], *got;
    int64_t count = 0;

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    node(&graph, "Shape", "x", "shape");
    one_long(&graph, "two", 2);
    one_long(&graph, "stride", 2);
    one_long(&graph, "unit", 1);
    one_long(&graph, "nought", 0);
    one_long(&graph, "kernel", 3);
    node(&graph, "Gather", "shape two", "height");
    node_int(&graph, "Cast", "height", "height.f", "to", FLOAT);
    node_int(&graph, "Cast", "stride", "stride.f", "to", FLOAT);
    node(&graph, "Div", "height.f stride.f", "half");
    node(&graph, "Ceil", "half", "out.f");
    node_int(&graph, "Cast", "out.f", "out", "to", INT64);
    node(&graph, "Sub", "out unit", "before.last");
    node(&graph, "Mul", "before.last stride", "last");
    node(&graph, "Add", "last kernel", "needed");
    node(&graph, "Sub", "needed height", "missing");
    node(&graph, "Clip", "missing nought", "pad");
    node(&graph, "Div", "pad stride", "low");
    node(&graph, "Sub", "pad low", "high");
    onnx_add_tensor(&graph, onnx_longs("first", 1, (int64_t[]){0}));
    node(&graph, "Unsqueeze", "low first", "low.1");
    node(&graph, "Unsqueeze", "high first", "high.1");
    onnx_add_tensor(&graph, onnx_longs("none", 2, (int64_t[]){0, 0}));
    node_int(&graph, "Concat", "none low.1 low.1 none high.1 high.1", "pads", "axis", 0);
    node(&graph, "Pad", "x pads", "padded");
    onnx_add_tensor(&graph, onnx_floats("w", 1, 4, (int64_t[]){1, 1, 3, 3}));
    struct bytes conv = onnx_node("Conv", "padded w", "image");
    onnx_attribute_ints(&conv, "strides", 2, (int64_t[]){2, 2});
    onnx_add_node(&graph, conv);
    node(&graph, "Gather", "shape nought", "batch");
    node(&graph, "Clip", "batch unit", "some");
    node(&graph, "Unsqueeze", "some first", "some.1");
    onnx_add_tensor(&graph, onnx_longs("rest", 1, (int64_t[]){-1}));
    node_int(&graph, "Concat", "some.1 rest", "rows", "axis", 0);
    node(&graph, "Reshape", "image rows", "y");
    model = onnx_model(13, &graph);
    for (int i = 0; i < 49; i++)
        x[i] = 1;
    got = onnx_compute(&model, x, &count);
    ok(got && count == 16 && got[0] == 4 && got[1] == 6 && got[5] == 9,
       "a padding that is computed from the input's shape");
    bytes_clear(&model);
    free(got);
}

/* Weights that are normalised by a BatchNormalization in training mode. */
static void check_normalised_weights(void)
{
    enum { OUT = 2, IN = 3 };
    static const float WEIGHTS[OUT * IN] = {1, 2, 6, -1, 0, 1};
    static const float GAIN[OUT] = {2, 1};
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 4, (int64_t[]){0, IN, 1, 1}), model;
    float *got;
    int64_t count = 0;
    double want[OUT];

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_values(&graph, "w", FLOAT, 4, (int64_t[]){OUT, IN, 1, 1}, WEIGHTS);
    onnx_add_values(&graph, "gain", FLOAT, 1, (int64_t[]){OUT}, GAIN);
    onnx_add_tensor(&graph, onnx_floats("zero", 0, 1, (int64_t[]){OUT}));
    onnx_add_tensor(&graph, onnx_floats("ones", 1, 1, (int64_t[]){OUT}));
    onnx_add_tensor(&graph, onnx_longs("rows", 3, (int64_t[]){1, OUT, -1}));
    onnx_add_tensor(&graph, onnx_longs("back", 4, (int64_t[]){OUT, IN, 1, 1}));
    node(&graph, "Reshape", "w rows", "w.rows");
    struct bytes norm =
        onnx_node("BatchNormalization", "w.rows gain zero zero ones", "normal mean var");
    onnx_attribute_int(&norm, "training_mode", 1);
    onnx_add_node(&graph, norm);
    node(&graph, "Reshape", "normal back", "weights");
    node(&graph, "Conv", "x weights", "y");
    model = onnx_model(15, &graph);
    for (int o = 0; o < OUT; o++) {
        const float *w = WEIGHTS + o * IN;
        double mean = (w[0] + w[1] + w[2]) / 3.0, variance = 0;

        for (int i = 0; i < IN; i++)
            variance += (w[i] - mean) * (w[i] - mean) / 3;
        want[o] = (w[2] - mean) * GAIN[o] / sqrt(variance + 1e-5);
    }
    got = onnx_compute(&model, (float[]){0, 0, 1}, &count);
    ok(got && count == OUT && fabs(got[0] - want[0]) < 1e-5 && fabs(got[1] - want[1]) < 1e-5,
       "weights that are normalised while the file is read");
    bytes_clear(&model);
    free(got);
}

/* Weights of more elements than constants may have that are computed, which are joined from stored
 * ones in another order and from computed ones, as those of recurrent operators. */
static void check_joined_weights(void)
{
    enum { IN = 1001, EACH = 1050, MORE = 2, OUT = 2 * EACH + MORE, AT = 7 };
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, IN}), model;
    float *w = malloc((size_t)IN * EACH * sizeof *w), b[IN * MORE], x[IN] = {0}, *got;
    int64_t count = 0, wrong = 0;

    if (!w)
        return;
    for (int i = 0; i < IN * EACH; i++)
        w[i] = (float)(i % 9973);
    for (int i = 0; i < IN * MORE; i++)
        b[i] = (float)i;
    x[AT] = 1;
    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_values(&graph, "w", FLOAT, 2, (int64_t[]){EACH, IN}, w);
    onnx_add_values(&graph, "b", FLOAT, 2, (int64_t[]){IN, MORE}, b);
    node(&graph, "Transpose", "w", "t");
    node(&graph, "Neg", "b", "less");
    node_int(&graph, "Concat", "t less t", "c", "axis", 1);
    node(&graph, "MatMul", "x c", "y");
    model = onnx_model(18, &graph);
    got = onnx_compute(&model, x, &count);
    for (int64_t i = 0; got && count == OUT && i < OUT; i++) {
        int64_t k = i < EACH ? i : i - EACH - MORE;

        wrong += got[i] != (i < EACH || k >= 0 ? w[k * IN + AT] : -b[AT * MORE + i - EACH]);
    }
    ok(got && count == OUT && wrong == 0, "large weights are joined");
    bytes_clear(&model);
    free(got);
    free(w);
}

/* Checks that no layer is left of a tensor of which only the shape is read. */
static void check_unread(void)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    node(&graph, "Relu", "x", "a");
    node(&graph, "Exp", "a", "e");
    node(&graph, "Shape", "e", "s");
    node(&graph, "ConstantOfShape", "s", "z");
    node(&graph, "Tanh", "x", "t");
    node(&graph, "Add", "t z", "y");
    model = onnx_model(13, &graph);
    bytes_write(&model, path);
    bytes_clear(&model);
    ok(vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network) == VBS_OK && network->n_layers == 2 &&
           strcmp(network->layers[1].name, "t") == 0 && network->layers[1].inputs[0] == 0 &&
           network->layers[2].inputs[0] == 1 && network->outputs[0].layer == 2,
       "a tensor whose shape alone is read leaves no layer");
    vbs_network_free(network);
}

/* Checks that a sum over what is the same for each sample is none over one sample. */
static void check_copies(const char *op, bool mixes)
{
    struct bytes graph = onnx_usual_graph(), model;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    node(&graph, "Shape", "x", "s");
    node(&graph, "ConstantOfShape", "s", "z");
    node(&graph, "Exp", "z", "ones");
    onnx_add_tensor(&graph, onnx_longs("zero", 1, (int64_t[]){0}));
    node(&graph, op, "ones zero", "sum");
    node(&graph, "Add", "x sum", "y");
    model = onnx_model(18, &graph);
    bytes_write(&model, path);
    bytes_clear(&model);
    ok(vbs_onnx_load(&ctx, path, NULL, NULL, 0, &network) == VBS_OK && network->whole == mixes,
       "%s over what each sample has a copy of %s", op, mixes ? "mixes samples" : "is one copy");
    vbs_network_free(network);
}

int main(void)
{
    int file = mkstemp(path);

    if (file < 0 || close(file) != 0)
        return 1;
    check_crop();
    check_resize_10(0.6f, 0.6f, 2, (double[]){1, 3});
    check_resize_10(1.5f, 0.6f, 6, (double[]){1, 3, 1, 3, 5, 7});
    check_resize_10(0.5f, 1.5f, 6, (double[]){1, 1, 2, 3, 3, 4});
    check_resize_10(1.5f, 1.5f, 18,
                    (double[]){1, 1, 2, 3, 3, 4, 1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 8});
    check_power();
    check_exact();
    check_casts();
    check_relative_positions();
    check_shifted_windows();
    check_fourier();
    check_same_padding();
    check_normalised_weights();
    check_joined_weights();
    check_unread();
    check_copies("ReduceSum", true);
    check_copies("ReduceMax", false);
    unlink(path);
    return done_testing();
}
