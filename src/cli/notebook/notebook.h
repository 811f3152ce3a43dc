/*
 * Declarations that the files of `export --notebook` share: cells.c keeps cells and writes the
 * file, story.c makes cells of an experiment's text, figures and code, template.c those of its
 * answer.md, experiment.c the notebook about an experiment, network.c the one about a network of
 * the user's, questions.c finds and lists what there is.
 */
#ifndef VBS_CLI_NOTEBOOK_NOTEBOOK_H
#define VBS_CLI_NOTEBOOK_NOTEBOOK_H

#include "base/text.h"
#include "cli/common/common.h"

#include <jansson.h>

#define NOTEBOOK_NETWORK "my-network"

/* No text of which a notebook is made may be larger. */
#define NOTEBOOK_MOST_BYTES ((size_t)1 << 20)

/* A Jupyter notebook (nbformat 4.5). failed: memory ran out, or a text is no UTF-8; every later
 * call does nothing. Begin with the cli, the path, and the rest 0. */
struct notebook {
    struct cli *cli;
    const char
        *path; /* of the file, from whose folder the notebook will run; - is standard output */
    json_t *cells;
    int n_cells;
    bool failed;
};

/* Add a cell. Empty lines at both ends of text are left out; a text of nothing else is no cell. */
void notebook_add_text(struct notebook *notebook, const char *markdown);
void notebook_add_code(struct notebook *notebook, const char *code);

/* Appends text as a literal of Python, between double quotes. */
void notebook_add_literal(struct vbs_text *code, const char *text);

/* Appends the path of a file or folder, as a literal, as it is seen from the notebook's folder.
 * VBS_IO where there is no such file. */
enum vbs_status notebook_add_path(const struct notebook *notebook, struct vbs_text *code,
                                  const char *path) VBS_MUST_CHECK;

/* Writes the notebook. VBS_NO_MEMORY, VBS_IO. */
enum vbs_status notebook_write(struct notebook *notebook) VBS_MUST_CHECK;

/* Frees the cells. */
void notebook_clear(struct notebook *notebook);

/* Prints the name and the title of every question. */
enum vbs_status notebook_list(struct cli *cli) VBS_MUST_CHECK;

/* Adds the cells of an experiment: of the project, by its name, or any folder with README.md and
 * answer.md. */
enum vbs_status notebook_add_experiment(struct notebook *notebook,
                                        const char *question) VBS_MUST_CHECK;

/* Adds the cells about a network of the user's: a model or a profile. */
enum vbs_status notebook_add_network(struct notebook *notebook, const char *word) VBS_MUST_CHECK;

/* --- between the files --- */

/* Gives the folder of an experiment, which the caller frees; own: it is not one of the project's.
 * VBS_NOT_FOUND, VBS_IO. */
enum vbs_status notebook_find(struct cli *cli, const char *question, char **folder,
                              bool *own) VBS_MUST_CHECK;

/* Reads a text of a folder, which the caller frees; null where there is no such file and that is
 * allowed. VBS_FORMAT: it is too large, or no UTF-8. */
enum vbs_status notebook_read(struct cli *cli, const char *folder, const char *name, bool may_lack,
                              char **text) VBS_MUST_CHECK;

/* The story of an experiment, while it becomes cells. */
struct notebook_story {
    struct notebook *notebook;
    const char *folder;
    const char *name; /* of the experiment: the last part of folder */
    bool own;
    bool is_set_up;        /* the cell that opens the tables is there */
    char *template;        /* answer.md */
    struct vbs_text text;  /* of the next cell */
    struct vbs_text shown; /* names of the figures that have a cell, each behind a / */
};

/* Ends the cell of text that was begun. */
void notebook_end_text(struct notebook_story *story);

/* Adds a line of Markdown; a picture that the experiment can draw becomes a cell that draws it. */
enum vbs_status notebook_tell(struct notebook_story *story, const char *line,
                              size_t length) VBS_MUST_CHECK;

/* Adds a cell of code, behind the one that opens the tables. */
enum vbs_status notebook_compute(struct notebook_story *story, const char *code) VBS_MUST_CHECK;

/* Adds the figures that no picture of the README is of. */
enum vbs_status notebook_draw_others(struct notebook_story *story) VBS_MUST_CHECK;

/* Adds the cells of the template. */
enum vbs_status notebook_add_template(struct notebook_story *story) VBS_MUST_CHECK;

/* Gives the next line of *at and its length, and moves on; null at the end. */
const char *notebook_next_line(const char **at, size_t *length);

bool notebook_begins(const char *text, const char *beginning);

#endif
