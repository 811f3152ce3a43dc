runs = experiment.sql("""
    SELECT network, CASE peer WHEN 'openvino' THEN 'OpenVINO' WHEN 'pytorch-compile' THEN 'PyTorch' ELSE 'ONNX Runtime' END AS runtime,
        (run_high_water_bytes - base_bytes) / 1048576.0 AS mib, 1e6 * batch / median_us AS rate FROM peers
    WHERE peer IN ('onnxruntime', 'onnxruntime-lean', 'openvino', 'pytorch-compile') AND network IN ('bvlc_alexnet', 'vgg16', 'resnet50')
    UNION ALL SELECT network, 'vbslab, joint', budget_bytes / 1048576.0, 1e6 * request / median_us FROM budgets
    WHERE network IN ('bvlc_alexnet', 'vgg16', 'resnet50')
""")
figure, axes = curves(
    runs, "mib", "rate", line="runtime", panel="network", kind="points", kinds={"vbslab, joint": "linespoints"},
    free=True, xscale="log", ylim=(0, None), xlabel="MiB above the library", ylabel="images a second",
)
