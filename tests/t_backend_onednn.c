/* The onednn backend: every kernel that it offers for small layers of every kind computes what the
 * definition says, stays within its memory and keeps padding zero. */
#include "vbslab/vbslab.h"

#include "backend_cases.h"
#include "reference_ops.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARD_BYTES 256
#define GUARD       0xa5
#define MAX_BATCH   3

/* A case under test. */
struct bench {
    struct vbs_ctx ctx;
    const char *name;
    struct vbs_network *network;
    struct vbs_session *session;
    float **plain; /* by tensor: MAX_BATCH samples in plain order, seeded */
    void **home;   /* the same as the session keeps them */
};

static int64_t elements(const struct bench *t, int tensor)
{
    const struct vbs_network *n = t->network;

    return vbs_shape_elements(tensor == 0 ? &n->input : &n->layers[tensor].shape);
}

static bool make_tensors(struct bench *t)
{
    size_t n = (size_t)t->network->n_layers + 1;

    t->plain = calloc(n, sizeof *t->plain);
    t->home = calloc(n, sizeof *t->home);
    for (int k = 0; t->plain && t->home && k < (int)n; k++) {
        int64_t count = MAX_BATCH * elements(t, k);

        t->plain[k] = malloc((size_t)count * sizeof(float));
        t->home[k] =
            t->session->ops->alloc(t->session, MAX_BATCH * t->session->layers[k].out_bytes);
        if (!t->plain[k] || !t->home[k])
            return false;
        vbs_tensor_values(k, 0, count, t->plain[k]);
        if (t->session->ops->fill(&t->ctx, t->session, k, MAX_BATCH, t->home[k]) != VBS_OK)
            return false;
    }
    return t->plain && t->home;
}

static bool open_case(struct bench *t, const struct backend_case *c, const char *backend,
                      int threads)
{
    static const int batches[] = {1, 2, 3};
    struct vbs_backend_options options = {.batches = batches, .n_batches = 3, .threads = threads};
    const struct vbs_backend *found;
    char text[2000];

    *t = (struct bench){.name = c->name};
    snprintf(text, sizeof text, "model case\n%s", c->text);
    return vbs_network_parse(&t->ctx, c->name, text, strlen(text), NULL, &t->network) == VBS_OK &&
           vbs_backend_find(&t->ctx, backend, &found) == VBS_OK &&
           found->open(&t->ctx, t->network, &options, &t->session) == VBS_OK;
}

static void close_case(struct bench *t)
{
    for (int k = 0; t->network && k <= t->network->n_layers; k++) {
        if (t->plain)
            free(t->plain[k]);
        if (t->home && t->session)
            t->session->ops->free(t->session, t->home[k]);
    }
    free(t->plain);
    free(t->home);
    if (t->session)
        t->session->ops->close(t->session);
    vbs_network_free(t->network);
}

/* Memory of exactly bytes, with guards behind. */
static unsigned char *guarded(struct bench *t, int64_t bytes)
{
    unsigned char *memory = t->session->ops->alloc(t->session, bytes + GUARD_BYTES);

    if (memory)
        memset(memory, GUARD, (size_t)bytes + GUARD_BYTES);
    return memory;
}

static bool guards_stand(const unsigned char *memory, int64_t bytes)
{
    for (int i = 0; i < GUARD_BYTES; i++)
        if (memory[bytes + i] != GUARD)
            return false;
    return true;
}

/* Largest difference as part of the largest value. */
static double difference(const float *got, const float *want, int64_t n)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        if (!(d <= most))
            most = isnan(d) ? INFINITY : d;
        largest = fmax(largest, fabs(want[i]));
    }
    return most / largest;
}

static double tolerance(const char *algorithm)
{
    return strstr(algorithm, "wino") ? 1e-4 : 1e-5;
}

/* Non-zero floats in what a tensor holds, against those of its plain form: padding must be 0. */
static int64_t non_zeros(const float *values, int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += values[i] != 0;
    return count;
}

