/*
 * Kernels that are requested one by one, weights that runs are given, and slices: the same values
 * as those of whole kernels with the session's own weights, in the slices' own channels and nowhere
 * else. Wholes are checked against definitions in onednn.c.
 */
#include "vbslab/vbslab.h"

#include "support/guard.h"
#include "base/fail.h"
#include "support/tap.h"

#include <dnnl.h>
#include <limits.h>
#include <stdlib.h>

#define MAX_KERNELS 128
#define MAX_BATCH   5

static const char *const SMALL = "model case\ninput 32x8x8\nconv a out=48 kernel=3 pad=1\nrelu r\n"
                                 "maxpool p kernel=2\nfc f out=32\nsoftmax s\n";

static const int BATCHES[] = {1, 2, MAX_BATCH};

/* A network in a session with all kernels and weights of its own. */
struct bench {
    struct vbs_ctx ctx;
    const char *name;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_session *session;
    bool stripes;   /* sessions have kernels on rows too, and channels last */
    void **tensors; /* [n_layers + 1] MAX_BATCH samples each, seeded */
};

static struct vbs_session *open_with(struct bench *t, const struct vbs_backend_options *options)
{
    struct vbs_session *session = NULL;

    return t->backend->open(&t->ctx, t->network, options, &session) == VBS_OK ? session : NULL;
}

static struct vbs_session *open_requested(struct bench *t,
                                          const struct vbs_requested_kernel *requested, int n,
                                          bool given)
{
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = requested,
                                          .n_requested = n,
                                          .weights_given = given,
                                          .stripes = t->stripes,
                                          .threads = 1};

    return open_with(t, &options);
}

static bool open_bench_with(struct bench *t, const char *name, const char *text, bool stripes)
{
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = BATCHES,
                                          .n_batches = 3,
                                          .stripes = stripes,
                                          .threads = 1};
    char model[2000];

    *t = (struct bench){.name = name, .stripes = stripes};
    snprintf(model, sizeof model, "%s%s", text == SMALL ? "" : "model case\n", text);
    if (!ok(vbs_network_parse(&t->ctx, name, model, strlen(model), NULL, &t->network) == VBS_OK &&
                vbs_backend_find(&t->ctx, "onednn", &t->backend) == VBS_OK &&
                (t->session = open_with(t, &options)),
            "%s: opens", name)) {
        printf("# %s\n", t->ctx.detail);
        return false;
    }
    t->tensors = calloc((size_t)t->session->n_layers + 1, sizeof *t->tensors);
    for (int k = 0; t->tensors && k <= t->session->n_layers; k++) {
        t->tensors[k] =
            t->session->ops->alloc(t->session, MAX_BATCH * t->session->layers[k].out_bytes);
        if (!t->tensors[k] ||
            t->session->ops->fill(&t->ctx, t->session, k, MAX_BATCH, t->tensors[k]) != VBS_OK)
            return false;
    }
    return t->tensors;
}

static bool open_bench(struct bench *t, const char *name, const char *text)
{
    return open_bench_with(t, name, text, false);
}

static void close_bench(struct bench *t)
{
    for (int k = 0; t->tensors && k <= t->session->n_layers; k++)
        t->session->ops->free(t->session, t->tensors[k]);
    free(t->tensors);
    if (t->session)
        t->session->ops->close(t->session);
    vbs_network_free(t->network);
}

/* Runs a kernel on the seeded tensors into dst; weights may be null. False: a call failed, or wrote
 * behind its workspace. */
static bool run(struct bench *t, struct vbs_session *session, int kernel, const void *weights,
                void *dst)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    const struct vbs_profile_layer *layer = &session->layers[k->layer];
    unsigned char *ws = guarded(t->session, k->ws_bytes);
    struct vbs_operands operands = {.dst = dst, .ws = ws, .weights = weights};
    const void *src[4];
    double time_us;
    bool worked;

    for (int i = 0; i < layer->n_inputs; i++)
        src[i] = t->tensors[layer->inputs[i]];
    operands.src = src;
    worked = ws && session->ops->run(&t->ctx, session, kernel, &operands, &time_us) == VBS_OK &&
             is_guard(ws + k->ws_bytes, GUARD_BYTES);
    t->session->ops->free(t->session, ws);
    return worked;
}

