#include "base/background.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* These functions are from libgomp. They are declared here because only gcc has omp.h. */
extern int omp_get_num_places(void);
extern int omp_get_place_num_procs(int place);
extern void omp_get_place_proc_ids(int place, int *ids);

#define LOWEST 19 /* lowest priority, as a nice value */

int vbs_background_start(pthread_t *thread, void *(*live)(void *self), void *self)
{
    sigset_t all, before;
    int reason;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    reason = pthread_create(thread, NULL, live, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (reason == 0)
        (void)pthread_setname_np(*thread, VBS_BACKGROUND_NAME);
    return reason;
}

void vbs_background_spread(void)
{
    cpu_set_t all;

    CPU_ZERO(&all);
    for (int place = 0; place < omp_get_num_places(); place++) {
        int n = omp_get_place_num_procs(place);
        int *ids = malloc((size_t)n * sizeof *ids + 1);

        if (!ids)
            return;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < n; i++)
            if (ids[i] < CPU_SETSIZE)
                CPU_SET(ids[i], &all);
        free(ids);
    }
    if (CPU_COUNT(&all) > 0)
        (void)sched_setaffinity(0, sizeof all, &all);
}

void vbs_background_yield(void)
{
    const struct sched_param none = {0};

    /* The thread may have been created by one of a real-time policy, under which it would never
     * give up a processor. */
    (void)sched_setscheduler(0, SCHED_OTHER, &none);
    (void)setpriority(PRIO_PROCESS, (id_t)gettid(), LOWEST);
}
