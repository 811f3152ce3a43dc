/*
 * Runs tasks: one loop starts commands, looks after them, and keeps the results. Only this process
 * changes its items; what others do is seen in the folder of results.
 *
 * Tasks are begun in the order of their indexes. A task that cannot begin now, because another
 * process has claimed it or results that it reads are not there yet, is put aside and looked at
 * again from time to time.
 */
#include "vbslab/sweep.h"

#include "base/clock.h"
#include "base/fail.h"
#include "base/grow.h"
#include "base/node.h"
#include "base/options.h"
#include "sweep/claim.h"
#include "sweep/items.h"
#include "sweep/process.h"
#include "sweep/results.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_JOBS     1024
#define TICK_MS      100 /* the loop looks at everything that often */
#define FAST_TICK_MS 10  /* where it waits for another process, or cannot wait for its own */
#define ASIDE_S      0.2 /* between two looks at the tasks that are put aside */
#define ASIDE_MANY   512 /* of them at one look */
#define END_S        5   /* for commands that are asked to end */

/* A command, and the task that it runs. */
struct slot {
    bool used, exclusive;
    int64_t item;
    struct vbs_sweep_task task;
    struct vbs_claim claim;
    struct vbs_work work;
    struct vbs_process process;
};

/* A task that was put aside. */
struct aside {
    int64_t item;
    struct vbs_claim_watch watch;
};

struct run {
    struct vbs_ctx *ctx;
    struct vbs_sweep *sweep;
    const struct vbs_sweep_options *options;
    struct vbs_sweep_items items;
    const char *program;
    int jobs, threads;  /* threads of each command; 0: not limited */
    struct slot *slots; /* [jobs], and one more for a task that runs alone */
    int n_used;
    int64_t cursor; /* the next item that was not looked at */
    struct aside *aside;
    int64_t n_aside, max_aside, next_aside;
    double aside_s; /* when they were looked at */
    struct vbs_node_lock node;
    bool paused; /* commands stand still, because another process has the machine */
};

static struct slot *alone(const struct run *run)
{
    return &run->slots[run->jobs];
}

/* ---- ending a task ---- */

static void clear_slot(struct run *run, struct slot *slot)
{
    vbs_work_end(&slot->work);
    if (slot->claim.file >= 0)
        vbs_claim_release(run->sweep, &slot->claim);
    vbs_sweep_task_clear(&slot->task);
    if (slot->exclusive)
        vbs_node_release(&run->node);
    slot->used = false;
    run->n_used--;
}

static enum vbs_status put_aside(struct run *run, int64_t item)
{
    VBS_TRY(vbs_grow(run->ctx, &run->aside, &run->max_aside, run->n_aside + 1, sizeof *run->aside));
    run->aside[run->n_aside++] = (struct aside){.item = item};
    return VBS_OK;
}

static bool accepts(const struct run *run, int group, int exit_code)
{
    const struct vbs_sweep_rules *rules = &run->sweep->rules[group];

    for (int i = 0; i < rules->n_accepted; i++)
        if (rules->accepted[i] == exit_code)
            return true;
    return false;
}

/* Keeps the result of a command that has ended, unless another process has taken the task over. */
static enum vbs_status end_task(struct run *run, struct slot *slot, int exit_code)
{
    struct vbs_sweep_item *item = &run->items.items[slot->item];
    bool lost = vbs_claim_is_lost(run->sweep, &slot->claim);
    struct vbs_sweep_end end = {&slot->task, VBS_SWEEP_FAILED, exit_code};
    enum vbs_status status;

    if (lost) {
        status = put_aside(run, slot->item);
    } else if (accepts(run, slot->task.group, exit_code)) {
        end.state = VBS_SWEEP_DONE;
        status = vbs_work_commit(run->ctx, run->sweep, item->name,
                                 vbs_items_ending(run->sweep, item), &slot->work);
    } else {
        status = vbs_work_fail(run->ctx, run->sweep, item->name, exit_code, &slot->work);
    }
    /* Who took the task over has removed its files meanwhile. */
    if (status != VBS_OK && !lost && vbs_claim_is_lost(run->sweep, &slot->claim)) {
        lost = true;
        status = put_aside(run, slot->item);
    }
    if (status == VBS_OK && !lost) {
        vbs_items_set(&run->items, item, end.state);
        if (run->options->ended)
            run->options->ended(run->options->self, &end);
    }
    clear_slot(run, slot);
    return status;
}

static enum vbs_status take_ends(struct run *run)
{
    enum vbs_status status = VBS_OK;
    int exit_code;

