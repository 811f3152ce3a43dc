/*
 * The clock of copies, beside that of compute steps (docs/accounting.md, "Two clocks").
 *
 * Loads run one after the other in the order of the list. Those that have not ended when the list
 * has come to a compute step run beside it, and slow each other down: over dt microseconds of both,
 * the step gets done what takes it dt / beside[layer] alone, and the copy what takes it dt /
 * beside[0] alone. So the end of a load is known only when the compute steps beside it are, further
 * on in the list. Until then its record has the clock of compute steps as its times, and what has
 * passed of the chunk as its wait.
 *
 * Times are kept as the ends that steps and copies would have alone, to which a slow-down adds.
 * Where nothing is slowed down, it adds 0, and all times are plain sums of durations.
 */
#include "replay/sim.h"

#include "base/fail.h"

#include <math.h>

/* Gives how many times as long a copy takes beside a compute step, or a step of the layer beside a
 * copy. */
static double factor(const struct sim *sim, int layer)
{
    return sim->link.beside ? sim->link.beside[layer] : 1;
}

double vbs_sim_copy_us(const struct sim *sim, const struct vbs_step *load)
{
    return sim->link.latency_us + (double)load->bytes / sim->link.bytes_per_us;
}

/* Gives the record of a step that the replay has passed, where records are kept. */
static struct vbs_replay_step *find_record(const struct sim *sim, const struct vbs_replay *replay,
                                           int64_t index)
{
    if (replay->steps)
        return &replay->steps[index];
    if (sim->observer)
        return &sim->held.list[sim->held.from + (index - sim->held.first_index)].record;
    return NULL;
}

/* Lets the load at the head of the queue begin. */
static void begin(struct copies *copies, int64_t index, double start_us, double took_us)
{
    copies->head = index;
    copies->start_us = start_us;
    copies->end_us = start_us + took_us;
    copies->took_us = took_us;
}

/* Ends the load at the head of the queue at end_us, when the next one begins. */
static void end_head(struct sim *sim, struct vbs_replay *replay, double end_us)
{
    const struct vbs_step *steps = sim->schedule->steps;
    struct copies *copies = &sim->copies;
    struct vbs_replay_step *record = find_record(sim, replay, copies->head);
    int64_t next = copies->head + 1;

    if (record) {
        record->wait_us += end_us - record->start_us;
        record->start_us = copies->start_us;
        record->end_us = end_us;
    }
    replay->copy_us += copies->took_us;
    copies->clock_us = end_us;
    if (--copies->n == 0)
        return;
    while (steps[next].op != VBS_STEP_LOAD) /* resident loads stand before all others */
        next++;
    begin(copies, next, end_us, vbs_sim_copy_us(sim, &steps[next]));
}

void vbs_sim_issue(struct sim *sim, const struct vbs_step *step)
{
    if (sim->copies.n++ == 0)
        begin(&sim->copies, step - sim->schedule->steps, sim->clock_us, vbs_sim_copy_us(sim, step));
}

void vbs_sim_await(struct sim *sim, struct vbs_replay *replay, int64_t load)
{
    while (sim->copies.n > 0 && load >= replay->n_copies - sim->copies.n)
        end_head(sim, replay, sim->copies.end_us);
}

double vbs_sim_run_beside(struct sim *sim, struct vbs_replay *replay, int layer, double start_us,
                          double time_us)
{
    struct copies *copies = &sim->copies;
    double copy_factor = factor(sim, 0), step_factor = factor(sim, layer), now_us = start_us;
    double end_us = start_us + time_us; /* if no copy ran from now on */

    while (copies->n > 0) {
        double copy_end_us = copies->end_us + (copies->end_us - now_us) * (copy_factor - 1);
        double step_end_us = end_us + (end_us - now_us) * (step_factor - 1);

        if (copy_end_us > step_end_us) {
            double slowed_us = (step_end_us - now_us) * (1 - 1 / copy_factor);

            copies->end_us = fmax(copies->end_us + slowed_us, step_end_us);
            copies->took_us += slowed_us;
            return step_end_us;
        }
        end_us = fmax(end_us + (copy_end_us - now_us) * (1 - 1 / step_factor), copy_end_us);
        copies->took_us += copy_end_us - copies->end_us;
        now_us = copy_end_us;
        end_head(sim, replay, copy_end_us);
    }
    return end_us;
}
