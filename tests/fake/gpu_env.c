/*
 * The fake for programs that know nothing of it, which are tested by the command line. FAKE_CUDA in
 * the environment names the faults, separated by spaces:
 *
 *     none, driver          no device; a driver older than the runtime
 *     cudnn, runtime        another cuDNN or CUDA than the program was built with
 *     memory=BYTES          of the device
 *     FUNCTION=N            its Nth call fails, for want of memory
 *     lost=N                the device is lost in the Nth call
 */
#include "fake/cuda.h"

#include <stdlib.h>
#include <string.h>

#define OUT_OF_MEMORY 2   /* cudaErrorMemoryAllocation */
#define OLD_DRIVER    35  /* cudaErrorInsufficientDriver */
#define ILLEGAL       700 /* cudaErrorIllegalAddress */

static void obey(const char *word)
{
    const char *equals = strchr(word, '=');
    char name[64] = "";

    if (equals && (size_t)(equals - word) < sizeof name)
        memcpy(name, word, (size_t)(equals - word));
    if (strcmp(word, "none") == 0)
        fake_cuda.n_devices = 0;
    else if (strcmp(word, "driver") == 0) {
        fake_cuda.count_error = OLD_DRIVER;
        fake_cuda.driver_version = 12040;
    } else if (strcmp(word, "cudnn") == 0)
        fake_cuda.cudnn_version = 80905;
    else if (strcmp(word, "runtime") == 0)
        fake_cuda.runtime_version = 12090;
    else if (strcmp(name, "memory") == 0)
        fake_cuda.total_bytes = (size_t)strtoull(equals + 1, NULL, 10);
    else if (strcmp(name, "lost") == 0)
        fake_cuda_lose(NULL, atoi(equals + 1), ILLEGAL);
    else if (equals)
        fake_cuda_fail(strdup(name), atoi(equals + 1), OUT_OF_MEMORY);
}

__attribute__((constructor)) static void set_up(void)
{
    const char *wish = getenv("FAKE_CUDA");
    char *words = wish ? strdup(wish) : NULL;

    for (char *word = words ? strtok(words, " ") : NULL; word; word = strtok(NULL, " "))
        obey(word);
    free(words);
}
