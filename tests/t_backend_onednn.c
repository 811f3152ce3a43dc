/* The onednn backend: every kernel that it offers for small layers of every kind computes what the
 * definition says, stays within its memory and keeps padding zero. */
#include "vbslab/vbslab.h"

#include "reference_ops.h"
#include "tap.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define GUARD_BYTES 256
#define GUARD       0xa5
#define MAX_BATCH   3

struct model_case {
    const char *name;
    const char *text;
};

static const struct model_case cases[] = {
    {"first layer, from a plain image", "input 3x23x23\n"
                                        "conv c out=32 kernel=5 stride=2 pad=2\nrelu r\n"},
    {"3x3 of stride 1, where Winograd applies", "input 32x14x14\n"
                                                "conv c out=64 kernel=3 pad=1\nrelu r\n"},
    {"1x1, where GEMM applies", "input 64x7x7\nconv c out=48 kernel=1\nrelu r\n"},
    {"1x1 of stride 2", "input 32x9x9\nconv c out=64 kernel=1 stride=2\n"},
    {"5x5 on padded channels", "input 24x9x9\nconv c out=20 kernel=5 pad=2\nrelu r\n"},
    {"3x3 on padded channels", "input 20x8x8\nconv c out=30 kernel=3 pad=1\n"},
    {"without bias", "input 16x8x8\nconv c out=16 kernel=3 pad=1 bias=no\n"},
    {"unequal kernel, stride and padding",
     "input 16x12x11\nconv c out=32 kernel=3x5 stride=2x1 pad=0x1:1x3\n"},
    {"dilation", "input 16x13x13\nconv c out=16 kernel=3 dilation=2 pad=2\nrelu r\n"},
    {"two groups of whole blocks", "input 32x9x9\nconv c out=64 kernel=3 pad=1 groups=2\nrelu r\n"},
    {"groups of part blocks", "input 24x7x7\nconv c out=36 kernel=3 pad=1 groups=3\n"},
    {"depthwise", "input 32x11x11\nconv c out=32 kernel=3 stride=2 pad=1 groups=32\nrelu r\n"},
    {"depthwise on padded channels", "input 24x9x9\nconv c out=24 kernel=3 pad=1 groups=24\n"},
    {"depthwise with a multiplier", "input 16x7x7\nconv c out=32 kernel=3 pad=1 groups=16\n"},
    {"from five plain channels", "input 5x9x9\nconv c out=16 kernel=3 pad=1\nrelu r\n"},
    {"to three plain channels", "input 16x9x9\nconv c out=3 kernel=3 pad=1\nrelu r\n"},
    {"from three plain channels to two", "input 3x9x9\nconv c out=2 kernel=3\n"},
    {"one dimension", "input 16x40\nconv c out=32 kernel=5 stride=2 pad=2\nrelu r\n"
                      "maxpool p kernel=3 stride=2\navgpool q kernel=3\nlrn n size=5 alpha=0.1 "
                      "beta=0.75\n"},
    {"three dimensions", "input 3x6x10x10\nconv c out=32 kernel=3 pad=1\nrelu r\n"
                         "maxpool p kernel=1x2x2 stride=1x2x2\nconv d out=20 kernel=3 pad=1\n"
                         "maxpool q kernel=2 stride=2 pad=0x1x1\nlrn n size=5 alpha=0.1 "
                         "beta=0.75\nfc f out=11\n"},
    {"BatchNorm and Scale folded, then ReLU",
     "input 16x8x8\nconv c out=32 kernel=3 pad=1\nbatchnorm b affine=no\nscale s\nrelu r\n"},
    {"BatchNorm folded without bias", "input 16x8x8\nconv c out=20 kernel=1 bias=no\n"
                                      "batchnorm b\ndropout d\nscale s bias=no\n"},
    {"BatchNorm after ReLU", "input 16x8x8\nconv c out=20 kernel=3 pad=1\nrelu r\nbatchnorm b\n"
                             "relu t\n"},
    {"BatchNorm folded into depthwise", "input 24x8x8\nconv c out=24 kernel=3 groups=24 bias=no\n"
                                        "batchnorm b\nrelu r\n"},
    {"fc", "input 100\nfc f out=50\nrelu r\ndropout d\nfc g out=10 bias=no\nsoftmax p\n"},
    {"fc on blocked channels", "input 32x5x5\nfc f out=33\nbatchnorm b\nrelu r\nfc g out=7\n"},
    {"fc on padded channels", "input 20x3x3\nfc f out=9\nrelu r\nscale s\n"},
    {"fc on plain channels", "input 3x4x4\nfc f out=9\n"},
    {"max pools", "input 32x13x13\nmaxpool p kernel=3 stride=2\nmaxpool q kernel=3 stride=2 pad=1\n"
                  "maxpool r kernel=2 stride=2 round=down\n"},
    {"max pool on padded channels", "input 20x9x9\nmaxpool p kernel=3 stride=2\nrelu r\n"},
    {"pools on plain channels", "input 3x8x8\nmaxpool p kernel=3 stride=2\navgpool q kernel=2\n"},
    {"mean pools", "input 32x12x12\navgpool p kernel=3 stride=2 pad=1\n"
                   "avgpool q kernel=3 stride=2 pad=1 count_pad=yes\navgpool g kernel=global\n"
                   "softmax s\n"},
    {"mean pool with operators behind it",
     "input 20x9x9\navgpool p kernel=3\nbatchnorm b\nscale s\n"
     "relu r\n"},
    {"LRN", "input 32x6x6\nlrn n size=5 alpha=0.5 beta=0.75\nlrn m size=5 alpha=0.5 beta=0.75 k=2\n"
            "lrn o size=3 alpha=0.3 beta=0.5 k=2\nrelu r\n"},
    {"LRN on padded, plain and flat channels",
     "input 20x6x6\nlrn n size=5 alpha=0.5 beta=0.75\nconv c out=3 kernel=1\n"
     "lrn m size=3 alpha=0.5 beta=0.75\nfc f out=12\nlrn o size=5 alpha=0.5 beta=0.75\n"},
    {"softmax over space", "input 20x5x5\nsoftmax s\n"},
    {"concat of whole blocks", "input 16x6x6\nconv a out=32 kernel=1\nconv b out=16 kernel=1 "
                               "from=input\nconcat x from=a,input,b\nrelu r\n"},
    {"concat with padding at its end", "input 16x6x6\nconv a out=32 kernel=1\nconv b out=24 "
                                       "kernel=1 from=input\nconcat x from=a,b\nbatchnorm n\n"},
    {"concat with padding inside", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=24 kernel=1 "
                                   "from=input\nconcat x from=a,b,input\n"},
    {"concat with padding at its start", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=32 "
                                         "kernel=1 from=input\nconcat x from=a,b\n"},
    {"concat of plain and blocked", "input 3x6x6\nconv a out=16 kernel=1\nconcat x from=input,a\n"
                                    "conv b out=2 kernel=1\nconcat y from=b,input\n"
                                    "concat z from=y\n"},
    {"concat of vectors", "input 10\nfc a out=5\nconcat x from=a,input\nfc f out=4\n"},
    {"add in place, then ReLU", "input 16x6x6\nconv a out=20 kernel=1\nconv b out=20 kernel=3 "
                                "pad=1\nadd s from=a,b\nrelu r\nconv c out=16 kernel=1\n"},
    {"add with operators behind it", "input 16x6x6\nconv a out=16 kernel=1\nadd s from=input,a\n"
                                     "batchnorm b\nrelu r\n"},
    {"add that must not overwrite", "input 16x6x6\nconv a out=16 kernel=1\nconv b out=16 kernel=1\n"
                                    "add s from=a,b\nadd t from=a,b\nadd u from=s,t\n"},
    {"operators that are layers of their own",
     "input 20x6x6\nrelu r from=input\nbatchnorm b from=input\nscale s from=input\n"
     "dropout d from=input\nbatchnorm c affine=no from=input\nconcat x from=r,b,s,d,c,input\n"},
    {"the same on plain channels", "input 3x6x6\nrelu r from=input\nbatchnorm b from=input\n"
                                   "dropout d from=input\nadd s from=r,b\nadd t from=s,d\n"},
    {"an inception block", "input 32x9x9\nconv a out=16 kernel=1\nrelu ar\n"
                           "conv b1 out=24 kernel=1 from=input\nrelu b1r\n"
                           "conv b out=32 kernel=3 pad=1\nrelu br\n"
                           "conv c1 out=16 kernel=1 from=input\nrelu c1r\n"
                           "conv c out=16 kernel=5 pad=2\nrelu cr\n"
                           "maxpool d1 kernel=3 pad=1 from=input\nconv d out=16 kernel=1\nrelu dr\n"
                           "concat x from=ar,br,cr,dr\navgpool g kernel=global\nfc f out=10\n"
                           "softmax p\n"},
};

