/*
 * The speed of the last-level cache while schedules run, beside the one that a profile was measured
 * with. Other guests of a host use the cache, too, and the host moves the processors of a virtual
 * machine to places that have one in common, or have none: schedules then take up to one and a half
 * times as long, and no clock of the system shows it. A time in another state of the machine says
 * nothing of a prediction. Internal to the library and its program.
 */
#ifndef VBS_EXEC_CACHE_WATCH_H
#define VBS_EXEC_CACHE_WATCH_H

#include "vbslab/measure.h"

enum vbs_cache_state {
    VBS_CACHE_USUAL, /* as when the profile was measured, or not known */
    VBS_CACHE_SLOWER,
    VBS_CACHE_FASTER,
};

#define VBS_CACHE_KEPT 5 /* speeds, whose median counts */

/* Begin with {.usual = the profile's speed.cache_bytes_per_us}; 0: not known, and nothing is
 * measured. */
struct vbs_cache_watch {
    double usual; /* bytes per microsecond, as the others */
    double sum;   /* of n speeds */
    int64_t n;
    double kept[VBS_CACHE_KEPT]; /* the newest; number i at i % VBS_CACHE_KEPT */
    double asked_s;
};

/* Adds a speed that was measured now; 0 counts for nothing. */
void vbs_cache_watch_add(struct vbs_cache_watch *watch, double speed);

/* Returns the state by the median of the newest speeds: a state lasts for a minute or more, and a
 * single speed is off by so much now and then that a few requests in a hundred would be taken for
 * those of the other state, which is enough to make a wrong time of them. */
enum vbs_cache_state vbs_cache_watch_state(const struct vbs_cache_watch *watch);

/* Returns the state now. The speed is measured again where the newest is older than a tenth of a
 * second, in some 5 ms. */
enum vbs_cache_state vbs_cache_watch_look(struct vbs_cache_watch *watch,
                                          const struct vbs_session *session);

#endif
