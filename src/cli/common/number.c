#include "cli/common/number.h"

#include "base/fail.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Gives the decimals that make four digits of value, at most six. */
static int decimals(double value)
{
    int before = value >= 1 ? (int)floor(log10(value)) + 1 : 1;

    while (value > 0 && value < 1 && before > -3) {
        value *= 10;
        before--;
    }
    return before >= 4 ? 0 : 4 - before > 6 ? 6 : 4 - before;
}

char *cli_format_number(double value, char *buffer, size_t size)
{
    snprintf(buffer, size, "%.*f", value > 0 ? decimals(value) : 0, value);
    return buffer;
}

/* Gives the unit of a time, and the time in it. */
static const char *unit_of(double time_us, double *value)
{
    *value = time_us < 1e3 ? time_us : time_us < 1e7 ? time_us / 1e3 : time_us / 1e6;
    return time_us < 1e3 ? " us" : time_us < 1e7 ? " ms" : " s";
}

char *cli_format_time(double time_us, char *buffer, size_t size)
{
    double value;
    const char *unit = unit_of(time_us, &value);

    cli_format_number(value, buffer, size);
    strncat(buffer, unit, size - strlen(buffer) - 1);
    return buffer;
}

#define DIGITS        6 /* of numbers that are typed or compared */
#define MOST_DECIMALS 12

/* Gives the digits of value before the point; 0 or less where it is below 1: zeros behind the
 * point. */
static int digits_before(double value)
{
    return value > 0 ? (int)floor(log10(value)) + 1 : 1;
}

char *cli_format_typed(double value, char *buffer, size_t size)
{
    int after = DIGITS - digits_before(value);
    size_t length;

    if (after > MOST_DECIMALS)
        snprintf(buffer, size, "%.6g", value);
    else
        snprintf(buffer, size, "%.*f", after > 0 ? after : 0, value);
    length = strlen(buffer);
    if (after <= 0 || after > MOST_DECIMALS)
        return buffer;
    while (length > 0 && buffer[length - 1] == '0')
        buffer[--length] = '\0';
    if (length > 0 && buffer[length - 1] == '.')
        buffer[length - 1] = '\0';
    return buffer;
}

int cli_time_decimals(double time_us)
{
    char text[32];
    double value;
    const char *point;

    unit_of(time_us, &value);
    point = strchr(cli_format_typed(value, text, sizeof text), '.');
    return point ? (int)strlen(point + 1) : 0;
}

char *cli_format_time_with(double time_us, int decimals, char *buffer, size_t size)
{
    double value;
    const char *unit = unit_of(time_us, &value);
    int most = DIGITS - digits_before(value);

    most = most > MOST_DECIMALS ? MOST_DECIMALS : most < 0 ? 0 : most;
    snprintf(buffer, size, "%.*f%s", decimals < most ? decimals : most, value, unit);
    return buffer;
}

char *cli_format_exact_time(double time_us, char *buffer, size_t size)
{
    double value;
    const char *unit = unit_of(time_us, &value);

    cli_format_typed(value, buffer, size);
    strncat(buffer, unit, size - strlen(buffer) - 1);
    return buffer;
}

/* A sum of times may exceed its exact value in its last bits. */
double cli_round_up(double value)
{
    double unit = value > 0 ? pow(10, floor(log10(value)) - 5) : 1;

    return unit * ceil(value / unit * (1 - 1e-12));
}

/* Accepts only decimal forms: strtod alone would accept hexadecimal numbers, "inf" and leading
 * blanks too. */
static bool read_number(const char *text, double *value)
{
    char *end;

    *value = strtod(text, &end);
    return text[0] != '\0' && text[strspn(text, "0123456789.eE+-")] == '\0' && *end == '\0' &&
           isfinite(*value);
}

enum vbs_status cli_parse_positive(struct vbs_ctx *ctx, const char *what, const char *text,
                                   const char *unit, double *value)
{
    double parsed;

    if (!read_number(text, &parsed) || !(parsed > 0))
        return vbs_fail(ctx, VBS_USAGE, "%s '%.40s' is not a number of %s above 0", what, text,
                        unit);
    *value = parsed;
    return VBS_OK;
}

enum vbs_status cli_parse_from_0(struct vbs_ctx *ctx, const char *what, const char *text,
                                 const char *unit, double *value)
{
    double parsed;

    if (!read_number(text, &parsed) || !(parsed >= 0))
        return vbs_fail(ctx, VBS_USAGE, "%s '%.40s' is not a number%s%s from 0 on", what, text,
                        unit[0] ? " of " : "", unit);
    *value = parsed + 0.0; /* no -0 */
    return VBS_OK;
}
