/*
 * The table of backends finds each backend by its name, seeded parameters are the same in whatever
 * portions they are read, and the analytic backend models the times of networks.
 */
#include "vbslab/vbslab.h"

#include "cases/backend_cases.h"
#include "support/profile_help.h"
#include "support/tap.h"

#include <stdlib.h>

/* ---- the table ---- */

static void check_table(void)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_backend *found = NULL;
    int n = 0;

    is_str(vbs_backend_at(0)->name, "onednn", "the default comes first");
    for (; vbs_backend_at(n); n++) {
        const struct vbs_backend *backend = vbs_backend_at(n);
        struct vbs_backend_info info;

        ok(vbs_backend_find(&ctx, backend->name, &found) == VBS_OK && found == backend,
           "'%s' is found by its name", backend->name);
        backend->probe(&info);
        ok(info.usable == (info.why[0] == '\0') && (info.library[0] != '\0') == info.built &&
               (info.device[0] != '\0') == info.usable,
           "'%s' says what it is and whether it can be used", backend->name);
    }
    ok(vbs_provenance_modelled(&(struct vbs_provenance){.backend = "analytic"}) &&
           !vbs_provenance_modelled(&(struct vbs_provenance){.backend = "onednn"}) &&
           !vbs_provenance_modelled(&(struct vbs_provenance){.backend = ""}) &&
           !vbs_provenance_modelled(&(struct vbs_provenance){0}),
       "a profile of the analytic backend is modelled, others are not");
    found = vbs_provenance_device(&(struct vbs_provenance){.backend = "cudnn"});
    ok(found && strcmp(found->name, "cudnn") == 0 &&
           !vbs_provenance_device(&(struct vbs_provenance){.backend = "onednn"}) &&
           !vbs_provenance_device(&(struct vbs_provenance){.backend = "other"}) &&
           !vbs_provenance_device(&(struct vbs_provenance){0}),
       "a profile of cudnn is of a device, others are not");
    ok(!vbs_backend_at(-1) && !vbs_backend_at(n + 1), "beyond the table there is none");
    found = NULL;
    ok(vbs_backend_find(&ctx, "onednm", &found) == VBS_NOT_FOUND && !found &&
           strstr(vbs_detail(&ctx), "'onednn'"),
       "a wrong name is answered with the nearest");
    ok(vbs_backend_find(NULL, "", &found) == VBS_NOT_FOUND, "an empty name is none");
}

/* ---- parameters ---- */

/* A network on a backend. */
struct bench {
    struct vbs_ctx ctx;
    struct vbs_network *network;
    struct vbs_session *session;
};

static bool open_on(struct bench *t, const char *backend, const char *text)
{
    static const int batches[] = {1, 2, 4, 8};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 4,
                                          .threads = 0};
    const struct vbs_backend *found;
    char model[8000];

    *t = (struct bench){0};
    snprintf(model, sizeof model, "model case\n%s", text);
    if (vbs_network_parse(&t->ctx, "case", model, strlen(model), NULL, &t->network) == VBS_OK &&
        vbs_backend_find(&t->ctx, backend, &found) == VBS_OK &&
        found->open(&t->ctx, t->network, &options, &t->session) == VBS_OK)
        return true;
    ok(false, "a session opens");
    printf("# %s\n", vbs_detail(&t->ctx));
    return false;
}

static void close_bench(struct bench *t)
{
    if (t->session)
        t->session->ops->close(t->session);
    vbs_network_free(t->network);
}

static double mean_square(const float *values, int n)
{
    double sum = 0;

    for (int i = 0; i < n; i++)
        sum += (double)values[i] * values[i];
    return sum / n;
}

static bool all_are(const float *values, int n, float value)
{
    for (int i = 0; i < n; i++)
        if (values[i] != value)
            return false;
    return true;
}

static void get(struct bench *t, int layer, int fused, enum vbs_parameter what, int64_t first,
                int64_t count, float *values)
{
    if (vbs_parameter_values(&t->ctx, t->network, layer, fused, what, first, count, values))
        ok(false, "parameters of layer %d: %s", layer, vbs_detail(&t->ctx));
}

