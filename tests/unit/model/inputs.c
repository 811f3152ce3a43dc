/*
 * Networks of several inputs: parts of tensor 0, each with its layer; where each has the samples;
 * shapes and values that the caller chooses; the text of these choices; seeded values.
 */
#include "vbslab/model.h"

#include "cases/onnx_bytes.h"
#include "support/tap.h"

#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { FLOAT = 1, UINT8 = 2, INT64 = 7, BOOL = 9 };

static char folder[] = "/tmp/t_inputs.XXXXXX";
static char path[100];

/* Makes a graph with an output y and no inputs. */
static struct bytes new_graph(void)
{
    struct bytes graph = {0}, value = onnx_value("y", FLOAT, 0, NULL);

    bytes_put(&graph, ONNX_OUTPUT, &value);
    return graph;
}

static void add_input(struct bytes *graph, const char *name, int type, int n, const int64_t *dims)
{
    struct bytes value = onnx_value(name, type, n, dims);

    bytes_put(graph, ONNX_INPUT, &value);
}

static void write_graph(struct bytes *graph)
{
    struct bytes model = onnx_model(17, graph);

    if (!bytes_write(&model, path))
        printf("Bail out! cannot write %s\n", path);
    bytes_clear(&model);
}

/* Writes y = relu(a + b) - t: a and b have samples, t is a scalar. */
static void write_three(void)
{
    struct bytes graph = new_graph();

    add_input(&graph, "a", FLOAT, 4, (int64_t[]){0, 3, 4, 5});
    add_input(&graph, "b", FLOAT, 4, (int64_t[]){0, 3, 1, 5});
    add_input(&graph, "t", FLOAT, 0, NULL);
    onnx_add_node(&graph, onnx_node("Add", "a b", "s"));
    onnx_add_node(&graph, onnx_node("Relu", "s", "r"));
    onnx_add_node(&graph, onnx_node("Sub", "r t", "y"));
    write_graph(&graph);
}

static struct vbs_network *load(const struct vbs_input_choice *choices, int n)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_load_inputs(&ctx, path, choices, n, &network) == VBS_OK)
        return network;
    printf("# %s\n", vbs_detail(&ctx));
    return NULL;
}

/* Checks that the layer of this name copies an input out of tensor 0. */
static void check_part(const struct vbs_network *network, const char *name, int64_t first,
                       int64_t count)
{
    for (int k = 1; k <= network->n_layers; k++) {
        const struct vbs_layer *l = &network->layers[k];

        if (strcmp(l->name, name) != 0)
            continue;
        ok(l->op == VBS_OP_SLICE && l->n_inputs == 1 && l->inputs[0] == 0 &&
               l->attributes.slice.begin[0] == first && l->attributes.slice.count[0] == count,
           "layer %s is a copy of its input", name);
        return;
    }
    ok(false, "there is a layer %s", name);
}

static void inputs_are_parts_of_tensor_0(void)
{
    struct vbs_network *network;

    write_three();
    network = load(NULL, 0);
    if (!ok(network != NULL, "a network of three inputs is read"))
        return;
    is_int(network->n_inputs, 3, "it has three inputs");
    is_int(network->input.n_dims, 1, "tensor 0 has one dimension");
    is_int(network->input.dim[0], 60 + 15 + 1, "of the elements of all");
    for (int i = 0; i < 3; i++) {
        static const char *const NAMES[] = {"a", "b", "t"};
        static const int64_t FIRST[] = {0, 60, 75}, COUNT[] = {60, 15, 1};
        const struct vbs_input *input = &network->inputs[i];

        is_str(input->name, NAMES[i], "the name of the input");
        is_int(input->first, FIRST[i], "where it begins");
        is_int(vbs_shape_elements(&input->shape), COUNT[i], "how many elements it has");
        ok(input->shared == (i == 2), "only a scalar has no samples");
        is_int(vbs_network_find_input(network, NAMES[i]), i, "it is found by its name");
        check_part(network, NAMES[i], FIRST[i], COUNT[i]);
    }
    is_int(vbs_network_find_input(network, "c"), -1, "another name is found nowhere");
    is_int(network->n_layers, 5, "each input that is read has one layer more");
    ok(!network->whole, "samples are independent");
    vbs_network_free(network);
}

