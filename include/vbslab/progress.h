/*
 * vbslab/progress.h - progress of calls that take long.
 *
 * Threads: the struct is only read; its function is called in the thread of the call to which it
 * was given.
 */
#ifndef VBSLAB_PROGRESS_H
#define VBSLAB_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* The function is called from time to time, in the thread of the call that takes long; text names
 * the current work and is valid during the call only. A null report is never called. */
struct vbs_progress {
    void *self;
    void (*report)(void *self, double done /* 0..1 */, double left_s /* < 0: unknown */,
                   const char *text);
};

#ifdef __cplusplus
}
#endif
#endif
