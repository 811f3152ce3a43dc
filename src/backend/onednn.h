/*
 * Internals that the onednn*.c files share; no other file speaks to oneDNN.
 *
 * Every tensor has one home layout, in which it lies between steps: channels in blocks of the
 * vector length (nChw16c on AVX-512, nChw8c on lesser x86) where blocking pays, else plain. The
 * batch is outermost, so that a sample is contiguous. Channels are padded with zeros to whole
 * blocks; those zeros count in a tensor's bytes, and every kernel keeps them zero. A "stored"
 * descriptor treats the padding as channels, which spares oneDNN its own passes of zeroing.
 *
 * A kernel is a list of primitives (steps) on memory objects made once at open. Running it sets
 * their pointers and executes; nothing is allocated.
 */
#ifndef VBS_BACKEND_ONEDNN_H
#define VBS_BACKEND_ONEDNN_H

#include "vbslab/backend.h"

#include "base/arena.h"

#include <dnnl.h>

#define OD_ALIGNMENT 64 /* bytes, of every piece of scratch */

enum od_layout { OD_PLAIN, OD_BLOCKED, OD_CHANNELS_LAST, OD_N_LAYOUTS };

/* One sample: [channels, spatial...]. */
struct od_tensor {
    int n_spatial;
    int64_t channels, stored_channels;
    int64_t spatial[VBS_MAX_SPATIAL];
    int64_t positions; /* product of spatial */
    enum od_layout home;
    int64_t bytes;
};

/* Where a memory object's data is during a run. */
enum od_place {
    OD_SRC,     /* input number index */
    OD_DST,     /* the output */
    OD_BUFFER,  /* scratch at offset */
    OD_SCRATCH, /* scratch after all buffers: what primitives ask for, one at a time */
    OD_FIXED    /* weights and the like: set at open */
};

struct od_memory {
    dnnl_memory_t handle;
    enum od_place place;
    int index;
    int64_t offset;
};

struct od_step {
    dnnl_primitive_t primitive;
    int n_args;
    dnnl_exec_arg_t *args;
};

struct od_kernel {
    int n_memories, max_memories;
    struct od_memory *memories;
    int n_steps, max_steps;
    struct od_step *steps;
    int64_t buffer_bytes, scratch_bytes;
};

/* Weights in the form that some kernel wants. */
struct od_packed {
    struct od_packed *next;
    dnnl_memory_desc_t md;
    void *data;
    int64_t bytes;
    int number; /* of the form: 0, 1, ... in the order of their first use */
};

/* Of a conv or fc. BatchNorm and Scale that follow at once are folded in. */
struct od_weights {
    float *scale; /* [channels of the output]: factor on the seeded weights */
    float *bias;  /* [stored channels of the output]; null: none */
    int64_t bias_bytes;
    int n_folded; /* bundled operators that scale and bias contain */
    bool relu;    /* the operator after them is a ReLU, fused too */
    struct od_packed *forms;
};

struct od_session {
    struct vbs_session base;
    struct vbs_arena arena;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
    int block;                        /* channels in a block; 1: every home is plain */
    struct vbs_profile_layer *layers; /* [n_layers + 1] */
    struct od_tensor *tensors;        /* [n_layers + 1] */
    struct od_weights *weights;       /* [n_layers + 1] */
    struct vbs_kernel *offers;        /* [base.n_kernels], base.kernels */
    struct od_kernel *kernels;        /* [base.n_kernels] */
    int max_kernels;
};

/* What is being built: kernels of one layer at one batch. */
struct od_build {
    struct vbs_ctx *ctx;
    struct od_session *session;
    const struct vbs_network *network;
    int layer;
    const struct vbs_layer *l;
    int batch;
    struct od_kernel *kernel; /* the one begun last; valid until the next begin */
    float *plain;             /* room of onednn_weights.c; freed by who made the build */
    int64_t plain_bytes;
};

/* ---- onednn_layout.c ---- */

/* Channels in a block on this machine. */
int od_block(void);

/* Describes the tensor of a shape with its home layout; bytes is checked to be linear. */
enum vbs_status od_tensor_init(struct od_build *b, const struct vbs_shape *shape,
                               struct od_tensor *tensor) VBS_MUST_CHECK;

