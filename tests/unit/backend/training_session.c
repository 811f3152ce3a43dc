/* What a training session keeps from pass to pass: which values dropout drops, running statistics,
 * parameters, memory; and what it refuses. */
#include "vbslab/vbslab.h"

#include "cases/operator_cases.h"
#include "support/tap.h"
#include "support/training_help.h"

#include <stdlib.h>

/* ---- dropout ---- */

/* The output of a network that ends with dropout, and the gradient of its input, are those without
 * dropout times one mask, in which a share of `rate` is 0 and the rest 1 / (1 - rate). */
static void check_dropout(int threads, float *mask, int64_t n_mask)
{
    static const struct backend_case c = {"dropout", "input 40\nfc f out=500\ndropout d\n"};
    const double rate = 0.3;
    struct training_subject s;
    const struct vbs_training_pass pass = {.training = true, .seed = 5, .step = 7};
    struct vbs_training_pass own = pass;
    const double *plain;
    double worst = 0;
    int64_t n_dropped = 0;

    if (!training_open(&s, &c, threads, rate)) {
        ok(false, "dropout: %s", vbs_detail(&s.ctx));
        training_close(&s);
        return;
    }
    own.input = s.input;
    s.reference.training = true;
    plain = reference_forward(&s.reference, s.input_d);
    ok(s.session->ops->forward(&s.ctx, s.session, &own, s.output) == VBS_OK &&
           s.session->ops->backward(&s.ctx, s.session, s.output_gradient) == VBS_OK &&
           s.session->ops->input_gradient(&s.ctx, s.session, s.input_gradient) == VBS_OK,
       "passes with dropout");
    for (int64_t i = 0; i < n_mask; i++) {
        mask[i] = s.output[i] == 0 ? 0 : 1 / (1 - (float)rate);
        n_dropped += mask[i] == 0;
        worst = fmax(worst, fabs((double)s.output[i] - (double)mask[i] * plain[i]));
        s.output_gradient_d[i] *= (double)mask[i];
    }
    is_near(worst, 0, 1e-5, "values are dropped or multiplied");
    is_near((double)n_dropped / (double)n_mask, rate, 0.04, "the share of dropped values");
    is_near(training_difference(reference_backward(&s.reference, s.output_gradient_d),
                                s.input_gradient, TRAINING_BATCH * s.session->input_elements),
            0, TRAINING_TOLERANCE, "gradients are dropped with the values");
    is_near(training_check_inference(&s), 0, TRAINING_TOLERANCE, "inference drops nothing");
    own.step++;
    ok(s.session->ops->forward(&s.ctx, s.session, &own, s.output) == VBS_OK, "the next step");
    n_dropped = 0;
    for (int64_t i = 0; i < n_mask; i++)
        n_dropped += (s.output[i] == 0) != (mask[i] == 0);
    ok(n_dropped > n_mask / 4, "another step drops other values");
    training_close(&s);
}

static void check_dropout_threads(void)
{
    static float one[TRAINING_BATCH * 500], two[TRAINING_BATCH * 500];

    check_dropout(1, one, TRAINING_BATCH * 500);
    check_dropout(2, two, TRAINING_BATCH * 500);
    ok(memcmp(one, two, sizeof one) == 0, "any number of threads drops the same values");
}

/* ---- what a session keeps ---- */

/* Running statistics after two steps, from those of the batches by the definition. */
static void check_statistics(void)
{
    static const struct backend_case c = {"statistics", "input 3x5x4\nbatchnorm b from=input\n"};
    const int64_t n = TRAINING_BATCH * 20;
    struct training_subject s;
    double worst = 0;

    if (!training_open(&s, &c, 1, -1)) {
        ok(false, "statistics: %s", vbs_detail(&s.ctx));
        training_close(&s);
        return;
    }
    is_int(s.session->n_statistics, 2, "a BatchNorm has two running statistics");
    for (int channel = 0; channel < 3; channel++) {
        double sum = 0, squares = 0, mean, variance;

        for (int64_t i = 0; i < n; i++) {
            double x = s.input_d[(i / 20 * 3 + channel) * 20 + i % 20];

            sum += x;
            squares += x * x;
        }
        mean = s.reference.arrays[2].values[channel];
        variance = s.reference.arrays[3].values[channel];
        for (int step = 0; step < 2; step++) {
            mean += 0.1 * (sum / (double)n - mean);
            variance += 0.1 * ((squares - sum * sum / (double)n) / ((double)n - 1) - variance);
        }
        s.reference.arrays[2].values[channel] = mean;
        s.reference.arrays[3].values[channel] = variance;
    }
    for (int step = 0; step < 2; step++)
        (void)training_check(&s, 1);
    for (int i = 0; i < 2; i++)
        worst = fmax(worst, training_difference(s.reference.arrays[2 + i].values,
                                                s.session->statistics[i].values, 3));
    is_near(worst, 0, 1e-5, "running statistics after two steps");
    is_near(training_check_inference(&s), 0, TRAINING_TOLERANCE, "inference uses them");
    training_close(&s);
}

