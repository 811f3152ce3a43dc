/* Graphs: what a stream captures is kept, and queued by every launch. */
#include "fake/cuda_common.h"

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    int code = fake_enter(__func__);
    struct fake_object *s = code ? NULL : fake_stream(stream);

    if (s && mode > cudaStreamCaptureModeRelaxed)
        code = fake_wrong("unknown mode %d", (int)mode);
    else if (!code)
        code = s ? fake_capture(s) : (int)cudaErrorInvalidResourceHandle;
    return fake_leave(code);
}

/* Ends the capture also where it fails. */
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
    int code = fake_enter(__func__);
    struct fake_object *s = fake_stream(stream), *captured = NULL;
    int ended = s ? fake_captured(s, &captured) : (int)cudaErrorInvalidResourceHandle;

    if (captured && code)
        fake_end(FAKE_GRAPH, captured);
    code = code ? code : ended;
    if (graph)
        *graph = code ? NULL : (cudaGraph_t)captured;
    return fake_leave(code);
}

static int instantiate(cudaGraphExec_t *exec, cudaGraph_t graph)
{
    const struct fake_object *g = fake_object(FAKE_GRAPH, graph);
    struct fake_object *e;

    if (!exec || !g)
        return cudaErrorInvalidValue;
    e = fake_object_new(FAKE_GRAPH_EXEC);
    if (!e)
        return cudaErrorMemoryAllocation;
    e->graph = g->graph;
    e->graph.branch = fake_object_new(FAKE_STREAM);
    if (!e->graph.branch) {
        e->live = false;
        return cudaErrorMemoryAllocation;
    }
    e->graph.branch->live = false; /* no handle leads to it */
    fake_keep_stream(e->graph.branch);
    *exec = (cudaGraphExec_t)e;
    return 0;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
    int code = fake_enter(__func__);

    if (code == 0 && flags != 0)
        code = fake_wrong("unknown flags %#llx", flags);
    return fake_leave(code ? code : instantiate(exec, graph));
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_GRAPH, graph);

    return fake_leave(code ? code : ended);
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t exec)
{
    int code = fake_enter(__func__), ended = fake_end(FAKE_GRAPH_EXEC, exec);

    return fake_leave(code ? code : ended);
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
    int code = fake_enter(__func__);
    const struct fake_object *e = code ? NULL : fake_object(FAKE_GRAPH_EXEC, exec);
    struct fake_object *s = e ? fake_stream(stream) : NULL;

    if (s)
        fake_launch(e, s);
    else if (!code)
        code = cudaErrorInvalidResourceHandle;
    return fake_leave(code);
}
