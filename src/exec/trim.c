/*
 * Giving memory back that preparing took and runs do not need. Preparing touches several times the
 * code that runs do: parsers, planners, and the generators of oneDNN. These pages stay resident,
 * although the system could read them from their files again.
 */
#include "vbslab/exec.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

/* The system's words about pages, /proc/self/pagemap: one of 64 bits for each page. */
#define IN_MEMORY ((uint64_t)1 << 63)
#define OF_A_FILE ((uint64_t)1 << 61) /* not changed since it was read from there */
#define CHUNK     512                 /* words that are read at once */

struct pages {
    int words; /* /proc/self/pagemap */
    uintptr_t page_bytes;
};

/* Gives back the pages that are unchanged pages of a file, n at most from address first on. Changed
 * ones, such as those with a debugger's breakpoints, would be lost. */
static void give_back(const struct pages *pages, uintptr_t first, size_t n)
{
    uint64_t word[CHUNK];
    ssize_t got = pread(pages->words, word, n * sizeof *word,
                        (off_t)(first / pages->page_bytes * sizeof *word));
    size_t n_words = got > 0 ? (size_t)got / sizeof *word : 0, from = 0;

    for (size_t i = 0; i <= n_words; i++) {
        if (i < n_words && (word[i] & (IN_MEMORY | OF_A_FILE)) == (IN_MEMORY | OF_A_FILE))
            continue;
        if (i > from)
            (void)madvise((void *)(first + from * pages->page_bytes),
                          (i - from) * pages->page_bytes, MADV_DONTNEED);
        from = i + 1;
    }
}

static void give_segment_back(const struct pages *pages, uintptr_t begin, uintptr_t end)
{
    uintptr_t bytes = pages->page_bytes;
    uintptr_t at = begin / bytes * bytes, last = (end + bytes - 1) / bytes * bytes;

    for (; at < last; at += CHUNK * bytes) {
        size_t n = (last - at) / bytes;

        give_back(pages, at, n < CHUNK ? n : CHUNK);
    }
}

/* Gives back what cannot be written of the program or of a library. */
static int give_object_back(struct dl_phdr_info *object, size_t size, void *self)
{
    (void)size;
    if (object->dlpi_addr != 0 && object->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
        return 0; /* no file: the system's own page */
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &object->dlpi_phdr[i];
        uintptr_t begin = object->dlpi_addr + header->p_vaddr;

        if (header->p_type == PT_LOAD && !(header->p_flags & PF_W))
            give_segment_back(self, begin, begin + header->p_memsz);
    }
    return 0;
}

void vbs_exec_trim(void)
{
    struct pages pages = {.words = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC),
                          .page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE)};

    malloc_trim(0);
    if (pages.words < 0)
        return;
    dl_iterate_phdr(give_object_back, &pages);
    close(pages.words);
}
