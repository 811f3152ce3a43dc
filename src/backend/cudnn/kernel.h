/* Building kernels (kernel.c), running them (call.c), timing them (timing.c), and trying them
 * once (trial.c). */
#ifndef VBS_BACKEND_CUDNN_KERNEL_H
#define VBS_BACKEND_CUDNN_KERNEL_H

#include "backend/cudnn/session.h"

/* Makes the session the owner of an object; where this fails, the object is freed at once. */
enum vbs_status cu_adopt(struct cu_build *b, enum cu_kind kind, void *handle) VBS_MUST_CHECK;
void cu_release(const struct cu_session *session, struct cu_object *object);

/* Copies bytes from the host to memory of the device that the session keeps. */
enum vbs_status cu_upload(struct cu_build *b, const void *values, int64_t bytes,
                          void **memory) VBS_MUST_CHECK;

enum vbs_status cu_kernel_begin(struct cu_build *b, const char *algorithm) VBS_MUST_CHECK;

/* Appends an empty step with alpha 1; null: out of memory. The pointer is valid until the next
 * call. */
struct cu_step *cu_step(struct cu_build *b, enum cu_do what);

/* Reserves a range of the kernel's workspace; returns its offset. */
int64_t cu_reserve(struct cu_build *b, int64_t bytes);

/* Reserves the workspace of a step's call. All calls share one range, because they run one after
 * the other. */
void cu_ask(struct cu_build *b, struct cu_step *step, size_t bytes);

/* Ends the kernel: its workspace is known now. fixed_bytes: of parameters that the session keeps;
 * packed_bytes: of the weights that it reads. */
void cu_kernel_end(struct cu_build *b, int64_t fixed_bytes, int64_t packed_bytes);

/* Removes the kernel that was begun last. */
void cu_kernel_undo(struct cu_build *b);

enum vbs_status cu_kernel_share(struct cu_build *b, int index) VBS_MUST_CHECK;
void cu_kernel_release(struct cu_kernel *kernel);

/* ---- call.c ---- */

/* Puts kernel's steps on the session's stream. */
cudnnStatus_t cu_enqueue(struct cu_session *session, const struct cu_kernel *kernel,
                         const struct vbs_operands *operands);

/* ---- timing.c ---- */

/* Runs a kernel to its end; *time_us is the time that it takes in a graph, from where the caches
 * are now. Its first run is repeated to find out what the clock adds to the time, and then needs
 * memory for as many bytes as the output has, where the kernel is in place. *error must be
 * cudaSuccess before the call. */
cudnnStatus_t cu_run_timed(struct cu_session *session, struct cu_kernel *kernel,
                           const struct vbs_operands *operands, double *time_us,
                           cudaError_t *error);

/* ---- trial.c ---- */

/* Runs the kernels from number first on once each, and keeps those that can be run. */
enum vbs_status cu_try(struct cu_build *b, int first) VBS_MUST_CHECK;

#endif
