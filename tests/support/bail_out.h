/* Ends a test program that cannot go on, with one line of TAP that tells why. */
#ifndef TESTS_BAIL_OUT_H
#define TESTS_BAIL_OUT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

__attribute__((format(printf, 1, 2))) static inline _Noreturn void bail_out(const char *why, ...)
{
    va_list args;

    printf("Bail out! ");
    va_start(args, why);
    vprintf(why, args);
    va_end(args);
    printf("\n");
    exit(1);
}

#endif