/* What has come of the packed weights of a kernel. */
struct stream {
    const unsigned char *want;
    int64_t n_bytes, largest; /* so far; of one piece */
    int n_pieces, fails_at;   /* the piece at which taking it fails; 0: none */
    bool same;
};

/* self: the stream. */
static enum vbs_status take(struct vbs_ctx *ctx, void *self, const void *bytes, int64_t n_bytes)
{
    struct stream *s = self;

    s->same &= memcmp(s->want + s->n_bytes, bytes, (size_t)n_bytes) == 0;
    s->n_bytes += n_bytes;
    s->largest = n_bytes > s->largest ? n_bytes : s->largest;
    return ++s->n_pieces == s->fails_at ? vbs_fail(ctx, VBS_IO, "no more") : VBS_OK;
}

/* Hands the weights of a kernel, which want has, to a stream. */
static enum vbs_status stream(struct bench *t, struct vbs_session *session, int kernel,
                              const unsigned char *want, int fails_at, struct stream *s)
{
    const struct vbs_pack_sink sink = {s, take};

    *s = (struct stream){.want = want, .fails_at = fails_at, .same = true};
    return session->ops->pack_to(&t->ctx, session, kernel, &sink);
}

static bool streams(struct bench *t, struct vbs_session *session, int kernel,
                    const unsigned char *want)
{
    struct stream s;

    return stream(t, session, kernel, want, 0, &s) == VBS_OK && s.same &&
           s.n_bytes == session->kernels[kernel].packed_bytes;
}

/* Packs the weights of a kernel at once and in pieces; the caller frees them. Null: it failed, or
 * wrote elsewhere. */
static unsigned char *packed(struct bench *t, struct vbs_session *session, int kernel)
{
    int64_t bytes = session->kernels[kernel].packed_bytes;
    unsigned char *memory = guarded(t->session, bytes);

    if (memory && session->ops->pack(&t->ctx, session, kernel, memory) == VBS_OK &&
        is_guard(memory + bytes, GUARD_BYTES) && streams(t, session, kernel, memory))
        return memory;
    t->session->ops->free(t->session, memory);
    return NULL;
}

static double difference(const unsigned char *got, const unsigned char *want, int64_t bytes)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < bytes; i += (int64_t)sizeof(float)) {
        float x, y;

        memcpy(&x, got + i, sizeof x);
        memcpy(&y, want + i, sizeof y);
        most = fabs((double)x - y) > most || isnan(x) ? fabs((double)x - y) : most;
        largest = fmax(largest, fabs(y));
    }
    return most / largest;
}

/* ---- weights that are given ---- */

static void weights_can_be_given(struct bench *t)
{
    int n_bad = 0, n_same = 0, n_with = 0;

    for (int i = 0; i < t->session->n_kernels; i++) {
        const struct vbs_kernel *k = &t->session->kernels[i];
        struct vbs_requested_kernel requested = {
            .layer = k->layer, .batch = k->batch, .algorithm = k->algorithm};
        int64_t bytes = k->batch * t->session->layers[k->layer].out_bytes;
        struct vbs_session *given = open_requested(t, &requested, 1, true);
        unsigned char *want = guarded(t->session, bytes), *got = guarded(t->session, bytes);
        unsigned char *own = packed(t, t->session, i),
                      *weights = given ? packed(t, given, 0) : NULL;
        const struct vbs_kernel *g = given ? given->kernels : NULL;
        bool alike = g && g->ws_bytes == k->ws_bytes && g->weight_bytes == k->weight_bytes &&
                     g->packed_bytes == k->packed_bytes && g->row_slices == k->row_slices &&
                     strcmp(g->algorithm, k->algorithm) == 0 && g->n_slices == 0;

        if (!(alike && own && weights && run(t, t->session, i, NULL, want) &&
              run(t, given, 0, weights, got)))
            n_bad++;
        else
            n_same += memcmp(own, weights, (size_t)k->packed_bytes) == 0 &&
                      memcmp(want, got, (size_t)bytes) == 0 &&
                      (memset(got, GUARD, (size_t)bytes), run(t, t->session, i, own, got)) &&
                      memcmp(want, got, (size_t)bytes) == 0;
        n_with += k->packed_bytes > 0;
        free(want), free(got), free(own), free(weights);
        if (given)
            given->ops->close(given);
    }
    ok(n_bad == 0 && n_same == t->session->n_kernels,
       "%s: packed weights are the session's own to the bit, and so are outputs (%d kernels, %d "
       "with weights; %s)",
       t->name, n_same, n_with, t->ctx.detail);
}

