#include "support/fault.h"

#include "base/ctx.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_SHOWN 5 /* wrong runs of one task */

struct faults allocation_faults;
char fault_untouched;

enum vbs_status fault_status(enum vbs_status status, const void *output)
{
    return output == &fault_untouched ? status : VBS_N_STATUS;
}

bool fault_is_said(const struct vbs_ctx *ctx, enum vbs_status status)
{
    return status == VBS_NO_MEMORY && ctx->status == status;
}

void fault_each(struct fault_trial *trial)
{
    trial->way = trial->lasting ? "all from one on fail" : "each fails once";
    for (int n = trial->first > 0 ? trial->first : 1;; n += 1 + (int)(trial->skips * n)) {
        struct vbs_ctx ctx = {0};

        allocation_faults = (struct faults){.countdown = n, .lasting = trial->lasting};
        trial->status = trial->run(&ctx, trial->subject);
        allocation_faults.countdown = 0;
        if (!allocation_faults.hit)
            return;
        trial->n_faults++;
        if (trial->is_sound ? trial->is_sound(&ctx, trial->status, n, trial->subject)
                            : fault_is_said(&ctx, trial->status))
            continue;
        if (trial->n_wrong++ < MAX_SHOWN)
            printf("# allocation %d: status %d (%s)\n", n, (int)trial->status, ctx.detail);
    }
}

bool fault_strikes(struct faults *faults)
{
    if (faults->countdown == 0)
        return false;
    if (faults->countdown == 1) {
        faults->hit = true;
        faults->countdown = faults->lasting;
        if (!faults->stop)
            return true;
        *faults->stop = 1;
        return false;
    }
    faults->countdown--;
    return false;
}

/* ---- What the linker puts between the library and libc ---- */

/* The functions are weak, because tests that make nothing fail are linked with this file too. */
#define REAL __attribute__((weak))

REAL void *__real_malloc(size_t size);
REAL void *__real_calloc(size_t count, size_t size);
REAL void *__real_realloc(void *memory, size_t size);
REAL void *__real_aligned_alloc(size_t alignment, size_t size);
REAL char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
char *__wrap_strdup(const char *text);

void *__wrap_malloc(size_t size)
{
    return fault_strikes(&allocation_faults) ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fault_strikes(&allocation_faults) ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fault_strikes(&allocation_faults) ? NULL : __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
    return fault_strikes(&allocation_faults) ? NULL : __real_aligned_alloc(alignment, size);
}

char *__wrap_strdup(const char *text)
{
    return fault_strikes(&allocation_faults) ? NULL : __real_strdup(text);
}

void fault_jansson(bool among)
{
    json_set_alloc_funcs(among ? __wrap_malloc : __real_malloc, free);
}
