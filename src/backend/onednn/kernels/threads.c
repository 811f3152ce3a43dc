#include "backend/onednn/kernels/session.h"

#include "base/fail.h"

/* These functions are from libgomp, on which oneDNN runs. They are declared here because only gcc
 * has omp.h. Compilers make calls of the last one of parallel regions. */
extern void omp_set_num_threads(int n);
extern int omp_get_max_threads(void);
extern int omp_get_num_threads(void);
extern int omp_get_thread_num(void);
extern void omp_set_dynamic(int dynamic);
extern int omp_get_dynamic(void);
extern int omp_get_max_active_levels(void);
extern void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);

struct od_threads od_threads_set(int n)
{
    struct od_threads before = {.n = omp_get_max_threads(), .dynamic = omp_get_dynamic()};

    if (before.dynamic)
        omp_set_dynamic(0);
    if (before.n != n || before.dynamic)
        omp_set_num_threads(n);
    return before;
}

void od_threads_restore(struct od_threads before)
{
    if (omp_get_max_threads() != before.n)
        omp_set_num_threads(before.n);
    if (before.dynamic)
        omp_set_dynamic(before.dynamic);
}

static void count(void *n)
{
    if (omp_get_thread_num() == 0)
        *(int *)n = omp_get_num_threads();
}

enum vbs_status od_threads_choose(struct vbs_ctx *ctx, int requested, int *threads)
{
    struct od_threads before = od_threads_set(requested > 0 ? requested : omp_get_max_threads());
    int n = 1;

    GOMP_parallel(count, &n, 0, 0);
    od_threads_restore(before);
    if (requested > 0 && n != requested)
        return vbs_fail(
            ctx, VBS_UNSUPPORTED,
            "%d threads are requested, but OpenMP lets this process compute with %d "
            "(%s); request %d",
            requested, n,
            omp_get_max_active_levels() < 1 ? "OMP_MAX_ACTIVE_LEVELS" : "OMP_THREAD_LIMIT", n);
    *threads = n;
    return VBS_OK;
}
