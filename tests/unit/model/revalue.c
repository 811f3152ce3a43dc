/*
 * Copies of networks with other values of parameters: they are the same networks, have the new
 * values and the old ones beside them, and depend on no file. Counts of parameters agree with those
 * of the layers.
 */
#include "vbslab/model.h"

#include "cases/network_cases.h"
#include "support/tap.h"

#include "model/network/network.h"

#include <stdlib.h>

static const char *const MODELS[] = {
    "resnet-56-cifar",
    "tests/data/onnx/torch_flatten_11.onnx",
    "tests/data/onnx/torch_gates.onnx",
    "tests/data/onnx/keras_nhwc.onnx",
    "tests/data/onnx/segment.onnx",
    "tests/data/onnx/outputs.onnx",
    "tests/data/onnx/one_channel.onnx",
    "tests/data/onnx/whole.onnx",
    "tests/data/onnx/normals.onnx",
    "tests/data/onnx/external.onnx",
    "tests/data/onnx/opset_07.onnx",
    "tests/data/onnx/old_01.onnx",
};

static int64_t count(const struct vbs_network *network, int k, int f, int what)
{
    return vbs_parameter_count(network, k, f, (enum vbs_parameter)what);
}

/* Gives the number of parameters of layer k that are weights, without running statistics. */
static int64_t count_learned(const struct vbs_network *network, int k)
{
    int64_t n = 0;

    for (int f = -1; f < network->layers[k].n_fused; f++)
        for (int what = 0; what < VBS_N_PARAMETERS; what++)
            if (what != VBS_PARAMETER_MEAN && what != VBS_PARAMETER_VARIANCE)
                n += count(network, k, f, what);
    return n;
}

static bool same_structure(const struct vbs_network *a, const struct vbs_network *b)
{
    bool same = vbs_network_plain_hash(a) == vbs_network_hash(b) && a->whole == b->whole &&
                strcmp(a->name, b->name) == 0 && strcmp(a->about, b->about) == 0 &&
                a->n_outputs == b->n_outputs &&
                vbs_network_parameters(a) == vbs_network_parameters(b);

    for (int i = 0; same && i < a->n_outputs; i++)
        same = a->outputs[i].layer == b->outputs[i].layer &&
               strcmp(a->outputs[i].name, b->outputs[i].name) == 0 &&
               vbs_shape_equal(&a->outputs[i].shape, &b->outputs[i].shape);
    for (int k = 1; same && k <= a->n_layers; k++) {
        same = strcmp(a->layers[k].name, b->layers[k].name) == 0 && !vbs_network_coded(b, k);
        for (int f = 0; same && f < a->layers[k].n_fused; f++)
            same = strcmp(a->layers[k].fused[f].name, b->layers[k].fused[f].name) == 0;
    }
    return same;
}

/* Counts the parameters in which two networks differ. */
static int n_different(const struct vbs_network *a, const struct vbs_network *b)
{
    int n = 0;

    for (int k = 1; k <= a->n_layers; k++)
        for (int f = -1; f < a->layers[k].n_fused; f++)
            for (int what = 0; what < VBS_N_PARAMETERS; what++) {
                float *left = parameter_values(a, k, f, what),
                      *right = parameter_values(b, k, f, what);
                size_t bytes = (size_t)count(a, k, f, what) * sizeof *left;

                n += !left || !right || memcmp(left, right, bytes) != 0;
                free(left);
                free(right);
            }
    return n;
}

/* All parameters of a network, with new values for every second one. */
struct changes {
    struct vbs_new_values *values; /* all of them */
    struct vbs_new_values *given;  /* every second one */
    float **memory;                /* [n] */
    int n, n_given;
};

static void free_changes(struct changes *changes)
{
    for (int i = 0; i < changes->n; i++)
        free(changes->memory[i]);
    free(changes->memory);
    free(changes->values);
    free(changes->given);
}

