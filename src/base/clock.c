#include "base/clock.h"

#include <time.h>

double vbs_clock_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void vbs_date_now(char date[VBS_DATE_SIZE])
{
    time_t seconds = time(NULL);
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(date, VBS_DATE_SIZE, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        date[0] = '\0';
}
