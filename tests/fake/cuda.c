#include "fake/cuda_common.h"

#include <string.h>

#define DEFAULTS                                                                                   \
    {                                                                                              \
        .n_devices = 1, .total_bytes = (size_t)1 << 30, .major = 9, .clock_khz = 1000000,          \
        .n_multiprocessors = 8, .driver_version = 13000, .runtime_version = 13000,                 \
        .cudnn_version = CUDNN_VERSION, .cudnn_cudart_version = 13000                              \
    }

static const struct fake_cuda_settings defaults = DEFAULTS;
struct fake_cuda_settings fake_cuda = DEFAULTS;
const bool fake_cuda_is_here = true;

_Thread_local struct fake_thread fake_thread;
pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;

static bool started;
static int generation; /* of resets */

static void start(void)
{
    if (started)
        return;
    fake_start_objects();
    fake_start_work();
    fake_start_memory();
    started = true;
    generation++;
}

void fake_cuda_reset(void)
{
    fake_reset_memory();
    fake_reset_objects();
    fake_reset_work();
    fake_reset_faults();
    started = false;
    fake_cuda = defaults;
}

/* ---- Entering and leaving ---- */

void fake_note(const char *function)
{
    pthread_mutex_lock(&fake_lock);
    start();
    if (fake_thread.generation != generation) {
        memset(&fake_thread, 0, sizeof fake_thread);
        fake_thread.generation = generation;
    }
    fake_count_call(function);
}

int fake_enter(const char *function)
{
    fake_note(function);
    fake_wander();
    return fake_strike(function);
}

int fake_leave(int code)
{
    fake_wander();
    if (code && !fake_in_cudnn())
        fake_thread.last_error = code;
    pthread_mutex_unlock(&fake_lock);
    return code;
}
