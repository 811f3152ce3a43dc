/*
 * Numbers that are not finite: every kernel that the onednn backend offers for the cases of all
 * operators makes of NaN, infinities, zeros below 0 and the smallest and largest numbers what the
 * definition makes of them, and of no other sample. Tensors are floats, or encoded; weights are
 * dense, or coded; layouts are those of whole samples, or of rows. What is computed otherwise is
 * listed in EXCEPTIONS, which docs/onnx.md tells; a new one fails.
 */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/backend_bench.h"
#include "support/tap.h"
#include "support/vbz_help.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the values ---- */

/* What a sample, of this number, has in some places. */
enum kind { NANS, INFINITE, EXTREME };

static float of_bits(uint32_t bits)
{
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

/* Gives value number `which` of a kind; EXTREME has two that are large. */
static float special(enum kind kind, int which, bool large)
{
    static const uint32_t BITS[][6] = {
        {0xffc00000, 0x7fc00001, 0x7f812345, 0xffc12345, 0x7fc00000, 0xff800001}, /* two signal */
        {0x7f800000, 0xff800000, 0x7f800000, 0xff800000, 0x7f800000, 0xff800000},
        {0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x7f61b1e6, 0xff61b1e6}, /* 3e38 */
    };

    return of_bits(BITS[kind][which % (kind == EXTREME && !large ? 4 : 6)]);
}

/* Gives whether all layers work on single values, so that no sum of large ones overflows. */
static bool works_on_values(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (vbs_op_class(network->layers[k].op) != VBS_CLASS_UNARY)
            return false;
    return true;
}

static bool is_one_of(enum vbs_op op, const enum vbs_op *ops, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ops[i] == op)
            return true;
    return false;
}

static bool is_extreme(enum vbs_op op)
{
    static const enum vbs_op OPS[] = {VBS_OP_POOL_MAX, VBS_OP_REDUCE_MAX, VBS_OP_REDUCE_MIN};

    return is_one_of(op, OPS, 3);
}

/* Returns whether a tensor has no value -infinity whatever the input is: its last operator sets a
 * bound, or only chooses among the values of such tensors. */
static bool is_bounded(const struct vbs_network *network, int tensor)
{
    static const enum vbs_op BOUNDS[] = {VBS_OP_RELU, VBS_OP_SIGMOID, VBS_OP_CLIP};
    static const enum vbs_op CHOICES[] = {VBS_OP_POOL_MAX, VBS_OP_CONCAT, VBS_OP_LRN,
                                          VBS_OP_DROPOUT, VBS_OP_IDENTITY};
    const struct vbs_layer *l = &network->layers[tensor];
    bool all = true;

    if (tensor == 0)
        return false;
    if (l->n_fused > 0)
        return is_one_of(l->fused[l->n_fused - 1].op, BOUNDS, 3);
    for (int i = 0; i < l->n_inputs; i++)
        all &= is_bounded(network, l->inputs[i]);
    return is_one_of(l->op, BOUNDS, 3) || (all && is_one_of(l->op, CHOICES, 5));
}

/* Fills most of each sample with one value, so that windows and lines have no other one. */
static void fill(const struct bench *t, int tensor, int64_t count, float *values)
{
    int64_t n = count / MAX_BATCH;
    const float of[MAX_BATCH] = {is_bounded(t->network, tensor) ? 0 : -INFINITY, INFINITY,
                                 -FLT_MAX};

    for (int s = 0; s < MAX_BATCH; s++)
        for (int64_t i = 0; i < 2 * n / 3; i++)
            values[s * n + i] = of[s];
}

/* Changes a few values of each sample, at places in and behind vectors. */
static void plant(const struct bench *t, int tensor, int64_t count, float *values)
{
    int64_t n = count / MAX_BATCH;
    bool large = works_on_values(t->network);

    for (int s = 0; s < MAX_BATCH; s++) {
        const int64_t places[] = {n / 3, n / 7, 0, n - 1};

        for (int i = 0; i < 4; i++)
            values[s * n + places[i]] = special((enum kind)s, tensor + i, large);
        for (int i = 0; s == EXTREME && i < 6 && n > 100; i++)
            values[s * n + 50 + i] = special((enum kind)s, i, large);
    }
    for (int64_t i = 0; is_bounded(t->network, tensor) && i < count; i++)
        values[i] = values[i] == -INFINITY ? 0 : values[i];
}

/* ---- what may come out ---- */

enum class { FINITE, NO_NUMBER, ABOVE, BELOW, N_CLASSES };

static enum class class_of(float x) {
    return isnan(x)   ? NO_NUMBER
           : isinf(x) ? (x > 0 ? ABOVE : BELOW)
                      : FINITE;
}

