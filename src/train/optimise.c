/* The rules by which gradients change parameters. Each value is changed alone, so that layout and
 * padding of the arrays do not matter: a value and a gradient of 0 leave everything 0. */
#include "train/run.h"

#include <math.h>

#define BETA_1  0.9
#define BETA_2  0.999
#define EPSILON 1e-8f
#define BLOCK   16 /* values that are updated at once */

int vbs_train_states(const struct vbs_train_options *options)
{
    return options->optimiser == VBS_OPTIMISER_ADAM ? 2 : 1;
}

/* The numbers of a step of SGD: v = momentum v + g; w -= now g + later v. */
struct momentum {
    float decay, momentum, now, later;
};

/* Where n is known to the compiler, it makes this a few instructions on vectors. */
static inline void update_some(const struct momentum *m, int64_t n, const float *restrict gradient,
                               float *restrict v, float *restrict w)
{
    for (int64_t i = 0; i < n; i++) {
        float g = gradient[i] + m->decay * w[i];

        v[i] = m->momentum * v[i] + g;
        w[i] -= m->now * g + m->later * v[i];
    }
}

static void momentum(struct momentum m, int64_t n, const float *restrict gradient,
                     float *restrict v, float *restrict w)
{
    int64_t whole = n - n % BLOCK;

    for (int64_t i = 0; i < whole; i += BLOCK)
        update_some(&m, BLOCK, gradient + i, v + i, w + i);
    update_some(&m, n - whole, gradient + whole, v + whole, w + whole);
}

static void adam(float decay, float rate, float root, int64_t n, const float *restrict gradient,
                 float *restrict m, float *restrict v, float *restrict w)
{
    const float b1 = (float)BETA_1, b2 = (float)BETA_2;

    for (int64_t i = 0; i < n; i++) {
        float g = gradient[i] + decay * w[i];

        m[i] = b1 * m[i] + (1 - b1) * g;
        v[i] = b2 * v[i] + (1 - b2) * g * g;
        w[i] -= rate * m[i] / (sqrtf(v[i]) * root + EPSILON);
    }
}

void vbs_train_update(const struct vbs_train_options *options, double rate, int64_t step,
                      bool decays, int64_t n, const float *gradient, float *const *states,
                      float *values)
{
    float decay = decays ? (float)options->weight_decay : 0;

    if (options->optimiser == VBS_OPTIMISER_ADAM) {
        double t = (double)step + 1;

        adam(decay, (float)(rate / (1 - pow(BETA_1, t))), (float)(1 / sqrt(1 - pow(BETA_2, t))), n,
             gradient, states[0], states[1], values);
    } else {
        double mu = options->momentum;

        momentum((struct momentum){.decay = decay,
                                   .momentum = (float)mu,
                                   .now = options->nesterov ? (float)rate : 0,
                                   .later = (float)(options->nesterov ? rate * mu : rate)},
                 n, gradient, states[0], values);
    }
}
