/*
 * What the backends share. This is the only header of the sub-room that others include.
 */
#ifndef VBS_BACKEND_COMMON_COMMON_H
#define VBS_BACKEND_COMMON_COMMON_H

#include "base/arena.h"
#include "vbslab/backend.h"
#include "vbslab/model.h"
#include "vbslab/profile.h"

/* ---- cpu.c: the processor ---- */

/* Model, family and stepping as far as they are known, never empty: the same at every call on a
 * machine. */
void vbs_cpu_describe(char *buffer, size_t size);

/* The clock at this moment in MHz, 0 when unknown. */
double vbs_cpu_clock_mhz(void);

/* ---- graph.c: the layers of a session ---- */

/* The layer as in a profile, but for what depends on how tensors lie: bytes, channels, place. */
enum vbs_status vbs_graph_layer_init(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                     const struct vbs_layer *l,
                                     struct vbs_profile_layer *layer) VBS_MUST_CHECK;

/* The same memory, for libraries whose sources are not const; they do not write to them, but oneDNN
 * may rewrite the zeros of padding with zeros. */
void *vbs_writable(const void *memory);

/* True when the operator may write where this input lies, if it is of the output's shape: those
 * that combine two operands, whose first one alone can be overwritten where order matters. */
bool vbs_graph_overwrites(const struct vbs_layer *layer, int input);

/* Of a backend, for vbs_graph_init_in_place; build is the first argument of both functions. */
struct vbs_in_place {
    void *build;
    /* Whether the layer's operator can write where this input lies. */
    bool (*may)(const void *build, int layer, int input);
    /* Input number first of the layer and its first input change places. Null: nothing to do. */
    void (*swap)(void *build, int layer, int first);
};

/*
 * Puts every layer that may be there in the place of one of its inputs: one that is as large as the
 * output and no network input, and that everyone else reads before the layer in every schedule,
 * because the layer depends on them; an input that only the layer reads is preferred. The input
 * comes first among the layer's inputs then. Linear in the edges for each layer that may.
 */
enum vbs_status vbs_graph_init_in_place(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                        struct vbs_profile_layer *layers, int n_layers,
                                        const struct vbs_in_place *own) VBS_MUST_CHECK;

/*
 * Kernels that a session may have: more than any network that can be measured needs, few enough
 * for the store and the planners. VBS_UNSUPPORTED says how many there would be, before any of them
 * is made: at least one for each layer and batch.
 */
#define VBS_MAX_KERNELS (1 << 20)
enum vbs_status vbs_graph_check_kernels(struct vbs_ctx *ctx, int n_layers, int n_batches,
                                        int64_t n_kernels) VBS_MUST_CHECK;

/* Output channels that have weights of their own and lie one after the other: those of a conv or of
 * a fc on whole samples; else 0. */
int vbs_graph_channels(const struct vbs_layer *layer);

/* ---- affine.c: parameters of operators that scale and shift channels ---- */

/* y = factor * x + shift of a BatchNorm or Scale: the layer's own (fused < 0) or a fused one.
 * n values each; those beyond the layer's channels are 0. */
enum vbs_status vbs_affine(struct vbs_ctx *ctx, const struct vbs_network *network, int layer,
                           int fused, int64_t n, float *factor, float *shift) VBS_MUST_CHECK;

/* ---- requested.c: requested kernels, which all backends read and check alike ---- */

/* The algorithm is "NAME" or, measured in slices, "NAME/4". */
struct vbs_requested {
    char name[64];
    int row_slices;      /* 4; else 0 */
    int slice, n_slices; /* of the whole layer */
};

struct vbs_requested vbs_requested_read(const struct vbs_requested_kernel *kernel);

/* VBS_INVALID: a layer, batch or slice that cannot be. */
enum vbs_status vbs_requested_check(struct vbs_ctx *ctx, const struct vbs_session *session,
                                    const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* The one before index that is the same, or -1. */
int vbs_requested_same(const struct vbs_requested_kernel *requested, int index);

/* VBS_NOT_FOUND for a kernel that this machine does not have. */
enum vbs_status vbs_requested_missing(struct vbs_ctx *ctx, const struct vbs_session *session,
                                      const struct vbs_requested_kernel *requested) VBS_MUST_CHECK;

/* ---- session.c: what the sessions of all backends have in common ---- */

/* The beginning of every backend's session. */
struct vbs_session_core {
    struct vbs_session session;
    struct vbs_arena arena;            /* texts, layers, and whatever lives as long */
    const struct vbs_network *network; /* borrowed */
    bool weights_given;                /* with every run: kernels keep no packed weights */
    struct vbs_profile_layer *layers;  /* [network->n_layers + 1], session.layers */
    struct vbs_kernel *offers;         /* [session.n_kernels], session.kernels */
    int64_t max_offers, max_own;       /* space for kernels: here, and in the backend's own array */
};

struct vbs_session_class {
    const struct vbs_session_ops *ops; /* close also ends a session whose init has failed */
    size_t size;                       /* of the backend's struct */
    bool modelled;
    enum vbs_status (*init)(struct vbs_ctx *ctx, struct vbs_session_core *core,
                            const struct vbs_backend_options *options);
};

/* Opens a session of a class: size bytes of zeros, then the core but for what the functions below
 * fill in, then init. As open of struct vbs_backend. */
enum vbs_status vbs_session_open(struct vbs_ctx *ctx, const struct vbs_session_class *class,
                                 const struct vbs_network *network,
                                 const struct vbs_backend_options *options,
                                 struct vbs_session **session) VBS_MUST_CHECK;

/* Frees what the core owns, but not the core. */
void vbs_session_core_clear(struct vbs_session_core *core);

/* Of *texts backend, library, device, notes and threads are copied. */
enum vbs_status vbs_session_init_provenance(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                            const struct vbs_provenance *texts) VBS_MUST_CHECK;

/* Space for all layers of the network, of which the input is filled in, in plain floats. */
enum vbs_status vbs_session_init_layers(struct vbs_ctx *ctx,
                                        struct vbs_session_core *core) VBS_MUST_CHECK;

/* ---- kernels.c: the kernels of a session while it is opened ---- */

/* Appends a kernel, and makes space for what the backend itself keeps of it: own is the address of
 * the pointer to an array of such structs, which is the backend's to free. */
enum vbs_status vbs_kernel_append(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                  const struct vbs_kernel *kernel, void *own,
                                  size_t own_size) VBS_MUST_CHECK;

/* How a backend makes kernels; build is the first argument of the functions. */
struct vbs_kernel_maker {
    void *build;
    /* Appends the kernels of all algorithms of a layer at a batch; where requested is not null, at
     * least the requested one, if there is one. */
    enum vbs_status (*make)(void *build, int layer, int batch,
                            const struct vbs_requested *requested);
    /* Of the kernels from number first on leaves only one of this algorithm; false: none is. */
    bool (*keep)(void *build, int first, const char *algorithm);
    /* Appends kernel number index once more; both share what it owns. */
    enum vbs_status (*share)(void *build, int index);
};

/* Makes the kernels that options ask for. */
enum vbs_status vbs_kernels_make(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                 const struct vbs_backend_options *options,
                                 const struct vbs_kernel_maker *maker) VBS_MUST_CHECK;

#endif
