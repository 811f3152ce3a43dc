#include "fake/cuda_common.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXTS  64
#define MAX_FAULTS 8
#define MAX_NAMES  160

struct fault {
    const char *function; /* null: any */
    int countdown, code;
    bool lasting;
};

static struct {
    const char *function; /* that was entered */
    bool struck;
    int lost;
    struct fault faults[MAX_FAULTS];
    int n_faults;
    struct {
        const char *name;
        int n;
    } calls[MAX_NAMES];
    int n_calls;
    char texts[MAX_TEXTS][240];
    int n_violations;
} state;

void fake_reset_faults(void)
{
    memset(&state, 0, sizeof state);
}

/* ---- Violations, faults and the log ---- */

static bool of_cudnn(const char *function)
{
    return strncmp(function, "cudnn", 5) == 0;
}

bool fake_in_cudnn(void)
{
    return of_cudnn(state.function);
}

int fake_wrong(const char *format, ...)
{
    va_list args;

    if (state.n_violations < MAX_TEXTS) {
        char *text = state.texts[state.n_violations];
        int n = snprintf(text, sizeof state.texts[0], "%s: ", state.function);

        va_start(args, format);
        vsnprintf(text + n, sizeof state.texts[0] - (size_t)n, format, args);
        va_end(args);
    }
    state.n_violations++;
    return fake_in_cudnn() ? (int)CUDNN_STATUS_BAD_PARAM : (int)cudaErrorInvalidValue;
}

void fake_count_call(const char *function)
{
    int i = 0;

    state.function = function;
    while (i < state.n_calls && strcmp(state.calls[i].name, function) != 0)
        i++;
    if (i == MAX_NAMES)
        abort();
    state.calls[i].name = function;
    state.calls[i].n++;
    state.n_calls += i == state.n_calls;
}

/* Gives a code in the form of this function. */
static int code_of(const char *function, int code)
{
    if (of_cudnn(function) && code < 1000)
        return code ? CUDNN_STATUS_EXECUTION_FAILED_CUDART : CUDNN_STATUS_INTERNAL_ERROR;
    return of_cudnn(function) || (code && code < 1000) ? code : (int)cudaErrorUnknown;
}

/* Gives the code for a missing device, if this function needs one. */
static int absent(const char *function)
{
    if ((fake_cuda.n_devices > 0 && !fake_cuda.count_error) || strstr(function, "Version"))
        return 0;
    if (of_cudnn(function))
        return CUDNN_STATUS_NOT_INITIALIZED;
    return fake_cuda.count_error ? fake_cuda.count_error : (int)cudaErrorNoDevice;
}

int fake_strike(const char *function)
{
    int code = absent(function);

    if (code)
        return code;
    for (int i = 0; i < state.n_faults; i++) {
        struct fault *f = &state.faults[i];

        if (f->countdown <= 0 || (f->function && strcmp(f->function, function) != 0) ||
            --f->countdown > 0)
            continue;
        code = code_of(function, f->code);
        state.struck = true;
        if (f->lasting)
            state.lost = f->code ? f->code : (int)cudaErrorUnknown;
    }
    return state.lost ? code_of(function, state.lost) : code;
}

static void add_fault(const char *function, int nth_call, int code, bool lasting)
{
    pthread_mutex_lock(&fake_lock);
    if (state.n_faults == MAX_FAULTS)
        abort();
    state.faults[state.n_faults++] = (struct fault){function, nth_call, code, lasting};
    pthread_mutex_unlock(&fake_lock);
}

void fake_cuda_fail(const char *function, int nth_call, int code)
{
    add_fault(function, nth_call, code, false);
}

void fake_cuda_lose(const char *function, int nth_call, int code)
{
    add_fault(function, nth_call, code, true);
}

int fake_lost(void)
{
    return state.lost;
}

int fake_cuda_violations(void)
{
    return state.n_violations;
}

const char *fake_cuda_violation(int i)
{
    return i >= 0 && i < state.n_violations && i < MAX_TEXTS ? state.texts[i] : NULL;
}

int fake_cuda_calls(const char *function)
{
    int n = 0;

    for (int i = 0; i < state.n_calls; i++)
        n += !function || strcmp(state.calls[i].name, function) == 0 ? state.calls[i].n : 0;
    return n;
}

bool fake_cuda_struck(void)
{
    return state.struck;
}
