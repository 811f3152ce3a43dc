/* Reading TOML 1.0 files as JSON values. Internal to the library and the program. */
#ifndef VBS_BASE_TOML_H
#define VBS_BASE_TOML_H

#include "vbslab/status.h"

#include <jansson.h>

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define VBS_TOML_MAX_BYTES ((size_t)1 << 20) /* of a file */
#define VBS_TOML_MAX_DEPTH 16 /* values inside values, and names in a key with dots */

/*
 * Reads a file of at most VBS_TOML_MAX_BYTES ("-" is standard input) as a JSON object, which the
 * caller frees with json_decref. Its members are in the order of the file. Dates and times, numbers
 * that are not finite and texts with a zero byte are refused, because JSON has none of them. The
 * detail of a failure begins with the file, the line and the column: "FILE:LINE:COLUMN: why".
 * VBS_IO, VBS_FORMAT, VBS_NO_MEMORY. Complexity: O(n log n) for n bytes.
 */
enum vbs_status vbs_toml_read(struct vbs_ctx *ctx, const char *path, json_t **root) VBS_MUST_CHECK;

/* Does the same with length bytes of text. source: the name of the text in messages. */
enum vbs_status vbs_toml_parse(struct vbs_ctx *ctx, const char *source, const char *text,
                               size_t length, json_t **root) VBS_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
