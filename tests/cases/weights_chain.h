/* A chain of layers with weights, and macros for steps in one line each, for cases counted by
 * hand. */
#ifndef TESTS_WEIGHTS_CHAIN_H
#define TESTS_WEIGHTS_CHAIN_H

#include "vbslab/schedule.h"

/*
 * Three layers at batches 1 and 2, times and bytes of a sample:
 *   1  reads 4, writes 10, 5 us, 100 bytes of weights in 4 channels
 *   2  reads 10, writes 20, 3 us, no weights, 3 channels
 *   3  reads 20, writes 5, 7 us, 60 bytes of weights, channels not known
 * The first n_algorithms (1..3) of: "default"; "wide", which packs to format 1, a tenth more;
 * "far", to format 2, 4 times. A measured copy from "disk" takes 4 bytes per us without latency.
 * in_place: layer 2 is. Ends the program where it cannot be made.
 */
struct vbs_profile *weights_chain(int n_algorithms, bool in_place);

/* The numbers of the algorithms. */
enum { DEFAULT, WIDE, FAR };

/* Makes a schedule with weights included, copies from "given" of 1 us and 10 bytes per us. Borrows
 * steps. */
struct vbs_schedule weights_schedule(int64_t request, const struct vbs_step *steps,
                                     int64_t n_steps);

#define RUN(at, samples)                                                                           \
    {                                                                                              \
        .layer = (at), .batch = (samples)                                                          \
    }
#define RUN_BY(at, samples, by)                                                                    \
    {                                                                                              \
        .layer = (at), .batch = (samples), .algorithm = (by)                                       \
    }
#define RUN_SLICE(at, samples, p, n)                                                               \
    {                                                                                              \
        .layer = (at), .batch = (samples), .slice = (p), .n_slices = (n)                           \
    }
#define LOAD_SLICE(at, p, n, size)                                                                 \
    {                                                                                              \
        .op = VBS_STEP_LOAD, .layer = (at), .slice = (p), .n_slices = (n), .bytes = (size)         \
    }
#define EVICT_SLICE(at, p, n, size)                                                                \
    {                                                                                              \
        .op = VBS_STEP_EVICT, .layer = (at), .slice = (p), .n_slices = (n), .bytes = (size)        \
    }
#define LOAD(at, size)                                                                             \
    {                                                                                              \
        .op = VBS_STEP_LOAD, .layer = (at), .bytes = (size)                                        \
    }
#define EVICT(at, size)                                                                            \
    {                                                                                              \
        .op = VBS_STEP_EVICT, .layer = (at), .bytes = (size)                                       \
    }
#define LOAD_FORMAT(at, of, size)                                                                  \
    {                                                                                              \
        .op = VBS_STEP_LOAD, .layer = (at), .bytes = (size), .format = (of)                        \
    }
#define KEEP(at, size)                                                                             \
    {                                                                                              \
        .op = VBS_STEP_LOAD, .layer = (at), .bytes = (size), .resident = true                      \
    }
#define KEEP_SLICE(at, p, n, size)                                                                 \
    {                                                                                              \
        .op = VBS_STEP_LOAD, .layer = (at), .slice = (p), .n_slices = (n), .bytes = (size),        \
        .resident = true                                                                           \
    }
#define COUNT(array) ((int64_t)(sizeof(array) / sizeof(array)[0]))

#endif
