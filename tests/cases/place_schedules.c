#include "cases/place_schedules.h"

#include <stdlib.h>

/* The state of cutting a schedule. */
struct cutting {
    gsl_rng *rng;
    int n_layers, request;
    int64_t *bytes;       /* [n_layers + 1], of a sample that a layer makes; 0: the input */
    int64_t *made, *read; /* [n_layers + 1][request], steps */
    bool *joined;         /* [n_layers + 1][request], the sample must lie behind the one before
                             it */
    int *done;            /* [n_layers + 1], samples */
    struct place_schedule *to;
};

static int64_t below(gsl_rng *rng, int64_t n)
{
    return (int64_t)gsl_rng_uniform_int(rng, (unsigned long)n);
}

static void add_rect(struct place_schedule *to, int64_t lower, int64_t upper, int64_t offset,
                     int64_t size)
{
    to->rects[to->problem.n_rects++] = (struct vbs_place_rect){lower, upper, offset, size};
    to->items[to->problem.n_items - 1].n_rects++;
}

static void add_item(struct place_schedule *to)
{
    to->items[to->problem.n_items++] =
        (struct vbs_place_item){.first_rect = to->problem.n_rects, .alignment = 64};
}

static void run_step(struct cutting *cutting, int layer, int batch)
{
    int64_t step = cutting->to->n_steps++;

    for (int b = 0; b < batch; b++) {
        int sample = cutting->done[layer]++;
        int in = (layer - 1) * cutting->request + sample, out = layer * cutting->request + sample;

        if (layer == 1)
            cutting->made[in] = step;
        cutting->made[out] = cutting->read[out] = cutting->read[in] = step;
        cutting->joined[in] = cutting->joined[in] || b > 0;
        cutting->joined[out] = cutting->joined[out] || b > 0;
    }
    if (below(cutting->rng, 2)) {
        add_item(cutting->to);
        add_rect(cutting->to, step, step + 1, 0, 64 * (1 + below(cutting->rng, 4000)));
    }
}

static void cut(struct cutting *cutting, int first, int last, int batch)
{
    if (batch > 1 && below(cutting->rng, 3) == 0) {
        int lot = 1 + (int)below(cutting->rng, batch - 1);

        if (batch % lot)
            lot = batch % 2 ? 1 : batch / 2;
        for (int done = 0; done < batch; done += lot)
            cut(cutting, first, last, lot);
    } else if (first == last) {
        run_step(cutting, first, batch);
    } else {
        int middle = first + (int)below(cutting->rng, last - first);

        cut(cutting, first, middle, batch);
        cut(cutting, middle + 1, last, batch);
    }
}

static void add_groups(struct cutting *cutting)
{
    for (int layer = 0; layer <= cutting->n_layers; layer++) {
        int64_t offset = 0;

        for (int s = 0; s < cutting->request; s++) {
            int at = layer * cutting->request + s;

            if (!cutting->joined[at]) {
                add_item(cutting->to);
                offset = 0;
            }
            add_rect(cutting->to, cutting->made[at], cutting->read[at] + 1, offset,
                     cutting->bytes[layer]);
            offset += cutting->bytes[layer];
        }
    }
}

struct place_schedule place_schedule_make(gsl_rng *rng, int n_layers, int request)
{
    size_t n = (size_t)(n_layers + 1) * (size_t)request;
    struct place_schedule schedule = {.items = calloc(2 * n, sizeof *schedule.items),
                                      .rects = calloc(2 * n, sizeof *schedule.rects)};
    struct cutting cutting = {.rng = rng,
                              .n_layers = n_layers,
                              .request = request,
                              .bytes = calloc((size_t)n_layers + 1, sizeof *cutting.bytes),
                              .made = calloc(n, sizeof *cutting.made),
                              .read = calloc(n, sizeof *cutting.read),
                              .joined = calloc(n, sizeof *cutting.joined),
                              .done = calloc((size_t)n_layers + 1, sizeof *cutting.done),
                              .to = &schedule};

    schedule.problem = (struct vbs_place_problem){
        .items = schedule.items, .rects = schedule.rects, .capacity = INT64_MAX};
    for (int layer = 0; layer <= n_layers; layer++)
        cutting.bytes[layer] = 64 * (1 + below(rng, 2000));
    cut(&cutting, 1, n_layers, request);
    add_groups(&cutting);
    free(cutting.bytes);
    free(cutting.made);
    free(cutting.read);
    free(cutting.joined);
    free(cutting.done);
    return schedule;
}

void place_schedule_clear(struct place_schedule *schedule)
{
    free(schedule->items);
    free(schedule->rects);
}
