/*
 * Every allocation of profiles, CSV and store fails once, and then also every one from it on: the
 * task says that memory is out, leaves nothing behind (AddressSanitizer and valgrind look) and
 * harms neither store nor file.
 */
#include "support/fault.h"
#include "support/fault_help.h"
#include "support/profile_help.h"
#include "support/tap.h"

static void try_task(const struct fault_task *task, const struct fault_place *place, bool lasting)
{
    enum vbs_status status;
    int n_wrong = 0, n_faults = 0;
    const char *damage;

    for (;;) {
        struct vbs_ctx ctx = {0};

        fault_place_reset(place);
        allocation_faults = (struct faults){.countdown = n_faults + 1, .lasting = lasting};
        status = task->run(&ctx, place);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            break;
        n_faults++;
        damage = fault_place_damage(place);
        if (status == VBS_NO_MEMORY && !damage)
            continue;
        n_wrong++;
        printf("# allocation %d: status %d (%s); damaged: %s\n", n_faults, (int)status, ctx.detail,
               damage ? damage : "nothing");
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%s: %d allocations, %s", task->name,
       n_faults, lasting ? "all from one on fail" : "each fails once");
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
