/* Training sessions under test, beside the reference with the same parameters. */
#ifndef TESTS_TRAINING_HELP_H
#define TESTS_TRAINING_HELP_H

#include "base/ctx.h"
#include "vbslab/training.h"

#include "cases/backend_cases.h"
#include "reference/backend/training.h"

#define TRAINING_BATCH 3

/* Largest difference from the reference, as a fraction of the largest value. Sums of a few thousand
 * products in floats are within it. */
#define TRAINING_TOLERANCE 2e-5

struct training_subject {
    struct vbs_ctx ctx;
    const char *name;
    struct vbs_network *network;
    struct vbs_training *session;
    struct reference_training reference;
    float *input, *output, *output_gradient, *input_gradient;
    double *input_d, *output_gradient_d;
};

struct vbs_training_options training_options(int threads, double dropout_rate);

/* Opens a session of onednn for a case, and gives the reference its parameters; false: s->ctx says
 * why. Close it after success and failure. */
bool training_open(struct training_subject *s, const struct backend_case *c, int threads,
                   double dropout_rate);
bool training_open_operator(struct training_subject *s, const struct operator_case *c, int threads);
void training_close(struct training_subject *s);

/* Gives the largest difference of n values, as a fraction of the largest value or of 0.001. */
double training_difference(const double *want, const float *got, int64_t n);

/* Computes a forward pass of training and a backward pass; gives the largest difference of outputs
 * and gradients from the reference. INFINITY: a failure. */
double training_check(struct training_subject *s, uint64_t step);

/* Does the same for the outputs of inference. */
double training_check_inference(struct training_subject *s);

#endif
