/* Which process measures a profile, and whether it still runs. Internal to the room. */
#ifndef VBS_STORE_OWNER_H
#define VBS_STORE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define VBS_OWNER_SIZE 160

/* This process, as text. */
void vbs_owner_self(char owner[VBS_OWNER_SIZE]);

/* Whether the process that wrote owner may still run; it last said so touched_s ago. */
bool vbs_owner_is_alive(const char *owner, int64_t touched_s);

#endif