static void check_parameters(void)
{
    enum { N = 100 * 90 };
    static float whole[N], part[N];
    struct bench t;

    if (!open_on(&t, "analytic",
                 "input 10x8x8\nconv c out=100 kernel=3\nbatchnorm b affine=no\nscale s bias=no\n"
                 "relu r\nconv d out=4 kernel=1 bias=no\nfc f out=5\n"))
        return;
    is_int(vbs_weight_count(t.network, 1), N, "weights of a convolution");
    is_int(vbs_weight_count(t.network, 3), 5 * 4 * 6 * 6, "weights of an inner product");
    get(&t, 1, -1, VBS_PARAMETER_WEIGHTS, 0, N, whole);
    get(&t, 1, -1, VBS_PARAMETER_WEIGHTS, 0, 13, part);
    get(&t, 1, -1, VBS_PARAMETER_WEIGHTS, 13, N - 13, part + 13);
    ok(memcmp(whole, part, sizeof whole) == 0, "values do not depend on how they are asked for");
    is_near(mean_square(whole, N), 2.0 / 90, 0.05 * 2 / 90, "He's variance before a ReLU");
    get(&t, 2, -1, VBS_PARAMETER_WEIGHTS, 0, 400, part);
    is_near(mean_square(part, 400), 1.0 / 100, 0.2 / 100, "half of it without");
    ok(memcmp(whole, part, 400 * sizeof *part) != 0, "layers differ");
    get(&t, 2, -1, VBS_PARAMETER_BIAS, 0, 4, part);
    ok(all_are(part, 4, 0), "a bias that is not there is 0");
    get(&t, 1, -1, VBS_PARAMETER_BIAS, 0, 100, part);
    ok(!all_are(part, 100, 0), "one that is there is not");
    get(&t, 1, 0, VBS_PARAMETER_GAMMA, 0, 100, part);
    ok(all_are(part, 100, 1), "a BatchNorm that is not affine has gamma 1");
    get(&t, 1, 0, VBS_PARAMETER_VARIANCE, 0, 100, part);
    ok(part[0] != part[1] && part[0] >= 0.5f && part[1] < 1.5f, "and variances");
    get(&t, 1, 1, VBS_PARAMETER_GAMMA, 0, 100, part);
    ok(part[0] != part[1] && part[0] >= 0.75f && part[1] < 1.25f, "a Scale has factors");
    get(&t, 1, 1, VBS_PARAMETER_BETA, 0, 100, part);
    ok(all_are(part, 100, 0), "and without bias no terms");
    close_bench(&t);
}

/* Checks single values, by which results of different machines are compared: splitmix64 computed by
 * other means, in units of 2^-23. */
static void check_values(void)
{
    static const double want[] = {-8221831, 2832332, 2580975};
    float values[3];

    vbs_tensor_values(0, 0, 3, values);
    for (int i = 0; i < 3; i++)
        ok(values[i] * 0x1p23 == want[i], "value %d of the input is the same everywhere", i);
}

/* ---- analytic ---- */

static const struct vbs_kernel *kernel_of(const struct bench *t, int layer, int batch,
                                          const char *algorithm, double *time_us)
{
    for (int i = 0; i < t->session->n_kernels; i++) {
        const struct vbs_kernel *k = &t->session->kernels[i];

        if (k->layer != layer || k->batch != batch || strcmp(k->algorithm, algorithm) != 0)
            continue;
        if (t->session->ops->run(NULL, t->session, i, &(struct vbs_operands){0}, time_us) == VBS_OK)
            return k;
    }
    return NULL;
}

static void check_formula(void)
{
    struct bench t;
    double us = 0, twice = 0, direct = 0, winograd = 0;
    const struct vbs_kernel *k;

    if (!open_on(&t, "analytic",
                 "input 64x8x8\nconv a out=512 kernel=1\nconv b out=512 kernel=3 pad=1\n"
                 "fc f out=1000\nconv c out=16 kernel=3 stride=2 from=a\n"))
        return;
    /* 32768 values: the device is two thirds full. 4194304 operations at 0.7 * 2/3 TFLOP/s. */
    k = kernel_of(&t, 1, 1, "gemm", &us);
    is_near(us, 8 + 4194304 / (1e6 * 0.7 * (2.0 / 3)), 1e-12,
            "compute-bound: operations over peak");
    is_int(k ? k->ws_bytes : -1, 0, "gemm needs no workspace");
    kernel_of(&t, 1, 2, "gemm", &twice);
    is_near(twice, 8 + 2 * 4194304 / (1e6 * 0.7 * 0.8), 1e-12, "a larger batch fills more");
    /* 512 * 64 * 1000 weights and 1000 biases, read once. */
    kernel_of(&t, 3, 1, "gemm", &us);
    is_near(us, 8 + (4.0 * (32768000 + 1000 + 32768 + 1000)) / 5e4, 1e-9,
            "memory-bound: bytes over bandwidth");
    kernel_of(&t, 3, 8, "gemm", &twice);
    ok(twice < 1.1 * us, "where eight samples cost little more than one");
    k = kernel_of(&t, 2, 2, "im2col-gemm", &us);
    is_int(k ? k->ws_bytes : -1, 2 * 4 * 512 * 9 * 64, "im2col unfolds the batch");
    kernel_of(&t, 2, 2, "direct", &direct);
    k = kernel_of(&t, 2, 2, "winograd", &winograd);
    is_int(k ? k->ws_bytes : -1, 2 * 4 * 16 * 16 * (512 + 512), "Winograd keeps its tiles");
    is_int(k ? k->weight_bytes : -1, 4 * (512 * 512 * 16 + 512), "and larger weights");
    ok(winograd < us && us < direct, "each pays with workspace for time");
    ok(!kernel_of(&t, 4, 1, "winograd", &us) && kernel_of(&t, 4, 1, "im2col-gemm", &us),
       "no Winograd with a stride");
    ok(t.session->modelled && t.session->provenance.threads == 0, "it says that it computes");
    close_bench(&t);
}

