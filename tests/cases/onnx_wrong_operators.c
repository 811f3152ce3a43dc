/* Nodes of single operators that are wrong, or not supported in the way in which they are used. The
 * input is x, [N, 3, 8, 8]. */
#include "cases/onnx_wrong.h"

#include <string.h>

#define FLOAT  1
#define UINT8  2
#define INT8   3
#define UINT16 4
#define INT16  5
#define INT64  7
#define BOOL   9

/* ---- types ---- */

/* Adds an operator that reads x, cast to whole numbers of a type, as `inputs` says. */
static void of_type(struct bytes *graph, int type, const char *op, const char *inputs)
{
    struct bytes cast = onnx_node("Cast", "x", "i"), node = onnx_node(op, inputs, "y");

    onnx_attribute_int(&cast, "to", type);
    onnx_add_node(graph, cast);
    if (strcmp(op, "Einsum") == 0)
        onnx_attribute_text(&node, "equation", "nchw,nchw->nchw");
    onnx_add_node(graph, node);
}

static void sum_of_bytes(struct bytes *graph)
{
    of_type(graph, UINT8, "ReduceSum", "i");
}

static void squares_of_int16(struct bytes *graph)
{
    of_type(graph, INT16, "ReduceSumSquare", "i");
}

static void running_sum_of_int8(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("axis", 1, (int64_t[]){1}));
    of_type(graph, INT8, "CumSum", "i axis");
}

static void mean_of_truths(struct bytes *graph)
{
    of_type(graph, BOOL, "ReduceMean", "i");
}

static void products_of_bytes(struct bytes *graph)
{
    of_type(graph, UINT8, "MatMul", "i i");
}

static void sum_of_uint16(struct bytes *graph)
{
    of_type(graph, UINT16, "Sum", "i i");
}

static void mean_of_int64(struct bytes *graph)
{
    of_type(graph, INT64, "Mean", "i i");
}

static void softmax_of_int64(struct bytes *graph)
{
    of_type(graph, INT64, "Softmax", "i");
}

static void sigmoid_of_truths(struct bytes *graph)
{
    of_type(graph, BOOL, "Sigmoid", "i");
}

static void pool_of_bytes(struct bytes *graph)
{
    of_type(graph, UINT8, "GlobalAveragePool", "i");
}

static void einsum_of_int8(struct bytes *graph)
{
    of_type(graph, INT8, "Einsum", "i i");
}

/* ---- GridSample ---- */

static void sample(struct bytes *graph, int n, const int64_t *dims, const char *mode)
{
    struct bytes node = onnx_node("GridSample", "x p", "y");

    onnx_add_tensor(graph, onnx_floats("p", 0.5f, n, dims));
    onnx_attribute_text(&node, "mode", mode);
    onnx_add_node(graph, node);
}

static void three_coordinates(struct bytes *graph)
{
    sample(graph, 4, (int64_t[]){1, 2, 4, 3}, "bilinear");
}

static void points_of_a_volume(struct bytes *graph)
{
    sample(graph, 5, (int64_t[]){1, 2, 4, 5, 3}, "linear");
}

static void no_image(struct bytes *graph)
{
    sample(graph, 3, (int64_t[]){1, 4, 2}, "nearest");
}

static void unknown_mode(struct bytes *graph)
{
    sample(graph, 4, (int64_t[]){1, 2, 4, 2}, "area");
}

static void no_points(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("GridSample", "x", "y"));
}

/* ---- DeformConv ---- */

/* Convolves at places moved by [1, offsets, rows, 8], in groups of offsets. */
static void deform(struct bytes *graph, int64_t offsets, int64_t rows, int64_t groups)
{
    struct bytes node = onnx_node("DeformConv", "x w o", "y");

    onnx_add_tensor(graph, onnx_floats("w", 0.5f, 4, (int64_t[]){4, 3, 1, 1}));
    onnx_add_tensor(graph, onnx_floats("o", 0.5f, 4, (int64_t[]){1, offsets, rows, 8}));
    onnx_attribute_int(&node, "offset_group", groups);
    onnx_add_node(graph, node);
}