/* y = a * b, where b has the samples in another dimension. */
static void write_product(const int64_t *a, const int64_t *b)
{
    struct bytes graph = new_graph(), node = onnx_node("Transpose", "b", "c");

    onnx_attribute_ints(&node, "perm", 3, (int64_t[]){1, 0, 2});
    add_input(&graph, "a", FLOAT, 3, a);
    add_input(&graph, "b", FLOAT, 3, b);
    onnx_add_node(&graph, node);
    onnx_add_node(&graph, onnx_node("Mul", "a c", "y"));
    write_graph(&graph);
}

static void samples_are_found_in_other_dimensions(void)
{
    struct vbs_network *network;

    write_product((int64_t[]){1, 2, 6}, (int64_t[]){2, 1, 6});
    network = load(NULL, 0);
    if (!ok(network != NULL, "a batch of 1 in two places is read"))
        return;
    ok(!network->whole && network->inputs[1].shape.n_dims == 2 &&
           network->inputs[1].shape.dim[0] == 2 && network->inputs[1].shape.dim[1] == 6,
       "the second input has the samples in dimension 1");
    vbs_network_free(network);
    write_product((int64_t[]){4, 2, 6}, (int64_t[]){2, 4, 6});
    network = load(NULL, 0);
    if (!ok(network != NULL, "a batch of 4 in two places is read"))
        return;
    is_int(network->input.dim[0], 24, "a sample has an entry of each");
    vbs_network_free(network);
    write_product((int64_t[]){1, 7, 6}, (int64_t[]){1, 1, 6});
    network = load(NULL, 0);
    if (!ok(network != NULL, "a state of one layer and one sample is read"))
        return;
    ok(!network->whole, "its samples are in its second dimension of 1");
    is_int(network->input.dim[0], 48, "a sample has an entry of each");
    vbs_network_free(network);
}

/* Checks that loading is refused, for a reason that has `why` in it. */
static void refuses(const struct vbs_input_choice *choices, int n, enum vbs_status status,
                    const char *why)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    is_int(vbs_network_load_inputs(&ctx, path, choices, n, &network), status, why);
    if (!ok(strstr(vbs_detail(&ctx), why) != NULL, "is said"))
        printf("# %s\n", vbs_detail(&ctx));
    vbs_network_free(network);
}

static void an_open_dimension_behind_others_counts_the_samples(void)
{
    struct bytes graph = new_graph();
    struct vbs_network *network;

    add_input(&graph, "a", FLOAT, 3, (int64_t[]){5, 0, 3});
    onnx_add_node(&graph, onnx_node("Relu", "a", "y"));
    write_graph(&graph);
    network = load(NULL, 0);
    if (!ok(network != NULL, "a sequence of open samples is read"))
        return;
    ok(!network->whole && network->input.n_dims == 2 && network->input.dim[0] == 5,
       "a sample is a sequence");
    ok(strstr(network->about, "; samples in dimension 1") != NULL, "which is said");
    vbs_network_free(network);
    graph = new_graph();
    add_input(&graph, "a", FLOAT, 3, (int64_t[]){0, 4, ONNX_NOTHING});
    onnx_add_node(&graph, onnx_node("Relu", "a", "y"));
    write_graph(&graph);
    refuses(NULL, 0, VBS_USAGE,
            "dimension 2 of input 'a' is 0; give the shape of a sample (--input 4xSIZE)");
}

static const struct vbs_shape PLAIN = {.n_dims = 3, .dim = {3, 4, 5}};

