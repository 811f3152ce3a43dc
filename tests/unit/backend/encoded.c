/* Tensors of 8 bits and of bfloat16: every kernel that the onednn backend offers for the cases of
 * all operators computes what the definition says, to a step of the output's scale, where tensors
 * are encoded at random. */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/backend_bench.h"
#include "support/tap.h"

#include <string.h>

#define SEEDS  2 /* encodings that each case is tried with */
#define ROUNDS 6 /* and each of those that round between operators */

/* An operator behind a rounding to 8 bits whose step is STEP, behind another operator. Whole
 * numbers are turned back by `factor`, which may also multiply them. */
#define STEP (1.0 / 128)
#define ROUNDED(number, op, factor, ...)                                                           \
    {VBS_OP_LINEAR, "divide" #op, FROM(number), .attributes = {.linear = {1 / STEP, 0}}},          \
        {VBS_OP_ROUND, "round" #op, FROM(number + 1)},                                             \
        {VBS_OP_LINEAR, "zero" #op, FROM(number + 2), .attributes = {.linear = {1, 100}}},         \
        {VBS_OP_CLIP, "clip" #op, FROM(number + 3), .attributes = {.clip = {0, 255}}},             \
        {VBS_OP_LINEAR, "back" #op, FROM(number + 4),                                              \
         .attributes = {.linear = {(factor)*STEP, -100 * (factor)*STEP}}},                         \
    {                                                                                              \
        op, "v" #op, FROM(number + 5), .attributes = { __VA_ARGS__ }                               \
    }

static const struct operator_case rounded_cases[] = {
    {.name = "a convolution, a rounding and a sigmoid",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_CONV, "n", FROM(0),
                .attributes = {.weighted = {.out_channels = 24,
                                            .groups = 1,
                                            .bias = true,
                                            .window = WINDOW(3, 1, 1, 1)}}},
               ROUNDED(1, VBS_OP_SIGMOID, 1, .weighted = {0})}},
    {.name = "a convolution, a ReLU, a rounding that multiplies and a hard sigmoid",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_CONV, "n", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 24, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_RELU, "r", FROM(1)},
               ROUNDED(2, VBS_OP_HARD_SIGMOID, 0.5, .hard_sigmoid = {0.2, 0.5})}},
    {.name = "an inner product, a rounding and a tanh",
     .input = DIMS(40),
     .nodes = {{VBS_OP_FC, "n", FROM(0),
                .attributes = {.weighted = {.out_channels = 12, .bias = true}}},
               ROUNDED(1, VBS_OP_TANH, 1, .weighted = {0})}},
    {.name = "a slice, a rounding and a sigmoid",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_SLICE, "n", FROM(0),
                .attributes =
                    {.slice = {.begin = {3, 1, 0}, .step = {2, 1, 1}, .count = {8, 5, 5}}}},
               ROUNDED(1, VBS_OP_SIGMOID, 1, .weighted = {0})}},
    {.name = "a product, a rounding and a leaky ReLU",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.shuffle = {.groups = 2}}},
               {VBS_OP_MUL, "n", FROM(0, 1)},
               ROUNDED(2, VBS_OP_LEAKY_RELU, 1, .leaky_relu = {0.1})}},
    {.name = "a mean of all positions, a rounding and a sigmoid",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_REDUCE_MEAN, "n", FROM(0), .attributes = {.reduce = {.axes = 6}}},
               ROUNDED(1, VBS_OP_SIGMOID, 1, .weighted = {0})}},
    {.name = "a concat, a rounding and a BatchNorm",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.shuffle = {.groups = 2}}},
               {VBS_OP_CONCAT, "n", FROM(0, 1)},
               ROUNDED(2, VBS_OP_BATCHNORM, 1, .weighted = {0}),
               {VBS_OP_RELU, "r", FROM(8)}}},
    {.name = "means of four numbers, of which a quarter ends on a half",
     .input = DIMS(40, 8, 7),
     .nodes = {{VBS_OP_POOL_AVG, "n", FROM(0),
                .attributes = {.pool = {.window = {.kernel = {2, 2},
                                                   .stride = {1, 1},
                                                   .dilation = {1, 1}}}}}}},
    {.name = "channels times one value for each",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_REDUCE_MAX, "m", FROM(0), .attributes = {.reduce = {.axes = 6}}},
               {VBS_OP_MUL, "n", FROM(0, 1)},
               {VBS_OP_SUB, "d", FROM(1, 0)}}},
    {.name = "attention of several heads",
     .input = DIMS(3, 11, 8),
     .nodes = {{VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_MATMUL, "q", FROM(0, 1)},
               {VBS_OP_LINEAR, "l", FROM(2), .attributes = {.linear = {.factor = 0.5}}},
               {VBS_OP_SOFTMAX, "s", FROM(3), .attributes = {.softmax = {.axis = 2}}},
               {VBS_OP_MATMUL, "v", FROM(4, 0)},
               {VBS_OP_LAYER_NORM, "n", FROM(5),
                .attributes = {.norm = {.axis = 2, .affine = true}}}}},
    {.name = "an inner product of rows with a GELU",
     .input = DIMS(30, 40),
     .nodes = {{VBS_OP_FC, "n", FROM(0),
                .attributes = {.weighted = {.out_channels = 50, .bias = true, .rows = true}}},
               {VBS_OP_GELU, "g", FROM(1)}}},
    {.name = "an inner product of many rows with a GELU",
     .input = DIMS(900, 8),
     .nodes = {{VBS_OP_FC, "n", FROM(0),
                .attributes = {.weighted = {.out_channels = 600, .rows = true}}},
               {VBS_OP_GELU, "g", FROM(1)}}},
    {.name = "products of matrices that are broadcast",
     .input = DIMS(3, 4, 6),
     .nodes = {{VBS_OP_TRANSPOSE, "t", FROM(0), .attributes = {.transpose = {.perm = {0, 2, 1}}}},
               {VBS_OP_MATMUL, "a", FROM(0, 1), VIEWS(DIMS(12, 6), DIMS(6, 12))},
               {VBS_OP_MATMUL, "b", FROM(0, 1), VIEWS(DIMS(3, 1, 4, 6), DIMS(1, 3, 6, 4))},
               {VBS_OP_SLICE, "s", FROM(1),
                .attributes = {.slice = {.begin = {1}, .step = {1, 1, 1}, .count = {1, 6, 4}}}},
               {VBS_OP_MATMUL, "c", FROM(0, 4)},
               {VBS_OP_MATMUL, "d", FROM(4, 0)}}},
    {.name = NULL}};

