/*
 * Internals that the onednn*.c files share; no other file speaks to oneDNN.
 *
 * Every tensor has one home layout, in which it lies between steps: channels in blocks of the
 * vector length (nChw16c on AVX-512, nChw8c on lesser x86) where blocking pays, else plain. The
 * batch is outermost, so that a sample is contiguous. Channels are padded with zeros to whole
 * blocks; those zeros count in a tensor's bytes, and every kernel keeps them zero. A "stored"
 * descriptor treats the padding as channels, which spares oneDNN its own passes of zeroing.
 *
 * A layer may read a tensor in another shape than the tensor's own (views in model.h). Row-major
 * order is what both shapes share, so a tensor that is read so is plain at home, but for fully
 * connected layers, whose weights are packed in the order in which the tensor is stored.
 *
 * A kernel is a list of primitives and plain functions (steps) on memory objects made once at open.
 * Running it sets their pointers and executes; nothing is allocated. A kernel works in one layout;
 * inputs and outputs whose home is another one are copied in scratch.
 *
 * Weights proper of conv and fc lie in forms (struct od_packed), which kernels share. A kernel says
 * which channels of which form it reads (od_kernel_weights), and its memory objects in OD_WEIGHTS
 * lie from there on; so a run can be given them. All other parameters are OD_FIXED.
 */
#ifndef VBS_BACKEND_ONEDNN_ONEDNN_H
#define VBS_BACKEND_ONEDNN_ONEDNN_H

#include "backend/common/requested.h"
#include "backend/onednn/primitive.h"
#include "base/arena.h"

#include <dnnl.h>

#define OD_ALIGNMENT  64 /* bytes, of every piece of scratch */
#define OD_MAX_ROUTES (VBS_MAX_DIMS + 1)

enum od_layout { OD_PLAIN, OD_BLOCKED, OD_CHANNELS_LAST, OD_N_LAYOUTS };

/* One sample: [channels, spatial...]. Shapes of more dimensions than oneDNN has layouts for have
 * one spatial dimension, all positions. */
struct od_tensor {
    struct vbs_shape shape;
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
    OD_WEIGHTS, /* what the kernel reads of its form of weights */
    OD_BUFFER,  /* scratch */
    OD_SCRATCH, /* scratch after all buffers: what primitives ask for, one at a time */
    OD_FIXED    /* parameters: set at open */
};

struct od_memory {
    dnnl_memory_t handle;
    enum od_place place;
    int index;
    int64_t offset; /* bytes behind where its place begins */
};

/* A step that no primitive does: data are those of its memory objects, in order. Allocates nothing.
 */
typedef void od_function(const void *plan, float *const *data);

#define OD_MAX_DATA 3 /* memory objects of a function */

struct od_step {
    dnnl_primitive_t primitive; /* null: function */
    od_function *function;
    const void *plan;
    int n_args;
    dnnl_exec_arg_t *args;
};

struct od_kernel {
    int n_memories, max_memories;
    struct od_memory *memories; /* freed with the kernel, as steps */
    int n_steps, max_steps;
    struct od_step *steps;
    int64_t buffer_bytes, scratch_bytes;
    struct od_packed *form;            /* of its weights; null: it has none in OD_WEIGHTS */
    int64_t first_channel, n_channels; /* that it reads of them */
    bool shared;                       /* its objects are those of a kernel before it */
};

/* Weights or a constant operand in the form that some kernel wants. */
struct od_packed {
    struct od_packed *next;
    dnnl_memory_desc_t md; /* of one piece */
    int n_pieces;          /* equal parts of the channels, one after the other */
    int64_t channels;      /* of all pieces: output channels, with padding where that is stored */
    bool stored;           /* md counts padded channels */
    void *data;            /* null: not packed */
    int64_t bytes;         /* of all pieces */
    int number;            /* 0, 1, ... in the order of their first use in the session */
};

/* Of a conv, deconv or fc; BatchNorm, Scale and Linear that follow at once are folded in. Of the
 * others that have a constant operand: forms only. */
