/* What is read from a written ONNX file computes the same as the network that was written, to the
 * bit: the cases of operators and of backends. */
#include "vbslab/vbslab.h"

#include "cases/backend_cases.h"
#include "eval/runner.h"
#include "support/bail_out.h"
#include "support/tap.h"

#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/t_exported.XXXXXX.onnx";

/* Computes the first output of a batch of values between low and high; the caller frees it. Null:
 * there is a failure, which is printed. */
static float *compute(const struct vbs_network *network, float low, float high, int64_t *n)
{
    int batch = network->whole ? 1 : 2;
    int64_t n_inputs = batch * vbs_shape_elements(&network->input);
    float *inputs = malloc((size_t)n_inputs * sizeof *inputs), *outputs = NULL;
    const struct vbs_backend *backend;
    struct vbs_runner runner = {.batch = 0};
    struct vbs_ctx ctx = {0};
    enum vbs_status status = vbs_backend_find(&ctx, "onednn", &backend);

    *n = batch * vbs_shape_elements(&network->outputs[0].shape);
    outputs = calloc((size_t)*n, sizeof *outputs);
    if (!inputs || !outputs)
        bail_out("out of memory");
    vbs_tensor_values(1, 0, n_inputs, inputs);
    for (int64_t i = 0; i < n_inputs; i++)
        inputs[i] = low + (high - low) * (inputs[i] + 1) / 2;
    if (status == VBS_OK)
        status = vbs_runner_open(&ctx, network, backend, batch, 1, &runner);
    if (status == VBS_OK)
        status = vbs_runner_run(&ctx, &runner, batch, inputs, outputs);
    vbs_runner_clear(&runner);
    free(inputs);
    if (status == VBS_OK)
        return outputs;
    printf("# %s\n", vbs_detail(&ctx));
    free(outputs);
    return NULL;
}

/* Gives whether the network was read as itself; if so, its outputs are compared. */
static bool check_network(const char *name, const struct vbs_network *network, float low,
                          float high)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *loaded = NULL;
    float *want, *got;
    int64_t n, m;

    if (vbs_network_export(&ctx, network, path) != VBS_OK ||
        vbs_network_load(&ctx, path, NULL, &loaded) != VBS_OK) {
        ok(false, "%s: %s", name, vbs_detail(&ctx));
        return false;
    }
    if (vbs_network_hash(loaded) != vbs_network_plain_hash(network)) {
        vbs_network_free(loaded);
        return false;
    }
    want = compute(network, low, high, &n);
    got = compute(loaded, low, high, &m);
    ok(want && got && n == m && memcmp(want, got, (size_t)n * sizeof *want) == 0,
       "%s computes %lld equal values behind its file", name, (long long)n);
    free(want);
    free(got);
    vbs_network_free(loaded);
    return true;
}

static void check_backend_cases(void)
{
    struct vbs_ctx ctx = {0};

    for (const struct backend_case *c = backend_cases; c->name; c++) {
        struct vbs_network *network = NULL;

        if (backend_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        (void)check_network(c->name, network, -1, 1);
        vbs_network_free(network);
    }
}

static void check_operator_cases(void)
{
    struct vbs_ctx ctx = {0};
    const struct operator_case *c;
    int n_run = 0, n_tried = 0;

    for (int i = 0; (c = operator_case_at(i)); i++) {
        bool ranged = c->low != 0 || c->high != 0;
        struct vbs_network *network = NULL;

        if (operator_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        if (network->input.n_dims < VBS_MAX_DIMS) {
            n_tried++;
            n_run += check_network(c->name, network, ranged ? c->low : -1, ranged ? c->high : 1);
        }
        vbs_network_free(network);
    }
    ok(n_run * 10 >= n_tried * 8, "%d of %d cases of operators are run", n_run, n_tried);
}

int main(void)
{
    int file = mkstemps(path, 5);

    check_backend_cases();
    check_operator_cases();
    close(file);
    unlink(path);
    return done_testing();
}