static void few_offsets(struct bytes *graph)
{
    deform(graph, 2, 7, 1);
}

static void offsets_of_rows(struct bytes *graph)
{
    deform(graph, 1, 8, 1);
}

static void two_groups_of_offsets(struct bytes *graph)
{
    deform(graph, 4, 8, 2);
}

static void no_offsets(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("w", 0.5f, 4, (int64_t[]){4, 3, 1, 1}));
    onnx_add_node(graph, onnx_node("DeformConv", "x w", "y"));
}

static void varying_filters(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("o", 0.5f, 4, (int64_t[]){1, 128, 1, 1}));
    onnx_add_node(graph, onnx_node("DeformConv", "x x o", "y"));
}

/* ---- Conv by computed weights ---- */

/* Convolves x, or a constant image, by weights of this shape that are made of x, in groups. */
static void convolve_by(struct bytes *graph, const char *inputs, int n, const int64_t *dims,
                        int64_t groups)
{
    struct bytes node = onnx_node("Conv", inputs, "y");

    onnx_add_tensor(graph, onnx_longs("shape", n, dims));
    onnx_add_tensor(graph, onnx_floats("b", 0.5f, 1, (int64_t[]){5}));
    onnx_add_node(graph, onnx_node("Reshape", "x shape", "w"));
    onnx_attribute_int(&node, "group", groups);
    onnx_add_node(graph, node);
}

static void weights_of_lines(struct bytes *graph)
{
    convolve_by(graph, "x w", 3, (int64_t[]){8, 3, 8}, 1);
}

static void weights_of_two_channels(struct bytes *graph)
{
    convolve_by(graph, "x w", 4, (int64_t[]){8, 2, 4, 3}, 1);
}

static void weights_of_three_groups(struct bytes *graph)
{
    convolve_by(graph, "x w", 4, (int64_t[]){8, 1, 4, 6}, 3);
}

static void large_weights(struct bytes *graph)
{
    convolve_by(graph, "x w", 4, (int64_t[]){1, 3, 4, 16}, 1);
}

static void bias_of_five(struct bytes *graph)
{
    convolve_by(graph, "x w b", 4, (int64_t[]){8, 3, 4, 2}, 1);
}

static void no_image_for_weights(struct bytes *graph)
{
    convolve_by(graph, " w", 4, (int64_t[]){8, 3, 4, 2}, 1);
}

/* ---- Fourier transforms ---- */

static void transform(struct bytes *graph, int64_t axis, int64_t length, bool onesided)
{
    struct bytes node = onnx_node("DFT", "x n", "y");

    onnx_add_tensor(graph, onnx_longs("n", 1, &length));
    onnx_attribute_int(&node, "axis", axis);
    onnx_attribute_int(&node, "onesided", onesided);
    onnx_add_node(graph, node);
}

static void eight_parts(struct bytes *graph)
{
    transform(graph, 1, 3, false);
}

static void along_parts(struct bytes *graph)
{
    transform(graph, 3, 8, false);
}

static void no_length(struct bytes *graph)
{
    transform(graph, 1, 0, false);
}

/* Transforms one number of each row. */
static void narrow(struct bytes *graph, int64_t parts, int64_t length, bool onesided, bool inverse)
{
    struct bytes node = onnx_node("DFT", "s n", "y");

    onnx_add_tensor(graph, onnx_longs("begin", 1, (int64_t[]){0}));
    onnx_add_tensor(graph, onnx_longs("end", 1, &parts));
    onnx_add_tensor(graph, onnx_longs("axis", 1, (int64_t[]){3}));
    onnx_add_tensor(graph, onnx_longs("n", 1, &length));
    onnx_add_node(graph, onnx_node("Slice", "x begin end axis", "s"));
    onnx_attribute_int(&node, "axis", 2);
    onnx_attribute_int(&node, "onesided", onesided);
    onnx_attribute_int(&node, "inverse", inverse);
    onnx_add_node(graph, node);
}

