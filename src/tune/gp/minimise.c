/*
 * The method of Broyden, Fletcher, Goldfarb and Shanno with the inverse Hessian and a line search
 * that halves steps (Nocedal, Wright: Numerical Optimization, 2006, algorithms 3.1 and 6.1). GSL's
 * minimisers are not used because they allocate memory and end the program where there is none.
 */
#include "tune/gp/minimise.h"

#include <gsl/gsl_cblas.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#define ENOUGH     1e-4 /* share of the decrease that the slope promises */
#define FLAT       1e-5 /* largest member of the gradient at a minimum */
#define FIRST_STEP 0.5  /* length of the first step */
#define LONGEST    2.0  /* of all steps */
#define HALVINGS   20

struct gp_descent {
    int n;
    double *inverse;  /* [n, n] of the Hessian */
    double *gradient; /* [n] */
    double *step, *next, *next_gradient, *change;
};

static double dot(int n, const double *a, const double *b)
{
    return cblas_ddot(n, a, 1, b, 1);
}

/* Sets the inverse Hessian to a multiple of the unit matrix. */
static void reset(struct gp_descent *descent, double scale)
{
    memset(descent->inverse, 0, sizeof(double) * (size_t)descent->n * (size_t)descent->n);
    for (int i = 0; i < descent->n; i++)
        descent->inverse[(size_t)i * (size_t)descent->n + (size_t)i] = scale;
}

/* Takes step and change of the gradient into the inverse Hessian. first: it is a multiple of the
 * unit matrix still. */
static void update(struct gp_descent *descent, bool first)
{
    int n = descent->n;
    double *step = descent->step, *change = descent->change, *product = descent->next;
    double slope = dot(n, step, change), square = dot(n, change, change), curve;

    if (!(slope > 1e-12 * square))
        return;
    if (first)
        reset(descent, slope / square);
    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, 1, descent->inverse, n, change, 1, 0, product,
                1);
    curve = (1 + dot(n, change, product) / slope) / slope;
    for (int i = 0; i < n; i++) {
        double *row = descent->inverse + (size_t)i * (size_t)n;

        for (int j = 0; j < n; j++)
            row[j] +=
                curve * step[i] * step[j] - (product[i] * step[j] + step[i] * product[j]) / slope;
    }
}

/* Writes the next step, downhill, and gives its slope, which is below 0. */
static double direct(struct gp_descent *descent, bool first)
{
    int n = descent->n;
    double *step = descent->step, slope, length;

    cblas_dgemv(CblasRowMajor, CblasNoTrans, n, n, -1, descent->inverse, n, descent->gradient, 1, 0,
                step, 1);
    slope = dot(n, step, descent->gradient);
    if (!(slope < 0)) {
        reset(descent, 1);
        for (int i = 0; i < n; i++)
            step[i] = -descent->gradient[i];
        slope = dot(n, step, descent->gradient);
    }
    length = sqrt(dot(n, step, step));
    if (length > LONGEST || first) {
        double factor = (first ? FIRST_STEP : LONGEST) / length;

        cblas_dscal(n, factor, step, 1);
        slope *= factor;
    }
    return slope;
}

static double largest(int n, const double *values)
{
    double most = 0;

    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(values[i]));
    return most;
}

double vbs_gp_minimise(gp_function *function, void *self, int n, double *x, int max_calls,
                       double *work)
{
    size_t size = (size_t)n;
    struct gp_descent d = {.n = n,
                           .gradient = work,
                           .step = work + size,
                           .next = work + 2 * size,
                           .next_gradient = work + 3 * size,
                           .change = work + 4 * size,
                           .inverse = work + 5 * size};
    double value = function(self, x, d.gradient);
    bool first = true;

    if (!isfinite(value))
        return INFINITY;
    reset(&d, 1);
    for (int calls = 1; calls < max_calls && largest(n, d.gradient) > FLAT;) {
        double slope = direct(&d, first), share = 1, next = INFINITY;
        int halvings = 0;

        for (; halvings < HALVINGS && calls < max_calls; halvings++, share /= 2) {
            for (int i = 0; i < n; i++)
                d.next[i] = x[i] + share * d.step[i];
            next = function(self, d.next, d.next_gradient);
            calls++;
            if (next <= value + ENOUGH * share * slope)
                break;
        }
        if (!(next <= value + ENOUGH * share * slope))
            break;
        for (int i = 0; i < n; i++) {
            d.step[i] = d.next[i] - x[i];
            d.change[i] = d.next_gradient[i] - d.gradient[i];
            x[i] = d.next[i];
            d.gradient[i] = d.next_gradient[i];
        }
        if (value - next < 1e-9 * (1 + fabs(value)) && halvings == 0) {
            value = next;
            break;
        }
        value = next;
        update(&d, first);
        first = false;
    }
    return value;
}
