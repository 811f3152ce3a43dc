/* The clock that never goes back, and the date. Internal to the library. */
#ifndef VBS_BASE_CLOCK_H
#define VBS_BASE_CLOCK_H

/* Gives the seconds since a fixed moment, which is not the same in every process. */
double vbs_clock_s(void);
/* Gives the seconds of processor time that the calling thread has used: it stands still while other
 * programs have the processor. */
double vbs_thread_s(void);

/* Estimates the seconds that are left of work whose parts take about the same time each. share: the
 * part that is done, 0..1; reached_s: the seconds from the begin until this share was reached;
 * elapsed_s: the seconds from the begin until now. Below 0: unknown, because less than a fiftieth
 * is done, or because the rest has already taken longer than expected. */
double vbs_left_s(double share, double reached_s, double elapsed_s);

#define VBS_DATE_SIZE sizeof "2000-01-01T00:00:00Z"

/* Writes the date and the time of day, UTC, as ISO 8601; empty when there is none. */
void vbs_date_now(char date[VBS_DATE_SIZE]);

#endif
