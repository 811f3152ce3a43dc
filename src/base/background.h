/* Threads that copy while others compute. Internal: programs that use the library do not need
 * them. */
#ifndef VBS_BASE_BACKGROUND_H
#define VBS_BASE_BACKGROUND_H

#include <pthread.h>
#include <stdint.h>

/* The name of these threads in the system's lists. */
#define VBS_BACKGROUND_NAME "vbslab-copy"

/* Bytes that such a thread reads at a time: from the page cache to the host, and from a disk or to
 * a device. Where computing waits, a second thread shares copies of more. */
#define VBS_BACKGROUND_CACHED ((int64_t)256 << 10)
#define VBS_BACKGROUND_CHUNK  ((int64_t)1 << 20)

/* Starts a thread with all signals blocked, because they are for the other threads. Gives 0, or a
 * reason, which is a value of errno. */
int vbs_background_start(pthread_t *thread, void *(*live)(void *self), void *self);

/* Lets the calling thread run on all processors for which OpenMP has places: the thread that
 * created it may be bound to one of them, on which it computes. Without places no thread is bound.
 */
void vbs_background_spread(void);

/* Gives the calling thread the lowest priority, so that it uses processors only while the others
 * are idle: a computing thread that loses its processor for the time of a copy makes all others
 * wait. */
void vbs_background_yield(void);

#endif
