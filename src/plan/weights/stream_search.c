/*
 * Searches better gaps to keep for a stream (stream.h).
 *
 * The rule of stream_plan.c keeps the shortest gaps, as if each load took the same time from the
 * request. But a load that runs beside steps takes nothing, and a load for which steps wait takes
 * its whole time. So the gaps are ordered anew in each round: a gap is worth the share of its load
 * for which steps waited when the load was last made, and the gaps with the least length for their
 * worth come first. Memory that is reserved for prefetching differs from round to round.
 */
#include "plan/weights/trial.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_WORTH 0.02
#define NEWS        0.3 /* the share of the latest round in a gap's worth */
#define ROUNDS      12  /* with one reserve */

struct gap_order {
    int visit, rank;
    double cost;
};

struct stream_search {
    struct vbs_ctx *ctx;
    const struct vbs_stream *stream;
    struct vbs_pareto_set *pareto;
    int64_t memory_bytes;
    double *worth, *waited; /* [n_visits] of the gap before a visit */
    struct gap_order *order;
    int *gaps;
    int *rank; /* [n_visits] of the gap after a visit among the stream's gaps */
    double best_us;
};

static int by_cost(const void *a, const void *b)
{
    const struct gap_order *x = a, *y = b;

    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    return x->rank < y->rank ? -1 : 1;
}

static void order_gaps(struct stream_search *search)
{
    const struct vbs_stream *stream = search->stream;

    for (int v = 0; v < stream->n_visits; v++)
        search->order[v] =
            (struct gap_order){v, search->rank[v],
                               vbs_stream_gap_length(stream, v) /
                                   (LEAST_WORTH + search->worth[stream->visits[v].next])};
    qsort(search->order, (size_t)stream->n_visits, sizeof *search->order, by_cost);
    for (int v = 0; v < stream->n_visits; v++)
        search->gaps[v] = search->order[v].visit;
}

static void learn(struct stream_search *search)
{
    for (int v = 0; v < search->stream->n_visits; v++)
        search->worth[v] += NEWS * (search->waited[v] - search->worth[v]);
}

/* One search with a reserve. */
static enum vbs_status run_rounds(struct stream_search *search, int64_t reserved_bytes)
{
    const struct vbs_stream *stream = search->stream;
    struct vbs_stream_rule rule = {.keeps = true,
                                   .reserved_bytes = reserved_bytes,
                                   .gaps = search->gaps,
                                   .waited = search->waited};

    for (int v = 0; v < stream->n_visits; v++)
        search->worth[v] = 1;
    for (int i = 0; i < ROUNDS; i++) {
        struct vbs_streamed streamed;
        enum vbs_status status;

        order_gaps(search);
        status = vbs_stream_plan(search->ctx, stream, &rule, search->memory_bytes, &streamed, NULL);
        if (status == VBS_INFEASIBLE)
            return VBS_OK;
        if (status != VBS_OK)
            return status;
        if (streamed.time_us < search->best_us) {
            search->best_us = streamed.time_us;
            VBS_TRY(
                vbs_trial_stream(search->ctx, stream, &rule, search->memory_bytes, search->pareto));
        }
        if (streamed.time_us <= stream->compute_us * (1 + VBS_TIME_NOISE))
            break;
        learn(search);
    }
    return VBS_OK;
}

static enum vbs_status run_search(struct stream_search *search)
{
    int64_t largest_block = vbs_stream_largest_block(search->stream);

    for (int reserves = 0; reserves <= VBS_MOST_RESERVES; reserves = vbs_more_reserves(reserves))
        VBS_TRY(run_rounds(search, reserves * largest_block));
    return VBS_OK;
}

enum vbs_status vbs_trial_search(struct vbs_ctx *ctx, const struct vbs_stream *stream,
                                 int64_t memory_bytes, struct vbs_pareto_set *pareto,
                                 double *time_us)
{
    size_t n = (size_t)stream->n_visits + 1;
    struct stream_search search = {.ctx = ctx,
                                   .stream = stream,
                                   .pareto = pareto,
                                   .memory_bytes = memory_bytes,
                                   .worth = malloc(n * sizeof *search.worth),
                                   .waited = malloc(n * sizeof *search.waited),
                                   .order = malloc(n * sizeof *search.order),
                                   .gaps = malloc(n * sizeof *search.gaps),
                                   .rank = malloc(n * sizeof *search.rank),
                                   .best_us = HUGE_VAL};
    enum vbs_status status = VBS_OK;

    if (!search.worth || !search.waited || !search.order || !search.gaps || !search.rank)
        status = vbs_no_memory(ctx);
    else if (vbs_pareto_wants(pareto, memory_bytes, stream->compute_us)) {
        for (int g = 0; g < stream->n_visits; g++)
            search.rank[stream->gaps[g]] = g;
        status = run_search(&search);
    }
    if (time_us)
        *time_us = search.best_us;
    free(search.worth);
    free(search.waited);
    free(search.order);
    free(search.gaps);
    free(search.rank);
    return status;
}
