/* Profiles and sessions for the tests of profiles, CSV and store. */
#ifndef TESTS_PROFILE_HELP_H
#define TESTS_PROFILE_HELP_H

#include "vbslab/measure.h"
#include "vbslab/profile.h"

#include <gsl/gsl_rng.h>
#include <stddef.h>

/* The numbers of struct vbs_profile_layer and of struct vbs_profile_row that a file keeps,
 * X(member); of a row all but its rows, which are 0 where the layer has no reach. */
#define LAYER_NUMBERS(X) X(in_bytes) X(out_bytes) X(weight_bytes) X(in_place) X(channels) X(rows)
#define ROW_NUMBERS(X)                                                                             \
    X(time_us)                                                                                     \
    X(ws_bytes) X(weight_bytes) X(format) X(n_slices) X(mad_us) X(low_us) X(high_us) X(n_runs)

/* Gives the place where a and b differ ("layer 3: name"), or null when they are equal to the bit.
 * The text is in the caller's buffer. */
const char *profile_difference(const struct vbs_profile *a, const struct vbs_profile *b,
                               char *buffer, size_t size);

/* Makes a random profile of up to 12 layers whose texts are hostile (with quotes, commas,
 * line ends, commands, SQL, control and other characters) and whose times are any double
 * that is allowed, half of them with channels, formats, copies and a calibration; measured: with
 * statistics. Null, and the reason in ctx, when it was refused. */
struct vbs_profile *hostile_profile(struct vbs_ctx *ctx, gsl_rng *rng, bool measured);

/* A chain of layers with every batch 1..n_batches and algorithms; no ops. */
struct plain_session {
    struct vbs_session session; /* first */
    struct vbs_profile_layer *layers;
    struct vbs_kernel *kernels;
    int *inputs;
};

struct plain_session *plain_session_new(int n_layers, int n_batches, int n_algorithms);
void plain_session_free(struct plain_session *session);

/* Makes the profile of a session's layers and kernels, in which kernel i takes times_us[i]; where
 * times_us is null, all take 1 us. Null when it was refused; the reason is in ctx. */
struct vbs_profile *profile_of_session(struct vbs_ctx *ctx, const struct vbs_session *session,
                                       const double *times_us);

/* Reads a whole file; the caller frees it. Null when it cannot be read. */
char *read_text(const char *path, size_t *length);
int write_text(const char *path, const void *data, size_t length);

/* Makes a folder for a test's files, which remove_folder removes. */
char *temporary_folder(void);
void remove_folder(char *folder);

/* Gives FOLDER/NAME; the caller frees it. */
char *path_in(const char *folder, const char *name);

#endif
