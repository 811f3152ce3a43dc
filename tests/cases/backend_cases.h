/* Small networks that together have every operator, in every situation that a backend may treat in
 * a way of its own: layouts, groups, padding, fused operators, tensors with several readers. */
#ifndef TESTS_BACKEND_CASES_H
#define TESTS_BACKEND_CASES_H

#include "vbslab/model.h"

#include "model/network/network.h"

#define MAX_CASE_NODES 10

struct backend_case {
    const char *name;
    const char *text; /* model text without its line "model" */
};

/* A network of operators that have no model text. */
struct operator_case {
    const char *name;
    struct vbs_shape input;
    struct vbs_node nodes[MAX_CASE_NODES]; /* ends with a null name */
    float low, high;                       /* of the values of tensors; both 0: -1 to 1 */
};

/* Ends with a null name. */
extern const struct backend_case backend_cases[];

/* Gives the cases of operators, null after the last. */
const struct operator_case *operator_case_at(int index);

/* Gives a case by its name; null when there is none. */
const struct backend_case *backend_case(const char *name);
const struct operator_case *operator_case(const char *name);

enum vbs_status backend_case_network(struct vbs_ctx *ctx, const struct backend_case *c,
                                     struct vbs_network **network) VBS_MUST_CHECK;

/* Makes the network of a case. Constant operands without values are seeded, from 0.5 to 1.5, as are
 * gamma and beta of the operators that normalise. */
enum vbs_status operator_case_network(struct vbs_ctx *ctx, const struct operator_case *c,
                                      struct vbs_network **network) VBS_MUST_CHECK;

#endif