/* Reports a check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

/* ---- slices ---- */

#define OUTPUTS 4096
#define SAMPLES 2

static const struct operator_case large = {
    .name = "an inner product of 8 MiB in 8 bits",
    .input = DIMS(2048),
    .nodes = {{VBS_OP_FC, "n", FROM(0),
               .attributes = {.weighted = {.out_channels = OUTPUTS, .bias = true}}}}};

/* Runs a kernel of a session on the bench's input, over bytes of 0x5a; the caller frees them. */
static uint8_t *run(struct bench *t, struct vbs_session *session, int kernel)
{
    const struct vbs_kernel *k = &session->kernels[kernel];
    const void *src[] = {t->canonical[0]};
    void *ws = session->ops->alloc(session, k->ws_bytes);
    uint8_t *dst = session->ops->alloc(session, SAMPLES * session->layers[1].out_bytes);
    struct vbs_operands operands = {.src = src, .dst = dst, .ws = ws};
    double time_us;

    memset(dst, 0x5a, (size_t)(SAMPLES * session->layers[1].out_bytes));
    if (session->ops->run(&t->ctx, session, kernel, &operands, &time_us) != VBS_OK)
        printf("# %s\n", vbs_detail(&t->ctx));
    session->ops->free(session, ws);
    return dst;
}

