/* Which process owns a piece of work that others can see, such as a profile that is measured, and
 * whether it still runs. Internal to the library. */
#ifndef VBS_BASE_OWNER_H
#define VBS_BASE_OWNER_H

#include <stdbool.h>
#include <stdint.h>

#define VBS_OWNER_SIZE      192
#define VBS_OWNER_HOST_SIZE 65 /* of the name of a machine */

/* Writes the owner that stands for this process. */
void vbs_owner_self(char owner[VBS_OWNER_SIZE]);

/* Gives whether the process that wrote owner may still run. touched_s: the seconds since it last
 * stored something. */
bool vbs_owner_is_alive(const char *owner, int64_t touched_s);

/* Returns whether the process that wrote owner may still run, and on another machine, whose name it
 * writes into host: another boot, and another name. Containers of one machine share the boot. */
bool vbs_owner_is_elsewhere(const char *owner, int64_t touched_s, char host[VBS_OWNER_HOST_SIZE]);

/* Returns the id of the process that wrote owner, where it runs; 0: the text names no owner. */
int vbs_owner_process(const char *owner);

/* What can be seen of an owner from here. Unseen: it belongs to another machine, boot or container,
 * or the text names no owner. */
enum vbs_owner_state { VBS_OWNER_RUNS, VBS_OWNER_GONE, VBS_OWNER_UNSEEN };

/* Gives the state of the process that wrote owner, where other machines may have written it, too.
 */
enum vbs_owner_state vbs_owner_look(const char *owner);

#endif
