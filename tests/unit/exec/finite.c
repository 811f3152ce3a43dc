/*
 * Numbers that are not finite: an executor that looks for them names the first layer that makes
 * one, and what the library computes by itself passes on what is no number.
 */
#include "vbslab/exec.h"
#include "vbslab/simple.h"

#include "cases/onnx_bytes.h"
#include "support/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FLOAT 1
#define SIZE  6 /* of the input */

static char path[] = "/tmp/t_exec_finite.XXXXXX.onnx";

/* Makes a network of nodes of one input each: "Op input output", separated by semicolons; the
 * output y is the network's. */
static struct vbs_network *network_of(const char *nodes)
{
    struct bytes graph = {0}, value = onnx_value("x", FLOAT, 2, (int64_t[]){0, SIZE}), model;
    struct vbs_network *network = NULL;
    struct vbs_ctx ctx = {0};
    char text[400], *rest = text, *node;

    bytes_put(&graph, ONNX_INPUT, &value);
    value = onnx_value("y", FLOAT, 0, NULL);
    bytes_put(&graph, ONNX_OUTPUT, &value);
    onnx_add_tensor(&graph, onnx_floats("huge", 3e38f, 1, (int64_t[]){SIZE}));
    onnx_add_tensor(&graph, onnx_floats("w", 1, 2, (int64_t[]){SIZE, SIZE}));
    strcpy(text, nodes);
    while ((node = strsep(&rest, ";"))) {
        char *op = strsep(&node, " "), *input = strsep(&node, " ");
        char inputs[40];

        snprintf(inputs, sizeof inputs, "%s", input);
        for (char *c = inputs; *c; c++)
            *c = *c == ',' ? ' ' : *c;
        onnx_add_node(&graph, onnx_node(op, inputs, node));
    }
    model = onnx_model(17, &graph);
    if (!bytes_write(&model, path) || vbs_network_load(&ctx, path, NULL, &network) != VBS_OK)
        bail_out("no network: %s", vbs_detail(&ctx));
    bytes_clear(&model);
    return network;
}

/* Runs the network on a sample. *said: what the context says. */
static enum vbs_status run(const char *nodes, const float *x, bool check, float *y,
                           char said[VBS_DETAIL_SIZE])
{
    static const int BATCHES[] = {1};
    struct vbs_simple_options simple = {.struct_size = sizeof simple,
                                        .request = 1,
                                        .memory_bytes = 1 << 20,
                                        .threads = 1,
                                        .batches = BATCHES,
                                        .n_batches = 1,
                                        .time_limit_s = 0.05};
    const struct vbs_exec_options options = {.struct_size = sizeof options,
                                             .threads = 1,
                                             .memory_bytes = 1 << 20,
                                             .check_finite = check};
    struct vbs_network *network = network_of(nodes);
    struct vbs_profile *profile = NULL;
    struct vbs_schedule *schedule = NULL;
    const struct vbs_backend *backend;
    struct vbs_exec *exec = NULL;
    struct vbs_exec_report report;
    struct vbs_ctx ctx = {0};
    float *outputs[] = {y};
    enum vbs_status status;

    if (vbs_simple_measure(&ctx, network, &simple, &profile) != VBS_OK ||
        vbs_simple_plan(&ctx, profile, &simple, &schedule) != VBS_OK ||
        vbs_backend_find(&ctx, "onednn", &backend) != VBS_OK ||
        vbs_exec_new(&ctx, network, backend, profile, schedule, &options, NULL, &exec) != VBS_OK)
        bail_out("no executor: %s", vbs_detail(&ctx));
    status = vbs_exec_run(&ctx, exec, x, outputs, &report);
    strcpy(said, vbs_detail(&ctx));
    vbs_exec_free(exec);
    vbs_schedule_free(schedule);
    vbs_profile_free(profile);
    vbs_network_free(network);
    return status;
}

/* Checks that the layer of a node, or none where it is null, is the first one that is not finite.
 */
static void names(const char *nodes, const float *x, const char *layer)
{
    char said[VBS_DETAIL_SIZE], want[100];
    float y[SIZE];
    enum vbs_status status = run(nodes, x, true, y, said);

    snprintf(want, sizeof want, "'%s' is the first one with numbers that are not finite",
             layer ? layer : "");
    ok(layer ? status == VBS_LIBRARY && strstr(said, want) : status == VBS_OK, "%s: %s", nodes,
       layer ? said : "all numbers are finite");
}

static void passes_on(const char *nodes, const float *x)
{
    char said[VBS_DETAIL_SIZE];
    float y[SIZE] = {0};

    ok(run(nodes, x, false, y, said) == VBS_OK && isnan(y[1]) && !isnan(y[0]),
       "%s: what is no number stays none", nodes);
}

int main(void)
{
    static const float X[SIZE] = {1, -1, 4, 9, 2, 3};
    int file = mkstemps(path, 5);

    if (file < 0 || close(file) != 0)
        return 1;
    names("Abs x a;Sqrt a s;MatMul s,w y", X, NULL);
    names("Abs x a;Log x s;Softmax a b;Add s,b y", X, "s");
    names("Softmax x a;Sqrt x s;MatMul s,w m;Add m,a y", X, "s");
    names("Mul x,huge y", X, "y");
    passes_on("Sqrt x s;Softmax x a;Add s,a b;Sign b y", X);
    unlink(path);
    return done_testing();
}
