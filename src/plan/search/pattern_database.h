/*
 * Lower bounds by patterns (pattern databases): the least time that a set of layers still takes,
 * from every state of the projection onto them. What the other layers do is free and takes no
 * memory but the least that samples keep anywhere between. Patterns of disjoint sets add up.
 */
#ifndef VBS_PLAN_SEARCH_PATTERN_DATABASE_H
#define VBS_PLAN_SEARCH_PATTERN_DATABASE_H

#include "plan/search/state_search.h"

struct vbs_pattern_database {
    uint64_t *layers;
    struct vbs_order_ideals ideals; /* projected onto the layers */
    struct vbs_state_search search; /* of the projection */
};

/* Builds the pattern of some layers, led by patterns of fewer (any may be given). limits are for
 * the time of its layers alone. Cleared unless *found is VBS_FOUND. */
enum vbs_status vbs_pattern_database_build(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                           const uint64_t *layers, int64_t *const *layer_to_go,
                                           const struct vbs_pattern_database *databases,
                                           int n_databases, const struct vbs_search_limits *limits,
                                           struct vbs_pattern_database *database,
                                           enum vbs_found *found) VBS_MUST_CHECK;
void vbs_pattern_database_clear(struct vbs_pattern_database *database);

/* Memory that it holds. */
size_t vbs_pattern_database_bytes(const struct vbs_pattern_database *database);

#endif
