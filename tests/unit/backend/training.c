/*
 * Training sessions of onednn compute what the definitions say: outputs in training and inference,
 * gradients of every parameter and of the input. The definitions' gradients are checked against
 * finite differences.
 */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/tap.h"
#include "support/training_help.h"

#include <stdlib.h>

/* Networks beyond the cases that the kernels share: small, so that finite differences of every
 * parameter are quick. */
static const struct backend_case small[] = {
    {"conv, BatchNorm, ReLU, fc", "input 2x5x5\nconv c out=3 kernel=3 pad=1 bias=no\nbatchnorm b\n"
                                  "relu r\nfc f out=4\nsoftmax s\n"},
    {"BatchNorm first, then a convolution in groups",
     "input 4x4x3\nbatchnorm b from=input\nconv c out=6 kernel=3x2 stride=2x1 pad=1x1:0x1 "
     "groups=2\nscale s\n"},
    {"BatchNorm without parameters of its own, then Scale",
     "input 3x4x4\nconv c out=4 kernel=2\nbatchnorm b affine=no\nscale s\nrelu r\nfc f out=3\n"},
    {"a residual block", "input 3x4x4\nconv a out=4 kernel=1\nbatchnorm ab\nrelu ar\n"
                         "conv b out=4 kernel=3 pad=1 from=ar\nbatchnorm bb\nadd s from=bb,ar\n"
                         "relu r\navgpool g kernel=global\nfc f out=3\nsoftmax p\n"},
    {"a tensor with three readers", "input 2x4x4\nconv a out=3 kernel=1\nconv b out=3 kernel=3 "
                                    "pad=1 from=a\nmaxpool m kernel=3 pad=1 from=a\n"
                                    "concat c from=a,b,m\nconv d out=2 kernel=2 dilation=2\n"},
    {"overlapping mean pools",
     "input 3x7x7\nconv c out=3 kernel=2\navgpool p kernel=3 stride=2 "
     "pad=1\navgpool q kernel=2 count_pad=yes pad=1 from=p\nfc f out=2\n"},
    {"one dimension", "input 2x9\nconv c out=3 kernel=3 stride=2 dilation=2 pad=2\nrelu r\n"
                      "maxpool m kernel=2\nfc f out=3 bias=no\n"},
    {"three dimensions", "input 2x3x4x4\nconv c out=2 kernel=2x3x3 pad=0x1x1\nbatchnorm b\nrelu r\n"
                         "maxpool m kernel=2x2x2 stride=1x2x2\nfc f out=2\n"},
    {"depthwise", "input 3x5x5\nconv a out=6 kernel=1\nbatchnorm b\nrelu r\n"
                  "conv d out=6 kernel=3 pad=1 stride=2 groups=6 bias=no\nbatchnorm db\nrelu dr\n"
                  "conv e out=4 kernel=1\n"},
    {"local response normalization",
     "input 6x2x2\nconv c out=7 kernel=1\nlrn n size=5 alpha=0.5 beta=0.75\n"
     "lrn m size=3 alpha=0.3 beta=0.5 k=2\nfc f out=3\n"},
    {0},
};

/* Functions of one value behind a convolution, one that other operators read and one that is alone
 * in reading its input. */
#define FUNCTION(word, operator, ...)                                                              \
    {                                                                                              \
        .name = word, .input = DIMS(3, 4, 4), .nodes = {                                           \
            {VBS_OP_CONV, "c", FROM(0),                                                            \
             .attributes = {.weighted = {.out_channels = 9,                                        \
                                         .groups = 1,                                              \
                                         .bias = true,                                             \
                                         .window = WINDOW(1, 1, 1, 0)}}},                          \
            {operator, "v", FROM(1), .attributes = {__VA_ARGS__}},                                 \
            {VBS_OP_ADD, "a", FROM(1, 2)},                                                         \
            {operator, "w", FROM(3), .attributes = {__VA_ARGS__}},                                 \
            {VBS_OP_FC, "f", FROM(4), .attributes = {.weighted = {.out_channels = 3}}}             \
        }                                                                                          \
    }
#define NOTHING .weighted = {0}