#define N_CASES ((int)(sizeof cases / sizeof cases[0]))

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

static bool open_case(struct bench *t, const struct model_case *c, const char *backend, int threads)
{
    static const int batches[] = {1, 2, 3};
    struct vbs_backend_options options = {batches, 3, threads};
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
    const void *src[16];
    double time_us = -1;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->home[layer->inputs[i]];
    if (layer->in_place && dst) {
        memcpy(dst, src[0], (size_t)out_bytes);
        src[0] = dst;
    }
    if (!dst || !ws || !got ||
        t->session->ops->run(&t->ctx, t->session, kernel, src, dst, ws, &time_us) != VBS_OK ||
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

static void check_case(const struct model_case *c)
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
        worked =
            ws && s->ops->run(&t->ctx, t->session, chosen, src, t->home[k], ws, &time_us) == VBS_OK;
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

static void check_network(const struct model_case *c, int threads)
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
    bool opened = open_case(&a, &cases[0], "onednn", 1);

    opened = open_case(&b, &cases[0], "onednn", 1) && opened;
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
    static const struct model_case c = {"read and write", "input 20x5x4\nrelu r from=input\n"};
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
        struct model_case c = {"in place", text};
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
    struct vbs_backend_options options = {(const int[]){1}, 1, 0};
    struct vbs_session *session = NULL;
    const struct vbs_backend *backend;
    bool opened = open_case(&t, &cases[0], "onednn", 0) &&
                  vbs_backend_find(&t.ctx, "onednn", &backend) == VBS_OK;

    t.ctx.cancel = &stop;
    ok(opened && backend->open(&t.ctx, t.network, &options, &session) == VBS_INTERRUPTED &&
           !session,
       "opening can be interrupted");
    close_case(&t);
}

static const struct model_case *case_named(const char *name)
{
    for (int i = 0; i < N_CASES; i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
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
    for (int i = 0; i < N_CASES; i++)
        check_case(&cases[i]);
    check_network(case_named("an inception block"), 1);
    check_network(case_named("an inception block"), 2);
    check_network(case_named("three dimensions"), 0);
    check_circumstances();
    check_read_and_write();
    check_in_place();
    check_cancel();
    if (argc > 0)
        check_narrower(argv[0]);
    return done_testing();
}
