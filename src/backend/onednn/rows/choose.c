/* Asks the processor what it can do. */
#include "backend/onednn/rows/rows.h"

const struct od_row_loops *od_rows(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vbmi"))
        return &od_rows_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &od_rows_avx2;
#endif
    return &od_rows_plain;
}
