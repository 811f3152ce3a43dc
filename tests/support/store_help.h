/* Stores for tests. */
#ifndef TESTS_STORE_HELP_H
#define TESTS_STORE_HELP_H

#include "vbslab/store.h"

/* Null, and the reason as a TAP comment, when it cannot be opened. */
struct vbs_store *open_store(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode);

/* Opens and closes it; ctx has the detail. */
enum vbs_status try_open(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode);

/* The version of the stores that the library writes. */
int newest_version(void);

/* Runs SQL on a file from outside; the message of the failure, or null. */
const char *run_sql(const char *path, const char *sql);

/* The one number that a query from outside gives, or -1. */
int64_t query(const char *path, const char *sql);

/* A small profile of a model; another number is another content. */
struct vbs_profile *example(const char *model);
struct vbs_profile *numbered_example(const char *model, int number);
/* Saves one that the store does not have, and gives its id. */
int64_t save_example(const char *path, const char *model);

/* Feeds n samples to every kernel; the k-th of kernel i takes 100 + i + k / 16 us. */
enum vbs_status feed(struct vbs_ctx *ctx, struct vbs_store_run *run, int n_kernels, int n);

/* Feeds n samples to copies of 65536 and 262144 bytes from "page-cache" and of 65536 from "disk";
 * the k-th takes 10, 40, 100 + k / 16 us. */
enum vbs_status feed_copies(struct vbs_ctx *ctx, struct vbs_store_run *run, int n);

#endif