/* Tries a kernel of 25 MiB of weights in a session that keeps none: in how many pieces they come.
 */
static int count_pieces(struct bench *t, const struct vbs_kernel *k)
{
    const struct vbs_requested_kernel requested = {
        .layer = k->layer, .batch = k->batch, .algorithm = k->algorithm};
    struct vbs_session *session = open_requested(t, &requested, 1, true);
    unsigned char *want = session ? packed(t, session, 0) : NULL;
    struct stream whole = {0}, cut = {0};
    bool good = want && stream(t, session, 0, want, 0, &whole) == VBS_OK &&
                stream(t, session, 0, want, 1, &cut) == VBS_IO && cut.n_pieces == 1 &&
                strcmp(t->ctx.detail, "no more") == 0;

    free(want);
    if (session)
        session->ops->close(session);
    if (!good || (whole.n_pieces > 1 && whole.largest > 8 << 20))
        return -1;
    return whole.n_pieces;
}

/* Where the format can be divided, no piece is large. */
static void large_weights_come_in_pieces(void)
{
    struct bench t;
    int least = INT_MAX, most = 0;

    if (open_bench(&t, "large weights", "input 4096\nfc f out=1600 bias=no\n"))
        for (int i = 0; i < t.session->n_kernels; i++) {
            int n = t.session->kernels[i].batch == 1 ? count_pieces(&t, &t.session->kernels[i]) : 1;

            least = n < least ? n : least;
            most = n > most ? n : most;
        }
    ok(least > 0 && most > 2,
       "25 MiB of weights come in up to %d pieces, and end where one cannot "
       "be taken (%s)",
       most, t.ctx.detail);
    close_bench(&t);
}

/* ---- slices ---- */

/* The results of all slices of a kernel in n. */
struct outcome {
    int n_bad;    /* slices of which a call failed, or that touched other channels */
    double worst; /* difference from the whole, relative to the largest value */
    bool packed;  /* the weights of the slices are those of the whole, one after the other */
    bool fits;    /* the workspace is within the whole's */
};

/* Gives whether byte number at of a sample is in channels of a slice: these lie side by side, in
 * the whole sample or, with channels last, at each position. */
static bool is_in_slice(const struct bench *t, const struct vbs_kernel *k, int64_t at)
{
    const struct vbs_profile_layer *layer = &t->session->layers[k->layer];
    const struct vbs_shape *shape = &t->network->layers[k->layer].shape;
    bool last = t->stripes && layer->rows > 0;
    int64_t bytes = layer->out_bytes / (last ? vbs_shape_elements(shape) / shape->dim[0] : 1);
    int64_t c = layer->channels, unit = at % bytes / (bytes / c);

    return unit >= (k->slice - 1) * c / k->n_slices && unit < k->slice * c / k->n_slices;
}

/* Runs slice i + 1 of session, whose kernels are all slices of one, into dst; false when it changes
 * other channels. */
