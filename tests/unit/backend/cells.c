/* Loops over the units of recurrent operators: the tables for all kinds of this processor give what
 * the definition gives, for any number of samples. */
#include "backend/onednn/cells/cells.h"

#include "base/random.h"
#include "support/tap.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAMPLES 13
#define MOST_TERMS   36
#define MOST_GATES   4
#define MOST_ULP     4
#define LANES        OD_MAX_CELL_LANES
#define ROW          (MOST_TERMS + LANES) /* values from one sample to the next */
#define UNTOUCHED    77.0f

/* The arrays of a step; got and want have what it writes. */
struct arrays {
    float memory[MOST_SAMPLES * ROW], reset[MOST_SAMPLES * ROW], states[MOST_SAMPLES * ROW];
    float y[MOST_SAMPLES * ROW];
};

static float weights[MOST_TERMS * MOST_GATES * LANES], before[MOST_SAMPLES * ROW];
static float sums[MOST_SAMPLES * MOST_GATES * LANES], bias[LANES];
static struct arrays got, want;

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* ---- the definition, unit by unit; p: what the gates multiply of the state, x: of the input ----
 */

struct unit {
    const struct od_cell_step *s;
    int64_t sample, lane, at; /* at: in the arrays */
    double p[MOST_GATES], x[MOST_GATES];
};

static void put(const struct unit *u, double state)
{
    bool padding = u->lane >= u->s->n_units;

    want.states[u->at] = padding ? 0 : (float)state;
    if (!padding)
        want.y[u->at] = (float)state;
}

static void lstm(const struct unit *u)
{
    double cell = sigmoid(u->p[2] + u->x[2]) * want.memory[u->at] +
                  sigmoid(u->p[0] + u->x[0]) * tanh(u->p[3] + u->x[3]);

    want.memory[u->at] = (float)cell;
    put(u, sigmoid(u->p[1] + u->x[1]) * tanh(cell));
}

static void gru_gates(const struct unit *u)
{
    want.memory[u->at] = (float)sigmoid(u->p[0] + u->x[0]);
    want.reset[u->at] =
        u->lane >= u->s->n_units
            ? 0
            : (float)(sigmoid(u->p[1] + u->x[1]) * u->s->previous[u->sample * ROW + u->lane]);
}

static void gru(const struct unit *u, double update, double candidate)
{
    put(u, (1 - update) * candidate + update * u->s->previous[u->sample * ROW + u->lane]);
}

static void gru_candidate(const struct unit *u)
{
    gru(u, want.memory[u->at], tanh(u->p[0] + u->x[0]));
}

static void gru_after(const struct unit *u)
{
    double reset = sigmoid(u->p[1] + u->x[1]);

    gru(u, sigmoid(u->p[0] + u->x[0]), tanh(u->x[2] + reset * (u->p[2] + u->s->bias[u->lane])));
}

static void rnn_tanh(const struct unit *u)
{
    put(u, tanh(u->p[0] + u->x[0]));
}

static void rnn_relu(const struct unit *u)
{
    put(u, fmax(u->p[0] + u->x[0], 0));
}

static void rnn_sigmoid(const struct unit *u)
{
    put(u, sigmoid(u->p[0] + u->x[0]));
}

/* ---- checks ---- */

static void fill(float *values, int n, uint64_t seed, double range)
{
    for (int i = 0; i < n; i++)
        values[i] = (float)(((double)(vbs_random(seed, (uint64_t)i) % 20001) / 10000 - 1) * range);
}

static void prepare(void)
{
    fill(weights, MOST_TERMS * MOST_GATES * LANES, 1, 0.5);
    fill(before, MOST_SAMPLES * ROW, 2, 1);
    fill(sums, MOST_SAMPLES * MOST_GATES * LANES, 3, 3);
    fill(bias, LANES, 4, 1);
    fill(got.memory, MOST_SAMPLES * ROW, 5, 1);
    for (int i = 0; i < MOST_SAMPLES * ROW; i++)
        got.reset[i] = got.states[i] = got.y[i] = UNTOUCHED;
    want = got;
}

static bool near(const float *a, const float *b)
{
    for (int i = 0; i < MOST_SAMPLES * ROW; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f))
            return false;
    return true;
}

