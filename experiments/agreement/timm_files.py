"""Networks of timm as ONNX files, by both exporters of PyTorch.

The files and what is done to weights are as in torchvision_files.py; a network takes images of its own
size, or of the size that stands here.
"""
import timm
import torch

import torchvision_files

# name: (files, shape of one sample)
NETWORKS = {
    "botnet26t_256": (["torchscript-17"], (3, 256, 256)),
    "cait_xxs24_224": (["dynamo-18"], (3, 224, 224)),
    "coatnet_pico_rw_224": (["torchscript-16"], (3, 224, 224)),
    "davit_tiny": (["dynamo-18"], (3, 224, 224)),
    "edgenext_xx_small": (["torchscript-15"], (3, 224, 224)),
    "efficientformer_l1": (["dynamo-18"], (3, 224, 224)),
    "efficientvit_b0": (["torchscript-13,1", "dynamo-18"], (3, 224, 224)),
    "efficientvit_m0": (["torchscript-17", "dynamo-18"], (3, 224, 224)),
    "eva02_tiny_patch14_224": (["dynamo-18"], (3, 224, 224)),
    "focalnet_tiny_srf": (["dynamo-20"], (3, 224, 224)),
    "ghostnet_100": (["torchscript-10", "dynamo-18"], (3, 224, 224)),
    "lambda_resnet26t": (["torchscript-13"], (3, 256, 256)),
    "lcnet_050": (["torchscript-9,1"], (3, 224, 224)),
    "levit_128s": (["torchscript-14"], (3, 224, 224)),
    "mixer_s32_224": (["torchscript-12"], (3, 224, 224)),
    "mobilenetv4_conv_small": (["torchscript-16"], (3, 224, 224)),
    "mobilevit_xxs": (["torchscript-14"], (3, 256, 256)),
    "mvitv2_tiny": (["dynamo-18"], (3, 224, 224)),
    "nest_tiny": (["dynamo-18"], (3, 224, 224)),
    "nf_regnet_b0": (["torchscript-13"], (3, 160, 160)),
    "poolformer_s12": (["torchscript-17"], (3, 160, 160)),
    "pvt_v2_b0": (["torchscript-17"], (3, 224, 224)),
    "resnest14d": (["torchscript-13"], (3, 160, 160)),
    "swin_tiny_patch4_window7_224": (["torchscript-17", "dynamo-18"], (3, 224, 224)),
    "tf_efficientnet_lite0": (["torchscript-11"], (3, 224, 224)),
    "tinynet_e": (["torchscript-9"], (3, 106, 106)),
    "vit_tiny_patch16_224": (["torchscript-17", "torchscript-14,1", "dynamo-18"], (3, 224, 224)),
    "xcit_nano_12_p16_224": (["torchscript-17"], (3, 224, 224)),
}


def network(name, sample):
    torch.manual_seed(1)
    torch.set_num_threads(2)
    model = timm.create_model(name, pretrained=False, exportable=True)
    with torch.no_grad():
        torchvision_files.vary(model)
        model.train()
        model(torch.randn(4, *sample))
    return model.eval()


def export(name, exporter, opset, flags, path):
    sample = NETWORKS[name][1]
    torchvision_files.write(network(name, sample), sample, exporter, opset, flags, path)
