/* In place of the fake, for tests of the cudnn backend that run on a real GPU. */
#include "fake/cuda.h"

#include <stddef.h>

const bool fake_cuda_is_here = false;

struct fake_cuda_settings fake_cuda;

void fake_cuda_reset(void)
{
}

void fake_cuda_order(unsigned seed)
{
    (void)seed;
}

void fake_cuda_fail(const char *function, int nth_call, int code)
{
    (void)function;
    (void)nth_call;
    (void)code;
}

void fake_cuda_lose(const char *function, int nth_call, int code)
{
    (void)function;
    (void)nth_call;
    (void)code;
}

bool fake_cuda_struck(void)
{
    return false;
}

int fake_cuda_calls(const char *function)
{
    (void)function;
    return 0;
}

int fake_cuda_live(void)
{
    return 0;
}

const char *fake_cuda_live_text(void)
{
    return "";
}

int fake_cuda_violations(void)
{
    return 0;
}

const char *fake_cuda_violation(int i)
{
    (void)i;
    return NULL;
}
