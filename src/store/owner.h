/* Which process measures a profile, and whether it still runs. Internal to the room. */
#ifndef VBS_STORE_OWNER_H
#define VBS_STORE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define VBS_OWNER_SIZE 160

/* Writes the owner that stands for this process. */
void vbs_owner_self(char owner[VBS_OWNER_SIZE]);

/* Gives whether the process that wrote owner may still run. touched_s: the seconds since it last
 * stored something. */
bool vbs_owner_is_alive(const char *owner, int64_t touched_s);

#endif
