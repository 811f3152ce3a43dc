/*
 * vbslab/progress.h - how calls that take long tell how far they are.
 *
 * Threads: the struct is only read; its function is called in the thread of the call that it was
 * given to.
 */
#ifndef VBSLAB_PROGRESS_H
#define VBSLAB_PROGRESS_H

#ifdef __cplusplus
extern "C" {
#endif

/* Called now and then, in the thread of the call that takes long; text is what is being done, valid
 * during the call only. A null report is never called. */
struct vbs_progress {
    void *self;
    void (*report)(void *self, double done /* 0..1 */, double left_s /* < 0: unknown */,
                   const char *text);
};

#ifdef __cplusplus
}
#endif
#endif
