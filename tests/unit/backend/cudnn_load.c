/*
 * The table of the functions of CUDA and cuDNN: each member is the function of its name, in the
 * type of its declaration, and where a library cannot be loaded, one line names it.
 * tests/cli/cudnn.t takes away the functions one by one.
 */
#include "backend/cudnn/api.h"

#include "fake/cuda.h"
#include "support/tap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HAS_TYPE(function)                                                                         \
    _Static_assert(__builtin_types_compatible_p(__typeof__(((struct cu_api *)0)->function),        \
                                                __typeof__(&function)),                            \
                   #function " has another type in the table than in the headers");
CU_RUNTIME_LIST(HAS_TYPE)
CU_CUDNN_LIST(HAS_TYPE)

/* ---- the functions of the fake ---- */

/* Counts the members that are not the functions with which this program is linked. */
static int wrong_members(const struct cu_api *api)
{
    int n_wrong = 0;

#define IS_ITS_OWN(function) n_wrong += api->function != function;
    CU_RUNTIME_LIST(IS_ITS_OWN)
    CU_CUDNN_LIST(IS_ITS_OWN)
    return n_wrong;
}

static void check_members(void)
{
    struct cu_api api = {0};
    char why[200] = "";

    ok(cu_load(&api, NULL, NULL, why, sizeof why), "the libraries are loaded%s%s",
       why[0] ? ": " : "", why);
    is_int(wrong_members(&api), 0, "all members are the functions of their names");
}

static void *load_often(void *self)
{
    int *n_wrong = self;

    for (int i = 0; i < 50; i++) {
        struct cu_api api = {0};
        char why[200];

        *n_wrong += cu_load(&api, NULL, NULL, why, sizeof why) ? wrong_members(&api) : 1;
        *n_wrong += cu_load(&api, NULL, "no-such-library", why, sizeof why);
        *n_wrong += !strstr(why, "no-such-library");
    }
    return NULL;
}

static void check_threads(void)
{
    enum { N = 4 };
    pthread_t threads[N];
    int n_wrong[N] = {0}, n = 0, sum = 0;

    while (n < N && pthread_create(&threads[n], NULL, load_often, &n_wrong[n]) == 0)
        n++;
    is_int(n, N, "threads");
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
        sum += n_wrong[i];
    }
    is_int(sum, 0, "which load the libraries at the same time, and each hears of its own failures");
}

/* ---- libraries that cannot be loaded ---- */

/* Checks the line, and that the table is as it was. */
static void check_refused(const char *name, const char *cudart, const char *cudnn,
                          const char *library, const char *reason)
{
    struct cu_api api, before;
    char why[200] = "";
    bool loaded;

    memset(&api, 0x5A, sizeof api);
    before = api;
    loaded = cu_load(&api, cudart, cudnn, why, sizeof why);
    ok(!loaded && strncmp(why, library, strlen(library)) == 0 && strstr(why, reason) &&
           !strchr(why, '\n'),
       "%s: %s", name, why);
    ok(memcmp(&api, &before, sizeof api) == 0, "%s: the table is unchanged", name);
}

static void check_absent(void)
{
    char cuda[32], cudnn[32];

    snprintf(cuda, sizeof cuda, "CUDA %d.%d cannot", CUDART_VERSION / 1000,
             CUDART_VERSION % 1000 / 10);
    snprintf(cudnn, sizeof cudnn, "cuDNN %d.%d cannot", CUDNN_MAJOR, CUDNN_MINOR);
    check_refused("no CUDA", "libcudart.so.1", NULL, cuda, "libcudart.so.1: cannot open");
    check_refused("no cuDNN", NULL, "libcudnn.so.1", cudnn, "libcudnn.so.1: cannot open");
    check_refused("neither", "libcudart.so.1", "libcudnn.so.1", cuda, "LD_LIBRARY_PATH");
    check_refused("a folder", "/", NULL, cuda, "/: ");
    check_refused("the C library", "libc.so.6", NULL, "vbslab was built for CUDA",
                  "there is no cudaDeviceGetAttribute in libc.so.6");
    check_refused("the C library for cuDNN", NULL, "libc.so.6", "vbslab was built for cuDNN",
                  "there is no cudnnActivationForward in libc.so.6");
}

/* Writes a file that is no library, or not all of one. */
static bool write_file(char *path, const char *bytes, size_t size)
{
    int file = mkstemp(path);
    bool whole = file >= 0 && write(file, bytes, size) == (ssize_t)size;

    if (file >= 0)
        close(file);
    return whole;
}

static void check_no_library(void)
{
    static const char text[] =
        "This is no library, but long enough for the beginning of one, in which "
        "the dynamic linker looks for its kind.";
    static const char elf[] = "\177ELF";
    char a[] = "/tmp/vbslab-XXXXXX", b[] = "/tmp/vbslab-XXXXXX";

    if (ok(write_file(a, text, sizeof text) && write_file(b, elf, sizeof elf), "two files")) {
        check_refused("a text", a, NULL, "CUDA", "invalid ELF header");
        check_refused("a beginning", NULL, b, "cuDNN", "file too short");
    }
    unlink(a);
    unlink(b);
}

/* A line that is longer than its place ends early. */
static void check_place(void)
{
    struct cu_api api;
    char why[16];

    memset(why, '#', sizeof why);
    ok(!cu_load(&api, "libcudart.so.1", NULL, why, 8), "a short place for the line");
    is_int((int64_t)strlen(why), 7, "has as much of it as there is place for");
    ok(why[8] == '#', "and no more");
}

int main(void)
{
    fake_cuda_reset();
    check_members();
    check_threads();
    check_absent();
    check_no_library();
    check_place();
    is_int(fake_cuda_calls(NULL), 0, "no function was called");
    return done_testing();
}
