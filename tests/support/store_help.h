/* Stores for tests. */
#ifndef TESTS_STORE_HELP_H
#define TESTS_STORE_HELP_H

#include "vbslab/store.h"

/* Opens a store. Null, and the reason as a TAP comment, when it cannot be opened. */
struct vbs_store *open_store(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode);

/* Opens a store and closes it; ctx has the detail. */
enum vbs_status try_open(struct vbs_ctx *ctx, const char *path, enum vbs_store_mode mode);

/* Gives the version of the stores that the library writes. */
int newest_version(void);

/* Runs SQL on a file without the library; gives the message of the failure, or null. */
const char *run_sql(const char *path, const char *sql);

/* The same without the triggers of the store, which would refuse what a test needs. */
const char *run_sql_untriggered(const char *path, const char *sql);

/* Makes the store at path one that an earlier version wrote: with the same rows, but without the
 * tables and columns that this version did not have. No process has it open. Gives the message of a
 * failure, or null. */
const char *make_earlier(const char *path, int version);

/* Gives the single number that a query without the library returns, or -1. */
int64_t query(const char *path, const char *sql);

/* Makes a small profile of a model; each has other content. */
struct vbs_profile *example(const char *model);
struct vbs_profile *numbered_example(const char *model, int number);
/* Saves a profile that the store does not have, and gives its id. */
int64_t save_example(const char *path, const char *model);

/* Feeds n samples to every kernel; the k-th of kernel i takes 100 + i + k / 16 us. */
enum vbs_status feed(struct vbs_ctx *ctx, struct vbs_store_run *run, int n_kernels, int n);

/* Feeds n samples to copies of 65536 and 262144 bytes from "page-cache" and of 65536 from "disk";
 * the k-th takes 10, 40, 100 + k / 16 us. */
enum vbs_status feed_copies(struct vbs_ctx *ctx, struct vbs_store_run *run, int n);

#endif
