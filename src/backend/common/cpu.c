#include "backend/common/common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

/* Reads the first value of a key ("model name") in /proc/cpuinfo; empty when there is none. */
static void cpuinfo(const char *key, char *value, size_t size)
{
    FILE *file = fopen("/proc/cpuinfo", "re");
    char line[512];

    value[0] = '\0';
    while (file && fgets(line, sizeof line, file)) {
        char *colon = strchr(line, ':');
        size_t length = strcspn(line, "\t:");

        if (!colon || length != strlen(key) || strncmp(line, key, length) != 0)
            continue;
        colon += 1 + strspn(colon + 1, " \t");
        colon[strcspn(colon, "\n")] = '\0';
        snprintf(value, size, "%s", colon);
        break;
    }
    if (file)
        fclose(file);
}

void vbs_cpu_describe(char *buffer, size_t size)
{
    char name[100], family[12], model[12], stepping[12];
    struct utsname system;

    cpuinfo("model name", name, sizeof name);
    cpuinfo("cpu family", family, sizeof family);
    cpuinfo("model", model, sizeof model);
    cpuinfo("stepping", stepping, sizeof stepping);
    if (name[0] && family[0])
        snprintf(buffer, size, "%s, family %s model %s stepping %s", name, family, model, stepping);
    else if (name[0])
        snprintf(buffer, size, "%s", name);
    else
        snprintf(buffer, size, "%s", uname(&system) == 0 ? system.machine : "unknown processor");
}

double vbs_cpu_clock_mhz(void)
{
    char text[32];

    cpuinfo("cpu MHz", text, sizeof text);
    return strtod(text, NULL);
}
