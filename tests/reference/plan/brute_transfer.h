/*
 * Slow references for weights inside the budget, from the words of schedule.h: the memory and the
 * time of a schedule, byte by byte, sample by sample, event by event; and the best of all
 * schedules. They share no code with the library beyond reading profiles, and end the program when
 * memory is out.
 */
#ifndef TESTS_BRUTE_TRANSFER_H
#define TESTS_BRUTE_TRANSFER_H

#include "vbslab/schedule.h"

#include <stdbool.h>

#define BRUTE_LAYERS  4
#define BRUTE_REQUEST 3   /* samples */
#define BRUTE_SLICES  3   /* the largest number of slices into which steps divide a layer */
#define BRUTE_WEIGHTS 256 /* bytes of one format; formats 0 and 1 only */
#define BRUTE_FORMATS 2

/* The progress of the slices of each layer. */
struct brute_progress {
    int slices[BRUTE_LAYERS + 1];
    int done[BRUTE_LAYERS + 1][BRUTE_SLICES]; /* [layer][slice - 1] */
};

/* Gives the progress at the start, with all layers whole. */
struct brute_progress brute_progress_start(void);
/* Count the samples that all slices of a layer have done, and those that some slice has done. */
int brute_progress_least(const struct brute_progress *progress, int layer);
int brute_progress_most(const struct brute_progress *progress, int layer);

/* A network and a request, the subject of the functions below. */
struct brute_request {
    const struct vbs_profile *profile;
    int request;
    enum vbs_io io;
};

/* Give the bytes of all samples between steps, and during a step of a slice without workspace and
 * weights. */
int64_t brute_transfer_live(const struct brute_request *of, const struct brute_progress *progress);
int64_t brute_transfer_during(const struct brute_request *of, const struct brute_progress *progress,
                              int layer, int slice, int batch);

/* The bytes from..to - 1 of the weights of a slice, and its share of the layer's time. */
struct brute_slice {
    int from, to;
    double share;
};

struct brute_slice brute_transfer_slice(const struct vbs_profile *profile, int layer,
                                        int64_t weights, int slice, int slices);

/* Gives whether a layer may run row in so many slices. */
bool brute_divides(const struct vbs_profile_layer *layer, const struct vbs_profile_row *row,
                   int slices);

/* Gives the bytes of the weights of a format, 0: the layer does not have the format. */
int64_t brute_transfer_weights(const struct vbs_profile *profile, int layer, int format);

/* Gives the row that a compute step runs; the schedule's algorithms must be the profile's. */
const struct vbs_profile_row *brute_transfer_row(const struct vbs_profile *profile,
                                                 const struct vbs_step *step);

/* The start and the end of a step. */
struct brute_event {
    double start_us, end_us;
    int64_t memory_bytes;
};

/* Computes the events of a valid schedule, one for each step. False, and a line of TAP, where some
 * step never starts, so that the schedule is not valid. */
bool brute_transfer_events(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           const struct vbs_link *link, struct brute_event *events);

/*
 * Computes the least time, from the start to the end of the last step on either clock, of all
 * schedules with weights included in memory_bytes: any order of steps and transfers, any batches
 * and algorithms, any residents. Loads, evictions and, where bands or the layer has weights, steps
 * of a layer are whole or slices of 2 up to max_slices; different divisions of a layer may be mixed
 * as far as schedule.h lets them. HUGE_VAL: no schedule. NAN: the search is too large: the ends of
 * slices divide the weights of all formats into more than 8 segments, or there are more than 200000
 * lists of steps. Three layers in two slices with a request of 2 take milliseconds, and seconds
 * where there are two formats. Where steps is not null, *n_steps of them (room for BRUTE_STEPS) are
 * such a schedule's, with algorithms as in the profile.
 */
#define BRUTE_STEPS 256

struct brute_best {
    struct brute_request of;
    int64_t memory_bytes;
    struct vbs_link link; /* bytes_per_us 0: nothing can be copied */
    int max_slices;       /* 1..BRUTE_SLICES */
    bool bands;
};

double brute_transfer_best(const struct brute_best *best, struct vbs_step *steps, int *n_steps);

#endif
