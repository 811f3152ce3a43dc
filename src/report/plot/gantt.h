/* The boxes and levels of the picture of a replay, few enough to draw. Internal to the report
 * room. */
#ifndef VBS_REPORT_PLOT_GANTT_H
#define VBS_REPORT_PLOT_GANTT_H

#include "vbslab/report.h"

enum vbs_gantt_lane { VBS_GANTT_COMPUTE, VBS_GANTT_COPY, VBS_GANTT_LANES };

/* The box of a step, or of those slices of time most of which it takes; layer 0: computing waits
 * for a copy. */
struct vbs_gantt_box {
    double from_us, to_us;
    int lane, layer;
    int batch; /* of a compute step; else 0 */
};

/* The memory in use from a time on, up to that of the next level. */
struct vbs_gantt_level {
    double from_us;
    int64_t weight_bytes, live_bytes, ws_bytes;
};

struct vbs_gantt {
    struct vbs_gantt_box *boxes; /* lane by lane, ascending in time */
    int n_boxes;
    struct vbs_gantt_level *levels; /* ascending in time */
    int n_levels;
};

/* The most boxes of one lane, and the most levels; about twice as many as a picture of dots has
 * columns, because pictures of lines can be enlarged. */
#define VBS_GANTT_SLICES 4000

/* Makes the boxes and levels of a replay that has its trace and takes some time. vbs_gantt_clear
 * frees them. VBS_NO_MEMORY. */
enum vbs_status vbs_gantt_make(struct vbs_ctx *ctx, const struct vbs_schedule *schedule,
                               const struct vbs_replay *replay,
                               struct vbs_gantt *gantt) VBS_MUST_CHECK;
void vbs_gantt_clear(struct vbs_gantt *gantt);

/* Draws a replay; below it, unless null, the same steps as they ran (start_us, end_us and time_us,
 * compute_us, copy_us; all bytes are the replay's). Errors as vbs_replay_plot. */
enum vbs_status vbs_gantt_plot(struct vbs_ctx *ctx, const struct vbs_profile *profile,
                               const struct vbs_schedule *schedule, const struct vbs_replay *replay,
                               const struct vbs_replay *executed,
                               const struct vbs_plot_options *options,
                               const char *path) VBS_MUST_CHECK;

#endif
