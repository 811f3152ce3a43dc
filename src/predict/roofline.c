/* Times as sums of what kernels do, each at a rate of its own. */
#include "predict/predict.h"

#include <math.h>
#include <string.h>

#define SWEEPS 4000

/* Sums up, with each point divided by its time: products [j, k] of the terms, and the terms' sums,
 * which are their products with the wanted relative time of 1. */
static void sum_products(const struct predict_point *const *points, int n,
                         double products[PREDICT_TERMS][PREDICT_TERMS], double sums[PREDICT_TERMS])
{
    memset(products, 0, sizeof(double) * PREDICT_TERMS * PREDICT_TERMS);
    memset(sums, 0, sizeof(double) * PREDICT_TERMS);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < PREDICT_TERMS; j++) {
            double term = points[i]->terms[j] / points[i]->time_us;

            sums[j] += term;
            for (int k = 0; k < PREDICT_TERMS; k++)
                products[j][k] += term * points[i]->terms[k] / points[i]->time_us;
        }
}

/* Coordinate descent: a convex problem, whose bounds concern single coordinates, so that it
 * converges to the least sum of squares. */
void vbs_predict_fit_roofline(const struct predict_point *const *points, int n,
                              double coefficients[PREDICT_TERMS])
{
    double products[PREDICT_TERMS][PREDICT_TERMS], sums[PREDICT_TERMS];

    sum_products(points, n, products, sums);
    memset(coefficients, 0, sizeof *coefficients * PREDICT_TERMS);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (int j = 0; j < PREDICT_TERMS; j++) {
            double left = sums[j];

            for (int k = 0; k < PREDICT_TERMS; k++)
                if (k != j)
                    left -= products[j][k] * coefficients[k];
            coefficients[j] = products[j][j] > 0 ? fmax(0, left / products[j][j]) : 0;
        }
}

double vbs_predict_roofline(const double coefficients[PREDICT_TERMS],
                            const struct predict_point *point)
{
    double us = 0;

    for (int j = 0; j < PREDICT_TERMS; j++)
        us += coefficients[j] * point->terms[j];
    return fmax(us, 1e-3);
}
