#include "reference/exec/layout_check.h"

#include <stdlib.h>

/* Bytes at..at + bytes - 1 of memory, which contain those from offset on of a rectangle. */
struct held {
    int64_t at, bytes, offset;
    int rect;
};

struct memory {
    const struct vbs_exec_fit *fit;
    int64_t room_bytes;
    int n, max;
    struct held *held;
    int *item_of; /* of each rectangle */
    int next_move;
};

static bool add(struct memory *m, struct held held)
{
    if (m->n == m->max) {
        int max = 2 * m->max + 64;
        struct held *grown = realloc(m->held, (size_t)max * sizeof *grown);

        if (!grown)
            return false;
        m->held = grown;
        m->max = max;
    }
    m->held[m->n++] = held;
    return true;
}

static bool is_free(const struct memory *m, int64_t at, int64_t bytes)
{
    for (int i = 0; i < m->n; i++)
        if (m->held[i].at < at + bytes && at < m->held[i].at + m->held[i].bytes)
            return false;
    return at >= 0 && at + bytes <= m->room_bytes;
}

/* Gives the address of a rectangle in a step, by its item's last relocation that is not behind the
 * step. */
static int64_t place_of(const struct memory *m, int rect, int64_t step)
{
    const struct vbs_exec_layout *layout = &m->fit->layout;
    int64_t base = INT64_MIN / 2, since = -1;
    int item = m->item_of[rect];

    for (int t = layout->first_relocation[item]; t < layout->first_relocation[item + 1]; t++)
        if (layout->relocations[t].step <= step && layout->relocations[t].step > since) {
            since = layout->relocations[t].step;
            base = layout->relocations[t].base;
        }
    return base + m->fit->buffers.rects[rect].offset;
}

/* Gives the number of the streamed load that brought a rectangle; 0: it was not streamed. */
static int load_of(const struct memory *m, int rect)
{
    int block = rect - m->fit->buffers.first_block_rect;

    if (block < 0 || block >= m->fit->buffers.n_block_rects)
        return 0;
    return m->fit->blocks.blocks[block].waits;
}

/* Counts the streamed loads that have begun before the moves of a step are made. */
static int n_begun(const struct memory *m, int64_t step)
{
    const struct vbs_schedule *schedule = m->fit->checked->schedule;
    int n_loads = 0, n = 0;

    for (int64_t s = 0; s < schedule->n_steps; s++)
        if (schedule->steps[s].op == VBS_STEP_LOAD) {
            n += !schedule->steps[s].resident && m->fit->begins[n_loads] < step;
            n_loads++;
        }
    return n;
}

/* Cuts the range that extends over an address in two. */
static bool split(struct memory *m, int64_t place)
{
    for (int i = m->n - 1; i >= 0; i--) {
        struct held rest = m->held[i];
        int64_t front = place - rest.at;

        if (front <= 0 || front >= rest.bytes)
            continue;
        m->held[i].bytes = front;
        rest.at += front;
        rest.offset += front;
        rest.bytes -= front;
        return add(m, rest);
    }
    return true;
}

static const char *make_move(struct memory *m, const struct vbs_exec_move *move)
{
    int64_t end = move->from + move->bytes;

    if (move->from < 0 || end > m->room_bytes || move->to < 0 ||
        move->to + move->bytes > m->room_bytes)
        return "a move leaves the arena";
    if (!split(m, move->from) || !split(m, end))
        return "no memory";
    for (int i = 0; i < m->n; i++) {
        const struct held *held = &m->held[i];
        bool moves = held->at >= move->from && held->at < end;

        if (!moves && held->at < move->to + move->bytes && move->to < held->at + held->bytes)
            return "a move goes over what lives";
        if (moves && load_of(m, held->rect) > move->waits)
            return "weights move that may not be there";
    }
    for (int i = 0; i < m->n; i++)
        if (m->held[i].at >= move->from && m->held[i].at < end)
            m->held[i].at += move->to - move->from;
    return NULL;
}

static const char *make_moves(struct memory *m, int64_t step)
{
    const struct vbs_exec_moves *moves = &m->fit->layout.moves;
    const char *fault = NULL;

    for (; m->next_move < moves->n && moves->moves[m->next_move].step == step && !fault;
         m->next_move++) {
        fault = make_move(m, &moves->moves[m->next_move]);
        if (!fault && moves->moves[m->next_move].waits > n_begun(m, step))
            return "a move waits for a load that waits for it";
    }
    for (int i = 0; i < m->n && !fault; i++)
        if (m->held[i].at != place_of(m, m->held[i].rect, step) + m->held[i].offset)
            return "something is not where it is looked for";
    return fault;
}

static void end_lives(struct memory *m, int64_t slot)
{
    int n = 0;

    for (int i = 0; i < m->n; i++)
        if (m->fit->buffers.rects[m->held[i].rect].upper > slot)
            m->held[n++] = m->held[i];
    m->n = n;
}

static const char *begin_lives(struct memory *m, int64_t slot)
{
    const struct vbs_exec_buffers *buffers = &m->fit->buffers;

    for (int r = 0; r < buffers->n_rects; r++) {
        int64_t at;

        if (buffers->rects[r].lower != slot)
            continue;
        at = place_of(m, r, slot / 2);
        if ((at - buffers->rects[r].offset) % buffers->items[m->item_of[r]].alignment != 0)
            return "a place is not aligned";
        if (!is_free(m, at, buffers->rects[r].size))
            return "something is born where it has no room";
        if (!add(m, (struct held){at, buffers->rects[r].size, 0, r}))
            return "no memory";
    }
    return NULL;
}

static const char *check_all(struct memory *m)
{
    int64_t n_slots = 2 * m->fit->checked->schedule->n_steps + 2;
    const char *fault = NULL;

    for (int64_t slot = 0; slot < n_slots && !fault; slot++) {
        end_lives(m, slot);
        if (slot % 2 == 0)
            fault = make_moves(m, slot / 2);
        if (!fault)
            fault = begin_lives(m, slot);
    }
    if (!fault && m->next_move != m->fit->layout.moves.n)
        return "moves are not in the order of steps";
    return fault;
}

const char *layout_fault(const struct vbs_exec_fit *fit, int64_t room_bytes)
{
    struct memory m = {.fit = fit, .room_bytes = room_bytes};
    const char *fault = "no memory";

    m.item_of = calloc((size_t)fit->buffers.n_rects + 1, sizeof *m.item_of);
    if (m.item_of) {
        for (int i = 0; i < fit->buffers.n_items; i++)
            for (int64_t r = 0; r < fit->buffers.items[i].n_rects; r++)
                m.item_of[fit->buffers.items[i].first_rect + r] = i;
        fault = check_all(&m);
    }
    free(m.item_of);
    free(m.held);
    return fault;
}
