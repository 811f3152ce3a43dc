/* Loops over strided operands, run by oneDNN's own threads. */
#include "backend/onednn/kernels/nest.h"

#include <stdbool.h>
#include <stddef.h>

#define TURN  16384 /* floats that one thread copies at once */
#define SMALL 16384 /* floats below which one thread is faster */

/* This function is from libgomp, on which oneDNN runs. Compilers make calls of it of parallel
 * regions. */
extern void GOMP_parallel(void (*body)(void *), void *data, unsigned threads, unsigned flags);
extern int omp_get_thread_num(void);
extern int omp_get_num_threads(void);

/* ---- threads ---- */

struct od_team {
    void (*body)(void *job, int64_t thread, int64_t threads);
    void *job;
};

static void run_member(void *data)
{
    const struct od_team *team = data;

    team->body(team->job, omp_get_thread_num(), omp_get_num_threads());
}

void od_on_threads(void (*body)(void *job, int64_t thread, int64_t threads), void *job)
{
    struct od_team team = {.body = body, .job = job};

    GOMP_parallel(run_member, &team, 0, 0);
}

struct od_share {
    int64_t n;
    void (*body)(void *job, int64_t i);
    void *job;
};

static void run_share(void *data, int64_t thread, int64_t threads)
{
    const struct od_share *share = data;
    int64_t end = share->n * (thread + 1) / threads;

    for (int64_t i = share->n * thread / threads; i < end; i++)
        share->body(share->job, i);
}

void od_parallel(int64_t n, int64_t work, void (*body)(void *job, int64_t i), void *job)
{
    struct od_share share = {.n = n, .body = body, .job = job};

    if (work < SMALL || n == 1)
        for (int64_t i = 0; i < n; i++)
            body(job, i);
    else
        od_on_threads(run_share, &share);
}

/* ---- nests ---- */

struct od_axis *od_nest_add(struct od_nest *nest, int64_t n)
{
    struct od_axis *axis = &nest->axes[nest->n_axes++];

    *axis = (struct od_axis){.n = n};
    return axis;
}

void od_nest_add_strided(struct od_nest *nest, int64_t n, int64_t to, int64_t a, int64_t b)
{
    struct od_axis *axis = od_nest_add(nest, n);

    axis->stride[0] = to;
    axis->stride[1] = a;
    axis->stride[2] = b;
}

/* Replaces an operand's table by a stride where its positions are evenly spaced. */
static void straighten(struct od_nest *nest, struct od_axis *axis, int operand)
{
    const int64_t *table = axis->table[operand];
    int64_t stride = axis->n > 1 ? table[1] - table[0] : 0;

    for (int64_t i = 0; i < axis->n; i++)
        if (table[i] < 0 || table[i] != table[0] + i * stride)
            return;
    nest->start[operand] += table[0];
    axis->stride[operand] = stride;
    axis->table[operand] = NULL;
}

static bool has_table(const struct od_axis *axis)
{
    for (int i = 0; i < OD_OPERANDS; i++)
        if (axis->table[i])
            return true;
    return false;
}

/* Gives whether two axes can be one: the inner one ends where the next position of the outer one
 * begins. */
static bool follows(const struct od_axis *outer, const struct od_axis *inner)
{
    if (has_table(outer) || has_table(inner))
        return false;
    for (int i = 0; i < OD_OPERANDS; i++)
        if (outer->stride[i] != inner->stride[i] * inner->n)
            return false;
    return true;
}

void od_nest_simplify(struct od_nest *nest)
{
    int n = 0;

    for (int d = 0; d < nest->n_axes; d++)
        for (int i = 0; i < OD_OPERANDS; i++)
            if (nest->axes[d].table[i])
                straighten(nest, &nest->axes[d], i);
    for (int d = 0; d < nest->n_axes; d++) {
        struct od_axis axis = nest->axes[d];

        if (axis.n == 1 && !has_table(&axis))
            continue;
        if (n > 0 && follows(&nest->axes[n - 1], &axis)) {
            axis.n *= nest->axes[n - 1].n;
            n--;
        }
        nest->axes[n++] = axis;
    }
    nest->n_axes = n;
    if (n == 0)
        od_nest_add(nest, 1);
}

