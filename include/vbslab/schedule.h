/*
 * vbslab/schedule.h - schedules: a list of steps, each one layer on one batch, or a transfer of
 * weights.
 *
 * The one output of every planner and the one input of replay and executor. Immutable data; JSON
 * form "vbslab-schedule-1" in docs/formats.md.
 *
 * Two clocks. With weights included, computing and copying each take their steps in the order of
 * the list, side by side:
 *   compute  starts when the compute step before it has ended and the weights that it reads are
 *            there;
 *   load     starts when the load before it has ended and so has every compute step before it in
 *            the list: that is where its memory comes from. It takes what the channel says;
 *   drop     happens when the compute steps before it in the list have ended, and takes no time.
 * So a load that stands before a compute step runs beside it, unless the step reads those weights.
 * Memory does not depend on the clocks: loaded bytes count from the load's place in the list to the
 * drop's. A load with `resident` is there from the request before: such loads stand before all
 * other steps and take no time, and what they loaded must be there at the end too (dropped and
 * loaded again in between, if that is of use).
 *
 * Parts. Part p of n (1 <= p <= n) of a layer with C channels is the channels floor((p-1) C/n) to
 * floor(p C/n) - 1, and of W bytes of weights the bytes floor(W c/C) from its first channel c on;
 * where C is not known (0), the bytes floor((p-1) W/n) to floor(p W/n) - 1. A step on a part reads
 * that part of the weights and takes that share of the time (1/n where C is not known); weights may
 * be loaded in other parts than steps are taken. Every part of a layer goes through the samples for
 * itself; a sample is done when all parts have done it. The inputs stay until then, and the whole
 * output is there from the first part on. The number of parts of a layer may change where none is
 * ahead of another. A layer without weights may be taken in parts likewise (bands of rows).
 *
 * Threads: a schedule is immutable and may be shared by any number of threads.
 */
#ifndef VBSLAB_SCHEDULE_H
#define VBSLAB_SCHEDULE_H

#include "vbslab/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_STEPS 16777216 /* of one schedule; more is refused as VBS_USAGE or VBS_FORMAT */
#define VBS_MAX_PARTS 1048576  /* of one layer */

/* Where the request's own inputs and final outputs live: outside the budget, or inside it. */
enum vbs_io { VBS_IO_EXTERNAL, VBS_IO_RESIDENT };

/* "external", "resident"; never null. */
const char *vbs_io_word(enum vbs_io io);
enum vbs_status vbs_io_parse(struct vbs_ctx *ctx, const char *word, enum vbs_io *io) VBS_MUST_CHECK;

/* Where weights live: outside the budget, or inside. */
enum vbs_weights { VBS_WEIGHTS_EXCLUDED, VBS_WEIGHTS_INCLUDED };

/* "excluded", "included"; never null. */
const char *vbs_weights_word(enum vbs_weights weights);
enum vbs_status vbs_weights_parse(struct vbs_ctx *ctx, const char *word,
                                  enum vbs_weights *weights) VBS_MUST_CHECK;

enum vbs_step_op { VBS_STEP_COMPUTE, VBS_STEP_LOAD, VBS_STEP_EVICT };

/* "compute", "load", "drop"; never null. */
const char *vbs_step_word(enum vbs_step_op op);

struct vbs_step {
    int layer;      /* 1..n */
    int batch;      /* compute: samples, >= 1; else 0 */
    int algorithm;  /* compute: index into the schedule's algorithms; else 0 */
    int slice;      /* 1..n_slices */
    int n_slices;   /* 0: the whole, as 1 of 1 */
    uint8_t op;     /* enum vbs_step_op */
    uint8_t format; /* load, drop: of the packed weights, as in the profile's rows */
    bool resident;  /* load: there from the request before */
    int64_t bytes;  /* load, drop: of the part */
};

struct vbs_schedule {
    const char *model;
    const char *planner;
    int64_t request;      /* samples */
    int64_t memory_bytes; /* the budget it was planned for */
    enum vbs_io io;
    enum vbs_weights weights;
    struct vbs_link copy; /* weights included: what it was planned for; else {0} */
    int64_t weight_bytes; /* of all layers, whatever the packing: with weights excluded they are
                             outside the budget; 0: none, or not known */
    double latency_us;    /* the bound it was planned for, 0: none */
    struct {
        double time_us;         /* of the request: the end of its last step */
        int64_t peak_bytes;     /* by the exact accounting */
        int64_t reserved_bytes; /* by the rule of the planner: >= peak_bytes */
        double latency_us;      /* longest wait of a sample, as struct vbs_problem defines it */
        /* Weights included: */
        double copy_us;         /* that loads take, residents' not counted */
        int64_t copied_bytes;   /* likewise */
        int64_t resident_bytes; /* of all resident loads */
    } predicted;
    struct {
        double time_us;     /* no schedule of this request in this budget takes less */
        double gap_percent; /* 100 (predicted - bound) / bound; 0 when the bound is 0 */
    } bound;
    struct {
        int64_t peak_bytes; /* that planning held at most (vbs_solver_peak_bytes); 0: not known */
        bool interrupted;   /* the search was ended by its caller: the best schedule so far */
    } solver;
    /* The profile that it was planned on; texts are null and numbers 0 where they are not known. */
    struct {
        int64_t profile_id;  /* in the store of the program that planned */
        const char *profile; /* its content hash (vbs_profile_hash) */
        const char *device, *library, *backend;
        int threads;
        bool modelled; /* the times come from a model, not from a measurement */
    } provenance;
    int n_layers;                   /* names of layers, or 0 */
    const char *const *layer_names; /* [n_layers + 1], [1..n_layers] used; null: not known */
    int n_algorithms;
    const char *const *algorithms;
    int64_t n_steps;
    const struct vbs_step *steps;
};

void vbs_schedule_free(struct vbs_schedule *schedule);

/* A copy of everything in *draft, texts and arrays too. */
enum vbs_status vbs_schedule_copy(struct vbs_ctx *ctx, const struct vbs_schedule *draft,
                                  struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* JSON ("-": standard streams). Files are untrusted: VBS_FORMAT names the member that is wrong. */
enum vbs_status vbs_schedule_read_json(struct vbs_ctx *ctx, const char *path,
                                       struct vbs_schedule **schedule) VBS_MUST_CHECK;
enum vbs_status vbs_schedule_parse_json(struct vbs_ctx *ctx, const char *source, const char *text,
                                        size_t length,
                                        struct vbs_schedule **schedule) VBS_MUST_CHECK;
enum vbs_status vbs_schedule_write_json(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                        const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