static void half_of_complex(struct bytes *graph)
{
    narrow(graph, 2, 8, true, false);
}

static void real_of_real(struct bytes *graph)
{
    narrow(graph, 1, 8, true, true);
}

static void long_transform(struct bytes *graph)
{
    narrow(graph, 1, 1 << 21, false, false);
}

static void frames_of_images(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("n", 1, (int64_t[]){4}));
    onnx_add_node(graph, onnx_node("STFT", "x n", "y"));
}

static void long_frames(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_floats("s", 0.5f, 3, (int64_t[]){1, 8, 1}));
    onnx_add_tensor(graph, onnx_longs("step", 1, (int64_t[]){4}));
    onnx_add_tensor(graph, onnx_longs("n", 1, (int64_t[]){9}));
    onnx_add_node(graph, onnx_node("STFT", "s step - n", "f"));
    onnx_add_node(graph, onnx_node("ReduceMean", "f", "m"));
    onnx_add_node(graph, onnx_node("Add", "x m", "y"));
}

static void no_window(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("n", 1, (int64_t[]){-2}));
    onnx_add_node(graph, onnx_node("HannWindow", "n", "w"));
    onnx_add_node(graph, onnx_node("ReduceSum", "w", "s"));
    onnx_add_node(graph, onnx_node("Add", "x s", "y"));
}

/* ---- random numbers ---- */

static void random_whole(struct bytes *graph)
{
    struct bytes node = onnx_node("RandomUniformLike", "x", "r");

    onnx_attribute_int(&node, "dtype", INT64);
    onnx_add_node(graph, node);
    onnx_add_node(graph, onnx_node("Add", "x r", "y"));
}

static void random_shapeless(struct bytes *graph)
{
    onnx_add_node(graph, onnx_node("RandomNormal", "-", "r"));
    onnx_add_node(graph, onnx_node("Add", "x r", "y"));
}

/* ---- lines ---- */

static void third_power(struct bytes *graph)
{
    struct bytes node = onnx_node("LpNormalization", "x", "y");

    onnx_attribute_int(&node, "p", 3);
    onnx_add_node(graph, node);
}

/* ---- windows ---- */

static void no_power(struct bytes *graph)
{
    struct bytes node = onnx_node("LpPool", "x", "y");

    onnx_attribute_int(&node, "p", 0);
    onnx_attribute_ints(&node, "kernel_shape", 2, (int64_t[]){2, 2});
    onnx_add_node(graph, node);
}

/* ---- sequences ---- */

static void reverse(struct bytes *graph, int64_t batch_axis, int64_t length)
{
    struct bytes node = onnx_node("ReverseSequence", "x n", "y");

    onnx_add_tensor(graph, onnx_longs("n", 1, &length));
    onnx_attribute_int(&node, "batch_axis", batch_axis);
    onnx_attribute_int(&node, "time_axis", 1);
    onnx_add_node(graph, node);
}

static void one_axis(struct bytes *graph)
{
    reverse(graph, 1, 2);
}

static void long_sequence(struct bytes *graph)
{
    reverse(graph, 0, 4);
}

static void far_condition(struct bytes *graph)
{
    struct bytes node = onnx_node("Compress", "x c", "y");

    onnx_add_tensor(graph, onnx_longs("c", 5, (int64_t[]){1, 0, 0, 0, 1}));
    onnx_attribute_int(&node, "axis", 1);
    onnx_add_node(graph, node);
}

/* ---- sparse tensors ---- */

/* Adds n values, 5, 5, ..., at these indices of [4, 3, 3, 3]. */
static void add_sparse(struct bytes *graph, int n, int n_indices, const int64_t *indices,
                       const int64_t *dims)
{
    struct bytes sparse = {0}, part = onnx_floats("w", 5, 1, (int64_t[]){n}), packed = {0};

    bytes_put(&sparse, 1, &part);
    part = onnx_longs("", n_indices, indices);
    bytes_put(&sparse, 2, &part);
    for (int i = 0; i < 4; i++)
        bytes_varint(&packed, (uint64_t)dims[i]);
    bytes_put(&sparse, 3, &packed);
    bytes_put(graph, 15, &sparse);
    onnx_add_node(graph, onnx_node("Conv", "x w", "y"));
}

