/* The latest steps before which loads can begin without making a step wait. Internal to the room.
 */
#ifndef VBS_EXEC_LAYOUT_DELAY_H
#define VBS_EXEC_LAYOUT_DELAY_H

#include "exec/check/check.h"

/*
 * Planners let loads begin as early as memory allows, often long before a step reads the weights.
 * Buffers with such long lifetimes are hard to place. This function lets every load begin as late
 * as it can while no step waits for it that did not wait before, by the schedule's own two clocks
 * and with copies that take slack times as long as predicted. No load begins before its position in
 * the list of steps, and loads keep their order.
 *
 * begins[load] (all loads in their order, residents too, which keep their places): the step of the
 * list before which the load begins. blocks: the blocks without delays. slack <= 0: no delays.
 * O(steps log steps).
 */
struct vbs_exec_blocks;
enum vbs_status vbs_exec_delay(struct vbs_ctx *ctx, const struct vbs_exec_checked *checked,
                               const struct vbs_exec_blocks *blocks, double slack,
                               int *begins) VBS_MUST_CHECK;

#endif
