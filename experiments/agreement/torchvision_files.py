"""Networks of torchvision as ONNX files, by both exporters of PyTorch.

Weights are seeded; statistics of normalisations are those of random images, so that activations
keep their size and every channel's scale and shift is its own.
"""
import warnings

import torch
import torchvision

# name: (files, shape of one sample, options of torchvision). A file: exporter and opset; ",1": the
# batch is fixed at 1, else open; ",external": the weights are in a file beside.
NETWORKS = {
    "alexnet": (["torchscript-9", "dynamo-18,1"], (3, 224, 224), {}),
    "vgg11_bn": (["torchscript-11"], (3, 224, 224), {}),
    "vgg16": (["dynamo-20,external"], (3, 224, 224), {}),
    "resnet18": (["torchscript-9,1", "torchscript-9", "torchscript-13", "torchscript-17,1",
                  "dynamo-18", "dynamo-18,1,external", "dynamo-21"], (3, 224, 224), {}),
    "resnet50": (["torchscript-12", "dynamo-20"], (3, 224, 224), {}),
    "googlenet": (["torchscript-10", "dynamo-18"], (3, 224, 224),
                  {"transform_input": True, "aux_logits": False, "init_weights": False}),
    "squeezenet1_1": (["torchscript-12", "dynamo-18"], (3, 224, 224), {}),
    "mobilenet_v2": (["torchscript-10", "dynamo-18"], (3, 224, 224), {}),
    "mobilenet_v3_small": (["torchscript-9", "torchscript-14,1", "dynamo-18"], (3, 224, 224), {}),
    "densenet121": (["torchscript-11", "dynamo-18"], (3, 224, 224), {}),
    "shufflenet_v2_x1_0": (["torchscript-9", "torchscript-15,1", "dynamo-18"], (3, 224, 224), {}),
    "inception_v3": (["torchscript-13", "dynamo-18,1"], (3, 299, 299),
                     {"transform_input": True, "aux_logits": False, "init_weights": False}),
    "efficientnet_b0": (["torchscript-13", "dynamo-18"], (3, 224, 224), {}),
    "regnet_y_400mf": (["torchscript-16", "dynamo-18"], (3, 224, 224), {}),
    "mnasnet1_0": (["torchscript-9", "dynamo-18"], (3, 224, 224), {}),
    "convnext_tiny": (["torchscript-17", "dynamo-20"], (3, 224, 224), {}),
    "fcn_resnet50": (["torchscript-11", "dynamo-18,1"], (3, 128, 128), {}),
    "deeplabv3_mobilenet_v3_large": (["torchscript-13", "dynamo-18"], (3, 160, 160), {}),
    "lraspp_mobilenet_v3_large": (["torchscript-17", "dynamo-18,1"], (3, 160, 160), {}),
    "r3d_18": (["torchscript-13", "dynamo-18"], (3, 8, 64, 64), {}),
}
NORMS = (torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.LayerNorm, torch.nn.GroupNorm)


def vary(model):
    """Random weights of a sane size, whatever the network begins with."""
    normalised = any(isinstance(m, NORMS) for m in model.modules())
    for module in model.modules():
        if isinstance(module, NORMS):
            torch.nn.init.normal_(module.weight, 1, 0.2)
            torch.nn.init.normal_(module.bias, 0, 0.2)
            module.momentum = 1.0  # the statistics become those of the next batch
        elif isinstance(module, (torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.Linear)):
            if not normalised:
                torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                torch.nn.init.normal_(module.bias, 0, 0.1)
        elif isinstance(getattr(module, "layer_scale", None), torch.nn.Parameter):
            torch.nn.init.normal_(module.layer_scale, 0.5, 0.1)


def network(name, sample, options):
    torch.manual_seed(1)
    torch.set_num_threads(2)
    model = torchvision.models.get_model(name, weights=None, **weightless(name), **options)
    with torch.no_grad():
        vary(model)
        model.train()
        model(torch.randn(4, *sample))
    return model.eval()


def weightless(name):
    """Segmentation networks would fetch weights for the network inside."""
    segments = name.startswith(("fcn", "deeplab", "lraspp"))
    return {"weights_backbone": None} if segments else {}


class First(torch.nn.Module):
    """Segmentation networks give a dictionary; what is in it, as outputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, images):
        found = self.model(images)
        return tuple(found.values()) if isinstance(found, dict) else found


def write(model, sample, exporter, opset, flags, path):
    """The file of a network that takes one tensor."""
    fixed = "1" in flags
    images = torch.randn(1 if fixed else 2, *sample)
    warnings.simplefilter("ignore")
    if exporter == "torchscript":
        torch.onnx.export(model, (images,), path, dynamo=False, opset_version=opset,
                          input_names=["images"],
                          dynamic_axes=None if fixed else {"images": {0: "N"}})
    else:
        torch.onnx.export(model, (images,), path, dynamo=True, opset_version=opset, verbose=False,
                          external_data="external" in flags, input_names=["images"],
                          dynamic_shapes=None if fixed else ({0: torch.export.Dim("N")},))


def export(name, exporter, opset, flags, path):
    _, sample, options = NETWORKS[name]
    model = First(network(name, sample, options)).eval()
    write(model, sample, exporter, opset, flags, path)
