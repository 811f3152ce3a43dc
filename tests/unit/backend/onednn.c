/* The onednn backend: every kernel that it offers for small layers of every kind computes what the
 * definition says, stays within its memory and keeps padding zero. */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "support/tap.h"

#include <stdlib.h>
#include <string.h>

/* ---- whole networks ---- */

/* Runs all layers at batch on tensors of its own; output: batch samples of the last layer,
 * plain. */
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
            src[i] = t->canonical[l->inputs[i]];
        if (l->in_place)
            memcpy(t->canonical[k], src[0], (size_t)(batch * l->out_bytes));
        if (l->in_place)
            src[0] = t->canonical[k];
        ws = s->ops->alloc(t->session, s->kernels[chosen].ws_bytes);
        operands = (struct vbs_operands){.src = src, .dst = t->canonical[k], .ws = ws};
        worked = ws && s->ops->run(&t->ctx, t->session, chosen, &operands, &time_us) == VBS_OK;
        s->ops->free(t->session, ws);
    }
    return worked && s->ops->read(&t->ctx, t->session, s->n_layers, batch,
                                  t->canonical[s->n_layers], output) == VBS_OK;
}

/* Computes the whole network by definition, for the samples of the input. */
static bool reference_forward(struct bench *t, float *output)
{
    int n = t->network->n_layers;

    for (int k = 1; k <= n; k++) {
        float *all = bench_reference(t, k);

        if (!all)
            return false;
        free(t->plain[k]);
        t->plain[k] = all;
    }
    memcpy(output, t->plain[n], (size_t)(MAX_BATCH * bench_elements(t, n)) * sizeof *output);
    return true;
}

static void check_network(const struct backend_case *c, int threads)
{
    float want[MAX_BATCH * 64], got[MAX_BATCH * 64];
    struct bench t;
    int64_t n;

    if (!bench_open(&t, c, "onednn", threads) || !bench_tensors(&t) ||
        bench_elements(&t, t.network->n_layers) > 64 || !reference_forward(&t, want)) {
        ok(false, "%s, %d threads: opens", c->name, threads);
        bench_close(&t);
        return;
    }
    n = bench_elements(&t, t.network->n_layers);
    for (int batch = 1; batch <= MAX_BATCH; batch++)
        for (int last = 0; last <= 1; last++)
            ok(forward(&t, batch, last, got) && difference(got, want, batch * n) <= 1e-4,
               "%s from end to end at batch %d, %s algorithms, %d threads", c->name, batch,
               last ? "last" : "first", threads);
    bench_close(&t);
}

/* ---- the rest of the contract ---- */

static void check_provenances(void)
{
    struct bench a, b;
    bool opened = bench_open(&a, &backend_cases[0], "onednn", 1);

    opened = bench_open(&b, &backend_cases[0], "onednn", 1) && opened;
    ok(opened, "two sessions at once");
    if (opened) {
        const struct vbs_provenance *x = &a.session->provenance;
        const struct vbs_provenance *y = &b.session->provenance;

        is_str(x->backend, "onednn", "provenance name the backend");
        is_str(x->library, y->library, "the library is the same in both");
        is_str(x->device, y->device, "and the device");
        is_str(x->date, "", "no time in them");
        is_str(x->input, "3x23x23", "the input's shape");
        is_int(x->threads, 1, "the threads that were asked for");
        ok(strstr(x->library, "oneDNN ") == x->library, "the library has its name");
        ok(x->device[0] && strstr(x->notes, "threads "), "device and notes say something");
    }
    bench_close(&a);
    bench_close(&b);
}

static void check_read_and_write(void)
{
    static const struct backend_case c = {"read and write", "input 20x5x4\nrelu r from=input\n"};
    float values[40 * 20], back[40 * 20];
    struct bench t;
    void *memory;

    if (!bench_open(&t, &c, "onednn", 0) ||
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
    bench_close(&t);
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
        if (!bench_open(&t, &c, "onednn", 0)) {
            ok(false, "%s: %s", adds[i].name, vbs_detail(&t.ctx));
            bench_close(&t);
            continue;
        }
        for (int k = t.session->n_layers; k >= 1; k--)
            if (strcmp(t.session->layers[k].name, "s") == 0)
                add = k;
        ok(t.session->layers[add].in_place == adds[i].in_place &&
               t.session->layers[add].inputs[0] == adds[i].first,
           "%s", adds[i].name);
        bench_close(&t);
    }
}

static void check_cancel(void)
{
    static const sig_atomic_t stop = 1;
    struct bench t;
    struct vbs_backend_options options = {.struct_size = sizeof(struct vbs_backend_options),
                                          .batches = (const int[]){1},
                                          .n_batches = 1};
    struct vbs_session *session = NULL;
    const struct vbs_backend *backend;
    bool opened = bench_open(&t, &backend_cases[0], "onednn", 0) &&
                  vbs_backend_find(&t.ctx, "onednn", &backend) == VBS_OK;

    t.ctx.cancel = &stop;
    ok(opened && backend->open(&t.ctx, t.network, &options, &session) == VBS_INTERRUPTED &&
           !session,
       "opening can be interrupted");
    bench_close(&t);
}

/* Reports a check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

/* A convolution of small groups between plain tensors is not left to a product of matrices for each
 * group. */
static void check_small_groups(void)
{
    static const struct backend_case c = {"small groups on plain channels",
                                          "input 3x9x9\nconv d out=3 kernel=3 pad=1 groups=3\n"};
    bool copies = false;
    struct bench t;

    bench_check(&c, report);
    if (bench_open(&t, &c, "onednn", 0))
        for (int i = 0; i < t.session->n_kernels; i++)
            copies |= strstr(t.session->kernels[i].algorithm, "+reorder") != NULL;
    ok(copies, "%s: kernels that copy are offered", c.name);
    bench_close(&t);
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
        bench_check(&backend_cases[i], report);
    check_network(backend_case("an inception block"), 1);
    check_network(backend_case("an inception block"), 2);
    check_network(backend_case("three dimensions"), 0);
    check_provenances();
    check_read_and_write();
    check_in_place();
    check_cancel();
    check_small_groups();
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
