/* Numbers as people read them: four digits, no exponents. */
#ifndef VBS_CLI_NUMBER_H
#define VBS_CLI_NUMBER_H

#include <stddef.h>

/* "812.5 us", "12.07 ms", "2726 s"; 32 bytes suffice. Returns buffer. */
char *cli_format_time(double time_us, char *buffer, size_t size);

/* "199.0", "0.3668", "116300"; 32 bytes suffice for what fits in 64 bits. Returns buffer. */
char *cli_format_number(double value, char *buffer, size_t size);

#endif
