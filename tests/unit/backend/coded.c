/*
 * Layers that the onednn backend computes from coded weights: every kernel for every case computes
 * what the definition says with the decoded weights, stays within its workspace and keeps padding
 * zero, in each form, with the session's own weights and with given ones. Each form is a packed
 * weight format of its own.
 */
#include "support/backend_bench.h"
#include "support/tap.h"
#include "support/vbz_help.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct vbz_recipe ANY_FORM = {0.4, 5, {VBS_CODING_JOINT, 4, 16, 32}, true};
static const struct vbz_recipe SAME_BLOCKS = {0.4, 5, {VBS_CODING_JOINT, 4, 64, 2048}, true};
static const struct vbz_recipe COMP = {0.2, 8, {VBS_CODING_COMP, 3, 7, 19}, false};
static const struct vbz_recipe MANY_VALUES = {0.9, 9, {VBS_CODING_COMP, 5, 64, 64}, true};
static const struct vbz_recipe DENSE = {1, 4, {VBS_CODING_BYTES, 8, 5, 700}, false};

static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name) && detail)
        printf("# %s\n", detail);
}

/* Makes the network of a case with coded weights; null where this fails. */
static struct vbs_network *coded_case(const struct backend_case *c, const struct vbz_recipe *recipe)
{
    struct vbs_network *plain = NULL;

    return backend_case_network(NULL, c, &plain) == VBS_OK ? vbz_coded(plain, recipe) : NULL;
}

/* Gives whether a layer of the case has a matrix: pools and the like have nothing to code. */
static bool has_weights(const struct backend_case *c)
{
    return strstr(c->text, "conv ") || strstr(c->text, "fc ");
}

static void check_kernels(const struct vbz_recipe *recipe, const char *const *algorithms,
                          bool given)
{
    for (const struct backend_case *c = backend_cases; c->name; c++)
        if (has_weights(c))
            bench_check_coded(c->name, coded_case(c, recipe), algorithms, given, report);
}

/* ---- which kernels there are ---- */

static struct vbs_session *open_case(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_requested_kernel *requested, int n)
{
    struct vbs_session *session = NULL;
    enum vbs_status status = bench_session(ctx, network, requested, n, &session);

    if (status != VBS_OK)
        printf("# %s\n", vbs_detail(ctx));
    return session;
}

/* Gives the kernel of an algorithm of a layer at a batch; -1: there is none. */
static int find_kernel(const struct vbs_session *s, int layer, int batch, const char *algorithm)
{
    for (int i = 0; i < s->n_kernels; i++)
        if (s->kernels[i].layer == layer && s->kernels[i].batch == batch &&
            strcmp(s->kernels[i].algorithm, algorithm) == 0)
            return i;
    return -1;
}

/* Gives how many algorithms of layer 1 at batch 1 compute from coded weights. */
static int count_coded(const struct vbs_session *s)
{
    int n = 0;

    for (int i = 0; i < s->n_kernels; i++)
        n += s->kernels[i].layer == 1 && s->kernels[i].batch == 1 &&
             vbs_algorithm_is_coded(s->kernels[i].algorithm);
    return n;
}

static void test_choice(const struct vbz_recipe *recipe, const char *const *algorithms, int n)
{
    struct vbs_network *network = coded_case(backend_case("fc"), recipe);
    struct vbs_ctx ctx = {0};
    struct vbs_session *s = network ? open_case(&ctx, network, NULL, 0) : NULL;

    ok(s && count_coded(s) == n, "%d algorithms compute from coded weights", n);
    for (int i = 0; i < n; i++)
        ok(s && find_kernel(s, 1, 1, algorithms[i]) >= 0, "%s is one", algorithms[i]);
    if (s)
        s->ops->close(s);
    vbs_network_free(network);
}

/* ---- packed weights ---- */

/* Runs a kernel on seeded samples with given weights, or the session's own (null). */
static float *run_kernel(struct vbs_ctx *ctx, struct vbs_session *s, int kernel,
                         const void *weights)
{
    const struct vbs_kernel *k = &s->kernels[kernel];
    void *src = s->ops->alloc(s, k->batch * s->layers[0].out_bytes);
    float *dst = s->ops->alloc(s, k->batch * s->layers[k->layer].out_bytes);
    void *ws = s->ops->alloc(s, k->ws_bytes + 1);
    const void *sources[] = {src};
    const struct vbs_operands operands = {.src = sources, .dst = dst, .ws = ws, .weights = weights};
    double time_us;

    if (s->ops->fill(ctx, s, 0, k->batch, src) != VBS_OK ||
        s->ops->run(ctx, s, kernel, &operands, &time_us) != VBS_OK) {
        s->ops->free(s, dst);
        dst = NULL;
    }
    s->ops->free(s, src);
    s->ops->free(s, ws);
    return dst;
}