static bool run_slice(struct bench *t, struct vbs_session *session, int i, const void *weights,
                      unsigned char *dst)
{
    const struct vbs_kernel *k = &session->kernels[i];
    int64_t sample = session->layers[k->layer].out_bytes, bytes = k->batch * sample;
    unsigned char *got = guarded(t->session, bytes);
    bool good = got && run(t, session, i, weights, got) && is_guard(got + bytes, GUARD_BYTES);

    for (int64_t at = 0; at < bytes && good; at++)
        if (is_in_slice(t, k, at % sample))
            dst[at] = got[at];
        else
            good = got[at] == GUARD;
    free(got);
    return good;
}

static struct outcome try_slices(struct bench *t, int kernel, int n, bool given)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    int64_t bytes = k->batch * t->session->layers[k->layer].out_bytes, at = 0;
    struct outcome o = {.packed = true, .fits = true};
    struct vbs_requested_kernel requested[MAX_KERNELS];
    unsigned char *want = guarded(t->session, bytes), *got = guarded(t->session, bytes);
    unsigned char *whole = packed(t, t->session, kernel);
    struct vbs_session *session;

    for (int p = 0; p < n; p++)
        requested[p] =
            (struct vbs_requested_kernel){k->layer, k->batch, p + 1, n, 0, 0, k->algorithm};
    session = open_requested(t, requested, n, given);
    if (!session || !whole || !run(t, t->session, kernel, NULL, want)) {
        o.n_bad = n;
        n = 0;
    }
    for (int p = 0; p < n; p++) {
        const struct vbs_kernel *sliced = &session->kernels[p];
        unsigned char *weights = packed(t, session, p);

        o.fits &= sliced->ws_bytes <= k->ws_bytes && sliced->slice == p + 1 &&
                  sliced->n_slices == n && sliced->row_slices == k->row_slices;
        o.packed &= weights && memcmp(weights, whole + at, (size_t)sliced->packed_bytes) == 0;
        o.n_bad += !weights || !run_slice(t, session, p, given ? weights : NULL, got);
        at += sliced->packed_bytes;
        free(weights);
    }
    o.packed &= at == k->packed_bytes;
    o.worst = difference(got, want, bytes);
    free(want), free(got), free(whole);
    if (session)
        session->ops->close(session);
    return o;
}

/* Gives whether sums have the same order whatever the number of channels, as those of convolutions
 * have. */
static bool is_exact(const struct vbs_session *s, int kernel)
{
    return strcmp(s->layers[s->kernels[kernel].layer].kind, "conv") == 0;
}

static void slices_make_the_whole(struct bench *t)
{
    const struct vbs_session *s = t->session;
    int n_tried = 0, n_bad = 0, n_unequal = 0, n_measured = 0;
    double worst = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        int channels = s->layers[k->layer].channels;
        int numbers[] = {2, 3, channels};

        if (channels < 2 || k->row_slices == 1)
            continue;
        for (int j = 0; j < 3; j++) {
            int n = k->row_slices > 1 ? k->row_slices : numbers[j];
            struct outcome o;

            if (n > channels || n > MAX_KERNELS ||
                (j > 0 && (n == numbers[j - 1] || k->row_slices)))
                continue;
            o = try_slices(t, i, n, (i + j) % 2);
            n_tried++;
            n_measured += k->row_slices > 1;
            worst = fmax(worst, o.worst);
            n_unequal += o.worst > (is_exact(s, i) ? 0 : 1e-5);
            if (o.n_bad || !o.packed || !o.fits)
                printf("# layer %d batch %d %s in %d slices: %d bad, packed %d, fits %d: %s\n",
                       k->layer, k->batch, k->algorithm, n, o.n_bad, o.packed, o.fits,
                       t->ctx.detail);
            n_bad += o.n_bad || !o.packed || !o.fits;
        }
    }
    ok(n_tried > 0 && n_bad == 0 && n_unequal == 0,
       "%s: slices write their channels of the whole and nothing else (%d kernels in slices, %d "
       "measured so; differ by %.3g)",
       t->name, n_tried, n_measured, worst);
}

