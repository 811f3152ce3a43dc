/* Recurrent operators, element by element, in double precision, as ONNX defines them. */
#include "reference/backend/ops_common.h"

#include <math.h>
#include <stdlib.h>

/* One direction of an operator: its parameters, and a state. Gates are in ONNX's order. */
struct cell {
    enum vbs_op op;
    const union vbs_attributes *attributes;
    int64_t n_in, hidden, gates;
    const float *weights, *state_weights, *bias; /* bias: [2][gates * hidden] */
    const float *peepholes;                      /* [3 * hidden], or null */
    double *h, *c;                               /* the state, and the memory of an lstm */
    double *x_sum, *h_sum;                       /* [gates * hidden] */
};

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* Computes function number i of a cell: of gates, of what is new, of the memory. */
static double function(const struct cell *cell, int i, double x)
{
    const struct vbs_cell_function *f = &cell->attributes->recurrent.functions[i];
    double alpha = (float)f->alpha, beta = (float)f->beta, line = alpha * x + beta;

    switch (f->kind) {
    case VBS_CELL_USUAL:
        return i == 0 ? sigmoid(x) : tanh(x);
    case VBS_CELL_TANH:
        return tanh(x);
    case VBS_CELL_RELU:
        return x < 0 ? 0 : x;
    case VBS_CELL_SIGMOID:
        return sigmoid(x);
    case VBS_CELL_AFFINE:
        return line;
    case VBS_CELL_LEAKY_RELU:
        return x < 0 ? alpha * x : x;
    case VBS_CELL_THRESHOLDED_RELU:
        return x < alpha ? 0 : x;
    case VBS_CELL_SCALED_TANH:
        return alpha * tanh(beta * x);
    case VBS_CELL_HARD_SIGMOID:
        return line < 0 ? 0 : line > 1 ? 1 : line;
    case VBS_CELL_ELU:
        return x < 0 ? alpha * expm1(x) : x;
    case VBS_CELL_SOFTSIGN:
        return x / (1 + fabs(x));
    default:
        return log(1 + exp(x));
    }
}

static void sums(const struct cell *cell, const float *x)
{
    int64_t n = cell->gates * cell->hidden;

    for (int64_t g = 0; g < n; g++) {
        cell->x_sum[g] = cell->bias[g];
        cell->h_sum[g] = cell->bias[n + g];
        for (int64_t i = 0; i < cell->n_in; i++)
            cell->x_sum[g] += (double)cell->weights[g * cell->n_in + i] * x[i];
        for (int64_t i = 0; i < cell->hidden; i++)
            cell->h_sum[g] += (double)cell->state_weights[g * cell->hidden + i] * cell->h[i];
    }
}

static void lstm(const struct cell *cell)
{
    int64_t n = cell->hidden;
    const double *x = cell->x_sum, *h = cell->h_sum;

    for (int64_t i = 0; i < n; i++) {
        double in = x[i] + h[i], out = x[n + i] + h[n + i], forget = x[2 * n + i] + h[2 * n + i];

        in += cell->peepholes ? cell->peepholes[i] * cell->c[i] : 0;
        forget += cell->peepholes ? cell->peepholes[2 * n + i] * cell->c[i] : 0;
        cell->c[i] = function(cell, 0, forget) * cell->c[i] +
                     function(cell, 0, in) * function(cell, 1, x[3 * n + i] + h[3 * n + i]);
        out += cell->peepholes ? cell->peepholes[n + i] * cell->c[i] : 0;
        cell->h[i] = function(cell, 0, out) * function(cell, 2, cell->c[i]);
    }
}

static void gru(const struct cell *cell)
{
    int64_t n = cell->hidden;
    const double *x = cell->x_sum, *h = cell->h_sum;

    for (int64_t i = 0; i < n; i++) /* the state is still the one before */
        cell->c[i] = function(cell, 0, x[n + i] + h[n + i]) * cell->h[i];
    for (int64_t i = 0; i < n; i++) {
        double update = function(cell, 0, x[i] + h[i]), sum = x[2 * n + i] + cell->bias[5 * n + i];

        if (cell->attributes->recurrent.reset_after)
            sum = x[2 * n + i] + function(cell, 0, x[n + i] + h[n + i]) * h[2 * n + i];
        else
            for (int64_t j = 0; j < n; j++)
                sum += (double)cell->state_weights[(2 * n + i) * n + j] * cell->c[j];
        cell->x_sum[i] = update; /* read above */
        cell->h_sum[i] = function(cell, 1, sum);
    }
    for (int64_t i = 0; i < n; i++)
        cell->h[i] = (1 - cell->x_sum[i]) * cell->h_sum[i] + cell->x_sum[i] * cell->h[i];
}

