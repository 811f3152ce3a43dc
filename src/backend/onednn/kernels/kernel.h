/* Building kernels: memory objects, workspace and steps (kernel.c); the operators that oneDNN
 * fuses, and its best implementation of an operation (post_ops.c). */
#ifndef VBS_BACKEND_ONEDNN_KERNELS_KERNEL_H
#define VBS_BACKEND_ONEDNN_KERNELS_KERNEL_H

#include "backend/onednn/kernels/layout.h"
#include "backend/onednn/kernels/primitive.h"

#define OD_SERIAL      "+serial" /* ends the names of kernels for one thread */
#define OD_KERNEL_NAME 96        /* bytes of a name */

/* Begins a kernel of b's layer and batch, of this algorithm; OD_SERIAL is added to its name where b
 * makes serial kernels. Where tensors are encoded and b is not native, OD_SRC and OD_DST stand for
 * their floats in the workspace from now on, and OD_DECODED is added to the name first. */
enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm) VBS_MUST_CHECK;
enum vbs_status od_kernel_begin_with(struct od_build *b,
                                     const_dnnl_primitive_desc_t pd) VBS_MUST_CHECK;

/* Makes a memory object of the kernel; data is its address for OD_FIXED, else null. */
enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_location location, int index, void *data,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Makes a memory object of input number index, or (n_inputs) of the output, as it is stored, of
 * which a step uses only the address. */
enum vbs_status od_stored_memory(struct od_build *b, int index,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Adds a memory object at any location; data is its address for OD_FIXED, else null. */
enum vbs_status od_kernel_add(struct od_build *b, const dnnl_memory_desc_t *md,
                              struct od_memory where, void *data,
                              dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Makes a memory object in a range of the workspace of its own. */
enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Reserves a range of the workspace, and returns its offset. */
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

/* Gives input number index in layout, described by md: the tensor itself, or, where its canonical
 * layout is another one, a copy that a step appended here makes. */
enum vbs_status od_source(struct od_build *b, int index, enum od_layout layout,
                          const dnnl_memory_desc_t *md, dnnl_memory_t *memory) VBS_MUST_CHECK;

/* The output in a layout. od_target_end appends the copy to the canonical layout, if one is needed;
 * operators that are not fused come behind it. */
struct od_target {
    dnnl_memory_t memory;
    enum od_layout layout;
    bool copied;
    dnnl_memory_desc_t md; /* of the space from which is copied */
    int64_t offset;
};
enum vbs_status od_target(struct od_build *b, enum od_layout layout, const dnnl_memory_desc_t *md,
                          struct od_target *target) VBS_MUST_CHECK;
enum vbs_status od_target_end(struct od_build *b, const struct od_target *target) VBS_MUST_CHECK;

/* Ends the kernel, which encodes the output if it has to: its workspace and weights are known now.
 * format: number of the packed weights, 0 where there are none. The kernel is recorded as one that
 * runs only whole. */
enum vbs_status od_kernel_end(struct od_build *b, int64_t weight_bytes, int format) VBS_MUST_CHECK;

/* Appends kernel number index once more; both share their objects. */
enum vbs_status od_kernel_share(struct od_build *b, int index) VBS_MUST_CHECK;

/* Removes the kernels from number first on, except one of this name, which becomes number first;
 * false: there is none. */
bool od_kernels_keep(struct od_session *session, int first, const char *name);

/* Runs the steps, on memory objects whose addresses are set, to their end. */
dnnl_status_t od_kernel_execute(const struct od_session *session, const struct od_kernel *kernel);

void od_kernel_release(struct od_kernel *kernel);

/* ---- post_ops.c ---- */

#define OD_MAX_OPERATIONS 3
#define OD_MAX_FUSED      8 /* operations */

/* An operation of oneDNN on values. */
struct od_eltwise {
    dnnl_alg_kind_t algorithm;
    float alpha, beta;
};

/* Gives the operations whose sequence computes op; returns their number, 0: oneDNN has none. */
int od_eltwise_operations(enum vbs_op op, const union vbs_attributes *attributes,
                          struct od_eltwise *operations);

/* Counts the fused operators of b's layer, from number first on, that oneDNN can fuse. */
int od_fusable(const struct od_build *b, int first);

/* Makes the attributes that all primitives share: the caller gives scratchpads; n_fused fused
 * operators from number first on are fused. */
enum vbs_status od_attributes(struct od_build *b, int first, int n_fused,
                              dnnl_primitive_attr_t *attr) VBS_MUST_CHECK;

/* Ends the making of attributes, of which ops, if it is not null, become the post-ops; status is
 * that of what was done so far. Frees ops, and made where it fails. */
enum vbs_status od_attributes_end(struct od_build *b, dnnl_status_t status,
                                  dnnl_primitive_attr_t made, dnnl_post_ops_t ops,
                                  dnnl_primitive_attr_t *attr) VBS_MUST_CHECK;

/* Gives the implementation that oneDNN offers first, its best, with *n_fused fused operators from
 * number first on fused. Where that would apply these value by value, it gives the one without
 * fused operators, and *n_fused is 0. */
enum vbs_status od_best(struct od_build *b, const_dnnl_op_desc_t desc, int first, int *n_fused,
                        dnnl_primitive_desc_t *pd) VBS_MUST_CHECK;

/* Gives whether an implementation is the library's reference, which is slow. */
bool od_is_reference(const_dnnl_primitive_desc_t pd);

/* Returns whether an implementation would apply fused operators as oneDNN's reference does, value
 * by value: slowly, and with a Relu that multiplies by 0, so that -infinity becomes NaN. */
bool od_fuses_by_value(const_dnnl_primitive_desc_t pd);

/* Gives whether an implementation's name says that it uses VNNI or AMX. */
bool od_has_vnni(const_dnnl_primitive_desc_t pd);

/* Gives whether an implementation that multiplies bytes adds the products exactly. On x86
 * processors without VNNI, oneDNN adds two of them in 16 bits, which saturate, or halves the
 * weights. */
bool od_adds_bytes_exactly(const_dnnl_primitive_desc_t pd);

#endif
