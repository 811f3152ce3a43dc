/*
 * Networks that are written as ONNX files are loaded as the same networks: operators, attributes,
 * shapes, outputs, names and all parameters to the bit; for built-in networks, for all cases of
 * backends and operators, for networks from ONNX files of many versions, and for coded weights.
 */
#include "vbslab/model.h"

#include "cases/network_cases.h"
#include "support/tap.h"

#include "model/network/network.h"

#include "generated/onnx.pb-c.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Built-in networks of few parameters, and files. */
static const char *const MODELS[] = {
    "resnet-56-cifar",
    "squeezenet-v1.0",
    "googlenet",
    "mobilenet-v1",
    "lenet-5",
    "lenet-300-100",
    "resnet-8",
    "resnet-20",
    "tests/data/onnx/cells.onnx",
    "tests/data/onnx/chosen.onnx",
    "tests/data/onnx/edges.onnx",
    "tests/data/onnx/whole_numbers.onnx",
    "tests/data/onnx/computed_one.onnx",
    "tests/data/onnx/computed_four.onnx",
    "tests/data/onnx/computed_whole.onnx",
    "tests/data/onnx/shared_kernel.onnx",
    "tests/data/onnx/whole_chosen.onnx",
    "tests/data/onnx/wraps.onnx",
    "tests/data/onnx/external.onnx",
    "tests/data/onnx/keras_nhwc.onnx",
    "tests/data/onnx/later.onnx",
    "tests/data/onnx/light_inception_v2.onnx",
    "tests/data/onnx/light_shufflenet.onnx",
    "tests/data/onnx/light_squeezenet.onnx",
    "tests/data/onnx/infinite.onnx",
    "tests/data/onnx/masks.onnx",
    "tests/data/onnx/normals.onnx",
    "tests/data/onnx/old_01.onnx",
    "tests/data/onnx/old_02.onnx",
    "tests/data/onnx/old_04.onnx",
    "tests/data/onnx/old_05.onnx",
    "tests/data/onnx/old_06.onnx",
    "tests/data/onnx/old_09.onnx",
    "tests/data/onnx/one_channel.onnx",
    "tests/data/onnx/opset_07.onnx",
    "tests/data/onnx/opset_09.onnx",
    "tests/data/onnx/opset_10.onnx",
    "tests/data/onnx/opset_11.onnx",
    "tests/data/onnx/opset_13.onnx",
    "tests/data/onnx/opset_18.onnx",
    "tests/data/onnx/opset_21.onnx",
    "tests/data/onnx/opset_22.onnx",
    "tests/data/onnx/opset_23.onnx",
    "tests/data/onnx/opset_24.onnx",
    "tests/data/onnx/outputs.onnx",
    "tests/data/onnx/recurrent.onnx",
    "tests/data/onnx/deformed_19.onnx",
    "tests/data/onnx/framed.onnx",
    "tests/data/onnx/sampled_16.onnx",
    "tests/data/onnx/sampled_20.onnx",
    "tests/data/onnx/scales.onnx",
    "tests/data/onnx/segment.onnx",
    "tests/data/onnx/shrunk.onnx",
    "tests/data/onnx/torch_flatten_11.onnx",
    "tests/data/onnx/transformed_17.onnx",
    "tests/data/onnx/transformed_20.onnx",
    "tests/data/onnx/torch_flatten_14.onnx",
    "tests/data/onnx/torch_gates.onnx",
    "tests/data/onnx/whole.onnx",
};

static char path[] = "/tmp/t_export.XXXXXX.onnx";

static bool same_parameter(const struct vbs_network *a, const struct vbs_network *b, int k, int f,
                           int what)
{
    int64_t n = vbs_parameter_count(a, k, f, (enum vbs_parameter)what);
    float *left, *right;
    bool same;

    if (vbs_parameter_count(b, k, f, (enum vbs_parameter)what) != n)
        return false;
    if (a->layers[k].op == VBS_OP_GATHER)
        return true; /* negative indices are read as positive ones */
    left = parameter_values(a, k, f, what);
    right = parameter_values(b, k, f, what);
    same = left && right && memcmp(left, right, (size_t)n * sizeof *left) == 0;
    free(left);
    free(right);
    return same;
}

