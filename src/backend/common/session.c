/* Functions that sessions of all backends share: opening, provenance, layers and closing. */
#include "backend/common/common.h"

#include "base/arith.h"
#include "base/fail.h"
#include "base/options.h"
#include "vbslab/units.h"

#include <stdlib.h>

enum vbs_status vbs_session_open(struct vbs_ctx *ctx, const struct vbs_session_class *class,
                                 const struct vbs_network *network,
                                 const struct vbs_backend_options *options,
                                 struct vbs_session **session)
{
    struct vbs_session_core *core;
    struct vbs_backend_options own;
    enum vbs_status status;

    VBS_TRY(vbs_options_read(ctx, "vbs_backend_options", options, &own, sizeof own));
    core = calloc(1, class->size);
    if (!core)
        return vbs_no_memory(ctx);
    core->session.ops = class->ops;
    core->session.modelled = class->modelled;
    core->network = network;
    core->weights_given = own.weights_given;
    status = class->init(ctx, core, &own);
    if (status != VBS_OK) {
        class->ops->close(&core->session);
        return status;
    }
    *session = &core->session;
    return VBS_OK;
}

void vbs_session_core_clear(struct vbs_session_core *core)
{
    vbs_weight_rows_clear(core);
    free(core->offers);
    vbs_arena_clear(&core->arena);
}

enum vbs_status vbs_session_init_provenance(struct vbs_ctx *ctx, struct vbs_session_core *core,
                                            const struct vbs_provenance *texts)
{
    struct vbs_arena *arena = &core->arena;
    const char *input;
    struct vbs_provenance made;
    char *text;

    VBS_TRY(vbs_network_inputs_text(ctx, core->network, &text));
    input = vbs_arena_strdup(arena, text);
    free(text);
    made = (struct vbs_provenance){
        .model = vbs_arena_strdup(arena, core->network->name),
        .input = input,
        .backend = vbs_arena_strdup(arena, texts->backend),
        .library = vbs_arena_strdup(arena, texts->library),
        .device = vbs_arena_strdup(arena, texts->device),
        .vbslab = vbs_version(),
        .layout = texts->layout,
        .date = "",
        .notes = vbs_arena_strdup(arena, texts->notes),
        .threads = texts->threads,
    };

    if (!made.model || !made.input || !made.backend || !made.library || !made.device || !made.notes)
        return vbs_no_memory(ctx);
    core->session.provenance = made;
    return VBS_OK;
}

enum vbs_status vbs_session_init_layers(struct vbs_ctx *ctx, struct vbs_session_core *core)
{
    core->layers =
        vbs_arena_alloc(&core->arena, (size_t)core->network->n_layers + 1, sizeof *core->layers);
    if (!core->layers)
        return vbs_no_memory(ctx);
    core->layers[0] =
        (struct vbs_profile_layer){.name = VBS_INPUT_NAME,
                                   .kind = VBS_INPUT_NAME,
                                   .out_bytes = vbs_network_out_bytes(core->network, 0)};
    core->session.layers = core->layers;
    core->session.n_layers = core->network->n_layers;
    return VBS_OK;
}

uint64_t vbs_session_geometry(const struct vbs_session_core *core, int k, int layer)
{
    const struct vbs_profile_layer *own = &core->layers[k];
    uint64_t hash = vbs_network_layer_hash(core->network, layer);

    hash = vbs_mix(hash, own->in_place);
    /* Which input comes first, and so is overwritten, decides about kernels too. */
    for (int i = 0; own->in_place && i < core->network->layers[layer].n_inputs; i++)
        hash = vbs_mix(hash, core->network->layers[layer].inputs[i] == own->inputs[0]);
    hash = vbs_mix(hash, (uint64_t)own->in_bytes);
    return vbs_mix(hash, (uint64_t)own->out_bytes);
}
