/*
 * Kernels on rows of every operator, in every situation of the tables of cases: fused operators,
 * constants, operands that are broadcast, groups, views. They give the rows that the definition
 * gives from the rows that they read alone, on one thread and on two; kernels of whole samples in
 * the layouts of such sessions give what the definition gives.
 */
#include "cases/backend_cases.h"
#include "support/stripes_bench.h"
#include "support/tap.h"

#include <stdlib.h>

#define TOLERANCE 1e-4 /* of the largest value: Winograd's sums are other sums */

static struct {
    int by_rows[VBS_N_OPS]; /* layers */
    int fused[VBS_N_OPS];   /* operators fused into such layers */
    int n_constants, n_broadcast;
} counts;

/* Makes a sample of each tensor with values from low to high, or from -1 to 1. */
static bool fill(struct stripes_bench *t, float low, float high)
{
    t->tensors = stripes_tensors(t->session);
    for (int k = 0; t->tensors && k <= t->session->n_layers; k++) {
        int64_t n = stripes_elements(t->network, k);
        float *values = malloc((size_t)n * sizeof *values);

        vbs_tensor_values(k, 0, n, values);
        for (int64_t i = 0; i < n && (low != 0 || high != 0); i++)
            values[i] = low + (high - low) * (values[i] + 1) / 2;
        if (t->session->ops->write(&t->ctx, t->session, k, 1, values, t->tensors[k]) != VBS_OK)
            return false;
        free(values);
    }
    return t->tensors;
}

/* Runs the kernels of whole samples at batch 1 of layers that are not in place. */
static double whole_samples_differ(struct stripes_bench *t)
{
    struct vbs_session *s = t->session;
    double worst = 0;

    for (int i = 0; i < s->n_kernels; i++) {
        const struct vbs_kernel *k = &s->kernels[i];
        const struct vbs_profile_layer *l = &s->layers[k->layer];
        const float *want = (const float *)(const void *)t->outputs[k->layer];
        const void *src[STRIPES_MAX_INPUTS];
        float *dst;
        double differs;

        if (k->rows > 0 || k->batch > 1)
            continue;
        dst = s->ops->alloc(s, l->out_bytes);
        for (int j = 0; j < l->n_inputs; j++)
            src[j] = t->tensors[l->inputs[j]];
        if (l->in_place) {
            memcpy(dst, src[0], (size_t)l->out_bytes);
            src[0] = dst;
        }
        differs = stripes_run(t, s, i, src, dst)
                      ? stripes_difference(dst, want, l->out_bytes / 4, want, l->out_bytes / 4)
                      : HUGE_VAL;
        if (differs > TOLERANCE)
            printf("# layer %d, %s: %g\n", k->layer, k->algorithm, differs);
        worst = fmax(worst, differs);
        s->ops->free(s, dst);
    }
    return worst;
}

static void count(const struct stripes_bench *t)
{
    for (int k = 1; k <= t->network->n_layers; k++) {
        const struct vbs_layer *l = &t->network->layers[k];
        const struct vbs_reach *reaches = t->session->layers[k].reaches;

        if (!reaches)
            continue;
        counts.by_rows[l->op]++;
        counts.n_constants += l->operand.n_dims > 0;
        for (int i = 0; i < l->n_inputs; i++)
            counts.n_broadcast += reaches[i].unit == 0 && reaches[i].step == 0;
        for (int i = 0; i < l->n_fused; i++)
            counts.fused[l->fused[i].op]++;
    }
}

/* Gives whether some height may have no kernels: oneDNN has none for one position of a transposed
 * convolution along its only dimension. */
static bool may_miss(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (network->layers[k].op == VBS_OP_CONV_TRANSPOSE && network->layers[k].shape.n_dims == 2)
            return true;
    return false;
}

