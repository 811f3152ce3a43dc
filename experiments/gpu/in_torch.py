"""Times of networks in PyTorch on a GPU: fp32 without TF32, NCHW, cuDNN's fastest algorithms
(cudnn.benchmark), replayed as a graph of CUDA; the median of 30 runs."""
import statistics

import torch
import torchvision

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
torch.backends.cudnn.benchmark = True

NETWORKS = {
    "vgg-16": torchvision.models.vgg16,
    "resnet-50": torchvision.models.resnet50,
    "squeezenet-v1.0": torchvision.models.squeezenet1_0,
    "googlenet": lambda: torchvision.models.googlenet(init_weights=False, aux_logits=False),
}
RUNS = 30


def times_us(call):
    """The times of RUNS calls, from event to event, after three that warm up."""
    times = []
    for run in range(3 + RUNS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        if run >= 3:
            times.append(start.elapsed_time(end) * 1e3)
    return times


def recorded(network, images):
    """A call that replays the network's graph."""
    beside = torch.cuda.Stream()
    beside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(beside):
        for _ in range(3):
            network(images)
    torch.cuda.current_stream().wait_stream(beside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        network(images)
    return graph.replay


def main():
    print(f"# torch: {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print(f"# device: {torch.cuda.get_device_name()}")
    print("network,batch,how,time_us,low_us,memory_bytes")
    for name, make in NETWORKS.items():
        network = make().eval().cuda()
        for batch in (1, 4, 12):
            images = torch.rand(batch, 3, 224, 224, device="cuda")
            torch.cuda.reset_peak_memory_stats()
            with torch.inference_mode():
                for how, call in (("eager", lambda: network(images)), ("graph", recorded(network, images))):
                    times = times_us(call)
                    memory = torch.cuda.max_memory_allocated()
                    print(f"{name},{batch},{how},{statistics.median(times):.1f},{min(times):.1f},{memory}", flush=True)


if __name__ == "__main__":
    main()
