#include "coded/layer/layer.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Gives whether there is an instruction that counts the zeros before a number; not all compilers
 * can be asked for it. */
static bool counts_zeros(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx) && (ecx & bit_LZCNT);
}
#endif

const struct vbs_coded_processor *vbs_coded_choose_processor(void)
{
#if defined(__x86_64__)
    if (!counts_zeros())
        return &vbs_coded_plain;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2"))
        return &vbs_coded_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &vbs_coded_avx2;
#endif
    return &vbs_coded_plain;
}
