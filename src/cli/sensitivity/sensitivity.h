/* A file of points of the command sensitivity: it grows line by line, and is continued. */
#ifndef VBS_CLI_SENSITIVITY_SENSITIVITY_H
#define VBS_CLI_SENSITIVITY_SENSITIVITY_H

#include "base/text.h"
#include "cli/common/common.h"
#include "vbslab/sensitivity.h"

/* A point, and the seconds that it took. */
struct sensitivity_row {
    struct vbs_sensitivity_point point;
    double time_s;
};

/* Points, in memory and in a file. Begin with {.descriptor = -1}; clear it in any case. */
struct sensitivity_points {
    const char *path; /* null: there is no file */
    char key[VBS_SENSITIVITY_KEY_SIZE];
    int epochs; /* of retraining */
    const struct vbs_prune_groups *groups;
    struct sensitivity_row *rows;
    int n_rows;
    int64_t max_rows;
    int n_read; /* rows that the file had */
    int descriptor;
};

/* The first line of the file, with its line feed. */
extern const char points_header[];

/* Opens the file of points->path, if there is a path, for this process alone, and reads the points
 * that it has; the beginning of a line at its end is cut off. VBS_USAGE: it has points of another
 * key. VBS_FORMAT: it is no such file. VBS_IO, also where another process has it open. */
enum vbs_status points_open(struct vbs_ctx *ctx, struct sensitivity_points *points) VBS_MUST_CHECK;

/* Adds a point, and writes its line to the disk. */
enum vbs_status points_add(struct vbs_ctx *ctx, struct sensitivity_points *points,
                           const struct sensitivity_row *row) VBS_MUST_CHECK;

/* Gives the point of a group at a width, or null. */
const struct sensitivity_row *points_find(const struct sensitivity_points *points, int group,
                                          int64_t keep);

/* Appends the line of a point. */
void points_format(const struct sensitivity_points *points, const struct sensitivity_row *row,
                   struct vbs_text *text);

void points_clear(struct sensitivity_points *points);

#endif