struct outcome {
    double worst;  /* difference from the reference */
    bool guards;   /* nothing written outside */
    bool padding;  /* is zero */
    bool sources;  /* unchanged */
    bool failed;   /* some call */
    bool negative; /* time */
};

/* Runs kernel on the seeded inputs. */
static void run_kernel(struct bench *t, int kernel, const float *want, struct outcome *o)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    int64_t out_bytes = k->batch * layer->out_bytes, count = k->batch * elements(t, k->layer);
    unsigned char *dst = guarded(t, out_bytes), *ws = guarded(t, k->ws_bytes);
    float *got = malloc((size_t)count * sizeof *got);
    struct vbs_operands operands;
    const void *src[16];
    double time_us = -1;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->home[layer->inputs[i]];
    if (layer->in_place && dst) {
        memcpy(dst, src[0], (size_t)out_bytes);
        src[0] = dst;
    }
    operands = (struct vbs_operands){.src = src, .dst = dst, .ws = ws};
    if (!dst || !ws || !got ||
        t->session->ops->run(&t->ctx, t->session, kernel, &operands, &time_us) != VBS_OK ||
        t->session->ops->read(&t->ctx, t->session, k->layer, k->batch, dst, got) != VBS_OK) {
        o->failed = true;
    } else {
        o->worst = fmax(o->worst, difference(got, want, count));
        o->guards &= guards_stand(dst, out_bytes) && guards_stand(ws, k->ws_bytes);
        o->padding &=
            non_zeros((const float *)(const void *)dst, out_bytes / 4) == non_zeros(got, count);
        o->negative |= !(time_us >= 0 && time_us < 1e9);
    }
    t->session->ops->free(t->session, dst);
    t->session->ops->free(t->session, ws);
    free(got);
}

/* MAX_BATCH samples of layer's output by the definition. */
static float *reference(struct bench *t, int layer)
{
    const struct vbs_layer *l = &t->network->layers[layer];
    int64_t n = elements(t, layer);
    float *all = malloc((size_t)(MAX_BATCH * n) * sizeof *all);

    for (int s = 0; all && s < MAX_BATCH; s++) {
        const float *inputs[16];
        float *one;

        for (int i = 0; i < l->n_inputs; i++)
            inputs[i] = t->plain[l->inputs[i]] + s * elements(t, l->inputs[i]);
        one = reference_layer(t->network, layer, inputs);
        if (!one) {
            free(all);
            return NULL;
        }
        memcpy(all + s * n, one, (size_t)n * sizeof *one);
        free(one);
    }
    return all;
}

static bool sources_unchanged(struct bench *t, const struct vbs_profile_layer *layer)
{
    for (int i = 0; i < layer->n_inputs; i++) {
        int tensor = layer->inputs[i];
        int64_t n = MAX_BATCH * elements(t, tensor);
        float *now = malloc((size_t)n * sizeof *now);
        bool same = now &&
                    t->session->ops->read(&t->ctx, t->session, tensor, MAX_BATCH, t->home[tensor],
                                          now) == VBS_OK &&
                    memcmp(now, t->plain[tensor], (size_t)n * sizeof *now) == 0;

        free(now);
        if (!same)
            return false;
    }
    return true;
}

/* One algorithm of one layer at all batches. */
static void check_algorithm(struct bench *t, int first, const float *want)
{
    const struct vbs_session *s = t->session;
    const char *algorithm = s->kernels[first].algorithm;
    int layer = s->kernels[first].layer;
    struct outcome o = {.guards = true, .padding = true};
    int n = 0;

    for (int i = first; i < s->n_kernels && s->kernels[i].layer == layer; i++)
        if (strcmp(s->kernels[i].algorithm, algorithm) == 0) {
            run_kernel(t, i, want, &o);
            n++;
        }
    o.sources = sources_unchanged(t, &s->layers[layer]);
    if (!ok(!o.failed && o.guards && o.padding && o.sources && !o.negative &&
                o.worst <= tolerance(algorithm),
            "%s: '%s' by %s at %d batches", t->name, s->layers[layer].name, algorithm, n))
        printf("# differs by %.3g, calls %s, guards %d, padding %d, sources %d: %s\n", o.worst,
               o.failed ? "failed" : "worked", o.guards, o.padding, o.sources, vbs_detail(&t->ctx));
}

