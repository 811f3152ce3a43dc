/* What the files of the room share: drawn problems, and schedules under way. Internal to the
 * room. */
#ifndef VBS_TEACH_TEACH_H
#define VBS_TEACH_TEACH_H

#include "base/text.h"
#include "vbslab/teach.h"

#define TEACH_LAYERS    6  /* the most of an exercise */
#define TEACH_STEPS     64 /* the most of a fastest schedule; the room checks it */
#define TEACH_SOURCE    "link"
#define TEACH_UNIT_US   1000.0 /* times are whole milliseconds */
#define TEACH_NAME_SIZE 48

/* ---- draw.c ---- */

/* Writes the name by which answers call an exercise. */
void vbs_teach_name(int level, int64_t seed, char name[TEACH_NAME_SIZE]);

/* Draws problem number `attempt` of a level and a seed into *exercise: all but its times. The
 * caller frees the profile. */
enum vbs_status vbs_teach_draw(struct vbs_ctx *ctx, int level, int64_t seed, int attempt,
                               struct vbs_exercise *exercise) VBS_MUST_CHECK;

/* Gives whether exercises of this level must be too hard for greedy-vbs. */
bool vbs_teach_beats_greedy(int level);

/* ---- state.c: the states of a schedule under way, and what may follow ---- */

/* What the steps so far lead to. All that comes after depends on this alone. */
struct teach_state {
    int done[TEACH_LAYERS + 1];        /* samples that each layer has finished */
    unsigned loaded;                   /* bit k - 1: the weights of layer k are in memory */
    double clock_us, copy_us;          /* end of the last compute step, of the last load */
    double ready_us[TEACH_LAYERS + 1]; /* when weights in memory have arrived */
};

/* Gives the weights of which a schedule can have some resident, as bits of teach_state.loaded. */
unsigned vbs_teach_weighted(const struct vbs_exercise *exercise);

/* Gives the bytes in memory between steps. */
int64_t vbs_teach_between_bytes(const struct vbs_exercise *exercise,
                                const struct teach_state *state);

/* Gives the bytes in memory during a compute step, without workspace. */
int64_t vbs_teach_during_bytes(const struct vbs_exercise *exercise, const struct teach_state *state,
                               int layer, int batch);

/* Gives whether all inputs of a compute step exist and it stays within the request. */
bool vbs_teach_is_ready(const struct vbs_exercise *exercise, const struct teach_state *state,
                        int layer, int batch);

/* Moves state by a step whose algorithm is an index of the profile's; false, and an unknown state,
 * where the step breaks an order or the budget, or has no row. */
bool vbs_teach_move(const struct vbs_exercise *exercise, struct teach_state *state,
                    const struct vbs_step *step);

#define TEACH_MOVES 64 /* the most that can follow a state */

/* Lists the steps that may follow a state: all computations, loads and evictions. Returns their
 * number. */
int vbs_teach_moves(const struct vbs_exercise *exercise, const struct teach_state *state,
                    struct vbs_step moves[TEACH_MOVES]);

/* Makes the step that loads or evicts the weights of a layer. */
struct vbs_step vbs_teach_transfer(const struct vbs_exercise *exercise, enum vbs_step_op op,
                                   int layer, bool resident);

/* ---- search.c ---- */

/* The steps of a schedule, or of the rest of one. */
struct teach_path {
    int n_steps;
    struct vbs_step steps[TEACH_STEPS]; /* algorithms as in the profile */
};

/* Computes the least time at which a schedule that begins with a state can end, with these weights
 * in memory at the end; HUGE_VAL: above limit_us, or there is no end. path (may be null): the steps
 * that remain. A search through all states (progress, weights in memory, times): A* with the sum of
 * what each layer still needs alone. */
enum vbs_status vbs_teach_finish(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                 const struct teach_state *from, unsigned residents,
                                 double limit_us, double *time_us,
                                 struct teach_path *path) VBS_MUST_CHECK;

/* Computes the least time of all schedules, over all choices of resident weights; path as above,
 * resident loads included. */
enum vbs_status vbs_teach_optimum(struct vbs_ctx *ctx, const struct vbs_exercise *exercise,
                                  double limit_us, double *time_us,
                                  struct teach_path *path) VBS_MUST_CHECK;

/* ---- text.c ---- */

/* Append, in Markdown: the rules of all exercises of this kind; what is given in this one: its
 * table, request and budget; both, below what its level is; and the steps of a schedule on one
 * line. */
void vbs_teach_add_rules(struct vbs_text *text, const struct vbs_exercise *exercise);
void vbs_teach_add_given(struct vbs_text *text, const struct vbs_exercise *exercise);
void vbs_teach_add_problem(struct vbs_text *text, const struct vbs_exercise *exercise);
void vbs_teach_add_steps(struct vbs_text *text, const struct vbs_schedule *schedule);

/* ---- sheet.c: what sheets and classes share ---- */

/* Checks the number of variants and the seed of a sheet: VBS_USAGE. */
enum vbs_status vbs_teach_check_sheet(struct vbs_ctx *ctx, int64_t seed, int n) VBS_MUST_CHECK;

/* Gives the seed of variant 1, 2, ... of a sheet. */
int64_t vbs_teach_variant_seed(int64_t seed, int variant);

/* Append the beginning of a key up to its table, whose columns begin with the number of the variant
 * and, where a class has them, the student and the file; and, of one variant, what is behind these
 * columns. */
void vbs_teach_begin_key(struct vbs_text *key, int level, int64_t seed, int n, bool has_students);
enum vbs_status vbs_teach_add_to_key(struct vbs_ctx *ctx, struct vbs_text *key,
                                     const struct vbs_exercise *exercise) VBS_MUST_CHECK;

/* ---- hint.c ---- */

/* An answer that is judged. Its steps have the profile's algorithms, -1: no such. */
struct teach_answer {
    const struct vbs_exercise *exercise;
    const struct vbs_step *steps;
    int64_t n_steps;
};

/* Runs the first n steps of an answer as far as they keep order and budget (memory_bytes). Returns
 * how many did; *state is what they lead to, *residents the weights that they begin with. */
int64_t vbs_teach_run(const struct teach_answer *answer, int64_t n, int64_t memory_bytes,
                      struct teach_state *state, unsigned *residents);

/* Writes into verdict->hint what would help an answer that fits and takes verdict->time_us. */
enum vbs_status vbs_teach_hint(struct vbs_ctx *ctx, const struct teach_answer *answer,
                               struct vbs_exercise_verdict *verdict) VBS_MUST_CHECK;

/* Writes the same for an answer that breaks an order, or ends too early, where verdict->step is
 * 0; and for one that breaks the budget. */
void vbs_teach_hint_order(const struct teach_answer *answer, struct vbs_exercise_verdict *verdict);
void vbs_teach_hint_budget(const struct teach_answer *answer, struct vbs_exercise_verdict *verdict);

#endif