struct od_weights {
    float *scale; /* [channels of the output]: factor on the seeded weights */
    float *bias;  /* [stored channels of the output]; null: none */
    int64_t bias_bytes;
    int n_folded;     /* fused operators that scale and bias contain */
    int n_fused;      /* fused operators after them that are fused */
    int64_t channels; /* of the output, with padding where that is stored */
    int64_t unit;     /* a part of the layer is a multiple of so many; 0: there are no parts */
    struct od_packed *forms;
};

/* Copies of one sample between plain order and a tensor's home, made when first needed. */
struct od_transfer {
    dnnl_memory_t plain, home;
    dnnl_primitive_t to_home, to_plain;
};

struct od_session {
    struct vbs_session base;
    struct vbs_arena arena;
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    int threads;
    bool weights_given;                /* with every run: no form keeps data */
    const struct vbs_network *network; /* borrowed */
    int block;                         /* channels in a block; 1: every home is plain */
    struct vbs_profile_layer *layers;  /* [n_layers + 1] */
    struct od_tensor *tensors;         /* [n_layers + 1] */
    struct od_tensor **inputs;         /* [n_layers + 1][n_inputs], as the layer reads them */
    struct od_weights *weights;        /* [n_layers + 1] */
    struct od_transfer *transfers;     /* [n_layers + 1] */
    struct vbs_kernel *offers;         /* [base.n_kernels], base.kernels */
    struct od_kernel *kernels;         /* [base.n_kernels] */
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
    /* Of all kernels only this one, where not null; od_build_other may ignore it. */
    const struct vbs_requested *requested;
    struct od_kernel *kernel; /* the one begun last; valid until the next begin */
    float *plain;             /* room of onednn_weights.c; freed by who made the build */
    int64_t plain_bytes;
};

/* ---- onednn.c, onednn_open.c ---- */

/* The library and what it runs on, as text. */
void od_describe_library(char *buffer, size_t size);
void od_describe_device(char *buffer, size_t size);

/* Makes all of b's session, which has its network and threads. */
enum vbs_status od_open(struct od_build *b,
                        const struct vbs_backend_options *options) VBS_MUST_CHECK;

/* ---- onednn_layout.c ---- */

/* Channels in a block on this machine. */
int od_block(void);

/* True when blocking pays for a tensor of this shape, whoever works on it. */
bool od_can_be_blocked(int block, const struct vbs_shape *shape);

/* Describes the tensor of a shape with its home layout; bytes is checked to be linear. */
enum vbs_status od_tensor_init(struct od_build *b, const struct vbs_shape *shape,
                               enum od_layout home, struct od_tensor *tensor) VBS_MUST_CHECK;

/* True when blocked and plain are the same bytes: one position, whole blocks. */
bool od_layouts_agree(const struct od_session *session, const struct od_tensor *tensor);

/* batch samples of tensor in layout; stored: with the padding as channels (blocked only). */
enum vbs_status od_describe(struct od_build *b, const struct od_tensor *tensor, int batch,
                            enum od_layout layout, bool stored,
                            dnnl_memory_desc_t *md) VBS_MUST_CHECK;

/* The same tensor as it lies in another layout, plain or blocked. */
struct od_tensor od_in_layout(const struct od_session *session, const struct od_tensor *tensor,
                              enum od_layout layout);

