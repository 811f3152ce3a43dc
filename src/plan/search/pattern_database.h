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

/* Which pattern to build. All that it points to is borrowed. */
struct vbs_pattern_request {
    const struct vbs_lattice *all;                /* of the whole problem */
    const uint64_t *layers;                       /* of the pattern */
    int64_t *const *layer_to_go;                  /* [n_layers] as vbs_task_to_go gives them */
    const struct vbs_pattern_database *databases; /* [n_databases] of fewer layers: they lead */
    int n_databases;                              /* any of that problem and budget */
    struct vbs_search_limits limits;              /* for the time of the pattern's layers alone */
};

/* Builds the pattern that request describes. Cleared unless *found is VBS_FOUND. */
enum vbs_status vbs_pattern_database_build(struct vbs_ctx *ctx,
                                           const struct vbs_pattern_request *request,
                                           struct vbs_pattern_database *database,
                                           enum vbs_found *found) VBS_MUST_CHECK;
void vbs_pattern_database_clear(struct vbs_pattern_database *database);

/* Memory that it holds. */
size_t vbs_pattern_database_bytes(const struct vbs_pattern_database *database);

#endif
