/*
 * The tensors of a measuring pass have buffers of their own, and share them only where memory is
 * scarce; then each holds its tensor as long as it is read.
 */
#include "support/tap.h"

#include "fake/session.h"

static void tensors_share_buffers_only_when_they_are_huge(void)
{
    struct fake *fake = fake_new(60, 3, 1);
    struct vbs_pass_buffers buffers;
    int64_t apart_bytes;

    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, VBS_SHARE_ABOVE_BYTES, &buffers),
           VBS_OK, "buffers of a small network");
    fake_pass(fake, &buffers, 2);
    is_int(fake->n_wrong, 0, "hold every tensor");
    ok(!buffers.input_overwritten && buffers.n_slots > 45, "one each (%d)", buffers.n_slots);
    vbs_pass_buffers_release(&fake->session, &buffers);
    apart_bytes = fake->allocated_bytes;
    fake->allocated_bytes = 0;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, 0, &buffers), VBS_OK,
           "buffers where memory is scarce");
    fake_pass(fake, &buffers, 2);
    fake_pass(fake, &buffers, 0);
    is_int(fake->n_wrong, 0, "hold every tensor as long as it is read");
    ok(buffers.input_overwritten && fake->allocated_bytes < apart_bytes / 3,
       "and take less (%d instead of %d bytes)", (int)fake->allocated_bytes, (int)apart_bytes);
    vbs_pass_buffers_release(&fake->session, &buffers);
    is_int(fake->n_frees, fake->n_allocs, "all is given back");
    fake_free(fake);
}

static void overflowing_activations_are_refused(void)
{
    struct fake *fake = fake_new(4, 2, 1);
    struct vbs_pass_buffers buffers;

    fake->layers[2].out_bytes = INT64_MAX / 2;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, 0, &buffers), VBS_UNSUPPORTED,
           "activations that overflow are refused");
    fake->layers[2].out_bytes = fake->layers[3].out_bytes = INT64_MAX / 4 - 1;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, 0, &buffers), VBS_UNSUPPORTED,
           "also when only their sum does");
    fake_free(fake);
}

int main(void)
{
    tensors_share_buffers_only_when_they_are_huge();
    overflowing_activations_are_refused();
    return done_testing();
}
