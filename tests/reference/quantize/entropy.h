/* The threshold of the entropy method by its definition; shares no code with src/quantize. */
#ifndef TESTS_REFERENCE_ENTROPY_H
#define TESTS_REFERENCE_ENTROPY_H

#include <stdbool.h>

/* As vbs_quantize_entropy; *divergence is the least one. */
int entropy_reference(const double *counts, int n_bins, double low, double high, bool symmetric,
                      double *divergence);

/* Gives the divergence where the first n bins are not clipped, or infinity. */
double entropy_divergence(const double *counts, int n_bins, int n, double low, double high,
                          bool symmetric);

#endif
