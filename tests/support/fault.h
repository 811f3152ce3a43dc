/*
 * Calls that fail on demand: the first, second, ... of a kind, once or from then on, until a task
 * has run without meeting the fault.
 */
#ifndef TESTS_FAULT_H
#define TESTS_FAULT_H

#include "vbslab/status.h"

#include <signal.h>
#include <stdbool.h>

struct faults {
    long countdown;              /* calls until the first that fails; 0: none */
    bool lasting;                /* all later calls fail too */
    bool hit;                    /* a call has failed */
    volatile sig_atomic_t *stop; /* a fault sets this instead of failing; null: it fails */
};

/* Is called at each call of the kind; gives whether it must fail. */
bool fault_strikes(struct faults *faults);

/* The faults of malloc, calloc, realloc, aligned_alloc and strdup in a test that is linked with
 * $(WRAP_MALLOC), in the library's calls and the test's own. */
extern struct faults allocation_faults;

/* Sets whether jansson's allocations are among them: it is a library of its own, which the linker
 * does not wrap. */
void fault_jansson(bool among);

/* Outputs point to fault_untouched before a call. fault_status gives the status of a call that
 * failed, or VBS_N_STATUS, with which no task may end, where the call has changed its output. */
extern char fault_untouched;
enum vbs_status fault_status(enum vbs_status status, const void *output);

/* A task whose allocations fail, first the first, then the second, ... */
struct fault_trial {
    /* Runs the task on the subject, and cleans up after it. */
    enum vbs_status (*run)(struct vbs_ctx *ctx, const void *subject);
    const void *subject;
    bool lasting; /* all allocations behind the one that fails do too */
    int first;    /* the first allocation that fails; 0: 1 */
    double skips; /* behind allocation n, so many times n are not tried; 0: each is */
    /* Gives whether a run may end with this status after allocation n failed; ctx is the run's. May
     * print a comment. null: it must be VBS_NO_MEMORY, which the context must say too. */
    bool (*is_sound)(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *subject);
    /* Results. n_faults: runs in which an allocation failed. */
    int n_faults, n_wrong;
    enum vbs_status status; /* of the last run, in which nothing failed */
    const char *way;        /* a text of lasting */
};

/* Runs the task until it ends without a failure, and prints the first few wrong runs as comments.
 */
void fault_each(struct fault_trial *trial);

/* Gives whether the status is VBS_NO_MEMORY, and the context says so. */
bool fault_is_said(const struct vbs_ctx *ctx, enum vbs_status status);

#endif
