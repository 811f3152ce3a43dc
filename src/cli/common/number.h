/* Numbers as people read them: four digits, no exponents; and as they type them. */
#ifndef VBS_CLI_COMMON_NUMBER_H
#define VBS_CLI_COMMON_NUMBER_H

#include "vbslab/status.h"

#include <stddef.h>

/* "812.5 us", "12.07 ms", "2726 s"; 32 bytes suffice. Returns buffer. */
char *cli_format_time(double time_us, char *buffer, size_t size);

/* The same with six digits, for times that are compared: "50.9824 ms". */
char *cli_format_exact_time(double time_us, char *buffer, size_t size);

/* "199.0", "0.3668", "116300"; 32 bytes suffice for what fits in 64 bits. Returns buffer. */
char *cli_format_number(double value, char *buffer, size_t size);

/* "46750.2", "20": six digits without needless zeros, for whoever will type it again, of what is
 * up to 1e18; 32 bytes suffice. Returns buffer. */
char *cli_format_typed(double value, char *buffer, size_t size);

/* The least number of six digits that is not below value, for a bound that can be kept. */
double cli_round_up(double value);

/* A decimal number above 0; what names the option ("--latency-us"), unit what it counts. VBS_USAGE.
 */
enum vbs_status cli_parse_positive(struct vbs_ctx *ctx, const char *what, const char *text,
                                   const char *unit, double *value) VBS_MUST_CHECK;

/* Likewise, or 0. */
enum vbs_status cli_parse_from_0(struct vbs_ctx *ctx, const char *what, const char *text,
                                 const char *unit, double *value) VBS_MUST_CHECK;

#endif
