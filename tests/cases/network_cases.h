/* Networks that tests of the room model go through, one after the other. The program ends where one
 * of them cannot be made. */
#ifndef TESTS_NETWORK_CASES_H
#define TESTS_NETWORK_CASES_H

#include "vbslab/model.h"

/* Checks a network; self is what the caller gave. */
typedef void network_check(const char *name, const struct vbs_network *network, void *self);

void each_model(const char *const *models, size_t n_models, network_check *check, void *self);
void each_backend_case(network_check *check, void *self);
void each_operator_case(network_check *check, void *self);

/* Checks a network with coded weights, of which the file is gone. */
void one_with_coded_weights(network_check *check, void *self);

/* Gives the values of a parameter, which the caller frees, or null where memory is out or the call
 * fails. */
float *parameter_values(const struct vbs_network *network, int layer, int fused, int what);

#endif
