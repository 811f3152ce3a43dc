/* The addresses of the tensors of a measuring pass. */
#include "profile/measure/measure.h"

#include "base/arith.h"
#include "base/fail.h"
#include "vbslab/units.h"

/* The lifetimes and sizes of tensors; arrays by tensor, 0 = the network's input. */
struct tensors {
    int n;          /* layers + 1 */
    int *root;      /* the tensor at whose address it is: itself unless it is made in place */
    int64_t *bytes; /* of a root: size of the largest tensor at its address */
    int *last;      /* of a root: the last layer that touches it */
};

/* The input is kept to the end, so that the next pass need not fill it again. */
static void find_lives(const struct vbs_session *session, struct tensors *tensors)
{
    for (int k = 0; k < tensors->n; k++) {
        const struct vbs_profile_layer *layer = &session->layers[k];
        bool joins = k > 0 && layer->in_place && layer->n_inputs > 0;

        tensors->root[k] = joins ? tensors->root[layer->inputs[0]] : k;
        tensors->last[tensors->root[k]] = k;
        for (int i = 0; k > 0 && i < layer->n_inputs; i++)
            tensors->last[tensors->root[layer->inputs[i]]] = k;
    }
    tensors->last[0] = tensors->n - 1;
}

/* Computes the bytes of every root; false when they or their sum overflow. */
static bool find_sizes(const struct vbs_session *session, int max_batch, struct tensors *tensors)
{
    int64_t total_bytes = 0;

    for (int k = 0; k < tensors->n; k++) {
        int64_t *largest = &tensors->bytes[tensors->root[k]];
        int64_t bytes;

        if (!vbs_mul(session->layers[k].out_bytes, max_batch, &bytes))
            return false;
        if (bytes > *largest)
            *largest = bytes;
    }
    for (int k = 0; k < tensors->n; k++)
        if (!vbs_add(total_bytes, tensors->bytes[k], &total_bytes))
            return false;
    return true;
}

/* Gives the free slot for a tensor of some bytes: the smallest that is large enough, else the
 * largest, which is then enlarged; n_slots when none is free. */
static int best_slot(const int64_t *slot_bytes, const bool *taken, int n_slots, int64_t bytes)
{
    int best = n_slots;

    for (int s = 0; s < n_slots; s++) {
        if (taken[s])
            continue;
        if (best == n_slots ||
            (slot_bytes[best] < bytes ? slot_bytes[s] > slot_bytes[best]
                                      : slot_bytes[s] >= bytes && slot_bytes[s] < slot_bytes[best]))
            best = s;
    }
    return best;
}

/* Gives every root a slot, in network order. A slot is free again after the last layer that
 * reads or writes its tensor. Final outputs without readers are free too, because a pass
 * discards them. */
static int assign_slots(const struct tensors *tensors, int64_t *slot_bytes, int *slot_of,
                        bool *taken)
{
    int n_slots = 0;

    for (int k = 0; k < tensors->n; k++) {
        if (tensors->root[k] == k) {
            int slot = best_slot(slot_bytes, taken, n_slots, tensors->bytes[k]);

            n_slots += slot == n_slots;
            taken[slot] = true;
            if (slot_bytes[slot] < tensors->bytes[k])
                slot_bytes[slot] = tensors->bytes[k];
            slot_of[k] = slot;
        } else {
            slot_of[k] = slot_of[tensors->root[k]];
        }
        for (int j = 0; j <= k; j++)
            if (tensors->root[j] == j && tensors->last[j] == k)
                taken[slot_of[j]] = false;
    }
    return n_slots;
}

static bool input_is_overwritten(const int *slot_of, int n_tensors)
{
    for (int k = 1; k < n_tensors; k++)
        if (slot_of[k] == slot_of[0])
            return true;
    return false;
}

static enum vbs_status lay_out(struct vbs_ctx *ctx, const struct vbs_session *session,
                               int max_batch, struct vbs_pass_buffers *buffers)
{
    struct tensors tensors = {.n = session->n_layers + 1};
    size_t n = (size_t)tensors.n;
    int64_t *slot_bytes = vbs_arena_alloc(&buffers->arena, n, sizeof *slot_bytes);
    int *slot_of = vbs_arena_alloc(&buffers->arena, n, sizeof *slot_of);
    bool *taken = vbs_arena_alloc(&buffers->arena, n, sizeof *taken);

    tensors.root = vbs_arena_alloc(&buffers->arena, n, sizeof *tensors.root);
    tensors.bytes = vbs_arena_alloc(&buffers->arena, n, sizeof *tensors.bytes);
    tensors.last = vbs_arena_alloc(&buffers->arena, n, sizeof *tensors.last);
    if (!slot_bytes || !slot_of || !taken || !tensors.root || !tensors.bytes || !tensors.last)
        return vbs_no_memory(ctx);
    find_lives(session, &tensors);
    if (!find_sizes(session, max_batch, &tensors))
        return vbs_fail(ctx, VBS_UNSUPPORTED, "the activations of batch %d overflow 64 bits",
                        max_batch);
    buffers->n_slots = assign_slots(&tensors, slot_bytes, slot_of, taken);
    buffers->slot_bytes = slot_bytes;
    buffers->slot_of = slot_of;
    buffers->input_overwritten = input_is_overwritten(slot_of, tensors.n);
    buffers->slots = vbs_arena_alloc(&buffers->arena, n, sizeof *buffers->slots);
    return buffers->slots ? VBS_OK : vbs_no_memory(ctx);
}

static enum vbs_status obtain(struct vbs_ctx *ctx, struct vbs_session *session, const char *what,
                              int64_t bytes, int max_batch, void **memory)
{
    char size[24];

    *memory = session->ops->alloc(session, bytes > 0 ? bytes : 1);
    if (*memory)
        return VBS_OK;
    return vbs_fail(ctx, VBS_NO_MEMORY,
                    "cannot obtain %s for the %s of batch %d; measure smaller batches",
                    vbs_format_bytes(bytes, size, sizeof size), what, max_batch);
}

enum vbs_status vbs_pass_buffers_init(struct vbs_ctx *ctx, struct vbs_session *session,
                                      int max_batch, struct vbs_pass_buffers *buffers)
{
    int64_t scratch_bytes = 0;
    enum vbs_status status;

    *buffers = (struct vbs_pass_buffers){0};
    for (int i = 0; i < session->n_kernels; i++)
        if (session->kernels[i].ws_bytes > scratch_bytes)
            scratch_bytes = session->kernels[i].ws_bytes;
    status = lay_out(ctx, session, max_batch, buffers);
    for (int s = 0; status == VBS_OK && s < buffers->n_slots; s++)
        status = obtain(ctx, session, "activations", buffers->slot_bytes[s], max_batch,
                        &buffers->slots[s]);
    if (status == VBS_OK && scratch_bytes > 0)
        status = obtain(ctx, session, "scratch", scratch_bytes, max_batch, &buffers->scratch);
    if (status != VBS_OK)
        vbs_pass_buffers_release(session, buffers);
    return status;
}

void vbs_pass_buffers_release(struct vbs_session *session, struct vbs_pass_buffers *buffers)
{
    for (int s = 0; buffers->slots && s < buffers->n_slots; s++)
        if (buffers->slots[s])
            session->ops->free(session, buffers->slots[s]);
    if (buffers->scratch)
        session->ops->free(session, buffers->scratch);
    vbs_arena_clear(&buffers->arena);
    *buffers = (struct vbs_pass_buffers){0};
}
