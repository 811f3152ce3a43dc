/* What the CSV reader and writer share. Internal to the room. */
#ifndef VBS_PROFILE_CSV_H
#define VBS_PROFILE_CSV_H

#define CSV_MAX_BYTES ((size_t)256 << 20) /* a larger file is refused */

/* X(column): first those of INTERFACE.md, in its order, then those of measured profiles. */
#define CSV_COLUMNS(X)                                                                             \
    X(layer)                                                                                       \
    X(name)                                                                                        \
    X(kind)                                                                                        \
    X(inputs)                                                                                      \
    X(batch)                                                                                       \
    X(algorithm)                                                                                   \
    X(time_us)                                                                                     \
    X(in_bytes)                                                                                    \
    X(out_bytes)                                                                                   \
    X(ws_bytes)                                                                                    \
    X(weight_bytes)                                                                                \
    X(in_place)                                                                                    \
    X(mad_us)                                                                                      \
    X(low_us)                                                                                      \
    X(high_us)                                                                                     \
    X(n_runs)

#define CSV_COLUMN_ENUM(column) CSV_##column,
enum csv_column { CSV_COLUMNS(CSV_COLUMN_ENUM) CSV_N_COLUMNS };
#undef CSV_COLUMN_ENUM

#define CSV_FIRST_MEASURED CSV_mad_us

extern const char *const vbs_csv_columns[CSV_N_COLUMNS]; /* their names; in csv_write.c */

#endif
