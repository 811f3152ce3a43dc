/* The clock that never goes back, and the date. Internal to the library. */
#ifndef VBS_BASE_CLOCK_H
#define VBS_BASE_CLOCK_H

/* Gives the seconds since a fixed moment, which is not the same in every process. */
double vbs_clock_s(void);
/* Gives the seconds of processor time that the calling thread has used: it stands still while other
 * programs have the processor. */
double vbs_thread_s(void);

#define VBS_DATE_SIZE sizeof "2000-01-01T00:00:00Z"

/* Writes the date and the time of day, UTC, as ISO 8601; empty when there is none. */
void vbs_date_now(char date[VBS_DATE_SIZE]);

#endif
