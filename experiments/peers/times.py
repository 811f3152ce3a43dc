times = experiment.sql("""
    SELECT network, 'batch ' || batch AS batch, 'ONNX Runtime' AS runtime, onnxruntime_us / 1e3 / batch AS ms FROM times
    UNION ALL SELECT network, 'batch ' || batch, 'OpenVINO', openvino_us / 1e3 / batch FROM times
    UNION ALL SELECT network, 'batch ' || batch, 'PyTorch', pytorch_us / 1e3 / batch FROM times
    UNION ALL SELECT network, 'batch ' || batch, 'vbslab', vbslab_us / 1e3 / batch FROM times
""")
figure, axes = curves(
    times, "network", "ms", line="runtime", panel="batch", kind="points", size=(9, 4), yscale="log", ylabel="ms an image",
)
for axis in axes:
    axis.tick_params("x", rotation=40)
