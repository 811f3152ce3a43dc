/* The memory of the process. */
#include "cli/run/run.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

int64_t run_process_bytes(const char *key)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    long long kib, found = -1;

    while (file && found < 0 && fgets(line, sizeof line, file))
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), ":%lld kB", &kib) == 1)
            found = kib * 1024;
    if (file)
        fclose(file);
    return found;
}

void run_keep_peak(struct run_job *job)
{
    int64_t bytes = run_process_bytes("VmHWM");

    if (bytes > job->peak_bytes)
        job->peak_bytes = bytes;
}

int64_t run_first_budget(const struct run_job *job)
{
    const char *where = cli_value(job->cli, job->values, "weights");
    int64_t base_bytes, left_bytes;

    malloc_trim(0);
    base_bytes = run_process_bytes("VmRSS");
    if (!where || strcmp(where, "included") != 0)
        base_bytes += vbs_least_weight_bytes(job->profile);
    left_bytes = job->limit_bytes - base_bytes;
    return left_bytes > 0 ? left_bytes : 0;
}
