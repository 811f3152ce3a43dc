#include "cli/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Decimals that make four digits of value, at most six. */
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

char *cli_format_time(double time_us, char *buffer, size_t size)
{
    const char *unit = time_us < 1e3 ? " us" : time_us < 1e7 ? " ms" : " s";
    double value = time_us < 1e3 ? time_us : time_us < 1e7 ? time_us / 1e3 : time_us / 1e6;

    cli_format_number(value, buffer, size);
    strncat(buffer, unit, size - strlen(buffer) - 1);
    return buffer;
}
