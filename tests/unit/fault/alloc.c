/*
 * Every allocation of profiles, CSV and store fails once, and then also every one from it on: the
 * task says that memory is out, leaves nothing behind (AddressSanitizer and valgrind look) and
 * harms neither store nor file.
 */
#include "support/fault.h"
#include "support/fault_help.h"
#include "support/profile_help.h"
#include "support/tap.h"

struct subject {
    const struct fault_task *task;
    const struct fault_place *place;
};

static enum vbs_status run(struct vbs_ctx *ctx, const void *subject)
{
    const struct subject *s = subject;

    return s->task->run(ctx, s->place);
}

/* Looks for damage, and restores the place for the next run. */
static bool is_sound(const struct vbs_ctx *ctx, enum vbs_status status, int n, const void *subject)
{
    const struct fault_place *place = ((const struct subject *)subject)->place;
    const char *damage = fault_place_damage(place);

    (void)ctx;
    if (damage)
        printf("# allocation %d damages %s\n", n, damage);
    fault_place_reset(place);
    return status == VBS_NO_MEMORY && !damage;
}

static void try_task(const struct fault_task *task, const struct fault_place *place, bool lasting)
{
    const struct subject subject = {task, place};
    struct fault_trial trial = {
        .run = run, .subject = &subject, .lasting = lasting, .is_sound = is_sound};

    fault_place_reset(place);
    fault_each(&trial);
    ok(trial.n_faults > 0 && trial.n_wrong == 0 && trial.status == VBS_OK, "%s: %d allocations, %s",
       task->name, trial.n_faults, trial.way);
}

int main(void)
{
    char *folder = temporary_folder();
    struct fault_place *place = fault_place_new(folder);

    for (const struct fault_task *task = FAULT_TASKS; task->name; task++) {
        try_task(task, place, false);
        try_task(task, place, true);
    }
    fault_place_free(place);
    remove_folder(folder);
    return done_testing();
}