/* Row-major floats of any dimensions, one after the other. */
enum vbs_status od_describe_dense(struct od_build *b, int n_dims, const dnnl_dims_t dims,
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

/* ---- onednn_homes.c ---- */

bool od_same_shape(const struct vbs_shape *a, const struct vbs_shape *b);

/* The home of every tensor, homes[0 .. n_layers]. */
enum vbs_status od_homes(struct od_build *b, enum od_layout *homes) VBS_MUST_CHECK;

/* Describes the inputs of b's layer as it reads them; in the network's order, until one is
 * overwritten in place, which then comes first. */
enum vbs_status od_inputs_init(struct od_build *b) VBS_MUST_CHECK;

/* ---- onednn_kernel.c ---- */

/* Starts a kernel of b's layer and batch; with: named after the primitive's implementation. */
enum vbs_status od_kernel_begin(struct od_build *b, const char *algorithm) VBS_MUST_CHECK;
enum vbs_status od_kernel_begin_with(struct od_build *b,
                                     const_dnnl_primitive_desc_t pd) VBS_MUST_CHECK;

/* A memory object of the kernel; for OD_FIXED data is where, else null. */
enum vbs_status od_kernel_memory(struct od_build *b, const dnnl_memory_desc_t *md,
                                 enum od_place place, int index, void *data,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A memory object anywhere; data where it is OD_FIXED, else null. */
enum vbs_status od_kernel_add(struct od_build *b, const dnnl_memory_desc_t *md,
                              struct od_memory where, void *data,
                              dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A memory object in a piece of scratch of its own. */
enum vbs_status od_kernel_buffer(struct od_build *b, const dnnl_memory_desc_t *md,
                                 dnnl_memory_t *memory) VBS_MUST_CHECK;

/* A piece of scratch of its own: its offset, and memory objects in it. */
int64_t od_kernel_room(struct od_build *b, int64_t bytes);
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

/* Input number index in layout, described by md: the tensor itself, or, where its home is another
 * layout, a copy that a step appended here makes. */
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

/* Ends it: its scratch and weights are known. form: number of the packed weights, 0 without. It is
 * said to run whole only. */
void od_kernel_end(struct od_build *b, int64_t weight_bytes, int form);

/* Appends kernel number index once more; both share their objects. */
enum vbs_status od_kernel_share(struct od_build *b, int index) VBS_MUST_CHECK;

/* Takes the kernels from number first on away, all but one named name, which becomes the first of
 * them; false: there is none. */
bool od_kernels_keep(struct od_session *session, int first, const char *name);

void od_kernel_release(struct od_kernel *kernel);

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

/* ---- onednn_weights.c ---- */

/* Output channels of a conv, deconv or fc that have weights of their own, and values that a fc
 * reads at once, as they are stored. */
int64_t od_weights_outputs(const struct od_build *b);
int64_t od_weights_inputs(const struct od_build *b);

/* How many of the n_fused an algorithm of convolutions takes: Winograd ReLU only. */
int od_weights_fused(const struct od_build *b, dnnl_alg_kind_t algorithm);

/* Finds what parts of b's layer, a conv or fc, are made of. */
void od_weights_measure(struct od_build *b);

/* Makes the session's weights of b's layer: what is folded and fused, scale and bias. */
enum vbs_status od_weights_init(struct od_build *b) VBS_MUST_CHECK;
void od_weights_release(struct od_weights *weights);

/* The form of b's layer whose n_pieces equal parts of the channels are md each: one that is known,
 * or a new one. stored: md counts padded channels. VBS_UNSUPPORTED: more than VBS_MAX_FORMATS. */
enum vbs_status od_weights_form(struct od_build *b, const dnnl_memory_desc_t *md, int n_pieces,
                                bool stored, struct od_packed **form) VBS_MUST_CHECK;

/* Bytes of so many channels of a form: whole units, or all. */
int64_t od_form_bytes(const struct od_packed *form, int64_t channels);

/* The kernel begun last reads channels first.. first + count - 1 of form, and nothing else in
 * OD_WEIGHTS. Packs the form, if the session keeps weights. */
enum vbs_status od_kernel_weights(struct od_build *b, struct od_packed *form, int64_t first,
                                  int64_t count) VBS_MUST_CHECK;

/* Writes channels first.. first + count - 1 of form to memory. */
enum vbs_status od_weights_write(struct od_build *b, const struct od_packed *form, int64_t first,
                                 int64_t count, void *memory) VBS_MUST_CHECK;

/* The output channels of which md has whole blocks one after the other, so that every range of
 * whole blocks is a range of bytes; 0: not so. groups: md begins with a dimension of groups. */
int64_t od_form_unit(const dnnl_memory_desc_t *md, bool groups);

/* md of so many channels of such a form, without groups. */
dnnl_memory_desc_t od_form_slice(const dnnl_memory_desc_t *md, bool groups, int64_t count);

/* Dimensions of a conv's weights: [G,] O, I, K...; returns their number. */
int od_filter_dims(const struct od_build *b, bool stored, dnnl_dims_t dims);

/* True when the padding of inputs and outputs may count as channels of the conv. */
bool od_filter_can_be_stored(const struct od_build *b);

/* Copies whole buffers from one layout to another, now and outside any kernel. */
enum vbs_status od_convert(struct od_build *b, const dnnl_memory_desc_t *from_md, void *from,
                           const dnnl_memory_desc_t *to_md, void *to) VBS_MUST_CHECK;

/* ---- onednn_operand.c ---- */

/* The constant operand of b's layer, whose dimensions plain_md describes, in the form md. It is
 * kept and shared as packed weights are. */
enum vbs_status od_operand_as(struct od_build *b, const dnnl_memory_desc_t *plain_md,
                              const dnnl_memory_desc_t *md,
                              const struct od_packed **packed) VBS_MUST_CHECK;

/* The same as one sample of tensor at home. */
enum vbs_status od_operand(struct od_build *b, const struct od_tensor *tensor,
                           const struct od_packed **packed) VBS_MUST_CHECK;

/* n floats that live as long as the session, aligned; null: out of memory. */
float *od_constants(struct od_build *b, int64_t n);

/* ---- onednn_eltwise.c ---- */

#define OD_MAX_PARTS 3
#define OD_MAX_FUSED 8 /* parts */

/* An operator on values of oneDNN's. */
struct od_eltwise {
    dnnl_alg_kind_t algorithm;
    float alpha, beta;
};

/* Those that make up op, one after the other; returns how many, 0: oneDNN has it not. */
int od_eltwise_parts(enum vbs_op op, const struct vbs_attributes *attributes,
                     struct od_eltwise *parts);

/* How many fused operators of b's layer, from number first on, can be fused. */
int od_fusable(const struct od_build *b, int first);

/* Appends one, from one memory object to the other, which may be the same. */
enum vbs_status od_eltwise_step(struct od_build *b, const struct od_eltwise *part,
                                const dnnl_memory_desc_t *md, dnnl_memory_t from,
                                dnnl_memory_t to) VBS_MUST_CHECK;

/* Whether the output has padding that is not zero any more behind what is fused and fused. */
bool od_breaks_padding(const struct od_build *b);

/* Appends the zeroing of the output's padding, if it has any. */
enum vbs_status od_zero_padding(struct od_build *b) VBS_MUST_CHECK;

/* Appends the fused operators from number first on, in place on the output; adds the bytes of
 * their parameters to *weight_bytes. Padding is zero afterwards if it was before the layer. */
enum vbs_status od_fused(struct od_build *b, int first, int64_t *weight_bytes) VBS_MUST_CHECK;

/* Appends a BatchNorm or Scale, the layer's own (fused < 0) or a fused one, on the output's
 * channels; relu: and a ReLU. (onednn_norm.c) */
enum vbs_status od_affine_step(struct od_build *b, int fused, bool relu, dnnl_memory_t from,
                               dnnl_memory_t to, int64_t *weight_bytes) VBS_MUST_CHECK;

/* ---- onednn_copy.c ---- */

/* Where a dimension of a copy's output comes from: position first + i * step of dimension source of
 * the input, or table[i], where < 0 stands for nothing; source < 0: from its beginning. */
struct od_route {
    int64_t n;
    int source;
    int64_t first, step;
    const int64_t *table;
};

struct od_copy {
    int input;
    int n_routes; /* row-major over the output; in blocks the first is the channels */
    struct od_route routes[OD_MAX_ROUTES];
    int axis;      /* dimension of the output of which a part is written, from position first on */
    int64_t first; /* 0: all of it */
    float fill;    /* where there is nothing to copy */
};

/* Appends the copying of an input, or of a part of it, to the output or a part of it. */
enum vbs_status od_copy_step(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* The kernel of a layer that is nothing but such a copy. */
enum vbs_status od_build_copy(struct od_build *b, const struct od_copy *copy) VBS_MUST_CHECK;

/* ---- onednn_parts.c: layers on some of their output channels ---- */

/* An implementation of the layer that can run on some of its channels. */
struct od_way {
    const char *impl;             /* oneDNN's name of it */
    dnnl_alg_kind_t algorithm;    /* of a conv */
    const dnnl_memory_desc_t *md; /* of the whole's weights, of which it takes slices; null: it
                                     chooses for itself */
    bool stored;                  /* md counts padded channels */
};

/* Whether parts of the whole's weights suit it, so that the layer runs in any number of parts.
 * *ws_bytes: what they need at most. */
enum vbs_status od_way_divides(struct od_build *b, const struct od_way *way, bool *divides,
                               int64_t *ws_bytes) VBS_MUST_CHECK;

/* The kernel of the part that is requested of a way that divides. */
enum vbs_status od_build_part(struct od_build *b, const char *name,
                              const struct od_way *way) VBS_MUST_CHECK;

/* Whether b's layer may be worth measuring in parts; with requested: whether that is requested. */
bool od_may_be_measured(const struct od_build *b);

/* Kernels of a way in numbers of parts that suit its packed_bytes, or what is requested of them. A
 * way that chooses its weights gets a form of pieces for each number. */
enum vbs_status od_build_measured(struct od_build *b, const char *name, const struct od_way *way,
                                  int64_t packed_bytes) VBS_MUST_CHECK;

/* ---- onednn_tensors.c: the session's calls for tensors ---- */

enum vbs_status od_fill(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        void *memory) VBS_MUST_CHECK;
enum vbs_status od_write(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                         const float *values, void *memory) VBS_MUST_CHECK;
enum vbs_status od_read(struct vbs_ctx *ctx, struct vbs_session *session, int tensor, int n,
                        const void *memory, float *values) VBS_MUST_CHECK;
void od_transfer_release(struct od_transfer *transfer);

/* ---- all kernels of b's layer at b's batch, each in the file of its name ---- */

/* Conv, deconv, and fc (onednn_conv.c): with requested only that one, or none where there is none.
 */
enum vbs_status od_build_conv(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_fc(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_unary(struct od_build *b) VBS_MUST_CHECK; /* onednn_eltwise.c */
enum vbs_status od_build_binary(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_norm(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_pool(struct od_build *b) VBS_MUST_CHECK; /* onednn_ops.c */
enum vbs_status od_build_global_pool(struct od_build *b, bool largest) VBS_MUST_CHECK;
enum vbs_status od_build_reduce(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_resize(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_matmul(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_move(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_concat(struct od_build *b) VBS_MUST_CHECK;
enum vbs_status od_build_other(struct od_build *b) VBS_MUST_CHECK; /* all but conv and fc */

/* A convolution or, of a deconv, its transpose. */
union od_conv_desc {
    dnnl_convolution_desc_t forward;
    dnnl_deconvolution_desc_t transposed;
};

/* One between tensors as described, with the layer's own window and bias; algorithm as of a
 * convolution. */
enum vbs_status od_conv_desc(struct od_build *b, dnnl_alg_kind_t algorithm,
                             const dnnl_memory_desc_t *src, const dnnl_memory_desc_t *weights,
                             const dnnl_memory_desc_t *dst,
                             union od_conv_desc *desc) VBS_MUST_CHECK;

/* Likewise an inner product, of b's batch and of all rows. */
enum vbs_status od_fc_desc(struct od_build *b, const dnnl_memory_desc_t *weights,
                           dnnl_inner_product_desc_t *desc) VBS_MUST_CHECK;

#endif
