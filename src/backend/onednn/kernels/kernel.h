/* Building kernels: memory objects, scratch and steps (kernel.c); what oneDNN fuses, and its best
 * implementation of an operation (post_ops.c). */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_KERNEL_H
#define VBS_BACKEND_ONEDNN_KERNELS_KERNEL_H

#include "backend/onednn/kernels/layout.h"
#include "backend/onednn/kernels/primitive.h"

/* Starts a kernel of b's layer and batch; with: named after the primitive's implementation. */
enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm) VBS_MUST_CHECK;
enum vbs_status od_kernel_begin_with(struct od_build *b,
                                     const_dnnl_primitive_desc_t pd) VBS_MUST_CHECK;

/* A memory object of the kernel; for OD_FIXED data is where, else null. */
enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_location location, int index, void *data,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A memory object anywhere; data where it is OD_FIXED, else null. */
enum vbs_status od_kernel_add(struct od_build *b, const dnnl_memory_desc_t *md,
                              struct od_memory where, void *data,
                              dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A memory object in scratch of its own. */
enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Reserves scratch: its offset, and memory objects in it. */
int64_t od_kernel_reserve(struct od_build *b, int64_t bytes);
enum vbs_status od_kernel_at(struct od_build *b, const dnnl_memory_desc_t *md, int64_t offset,
                             dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Appends a step; the primitive's scratchpad is added to args. */
enum vbs_status od_kernel_step(struct od_build *b, const_dnnl_primitive_desc_t pd, int n_args,
                               const dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Appends a step that copies from one memory object to another of the same logical shape. */
enum vbs_status od_kernel_reorder(struct od_build *b, const dnnl_memory_desc_t *from_md,
                                  dnnl_memory_t from, const dnnl_memory_desc_t *to_md,
                                  dnnl_memory_t to) VBS_MUST_CHECK;

/* Appends a step that is a function; plan lives as long as the session. */
enum vbs_status od_kernel_call(struct od_build *b, od_function *function, const void *plan, int n,
                               const dnnl_memory_t *data) VBS_MUST_CHECK;

/* Input number index in layout, described by md: the tensor itself, or, where its canonical layout
 * is another layout, a copy that a step appended here makes. */
enum vbs_status od_source(struct od_build *b, int index, enum od_layout layout,
                          const dnnl_memory_desc_t *md, dnnl_memory_t *memory) VBS_MUST_CHECK;

/* The same of the output. The end appends the copy, if one is needed; what is fused comes after
 * it. */
struct od_target {
    dnnl_memory_t memory;
    enum od_layout layout;
    bool copied;
    dnnl_memory_desc_t md; /* of the room that is copied from */
    int64_t offset;
};
enum vbs_status od_target(struct od_build *b, enum od_layout layout, const dnnl_memory_desc_t *md,
                          struct od_target *target) VBS_MUST_CHECK;
enum vbs_status od_target_end(struct od_build *b, const struct od_target *target) VBS_MUST_CHECK;

/* Ends it: its scratch and weights are known. format: number of the packed weights, 0 where there
 * are none. It is said to run whole only. */
void od_kernel_end(struct od_build *b, int64_t weight_bytes, int format);

/* Appends kernel number index once more; both share their objects. */
enum vbs_status od_kernel_share(struct od_build *b, int index) VBS_MUST_CHECK;

/* Takes the kernels from number first on away, all but one named name, which becomes the first of
 * them; false: there is none. */
bool od_kernels_keep(struct od_session *session, int first, const char *name);

void od_kernel_release(struct od_kernel *kernel);

/* ---- post_ops.c ---- */

#define OD_MAX_OPERATIONS 3
#define OD_MAX_FUSED      8 /* operations */

/* An operator on values of oneDNN's. */
struct od_eltwise {
    dnnl_alg_kind_t algorithm;
    float alpha, beta;
};

/* Those that make up op, one after the other; returns how many, 0: oneDNN has it not. */
int od_eltwise_operations(enum vbs_op op, const union vbs_attributes *attributes,
                          struct od_eltwise *operations);

/* How many fused operators of b's layer, from number first on, can be fused. */
int od_fusable(const struct od_build *b, int first);

/* Attributes that all primitives share: scratchpads are the caller's; n_fused fused operators
 * from number first on are fused. */
enum vbs_status od_attributes(struct od_build *b, int first, int n_fused,
                              dnnl_primitive_attr_t *attr) VBS_MUST_CHECK;

/* The implementation that oneDNN offers first, its best, with *n_fused fused operators from
 * number first on fused; or without any, if that is better than its reference: *n_fused is 0 then.
 */
enum vbs_status od_best(struct od_build *b, const_dnnl_op_desc_t desc, int first, int *n_fused,
                        dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;

/* The reference of a library is slow. */
bool od_is_reference(const_dnnl_primitive_desc_t pd);

#endif