static void check(const char *name, const char *text)
{
    struct bench t;

    if (open_bench(&t, name, text)) {
        weights_can_be_given(&t);
        slices_make_the_whole(&t);
    }
    close_bench(&t);
}

/* In sessions with stripes, tensors have the channels last. */
static void check_channels_last(const char *name, const char *text)
{
    struct bench t;

    if (open_bench_with(&t, name, text, true))
        slices_make_the_whole(&t);
    close_bench(&t);
}

static void weights_of_a_plain_output_can_be_given(void)
{
    struct bench t;

    if (open_bench(&t, "to few channels", "input 16x9x9\nconv c out=6 kernel=3\nrelu r\n"))
        weights_can_be_given(&t);
    close_bench(&t);
}

/* Counts the kernels of a layer whose row_slices is low to high. */
static int count(const struct vbs_session *s, int layer, int low, int high)
{
    int n = 0;

    for (int i = 0; i < s->n_kernels; i++)
        n += s->kernels[i].layer == layer && s->kernels[i].row_slices >= low &&
             s->kernels[i].row_slices <= high;
    return n;
}

/* Gives the channels in a block on this processor. */
static int block(void)
{
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core
               ? 16
               : 8;
}

static void what_divides_is_said(void)
{
    struct bench t;

    if (open_bench(&t, "layers of many kinds",
                   "input 64x12x12\nconv a out=64 kernel=3 pad=1\nconv b out=24 kernel=3 pad=1 "
                   "groups=2\nconv c out=24 kernel=3 groups=24\nmaxpool p kernel=2\n"
                   "conv d out=40 kernel=1\nrelu r\nbatchnorm n\nfc f out=96\nfc g out=10\n")) {
        const struct vbs_session *s = t.session;

        ok(count(s, 1, 0, 0) >= 3 && s->layers[1].channels == 64 / block(),
           "a conv, in blocks of channels");
        ok(count(s, 2, 0, 0) == 0, "groups that end inside a block never");
        ok(count(s, 3, 0, 0) == 0, "nor a depthwise conv");
        ok(count(s, 4, 1, 1) == 3 && s->layers[4].channels == 0, "nor a pool");
        ok(count(s, 5, 1, 1) == count(s, 5, 0, VBS_MAX_ROW_SLICES),
           "nor what has a BatchNorm behind");
        ok(count(s, 6, 0, 0) >= 3 && s->layers[6].channels == 96 / block(), "a fc, in blocks");
        ok(count(s, 7, 0, 0) >= 3 && s->layers[7].channels == 10, "or single channels");
        ok(count(s, 1, 2, VBS_MAX_ROW_SLICES) == 0, "small weights are not measured in slices");
    }
    close_bench(&t);
}

/* ---- requesting ---- */

static const char *algorithm_of(const struct bench *t, int layer, int batch)
{
    for (int i = 0; i < t->session->n_kernels; i++)
        if (t->session->kernels[i].layer == layer && t->session->kernels[i].batch == batch)
            return t->session->kernels[i].algorithm;
    return "";
}

static void kernels_come_as_requested(void)
{
    struct bench t;

    if (open_bench(&t, "requested kernels", SMALL)) {
        const struct vbs_requested_kernel requested[] = {
            {3, 3, 0, 0, 0, 0, algorithm_of(&t, 3, 1)}, {1, 1, 2, 3, 0, 0, algorithm_of(&t, 1, 1)},
            {4, 2, 0, 1, 0, 0, algorithm_of(&t, 4, 2)}, {1, 1, 1, 1, 0, 0, algorithm_of(&t, 1, 1)},
            {3, 3, 1, 1, 0, 0, algorithm_of(&t, 3, 1)}, {1, 1, 2, 3, 0, 0, algorithm_of(&t, 1, 1)},
            {1, 4, 0, 0, 0, 0, algorithm_of(&t, 1, 1)}};
        struct vbs_session *s = open_requested(&t, requested, 7, false);
        int n_wrong = 0;

        ok(s && s->n_kernels == 7, "as many kernels as requested: %s", t.ctx.detail);
        for (int i = 0; s && i < s->n_kernels; i++) {
            const struct vbs_kernel *k = &s->kernels[i];
            int n_slices = requested[i].n_slices > 1 ? requested[i].n_slices : 0;

            n_wrong += k->layer != requested[i].layer || k->batch != requested[i].batch ||
                       strcmp(k->algorithm, requested[i].algorithm) != 0 ||
                       k->n_slices != n_slices || (n_slices && k->slice != requested[i].slice);
        }
        is_int(n_wrong, 0, "in their order, also batches that nobody measured");
        ok(s && s->kernels[1].format == s->kernels[3].format &&
               s->kernels[1].packed_bytes == s->kernels[3].packed_bytes / 3 &&
               s->kernels[1].weight_bytes < s->kernels[3].weight_bytes,
           "a slice has the packed weight format of its whole, and a share of the weights");
        ok(s && s->kernels[2].packed_bytes == 0, "a softmax has none");
        if (s)
            s->ops->close(s);
    }
    close_bench(&t);
}

