/* Describes the library and its processor, as text. */
#include "backend/onednn/kernels/kernels.h"

#include "backend/common/common.h"

#include <stdio.h>
#include <string.h>

static const char *isa_name(dnnl_cpu_isa_t isa)
{
    static const struct {
        dnnl_cpu_isa_t isa;
        const char *name;
    } names[] = {
        {dnnl_cpu_isa_sse41, "sse41"},
        {dnnl_cpu_isa_avx, "avx"},
        {dnnl_cpu_isa_avx2, "avx2"},
        {dnnl_cpu_isa_avx2_vnni, "avx2_vnni"},
        {dnnl_cpu_isa_avx512_mic, "avx512_mic"},
        {dnnl_cpu_isa_avx512_mic_4ops, "avx512_mic_4ops"},
        {dnnl_cpu_isa_avx512_core, "avx512_core"},
        {dnnl_cpu_isa_avx512_core_vnni, "avx512_core_vnni"},
        {dnnl_cpu_isa_avx512_core_bf16, "avx512_core_bf16"},
        {dnnl_cpu_isa_avx512_core_amx, "avx512_core_amx"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (names[i].isa == isa)
            return names[i].name;
    return "generic";
}

void od_describe_library(char *buffer, size_t size)
{
    const dnnl_version_t *v = dnnl_version();
    const char *runtime = v->cpu_runtime == DNNL_RUNTIME_OMP   ? "OpenMP"
                          : v->cpu_runtime == DNNL_RUNTIME_TBB ? "TBB"
                          : v->cpu_runtime == DNNL_RUNTIME_SEQ ? "sequential"
                                                               : "threadpool";

    if (strcmp(v->hash, "N/A") == 0)
        snprintf(buffer, size, "oneDNN %d.%d.%d, %s", v->major, v->minor, v->patch, runtime);
    else
        snprintf(buffer, size, "oneDNN %d.%d.%d (%.12s), %s", v->major, v->minor, v->patch, v->hash,
                 runtime);
}

void od_describe_device(char *buffer, size_t size)
{
    char cpu[160];

    vbs_cpu_describe(cpu, sizeof cpu);
    snprintf(buffer, size, "%s, %s", cpu, isa_name(dnnl_get_effective_cpu_isa()));
}
