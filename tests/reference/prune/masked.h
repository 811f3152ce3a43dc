/* Networks in which filters are masked: they compute what they always compute, but the outputs of
 * the masked filters, and all that is computed from nothing else, count as zeros wherever they are
 * read. A pruned network must give the same outputs. */
#ifndef TESTS_MASKED_H
#define TESTS_MASKED_H

#include "vbslab/model.h"

#include <stdbool.h>

/*
 * Computes one sample of all layers: *tensors has the output of each, tensors[0] is a copy of
 * input; it is freed by masked_free. masked(self, layer, filter): whether a filter of a conv,
 * deconv or fc is masked; null: none is. LRN sums over the channels that are left as if they were
 * neighbours. False: out of memory.
 *
 * It knows nothing of operators: what depends on masked values alone is found by computing each
 * layer again with other values in their places, and with other values in all other places.
 */
bool masked_run(const struct vbs_network *network, const float *input,
                bool (*masked)(void *self, int layer, int64_t filter), void *self,
                float ***tensors);
void masked_free(const struct vbs_network *network, float **tensors);

#endif
