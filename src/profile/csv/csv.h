/* Declarations that the CSV reader and writer share. Internal to the room. */
#ifndef VBS_PROFILE_CSV_CSV_H
#define VBS_PROFILE_CSV_CSV_H

#include "profile/builder.h"

#include <locale.h>

#define CSV_MAX_BYTES ((size_t)256 << 20) /* a larger file is refused */

/* X(column): the required columns first, in the order of docs/formats.md, then those of measured
 * profiles, then those of profiles with packed weight formats, then those of profiles whose layers
 * can be divided, and those of profiles with rows of samples. */
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
    X(n_runs)                                                                                      \
    X(channels)                                                                                    \
    X(packed_bytes)                                                                                \
    X(form)                                                                                        \
    X(parts)                                                                                       \
    X(out_rows)                                                                                    \
    X(reach)                                                                                       \
    X(rows)

#define CSV_COLUMN_ENUM(column) CSV_##column,
enum csv_column { CSV_COLUMNS(CSV_COLUMN_ENUM) CSV_N_COLUMNS };
#undef CSV_COLUMN_ENUM

#define CSV_FIRST_MEASURED CSV_mad_us
#define CSV_FIRST_PACKED   CSV_channels
#define CSV_FIRST_DIVIDED  CSV_parts
#define CSV_FIRST_ROWS     CSV_out_rows

#define CSV_INPUT_ROWS "input-rows" /* the key of the rows of the network's input */
#define CSV_BESIDE     "beside"     /* of the factors beside copies */
#define CSV_SPEED      "speed"      /* of the machine's speed */
#define CSV_WHOLE      "all"        /* the reach of an input that is read whole */

extern const char *const vbs_csv_columns[CSV_N_COLUMNS]; /* names of the columns (write.c) */

/* ---- scan.c: numbers and quoted texts; what is wrong is said with the builder's line ---- */

/* The place of a text that is scanned: the builder that gets messages, and a locale for numbers. */
struct csv_scan {
    struct vbs_ctx *ctx;
    struct vbs_profile_builder *builder;
    locale_t locale; /* the locale "C" */
};

/* Reads digits at *text, and moves *text behind them; false on overflow or without any digits. */
bool vbs_csv_digits(const char **text, int64_t *value);

/* Reads all of text as a whole number within [low, high]; name is used in messages. */
enum vbs_status vbs_csv_whole(const struct csv_scan *scan, const char *name, const char *text,
                              int64_t low, int64_t high, int64_t *value) VBS_MUST_CHECK;

/* Reads a list of n reaches, such as "1/1:-1:1;all". VBS_FORMAT: it is none, or of another number.
 */
enum vbs_status vbs_csv_reaches(const struct csv_scan *scan, const char *text, int n,
                                struct vbs_reach *reaches) VBS_MUST_CHECK;

/* Reads all of text as a decimal number. */
enum vbs_status vbs_csv_time(const struct csv_scan *scan, const char *name, const char *text,
                             double *value) VBS_MUST_CHECK;

/* Undoes, in place, the escapes that the writer puts into values in quotes: text is behind the
 * opening quote. Returns the text behind the closing quote, or null when the text is malformed. */
char *vbs_csv_unquote(char *text);

/* Adds the copy that a line "# copy: VALUE" describes. Changes value. */
enum vbs_status vbs_csv_copy(const struct csv_scan *scan, char *value) VBS_MUST_CHECK;

/* Do the same for lines with the factors beside copies, and with the machine's speed. */
enum vbs_status vbs_csv_beside(const struct csv_scan *scan, char *value) VBS_MUST_CHECK;
enum vbs_status vbs_csv_speed(const struct csv_scan *scan, char *value) VBS_MUST_CHECK;

#endif
