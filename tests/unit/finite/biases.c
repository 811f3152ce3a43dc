/*
 * Infinite numbers in what layers add: every kernel that the onednn backend offers for the layers
 * of an ONNX file with such biases makes of finite inputs what the definition makes of them.
 */
#include "vbslab/vbslab.h"

#include "model/onnx/onnx.h"
#include "support/backend_bench.h"
#include "support/tap.h"

#include <math.h>
#include <string.h>

static void leave(const struct bench *t, int tensor, int64_t count, float *values)
{
    (void)t;
    (void)tensor;
    (void)count;
    (void)values;
}

/* Returns whether values are equal where the wanted ones are infinite or no numbers, and else as
 * near as those of usual biases. */
static bool judge(const struct bench *t, int kernel, const float *got, const float *want,
                  int64_t count)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    double most = 1, allowed = strstr(k->algorithm, "wino") ? 1e-4 : 1e-5;

    for (int64_t i = 0; i < count; i++)
        most = isfinite(want[i]) ? fmax(most, fabs((double)want[i])) : most;
    for (int64_t i = 0; i < count; i++) {
        bool same = got[i] == want[i] || (isnan(got[i]) && isnan(want[i]));

        if (!same && !(fabs((double)got[i] - want[i]) <= allowed * most)) {
            printf("# batch %d, value %lld: %g instead of %g; '%s'\n", k->batch, (long long)i,
                   (double)got[i], (double)want[i], vbs_op_word(t->network->layers[k->layer].op));
            return false;
        }
    }
    return true;
}

static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

/* Returns whether a layer has a parameter with an infinite value. */
static bool has_infinite(struct bench *t, int layer)
{
    static const enum vbs_parameter ADDED[] = {VBS_PARAMETER_BIAS, VBS_PARAMETER_BETA};
    float values[64];

    for (int i = 0; i < 2; i++) {
        int64_t n = vbs_parameter_count(t->network, layer, -1, ADDED[i]);

        if (n == 0 || n > 64 ||
            vbs_parameter_values(&t->ctx, t->network, layer, -1, ADDED[i], 0, n, values) != VBS_OK)
            continue;
        for (int64_t k = 0; k < n; k++)
            if (isinf(values[k]))
                return true;
    }
    return false;
}

static void check(const char *path, int n_layers, bool stripes)
{
    static const struct bench_hooks HOOKS = {leave, judge};
    struct bench t = {.name = path, .hooks = &HOOKS};
    bool made = vbs_onnx_load(&t.ctx, path, NULL, NULL, 0, &t.network) == VBS_OK;
    int n = 0;

    for (int k = 1; made && k <= t.network->n_layers; k++)
        n += has_infinite(&t, k);
    ok(n == n_layers, "%s: %d layers have infinite parameters", path, n);
    bench_check_kernels(&t, made && bench_open_few(&t, stripes), report);
}

int main(int argc, char **argv)
{
    for (int stripes = 0; stripes < 2; stripes++) {
        check("tests/data/onnx/infinite.onnx", 13, stripes);
        check("tests/data/onnx/masks.onnx", 3, stripes);
    }
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
