#include "coded/layer/layer.h"

const struct vbs_coded_processor *vbs_coded_choose_processor(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("bmi2"))
        return &vbs_coded_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &vbs_coded_avx2;
#endif
    return &vbs_coded_plain;
}