static void choices_that_suit_no_input_are_refused(void)
{
    const struct vbs_input_choice other[] = {{.name = "c", .shape = PLAIN}};
    const struct vbs_input_choice twice[] = {{.name = "a", .shape = PLAIN},
                                             {.name = "a", .shape = PLAIN}};
    const struct vbs_input_choice only[] = {{.shape = PLAIN}};
    const struct vbs_input_choice rank[] = {{.name = "a", .shape = {.n_dims = 1, .dim = {5}}}};
    const struct vbs_input_choice large[] = {{.name = "a", .fixed = true, .value = 1}};
    const struct vbs_input_choice no_input[] = {{.name = "r", .fixed = true, .value = 1}};
    const struct vbs_input_choice again[] = {{.name = "t", .fixed = true, .value = 1},
                                             {.name = "t", .fixed = true, .value = 1}};

    write_three();
    refuses(other, 1, VBS_USAGE, "there is no input 'c' that varies; there is 'a', 'b', 't'");
    refuses(twice, 2, VBS_USAGE, "two shapes are given for input 'a'");
    refuses(only, 1, VBS_USAGE, "it has 3 inputs ('a', 'b', ...); say of which one");
    refuses(rank, 1, VBS_USAGE, "input 'a' has 4 dimensions with its batch, not 2");
    refuses(large, 1, VBS_USAGE, "input 'a' cannot be fixed to a number");
    refuses(no_input, 1, VBS_USAGE, "there is no input 'r' that could be fixed");
    refuses(again, 2, VBS_USAGE, "input 't' is fixed twice");
}

static void shapes_may_be_those_of_one_sample_in_the_file(void)
{
    static const struct vbs_shape A = {.n_dims = 4, .dim = {1, 3, 4, 5}};
    static const struct vbs_shape B = {.n_dims = 4, .dim = {1, 3, 1, 5}};
    static const struct vbs_shape TWO = {.n_dims = 4, .dim = {2, 3, 4, 5}};
    const struct vbs_input_choice both[] = {{.name = "a", .shape = A}, {.name = "b", .shape = B}};
    const struct vbs_input_choice other[] = {{.name = "a", .shape = TWO},
                                             {.name = "b", .shape = B}};
    struct vbs_network *plain, *network;

    write_three();
    plain = load(NULL, 0);
    network = load(both, 2);
    if (!ok(plain && network && !network->whole, "all inputs have a 1 in front"))
        return;
    ok(vbs_network_hash(network) == vbs_network_hash(plain),
       "which gives the network that has these samples");
    vbs_network_free(network);
    network = load(other, 2);
    ok(network && network->whole && network->inputs[0].shape.dim[0] == 2,
       "another number in front is one of whole inputs");
    vbs_network_free(network);
    network = load(both, 1);
    ok(network && network->inputs[0].shared && !network->inputs[1].shared,
       "and all dimensions of one input of two make it the same for all samples");
    vbs_network_free(network);
    vbs_network_free(plain);
}

static void an_input_that_nothing_reads_is_named(void)
{
    const struct vbs_input_choice choice[] = {{.name = "u", .shape = PLAIN}};
    struct bytes graph = new_graph();
    struct vbs_network *network;

    add_input(&graph, "u", FLOAT, 3, (int64_t[]){0, 0, 0});
    add_input(&graph, "a", FLOAT, 3, (int64_t[]){0, 4, 3});
    onnx_add_node(&graph, onnx_node("Relu", "a", "y"));
    write_graph(&graph);
    for (int n = 0; n < 2; n++) {
        network = load(choice, n);
        ok(network && network->n_inputs == 1 && network->n_unread_inputs == 1 &&
               strcmp(network->unread_inputs[0], "u") == 0 &&
               vbs_network_find_input(network, "u") < 0,
           "%s", n ? "a shape for it changes nothing" : "it is no input, but has a name");
        vbs_network_free(network);
    }
}