static void check_values_are_refused(void)
{
    struct bench t;
    float value = 0;

    if (!open_on(&t, "analytic", "input 4x4x4\nrelu r from=input\n"))
        return;
    ok(t.session->ops->read(&t.ctx, t.session, 0, 1, &value, &value) == VBS_UNSUPPORTED &&
           t.session->ops->write(&t.ctx, t.session, 0, 1, &value, &value) == VBS_UNSUPPORTED,
       "it has no values");
    close_bench(&t);
}

static bool reads(const struct bench *t, int layer, int n, const int *inputs)
{
    const struct vbs_profile_layer *l = &t->session->layers[layer];
    int64_t bytes = 0;

    for (int i = 0; i < l->n_inputs; i++)
        bytes += t->session->layers[l->inputs[i]].out_bytes;
    return l->n_inputs == n && memcmp(l->inputs, inputs, (size_t)n * sizeof *inputs) == 0 &&
           bytes == l->in_bytes;
}

static void check_concat(void)
{
    struct bench t;

    if (!open_on(&t, "analytic",
                 "input 4x4x4\nconv a out=8 kernel=1\nconv b out=8 kernel=1 from=input\n"
                 "concat x from=a,b\nconv c out=4 kernel=1\nconcat y from=x,c,input,a\n"
                 "dropout d\nmaxpool p kernel=2\nconcat z from=a,c\nrelu r\n"
                 "concat w from=a,c\nconv g out=12 kernel=1 from=input\nadd s from=w,g\n"))
        return;
    is_int(t.session->n_layers, 7, "a concat is no layer, unless it has a ReLU");
    ok(reads(&t, 3, 2, (const int[]){1, 2}), "its reader reads its inputs");
    ok(reads(&t, 4, 4, (const int[]){1, 2, 3, 0}), "through concats of concats, each once");
    ok(reads(&t, 5, 2, (const int[]){1, 3}), "and a concat with a ReLU too");
    is_str(t.session->layers[5].kind, "concat", "which stays");
    ok(t.session->layers[7].in_place && reads(&t, 7, 3, (const int[]){6, 3, 1}),
       "an add takes the place of the operand that is one tensor");
    close_bench(&t);
}

/* Every Concat reads the two before it, so that the number of paths through them grows
 * exponentially. */
static void check_deep_concats(void)
{
    char text[2000];
    size_t n = (size_t)snprintf(text, sizeof text,
                                "input 1x1x1\nconv k0 out=1 kernel=1\n"
                                "conv k1 out=1 kernel=1 from=input\n");
    struct bench t;

    for (int i = 2; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "concat k%d from=k%d,k%d\n", i, i - 1,
                              i - 2);
    snprintf(text + n, sizeof text - n, "maxpool p kernel=1\n");
    if (!open_on(&t, "analytic", text))
        return;
    ok(t.session->n_layers == 3 && reads(&t, 3, 2, (const int[]){2, 1}),
       "40 nested concats come down to two tensors");
    close_bench(&t);
}

static void check_nothing_left(void)
{
    struct vbs_ctx ctx = {0};
    static const char text[] = "model m\ninput 1x1x1\nconcat c from=input\n";
    struct vbs_network *network = NULL;
    struct vbs_session *session = NULL;
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = (const int[]){1},
                                          .n_batches = 1};
    const struct vbs_backend *backend;

    ok(vbs_network_parse(&ctx, "m", text, strlen(text), NULL, &network) == VBS_OK &&
           vbs_backend_find(&ctx, "analytic", &backend) == VBS_OK &&
           backend->open(&ctx, network, &options, &session) == VBS_UNSUPPORTED && !session,
       "a network of nothing but a concat is refused");
    vbs_network_free(network);
}

