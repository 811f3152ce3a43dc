/* Profiles as rows of the store's tables. Internal to the room. */
#ifndef VBS_STORE_ROWS_H
#define VBS_STORE_ROWS_H

#include "store/evidence.h"
#include "store/sql.h"

/* The process that measures a profile into the store, and what it measures. */
struct vbs_run_key {
    uint64_t network_hash;
    uint64_t kernels_hash;
    const char *owner;
};

/*
 * Columns that are numbers of a profile: X(column, member, type). The member is one of struct
 * vbs_profile_layer or of struct vbs_profile_row, the type a letter of vbs_sql_bind.
 */
#define VBS_LAYER_COLUMNS(X)                                                                       \
    X(in_bytes, in_bytes, i)                                                                       \
    X(out_bytes, out_bytes, i)                                                                     \
    X(weight_bytes, weight_bytes, i)                                                               \
    X(in_place, in_place, i)                                                                       \
    X(channels, channels, i)                                                                       \
    X(out_rows, rows, i)
/* The members of a row that are known before it is measured, and then those that are measured. */
#define VBS_KERNEL_COLUMNS(X)                                                                      \
    X(ws_bytes, ws_bytes, i)                                                                       \
    X(weight_bytes, weight_bytes, i)                                                               \
    X(form, format, i)                                                                             \
    X(parts, n_slices, i)                                                                          \
    X(rows, rows, i)
#define VBS_TIME_COLUMNS(X)                                                                        \
    X(time_us, time_us, d)                                                                         \
    X(mad_us, mad_us, d)                                                                           \
    X(low_us, low_us, d)                                                                           \
    X(high_us, high_us, d)                                                                         \
    X(n_runs, n_runs, i)

/* Fragments of statements: names of columns and placeholders, each after a comma, and letters of
 * types. */
#define VBS_COLUMN_NAME(column, member, type) ", " #column
#define VBS_COLUMN_MARK(column, member, type) ", ?"
#define VBS_COLUMN_TYPE(column, member, type) #type
#define VBS_LAYER_NAMES                       VBS_LAYER_COLUMNS(VBS_COLUMN_NAME)
#define VBS_LAYER_MARKS                       VBS_LAYER_COLUMNS(VBS_COLUMN_MARK)
#define VBS_LAYER_TYPES                       VBS_LAYER_COLUMNS(VBS_COLUMN_TYPE)
#define VBS_KERNEL_NAMES                      VBS_KERNEL_COLUMNS(VBS_COLUMN_NAME)
#define VBS_KERNEL_MARKS                      VBS_KERNEL_COLUMNS(VBS_COLUMN_MARK)
#define VBS_KERNEL_TYPES                      VBS_KERNEL_COLUMNS(VBS_COLUMN_TYPE)
#define VBS_TIME_NAMES                        VBS_TIME_COLUMNS(VBS_COLUMN_NAME)
#define VBS_TIME_MARKS                        VBS_TIME_COLUMNS(VBS_COLUMN_MARK)
#define VBS_TIME_TYPES                        VBS_TIME_COLUMNS(VBS_COLUMN_TYPE)
/* Converts a number to a value for vbs_sql_bind, and a column back to a number. */
#define VBS_BIND(type, number) VBS_BIND_##type(number)
#define VBS_BIND_i(number)     ((int64_t)(number))
#define VBS_BIND_d(number)     ((double)(number))
/* clang-format off */
#define VBS_READ_NUMBER(stmt, column, number)                                                      \
    _Generic((number),                                                                             \
        bool: sqlite3_column_int64(stmt, column) != 0,                                             \
        int: vbs_sql_int(stmt, column),                                                            \
        int64_t: sqlite3_column_int64(stmt, column),                                               \
        double: sqlite3_column_double(stmt, column))
/* clang-format on */

/* Gives a 64-bit hash as a signed integer of SQLite. */
int64_t vbs_rows_hash(uint64_t hash);

/* Each of the following functions is part of a write transaction of the caller. */

/* Inserts a profile without its layers and rows. input_rows: those of the network's input. key:
 * null for a profile that was measured elsewhere. *id: 0, or the id that the profile gets. */
