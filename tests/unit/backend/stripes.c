/*
 * Sessions with stripes: tensors with the channels last give the values of other layouts, kernels
 * on rows give those of kernels of whole samples from the rows that they read alone, and rows can
 * be written and read one by one.
 */
#include "vbslab/vbslab.h"

#include "support/stripes_bench.h"
#include "support/tap.h"

#include <limits.h>
#include <stdlib.h>

#define TOLERANCE 1e-4 /* of the largest value: Winograd's sums are other sums */

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
    {"227 rows",
     "input 3x227x11\nconv a out=8 kernel=11 stride=4 pad=1\nrelu r\nmaxpool p kernel=3 stride=2 "
     "pad=1\n",
     2},
    {"299 rows",
     "input 3x299x7\nconv a out=8 kernel=3 stride=2\nrelu r\nconv b out=8 kernel=3 pad=1\n", 2},
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
    {"largest",
     "input 16x13x5\nconv a out=96 kernel=3 pad=1\nmaxpool g kernel=global\nrelu r\nfc f out=10\n",
     2},
    {"means of rows", "input 16x7x1\navgpool g kernel=global\n", 1},
};
#define N_CASES ((int)(sizeof CASES / sizeof CASES[0]))

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
static char **run_network(struct stripes_bench *t, struct vbs_session *session)
{
    char **tensors = stripes_tensors(session);
    bool worked = tensors != NULL;

    for (int k = 0; worked && k <= session->n_layers; k++) {
        const struct vbs_profile_layer *l = &session->layers[k];
        const void *src[STRIPES_MAX_INPUTS];

        if (k == 0) {
            worked = session->ops->fill(&t->ctx, session, 0, 1, tensors[0]) == VBS_OK;
            continue;
        }
        sources(session, tensors, k, src);
        if (l->in_place) {
            memcpy(tensors[k], src[0], (size_t)l->out_bytes);
            src[0] = tensors[k];
        }
        worked = stripes_run(t, session, whole_kernel(session, k), src, tensors[k]);
    }
    return worked ? tensors : NULL;
}

/* ---- whole samples ---- */

/* Every layer has the values that it has in a session without stripes, and so have all its kernels
 * of whole samples, also at batch 3. */
static void layouts_give_the_same_values(struct stripes_bench *t, const char *name)
{
    struct vbs_session *plain = stripes_open(t, false, NULL, 0);
    char **tensors = plain ? run_network(t, plain) : NULL;
    double worst = tensors ? 0 : HUGE_VAL;

    for (int k = 1; tensors && k <= plain->n_layers; k++) {
        int64_t n = stripes_elements(t->network, k);
        float *want = malloc((size_t)n * sizeof *want), *got = malloc((size_t)n * sizeof *got);

        plain->ops->read(&t->ctx, plain, k, 1, tensors[k], want);
        t->session->ops->read(&t->ctx, t->session, k, 1, t->tensors[k], got);
        worst = fmax(worst, stripes_difference(got, want, n, want, n));
        free(want);
        free(got);
    }
    ok(worst < TOLERANCE, "%s: layers give the values of other layouts (%g)", name, worst);
    stripes_free_tensors(plain, tensors);
    if (plain)
        plain->ops->close(plain);
}

static double differs_from_sample(const struct vbs_profile_layer *l, const float *got,
                                  const float *want)
{
    return stripes_difference(got, want, l->out_bytes / 4, want, l->out_bytes / 4);
}

static void kernels_of_whole_samples_agree(struct stripes_bench *t, const char *name)
{
    struct vbs_session *s = t->session;
    double worst = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        const struct vbs_profile_layer *l = &s->layers[k->layer];
        const void *src[STRIPES_MAX_INPUTS];
        void *copies[STRIPES_MAX_INPUTS] = {0}, *dst;

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
        if (!stripes_run(t, s, i, src, dst))
            worst = HUGE_VAL;
        for (int n = 0; n < k->batch; n++)
            worst = fmax(worst, differs_from_sample(l, (float *)dst + n * l->out_bytes / 4,
                                                    (float *)(void *)t->tensors[k->layer]));
        if (!l->in_place)
            s->ops->free(s, dst);
        for (int j = 0; j < l->n_inputs; j++)
            s->ops->free(s, copies[j]);
    }
    ok(worst < TOLERANCE, "%s: all kernels of whole samples agree (%g)", name, worst);
}

/* ---- stripes ---- */

static void stripes_give_the_same_values(struct stripes_bench *t, const char *name, int n_by_rows)
{
    const struct stripes_result r = stripes_check(t, TOLERANCE);

    ok(r.n_layers == n_by_rows && r.n_missing == 0,
       "%s: %d of %d layers have kernels on rows, %d heights have none", name, r.n_layers,
       n_by_rows, r.n_missing);
    ok(r.n_bad == 0, "%s: %d of %d kernels on rows differ from whole layers", name, r.n_bad,
       r.n_kernels);
}

/* ---- rows of tensors ---- */

