/* Tensors of 8 bits and of bfloat16: every kernel that the onednn backend offers for the cases of
 * all operators computes what the definition says, to a step of the output's scale, where tensors
 * are encoded at random. */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/backend_bench.h"
#include "support/tap.h"

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
    {.name = "channels times one value for each",
     .input = DIMS(20, 6, 5),
     .nodes = {{VBS_OP_REDUCE_MAX, "m", FROM(0), .attributes = {.reduce = {.axes = 6}}},
               {VBS_OP_MUL, "n", FROM(0, 1)},
               {VBS_OP_SUB, "d", FROM(1, 0)}}},
    {.name = NULL}};

/* Reports a check of the bench. */
static void report(bool passed, const char *name, const char *detail)
{
    if (!ok(passed, "%s", name))
        printf("# %s\n", detail);
}

int main(void)
{
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
    return done_testing();
}
