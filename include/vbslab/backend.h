/*
 * vbslab/backend.h - the libraries and models that run layers, behind one table.
 */
#ifndef VBSLAB_BACKEND_H
#define VBSLAB_BACKEND_H

#include "vbslab/measure.h"
#include "vbslab/model.h"
#include "vbslab/training.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A backend as this machine has it. Texts are owned by the struct. */
struct vbs_backend_info {
    bool built;        /* this build contains the backend */
    bool usable;       /* this machine can run it too */
    char why[200];     /* the reason where it is not usable; else empty */
    char library[200]; /* name and version of the library */
    char device[200];  /* the device on which it would run */
};

/* One kernel that a session is requested to have. */
struct vbs_requested_kernel {
    int layer;             /* 1..n_layers of the session */
    int batch;             /* samples, 1..VBS_MAX_BATCH */
    int slice, n_slices;   /* slice 1..n_slices of the layer's output channels (schedule.h);
                              n_slices 0 or 1: the whole layer */
    int row, rows;         /* of a kernel on rows: the first row and the number of rows, of the
                              output of each sample; rows 0, or all of the layer's: whole samples */
    const char *algorithm; /* as in a profile of this backend */
};

/* The options of opening a session. Begin with {.struct_size = sizeof(struct
 * vbs_backend_options)}. */
struct vbs_backend_options {
    size_t struct_size; /* sizeof(struct vbs_backend_options) */
    /* Where requested is null, the session has the kernels of all algorithms of all layers at these
     * batches: all kernels that can be measured. */
    const int *batches; /* ascending, batches[0] == 1 */
    int n_batches;
    /* Threads that compute. 0: as many as OpenMP gives this process. The threads are counted in a
     * parallel region: the session's provenance says how many there are. VBS_UNSUPPORTED: OpenMP
     * gives fewer than this (OMP_THREAD_LIMIT). */
    int threads;
    /*
     * Where requested is not null, the session has these kernels only, in this order:
     * session->kernels[i] is requested[i]. A kernel that is requested twice is made once. Where
     * n_requested is 0, the session has layers only.
     * VBS_NOT_FOUND names an algorithm that this library on this machine does not have, or not in
     * these slices; VBS_INVALID a layer, batch or slice that cannot be.
     *
     * A requested kernel is the one that a session of all kernels has under this name. Its output
     * is therefore the same to the bit, and every measured kernel can be run. A slice writes the
     * same values to the same place as the whole layer, to the bit where the library's sums do not
     * depend on the number of channels (as far as tests have shown, oneDNN 2.6's never do).
     */
    const struct vbs_requested_kernel *requested;
    int n_requested;
    /* Every run is given its weights (struct vbs_operands), and the session keeps none of those
     * that its kernels count in packed_bytes. */
    bool weights_given;
    /* Tensors lie in memory such that their rows are contiguous, where they can, and the layers of
     * the session have rows and reaches. Where requested is null, the session also has kernels on
     * 1, 2, 4, 8, ... rows. Kernels have the same algorithms as without, but other times and bytes.
     * VBS_UNSUPPORTED: the backend has no kernels on rows. */
    bool stripes;
    /* Where requested is null: gives the one algorithm whose kernel the session has of a layer at a
     * batch, or null for all algorithms. A null function: all algorithms of all layers. */
    void *self;
    const char *(*only)(void *self, int layer, int batch);
    /* Where requested is null: seconds that making kernels and packing their weights may take; 0:
     * not limited. Every layer gets a kernel at the first batch in any case, by which the limit may
     * be exceeded. Whatever is likely to end later than the limit is not begun: further batches, of
     * which the last and some between them come first; kernels that pack their weights in other
     * formats than those; and kernels on rows. Modelled backends make all. */
    double time_limit_s;
};

/* A backend. Immutable and static: threads may share it. */
struct vbs_backend {
    const char *name;
    const char *summary; /* one line */
    bool modelled;       /* its sessions compute times and run nothing */
    bool device;         /* sessions have memory of a device, which the host cannot touch */
    void (*probe)(struct vbs_backend_info *info);
    /*
     * Prepares the kernels and packed weights of a network. Weights that the network has no values
     * for are made from a seed, and scaled such that activations stay finite. The session borrows
     * network until its ops->close, which the caller calls. VBS_UNSUPPORTED names the layer and the
     * reason, or says that the profile would have more than 1,048,576 rows; VBS_INTERRUPTED when
     * the context asks to stop. Time and memory grow with the number of kernels.
     */
    enum vbs_status (*open)(struct vbs_ctx *ctx, const struct vbs_network *network,
                            const struct vbs_backend_options *options,
                            struct vbs_session **session);
    /* Opens a training session (training.h). Null: the backend cannot train. */
    enum vbs_status (*open_training)(struct vbs_ctx *ctx, const struct vbs_network *network,
                                     const struct vbs_training_options *options,
                                     struct vbs_training **session);
};

/* All backends that vbslab knows, built or not, the default first; null after the last. */
const struct vbs_backend *vbs_backend_at(int index);

/* Finds a backend by its name; VBS_NOT_FOUND suggests the nearest name. */
enum vbs_status vbs_backend_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_backend **backend) VBS_MUST_CHECK;

/* True of a layer that profiles of the analytic backend do not have: a Concat each of whose inputs
 * is one contiguous range of a sample and stored as the output is, which is free there. The layers
 * behind it have lower numbers in such a profile than in the network; in profiles of the other
 * backends all numbers are those of the network. */
bool vbs_analytic_omits(const struct vbs_network *network, int layer);

/* Gives whether an algorithm of a profile computes from coded weights: its name is that of a form
 * of coded weights (coded.h), a colon, and the method, such as "joint:sparse". */
bool vbs_algorithm_is_coded(const char *algorithm);

/* Gives the bytes of the weights of all layers of a profile, where each layer with rows on coded
 * weights has them in the smallest form of these rows. O(rows). */
int64_t vbs_least_weight_bytes(const struct vbs_profile *profile);

/* Gives whether the times of a profile with this provenance were computed by a model, not measured:
 * its backend runs nothing, or they are predicted (predict.h). False where neither is known. */
bool vbs_provenance_modelled(const struct vbs_provenance *provenance);

/* Returns the backend in whose device's memory schedules of a profile with this provenance run;
 * null: they run in memory of the process, or the backend is not known. */
const struct vbs_backend *vbs_provenance_device(const struct vbs_provenance *provenance);

#ifdef __cplusplus
}
#endif
#endif
