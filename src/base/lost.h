/* The time that a process loses to others: its threads wait for a processor, or the host of a
 * virtual machine takes the processors away. Internal to the library and its program. */
#ifndef VBS_BASE_LOST_H
#define VBS_BASE_LOST_H

#include <stdbool.h>
#include <stdint.h>

/* Counts since some fixed moment, each of all threads or processors together. */
struct vbs_lost {
    int64_t
        waited_us; /* threads of this process that compute could have run and had no processor */
    int64_t copied_us; /* threads that copy beside them ran (background.h) */
    int64_t stolen_us; /* the host had processors of this machine, in steps of 10 ms */
};

/* Reads the counts of Linux from proc ("/proc"). False where the system does not tell; *lost is
 * then all zeros. O(threads). */
bool vbs_lost_read(const char *proc, struct vbs_lost *lost);

/* Gives the microseconds that were lost to others between two counts. What threads that copy ran
 * may be what the others waited for, and is not counted. A thread that ended in between takes its
 * count with it, so that differences below 0 are possible; they count as 0. */
int64_t vbs_lost_between(const struct vbs_lost *before, const struct vbs_lost *after);

#endif
