/* The speed of the last-level cache, measured now and then. */
#include "exec/cache_watch.h"

#include "base/clock.h"

#define ASK_S  0.1  /* between two measurements */
#define SLOWER 0.85 /* share of the usual speed; those of one state mostly differ by less */
#define FASTER 1.2

void vbs_cache_watch_add(struct vbs_cache_watch *watch, double speed)
{
    watch->asked_s = vbs_clock_s();
    if (!(speed > 0))
        return;
    watch->newest = speed;
    watch->sum += speed;
    watch->n++;
}

static enum vbs_cache_state state(const struct vbs_cache_watch *watch)
{
    if (watch->n == 0)
        return VBS_CACHE_USUAL;
    if (watch->newest < SLOWER * watch->usual)
        return VBS_CACHE_SLOWER;
    return watch->newest > FASTER * watch->usual ? VBS_CACHE_FASTER : VBS_CACHE_USUAL;
}

enum vbs_cache_state vbs_cache_watch_look(struct vbs_cache_watch *watch,
                                          const struct vbs_session *session)
{
    if (!(watch->usual > 0) || !session->ops->cache_speed)
        return VBS_CACHE_USUAL;
    if (vbs_clock_s() - watch->asked_s > ASK_S)
        vbs_cache_watch_add(watch, session->ops->cache_speed(session));
    return state(watch);
}