    for (int i = 0; i <= run->jobs && status == VBS_OK; i++)
        if (run->slots[i].used && run->slots[i].process.pid > 0 &&
            vbs_process_ended(&run->slots[i].process, &exit_code))
            status = end_task(run, &run->slots[i], exit_code);
    return status;
}

/* Raises the counts of the claims; a task that another process has taken over is left to it. */
static enum vbs_status beat(struct run *run)
{
    for (int i = 0; i <= run->jobs; i++) {
        struct slot *slot = &run->slots[i];

        if (!slot->used || vbs_claim_beat(run->sweep, &slot->claim))
            continue;
        if (slot->process.pid > 0)
            vbs_process_kill(&slot->process);
        VBS_TRY(put_aside(run, slot->item));
        clear_slot(run, slot);
    }
    return VBS_OK;
}

/* Ends all commands, and gives their tasks back. */
static void end_all(struct run *run)
{
    double begin_s = vbs_clock_s();
    int exit_code, n;

    for (int i = 0; i <= run->jobs; i++)
        if (run->slots[i].used && run->slots[i].process.pid > 0)
            vbs_process_terminate(&run->slots[i].process);
    do {
        n = 0;
        for (int i = 0; i <= run->jobs; i++)
            if (run->slots[i].used && run->slots[i].process.pid > 0 &&
                !vbs_process_ended(&run->slots[i].process, &exit_code))
                n++;
        if (n > 0)
            poll(NULL, 0, FAST_TICK_MS);
    } while (n > 0 && vbs_clock_s() - begin_s < END_S);
    for (int i = 0; i <= run->jobs; i++) {
        if (run->slots[i].used && run->slots[i].process.pid > 0)
            vbs_process_kill(&run->slots[i].process);
        if (run->slots[i].used)
            clear_slot(run, &run->slots[i]);
    }
}

/* ---- sharing the machine ---- */

/* Stops the commands, or has them go on. */
static void hold(struct run *run, bool stop)
{
    for (int i = 0; i < run->jobs; i++) {
        struct slot *slot = &run->slots[i];

        if (slot->used && slot->process.pid > 0 && stop)
            vbs_process_stop(&slot->process);
        else if (slot->used && slot->process.pid > 0)
            vbs_process_continue(&slot->process);
    }
}

static enum vbs_status start(struct run *run, struct slot *slot)
{
    return vbs_process_begin(run->ctx, run->program, run->sweep->info.folder, slot->task.words,
                             &slot->work, slot->exclusive ? 0 : run->threads, &slot->process);
}

/* Stops the commands while another process, or a task of this one, has the machine to itself. */
static enum vbs_status share(struct run *run)
{
    struct slot *own = alone(run);

    if (own->used) {
        hold(run, true);
        run->paused = true;
        return own->process.pid == 0 && vbs_node_take(&run->node) ? start(run, own) : VBS_OK;
    }
    if (!run->paused && run->node.hold == VBS_NODE_SHARED && vbs_node_is_wanted(&run->node)) {
        hold(run, true);
        vbs_node_release(&run->node);
        run->paused = true;
    }
    if (run->paused && (run->n_used == 0 || vbs_node_share(&run->node))) {
        hold(run, false);
        run->paused = false;
    }
    return VBS_OK;
}

/* ---- beginning a task ---- */

/* Makes the command of a task that this process has claimed, and starts it, unless it has to wait
 * for the machine. */
static enum vbs_status begin(struct run *run, struct slot *slot)
{
    struct vbs_sweep_item *item = &run->items.items[slot->item];
    int group;

    VBS_TRY(vbs_work_begin(run->ctx, run->sweep, item->name, slot->claim.generation, &slot->work));
    VBS_TRY(vbs_sweep_make_words(run->ctx, run->sweep, item->index, slot->work.result,
                                 &slot->task.words));
    group = slot->task.group;
    slot->exclusive = run->sweep->groups[group].exclusive;
    return slot->exclusive ? VBS_OK : start(run, slot);
}

/* Claims an item's task if nobody has it, nobody has ended it, and what it reads is there. *claimed
 * is true then; *later: it is to be looked at again. */
static enum vbs_status try_item(struct run *run, int64_t i, struct vbs_claim_watch *watch,
                                struct vbs_claim *claim, bool *later)
{
    struct vbs_sweep_item *item = &run->items.items[i];
    enum vbs_sweep_state state;