static const struct operator_case functions[] = {
    FUNCTION("relu", VBS_OP_RELU, NOTHING),
    FUNCTION("leakyrelu", VBS_OP_LEAKY_RELU, .leaky_relu = {.slope = 0.2}),
    FUNCTION("leakyrelu of a slope below 0", VBS_OP_LEAKY_RELU, .leaky_relu = {.slope = -0.3}),
    FUNCTION("elu", VBS_OP_ELU, .elu = {.alpha = 1.5}),
    FUNCTION("elu of an alpha below 0", VBS_OP_ELU, .elu = {.alpha = -0.5}),
    FUNCTION("sigmoid", VBS_OP_SIGMOID, NOTHING),
    FUNCTION("tanh", VBS_OP_TANH, NOTHING),
    FUNCTION("hardswish", VBS_OP_HARD_SWISH, NOTHING),
    FUNCTION("swish", VBS_OP_SWISH, NOTHING),
    FUNCTION("gelu", VBS_OP_GELU, .gelu = {.by_tanh = false}),
    FUNCTION("gelu by tanh", VBS_OP_GELU, .gelu = {.by_tanh = true}),
    FUNCTION("mish", VBS_OP_MISH, NOTHING),
    FUNCTION("softplus", VBS_OP_SOFTPLUS, NOTHING),
    FUNCTION("clip", VBS_OP_CLIP, .clip = {.low = -0.4, .high = 0.6}),
    FUNCTION("linear", VBS_OP_LINEAR, .linear = {.factor = -1.5, .shift = 0.25}),
    FUNCTION("exp", VBS_OP_EXP, NOTHING),
    FUNCTION("abs", VBS_OP_ABS, NOTHING),
    FUNCTION("neg", VBS_OP_NEG, NOTHING),
    FUNCTION("identity", VBS_OP_IDENTITY, NOTHING),
    {.name = "concat along the rows and the columns",
     .input = DIMS(3, 4, 5),
     .nodes = {{VBS_OP_CONV, "c", FROM(0),
                .attributes =
                    {.weighted = {.out_channels = 3, .groups = 1, .window = WINDOW(1, 1, 1, 0)}}},
               {VBS_OP_CONCAT, "x", FROM(0, 1), .attributes = {.concat = {.axis = 1}}},
               {VBS_OP_RELU, "r", FROM(2), .attributes = {NOTHING}},
               {VBS_OP_CONCAT, "y", FROM(3, 2), .attributes = {.concat = {.axis = 2}}}}},
    {0},
};

/* Checks a subject that was opened or not, and closes it. */
static void check_subject(struct training_subject *s, bool opened)
{
    double inference = opened ? training_check_inference(s) : INFINITY;
    double training = opened ? training_check(s, 1) : INFINITY;

    if (!ok(inference < TRAINING_TOLERANCE && training < TRAINING_TOLERANCE, "%s", s->name))
        printf("# %s; differences: inference %g, training %g\n", vbs_detail(&s->ctx), inference,
               training);
    training_close(s);
}

static void check_case(const struct backend_case *c, int threads)
{
    struct training_subject s;
    bool opened = training_open(&s, c, threads, -1);

    check_subject(&s, opened);
}

static void check_operator(const struct operator_case *c)
{
    struct training_subject s;
    bool opened = training_open_operator(&s, c, 1);

    check_subject(&s, opened);
}

/* ---- finite differences of the reference ---- */

static double loss(struct training_subject *s)
{
    const double *output = reference_forward(&s->reference, s->input_d);
    double sum = 0;

    for (int64_t i = 0; i < TRAINING_BATCH * s->session->output_elements; i++)
        sum += output[i] * s->output_gradient_d[i];
    return sum;
}

/* Gives the largest difference between n gradients and finite differences by `values`. */
static double slope_difference(struct training_subject *s, double *values, const double *gradient,
                               int64_t n)
{
    const double h = 1e-5;
    double worst = 0, largest = 1;

    for (int64_t i = 0; i < n; i++) {
        double kept = values[i], above, below;

        values[i] = kept + h;
        above = loss(s);
        values[i] = kept - h;
        below = loss(s);
        values[i] = kept;
        largest = fmax(largest, fabs(gradient[i]));
        worst = fmax(worst, fabs(gradient[i] - (above - below) / (2 * h)));
    }
    return worst / largest;
}

static void check_slopes(const struct backend_case *c)
{
    struct training_subject s;
    double worst = training_open(&s, c, 1, -1) ? 0 : INFINITY;
    struct reference_training *r = &s.reference;
    const double *gradient = NULL;

    if (worst == 0) {
        r->training = true;
        (void)reference_forward(r, s.input_d);
        gradient = reference_backward(r, s.output_gradient_d);
    }
    for (int i = 0; gradient && i < s.session->n_trainable; i++)
        worst = fmax(worst, slope_difference(&s, r->arrays[i].values, r->arrays[i].gradient,
                                             r->arrays[i].count));
    if (gradient)
        worst = fmax(worst, slope_difference(&s, s.input_d, gradient,
                                             TRAINING_BATCH * s.session->input_elements));
    if (!ok(gradient && worst < 1e-6, "%s: gradients are finite differences", c->name))
        printf("# %s; difference %g\n", vbs_detail(&s.ctx), worst);
    training_close(&s);
}

/* Every case of the kernels is either computed as defined or refused. */
static void check_kernel_cases(void)
{
    const struct operator_case *c;
    int n_refused = 0;

    for (int i = 0; (c = operator_case_at(i)); i++) {
        struct training_subject s;

        if (training_open_operator(&s, c, 1)) {
            check_subject(&s, true);
            continue;
        }
        n_refused += vbs_ctx_status(&s.ctx) == VBS_UNSUPPORTED;
        if (vbs_ctx_status(&s.ctx) != VBS_UNSUPPORTED)
            ok(false, "%s: %s", c->name, vbs_detail(&s.ctx));
        training_close(&s);
    }
    ok(n_refused > 100, "%d cases have operators that cannot be trained", n_refused);
}

int main(void)
{
    for (int i = 0; small[i].name; i++) {
        check_slopes(&small[i]);
        check_case(&small[i], 1);
        check_case(&small[i], 2);
    }
    for (int i = 0; functions[i].name; i++)
        check_operator(&functions[i]);
    for (int i = 0; backend_cases[i].name; i++)
        if (strcmp(backend_cases[i].name, "softmax over space") != 0)
            check_case(&backend_cases[i], 1);
    check_kernel_cases();
    return done_testing();
}
