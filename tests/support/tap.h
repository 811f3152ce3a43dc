/*
 * A TAP producer for C: each check is one line that prove reads. A program may print its checks
 * without a plan and ends with "return done_testing();".
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include "base/ctx.h"
#include "support/bail_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct tap_counts {
    int run, failed;
};

static inline struct tap_counts *tap_counts(void)
{
    static struct tap_counts counts;
    return &counts;
}

__attribute__((format(printf, 4, 5))) static inline int tap_check(int passed, const char *file,
                                                                  int line, const char *name, ...)
{
    struct tap_counts *counts = tap_counts();
    va_list args;

    counts->run++;
    printf("%sok %d - ", passed ? "" : "not ", counts->run);
    va_start(args, name);
    vprintf(name, args);
    va_end(args);
    printf("\n");
    if (!passed) {
        counts->failed++;
        printf("# failed at %s:%d\n", file, line);
    }
    fflush(stdout);
    return passed;
}

static inline int tap_is_int(int64_t got, int64_t want, const char *file, int line,
                             const char *name)
{
    int passed = tap_check(got == want, file, line, "%s", name);
    if (!passed)
        printf("#  got %" PRId64 "\n# want %" PRId64 "\n", got, want);
    return passed;
}

static inline int tap_is_str(const char *got, const char *want, const char *file, int line,
                             const char *name)
{
    int passed = tap_check(got && want && strcmp(got, want) == 0, file, line, "%s", name);
    if (!passed)
        printf("#  got %s\n# want %s\n", got ? got : "(null)", want ? want : "(null)");
    return passed;
}

static inline int tap_is_near(double got, double want, double tolerance, const char *file, int line,
                              const char *name)
{
    int passed = tap_check(fabs(got - want) <= tolerance, file, line, "%s", name);
    if (!passed)
        printf("#  got %.17g\n# want %.17g (+- %g)\n", got, want, tolerance);
    return passed;
}

#define ok(condition, ...)      tap_check(!!(condition), __FILE__, __LINE__, __VA_ARGS__)
#define is_int(got, want, name) tap_is_int((got), (want), __FILE__, __LINE__, (name))
#define is_str(got, want, name) tap_is_str((got), (want), __FILE__, __LINE__, (name))
#define is_near(got, want, tolerance, name)                                                        \
    tap_is_near((got), (want), (tolerance), __FILE__, __LINE__, (name))

/* Reports a check that is skipped, with the reason. */
static inline void skip(const char *name, const char *why)
{
    printf("ok %d - %s # SKIP %s\n", ++tap_counts()->run, name, why);
}

/* Prints the plan line; gives the exit code of the program. */
static inline int done_testing(void)
{
    printf("1..%d\n", tap_counts()->run);
    return tap_counts()->failed ? 1 : 0;
}

#endif
