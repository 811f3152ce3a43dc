#include "base/lost.h"

#include "base/background.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Opens a file of a thread of this process; null where there is none. */
static FILE *open_of_thread(const char *proc, const char *thread, const char *name)
{
    char path[400];

    if (snprintf(path, sizeof path, "%s/self/task/%s/%s", proc, thread, name) >= (int)sizeof path)
        return NULL;
    return fopen(path, "re");
}

/* Gives whether a thread copies while others compute. */
static bool is_background(const char *proc, const char *thread)
{
    char name[sizeof VBS_BACKGROUND_NAME + 1] = "";
    FILE *file = open_of_thread(proc, thread, "comm");

    if (!file)
        return false;
    if (!fgets(name, sizeof name, file))
        name[0] = '\0';
    fclose(file);
    name[strcspn(name, "\n")] = '\0';
    return strcmp(name, VBS_BACKGROUND_NAME) == 0;
}

/* Reads the times for which a thread has run and has waited for a processor: the first two numbers
 * of schedstat. */
static bool read_times(const char *proc, const char *thread, uint64_t *ran_ns, uint64_t *waited_ns)
{
    FILE *file = open_of_thread(proc, thread, "schedstat");
    bool known;

    if (!file)
        return false;
    known = fscanf(file, "%" SCNu64 " %" SCNu64, ran_ns, waited_ns) == 2;
    fclose(file);
    return known;
}

/* Adds up what all threads waited or ran. */
static bool read_threads(const char *proc, struct vbs_lost *lost)
{
    char path[300];
    uint64_t waited_ns = 0, copied_ns = 0;
    bool any = false;
    DIR *folder;

    snprintf(path, sizeof path, "%s/self/task", proc);
    folder = opendir(path);
    if (!folder)
        return false;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        uint64_t one_ran_ns, one_waited_ns;

        if (entry->d_name[0] == '.' ||
            !read_times(proc, entry->d_name, &one_ran_ns, &one_waited_ns))
            continue; /* the thread may have ended */
        if (is_background(proc, entry->d_name))
            copied_ns += one_ran_ns;
        else
            waited_ns += one_waited_ns;
        any = true;
    }
    closedir(folder);
    lost->waited_us = (int64_t)(waited_ns / 1000);
    lost->copied_us = (int64_t)(copied_ns / 1000);
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
    if (read_threads(proc, lost) && read_stolen(proc, &lost->stolen_us))
        return true;
    memset(lost, 0, sizeof *lost);
    return false;
}

static int64_t difference(int64_t before, int64_t after)
{
    return after > before ? after - before : 0;
}

int64_t vbs_lost_between(const struct vbs_lost *before, const struct vbs_lost *after)
{
    return difference(difference(before->copied_us, after->copied_us),
                      difference(before->waited_us, after->waited_us)) +
           difference(before->stolen_us, after->stolen_us);
}
