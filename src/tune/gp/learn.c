/* The search for the unknowns of the highest posterior density. */
#include "tune/gp/gp.h"
#include "tune/gp/minimise.h"
#include "tune/gp/prior.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CALLS 60 /* of the density, from each start */

/* A search: the process (of some of the points) and memory for its density. */
struct gp_search {
    struct tune_gp gp;
    double *work;
};

static double density(void *self, const double *x, double *gradient)
{
    struct gp_search *search = self;

    return vbs_gp_density(&search->gp, x, gradient, search->work);
}

/* Makes a process of an even choice of n points of another one. */
static enum vbs_status choose(struct vbs_ctx *ctx, struct vbs_arena *arena,
                              const struct tune_gp *from, int n, struct tune_gp *gp)
{
    size_t width = (size_t)from->d;
    double *x = vbs_arena_alloc(arena, (size_t)n * width + 1, sizeof *x);
    double *y = vbs_arena_alloc(arena, (size_t)n, sizeof *y);

    if (!x || !y)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        size_t at = (size_t)((int64_t)i * from->n / n);

        memcpy(x + (size_t)i * width, from->x + at * width, sizeof *x * width);
        y[i] = from->y[at];
    }
    VBS_TRY(vbs_gp_new(ctx, arena, n, from->d, from->n_smooth, x, y, gp));
    /* Values keep the mean and the deviation of all. */
    memcpy(gp->y, y, sizeof *y * (size_t)n);
    return VBS_OK;
}

/* Searches from all starts; best: [GP_N_UNKNOWN(d)] receives the unknowns. */
static enum vbs_status search_all(struct vbs_ctx *ctx, struct vbs_arena *arena,
                                  struct gp_search *search, double *best)
{
    int d = search->gp.d, n = GP_N_UNKNOWN(d);
    double *work = vbs_arena_alloc(arena, GP_MINIMISE_WORK(n), sizeof *work);
    double *unknown = vbs_arena_alloc(arena, (size_t)n, sizeof *unknown), least = INFINITY;

    if (!work || !unknown)
        return vbs_no_memory(ctx);
    for (int start = 0; start < GP_N_STARTS; start++) {
        double value;

        VBS_TRY(vbs_check_cancel(ctx));
        vbs_gp_start(d, start, unknown);
        value = vbs_gp_minimise(density, search, n, unknown, MAX_CALLS, work);
        if (value < least) {
            least = value;
            memcpy(best, unknown, sizeof *unknown * (size_t)n);
        }
    }
    return VBS_OK;
}

enum vbs_status vbs_gp_learn(struct vbs_ctx *ctx, int max_points, struct tune_gp *gp)
{
    struct vbs_arena arena = {0};
    int n = gp->n < max_points ? gp->n : max_points;
    struct gp_search search;
    enum vbs_status status = choose(ctx, &arena, gp, n, &search.gp);

    if (status != VBS_OK)
        goto done;
    search.work = vbs_arena_alloc(&arena, 2 * (size_t)n, sizeof(double) * (size_t)n);
    status = search.work ? search_all(ctx, &arena, &search, gp->unknown) : vbs_no_memory(ctx);
done:
    vbs_arena_clear(&arena);
    return status;
}
