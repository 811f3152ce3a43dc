/* The clock that never goes back. Internal to the library. */
#ifndef VBS_BASE_CLOCK_H
#define VBS_BASE_CLOCK_H

/* Seconds since some moment. */
double vbs_clock_s(void);

#endif