static void refused(struct bench *t, const struct vbs_requested_kernel *requested,
                    enum vbs_status status, const char *detail, const char *name)
{
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = requested,
                                          .n_requested = 1,
                                          .threads = 1};
    struct vbs_session *session = NULL;
    enum vbs_status got = t->backend->open(&t->ctx, t->network, &options, &session);

    ok(got == status && !session && strstr(t->ctx.detail, detail), "%s: %s", name, t->ctx.detail);
    if (session)
        session->ops->close(session);
}

static void what_cannot_be_is_refused(void)
{
    struct bench t;

    if (open_bench(&t, "refusals", SMALL)) {
        const char *conv = algorithm_of(&t, 1, 1), *pool = algorithm_of(&t, 2, 1);

        refused(&t, &(struct vbs_requested_kernel){1, 4, 0, 0, 0, 0, "magic"}, VBS_NOT_FOUND,
                "no algorithm 'magic' at batch 4", "an algorithm that is not there");
        refused(&t, &(struct vbs_requested_kernel){2, 1, 0, 0, 0, 0, "magic"}, VBS_NOT_FOUND,
                "layer 'p'", "also of a layer without weights");
        refused(&t, &(struct vbs_requested_kernel){2, 1, 1, 2, 0, 0, pool}, VBS_INVALID,
                "layer 'p': there is no slice 1 of 2", "a layer that has no slices");
        refused(&t, &(struct vbs_requested_kernel){1, 1, 4, 3, 0, 0, conv}, VBS_INVALID,
                "no slice 4 of 3", "a slice beyond the last");
        refused(&t, &(struct vbs_requested_kernel){1, 1, 1, 7, 0, 0, conv}, VBS_INVALID,
                "no slice 1 of 7", "more slices than there are blocks");
        refused(&t, &(struct vbs_requested_kernel){1, 0, 0, 0, 0, 0, conv}, VBS_INVALID,
                "no batch 0", "batch 0");
        refused(&t, &(struct vbs_requested_kernel){9, 1, 0, 0, 0, 0, conv}, VBS_INVALID,
                "no layer 9", "a layer beyond the last");
        refused(&t, &(struct vbs_requested_kernel){1, 1, 0, 0, 0, 0, "jit:avx512_core/3"},
                VBS_NOT_FOUND, "no algorithm 'jit:avx512_core/3'",
                "what divides is not measured in slices");
    }
    close_bench(&t);
}

static void weights_must_be_given_where_that_was_said(void)
{
    struct bench t;

    if (open_bench(&t, "no weights", SMALL)) {
        const struct vbs_requested_kernel requested = {1, 1, 0, 0, 0, 0, algorithm_of(&t, 1, 1)};
        struct vbs_session *s = open_requested(&t, &requested, 1, true);
        float dst[48 * 8 * 8];

        ok(s && !run(&t, s, 0, NULL, dst) && strstr(t.ctx.detail, "without weights"),
           "a run without weights: %s", t.ctx.detail);
        if (s)
            s->ops->close(s);
    }
    close_bench(&t);
}

