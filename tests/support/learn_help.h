/* A tiny network on a backend with a profile whose times are made up, and what every
 * result of learning must fulfil. */
#ifndef TESTS_LEARN_HELP_H
#define TESTS_LEARN_HELP_H

#include "vbslab/learn.h"

#include <stdbool.h>

/* A subject of learning. */
struct tiny {
    struct vbs_network *network;
    const struct vbs_backend *backend;
    struct vbs_profile *profile;
    int64_t request; /* samples of all schedules */
};

/* The text of a network of two convolutions. */
extern const char tiny_network[];

/* Parses the network, and makes a profile of its kernels at batches 1 to 3. Ends the program where
 * that is not possible. */
void tiny_open(const char *network, int64_t request, struct tiny *tiny);
/* Does the same on another backend; the times are factor times as long. */
void tiny_open_on(const char *backend, const char *network, int64_t request, double factor,
                  struct tiny *tiny);
void tiny_close(struct tiny *tiny);

/* Returns the least budget of a planner; INT64_MAX: it has no schedule. Ends the program where the
 * planner cannot be asked. */
int64_t tiny_least_bytes(const struct tiny *tiny, const char *planner, enum vbs_weights weights);

enum vbs_status tiny_learn(struct vbs_ctx *ctx, const struct tiny *tiny,
                           const struct vbs_learn_options *options, struct vbs_learned **learned);

/* Learns all budgets: where the time was too short for some of them, again with twice the time.
 * The caller frees the result. Ends the program where learning fails. */
struct vbs_learned *tiny_learn_all(const struct tiny *tiny,
                                   const struct vbs_learn_options *options);

/* Returns whether the answer fits into its budget, by the replay on profile. */
bool tiny_replays(const struct vbs_profile *profile, const struct vbs_learned_budget *budget);

/* Returns whether the times of a budget with a baseline agree with each other, and the answer is
 * not slower than the baseline. */
bool tiny_agrees(const struct vbs_learned_budget *budget);

/* Asks to stop with the nth report: the progress of a call. */
struct tiny_stop {
    int n_left;
    volatile sig_atomic_t stop;
};

void tiny_stop_soon(void *self, double done, double left_s, const char *text);

#endif