/* Packed weights are the bytes of the coded weights, and a run that is given them at another
 * address writes the same. */
static void test_packed(void)
{
    struct vbs_network *network = coded_case(backend_case("fc on blocked channels"), &SAME_BLOCKS);
    struct vbs_ctx ctx = {0};
    struct vbs_session *s = network ? open_case(&ctx, network, NULL, 0) : NULL;
    int joint = s ? find_kernel(s, 1, 2, "joint:sparse") : -1;
    int gemm = s ? find_kernel(s, 1, 1, "joint:gemm") : -1;
    int bytes = s ? find_kernel(s, 1, 2, "bytes:sparse") : -1;
    size_t n_bytes = 0, n;
    const void *coded;
    double worst = 0;
    float *own, *given, *other;
    void *weights;

    if (!ok(joint >= 0 && gemm >= 0 && bytes >= 0, "joint and bytes are offered"))
        goto done;
    coded = vbs_coded_bytes(vbs_network_coded(network, 1), &n_bytes);
    ok(s->kernels[joint].packed_bytes == (int64_t)n_bytes, "packed weights are the coded bytes");
    ok(s->kernels[joint].format == s->kernels[gemm].format &&
           s->kernels[joint].format != s->kernels[bytes].format,
       "a form is a format, whatever the method");
    weights = s->ops->alloc(s, (int64_t)n_bytes);
    ok(s->ops->pack(&ctx, s, joint, weights) == VBS_OK && memcmp(weights, coded, n_bytes) == 0,
       "and are packed as they are");
    own = run_kernel(&ctx, s, joint, NULL);
    given = run_kernel(&ctx, s, joint, weights);
    other = run_kernel(&ctx, s, bytes, NULL);
    n = 2 * (size_t)s->layers[1].out_bytes;
    ok(own && given && memcmp(own, given, n) == 0, "given weights lead to the same bits");
    for (size_t i = 0; own && other && i < n / sizeof *own; i++)
        worst = fmax(worst, fabs((double)own[i] - other[i]) / (1 + fabs((double)own[i])));
    ok(own && other && worst <= 1e-5, "the other form adds the same products in another order");
    s->ops->free(s, weights);
    s->ops->free(s, own);
    s->ops->free(s, given);
    s->ops->free(s, other);
done:
    if (s)
        s->ops->close(s);
    vbs_network_free(network);
}

/* A requested kernel is the one of its name, also where the form has to be made for it. */
static void test_requested(void)
{
    struct vbs_network *network = coded_case(backend_case("fc on blocked channels"), &ANY_FORM);
    struct vbs_requested_kernel requested[] = {
        {.layer = 1, .batch = 2, .algorithm = "bytes:sparse"},
        {.layer = 1, .batch = 1, .algorithm = "bytes:gemm"}};
    struct vbs_ctx ctx = {0};
    struct vbs_session *s = network ? open_case(&ctx, network, requested, 2) : NULL;

    ok(s && s->n_kernels == 2 && strcmp(s->kernels[0].algorithm, "bytes:sparse") == 0 &&
           strcmp(s->kernels[1].algorithm, "bytes:gemm") == 0,
       "requested kernels are made alone");
    if (s)
        s->ops->close(s);
    requested[0].algorithm = "comp:sparse";
    s = network ? open_case(&ctx, network, requested, 1) : NULL;
    ok(!s && strstr(vbs_detail(&ctx), "comp:sparse"), "one that is not offered is named");
    vbs_network_free(network);
}

int main(int argc, char **argv)
{
    static const char *const any[] = {"bytes:sparse", "joint:sparse", "bytes:gemm", "joint:gemm",
                                      NULL};
    static const char *const comp[] = {"comp:sparse", "comp:gemm", NULL};
    static const char *const many[] = {"comp:gemm", "bytes:gemm", NULL};
    static const char *const bytes[] = {"bytes:sparse", "bytes:gemm", NULL};

    test_choice(&ANY_FORM, any, 4);
    test_choice(&COMP, comp, 2);
    test_choice(&MANY_VALUES, many, 2);
    test_packed();
    test_requested();
    check_kernels(&ANY_FORM, any, false);
    check_kernels(&COMP, comp, true);
    check_kernels(&MANY_VALUES, many, false);
    check_kernels(&DENSE, bytes, true);
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
