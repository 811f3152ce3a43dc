/*
 * vbslab/schedule.h - schedules: a list of steps, each one layer on one batch.
 *
 * The one output of every planner and the one input of replay and executor. Immutable data; JSON
 * form in INTERFACE.md ("vbslab-schedule-1").
 */
#ifndef VBSLAB_SCHEDULE_H
#define VBSLAB_SCHEDULE_H

#include "vbslab/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_MAX_STEPS 16777216 /* of one schedule; more is refused as VBS_USAGE or VBS_FORMAT */

/* Where the request's own inputs and final outputs live (DESIGN 3). */
enum vbs_io { VBS_IO_EXTERNAL, VBS_IO_RESIDENT };

/* "external", "resident"; never null. */
const char *vbs_io_word(enum vbs_io io);
enum vbs_status vbs_io_parse(struct vbs_ctx *ctx, const char *word, enum vbs_io *io) VBS_MUST_CHECK;

struct vbs_step {
    int layer;     /* 1..n */
    int batch;     /* samples, >= 1 */
    int algorithm; /* index into the schedule's algorithms */
};

struct vbs_schedule {
    const char *model;
    const char *planner;
    int64_t request;      /* samples */
    int64_t memory_bytes; /* the budget it was planned for */
    enum vbs_io io;
    double latency_us; /* the bound it was planned for, 0: none */
    struct {
        double time_us;         /* sum over the steps, in their order */
        int64_t peak_bytes;     /* by the exact accounting */
        int64_t reserved_bytes; /* what the planner set aside: >= peak_bytes */
        double latency_us;      /* longest wait of a sample, as struct vbs_problem defines it */
    } predicted;
    struct {
        double time_us;     /* no schedule of this request in this budget takes less */
        double gap_percent; /* 100 (predicted - bound) / bound; 0 when the bound is 0 */
    } bound;
    struct {
        int64_t peak_bytes; /* that planning held at most (vbs_solver_peak_bytes); 0: not known */
    } solver;
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
