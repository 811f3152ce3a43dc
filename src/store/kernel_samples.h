/*
 * The samples of one kernel, in the order in which they were taken: those that are packed into one
 * value (db/migration-6.sql), and behind them rows of the table `sample`. Internal to the room.
 */
#ifndef VBS_STORE_KERNEL_SAMPLES_H
#define VBS_STORE_KERNEL_SAMPLES_H

#include "store/sql.h"

/* Reads the samples of one kernel after the other. Starts as {0}. */
struct vbs_kernel_samples {
    struct vbs_store *store;
    sqlite3_stmt *packed, *rows; /* rows is null where the store has none */
    int n;                       /* samples of the kernel that was read last */
    double *times_us;            /* [n] */
    int *rounds;                 /* [n] */
    int64_t max_times, max_rounds;
};

/* Prepares reading from store the samples that it has by now. */
enum vbs_status vbs_kernel_samples_open(struct vbs_ctx *ctx, struct vbs_store *store,
                                        struct vbs_kernel_samples *samples) VBS_MUST_CHECK;

/* Reads all samples of a kernel, none where it has none. Part of any transaction. VBS_STORE, with
 * store->rc SQLITE_OK, where a value is no packed samples. */
enum vbs_status vbs_kernel_samples_read(struct vbs_ctx *ctx, struct vbs_kernel_samples *samples,
                                        int64_t kernel) VBS_MUST_CHECK;

#define VBS_SAMPLE_BYTES 12 /* of a packed sample: the round in 4 and the time in 8 */

/* Packs samples first..first + n - 1 into bytes[n * VBS_SAMPLE_BYTES]. */
void vbs_samples_pack(const struct vbs_kernel_samples *samples, int first, int n,
                      unsigned char *bytes);

/* Frees what samples holds. It is then as {0}. */
void vbs_kernel_samples_clear(struct vbs_kernel_samples *samples);

/* Writes the samples of one kernel after the other. Starts as {0}. */
struct vbs_sample_packer {
    struct vbs_store *store;
    sqlite3_stmt *insert, *remove; /* remove is null where there are no rows */
    unsigned char *bytes;
    int64_t max_bytes;
};

/* Prepares writing to store. has_rows: the kernels may have samples that are rows. */
enum vbs_status vbs_sample_packer_open(struct vbs_ctx *ctx, struct vbs_store *store, bool has_rows,
                                       struct vbs_sample_packer *packer) VBS_MUST_CHECK;

/* In a write transaction: makes samples, those that were read last, all samples of a kernel,
 * packed. */
enum vbs_status vbs_sample_packer_write(struct vbs_ctx *ctx, struct vbs_sample_packer *packer,
                                        int64_t kernel,
                                        const struct vbs_kernel_samples *samples) VBS_MUST_CHECK;

/* Frees what packer holds. It is then as {0}. */
void vbs_sample_packer_clear(struct vbs_sample_packer *packer);

#endif