/* A pass is the same to the bit when it is repeated, and after parameters were read and written. */
static void check_repeats(void)
{
    const struct backend_case *c = backend_case("an inception block");
    struct training_subject s;
    float *first = NULL, *again = NULL;
    int64_t n = 0;
    bool same = true;

    if (!training_open(&s, c, 2, -1)) {
        ok(false, "repeated: %s", vbs_detail(&s.ctx));
        training_close(&s);
        return;
    }
    for (int i = 0; i < s.session->n_trainable; i++) {
        const struct vbs_trainable *p = &s.session->trainable[i];

        n = p->count;
        first = malloc((size_t)n * sizeof *first);
        again = malloc((size_t)n * sizeof *again);
        same = same && training_check(&s, 3) < TRAINING_TOLERANCE &&
               s.session->ops->read(&s.ctx, s.session, i, true, first) == VBS_OK &&
               s.session->ops->read(&s.ctx, s.session, i, false, again) == VBS_OK;
        for (int64_t k = 0; k < p->stored; k++)
            p->values[k] = 0;
        same = same && s.session->ops->write(&s.ctx, s.session, i, again) == VBS_OK &&
               training_check(&s, 3) < TRAINING_TOLERANCE &&
               s.session->ops->read(&s.ctx, s.session, i, true, again) == VBS_OK &&
               memcmp(first, again, (size_t)n * sizeof *first) == 0;
        free(first);
        free(again);
    }
    ok(same, "repeated passes are equal to the bit, also after parameters were read and written");
    training_close(&s);
}

/* In a chain, a session has memory for the values that a backward pass reads, the input's and those
 * behind each ReLU, and for the first gradient; the others take the place of values that are not
 * needed any more. */
static void check_memory(void)
{
    static const struct backend_case c = {
        "a chain", "input 8x8x8\nconv a out=8 kernel=1\nrelu ar\nconv b out=8 kernel=1\nrelu br\n"
                   "conv d out=8 kernel=1\nrelu dr\nconv e out=8 kernel=1\nrelu er\n"};
    struct training_subject s;

    if (training_open(&s, &c, 1, -1))
        is_int(s.session->activation_bytes / (TRAINING_BATCH * 8 * 8 * 8 * 4), 5 + 1,
               "a chain of 8 operators has the memory of 5 activations and 1 gradient");
    else
        ok(false, "memory: %s", vbs_detail(&s.ctx));
    training_close(&s);
}

/* ---- refusals ---- */

static void check_refusal(const char *name, const char *text, struct vbs_training_options options,
                          enum vbs_status status, const char *detail)
{
    const struct backend_case c = {name, text};
    struct vbs_ctx ctx = {0};
    struct vbs_network *network = NULL;
    struct vbs_training *session = NULL;

    if (backend_case_network(&ctx, &c, &network) == VBS_OK) {
        is_int(vbs_training_open(&ctx, "onednn", network, &options, &session), status, name);
        is_str(vbs_detail(&ctx), detail, name);
        ok(!session, "%s: no session", name);
    } else {
        ok(false, "%s: %s", name, vbs_detail(&ctx));
    }
    vbs_network_free(network);
}

