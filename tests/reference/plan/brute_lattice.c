/*
 * The lattice. A state's code is its progress vector as a number to the base request + 1. Every
 * step leads to a larger code, so that the order of codes is a topological order.
 */
#include "reference/plan/brute_common.h"

#include <math.h>
#include <stdlib.h>

struct brute_edge {
    int from, to; /* states, numbered in the order in which they are found */
    int layer, batch;
    int64_t bytes; /* without workspace */
};

struct brute_lattice {
    struct vbs_problem problem;
    int n_states, goal;
    int64_t n_edges, capacity;
    struct brute_edge *edges; /* the edges that lead to a state come before those that leave it */
};

static int64_t power(int64_t base, int exponent)
{
    int64_t value = 1;

    while (exponent-- > 0)
        value *= base;
    return value;
}

static void decode(const struct vbs_problem *problem, int64_t code, int *done)
{
    for (int k = 1; k <= problem->profile->n_layers; k++) {
        done[k] = (int)(code % (problem->request + 1));
        code /= problem->request + 1;
    }
}

static void add_edge(struct brute_lattice *lattice, struct brute_edge edge)
{
    if (lattice->n_edges == lattice->capacity) {
        lattice->capacity = lattice->capacity ? 2 * lattice->capacity : 64;
        lattice->edges =
            brute_grow(lattice->edges, (size_t)lattice->capacity, sizeof *lattice->edges);
    }
    lattice->edges[lattice->n_edges++] = edge;
}

static void leave_state(struct brute_lattice *lattice, int64_t code, int *done, int *numbers)
{
    const struct vbs_problem *problem = &lattice->problem;

    decode(problem, code, done);
    for (int k = 1; k <= problem->profile->n_layers; k++)
        for (int i = 0; i < problem->profile->n_batches; i++) {
            int batch = problem->profile->batches[i];
            int64_t next = code + batch * power(problem->request + 1, k - 1);

            if (!brute_step_allowed(problem, done, k, batch))
                continue;
            if (numbers[next] == 0)
                numbers[next] = ++lattice->n_states;
            add_edge(lattice, (struct brute_edge){
                                  .from = numbers[code] - 1,
                                  .to = numbers[next] - 1,
                                  .layer = k,
                                  .batch = batch,
                                  .bytes = brute_step_bytes(problem, done, k, batch),
                              });
        }
}

struct brute_lattice *brute_lattice_new(const struct vbs_problem *problem)
{
    struct brute_lattice *lattice = brute_alloc(1, sizeof *lattice);
    int64_t n_codes = power(problem->request + 1, problem->profile->n_layers);
    int *numbers = brute_alloc((size_t)n_codes, sizeof *numbers); /* 0: not reached */
    int *done = brute_alloc((size_t)problem->profile->n_layers + 1, sizeof *done);

    lattice->problem = *problem;
    numbers[0] = ++lattice->n_states;
    for (int64_t code = 0; code < n_codes; code++)
        if (numbers[code] > 0)
            leave_state(lattice, code, done, numbers);
    lattice->goal = numbers[n_codes - 1] - 1;
    free(done);
    free(numbers);
    return lattice;
}

void brute_lattice_free(struct brute_lattice *lattice)
{
    if (!lattice)
        return;
    free(lattice->edges);
    free(lattice);
}

/* The least time to a state, and the edge by which it is reached. */
struct reached {
    double time_us;
    const struct brute_edge *by;
};

static struct reached *reach_all(const struct brute_lattice *lattice, int64_t memory_bytes)
{
    struct reached *states = brute_alloc((size_t)lattice->n_states, sizeof *states);

    for (int i = 1; i < lattice->n_states; i++)
        states[i].time_us = HUGE_VAL;
    for (int64_t i = 0; i < lattice->n_edges; i++) {
        const struct brute_edge *edge = &lattice->edges[i];
        double time = states[edge->from].time_us;

        if (time < HUGE_VAL)
            time += brute_fastest_us(&lattice->problem, edge->layer, edge->batch,
                                     memory_bytes - edge->bytes);
        if (time < states[edge->to].time_us)
            states[edge->to] = (struct reached){.time_us = time, .by = edge};
    }
    return states;
}

double brute_optimum_us(const struct brute_lattice *lattice, int64_t memory_bytes)
{
    struct reached *states = reach_all(lattice, memory_bytes);
    double answer = states[lattice->goal].time_us;

    free(states);
    return answer;
}