static bool make_changes(const struct vbs_network *network, struct changes *changes)
{
    size_t most = 0;

    for (int k = 1; k <= network->n_layers; k++)
        most += (size_t)(1 + network->layers[k].n_fused) * VBS_N_PARAMETERS;
    changes->values = calloc(most, sizeof *changes->values);
    changes->given = calloc(most, sizeof *changes->given);
    changes->memory = calloc(most, sizeof *changes->memory);
    if (!changes->values || !changes->given || !changes->memory)
        return false;
    for (int k = network->n_layers; k >= 1; k--)
        for (int f = -1; f < network->layers[k].n_fused; f++)
            for (int what = 0; what < VBS_N_PARAMETERS; what++) {
                int64_t n = count(network, k, f, what);
                float *values = n > 0 ? malloc((size_t)n * sizeof *values) : NULL;

                if (!values)
                    continue;
                changes->memory[changes->n] = values;
                vbs_tensor_values(5000 + changes->n, 0, n, values);
                changes->values[changes->n] =
                    (struct vbs_new_values){k, f, (enum vbs_parameter)what, n, values};
                if (changes->n % 2 == 0)
                    changes->given[changes->n_given++] = changes->values[changes->n];
                changes->n++;
            }
    return true;
}

/* Counts the parameters that are not the new ones, where there are new ones, or else the old
 * ones. */
static int n_wrong(const struct vbs_network *before, const struct vbs_network *after,
                   const struct changes *changes)
{
    int wrong = 0;

    for (int i = 0; i < changes->n; i++) {
        const struct vbs_new_values *v = &changes->values[i];
        float *got = parameter_values(after, v->layer, v->fused, (int)v->what);
        float *old = parameter_values(before, v->layer, v->fused, (int)v->what);
        const float *want = i % 2 == 0 ? v->values : old;

        wrong += !got || !old || memcmp(got, want, (size_t)v->count * sizeof *got) != 0;
        free(got);
        free(old);
    }
    return wrong;
}

static void check_network(const char *name, const struct vbs_network *network, void *self)
{
    struct vbs_ctx ctx = {0};
    struct changes changes = {0};
    struct vbs_network *copy = NULL, *changed = NULL, *again = NULL;
    int n_counts = 0;

    (void)self;
    for (int k = 1; k <= network->n_layers; k++)
        n_counts += count_learned(network, k) != network->layers[k].parameters;
    is_int(n_counts, 0, name);
    if (!make_changes(network, &changes))
        bail_out("no memory");
    ok(vbs_network_revalue(&ctx, network, NULL, 0, &copy) == VBS_OK &&
           vbs_network_revalue(&ctx, network, changes.given, changes.n_given, &changed) == VBS_OK &&
           vbs_network_revalue(&ctx, changed, NULL, 0, &again) == VBS_OK,
       "%s is copied, with %d of %d parameters changed (%s)", name, changes.n_given, changes.n,
       vbs_detail(&ctx));
    if (copy && changed && again) {
        ok(same_structure(network, copy) && same_structure(network, changed),
           "... the same network");
        is_int(n_different(network, copy), 0, "... with the same parameters");
        is_int(n_wrong(network, changed, &changes), 0, "... or with the new ones and the old ones");
        is_int(n_different(changed, again), 0, "... a copy of the copy has the same");
        is_int(vbs_network_stored(changed), changes.n, "... all in memory");
    }
    free_changes(&changes);
    vbs_network_free(copy);
    vbs_network_free(changed);
    vbs_network_free(again);
}

/* Coded weights become plain ones, also when their file is gone. */
static void check_coded(const char *name, const struct vbs_network *network, void *self)
{
    ok(vbs_network_hash(network) != vbs_network_plain_hash(network), "weights are coded");
    check_network(name, network, self);
}

/* ---- refusals ---- */

static const char TEXT[] = "model tiny\ninput 3x4x4\nconv c out=2 kernel=3\nbatchnorm b\nrelu r\n"
                           "conv d out=2 kernel=1 bias=no\n";

