/*
 * Sessions with stripes: tensors with the channels last give the values of other layouts, kernels
 * on rows give those of kernels of whole samples from the rows that they read alone, and rows can
 * be written and read one by one.
 */
#include "vbslab/vbslab.h"

#include "support/guard.h"
#include "base/fail.h"
#include "support/tap.h"

#include <stdlib.h>

#define MAX_INPUTS 4
#define TOLERANCE  1e-4 /* of the largest value: Winograd's sums are other sums */

/* The layers of each case are run one by one. Heights are odd, so that no stripe divides them. */
static const struct {
    const char *name, *text;
    int n_by_rows; /* layers with reaches */
} CASES[] = {
    {"3x3", "input 16x13x9\nconv a out=24 kernel=3 pad=1\nrelu r\nconv b out=16 kernel=3\n", 2},
    {"1x1", "input 24x7x7\nconv a out=40 kernel=1\nconv b out=16 kernel=1 stride=2\nrelu r\n", 2},
    {"stride 2",
     "input 3x23x17\nconv a out=16 kernel=7 stride=2 pad=3\nrelu r\n"
     "conv b out=24 kernel=3 stride=2\n",
     2},
    {"dilation", "input 16x13x13\nconv a out=16 kernel=3 pad=2 dilation=2\n", 1},
    {"depthwise",
     "input 32x13x11\nconv a out=32 kernel=3 pad=1 groups=32\nrelu r\n"
     "conv b out=32 kernel=5 pad=2 stride=2 groups=32\n",
     2},
    {"groups", "input 32x7x7\nconv a out=48 kernel=3 pad=1 groups=2\n", 1},
    {"few channels", "input 5x9x8\nconv a out=7 kernel=3 pad=1\nrelu r\nconv b out=3 kernel=3\n",
     2},
    {"rows fewer than the kernel", "input 16x2x9\nconv a out=16 kernel=5 pad=2\n", 1},
    {"one row", "input 16x1x9\nconv a out=16 kernel=1\nrelu r\n", 1},
    {"pools",
     "input 16x13x13\nmaxpool a kernel=3 stride=2 round=up\navgpool b kernel=3 pad=1\n"
     "avgpool c kernel=2 stride=2 round=down\n",
     3},
    {"one dimension", "input 16x29\nconv a out=16 kernel=3 pad=1\nrelu r\nmaxpool p kernel=2\n", 2},
    {"values",
     "input 8x7x5\nbatchnorm n\nscale s\nconv c out=24 kernel=1\nlrn l size=5 alpha=0.0001 "
     "beta=0.75\n",
     3},
    {"add", "input 16x13x9\nconv a out=16 kernel=3 pad=1\nadd x from=input,a\nrelu r\n", 2},
    {"concat",
     "input 16x7x7\nconv a out=24 kernel=1\nconv b out=8 kernel=3 pad=1 from=input\nconcat c "
     "from=a,b\nconv d out=16 kernel=1\n",
     4},
    {"flattened", "input 16x7x7\nconv a out=24 kernel=3 pad=1\nfc f out=10\nsoftmax s\n", 1},
    {"mean", "input 16x7x7\nconv a out=24 kernel=3 pad=1\navgpool g kernel=global\nfc f out=10\n",
     2},
};
#define N_CASES ((int)(sizeof CASES / sizeof CASES[0]))

struct subject {
    struct vbs_ctx ctx;
    const struct vbs_backend *backend;
    struct vbs_network *network;
    struct vbs_session *session;
    char **tensors; /* [n_layers + 1] one sample each, as a run of the network makes them */
};

static struct vbs_session *open_session(struct subject *t, bool stripes,
                                        const struct vbs_requested_kernel *requested, int n)
{
    static const int BATCHES[] = {1, 3};
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = BATCHES,
                                          .n_batches = 2,
                                          .requested = requested,
                                          .n_requested = n,
                                          .stripes = stripes,
                                          .threads = 1};
    struct vbs_session *session = NULL;

    return t->backend->open(&t->ctx, t->network, &options, &session) == VBS_OK ? session : NULL;
}

static int64_t elements_of(const struct vbs_network *network, int k)
{
    return vbs_shape_elements(k == 0 ? &network->input : &network->layers[k].shape);
}

