/*
 * vbslab/mmcnn.h - the accounting of mmCNN, as its paper prints it.
 *
 * Li, Shen, Dou, Ni, Xu, Yang, Wang, Niu: "A Novel Memory-Scheduling Strategy for Large
 * Convolutional Neural Network on Memory-Limited Devices" (2019), Algorithm 1, section 3.2 and
 * Table 4. It divides bytes, not channels or rows, so that its table need not be executable; the
 * schedules of the planner "mmcnn" are. It reads shapes only, for one sample (batch 1) in 32-bit
 * floats.
 *
 * Rows: the network's data, then each layer, and each ReLU that a layer fuses as a row of its own
 * behind it. Batchnorm and scale stay with their layer, their parameters too. Dropout, which has
 * no effect in inference, and softmax have no row: the 24 layers of the paper's AlexNet are 21
 * rows.
 *
 * With the limit L, in exact fractions of bytes:
 *
 *   maps  bytes of the row's feature maps: data and ReLU (in place) their own, others in + out
 *   sm    max(1, ceil(maps / L)), slices of the maps;  slice = maps / sm
 *   w     parameters of a conv or fc in bytes, biases and all groups included
 *   free  L - the largest slice in the segment
 *
 * A conv segment is the rows behind one conv or fc up to and including the next; its head is its
 * first row. With pn_max = VBS_MMCNN_MAX_SLICES:
 *
 *   if w / free <= pn_max, the head prefetches a cn-th of the weights:
 *       cn(head) = ceil(w / free), and the head holds slice + w / cn
 *       the conv holds its slice, sn = max(sm, cn)
 *   else, also when nothing is free, nothing is prefetched and the conv runs in k slices:
 *       cn(head) = 0, k = ceil(w / (L - slice(conv)))
 *       the conv holds slice + w / k, sn = max(sm, k)
 *   every other row holds its slice, sn = sm, cn = 0
 *
 * Where the paper is silent: a conv that is its segment's head holds slice + w / cn under
 * both numbers; a conv whose slice is L to the byte has its maps divided once more before k; rows
 * behind the last conv or fc belong to no segment.
 *
 * Threads: a table is immutable and may be shared by any number of threads, as long as its network
 * lives.
 */
#ifndef VBSLAB_MMCNN_H
#define VBSLAB_MMCNN_H

#include "vbslab/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* pn_max of Algorithm 1: the most slices in which weights are prefetched. */
#define VBS_MMCNN_MAX_SLICES 5

/* The row holds maps_bytes / map_slices + weight_bytes / weight_slices bytes. */
struct vbs_mmcnn_row {
    const char *name;      /* of the layer or ReLU; "data" */
    enum vbs_op op;        /* VBS_N_OPS: data */
    int layer;             /* of the network; of a ReLU: the layer that fuses it; 0: data */
    int64_t self_number;   /* sn: slices in which the row runs */
    int64_t conv_number;   /* cn: it prefetches a cn-th of its segment's weights; 0: none */
    int64_t maps_bytes;    /* maps */
    int64_t map_slices;    /* sm, >= 1 */
    int64_t weight_bytes;  /* w where the row holds or prefetches weights, else 0 */
    int64_t weight_slices; /* cn or k, >= 1 */
};

/* Immutable once made. Names are the network's, which must outlive it. */
struct vbs_mmcnn_table {
    int64_t limit_bytes;
    int n_rows;
    struct vbs_mmcnn_row *rows; /* [0..n_rows-1], row 1 of the paper first */
};

/*
 * Makes the table of network at a limit of limit_bytes > 0. *table is freed by
 * vbs_mmcnn_table_free. VBS_USAGE (no limit), VBS_UNSUPPORTED (a network that is no chain, named
 * with the layer; or so many slices that 63 bits do not count them), VBS_NO_MEMORY. Complexity:
 * O(rows).
 */
enum vbs_status vbs_mmcnn_table_new(struct vbs_ctx *ctx, const struct vbs_network *network,
                                    int64_t limit_bytes,
                                    struct vbs_mmcnn_table **table) VBS_MUST_CHECK;

/* Frees a table; null is allowed. */
void vbs_mmcnn_table_free(struct vbs_mmcnn_table *table);

/* Gives the bytes of the row in hundredths of a MiB, halves rounded up, exactly: 4817 is
 * "48.17". */
int64_t vbs_mmcnn_hundredths(const struct vbs_mmcnn_row *row);

#ifdef __cplusplus
}
#endif
#endif