/* Runs a step and its definition. */
static bool agrees(const struct od_cell_loops *loops, od_cell_loop *loop,
                   void (*definition)(const struct unit *u), int gates, int n_samples, int n_terms)
{
    struct od_cell_step s = {.n_samples = n_samples,
                             .n_units = n_samples % 2 ? loops->lanes : loops->lanes - 1,
                             .weights = weights,
                             .n_terms = n_terms,
                             .before = before,
                             .row = ROW,
                             .sums = sums,
                             .sums_row = MOST_GATES * LANES,
                             .bias = bias,
                             .previous = before + 3,
                             .states = got.states,
                             .memory = got.memory,
                             .reset = got.reset,
                             .y = got.y,
                             .y_row = ROW};

    prepare();
    for (int i = 0; i < n_samples; i++)
        for (int lane = 0; lane < loops->lanes; lane++) {
            struct unit u = {.s = &s, .sample = i, .lane = lane, .at = (int64_t)i * ROW + lane};

            for (int g = 0; g < gates; g++) {
                u.x[g] = sums[i * MOST_GATES * LANES + g * loops->lanes + lane];
                for (int k = 0; k < n_terms; k++)
                    u.p[g] += (double)weights[(k * gates + g) * loops->lanes + lane] *
                              before[i * ROW + k];
            }
            definition(&u);
        }
    loop(&s);
    return near(got.memory, want.memory) && near(got.reset, want.reset) &&
           near(got.states, want.states) && near(got.y, want.y);
}

static void check_step(const struct od_cell_loops *loops, od_cell_loop *loop,
                       void (*definition)(const struct unit *u), int gates, const char *name,
                       const char *what)
{
    bool right = true;

    for (int n_samples = 1; n_samples <= MOST_SAMPLES; n_samples++)
        for (int n_terms = 0; n_terms <= MOST_TERMS; n_terms += 4)
            right &= agrees(loops, loop, definition, gates, n_samples, n_terms);
    ok(right, "%s: %s", name, what);
}

/* Gives the function of x that a loop without terms computes. */
static float value_of(const struct od_cell_loops *loops, od_cell_loop *loop, float x)
{
    float input[LANES], states[LANES], y[LANES];
    struct od_cell_step s = {.n_samples = 1,
                             .n_units = loops->lanes,
                             .weights = weights,
                             .before = before,
                             .sums = input,
                             .states = states,
                             .y = y};

    for (int i = 0; i < LANES; i++)
        input[i] = i == 1 ? x : (float)i;
    loop(&s);
    return y[1];
}

/* Gives by how many of the distances between floats near `right` a value is wrong. Distances below
 * that of the least normal float do not count. */
static double ulps(float value, double right)
{
    double size = fmax(fabs(right), 1.7e-38), distance = ldexp(1, ilogb(size) - 23);

    return fabs(value - right) / (size > 1.7e-38 ? distance : size);
}

static void check_function(const struct od_cell_loops *loops, od_cell_loop *loop,
                           double (*definition)(double x), const char *name, const char *what)
{
    double worst = 0;
    float least = INFINITY, at = 0;

    for (float x = 1e-30f; x < 200; x *= 1.0007f)
        for (int sign = -1; sign <= 1; sign += 2) {
            double wrong = ulps(value_of(loops, loop, (float)sign * x), definition(sign * x));

            if (wrong > worst) {
                worst = wrong;
                at = (float)sign * x;
            }
        }
    if (!ok(worst <= MOST_ULP, "%s: %s within %d units of the last place", name, what, MOST_ULP))
        printf("# %g of %g\n", worst, (double)at);
    least = value_of(loops, loop, -INFINITY);
    ok((double)least <= definition(-INFINITY) + 1.7e-38 &&
           (double)value_of(loops, loop, INFINITY) == 1 &&
           (double)value_of(loops, loop, 0) == definition(0) && isnan(value_of(loops, loop, NAN)),
       "%s: %s of infinities, of 0 and of what is no number", name, what);
}

static void check(const struct od_cell_loops *loops, const char *name)
{
    check_function(loops, loops->rnn_tanh, tanh, name, "tanh");
    check_function(loops, loops->rnn_sigmoid, sigmoid, name, "sigmoid");
    check_step(loops, loops->lstm, lstm, 4, name, "lstm");
    check_step(loops, loops->gru_gates, gru_gates, 2, name, "the gates of a gru");
    check_step(loops, loops->gru_candidate, gru_candidate, 1, name, "the candidate of a gru");
    check_step(loops, loops->gru_after, gru_after, 3, name, "gru that resets after the product");
    check_step(loops, loops->rnn_tanh, rnn_tanh, 1, name, "rnn");
    check_step(loops, loops->rnn_relu, rnn_relu, 1, name, "rnn with relu");
    check_step(loops, loops->rnn_sigmoid, rnn_sigmoid, 1, name, "rnn with sigmoid");
}

int main(void)
{
    const struct od_cell_loops *best = od_cells();

    check(&od_cells_plain, "any processor");
#if defined(__x86_64__)
    if (best != &od_cells_plain)
        check(&od_cells_avx2, "AVX2");
    else
        skip("AVX2", "this processor has none");
    if (best == &od_cells_avx512)
        check(&od_cells_avx512, "AVX-512");
    else
        skip("AVX-512", "this processor has none");
#endif
    return done_testing();
}
