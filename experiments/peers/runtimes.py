"""The peers, each behind the same function: load(path, batch) -> (run, version).

run(images) takes an array of exactly `batch` images and gives the array of their outputs. All use
two threads on two cores and compute in fp32. Each is set up as its manual advises for inference
with known shapes; `onnxruntime-lean` and the several ways of PyTorch are variants of one peer.
"""
import os

THREADS = 2


def cores():
    """The cores that this process may use, no more than the threads."""
    return sorted(os.sched_getaffinity(0))[:THREADS]


def environment():
    """What must be set before a library of the peers is loaded: OpenMP binds its threads."""
    return {
        "OMP_NUM_THREADS": str(THREADS),
        "OMP_PROC_BIND": "true",
        "OMP_PLACES": ",".join(f"{{{core}}}" for core in cores()),
        "KMP_AFFINITY": "granularity=fine,compact",
        "MKL_NUM_THREADS": str(THREADS),
        "TORCHINDUCTOR_COMPILE_THREADS": "1",
    }


def base(peer):
    """Loads the library without any network, so that its own memory can be told apart."""
    if peer.startswith("onnxruntime"):
        import onnxruntime
        return onnxruntime.__version__
    if peer.startswith("openvino"):
        import openvino
        openvino.Core().get_property("CPU", "FULL_DEVICE_NAME")
        return openvino.__version__.split("-")[0]
    import torch
    import torch_network  # noqa: F401
    torch.set_num_threads(THREADS)
    torch.nn.Conv2d(1, 1, 1)(torch.zeros(1, 1, 1, 1))
    return torch.__version__


def onnxruntime_session(path, batch, lean):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    # The caller is the first thread, and is bound below; here those that it starts, counted from 1.
    others = ";".join(str(core + 1) for core in cores()[1:])
    if others:
        options.add_session_config_entry("session.intra_op_thread_affinities", others)
    if batch is not None:
        options.add_free_dimension_override_by_name("N", batch)
    if lean:
        options.enable_cpu_mem_arena = False
        options.add_session_config_entry("session.use_device_allocator_for_initializers", "1")
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def load_onnxruntime(path, batch, lean=False):
    session = onnxruntime_session(path, batch, lean)
    os.sched_setaffinity(0, cores()[:1])
    name = session.get_inputs()[0].name
    return lambda images: session.run(None, {name: images})[0]


def load_openvino(path, batch):
    import openvino
    core = openvino.Core()
    model = core.read_model(path)
    shape = model.inputs[0].partial_shape
    shape[0] = batch
    model.reshape({model.inputs[0]: shape})
    compiled = core.compile_model(model, "CPU", {
        "PERFORMANCE_HINT": "LATENCY",
        "NUM_STREAMS": "1",
        "INFERENCE_NUM_THREADS": THREADS,
        "ENABLE_CPU_PINNING": True,
        "INFERENCE_PRECISION_HINT": "f32",
        "EXECUTION_MODE_HINT": "ACCURACY",
    })
    request = compiled.create_infer_request()
    del model
    return lambda images: request.infer([images], share_inputs=True, share_outputs=True)[0]


def load_pytorch(path, batch, way):
    import numpy as np
    import torch
    from torch_network import Network
    torch.set_grad_enabled(False)
    network = Network(path).eval()
    layout = torch.contiguous_format if way == "eager" else torch.channels_last
    network = network.to(memory_format=layout)

    def given(images):
        return torch.from_numpy(images).to(memory_format=layout)

    if way in ("script", "compile"):
        shape = next(m for m in network.modules() if isinstance(m, torch.nn.Conv2d))
        example = given(np.zeros((batch, shape.in_channels, 224, 224), np.float32))
    if way == "script":
        network = torch.jit.optimize_for_inference(torch.jit.trace(network, example))
    elif way == "compile":
        import torch._inductor.config
        torch._inductor.config.freezing = True
        network = torch.compile(network, dynamic=False)
        network(example)
    return lambda images: network(given(images)).numpy()


LOADERS = {
    "onnxruntime": load_onnxruntime,
    "onnxruntime-lean": lambda path, batch: load_onnxruntime(path, batch, lean=True),
    "openvino": load_openvino,
    "pytorch-eager": lambda path, batch: load_pytorch(path, batch, "eager"),
    "pytorch-channels-last": lambda path, batch: load_pytorch(path, batch, "channels-last"),
    "pytorch-script": lambda path, batch: load_pytorch(path, batch, "script"),
    "pytorch-compile": lambda path, batch: load_pytorch(path, batch, "compile"),
}


def load(peer, path, batch):
    return LOADERS[peer](str(path), batch)
