/* Memory of the onednn backend: aligned, zeroed, and no more of it in use than was asked for. */
#include "backend/onednn/kernels/session.h"
#include "support/tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define MIB ((int64_t)1 << 20)

/* Gives how many of the pages that begin in memory's bytes from.. to - 1 are resident. */
static int64_t resident(const char *memory, int64_t from, int64_t to)
{
    int64_t page = sysconf(_SC_PAGESIZE), n = 0;
    unsigned char there;

    for (int64_t at = (from + page - 1) / page * page; at < to; at += page)
        n += mincore((void *)(uintptr_t)(memory + at), (size_t)page, &there) == 0 && (there & 1);
    return n;
}

static bool is_zero(const char *memory, int64_t bytes)
{
    for (int64_t i = 0; i < bytes; i++)
        if (memory[i] != 0)
            return false;
    return true;
}

static void test_size(int64_t bytes, int64_t alignment)
{
    char *memory = od_alloc(bytes);

    if (!memory)
        bail_out("out of memory");
    ok((uintptr_t)memory % (uintptr_t)alignment == 0 && is_zero(memory, bytes),
       "%" PRId64 " bytes are zeroed and aligned to %" PRId64, bytes, alignment);
    free(memory);
}

int main(void)
{
    int64_t bytes = 4 * MIB + 100000, page = sysconf(_SC_PAGESIZE);
    char *memory = od_alloc(bytes);

    if (!memory)
        bail_out("out of memory");
    ok(resident(memory, 0, bytes) * page >= bytes, "all that was asked for is in memory");
    ok(resident(memory, bytes, 6 * MIB) == 0, "the rest of the last huge page is not");
    free(memory);
    test_size(1, 64);
    test_size(MIB, 4096);
    test_size(2 * MIB, 2 * MIB);
    test_size(3 * MIB, 2 * MIB);
    return done_testing();
}
