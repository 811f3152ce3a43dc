/*
 * One process at a time may have a machine to itself, in order to measure times: a lock between all
 * processes of the program on one machine. Whoever computes shares the machine; whoever measures
 * waits until nobody shares it. Internal to the library and the program.
 *
 * Two files in the machine's folder for locks are locked with flock, so that the system releases
 * whatever a process held when it ends, however it ends. The first file, the gate, is held by the
 * process that wants to be alone or is; nobody begins to share behind a closed gate. A process that
 * shares looks at the gate from time to time (vbs_node_is_wanted), stops its work, and gives its
 * share back. Containers that do not share that folder do not see each other.
 */
#ifndef VBS_BASE_NODE_H
#define VBS_BASE_NODE_H

#include "vbslab/status.h"

#include <stdbool.h>

enum vbs_node_hold { VBS_NODE_FREE, VBS_NODE_SHARED, VBS_NODE_WANTED, VBS_NODE_ALONE };

/* A process's hold of the machine. Threads: one per thread. */
struct vbs_node_lock {
    int gate, lock; /* descriptors */
    enum vbs_node_hold hold;
};

/* Opens the lock; folder null: $VBSLAB_LOCKS, else /run/lock or, where it is missing, /tmp.
 * VBS_IO. */
enum vbs_status vbs_node_open(struct vbs_ctx *ctx, const char *folder,
                              struct vbs_node_lock *node) VBS_MUST_CHECK;

/* Releases what is held. Allowed after a failed open. */
void vbs_node_close(struct vbs_node_lock *node);

/* Begins to share the machine. False: another process has it or wants it; nothing has changed. */
bool vbs_node_share(struct vbs_node_lock *node);

/* Gives whether another process wants the machine that this one shares. */
bool vbs_node_is_wanted(const struct vbs_node_lock *node);

/* Gives back what is held. */
void vbs_node_release(struct vbs_node_lock *node);

/* Tries to get the machine alone; a share is given back. While it returns false it is to be called
 * again from time to time. Once the gate is closed for others, the hold is VBS_NODE_WANTED, which
 * vbs_node_release ends. */
bool vbs_node_take(struct vbs_node_lock *node);

#endif