static bool seen_before(const struct vbs_session *s, int kernel)
{
    for (int i = kernel - 1; i >= 0 && s->kernels[i].layer == s->kernels[kernel].layer; i--)
        if (strcmp(s->kernels[i].algorithm, s->kernels[kernel].algorithm) == 0)
            return true;
    return false;
}

static void check_kernels(struct bench *t)
{
    float *want = NULL;
    int layer = 0;

    for (int i = 0; i < t->session->n_kernels; i++) {
        if (t->session->kernels[i].layer != layer) {
            free(want);
            layer = t->session->kernels[i].layer;
            want = reference(t, layer);
            if (!want) {
                ok(false, "%s: out of memory", t->name);
                return;
            }
        }
        if (!seen_before(t->session, i))
            check_algorithm(t, i, want);
    }
    free(want);
}

/* What measuring and profiles rely on. */
static bool session_is_sound(const struct bench *t)
{
    const struct vbs_session *s = t->session;
    int batch = 0, layer = 0;

    for (int k = 1; k <= s->n_layers; k++) {
        int64_t in_bytes = 0;

        for (int i = 0; i < s->layers[k].n_inputs; i++) {
            if (s->layers[k].inputs[i] >= k)
                return false;
            in_bytes += s->layers[s->layers[k].inputs[i]].out_bytes;
        }
        if (in_bytes != s->layers[k].in_bytes || s->layers[k].out_bytes < 4 * elements(t, k))
            return false;
    }
    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        bool next_batch = k->layer == layer && (k->batch == batch || k->batch == batch + 1);
        bool next_layer = k->layer == layer + 1 && k->batch == 1 && (layer == 0 || batch == 3);

        if (!(next_batch || next_layer) || k->ws_bytes < 0 || strpbrk(k->algorithm, " ,;\""))
            return false;
        layer = k->layer;
        batch = k->batch;
    }
    return layer == s->n_layers && batch == 3;
}

static void check_case(const struct backend_case *c)
{
    struct bench t;

    if (!open_case(&t, c, "onednn", 0) || !make_tensors(&t)) {
        ok(false, "%s: opens", c->name);
        printf("# %s\n", vbs_detail(&t.ctx));
    } else {
        ok(session_is_sound(&t), "%s: its layers and kernels are in order", c->name);
        check_kernels(&t);
    }
    close_case(&t);
}

/* ---- whole networks ---- */

/* Runs all layers at batch on tensors of its own; output: batch samples of the last, plain. */
static bool forward(struct bench *t, int batch, bool last_algorithm, float *output)
{
    const struct vbs_session *s = t->session;
    bool worked = true;

    for (int k = 1; k <= s->n_layers && worked; k++) {
        const struct vbs_profile_layer *l = &s->layers[k];
        struct vbs_operands operands;
        const void *src[16];
        int chosen = -1;
        void *ws;
        double time_us;

        for (int i = 0; i < s->n_kernels; i++)
            if (s->kernels[i].layer == k && s->kernels[i].batch == batch &&
                (chosen < 0 || last_algorithm))
                chosen = i;
        for (int i = 0; i < l->n_inputs; i++)
            src[i] = t->home[l->inputs[i]];
        if (l->in_place)
            memcpy(t->home[k], src[0], (size_t)(batch * l->out_bytes));
        if (l->in_place)
            src[0] = t->home[k];
        ws = s->ops->alloc(t->session, s->kernels[chosen].ws_bytes);
        operands = (struct vbs_operands){.src = src, .dst = t->home[k], .ws = ws};
        worked = ws && s->ops->run(&t->ctx, t->session, chosen, &operands, &time_us) == VBS_OK;
        s->ops->free(t->session, ws);
    }
    return worked && s->ops->read(&t->ctx, t->session, s->n_layers, batch, t->home[s->n_layers],
                                  output) == VBS_OK;
}

