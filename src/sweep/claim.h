/*
 * Claims of tasks: which process runs one. Internal to the room.
 *
 * A claim is a file RESULTS/claims/NAME.GENERATION that is made with O_EXCL, of which one process
 * succeeds. It holds a count that the owner raises while it lives, its host, and its process
 * (base/owner.h). A claim whose owner is gone is not removed, because two processes that found it
 * at once could then remove each other's new ones; the next generation is made beside it, of which
 * again one process succeeds. The owner of the last generation removes all when the task has ended.
 *
 * An owner on this machine is looked for among its processes, and is passed over at once where it
 * is not there. Any other one, here or elsewhere, is passed over when its count stands still for
 * the sweep's patience while it is watched, by the clock of the one that watches: clocks of
 * machines need not agree. An owner that was only stopped so long finds, when it goes on, the next
 * generation, or that its own claim is gone, and gives up its task.
 */
#ifndef VBS_SWEEP_CLAIM_H
#define VBS_SWEEP_CLAIM_H

#include "sweep/description.h"

#include "base/owner.h"

struct vbs_claim {
    int file; /* -1: none */
    int generation;
    uint64_t name, count;
    double beaten_s; /* when the count was raised */
    /* The process that the claim passed over although it may run, and its host; 0: there is none,
     * or it is not known. */
    int passed;
    char passed_host[VBS_OWNER_HOST_SIZE];
};

/* What is remembered of a claim between two looks at it; begins as {0}. */
struct vbs_claim_watch {
    int generation;
    uint64_t count;
    double still_s;  /* for which this count stood still while it was watched */
    double looked_s; /* at the last look */
};

/* Tries to claim a task; claim->file is -1 where another process has it. VBS_IO. */
enum vbs_status vbs_claim_take(struct vbs_ctx *ctx, const struct vbs_sweep *sweep, uint64_t name,
                               struct vbs_claim_watch *watch,
                               struct vbs_claim *claim) VBS_MUST_CHECK;

/* Raises the count where that is due. Gives false where another process has taken the task over. */
bool vbs_claim_beat(const struct vbs_sweep *sweep, struct vbs_claim *claim);

/* Gives whether another process has taken the task over. */
bool vbs_claim_is_lost(const struct vbs_sweep *sweep, const struct vbs_claim *claim);

/* Gives the task back, or says that it has ended. */
void vbs_claim_release(const struct vbs_sweep *sweep, struct vbs_claim *claim);

/* Gives whether a task is claimed by a process that is not known to be gone. */
bool vbs_claim_is_held(const struct vbs_sweep *sweep, uint64_t name);

#endif
