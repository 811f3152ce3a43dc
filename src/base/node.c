#include "base/node.h"

#include "base/fail.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* Opens a file that every user may lock. It is not made anew where it exists: in a folder for all
 * users the kernel refuses to open another user's file with O_CREAT. */
static int open_for_all(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    if (file >= 0 || errno != ENOENT)
        return file;
    file = open(path, O_RDONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444);
    return file >= 0 || errno != EEXIST ? file : open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

static const char *folder_of_locks(void)
{
    const char *given = getenv("VBSLAB_LOCKS");
    struct stat is;

    if (given && *given)
        return given;
    return stat("/run/lock", &is) == 0 && S_ISDIR(is.st_mode) ? "/run/lock" : "/tmp";
}

enum vbs_status vbs_node_open(struct vbs_ctx *ctx, const char *folder, struct vbs_node_lock *node)
{
    struct vbs_node_lock opened = {.gate = -1, .lock = -1};
    char path[4096];
    int error = 0;

    if (!folder)
        folder = folder_of_locks();
    snprintf(path, sizeof path, "%s/vbslab-gate.lock", folder);
    opened.gate = open_for_all(path);
    if (opened.gate >= 0) {
        snprintf(path, sizeof path, "%s/vbslab-node.lock", folder);
        opened.lock = open_for_all(path);
    }
    if (opened.gate >= 0 && opened.lock >= 0) {
        *node = opened;
        return VBS_OK;
    }
    error = errno;
    if (opened.gate >= 0)
        close(opened.gate);
    *node = (struct vbs_node_lock){.gate = -1, .lock = -1};
    return vbs_fail(ctx, VBS_IO, "cannot open '%s': %s", path, strerror(error));
}

/* Locks without waiting. */
static bool lock_now(int file, int kind)
{
    return flock(file, kind | LOCK_NB) == 0;
}

void vbs_node_release(struct vbs_node_lock *node)
{
    if (node->hold == VBS_NODE_SHARED || node->hold == VBS_NODE_ALONE)
        flock(node->lock, LOCK_UN);
    if (node->hold == VBS_NODE_WANTED || node->hold == VBS_NODE_ALONE)
        flock(node->gate, LOCK_UN);
    node->hold = VBS_NODE_FREE;
}

void vbs_node_close(struct vbs_node_lock *node)
{
    if (node->gate < 0)
        return;
    close(node->gate);
    close(node->lock);
    *node = (struct vbs_node_lock){.gate = -1, .lock = -1};
}

/* Processes that share or look hold the gate for a moment, shared, which hinders only the one that
 * closes it: it tries again. */
bool vbs_node_share(struct vbs_node_lock *node)
{
    bool shared;

    if (node->hold == VBS_NODE_SHARED)
        return true;
    if (node->hold != VBS_NODE_FREE || !lock_now(node->gate, LOCK_SH))
        return false;
    shared = lock_now(node->lock, LOCK_SH);
    flock(node->gate, LOCK_UN);
    if (shared)
        node->hold = VBS_NODE_SHARED;
    return shared;
}

bool vbs_node_is_wanted(const struct vbs_node_lock *node)
{
    if (node->hold == VBS_NODE_WANTED || node->hold == VBS_NODE_ALONE)
        return false;
    if (!lock_now(node->gate, LOCK_SH))
        return true;
    flock(node->gate, LOCK_UN);
    return false;
}

bool vbs_node_take(struct vbs_node_lock *node)
{
    if (node->hold == VBS_NODE_ALONE)
        return true;
    if (node->hold != VBS_NODE_WANTED) {
        /* A share is given back first: two that want the machine would wait for each other's. */
        vbs_node_release(node);
        if (!lock_now(node->gate, LOCK_EX))
            return false;
        node->hold = VBS_NODE_WANTED;
    }
    if (!lock_now(node->lock, LOCK_EX))
        return false;
    node->hold = VBS_NODE_ALONE;
    return true;
}
