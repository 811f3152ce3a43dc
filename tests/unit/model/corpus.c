/*
 * The inputs that fuzzing found worth keeping (tests/data/corpus; see tests/fuzz/readers.h): every
 * file is read, and its reader keeps its promises. Run it under the sanitizers too. Arguments:
 * files to read instead.
 */
#include "fuzz/readers.h"
#include "support/tap.h"

#include "base/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/resource.h>

#define FOLDER     "tests/data/corpus"
#define MAX_FILES  1000
#define MOST_BYTES ((size_t)1 << 20) /* of a file */
#define MOST_KB    (2L << 20)        /* of memory for all of them */

static void read_one(const char *path)
{
    struct vbs_ctx ctx = {0};
    const char *broken;
    size_t length;
    char *data;

    if (vbs_read_file(&ctx, path, MOST_BYTES, &data, &length) != VBS_OK) {
        ok(0, "%s: %s", path, ctx.detail);
        return;
    }
    broken = readers_run((const unsigned char *)data, length);
    if (!ok(!broken, "%s: %s", path, readers_name((const unsigned char *)data, length)))
        printf("# not so: %s\n", broken);
    free(data);
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_folder(void)
{
    struct dirent **entries;
    int n = scandir(FOLDER, &entries, is_visible, alphasort);

    ok(n > 0 && n <= MAX_FILES, "%s has files", FOLDER);
    for (int i = 0; i < n; i++) {
        char path[sizeof FOLDER + sizeof entries[i]->d_name];

        snprintf(path, sizeof path, "%s/%s", FOLDER, entries[i]->d_name);
        read_one(path);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
}

int main(int argc, char **argv)
{
    struct rusage usage;

    if (argc < 2)
        read_folder();
    for (int i = 1; i < argc; i++)
        read_one(argv[i]);
    ok(getrusage(RUSAGE_SELF, &usage) == 0 && usage.ru_maxrss < MOST_KB,
       "none of them took 2 GiB of memory");
    return done_testing();
}