static void far_index(struct bytes *graph)
{
    add_sparse(graph, 2, 2, (int64_t[]){3, 108}, (int64_t[]){4, 3, 3, 3});
}

static void index_before(struct bytes *graph)
{
    add_sparse(graph, 1, 1, (int64_t[]){-1}, (int64_t[]){4, 3, 3, 3});
}

static void few_indices(struct bytes *graph)
{
    add_sparse(graph, 2, 1, (int64_t[]){3}, (int64_t[]){4, 3, 3, 3});
}

static void many_zeros(struct bytes *graph)
{
    add_sparse(graph, 1, 1, (int64_t[]){3}, (int64_t[]){1 << 20, 3, 1 << 4, 1 << 4});
}

/* ---- constants of many elements ---- */

/* Multiplies whole numbers, of which there are more than 2^21, by a million. */
static void large_products(struct bytes *graph)
{
    onnx_add_tensor(graph, onnx_longs("a", 1, (int64_t[]){100}));
    onnx_add_tensor(graph, onnx_longs("b", 1, (int64_t[]){1000000}));
    onnx_add_tensor(graph, onnx_longs("shape", 2, (int64_t[]){2048, 2048}));
    onnx_add_node(graph, onnx_node("Expand", "a shape", "wide"));
    onnx_add_node(graph, onnx_node("Mul", "wide b", "m"));
    onnx_add_node(graph, onnx_node("ReduceMax", "m", "most"));
    onnx_add_node(graph, onnx_node("Add", "x most", "y"));
}

/* ---- recurrent operators ---- */