/* Counts the operators whose parameters or names differ. */
static int n_different(const struct vbs_network *a, const struct vbs_network *b)
{
    int n = 0;

    for (int k = 1; k <= a->n_layers; k++)
        for (int f = -1; f < a->layers[k].n_fused; f++) {
            const char *name = f < 0 ? a->layers[k].name : a->layers[k].fused[f].name;
            const char *other = f < 0 ? b->layers[k].name : b->layers[k].fused[f].name;
            bool same = strcmp(name, other) == 0;

            for (int what = 0; same && what < VBS_N_PARAMETERS; what++)
                same = same_parameter(a, b, k, f, what);
            if (!same)
                printf("# layer %d '%s' (%d) differs from '%s'\n", k, name, f, other);
            n += !same;
        }
    return n;
}

static bool same_ends(const struct vbs_network *a, const struct vbs_network *b)
{
    bool same = a->whole == b->whole && a->n_outputs == b->n_outputs;

    for (int i = 0; same && i < a->n_outputs; i++)
        same = a->outputs[i].layer == b->outputs[i].layer &&
               strcmp(a->outputs[i].name, b->outputs[i].name) == 0 &&
               vbs_shape_equal(&a->outputs[i].shape, &b->outputs[i].shape);
    same = same && a->n_inputs == b->n_inputs;
    for (int i = 0; same && i < a->n_inputs; i++)
        same = strcmp(a->inputs[i].name, b->inputs[i].name) == 0;
    return same;
}

/* Prints what a network is made of, where a check has failed. */
static void describe(const struct vbs_network *network)
{
    printf("#");
    for (int k = 1; k <= network->n_layers && k < 40; k++) {
        const struct vbs_layer *l = &network->layers[k];
        char text[64];

        printf(" %s", vbs_op_word(l->op));
        for (int i = 0; i < l->n_inputs; i++)
            printf("%s%s", i ? "," : "[", vbs_shape_format(&l->views[i], text, sizeof text));
        printf("]");
        for (int f = 0; f < l->n_fused; f++)
            printf("+%s", vbs_op_word(l->fused[f].op));
    }
    printf("\n");
}

#define LARGEST (64 << 20) /* bytes of a file whose nodes are looked at */

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Gives whether two nodes of a graph have one name, which other readers do not take. */
static bool names_are_shared(const Onnx__GraphProto *graph)
{
    char **names = calloc(graph->n_node + 1, sizeof *names);
    bool shared = !names;
    size_t n = 0;

    for (size_t i = 0; names && i < graph->n_node; i++)
        if (graph->node[i]->name && graph->node[i]->name[0])
            names[n++] = graph->node[i]->name;
    if (names)
        qsort(names, n, sizeof *names, compare_texts);
    for (size_t i = 1; i < n && !shared; i++) {
        shared = strcmp(names[i - 1], names[i]) == 0;
        if (shared)
            printf("# two nodes are named '%s'\n", names[i]);
    }
    free(names);
    return shared;
}

/* Checks the names of the nodes of the file that has been written. */
static void check_names(const char *name)
{
    FILE *file = fopen(path, "rb");
    unsigned char *data = malloc(LARGEST);
    size_t length = file && data ? fread(data, 1, LARGEST, file) : 0;
    Onnx__ModelProto *model =
        length > 0 && length < LARGEST ? onnx__model_proto__unpack(NULL, length, data) : NULL;

    if (model && names_are_shared(model->graph))
        ok(false, "%s: nodes have names of their own", name);
    if (model)
        onnx__model_proto__free_unpacked(model, NULL);
    free(data);
    if (file)
        fclose(file);
}

static struct vbs_network *written(const char *name, const struct vbs_network *network)
{
    struct vbs_network *loaded = NULL;
    struct vbs_ctx ctx = {0};

    if (vbs_network_export(&ctx, network, path) == VBS_OK) {
        check_names(name);
        if (vbs_network_load(&ctx, path, NULL, &loaded) == VBS_OK)
            return loaded;
    }
    printf("# %s: %s\n", name, vbs_detail(&ctx));
    return NULL;
}

/* Networks that cannot be written so that the same operators are read: attributes that have no
 * meaning for the operator, a concat of one input, scales that are no floats. What is read is then
 * another network that computes the same, and it is written and read as itself. Gives whether the
 * network itself was read. */
