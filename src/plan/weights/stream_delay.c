/*
 * Delays the steps of the last layers, so that copies of their weights run beside other steps.
 *
 * The last layers of many networks have most of the weights and little to compute. Where they run
 * for some samples, and then the layers before for the samples that follow, the link is busy while
 * the last layers run, and idle for much of the rest. So the last layers run among the steps of the
 * layers before, slice by slice: behind steps during which the link is free and memory has room for
 * the next slices. Every layer still takes the samples in the same order, and each step finds its
 * inputs, which only stay in memory for longer.
 */
#include "plan/weights/stream_delay.h"

#include "base/fail.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A stream whose slots get another order. */
struct delay {
    struct vbs_stream *stream;
    int layer;           /* the first of the last layers */
    const double *us;    /* [n_slots] computing */
    double *copy_us;     /* [n_slots] of the blocks that the slot reads */
    double *spare_us;    /* [n_slots] for which the link is free */
    int64_t *free_bytes; /* [n_slots] */
    int *first_visit;    /* [n_slots + 1] */
    int *order;          /* [n_slots] the slot that comes at a place */
    int n_ordered;
};

static bool is_delayed(const struct delay *delay, int slot)
{
    return delay->stream->computes.steps[slot].layer >= delay->layer;
}

/* Gives the end of the slots from `from` on that are all of the last layers, or all of the layers
 * before. */
static int end_of_run(const struct delay *delay, int from)
{
    int n_slots = (int)delay->stream->computes.n_steps, to = from + 1;

    while (to < n_slots && is_delayed(delay, to) == is_delayed(delay, from))
        to++;
    return to;
}

static double sum_us(const double *us, int from, int to)
{
    double sum = 0;

    for (int s = from; s < to; s++)
        sum += us[s];
    return sum;
}

/* Finds the time for which the link is free during each of some slots, when their own blocks are
 * copied as late as possible, and there is memory for what is copied then. */
static void find_spare(struct delay *delay, int from, int to)
{
    double rate = delay->stream->task->problem.copy.bytes_per_us, pending_us = 0;

    for (int s = to - 1; s >= from; s--) {
        double most_us = fmin(delay->us[s], (double)delay->free_bytes[s] / rate);
        double used_us = fmin(most_us, pending_us);

        delay->spare_us[s] = most_us - used_us;
        pending_us += delay->copy_us[s] - used_us;
    }
}

/* Orders slots next..end-1 among the slots end..to-1 that follow them: each
 * when the link has been free for the share of its free time that copies up to this slot have of
 * all copies of delayed ones. */
static void merge(struct delay *delay, int next, int end, int to)
{
    double delayed_us = sum_us(delay->copy_us, next, end), copied_us = 0;
    double spare_us, passed_us = 0;

    find_spare(delay, end, to);
    spare_us = sum_us(delay->spare_us, end, to);
    if (spare_us == 0) { /* only in larger budgets can anything be copied beside these steps */
        for (int s = end; s < to; s++)
            delay->spare_us[s] = delay->us[s];
        spare_us = sum_us(delay->spare_us, end, to);
    }
    for (int s = end; s < to; s++) {
        delay->order[delay->n_ordered++] = s;
        passed_us += delay->spare_us[s];
        while (next < end && (s + 1 == to || (copied_us + delay->copy_us[next]) * spare_us <=
                                                 passed_us * delayed_us)) {
            copied_us += delay->copy_us[next];
            delay->order[delay->n_ordered++] = next++;
        }
    }
}

static void order_slots(struct delay *delay)
{
    int n_slots = (int)delay->stream->computes.n_steps;

    for (int s = 0, end; s < n_slots; s = end) {
        end = end_of_run(delay, s);
        if (is_delayed(delay, s) && end < n_slots) {
            int to = end_of_run(delay, end);

            merge(delay, s, end, to);
            end = to;
        } else
            for (int i = s; i < end; i++)
                delay->order[delay->n_ordered++] = i;
    }
}

/* Finds visits, copies and free bytes of the slots, in the memory that the largest of them needs.
 */
static void find_slots(struct delay *delay)
{
    const struct vbs_stream *stream = delay->stream;
    int64_t most_bytes = 0;
    int v = 0;

    for (int s = 0; s < stream->computes.n_steps; s++) {
        delay->first_visit[s] = v;
        delay->free_bytes[s] = -stream->step_bytes[s];
        for (; v < stream->n_visits && stream->visits[v].slot == s; v++) {
            delay->copy_us[s] += stream->blocks[stream->visits[v].block].copy_us;
            delay->free_bytes[s] -= stream->blocks[stream->visits[v].block].bytes;
        }
        if (-delay->free_bytes[s] > most_bytes)
            most_bytes = -delay->free_bytes[s];
    }
    for (int s = 0; s < stream->computes.n_steps; s++)
        delay->free_bytes[s] += most_bytes;
    delay->first_visit[stream->computes.n_steps] = v;
}

/* Brings steps and visits into the order. */
static void reorder(struct delay *delay, struct vbs_step *steps, struct vbs_visit *visits)
{
    struct vbs_stream *stream = delay->stream;
    int n_slots = (int)stream->computes.n_steps, n = 0;

    for (int i = 0; i < n_slots; i++) {
        int from = delay->order[i];

        steps[i] = stream->computes.steps[from];
        for (int v = delay->first_visit[from]; v < delay->first_visit[from + 1]; v++) {
            visits[n] = stream->visits[v];
            visits[n++].slot = i;
        }
    }
    memcpy(stream->computes.steps, steps, (size_t)n_slots * sizeof *steps);
    memcpy(stream->visits, visits, (size_t)n * sizeof *visits);
}

enum vbs_status vbs_stream_delay(struct vbs_ctx *ctx, struct vbs_stream *stream, int layer)
{
    size_t n = (size_t)stream->computes.n_steps + 1;
    struct delay delay = {.stream = stream,
                          .layer = layer,
                          .us = stream->step_us,
                          .copy_us = calloc(n, sizeof *delay.copy_us),
                          .spare_us = malloc(n * sizeof *delay.spare_us),
                          .free_bytes = malloc(n * sizeof *delay.free_bytes),
                          .first_visit = malloc(n * sizeof *delay.first_visit),
                          .order = malloc(n * sizeof *delay.order)};
    struct vbs_step *steps = malloc(n * sizeof *steps);
    struct vbs_visit *visits = malloc(((size_t)stream->n_visits + 1) * sizeof *visits);
    enum vbs_status status = VBS_OK;

    if (delay.copy_us && delay.spare_us && delay.free_bytes && delay.first_visit && delay.order &&
        steps && visits) {
        find_slots(&delay);
        order_slots(&delay);
        reorder(&delay, steps, visits);
    } else
        status = vbs_no_memory(ctx);
    free(delay.copy_us);
    free(delay.spare_us);
    free(delay.free_bytes);
    free(delay.first_visit);
    free(delay.order);
    free(steps);
    free(visits);
    return status;
}