static void an_input_may_be_fixed(void)
{
    const struct vbs_input_choice fixed[] = {{.name = "t", .fixed = true, .value = 0.25}};
    struct vbs_network *network, *again = NULL;
    struct vbs_ctx ctx = {0};
    char *text = NULL;

    write_three();
    network = load(fixed, 1);
    if (!ok(network != NULL, "a scalar becomes a constant"))
        return;
    ok(network->n_inputs == 2 && network->n_fixed_inputs == 1 &&
           strcmp(network->fixed_inputs[0].name, "t") == 0 &&
           network->fixed_inputs[0].value == 0.25,
       "which the network tells");
    ok(vbs_network_inputs_text(&ctx, network, &text) == VBS_OK, "its choices are text");
    is_str(text, "3x4x5;3x1x5;t=0.25", "of shapes and the value");
    ok(vbs_network_load_by_text(&ctx, path, text, &again) == VBS_OK &&
           vbs_network_hash(again) == vbs_network_hash(network),
       "by which the same network is loaded");
    vbs_network_free(again);
    free(text);
    vbs_network_free(network);
    ok(vbs_network_load_by_text(&ctx, path, "3x4x5;;t=x", &again) == VBS_USAGE,
       "text that is none is refused");
}

static void names_may_have_any_characters(void)
{
    static const char NAME[] = "$(rm);'\"=%25,#";
    const struct vbs_input_choice fixed[] = {{.name = NAME, .fixed = true, .value = -1}};
    struct bytes graph = new_graph();
    struct vbs_network *network, *again = NULL;
    struct vbs_ctx ctx = {0};
    char *text = NULL;
    char names[100];

    snprintf(names, sizeof names, "a %s", NAME);
    add_input(&graph, "a", FLOAT, 2, (int64_t[]){0, 3});
    add_input(&graph, NAME, FLOAT, 0, NULL);
    onnx_add_node(&graph, onnx_node("Add", names, "y"));
    write_graph(&graph);
    network = load(NULL, 0);
    ok(network && vbs_network_find_input(network, NAME) == 1, "an odd name is found");
    vbs_network_free(network);
    network = load(fixed, 1);
    if (!ok(network && vbs_network_inputs_text(&ctx, network, &text) == VBS_OK,
            "and stands in text"))
        return;
    is_str(text, "3;$(rm)%3B%27%22%3D%2525%2C%23=-1", "in one line without quotes");
    ok(vbs_network_load_by_text(&ctx, path, text, &again) == VBS_OK &&
           strcmp(again->fixed_inputs[0].name, NAME) == 0,
       "from which it is read again");
    vbs_network_free(again);
    vbs_network_free(network);
    free(text);
}

static void open_sizes_are_given_by_name(void)
{
    const struct vbs_input_choice sizes[] = {{.name = "a", .shape = {.n_dims = 2, .dim = {7, 3}}}};
    struct bytes graph = new_graph();
    struct vbs_network *network;

    add_input(&graph, "a", FLOAT, 3, (int64_t[]){0, 0, 3});
    add_input(&graph, "b", FLOAT, 3, (int64_t[]){0, 1, 3});
    onnx_add_node(&graph, onnx_node("Add", "a b", "y"));
    write_graph(&graph);
    refuses(NULL, 0, VBS_USAGE,
            "dimension 1 of input 'a' is open; give the shape of a sample (--input a=Nx3)");
    network = load(sizes, 1);
    if (!ok(network != NULL, "a size is given"))
        return;
    is_int(network->input.dim[0], 24, "of a sample");
    vbs_network_free(network);
}

static void a_size_that_contradicts_the_file_is_the_callers_mistake(void)
{
    const struct vbs_input_choice size[] = {{.shape = {.n_dims = 2, .dim = {5, 4}}}};
    struct bytes graph = new_graph();

    add_input(&graph, "x", FLOAT, 3, (int64_t[]){0, 0, 3});
    onnx_add_tensor(&graph, onnx_floats("w", 1, 2, (int64_t[]){3, 2}));
    onnx_add_node(&graph, onnx_node("MatMul", "x w", "y"));
    write_graph(&graph);
    refuses(size, 1, VBS_USAGE, "input 5x4 does not suit the model");
}

