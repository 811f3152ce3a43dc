/* The tensors of a measuring pass share buffers, each of which holds a tensor as long as it is
 * read. */
#include "support/tap.h"

#include "fake/session.h"

static void tensors_share_buffers(void)
{
    struct fake *fake = fake_new(60, 3, 1);
    struct vbs_pass_buffers buffers;
    int64_t sum = 0;

    for (int k = 0; k <= 60; k++)
        sum += 4 * fake->layers[k].out_bytes;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, &buffers), VBS_OK, "buffers");
    fake_pass(fake, &buffers, 2);
    fake_pass(fake, &buffers, 0);
    is_int(fake->n_wrong, 0, "hold every tensor as long as it is read");
    ok(fake->allocated_bytes < sum / 3, "and take less (%d instead of %d bytes)",
       (int)fake->allocated_bytes, (int)sum);
    ok(!buffers.input_overwritten, "the input stays to the end");
    vbs_pass_buffers_release(&fake->session, &buffers);
    is_int(fake->n_frees, fake->n_allocs, "all is given back");
    fake_free(fake);
}

static void overflowing_activations_are_refused(void)
{
    struct fake *fake = fake_new(4, 2, 1);
    struct vbs_pass_buffers buffers;

    fake->layers[2].out_bytes = INT64_MAX / 2;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, &buffers), VBS_UNSUPPORTED,
           "activations that overflow are refused");
    fake->layers[2].out_bytes = fake->layers[3].out_bytes = INT64_MAX / 4 - 1;
    is_int(vbs_pass_buffers_init(&fake->ctx, &fake->session, 4, &buffers), VBS_UNSUPPORTED,
           "also when only their sum does");
    fake_free(fake);
}

int main(void)
{
    tensors_share_buffers();
    overflowing_activations_are_refused();
    return done_testing();
}