static bool check_equal(const char *name, const struct vbs_network *network)
{
    struct vbs_network *loaded = written(name, network), *again = NULL;
    bool same = loaded && vbs_network_hash(loaded) == vbs_network_plain_hash(network);

    ok(loaded && loaded->n_outputs == network->n_outputs, "%s is written and read", name);
    for (int i = 0; loaded && i < network->n_outputs; i++)
        if (!vbs_shape_equal(&loaded->outputs[i].shape, &network->outputs[i].shape) ||
            strcmp(loaded->outputs[i].name, network->outputs[i].name) != 0)
            ok(false, "%s: output %d is another one", name, i);
    if (loaded)
        again = written(name, loaded);
    ok(again && vbs_network_hash(again) == vbs_network_hash(loaded) &&
           n_different(loaded, again) == 0 && same_ends(loaded, again),
       "... and what is read again");
    if (same)
        ok(n_different(network, loaded) == 0, "... with all names and parameters");
    vbs_network_free(loaded);
    vbs_network_free(again);
    return same;
}

static void check_network(const char *name, const struct vbs_network *network, void *self)
{
    struct vbs_network *loaded = written(name, network);
    bool same = loaded && vbs_network_hash(loaded) == vbs_network_plain_hash(network);

    (void)self;
    ok(same, "%s is written and read", name);
    if (loaded && !same) {
        describe(network);
        describe(loaded);
    }
    if (same)
        ok(same_ends(network, loaded) && n_different(network, loaded) == 0,
           "... with its outputs, names and parameters");
    vbs_network_free(loaded);
}

static void check_backend_case(const char *name, const struct vbs_network *network, void *self)
{
    if (strcmp(name, "concat of plain and blocked") == 0)
        check_equal(name, network); /* has a concat of one input */
    else
        check_network(name, network, self);
}

struct counts {
    int n_cases, n_same;
};

static void check_operator_case(const char *name, const struct vbs_network *network, void *self)
{
    struct counts *counts = self;

    if (network->input.n_dims == VBS_MAX_DIMS) {
        struct vbs_network *loaded = NULL;
        struct vbs_ctx ctx = {0};

        ok(vbs_network_export(&ctx, network, path) == VBS_OK &&
               vbs_network_load(&ctx, path, NULL, &loaded) == VBS_UNSUPPORTED,
           "an input of 8 dimensions and a batch is written, but not read");
    } else {
        counts->n_cases++;
        counts->n_same += check_equal(name, network);
    }
}

/* ---- failures ---- */

static const char LARGE[] = "model large\ninput 32768x1x1\nfc a out=32768\nfc b out=32768\n";

static void check_refusals(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    volatile sig_atomic_t stop = 1;
    struct stat about;

    if (vbs_network_parse(&ctx, "large.net", LARGE, strlen(LARGE), NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    unlink(path);
    is_int(vbs_network_export(&ctx, network, path), VBS_UNSUPPORTED,
           "a network of more than 2 GiB is refused");
    ok(strstr(vbs_detail(&ctx), "8590197134 bytes") != NULL, "... with its size: %s",
       vbs_detail(&ctx));
    vbs_network_free(network);
    network = NULL;
    if (vbs_network_load(&ctx, "lenet-5", NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    is_int(vbs_network_export(&ctx, network, "/nowhere/x.onnx"), VBS_IO,
           "a folder that is not there is refused");
    vbs_ctx_set_cancel(&ctx, &stop);
    is_int(vbs_network_export(&ctx, network, path), VBS_INTERRUPTED, "writing stops on request");
    ok(stat(path, &about) != 0, "no file is left behind");
    vbs_network_free(network);
}

int main(void)
{
    int file = mkstemps(path, 5);
    struct counts counts = {0};

    each_model(MODELS, sizeof MODELS / sizeof MODELS[0], check_network, NULL);
    each_backend_case(check_backend_case, NULL);
    each_operator_case(check_operator_case, &counts);
    ok(counts.n_same * 10 >= counts.n_cases * 8,
       "%d of %d cases of operators are read as the same network", counts.n_same, counts.n_cases);
    one_with_coded_weights(check_network, NULL);
    check_refusals();
    close(file);
    unlink(path);
    return done_testing();
}