static bool run_kernel(struct subject *t, struct vbs_session *session, int kernel,
                       const void *const *src, void *dst)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    unsigned char *ws = guarded(session, k->ws_bytes);
    struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws};
    bool worked = ws && session->ops->run(&t->ctx, session, kernel, &operands, NULL) == VBS_OK &&
                  is_guard(ws + k->ws_bytes, GUARD_BYTES);

    session->ops->free(session, ws);
    return worked;
}

/* Gives the session's first kernel of a whole layer at batch 1. */
static int whole_kernel(const struct vbs_session *session, int layer)
{
    for (int i = 0; i < session->n_kernels; i++)
        if (session->kernels[i].layer == layer && session->kernels[i].batch == 1 &&
            session->kernels[i].rows == 0)
            return i;
    return -1;
}

static void sources(const struct vbs_session *session, char *const *tensors, int layer,
                    const void **src)
{
    for (int i = 0; i < session->layers[layer].n_inputs; i++)
        src[i] = tensors[session->layers[layer].inputs[i]];
}

/* Runs all layers, each with its own output: a layer in place overwrites a copy of its input. */
static char **run_network(struct subject *t, struct vbs_session *session)
{
    char **tensors = calloc((size_t)session->n_layers + 1, sizeof *tensors);
    bool worked = tensors != NULL;

    for (int k = 0; worked && k <= session->n_layers; k++) {
        const struct vbs_profile_layer *l = &session->layers[k];
        const void *src[MAX_INPUTS];

        tensors[k] = session->ops->alloc(session, l->out_bytes);
        if (k == 0) {
            worked = session->ops->fill(&t->ctx, session, 0, 1, tensors[0]) == VBS_OK;
            continue;
        }
        sources(session, tensors, k, src);
        if (l->in_place) {
            memcpy(tensors[k], src[0], (size_t)l->out_bytes);
            src[0] = tensors[k];
        }
        worked = run_kernel(t, session, whole_kernel(session, k), src, tensors[k]);
    }
    return worked ? tensors : NULL;
}

static void free_tensors(struct vbs_session *session, char **tensors)
{
    for (int k = 0; tensors && k <= session->n_layers; k++)
        session->ops->free(session, tensors[k]);
    free(tensors);
}

static double difference(const float *got, const float *want, int64_t n)
{
    double most = 0, largest = 1e-30;

    for (int64_t i = 0; i < n; i++) {
        double d = fabs((double)got[i] - want[i]);

        most = d > most || isnan(d) ? d : most;
        largest = fmax(largest, fabs(want[i]));
    }
    return isnan(most) ? HUGE_VAL : most / largest;
}

/* ---- whole samples ---- */

/* Every layer has the values that it has in a session without stripes, and so have all its kernels
 * of whole samples, also at batch 3. */
static void layouts_give_the_same_values(struct subject *t, const char *name)
{
    struct vbs_session *plain = open_session(t, false, NULL, 0);
    char **tensors = plain ? run_network(t, plain) : NULL;
    double worst = tensors ? 0 : HUGE_VAL;

    for (int k = 1; tensors && k <= plain->n_layers; k++) {
        int64_t n = elements_of(t->network, k);
        float *want = malloc((size_t)n * sizeof *want), *got = malloc((size_t)n * sizeof *got);

        plain->ops->read(&t->ctx, plain, k, 1, tensors[k], want);
        t->session->ops->read(&t->ctx, t->session, k, 1, t->tensors[k], got);
        worst = fmax(worst, difference(got, want, n));
        free(want);
        free(got);
    }
    ok(worst < TOLERANCE, "%s: layers give the values of other layouts (%g)", name, worst);
    free_tensors(plain, tensors);
    if (plain)
        plain->ops->close(plain);
}

static void kernels_of_whole_samples_agree(struct subject *t, const char *name)
{
    struct vbs_session *s = t->session;
    double worst = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        const struct vbs_profile_layer *l = &s->layers[k->layer];
        const void *src[MAX_INPUTS];
        void *copies[MAX_INPUTS] = {0}, *dst;

        if (k->rows > 0)
            continue;
        for (int j = 0; j < l->n_inputs; j++) {
            int64_t bytes = s->layers[l->inputs[j]].out_bytes;

            copies[j] = s->ops->alloc(s, bytes * k->batch);
            for (int n = 0; n < k->batch; n++)
                memcpy((char *)copies[j] + n * bytes, t->tensors[l->inputs[j]], (size_t)bytes);
            src[j] = copies[j];
        }
        dst = l->in_place ? copies[0] : s->ops->alloc(s, l->out_bytes * k->batch);
        if (!run_kernel(t, s, i, src, dst))
            worst = HUGE_VAL;
        for (int n = 0; n < k->batch; n++)
            worst =
                fmax(worst, difference((float *)dst + n * l->out_bytes / 4,
                                       (float *)(void *)t->tensors[k->layer], l->out_bytes / 4));
        if (!l->in_place)
            s->ops->free(s, dst);
        for (int j = 0; j < l->n_inputs; j++)
            s->ops->free(s, copies[j]);
    }
    ok(worst < TOLERANCE, "%s: all kernels of whole samples agree (%g)", name, worst);
}