static void the_analytic_backend_knows_slices(void)
{
    struct vbs_ctx ctx = {0};
    const struct vbs_requested_kernel requested[] = {{1, 1, 2, 3, 0, 0, "direct"},
                                                     {1, 1, 0, 0, 0, 0, "direct"}};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .requested = requested,
                                          .n_requested = 2};
    const struct vbs_backend *backend;
    struct vbs_network *network = NULL;
    struct vbs_session *s = NULL;
    double slice_us = 0, whole_us = 0;

    ok(vbs_network_parse(&ctx, "case", SMALL, strlen(SMALL), NULL, &network) == VBS_OK &&
           vbs_backend_find(&ctx, "analytic", &backend) == VBS_OK &&
           backend->open(&ctx, network, &options, &s) == VBS_OK,
       "analytic opens on what is requested: %s", ctx.detail);
    if (s) {
        ok(s->n_kernels == 2 && s->kernels[0].slice == 2 && s->kernels[0].n_slices == 3 &&
               s->kernels[0].packed_bytes * 3 == s->kernels[1].packed_bytes,
           "its slices have their share of the weights");
        ok(s->ops->run(&ctx, s, 0, NULL, &slice_us) == VBS_OK &&
               s->ops->run(&ctx, s, 1, NULL, &whole_us) == VBS_OK &&
               fabs(3 * slice_us - whole_us) < 1e-9 * whole_us,
           "and of the time");
        ok(s->ops->pack(&ctx, s, 0, NULL) == VBS_UNSUPPORTED, "but nothing to pack: %s",
           ctx.detail);
        s->ops->close(s);
    }
    vbs_network_free(network);
}

int main(void)
{
    check("from an image", "input 3x23x23\nconv c out=48 kernel=5 stride=2 pad=2\nrelu r\n");
    check("3x3 and padded channels", "input 40x9x9\nconv c out=52 kernel=3 pad=1\nrelu r\n");
    check("1x1, stride 2", "input 48x9x9\nconv c out=64 kernel=1 stride=2\n"
                           "conv d out=96 kernel=1 bias=no\nbatchnorm b\n");
    check("groups of whole blocks",
          "input 64x9x9\nconv c out=96 kernel=3 pad=1 groups=2\nrelu r\n");
    check("many groups", "input 64x7x7\nconv c out=128 kernel=3 groups=4\n");
    check("one and three dimensions",
          "input 16x40\nconv c out=48 kernel=5 stride=2 pad=2 dilation=2\nrelu r\n");
    check("volumes", "input 16x4x6x6\nconv c out=32 kernel=3 pad=1\nfc f out=40\nrelu r\n");
    check("fc", "input 100\nfc f out=64\nrelu r\nfc g out=21 bias=no\nsoftmax p\n");
    check("fc on blocked and padded channels", "input 20x3x3\nfc f out=48\nrelu r\n");
    check("Winograd of large weights", "input 256x10x10\nconv c out=320 kernel=3 pad=1\nrelu r\n");
    check("a large fc", "input 4096\nfc f out=512\nrelu r\n");
    check_channels_last("channels last", "input 40x9x9\nconv c out=64 kernel=3 pad=1\nrelu r\n"
                                         "conv d out=96 kernel=1\nfc f out=32\n");
    check_channels_last("channels last, a conv with groups behind",
                        "input 64x9x9\nconv c out=64 kernel=3 pad=1\nconv d out=96 kernel=3 pad=1 "
                        "groups=2\nrelu r\n");
    check_channels_last("channels last, large weights",
                        "input 512x6x6\nconv c out=512 kernel=3 pad=1\nrelu r\n");
    large_weights_come_in_pieces();
    what_divides_is_said();
    weights_of_a_plain_output_can_be_given();
    kernels_come_as_requested();
    what_cannot_be_is_refused();
    weights_must_be_given_where_that_was_said();
    the_analytic_backend_knows_slices();
    return done_testing();
}
