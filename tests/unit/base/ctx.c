/*
 * A context gives the status and the reason of the last failure, and passes the caller's wish to
 * stop on to long calls.
 */
#include "base/clock.h"
#include "base/fail.h"
#include "support/tap.h"

int main(void)
{
    volatile sig_atomic_t stop = 0;
    struct vbs_ctx *ctx = vbs_ctx_new();

    ok(ctx && vbs_ctx_status(ctx) == VBS_OK, "a new context knows of no failure");
    ok(vbs_fail(ctx, VBS_IO, "%s: no such file", "x") == VBS_IO && vbs_ctx_status(ctx) == VBS_IO &&
           strcmp(vbs_detail(ctx), "x: no such file") == 0,
       "it keeps status and reason of the last failure");
    ok(vbs_check_cancel(ctx) == VBS_OK, "nobody asks to stop");
    vbs_ctx_set_cancel(ctx, &stop);
    ok(vbs_check_cancel(ctx) == VBS_OK, "nor does a flag that is 0");
    stop = 1;
    ok(vbs_check_cancel(ctx) == VBS_INTERRUPTED && vbs_ctx_status(ctx) == VBS_INTERRUPTED,
       "a flag that is set does");
    vbs_ctx_set_cancel(ctx, NULL);
    ok(vbs_check_cancel(ctx) == VBS_OK, "and no more once it is taken away");
    ctx->deadline_s = vbs_clock_s() + 1e9;
    ok(vbs_check_cancel(ctx) == VBS_OK && !vbs_out_of_time(ctx), "nor does a deadline to come");
    ctx->deadline_s = vbs_clock_s() - 1;
    ok(vbs_check_cancel(ctx) == VBS_INTERRUPTED && vbs_out_of_time(ctx),
       "but one that is over does, which is told apart");
    vbs_ctx_set_cancel(ctx, &stop);
    ok(vbs_check_cancel(ctx) == VBS_INTERRUPTED && !vbs_out_of_time(ctx),
       "from the caller's wish, which counts before it");
    ok(!vbs_out_of_time(NULL), "no context has no deadline");
    vbs_ctx_free(ctx);
    vbs_ctx_free(NULL);
    vbs_ctx_set_cancel(NULL, &stop);
    ok(vbs_ctx_status(NULL) == VBS_OK && vbs_fail(NULL, VBS_IO, "lost") == VBS_IO,
       "no context is allowed everywhere");
    return done_testing();
}
