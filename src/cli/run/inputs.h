/* Declarations that the files on the inputs of a run share: input_files.c finds the file of each
 * input, input_shapes.c reads the shapes of the files before anything is measured or planned, and
 * inputs.c reads their values. */
#ifndef VBS_CLI_RUN_INPUTS_H
#define VBS_CLI_RUN_INPUTS_H

#include "cli/run/run.h"
#include "vbslab/npy.h"

#define RUN_SHAPE_SIZE (VBS_NPY_MAX_DIMS * 21) /* bytes of a shape as vbs_npy_shape writes it */

/* An input of the network, and its file. */
struct run_input_file {
    const struct vbs_input *input;
    const char *path; /* null: it has none */
    struct vbs_npy npy;
};

/* --- input_files.c --- */

/* Returns whether --input has a file. */
bool run_gives_file(const struct cli *cli);

/* Finds the files of all inputs, files[network->n_inputs]; *n is their number. VBS_USAGE. */
enum vbs_status run_find_files(struct cli *cli, const struct vbs_network *network,
                               struct run_input_file *files, int *n) VBS_MUST_CHECK;

/* Warns of files for inputs that nothing reads. */
void run_warn_of_unread(struct run_job *job);

/* Writes the shape that a file must have: of an input that all samples share its own, else of all
 * samples of the request. want has 1 + VBS_MAX_DIMS elements; returns the number of dimensions. */
int run_wanted_shape(const struct run_job *job, const struct vbs_input *input, int64_t *want);

/* Returns how many shapes the caller has chosen. */
int run_count_shapes(const struct cli_choices *choices);

#endif
