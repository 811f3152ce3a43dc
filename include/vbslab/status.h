/*
 * vbslab/status.h - outcomes of calls, and the context that explains them.
 *
 * Every call that can fail returns enum vbs_status, and writes its outputs (the last parameters)
 * only when it returns VBS_OK. The one-line reason is in the context, never on a stream: the
 * library prints nothing and never exits.
 */
#ifndef VBSLAB_STATUS_H
#define VBSLAB_STATUS_H

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. Versions with one major number and (before 1.0) one minor number
 * can replace each other. */
#define VBS_VERSION_MAJOR  0
#define VBS_VERSION_MINOR  2
#define VBS_VERSION_PATCH  0
#define VBS_VERSION_STRING "0.2.0"

/* Gives the version of the linked library, as VBS_VERSION_STRING gives that of the headers. */
const char *vbs_version(void);

/* X(NAME, exit code of the program, short text) */
#define VBS_STATUS_LIST(X)                                                                         \
    X(OK, 0, "done")                                                                               \
    X(NO_MEMORY, 1, "out of memory")                                                               \
    X(IO, 1, "cannot read or write")                                                               \
    X(FORMAT, 1, "malformed input")                                                                \
    X(STORE, 1, "store")                                                                           \
    X(LIBRARY, 1, "library call failed")                                                           \
    X(UNSUPPORTED, 1, "not supported here")                                                        \
    X(INVALID, 1, "schedule does not belong to the profile")                                       \
    X(INTERRUPTED, 130, "interrupted")                                                             \
    X(USAGE, 2, "wrong usage")                                                                     \
    X(NOT_FOUND, 2, "no such name")                                                                \
    X(INFEASIBLE, 3, "no schedule fits")                                                           \
    X(OVER_BUDGET, 3, "schedule breaks its budget")

#define VBS_STATUS_ENUM(name, code, text) VBS_##name,
/* The outcome of a call that can fail: VBS_OK, or the kind of failure. */
enum vbs_status { VBS_STATUS_LIST(VBS_STATUS_ENUM) VBS_N_STATUS };
#undef VBS_STATUS_ENUM

#if defined(__GNUC__)
#define VBS_MUST_CHECK        __attribute__((warn_unused_result))
#define VBS_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define VBS_MUST_CHECK
#define VBS_PRINTF(fmt, args)
#endif

#define VBS_DETAIL_SIZE 480 /* bytes of a reason with its terminator */

/*
 * The state that a sequence of calls shares: the outcome of the last one that failed, its reason,
 * and the caller's request to stop. A null context is allowed everywhere; only the text is lost
 * then. Threads: one context per thread.
 */
struct vbs_ctx;

/* Makes a context, to be freed by vbs_ctx_free; null: out of memory. */
struct vbs_ctx *vbs_ctx_new(void);
/* Frees a context; null is allowed. */
void vbs_ctx_free(struct vbs_ctx *ctx);

/* Long calls return VBS_INTERRUPTED within a second once *cancel is not 0; null: never. A signal
 * handler may set it. Borrowed until the context is freed or given another. */
void vbs_ctx_set_cancel(struct vbs_ctx *ctx, const volatile sig_atomic_t *cancel);

/* Gives the status of the last call that failed; VBS_OK: none did. */
enum vbs_status vbs_ctx_status(const struct vbs_ctx *ctx);

/* Gives the short text of a status ("out of memory"); never null. */
const char *vbs_status_text(enum vbs_status status);

/* Gives the exit code of the program for a status: 0 done, 1 failed, 2 wrong usage, 3 does not fit,
 * 130 interrupted (by SIGINT; the program has 128 and the number of any other signal). */
int vbs_status_exit_code(enum vbs_status status);

/* Gives the reason of the last failure: one line of at most VBS_DETAIL_SIZE bytes, without control
 * characters and full stop; else the short text of its status; never null. Valid until the next
 * call with ctx. */
const char *vbs_detail(const struct vbs_ctx *ctx);

/* Returns one line that names unfinished files which processes that were killed left beside files
 * that calls with ctx wrote (FILE.PID-NUMBER.part, where the file system has no files without a
 * name), and says that they can be removed; null: none was found. What a process still writes is
 * not named, and nothing is removed. At most VBS_DETAIL_SIZE bytes, without control characters;
 * valid until the next call with ctx. */
const char *vbs_leftover(const struct vbs_ctx *ctx);

#ifdef __cplusplus
}
#endif
#endif