/* ---- stripes ---- */

static int64_t floor_div(int64_t a, int64_t b)
{
    return a / b - (a % b < 0);
}

/* Makes a sample of NaN but for the rows of the input that rows [row, row + n) read; *first: the
 * first of these. */
static float *rows_alone(struct subject *t, int layer, int input, int row, int n,
                         const void **first)
{
    const struct vbs_profile_layer *l = &t->session->layers[layer];
    const struct vbs_profile_layer *in = &t->session->layers[l->inputs[input]];
    const struct vbs_reach *reach = &l->reaches[input];
    float *sample = t->session->ops->alloc(t->session, in->out_bytes);
    int64_t from = 0, to = in->rows - 1, bytes;

    if (reach->unit == 0) {
        memcpy(sample, t->tensors[l->inputs[input]], (size_t)in->out_bytes);
        *first = sample;
        return sample;
    }
    bytes = in->out_bytes / in->rows;
    from = floor_div(reach->step * (int64_t)row + reach->low, reach->unit);
    to = floor_div(reach->step * ((int64_t)row + n - 1) + reach->high, reach->unit);
    from = from < 0 ? 0 : from;
    to = to > in->rows - 1 ? in->rows - 1 : to;
    for (int64_t i = 0; i < in->out_bytes / 4; i++)
        sample[i] = NAN;
    memcpy((char *)sample + from * bytes, t->tensors[l->inputs[input]] + from * bytes,
           (size_t)((to - from + 1) * bytes));
    *first = (char *)sample + from * bytes;
    return sample;
}

/* Runs a kernel on rows alone. Gives the distance from the whole layer; HUGE_VAL: it failed, or
 * wrote other rows. */
static double stripe_differs(struct subject *t, struct vbs_session *session, int kernel, int row)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    const struct vbs_profile_layer *l = &session->layers[k->layer];
    int64_t bytes = l->out_bytes / l->rows * k->rows, at = l->out_bytes / l->rows * row;
    unsigned char *dst = guarded(session, bytes);
    const void *src[MAX_INPUTS];
    float *samples[MAX_INPUTS];
    double differs = HUGE_VAL;

    for (int i = 0; i < l->n_inputs; i++)
        samples[i] = rows_alone(t, k->layer, i, row, k->rows, &src[i]);
    if (run_kernel(t, session, kernel, src, dst) && is_guard(dst + bytes, GUARD_BYTES))
        differs = difference((float *)(void *)dst, (float *)(void *)(t->tensors[k->layer] + at),
                             bytes / 4);
    for (int i = 0; i < l->n_inputs; i++)
        session->ops->free(session, samples[i]);
    session->ops->free(session, dst);
    return differs;
}

/* Checks the kernels of a row of a profile at all places of the layer. */
static bool works_anywhere(struct subject *t, const struct vbs_kernel *k)
{
    int n = t->session->layers[k->layer].rows - k->rows + 1;
    struct vbs_requested_kernel *requested = calloc((size_t)n, sizeof *requested);
    struct vbs_session *session;
    bool right;

    for (int row = 0; row < n; row++)
        requested[row] = (struct vbs_requested_kernel){
            .layer = k->layer, .batch = 1, .row = row, .rows = k->rows, .algorithm = k->algorithm};
    session = open_session(t, true, requested, n);
    right = session && session->n_kernels == n;
    if (!session)
        printf("# %s\n", t->ctx.detail);
    for (int row = 0; right && row < n; row++) {
        const struct vbs_kernel *made = &session->kernels[row];
        double differs = stripe_differs(t, session, row, row);

        right = differs < TOLERANCE && made->rows == k->rows && made->ws_bytes <= k->ws_bytes &&
                made->packed_bytes == k->packed_bytes && made->weight_bytes == k->weight_bytes;
        if (!right)
            printf("# layer %d, rows %d + %d, %s: %g, workspace %lld of %lld\n", k->layer, row,
                   k->rows, k->algorithm, differs, (long long)made->ws_bytes,
                   (long long)k->ws_bytes);
    }
    if (session)
        session->ops->close(session);
    free(requested);
    return right;
}

