/*
 * SQLite fails in every place: each step of a statement with each of several codes, once or from
 * then on (the linker puts the function below between the library and SQLite), and each allocation
 * within SQLite. The task reports it by one status, and complete profiles stay in the store.
 */
#include "support/fault.h"
#include "support/fault_help.h"
#include "support/profile_help.h"
#include "support/tap.h"
#include "support/trials.h"

#include <sqlite3.h>
#include <stdlib.h>

static int step_code;
static struct faults step_faults, memory_faults;

int __real_sqlite3_step(sqlite3_stmt *stmt);
int __wrap_sqlite3_step(sqlite3_stmt *stmt);

int __wrap_sqlite3_step(sqlite3_stmt *stmt)
{
    return fault_strikes(&step_faults) ? step_code : __real_sqlite3_step(stmt);
}

static sqlite3_mem_methods real_memory;

static void *failing_malloc(int size)
{
    return fault_strikes(&memory_faults) ? NULL : real_memory.xMalloc(size);
}

static void *failing_realloc(void *memory, int size)
{
    return fault_strikes(&memory_faults) ? NULL : real_memory.xRealloc(memory, size);
}

/* Gives whether a task may end with a status when SQLite failed; it waits when SQLite is busy, and
 * SQLite can do without some of its memory. */
static bool is_expected(enum vbs_status status, int code)
{
    switch (code) {
    case SQLITE_NOMEM:
        return status == VBS_NO_MEMORY;
    case SQLITE_BUSY:
        return status == VBS_OK || status == VBS_STORE;
    case SQLITE_OK: /* an allocation within SQLite */
        return status == VBS_OK || status == VBS_NO_MEMORY || status == VBS_STORE;
    default:
        return status == VBS_STORE;
    }
}

static void try_task(const struct fault_task *task, const struct fault_place *place,
                     struct faults *faults, int code, bool lasting, int stride)
{
    int n_wrong = 0, n_faults = 0;
    enum vbs_status status;

    step_code = code;
    for (int at = 1;; at += stride) {
        struct vbs_ctx ctx = {0};
        const char *damage;

        fault_place_reset(place);
        *faults = (struct faults){.countdown = at, .lasting = lasting};
        status = task->run(&ctx, place);
        faults->countdown = 0;
        if (!faults->hit)
            break;
        n_faults++;
        damage = fault_place_damage(place);
        if (is_expected(status, code) && !damage)
            continue;
        n_wrong++;
        printf("# fault %d: status %d (%s); damaged: %s\n", at, (int)status, ctx.detail,
               damage ? damage : "nothing");
    }
    ok(n_faults > 0 && n_wrong == 0 && status == VBS_OK, "%s: %d faults of %s%s", task->name,
       n_faults, code == SQLITE_OK ? "SQLite's allocations" : sqlite3_errstr(code),
       lasting ? ", lasting" : "");
}

int main(void)
{
    static const int CODES[] = {SQLITE_IOERR, SQLITE_FULL, SQLITE_NOMEM, SQLITE_CORRUPT,
                                SQLITE_BUSY};
    sqlite3_mem_methods methods;
    struct fault_place *place;
    char *folder;

    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
    methods = real_memory;
    methods.xMalloc = failing_malloc;
    methods.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    folder = temporary_folder();
    place = fault_place_new(folder);
    printf("# a part of the faults; TRIALS_PERCENT=16000 tries every one\n");
    for (const struct fault_task *task = FAULT_TASKS; task->name; task++) {
        if (!task->uses_store)
            continue;
        try_task(task, place, &step_faults, SQLITE_IOERR, false, 1);
        for (size_t i = 0; i < sizeof CODES / sizeof CODES[0]; i++) {
            try_task(task, place, &step_faults, CODES[i], false, trials_stride(7));
            if (CODES[i] != SQLITE_BUSY) /* the task would wait for it */
                try_task(task, place, &step_faults, CODES[i], true, trials_stride(11));
        }
        try_task(task, place, &memory_faults, SQLITE_OK, false, trials_stride(149));
        try_task(task, place, &memory_faults, SQLITE_OK, true, trials_stride(151));
    }
    fault_place_free(place);
    remove_folder(folder);
    return done_testing();
}
