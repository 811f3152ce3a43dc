/* Explanations of plans as text and as JSON: `vbslab explain`. */
#ifndef VBS_CLI_EXPLAIN_EXPLAIN_H
#define VBS_CLI_EXPLAIN_EXPLAIN_H

#include "cli/common/common.h"

#include <jansson.h>

/* An explanation with what it is about. */
struct cli_explanation {
    struct cli *cli;
    const struct vbs_problem *problem;
    const char *planner;
    int64_t memory_bytes;
    int64_t table_bytes;                 /* the step of the table, 0: none */
    const struct vbs_schedule *schedule; /* null: a part is explained */
    const struct vbs_explanation *made;
};

#define CLI_MOST_CELLS      1000   /* of tables that text shows */
#define CLI_MOST_PAGE_CELLS 200000 /* of tables that a page shows */

/* How the tree shows a decision. */
struct cli_tree_place {
    int level;
    bool is_rest;  /* the rest of a cut into several pieces */
    bool is_again; /* the same as an earlier child of its parent */
    bool is_hidden;
};

/* Finds how the tree shows all decisions. places: [n_decisions], all 0. */
void cli_find_places(const struct vbs_explanation *made, struct cli_tree_place *places);

/* Writes "split 5 + 7" and the like, at most size bytes. Returns buffer. */
char *cli_choice_label(const struct cli_explanation *about, const struct vbs_decision *decision,
                       const struct vbs_candidate *candidate, char *buffer, size_t size);

/* Writes "1..12" or "3 conv2", at most size bytes. Returns buffer. */
char *cli_layers_label(const struct cli_explanation *about, const struct vbs_decision *decision,
                       char *buffer, size_t size);

/* Gives whether candidate a is faster than b by more than rounding. */
bool cli_is_faster(double a_us, double b_us);

/* Gives whether neither is faster. */
bool cli_is_equal(double a_us, double b_us);

/* Prints the order in which the layers run, where it is not that of their numbers. */
void cli_print_order(const struct vbs_explanation *made);

/* Prints the tree of decisions, a line each, down to `depth` levels; 0: as many as fit a page. */
enum vbs_status cli_print_tree(const struct cli_explanation *about, int depth) VBS_MUST_CHECK;

/* Prints one decision with its candidates, the best first; at most `most` of them, 0: all. */
enum vbs_status cli_print_decision(const struct cli_explanation *about, int index,
                                   int most) VBS_MUST_CHECK;

/* Prints all decisions down to `depth` levels (0: all), each with its candidates and what the new
 * ones mean; in a terminal, a line is read between two of them, and "q" ends. Of a planner that
 * decides layer by layer, the first step is what is known before. */
enum vbs_status cli_step_through(const struct cli_explanation *about, int depth) VBS_MUST_CHECK;

/* Prints time against memory of the explained part, around its memory. */
enum vbs_status cli_print_points(const struct cli_explanation *about) VBS_MUST_CHECK;

/* Print why a planner with one batch for each layer took its batches; what the bound of optimal
 * rests on; the cells of a table. */
enum vbs_status cli_print_batches(const struct cli_explanation *about) VBS_MUST_CHECK;
enum vbs_status cli_print_bound(const struct cli_explanation *about) VBS_MUST_CHECK;
enum vbs_status cli_print_cells(const struct cli_explanation *about) VBS_MUST_CHECK;

/* Makes the JSON of everything (without an explanation of decisions, of what cli_print_weights
 * prints), which the caller releases. */
enum vbs_status cli_explanation_json(const struct cli_explanation *about,
                                     json_t **json) VBS_MUST_CHECK;

/* Write this JSON, a page that shows it, or the cells of a table as CSV, to a file ("-": standard
 * output). */
enum vbs_status cli_write_explanation_page(const struct cli_explanation *about,
                                           const char *path) VBS_MUST_CHECK;
enum vbs_status cli_write_explanation(const struct cli_explanation *about,
                                      const char *path) VBS_MUST_CHECK;
enum vbs_status cli_write_cells(const struct cli_explanation *about,
                                const char *path) VBS_MUST_CHECK;

/* Print which weights of a schedule stay in memory, which are copied in and when, and what takes
 * the time: computing or copies. */
enum vbs_status cli_print_weights(const struct cli_explanation *about) VBS_MUST_CHECK;
/* Puts the same into a JSON object. */
enum vbs_status cli_put_weights(const struct cli_explanation *about, json_t *json,
                                bool *failed) VBS_MUST_CHECK;

#endif
