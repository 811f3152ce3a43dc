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

#endif