/* Gives whether slice number slice of n has the values of the whole, and all else is unchanged. */
static bool is_slice(const uint8_t *got, const uint8_t *whole, int64_t value, int slice, int n)
{
    int64_t each = OUTPUTS / n * value, row = OUTPUTS * value;

    for (int64_t i = 0; i < SAMPLES * row; i++) {
        bool own = i % row / each == slice - 1;

        if (got[i] != (own ? whole[i] : 0x5a))
            return false;
    }
    return true;
}

/* Checks a kernel that runs in n slices: whole, and slice by slice in sessions of their own. */
static void check_slices(struct bench *t, int kernel, const uint8_t *whole)
{
    const struct vbs_kernel *k = &t->session->kernels[kernel];
    int64_t value = t->session->layers[1].out_bytes / OUTPUTS;
    uint8_t *got = run(t, t->session, kernel);
    bool right = true;

    ok(memcmp(got, whole, (size_t)(SAMPLES * OUTPUTS * value)) == 0, "%s by %s is the whole layer",
       large.name, k->algorithm);
    t->session->ops->free(t->session, got);
    for (int i = 1; i <= k->row_slices && right; i++) {
        struct vbs_requested_kernel requested = {.layer = 1,
                                                 .batch = SAMPLES,
                                                 .algorithm = k->algorithm,
                                                 .slice = i,
                                                 .n_slices = k->row_slices};
        struct vbs_session *session = NULL;

        right = bench_session(&t->ctx, t->network, &requested, 1, &session) == VBS_OK;
        got = right ? run(t, session, 0) : NULL;
        right = right && is_slice(got, whole, value, i, k->row_slices) &&
                session->kernels[0].packed_bytes * k->row_slices == k->packed_bytes;
        if (session) {
            session->ops->free(session, got);
            session->ops->close(session);
        }
    }
    if (!ok(right, "%s by %s slice by slice", large.name, k->algorithm))
        printf("# %s\n", vbs_detail(&t->ctx));
}

static void check_large(const struct vbs_encoding *encodings)
{
    struct bench t;
    uint8_t *whole = NULL;
    int n = 0;

    if (!ok(bench_open_encoded(&t, &large, encodings) && bench_tensors(&t), "%s opens", large.name))
        printf("# %s\n", vbs_detail(&t.ctx));
    for (int i = 0; i < t.session->n_kernels; i++) {
        const struct vbs_kernel *k = &t.session->kernels[i];

        if (k->batch != SAMPLES || strstr(k->algorithm, "+f32") || strstr(k->algorithm, "+serial"))
            continue;
        if (k->row_slices > 1 && whole)
            check_slices(&t, i, whole);
        n += k->row_slices > 1;
        if (k->row_slices <= 1 && !whole)
            whole = run(&t, t.session, i);
    }
    if (!whole)
        skip(large.name, "this processor has no kernels of whole numbers");
    else
        ok(n == 1, "%s has kernels in 2 slices", large.name);
    t.session->ops->free(t.session, whole);
    bench_close(&t);
}

int main(void)
{
    static const struct vbs_encoding bytes[] = {{VBS_UINT8, 1.0f / 128, 120},
                                                {VBS_INT8, 0.03f, -7}};
    static const struct vbs_encoding floats[] = {{VBS_UINT8, 1.0f / 128, 120}, {VBS_FLOAT32, 0, 0}};
    const struct operator_case *c;

    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        for (int i = 0; backend_cases[i].name; i++)
            bench_check_encoded(&backend_cases[i], 100 * seed + (uint64_t)i, report);
        for (int i = 0; (c = operator_case_at(i)); i++)
            bench_check_encoded_operator(c, 1000 * seed + (uint64_t)i, report);
    }
    for (uint64_t seed = 1; seed <= ROUNDS; seed++)
        for (int i = 0; rounded_cases[i].name; i++)
            bench_check_encoded_operator(&rounded_cases[i], 100000 * seed + (uint64_t)i, report);
    check_large(bytes);
    check_large(floats);
    return done_testing();
}