static void stripes_give_the_same_values(struct subject *t, const char *name, int n_by_rows)
{
    int n_layers = 0, n_kernels = 0, n_bad = 0, n_missing = 0;

    for (int k = 1; k <= t->session->n_layers; k++) {
        const struct vbs_profile_layer *l = &t->session->layers[k];

        n_layers += l->reaches != NULL;
        for (int n = 1; l->reaches && n < l->rows; n *= 2) {
            int n_made = 0;

            for (int i = 0; i < t->session->n_kernels; i++)
                n_made += t->session->kernels[i].layer == k && t->session->kernels[i].rows == n;
            n_missing += n_made == 0;
        }
    }
    for (int i = 0; i < t->session->n_kernels; i++)
        if (t->session->kernels[i].rows > 0) {
            n_kernels++;
            n_bad += !works_anywhere(t, &t->session->kernels[i]);
        }
    ok(n_layers == n_by_rows && n_missing == 0,
       "%s: %d of %d layers have kernels on rows, %d heights have none", name, n_layers, n_by_rows,
       n_missing);
    ok(n_bad == 0, "%s: %d of %d kernels on rows differ from whole layers", name, n_bad, n_kernels);
}

/* ---- rows of tensors ---- */

static void rows_can_be_written_and_read(struct subject *t, const char *name)
{
    struct vbs_session *s = t->session;
    int n_bad = 0, n_with = 0;

    for (int k = 0; k <= s->n_layers; k++) {
        int64_t n = elements_of(t->network, k), bytes = s->layers[k].out_bytes;
        float *values = malloc((size_t)n * sizeof *values), *got = calloc((size_t)n, sizeof *got);
        char *memory = s->ops->alloc(s, bytes);

        s->ops->read(&t->ctx, s, k, 1, t->tensors[k], values);
        for (int row = 0; row < s->layers[k].rows; row += 3) {
            int m = s->layers[k].rows - row < 3 ? s->layers[k].rows - row : 3;
            char *at = memory + bytes / s->layers[k].rows * row;

            n_with++;
            n_bad += s->ops->write_rows(&t->ctx, s, k, row, m, values, at) != VBS_OK ||
                     s->ops->read_rows(&t->ctx, s, k, row, m, at, got) != VBS_OK;
        }
        if (s->layers[k].rows > 0)
            n_bad += memcmp(memory, t->tensors[k], (size_t)bytes) != 0 ||
                     memcmp(got, values, (size_t)n * sizeof *got) != 0;
        n_bad +=
            s->ops->write_rows(&t->ctx, s, k, s->layers[k].rows, 1, values, memory) != VBS_INVALID;
        s->ops->free(s, memory);
        free(values);
        free(got);
    }
    ok(n_bad == 0 && n_with > 0, "%s: rows are written and read as samples are", name);
}

static void try_case(int c)
{
    struct subject t = {0};
    char text[1000];

    snprintf(text, sizeof text, "model case\n%s", CASES[c].text);
    if (ok(vbs_network_parse(&t.ctx, "case", text, strlen(text), NULL, &t.network) == VBS_OK &&
               vbs_backend_find(&t.ctx, "onednn", &t.backend) == VBS_OK &&
               (t.session = open_session(&t, true, NULL, 0)) &&
               (t.tensors = run_network(&t, t.session)),
           "%s: opens and runs", CASES[c].name)) {
        layouts_give_the_same_values(&t, CASES[c].name);
        kernels_of_whole_samples_agree(&t, CASES[c].name);
        stripes_give_the_same_values(&t, CASES[c].name, CASES[c].n_by_rows);
        rows_can_be_written_and_read(&t, CASES[c].name);
    } else {
        printf("# %s\n", t.ctx.detail);
    }
    if (t.session) {
        free_tensors(t.session, t.tensors);
        t.session->ops->close(t.session);
    }
    vbs_network_free(t.network);
}

int main(void)
{
    for (int c = 0; c < N_CASES; c++)
        try_case(c);
    return done_testing();
}