/* ---- values ---- */

static void write_numbers(void)
{
    struct bytes graph = new_graph();

    add_input(&graph, "a", FLOAT, 2, (int64_t[]){0, 50});
    add_input(&graph, "m", BOOL, 2, (int64_t[]){0, 50});
    add_input(&graph, "u", UINT8, 2, (int64_t[]){0, 50});
    add_input(&graph, "t", FLOAT, 0, NULL);
    for (int i = 0; i < 2; i++) {
        struct bytes node = onnx_node("Cast", i ? "u" : "m", i ? "v" : "n");

        onnx_attribute_int(&node, "to", FLOAT);
        onnx_add_node(&graph, node);
    }
    onnx_add_node(&graph, onnx_node("Mul", "a n", "b"));
    onnx_add_node(&graph, onnx_node("Add", "b v", "c"));
    onnx_add_node(&graph, onnx_node("Add", "c t", "y"));
    write_graph(&graph);
}

static void seeded_values_suit_the_inputs(void)
{
    enum { SAMPLE = 151, SAMPLES = 3 };
    struct vbs_network *network;
    float values[SAMPLES * SAMPLE], part[17];
    bool real = true, bools = true, bytes = true, same = true, shared = true;
    float most = 0;

    write_numbers();
    network = load(NULL, 0);
    if (!ok(network && network->inputs[1].number == VBS_NUMBER_BOOL &&
                network->inputs[2].number == VBS_NUMBER_WHOLE,
            "the kinds of numbers are told"))
        return;
    vbs_network_input_values(network, 0, SAMPLES * SAMPLE, values);
    for (int s = 0; s < SAMPLES; s++)
        for (int i = 0; i < 50; i++) {
            const float *at = values + s * SAMPLE + i;

            real &= at[0] >= -1 && at[0] < 1;
            bools &= at[50] == 0 || at[50] == 1;
            bytes &= at[100] >= 0 && at[100] <= 255 && at[100] == floorf(at[100]);
            most = at[100] > most ? at[100] : most;
        }
    for (int first = 0; first + 17 <= SAMPLES * SAMPLE; first += 17) {
        vbs_network_input_values(network, first, 17, part);
        same &= memcmp(part, values + first, sizeof part) == 0;
    }
    for (int s = 1; s < SAMPLES; s++)
        shared &= values[150] == values[s * SAMPLE + 150];
    ok(real, "floats are in [-1, 1)");
    ok(bools, "bools are 0 or 1");
    ok(bytes && most > 200, "bytes are from 0 to 255");
    ok(same, "any range of them has the same values");
    ok(shared, "an input that all samples share has one value");
    vbs_network_free(network);
}

/* The input ids is read twice: by a table of 9 rows, and by one of 4. */
static void seeded_indices_are_rows_of_the_smallest_table(void)
{
    struct bytes graph = new_graph();
    struct vbs_network *network;
    bool rows = true, whole = true;
    float values[300], most = 0;

    add_input(&graph, "ids", INT64, 2, (int64_t[]){0, 100});
    onnx_add_tensor(&graph, onnx_floats("v", 1, 2, (int64_t[]){9, 3}));
    onnx_add_tensor(&graph, onnx_floats("w", 2, 2, (int64_t[]){4, 3}));
    onnx_add_node(&graph, onnx_node("Gather", "v ids", "a"));
    onnx_add_node(&graph, onnx_node("Gather", "w ids", "b"));
    onnx_add_node(&graph, onnx_node("Add", "a b", "y"));
    write_graph(&graph);
    network = load(NULL, 0);
    if (!ok(network && network->n_inputs == 1 && network->inputs[0].is_index,
            "an input of indices is told"))
        return;
    vbs_network_input_values(network, 0, 300, values);
    for (int i = 0; i < 300; i++) {
        rows &= values[i] >= 0 && values[i] <= 3;
        whole &= values[i] == floorf(values[i]);
        most = values[i] > most ? values[i] : most;
    }
    ok(rows && whole && most == 3, "its values are rows of the smallest table");
    vbs_network_free(network);
}

