#!/usr/bin/env python3
"""Makes quantised files and files of 16-bit floats out of exported ones, as people make them.

  variants.py [--models DIR] [--list] [NAME...]

A file is called like the one that it is made from, with +KIND. Kinds:

  dynamic       onnxruntime.quantization.quantize_dynamic: weights in 8 bits, values quantised by data
  qdq           quantize_static, QuantizeLinear and DequantizeLinear around operators, per tensor
  channel       the same with one scale for each channel of the weights, int8 on both sides
  qoperator     quantize_static with QLinearConv and its like
  nibbles       MatMulNBits: weights of matrix products in 4 bits, by block
  weights       weights of convolutions and products in 8 bits, behind DequantizeLinear; values in floats
  half          onnxconverter_common.float16: all in 16 bits, inputs and outputs in 32
"""
import argparse
import pathlib
import sys
import warnings

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnxruntime import quantization
from onnxruntime.quantization.calibrate import CalibrationDataReader

import reference

# file without its suffix: kinds
FILES = {
    "module/crnn-torchscript-13-open": ["dynamic", "qdq", "channel", "weights", "half"],
    "module/encoder-torchscript-14-open": ["dynamic", "qdq", "nibbles", "weights", "half"],
    "module/tagger-torchscript-13-open": ["dynamic", "weights"],
    "module/words-torchscript-13-open": ["dynamic", "qdq", "half"],
    "module/unet-torchscript-13-open": ["qdq", "channel", "qoperator", "half"],
    "module/speech-torchscript-13-open": ["dynamic", "qdq", "half"],
    "module/step-torchscript-13-open": ["dynamic"],
    "module/bert-torchscript-13-open": ["dynamic", "nibbles"],
    "module/wave-torchscript-13-open": ["qdq", "half"],
    "timm/mixer_s32_224-torchscript-12-open": ["dynamic", "weights"],
    "timm/mobilenetv4_conv_small-torchscript-16-open": ["qdq", "channel", "half"],
    "timm/vit_tiny_patch16_224-torchscript-17-open": ["dynamic", "qdq", "channel", "nibbles", "half"],
    "torchvision/efficientnet_b0-torchscript-13-open": ["qdq", "channel"],
    "torchvision/mobilenet_v2-torchscript-10-open": ["qdq", "channel", "qoperator", "weights", "half"],
    "torchvision/mobilenet_v3_small-torchscript-14-1": ["qdq", "channel", "qoperator"],
    "torchvision/resnet18-torchscript-13-open": ["dynamic", "qdq", "channel", "qoperator", "weights",
                                                 "half"],
    "torchvision/shufflenet_v2_x1_0-torchscript-15-1": ["qdq", "qoperator"],
    "torchvision/squeezenet1_1-torchscript-12-open": ["qdq", "channel", "qoperator", "half"],
}


class Samples(CalibrationDataReader):
    """Seeded requests, one after the other."""

    def __init__(self, path, key):
        rng = np.random.default_rng(3)
        given = reference.Reference(path, key, "").given
        self.requests = iter([{one.name: one.request(rng) for one in given} for _ in range(3)])

    def get_next(self):
        return next(self.requests, None)


def raised(path, folder):
    """The same network in opset 13 at least, which scales for each channel need, with shapes."""
    from onnxruntime.quantization.shape_inference import quant_pre_process
    model = onnx.load(path)
    if next(o.version for o in model.opset_import if o.domain == "") < 13:
        model = onnx.version_converter.convert_version(model, 13)
    source, made = folder / "raised.onnx", folder / "prepared.onnx"
    onnx.save(model, source)
    quant_pre_process(source, made, skip_symbolic_shape=True)
    return made


def static(source, path, key, **options):
    folder = path.parent / "part"
    folder.mkdir(exist_ok=True)
    quantization.quantize_static(raised(source, folder), path, Samples(source, key), **options)


def weights_only(source, path):
    """Each large weight becomes 8 bits behind a DequantizeLinear, a scale for each row."""
    model = onnx.load(source)
    if next(o.version for o in model.opset_import if o.domain == "") < 13:
        model = onnx.version_converter.convert_version(model, 13)
    readers = {node.input[1]: node for node in model.graph.node
               if node.op_type in ("Conv", "Gemm", "MatMul") and len(node.input) > 1}
    for tensor in list(model.graph.initializer):
        values = numpy_helper.to_array(tensor)
        node = readers.get(tensor.name)
        if node is None or values.ndim < 2 or values.size < 256 or values.dtype != np.float32:
            continue
        axis = 1 if node.op_type == "MatMul" else 0
        others = tuple(i for i in range(values.ndim) if i != axis)
        scale = np.maximum(np.abs(values).max(others), 1e-9).astype(np.float32) / 127
        shape = [-1 if i == axis else 1 for i in range(values.ndim)]
        stored = np.clip(np.rint(values / scale.reshape(shape)), -127, 127).astype(np.int8)
        name = tensor.name
        model.graph.initializer.remove(tensor)
        model.graph.initializer.extend([
            numpy_helper.from_array(stored, name + "_8"),
            numpy_helper.from_array(scale, name + "_scale"),
            numpy_helper.from_array(np.zeros(scale.shape, np.int8), name + "_zero")])
        model.graph.node.insert(0, helper.make_node(
            "DequantizeLinear", [name + "_8", name + "_scale", name + "_zero"], [name], axis=axis))
    onnx.save(model, path)


def nibbles(source, path):
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
    quantizer = MatMulNBitsQuantizer(onnx.load(source), block_size=32, is_symmetric=True)
    quantizer.process()
    quantizer.model.save_model_to_file(str(path))


def half(source, path):
    from onnxconverter_common import float16
    onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), path)


def make(kind, source, path, key):
    int8, uint8 = quantization.QuantType.QInt8, quantization.QuantType.QUInt8
    formats = quantization.QuantFormat
    if kind == "dynamic":
        quantization.quantize_dynamic(source, path, weight_type=int8)
    elif kind == "qdq":
        static(source, path, key, quant_format=formats.QDQ, activation_type=uint8, weight_type=int8)
    elif kind == "channel":
        static(source, path, key, quant_format=formats.QDQ, activation_type=int8, weight_type=int8,
               per_channel=True)
    elif kind == "qoperator":
        static(source, path, key, quant_format=formats.QOperator, activation_type=uint8,
               weight_type=uint8)
    else:
        {"weights": weights_only, "nibbles": nibbles, "half": half}[kind](source, path)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of names (default: all)")
    parser.add_argument("--models", type=pathlib.Path, default="build/agreement")
    parser.add_argument("--list", action="store_true", help="print the names of the files")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    folder = arguments.models / "variant"
    folder.mkdir(exist_ok=True, parents=True)
    failed = 0
    for key, kinds in FILES.items():
        for kind in kinds:
            path = folder / f"{key.split('/')[1]}+{kind}.onnx"
            if arguments.names and not any(name in path.name for name in arguments.names):
                continue
            if arguments.list:
                print(path.name)
            elif path.exists():
                print(f"{path.name}: is there", file=sys.stderr)
            else:
                try:
                    make(kind, arguments.models / f"{key}.onnx", path, key)
                    print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB", file=sys.stderr)
                except Exception as why:  # whatever a quantiser raises: the others go on
                    path.unlink(missing_ok=True)
                    print(f"{path.name}: {reference.one_line(why)}", file=sys.stderr)
                    failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
