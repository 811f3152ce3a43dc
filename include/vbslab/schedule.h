/*
 * vbslab/schedule.h - schedules: a list of steps, each one layer on one batch, or a transfer of
 * weights.
 *
 * A schedule is the output of every planner and the input of the replay and the executor. Its JSON
 * format, "vbslab-schedule-1", is in docs/formats.md.
 *
 * Two clocks. With weights included, computing and copying each take their steps in the order of
 * the list, side by side:
 *   compute  starts when the compute step before it has ended and the weights that it reads are
 *            loaded;
 *   load     starts when the load before it and every compute step before it in the list have
 *            ended, because these steps free its memory. It takes the time that the link needs for
 *            its bytes;
 *   evict    happens when the compute steps before it in the list have ended, and takes no time.
 * A load that stands before a compute step therefore runs beside it, unless the step reads the
 * weights of the load. Where the link has factors (`beside` in struct vbs_link), both then slow
 * each other down: over dt of both, the step does what takes it dt / beside[layer] alone, and the
 * load what takes it dt / beside[0] alone. While no step computes, a load runs at full speed.
 * Memory does not depend on the clocks: loaded bytes count from the position of the load in the
 * list to the position of the evict step. A load with `resident` stands for weights that the
 * request before left in memory. Such loads stand before all other steps and take no time, and
 * their weights must be in memory at the end too; in between they may be evicted and loaded again.
 *
 * Slices. Slice p of n (1 <= p <= n) of a layer with C channels has the channels floor((p-1) C/n)
 * to floor(p C/n) - 1. Of W bytes of weights, the slice whose first channel is c begins at byte
 * floor(W c/C); where C is not known (0), slice p has the bytes floor((p-1) W/n) to floor(p W/n)
 * - 1. A step on a slice reads the weights of the slice and takes its share of the time (1/n where
 * C is not known). Loads may divide the weights of a layer into other slices than its steps. Every
 * slice of a layer takes the samples in order, independently of the others, and a sample is done
 * when all slices have done it. Its inputs stay in memory until then, and its whole output takes
 * memory from the first slice on. The number of slices of a layer may change where no slice is
 * ahead of another. A layer without weights may run in slices too: bands of rows.
 *
 * Rows. A step with `rows` computes the rows [row, row + rows) of the output of `batch` samples,
 * all channels of them (no slices), with a row of the profile of exactly so many rows; `rows` may
 * be all rows of the layer, with the row of the profile of whole samples. The steps of a layer take
 * the rows of these samples in order, from row 0 to the last, before the layer begins other
 * samples, and all with the same batch and window. The step reads the rows of its inputs that the
 * layer's reach (profile.h) names. Its output goes into a window of `window` rows for each sample:
 * a row is overwritten once every reader has gone past it, so that a window holds, at any time, at
 * most as many rows as it has. A window of all rows of the layer is the whole sample; steps that
 * compute all rows of their layer read no other ones. A layer that accumulates (reach.h) steps
 * through the rows of its input and has such a window. The bytes of windows are in
 * docs/accounting.md.
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

#define VBS_MAX_STEPS  16777216 /* of one schedule; more is refused as VBS_USAGE or VBS_FORMAT */
#define VBS_MAX_SLICES 1048576  /* of one layer */

/* Where the request's own inputs and final outputs live: outside the budget, or inside it. */
enum vbs_io { VBS_IO_EXTERNAL, VBS_IO_RESIDENT };

/* Gives "external" or "resident"; never null. */
const char *vbs_io_word(enum vbs_io io);
/* Gives the value of such a word; VBS_USAGE: there is no such value. */
enum vbs_status vbs_io_parse(struct vbs_ctx *ctx, const char *word, enum vbs_io *io) VBS_MUST_CHECK;

/* Where weights live: outside the budget, or inside. */
enum vbs_weights { VBS_WEIGHTS_EXCLUDED, VBS_WEIGHTS_INCLUDED };

/* Gives "excluded" or "included"; never null. */
const char *vbs_weights_word(enum vbs_weights weights);
/* Gives the value of such a word; VBS_USAGE: there is no such value. */
enum vbs_status vbs_weights_parse(struct vbs_ctx *ctx, const char *word,
                                  enum vbs_weights *weights) VBS_MUST_CHECK;

/* What a step does: it computes a layer, loads packed weights into the budget, or evicts them. */
enum vbs_step_op { VBS_STEP_COMPUTE, VBS_STEP_LOAD, VBS_STEP_EVICT };

/* Gives the word in files: "compute", "load", and "drop" for an evict step; never null. */
const char *vbs_step_word(enum vbs_step_op op);

/* The bytes of a window that is less than the sample are a multiple of this: those of a page. */
#define VBS_WINDOW_ALIGNMENT 4096

/* Gives the bytes of a window of 1..layer->rows rows of one sample of a layer's output: those of
 * the sample where it has all rows. */
int64_t vbs_window_bytes(const struct vbs_profile_layer *layer, int window);

