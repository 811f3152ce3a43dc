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
    watch->kept[watch->n % VBS_CACHE_KEPT] = speed;
    watch->sum += speed;
    watch->n++;
}

/* Returns the median of the speeds that are kept, of two in the middle the larger one. There
 * is one. */
static double median(const struct vbs_cache_watch *watch)
{
    int n = watch->n < VBS_CACHE_KEPT ? (int)watch->n : VBS_CACHE_KEPT;
    double sorted[VBS_CACHE_KEPT] = {0};

    for (int i = 0; i < n; i++) {
        int at = i;

        for (; at > 0 && sorted[at - 1] > watch->kept[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = watch->kept[i];
    }
    return sorted[n / 2];
}

enum vbs_cache_state vbs_cache_watch_state(const struct vbs_cache_watch *watch)
{
    double speed;

    if (watch->n == 0 || !(watch->usual > 0))
        return VBS_CACHE_USUAL;
    speed = median(watch);
    if (speed < SLOWER * watch->usual)
        return VBS_CACHE_SLOWER;
    return speed > FASTER * watch->usual ? VBS_CACHE_FASTER : VBS_CACHE_USUAL;
}

enum vbs_cache_state vbs_cache_watch_look(struct vbs_cache_watch *watch,
                                          const struct vbs_session *session)
{
    if (!(watch->usual > 0) || !session->ops->cache_speed)
        return VBS_CACHE_USUAL;
    if (vbs_clock_s() - watch->asked_s > ASK_S)
        vbs_cache_watch_add(watch, session->ops->cache_speed(session));
    return vbs_cache_watch_state(watch);
}