    *later = false;
    claim->file = -1;
    VBS_TRY(vbs_items_needs(run->ctx, run->sweep, &run->items, item, &state));
    if (state != VBS_SWEEP_DONE) {
        *later = state == VBS_SWEEP_LEFT;
        if (!*later)
            vbs_items_set(&run->items, item, VBS_SWEEP_BLOCKED);
        return VBS_OK;
    }
    VBS_TRY(vbs_claim_take(run->ctx, run->sweep, item->name, watch, claim));
    /* Another process may have ended the task before this one claimed it. */
    state = vbs_results_state(run->sweep, item->name, vbs_items_ending(run->sweep, item));
    if (state != VBS_SWEEP_LEFT) {
        if (claim->file >= 0)
            vbs_claim_release(run->sweep, claim);
        vbs_items_set(&run->items, item, state);
        return VBS_OK;
    }
    *later = claim->file < 0;
    vbs_items_set(&run->items, item, VBS_SWEEP_RUNNING);
    return VBS_OK;
}

static struct slot *free_slot(struct run *run)
{
    for (int i = 0; i < run->jobs; i++)
        if (!run->slots[i].used)
            return &run->slots[i];
    return NULL;
}

/* Tells from whom a task was taken over. */
static void tell_taken(const struct run *run, const struct slot *slot)
{
    struct vbs_sweep_silence silence = {slot->task.name, slot->claim.passed_host,
                                        slot->claim.passed, run->sweep->patience_s};

    if (run->options->taken_over && silence.process > 0)
        run->options->taken_over(run->options->self, &silence);
}

/* Fills a slot with a task that was claimed. */
static enum vbs_status fill(struct run *run, int64_t i, const struct vbs_claim *claim)
{
    int64_t digits[32];
    const struct vbs_sweep_item *item = &run->items.items[i];
    int group = vbs_sweep_digits(run->sweep, item->index, digits);
    struct slot *slot = run->sweep->groups[group].exclusive ? alone(run) : free_slot(run);
    enum vbs_status status;

    *slot = (struct slot){.used = true,
                          .item = i,
                          .task = {.index = item->index, .group = group},
                          .claim = *claim,
                          .work = {.output = -1, .log = -1},
                          .process = {.handle = -1}};
    vbs_sweep_write_name(item->name, slot->task.name);
    run->n_used++;
    tell_taken(run, slot);
    status = begin(run, slot);
    if (status != VBS_OK)
        clear_slot(run, slot);
    return status;
}

/* Looks again at tasks that were put aside. *began: one was begun. */
static enum vbs_status look_aside(struct run *run, bool *began)
{
    if (run->n_aside == 0 || vbs_clock_s() - run->aside_s < ASIDE_S)
        return VBS_OK;
    for (int looks = 0; looks < ASIDE_MANY && run->n_aside > 0 && !*began; looks++) {
        struct aside *aside;
        struct vbs_claim claim;
        int64_t item;
        bool later;

        if (run->next_aside >= run->n_aside) {
            run->next_aside = 0;
            run->aside_s = vbs_clock_s();
            break;
        }
        aside = &run->aside[run->next_aside];
        item = aside->item;
        VBS_TRY(try_item(run, item, &aside->watch, &claim, &later));
        if (later) {
            run->next_aside++;
            continue;
        }
        *aside = run->aside[--run->n_aside];
        if (claim.file >= 0) {
            VBS_TRY(fill(run, item, &claim));
            *began = true;
        }
    }
    return VBS_OK;
}

/* Begins one task where that is possible. */
static enum vbs_status begin_one(struct run *run, bool *began)
{
    *began = false;
    VBS_TRY(look_aside(run, began));
    while (!*began && run->cursor < run->items.n) {
        int64_t i = run->cursor++;
        struct vbs_sweep_item *item = &run->items.items[i];
        struct vbs_claim_watch watch = {0};
        struct vbs_claim claim;
        bool later;

        if (i % 1024 == 0)
            VBS_TRY(vbs_check_cancel(run->ctx));
        if (item->state == VBS_SWEEP_FAILED && run->options->retry) {
            vbs_results_forget(run->sweep, item->name);
            vbs_items_set(&run->items, item, VBS_SWEEP_LEFT);
        }
        if (item->state != VBS_SWEEP_LEFT && item->state != VBS_SWEEP_RUNNING)
            continue;
        VBS_TRY(try_item(run, i, &watch, &claim, &later));
        if (later)
            VBS_TRY(put_aside(run, i));
        if (claim.file >= 0) {
            VBS_TRY(fill(run, i, &claim));
            *began = true;
        }
    }
    return VBS_OK;
}

/* Begins as many tasks as may run now. */
static enum vbs_status begin_many(struct run *run)
{
    bool began = true;

    while (began && !run->paused && !alone(run)->used && run->n_used < run->jobs) {
        if (!vbs_node_share(&run->node))
            return VBS_OK;
        VBS_TRY(begin_one(run, &began));
    }
    return VBS_OK;
}