/* Checks a case; its network is freed. */
static void check(const char *name, struct vbs_network *network, int threads, float low, float high)
{
    struct stripes_bench t = {.network = network, .threads = threads};
    struct stripes_result r;
    double whole;

    if (vbs_backend_find(&t.ctx, "onednn", &t.backend) != VBS_OK ||
        !(t.session = stripes_open(&t, true, NULL, 0)) || !fill(&t, low, high) ||
        !stripes_compute(&t))
        bail_out("%s: %s", name, vbs_detail(&t.ctx));
    whole = whole_samples_differ(&t);
    r = stripes_check(&t, TOLERANCE);
    ok(whole <= TOLERANCE && r.n_bad == 0 && (r.n_missing == 0 || may_miss(network)),
       "%s, %d threads: %d layers by rows, %d of %d kernels on rows are wrong (%g), %d missing",
       name, threads, r.n_layers, r.n_bad, r.n_kernels, fmax(whole, r.worst), r.n_missing);
    count(&t);
    stripes_free_tensors(t.session, t.outputs);
    stripes_free_tensors(t.session, t.tensors);
    t.session->ops->close(t.session);
    vbs_network_free(t.network);
}

/* Gives whether a layer chooses elements by values, which seeded values do not. */
static bool chooses(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (network->layers[k].op == VBS_OP_EMBED || network->layers[k].op == VBS_OP_PICK ||
            network->layers[k].op == VBS_OP_TAKE || network->layers[k].op == VBS_OP_TOPK)
            return true;
    return false;
}

/* Checks one case of each so many. */
static void check_all(int threads, int of)
{
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    const struct operator_case *c;

    for (int i = 0; backend_cases[i].name; i++) {
        if (i % of != 0)
            continue;
        if (backend_case_network(&ctx, &backend_cases[i], &network) != VBS_OK)
            bail_out("%s: %s", backend_cases[i].name, vbs_detail(&ctx));
        check(backend_cases[i].name, network, threads, 0, 0);
    }
    for (int i = 0; (c = operator_case_at(i)); i++) {
        if (i % of != 0)
            continue;
        if (operator_case_network(&ctx, c, &network) != VBS_OK)
            bail_out("%s: %s", c->name, vbs_detail(&ctx));
        if (chooses(network))
            vbs_network_free(network);
        else
            check(c->name, network, threads, c->low, c->high);
    }
}

/* Checks that operators have had kernels on rows, so that nothing above was empty. */
static void check_counts(void)
{
    static const enum vbs_op LAYERS[] = {
        VBS_OP_CONV,     VBS_OP_CONV_TRANSPOSE,
        VBS_OP_POOL_MAX, VBS_OP_POOL_AVG,
        VBS_OP_RESIZE,   VBS_OP_LRN,
        VBS_OP_SOFTMAX,  VBS_OP_BATCHNORM,
        VBS_OP_SCALE,    VBS_OP_CONCAT,
        VBS_OP_ADD,      VBS_OP_SUB,
        VBS_OP_MUL,      VBS_OP_DIV,
        VBS_OP_MAX,      VBS_OP_PRELU,
        VBS_OP_RELU,     VBS_OP_TANH,
        VBS_OP_SHUFFLE,  VBS_OP_SLICE,
        VBS_OP_PAD,
    };
    static const enum vbs_op FUSED[] = {VBS_OP_RELU,       VBS_OP_CLIP,       VBS_OP_SIGMOID,
                                        VBS_OP_LEAKY_RELU, VBS_OP_HARD_SWISH, VBS_OP_GELU,
                                        VBS_OP_BATCHNORM};

    for (size_t i = 0; i < sizeof LAYERS / sizeof LAYERS[0]; i++)
        ok(counts.by_rows[LAYERS[i]] > 0, "'%s' is computed by rows in %d layers",
           vbs_op_word(LAYERS[i]), counts.by_rows[LAYERS[i]]);
    for (size_t i = 0; i < sizeof FUSED / sizeof FUSED[0]; i++)
        ok(counts.fused[FUSED[i]] > 0, "'%s' is fused into %d of them", vbs_op_word(FUSED[i]),
           counts.fused[FUSED[i]]);
    ok(counts.n_constants > 0 && counts.n_broadcast > 0,
       "%d have constant operands, %d operands are the same for all rows", counts.n_constants,
       counts.n_broadcast);
}

int main(void)
{
    struct vbs_backend_info info;
    const struct vbs_backend *backend;
    struct vbs_ctx ctx = {0};

    if (vbs_backend_find(&ctx, "onednn", &backend) != VBS_OK)
        bail_out("no backend");
    backend->probe(&info);
    if (!info.usable) {
        printf("1..0 # SKIP %s\n", info.why);
        return 0;
    }
    check_all(1, 1);
    check_all(2, 4);
    check_counts();
    return done_testing();
}
