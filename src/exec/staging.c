/* Inputs and outputs of runs on a device, in memory of the host from which it copies by itself. */
#include "exec/internal.h"

#include "base/fail.h"

#include <stdlib.h>

static float *host_floats(struct vbs_exec *exec, int64_t n)
{
    struct vbs_session *session = exec->session;

    return session->ops->device->host_alloc(session, (n > 0 ? n : 1) * (int64_t)sizeof(float));
}

enum vbs_status vbs_exec_stage(struct vbs_ctx *ctx, struct vbs_exec *exec)
{
    int n = exec->network->n_outputs;

    exec->staged_outputs = calloc((size_t)n + 1, sizeof *exec->staged_outputs);
    if (!exec->staged_outputs)
        return vbs_no_memory(ctx);
    for (int i = 0; i < n; i++) {
        exec->staged_outputs[i] = host_floats(exec, exec->request * exec->output_values[i]);
        if (!exec->staged_outputs[i])
            return vbs_no_memory(ctx);
    }
    exec->staged_input = host_floats(exec, exec->request * exec->input_values);
    return exec->staged_input ? VBS_OK : vbs_no_memory(ctx);
}

void vbs_exec_unstage(struct vbs_exec *exec)
{
    if (!exec->staged_outputs)
        return;
    for (int i = 0; i < exec->network->n_outputs; i++)
        if (exec->staged_outputs[i])
            exec->session->ops->device->host_free(exec->session, exec->staged_outputs[i]);
    if (exec->staged_input)
        exec->session->ops->device->host_free(exec->session, exec->staged_input);
    free(exec->staged_outputs);
}