static bool is_own(const char *algorithm)
{
    static const char *const OWN[] = {"loop:", "winograd:", "bytes:", "joint:", "comp:"};

    for (size_t i = 0; i < sizeof OWN / sizeof OWN[0]; i++)
        if (strncmp(algorithm, OWN[i], strlen(OWN[i])) == 0)
            return true;
    return false;
}

/* oneDNN's Relu, Clip and HardSigmoid within another primitive: such a bound is the larger or the
 * smaller operand of an instruction that returns the second one where one is NaN. */
static int count_bounds(const struct vbs_layer *l, const char *algorithm)
{
    static const enum vbs_op BOUNDS[] = {VBS_OP_RELU, VBS_OP_CLIP, VBS_OP_HARD_SIGMOID};
    int n = 0;

    for (int i = 0; i < l->n_fused; i++) {
        enum vbs_op before = i > 0 ? l->fused[i - 1].op : l->op;
        bool scaled = before == VBS_OP_BATCHNORM || before == VBS_OP_SCALE;

        n += is_one_of(l->fused[i].op, BOUNDS, 3) && (!is_own(algorithm) || scaled);
    }
    return n;
}

static bool bounds_fused(const struct vbs_layer *l, const char *algorithm)
{
    return count_bounds(l, algorithm) > 0;
}

/* oneDNN's exponentials, alone and fused. */
static bool exponential(const struct vbs_layer *l, const char *algorithm)
{
    static const enum vbs_op OPS[] = {VBS_OP_EXP, VBS_OP_SIGMOID, VBS_OP_TANH};
    bool found = is_one_of(l->op, OPS, 3);

    (void)algorithm; /* they are steps of own kernels, too */
    for (int i = 0; i < l->n_fused; i++)
        found |= is_one_of(l->fused[i].op, OPS, 3);
    return found;
}

/* oneDNN's largest and smallest of a window or a row, of which some are no number. */
static bool largest(const struct vbs_layer *l, const char *algorithm)
{
    return is_extreme(l->op) && !is_own(algorithm);
}

static bool softmax(const struct vbs_layer *l, const char *algorithm)
{
    return (l->op == VBS_OP_SOFTMAX || l->op == VBS_OP_LOGSOFTMAX) && !is_own(algorithm);
}

/* Winograd's method, of oneDNN and of our own: a tile of outputs has terms of all its inputs. */
static bool in_tiles(const struct vbs_layer *l, const char *algorithm)
{
    (void)l;
    return strstr(algorithm, "wino") != NULL;
}

/* oneDNN's kernels of weights in 16 bits multiply pairs of channels, of which the second may be
 * another value whose weight is 0. */
static bool in_pairs(const struct vbs_layer *l, const char *algorithm)
{
    (void)l;
    return strncmp(algorithm, "jit_bf16:", 9) == 0;
}

/* Weights that are pruned are not multiplied. */
static bool sparse(const struct vbs_layer *l, const char *algorithm)
{
    (void)l;
    return strstr(algorithm, ":sparse") != NULL;
}

/* Factors of a fast transform are not those of its definition: a value that is no number, or
 * infinite, is multiplied by 0 in one and left out in the other. */
static bool transformed(const struct vbs_layer *l, const char *algorithm)
{
    (void)algorithm;
    return l->op == VBS_OP_DFT;
}

/* An infinite element with other ones of weight 0, which a table of taps reads in its place. */
static bool resized(const struct vbs_layer *l, const char *algorithm)
{
    (void)algorithm;
    return l->op == VBS_OP_RESIZE;
}

/* GELU of -infinity is -infinity * 0; a polynomial is not quite 0. */
static bool gelu(const struct vbs_layer *l, const char *algorithm)
{
    bool found = l->op == VBS_OP_GELU;

    (void)algorithm;
    for (int i = 0; i < l->n_fused; i++)
        found |= l->fused[i].op == VBS_OP_GELU;
    return found;
}

/* First states of zeros are not multiplied, by what a gate makes of infinite inputs. */
static bool first_states(const struct vbs_layer *l, const char *algorithm)
{
    (void)algorithm;
    return l->op == VBS_OP_GRU && l->n_inputs == 1;
}

#define BIT(class) (1u << (class))
#define ENDLESS    (BIT(ABOVE) | BIT(BELOW))
#define ANY        (BIT(FINITE) | BIT(NO_NUMBER) | ENDLESS)

