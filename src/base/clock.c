#include "base/clock.h"

#include <time.h>

static double read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double vbs_clock_s(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double vbs_thread_s(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

void vbs_date_now(char date[VBS_DATE_SIZE])
{
    time_t seconds = time(NULL);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(date, VBS_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        date[0] = '\0';
}
