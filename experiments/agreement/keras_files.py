"""Networks of keras.applications as ONNX files, by tf2onnx and by Keras' own export.

Images have their channels last. Weights are seeded; statistics of normalisations are those of
random images.
"""
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras  # noqa: E402
import numpy as np  # noqa: E402
import tensorflow as tf  # noqa: E402

# name: (files, side of an image)
NETWORKS = {
    "ResNet50": (["tf2onnx-13", "keras-18"], 224),
    "MobileNetV2": (["tf2onnx-9", "tf2onnx-15,1", "keras-17"], 224),
    "DenseNet121": (["tf2onnx-13", "keras-18"], 224),
    "InceptionV3": (["tf2onnx-12", "keras-18,1"], 299),
    "EfficientNetB0": (["tf2onnx-13", "keras-18"], 224),
    "NASNetMobile": (["tf2onnx-15", "keras-18"], 224),
    "Xception": (["tf2onnx-10", "keras-18"], 299),
}


def vary(model, rng):
    """Scales and shifts that differ; the statistics become those of the next batch."""
    normalised = any(isinstance(l, keras.layers.BatchNormalization) for l in model.layers)
    for layer in model.layers:
        kernel = getattr(layer, "kernel", None)
        if kernel is not None and not normalised:
            fan_in = np.prod(kernel.shape[:-1])
            kernel.assign(rng.normal(0, np.sqrt(2 / fan_in), kernel.shape))
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.momentum = 0.0
            for weight, centre in ((layer.gamma, 1), (layer.beta, 0)):
                if weight is not None:
                    weight.assign(rng.normal(centre, 0.2, weight.shape))
        elif getattr(layer, "bias", None) is not None:
            layer.bias.assign(rng.normal(0, 0.1, layer.bias.shape))


def network(name, side):
    keras.utils.set_random_seed(1)
    rng = np.random.default_rng(1)
    model = getattr(keras.applications, name)(weights=None, input_shape=(side, side, 3))
    vary(model, rng)
    images = rng.standard_normal((4, side, side, 3), dtype=np.float32)
    model(images * (255 if name.startswith("EfficientNet") else 1), training=True)
    return model


def export(name, exporter, opset, flags, path):
    side = NETWORKS[name][1]
    model = network(name, side)
    batch = 1 if "1" in flags else None
    if exporter == "keras":
        shape = [keras.InputSpec(shape=(batch, side, side, 3), dtype="float32", name="images")]
        model.export(path, format="onnx", opset_version=opset, input_signature=shape,
                     verbose=False)
        return
    import tf2onnx
    shape = [tf.TensorSpec((batch, side, side, 3), tf.float32, name="images")]
    call = tf.function(lambda images: model(images, training=False), input_signature=shape)
    tf2onnx.convert.from_function(call, input_signature=shape, opset=opset, output_path=path)