/* batch samples of tensor in layout; stored: with the padding as channels (blocked only). */
enum vbs_status od_describe(struct od_build *b, const struct od_tensor *tensor, int batch,
                            enum od_layout layout, bool stored,
                            dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* n floats: a bias, the parameters of channels. */
enum vbs_status od_describe_vector(struct od_build *b, int64_t n,
                                   dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* Number of the element of channel c and position s in a sample at home. */
int64_t od_stored_index(const struct od_session *session, const struct od_tensor *tensor, int64_t c,
                        int64_t s);

const struct od_tensor *od_input(const struct od_build *b, int index);
const struct od_tensor *od_output(const struct od_build *b);

/* Turns a failed call into a status; doing says what was tried, as in "packing weights". */
enum vbs_status od_fail(struct od_build *b, dnnl_status_t status, const char *doing);

/* Zeroed, aligned for any kernel, in large pages where there are some; free(). */
void *od_alloc(int64_t bytes);

/* ---- onednn_kernel.c ---- */

/* Starts a kernel of b's layer and batch. */
enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm) VBS_MUST_CHECK;

/* A memory object of the kernel; for OD_FIXED data is where, else null. */
enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_place place, int index, void *data,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A memory object in a piece of scratch of its own. */
enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* Appends a step; the primitive's scratchpad is added to args. */
enum vbs_status od_kernel_step(struct od_build *b, const_dnnl_primitive_desc_t pd, int n_args,
                               const dnnl_exec_arg_t *args) VBS_MUST_CHECK;

/* Appends a step that copies from one memory object to another of the same logical shape. */
enum vbs_status od_kernel_reorder(struct od_build *b, const dnnl_memory_desc_t *from_md,
                                  dnnl_memory_t from, const dnnl_memory_desc_t *to_md,
                                  dnnl_memory_t to) VBS_MUST_CHECK;

/* Ends it: its scratch and weights are known. form: number of the packed weights, 0 without. */
void od_kernel_end(struct od_build *b, int64_t weight_bytes, int form);

void od_kernel_release(struct od_kernel *kernel);

/* Attributes that all primitives share: scratchpads are the caller's; relu: fused. */
enum vbs_status od_attributes(struct od_build *b, bool relu,
                              dnnl_primitive_attr_t *attr) VBS_MUST_CHECK;

/* ---- onednn_weights.c ---- */

/* y = factor * x + shift of a BatchNorm or Scale: the layer's own (bundled < 0) or a bundled one.
 * n values each; those beyond the layer's channels are 0. */
enum vbs_status od_affine(struct od_build *b, int bundled, int64_t n, float *factor,
                          float *shift) VBS_MUST_CHECK;

/* Makes the session's weights of b's layer: what is folded and fused, scale and bias. */
enum vbs_status od_weights_init(struct od_build *b) VBS_MUST_CHECK;
void od_weights_release(struct od_weights *weights);

/* The weights of b's layer in the form md, from a store of forms already made. stored: md counts
 * padded channels. VBS_UNSUPPORTED: more than VBS_MAX_FORMS. */
enum vbs_status od_weights_pack(struct od_build *b, const dnnl_memory_desc_t *md, bool stored,
                                const struct od_packed **packed) VBS_MUST_CHECK;

/* Dimensions of a conv's weights: [G,] O, I, K...; returns their number. */
int od_filter_dims(const struct od_build *b, bool stored, dnnl_dims_t dims);

/* True when the padding of inputs and outputs may count as channels of the conv. */
bool od_filter_can_be_stored(const struct od_build *b);

/* ---- onednn_conv.c, onednn_ops.c: all kernels of b's layer at b's batch ---- */

enum vbs_status od_build_conv(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_fc(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_other(struct od_build *b) VBS_MUST_CHECK;

/* Appends the bundled operators from number first on, in place on the output; adds the bytes of
 * their parameters to *weight_bytes. */
enum vbs_status od_bundled(struct od_build *b, int first, int64_t *weight_bytes) VBS_MUST_CHECK;

#endif
