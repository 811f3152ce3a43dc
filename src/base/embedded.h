/* Files that tools/embed.sh turned into C at build time. Internal to the library. */
#ifndef VBS_BASE_EMBEDDED_H
#define VBS_BASE_EMBEDDED_H

#include <stddef.h>

/* A file. A list of files ends with a null name. */
struct vbs_embedded {
    const char *name; /* the name of the file, without its folder and ending */
    const char *text; /* terminated with a zero that length does not count */
    size_t length;
};

#endif
