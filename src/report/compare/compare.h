/* The functions of a comparison that other sub-rooms of report use: its gains by baseline. Internal
 * to the room. */
#ifndef VBS_REPORT_COMPARE_COMPARE_H
#define VBS_REPORT_COMPARE_COMPARE_H

#include "vbslab/report.h"

#define VBS_NOISE_REPLICATES 999 /* draws behind the interval of a gain */

/* The baselines over which gains are computed: fbs, fbs-best, mmcnn, vdnn. */
#define VBS_N_BASELINES 4
/* The first baselines, which are planned where a comparison does not have them. */
#define VBS_N_MADE 2

const char *vbs_gains_baseline(int baseline);

/* Gives the gain of a row over a baseline. */
struct vbs_gain *vbs_gains_of(struct vbs_compare_row *row, int baseline);
const struct vbs_gain *vbs_gains_in(const struct vbs_compare_row *row, int baseline);

/* Gives for how many of them a comparison has gains: VBS_N_MADE with weights excluded. */
int vbs_gains_told(const struct vbs_compare *compare);

#endif