enum vbs_status vbs_rows_insert_profile(struct vbs_ctx *ctx, struct vbs_store *store,
                                        const struct vbs_provenance *provenance, int input_rows,
                                        const struct vbs_run_key *key, int64_t *id) VBS_MUST_CHECK;

/* Inserts layers[1..n_layers] with their inputs and reaches. */
enum vbs_status vbs_rows_insert_layers(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       int n_layers,
                                       const struct vbs_profile_layer *layers) VBS_MUST_CHECK;

/* Inserts a whole profile, which is not complete yet; *id as above (save.c). */
enum vbs_status vbs_rows_insert(struct vbs_ctx *ctx, struct vbs_store *store,
                                const struct vbs_profile *profile, int64_t *id) VBS_MUST_CHECK;

/* Inserts all copies of a profile (copies.c). */
enum vbs_status vbs_rows_insert_copies(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                       const struct vbs_profile *profile) VBS_MUST_CHECK;

/* Writes the calibration of a profile that is not complete, in the place of an earlier one
 * (calibration.c). */
enum vbs_status vbs_rows_write_calibration(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                           int n_layers, const struct vbs_calibration *calibration)
    VBS_MUST_CHECK;

/* Gives whether the profile is complete. VBS_NOT_FOUND. */
enum vbs_status vbs_rows_state(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                               bool *complete) VBS_MUST_CHECK;

/* Gives the content hash of a complete profile, which is computed where its row has none. Part of
 * any transaction. VBS_STORE, with store->rc SQLITE_OK, where the rows make no valid profile. */
enum vbs_status vbs_rows_content(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                 char hash[VBS_PROFILE_HASH_SIZE]) VBS_MUST_CHECK;

/* Gives the id of the profile whose content has this hash; 0: there is none. */
enum vbs_status vbs_rows_find_hash(struct vbs_ctx *ctx, struct vbs_store *store, const char *hash,
                                   int64_t *id) VBS_MUST_CHECK;

/* Marks the profile, whose content has this hash, as complete. It then has no owner and cannot be
 * changed. completed: its place in the order of completion; 0: the last. Where another profile has
 * the hash already, this profile is left without a hash. */
enum vbs_status vbs_rows_complete(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                  const char *hash, const struct vbs_evidence *evidence,
                                  int64_t completed) VBS_MUST_CHECK;

/* Computes the content hash of every complete profile that has none. Profiles that cannot be read,
 * and profiles whose content another profile has already, are left without a hash. */
enum vbs_status vbs_rows_add_hashes(struct vbs_ctx *ctx, struct vbs_store *store) VBS_MUST_CHECK;

/* Reads a profile, and checks it like one that is built. Part of any transaction. VBS_STORE: also
 * where a kernel has no time. */
enum vbs_status vbs_rows_read(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                              struct vbs_profile **profile) VBS_MUST_CHECK;

/* Reads the profile's copies into builder (copies.c). Part of any transaction. VBS_FORMAT: a copy
 * has no time. */
enum vbs_status vbs_rows_read_copies(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                     struct vbs_profile_builder *builder) VBS_MUST_CHECK;

/* Reads the profile's calibration into builder (calibration.c). Part of any transaction.
 * VBS_FORMAT: it cannot be one. */
enum vbs_status vbs_rows_read_calibration(struct vbs_ctx *ctx, struct vbs_store *store, int64_t id,
                                          struct vbs_profile_builder *builder) VBS_MUST_CHECK;

/* Copies the profile's own texts and threads into arena. columns: the index of the first of them in
 * stmt, which selects VBS_ROWS_PROVENANCE. */
enum vbs_status vbs_rows_provenance(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                    sqlite3_stmt *stmt, int column,
                                    struct vbs_provenance *provenance) VBS_MUST_CHECK;

/* Gives the date of measuring in a form that can be compared as text; an unknown date is before all
 * others (names.c). */
const char *vbs_rows_date(const char *date);

/* Checks that a tag can be taken for nothing else: VBS_USAGE (names.c). */
enum vbs_status vbs_rows_check_tag(struct vbs_ctx *ctx, const char *tag) VBS_MUST_CHECK;

#define VBS_ROWS_COMMA(member) #member ", "
#define VBS_ROWS_MARK(member)  "?, "
#define VBS_ROWS_PROVENANCE    VBS_PROVENANCE_TEXTS(VBS_ROWS_COMMA) "threads"

#endif