/* Every kernel's time is a number, and every layer has kernels at every batch. */
static bool times_are_sound(struct vbs_session *s, int n_batches)
{
    int n = 0, layer = 0, batch = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        double us = 0;

        if (s->ops->run(NULL, s, i, &(struct vbs_operands){0}, &us) != VBS_OK ||
            !(us > 0 && us < 1e9) || s->kernels[i].ws_bytes < 0)
            return false;
        n += s->kernels[i].layer != layer || s->kernels[i].batch != batch;
        layer = s->kernels[i].layer;
        batch = s->kernels[i].batch;
    }
    return n == s->n_layers * n_batches;
}

static void check_every_operator(void)
{
    static const int batches[] = {1, 2, 8};
    struct vbs_backend_options options = {
        .struct_size = sizeof(struct vbs_backend_options), .batches = batches, .n_batches = 3};
    const struct vbs_backend *analytic;
    const struct operator_case *c;
    int n_wrong = 0;

    for (int i = 0; (c = operator_case_at(i)); i++) {
        struct bench t = {0};
        bool sound = operator_case_network(&t.ctx, c, &t.network) == VBS_OK &&
                     vbs_backend_find(&t.ctx, "analytic", &analytic) == VBS_OK &&
                     analytic->open(&t.ctx, t.network, &options, &t.session) == VBS_OK &&
                     times_are_sound(t.session, 3);

        if (!sound)
            printf("# %s: %s\n", c->name, vbs_detail(&t.ctx));
        n_wrong += !sound;
        close_bench(&t);
    }
    is_int(n_wrong, 0, "it has times for every operator");
}

/* ---- what comes of a session ---- */

/* Gives the times of all kernels: modelled ones, else 1 us. */
static bool take_times(struct bench *t, double *times_us)
{
    const struct vbs_session *s = t->session;

    for (int i = 0; i < s->n_kernels; i++) {
        times_us[i] = 1;
        if (s->modelled &&
            s->ops->run(&t->ctx, t->session, i, &(struct vbs_operands){0}, &times_us[i]) != VBS_OK)
            return false;
    }
    return true;
}

static void check_profile(const char *backend, const char *model)
{
    static const int batches[] = {1, 2, 12};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = batches,
                                          .n_batches = 3,
                                          .threads = 0};
    const struct vbs_backend *found;
    struct vbs_profile *profile = NULL;
    double *times_us = NULL;
    struct bench t = {0};
    bool opened = vbs_network_load(&t.ctx, model, NULL, &t.network) == VBS_OK &&
                  vbs_backend_find(&t.ctx, backend, &found) == VBS_OK &&
                  found->open(&t.ctx, t.network, &options, &t.session) == VBS_OK;

    if (opened)
        times_us = calloc((size_t)t.session->n_kernels, sizeof *times_us);
    if (times_us && take_times(&t, times_us))
        profile = profile_of_session(&t.ctx, t.session, times_us);
    if (!ok(profile && profile->n_batches == 3 &&
                profile->layers[0].out_bytes == t.session->layers[0].out_bytes,
            "%s on %s makes a sound profile", model, backend))
        printf("# %s\n", vbs_detail(&t.ctx));
    free(times_us);
    vbs_profile_free(profile);
    close_bench(&t);
}

/* Compares two sessions to the bit. */
static void check_repeats(void)
{
    static const char text[] = "input 16x9x9\nconv a out=24 kernel=3 pad=1\nrelu r\n"
                               "lrn n size=5 alpha=1 beta=0.75\navgpool p kernel=3\nfc f out=7\n"
                               "softmax s\n";
    struct bench a, b = {0};
    bool same = open_on(&a, "analytic", text) && open_on(&b, "analytic", text) &&
                a.session->n_kernels == b.session->n_kernels;

    for (int i = 0; same && i < a.session->n_kernels; i++) {
        double x = 0, y = 1;

        same = a.session->ops->run(NULL, a.session, i, &(struct vbs_operands){0}, &x) == VBS_OK &&
               b.session->ops->run(NULL, b.session, i, &(struct vbs_operands){0}, &y) == VBS_OK &&
               memcmp(&x, &y, sizeof x) == 0 && x > 0;
    }
    ok(same, "times repeat to the bit");
    close_bench(&a);
    close_bench(&b);
}

int main(void)
{
    check_table();
    check_parameters();
    check_values();
    check_formula();
    check_values_are_refused();
    check_concat();
    check_deep_concats();
    check_nothing_left();
    check_every_operator();
    check_repeats();
    for (int i = 0; i < vbs_model_count(); i++)
        check_profile("analytic", vbs_model_name(i));
    check_profile("onednn", "squeezenet-v1.0");
    check_profile("onednn", "resnet-56-cifar");
    return done_testing();
}