/* One entry of a schedule. */
struct vbs_step {
    int layer;      /* 1..n */
    int batch;      /* compute: samples, >= 1; else 0 */
    int algorithm;  /* compute: index into the schedule's algorithms; else 0 */
    int slice;      /* 1..n_slices */
    int n_slices;   /* 0: the whole layer, as 1 of 1 */
    uint8_t op;     /* enum vbs_step_op */
    uint8_t format; /* load, evict: of the packed weights, as in the rows of the profile */
    bool resident;  /* load: in memory from the request before */
    int64_t bytes;  /* load, evict: of the slice */
    int row, rows;  /* compute: the first row and the number of rows; rows 0: whole samples, and row
                       and window are 0 */
    int window;     /* rows of the output's window, from rows to all of the layer's; 0 where the
                       output leaves the budget with the step (a final output, io external) */
};

/* A list of steps that brings a request through a network, with what its planner predicts.
 * Immutable, may be shared between threads; freed by vbs_schedule_free. */
struct vbs_schedule {
    const char *model;
    const char *planner;
    int64_t request;      /* samples */
    int64_t memory_bytes; /* the budget for which it was planned */
    enum vbs_io io;
    enum vbs_weights weights;
    /* Weights included: the link for which it was planned; else {0}. Its factors beside, which
       files do not have, are those of n_layers layers; null where n_layers is 0. */
    struct vbs_link copy;
    int64_t weight_bytes; /* of all layers, whatever the packing: with weights excluded they are
                             outside the budget; 0: none, or not known */
    double latency_us;    /* the bound for which it was planned; 0: none */
    struct {
        double time_us;         /* of the request: the end of its last step */
        double low_us, high_us; /* its 95% interval (vbs_schedule_interval); 0: not known */
        int64_t peak_bytes;     /* by the exact accounting */
        int64_t reserved_bytes; /* by the rule of the planner: >= peak_bytes */
        double latency_us;      /* longest wait of a sample, as struct vbs_problem defines it */
        /* Weights included: */
        double copy_us;         /* of all loads that are not resident, as they run */
        int64_t copied_bytes;   /* of the same loads */
        int64_t resident_bytes; /* of all resident loads */
    } predicted;
    struct {
        double time_us;     /* no schedule of this request in this budget takes less */
        double gap_percent; /* 100 (predicted - bound) / bound; 0 when the bound is 0 */
    } bound;
    struct {
        int64_t
            peak_bytes;   /* the most that the solver held (vbs_solver_peak_bytes); 0: not known */
        bool interrupted; /* the caller ended the search: this is the best schedule so far */
    } solver;
    /* The profile that it was planned on; texts are null and numbers 0 where they are not known. */
    struct {
        int64_t profile_id; /* in the store of the program that planned */
        const char *hash;   /* of its content (vbs_profile_hash), where the caller of the planner
                               gave it (struct vbs_solver_options) */
        const char *device, *library, *backend;
        const char *date; /* of the measurement, in the form of struct vbs_provenance */
        int threads;
        bool modelled; /* the times come from a model, not from a measurement */
    } provenance;
    int n_layers;                   /* of the profile; 0: not known */
    const char *const *layer_names; /* [n_layers + 1], [1..n_layers] used; null: not known */
    int n_algorithms;
    const char *const *algorithms;
    int64_t n_steps;
    const struct vbs_step *steps;
};

/* Frees a schedule with its texts and arrays; null is allowed. */
void vbs_schedule_free(struct vbs_schedule *schedule);

/*
 * Computes the interval of a schedule's time from those of the rows that it runs: the sums of their
 * low_us and of their high_us, as if all errors had one cause, such as a machine that has become
 * slower; if they had many, the time would be known better. Beside it counts by how much all times
 * differ from one stretch of time to another (vbs_provenance_drift). False, with nothing set, where
 * a row has no interval, or weights are loaded, whose times have none. O(steps x rows of a layer).
 */
bool vbs_schedule_interval(const struct vbs_profile *profile, const struct vbs_schedule *schedule,
                           double *low_us, double *high_us);

/* Copies *draft with its texts and arrays; *schedule is freed by vbs_schedule_free. VBS_NO_MEMORY.
 * O(steps). */
enum vbs_status vbs_schedule_copy(struct vbs_ctx *ctx, const struct vbs_schedule *draft,
                                  struct vbs_schedule **schedule) VBS_MUST_CHECK;

/* Read or write JSON at a path; "-" is standard input or output. Text is untrusted: VBS_FORMAT
 * names the faulty member. A schedule that was read is freed by vbs_schedule_free. VBS_IO,
 * VBS_USAGE, VBS_NO_MEMORY. O(length of the text). */
enum vbs_status vbs_schedule_read_json(struct vbs_ctx *ctx, const char *path,
                                       struct vbs_schedule **schedule) VBS_MUST_CHECK;
/* Reads JSON from a text in memory; source names it in messages. */
enum vbs_status vbs_schedule_parse_json(struct vbs_ctx *ctx, const char *source, const char *text,
                                        size_t length,
                                        struct vbs_schedule **schedule) VBS_MUST_CHECK;
/* Gives the JSON of a schedule as a text, which the caller frees with free(). VBS_NO_MEMORY.
 * O(steps). */
enum vbs_status vbs_schedule_json(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                  char **text) VBS_MUST_CHECK;
/* Writes this text to a path. */
enum vbs_status vbs_schedule_write_json(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                                        const char *path) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