static const float ONES[54] = {1, 1, 1, 1};
static const float BAD[2] = {0, NAN}, HUGE_VALUES[2] = {INFINITY, 0};

static const struct {
    const char *name;
    struct vbs_new_values values[2];
    int n;
    const char *detail;
} WRONG[] = {
    {"a layer below 1",
     {{0, -1, VBS_PARAMETER_BIAS, 2, ONES}},
     1,
     "there is no layer 0; the network has 2 layers"},
    {"a layer behind the last",
     {{3, -1, VBS_PARAMETER_BIAS, 2, ONES}},
     1,
     "there is no layer 3; the network has 2 layers"},
    {"a fused operator that is not there",
     {{1, 2, VBS_PARAMETER_GAMMA, 2, ONES}},
     1,
     "layer 1 'c' has no fused operator 2; it has 2 of them"},
    {"a parameter that the operator does not have",
     {{2, -1, VBS_PARAMETER_BIAS, 2, ONES}},
     1,
     "layer 2 'd', bias: the operator has no such parameter"},
    {"a parameter that the fused operator does not have",
     {{1, 1, VBS_PARAMETER_GAMMA, 2, ONES}},
     1,
     "layer 1 'r', gamma: the operator has no such parameter"},
    {"weights of a fused operator",
     {{1, 0, VBS_PARAMETER_WEIGHTS, 2, ONES}},
     1,
     "layer 1 'b', weights: the operator has no such parameter"},
    {"no parameter",
     {{1, -1, VBS_N_PARAMETERS, 2, ONES}},
     1,
     "layer 1 'c', parameter: the operator has no such parameter"},
    {"another count",
     {{1, -1, VBS_PARAMETER_WEIGHTS, 53, ONES}},
     1,
     "layer 1 'c', weights: 53 values are given; the parameter has 54"},
    {"a value that is no number",
     {{1, -1, VBS_PARAMETER_BIAS, 2, BAD}},
     1,
     "layer 1 'c', bias: value 1 is no number"},
    {"an infinite value",
     {{1, 0, VBS_PARAMETER_VARIANCE, 2, HUGE_VALUES}},
     1,
     "layer 1 'b', variance: value 0 is infinite"},
    {"one parameter twice",
     {{1, -1, VBS_PARAMETER_BIAS, 2, ONES}, {1, -5, VBS_PARAMETER_BIAS, 2, ONES}},
     2,
     "layer 1 'c', bias: the parameter is given twice"},
};

static void check_refusals(void)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL, *copy = NULL;
    volatile sig_atomic_t stop = 1;

    if (vbs_network_parse(&ctx, "tiny.net", TEXT, strlen(TEXT), NULL, &network) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    for (size_t i = 0; i < sizeof WRONG / sizeof WRONG[0]; i++) {
        is_int(vbs_network_revalue(&ctx, network, WRONG[i].values, WRONG[i].n, &copy), VBS_USAGE,
               WRONG[i].name);
        is_str(vbs_detail(&ctx), WRONG[i].detail, "... is refused");
    }
    vbs_ctx_set_cancel(&ctx, &stop);
    is_int(vbs_network_revalue(&ctx, network, NULL, 0, &copy), VBS_INTERRUPTED,
           "copying stops on request");
    ok(!copy, "no copy was made");
    is_int(vbs_parameter_count(network, 3, -1, VBS_PARAMETER_WEIGHTS), 0,
           "a layer that is not there has no parameters");
    is_int(vbs_parameter_count(network, 1, 2, VBS_PARAMETER_GAMMA), 0,
           "neither has a fused operator that is not there");
    vbs_network_free(network);
}

int main(void)
{
    each_model(MODELS, sizeof MODELS / sizeof MODELS[0], check_network, NULL);
    each_backend_case(check_network, NULL);
    each_operator_case(check_network, NULL);
    one_with_coded_weights(check_coded, NULL);
    check_refusals();
    return done_testing();
}