/* The whole network by definition, for the samples that the input holds. */
static bool reference_forward(struct bench *t, float *output)
{
    int n = t->network->n_layers;

    for (int k = 1; k <= n; k++) {
        float *all = reference(t, k);

        if (!all)
            return false;
        free(t->plain[k]);
        t->plain[k] = all;
    }
    memcpy(output, t->plain[n], (size_t)(MAX_BATCH * elements(t, n)) * sizeof *output);
    return true;
}

static void check_network(const struct backend_case *c, int threads)
{
    float want[MAX_BATCH * 64], got[MAX_BATCH * 64];
    struct bench t;
    int64_t n;

    if (!open_case(&t, c, "onednn", threads) || !make_tensors(&t) ||
        elements(&t, t.network->n_layers) > 64 || !reference_forward(&t, want)) {
        ok(false, "%s, %d threads: opens", c->name, threads);
        close_case(&t);
        return;
    }
    n = elements(&t, t.network->n_layers);
    for (int batch = 1; batch <= MAX_BATCH; batch++)
        for (int last = 0; last <= 1; last++)
            ok(forward(&t, batch, last, got) && difference(got, want, batch * n) <= 1e-4,
               "%s from end to end at batch %d, %s algorithms, %d threads", c->name, batch,
               last ? "last" : "first", threads);
    close_case(&t);
}

/* ---- the rest of the contract ---- */

static void check_circumstances(void)
{
    struct bench a, b;
    bool opened = open_case(&a, &backend_cases[0], "onednn", 1);

    opened = open_case(&b, &backend_cases[0], "onednn", 1) && opened;
    ok(opened, "two sessions at once");
    if (opened) {
        const struct vbs_circumstances *x = &a.session->circumstances;
        const struct vbs_circumstances *y = &b.session->circumstances;

        is_str(x->backend, "onednn", "circumstances name the backend");
        is_str(x->library, y->library, "the library is the same in both");
        is_str(x->device, y->device, "and the device");
        is_str(x->date, "", "no time in them");
        is_str(x->input, "3x23x23", "the input's shape");
        is_int(x->threads, 1, "the threads that were asked for");
        ok(strstr(x->library, "oneDNN ") == x->library, "the library has its name");
        ok(x->device[0] && strstr(x->notes, "threads "), "device and notes say something");
    }
    close_case(&a);
    close_case(&b);
}

static void check_read_and_write(void)
{
    static const struct backend_case c = {"read and write", "input 20x5x4\nrelu r from=input\n"};
    float values[40 * 20], back[40 * 20];
    struct bench t;
    void *memory;

    if (!open_case(&t, &c, "onednn", 0) ||
        !(memory = t.session->ops->alloc(t.session, 2 * t.session->layers[0].out_bytes))) {
        ok(false, "read and write: opens");
        return;
    }
    vbs_tensor_values(7, 0, 2 * 400, values);
    ok(t.session->ops->write(&t.ctx, t.session, 0, 2, values, memory) == VBS_OK &&
           t.session->ops->read(&t.ctx, t.session, 0, 2, memory, back) == VBS_OK &&
           memcmp(values, back, sizeof values) == 0,
       "what is written is read");
    is_int(non_zeros(memory, 2 * t.session->layers[0].out_bytes / 4), non_zeros(values, 800),
           "padding is written as zero");
    t.session->ops->free(t.session, memory);
    close_case(&t);
}

