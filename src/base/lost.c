#include "base/lost.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Reads the time for which a thread has waited for a processor, the second number of schedstat. */
static bool read_waited_ns(const char *proc, const char *thread, int64_t *waited_ns)
{
    char path[400];
    uint64_t ran, waited;
    bool known;
    FILE *file;

    if (snprintf(path, sizeof path, "%s/self/task/%s/schedstat", proc, thread) >= (int)sizeof path)
        return false;
    file = fopen(path, "re");
    if (!file)
        return false;
    known = fscanf(file, "%" SCNu64 " %" SCNu64, &ran, &waited) == 2;
    fclose(file);
    if (known)
        *waited_ns = (int64_t)(waited & INT64_MAX);
    return known;
}

/* Adds up the waiting of all threads. */
static bool read_waited(const char *proc, int64_t *waited_us)
{
    char path[300];
    int64_t sum_ns = 0;
    bool any = false;
    DIR *folder;

    snprintf(path, sizeof path, "%s/self/task", proc);
    folder = opendir(path);
    if (!folder)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int64_t one_ns;

        if (entry->d_name[0] == '.' || !read_waited_ns(proc, entry->d_name, &one_ns))
            continue; /* the thread may have ended */
        sum_ns += one_ns;
        any = true;
    }
    closedir(folder);
    *waited_us = sum_ns / 1000;
    return any;
}

/* Reads the eighth number of the line "cpu" of stat: ticks in which a virtual processor was ready
 * and the host ran others. */
static bool read_stolen(const char *proc, int64_t *stolen_us)
{
    char path[300];
    uint64_t ticks;
    long per_second = sysconf(_SC_CLK_TCK);
    bool known;
    FILE *file;

    snprintf(path, sizeof path, "%s/stat", proc);
    file = fopen(path, "re");
    if (!file)
        return false;
    known = fscanf(file, "cpu %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &ticks) == 1 && per_second > 0;
    fclose(file);
    if (known)
        *stolen_us = (int64_t)(ticks & (INT64_MAX >> 20)) * (1000000 / per_second);
    return known;
}

bool vbs_lost_read(const char *proc, struct vbs_lost *lost)
{
    memset(lost, 0, sizeof *lost);
    if (read_waited(proc, &lost->waited_us) && read_stolen(proc, &lost->stolen_us))
        return true;
    memset(lost, 0, sizeof *lost);
    return false;
}

static int64_t difference(int64_t before, int64_t after)
{
    return after > before ? after - before : 0;
}

struct vbs_lost vbs_lost_between(const struct vbs_lost *before, const struct vbs_lost *after)
{
    return (struct vbs_lost){.waited_us = difference(before->waited_us, after->waited_us),
                             .stolen_us = difference(before->stolen_us, after->stolen_us)};
}