/* May: what may come out, by what should. */
static const struct {
    bool (*applies)(const struct vbs_layer *l, const char *algorithm);
    unsigned may[N_CLASSES];
} EXCEPTIONS[] = {
    {bounds_fused, {[NO_NUMBER] = BIT(FINITE)}},
    {exponential, {[NO_NUMBER] = BIT(FINITE) | BIT(ABOVE)}},
    {largest, {[NO_NUMBER] = BIT(FINITE) | ENDLESS}},
    {softmax, {[NO_NUMBER] = BIT(FINITE) | BIT(BELOW)}},
    {in_tiles, {[FINITE] = ANY, [ABOVE] = ANY, [BELOW] = ANY}},
    {in_pairs, {[FINITE] = BIT(NO_NUMBER), [ABOVE] = BIT(NO_NUMBER), [BELOW] = BIT(NO_NUMBER)}},
    {sparse, {[NO_NUMBER] = ANY}},
    {transformed,
     {[NO_NUMBER] = BIT(FINITE),
      [FINITE] = BIT(NO_NUMBER),
      [ABOVE] = BIT(NO_NUMBER),
      [BELOW] = BIT(NO_NUMBER)}},
    {resized, {[ABOVE] = BIT(NO_NUMBER), [BELOW] = BIT(NO_NUMBER)}},
    {gelu, {[NO_NUMBER] = BIT(BELOW)}},
    {first_states, {[NO_NUMBER] = BIT(FINITE)}},
};
#define N_EXCEPTIONS (sizeof EXCEPTIONS / sizeof EXCEPTIONS[0])

/* Coded weights of which none is pruned. */
static bool dense;

/* Gives what may come out of a kernel; *other: also other finite values. */
static void allow(const struct vbs_layer *l, const char *algorithm, unsigned *may, bool *other)
{
    *other = false;
    for (int c = 0; c < N_CLASSES; c++)
        may[c] = BIT(c);
    for (size_t i = 0; i < N_EXCEPTIONS; i++) {
        if (!EXCEPTIONS[i].applies(l, algorithm) || (dense && EXCEPTIONS[i].applies == sparse))
            continue;
        for (int c = 0; c < N_CLASSES; c++)
            may[c] |= EXCEPTIONS[i].may[c];
        /* the lowest number of 8 bits stands for NaN; NaN of the lines above becomes a bound */
        *other |= vbs_storage_is_whole(l->encoding.storage) ||
                  (in_tiles(l, algorithm) && bounds_fused(l, algorithm)) ||
                  count_bounds(l, algorithm) > 1;
    }
}

/* ---- judging ---- */

/* Gives how far a finite value may be from the expected one; size: of the largest usual one, or of
 * the value itself. */
static double allowed(const struct vbs_encoding *e, const char *algorithm, double size)
{
    if (vbs_storage_is_whole(e->storage))
        return 1.01 * (double)e->scale;
    if (e->storage == VBS_BFLOAT16)
        return size / 50;
    return size * (strstr(algorithm, "wino") || strstr(algorithm, "bf16:") ? 1e-4 : 1e-5);
}

/* Finds the first of n values of a sample that is not as it may be; -1: none. */
static int64_t find_wrong(const struct vbs_layer *l, const char *algorithm, const float *got,
                          const float *want, int64_t n)
{
    unsigned may[N_CLASSES];
    double usual = 1e-30;
    bool other;

    allow(l, algorithm, may, &other);
    for (int64_t i = 0; i < n; i++)
        if (fabsf(want[i]) < 1e30f)
            usual = fmax(usual, fabs((double)want[i]));
    for (int64_t i = 0; i < n; i++) {
        enum class wanted = class_of(want[i]), found = class_of(got[i]);
        double size = fmax(usual, fabs((double)want[i]));

        if (!(may[wanted] & BIT(found)))
            return i;
        if (wanted == FINITE && found == FINITE && !other &&
            !(fabs((double)got[i] - want[i]) <= allowed(&l->encoding, algorithm, size)))
            return i;
    }
    return -1;
}

static bool judge(const struct bench *t, int kernel, const float *got, const float *want,
                  int64_t count)
{
    static const char *const KINDS[][MAX_BATCH] = {{"NaN", "infinite", "extreme"},
                                                   {"-infinity", "infinity", "lowest"}};
    bool filled = t->hooks->plant == fill;
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    const struct vbs_layer *l = &t->network->layers[k->layer];
    int64_t n = count / k->batch;
    bool right = true;

    if (filled && !is_extreme(l->op))
        return true; /* sums of the lowest numbers overflow in one order and not in another */
    for (int s = 0; s < k->batch; s++) {
        int64_t wrong = find_wrong(l, k->algorithm, got + s * n, want + s * n, n);

        if (wrong < 0)
            continue;
        right = false;
        printf("# sample of %s values, batch %d, value %lld: %g instead of %g; '%s'",
               KINDS[filled][s], k->batch, (long long)wrong, (double)got[s * n + wrong],
               (double)want[s * n + wrong], vbs_op_word(l->op));
        for (int i = 0; i < l->n_fused; i++)
            printf(" '%s'", vbs_op_word(l->fused[i].op));
        printf("\n");
    }
    return right;
}

