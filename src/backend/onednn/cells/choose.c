/* Asks the processor what it can do. */
#include "backend/onednn/cells/cells.h"

const struct od_cell_loops *od_cells(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &od_cells_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &od_cells_avx2;
#endif
    return &od_cells_plain;
}
