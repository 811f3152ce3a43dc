/* Sorting many floats. Internal to the room. */
#ifndef VBS_CODED_SORT_H
#define VBS_CODED_SORT_H

#include <stdint.h>

/* Sorts values[0..n-1], none of which is NaN, ascending, -0 before 0; room: for as many. O(n), by
 * the digits of 11 bits of their bits. */
void vbs_sort_floats(float *values, int64_t n, float *room);

#endif
