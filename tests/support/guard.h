/* Memory of a session with guards: bytes that show whether a kernel has written outside of what it
 * was given. */
#ifndef TESTS_GUARD_H
#define TESTS_GUARD_H

#include "vbslab/measure.h"

#include <string.h>

#define GUARD_BYTES 256
#define GUARD       0xa5 /* as a float: -2.9e-16, which no kernel here computes */

/* Allocates bytes, and GUARD_BYTES more behind them, all of which are guards. */
static inline unsigned char *guarded(struct vbs_session *session, int64_t bytes)
{
    unsigned char *memory = session->ops->alloc(session, bytes + GUARD_BYTES);

    if (memory)
        memset(memory, GUARD, (size_t)bytes + GUARD_BYTES);
    return memory;
}

/* Whether nothing was written to these bytes. */
static inline bool is_guard(const unsigned char *memory, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        if (memory[i] != GUARD)
            return false;
    return true;
}

#endif
