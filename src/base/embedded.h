/* Files that tools/embed.sh turned into C at build time. Internal to the library. */
#ifndef VBS_BASE_EMBEDDED_H
#define VBS_BASE_EMBEDDED_H

#include <stddef.h>

/* One file. A list of them ends with a null name. */
struct vbs_embedded {
    const char *name; /* without folder and ending */
    const char *text; /* terminated with a zero that length does not count */
    size_t length;
};

#endif