/* ---- what others left ---- */

/* Removes the claim of a process that was killed after its task had ended, before it could. */
static void tidy_claim(void *self, uint64_t name, const char *ending, bool claimed)
{
    struct run *run = self;
    const struct vbs_sweep_item *item = vbs_items_find(&run->items, name);
    struct vbs_claim_watch watch = {0};
    struct vbs_claim claim;
    enum vbs_status removed;

    (void)ending, (void)claimed;
    if (!item || (item->state != VBS_SWEEP_DONE && item->state != VBS_SWEEP_FAILED) ||
        vbs_claim_take(NULL, run->sweep, name, &watch, &claim) != VBS_OK || claim.file < 0)
        return;
    removed = vbs_work_remove(NULL, run->sweep, name, claim.generation);
    (void)removed; /* a folder that stays for lack of memory does no harm */
    vbs_claim_release(run->sweep, &claim);
}

/* ---- the loop ---- */

/* Waits until a command ends, or for a moment. */
static void wait_a_moment(struct run *run, struct pollfd *handles)
{
    bool blind = run->paused || run->n_used == 0;
    int n = 0;

    for (int i = 0; i <= run->jobs; i++) {
        const struct slot *slot = &run->slots[i];

        if (!slot->used || slot->process.pid == 0 || slot->process.stopped)
            continue;
        if (slot->process.handle < 0)
            blind = true;
        else
            handles[n++] = (struct pollfd){.fd = slot->process.handle, .events = POLLIN};
    }
    poll(handles, (nfds_t)n, blind ? FAST_TICK_MS : TICK_MS);
}

static bool has_ended(const struct run *run)
{
    return run->n_used == 0 && run->cursor == run->items.n && run->n_aside == 0;
}

static enum vbs_status turn(struct run *run)
{
    VBS_TRY(vbs_check_cancel(run->ctx));
    VBS_TRY(take_ends(run));
    VBS_TRY(beat(run));
    VBS_TRY(share(run));
    VBS_TRY(begin_many(run));
    if (run->n_used == 0)
        vbs_node_release(&run->node);
    else if (alone(run)->used && alone(run)->process.pid == 0)
        VBS_TRY(share(run));
    if (run->options->progress)
        run->options->progress(run->options->self, &run->items.counts,
                               run->n_used == 0 && run->n_aside > 0);
    return VBS_OK;
}

static enum vbs_status loop(struct run *run)
{
    struct pollfd *handles = calloc((size_t)run->jobs + 1, sizeof *handles);
    enum vbs_status status = handles ? VBS_OK : vbs_no_memory(run->ctx);

    while (status == VBS_OK) {
        status = turn(run);
        if (status != VBS_OK || has_ended(run))
            break;
        wait_a_moment(run, handles);
    }
    free(handles);
    return status;
}

/* Gives the threads that each of several commands at once may use: the processors are divided. */
static int threads_of_each(int jobs)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;

    return jobs < 2 ? 0 : n > jobs ? n / jobs : 1;
}

enum vbs_status vbs_sweep_run(struct vbs_ctx *ctx, struct vbs_sweep *sweep,
                              const struct vbs_sweep_options *options,
                              struct vbs_sweep_counts *counts)
{
    struct vbs_sweep_options own;
    struct run run = {.ctx = ctx, .sweep = sweep, .options = &own, .node = {.gate = -1}};
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_sweep_options", options, &own, sizeof own));
    if (own.jobs < 0 || own.jobs > MAX_JOBS)
        return vbs_fail(ctx, VBS_USAGE, "at most %d commands run at once", MAX_JOBS);
    run.jobs = own.jobs > 0 ? own.jobs : 1;
    run.threads = threads_of_each(run.jobs);
    run.program = own.program ? own.program : "/proc/self/exe";
    VBS_TRY(vbs_results_open(ctx, sweep));
    VBS_TRY(vbs_items_make(ctx, sweep, own.tasks, own.n_tasks, &run.items));
    run.slots = calloc((size_t)run.jobs + 1, sizeof *run.slots);
    status = run.slots ? vbs_results_list_claims(ctx, sweep, tidy_claim, &run) : vbs_no_memory(ctx);
    if (status == VBS_OK)
        status = vbs_node_open(ctx, NULL, &run.node);
    if (status == VBS_OK) {
        status = loop(&run);
        end_all(&run);
        vbs_node_close(&run.node);
    }
    if (status == VBS_OK)
        *counts = run.items.counts;
    free(run.slots);
    free(run.aside);
    vbs_items_free(&run.items);
    return status;
}
