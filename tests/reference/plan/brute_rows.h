/*
 * The definition of steps with rows, cell by cell: which rows of which sample are in memory, and
 * which of them are still to be read. Slow, and without any arithmetic of intervals: the rows that
 * an output row reads are found by trying all.
 */
#ifndef TESTS_BRUTE_ROWS_H
#define TESTS_BRUTE_ROWS_H

#include "vbslab/profile.h"
#include "vbslab/schedule.h"

#define BRUTE_ROWS_LAYERS  12
#define BRUTE_ROWS_SAMPLES 4
#define BRUTE_ROWS_ROWS    64

/* One sample of one tensor. */
struct brute_sample {
    bool begun, complete;
    bool by_rows;
    int window, batch;
    bool done[BRUTE_ROWS_ROWS];
    bool freed;
};

struct brute_rows {
    const struct vbs_profile *profile;
    int request;
    enum vbs_io io;
    struct brute_sample samples[BRUTE_ROWS_LAYERS + 1][BRUTE_ROWS_SAMPLES];
};

/* Starts at the beginning of a request of at most BRUTE_ROWS_SAMPLES samples. */
void brute_rows_init(struct brute_rows *state, const struct vbs_profile *profile, int request,
                     enum vbs_io io);

/* Gives the samples that the layer has finished. */
int brute_rows_finished(const struct brute_rows *state, int layer);

/* Tries a compute step. False: it breaks a rule, and state is unchanged. Else it is done, and
 * *bytes is the memory that it needs without its workspace. The step's row must be in the profile;
 * its rows may be anything. */
bool brute_rows_step(struct brute_rows *state, const struct vbs_step *step, int64_t *bytes);

/* Gives whether all layers have finished the request. */
bool brute_rows_complete(const struct brute_rows *state);

/* Gives the bytes that are live between steps. */
int64_t brute_rows_live(const struct brute_rows *state);

#endif
