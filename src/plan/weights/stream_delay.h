/*
 * Internal to the streams (stream.h): the order of their steps.
 */
#ifndef VBS_PLAN_WEIGHTS_STREAM_DELAY_H
#define VBS_PLAN_WEIGHTS_STREAM_DELAY_H

#include "plan/weights/stream.h"

/* Runs the steps of layer and of all behind it later, among the steps of the layers before for the
 * samples that follow. The stream has steps with times and bytes, blocks and slots of visits (one
 * at the least), and nothing else yet; times and bytes of steps are then of the former order.
 * VBS_NO_MEMORY. O(slots + visits). */
enum vbs_status vbs_stream_delay(struct vbs_ctx *ctx, struct vbs_stream *stream,
                                 int layer) VBS_MUST_CHECK;

#endif
