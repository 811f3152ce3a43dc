/*
 * Guides: a lower bound for every state of a lattice, put together from disjoint patterns
 * (pattern.h) and, for each other layer, its own least time.
 */
#ifndef VBS_PLAN_SEARCH_HEURISTIC_H
#define VBS_PLAN_SEARCH_HEURISTIC_H

#include "plan/search/expand.h"

struct vbs_pattern_database;

/* Patterns are of the same problem and budget. */
struct vbs_heuristic {
    const struct vbs_lattice *lattice;
    int64_t *const *layer_to_go; /* [n_layers] as vbs_task_to_go gives them */
    int n_databases;
    const struct vbs_pattern_database **databases; /* [n_parts] */
    int **maps;                                    /* [n_parts][positions of the lattice] */
    int *database_of;  /* [n_layers + 1] -1: alone, -2: not in the lattice */
    uint16_t *scratch; /* [request] */
    struct vbs_arena arena;
};

/* layers: those of the lattice; patterns that have others are left out. */
enum vbs_status vbs_heuristic_init(struct vbs_ctx *ctx, struct vbs_heuristic *heuristic,
                                   const struct vbs_lattice *lattice, const uint64_t *layers,
                                   int64_t *const *layer_to_go,
                                   const struct vbs_pattern_database *databases,
                                   int n_databases) VBS_MUST_CHECK;
void vbs_heuristic_clear(struct vbs_heuristic *heuristic);

/* Ticks that the layers of one pattern still take at least. */
int64_t vbs_heuristic_database_ticks(const struct vbs_heuristic *heuristic, int which,
                                     const uint16_t *state);

/* Ticks that all layers of the lattice still take at least, up to VBS_NEVER_TICKS. */
int64_t vbs_heuristic_ticks(const struct vbs_heuristic *heuristic, const uint16_t *state);

#endif
