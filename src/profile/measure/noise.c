/*
 * Disturbances. Times are compared with the median of their kernel so far (of at least
 * JUDGED_RUNS).
 *
 * A single time is disturbed when the system took a processor from one of the threads meanwhile and
 * the time exceeds PREEMPTED times the median: another process had its turn, of some milliseconds.
 * Most preemptions are by the system's own short work and change nothing, so the preemption alone
 * is no reason; neither is being slow alone, for that belongs to what is measured.
 *
 * Other disturbances (a clock that falls, a neighbour that takes the memory's bandwidth, a host
 * that takes the processor from a virtual machine) show themselves by many layers being slow at
 * once. A time is slow when it exceeds SLOW times the median. A piece is disturbed when its total
 * exceeds SLOW times what was expected and when, looking back over at least WINDOW layers, before
 * the piece too where it is short, more than a third of them and at least MIN_SLOW are slow.
 *
 * A piece is closed when its layers have taken PIECE_US together or the pass ends, so that what a
 * kill can lose, or one verdict reject, is little.
 */
#include "profile/measure/internal.h"

#define SLOW        1.25
#define PREEMPTED   1.05
#define JUDGED_RUNS 3
#define WINDOW      8
#define MIN_SLOW    3
#define PIECE_US    20000.0

bool vbs_piece_hold(struct vbs_piece *piece, const struct vbs_runs *runs, int kernel,
                    double time_us, bool preempted)
{
    piece->times[piece->n_times++] = (struct vbs_held_time){
        .kernel = kernel,
        .time_us = time_us,
        .expected_us = runs->summary.n_runs >= JUDGED_RUNS ? runs->summary.time_us : 0,
        .preempted = preempted,
    };
    piece->total_us += time_us;
    return piece->total_us >= PIECE_US;
}

static bool is_judged(const struct vbs_held_time *held)
{
    return held->expected_us > 0;
}

static bool is_slow(const struct vbs_held_time *held)
{
    return held->time_us > SLOW * held->expected_us;
}

bool vbs_held_is_disturbed(const struct vbs_held_time *held)
{
    return held->preempted && is_judged(held) && held->time_us > PREEMPTED * held->expected_us;
}

bool vbs_piece_is_disturbed(const struct vbs_piece *piece)
{
    double total_us = 0, expected_us = 0;
    int n_judged = 0, n_slow = 0;

    for (int i = 0; i < piece->n_times; i++) {
        const struct vbs_held_time *held = &piece->times[i];

        if (!is_judged(held))
            continue;
        total_us += held->time_us;
        expected_us += held->expected_us;
        n_judged++;
        n_slow += is_slow(held);
    }
    for (int i = 0; n_judged < WINDOW && i < piece->n_before; i++) {
        n_judged++;
        n_slow += piece->slow_before >> i & 1;
    }
    return total_us > SLOW * expected_us && n_slow >= MIN_SLOW && 3 * n_slow > n_judged;
}

void vbs_piece_close(struct vbs_piece *piece)
{
    for (int i = 0; i < piece->n_times; i++) {
        if (!is_judged(&piece->times[i]))
            continue;
        piece->slow_before = piece->slow_before << 1 | is_slow(&piece->times[i]);
        piece->n_before += piece->n_before < WINDOW;
    }
    piece->n_times = 0;
    piece->total_us = 0;
}