int brute_optimum_path(const struct brute_lattice *lattice, int64_t memory_bytes,
                       struct vbs_step *steps)
{
    struct reached *states = reach_all(lattice, memory_bytes);
    const struct brute_edge *edge;
    int n = 0;

    for (edge = states[lattice->goal].by; edge; edge = states[edge->from].by)
        steps[n++] = (struct vbs_step){
            .layer = edge->layer,
            .batch = edge->batch,
            .algorithm = brute_fastest_row(&lattice->problem, edge->layer, edge->batch,
                                           memory_bytes - edge->bytes)
                             ->algorithm,
        };
    for (int i = 0; i < n / 2; i++) {
        struct vbs_step swap = steps[i];

        steps[i] = steps[n - 1 - i];
        steps[n - 1 - i] = swap;
    }
    free(states);
    return n;
}

static int64_t least_scratch(const struct vbs_problem *problem, int layer, int batch)
{
    int n_rows;
    const struct vbs_profile_row *rows = brute_rows(problem, layer, batch, &n_rows);
    int64_t least = rows[0].ws_bytes;

    for (int i = 1; i < n_rows; i++)
        least = rows[i].ws_bytes < least ? rows[i].ws_bytes : least;
    return least;
}

int64_t brute_least_bytes(const struct brute_lattice *lattice)
{
    int64_t *least = brute_alloc((size_t)lattice->n_states, sizeof *least);
    int64_t answer;

    for (int i = 1; i < lattice->n_states; i++)
        least[i] = INT64_MAX;
    for (int64_t i = 0; i < lattice->n_edges; i++) {
        const struct brute_edge *edge = &lattice->edges[i];
        int64_t bytes = edge->bytes + least_scratch(&lattice->problem, edge->layer, edge->batch);

        if (bytes < least[edge->from])
            bytes = least[edge->from];
        if (bytes < least[edge->to])
            least[edge->to] = bytes;
    }
    answer = least[lattice->goal];
    free(least);
    return answer;
}

struct brute_chunks {
    enum vbs_io io;
    int request;
    struct brute_lattice **lattices; /* [1..request]: of so many samples */
};

struct brute_chunks *brute_chunks_new(const struct vbs_problem *problem)
{
    struct brute_chunks *chunks = brute_alloc(1, sizeof *chunks);
    struct vbs_problem part = *problem;

    chunks->io = problem->io;
    chunks->request = (int)problem->request;
    chunks->lattices = brute_alloc((size_t)chunks->request + 1, sizeof *chunks->lattices);
    for (int c = 1; c <= chunks->request; c++) {
        part.request = c;
        if (c == chunks->request || problem->io == VBS_IO_EXTERNAL)
            chunks->lattices[c] = brute_lattice_new(&part);
    }
    return chunks;
}

void brute_chunks_free(struct brute_chunks *chunks)
{
    if (!chunks)
        return;
    for (int c = 1; c <= chunks->request; c++)
        brute_lattice_free(chunks->lattices[c]);
    free(chunks->lattices);
    free(chunks);
}

/* Gives the least time of chunk samples at once; HUGE_VAL where it exceeds the bound. A path that
 * consists of several chunks does no harm, because each of them then keeps the bound. */
static double chunk_in_time_us(const struct brute_chunks *chunks, int chunk, int64_t memory_bytes,
                               double latency_us)
{
    double time = brute_optimum_us(chunks->lattices[chunk], memory_bytes);

    return latency_us > 0 && time > latency_us ? HUGE_VAL : time;
}

double brute_chunks_us(const struct brute_chunks *chunks, int64_t memory_bytes, double latency_us)
{
    int request = chunks->request;
    double *chunk_us, *best, answer;

    if (chunks->io == VBS_IO_RESIDENT)
        return chunk_in_time_us(chunks, request, memory_bytes, latency_us);
    chunk_us = brute_alloc((size_t)request + 1, sizeof *chunk_us);
    best = brute_alloc((size_t)request + 1, sizeof *best);
    for (int c = 1; c <= request; c++) {
        chunk_us[c] = chunk_in_time_us(chunks, c, memory_bytes, latency_us);
        best[c] = HUGE_VAL;
        for (int last = 1; last <= c; last++)
            best[c] = fmin(best[c], best[c - last] + chunk_us[last]);
    }
    answer = best[request];
    free(chunk_us);
    free(best);
    return answer;
}
