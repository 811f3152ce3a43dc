/* Building kernels (kernel.c), running them (call.c), and trying them once (trial.c). */
#ifndef VBS_BACKEND_CUDNN_KERNEL_H
#define VBS_BACKEND_CUDNN_KERNEL_H

#include "backend/cudnn/session.h"

/* Adopts an object; it is given back at once where that fails. */
enum vbs_status cu_adopt(struct cu_build *b, enum cu_kind kind, void *handle) VBS_MUST_CHECK;
void cu_release(struct cu_object *object);

/* Memory of the device that the session keeps, a copy of bytes of the host's. */
enum vbs_status cu_upload(struct cu_build *b, const void *values, int64_t bytes,
                          void **memory) VBS_MUST_CHECK;

enum vbs_status cu_kernel_begin(struct cu_build *b, const char *algorithm) VBS_MUST_CHECK;

/* A step with nothing in it, alpha 1; null: out of memory. Valid until the next one. */
struct cu_step *cu_step(struct cu_build *b, enum cu_do what);

/* A piece of the caller's scratch; where. */
int64_t cu_reserve(struct cu_build *b, int64_t bytes);

/* What a call asks for beside, one call at a time. */
void cu_ask(struct cu_build *b, struct cu_step *step, size_t bytes);

/* Ends it: its scratch is known. fixed_bytes: of parameters that the session keeps; packed_bytes:
 * of the weights it reads. */
void cu_kernel_end(struct cu_build *b, int64_t fixed_bytes, int64_t packed_bytes);

/* Takes the kernel begun last away again. */
void cu_kernel_undo(struct cu_build *b);

enum vbs_status cu_kernel_share(struct cu_build *b, int index) VBS_MUST_CHECK;
void cu_kernel_release(struct cu_kernel *kernel);

/* ---- call.c ---- */

/* Puts kernel's steps on the session's stream. */
cudnnStatus_t cu_enqueue(struct cu_session *session, const struct cu_kernel *kernel,
                         const struct vbs_operands *operands);

/* ---- trial.c ---- */

/* Runs the kernels from number first on once each, and keeps those that can be run. */
enum vbs_status cu_try(struct cu_build *b, int first) VBS_MUST_CHECK;

#endif
