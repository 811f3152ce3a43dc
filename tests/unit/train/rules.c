/* The rules of training by their formulas: cross entropy and its gradient, the course of the rate,
 * SGD and Adam. */
#include "train/run.h"

#include "support/tap.h"

#include <stdlib.h>

/* ---- loss ---- */

static double loss_of(const double *scores, int n, int label, double smoothing)
{
    double total = 0, loss = 0;

    for (int c = 0; c < n; c++)
        total += exp(scores[c]);
    for (int c = 0; c < n; c++)
        loss -= (smoothing / n + (c == label) * (1 - smoothing)) * (scores[c] - log(total));
    return loss;
}

static void check_loss(double smoothing)
{
    enum { N = 5 };
    const float scores[N] = {0.5f, -1.25f, 2, 0.25f, -3};
    double exact[N], worst = 0;
    float gradient[N];
    struct vbs_loss loss = {0, 0};

    for (int c = 0; c < N; c++)
        exact[c] = (double)scores[c];
    vbs_loss_add(scores, N, 3, smoothing, 4, &loss, gradient);
    is_near(loss.sum, loss_of(exact, N, 3, smoothing), 1e-12, "cross entropy");
    is_int(loss.n_right, 0, "the largest score is that of another class");
    for (int c = 0; c < N; c++) {
        double above, below;

        exact[c] += 1e-5;
        above = loss_of(exact, N, 3, smoothing);
        exact[c] -= 2e-5;
        below = loss_of(exact, N, 3, smoothing);
        exact[c] += 1e-5;
        worst = fmax(worst, fabs((double)gradient[c] - (above - below) / 2e-5 / 4));
    }
    is_near(worst, 0, 1e-7, "its gradient, divided by 4");
    vbs_loss_add(scores, N, 2, smoothing, 4, &loss, NULL);
    is_int(loss.n_right, 1, "the largest score is that of the label");
}

static void check_large_scores(void)
{
    const float scores[3] = {-3000, 3000, 2999};
    float gradient[3];
    struct vbs_loss loss = {0, 0};

    vbs_loss_add(scores, 3, 0, 0, 1, &loss, gradient);
    is_near(loss.sum, 6000 + log1p(exp(-1.0)), 1e-9, "scores whose exponentials overflow");
    is_near((double)gradient[0], -1, 1e-7, "and their gradient");
}

/* ---- the rate ---- */

static double rate_of(struct vbs_train_options options, int64_t step)
{
    return vbs_train_rate(&options, 10, step);
}

static void check_rates(void)
{
    struct vbs_train_options o = {
        .epochs = 6, .rate = 0.5, .rate_epochs = 2, .rate_factor = 0.1, .course = VBS_RATE_STEP};

    is_near(rate_of(o, 19), 0.5, 1e-15, "a step: before it");
    is_near(rate_of(o, 20), 0.05, 1e-15, "a step: behind it");
    is_near(rate_of(o, 59), 0.005, 1e-15, "a step: behind the second");
    o.course = VBS_RATE_EXPONENTIAL;
    is_near(rate_of(o, 10), 0.05, 1e-15, "exponential: an epoch");
    is_near(rate_of(o, 5), 0.5 * sqrt(0.1), 1e-15, "exponential: half an epoch");
    o.course = VBS_RATE_CONSTANT;
    is_near(rate_of(o, 59), 0.5, 1e-15, "constant");
    o.course = VBS_RATE_COSINE;
    is_near(rate_of(o, 0), 0.5, 1e-15, "cosine: begin");
    is_near(rate_of(o, 30), 0.25, 1e-15, "cosine: half");
    is_near(rate_of(o, 45), 0.25 * (1 - sqrt(0.5)), 1e-15, "cosine: three quarters");
    o.warm_up_epochs = 2;
    is_near(rate_of(o, 0), 0.5 / 21, 1e-15, "warm-up: the first step");
    is_near(rate_of(o, 19), 0.5 * 20 / 21, 1e-15, "warm-up: the last step");
    is_near(rate_of(o, 20), 0.5, 1e-15, "the rate is reached behind it");
    is_near(rate_of(o, 40), 0.25, 1e-15, "cosine behind a warm-up: half");
}

/* ---- optimisers ---- */

#define N     3
#define STEPS 7

/* The gradient of step k at value i, of any function. */
static double slope(int k, int i, double w)
{
    return sin(k + 2 * i) + 0.3 * w;
}

static double by_definition(const struct vbs_train_options *o, int i, double w, bool decays)
{
    double m = 0, v = 0, decay = decays ? o->weight_decay : 0;

    for (int k = 0; k < STEPS; k++) {
        double g = slope(k, i, w) + decay * w;

        if (o->optimiser == VBS_OPTIMISER_ADAM) {
            m = 0.9 * m + 0.1 * g;
            v = 0.999 * v + 0.001 * g * g;
            w -= 0.1 * (m / (1 - pow(0.9, k + 1))) / (sqrt(v / (1 - pow(0.999, k + 1))) + 1e-8);
        } else {
            v = o->momentum * v + g;
            w -= 0.1 * (o->nesterov ? g + o->momentum * v : v);
        }
    }
    return w;
}

static void check_optimiser(const char *name, struct vbs_train_options o, bool decays)
{
    float values[N + 1] = {0.5f, -1, 2, 0}, gradient[N + 1] = {0}, m[N + 1] = {0}, v[N + 1] = {0};
    float *states[2] = {m, v};
    double worst = 0;
    const double first[N] = {0.5, -1, 2};

    for (int k = 0; k < STEPS; k++) {
        for (int i = 0; i < N; i++)
            gradient[i] = (float)slope(k, i, (double)values[i]);
        vbs_train_update(&o, 0.1, k, decays, N + 1, gradient, states, values);
    }
    for (int i = 0; i < N; i++)
        worst = fmax(worst, fabs((double)values[i] - by_definition(&o, i, first[i], decays)));
    is_near(worst, 0, 5e-6, name);
    ok(values[N] == 0 && m[N] == 0 && v[N] == 0, "%s: padding stays zero", name);
}

static void check_optimisers(void)
{
    struct vbs_train_options o = {.momentum = 0.9, .weight_decay = 0.05};

    check_optimiser("momentum", o, true);
    check_optimiser("momentum without decay", o, false);
    o.nesterov = true;
    check_optimiser("Nesterov's momentum", o, true);
    o.momentum = 0;
    check_optimiser("no momentum", o, true);
    o.optimiser = VBS_OPTIMISER_ADAM;
    check_optimiser("Adam", o, true);
    is_int(vbs_train_states(&o), 2, "Adam has two moments");
}

int main(void)
{
    check_loss(0);
    check_loss(0.1);
    check_large_scores();
    check_rates();
    check_optimisers();
    return done_testing();
}
