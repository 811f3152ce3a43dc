/* Numbers as people read them: four digits, no exponents; and as they type them. */
#ifndef VBS_CLI_COMMON_NUMBER_H
#define VBS_CLI_COMMON_NUMBER_H

#include "vbslab/status.h"

#include <stddef.h>

/* Writes "812.5 us", "12.07 ms", "2726 s"; 32 bytes suffice. Returns buffer. */
char *cli_format_time(double time_us, char *buffer, size_t size);

/* Writes a time with six digits, for times that are compared: "50.9824 ms". */
char *cli_format_exact_time(double time_us, char *buffer, size_t size);

/* Gives the digits behind the point that cli_format_exact_time needs for a time: 2 for
 * "50.36 ms". */
int cli_time_decimals(double time_us);

/* Writes a time with this number of digits behind the point, zeros too, but with six digits at
 * most, for a column of times that are compared: "50.3580 ms" above "50.3617 ms". */
char *cli_format_time_with(double time_us, int digits, char *buffer, size_t size);

/* Writes "199.0", "0.3668", "116300"; 32 bytes suffice for numbers of 64 bits. Returns buffer. */
char *cli_format_number(double value, char *buffer, size_t size);

/* Writes "46750.2", "20": six digits without needless zeros, for a number up to 1e18 that will be
 * typed again; 32 bytes suffice. Returns buffer. */
char *cli_format_typed(double value, char *buffer, size_t size);

/* Gives the least number of six digits that is not below value, for a bound that can be kept. */
double cli_round_up(double value);

/* Reads a decimal number above 0; what names the option ("--latency-us"), unit its unit.
 * VBS_USAGE. */
enum vbs_status cli_parse_positive(struct vbs_ctx *ctx, const char *what, const char *text,
                                   const char *unit, double *value) VBS_MUST_CHECK;

/* Reads a decimal number of 0 or more. */
enum vbs_status cli_parse_from_0(struct vbs_ctx *ctx, const char *what, const char *text,
                                 const char *unit, double *value) VBS_MUST_CHECK;

#endif
