/* Setting the context of a failed call. Internal to the library. */
#ifndef VBS_BASE_FAIL_H
#define VBS_BASE_FAIL_H

#include "vbslab/status.h"

#include <stdarg.h>
#include <stdbool.h>

/* Stores status and the formatted detail (control characters become \xNN) and returns status,
 * so that a failing call reads "return vbs_fail(ctx, VBS_IO, ...)". */
enum vbs_status vbs_fail(struct vbs_ctx *ctx, enum vbs_status status, const char *format, ...)
    VBS_PRINTF(3, 4);

/*
 * Does the same with "place: " before the formatted detail, for a refusal that names the place of
 * the fault in the input. A room that refuses many things of one kind wraps the second form in a
 * function of its own, which finds the place:
 *
 *     va_start(args, format);
 *     status = vbs_vfail_at(ctx, VBS_INVALID, place, format, args);
 *     va_end(args);
 */
enum vbs_status vbs_fail_at(struct vbs_ctx *ctx, enum vbs_status status, const char *place,
                            const char *format, ...) VBS_PRINTF(4, 5);
enum vbs_status vbs_vfail_at(struct vbs_ctx *ctx, enum vbs_status status, const char *place,
                             const char *format, va_list args) VBS_PRINTF(4, 0);

/* Says in ctx that memory is out, and returns VBS_NO_MEMORY. */
enum vbs_status vbs_no_memory(struct vbs_ctx *ctx);

/* Puts "prefix: " before the detail that ctx holds after a call that failed, and returns status. */
enum vbs_status vbs_fail_within(struct vbs_ctx *ctx, enum vbs_status status, const char *prefix);

/* Evaluates a call that gives an enum vbs_status, and returns that status from the function around
 * it where it is not VBS_OK: for functions in which nothing has to be released before they return.
 */
#define VBS_TRY(call)                                                                              \
    do {                                                                                           \
        enum vbs_status status_ = (call);                                                          \
                                                                                                   \
        if (status_ != VBS_OK)                                                                     \
            return status_;                                                                        \
    } while (0)

/* Gives whether the caller asked to stop, or its deadline is over: not 0 where one of both is. */
int vbs_cancelled(const struct vbs_ctx *ctx);

/* Returns whether the deadline is over, and the caller did not ask to stop. */
bool vbs_out_of_time(const struct vbs_ctx *ctx);

/* Gives VBS_INTERRUPTED, with the detail "interrupted", when the caller asked to stop; else
 * VBS_OK. */
enum vbs_status vbs_check_cancel(struct vbs_ctx *ctx) VBS_MUST_CHECK;

#endif
