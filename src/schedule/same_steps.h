/* Whether two schedules are executed alike. Internal to the library and its program. */
#ifndef VBS_SCHEDULE_SAME_STEPS_H
#define VBS_SCHEDULE_SAME_STEPS_H

#include "vbslab/schedule.h"

/* Returns whether two schedules run the same steps, with algorithms of the same names. O(steps). */
bool vbs_schedule_same_steps(const struct vbs_schedule *a, const struct vbs_schedule *b);

#endif
