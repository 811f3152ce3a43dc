/* Asks the processor what it can do. */
#include "backend/onednn/winograd/winograd.h"

const struct od_winograd_loops *od_winograd(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &od_winograd_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &od_winograd_avx2;
#endif
    return &od_winograd_plain;
}
