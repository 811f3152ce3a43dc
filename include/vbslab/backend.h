/*
 * vbslab/backend.h - the libraries and models that run layers, behind one table.
 */
#ifndef VBSLAB_BACKEND_H
#define VBSLAB_BACKEND_H

#include "vbslab/measure.h"
#include "vbslab/model.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a backend is on this machine. Texts are owned by the struct. */
struct vbs_backend_info {
    bool built;        /* this build has it */
    bool usable;       /* and this machine can run it */
    char why[200];     /* when not usable: why; else empty */
    char library[200]; /* name and version of the library */
    char device[200];  /* what it would run on */
};

/* A kernel that somebody wants to run: layer in parts, this part (schedule.h; parts 0 or 1: the
 * whole), on batch samples. */
struct vbs_requested_kernel {
    int layer; /* 1..n_layers */
    int batch;
    int slice, n_slices;
    const char *algorithm; /* as in a profile of this backend */
};

struct vbs_backend_options {
    size_t struct_size; /* sizeof(struct vbs_backend_options) */
    /* Everything that can be measured: all algorithms of all layers at these batches. */
    const int *batches; /* ascending, batches[0] == 1 */
    int n_batches;
    int threads; /* 0: as many as this process may use */
    /* Or, where requested is not null, only these, in this order: session->kernels[i] is
     * requested[i]. The same one twice costs nothing. VBS_NOT_FOUND names the algorithm that this
     * library on this machine does not have, or not in these parts; VBS_INVALID a layer, batch or
     * part that cannot be. What a part writes, and where, is the same as what the whole writes
     * there, to the bit where the library's sums do not depend on the number of channels
     * (oneDNN 2.6: none seen that do). */
    const struct vbs_requested_kernel *requested;
    int n_requested;
    /* Weights are given to every run (struct vbs_operands) and the session keeps none of those that
     * kernels count in packed_bytes. */
    bool weights_given;
};

struct vbs_backend {
    const char *name;
    const char *summary; /* one line */
    bool modelled;       /* nothing is run: its sessions compute their times */
    bool device;         /* sessions have memory of a device, which the host cannot touch */
    void (*probe)(struct vbs_backend_info *info);
    /*
     * Prepares network for the batches: kernels, packed weights (seeded, scaled so that activations
     * stay finite). *session is closed by its ops->close, until when it borrows network.
     * VBS_UNSUPPORTED names layer and reason.
     */
    enum vbs_status (*open)(struct vbs_ctx *ctx, const struct vbs_network *network,
                            const struct vbs_backend_options *options,
                            struct vbs_session **session);
};

/* All backends that vbslab knows, built or not, the default first; null after the last. */
const struct vbs_backend *vbs_backend_at(int index);

/* By name; VBS_NOT_FOUND suggests the nearest. */
enum vbs_status vbs_backend_find(struct vbs_ctx *ctx, const char *name,
                                 const struct vbs_backend **backend) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
