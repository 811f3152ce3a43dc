/* Memory that preparing took is given back, and none of it is lost. */
#include "vbslab/exec.h"

#include "exec/arena.h"
#include "support/tap.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE  65536 /* the largest page of any system */
#define LARGE (1 << 20)

/* What a program may have in pages that it cannot write. */
static const unsigned char constants[3 * PAGE] = {[0] = 1, [PAGE] = 2, [2 * PAGE] = 3};
static const unsigned char large[LARGE] = {[0] = 4, [LARGE - 1] = 5};

/* Gives constants by way of a pointer of which the compiler knows nothing. */
static const unsigned char *read_only(const unsigned char *at)
{
    const unsigned char *volatile hidden = at;

    return hidden;
}

static int sum(const unsigned char *at, int n)
{
    int total = 0;

    for (int i = 0; i < n; i++)
        total += at[i];
    return total;
}

static bool tells(void)
{
    return access("/proc/self/pagemap", R_OK) == 0 && vbs_exec_resident_bytes(VBS_EXEC_FILES) >= 0;
}

static void test_pages_of_files(void)
{
    const char *name = "the pages of constants are given back";
    int before_sum = sum(read_only(large), LARGE);
    int64_t before = vbs_exec_resident_bytes(VBS_EXEC_FILES), after;

    vbs_exec_trim();
    after = vbs_exec_resident_bytes(VBS_EXEC_FILES);
    if (tells())
        ok(after < before - LARGE / 2, "%s: %" PRId64 " of %" PRId64 " bytes stay", name, after,
           before);
    else
        skip(name, "the system does not tell which pages are in memory");
    is_int(sum(read_only(large), LARGE), before_sum, "and come back with their values");
}

/* As a debugger does with breakpoints. */
static void test_changed_pages(void)
{
    const unsigned char *at = read_only(constants);
    uintptr_t page = ((uintptr_t)at + PAGE - 1) / PAGE * PAGE;
    unsigned char *changed = (unsigned char *)page;

    is_int(mprotect(changed, PAGE, PROT_READ | PROT_WRITE), 0, "constants can be changed");
    changed[5] = 77;
    is_int(mprotect(changed, PAGE, PROT_READ), 0, "and protected again");
    vbs_exec_trim();
    is_int(changed[5], 77, "a page that was changed is kept");
}

enum { N = 4096, BYTES = 4000 };

/* Allocates N blocks, and frees all but the last, which keeps the end of the heap where it is. */
static char *make_hole(void)
{
    char **blocks = calloc(N, sizeof *blocks), *last = NULL;

    for (int i = 0; blocks && i < N; i++)
        if ((blocks[i] = malloc(BYTES)))
            memset(blocks[i], 1, BYTES);
    for (int i = 0; blocks && i < N - 1; i++)
        free(blocks[i]);
    if (blocks)
        last = blocks[N - 1];
    free(blocks);
    return last;
}

static void test_heap(void)
{
    const char *name = "free memory of the heap is given back";
    int64_t heap = vbs_exec_heap_bytes(), before, after;
    char *last = make_hole();

    before = vbs_exec_resident_bytes(VBS_EXEC_NOW);
    vbs_exec_trim();
    after = vbs_exec_resident_bytes(VBS_EXEC_NOW);
    if (before < 0 || vbs_exec_heap_bytes() < heap + N * BYTES / 2)
        skip(name, "this is another heap, or the system does not tell");
    else
        ok(after < before - N * BYTES / 2, "%s: %" PRId64 " of %" PRId64 " bytes stay", name, after,
           before);
    free(last);
}

int main(void)
{
    test_pages_of_files();
    test_changed_pages();
    test_heap();
    return done_testing();
}