static void rows_can_be_written_and_read(struct stripes_bench *t, const char *name)
{
    struct vbs_session *s = t->session;
    int n_bad = 0, n_with = 0;

    for (int k = 0; k <= s->n_layers; k++) {
        int64_t n = stripes_elements(t->network, k), bytes = s->layers[k].out_bytes;
        float *values = malloc((size_t)n * sizeof *values), *got = calloc((size_t)n, sizeof *got);
        char *memory = s->ops->alloc(s, bytes);
        bool accumulates = s->layers[k].reaches && s->layers[k].reaches[0].unit == 0 &&
                           s->layers[k].reaches[0].step == 1;
        int rows = accumulates ? 0 : s->layers[k].rows; /* its output has none */

        s->ops->read(&t->ctx, s, k, 1, t->tensors[k], values);
        for (int row = 0; row < rows; row += 3) {
            int m = rows - row < 3 ? rows - row : 3;
            char *at = memory + bytes / rows * row;

            n_with++;
            n_bad += s->ops->write_rows(&t->ctx, s, k, row, m, values, at) != VBS_OK ||
                     s->ops->read_rows(&t->ctx, s, k, row, m, at, got) != VBS_OK;
        }
        if (rows > 0)
            n_bad += memcmp(memory, t->tensors[k], (size_t)bytes) != 0 ||
                     memcmp(got, values, (size_t)n * sizeof *got) != 0;
        n_bad += s->ops->write_rows(&t->ctx, s, k, rows, 1, values, memory) != VBS_INVALID;
        s->ops->free(s, memory);
        free(values);
        free(got);
    }
    ok(n_bad == 0 && n_with > 0, "%s: rows are written and read as samples are", name);
}

static void try_case(int c, int threads)
{
    struct stripes_bench t = {.threads = threads};
    char text[1000], name[100];

    snprintf(name, sizeof name, "%s, %d threads", CASES[c].name, threads);
    snprintf(text, sizeof text, "model case\n%s", CASES[c].text);
    if (ok(vbs_network_parse(&t.ctx, "case", text, strlen(text), NULL, &t.network) == VBS_OK &&
               vbs_backend_find(&t.ctx, "onednn", &t.backend) == VBS_OK &&
               (t.session = stripes_open(&t, true, NULL, 0)) &&
               (t.tensors = run_network(&t, t.session)),
           "%s: opens and runs", name)) {
        t.outputs = t.tensors;
        layouts_give_the_same_values(&t, name);
        kernels_of_whole_samples_agree(&t, name);
        stripes_give_the_same_values(&t, name, CASES[c].n_by_rows);
        rows_can_be_written_and_read(&t, name);
    } else {
        printf("# %s\n", vbs_detail(&t.ctx));
    }
    if (t.session) {
        stripes_free_tensors(t.session, t.tensors);
        t.session->ops->close(t.session);
    }
    vbs_network_free(t.network);
}

/* ---- refusals ---- */

static void check_refused(struct stripes_bench *t, bool stripes,
                          struct vbs_requested_kernel requested, const char *message)
{
    struct vbs_session *session;

    requested.algorithm = "any";
    session = stripes_open(t, stripes, &requested, 1);
    ok(!session && t->ctx.status == VBS_INVALID, "rows %d + %d of layer %d are refused",
       requested.row, requested.rows, requested.layer);
    is_str(vbs_detail(&t->ctx), message, "with one clear line");
}

/* Rows that a layer does not have, and layers that end a segment, between others that do not. */
static void wrong_rows_are_refused(void)
{
    static const char TEXT[] = "model m\ninput 8x7x5\nconv a out=64 kernel=3 pad=1\nfc f out=9\n";
    struct stripes_bench t = {.threads = 1};
    const struct vbs_requested_kernel more = {.layer = 1, .batch = 1, .rows = 8};
    const struct vbs_requested_kernel beyond = {.layer = 1, .batch = 1, .row = 5, .rows = 3};
    const struct vbs_requested_kernel before = {.layer = 1, .batch = 1, .row = -1, .rows = 2};
    const struct vbs_requested_kernel none = {.layer = 1, .batch = 1, .row = 4, .rows = -1};
    const struct vbs_requested_kernel most = {
        .layer = 1, .batch = 1, .row = INT_MAX, .rows = INT_MAX};
    const struct vbs_requested_kernel whole = {.layer = 2, .batch = 1, .rows = 1};
    const struct vbs_requested_kernel batch = {.layer = 1, .batch = 2, .rows = 2};
    const struct vbs_requested_kernel slice = {
        .layer = 1, .batch = 1, .rows = 2, .slice = 1, .n_slices = 2};

    if (vbs_network_parse(&t.ctx, "case", TEXT, strlen(TEXT), NULL, &t.network) != VBS_OK ||
        vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK)
        bail_out("%s", vbs_detail(&t.ctx));
    check_refused(&t, true, more, "layer 'a': there are no rows 0 to 7 of 7");
    check_refused(&t, true, beyond, "layer 'a': there are no rows 5 to 7 of 7");
    check_refused(&t, true, before, "layer 'a': there are no rows -1 to 0 of 7");
    check_refused(&t, true, none, "layer 'a': there are no rows 4 to 2 of 7");
    check_refused(&t, true, most, "layer 'a': there are no rows 2147483647 to 4294967293 of 7");
    check_refused(&t, true, whole, "layer 'f' (fc) has no kernels on rows");
    check_refused(&t, true, batch,
                  "layer 'a': kernels on rows are of one sample, not of a batch of 2");
    check_refused(&t, true, slice, "layer 'a': slices have no kernels on rows");
    check_refused(&t, false, more, "layer 'a' (conv) has no kernels on rows");
    vbs_network_free(t.network);
}

int main(void)
{
    wrong_rows_are_refused();
    for (int threads = 1; threads <= 2; threads++)
        for (int c = 0; c < N_CASES; c++)
            try_case(c, threads);
    return done_testing();
}
