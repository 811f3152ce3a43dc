/*
 * Pattern databases: lower bounds of the remaining time. A pattern is a set of layers. Its database
 * has, for every state of the projection onto these layers, the least time that they still take. In
 * the projection the steps of all other layers take no time. The only memory that they take is the
 * least that samples keep alive between the layers of the pattern. The bounds of disjoint patterns
 * may be added (Culberson and Schaeffer, "Pattern databases", 1998).
 */
#ifndef VBS_PLAN_SEARCH_PATTERN_DATABASE_H
#define VBS_PLAN_SEARCH_PATTERN_DATABASE_H

#include "plan/search/state_search.h"

struct vbs_pattern_database {
    uint64_t *layers;
    struct vbs_order_ideals ideals; /* projected onto the layers */
    struct vbs_state_search search; /* of the projection */
};

/* A request for a pattern database. All pointers are borrowed. */
struct vbs_pattern_request {
    const struct vbs_lattice *all; /* of the whole problem */
    const uint64_t *layers;        /* of the pattern */
    int64_t *const *layer_to_go;   /* [n_layers] as computed by vbs_task_to_go */
    /* [n_databases] of fewer layers, for the same problem and budget: the heuristic of the search
     * that builds this one. */
    const struct vbs_pattern_database *databases;
    int n_databases;
    struct vbs_search_limits limits; /* of the time that the layers of the pattern take */
};

/* Builds the database that request describes. *database is cleared unless *found is VBS_FOUND.
 * VBS_NO_MEMORY, VBS_INTERRUPTED. */
enum vbs_status vbs_pattern_database_build(struct vbs_ctx *ctx,
                                           const struct vbs_pattern_request *request,
                                           struct vbs_pattern_database *database,
                                           enum vbs_found *found) VBS_MUST_CHECK;
void vbs_pattern_database_clear(struct vbs_pattern_database *database);

/* Gives the bytes that the database takes. */
size_t vbs_pattern_database_bytes(const struct vbs_pattern_database *database);

#endif