static void check_refusals(void)
{
    struct vbs_training_options options = training_options(1, 0);

    check_refusal("operators that cannot be trained",
                  "input 4x6x6\nconv c out=4 kernel=1\nsoftmax s\nconv d out=4 kernel=1\n"
                  "softmax t\nfc f out=3\nsoftmax u\n",
                  options, VBS_UNSUPPORTED,
                  "network 'case' has operators that cannot be trained: softmax ('s')");
    check_refusal("several outputs", "input 4\nfc f out=3\nfc g out=3 from=input\n", options,
                  VBS_UNSUPPORTED, "network 'case' cannot be trained: it has several outputs");
    options.batch = 0;
    check_refusal("a batch of 0", "input 4\nfc f out=3\n", options, VBS_USAGE,
                  "a batch of 0 for training; 1 to 4096 are allowed");
    options = training_options(1, 1);
    check_refusal("everything dropped", "input 4\nfc f out=3\n", options, VBS_USAGE,
                  "a dropout rate of 1; it must be below 1");
    options = training_options(1, 0);
    options.statistics_rate = 1.5;
    check_refusal("a weight above 1", "input 4\nfc f out=3\n", options, VBS_USAGE,
                  "a rate of 1.5 for running statistics; 0 to 1 are allowed");
    options = training_options(1, 0);
    options.input_gradient = false;
    check_refusal("nothing to train", "input 4x4x4\nmaxpool p kernel=2\n", options, VBS_UNSUPPORTED,
                  "network 'case' has no parameters that could be trained");
}

/* Operators that have no model text, of which several are named, each once. */
static void check_named(void)
{
    const struct operator_case c = {
        .name = "several",
        .input = DIMS(4, 4, 4),
        .nodes = {{VBS_OP_SHUFFLE, "s", FROM(0), .attributes = {.shuffle = {.groups = 2}}},
                  {VBS_OP_SHUFFLE, "t", FROM(1), .attributes = {.shuffle = {.groups = 2}}},
                  {VBS_OP_ERF, "e", FROM(2)},
                  {VBS_OP_ADD, "a", FROM(3), .operand = DIMS(4, 1, 1)}}};
    struct training_subject s;

    ok(!training_open_operator(&s, &c, 1), "operators without a gradient");
    is_str(vbs_detail(&s.ctx),
           "network 'several' has operators that cannot be trained: shuffle ('s'), erf ('e'), "
           "add of a constant, or of tensors of different shapes ('a')",
           "each kind is named once");
    training_close(&s);
}

static void check_order(void)
{
    static const struct backend_case c = {"order", "input 4\nfc f out=3\n"};
    const struct vbs_training_options options = training_options(1, 0);
    struct vbs_training *session = NULL;
    struct training_subject s;

    if (training_open(&s, &c, 1, -1)) {
        is_int(s.session->ops->backward(&s.ctx, s.session, s.output_gradient), VBS_USAGE,
               "no backward pass comes first");
        (void)training_check_inference(&s);
        is_int(s.session->ops->backward(&s.ctx, s.session, s.output_gradient), VBS_USAGE,
               "nor after inference");
        is_int(vbs_training_open(&s.ctx, "analytic", s.network, &options, &session),
               VBS_UNSUPPORTED, "the analytic backend cannot train");
        is_str(vbs_detail(&s.ctx), "the backend 'analytic' cannot train; 'onednn' can",
               "it says so");
    } else {
        ok(false, "order: %s", vbs_detail(&s.ctx));
    }
    training_close(&s);
}

/* ---- slow operators ---- */

static void check_slow(void)
{
    struct training_subject s;

    if (training_open_operator(&s, operator_case("avgpool, dilated"), 1))
        ok(s.session->n_slow == 1 && strcmp(s.session->slow[0], s.network->layers[1].name) == 0,
           "a dilated mean pool, for which the library has only its reference, is named as slow, "
           "once");
    else
        ok(false, "a dilated pool: %s", vbs_detail(&s.ctx));
    training_close(&s);
    if (training_open(&s, backend_case("dilation"), 1, -1))
        is_int(s.session->n_slow, 0, "a dilated convolution is not slow");
    training_close(&s);
}

int main(void)
{
    check_slow();
    check_dropout_threads();
    check_statistics();
    check_repeats();
    check_memory();
    check_refusals();
    check_named();
    check_order();
    return done_testing();
}