static const struct bench_hooks HOOKS = {plant, judge}, FILLED = {fill, judge};

static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

/* ---- cases ---- */

/* Gives whether some layer looks for the largest or the smallest value of a window or a line. */
static bool has_extremes(const struct vbs_network *network)
{
    for (int k = 1; k <= network->n_layers; k++)
        if (is_extreme(network->layers[k].op))
            return true;
    return false;
}

static void check_text(const struct backend_case *c, bool stripes, const struct bench_hooks *hooks)
{
    struct bench t = {.name = c->name, .hooks = hooks};
    bool made = backend_case_network(&t.ctx, c, &t.network) == VBS_OK;

    if (made && hooks == &FILLED && !has_extremes(t.network))
        bench_close(&t);
    else
        bench_check_kernels(&t, made && bench_open_few(&t, stripes), report);
}

static void check_operator(const struct operator_case *c, bool stripes,
                           const struct bench_hooks *hooks)
{
    struct bench t = {.name = c->name, .low = c->low, .high = c->high, .hooks = hooks};
    bool made = operator_case_network(&t.ctx, c, &t.network) == VBS_OK;

    if (made && hooks == &FILLED && !has_extremes(t.network))
        bench_close(&t);
    else
        bench_check_kernels(&t, made && bench_open_few(&t, stripes), report);
}

/* Checks an operator between encoded tensors. */
static void check_encoded(const struct operator_case *c, const struct bench_hooks *hooks)
{
    struct bench t;
    bool opened = bench_open_encoded(&t, c, NULL);

    t.hooks = hooks;
    if (opened && hooks == &FILLED && !has_extremes(t.network))
        bench_close(&t);
    else
        bench_check_kernels(&t, opened, report);
}

/* Checks all cases of networks of floats; FILLED: those that look for extremes. */
static void check_all(bool stripes, const struct bench_hooks *hooks)
{
    const struct operator_case *c;

    for (int i = 0; backend_cases[i].name; i++)
        check_text(&backend_cases[i], stripes, hooks);
    for (int i = 0; (c = operator_case_at(i)); i++)
        check_operator(c, stripes, hooks);
}

static void check_coded(const struct vbz_recipe *recipe, const char *const *algorithms)
{
    dense = recipe->density == 1;
    for (const struct backend_case *c = backend_cases; c->name; c++) {
        struct vbs_network *network = NULL;
        struct bench t;
        bool opened;

        if (!strstr(c->text, "conv ") && !strstr(c->text, "fc "))
            continue;
        if (backend_case_network(NULL, c, &network) != VBS_OK)
            bail_out("%s cannot be read", c->name);
        network = vbz_coded(network, recipe);
        if (network && !bench_is_coded(network)) {
            vbs_network_free(network);
            continue;
        }
        opened = bench_open_coded(&t, c->name, network, algorithms, false);
        t.hooks = &HOOKS;
        bench_check_kernels(&t, opened, report);
    }
    dense = false;
}

int main(int argc, char **argv)
{
    static const char *const any[] = {"bytes:sparse", "joint:sparse", "bytes:gemm", "joint:gemm",
                                      NULL};
    static const char *const comp[] = {"comp:sparse", "comp:gemm", NULL};
    static const struct vbz_recipe ANY_FORM = {0.4, 5, {VBS_CODING_JOINT, 4, 16, 32}, true};
    static const struct vbz_recipe COMP = {0.2, 8, {VBS_CODING_COMP, 3, 7, 19}, false};
    static const struct vbz_recipe DENSE = {1, 4, {VBS_CODING_JOINT, 8, 5, 700}, true};
    const struct operator_case *c;

    for (int stripes = 0; stripes < 2; stripes++) {
        check_all(stripes, &HOOKS);
        check_all(stripes, &FILLED);
    }
    for (int i = 0; (c = operator_case_at(i)); i++) {
        check_encoded(c, &HOOKS);
        check_encoded(c, &FILLED);
    }
    check_coded(&ANY_FORM, any);
    check_coded(&COMP, comp);
    check_coded(&DENSE, any);
    ok(argc > 0 && bench_passes_on(argv[0], "AVX2"), "all of this with DNNL_MAX_CPU_ISA=AVX2");
    return done_testing();
}
