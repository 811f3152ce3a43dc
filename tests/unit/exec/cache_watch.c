/* The state of the last-level cache follows from the median of the newest speeds. */
#include "exec/cache_watch.h"
#include "support/tap.h"

static double speed_now;

static double fake_speed(const struct vbs_session *session)
{
    (void)session;
    return speed_now;
}

static void add(struct vbs_cache_watch *watch, int n, double speed)
{
    for (int i = 0; i < n; i++)
        vbs_cache_watch_add(watch, speed);
}

static void speeds_decide(void)
{
    struct vbs_cache_watch watch = {.usual = 30}, unknown = {.usual = 0};

    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_USUAL, "without a speed the state is usual");
    add(&unknown, 3, 1);
    is_int(vbs_cache_watch_state(&unknown), VBS_CACHE_USUAL, "and without a usual speed");
    add(&watch, 1, 20);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_SLOWER, "the first speed decides alone");
    add(&watch, 5, 31);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_USUAL, "old ones do not count");
    add(&watch, 2, 20);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_USUAL, "two of five are noise");
    add(&watch, 1, 20);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_SLOWER, "three are a state");
    add(&watch, 2, 37);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_SLOWER, "from which two do not lead away");
    add(&watch, 1, 37);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_FASTER, "but three do");
    add(&watch, 5, 0);
    is_int(vbs_cache_watch_state(&watch), VBS_CACHE_FASTER,
           "what could not be measured does not count");
    ok(watch.n == 12 && watch.sum > 0, "speeds are counted");
}

static void sessions_are_asked(void)
{
    const struct vbs_session_ops ops = {.cache_speed = fake_speed}, none = {.cache_speed = NULL};
    const struct vbs_session session = {.ops = &ops}, mute = {.ops = &none};
    struct vbs_cache_watch watch = {.usual = 30}, other = {.usual = 30};

    speed_now = 20;
    is_int(vbs_cache_watch_look(&watch, &session), VBS_CACHE_SLOWER, "the first look measures");
    is_int(vbs_cache_watch_look(&watch, &session), VBS_CACHE_SLOWER, "a second one agrees");
    is_int(vbs_cache_watch_look(&other, &mute), VBS_CACHE_USUAL,
           "a session that cannot tell is usual");
    is_int(other.n, 0, "and is not asked");
}

int main(void)
{
    speeds_decide();
    sessions_are_asked();
    return done_testing();
}
