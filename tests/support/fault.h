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
    bool lasting;                /* and then all */
    bool hit;                    /* one has failed */
    volatile sig_atomic_t *stop; /* that one sets this instead of failing; null: it fails */
};

/* To be asked at each call of the kind: whether it is to fail. */
bool fault_strikes(struct faults *faults);

/* Those of malloc, calloc, realloc, aligned_alloc and strdup in a test that is linked with
 * $(WRAP_MALLOC), the library's calls and the test's own. */
extern struct faults allocation_faults;

/* Whether jansson's allocations are among them: it is a library of its own, out of the linker's
 * reach. */
void fault_jansson(bool among);

/* Outputs point to fault_untouched before a call. What a call that failed comes to: its status, or
 * VBS_N_STATUS, which no task may end with, where it has changed its output. */
extern char fault_untouched;
enum vbs_status fault_status(enum vbs_status status, const void *output);

#endif
