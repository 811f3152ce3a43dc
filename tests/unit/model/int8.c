/*
 * Networks in which factors of channels are folded into weights; copies with more outputs; and
 * networks that are written with whole numbers of 8 bits: what is read has the values for which the
 * numbers stand, and rounds where the table says so.
 */
#include "vbslab/model.h"

#include "support/bail_out.h"
#include "support/model_help.h"
#include "support/tap.h"

#include "model/network/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char TEXT[] = "model folds\n"
                           "input 4x6x6\n"
                           "conv a out=6 kernel=3 pad=1 groups=2\n"
                           "batchnorm ab\n"
                           "scale as\n"
                           "relu ar\n"
                           "conv b out=6 kernel=1 bias=no\n"
                           "relu br\n"
                           "batchnorm bb\n"
                           "add s from=ar,bb\n"
                           "fc f out=5\n"
                           "dropout fd\n"
                           "softmax o\n";

static char path[] = "/tmp/t_int8.XXXXXX.onnx";

static float *values(const struct vbs_network *network, int layer, int fused,
                     enum vbs_parameter what, int64_t n)
{
    float *read = calloc((size_t)n, sizeof *read);
    struct vbs_ctx ctx = {0};

    if (!read || vbs_parameter_values(&ctx, network, layer, fused, what, 0, n, read) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    return read;
}

/* Gives the factor and the shift of BatchNorm and Scale of layer 1, by definition. */
static void line_of(const struct vbs_network *network, int c, double *factor, double *shift)
{
    float *gamma = values(network, 1, 0, VBS_PARAMETER_GAMMA, 6);
    float *beta = values(network, 1, 0, VBS_PARAMETER_BETA, 6);
    float *mean = values(network, 1, 0, VBS_PARAMETER_MEAN, 6);
    float *variance = values(network, 1, 0, VBS_PARAMETER_VARIANCE, 6);
    float *scale = values(network, 1, 1, VBS_PARAMETER_GAMMA, 6);
    float *offset = values(network, 1, 1, VBS_PARAMETER_BETA, 6);
    double root = sqrt((double)variance[c] + VBS_BATCHNORM_EPSILON);

    *factor = (double)gamma[c] / root * (double)scale[c];
    *shift = ((double)beta[c] - (double)mean[c] * (double)gamma[c] / root) * (double)scale[c] +
             (double)offset[c];
    free(gamma), free(beta), free(mean), free(variance), free(scale), free(offset);
}

static void check_fold(void)
{
    struct vbs_network *network = parse_network(TEXT), *folded = NULL, *again = NULL;
    struct vbs_ctx ctx = {0};
    float *before, *after, *bias, *was;
    int n_wrong = 0;

    if (vbs_network_fold(&ctx, network, &folded) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    is_int(folded->layers[1].n_fused, 1, "BatchNorm and Scale behind a convolution are gone");
    ok(folded->layers[2].n_fused == 2 && folded->layers[2].fused[1].op == VBS_OP_BATCHNORM,
       "... a BatchNorm behind a ReLU stays");
    ok(folded->layers[4].n_fused == 0 && folded->n_layers == 5, "... a dropout is gone");
    before = values(network, 1, -1, VBS_PARAMETER_WEIGHTS, 6 * 2 * 9);
    after = values(folded, 1, -1, VBS_PARAMETER_WEIGHTS, 6 * 2 * 9);
    was = values(network, 1, -1, VBS_PARAMETER_BIAS, 6);
    bias = values(folded, 1, -1, VBS_PARAMETER_BIAS, 6);
    for (int c = 0; c < 6; c++) {
        double factor, shift;

        line_of(network, c, &factor, &shift);
        for (int i = c * 18; i < c * 18 + 18; i++)
            n_wrong += fabs((double)after[i] - factor * (double)before[i]) > 1e-6;
        n_wrong += fabs((double)bias[c] - (factor * (double)was[c] + shift)) > 1e-6;
    }
    is_int(n_wrong, 0, "weights and biases have their factors");
    ok(vbs_network_fold(&ctx, folded, &again) == VBS_OK && !again, "there is nothing left to fold");
    free(before), free(after), free(was), free(bias);
    vbs_network_free(folded);
    vbs_network_free(network);
}

static void check_tap(void)
{
    struct vbs_network *network = parse_network(TEXT), *tapped = NULL;
    bool *wanted = calloc((size_t)vbs_network_operators(network), sizeof *wanted);
    struct vbs_ctx ctx = {0};

    is_int(vbs_network_operators(network), 12, "operators are counted");
    is_int(vbs_network_operator(network, 2, 1), 7, "... and numbered");
    if (!wanted)
        bail_out("no memory");
    wanted[vbs_network_operator(network, 2, -1)] = true;
    wanted[vbs_network_operator(network, 2, 1)] = true;
    if (vbs_network_tap(&ctx, network, wanted, &tapped) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    is_int(tapped->n_layers, network->n_layers + 2, "a value inside a layer divides it in two");
    ok(tapped->n_outputs == 2 && strcmp(tapped->outputs[0].name, network->outputs[0].name) == 0,
       "... and is one more output, behind those of the network");
    ok(strcmp(tapped->layers[2].name, "b") == 0 && tapped->layers[2].n_fused == 0 &&
           tapped->layers[4].op == VBS_OP_RELU && tapped->layers[4].n_fused == 1,
       "... the operators behind it are a layer");
    free(wanted);
    vbs_network_free(tapped);
    vbs_network_free(network);
}

/* ---- files ---- */

static const char SMALL[] = "model small\n"
                            "input 2x4x4\n"
                            "conv a out=3 kernel=3 pad=1\n"
                            "relu ar\n"
                            "fc f out=2\n";

/* A table for SMALL. */
struct small_table {
    struct vbs_int8_value values[4];
    struct vbs_int8_weights weights[2];
    int8_t conv[54], fc[96];
    int32_t bias[3];
    float scales[3];
    struct vbs_int8_table table;
};

static void make_table(struct small_table *t)
{
    *t = (struct small_table){.scales = {0.5F, 0.25F, 0.125F}, .bias = {100, -7, 70000}};
    t->values[0] = (struct vbs_int8_value){0.01F, 128};
    t->values[2] = (struct vbs_int8_value){0.02F, 3};
    for (int i = 0; i < 54; i++)
        t->conv[i] = (int8_t)(i * 5 % 255 - 127);
    for (int i = 0; i < 96; i++)
        t->fc[i] = (int8_t)(i - 48);
    t->weights[0] = (struct vbs_int8_weights){1, t->conv, t->scales, 3, t->bias};
    t->weights[1] = (struct vbs_int8_weights){2, t->fc, t->scales, 1, NULL};
    t->table = (struct vbs_int8_table){false, t->values, t->weights, 2};
}

static int count_op(const struct vbs_layer *l, enum vbs_op op)
{
    int n = 0;

    for (int f = 0; f < l->n_fused; f++)
        n += l->fused[f].op == op;
    return n;
}

static void check_read(const struct vbs_network *network, const struct small_table *t)
{
    int last = network->n_layers, conv = last - 1, n_wrong = 0;
    float *weights = values(network, conv, -1, VBS_PARAMETER_WEIGHTS, 54);
    float *bias = values(network, conv, -1, VBS_PARAMETER_BIAS, 3);
    float *fc = values(network, last, -1, VBS_PARAMETER_WEIGHTS, 96);

    for (int i = 0; i < 54; i++)
        n_wrong += weights[i] != (float)t->conv[i] * t->scales[i / 18];
    is_int(n_wrong, 0, "the weights that are read are those of the table");
    for (int c = 0; c < 3; c++)
        n_wrong += fabsf(bias[c] / ((float)t->bias[c] * 0.01F * t->scales[c]) - 1) > 1e-6F;
    is_int(n_wrong, 0, "... biases too, in steps of both scales");
    for (int i = 0; i < 96; i++)
        n_wrong += fc[i] != (float)t->fc[i] * 0.5F;
    is_int(n_wrong, 0, "... and weights with one scale");
    ok(network->layers[conv].fused[0].op == VBS_OP_RELU &&
           count_op(&network->layers[conv], VBS_OP_ROUND) == 1 &&
           count_op(&network->layers[conv], VBS_OP_CLIP) == 1,
       "what a layer makes is rounded behind its ReLU");
    is_int(network->layers[last].n_fused, 0, "what stays in floats is not rounded");
    free(weights), free(bias), free(fc);
}

static void check_write(void)
{
    struct vbs_network *network = parse_network(SMALL), *loaded = NULL;
    struct vbs_ctx ctx = {0};
    struct small_table t;

    make_table(&t);
    if (vbs_network_export_int8(&ctx, network, &t.table, path) != VBS_OK ||
        vbs_network_load_as(&ctx, path, NULL, 0, VBS_PRECISION_FP32, &loaded) != VBS_OK)
        bail_out("%s", vbs_detail(&ctx));
    check_read(loaded, &t);
    ok(vbs_shape_elements(&loaded->outputs[0].shape) == 2, "the output is the network's");
    vbs_network_free(loaded);
    vbs_network_free(network);
}

static void refuse(const struct vbs_network *network, const struct small_table *t, const char *what)
{
    struct vbs_ctx ctx = {0};
    enum vbs_status status;

    unlink(path);
    status = vbs_network_export_int8(&ctx, network, &t->table, path);
    ok(status == VBS_USAGE && access(path, F_OK) != 0, "%s: %s", what, vbs_detail(&ctx));
}

static void check_refusals(void)
{
    struct vbs_network *network = parse_network(SMALL);
    struct small_table t;

    make_table(&t);
    t.weights[0].n_scales = 2;
    refuse(network, &t, "two scales for three channels are refused");
    make_table(&t);
    t.weights[1].layer = 3;
    refuse(network, &t, "weights of a layer that is not there are refused");
    make_table(&t);
    t.weights[1].layer = 1;
    refuse(network, &t, "weights that are given twice are refused");
    make_table(&t);
    t.values[0].scale = 0;
    refuse(network, &t, "a bias in steps of an input that has none is refused");
    vbs_network_free(network);
}

int main(void)
{
    int file = mkstemps(path, 5);

    check_fold();
    check_tap();
    check_write();
    check_refusals();
    close(file);
    unlink(path);
    return done_testing();
}
