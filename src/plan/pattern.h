/*
 * Lower bounds by patterns (pattern databases): the least time that a set of layers still takes,
 * from every state of the projection onto them. What the other layers do is free and takes no
 * memory but the least that samples keep anywhere between. Patterns of disjoint sets add up.
 */
#ifndef VBS_PLAN_PATTERN_H
#define VBS_PLAN_PATTERN_H

#include "plan/expand.h"
#include "plan/states.h"

struct vbs_pattern {
    uint64_t *layers;
    int n_layers;
    struct vbs_positions positions;
    struct vbs_states states;
    int64_t *togo; /* [states.n] */
    int64_t start_ticks;
};

/*
 * A lower bound for every state of a lattice: disjoint patterns, and each other layer alone.
 * Patterns are of the same problem and budget.
 */
struct vbs_guide {
    const struct vbs_lattice *lattice;
    int64_t *const *layer_to_go; /* [n_layers] vbs_task_to_go */
    int n_parts;
    const struct vbs_pattern **patterns; /* [n_parts] */
    int **maps;                          /* [n_parts][positions of the lattice] */
    int *part_of;                        /* [n_layers + 1] -1: alone, -2: not in the lattice */
    uint16_t *scratch;                   /* [request] */
    struct vbs_arena arena;
};

/* layers: those of the lattice; patterns that have others are left out. */
enum vbs_status vbs_guide_init(struct vbs_ctx *ctx, struct vbs_guide *guide,
                               const struct vbs_lattice *lattice, const uint64_t *layers,
                               int64_t *const *layer_to_go, const struct vbs_pattern *patterns,
                               int n_patterns) VBS_MUST_CHECK;
void vbs_guide_clear(struct vbs_guide *guide);

/* Ticks that the layers of one pattern still take at least. */
int64_t vbs_guide_part(const struct vbs_guide *guide, int part, const uint16_t *state);

/* Ticks from the start. */
int64_t vbs_guide_start(const struct vbs_guide *guide);

/* Limits of a build. */
struct vbs_pattern_limits {
    int64_t below_ticks; /* schedules of the pattern's layers that take this or more are left out */
    int max_states;      /* more: the build gives up */
    /* Of states with the same progress only this many are followed, those that promise most; 0:
     * all. What is built then is no bound, but its schedule is one. */
    int beam_width;
    double until_s; /* of vbs_clock_s */
};

enum vbs_built {
    VBS_BUILT,
    VBS_BUILT_NONE, /* no schedule takes less than below_ticks: start_ticks is that */
    VBS_BUILT_NOT,  /* the limits ended it; nothing is known */
};

/* Builds the pattern of some layers, led by patterns of fewer (any may be given). The pattern is
 * cleared unless *built is VBS_BUILT, but start_ticks is kept. */
enum vbs_status vbs_pattern_build(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                  const uint64_t *layers, int64_t *const *layer_to_go,
                                  const struct vbs_pattern *patterns, int n_patterns,
                                  const struct vbs_pattern_limits *limits,
                                  struct vbs_pattern *pattern,
                                  enum vbs_built *built) VBS_MUST_CHECK;
void vbs_pattern_clear(struct vbs_pattern *pattern);

/* Memory that it holds. */
size_t vbs_pattern_bytes(const struct vbs_pattern *pattern);

/* Appends the steps of a best schedule; the pattern must be of all layers. */
enum vbs_status vbs_pattern_emit(struct vbs_ctx *ctx, const struct vbs_lattice *all,
                                 const struct vbs_pattern *pattern,
                                 struct vbs_step_list *steps) VBS_MUST_CHECK;

/* Seconds of a clock that never goes back. */
double vbs_clock_s(void);

#endif
