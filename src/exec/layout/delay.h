/* How much later than the schedule says loads can begin. Internal to the room. */
#ifndef VBS_EXEC_LAYOUT_DELAY_H
#define VBS_EXEC_LAYOUT_DELAY_H

#include "exec/check/check.h"

/*
 * Planners let loads begin as early as memory allows, often long before they are needed; memory
 * that waits for so long is hard to place. Here every load begins as late as it can without a step
 * waiting for it that did not wait before, by the schedule's own two clocks, if copies took slack
 * times as long as they should; never before its place in the list, and in the order of the list.
 *
 * begins[load] (all loads in their order, residents too, which stay where they are): the step of
 * the list before which it begins. blocks are those without delays. slack <= 0: no delays. O(steps
 * log steps).
 */
struct vbs_exec_blocks;
enum vbs_status vbs_exec_delay(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                               const struct vbs_exec_blocks *blocks, double slack,
                               int *begins) VBS_MUST_CHECK;

#endif
