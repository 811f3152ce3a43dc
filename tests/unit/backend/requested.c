/*
 * Every measured kernel can be run: every kernel that the onednn backend offers for a small network
 * is opened once more by its name alone, as the executor does, and writes the same output, to the
 * bit. It needs the same workspace and the same weights. The second session stands for another
 * process: oneDNN's cache is emptied before it, and the kernels are requested in the opposite
 * order.
 */
#include "vbslab/vbslab.h"

#include "support/backend_bench.h"
#include "support/tap.h"

#include <dnnl.h>
#include <stdlib.h>

static void empty_cache(void)
{
    int capacity = 0;

    if (dnnl_get_primitive_cache_capacity(&capacity) != dnnl_success ||
        dnnl_set_primitive_cache_capacity(0) != dnnl_success ||
        dnnl_set_primitive_cache_capacity(capacity) != dnnl_success)
        ok(false, "oneDNN's cache is emptied");
}

/* Runs a kernel on seeded tensors; gives its output in the canonical layout, or null. */
static char *output_of(struct bench *t, struct vbs_session *s, int kernel)
{
    const struct vbs_kernel *k = &s->kernels[kernel];
    const struct vbs_profile_layer *layer = &s->layers[k->layer];
    const void *src[MAX_CASE_NODES];
    char *inputs[MAX_CASE_NODES] = {NULL}, *ws = s->ops->alloc(s, k->ws_bytes + 1);
    char *dst = layer->in_place ? NULL : s->ops->alloc(s, k->batch * layer->out_bytes);
    bool made = ws && (dst || layer->in_place);
    double time_us;

    for (int i = 0; i < layer->n_inputs && made; i++) {
        src[i] = inputs[i] = s->ops->alloc(s, k->batch * s->layers[layer->inputs[i]].out_bytes);
        made =
            inputs[i] && s->ops->fill(&t->ctx, s, layer->inputs[i], k->batch, inputs[i]) == VBS_OK;
    }
    if (made && layer->in_place) {
        dst = inputs[0];
        inputs[0] = NULL;
    }
    made = made &&
           s->ops->run(&t->ctx, s, kernel, &(struct vbs_operands){.src = src, .dst = dst, .ws = ws},
                       &time_us) == VBS_OK;
    for (int i = 0; i < layer->n_inputs; i++)
        free(inputs[i]);
    free(ws);
    if (made)
        return dst;
    free(dst);
    return NULL;
}

static bool same_kernel(struct bench *t, int measured, struct vbs_session *second, int requested)
{
    const struct vbs_kernel *a = &t->session->kernels[measured];
    const struct vbs_kernel *b = &second->kernels[requested];
    size_t bytes = (size_t)(a->batch * t->session->layers[a->layer].out_bytes);
    char *x = output_of(t, t->session, measured), *y = output_of(t, second, requested);
    bool same = x && y && memcmp(x, y, bytes) == 0 && strcmp(a->algorithm, b->algorithm) == 0 &&
                a->ws_bytes >= b->ws_bytes && a->weight_bytes == b->weight_bytes &&
                a->packed_bytes == b->packed_bytes;

    if (!same)
        printf("# %s, layer '%s', '%s' at batch %d%s\n", t->name, t->session->layers[a->layer].name,
               a->algorithm, a->batch, x && y ? "" : " does not run");
    free(x);
    free(y);
    return same;
}

/* Compares all kernels of the first session, the last one first, with those of a second one. */
static bool compare_sessions(struct bench *t)
{
    int n = t->session->n_kernels;
    struct vbs_requested_kernel *requested = calloc((size_t)n, sizeof *requested);
    struct vbs_session *second = NULL;
    bool same = requested;

    for (int i = 0; i < n && requested; i++) {
        const struct vbs_kernel *k = &t->session->kernels[n - 1 - i];

        requested[i] = (struct vbs_requested_kernel){
            .layer = k->layer, .batch = k->batch, .algorithm = k->algorithm};
    }
    empty_cache();
    same = same && bench_session(&t->ctx, t->network, requested, n, &second) == VBS_OK;
    for (int i = 0; i < n && same; i++)
        same = same_kernel(t, n - 1 - i, second, i);
    if (second)
        second->ops->close(second);
    free(requested);
    return same;
}

/* Reports the comparison and closes t. */
static void check(struct bench *t, enum vbs_status made)
{
    bool same = made == VBS_OK &&
                bench_session(&t->ctx, t->network, NULL, 0, &t->session) == VBS_OK &&
                compare_sessions(t);

    if (!ok(same, "%s: what is measured is what runs", t->name))
        printf("# %s\n", vbs_detail(&t->ctx));
    bench_close(t);
}

int main(int argc, char **argv)
{
    const struct operator_case *c;

    for (int i = 0; (c = operator_case_at(i)); i++) {
        struct bench t = {.name = c->name};

        check(&t, operator_case_network(&t.ctx, c, &t.network));
    }
    for (int i = 0; backend_cases[i].name; i++) {
        struct bench t = {.name = backend_cases[i].name};

        check(&t, backend_case_network(&t.ctx, &backend_cases[i], &t.network));
    }
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