static void rnn(const struct cell *cell)
{
    for (int64_t i = 0; i < cell->hidden; i++) {
        double x = cell->x_sum[i] + cell->h_sum[i];

        if (cell->attributes->recurrent.functions[0].kind != VBS_CELL_USUAL) {
            cell->h[i] = function(cell, 0, x);
            continue;
        }
        switch (cell->attributes->recurrent.function) {
        case VBS_RNN_TANH:
            cell->h[i] = tanh(x);
            break;
        case VBS_RNN_RELU:
            cell->h[i] = x < 0 ? 0 : x;
            break;
        case VBS_RNN_SIGMOID:
            cell->h[i] = sigmoid(x);
            break;
        }
    }
}

/* Runs a direction over a sequence; its states go to y, of which an element has y_stride values. */
static void run(const struct cell *cell, bool backward, int64_t elements, const float *x, float *y,
                int64_t y_stride)
{
    for (int64_t step = 0; step < elements; step++) {
        int64_t t = backward ? elements - 1 - step : step;

        sums(cell, x + t * cell->n_in);
        if (cell->op == VBS_OP_LSTM)
            lstm(cell);
        else if (cell->op == VBS_OP_GRU)
            gru(cell);
        else
            rnn(cell);
        for (int64_t i = 0; i < cell->hidden; i++)
            y[t * y_stride + i] = (float)cell->h[i];
    }
}

/* Sets the first state and memory of a direction; inputs[1] and [2] are those of all directions,
 * where there are some. */
static void begin(const struct subject *s, int64_t direction, const float *const *inputs,
                  struct cell *cell)
{
    int64_t n = cell->hidden, first = direction * n;

    for (int64_t i = 0; i < n; i++) {
        cell->h[i] = s->l->n_inputs > 1 ? inputs[1][first + i] : 0;
        cell->c[i] = s->l->n_inputs > 2 ? inputs[2][first + i] : 0;
    }
}

/* Writes the last state and memory of a direction to their rows behind those of the sequence. */
static void end(const struct subject *s, int64_t direction, const struct cell *cell, float *y)
{
    int64_t row = s->l->shape.dim[1], n = cell->hidden;
    float *to = y + s->l->views[0].dim[0] * row + direction * n;

    for (int64_t i = 0; i < n && s->l->attributes.recurrent.cells; i++) {
        to[i] = (float)cell->h[i];
        to[row + i] = (float)cell->c[i];
    }
}

bool reference_recurrent(const struct subject *s, const float *const *inputs, float *y)
{
    const float *x = inputs[0];
    const struct vbs_layer *l = s->l;
    int64_t directions = l->operand.dim[0], rows = l->operand.dim[1], hidden = l->operand.dim[2];
    int64_t n_in = l->views[0].dim[1];
    float *weights = subject_values(s, -1, VBS_PARAMETER_WEIGHTS, directions * rows * n_in);
    float *state = subject_values(s, -1, VBS_PARAMETER_OPERAND, directions * rows * hidden);
    float *bias = subject_values(s, -1, VBS_PARAMETER_BIAS, directions * 2 * rows);
    float *peepholes = subject_values(s, -1, VBS_PARAMETER_GAMMA, directions * 3 * hidden);
    double *space = malloc((size_t)(2 * hidden + 2 * rows) * sizeof *space);
    bool made = weights && state && bias && peepholes && space;

    for (int64_t d = 0; made && d < directions; d++) {
        struct cell cell = {
            .op = l->op,
            .attributes = &l->attributes,
            .n_in = n_in,
            .hidden = hidden,
            .gates = rows / hidden,
            .weights = weights + d * rows * n_in,
            .state_weights = state + d * rows * hidden,
            .bias = bias + d * 2 * rows,
            .peepholes = l->attributes.recurrent.peepholes ? peepholes + d * 3 * hidden : NULL,
            .h = space,
            .c = space + hidden,
            .x_sum = space + 2 * hidden,
            .h_sum = space + 2 * hidden + rows};

        begin(s, d, inputs, &cell);
        run(&cell, d == 1 || l->attributes.recurrent.direction == VBS_BACKWARD, l->views[0].dim[0],
            x, y + d * hidden, directions * hidden);
        end(s, d, &cell, y);
    }
    free(space);
    free(peepholes);
    free(bias);
    free(state);
    free(weights);
    return made;
}