struct od_nest_job {
    const struct od_nest *nest;
    od_row *row;
    const void *plan;
    float *const *data;
    int64_t segment;         /* positions of a row that are one unit */
    int64_t segments, units; /* of a row; of all rows */
    int64_t share;           /* units of a thread's turn */
    int64_t bytes;           /* of a value */
};

/* The offsets of the operands at every depth: offset[d] is before axis d counts. */
struct od_nest_position {
    int64_t index[OD_MAX_AXES];
    int64_t offset[OD_MAX_AXES + 1][OD_OPERANDS];
};

/* Computes the offsets from axis d on. */
static void descend(const struct od_nest *nest, struct od_nest_position *w, int d)
{
    for (; d < nest->n_axes - 1; d++)
        for (int i = 0; i < OD_OPERANDS; i++)
            w->offset[d + 1][i] = w->offset[d][i] + od_axis_at(&nest->axes[d], i, w->index[d]);
}

static void start_walk(const struct od_nest *nest, int64_t row, struct od_nest_position *w)
{
    for (int i = 0; i < OD_OPERANDS; i++)
        w->offset[0][i] = nest->start[i];
    for (int d = nest->n_axes - 2; d >= 0; d--) {
        w->index[d] = row % nest->axes[d].n;
        row /= nest->axes[d].n;
    }
    descend(nest, w, 0);
}

static void next_row(const struct od_nest *nest, struct od_nest_position *w)
{
    int d = nest->n_axes - 2;

    while (d >= 0 && w->index[d] + 1 == nest->axes[d].n)
        w->index[d--] = 0;
    if (d < 0)
        return;
    w->index[d]++;
    descend(nest, w, d);
}

static void run_units(void *job, int64_t turn)
{
    const struct od_nest_job *r = job;
    const struct od_nest *nest = r->nest;
    const struct od_axis *axis = &nest->axes[nest->n_axes - 1];
    int64_t unit = turn * r->share;
    int64_t end = unit + r->share < r->units ? unit + r->share : r->units;
    struct od_nest_position w;

    if (unit >= end)
        return;
    start_walk(nest, unit / r->segments, &w);
    for (int64_t segment = unit % r->segments; unit < end; unit++) {
        int64_t first = segment * r->segment;
        int64_t n = axis->n - first < r->segment ? axis->n - first : r->segment;
        void *at[OD_OPERANDS];

        for (int i = 0; i < OD_OPERANDS; i++) {
            int64_t offset = w.offset[nest->n_axes - 1][i];

            at[i] = r->data[i] && offset >= 0 ? (char *)r->data[i] + offset * r->bytes : NULL;
        }
        r->row(r->plan, axis, first, n, at);
        if (++segment == r->segments) {
            segment = 0;
            next_row(nest, &w);
        }
    }
}

void od_nest_run(const struct od_nest *nest, od_row *row, const void *plan, float *const *data)
{
    struct od_nest_job r = {.nest = nest,
                            .row = row,
                            .plan = plan,
                            .data = data,
                            .bytes = nest->bytes > 0 ? nest->bytes : (int64_t)sizeof(float)};
    int64_t n = nest->axes[nest->n_axes - 1].n, cost = nest->cost > 0 ? nest->cost : 1;
    int64_t work = cost, turns;

    r.segment = cost < TURN / 16 ? TURN / cost : 16;
    r.segments = (n + r.segment - 1) / r.segment;
    r.units = r.segments;
    for (int d = 0; d < nest->n_axes; d++) {
        work *= nest->axes[d].n;
        if (d < nest->n_axes - 1)
            r.units *= nest->axes[d].n;
    }
    turns = (work + TURN - 1) / TURN;
    r.share = (r.units + turns - 1) / turns;
    od_parallel((r.units + r.share - 1) / r.share, work, run_units, &r);
}