/* An RNN of both directions, and a sequence of three elements, with these functions. */
static void run_rnn(struct bytes *graph, const char *const *words, int n)
{
    struct bytes value = onnx_value("x", FLOAT, 3, (int64_t[]){3, 1, 2}), attribute = {0};
    struct bytes node = onnx_node("RNN", "x w r", "y");

    bytes_clear(graph);
    bytes_put(graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(graph, onnx_floats("w", 1, 3, (int64_t[]){2, 4, 2}));
    onnx_add_tensor(graph, onnx_floats("r", 1, 3, (int64_t[]){2, 4, 4}));
    onnx_attribute_text(&node, "direction", "bidirectional");
    bytes_text(&attribute, 1, "activations");
    for (int i = 0; i < n; i++)
        bytes_text(&attribute, 9, words[i]);
    bytes_int(&attribute, 20, 8);
    bytes_put(&node, 5, &attribute);
    onnx_add_node(graph, node);
}

static void unknown_function(struct bytes *graph)
{
    run_rnn(graph, (const char *[]){"Tanh", "Gelu"}, 2);
}

static void few_functions(struct bytes *graph)
{
    run_rnn(graph, (const char *[]){"Tanh"}, 1);
}

static void two_functions(struct bytes *graph)
{
    run_rnn(graph, (const char *[]){"Tanh", "Elu"}, 2);
}

const struct onnx_case onnx_operator_cases[] = {
    {"a sum of bytes", sum_of_bytes, VBS_FORMAT,
     "node 'y' (ReduceSum): ONNX does not define it for UINT8; a Cast in front of it, to FLOAT or "
     "INT32, helps"},
    {"a sum of squares of 16 bits", squares_of_int16, VBS_FORMAT,
     "node 'y' (ReduceSumSquare): ONNX does not define it for INT16; a Cast in front of it, to "
     "FLOAT or INT32, helps"},
    {"running sums of 8 bits", running_sum_of_int8, VBS_FORMAT,
     "node 'y' (CumSum): ONNX does not define it for INT8; a Cast in front of it, to FLOAT or "
     "INT32, helps"},
    {"a mean of truth values", mean_of_truths, VBS_FORMAT,
     "node 'y' (ReduceMean): ONNX does not define it for BOOL; a Cast in front of it, to FLOAT or "
     "INT32, helps"},
    {"a product of matrices of bytes", products_of_bytes, VBS_FORMAT,
     "node 'y' (MatMul): ONNX does not define it for UINT8; a Cast in front of it, to FLOAT or "
     "INT32, helps"},
    {"a sum of tensors of 16 bits", sum_of_uint16, VBS_FORMAT,
     "node 'y' (Sum): ONNX does not define it for UINT16; a Cast in front of it, to FLOAT or "
     "INT32, helps"},
    {"a mean of tensors of whole numbers", mean_of_int64, VBS_FORMAT,
     "node 'y' (Mean): ONNX does not define it for INT64; a Cast in front of it, to FLOAT, helps"},
    {"a softmax of whole numbers", softmax_of_int64, VBS_FORMAT,
     "node 'y' (Softmax): ONNX does not define it for INT64; a Cast in front of it, to FLOAT, "
     "helps"},
    {"a sigmoid of truth values", sigmoid_of_truths, VBS_FORMAT,
     "node 'y' (Sigmoid): ONNX does not define it for BOOL; a Cast in front of it, to FLOAT, "
     "helps"},
    {"a mean of windows of bytes", pool_of_bytes, VBS_FORMAT,
     "node 'y' (GlobalAveragePool): ONNX does not define it for UINT8; a Cast in front of it, to "
     "FLOAT, helps"},
    {"products of bytes by an equation", einsum_of_int8, VBS_UNSUPPORTED,
     "node 'y' (Einsum): sums of products of whole numbers of 8 bits, which wrap in ONNX"},
    {"points of three coordinates", three_coordinates, VBS_FORMAT,
     "node 'y' (GridSample): images and points differ: 3x8x8 and 2x4x3"},
    {"points of a volume", points_of_a_volume, VBS_UNSUPPORTED,
     "node 'y' (GridSample): reads volumes; images are supported"},
    {"points of one dimension", no_image, VBS_FORMAT,
     "node 'y' (GridSample): input 1 has 3 dimensions, not 4"},
    {"an unknown interpolation", unknown_mode, VBS_UNSUPPORTED,
     "node 'y' (GridSample): attribute 'mode' is 'area'"},
    {"no points", no_points, VBS_FORMAT, "node 'y' (GridSample): input 1 is missing"},
    {"offsets of fewer positions", few_offsets, VBS_FORMAT,
     "node 'y' (DeformConv): places and offsets differ: 2x8x8 and 2x7x8"},
    {"offsets of rows only", offsets_of_rows, VBS_FORMAT,
     "node 'y' (DeformConv): places and offsets differ: 2x8x8 and 1x8x8"},
    {"groups of offsets that do not divide the channels", two_groups_of_offsets, VBS_FORMAT,
     "node 'y' (DeformConv): 1 groups and 2 groups of offsets do not divide 3 input and 4 output "
     "channels"},
    {"no offsets", no_offsets, VBS_FORMAT, "node 'y' (DeformConv): input 2 is missing"},
    {"filters that vary at moved places", varying_filters, VBS_UNSUPPORTED,
     "node 'y' (DeformConv): input 1 depends on the network's input; it is to be a constant"},
    {"computed weights for lines", weights_of_lines, VBS_FORMAT,
     "node 'y' (Conv): weights of 3 dimensions for an input of 4"},
    {"computed weights for fewer channels", weights_of_two_channels, VBS_FORMAT,
     "node 'y' (Conv): weights for 2 channels in each of 1 groups, its input has 3"},
    {"computed weights of channels that the groups do not divide", weights_of_three_groups,
     VBS_FORMAT, "node 'y' (Conv): 3 groups do not divide 8 channels"},
    {"computed weights that span more than the input", large_weights, VBS_FORMAT,
     "node 'y' (Conv): kernel spans 16, more than the 8 of its padded input"},
    {"a bias of another length beside computed weights", bias_of_five, VBS_FORMAT,
     "node 'y' (Conv): input 2 has 5 values for 8 channels"},
    {"computed weights and no input", no_image_for_weights, VBS_FORMAT,
     "node 'y' (Conv): input 0 is missing"},
    {"a transform of numbers of eight parts", eight_parts, VBS_FORMAT,
     "node 'y' (DFT): dimension 0 of 3, of 8 numbers for each element, has no transform"},
    {"a transform along the parts of numbers", along_parts, VBS_FORMAT,
     "node 'y' (DFT): dimension 2 of 3, of 8 numbers for each element, has no transform"},
    {"a transform of no elements", no_length, VBS_FORMAT,
     "node 'y' (DFT): input 1 is 0, not a number above 0"},
    {"half of a transform of complex numbers", half_of_complex, VBS_FORMAT,
     "node 'y' (DFT): half of a transform is that of real numbers, and is complex; its input has 2 "
     "numbers for each element"},
    {"real numbers of a real transform", real_of_real, VBS_FORMAT,
     "node 'y' (DFT): half of a transform is that of real numbers, and is complex; its input has 1 "
     "numbers for each element"},
    {"a transform of too many elements", long_transform, VBS_FORMAT,
     "node 'y' (DFT): a transform of 2097152 elements; 1048576 is the most"},
    {"frames of images", frames_of_images, VBS_FORMAT,
     "node 'y' (STFT): its signal has 4 dimensions, not 3"},
    {"frames longer than a signal", long_frames, VBS_FORMAT,
     "node 'f' (STFT): frames of 9 elements in a signal of 8"},
    {"a window of a negative length", no_window, VBS_FORMAT,
     "node 'w' (HannWindow): a window of -2 elements"},
    {"random whole numbers", random_whole, VBS_UNSUPPORTED,
     "node 'r' (RandomUniformLike): its numbers are to be floats"},
    {"random numbers without a shape", random_shapeless, VBS_FORMAT,
     "node 'r' (RandomNormal): has no shape"},
    {"a length by third powers", third_power, VBS_UNSUPPORTED,
     "node 'y' (LpNormalization): attribute 'p' is 3"},
    {"windows by no power", no_power, VBS_FORMAT, "node 'y' (LpPool): attribute 'p' is 0"},
    {"samples and elements in one dimension", one_axis, VBS_FORMAT,
     "node 'y' (ReverseSequence): samples in dimension 1 and elements in dimension 1 of 4"},
    {"more elements than a sequence has", long_sequence, VBS_FORMAT,
     "node 'y' (ReverseSequence): reverses 4 of 3 elements"},
    {"a condition beyond the elements", far_condition, VBS_FORMAT,
     "node 'y' (Compress): takes element 4 of 3"},
    {"an index beyond a sparse tensor", far_index, VBS_FORMAT,
     "sparse tensor 'w': index 1 is beyond its shape"},
    {"an index before a sparse tensor", index_before, VBS_FORMAT,
     "sparse tensor 'w': index 0 is beyond its shape"},
    {"fewer indices than values", few_indices, VBS_FORMAT,
     "sparse tensor 'w': its indices are not those of its values"},
    {"a sparse tensor of too many zeros", many_zeros, VBS_UNSUPPORTED,
     "sparse tensor 'w': sparse tensors of more than 1073741824 bytes together"},
    {"large whole numbers in a constant of many elements", large_products, VBS_UNSUPPORTED,
     "node 'm' (Mul): computes with a constant of more than 2097152 whole numbers, of which one is "
     "not below 2^24"},
    {"an unknown function of an rnn", unknown_function, VBS_UNSUPPORTED,
     "node 'y' (RNN): activation 1 is not known"},
    {"a function for one direction of two", few_functions, VBS_FORMAT,
     "node 'y' (RNN): has 1 activations, not 2"},
    {"two functions for two directions", two_functions, VBS_UNSUPPORTED,
     "node 'y' (RNN): its directions have different activations"},
    {NULL, NULL, VBS_OK, NULL},
};
