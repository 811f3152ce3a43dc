times = experiment.sql("""
    SELECT t.network, t.batch, t.second_ms / one.second_ms AS share
    FROM time_per_image t JOIN time_per_image one ON one.network = t.network AND one.batch = 1
""")
figure, axes = curves(
    times, "batch", "share", line="network", size=(7, 4.2),
    xlabel="batch size", ylabel="time per image / that at batch 1", ylim=(0, 1.05),
)
resnet = experiment.sql("""
    SELECT batch, self_ms AS ms, 'first profile' AS profile FROM time_per_image WHERE network = 'resnet-50'
    UNION ALL SELECT batch, second_ms, 'second profile' FROM time_per_image WHERE network = 'resnet-50'
""")
figure, axes = curves(
    resnet, "batch", "ms", line="profile", size=(7, 3.4),
    xlabel="batch size", ylabel="ResNet-50, time per image (ms)", ylim=(0, None),
)