static void inputs_are_joined(void)
{
    enum { SAMPLE = 76, SAMPLES = 2 };
    float a[60 * SAMPLES], t = 9, tensor[SAMPLE * SAMPLES], seeded[SAMPLE * SAMPLES];
    const float *const inputs[] = {a, NULL, &t};
    struct vbs_network *network;
    bool same = true;

    write_three();
    network = load(NULL, 0);
    if (!network)
        return;
    for (int i = 0; i < 60 * SAMPLES; i++)
        a[i] = (float)i;
    vbs_network_join_inputs(network, SAMPLES, inputs, tensor);
    vbs_network_input_values(network, 0, SAMPLE * SAMPLES, seeded);
    for (int s = 0; s < SAMPLES; s++) {
        const float *at = tensor + s * SAMPLE;

        for (int i = 0; i < 60; i++)
            same &= at[i] == (float)(s * 60 + i);
        for (int i = 60; i < 75; i++)
            same &= at[i] == seeded[s * SAMPLE + i];
        same &= at[75] == 9;
    }
    ok(same, "values of all inputs lie sample by sample, seeded where none are given");
    vbs_network_free(network);
}

/* ---- files that are written ---- */

static void written_files_have_the_inputs(void)
{
    struct vbs_network *network, *again = NULL;
    struct vbs_ctx ctx = {0};
    char other[120];

    snprintf(other, sizeof other, "%s/again.onnx", folder);
    write_numbers();
    network = load(NULL, 0);
    if (!ok(network && vbs_network_export(&ctx, network, other) == VBS_OK &&
                vbs_network_load(&ctx, other, NULL, &again) == VBS_OK,
            "a network of several inputs is written and read")) {
        printf("# %s\n", vbs_detail(&ctx));
        return;
    }
    ok(vbs_network_hash(again) == vbs_network_hash(network), "it is the same");
    for (int i = 0; i < 4; i++)
        ok(strcmp(network->inputs[i].name, again->inputs[i].name) == 0 &&
               network->inputs[i].number == again->inputs[i].number &&
               network->inputs[i].first == again->inputs[i].first,
           "input %d too", i);
    vbs_network_free(again);
    vbs_network_free(network);
    unlink(other);
}

static void one_input_stays_tensor_0(void)
{
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};

    ok(vbs_network_load(&ctx, "lenet-5", NULL, &network) == VBS_OK && network->n_inputs == 1 &&
           strcmp(network->inputs[0].name, VBS_INPUT_NAME) == 0 &&
           vbs_shape_equal(&network->inputs[0].shape, &network->input),
       "a network from a text has one input, of its shape");
    vbs_network_free(network);
}

int main(void)
{
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    inputs_are_parts_of_tensor_0();
    samples_are_found_in_other_dimensions();
    an_open_dimension_behind_others_counts_the_samples();
    choices_that_suit_no_input_are_refused();
    shapes_may_be_those_of_one_sample_in_the_file();
    an_input_that_nothing_reads_is_named();
    an_input_may_be_fixed();
    names_may_have_any_characters();
    open_sizes_are_given_by_name();
    a_size_that_contradicts_the_file_is_the_callers_mistake();
    seeded_values_suit_the_inputs();
    seeded_indices_are_rows_of_the_smallest_table();
    inputs_are_joined();
    written_files_have_the_inputs();
    one_input_stays_tensor_0();
    unlink(path);
    rmdir(folder);
    return done_testing();
}
