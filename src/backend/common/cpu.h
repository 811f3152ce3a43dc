/* What the machine says about its processor. Internal to the room. */
#ifndef VBS_BACKEND_COMMON_CPU_H
#define VBS_BACKEND_COMMON_CPU_H

#include <stddef.h>

/* Model, family and stepping as far as they are known, never empty: the same at every call on a
 * machine. */
void vbs_cpu_describe(char *buffer, size_t size);

/* The clock at this moment in MHz, 0 when unknown. */
double vbs_cpu_clock_mhz(void);

#endif
