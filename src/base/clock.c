#include "base/clock.h"

#include <time.h>

#define LEAST_SHARE 0.02 /* of work, from which the rest is estimated */

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

double vbs_left_s(double share, double reached_s, double elapsed_s)
{
    double left_s;

    if (!(share >= LEAST_SHARE))
        return -1;
    left_s = reached_s * (1 - share) / share - (elapsed_s - reached_s);
    return left_s >= 0 ? left_s : -1;
}

void vbs_date_now(char date[VBS_DATE_SIZE])
{
    time_t seconds = time(NULL);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(date, VBS_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        date[0] = '\0';
}
