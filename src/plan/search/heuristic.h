/*
 * The heuristic of a search: a lower bound of the time from every state of a lattice to the goal.
 * It is the sum over pattern databases of disjoint sets of layers (pattern_database.h) and, for
 * each other layer, its own least time.
 */
#ifndef VBS_PLAN_SEARCH_HEURISTIC_H
#define VBS_PLAN_SEARCH_HEURISTIC_H

#include "plan/search/expand.h"

struct vbs_pattern_database;

/* All databases are of the same problem and budget as the lattice. */
struct vbs_heuristic {
    const struct vbs_lattice *lattice;
    int64_t *const *layer_to_go; /* [n_layers] as vbs_task_to_go gives them */
    int n_databases;
    const struct vbs_pattern_database **databases; /* [n_databases] */
    int **maps;                                    /* [n_databases][ideals of the lattice] */
    int *database_of;  /* [n_layers + 1] -1: in none, -2: not in the lattice */
    uint16_t *scratch; /* [request] */
    struct vbs_arena arena;
};

/* layers is the set of layers of the lattice. Databases with other layers are ignored; the others
 * are borrowed. VBS_NO_MEMORY. */
enum vbs_status vbs_heuristic_init(struct vbs_ctx *ctx, struct vbs_heuristic *heuristic,
                                   const struct vbs_lattice *lattice, const uint64_t *layers,
                                   int64_t *const *layer_to_go,
                                   const struct vbs_pattern_database *databases,
                                   int n_databases) VBS_MUST_CHECK;
void vbs_heuristic_clear(struct vbs_heuristic *heuristic);

/* Gives the least ticks that the layers of one database still take from state. */
int64_t vbs_heuristic_database_ticks(const struct vbs_heuristic *heuristic, int which,
                                     const uint16_t *state);

/* Gives a lower bound of the ticks that all layers of the lattice still take from state, at most
 * VBS_NEVER_TICKS. */
int64_t vbs_heuristic_ticks(const struct vbs_heuristic *heuristic, const uint16_t *state);

#endif