static void check_in_place(void)
{
    static const struct {
        const char *text, *name;
        bool in_place;
        int first; /* input that is overwritten */
    } adds[] = {
        {"conv a out=16 kernel=1\nconv b out=16 kernel=1\nadd s from=a,b\n",
         "an add takes the place of the input that only it reads", true, 2},
        {"conv a out=16 kernel=1\nadd s from=input,a\n", "and never that of the network's input",
         true, 1},
        {"conv a out=16 kernel=1\nadd s from=input,a\nconv b out=16 kernel=1 from=a\n",
         "even where there is no other", false, 0},
        {"conv a out=16 kernel=1\nconv b out=16 kernel=1\nadd s from=a,input\n",
         "nor that of what a layer reads that may run later", false, 1},
        {"conv a out=16 kernel=1\nconv b out=16 kernel=1\nadd t from=a,b\nadd s from=t,a\n",
         "but that of what nobody reads any more, the fewer readers the better", true, 3},
        {"conv a out=16 kernel=1\nconv b out=16 kernel=1\nconv c out=16 kernel=1 "
         "from=input\nadd t from=b,c\nconv d out=16 kernel=1\nadd s from=a,d\nconv e out=16 "
         "kernel=1 from=d\n",
         "so too when the other one lives on", true, 1},
    };

    for (size_t i = 0; i < sizeof adds / sizeof adds[0]; i++) {
        char text[400];
        struct backend_case c = {"in place", text};
        struct bench t;
        int add = 0;

        snprintf(text, sizeof text, "input 16x4x4\n%s", adds[i].text);
        if (!open_case(&t, &c, "onednn", 0)) {
            ok(false, "%s: %s", adds[i].name, vbs_detail(&t.ctx));
            close_case(&t);
            continue;
        }
        for (int k = t.session->n_layers; k >= 1; k--)
            if (strcmp(t.session->layers[k].name, "s") == 0)
                add = k;
        ok(t.session->layers[add].in_place == adds[i].in_place &&
               t.session->layers[add].inputs[0] == adds[i].first,
           "%s", adds[i].name);
        close_case(&t);
    }
}

static void check_cancel(void)
{
    static const sig_atomic_t stop = 1;
    struct bench t;
    struct vbs_backend_options options = {.batches = (const int[]){1}, .n_batches = 1};
    struct vbs_session *session = NULL;
    const struct vbs_backend *backend;
    bool opened = open_case(&t, &backend_cases[0], "onednn", 0) &&
                  vbs_backend_find(&t.ctx, "onednn", &backend) == VBS_OK;

    t.ctx.cancel = &stop;
    ok(opened && backend->open(&t.ctx, t.network, &options, &session) == VBS_INTERRUPTED &&
           !session,
       "opening can be interrupted");
    close_case(&t);
}

/* The same program as a machine with narrower vectors would see it: other blocks, other kernels. */
static void check_narrower(char *program)
{
    char *arguments[] = {program, NULL};
    int status = -1;
    pid_t child;

    if (getenv("DNNL_MAX_CPU_ISA"))
        return;
    child = fork();
    if (child == 0) {
        if (setenv("DNNL_MAX_CPU_ISA", "AVX2", 1) == 0 && freopen("/dev/null", "w", stdout))
            execv(program, arguments);
        _exit(127);
    }
    ok(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0,
       "all of this with DNNL_MAX_CPU_ISA=AVX2");
}

int main(int argc, char **argv)
{
    struct vbs_backend_info info;
    const struct vbs_backend *backend;

    if (vbs_backend_find(NULL, "onednn", &backend) != VBS_OK)
        return 1;
    backend->probe(&info);
    printf("# %s on %s\n", info.library, info.device);
    for (int i = 0; backend_cases[i].name; i++)
        check_case(&backend_cases[i]);
    check_network(backend_case("an inception block"), 1);
    check_network(backend_case("an inception block"), 2);
    check_network(backend_case("three dimensions"), 0);
    check_circumstances();
    check_read_and_write();
    check_in_place();
    check_cancel();
    if (argc > 0)
        check_narrower(argv[0]);
    return done_testing();
}
